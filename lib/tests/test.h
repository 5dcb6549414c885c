/* SPDX-License-Identifier: MIT */
#ifndef ORK_TEST_H
#define ORK_TEST_H

#include "../../selftests/unit/test.h"

/* The same numbers everywhere: a failure can be repeated. */
static inline uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static inline uint32_t random_in(uint64_t *state, uint32_t first, uint32_t last)
{
	return first + next_random(state) % (last - first + 1);
}

static inline uint32_t round_up(uint32_t value, uint32_t step)
{
	return (value + step - 1) / step * step;
}

#endif

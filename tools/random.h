/* SPDX-License-Identifier: MIT */
/*
 * Numbers that look random and are the same everywhere: splitmix64, a counter behind a mixing
 * function.
 */
#ifndef TOOLS_RANDOM_H
#define TOOLS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	uint64_t mixed = *state += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return mixed ^ mixed >> 31;
}

/* 0..limit-1; the bias of at most limit / 2^32 does not matter to shuffles and test data */
static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (uint32_t)((random_next(state) >> 32) * limit >> 32);
}

/* -1 <= value < 1, of 24 bits: exact as a float */
static inline float random_symmetric(uint64_t *state)
{
	return (float)(random_next(state) >> 40) * 0x1p-23f - 1.0f;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Fixed-point arithmetic that every stage which narrows integers shares. */
#ifndef NPU_FIXED_H
#define NPU_FIXED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Rounded to nearest, ties to even: bit for bit what boards gave in the DPU's output converter, of
 * both signs (measured by the ork-driver project, facts 3.6). @half_up is the manual's "always
 * carry" (vendor facts 2.4), which is not known to have been tried. Below 2^62 in magnitude.
 */
static inline int64_t npu_shift_right(int64_t value, uint32_t shift, bool half_up)
{
	int64_t kept, rest, half;

	if (!shift)
		return value;
	if (shift > 62)
		return 0;
	kept = value >> shift;
	rest = value & ((INT64_C(1) << shift) - 1);
	half = INT64_C(1) << (shift - 1);
	return kept + (rest > half || (rest == half && (half_up || (kept & 1))));
}

static inline int64_t npu_saturate(int64_t value, uint32_t bits)
{
	const int64_t limit = INT64_C(1) << (bits - 1);

	return value < -limit ? -limit : value >= limit ? limit - 1 : value;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * IEEE 754 half precision in integer code, so that results depend neither on the host's CPU nor its
 * compiler.
 */
#ifndef NPU_HALF_H
#define NPU_HALF_H

#include <stdint.h>
#include <string.h>

/* Boards' NaNs are not known; one of each width keeps results equal on every host. */
#define NPU_HALF_NAN	0x7e00u
#define NPU_FLOAT_NAN	0x7fc00000u

static inline float npu_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t npu_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* Without branches, so that loops over it become vector code. */
static inline float npu_half_to_float(uint16_t half)
{
	const uint32_t infinity = 0x7c00u << 13, rebias = (127 - 15) << 23, smallest = (127 - 14) << 23;
	uint32_t bits = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
	/* A subnormal: its fraction behind the one of 2^-14, less that one. */
	uint32_t subnormal = npu_float_bits(npu_float(bits + smallest) - npu_float(smallest));
	uint32_t normal = bits + rebias + (bits >= infinity ? rebias : 0);
	uint32_t is_subnormal = -(uint32_t)(bits < 1u << 23);

	return npu_float((subnormal & is_subnormal) | (normal & ~is_subnormal) | sign);
}

/* Of the bits of a float: round to nearest, ties to even. */
static inline uint16_t npu_half_from_bits(uint32_t bits)
{
	uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu, kept, rest, shift;

	if (magnitude > 0x7f800000u)
		return NPU_HALF_NAN;
	if (magnitude >= 0x47800000u)		/* 2^16 */
		return sign | 0x7c00u;
	if (magnitude < 0x33000000u)		/* 2^-25, half of the smallest subnormal */
		return sign;
	if (magnitude < 0x38800000u) {		/* 2^-14: counts units of 2^-24 */
		shift = 126 - (magnitude >> 23);
		magnitude = (magnitude & 0x7fffffu) | 0x800000u;
	} else {
		shift = 13;
		magnitude -= (127 - 15) << 23;
	}
	kept = magnitude >> shift;
	rest = magnitude & ((1u << shift) - 1);
	if (rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (kept & 1)))
		kept++;				/* may carry into the exponent, up to infinity: as it should */
	return sign | kept;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * IEEE 754 binary16, as the NPU takes it, in plain integers: the same bits with every compiler and
 * on every machine.
 */
#ifndef TOOLS_HALF_H
#define TOOLS_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float float_from_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * Rounds to nearest, ties to even; too large becomes infinity, every NaN the quiet one of its
 * sign.
 */
static inline uint16_t half_from_float(float value)
{
	uint32_t bits = float_bits(value);
	uint32_t sign = (bits >> 16) & 0x8000u;
	uint32_t magnitude = bits & 0x7fffffffu;

	if (magnitude > 0x7f800000u)
		return (uint16_t)(sign | 0x7e00u);
	if (magnitude >= 0x47800000u)		/* 65536, beyond all halves */
		return (uint16_t)(sign | 0x7c00u);
	/* Below 2^-14 a half counts 2^-24, as a float does from 0.5 on: the addition rounds. */
	if (magnitude < 0x38800000u)
		return (uint16_t)(sign | (float_bits(float_from_bits(magnitude) + 0.5f) -
					  float_bits(0.5f)));
	/*
	 * The exponents' biases are 127 and 15. Rounding may carry into the exponent, up to
	 * infinity.
	 */
	magnitude += 0xfffu + ((magnitude >> 13) & 1u);
	return (uint16_t)(sign | ((magnitude - (112u << 23)) >> 13));
}

static inline float float_from_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
	uint32_t exponent = (half >> 10) & 0x1fu;
	uint32_t fraction = half & 0x3ffu;

	if (exponent == 0x1fu)
		return float_from_bits(sign | 0x7f800000u | fraction << 13);
	if (exponent == 0)
		return float_from_bits(sign | float_bits((float)fraction * 0x1p-24f));
	return float_from_bits(sign | (exponent + 112u) << 23 | fraction << 13);
}

#endif

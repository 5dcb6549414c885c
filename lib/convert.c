// SPDX-License-Identifier: MIT
/*
 * Floating-point types. All in integers and without branches, so that the loops become vector code
 * on every machine.
 */
#include "moves.h"

#define FP32_INFINITY	0x7f800000u
#define FP16_INFINITY	0x7c00u
#define FP16_QUIET	0x0200u
#define FRACTION	13		/* bits of a fraction that fp32 has more */
#define REBIAS		((127u - 15) << 23)
/* From here on fp16 has only infinity, and below the other it has only subnormals. */
#define FP16_BEYOND	((127u + 16) << 23)
#define FP16_NORMAL	((127u - 14) << 23)
/* The number whose last place is that of fp16's subnormals: adding it rounds to them. */
#define ROUND_SUBNORMAL	((127u - 15 + FRACTION + 1) << 23)

union fp32 {
	float value;
	uint32_t bits;
};

static inline uint16_t round_to_fp16(uint32_t bits)
{
	uint32_t magnitude = bits & 0x7fffffff, sign = (bits ^ magnitude) >> 16;
	uint32_t normal = (magnitude - REBIAS + (1u << (FRACTION - 1)) - 1 + (magnitude >> FRACTION & 1)) >> FRACTION;
	uint32_t nan = FP16_INFINITY | FP16_QUIET | (magnitude >> FRACTION & 0x3ff);
	union fp32 subnormal = { .bits = magnitude < FP16_NORMAL ? magnitude : 0 };
	uint32_t result;

	subnormal.value += (union fp32) { .bits = ROUND_SUBNORMAL }.value;
	result = magnitude < FP16_NORMAL ? subnormal.bits - ROUND_SUBNORMAL : normal;
	result = magnitude < FP16_BEYOND ? result : FP16_INFINITY;
	result = magnitude > FP32_INFINITY ? nan : result;
	return (uint16_t)(result | sign);
}

static inline uint32_t widen_fp16(uint16_t half)
{
	uint32_t magnitude = (half & 0x7fffu) << FRACTION, sign = (half & 0x8000u) << 16;
	uint32_t special = magnitude >= FP16_INFINITY << FRACTION ? REBIAS : 0;
	/* As if it had a leading one, which is then taken away. */
	union fp32 subnormal = { .bits = (magnitude & 0x7fffff) | FP16_NORMAL };

	subnormal.value -= (union fp32) { .bits = FP16_NORMAL }.value;
	return (magnitude < 1u << 23 ? subnormal.bits : magnitude + REBIAS + special) | sign;
}

void ork_fp32_to_fp16(uint16_t *restrict to, const float *restrict from, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		to[i] = round_to_fp16((union fp32) { .value = from[i] }.bits);
}

void ork_bf16_to_fp16(uint16_t *restrict to, const uint16_t *restrict from, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		to[i] = round_to_fp16((uint32_t)from[i] << 16);
}

void ork_fp16_to_fp32(float *restrict to, const uint16_t *restrict from, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		to[i] = (union fp32) { .bits = widen_fp16(from[i]) }.value;
}

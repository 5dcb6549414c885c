// SPDX-License-Identifier: MIT
/*
 * Floating-point types: with the machine's own conversions where it has them, else in integers and
 * without branches, so that the loops become vector code all the same.
 */
#include <string.h>
#ifdef __aarch64__
#include <arm_neon.h>
#endif
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

static inline uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* A choice that no compiler makes a branch of: it would keep a loop with floating point in it from becoming vectors. */
static inline uint32_t choose(bool first, uint32_t a, uint32_t b)
{
	uint32_t mask = -(uint32_t)first;

	return (a & mask) | (b & ~mask);
}

static inline uint16_t round_to_fp16(uint32_t bits)
{
	uint32_t magnitude = bits & 0x7fffffff, sign = (bits ^ magnitude) >> 16;
	uint32_t normal = (magnitude - REBIAS + (1u << (FRACTION - 1)) - 1 + (magnitude >> FRACTION & 1)) >> FRACTION;
	uint32_t nan = FP16_INFINITY | FP16_QUIET | (magnitude >> FRACTION & 0x3ff);
	bool small = magnitude < FP16_NORMAL;
	uint32_t subnormal = bits_of(float_of(choose(small, magnitude, 0)) + float_of(ROUND_SUBNORMAL));
	uint32_t result = choose(small, subnormal - ROUND_SUBNORMAL, normal);

	result = choose(magnitude < FP16_BEYOND, result, FP16_INFINITY);
	return (uint16_t)(choose(magnitude > FP32_INFINITY, nan, result) | sign);
}

static inline uint32_t widen_fp16(uint16_t half)
{
	uint32_t magnitude = (half & 0x7fffu) << FRACTION, sign = (half & 0x8000u) << 16;
	uint32_t special = choose(magnitude >= FP16_INFINITY << FRACTION, REBIAS, 0);
	/* As if it had a leading one, which is then taken away. */
	uint32_t subnormal = bits_of(float_of((magnitude & 0x7fffff) | FP16_NORMAL) - float_of(FP16_NORMAL));

	return choose(magnitude < 1u << 23, subnormal, magnitude + REBIAS + special) | sign;
}

/* --- eight at a time, where the machine has instructions for it -------------------------------- */

#define EIGHT	8

typedef float floats __attribute__((vector_size(32)));
typedef uint32_t wide_bits __attribute__((vector_size(32)));
typedef int16_t halves __attribute__((vector_size(16)));
typedef uint16_t half_bits __attribute__((vector_size(16)));

#if defined(__x86_64__)
#define HARDWARE	__attribute__((target("avx2,f16c")))
#define NEAREST_EVEN	0
#define NARROW(wide)	__builtin_ia32_vcvtps2ph256(wide, NEAREST_EVEN)
#define WIDEN(half)	__builtin_ia32_vcvtph2ps256(half)

static bool has_hardware(void)
{
	return __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx2");
}
#elif defined(__aarch64__)
#define HARDWARE
#define NARROW(wide)	narrow_eight(wide)
#define WIDEN(half)	widen_eight(half)

static inline halves narrow_eight(floats wide)
{
	float32x4_t part[2];

	memcpy(part, &wide, sizeof(part));
	return (halves)vcvt_high_f16_f32(vcvt_f16_f32(part[0]), part[1]);
}

static inline floats widen_eight(halves half)
{
	float32x4_t part[2] = { vcvt_f32_f16(vget_low_f16((float16x8_t)half)), vcvt_high_f32_f16((float16x8_t)half) };
	floats wide;

	memcpy(&wide, part, sizeof(wide));
	return wide;
}

static bool has_hardware(void)
{
	return true;
}
#endif

#ifdef HARDWARE
/* Each returns how many it did: the rest is less than eight. */
HARDWARE static size_t narrow_vectors(uint16_t *to, const float *from, size_t count)
{
	floats wide;
	halves half;
	size_t i;

	for (i = 0; count - i >= EIGHT; i += EIGHT) {
		memcpy(&wide, from + i, sizeof(wide));
		half = NARROW(wide);
		memcpy(to + i, &half, sizeof(half));
	}
	return i;
}

HARDWARE static size_t narrow_bf16_vectors(uint16_t *to, const uint16_t *from, size_t count)
{
	half_bits brain;
	halves half;
	size_t i;

	for (i = 0; count - i >= EIGHT; i += EIGHT) {
		memcpy(&brain, from + i, sizeof(brain));
		half = NARROW((floats)(__builtin_convertvector(brain, wide_bits) << 16));
		memcpy(to + i, &half, sizeof(half));
	}
	return i;
}

HARDWARE static size_t widen_vectors(float *to, const uint16_t *from, size_t count)
{
	floats wide;
	halves half;
	size_t i;

	for (i = 0; count - i >= EIGHT; i += EIGHT) {
		memcpy(&half, from + i, sizeof(half));
		wide = WIDEN(half);
		memcpy(to + i, &wide, sizeof(wide));
	}
	return i;
}
#else
#define has_hardware()				false
#define narrow_vectors(to, from, count)		0
#define narrow_bf16_vectors(to, from, count)	0
#define widen_vectors(to, from, count)		0
#endif

void ork_fp32_to_fp16(uint16_t *restrict to, const float *restrict from, size_t count)
{
	size_t i = has_hardware() ? narrow_vectors(to, from, count) : 0;

	for (; i < count; i++)
		to[i] = round_to_fp16(bits_of(from[i]));
}

void ork_bf16_to_fp16(uint16_t *restrict to, const uint16_t *restrict from, size_t count)
{
	size_t i = has_hardware() ? narrow_bf16_vectors(to, from, count) : 0;

	for (; i < count; i++)
		to[i] = round_to_fp16((uint32_t)from[i] << 16);
}

void ork_fp16_to_fp32(float *restrict to, const uint16_t *restrict from, size_t count)
{
	size_t i = has_hardware() ? widen_vectors(to, from, count) : 0;

	for (; i < count; i++)
		to[i] = float_of(widen_fp16(from[i]));
}

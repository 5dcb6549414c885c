/* SPDX-License-Identifier: MIT */
/*
 * The operands of the golden products, and the hash of a result. Integers only up to the last,
 * exact scaling, so that they are the same bits on every machine.
 */
#ifndef GOLDEN_INPUTS_H
#define GOLDEN_INPUTS_H

#include <stddef.h>
#include <stdint.h>

enum golden_type { FP16_FP32, FP16_FP16, INT8_INT32, INT8_INT16, INT8_INT8, INT4_INT16, INT4_INT32 };

#define GOLDEN_A	0u
#define GOLDEN_B	1u

/*
 * Counter-based (the output function of splitmix64), so that an element does not depend on its
 * matrix's strides.
 */
static inline uint64_t golden_random(uint64_t seed, unsigned int matrix, uint64_t row,
				     uint64_t column)
{
	uint64_t z = seed * 0x9e3779b97f4a7c15u + ((uint64_t)matrix << 60) + (row << 30) + column;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/*
 * Eleven bits of significand over four binades: every value is an fp16 and every product an fp32,
 * exactly, while sums must round, so that the order of the additions is in the bits of the result.
 */
static inline double golden_fp16(uint64_t seed, unsigned int matrix, uint64_t row, uint64_t column)
{
	uint64_t random = golden_random(seed, matrix, row, column);
	int32_t significand = (int32_t)(random % 2047) - 1023;
	uint32_t binade = (random >> 32) % 4;

	return (double)significand / (double)(1u << (10 + binade));
}

static inline int8_t golden_int8(uint64_t seed, unsigned int matrix, uint64_t row, uint64_t column)
{
	return (int8_t)(golden_random(seed, matrix, row, column) % 256 - 128);
}

/*
 * A is not negative, and two of three columns of B are mostly of one sign: sums of many leave 16 bits on
 * either side.
 */
static inline int8_t golden_int4(uint64_t seed, unsigned int matrix, uint64_t row, uint64_t column)
{
	int32_t random = (int32_t)(golden_random(seed, matrix, row, column) % 16);
	int32_t value = random - 8 + ((int32_t)(column % 3) - 1) * 6;

	if (matrix == GOLDEN_A)
		return (int8_t)(random % 8);
	return (int8_t)(value > 7 ? 7 : value < -8 ? -8 : value);
}

/* Two in a byte, the first in its low half. */
static inline void golden_put_int4(void *matrix, size_t index, int8_t value)
{
	uint8_t *byte = (uint8_t *)matrix + index / 2;

	*byte = index % 2 ? (uint8_t)((*byte & 0x0f) | (uint8_t)value << 4) :
			    (uint8_t)((*byte & 0xf0) | (value & 0x0f));
}

/* Of int4 to int16: channels after which a sum is saturated, and after which another is begun. */
#define GOLDEN_INT4_STEP	32u
#define GOLDEN_INT4_SLICE	10752u

static inline int32_t golden_saturated(int64_t sum)
{
	return (int32_t)(sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum);
}

/* Of the requantised types: some sums of these operands saturate at either end. */
#define GOLDEN_MULTIPLIER	20001
#define GOLDEN_OFFSET		(-3)

static inline uint32_t golden_shift(enum golden_type type)
{
	return type == INT8_INT16 ? 17 : 25;
}

/* Scaled, to the nearest integer, ties to even, moved, saturated. */
static inline int32_t golden_requantised(enum golden_type type, int64_t sum)
{
	int64_t unit = (int64_t)1 << golden_shift(type), limit = type == INT8_INT16 ? 32767 : 127;
	int64_t scaled = sum * GOLDEN_MULTIPLIER, value = scaled / unit, rest = scaled % unit;

	if (rest < 0) {
		rest += unit;
		value--;
	}
	if (2 * rest > unit || (2 * rest == unit && value % 2))
		value++;
	value += GOLDEN_OFFSET;
	return (int32_t)(value > limit ? limit : value < -limit - 1 ? -limit - 1 : value);
}

#define GOLDEN_HASH_START	0xcbf29ce484222325u

/* FNV-1a, 64 bits; to be called row after row, without what lies between rows. */
static inline uint64_t golden_hash(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3u;
	return hash;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Operands of which every element depends on its place and a seed alone, and what products of them
 * must be: summed in 64-bit integers, element by element, from the formula.
 */
#ifndef ORK_TEST_VALUES_H
#define ORK_TEST_VALUES_H

#include <math.h>
#include <stdlib.h>
#include "../../selftests/golden/inputs.h"
#include "ork.h"

/* Of both lists the types are the same numbers. */
struct shape {
	enum ork_type type;
	uint32_t m, k, n;
};

/* In units of this all operands of fp16 are whole numbers. */
#define FP16_UNIT	0x1p-13

static inline bool shape_is_fp16(const struct shape *s)
{
	return s->type == ORK_FP16_FP32 || s->type == ORK_FP16_FP16;
}

static inline bool shape_is_int4(const struct shape *s)
{
	return s->type == ORK_INT4_INT16 || s->type == ORK_INT4_INT32;
}

static inline bool shape_is_requantised(const struct shape *s)
{
	return s->type == ORK_INT8_INT16 || s->type == ORK_INT8_INT8;
}

static inline struct ork_matmul_desc shape_desc(const struct shape *s)
{
	bool requantised = shape_is_requantised(s);

	return (struct ork_matmul_desc) {
		.type = s->type, .m = s->m, .k = s->k, .n = s->n,
		.multiplier = requantised ? GOLDEN_MULTIPLIER : 0,
		.shift = requantised ? golden_shift((enum golden_type)s->type) : 0,
		.offset = requantised ? GOLDEN_OFFSET : 0,
	};
}

/* Of a row of @columns operands: those of int4 begin on bytes. */
static inline size_t row_bytes(const struct shape *s, uint32_t columns)
{
	return shape_is_fp16(s) ? (size_t)columns * 2 : shape_is_int4(s) ? ((size_t)columns + 1) / 2 : columns;
}

static inline size_t result_bytes(const struct shape *s)
{
	switch (s->type) {
	case ORK_INT8_INT8: return 1;
	case ORK_FP16_FP16:
	case ORK_INT8_INT16:
	case ORK_INT4_INT16: return 2;
	default: return 4;
	}
}

static inline size_t c_size(const struct shape *s)
{
	return (size_t)s->m * s->n * result_bytes(s);
}

static inline int32_t element_units(const struct shape *s, uint64_t seed, unsigned int matrix, uint32_t row,
				    uint32_t column)
{
	if (shape_is_fp16(s))
		return (int32_t)(golden_fp16(seed, matrix, row, column) / FP16_UNIT);
	return shape_is_int4(s) ? golden_int4(seed, matrix, row, column) : golden_int8(seed, matrix, row, column);
}

static inline void put_row(const struct shape *s, void *to, uint64_t seed, unsigned int matrix, uint32_t row,
			   uint32_t columns)
{
	uint32_t i;

	for (i = 0; i < columns; i++) {
		int32_t units = element_units(s, seed, matrix, row, i);

		if (shape_is_fp16(s))
			((_Float16 *)to)[i] = (_Float16)(units * FP16_UNIT);
		else if (shape_is_int4(s))
			golden_put_int4(to, i, (int8_t)units);
		else
			((int8_t *)to)[i] = (int8_t)units;
	}
}

static inline void fill_operand(const struct shape *s, void *to, uint64_t seed, unsigned int matrix, uint32_t rows,
				uint32_t columns)
{
	uint32_t row;

	for (row = 0; row < rows; row++)
		put_row(s, (char *)to + row * row_bytes(s, columns), seed, matrix, row, columns);
}

/* B for ork_weights_pack(), row-major, to be freed; its stride is that of fill_operand(). */
static inline void *make_b(const struct shape *s, uint64_t seed)
{
	void *b = calloc(s->k, row_bytes(s, s->n));

	fill_operand(s, b, seed, GOLDEN_B, s->k, s->n);
	return b;
}

static inline size_t b_stride(const struct shape *s)
{
	return shape_is_int4(s) ? 2 * row_bytes(s, s->n) : s->n;
}

/* What C[m][n] must be, and what it may be off by. */
struct expected {
	double value, slack;
};

/* An fp32 sum of @k numbers errs by this much of the sum of their sizes; an fp16 is rounded once more. */
static inline struct expected expect_fp16(const struct shape *s, int64_t sum, int64_t size)
{
	double value = (double)sum * FP16_UNIT * FP16_UNIT;
	double slack = (2e-7 * sqrt(s->k / 1024.0) + 2e-7) * (double)size * FP16_UNIT * FP16_UNIT;

	if (s->type == ORK_FP16_FP16)
		slack += fabs(value) / 2048 + 0x1p-25;
	return (struct expected) { value, slack };
}

static inline struct expected expect_element(const struct shape *s, uint64_t seed, uint32_t m, uint32_t n)
{
	int64_t sum = 0, size = 0, part = 0, total = 0;
	uint32_t k;

	for (k = 0; k < s->k; k++) {
		int64_t product = (int64_t)element_units(s, seed, GOLDEN_A, m, k) *
				  element_units(s, seed, GOLDEN_B, k, n);

		sum += product;
		size += llabs(product);
		part += product;
		if (k % GOLDEN_INT4_STEP == GOLDEN_INT4_STEP - 1 || k + 1 == s->k)
			part = golden_saturated(part);
		if (k % GOLDEN_INT4_SLICE == GOLDEN_INT4_SLICE - 1 || k + 1 == s->k) {
			total += part;
			part = 0;
		}
	}
	if (shape_is_fp16(s))
		return expect_fp16(s, sum, size);
	if (shape_is_requantised(s))
		sum = golden_requantised((enum golden_type)s->type, sum);
	return (struct expected) { (double)(s->type == ORK_INT4_INT16 ? golden_saturated(total) : sum), 0 };
}

static inline double found_element(const struct shape *s, const void *c, size_t index)
{
	switch (s->type) {
	case ORK_FP16_FP32: return (double)((const float *)c)[index];
	case ORK_FP16_FP16: return (double)((const _Float16 *)c)[index];
	case ORK_INT4_INT16:
	case ORK_INT8_INT16: return ((const int16_t *)c)[index];
	case ORK_INT8_INT8: return ((const int8_t *)c)[index];
	default: return ((const int32_t *)c)[index];
	}
}

#endif

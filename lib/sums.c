// SPDX-License-Identifier: MIT
/* C out of memory of the library's own: its rows, or the sum of its slices of K. */
#include <string.h>
#include "moves.h"
#include "product.h"

/* Columns that are added up at a time. */
#define SUM_COLUMNS	256

static void add_up_floats(float *sum, const char *from, uint64_t slice, uint32_t slices, uint32_t count)
{
	uint32_t i;

	memcpy(sum, from, count * sizeof(*sum));
	for (i = 1; i < slices; i++)
		ork_add_fp32(sum, (const float *)(from + i * slice), count);
}

static void add_up_ints(int32_t *sum, const char *from, uint64_t slice, uint32_t slices, uint32_t count)
{
	uint32_t i;

	memcpy(sum, from, count * sizeof(*sum));
	for (i = 1; i < slices; i++)
		ork_add_int32(sum, (const int32_t *)(from + i * slice), count);
}

/* To nearest, ties to even. */
static int64_t divide(int64_t value, uint32_t shift)
{
	int64_t half = shift ? INT64_C(1) << (shift - 1) : 0;
	int64_t kept = value >> shift, rest = value - (int64_t)((uint64_t)kept << shift);

	return kept + (rest > half || (shift && rest == half && kept % 2));
}

static int32_t requantise(const struct ork_matmul_desc *desc, int32_t sum, int32_t limit)
{
	int64_t value = divide((int64_t)sum * desc->multiplier, desc->shift) + desc->offset;

	return (int32_t)(value < -limit - 1 ? -limit - 1 : value > limit ? limit : value);
}

static void requantise_to_bytes(const struct ork_matmul_desc *desc, int8_t *to, const int32_t *from, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (int8_t)requantise(desc, from[i], INT8_MAX);
}

static void requantise_to_shorts(const struct ork_matmul_desc *desc, int16_t *to, const int32_t *from, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (int16_t)requantise(desc, from[i], INT16_MAX);
}

/* Up to SUM_COLUMNS of a row of C. */
static void add_up(const struct ork_matmul *matmul, void *to, const char *from, uint32_t count)
{
	uint64_t slice = matmul->c.stride * matmul->plan.desc.m;
	uint32_t slices = matmul->plan.k_slices;
	union {
		float floats[SUM_COLUMNS];
		int32_t ints[SUM_COLUMNS];
	} sum;

	if (matmul->type->in_precision == ORK_PRECISION_INT8)
		add_up_ints(sum.ints, from, slice, slices, count);
	else
		add_up_floats(sum.floats, from, slice, slices, count);
	switch (matmul->type->out_precision) {
	case ORK_PRECISION_FP16: ork_fp32_to_fp16(to, sum.floats, count); break;
	case ORK_PRECISION_INT16: requantise_to_shorts(&matmul->plan.desc, to, sum.ints, count); break;
	case ORK_PRECISION_INT8: requantise_to_bytes(&matmul->plan.desc, to, sum.ints, count); break;
	default: memcpy(to, &sum, count * sizeof(uint32_t)); break;
	}
}

static void add_up_rows(const struct ork_matmul *matmul, uint64_t stride)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint32_t bytes = matmul->type->out_bytes, m, n;

	for (m = 0; m < desc->m; m++) {
		const char *from = (const char *)matmul->c.bo->data + m * matmul->c.stride;
		char *to = (char *)matmul->c.data + m * stride;

		for (n = 0; n < desc->n; n += SUM_COLUMNS)
			add_up(matmul, to + (uint64_t)n * bytes, from + n * sizeof(uint32_t),
			       desc->n - n < SUM_COLUMNS ? desc->n - n : SUM_COLUMNS);
	}
}

void ork_product_copy_back(struct ork_matmul *matmul)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint64_t begin = ork_profile_begin(matmul->ork), bytes = matmul->type->out_bytes;

	if (matmul->plan.k_slices > 1)
		add_up_rows(matmul, desc->ldc * bytes);
	else
		ork_copy_rows(matmul->c.data, desc->ldc * bytes, matmul->c.bo->data, matmul->c.stride, desc->n * bytes,
			  desc->m);
	ork_profile_end(matmul->ork, ORK_PHASE_COPY_BACK, begin, matmul->plan.c_bytes);
}

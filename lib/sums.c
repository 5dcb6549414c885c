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

static void add_up_shorts(int32_t *sum, const char *from, uint64_t slice, uint32_t slices, uint32_t count)
{
	uint32_t i;

	memset(sum, 0, count * sizeof(*sum));
	for (i = 0; i < slices; i++)
		ork_add_int16(sum, (const int16_t *)(from + i * slice), count);
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

static void saturate_to_shorts(int16_t *to, const int32_t *from, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (int16_t)(from[i] < INT16_MIN ? INT16_MIN : from[i] > INT16_MAX ? INT16_MAX : from[i]);
}

static void requantise_to_shorts(const struct ork_matmul_desc *desc, int16_t *to, const int32_t *from, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (int16_t)requantise(desc, from[i], INT16_MAX);
}

/* Up to SUM_COLUMNS of a row of C, from slices @slice bytes apart. */
static void add_up(const struct ork_matmul *matmul, void *to, const char *from, uint64_t slice, uint32_t count)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint32_t slices = matmul->plan.k_slices;
	union {
		float floats[SUM_COLUMNS];
		int32_t ints[SUM_COLUMNS];
	} sum;

	switch (matmul->type->in_precision) {
	case ORK_PRECISION_INT4: add_up_shorts(sum.ints, from, slice, slices, count); break;
	case ORK_PRECISION_INT8: add_up_ints(sum.ints, from, slice, slices, count); break;
	default: add_up_floats(sum.floats, from, slice, slices, count); break;
	}
	switch (desc->type) {
	case ORK_FP16_FP16: ork_fp32_to_fp16(to, sum.floats, count); break;
	case ORK_INT8_INT16: requantise_to_shorts(desc, to, sum.ints, count); break;
	case ORK_INT8_INT8: requantise_to_bytes(desc, to, sum.ints, count); break;
	case ORK_INT4_INT16: saturate_to_shorts(to, sum.ints, count); break;
	default: memcpy(to, &sum, count * sizeof(uint32_t)); break;
	}
}

static uint32_t at_most(uint32_t count, uint32_t limit)
{
	return count < limit ? count : limit;
}

static void add_up_rows(const struct ork_matmul *matmul, uint64_t stride)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint32_t bytes = matmul->type->out_bytes, part = ork_plan_type(&matmul->plan)->out_bytes, m, n;
	uint64_t slice = matmul->c.stride * desc->m;

	for (m = 0; m < desc->m; m++) {
		const char *from = (const char *)matmul->c.bo->data + m * matmul->c.stride;
		char *to = (char *)matmul->c.data + m * stride;

		for (n = 0; n < desc->n; n += SUM_COLUMNS)
			add_up(matmul, to + (uint64_t)n * bytes, from + (uint64_t)n * part, slice,
			       at_most(desc->n - n, SUM_COLUMNS));
	}
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Block @n of what @program and those of its other slices gave: the first lines of groups of four. */
static void add_up_block(const struct ork_matmul *matmul, const struct ork_program *program, uint32_t n,
			 uint64_t stride)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint32_t columns = at_most(plan->desc.n - (program->n + n), ORK_BLOCK_COLUMNS), m;
	uint64_t slice = ork_plan_blocks_slice(plan), bytes = matmul->type->out_bytes;
	const char *from = (const char *)matmul->c.bo->data + ork_plan_blocks_at(plan, program);
	char *to = (char *)matmul->c.data + program->m * stride + (program->n + n) * bytes;

	from += (uint64_t)n / ORK_BLOCK_COLUMNS * program->rows * ORK_BLOCK_PITCH;
	for (m = 0; m < program->rows; m++, from += ORK_BLOCK_PITCH, to += stride) {
		if (plan->k_slices == 1 && !matmul->type->summed)
			memcpy(to, from, columns * bytes);
		else
			add_up(matmul, to, from, slice, columns);
	}
}

static void add_up_blocks(const struct ork_matmul *matmul, uint64_t stride)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	struct ork_program program;
	uint32_t core, i, n;

	for (core = 0; core < plan->cores; core++) {
		for (i = 0; i < plan->programs[core]; i++) {
			ork_plan_program(plan, core, i, &program);
			for (n = 0; !program.slice && n < program.cols && program.n + n < plan->desc.n;
			     n += ORK_BLOCK_COLUMNS)
				add_up_block(matmul, &program, n, stride);
		}
	}
}

void ork_product_copy_back(struct ork_matmul *matmul)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint64_t begin = ork_profile_begin(matmul->ork), bytes = matmul->type->out_bytes;

	if (matmul->plan.c_blocks)
		add_up_blocks(matmul, desc->ldc * bytes);
	else if (matmul->plan.k_slices > 1 || matmul->type->summed)
		add_up_rows(matmul, desc->ldc * bytes);
	else
		ork_copy_rows(matmul->c.data, desc->ldc * bytes, matmul->c.bo->data, matmul->c.stride, desc->n * bytes,
			      desc->m);
	ork_profile_end(matmul->ork, ORK_PHASE_COPY_BACK, begin, matmul->plan.c_bytes);
}

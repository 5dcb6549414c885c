// SPDX-License-Identifier: GPL-2.0-only
/*
 * Matrix products of libork against static hashes of what they must be (golden/matmul.tsv), from
 * the very first run of fresh objects by a fresh process on, since a run that follows another can
 * be right by what the other left behind.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ork.h>
#include <kselftest_harness.h>
#include "../golden/inputs.h"
#include "lib_test.h"

#define TIMEOUT_S	120

/* A product with its operands, in one buffer object each. */
FIXTURE(golden) {
	struct ork *ork;
	struct ork_bo *a, *c;
	struct ork_weights *b;
	void *c_memory;		/* C in plain memory */
	uint32_t c_element;	/* bytes */
	bool in_place;		/* rows of C are whole cache lines */
};

FIXTURE_VARIANT(golden) {
	enum golden_type type;
	uint32_t m, k, n, lda, ldc;
	uint64_t seed, hash;
};

#include "golden.inc"

static const enum ork_type ork_types[] = {
	[FP16_FP32] = ORK_FP16_FP32, [FP16_FP16] = ORK_FP16_FP16, [INT8_INT32] = ORK_INT8_INT32,
	[INT8_INT16] = ORK_INT8_INT16, [INT8_INT8] = ORK_INT8_INT8, [INT4_INT16] = ORK_INT4_INT16,
	[INT4_INT32] = ORK_INT4_INT32,
};

static bool is_integer(enum golden_type type)
{
	return type >= INT8_INT32;
}

static bool is_int4(enum golden_type type)
{
	return type >= INT4_INT16;
}

static bool is_requantised(enum golden_type type)
{
	return type == INT8_INT16 || type == INT8_INT8;
}

static uint32_t bytes_of_c(enum golden_type type)
{
	switch (type) {
	case INT8_INT8: return 1;
	case FP16_FP16:
	case INT8_INT16:
	case INT4_INT16: return 2;
	default: return 4;
	}
}

static size_t bytes_of_operand(enum golden_type type, size_t elements)
{
	return is_int4(type) ? (elements + 1) / 2 : is_integer(type) ? elements : elements * 2;
}

/* Rows of int4 begin on bytes. */
static uint32_t b_stride(const FIXTURE_VARIANT(golden) *v)
{
	return v->n + (is_int4(v->type) && v->n % 2);
}

static int8_t integer_element(enum golden_type type, uint64_t seed, unsigned int matrix,
			      uint32_t row, uint32_t column)
{
	return is_int4(type) ? golden_int4(seed, matrix, row, column) :
			       golden_int8(seed, matrix, row, column);
}

static void put_element(enum golden_type type, void *to, size_t index, uint64_t seed,
			unsigned int matrix, uint32_t row, uint32_t column)
{
	if (!is_integer(type))
		((_Float16 *)to)[index] = (_Float16)golden_fp16(seed, matrix, row, column);
	else if (is_int4(type))
		golden_put_int4(to, index, golden_int4(seed, matrix, row, column));
	else
		((int8_t *)to)[index] = golden_int8(seed, matrix, row, column);
}

static void fill(const FIXTURE_VARIANT(golden) *v, void *to, uint64_t seed, unsigned int matrix,
		 uint32_t rows, uint32_t columns, uint32_t stride)
{
	for (uint32_t row = 0; row < rows; row++)
		for (uint32_t column = 0; column < columns; column++)
			put_element(v->type, to, (size_t)row * stride + column, seed, matrix, row,
				    column);
}

static void fill_a(FIXTURE_DATA(golden) *self, const FIXTURE_VARIANT(golden) *v, uint64_t seed)
{
	fill(v, ork_bo_data(self->a), seed, GOLDEN_A, v->m, v->k, v->lda);
}

static int fill_b(FIXTURE_DATA(golden) *self, const FIXTURE_VARIANT(golden) *v, uint64_t seed)
{
	void *b = malloc(bytes_of_operand(v->type, (size_t)v->k * b_stride(v)));
	int error;

	if (!b)
		return -ENOMEM;
	fill(v, b, seed, GOLDEN_B, v->k, v->n, b_stride(v));
	error = ork_weights_pack(self->b, b, b_stride(v), 0);
	free(b);
	return error;
}

static size_t a_room(const FIXTURE_VARIANT(golden) *v)
{
	return bytes_of_operand(v->type, (size_t)v->m * v->lda);
}

static size_t c_room(const FIXTURE_DATA(golden) *self, const FIXTURE_VARIANT(golden) *v)
{
	return (size_t)v->m * v->ldc * self->c_element;
}

FIXTURE_SETUP(golden)
{
	self->c_element = bytes_of_c(variant->type);
	self->in_place = variant->n * self->c_element % 64 == 0;
	ASSERT_EQ(0, ork_open(TEST_DEVICE, &self->ork));
	ASSERT_EQ(0, ork_bo_create(self->ork, a_room(variant), 0, &self->a));
	ASSERT_EQ(0, ork_bo_create(self->ork, c_room(self, variant), 0, &self->c));
	ASSERT_EQ(0, ork_weights_create(self->ork, ork_types[variant->type], variant->k, variant->n,
					&self->b));
	self->c_memory = malloc(c_room(self, variant));
	ASSERT_NE(NULL, self->c_memory);
	fill_a(self, variant, variant->seed);
	ASSERT_EQ(0, fill_b(self, variant, variant->seed));
}

FIXTURE_TEARDOWN(golden)
{
	free(self->c_memory);
	ork_weights_destroy(self->b);
	ork_bo_destroy(self->c);
	ork_bo_destroy(self->a);
	ork_close(self->ork);
}

static struct ork_matmul_desc describe(const FIXTURE_VARIANT(golden) *v, uint32_t cores,
				       enum ork_sync_mode sync)
{
	bool requantised = is_requantised(v->type);

	return (struct ork_matmul_desc){
		.type = ork_types[v->type],
		.m = v->m,
		.k = v->k,
		.n = v->n,
		.lda = v->lda,
		.ldc = v->ldc,
		.cores = cores,
		.sync = sync,
		.multiplier = requantised ? GOLDEN_MULTIPLIER : 0,
		.shift = requantised ? golden_shift(v->type) : 0,
		.offset = requantised ? GOLDEN_OFFSET : 0,
	};
}

static uint64_t hash_rows(const FIXTURE_DATA(golden) *self, const FIXTURE_VARIANT(golden) *v,
			  const uint8_t *c)
{
	uint64_t hash = GOLDEN_HASH_START;

	for (uint32_t m = 0; m < v->m; m++)
		hash = golden_hash(hash, c + (size_t)m * v->ldc * self->c_element,
				   (size_t)v->n * self->c_element);
	return hash;
}

/* Bytes between the rows of C that are not the 0x5a which every run finds there. */
static size_t gaps_touched(const FIXTURE_DATA(golden) *self, const FIXTURE_VARIANT(golden) *v,
			   const uint8_t *c)
{
	size_t touched = 0, row = (size_t)v->ldc * self->c_element;

	for (uint32_t m = 0; m < v->m; m++)
		for (size_t i = (size_t)v->n * self->c_element; i < row; i++)
			touched += c[m * row + i] != 0x5a;
	return touched;
}

/* Where C is for this variant: in its object, or in memory if its rows are not whole lines. */
static struct ork_matrix matrix_c(const FIXTURE_DATA(golden) *self)
{
	struct ork_matrix c = { 0 };

	if (self->in_place)
		c.bo = self->c;
	else
		c.data = self->c_memory;
	return c;
}

static uint8_t *data_c(const FIXTURE_DATA(golden) *self)
{
	return self->in_place ? ork_bo_data(self->c) : self->c_memory;
}

/* A run over a C that the CPU has just written all over. */
static int run(FIXTURE_DATA(golden) *self, const FIXTURE_VARIANT(golden) *v,
	       struct ork_matmul *matmul)
{
	struct ork_matrix a = { .bo = self->a }, c = matrix_c(self);

	memset(data_c(self), 0x5a, c_room(self, v));
	return ork_matmul_run(matmul, &a, self->b, &c);
}

/*
 * The first run of everything, then one with other operands in the same objects, then the golden
 * one again, twice, the last over a C that the CPU has not written.
 */
static void check(struct __test_metadata *_metadata, FIXTURE_DATA(golden) *self,
		  const FIXTURE_VARIANT(golden) *v, uint32_t cores, enum ork_sync_mode sync)
{
	struct ork_matmul_desc desc = describe(v, cores, sync);
	struct ork_matrix a = { .bo = self->a }, c = matrix_c(self);
	struct ork_matmul *matmul;

	ASSERT_EQ(0, ork_matmul_create(self->ork, &desc, &matmul)) {
		TH_LOG("%s", ork_error(self->ork));
	}
	ASSERT_EQ(0, run(self, v, matmul)) {
		TH_LOG("%s", ork_error(self->ork));
	}
	EXPECT_EQ(v->hash, hash_rows(self, v, data_c(self)));
	EXPECT_EQ(0, gaps_touched(self, v, data_c(self)));

	fill_a(self, v, v->seed + 1000);
	ASSERT_EQ(0, fill_b(self, v, v->seed + 2000));
	ASSERT_EQ(0, run(self, v, matmul));
	EXPECT_NE(v->hash, hash_rows(self, v, data_c(self)));

	fill_a(self, v, v->seed);
	ASSERT_EQ(0, fill_b(self, v, v->seed));
	ASSERT_EQ(0, run(self, v, matmul));
	EXPECT_EQ(v->hash, hash_rows(self, v, data_c(self)));
	EXPECT_EQ(0, gaps_touched(self, v, data_c(self)));

	a.flags = ORK_CPU_CLEAN;
	c.flags = c.bo ? ORK_CPU_CLEAN : 0;
	ASSERT_EQ(0, ork_matmul_run(matmul, &a, self->b, &c));
	EXPECT_EQ(v->hash, hash_rows(self, v, data_c(self)));
	ork_matmul_destroy(matmul);
}

TEST_F_TIMEOUT(golden, cold_and_warm_on_one_core, TIMEOUT_S)
{
	check(_metadata, self, variant, 1, ORK_SYNC_LIVE);
}

TEST_F_TIMEOUT(golden, cold_and_warm_on_two_cores, TIMEOUT_S)
{
	check(_metadata, self, variant, 2, ORK_SYNC_LIVE);
}

TEST_F_TIMEOUT(golden, cold_and_warm_on_three_cores, TIMEOUT_S)
{
	check(_metadata, self, variant, 3, ORK_SYNC_LIVE);
}

TEST_F_TIMEOUT(golden, cold_and_warm_on_one_core_whole_objects, TIMEOUT_S)
{
	check(_metadata, self, variant, 1, ORK_SYNC_WHOLE);
}

TEST_F_TIMEOUT(golden, cold_and_warm_on_three_cores_whole_objects, TIMEOUT_S)
{
	check(_metadata, self, variant, 3, ORK_SYNC_WHOLE);
}

/* The operands in plain memory: the library's own objects are as cold. */
TEST_F_TIMEOUT(golden, cold_and_warm_from_plain_memory, TIMEOUT_S)
{
	struct ork_matmul_desc desc = describe(variant, 3, ORK_SYNC_LIVE);
	struct ork_matrix a = { .data = malloc(a_room(variant)) }, c = { .data = self->c_memory };
	struct ork_matmul *matmul;

	ASSERT_NE(NULL, a.data);
	memcpy(a.data, ork_bo_data(self->a), a_room(variant));
	ASSERT_EQ(0, ork_matmul_create(self->ork, &desc, &matmul));
	for (unsigned int i = 0; i < 2; i++) {
		memset(c.data, 0x5a, c_room(self, variant));
		ASSERT_EQ(0, ork_matmul_run(matmul, &a, self->b, &c));
		EXPECT_EQ(variant->hash, hash_rows(self, variant, c.data));
		EXPECT_EQ(0, gaps_touched(self, variant, c.data));
	}
	ork_matmul_destroy(matmul);
	free(a.data);
}

static double element_of_c(const FIXTURE_DATA(golden) *self, const FIXTURE_VARIANT(golden) *v,
			   uint32_t m, uint32_t n)
{
	const uint8_t *at = data_c(self) + ((size_t)m * v->ldc + n) * self->c_element;

	if (v->type == FP16_FP32)
		return *(const float *)at;
	if (v->type == FP16_FP16)
		return (double)*(const _Float16 *)at;
	if (v->type == INT8_INT16 || v->type == INT4_INT16)
		return *(const int16_t *)at;
	if (v->type == INT8_INT8)
		return *(const int8_t *)at;
	return *(const int32_t *)at;
}

TEST_F_TIMEOUT(golden, cold_with_loaded_weights, TIMEOUT_S)
{
	struct ork_matmul_desc desc = describe(variant, 3, ORK_SYNC_LIVE);
	struct ork_matmul *matmul;

	ASSERT_EQ(0, ork_weights_load(self->b));
	ASSERT_EQ(0, ork_matmul_create(self->ork, &desc, &matmul));
	ASSERT_EQ(0, run(self, variant, matmul));
	EXPECT_EQ(variant->hash, hash_rows(self, variant, data_c(self)));
	ork_matmul_destroy(matmul);
}

/*
 * An operand in units in which all of them are whole numbers, and so are exact sums of their
 * products.
 */
#define UNIT_BITS	13

static int64_t units(const FIXTURE_VARIANT(golden) *v, unsigned int matrix, uint32_t row,
		     uint32_t column)
{
	return is_integer(v->type)
		       ? integer_element(v->type, v->seed, matrix, row, column)
		       : (int64_t)ldexp(golden_fp16(v->seed, matrix, row, column), UNIT_BITS);
}

/* Of int4 to int16, a column of @b at a time. */
static int64_t saturated_sum(const FIXTURE_VARIANT(golden) *v, uint32_t m, const int32_t *b)
{
	int64_t part = 0, total = 0;

	for (uint32_t k = 0; k < v->k; k++) {
		part += units(v, GOLDEN_A, m, k) * b[(size_t)k * v->n];
		if (k % GOLDEN_INT4_STEP == GOLDEN_INT4_STEP - 1)
			part = golden_saturated(part);
		if (k % GOLDEN_INT4_SLICE == GOLDEN_INT4_SLICE - 1) {
			total += part;
			part = 0;
		}
	}
	return golden_saturated(total + golden_saturated(part));
}

/* A row of C, exactly, and the sums of the sizes of what is added up there. */
static void exact_row(const FIXTURE_VARIANT(golden) *v, uint32_t m, const int32_t *b, int64_t *sum,
		      int64_t *size)
{
	memset(sum, 0, sizeof(*sum) * v->n);
	memset(size, 0, sizeof(*size) * v->n);
	for (uint32_t k = 0; k < v->k; k++) {
		int64_t left = units(v, GOLDEN_A, m, k);

		for (uint32_t n = 0; n < v->n; n++) {
			int64_t product = left * b[(size_t)k * v->n + n];

			sum[n] += product;
			size[n] += llabs(product);
		}
	}
}

/*
 * All of C within what fp32 sums of this length may err; an fp16 result may be half a unit in its
 * last place off besides. Integers must be exact.
 */
TEST_F_TIMEOUT(golden, close_to_exact_sums, TIMEOUT_S)
{
	bool integer = is_integer(variant->type);
	double unit = ldexp(1, integer ? 0 : -2 * UNIT_BITS);
	double slack = integer ? 0 : 2e-7 * sqrt(variant->k / 1024.0) + 2e-7;
	struct ork_matmul_desc desc = describe(variant, 0, ORK_SYNC_LIVE);
	int32_t *b = malloc(sizeof(*b) * variant->k * variant->n);
	int64_t *sum = malloc(sizeof(*sum) * 2 * variant->n), *size = sum + variant->n;
	struct ork_matmul *matmul;
	uint32_t wrong = 0;

	ASSERT_TRUE(b && sum);
	ASSERT_EQ(0, ork_matmul_create(self->ork, &desc, &matmul));
	ASSERT_EQ(0, run(self, variant, matmul));
	for (uint32_t k = 0; k < variant->k; k++)
		for (uint32_t n = 0; n < variant->n; n++)
			b[(size_t)k * variant->n + n] = (int32_t)units(variant, GOLDEN_B, k, n);
	for (uint32_t m = 0; m < variant->m; m++) {
		exact_row(variant, m, b, sum, size);
		for (uint32_t n = 0; n < variant->n; n++) {
			double exact = is_requantised(variant->type)
					       ? golden_requantised(variant->type, sum[n])
					       : (double)sum[n] * unit;
			double rounding =
				variant->type == FP16_FP16 ? fabs(exact) / 2048 + 0x1p-25 : 0;

			if (variant->type == INT4_INT16)
				exact = (double)saturated_sum(variant, m, b + n);
			wrong += fabs(element_of_c(self, variant, m, n) - exact) >
				 slack * (double)size[n] * unit + rounding;
		}
	}
	EXPECT_EQ(0u, wrong);
	ork_matmul_destroy(matmul);
	free(sum);
	free(b);
}

LIB_TEST_MAIN

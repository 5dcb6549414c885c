// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large products, of the shapes at which other stacks went wrong: a K in slices, wide N, tens of
 * megabytes of weights. Each on one core and on three, cold and warm, with live extents and with
 * whole objects, against static hashes of what they must be (golden/large.tsv).
 */
#include <stdlib.h>
#include <string.h>
#include <ork.h>
#include <kselftest_harness.h>
#include "../golden/inputs.h"
#include "lib_test.h"

#define TIMEOUT_S	300

FIXTURE(large) {
	struct ork *ork;
	struct ork_bo *a, *c;
	struct ork_weights *b;
	uint32_t element;	/* bytes; of C always 4 */
};

FIXTURE_VARIANT(large) {
	enum golden_type type;
	uint32_t m, k, n, lda, ldc;
	uint64_t seed, hash;
};

#include "large.inc"

static enum ork_type type_of(const FIXTURE_VARIANT(large) *v)
{
	return v->type == FP16_FP32 ? ORK_FP16_FP32 : ORK_INT8_INT32;
}

static void fill(const FIXTURE_VARIANT(large) *v, void *to, unsigned int matrix, uint32_t rows,
		 uint32_t columns)
{
	size_t i = 0;

	for (uint32_t row = 0; row < rows; row++)
		for (uint32_t column = 0; column < columns; column++, i++) {
			if (v->type == FP16_FP32)
				((_Float16 *)to)[i] =
					(_Float16)golden_fp16(v->seed, matrix, row, column);
			else
				((int8_t *)to)[i] = golden_int8(v->seed, matrix, row, column);
		}
}

FIXTURE_SETUP(large)
{
	void *b;

	self->element = variant->type == FP16_FP32 ? 2 : 1;
	ASSERT_EQ(0, ork_open(TEST_DEVICE, &self->ork));
	ASSERT_EQ(0, ork_bo_create(self->ork, (uint64_t)variant->m * variant->k * self->element, 0,
				   &self->a));
	ASSERT_EQ(0, ork_bo_create(self->ork, (uint64_t)variant->m * variant->n * 4, 0, &self->c));
	ASSERT_EQ(0, ork_weights_create(self->ork, type_of(variant), variant->k, variant->n,
					&self->b));
	b = malloc((size_t)variant->k * variant->n * self->element);
	ASSERT_NE(NULL, b);
	fill(variant, b, GOLDEN_B, variant->k, variant->n);
	ASSERT_EQ(0, ork_weights_pack(self->b, b, variant->n, 0));
	free(b);
	fill(variant, ork_bo_data(self->a), GOLDEN_A, variant->m, variant->k);
}

FIXTURE_TEARDOWN(large)
{
	ork_weights_destroy(self->b);
	ork_bo_destroy(self->c);
	ork_bo_destroy(self->a);
	ork_close(self->ork);
}

/* Twice, each time over a C that the CPU has just written. */
static void check(struct __test_metadata *_metadata, FIXTURE_DATA(large) *self,
		  const FIXTURE_VARIANT(large) *v, uint32_t cores, enum ork_sync_mode sync)
{
	struct ork_matmul_desc desc = {
		.type = type_of(v), .m = v->m, .k = v->k, .n = v->n, .cores = cores, .sync = sync,
	};
	struct ork_matrix a = { .bo = self->a }, c = { .bo = self->c };
	size_t bytes = (size_t)v->m * v->n * 4;
	struct ork_matmul *matmul;

	ASSERT_EQ(0, ork_matmul_create(self->ork, &desc, &matmul)) {
		TH_LOG("%s", ork_error(self->ork));
	}
	for (int run = 0; run < 2; run++) {
		memset(ork_bo_data(self->c), 0x5a, bytes);
		ASSERT_EQ(0, ork_matmul_run(matmul, &a, self->b, &c)) {
			TH_LOG("%s", ork_error(self->ork));
		}
		EXPECT_EQ(v->hash, golden_hash(GOLDEN_HASH_START, ork_bo_data(self->c), bytes)) {
			TH_LOG("%u cores, %s, run %d", cores,
			       sync == ORK_SYNC_LIVE ? "live" : "whole", run);
		}
	}
	ork_matmul_destroy(matmul);
}

TEST_F_TIMEOUT(large, product_is_the_same_on_one_and_three_cores_live_and_whole, TIMEOUT_S)
{
	check(_metadata, self, variant, 3, ORK_SYNC_LIVE);
	check(_metadata, self, variant, 1, ORK_SYNC_LIVE);
	check(_metadata, self, variant, 3, ORK_SYNC_WHOLE);
}

LIB_TEST_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several products in one submit: layers one behind the other, of which each takes what the one
 * before gave without a byte of it being maintained, over one to three cores; and many small
 * products at once. Results against 64-bit integers.
 */
#include <stdlib.h>
#include <string.h>
#include <ork.h>
#include <kselftest_harness.h>
#include "../golden/inputs.h"
#include "board.h"
#include "lib_test.h"

#define LAYERS		3
#define MAX_WIDTH	512
#define MEMBERS		64
#define SIDE		64

/* A stack of products over rows that are shared out to cores; all of int8 until the last. */
FIXTURE(layers) {
	struct ork *ork;
	struct ork_bo *bo[LAYERS + 1];	/* A, what is between, C */
	struct ork_weights *weights[LAYERS];
	struct ork_matmul *matmul[3][LAYERS];
	struct ork_batch *batch;
};

FIXTURE_VARIANT(layers) {
	uint32_t m, parts;
	uint32_t width[LAYERS + 1];
};

FIXTURE_VARIANT_ADD(layers, on_one_core) { 70, 1, { 256, 512, 64, 32 } };
FIXTURE_VARIANT_ADD(layers, on_two_cores) { 90, 2, { 512, 256, 512, 64 } };
FIXTURE_VARIANT_ADD(layers, on_three_cores) { 300, 3, { 64, 256, 256, 32 } };
/* Of so few rows that the first layer's last lines are fetched by the second at once. */
FIXTURE_VARIANT_ADD(layers, of_single_rows) { 3, 3, { 512, 512, 512, 512 } };

/* Seven of eight are zero, so that sums scaled down by 4 are seldom cut to 8 bits. */
static int8_t weight(uint64_t seed, uint32_t k, uint32_t n)
{
	return (k + n) % 8 ? 0 : golden_int8(seed, GOLDEN_B, k, n) / 32;
}

#define SHIFT	2

static int make_weights(FIXTURE_DATA(layers) *self, const FIXTURE_VARIANT(layers) *v, uint32_t layer)
{
	uint32_t k = v->width[layer], n = v->width[layer + 1];
	enum ork_type type = layer + 1 < LAYERS ? ORK_INT8_INT8 : ORK_INT8_INT32;
	int8_t *b = malloc((size_t)k * n);
	int error;

	if (!b)
		return -ENOMEM;
	for (uint32_t i = 0; i < k; i++)
		for (uint32_t j = 0; j < n; j++)
			b[(size_t)i * n + j] = weight(layer, i, j);
	error = ork_weights_create(self->ork, type, k, n, &self->weights[layer]);
	if (!error)
		error = ork_weights_pack(self->weights[layer], b, n, 0);
	free(b);
	return error;
}

static int add_layer(FIXTURE_DATA(layers) *self, const FIXTURE_VARIANT(layers) *v, uint32_t part,
		     uint32_t layer)
{
	uint32_t first = v->m * part / v->parts, rows = v->m * (part + 1) / v->parts - first;
	bool last = layer + 1 == LAYERS;
	struct ork_matmul_desc desc = {
		.type = last ? ORK_INT8_INT32 : ORK_INT8_INT8, .m = rows, .k = v->width[layer],
		.n = v->width[layer + 1], .cores = 1, .multiplier = !last, .shift = last ? 0 : SHIFT,
	};
	struct ork_matrix a = {
		.bo = self->bo[layer], .offset = (uint64_t)first * desc.k,
		.flags = layer ? ORK_DEVICE_ONLY : 0,
	};
	struct ork_matrix c = {
		.bo = self->bo[layer + 1], .offset = (uint64_t)first * desc.n * (last ? 4 : 1),
		.flags = last ? ORK_CPU_CLEAN : ORK_DEVICE_ONLY,
	};
	int error = ork_matmul_create(self->ork, &desc, &self->matmul[part][layer]);

	return error ? error : ork_batch_add(self->batch, self->matmul[part][layer], &a,
					     self->weights[layer], &c, layer ? ORK_BEHIND : 0);
}

FIXTURE_SETUP(layers)
{
	ASSERT_EQ(0, ork_open(TEST_DEVICE, &self->ork));
	ASSERT_EQ(0, ork_batch_create(self->ork, variant->parts * LAYERS, &self->batch));
	for (uint32_t i = 0; i <= LAYERS; i++)
		ASSERT_EQ(0, ork_bo_create(self->ork, (uint64_t)variant->m * variant->width[i] *
					   (i == LAYERS ? 4 : 1), 0, &self->bo[i]));
	for (uint32_t i = 0; i < LAYERS; i++)
		ASSERT_EQ(0, make_weights(self, variant, i));
	for (uint32_t part = 0; part < variant->parts; part++) {
		for (uint32_t i = 0; i < LAYERS; i++) {
			ASSERT_EQ(0, add_layer(self, variant, part, i)) {
				TH_LOG("%s", ork_error(self->ork));
			}
		}
	}
}

FIXTURE_TEARDOWN(layers)
{
	ork_batch_destroy(self->batch);
	for (uint32_t i = 0; i < LAYERS; i++) {
		for (uint32_t part = 0; part < variant->parts; part++)
			ork_matmul_destroy(self->matmul[part][i]);
		ork_weights_destroy(self->weights[i]);
	}
	for (uint32_t i = 0; i <= LAYERS; i++)
		ork_bo_destroy(self->bo[i]);
	ork_close(self->ork);
}

/* To the nearest, ties to even, cut to 8 bits. */
static int64_t scaled_down(int64_t sum)
{
	int64_t unit = 1 << SHIFT, down = sum >= 0 ? sum / unit : -((-sum + unit - 1) / unit);
	int64_t rest = sum - down * unit;

	if (2 * rest > unit || (2 * rest == unit && down % 2))
		down++;
	return down > 127 ? 127 : down < -128 ? -128 : down;
}

/* @row: what the first layer takes; then what the last gives. */
static void compute(const FIXTURE_VARIANT(layers) *v, int64_t *row)
{
	int64_t sum[MAX_WIDTH];

	for (uint32_t layer = 0; layer < LAYERS; layer++) {
		for (uint32_t j = 0; j < v->width[layer + 1]; j++) {
			sum[j] = 0;
			for (uint32_t i = 0; i < v->width[layer]; i++)
				sum[j] += row[i] * weight(layer, i, j);
		}
		for (uint32_t j = 0; j < v->width[layer + 1]; j++)
			row[j] = layer + 1 < LAYERS ? scaled_down(sum[j]) : sum[j];
	}
}

static void fill_a(FIXTURE_DATA(layers) *self, const FIXTURE_VARIANT(layers) *v, uint64_t seed)
{
	int8_t *a = ork_bo_data(self->bo[0]);

	for (uint32_t i = 0; i < v->m; i++)
		for (uint32_t j = 0; j < v->width[0]; j++)
			a[(size_t)i * v->width[0] + j] = golden_int8(seed, GOLDEN_A, i, j);
}

static uint32_t wrong_elements(FIXTURE_DATA(layers) *self, const FIXTURE_VARIANT(layers) *v,
			       uint64_t seed)
{
	const int32_t *c = ork_bo_data(self->bo[LAYERS]);
	int64_t row[MAX_WIDTH];
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < v->m; i++) {
		for (uint32_t j = 0; j < v->width[0]; j++)
			row[j] = golden_int8(seed, GOLDEN_A, i, j);
		compute(v, row);
		for (uint32_t j = 0; j < v->width[LAYERS]; j++)
			wrong += c[(size_t)i * v->width[LAYERS] + j] != row[j];
	}
	return wrong;
}

TEST_F_TIMEOUT(layers, take_what_those_before_gave, 120)
{
	for (uint64_t seed = 1; seed < 5; seed++) {
		fill_a(self, variant, seed);
		ASSERT_EQ(0, ork_batch_start(self->batch)) {
			TH_LOG("%s", ork_error(self->ork));
		}
		ASSERT_EQ(0, ork_batch_wait(self->batch, INT64_MAX));
		EXPECT_EQ(0u, wrong_elements(self, variant, seed));
	}
}

/* Of a warm call A is cleaned, with what is fetched with it, and C invalidated: nothing else. */
TEST_F_TIMEOUT(layers, leave_what_is_between_alone, 120)
{
	struct drm_ork_counters before, after;
	struct ork_profile profile;

	fill_a(self, variant, 1);
	ASSERT_EQ(0, ork_batch_start(self->batch));
	ASSERT_EQ(0, ork_batch_wait(self->batch, INT64_MAX));
	ork_profile_enable(self->ork, true);
	fill_a(self, variant, 2);
	ASSERT_EQ(0, ork_counters(self->ork, -1, &before));
	ASSERT_EQ(0, ork_batch_start(self->batch));
	ASSERT_EQ(0, ork_batch_wait(self->batch, INT64_MAX));
	ASSERT_EQ(0, ork_counters(self->ork, -1, &after));
	ork_profile_get(self->ork, &profile);
	if (ork_info(self->ork)->flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "nothing is maintained on a coherent device");
	EXPECT_EQ(variant->m * variant->width[0],
		  after.bytes_cleaned - before.bytes_cleaned - profile.bytes_window);
	EXPECT_EQ(variant->m * variant->width[LAYERS] * 4,
		  after.bytes_invalidated - before.bytes_invalidated);
	EXPECT_EQ(1, after.submits - before.submits);
	EXPECT_EQ(variant->parts, after.jobs - before.jobs);
	EXPECT_EQ(variant->parts * LAYERS, after.interrupts - before.interrupts);
	EXPECT_EQ(2, profile.ioctls);
	EXPECT_EQ(0u, wrong_elements(self, variant, 2));
}

/* With programs that take their time on the other cores, a layer has to wait for its own. */
TEST_F_TIMEOUT(layers, keep_their_order_whatever_cores_do, 120)
{
	volatile uint32_t *board = board_open();

	if (!board)
		SKIP(return, "this is not the emulated board");
	board_core_write(board, 0, ORK_BOARD_CORE_STRETCH_US, 3000);
	board_core_write(board, 1, ORK_BOARD_CORE_STRETCH_US, 1000);
	for (uint64_t seed = 1; seed < 4; seed++) {
		fill_a(self, variant, seed);
		ASSERT_EQ(0, ork_batch_start(self->batch));
		ASSERT_EQ(0, ork_batch_wait(self->batch, INT64_MAX));
		EXPECT_EQ(0u, wrong_elements(self, variant, seed));
	}
	board_behave(board);
}

/* --- many small ones -------------------------------------------------------------------------- */

/* One product for each job that a submit can have, A and C of all of them in two objects. */
FIXTURE(many) {
	struct ork *ork;
	struct ork_bo *a, *c;
	struct ork_weights *weights[MEMBERS];
	struct ork_matmul *matmul[MEMBERS];
	struct ork_batch *batch;
};

static int make_member(FIXTURE_DATA(many) *self, uint32_t i)
{
	struct ork_matmul_desc desc = {
		.type = ORK_INT8_INT32, .m = SIDE, .k = SIDE, .n = SIDE, .cores = 1,
	};
	struct ork_matrix a = { .bo = self->a, .offset = i * SIDE * SIDE };
	struct ork_matrix c = { .bo = self->c, .offset = i * SIDE * SIDE * 4ull };
	int8_t b[SIDE * SIDE];
	int error = ork_weights_create(self->ork, desc.type, SIDE, SIDE, &self->weights[i]);

	for (uint32_t k = 0; k < SIDE; k++)
		for (uint32_t n = 0; n < SIDE; n++)
			b[k * SIDE + n] = golden_int8(i, GOLDEN_B, k, n);
	if (!error)
		error = ork_weights_pack(self->weights[i], b, SIDE, 0);
	if (!error)
		error = ork_matmul_create(self->ork, &desc, &self->matmul[i]);
	if (!error)
		error = ork_batch_add(self->batch, self->matmul[i], &a, self->weights[i], &c, 0);
	return error;
}

FIXTURE_SETUP(many)
{
	ASSERT_EQ(0, ork_open(TEST_DEVICE, &self->ork));
	ASSERT_EQ(0, ork_batch_create(self->ork, MEMBERS, &self->batch));
	ASSERT_EQ(0, ork_bo_create(self->ork, MEMBERS * SIDE * SIDE, 0, &self->a));
	ASSERT_EQ(0, ork_bo_create(self->ork, MEMBERS * SIDE * SIDE * 4, 0, &self->c));
	for (uint32_t i = 0; i < MEMBERS; i++)
		ASSERT_EQ(0, make_member(self, i));
}

FIXTURE_TEARDOWN(many)
{
	ork_batch_destroy(self->batch);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		ork_matmul_destroy(self->matmul[i]);
		ork_weights_destroy(self->weights[i]);
	}
	ork_bo_destroy(self->a);
	ork_bo_destroy(self->c);
	ork_close(self->ork);
}

static uint32_t wrong_of_member(FIXTURE_DATA(many) *self, uint32_t i, uint64_t seed)
{
	const int32_t *c = (const int32_t *)ork_bo_data(self->c) + (size_t)i * SIDE * SIDE;
	uint32_t wrong = 0;

	for (uint32_t m = 0; m < SIDE; m++)
		for (uint32_t n = 0; n < SIDE; n++) {
			int32_t sum = 0;

			for (uint32_t k = 0; k < SIDE; k++)
				sum += golden_int8(seed + i, GOLDEN_A, m, k) * golden_int8(i, GOLDEN_B, k, n);
			wrong += c[m * SIDE + n] != sum;
		}
	return wrong;
}

TEST_F_TIMEOUT(many, products_are_one_submit_and_fill_the_cores, 120)
{
	struct drm_ork_counters before, after, core;
	int8_t *a = ork_bo_data(self->a);

	ASSERT_EQ(0, ork_counters(self->ork, -1, &before));
	for (uint64_t seed = 100; seed < 102; seed++) {
		for (uint32_t i = 0; i < MEMBERS * SIDE * SIDE; i++)
			a[i] = golden_int8(seed + i / (SIDE * SIDE), GOLDEN_A, i / SIDE % SIDE, i % SIDE);
		ASSERT_EQ(0, ork_batch_start(self->batch));
		ASSERT_EQ(0, ork_batch_wait(self->batch, INT64_MAX));
		for (uint32_t i = 0; i < MEMBERS; i++)
			EXPECT_EQ(0u, wrong_of_member(self, i, seed));
	}
	ASSERT_EQ(0, ork_counters(self->ork, -1, &after));
	EXPECT_EQ(2, after.submits - before.submits);
	EXPECT_EQ(2 * MEMBERS, after.jobs - before.jobs);
	for (uint32_t i = 0; i < ork_info(self->ork)->num_cores; i++) {
		ASSERT_EQ(0, ork_counters(self->ork, i, &core));
		EXPECT_LT(0, core.jobs);
	}
}

LIB_TEST_MAIN

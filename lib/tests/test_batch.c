// SPDX-License-Identifier: MIT
/*
 * Products in one submit: independent ones, and layers one behind the other whose intermediate results
 * stay on the device. On the model, with expected values in 64-bit integers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"

#define MAX_LAYERS	4

/* --- numbers ---------------------------------------------------------------------------------- */

static int8_t value_of(uint64_t row, uint64_t column, uint64_t salt)
{
	return (int8_t)((row * 29 + column * 7 + row * column % 11 + salt * 5) % 7) - 3;
}

static void put(enum ork_type type, void *to, uint64_t index, int value)
{
	if (type <= ORK_FP16_FP16)
		((_Float16 *)to)[index] = (_Float16)value;
	else
		((int8_t *)to)[index] = (int8_t)value;
}

static double get(enum ork_type type, const void *from, uint64_t index)
{
	switch (type) {
	case ORK_FP16_FP32: return ((const float *)from)[index];
	case ORK_FP16_FP16: return (double)((const _Float16 *)from)[index];
	case ORK_INT8_INT32: return ((const int32_t *)from)[index];
	default: return ((const int8_t *)from)[index];
	}
}

static uint32_t in_bytes(enum ork_type type)
{
	return type <= ORK_FP16_FP16 ? 2 : 1;
}

static uint32_t out_bytes(enum ork_type type)
{
	return type == ORK_INT8_INT8 ? 1 : type == ORK_FP16_FP16 ? 2 : 4;
}

/* --- layers ----------------------------------------------------------------------------------- */

/* A stack of products over @m rows; each takes what the one before gave. */
struct stack {
	struct ork *ork;
	uint32_t m, layers;
	uint32_t width[MAX_LAYERS + 1];
	enum ork_type type[MAX_LAYERS];
	struct ork_bo *bo[MAX_LAYERS + 1];	/* of A, of what is between, of C */
	struct ork_weights *weights[MAX_LAYERS];
	struct ork_matmul *matmul[3][MAX_LAYERS];	/* of each part of the rows */
	uint32_t parts;
	struct ork_batch *batch;
};

static void fill_a(struct stack *s, uint64_t salt)
{
	uint64_t i, j;

	for (i = 0; i < s->m; i++)
		for (j = 0; j < s->width[0]; j++)
			put(s->type[0], ork_bo_data(s->bo[0]), i * s->width[0] + j, value_of(i, j, salt));
}

static void make_weights(struct stack *s, uint32_t layer)
{
	uint32_t k = s->width[layer], n = s->width[layer + 1];
	void *b = malloc((size_t)k * n * in_bytes(s->type[layer]));
	uint64_t i, j;

	/* Few of them, and small, so that fp16 and int8 hold the sums. */
	for (i = 0; i < k; i++)
		for (j = 0; j < n; j++)
			put(s->type[layer], b, i * n + j, (i + j) % 8 ? 0 : value_of(i, j, layer) % 2);
	CHECK_EQUAL(ork_weights_create(s->ork, s->type[layer], k, n, &s->weights[layer]), 0);
	CHECK_EQUAL(ork_weights_pack(s->weights[layer], b, n, 0), 0);
	free(b);
}

static uint32_t first_row(const struct stack *s, uint32_t part)
{
	return s->m * part / s->parts;
}

static void add_layer(struct stack *s, uint32_t part, uint32_t layer)
{
	uint32_t first = first_row(s, part), rows = first_row(s, part + 1) - first;
	struct ork_matmul_desc desc = {
		.type = s->type[layer], .m = rows, .k = s->width[layer], .n = s->width[layer + 1], .cores = 1,
		.multiplier = s->type[layer] == ORK_INT8_INT8,
	};
	struct ork_matrix a = {
		.bo = s->bo[layer], .offset = (uint64_t)first * desc.k * in_bytes(desc.type),
		.flags = layer ? ORK_DEVICE_ONLY : 0,
	};
	struct ork_matrix c = {
		.bo = s->bo[layer + 1], .offset = (uint64_t)first * desc.n * out_bytes(desc.type),
		.flags = layer + 1 < s->layers ? ORK_DEVICE_ONLY : ORK_CPU_CLEAN,
	};

	CHECK(ork_matmul_create(s->ork, &desc, &s->matmul[part][layer]) == 0, "%s", ork_error(s->ork));
	CHECK(ork_batch_add(s->batch, s->matmul[part][layer], &a, s->weights[layer], &c, layer ? ORK_BEHIND : 0) == 0,
	      "%s", ork_error(s->ork));
}

static void make_stack(struct stack *s, struct ork *ork)
{
	uint32_t i, part;

	s->ork = ork;
	CHECK_EQUAL(ork_batch_create(ork, s->parts * s->layers, &s->batch), 0);
	CHECK_EQUAL(ork_bo_create(ork, (uint64_t)s->m * s->width[0] * in_bytes(s->type[0]), 0, &s->bo[0]), 0);
	for (i = 0; i < s->layers; i++) {
		make_weights(s, i);
		CHECK_EQUAL(ork_bo_create(ork, (uint64_t)s->m * s->width[i + 1] * out_bytes(s->type[i]), 0,
					  &s->bo[i + 1]), 0);
	}
	for (part = 0; part < s->parts; part++)
		for (i = 0; i < s->layers; i++)
			add_layer(s, part, i);
}

static void drop_stack(struct stack *s)
{
	uint32_t i, part;

	ork_batch_destroy(s->batch);
	for (i = 0; i < s->layers; i++) {
		for (part = 0; part < s->parts; part++)
			ork_matmul_destroy(s->matmul[part][i]);
		ork_weights_destroy(s->weights[i]);
		ork_bo_destroy(s->bo[i + 1]);
	}
	ork_bo_destroy(s->bo[0]);
}

static int64_t between(enum ork_type type, int64_t sum)
{
	if (type == ORK_INT8_INT8)
		return sum > 127 ? 127 : sum < -128 ? -128 : sum;
	CHECK(type != ORK_FP16_FP16 || llabs(sum) <= 2048, "fp16 does not hold %lld", (long long)sum);
	return sum;
}

/* @row: what the layer takes; then what it gives. */
static void compute_layer(const struct stack *s, uint32_t layer, int64_t *row)
{
	uint32_t k = s->width[layer], n = s->width[layer + 1], i, j;
	int64_t *sums = calloc(n, sizeof(*sums));

	for (i = 0; i < k; i++)
		for (j = 0; j < n; j++)
			sums[j] += row[i] * ((i + j) % 8 ? 0 : value_of(i, j, layer) % 2);
	for (j = 0; j < n; j++)
		row[j] = between(s->type[layer], sums[j]);
	free(sums);
}

static void check_stack(const struct stack *s, uint64_t salt)
{
	uint32_t last = s->layers - 1, i, j;
	int64_t row[1024];

	for (i = 0; i < s->m; i++) {
		for (j = 0; j < s->width[0]; j++)
			row[j] = value_of(i, j, salt);
		for (j = 0; j < s->layers; j++)
			compute_layer(s, j, row);
		for (j = 0; j < s->width[s->layers]; j++) {
			double got = get(s->type[last], ork_bo_data(s->bo[s->layers]),
					 (uint64_t)i * s->width[s->layers] + j);

			if (got != (double)row[j]) {
				CHECK(false, "C[%u][%u] is %g, not %lld", i, j, got, (long long)row[j]);
				return;
			}
		}
	}
}

/* --- layers one behind the other -------------------------------------------------------------- */

static const struct stack stacks[] = {
	{ .m = 40, .layers = 3, .parts = 1, .width = { 256, 128, 512, 64 },
	  .type = { ORK_FP16_FP16, ORK_FP16_FP16, ORK_FP16_FP32 } },
	{ .m = 300, .layers = 4, .parts = 3, .width = { 64, 256, 256, 32, 32 },
	  .type = { ORK_FP16_FP16, ORK_FP16_FP16, ORK_FP16_FP16, ORK_FP16_FP32 } },
	{ .m = 90, .layers = 3, .parts = 2, .width = { 512, 256, 1024, 64 },
	  .type = { ORK_INT8_INT8, ORK_INT8_INT8, ORK_INT8_INT32 } },
};

static void run_stack(struct stack *s, uint64_t salt)
{
	fill_a(s, salt);
	CHECK(ork_batch_start(s->batch) == 0, "%s", ork_error(s->ork));
	CHECK(ork_batch_wait(s->batch, INT64_MAX) == 0, "%s", ork_error(s->ork));
	check_stack(s, salt);
}

/* Cold, and warm with another A. */
static void run_stacks(const char *cache)
{
	struct ork *ork = open_model(cache);
	struct stack s;
	size_t i;

	for (i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		s = stacks[i];
		make_stack(&s, ork);
		run_stack(&s, 1);
		run_stack(&s, 2);
		run_stack(&s, 3);
		drop_stack(&s);
	}
	close_model(ork);
}

static void layers_take_what_those_before_gave(void)
{
	run_stacks("strict");
}

static void so_they_do_when_lines_are_evicted_at_any_time(void)
{
	run_stacks("evict");
}

/* Of a warm call A is cleaned and C invalidated; nothing that is between them is, nor are weights or chains. */
static void what_is_between_layers_is_not_maintained(void)
{
	struct ork *ork = open_model("strict");
	struct drm_ork_counters before, after;
	struct ork_profile p;
	struct stack s = stacks[1];

	make_stack(&s, ork);
	run_stack(&s, 1);
	ork_profile_enable(ork, true);
	CHECK_EQUAL(ork_counters(ork, -1, &before), 0);
	run_stack(&s, 2);
	CHECK_EQUAL(ork_counters(ork, -1, &after), 0);
	ork_profile_get(ork, &p);
	CHECK_EQUAL(after.bytes_cleaned - before.bytes_cleaned - p.bytes_window, 300 * 64 * 2);
	CHECK_EQUAL(after.bytes_invalidated - before.bytes_invalidated, 300 * 32 * 4);
	CHECK_EQUAL(after.submits - before.submits, 1);
	CHECK_EQUAL(after.jobs - before.jobs, 3);
	CHECK_EQUAL(p.ioctls, 2);
	CHECK_EQUAL(p.products, 12);
	drop_stack(&s);
	close_model(ork);
}

/* --- independent products --------------------------------------------------------------------- */

#define MEMBERS	5

struct member {
	struct ork_matmul_desc desc;
	int8_t *a, *b;
	int32_t *c;
	struct ork_weights *weights;
	struct ork_matmul *matmul;
};

static void make_member(struct ork *ork, struct member *m)
{
	const struct ork_matmul_desc *d = &m->desc;
	uint64_t i;

	m->a = malloc((size_t)d->m * d->k);
	m->b = malloc((size_t)d->k * d->n);
	m->c = calloc((size_t)d->m * d->n, sizeof(*m->c));
	for (i = 0; i < (uint64_t)d->m * d->k; i++)
		m->a[i] = value_of(i, d->m, 1);
	for (i = 0; i < (uint64_t)d->k * d->n; i++)
		m->b[i] = value_of(i, d->n, 2);
	CHECK_EQUAL(ork_weights_create(ork, d->type, d->k, d->n, &m->weights), 0);
	CHECK_EQUAL(ork_weights_pack(m->weights, m->b, d->n, 0), 0);
	CHECK(ork_matmul_create(ork, d, &m->matmul) == 0, "%s", ork_error(ork));
}

static int add_member(struct ork_batch *batch, struct member *m)
{
	return ork_batch_add(batch, m->matmul, &(struct ork_matrix) { .data = m->a }, m->weights,
			     &(struct ork_matrix) { .data = m->c }, 0);
}

static void check_member(const struct member *m)
{
	const struct ork_matmul_desc *d = &m->desc;
	uint32_t i, j, k;
	int32_t sum;

	for (i = 0; i < d->m; i++)
		for (j = 0; j < d->n; j++) {
			for (k = sum = 0; k < d->k; k++)
				sum += m->a[i * d->k + k] * m->b[k * d->n + j];
			if (m->c[i * d->n + j] != sum) {
				CHECK(false, "%ux%ux%u: C[%u][%u] is %d, not %d", d->m, d->k, d->n, i, j,
				      m->c[i * d->n + j], sum);
				return;
			}
		}
}

static void drop_member(struct member *m)
{
	ork_matmul_destroy(m->matmul);
	ork_weights_destroy(m->weights);
	free(m->a);
	free(m->b);
	free(m->c);
}

/* Of any shape, staged as they are in plain memory, one of them in slices of K. */
static void independent_products_run_in_one_submit(void)
{
	struct member members[MEMBERS] = {
		{ .desc = { .type = ORK_INT8_INT32, .m = 7, .k = 45, .n = 33 } },
		{ .desc = { .type = ORK_INT8_INT32, .m = 100, .k = 512, .n = 96 } },
		{ .desc = { .type = ORK_INT8_INT32, .m = 1, .k = 64, .n = 32, .cores = 1 } },
		{ .desc = { .type = ORK_INT8_INT32, .m = 20, .k = 5000, .n = 64 } },
		{ .desc = { .type = ORK_INT8_INT32, .m = 64, .k = 1024, .n = 40, .cores = 2 } },
	};
	struct ork *ork = open_model("evict");
	struct drm_ork_counters counters;
	struct ork_batch *batch;
	uint32_t i, run;

	CHECK_EQUAL(ork_batch_create(ork, MEMBERS, &batch), 0);
	for (i = 0; i < MEMBERS; i++) {
		make_member(ork, &members[i]);
		CHECK(add_member(batch, &members[i]) == 0, "%s", ork_error(ork));
	}
	for (run = 1; run < 4; run++) {
		for (i = 0; i < MEMBERS; i++)
			memset(members[i].c, 0x55, 4u * members[i].desc.m * members[i].desc.n);
		CHECK(ork_batch_start(batch) == 0, "%s", ork_error(ork));
		CHECK_EQUAL(ork_batch_wait(batch, INT64_MAX), 0);
		CHECK_EQUAL(ork_counters(ork, -1, &counters), 0);
		CHECK_EQUAL(counters.submits, run);
		for (i = 0; i < MEMBERS; i++)
			check_member(&members[i]);
	}
	ork_batch_destroy(batch);
	/* Theirs again. */
	CHECK_EQUAL(ork_matmul_run(members[0].matmul, &(struct ork_matrix) { .data = members[0].a },
				   members[0].weights, &(struct ork_matrix) { .data = members[0].c }), 0);
	for (i = 0; i < MEMBERS; i++)
		drop_member(&members[i]);
	close_model(ork);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void wrong_batches_are_refused_with_value_and_limit(void)
{
	struct member one = { .desc = { .type = ORK_INT8_INT32, .m = 7, .k = 64, .n = 64, .cores = 1 } };
	struct member other = { .desc = { .type = ORK_INT8_INT32, .m = 7, .k = 64, .n = 64, .cores = 2 } };
	struct ork *ork = open_model("strict");
	struct ork_matrix a, c;
	struct ork_batch *batch;

	CHECK_EQUAL(ork_batch_create(ork, 0, &batch), -EINVAL);
	CHECK_EQUAL(ork_batch_create(ork, 65, &batch), -EINVAL);
	CHECK(!batch && strstr(ork_error(ork), "65") && strstr(ork_error(ork), "64"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_batch_create(ork, 2, &batch), 0);
	make_member(ork, &one);
	make_member(ork, &other);
	a = (struct ork_matrix) { .data = one.a };
	c = (struct ork_matrix) { .data = one.c };
	CHECK_EQUAL(ork_batch_start(batch), -EINVAL);
	CHECK_EQUAL(ork_batch_wait(batch, 0), -EINVAL);
	CHECK_EQUAL(ork_batch_add(batch, one.matmul, &a, one.weights, &c, ORK_BEHIND), -EINVAL);
	CHECK_EQUAL(ork_batch_add(batch, one.matmul, &a, one.weights, &c, 2), -EOPNOTSUPP);
	CHECK_EQUAL(ork_batch_add(batch, one.matmul, &a, one.weights, &c, 0), 0);
	CHECK_EQUAL(ork_batch_add(batch, one.matmul, &a, one.weights, &c, 0), -EBUSY);
	CHECK_EQUAL(ork_matmul_start(one.matmul, &a, one.weights, &c), -EBUSY);
	CHECK_EQUAL(ork_batch_add(batch, other.matmul, &a, one.weights, &c, ORK_BEHIND), -EINVAL);
	CHECK(strstr(ork_error(ork), "2 cores behind one on 1"), "%s", ork_error(ork));
	a.flags = ORK_DEVICE_ONLY;
	CHECK_EQUAL(ork_batch_add(batch, other.matmul, &a, one.weights, &c, 0), -EINVAL);
	a.flags = 0;
	CHECK_EQUAL(ork_batch_add(batch, other.matmul, &a, other.weights, &c, 0), 0);
	CHECK_EQUAL(ork_batch_start(batch), 0);
	CHECK_EQUAL(ork_batch_start(batch), -EBUSY);
	CHECK_EQUAL(ork_batch_clear(batch), -EBUSY);
	CHECK_EQUAL(ork_batch_wait(batch, INT64_MAX), 0);
	CHECK_EQUAL(ork_batch_clear(batch), 0);
	CHECK_EQUAL(ork_batch_add(batch, one.matmul, &a, one.weights, &c, 0), 0);
	ork_batch_destroy(batch);
	drop_member(&one);
	drop_member(&other);
	close_model(ork);
}

/* What cannot be used in place would have to be copied. */
static void what_is_for_the_device_only_must_be_in_place(void)
{
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP16, .m = 4, .k = 64, .n = 32 };
	struct ork *ork = open_model("strict");
	struct ork_matrix a = { .flags = ORK_DEVICE_ONLY }, c = { .flags = ORK_DEVICE_ONLY };
	struct ork_weights *weights;
	struct ork_matmul *matmul;

	CHECK_EQUAL(ork_bo_create(ork, 4096, 0, &a.bo), 0);
	CHECK_EQUAL(ork_bo_create(ork, 4096, 0, &c.bo), 0);
	CHECK_EQUAL(ork_weights_create(ork, desc.type, desc.k, desc.n, &weights), 0);
	CHECK_EQUAL(ork_matmul_create(ork, &desc, &matmul), 0);
	a.offset = 8;
	CHECK_EQUAL(ork_matmul_run(matmul, &a, weights, &c), -EINVAL);
	CHECK(strstr(ork_error(ork), "A is for the device only") && strstr(ork_error(ork), "8"), "%s", ork_error(ork));
	a.offset = 0;
	c.offset = 32;
	CHECK_EQUAL(ork_matmul_run(matmul, &a, weights, &c), -EINVAL);
	CHECK(strstr(ork_error(ork), "C is for the device only") && strstr(ork_error(ork), "32"), "%s", ork_error(ork));
	c.offset = 64;
	CHECK_EQUAL(ork_matmul_run(matmul, &a, weights, &c), 0);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	ork_bo_destroy(a.bo);
	ork_bo_destroy(c.bo);
	close_model(ork);
}

int main(void)
{
	FILE *log = tmpfile();

	name_log(log);
	RUN(layers_take_what_those_before_gave);
	RUN(so_they_do_when_lines_are_evicted_at_any_time);
	RUN(what_is_between_layers_is_not_maintained);
	RUN(independent_products_run_in_one_submit);
	RUN(wrong_batches_are_refused_with_value_and_limit);
	RUN(what_is_for_the_device_only_must_be_in_place);
	fclose(log);
	return test_result();
}

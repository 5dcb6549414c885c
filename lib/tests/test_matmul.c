// SPDX-License-Identifier: MIT
/*
 * Products on the NPU model: types, shapes, cores, ways to name extents, caches. Expected values
 * are sums in double or 64-bit integers. Objects have bytes around and between the rows of A and C,
 * which the CPU has written and which must survive.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "model.h"

static const uint32_t in_bits[] = { 16, 16, 8, 8, 8, 4, 4 }, out_bytes[] = { 4, 2, 4, 2, 1, 2, 4 };

static bool is_fp16(enum ork_type type)
{
	return in_bits[type] == 16;
}

static uint64_t in_bytes(enum ork_type type, uint64_t elements)
{
	return (elements * in_bits[type] + 7) / 8;
}

/*
 * In place, where C's rows are whole lines: one and several tiles of M, K proven and not, strides. Then
 * those that are padded, and those whose K is cut into slices, with A in place and without.
 */
static const struct ork_matmul_desc descs[] = {
	{ .type = ORK_FP16_FP32, .m = 1, .k = 32, .n = 16 },
	{ .type = ORK_FP16_FP32, .m = 37, .k = 96, .n = 80 },
	{ .type = ORK_FP16_FP32, .m = 140, .k = 1024, .n = 64 },
	{ .type = ORK_FP16_FP32, .m = 50, .k = 384, .n = 112, .lda = 400, .ldc = 144 },
	{ .type = ORK_FP16_FP32, .m = 19, .k = 2048, .n = 48 },
	{ .type = ORK_FP16_FP32, .m = 1, .k = 8192, .n = 48 },
	{ .type = ORK_FP16_FP32, .m = 33, .k = 256, .n = 112, .lda = 1024, .ldc = 112 },
	{ .type = ORK_FP16_FP16, .m = 37, .k = 96, .n = 96 },
	{ .type = ORK_FP16_FP16, .m = 140, .k = 512, .n = 160, .ldc = 192 },
	{ .type = ORK_INT8_INT32, .m = 37, .k = 96, .n = 96 },
	{ .type = ORK_INT8_INT32, .m = 70, .k = 4096, .n = 64 },
	{ .type = ORK_INT8_INT32, .m = 333, .k = 1024, .n = 96, .lda = 1040, .ldc = 128 },
	{ .type = ORK_INT8_INT32, .m = 1, .k = 8192, .n = 32 },
	{ .type = ORK_FP16_FP32, .m = 1, .k = 1, .n = 1 },
	{ .type = ORK_FP16_FP32, .m = 37, .k = 33, .n = 17, .lda = 41, .ldc = 19 },
	{ .type = ORK_FP16_FP32, .m = 9, .k = 33, .n = 16, .lda = 64 },
	{ .type = ORK_FP16_FP16, .m = 5, .k = 100, .n = 50 },
	{ .type = ORK_INT8_INT32, .m = 7, .k = 45, .n = 33, .lda = 47, .ldc = 48 },
	{ .type = ORK_FP16_FP32, .m = 20, .k = 3000, .n = 20 },
	{ .type = ORK_FP16_FP32, .m = 70, .k = 2080, .n = 48, .lda = 2096, .ldc = 64 },
	{ .type = ORK_FP16_FP16, .m = 9, .k = 3584, .n = 320 },
	{ .type = ORK_INT8_INT32, .m = 150, .k = 5000, .n = 40 },
	{ .type = ORK_INT8_INT32, .m = 65, .k = 4128, .n = 64, .lda = 4160 },
	/* Requantised: some saturate at either end, some are ties. */
	{ .type = ORK_INT8_INT8, .m = 37, .k = 512, .n = 192, .multiplier = 20001, .shift = 25, .offset = -3 },
	{ .type = ORK_INT8_INT8, .m = 9, .k = 45, .n = 33, .multiplier = 1, .shift = 10 },
	{ .type = ORK_INT8_INT16, .m = 70, .k = 1024, .n = 96, .multiplier = 3, .shift = 3, .offset = 100 },
	{ .type = ORK_INT8_INT16, .m = 5, .k = 100, .n = 50, .multiplier = 32767, .shift = 16 },
	{ .type = ORK_INT8_INT8, .m = 20, .k = 5000, .n = 40, .multiplier = 1, .shift = 13, .offset = 7 },
	{ .type = ORK_INT8_INT16, .m = 6, .k = 4128, .n = 64, .multiplier = 1, .shift = 4 },
	{ .type = ORK_INT8_INT8, .m = 3, .k = 64, .n = 32, .multiplier = 2, .shift = 0 },
	{ .type = ORK_INT8_INT16, .m = 3, .k = 64, .n = 32, .multiplier = 32767, .shift = 47, .offset = -9 },
	/* Row by row and in batches of one and several tiles, A in place and not, saturating, K in slices. */
	{ .type = ORK_INT4_INT16, .m = 1, .k = 64, .n = 64 },
	{ .type = ORK_INT4_INT16, .m = 1, .k = 8192, .n = 256 },
	{ .type = ORK_INT4_INT16, .m = 37, .k = 96, .n = 192 },
	{ .type = ORK_INT4_INT16, .m = 35, .k = 1024, .n = 256, .lda = 2048, .ldc = 288 },
	{ .type = ORK_INT4_INT16, .m = 7, .k = 45, .n = 33, .lda = 50, .ldc = 40 },
	{ .type = ORK_INT4_INT16, .m = 5, .k = 11000, .n = 70 },
	{ .type = ORK_INT4_INT16, .m = 1, .k = 11000, .n = 70 },
	{ .type = ORK_INT4_INT32, .m = 1, .k = 480, .n = 64 },
	{ .type = ORK_INT4_INT32, .m = 9, .k = 1000, .n = 100 },
	{ .type = ORK_INT4_INT32, .m = 20, .k = 2048, .n = 64, .lda = 2080 },
};

#define DESCS	(sizeof(descs) / sizeof(descs[0]))

/* --- numbers ---------------------------------------------------------------------------------- */

static double element(const void *matrix, uint64_t index, enum ork_type type)
{
	int nibble;

	if (is_fp16(type))
		return (double)((const _Float16 *)matrix)[index];
	if (in_bits[type] == 8)
		return ((const int8_t *)matrix)[index];
	nibble = ((const uint8_t *)matrix)[index / 2] >> index % 2 * 4 & 15;
	return nibble < 8 ? nibble : nibble - 16;
}

static void fill(void *matrix, uint64_t bytes, enum ork_type type, uint64_t *random)
{
	uint64_t i;

	for (i = 0; i < (is_fp16(type) ? bytes / 2 : bytes); i++) {
		if (!is_fp16(type))
			((int8_t *)matrix)[i] = (int8_t)next_random(random);
		else
			((_Float16 *)matrix)[i] = (_Float16)((int32_t)(next_random(random) % 4001) / 2000.0 - 1.0);
	}
}

static double result(const void *c, uint64_t index, enum ork_type type)
{
	switch (type) {
	case ORK_FP16_FP32: return ((const float *)c)[index];
	case ORK_FP16_FP16: return (double)((const _Float16 *)c)[index];
	case ORK_INT4_INT16:
	case ORK_INT8_INT16: return ((const int16_t *)c)[index];
	case ORK_INT8_INT8: return ((const int8_t *)c)[index];
	default: return ((const int32_t *)c)[index];
	}
}

/*
 * What summing in fp32 may be off by, relative to the sum of magnitudes; and half a unit in the
 * last place of fp16 where C has that.
 */
static double allowed(enum ork_type type, uint32_t k, double sum, double magnitudes)
{
	double error = (2e-7 * sqrt(k / 1024.0) + 2e-7) * magnitudes;

	if (!is_fp16(type))
		return 0;
	return type == ORK_FP16_FP16 ? error + fabs(sum) / 2048 + ldexp(1, -25) : error;
}

/*
 * C as it must be. It is the same wherever and however it is computed, so each is summed up once.
 */
struct expectation {
	enum ork_type type;
	uint32_t m, k, n;
	uint64_t stride, seed;		/* what A's and B's elements depend on */
	double *sums, *magnitudes;	/* row by row */
};

static struct expectation expectations[4 * DESCS];

/* --- a product in objects that have more in them ---------------------------------------------- */

struct scene {
	struct ork *ork;
	struct ork_matmul_desc desc;
	uint64_t a_stride, c_stride;	/* elements */
	uint64_t a_offset, c_offset;	/* bytes */
	struct ork_bo *a_bo, *c_bo;
	void *b;
	const struct expectation *expected;
};

static void *a_data(const struct scene *s)
{
	return (char *)ork_bo_data(s->a_bo) + s->a_offset;
}

static void *c_data(const struct scene *s)
{
	return (char *)ork_bo_data(s->c_bo) + s->c_offset;
}

/* Even for int4. */
static uint64_t b_stride(const struct scene *s)
{
	return s->desc.n + (in_bits[s->desc.type] == 4 && s->desc.n % 2);
}

/* A row of C, from B as doubles. */
static void compute_row(const struct scene *s, uint32_t row, const double *b, double *sums, double *magnitudes)
{
	uint64_t n = s->desc.n, l, j;
	double a, product;

	for (l = 0; l < s->desc.k; l++) {
		a = element(a_data(s), row * s->a_stride + l, s->desc.type);
		for (j = 0; j < n; j++) {
			product = a * b[l * n + j];
			sums[j] += product;
			magnitudes[j] += fabs(product);
		}
	}
}

static double saturated(double sum)
{
	return sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
}

/* Of int4 to int16: after each 32 channels, in slices of 10,752 that are added up; and the sum of those. */
static void saturate_row(const struct scene *s, uint32_t row, const double *b, double *sums)
{
	uint64_t n = s->desc.n, l, j;
	double part, total;

	for (j = 0; j < n; j++) {
		for (l = 0, part = total = 0; l < s->desc.k; l++) {
			part += element(a_data(s), row * s->a_stride + l, s->desc.type) * b[l * n + j];
			if (l % 32 == 31 || l + 1 == s->desc.k)
				part = saturated(part);
			if (l % 10752 == 10751 || l + 1 == s->desc.k) {
				total += part;
				part = 0;
			}
		}
		sums[j] = saturated(total);
	}
}

static void compute(const struct scene *s, struct expectation *e)
{
	uint64_t elements = (uint64_t)s->desc.k * s->desc.n, i;
	double *b = malloc(elements * sizeof(*b));

	e->sums = calloc((size_t)e->m * e->n, sizeof(*e->sums));
	e->magnitudes = calloc((size_t)e->m * e->n, sizeof(*e->magnitudes));
	for (i = 0; i < elements; i++)
		b[i] = element(s->b, i / e->n * b_stride(s) + i % e->n, s->desc.type);
	for (i = 0; i < e->m && e->type == ORK_INT4_INT16; i++)
		saturate_row(s, (uint32_t)i, b, e->sums + i * e->n);
	for (i = 0; i < e->m && e->type != ORK_INT4_INT16; i++)
		compute_row(s, (uint32_t)i, b, e->sums + i * e->n, e->magnitudes + i * e->n);
	free(b);
}

static const struct expectation *expect(const struct scene *s, uint64_t seed)
{
	const struct ork_matmul_desc *d = &s->desc;
	struct expectation *e;

	for (e = expectations; e->sums; e++)
		if (e->type == d->type && e->m == d->m && e->k == d->k && e->n == d->n && e->stride == s->a_stride &&
		    e->seed == seed)
			return e;
	*e = (struct expectation) { d->type, d->m, d->k, d->n, s->a_stride, seed, NULL, NULL };
	compute(s, e);
	return e;
}

/* What lies between A's rows must be multiplied with nothing, not even with zeros. */
static void put_nans_beside_a(const struct scene *s)
{
	uint16_t *a = a_data(s);
	uint64_t i, j;

	for (i = 0; i < s->desc.m && is_fp16(s->desc.type); i++)
		for (j = s->desc.k; j < s->a_stride; j++)
			a[i * s->a_stride + j] = 0x7e00;
}

/* Everything random, what lies around A and C too: as the CPU leaves it, nothing cleaned. */
static void fill_scene(struct scene *s, uint64_t seed)
{
	uint64_t random = seed;

	fill(ork_bo_data(s->a_bo), ork_bo_size(s->a_bo), s->desc.type, &random);
	put_nans_beside_a(s);
	fill(s->b, in_bytes(s->desc.type, s->desc.k * b_stride(s)), s->desc.type, &random);
	fill(ork_bo_data(s->c_bo), ork_bo_size(s->c_bo), ORK_INT8_INT32, &random);
	s->expected = expect(s, seed);
}

static void make_scene(struct scene *s, struct ork *ork, const struct ork_matmul_desc *desc)
{
	uint64_t a_size, c_size;

	*s = (struct scene) { .ork = ork, .desc = *desc, .a_offset = 4096 + 48, .c_offset = 4096 + 128 };
	s->a_stride = desc->lda ? desc->lda : desc->k + (in_bits[desc->type] == 4 && desc->k % 2);
	s->c_stride = desc->ldc ? desc->ldc : desc->n;
	a_size = s->a_offset + in_bytes(desc->type, s->a_stride * desc->m) + 40000;
	c_size = s->c_offset + s->c_stride * desc->m * out_bytes[desc->type] + 500;
	CHECK_EQUAL(ork_bo_create(ork, a_size, 0, &s->a_bo), 0);
	CHECK_EQUAL(ork_bo_create(ork, c_size, 0, &s->c_bo), 0);
	s->b = malloc(in_bytes(desc->type, desc->k * b_stride(s)));
	fill_scene(s, 1);
}

static void drop_scene(struct scene *s)
{
	ork_bo_destroy(s->a_bo);
	ork_bo_destroy(s->c_bo);
	free(s->b);
}

/* A sum as C has it. Doubles hold all of this exactly, and nearbyint() gives ties to even. */
static double converted(const struct ork_matmul_desc *d, double sum)
{
	double limit = d->type == ORK_INT8_INT8 ? 127 : 32767;

	if (!d->multiplier)
		return sum;
	sum = nearbyint(ldexp(sum * d->multiplier, -(int)d->shift)) + d->offset;
	return sum > limit ? limit : sum < -limit - 1 ? -limit - 1 : sum;
}

static void check_values(const struct scene *s, const void *c, uint64_t stride)
{
	const struct ork_matmul_desc *d = &s->desc;
	uint64_t i, j;

	for (i = 0; i < d->m; i++) {
		for (j = 0; j < d->n; j++) {
			double sum = converted(d, s->expected->sums[i * d->n + j]);
			double got = result(c, i * stride + j, d->type);

			if (!(fabs(got - sum) <= allowed(d->type, d->k, sum, s->expected->magnitudes[i * d->n + j]))) {
				CHECK(false, "type %d m %u k %u n %u: C[%llu][%llu] is %g, not %g", d->type, d->m, d->k,
				      d->n, (unsigned long long)i, (unsigned long long)j, got, sum);
				return;
			}
		}
	}
}

/* A hash of C's bytes, without what lies between rows. */
static uint64_t hash_c(const struct scene *s, const void *c, uint64_t stride)
{
	uint64_t hash = 14695981039346656037u, i, j, row = s->desc.n * out_bytes[s->desc.type];

	for (i = 0; i < s->desc.m; i++)
		for (j = 0; j < row; j++)
			hash = (hash ^ ((const uint8_t *)c)[i * stride * out_bytes[s->desc.type] + j]) * 1099511628211u;
	return hash;
}

/* Only what lies beside C is compared: the copy gets its old bytes. */
static void check_beside_c(const struct scene *s, const void *before)
{
	uint64_t stride = s->c_stride * out_bytes[s->desc.type], row = s->desc.n * out_bytes[s->desc.type], i;
	uint64_t size = ork_bo_size(s->c_bo);
	char *now = malloc(size);

	memcpy(now, ork_bo_data(s->c_bo), size);
	for (i = 0; i < s->desc.m; i++)
		memcpy(now + s->c_offset + i * stride, (const char *)before + s->c_offset + i * stride, row);
	CHECK(!memcmp(now, before, size), "bytes beside C changed");
	free(now);
}

/* A product in place, with the objects filled from @seed by the CPU just before. */
static void run_in_place(struct scene *s, struct ork_matmul *matmul, struct ork_weights *weights, uint64_t seed)
{
	struct ork_matrix a = { .bo = s->a_bo, .offset = s->a_offset };
	struct ork_matrix c = { .bo = s->c_bo, .offset = s->c_offset };
	uint64_t size = ork_bo_size(s->c_bo);
	void *before = malloc(size);

	fill_scene(s, seed);
	memcpy(before, ork_bo_data(s->c_bo), size);
	CHECK_EQUAL(ork_weights_pack(weights, s->b, b_stride(s), 0), 0);
	CHECK(ork_matmul_run(matmul, &a, weights, &c) == 0, "%s", ork_error(s->ork));
	check_values(s, c_data(s), s->c_stride);
	check_beside_c(s, before);
	free(before);
}

/*
 * Cold, and again with other data in the same objects. Returns what the bits of both results are.
 */
static uint64_t run_twice(struct ork *ork, const struct ork_matmul_desc *desc)
{
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct scene s;
	uint64_t hash;

	make_scene(&s, ork, desc);
	CHECK_EQUAL(ork_weights_create(ork, desc->type, desc->k, desc->n, &weights), 0);
	CHECK(ork_matmul_create(ork, desc, &matmul) == 0, "%s", ork_error(ork));
	run_in_place(&s, matmul, weights, 1);
	hash = hash_c(&s, c_data(&s), s.c_stride);
	run_in_place(&s, matmul, weights, 2);
	hash ^= hash_c(&s, c_data(&s), s.c_stride) * 3;
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	drop_scene(&s);
	return hash;
}

/* --- products --------------------------------------------------------------------------------- */

static uint64_t hashes[DESCS];

static void run_all(const char *cache)
{
	struct ork *ork = open_model(cache);
	struct ork_matmul_desc desc;
	uint64_t hash;
	size_t i;
	int how;

	for (i = 0; ork && i < DESCS; i++) {
		for (how = 0; how < 6; how++) {
			desc = descs[i];
			desc.cores = how % 3 + 1;
			desc.sync = how / 3 ? ORK_SYNC_WHOLE : ORK_SYNC_LIVE;
			hash = run_twice(ork, &desc);
			if (!hashes[i])
				hashes[i] = hash;
			CHECK(hash == hashes[i], "case %zu has other bits with %u cores, %s, cache=%s", i, desc.cores,
			      how / 3 ? "whole" : "live", cache);
		}
	}
	close_model(ork);
}

static void products_are_right_and_the_same_bits_however_run(void)
{
	run_all("strict");
}

static void so_they_are_when_lines_are_evicted_at_any_time(void)
{
	run_all("evict");
}

static void so_they_are_on_a_coherent_device(void)
{
	run_all("coherent");
}

/* Rows of C that are no whole lines, rows of A apart: plain memory takes any. */
static void plain_memory_gives_the_same_as_objects(void)
{
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP16, .m = 37, .k = 96, .n = 112, .lda = 104, .ldc = 120 };
	struct ork *ork = open_model("evict");
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct ork_matrix a, c;
	uint16_t out[37 * 120];
	struct scene s;
	int i;

	make_scene(&s, ork, &desc);
	a = (struct ork_matrix) { .data = a_data(&s) };
	c = (struct ork_matrix) { .data = out };
	CHECK_EQUAL(ork_weights_create(ork, desc.type, desc.k, desc.n, &weights), 0);
	CHECK_EQUAL(ork_weights_pack(weights, s.b, desc.n, 0), 0);
	CHECK_EQUAL(ork_matmul_create(ork, &desc, &matmul), 0);
	for (i = 0; i < 2; i++) {
		memset(out, 0x55, sizeof(out));
		CHECK(ork_matmul_run(matmul, &a, weights, &c) == 0, "%s", ork_error(ork));
		check_values(&s, out, 120);
		CHECK_EQUAL(out[36 * 120 + 112], 0x5555);
	}
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	drop_scene(&s);
	close_model(ork);
}

/* @to: the same A as K rows of M, @stride apart. */
static void turn(const struct scene *s, void *to, uint64_t stride)
{
	uint32_t bytes = in_bits[s->desc.type] / 8, m, k;
	const uint8_t *from = a_data(s);

	for (m = 0; m < s->desc.m; m++) {
		for (k = 0; k < s->desc.k; k++) {
			uint64_t at = k * stride + m, here = m * s->a_stride + k;
			int nibble = from[here / 2] >> here % 2 * 4 & 15;
			uint8_t *byte = (uint8_t *)to + at / 2;

			if (bytes)
				memcpy((char *)to + at * bytes, from + here * bytes, bytes);
			else
				*byte = (uint8_t)(at % 2 ? (*byte & 15) | nibble << 4 : (*byte & 0xf0) | nibble);
		}
	}
}

/* In an object and in plain memory, once more with other elements: what fills rows up stays zero. */
static void a_transposed_a_gives_the_same(void)
{
	static const struct ork_matmul_desc turned[] = {
		{ .type = ORK_FP16_FP32, .m = 37, .k = 33, .n = 16, .a_transposed = true, .lda = 40 },
		{ .type = ORK_INT8_INT32, .m = 70, .k = 4130, .n = 32, .a_transposed = true },
		{ .type = ORK_FP16_FP32, .m = 37, .k = 32, .n = 32, .a_transposed = true, .lda = 40 },
		{ .type = ORK_INT4_INT16, .m = 37, .k = 101, .n = 32, .a_transposed = true, .lda = 40 },
	};
	struct ork *ork = open_model("strict");
	size_t i;

	for (i = 0; i < sizeof(turned) / sizeof(turned[0]); i++) {
		struct ork_matmul_desc straight = turned[i];
		uint64_t stride = turned[i].lda ? turned[i].lda : turned[i].m;
		uint32_t out[70 * 32], seed;
		struct ork_matrix a, c = { .data = out };
		struct ork_weights *weights;
		struct ork_matmul *matmul;
		struct ork_bo *bo;
		struct scene s;

		straight.a_transposed = false;
		straight.lda = 0;
		make_scene(&s, ork, &straight);
		CHECK_EQUAL(ork_bo_create(ork, in_bytes(turned[i].type, turned[i].k * stride), 0, &bo), 0);
		CHECK_EQUAL(ork_weights_create(ork, s.desc.type, s.desc.k, s.desc.n, &weights), 0);
		CHECK(ork_matmul_create(ork, &turned[i], &matmul) == 0, "%s", ork_error(ork));
		for (seed = 1; seed < 5; seed++) {
			fill_scene(&s, seed % 2 + 1);
			turn(&s, ork_bo_data(bo), stride);
			CHECK_EQUAL(ork_weights_pack(weights, s.b, s.desc.n, 0), 0);
			a = (struct ork_matrix) { .bo = seed < 3 ? bo : NULL, .data = seed < 3 ? NULL : ork_bo_data(bo) };
			CHECK(ork_matmul_run(matmul, &a, weights, &c) == 0, "%s", ork_error(ork));
			check_values(&s, out, s.desc.n);
		}
		ork_matmul_destroy(matmul);
		ork_weights_destroy(weights);
		ork_bo_destroy(bo);
		drop_scene(&s);
	}
	close_model(ork);
}

/*
 * Lines that do not count are fetched with the last row's, an atom further each: at the very end of an object
 * A is copied, or the NPU would fault.
 */
static void int4_at_the_end_of_its_object_is_not_read_beyond_it(void)
{
	struct ork_matmul_desc desc = { .type = ORK_INT4_INT32, .m = 9, .k = 480, .n = 64, .lda = 4096 };
	struct ork *ork = open_model("strict");
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct ork_profile p;
	int32_t out[9 * 64];
	struct scene s;
	int room;

	make_scene(&s, ork, &desc);
	CHECK_EQUAL(ork_weights_create(ork, desc.type, desc.k, desc.n, &weights), 0);
	CHECK_EQUAL(ork_weights_pack(weights, s.b, desc.n, 0), 0);
	CHECK_EQUAL(ork_matmul_create(ork, &desc, &matmul), 0);
	for (room = 32; room <= 48; room += 16) {
		/* Eight strides of 2,048 bytes and a row of 240 up to the end of five pages, less the room. */
		struct ork_matrix a = { .offset = 20480 - 8 * 2048 - 240 - room }, c = { .data = out };

		CHECK_EQUAL(ork_bo_create(ork, 20480, 0, &a.bo), 0);
		memcpy((char *)ork_bo_data(a.bo) + a.offset, a_data(&s), 8 * 2048 + 240);
		ork_profile_enable(ork, true);
		CHECK(ork_matmul_run(matmul, &a, weights, &c) == 0, "%s", ork_error(ork));
		ork_profile_get(ork, &p);
		CHECK_EQUAL(p.phase[ORK_PHASE_GATHER].calls, room < 48);
		check_values(&s, out, 64);
		ork_bo_destroy(a.bo);
	}
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	drop_scene(&s);
	close_model(ork);
}

static void two_products_may_be_in_flight(void)
{
	struct ork_matmul_desc first = descs[2], second = descs[11];
	struct ork *ork = open_model("strict");
	struct ork_weights *weights[2];
	struct ork_matmul *matmul[2];
	struct scene s[2];
	int i;

	make_scene(&s[0], ork, &first);
	make_scene(&s[1], ork, &second);
	for (i = 0; i < 2; i++) {
		struct ork_matrix a = { .bo = s[i].a_bo, .offset = s[i].a_offset };
		struct ork_matrix c = { .bo = s[i].c_bo, .offset = s[i].c_offset };

		CHECK_EQUAL(ork_weights_create(ork, s[i].desc.type, s[i].desc.k, s[i].desc.n, &weights[i]), 0);
		CHECK_EQUAL(ork_weights_pack(weights[i], s[i].b, s[i].desc.n, 0), 0);
		CHECK_EQUAL(ork_matmul_create(ork, &s[i].desc, &matmul[i]), 0);
		CHECK_EQUAL(ork_matmul_start(matmul[i], &a, weights[i], &c), 0);
	}
	for (i = 1; i >= 0; i--) {
		CHECK_EQUAL(ork_matmul_wait(matmul[i], INT64_MAX), 0);
		check_values(&s[i], c_data(&s[i]), s[i].c_stride);
		ork_matmul_destroy(matmul[i]);
		ork_weights_destroy(weights[i]);
		drop_scene(&s[i]);
	}
	close_model(ork);
}

/* --- what it costs ---------------------------------------------------------------------------- */

static void check_costs(struct ork *ork, bool live)
{
	struct ork_profile p;
	uint64_t maintained, written;

	ork_profile_get(ork, &p);
	maintained = p.phase[ORK_PHASE_SUBMIT].bytes_maintained + p.phase[ORK_PHASE_WAIT].bytes_maintained;
	written = p.bytes_written_cpu + p.bytes_written_npu;
	CHECK(p.ioctls == 2 * p.products && p.products == 4, "%llu ioctls", (unsigned long long)p.ioctls);
	CHECK(p.busy_ns > 0, "no time passed");
	if (live)
		CHECK((double)(maintained - p.bytes_window) <= 1.05 * (double)written,
		      "%llu bytes maintained, %llu written, %llu for windows", (unsigned long long)maintained,
		      (unsigned long long)written, (unsigned long long)p.bytes_window);
	else
		CHECK(maintained > 2 * written, "%llu bytes maintained", (unsigned long long)maintained);
}

/* C is the library's caller's, who reads it only; A is written for every call. */
static void run_four_times(struct ork *ork, const struct ork_matmul_desc *desc)
{
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct ork_matrix a, c;
	struct scene s;
	int i;

	make_scene(&s, ork, desc);
	CHECK_EQUAL(ork_bo_sync(s.c_bo, DRM_ORK_EXTENT_TO_DEVICE, 0, ork_bo_size(s.c_bo)), 0);
	a = (struct ork_matrix) { .bo = s.a_bo, .offset = s.a_offset };
	c = (struct ork_matrix) { .bo = s.c_bo, .offset = s.c_offset, .flags = ORK_CPU_CLEAN };
	CHECK_EQUAL(ork_weights_create(ork, desc->type, desc->k, desc->n, &weights), 0);
	CHECK_EQUAL(ork_weights_pack(weights, s.b, desc->n, 0), 0);
	CHECK_EQUAL(ork_matmul_create(ork, desc, &matmul), 0);
	ork_profile_enable(ork, true);
	for (i = 0; i < 4; i++)
		CHECK(ork_matmul_run(matmul, &a, weights, &c) == 0, "%s", ork_error(ork));
	check_values(&s, c_data(&s), s.c_stride);
	check_costs(ork, desc->sync == ORK_SYNC_LIVE);
	ork_profile_enable(ork, false);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	drop_scene(&s);
}

/*
 * Shapes whose rows are whole lines: a row's edge in somebody else's line would count as more than
 * was written.
 */
static void live_extents_maintain_what_was_written_and_whole_ones_far_more(void)
{
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = 64, .k = 256, .n = 240 };
	struct ork *ork = open_model("strict");

	run_four_times(ork, &desc);
	desc.lda = 512;
	desc.ldc = 256;
	run_four_times(ork, &desc);
	desc.sync = ORK_SYNC_WHOLE;
	run_four_times(ork, &desc);
	desc = (struct ork_matmul_desc) { .type = ORK_INT4_INT16, .m = 24, .k = 512, .n = 256 };
	run_four_times(ork, &desc);
	close_model(ork);
}

/* --- what the plan says of it ------------------------------------------------------------------ */

struct counted {
	uint64_t programs, bytes, cycles;	/* cycles: of the core with most */
};

static struct counted read_counts(void)
{
	unsigned long long programs, macs, from, to, cycles;
	struct counted all = { 0 };
	FILE *log = fopen(log_path, "r");
	char line[256];
	int core;

	while (log && fgets(line, sizeof(line), log)) {
		if (sscanf(line, "core %d: %llu programs, %llu macs, %llu bytes read, %llu written, about %llu cycles",
			   &core, &programs, &macs, &from, &to, &cycles) != 6)
			continue;
		all.programs += programs;
		all.bytes += from + to;
		all.cycles = cycles > all.cycles ? cycles : all.cycles;
	}
	if (log)
		fclose(log);
	return all;
}

static void run_once(struct ork *ork, const struct ork_matmul_desc *desc, struct ork_matmul_plan *plan)
{
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct scene s;

	make_scene(&s, ork, desc);
	CHECK_EQUAL(ork_weights_create(ork, desc->type, desc->k, desc->n, &weights), 0);
	CHECK_EQUAL(ork_matmul_create(ork, desc, &matmul), 0);
	*plan = *ork_matmul_get_plan(matmul);
	run_in_place(&s, matmul, weights, 1);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	drop_scene(&s);
}

/* The model counts what its programs move, and knows nothing of plans. */
static void the_plan_estimates_what_the_model_counts(void)
{
	struct ork_matmul_plan plan;
	struct counted counted;
	struct ork *ork;
	size_t i;

	for (i = 0; i < DESCS; i++) {
		ork = open_model("strict");
		run_once(ork, &descs[i], &plan);
		close_model(ork);
		counted = read_counts();
		CHECK(counted.programs == plan.programs[0] + plan.programs[1] + plan.programs[2] &&
		      counted.bytes == plan.dram_bytes && counted.cycles == plan.cycles,
		      "case %zu: %llu bytes, %llu cycles; planned %llu, %llu", i, (unsigned long long)counted.bytes,
		      (unsigned long long)counted.cycles, (unsigned long long)plan.dram_bytes,
		      (unsigned long long)plan.cycles);
	}
}

/* --- errors ----------------------------------------------------------------------------------- */

static void opening_tells_what_is_wrong(void)
{
	struct ork *ork = (struct ork *)&ork;

	CHECK_EQUAL(ork_open("/dev/no-such-node", &ork), -ENOENT);
	CHECK(!ork, "a handle in spite of the failure");
	CHECK_EQUAL(ork_open("/dev/null", &ork), -ENOTSUP);
	setenv("ORK_MODEL", "cache=none", 1);
	CHECK_EQUAL(ork_open("model", &ork), -EINVAL);
	setenv("ORK_MODEL", "cache=strict", 1);
	setenv("ORK_DEVICE", "model", 1);
	CHECK_EQUAL(ork_open(NULL, &ork), 0);
	unsetenv("ORK_DEVICE");
	CHECK(ork && !strcmp(ork_name(ork), "model") && ork_info(ork)->num_cores == 3, "not the model");
	ork_close(ork);
}

/* Runs a chain of one program that starts the CNA with no banks at all. */
static int run_hanging_chain(struct ork *ork)
{
	struct drm_ork_extent extent = { .flags = DRM_ORK_EXTENT_READ, .length = 4096 };
	struct drm_ork_task task;
	struct drm_ork_job job = {
		.tasks = { (uintptr_t)&task, 1, sizeof(task) }, .extents = { (uintptr_t)&extent, 1, sizeof(extent) },
		.timeout_ms = 20,
	};
	struct drm_ork_sync done = { .handle = 0 };
	struct drm_ork_submit submit = {
		.jobs = { (uintptr_t)&job, 1, sizeof(job) }, .out_syncs = { (uintptr_t)&done, 1, sizeof(done) },
	};
	struct ork_chain chain;
	struct ork_bo *bo;
	int ret;

	CHECK_EQUAL(ork_bo_create(ork, 4096, 0, &bo), 0);
	CHECK_EQUAL(ork_chain_init(&chain, bo, 0, 4096), 0);
	ork_chain_begin(&chain);
	ork_chain_end(&chain, 0x0d);
	CHECK_EQUAL(ork_chain_task(&chain, &task), 0);
	extent.handle = ork_bo_handle(bo);
	CHECK_EQUAL(ork_syncobj_create(ork, &done.handle), 0);
	ret = ork_submit(ork, &submit);
	if (!ret)
		ret = ork_wait(ork, done.handle, 0, INT64_MAX, NULL);
	ork_syncobj_destroy(ork, done.handle);
	ork_bo_destroy(bo);
	return ret;
}

static void a_chain_that_hangs_costs_its_job_and_nothing_else(void)
{
	struct ork *ork = open_model("strict");

	CHECK_EQUAL(run_hanging_chain(ork), -ETIMEDOUT);
	CHECK(strstr(ork_error(ork), "hung"), "%s", ork_error(ork));
	CHECK_EQUAL(run_twice(ork, &descs[1]), hashes[1]);
	close_model(ork);
}

static void the_profile_is_printed_when_asked_for(void)
{
	char text[4096] = "";
	int saved = dup(2), i;
	FILE *file = tmpfile();
	struct ork *ork;

	setenv("ORK_PROF", "1", 1);
	ork = open_model("strict");
	unsetenv("ORK_PROF");
	run_twice(ork, &descs[0]);
	dup2(fileno(file), 2);
	ork_close(ork);
	dup2(saved, 2);
	close(saved);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	for (i = 0; i < ORK_PHASES; i++)
		CHECK(strstr(text, ork_phase_name((enum ork_phase)i)), "phase %d is not in: %s", i, text);
	CHECK(strstr(text, "2 products, 4 ioctls"), "%s", text);
	fclose(file);
}

int main(void)
{
	FILE *log = tmpfile();

	name_log(log);
	unsetenv("ORK_DEVICE");
	unsetenv("ORK_PROF");
	RUN(products_are_right_and_the_same_bits_however_run);
	RUN(so_they_are_when_lines_are_evicted_at_any_time);
	RUN(so_they_are_on_a_coherent_device);
	RUN(plain_memory_gives_the_same_as_objects);
	RUN(a_transposed_a_gives_the_same);
	RUN(int4_at_the_end_of_its_object_is_not_read_beyond_it);
	RUN(two_products_may_be_in_flight);
	RUN(live_extents_maintain_what_was_written_and_whole_ones_far_more);
	RUN(the_plan_estimates_what_the_model_counts);
	RUN(opening_tells_what_is_wrong);
	RUN(a_chain_that_hangs_costs_its_job_and_nothing_else);
	RUN(the_profile_is_printed_when_asked_for);
	fclose(log);
	return test_result();
}

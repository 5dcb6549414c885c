// SPDX-License-Identifier: MIT
/*
 * Products that run as several submits of fewer rows: chains that would be too long, staging that
 * would be too large. On the model with expected values in double; on the fake device for what is
 * submitted.
 */
#include <math.h>
#include <sys/mman.h>
#include "fake.h"

#define MIB	(1ull << 20)

/* --- numbers ---------------------------------------------------------------------------------- */

/* Small integers, so that every sum is exact. */
static int value_of(uint64_t row, uint64_t column, uint32_t salt)
{
	return (int)((row * 31 + column * 7 + row * column % 13 + salt) % 9) - 4;
}

static void fill_halves(_Float16 *to, uint64_t rows, uint64_t columns, uint32_t salt)
{
	uint64_t i, j;

	for (i = 0; i < rows; i++)
		for (j = 0; j < columns; j++)
			to[i * columns + j] = (_Float16)value_of(i, j, salt);
}

static int sum_of(const struct ork_matmul_desc *d, uint64_t row, uint64_t column)
{
	int sum = 0;
	uint64_t k;

	for (k = 0; k < d->k; k++)
		sum += value_of(row, k, 1) * value_of(k, column, 2);
	return sum;
}

/* Those around each multiple of @step, and some anywhere. */
static void check_rows(const struct ork_matmul_desc *d, const float *c, uint32_t step)
{
	uint64_t random = 1, row, j, i;

	for (i = 0; i < 3000; i++) {
		row = i < 2000 ? i / 4 * step + i % 4 - 2 : next_random(&random);
		row %= d->m;
		for (j = 0; j < d->n; j++)
			if (c[row * d->n + j] != (float)sum_of(d, row, j)) {
				CHECK(false, "C[%llu][%llu] is %g, not %d", (unsigned long long)row,
				      (unsigned long long)j, (double)c[row * d->n + j], sum_of(d, row, j));
				return;
			}
	}
}

static struct ork_weights *pack_values(struct ork *ork, const struct ork_matmul_desc *d)
{
	_Float16 *b = malloc((size_t)d->k * d->n * sizeof(*b));
	struct ork_weights *weights;

	fill_halves(b, d->k, d->n, 2);
	CHECK_EQUAL(ork_weights_create(ork, d->type, d->k, d->n, &weights), 0);
	CHECK_EQUAL(ork_weights_pack(weights, b, d->n, 0), 0);
	free(b);
	return weights;
}

static struct ork *open_model(void)
{
	struct ork *ork = NULL;

	setenv("ORK_MODEL", "cache=strict,seed=1", 1);
	CHECK_EQUAL(ork_open("model", &ork), 0);
	return ork;
}

/* --- chains over the cap ---------------------------------------------------------------------- */

/* 512 rows a program and 4,095 programs a chain: two chains, of which the last is shorter. */
static const struct ork_matmul_desc long_desc = { .type = ORK_FP16_FP32, .m = 4095 * 512 + 700, .k = 32, .n = 16 };

static void a_chain_over_the_cap_is_declined_by_the_plan(void)
{
	struct drm_ork_device_info info = { .num_cores = 3, .core_mask = 7, .cache_line = 64, .page_size = 4096 };
	struct ork_matmul_desc desc = long_desc;
	struct ork_matmul_plan plan;

	CHECK_EQUAL(ork_matmul_plan(&info, &desc, &plan), -E2BIG);
	CHECK(strstr(plan.reason, "4097 programs") && strstr(plan.reason, "4095"), "%s", plan.reason);
	desc.m = 4095 * 512;
	CHECK_EQUAL(ork_matmul_plan(&info, &desc, &plan), 0);
}

static void a_product_over_it_runs_in_place_as_two_submits(void)
{
	struct ork *ork = open_model();
	struct drm_ork_counters counters;
	struct ork_matmul *matmul;
	struct ork_weights *b = pack_values(ork, &long_desc);
	struct ork_matrix a = { 0 }, c = { 0 };

	CHECK_EQUAL(ork_bo_create(ork, (uint64_t)long_desc.m * 64, 0, &a.bo), 0);
	CHECK_EQUAL(ork_bo_create(ork, (uint64_t)long_desc.m * 64, 0, &c.bo), 0);
	fill_halves(ork_bo_data(a.bo), long_desc.m, long_desc.k, 1);
	CHECK(ork_matmul_create(ork, &long_desc, &matmul) == 0, "%s", ork_error(ork));
	CHECK(ork_matmul_run(matmul, &a, b, &c) == 0, "%s", ork_error(ork));
	check_rows(&long_desc, ork_bo_data(c.bo), 4096);
	check_rows(&long_desc, ork_bo_data(c.bo), 4095 * 512);
	CHECK_EQUAL(ork_counters(ork, -1, &counters), 0);
	CHECK_EQUAL(counters.submits, 2);
	CHECK_EQUAL(counters.programs, 4097);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(b);
	ork_bo_destroy(a.bo);
	ork_bo_destroy(c.bo);
	ork_close(ork);
}

/* --- staging ---------------------------------------------------------------------------------- */

/* A of 80 MiB. */
static const struct ork_matmul_desc tall_desc = { .type = ORK_FP16_FP32, .m = 20 * 1024 + 3, .k = 2048, .n = 16 };

static void plain_memory_is_staged_a_part_at_a_time(void)
{
	size_t a_elements = (size_t)tall_desc.m * tall_desc.k, c_elements = (size_t)tall_desc.m * tall_desc.n;
	_Float16 *a_data = malloc(a_elements * sizeof(*a_data));
	float *c_data = malloc(c_elements * sizeof(*c_data));
	struct ork_matrix a = { .data = a_data }, c = { .data = c_data };
	struct ork *ork = open_model();
	struct ork_weights *b = pack_values(ork, &tall_desc);
	struct ork_matmul *matmul;

	fill_halves(a_data, tall_desc.m, tall_desc.k, 1);
	memset(c_data, 0x55, c_elements * sizeof(*c_data));
	CHECK(ork_matmul_create(ork, &tall_desc, &matmul) == 0, "%s", ork_error(ork));
	CHECK(ork_matmul_run(matmul, &a, b, &c) == 0, "%s", ork_error(ork));
	check_rows(&tall_desc, c_data, 1024);
	CHECK_EQUAL(ork_matmul_get_plan(matmul)->desc.m, tall_desc.m - 16 * 1024);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(b);
	ork_close(ork);
	free(a_data);
	free(c_data);
}

static uint64_t fake_memory(void)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < FAKE_OBJECTS; i++)
		bytes += fake.object[i].data ? fake.object[i].size : 0;
	return bytes;
}

static void *lazy_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(memory != MAP_FAILED, "no %zu bytes of addresses", size);
	return memory;
}

static uint64_t rows_written;

/* C's extents of the first core. */
static void count_rows(struct fake *f)
{
	const struct fake_job *job = &f->job[0];
	uint32_t i;

	for (i = 0; i < job->extents; i++)
		if (job->extent[i].flags & DRM_ORK_EXTENT_WRITE)
			rows_written += job->extent[i].rows;
}

/* From plain memory that is never touched; rows of C, of all slices, are named once, and the scratch is small. */
static void run_huge(const struct ork_matmul_desc *desc)
{
	size_t a_size = (size_t)desc->m * desc->k * 2, c_size = (size_t)desc->m * desc->n * 4;
	struct ork_matrix a = { .data = lazy_memory(a_size) }, c = { .data = lazy_memory(c_size) };
	struct ork *ork = fake_open();
	struct ork_weights *b;
	struct ork_matmul *matmul;

	CHECK_EQUAL(ork_weights_create(ork, desc->type, desc->k, desc->n, &b), 0);
	CHECK(ork_matmul_create(ork, desc, &matmul) == 0, "%s", ork_error(ork));
	rows_written = 0;
	fake.run = count_rows;
	CHECK_EQUAL(ork_matmul_run(matmul, &a, b, &c), 0);
	CHECK_EQUAL(rows_written, (uint64_t)desc->m * ork_matmul_get_plan(matmul)->k_slices);
	CHECK(fake.submits == fake.waits && fake.submits > 1, "%u submits, %u waits", fake.submits, fake.waits);
	CHECK(fake_memory() - b->layout.bytes < 140 * MIB, "%llu MiB of objects",
	      (unsigned long long)(fake_memory() / MIB));
	ork_matmul_destroy(matmul);
	ork_weights_destroy(b);
	munmap(a.data, a_size);
	munmap(c.data, c_size);
}

/* The shape at which a stack in use once made the NPU write beyond its buffer: half a gigabyte of A, twice that of C. */
static void a_huge_product_leaves_no_large_scratch_behind(void)
{
	run_huge(&(struct ork_matmul_desc) { .type = ORK_FP16_FP32, .m = 248320, .k = 1024, .n = 1024 });
}

/* A row of C in 243 slices of K. */
static void many_slices_of_k_stay_within_it_too(void)
{
	run_huge(&(struct ork_matmul_desc) { .type = ORK_FP16_FP32, .m = 1024, .k = 248320, .n = 1024 });
}

/* Of each type, padded and in slices; with several rows of int4 C has three lines for each that counts. */
static void the_plan_tells_of_scratch_and_of_bytes_in_flight(void)
{
	static const struct ork_matmul_desc descs[] = {
		{ .type = ORK_FP16_FP32, .m = 37, .k = 100, .n = 50 },
		{ .type = ORK_FP16_FP16, .m = 300, .k = 3000, .n = 96 },
		{ .type = ORK_INT8_INT8, .m = 9, .k = 64, .n = 64, .multiplier = 1 },
		{ .type = ORK_INT4_INT32, .m = 20, .k = 1000, .n = 130 },
		{ .type = ORK_INT4_INT16, .m = 1, .k = 500, .n = 64 },
	};
	struct ork_matrix a = { .data = lazy_memory(4 * MIB) }, c = { .data = lazy_memory(4 * MIB) };
	struct ork_profile profile;
	struct ork_matmul *matmul;
	struct ork_weights *b;
	struct ork *ork;
	uint64_t before, scratch;
	size_t i;

	for (i = 0; i < sizeof(descs) / sizeof(descs[0]); i++) {
		ork = fake_open();
		CHECK_EQUAL(ork_weights_create(ork, descs[i].type, descs[i].k, descs[i].n, &b), 0);
		before = fake_memory();
		CHECK_EQUAL(ork_matmul_create(ork, &descs[i], &matmul), 0);
		CHECK_EQUAL(ork_matmul_run(matmul, &a, b, &c), 0);
		/* Three objects, each of whole pages. */
		scratch = fake_memory() - before;
		CHECK(scratch >= ork_matmul_get_plan(matmul)->scratch_bytes &&
		      scratch < ork_matmul_get_plan(matmul)->scratch_bytes + 3 * 4096, "case %zu: %llu bytes", i,
		      (unsigned long long)scratch);
		before = fake.counters.bytes_cleaned + fake.counters.bytes_invalidated;
		ork_profile_enable(ork, true);
		CHECK_EQUAL(ork_matmul_run(matmul, &a, b, &c), 0);
		ork_profile_get(ork, &profile);
		before = fake.counters.bytes_cleaned + fake.counters.bytes_invalidated - before;
		/* Rows of A, and of C, end within a line: at most one more for each row. */
		CHECK(before - profile.bytes_window >= ork_matmul_get_plan(matmul)->live_bytes &&
		      before - profile.bytes_window < ork_matmul_get_plan(matmul)->live_bytes + 3 * 64 * 300, "case %zu: %llu bytes",
		      i, (unsigned long long)(before - profile.bytes_window));
		ork_matmul_destroy(matmul);
		ork_weights_destroy(b);
	}
	munmap(a.data, 4 * MIB);
	munmap(c.data, 4 * MIB);
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Half a chain's worth of A, so that there are four parts. */
struct parts {
	struct ork *ork;
	struct ork_matrix a, c;
	struct ork_weights *b;
	struct ork_matmul *matmul;
};

#define PART_BYTES	(64 * MIB)

static void make_parts(struct parts *p)
{
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = 4 * 16384, .k = 2048, .n = 16, .cores = 1 };

	*p = (struct parts) { .ork = fake_open() };
	p->a.data = lazy_memory(4 * PART_BYTES);
	CHECK_EQUAL(ork_bo_create(p->ork, desc.m * 64, 0, &p->c.bo), 0);
	CHECK_EQUAL(ork_weights_create(p->ork, desc.type, desc.k, desc.n, &p->b), 0);
	CHECK_EQUAL(ork_matmul_create(p->ork, &desc, &p->matmul), 0);
}

static void drop_parts(struct parts *p)
{
	ork_matmul_destroy(p->matmul);
	ork_weights_destroy(p->b);
	ork_bo_destroy(p->c.bo);
	munmap(p->a.data, 4 * PART_BYTES);
}

static void busy_from_now_on(struct fake *f)
{
	f->wait_error = -EBUSY;
	f->run = NULL;
}

static void a_wait_that_is_over_in_between_can_be_repeated(void)
{
	struct parts p;

	make_parts(&p);
	CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &p.c), 0);
	CHECK_EQUAL(fake.submits, 1);
	fake.run = busy_from_now_on;
	CHECK_EQUAL(ork_matmul_wait(p.matmul, 0), -ETIME);
	CHECK_EQUAL(fake.submits, 2);
	CHECK_EQUAL(fake.deadline, 0);
	CHECK_EQUAL(ork_matmul_wait(p.matmul, 1000000), -ETIME);
	CHECK_EQUAL(fake.submits, 2);
	CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &p.c), -EBUSY);
	fake.wait_error = 0;
	CHECK_EQUAL(ork_matmul_wait(p.matmul, INT64_MAX), 0);
	CHECK_EQUAL(fake.submits, 4);
	CHECK_EQUAL(fake.deadline, INT64_MAX);
	CHECK_EQUAL(ork_matmul_wait(p.matmul, INT64_MAX), -EINVAL);
	drop_parts(&p);
}

static void hung_from_now_on(struct fake *f)
{
	f->status = -ETIMEDOUT;
}

static void a_part_that_fails_ends_the_call_and_the_next_one_works(void)
{
	struct parts p;

	make_parts(&p);
	fake.run = hung_from_now_on;
	CHECK_EQUAL(ork_matmul_run(p.matmul, &p.a, p.b, &p.c), -ETIMEDOUT);
	CHECK_EQUAL(fake.submits, 1);
	fake.run = NULL;
	fake.status = 0;
	fake.submit_error = -ENOMEM;
	CHECK_EQUAL(ork_matmul_run(p.matmul, &p.a, p.b, &p.c), -ENOMEM);
	fake.submit_error = 0;
	CHECK_EQUAL(ork_matmul_run(p.matmul, &p.a, p.b, &p.c), 0);
	CHECK_EQUAL(fake.submits, 6);
	drop_parts(&p);
}

static void destroying_waits_for_the_part_in_flight_only(void)
{
	struct parts p;

	make_parts(&p);
	CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &p.c), 0);
	drop_parts(&p);
	CHECK_EQUAL(fake.submits, 1);
	CHECK_EQUAL(fake.waits, 1);
}

static void the_profile_counts_a_product_once(void)
{
	struct ork_profile profile;
	struct parts p;

	make_parts(&p);
	ork_profile_enable(p.ork, true);
	CHECK_EQUAL(ork_matmul_run(p.matmul, &p.a, p.b, &p.c), 0);
	ork_profile_get(p.ork, &profile);
	CHECK_EQUAL(profile.products, 1);
	CHECK_EQUAL(profile.ioctls, 8);
	CHECK_EQUAL(profile.phase[ORK_PHASE_GATHER].bytes, 4 * PART_BYTES);
	drop_parts(&p);
}

/* What lies behind the first part's is not looked at before the call is known to be possible. */
static void an_object_too_small_for_the_last_part_is_refused_at_once(void)
{
	struct ork_bo *small;
	struct parts p;

	make_parts(&p);
	CHECK_EQUAL(ork_bo_create(p.ork, 4 * 16384 * 64 - 4096, 0, &small), 0);
	CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &(struct ork_matrix) { .bo = small }), -EINVAL);
	CHECK(strstr(ork_error(p.ork), "4194304 bytes"), "%s", ork_error(p.ork));
	CHECK_EQUAL(fake.submits, 0);
	ork_bo_destroy(small);
	drop_parts(&p);
}

int main(void)
{
	RUN(a_chain_over_the_cap_is_declined_by_the_plan);
	RUN(a_product_over_it_runs_in_place_as_two_submits);
	RUN(plain_memory_is_staged_a_part_at_a_time);
	RUN(a_huge_product_leaves_no_large_scratch_behind);
	RUN(many_slices_of_k_stay_within_it_too);
	RUN(the_plan_tells_of_scratch_and_of_bytes_in_flight);
	RUN(a_wait_that_is_over_in_between_can_be_repeated);
	RUN(a_part_that_fails_ends_the_call_and_the_next_one_works);
	RUN(destroying_waits_for_the_part_in_flight_only);
	RUN(the_profile_counts_a_product_once);
	RUN(an_object_too_small_for_the_last_part_is_refused_at_once);
	return test_result();
}

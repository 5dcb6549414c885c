// SPDX-License-Identifier: GPL-2.0-only
/*
 * One product on one, two and three cores: the same bits, and what they cost, counted by driver,
 * library and board.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ork.h>
#include <kselftest_harness.h>
#include "../golden/inputs.h"
#include "board.h"
#include "lib_test.h"

#define LINE	64

struct shape {
	enum ork_type type;
	uint32_t m, k, n;
};

/*
 * Of each type, with N in tiles that three divides and does not, and M over and under a program's
 * rows.
 */
static const struct shape shapes[] = {
	{ ORK_FP16_FP32, 8, 2048, 256 },
	{ ORK_FP16_FP32, 200, 256, 112 },
	{ ORK_FP16_FP32, 3, 1024, 48 },
	{ ORK_FP16_FP16, 64, 512, 192 },
	{ ORK_FP16_FP16, 130, 64, 416 },
	{ ORK_INT8_INT32, 64, 1024, 160 },
	{ ORK_INT8_INT32, 130, 96, 96 },
	{ ORK_INT8_INT32, 1, 4096, 512 },
};

#define SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

static uint32_t element_bytes(enum ork_type type)
{
	return type == ORK_INT8_INT32 ? 1 : 2;
}

static uint32_t result_bytes(enum ork_type type)
{
	return type == ORK_FP16_FP16 ? 2 : 4;
}

static uint64_t a_bytes(const struct shape *s)
{
	return (uint64_t)s->m * s->k * element_bytes(s->type);
}

static uint64_t c_bytes(const struct shape *s)
{
	return (uint64_t)s->m * s->n * result_bytes(s->type);
}

static void fill(const struct shape *s, void *to, unsigned int matrix, uint32_t rows,
		 uint32_t columns)
{
	for (uint32_t row = 0; row < rows; row++)
		for (uint32_t column = 0; column < columns; column++) {
			size_t i = (size_t)row * columns + column;

			if (s->type == ORK_INT8_INT32)
				((int8_t *)to)[i] = golden_int8(s->k, matrix, row, column);
			else
				((_Float16 *)to)[i] =
					(_Float16)golden_fp16(s->k, matrix, row, column);
		}
}

/* A product with objects of its own. */
struct work {
	const struct shape *shape;
	struct ork_bo *a, *c;
	struct ork_weights *b;
	struct ork_matmul *matmul;
};

static int work_pack(struct work *work)
{
	const struct shape *s = work->shape;
	void *b = malloc((size_t)s->k * s->n * element_bytes(s->type));
	int error;

	if (!b)
		return -ENOMEM;
	fill(s, b, GOLDEN_B, s->k, s->n);
	error = ork_weights_pack(work->b, b, s->n, 0);
	free(b);
	return error;
}

static int work_create(struct ork *ork, struct work *work, const struct shape *s, uint32_t cores,
		       enum ork_sync_mode sync)
{
	struct ork_matmul_desc desc = {
		.type = s->type, .m = s->m, .k = s->k, .n = s->n, .cores = cores, .sync = sync
	};
	int error;

	memset(work, 0, sizeof(*work));
	work->shape = s;
	error = ork_bo_create(ork, a_bytes(s), 0, &work->a);
	if (!error)
		error = ork_bo_create(ork, c_bytes(s), 0, &work->c);
	if (!error)
		error = ork_weights_create(ork, s->type, s->k, s->n, &work->b);
	if (!error)
		error = work_pack(work);
	if (!error)
		error = ork_matmul_create(ork, &desc, &work->matmul);
	if (!error)
		fill(s, ork_bo_data(work->a), GOLDEN_A, s->m, s->k);
	return error;
}

static void work_destroy(struct work *work)
{
	ork_matmul_destroy(work->matmul);
	ork_weights_destroy(work->b);
	ork_bo_destroy(work->c);
	ork_bo_destroy(work->a);
}

/* A is written anew before each run, C by the device only. */
static int work_run(struct work *work)
{
	struct ork_matrix a = { .bo = work->a }, c = { .bo = work->c, .flags = ORK_CPU_CLEAN };

	return ork_matmul_run(work->matmul, &a, work->b, &c);
}

FIXTURE(cores) {
	struct ork *ork;
	volatile uint32_t *board;
};

FIXTURE_SETUP(cores)
{
	ASSERT_EQ(0, ork_open(TEST_DEVICE, &self->ork));
	self->board = board_open();
	board_behave(self->board);
}

FIXTURE_TEARDOWN(cores)
{
	ork_close(self->ork);
}

static void compare(struct __test_metadata *_metadata, FIXTURE_DATA(cores) *self, uint32_t cores,
		    enum ork_sync_mode sync)
{
	for (size_t i = 0; i < SHAPES; i++) {
		struct work one, other;

		ASSERT_EQ(0, work_create(self->ork, &one, &shapes[i], 1, ORK_SYNC_LIVE));
		ASSERT_EQ(0, work_create(self->ork, &other, &shapes[i], cores, sync));
		ASSERT_EQ(0, work_run(&one));
		for (unsigned int round = 0; round < 2; round++) {
			ASSERT_EQ(0, work_run(&other));
			EXPECT_EQ(0, memcmp(ork_bo_data(one.c), ork_bo_data(other.c),
					    c_bytes(&shapes[i])))
			{
				TH_LOG("shape %zu", i);
			}
		}
		work_destroy(&other);
		work_destroy(&one);
	}
}

TEST_F_TIMEOUT(cores, two_cores_give_the_bits_of_one, 120)
{
	compare(_metadata, self, 2, ORK_SYNC_LIVE);
}

TEST_F_TIMEOUT(cores, three_cores_give_the_bits_of_one, 120)
{
	compare(_metadata, self, 3, ORK_SYNC_LIVE);
}

TEST_F_TIMEOUT(cores, whole_objects_give_the_bits_of_live_extents, 120)
{
	compare(_metadata, self, 1, ORK_SYNC_WHOLE);
	compare(_metadata, self, 3, ORK_SYNC_WHOLE);
}

/* The results are not all alike: the comparisons above would not see that. */
TEST_F(cores, results_differ_where_operands_do)
{
	struct work work;
	const uint8_t *c;
	uint64_t different = 0;

	ASSERT_EQ(0, work_create(self->ork, &work, &shapes[0], 3, ORK_SYNC_LIVE));
	ASSERT_EQ(0, work_run(&work));
	c = ork_bo_data(work.c);
	for (uint64_t i = 4; i < c_bytes(work.shape); i += 4)
		different += memcmp(c + i, c + i - 4, 4) != 0;
	EXPECT_LT(c_bytes(work.shape) / 4 * 9 / 10, different);
	work_destroy(&work);
}

/* Counters of all cores together. */
static struct drm_ork_counters core_sum(struct ork *ork)
{
	struct drm_ork_counters sum = { 0 }, core;

	for (uint32_t i = 0; i < ork_info(ork)->num_cores; i++) {
		ork_counters(ork, (int)i, &core);
		sum.jobs += core.jobs;
		sum.programs += core.programs;
		sum.interrupts += core.interrupts;
		sum.busy_ns += core.busy_ns;
		sum.resets += core.resets;
	}
	return sum;
}

static struct drm_ork_counters file_counters(struct ork *ork)
{
	struct drm_ork_counters counters = { 0 };

	ork_counters(ork, -1, &counters);
	return counters;
}

static uint64_t plan_programs(const struct ork_matmul_plan *plan)
{
	uint64_t programs = 0;

	for (uint32_t core = 0; core < plan->cores; core++)
		programs += plan->programs[core];
	return programs;
}

#define RUNS	5

TEST_F_TIMEOUT(cores, chain_takes_one_kick_and_one_interrupt, 120)
{
	for (size_t i = 0; i < SHAPES; i++)
		for (uint32_t cores = 1; cores <= 3; cores++) {
			struct drm_ork_counters core, file;
			const struct ork_matmul_plan *plan;
			uint32_t kicks = 0;
			struct work work;

			ASSERT_EQ(0,
				  work_create(self->ork, &work, &shapes[i], cores, ORK_SYNC_LIVE));
			plan = ork_matmul_get_plan(work.matmul);
			core = core_sum(self->ork);
			file = file_counters(self->ork);
			if (self->board)
				kicks = board_sum(self->board, ORK_BOARD_CORE_KICKS);
			for (unsigned int run = 0; run < RUNS; run++)
				ASSERT_EQ(0, work_run(&work));
			EXPECT_EQ(RUNS * plan->cores,
				  core_sum(self->ork).interrupts - core.interrupts);
			EXPECT_EQ(RUNS * plan->cores, core_sum(self->ork).jobs - core.jobs);
			EXPECT_EQ(RUNS * plan_programs(plan),
				  core_sum(self->ork).programs - core.programs);
			EXPECT_EQ(core.resets, core_sum(self->ork).resets);
			EXPECT_EQ(RUNS, file_counters(self->ork).submits - file.submits);
			EXPECT_EQ(RUNS * plan->cores, file_counters(self->ork).jobs - file.jobs);
			EXPECT_EQ(RUNS * plan->cores,
				  file_counters(self->ork).interrupts - file.interrupts);
			EXPECT_EQ(RUNS * plan_programs(plan),
				  file_counters(self->ork).programs - file.programs);
			if (self->board)
				EXPECT_EQ(RUNS * plan->cores,
					  board_sum(self->board, ORK_BOARD_CORE_KICKS) - kicks);
			work_destroy(&work);
		}
}

/* Three slow chains of one product lie on three cores, not on one after the other. */
TEST_F(cores, chains_of_a_product_run_on_different_cores)
{
	struct drm_ork_counters before[3], after;
	struct work work;

	NEED_BOARD(self->board);
	if (ork_info(self->ork)->num_cores < 3)
		SKIP(return, "needs three cores");
	ASSERT_EQ(0, work_create(self->ork, &work, &shapes[0], 3, ORK_SYNC_LIVE));
	board_write(self->board, ORK_BOARD_LATENCY_US, 100000);
	for (int core = 0; core < 3; core++)
		ASSERT_EQ(0, ork_counters(self->ork, core, &before[core]));
	EXPECT_EQ(0, work_run(&work));
	board_behave(self->board);
	for (int core = 0; core < 3; core++) {
		ASSERT_EQ(0, ork_counters(self->ork, core, &after));
		EXPECT_EQ(before[core].jobs + 1, after.jobs);
	}
	work_destroy(&work);
}

/*
 * In the place of the C library's: every ioctl of this process, whoever makes it. The model in the
 * process makes none.
 */
static uint64_t ioctls;

int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	ioctls++;
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

TEST_F(cores, product_takes_two_ioctls_on_any_number_of_cores)
{
	for (uint32_t cores = 1; cores <= 3; cores++) {
		struct ork_profile profile;
		struct work work;

		ASSERT_EQ(0, work_create(self->ork, &work, &shapes[0], cores, ORK_SYNC_LIVE));
		ASSERT_EQ(0, work_run(&work));
		ork_profile_enable(self->ork, true);
		for (unsigned int run = 0; run < RUNS; run++)
			ASSERT_EQ(0, work_run(&work));
		ork_profile_get(self->ork, &profile);
		ork_profile_enable(self->ork, false);
		EXPECT_EQ(RUNS, profile.products);
		EXPECT_EQ(2 * RUNS, profile.ioctls);
		/* The profiler's own queries are not in that, and not in these. */
		ioctls = 0;
		for (unsigned int run = 0; run < RUNS; run++)
			ASSERT_EQ(0, work_run(&work));
		EXPECT_EQ(strcmp(ork_name(self->ork), "model") ? 2 * RUNS : 0, ioctls);
		work_destroy(&work);
	}
}

static uint64_t maintained(const struct ork_profile *profile)
{
	uint64_t bytes = 0;

	for (int phase = 0; phase < ORK_PHASES; phase++)
		bytes += profile->phase[phase].bytes_maintained;
	return bytes;
}

static uint64_t written(const struct ork_profile *profile)
{
	return profile->bytes_written_cpu + profile->bytes_written_npu;
}

/*
 * Each byte once: within 5 % of what was written, in the first run with its weights and chains, and
 * in those after it.
 */
static void check_maintained(struct __test_metadata *_metadata, FIXTURE_DATA(cores) *self,
			     const struct shape *s, uint32_t cores)
{
	struct drm_ork_counters before, after;
	struct ork_profile first, warm;
	struct work work;

	ASSERT_EQ(0, work_create(self->ork, &work, s, cores, ORK_SYNC_LIVE));
	ork_profile_enable(self->ork, true);
	before = file_counters(self->ork);
	ASSERT_EQ(0, work_run(&work));
	ork_profile_get(self->ork, &first);
	ork_profile_enable(self->ork, true);
	for (unsigned int run = 0; run < RUNS; run++)
		ASSERT_EQ(0, work_run(&work));
	ork_profile_get(self->ork, &warm);
	ork_profile_enable(self->ork, false);
	after = file_counters(self->ork);

	/*
	 * What the library says agrees with the driver's own count, and with the sizes of the
	 * matrices.
	 */
	EXPECT_EQ(after.bytes_cleaned + after.bytes_invalidated - before.bytes_cleaned -
			  before.bytes_invalidated,
		  maintained(&first) + maintained(&warm));
	EXPECT_EQ(c_bytes(s), first.bytes_written_npu);
	EXPECT_EQ(RUNS * c_bytes(s), warm.bytes_written_npu);
	EXPECT_LE(a_bytes(s) + (uint64_t)s->k * s->n * element_bytes(s->type),
		  first.bytes_written_cpu);
	EXPECT_EQ(RUNS * a_bytes(s), warm.bytes_written_cpu);

	if (ork_info(self->ork)->flags & DRM_ORK_DEVICE_COHERENT)
		return;
	EXPECT_GE(written(&first) * 105 / 100, maintained(&first) - first.bytes_window) {
		TH_LOG("%ux%ux%u on %u cores", s->m, s->k, s->n, cores);
	}
	EXPECT_GE(written(&warm) * 105 / 100, maintained(&warm) - warm.bytes_window);
	/* And none was forgotten. */
	EXPECT_LE(written(&first), maintained(&first));
	EXPECT_LE(written(&warm), maintained(&warm));
	work_destroy(&work);
}

/* The model has no files to wait for, and says so. */
TEST_F(cores, product_can_be_waited_for_by_its_sync_file)
{
	bool model = !strcmp(ork_name(self->ork), "model");
	struct pollfd file = { .events = POLLIN };
	struct ork_matrix a = { 0 }, c = { 0 };
	struct work work;

	ASSERT_EQ(0, work_create(self->ork, &work, &shapes[0], 0, ORK_SYNC_LIVE));
	a.bo = work.a;
	c.bo = work.c;
	EXPECT_EQ(-EINVAL, ork_matmul_export(work.matmul, &file.fd));
	EXPECT_EQ(-1, file.fd);
	ASSERT_EQ(0, ork_matmul_start(work.matmul, &a, work.b, &c));
	EXPECT_EQ(model ? -EOPNOTSUPP : 0, ork_matmul_export(work.matmul, &file.fd));
	EXPECT_EQ(!model, poll(&file, 1, model ? 0 : -1));
	EXPECT_EQ(0, ork_matmul_wait(work.matmul, model ? INT64_MAX : 0));
	close(file.fd);
	EXPECT_EQ(-EINVAL, ork_matmul_export(work.matmul, &file.fd));
	work_destroy(&work);
}

TEST_F_TIMEOUT(cores, bytes_maintained_are_those_written, 120)
{
	for (size_t i = 0; i < SHAPES; i++)
		for (uint32_t cores = 1; cores <= 3; cores++)
			check_maintained(_metadata, self, &shapes[i], cores);
}

TEST_F(cores, loaded_weights_are_maintained_no_more)
{
	const struct shape *s = &shapes[0];
	uint64_t b_bytes = (uint64_t)s->k * s->n * element_bytes(s->type);
	struct drm_ork_counters before, after;
	struct work work;

	if (ork_info(self->ork)->flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "nothing is maintained where the device snoops");
	ASSERT_EQ(0, work_create(self->ork, &work, s, 3, ORK_SYNC_LIVE));
	before = file_counters(self->ork);
	ASSERT_EQ(0, ork_weights_load(work.b));
	after = file_counters(self->ork);
	EXPECT_LE(b_bytes, after.bytes_cleaned - before.bytes_cleaned);
	ASSERT_EQ(0, work_run(&work));
	before = file_counters(self->ork);
	ASSERT_EQ(0, work_run(&work));
	after = file_counters(self->ork);
	EXPECT_GT(b_bytes, after.bytes_cleaned - before.bytes_cleaned);
	work_destroy(&work);
}

TEST_F(cores, whole_objects_cost_more_than_live_extents)
{
	uint64_t bytes[2];

	if (ork_info(self->ork)->flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "nothing is maintained where the device snoops");
	for (int sync = ORK_SYNC_LIVE; sync <= ORK_SYNC_WHOLE; sync++) {
		struct drm_ork_counters before;
		struct work work;

		ASSERT_EQ(0, work_create(self->ork, &work, &shapes[0], 3, sync));
		ASSERT_EQ(0, work_run(&work));
		before = file_counters(self->ork);
		ASSERT_EQ(0, work_run(&work));
		bytes[sync] = file_counters(self->ork).bytes_cleaned - before.bytes_cleaned;
		work_destroy(&work);
	}
	EXPECT_LT(2 * bytes[ORK_SYNC_LIVE], bytes[ORK_SYNC_WHOLE]);
}

TEST_F_TIMEOUT(cores, device_reads_nothing_stale, 120)
{
	NEED_BOARD(self->board);
	board_write(self->board, ORK_BOARD_ZERO, 1);
	for (size_t i = 0; i < SHAPES; i++)
		for (uint32_t cores = 1; cores <= 3; cores++) {
			struct work work;

			ASSERT_EQ(0,
				  work_create(self->ork, &work, &shapes[i], cores, ORK_SYNC_LIVE));
			for (unsigned int run = 0; run < 3; run++) {
				fill(&shapes[i], ork_bo_data(work.a), GOLDEN_A + run, shapes[i].m,
				     shapes[i].k);
				ASSERT_EQ(0, work_run(&work));
				ASSERT_EQ(0, work_pack(&work));
			}
			work_destroy(&work);
		}
	EXPECT_EQ(0u, board_read(self->board, ORK_BOARD_STALE_READS));
	EXPECT_EQ(0u, board_read(self->board, ORK_BOARD_RESULTS_LOST));
}

/* --- views: A and C inside larger objects, B shared ------------------------------------------- */

static void view(struct __test_metadata *_metadata, FIXTURE_DATA(cores) *self, uint32_t m,
		 uint32_t cores)
{
	const struct shape s = { ORK_FP16_FP32, m, 512, 96 };
	const uint64_t a_offset = LINE, c_offset = 3 * LINE;
	struct ork_matrix a = { .offset = a_offset }, c = { .offset = c_offset }, plain_a = { 0 },
			  plain_c = { 0 };
	struct work work;

	ASSERT_EQ(0, work_create(self->ork, &work, &s, cores, ORK_SYNC_LIVE));
	ASSERT_EQ(0, ork_bo_create(self->ork, a_bytes(&s) + 65536, 0, &a.bo));
	ASSERT_EQ(0, ork_bo_create(self->ork, c_bytes(&s) + 65536, 0, &c.bo));
	plain_a.data = ork_bo_data(work.a);
	plain_c.data = malloc(c_bytes(&s));
	ASSERT_NE(NULL, plain_c.data);
	memset(ork_bo_data(a.bo), 0x11, ork_bo_size(a.bo));
	memset(ork_bo_data(c.bo), 0x22, ork_bo_size(c.bo));
	memcpy((uint8_t *)ork_bo_data(a.bo) + a_offset, plain_a.data, a_bytes(&s));
	ASSERT_EQ(0, ork_matmul_run(work.matmul, &a, work.b, &c));
	ASSERT_EQ(0, ork_matmul_run(work.matmul, &plain_a, work.b, &plain_c));
	EXPECT_EQ(0, memcmp(plain_c.data, (uint8_t *)ork_bo_data(c.bo) + c_offset, c_bytes(&s)));
	for (uint64_t i = 0; i < ork_bo_size(c.bo); i++)
		if (i < c_offset || i >= c_offset + c_bytes(&s))
			ASSERT_EQ(0x22, ((uint8_t *)ork_bo_data(c.bo))[i]);
	free(plain_c.data);
	ork_bo_destroy(a.bo);
	ork_bo_destroy(c.bo);
	work_destroy(&work);
}

TEST_F(cores, view_into_larger_objects_gives_what_copies_give)
{
	view(_metadata, self, 1, 1);
	view(_metadata, self, 64, 1);
	view(_metadata, self, 1, 3);
	view(_metadata, self, 64, 3);
}

LIB_TEST_MAIN

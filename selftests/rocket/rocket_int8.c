// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mainline's rocket, unmodified, on the emulated board: int8 products on all of its cores come out
 * as the CPU computes them. The board is then what a driver that knows nothing of ork takes for an
 * RK3588.
 */
#include "rocket_test.h"
#include "../ork/board.h"

#define FILES		BOARD_CORES
#define JOBS		4
#define ROUNDS		20

/* Time of a program on the board, for jobs that overlap. */
#define SLOW_US		5000

/* Sizes of a panel: two blocks of B each way, and all but one row of A. */
#define M		31
#define K		64
#define N		64
#define PANELS		4

FIXTURE(rocket) {
	volatile uint32_t *board;
	int fd[FILES];
};

FIXTURE_SETUP(rocket)
{
	self->board = board_open();
	board_behave(self->board);
	if (self->board)
		board_write(self->board, ORK_BOARD_ZERO, 1);
	for (int i = 0; i < FILES; i++) {
		self->fd[i] = rocket_open();
		ASSERT_LE(0, self->fd[i]);
	}
}

/*
 * A job that has ended holds its objects until a worker frees it, and rocket then gives their
 * addresses back to their file's allocator, which a close has freed. Nothing tells when the worker
 * has been there: on the board's own time it comes long before this is over.
 */
#define LET_GO_US	100000

FIXTURE_TEARDOWN(rocket)
{
	board_behave(self->board);
	usleep(LET_GO_US);
	for (int i = 0; i < FILES; i++)
		close(self->fd[i]);
}

/* --- the product on the CPU ------------------------------------------------------------------- */

static int8_t a_at(const struct rocket_product *p, uint32_t m, uint32_t k)
{
	return (int8_t)p->a.data[m * p->gemm.k + k];
}

/* Blocks of 32 columns by 32 rows, those with the same columns one after another. */
static int8_t b_at(const struct rocket_product *p, uint32_t panel, uint32_t k, uint32_t n)
{
	uint32_t block = n / 32 * (p->gemm.k / 32) + k / 32;

	return (int8_t)p->b.data[panel * rocket_panel_b_bytes(p) + block * 32 * 32 +
				 n % 32 * 32 + k % 32];
}

static int32_t c_expected(const struct rocket_product *p, uint32_t panel, uint32_t m, uint32_t n)
{
	int32_t sum = 0;

	for (uint32_t k = 0; k < p->gemm.k; k++)
		sum += a_at(p, m, k) * b_at(p, panel, k, n);
	return sum;
}

/* Elements of C that are not what the CPU computes. */
static uint32_t wrong(const struct rocket_product *p)
{
	const int32_t *c = (const int32_t *)p->c.data;
	uint32_t count = 0;

	for (uint32_t panel = 0; panel < p->panels; panel++)
		for (uint32_t m = 0; m < p->gemm.m; m++)
			for (uint32_t n = 0; n < p->gemm.n; n++)
				count += *c++ != c_expected(p, panel, m, n);
	return count;
}

/* --- the product by rocket -------------------------------------------------------------------- */

/* All of int8, and another sequence for each seed. */
static void fill_from(uint8_t *data, uint64_t bytes, uint32_t seed)
{
	uint32_t state = seed * 2654435761u + 1;

	for (uint64_t i = 0; i < bytes; i++) {
		state = state * 1664525u + 1013904223u;
		data[i] = state >> 24;
	}
}

/* Waits for the jobs that use the product, writes new matrices, and hands them to the NPU. */
static int write_matrices(int fd, struct rocket_product *p, uint32_t seed)
{
	struct bo *objects[] = { &p->a, &p->b, &p->c };
	int error = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(objects) && !error; i++)
		error = rocket_prep(fd, objects[i]);
	if (error)
		return error;
	fill_from(p->a.data, p->gemm.m * p->gemm.k, seed);
	fill_from(p->b.data, p->panels * rocket_panel_b_bytes(p), seed + 1);
	memset(p->c.data, UNTOUCHED, p->c.size);
	for (size_t i = 0; i < ARRAY_LENGTH(objects) && !error; i++)
		error = rocket_fini(fd, objects[i]);
	return error;
}

static int create(int fd, struct rocket_product *p, uint32_t panels, uint32_t seed)
{
	int error = rocket_product_create(fd, p, M, K, N, panels);

	return error ? error : write_matrices(fd, p, seed);
}

static int start(int fd, struct rocket_product *p)
{
	struct drm_rocket_job job = rocket_product_job(p);

	return rocket_submit(fd, &job, 1);
}

static uint32_t cores_used(volatile uint32_t *board)
{
	uint32_t used = 0;

	for (uint32_t core = 0; core < BOARD_CORES; core++)
		used += !!board_read(board, ORK_BOARD_CORE(core, ORK_BOARD_CORE_KICKS));
	return used;
}

/* --- tests ------------------------------------------------------------------------------------ */

TEST_F(rocket, rocket_drives_all_three_cores)
{
	glob_t bound;

	ASSERT_EQ(0, glob("/sys/bus/platform/drivers/rocket/*.npu", 0, NULL, &bound));
	EXPECT_EQ(BOARD_CORES, bound.gl_pathc);
	globfree(&bound);
}

TEST_F(rocket, a_product_is_the_cpus)
{
	struct rocket_product p;

	ASSERT_EQ(0, create(self->fd[0], &p, 1, 1));
	ASSERT_EQ(M * N, wrong(&p));
	ASSERT_EQ(0, start(self->fd[0], &p));
	ASSERT_EQ(0, rocket_prep(self->fd[0], &p.c));
	EXPECT_EQ(0, wrong(&p));
}

TEST_F(rocket, all_tasks_of_a_job_run_each_with_a_start_and_an_interrupt)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, create(self->fd[0], &p, PANELS, 2));
	ASSERT_EQ(0, start(self->fd[0], &p));
	ASSERT_EQ(0, rocket_prep(self->fd[0], &p.c));
	EXPECT_EQ(0, wrong(&p));
	EXPECT_EQ(PANELS, board_sum(self->board, ORK_BOARD_CORE_KICKS));
	EXPECT_EQ(PANELS, board_sum(self->board, ORK_BOARD_CORE_INTERRUPTS));
}

TEST_F(rocket, all_jobs_of_a_submit_run)
{
	struct rocket_product p[JOBS];
	struct drm_rocket_job jobs[JOBS];

	for (int i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, create(self->fd[0], &p[i], PANELS, 10 * i));
		jobs[i] = rocket_product_job(&p[i]);
	}
	ASSERT_EQ(0, rocket_submit(self->fd[0], jobs, JOBS));
	for (int i = 0; i < JOBS; i++) {
		ASSERT_EQ(0, rocket_prep(self->fd[0], &p[i].c));
		EXPECT_EQ(0, wrong(&p[i]));
	}
}

/*
 * Rocket gives a file that becomes busy the core with the least to do, so files that are busy
 * together fill all cores: at once, if this machine lets them be busy together.
 */
TEST_F(rocket, three_busy_files_fill_three_cores)
{
	struct rocket_product p[FILES];

	NEED_BOARD(self->board);
	for (int i = 0; i < FILES; i++)
		ASSERT_EQ(0, create(self->fd[i], &p[i], PANELS, i));
	board_write(self->board, ORK_BOARD_LATENCY_US, SLOW_US);
	for (int round = 0; round < ROUNDS && cores_used(self->board) < BOARD_CORES; round++) {
		for (int i = 0; i < FILES * JOBS; i++)
			ASSERT_EQ(0, start(self->fd[i / JOBS], &p[i / JOBS]));
		for (int i = 0; i < FILES; i++)
			ASSERT_EQ(0, rocket_prep(self->fd[i], &p[i].c));
	}
	for (int i = 0; i < FILES; i++)
		EXPECT_EQ(0, wrong(&p[i]));
	EXPECT_EQ(BOARD_CORES, cores_used(self->board));
}

/* Same addresses, other contents. */
TEST_F(rocket, files_have_address_spaces_of_their_own)
{
	struct rocket_product p[FILES];

	for (int i = 0; i < FILES; i++) {
		ASSERT_EQ(0, create(self->fd[i], &p[i], PANELS, 100 + 10 * i));
		EXPECT_EQ(p[0].c.iova, p[i].c.iova);
	}
	for (int i = 0; i < FILES; i++)
		ASSERT_EQ(0, start(self->fd[i], &p[i]));
	for (int i = 0; i < FILES; i++) {
		ASSERT_EQ(0, rocket_prep(self->fd[i], &p[i].c));
		EXPECT_EQ(0, wrong(&p[i]));
	}
}

/* What PREP_BO and FINI_BO maintain is enough for the board's caches. */
TEST_F(rocket, rounds_with_new_matrices_never_see_old_ones)
{
	struct rocket_product p[FILES];

	for (int i = 0; i < FILES; i++)
		ASSERT_EQ(0, create(self->fd[i], &p[i], PANELS, i));
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < FILES; i++) {
			ASSERT_EQ(0, write_matrices(self->fd[i], &p[i], round * FILES + i));
			ASSERT_EQ(0, start(self->fd[i], &p[i]));
		}
		for (int i = 0; i < FILES; i++) {
			ASSERT_EQ(0, rocket_prep(self->fd[i], &p[i].c));
			ASSERT_EQ(0, wrong(&p[i]));
		}
	}
	if (self->board) {
		EXPECT_EQ(0, board_read(self->board, ORK_BOARD_STALE_READS));
		EXPECT_EQ(0, board_read(self->board, ORK_BOARD_RESULTS_LOST));
	}
}

TEST_HARNESS_MAIN

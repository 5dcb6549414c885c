// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mainline's rocket, unmodified, on the emulated board: int8 products on all of its cores come out
 * as the CPU computes them. The board is then what a driver that knows nothing of ork takes for an
 * RK3588.
 */
#include "rocket_test.h"

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

FIXTURE_TEARDOWN(rocket)
{
	board_behave(self->board);
	usleep(ROCKET_LET_GO_US);
	for (int i = 0; i < FILES; i++)
		close(self->fd[i]);
}

/* --- the product by rocket -------------------------------------------------------------------- */

static int create(int fd, struct rocket_product *p, uint32_t panels, uint32_t seed)
{
	int error = rocket_product_create(fd, p, M, K, N, panels);

	return error ? error : rocket_product_write(fd, p, seed);
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
	ASSERT_EQ(M * N, rocket_product_wrong(&p));
	ASSERT_EQ(0, rocket_product_start(self->fd[0], &p));
	ASSERT_EQ(0, rocket_prep(self->fd[0], &p.c));
	EXPECT_EQ(0, rocket_product_wrong(&p));
}

TEST_F(rocket, all_tasks_of_a_job_run_each_with_a_start_and_an_interrupt)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, create(self->fd[0], &p, PANELS, 2));
	ASSERT_EQ(0, rocket_product_start(self->fd[0], &p));
	ASSERT_EQ(0, rocket_prep(self->fd[0], &p.c));
	EXPECT_EQ(0, rocket_product_wrong(&p));
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
		EXPECT_EQ(0, rocket_product_wrong(&p[i]));
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
	for (int round = 0; round < ROUNDS && board_cores_used(self->board) < BOARD_CORES; round++) {
		for (int i = 0; i < FILES * JOBS; i++)
			ASSERT_EQ(0, rocket_product_start(self->fd[i / JOBS], &p[i / JOBS]));
		for (int i = 0; i < FILES; i++)
			ASSERT_EQ(0, rocket_prep(self->fd[i], &p[i].c));
	}
	for (int i = 0; i < FILES; i++)
		EXPECT_EQ(0, rocket_product_wrong(&p[i]));
	EXPECT_EQ(BOARD_CORES, board_cores_used(self->board));
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
		ASSERT_EQ(0, rocket_product_start(self->fd[i], &p[i]));
	for (int i = 0; i < FILES; i++) {
		ASSERT_EQ(0, rocket_prep(self->fd[i], &p[i].c));
		EXPECT_EQ(0, rocket_product_wrong(&p[i]));
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
			ASSERT_EQ(0, rocket_product_write(self->fd[i], &p[i], round * FILES + i));
			ASSERT_EQ(0, rocket_product_start(self->fd[i], &p[i]));
		}
		for (int i = 0; i < FILES; i++) {
			ASSERT_EQ(0, rocket_prep(self->fd[i], &p[i].c));
			ASSERT_EQ(0, rocket_product_wrong(&p[i]));
		}
	}
	if (self->board) {
		EXPECT_EQ(0, board_read(self->board, ORK_BOARD_STALE_READS));
		EXPECT_EQ(0, board_read(self->board, ORK_BOARD_RESULTS_LOST));
	}
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which jobs wait for which, which run at once, which come first, and what a job that fails does
 * to those that wait for it. ork_submit has the plainest cases.
 *
 * Order is never measured as time. That a job has not started is told by the board's counts of
 * kicks while a gate is shut; which of two ran first, by what the later one read.
 */
#define _GNU_SOURCE
#include <sys/wait.h>
#include "ork_test.h"
#include "board.h"
#include "jobs.h"

#define READ		DRM_ORK_EXTENT_READ
#define WRITE		DRM_ORK_EXTENT_WRITE
#define NO_SYNC		DRM_ORK_EXTENT_NO_SYNC

FIXTURE(order) {
	int fd;
	struct drm_ork_device_info info;
	volatile uint32_t *board;
};

FIXTURE_SETUP(order)
{
	self->board = board_open();
	board_behave(self->board);
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	self->info = device_info(self->fd);
	if (self->board)
		board_write(self->board, ORK_BOARD_ZERO, 1);
}

FIXTURE_TEARDOWN(order)
{
	board_behave(self->board);
	close(self->fd);
}

#define NEED_THREE_CORES(self) do {						\
	NEED_BOARD((self)->board);						\
	if ((self)->info.num_cores < BOARD_CORES)				\
		SKIP(return, "needs three cores");				\
} while (0)

/* Of all cores, since the test began. */
static uint32_t kicks(const FIXTURE_DATA(order) *self)
{
	return board_sum(self->board, ORK_BOARD_CORE_KICKS);
}

static uint32_t interrupts(const FIXTURE_DATA(order) *self)
{
	return board_sum(self->board, ORK_BOARD_CORE_INTERRUPTS);
}

static int shut_gate(const FIXTURE_DATA(order) *self, struct step *gate, uint32_t core_mask)
{
	int error = gate_create(self->fd, self->board, gate, core_mask);

	return error ? error : gate_shut(self->board, gate);
}

/*
 * All that was submitted at @priority so far now waits for a core, and not for a thread that hands
 * it on: a job of the same queue was handed on, and has run, on an idle core of @core_mask.
 */
static int flush(int fd, uint32_t core_mask, uint32_t priority)
{
	struct step step;
	int error = step_create(fd, &step, 1, core_mask);

	step.args.priority = priority;
	if (!error)
		error = step_run(&step);
	step_close(&step);
	return error;
}

/* Whether a job that was free to run would have run by now, and this one has not. */
static bool still_waits(const struct step *step)
{
	return !flush(step->fd, step->job.core_mask, step->args.priority) &&
	       step_look(step) == -EBUSY;
}

/* --- through objects -------------------------------------------------------------------------- */

TEST_F(order, writer_waits_for_readers_on_several_cores)
{
	struct step source, readers[2], writer;

	NEED_THREE_CORES(self);
	ASSERT_EQ(0, step_create(self->fd, &source, 1, 0));
	ASSERT_EQ(0, step_run(&source));
	for (uint32_t core = 0; core < 2; core++) {
		ASSERT_EQ(0, gate_create(self->fd, self->board, &readers[core], 1u << core));
		step_read(&readers[core], &source);
		ASSERT_EQ(0, gate_shut(self->board, &readers[core]));
	}
	ASSERT_EQ(0, step_create(self->fd, &writer, 1, 4));
	memset(writer.product.bo.data + writer.product.b, 2, STEP_BYTES);
	step_overwrite(&writer, &source);
	ASSERT_EQ(0, step_submit(&writer));
	for (uint32_t core = 0; core < 2; core++) {
		EXPECT_TRUE(still_waits(&writer));
		gate_open(self->board, core);
		EXPECT_EQ(0, step_status(&readers[core]));
		EXPECT_EQ(0u, product_wrong(&readers[core].product, step_follow(STEP_VALUE)));
	}
	EXPECT_EQ(0, step_status(&writer));
	EXPECT_EQ(0u, product_wrong(&source.product, 2 * STEP_VALUE));
}

TEST_F(order, writer_waits_for_an_earlier_writer)
{
	struct step first, second;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, shut_gate(self, &first, 1));
	ASSERT_EQ(0, step_create(self->fd, &second, 1, 2));
	memset(second.product.bo.data + second.product.b, 2, STEP_BYTES);
	step_overwrite(&second, &first);
	ASSERT_EQ(0, step_submit(&second));
	EXPECT_TRUE(still_waits(&second));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&second));
	EXPECT_EQ(0, step_look(&first));
	EXPECT_EQ(0u, product_wrong(&first.product, 2 * STEP_VALUE));
}

TEST_F(order, readers_of_one_object_run_at_once)
{
	struct step source, readers[BOARD_CORES];

	NEED_THREE_CORES(self);
	ASSERT_EQ(0, step_create(self->fd, &source, 1, 0));
	for (uint32_t core = 0; core < BOARD_CORES; core++) {
		ASSERT_EQ(0, gate_create(self->fd, self->board, &readers[core], 1u << core));
		step_read(&readers[core], &source);
		ASSERT_EQ(0, gate_shut(self->board, &readers[core]));
	}
	EXPECT_EQ(3u, kicks(self));
	EXPECT_EQ(0u, interrupts(self));
}

/* Though all of them write the same object. */
TEST_F(order, jobs_of_one_submit_run_at_once)
{
	struct drm_ork_job jobs[BOARD_CORES];
	struct step step;

	NEED_THREE_CORES(self);
	ASSERT_EQ(0, gate_create(self->fd, self->board, &step, 0));
	for (unsigned int i = 0; i < BOARD_CORES; i++)
		jobs[i] = step.job;
	step.args.jobs = ARRAY(jobs, BOARD_CORES);
	EXPECT_EQ(0, gate_shut(self->board, &step));
	EXPECT_EQ(0u, interrupts(self));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&step));
}

/* The next submit waits for the slowest job of the one before, on whichever core that is. */
TEST_F(order, submit_waits_for_every_job_of_an_earlier_one)
{
	NEED_THREE_CORES(self);
	for (uint32_t slow = 0; slow < BOARD_CORES; slow++) {
		struct step writers[BOARD_CORES], reader;
		struct drm_ork_job jobs[BOARD_CORES];

		ASSERT_EQ(0, step_create(self->fd, &reader, 1, 1u << (slow + 1) % BOARD_CORES));
		for (uint32_t core = 0; core < BOARD_CORES; core++) {
			if (core == slow) {
				ASSERT_EQ(0, gate_create(self->fd, self->board, &writers[core],
							 1u << core));
			} else {
				ASSERT_EQ(0, step_create(self->fd, &writers[core], 1, 1u << core));
			}
			jobs[core] = writers[core].job;
			step_touch(&reader, &writers[core].product.bo, NO_SYNC);
		}
		step_read(&reader, &writers[slow]);
		writers[0].args.jobs = ARRAY(jobs, BOARD_CORES);
		ASSERT_EQ(0, gate_shut(self->board, &writers[0]));
		ASSERT_EQ(0, step_submit(&reader));
		EXPECT_TRUE(still_waits(&reader));
		gates_open(self->board);
		EXPECT_EQ(0, step_status(&reader));
		EXPECT_EQ(0u, product_wrong(&reader.product, step_follow(STEP_VALUE)));
	}
}

/* --- through syncobjs ------------------------------------------------------------------------- */

TEST_F(order, each_of_several_in_syncobjs_is_waited_for)
{
	NEED_THREE_CORES(self);
	for (uint32_t slow = 0; slow < BOARD_CORES; slow++) {
		struct step earlier[BOARD_CORES], later;

		ASSERT_EQ(0, step_create(self->fd, &later, 1, 1u << (slow + 1) % BOARD_CORES));
		for (uint32_t core = 0; core < BOARD_CORES; core++) {
			if (core == slow) {
				ASSERT_EQ(0, shut_gate(self, &earlier[core], 1u << core));
			} else {
				ASSERT_EQ(0, step_create(self->fd, &earlier[core], 1, 1u << core));
				ASSERT_EQ(0, step_run(&earlier[core]));
			}
			step_wait_for(&later, earlier[core].out.handle, 0);
		}
		ASSERT_EQ(0, step_submit(&later));
		EXPECT_TRUE(still_waits(&later));
		gates_open(self->board);
		EXPECT_EQ(0, step_status(&later));
		EXPECT_EQ(0, step_look(&earlier[slow]));
	}
}

/* Points 1 and 3 are gates, and point 2 is done at once. */
TEST_F(order, point_waits_for_those_before_it_and_not_for_those_after)
{
	struct step points[3], second, third;
	uint32_t timeline;

	NEED_THREE_CORES(self);
	ASSERT_EQ(0, syncobj_create(self->fd, &timeline));
	for (uint32_t i = 0; i < 3; i++) {
		ASSERT_EQ(0, i == 1 ? step_create(self->fd, &points[i], 1, 2) :
				      gate_create(self->fd, self->board, &points[i], 1u << i));
		points[i].out = (struct drm_ork_sync){ .handle = timeline, .point = i + 1 };
		ASSERT_EQ(0, gate_shut(self->board, &points[i]));
	}
	ASSERT_EQ(0, step_create(self->fd, &second, 1, 2));
	step_wait_for(&second, timeline, 2);
	ASSERT_EQ(0, step_submit(&second));
	ASSERT_EQ(0, step_create(self->fd, &third, 1, 2));
	step_wait_for(&third, timeline, 3);
	ASSERT_EQ(0, step_submit(&third));

	EXPECT_TRUE(still_waits(&second));
	gate_open(self->board, 0);
	EXPECT_EQ(0, step_status(&second));
	EXPECT_TRUE(still_waits(&third));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&third));
}

/* A timeline has reached a point only when it has reached all before, whichever job ends first. */
TEST_F(order, jobs_that_end_out_of_order_reach_their_points_in_order)
{
	struct step first, second, waiting;
	uint32_t alone;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, gate_create(self->fd, self->board, &first, 1));
	first.out.point = 1;
	ASSERT_EQ(0, gate_shut(self->board, &first));
	ASSERT_EQ(0, syncobj_create(self->fd, &alone));
	ASSERT_EQ(0, step_create(self->fd, &second, 1, 2));
	second.out = (struct drm_ork_sync){ .handle = first.out.handle, .point = 2 };
	second.job.out_syncobj = alone;
	ASSERT_EQ(0, step_submit(&second));
	ASSERT_EQ(0, step_create(self->fd, &waiting, 1, 2));
	step_wait_for(&waiting, first.out.handle, 2);
	ASSERT_EQ(0, step_submit(&waiting));

	EXPECT_EQ(0, job_status(self->fd, alone));
	EXPECT_EQ(-EBUSY, step_look(&second));
	EXPECT_TRUE(still_waits(&waiting));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&waiting));
	EXPECT_EQ(0, step_look(&second));
}

TEST_F(order, wait_for_a_point_that_was_skipped_is_for_the_next)
{
	struct step points[2], waiting;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, step_create(self->fd, &points[0], 1, 1));
	points[0].out.point = 10;
	ASSERT_EQ(0, step_run(&points[0]));
	ASSERT_EQ(0, gate_create(self->fd, self->board, &points[1], 1));
	points[1].out = (struct drm_ork_sync){ .handle = points[0].out.handle, .point = 20 };
	ASSERT_EQ(0, gate_shut(self->board, &points[1]));
	ASSERT_EQ(0, step_create(self->fd, &waiting, 1, 2));
	step_wait_for(&waiting, points[0].out.handle, 15);
	ASSERT_EQ(0, step_submit(&waiting));
	EXPECT_TRUE(still_waits(&waiting));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&waiting));
	EXPECT_EQ(0, step_look(&points[1]));
}

/* The kernel calls that unordered and goes on; no job may be lost over it. */
TEST_F(order, points_that_are_added_backwards_lose_no_job)
{
	struct step points[3];

	for (uint32_t i = 0; i < 3; i++) {
		ASSERT_EQ(0, step_create(self->fd, &points[i], 1, 0));
		points[i].out = (struct drm_ork_sync){ .handle = points[0].out.handle,
						       .point = 30 - 10 * i };
		ASSERT_EQ(0, step_submit(&points[i]));
	}
	for (uint32_t i = 0; i < 3; i++) {
		EXPECT_EQ(0, step_status(&points[i]));
		EXPECT_EQ(0u, product_wrong(&points[i].product, STEP_VALUE));
	}
}

/* Each step waits for what the syncobj carries and then is what it carries. */
TEST_F(order, syncobj_may_be_in_and_out_of_one_submit)
{
	struct step steps[6];
	int32_t value = STEP_VALUE;

	for (uint32_t i = 0; i < ARRAY_LENGTH(steps); i++) {
		ASSERT_EQ(0, step_create(self->fd, &steps[i], 20, 0));
		steps[i].args.flags = DRM_ORK_SUBMIT_EXPLICIT;
		steps[i].out.handle = steps[0].out.handle;
		if (i) {
			step_read(&steps[i], &steps[i - 1]);
			step_wait_for(&steps[i], steps[0].out.handle, 0);
		}
		ASSERT_EQ(0, step_submit(&steps[i]));
	}
	EXPECT_EQ(0, step_status(&steps[0]));
	for (uint32_t i = 0; i < ARRAY_LENGTH(steps); i++) {
		EXPECT_EQ(0u, product_wrong(&steps[i].product, value));
		value = step_follow(value);
	}
}

TEST_F(order, waiting_job_does_not_hold_up_later_ones)
{
	struct step gate, waiting, later;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, shut_gate(self, &gate, 1));
	ASSERT_EQ(0, step_create(self->fd, &waiting, 1, 2));
	step_wait_for(&waiting, gate.out.handle, 0);
	ASSERT_EQ(0, step_submit(&waiting));
	ASSERT_EQ(0, step_create(self->fd, &later, 1, 2));
	EXPECT_EQ(0, step_run(&later));
	EXPECT_EQ(-EBUSY, step_look(&waiting));
	EXPECT_TRUE(product_untouched(&waiting.product));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&waiting));
	EXPECT_EQ(0u, product_wrong(&waiting.product, STEP_VALUE));
}

TEST_F(order, job_that_waits_through_an_object_does_not_hold_up_later_ones)
{
	struct step gate, waiting, later;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, shut_gate(self, &gate, 1));
	ASSERT_EQ(0, step_create(self->fd, &waiting, 1, 2));
	step_read(&waiting, &gate);
	ASSERT_EQ(0, step_submit(&waiting));
	ASSERT_EQ(0, step_create(self->fd, &later, 1, 2));
	EXPECT_EQ(0, step_run(&later));
	EXPECT_EQ(-EBUSY, step_look(&waiting));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&waiting));
	EXPECT_EQ(0u, product_wrong(&waiting.product, step_follow(STEP_VALUE)));
}

/* --- sync_files ------------------------------------------------------------------------------- */

/*
 * In a process of its own: a job that waits for the fence in @file. Tells through @ready that it
 * waits. Returns 0 if it ran after that.
 */
static int stranger(int file, int ready)
{
	int fd = device_open();
	struct step step;
	uint32_t in;

	if (fd < 0 || sync_file_import(fd, file, &in) || step_create(fd, &step, 1, 0))
		return 1;
	step_wait_for(&step, in, 0);
	if (step_submit(&step) || step_look(&step) != -EBUSY)
		return 2;
	if (write(ready, "", 1) != 1 || step_status(&step))
		return 3;
	return sync_file_signalled(file, 0) && !product_wrong(&step.product, STEP_VALUE) ? 0 : 4;
}

TEST_F(order, job_waits_for_the_sync_file_of_another_process)
{
	int file, status, ready[2];
	struct step gate;
	pid_t child;
	char byte;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, pipe(ready));
	ASSERT_EQ(0, shut_gate(self, &gate, 1));
	file = sync_file_export(self->fd, gate.out.handle);
	ASSERT_LE(0, file);
	child = fork();
	if (!child)
		_exit(stranger(file, ready[1]));
	close(ready[1]);
	EXPECT_EQ(1, read(ready[0], &byte, 1));
	gates_open(self->board);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_F(order, sync_file_can_be_polled_for_the_end)
{
	struct step gate;
	int file;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, shut_gate(self, &gate, 1));
	file = sync_file_export(self->fd, gate.out.handle);
	ASSERT_LE(0, file);
	EXPECT_FALSE(sync_file_signalled(file, 0));
	EXPECT_FALSE(sync_file_signalled(file, 20));
	EXPECT_EQ(0, sync_file_status(file));
	gates_open(self->board);
	EXPECT_TRUE(sync_file_signalled(file, 30000));
	EXPECT_EQ(1, sync_file_status(file));
	EXPECT_EQ(0, step_look(&gate));
}

/* case 50 */
TEST_F(order, sync_file_tells_a_hang_from_success)
{
	struct step good, bad;
	int files[2];

	ASSERT_EQ(0, step_create(self->fd, &good, 2, 0));
	ASSERT_EQ(0, step_create(self->fd, &bad, 2, 0));
	step_spoil(&bad, HANG);
	ASSERT_EQ(0, step_submit(&bad));
	ASSERT_EQ(0, step_submit(&good));
	files[0] = sync_file_export(self->fd, good.out.handle);
	files[1] = sync_file_export(self->fd, bad.out.handle);
	EXPECT_EQ(1, sync_file_end(files[0]));
	EXPECT_EQ(-ETIMEDOUT, sync_file_end(files[1]));
	EXPECT_EQ(-ETIMEDOUT, step_status(&bad));
}

TEST_F(order, sync_file_of_a_submit_tells_that_one_of_its_jobs_hung)
{
	struct step good, bad;
	struct drm_ork_job jobs[2];
	int file;

	ASSERT_EQ(0, step_create(self->fd, &good, 2, 0));
	ASSERT_EQ(0, step_create(self->fd, &bad, 2, 0));
	step_spoil(&bad, HANG);
	jobs[0] = good.job;
	jobs[1] = bad.job;
	good.args.jobs = ARRAY(jobs, 2);
	ASSERT_EQ(0, step_submit(&good));
	file = sync_file_export(self->fd, good.out.handle);
	EXPECT_EQ(-ETIMEDOUT, sync_file_end(file));
}

/* --- which comes first ------------------------------------------------------------------------ */

/*
 * A log that jobs write and read: each job's B is the whole log, its C is 128 bytes of it. A column
 * of B is 32 bytes, so that element 4 j + 3 of a job's C is the sum of the last quarter of what job
 * j has written, and that is not zero if job j ran before: it holds a 32, the sum of the log's last
 * column, which nobody writes. No element before the last can become anything else than 0 or 32.
 */
#define LOG_JOBS	6
#define LOG_PART	128

struct log {
	struct bo bo;
	struct step jobs[LOG_JOBS];
};

static int log_create(int fd, struct log *log)
{
	int error = bo_create(fd, PAGE, &log->bo);

	if (error)
		return error;
	memset(log->bo.data + STEP_BYTES - 32, 1, 32);
	return sync_range(fd, &log->bo, DRM_ORK_EXTENT_TO_DEVICE, 0, PAGE);
}

static int log_add(int fd, struct log *log, uint32_t job, uint32_t core_mask, uint32_t priority)
{
	struct step *step = &log->jobs[job];
	int error = step_create(fd, step, 1, core_mask);

	if (error)
		return error;
	step->product.gemm.m = 1;
	step->product.gemm.b = log->bo.iova;
	step->product.gemm.c = log->bo.iova + job * LOG_PART;
	product_emit(&step->product);
	step->extents[2] = extent(&log->bo, NO_SYNC, 0, PAGE);
	step->job.extents.count = 3;
	step->args.priority = priority;
	return step_submit(step);
}

/* How many of the others ran before it. */
static int log_rank(int fd, const struct log *log, uint32_t job)
{
	const int32_t *c = (const int32_t *)(log->bo.data + job * LOG_PART);
	int rank = 0;

	if (sync_range(fd, &log->bo, DRM_ORK_EXTENT_FROM_DEVICE, 0, PAGE) || c[31] != 32)
		return -EBADMSG;
	for (uint32_t i = 0; i < LOG_JOBS; i++)
		rank += c[4 * i + 3] == 32;
	return rank;
}

TEST_F(order, waiting_jobs_of_one_priority_run_in_the_order_of_submission)
{
	struct log log = { 0 };
	struct step gate;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, log_create(self->fd, &log));
	ASSERT_EQ(0, shut_gate(self, &gate, 1));
	for (uint32_t i = 0; i < LOG_JOBS; i++)
		ASSERT_EQ(0, log_add(self->fd, &log, i, 1, DRM_ORK_PRIORITY_NORMAL));
	gates_open(self->board);
	for (uint32_t i = 0; i < LOG_JOBS; i++)
		EXPECT_EQ(0, step_status(&log.jobs[i]));
	for (int i = 0; i < LOG_JOBS; i++)
		EXPECT_EQ(i, log_rank(self->fd, &log, i));
}

TEST_F(order, high_job_overtakes_normal_ones_that_wait)
{
	struct log log = { 0 };
	struct step gate;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, log_create(self->fd, &log));
	ASSERT_EQ(0, shut_gate(self, &gate, 1));
	for (uint32_t i = 0; i < 3; i++)
		ASSERT_EQ(0, log_add(self->fd, &log, i, 1, DRM_ORK_PRIORITY_NORMAL));
	EXPECT_EQ(0, flush(self->fd, 2, DRM_ORK_PRIORITY_NORMAL));
	ASSERT_EQ(0, log_add(self->fd, &log, 3, 1, DRM_ORK_PRIORITY_HIGH));
	EXPECT_EQ(0, flush(self->fd, 2, DRM_ORK_PRIORITY_HIGH));
	gates_open(self->board);
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(0, step_status(&log.jobs[i]));
	EXPECT_EQ(0, log_rank(self->fd, &log, 3));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(i + 1, log_rank(self->fd, &log, i));
}

TEST_F(order, low_job_runs_when_nothing_else_is_ready)
{
	struct log log = { 0 };
	struct step gate;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, log_create(self->fd, &log));
	ASSERT_EQ(0, shut_gate(self, &gate, 1));
	ASSERT_EQ(0, log_add(self->fd, &log, 0, 1, DRM_ORK_PRIORITY_LOW));
	EXPECT_EQ(0, flush(self->fd, 2, DRM_ORK_PRIORITY_LOW));
	ASSERT_EQ(0, log_add(self->fd, &log, 1, 1, DRM_ORK_PRIORITY_NORMAL));
	ASSERT_EQ(0, log_add(self->fd, &log, 2, 1, DRM_ORK_PRIORITY_NORMAL));
	EXPECT_EQ(0, flush(self->fd, 2, DRM_ORK_PRIORITY_NORMAL));
	ASSERT_EQ(0, log_add(self->fd, &log, 3, 1, DRM_ORK_PRIORITY_HIGH));
	EXPECT_EQ(0, flush(self->fd, 2, DRM_ORK_PRIORITY_HIGH));
	gates_open(self->board);
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(0, step_status(&log.jobs[i]));
	EXPECT_EQ(3, log_rank(self->fd, &log, 0));
	EXPECT_EQ(0, log_rank(self->fd, &log, 3));
}

/*
 * However many normal jobs are queued, only those that were handed on already, two for each core,
 * can be before a high one. Of thirty-six the first twelve are more than those.
 */
TEST_F(order, high_job_waits_for_few_of_many)
{
	struct log log = { 0 };
	struct step gate, many[36 - (LOG_JOBS - 1)];
	uint32_t before = 12;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, log_create(self->fd, &log));
	ASSERT_EQ(0, shut_gate(self, &gate, 1));
	for (uint32_t i = 0; i < ARRAY_LENGTH(many); i++) {
		for (uint32_t j = 0; i == before && j < LOG_JOBS - 1; j++)
			ASSERT_EQ(0, log_add(self->fd, &log, j, 1, DRM_ORK_PRIORITY_NORMAL));
		ASSERT_EQ(0, step_create(self->fd, &many[i], 1, 1));
		ASSERT_EQ(0, step_submit(&many[i]));
	}
	ASSERT_EQ(0, log_add(self->fd, &log, LOG_JOBS - 1, 1, DRM_ORK_PRIORITY_HIGH));
	gates_open(self->board);
	for (uint32_t i = 0; i < LOG_JOBS; i++)
		EXPECT_EQ(0, step_status(&log.jobs[i]));
	EXPECT_EQ(0, log_rank(self->fd, &log, LOG_JOBS - 1));
}

/* --- which core ------------------------------------------------------------------------------- */

/*
 * One more gate than the mask allows cores: whether one is shut on each of them, all of them end,
 * and the other cores see none.
 */
static bool mask_runs_where_it_says(const FIXTURE_DATA(order) *self, uint32_t mask)
{
	uint32_t allowed = mask ? mask : self->info.core_mask, kicked = 0;
	struct drm_ork_job jobs[BOARD_CORES + 1];
	struct step gate;

	board_write(self->board, ORK_BOARD_ZERO, 1);
	if (gate_create(self->fd, self->board, &gate, mask))
		return false;
	for (unsigned int i = 0; i <= BOARD_CORES; i++)
		jobs[i] = gate.job;
	gate.args.jobs = ARRAY(jobs, __builtin_popcount(allowed) + 1);
	if (step_submit(&gate) || !SOON(kicks(self) == gate.args.jobs.count - 1))
		return false;
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		if (board_core_read(self->board, core, ORK_BOARD_CORE_KICKS))
			kicked |= 1u << core;
	gates_open(self->board);
	return kicked == allowed && !step_status(&gate) && kicks(self) == gate.args.jobs.count;
}

/* case 73 */
TEST_F(order, masks_run_where_they_say)
{
	static const uint32_t masks[] = { 0, 1, 2, 4, 3, 5, 6, 7 };

	NEED_THREE_CORES(self);
	for (size_t i = 0; i < ARRAY_LENGTH(masks); i++) {
		EXPECT_TRUE(mask_runs_where_it_says(self, masks[i])) {
			TH_LOG("mask %u", masks[i]);
		}
	}
}

/* case 73 */
TEST_F(order, masks_of_cores_that_do_not_exist_run_nowhere)
{
	struct step step;

	ASSERT_EQ(0, step_create(self->fd, &step, 1, 0));
	EXPECT_REFUSED(EINVAL, step.job.core_mask, 1u << self->info.num_cores, step_run(&step));
	EXPECT_REFUSED(EINVAL, step.job.core_mask, 0x80000000u, step_run(&step));
	EXPECT_REFUSED(EINVAL, step.job.core_mask, 0x80000001u, step_run(&step));
}

TEST_F(order, equal_jobs_of_one_client_fill_all_cores)
{
	struct step steps[BOARD_CORES + 1];

	NEED_THREE_CORES(self);
	for (unsigned int i = 0; i < ARRAY_LENGTH(steps); i++) {
		ASSERT_EQ(0, gate_create(self->fd, self->board, &steps[i], 0));
		ASSERT_EQ(0, step_submit(&steps[i]));
	}
	EXPECT_TRUE(SOON(kicks(self) == 3));
	EXPECT_EQ(0u, interrupts(self));
	gates_open(self->board);
	for (unsigned int i = 0; i < ARRAY_LENGTH(steps); i++)
		EXPECT_EQ(0, step_status(&steps[i]));
}

/* --- address spaces --------------------------------------------------------------------------- */

static void switches(const FIXTURE_DATA(order) *self, uint64_t *counts)
{
	for (uint32_t core = 0; core < self->info.num_cores; core++)
		counts[core] = core_counters(self->fd, core).switches;
}

#define MANY_JOBS	30

/* When a fence signalled. */
static uint64_t end_of(int fd, uint32_t syncobj)
{
	struct sync_fence_info fence = { 0 };
	int file = sync_file_export(fd, syncobj);

	if (file < 0 || sync_file_end(file) != 1 || sync_file_fence(file, &fence))
		return 0;
	close(file);
	return fence.timestamp_ns;
}

/* Whether a space that core 0 is given is core 1's too. */
static bool cores_share_an_iommu(const FIXTURE_DATA(order) *self)
{
	uint64_t before[ORK_MAX_CORES], after[ORK_MAX_CORES];
	int fd = device_open();

	switches(self, before);
	if (health(fd, 1))
		return false;
	switches(self, after);
	close(fd);
	return before[1] != after[1];
}

/*
 * One client's gates keep the cores, and many more of its jobs are queued, before another comes. As
 * few of those end before the other's as there are cores for which both wait.
 */
TEST_F(order, client_that_waits_for_an_iommu_gets_its_turn)
{
	uint64_t before[ORK_MAX_CORES], after[ORK_MAX_CORES], end;
	struct step gates[BOARD_CORES], many[MANY_JOBS], other;
	uint32_t core_mask, earlier = 0;
	int fd = device_open();

	NEED_THREE_CORES(self);
	core_mask = cores_share_an_iommu(self) ? 7 : 1;
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		ASSERT_EQ(0, shut_gate(self, &gates[core], 1u << core));
	for (uint32_t i = 0; i < MANY_JOBS; i++) {
		ASSERT_EQ(0, step_create(self->fd, &many[i], 100, core_mask));
		ASSERT_EQ(0, step_submit(&many[i]));
	}
	switches(self, before);
	ASSERT_EQ(0, step_create(fd, &other, 1, core_mask));
	ASSERT_EQ(0, step_submit(&other));
	gates_open(self->board);
	end = end_of(fd, other.out.handle);
	EXPECT_NE(0u, end);
	for (uint32_t i = 0; i < MANY_JOBS; i++) {
		uint64_t one = end_of(self->fd, many[i].out.handle);

		EXPECT_NE(0u, one);
		earlier += one < end;
	}
	EXPECT_GE((uint32_t)__builtin_popcount(core_mask), earlier);
	/* There and back. */
	switches(self, after);
	EXPECT_EQ(2u, after[0] - before[0]);
}

/*
 * Each space that gets an IOMMU which cores share runs a job on every core before the next: six jobs
 * of each are two such turns, and there are few more for those that come while the gates open.
 */
TEST_F(order, spaces_that_share_an_iommu_fill_its_cores_by_turns)
{
	uint64_t before[ORK_MAX_CORES], after[ORK_MAX_CORES];
	struct step gates[BOARD_CORES], mine[6], theirs[6];
	int fd = device_open();

	NEED_THREE_CORES(self);
	if (!cores_share_an_iommu(self))
		SKIP(return, "needs cores that share an IOMMU");
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		ASSERT_EQ(0, shut_gate(self, &gates[core], 1u << core));
	for (unsigned int i = 0; i < ARRAY_LENGTH(mine); i++) {
		ASSERT_EQ(0, step_create(self->fd, &mine[i], 1, 0));
		ASSERT_EQ(0, step_submit(&mine[i]));
		ASSERT_EQ(0, step_create(fd, &theirs[i], 1, 0));
		ASSERT_EQ(0, step_submit(&theirs[i]));
	}
	switches(self, before);
	gates_open(self->board);
	for (unsigned int i = 0; i < ARRAY_LENGTH(mine); i++) {
		EXPECT_EQ(0, step_status(&mine[i]));
		EXPECT_EQ(0, step_status(&theirs[i]));
	}
	switches(self, after);
	EXPECT_GE(6u, after[0] - before[0]);
}

/* Ten thousand jobs, or a tenth of that where an emulation would take minutes. */
#define BATCH		DRM_ORK_MAX_JOBS
#define BATCHES(self)	((self)->board ? 16u : 157u)

/* case 83 */
TEST_F_TIMEOUT(order, iommu_is_attached_once_for_many_jobs_of_one_client, 120)
{
	uint64_t before[ORK_MAX_CORES], after[ORK_MAX_CORES];
	struct drm_ork_job jobs[BATCH];
	struct step step;

	ASSERT_EQ(0, step_create(self->fd, &step, 1, 0));
	ASSERT_EQ(0, health_everywhere());
	switches(self, before);
	/* With no other object: what is unmapped is zapped, whenever its job has gone. */
	for (uint32_t mask = self->info.core_mask; mask; mask &= mask - 1) {
		step.job.core_mask = mask & -mask;
		ASSERT_EQ(0, step_run(&step));
	}
	step.job.core_mask = 0;
	/* All of it is cleaned once, and nothing is looked at but the end. */
	ASSERT_EQ(0, step_run(&step));
	step_touch(&step, &step.product.bo, NO_SYNC);
	step.job.extents = ARRAY(&step.extents[4], 1);
	for (uint32_t i = 0; i < BATCH; i++)
		jobs[i] = step.job;
	step.args.jobs = ARRAY(jobs, BATCH);
	step.args.flags = DRM_ORK_SUBMIT_EXPLICIT;
	if (self->board)
		board_write(self->board, ORK_BOARD_ZERO, 1);
	for (unsigned int i = 0; i < BATCHES(self); i++)
		ASSERT_EQ(0, step_run(&step));
	switches(self, after);
	for (uint32_t core = 0; core < self->info.num_cores; core++) {
		EXPECT_EQ(1u, after[core] - before[core]);
		if (self->board)
			EXPECT_EQ(0u, board_measure(self->board, core,
						    ORK_BOARD_MEASURE_IOMMU_WRITES));
	}
	EXPECT_EQ(self->info.num_cores + 1 + BATCH * BATCHES(self), file_counters(self->fd).jobs);
}

/* case 83 */
TEST_F(order, iommu_is_attached_anew_for_each_turn_of_another_client)
{
	uint64_t before[ORK_MAX_CORES], after[ORK_MAX_CORES];
	int fds[2] = { self->fd, device_open() };
	struct step steps[2];

	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, step_create(fds[i], &steps[i], 1, 1));
		ASSERT_EQ(0, step_run(&steps[i]));
	}
	switches(self, before);
	for (unsigned int turn = 0; turn < 20; turn++)
		EXPECT_EQ(0, step_run(&steps[turn % 2]));
	switches(self, after);
	EXPECT_EQ(20u, after[0] - before[0]);
}

/* --- what a failure does to those that wait --------------------------------------------------- */

/*
 * The bad job fails when its gate is opened, so that what is to wait for it has been submitted
 * before. It is on core 0, and what waits for it would be on core 1.
 */
FIXTURE(failure) {
	int fd;
	volatile uint32_t *board;
	struct step bad;
	uint64_t jobs;		/* that cores had run at the start */
};

FIXTURE_VARIANT(failure) {
	enum failure how;
};

FIXTURE_VARIANT_ADD(failure, hang){ HANG };
FIXTURE_VARIANT_ADD(failure, fault){ FAULT };

/* Jobs that cores have run, however those ended. */
static uint64_t core_jobs(int fd)
{
	uint32_t cores = device_info(fd).num_cores;
	uint64_t sum = 0;

	for (uint32_t core = 0; core < cores; core++)
		sum += core_counters(fd, core).jobs;
	return sum;
}

FIXTURE_SETUP(failure)
{
	self->board = board_open();
	board_behave(self->board);
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, gate_create(self->fd, self->board, &self->bad, 1));
	self->jobs = core_jobs(self->fd);
	if (self->board)
		board_write(self->board, ORK_BOARD_ZERO, 1);
}

FIXTURE_TEARDOWN(failure)
{
	board_behave(self->board);
	close(self->fd);
}

/* A hang takes its time to be found anywhere; a fault has to be held back. */
#define NEED_GATE(self, variant) do {						\
	if ((variant)->how == FAULT)						\
		NEED_BOARD((self)->board);					\
} while (0)

static int shut(FIXTURE_DATA(failure) *self, const FIXTURE_VARIANT(failure) *variant)
{
	step_spoil(&self->bad, variant->how);
	return gate_shut(self->board, &self->bad);
}

/* Lets the bad job fail. False if it does not, or not as it should. */
static bool fails(FIXTURE_DATA(failure) *self, const FIXTURE_VARIANT(failure) *variant)
{
	gates_open(self->board);
	return step_status(&self->bad) == (variant->how == HANG ? -ETIMEDOUT : -EFAULT);
}

static bool untouched(const struct step *step)
{
	const struct product *p = &step->product;

	return !sync_range(step->fd, &p->bo, DRM_ORK_EXTENT_FROM_DEVICE, p->c, STEP_BYTES) &&
	       product_untouched(p);
}

#define EXPECT_CANCELLED(step) do {						\
	EXPECT_EQ(-ECANCELED, step_status(step));				\
	EXPECT_TRUE(untouched(step));						\
} while (0)

/* Jobs that cores have run in this test, as the driver counts them and as the board does. */
#define EXPECT_RAN(self, number) do {						\
	EXPECT_EQ((uint64_t)(number), core_jobs((self)->fd) - (self)->jobs);	\
	if ((self)->board)							\
		EXPECT_EQ((uint32_t)(number),					\
			  board_sum((self)->board, ORK_BOARD_CORE_KICKS));	\
} while (0)

TEST_F(failure, job_behind_its_syncobj_is_cancelled)
{
	struct step later;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	ASSERT_EQ(0, step_create(self->fd, &later, 1, 2));
	step_wait_for(&later, self->bad.out.handle, 0);
	ASSERT_EQ(0, step_submit(&later));
	EXPECT_EQ(-EBUSY, step_look(&later));
	EXPECT_TRUE(fails(self, variant));
	EXPECT_CANCELLED(&later);
	EXPECT_RAN(self, 1);
	EXPECT_EQ(1u, file_counters(self->fd).resets);
}

TEST_F(failure, job_behind_its_point_of_a_timeline_is_cancelled)
{
	struct step later[2];

	NEED_GATE(self, variant);
	self->bad.out.point = 7;
	ASSERT_EQ(0, shut(self, variant));
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, step_create(self->fd, &later[i], 1, 2));
		step_wait_for(&later[i], self->bad.out.handle, i ? 7 : 5);
		ASSERT_EQ(0, step_submit(&later[i]));
	}
	EXPECT_TRUE(fails(self, variant));
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_CANCELLED(&later[i]);
	EXPECT_RAN(self, 1);
}

TEST_F(failure, one_failed_in_syncobj_of_several_is_enough)
{
	struct step good[2], later[3];

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, step_create(self->fd, &good[i], 1, 2));
		ASSERT_EQ(0, step_submit(&good[i]));
	}
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(0, step_create(self->fd, &later[i], 1, 2));
		for (unsigned int j = 0; j < 3; j++)
			step_wait_for(&later[i], (j == i ? &self->bad : &good[j % 2])->out.handle,
				      0);
		ASSERT_EQ(0, step_submit(&later[i]));
	}
	EXPECT_TRUE(fails(self, variant));
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_CANCELLED(&later[i]);
	EXPECT_RAN(self, 3);
}

TEST_F(failure, syncobj_that_had_failed_before_the_submit_cancels)
{
	struct step by_syncobj, by_file;
	uint32_t imported;
	int file;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	file = sync_file_export(self->fd, self->bad.out.handle);
	EXPECT_TRUE(fails(self, variant));
	ASSERT_EQ(0, sync_file_import(self->fd, file, &imported));
	ASSERT_EQ(0, step_create(self->fd, &by_syncobj, 1, 2));
	step_wait_for(&by_syncobj, self->bad.out.handle, 0);
	ASSERT_EQ(0, step_submit(&by_syncobj));
	ASSERT_EQ(0, step_create(self->fd, &by_file, 1, 2));
	step_wait_for(&by_file, imported, 0);
	ASSERT_EQ(0, step_submit(&by_file));
	EXPECT_CANCELLED(&by_syncobj);
	EXPECT_CANCELLED(&by_file);
	EXPECT_RAN(self, 1);
}

TEST_F(failure, syncobj_of_a_submit_has_failed_if_one_of_its_jobs_has)
{
	struct step good, behind_all, behind_good;
	struct drm_ork_job jobs[2];

	NEED_GATE(self, variant);
	ASSERT_EQ(0, step_create(self->fd, &good, 1, 2));
	good.job.out_syncobj = good.out.handle;
	step_spoil(&self->bad, variant->how);
	jobs[0] = good.job;
	jobs[1] = self->bad.job;
	self->bad.args.jobs = ARRAY(jobs, 2);
	ASSERT_EQ(0, gate_shut(self->board, &self->bad));
	ASSERT_EQ(0, step_create(self->fd, &behind_all, 1, 2));
	step_wait_for(&behind_all, self->bad.out.handle, 0);
	ASSERT_EQ(0, step_submit(&behind_all));
	ASSERT_EQ(0, step_create(self->fd, &behind_good, 1, 2));
	step_wait_for(&behind_good, good.out.handle, 0);
	EXPECT_EQ(0, step_run(&behind_good));
	EXPECT_TRUE(fails(self, variant));
	EXPECT_CANCELLED(&behind_all);
	EXPECT_RAN(self, 3);
}

TEST_F(failure, job_of_another_file_is_cancelled_too)
{
	int fd = device_open(), file;
	struct step later;
	uint32_t imported;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	file = sync_file_export(self->fd, self->bad.out.handle);
	ASSERT_EQ(0, sync_file_import(fd, file, &imported));
	ASSERT_EQ(0, step_create(fd, &later, 1, 2));
	step_wait_for(&later, imported, 0);
	ASSERT_EQ(0, step_submit(&later));
	EXPECT_TRUE(fails(self, variant));
	EXPECT_CANCELLED(&later);
	EXPECT_RAN(self, 1);
	EXPECT_EQ(0u, file_counters(fd).resets);
	EXPECT_EQ(0, health(fd, 0));
}

TEST_F(failure, reader_of_what_was_being_written_is_cancelled)
{
	struct step reader;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	ASSERT_EQ(0, step_create(self->fd, &reader, 1, 2));
	step_read(&reader, &self->bad);
	ASSERT_EQ(0, step_submit(&reader));
	EXPECT_TRUE(fails(self, variant));
	EXPECT_CANCELLED(&reader);
	EXPECT_RAN(self, 1);
}

TEST_F(failure, who_reads_and_writes_what_was_being_written_is_cancelled)
{
	static const uint32_t flags[] = { READ | WRITE, READ };
	struct step later[2];

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, step_create(self->fd, &later[i], 1, 2));
		step_touch(&later[i], &self->bad.product.bo, flags[i]);
		step_touch(&later[i], &self->bad.product.bo, WRITE | NO_SYNC);
		ASSERT_EQ(0, step_submit(&later[i]));
	}
	EXPECT_TRUE(fails(self, variant));
	for (unsigned int i = 0; i < 2; i++)
		EXPECT_CANCELLED(&later[i]);
	EXPECT_RAN(self, 1);
}

/* Each waits for the one before it, the second through its object and the others explicitly. */
TEST_F(failure, cancellation_goes_on_to_those_behind)
{
	struct step later[3];

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	for (unsigned int i = 0; i < 3; i++) {
		struct step *before = i ? &later[i - 1] : &self->bad;

		ASSERT_EQ(0, step_create(self->fd, &later[i], 1, 2));
		if (i == 1)
			step_read(&later[i], before);
		else
			step_wait_for(&later[i], before->out.handle, 0);
		ASSERT_EQ(0, step_submit(&later[i]));
	}
	EXPECT_TRUE(fails(self, variant));
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_CANCELLED(&later[i]);
	EXPECT_RAN(self, 1);
}

TEST_F(failure, writer_behind_a_failed_writer_runs)
{
	struct step writer;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	ASSERT_EQ(0, step_create(self->fd, &writer, 1, 2));
	memset(writer.product.bo.data + writer.product.b, 2, STEP_BYTES);
	step_overwrite(&writer, &self->bad);
	ASSERT_EQ(0, step_submit(&writer));
	EXPECT_TRUE(still_waits(&writer));
	EXPECT_TRUE(fails(self, variant));
	EXPECT_EQ(0, step_status(&writer));
	EXPECT_EQ(0u, product_wrong(&self->bad.product, 2 * STEP_VALUE));
	/* With the one that proved the wait. */
	EXPECT_RAN(self, 3);
}

TEST_F(failure, writer_behind_a_failed_reader_runs)
{
	struct step source, writer;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, step_create(self->fd, &source, 1, 0));
	step_read(&self->bad, &source);
	ASSERT_EQ(0, shut(self, variant));
	ASSERT_EQ(0, step_create(self->fd, &writer, 1, 2));
	step_overwrite(&writer, &source);
	ASSERT_EQ(0, step_submit(&writer));
	EXPECT_TRUE(still_waits(&writer));
	EXPECT_TRUE(fails(self, variant));
	EXPECT_EQ(0, step_status(&writer));
	EXPECT_EQ(0u, product_wrong(&source.product, STEP_VALUE));
	/* With the one that proved the wait. */
	EXPECT_RAN(self, 3);
}

/* Two readers do not wait for each other at all. */
TEST_F(failure, reader_beside_a_failed_reader_runs)
{
	struct step source, reader;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, step_create(self->fd, &source, 1, 2));
	ASSERT_EQ(0, step_run(&source));
	step_read(&self->bad, &source);
	ASSERT_EQ(0, shut(self, variant));
	ASSERT_EQ(0, step_create(self->fd, &reader, 1, 2));
	step_read(&reader, &source);
	EXPECT_EQ(0, step_run(&reader));
	EXPECT_EQ(0u, product_wrong(&reader.product, step_follow(STEP_VALUE)));
	EXPECT_TRUE(fails(self, variant));
}

/* The bad job's C is what the programs before the last made of it. */
TEST_F(failure, object_of_a_failed_job_is_not_poisoned)
{
	struct step reader;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	EXPECT_TRUE(fails(self, variant));
	ASSERT_EQ(0, step_create(self->fd, &reader, 1, 2));
	step_read(&reader, &self->bad);
	EXPECT_EQ(0, step_run(&reader));
	EXPECT_EQ(0u, product_wrong(&reader.product, step_follow(STEP_VALUE)));
	EXPECT_RAN(self, 2);
}

TEST_F(failure, explicit_submit_is_not_cancelled_for_its_objects)
{
	struct step reader;

	NEED_GATE(self, variant);
	ASSERT_EQ(0, shut(self, variant));
	ASSERT_EQ(0, step_create(self->fd, &reader, 1, 2));
	step_touch(&reader, &self->bad.product.bo, NO_SYNC);
	reader.args.flags = DRM_ORK_SUBMIT_EXPLICIT;
	EXPECT_EQ(0, step_run(&reader));
	EXPECT_EQ(-EBUSY, step_look(&self->bad));
	EXPECT_EQ(0u, product_wrong(&reader.product, STEP_VALUE));
	EXPECT_TRUE(fails(self, variant));
	EXPECT_RAN(self, 2);
}

ORK_TEST_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT and WAIT: what is refused, what runs where and in which order, and what a job that goes
 * wrong costs the others.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "ork_test.h"
#include "board.h"
#include "driver.h"

#define READ		DRM_ORK_EXTENT_READ
#define WRITE		DRM_ORK_EXTENT_WRITE
#define NO_SYNC		DRM_ORK_EXTENT_NO_SYNC
#define CPU_CLEAN	DRM_ORK_EXTENT_CPU_CLEAN

#define ALL_CORES	BOARD_CORES

/*
 * With SLOW_US a program, SLOW_PROGRAMS make a job long enough for a loaded host to do something
 * meanwhile.
 */
#define SLOW_US		10000
#define SLOW_PROGRAMS	50

FIXTURE(submit) {
	int fd;
	struct drm_ork_device_info info;
	volatile uint32_t *board;
	struct product product; /* one program of 1x32x32 ones: every element of C becomes 32 */
	struct drm_ork_job job;
	struct drm_ork_sync in, out;
	struct drm_ork_submit args;
};

FIXTURE_SETUP(submit)
{
	struct drm_syncobj_create signalled = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };

	self->board = board_open();
	board_behave(self->board);
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	self->info = device_info(self->fd);
	ASSERT_EQ(0, product_create(self->fd, &self->product, 1, 32, 32, 1));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_SYNCOBJ_CREATE, &signalled));
	ASSERT_EQ(0, syncobj_create(self->fd, &self->out.handle));
	self->in.handle = signalled.handle;
	self->job = product_job(&self->product, 0);
	self->args.jobs = ARRAY(&self->job, 1);
	self->args.in_syncs = ARRAY(&self->in, 1);
	self->args.out_syncs = ARRAY(&self->out, 1);
}

FIXTURE_TEARDOWN(submit)
{
	board_behave(self->board);
	close(self->fd);
}

/* The submit, and its end. */
static int attempt(FIXTURE_DATA(submit) *self)
{
	int error = call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args);

	return error ? error : job_status(self->fd, self->out.handle);
}

static int wait_until(int fd, uint32_t syncobj, int64_t when)
{
	struct drm_ork_wait wait = { .syncobj = syncobj, .timeout_ns = when };

	return call(fd, DRM_IOCTL_ORK_WAIT, &wait);
}

/* A product whose programs take SLOW_US each, on the emulated board. */
static int slow_product(FIXTURE_DATA(submit) *self, struct product *p)
{
	board_write(self->board, ORK_BOARD_LATENCY_US, SLOW_US);
	return product_create(self->fd, p, 1, 32, 32, SLOW_PROGRAMS);
}

/* --- what is refused -------------------------------------------------------------------------- */

TEST_F(submit, submit_rejects_programs_out_of_range)
{
	EXPECT_REFUSED(EINVAL, self->product.task.programs, 0u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.programs, 4096u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.programs, 65535u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.programs, 65536u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.programs, ~0u, attempt(self));
}

TEST_F(submit, submit_rejects_words_out_of_range)
{
	EXPECT_REFUSED(EINVAL, self->product.task.words, 0u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.words, PROGRAM_WORDS - 1, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.words, 1u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.words, DRM_ORK_MAX_WORDS + 2, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.words, ~1u, attempt(self));
}

TEST_F(submit, submit_rejects_programs_off_sixteen_bytes)
{
	EXPECT_REFUSED(EINVAL, self->product.task.iova, self->product.bo.iova + 8, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.iova, self->product.bo.iova + 1, attempt(self));
}

TEST_F(submit, submit_rejects_programs_outside_the_extents)
{
	struct bo other;

	ASSERT_EQ(0, bo_create(self->fd, PAGE, &other));
	EXPECT_REFUSED(EINVAL, self->product.task.iova, 0u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.iova, other.iova, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.iova, self->product.bo.iova - 16, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.iova,
		       self->product.bo.iova + self->product.bo.size, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.iova, self->product.bo.iova + (1ull << 32),
		       attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.task.iova, ~15ull, attempt(self));
	/* In the object, but nothing of it is named there, and the program is not all named. */
	EXPECT_REFUSED(EINVAL, self->product.extents[0].offset, PAGE / 2, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.extents[0].length, PROGRAM_BYTES - 16, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.extents[0].length, 0u, attempt(self));
}

TEST_F(submit, submit_rejects_a_program_between_rows)
{
	self->product.extents[0].rows = 2;
	self->product.extents[0].length = PROGRAM_BYTES;
	self->product.extents[0].stride = PAGE / 2;
	self->product.task.iova = self->product.bo.iova + PAGE / 2;
	memcpy(self->product.bo.data + PAGE / 2, self->product.bo.data, PROGRAM_BYTES);
	EXPECT_REFUSED(EINVAL, self->product.extents[0].stride, PAGE / 2 + 64, attempt(self));
	EXPECT_REFUSED(EINVAL, self->product.extents[0].rows, 1u, attempt(self));
}

TEST_F(submit, submit_rejects_cores_that_are_not_there)
{
	EXPECT_REFUSED(EINVAL, self->job.core_mask, 1u << self->info.num_cores, attempt(self));
	EXPECT_REFUSED(EINVAL, self->job.core_mask, 1u << 31, attempt(self));
	EXPECT_REFUSED(EINVAL, self->job.core_mask, self->info.core_mask | 1u << 31, attempt(self));
	EXPECT_REFUSED(EINVAL, self->job.core_mask, ~0u, attempt(self));
}

TEST_F(submit, submit_rejects_timeout_beyond_the_limit)
{
	self->job.timeout_ms = DRM_ORK_MAX_TIMEOUT_MS;
	EXPECT_REFUSED(EINVAL, self->job.timeout_ms, DRM_ORK_MAX_TIMEOUT_MS + 1u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->job.timeout_ms, ~0u, attempt(self));
}

TEST_F(submit, submit_rejects_unknown_priority)
{
	EXPECT_REFUSED(EINVAL, self->args.priority, 3u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->args.priority, ~0u, attempt(self));
}

TEST_F(submit, submit_rejects_unknown_syncobjs)
{
	EXPECT_REFUSED(ENOENT, self->in.handle, 0xdeadbeefu, attempt(self));
	EXPECT_REFUSED(ENOENT, self->in.handle, 0u, attempt(self));
	EXPECT_REFUSED(ENOENT, self->out.handle, 0xdeadbeefu, attempt(self));
	EXPECT_REFUSED(ENOENT, self->out.handle, 0u, attempt(self));
	EXPECT_REFUSED(ENOENT, self->job.out_syncobj, 0xdeadbeefu, attempt(self));
}

TEST_F(submit, submit_rejects_waiting_for_what_was_never_submitted)
{
	uint32_t empty;

	ASSERT_EQ(0, syncobj_create(self->fd, &empty));
	EXPECT_REFUSED(EINVAL, self->in.handle, empty, attempt(self));
	EXPECT_REFUSED(EINVAL, self->in.point, 7u, attempt(self));
}

TEST_F(submit, submit_rejects_bad_extents)
{
	struct drm_ork_extent *read = &self->product.extents[1], *write = &self->product.extents[3];

	EXPECT_REFUSED(ENOENT, read->handle, 0u, attempt(self));
	EXPECT_REFUSED(ENOENT, read->handle, 0xdeadbeefu, attempt(self));
	EXPECT_REFUSED(EINVAL, read->offset, self->product.bo.size, attempt(self));
	EXPECT_REFUSED(EINVAL, read->length, self->product.bo.size, attempt(self));
	EXPECT_REFUSED(EOVERFLOW, read->offset, ~0ull, attempt(self));
	EXPECT_REFUSED(EOVERFLOW, read->length, ~0ull, attempt(self));
	EXPECT_REFUSED(EINVAL, write->offset, self->product.c + 16, attempt(self));
	EXPECT_REFUSED(EINVAL, write->length, 100u, attempt(self));
	EXPECT_REFUSED(EINVAL, write->length, 16u, attempt(self));
	write->rows = 2;
	write->length = 64;
	write->stride = 64;
	EXPECT_REFUSED(EINVAL, write->stride, 80u, attempt(self));
	EXPECT_REFUSED(EINVAL, write->stride, 63u, attempt(self));
	EXPECT_REFUSED(EINVAL, write->length, 48u, attempt(self));
}

TEST_F(submit, submit_rejects_flags_that_contradict)
{
	uint32_t *read = &self->product.extents[1].flags, *write = &self->product.extents[3].flags;

	EXPECT_REFUSED(EINVAL, *read, 0u, attempt(self));
	EXPECT_REFUSED(EINVAL, *read, (uint32_t)CPU_CLEAN, attempt(self));
	EXPECT_REFUSED(EINVAL, *read, (uint32_t)(CPU_CLEAN | READ), attempt(self));
	EXPECT_REFUSED(EINVAL, *write, (uint32_t)(CPU_CLEAN | WRITE | READ), attempt(self));
	EXPECT_REFUSED(EINVAL, *write, (uint32_t)(CPU_CLEAN | WRITE | NO_SYNC), attempt(self));
	EXPECT_REFUSED(EINVAL, *write, (uint32_t)(CPU_CLEAN | NO_SYNC), attempt(self));
	EXPECT_REFUSED(EOPNOTSUPP, *read, (uint32_t)DRM_ORK_EXTENT_TO_DEVICE, attempt(self));
	EXPECT_REFUSED(EOPNOTSUPP, *write, (uint32_t)(WRITE | DRM_ORK_EXTENT_FROM_DEVICE),
		       attempt(self));
}

TEST_F(submit, submit_takes_every_sensible_combination_of_flags)
{
	static const uint32_t reads[] = { READ, READ | WRITE, READ | NO_SYNC, NO_SYNC };
	static const uint32_t writes[] = { WRITE, READ | WRITE, WRITE | CPU_CLEAN,
					   WRITE | NO_SYNC };

	EXPECT_EQ(0, attempt(self));
	for (size_t i = 0; i < ARRAY_LENGTH(reads); i++) {
		/* In the middle of a page, as whole lines. */
		self->product.extents[1] = extent(&self->product.bo, reads[i], self->product.a, 64);
		EXPECT_EQ(0, attempt(self));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(writes); i++) {
		self->product.extents[3].flags = writes[i];
		EXPECT_EQ(0, attempt(self));
	}
}

/*
 * Whatever is wrong with the last job: the two before it do not run, and nobody's syncobj gets a
 * fence.
 */
TEST_F(submit, submit_that_fails_starts_nothing)
{
	struct product products[3];
	struct drm_ork_job jobs[3];
	struct drm_ork_counters before, after;
	uint32_t done, kicks = 0;

	ASSERT_EQ(0, syncobj_create(self->fd, &done));
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(0, product_create(self->fd, &products[i], 1, 32, 32, 1));
		jobs[i] = product_job(&products[i], 0);
	}
	jobs[0].out_syncobj = done;
	self->args.jobs = ARRAY(jobs, 3);
	before = file_counters(self->fd);
	if (self->board)
		kicks = board_sum(self->board, ORK_BOARD_CORE_KICKS);

	products[2].task.words = 0;
	EXPECT_EQ(-EINVAL, attempt(self));
	products[2].task.words = PROGRAM_WORDS;
	products[2].extents[3].handle = 0xdeadbeef;
	EXPECT_EQ(-ENOENT, attempt(self));
	products[2].extents[3].handle = products[2].bo.handle;
	jobs[2].out_syncobj = 0xdeadbeef;
	EXPECT_EQ(-ENOENT, attempt(self));
	jobs[2].out_syncobj = 0;
	jobs[2].flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, attempt(self));
	jobs[2].flags = 0;
	jobs[2].tasks.ptr = 1;
	EXPECT_EQ(-EFAULT, attempt(self));
	jobs[2].tasks.ptr = (uintptr_t)&products[2].task;
	self->in.handle = 0xdeadbeef;
	EXPECT_EQ(-ENOENT, attempt(self));
	self->args.in_syncs.count = 0;
	self->out.flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, attempt(self));
	self->out.flags = 0;

	after = file_counters(self->fd);
	EXPECT_EQ(before.submits, after.submits);
	EXPECT_EQ(before.jobs, after.jobs);
	EXPECT_EQ(-EINVAL, wait_until(self->fd, done, 0));
	EXPECT_EQ(-EINVAL, wait_until(self->fd, self->out.handle, 0));
	if (self->board)
		EXPECT_EQ(kicks, board_sum(self->board, ORK_BOARD_CORE_KICKS));
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_TRUE(product_untouched(&products[i]));

	EXPECT_EQ(0, attempt(self));
	EXPECT_EQ(before.submits + 1, file_counters(self->fd).submits);
	EXPECT_EQ(before.jobs + 3, file_counters(self->fd).jobs);
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(0u, product_wrong(&products[i], 32));
}

/* In children, so that an oops is seen to belong to one call. */
TEST_F(submit, malformed_submits_hurt_nobody)
{
	for (unsigned int i = 0; i < 5; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			static const int expected[] = { -EINVAL, -EFAULT, -EINVAL, -ENOENT,
							-ENOENT };

			if (i == 0)
				self->job.tasks.stride = sizeof(struct drm_ork_task) - 1;
			else if (i == 1)
				self->job.tasks.ptr = 1;
			else if (i == 2)
				self->product.task.words = 0;
			else
				self->product.extents[i == 3 ? 2 : 3].handle = 0xdeadbeef;
			_exit(attempt(self) != expected[i]);
		}
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(0, health_everywhere());
}

TEST_F_TIMEOUT(submit, thousand_rejected_submits_leave_the_allocator_whole, 60)
{
	struct drm_ork_task tasks[3] = { self->product.task, self->product.task,
					 self->product.task };

	for (unsigned int i = 0; i < 1000; i++) {
		self->job.tasks = ARRAY(tasks, 3);
		self->job.tasks.ptr = 1;
		ASSERT_EQ(-EFAULT, attempt(self));
		self->job.tasks = ARRAY(tasks, 3);
		tasks[1].words = 0;
		ASSERT_EQ(-EINVAL, attempt(self));
		tasks[1].words = PROGRAM_WORDS;
		self->job.tasks.stride = 8;
		ASSERT_EQ(-EINVAL, attempt(self));
	}
	self->job.tasks.stride = sizeof(tasks[0]);
	EXPECT_EQ(0, attempt(self));
}

/* --- what runs -------------------------------------------------------------------------------- */

TEST_F(submit, ones_make_512_on_each_core)
{
	EXPECT_EQ(0, health_everywhere());
}

TEST_F(submit, pinned_job_runs_on_its_core)
{
	for (uint32_t core = 0; core < self->info.num_cores; core++) {
		struct drm_ork_counters before[ORK_MAX_CORES];

		for (uint32_t i = 0; i < self->info.num_cores; i++)
			before[i] = core_counters(self->fd, i);
		self->job.core_mask = 1u << core;
		EXPECT_EQ(0, attempt(self));
		for (uint32_t i = 0; i < self->info.num_cores; i++)
			EXPECT_EQ(before[i].jobs + (i == core), core_counters(self->fd, i).jobs);
	}
}

TEST_F(submit, every_mask_of_cores_that_are_there_runs)
{
	for (uint32_t mask = 0; mask <= self->info.core_mask; mask++) {
		self->job.core_mask = mask;
		EXPECT_EQ(0, attempt(self));
		EXPECT_EQ(0u, product_wrong(&self->product, 32));
	}
}

/* One kick, one interrupt, however many programs. */
static int chain_of(FIXTURE_DATA(submit) *self, uint32_t programs,
		    struct drm_ork_counters *counted, uint32_t *kicks)
{
	struct drm_ork_counters before = core_counters(self->fd, 0);
	struct product p;
	int error = product_create(self->fd, &p, 1, 32, 32, programs);

	memset(counted, 0, sizeof(*counted));
	*kicks = 0;
	if (error)
		return error;
	*kicks = self->board ? board_sum(self->board, ORK_BOARD_CORE_KICKS) : 0;
	self->job = product_job(&p, 1);
	error = attempt(self);
	if (!error && product_wrong(&p, 32))
		error = -EBADMSG;
	*kicks = self->board ? board_sum(self->board, ORK_BOARD_CORE_KICKS) - *kicks : 1;
	*counted = core_counters(self->fd, 0);
	counted->programs -= before.programs;
	counted->interrupts -= before.interrupts;
	counted->jobs -= before.jobs;
	bo_close(self->fd, &p.bo);
	return error;
}

TEST_F_TIMEOUT(submit, chain_of_any_length_takes_one_interrupt, 120)
{
	static const uint32_t lengths[] = { 1, 2, 3, 100, DRM_ORK_MAX_PROGRAMS };

	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		struct drm_ork_counters counted;
		uint32_t kicks;

		EXPECT_EQ(0, chain_of(self, lengths[i], &counted, &kicks)) {
			TH_LOG("chain of %u", lengths[i]);
		}
		EXPECT_EQ(lengths[i], counted.programs);
		EXPECT_EQ(1u, counted.interrupts);
		EXPECT_EQ(1u, counted.jobs);
		EXPECT_EQ(1u, kicks);
	}
}

TEST_F(submit, tasks_of_a_job_take_one_interrupt_each)
{
	struct drm_ork_counters before = file_counters(self->fd), after;
	struct drm_ork_task tasks[3] = { self->product.task, self->product.task,
					 self->product.task };

	self->job.tasks = ARRAY(tasks, 3);
	EXPECT_EQ(0, attempt(self));
	after = file_counters(self->fd);
	EXPECT_EQ(1u, after.jobs - before.jobs);
	EXPECT_EQ(3u, after.interrupts - before.interrupts);
	EXPECT_EQ(3u, after.programs - before.programs);
	EXPECT_LT(before.busy_ns, after.busy_ns);
}

/*
 * Task 1 multiplies ones by what task 0 left: 32 int32 of 32 are 128 bytes, of which every fourth
 * is 32.
 */
TEST_F(submit, tasks_of_a_job_run_in_order)
{
	struct product first, second;
	struct drm_ork_task tasks[2];
	struct drm_ork_extent extents[8];

	ASSERT_EQ(0, product_create(self->fd, &first, 8, 32, 32, 1));
	ASSERT_EQ(0, product_create(self->fd, &second, 1, 32, 32, 1));
	second.gemm.b = first.gemm.c;
	product_emit(&second);
	second.extents[2] = extent(&first.bo, NO_SYNC, first.c, 1024);
	memcpy(extents, first.extents, sizeof(first.extents));
	memcpy(extents + 4, second.extents, sizeof(second.extents));
	tasks[0] = first.task;
	tasks[1] = second.task;
	self->job.tasks = ARRAY(tasks, 2);
	self->job.extents = ARRAY(extents, 8);
	EXPECT_EQ(0, attempt(self));
	EXPECT_EQ(0u, product_wrong(&second, 8 * 32));
}

/* Register commands that change nothing fill the program up to the limit. */
TEST_F_TIMEOUT(submit, longest_program_runs, 60)
{
	const uint32_t filler = DRM_ORK_MAX_WORDS - PROGRAM_WORDS;
	struct drm_ork_extent extents[4];
	struct bo code;
	uint64_t *words;

	ASSERT_EQ(0, bo_create(self->fd, DRM_ORK_MAX_WORDS * sizeof(*words), &code));
	words = (uint64_t *)code.data;
	for (uint32_t i = 0; i < filler; i++)
		words[i] = regcmd(ORK_DPU_BS_ALU_CFG, 0);
	gemm_program(words + filler, &self->product.gemm, 0);
	self->product.task.iova = code.iova;
	self->product.task.words = DRM_ORK_MAX_WORDS;
	memcpy(extents, self->product.extents, sizeof(extents));
	extents[0] = extent(&code, READ, 0, code.size);
	self->job.extents = ARRAY(extents, 4);
	EXPECT_EQ(0, attempt(self));
	EXPECT_EQ(0u, product_wrong(&self->product, 32));
}

TEST_F(submit, object_may_be_named_many_times)
{
	struct drm_ork_extent extents[6];

	for (unsigned int i = 0; i < 6; i++)
		extents[i] = self->product.extents[i % 4];
	extents[4].flags = WRITE;
	extents[4].length = round_up(extents[4].length, 64);
	extents[5] = extent(&self->product.bo, NO_SYNC, 0, self->product.bo.size);
	self->job.extents = ARRAY(extents, 6);
	EXPECT_EQ(0, attempt(self));
	EXPECT_EQ(0u, product_wrong(&self->product, 32));
	self->job.extents = ARRAY(self->product.extents, 4);
	EXPECT_EQ(0, attempt(self));
}

/* --- syncobjs and WAIT ------------------------------------------------------------------------ */

TEST_F(submit, wait_rejects_bad_arguments)
{
	struct drm_ork_wait wait = { .syncobj = self->out.handle, .timeout_ns = INT64_MAX };
	int fd = self->fd;

	EXPECT_EQ(-EINVAL, call(fd, DRM_IOCTL_ORK_WAIT, &wait));	/* no fence yet */
	ASSERT_EQ(0, attempt(self));
	EXPECT_REFUSED(ENOENT, wait.syncobj, 0u, call(fd, DRM_IOCTL_ORK_WAIT, &wait));
	EXPECT_REFUSED(ENOENT, wait.syncobj, 0xdeadbeefu, call(fd, DRM_IOCTL_ORK_WAIT, &wait));
	EXPECT_REFUSED(EOPNOTSUPP, wait.flags, 1u, call(fd, DRM_IOCTL_ORK_WAIT, &wait));
	EXPECT_REFUSED(EINVAL, wait.point, 9u, call(fd, DRM_IOCTL_ORK_WAIT, &wait));
}

TEST_F(submit, wait_for_what_is_done_returns_at_once)
{
	static const int64_t times[] = { INT64_MIN, -1, 0, 1, INT64_MAX };

	ASSERT_EQ(0, attempt(self));
	for (size_t i = 0; i < ARRAY_LENGTH(times); i++)
		EXPECT_EQ(0, wait_until(self->fd, self->out.handle, times[i]));
}

TEST_F(submit, wait_tells_busy_from_late_from_done)
{
	struct drm_ork_wait wait = { .syncobj = self->out.handle };
	int64_t start, elapsed;
	struct product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, slow_product(self, &p));
	self->job = product_job(&p, 0);
	start = now_ns();
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, wait.syncobj, 0));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, wait.syncobj, -1));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, wait.syncobj, INT64_MIN));
	EXPECT_EQ(-ETIME, wait_until(self->fd, wait.syncobj, 1));
	EXPECT_EQ(-ETIME, wait_until(self->fd, wait.syncobj, now_ns() + SECOND / 1000));
	wait.timeout_ns = INT64_MAX;
	wait.status = 7;
	wait.busy_ns = 7;
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
	elapsed = now_ns() - start;
	EXPECT_EQ(0, wait.status);
	EXPECT_LE(SLOW_US * 1000ull * SLOW_PROGRAMS, wait.busy_ns);
	EXPECT_GE((uint64_t)elapsed, wait.busy_ns);
}

TEST_F(submit, wait_counts_the_busy_time_of_all_jobs)
{
	struct product products[ALL_CORES];
	struct drm_ork_job jobs[ALL_CORES];
	struct drm_ork_wait wait = { .syncobj = self->out.handle, .timeout_ns = INT64_MAX };

	NEED_BOARD(self->board);
	for (unsigned int i = 0; i < ALL_CORES; i++) {
		ASSERT_EQ(0, slow_product(self, &products[i]));
		jobs[i] = product_job(&products[i], 0);
	}
	self->args.jobs = ARRAY(jobs, ALL_CORES);
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
	EXPECT_LE(ALL_CORES * SLOW_US * 1000ull * SLOW_PROGRAMS, wait.busy_ns);
}

/* The job has two tasks: it begins with the first and ends with the second. */
TEST_F(submit, wait_tells_which_core_ran_a_job_and_when)
{
	struct drm_ork_task tasks[] = { self->product.task, self->product.task };

	self->job.tasks = ARRAY(tasks, 2);
	for (uint32_t core = 0; core < self->info.num_cores; core++) {
		struct drm_ork_wait wait = { .syncobj = self->out.handle,
					     .timeout_ns = INT64_MAX }, again = wait;
		uint64_t before = now_ns();

		self->job.core_mask = 1u << core;
		ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
		ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
		EXPECT_GE((uint64_t)now_ns(), wait.end_ns);
		EXPECT_LE(before, wait.begin_ns);
		EXPECT_EQ(1u << core, wait.cores);
		EXPECT_LT(0u, wait.busy_ns);
		EXPECT_GE(wait.end_ns - wait.begin_ns, wait.busy_ns);
		/* It is the job that has times, not the one who waits. */
		ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &again));
		EXPECT_EQ(wait.begin_ns, again.begin_ns);
		EXPECT_EQ(wait.end_ns, again.end_ns);
	}
}

TEST_F(submit, wait_for_several_jobs_spans_them_all)
{
	struct drm_ork_wait whole = { .syncobj = self->out.handle, .timeout_ns = INT64_MAX };
	struct product products[ORK_MAX_CORES];
	struct drm_ork_wait parts[ORK_MAX_CORES];
	struct drm_ork_job jobs[ORK_MAX_CORES];
	uint64_t begin = UINT64_MAX, end = 0;
	uint32_t cores = self->info.num_cores;

	for (uint32_t i = 0; i < cores; i++) {
		ASSERT_EQ(0, product_create(self->fd, &products[i], 1, 32, 32, 1 + i));
		parts[i] = whole;
		ASSERT_EQ(0, syncobj_create(self->fd, &parts[i].syncobj));
		jobs[i] = product_job(&products[i], 1u << i);
		jobs[i].out_syncobj = parts[i].syncobj;
	}
	self->args.jobs = ARRAY(jobs, cores);
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &whole));
	for (uint32_t i = 0; i < cores; i++) {
		ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &parts[i]));
		begin = parts[i].begin_ns < begin ? parts[i].begin_ns : begin;
		end = parts[i].end_ns > end ? parts[i].end_ns : end;
	}
	EXPECT_EQ((1u << cores) - 1, whole.cores);
	EXPECT_EQ(begin, whole.begin_ns);
	EXPECT_EQ(end, whole.end_ns);
}

/* The second job needs what the first one does not give. */
TEST_F(submit, wait_tells_when_a_hung_job_was_taken_from_its_core_and_that_another_never_ran)
{
	struct drm_ork_wait hung = { .timeout_ns = INT64_MAX },
			    dropped = { .syncobj = self->out.handle, .timeout_ns = INT64_MAX };
	struct drm_ork_job job;
	struct product bad;

	ASSERT_EQ(0, hanging_product(self->fd, &bad));
	ASSERT_EQ(0, syncobj_create(self->fd, &hung.syncobj));
	job = product_job(&bad, 1);
	job.timeout_ms = 100;
	ASSERT_EQ(0, submit_jobs(self->fd, &job, 1, hung.syncobj));
	self->in.handle = hung.syncobj;
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &hung));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &dropped));
	EXPECT_EQ(-ETIMEDOUT, hung.status);
	EXPECT_EQ(1u, hung.cores);
	EXPECT_LE(100 * SECOND / 1000, (int64_t)(hung.end_ns - hung.begin_ns));
	EXPECT_EQ(-ECANCELED, dropped.status);
	EXPECT_EQ(0u, dropped.cores);
	EXPECT_EQ(0u, dropped.begin_ns);
	EXPECT_EQ(0u, dropped.end_ns);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	(void)signal;
	alarms++;
}

TEST_F(submit, wait_that_a_signal_interrupts_can_be_repeated)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval storm = { .it_interval = { 0, 2000 }, .it_value = { 0, 2000 } },
			 calm = { 0 };
	unsigned int interrupted = 0;
	struct product p;
	int error;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, slow_product(self, &p));
	self->job = product_job(&p, 0);
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &storm, NULL));
	do {
		error = wait_until(self->fd, self->out.handle, INT64_MAX);
	} while (error == -EINTR && ++interrupted < 100000);
	setitimer(ITIMER_REAL, &calm, NULL);
	EXPECT_EQ(0, error);
	EXPECT_LT(0u, interrupted);
	EXPECT_EQ(0, job_status(self->fd, self->out.handle));
	EXPECT_EQ(0u, product_wrong(&p, 32));
}

TEST_F(submit, points_of_a_timeline_carry_fences)
{
	struct drm_ork_wait wait = { .syncobj = self->out.handle,
				     .point = 5,
				     .timeout_ns = INT64_MAX };
	struct drm_ork_sync in = { .handle = self->out.handle, .point = 5 };

	self->out.point = 5;
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
	wait.point = 6;
	EXPECT_EQ(-EINVAL, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
	self->args.in_syncs = ARRAY(&in, 1);
	self->out.point = 6;
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
	EXPECT_EQ(0, wait.status);
}

TEST_F(submit, timeline_point_of_a_job_carries_its_fence)
{
	struct drm_ork_wait wait = { .point = 3, .timeout_ns = INT64_MAX };

	ASSERT_EQ(0, syncobj_create(self->fd, &wait.syncobj));
	self->job.out_syncobj = wait.syncobj;
	self->job.out_point = 3;
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
}

TEST_F(submit, stock_syncobj_ioctls_wait_for_jobs_too)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&self->out.handle,
		.count_handles = 1,
		.timeout_nsec = INT64_MAX,
	};

	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait));
	EXPECT_EQ(0u, product_wrong(&self->product, 32));
}

TEST_F(submit, each_job_of_a_submit_has_its_own_fence)
{
	struct product slow;
	struct drm_ork_job jobs[2];
	uint32_t slow_done, fast_done;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, slow_product(self, &slow));
	ASSERT_EQ(0, syncobj_create(self->fd, &slow_done));
	ASSERT_EQ(0, syncobj_create(self->fd, &fast_done));
	jobs[0] = product_job(&slow, 1);
	jobs[0].out_syncobj = slow_done;
	jobs[1] = product_job(&self->product, 2);
	jobs[1].out_syncobj = fast_done;
	self->args.jobs = ARRAY(jobs, 2);
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	EXPECT_EQ(0, job_status(self->fd, fast_done));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, slow_done, 0));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, self->out.handle, 0));
	EXPECT_EQ(0, job_status(self->fd, self->out.handle));
	EXPECT_EQ(0, wait_until(self->fd, slow_done, 0));
}

/* --- order ------------------------------------------------------------------------------------ */

/* A second submit of the file, on another core, with its own syncobj. */
static int submit_on(FIXTURE_DATA(submit) *self, struct product *p, uint32_t core_mask,
		     uint32_t flags, uint32_t *done)
{
	struct drm_ork_job job = product_job(p, core_mask);
	struct drm_ork_sync out = { 0 };
	struct drm_ork_submit args = { .flags = flags,
				       .jobs = ARRAY(&job, 1),
				       .out_syncs = ARRAY(&out, 1) };
	int error = syncobj_create(self->fd, &out.handle);

	*done = out.handle;
	return error ? error : call(self->fd, DRM_IOCTL_ORK_SUBMIT, &args);
}

TEST_F(submit, reader_waits_for_an_earlier_writer)
{
	struct product writer, reader;
	uint32_t written, read;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, slow_product(self, &writer));
	ASSERT_EQ(0, product_create(self->fd, &reader, 1, 32, 32, 1));
	/* 32 int32 of 32 in each of 8 rows: bytes 32, 0, 0, 0. */
	writer.gemm.m = 8;
	product_emit(&writer);
	writer.extents[3].length = 1024;
	writer.extents[1].length = 8 * 32;
	memset(writer.bo.data + writer.a, 1, 8 * 32);
	reader.gemm.b = writer.gemm.c;
	product_emit(&reader);
	reader.extents[2] = extent(&writer.bo, NO_SYNC, writer.c, 1024);
	ASSERT_EQ(0, submit_on(self, &writer, 1, 0, &written));
	ASSERT_EQ(0, submit_on(self, &reader, 2, 0, &read));
	EXPECT_EQ(0, job_status(self->fd, read));
	EXPECT_EQ(0, wait_until(self->fd, written, 0));
	EXPECT_EQ(0u, product_wrong(&reader, 8 * 32));
}

TEST_F(submit, writer_waits_for_an_earlier_reader)
{
	struct product reader, writer;
	uint32_t read, written;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, slow_product(self, &reader));
	ASSERT_EQ(0, product_create(self->fd, &writer, 8, 32, 32, 1));
	/* The writer's result goes over the reader's B. */
	writer.gemm.c = reader.gemm.b;
	product_emit(&writer);
	writer.extents[3] = extent(&reader.bo, WRITE | CPU_CLEAN, reader.b, 1024);
	ASSERT_EQ(0, submit_on(self, &reader, 1, 0, &read));
	ASSERT_EQ(0, submit_on(self, &writer, 2, 0, &written));
	EXPECT_EQ(0, job_status(self->fd, written));
	EXPECT_EQ(0, wait_until(self->fd, read, 0));
	EXPECT_EQ(0u, product_wrong(&reader, 32));
}

TEST_F(submit, explicit_submit_does_not_wait)
{
	struct product slow;
	struct drm_ork_extent *touched;
	uint32_t slow_done, done;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, slow_product(self, &slow));
	ASSERT_EQ(0, submit_on(self, &slow, 1, 0, &slow_done));
	touched = &self->product.extents[2];
	*touched = extent(&slow.bo, NO_SYNC, slow.c, 64);
	ASSERT_EQ(0, submit_on(self, &self->product, 2, DRM_ORK_SUBMIT_EXPLICIT, &done));
	EXPECT_EQ(0, job_status(self->fd, done));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, slow_done, 0));
	EXPECT_EQ(0, job_status(self->fd, slow_done));
}

TEST_F(submit, in_syncobj_is_waited_for)
{
	struct product slow;
	uint32_t slow_done;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, slow_product(self, &slow));
	ASSERT_EQ(0, submit_on(self, &slow, 1, 0, &slow_done));
	self->in.handle = slow_done;
	self->job.core_mask = 2;
	self->args.flags = DRM_ORK_SUBMIT_EXPLICIT;
	EXPECT_EQ(0, attempt(self));
	EXPECT_EQ(0, wait_until(self->fd, slow_done, 0));
	EXPECT_EQ(0u, product_wrong(&slow, 32));
}

/* --- three cores ------------------------------------------------------------------------------ */

/* Nanoseconds of a submit of three slow jobs, each with @mask. */
static int64_t time_of_three(FIXTURE_DATA(submit) *self, uint32_t mask)
{
	struct product products[ALL_CORES];
	struct drm_ork_job jobs[ALL_CORES];
	int64_t start;
	int error = 0;

	for (unsigned int i = 0; i < ALL_CORES && !error; i++) {
		error = slow_product(self, &products[i]);
		jobs[i] = product_job(&products[i], mask);
	}
	if (error)
		return error;
	self->args.jobs = ARRAY(jobs, ALL_CORES);
	start = now_ns();
	error = attempt(self);
	start = now_ns() - start;
	for (unsigned int i = 0; i < ALL_CORES; i++) {
		if (product_wrong(&products[i], 32))
			error = -EBADMSG;
		bo_close(self->fd, &products[i].bo);
	}
	return error ? error : start;
}

TEST_F(submit, three_jobs_run_at_once_on_three_cores)
{
	struct drm_ork_counters before[ALL_CORES];
	int64_t together, in_turn;

	NEED_BOARD(self->board);
	if (self->info.num_cores < ALL_CORES)
		SKIP(return, "needs three cores");
	for (uint32_t i = 0; i < ALL_CORES; i++)
		before[i] = core_counters(self->fd, i);
	together = time_of_three(self, 0);
	ASSERT_LT(0, together);
	for (uint32_t i = 0; i < ALL_CORES; i++)
		EXPECT_EQ(1u, core_counters(self->fd, i).jobs - before[i].jobs);
	in_turn = time_of_three(self, 1);
	ASSERT_LT(0, in_turn);
	EXPECT_LT(2 * together, in_turn);
}

TEST_F(submit, pinned_jobs_block_their_core_only)
{
	struct product slow[2];
	struct drm_ork_job jobs[2];
	uint32_t done[2];

	NEED_BOARD(self->board);
	for (unsigned int i = 0; i < 2; i++) {
		ASSERT_EQ(0, slow_product(self, &slow[i]));
		ASSERT_EQ(0, syncobj_create(self->fd, &done[i]));
		jobs[i] = product_job(&slow[i], 1);
		jobs[i].out_syncobj = done[i];
	}
	ASSERT_EQ(0, submit_jobs(self->fd, jobs, 2, 0));
	EXPECT_EQ(0, attempt(self));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, done[0], 0));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, done[1], 0));
	EXPECT_EQ(0, job_status(self->fd, done[0]));
	EXPECT_EQ(0, job_status(self->fd, done[1]));
}

/* --- hangs, faults, lost interrupts ----------------------------------------------------------- */

static uint64_t resets(int fd, uint32_t num_cores)
{
	uint64_t sum = 0;

	for (uint32_t core = 0; core < num_cores; core++)
		sum += core_counters(fd, core).resets;
	return sum;
}

TEST_F_TIMEOUT(submit, chain_that_hangs_costs_that_job_only, 60)
{
	for (uint32_t bad = 0; bad < self->info.num_cores; bad++) {
		struct product products[ORK_MAX_CORES];
		struct drm_ork_job jobs[ORK_MAX_CORES];
		uint32_t done[ORK_MAX_CORES];
		uint64_t before = resets(self->fd, self->info.num_cores);

		if (self->board)
			board_write(self->board, ORK_BOARD_LATENCY_US, SLOW_US);
		for (uint32_t i = 0; i < self->info.num_cores; i++) {
			ASSERT_EQ(0,
				  product_create(self->fd, &products[i], 1, 32, 32, SLOW_PROGRAMS));
			ASSERT_EQ(0, syncobj_create(self->fd, &done[i]));
			jobs[i] = product_job(&products[i], 1u << i);
			jobs[i].out_syncobj = done[i];
		}
		product_cut(&products[bad], 0);
		self->args.jobs = ARRAY(jobs, self->info.num_cores);
		EXPECT_EQ(-ETIMEDOUT, attempt(self));
		for (uint32_t i = 0; i < self->info.num_cores; i++) {
			EXPECT_EQ(i == bad ? -ETIMEDOUT : 0, job_status(self->fd, done[i]));
			if (i != bad)
				EXPECT_EQ(0u, product_wrong(&products[i], 32));
		}
		EXPECT_EQ(1u, resets(self->fd, self->info.num_cores) - before);
		EXPECT_EQ(1u, file_counters(self->fd).resets - bad);
		board_behave(self->board);
		EXPECT_EQ(0, health_everywhere());
	}
}

TEST_F_TIMEOUT(submit, core_is_whole_after_twenty_hangs, 60)
{
	struct product good;
	struct drm_ork_job job;

	ASSERT_EQ(0, product_create(self->fd, &good, 4, 64, 64, 2));
	for (unsigned int i = 0; i < 20; i++) {
		struct product bad;
		uint32_t core = i % self->info.num_cores;
		int fd = device_open();	/* one file would be banned */

		ASSERT_EQ(0, hanging_product(fd, &bad));
		job = product_job(&bad, 1u << core);
		job.timeout_ms = 20;
		EXPECT_EQ(-ETIMEDOUT, run_job(fd, &job));
		close(fd);
		/* With an object from before, and from another file with objects of its own. */
		memset(good.bo.data + good.c, UNTOUCHED, product_c_bytes(&good));
		job = product_job(&good, 1u << core);
		EXPECT_EQ(0, run_job(self->fd, &job));
		EXPECT_EQ(0u, product_wrong(&good, 64));
		EXPECT_EQ(0, health_everywhere());
	}
}

TEST_F(submit, hang_is_found_when_its_own_timeout_is_over)
{
	struct product bad;
	int64_t start, elapsed;

	ASSERT_EQ(0, hanging_product(self->fd, &bad));
	/*
	 * A patient job before it on the same core, whose long timeout says nothing about the next.
	 */
	self->job.core_mask = 1;
	self->job.timeout_ms = DRM_ORK_MAX_TIMEOUT_MS;
	ASSERT_EQ(0, attempt(self));
	self->job = product_job(&bad, 1);
	self->job.timeout_ms = 200;
	start = now_ns();
	EXPECT_EQ(-ETIMEDOUT, attempt(self));
	elapsed = now_ns() - start;
	EXPECT_LE(200 * SECOND / 1000, elapsed);
	EXPECT_GT(DRM_ORK_MAX_TIMEOUT_MS / 2 * (SECOND / 1000), elapsed);
}

TEST_F(submit, chain_that_makes_progress_outlives_its_timeout)
{
	struct product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, product_create(self->fd, &p, 1, 32, 32, 30));
	board_write(self->board, ORK_BOARD_LATENCY_US, 50000);
	self->job = product_job(&p, 0);
	self->job.timeout_ms = 500;
	EXPECT_EQ(0, attempt(self));
	EXPECT_EQ(0u, product_wrong(&p, 32));
}

TEST_F(submit, program_slower_than_the_timeout_is_taken_for_hung)
{
	NEED_BOARD(self->board);
	board_write(self->board, ORK_BOARD_LATENCY_US, 1000000);
	self->job.timeout_ms = 100;
	EXPECT_EQ(-ETIMEDOUT, attempt(self));
	board_write(self->board, ORK_BOARD_LATENCY_US, 0);
	EXPECT_EQ(0, health_everywhere());
}

TEST_F(submit, error_of_one_job_is_the_error_of_the_submit)
{
	struct product bad;
	struct drm_ork_job jobs[3];
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&self->out.handle,
		.count_handles = 1,
		.timeout_nsec = INT64_MAX,
	};

	ASSERT_EQ(0, hanging_product(self->fd, &bad));
	jobs[0] = self->job;
	jobs[1] = product_job(&bad, 0);
	jobs[2] = self->job;
	self->args.jobs = ARRAY(jobs, 3);
	EXPECT_EQ(-ETIMEDOUT, attempt(self));
	/* A stock wait sees the end only, which is what WAIT is for. */
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait));
}

/* The status of a job that writes to @c. */
static int write_to(FIXTURE_DATA(submit) *self, uint64_t c)
{
	self->product.gemm.c = c;
	product_emit(&self->product);
	return attempt(self);
}

/* How soon is for ork_hang. */
TEST_F(submit, fault_fails_the_job_wherever_it_is)
{
	uint64_t end = self->product.bo.iova + self->product.bo.size;

	EXPECT_EQ(-EFAULT, write_to(self, 0));		/* page 0 */
	EXPECT_EQ(-EFAULT, write_to(self, end));	/* the guard page */
	EXPECT_EQ(-EFAULT, write_to(self, end - 64));	/* over the object's end */
	EXPECT_EQ(-EFAULT, write_to(self, 0xfffff000));
	EXPECT_EQ(0, health_everywhere());
}

TEST_F(submit, fault_on_one_core_leaves_the_others_alone)
{
	struct product slow;
	uint32_t slow_done;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, slow_product(self, &slow));
	ASSERT_EQ(0, submit_on(self, &slow, 1, 0, &slow_done));
	self->job.core_mask = 2;
	EXPECT_EQ(-EFAULT, write_to(self, 0));
	EXPECT_EQ(0, job_status(self->fd, slow_done));
	EXPECT_EQ(0u, product_wrong(&slow, 32));
	EXPECT_EQ(0, health_everywhere());
}

TEST_F(submit, lost_interrupt_is_no_hang)
{
	NEED_BOARD(self->board);
	for (uint32_t core = 0; core < ALL_CORES; core++) {
		uint64_t before = resets(self->fd, self->info.num_cores);

		board_write(self->board, ORK_BOARD_CORE(core, ORK_BOARD_CORE_DROP), 1);
		self->job.core_mask = 1u << core;
		self->job.timeout_ms = 100;
		EXPECT_EQ(0, attempt(self));
		EXPECT_EQ(0u, product_wrong(&self->product, 32));
		EXPECT_EQ(0u, board_read(self->board, ORK_BOARD_CORE(core, ORK_BOARD_CORE_DROP)));
		EXPECT_EQ(before, resets(self->fd, self->info.num_cores));
		EXPECT_EQ(0, attempt(self));
	}
}

TEST_F(submit, start_that_is_ignored_costs_that_job_only)
{
	struct product products[ALL_CORES];
	struct drm_ork_job jobs[ALL_CORES];
	uint32_t done[ALL_CORES];

	NEED_BOARD(self->board);
	if (self->info.num_cores < ALL_CORES)
		SKIP(return, "needs three cores");
	board_write(self->board, ORK_BOARD_CORE(1, ORK_BOARD_CORE_IGNORE), 1);
	for (unsigned int i = 0; i < ALL_CORES; i++) {
		ASSERT_EQ(0, product_create(self->fd, &products[i], 1, 32, 32, 4));
		ASSERT_EQ(0, syncobj_create(self->fd, &done[i]));
		jobs[i] = product_job(&products[i], 1u << i);
		jobs[i].timeout_ms = 2000;
		jobs[i].out_syncobj = done[i];
	}
	ASSERT_EQ(0, submit_jobs(self->fd, jobs, ALL_CORES, self->out.handle));
	EXPECT_EQ(0, job_status(self->fd, done[0]));
	EXPECT_EQ(0, job_status(self->fd, done[2]));
	EXPECT_EQ(-EBUSY, wait_until(self->fd, done[1], 0));
	EXPECT_EQ(-ETIMEDOUT, job_status(self->fd, done[1]));
	EXPECT_TRUE(product_untouched(&products[1]));
	EXPECT_EQ(0u, product_wrong(&products[0], 32));
	EXPECT_EQ(0u, product_wrong(&products[2], 32));
	EXPECT_EQ(0, health_everywhere());
}

/* --- clients that go -------------------------------------------------------------------------- */

/* A syncobj of one file in another. */
static int share_syncobj(int from, uint32_t handle, int to, uint32_t *shared)
{
	struct drm_syncobj_handle out = { .handle = handle, .fd = -1 };
	int error = call(from, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &out);
	struct drm_syncobj_handle in = { .fd = out.fd };

	if (error)
		return error;
	error = call(to, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &in);
	close(out.fd);
	*shared = in.handle;
	return error;
}

#define CLIENT_JOBS	8

/*
 * Slow jobs on one core from a file of its own: the first runs, the others wait. Their last fence,
 * in our file.
 */
static int busy_client(FIXTURE_DATA(submit) *self, uint32_t *last)
{
	int fd = device_open(), error = fd < 0 ? fd : 0;
	struct product p;
	uint32_t done;

	for (unsigned int i = 0; i < CLIENT_JOBS && !error; i++) {
		struct drm_ork_job job;

		error = product_create(fd, &p, 1, 32, 32, SLOW_PROGRAMS);
		if (!error)
			error = syncobj_create(fd, &done);
		job = product_job(&p, 1);
		if (!error)
			error = submit_jobs(fd, &job, 1, done);
		/* A mapping would keep the file open. */
		munmap(p.bo.data, p.bo.size);
	}
	if (!error)
		error = share_syncobj(fd, done, self->fd, last);
	return error ? error : fd;
}

TEST_F(submit, close_with_jobs_in_flight_cancels_what_waits)
{
	uint32_t last;
	int fd;

	NEED_BOARD(self->board);
	board_write(self->board, ORK_BOARD_LATENCY_US, SLOW_US);
	fd = busy_client(self, &last);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBUSY, wait_until(self->fd, last, 0));
	close(fd);
	EXPECT_EQ(-ECANCELED, job_status(self->fd, last));
	board_behave(self->board);
	EXPECT_EQ(0, health_everywhere());
}

/* case 61 */
TEST_F(submit, job_that_waits_for_a_closed_client_is_cancelled)
{
	uint32_t last;
	int fd;

	NEED_BOARD(self->board);
	board_write(self->board, ORK_BOARD_LATENCY_US, SLOW_US);
	fd = busy_client(self, &last);
	ASSERT_LE(0, fd);
	self->in.handle = last;
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->args));
	close(fd);
	EXPECT_EQ(-ECANCELED, job_status(self->fd, self->out.handle));
	EXPECT_EQ(UNTOUCHED, self->product.bo.data[self->product.c]);
}

/* In the child: reports readiness through @ready, then waits to be killed. */
static void client_to_kill(unsigned int jobs, bool hang, int ready)
{
	int fd = device_open();

	for (unsigned int i = 0; i < jobs; i++) {
		struct product p;
		struct drm_ork_job job;

		if (hang ? hanging_product(fd, &p) : product_create(fd, &p, 1, 32, 32, 5))
			_exit(1);
		job = product_job(&p, 0);
		if (submit_jobs(fd, &job, 1, 0))
			_exit(1);
	}
	if (write(ready, "", 1) == 1)
		pause();
	_exit(1);
}

static int64_t kill_client(unsigned int jobs, bool hang)
{
	int64_t start;
	pid_t child;
	int ready[2], status;
	char byte;

	if (pipe(ready))
		return -errno;
	child = fork();
	if (!child)
		client_to_kill(jobs, hang, ready[1]);
	close(ready[1]);
	status = read(ready[0], &byte, 1) == 1 ? 0 : -EPIPE;
	close(ready[0]);
	start = now_ns();
	kill(child, SIGKILL);
	if (waitpid(child, NULL, 0) != child)
		status = -ECHILD;
	return status ? status : now_ns() - start;
}

TEST_F_TIMEOUT(submit, killed_clients_leave_the_device_to_others, 120)
{
	static const unsigned int jobs[] = { 1, 3, 10, 100 };

	if (self->board)
		board_write(self->board, ORK_BOARD_LATENCY_US, 1000);
	for (unsigned int i = 0; i < 20; i++) {
		ASSERT_LE(0, kill_client(jobs[i % ARRAY_LENGTH(jobs)], false));
		EXPECT_EQ(0, health(self->fd, 1u << i % self->info.num_cores));
	}
	EXPECT_EQ(0, health_everywhere());
}

/*
 * Jobs on the cores are waited for. Those behind them are not: that would be one timeout after
 * the other, for the file is not banned here.
 */
TEST_F(submit, killed_client_with_hung_jobs_is_gone_soon)
{
	const unsigned int jobs_per_core = 40;
	int64_t timeout = self->info.timeout_ms * (SECOND / 1000), elapsed;

	if (write_text(HANG_LIMIT, "0"))
		SKIP(return, "needs the right to set the module's hang_limit");
	elapsed = kill_client(jobs_per_core * self->info.num_cores, true);
	EXPECT_EQ(0, write_text(HANG_LIMIT, "10"));
	ASSERT_LE(0, elapsed);
	EXPECT_GT(jobs_per_core / 2 * timeout, elapsed);
	EXPECT_EQ(0, health_everywhere());
}

/* --- many clients ----------------------------------------------------------------------------- */

#define CLIENTS		8
#define ROUNDS		30

static int client(uint32_t number)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		int fd = device_open();
		struct product p;
		struct drm_ork_job job;

		if (fd < 0 || product_create(fd, &p, number + 1, 32 * (number + 1), 32, 2))
			return 1;
		memset(p.bo.data + p.b, (int)round, p.gemm.k * p.gemm.n);
		job = product_job(&p, 0);
		if (run_job(fd, &job) || product_wrong(&p, round * p.gemm.k))
			return 1;
		close(fd);
	}
	return 0;
}

TEST_F_TIMEOUT(submit, many_clients_get_their_own_results, 120)
{
	pid_t children[CLIENTS];

	for (uint32_t i = 0; i < CLIENTS; i++) {
		children[i] = fork();
		if (!children[i])
			_exit(client(i));
	}
	for (uint32_t i = 0; i < CLIENTS; i++) {
		int status;

		ASSERT_EQ(children[i], waitpid(children[i], &status, 0));
		EXPECT_EQ(0, status);
	}
}

/* Ends that arrive while a core is reset are nobody's hang. */
TEST_F_TIMEOUT(submit, hangs_of_one_client_do_not_fail_anothers_jobs, 120)
{
	pid_t child = fork();
	int status;

	if (!child) {
		for (unsigned int i = 0; i < 20; i++) {
			struct product bad;
			struct drm_ork_job job;
			int fd = device_open();	/* one file would be banned */

			if (hanging_product(fd, &bad))
				_exit(1);
			job = product_job(&bad, 0);
			job.timeout_ms = 30;
			if (run_job(fd, &job) != -ETIMEDOUT)
				_exit(1);
			close(fd);
		}
		_exit(0);
	}
	EXPECT_EQ(0, client(2));
	EXPECT_EQ(0, client(3));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, health_everywhere());
}

ORK_TEST_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface of mainline's rocket, on whichever driver is behind the node of that name: that one
 * itself, or ork. Programs that were written for the one must run on the other.
 *
 * Where mainline's driver is wrong its wrong answer is expected of it, so that this list of
 * differences is right; what would hurt its kernel it is spared. The page rocket.rst has the list.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include "rocket_test.h"
#include "../ork/dma_buf.h"
#include "../ork/driver.h"
#include "../ork/jobs.h"

FIXTURE(rocket) {
	int fd;
	bool mainline;
	volatile uint32_t *board;
	struct nodes nodes;	/* none of mainline's driver */
};

/* What ork answers; or mainline's driver, where that is wrong or may do as it likes. */
#define RIGHT(right, mainlines)	(self->mainline ? (mainlines) : (right))

/* To be used before anything is expected: SKIP() forgets what failed. */
#define SPARED(what) do {						\
	if (self->mainline)						\
		SKIP(return, "mainline: " what);			\
} while (0)

/* --- small products: ones times ones ---------------------------------------------------------- */

#define ONES_K		32
#define ONES_N		32

static int ones_create_rows(int fd, struct rocket_product *p, uint32_t rows, uint32_t tasks)
{
	int error = rocket_product_create(fd, p, rows, ONES_K, ONES_N, tasks);

	if (error)
		return error;
	memset(p->a.data, 1, p->a.size);
	memset(p->b.data, 1, p->b.size);
	memset(p->c.data, UNTOUCHED, p->c.size);
	error = rocket_fini(fd, &p->a);
	if (!error)
		error = rocket_fini(fd, &p->b);
	return error ? error : rocket_fini(fd, &p->c);
}

/* A row of ones times ones in each task, so that every element of C comes out as ONES_K. */
static int ones_create(int fd, struct rocket_product *p, uint32_t tasks)
{
	return ones_create_rows(fd, p, 1, tasks);
}

/* Elements of one task's part of C that are not @value. */
static uint32_t task_wrong(const struct rocket_product *p, uint32_t task, int32_t value)
{
	const int32_t *c = (const int32_t *)p->c.data + task * ONES_N;
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < ONES_N; i++)
		wrong += c[i] != value;
	return wrong;
}

static uint32_t ones_wrong(const struct rocket_product *p)
{
	uint32_t wrong = 0;

	for (uint32_t task = 0; task < p->panels; task++)
		wrong += task_wrong(p, task, ONES_K);
	return wrong;
}

/* Waits, and looks: 0, an errno, or -EBADMSG for a wrong result. */
static int ones_end(int fd, const struct rocket_product *p)
{
	int error = rocket_prep(fd, &p->c);

	return error ? error : ones_wrong(p) ? -EBADMSG : 0;
}

/* C untouched once more, and the NPU's. */
static int ones_again(int fd, struct rocket_product *p)
{
	int error = rocket_prep(fd, &p->c);

	memset(p->c.data, UNTOUCHED, p->c.size);
	return error ? error : rocket_fini(fd, &p->c);
}

static int ones_run(int fd, struct rocket_product *p)
{
	int error = ones_again(fd, p);

	if (!error)
		error = rocket_product_start(fd, p);
	return error ? error : ones_end(fd, p);
}

static int health_of(int fd)
{
	struct rocket_product p;
	int error = ones_create(fd, &p, 1);

	if (error)
		return error;
	error = ones_run(fd, &p);
	rocket_product_close(fd, &p);
	return error;
}

static bool is_mainline(void)
{
	return access("/sys/module/ork", F_OK);
}

/* Mainline's driver first has to let go of what the file had. */
static void file_close(int fd)
{
	if (is_mainline())
		usleep(ROCKET_LET_GO_US);
	close(fd);
}

/* From a file of its own, as a stranger would. */
static int strangers_health(void)
{
	int fd = rocket_open(), error = fd < 0 ? fd : 0;

	for (uint32_t i = 0; i < 3 && !error; i++)
		error = health_of(fd);
	if (fd >= 0)
		file_close(fd);
	return error;
}

static uint64_t *task_program(const struct rocket_product *p, uint32_t task)
{
	return (uint64_t *)(p->program.data + task * PROGRAM_BYTES);
}

/* As vendors' programs have it: each tells where the next one is, and how long. */
static void link_tasks(struct rocket_product *p)
{
	for (uint32_t i = 0; i + 1 < p->panels; i++) {
		uint64_t *tail = task_program(p, i) + PROGRAM_TAIL;

		tail[0] = regcmd(ORK_PC_BASE_ADDRESS, p->tasks[i + 1].regcmd);
		tail[1] = regcmd(ORK_PC_REGISTER_AMOUNTS, ORK_PC_AMOUNT(PROGRAM_WORDS));
	}
}

/* The last task never ends, for it has no bank for its weights; or it writes where nothing is. */
static int spoil(int fd, struct rocket_product *p, enum failure how)
{
	uint64_t *words = task_program(p, p->panels - 1);

	if (how == HANG)
		words[0] = regcmd(ORK_CNA_CBUF_CON0, ORK_PREP(ORK_CNA_CBUF_CON0_DATA_BANK, 1));
	else
		words[PROGRAM_C_WORD] = regcmd(ORK_DPU_DST_BASE_ADDR, 0);
	return rocket_fini(fd, &p->program);
}

/* What the NPU sees of 1 KiB: an identity matrix times that. */
#define SEEN_BYTES	1024

static int npu_sees(int fd, const struct bo *bo, uint64_t offset, uint8_t *seen)
{
	struct rocket_product p;
	const int32_t *c;
	int error = rocket_product_create(fd, &p, 32, 32, 32, 1);

	if (error)
		return error;
	p.gemm.b = bo->iova + offset;
	rocket_product_emit(&p);
	p.reads[2] = bo->handle;
	for (uint32_t i = 0; i < 32 * 32; i++)
		p.a.data[i] = i / 32 == i % 32;
	error = rocket_fini(fd, &p.program);
	if (!error)
		error = rocket_fini(fd, &p.a);
	if (!error)
		error = rocket_product_start(fd, &p);
	if (!error)
		error = rocket_prep(fd, &p.c);
	c = (const int32_t *)p.c.data;
	for (uint32_t i = 0; i < SEEN_BYTES && !error; i++)
		seen[i] = (uint8_t)c[i % 32 * 32 + i / 32];
	rocket_product_close(fd, &p);
	return error;
}

/* --- jobs that last until they are let go ----------------------------------------------------- */

/*
 * Under ork a job of so many tasks, each of which takes long but not as long as a hang. Mainline's
 * driver takes half a second for a hang whatever the job does: it gets one task that lasts longer
 * than a test needs on the board's own time.
 */
#define HELD_TASKS	400
#define HELD_US		100000
#define MAINLINE_HELD_US	300000

static int held_create_rows(const FIXTURE_DATA(rocket) *self, int fd, struct rocket_product *p,
			    uint32_t rows)
{
	int error = ones_create_rows(fd, p, rows, RIGHT(HELD_TASKS, 1));

	if (error)
		return error;
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		board_core_write(self->board, core, ORK_BOARD_CORE_STRETCH_US,
				 RIGHT(HELD_US, MAINLINE_HELD_US));
	link_tasks(p);
	return rocket_fini(fd, &p->program);
}

static int held_create(const FIXTURE_DATA(rocket) *self, int fd, struct rocket_product *p)
{
	return held_create_rows(self, fd, p, 1);
}

/* Returns when it runs. */
static int held_start(const FIXTURE_DATA(rocket) *self, int fd, struct rocket_product *p)
{
	uint32_t kicks = board_sum(self->board, ORK_BOARD_CORE_KICKS);
	int error = rocket_product_start(fd, p);

	if (error)
		return error;
	return SOON(board_sum(self->board, ORK_BOARD_CORE_KICKS) > kicks) ? 0 : -ETIME;
}

static int held(const FIXTURE_DATA(rocket) *self, int fd, struct rocket_product *p)
{
	int error = held_create(self, fd, p);

	return error ? error : held_start(self, fd, p);
}

/* The last task's part of a product, where the order of jobs shows: the others come before. */
static uint32_t last_b(const struct rocket_product *p)
{
	return p->b.iova + (p->panels - 1) * rocket_panel_b_bytes(p);
}

static uint32_t last_c(const struct rocket_product *p)
{
	return p->c.iova + (p->panels - 1) * rocket_panel_c_bytes(p);
}

/* --- waiting for objects ---------------------------------------------------------------------- */

static int prep_until(int fd, uint32_t handle, int64_t timeout_ns)
{
	struct drm_rocket_prep_bo prep = { .handle = handle, .timeout_ns = timeout_ns };

	return call(fd, DRM_IOCTL_ROCKET_PREP_BO, &prep);
}

static int prep_now(int fd, const struct bo *bo)
{
	return prep_until(fd, bo->handle, 0);
}

static uint32_t dc_instructions(volatile uint32_t *board)
{
	return board_read(board, ORK_BOARD_DC_INSTRUCTIONS);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* Signals to this process, one after another, that end calls; or none any more. */
static int alarms(bool on)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { 0 };

	if (on)
		timer.it_interval.tv_usec = timer.it_value.tv_usec = 10000;
	return sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &timer, NULL) ? -errno :
	       0;
}

/* --- before and after each test --------------------------------------------------------------- */

static void bind_all(const struct nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->count; i++)
		node_bind(nodes, i);
}

FIXTURE_SETUP(rocket)
{
	self->board = board_open();
	board_behave(self->board);
	if (self->board)
		board_write(self->board, ORK_BOARD_ZERO, 1);
	self->mainline = is_mainline();
	nodes_find(&self->nodes);
	self->fd = rocket_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(rocket)
{
	board_behave(self->board);
	bind_all(&self->nodes);
	EXPECT_EQ(0, strangers_health());
	unmap_everything();
	syscall(SYS_close_range, 3, ~0u, 0);
	EXPECT_TRUE(SOON(!*alive())) {
		TH_LOG("there still is: %s", alive());
	}
}

/* --- products --------------------------------------------------------------------------------- */

TEST_F(rocket, node_has_four_ioctls)
{
	struct drm_rocket_submit submit = { 0 };
	unsigned long fifth = DRM_IO(DRM_COMMAND_BASE + DRM_ROCKET_FINI_BO + 1);

	EXPECT_TRUE(is_rocket(self->fd));
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ROCKET_SUBMIT, &submit));
	EXPECT_EQ(-EINVAL, call(self->fd, fifth, NULL));
}

TEST_F(rocket, product_is_the_cpus)
{
	struct rocket_product p;

	ASSERT_EQ(0, rocket_product_create(self->fd, &p, 31, 64, 64, 4));
	for (uint32_t seed = 0; seed < 5; seed++) {
		ASSERT_EQ(0, rocket_product_write(self->fd, &p, seed));
		ASSERT_EQ(0, rocket_product_start(self->fd, &p));
		ASSERT_EQ(0, rocket_prep(self->fd, &p.c));
		EXPECT_EQ(0, rocket_product_wrong(&p));
	}
}

TEST_F(rocket, clients_get_their_own_results)
{
	struct rocket_product p[4];
	int fds[ARRAY_LENGTH(p)];

	for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++) {
		fds[i] = rocket_open();
		ASSERT_LE(0, fds[i]);
		ASSERT_EQ(0, rocket_product_create(fds[i], &p[i], 8, 64, 32, 2));
	}
	for (uint32_t round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++) {
			ASSERT_EQ(0, rocket_product_write(fds[i], &p[i], 10 * round + i));
			ASSERT_EQ(0, rocket_product_start(fds[i], &p[i]));
		}
		for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++) {
			ASSERT_EQ(0, rocket_prep(fds[i], &p[i].c));
			EXPECT_EQ(0, rocket_product_wrong(&p[i]));
		}
	}
}

#define MANY	64

TEST_F(rocket, all_jobs_of_a_submit_run)
{
	static struct rocket_product p[MANY];
	struct drm_rocket_job jobs[MANY];

	for (uint32_t i = 0; i < MANY; i++) {
		ASSERT_EQ(0, ones_create(self->fd, &p[i], 2));
		jobs[i] = rocket_product_job(&p[i]);
	}
	ASSERT_EQ(0, rocket_submit(self->fd, jobs, MANY));
	for (uint32_t i = 0; i < MANY; i++)
		EXPECT_EQ(0, ones_end(self->fd, &p[i]));
}

TEST_F(rocket, lists_may_be_empty)
{
	struct rocket_product p;
	struct drm_rocket_job job;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &p, 1));
	job = rocket_product_job(&p);
	job.in_bo_handle_count = 0;
	job.in_bo_handles = 0;
	ASSERT_EQ(0, rocket_submit(self->fd, &job, 1));
	EXPECT_EQ(0, ones_end(self->fd, &p));
	/* Nobody can wait for this one. */
	job.out_bo_handle_count = 0;
	job.out_bo_handles = 0;
	ASSERT_EQ(0, rocket_submit(self->fd, &job, 1));
	EXPECT_TRUE(SOON(board_sum(self->board, ORK_BOARD_CORE_INTERRUPTS) == 2));
}

/* The rest need not be named to be mapped: weights, biases and programs, which nobody rewrites. */
TEST_F(rocket, what_is_in_no_list_is_there_all_the_same)
{
	struct rocket_product p;
	struct drm_rocket_job job;

	ASSERT_EQ(0, rocket_product_create(self->fd, &p, 31, 64, 64, 4));
	job = rocket_product_job(&p);
	job.in_bo_handle_count = 0;
	for (uint32_t seed = 0; seed < 5; seed++) {
		ASSERT_EQ(0, rocket_product_write(self->fd, &p, seed));
		ASSERT_EQ(0, rocket_submit(self->fd, &job, 1));
		ASSERT_EQ(0, rocket_prep(self->fd, &p.c));
		EXPECT_EQ(0, rocket_product_wrong(&p));
	}
}

/* --- CREATE_BO -------------------------------------------------------------------------------- */

/* Mainline's node is refused by something else, that has no room for nothing. */
TEST_F(rocket, create_rejects_no_bytes)
{
	struct drm_rocket_create_bo create = { .size = 1 };

	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, &create));
	create.size = 0;
	EXPECT_EQ(RIGHT(-EINVAL, -ENOSPC), call(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, &create));
}

TEST_F(rocket, create_rounds_up_to_pages)
{
	struct drm_rocket_create_bo create = { .size = PAGE + 1 };
	uint8_t *data;

	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, &create));
	data = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, create.offset);
	ASSERT_NE(MAP_FAILED, data);
	data[2 * PAGE - 1] = 1;
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 3 * PAGE, PROT_READ, MAP_SHARED, self->fd,
				   create.offset));
}

/* A program whose link is 0 ends its chain: what lies there could not be followed. */
TEST_F(rocket, addresses_are_pages_and_never_0)
{
	struct bo bos[16];
	uint32_t zeros = 0;

	for (uint32_t i = 0; i < ARRAY_LENGTH(bos); i++) {
		ASSERT_EQ(0, rocket_bo_create(self->fd, (i + 1) * PAGE, &bos[i]));
		EXPECT_EQ(0, bos[i].iova % PAGE);
		EXPECT_GE(IOVA_LIMIT, bos[i].iova + bos[i].size);
		zeros += !bos[i].iova;
		for (uint32_t j = 0; j < i; j++)
			EXPECT_TRUE(bos[j].iova >= bos[i].iova + bos[i].size ||
				    bos[i].iova >= bos[j].iova + bos[j].size);
	}
	EXPECT_EQ(RIGHT(0, 1), zeros);
}

TEST_F(rocket, new_memory_is_zero_for_both_sides)
{
	uint8_t seen[SEEN_BYTES];
	struct bo bo;

	for (uint32_t i = 0; i < 20; i++) {
		ASSERT_EQ(0, rocket_bo_create(self->fd, 4 * PAGE, &bo));
		ASSERT_EQ(0, npu_sees(self->fd, &bo, i % 16 * SEEN_BYTES, seen));
		EXPECT_SEEN(0, SEEN_BYTES, 0, seen);
		EXPECT_SEEN(0, bo.size, 0, bo.data);
		/* For whoever gets it next. */
		memset(bo.data, 0x5a, bo.size);
		ASSERT_EQ(0, rocket_fini(self->fd, &bo));
		bo_close(self->fd, &bo);
	}
}

TEST_F(rocket, create_finds_no_room_for_more_than_there_is)
{
	static const uint32_t sizes[] = { UINT32_MAX, UINT32_MAX - PAGE + 1, UINT32_MAX - PAGE };

	SPARED("takes all memory before it looks for addresses, and keeps the address space");
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct drm_rocket_create_bo create = { .size = sizes[i] };
		int error = call(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, &create);

		EXPECT_TRUE(error == -ENOSPC || error == -ENOMEM) {
			TH_LOG("size 0x%x: %d", sizes[i], error);
		}
	}
	EXPECT_EQ(0, health_of(self->fd));
}

/* --- SUBMIT: what is refused ------------------------------------------------------------------ */

/* Not to be copied. */
struct request {
	struct drm_rocket_submit submit;
	struct drm_rocket_job job;
	struct rocket_product p;
};

static int request_create(int fd, struct request *r)
{
	int error = ones_create(fd, &r->p, 2);

	r->job = rocket_product_job(&r->p);
	r->submit = (struct drm_rocket_submit){ .jobs = (uintptr_t)&r->job,
						.job_count = 1,
						.job_struct_size = sizeof(r->job) };
	return error;
}

static int request(int fd, struct request *r)
{
	return call(fd, DRM_IOCTL_ROCKET_SUBMIT, &r->submit);
}

/* As EXPECT_REFUSED(), of something of a job: mainline forgets the job, and what was wrong. */
#define EXPECT_JOB_REFUSED(error, field, bad) do {			\
	__typeof__(field) good_ = (field);				\
									\
	EXPECT_EQ(0, request(self->fd, &r));				\
	(field) = (bad);						\
	EXPECT_EQ(RIGHT(-(error), 0), request(self->fd, &r)) {		\
		TH_LOG("%s = %s", #field, #bad);			\
	}								\
	(field) = good_;						\
} while (0)

#define UNREADABLE	8ull

TEST_F(rocket, submit_of_no_jobs_is_fine)
{
	struct request r;

	ASSERT_EQ(0, request_create(self->fd, &r));
	r.submit.job_count = 0;
	EXPECT_EQ(0, request(self->fd, &r));
	r.submit.jobs = UNREADABLE;
	EXPECT_EQ(0, request(self->fd, &r));
}

TEST_F(rocket, submit_rejects_what_is_reserved)
{
	struct request r;

	ASSERT_EQ(0, request_create(self->fd, &r));
	EXPECT_REFUSED(EINVAL, r.submit.reserved, 1, request(self->fd, &r));
	EXPECT_REFUSED(EINVAL, r.submit.reserved, 1ull << 63, request(self->fd, &r));
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
}

TEST_F(rocket, submit_rejects_short_structs)
{
	struct request r;

	ASSERT_EQ(0, request_create(self->fd, &r));
	EXPECT_REFUSED(EINVAL, r.submit.job_struct_size, 0, request(self->fd, &r));
	EXPECT_REFUSED(EINVAL, r.submit.job_struct_size, sizeof(r.job) - 8, request(self->fd, &r));
	EXPECT_JOB_REFUSED(EINVAL, r.job.task_struct_size, 0);
	EXPECT_JOB_REFUSED(EINVAL, r.job.task_struct_size, sizeof(*r.p.tasks) - 1);
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
}

TEST_F(rocket, submit_rejects_pointers_that_cannot_be_read)
{
	struct request r;

	ASSERT_EQ(0, request_create(self->fd, &r));
	EXPECT_REFUSED(EFAULT, r.submit.jobs, UNREADABLE, request(self->fd, &r));
	EXPECT_JOB_REFUSED(EFAULT, r.job.tasks, UNREADABLE);
	EXPECT_JOB_REFUSED(EFAULT, r.job.in_bo_handles, UNREADABLE);
	EXPECT_JOB_REFUSED(EFAULT, r.job.out_bo_handles, UNREADABLE);
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
}

/* Defect 1. */
TEST_F(rocket, submit_tells_what_is_wrong_with_a_job)
{
	struct request r;

	ASSERT_EQ(0, request_create(self->fd, &r));
	EXPECT_JOB_REFUSED(ENOENT, r.p.reads[1], 0);
	EXPECT_JOB_REFUSED(ENOENT, r.p.reads[2], 12345);
	EXPECT_JOB_REFUSED(ENOENT, r.p.writes[0], 12345);
	EXPECT_JOB_REFUSED(EINVAL, r.job.task_count, 0);
	EXPECT_JOB_REFUSED(EINVAL, r.p.tasks[0].regcmd_count, 0);
	EXPECT_JOB_REFUSED(EINVAL, r.p.tasks[1].regcmd_count, 0);
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
}

/* Defect 1: all jobs or none. */
TEST_F(rocket, submit_with_one_bad_job_starts_none)
{
	struct rocket_product p[3];
	struct drm_rocket_job jobs[ARRAY_LENGTH(p)];

	NEED_BOARD(self->board);
	for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++)
		ASSERT_EQ(0, ones_create(self->fd, &p[i], 1));
	for (uint32_t bad = 0; bad < ARRAY_LENGTH(p); bad++) {
		for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++)
			jobs[i] = rocket_product_job(&p[i]);
		jobs[bad].task_count = 0;
		EXPECT_EQ(RIGHT(-EINVAL, 0), rocket_submit(self->fd, jobs, ARRAY_LENGTH(p)));
		/* No trace: nothing to wait for either. */
		for (uint32_t i = 0; i < ARRAY_LENGTH(p) && !self->mainline; i++)
			EXPECT_EQ(0, prep_now(self->fd, &p[i].c));
		for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++)
			EXPECT_EQ(0, rocket_prep(self->fd, &p[i].c));
	}
	EXPECT_EQ(0, health_of(self->fd));
	EXPECT_EQ(RIGHT(1, 1 + 3 * 2), board_sum(self->board, ORK_BOARD_CORE_KICKS));
}

TEST_F(rocket, submit_rejects_programs_off_sixteen_bytes)
{
	struct request r;

	SPARED("starts the core at another address, and it stays in slave mode");
	ASSERT_EQ(0, request_create(self->fd, &r));
	for (uint32_t off = 1; off < 16; off++)
		EXPECT_JOB_REFUSED(EINVAL, r.p.tasks[0].regcmd, r.p.tasks[0].regcmd + off);
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
}

/* The program ends where its buffer does. */
TEST_F(rocket, submit_rejects_programs_outside_a_buffer)
{
	struct request r;
	struct drm_rocket_task *task;

	SPARED("lets the NPU fetch from wherever it is told, and reports a fault as a warning");
	ASSERT_EQ(0, request_create(self->fd, &r));
	task = &r.p.tasks[0];
	task->regcmd = r.p.program.iova + PAGE - PROGRAM_BYTES;
	memcpy(r.p.program.data + PAGE - PROGRAM_BYTES, r.p.program.data, PROGRAM_BYTES);
	ASSERT_EQ(0, rocket_fini(self->fd, &r.p.program));
	EXPECT_JOB_REFUSED(EINVAL, task->regcmd, task->regcmd + 16);
	EXPECT_JOB_REFUSED(EINVAL, task->regcmd, r.p.program.iova + PAGE);
	EXPECT_JOB_REFUSED(EINVAL, task->regcmd, 0);
	EXPECT_JOB_REFUSED(EINVAL, task->regcmd, 0xfffffff0u);
	EXPECT_JOB_REFUSED(EINVAL, task->regcmd_count, task->regcmd_count + 1);
	EXPECT_JOB_REFUSED(EINVAL, task->regcmd_count, UINT32_MAX);
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
	bo_close(self->fd, &r.p.program);
	r.job.in_bo_handle_count = 0;
	/* It stays mapped until the last job has been let go. */
	EXPECT_TRUE(SOON(request(self->fd, &r) == -EINVAL));
}

#define MOST_WORDS	131072u

TEST_F(rocket, submit_rejects_more_words_than_the_hardware_counts)
{
	struct request r;
	struct bo bo;

	SPARED("takes the low bits of what it is told, and the core hangs");
	ASSERT_EQ(0, request_create(self->fd, &r));
	ASSERT_EQ(0, rocket_bo_create(self->fd, 2 * MOST_WORDS * sizeof(uint64_t), &bo));
	r.p.tasks[0] = (struct drm_rocket_task){ bo.iova, MOST_WORDS + 1 };
	EXPECT_EQ(-EINVAL, request(self->fd, &r));
}

/* --- SUBMIT: defect 15 ------------------------------------------------------------------------ */

#define MOST	1024

TEST_F_TIMEOUT(rocket, jobs_of_a_submit_are_counted, 240)
{
	static struct drm_rocket_job jobs[MOST + 1];
	struct rocket_product p;

	ASSERT_EQ(0, ones_create(self->fd, &p, 1));
	for (uint32_t i = 0; i < ARRAY_LENGTH(jobs); i++)
		jobs[i] = rocket_product_job(&p);
	EXPECT_EQ(0, rocket_submit(self->fd, jobs, MOST));
	EXPECT_EQ(RIGHT(-EINVAL, 0), rocket_submit(self->fd, jobs, MOST + 1));
	EXPECT_EQ(0, ones_end(self->fd, &p));
}

TEST_F_TIMEOUT(rocket, tasks_of_a_job_are_counted, 120)
{
	static struct drm_rocket_task tasks[MOST + 1];
	struct rocket_product p;
	struct drm_rocket_job job;

	SPARED("takes any number, and half a second for all of them");
	ASSERT_EQ(0, ones_create(self->fd, &p, 1));
	for (uint32_t i = 0; i < ARRAY_LENGTH(tasks); i++)
		tasks[i] = p.tasks[0];
	job = rocket_product_job(&p);
	job.tasks = (uintptr_t)tasks;
	job.task_count = MOST;
	EXPECT_EQ(0, rocket_submit(self->fd, &job, 1));
	job.task_count = MOST + 1;
	EXPECT_EQ(-EINVAL, rocket_submit(self->fd, &job, 1));
	EXPECT_EQ(0, ones_end(self->fd, &p));
}

TEST_F_TIMEOUT(rocket, handles_of_a_list_are_counted, 120)
{
	static uint32_t handles[MOST + 1];
	struct request r;
	struct bo bo;

	ASSERT_EQ(0, request_create(self->fd, &r));
	for (uint32_t i = 0; i < MOST; i++) {
		ASSERT_EQ(0, rocket_bo_create(self->fd, PAGE, &bo));
		handles[i] = bo.handle;
	}
	handles[MOST] = r.p.c.handle;
	r.job.in_bo_handles = (uintptr_t)handles;
	r.job.in_bo_handle_count = MOST;
	EXPECT_JOB_REFUSED(EINVAL, r.job.in_bo_handle_count, MOST + 1);
	r.job.in_bo_handle_count = 0;
	EXPECT_EQ(0, ones_run(self->fd, &r.p));
	/* With the last one, so that it can be waited for. */
	r.job.out_bo_handles = (uintptr_t)(handles + 1);
	r.job.out_bo_handle_count = MOST;
	EXPECT_EQ(0, request(self->fd, &r));
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
	r.job.out_bo_handles = (uintptr_t)handles;
	r.job.out_bo_handle_count = MOST + 1;
	EXPECT_EQ(RIGHT(-EINVAL, 0), request(self->fd, &r));
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
}

TEST_F(rocket, longer_jobs_are_accepted_if_their_tails_are_zero)
{
	struct { struct drm_rocket_job job; uint64_t more[2]; } jobs[2] = { 0 };
	struct rocket_product p[2];
	struct drm_rocket_submit submit = { .jobs = (uintptr_t)jobs,
					    .job_count = 2,
					    .job_struct_size = sizeof(jobs[0]) };

	for (uint32_t i = 0; i < 2; i++) {
		ASSERT_EQ(0, ones_create(self->fd, &p[i], 1));
		jobs[i].job = rocket_product_job(&p[i]);
	}
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ROCKET_SUBMIT, &submit));
	for (uint32_t i = 0; i < 2; i++)
		EXPECT_EQ(0, ones_end(self->fd, &p[i]));
	jobs[1].more[1] = 1ull << 63;
	EXPECT_EQ(RIGHT(-E2BIG, 0), call(self->fd, DRM_IOCTL_ROCKET_SUBMIT, &submit));
	for (uint32_t i = 0; i < 2; i++)
		EXPECT_EQ(0, rocket_prep(self->fd, &p[i].c));
}

TEST_F(rocket, longer_tasks_are_accepted_if_their_tails_are_zero)
{
	struct { struct drm_rocket_task task; uint64_t more; } tasks[2] = { 0 };
	struct request r;

	ASSERT_EQ(0, request_create(self->fd, &r));
	for (uint32_t i = 0; i < 2; i++)
		tasks[i].task = r.p.tasks[i];
	r.job.tasks = (uintptr_t)tasks;
	r.job.task_struct_size = sizeof(tasks[0]);
	EXPECT_EQ(0, request(self->fd, &r));
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
	EXPECT_JOB_REFUSED(E2BIG, tasks[0].more, 1);
	EXPECT_JOB_REFUSED(E2BIG, tasks[1].more, 1ull << 63);
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
}

TEST_F(rocket, strides_end_at_a_page)
{
	static uint8_t room[4 * PAGE];
	struct request r;

	ASSERT_EQ(0, request_create(self->fd, &r));
	memcpy(room, &r.job, sizeof(r.job));
	r.submit.jobs = (uintptr_t)room;
	r.submit.job_struct_size = PAGE;
	EXPECT_EQ(0, request(self->fd, &r));
	r.submit.job_struct_size = PAGE + 8;
	EXPECT_EQ(RIGHT(-EINVAL, 0), request(self->fd, &r));
	EXPECT_EQ(0, ones_end(self->fd, &r.p));

	r.submit.jobs = (uintptr_t)&r.job;
	r.submit.job_struct_size = sizeof(r.job);
	memset(room, 0, sizeof(room));
	memcpy(room, &r.p.tasks[0], sizeof(*r.p.tasks));
	r.job.tasks = (uintptr_t)room;
	r.job.task_count = 1;
	r.job.task_struct_size = PAGE;
	EXPECT_JOB_REFUSED(EINVAL, r.job.task_struct_size, PAGE + 8);
	EXPECT_EQ(0, rocket_prep(self->fd, &r.p.c));
}

/* --- SUBMIT: defect 2 ------------------------------------------------------------------------- */

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define FAILSLAB	"/sys/kernel/debug/failslab/"
#define FAIL_USERCOPY	"/sys/kernel/debug/fail_usercopy/"
#define MOST_POINTS	1000

/* Of a kernel that can: a negative errno else. */
static int open_fail_nth(void)
{
	int file = open(FAIL_NTH, O_RDWR | O_CLOEXEC);

	if (file < 0 || write_text(FAILSLAB "ignore-gfp-wait", "N") ||
	    write_text(FAILSLAB "verbose", "0") || write_text(FAIL_USERCOPY "verbose", "0"))
		return -ENOENT;
	return file;
}

/* Lets the @nth point from here on fail. */
static void fail_at(int file, uint32_t nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nth);
	while (pwrite(file, text, strlen(text), 0) < 0 && errno == EFAULT)
		;
}

/* No more. Whether it came to so many points. */
static bool has_failed(int file)
{
	char text[16] = "";

	if (pread(file, text, sizeof(text) - 1, 0) <= 0)
		strcpy(text, "1");
	while (pwrite(file, "0", 1, 0) < 0 && errno == EFAULT)
		;
	return !atoi(text);
}

static bool submit_fails_at(int file, struct request *r, int fd, uint32_t nth, int *error)
{
	fail_at(file, nth);
	*error = request(fd, r);
	return has_failed(file);
}

TEST_F_TIMEOUT(rocket, submit_fails_at_any_point_without_a_trace, 240)
{
	uint32_t kicks = 0, nth = 1, failed = 0;
	int file = open_fail_nth(), error;
	struct request r;

	SPARED("cleans up a job that is armed, when what it waits for cannot be noted");
	NEED_BOARD(self->board);
	if (file < 0)
		SKIP(return, "needs a kernel with fault injection");
	ASSERT_EQ(0, request_create(self->fd, &r));
	ASSERT_EQ(0, ones_run(self->fd, &r.p));
	board_write(self->board, ORK_BOARD_ZERO, 1);
	while (submit_fails_at(file, &r, self->fd, nth++, &error) && nth < MOST_POINTS) {
		EXPECT_TRUE(!error || error == -ENOMEM || error == -EFAULT) {
			TH_LOG("point %u: %d", nth - 1, error);
		}
		kicks += error ? 0 : r.p.panels;
		failed += !!error;
		EXPECT_EQ(0, rocket_prep(self->fd, &r.p.c));
		ASSERT_EQ(kicks, board_sum(self->board, ORK_BOARD_CORE_KICKS)) {
			TH_LOG("point %u", nth - 1);
		}
	}
	EXPECT_EQ(0, error);
	EXPECT_LT(0, failed);
	EXPECT_EQ(0, ones_end(self->fd, &r.p));
	close(file);
}

/* --- order: defects 3 and 4 ------------------------------------------------------------------- */

/* What a column of B makes that is eight int32 of ONES_K. */
#define FOLLOWED	(8 * ONES_K)

TEST_F(rocket, reader_waits_for_an_earlier_writer)
{
	struct rocket_product writer, reader;
	const int32_t *c;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, held_create(self, self->fd, &writer));
	ASSERT_EQ(0, ones_create(self->fd, &reader, 1));
	reader.gemm.b = last_c(&writer);
	rocket_product_emit(&reader);
	ASSERT_EQ(0, rocket_fini(self->fd, &reader.program));
	reader.reads[2] = writer.c.handle;
	ASSERT_EQ(0, held_start(self, self->fd, &writer));
	ASSERT_EQ(0, rocket_product_start(self->fd, &reader));
	EXPECT_EQ(-EBUSY, prep_now(self->fd, &reader.c));
	gates_open(self->board);
	ASSERT_EQ(0, rocket_prep(self->fd, &reader.c));
	c = (const int32_t *)reader.c.data;
	for (uint32_t i = 0; i < ONES_N * sizeof(int32_t) / ONES_K; i++)
		EXPECT_EQ(FOLLOWED, c[i]);
	EXPECT_EQ(0, ones_end(self->fd, &writer));
}

/* Defect 3. */
TEST_F(rocket, writer_waits_for_an_earlier_reader)
{
	struct rocket_product reader, writer;
	int32_t first;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, held_create(self, self->fd, &reader));
	ASSERT_EQ(0, ones_create(self->fd, &writer, 1));
	writer.gemm.c = last_b(&reader);
	rocket_product_emit(&writer);
	ASSERT_EQ(0, rocket_fini(self->fd, &writer.program));
	writer.writes[0] = reader.b.handle;
	ASSERT_EQ(0, held_start(self, self->fd, &reader));
	ASSERT_EQ(0, rocket_product_start(self->fd, &writer));
	EXPECT_EQ(-EBUSY, prep_now(self->fd, &reader.b));
	gates_open(self->board);
	EXPECT_EQ(0, rocket_prep(self->fd, &reader.b));
	EXPECT_EQ(0, ones_end(self->fd, &reader));
	memcpy(&first, reader.b.data + last_b(&reader) - reader.b.iova, sizeof(first));
	EXPECT_EQ(ONES_K, first);
}

TEST_F(rocket, writer_waits_for_an_earlier_writer)
{
	struct rocket_product first, second;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, held_create(self, self->fd, &first));
	ASSERT_EQ(0, ones_create(self->fd, &second, 1));
	second.gemm.c = last_c(&first);
	rocket_product_emit(&second);
	ASSERT_EQ(0, rocket_fini(self->fd, &second.program));
	memset(second.a.data, 2, ONES_K);
	ASSERT_EQ(0, rocket_fini(self->fd, &second.a));
	second.writes[0] = first.c.handle;
	ASSERT_EQ(0, held_start(self, self->fd, &first));
	ASSERT_EQ(0, rocket_product_start(self->fd, &second));
	gates_open(self->board);
	EXPECT_EQ(0, rocket_prep(self->fd, &first.c));
	EXPECT_EQ(0, task_wrong(&first, first.panels - 1, 2 * ONES_K));
}

/*
 * The same of jobs of one submit: each reads what the one before wrote. While the first one is held
 * no other runs, though there are cores enough.
 */
TEST_F(rocket, jobs_of_a_submit_keep_their_order)
{
	struct rocket_product p[8];
	struct drm_rocket_job jobs[ARRAY_LENGTH(p)];
	int32_t value = ONES_K;
	uint32_t kicks;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, held_create_rows(self, self->fd, &p[0], STEP_BYTES / ONES_N / 4));
	jobs[0] = rocket_product_job(&p[0]);
	for (uint32_t i = 1; i < ARRAY_LENGTH(p); i++) {
		ASSERT_EQ(0, ones_create_rows(self->fd, &p[i], STEP_BYTES / ONES_N / 4, 1));
		p[i].gemm.b = last_c(&p[i - 1]);
		rocket_product_emit(&p[i]);
		ASSERT_EQ(0, rocket_fini(self->fd, &p[i].program));
		p[i].reads[2] = p[i - 1].c.handle;
		jobs[i] = rocket_product_job(&p[i]);
	}
	kicks = board_sum(self->board, ORK_BOARD_CORE_KICKS);
	ASSERT_EQ(0, rocket_submit(self->fd, jobs, ARRAY_LENGTH(p)));
	EXPECT_TRUE(SOON(board_sum(self->board, ORK_BOARD_CORE_KICKS) > kicks));
	EXPECT_EQ(kicks + 1, board_sum(self->board, ORK_BOARD_CORE_KICKS));
	gates_open(self->board);
	for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++) {
		ASSERT_EQ(0, rocket_prep(self->fd, &p[i].c));
		EXPECT_EQ(value, *(const int32_t *)p[i].c.data);
		value = step_follow(value);
	}
}

/* Defect 4. */
TEST_F(rocket, buffer_may_be_read_and_written)
{
	struct rocket_product p;

	ASSERT_EQ(0, ones_create(self->fd, &p, 1));
	p.reads[1] = p.c.handle;
	EXPECT_EQ(RIGHT(0, -EBADMSG), ones_run(self->fd, &p));
	p.reads[1] = p.reads[0];
	EXPECT_EQ(RIGHT(0, -EBADMSG), ones_run(self->fd, &p));
	p.reads[1] = p.a.handle;
	EXPECT_EQ(0, ones_run(self->fd, &p));
}

/* A job for each core, all of one client: that many cores are used at once. */
static void expect_cores(struct __test_metadata *_metadata, const FIXTURE_DATA(rocket) *self,
			 int fd, uint32_t cores)
{
	struct rocket_product p[BOARD_CORES];
	struct drm_rocket_job jobs[ARRAY_LENGTH(p)];

	board_write(self->board, ORK_BOARD_ZERO, 1);
	for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++) {
		ASSERT_EQ(0, held_create(self, fd, &p[i]));
		jobs[i] = rocket_product_job(&p[i]);
	}
	ASSERT_EQ(0, rocket_submit(fd, jobs, ARRAY_LENGTH(p)));
	EXPECT_TRUE(SOON(board_cores_used(self->board) == cores));
	gates_open(self->board);
	for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++)
		EXPECT_EQ(0, ones_end(fd, &p[i]));
	EXPECT_EQ(cores, board_cores_used(self->board));
}

/* Mainline's driver gives all jobs of a file to one core while there are any. */
TEST_F(rocket, independent_jobs_of_a_client_fill_the_cores)
{
	NEED_BOARD(self->board);
	expect_cores(_metadata, self, self->fd, RIGHT(BOARD_CORES, 1));
}

/* Mainline's driver attaches an address space for every job, and detaches it. */
TEST_F(rocket, jobs_of_a_client_attach_an_iommu_once)
{
	const uint32_t jobs = 10;
	struct rocket_product p;
	uint32_t sum = 0;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &p, 1));
	for (uint32_t i = 0; i < jobs; i++)
		ASSERT_EQ(0, ones_run(self->fd, &p));
	for (uint32_t core = 0; core < BOARD_CORES; core++) {
		uint32_t attaches = board_measure(self->board, core,
						  ORK_BOARD_MEASURE_IOMMU_ATTACHES);

		EXPECT_GE(RIGHT(1, UINT32_MAX), attaches);
		sum += attaches;
	}
	EXPECT_LE(RIGHT(0, jobs), sum);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void expect_starts(struct __test_metadata *_metadata, const FIXTURE_DATA(rocket) *self,
			  struct rocket_product *p, uint32_t starts)
{
	ASSERT_EQ(0, rocket_fini(self->fd, &p->program));
	board_write(self->board, ORK_BOARD_ZERO, 1);
	EXPECT_EQ(0, ones_run(self->fd, p));
	EXPECT_EQ(RIGHT(starts, p->panels), board_sum(self->board, ORK_BOARD_CORE_KICKS));
	EXPECT_EQ(RIGHT(starts, p->panels), board_sum(self->board, ORK_BOARD_CORE_INTERRUPTS));
}

TEST_F(rocket, tasks_that_are_not_linked_have_a_start_each)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &p, 5));
	expect_starts(_metadata, self, &p, 5);
}

TEST_F(rocket, linked_tasks_are_one_start)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &p, 5));
	link_tasks(&p);
	expect_starts(_metadata, self, &p, 1);
	/* The last one's link leads on: the job ends with it all the same. */
	task_program(&p, 4)[PROGRAM_TAIL] = regcmd(ORK_PC_BASE_ADDRESS, p.tasks[0].regcmd);
	task_program(&p, 4)[PROGRAM_TAIL + 1] =
		regcmd(ORK_PC_REGISTER_AMOUNTS, ORK_PC_AMOUNT(PROGRAM_WORDS));
	expect_starts(_metadata, self, &p, 1);
}

TEST_F(rocket, tasks_that_are_linked_in_part_have_a_start_for_each_part)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &p, 6));
	link_tasks(&p);
	task_program(&p, 1)[PROGRAM_TAIL] = regcmd(ORK_PC_BASE_ADDRESS, 0);
	task_program(&p, 1)[PROGRAM_TAIL + 1] = regcmd(ORK_PC_REGISTER_AMOUNTS, 0);
	/* To another task of the job, but not the next. */
	task_program(&p, 3)[PROGRAM_TAIL] = regcmd(ORK_PC_BASE_ADDRESS, p.tasks[5].regcmd);
	expect_starts(_metadata, self, &p, 3);
}

/* The values, that is: where the rest of such a word is another, a core may do anything. */
TEST_F_TIMEOUT(rocket, links_that_are_wrong_in_any_bit_are_not_followed, 240)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &p, 2));
	for (uint32_t word = 0; word < 2; word++) {
		for (uint32_t bit = 0; bit < 32; bit++) {
			link_tasks(&p);
			task_program(&p, 0)[PROGRAM_TAIL + word] ^= 1ull << (16 + bit);
			expect_starts(_metadata, self, &p, 2);
		}
	}
	link_tasks(&p);
	expect_starts(_metadata, self, &p, 1);
}

/* --- PREP_BO and FINI_BO ---------------------------------------------------------------------- */

TEST_F(rocket, prep_and_fini_reject_bad_arguments)
{
	struct drm_rocket_prep_bo prep = { 0 };
	struct drm_rocket_fini_bo fini = { 0 };
	struct bo bo;

	ASSERT_EQ(0, rocket_bo_create(self->fd, PAGE, &bo));
	prep.handle = fini.handle = bo.handle;
	EXPECT_REFUSED(EINVAL, prep.reserved, 1, call(self->fd, DRM_IOCTL_ROCKET_PREP_BO, &prep));
	EXPECT_REFUSED(ENOENT, prep.handle, 0, call(self->fd, DRM_IOCTL_ROCKET_PREP_BO, &prep));
	EXPECT_REFUSED(ENOENT, prep.handle, 99, call(self->fd, DRM_IOCTL_ROCKET_PREP_BO, &prep));
	EXPECT_REFUSED(EINVAL, fini.reserved, 1, call(self->fd, DRM_IOCTL_ROCKET_FINI_BO, &fini));
	EXPECT_REFUSED(ENOENT, fini.handle, 0, call(self->fd, DRM_IOCTL_ROCKET_FINI_BO, &fini));
	EXPECT_REFUSED(ENOENT, fini.handle, 99, call(self->fd, DRM_IOCTL_ROCKET_FINI_BO, &fini));
}

TEST_F(rocket, fini_cleans_all_of_a_buffer)
{
	uint8_t seen[SEEN_BYTES];
	uint32_t before;
	struct bo bo;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, rocket_bo_create(self->fd, 8 * PAGE, &bo));
	for (uint32_t round = 1; round < 4; round++) {
		memset(bo.data, round, bo.size);
		before = dc_instructions(self->board);
		ASSERT_EQ(0, rocket_fini(self->fd, &bo));
		EXPECT_LE(bo.size / LINE, dc_instructions(self->board) - before);
		for (uint64_t offset = 0; offset < bo.size; offset += SEEN_BYTES) {
			ASSERT_EQ(0, npu_sees(self->fd, &bo, offset, seen));
			EXPECT_SEEN(0, SEEN_BYTES, round, seen);
		}
	}
}

TEST_F(rocket, prep_tells_busy_from_late_from_done)
{
	struct rocket_product p;
	int64_t end;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, held(self, self->fd, &p));
	EXPECT_EQ(-EBUSY, prep_until(self->fd, p.c.handle, 0));
	EXPECT_EQ(-EBUSY, prep_until(self->fd, p.c.handle, 1));
	EXPECT_EQ(-EBUSY, prep_until(self->fd, p.c.handle, -1));
	EXPECT_EQ(-EBUSY, prep_until(self->fd, p.c.handle, INT64_MIN));
	end = now_ns() + SECOND / 20;
	EXPECT_EQ(-ETIMEDOUT, prep_until(self->fd, p.c.handle, end));
	/* The kernel counts in ticks, of ten milliseconds at most, and may give up one early. */
	EXPECT_LE(end - SECOND / 100, now_ns());
	gates_open(self->board);
	EXPECT_EQ(0, prep_until(self->fd, p.c.handle, INT64_MAX));
	EXPECT_EQ(0, ones_wrong(&p));
	EXPECT_EQ(0, prep_until(self->fd, p.c.handle, 0));
}

TEST_F(rocket, prep_ends_with_a_signal)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, held(self, self->fd, &p));
	ASSERT_EQ(0, alarms(true));
	EXPECT_EQ(-EINTR, prep_until(self->fd, p.c.handle, INT64_MAX));
	ASSERT_EQ(0, alarms(false));
	gates_open(self->board);
	EXPECT_EQ(0, ones_end(self->fd, &p));
}

/* Defect 3. */
TEST_F(rocket, prep_of_an_input_waits_for_its_reader)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, held(self, self->fd, &p));
	EXPECT_EQ(RIGHT(-EBUSY, 0), prep_now(self->fd, &p.b));
	EXPECT_EQ(RIGHT(-ETIMEDOUT, 0), prep_until(self->fd, p.a.handle, now_ns() + SECOND / 50));
	EXPECT_EQ(-EBUSY, prep_now(self->fd, &p.c));
	gates_open(self->board);
	EXPECT_EQ(0, rocket_prep(self->fd, &p.b));
	EXPECT_EQ(0, rocket_prep(self->fd, &p.a));
	EXPECT_EQ(0, ones_end(self->fd, &p));
}

/* Defect 14: what the CPU wrote and did not hand over is its own, until it gets the buffer. */
TEST_F(rocket, prep_that_fails_syncs_nothing)
{
	struct rocket_product p;
	volatile uint8_t *last;
	uint32_t before;
	int error;

	NEED_STRICT_CACHE(self->board);
	ASSERT_EQ(0, held(self, self->fd, &p));
	last = &p.c.data[p.c.size - 1];
	for (uint32_t how = 0; how < 3; how++) {
		*last = how;
		ASSERT_EQ(0, alarms(how == 2));
		before = dc_instructions(self->board);
		error = prep_until(self->fd, p.c.handle,
				   how == 2 ? INT64_MAX : how ? now_ns() + SECOND / 50 : 0);
		before = dc_instructions(self->board) - before;
		ASSERT_EQ(0, alarms(false));
		EXPECT_EQ(how == 2 ? -EINTR : how ? -ETIMEDOUT : -EBUSY, error);
		EXPECT_EQ(RIGHT(0, p.c.size / LINE), before);
		EXPECT_EQ(RIGHT(how, UNTOUCHED), *last);
	}
	gates_open(self->board);
	EXPECT_EQ(0, ones_end(self->fd, &p));
}

static uint32_t prep_costs(const FIXTURE_DATA(rocket) *self, const struct bo *bo)
{
	uint32_t before = dc_instructions(self->board);

	return rocket_prep(self->fd, bo) ? UINT32_MAX : dc_instructions(self->board) - before;
}

TEST_F(rocket, prep_invalidates_what_a_job_wrote_and_nothing_else)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &p, 1));
	EXPECT_EQ(RIGHT(0, p.c.size / LINE), prep_costs(self, &p.c));
	for (uint32_t round = 0; round < 3; round++) {
		ASSERT_EQ(0, rocket_product_start(self->fd, &p));
		EXPECT_EQ(p.c.size / LINE, prep_costs(self, &p.c));
		EXPECT_EQ(RIGHT(0, p.c.size / LINE), prep_costs(self, &p.c));
		EXPECT_EQ(RIGHT(0, p.b.size / LINE), prep_costs(self, &p.b));
		EXPECT_EQ(0, ones_wrong(&p));
	}
}

/* --- jobs that fail --------------------------------------------------------------------------- */

/* Mainline's driver tells nobody. */
TEST_F_TIMEOUT(rocket, prep_tells_of_a_hang_until_the_buffer_is_written_well, 120)
{
	struct rocket_product bad, good;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &bad, 1));
	ASSERT_EQ(0, ones_create(self->fd, &good, 1));
	ASSERT_EQ(0, spoil(self->fd, &bad, HANG));
	ASSERT_EQ(0, rocket_product_start(self->fd, &bad));
	EXPECT_EQ(RIGHT(-EIO, 0), rocket_prep(self->fd, &bad.c));
	EXPECT_EQ(RIGHT(-EIO, 0), prep_now(self->fd, &bad.c));
	/* Its inputs are as they were. */
	EXPECT_EQ(0, rocket_prep(self->fd, &bad.a));
	EXPECT_EQ(ONES_N, task_wrong(&bad, 0, ONES_K));
	/* The same buffer, by a job that is good. */
	good.gemm.c = bad.c.iova;
	rocket_product_emit(&good);
	ASSERT_EQ(0, rocket_fini(self->fd, &good.program));
	good.writes[0] = bad.c.handle;
	ASSERT_EQ(0, rocket_product_start(self->fd, &good));
	EXPECT_EQ(0, ones_end(self->fd, &bad));
}

TEST_F_TIMEOUT(rocket, prep_tells_of_a_fault, 120)
{
	struct rocket_product p;

	SPARED("reports a fault as a warning");
	ASSERT_EQ(0, ones_create(self->fd, &p, 2));
	ASSERT_EQ(0, spoil(self->fd, &p, FAULT));
	ASSERT_EQ(0, rocket_product_start(self->fd, &p));
	EXPECT_EQ(-EIO, rocket_prep(self->fd, &p.c));
}

TEST_F_TIMEOUT(rocket, job_that_reads_what_a_failed_one_should_have_written_does_not_run, 120)
{
	struct rocket_product bad, reader;

	SPARED("runs it on what there is");
	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &bad, 1));
	ASSERT_EQ(0, ones_create(self->fd, &reader, 1));
	ASSERT_EQ(0, spoil(self->fd, &bad, HANG));
	reader.reads[2] = bad.c.handle;
	ASSERT_EQ(0, rocket_product_start(self->fd, &bad));
	ASSERT_EQ(0, rocket_product_start(self->fd, &reader));
	EXPECT_EQ(-EIO, rocket_prep(self->fd, &reader.c));
	EXPECT_EQ(-EIO, rocket_prep(self->fd, &bad.c));
	EXPECT_EQ(1, board_sum(self->board, ORK_BOARD_CORE_KICKS));
}

/* Another client's job runs all the while, and those of this one before and after it end well. */
TEST_F_TIMEOUT(rocket, hang_costs_that_job_alone, 120)
{
	struct rocket_product p[5], other;
	int fd = rocket_open();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ones_create(fd, &other, 4));
	for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++)
		ASSERT_EQ(0, ones_create(self->fd, &p[i], 2));
	ASSERT_EQ(0, spoil(self->fd, &p[2], HANG));
	for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++)
		ASSERT_EQ(0, rocket_product_start(self->fd, &p[i]));
	for (uint32_t i = 0; i < 10; i++)
		EXPECT_EQ(0, ones_run(fd, &other));
	for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++) {
		EXPECT_EQ(i == 2 ? RIGHT(-EIO, -EBADMSG) : 0, ones_end(self->fd, &p[i])) {
			TH_LOG("job %u", i);
		}
	}
}

TEST_F_TIMEOUT(rocket, file_whose_jobs_hang_again_and_again_is_banned, 120)
{
	char limit[16] = "";
	struct rocket_product bad, good;
	int file = open(HANG_LIMIT, O_RDONLY | O_CLOEXEC);

	SPARED("bans nobody");
	if (file < 0 || read(file, limit, sizeof(limit) - 1) < 1 || write_text(HANG_LIMIT, "2"))
		SKIP(return, "needs root, to set the limit");
	ASSERT_EQ(0, ones_create(self->fd, &bad, 1));
	ASSERT_EQ(0, ones_create(self->fd, &good, 1));
	ASSERT_EQ(0, spoil(self->fd, &bad, HANG));
	for (uint32_t i = 0; i < 2; i++) {
		EXPECT_EQ(0, ones_run(self->fd, &good));
		EXPECT_EQ(0, rocket_product_start(self->fd, &bad));
		EXPECT_EQ(-EIO, rocket_prep(self->fd, &bad.c));
	}
	EXPECT_EQ(-EIO, rocket_product_start(self->fd, &good));
	EXPECT_EQ(0, rocket_prep(self->fd, &good.c));
	EXPECT_EQ(0, strangers_health());
	EXPECT_EQ(0, write_text(HANG_LIMIT, limit));
}

/* --- handles, files and dma-bufs that go: defects 5 and 6 ------------------------------------- */

static void handle_close(int fd, const struct bo *bo)
{
	struct drm_gem_close close = { .handle = bo->handle };

	call(fd, DRM_IOCTL_GEM_CLOSE, &close);
}

TEST_F(rocket, handles_of_a_job_may_be_closed_while_it_runs)
{
	struct rocket_product p;
	struct bo other;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, held(self, self->fd, &p));
	handle_close(self->fd, &p.program);
	handle_close(self->fd, &p.a);
	handle_close(self->fd, &p.b);
	/* Memory and addresses that might be given to another. */
	for (uint32_t i = 0; i < 8; i++) {
		ASSERT_EQ(0, rocket_bo_create(self->fd, p.b.size, &other));
		memset(other.data, 0x5a, other.size);
		ASSERT_EQ(0, rocket_fini(self->fd, &other));
	}
	gates_open(self->board);
	EXPECT_EQ(0, ones_end(self->fd, &p));
}

/* Whatever is mapped at its submit: of a job that runs, and of one that waits for it. */
TEST_F(rocket, handles_in_no_list_may_be_closed_while_a_job_runs_or_waits)
{
	struct rocket_product p[2];
	struct drm_rocket_job jobs[2];
	struct bo other;

	SPARED("takes it from the address space under the core");
	NEED_BOARD(self->board);
	for (uint32_t i = 0; i < 2; i++) {
		ASSERT_EQ(0, held_create(self, self->fd, &p[i]));
		jobs[i] = rocket_product_job(&p[i]);
		jobs[i].in_bo_handle_count = 0;
	}
	p[1].reads[0] = p[0].c.handle;
	jobs[1].in_bo_handle_count = 1;
	ASSERT_EQ(0, rocket_submit(self->fd, jobs, 2));
	ASSERT_TRUE(SOON(board_sum(self->board, ORK_BOARD_CORE_KICKS) == 1));
	for (uint32_t i = 0; i < 2; i++) {
		handle_close(self->fd, &p[i].program);
		handle_close(self->fd, &p[i].a);
		handle_close(self->fd, &p[i].b);
	}
	for (uint32_t i = 0; i < 8; i++) {
		ASSERT_EQ(0, rocket_bo_create(self->fd, p[0].b.size, &other));
		memset(other.data, 0x5a, other.size);
		ASSERT_EQ(0, rocket_fini(self->fd, &other));
	}
	gates_open(self->board);
	for (uint32_t i = 0; i < 2; i++)
		EXPECT_EQ(0, ones_end(self->fd, &p[i]));
}

/* A node that did not open is passed over. */
TEST_F_TIMEOUT(rocket, open_fails_at_any_point_without_a_trace, 240)
{
	int file = open_fail_nth(), fd;
	uint32_t nth = 0;
	bool failed;

	SPARED("leaves the scheduler's list unchecked");
	if (file < 0)
		SKIP(return, "needs a kernel with fault injection");
	do {
		fail_at(file, ++nth);
		fd = rocket_open();
		failed = has_failed(file);
		EXPECT_TRUE(fd >= 0 || fd == -ENODEV || fd == -ENOMEM);
		if (fd >= 0)
			close(fd);
	} while (failed && nth < MOST_POINTS);
	EXPECT_FALSE(failed);
	EXPECT_LE(0, fd);
	EXPECT_EQ(0, strangers_health());
	close(file);
}

TEST_F_TIMEOUT(rocket, create_fails_at_any_point_without_a_trace, 240)
{
	struct drm_rocket_create_bo create;
	int file = open_fail_nth(), error;
	uint32_t nth = 0;
	bool failed;

	SPARED("keeps the address space for ever");
	if (file < 0)
		SKIP(return, "needs a kernel with fault injection");
	do {
		struct bo bo = { 0 };

		create = (struct drm_rocket_create_bo){ .size = 4 * PAGE };
		fail_at(file, ++nth);
		error = call(self->fd, DRM_IOCTL_ROCKET_CREATE_BO, &create);
		failed = has_failed(file);
		EXPECT_TRUE(!error || error == -ENOMEM || error == -EFAULT) {
			TH_LOG("point %u: %d", nth, error);
		}
		bo.handle = create.handle;
		if (!error)
			handle_close(self->fd, &bo);
	} while (failed && nth < MOST_POINTS);
	EXPECT_FALSE(failed);
	EXPECT_EQ(0, error);
	EXPECT_EQ(0, health_of(self->fd));
	close(file);
}

TEST_F(rocket, dma_buf_comes_back_as_the_object_that_it_is_of)
{
	int dma_buf, other = udmabuf_create();
	uint32_t handle;
	struct bo bo;

	ASSERT_EQ(0, rocket_bo_create(self->fd, PAGE, &bo));
	dma_buf = prime_export(self->fd, bo.handle);
	ASSERT_LE(0, dma_buf);
	EXPECT_EQ(0, prime_import(self->fd, dma_buf, &handle));
	EXPECT_EQ(bo.handle, handle);
	if (other >= 0)
		EXPECT_EQ(-EINVAL, prime_import(self->fd, other, &handle));
	close(dma_buf);
	close(other);
	bo_close(self->fd, &bo);
}

/* Defect 5. */
TEST_F(rocket, dma_buf_and_its_mapping_outlive_the_file)
{
	int fd = rocket_open(), dma_buf;
	struct bo bo;
	uint8_t *data;

	SPARED("gives the buffer's address back to an allocator that has gone with the file");
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rocket_bo_create(fd, 4 * PAGE, &bo));
	memset(bo.data, 0x5a, bo.size);
	dma_buf = prime_export(fd, bo.handle);
	ASSERT_LE(0, dma_buf);
	munmap(bo.data, bo.size);
	handle_close(fd, &bo);
	close(fd);
	ASSERT_EQ(0, strangers_health());
	data = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, dma_buf, 0);
	ASSERT_NE(MAP_FAILED, data);
	EXPECT_SEEN(0, bo.size, 0x5a, data);
	close(dma_buf);
	ASSERT_EQ(0, strangers_health());
	EXPECT_SEEN(0, bo.size, 0x5a, data);
	munmap(data, bo.size);
}

/* Defects 5 and 6: running, waiting for that, and waiting for a core. */
TEST_F_TIMEOUT(rocket, file_closed_with_jobs_in_flight_leaves_nothing, 120)
{
	static struct rocket_product p[20];

	SPARED("uses the file's list of schedulers, and its allocator, after it has freed them");
	NEED_BOARD(self->board);
	for (uint32_t round = 0; round < 3; round++) {
		int fd = rocket_open();

		ASSERT_LE(0, fd);
		for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++) {
			ASSERT_EQ(0, ones_create(fd, &p[i], 2));
			if (i % 2)
				p[i].reads[0] = p[i - 1].c.handle;
		}
		for (uint32_t core = 0; core < BOARD_CORES; core++)
			board_core_write(self->board, core, ORK_BOARD_CORE_STRETCH_US, HELD_US);
		for (uint32_t i = 0; i < ARRAY_LENGTH(p); i++)
			ASSERT_EQ(0, rocket_product_start(fd, &p[i]));
		unmap_everything();
		close(fd);
		gates_open(self->board);
		EXPECT_EQ(0, strangers_health());
	}
}

/* Defect 13: what a create that failed has left would be seen by the teardown. */
TEST_F(rocket, create_that_fails_leaves_nothing)
{
	struct drm_rocket_create_bo create;
	int error = 0;
	int fd = rocket_open();

	SPARED("keeps the address space for ever");
	ASSERT_LE(0, fd);
	for (uint32_t i = 0; i < 100 && !error; i++) {
		create = (struct drm_rocket_create_bo){ .size = UINT32_MAX };
		error = call(fd, DRM_IOCTL_ROCKET_CREATE_BO, &create);
		EXPECT_TRUE(error == -ENOSPC || error == -ENOMEM);
		error = health_of(fd);
	}
	EXPECT_EQ(0, error);
	close(fd);
}

/* --- interrupts and clocks: defects 7, 8 and 12 ----------------------------------------------- */

static void spurious(volatile uint32_t *board)
{
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		board_core_write(board, core, ORK_BOARD_CORE_SPURIOUS, 1);
}

/* Defect 7. */
TEST_F(rocket, spurious_interrupt_of_a_core_that_idles_is_nobodys)
{
	SPARED("takes it for the end of the job that runs when its thread does");
	NEED_BOARD(self->board);
	for (uint32_t i = 0; i < 20; i++) {
		spurious(self->board);
		EXPECT_EQ(0, health_of(self->fd));
	}
}

/* Defect 7. */
TEST_F_TIMEOUT(rocket, spurious_interrupt_ends_no_job, 120)
{
	struct rocket_product p;

	SPARED("takes it for the end, and takes the address space from under the core");
	NEED_BOARD(self->board);
	ASSERT_EQ(0, held(self, self->fd, &p));
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t done = board_sum(self->board, ORK_BOARD_CORE_PROGRAMS);

		spurious(self->board);
		EXPECT_EQ(-EBUSY, prep_now(self->fd, &p.c));
		EXPECT_TRUE(SOON(board_sum(self->board, ORK_BOARD_CORE_PROGRAMS) > done));
	}
	gates_open(self->board);
	EXPECT_EQ(0, ones_end(self->fd, &p));
}

/* Defect 7. Within half a second mainline's driver knows no late either. */
TEST_F_TIMEOUT(rocket, late_interrupt_is_no_hang, 120)
{
	struct rocket_product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, ones_create(self->fd, &p, 2));
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		board_core_write(self->board, core, ORK_BOARD_CORE_LATE_US, RIGHT(10000000, 50000));
	EXPECT_EQ(0, ones_run(self->fd, &p));
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		board_core_write(self->board, core, ORK_BOARD_CORE_LATE_US, 0);
	/* It comes now, and meets the next job. */
	EXPECT_EQ(0, ones_run(self->fd, &p));
}

/* Defect 7: mainline's reset neither masks nor waits for it; what that meets is up to the moment. */
TEST_F_TIMEOUT(rocket, interrupt_in_a_reset_leaves_the_core_alone, 120)
{
	struct rocket_product p;
	uint32_t accesses = 0;

	NEED_BOARD(self->board);
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		board_core_write(self->board, core, ORK_BOARD_CORE_NOISY_RESETS, 1);
	ASSERT_EQ(0, ones_create(self->fd, &p, 1));
	ASSERT_EQ(0, spoil(self->fd, &p, HANG));
	ASSERT_EQ(0, rocket_product_start(self->fd, &p));
	EXPECT_EQ(RIGHT(-EIO, 0), rocket_prep(self->fd, &p.c));
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		accesses += board_measure(self->board, core, ORK_BOARD_MEASURE_ACCESSES_IN_RESET);
	EXPECT_GE(RIGHT(0, UINT32_MAX), accesses);
}

/*
 * Defect 8. One clock of the board stands for all of a core's, so that only their number shows, and
 * mainline's driver has one of them four times.
 */
#define CLOCK_ENABLES	"/sys/kernel/debug/clk/npu-clock/clk_enable_count"
#define CORE_CLOCKS	4

TEST_F(rocket, core_that_runs_has_all_its_clocks)
{
	struct rocket_product p;
	char count[16] = "";
	int file;

	NEED_BOARD(self->board);
	if (access(CLOCK_ENABLES, R_OK))
		SKIP(return, "needs " CLOCK_ENABLES);
	ASSERT_EQ(0, held(self, self->fd, &p));
	file = open(CLOCK_ENABLES, O_RDONLY | O_CLOEXEC);
	EXPECT_LT(0, read(file, count, sizeof(count) - 1));
	EXPECT_LE(CORE_CLOCKS, atoi(count));
	gates_open(self->board);
	EXPECT_EQ(0, ones_end(self->fd, &p));
	close(file);
}

/* --- what is seen of a client ----------------------------------------------------------------- */

TEST_F(rocket, debugfs_tells_of_clients_and_their_jobs)
{
	struct rocket_product p;
	char client[32];

	SPARED("has no such files");
	NEED_BOARD(self->board);
	NEED_DEBUGFS;
	snprintf(client, sizeof(client), "pid %d comm", getpid());
	ASSERT_EQ(0, held(self, self->fd, &p));
	EXPECT_NE(NULL, strstr(debugfs_text("vms"), client));
	EXPECT_NE(NULL, strstr(debugfs_text("cores"), client));
	EXPECT_NE(NULL, strstr(debugfs_text("staged"), client));
	EXPECT_NE(NULL, strstr(debugfs_text("staged"), "waiting 0 staged 0 running 1 client"));
	gates_open(self->board);
	EXPECT_EQ(0, ones_end(self->fd, &p));
}

/* --- nodes that come and go: defects 9 to 12 -------------------------------------------------- */

static int unbind_all(const struct nodes *nodes)
{
	int error = 0;

	for (uint32_t i = 0; i < nodes->count && !error; i++)
		error = node_unbind(nodes, i);
	return error;
}

struct waiter {
	int fd;
	uint32_t handle;
};

static void *wait_for_ever(void *opaque)
{
	const struct waiter *waiter = opaque;

	return (void *)(intptr_t)prep_until(waiter->fd, waiter->handle, INT64_MAX);
}

/* All that a file can be asked for; what is asked does not matter once the device is gone. */
static const unsigned long requests[] = {
	DRM_IOCTL_VERSION, DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_PRIME_HANDLE_TO_FD,
	DRM_IOCTL_ROCKET_CREATE_BO, DRM_IOCTL_ROCKET_SUBMIT, DRM_IOCTL_ROCKET_PREP_BO,
	DRM_IOCTL_ROCKET_FINI_BO,
};

static void expect_gone(struct __test_metadata *_metadata, int fd)
{
	for (size_t i = 0; i < ARRAY_LENGTH(requests); i++) {
		uint8_t argument[128] = { 0 };

		EXPECT_EQ(-ENODEV, call(fd, requests[i], argument)) {
			TH_LOG("ioctl %lx", requests[i]);
		}
	}
	EXPECT_EQ(-ENODEV, rocket_open());
}

/* Defect 10. */
TEST_F_TIMEOUT(rocket, unbind_ends_what_runs_and_wakes_who_waits, 120)
{
	struct rocket_product p;
	struct waiter waiter;
	pthread_t thread;
	void *result;

	SPARED("ends schedulers that open files use");
	NEED_BOARD(self->board);
	NEED_NODES(&self->nodes);
	ASSERT_EQ(0, held(self, self->fd, &p));
	waiter = (struct waiter){ self->fd, p.c.handle };
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_ever, &waiter));
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	ASSERT_EQ(0, pthread_join(thread, &result));
	/* It came too late, or waited for what then failed. */
	EXPECT_TRUE((intptr_t)result == -ENODEV || (intptr_t)result == -EIO);
	expect_gone(_metadata, self->fd);
	/* Memory stays. */
	p.a.data[0] = 2;
	EXPECT_EQ(2, p.a.data[0]);
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
	gates_open(self->board);
	EXPECT_EQ(0, strangers_health());
	EXPECT_EQ(-ENODEV, prep_now(self->fd, &p.c));
}

/* Defects 9, 10 and 11: the node is there with its last core, and gone with the first. */
TEST_F_TIMEOUT(rocket, cores_may_go_and_come_in_any_order, 120)
{
	static const uint32_t orders[][BOARD_CORES] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	uint32_t count = self->nodes.count == BOARD_CORES ? ARRAY_LENGTH(orders) : 1;

	SPARED("counts cores, and then uses the wrong ones");
	NEED_NODES(&self->nodes);
	for (uint32_t i = 0; i < count * 2; i++) {
		int fd = rocket_open();

		ASSERT_LE(0, fd);
		EXPECT_EQ(0, health_of(fd));
		for (uint32_t j = 0; j < self->nodes.count; j++) {
			EXPECT_EQ(0, node_unbind(&self->nodes, orders[i % count][j]));
			expect_gone(_metadata, fd);
		}
		for (uint32_t j = 0; j < self->nodes.count; j++) {
			EXPECT_EQ(-ENODEV, rocket_open());
			EXPECT_EQ(0, node_bind(&self->nodes, orders[i / 2 % count][j]));
		}
		close(fd);
		EXPECT_EQ(0, strangers_health());
	}
}

/* Defect 11: one goes and comes, time after time, with files open. */
TEST_F_TIMEOUT(rocket, core_that_comes_again_is_the_same, 120)
{
	int fds[12];

	SPARED("leaves the place of a core that has gone in its array");
	NEED_BOARD(self->board);
	NEED_NODES(&self->nodes);
	for (uint32_t i = 0; i < ARRAY_LENGTH(fds); i++) {
		fds[i] = rocket_open();
		ASSERT_LE(0, fds[i]);
		EXPECT_EQ(0, health_of(fds[i]));
		EXPECT_EQ(0, node_unbind(&self->nodes, i % self->nodes.count));
		EXPECT_EQ(0, node_bind(&self->nodes, i % self->nodes.count));
	}
	close(self->fd);
	self->fd = rocket_open();
	ASSERT_LE(0, self->fd);
	expect_cores(_metadata, self, self->fd, BOARD_CORES);
}

struct opener {
	_Atomic bool stop;
	_Atomic uint32_t opened;
	_Atomic int error;
};

/* A node that opens can be used, until it is gone. */
static void *open_again_and_again(void *opaque)
{
	struct opener *opener = opaque;

	while (!opener->stop && !opener->error) {
		int fd = rocket_open();
		int error = fd < 0 ? fd : health_of(fd);

		if (fd >= 0)
			close(fd);
		opener->opened += !error;
		/* -EIO: the job was cancelled. */
		if (error && error != -ENODEV && error != -EIO)
			opener->error = error;
	}
	return NULL;
}

/* Defect 9. */
TEST_F_TIMEOUT(rocket, node_may_be_opened_while_cores_come_and_go, 120)
{
	struct opener opener = { 0 };
	pthread_t threads[2];

	SPARED("has a node before it has a core, and opening looks at the first");
	NEED_NODES(&self->nodes);
	for (uint32_t i = 0; i < ARRAY_LENGTH(threads); i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, open_again_and_again, &opener));
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t opened = opener.opened;

		EXPECT_EQ(0, unbind_all(&self->nodes));
		bind_all(&self->nodes);
		EXPECT_TRUE(SOON(opener.opened > opened || opener.error));
	}
	opener.stop = true;
	for (uint32_t i = 0; i < ARRAY_LENGTH(threads); i++)
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
	EXPECT_EQ(0, opener.error);
}

/* Defect 12: its handler is there still, what it uses is not. */
TEST_F_TIMEOUT(rocket, interrupt_of_a_core_that_has_gone_is_nobodys, 120)
{
	SPARED("keeps the handler of a core that it has taken apart");
	NEED_BOARD(self->board);
	NEED_NODES(&self->nodes);
	for (uint32_t i = 0; i < 6; i++) {
		spurious(self->board);
		EXPECT_EQ(0, unbind_all(&self->nodes));
		spurious(self->board);
		bind_all(&self->nodes);
		spurious(self->board);
		EXPECT_EQ(0, strangers_health());
	}
}

/* Defect 12: what was begun is undone, and no more. */
TEST_F_TIMEOUT(rocket, core_that_does_not_come_up_can_come_later, 120)
{
	static const char *const points[] = { "clock", "power", "queue" };

	SPARED("finishes a scheduler whose beginning has failed");
	NEED_NODES(&self->nodes);
	for (size_t i = 0; i < ARRAY_LENGTH(points); i++) {
		if (point_write(points[i], "times", 1) || point_write(points[i], "verbose", 0))
			SKIP(return, "needs a kernel with fault injection");
		/* The first visit from here on. */
		EXPECT_EQ(0, point_write(points[i], "space", 1));
		EXPECT_EQ(0, point_write(points[i], "probability", 100));
		EXPECT_EQ(0, unbind_all(&self->nodes));
		bind_all(&self->nodes);
		EXPECT_EQ(-ENODEV, rocket_open());
		/* Those that are bound already stay so. */
		bind_all(&self->nodes);
		EXPECT_EQ(0, strangers_health());
	}
}

SUITE_MAIN(rocket_open, "no node of rocket's interface")

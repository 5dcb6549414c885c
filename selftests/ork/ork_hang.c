// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cores that hang, and hardware that misbehaves: what it costs the job that it meets, and that it
 * costs nobody else anything. Through every test two other clients run, which must not notice.
 *
 * Numbers are those of a collection of public bug reports about NPU drivers.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <npu.h>
#include "ork_test.h"
#include "board.h"
#include "bystander.h"
#include "driver.h"
#include "jobs.h"

#define MILLISECOND	(SECOND / 1000)

/* Of the jobs that hang here, unless a test is about it. */
#define TIMEOUT_MS	300
/* Of those that must not: an emulated core may stand still while its host is busy. */
#define NEVER_MS	BYSTANDER_TIMEOUT_MS
/* Long enough for others to do much meanwhile. */
#define LONG_MS		6000
/* A chain of so many programs on a core that takes so much longer for each outlives a hang. */
#define LONG_PROGRAMS	70
#define LONG_US		5000

/* What every test has. */
struct scene {
	int fd;
	struct drm_ork_device_info info;
	volatile uint32_t *board;
	struct bystanders *bystanders;
};

static void scene_setup(struct __test_metadata *_metadata, struct scene *s)
{
	s->board = board_open();
	board_behave(s->board);
	s->fd = device_open();
	ASSERT_LE(0, s->fd);
	s->info = device_info(s->fd);
	s->bystanders = bystanders_start();
	ASSERT_NE(NULL, s->bystanders);
}

/* Others have lost nothing, and the device is still there for them. */
static void scene_teardown(struct __test_metadata *_metadata, struct scene *s)
{
	board_behave(s->board);
	EXPECT_TRUE(bystanders_progress(s->bystanders));
	EXPECT_EQ(0, bystanders_stop(s->bystanders));
	EXPECT_EQ(0, health_everywhere());
	close(s->fd);
}

static uint64_t resets(const struct scene *s)
{
	uint64_t sum = 0;

	for (uint32_t core = 0; core < s->info.num_cores; core++)
		sum += core_counters(s->fd, core).resets;
	return sum;
}

static int poll_job(int fd, uint32_t done)
{
	struct drm_ork_wait wait = { .syncobj = done };

	return call(fd, DRM_IOCTL_ORK_WAIT, &wait);
}

/* --- every way to hang ------------------------------------------------------------------------ */

/*
 * Case 55: a job for each core. The one that a test has spoilt hangs; the others run long enough to
 * be there all the while, and must not notice.
 */
struct jobs {
	struct product products[ORK_MAX_CORES];
	uint32_t done[ORK_MAX_CORES];
};

/* Of the spoilt job's chain the first program is good, the second is the bad one. */
#define BAD_PROGRAMS	3
#define BAD_PROGRAM	1
/* So that 32 kernels fill two weight banks. */
#define BAD_K		2048

static int jobs_create(const struct scene *s, uint32_t bad, struct jobs *jobs)
{
	int error = 0;

	for (uint32_t i = 0; i < s->info.num_cores && !error; i++) {
		error = product_create(s->fd, &jobs->products[i], 1, BAD_K, 32,
				       i == bad ? BAD_PROGRAMS : LONG_PROGRAMS);
		if (!error)
			error = syncobj_create(s->fd, &jobs->done[i]);
		if (s->board && i != bad)
			board_core_write(s->board, i, ORK_BOARD_CORE_STRETCH_US, LONG_US);
	}
	return error;
}

static int jobs_submit(const struct scene *s, struct jobs *jobs, uint32_t bad, uint32_t timeout_ms)
{
	struct drm_ork_job args[ORK_MAX_CORES];

	for (uint32_t i = 0; i < s->info.num_cores; i++) {
		args[i] = product_job(&jobs->products[i], 1u << i);
		args[i].out_syncobj = jobs->done[i];
		args[i].timeout_ms = i == bad ? timeout_ms : NEVER_MS;
	}
	return submit_jobs(s->fd, args, s->info.num_cores, 0);
}

/* Where a spoiler goes to work: on a chain that is good in all respects but the one it spoils. */
struct victim {
	const struct scene *scene;
	struct product *product;
	uint32_t core;
};

FIXTURE(kind) {
	struct scene scene;
};

FIXTURE_VARIANT(kind) {
	int (*spoil)(const struct victim *victim);
	uint32_t core;
	enum npu_hang hang;	/* why, says the model */
	int status;
};

FIXTURE_SETUP(kind)
{
	scene_setup(_metadata, &self->scene);
}

FIXTURE_TEARDOWN(kind)
{
	scene_teardown(_metadata, &self->scene);
}

/* The variant of a spoiler, and the core that it is tried on. */
#define HANG(name, number, why)						\
	FIXTURE_VARIANT_ADD(kind, name) {					\
		.spoil = name, .core = number, .hang = why, .status = -ETIMEDOUT,	\
	}
#define FAULT(name, number)							\
	FIXTURE_VARIANT_ADD(kind, name) {					\
		.spoil = name, .core = number, .hang = NPU_HANG_FAULT, .status = -EFAULT,	\
	}

static int spoil_register(const struct victim *victim, uint32_t reg, uint32_t value)
{
	product_set(victim->product, BAD_PROGRAM, reg, value);
	return 0;
}

/* A word of the tail of the program before the bad one: the link to that. */
static int spoil_link(const struct victim *victim, uint32_t reg, uint32_t value)
{
	uint64_t *link = product_program(victim->product, BAD_PROGRAM - 1) + PROGRAM_TAIL;

	link[reg == ORK_PC_REGISTER_AMOUNTS] = regcmd(reg, value);
	return 0;
}

static int spoil_word(const struct victim *victim, uint32_t index, uint64_t word)
{
	product_program(victim->product, BAD_PROGRAM)[index] = word;
	return 0;
}

static int spoil_banks(const struct victim *victim, uint32_t weight, uint32_t data)
{
	return spoil_register(victim, ORK_CNA_CBUF_CON0,
			      ORK_PREP(ORK_CNA_CBUF_CON0_WEIGHT_BANK, weight) |
			      ORK_PREP(ORK_CNA_CBUF_CON0_DATA_BANK, data));
}

static int weight_banks_too_small(const struct victim *victim)
{
	return spoil_banks(victim, 1, 1);
}
HANG(weight_banks_too_small, 0, NPU_HANG_WEIGHT_BANKS);

static int banks_over_twelve(const struct victim *victim)
{
	return spoil_banks(victim, 12, 1);
}
HANG(banks_over_twelve, 1, NPU_HANG_BANKS);

static int no_weight_bank(const struct victim *victim)
{
	return spoil_banks(victim, 0, 1);
}
HANG(no_weight_bank, 2, NPU_HANG_BANKS);

static int no_data_bank(const struct victim *victim)
{
	return spoil_banks(victim, 11, 0);
}
HANG(no_data_bank, 0, NPU_HANG_BANKS);

static int rows_beyond_the_data_banks(const struct victim *victim)
{
	return spoil_register(victim, ORK_CNA_CBUF_CON1,
			      ORK_CBUF_BANK_BYTES / ORK_CBUF_ENTRY_BYTES + 1);
}
HANG(rows_beyond_the_data_banks, 1, NPU_HANG_DATA_BANKS);

/* One block waits for what the other never sends. */
static int sizes_that_disagree(const struct victim *victim)
{
	return spoil_register(victim, ORK_DPU_WDMA_SIZE_0, victim->product->gemm.n);
}
HANG(sizes_that_disagree, 2, NPU_HANG_UNSUPPORTED);

/* Its registers are written to the group whose turn it is not. */
static int group_out_of_turn(const struct victim *victim)
{
	return spoil_register(victim, ORK_DPU_S_POINTER, ORK_S_POINTER_POINTER);
}
HANG(group_out_of_turn, 0, NPU_HANG_PROGRAM);

static int block_that_was_told_nothing(const struct victim *victim)
{
	return spoil_word(victim, PROGRAM_WORDS - 1,
			  ORK_REGCMD(ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE,
				     ORK_ENABLE_PPU | ORK_ENABLE_PPU_RDMA));
}
HANG(block_that_was_told_nothing, 1, NPU_HANG_UNSUPPORTED);

static int word_of_no_block(const struct victim *victim)
{
	return spoil_word(victim, 0, ORK_REGCMD(0x0401, ORK_CNA_CBUF_CON0, 0));
}
HANG(word_of_no_block, 2, NPU_HANG_PROGRAM);

static int program_of_zeros(const struct victim *victim)
{
	memset(product_program(victim->product, BAD_PROGRAM), 0, PROGRAM_BYTES);
	return 0;
}
HANG(program_of_zeros, 0, NPU_HANG_PROGRAM);

/* The program's last beat, which starts the blocks, is not fetched. */
static int amount_too_small(const struct victim *victim)
{
	return spoil_link(victim, ORK_PC_REGISTER_AMOUNTS,
			  ORK_PC_AMOUNT(PROGRAM_WORDS - ORK_PROGRAM_BEAT_WORDS));
}
HANG(amount_too_small, 1, NPU_HANG_PROGRAM);

/* It reaches into the next program. */
static int amount_too_large(const struct victim *victim)
{
	return spoil_link(victim, ORK_PC_REGISTER_AMOUNTS,
			  ORK_PC_AMOUNT(PROGRAM_WORDS + ORK_PROGRAM_BEAT_WORDS));
}
HANG(amount_too_large, 2, NPU_HANG_PROGRAM);

static int link_without_amount(const struct victim *victim)
{
	return spoil_link(victim, ORK_PC_REGISTER_AMOUNTS, 0);
}
HANG(link_without_amount, 0, NPU_HANG_LINK);

static int link_without_address(const struct victim *victim)
{
	return spoil_link(victim, ORK_PC_BASE_ADDRESS, 0);
}
HANG(link_without_address, 1, NPU_HANG_LINK);

static int link_off_sixteen_bytes(const struct victim *victim)
{
	return spoil_link(victim, ORK_PC_BASE_ADDRESS,
			  product_program_iova(victim->product, BAD_PROGRAM) + 8);
}
HANG(link_off_sixteen_bytes, 2, NPU_HANG_LINK);

static int more_programs_than_the_chain_has(const struct victim *victim)
{
	product_cut(victim->product, BAD_PROGRAM);
	return 0;
}
HANG(more_programs_than_the_chain_has, 0, NPU_HANG_LINK);

/* Case 49: accepted, and never started, while one of the others opens and closes files. */
static int start_that_is_ignored(const struct victim *victim)
{
	const struct scene *s = victim->scene;

	if (!bystanders_confine(s->bystanders, s->info.core_mask & ~(1u << victim->core)))
		return -ETIME;
	board_core_write(s->board, victim->core, ORK_BOARD_CORE_IGNORE, 1);
	return 0;
}
HANG(start_that_is_ignored, 1, NPU_OK);

/* Behind every object lies a page that is mapped to nothing. */
static uint32_t unmapped(const struct victim *victim)
{
	return victim->product->bo.iova + victim->product->bo.size;
}

static int fault_on_a_program(const struct victim *victim)
{
	return spoil_link(victim, ORK_PC_BASE_ADDRESS, unmapped(victim));
}
FAULT(fault_on_a_program, 0);

static int fault_on_a_program_in_page_0(const struct victim *victim)
{
	return spoil_link(victim, ORK_PC_BASE_ADDRESS, ORK_PROGRAM_ALIGN);
}
FAULT(fault_on_a_program_in_page_0, 1);

static int fault_on_activations(const struct victim *victim)
{
	return spoil_register(victim, ORK_CNA_FEATURE_DATA_ADDR, unmapped(victim));
}
FAULT(fault_on_activations, 2);

static int fault_on_weights(const struct victim *victim)
{
	return spoil_register(victim, ORK_CNA_DCOMP_ADDR0, unmapped(victim));
}
FAULT(fault_on_weights, 0);

static int fault_on_results(const struct victim *victim)
{
	return spoil_register(victim, ORK_DPU_DST_BASE_ADDR, unmapped(victim));
}
FAULT(fault_on_results, 1);

/* What the core has just translated it must not find in its cache of translations. */
static int fault_on_memory_given_back(const struct victim *victim)
{
	int fd = victim->scene->fd, error;
	struct product p = *victim->product;
	struct drm_ork_job job;
	struct bo gone;

	error = bo_create(fd, PAGE, &gone);
	if (error)
		return error;
	product_set(&p, BAD_PROGRAM, ORK_DPU_DST_BASE_ADDR, gone.iova);
	job = product_job(&p, 1u << victim->core);
	error = run_job(fd, &job);
	bo_close(fd, &gone);
	return error;
}
FAULT(fault_on_memory_given_back, 2);

/* Whether the core is seen to hang for that reason while its job has not ended. */
static bool hangs_for(const struct scene *s, uint32_t core, enum npu_hang hang, uint32_t done)
{
	while (poll_job(s->fd, done) == -EBUSY)
		if (board_core_read(s->board, core, ORK_BOARD_CORE_HANG) == hang)
			return true;
	return false;
}

/* Case 50: what those see of a job who wait for a file. The status, or the error of an ioctl. */
static int exported_status(int fd, uint32_t syncobj)
{
	int file = sync_file_export(fd, syncobj), status;

	if (file < 0)
		return file;
	status = sync_file_status(file);
	close(file);
	return status;
}

/* The job on @bad ends with @status; all others end well. */
static void expect_one_to_fail(struct __test_metadata *_metadata, const struct scene *s,
			       const struct jobs *jobs, uint32_t bad, int status)
{
	for (uint32_t i = 0; i < s->info.num_cores; i++) {
		EXPECT_EQ(i == bad ? status : 0, job_status(s->fd, jobs->done[i]));
		EXPECT_EQ(i == bad ? status : 1, exported_status(s->fd, jobs->done[i]));
		if (i != bad)
			EXPECT_EQ(0u, product_wrong(&jobs->products[i], BAD_K));
	}
}

/* Case 53: the core does what it failed at, done right, in the same memory. */
static void expect_whole(struct __test_metadata *_metadata, const struct scene *s,
			 struct product *p, uint32_t core)
{
	struct drm_ork_job job = product_job(p, 1u << core);

	product_emit(p);
	memset(p->bo.data + p->c, UNTOUCHED, product_c_bytes(p));
	EXPECT_EQ(0, run_job(s->fd, &job));
	EXPECT_EQ(0u, product_wrong(p, p->gemm.k));
	EXPECT_EQ(0, health_everywhere());
}

/* A hang is found when its timeout is over, a fault long before. */
#define PATIENT_MS	60000
#define LONG_BEFORE	10

static void expect_in_time(struct __test_metadata *_metadata, int status, int64_t elapsed)
{
	if (status == -ETIMEDOUT) {
		EXPECT_LE(TIMEOUT_MS * MILLISECOND, elapsed);
	} else {
		EXPECT_GT(PATIENT_MS * MILLISECOND / LONG_BEFORE, elapsed);
	}
}

TEST_F_TIMEOUT(kind, costs_that_job_only, 120)
{
	const struct scene *s = &self->scene;
	const uint32_t bad = variant->core % s->info.num_cores;
	const bool fault = variant->status == -EFAULT;
	struct jobs jobs;
	struct victim victim = { s, &jobs.products[bad], bad };
	uint64_t before;
	uint32_t faults;
	int64_t start;

	if (variant->hang == NPU_OK)
		NEED_BOARD(s->board);
	ASSERT_EQ(0, jobs_create(s, bad, &jobs));
	ASSERT_EQ(0, variant->spoil(&victim));
	before = resets(s);
	faults = s->board ? board_core_read(s->board, bad, ORK_BOARD_CORE_FAULTS) : 0;
	start = now_ns();
	ASSERT_EQ(0, jobs_submit(s, &jobs, bad, fault ? PATIENT_MS : TIMEOUT_MS));
	if (s->board && !fault)
		EXPECT_TRUE(hangs_for(s, bad, variant->hang, jobs.done[bad]));
	EXPECT_EQ(variant->status, job_status(s->fd, jobs.done[bad]));
	expect_in_time(_metadata, variant->status, now_ns() - start);
	expect_one_to_fail(_metadata, s, &jobs, bad, variant->status);
	if (s->board)
		EXPECT_EQ(faults + fault, board_core_read(s->board, bad, ORK_BOARD_CORE_FAULTS));
	EXPECT_EQ(before + 1, resets(s));
	EXPECT_EQ(1u, file_counters(s->fd).resets);
	expect_whole(_metadata, s, &jobs.products[bad], bad);
}

/* --- hangs, and who is near ------------------------------------------------------------------- */

FIXTURE(hang) {
	struct scene scene;
};

FIXTURE_SETUP(hang)
{
	scene_setup(_metadata, &self->scene);
}

FIXTURE_TEARDOWN(hang)
{
	scene_teardown(_metadata, &self->scene);
}

/* Submits a job, of which @done tells the end. */
static int launch(int fd, struct product *p, uint32_t core_mask, uint32_t timeout_ms,
		  uint32_t *done)
{
	struct drm_ork_job job = product_job(p, core_mask);
	int error = syncobj_create(fd, done);

	job.timeout_ms = timeout_ms;
	return error ? error : submit_jobs(fd, &job, 1, *done);
}

/* A hang on @core from a file of its own. The job's status. */
static int hang_once(uint32_t core, uint32_t timeout_ms)
{
	int fd = device_open(), status;
	struct product p;
	struct drm_ork_job job;

	if (fd < 0)
		return fd;
	status = hanging_product(fd, &p);
	if (!status) {
		job = product_job(&p, 1u << core);
		job.timeout_ms = timeout_ms;
		status = run_job(fd, &job);
		bo_close(fd, &p.bo);
	}
	close(fd);
	return status;
}

/* A job of this file whose results go nowhere. Its status. */
static int fault(const struct scene *s, uint32_t core_mask, uint32_t timeout_ms)
{
	struct drm_ork_job job;
	struct product p;
	int error = product_create(s->fd, &p, 1, 64, 32, 1);

	if (error)
		return error;
	product_set(&p, 0, ORK_DPU_DST_BASE_ADDR, 0);
	job = product_job(&p, core_mask);
	job.timeout_ms = timeout_ms;
	error = run_job(s->fd, &job);
	bo_close(s->fd, &p.bo);
	return error;
}

/* One node for all cores: they share an IOMMU, so that one that hangs keeps it from other clients. */
static bool shared_iommu(const struct scene *s)
{
	glob_t nodes;
	bool shared;

	glob("/sys/bus/platform/drivers/ork-node/*.npu", 0, NULL, &nodes);
	shared = nodes.gl_pathc == 1 && s->info.num_cores > 1;
	globfree(&nodes);
	return shared;
}

TEST_F_TIMEOUT(hang, in_a_later_task_ends_the_job, 120)
{
	const struct scene *s = &self->scene;
	struct drm_ork_task tasks[3];
	struct drm_ork_extent extents[3 * 4];
	struct product products[3];
	struct drm_ork_job job;

	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(0, product_create(s->fd, &products[i], 1, 64, 32, 3));
		tasks[i] = products[i].task;
		memcpy(extents + 4 * i, products[i].extents, sizeof(products[i].extents));
	}
	product_cut(&products[1], 1);
	job = product_job(&products[0], 0);
	job.tasks = ARRAY(tasks, 3);
	job.extents = ARRAY(extents, 3 * 4);
	job.timeout_ms = TIMEOUT_MS;
	EXPECT_EQ(-ETIMEDOUT, run_job(s->fd, &job));
	EXPECT_EQ(0u, product_wrong(&products[0], 64));
	EXPECT_TRUE(product_untouched(&products[2]));
	EXPECT_EQ(1u, file_counters(s->fd).resets);
	EXPECT_EQ(3u, file_counters(s->fd).programs);
}

TEST_F_TIMEOUT(hang, of_all_cores_at_once_is_one_reset_each, 120)
{
	const struct scene *s = &self->scene;
	struct product bad[ORK_MAX_CORES];
	uint32_t done[ORK_MAX_CORES];
	uint64_t before = resets(s);

	for (uint32_t i = 0; i < s->info.num_cores; i++) {
		ASSERT_EQ(0, hanging_product(s->fd, &bad[i]));
		ASSERT_EQ(0, launch(s->fd, &bad[i], 1u << i, TIMEOUT_MS, &done[i]));
	}
	for (uint32_t i = 0; i < s->info.num_cores; i++)
		EXPECT_EQ(-ETIMEDOUT, job_status(s->fd, done[i]));
	EXPECT_EQ(before + s->info.num_cores, resets(s));
}

/*
 * From when a hang is found, which its job's end tells, to the end of a job that waited for the
 * core. Negative if one of them ends otherwise.
 */
static int64_t time_to_return(const struct scene *s, struct product *bad, struct product *next)
{
	uint32_t hung, waited;
	int64_t found;

	if (launch(s->fd, bad, 1, TIMEOUT_MS, &hung) || launch(s->fd, next, 1, NEVER_MS, &waited) ||
	    job_status(s->fd, hung) != -ETIMEDOUT)
		return -1;
	found = now_ns();
	return job_status(s->fd, waited) ? -1 : now_ns() - found;
}

/* At best, since other programs want the machine too. */
TEST_F_TIMEOUT(hang, is_over_soon_after_it_is_found, 120)
{
	const struct scene *s = &self->scene;
	int64_t best = INT64_MAX;
	struct product bad, next;

	ASSERT_EQ(0, hanging_product(s->fd, &bad));
	ASSERT_EQ(0, product_create(s->fd, &next, 1, 64, 32, 1));
	for (unsigned int i = 0; i < 4; i++) {
		int64_t elapsed = time_to_return(s, &bad, &next);

		EXPECT_LE(0, elapsed);
		EXPECT_EQ(0u, product_wrong(&next, 64));
		best = elapsed < best ? elapsed : best;
	}
	EXPECT_GT(TIMEOUT_MS * MILLISECOND / 4, best);
}

/*
 * Not when the watchdog looks next: beside these jobs it looks at the core every few seconds, after
 * the first.
 */
TEST_F_TIMEOUT(hang, for_a_fault_is_told_at_once, 120)
{
	const struct scene *s = &self->scene;

	ASSERT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~1u));
	for (unsigned int i = 0; i < 3; i++) {
		int64_t start = now_ns();

		EXPECT_EQ(-EFAULT, fault(s, 1, PATIENT_MS));
		EXPECT_GT(PATIENT_MS * MILLISECOND / LONG_BEFORE, now_ns() - start);
	}
}

/*
 * The core's own status tells of the fault at once: the watchdog sees it before the IOMMU has
 * reported it.
 */
TEST_F_TIMEOUT(hang, for_a_fault_waits_for_the_iommus_report, 120)
{
	/* The first look of eight comes before the report, and the last long after it. */
	const uint32_t timeout_ms = 4000, late_ms = 900;
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		const uint32_t mask = 1u << core;
		int64_t start;

		ASSERT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~mask));
		board_core_write(s->board, core, ORK_BOARD_CORE_FAULT_LATE_US, late_ms * 1000);
		start = now_ns();
		EXPECT_EQ(-EFAULT, fault(s, mask, timeout_ms));
		EXPECT_LE(late_ms * MILLISECOND, now_ns() - start);
		EXPECT_EQ(0, health(s->fd, mask));
	}
}

TEST_F_TIMEOUT(hang, leaves_the_other_cores_to_others, 120)
{
	const struct scene *s = &self->scene;
	struct product bad;
	uint32_t done;

	if (shared_iommu(s))
		SKIP(return, "needs an IOMMU for each core");
	ASSERT_EQ(0, hanging_product(s->fd, &bad));
	ASSERT_EQ(0, launch(s->fd, &bad, 1, LONG_MS, &done));
	EXPECT_TRUE(bystanders_progress(s->bystanders));
	EXPECT_EQ(-EBUSY, poll_job(s->fd, done));
	EXPECT_EQ(-ETIMEDOUT, job_status(s->fd, done));
}

/* Each of three files has more jobs for the core that hangs than are ever in flight. */
TEST_F_TIMEOUT(hang, holds_up_no_jobs_for_other_cores, 120)
{
	const struct scene *s = &self->scene;
	struct product bad, good;
	int fds[3] = { s->fd };
	uint32_t done, last;

	if (s->info.num_cores < 2)
		SKIP(return, "needs two cores");
	if (shared_iommu(s))
		SKIP(return, "needs an IOMMU for each core");
	ASSERT_EQ(0, hanging_product(s->fd, &bad));
	ASSERT_EQ(0, launch(s->fd, &bad, 1, LONG_MS, &done));
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
		fds[i] = i ? device_open() : s->fd;
		ASSERT_LE(0, fds[i]);
		/* Each has an object of its own: nothing to wait for but the core. */
		for (unsigned int job = 0; job < 10; job++) {
			ASSERT_EQ(0, product_create(fds[i], &good, 1, 64, 32, 1));
			ASSERT_EQ(0, launch(fds[i], &good, 1, NEVER_MS, &last));
		}
		ASSERT_EQ(0, product_create(fds[i], &good, 1, 64, 32, 1));
		ASSERT_EQ(0, launch(fds[i], &good, 2, NEVER_MS, &last));
		EXPECT_EQ(0, job_status(fds[i], last));
		EXPECT_EQ(0u, product_wrong(&good, 64));
	}
	EXPECT_EQ(-EBUSY, poll_job(s->fd, done));
	EXPECT_EQ(-ETIMEDOUT, job_status(s->fd, done));
	EXPECT_TRUE(bystanders_progress(s->bystanders));
	for (size_t i = 1; i < ARRAY_LENGTH(fds); i++)
		close(fds[i]);
}

/* --- timeouts: case 71 ------------------------------------------------------------------------ */

#define SHORT_MS	60

TEST_F_TIMEOUT(hang, is_found_by_each_jobs_own_timeout, 120)
{
	const struct scene *s = &self->scene;
	struct product quick, slow;
	uint32_t quick_done, slow_done;
	int64_t start;

	if (s->info.num_cores < 2)
		SKIP(return, "needs two cores");
	/* Else a bystander may claim it, and the quick one waits for the slow one to end. */
	if (shared_iommu(s))
		SKIP(return, "needs an IOMMU for each core");
	ASSERT_EQ(0, hanging_product(s->fd, &quick));
	ASSERT_EQ(0, hanging_product(s->fd, &slow));
	start = now_ns();
	ASSERT_EQ(0, launch(s->fd, &slow, 1, LONG_MS, &slow_done));
	ASSERT_EQ(0, launch(s->fd, &quick, 2, SHORT_MS, &quick_done));
	EXPECT_EQ(-ETIMEDOUT, job_status(s->fd, quick_done));
	EXPECT_LE(SHORT_MS * MILLISECOND, now_ns() - start);
	EXPECT_EQ(-EBUSY, poll_job(s->fd, slow_done));
	EXPECT_EQ(-ETIMEDOUT, job_status(s->fd, slow_done));
	EXPECT_LE(LONG_MS * MILLISECOND, now_ns() - start);
}

/* Longer than any machine stands still: a program that ends meanwhile has not hung. */
#define FOR_EVER_MS	20000
/* More than the timeout of a job that names none. */
#define WHILE_MS	1000

/* How a program ends that takes so long. */
static int run_for(const struct scene *s, struct product *p, uint32_t ms, uint32_t timeout_ms)
{
	struct drm_ork_job job = product_job(p, 1);

	job.timeout_ms = timeout_ms;
	board_core_write(s->board, 0, ORK_BOARD_CORE_STRETCH_US, ms * 1000);
	return run_job(s->fd, &job);
}

TEST_F_TIMEOUT(hang, is_what_a_jobs_timeout_says, 120)
{
	const struct scene *s = &self->scene;
	struct product p;

	NEED_BOARD(s->board);
	ASSERT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~1u));
	ASSERT_EQ(0, product_create(s->fd, &p, 1, 64, 32, 1));
	EXPECT_EQ(-ETIMEDOUT, run_for(s, &p, FOR_EVER_MS, SHORT_MS));
	EXPECT_EQ(0, run_for(s, &p, WHILE_MS, LONG_MS));
	EXPECT_EQ(0, run_for(s, &p, WHILE_MS, DRM_ORK_MAX_TIMEOUT_MS));
	EXPECT_EQ(-ETIMEDOUT, run_for(s, &p, FOR_EVER_MS, SHORT_MS));
}

/* The bystanders' jobs, which name no timeout, take far less than any of these. */
TEST_F_TIMEOUT(hang, is_what_the_modules_timeout_says_of_a_job_without_one, 120)
{
	const struct scene *s = &self->scene;
	struct product p;

	NEED_BOARD(s->board);
	if (access(JOB_TIMEOUT, W_OK))
		SKIP(return, "needs the right to set the module's timeout_ms");
	ASSERT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~1u));
	ASSERT_EQ(0, product_create(s->fd, &p, 1, 64, 32, 1));
	EXPECT_EQ(0, write_text(JOB_TIMEOUT, "1500"));
	EXPECT_EQ(-ETIMEDOUT, run_for(s, &p, FOR_EVER_MS, 0));
	EXPECT_EQ(0, write_text(JOB_TIMEOUT, "6000"));
	EXPECT_EQ(0, run_for(s, &p, WHILE_MS, 0));
	EXPECT_EQ(0, write_text(JOB_TIMEOUT, "500"));
	EXPECT_EQ(-ETIMEDOUT, run_for(s, &p, FOR_EVER_MS, 0));
}

/* All of its programs together take ten of its timeouts. */
TEST_F_TIMEOUT(hang, is_not_a_chain_of_many_slow_programs, 120)
{
	const struct scene *s = &self->scene;
	struct drm_ork_job job;
	struct product p;
	int64_t start;

	NEED_BOARD(s->board);
	ASSERT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~1u));
	ASSERT_EQ(0, product_create(s->fd, &p, 1, 64, 32, DRM_ORK_MAX_PROGRAMS));
	board_core_write(s->board, 0, ORK_BOARD_CORE_STRETCH_US, 1000);
	job = product_job(&p, 1);
	job.timeout_ms = DRM_ORK_MAX_PROGRAMS / 10;
	start = now_ns();
	EXPECT_EQ(0, run_job(s->fd, &job));
	EXPECT_LE(10 * job.timeout_ms * MILLISECOND, now_ns() - start);
	EXPECT_EQ(0u, product_wrong(&p, 64));
	EXPECT_EQ(0u, file_counters(s->fd).resets);
	EXPECT_EQ(DRM_ORK_MAX_PROGRAMS, file_counters(s->fd).programs);
}

/* When the core was last seen with fewer than @programs done, counted from @first. */
static int64_t time_before(const struct scene *s, uint32_t core, uint32_t first, uint32_t programs,
			   uint32_t done)
{
	int64_t last = now_ns(), now = last;

	while (board_core_read(s->board, core, ORK_BOARD_CORE_PROGRAMS) - first < programs &&
	       poll_job(s->fd, done) == -EBUSY) {
		last = now;
		now = now_ns();
	}
	return last;
}

/* In the middle of a long chain: not before a timeout is over, long before one per program is. */
TEST_F_TIMEOUT(hang, is_found_in_one_timeout_wherever_a_chain_is, 120)
{
	const uint32_t stuck_at = 500, timeout_ms = 600;
	const struct scene *s = &self->scene;
	struct product p;
	uint32_t done, first;
	int64_t elapsed;

	NEED_BOARD(s->board);
	ASSERT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~1u));
	ASSERT_EQ(0, product_create(s->fd, &p, 1, 64, 32, DRM_ORK_MAX_PROGRAMS));
	product_cut(&p, stuck_at - 1);
	board_core_write(s->board, 0, ORK_BOARD_CORE_STRETCH_US, 1000);
	first = board_core_read(s->board, 0, ORK_BOARD_CORE_PROGRAMS);
	ASSERT_EQ(0, launch(s->fd, &p, 1, timeout_ms, &done));
	elapsed = time_before(s, 0, first, stuck_at, done);
	EXPECT_EQ(-ETIMEDOUT, job_status(s->fd, done));
	elapsed = now_ns() - elapsed;
	EXPECT_EQ(stuck_at, board_core_read(s->board, 0, ORK_BOARD_CORE_PROGRAMS) - first);
	EXPECT_LE(timeout_ms * MILLISECOND, elapsed);
	EXPECT_GT(stuck_at / 10 * timeout_ms * MILLISECOND, elapsed);
}

/* --- interrupts that cannot be trusted -------------------------------------------------------- */

FIXTURE(interrupt) {
	struct scene scene;
	uint64_t resets;
};

FIXTURE_SETUP(interrupt)
{
	scene_setup(_metadata, &self->scene);
	self->resets = resets(&self->scene);
}

/* Nothing that an interrupt does or leaves undone is a hang. */
FIXTURE_TEARDOWN(interrupt)
{
	EXPECT_EQ(self->resets, resets(&self->scene));
	scene_teardown(_metadata, &self->scene);
}

/* Interrupts of the cores, and of their IOMMUs which share the lines, that the kernel has taken. */
static uint64_t interrupts_taken(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	uint64_t sum = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		char *at = strchr(line, ':'), *end;

		if (!at || !strstr(at, ".npu"))
			continue;
		for (at++; ; at = end) {
			uint64_t count = strtoull(at, &end, 10);

			if (end == at)
				break;
			sum += count;
		}
	}
	if (file)
		fclose(file);
	return sum;
}

/*
 * A chain whose result only its last program writes; the others write beside it. An end that is
 * told too early shows.
 */
static int late_product(int fd, uint32_t programs, struct product *p)
{
	int error = product_create(fd, p, 1, 64, 32, programs);

	for (uint32_t i = 0; i + 1 < programs && !error; i++)
		product_set(p, i, ORK_DPU_DST_BASE_ADDR,
			    p->gemm.c + round_up(product_c_bytes(p), LINE));
	return error;
}

/* Waits until so many programs are done, or the job has ended. */
static uint32_t wait_for_programs(const struct scene *s, uint32_t core, uint32_t first,
				  uint32_t programs, uint32_t done)
{
	uint32_t count;
	bool ended;

	do {
		ended = poll_job(s->fd, done) != -EBUSY;
		count = board_core_read(s->board, core, ORK_BOARD_CORE_PROGRAMS) - first;
	} while (count < programs && !ended);
	return count;
}

static void expect_chain_unharmed(struct __test_metadata *_metadata, const struct scene *s,
				  uint32_t core)
{
	const uint32_t programs = 20;
	uint32_t first, done;
	struct product p;

	ASSERT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~(1u << core)));
	ASSERT_EQ(0, late_product(s->fd, programs, &p));
	board_core_write(s->board, core, ORK_BOARD_CORE_STRETCH_US, 10000);
	first = board_core_read(s->board, core, ORK_BOARD_CORE_PROGRAMS);
	ASSERT_EQ(0, launch(s->fd, &p, 1u << core, NEVER_MS, &done));
	for (uint32_t i = 1; i + 2 < programs; i += 2) {
		EXPECT_LE(i, wait_for_programs(s, core, first, i, done));
		board_core_write(s->board, core, ORK_BOARD_CORE_SPURIOUS, 1);
	}
	EXPECT_EQ(0, job_status(s->fd, done));
	EXPECT_EQ(programs, board_core_read(s->board, core, ORK_BOARD_CORE_PROGRAMS) - first);
	EXPECT_EQ(0u, product_wrong(&p, 64));
	bo_close(s->fd, &p.bo);
}

TEST_F_TIMEOUT(interrupt, that_is_spurious_ends_no_chain, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t core = 0; core < s->info.num_cores; core++)
		expect_chain_unharmed(_metadata, s, core);
}

/* Two clients with a job each leave one core of three idle at any time. */
TEST_F_TIMEOUT(interrupt, that_is_spurious_is_swept_up, 120)
{
	const uint32_t rounds = 21;
	const struct scene *s = &self->scene;
	uint32_t told;
	uint64_t taken;

	NEED_BOARD(s->board);
	told = board_sum(s->board, ORK_BOARD_CORE_INTERRUPTS);
	taken = interrupts_taken();
	for (uint32_t i = 0; i < rounds; i++) {
		for (uint32_t core = 0; core < s->info.num_cores; core++)
			board_core_write(s->board, core, ORK_BOARD_CORE_SPURIOUS, 1);
		EXPECT_EQ(0, health(s->fd, 1u << i % s->info.num_cores));
	}
	taken = interrupts_taken() - taken;
	told = board_sum(s->board, ORK_BOARD_CORE_INTERRUPTS) - told;
	/* Some of each kind fall together; none is taken again and again. */
	EXPECT_LT(0u, taken);
	EXPECT_GE(2 * (told + rounds * s->info.num_cores), taken);
}

/* At any moment of a job: between its tasks, at its end, over the start of the next one. */
TEST_F_TIMEOUT(interrupt, that_is_spurious_hides_no_end, 120)
{
	const uint32_t rounds = 50;
	const struct scene *s = &self->scene;
	struct drm_ork_task tasks[3];
	struct drm_ork_job job;
	struct product p;
	uint32_t done;

	NEED_BOARD(s->board);
	ASSERT_EQ(0, late_product(s->fd, 2, &p));
	job = product_job(&p, 1);
	job.timeout_ms = NEVER_MS;
	for (unsigned int i = 0; i < 3; i++)
		tasks[i] = p.task;
	job.tasks = ARRAY(tasks, 3);
	ASSERT_EQ(0, syncobj_create(s->fd, &done));
	for (uint32_t i = 0; i < rounds; i++) {
		memset(p.bo.data + p.c, UNTOUCHED, product_c_bytes(&p));
		ASSERT_EQ(0, submit_jobs(s->fd, &job, 1, done));
		do {
			board_core_write(s->board, 0, ORK_BOARD_CORE_SPURIOUS, 1);
		} while (poll_job(s->fd, done) == -EBUSY);
		EXPECT_EQ(0, job_status(s->fd, done));
		EXPECT_EQ(0u, product_wrong(&p, 64));
	}
	EXPECT_EQ(rounds, file_counters(s->fd).jobs);
	EXPECT_EQ(rounds * 3 * 2, file_counters(s->fd).programs);
}

/*
 * Case 52: the work is done in time, the interrupt is due when the job's timeout is long over. When
 * it comes it meets another job.
 */
static void expect_late_interrupt_unnoticed(struct __test_metadata *_metadata,
					    const struct scene *s, uint32_t core)
{
	struct drm_ork_job job;
	struct product p;

	ASSERT_EQ(0, late_product(s->fd, 2, &p));
	job = product_job(&p, 1u << core);
	job.timeout_ms = TIMEOUT_MS;
	board_core_write(s->board, core, ORK_BOARD_CORE_LATE_US, 10 * TIMEOUT_MS * 1000);
	EXPECT_EQ(0, run_job(s->fd, &job));
	EXPECT_EQ(0u, product_wrong(&p, 64));
	board_core_write(s->board, core, ORK_BOARD_CORE_LATE_US, 0);
	expect_chain_unharmed(_metadata, s, core);
	bo_close(s->fd, &p.bo);
}

TEST_F_TIMEOUT(interrupt, that_is_late_is_no_other_jobs, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		expect_late_interrupt_unnoticed(_metadata, s, core);
		board_behave(s->board);
	}
}

/* As late as the watchdog's next look: whichever is first, the job ends once. */
TEST_F_TIMEOUT(interrupt, that_races_the_watchdog_ends_a_job_once, 120)
{
	/* Eight looks a timeout, and jiffies of 4 ms. */
	const uint32_t rounds = 30, timeout_ms = 400, first_look_us = timeout_ms * 1000 / 8;
	const struct scene *s = &self->scene;
	struct product p;

	NEED_BOARD(s->board);
	ASSERT_EQ(0, late_product(s->fd, 2, &p));
	for (uint32_t i = 0; i < rounds; i++) {
		uint32_t core = i % s->info.num_cores;
		struct drm_ork_job job = product_job(&p, 1u << core);

		board_core_write(s->board, core, ORK_BOARD_CORE_LATE_US,
				 first_look_us - 3000 + i * 400);
		job.timeout_ms = timeout_ms;
		memset(p.bo.data + p.c, UNTOUCHED, product_c_bytes(&p));
		EXPECT_EQ(0, run_job(s->fd, &job));
		EXPECT_EQ(0u, product_wrong(&p, 64));
	}
	EXPECT_EQ(rounds, file_counters(s->fd).jobs);
	EXPECT_EQ(2 * rounds, file_counters(s->fd).programs);
}

/* Of every task of a job, and of whoever else runs meanwhile. */
TEST_F_TIMEOUT(interrupt, that_is_lost_again_and_again_is_no_hang, 120)
{
	const struct scene *s = &self->scene;
	struct drm_ork_task tasks[5];
	struct drm_ork_job job;
	struct product p;

	NEED_BOARD(s->board);
	ASSERT_EQ(0, late_product(s->fd, 2, &p));
	for (unsigned int i = 0; i < ARRAY_LENGTH(tasks); i++)
		tasks[i] = p.task;
	job = product_job(&p, 0);
	job.tasks = ARRAY(tasks, ARRAY_LENGTH(tasks));
	job.timeout_ms = 3 * TIMEOUT_MS;
	for (uint32_t core = 0; core < s->info.num_cores; core++)
		board_core_write(s->board, core, ORK_BOARD_CORE_DROP, ARRAY_LENGTH(tasks));
	EXPECT_EQ(0, run_job(s->fd, &job));
	EXPECT_EQ(0u, product_wrong(&p, 64));
}

/* Interrupts that a storm may cost for each start of the core. */
#define STORM_LIMIT	100

static void expect_storm_endured(struct __test_metadata *_metadata, const struct scene *s,
				 uint32_t core)
{
	uint32_t kicks = board_sum(s->board, ORK_BOARD_CORE_KICKS);
	uint64_t taken = interrupts_taken();
	struct drm_ork_job job;
	struct product p;

	ASSERT_EQ(0, late_product(s->fd, 2, &p));
	job = product_job(&p, 1u << core);
	job.timeout_ms = NEVER_MS;
	board_core_write(s->board, core, ORK_BOARD_CORE_STORM, 1);
	for (uint32_t i = 0; i < 10; i++) {
		memset(p.bo.data + p.c, UNTOUCHED, product_c_bytes(&p));
		EXPECT_EQ(0, run_job(s->fd, &job));
		EXPECT_EQ(0u, product_wrong(&p, 64));
	}
	EXPECT_TRUE(bystanders_progress(s->bystanders));
	EXPECT_EQ(1u, board_core_read(s->board, core, ORK_BOARD_CORE_STORM));
	kicks = board_sum(s->board, ORK_BOARD_CORE_KICKS) - kicks;
	EXPECT_GE(STORM_LIMIT * kicks, interrupts_taken() - taken);
	bo_close(s->fd, &p.bo);
	board_behave(s->board);
}

TEST_F_TIMEOUT(interrupt, storm_leaves_the_machine_alive, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t core = 0; core < s->info.num_cores; core++)
		expect_storm_endured(_metadata, s, core);
}

/* While a chain runs, and though no chain ever ended on the core: the first one is spurious. */
TEST_F_TIMEOUT(interrupt, storm_ends_no_chain, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		board_core_write(s->board, core, ORK_BOARD_CORE_STORM, 1);
		expect_chain_unharmed(_metadata, s, core);
		board_behave(s->board);
	}
}

TEST_F_TIMEOUT(hang, in_a_storm_is_found_all_the_same, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		ASSERT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~(1u << core)));
		board_core_write(s->board, core, ORK_BOARD_CORE_STORM, 1);
		EXPECT_EQ(0, health(s->fd, 1u << core));
		EXPECT_EQ(-ETIMEDOUT, hang_once(core, TIMEOUT_MS));
		/* The reset ended it. */
		EXPECT_EQ(0u, board_core_read(s->board, core, ORK_BOARD_CORE_STORM));
	}
}

/* --- resets and IOMMUs that do not do as they are told ---------------------------------------- */

#define FOR_EVER	1000000u

TEST_F_TIMEOUT(hang, costs_no_core_if_the_first_reset_fails, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		uint64_t before = core_counters(s->fd, core).resets;

		board_core_write(s->board, core, ORK_BOARD_CORE_RESET_FAILS, 1);
		EXPECT_EQ(-ETIMEDOUT, hang_once(core, TIMEOUT_MS));
		EXPECT_EQ(0u, board_core_read(s->board, core, ORK_BOARD_CORE_RESET_FAILS));
		EXPECT_EQ(before + 1, core_counters(s->fd, core).resets);
		EXPECT_EQ(0, health(s->fd, 1u << core));
	}
}

/*
 * The line of a core is its IOMMU's too, and may rise while the core is being reset and may not
 * answer. All on the CPU that gets the interrupts, which then comes to the handler before the reset
 * is over.
 */
TEST_F_TIMEOUT(hang, leaves_a_core_alone_in_its_reset, 120)
{
	struct scene *s = &self->scene;
	cpu_set_t first;

	NEED_BOARD(s->board);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	EXPECT_EQ(0, bystanders_stop(s->bystanders));
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(first), &first));
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		board_core_write(s->board, core, ORK_BOARD_CORE_NOISY_RESETS, 1);
		EXPECT_EQ(-ETIMEDOUT, hang_once(core, TIMEOUT_MS));
		EXPECT_EQ(0u, board_core_read(s->board, core, ORK_BOARD_CORE_NOISY_RESETS));
		EXPECT_EQ(0u, board_measure(s->board, core, ORK_BOARD_MEASURE_ACCESSES_IN_RESET));
	}
	s->bystanders = bystanders_start();
	ASSERT_NE(NULL, s->bystanders);
}

/* Takes the device down, and brings it up again. */
static int bind_again(void)
{
	struct nodes nodes;
	int error;

	nodes_find(&nodes);
	error = nodes.count ? 0 : -ENOENT;
	for (uint32_t i = 0; !error && i < nodes.count; i++)
		error = node_unbind(&nodes, i);
	for (uint32_t i = 0; !error && i < nodes.count; i++)
		error = node_bind(&nodes, i);
	return error;
}

/* Tests that lose cores. */
FIXTURE(loss) {
	struct scene scene;
	bool shared;		/* what one core loses all lose */
};

FIXTURE_SETUP(loss)
{
	scene_setup(_metadata, &self->scene);
	self->shared = shared_iommu(&self->scene);
}

/* Others have lost nothing, unless they lost everything; then the device is as good as new. */
FIXTURE_TEARDOWN(loss)
{
	struct scene *s = &self->scene;
	int error;

	board_behave(s->board);
	error = bystanders_stop(s->bystanders);
	if (error != -EIO || !self->shared)
		EXPECT_EQ(0, error);
	close(s->fd);
	EXPECT_EQ(0, bind_again());
	EXPECT_EQ(0, health_everywhere());
}

/* Jobs for any core. @shared: such jobs have none left. */
static void expect_others_served(struct __test_metadata *_metadata, const struct scene *s,
				 bool shared)
{
	for (uint32_t i = 0; i < 2 * s->info.num_cores; i++)
		EXPECT_EQ(shared ? -EIO : 0, health(s->fd, 0));
	if (!shared)
		EXPECT_TRUE(bystanders_progress(s->bystanders));
}

TEST_F_TIMEOUT(loss, of_a_core_that_does_not_reset_costs_what_is_pinned_to_it, 120)
{
	const struct scene *s = &self->scene;
	struct product bad, pinned[3], free[3];
	uint32_t hung, pinned_done[3], free_done[3];
	int status;

	NEED_BOARD(s->board);
	board_core_write(s->board, 1, ORK_BOARD_CORE_RESET_FAILS, FOR_EVER);
	ASSERT_EQ(0, hanging_product(s->fd, &bad));
	ASSERT_EQ(0, launch(s->fd, &bad, 2, TIMEOUT_MS, &hung));
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(0, product_create(s->fd, &pinned[i], 1, 64, 32, 2));
		ASSERT_EQ(0, product_create(s->fd, &free[i], 1, 64, 32, 2));
		ASSERT_EQ(0, launch(s->fd, &pinned[i], 2, NEVER_MS, &pinned_done[i]));
		ASSERT_EQ(0, launch(s->fd, &free[i], 0, NEVER_MS, &free_done[i]));
	}
	EXPECT_EQ(-ETIMEDOUT, job_status(s->fd, hung));
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_EQ(-EIO, job_status(s->fd, pinned_done[i]));
		EXPECT_TRUE(product_untouched(&pinned[i]));
		status = job_status(s->fd, free_done[i]);
		/* It may have waited for the IOMMU. */
		if (status != -EIO || !self->shared) {
			EXPECT_EQ(0, status);
			EXPECT_EQ(0u, product_wrong(&free[i], 64));
		}
	}
	EXPECT_EQ(-EIO, health(s->fd, 2));
	expect_others_served(_metadata, s, self->shared);
	if (!self->shared)
		EXPECT_EQ(0, health(s->fd, 1 | 2));
}

TEST_F_TIMEOUT(loss, of_every_core_in_turn_leaves_a_device_that_says_so, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	EXPECT_TRUE(bystanders_progress(s->bystanders));
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		uint32_t lost = self->shared ? s->info.core_mask : (2u << core) - 1;

		/* Else they would be the ones to find no core. */
		if (lost == s->info.core_mask)
			EXPECT_EQ(0, bystanders_leave(s->bystanders));
		board_core_write(s->board, core, ORK_BOARD_CORE_RESET_FAILS, FOR_EVER);
		EXPECT_EQ(core && self->shared ? -EIO : -ETIMEDOUT, hang_once(core, TIMEOUT_MS));
		for (uint32_t i = 0; i < s->info.num_cores; i++)
			EXPECT_EQ(lost & 1u << i ? -EIO : 0, health(s->fd, 1u << i));
	}
	EXPECT_EQ(-EIO, health(s->fd, 0));
}

/* As often as the driver tries. Its job ends all the same, for its IOMMU keeps it from memory. */
#define RESET_TRIES	3

TEST_F_TIMEOUT(loss, of_a_core_that_does_not_reset_when_the_device_goes, 120)
{
	const struct scene *s = &self->scene;
	struct product bad;
	uint32_t hung, kicks;
	int file;

	NEED_BOARD(s->board);
	EXPECT_EQ(0, bystanders_leave(s->bystanders));
	ASSERT_EQ(0, hanging_product(s->fd, &bad));
	kicks = board_core_read(s->board, 1, ORK_BOARD_CORE_KICKS);
	ASSERT_EQ(0, launch(s->fd, &bad, 2, NEVER_MS, &hung));
	/* It may have to wait for the IOMMU. A core that runs nothing is not reset. */
	ASSERT_TRUE(SOON(board_core_read(s->board, 1, ORK_BOARD_CORE_KICKS) > kicks));
	file = sync_file_export(s->fd, hung);
	ASSERT_LE(0, file);
	board_core_write(s->board, 1, ORK_BOARD_CORE_RESET_FAILS, RESET_TRIES);
	EXPECT_EQ(0, bind_again());
	EXPECT_EQ(0u, board_core_read(s->board, 1, ORK_BOARD_CORE_RESET_FAILS));
	EXPECT_EQ(-ENODEV, sync_file_end(file));
	EXPECT_EQ(-ENODEV, health(s->fd, 0));
	close(file);
	EXPECT_EQ(0, health_everywhere());
}

/*
 * Leaves the IOMMU of @core without an address space: Linux 6.1 warns if it cannot leave one.
 */
static void detach(struct __test_metadata *_metadata, const struct scene *s, uint32_t core,
		   bool shared)
{
	int fd = device_open();

	if (shared) {
		EXPECT_EQ(0, bystanders_leave(s->bystanders));
	} else {
		EXPECT_TRUE(bystanders_confine(s->bystanders, s->info.core_mask & ~(1u << core)));
	}
	EXPECT_EQ(0, health(fd, 1u << core));
	close(fd);
}

/* Of each kind, on each core, in the middle of everybody's changes of address spaces. */
TEST_F_TIMEOUT(loss, of_nothing_if_a_stall_is_ignored_once, 120)
{
	static const uint32_t knobs[] = { ORK_BOARD_CORE_STALL_ON_IGNORED,
					  ORK_BOARD_CORE_STALL_OFF_IGNORED };
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t i = 0; i < 2 * s->info.num_cores; i++) {
		uint32_t core = i / 2, knob = knobs[i % 2];

		board_core_write(s->board, core, knob, 1);
		EXPECT_EQ(0, health_everywhere());
		EXPECT_EQ(0, health(s->fd, 1u << core));
		EXPECT_EQ(0u, board_core_read(s->board, core, knob));
	}
	EXPECT_TRUE(bystanders_progress(s->bystanders));
}

/* An IOMMU that stays stalled is let go by the reset that enters the next address space. */
TEST_F_TIMEOUT(loss, of_nothing_if_stalls_do_not_end, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	for (uint32_t core = 0; core < s->info.num_cores; core++)
		board_core_write(s->board, core, ORK_BOARD_CORE_STALL_OFF_IGNORED, FOR_EVER);
	EXPECT_EQ(0, health_everywhere());
	EXPECT_EQ(0, health(s->fd, 0));
	EXPECT_TRUE(bystanders_progress(s->bystanders));
}

/* Of core 1's IOMMU; of all cores if they share one, for it goes on if any of them has stalled. */
static void ignore_stalls(const struct scene *s, uint32_t count, bool shared)
{
	for (uint32_t core = 0; core < s->info.num_cores; core++)
		if (core == 1 || shared)
			board_core_write(s->board, core, ORK_BOARD_CORE_STALL_ON_IGNORED, count);
}

/* Two ignored stalls are one attachment that fails. */
TEST_F_TIMEOUT(loss, of_nothing_if_an_attachment_fails_once, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	detach(_metadata, s, 1, self->shared);
	ignore_stalls(s, 2, self->shared);
	EXPECT_EQ(0, health(s->fd, 1u << 1));
	EXPECT_EQ(0u, board_sum(s->board, ORK_BOARD_CORE_STALL_ON_IGNORED));
	EXPECT_EQ(0, health_everywhere());
}

static void expect_core_lost_to_its_iommu(struct __test_metadata *_metadata,
					  const struct scene *s, uint32_t ignored, bool shared)
{
	detach(_metadata, s, 1, shared);
	ignore_stalls(s, ignored, shared);
	EXPECT_EQ(-EIO, health(s->fd, 1u << 1));
	s->bystanders->core_mask = 0;
	expect_others_served(_metadata, s, shared);
}

/* The attachment fails, and there is no second one, for the core cannot be reset for that. */
TEST_F_TIMEOUT(loss, of_a_core_that_does_not_reset_for_its_iommu, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	board_core_write(s->board, 1, ORK_BOARD_CORE_RESET_FAILS, FOR_EVER);
	expect_core_lost_to_its_iommu(_metadata, s, 2, self->shared);
}

/* The IOMMU core of Linux before 6.7 warns if an IOMMU does not even go back to what it had. */
static bool iommu_core_warns(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	uname(&name);
	sscanf(name.release, "%u.%u", &major, &minor);
	return major < 6 || (major == 6 && minor < 7);
}

TEST_F_TIMEOUT(loss, of_a_core_whose_iommu_never_stalls, 120)
{
	const struct scene *s = &self->scene;

	NEED_BOARD(s->board);
	if (iommu_core_warns())
		SKIP(return, "Linux before 6.7 warns of IOMMUs that fail again and again");
	expect_core_lost_to_its_iommu(_metadata, s, FOR_EVER, self->shared);
}

/* --- bans ------------------------------------------------------------------------------------- */

FIXTURE(ban) {
	struct scene scene;
	char limit[16];		/* as it was */
};

FIXTURE_SETUP(ban)
{
	int fd = open(HANG_LIMIT, O_RDONLY);

	if (fd >= 0 && read(fd, self->limit, sizeof(self->limit) - 1) < 0)
		self->limit[0] = '\0';
	close(fd);
	scene_setup(_metadata, &self->scene);
}

FIXTURE_TEARDOWN(ban)
{
	if (self->limit[0])
		EXPECT_EQ(0, write_text(HANG_LIMIT, self->limit));
	scene_teardown(_metadata, &self->scene);
}

/* In the middle of a test, but before anything is expected. */
#define NEED_LIMIT(self, limit) do {						\
	if (access(HANG_LIMIT, W_OK))						\
		SKIP(return, "needs the right to set the module's hang_limit");	\
	ASSERT_EQ(0, write_text(HANG_LIMIT, limit));				\
} while (0)

/* A hang from this file. The job's status, or why it was refused. */
static int hang_again(const struct scene *s)
{
	struct drm_ork_job job;
	struct product p;
	int error = hanging_product(s->fd, &p);

	if (error)
		return error;
	job = product_job(&p, 0);
	job.timeout_ms = 40;
	error = run_job(s->fd, &job);
	bo_close(s->fd, &p.bo);
	return error;
}

/* Jobs that wait for the core of a hang: more than the driver keeps at hand. */
#define QUEUED		10

TEST_F_TIMEOUT(ban, ends_what_is_queued, 120)
{
	const struct scene *s = &self->scene;
	struct product bad, queued[QUEUED];
	uint32_t hung, done[QUEUED];

	NEED_LIMIT(self, "2");
	EXPECT_EQ(-ETIMEDOUT, hang_again(s));
	EXPECT_EQ(0, health(s->fd, 0));
	ASSERT_EQ(0, hanging_product(s->fd, &bad));
	for (unsigned int i = 0; i < QUEUED; i++)
		ASSERT_EQ(0, product_create(s->fd, &queued[i], 1, 32, 32, 1));
	ASSERT_EQ(0, launch(s->fd, &bad, 1, 2000, &hung));
	for (unsigned int i = 0; i < QUEUED; i++)
		ASSERT_EQ(0, launch(s->fd, &queued[i], 1, 0, &done[i]));
	EXPECT_EQ(-ETIMEDOUT, job_status(s->fd, hung));
	for (unsigned int i = 0; i < QUEUED; i++) {
		EXPECT_EQ(-EIO, job_status(s->fd, done[i]));
		EXPECT_TRUE(product_untouched(&queued[i]));
	}
	EXPECT_EQ(-EIO, launch(s->fd, &queued[0], 0, 0, &hung));
}

TEST_F_TIMEOUT(ban, leaves_all_but_submits, 120)
{
	const struct scene *s = &self->scene;
	struct product p;
	struct bo bo;
	uint32_t done;

	NEED_LIMIT(self, "2");
	ASSERT_EQ(0, product_create(s->fd, &p, 1, 64, 32, 1));
	ASSERT_EQ(0, launch(s->fd, &p, 0, 0, &done));
	EXPECT_EQ(-ETIMEDOUT, hang_again(s));
	EXPECT_EQ(-ETIMEDOUT, hang_again(s));
	EXPECT_EQ(-EIO, health(s->fd, 0));
	EXPECT_EQ(0, job_status(s->fd, done));
	EXPECT_EQ(0u, product_wrong(&p, 64));
	EXPECT_EQ(2u, file_counters(s->fd).resets);
	EXPECT_EQ(0, bo_create(s->fd, PAGE, &bo));
	EXPECT_EQ(0, sync_range(s->fd, &bo, DRM_ORK_EXTENT_TO_DEVICE, 0, PAGE));
	EXPECT_EQ(0, sync_range(s->fd, &p.bo, DRM_ORK_EXTENT_FROM_DEVICE, p.c, LINE));
}

TEST_F_TIMEOUT(ban, is_of_one_file, 120)
{
	const struct scene *s = &self->scene;
	int other = device_open();

	NEED_LIMIT(self, "2");
	EXPECT_EQ(0, health(other, 0));
	EXPECT_EQ(-ETIMEDOUT, hang_again(s));
	EXPECT_EQ(-ETIMEDOUT, hang_again(s));
	EXPECT_EQ(-EIO, health(s->fd, 0));
	EXPECT_EQ(0, health(other, 0));
	EXPECT_EQ(0, health_everywhere());
	close(other);
}

TEST_F_TIMEOUT(ban, counts_faults_as_hangs, 120)
{
	const struct scene *s = &self->scene;

	NEED_LIMIT(self, "2");
	EXPECT_EQ(-EFAULT, fault(s, 0, PATIENT_MS));
	EXPECT_EQ(0, health(s->fd, 0));
	EXPECT_EQ(-ETIMEDOUT, hang_again(s));
	EXPECT_EQ(-EIO, health(s->fd, 0));
}

TEST_F_TIMEOUT(ban, of_nobody_with_a_limit_of_0, 120)
{
	const struct scene *s = &self->scene;

	NEED_LIMIT(self, "0");
	for (unsigned int i = 0; i < 20; i++)
		EXPECT_EQ(-ETIMEDOUT, hang_again(s));
	EXPECT_EQ(0, health(s->fd, 0));
}

TEST_F_TIMEOUT(ban, comes_at_the_tenth_hang_if_nobody_sets_a_limit, 120)
{
	const struct scene *s = &self->scene;

	if (strcmp(self->limit, "10\n"))
		SKIP(return, "needs the default hang_limit");
	for (unsigned int i = 0; i < 10; i++) {
		EXPECT_EQ(0, health(s->fd, 0));
		EXPECT_EQ(-ETIMEDOUT, hang_again(s));
	}
	EXPECT_EQ(-EIO, health(s->fd, 0));
}

/* --- all at once ------------------------------------------------------------------------------ */

/* A thread with jobs of its own, pinned to a core. */
struct worker {
	pthread_t thread;
	int fd;
	uint32_t core, seed, jobs;
	uint32_t m, k;
	int error;		/* the first, or -EBADMSG for a wrong result */
};

static void *work(void *opaque)
{
	struct worker *w = opaque;
	struct product p;

	w->error = product_create(w->fd, &p, w->m, w->k, 32, 2);
	for (uint32_t i = 0; i < w->jobs && !w->error; i++) {
		struct drm_ork_job job = product_job(&p, 1u << w->core);

		job.timeout_ms = NEVER_MS;
		product_fill(&p, w->seed + i);
		w->error = run_job(w->fd, &job);
		if (!w->error && product_errors(&p))
			w->error = -EBADMSG;
	}
	return NULL;
}

static void workers_start(struct __test_metadata *_metadata, struct worker *workers,
			  unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
}

static void workers_end(struct __test_metadata *_metadata, struct worker *workers,
			unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		EXPECT_EQ(0, pthread_join(workers[i].thread, NULL));
		EXPECT_EQ(0, workers[i].error);
	}
}

/*
 * Case 56: ends, submits and resets of one core. Two threads share a file, two have one of their
 * own.
 */
TEST_F_TIMEOUT(hang, of_another_fails_no_job_in_the_queue, 120)
{
	const struct scene *s = &self->scene;
	struct worker workers[4];

	for (unsigned int i = 0; i < 4; i++)
		workers[i] = (struct worker) {
			.fd = i < 2 ? s->fd : device_open(),
			.seed = 1000 * i, .jobs = 60, .m = 1, .k = 64,
		};
	workers_start(_metadata, workers, 4);
	for (unsigned int i = 0; i < 8; i++)
		EXPECT_EQ(-ETIMEDOUT, hang_once(0, 20));
	workers_end(_metadata, workers, 4);
	EXPECT_EQ(2 * 60u, file_counters(s->fd).jobs);
}

/*
 * Case 77: every pair of cores, and all of them, with matrices of different sizes, while a core
 * that has nothing to do hangs.
 */
TEST_F_TIMEOUT(hang, disturbs_no_data_of_other_cores, 120)
{
	const struct scene *s = &self->scene;

	if (s->info.num_cores < 3)
		SKIP(return, "needs three cores");
	for (uint32_t idle = 0; idle <= 3; idle++) {
		struct worker workers[3];
		unsigned int count = 0;

		for (uint32_t core = 0; core < 3; core++)
			if (core != idle)
				workers[count++] = (struct worker) {
					.fd = s->fd, .core = core, .seed = 100 * idle + core,
					.jobs = 15, .m = 4 - core, .k = 512 * (core + 1),
				};
		workers_start(_metadata, workers, count);
		if (idle < 3)
			EXPECT_EQ(-ETIMEDOUT, hang_once(idle, SHORT_MS));
		workers_end(_metadata, workers, count);
	}
}

/* --- load figures: case 80 -------------------------------------------------------------------- */

/* Time of a program: enough for a core to be busy for most of the test. */
#define BUSY_US		(4 * LONG_US)

struct figures {
	int64_t time_ns;		/* not later than the rest */
	struct drm_ork_counters core[ORK_MAX_CORES];
};

static struct figures figures_read(const struct scene *s)
{
	struct figures f = { .time_ns = now_ns() };

	for (uint32_t core = 0; core < s->info.num_cores; core++)
		f.core[core] = core_counters(s->fd, core);
	return f;
}

static void expect_no_step_back(struct __test_metadata *_metadata, const struct scene *s,
				const struct figures *before, const struct figures *after)
{
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		EXPECT_LE(before->core[core].busy_ns, after->core[core].busy_ns);
		EXPECT_LE(before->core[core].jobs, after->core[core].jobs);
		EXPECT_LE(before->core[core].programs, after->core[core].programs);
		EXPECT_LE(before->core[core].resets, after->core[core].resets);
	}
}

/* Hangs one core after another, and is killed in the middle of that. */
static pid_t hanging_client(const struct scene *s)
{
	pid_t child = fork();

	for (uint32_t i = 0; !child; i++)
		if (hang_once(i % s->info.num_cores, 20) != -ETIMEDOUT)
			_exit(1);
	return child;
}

/* Every core is busy for most of the time, and somebody hangs one after the other. */
static void make_a_mess(struct __test_metadata *_metadata, const struct scene *s,
			const struct jobs *jobs)
{
	pid_t child = hanging_client(s);
	struct figures last = figures_read(s), now;

	for (uint32_t i = 0; i < s->info.num_cores; i++) {
		while (poll_job(s->fd, jobs->done[i]) == -EBUSY) {
			now = figures_read(s);
			expect_no_step_back(_metadata, s, &last, &now);
			last = now;
		}
		EXPECT_EQ(0, job_status(s->fd, jobs->done[i]));
		EXPECT_EQ(0u, product_wrong(&jobs->products[i], BAD_K));
	}
	kill(child, SIGKILL);
	EXPECT_EQ(child, waitpid(child, NULL, 0));
}

/* What happened between two looks at an idle device, of which the second was over at @end. */
static void expect_true_figures(struct __test_metadata *_metadata, const struct scene *s,
				const struct figures *first, const struct figures *last,
				int64_t end)
{
	for (uint32_t core = 0; core < s->info.num_cores; core++) {
		uint64_t busy = last->core[core].busy_ns - first->core[core].busy_ns;
		uint64_t programs = last->core[core].programs - first->core[core].programs;

		EXPECT_GE((uint64_t)(end - first->time_ns), busy);
		EXPECT_LE(s->board ? programs * BUSY_US * 1000 : 1, busy);
	}
}

TEST_F_TIMEOUT(hang, leaves_load_figures_that_can_be_true, 120)
{
	struct scene *s = &self->scene;
	struct figures first, last, idle;
	struct jobs jobs;
	int64_t end;

	EXPECT_EQ(0, bystanders_stop(s->bystanders));
	ASSERT_EQ(0, jobs_create(s, ORK_MAX_CORES, &jobs));
	for (uint32_t core = 0; s->board && core < s->info.num_cores; core++)
		board_core_write(s->board, core, ORK_BOARD_CORE_STRETCH_US, BUSY_US);
	first = figures_read(s);
	ASSERT_EQ(0, jobs_submit(s, &jobs, ORK_MAX_CORES, 0));
	s->bystanders = bystanders_start();
	ASSERT_NE(NULL, s->bystanders);
	make_a_mess(_metadata, s, &jobs);
	EXPECT_EQ(0, bystanders_stop(s->bystanders));
	last = figures_read(s);
	end = now_ns();
	expect_true_figures(_metadata, s, &first, &last, end);
	idle = figures_read(s);
	EXPECT_EQ(0, memcmp(last.core, idle.core, sizeof(idle.core)));
	s->bystanders = bystanders_start();
	ASSERT_NE(NULL, s->bystanders);
}

ORK_TEST_MAIN

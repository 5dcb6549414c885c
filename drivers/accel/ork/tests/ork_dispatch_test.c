// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which core runs which job, and who waits for whom.
 */

#include <linux/bitops.h>
#include <linux/dma-fence.h>

#include <drm/ork_regs.h>

#include <kunit/test.h>

#include "ork_test_board.h"

#include "../ork_dispatch.h"
#include "../ork_fence.h"

#define ALL		7
#define NORMAL		DRM_ORK_PRIORITY_NORMAL

static struct ork_job *ork_dispatch_test_running(struct ork_board *board, unsigned int core)
{
	return board->ork.cores[core].job;
}

/* How many cores run a job of a file. */
static unsigned int ork_dispatch_test_count(struct ork_board *board, unsigned int file)
{
	unsigned int i, count = 0;

	for (i = 0; i < board->ork.num_cores; i++) {
		const struct ork_job *job = ork_dispatch_test_running(board, i);

		if (job && job->ofile == &board->files[file])
			count++;
	}
	return count;
}

static bool ork_dispatch_test_switch_all(struct ork_board *board)
{
	bool switched = false;
	unsigned int i;

	for (i = 0; i < board->ork.num_mmus; i++)
		switched |= ork_board_switch(board, i, 0);
	return switched;
}

static void ork_dispatch_test_again(struct ork_board *board)
{
	spin_lock_irq(&board->ork.lock);
	ork_dispatch_locked(&board->ork);
	spin_unlock_irq(&board->ork.lock);
}

static void ork_dispatch_test_lose(struct ork_board *board, unsigned int mmu)
{
	spin_lock_irq(&board->ork.lock);
	ork_dispatch_lose_locked(&board->ork.mmus[mmu]);
	spin_unlock_irq(&board->ork.lock);
	ork_dispatch_finish(&board->ork);
}

/* --- the choice of a core ------------------------------------------------------- */

static void job_starts_at_once_where_its_space_is_attached(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 3, false);
	struct ork_job *job;

	board->ork.mmus[1].vm = &board->vms[0];
	job = ork_board_submit_new(test, board, 0, ALL);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 1), job);
	KUNIT_EXPECT_EQ(test, job->cores, 2);
	KUNIT_EXPECT_NE(test, job->begin_ns, 0);
	KUNIT_EXPECT_EQ(test, ork_board_read(board, 1, ORK_PC_BASE_ADDRESS), job->tasks->iova);
	KUNIT_EXPECT_FALSE(test, ork_dispatch_test_switch_all(board));
}

struct ork_dispatch_mask {
	const char *name;
	u32 mask;
	bool shared;
};

static const struct ork_dispatch_mask ork_dispatch_masks[] = {
	{ "core 0", 1, false }, { "core 1", 2, false }, { "cores 0 and 1", 3, false },
	{ "core 2", 4, false }, { "cores 0 and 2", 5, false }, { "cores 1 and 2", 6, false },
	{ "all", 7, false }, { "cores 1 and 2, shared", 6, true }, { "all, shared", 7, true },
};

KUNIT_ARRAY_PARAM_DESC(ork_dispatch_masks, ork_dispatch_masks, name);

static void jobs_fill_the_cores_that_they_allow_and_no_others(struct kunit *test)
{
	const struct ork_dispatch_mask *mask = test->param_value;
	struct ork_board *board = ork_board_create(test, 3, mask->shared);
	unsigned int i, step;

	for (i = 0; i < 6; i++)
		ork_board_submit_new(test, board, 0, mask->mask);
	for (step = 0; step < 3; step++)
		ork_dispatch_test_switch_all(board);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ_MSG(test, !!ork_dispatch_test_running(board, i),
				    !!(mask->mask & BIT(i)), "core %u", i);
}

static void jobs_of_a_file_start_in_the_order_of_submission(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *jobs[5];
	unsigned int i;

	ork_board_attach_all(board, 0);
	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		jobs[i] = ork_board_submit_new(test, board, 0, 1);
	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		KUNIT_EXPECT_PTR_EQ(test, ork_board_complete(board, 0), jobs[i]);
	KUNIT_EXPECT_NULL(test, ork_dispatch_test_running(board, 0));
}

static void job_for_an_idle_core_does_not_wait_for_those_for_busy_ones(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 2, false);
	struct ork_job *later, *last;

	ork_board_attach_all(board, 0);
	ork_board_submit_new(test, board, 0, 1);
	later = ork_board_submit_new(test, board, 0, 1);
	last = ork_board_submit_new(test, board, 0, 2);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 1), last);
	ork_board_complete(board, 0);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), later);
}

/* Jobs that allow different cores are in lists of their own; the oldest is found in any of them. */
static void core_takes_the_oldest_of_the_jobs_that_allow_it(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 2, false);
	struct ork_job *second_only, *both, *first_only;

	ork_board_attach_all(board, 0);
	ork_board_submit_new(test, board, 0, 1);
	ork_board_submit_new(test, board, 0, 2);
	both = ork_board_submit_new(test, board, 0, 3);
	first_only = ork_board_submit_new(test, board, 0, 1);
	second_only = ork_board_submit_new(test, board, 0, 2);
	ork_board_complete(board, 1);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 1), both);
	ork_board_complete(board, 0);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), first_only);
	ork_board_complete(board, 1);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 1), second_only);
}

static void higher_priority_goes_first(struct kunit *test)
{
	static const u32 came[] = { DRM_ORK_PRIORITY_LOW, DRM_ORK_PRIORITY_NORMAL,
				    DRM_ORK_PRIORITY_HIGH };
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *jobs[3];
	unsigned int i;

	ork_board_attach_all(board, 0);
	ork_board_submit_new(test, board, 0, 1);
	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		jobs[i] = ork_board_job(test, board, 0, came[i], 1);
		ork_board_submit(board, jobs[i]);
	}
	for (i = ARRAY_SIZE(jobs); i--;) {
		ork_board_complete(board, 0);
		KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), jobs[i]);
	}
}

static void core_that_is_being_reset_gets_nothing(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *job;

	ork_board_attach_all(board, 0);
	board->ork.cores[0].ready = false;
	job = ork_board_submit_new(test, board, 0, 1);
	KUNIT_EXPECT_NULL(test, ork_dispatch_test_running(board, 0));
	board->ork.cores[0].ready = true;
	ork_dispatch_test_again(board);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), job);
}

/* --- address spaces --------------------------------------------------------------- */

struct ork_dispatch_claim {
	const char *name;
	bool shared;
	u32 masks[4];
	/* The IOMMUs that are claimed. */
	u32 claims;
};

/* By jobs of one file, when no space is attached anywhere. */
static const struct ork_dispatch_claim ork_dispatch_claims[] = {
	{ "one job claims one", false, { ALL }, 1 },
	{ "one job claims one that it allows", false, { 4 }, 4 },
	{ "two jobs claim two", false, { ALL, ALL }, 3 },
	{ "as many as there are cores", false, { ALL, ALL, ALL, ALL }, 7 },
	{ "no more than they allow", false, { 2, 2, 2, 2 }, 2 },
	{ "of different cores", false, { 4, 1 }, 5 },
	{ "a shared one once", true, { ALL, ALL, ALL, ALL }, 1 },
};

KUNIT_ARRAY_PARAM_DESC(ork_dispatch_claims, ork_dispatch_claims, name);

static void jobs_without_their_space_claim_what_they_can_use(struct kunit *test)
{
	const struct ork_dispatch_claim *claim = test->param_value;
	struct ork_board *board = ork_board_create(test, 3, claim->shared);
	u32 claims = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(claim->masks) && claim->masks[i]; i++)
		ork_board_submit_new(test, board, 0, claim->masks[i]);
	KUNIT_EXPECT_EQ(test, ork_dispatch_test_count(board, 0), 0);
	for (i = 0; i < board->ork.num_mmus; i++) {
		struct ork_vm *vm = board->ork.mmus[i].claim;

		KUNIT_EXPECT_TRUE(test, !vm || vm == &board->vms[0]);
		if (vm)
			claims |= BIT(i);
	}
	KUNIT_EXPECT_EQ(test, claims, claim->claims);
}

static void claimed_mmu_starts_nothing_of_the_space_it_has(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *claims, *late;

	ork_board_attach_all(board, 0);
	ork_board_submit_new(test, board, 0, 1);
	claims = ork_board_submit_new(test, board, 1, 1);
	ork_board_complete(board, 0);
	late = ork_board_submit_new(test, board, 0, 1);
	KUNIT_EXPECT_NULL(test, ork_dispatch_test_running(board, 0));
	KUNIT_EXPECT_TRUE(test, ork_board_switch(board, 0, 0));
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), claims);
	ork_board_complete(board, 0);
	KUNIT_EXPECT_TRUE(test, ork_board_switch(board, 0, 0));
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), late);
}

static void mmu_is_not_switched_while_a_core_behind_it_runs(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 3, true);

	ork_board_attach_all(board, 0);
	ork_board_submit_new(test, board, 0, 1);
	ork_board_submit_new(test, board, 0, 4);
	ork_board_submit_new(test, board, 1, 2);
	KUNIT_EXPECT_FALSE(test, ork_board_switch(board, 0, 0));
	ork_board_complete(board, 0);
	KUNIT_EXPECT_FALSE(test, ork_board_switch(board, 0, 0));
	KUNIT_EXPECT_NULL(test, ork_dispatch_test_running(board, 1));
	ork_board_complete(board, 2);
	KUNIT_EXPECT_TRUE(test, ork_board_switch(board, 0, 0));
	KUNIT_EXPECT_EQ(test, ork_dispatch_test_count(board, 1), 1);
}

/* A shared IOMMU is not switched for a single job while others of the space wait. */
static void each_core_starts_one_job_before_the_next_claim_counts(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 3, true);
	unsigned int i, turn;

	for (i = 0; i < 12; i++) {
		ork_board_submit_new(test, board, 0, ALL);
		ork_board_submit_new(test, board, 1, ALL);
	}
	for (turn = 0; turn < 6; turn++) {
		KUNIT_ASSERT_TRUE(test, ork_board_switch(board, 0, 0));
		KUNIT_EXPECT_EQ(test, ork_dispatch_test_count(board, turn % 2), 3);
		for (i = 0; i < 3; i++)
			ork_board_complete(board, i);
	}
}

static void stale_mmu_starts_nothing_until_it_was_detached(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_mmu *mmu = &board->ork.mmus[0];
	struct ork_job *job;

	ork_board_attach_all(board, 0);
	mmu->stale = true;
	job = ork_board_submit_new(test, board, 0, 1);
	KUNIT_EXPECT_NULL(test, ork_dispatch_test_running(board, 0));
	KUNIT_EXPECT_TRUE(test, ork_board_switch(board, 0, 0));
	KUNIT_EXPECT_NULL(test, mmu->vm);
	KUNIT_EXPECT_NULL(test, ork_dispatch_test_running(board, 0));
	KUNIT_EXPECT_TRUE(test, ork_board_switch(board, 0, 0));
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), job);
}

/* --- fairness ------------------------------------------------------------------ */

struct ork_dispatch_board {
	const char *name;
	unsigned int cores;
	bool shared;
};

static const struct ork_dispatch_board ork_dispatch_boards[] = {
	{ "one core", 1, false },
	{ "two cores", 2, false },
	{ "three cores", 3, false },
	{ "two cores, shared", 2, true },
	{ "three cores, shared", 3, true },
};

KUNIT_ARRAY_PARAM_DESC(ork_dispatch_boards, ork_dispatch_boards, name);

/* The documented bound: those that run, and one for each core. */
static void file_with_many_jobs_delays_another_by_one_a_core(struct kunit *test)
{
	const struct ork_dispatch_board *param = test->param_value;
	struct ork_board *board = ork_board_create(test, param->cores, param->shared);
	unsigned int i, completed = 0;
	struct ork_job *job;

	ork_board_attach_all(board, 0);
	for (i = 0; i < 40; i++)
		ork_board_submit_new(test, board, 0, BIT(param->cores) - 1);
	job = ork_board_submit_new(test, board, 1, BIT(param->cores) - 1);

	while (!job->cores && completed < 40) {
		for (i = 0; i < param->cores && !job->cores; i++) {
			if (!ork_dispatch_test_running(board, i))
				continue;
			ork_board_complete(board, i);
			completed++;
			ork_dispatch_test_switch_all(board);
		}
	}
	KUNIT_EXPECT_LE(test, completed, 2 * param->cores);
}

static void files_start_their_jobs_in_turns(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	unsigned int i, file;

	for (file = 0; file < 3; file++)
		for (i = 0; i < 4; i++)
			ork_board_submit_new(test, board, file, 1);
	for (i = 0; i < 12; i++) {
		struct ork_job *job;

		ork_board_switch(board, 0, 0);
		KUNIT_ASSERT_NOT_NULL(test, ork_dispatch_test_running(board, 0));
		job = ork_board_complete(board, 0);
		KUNIT_EXPECT_PTR_EQ(test, job->ofile, &board->files[i % 3]);
	}
}

static void low_priority_waits_for_all_files_of_higher_ones(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *low = ork_board_job(test, board, 0, DRM_ORK_PRIORITY_LOW, 1);
	unsigned int i;

	ork_board_attach_all(board, 0);
	ork_board_submit_new(test, board, 0, 1);
	ork_board_submit(board, low);
	for (i = 1; i < ORK_BOARD_FILES; i++)
		ork_board_submit_new(test, board, i, 1);
	for (i = 0; i < ORK_BOARD_FILES; i++) {
		KUNIT_EXPECT_EQ(test, low->cores, 0);
		KUNIT_ASSERT_NOT_NULL(test, ork_dispatch_test_running(board, 0));
		ork_board_complete(board, 0);
		ork_board_switch(board, 0, 0);
	}
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), low);
}

#define ORK_DISPATCH_RANDOM_JOBS	150

static u32 ork_dispatch_test_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Jobs run where they may, in their own space, and no core idles that one could start on. */
static void ork_dispatch_test_invariants(struct kunit *test, struct ork_board *board)
{
	unsigned int i, mask;

	for (i = 0; i < board->ork.num_cores; i++) {
		struct ork_core *core = &board->ork.cores[i];
		struct ork_queue *queue;

		if (core->job) {
			KUNIT_ASSERT_TRUE(test, core->job->core_mask & BIT(i));
			KUNIT_ASSERT_PTR_EQ(test, core->mmu->vm, core->job->ofile->vm);
			continue;
		}
		if (core->mmu->claim)
			continue;
		list_for_each_entry(queue, &board->ork.queues, turn)
			for (mask = 1; mask < ORK_CORE_MASKS; mask++)
				KUNIT_ASSERT_TRUE(test, !(mask & BIT(i)) ||
						  queue->vm != core->mmu->vm ||
						  list_empty(&queue->jobs[mask]));
	}
}

static void ork_dispatch_test_act(struct ork_board *board, u32 random)
{
	unsigned int core = random % board->ork.num_cores;

	if (random & BIT(8))
		ork_board_switch(board, random % board->ork.num_mmus, 0);
	else if (ork_dispatch_test_running(board, core))
		ork_board_complete(board, core);
}

static void any_mix_of_jobs_ends_with_each_run_once(struct kunit *test)
{
	const struct ork_dispatch_board *param = test->param_value;
	struct ork_board *board = ork_board_create(test, param->cores, param->shared);
	struct ork_job *jobs[ORK_DISPATCH_RANDOM_JOBS];
	unsigned int i, step;
	u32 state = 1;

	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		u32 random = ork_dispatch_test_random(&state);

		jobs[i] = ork_board_job(test, board, random % ORK_BOARD_FILES, (random >> 4) % 3,
					1 + (random >> 8) % (BIT(param->cores) - 1));
		ork_board_submit(board, jobs[i]);
		ork_dispatch_test_invariants(test, board);
		ork_dispatch_test_act(board, ork_dispatch_test_random(&state));
		ork_dispatch_test_invariants(test, board);
	}
	for (step = 0; step < 100 * ARRAY_SIZE(jobs) && !list_empty(&board->ork.queues); step++) {
		ork_dispatch_test_act(board, ork_dispatch_test_random(&state));
		ork_dispatch_test_invariants(test, board);
	}
	for (i = 0; i < param->cores; i++)
		if (ork_dispatch_test_running(board, i))
			ork_board_complete(board, i);
	for (i = 0; i < ARRAY_SIZE(jobs); i++) {
		KUNIT_EXPECT_TRUE_MSG(test, ork_board_ended(jobs[i]), "job %u", i);
		KUNIT_EXPECT_EQ(test, jobs[i]->status, 0);
		KUNIT_EXPECT_EQ(test, jobs[i]->interrupts, 1);
		KUNIT_EXPECT_EQ(test, hweight32(jobs[i]->cores), 1);
	}
	for (i = 0; i < ORK_BOARD_FILES; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&board->files[i].active), 0);
}

/* --- ends -------------------------------------------------------------------- */

static void tasks_of_a_job_run_in_order_on_one_core(struct kunit *test)
{
	static struct ork_task tasks[] = {
		{ 0x1000, 4, 3 }, { 0x2000, 4, 5 }, { 0x3000, 4, 7 },
	};
	struct ork_board *board = ork_board_create(test, 2, false);
	struct ork_job *job = ork_board_job(test, board, 0, NORMAL, 3), *other;
	struct ork_core *core = &board->ork.cores[0];
	unsigned int i;

	ork_board_attach_all(board, 0);
	job->tasks = tasks;
	job->num_tasks = ARRAY_SIZE(tasks);
	ork_board_submit(board, job);
	other = ork_board_submit_new(test, board, 0, 1);
	for (i = 0; i < ARRAY_SIZE(tasks); i++) {
		KUNIT_ASSERT_PTR_EQ(test, core->job, job);
		KUNIT_EXPECT_EQ(test, core->task, i);
		KUNIT_EXPECT_EQ(test, ork_board_read(board, 0, ORK_PC_BASE_ADDRESS), tasks[i].iova);
		KUNIT_EXPECT_FALSE(test, ork_board_ended(job));
		ork_board_complete(board, 0);
	}
	KUNIT_EXPECT_PTR_EQ(test, core->job, other);
	KUNIT_EXPECT_TRUE(test, ork_board_ended(job));
	KUNIT_EXPECT_EQ(test, job->programs, 15);
	KUNIT_EXPECT_EQ(test, job->interrupts, 3);
	KUNIT_EXPECT_EQ(test, core->stats.jobs, 1);
	KUNIT_EXPECT_EQ(test, core->stats.programs, 15);
	KUNIT_EXPECT_EQ(test, atomic64_read(&board->files[0].stats.programs), 15);
}

struct ork_dispatch_refusal {
	const char *name;
	bool dead;
	int refusal;
	u32 lost;
	int status;
	/* With which a job for cores 0 and 1 of three ends; 0: it runs. */
	int result;
};

static const struct ork_dispatch_refusal ork_dispatch_refusals[] = {
	{ "nothing is wrong", false, 0, 0, 0, 0 },
	{ "its input failed", false, 0, 0, -ECANCELED, -ECANCELED },
	{ "one of its cores is lost", false, 0, 1, 0, 0 },
	{ "both of its cores are lost", false, 0, 3, 0, -EIO },
	{ "another core is lost", false, 0, 4, 0, 0 },
	{ "its file is closed", false, -ECANCELED, 0, 0, -ECANCELED },
	{ "its file is banned, its input failed", false, -EIO, 0, -ECANCELED, -EIO },
	{ "the device is gone", true, 0, 0, 0, -ENODEV },
	{ "all of it", true, -EIO, 7, -ECANCELED, -ENODEV },
	{ "its input failed, all cores are lost", false, 0, 7, -ECANCELED, -ECANCELED },
};

KUNIT_ARRAY_PARAM_DESC(ork_dispatch_refusals, ork_dispatch_refusals, name);

static void job_that_cannot_run_ends_with_the_reason(struct kunit *test)
{
	const struct ork_dispatch_refusal *refusal = test->param_value;
	struct ork_board *board = ork_board_create(test, 3, false);
	struct ork_job *job = ork_board_job(test, board, 0, NORMAL, 3);
	unsigned int i;

	ork_board_attach_all(board, 0);
	board->ork.dead = refusal->dead;
	board->files[0].refusal = refusal->refusal;
	for (i = 0; i < 3; i++) {
		board->ork.cores[i].lost = refusal->lost & BIT(i);
		board->ork.cores[i].ready = !board->ork.cores[i].lost;
	}
	atomic_inc(&job->ofile->active);
	ork_dispatch_add(job, refusal->status);
	ork_dispatch_finish(&board->ork);

	KUNIT_EXPECT_EQ(test, ork_board_ended(job), refusal->result != 0);
	KUNIT_EXPECT_EQ(test, !job->cores, refusal->result != 0);
	if (refusal->result)
		KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence->base), refusal->result);
}

static void refused_file_loses_what_has_not_started(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *runs, *staged, *low, *waits, *others;

	ork_board_attach_all(board, 0);
	runs = ork_board_submit_new(test, board, 0, 1);
	staged = ork_board_submit_new(test, board, 0, 1);
	low = ork_board_job(test, board, 0, DRM_ORK_PRIORITY_LOW, 1);
	ork_board_submit(board, low);
	others = ork_board_submit_new(test, board, 1, 1);
	waits = ork_board_job(test, board, 0, NORMAL, 1);
	waits->waits = true;

	spin_lock_irq(&board->ork.lock);
	list_add_tail(&waits->link, &board->ork.waiting);
	ork_dispatch_refuse_locked(&board->files[0], -ECANCELED);
	spin_unlock_irq(&board->ork.lock);
	ork_dispatch_finish(&board->ork);

	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&staged->fence->base), -ECANCELED);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&low->fence->base), -ECANCELED);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&waits->fence->base), -ECANCELED);
	KUNIT_EXPECT_FALSE(test, waits->waits);
	KUNIT_EXPECT_FALSE(test, ork_board_ended(runs));
	KUNIT_EXPECT_FALSE(test, ork_board_ended(others));
	ork_board_complete(board, 0);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&runs->fence->base), 1);
	ork_board_switch(board, 0, 0);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 0), others);
}

static void lost_core_ends_the_jobs_that_allow_no_other(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 2, false);
	struct ork_job *only, *either;

	ork_board_attach_all(board, 0);
	ork_board_submit_new(test, board, 0, 1);
	ork_board_submit_new(test, board, 0, 2);
	only = ork_board_submit_new(test, board, 0, 1);
	either = ork_board_submit_new(test, board, 0, 3);
	ork_dispatch_test_lose(board, 0);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&only->fence->base), -EIO);
	KUNIT_EXPECT_FALSE(test, ork_board_ended(either));

	ork_board_complete(board, 0);
	KUNIT_EXPECT_NULL(test, ork_dispatch_test_running(board, 0));
	ork_board_complete(board, 1);
	KUNIT_EXPECT_PTR_EQ(test, ork_dispatch_test_running(board, 1), either);
}

static void mmu_that_cannot_be_switched_loses_all_of_its_cores(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 3, true);
	struct ork_job *job = ork_board_submit_new(test, board, 0, ALL);
	unsigned int i;

	KUNIT_ASSERT_TRUE(test, ork_board_switch(board, 0, -ETIMEDOUT));
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, board->ork.cores[i].lost);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence->base), -EIO);
	KUNIT_EXPECT_FALSE(test, ork_board_switch(board, 0, 0));
}

/* Until then the core could still write to the job's memory. */
static void job_of_a_core_that_does_not_reset_ends_when_its_mmu_is_detached(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 2, true);
	struct ork_core *core = &board->ork.cores[0];
	struct ork_job *job, *innocent;

	ork_board_attach_all(board, 0);
	job = ork_board_submit_new(test, board, 0, 1);
	innocent = ork_board_submit_new(test, board, 0, 2);
	core->job = NULL;
	core->wreck = job;
	job->status = -ETIMEDOUT;
	ork_dispatch_test_lose(board, 0);
	ork_dispatch_test_again(board);
	KUNIT_EXPECT_FALSE(test, ork_board_switch(board, 0, 0));
	KUNIT_EXPECT_FALSE(test, ork_board_ended(job));

	KUNIT_EXPECT_PTR_EQ(test, ork_board_complete(board, 1), innocent);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&innocent->fence->base), 1);
	KUNIT_EXPECT_TRUE(test, ork_board_switch(board, 0, 0));
	KUNIT_EXPECT_NULL(test, board->ork.mmus[0].vm);
	KUNIT_EXPECT_EQ(test, dma_fence_get_status(&job->fence->base), -ETIMEDOUT);
}

/* --- interrupts ------------------------------------------------------------------ */

struct ork_dispatch_irq {
	const char *name;
	u32 status;
	u32 count;
	unsigned int tasks;
	irqreturn_t result;
	unsigned int spurious;
	bool ended;
};

/* Of a core with a job of chains of two programs. */
static const struct ork_dispatch_irq ork_dispatch_irqs[] = {
	{ "of the IOMMU", 0, 2, 1, IRQ_NONE, 0, false },
	{ "at the end of the job", ORK_INT_DPU, 2, 1, IRQ_WAKE_THREAD, 0, true },
	{ "at the end of a chain", ORK_INT_DPU, 2, 2, IRQ_HANDLED, 0, false },
	{ "too early", ORK_INT_DPU, 1, 1, IRQ_HANDLED, 1, false },
	{ "without a job", ORK_INT_DPU, 2, 0, IRQ_HANDLED, 1, false },
};

KUNIT_ARRAY_PARAM_DESC(ork_dispatch_irqs, ork_dispatch_irqs, name);

static void interrupt_ends_a_chain_that_is_at_its_end(struct kunit *test)
{
	static struct ork_task tasks[] = { { 0x1000, 4, 2 }, { 0x2000, 4, 2 } };
	const struct ork_dispatch_irq *irq = test->param_value;
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *job = ork_board_job(test, board, 0, NORMAL, 1);
	struct ork_core *core = &board->ork.cores[0];

	ork_board_attach_all(board, 0);
	job->tasks = tasks;
	job->num_tasks = irq->tasks;
	if (irq->tasks)
		ork_board_submit(board, job);
	ork_board_write(board, 0, ORK_PC_INTERRUPT_STATUS, irq->status);
	ork_board_write(board, 0, ORK_PC_TASK_STATUS, irq->count);
	KUNIT_EXPECT_EQ(test, ork_dispatch_interrupt(core), irq->result);
	ork_dispatch_finish(&board->ork);
	KUNIT_EXPECT_EQ(test, core->spurious, irq->spurious);
	KUNIT_EXPECT_EQ(test, ork_board_ended(job), irq->ended);
}

static struct kunit_case ork_dispatch_cases[] = {
	KUNIT_CASE(job_starts_at_once_where_its_space_is_attached),
	KUNIT_CASE_PARAM(jobs_fill_the_cores_that_they_allow_and_no_others,
			 ork_dispatch_masks_gen_params),
	KUNIT_CASE(jobs_of_a_file_start_in_the_order_of_submission),
	KUNIT_CASE(job_for_an_idle_core_does_not_wait_for_those_for_busy_ones),
	KUNIT_CASE(core_takes_the_oldest_of_the_jobs_that_allow_it),
	KUNIT_CASE(higher_priority_goes_first),
	KUNIT_CASE(core_that_is_being_reset_gets_nothing),
	KUNIT_CASE_PARAM(jobs_without_their_space_claim_what_they_can_use,
			 ork_dispatch_claims_gen_params),
	KUNIT_CASE(claimed_mmu_starts_nothing_of_the_space_it_has),
	KUNIT_CASE(mmu_is_not_switched_while_a_core_behind_it_runs),
	KUNIT_CASE(each_core_starts_one_job_before_the_next_claim_counts),
	KUNIT_CASE(stale_mmu_starts_nothing_until_it_was_detached),
	KUNIT_CASE_PARAM(file_with_many_jobs_delays_another_by_one_a_core,
			 ork_dispatch_boards_gen_params),
	KUNIT_CASE(files_start_their_jobs_in_turns),
	KUNIT_CASE(low_priority_waits_for_all_files_of_higher_ones),
	KUNIT_CASE_PARAM(any_mix_of_jobs_ends_with_each_run_once, ork_dispatch_boards_gen_params),
	KUNIT_CASE(tasks_of_a_job_run_in_order_on_one_core),
	KUNIT_CASE_PARAM(job_that_cannot_run_ends_with_the_reason,
			 ork_dispatch_refusals_gen_params),
	KUNIT_CASE(refused_file_loses_what_has_not_started),
	KUNIT_CASE(lost_core_ends_the_jobs_that_allow_no_other),
	KUNIT_CASE(mmu_that_cannot_be_switched_loses_all_of_its_cores),
	KUNIT_CASE(job_of_a_core_that_does_not_reset_ends_when_its_mmu_is_detached),
	KUNIT_CASE_PARAM(interrupt_ends_a_chain_that_is_at_its_end, ork_dispatch_irqs_gen_params),
	{ }
};

static struct kunit_suite ork_dispatch_suite = {
	.name = "ork_dispatch",
	.test_cases = ork_dispatch_cases,
};

kunit_test_suite(ork_dispatch_suite);

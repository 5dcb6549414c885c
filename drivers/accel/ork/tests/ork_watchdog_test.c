// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a core is looked at, and what is found then.
 */

#include <linux/jiffies.h>
#include <linux/limits.h>

#include <drm/ork_regs.h>

#include <kunit/test.h>

#include "ork_test_board.h"

#include "../ork_dispatch.h"
#include "../ork_watchdog.h"

/* So long that no timer of these tests fires. */
#define ORK_WATCHDOG_TEST_LONG	(800UL * HZ)

/* A core that runs a job of five programs. */
static struct ork_core *ork_watchdog_test_core(struct kunit *test, struct ork_board **board)
{
	struct ork_job *job;

	*board = ork_board_create(test, 1, false);
	ork_board_attach_all(*board, 0);
	job = ork_board_job(test, *board, 0, DRM_ORK_PRIORITY_NORMAL, 1);
	job->tasks->programs = 5;
	job->timeout = ORK_WATCHDOG_TEST_LONG;
	ork_board_submit(*board, job);
	KUNIT_ASSERT_PTR_EQ(test, (*board)->ork.cores[0].job, job);
	return &(*board)->ork.cores[0];
}

static struct ork_job *ork_watchdog_test_look(struct ork_board *board, bool *rearm)
{
	struct ork_job *job;

	spin_lock_irq(&board->ork.lock);
	job = ork_watchdog_look(&board->ork.cores[0], rearm);
	spin_unlock_irq(&board->ork.lock);
	return job;
}

static void ork_watchdog_test_start(struct ork_core *core)
{
	spin_lock_irq(&core->ork->lock);
	ork_watchdog_start_locked(core);
	spin_unlock_irq(&core->ork->lock);
}

/* --- times ------------------------------------------------------------------- */

struct ork_watchdog_period {
	const char *name;
	unsigned long timeout;
	unsigned int spurious;
	unsigned long period;
};

static const struct ork_watchdog_period ork_watchdog_periods[] = {
	{ "an eighth of the timeout", 800, 0, 100 },
	{ "rounded down", 807, 0, 100 },
	{ "at least a jiffy", 7, 0, 1 },
	{ "at least a jiffy of one", 1, 0, 1 },
	{ "the same with a few interrupts too many", 800, 15, 100 },
	{ "each jiffy while interrupts are masked", 800, 16, 1 },
};

KUNIT_ARRAY_PARAM_DESC(ork_watchdog_periods, ork_watchdog_periods, name);

static void core_is_looked_at_eight_times_in_a_timeout(struct kunit *test)
{
	const struct ork_watchdog_period *period = test->param_value;
	struct ork_job job = { .timeout = period->timeout };
	struct ork_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->job = &job;
	core->spurious = period->spurious;
	KUNIT_EXPECT_EQ(test, ork_watchdog_period(core), period->period);
}

struct ork_watchdog_time {
	const char *name;
	/* Of the last progress, or of the look that is due. */
	unsigned long then;
	unsigned long now;
	bool result;
};

/* With a timeout of 80 jiffies. */
static const struct ork_watchdog_time ork_watchdog_progress[] = {
	{ "progress just now", 1000, 1000, true },
	{ "a timeout ago", 1000, 1080, true },
	{ "a jiffy more than a timeout ago", 1000, 1081, false },
	{ "long ago", 1000, 1000000, false },
	{ "before jiffies wrapped", ULONG_MAX - 39, 40, true },
	{ "before jiffies wrapped, a jiffy too long ago", ULONG_MAX - 39, 41, false },
	{ "where half of all jiffies are", LONG_MAX - 10, LONG_MAX + 70UL, true },
	{ "where half of all jiffies are, too long ago", LONG_MAX - 10, LONG_MAX + 71UL, false },
};

KUNIT_ARRAY_PARAM_DESC(ork_watchdog_progress, ork_watchdog_progress, name);

static void chain_is_in_time_for_a_timeout_after_its_last_program(struct kunit *test)
{
	const struct ork_watchdog_time *time = test->param_value;
	struct ork_job job = { .timeout = 80 };
	struct ork_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->job = &job;
	core->progress = time->then;
	KUNIT_EXPECT_EQ(test, ork_watchdog_in_time(core, time->now), time->result);
}

/* With a timeout of 80 jiffies a look is wanted within 10. */
static const struct ork_watchdog_time ork_watchdog_looks[] = {
	{ "due earlier", 1005, 1000, false },
	{ "due in time", 1010, 1000, false },
	{ "due a jiffy late", 1011, 1000, true },
	{ "due far too late", 9000, 1000, true },
	{ "overdue", 900, 1000, false },
	{ "due in time, when jiffies have wrapped", 4, ULONG_MAX - 5, false },
	{ "due late, when jiffies have wrapped", 5, ULONG_MAX - 5, true },
};

KUNIT_ARRAY_PARAM_DESC(ork_watchdog_looks, ork_watchdog_looks, name);

static void look_is_late_if_it_is_due_after_a_part_of_the_timeout(struct kunit *test)
{
	const struct ork_watchdog_time *time = test->param_value;
	struct ork_job job = { .timeout = 80 };
	struct ork_core *core = kunit_kzalloc(test, sizeof(*core), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, core);
	core->job = &job;
	core->look = time->then;
	KUNIT_EXPECT_EQ(test, ork_watchdog_late(core, time->now), time->result);
}

static void start_moves_a_look_only_if_it_would_be_late(struct kunit *test)
{
	struct ork_board *board;
	struct ork_core *core = ork_watchdog_test_core(test, &board);
	unsigned long look = core->look;

	core->job->timeout = 10 * ORK_WATCHDOG_TEST_LONG;
	ork_watchdog_test_start(core);
	KUNIT_EXPECT_EQ(test, core->look, look);
	core->job->timeout = ORK_WATCHDOG_TEST_LONG / 10;
	ork_watchdog_test_start(core);
	KUNIT_EXPECT_TRUE(test, time_before(core->look, look));
}

/* --- looks ------------------------------------------------------------------- */

static void idle_core_is_not_looked_at_again(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	bool rearm = true;

	KUNIT_EXPECT_NULL(test, ork_watchdog_test_look(board, &rearm));
	KUNIT_EXPECT_FALSE(test, rearm);
	KUNIT_EXPECT_TRUE(test, board->ork.cores[0].ready);
}

/* However long the chain is as a whole. */
static void chain_that_finishes_programs_is_alive(struct kunit *test)
{
	struct ork_board *board;
	struct ork_core *core = ork_watchdog_test_core(test, &board);
	unsigned int count;
	bool rearm;

	for (count = 1; count < 5; count++) {
		core->progress = jiffies - 2 * ORK_WATCHDOG_TEST_LONG;
		ork_board_write(board, 0, ORK_PC_TASK_STATUS, count);
		KUNIT_EXPECT_NULL(test, ork_watchdog_test_look(board, &rearm));
		KUNIT_EXPECT_TRUE(test, rearm);
		KUNIT_EXPECT_EQ(test, core->counted, count);
		KUNIT_EXPECT_TRUE(test, ork_watchdog_in_time(core, jiffies));
	}
}

static void chain_that_finishes_none_for_a_timeout_is_taken_from_its_core(struct kunit *test)
{
	struct ork_board *board;
	struct ork_core *core = ork_watchdog_test_core(test, &board);
	struct ork_job *job = core->job;
	bool rearm = true;

	ork_board_write(board, 0, ORK_PC_TASK_STATUS, 3);
	KUNIT_EXPECT_NULL(test, ork_watchdog_test_look(board, &rearm));
	core->progress = jiffies - 2 * ORK_WATCHDOG_TEST_LONG;
	KUNIT_EXPECT_PTR_EQ(test, ork_watchdog_test_look(board, &rearm), job);
	KUNIT_EXPECT_FALSE(test, rearm);
	KUNIT_EXPECT_NULL(test, core->job);
	KUNIT_EXPECT_FALSE(test, core->ready);
	KUNIT_EXPECT_TRUE(test, core->recovering);
	KUNIT_EXPECT_FALSE(test, core->fault);
	KUNIT_EXPECT_EQ(test, core->counted, 3);
	KUNIT_EXPECT_EQ(test, ork_board_read(board, 0, ORK_PC_INTERRUPT_MASK), 0);
}

static void lost_interrupt_ends_the_chain_well_and_starts_the_next(struct kunit *test)
{
	struct ork_board *board;
	struct ork_core *core = ork_watchdog_test_core(test, &board);
	struct ork_job *job = core->job, *next = ork_board_submit_new(test, board, 0, 1);
	bool rearm;

	core->progress = jiffies - 2 * ORK_WATCHDOG_TEST_LONG;
	ork_board_write(board, 0, ORK_PC_TASK_STATUS, 5);
	ork_board_write(board, 0, ORK_PC_INTERRUPT_RAW_STATUS, ORK_INT_DPU);
	KUNIT_EXPECT_NULL(test, ork_watchdog_test_look(board, &rearm));
	ork_dispatch_finish(&board->ork);
	KUNIT_EXPECT_TRUE(test, ork_board_ended(job));
	KUNIT_EXPECT_EQ(test, job->status, 0);
	KUNIT_EXPECT_PTR_EQ(test, core->job, next);
	KUNIT_EXPECT_TRUE(test, rearm);
}

/* What the IOMMU says. */
enum ork_watchdog_report {
	ORK_WATCHDOG_NOTHING,
	ORK_WATCHDOG_ITS_CORE,
	ORK_WATCHDOG_SOME_CORE,
	ORK_WATCHDOG_EARLIER,	/* before the chain was started */
};

struct ork_watchdog_fault {
	const char *name;
	u32 raw;
	enum ork_watchdog_report report;
	bool late;		/* the timeout is over */
	bool fault;
	bool taken;
};

static const struct ork_watchdog_fault ork_watchdog_faults[] = {
	{ "none", 0, ORK_WATCHDOG_NOTHING, false, false, false },
	{ "of its core, says the IOMMU", 0, ORK_WATCHDOG_ITS_CORE, false, true, true },
	{ "of some core, says the IOMMU", 0, ORK_WATCHDOG_SOME_CORE, false, false, false },
	{ "a read, says the core too",
	  ORK_INT_DMA_READ_ERROR, ORK_WATCHDOG_SOME_CORE, false, true, true },
	{ "a write, says the core too",
	  ORK_INT_DMA_WRITE_ERROR, ORK_WATCHDOG_SOME_CORE, false, true, true },
	{ "a read, says the core first",
	  ORK_INT_DMA_READ_ERROR, ORK_WATCHDOG_NOTHING, false, true, false },
	{ "a write, says the core first",
	  ORK_INT_DMA_WRITE_ERROR, ORK_WATCHDOG_NOTHING, false, true, false },
	{ "a read, and an earlier report",
	  ORK_INT_DMA_READ_ERROR, ORK_WATCHDOG_EARLIER, false, true, false },
	{ "a read, never reported",
	  ORK_INT_DMA_READ_ERROR, ORK_WATCHDOG_NOTHING, true, true, true },
	{ "at the end of the chain",
	  ORK_INT_DMA_READ_ERROR | ORK_INT_DPU, ORK_WATCHDOG_SOME_CORE, false, true, true },
	{ "at the end of the chain, says the core first",
	  ORK_INT_DMA_READ_ERROR | ORK_INT_DPU, ORK_WATCHDOG_NOTHING, false, true, false },
};

KUNIT_ARRAY_PARAM_DESC(ork_watchdog_faults, ork_watchdog_faults, name);

static void ork_watchdog_test_report(struct ork_core *core, enum ork_watchdog_report report)
{
	if (report == ORK_WATCHDOG_NOTHING)
		return;
	if (report == ORK_WATCHDOG_EARLIER) {
		core->mmu->fault.time = ktime_sub_ns(core->started, 1);
		return;
	}
	core->mmu->fault.time = ktime_add_ns(core->started, 1);
	ork_watchdog_fault_locked(core, report == ORK_WATCHDOG_ITS_CORE);
}

static void fault_takes_the_job_when_it_is_reported(struct kunit *test)
{
	const struct ork_watchdog_fault *fault = test->param_value;
	struct ork_board *board;
	struct ork_core *core = ork_watchdog_test_core(test, &board);
	struct ork_job *job = core->job;
	bool rearm;

	ork_board_write(board, 0, ORK_PC_INTERRUPT_RAW_STATUS, fault->raw);
	ork_board_write(board, 0, ORK_PC_TASK_STATUS, 5);
	core->counted = 5;
	if (fault->late)
		core->progress = jiffies - 2 * ORK_WATCHDOG_TEST_LONG;
	spin_lock_irq(&board->ork.lock);
	ork_watchdog_test_report(core, fault->report);
	spin_unlock_irq(&board->ork.lock);
	if (fault->report == ORK_WATCHDOG_ITS_CORE || fault->report == ORK_WATCHDOG_SOME_CORE)
		KUNIT_EXPECT_TRUE(test, time_before_eq(core->look, jiffies));
	KUNIT_EXPECT_PTR_EQ(test, ork_watchdog_test_look(board, &rearm),
			    fault->taken ? job : NULL);
	KUNIT_EXPECT_EQ(test, rearm, !fault->taken);
	KUNIT_EXPECT_EQ(test, core->fault, fault->fault);
}

static void sixteenth_spurious_interrupt_is_masked(struct kunit *test)
{
	struct ork_board *board;
	struct ork_core *core = ork_watchdog_test_core(test, &board);
	unsigned int i;

	for (i = 1; i <= 16; i++) {
		KUNIT_EXPECT_NE_MSG(test, ork_board_read(board, 0, ORK_PC_INTERRUPT_MASK), 0,
				    "before interrupt %u", i);
		spin_lock_irq(&board->ork.lock);
		ork_watchdog_spurious_locked(core);
		spin_unlock_irq(&board->ork.lock);
	}
	KUNIT_EXPECT_EQ(test, ork_board_read(board, 0, ORK_PC_INTERRUPT_MASK), 0);
	KUNIT_EXPECT_EQ(test, ork_watchdog_period(core), 1);

	/* The next kick begins anew. */
	ork_board_complete(board, 0);
	ork_board_submit_new(test, board, 0, 1);
	KUNIT_EXPECT_NE(test, ork_board_read(board, 0, ORK_PC_INTERRUPT_MASK), 0);
	KUNIT_EXPECT_EQ(test, core->spurious, 0);
}

/* --- bans ------------------------------------------------------------------- */

static void ork_watchdog_test_hang(struct ork_board *board, unsigned int times)
{
	spin_lock_irq(&board->ork.lock);
	while (times--)
		ork_watchdog_count_hang_locked(&board->files[0]);
	spin_unlock_irq(&board->ork.lock);
	ork_dispatch_finish(&board->ork);
}

static void tenth_hang_bans_its_file_and_no_other(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *waits = ork_board_submit_new(test, board, 0, 1);

	ork_watchdog_test_hang(board, 9);
	KUNIT_EXPECT_EQ(test, board->files[0].refusal, 0);
	KUNIT_EXPECT_FALSE(test, ork_board_ended(waits));
	ork_watchdog_test_hang(board, 1);
	KUNIT_EXPECT_EQ(test, board->files[0].refusal, -EIO);
	KUNIT_EXPECT_EQ(test, waits->status, -EIO);
	KUNIT_EXPECT_EQ(test, board->files[1].refusal, 0);
}

static void file_that_is_closed_is_not_banned(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);

	board->files[0].refusal = -ECANCELED;
	ork_watchdog_test_hang(board, 20);
	KUNIT_EXPECT_EQ(test, board->files[0].refusal, -ECANCELED);
	KUNIT_EXPECT_EQ(test, board->files[0].hangs, 20);
}

static struct kunit_case ork_watchdog_cases[] = {
	KUNIT_CASE_PARAM(core_is_looked_at_eight_times_in_a_timeout,
			 ork_watchdog_periods_gen_params),
	KUNIT_CASE_PARAM(chain_is_in_time_for_a_timeout_after_its_last_program,
			 ork_watchdog_progress_gen_params),
	KUNIT_CASE_PARAM(look_is_late_if_it_is_due_after_a_part_of_the_timeout,
			 ork_watchdog_looks_gen_params),
	KUNIT_CASE(start_moves_a_look_only_if_it_would_be_late),
	KUNIT_CASE(idle_core_is_not_looked_at_again),
	KUNIT_CASE(chain_that_finishes_programs_is_alive),
	KUNIT_CASE(chain_that_finishes_none_for_a_timeout_is_taken_from_its_core),
	KUNIT_CASE(lost_interrupt_ends_the_chain_well_and_starts_the_next),
	KUNIT_CASE_PARAM(fault_takes_the_job_when_it_is_reported,
			 ork_watchdog_faults_gen_params),
	KUNIT_CASE(sixteenth_spurious_interrupt_is_masked),
	KUNIT_CASE(tenth_hang_bans_its_file_and_no_other),
	KUNIT_CASE(file_that_is_closed_is_not_banned),
	{ }
};

static struct kunit_suite ork_watchdog_suite = {
	.name = "ork_watchdog",
	.test_cases = ork_watchdog_cases,
};

kunit_test_suite(ork_watchdog_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device without hardware, for tests of who runs when and where.
 */

#include <linux/dma-fence.h>
#include <linux/io.h>
#include <linux/slab.h>

#include "ork_test_board.h"

#include "../ork_dispatch.h"
#include "../ork_fence.h"
#include "../ork_queue.h"

/* Of a block of registers. */
#define ORK_BOARD_BLOCK		0x1000

static void ork_board_no_work(struct work_struct *work)
{
}

static void ork_board_count_switch(struct work_struct *work)
{
	struct ork_mmu *mmu = container_of(work, struct ork_mmu, work);
	struct ork_board *board = container_of(mmu->ork, struct ork_board, ork);

	atomic_inc(&board->asked[mmu - mmu->ork->mmus]);
}

static void ork_board_fini(void *data)
{
	struct ork_board *board = data;
	struct ork_device *ork = &board->ork;
	unsigned int i;

	for (i = 0; i < ork->num_cores; i++)
		cancel_delayed_work_sync(&ork->cores[i].watchdog);
	for (i = 0; i < ork->num_mmus; i++)
		cancel_work_sync(&ork->mmus[i].work);
	cancel_work_sync(&ork->settle);
	cancel_work_sync(&ork->release);
	destroy_workqueue(ork->wq);
}

static void __iomem *ork_board_block(struct kunit *test)
{
	void *block = kunit_kzalloc(test, ORK_BOARD_BLOCK, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, block);
	return (void __force __iomem *)block;
}

static void ork_board_init_device(struct ork_device *ork)
{
	ork->front.npu = ork;
	spin_lock_init(&ork->lock);
	INIT_LIST_HEAD(&ork->waiting);
	INIT_LIST_HEAD(&ork->ready);
	INIT_LIST_HEAD(&ork->queues);
	INIT_LIST_HEAD(&ork->ended);
	INIT_WORK(&ork->settle, ork_board_no_work);
	INIT_WORK(&ork->release, ork_board_no_work);
	init_llist_head(&ork->done);
	init_waitqueue_head(&ork->jobs_gone);
}

static void ork_board_init_file(struct ork_board *board, unsigned int index)
{
	struct ork_file *ofile = &board->files[index];
	unsigned int i;

	kref_init(&board->vms[index].ref);
	board->vms[index].ork = &board->ork;
	ofile->ork = &board->ork;
	ofile->client = index;
	ofile->vm = &board->vms[index];
	kref_init(&ofile->ref);
	init_waitqueue_head(&ofile->idle);
	for (i = 0; i < ARRAY_SIZE(ofile->queues); i++)
		ork_queue_init(&ofile->queues[i], ofile->vm, i);
}

static void ork_board_init_core(struct kunit *test, struct ork_device *ork, unsigned int index,
				struct ork_mmu *mmu)
{
	struct ork_core *core = &ork->cores[index];

	core->ork = ork;
	core->index = index;
	core->mmu = mmu;
	core->pc = ork_board_block(test);
	core->cna = ork_board_block(test);
	core->array = ork_board_block(test);
	core->ready = true;
	INIT_DELAYED_WORK(&core->watchdog, ork_board_no_work);
	mmu->cores |= BIT(index);
}

/**
 * ork_board_create() - a device with idle cores and no address space attached
 * @test: ends it
 * @cores: how many
 * @shared: behind one IOMMU; else each has its own
 *
 * Return: the board.
 */
struct ork_board *ork_board_create(struct kunit *test, unsigned int cores, bool shared)
{
	struct ork_board *board = kunit_kzalloc(test, sizeof(*board), GFP_KERNEL);
	struct ork_device *ork;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, board);
	ork = &board->ork;
	ork_board_init_device(ork);
	ork->num_mmus = shared ? 1 : cores;
	for (i = 0; i < ork->num_mmus; i++) {
		ork->mmus[i].ork = ork;
		INIT_WORK(&ork->mmus[i].work, ork_board_count_switch);
	}
	ork->num_cores = cores;
	for (i = 0; i < cores; i++)
		ork_board_init_core(test, ork, i, &ork->mmus[shared ? 0 : i]);
	for (i = 0; i < ORK_BOARD_FILES; i++)
		ork_board_init_file(board, i);

	ork->wq = alloc_workqueue("ork-test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, ork->wq);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_board_fini, board), 0);
	return board;
}

/**
 * ork_board_attach_all() - every IOMMU has had a file's address space for long
 * @board: a board without jobs
 * @file: the file
 */
void ork_board_attach_all(struct ork_board *board, unsigned int file)
{
	unsigned int i;

	for (i = 0; i < board->ork.num_mmus; i++) {
		board->ork.mmus[i].vm = &board->vms[file];
		board->ork.mmus[i].fresh = 0;
	}
}

static void ork_board_put_fence(void *fence)
{
	if (!dma_fence_is_signaled(fence))
		dma_fence_signal(fence);
	dma_fence_put(fence);
}

/**
 * ork_board_job() - a job of one task with one program
 * @test: frees it
 * @board: where it will run
 * @file: whose it is
 * @priority: enum drm_ork_priority
 * @core_mask: cores that it allows
 *
 * Return: the job, not yet submitted.
 */
struct ork_job *ork_board_job(struct kunit *test, struct ork_board *board, unsigned int file,
			      u32 priority, u32 core_mask)
{
	struct ork_job *job = kunit_kzalloc(test, sizeof(*job), GFP_KERNEL);
	struct ork_task *task = kunit_kzalloc(test, sizeof(*task), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, job);
	KUNIT_ASSERT_NOT_NULL(test, task);
	*task = (struct ork_task) { .iova = 0x1000, .words = 4, .programs = 1 };
	kref_init(&job->ref);
	INIT_LIST_HEAD(&job->link);
	job->ofile = &board->files[file];
	job->queue = &job->ofile->queues[priority];
	job->core_mask = core_mask;
	job->timeout = HZ;
	job->tasks = task;
	job->num_tasks = 1;

	job->fence = ork_fence_create();
	KUNIT_ASSERT_NOT_NULL(test, job->fence);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_board_put_fence,
							&job->fence->base), 0);
	return job;
}

/**
 * ork_board_submit() - a job waits for nothing but a core from now on
 * @board: the board
 * @job: the job
 */
void ork_board_submit(struct ork_board *board, struct ork_job *job)
{
	atomic_inc(&job->ofile->active);
	ork_dispatch_add(job, 0);
	ork_dispatch_finish(&board->ork);
}

/**
 * ork_board_submit_new() - submit a job of normal priority
 * @test: frees it
 * @board: the board
 * @file: whose it is
 * @core_mask: cores that it allows
 *
 * Return: the job.
 */
struct ork_job *ork_board_submit_new(struct kunit *test, struct ork_board *board,
				     unsigned int file, u32 core_mask)
{
	struct ork_job *job = ork_board_job(test, board, file, DRM_ORK_PRIORITY_NORMAL, core_mask);

	ork_board_submit(board, job);
	return job;
}

/**
 * ork_board_complete() - the chain of a core ends well
 * @board: the board
 * @core: a core that runs a job
 *
 * Return: the job that it ran.
 */
struct ork_job *ork_board_complete(struct ork_board *board, unsigned int core)
{
	struct ork_job *job = board->ork.cores[core].job;

	spin_lock_irq(&board->ork.lock);
	ork_dispatch_task_done_locked(&board->ork.cores[core]);
	spin_unlock_irq(&board->ork.lock);
	ork_dispatch_finish(&board->ork);
	return job;
}

/**
 * ork_board_switch() - what an IOMMU's work does, if it was queued
 * @board: the board
 * @mmu: number of the IOMMU
 * @error: 0, or why it cannot be given to the space that claims it
 *
 * Return: true if there was something to do.
 */
bool ork_board_switch(struct ork_board *board, unsigned int mmu, int error)
{
	struct ork_mmu *switched = &board->ork.mmus[mmu];
	struct ork_vm *vm;

	flush_work(&switched->work);
	if (!atomic_xchg(&board->asked[mmu], 0) || !ork_mmu_begin_switch(switched, &vm))
		return false;
	/* References are left: a board's spaces are freed with it. */
	switched->vm = error ? NULL : vm;
	ork_dispatch_switched(switched, error);
	return true;
}

/**
 * ork_board_ended() - whether a job has ended
 * @job: the job
 *
 * Return: true if its fence has signalled.
 */
bool ork_board_ended(const struct ork_job *job)
{
	return dma_fence_is_signaled(&job->fence->base);
}

/**
 * ork_board_read() - a register of a core's program controller
 * @board: the board
 * @core: number of the core
 * @reg: ORK_PC_*
 *
 * Return: its value.
 */
u32 ork_board_read(struct ork_board *board, unsigned int core, u32 reg)
{
	return readl(board->ork.cores[core].pc + reg);
}

/**
 * ork_board_write() - let a register read as a value
 * @board: the board
 * @core: number of the core
 * @reg: ORK_PC_*
 * @value: the value
 */
void ork_board_write(struct ork_board *board, unsigned int core, u32 reg, u32 value)
{
	writel(value, board->ork.cores[core].pc + reg);
}

static const char *ork_test_fence_name(struct dma_fence *fence)
{
	return "ork-test";
}

static const struct dma_fence_ops ork_test_fence_ops = {
	.get_driver_name = ork_test_fence_name,
	.get_timeline_name = ork_test_fence_name,
};

/**
 * ork_test_fence() - a fence of somebody else
 * @test: signals it at the end, and drops its reference
 *
 * Return: the fence, which has not signalled.
 */
struct dma_fence *ork_test_fence(struct kunit *test)
{
	/* The core frees a fence without a release of its own, by the address of its begin. */
	struct {
		struct dma_fence base;
		spinlock_t lock;	/* of base */
	} *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fence);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &ork_test_fence_ops, &fence->lock, dma_fence_context_alloc(1),
		       1);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_board_put_fence, &fence->base),
			0);
	return &fence->base;
}

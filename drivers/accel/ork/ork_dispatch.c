// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which core runs which job.
 *
 * A job that waits for nothing but a core is in its file's queue, and is bound late: to an idle
 * core that it allows, by the submit itself or by the interrupt that frees the core. Files take
 * turns. A job at whose turn no idle core has its address space attached claims an IOMMU. From then
 * on the cores behind that start nothing else, save for those that have started nothing since it
 * was attached last. So a space waits for at most one job on each core, and fills all of them when
 * it gets them.
 *
 * The DRM scheduler is not used. It has one number of jobs in flight for all cores, which jobs for
 * a core that hangs use up, so that others stand still; it lets a client wait for all that another
 * has queued before; and it keeps a job of a closed file until its dependencies have signalled.
 *
 * Jobs that ended go to a list that threads work off: there results are made visible and fences
 * signalled.
 */

#include <linux/dma-fence.h>
#include <linux/spinlock.h>

#include <drm/drm_print.h>

#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_fault.h"
#include "ork_job.h"
#include "ork_queue.h"
#include "ork_trace.h"
#include "ork_watchdog.h"

static bool ork_core_free(const struct ork_core *core)
{
	return core->ready && !core->job && !core->mmu->switching && !core->mmu->stale;
}

static u32 ork_dispatch_free_cores(struct ork_device *ork)
{
	unsigned int i;
	u32 cores = 0;

	for (i = 0; i < ork->num_cores; i++)
		if (ork_core_free(&ork->cores[i]))
			cores |= BIT(i);
	return cores;
}

/* One of some free cores that may start a job of an address space at once. */
static struct ork_core *ork_dispatch_find_core(struct ork_device *ork, const struct ork_vm *vm,
					       u32 cores)
{
	unsigned int i;

	for (i = 0; i < ork->num_cores; i++) {
		struct ork_core *core = &ork->cores[i];
		struct ork_mmu *mmu = core->mmu;

		if ((cores & BIT(i)) && mmu->vm == vm && (!mmu->claim || (mmu->fresh & BIT(i))))
			return core;
	}
	return NULL;
}

/* The oldest of a queue's jobs that can start at once, and the core that it starts on. */
static struct ork_job *ork_dispatch_find_job(struct ork_device *ork, struct ork_queue *queue,
					     u32 cores, struct ork_core **core)
{
	struct ork_job *oldest = NULL;
	u32 mask;

	for (mask = 1; mask < ORK_CORE_MASKS; mask++) {
		struct ork_core *found;
		struct ork_job *job;

		if (!(mask & cores) || list_empty(&queue->jobs[mask]))
			continue;
		job = list_first_entry(&queue->jobs[mask], struct ork_job, link);
		if (oldest && oldest->order < job->order)
			continue;
		found = ork_dispatch_find_core(ork, queue->vm, mask & cores);
		if (found) {
			oldest = job;
			*core = found;
		}
	}
	return oldest;
}

/*
 * Finds an IOMMU that will be given to the address space of a job, or claims one. @taken has those
 * that other jobs of the space count on.
 */
static void ork_dispatch_claim(struct ork_device *ork, const struct ork_job *job, u32 cores,
			       u32 *taken)
{
	struct ork_vm *vm = job->queue->vm;
	struct ork_mmu *free = NULL;
	unsigned int i;

	for (i = 0; i < ork->num_cores; i++) {
		struct ork_mmu *mmu = ork->cores[i].mmu;

		if (!(job->core_mask & BIT(i)) || (*taken & mmu->cores))
			continue;
		if (mmu->claim == vm) {
			*taken |= mmu->cores;
			return;
		}
		if (!free && !mmu->claim && (cores & BIT(i)))
			free = mmu;
	}

	if (free) {
		free->claim = vm;
		*taken |= free->cores;
	}
}

/* For as many jobs as there are cores. */
static void ork_dispatch_claim_all(struct ork_device *ork, struct ork_queue *queue, u32 cores,
				   u32 *taken)
{
	u32 mask;

	for (mask = 1; mask < ORK_CORE_MASKS; mask++) {
		unsigned int count = hweight32(mask);
		struct ork_job *job;

		list_for_each_entry(job, &queue->jobs[mask], link) {
			if (!count--)
				break;
			ork_dispatch_claim(ork, job, cores, taken);
		}
	}
}

static void ork_dispatch_kick(struct ork_core *core)
{
	core->started = ktime_get();
	core->signalled = false;
	core->spurious = 0;
	ork_watchdog_start_locked(core);
	ork_core_kick(core, &core->job->tasks[core->task]);
}

static void ork_dispatch_start(struct ork_core *core, struct ork_job *job)
{
	ork_queue_take_locked(job);
	if (job->queue->num_jobs)
		ork_queue_turn_locked(core->ork, job->queue);
	core->job = job;
	core->task = 0;
	core->fault = false;
	core->mmu->fresh &= ~BIT(core->index);
	job->cores = BIT(core->index);
	trace_ork_job_start(core, job);
	ork_dispatch_kick(core);
	job->begin_ns = ktime_to_ns(core->started);
}

/* Starts the first job, by turns, that can start at once. Those before it claim what they need. */
static bool ork_dispatch_one(struct ork_device *ork)
{
	u32 cores = ork_dispatch_free_cores(ork);
	struct ork_queue *queue;
	unsigned int i;
	u32 taken = 0;

	for (i = 0; i < ork->num_mmus; i++)
		if (!ork->mmus[i].switching)
			ork->mmus[i].claim = NULL;
	if (!cores)
		return false;

	list_for_each_entry(queue, &ork->queues, turn) {
		struct ork_core *core;
		struct ork_job *job = ork_dispatch_find_job(ork, queue, cores, &core);

		if (job) {
			ork_dispatch_start(core, job);
			return true;
		}
		ork_dispatch_claim_all(ork, queue, cores, &taken);
	}
	return false;
}

/**
 * ork_dispatch_locked() - start what can be started
 * @ork: the device
 *
 * Context: any; under ork->lock.
 */
void ork_dispatch_locked(struct ork_device *ork)
{
	unsigned int i;

	lockdep_assert_held(&ork->lock);
	while (ork_dispatch_one(ork))
		;
	for (i = 0; i < ork->num_mmus; i++) {
		struct ork_mmu *mmu = &ork->mmus[i];

		if ((mmu->claim || mmu->stale) && !mmu->switching && ork_mmu_idle_locked(mmu))
			queue_work(ork->wq, &mmu->work);
	}
}

/**
 * ork_dispatch_end_locked() - a job has ended
 * @job: a job that is in no queue, and that no core runs any more
 * @status: 0, or the negative errno that its fence will carry
 *
 * Context: any; under ork->lock. Afterwards the caller, or an interrupt thread, calls
 * ork_dispatch_finish().
 */
void ork_dispatch_end_locked(struct ork_job *job, int status)
{
	struct ork_device *ork = job->ofile->ork;

	lockdep_assert_held(&ork->lock);
	job->waits = false;
	job->status = status;
	list_move_tail(&job->link, &ork->ended);
}

static u32 ork_dispatch_lost_cores(struct ork_device *ork)
{
	unsigned int i;
	u32 cores = 0;

	for (i = 0; i < ork->num_cores; i++)
		if (ork->cores[i].lost)
			cores |= BIT(i);
	return cores;
}

/**
 * ork_dispatch_add() - a job waits for nothing but a core
 * @job: the job
 * @status: 0, or why it ends at once: negative errno
 *
 * Context: any. Afterwards the caller calls ork_dispatch_finish().
 */
void ork_dispatch_add(struct ork_job *job, int status)
{
	struct ork_device *ork = job->ofile->ork;
	unsigned long flags;

	spin_lock_irqsave(&ork->lock, flags);
	if (ork->dead)
		status = -ENODEV;
	else if (job->ofile->refusal)
		status = job->ofile->refusal;
	else if (!status && !(job->core_mask & ~ork_dispatch_lost_cores(ork)))
		status = -EIO;

	if (status) {
		ork_dispatch_end_locked(job, status);
	} else {
		ork_queue_add_locked(ork, job);
		ork_dispatch_locked(ork);
	}
	spin_unlock_irqrestore(&ork->lock, flags);
}

/**
 * ork_dispatch_task_done_locked() - the running chain of a core has completed
 * @core: the core
 *
 * Starts the job's next chain, or ends the job and starts another.
 *
 * Context: any; under ork->lock.
 * Return: true if a job has ended, so that ork_dispatch_finish() has to be called.
 */
bool ork_dispatch_task_done_locked(struct ork_core *core)
{
	struct ork_job *job = core->job;
	u64 busy = ork_core_charge_locked(core);
	u32 programs = job->tasks[core->task].programs;

	lockdep_assert_held(&core->ork->lock);

	job->busy_ns += busy;
	job->programs += programs;
	job->interrupts++;
	core->stats.busy_ns += busy;
	core->stats.programs += programs;
	core->stats.interrupts++;

	if (++core->task < job->num_tasks) {
		ork_dispatch_kick(core);
		return false;
	}

	core->stats.jobs++;
	core->job = NULL;
	trace_ork_job_done(core, job, 0);
	ork_dispatch_end_locked(job, 0);
	ork_dispatch_locked(core->ork);
	return true;
}

/**
 * ork_dispatch_interrupt() - hard interrupt of a core, or of its IOMMU
 * @core: the core
 *
 * Return: what the interrupt core wants to know.
 */
irqreturn_t ork_dispatch_interrupt(struct ork_core *core)
{
	irqreturn_t ret = IRQ_NONE;
	unsigned long flags;

	spin_lock_irqsave(&core->ork->lock, flags);
	if (ork_core_signals(core)) {
		ork_core_acknowledge(core);
		core->signalled = true;
		ret = IRQ_HANDLED;
		if (!core->job || !ork_core_done(core, &core->job->tasks[core->task]) ||
		    ork_fault_due(ORK_FAULT_SPURIOUS))
			ork_watchdog_spurious_locked(core);
		else if (ork_dispatch_task_done_locked(core))
			ret = IRQ_WAKE_THREAD;
	}
	spin_unlock_irqrestore(&core->ork->lock, flags);

	return ret;
}

static struct ork_job *ork_dispatch_pop_ended(struct ork_device *ork)
{
	struct ork_job *job;
	unsigned long flags;

	spin_lock_irqsave(&ork->lock, flags);
	job = list_first_entry_or_null(&ork->ended, struct ork_job, link);
	if (job)
		list_del_init(&job->link);
	spin_unlock_irqrestore(&ork->lock, flags);

	return job;
}

/**
 * ork_dispatch_finish() - make results visible and signal fences of the jobs that ended
 * @ork: the device
 *
 * Context: process.
 */
void ork_dispatch_finish(struct ork_device *ork)
{
	bool cookie = dma_fence_begin_signalling();
	struct ork_job *job;

	while ((job = ork_dispatch_pop_ended(ork)))
		ork_job_end(job);
	dma_fence_end_signalling(cookie);
}

/* Ends the jobs of a queue that allow none of some cores. */
static void ork_dispatch_end_queue_locked(struct ork_queue *queue, u32 cores, int status)
{
	struct ork_job *job, *next;
	u32 mask;

	for (mask = 1; mask < ORK_CORE_MASKS; mask++) {
		if (mask & cores)
			continue;
		list_for_each_entry_safe(job, next, &queue->jobs[mask], link) {
			ork_queue_take_locked(job);
			ork_dispatch_end_locked(job, status);
		}
	}
}

/**
 * ork_dispatch_lose_locked() - the cores behind an IOMMU get no more jobs
 * @mmu: an IOMMU that does not answer, or one with a core behind it that does not reset: nobody's
 *	memory may be reachable through it any more. It is detached when its other cores' jobs have
 *	ended
 *
 * Context: any; under ork->lock.
 */
void ork_dispatch_lose_locked(struct ork_mmu *mmu)
{
	struct ork_device *ork = mmu->ork;
	struct ork_queue *queue, *next;
	unsigned int i;

	lockdep_assert_held(&ork->lock);
	for (i = 0; i < ork->num_cores; i++) {
		struct ork_core *core = &ork->cores[i];

		if (!(mmu->cores & BIT(i)) || core->lost)
			continue;
		core->ready = false;
		core->lost = true;
		drm_err(&ork->drm, "core %u is lost; bind the device again\n", i);
	}
	mmu->stale = true;
	list_for_each_entry_safe(queue, next, &ork->queues, turn)
		ork_dispatch_end_queue_locked(queue, ~ork_dispatch_lost_cores(ork), -EIO);
}

/* What a core that does not reset had run ends when no address space is attached to it. */
static void ork_dispatch_end_wrecks_locked(struct ork_device *ork, u32 cores)
{
	unsigned int i;

	for (i = 0; i < ork->num_cores; i++) {
		struct ork_core *core = &ork->cores[i];

		if (!(cores & BIT(i)) || !core->wreck)
			continue;
		trace_ork_job_done(core, core->wreck, core->wreck->status);
		ork_dispatch_end_locked(core->wreck, core->wreck->status);
		core->wreck = NULL;
	}
}

/**
 * ork_dispatch_switched() - an IOMMU has been detached, and given to the space that claimed it
 * @mmu: the IOMMU
 * @error: 0, or why it could not be given
 *
 * Context: process; under mmu->lock.
 */
void ork_dispatch_switched(struct ork_mmu *mmu, int error)
{
	struct ork_device *ork = mmu->ork;
	unsigned long flags;

	spin_lock_irqsave(&ork->lock, flags);
	ork_dispatch_end_wrecks_locked(ork, mmu->cores);
	if (error) {
		ork_dispatch_lose_locked(mmu);
		mmu->stale = false;
	}
	mmu->switching = false;
	mmu->fresh = mmu->cores;
	ork_dispatch_locked(ork);
	spin_unlock_irqrestore(&ork->lock, flags);

	ork_dispatch_finish(ork);
}

static void ork_dispatch_end_list_locked(struct list_head *jobs, const struct ork_file *ofile,
					 int status)
{
	struct ork_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, link)
		if (!ofile || job->ofile == ofile)
			ork_dispatch_end_locked(job, status);
}

/* Ends what has not started of a file's jobs, whatever it waits for; NULL: of all. */
static void ork_dispatch_drop_locked(struct ork_device *ork, const struct ork_file *ofile,
				     int status)
{
	struct ork_queue *queue, *next;

	lockdep_assert_held(&ork->lock);
	ork_dispatch_end_list_locked(&ork->waiting, ofile, status);
	ork_dispatch_end_list_locked(&ork->ready, ofile, status);
	list_for_each_entry_safe(queue, next, &ork->queues, turn)
		if (!ofile || queue->vm == ofile->vm)
			ork_dispatch_end_queue_locked(queue, 0, status);
	ork_dispatch_locked(ork);
}

/**
 * ork_dispatch_refuse_locked() - no job of a file starts any more; those that have not, end
 * @ofile: the file
 * @status: negative errno that its jobs end with
 *
 * Context: any; under ork->lock. Afterwards the caller calls ork_dispatch_finish().
 */
void ork_dispatch_refuse_locked(struct ork_file *ofile, int status)
{
	lockdep_assert_held(&ofile->ork->lock);
	WRITE_ONCE(ofile->refusal, status);
	ork_dispatch_drop_locked(ofile->ork, ofile, status);
}

/*
 * What the core runs does not end yet: only the reset, or else the detached IOMMU, makes sure that
 * it does not write to memory any more.
 */
static void ork_dispatch_stop_core(struct ork_core *core)
{
	struct ork_device *ork = core->ork;
	unsigned long flags;

	spin_lock_irqsave(&ork->lock, flags);
	if (core->job) {
		ork_core_charge_locked(core);
		core->wreck = core->job;
		core->wreck->status = -ENODEV;
		core->job = NULL;
	}
	core->ready = false;
	ork_core_mask(core);
	spin_unlock_irqrestore(&ork->lock, flags);

	cancel_delayed_work_sync(&core->watchdog);
	if (core->wreck && ork_core_reset(core))
		dev_err(core->dev, "core %u does not reset\n", core->index);
}

/**
 * ork_dispatch_shutdown() - stop all cores and end all jobs, for good
 * @ork: the device
 *
 * Context: process.
 */
void ork_dispatch_shutdown(struct ork_device *ork)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&ork->lock, flags);
	ork->dead = true;
	ork_dispatch_drop_locked(ork, NULL, -ENODEV);
	spin_unlock_irqrestore(&ork->lock, flags);

	for (i = 0; i < ork->num_cores; i++)
		ork_dispatch_stop_core(&ork->cores[i]);
	for (i = 0; i < ork->num_mmus; i++)
		ork_mmu_stop(&ork->mmus[i]);

	spin_lock_irqsave(&ork->lock, flags);
	ork_dispatch_end_wrecks_locked(ork, U32_MAX);
	spin_unlock_irqrestore(&ork->lock, flags);
	ork_dispatch_finish(ork);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which core runs which job.
 *
 * The scheduler hands over jobs that wait for nothing but a core. They are bound late: a job is
 * staged until a core that it allows is idle, and an interrupt starts the next staged job on the
 * core that it just freed. Staged jobs are looked at by priority, oldest first. One whose address
 * space is attached to no idle core claims an IOMMU; from then on that IOMMU's cores start nothing
 * else, so a space waits for at most one job on each core.
 *
 * Jobs that ended go to a list that threads work off: there results are made visible and fences
 * signalled.
 */

#include <linux/dma-fence.h>
#include <linux/spinlock.h>

#include <drm/drm_print.h>

#include "ork_dependency.h"
#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_job.h"
#include "ork_trace.h"
#include "ork_watchdog.h"

static bool ork_core_idle(const struct ork_core *core, const struct ork_job *job)
{
	return core->ready && !core->job && (job->core_mask & BIT(core->index)) &&
	       !core->mmu->switching && !core->mmu->stale;
}

static struct ork_core *ork_dispatch_find_core(struct ork_device *ork, const struct ork_job *job)
{
	unsigned int i;

	for (i = 0; i < ork->num_cores; i++) {
		struct ork_core *core = &ork->cores[i];

		if (ork_core_idle(core, job) && !core->mmu->claim &&
		    core->mmu->vm == job->ofile->vm)
			return core;
	}
	return NULL;
}

/*
 * Finds an IOMMU that will be given to the job's address space, or claims one. @taken has those
 * that older jobs of this pass count on.
 */
static void ork_dispatch_claim(struct ork_device *ork, const struct ork_job *job, u32 *taken)
{
	struct ork_vm *vm = job->ofile->vm;
	struct ork_mmu *free = NULL;
	unsigned int i;

	for (i = 0; i < ork->num_cores; i++) {
		struct ork_core *core = &ork->cores[i];
		struct ork_mmu *mmu = core->mmu;

		if (!(job->core_mask & BIT(i)) || (*taken & mmu->cores))
			continue;
		if (mmu->claim == vm) {
			*taken |= mmu->cores;
			return;
		}
		if (!free && !mmu->claim && ork_core_idle(core, job))
			free = mmu;
	}

	if (free) {
		free->claim = vm;
		*taken |= free->cores;
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
	list_del_init(&job->link);
	core->job = job;
	core->task = 0;
	core->fault = false;
	job->ran = true;
	trace_ork_job_start(core, job);
	ork_dispatch_kick(core);
}

/* No core that the job allows will ever be idle again. */
static bool ork_dispatch_hopeless(struct ork_device *ork, const struct ork_job *job)
{
	unsigned int i;

	for (i = 0; i < ork->num_cores; i++)
		if ((job->core_mask & BIT(i)) && !ork->cores[i].lost)
			return false;
	return true;
}

/**
 * ork_dispatch_locked() - start what can be started
 * @ork: the device
 *
 * Context: any; under ork->lock. Afterwards the caller, or an interrupt thread, calls
 * ork_dispatch_finish().
 */
void ork_dispatch_locked(struct ork_device *ork)
{
	struct ork_job *job, *next;
	u32 taken = 0;
	unsigned int i;

	lockdep_assert_held(&ork->lock);

	list_for_each_entry_safe(job, next, &ork->staged, link) {
		struct ork_core *core = ork_dispatch_find_core(ork, job);

		if (core)
			ork_dispatch_start(core, job);
		else if (ork_dispatch_hopeless(ork, job))
			ork_dispatch_end_locked(job, -EIO);
		else
			ork_dispatch_claim(ork, job, &taken);
	}

	for (i = 0; i < ork->num_mmus; i++) {
		struct ork_mmu *mmu = &ork->mmus[i];

		if ((mmu->claim || mmu->stale) && !mmu->switching && ork_mmu_idle_locked(mmu))
			queue_work(ork->wq, &mmu->work);
	}
}

/**
 * ork_dispatch_end_locked() - a job has ended
 * @job: a job that was staged, or that no core runs any more
 * @status: 0, or the negative errno that its fence will carry
 *
 * Context: any; under ork->lock.
 */
void ork_dispatch_end_locked(struct ork_job *job, int status)
{
	struct ork_device *ork = job->ofile->ork;

	lockdep_assert_held(&ork->lock);
	job->status = status;
	list_move_tail(&job->link, &ork->ended);
}

/* Behind those of its own rank, before lower ones: the scheduler hands over more than can run. */
static void ork_dispatch_stage_locked(struct ork_device *ork, struct ork_job *job)
{
	struct ork_job *other;

	list_for_each_entry_reverse(other, &ork->staged, link)
		if (other->rank >= job->rank)
			break;
	list_move(&job->link, &other->link);
}

static void ork_dispatch_take_locked(struct ork_job *job, int status)
{
	struct ork_device *ork = job->ofile->ork;

	if (ork->dead)
		status = -ENODEV;
	else if (job->ofile->refusal)
		status = job->ofile->refusal;

	if (status) {
		ork_dispatch_end_locked(job, status);
	} else {
		ork_dispatch_stage_locked(ork, job);
		ork_dispatch_locked(ork);
	}
}

/**
 * ork_dispatch_run() - take a job from the scheduler
 * @job: a job whose dependencies are met; the scheduler's reference holds it until it ends
 *
 * Context: process; allocates nothing.
 */
void ork_dispatch_run(struct ork_job *job)
{
	struct ork_device *ork = job->ofile->ork;
	bool failed = ork_dependencies_failed(job);
	unsigned long flags;

	spin_lock_irqsave(&ork->lock, flags);
	/* What was cancelled has ended, or is about to. */
	if (!job->cancelled)
		ork_dispatch_take_locked(job, failed ? -ECANCELED : 0);
	spin_unlock_irqrestore(&ork->lock, flags);

	ork_dispatch_finish(ork);
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
		if (!core->job || !ork_core_done(core, &core->job->tasks[core->task]))
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
	mmu->claim = NULL;
	mmu->stale = true;
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
	mmu->claim = NULL;
	mmu->switching = false;
	ork_dispatch_locked(ork);
	spin_unlock_irqrestore(&ork->lock, flags);

	ork_dispatch_finish(ork);
}

/* Ends the staged jobs of a file (NULL: of all), and gives up the claims made for them. */
static void ork_dispatch_drop_locked(struct ork_device *ork, const struct ork_file *ofile,
				     int status)
{
	struct ork_job *job, *next;
	unsigned int i;

	lockdep_assert_held(&ork->lock);
	list_for_each_entry_safe(job, next, &ork->staged, link)
		if (!ofile || job->ofile == ofile)
			ork_dispatch_end_locked(job, status);
	for (i = 0; i < ork->num_mmus; i++) {
		struct ork_mmu *mmu = &ork->mmus[i];

		if (!mmu->switching && (!ofile || mmu->claim == ofile->vm))
			mmu->claim = NULL;
	}
}

/**
 * ork_dispatch_refuse_locked() - no job of a file starts any more; those that are staged end
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
	ork_dispatch_locked(ofile->ork);
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

	synchronize_irq(core->irq);
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds cores that hang, and brings them back.
 *
 * A chain is alive as long as it finishes programs, however long it is. The watchdog of a busy
 * core looks at the task counter every now and then; if a whole timeout passes without a change,
 * or if the IOMMU reports a fault, the job fails, and only this core is reset.
 */

#include <linux/dma-fence.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#include <drm/drm_print.h>

#include "ork_compat.h"
#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_dump.h"
#include "ork_fault.h"
#include "ork_job.h"
#include "ork_trace.h"
#include "ork_watchdog.h"

/* Looks per timeout: a hang is found at most one such part late. */
#define ORK_WATCHDOG_LOOKS	8

/* Spurious interrupts between two kicks after which a core's interrupt is masked. */
#define ORK_WATCHDOG_STORM	16

static unsigned int ork_hang_limit = 10;
module_param_named(hang_limit, ork_hang_limit, uint, 0644);
MODULE_PARM_DESC(hang_limit, "Hangs and faults after which an open file may submit no more (0: any number)");

static unsigned int ork_timeout_ms = 500;
module_param_named(timeout_ms, ork_timeout_ms, uint, 0644);
MODULE_PARM_DESC(timeout_ms, "Time without a finished program after which a job that names none has hung");

/**
 * ork_watchdog_default_ms() - timeout of jobs that name none
 *
 * Return: milliseconds.
 */
u32 ork_watchdog_default_ms(void)
{
	return clamp_t(u32, READ_ONCE(ork_timeout_ms), 1, DRM_ORK_MAX_TIMEOUT_MS);
}

static bool ork_watchdog_storm(const struct ork_core *core)
{
	return core->spurious >= ORK_WATCHDOG_STORM;
}

/* With its interrupt masked, nothing else tells of a chain's end. */
VISIBLE_IF_KUNIT unsigned long ork_watchdog_period(const struct ork_core *core)
{
	return ork_watchdog_storm(core) ? 1 : max(core->job->timeout / ORK_WATCHDOG_LOOKS, 1UL);
}

/* Whether a look that is due already would come too late for what runs now. */
VISIBLE_IF_KUNIT bool ork_watchdog_late(const struct ork_core *core, unsigned long now)
{
	return time_before(now + ork_watchdog_period(core), core->look);
}

/* Whether the chain may go on. The first jiffy had begun already, and does not count. */
VISIBLE_IF_KUNIT bool ork_watchdog_in_time(const struct ork_core *core, unsigned long now)
{
	return time_before_eq(now, core->progress + core->job->timeout);
}

static void ork_watchdog_look_in(struct ork_core *core, unsigned long delay)
{
	core->look = jiffies + delay;
	mod_delayed_work(core->ork->wq, &core->watchdog, delay);
}

/**
 * ork_watchdog_start_locked() - watch the chain that is about to be kicked
 * @core: the core
 *
 * A watchdog that is still armed for an earlier chain looks at what runs when it fires. It is left
 * as it is, to save work on each start, unless that would be too late for this one.
 *
 * Context: any; under ork->lock.
 */
void ork_watchdog_start_locked(struct ork_core *core)
{
	core->progress = jiffies;
	core->counted = 0;
	if (!delayed_work_pending(&core->watchdog) || ork_watchdog_late(core, jiffies))
		ork_watchdog_look_in(core, ork_watchdog_period(core));
}

/**
 * ork_watchdog_fault_locked() - an access has failed
 * @core: a core that may have made it
 * @certain: it has
 *
 * Context: any; under ork->lock.
 */
void ork_watchdog_fault_locked(struct ork_core *core, bool certain)
{
	core->fault |= certain;
	ork_watchdog_look_in(core, 0);
}

/**
 * ork_watchdog_spurious_locked() - an interrupt that told of no end
 * @core: the core, which may run a job
 *
 * One that comes again and again is masked until the next kick. Should the task counter only lag
 * behind the interrupt, the next look finds the end.
 *
 * Context: any; under ork->lock.
 */
void ork_watchdog_spurious_locked(struct ork_core *core)
{
	if (++core->spurious == ORK_WATCHDOG_STORM) {
		dev_notice_ratelimited(core->dev, "core %u: interrupts without end, masked\n",
				       core->index);
		ork_core_mask(core);
	}
	if (core->job)
		ork_watchdog_look_in(core, 1);
}

static bool ork_watchdog_alive(struct ork_core *core)
{
	u32 count = ork_core_count(core);

	if (count != core->counted) {
		core->counted = count;
		core->progress = jiffies;
	}
	return ork_watchdog_in_time(core, jiffies);
}

/*
 * Whether an access has failed and the IOMMU has said so. Until its driver has handled the fault
 * the IOMMU does not stall, and can be neither detached nor attached. An error that is never
 * reported is found as a hang is.
 */
static bool ork_watchdog_faulted(const struct ork_core *core)
{
	struct ork_fault fault;

	return core->fault && ork_core_fault_locked(core, &fault);
}

/*
 * Looks at the core. Returns the job if it is to be taken from the core, which then gets no
 * other until it is reset.
 * @rearm tells whether to look again.
 */
VISIBLE_IF_KUNIT struct ork_job *ork_watchdog_look(struct ork_core *core, bool *rearm)
{
	struct ork_job *job = core->job;

	*rearm = false;
	if (!job)
		return NULL;

	core->fault = core->fault || ork_core_has_dma_error(core) || ork_fault_due(ORK_FAULT_DMA);
	if (!core->fault && ork_core_done(core, &job->tasks[core->task])) {
		/* The interrupt was lost, or is about to come and will find nothing to do. */
		ork_core_acknowledge(core);
		ork_dispatch_task_done_locked(core);
		job = NULL;
	} else if (!ork_watchdog_faulted(core) && ork_watchdog_alive(core)) {
		job = NULL;
	} else {
		ork_core_charge_locked(core);
		core->counted = ork_core_count(core);
		core->job = NULL;
		core->ready = false;
		core->recovering = true;
		ork_dump_begin_locked(core);
		ork_core_mask(core);
	}

	*rearm = core->job;
	return job;
}

VISIBLE_IF_KUNIT void ork_watchdog_count_hang_locked(struct ork_file *ofile)
{
	ofile->hangs++;
	if (!ork_hang_limit || ofile->hangs < ork_hang_limit || ofile->refusal)
		return;
	drm_notice(&ofile->ork->drm, "a client is banned after %u hangs\n", ofile->hangs);
	ork_dispatch_refuse_locked(ofile, -EIO);
}

/*
 * The job ends as soon as the core is reset, for nothing is in flight then. Its IOMMU may or may
 * not have been reset with it: the address space is attached anew, as soon as no other core that
 * shares it runs. If the core does not reset, the IOMMU has to keep it from memory before the job
 * can end.
 */
static void ork_watchdog_recover(struct ork_core *core, struct ork_job *job)
{
	int status = core->fault ? -EFAULT : -ETIMEDOUT;
	struct ork_device *ork = core->ork;
	unsigned long flags;
	int ret;

	ork_dump_capture(core, job, status);
	/* The handler that reported a fault, on the line that they share, has yet to end it. */
	synchronize_hardirq(core->irq);
	ret = ork_core_reset(core);

	spin_lock_irqsave(&ork->lock, flags);
	core->stats.jobs++;
	core->stats.resets++;
	core->recovering = false;
	core->ready = !core->lost && !ork->dead;
	core->mmu->stale = true;
	job->reset = true;
	job->status = status;
	trace_ork_reset(core, job, status);
	if (ret) {
		core->wreck = job;
		ork_dispatch_lose_locked(core->mmu);
	} else {
		trace_ork_job_done(core, job, status);
		ork_dispatch_end_locked(job, status);
	}
	ork_watchdog_count_hang_locked(job->ofile);
	ork_dispatch_locked(ork);
	spin_unlock_irqrestore(&ork->lock, flags);
}

/**
 * ork_watchdog_work() - look at a core
 * @work: its watchdog
 */
void ork_watchdog_work(struct work_struct *work)
{
	struct ork_core *core = container_of(to_delayed_work(work), struct ork_core, watchdog);
	struct ork_device *ork = core->ork;
	bool cookie = dma_fence_begin_signalling();
	struct ork_job *hung;
	unsigned long flags;
	bool rearm;

	spin_lock_irqsave(&ork->lock, flags);
	hung = ork_watchdog_look(core, &rearm);
	if (rearm)
		ork_watchdog_look_in(core, ork_watchdog_period(core));
	spin_unlock_irqrestore(&ork->lock, flags);

	if (hung)
		ork_watchdog_recover(core, hung);
	ork_dispatch_finish(ork);
	dma_fence_end_signalling(cookie);
	ork_dump_emit(core);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * One core: its resources, its registers, its interrupt.
 */

#include <linux/delay.h>
#include <linux/io.h>
#include <linux/platform_device.h>

#include <drm/drm_print.h>

#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_dump.h"
#include "ork_fault.h"
#include "ork_job.h"
#include "ork_watchdog.h"

/*
 * Both known drivers hold the lines for so long; the manual asks for 32 cycles of the slower
 * clock (RK3588 TRM part 1, 36.6).
 */
#define ORK_RESET_HOLD_US	10
/* A reset that had no effect is tried so often in all. */
#define ORK_RESET_TRIES		3

/* Bytes of a core's window that hold its own blocks; the banks of its IOMMU follow. */
#define ORK_CORE_BLOCKS		0x9000

static u32 ork_pc_read(struct ork_core *core, u32 reg)
{
	return readl(core->pc + reg);
}

static void ork_pc_write(struct ork_core *core, u32 reg, u32 value)
{
	writel_relaxed(value, core->pc + reg);
}

static void __iomem *ork_core_block(const struct ork_core *core, u32 offset)
{
	switch (offset & ~0xfff) {
	case ORK_PC_VERSION & ~0xfff:
		return core->pc;
	case ORK_CNA_S_STATUS & ~0xfff:
		return core->cna;
	case ORK_CORE_S_STATUS & ~0xfff:
		return core->array;
	case ORK_DPU_S_STATUS & ~0xfff:
		return core->dpu;
	case ORK_RDMA_S_STATUS & ~0xfff:
		return core->rdma;
	}
	return NULL;
}

/**
 * ork_core_has() - whether a register can be read
 * @core: the core
 * @offset: ORK_* of the register, in the core's window
 *
 * Return: true if the binding gives its block.
 */
bool ork_core_has(const struct ork_core *core, u32 offset)
{
	return ork_core_block(core, offset);
}

/**
 * ork_core_read() - read any register
 * @core: the core
 * @offset: ORK_* of the register; ork_core_has() it
 *
 * Return: its value.
 */
u32 ork_core_read(const struct ork_core *core, u32 offset)
{
	return readl(ork_core_block(core, offset) + (offset & 0xfff));
}

/**
 * ork_core_fault_locked() - the fault that the core's IOMMU reported while its chain ran
 * @core: a core whose chain runs, or was taken from it
 * @fault: the fault; where several cores share the IOMMU, it may be another's
 *
 * Context: any; under ork->lock.
 * Return: true if there was one.
 */
bool ork_core_fault_locked(const struct ork_core *core, struct ork_fault *fault)
{
	lockdep_assert_held(&core->ork->lock);
	*fault = core->mmu->fault;
	return ktime_after(fault->time, core->started);
}

/**
 * ork_core_kick() - start a chain
 * @core: an idle core with its job's address space attached
 * @task: the chain
 *
 * The order is that of the vendor's driver. Everything the CPU wrote to memory is ordered before
 * the last register.
 *
 * Context: any; under ork->lock.
 */
void ork_core_kick(struct ork_core *core, const struct ork_task *task)
{
	u32 pointer = ORK_S_POINTER_POINTER_PP_EN | ORK_S_POINTER_EXECUTER_PP_EN |
		      ORK_S_POINTER_POINTER_PP_MODE | ORK_PREP(ORK_S_POINTER_CORE, core->index);

	ork_pc_write(core, ORK_PC_BASE_ADDRESS, ORK_PC_BASE_ADDRESS_PC_SEL);
	writel_relaxed(pointer, core->cna + (ORK_CNA_S_POINTER & 0xfff));
	writel_relaxed(pointer, core->array + (ORK_CORE_S_POINTER & 0xfff));
	ork_pc_write(core, ORK_PC_BASE_ADDRESS, task->iova);
	ork_pc_write(core, ORK_PC_REGISTER_AMOUNTS, ORK_PC_AMOUNT(task->words));
	ork_pc_write(core, ORK_PC_INTERRUPT_MASK,
		     ork_fault_due(ORK_FAULT_INTERRUPT) ? 0 : ORK_INT_DPU);
	ork_pc_write(core, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	ork_pc_write(core, ORK_PC_TASK_CON, ORK_PC_TASK_CON_RESERVED_14 |
		     ORK_PC_TASK_CON_TASK_COUNT_CLEAR | ORK_PC_TASK_CON_TASK_PP_EN |
		     ORK_PREP(ORK_PC_TASK_CON_TASK_NUMBER, task->programs));
	ork_pc_write(core, ORK_PC_TASK_DMA_BASE_ADDR, 0);
	if (ork_fault_due(ORK_FAULT_RUN))
		return;
	writel(ORK_PC_OPERATION_ENABLE_OP_EN, core->pc + ORK_PC_OPERATION_ENABLE);
	ork_pc_write(core, ORK_PC_OPERATION_ENABLE, 0);
}

/**
 * ork_core_busy_ns() - how long the running chain has taken so far
 * @core: a core that runs a job
 *
 * Context: any; under ork->lock.
 * Return: nanoseconds.
 */
u64 ork_core_busy_ns(const struct ork_core *core)
{
	lockdep_assert_held(&core->ork->lock);
	return ktime_to_ns(ktime_sub(ktime_get(), core->started));
}

/**
 * ork_core_charge_locked() - the time of the running chain goes to its file, its end to its job
 * @core: a core whose chain has ended, or is taken from it
 *
 * To be called once for each chain that was started, or the file's time would run backwards.
 *
 * Context: any; under ork->lock.
 * Return: nanoseconds.
 */
u64 ork_core_charge_locked(struct ork_core *core)
{
	u64 busy = ork_core_busy_ns(core);

	core->job->ofile->stats.core_busy_ns[core->index] += busy;
	core->job->end_ns = ktime_to_ns(core->started) + busy;
	return busy;
}

/**
 * ork_core_count() - programs that the running chain has finished
 * @core: the core
 *
 * Return: the task counter.
 */
u32 ork_core_count(struct ork_core *core)
{
	return ork_pc_read(core, ORK_PC_TASK_STATUS) & ORK_PC_TASK_STATUS_COUNTER;
}

/**
 * ork_core_has_dma_error() - whether an access of the core has failed
 * @core: the core
 *
 * Return: true if it has.
 */
bool ork_core_has_dma_error(struct ork_core *core)
{
	return ork_pc_read(core, ORK_PC_INTERRUPT_RAW_STATUS) &
	       (ORK_INT_DMA_READ_ERROR | ORK_INT_DMA_WRITE_ERROR);
}

/**
 * ork_core_signals() - whether the core raises its interrupt
 * @core: the core
 *
 * The line is shared with the core's IOMMU, so that it may rise at any time, also while the core is
 * in its reset and must be left alone.
 *
 * Context: any; under ork->lock.
 * Return: true if a chain has ended.
 */
bool ork_core_signals(struct ork_core *core)
{
	return !core->in_reset &&
	       ork_pc_read(core, ORK_PC_INTERRUPT_STATUS) & ORK_INT_DPU;
}

/**
 * ork_core_done() - whether a chain has ended, even if no interrupt told so
 * @core: the core
 * @task: the chain
 *
 * The status alone would not do: an interrupt can be spurious, or late and another chain's.
 *
 * Context: any; under ork->lock.
 * Return: true if all programs have finished.
 */
bool ork_core_done(struct ork_core *core, const struct ork_task *task)
{
	return ork_core_count(core) >= task->programs &&
	       (core->signalled ||
		(ork_pc_read(core, ORK_PC_INTERRUPT_RAW_STATUS) & ORK_INT_DPU));
}

/**
 * ork_core_acknowledge() - take the chain's interrupt back
 * @core: the core
 */
void ork_core_acknowledge(struct ork_core *core)
{
	ork_pc_write(core, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
}

/**
 * ork_core_mask() - let the core raise no interrupt until the next kick
 * @core: the core
 */
void ork_core_mask(struct ork_core *core)
{
	ork_pc_write(core, ORK_PC_INTERRUPT_MASK, 0);
	ork_pc_write(core, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
}

static int ork_core_pulse_resets(struct ork_core *core)
{
	int ret;

	if (ork_fault_due(ORK_FAULT_RESET))
		return 0;
	ret = ork_fault_due(ORK_FAULT_LINE) ? -EIO :
	      reset_control_bulk_assert(ORK_CORE_RESETS, core->resets);
	if (ret)
		return ret;
	udelay(ORK_RESET_HOLD_US);
	return reset_control_bulk_deassert(ORK_CORE_RESETS, core->resets);
}

/* From then on no handler looks at the core, and none that has begun still does. */
static void ork_core_set_in_reset(struct ork_core *core, bool in_reset)
{
	unsigned long flags;

	spin_lock_irqsave(&core->ork->lock, flags);
	core->in_reset = in_reset;
	spin_unlock_irqrestore(&core->ork->lock, flags);
}

static int ork_core_try_reset(struct ork_core *core)
{
	int ret;

	ork_core_mask(core);
	ork_core_set_in_reset(core, true);
	ret = ork_core_pulse_resets(core);
	ork_core_set_in_reset(core, false);
	return ret;
}

/**
 * ork_core_reset() - stop whatever the core does
 * @core: a core that is not ready
 *
 * The mask tells whether the reset took place: it is 0 before, and comes out of a reset as
 * 0x1ffff (RK3588 TRM part 1, 36.4). Whether the reset reaches the core's IOMMU is not known: the
 * caller attaches an address space anew.
 *
 * Context: process; takes ork->lock.
 * Return: 0 or a negative errno: -EIO if the reset has no effect.
 */
int ork_core_reset(struct ork_core *core)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ORK_RESET_TRIES; i++) {
		ret = ork_core_try_reset(core);
		if (ret)
			return ret;
		if (ork_pc_read(core, ORK_PC_INTERRUPT_MASK)) {
			ork_core_mask(core);
			return 0;
		}
	}
	return -EIO;
}

static irqreturn_t ork_core_irq(int irq, void *data)
{
	struct ork_core *core = data;

	return ork_dispatch_interrupt(core);
}

static irqreturn_t ork_core_irq_thread(int irq, void *data)
{
	struct ork_core *core = data;

	ork_dispatch_finish(core->ork);
	return IRQ_HANDLED;
}

static int ork_core_map_blocks(struct ork_core *core)
{
	struct platform_device *pdev = to_platform_device(core->dev);

	core->pc = devm_platform_ioremap_resource_byname(pdev, "pc");
	if (IS_ERR(core->pc))
		return PTR_ERR(core->pc);
	core->cna = devm_platform_ioremap_resource_byname(pdev, "cna");
	if (IS_ERR(core->cna))
		return PTR_ERR(core->cna);
	core->array = devm_platform_ioremap_resource_byname(pdev, "core");
	return PTR_ERR_OR_ZERO(core->array);
}

/*
 * Only as far as the IOMMU's banks, which lie in the same window and have a driver of their own.
 */
static int ork_core_map_window(struct ork_core *core, unsigned int number)
{
	struct resource *window, blocks;

	window = platform_get_resource(to_platform_device(core->dev), IORESOURCE_MEM, number);
	if (!window || resource_size(window) < ORK_CORE_BLOCKS)
		return -ENXIO;
	blocks = *window;
	blocks.end = window->start + ORK_CORE_BLOCKS - 1;
	core->pc = devm_ioremap_resource(core->dev, &blocks);
	if (IS_ERR(core->pc))
		return PTR_ERR(core->pc);
	core->cna = core->pc + (ORK_CNA_S_POINTER & ~0xfff);
	core->array = core->pc + (ORK_CORE_S_POINTER & ~0xfff);
	core->dpu = core->pc + (ORK_DPU_S_POINTER & ~0xfff);
	core->rdma = core->pc + (ORK_RDMA_S_POINTER & ~0xfff);
	return 0;
}

static int ork_core_get_resources(struct ork_core *core,
				  const struct ork_core_resources *resources)
{
	unsigned int i;
	int ret;

	if (resources->window < 0)
		ret = ork_core_map_blocks(core);
	else
		ret = ork_core_map_window(core, resources->window);
	if (ret)
		return ret;

	core->irq = platform_get_irq(to_platform_device(core->dev), resources->irq);
	if (core->irq < 0)
		return core->irq;

	for (i = 0; i < ORK_CORE_RESETS; i++)
		core->resets[i].id = resources->resets[i];
	return devm_reset_control_bulk_get_exclusive(core->dev, ORK_CORE_RESETS, core->resets);
}

/* The interrupt comes last: from then on the handler may run. */
static int ork_core_start(struct ork_core *core)
{
	int ret;

	ret = ork_core_reset(core);
	if (ret)
		return dev_err_probe(core->dev, ret, "reset failed\n");

	return request_threaded_irq(core->irq, ork_core_irq, ork_core_irq_thread, IRQF_SHARED,
				    dev_name(core->dev), core);
}

/**
 * ork_core_init() - bring up a core
 * @ork: the device
 * @index: the core's number
 * @dev: the device of its node, powered
 * @resources: where the node has what belongs to it
 *
 * Return: 0 or a negative errno.
 */
int ork_core_init(struct ork_device *ork, unsigned int index, struct device *dev,
		  const struct ork_core_resources *resources)
{
	struct ork_core *core = &ork->cores[index];
	int ret;

	memset(core, 0, sizeof(*core));
	core->ork = ork;
	core->index = index;
	core->dev = dev;
	INIT_DELAYED_WORK(&core->watchdog, ork_watchdog_work);

	ret = ork_core_get_resources(core, resources);
	if (ret)
		goto err_clear;
	core->mmu = ork_mmu_get(ork, core);
	if (IS_ERR(core->mmu)) {
		ret = PTR_ERR(core->mmu);
		goto err_clear;
	}
	core->dump = ork_dump_create(core);
	ret = ork_core_start(core);
	if (ret)
		goto err_destroy_dump;

	if (!index)
		ork->hw_version = ork_pc_read(core, ORK_PC_VERSION) +
				  (ork_pc_read(core, ORK_PC_VERSION_NUM) & 0xffff);
	return 0;

err_destroy_dump:
	ork_dump_destroy(core->dump);
	ork_mmu_put(core->mmu, core);
err_clear:
	core->dev = NULL;
	return ret;
}

/**
 * ork_core_fini() - undo ork_core_init()
 * @core: a core that runs nothing and gets no more jobs
 */
void ork_core_fini(struct ork_core *core)
{
	ork_core_mask(core);
	free_irq(core->irq, core);
	cancel_delayed_work_sync(&core->watchdog);
	ork_dump_destroy(core->dump);
	ork_mmu_put(core->mmu, core);
	core->dev = NULL;
}

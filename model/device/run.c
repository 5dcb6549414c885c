// SPDX-License-Identifier: MIT
/* The cores, driven through their registers as a kernel's driver drives them. */
#include <errno.h>
#include <time.h>

#include "../npu/iommu.h"
#include "device.h"

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* --- IOMMU -------------------------------------------------------------------------------- */

static uint32_t first_bank(const struct device_core *core)
{
	return core->index ? NPU_IOMMU_BANK : NPU_IOMMU_BANK_CORE0;
}

#define for_each_bank(bank, core) \
	for (uint32_t bank = first_bank(core); bank <= NPU_IOMMU_BANK; \
	     bank += NPU_IOMMU_BANK - NPU_IOMMU_BANK_CORE0)

/* The force reset also ends a fault that is active. */
static void attach(struct device_core *core)
{
	for_each_bank(bank, core) {
		npu_core_write(core->npu, bank + NPU_IOMMU_COMMAND, NPU_IOMMU_FORCE_RESET);
		npu_core_write(core->npu, bank + NPU_IOMMU_DTE_ADDR, space_dte_addr());
		npu_core_write(core->npu, bank + NPU_IOMMU_COMMAND, NPU_IOMMU_ZAP_CACHE);
		npu_core_write(core->npu, bank + NPU_IOMMU_INT_MASK,
			       NPU_IOMMU_INT_PAGE_FAULT | NPU_IOMMU_INT_BUS_ERROR);
		npu_core_write(core->npu, bank + NPU_IOMMU_COMMAND, NPU_IOMMU_ENABLE_PAGING);
	}
	core->attached = true;
	core->counters.switches++;
}

static bool faulted(struct device_core *core)
{
	uint32_t pending = 0;

	for_each_bank(bank, core)
		pending |= npu_core_read(core->npu, bank + NPU_IOMMU_INT_STATUS);
	return pending;
}

void cores_zap(struct device *dev)
{
	for (int i = 0; i < ORK_MAX_CORES; i++)
		for_each_bank(bank, &dev->cores[i])
			npu_core_write(dev->cores[i].npu, bank + NPU_IOMMU_COMMAND,
				       NPU_IOMMU_ZAP_CACHE);
}

/* --- tasks -------------------------------------------------------------------------------- */

static void start(struct device_core *core, const struct drm_ork_task *task)
{
	uint32_t pointer = ORK_S_POINTER_POINTER_PP_EN | ORK_S_POINTER_EXECUTER_PP_EN |
			   ORK_S_POINTER_POINTER_PP_MODE |
			   ORK_PREP(ORK_S_POINTER_CORE, (uint32_t)core->index);
	struct npu_core *npu = core->npu;

	/* Slave mode, for the CPU's writes to the blocks to be taken. */
	npu_core_write(npu, ORK_PC_BASE_ADDRESS, ORK_PC_BASE_ADDRESS_PC_SEL);
	npu_core_write(npu, ORK_CNA_S_POINTER, pointer);
	npu_core_write(npu, ORK_CORE_S_POINTER, pointer);
	npu_core_write(npu, ORK_PC_BASE_ADDRESS, task->iova);
	npu_core_write(npu, ORK_PC_REGISTER_AMOUNTS, ORK_PC_AMOUNT(task->words));
	npu_core_write(npu, ORK_PC_INTERRUPT_MASK, ORK_INT_DPU);
	npu_core_write(npu, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	npu_core_write(npu, ORK_PC_TASK_CON,
		       ORK_PC_TASK_CON_RESERVED_14 | ORK_PC_TASK_CON_TASK_COUNT_CLEAR |
			       ORK_PC_TASK_CON_TASK_PP_EN | task->programs);
	npu_core_write(npu, ORK_PC_TASK_DMA_BASE_ADDR, 0);
	npu_core_write(npu, ORK_PC_OPERATION_ENABLE, ORK_PC_OPERATION_ENABLE_OP_EN);
}

static void acknowledge(struct device_core *core)
{
	npu_core_write(core->npu, ORK_PC_INTERRUPT_MASK, 0);
	npu_core_write(core->npu, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	npu_core_write(core->npu, ORK_PC_OPERATION_ENABLE, 0);
}

/* The run has ended when start() returns: without an interrupt there will be none. */
static int run_task(struct device_core *core, const struct drm_ork_task *task)
{
	start(core, task);
	if (!core->irq)
		return -ETIMEDOUT;
	if (faulted(core))
		return -EFAULT;
	acknowledge(core);
	return 0;
}

static void reset(struct device_core *core)
{
	acknowledge(core);
	npu_core_reset(core->npu);
	core->attached = false;
	core->counters.resets++;
}

static void count(struct drm_ork_counters *counters, const struct drm_ork_counters *more)
{
	counters->jobs += more->jobs;
	counters->programs += more->programs;
	counters->interrupts += more->interrupts;
	counters->busy_ns += more->busy_ns;
}

struct fence core_run(struct device *dev, struct device_core *core, const struct drm_ork_job *job)
{
	struct fence fence = { .cores = 1u << core->index };
	struct drm_ork_counters done = { .jobs = 1 };
	struct drm_ork_task task;
	int status = 0;

	if (!core->attached)
		attach(core);
	fence.begin_ns = now_ns();
	for (uint32_t i = 0; !status && i < job->tasks.count; i++) {
		uint64_t began = now_ns();

		array_get(&job->tasks, i, &task, sizeof(task));
		status = run_task(core, &task);
		done.busy_ns += now_ns() - began;
		if (!status) {
			done.programs += task.programs;
			done.interrupts++;
		}
	}
	fence.end_ns = now_ns();
	fence.busy_ns = done.busy_ns;
	fence.status = status;
	if (status) {
		reset(core);
		dev->counters.resets++;
	}
	count(&core->counters, &done);
	count(&dev->counters, &done);
	return fence;
}

/* --- the cores ---------------------------------------------------------------------------- */

static void on_irq(void *opaque, bool level)
{
	struct device_core *core = opaque;

	core->irq = level;
}

static void on_kick(void *opaque)
{
	struct device_core *core = opaque;

	npu_core_run(core->npu);
}

int cores_init(struct device *dev)
{
	static const struct npu_core_ops ops = { .irq = on_irq, .kick = on_kick };

	for (int i = 0; i < ORK_MAX_CORES; i++) {
		struct device_core *core = &dev->cores[i];

		core->index = i;
		core->npu = npu_core_new(i, dev->cache, &ops, core);
		if (!core->npu)
			return -ENOMEM;
	}
	return 0;
}

void cores_fini(struct device *dev)
{
	for (int i = 0; i < ORK_MAX_CORES; i++)
		npu_core_free(dev->cores[i].npu);
}

uint32_t cores_hw_version(struct device *dev)
{
	struct npu_core *npu = dev->cores[0].npu;

	return npu_core_read(npu, ORK_PC_VERSION) +
	       (npu_core_read(npu, ORK_PC_VERSION_NUM) & 0xffff);
}

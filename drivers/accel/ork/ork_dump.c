// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a core was doing when its job hung or faulted: a line in the log, and a device coredump.
 *
 * Fences wait for the path on which the state is captured, and memory may wait for fences. So
 * each core has the memory for one dump from the beginning, and what is captured is copied: no
 * allocation, no lock that sleeps, and nothing of the job is needed afterwards. Making text of it
 * and handing that over is done later, by a work item of its own. What hangs meanwhile has no
 * dump.
 *
 * The text is handed over as plain memory: a reader needs nothing of this module, which may be
 * unloaded.
 */

#include <linux/devcoredump.h>
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include <drm/drm_print.h>

#include "ork_debugfs.h"
#include "ork_device.h"
#include "ork_dump.h"
#include "ork_fault.h"
#include "ork_gem.h"
#include "ork_job.h"
#include "ork_sync.h"

/* What is kept of a job; a dump says how much there was. */
#define ORK_DUMP_EXTENTS	64
#define ORK_DUMP_PROGRAMS	2
#define ORK_DUMP_WORDS		512

struct ork_dump_register {
	const char *name;
	u16 offset;
};

#define R(name) { #name, ORK_##name }

/*
 * Those that can be read without a consequence. The interrupts' are captured apart, before they
 * are masked; LUT_ACCESS moves on when it is read.
 */
static const struct ork_dump_register ork_dump_registers[] = {
	R(PC_VERSION), R(PC_VERSION_NUM), R(PC_OPERATION_ENABLE), R(PC_BASE_ADDRESS),
	R(PC_REGISTER_AMOUNTS), R(PC_TASK_CON), R(PC_TASK_DMA_BASE_ADDR), R(PC_TASK_STATUS),

	R(CNA_S_STATUS), R(CNA_S_POINTER), R(CNA_OPERATION_ENABLE), R(CNA_CONV_CON1),
	R(CNA_CONV_CON2), R(CNA_CONV_CON3), R(CNA_DATA_SIZE0), R(CNA_DATA_SIZE1),
	R(CNA_DATA_SIZE2), R(CNA_DATA_SIZE3), R(CNA_WEIGHT_SIZE0), R(CNA_WEIGHT_SIZE1),
	R(CNA_WEIGHT_SIZE2), R(CNA_CBUF_CON0), R(CNA_CBUF_CON1), R(CNA_CVT_CON0),
	R(CNA_CVT_CON1), R(CNA_CVT_CON2), R(CNA_CVT_CON3), R(CNA_CVT_CON4), R(CNA_FC_CON0),
	R(CNA_FC_CON1), R(CNA_PAD_CON0), R(CNA_FEATURE_DATA_ADDR), R(CNA_FC_CON2),
	R(CNA_DMA_CON0), R(CNA_DMA_CON1), R(CNA_DMA_CON2), R(CNA_FC_DATA_SIZE0),
	R(CNA_FC_DATA_SIZE1), R(CNA_DCOMP_CTRL), R(CNA_DCOMP_REGNUM), R(CNA_DCOMP_ADDR0),
	R(CNA_CVT_CON5), R(CNA_PAD_CON1),

	R(CORE_S_STATUS), R(CORE_S_POINTER), R(CORE_OPERATION_ENABLE), R(CORE_MAC_GATING),
	R(CORE_MISC_CFG), R(CORE_DATAOUT_SIZE_0), R(CORE_DATAOUT_SIZE_1), R(CORE_CLIP_TRUNCATE),

	R(DPU_S_STATUS), R(DPU_S_POINTER), R(DPU_OPERATION_ENABLE), R(DPU_FEATURE_MODE_CFG),
	R(DPU_DATA_FORMAT), R(DPU_OFFSET_PEND), R(DPU_DST_BASE_ADDR), R(DPU_DST_SURF_STRIDE),
	R(DPU_DATA_CUBE_WIDTH), R(DPU_DATA_CUBE_HEIGHT), R(DPU_DATA_CUBE_NOTCH_ADDR),
	R(DPU_DATA_CUBE_CHANNEL), R(DPU_BS_CFG), R(DPU_BS_OW_CFG), R(DPU_WDMA_SIZE_0),
	R(DPU_WDMA_SIZE_1), R(DPU_BN_CFG), R(DPU_EW_CFG), R(DPU_OUT_CVT_OFFSET),
	R(DPU_OUT_CVT_SCALE), R(DPU_OUT_CVT_SHIFT), R(DPU_SURFACE_ADD),

	R(RDMA_S_STATUS), R(RDMA_S_POINTER), R(RDMA_OPERATION_ENABLE), R(RDMA_DATA_CUBE_WIDTH),
	R(RDMA_DATA_CUBE_HEIGHT), R(RDMA_DATA_CUBE_CHANNEL), R(RDMA_SRC_BASE_ADDR),
	R(RDMA_BRDMA_CFG), R(RDMA_BS_BASE_ADDR), R(RDMA_NRDMA_CFG), R(RDMA_BN_BASE_ADDR),
	R(RDMA_ERDMA_CFG), R(RDMA_EW_BASE_ADDR), R(RDMA_EW_SURF_STRIDE),
	R(RDMA_FEATURE_MODE_CFG), R(RDMA_SRC_DMA_CFG), R(RDMA_SURF_NOTCH),
};

#undef R

/**
 * struct ork_dump_extent - an extent of the job
 * @object: where its object begins
 * @size: of the object
 * @extent: a copy; its object is not referenced
 */
struct ork_dump_extent {
	u64 object;
	u64 size;
	struct ork_extent extent;
};

/**
 * struct ork_dump_program - a program of the chain
 * @index: its place in the chain
 * @iova: where it lies
 * @words: its length
 * @kept: how many of them are in @word: fewer if there are too many, or if it does not all lie in
 *	the job's memory
 * @word: the first ones
 */
struct ork_dump_program {
	u32 index;
	u32 iova;
	u32 words;
	u32 kept;
	u64 word[ORK_DUMP_WORDS];
};

/**
 * struct ork_dump - the state of a core, and of the job that hung on it
 * @core: the core
 * @work: makes text of it and hands that over
 * @busy: bit 0: from the beginning of a capture until the text is handed over
 * @begun: the watchdog has a dump in hand; its own
 * @time: of the capture
 * @interrupt_mask: before all were masked; likewise the next two
 * @interrupt_status: what the core would have raised an interrupt for
 * @interrupt_raw: and what it has seen, masked or not
 * @status: with which the job ends
 * @client: whose it is
 * @pid: of the process that opened the client's file
 * @comm: that process's name
 * @task: which task hung, from 0
 * @num_tasks: how many the job has
 * @chain: that task
 * @done: its programs that have finished
 * @core_mask: cores that might have run the job
 * @timeout_ms: of the job
 * @mmu: number of the core's IOMMU
 * @mmu_cores: cores behind it
 * @switches: address spaces that it was given so far
 * @attached: it has the job's address space
 * @faulted: it has reported a fault since the task was started
 * @fault: that fault
 * @registers: values of ork_dump_registers
 * @num_extents: how many the job has
 * @extents: the first ones
 * @num_programs: how many are in @programs
 * @programs: the first of the chain, and the one that was running
 */
struct ork_dump {
	struct ork_core *core;
	struct work_struct work;
	unsigned long busy;
	bool begun;

	ktime_t time;
	u32 interrupt_mask;
	u32 interrupt_status;
	u32 interrupt_raw;
	int status;
	u64 client;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	u32 task;
	u32 num_tasks;
	struct ork_task chain;
	u32 done;
	u32 core_mask;
	unsigned int timeout_ms;
	unsigned int mmu;
	u32 mmu_cores;
	u64 switches;
	bool attached;
	bool faulted;
	struct ork_fault fault;
	u32 registers[ARRAY_SIZE(ork_dump_registers)];
	u32 num_extents;
	struct ork_dump_extent extents[ORK_DUMP_EXTENTS];
	u32 num_programs;
	struct ork_dump_program programs[ORK_DUMP_PROGRAMS];
};

/* --- capture: on the path that fences wait for ------------------------------------ */

static void ork_dump_read_registers(struct ork_dump *dump)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ork_dump_registers); i++)
		if (ork_core_has(dump->core, ork_dump_registers[i].offset))
			dump->registers[i] = ork_core_read(dump->core,
							   ork_dump_registers[i].offset);
}

static void ork_dump_job(struct ork_dump *dump, const struct ork_job *job, int status)
{
	struct ork_file *ofile = job->ofile;

	dump->status = status;
	dump->client = ofile->client;
	dump->pid = pid_nr(ofile->pid);
	ork_debugfs_comm(ofile->pid, dump->comm);
	dump->num_tasks = job->num_tasks;
	dump->core_mask = job->core_mask;
	dump->timeout_ms = jiffies_to_msecs(job->timeout);
}

static void ork_dump_core(struct ork_dump *dump, const struct ork_job *job)
{
	struct ork_core *core = dump->core;
	struct ork_mmu *mmu = core->mmu;
	unsigned long flags;

	spin_lock_irqsave(&core->ork->lock, flags);
	dump->task = core->task;
	dump->chain = job->tasks[core->task];
	dump->done = core->counted;
	dump->mmu = mmu - core->ork->mmus;
	dump->mmu_cores = mmu->cores;
	dump->switches = mmu->switches;
	dump->attached = mmu->vm == job->ofile->vm;
	dump->faulted = ork_core_fault_locked(core, &dump->fault);
	spin_unlock_irqrestore(&core->ork->lock, flags);
}

static const struct ork_job_bo *ork_dump_find_bo(const struct ork_job *job, u64 iova)
{
	u32 i;

	for (i = 0; i < job->num_bos; i++) {
		const struct ork_job_bo *job_bo = &job->bos[i];
		u64 start = job_bo->mapping->node.start;

		if (iova >= start && iova - start < job_bo->bo->base.base.size)
			return job_bo;
	}
	return NULL;
}

/*
 * Of write-combined pages the kernel's own mapping may have fetched an old line; no line of it is
 * ever dirty.
 */
static void ork_dump_refetch(const struct ork_bo *bo, u64 offset, size_t bytes)
{
	if (bo->flags & DRM_ORK_BO_WRITE_COMBINE)
		dma_sync_single_for_cpu(bo->base.base.dev->dev,
					(bo->dma[offset >> PAGE_SHIFT] & PAGE_MASK) +
					offset_in_page(offset), bytes, DMA_FROM_DEVICE);
}

/*
 * Reads words that lie in one page of an object, as the CPU wrote them, cleaned or not. Returns how
 * many; 0 if the object's memory came from another driver.
 */
static u32 ork_dump_read_page(const struct ork_bo *bo, u64 offset, u64 *words, u32 count)
{
	size_t bytes = min_t(size_t, count * sizeof(*words), PAGE_SIZE - offset_in_page(offset));
	void *page;

	if (!bo->base.pages)
		return 0;
	ork_dump_refetch(bo, offset, bytes);
	page = kmap_local_page(bo->base.pages[offset >> PAGE_SHIFT]);
	memcpy(words, page + offset_in_page(offset), bytes);
	kunmap_local(page);
	return bytes / sizeof(*words);
}

/* Reads words of the job's memory, as far as it has any there. Returns how many. */
static u32 ork_dump_read(const struct ork_job *job, u64 iova, u64 *words, u32 count)
{
	u32 done = 0;

	while (done < count) {
		u64 at = iova + done * sizeof(*words);
		const struct ork_job_bo *job_bo = ork_dump_find_bo(job, at);
		u32 got = 0;

		if (job_bo)
			got = ork_dump_read_page(job_bo->bo, at - job_bo->mapping->node.start,
						 words + done, count - done);
		if (!got)
			break;
		done += got;
	}
	return done;
}

static bool ork_dump_is_regcmd(u64 word, u32 reg)
{
	return ORK_REGCMD_TARGET(word) == ORK_TARGET_PC && ORK_REGCMD_REG(word) == reg;
}

/* Goes from a program to the next one, by the link in its last words. False if it has none. */
static bool ork_dump_follow(const struct ork_job *job, struct ork_task *program)
{
	u64 link[2];

	if (program->words < ORK_PROGRAM_TAIL_WORDS ||
	    ork_dump_read(job, program->iova + (program->words - ORK_PROGRAM_TAIL_WORDS) *
			  sizeof(u64), link, ARRAY_SIZE(link)) != ARRAY_SIZE(link) ||
	    !ork_dump_is_regcmd(link[0], ORK_PC_BASE_ADDRESS) ||
	    !ork_dump_is_regcmd(link[1], ORK_PC_REGISTER_AMOUNTS))
		return false;

	program->iova = ORK_REGCMD_VALUE(link[0]) & ORK_PC_BASE_ADDRESS_PC_SOURCE_ADDR;
	program->words = ((ORK_REGCMD_VALUE(link[1]) & ORK_PC_REGISTER_AMOUNTS_PC_DATA_AMOUNT) +
			  1) * ORK_PROGRAM_BEAT_WORDS;
	return program->iova;
}

static void ork_dump_keep_program(struct ork_dump *dump, const struct ork_job *job,
				  const struct ork_task *program, u32 index)
{
	struct ork_dump_program *kept = &dump->programs[dump->num_programs++];

	kept->index = index;
	kept->iova = program->iova;
	kept->words = program->words;
	kept->kept = ork_dump_read(job, program->iova, kept->word,
				   min_t(u32, program->words, ORK_DUMP_WORDS));
}

/* The first program, and the one that was running, or the last on the way to it. */
static void ork_dump_programs(struct ork_dump *dump, const struct ork_job *job)
{
	struct ork_task program = dump->chain, next = dump->chain;
	u32 index;

	dump->num_programs = 0;
	ork_dump_keep_program(dump, job, &program, 0);
	for (index = 0; index < min(dump->done, dump->chain.programs - 1); index++) {
		if (!ork_dump_follow(job, &next))
			break;
		program = next;
	}
	if (index)
		ork_dump_keep_program(dump, job, &program, index);
}

static void ork_dump_extents(struct ork_dump *dump, const struct ork_job *job)
{
	u32 i;

	dump->num_extents = job->num_extents;
	for (i = 0; i < min_t(u32, job->num_extents, ORK_DUMP_EXTENTS); i++) {
		const struct ork_extent *extent = &job->extents[i];
		const struct ork_job_bo *job_bo = job->bos;

		/* It is there: they were made of the extents. */
		while (job_bo->bo != extent->bo)
			job_bo++;
		dump->extents[i] = (struct ork_dump_extent) {
			.object = job_bo->mapping->node.start,
			.size = extent->bo->base.base.size,
			.extent = *extent,
		};
	}
}

/**
 * ork_dump_begin_locked() - keep what is about to be lost
 * @core: a core whose job is being taken from it, its interrupts not yet masked
 *
 * Context: any; under ork->lock.
 */
void ork_dump_begin_locked(struct ork_core *core)
{
	struct ork_dump *dump = core->dump;

	lockdep_assert_held(&core->ork->lock);
	if (!dump)
		return;
	dump->begun = !test_and_set_bit_lock(0, &dump->busy);
	if (!dump->begun)
		return;
	dump->interrupt_mask = ork_core_read(core, ORK_PC_INTERRUPT_MASK);
	dump->interrupt_status = ork_core_read(core, ORK_PC_INTERRUPT_STATUS);
	dump->interrupt_raw = ork_core_read(core, ORK_PC_INTERRUPT_RAW_STATUS);
}

static void ork_dump_log(struct ork_core *core, const struct ork_job *job, int status)
{
	struct ork_fault fault;
	unsigned long flags;
	char where[48] = "";
	bool faulted;

	spin_lock_irqsave(&core->ork->lock, flags);
	faulted = ork_core_fault_locked(core, &fault);
	spin_unlock_irqrestore(&core->ork->lock, flags);
	if (faulted)
		snprintf(where, sizeof(where), ", %s fault at %#llx",
			 fault.write ? "write" : "read", fault.iova);

	dev_notice_ratelimited(core->dev, "core %u: job of client %llu %s (%d) in task %u of %u after %u of %u programs, pc %#x%s\n",
			       core->index, job->ofile->client,
			       status == -EFAULT ? "faulted" : "hung", status, core->task,
			       job->num_tasks, core->counted, job->tasks[core->task].programs,
			       ork_core_read(core, ORK_PC_BASE_ADDRESS), where);
}

/**
 * ork_dump_capture() - tell the log of a hang or fault, and keep the state for a dump
 * @core: a core that is about to be reset; ork_dump_begin_locked() was called
 * @job: the job that was taken from it, and has not ended
 * @status: with which it will end
 *
 * Context: process; does not sleep, allocates nothing.
 */
void ork_dump_capture(struct ork_core *core, const struct ork_job *job, int status)
{
	struct ork_dump *dump = core->dump;

	ork_dump_log(core, job, status);
	if (!dump)
		return;
	if (!dump->begun) {
		drm_dbg(&core->ork->drm, "core %u: no dump, the last one is not yet written\n",
			core->index);
		return;
	}

	dump->time = ktime_get();
	ork_dump_read_registers(dump);
	ork_dump_job(dump, job, status);
	ork_dump_core(dump, job);
	ork_dump_programs(dump, job);
	ork_dump_extents(dump, job);
}

/**
 * ork_dump_emit() - have a dump written, if there is one
 * @core: a core on whose watchdog ork_dump_capture() may have been called
 *
 * Context: any; after the job's fence was signalled.
 */
void ork_dump_emit(struct ork_core *core)
{
	struct ork_dump *dump = core->dump;

	if (!dump || !dump->begun)
		return;
	dump->begun = false;
	schedule_work(&dump->work);
}

/* --- text: at leisure ------------------------------------------------------------- */

static void ork_dump_print_job(struct drm_printer *p, const struct ork_dump *dump)
{
	drm_printf(p, "ork devcoredump 1\n");
	drm_printf(p, "kernel %s\n", init_utsname()->release);
	drm_printf(p, "time_ns %lld\n", ktime_to_ns(dump->time));
	drm_printf(p, "core %u\n", dump->core->index);
	drm_printf(p, "status %d\n", dump->status);
	drm_printf(p, "client %llu\n", dump->client);
	drm_printf(p, "pid %d\n", dump->pid);
	drm_printf(p, "comm %*pE\n", (int)strlen(dump->comm), dump->comm);
	drm_printf(p, "core_mask %#x\n", dump->core_mask);
	drm_printf(p, "timeout_ms %u\n", dump->timeout_ms);
	drm_printf(p, "task %u of %u\n", dump->task, dump->num_tasks);
	drm_printf(p, "chain iova 0x%08x words %u programs %u\n", dump->chain.iova,
		   dump->chain.words, dump->chain.programs);
	drm_printf(p, "task_counter %u\n", dump->done);
}

static void ork_dump_print_core(struct drm_printer *p, const struct ork_dump *dump)
{
	if (dump->faulted)
		drm_printf(p, "fault %s 0x%08llx\n", dump->fault.write ? "write" : "read",
			   dump->fault.iova);
	drm_printf(p, "iommu %u cores %#x attached %s switches %llu\n", dump->mmu,
		   dump->mmu_cores, dump->attached ? "job" : "other", dump->switches);
	drm_printf(p, "interrupts mask 0x%08x status 0x%08x raw 0x%08x\n", dump->interrupt_mask,
		   dump->interrupt_status, dump->interrupt_raw);
}

static void ork_dump_print_registers(struct drm_printer *p, const struct ork_dump *dump)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ork_dump_registers); i++)
		if (ork_core_has(dump->core, ork_dump_registers[i].offset))
			drm_printf(p, "register 0x%04x %s 0x%08x\n", ork_dump_registers[i].offset,
				   ork_dump_registers[i].name, dump->registers[i]);
}

static void ork_dump_print_extents(struct drm_printer *p, const struct ork_dump *dump)
{
	u32 i;

	drm_printf(p, "extents %u\n", dump->num_extents);
	for (i = 0; i < min_t(u32, dump->num_extents, ORK_DUMP_EXTENTS); i++) {
		const struct ork_dump_extent *extent = &dump->extents[i];

		drm_printf(p, "extent %u object 0x%08llx size %llu ", i, extent->object,
			   extent->size);
		drm_printf(p, "offset %llu length %llu stride %llu rows %u flags %#x\n",
			   extent->extent.offset, extent->extent.length, extent->extent.stride,
			   extent->extent.rows, extent->extent.flags);
	}
}

static void ork_dump_print_program(struct drm_printer *p, const struct ork_dump_program *program)
{
	u32 i;

	drm_printf(p, "program %u iova 0x%08x words %u kept %u\n", program->index, program->iova,
		   program->words, program->kept);
	for (i = 0; i < program->kept; i++)
		drm_printf(p, "word 0x%016llx\n", program->word[i]);
}

/* Returns the size of the text, of which as much is written as there is room. */
static size_t ork_dump_print(const struct ork_dump *dump, char *text, size_t room)
{
	struct drm_print_iterator iter = { .data = text, .remain = room };
	struct drm_printer p = drm_coredump_printer(&iter);
	u32 i;

	ork_dump_print_job(&p, dump);
	ork_dump_print_core(&p, dump);
	ork_dump_print_registers(&p, dump);
	ork_dump_print_extents(&p, dump);
	for (i = 0; i < dump->num_programs; i++)
		ork_dump_print_program(&p, &dump->programs[i]);
	return room - iter.remain;
}

static void ork_dump_work(struct work_struct *work)
{
	struct ork_dump *dump = container_of(work, struct ork_dump, work);
	size_t size = ork_dump_print(dump, NULL, INT_MAX);
	char *text = ork_fault_due(ORK_FAULT_DUMP) ? NULL : vmalloc(size + 1);

	if (text) {
		ork_dump_print(dump, text, size + 1);
		/* Dropped there, if the node's last dump has neither been taken nor aged. */
		dev_coredumpv(dump->core->dev, text, size, GFP_KERNEL);
	}
	clear_bit_unlock(0, &dump->busy);
}

/* --- life ------------------------------------------------------------------------- */

/**
 * ork_dump_create() - memory for the dumps of a core
 * @core: the core
 *
 * Return: the memory, or NULL if the kernel has no device coredumps or there is none to be had:
 * then hangs have no dump.
 */
struct ork_dump *ork_dump_create(struct ork_core *core)
{
	struct ork_dump *dump;

	if (!IS_ENABLED(CONFIG_DEV_COREDUMP))
		return NULL;
	dump = kvzalloc(sizeof(*dump), GFP_KERNEL);
	if (!dump)
		return NULL;
	dump->core = core;
	INIT_WORK(&dump->work, ork_dump_work);
	return dump;
}

/**
 * ork_dump_destroy() - undo ork_dump_create()
 * @dump: of a core whose watchdog does not run any more, or NULL
 *
 * Context: process.
 */
void ork_dump_destroy(struct ork_dump *dump)
{
	if (!dump)
		return;
	flush_work(&dump->work);
	kvfree(dump);
}

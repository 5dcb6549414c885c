/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_CORE_H__
#define __ORK_CORE_H__

#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/reset.h>
#include <linux/workqueue.h>

#include <drm/ork_drm.h>

struct ork_device;
struct ork_dump;
struct ork_fault;
struct ork_job;
struct ork_mmu;

#define ORK_CORE_RESETS		2

/**
 * struct ork_core_resources - where a core's node has what belongs to it
 * @window: number of the register range that holds all of its blocks, or -1: each block has a
 *	range of its own, by name
 * @irq: number of its interrupt
 * @resets: names of its reset lines
 */
struct ork_core_resources {
	int window;
	unsigned int irq;
	const char *resets[ORK_CORE_RESETS];
};

/**
 * struct ork_core - one core: registers, an interrupt, a watchdog
 * @ork: the device it belongs to
 * @dev: the device of its node; NULL while there is none
 * @index: its number
 * @mmu: the IOMMU it reads and writes through
 * @pc: registers of the program controller (0x0000)
 * @cna: registers of the convolution front end (0x1000)
 * @array: registers of the multiply-accumulate array (0x3000)
 * @dpu: registers of the output stages (0x4000); NULL where the binding does not give them
 * @rdma: registers of the output stages' reads (0x5000); likewise
 * @irq: its interrupt, shared with its IOMMU
 * @resets: its reset lines; asserted and released together
 * @job: the job it runs, or NULL; under ork->lock
 * @task: which of the job's tasks; under ork->lock
 * @ready: it may be given jobs; under ork->lock
 * @in_reset: its reset lines may be asserted: its registers must not be accessed; under ork->lock
 * @recovering: its job was taken from it, and it is being reset; under ork->lock
 * @lost: it is given no more jobs, for it does not reset or its IOMMU does not answer; under
 *	ork->lock
 * @wreck: the job that it ran when it did not reset; ends when the IOMMU lets it write to memory
 *	no more. Under ork->lock
 * @started: when @task was kicked; under ork->lock
 * @watchdog: looks whether programs still finish
 * @look: jiffies at which @watchdog fires, if it is armed; under ork->lock
 * @progress: jiffies at which the last look saw one, or @task started; under ork->lock
 * @counted: task counter at that look; under ork->lock
 * @signalled: its interrupt has told of an end since the last kick; under ork->lock
 * @spurious: interrupts since the last kick that told of none; under ork->lock
 * @fault: @job's address space faulted; under ork->lock
 * @stats: since it was bound; under ork->lock
 * @dump: what is kept of a hang, or NULL; the watchdog's
 */
struct ork_core {
	struct ork_device *ork;
	struct device *dev;
	unsigned int index;
	struct ork_mmu *mmu;
	void __iomem *pc;
	void __iomem *cna;
	void __iomem *array;
	void __iomem *dpu;
	void __iomem *rdma;
	int irq;
	struct reset_control_bulk_data resets[ORK_CORE_RESETS];

	struct ork_job *job;
	unsigned int task;
	bool ready;
	bool in_reset;
	bool recovering;
	bool lost;
	struct ork_job *wreck;
	ktime_t started;
	struct delayed_work watchdog;
	unsigned long look;
	unsigned long progress;
	u32 counted;
	bool signalled;
	unsigned int spurious;
	bool fault;
	struct drm_ork_counters stats;
	struct ork_dump *dump;
};

/**
 * struct ork_task - a checked &struct drm_ork_task
 * @iova: address of the first program
 * @words: its length in 64-bit words
 * @programs: programs in the chain
 */
struct ork_task {
	u32 iova;
	u32 words;
	u32 programs;
};

int ork_core_init(struct ork_device *ork, unsigned int index, struct device *dev,
		  const struct ork_core_resources *resources);
void ork_core_fini(struct ork_core *core);
bool ork_core_has(const struct ork_core *core, u32 offset);
u32 ork_core_read(const struct ork_core *core, u32 offset);
bool ork_core_fault_locked(const struct ork_core *core, struct ork_fault *fault);
u64 ork_core_busy_ns(const struct ork_core *core);
u64 ork_core_charge_locked(struct ork_core *core);
void ork_core_kick(struct ork_core *core, const struct ork_task *task);
u32 ork_core_count(struct ork_core *core);
bool ork_core_has_dma_error(struct ork_core *core);
bool ork_core_signals(struct ork_core *core);
bool ork_core_done(struct ork_core *core, const struct ork_task *task);
void ork_core_acknowledge(struct ork_core *core);
void ork_core_mask(struct ork_core *core);
int ork_core_reset(struct ork_core *core);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_DEVICE_H__
#define __ORK_DEVICE_H__

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/ork_drm.h>
#include <drm/ork_regs.h>

#include "ork_core.h"
#include "ork_mmu.h"
#include "ork_node.h"
#include "ork_queue.h"

/* The NPU was seen to mind addresses below the first page: 0 ends a chain. */
#define ORK_IOVA_START		PAGE_SIZE
#define ORK_IOVA_END		U32_MAX
/* Physical addresses that the IOMMU's tables can hold. */
#define ORK_DMA_BITS		40
/* Behind every object, so that an overrun faults and does not reach a neighbour. */
#define ORK_GUARD_SIZE		PAGE_SIZE
/* Most bytes of an address space's sink behind an object. */
#define ORK_SLACK_MAX		SZ_16M

/**
 * struct ork_front - a DRM device by which clients reach the NPU
 * @drm: the DRM device; whoever holds it keeps the NPU
 * @npu: the NPU
 */
struct ork_front {
	struct drm_device drm;
	struct ork_device *npu;
};

/**
 * struct ork_device - the NPU: what all of its cores share
 * @drm: the DRM device
 * @front: the same, with the way from it to this
 * @rocket: the second DRM device, or NULL
 * @wq: address-space switches and watchdogs; one per device, so that they survive memory pressure
 * @nodes: by the number of their first core
 * @cores: by number, which is their order of address; valid up to @num_cores
 * @num_cores: cores present; fixed before the DRM device is registered
 * @mmus: IOMMU groups; valid up to @num_mmus
 * @num_mmus: IOMMUs present; fixed before the DRM device is registered
 * @hw_version: version of the first core
 * @coherent: the NPU snoops; nothing is maintained. Fixed before the DRM device is registered
 * @lock: who runs what: all lists, @dead, what struct ork_core, struct ork_mmu, struct ork_file and
 *	struct ork_job say it guards. Innermost; taken in hard interrupts
 * @waiting: jobs with unmet dependencies
 * @ready: jobs whose dependencies have been met, in a context where they could not be dispatched
 * @settle: dispatches them
 * @queues: queues with jobs that wait for a core, by priority, and then by turn
 * @order: of the next job that comes to a queue
 * @ended: jobs whose results are yet to be made visible and whose fences are yet to be signalled
 * @dead: cores are gone; jobs end at once
 * @imports_lock: guards @imports
 * @imports: objects of other drivers' dma-bufs, one for each dma-buf
 * @done: jobs that have ended and are yet to be let go
 * @release: lets them go, and all that they hold
 * @jobs: jobs between submit and their last reference; under @lock, so that who sees the last
 *	one gone finds its last holder gone too
 * @jobs_gone: woken when @jobs falls to 0
 */
struct ork_device {
	union {
		struct drm_device drm;
		struct ork_front front;
	};
	struct drm_device *rocket;
	struct workqueue_struct *wq;
	struct ork_node nodes[ORK_MAX_CORES];
	struct ork_core cores[ORK_MAX_CORES];
	unsigned int num_cores;
	struct ork_mmu mmus[ORK_MAX_CORES];
	unsigned int num_mmus;
	u32 hw_version;
	bool coherent;

	spinlock_t lock;	/* innermost; taken in hard interrupts */
	struct list_head waiting;
	struct list_head ready;
	struct work_struct settle;
	struct list_head queues;
	u64 order;
	struct list_head ended;
	bool dead;

	struct mutex imports_lock;	/* before reservations */
	struct list_head imports;

	struct llist_head done;
	struct work_struct release;
	unsigned int jobs;
	wait_queue_head_t jobs_gone;
};

/**
 * struct ork_stats - counters of a file, as &struct drm_ork_counters has them
 * @submits: accepted submits
 * @jobs: ended jobs
 * @programs: programs of completed chains
 * @interrupts: completion interrupts
 * @busy_ns: time on cores
 * @resets: hangs and faults
 * @sync_calls: BO_SYNC calls
 * @bytes_cleaned: in whole lines
 * @bytes_invalidated: in whole lines
 * @core_busy_ns: time on each core, that of chains which did not complete included; under ork->lock
 */
struct ork_stats {
	atomic64_t submits;
	atomic64_t jobs;
	atomic64_t programs;
	atomic64_t interrupts;
	atomic64_t busy_ns;
	atomic64_t resets;
	atomic64_t sync_calls;
	atomic64_t bytes_cleaned;
	atomic64_t bytes_invalidated;
	u64 core_busy_ns[ORK_MAX_CORES];
};

/**
 * struct ork_file - one open of the device
 * @ork: the device
 * @ref: the open file itself, and each of its jobs
 * @client: number that tells it from all others, for people
 * @pid: the process that opened it, for people
 * @vm: its address space
 * @queues: where its jobs wait for a core, by enum drm_ork_priority
 * @active: jobs that were submitted and have not ended
 * @idle: woken when @active falls to 0
 * @refusal: why no job of the file starts any more: -ECANCELED, it is being closed; -EIO, it is
 *	banned; 0: they start. Written under ork->lock
 * @hangs: its jobs that hung or faulted; under ork->lock
 * @stats: counters
 */
struct ork_file {
	struct ork_device *ork;
	struct kref ref;
	u64 client;
	struct pid *pid;
	struct ork_vm *vm;
	struct ork_queue queues[DRM_ORK_PRIORITY_HIGH + 1];
	atomic_t active;
	wait_queue_head_t idle;
	int refusal;
	unsigned int hangs;
	struct ork_stats stats;
};

static inline struct ork_device *to_ork_device(const struct drm_device *drm)
{
	return container_of(drm, struct ork_front, drm)->npu;
}

#endif

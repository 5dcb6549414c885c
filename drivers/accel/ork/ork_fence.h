/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_FENCE_H__
#define __ORK_FENCE_H__

#include <linux/dma-fence.h>

struct drm_device;
struct drm_file;
struct drm_ork_wait;

/**
 * struct ork_fence - a job's end
 * @base: the fence; alone in its context
 * @lock: of @base, which may outlive the device
 * @cores: the core that ran the job, as a mask, or 0; like all below written before the fence
 *	signals
 * @busy_ns: time on it
 * @begin_ns: when it began there
 * @end_ns: when it left
 */
struct ork_fence {
	struct dma_fence base;
	spinlock_t lock;	/* of base */
	u32 cores;
	u64 busy_ns;
	u64 begin_ns;
	u64 end_ns;
};

struct ork_fence *ork_fence_create(void);
int ork_fence_error(struct dma_fence *fence);
int ork_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#if IS_ENABLED(CONFIG_KUNIT)
void ork_fence_times(struct dma_fence *fence, struct drm_ork_wait *args);
#endif

#endif

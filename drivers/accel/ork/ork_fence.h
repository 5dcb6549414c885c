/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_FENCE_H__
#define __ORK_FENCE_H__

#include <linux/dma-fence.h>

struct drm_device;
struct drm_file;

/**
 * struct ork_fence - a job's end
 * @base: the fence; alone in its context
 * @lock: of @base, which may outlive the device
 * @busy_ns: time on cores; written before the fence signals
 */
struct ork_fence {
	struct dma_fence base;
	spinlock_t lock;	/* of base */
	u64 busy_ns;
};

struct ork_fence *ork_fence_create(void);
int ork_fence_error(struct dma_fence *fence);
int ork_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif

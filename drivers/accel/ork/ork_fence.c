// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fence of a job, and waiting for it.
 *
 * Jobs of one scheduler entity run on several cores at once and end in any order. The
 * scheduler's own fences promise an order within an entity, and whoever merges fences by context
 * (reservations, dependencies) relies on it. So every job has a fence in a context of its own,
 * and that one is what reservations and syncobjs get.
 */

#include <linux/dma-fence-array.h>
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence-unwrap.h>
#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>
#include <drm/drm_utils.h>
#include <drm/ork_drm.h>

#include "ork_fence.h"

static const char *ork_fence_name(struct dma_fence *fence)
{
	return "ork";
}

static const struct dma_fence_ops ork_fence_ops = {
	.get_driver_name = ork_fence_name,
	.get_timeline_name = ork_fence_name,
};

/**
 * ork_fence_create() - a fence for a job
 *
 * Return: the fence, with one reference, or NULL.
 */
struct ork_fence *ork_fence_create(void)
{
	struct ork_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &ork_fence_ops, &fence->lock, dma_fence_context_alloc(1), 1);
	return fence;
}

/* A submit's fence may hold those of several jobs. */
static void ork_wait_result(struct dma_fence *fence, struct drm_ork_wait *args)
{
	struct dma_fence_chain *chain = to_dma_fence_chain(fence);
	struct dma_fence_unwrap iter;
	struct dma_fence *part;

	/* Of a timeline only the point asked for, not those before it. */
	dma_fence_unwrap_for_each(part, &iter, chain ? chain->fence : fence) {
		int status = dma_fence_get_status(part);

		if (status < 0 && !args->status)
			args->status = status;
		if (part->ops == &ork_fence_ops)
			args->busy_ns += container_of(part, struct ork_fence, base)->busy_ns;
	}
}

/**
 * ork_wait_ioctl() - DRM_IOCTL_ORK_WAIT
 * @drm: the device
 * @data: &struct drm_ork_wait
 * @file: the caller's file
 *
 * Return: 0 or a negative errno.
 */
int ork_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ork_wait *args = data;
	struct dma_fence *fence;
	long ret;

	args->status = 0;
	args->busy_ns = 0;
	if (args->pad)
		return -EINVAL;
	if (args->flags)
		return -EOPNOTSUPP;

	ret = drm_syncobj_find_fence(file, args->syncobj, args->point, 0, &fence);
	if (ret) {
		drm_dbg(drm, "wait: syncobj %u point %llu: %ld\n", args->syncobj, args->point, ret);
		return ret;
	}

	ret = dma_fence_wait_timeout(fence, true, drm_timeout_abs_to_jiffies(args->timeout_ns));
	if (ret > 0) {
		ork_wait_result(fence, args);
		ret = 0;
	} else if (!ret) {
		ret = args->timeout_ns > 0 ? -ETIME : -EBUSY;
	}
	dma_fence_put(fence);
	return ret;
}

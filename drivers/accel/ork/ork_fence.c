// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fence of a job, and waiting for it.
 *
 * Jobs of one file run on several cores at once and end in any order. Fences of one context promise
 * to signal in order, and whoever merges fences by context (reservations, dependencies) relies on
 * that. So every job has a fence in a context of its own.
 */

#include <linux/dma-fence-array.h>
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence-unwrap.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>
#include <drm/drm_utils.h>
#include <drm/ork_drm.h>

#include "ork_compat.h"
#include "ork_fence.h"
#include "ork_live.h"

static const char *ork_fence_name(struct dma_fence *fence)
{
	return "ork";
}

static void ork_fence_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct ork_fence, base.rcu));
	ork_live_dec(ORK_LIVE_FENCES);
	module_put(THIS_MODULE);
}

/* Who found the fence under RCU may still ask for its names: module and memory wait for that. */
static void ork_fence_release(struct dma_fence *fence)
{
	call_rcu(&fence->rcu, ork_fence_free);
}

static const struct dma_fence_ops ork_fence_ops = {
	.get_driver_name = ork_fence_name,
	.get_timeline_name = ork_fence_name,
	.release = ork_fence_release,
};

/**
 * ork_fence_create() - a fence for a job
 *
 * It may outlive the device, and it holds the module, whose code it needs until its end.
 *
 * Context: process; on behalf of an open file, which holds the module too.
 * Return: the fence, with one reference, or NULL.
 */
struct ork_fence *ork_fence_create(void)
{
	struct ork_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	ork_live_inc(ORK_LIVE_FENCES);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &ork_fence_ops, &fence->lock, dma_fence_context_alloc(1), 1);
	return fence;
}

/* Of a timeline only the point asked for, not those before it. */
static struct dma_fence *ork_fence_point(struct dma_fence *fence)
{
	struct dma_fence_chain *chain = to_dma_fence_chain(fence);

	return chain ? chain->fence : fence;
}

/**
 * ork_fence_error() - how a fence ended
 * @fence: a fence of anyone's that has signalled; it may hold several
 *
 * Return: the first error among them, or 0.
 */
int ork_fence_error(struct dma_fence *fence)
{
	struct dma_fence_unwrap iter;
	struct dma_fence *part;
	int error = 0;

	dma_fence_unwrap_for_each(part, &iter, ork_fence_point(fence))
		if (!error)
			error = min(dma_fence_get_status(part), 0);
	return error;
}

/* A job that no core ran began at no time. */
static void ork_fence_add_times(const struct ork_fence *job, struct drm_ork_wait *args)
{
	if (!job->cores)
		return;
	args->begin_ns = args->cores ? min(args->begin_ns, job->begin_ns) : job->begin_ns;
	args->end_ns = max(args->end_ns, job->end_ns);
	args->busy_ns += job->busy_ns;
	args->cores |= job->cores;
}

/* Where and when the jobs behind a fence ran. */
VISIBLE_IF_KUNIT void ork_fence_times(struct dma_fence *fence, struct drm_ork_wait *args)
{
	struct dma_fence_unwrap iter;
	struct dma_fence *part;

	dma_fence_unwrap_for_each(part, &iter, ork_fence_point(fence))
		if (ork_compat_fence_ops(part) == &ork_fence_ops)
			ork_fence_add_times(container_of(part, struct ork_fence, base), args);
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
	args->cores = 0;
	args->busy_ns = 0;
	args->begin_ns = 0;
	args->end_ns = 0;
	if (args->flags) {
		drm_dbg(drm, "wait: flags %#x, none is known\n", args->flags);
		return -EOPNOTSUPP;
	}

	ret = drm_syncobj_find_fence(file, args->syncobj, args->point, 0, &fence);
	if (ret) {
		drm_dbg(drm, "wait: syncobj %u point %llu: %ld\n", args->syncobj, args->point, ret);
		return ret;
	}

	/* A whole number of jiffies may end before the time that was asked for. */
	do {
		ret = dma_fence_wait_timeout(fence, true,
					     drm_timeout_abs_to_jiffies(args->timeout_ns));
	} while (!ret && (s64)ktime_get_ns() < args->timeout_ns);
	if (ret > 0) {
		args->status = ork_fence_error(fence);
		ork_fence_times(fence, args);
		ret = 0;
	} else if (!ret) {
		ret = args->timeout_ns > 0 ? -ETIME : -EBUSY;
	}
	dma_fence_put(fence);
	return ret;
}

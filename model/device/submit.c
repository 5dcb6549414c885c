// SPDX-License-Identifier: MIT
/*
 * SUBMIT: everything is checked before anything is done; then it cleans, runs, invalidates and
 * signals.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"

#define ALL_CORES	((1u << ORK_MAX_CORES) - 1)

/* --- checks ------------------------------------------------------------------------------- */

static bool may_raise_priority(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &header, data) &&
	       data[CAP_TO_INDEX(CAP_SYS_NICE)].effective & CAP_TO_MASK(CAP_SYS_NICE);
}

static int check_priority(uint32_t priority)
{
	if (priority > DRM_ORK_PRIORITY_HIGH)
		return -EINVAL;
	return priority != DRM_ORK_PRIORITY_HIGH || may_raise_priority() ? 0 : -EACCES;
}

/* Those to wait for must have a fence; what it says does not matter to the jobs. */
static int check_syncs(struct device *dev, const struct drm_ork_array *syncs, bool in)
{
	struct drm_ork_sync sync;
	struct fence fence;
	int ret = array_check(syncs, 0, DRM_ORK_MAX_SYNCS, sizeof(sync));

	for (uint32_t i = 0; !ret && i < syncs->count; i++) {
		ret = array_get(syncs, i, &sync, sizeof(sync));
		if (!ret && sync.flags)
			ret = -EOPNOTSUPP;
		if (!ret && in)
			ret = syncobj_find(dev, sync.handle, sync.point, &fence);
		else if (!ret && !handle_get(&dev->syncobj_handles, sync.handle))
			ret = -ENOENT;
	}
	return ret;
}

static bool job_holds(struct device *dev, const struct drm_ork_job *job, uint64_t iova,
		      uint64_t bytes)
{
	struct drm_ork_extent extent;
	struct bo *bo;

	for (uint32_t i = 0; i < job->extents.count; i++)
		if (!extent_get(dev, &job->extents, i, EXTENT_SUBMIT_FLAGS, &extent, &bo) &&
		    extent_holds(bo, &extent, iova, bytes))
			return true;
	return false;
}

static int check_task(struct device *dev, const struct drm_ork_job *job,
		      const struct drm_ork_task *task)
{
	if (task->iova % ORK_PROGRAM_ALIGN)
		return -EINVAL;
	if (!task->words || task->words % 2 || task->words > DRM_ORK_MAX_WORDS)
		return -EINVAL;
	if (!task->programs || task->programs > DRM_ORK_MAX_PROGRAMS)
		return -EINVAL;
	return job_holds(dev, job, task->iova, task->words * sizeof(uint64_t)) ? 0 : -EINVAL;
}

static int check_job_fields(struct device *dev, const struct drm_ork_job *job)
{
	if (job->flags)
		return -EOPNOTSUPP;
	if (job->core_mask & ~ALL_CORES || job->timeout_ms > DRM_ORK_MAX_TIMEOUT_MS)
		return -EINVAL;
	if (job->out_syncobj && !handle_get(&dev->syncobj_handles, job->out_syncobj))
		return -ENOENT;
	return 0;
}

static int check_job(struct device *dev, const struct drm_ork_job *job)
{
	struct drm_ork_extent extent;
	struct drm_ork_task task;
	struct bo *bo;
	int ret = check_job_fields(dev, job);

	if (!ret)
		ret = array_check(&job->extents, 1, DRM_ORK_MAX_EXTENTS, sizeof(extent));
	for (uint32_t i = 0; !ret && i < job->extents.count; i++)
		ret = extent_get(dev, &job->extents, i, EXTENT_SUBMIT_FLAGS, &extent, &bo);
	if (!ret)
		ret = array_check(&job->tasks, 1, DRM_ORK_MAX_TASKS, sizeof(task));
	for (uint32_t i = 0; !ret && i < job->tasks.count; i++) {
		ret = array_get(&job->tasks, i, &task, sizeof(task));
		if (!ret)
			ret = check_task(dev, job, &task);
	}
	return ret;
}

static int check_submit(struct device *dev, const struct drm_ork_submit *submit)
{
	struct drm_ork_job job;
	int ret;

	if (submit->flags & ~(uint32_t)DRM_ORK_SUBMIT_EXPLICIT)
		return -EOPNOTSUPP;
	ret = check_priority(submit->priority);
	if (!ret)
		ret = array_check(&submit->jobs, 1, DRM_ORK_MAX_JOBS, sizeof(job));
	if (!ret)
		ret = check_syncs(dev, &submit->in_syncs, true);
	if (!ret)
		ret = check_syncs(dev, &submit->out_syncs, false);
	for (uint32_t i = 0; !ret && i < submit->jobs.count; i++) {
		ret = array_get(&submit->jobs, i, &job, sizeof(job));
		if (!ret)
			ret = check_job(dev, &job);
	}
	return ret;
}

/* --- action: arrays were checked, their elements are good --------------------------------- */

/*
 * What a CPU writes through a write-combined mapping goes to memory, and what it reads comes from
 * there. The model has no such mapping: it moves the whole object whenever a job may use it, and
 * counts nothing.
 */
static void move_write_combined(struct device *dev, const struct bo *bo,
				void (*maintain)(struct npu_cache *cache, uint64_t pa))
{
	if (!(bo->flags & DRM_ORK_BO_WRITE_COMBINE))
		return;
	for (uint64_t at = 0; at < bo->size; at += NPU_LINE_BYTES)
		maintain(dev->cache, bo_pa(bo) + at);
}

static void clean_job(struct device *dev, const struct drm_ork_job *job)
{
	struct drm_ork_extent extent;
	struct bo *bo;

	for (uint32_t i = 0; i < job->extents.count; i++) {
		extent_get(dev, &job->extents, i, EXTENT_SUBMIT_FLAGS, &extent, &bo);
		move_write_combined(dev, bo, npu_cache_clean);
		if (!(extent.flags & (DRM_ORK_EXTENT_NO_SYNC | DRM_ORK_EXTENT_CPU_CLEAN)))
			extent_clean(dev, bo, &extent);
	}
}

static void invalidate_job(struct device *dev, const struct drm_ork_job *job)
{
	struct drm_ork_extent extent;
	struct bo *bo;

	for (uint32_t i = 0; i < job->extents.count; i++) {
		extent_get(dev, &job->extents, i, EXTENT_SUBMIT_FLAGS, &extent, &bo);
		move_write_combined(dev, bo, npu_cache_invalidate);
		if (extent.flags & DRM_ORK_EXTENT_WRITE && !(extent.flags & DRM_ORK_EXTENT_NO_SYNC))
			extent_invalidate(dev, bo, &extent);
	}
}

/* In turn, among those that the job allows. */
static struct device_core *choose_core(struct device *dev, uint32_t core_mask)
{
	uint32_t allowed = core_mask ? core_mask : ALL_CORES;
	int core = dev->next_core;

	while (!(allowed & 1u << core))
		core = (core + 1) % ORK_MAX_CORES;
	dev->next_core = (core + 1) % ORK_MAX_CORES;
	return &dev->cores[core];
}

/* Jobs run one after the other: the first began first, the last ended last. */
static void add_fence(struct fence *whole, const struct fence *fence)
{
	if (!whole->status)
		whole->status = fence->status;
	if (!whole->cores)
		whole->begin_ns = fence->begin_ns;
	whole->cores |= fence->cores;
	whole->busy_ns += fence->busy_ns;
	whole->end_ns = fence->end_ns;
}

static struct fence run_jobs(struct device *dev, const struct drm_ork_array *jobs)
{
	struct fence whole = { 0 }, fence;
	struct drm_ork_job job;

	for (uint32_t i = 0; i < jobs->count; i++) {
		array_get(jobs, i, &job, sizeof(job));
		fence = core_run(dev, choose_core(dev, job.core_mask), &job);
		invalidate_job(dev, &job);
		if (job.out_syncobj)
			syncobj_signal(dev, job.out_syncobj, job.out_point, fence);
		add_fence(&whole, &fence);
	}
	return whole;
}

int submit(void *opaque, const struct drm_ork_submit *submit)
{
	struct device *dev = opaque;
	struct drm_ork_sync sync;
	struct drm_ork_job job;
	struct fence fence;
	int ret = check_submit(dev, submit);

	if (ret)
		return ret;
	dev->counters.submits++;
	for (uint32_t i = 0; i < submit->jobs.count; i++) {
		array_get(&submit->jobs, i, &job, sizeof(job));
		clean_job(dev, &job);
	}
	fence = run_jobs(dev, &submit->jobs);
	for (uint32_t i = 0; i < submit->out_syncs.count; i++) {
		array_get(&submit->out_syncs, i, &sync, sizeof(sync));
		syncobj_signal(dev, sync.handle, sync.point, fence);
	}
	return 0;
}

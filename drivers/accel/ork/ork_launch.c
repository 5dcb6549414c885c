// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that are complete, on their way to the cores: all of them, or none.
 *
 * Caches are cleaned; reservations are locked, slots reserved, room made for dependencies. Nothing
 * can fail after that: fences are published, and each job is dispatched when what it waits for has
 * signalled, which may be at once.
 */

#include <linux/dma-resv.h>
#include <linux/mm.h>

#include <drm/drm_gem.h>
#include <drm/ork_drm.h>

#include "ork_dependency.h"
#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_fence.h"
#include "ork_gem.h"
#include "ork_job.h"
#include "ork_launch.h"
#include "ork_sync.h"
#include "ork_trace.h"

/* How many of the jobs use an object of theirs. */
static u32 *ork_launch_uses(struct ork_launch *launch, const struct ork_job_bo *job_bo)
{
	struct drm_gem_object *obj = &job_bo->bo->base.base;
	u32 low = 0, high = launch->num_bos;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (launch->bos[middle] < obj)
			low = middle + 1;
		else
			high = middle;
	}
	return &launch->uses[low];
}

static int ork_launch_collect_bos(struct ork_launch *launch)
{
	u32 i, j, count = 0;

	for (i = 0; i < launch->num_jobs; i++)
		count += launch->jobs[i]->num_bos;
	launch->bos = kvmalloc_array(count, sizeof(*launch->bos), GFP_KERNEL);
	launch->uses = kvcalloc(count, sizeof(*launch->uses), GFP_KERNEL);
	if (!launch->bos || !launch->uses)
		return -ENOMEM;

	for (i = 0; i < launch->num_jobs; i++)
		for (j = 0; j < launch->jobs[i]->num_bos; j++)
			launch->bos[launch->num_bos++] = &launch->jobs[i]->bos[j].bo->base.base;
	launch->num_bos = ork_unique_pointers((void **)launch->bos, launch->num_bos);
	for (i = 0; i < launch->num_jobs; i++)
		for (j = 0; j < launch->jobs[i]->num_bos; j++)
			++*ork_launch_uses(launch, &launch->jobs[i]->bos[j]);
	return 0;
}

/*
 * Before the first job is queued: no dirty line may be left that could be evicted over a result.
 */
static void ork_launch_clean(struct ork_launch *launch)
{
	u32 i, j;

	for (i = 0; i < launch->num_jobs; i++) {
		struct ork_job *job = launch->jobs[i];

		for (j = 0; j < job->num_extents; j++)
			if (!(job->extents[j].flags &
			      (DRM_ORK_EXTENT_NO_SYNC | DRM_ORK_EXTENT_CPU_CLEAN)))
				ork_extent_clean(job->ofile, &job->extents[j]);
	}
}

/*
 * The fences that a job will wait for because of the jobs before it. To be called for the last job
 * first: it takes back how many use each object.
 */
static u32 ork_launch_count_before(struct ork_launch *launch, const struct ork_job *job)
{
	u32 i, count = 0;

	for (i = 0; launch->in_order && i < job->num_bos; i++)
		count += --*ork_launch_uses(launch, &job->bos[i]);
	return count;
}

static int ork_launch_prepare(struct ork_launch *launch)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < launch->num_bos && !ret; i++)
		ret = dma_resv_reserve_fences(launch->bos[i]->resv, launch->uses[i]);
	for (i = launch->num_jobs; i-- && !ret;) {
		struct ork_job *job = launch->jobs[i];
		u32 more = launch->num_in_fences + ork_launch_count_before(launch, job);

		ret = ork_dependencies_reserve(job, more, launch->implicit);
	}
	return ret;
}

static void ork_launch_depend(struct ork_launch *launch, struct ork_job *job)
{
	ork_dependencies_collect(job, launch->in_fences, launch->num_in_fences, launch->implicit);
}

static void ork_job_publish(struct ork_job *job)
{
	u32 i;

	for (i = 0; i < job->num_bos; i++)
		dma_resv_add_fence(job->bos[i].bo->base.base.resv, &job->fence->base,
				   job->bos[i].write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
}

/* The point of no return. A queued job may end at once, so its fence is published first. */
static void ork_launch_commit(struct ork_launch *launch)
{
	struct ork_file *ofile = launch->ofile;
	u32 i;

	for (i = 0; i < launch->num_jobs && !launch->in_order; i++)
		ork_launch_depend(launch, launch->jobs[i]);
	for (i = 0; i < launch->num_jobs; i++) {
		if (launch->in_order)
			ork_launch_depend(launch, launch->jobs[i]);
		ork_job_publish(launch->jobs[i]);
	}
	if (launch->attach)
		launch->attach(launch);

	atomic_add(launch->num_jobs, &ofile->active);
	for (i = 0; i < launch->num_jobs; i++)
		ork_job_queue(launch->jobs[i]);
	trace_ork_submit(ofile->client, launch->num_jobs);
	atomic64_inc(&ofile->stats.submits);
}

/* Between the locking of the reservations and their unlocking. */
static int ork_launch_locked(struct ork_launch *launch)
{
	int ret = ork_launch_prepare(launch);

	if (!ret)
		ork_launch_commit(launch);
	return ret;
}

/**
 * ork_launch_run() - launch jobs
 * @launch: the jobs; the caller drops its references on them afterwards
 *
 * Context: process.
 * Return: 0 or a negative errno; then none was started.
 */
int ork_launch_run(struct ork_launch *launch)
{
	int ret = ork_launch_collect_bos(launch);

	if (ret)
		goto out;
	ork_launch_clean(launch);
	ret = drm_gem_lock_reservations(launch->bos, launch->num_bos, &launch->ctx);
	if (ret)
		goto out;
	ret = ork_launch_locked(launch);
	drm_gem_unlock_reservations(launch->bos, launch->num_bos, &launch->ctx);
	ork_dispatch_finish(launch->ofile->ork);
out:
	kvfree(launch->uses);
	kvfree(launch->bos);
	return ret;
}

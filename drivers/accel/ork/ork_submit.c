// SPDX-License-Identifier: GPL-2.0-only
/*
 * DRM_IOCTL_ORK_SUBMIT: everything that the user gave is copied, checked and allocated, and then
 * launched.
 */

#include <linux/capability.h>
#include <linux/dma-fence-array.h>
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

#include "ork_array.h"
#include "ork_compat.h"
#include "ork_device.h"
#include "ork_fence.h"
#include "ork_file.h"
#include "ork_job.h"
#include "ork_launch.h"
#include "ork_submit.h"
#include "ork_watchdog.h"

/**
 * struct ork_out_sync - a syncobj that will carry a fence
 * @syncobj: the syncobj; referenced
 * @chain: for a point of a timeline
 * @point: the point
 */
struct ork_out_sync {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

/**
 * struct ork_submit - a submit under way
 * @launch: its jobs, and what they wait for
 * @file: the caller's handles
 * @queue: where its jobs wait for a core
 * @job_outs: a syncobj for each job, or none
 * @outs: syncobjs of the whole submit
 * @num_outs: how many
 * @fence: of the whole submit
 */
struct ork_submit {
	struct ork_launch launch;
	struct drm_file *file;
	struct ork_queue *queue;
	struct ork_out_sync *job_outs;
	struct ork_out_sync *outs;
	u32 num_outs;
	struct dma_fence *fence;
};

static int ork_job_get_extents(struct ork_job *job, struct drm_file *file,
			       const struct drm_ork_array *array)
{
	struct drm_device *drm = &job->ofile->ork->drm;
	struct drm_ork_extent *user;
	int ret;

	if (!array->count) {
		drm_dbg(drm, "a job without extents\n");
		return -EINVAL;
	}
	user = ork_array_copy(drm, "extents", array, sizeof(*user), DRM_ORK_MAX_EXTENTS);
	if (IS_ERR(user))
		return PTR_ERR(user);
	ret = ork_job_set_extents(job, file, user, array->count);
	kvfree(user);
	return ret;
}

/*
 * The device fetches the first program from where the task says: that has to be memory which the
 * job keeps alive.
 */
VISIBLE_IF_KUNIT int ork_job_check_task(struct ork_job *job, const struct drm_ork_task *task)
{
	if (!task->programs || task->programs > DRM_ORK_MAX_PROGRAMS)
		return -EINVAL;
	if (!task->words || task->words % ORK_PROGRAM_BEAT_WORDS ||
	    task->words > DRM_ORK_MAX_WORDS)
		return -EINVAL;
	if (task->iova % ORK_PROGRAM_ALIGN || task->iova > ORK_IOVA_END)
		return -EINVAL;
	return ork_job_holds(job, task->iova, task->words * sizeof(u64)) ? 0 : -EINVAL;
}

static int ork_job_get_tasks(struct ork_job *job, const struct drm_ork_array *array)
{
	struct drm_device *drm = &job->ofile->ork->drm;
	struct drm_ork_task *user;
	int ret = 0;
	u32 i;

	if (!array->count) {
		drm_dbg(drm, "a job without tasks\n");
		return -EINVAL;
	}
	user = ork_array_copy(drm, "tasks", array, sizeof(*user), DRM_ORK_MAX_TASKS);
	if (IS_ERR(user))
		return PTR_ERR(user);
	job->tasks = kvcalloc(array->count, sizeof(*job->tasks), GFP_KERNEL_ACCOUNT);
	if (!job->tasks)
		ret = -ENOMEM;

	for (i = 0; i < array->count && !ret; i++) {
		ret = ork_job_check_task(job, &user[i]);
		if (ret)
			drm_dbg(drm, "task %u: iova %#llx words %u programs %u: %d\n", i,
				user[i].iova, user[i].words, user[i].programs, ret);
		else
			job->tasks[i] = (struct ork_task) { user[i].iova, user[i].words,
							    user[i].programs };
	}
	job->num_tasks = array->count;
	kvfree(user);
	return ret;
}

VISIBLE_IF_KUNIT int ork_job_check_scalars(struct ork_job *job, const struct drm_ork_job *args)
{
	struct ork_device *ork = job->ofile->ork;
	u32 all = BIT(ork->num_cores) - 1;

	if (args->flags) {
		drm_dbg(&ork->drm, "job with flags %#x, none is known\n", args->flags);
		return -EOPNOTSUPP;
	}
	if (args->core_mask & ~all) {
		drm_dbg(&ork->drm, "core mask %#x, cores are %#x\n", args->core_mask, all);
		return -EINVAL;
	}
	if (args->timeout_ms > DRM_ORK_MAX_TIMEOUT_MS) {
		drm_dbg(&ork->drm, "timeout %u ms, %u at most\n", args->timeout_ms,
			DRM_ORK_MAX_TIMEOUT_MS);
		return -EINVAL;
	}
	job->core_mask = args->core_mask ?: all;
	job->timeout = msecs_to_jiffies(args->timeout_ms ?: ork_watchdog_default_ms());
	return 0;
}

static int ork_job_fill(struct ork_job *job, struct drm_file *file,
			const struct drm_ork_job *args)
{
	int ret;

	ret = ork_job_check_scalars(job, args);
	if (ret)
		return ret;
	ret = ork_job_get_extents(job, file, &args->extents);
	if (ret)
		return ret;
	return ork_job_get_tasks(job, &args->tasks);
}

static int ork_out_sync_init(struct ork_out_sync *out, struct ork_submit *submit, u32 handle,
			     u64 point)
{
	out->syncobj = drm_syncobj_find(submit->file, handle);
	if (!out->syncobj) {
		drm_dbg(&submit->launch.ofile->ork->drm, "no syncobj %u\n", handle);
		return -ENOENT;
	}
	out->point = point;
	if (!point)
		return 0;
	out->chain = dma_fence_chain_alloc();
	return out->chain ? 0 : -ENOMEM;
}

static void ork_out_sync_fini(struct ork_out_sync *out)
{
	if (out->syncobj)
		drm_syncobj_put(out->syncobj);
	dma_fence_chain_free(out->chain);
}

static void ork_out_sync_attach(struct ork_out_sync *out, struct dma_fence *fence)
{
	if (!out->syncobj)
		return;
	if (!out->chain) {
		drm_syncobj_replace_fence(out->syncobj, fence);
		return;
	}
	drm_syncobj_add_point(out->syncobj, out->chain, fence, out->point);
	out->chain = NULL;
}

static int ork_submit_add_job(struct ork_submit *submit, const struct drm_ork_job *args)
{
	struct ork_launch *launch = &submit->launch;
	struct ork_job *job = ork_job_create(launch->ofile, submit->queue);

	if (IS_ERR(job))
		return PTR_ERR(job);
	launch->jobs[launch->num_jobs++] = job;
	return ork_job_fill(job, submit->file, args);
}

static int ork_submit_get_jobs(struct ork_submit *submit, const struct drm_ork_submit *args)
{
	struct drm_device *drm = &submit->launch.ofile->ork->drm;
	u32 i, count = args->jobs.count;
	struct drm_ork_job *user;
	int ret = 0;

	if (!count) {
		drm_dbg(drm, "a submit without jobs\n");
		return -EINVAL;
	}
	user = ork_array_copy(drm, "jobs", &args->jobs, sizeof(*user), DRM_ORK_MAX_JOBS);
	if (IS_ERR(user))
		return PTR_ERR(user);
	submit->launch.jobs = kcalloc(count, sizeof(*submit->launch.jobs), GFP_KERNEL);
	submit->job_outs = kcalloc(count, sizeof(*submit->job_outs), GFP_KERNEL);
	if (!submit->launch.jobs || !submit->job_outs)
		ret = -ENOMEM;

	for (i = 0; i < count && !ret; i++) {
		ret = ork_submit_add_job(submit, &user[i]);
		if (ret)
			drm_dbg(drm, "job %u is refused: %d\n", i, ret);
		else if (user[i].out_syncobj)
			ret = ork_out_sync_init(&submit->job_outs[i], submit, user[i].out_syncobj,
						user[i].out_point);
	}
	kvfree(user);
	return ret;
}

static int ork_submit_get_ins(struct ork_submit *submit, const struct drm_ork_array *array)
{
	struct ork_launch *launch = &submit->launch;
	struct drm_device *drm = &launch->ofile->ork->drm;
	struct drm_ork_sync *user;
	int ret = 0;
	u32 i;

	user = ork_array_copy(drm, "in syncobjs", array, sizeof(*user), DRM_ORK_MAX_SYNCS);
	if (IS_ERR_OR_NULL(user))
		return PTR_ERR_OR_ZERO(user);
	launch->in_fences = kcalloc(array->count, sizeof(*launch->in_fences), GFP_KERNEL);
	if (!launch->in_fences)
		ret = -ENOMEM;

	for (i = 0; i < array->count && !ret; i++) {
		if (user[i].flags)
			ret = -EOPNOTSUPP;
		else
			ret = drm_syncobj_find_fence(submit->file, user[i].handle, user[i].point, 0,
						     &launch->in_fences[i]);
		if (ret)
			drm_dbg(drm, "in syncobj %u: handle %u flags %#x point %llu: %d\n", i,
				user[i].handle, user[i].flags, user[i].point, ret);
		else
			launch->num_in_fences++;
	}
	kvfree(user);
	return ret;
}

static int ork_submit_get_outs(struct ork_submit *submit, const struct drm_ork_array *array)
{
	struct drm_device *drm = &submit->launch.ofile->ork->drm;
	struct drm_ork_sync *user;
	int ret = 0;
	u32 i;

	user = ork_array_copy(drm, "out syncobjs", array, sizeof(*user), DRM_ORK_MAX_SYNCS);
	if (IS_ERR_OR_NULL(user))
		return PTR_ERR_OR_ZERO(user);
	submit->outs = kcalloc(array->count, sizeof(*submit->outs), GFP_KERNEL);
	if (!submit->outs)
		ret = -ENOMEM;

	for (i = 0; i < array->count && !ret; i++) {
		submit->num_outs++;
		ret = user[i].flags ? -EOPNOTSUPP :
		      ork_out_sync_init(&submit->outs[i], submit, user[i].handle, user[i].point);
		if (ret)
			drm_dbg(drm, "out syncobj %u: handle %u flags %#x point %llu: %d\n", i,
				user[i].handle, user[i].flags, user[i].point, ret);
	}
	kvfree(user);
	return ret;
}

/* The fence of the whole submit: its only job's, or all of them together. */
static int ork_submit_create_fence(struct ork_submit *submit)
{
	struct dma_fence_array *array;
	struct dma_fence **fences;
	u32 i;

	if (!submit->num_outs)
		return 0;
	if (submit->launch.num_jobs == 1) {
		submit->fence = dma_fence_get(&submit->launch.jobs[0]->fence->base);
		return 0;
	}

	fences = kcalloc(submit->launch.num_jobs, sizeof(*fences), GFP_KERNEL);
	if (!fences)
		return -ENOMEM;
	for (i = 0; i < submit->launch.num_jobs; i++)
		fences[i] = dma_fence_get(&submit->launch.jobs[i]->fence->base);
	array = ork_compat_fence_array(submit->launch.num_jobs, fences);
	if (!array) {
		while (i--)
			dma_fence_put(fences[i]);
		kfree(fences);
		return -ENOMEM;
	}
	submit->fence = &array->base;
	return 0;
}

static void ork_submit_attach(struct ork_launch *launch)
{
	struct ork_submit *submit = container_of(launch, struct ork_submit, launch);
	u32 i;

	for (i = 0; i < launch->num_jobs; i++)
		ork_out_sync_attach(&submit->job_outs[i], &launch->jobs[i]->fence->base);
	for (i = 0; i < submit->num_outs; i++)
		ork_out_sync_attach(&submit->outs[i], submit->fence);
}

static int ork_submit_check(struct drm_device *drm, const struct drm_ork_submit *args)
{
	if (args->flags & ~DRM_ORK_SUBMIT_EXPLICIT) {
		drm_dbg(drm, "submit with flags %#x, known are %#x\n", args->flags,
			DRM_ORK_SUBMIT_EXPLICIT);
		return -EOPNOTSUPP;
	}
	if (args->priority > DRM_ORK_PRIORITY_HIGH) {
		drm_dbg(drm, "priority %u, %u at most\n", args->priority, DRM_ORK_PRIORITY_HIGH);
		return -EINVAL;
	}
	if (args->priority == DRM_ORK_PRIORITY_HIGH && !capable(CAP_SYS_NICE)) {
		drm_dbg(drm, "priority %u is for those with CAP_SYS_NICE\n", args->priority);
		return -EACCES;
	}
	return 0;
}

static int ork_submit_run(struct ork_submit *submit, const struct drm_ork_submit *args)
{
	int ret;

	ret = ork_submit_get_jobs(submit, args);
	if (!ret)
		ret = ork_submit_get_ins(submit, &args->in_syncs);
	if (!ret)
		ret = ork_submit_get_outs(submit, &args->out_syncs);
	if (!ret)
		ret = ork_submit_create_fence(submit);
	return ret ?: ork_launch_run(&submit->launch);
}

static void ork_submit_fini(struct ork_submit *submit, u32 num_jobs)
{
	u32 i;

	for (i = 0; i < submit->launch.num_jobs; i++)
		ork_job_put(submit->launch.jobs[i]);
	for (i = 0; submit->job_outs && i < num_jobs; i++)
		ork_out_sync_fini(&submit->job_outs[i]);
	for (i = 0; i < submit->launch.num_in_fences; i++)
		dma_fence_put(submit->launch.in_fences[i]);
	for (i = 0; i < submit->num_outs; i++)
		ork_out_sync_fini(&submit->outs[i]);
	dma_fence_put(submit->fence);
	kfree(submit->outs);
	kfree(submit->launch.in_fences);
	kfree(submit->job_outs);
	kfree(submit->launch.jobs);
}

/**
 * ork_submit_ioctl() - DRM_IOCTL_ORK_SUBMIT
 * @drm: the device
 * @data: &struct drm_ork_submit
 * @file: the caller's file
 *
 * Return: 0 or a negative errno; then nothing was started.
 */
int ork_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_file *ofile = file->driver_priv;
	struct drm_ork_submit *args = data;
	struct ork_submit submit = {
		.launch = {
			.ofile = ofile,
			.implicit = !(args->flags & DRM_ORK_SUBMIT_EXPLICIT),
			.attach = ork_submit_attach,
		},
		.file = file,
	};
	int ret, idx;

	ret = ork_submit_check(drm, args);
	if (ret)
		return ret;
	ret = ork_file_may_submit(ofile);
	if (ret)
		return ret;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	submit.queue = &ofile->queues[args->priority];
	ret = ork_submit_run(&submit, args);
	ork_submit_fini(&submit, args->jobs.count);
	drm_dev_exit(idx);
	return ret;
}

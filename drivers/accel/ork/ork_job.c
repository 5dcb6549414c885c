// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs, from the user's structures to their end.
 *
 * A submit goes through fixed phases: everything is copied, checked and allocated; caches are
 * cleaned; reservations are locked, slots reserved, dependencies taken. Nothing can fail after
 * that: fences are published, and each job is dispatched when what it waits for has signalled,
 * which may be at once.
 */

#include <linux/capability.h>
#include <linux/dma-fence-array.h>
#include <linux/dma-fence-chain.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>

#include "ork_array.h"
#include "ork_compat.h"
#include "ork_dependency.h"
#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_fence.h"
#include "ork_gem.h"
#include "ork_job.h"
#include "ork_live.h"
#include "ork_sync.h"
#include "ork_trace.h"
#include "ork_watchdog.h"

#define ORK_JOB_EXTENT_FLAGS	(DRM_ORK_EXTENT_READ | DRM_ORK_EXTENT_WRITE | \
				 DRM_ORK_EXTENT_NO_SYNC | DRM_ORK_EXTENT_CPU_CLEAN)

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
 * @ofile: the caller
 * @file: the caller's handles
 * @priority: enum drm_ork_priority
 * @jobs: its jobs
 * @job_outs: a syncobj for each job, or none
 * @num_jobs: of both
 * @in_fences: what all jobs wait for
 * @num_in_fences: how many
 * @outs: syncobjs of the whole submit
 * @num_outs: how many
 * @fence: of the whole submit
 * @bos: the objects of all jobs, each once
 * @num_bos: how many
 * @ctx: of the locked reservations
 */
struct ork_submit {
	struct ork_file *ofile;
	struct drm_file *file;
	u32 priority;
	struct ork_job **jobs;
	struct ork_out_sync *job_outs;
	u32 num_jobs;
	struct dma_fence **in_fences;
	u32 num_in_fences;
	struct ork_out_sync *outs;
	u32 num_outs;
	struct dma_fence *fence;
	struct drm_gem_object **bos;
	u32 num_bos;
	struct ww_acquire_ctx ctx;
};

static void ork_job_put_objects(struct ork_job *job)
{
	u32 i;

	for (i = 0; i < job->num_bos; i++)
		ork_mapping_put(job->bos[i].mapping);
	kvfree(job->bos);
	ork_extents_put(job->extents, job->num_extents);
}

static void ork_job_release(struct kref *ref)
{
	struct ork_job *job = container_of(ref, struct ork_job, ref);
	struct ork_device *ork = job->ofile->ork;
	unsigned long flags;

	ork_dependencies_put(job);
	if (job->fence)
		dma_fence_put(&job->fence->base);
	ork_job_put_objects(job);
	kvfree(job->tasks);
	ork_file_put(job->ofile);
	kfree(job);
	ork_live_dec(ORK_LIVE_JOBS);

	spin_lock_irqsave(&ork->lock, flags);
	if (!--ork->jobs)
		wake_up(&ork->jobs_gone);
	spin_unlock_irqrestore(&ork->lock, flags);
}

static void ork_job_put(struct ork_job *job)
{
	kref_put(&job->ref, ork_job_release);
}

static int ork_compare_pointers(const void *a, const void *b)
{
	const void *const *left = a, *const *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Sorts, and drops what is there twice. Returns how many are left. */
VISIBLE_IF_KUNIT u32 ork_unique_pointers(void **pointers, u32 count)
{
	u32 i, unique = 0;

	sort(pointers, count, sizeof(*pointers), ork_compare_pointers, NULL);
	for (i = 0; i < count; i++)
		if (!unique || pointers[i] != pointers[unique - 1])
			pointers[unique++] = pointers[i];
	return unique;
}

static struct ork_job_bo *ork_job_find_bo(struct ork_job *job, const struct ork_bo *bo)
{
	u32 low = 0, high = job->num_bos;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (job->bos[middle].bo < bo)
			low = middle + 1;
		else
			high = middle;
	}
	return &job->bos[low];
}

VISIBLE_IF_KUNIT int ork_job_collect_bos(struct ork_job *job)
{
	struct ork_bo **bos;
	u32 i, count;
	int ret = 0;

	bos = kvmalloc_array(job->num_extents, sizeof(*bos), GFP_KERNEL);
	if (!bos)
		return -ENOMEM;
	for (i = 0; i < job->num_extents; i++)
		bos[i] = job->extents[i].bo;
	count = ork_unique_pointers((void **)bos, job->num_extents);

	job->bos = kvcalloc(count, sizeof(*job->bos), GFP_KERNEL_ACCOUNT);
	if (!job->bos)
		ret = -ENOMEM;
	for (i = 0; i < count && !ret; i++) {
		struct ork_mapping *mapping = ork_mapping_find(job->ofile->vm, bos[i]);

		if (mapping)
			job->bos[job->num_bos++] = (struct ork_job_bo) { bos[i], mapping };
		else
			ret = -ENOENT;	/* the handle is being closed */
	}
	kvfree(bos);
	if (ret)
		return ret;

	for (i = 0; i < job->num_extents; i++) {
		struct ork_job_bo *job_bo = ork_job_find_bo(job, job->extents[i].bo);
		u32 flags = job->extents[i].flags;

		job_bo->write |= flags & DRM_ORK_EXTENT_WRITE;
		job_bo->read |= (flags & DRM_ORK_EXTENT_READ) || !(flags & DRM_ORK_EXTENT_WRITE);
	}
	return 0;
}

static int ork_job_get_extents(struct ork_job *job, struct drm_file *file,
			       const struct drm_ork_array *array)
{
	struct drm_device *drm = &job->ofile->ork->drm;
	struct drm_ork_extent *user;
	struct ork_extent *extents;

	if (!array->count) {
		drm_dbg(drm, "a job without extents\n");
		return -EINVAL;
	}
	user = ork_array_copy(drm, "extents", array, sizeof(*user), DRM_ORK_MAX_EXTENTS);
	if (IS_ERR(user))
		return PTR_ERR(user);
	extents = ork_extents_get(job->ofile, file, user, array->count, ORK_JOB_EXTENT_FLAGS);
	kvfree(user);
	if (IS_ERR(extents))
		return PTR_ERR(extents);

	job->extents = extents;
	job->num_extents = array->count;
	return ork_job_collect_bos(job);
}

static bool ork_extent_holds(struct ork_job *job, const struct ork_extent *extent, u64 iova,
			     u64 bytes)
{
	u64 start = ork_job_find_bo(job, extent->bo)->mapping->node.start + extent->offset;
	u64 row = 0;

	if (!extent->length || iova < start)
		return false;
	if (extent->rows > 1)
		row = min_t(u64, div64_u64(iova - start, extent->stride), extent->rows - 1);
	start += row * extent->stride;
	return iova + bytes <= start + extent->length;
}

/*
 * The device fetches the first program from where the task says: that has to be memory which the
 * job keeps alive.
 */
static bool ork_job_holds(struct ork_job *job, u64 iova, u64 bytes)
{
	u32 i;

	for (i = 0; i < job->num_extents; i++)
		if (ork_extent_holds(job, &job->extents[i], iova, bytes))
			return true;
	return false;
}

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

	if (args->flags)
		return -EOPNOTSUPP;
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

static int ork_job_init(struct ork_job *job, struct ork_submit *submit,
			const struct drm_ork_job *args)
{
	int ret;

	job->queue = &job->ofile->queues[submit->priority];
	ret = ork_job_check_scalars(job, args);
	if (ret)
		return ret;
	ret = ork_job_get_extents(job, submit->file, &args->extents);
	if (ret)
		return ret;
	ret = ork_job_get_tasks(job, &args->tasks);
	if (ret)
		return ret;

	job->fence = ork_fence_create();
	return job->fence ? 0 : -ENOMEM;
}

static struct ork_job *ork_job_create(struct ork_submit *submit, const struct drm_ork_job *args)
{
	struct ork_job *job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!job)
		return ERR_PTR(-ENOMEM);

	ork_live_inc(ORK_LIVE_JOBS);
	kref_init(&job->ref);
	INIT_LIST_HEAD(&job->link);
	kref_get(&submit->ofile->ref);
	job->ofile = submit->ofile;
	spin_lock_irq(&submit->ofile->ork->lock);
	submit->ofile->ork->jobs++;
	spin_unlock_irq(&submit->ofile->ork->lock);

	ret = ork_job_init(job, submit, args);
	if (ret) {
		ork_job_put(job);
		return ERR_PTR(ret);
	}
	return job;
}

/**
 * ork_job_end() - the last of a job: results become visible, its fence signals
 * @job: a job that no core runs, and none will
 *
 * Context: process.
 */
void ork_job_end(struct ork_job *job)
{
	struct ork_file *ofile = job->ofile;
	struct ork_device *ork = ofile->ork;
	struct ork_stats *stats = &ofile->stats;
	struct ork_fence *fence = job->fence;
	u32 i;

	/*
	 * The core has stopped, and only now may the CPU's copies go: until here it could have
	 * fetched them anew.
	 */
	for (i = 0; i < job->num_extents && job->cores; i++)
		if ((job->extents[i].flags & DRM_ORK_EXTENT_WRITE) &&
		    !(job->extents[i].flags & DRM_ORK_EXTENT_NO_SYNC))
			ork_extent_invalidate(ofile, &job->extents[i]);

	atomic64_inc(&stats->jobs);
	atomic64_add(job->programs, &stats->programs);
	atomic64_add(job->interrupts, &stats->interrupts);
	atomic64_add(job->busy_ns, &stats->busy_ns);
	atomic64_add(job->reset, &stats->resets);

	fence->cores = job->cores;
	fence->busy_ns = job->busy_ns;
	fence->begin_ns = job->begin_ns;
	fence->end_ns = job->end_ns;
	if (job->status)
		dma_fence_set_error(&fence->base, job->status);

	dma_fence_signal(&fence->base);
	if (atomic_dec_and_test(&ofile->active))
		wake_up(&ofile->idle);
	if (llist_add(&job->done, &ork->done))
		schedule_work(&ork->release);
}

/**
 * ork_jobs_release() - let go of jobs that have ended
 * @work: ork->release
 *
 * Apart from their ends, for the last reference on an object takes locks whose holders may wait for
 * a fence.
 *
 * Context: process.
 */
void ork_jobs_release(struct work_struct *work)
{
	struct ork_device *ork = container_of(work, struct ork_device, release);
	struct ork_job *job, *next;

	llist_for_each_entry_safe(job, next, llist_del_all(&ork->done), done)
		ork_job_put(job);
}

/**
 * ork_job_ready() - what a job waits for has signalled
 * @job: a job that waits, or that was cancelled meanwhile
 *
 * Context: any, perhaps with a fence's lock held: other fences may not be looked at here.
 */
void ork_job_ready(struct ork_job *job)
{
	struct ork_device *ork = job->ofile->ork;
	unsigned long flags;

	spin_lock_irqsave(&ork->lock, flags);
	if (job->waits) {
		job->waits = false;
		list_move_tail(&job->link, &ork->ready);
		queue_work(ork->wq, &ork->settle);
	}
	spin_unlock_irqrestore(&ork->lock, flags);
}

static struct ork_job *ork_job_next_ready(struct ork_device *ork)
{
	struct ork_job *job;

	spin_lock_irq(&ork->lock);
	job = list_first_entry_or_null(&ork->ready, struct ork_job, link);
	if (job)
		list_del_init(&job->link);
	spin_unlock_irq(&ork->lock);
	return job;
}

/**
 * ork_jobs_settle() - dispatch the jobs whose wait is over, or end them
 * @work: ork->settle
 *
 * Context: process; on the way to their fences' signals.
 */
void ork_jobs_settle(struct work_struct *work)
{
	struct ork_device *ork = container_of(work, struct ork_device, settle);
	bool cookie = dma_fence_begin_signalling();
	struct ork_job *job;

	while ((job = ork_job_next_ready(ork)))
		ork_dispatch_add(job, ork_dependencies_failed(job) ? -ECANCELED : 0);
	ork_dispatch_finish(ork);
	dma_fence_end_signalling(cookie);
}

/*
 * The submit keeps its own reference: what the job names stays until the reservations are unlocked.
 */
static void ork_job_queue(struct ork_job *job)
{
	struct ork_device *ork = job->ofile->ork;

	kref_get(&job->ref);
	if (!job->num_dependencies) {
		ork_dispatch_add(job, 0);
		return;
	}
	spin_lock_irq(&ork->lock);
	job->waits = true;
	list_add_tail(&job->link, &ork->waiting);
	spin_unlock_irq(&ork->lock);
	ork_dependencies_arm(job);
}

static int ork_out_sync_init(struct ork_out_sync *out, struct ork_submit *submit, u32 handle,
			     u64 point)
{
	out->syncobj = drm_syncobj_find(submit->file, handle);
	if (!out->syncobj) {
		drm_dbg(&submit->ofile->ork->drm, "no syncobj %u\n", handle);
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

static int ork_submit_get_jobs(struct ork_submit *submit, const struct drm_ork_submit *args)
{
	struct drm_device *drm = &submit->ofile->ork->drm;
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
	submit->jobs = kcalloc(count, sizeof(*submit->jobs), GFP_KERNEL);
	submit->job_outs = kcalloc(count, sizeof(*submit->job_outs), GFP_KERNEL);
	if (!submit->jobs || !submit->job_outs)
		ret = -ENOMEM;

	for (i = 0; i < count && !ret; i++) {
		struct ork_job *job = ork_job_create(submit, &user[i]);

		if (IS_ERR(job)) {
			ret = PTR_ERR(job);
			drm_dbg(drm, "job %u is refused: %d\n", i, ret);
			break;
		}
		submit->jobs[submit->num_jobs++] = job;
		if (user[i].out_syncobj)
			ret = ork_out_sync_init(&submit->job_outs[i], submit, user[i].out_syncobj,
						user[i].out_point);
	}
	kvfree(user);
	return ret;
}

static int ork_submit_get_ins(struct ork_submit *submit, const struct drm_ork_array *array)
{
	struct drm_device *drm = &submit->ofile->ork->drm;
	struct drm_ork_sync *user;
	int ret = 0;
	u32 i;

	user = ork_array_copy(drm, "in syncobjs", array, sizeof(*user), DRM_ORK_MAX_SYNCS);
	if (IS_ERR_OR_NULL(user))
		return PTR_ERR_OR_ZERO(user);
	submit->in_fences = kcalloc(array->count, sizeof(*submit->in_fences), GFP_KERNEL);
	if (!submit->in_fences)
		ret = -ENOMEM;

	for (i = 0; i < array->count && !ret; i++) {
		if (user[i].flags)
			ret = -EOPNOTSUPP;
		else
			ret = drm_syncobj_find_fence(submit->file, user[i].handle, user[i].point, 0,
						     &submit->in_fences[i]);
		if (ret)
			drm_dbg(drm, "in syncobj %u: handle %u flags %#x point %llu: %d\n", i,
				user[i].handle, user[i].flags, user[i].point, ret);
		else
			submit->num_in_fences++;
	}
	kvfree(user);
	return ret;
}

static int ork_submit_get_outs(struct ork_submit *submit, const struct drm_ork_array *array)
{
	struct drm_device *drm = &submit->ofile->ork->drm;
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
	if (submit->num_jobs == 1) {
		submit->fence = dma_fence_get(&submit->jobs[0]->fence->base);
		return 0;
	}

	fences = kcalloc(submit->num_jobs, sizeof(*fences), GFP_KERNEL);
	if (!fences)
		return -ENOMEM;
	for (i = 0; i < submit->num_jobs; i++)
		fences[i] = dma_fence_get(&submit->jobs[i]->fence->base);
	array = ork_compat_fence_array(submit->num_jobs, fences);
	if (!array) {
		while (i--)
			dma_fence_put(fences[i]);
		kfree(fences);
		return -ENOMEM;
	}
	submit->fence = &array->base;
	return 0;
}

static int ork_submit_collect_bos(struct ork_submit *submit)
{
	u32 i, j, count = 0;

	for (i = 0; i < submit->num_jobs; i++)
		count += submit->jobs[i]->num_bos;
	submit->bos = kvmalloc_array(count, sizeof(*submit->bos), GFP_KERNEL);
	if (!submit->bos)
		return -ENOMEM;

	for (i = 0; i < submit->num_jobs; i++)
		for (j = 0; j < submit->jobs[i]->num_bos; j++)
			submit->bos[submit->num_bos++] = &submit->jobs[i]->bos[j].bo->base.base;
	submit->num_bos = ork_unique_pointers((void **)submit->bos, submit->num_bos);
	return 0;
}

/*
 * Before the first job is queued: no dirty line may be left that could be evicted over a result.
 */
static void ork_submit_clean(struct ork_submit *submit)
{
	u32 i, j;

	for (i = 0; i < submit->num_jobs; i++) {
		struct ork_job *job = submit->jobs[i];

		for (j = 0; j < job->num_extents; j++)
			if (!(job->extents[j].flags &
			      (DRM_ORK_EXTENT_NO_SYNC | DRM_ORK_EXTENT_CPU_CLEAN)))
				ork_extent_clean(job->ofile, &job->extents[j]);
	}
}

static int ork_submit_prepare(struct ork_submit *submit, bool explicit)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < submit->num_bos && !ret; i++)
		ret = dma_resv_reserve_fences(submit->bos[i]->resv, submit->num_jobs);
	for (i = 0; i < submit->num_jobs && !ret; i++)
		ret = ork_dependencies_collect(submit->jobs[i], submit->in_fences,
					       submit->num_in_fences, !explicit);
	return ret;
}

static void ork_job_publish(struct ork_job *job)
{
	u32 i;

	for (i = 0; i < job->num_bos; i++)
		dma_resv_add_fence(job->bos[i].bo->base.base.resv, &job->fence->base,
				   job->bos[i].write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
}

/* The point of no return. A queued job may end at once, so its fence is published first. */
static void ork_submit_commit(struct ork_submit *submit)
{
	struct ork_file *ofile = submit->ofile;
	u32 i;

	for (i = 0; i < submit->num_jobs; i++) {
		ork_job_publish(submit->jobs[i]);
		ork_out_sync_attach(&submit->job_outs[i], &submit->jobs[i]->fence->base);
	}
	for (i = 0; i < submit->num_outs; i++)
		ork_out_sync_attach(&submit->outs[i], submit->fence);

	atomic_add(submit->num_jobs, &ofile->active);
	for (i = 0; i < submit->num_jobs; i++)
		ork_job_queue(submit->jobs[i]);
	trace_ork_submit(ofile->client, submit->num_jobs);
	atomic64_inc(&ofile->stats.submits);
}

static int ork_submit_run(struct ork_submit *submit, const struct drm_ork_submit *args)
{
	bool explicit = args->flags & DRM_ORK_SUBMIT_EXPLICIT;
	int ret;

	ret = ork_submit_get_jobs(submit, args);
	if (!ret)
		ret = ork_submit_get_ins(submit, &args->in_syncs);
	if (!ret)
		ret = ork_submit_get_outs(submit, &args->out_syncs);
	if (!ret)
		ret = ork_submit_create_fence(submit);
	if (!ret)
		ret = ork_submit_collect_bos(submit);
	if (ret)
		return ret;

	ork_submit_clean(submit);

	ret = drm_gem_lock_reservations(submit->bos, submit->num_bos, &submit->ctx);
	if (ret)
		return ret;
	ret = ork_submit_prepare(submit, explicit);
	if (!ret)
		ork_submit_commit(submit);
	drm_gem_unlock_reservations(submit->bos, submit->num_bos, &submit->ctx);
	ork_dispatch_finish(submit->ofile->ork);
	return ret;
}

static void ork_submit_fini(struct ork_submit *submit, u32 num_jobs)
{
	u32 i;

	for (i = 0; i < submit->num_jobs; i++)
		ork_job_put(submit->jobs[i]);
	for (i = 0; submit->job_outs && i < num_jobs; i++)
		ork_out_sync_fini(&submit->job_outs[i]);
	for (i = 0; i < submit->num_in_fences; i++)
		dma_fence_put(submit->in_fences[i]);
	for (i = 0; i < submit->num_outs; i++)
		ork_out_sync_fini(&submit->outs[i]);
	dma_fence_put(submit->fence);
	kvfree(submit->bos);
	kfree(submit->outs);
	kfree(submit->in_fences);
	kfree(submit->job_outs);
	kfree(submit->jobs);
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
		.ofile = ofile,
		.file = file,
		.priority = args->priority,
	};
	int ret, idx;

	if (args->flags & ~DRM_ORK_SUBMIT_EXPLICIT)
		return -EOPNOTSUPP;
	if (args->priority > DRM_ORK_PRIORITY_HIGH)
		return -EINVAL;
	if (args->priority == DRM_ORK_PRIORITY_HIGH && !capable(CAP_SYS_NICE))
		return -EACCES;

	if (READ_ONCE(ofile->refusal)) {
		drm_dbg(drm, "the file is banned: its jobs hung too often\n");
		return -EIO;
	}
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = ork_submit_run(&submit, args);
	ork_submit_fini(&submit, args->jobs.count);
	drm_dev_exit(idx);
	return ret;
}

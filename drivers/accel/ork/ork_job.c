// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs: what they hold, how they become ready, and how they end.
 */

#include <linux/dma-fence.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include <drm/ork_drm.h>

#include "ork_compat.h"
#include "ork_dependency.h"
#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_fence.h"
#include "ork_file.h"
#include "ork_gem.h"
#include "ork_hold.h"
#include "ork_job.h"
#include "ork_live.h"
#include "ork_sync.h"

#define ORK_JOB_EXTENT_FLAGS	(DRM_ORK_EXTENT_READ | DRM_ORK_EXTENT_WRITE | \
				 DRM_ORK_EXTENT_NO_SYNC | DRM_ORK_EXTENT_CPU_CLEAN)

static void ork_job_put_objects(struct ork_job *job)
{
	u32 i;

	for (i = 0; i < job->num_bos; i++)
		ork_mapping_put(job->bos[i].mapping);
	kvfree(job->bos);
	ork_extents_put(job->extents, job->num_extents);
	ork_hold_put(job->hold);
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

/**
 * ork_job_put() - drop a reference on a job
 * @job: the job
 *
 * Context: process.
 */
void ork_job_put(struct ork_job *job)
{
	kref_put(&job->ref, ork_job_release);
}

/**
 * ork_job_create() - a job that has nothing to do yet
 * @ofile: whose it is
 * @queue: where it will wait for a core
 *
 * Return: the job, with one reference, or an ERR_PTR().
 */
struct ork_job *ork_job_create(struct ork_file *ofile, struct ork_queue *queue)
{
	struct ork_device *ork = ofile->ork;
	struct ork_job *job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);

	if (!job)
		return ERR_PTR(-ENOMEM);

	ork_live_inc(ORK_LIVE_JOBS);
	kref_init(&job->ref);
	INIT_LIST_HEAD(&job->link);
	kref_get(&ofile->ref);
	job->ofile = ofile;
	job->queue = queue;
	spin_lock_irq(&ork->lock);
	ork->jobs++;
	spin_unlock_irq(&ork->lock);

	job->fence = ork_fence_create();
	if (!job->fence) {
		ork_job_put(job);
		return ERR_PTR(-ENOMEM);
	}
	return job;
}

static int ork_compare_pointers(const void *a, const void *b)
{
	const void *const *left = a, *const *right = b;

	return *left < *right ? -1 : *left > *right;
}

/**
 * ork_unique_pointers() - sort pointers, and drop what is there twice
 * @pointers: the pointers
 * @count: how many
 *
 * Return: how many are left.
 */
u32 ork_unique_pointers(void **pointers, u32 count)
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

/**
 * ork_job_set_extents() - what a job reads and writes
 * @job: a job that has no extents yet
 * @file: the caller's handles
 * @args: what the user gave
 * @count: how many
 *
 * Return: 0 or a negative errno; then the job is good for nothing but ork_job_put().
 */
int ork_job_set_extents(struct ork_job *job, struct drm_file *file,
			const struct drm_ork_extent *args, u32 count)
{
	struct ork_extent *extents = ork_extents_get(job->ofile, file, args, count,
						     ORK_JOB_EXTENT_FLAGS);

	if (IS_ERR(extents))
		return PTR_ERR(extents);
	job->extents = extents;
	job->num_extents = count;
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

/**
 * ork_job_holds() - whether memory is kept as long as a job
 * @job: a job with its extents
 * @iova: first byte
 * @bytes: how many
 *
 * Return: true if they lie in one row of an extent.
 */
bool ork_job_holds(struct ork_job *job, u64 iova, u64 bytes)
{
	u32 i;

	for (i = 0; i < job->num_extents; i++)
		if (ork_extent_holds(job, &job->extents[i], iova, bytes))
			return true;
	return false;
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

/**
 * ork_job_queue() - hand over a job whose fence has been published
 * @job: the job; from now on it waits for what it depends on, then for a core, and ends
 *
 * The caller keeps its own reference.
 *
 * Context: process. Afterwards the caller calls ork_dispatch_finish().
 */
void ork_job_queue(struct ork_job *job)
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a job waits for before it is dispatched.
 *
 * Jobs wait here, each for itself, and can be taken back at any time, whatever they wait for: else
 * neither a close nor an unbind would have a bound.
 */

#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/sort.h>

#include "ork_dependency.h"
#include "ork_fence.h"
#include "ork_gem.h"
#include "ork_job.h"

static enum dma_resv_usage ork_job_bo_usage(const struct ork_job_bo *job_bo)
{
	return dma_resv_usage_rw(job_bo->write);
}

static u32 ork_dependencies_count(const struct ork_job *job)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	u32 i, count = 0;

	for (i = 0; i < job->num_bos; i++)
		dma_resv_for_each_fence(&cursor, job->bos[i].bo->base.base.resv,
					ork_job_bo_usage(&job->bos[i]), fence)
			count++;
	return count;
}

static void ork_dependency_add(struct ork_job *job, struct dma_fence *fence, bool input)
{
	job->dependencies[job->num_dependencies++] = (struct ork_dependency) {
		.fence = dma_fence_get(fence),
		.job = job,
		.input = input,
	};
}

/*
 * What a job reads it needs from those who write it; everybody else it only comes after. What has
 * ended before the submit is no reason to wait, nor to fail: the caller could know.
 */
static void ork_dependencies_add_implicit(struct ork_job *job)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	u32 i;

	for (i = 0; i < job->num_bos; i++) {
		struct ork_job_bo *job_bo = &job->bos[i];

		dma_resv_for_each_fence(&cursor, job_bo->bo->base.base.resv,
					ork_job_bo_usage(job_bo), fence) {
			bool written = dma_resv_iter_usage(&cursor) <= DMA_RESV_USAGE_WRITE;

			if (!dma_fence_is_signaled(fence))
				ork_dependency_add(job, fence, job_bo->read && written);
		}
	}
}

static int ork_compare_dependencies(const void *a, const void *b)
{
	const struct ork_dependency *left = a, *right = b;

	return left->fence < right->fence ? -1 : left->fence > right->fence;
}

/* A job's objects often carry the same few fences. */
static void ork_dependencies_unite(struct ork_job *job)
{
	struct ork_dependency *all = job->dependencies;
	u32 i, unique = 0;

	sort(all, job->num_dependencies, sizeof(*all), ork_compare_dependencies, NULL);
	for (i = 0; i < job->num_dependencies; i++) {
		if (unique && all[unique - 1].fence == all[i].fence) {
			all[unique - 1].input |= all[i].input;
			dma_fence_put(all[i].fence);
		} else {
			all[unique++] = all[i];
		}
	}
	job->num_dependencies = unique;
}

/**
 * ork_dependencies_reserve() - make room for what a job waits for
 * @job: a job whose objects' reservations are locked, until ork_dependencies_collect()
 * @count: fences that it will wait for, apart from those that its objects have now
 * @implicit: it also waits for these
 *
 * Return: 0 or -ENOMEM.
 */
int ork_dependencies_reserve(struct ork_job *job, u32 count, bool implicit)
{
	u32 most = count + (implicit ? ork_dependencies_count(job) : 0);

	if (!most)
		return 0;
	job->dependencies = kvmalloc_array(most, sizeof(*job->dependencies), GFP_KERNEL);
	return job->dependencies ? 0 : -ENOMEM;
}

/**
 * ork_dependencies_collect() - find out what a job waits for
 * @job: a job with room for it
 * @fences: what the caller names; the job needs all of it
 * @count: how many
 * @implicit: it also waits for who uses its objects
 */
void ork_dependencies_collect(struct ork_job *job, struct dma_fence **fences, u32 count,
			      bool implicit)
{
	u32 i;

	for (i = 0; i < count; i++)
		ork_dependency_add(job, fences[i], true);
	if (implicit)
		ork_dependencies_add_implicit(job);
	ork_dependencies_unite(job);
	for (i = 0; i < job->num_dependencies; i++)
		INIT_LIST_HEAD(&job->dependencies[i].cb.node);
}

/* In any context, with the fence's lock held. */
static void ork_dependency_met(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct ork_job *job = container_of(cb, struct ork_dependency, cb)->job;

	if (atomic_dec_and_test(&job->unmet))
		ork_job_ready(job);
}

/**
 * ork_dependencies_arm() - wait
 * @job: the job; ork_job_ready() is called for it as soon as everything that it waits for has
 *	signalled, perhaps from here
 */
void ork_dependencies_arm(struct ork_job *job)
{
	u32 i;

	/* One more than there are, so that none of them is the last until all are armed. */
	atomic_set(&job->unmet, job->num_dependencies + 1);
	for (i = 0; i < job->num_dependencies; i++)
		if (dma_fence_add_callback(job->dependencies[i].fence, &job->dependencies[i].cb,
					   ork_dependency_met))
			atomic_dec(&job->unmet);
	if (atomic_dec_and_test(&job->unmet))
		ork_job_ready(job);
}

/**
 * ork_dependencies_failed() - whether something is missing that a job needs
 * @job: a job whose wait is over
 *
 * Return: true if one of its inputs ended with an error.
 */
bool ork_dependencies_failed(const struct ork_job *job)
{
	u32 i;

	for (i = 0; i < job->num_dependencies; i++)
		if (job->dependencies[i].input && ork_fence_error(job->dependencies[i].fence))
			return true;
	return false;
}

/**
 * ork_dependencies_put() - wait no more
 * @job: the job
 *
 * No callback runs when this returns.
 */
void ork_dependencies_put(struct ork_job *job)
{
	u32 i;

	for (i = 0; i < job->num_dependencies; i++) {
		struct ork_dependency *dependency = &job->dependencies[i];

		dma_fence_remove_callback(dependency->fence, &dependency->cb);
		dma_fence_put(dependency->fence);
	}
	kvfree(job->dependencies);
}

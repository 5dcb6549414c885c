/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_LAUNCH_H__
#define __ORK_LAUNCH_H__

#include <linux/ww_mutex.h>

struct dma_fence;
struct drm_gem_object;
struct ork_file;
struct ork_job;

/**
 * struct ork_launch - jobs that are complete, on their way to the cores
 * @ofile: whose they are
 * @jobs: the jobs
 * @num_jobs: how many
 * @in_fences: what all of them need
 * @num_in_fences: how many
 * @implicit: they also wait for who uses their objects
 * @in_order: the jobs before them in @jobs included
 * @attach: gives the fences to whom they were promised, before the first job is queued; or NULL
 * @bos: the objects of all jobs, each once; like all below ork_launch_run()'s own
 * @uses: how many jobs use each
 * @num_bos: of both
 * @ctx: of the locked reservations
 */
struct ork_launch {
	struct ork_file *ofile;
	struct ork_job **jobs;
	u32 num_jobs;
	struct dma_fence **in_fences;
	u32 num_in_fences;
	bool implicit;
	bool in_order;
	void (*attach)(struct ork_launch *launch);

	struct drm_gem_object **bos;
	u32 *uses;
	u32 num_bos;
	struct ww_acquire_ctx ctx;
};

int ork_launch_run(struct ork_launch *launch);

#endif

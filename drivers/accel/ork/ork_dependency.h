/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_DEPENDENCY_H__
#define __ORK_DEPENDENCY_H__

#include <linux/dma-fence.h>

struct ork_job;

/**
 * struct ork_dependency - a fence that a job waits for
 * @fence: the fence; referenced
 * @job: who waits
 * @cb: tells that the fence has signalled
 * @input: the job needs what is behind the fence, and does not run if that failed; else it only
 *	comes after it
 */
struct ork_dependency {
	struct dma_fence *fence;
	struct ork_job *job;
	struct dma_fence_cb cb;
	bool input;
};

int ork_dependencies_reserve(struct ork_job *job, u32 count, bool implicit);
void ork_dependencies_collect(struct ork_job *job, struct dma_fence **fences, u32 count,
			      bool implicit);
void ork_dependencies_arm(struct ork_job *job);
bool ork_dependencies_failed(const struct ork_job *job);
void ork_dependencies_put(struct ork_job *job);

#endif

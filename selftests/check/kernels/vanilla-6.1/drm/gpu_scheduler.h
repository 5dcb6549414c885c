/* SPDX-License-Identifier: MIT */
/*
 * Stands before the header of Debian's 6.1 and makes it that of Linux 6.1.0: a scheduler's arguments
 * are given one by one.
 */
#ifndef ORK_VANILLA_GPU_SCHEDULER_H
#define ORK_VANILLA_GPU_SCHEDULER_H

#define drm_sched_init		stock_drm_sched_init
#define drm_sched_init_args	stock_drm_sched_init_args
#include_next <drm/gpu_scheduler.h>
#undef drm_sched_init
#undef drm_sched_init_args

int drm_sched_init(struct drm_gpu_scheduler *sched, const struct drm_sched_backend_ops *ops,
		   unsigned int hw_submission, unsigned int hang_limit, long timeout,
		   struct workqueue_struct *timeout_wq, atomic_t *score, const char *name,
		   struct device *dev);

#endif

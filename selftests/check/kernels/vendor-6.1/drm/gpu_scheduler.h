/* SPDX-License-Identifier: MIT */
/*
 * Stands before the header of Debian's 6.1 and makes it that of the vendor's kernel: the scheduler of
 * 6.12, with credits and work queues, taken back into 6.1.
 */
#ifndef ORK_VENDOR_GPU_SCHEDULER_H
#define ORK_VENDOR_GPU_SCHEDULER_H

#define drm_sched_init		stock_drm_sched_init
#define drm_sched_init_args	stock_drm_sched_init_args
#define drm_sched_job_init	stock_drm_sched_job_init
#define DRM_SCHED_PRIORITY_MIN	DRM_SCHED_PRIORITY_LOW
#include_next <drm/gpu_scheduler.h>
#undef drm_sched_init
#undef drm_sched_init_args
#undef drm_sched_job_init
#undef DRM_SCHED_PRIORITY_MIN

int drm_sched_init(struct drm_gpu_scheduler *sched, const struct drm_sched_backend_ops *ops,
		   struct workqueue_struct *submit_wq, u32 num_rqs, u32 credit_limit,
		   unsigned int hang_limit, long timeout, struct workqueue_struct *timeout_wq,
		   atomic_t *score, const char *name, struct device *dev);
int drm_sched_job_init(struct drm_sched_job *job, struct drm_sched_entity *entity, u32 credits,
		       void *owner);

#endif

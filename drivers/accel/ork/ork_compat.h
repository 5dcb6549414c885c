/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels, in one place. Written for Debian's 6.1, whose scheduler has the
 * argument structure of
 * 6.15 without submit_wq and num_rqs.
 */
#ifndef __ORK_COMPAT_H__
#define __ORK_COMPAT_H__

#include <linux/iommu.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/gpu_scheduler.h>

static inline struct iommu_domain *ork_compat_domain_alloc(struct device *dev)
{
	return iommu_domain_alloc(dev->bus);
}

static inline int ork_compat_iommu_map(struct iommu_domain *domain, unsigned long iova,
				       phys_addr_t paddr, size_t size, int prot)
{
	return iommu_map(domain, iova, paddr, size, prot);
}

#define ORK_COMPAT_PRIORITY_LOW		DRM_SCHED_PRIORITY_MIN

static inline int ork_compat_sched_init(struct drm_gpu_scheduler *sched,
					const struct drm_sched_backend_ops *ops,
					unsigned int credits, struct device *dev)
{
	struct drm_sched_init_args args = {
		.ops = ops,
		.credit_limit = credits,
		.timeout = MAX_SCHEDULE_TIMEOUT,
		.name = "ork",
		.dev = dev,
	};

	return drm_sched_init(sched, &args);
}

static inline int ork_compat_job_init(struct drm_sched_job *job, struct drm_sched_entity *entity,
				      void *owner)
{
	return drm_sched_job_init(job, entity, owner);
}

/*
 * Newer kernels have one folder for all minors, and drm_debugfs_add_files(): no minor of an
 * accelerator calls drm_driver.debugfs_init.
 */
#define ork_compat_debugfs_file	drm_info_list

static inline void ork_compat_debugfs_add(struct drm_device *drm,
					  const struct ork_compat_debugfs_file *files, int count)
{
	drm_debugfs_create_files(files, count, drm->primary->debugfs_root, drm->primary);
	drm_debugfs_create_files(files, count, drm->render->debugfs_root, drm->render);
}

#endif

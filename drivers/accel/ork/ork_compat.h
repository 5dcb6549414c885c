/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels, in one place.
 *
 * Version numbers lie, since distributions and vendors take later interfaces into earlier kernels.
 * So each interface is probed for when the module is built: ork_probe.c has the forms that are
 * known, and ork_config.h defines the one that the kernel has.
 */
#ifndef __ORK_COMPAT_H__
#define __ORK_COMPAT_H__

#include <linux/atomic.h>
#include <linux/dma-fence-array.h>
#include <linux/fs.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/platform_device.h>
#include <linux/seq_file.h>
#include <linux/workqueue.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#if IS_ENABLED(CONFIG_DRM_ACCEL)
#include <drm/drm_accel.h>
#endif

#include "ork_config.h"

/* --- unit tests --------------------------------------------------------------- */

/* Of a function that only unit tests may call too. Some kernels have no kunit/visibility.h yet. */
#if IS_ENABLED(CONFIG_KUNIT)
#define VISIBLE_IF_KUNIT
#else
#define VISIBLE_IF_KUNIT		static
#endif

/* --- the device and its driver ------------------------------------------------ */

/* What a client opens: an accel node where there are any, else a render node. */
#if IS_ENABLED(CONFIG_DRM_ACCEL)
#define ORK_COMPAT_NODE			DRIVER_COMPUTE_ACCEL
#define ORK_COMPAT_FOPS			DRM_ACCEL_FOPS
#else
#define ORK_COMPAT_NODE			DRIVER_RENDER
#define ORK_COMPAT_FOPS			DRM_GEM_FOPS
#endif

/* An initializer of struct drm_driver, with its comma; kernels that have a date want one. */
#ifdef ORK_DRIVER_DATE
#define ORK_COMPAT_DATE(text)		.date = text,
#else
#define ORK_COMPAT_DATE(text)
#endif

/* What a platform driver's remove returns, and its last statement's operand. */
#ifdef ORK_REMOVE_INT
#define ORK_COMPAT_REMOVE		int
#define ORK_COMPAT_REMOVED		0
#else
#define ORK_COMPAT_REMOVE		void
#define ORK_COMPAT_REMOVED
#endif

/* Later kernels warn about queues that do not say so. */
#ifdef ORK_WQ_PERCPU
#define ORK_COMPAT_WQ_PERCPU		WQ_PERCPU
#else
#define ORK_COMPAT_WQ_PERCPU		0
#endif

/* --- address spaces ----------------------------------------------------------- */

/**
 * ork_compat_domain_alloc() - page tables with nothing mapped
 * @dev: a device behind one of the IOMMUs that they will be attached to
 *
 * Return: the domain, or an ERR_PTR().
 */
static inline struct iommu_domain *ork_compat_domain_alloc(struct device *dev)
{
#ifdef ORK_IOMMU_DOMAIN_OF_DEVICE
	return iommu_paging_domain_alloc(dev);
#else
	return iommu_domain_alloc(dev->bus) ?: ERR_PTR(-ENOMEM);
#endif
}

/**
 * ork_compat_iommu_map() - map a range, all of it or nothing
 * @domain: the page tables
 * @iova: where
 * @paddr: what
 * @size: in bytes
 * @prot: IOMMU_*
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
static inline int ork_compat_iommu_map(struct iommu_domain *domain, unsigned long iova,
				       phys_addr_t paddr, size_t size, int prot)
{
#ifdef ORK_IOMMU_MAP_GFP
	return iommu_map(domain, iova, paddr, size, prot, GFP_KERNEL);
#else
	return iommu_map(domain, iova, paddr, size, prot);
#endif
}

/* --- mappings ----------------------------------------------------------------- */

/**
 * ork_compat_vm_flags_set() - set flags of a mapping that is being made
 * @vma: the mapping
 * @flags: VM_*
 */
static inline void ork_compat_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
#ifdef ORK_VM_FLAGS_SET
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/* --- open files --------------------------------------------------------------- */

/**
 * ork_compat_client_id() - a number that no other open file has
 * @file: the file; to be asked once
 *
 * Return: the number.
 */
static inline u64 ork_compat_client_id(const struct drm_file *file)
{
#ifdef ORK_FILE_CLIENT_ID
	return file->client_id;
#else
	static atomic64_t clients;

	return atomic64_inc_return(&clients);
#endif
}

/* --- fdinfo ------------------------------------------------------------------- */

/*
 * Where struct drm_driver has a show_fdinfo, drm_show_fdinfo() prints the first two lines and calls
 * it. The first of these is an initializer for struct drm_driver, with its comma.
 */
#ifdef ORK_DRIVER_SHOW_FDINFO
#define ORK_COMPAT_DRIVER_SHOW_FDINFO(function)	.show_fdinfo = function,
#else
#define ORK_COMPAT_DRIVER_SHOW_FDINFO(function)
#endif

/**
 * ork_compat_show_fdinfo() - the show_fdinfo of the device's struct file_operations
 * @m: where to
 * @f: an open file of the device
 * @client: number of the client, where the file has none
 * @show: prints what the driver knows, the one of ORK_COMPAT_DRIVER_SHOW_FDINFO()
 */
static inline void ork_compat_show_fdinfo(struct seq_file *m, struct file *f, u64 client,
					  void (*show)(struct drm_printer *p,
						       struct drm_file *file))
{
#ifdef ORK_DRIVER_SHOW_FDINFO
	drm_show_fdinfo(m, f);
#else
	struct drm_printer p = drm_seq_file_printer(m);
	struct drm_file *file = f->private_data;

	drm_printf(&p, "drm-driver:\t%s\n", file->minor->dev->driver->name);
	drm_printf(&p, "drm-client-id:\t%llu\n", client);
	show(&p, file);
#endif
}

/* --- fences ------------------------------------------------------------------- */

/**
 * ork_compat_fence_array() - one fence that signals when all of several have
 * @count: how many
 * @fences: from kmalloc(); it and their references are the array's from now on
 *
 * Return: the array, or NULL; then @fences is still the caller's.
 */
static inline struct dma_fence_array *ork_compat_fence_array(unsigned int count,
							     struct dma_fence **fences)
{
#ifdef ORK_FENCE_ARRAY_ANY
	return dma_fence_array_create(count, fences, dma_fence_context_alloc(1), 1, false);
#else
	return dma_fence_array_create(count, fences, dma_fence_context_alloc(1), 1);
#endif
}

/**
 * ork_compat_fence_ops() - whose fence it is
 * @fence: the fence
 *
 * Later kernels take the operations away from a signalled fence, under RCU, unless they have a
 * release.
 *
 * Return: its operations, to be compared and no more.
 */
static inline const struct dma_fence_ops *ork_compat_fence_ops(struct dma_fence *fence)
{
	return (const struct dma_fence_ops __force *)READ_ONCE(fence->ops);
}

/* --- debugfs ------------------------------------------------------------------ */

/*
 * Where files can be added to a device, they go to one folder for all of its minors. The minor of
 * an accelerator does not call drm_driver.debugfs_init, so they are added to the registered device
 * in either form.
 */
#ifdef ORK_DEBUGFS_ADD_FILES
#define ork_compat_debugfs_file		drm_debugfs_info
#else
#define ork_compat_debugfs_file		drm_info_list
#endif

/**
 * ork_compat_debugfs_device() - whose file is read
 * @m: a file that ork_compat_debugfs_add() made
 *
 * Return: the device.
 */
static inline struct drm_device *ork_compat_debugfs_device(struct seq_file *m)
{
#ifdef ORK_DEBUGFS_ADD_FILES
	struct drm_debugfs_entry *entry = m->private;

	return entry->dev;
#else
	struct drm_info_node *node = m->private;

	return node->minor->dev;
#endif
}

/**
 * ork_compat_debugfs_root() - the device's folder
 * @drm: the device, registered
 *
 * Return: the folder; that of its first minor where the device has none of its own.
 */
static inline struct dentry *ork_compat_debugfs_root(struct drm_device *drm)
{
#ifdef ORK_DEVICE_DEBUGFS_ROOT
	return drm->debugfs_root;
#else
	return drm->primary->debugfs_root;
#endif
}

/**
 * ork_compat_debugfs_add() - make files that live as long as the device is registered
 * @drm: the device, registered
 * @files: the files
 * @count: how many
 */
static inline void ork_compat_debugfs_add(struct drm_device *drm,
					  const struct ork_compat_debugfs_file *files, int count)
{
#ifdef ORK_DEBUGFS_ADD_FILES
	drm_debugfs_add_files(drm, files, count);
#else
	drm_debugfs_create_files(files, count, drm->primary->debugfs_root, drm->primary);
	drm_debugfs_create_files(files, count, drm->render->debugfs_root, drm->render);
#endif
}

#endif

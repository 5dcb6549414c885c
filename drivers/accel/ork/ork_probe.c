// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which form of each interface does this kernel have?
 *
 * This is no part of the module. ork_probe.sh compiles it for every form below, one at a time, with
 * that form's macro defined; of each interface exactly one form must compile, and ork_config.h
 * then defines its macro. "Not there" is a form too: it declares what is missing itself, in the
 * same place, and fails to compile where the kernel has it. So a form that fails for another
 * reason than the one it is written for stops the build, and is not taken for an answer.
 */

#include <linux/dma-fence-array.h>
#include <linux/iommu.h>
#include <linux/platform_device.h>
#include <linux/workqueue.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

/* interface: dma_fence_array_create */
#if defined(ORK_FENCE_ARRAY_ANY)
struct dma_fence_array *probe(struct dma_fence **fences)
{
	return dma_fence_array_create(1, fences, 1, 1, false);
}
#elif defined(ORK_FENCE_ARRAY_ALL)
struct dma_fence_array *probe(struct dma_fence **fences)
{
	return dma_fence_array_create(1, fences, 1, 1);
}
#endif

/* interface: iommu_paging_domain_alloc */
#if defined(ORK_IOMMU_DOMAIN_OF_DEVICE)
struct iommu_domain *probe(struct device *dev)
{
	return iommu_paging_domain_alloc(dev);
}
#elif defined(ORK_IOMMU_DOMAIN_OF_BUS)
int iommu_paging_domain_alloc;
struct iommu_domain *probe(struct device *dev)
{
	return iommu_domain_alloc(dev->bus);
}
#endif

/* interface: iommu_map */
#if defined(ORK_IOMMU_MAP_PLAIN)
int probe(struct iommu_domain *domain)
{
	return iommu_map(domain, 0UL, 0, 0, IOMMU_READ);
}
#elif defined(ORK_IOMMU_MAP_GFP)
int probe(struct iommu_domain *domain)
{
	return iommu_map(domain, 0UL, 0, 0, IOMMU_READ, GFP_KERNEL);
}
#endif

/* interface: platform_driver.remove */
#if defined(ORK_REMOVE_INT)
int remove(struct platform_device *pdev);
struct platform_driver probe = { .remove = remove };
#elif defined(ORK_REMOVE_VOID)
void remove(struct platform_device *pdev);
struct platform_driver probe = { .remove = remove };
#endif

/* interface: drm_driver.date */
#if defined(ORK_DRIVER_DATE)
const struct drm_driver probe = { .date = "" };
#elif defined(ORK_DRIVER_NO_DATE)
struct probe {
	struct drm_driver;
	int date;
};
#endif

/* interface: WQ_PERCPU */
#if defined(ORK_WQ_PERCPU)
unsigned int probe = WQ_PERCPU;
#elif defined(ORK_WQ_NO_PERCPU)
int WQ_PERCPU;
#endif

/* interface: drm_debugfs_add_files */
#if defined(ORK_DEBUGFS_ADD_FILES)
void probe(struct drm_device *drm, const struct drm_debugfs_info *files)
{
	drm_debugfs_add_files(drm, files, 1);
}
#elif defined(ORK_DEBUGFS_CREATE_FILES)
int drm_debugfs_add_files;
#endif

/* interface: drm_device.debugfs_root */
#if defined(ORK_DEVICE_DEBUGFS_ROOT)
struct dentry *probe(const struct drm_device *drm)
{
	return drm->debugfs_root;
}
#elif defined(ORK_DEVICE_NO_DEBUGFS_ROOT)
struct probe {
	struct drm_device;
	int debugfs_root;
};
#endif

/* interface: drm_file.client_id */
#if defined(ORK_FILE_CLIENT_ID)
u64 probe(const struct drm_file *file)
{
	return file->client_id;
}
#elif defined(ORK_FILE_NO_CLIENT_ID)
struct probe {
	struct drm_file;
	int client_id;
};
#endif

/* interface: drm_driver.show_fdinfo */
#if defined(ORK_DRIVER_SHOW_FDINFO)
void show(struct drm_printer *p, struct drm_file *file);
const struct drm_driver probe = { .show_fdinfo = show };
#elif defined(ORK_DRIVER_NO_SHOW_FDINFO)
struct probe {
	struct drm_driver;
	int show_fdinfo;
};
#endif

/* interface: vm_flags_set */
#if defined(ORK_VM_FLAGS_SET)
void probe(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTEXPAND);
}
#elif defined(ORK_VM_FLAGS_PLAIN)
int vm_flags_set;
void probe(struct vm_area_struct *vma)
{
	vma->vm_flags |= VM_DONTEXPAND;
}
#endif

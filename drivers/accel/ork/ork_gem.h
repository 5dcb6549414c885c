/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_GEM_H__
#define __ORK_GEM_H__

#include <linux/list.h>
#include <linux/mutex.h>

#include <drm/drm_gem_shmem_helper.h>

/* Set in an address of ork_bo.dma whose page begins a DMA mapping of its own. */
#define ORK_BO_SEGMENT		1UL

/**
 * struct ork_bo - a buffer object
 * @base: pages and CPU mappings
 * @flags: DRM_ORK_BO_*; fixed at creation
 * @sgt: the pages as mapped for the device; owned by @base
 * @dma: DMA address of every page, so that a sync finds its pages without a walk; with
 *	ORK_BO_SEGMENT
 * @lock: guards @mappings, and the tables of those who have attached to the object's dma-buf; taken
 *	after the object's reservation, before a vm->lock
 * @import: in ork->imports, if it is an import; under ork->imports_lock
 * @mappings: the object's struct ork_mapping, one for each address space
 */
struct ork_bo {
	struct drm_gem_shmem_object base;
	u32 flags;
	struct sg_table *sgt;
	dma_addr_t *dma;
	struct mutex lock;	/* after the reservation, before a vm->lock */
	struct list_head import;
	struct list_head mappings;
};

#define to_ork_bo(obj)	container_of(to_drm_gem_shmem_obj(obj), struct ork_bo, base)

extern const struct drm_gem_object_funcs ork_gem_funcs;

void ork_gem_init(struct ork_bo *bo);
struct drm_gem_object *ork_gem_create_object(struct drm_device *drm, size_t size);
dma_addr_t *ork_gem_index(struct sg_table *sgt, size_t size);
int ork_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int ork_bo_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif

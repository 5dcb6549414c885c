// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffer objects: pages that are pinned, mapped for the device and in its owner's address space
 * for as long as they have a handle.
 */

#include <linux/dma-buf.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "ork_compat.h"
#include "ork_device.h"
#include "ork_gem.h"
#include "ork_live.h"
#include "ork_prime.h"

static void ork_gem_free(struct drm_gem_object *obj)
{
	struct ork_bo *bo = to_ork_bo(obj);

	ork_prime_forget(bo);
	kvfree(bo->dma);
	mutex_destroy(&bo->lock);
	drm_gem_shmem_free(&bo->base);
	ork_live_dec(ORK_LIVE_BOS);
}

/* Every handle of a file holds a reference on the object's mapping in the file's address space. */
static int ork_gem_open(struct drm_gem_object *obj, struct drm_file *file)
{
	struct ork_file *ofile = file->driver_priv;

	return PTR_ERR_OR_ZERO(ork_mapping_get(ofile->vm, to_ork_bo(obj)));
}

static void ork_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct ork_file *ofile = file->driver_priv;
	struct ork_mapping *mapping = ork_mapping_find(ofile->vm, to_ork_bo(obj));

	ork_mapping_put(mapping);	/* what was just found */
	ork_mapping_put(mapping);	/* the handle's */
}

/*
 * An imported object is mapped by its exporter, which need not know that a mapping of a DRM file
 * may not be expanded. The attachment lasts as long as the object, obj->dma_buf only as long as
 * handles do, and one may be closed at this moment.
 */
static int ork_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret;

	if (!obj->import_attach)
		return drm_gem_shmem_object_mmap(obj, vma);

	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;
	ork_compat_vm_flags_set(vma, VM_DONTEXPAND);
	ret = dma_buf_mmap(obj->import_attach->dmabuf, vma, 0);
	if (!ret)
		drm_gem_object_put(obj);	/* the mapping's; it holds the dma-buf now */
	return ret;
}

const struct drm_gem_object_funcs ork_gem_funcs = {
	.free = ork_gem_free,
	.open = ork_gem_open,
	.close = ork_gem_close,
	.print_info = drm_gem_shmem_object_print_info,
	.export = ork_prime_export,
	.get_sg_table = drm_gem_shmem_object_get_sg_table,
	.mmap = ork_gem_mmap,
	.vm_ops = &drm_gem_shmem_vm_ops,
};

/**
 * ork_gem_init() - what every object begins with
 * @bo: the object, zeroed
 */
void ork_gem_init(struct ork_bo *bo)
{
	mutex_init(&bo->lock);
	INIT_LIST_HEAD(&bo->import);
	INIT_LIST_HEAD(&bo->mappings);
	bo->base.base.funcs = &ork_gem_funcs;
}

/**
 * ork_gem_create_object() - memory for an object, for the shmem helper
 * @drm: the device
 * @size: of the object in bytes
 *
 * Return: the object, or an ERR_PTR().
 */
struct drm_gem_object *ork_gem_create_object(struct drm_device *drm, size_t size)
{
	struct ork_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	ork_gem_init(bo);
	return &bo->base.base;
}

/**
 * ork_gem_index() - the DMA address of each page of a table
 * @sgt: the table, mapped for the device
 * @size: bytes of its object, whole pages
 *
 * Return: an array as struct ork_bo.dma, to be freed with kvfree(), or an ERR_PTR(): -EINVAL if the
 * segments are not whole pages, or not as many as the object has; -ENOMEM.
 */
dma_addr_t *ork_gem_index(struct sg_table *sgt, size_t size)
{
	size_t pages = size >> PAGE_SHIFT, page = 0;
	struct scatterlist *sg;
	dma_addr_t *index;
	unsigned int i;

	index = kvmalloc_array(pages, sizeof(*index), GFP_KERNEL);
	if (!index)
		return ERR_PTR(-ENOMEM);

	for_each_sgtable_dma_sg(sgt, sg, i) {
		dma_addr_t dma = sg_dma_address(sg), end = dma + sg_dma_len(sg);
		dma_addr_t mark = ORK_BO_SEGMENT;

		if (offset_in_page(dma) || offset_in_page(end) ||
		    sg_dma_len(sg) >> PAGE_SHIFT > pages - page)
			goto err_free;
		for (; dma < end; dma += PAGE_SIZE, mark = 0)
			index[page++] = dma | mark;
	}
	if (page == pages)
		return index;
err_free:
	kvfree(index);
	return ERR_PTR(-EINVAL);
}

static struct ork_bo *ork_bo_create(struct drm_device *drm, size_t size, u32 flags)
{
	struct drm_gem_shmem_object *shmem;
	dma_addr_t *index;
	struct ork_bo *bo;

	/* Without memory for an inode shmem has no "space". Here that is what addresses lack. */
	shmem = drm_gem_shmem_create(drm, size);
	if (IS_ERR(shmem))
		return PTR_ERR(shmem) == -ENOSPC ? ERR_PTR(-ENOMEM) : ERR_CAST(shmem);

	/* From here on ork_gem_free() ends it; until here the helper did. */
	ork_live_inc(ORK_LIVE_BOS);
	bo = container_of(shmem, struct ork_bo, base);
	bo->flags = flags;
	shmem->map_wc = flags & DRM_ORK_BO_WRITE_COMBINE;

	/* Mapping cleans all pages: the zeros reach memory before the device can read it. */
	bo->sgt = drm_gem_shmem_get_pages_sgt(shmem);
	index = IS_ERR(bo->sgt) ? ERR_CAST(bo->sgt) : ork_gem_index(bo->sgt, shmem->base.size);
	if (IS_ERR(index)) {
		drm_gem_object_put(&shmem->base);
		return ERR_CAST(index);
	}
	bo->dma = index;
	return bo;
}

/*
 * Rounds *size up. What can fit neither the address space nor the machine is refused before memory
 * is sought for it.
 */
static int ork_bo_check_size(struct ork_file *ofile, u64 *size)
{
	struct drm_device *drm = &ofile->ork->drm;

	if (!*size) {
		drm_dbg(drm, "object of 0 bytes\n");
		return -EINVAL;
	}
	if (*size > ORK_IOVA_END || !ork_vm_has_room(ofile->vm, PAGE_ALIGN(*size))) {
		drm_dbg(drm, "no room for an object of %llu bytes\n", *size);
		return -ENOSPC;
	}
	*size = PAGE_ALIGN(*size);
	if (*size >> PAGE_SHIFT >= totalram_pages()) {
		drm_dbg(drm, "an object of %llu bytes, the machine has %lu pages\n", *size,
			totalram_pages());
		return -ENOMEM;
	}
	return 0;
}

/**
 * ork_bo_create_ioctl() - DRM_IOCTL_ORK_BO_CREATE
 * @drm: the device
 * @data: &struct drm_ork_bo_create
 * @file: the caller's file
 *
 * Return: 0 or a negative errno.
 */
int ork_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_file *ofile = file->driver_priv;
	struct drm_ork_bo_create *args = data;
	struct ork_mapping *mapping;
	struct ork_bo *bo;
	u64 size = args->size;
	int ret, idx;

	if (args->flags & ~DRM_ORK_BO_WRITE_COMBINE) {
		drm_dbg(drm, "object with flags %#x, known are %#x\n", args->flags,
			DRM_ORK_BO_WRITE_COMBINE);
		return -EOPNOTSUPP;
	}
	ret = ork_bo_check_size(ofile, &size);
	if (ret)
		return ret;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;

	bo = ork_bo_create(drm, size, args->flags);
	if (IS_ERR(bo)) {
		ret = PTR_ERR(bo);
		goto out_exit;
	}
	/* Mapped before the handle exists: from then on another thread may guess and use it. */
	mapping = ork_mapping_get(ofile->vm, bo);
	if (IS_ERR(mapping)) {
		ret = PTR_ERR(mapping);
		goto out_put_bo;
	}
	ret = drm_gem_handle_create(file, &bo->base.base, &args->handle);
	if (!ret) {
		args->size = size;
		args->iova = mapping->node.start;
		args->mmap_offset = drm_vma_node_offset_addr(&bo->base.base.vma_node);
	}
	ork_mapping_put(mapping);
out_put_bo:
	drm_gem_object_put(&bo->base.base);
out_exit:
	drm_dev_exit(idx);
	return ret;
}

/**
 * ork_bo_info_ioctl() - DRM_IOCTL_ORK_BO_INFO
 * @drm: the device
 * @data: &struct drm_ork_bo_info
 * @file: the caller's file
 *
 * Return: 0 or a negative errno.
 */
int ork_bo_info_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_file *ofile = file->driver_priv;
	struct drm_ork_bo_info *args = data;
	struct drm_gem_object *obj;
	struct ork_mapping *mapping;
	int ret = -ENOENT;

	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj) {
		drm_dbg(drm, "info: no object %u\n", args->handle);
		return -ENOENT;
	}

	mapping = ork_mapping_find(ofile->vm, to_ork_bo(obj));
	if (mapping) {
		args->flags = to_ork_bo(obj)->flags;
		args->size = obj->size;
		args->iova = mapping->node.start;
		args->mmap_offset = drm_vma_node_offset_addr(&obj->vma_node);
		ork_mapping_put(mapping);
		ret = 0;
	}
	drm_gem_object_put(obj);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects shared as dma-bufs, with other processes and other devices.
 *
 * The stock operations of an exported object leave caches alone: they are for memory that needs no
 * more. Those here maintain all of the object for whoever brackets his access with
 * DMA_BUF_IOCTL_SYNC, which names no range.
 *
 * An imported object is maintained, extent by extent like any other, through the mapping that its
 * exporter made for this device. That takes memory which the CPU has mapped: what lies behind a
 * peer's registers is refused at import, and not passed over at every sync.
 *
 * An exported object lives as long as its dma-buf, and so do the module and the DRM device, which
 * may have lost its cores by then. The device that pages are mapped for is the module's own: it is
 * there until the last of them is unmapped.
 */

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/ioport.h>
#include <linux/module.h>

#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "ork_device.h"
#include "ork_gem.h"
#include "ork_live.h"
#include "ork_prime.h"
#include "ork_sync.h"

/* --- exported objects ----------------------------------------------------------- */

/*
 * The stock map neither cleans nor fills bounce buffers, and the importer's device would read old
 * data.
 */
static struct sg_table *ork_prime_map(struct dma_buf_attachment *attach,
				      enum dma_data_direction dir)
{
	struct ork_bo *bo = to_ork_bo(attach->dmabuf->priv);
	struct sg_table *sgt = ERR_PTR(-EBUSY);

	mutex_lock(&bo->lock);
	if (!attach->priv)
		sgt = drm_gem_map_dma_buf(attach, dir);
	if (!IS_ERR(sgt)) {
		dma_sync_sgtable_for_device(attach->dev, sgt, dir);
		attach->priv = sgt;
	}
	mutex_unlock(&bo->lock);
	return sgt;
}

/* The stock unmap maintains nothing, as it must: that could drop what the CPU is writing. */
static void ork_prime_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			    enum dma_data_direction dir)
{
	struct ork_bo *bo = to_ork_bo(attach->dmabuf->priv);

	mutex_lock(&bo->lock);
	attach->priv = NULL;
	mutex_unlock(&bo->lock);
	drm_gem_unmap_dma_buf(attach, sgt, dir);
}

static int ork_prime_mmap(struct dma_buf *dma_buf, struct vm_area_struct *vma)
{
	return drm_gem_prime_mmap(dma_buf->priv, vma);
}

static void ork_prime_sync_attachments(struct dma_buf *dma_buf, enum dma_data_direction dir,
				       void (*sync)(struct device *dev, struct sg_table *sgt,
						    enum dma_data_direction dir))
{
	struct ork_bo *bo = to_ork_bo(dma_buf->priv);
	struct dma_buf_attachment *attach;

	dma_resv_lock(dma_buf->resv, NULL);
	mutex_lock(&bo->lock);
	list_for_each_entry(attach, &dma_buf->attachments, node)
		if (attach->priv)
			sync(attach->dev, attach->priv, dir);
	mutex_unlock(&bo->lock);
	dma_resv_unlock(dma_buf->resv);
}

static void ork_prime_clean(struct ork_bo *bo)
{
	if (ork_bo_ordered_only(bo))
		wmb();	/* before the register that starts a job */
	else
		ork_bo_maintain(bo, 0, bo->base.base.size, false);
}

/* What somebody wrote and has yet to name as an extent must not be dropped: it is cleaned first. */
static void ork_prime_invalidate(struct ork_bo *bo)
{
	if (ork_bo_ordered_only(bo)) {
		rmb();	/* after the register that told the job's end */
		return;
	}
	ork_bo_maintain(bo, 0, bo->base.base.size, false);
	ork_bo_maintain(bo, 0, bo->base.base.size, true);
}

/*
 * The core waits for the object's fences only after this, too late: what a device writes behind the
 * invalidation would not be seen.
 */
static int ork_prime_begin_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	bool write = dir != DMA_FROM_DEVICE;
	long ret;

	ret = dma_resv_wait_timeout(dma_buf->resv, dma_resv_usage_rw(write), true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;

	/* Attachments last: what comes out of their bounce buffers lies in the CPU's caches. */
	if (dir != DMA_TO_DEVICE)
		ork_prime_invalidate(to_ork_bo(dma_buf->priv));
	ork_prime_sync_attachments(dma_buf, dir, dma_sync_sgtable_for_cpu);
	return 0;
}

static int ork_prime_end_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	ork_prime_sync_attachments(dma_buf, dir, dma_sync_sgtable_for_device);
	if (dir != DMA_FROM_DEVICE)
		ork_prime_clean(to_ork_bo(dma_buf->priv));
	return 0;
}

/* There is nothing to pin: an object has its pages as long as it lives. */
static const struct dma_buf_ops ork_prime_ops = {
	.map_dma_buf = ork_prime_map,
	.unmap_dma_buf = ork_prime_unmap,
	.release = drm_gem_dmabuf_release,
	.mmap = ork_prime_mmap,
	.begin_cpu_access = ork_prime_begin_cpu_access,
	.end_cpu_access = ork_prime_end_cpu_access,
};

/**
 * ork_prime_export() - an object's dma-buf
 * @obj: the object
 * @flags: DRM_CLOEXEC, DRM_RDWR
 *
 * Return: the dma-buf, which holds object, device and module, or an ERR_PTR().
 */
struct dma_buf *ork_prime_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &ork_prime_ops,
		.size = obj->size,
		.flags = flags,
		.resv = obj->resv,
		.priv = obj,
	};

	return drm_gem_dmabuf_export(obj->dev, &info);
}

/* --- imported objects ----------------------------------------------------------- */

/*
 * By address: the pages of an exporter's table are not for importers to look at. This device's DMA
 * addresses are physical ones, since it has no IOMMU.
 */
static bool ork_prime_is_memory(struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		if (region_intersects(sg_dma_address(sg), sg_dma_len(sg), IORESOURCE_SYSTEM_RAM,
				      IORES_DESC_NONE) != REGION_INTERSECTS)
			return false;
	return true;
}

/**
 * ork_prime_import_sg_table() - an object for the memory of a foreign dma-buf
 * @drm: the device
 * @attach: its attachment to the dma-buf; the caller's if this fails
 * @sgt: what the exporter mapped for it; the caller's if this fails
 *
 * Return: the object, or an ERR_PTR(): -EOPNOTSUPP if there is no memory behind it, -EINVAL if that
 * is not whole pages or not as many as the dma-buf says, -ENOMEM.
 */
struct drm_gem_object *ork_prime_import_sg_table(struct drm_device *drm,
						 struct dma_buf_attachment *attach,
						 struct sg_table *sgt)
{
	struct drm_gem_object *obj;
	struct ork_bo *bo;
	dma_addr_t *index;

	if (!ork_prime_is_memory(sgt)) {
		drm_dbg(drm, "a dma-buf of %s without memory\n", attach->dmabuf->exp_name);
		return ERR_PTR(-EOPNOTSUPP);
	}
	index = ork_gem_index(sgt, attach->dmabuf->size);
	if (IS_ERR(index)) {
		drm_dbg(drm, "segments of %s for %zu bytes: %ld\n", attach->dmabuf->exp_name,
			attach->dmabuf->size, PTR_ERR(index));
		return ERR_CAST(index);
	}

	obj = drm_gem_shmem_prime_import_sg_table(drm, attach, sgt);
	if (IS_ERR(obj)) {
		kvfree(index);
		return obj;
	}
	ork_live_inc(ORK_LIVE_BOS);
	bo = to_ork_bo(obj);
	bo->sgt = sgt;
	bo->dma = index;
	/* As a new object is: what the CPU left in its caches must not be evicted over a result. */
	ork_prime_clean(bo);
	return obj;
}

/* Referenced, or NULL: one that is being freed does not count. */
static struct drm_gem_object *ork_prime_find_locked(struct ork_device *ork,
						    const struct dma_buf *dma_buf)
{
	struct ork_bo *bo;

	lockdep_assert_held(&ork->imports_lock);
	list_for_each_entry(bo, &ork->imports, import) {
		struct drm_gem_object *obj = &bo->base.base;

		if (obj->import_attach->dmabuf == dma_buf && kref_get_unless_zero(&obj->refcount))
			return obj;
	}
	return NULL;
}

/*
 * All files share the object of a dma-buf: its memory is mapped for the device once, so that every
 * sync finds the one mapping that it is for.
 */
static struct drm_gem_object *ork_prime_import_once(struct drm_device *drm,
						    struct dma_buf *dma_buf)
{
	struct ork_device *ork = to_ork_device(drm);
	struct drm_gem_object *obj;

	mutex_lock(&ork->imports_lock);
	obj = ork_prime_find_locked(ork, dma_buf);
	if (!obj) {
		obj = drm_gem_prime_import(drm, dma_buf);
		if (!IS_ERR(obj))
			list_add(&to_ork_bo(obj)->import, &ork->imports);
	}
	mutex_unlock(&ork->imports_lock);
	return obj;
}

/**
 * ork_prime_forget() - an object is about to be freed
 * @bo: the object, an import or not
 *
 * Context: process.
 */
void ork_prime_forget(struct ork_bo *bo)
{
	struct ork_device *ork = to_ork_device(bo->base.base.dev);

	if (!bo->base.base.import_attach)
		return;
	/* The exporter unmaps the memory, and may drop what the CPU's caches alone hold of it. */
	ork_prime_clean(bo);
	mutex_lock(&ork->imports_lock);
	list_del_init(&bo->import);
	mutex_unlock(&ork->imports_lock);
}

/**
 * ork_prime_own() - the object behind a dma-buf, if it is one of a device's own
 * @drm: the device
 * @dma_buf: the dma-buf
 *
 * Return: the object, referenced, or NULL.
 */
struct drm_gem_object *ork_prime_own(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj = dma_buf->priv;

	if (dma_buf->ops != &ork_prime_ops || obj->dev != drm)
		return NULL;
	drm_gem_object_get(obj);
	return obj;
}

/**
 * ork_prime_import() - the object behind a dma-buf
 * @drm: the device
 * @dma_buf: the dma-buf
 *
 * A dma-buf of this device gives its own object back. One of an earlier binding, whose device has
 * lost its cores, is as foreign as another driver's.
 *
 * Return: the object, referenced, or an ERR_PTR().
 */
struct drm_gem_object *ork_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj = ork_prime_own(drm, dma_buf);

	if (obj)
		return obj;
	if (!dma_buf->size || offset_in_page(dma_buf->size)) {
		drm_dbg(drm, "a dma-buf of %zu bytes\n", dma_buf->size);
		return ERR_PTR(-EINVAL);
	}
	if (dma_buf->size > ORK_IOVA_END) {
		drm_dbg(drm, "no room for a dma-buf of %zu bytes\n", dma_buf->size);
		return ERR_PTR(-ENOSPC);
	}
	return ork_prime_import_once(drm, dma_buf);
}

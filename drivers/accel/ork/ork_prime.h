/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_PRIME_H__
#define __ORK_PRIME_H__

struct dma_buf;
struct dma_buf_attachment;
struct drm_device;
struct drm_gem_object;
struct ork_bo;
struct sg_table;

struct dma_buf *ork_prime_export(struct drm_gem_object *obj, int flags);
void ork_prime_forget(struct ork_bo *bo);
struct drm_gem_object *ork_prime_own(struct drm_device *drm, struct dma_buf *dma_buf);
struct drm_gem_object *ork_prime_import(struct drm_device *drm, struct dma_buf *dma_buf);
struct drm_gem_object *ork_prime_import_sg_table(struct drm_device *drm,
						 struct dma_buf_attachment *attach,
						 struct sg_table *sgt);

#endif

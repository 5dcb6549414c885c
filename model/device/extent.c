// SPDX-License-Identifier: MIT
/*
 * Arrays of the user, extents among them, and their maintenance. BO_SYNC and SUBMIT share every
 * check.
 */
#include <errno.h>
#include <string.h>

#include "device.h"

#define MAX_STRIDE	4096

/* --- arrays ------------------------------------------------------------------------------- */

int array_check(const struct drm_ork_array *array, uint32_t min, uint32_t max, size_t size)
{
	if (array->count < min || array->count > max)
		return -EINVAL;
	if (!array->count)
		return 0;
	if (array->stride < size || array->stride % 8 || array->stride > MAX_STRIDE)
		return -EINVAL;
	return array->ptr ? 0 : -EFAULT;
}

/* No element has grown since 1.0: what is known of it is never longer than its stride. */
int array_get(const struct drm_ork_array *array, uint32_t index, void *element, size_t size)
{
	const uint8_t *from =
		(const uint8_t *)(uintptr_t)array->ptr + (uint64_t)index * array->stride;

	for (size_t i = size; i < array->stride; i++)
		if (from[i])
			return -E2BIG;
	memcpy(element, from, size);
	return 0;
}

/* --- checks ------------------------------------------------------------------------------- */

static int check_flags(uint32_t flags, uint32_t known)
{
	if (flags & ~known)
		return -EOPNOTSUPP;
	if (!(flags & ~(uint32_t)DRM_ORK_EXTENT_CPU_CLEAN))
		return -EINVAL;
	if (!(flags & DRM_ORK_EXTENT_CPU_CLEAN))
		return 0;
	if (!(flags & DRM_ORK_EXTENT_WRITE) ||
	    flags & (DRM_ORK_EXTENT_READ | DRM_ORK_EXTENT_NO_SYNC))
		return -EINVAL;
	return 0;
}

/* Bytes from the first of the first row to the last of the last. */
static int check_span(const struct drm_ork_extent *extent, uint64_t object)
{
	uint64_t end = 0;

	if (extent->rows > 1 && extent->stride < extent->length)
		return -EINVAL;
	if (extent->rows > 1 && __builtin_mul_overflow(extent->rows - 1, extent->stride, &end))
		return -EOVERFLOW;
	if (__builtin_add_overflow(end, extent->length, &end) ||
	    __builtin_add_overflow(end, extent->offset, &end))
		return -EOVERFLOW;
	return end <= object ? 0 : -EINVAL;
}

/* An object ends on a page, so that its end needs no exception. */
static int check_lines(const struct drm_ork_extent *extent)
{
	uint64_t edges = extent->offset | extent->length | (extent->rows > 1 ? extent->stride : 0);

	return edges % NPU_LINE_BYTES ? -EINVAL : 0;
}

static int check_extent(struct device *dev, const struct drm_ork_extent *extent, uint32_t known,
			struct bo **bo)
{
	int ret;

	if (extent->pad)
		return -EINVAL;
	ret = check_flags(extent->flags, known);
	if (ret)
		return ret;
	*bo = handle_get(&dev->bo_handles, extent->handle);
	if (!*bo)
		return -ENOENT;
	if (!extent->length)
		return 0;
	ret = check_span(extent, (*bo)->size);
	if (!ret && extent->flags & (DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_FROM_DEVICE))
		ret = check_lines(extent);
	return ret;
}

int extent_get(struct device *dev, const struct drm_ork_array *extents, uint32_t index,
	       uint32_t known, struct drm_ork_extent *extent, struct bo **bo)
{
	int ret = array_get(extents, index, extent, sizeof(*extent));

	return ret ? ret : check_extent(dev, extent, known, bo);
}

bool extent_holds(const struct bo *bo, const struct drm_ork_extent *extent, uint64_t iova,
		  uint64_t bytes)
{
	uint64_t at = iova - bo->iova - extent->offset;

	if (iova < bo->iova + extent->offset || !extent->length)
		return false;
	if (extent->rows > 1 && at / extent->stride < extent->rows)
		at %= extent->stride;
	return bytes <= extent->length && at <= extent->length - bytes;
}

/* --- maintenance -------------------------------------------------------------------------- */

typedef void (*maintain_fn)(struct npu_cache *cache, uint64_t pa);

/* The whole lines that hold a byte of the range. Returns their bytes. */
static uint64_t maintain_range(struct device *dev, uint64_t pa, uint64_t length,
			       maintain_fn maintain)
{
	uint64_t first = pa - pa % NPU_LINE_BYTES, at;

	for (at = first; at < pa + length; at += NPU_LINE_BYTES)
		maintain(dev->cache, at);
	return at - first;
}

/*
 * Rows with less than a line between them have no line between them: each line of theirs is
 * maintained once.
 */
static uint64_t maintain(struct device *dev, const struct bo *bo,
			 const struct drm_ork_extent *extent, maintain_fn maintain)
{
	uint64_t pa = bo_pa(bo) + extent->offset, bytes = 0;
	uint32_t rows = extent->rows > 1 ? extent->rows : 1;

	if (!extent->length || dev->mode == NPU_CACHE_COHERENT ||
	    bo->flags & DRM_ORK_BO_WRITE_COMBINE)
		return 0;
	if (rows > 1 && extent->stride - extent->length < NPU_LINE_BYTES)
		return maintain_range(dev, pa, (rows - 1) * extent->stride + extent->length,
				      maintain);
	for (uint32_t i = 0; i < rows; i++)
		bytes += maintain_range(dev, pa + i * extent->stride, extent->length, maintain);
	return bytes;
}

void extent_clean(struct device *dev, const struct bo *bo, const struct drm_ork_extent *extent)
{
	dev->counters.bytes_cleaned += maintain(dev, bo, extent, npu_cache_clean);
}

void extent_invalidate(struct device *dev, const struct bo *bo, const struct drm_ork_extent *extent)
{
	dev->counters.bytes_invalidated += maintain(dev, bo, extent, npu_cache_invalidate);
}

/* --- BO_SYNC ------------------------------------------------------------------------------ */

int bo_sync(void *opaque, const struct drm_ork_bo_sync *sync)
{
	struct device *dev = opaque;
	struct drm_ork_extent extent;
	struct bo *bo;
	int ret;

	ret = array_check(&sync->extents, 0, DRM_ORK_MAX_EXTENTS, sizeof(extent));
	for (uint32_t i = 0; !ret && i < sync->extents.count; i++)
		ret = extent_get(dev, &sync->extents, i, EXTENT_SYNC_FLAGS, &extent, &bo);
	if (ret)
		return ret;

	for (uint32_t i = 0; i < sync->extents.count; i++) {
		extent_get(dev, &sync->extents, i, EXTENT_SYNC_FLAGS, &extent, &bo);
		if (extent.flags & DRM_ORK_EXTENT_TO_DEVICE)
			extent_clean(dev, bo, &extent);
		if (extent.flags & DRM_ORK_EXTENT_FROM_DEVICE)
			extent_invalidate(dev, bo, &extent);
	}
	dev->counters.sync_calls++;
	return 0;
}

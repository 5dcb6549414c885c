// SPDX-License-Identifier: GPL-2.0-only
/*
 * Extents: which bytes of which object, checked once, and the cache maintenance of exactly those.
 */

#include <linux/cache.h>
#include <linux/dma-mapping.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sizes.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "ork_array.h"
#include "ork_compat.h"
#include "ork_device.h"
#include "ork_gem.h"
#include "ork_sync.h"
#include "ork_trace.h"

#define ORK_EXTENT_SYNC_FLAGS	(DRM_ORK_EXTENT_TO_DEVICE | DRM_ORK_EXTENT_FROM_DEVICE)
/* The device writes the range: a line in it may not be shared with the CPU. */
#define ORK_EXTENT_DEVICE_WRITES (DRM_ORK_EXTENT_FROM_DEVICE | DRM_ORK_EXTENT_WRITE)

/* Longest run that is maintained without giving others the processor. */
#define ORK_SYNC_RUN		SZ_256K

/**
 * ork_cache_line() - granule of cache maintenance
 *
 * Return: bytes.
 */
u32 ork_cache_line(void)
{
	return cache_line_size();
}

/**
 * ork_extent_check() - whether an extent can be maintained
 * @extent: what the user gave; its flags are known to fit the ioctl
 * @size: of the object in bytes
 * @line: bytes of a cache line
 *
 * Return: 0, -EOVERFLOW if sums wrap, -EINVAL if it does not lie in the object or is not aligned
 * as it has to be.
 */
int ork_extent_check(const struct drm_ork_extent *extent, u64 size, u32 line)
{
	bool several = extent->rows > 1;
	u64 last = 0, end;

	if (!extent->length)
		return 0;
	if (several && extent->stride < extent->length)
		return -EINVAL;
	if (several && check_mul_overflow(extent->stride, (u64)extent->rows - 1, &last))
		return -EOVERFLOW;
	if (check_add_overflow(extent->offset, last, &last) ||
	    check_add_overflow(last, extent->length, &end))
		return -EOVERFLOW;
	if (end > size)
		return -EINVAL;

	if (!(extent->flags & ORK_EXTENT_DEVICE_WRITES))
		return 0;
	if (extent->offset % line || (several && extent->stride % line))
		return -EINVAL;
	/* An only row may end with the object. */
	return extent->length % line && (several || end != size) ? -EINVAL : 0;
}

VISIBLE_IF_KUNIT int ork_extent_check_flags(const struct drm_ork_extent *extent, u32 known)
{
	const u32 flags = extent->flags;

	if (extent->pad)
		return -EINVAL;
	if (flags & ~known)
		return -EOPNOTSUPP;
	if (!(flags & (ORK_EXTENT_SYNC_FLAGS | DRM_ORK_EXTENT_READ | DRM_ORK_EXTENT_WRITE |
		       DRM_ORK_EXTENT_NO_SYNC)))
		return -EINVAL;
	if ((flags & DRM_ORK_EXTENT_CPU_CLEAN) &&
	    (flags & ~DRM_ORK_EXTENT_CPU_CLEAN) != DRM_ORK_EXTENT_WRITE)
		return -EINVAL;
	return 0;
}

static int ork_extent_get(struct ork_extent *extent, struct drm_file *file,
			  const struct drm_ork_extent *args, u32 known)
{
	struct drm_gem_object *obj;
	int ret;

	ret = ork_extent_check_flags(args, known);
	if (ret)
		return ret;
	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;
	ret = ork_extent_check(args, obj->size, ork_cache_line());
	if (ret) {
		drm_gem_object_put(obj);
		return ret;
	}

	*extent = (struct ork_extent) {
		.bo = to_ork_bo(obj),
		.flags = args->flags,
		.rows = max(args->rows, 1U),
		.offset = args->offset,
		.length = args->length,
		.stride = args->stride,
	};
	return 0;
}

/**
 * ork_extents_put() - drop extents and their references on objects
 * @extents: from ork_extents_get(), or NULL
 * @count: how many
 */
void ork_extents_put(struct ork_extent *extents, u32 count)
{
	while (extents && count--)
		drm_gem_object_put(&extents[count].bo->base.base);
	kvfree(extents);
}

/**
 * ork_extents_get() - check extents and look up their objects
 * @ofile: the caller
 * @file: the caller's handles
 * @args: what the user gave
 * @count: how many, at least 1
 * @known: DRM_ORK_EXTENT_* flags that the ioctl has
 *
 * Return: the extents, each with a reference on its object, or an ERR_PTR().
 */
struct ork_extent *ork_extents_get(struct ork_file *ofile, struct drm_file *file,
				   const struct drm_ork_extent *args, u32 count, u32 known)
{
	struct ork_extent *extents = kvcalloc(count, sizeof(*extents), GFP_KERNEL_ACCOUNT);
	u32 i;
	int ret;

	if (!extents)
		return ERR_PTR(-ENOMEM);

	for (i = 0; i < count; i++) {
		ret = ork_extent_get(&extents[i], file, &args[i], known);
		if (ret) {
			drm_dbg(&ofile->ork->drm,
				"extent %u: handle %u flags %#x offset %llu length %llu stride %llu rows %u: %d\n",
				i, args[i].handle, args[i].flags, args[i].offset, args[i].length,
				args[i].stride, args[i].rows, ret);
			ork_extents_put(extents, i);
			return ERR_PTR(ret);
		}
	}
	return extents;
}

/* Bytes from @offset on that are contiguous for the device and belong to one DMA mapping. */
VISIBLE_IF_KUNIT size_t ork_bo_run(const struct ork_bo *bo, u64 offset, u64 length)
{
	size_t page = offset >> PAGE_SHIFT;
	size_t run = PAGE_SIZE - offset_in_page(offset);

	while (run < length && run < ORK_SYNC_RUN &&
	       bo->dma[page + 1] == (bo->dma[page] & PAGE_MASK) + PAGE_SIZE) {
		page++;
		run += PAGE_SIZE;
	}
	return min_t(u64, run, length);
}

/**
 * ork_bo_maintain() - clean or invalidate bytes of an object
 * @bo: the object
 * @offset: first byte, at the begin of a cache line
 * @length: bytes, up to the end of a line
 * @invalidate: drop what the CPU has of them; else write it back
 *
 * Context: process; takes time in proportion to @length.
 * Return: the calls that it took, one for each run of contiguous bytes.
 */
u32 ork_bo_maintain(struct ork_bo *bo, u64 offset, u64 length, bool invalidate)
{
	struct device *dev = bo->base.base.dev->dev;
	u32 calls;

	for (calls = 0; length; calls++) {
		dma_addr_t dma = (bo->dma[offset >> PAGE_SHIFT] & PAGE_MASK) +
				 offset_in_page(offset);
		size_t run = ork_bo_run(bo, offset, length);

		if (invalidate)
			dma_sync_single_for_cpu(dev, dma, run, DMA_FROM_DEVICE);
		else
			dma_sync_single_for_device(dev, dma, run, DMA_BIDIRECTIONAL);
		offset += run;
		length -= run;
		cond_resched();
	}
	return calls;
}

/*
 * How many ranges of lines an extent is. Rows with no whole line between them are one range: no
 * line is maintained twice.
 */
VISIBLE_IF_KUNIT u32 ork_extent_ranges(const struct ork_extent *extent, u32 line)
{
	if (!extent->length)
		return 0;
	return extent->stride - extent->length < line ? 1 : extent->rows;
}

/* One of these ranges: rounded out to lines, but not past the end of the object. */
VISIBLE_IF_KUNIT struct ork_lines ork_extent_lines(const struct ork_extent *extent, u64 size,
						   u32 line, u32 range)
{
	u32 rows = ork_extent_ranges(extent, line) == 1 ? extent->rows : 1;
	u64 first = extent->offset + extent->stride * range;
	u64 end = first + extent->stride * (rows - 1) + extent->length;

	return (struct ork_lines) {
		.begin = round_down(first, (u64)line),
		.end = min(round_up(end, (u64)line), size),
	};
}

/* Maintains an extent, rounded out to lines. Returns the bytes of those lines. */
static u64 ork_extent_maintain(const struct ork_extent *extent, bool invalidate)
{
	u32 line = ork_cache_line(), ranges = ork_extent_ranges(extent, line);
	u64 size = extent->bo->base.base.size, bytes = 0;
	u32 i, calls = 0;

	if (!ranges)
		return 0;
	for (i = 0; i < ranges; i++) {
		struct ork_lines lines = ork_extent_lines(extent, size, line, i);

		calls += ork_bo_maintain(extent->bo, lines.begin, lines.end - lines.begin,
					 invalidate);
		bytes += lines.end - lines.begin;
	}
	trace_ork_sync(bytes, invalidate, calls);
	return bytes;
}

/**
 * ork_bo_ordered_only() - whether there is nothing to maintain
 * @bo: the object
 *
 * Return: true if the CPU's writes to the object are in memory once they are ordered.
 */
bool ork_bo_ordered_only(const struct ork_bo *bo)
{
	return to_ork_device(bo->base.base.dev)->coherent || (bo->flags & DRM_ORK_BO_WRITE_COMBINE);
}

/**
 * ork_extent_clean() - what the CPU wrote to an extent goes to memory
 * @ofile: whose counters count it
 * @extent: the extent
 *
 * Context: process; takes time in proportion to the bytes of the extent.
 */
void ork_extent_clean(struct ork_file *ofile, const struct ork_extent *extent)
{
	if (ork_bo_ordered_only(extent->bo))
		wmb();	/* before the register that starts a job */
	else
		atomic64_add(ork_extent_maintain(extent, false), &ofile->stats.bytes_cleaned);
}

/**
 * ork_extent_invalidate() - what the device wrote to an extent becomes visible to the CPU
 * @ofile: whose counters count it
 * @extent: the extent, on whole lines
 *
 * Context: process; takes time in proportion to the bytes of the extent.
 */
void ork_extent_invalidate(struct ork_file *ofile, const struct ork_extent *extent)
{
	if (ork_bo_ordered_only(extent->bo))
		rmb();	/* after the register that told the job's end */
	else
		atomic64_add(ork_extent_maintain(extent, true), &ofile->stats.bytes_invalidated);
}

/**
 * ork_bo_sync_ioctl() - DRM_IOCTL_ORK_BO_SYNC
 * @drm: the device
 * @data: &struct drm_ork_bo_sync
 * @file: the caller's file
 *
 * Return: 0 or a negative errno.
 */
int ork_bo_sync_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_file *ofile = file->driver_priv;
	struct drm_ork_bo_sync *args = data;
	struct drm_ork_extent *user;
	struct ork_extent *extents;
	u32 i, count = args->extents.count;

	user = ork_array_copy(drm, "extents", &args->extents, sizeof(*user), DRM_ORK_MAX_EXTENTS);
	if (IS_ERR_OR_NULL(user))
		return PTR_ERR_OR_ZERO(user);
	extents = ork_extents_get(ofile, file, user, count, ORK_EXTENT_SYNC_FLAGS);
	kvfree(user);
	if (IS_ERR(extents))
		return PTR_ERR(extents);

	for (i = 0; i < count; i++) {
		if (extents[i].flags & DRM_ORK_EXTENT_TO_DEVICE)
			ork_extent_clean(ofile, &extents[i]);
		if (extents[i].flags & DRM_ORK_EXTENT_FROM_DEVICE)
			ork_extent_invalidate(ofile, &extents[i]);
	}
	ork_extents_put(extents, count);
	atomic64_inc(&ofile->stats.sync_calls);
	return 0;
}

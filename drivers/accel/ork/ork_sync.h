/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_SYNC_H__
#define __ORK_SYNC_H__

#include <linux/types.h>

struct drm_device;
struct drm_file;
struct drm_ork_extent;
struct ork_bo;
struct ork_file;

/**
 * struct ork_extent - a checked &struct drm_ork_extent
 * @bo: the object; whoever holds the extent holds a reference on it
 * @flags: DRM_ORK_EXTENT_*
 * @offset: first byte
 * @length: bytes of a row
 * @stride: bytes from row to row
 * @rows: at least 1
 */
struct ork_extent {
	struct ork_bo *bo;
	u32 flags;
	u32 rows;
	u64 offset;
	u64 length;
	u64 stride;
};

/**
 * struct ork_lines - bytes of an object: whole cache lines, but for the object's end
 * @begin: first byte
 * @end: the byte behind the last one
 */
struct ork_lines {
	u64 begin;
	u64 end;
};

int ork_extent_check(const struct drm_ork_extent *extent, u64 size, u32 line);
struct ork_extent *ork_extents_get(struct ork_file *ofile, struct drm_file *file,
				   const struct drm_ork_extent *args, u32 count, u32 known);
void ork_extents_put(struct ork_extent *extents, u32 count);
void ork_extent_clean(struct ork_file *ofile, const struct ork_extent *extent);
void ork_extent_invalidate(struct ork_file *ofile, const struct ork_extent *extent);
bool ork_bo_ordered_only(const struct ork_bo *bo);
u32 ork_bo_maintain(struct ork_bo *bo, u64 offset, u64 length, bool invalidate);
u32 ork_cache_line(void);

int ork_bo_sync_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#if IS_ENABLED(CONFIG_KUNIT)
int ork_extent_check_flags(const struct drm_ork_extent *args, u32 known);
u32 ork_extent_ranges(const struct ork_extent *extent, u32 line);
struct ork_lines ork_extent_lines(const struct ork_extent *extent, u64 size, u32 line, u32 range);
size_t ork_bo_run(const struct ork_bo *bo, u64 offset, u64 length);
#endif

#endif

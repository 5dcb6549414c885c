/* SPDX-License-Identifier: MIT */
/*
 * A device of the ork driver, made of the NPU model, in the process that uses it.
 *
 * It is driver and board in one: a CPU's side that checks, maps, maintains and starts, as the
 * kernel's module does, and behind npu.h three cores that see DRAM only. Jobs run within the
 * submit, so every fence has signalled when it returns. One thread at a time uses a device.
 */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <drm/ork_drm.h>
#include <drm/ork_regs.h>

#include "../npu/npu.h"

#define PAGE_BYTES	4096u
/*
 * Page 0 ends chains and is no object's; behind every object lies a page that is mapped to nothing.
 */
#define IOVA_START	PAGE_BYTES
#define IOVA_SPACE	(1ull << 32)
#define IOVA_END	(IOVA_SPACE - PAGE_BYTES - 1)

/* --- handles (handles.c): numbers from 1, the lowest free first --------------------------- */

struct handles {
	void **objects;
	uint32_t room;
};

/* 0 if there is no memory. */
uint32_t handle_add(struct handles *handles, void *object);
/* NULL if @handle is nobody's. */
void *handle_get(const struct handles *handles, uint32_t handle);
void *handle_remove(struct handles *handles, uint32_t handle);

/* --- the device --------------------------------------------------------------------------- */

struct bo {
	struct bo *next;		/* by IOVA */
	uint32_t handle;
	uint32_t flags;
	uint64_t iova, size;
};

struct fence {
	int status;
	uint32_t cores;				/* that ran its jobs, as a mask */
	uint64_t busy_ns, begin_ns, end_ns;
};

struct device_core {
	struct npu_core *npu;
	int index;
	bool attached;			/* the IOMMU translates with the device's tables */
	bool irq;
	struct drm_ork_counters counters;
};

struct device {
	enum npu_cache_mode mode;
	FILE *log;			/* or NULL */
	uint8_t *ram;
	struct npu_cache *cache;
	struct bo *bos;			/* by IOVA */
	uint64_t bos_end;		/* no object ever reached beyond this IOVA */
	struct handles bo_handles, syncobj_handles;
	struct device_core cores[ORK_MAX_CORES];
	int next_core;
	struct drm_ork_counters counters;
};

/* --- address space and objects (space.c) -------------------------------------------------- */

/* RAM with empty tables; -ENOMEM. */
int space_init(struct device *dev, uint64_t seed);
void space_fini(struct device *dev);
/* What the IOMMU's DTE_ADDR is to hold. */
uint32_t space_dte_addr(void);

uint64_t bo_pa(const struct bo *bo);
int bo_create(void *dev, struct drm_ork_bo_create *create, void **data);
void bo_destroy(void *dev, uint32_t handle, void *data, uint64_t size);

/* --- extents (extent.c) ------------------------------------------------------------------- */

/*
 * Checks @array of elements that had @size bytes in version 1.0; array_get() then gives one of
 * them, or -E2BIG.
 */
int array_check(const struct drm_ork_array *array, uint32_t min, uint32_t max, size_t size);
int array_get(const struct drm_ork_array *array, uint32_t index, void *element, size_t size);

/* Element @index of @extents, checked for BO_SYNC or SUBMIT, whose flags @known are. */
#define EXTENT_SYNC_FLAGS	(DRM_ORK_EXTENT_TO_DEVICE | DRM_ORK_EXTENT_FROM_DEVICE)
#define EXTENT_SUBMIT_FLAGS \
	(DRM_ORK_EXTENT_READ | DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_NO_SYNC | \
	 DRM_ORK_EXTENT_CPU_CLEAN)
int extent_get(struct device *dev, const struct drm_ork_array *extents, uint32_t index,
	       uint32_t known, struct drm_ork_extent *extent, struct bo **bo);

/* Clean or invalidate the lines of a checked extent, and count them. */
void extent_clean(struct device *dev, const struct bo *bo, const struct drm_ork_extent *extent);
void extent_invalidate(struct device *dev, const struct bo *bo,
		       const struct drm_ork_extent *extent);

/* Whether @bytes at @iova lie in one row of the extent. */
bool extent_holds(const struct bo *bo, const struct drm_ork_extent *extent, uint64_t iova,
		  uint64_t bytes);

int bo_sync(void *dev, const struct drm_ork_bo_sync *sync);

/* --- fences (syncobj.c) ------------------------------------------------------------------- */

int syncobj_create(void *dev, uint32_t *handle);
void syncobj_destroy(void *dev, uint32_t handle);
/* The fence of a syncobj at @point, 0: its latest. -ENOENT, -EINVAL without one. */
int syncobj_find(const struct device *dev, uint32_t handle, uint64_t point, struct fence *fence);
/* @handle exists. */
void syncobj_signal(struct device *dev, uint32_t handle, uint64_t point, struct fence fence);
int syncobj_wait(void *dev, struct drm_ork_wait *wait);

/* --- jobs (submit.c, run.c) --------------------------------------------------------------- */

int submit(void *dev, const struct drm_ork_submit *submit);

int cores_init(struct device *dev);
void cores_fini(struct device *dev);
uint32_t cores_hw_version(struct device *dev);
/* Translations that an IOMMU may still hold are no longer valid. */
void cores_zap(struct device *dev);
/* Runs the tasks of a checked job. */
struct fence core_run(struct device *dev, struct device_core *core, const struct drm_ork_job *job);

#endif

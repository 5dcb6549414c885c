/* SPDX-License-Identifier: MIT */
/*
 * What a device behind libork does. Two exist: the kernel's driver (device_kernel.c), and the NPU model in this process
 * (libork-model.so.0, loaded by name). Semantics and errors are those of the ioctls in drm/ork_drm.h.
 */
#ifndef ORK_BACKEND_H
#define ORK_BACKEND_H

#include <stdint.h>
#include <drm/ork_drm.h>

/* Raised with every change of this structure, and of those that its functions fill in. */
#define ORK_BACKEND_VERSION	3

struct ork_backend {
	uint32_t version;		/* ORK_BACKEND_VERSION */
	void (*close)(void *dev);
	int (*query)(void *dev, struct drm_ork_query *query);
	int (*bo_create)(void *dev, struct drm_ork_bo_create *create, void **data);
	void (*bo_destroy)(void *dev, uint32_t handle, void *data, uint64_t size);
	int (*bo_sync)(void *dev, const struct drm_ork_bo_sync *sync);
	int (*submit)(void *dev, const struct drm_ork_submit *submit);
	int (*wait)(void *dev, struct drm_ork_wait *wait);
	int (*syncobj_create)(void *dev, uint32_t *handle);
	void (*syncobj_destroy)(void *dev, uint32_t handle);
	/* The fence that a syncobj has now, as a sync_file; NULL: there are no such files here. */
	int (*syncobj_export)(void *dev, uint32_t handle, int *fd);
};

/*
 * The model's entry point, found by this name. $ORK_MODEL is a comma-separated list of
 * cache=strict|evict|coherent (default strict), seed=N and log=PATH (- for standard error).
 * -EINVAL for anything else in it.
 */
#define ORK_MODEL_ENTRY		"ork_model_open"
typedef int (*ork_model_open_fn)(const struct ork_backend **backend, void **dev);

#endif

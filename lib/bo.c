// SPDX-License-Identifier: MIT
/* Buffer objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ork_private.h"

int ork_bo_create(struct ork *ork, uint64_t size, uint32_t flags, struct ork_bo **out)
{
	struct drm_ork_bo_create create = { .size = size, .flags = flags };
	struct ork_bo *bo;
	int ret;

	*out = NULL;
	if (!size)
		return ork_fail(ork, -EINVAL, "object of 0 bytes; at least 1");
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		return ork_fail(ork, -ENOMEM, "no memory for an object's handle");
	ret = ork->backend->bo_create(ork->dev, &create, &bo->data);
	if (ret) {
		free(bo);
		return ork_fail(ork, ret, "object of %llu bytes, flags 0x%x: %s", (unsigned long long)size, flags,
				strerror(-ret));
	}
	bo->ork = ork;
	bo->size = create.size;
	bo->handle = create.handle;
	bo->iova = (uint32_t)create.iova;
	*out = bo;
	return 0;
}

void ork_bo_destroy(struct ork_bo *bo)
{
	if (!bo)
		return;
	bo->ork->backend->bo_destroy(bo->ork->dev, bo->handle, bo->data, bo->size);
	free(bo);
}

void *ork_bo_data(const struct ork_bo *bo)
{
	return bo->data;
}

uint64_t ork_bo_size(const struct ork_bo *bo)
{
	return bo->size;
}

uint32_t ork_bo_handle(const struct ork_bo *bo)
{
	return bo->handle;
}

uint32_t ork_bo_iova(const struct ork_bo *bo)
{
	return bo->iova;
}

int ork_bo_sync(struct ork_bo *bo, uint32_t flags, uint64_t offset, uint64_t length)
{
	struct drm_ork_extent extent = {
		.handle = bo->handle, .flags = flags, .offset = offset, .length = length,
	};
	struct drm_ork_bo_sync sync = {
		.extents = { .ptr = (uintptr_t)&extent, .count = 1, .stride = sizeof(extent) },
	};
	int ret = bo->ork->backend->bo_sync(bo->ork->dev, &sync);

	if (ret)
		ork_fail(bo->ork, ret, "sync of %llu bytes at %llu, flags 0x%x, in an object of %llu: %s",
			 (unsigned long long)length, (unsigned long long)offset, flags,
			 (unsigned long long)bo->size, strerror(-ret));
	return ret;
}

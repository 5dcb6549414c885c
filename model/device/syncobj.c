// SPDX-License-Identifier: MIT
/* Syncobjs. A fence in one has always signalled: what is kept is how its jobs ended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

/* Points of a timeline that are kept. One that was dropped is answered by the next later one. */
#define POINTS	64

struct point {
	uint64_t point;		/* 0: binary */
	struct fence fence;
};

struct syncobj {
	uint32_t count;
	struct point points[POINTS];	/* ascending */
};

int syncobj_create(void *opaque, uint32_t *handle)
{
	struct device *dev = opaque;
	struct syncobj *syncobj = calloc(1, sizeof(*syncobj));

	if (!syncobj)
		return -ENOMEM;
	*handle = handle_add(&dev->syncobj_handles, syncobj);
	if (!*handle) {
		free(syncobj);
		return -ENOMEM;
	}
	return 0;
}

void syncobj_destroy(void *opaque, uint32_t handle)
{
	struct device *dev = opaque;

	free(handle_remove(&dev->syncobj_handles, handle));
}

int syncobj_find(const struct device *dev, uint32_t handle, uint64_t point, struct fence *fence)
{
	const struct syncobj *syncobj = handle_get(&dev->syncobj_handles, handle);
	uint32_t i;

	if (!syncobj)
		return -ENOENT;
	if (!syncobj->count)
		return -EINVAL;
	i = point ? 0 : syncobj->count - 1;
	while (i < syncobj->count && syncobj->points[i].point < point)
		i++;
	if (i == syncobj->count)
		return -EINVAL;
	*fence = syncobj->points[i].fence;
	return 0;
}

/*
 * A binary fence takes the place of all there is; so does a point that does not come after the
 * last.
 */
void syncobj_signal(struct device *dev, uint32_t handle, uint64_t point, struct fence fence)
{
	struct syncobj *syncobj = handle_get(&dev->syncobj_handles, handle);

	if (syncobj->count && point <= syncobj->points[syncobj->count - 1].point)
		syncobj->count = 0;
	if (syncobj->count == POINTS) {
		memmove(syncobj->points, syncobj->points + 1,
			(POINTS - 1) * sizeof(syncobj->points[0]));
		syncobj->count--;
	}
	syncobj->points[syncobj->count++] = (struct point) { .point = point, .fence = fence };
}

int syncobj_wait(void *opaque, struct drm_ork_wait *wait)
{
	struct fence fence;
	int ret;

	if (wait->flags)
		return -EOPNOTSUPP;
	ret = syncobj_find(opaque, wait->syncobj, wait->point, &fence);
	if (ret)
		return ret;
	wait->status = fence.status;
	wait->cores = fence.cores;
	wait->busy_ns = fence.busy_ns;
	wait->begin_ns = fence.begin_ns;
	wait->end_ns = fence.end_ns;
	return 0;
}

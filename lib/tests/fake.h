/* SPDX-License-Identifier: MIT */
/*
 * A device without hardware: it records what a submit names, and counts maintained bytes as the
 * uapi says.
 */
#ifndef ORK_TEST_FAKE_H
#define ORK_TEST_FAKE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ork_private.h"
#include "test.h"

#define FAKE_OBJECTS	64
#define FAKE_EXTENTS	16
#define FAKE_LINE	64

struct fake_job {
	struct drm_ork_task task;
	uint32_t tasks, extents, out_syncobj;
	struct drm_ork_extent extent[FAKE_EXTENTS];
};

struct fake {
	struct {
		void *data;
		uint64_t size;
		uint32_t iova;
	} object[FAKE_OBJECTS];
	uint32_t jobs;
	struct fake_job job[3];
	uint32_t submits, waits, queries, syncs, syncobjs;
	struct drm_ork_sync out;
	struct drm_ork_counters counters;
	uint64_t to_invalidate;
	struct drm_ork_extent synced;
	int submit_error, wait_error, sync_error, status;
	uint32_t cores;				/* that ran what is waited for, from then to then */
	uint64_t begin_ns, end_ns;
	int64_t deadline;
	bool at_once;				/* jobs end within the submit */
	void (*run)(struct fake *fake);		/* in a wait: what the hardware would do */
};

static struct fake fake;

static uint64_t fake_lines(const struct drm_ork_extent *extent)
{
	uint64_t bytes = 0, begin, end;
	uint32_t i;

	for (i = 0; extent->length && i < (extent->rows ? extent->rows : 1); i++) {
		begin = extent->offset + i * extent->stride;
		end = begin + extent->length;
		bytes += (end + FAKE_LINE - 1) / FAKE_LINE * FAKE_LINE - begin / FAKE_LINE * FAKE_LINE;
	}
	return bytes;
}

static int fake_query(void *dev, struct drm_ork_query *query)
{
	static const struct drm_ork_device_info info = {
		.soc = 3588, .num_cores = 3, .core_mask = 7, .cache_line = FAKE_LINE, .page_size = 4096,
	};
	struct fake *f = dev;

	f->queries++;
	if (query->type == DRM_ORK_QUERY_CORE && query->index > 2)
		return -EINVAL;
	if (query->type == DRM_ORK_QUERY_DEVICE)
		memcpy((void *)(uintptr_t)query->ptr, &info, sizeof(info));
	else
		memcpy((void *)(uintptr_t)query->ptr, &f->counters, sizeof(f->counters));
	return 0;
}

static int fake_bo_create(void *dev, struct drm_ork_bo_create *create, void **data)
{
	static uint32_t next_iova = 0x10000;
	struct fake *f = dev;
	uint32_t i;

	for (i = 0; f->object[i].data; i++)
		if (i + 1 == FAKE_OBJECTS)
			return -ENOSPC;
	create->size = (create->size + 4095) / 4096 * 4096;
	create->handle = i + 1;
	create->iova = next_iova;
	next_iova += (uint32_t)create->size + 4096;
	*data = f->object[i].data = calloc(1, create->size);
	f->object[i].size = create->size;
	f->object[i].iova = (uint32_t)create->iova;
	return 0;
}

static void fake_bo_destroy(void *dev, uint32_t handle, void *data, uint64_t size)
{
	struct fake *f = dev;

	CHECK(f->object[handle - 1].data == data && f->object[handle - 1].size == size, "another object");
	free(data);
	f->object[handle - 1].data = NULL;
}

static int fake_bo_sync(void *dev, const struct drm_ork_bo_sync *sync)
{
	struct fake *f = dev;

	f->syncs++;
	memcpy(&f->synced, (void *)(uintptr_t)sync->extents.ptr, sizeof(f->synced));
	if (f->synced.offset + f->synced.length > f->object[f->synced.handle - 1].size)
		return -EINVAL;
	if (f->sync_error)
		return f->sync_error;
	if (f->synced.flags & DRM_ORK_EXTENT_TO_DEVICE)
		f->counters.bytes_cleaned += fake_lines(&f->synced);
	if (f->synced.flags & DRM_ORK_EXTENT_FROM_DEVICE)
		f->counters.bytes_invalidated += fake_lines(&f->synced);
	return 0;
}

static void fake_take_job(struct fake *f, struct fake_job *to, const struct drm_ork_job *job)
{
	uint32_t i;

	to->tasks = job->tasks.count;
	memcpy(&to->task, (void *)(uintptr_t)job->tasks.ptr, sizeof(to->task));
	to->extents = job->extents.count;
	to->out_syncobj = job->out_syncobj;
	memcpy(to->extent, (void *)(uintptr_t)job->extents.ptr, to->extents * sizeof(to->extent[0]));
	for (i = 0; i < to->extents; i++) {
		uint32_t flags = to->extent[i].flags;

		if (flags & DRM_ORK_EXTENT_NO_SYNC)
			continue;
		if (!(flags & DRM_ORK_EXTENT_CPU_CLEAN))
			f->counters.bytes_cleaned += fake_lines(&to->extent[i]);
		if (flags & DRM_ORK_EXTENT_WRITE)
			f->to_invalidate += fake_lines(&to->extent[i]);
	}
}

static void fake_invalidate(struct fake *f)
{
	f->counters.bytes_invalidated += f->to_invalidate;
	f->to_invalidate = 0;
}

static int fake_submit(void *dev, const struct drm_ork_submit *submit)
{
	const struct drm_ork_job *jobs = (void *)(uintptr_t)submit->jobs.ptr;
	struct fake *f = dev;
	uint32_t i;

	f->submits++;
	f->jobs = submit->jobs.count;
	CHECK_EQUAL(submit->out_syncs.count, 1);
	memcpy(&f->out, (void *)(uintptr_t)submit->out_syncs.ptr, sizeof(f->out));
	if (f->submit_error)
		return f->submit_error;
	for (i = 0; i < f->jobs; i++)
		fake_take_job(f, &f->job[i], &jobs[i]);
	if (f->at_once)
		fake_invalidate(f);
	return 0;
}

static int fake_wait(void *dev, struct drm_ork_wait *wait)
{
	struct fake *f = dev;

	f->waits++;
	f->deadline = wait->timeout_ns;
	CHECK_EQUAL(wait->syncobj, f->out.handle);
	if (f->wait_error)
		return f->wait_error;
	if (f->run)
		f->run(f);
	fake_invalidate(f);
	wait->status = f->status;
	wait->cores = f->cores;
	wait->busy_ns = 1000;
	wait->begin_ns = f->begin_ns;
	wait->end_ns = f->end_ns;
	return 0;
}

static int fake_syncobj_create(void *dev, uint32_t *handle)
{
	((struct fake *)dev)->syncobjs++;
	*handle = 7;
	return 0;
}

static void fake_syncobj_destroy(void *dev, uint32_t handle)
{
	((struct fake *)dev)->syncobjs--;
	CHECK_EQUAL(handle, 7);
}

static const struct ork_backend fake_backend = {
	.version = ORK_BACKEND_VERSION,
	.query = fake_query,
	.bo_create = fake_bo_create,
	.bo_destroy = fake_bo_destroy,
	.bo_sync = fake_bo_sync,
	.submit = fake_submit,
	.wait = fake_wait,
	.syncobj_create = fake_syncobj_create,
	.syncobj_destroy = fake_syncobj_destroy,
};

/* A fresh device; what was made on the one before must be destroyed. */
static struct ork *fake_open(void)
{
	static struct ork ork;
	uint32_t i;

	for (i = 0; i < FAKE_OBJECTS; i++)
		CHECK(!fake.object[i].data, "object %u was left", i + 1);
	CHECK_EQUAL(fake.syncobjs, 0);
	memset(&fake, 0, sizeof(fake));
	ork = (struct ork) {
		.backend = &fake_backend, .dev = &fake,
		.info = { .num_cores = 3, .core_mask = 7, .cache_line = FAKE_LINE, .page_size = 4096 },
	};
	return &ork;
}

#endif

// SPDX-License-Identifier: MIT
/* Devices: which backend, and what it tells of itself. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ork_private.h"

#define MODEL_LIBRARY	"libork-model.so.0"

int ork_fail(struct ork *ork, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ork->error, sizeof(ork->error), format, args);
	va_end(args);
	return error;
}

uint64_t ork_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int query(struct ork *ork, uint32_t type, uint32_t index, void *answer, uint32_t size)
{
	struct drm_ork_query query = { .type = type, .index = index, .size = size, .ptr = (uintptr_t)answer };

	return ork->backend->query(ork->dev, &query);
}

/* The dynamic linker looks beside this library too, by the run path it is linked with. */
static int open_model(struct ork *ork)
{
	ork_model_open_fn open_fn;

	ork->name = strdup("model");
	if (!ork->name)
		return -ENOMEM;
	ork->model = dlopen(MODEL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!ork->model)
		return -ELIBACC;
	open_fn = (ork_model_open_fn)(uintptr_t)dlsym(ork->model, ORK_MODEL_ENTRY);
	if (!open_fn)
		return -ELIBACC;
	return open_fn(&ork->backend, &ork->dev);
}

static int open_backend(struct ork *ork, const char *device)
{
	int ret;

	if (device && !strcmp(device, "model"))
		ret = open_model(ork);
	else
		ret = ork_kernel_open(device, &ork->backend, &ork->dev, &ork->name);
	if (ret)
		return ret;
	if (ork->backend->version != ORK_BACKEND_VERSION) {
		/* Its close() cannot be relied on either: what it holds stays. */
		ork->dev = NULL;
		ork->model = NULL;
		return -EPROTO;
	}
	return query(ork, DRM_ORK_QUERY_DEVICE, 0, &ork->info, sizeof(ork->info));
}

int ork_open(const char *device, struct ork **out)
{
	const char *prof = getenv("ORK_PROF");
	struct ork *ork;
	int ret;

	*out = NULL;
	ork = calloc(1, sizeof(*ork));
	if (!ork)
		return -ENOMEM;
	ret = open_backend(ork, device ? device : getenv("ORK_DEVICE"));
	if (ret) {
		ork_close(ork);
		return ret;
	}
	if (prof && !strcmp(prof, "1")) {
		ork->print_profile = true;
		ork_profile_enable(ork, true);
	}
	*out = ork;
	return 0;
}

void ork_close(struct ork *ork)
{
	if (!ork)
		return;
	if (ork->print_profile)
		ork_profile_print(ork, stderr);
	ork_trace_stop(ork);
	if (ork->dev)
		ork->backend->close(ork->dev);
	if (ork->model)
		dlclose(ork->model);
	free(ork->name);
	free(ork);
}

const char *ork_error(const struct ork *ork)
{
	return ork->error;
}

const char *ork_name(const struct ork *ork)
{
	return ork->name;
}

const struct drm_ork_device_info *ork_info(const struct ork *ork)
{
	return &ork->info;
}

int ork_counters(struct ork *ork, int core, struct drm_ork_counters *counters)
{
	int ret;

	if (core < -1)
		return ork_fail(ork, -EINVAL, "core %d; -1 or 0..%u", core, ork->info.num_cores - 1);
	if (core == -1)
		ret = query(ork, DRM_ORK_QUERY_FILE, 0, counters, sizeof(*counters));
	else
		ret = query(ork, DRM_ORK_QUERY_CORE, (uint32_t)core, counters, sizeof(*counters));
	if (ret)
		ork_fail(ork, ret, "counters of core %d, with %u cores: %s", core, ork->info.num_cores, strerror(-ret));
	return ret;
}

int ork_syncobj_create(struct ork *ork, uint32_t *handle)
{
	int ret = ork->backend->syncobj_create(ork->dev, handle);

	return ret ? ork_fail(ork, ret, "syncobj: %s", strerror(-ret)) : 0;
}

void ork_syncobj_destroy(struct ork *ork, uint32_t handle)
{
	ork->backend->syncobj_destroy(ork->dev, handle);
}

int ork_syncobj_export(struct ork *ork, uint32_t handle, int *fd)
{
	int ret = -EOPNOTSUPP;

	*fd = -1;
	if (!ork->backend->syncobj_export)
		return ork_fail(ork, ret, "%s has no sync_files", ork->name);
	ret = ork->backend->syncobj_export(ork->dev, handle, fd);
	return ret ? ork_fail(ork, ret, "exporting syncobj %u: %s", handle, strerror(-ret)) : 0;
}

int ork_submit(struct ork *ork, const struct drm_ork_submit *submit)
{
	int ret = ork->backend->submit(ork->dev, submit);

	return ret ? ork_fail(ork, ret, "submit of %u jobs: %s", submit->jobs.count, strerror(-ret)) : 0;
}

/* An absolute time, for ever at the end of the scale; 0 only looks. */
static int64_t deadline(int64_t timeout_ns)
{
	int64_t now;

	if (timeout_ns <= 0)
		return 0;
	if (timeout_ns == INT64_MAX)
		return INT64_MAX;
	now = (int64_t)ork_now();
	return timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

static const char *status_text(int status)
{
	switch (status) {
	case -ETIMEDOUT: return "it hung: no program finished within its timeout";
	case -EFAULT: return "its address space faulted";
	case -ECANCELED: return "it was dropped";
	default: return strerror(-status);
	}
}

int ork_wait(struct ork *ork, uint32_t syncobj, uint64_t point, int64_t timeout_ns, uint64_t *busy_ns)
{
	struct drm_ork_wait wait = { .syncobj = syncobj, .point = point, .timeout_ns = deadline(timeout_ns) };
	int ret = ork->backend->wait(ork->dev, &wait);

	if (ret == -EBUSY)
		ret = -ETIME;
	if (ret)
		return ork_fail(ork, ret, "wait for syncobj %u, at most %lld ns: %s", syncobj, (long long)timeout_ns,
				strerror(-ret));
	if (busy_ns)
		*busy_ns = wait.busy_ns;
	return wait.status ? ork_fail(ork, wait.status, "job: %s", status_text(wait.status)) : 0;
}

// SPDX-License-Identifier: MIT
/* The kernel's ork driver as a backend. libdrm repeats what a signal interrupts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>
#include "ork_private.h"

#define DRIVER_NAME	"ork"
#define DRIVER_MAJOR	1
/* Nodes of one kind that are looked at; the kernel gives render nodes the minors from 128. */
#define NODES		64
#define FIRST_RENDER	128

struct kernel_device {
	int fd;
};

static int fd_of(void *dev)
{
	return ((struct kernel_device *)dev)->fd;
}

static int call(void *dev, unsigned long request, void *arg)
{
	return drmIoctl(fd_of(dev), request, arg) ? -errno : 0;
}

static void kernel_close(void *dev)
{
	close(fd_of(dev));
	free(dev);
}

static int kernel_query(void *dev, struct drm_ork_query *query)
{
	return call(dev, DRM_IOCTL_ORK_QUERY, query);
}

static void close_handle(void *dev, uint32_t handle)
{
	struct drm_gem_close gem_close = { .handle = handle };

	call(dev, DRM_IOCTL_GEM_CLOSE, &gem_close);
}

static int kernel_bo_create(void *dev, struct drm_ork_bo_create *create, void **data)
{
	int ret = call(dev, DRM_IOCTL_ORK_BO_CREATE, create);

	if (ret)
		return ret;
	*data = mmap(NULL, create->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_of(dev), (off_t)create->mmap_offset);
	if (*data == MAP_FAILED) {
		ret = -errno;
		close_handle(dev, create->handle);
	}
	return ret;
}

static void kernel_bo_destroy(void *dev, uint32_t handle, void *data, uint64_t size)
{
	munmap(data, size);
	close_handle(dev, handle);
}

static int kernel_bo_sync(void *dev, const struct drm_ork_bo_sync *sync)
{
	return call(dev, DRM_IOCTL_ORK_BO_SYNC, (void *)sync);
}

static int kernel_submit(void *dev, const struct drm_ork_submit *submit)
{
	return call(dev, DRM_IOCTL_ORK_SUBMIT, (void *)submit);
}

static int kernel_wait(void *dev, struct drm_ork_wait *wait)
{
	return call(dev, DRM_IOCTL_ORK_WAIT, wait);
}

static int kernel_syncobj_create(void *dev, uint32_t *handle)
{
	return drmSyncobjCreate(fd_of(dev), 0, handle) ? -errno : 0;
}

static void kernel_syncobj_destroy(void *dev, uint32_t handle)
{
	drmSyncobjDestroy(fd_of(dev), handle);
}

static int kernel_syncobj_export(void *dev, uint32_t handle, int *fd)
{
	return drmSyncobjExportSyncFile(fd_of(dev), handle, fd) ? -errno : 0;
}

static const struct ork_backend kernel_backend = {
	.version = ORK_BACKEND_VERSION,
	.close = kernel_close,
	.query = kernel_query,
	.bo_create = kernel_bo_create,
	.bo_destroy = kernel_bo_destroy,
	.bo_sync = kernel_bo_sync,
	.submit = kernel_submit,
	.wait = kernel_wait,
	.syncobj_create = kernel_syncobj_create,
	.syncobj_destroy = kernel_syncobj_destroy,
	.syncobj_export = kernel_syncobj_export,
};

/* 0, -ENOTSUP if @fd is another driver's or nothing of DRM's, -EPROTO. */
static int check_driver(int fd)
{
	drmVersionPtr version = drmGetVersion(fd);
	int ret = 0;

	if (!version || strcmp(version->name, DRIVER_NAME))
		ret = -ENOTSUP;
	else if (version->version_major != DRIVER_MAJOR)
		ret = -EPROTO;
	drmFreeVersion(version);
	return ret;
}

/* The node as a file descriptor, or an error. */
static int open_node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = check_driver(fd);
	if (ret) {
		close(fd);
		return ret;
	}
	return fd;
}

static int find_node(const char *format, int first, char *path, size_t size, int *error)
{
	int i, fd;

	for (i = first; i < first + NODES; i++) {
		snprintf(path, size, format, i);
		fd = open_node(path);
		if (fd >= 0)
			return fd;
		if (fd == -EPROTO || (fd == -EACCES && *error == -ENODEV))
			*error = fd;
	}
	return -1;
}

/*
 * A driver's name can only be asked of an open node. One that may not be opened is therefore the
 * better answer than "no device" if no other is ork's.
 */
static int find_device(char *path, size_t size)
{
	int error = -ENODEV;
	int fd = find_node("/dev/accel/accel%d", 0, path, size, &error);

	if (fd < 0)
		fd = find_node("/dev/dri/renderD%d", FIRST_RENDER, path, size, &error);
	return fd < 0 ? error : fd;
}

int ork_kernel_open(const char *path, const struct ork_backend **backend, void **dev, char **name)
{
	struct kernel_device *kernel;
	char found[32];
	int fd = path ? open_node(path) : find_device(found, sizeof(found));

	if (fd < 0)
		return fd;
	kernel = malloc(sizeof(*kernel));
	*name = strdup(path ? path : found);
	if (!kernel || !*name) {
		free(kernel);
		close(fd);
		return -ENOMEM;
	}
	kernel->fd = fd;
	*backend = &kernel_backend;
	*dev = kernel;
	return 0;
}

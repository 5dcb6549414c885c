/* SPDX-License-Identifier: GPL-2.0-only */
/* dma-bufs: those of ork's objects, and those that the kernel makes for whoever asks. */
#ifndef ORK_TEST_DMA_BUF_H
#define ORK_TEST_DMA_BUF_H

#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include "ork_test.h"

/* Of those that are made here. */
#define PAGES		16
#define BYTES		(PAGES * PAGE)

/* A dma-buf, or a negative errno. */
static inline int prime_export(int fd, uint32_t handle)
{
	struct drm_prime_handle prime = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int error = call(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	return error ? error : prime.fd;
}

static inline int prime_import(int fd, int dma_buf, uint32_t *handle)
{
	struct drm_prime_handle prime = { .fd = dma_buf };
	int error = call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);

	*handle = prime.handle;
	return error;
}

static inline int dma_buf_sync(int dma_buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };
	int error;

	do {
		error = call(dma_buf, DMA_BUF_IOCTL_SYNC, &sync);
	} while (error == -EINTR || error == -EAGAIN);
	return error;
}

static inline int udmabuf_create(void)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = BYTES };
	int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (node < 0)
		return -errno;
	create.memfd = memfd_create("ork", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if ((int)create.memfd < 0 || ftruncate(create.memfd, BYTES) ||
	    fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	fd = ioctl(node, UDMABUF_CREATE, &create);
	close(create.memfd);
	close(node);
	return fd < 0 ? -EIO : fd;
}

static inline int heap_create(void)
{
	struct dma_heap_allocation_data data = { .len = BYTES, .fd_flags = O_RDWR | O_CLOEXEC };
	int node = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), error;

	if (node < 0)
		return -errno;
	error = call(node, DMA_HEAP_IOCTL_ALLOC, &data);
	close(node);
	return error ? error : (int)data.fd;
}

#endif

// SPDX-License-Identifier: MIT
/* Physical memory, the IOMMU's tables in it, and the objects they map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../npu/iommu.h"
#include "device.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "page tables are little endian, and so must the host be");

/*
 * RAM begins just below 64 GiB: tables and pages have addresses beyond 32 bits, and all eight bits
 * above those get used. The page behind IOVA n is RAM's page n, so that an object is one piece for
 * the CPU too. The tables follow, the directory first.
 */
#define RAM_BASE	0xfc0000000ull
#define TABLES		IOVA_SPACE
#define RAM_BYTES	(TABLES + (1 + NPU_IOMMU_ENTRIES) * (uint64_t)PAGE_BYTES)

static void set_entry(struct device *dev, uint64_t table, uint64_t index, uint32_t entry)
{
	((uint32_t *)(dev->ram + table))[index] = entry;
}

static void clean(struct device *dev, uint64_t at, uint64_t bytes)
{
	for (uint64_t line = at - at % NPU_LINE_BYTES; line < at + bytes; line += NPU_LINE_BYTES)
		npu_cache_clean(dev->cache, RAM_BASE + line);
}

uint32_t space_dte_addr(void)
{
	return NPU_IOMMU_ENTRY(RAM_BASE + TABLES) | NPU_IOMMU_ENTRY_VALID;
}

/* Every directory entry is there from the start; what is mapped is up to the pages' entries. */
static void init_directory(struct device *dev)
{
	for (uint64_t i = 0; i < NPU_IOMMU_ENTRIES; i++)
		set_entry(dev, TABLES, i,
			  NPU_IOMMU_ENTRY(RAM_BASE + TABLES + (1 + i) * PAGE_BYTES) |
				  NPU_IOMMU_ENTRY_VALID);
	clean(dev, TABLES, PAGE_BYTES);
}

int space_init(struct device *dev, uint64_t seed)
{
	void *ram = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (ram == MAP_FAILED)
		return -ENOMEM;
	dev->ram = ram;
	dev->cache = npu_cache_new(RAM_BASE, RAM_BYTES, ram, dev->mode, seed);
	if (!dev->cache)
		return -ENOMEM;
	init_directory(dev);
	return 0;
}

void space_fini(struct device *dev)
{
	npu_cache_free(dev->cache);
	if (dev->ram)
		munmap(dev->ram, RAM_BYTES);
}

/* --- objects ------------------------------------------------------------------------------ */

uint64_t bo_pa(const struct bo *bo)
{
	return RAM_BASE + bo->iova;
}

/* @flags: NPU_IOMMU_ENTRY_*, 0 to unmap. The tables of consecutive IOVAs are consecutive, too. */
static void map(struct device *dev, const struct bo *bo, uint32_t flags)
{
	uint64_t first = bo->iova / PAGE_BYTES, pages = bo->size / PAGE_BYTES;
	uint64_t tables = TABLES + PAGE_BYTES;

	for (uint64_t i = 0; i < pages; i++)
		set_entry(dev, tables, first + i,
			  flags ? NPU_IOMMU_ENTRY(bo_pa(bo) + i * PAGE_BYTES) | flags : 0);
	clean(dev, tables + first * sizeof(uint32_t), pages * sizeof(uint32_t));
}

/*
 * The lowest gap of @size bytes and a guard page. Returns where in the list, NULL if there is none.
 */
static struct bo **find_gap(struct device *dev, uint64_t size, uint64_t *iova)
{
	struct bo **link;

	*iova = IOVA_START;
	for (link = &dev->bos; *link; link = &(*link)->next) {
		if (*iova + size + PAGE_BYTES <= (*link)->iova)
			return link;
		*iova = (*link)->iova + (*link)->size + PAGE_BYTES;
	}
	return *iova + size + PAGE_BYTES <= IOVA_SPACE ? link : NULL;
}

/*
 * Objects are zeroed when they are destroyed; the zeros go to DRAM here. Memory that was never an
 * object's is zeros on both sides.
 */
static void clean_reused(struct device *dev, const struct bo *bo)
{
	uint64_t end = bo->iova + bo->size;

	if (bo->iova < dev->bos_end)
		clean(dev, bo->iova, (end < dev->bos_end ? end : dev->bos_end) - bo->iova);
	if (end > dev->bos_end)
		dev->bos_end = end;
}

static int bo_insert(struct device *dev, struct bo *bo)
{
	struct bo **link = find_gap(dev, bo->size, &bo->iova);

	if (!link)
		return -ENOSPC;
	bo->handle = handle_add(&dev->bo_handles, bo);
	if (!bo->handle)
		return -ENOMEM;
	bo->next = *link;
	*link = bo;
	clean_reused(dev, bo);
	map(dev, bo, NPU_IOMMU_ENTRY_VALID | NPU_IOMMU_ENTRY_READ | NPU_IOMMU_ENTRY_WRITE);
	return 0;
}

int bo_create(void *opaque, struct drm_ork_bo_create *create, void **data)
{
	struct device *dev = opaque;
	struct bo *bo;
	int ret;

	if (create->flags & ~(uint32_t)DRM_ORK_BO_WRITE_COMBINE)
		return -EOPNOTSUPP;
	if (!create->size)
		return -EINVAL;
	if (create->size > IOVA_SPACE)
		return -ENOSPC;
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		return -ENOMEM;
	bo->size = (create->size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	bo->flags = create->flags;
	ret = bo_insert(dev, bo);
	if (ret) {
		free(bo);
		return ret;
	}
	create->size = bo->size;
	create->handle = bo->handle;
	create->iova = bo->iova;
	create->mmap_offset = bo->iova;
	*data = dev->ram + bo->iova;
	return 0;
}

/*
 * As a driver that unmaps the pages, invalidates first: the zeros that follow must count as a
 * change even where both sides agreed on zeros before the NPU wrote.
 */
void bo_destroy(void *opaque, uint32_t handle, void *data, uint64_t size)
{
	struct device *dev = opaque;
	struct bo *bo = handle_remove(&dev->bo_handles, handle);
	struct bo **link = &dev->bos;

	(void)data;
	(void)size;
	if (!bo)
		return;
	while (*link != bo)
		link = &(*link)->next;
	*link = bo->next;
	map(dev, bo, 0);
	cores_zap(dev);
	for (uint64_t at = 0; at < bo->size; at += NPU_LINE_BYTES)
		npu_cache_invalidate(dev->cache, bo_pa(bo) + at);
	(void)madvise(dev->ram + bo->iova, bo->size, MADV_DONTNEED);
	free(bo);
}

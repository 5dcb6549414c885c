// SPDX-License-Identifier: MIT
/* A core's accesses: page by page through its IOMMU, then through the cache model to DRAM. */
#include "core.h"

#define PAGE_BYTES	4096u

static uint32_t chunk(uint32_t iova, uint32_t len)
{
	uint32_t room = PAGE_BYTES - iova % PAGE_BYTES;

	return len < room ? len : room;
}

static bool ended(const struct npu_dma *dma)
{
	return atomic_load(dma->generation) != dma->started;
}

int npu_dma_read(struct npu_dma *dma, enum npu_block block, uint32_t iova, void *buf, uint32_t len)
{
	bool must = block != NPU_BLOCK_WINDOW;
	unsigned char *to = buf;
	int stale = 0;

	while (len) {
		struct npu_access who = { dma->core, block, iova };
		uint32_t n = chunk(iova, len);
		uint64_t pa;
		int lines;

		if (ended(dma))
			return -1;
		if (!npu_iommu_translate(dma->iommu, iova, false, must, &pa))
			lines = -1;
		else
			lines = npu_cache_read(dma->cache, pa, to, n, &who);
		if (lines < 0) {
			dma->errors |= must ? ORK_INT_DMA_READ_ERROR : 0;
			return -1;
		}
		stale += lines;
		dma->bytes_read += must ? n : 0;
		iova += n;
		to += n;
		len -= n;
	}
	return stale;
}

bool npu_dma_write(struct npu_dma *dma, uint32_t iova, const void *buf, uint32_t len)
{
	const unsigned char *from = buf;

	while (len) {
		struct npu_access who = { dma->core, NPU_BLOCK_DPU, iova };
		uint32_t n = chunk(iova, len);
		uint64_t pa;

		if (ended(dma))
			return false;
		if (!npu_iommu_translate(dma->iommu, iova, true, true, &pa) ||
		    npu_cache_write(dma->cache, pa, from, n, &who) < 0) {
			dma->errors |= ORK_INT_DMA_WRITE_ERROR;
			return false;
		}
		dma->bytes_written += n;
		iova += n;
		from += n;
		len -= n;
	}
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * The Rockchip IOMMU of one core, version 2 of its tables. Its registers may be accessed from any
 * thread.
 */
#ifndef NPU_IOMMU_H
#define NPU_IOMMU_H

#include "npu.h"

/* Registers of a bank (Linux drivers/iommu/rockchip-iommu.c). */
#define NPU_IOMMU_DTE_ADDR		0x00
#define NPU_IOMMU_STATUS		0x04
#define NPU_IOMMU_COMMAND		0x08
#define NPU_IOMMU_PAGE_FAULT_ADDR	0x0c
#define NPU_IOMMU_ZAP_ONE_LINE		0x10
#define NPU_IOMMU_INT_RAWSTAT		0x14
#define NPU_IOMMU_INT_CLEAR		0x18
#define NPU_IOMMU_INT_MASK		0x1c
#define NPU_IOMMU_INT_STATUS		0x20
#define NPU_IOMMU_AUTO_GATING		0x24
#define NPU_IOMMU_BANK_BYTES		0x100
/* Where the banks lie in a core's window. */
#define NPU_IOMMU_BANK_CORE0		0x9000	/* core 0 only */
#define NPU_IOMMU_BANK			0xa000

#define NPU_IOMMU_STATUS_PAGING		0x00000001
#define NPU_IOMMU_STATUS_FAULT		0x00000002
#define NPU_IOMMU_STATUS_STALL		0x00000004
#define NPU_IOMMU_STATUS_IDLE		0x00000008
#define NPU_IOMMU_STATUS_REPLAY_EMPTY	0x00000010
#define NPU_IOMMU_STATUS_FAULT_WRITE	0x00000020

#define NPU_IOMMU_INT_PAGE_FAULT	0x00000001
#define NPU_IOMMU_INT_BUS_ERROR		0x00000002

enum npu_iommu_command {
	NPU_IOMMU_ENABLE_PAGING = 0,
	NPU_IOMMU_DISABLE_PAGING = 1,
	NPU_IOMMU_ENABLE_STALL = 2,
	NPU_IOMMU_DISABLE_STALL = 3,
	NPU_IOMMU_ZAP_CACHE = 4,
	NPU_IOMMU_PAGE_FAULT_DONE = 5,
	NPU_IOMMU_FORCE_RESET = 6,
	NPU_IOMMU_COMMANDS
};

/*
 * Entries of both tables, and DTE_ADDR: a 40-bit address, rounded to 4 KiB, with its upper byte in
 * bits 11:4.
 */
#define NPU_IOMMU_ENTRY(pa) \
	((uint32_t)(((pa) & 0xfffff000) | ((pa) >> 24 & 0xf00) | ((pa) >> 32 & 0xf0)))
#define NPU_IOMMU_ENTRY_PA(entry) \
	(((uint64_t)(entry) & 0xfffff000) | ((uint64_t)(entry) & 0xf00) << 24 | \
	 ((uint64_t)(entry) & 0xf0) << 32)
#define NPU_IOMMU_ENTRY_VALID		0x1
#define NPU_IOMMU_ENTRY_READ		0x2	/* pages only */
#define NPU_IOMMU_ENTRY_WRITE		0x4	/* pages only */
#define NPU_IOMMU_ENTRIES		1024	/* in a table of either level */

struct npu_iommu;

/* Core 0 has two banks (0x9000, 0xa000), cores 1 and 2 have one (0xa000). */
struct npu_iommu *npu_iommu_new(int core, struct npu_cache *cache);
void npu_iommu_free(struct npu_iommu *iommu);

/* Whether @offset of the core's window belongs to a bank of this core. */
bool npu_iommu_owns(const struct npu_iommu *iommu, uint32_t offset);
uint32_t npu_iommu_read(struct npu_iommu *iommu, uint32_t offset);
void npu_iommu_write(struct npu_iommu *iommu, uint32_t offset, uint32_t value);

/*
 * Each bank does not take its next @times commands of this kind: of a driver that gives every
 * command to all banks of a core, as Linux's does, that many requests fail. A force reset does not
 * end it.
 */
void npu_iommu_ignore(struct npu_iommu *iommu, enum npu_iommu_command command, uint32_t times);
/* How many more commands are not taken, by the bank that takes least. */
uint32_t npu_iommu_ignores(struct npu_iommu *iommu, enum npu_iommu_command command);

/*
 * Writes of registers, all banks together; and how often the IOMMU began to translate by another
 * page directory than the moment before, both banks of core 0 counted as one.
 */
void npu_iommu_count(struct npu_iommu *iommu, uint64_t *writes, uint64_t *attaches);

/* Level of the IOMMU's part in the interrupt line. */
bool npu_iommu_irq(struct npu_iommu *iommu);

/*
 * The physical address behind @iova. False if there is none: then, if @fault is set, the fault is
 * recorded in the bank and its interrupt rises; a bank with a fault translates nothing until the
 * fault is cleared.
 */
bool npu_iommu_translate(struct npu_iommu *iommu, uint32_t iova, bool write, bool fault,
			 uint64_t *pa);

#endif

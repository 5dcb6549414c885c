// SPDX-License-Identifier: MIT
/*
 * The Rockchip IOMMU in front of one core.
 *
 * Where what is known of the hardware leaves room, the model takes the reading that forgives a
 * driver less:
 *  - Without paging nothing is translated, and an access does not complete; there is no identity
 *    mapping. (Boards: cores 1 and 2 never raise an interrupt when no address space is attached.)
 *  - Core 0's two banks are programmed in step by every driver, and which serves what is not
 *    documented: unless both have paging on and the same directory, nothing is translated. Faults
 *    show in the bank at 0xa000, which every core has.
 *  - The access that faulted is not replayed after "page fault done": its core hangs. (Boards with
 *    the vendor's kernel; the Mali-like block this descends from would replay.)
 *  - Paging is disabled during a stall only. (Linux calls the stall what allows "other cmds"; every
 *    driver stalls first.)
 *  - A bank with an active fault takes no command but zap, page fault done and force reset. (RK3576
 *    boards: a fault left active keeps the stall from ever showing.)
 *  - An access during a stall does not complete. Stalls take effect at once, so STATUS bit 31,
 *    "stall requested but not active", is never set: idle reads 0x19, as on boards.
 *  - Translations are cached until they are zapped or the bank is reset: neither a write of
 *    DTE_ADDR nor a pass through "paging disabled" drops them. Invalid entries are not cached;
 *    Linux relies on that when it maps.
 *  - DTE_ADDR's low four bits read as zero, and its valid bit is not looked at: Linux up to 6.5
 *    does not set it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "iommu.h"

#define PAGE_SHIFT	12
#define PAGE_MASK	0xfffu
#define TLB_ENTRIES	256

/*
 * A bank's TLB is direct-mapped by page number. An entry's low bits are those of the page table; 0
 * is no entry.
 */
struct tlb_entry {
	uint32_t page;
	uint32_t entry;
};

struct bank {
	uint32_t dte_addr;
	bool paging, stall, fault, fault_write;
	uint32_t fault_addr;
	uint32_t raw, mask;
	uint32_t auto_gating;
	struct tlb_entry tlb[TLB_ENTRIES];
};

struct npu_iommu {
	int core;
	struct npu_cache *cache;
	pthread_mutex_t lock;		/* of what follows; not held over memory accesses */
	uint64_t writes;		/* of registers: a walk that one overtook is not cached */
	uint64_t attaches;
	unsigned int bank_count;
	struct bank banks[2];		/* the last is at 0xa000 */
	uint32_t ignore[2][NPU_IOMMU_COMMANDS];	/* commands that each does not take */
};

/* --- translation -------------------------------------------------------------------------- */

static bool ready(const struct npu_iommu *iommu)
{
	for (unsigned int i = 0; i < iommu->bank_count; i++) {
		const struct bank *bank = &iommu->banks[i];

		if (!bank->paging || bank->stall || bank->fault ||
		    bank->dte_addr != iommu->banks[0].dte_addr)
			return false;
	}
	return true;
}

static struct tlb_entry *tlb_slot(struct bank *bank, uint32_t page)
{
	return &bank->tlb[page % TLB_ENTRIES];
}

/*
 * A hit in any bank counts, so that a zap has to reach all of them. Returns the page's entry, or 0.
 */
static uint32_t tlb_find(struct npu_iommu *iommu, uint32_t page)
{
	for (unsigned int i = 0; i < iommu->bank_count; i++) {
		const struct tlb_entry *slot = tlb_slot(&iommu->banks[i], page);

		if (slot->page == page && slot->entry)
			return slot->entry;
	}
	return 0;
}

static void tlb_fill(struct npu_iommu *iommu, uint32_t page, uint32_t entry)
{
	for (unsigned int i = 0; i < iommu->bank_count; i++)
		*tlb_slot(&iommu->banks[i], page) =
			(struct tlb_entry) { .page = page, .entry = entry };
}

/* False if there is no memory. */
static bool read_entry(struct npu_iommu *iommu, uint32_t table, uint32_t index, uint32_t iova,
		       uint32_t *entry)
{
	struct npu_access who = { .core = iommu->core, .block = NPU_BLOCK_IOMMU, .iova = iova };
	uint8_t le[4];

	if (npu_cache_read(iommu->cache, NPU_IOMMU_ENTRY_PA(table) + 4 * index, le, sizeof(le),
			   &who) < 0)
		return false;
	*entry = le[0] | le[1] << 8 | le[2] << 16 | (uint32_t)le[3] << 24;
	return true;
}

/*
 * The page's entry from the tables; 0 if there is none, with @error set if that is for want of
 * memory.
 */
static uint32_t walk(struct npu_iommu *iommu, uint32_t dte_addr, uint32_t iova, uint32_t *error)
{
	uint32_t index = iova >> PAGE_SHIFT, table, entry;

	if (!read_entry(iommu, dte_addr, index / NPU_IOMMU_ENTRIES, iova, &table)) {
		*error = NPU_IOMMU_INT_BUS_ERROR;
		return 0;
	}
	if (!(table & NPU_IOMMU_ENTRY_VALID))
		return 0;
	if (!read_entry(iommu, table, index % NPU_IOMMU_ENTRIES, iova, &entry)) {
		*error = NPU_IOMMU_INT_BUS_ERROR;
		return 0;
	}
	return entry & NPU_IOMMU_ENTRY_VALID ? entry : 0;
}

/*
 * Records what kept an access from completing, unless a reset or a command has abandoned the access
 * since.
 */
static void record(struct npu_iommu *iommu, uint32_t iova, bool write, uint32_t error)
{
	struct bank *bank = &iommu->banks[iommu->bank_count - 1];

	pthread_mutex_lock(&iommu->lock);
	if (ready(iommu)) {
		bank->raw |= error;
		bank->fault = error == NPU_IOMMU_INT_PAGE_FAULT;
		bank->fault_write = write;
		bank->fault_addr = iova;
	}
	pthread_mutex_unlock(&iommu->lock);
}

bool npu_iommu_translate(struct npu_iommu *iommu, uint32_t iova, bool write, bool fault,
			 uint64_t *pa)
{
	uint32_t need = write ? NPU_IOMMU_ENTRY_WRITE : NPU_IOMMU_ENTRY_READ;
	uint32_t error = NPU_IOMMU_INT_PAGE_FAULT;
	uint32_t dte_addr, entry;
	uint64_t writes;
	bool usable;

	pthread_mutex_lock(&iommu->lock);
	usable = ready(iommu);
	dte_addr = iommu->banks[0].dte_addr;
	writes = iommu->writes;
	entry = tlb_find(iommu, iova >> PAGE_SHIFT);
	pthread_mutex_unlock(&iommu->lock);
	if (!usable)
		return false;

	if (!entry) {
		entry = walk(iommu, dte_addr, iova, &error);
		pthread_mutex_lock(&iommu->lock);
		if (entry && writes == iommu->writes)
			tlb_fill(iommu, iova >> PAGE_SHIFT, entry);
		pthread_mutex_unlock(&iommu->lock);
	}
	if (entry & need) {
		*pa = NPU_IOMMU_ENTRY_PA(entry) | (iova & PAGE_MASK);
		return true;
	}
	if (fault)
		record(iommu, iova, write, error);
	return false;
}

/* --- registers ---------------------------------------------------------------------------- */

static void reset_bank(struct bank *bank)
{
	memset(bank, 0, sizeof(*bank));
}

static uint32_t status(const struct bank *bank)
{
	uint32_t status = NPU_IOMMU_STATUS_IDLE;

	if (bank->paging)
		status |= NPU_IOMMU_STATUS_PAGING;
	if (bank->stall)
		status |= NPU_IOMMU_STATUS_STALL;
	if (bank->fault)
		status |= NPU_IOMMU_STATUS_FAULT |
			  (bank->fault_write ? NPU_IOMMU_STATUS_FAULT_WRITE : 0);
	else
		status |= NPU_IOMMU_STATUS_REPLAY_EMPTY;
	return status;
}

static void zap_cache(struct bank *bank)
{
	memset(bank->tlb, 0, sizeof(bank->tlb));
}

static void zap_one_line(struct bank *bank, uint32_t page)
{
	struct tlb_entry *slot = tlb_slot(bank, page);

	if (slot->page == page)
		slot->entry = 0;
}

static void command(struct bank *bank, uint32_t command)
{
	switch (command) {
	case NPU_IOMMU_ENABLE_PAGING:
		if (!bank->fault)
			bank->paging = true;
		break;
	case NPU_IOMMU_DISABLE_PAGING:
		if (!bank->fault && bank->stall)
			bank->paging = false;
		break;
	case NPU_IOMMU_ENABLE_STALL:
		if (!bank->fault && bank->paging)
			bank->stall = true;
		break;
	case NPU_IOMMU_DISABLE_STALL:
		if (!bank->fault)
			bank->stall = false;
		break;
	case NPU_IOMMU_ZAP_CACHE:
		zap_cache(bank);
		break;
	case NPU_IOMMU_PAGE_FAULT_DONE:
		bank->fault = false;
		break;
	case NPU_IOMMU_FORCE_RESET:
		reset_bank(bank);
		break;
	default:
		break;
	}
}

/* The number of the bank that @offset of the core's window lies in, or -1. */
static int bank_index(const struct npu_iommu *iommu, uint32_t offset)
{
	if (offset - NPU_IOMMU_BANK < NPU_IOMMU_BANK_BYTES)
		return iommu->bank_count - 1;
	if (offset - NPU_IOMMU_BANK_CORE0 < NPU_IOMMU_BANK_BYTES && iommu->bank_count > 1)
		return 0;
	return -1;
}

bool npu_iommu_owns(const struct npu_iommu *iommu, uint32_t offset)
{
	return bank_index(iommu, offset) >= 0;
}

static uint32_t read_register(const struct bank *bank, uint32_t reg)
{
	switch (reg) {
	case NPU_IOMMU_DTE_ADDR:
		return bank->dte_addr;
	case NPU_IOMMU_STATUS:
		return status(bank);
	case NPU_IOMMU_PAGE_FAULT_ADDR:
		return bank->fault_addr;
	case NPU_IOMMU_INT_RAWSTAT:
		return bank->raw;
	case NPU_IOMMU_INT_MASK:
		return bank->mask;
	case NPU_IOMMU_INT_STATUS:
		return bank->raw & bank->mask;
	case NPU_IOMMU_AUTO_GATING:
		return bank->auto_gating;
	default:
		return 0;
	}
}

static void write_register(struct bank *bank, uint32_t reg, uint32_t value)
{
	switch (reg) {
	case NPU_IOMMU_DTE_ADDR:
		bank->dte_addr = value & ~0xfu;
		break;
	case NPU_IOMMU_COMMAND:
		command(bank, value);
		break;
	case NPU_IOMMU_ZAP_ONE_LINE:
		zap_one_line(bank, value >> PAGE_SHIFT);
		break;
	case NPU_IOMMU_INT_CLEAR:
		bank->raw &= ~value;
		break;
	case NPU_IOMMU_INT_MASK:
		bank->mask = value & (NPU_IOMMU_INT_PAGE_FAULT | NPU_IOMMU_INT_BUS_ERROR);
		break;
	case NPU_IOMMU_AUTO_GATING:
		bank->auto_gating = value;
		break;
	default:
		break;
	}
}

uint32_t npu_iommu_read(struct npu_iommu *iommu, uint32_t offset)
{
	int bank = bank_index(iommu, offset);
	uint32_t value;

	if (bank < 0)
		return 0;
	pthread_mutex_lock(&iommu->lock);
	value = read_register(&iommu->banks[bank], offset % NPU_IOMMU_BANK_BYTES);
	pthread_mutex_unlock(&iommu->lock);
	return value;
}

/* Whether the bank does not take a command; that is then one less. */
static bool ignored(struct npu_iommu *iommu, int bank, uint32_t command)
{
	if (command >= NPU_IOMMU_COMMANDS || !iommu->ignore[bank][command])
		return false;
	iommu->ignore[bank][command]--;
	return true;
}

/* The page directory that the core is translated by, by what every core's last bank says; or 0. */
static uint32_t directory(const struct npu_iommu *iommu)
{
	const struct bank *bank = &iommu->banks[iommu->bank_count - 1];

	return bank->paging ? bank->dte_addr : 0;
}

void npu_iommu_write(struct npu_iommu *iommu, uint32_t offset, uint32_t value)
{
	uint32_t reg = offset % NPU_IOMMU_BANK_BYTES, before;
	int bank = bank_index(iommu, offset);

	if (bank < 0)
		return;
	pthread_mutex_lock(&iommu->lock);
	iommu->writes++;
	before = directory(iommu);
	if (reg != NPU_IOMMU_COMMAND || !ignored(iommu, bank, value))
		write_register(&iommu->banks[bank], reg, value);
	iommu->attaches += directory(iommu) && directory(iommu) != before;
	pthread_mutex_unlock(&iommu->lock);
}

void npu_iommu_ignore(struct npu_iommu *iommu, enum npu_iommu_command command, uint32_t times)
{
	pthread_mutex_lock(&iommu->lock);
	for (unsigned int i = 0; i < iommu->bank_count; i++)
		iommu->ignore[i][command] = times;
	pthread_mutex_unlock(&iommu->lock);
}

uint32_t npu_iommu_ignores(struct npu_iommu *iommu, enum npu_iommu_command command)
{
	uint32_t most = 0;

	pthread_mutex_lock(&iommu->lock);
	for (unsigned int i = 0; i < iommu->bank_count; i++)
		if (iommu->ignore[i][command] > most)
			most = iommu->ignore[i][command];
	pthread_mutex_unlock(&iommu->lock);
	return most;
}

void npu_iommu_count(struct npu_iommu *iommu, uint64_t *writes, uint64_t *attaches)
{
	pthread_mutex_lock(&iommu->lock);
	*writes = iommu->writes;
	*attaches = iommu->attaches;
	pthread_mutex_unlock(&iommu->lock);
}

bool npu_iommu_irq(struct npu_iommu *iommu)
{
	uint32_t pending = 0;

	pthread_mutex_lock(&iommu->lock);
	for (unsigned int i = 0; i < iommu->bank_count; i++)
		pending |= iommu->banks[i].raw & iommu->banks[i].mask;
	pthread_mutex_unlock(&iommu->lock);
	return pending;
}

struct npu_iommu *npu_iommu_new(int core, struct npu_cache *cache)
{
	struct npu_iommu *iommu = calloc(1, sizeof(*iommu));

	if (!iommu)
		return NULL;
	iommu->core = core;
	iommu->cache = cache;
	iommu->bank_count = core ? 1 : 2;
	pthread_mutex_init(&iommu->lock, NULL);
	return iommu;
}

void npu_iommu_free(struct npu_iommu *iommu)
{
	if (!iommu)
		return;
	pthread_mutex_destroy(&iommu->lock);
	free(iommu);
}

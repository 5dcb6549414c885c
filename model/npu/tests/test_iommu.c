// SPDX-License-Identifier: MIT
/*
 * The IOMMU as Linux's driver programs it. RAM crosses 64 GiB, so that all bits of 40-bit addresses
 * count.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../iommu.h"
#include "../../../selftests/unit/test.h"

#define BASE		0xfffff0000ull
#define PAGE		4096u
#define SIZE		(32 * PAGE)
#define LINE		NPU_LINE_BYTES

/* Where things lie in RAM: directory, second table and second data page are above 64 GiB. */
#define DIRECTORY	(BASE + 19 * PAGE)
#define TABLE		(BASE + 2 * PAGE)
#define HIGH_TABLE	(BASE + 20 * PAGE)
#define DATA		(BASE + 3 * PAGE)
#define HIGH_DATA	(BASE + 21 * PAGE)

#define BANK0		0x9000u
#define BANK1		0xa000u

/*
 * Entries as Linux 6.6's rk_mk_dte_v2() and rk_mk_pte_v2() lay them out: [31:12], [11:8] = 35:32,
 * [7:4] = 39:36.
 */
static uint32_t entry(uint64_t pa, uint32_t flags)
{
	uint32_t low = pa & 0xfffff000, bits_35_32 = (pa >> 32) & 0xf,
		 bits_39_36 = (pa >> 36) & 0xf;

	return low | bits_35_32 << 8 | bits_39_36 << 4 | flags;
}

#define VALID	1u
#define R	(VALID | 2u)
#define W	(VALID | 4u)
#define RW	(VALID | 6u)

struct rig {
	uint8_t *ram;
	struct npu_cache *cache;
	struct npu_iommu *iommu;
};

static void set_entry_dirty(struct rig *rig, uint64_t table, uint32_t index, uint32_t value)
{
	memcpy(rig->ram + (table - BASE) + 4 * index, &value, sizeof(value));
}

static void set_entry(struct rig *rig, uint64_t table, uint32_t index, uint32_t value)
{
	set_entry_dirty(rig, table, index, value);
	npu_cache_clean(rig->cache, table + 4 * index);
}

static struct rig begin_mode(int core, enum npu_cache_mode mode)
{
	struct rig rig = { .ram = aligned_alloc(PAGE, SIZE) };

	memset(rig.ram, 0, SIZE);
	rig.cache = npu_cache_new(BASE, SIZE, rig.ram, mode, 3);
	rig.iommu = npu_iommu_new(core, rig.cache);
	CHECK(rig.cache && rig.iommu);
	return rig;
}

static struct rig begin(int core)
{
	return begin_mode(core, NPU_CACHE_STRICT);
}

static void end(struct rig *rig)
{
	npu_iommu_free(rig->iommu);
	npu_cache_free(rig->cache);
	free(rig->ram);
}

/* To the bank at 0xa000, and on core 0 to both where the driver would. */
static void wr(struct rig *rig, uint32_t reg, uint32_t value)
{
	if (npu_iommu_owns(rig->iommu, BANK0))
		npu_iommu_write(rig->iommu, BANK0 + reg, value);
	npu_iommu_write(rig->iommu, BANK1 + reg, value);
}

static uint32_t rd(struct rig *rig, uint32_t reg)
{
	return npu_iommu_read(rig->iommu, BANK1 + reg);
}

static void enable(struct rig *rig)
{
	wr(rig, NPU_IOMMU_DTE_ADDR, entry(DIRECTORY, VALID));
	wr(rig, NPU_IOMMU_COMMAND, 4);
	wr(rig, NPU_IOMMU_INT_MASK, 3);
	wr(rig, NPU_IOMMU_COMMAND, 0);
}

/* IOVA 0x00401000 maps DATA, 0xffc02000 HIGH_DATA. */
#define IOVA		0x00401000u
#define HIGH_IOVA	0xffc02000u

static struct rig begin_mapped(int core)
{
	struct rig rig = begin(core);

	set_entry(&rig, DIRECTORY, 1, entry(TABLE, VALID));
	set_entry(&rig, TABLE, 1, entry(DATA, RW));
	set_entry(&rig, DIRECTORY, 1023, entry(HIGH_TABLE, VALID));
	set_entry(&rig, HIGH_TABLE, 2, entry(HIGH_DATA, RW));
	enable(&rig);
	return rig;
}

/* 0 where there is none: no page of the tests lies there. */
static uint64_t translate(struct rig *rig, uint32_t iova, bool write)
{
	uint64_t pa = 0;

	return npu_iommu_translate(rig->iommu, iova, write, true, &pa) ? pa : 0;
}

/* --- walks -------------------------------------------------------------------------------- */

static void walks_reach_forty_bits(void)
{
	struct rig rig = begin_mapped(1);

	CHECK(HIGH_TABLE >= 1ull << 36 && DATA < 1ull << 36);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	CHECK_EQUAL(translate(&rig, HIGH_IOVA, true), HIGH_DATA);
	end(&rig);
}

static void offsets_in_a_page_are_kept(void)
{
	struct rig rig = begin_mapped(1);

	CHECK_EQUAL(translate(&rig, IOVA + 1, false), DATA + 1);
	CHECK_EQUAL(translate(&rig, HIGH_IOVA + 0xfff, false), HIGH_DATA + 0xfff);
	CHECK_EQUAL(translate(&rig, IOVA + PAGE, false), 0);
	end(&rig);
}

static void an_uncleaned_table_is_a_stale_walk(void)
{
	struct rig rig = begin_mapped(1);
	struct npu_report report;

	set_entry_dirty(&rig, TABLE, 5, entry(DATA, RW));
	CHECK_EQUAL(translate(&rig, 0x00405000, false), 0);
	npu_cache_report(rig.cache, &report);
	CHECK_EQUAL(report.stale_by_block[NPU_BLOCK_IOMMU], 1);
	npu_cache_clean(rig.cache, TABLE + 4 * 5);
	wr(&rig, NPU_IOMMU_COMMAND, 5);
	CHECK_EQUAL(translate(&rig, 0x00405000, false), DATA);
	end(&rig);
}

/* A driver maps while a core runs: the entry next to the one walked may be dirty at any time. */
static void a_dirty_neighbour_does_not_make_a_walk_stale(void)
{
	struct rig rig = begin_mapped(1);
	struct npu_report report;

	set_entry_dirty(&rig, TABLE, 2, entry(DATA, RW));
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	npu_cache_report(rig.cache, &report);
	CHECK_EQUAL(report.stale_reads, 0);
	end(&rig);
}

static void an_entry_without_its_valid_bit_is_none(void)
{
	struct rig rig = begin_mapped(1);

	set_entry(&rig, TABLE, 1, entry(DATA, RW & ~VALID));
	CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	wr(&rig, NPU_IOMMU_COMMAND, 5);
	set_entry(&rig, DIRECTORY, 1023, entry(HIGH_TABLE, 0));
	CHECK_EQUAL(translate(&rig, HIGH_IOVA, false), 0);
	end(&rig);
}

static void permissions_are_enforced(void)
{
	struct rig rig = begin_mapped(2);

	set_entry(&rig, TABLE, 3, entry(DATA, R));
	set_entry(&rig, TABLE, 4, entry(DATA, W));
	CHECK_EQUAL(translate(&rig, 0x00403000, false), DATA);
	CHECK_EQUAL(translate(&rig, 0x00404000, true), DATA);
	CHECK_EQUAL(translate(&rig, 0x00403010, true), 0);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_PAGE_FAULT_ADDR), 0x00403010);
	wr(&rig, NPU_IOMMU_COMMAND, 5);
	CHECK_EQUAL(translate(&rig, 0x00404010, false), 0);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_PAGE_FAULT_ADDR), 0x00404010);
	end(&rig);
}

static void tables_outside_ram_are_a_bus_error(void)
{
	struct rig rig = begin_mapped(1);

	set_entry(&rig, DIRECTORY, 7, entry(BASE + SIZE, VALID));
	CHECK_EQUAL(translate(&rig, 7u << 22, false), 0);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_INT_RAWSTAT), 2);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	end(&rig);
}

/* --- faults ------------------------------------------------------------------------------- */

static void a_fault_is_recorded_and_blocks_until_it_is_done(void)
{
	struct rig rig = begin_mapped(1);

	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x19);
	CHECK_EQUAL(translate(&rig, 0x12345678, true), 0);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS) & 0x23, 0x23);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_PAGE_FAULT_ADDR), 0x12345678);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_INT_RAWSTAT), 1);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_INT_STATUS), 1);
	CHECK(npu_iommu_irq(rig.iommu));
	CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_PAGE_FAULT_ADDR), 0x12345678);

	/* As Linux's handler ends. */
	wr(&rig, NPU_IOMMU_COMMAND, 4);
	wr(&rig, NPU_IOMMU_COMMAND, 5);
	CHECK(npu_iommu_irq(rig.iommu));
	wr(&rig, NPU_IOMMU_INT_CLEAR, 1);
	CHECK(!npu_iommu_irq(rig.iommu));
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x19);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	end(&rig);
}

static void a_read_fault_says_so(void)
{
	struct rig rig = begin_mapped(1);

	CHECK_EQUAL(translate(&rig, 0x12345678, false), 0);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS) & 0x22, 0x02);
	end(&rig);
}

static void the_mask_silences_a_fault(void)
{
	struct rig rig = begin_mapped(1);

	wr(&rig, NPU_IOMMU_INT_MASK, 2);
	CHECK_EQUAL(translate(&rig, 0, false), 0);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_INT_RAWSTAT), 1);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_INT_STATUS), 0);
	CHECK(!npu_iommu_irq(rig.iommu));
	wr(&rig, NPU_IOMMU_INT_MASK, 3);
	CHECK(npu_iommu_irq(rig.iommu));
	end(&rig);
}

static void a_probe_leaves_no_fault(void)
{
	struct rig rig = begin_mapped(1);
	uint64_t pa;

	CHECK(!npu_iommu_translate(rig.iommu, 0, false, false, &pa));
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x19);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_INT_RAWSTAT), 0);
	end(&rig);
}

static void without_paging_nothing_is_translated_and_nothing_said(void)
{
	struct rig rig = begin_mapped(1);

	wr(&rig, NPU_IOMMU_COMMAND, 2);
	wr(&rig, NPU_IOMMU_COMMAND, 1);
	wr(&rig, NPU_IOMMU_COMMAND, 3);
	CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x18);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_INT_RAWSTAT), 0);
	end(&rig);
}

/* --- Linux's sequences -------------------------------------------------------------------- */

/* Whether a poll of STATUS that combines the banks as Linux does sees @bit. */
static bool all_banks_have(struct rig *rig, uint32_t bit)
{
	bool all = npu_iommu_read(rig->iommu, BANK1 + NPU_IOMMU_STATUS) & bit;

	if (npu_iommu_owns(rig->iommu, BANK0))
		all &= !!(npu_iommu_read(rig->iommu, BANK0 + NPU_IOMMU_STATUS) & bit);
	return all;
}

static void linux_stall(struct rig *rig)
{
	if (all_banks_have(rig, 0x4) || !all_banks_have(rig, 0x1))
		return;
	wr(rig, NPU_IOMMU_COMMAND, 2);
	CHECK(all_banks_have(rig, 0x4));
}

static void linux_unstall(struct rig *rig)
{
	if (!all_banks_have(rig, 0x4))
		return;
	wr(rig, NPU_IOMMU_COMMAND, 3);
	CHECK(!all_banks_have(rig, 0x4));
}

static void linux_enable(struct rig *rig)
{
	linux_stall(rig);
	wr(rig, NPU_IOMMU_DTE_ADDR, 0xcafeb000);
	CHECK_EQUAL(rd(rig, NPU_IOMMU_DTE_ADDR), 0xcafeb000);
	wr(rig, NPU_IOMMU_COMMAND, 6);
	CHECK_EQUAL(rd(rig, NPU_IOMMU_DTE_ADDR), 0);
	enable(rig);
	CHECK(all_banks_have(rig, 0x1));
	linux_unstall(rig);
}

static void linux_disable(struct rig *rig)
{
	linux_stall(rig);
	wr(rig, NPU_IOMMU_COMMAND, 1);
	CHECK(!all_banks_have(rig, 0x1));
	wr(rig, NPU_IOMMU_INT_MASK, 0);
	wr(rig, NPU_IOMMU_DTE_ADDR, 0);
	linux_unstall(rig);
}

static void linux_enables_and_disables(int core)
{
	struct rig rig = begin_mapped(core);

	for (int i = 0; i < 2; i++) {
		linux_enable(&rig);
		CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
		linux_disable(&rig);
		CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	}
	end(&rig);
}

static void linux_enables_and_disables_core_0(void)
{
	linux_enables_and_disables(0);
}

static void linux_enables_and_disables_core_2(void)
{
	linux_enables_and_disables(2);
}

static void a_stall_holds_accesses(void)
{
	struct rig rig = begin_mapped(1);

	wr(&rig, NPU_IOMMU_COMMAND, 2);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x1d);
	CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	wr(&rig, NPU_IOMMU_COMMAND, 3);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	end(&rig);
}

static void a_stall_needs_paging(void)
{
	struct rig rig = begin(1);

	wr(&rig, NPU_IOMMU_COMMAND, 2);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x18);
	end(&rig);
}

static void paging_is_disabled_during_a_stall_only(void)
{
	struct rig rig = begin_mapped(1);

	wr(&rig, NPU_IOMMU_COMMAND, 1);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x19);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	wr(&rig, NPU_IOMMU_COMMAND, 2);
	wr(&rig, NPU_IOMMU_COMMAND, 1);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x1c);
	end(&rig);
}

/* A driver that leaves a fault active finds its polls failing; a force reset helps. */
static void an_active_fault_keeps_the_bank_from_stalling(void)
{
	struct rig rig = begin_mapped(1);

	CHECK_EQUAL(translate(&rig, 0, false), 0);
	wr(&rig, NPU_IOMMU_COMMAND, 2);
	CHECK(!all_banks_have(&rig, 0x4));
	wr(&rig, NPU_IOMMU_COMMAND, 1);
	CHECK(all_banks_have(&rig, 0x1));
	wr(&rig, NPU_IOMMU_COMMAND, 6);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x18);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_INT_RAWSTAT), 0);
	end(&rig);
}

/* --- misbehaviour ------------------------------------------------------------------------- */

/*
 * A request is a command to every bank and a look at all of them: with one ignored, one request
 * fails, of core 0 with its two banks as well as of the others.
 */
static void one_request_fails(int core, uint32_t command, bool stalled_before)
{
	struct rig rig = begin_mapped(core);

	if (stalled_before)
		linux_stall(&rig);
	npu_iommu_ignore(rig.iommu, command, 1);
	CHECK_EQUAL(npu_iommu_ignores(rig.iommu, command), 1);
	wr(&rig, NPU_IOMMU_COMMAND, command);
	CHECK_EQUAL(all_banks_have(&rig, 0x4), stalled_before);
	CHECK_EQUAL(npu_iommu_ignores(rig.iommu, command), 0);
	wr(&rig, NPU_IOMMU_COMMAND, command);
	CHECK_EQUAL(all_banks_have(&rig, 0x4), !stalled_before);
	end(&rig);
}

static void an_ignored_stall_fails_one_request(void)
{
	one_request_fails(0, NPU_IOMMU_ENABLE_STALL, false);
	one_request_fails(2, NPU_IOMMU_ENABLE_STALL, false);
}

static void an_ignored_end_of_a_stall_fails_one_request(void)
{
	one_request_fails(0, NPU_IOMMU_DISABLE_STALL, true);
	one_request_fails(2, NPU_IOMMU_DISABLE_STALL, true);
}

static void commands_not_ignored_are_taken(void)
{
	struct rig rig = begin_mapped(0);

	npu_iommu_ignore(rig.iommu, NPU_IOMMU_DISABLE_STALL, 2);
	linux_stall(&rig);
	/* Of no meaning, and of no effect. */
	wr(&rig, NPU_IOMMU_COMMAND, 7);
	wr(&rig, NPU_IOMMU_COMMAND, 0xffffffff);
	CHECK_EQUAL(npu_iommu_ignores(rig.iommu, NPU_IOMMU_DISABLE_STALL), 2);
	wr(&rig, NPU_IOMMU_COMMAND, 6);
	CHECK_EQUAL(rd(&rig, NPU_IOMMU_STATUS), 0x18);
	CHECK_EQUAL(npu_iommu_ignores(rig.iommu, NPU_IOMMU_DISABLE_STALL), 2);
	end(&rig);
}

/* --- counts ------------------------------------------------------------------------------- */

static uint64_t attaches(struct rig *rig)
{
	uint64_t writes, attaches;

	npu_iommu_count(rig->iommu, &writes, &attaches);
	return attaches;
}

static void attaches_are_counted_once_for_both_banks(void)
{
	for (int core = 0; core < 2; core++) {
		struct rig rig = begin_mapped(core);

		CHECK_EQUAL(attaches(&rig), 1);
		linux_disable(&rig);
		CHECK_EQUAL(attaches(&rig), 1);
		linux_enable(&rig);
		CHECK_EQUAL(attaches(&rig), 2);
		end(&rig);
	}
}

/* Without a reset, and without paging ever off. */
static void another_directory_under_a_stall_is_an_attach(void)
{
	struct rig rig = begin_mapped(1);

	linux_stall(&rig);
	wr(&rig, NPU_IOMMU_DTE_ADDR, entry(DIRECTORY, VALID));
	CHECK_EQUAL(attaches(&rig), 1);
	wr(&rig, NPU_IOMMU_DTE_ADDR, entry(BASE + 10 * PAGE, VALID));
	linux_unstall(&rig);
	CHECK_EQUAL(attaches(&rig), 2);
	end(&rig);
}

static void every_write_of_a_bank_is_counted(void)
{
	uint64_t before, after, attaches;
	struct rig rig = begin(0);

	npu_iommu_count(rig.iommu, &before, &attaches);
	enable(&rig);
	npu_iommu_ignore(rig.iommu, NPU_IOMMU_ENABLE_STALL, 1);
	wr(&rig, NPU_IOMMU_COMMAND, 2);
	npu_iommu_count(rig.iommu, &after, &attaches);
	/* Four of enable() and a command, to two banks. */
	CHECK_EQUAL(after - before, 10);
	end(&rig);
}

/* --- banks -------------------------------------------------------------------------------- */

static void only_core_0_has_two_banks(void)
{
	for (int core = 0; core < 3; core++) {
		struct rig rig = begin(core);

		CHECK_EQUAL(npu_iommu_owns(rig.iommu, 0x9000), core == 0);
		CHECK(npu_iommu_owns(rig.iommu, 0xa000));
		CHECK(npu_iommu_owns(rig.iommu, 0xa0fc));
		CHECK(!npu_iommu_owns(rig.iommu, 0xa100));
		CHECK(!npu_iommu_owns(rig.iommu, 0x8ffc));
		CHECK(!npu_iommu_owns(rig.iommu, 0));
		end(&rig);
	}
}

static void both_banks_must_agree(void)
{
	struct rig rig = begin_mapped(0);

	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	npu_iommu_write(rig.iommu, BANK0 + NPU_IOMMU_COMMAND, 2);
	npu_iommu_write(rig.iommu, BANK0 + NPU_IOMMU_COMMAND, 1);
	npu_iommu_write(rig.iommu, BANK0 + NPU_IOMMU_COMMAND, 3);
	CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	npu_iommu_write(rig.iommu, BANK0 + NPU_IOMMU_COMMAND, 0);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	npu_iommu_write(rig.iommu, BANK0 + NPU_IOMMU_DTE_ADDR, entry(TABLE, VALID));
	CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	end(&rig);
}

/* --- what is cached ----------------------------------------------------------------------- */

static void a_translation_lives_until_it_is_zapped(void)
{
	struct rig rig = begin_mapped(1);

	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	set_entry(&rig, TABLE, 1, 0);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	for (uint32_t pages = 1; pages <= 512; pages *= 2)
		wr(&rig, NPU_IOMMU_ZAP_ONE_LINE, IOVA + pages * PAGE);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	wr(&rig, NPU_IOMMU_ZAP_ONE_LINE, IOVA);
	CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	end(&rig);
}

static void a_zap_must_reach_both_banks(void)
{
	for (uint32_t bank = BANK0; bank <= BANK1; bank += BANK1 - BANK0) {
		struct rig rig = begin_mapped(0);

		CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
		set_entry(&rig, TABLE, 1, entry(HIGH_DATA, RW));
		npu_iommu_write(rig.iommu, bank + NPU_IOMMU_ZAP_ONE_LINE, IOVA);
		CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
		wr(&rig, NPU_IOMMU_ZAP_ONE_LINE, IOVA);
		CHECK_EQUAL(translate(&rig, IOVA, false), HIGH_DATA);
		end(&rig);
	}
}

static void command_4_zaps_everything(void)
{
	struct rig rig = begin_mapped(1);

	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	CHECK_EQUAL(translate(&rig, HIGH_IOVA, false), HIGH_DATA);
	set_entry(&rig, TABLE, 1, entry(HIGH_DATA, RW));
	set_entry(&rig, HIGH_TABLE, 2, entry(DATA, RW));
	wr(&rig, NPU_IOMMU_COMMAND, 4);
	CHECK_EQUAL(translate(&rig, IOVA, false), HIGH_DATA);
	CHECK_EQUAL(translate(&rig, HIGH_IOVA, false), DATA);
	end(&rig);
}

static void another_directory_without_a_zap_leaves_old_translations(void)
{
	struct rig rig = begin_mapped(1);

	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	linux_stall(&rig);
	wr(&rig, NPU_IOMMU_COMMAND, 1);
	wr(&rig, NPU_IOMMU_DTE_ADDR, entry(BASE + 10 * PAGE, VALID));
	wr(&rig, NPU_IOMMU_COMMAND, 0);
	linux_unstall(&rig);
	CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
	CHECK_EQUAL(translate(&rig, HIGH_IOVA, false), 0);
	wr(&rig, NPU_IOMMU_COMMAND, 6);
	wr(&rig, NPU_IOMMU_DTE_ADDR, entry(BASE + 10 * PAGE, VALID));
	wr(&rig, NPU_IOMMU_COMMAND, 0);
	CHECK_EQUAL(translate(&rig, IOVA, false), 0);
	end(&rig);
}

/* Linux zaps nothing in the middle of what it maps. */
static void invalid_entries_are_not_cached(void)
{
	struct rig rig = begin_mapped(1);
	uint64_t pa;

	CHECK(!npu_iommu_translate(rig.iommu, 0x00409000, false, false, &pa));
	set_entry(&rig, TABLE, 9, entry(DATA, RW));
	CHECK_EQUAL(translate(&rig, 0x00409000, false), DATA);
	end(&rig);
}

/* Two pages of the same slot of a direct-mapped cache, whatever its size. */
static void pages_far_apart_do_not_take_each_others_place(void)
{
	struct rig rig = begin_mapped(1);
	uint32_t far = IOVA + 0x00400000 * 64;

	set_entry(&rig, DIRECTORY, 65, entry(HIGH_TABLE, VALID));
	set_entry(&rig, HIGH_TABLE, 1, entry(HIGH_DATA, RW));
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(translate(&rig, IOVA, false), DATA);
		CHECK_EQUAL(translate(&rig, far, false), HIGH_DATA);
	}
	end(&rig);
}

/* --- three cores at once ------------------------------------------------------------------ */

/*
 * Each thread is a core and the CPU that feeds it: pages of its own, tables in common. Under
 * -fsanitize=thread the CPU's stores and loads are not instrumented, as a guest's are not.
 */
#define STRESS_ROUNDS	3000

struct worker {
	struct rig *rig;
	struct npu_iommu *iommu;
	int core;
	unsigned int wrong;
};

__attribute__((no_sanitize("thread"))) static void cpu_store(uint8_t *to, uint8_t value)
{
	for (unsigned int i = 0; i < PAGE; i++)
		((volatile uint8_t *)to)[i] = value;
}

__attribute__((no_sanitize("thread"))) static bool cpu_sees(const uint8_t *from, uint8_t value)
{
	for (unsigned int i = 0; i < PAGE; i++)
		if (((volatile const uint8_t *)from)[i] != value)
			return false;
	return true;
}

static bool npu_copy(struct worker *worker, uint32_t from, uint32_t to)
{
	struct npu_access who = { .core = worker->core, .block = NPU_BLOCK_FEATURE, .iova = from };
	uint64_t source, target;
	uint8_t page[PAGE];

	return npu_iommu_translate(worker->iommu, from, false, true, &source) &&
	       npu_iommu_translate(worker->iommu, to, true, true, &target) &&
	       !npu_cache_read(worker->rig->cache, source, page, PAGE, &who) &&
	       !npu_cache_write(worker->rig->cache, target, page, PAGE, &who);
}

/* Table entries 16 + 2 * core and the next map pages 8 + 2 * core and the next. */
static void *work(void *opaque)
{
	struct worker *worker = opaque;
	struct npu_cache *cache = worker->rig->cache;
	uint32_t page = 8 + 2 * worker->core, iova = 0x00410000 + 2 * worker->core * PAGE;
	uint8_t *in = worker->rig->ram + page * PAGE, *out = in + PAGE;
	uint64_t pa = BASE + page * PAGE;

	for (unsigned int round = 1; round <= STRESS_ROUNDS; round++) {
		cpu_store(in, round);
		for (uint32_t at = 0; at < 2 * PAGE; at += LINE)
			npu_cache_clean(cache, pa + at);
		worker->wrong += !npu_copy(worker, iova, iova + PAGE);
		npu_cache_completion(cache);
		npu_iommu_write(worker->iommu, BANK1 + NPU_IOMMU_ZAP_ONE_LINE, iova);
		for (uint32_t at = PAGE; at < 2 * PAGE; at += LINE)
			npu_cache_invalidate(cache, pa + at);
		worker->wrong += !cpu_sees(out, round);
	}
	return NULL;
}

static void three_cores_at_once_keep_their_data(void)
{
	struct rig rig = begin_mode(0, NPU_CACHE_EVICT);
	struct worker workers[3];
	pthread_t threads[3];
	struct npu_report report;

	set_entry(&rig, DIRECTORY, 1, entry(TABLE, VALID));
	for (uint32_t i = 0; i < 6; i++)
		set_entry(&rig, TABLE, 16 + i, entry(BASE + (8 + i) * PAGE, RW));
	for (int i = 0; i < 3; i++) {
		struct rig core = { .iommu = npu_iommu_new(i, rig.cache) };

		enable(&core);
		workers[i] = (struct worker) { .rig = &rig, .iommu = core.iommu, .core = i };
		CHECK(!pthread_create(&threads[i], NULL, work, &workers[i]));
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQUAL(workers[i].wrong, 0);
		npu_iommu_free(workers[i].iommu);
	}
	npu_cache_report(rig.cache, &report);
	CHECK_EQUAL(report.stale_reads, 0);
	CHECK_EQUAL(report.results_lost, 0);
	end(&rig);
}

int main(void)
{
	RUN(walks_reach_forty_bits);
	RUN(offsets_in_a_page_are_kept);
	RUN(an_uncleaned_table_is_a_stale_walk);
	RUN(a_dirty_neighbour_does_not_make_a_walk_stale);
	RUN(an_entry_without_its_valid_bit_is_none);
	RUN(permissions_are_enforced);
	RUN(tables_outside_ram_are_a_bus_error);
	RUN(a_fault_is_recorded_and_blocks_until_it_is_done);
	RUN(a_read_fault_says_so);
	RUN(the_mask_silences_a_fault);
	RUN(a_probe_leaves_no_fault);
	RUN(without_paging_nothing_is_translated_and_nothing_said);
	RUN(linux_enables_and_disables_core_0);
	RUN(linux_enables_and_disables_core_2);
	RUN(a_stall_holds_accesses);
	RUN(a_stall_needs_paging);
	RUN(paging_is_disabled_during_a_stall_only);
	RUN(an_active_fault_keeps_the_bank_from_stalling);
	RUN(an_ignored_stall_fails_one_request);
	RUN(an_ignored_end_of_a_stall_fails_one_request);
	RUN(commands_not_ignored_are_taken);
	RUN(attaches_are_counted_once_for_both_banks);
	RUN(another_directory_under_a_stall_is_an_attach);
	RUN(every_write_of_a_bank_is_counted);
	RUN(only_core_0_has_two_banks);
	RUN(both_banks_must_agree);
	RUN(a_translation_lives_until_it_is_zapped);
	RUN(a_zap_must_reach_both_banks);
	RUN(command_4_zaps_everything);
	RUN(another_directory_without_a_zap_leaves_old_translations);
	RUN(invalid_entries_are_not_cached);
	RUN(pages_far_apart_do_not_take_each_others_place);
	RUN(three_cores_at_once_keep_their_data);
	return test_result();
}

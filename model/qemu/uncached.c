// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory that the guest maps without caching (write-combined buffers, DMA memory of non-coherent
 * devices, and everything while a CPU's MMU is off) is never maintained: the model's cache must
 * know it. QEMU ignores such attributes, but the vCPU's software TLB keeps them: whenever it is
 * filled for data, the attributes of the page are told to the cache.
 *
 * The last fill decides. The kernel keeps a cacheable alias of all of RAM, but does not use it
 * while an uncached one exists.
 */
#include "qemu/osdep.h"
#include "board.h"

#include "cpu.h"
#include "exec/cpu_ldst.h"
#include "hw/core/tcg-cpu-ops.h"
#include "internals.h"

/* What QEMU calls has no room for a pointer of ours; there is one board. */
static struct {
	struct npu_cache *cache;
	struct TCGCPUOps ops;
	bool (*fill)(CPUState *cs, vaddr addr, int size, MMUAccessType type, int mmu_idx,
		     bool probe, uintptr_t retaddr);
} hook;

/* An attribute byte of MAIR_ELx: device memory, or outer non-cacheable. */
static bool is_uncached(uint8_t attributes)
{
	return (attributes & 0xf0) == 0x00 || (attributes & 0xf0) == 0x40;
}

/*
 * Walks of page tables fill the TLB too, by physical address and with attributes that are not
 * theirs.
 */
static bool is_data_access(MMUAccessType type, int mmu_idx)
{
	return type != MMU_INST_FETCH && mmu_idx < arm_to_core_mmu_idx(ARMMMUIdx_Phys_NS);
}

/* Does not return from a fault. */
static bool fill_tlb(CPUState *cs, vaddr addr, int size, MMUAccessType type, int mmu_idx,
		     bool probe, uintptr_t retaddr)
{
	CPUARMState *env = cs->env_ptr;
	const CPUTLBEntryFull *full;

	if (!hook.fill(cs, addr, size, type, mmu_idx, probe, retaddr))
		return false;
	if (is_data_access(type, mmu_idx)) {
		full = &env_tlb(env)->d[mmu_idx].fulltlb[tlb_index(env, mmu_idx, addr)];
		npu_cache_set_uncached(hook.cache, full->phys_addr,
				       is_uncached(full->pte_attrs));
	}
	return true;
}

void board_uncached_init(OrkBoard *board)
{
	CPUClass *cc = first_cpu->cc;

	hook.cache = board->cache;
	hook.ops = *cc->tcg_ops;
	hook.fill = hook.ops.tlb_fill;
	hook.ops.tlb_fill = fill_tlb;
	/* All CPUs of the machine are of one class. */
	cc->tcg_ops = &hook.ops;
}

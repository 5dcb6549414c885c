// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's data-cache instructions by address, which QEMU otherwise translates to nothing, act
 * on the model's cache.
 *
 * The address is translated through the vCPU's own software TLB, as for a load: right after any
 * remapping, since the TLB is flushed when the guest says so, and as fast as a load that misses
 * QEMU's inlined path. Nothing is remembered here.
 *
 * Cleaning to the point of unification (dc cvau) is about instruction fetch and never reaches DRAM;
 * dc zva writes memory as stores do. Both are left alone, and so are operations by set and way,
 * which say nothing about an address.
 */
#include "qemu/osdep.h"
#include "board.h"

#include "cpu.h"
#include "cpregs.h"
#include "exec/exec-all.h"
#include "qemu/memalign.h"

/* SYS #op1, C7, CRm, #1 */
static const struct {
	const char *name;
	uint8_t op1, crm;
	void (*apply)(struct npu_cache *cache, uint64_t pa);
} dc_ops[DC_KINDS] = {
	[DC_CVAC] = { "cvac", 3, 10, npu_cache_clean },
	[DC_CVAP] = { "cvap", 3, 12, npu_cache_clean },
	[DC_CVADP] = { "cvadp", 3, 13, npu_cache_clean },
	[DC_CIVAC] = { "civac", 3, 14, npu_cache_clean_invalidate },
	[DC_IVAC] = { "ivac", 0, 6, npu_cache_invalidate },
};

/*
 * The physical address of RAM behind @va. An address that is not mapped has nothing in the cache
 * and is no error here, where real CPUs may raise a fault: handling that fault could only map a
 * page without dirty lines.
 */
static bool ram_address(OrkBoard *board, CPUARMState *env, uint64_t va, uint64_t *pa)
{
	void *host;
	uint64_t offset;

	probe_access_flags(env, va, MMU_DATA_LOAD, cpu_mmu_index(env, false), true, &host, 0);
	offset = (uint8_t *)host - board->ram;
	if (!host || offset >= MACHINE(board)->ram_size)
		return false;
	*pa = BOARD_RAM_BASE + offset;
	return true;
}

static void count(const struct dc_hook *hook, CPUARMState *env)
{
	uint64_t *n = &hook->board->dc_counts[env_cpu(env)->cpu_index].n[hook->kind];

	/* One writer: atomic for the readers' sake only. */
	qatomic_set(n, *n + 1);
}

static void dc_write(CPUARMState *env, const ARMCPRegInfo *ri, uint64_t va)
{
	const struct dc_hook *hook = ri->opaque;
	uint64_t pa;

	count(hook, env);
	if (ram_address(hook->board, env, va, &pa))
		hook->apply(hook->board->cache, pa);
}

static void hook_dc(OrkBoard *board, ARMCPU *cpu, enum dc_kind kind)
{
	uint32_t key = ENCODE_AA64_CP_REG(CP_REG_ARM64_SYSREG_CP, 7, dc_ops[kind].crm, 1,
					  dc_ops[kind].op1, 1);
	ARMCPRegInfo *ri = (ARMCPRegInfo *)get_arm_cp_reginfo(cpu->cp_regs, key);

	/* Older CPUs lack the persistence kinds. */
	if (!ri)
		return;
	ri->type &= ~ARM_CP_SPECIAL_MASK;
	/*
	 * Changes no CPU state: the translation block may go on, which makes the hook several times
	 * cheaper.
	 */
	ri->type |= ARM_CP_NO_RAW | ARM_CP_SUPPRESS_TB_END;
	ri->writefn = dc_write;
	ri->opaque = &board->dc_hook[kind];
}

void board_dcache_init(OrkBoard *board)
{
	CPUState *cs;
	size_t bytes = MACHINE(board)->smp.max_cpus * sizeof(struct dc_counts);

	board->dc_counts = memset(qemu_memalign(sizeof(struct dc_counts), bytes), 0, bytes);
	for (int kind = 0; kind < DC_KINDS; kind++) {
		board->dc_hook[kind] = (struct dc_hook){ board, kind, dc_ops[kind].apply };
		CPU_FOREACH(cs)
			hook_dc(board, ARM_CPU(cs), kind);
	}
}

uint64_t board_dc_count(OrkBoard *board, enum dc_kind kind)
{
	uint64_t sum = 0;

	for (unsigned int cpu = 0; cpu < MACHINE(board)->smp.max_cpus; cpu++)
		sum += qatomic_read(&board->dc_counts[cpu].n[kind]);
	return sum;
}

uint64_t board_dc_total(OrkBoard *board)
{
	uint64_t sum = 0;

	for (int kind = 0; kind < DC_KINDS; kind++)
		sum += board_dc_count(board, kind);
	return sum;
}

const char *board_dc_name(enum dc_kind kind)
{
	return dc_ops[kind].name;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registers by which tests in the guest watch the board, and make it misbehave: ork-board.h.
 * All under the BQL.
 */
#include "qemu/osdep.h"
#include "board.h"

#include "exec/address-spaces.h"

/* Where a core's misbehaviour is kept, if it is the device's. */
static uint32_t *device_knob(OrkCore *core, hwaddr reg)
{
	switch (reg) {
	case ORK_BOARD_CORE_STRETCH_US:
		return &core->stretch_us;
	case ORK_BOARD_CORE_DROP:
		return &core->drop;
	case ORK_BOARD_CORE_IGNORE:
		return &core->ignore;
	case ORK_BOARD_CORE_LATE_US:
		return &core->late_us;
	case ORK_BOARD_CORE_FAULT_LATE_US:
		return &core->fault_late_us;
	case ORK_BOARD_CORE_RESET_FAILS:
		return &core->reset_fails;
	case ORK_BOARD_CORE_NOISY_RESETS:
		return &core->noisy_resets;
	}
	return NULL;
}

/* Which misbehaviour it is, if it is the model's. */
static bool model_knob(hwaddr reg, enum npu_misbehaviour *what)
{
	switch (reg) {
	case ORK_BOARD_CORE_STORM:
		*what = NPU_STORM;
		return true;
	case ORK_BOARD_CORE_STALL_ON_IGNORED:
		*what = NPU_STALL_ON_IGNORED;
		return true;
	case ORK_BOARD_CORE_STALL_OFF_IGNORED:
		*what = NPU_STALL_OFF_IGNORED;
		return true;
	}
	return false;
}

static uint32_t read_knob(OrkCore *core, hwaddr reg)
{
	uint32_t *knob = device_knob(core, reg);
	enum npu_misbehaviour what;

	if (knob)
		return *knob;
	return model_knob(reg, &what) ? npu_core_misbehaves(core->npu, what) : 0;
}

static void write_core_register(OrkCore *core, hwaddr reg, uint32_t value)
{
	uint32_t *knob = device_knob(core, reg);
	enum npu_misbehaviour what;

	if (reg == ORK_BOARD_CORE_SPURIOUS)
		board_core_spurious(core);
	else if (knob)
		qatomic_set(knob, value);
	else if (model_knob(reg, &what))
		npu_core_misbehave(core->npu, what, value);
	board_core_changed(core);
}

static uint32_t core_register(OrkBoard *board, unsigned int core, hwaddr reg)
{
	const struct npu_core_stats *zero = &board->zero_stats[core];
	struct npu_core_stats now;

	npu_core_stats(board->core[core]->npu, &now);
	switch (reg) {
	case ORK_BOARD_CORE_KICKS:
		return now.kicks - zero->kicks;
	case ORK_BOARD_CORE_PROGRAMS:
		return now.programs - zero->programs;
	case ORK_BOARD_CORE_INTERRUPTS:
		return now.interrupts - zero->interrupts;
	case ORK_BOARD_CORE_REGISTER_WRITES:
		return now.register_writes - zero->register_writes;
	case ORK_BOARD_CORE_HANG:
		return now.hang;
	case ORK_BOARD_CORE_FAULTS:
		return now.faults - zero->faults;
	}
	return read_knob(board->core[core], reg);
}

static uint32_t board_register(OrkBoard *board, hwaddr offset)
{
	const struct npu_report *zero = &board->zero_report;
	struct npu_report now;

	npu_cache_report(board->cache, &now);
	switch (offset) {
	case ORK_BOARD_MAGIC:
		return ORK_BOARD_MAGIC_VALUE;
	case ORK_BOARD_VERSION:
		return ORK_BOARD_VERSION_VALUE;
	case ORK_BOARD_STALE_READS:
		return now.stale_reads - zero->stale_reads;
	case ORK_BOARD_RESULTS_LOST:
		return now.results_lost - zero->results_lost;
	case ORK_BOARD_LINES_CLEANED:
		return now.lines_cleaned - zero->lines_cleaned;
	case ORK_BOARD_LINES_INVALIDATED:
		return now.lines_invalidated - zero->lines_invalidated;
	case ORK_BOARD_LATENCY_US:
		return qatomic_read(&board->latency_us);
	case ORK_BOARD_LINES_EVICTED:
		return now.lines_evicted - zero->lines_evicted;
	case ORK_BOARD_DC_INSTRUCTIONS:
		return board_dc_total(board) - board->zero_dc;
	case ORK_BOARD_CACHE_MODE:
		return board->cache_mode;
	}
	return 0;
}

static uint32_t measure_register(OrkBoard *board, unsigned int core, hwaddr reg)
{
	const struct npu_core_stats *zero = &board->zero_stats[core];
	const struct board_gaps *gaps = &board->core[core]->gaps;
	struct npu_core_stats now;

	npu_core_stats(board->core[core]->npu, &now);
	switch (reg) {
	case ORK_BOARD_MEASURE_GAPS:
		return gaps->count;
	case ORK_BOARD_MEASURE_GAP_NS:
		return gaps->total_ns;
	case ORK_BOARD_MEASURE_GAP_NS_HIGH:
		return gaps->total_ns >> 32;
	case ORK_BOARD_MEASURE_GAP_NS_MIN:
		return gaps->min_ns;
	case ORK_BOARD_MEASURE_BUSY_NS:
		return board_core_busy_ns(board->core[core]);
	case ORK_BOARD_MEASURE_BUSY_NS_HIGH:
		return board_core_busy_ns(board->core[core]) >> 32;
	case ORK_BOARD_MEASURE_IOMMU_WRITES:
		return now.iommu_writes - zero->iommu_writes;
	case ORK_BOARD_MEASURE_IOMMU_ATTACHES:
		return now.iommu_attaches - zero->iommu_attaches;
	case ORK_BOARD_MEASURE_ACCESSES_IN_RESET:
		return board->core[core]->accesses_in_reset;
	}
	return 0;
}

/* A block of registers that each core has. */
struct core_block {
	hwaddr first, stride;
};

static const struct core_block core_block = {
	ORK_BOARD_CORE(0, 0), ORK_BOARD_CORE(1, 0) - ORK_BOARD_CORE(0, 0),
};
static const struct core_block measure_block = {
	ORK_BOARD_MEASURE(0, 0), ORK_BOARD_MEASURE(1, 0) - ORK_BOARD_MEASURE(0, 0),
};

/* The core and its register behind @offset; false if it is not in the block. */
static bool is_in(const struct core_block *block, hwaddr offset, unsigned int *core, hwaddr *reg)
{
	if (offset < block->first || offset >= block->first + ORK_MAX_CORES * block->stride)
		return false;
	*core = (offset - block->first) / block->stride;
	*reg = (offset - block->first) % block->stride;
	return true;
}

static uint64_t control_read(void *opaque, hwaddr offset, unsigned int size)
{
	unsigned int core;
	hwaddr reg;

	if (is_in(&core_block, offset, &core, &reg))
		return core_register(opaque, core, reg);
	if (is_in(&measure_block, offset, &core, &reg))
		return measure_register(opaque, core, reg);
	return board_register(opaque, offset);
}

static void zero_counters(OrkBoard *board)
{
	npu_cache_report(board->cache, &board->zero_report);
	for (unsigned int i = 0; i < ORK_MAX_CORES; i++) {
		npu_core_stats(board->core[i]->npu, &board->zero_stats[i]);
		board_core_zero(board->core[i]);
	}
	board->zero_dc = board_dc_total(board);
}

static void set_latency(OrkBoard *board, uint32_t us)
{
	qatomic_set(&board->latency_us, us);
	for (unsigned int i = 0; i < ORK_MAX_CORES; i++)
		board_core_changed(board->core[i]);
}

static void control_write(void *opaque, hwaddr offset, uint64_t value, unsigned int size)
{
	OrkBoard *board = opaque;
	unsigned int core;
	hwaddr reg;

	if (is_in(&core_block, offset, &core, &reg)) {
		write_core_register(board->core[core], reg, value);
		return;
	}
	switch (offset) {
	case ORK_BOARD_LATENCY_US:
		set_latency(board, value);
		break;
	case ORK_BOARD_EVICT:
		if (value == 1)
			npu_cache_evict(board->cache);
		break;
	case ORK_BOARD_ZERO:
		zero_counters(board);
		break;
	case ORK_BOARD_LOG:
		board_log_write(board);
		break;
	}
}

static const MemoryRegionOps control_ops = {
	.read = control_read,
	.write = control_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 4, .max_access_size = 4 },
};

void board_control_init(OrkBoard *board)
{
	memory_region_init_io(&board->control_mmio, OBJECT(board), &control_ops, board, "ork-board",
			      ORK_BOARD_BLOCK_BYTES);
	memory_region_add_subregion(get_system_memory(), ORK_BOARD_CONTROL_BASE,
				    &board->control_mmio);
}

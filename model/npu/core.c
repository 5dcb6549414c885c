// SPDX-License-Identifier: MIT
/*
 * One core's program controller: the register file with its shadow groups, the fetch of programs,
 * the interrupts.
 *
 * Where what is known of the hardware leaves room, the model takes the reading that forgives a
 * driver less:
 *  - OPERATION_ENABLE starts a chain on its rising edge, from the values that the PC's registers
 *    have then (vendor facts 3.5: one driver pulses it, the other holds it).
 *  - Of a program that a chain goes on from, the stream must set both the next address and the next
 *    amount.
 *  - The enable word ends a program, right after the sync word. Behind it, but for the word that
 *    fills its beat, only no-ops may have been fetched: an amount that reaches into something else
 *    is a mismatch.
 *  - The CPU's writes land in blocks other than the PC in slave mode only, and blocks are started
 *    by streams only.
 *  - S_POINTER's POINTER bit is taken where POINTER_PP_EN is not written with it: streams write 0xe
 *    to an S_POINTER in every program, yet groups alternate (vendor facts 3.8).
 *  - TASK_CON reads back without bits 13 and 14 (ork-driver facts 2.2), TASK_NUMBER counts from the
 *    kick.
 *
 * Locks: @lock guards all of struct npu_core that is not said to be otherwise. It is taken before
 * the locks of IOMMU and cache and never held over a callback. While @touching, the running thread
 * is between lock and memory: npu_core_reset() waits for that to end, and for nothing else, so a
 * reset may overtake a run that is in a callback. The one callback out of reach is the cache's log:
 * it must not wait for a reset.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

/*
 * The sum is known from boards, the two parts are not: unequal to zero, they show a driver that
 * reads only one.
 */
#define VERSION_NUM		0x00005245u
#define VERSION			(ORK_HW_VERSION_RK3588 - VERSION_NUM)

#define MAC_GATING_RESET	0x07800800u
#define ALL_BLOCKS		(ORK_CORE_WINDOW >> NPU_BLOCK_SHIFT)
#define BLOCK_WORDS		(NPU_BLOCK_BYTES / sizeof(uint32_t))

/*
 * Offsets that every block with shadow groups has. From OPERATION_ENABLE on a register exists once
 * in each group.
 */
#define S_STATUS		0x0u
#define S_POINTER		0x4u
#define OPERATION_ENABLE	0x8u
#define S_POINTER_KEPT		(ORK_S_POINTER_POINTER_PP_EN | ORK_S_POINTER_EXECUTER_PP_EN | \
				 ORK_S_POINTER_POINTER_PP_MODE | ORK_S_POINTER_CORE)

/*
 * DRAM bandwidth of the estimate, an assumption: half the peak of 64 bits of LPDDR4X-4224, at an
 * NPU clock of 1 GHz.
 */
#define ESTIMATE_BYTES_PER_CYCLE	16u

struct block {
	uint32_t config;		/* S_POINTER_KEPT of S_POINTER */
	uint32_t pointer, executer;	/* groups: that registers are written to, that executes */
	uint32_t started;		/* one bit a group: to be executed, or executing */
	uint32_t group[2][BLOCK_WORDS];
};

/* In the order of their bits in the enable word. */
static const struct {
	uint32_t enable, index, interrupts;	/* interrupts: of both groups */
} units[] = {
	{ ORK_ENABLE_CNA, ORK_CNA_S_STATUS >> NPU_BLOCK_SHIFT,
	  ORK_INT_CNA_FEATURE | ORK_INT_CNA_WEIGHT | ORK_INT_CNA_CSC },
	{ ORK_ENABLE_CORE, ORK_CORE_S_STATUS >> NPU_BLOCK_SHIFT, ORK_INT_CORE },
	{ ORK_ENABLE_DPU, ORK_DPU_S_STATUS >> NPU_BLOCK_SHIFT, ORK_INT_DPU },
	{ ORK_ENABLE_RDMA, ORK_RDMA_S_STATUS >> NPU_BLOCK_SHIFT, 0 },
	{ ORK_ENABLE_PPU, ORK_PPU_S_STATUS >> NPU_BLOCK_SHIFT, ORK_INT_PPU },
	{ ORK_ENABLE_PPU_RDMA, ORK_PPU_RDMA_S_STATUS >> NPU_BLOCK_SHIFT, 0 },
};

#define CONVOLUTION	(ORK_ENABLE_CNA | ORK_ENABLE_CORE | ORK_ENABLE_DPU)
/* Interrupt bits of group 0; those of group 1 are one higher. All of them tell of a completion. */
#define GROUP_0		0x00000555u
#define COMPLETION	(GROUP_0 | GROUP_0 << 1)

enum state {
	IDLE,
	KICKED,		/* npu_core_run() is due */
	RUNNING,	/* or hung, until a reset */
};

/* What a kick takes from the PC's registers, and streams change. */
struct chain {
	uint32_t generation;
	uint32_t address, amount;	/* of the next program; 0 where the stream has not said */
	uint32_t left;			/* programs */
	uint32_t dma_base;
};

struct npu_core {
	int index;
	struct npu_cache *cache;
	struct npu_iommu *iommu;	/* has a lock of its own */
	struct npu_core_ops ops;
	void *opaque;

	pthread_mutex_t lock;
	pthread_cond_t quiet;		/* @touching became false */
	_Atomic uint32_t generation;	/* of resets; moves on under @lock, is looked at without */
	bool touching;

	uint32_t operation_enable, base_address, amount, mask, raw, task_con, dma_base, counter;
	struct block *blocks[ALL_BLOCKS];
	enum state state;
	struct chain kicked;
	enum npu_window_mode window;
	bool storm;
	struct npu_core_stats stats;	/* without the IOMMU's */

	bool line;			/* level last told */
	bool telling;			/* a thread is in the irq callback, and will tell what has changed since */

	/* Of the running thread while @touching, else of @lock */
	struct npu_cbuf *cbuf;
	uint64_t *words;
};

bool npu_rules_hold(const struct npu_regs *regs, const struct npu_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((npu_reg(regs, rules[i].reg) & rules[i].mask) != rules[i].value)
			return false;
	return true;
}

/* --- the interrupt line ----------------------------------------------------------------------- */

static bool level(struct npu_core *core)
{
	return (core->raw & core->mask & ORK_INT_ALL) || npu_iommu_irq(core->iommu);
}

/*
 * @lock is held, and dropped while the callback runs. One thread tells at a time, so the last level
 * told is the true one.
 */
static void update_line(struct npu_core *core)
{
	bool now;

	if (core->telling)
		return;
	core->telling = true;
	while ((now = level(core)) != core->line) {
		core->line = now;
		if (!core->ops.irq)
			continue;
		pthread_mutex_unlock(&core->lock);
		core->ops.irq(core->opaque, now);
		pthread_mutex_lock(&core->lock);
	}
	core->telling = false;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static struct block *block_at(struct npu_core *core, uint32_t offset)
{
	return core->blocks[offset >> NPU_BLOCK_SHIFT];
}

static uint32_t *block_register(struct block *block, uint32_t offset)
{
	return &block->group[block->pointer][offset % NPU_BLOCK_BYTES / sizeof(uint32_t)];
}

static uint32_t read_s_status(const struct block *block)
{
	return block->started & 1u << block->executer ? 1u << 16 * block->executer : 0;
}

static void write_s_pointer(struct block *block, uint32_t value)
{
	block->config = value & S_POINTER_KEPT;
	if (!(value & ORK_S_POINTER_POINTER_PP_EN))
		block->pointer = value & ORK_S_POINTER_POINTER;
	if (value & ORK_S_POINTER_POINTER_PP_CLEAR)
		block->pointer = 0;
	if (value & ORK_S_POINTER_EXECUTER_PP_CLEAR)
		block->executer = 0;
}

static uint32_t read_block(struct block *block, uint32_t offset)
{
	switch (offset % NPU_BLOCK_BYTES) {
	case S_STATUS:
		return read_s_status(block);
	case S_POINTER:
		return block->config | block->pointer | ORK_PREP(ORK_S_POINTER_EXECUTER, block->executer);
	case OPERATION_ENABLE:
		return block->started >> block->pointer & 1;
	default:
		return *block_register(block, offset);
	}
}

/* Not a start: streams start blocks by their enable word. */
static void write_block(struct block *block, uint32_t offset, uint32_t value)
{
	switch (offset % NPU_BLOCK_BYTES) {
	case S_STATUS:
	case OPERATION_ENABLE:
		break;
	case S_POINTER:
		write_s_pointer(block, value);
		break;
	default:
		*block_register(block, offset) = value;
	}
}

/* False if the group just written is not the one whose turn it is: then the block waits for ever. */
static bool start_block(struct block *block)
{
	block->started |= 1u << block->pointer;
	if ((block->config & ORK_S_POINTER_POINTER_PP_EN) && (block->config & ORK_S_POINTER_POINTER_PP_MODE))
		block->pointer ^= 1;
	return block->started & 1u << block->executer;
}

static void finish_block(struct block *block)
{
	block->started &= ~(1u << block->executer);
	if (!(block->config & ORK_S_POINTER_EXECUTER_PP_EN))
		return;
	block->executer ^= 1;
	if ((block->config & ORK_S_POINTER_POINTER_PP_EN) && !(block->config & ORK_S_POINTER_POINTER_PP_MODE))
		block->pointer ^= 1;
}

static bool start_blocks(struct npu_core *core, uint32_t enable)
{
	bool all = true;

	for (size_t i = 0; i < NPU_ARRAY_SIZE(units); i++)
		if (enable & units[i].enable)
			all &= start_block(core->blocks[units[i].index]);
	return all;
}

/* Interrupt bits of the groups that execute, or would if they were started. */
static uint32_t group_interrupts(const struct npu_core *core, uint32_t enable)
{
	uint32_t interrupts = 0;

	for (size_t i = 0; i < NPU_ARRAY_SIZE(units); i++)
		if (enable & units[i].enable)
			interrupts |= units[i].interrupts & GROUP_0 << core->blocks[units[i].index]->executer;
	return interrupts;
}

static void finish_blocks(struct npu_core *core, uint32_t enable)
{
	for (size_t i = 0; i < NPU_ARRAY_SIZE(units); i++)
		if (enable & units[i].enable)
			finish_block(core->blocks[units[i].index]);
}

static struct npu_regs executing(struct npu_core *core)
{
	struct npu_regs regs = { 0 };

	for (size_t i = 0; i < NPU_ARRAY_SIZE(units); i++) {
		struct block *block = core->blocks[units[i].index];

		regs.block[units[i].index] = block->group[block->executer];
	}
	return regs;
}

/* --- registers, by the CPU -------------------------------------------------------------------- */

static uint32_t raw_status(const struct npu_core *core)
{
	return core->raw | (core->state == IDLE ? ORK_INT_RAW_IDLE : 0);
}

static uint32_t read_pc(const struct npu_core *core, uint32_t offset)
{
	switch (offset) {
	case ORK_PC_VERSION:
		return VERSION;
	case ORK_PC_VERSION_NUM:
		return VERSION_NUM;
	case ORK_PC_OPERATION_ENABLE:
		return core->operation_enable;
	case ORK_PC_BASE_ADDRESS:
		return core->base_address;
	case ORK_PC_REGISTER_AMOUNTS:
		return core->amount;
	case ORK_PC_INTERRUPT_MASK:
		return core->mask;
	case ORK_PC_INTERRUPT_STATUS:
		return core->raw & core->mask;
	case ORK_PC_INTERRUPT_RAW_STATUS:
		return raw_status(core);
	case ORK_PC_TASK_CON:
		return core->task_con;
	case ORK_PC_TASK_DMA_BASE_ADDR:
		return core->dma_base;
	case ORK_PC_TASK_STATUS:
		return core->counter;
	default:
		return 0;
	}
}

/* Returns whether that kicked the core. */
static bool write_operation_enable(struct npu_core *core, uint32_t value)
{
	bool edge = !core->operation_enable && (value & ORK_PC_OPERATION_ENABLE_OP_EN);

	core->operation_enable = value & ORK_PC_OPERATION_ENABLE_OP_EN;
	if (!edge || core->base_address & ORK_PC_BASE_ADDRESS_PC_SEL || core->state != IDLE)
		return false;
	core->state = KICKED;
	core->stats.kicks++;
	core->kicked = (struct chain) {
		.generation = core->generation,
		.address = core->base_address,
		.amount = core->amount,
		.left = ORK_GET(ORK_PC_TASK_CON_TASK_NUMBER, core->task_con),
		.dma_base = core->dma_base,
	};
	return true;
}

static void write_task_con(struct npu_core *core, uint32_t value)
{
	core->task_con = value & (ORK_PC_TASK_CON_TASK_PP_EN | ORK_PC_TASK_CON_TASK_NUMBER);
	if (value & ORK_PC_TASK_CON_TASK_COUNT_CLEAR)
		core->counter = 0;
}

static void clear_interrupts(struct npu_core *core, uint32_t value)
{
	uint32_t back = core->storm ? core->raw & core->mask & COMPLETION : 0;

	core->raw = (core->raw & ~value) | back;
}

static bool write_pc(struct npu_core *core, uint32_t offset, uint32_t value)
{
	switch (offset) {
	case ORK_PC_OPERATION_ENABLE:
		return write_operation_enable(core, value);
	case ORK_PC_BASE_ADDRESS:
		core->base_address = value & (ORK_PC_BASE_ADDRESS_PC_SOURCE_ADDR | ORK_PC_BASE_ADDRESS_PC_SEL);
		break;
	case ORK_PC_REGISTER_AMOUNTS:
		core->amount = value & ORK_PC_REGISTER_AMOUNTS_PC_DATA_AMOUNT;
		break;
	case ORK_PC_INTERRUPT_MASK:
		core->mask = value & ORK_INT_ALL;
		break;
	case ORK_PC_INTERRUPT_CLEAR:
	case ORK_PC_INTERRUPT_STATUS:		/* the manual has these two cleared by writes as well */
	case ORK_PC_INTERRUPT_RAW_STATUS:
		clear_interrupts(core, value);
		break;
	case ORK_PC_TASK_CON:
		write_task_con(core, value);
		break;
	case ORK_PC_TASK_DMA_BASE_ADDR:
		core->dma_base = value & ORK_PC_TASK_DMA_BASE_ADDR_DMA_BASE_ADDR;
		break;
	default:
		break;
	}
	return false;
}

uint32_t npu_core_read(struct npu_core *core, uint32_t offset)
{
	struct block *block = block_at(core, offset);
	uint32_t value = 0;

	if (npu_iommu_owns(core->iommu, offset))
		return npu_iommu_read(core->iommu, offset);
	pthread_mutex_lock(&core->lock);
	if (block)
		value = read_block(block, offset);
	else if (offset < NPU_BLOCK_BYTES)
		value = read_pc(core, offset);
	pthread_mutex_unlock(&core->lock);
	return value;
}

void npu_core_write(struct npu_core *core, uint32_t offset, uint32_t value)
{
	struct block *block = block_at(core, offset);
	bool iommu = npu_iommu_owns(core->iommu, offset), kick = false;

	if (iommu)
		npu_iommu_write(core->iommu, offset, value);
	pthread_mutex_lock(&core->lock);
	core->stats.register_writes += !iommu;
	if (block && (core->base_address & ORK_PC_BASE_ADDRESS_PC_SEL))
		write_block(block, offset, value);
	else if (offset < NPU_BLOCK_BYTES)
		kick = write_pc(core, offset, value);
	update_line(core);
	pthread_mutex_unlock(&core->lock);
	if (kick && core->ops.kick)
		core->ops.kick(core->opaque);
}

/* --- registers, by a stream ------------------------------------------------------------------- */

/* Of a target the bits that select: streams set lower ones without effect (vendor facts 3.1). */
#define TARGET_SELECT	0xffc0u
#define SELECT(target)	((target) & TARGET_SELECT)

static enum npu_hang stream_pc(struct chain *chain, uint32_t reg, uint32_t value)
{
	switch (reg) {
	case ORK_PC_BASE_ADDRESS:
		chain->address = value;
		return NPU_OK;
	case ORK_PC_REGISTER_AMOUNTS:
		chain->amount = value & ORK_PC_REGISTER_AMOUNTS_PC_DATA_AMOUNT;
		return NPU_OK;
	default:
		return NPU_HANG_UNSUPPORTED;
	}
}

/* Index of the block that a word's target selects; 0 if none, or more than one. */
static uint32_t target_block(uint32_t select)
{
	switch (select) {
	case SELECT(ORK_TARGET_CNA):
		return ORK_CNA_S_STATUS >> NPU_BLOCK_SHIFT;
	case SELECT(ORK_TARGET_CORE):
		return ORK_CORE_S_STATUS >> NPU_BLOCK_SHIFT;
	case SELECT(ORK_TARGET_DPU):
		return ORK_DPU_S_STATUS >> NPU_BLOCK_SHIFT;
	case SELECT(ORK_TARGET_RDMA):
		return ORK_RDMA_S_STATUS >> NPU_BLOCK_SHIFT;
	case SELECT(ORK_TARGET_PPU):
		return ORK_PPU_S_STATUS >> NPU_BLOCK_SHIFT;
	case SELECT(ORK_TARGET_PPU_RDMA):
		return ORK_PPU_RDMA_S_STATUS >> NPU_BLOCK_SHIFT;
	default:
		return 0;
	}
}

static bool is_no_op(uint64_t word)
{
	return !(word & ~ORK_REGCMD(1, 0, 0));
}

static bool is_sync(uint64_t word)
{
	return SELECT(ORK_REGCMD_TARGET(word)) == SELECT(ORK_TARGET_SYNC);
}

static bool is_enable(uint64_t word)
{
	return SELECT(ORK_REGCMD_TARGET(word)) == SELECT(ORK_TARGET_ENABLE);
}

static enum npu_hang stream_word(struct npu_core *core, struct chain *chain, uint64_t word)
{
	uint32_t select = SELECT(ORK_REGCMD_TARGET(word)), reg = ORK_REGCMD_REG(word), value = ORK_REGCMD_VALUE(word);
	uint32_t index = target_block(select);

	if (is_no_op(word) || is_sync(word))
		return NPU_OK;
	if (select == SELECT(ORK_TARGET_PC))
		return stream_pc(chain, reg, value);
	if (!index || reg >> NPU_BLOCK_SHIFT != index || reg % sizeof(uint32_t))
		return NPU_HANG_PROGRAM;
	/* A start of one block: not known to be used. */
	if (reg % NPU_BLOCK_BYTES == OPERATION_ENABLE && value)
		return NPU_HANG_UNSUPPORTED;
	write_block(core->blocks[index], reg, value);
	return NPU_OK;
}

/* @lock is held. Applies the words up to the enable word, whose value goes to @enable. */
static enum npu_hang decode(struct npu_core *core, struct chain *chain, uint32_t count, uint32_t *enable)
{
	const uint64_t *words = core->words;
	enum npu_hang hang;
	uint32_t i = 0;

	chain->address = 0;
	chain->amount = 0;
	for (; i < count && !is_enable(words[i]); i++) {
		hang = stream_word(core, chain, words[i]);
		if (hang)
			return hang;
	}
	if (i == count || !i || !is_sync(words[i - 1]) || ORK_REGCMD_REG(words[i]) != ORK_PC_OPERATION_ENABLE)
		return NPU_HANG_PROGRAM;
	*enable = ORK_REGCMD_VALUE(words[i]);
	for (i = i / ORK_PROGRAM_BEAT_WORDS * ORK_PROGRAM_BEAT_WORDS + ORK_PROGRAM_BEAT_WORDS; i < count; i++)
		if (!is_no_op(words[i]))
			return NPU_HANG_PROGRAM;
	return NPU_OK;
}

/* --- a run ------------------------------------------------------------------------------------ */

struct program {
	uint32_t enable;
	struct npu_conv conv;
	struct npu_output output;
};

/* False if a reset has ended the run. */
static bool enter_memory(struct npu_core *core, const struct chain *chain)
{
	bool mine;

	pthread_mutex_lock(&core->lock);
	mine = core->generation == chain->generation;
	core->touching = mine;
	pthread_mutex_unlock(&core->lock);
	return mine;
}

static void leave_memory(struct npu_core *core)
{
	pthread_mutex_lock(&core->lock);
	core->touching = false;
	pthread_cond_broadcast(&core->quiet);
	pthread_mutex_unlock(&core->lock);
}

static enum npu_hang plan(struct npu_core *core, const struct chain *chain, struct program *program)
{
	struct npu_regs regs = executing(core);
	enum npu_hang hang;

	if (program->enable != CONVOLUTION && program->enable != (CONVOLUTION | ORK_ENABLE_RDMA))
		return NPU_HANG_UNSUPPORTED;
	if (!start_blocks(core, program->enable))
		return NPU_HANG_PROGRAM;
	hang = npu_conv_plan(&regs, core->cbuf, chain->dma_base, &program->conv);
	return hang ? hang : npu_dpu_plan(&regs, &program->conv, chain->dma_base, program->enable & ORK_ENABLE_RDMA,
					  &program->output);
}

/* Fetches the program, sets its registers, and plans it. */
static enum npu_hang prepare(struct npu_core *core, struct chain *chain, struct npu_dma *dma, struct program *program)
{
	uint32_t bytes = (chain->amount + 1) * ORK_PROGRAM_BEAT_WORDS * sizeof(uint64_t);
	enum npu_hang hang;

	if (npu_dma_read(dma, NPU_BLOCK_PC, chain->address, core->words, bytes) < 0)
		return NPU_HANG_FAULT;
	pthread_mutex_lock(&core->lock);
	hang = decode(core, chain, bytes / sizeof(uint64_t), &program->enable);
	if (!hang)
		hang = plan(core, chain, program);
	pthread_mutex_unlock(&core->lock);
	return hang;
}

static enum npu_hang execute(struct npu_core *core, struct chain *chain, struct npu_dma *dma, struct program *program)
{
	enum npu_hang hang = prepare(core, chain, dma, program);
	bool spoil;

	if (hang)
		return hang;
	pthread_mutex_lock(&core->lock);
	spoil = core->window == NPU_WINDOW_SPOIL;
	pthread_mutex_unlock(&core->lock);
	if (!npu_conv_run(&program->conv, &program->output, dma, core->cbuf, spoil))
		return NPU_HANG_FAULT;
	return NPU_OK;
}

/* @lock is held. */
static void count_program(struct npu_core *core, const struct npu_dma *dma, const struct program *program)
{
	uint64_t macs = npu_conv_macs(&program->conv), per_cycle = program->conv.operands->macs;
	uint64_t mac_cycles = (macs + per_cycle - 1) / per_cycle;
	uint64_t bytes = dma->bytes_read + dma->bytes_written;
	uint64_t dram_cycles = (bytes + ESTIMATE_BYTES_PER_CYCLE - 1) / ESTIMATE_BYTES_PER_CYCLE;

	core->counter = (core->counter + 1) & ORK_PC_TASK_STATUS_COUNTER;
	core->stats.programs++;
	core->stats.macs += macs;
	core->stats.cycles += mac_cycles > dram_cycles ? mac_cycles : dram_cycles;
}

static bool link_is_good(const struct chain *chain)
{
	return chain->address && chain->amount && chain->address % ORK_PROGRAM_ALIGN == 0;
}

/* @lock is held, the program is done. Returns whether another one follows. */
static bool retire(struct npu_core *core, struct chain *chain, const struct npu_dma *dma, const struct program *program)
{
	uint32_t interrupts = group_interrupts(core, program->enable);

	finish_blocks(core, program->enable);
	count_program(core, dma, program);
	if (--chain->left) {
		core->stats.hang = link_is_good(chain) ? NPU_OK : NPU_HANG_LINK;
		return !core->stats.hang;
	}
	core->state = IDLE;
	core->raw |= interrupts;
	core->stats.interrupts++;
	return false;
}

/* The end of a program: time passes, and the cache hears of the end of a chain. */
static void program_done(struct npu_core *core, const struct chain *chain)
{
	if (core->ops.program_done)
		core->ops.program_done(core->opaque);
	if (chain->left > 1 || !enter_memory(core, chain))
		return;
	npu_cache_completion(core->cache);
	leave_memory(core);
}

/* Runs one program. Returns whether another one follows. */
static bool step(struct npu_core *core, struct chain *chain)
{
	struct npu_dma dma = {
		.core = core->index,
		.cache = core->cache,
		.iommu = core->iommu,
		.generation = &core->generation,
		.started = chain->generation,
	};
	struct program program;
	enum npu_hang hang;
	bool more = false;

	if (!enter_memory(core, chain))
		return false;
	hang = chain->left ? execute(core, chain, &dma, &program) : NPU_HANG_UNSUPPORTED;
	leave_memory(core);
	if (!hang)
		program_done(core, chain);

	pthread_mutex_lock(&core->lock);
	core->stats.bytes_read += dma.bytes_read;
	core->stats.bytes_written += dma.bytes_written;
	if (core->generation == chain->generation) {
		core->raw |= dma.errors;
		core->stats.faults += !!dma.errors;
		core->stats.hang = hang;
		if (!hang)
			more = retire(core, chain, &dma, &program);
		update_line(core);
	}
	pthread_mutex_unlock(&core->lock);
	return more;
}

void npu_core_run(struct npu_core *core)
{
	struct chain chain;
	bool due;

	pthread_mutex_lock(&core->lock);
	due = core->state == KICKED;
	chain = core->kicked;
	if (due)
		core->state = RUNNING;
	pthread_mutex_unlock(&core->lock);
	while (due && step(core, &chain))
		;
}

/* --- life ------------------------------------------------------------------------------------- */

/* @lock is held, or nobody else knows the core. */
static void reset_registers(struct npu_core *core)
{
	core->operation_enable = 0;
	core->base_address = 0;
	core->amount = 0;
	core->mask = ORK_INT_ALL;
	core->raw = 0;
	core->task_con = 0;
	core->dma_base = 0;
	core->counter = 0;
	core->storm = false;
	core->state = IDLE;
	core->stats.hang = NPU_OK;
	core->cbuf->kept_bytes = 0;
	for (size_t i = 0; i < NPU_ARRAY_SIZE(units); i++) {
		struct block *block = core->blocks[units[i].index];

		memset(block, 0, sizeof(*block));
		if (units[i].enable == ORK_ENABLE_CORE)
			for (uint32_t group = 0; group < 2; group++)
				block->group[group][ORK_CORE_MAC_GATING % NPU_BLOCK_BYTES / sizeof(uint32_t)] =
					MAC_GATING_RESET;
	}
}

void npu_core_reset(struct npu_core *core)
{
	pthread_mutex_lock(&core->lock);
	core->generation++;
	while (core->touching)
		pthread_cond_wait(&core->quiet, &core->lock);
	reset_registers(core);
	update_line(core);
	pthread_mutex_unlock(&core->lock);
}

void npu_core_set_window(struct npu_core *core, enum npu_window_mode mode)
{
	pthread_mutex_lock(&core->lock);
	core->window = mode;
	pthread_mutex_unlock(&core->lock);
}

void npu_core_stats(struct npu_core *core, struct npu_core_stats *stats)
{
	pthread_mutex_lock(&core->lock);
	*stats = core->stats;
	npu_iommu_count(core->iommu, &stats->iommu_writes, &stats->iommu_attaches);
	pthread_mutex_unlock(&core->lock);
}

/* --- misbehaviour ----------------------------------------------------------------------------- */

void npu_core_spurious(struct npu_core *core)
{
	pthread_mutex_lock(&core->lock);
	core->raw |= group_interrupts(core, CONVOLUTION);
	update_line(core);
	pthread_mutex_unlock(&core->lock);
}

static enum npu_iommu_command ignored_command(enum npu_misbehaviour what)
{
	return what == NPU_STALL_ON_IGNORED ? NPU_IOMMU_ENABLE_STALL : NPU_IOMMU_DISABLE_STALL;
}

void npu_core_misbehave(struct npu_core *core, enum npu_misbehaviour what, uint32_t value)
{
	if (what != NPU_STORM) {
		npu_iommu_ignore(core->iommu, ignored_command(what), value);
		return;
	}
	pthread_mutex_lock(&core->lock);
	core->storm = value;
	pthread_mutex_unlock(&core->lock);
}

uint32_t npu_core_misbehaves(struct npu_core *core, enum npu_misbehaviour what)
{
	uint32_t value;

	if (what != NPU_STORM)
		return npu_iommu_ignores(core->iommu, ignored_command(what));
	pthread_mutex_lock(&core->lock);
	value = core->storm;
	pthread_mutex_unlock(&core->lock);
	return value;
}

static bool allocate(struct npu_core *core)
{
	bool done;

	core->iommu = npu_iommu_new(core->index, core->cache);
	core->cbuf = aligned_alloc(alignof(struct npu_cbuf), sizeof(struct npu_cbuf));
	core->words = malloc(ORK_PROGRAM_MAX_WORDS * sizeof(uint64_t));
	done = core->iommu && core->cbuf && core->words;
	for (size_t i = 0; i < NPU_ARRAY_SIZE(units); i++) {
		core->blocks[units[i].index] = malloc(sizeof(struct block));
		done &= core->blocks[units[i].index] != NULL;
	}
	return done;
}

struct npu_core *npu_core_new(int index, struct npu_cache *cache, const struct npu_core_ops *ops, void *opaque)
{
	struct npu_core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->index = index;
	core->cache = cache;
	core->ops = *ops;
	core->opaque = opaque;
	pthread_mutex_init(&core->lock, NULL);
	pthread_cond_init(&core->quiet, NULL);
	if (!allocate(core)) {
		npu_core_free(core);
		return NULL;
	}
	reset_registers(core);
	return core;
}

void npu_core_free(struct npu_core *core)
{
	if (!core)
		return;
	npu_iommu_free(core->iommu);
	free(core->cbuf);
	free(core->words);
	for (size_t i = 0; i < NPU_ARRAY_SIZE(units); i++)
		free(core->blocks[units[i].index]);
	pthread_cond_destroy(&core->quiet);
	pthread_mutex_destroy(&core->lock);
	free(core);
}

const char *npu_hang_name(enum npu_hang hang)
{
	static const char *const names[] = {
		[NPU_OK] = "none",
		[NPU_HANG_FAULT] = "fault",
		[NPU_HANG_LINK] = "link",
		[NPU_HANG_PROGRAM] = "program",
		[NPU_HANG_BANKS] = "banks",
		[NPU_HANG_WEIGHT_BANKS] = "weight banks",
		[NPU_HANG_DATA_BANKS] = "data banks",
		[NPU_HANG_UNSUPPORTED] = "unsupported",
	};

	return (unsigned int)hang < NPU_ARRAY_SIZE(names) ? names[hang] : "?";
}

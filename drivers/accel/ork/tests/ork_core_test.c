// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a core's registers are told, and what is read out of them.
 */

#include <linux/io.h>

#include <drm/ork_regs.h>

#include <kunit/test.h>

#include "ork_test_board.h"

struct ork_core_chain {
	const char *name;
	struct ork_task task;
	u32 amount;
	u32 control;
};

/* Two words are a beat, and the register has one less; 0x7000 are the control bits. */
static const struct ork_core_chain ork_core_chains[] = {
	{ "shortest program", { 0x1000, 2, 1 }, 0, 0x7001 },
	{ "a usual one", { 0x00402010, 108, 1 }, 53, 0x7001 },
	{ "longest program", { 0xfff00000, 131072, 1 }, 0xffff, 0x7001 },
	{ "longest chain", { 0x1000, 108, 4095 }, 53, 0x7fff },
	{ "last address", { 0xffffeff0, 2, 2 }, 0, 0x7002 },
};

KUNIT_ARRAY_PARAM_DESC(ork_core_chains, ork_core_chains, name);

static void kick_tells_the_core_where_the_chain_is_and_how_long(struct kunit *test)
{
	const struct ork_core_chain *chain = test->param_value;
	struct ork_board *board = ork_board_create(test, 3, false);
	struct ork_core *core = &board->ork.cores[2];

	ork_core_kick(core, &chain->task);
	KUNIT_EXPECT_EQ(test, ork_board_read(board, 2, ORK_PC_BASE_ADDRESS), chain->task.iova);
	KUNIT_EXPECT_EQ(test, ork_board_read(board, 2, ORK_PC_REGISTER_AMOUNTS), chain->amount);
	KUNIT_EXPECT_EQ(test, ork_board_read(board, 2, ORK_PC_TASK_CON), chain->control);
	KUNIT_EXPECT_EQ(test, ork_board_read(board, 2, ORK_PC_INTERRUPT_MASK), 0x300);
	KUNIT_EXPECT_EQ(test, ork_board_read(board, 2, ORK_PC_INTERRUPT_CLEAR), 0x1ffff);
}

static void kick_tells_each_core_its_number(struct kunit *test)
{
	const struct ork_task task = { 0x1000, 2, 1 };
	struct ork_board *board = ork_board_create(test, 3, false);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct ork_core *core = &board->ork.cores[i];

		ork_core_kick(core, &task);
		KUNIT_EXPECT_EQ(test, readl(core->cna + 4), 0x0000000e | i << 28);
		KUNIT_EXPECT_EQ(test, readl(core->array + 4), 0x0000000e | i << 28);
	}
}

struct ork_core_end {
	const char *name;
	u32 status;
	u32 raw;
	bool signalled;
	bool done;
};

/* Of a chain of 5 programs. Bits 8 and 9 are the DPU's. */
static const struct ork_core_end ork_core_ends[] = {
	{ "all programs, and the interrupt", 5, 0x100, false, true },
	{ "the other group's interrupt", 5, 0x200, false, true },
	{ "an interrupt that was taken back already", 5, 0, true, true },
	{ "all programs, and no interrupt yet", 5, 0, false, false },
	{ "all programs, and another's interrupt", 5, 0x1fcff, false, false },
	{ "an interrupt before the end", 4, 0x300, true, false },
	{ "an interrupt at the begin", 0, 0x300, true, false },
	{ "more than all programs", 6, 0x100, false, true },
	{ "bits above the counter", 0x0ffff004, 0x100, true, false },
	{ "bits above the counter, and all programs", 0x0ffff005, 0x100, false, true },
};

KUNIT_ARRAY_PARAM_DESC(ork_core_ends, ork_core_ends, name);

static void chain_is_done_when_both_counter_and_interrupt_say_so(struct kunit *test)
{
	const struct ork_core_end *end = test->param_value;
	const struct ork_task task = { 0x1000, 2, 5 };
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_core *core = &board->ork.cores[0];

	core->signalled = end->signalled;
	ork_board_write(board, 0, ORK_PC_TASK_STATUS, end->status);
	ork_board_write(board, 0, ORK_PC_INTERRUPT_RAW_STATUS, end->raw);
	KUNIT_EXPECT_EQ(test, ork_core_done(core, &task), end->done);
}

static void only_errors_of_reads_and_writes_are_faults(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		ork_board_write(board, 0, ORK_PC_INTERRUPT_RAW_STATUS, BIT(bit));
		KUNIT_EXPECT_EQ_MSG(test, ork_core_has_dma_error(&board->ork.cores[0]),
				    bit == 12 || bit == 13, "bit %u", bit);
	}
}

/* The line is shared: the masked status tells whose it is, the raw one does not. */
static void core_signals_by_its_masked_status(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_core *core = &board->ork.cores[0];

	ork_board_write(board, 0, ORK_PC_INTERRUPT_RAW_STATUS, 0x1ffff);
	KUNIT_EXPECT_FALSE(test, ork_core_signals(core));
	ork_board_write(board, 0, ORK_PC_INTERRUPT_STATUS, 0x1fcff);
	KUNIT_EXPECT_FALSE(test, ork_core_signals(core));
	ork_board_write(board, 0, ORK_PC_INTERRUPT_STATUS, 0x200);
	KUNIT_EXPECT_TRUE(test, ork_core_signals(core));
}

static void vendor_binding_gives_blocks_that_the_mainline_one_does_not(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_core *core = &board->ork.cores[0];

	KUNIT_EXPECT_TRUE(test, ork_core_has(core, ORK_PC_TASK_STATUS));
	KUNIT_EXPECT_TRUE(test, ork_core_has(core, ORK_CNA_S_POINTER));
	KUNIT_EXPECT_TRUE(test, ork_core_has(core, ORK_CORE_S_POINTER));
	KUNIT_EXPECT_FALSE(test, ork_core_has(core, ORK_DPU_S_POINTER));
	KUNIT_EXPECT_FALSE(test, ork_core_has(core, ORK_RDMA_S_POINTER));
	KUNIT_EXPECT_FALSE(test, ork_core_has(core, ORK_PPU_S_POINTER));

	core->dpu = core->pc;
	core->rdma = core->pc;
	KUNIT_EXPECT_TRUE(test, ork_core_has(core, ORK_DPU_S_POINTER));
	KUNIT_EXPECT_TRUE(test, ork_core_has(core, ORK_RDMA_S_POINTER));
	KUNIT_EXPECT_FALSE(test, ork_core_has(core, ORK_PPU_S_POINTER));
}

static struct kunit_case ork_core_cases[] = {
	KUNIT_CASE_PARAM(kick_tells_the_core_where_the_chain_is_and_how_long,
			 ork_core_chains_gen_params),
	KUNIT_CASE(kick_tells_each_core_its_number),
	KUNIT_CASE_PARAM(chain_is_done_when_both_counter_and_interrupt_say_so,
			 ork_core_ends_gen_params),
	KUNIT_CASE(only_errors_of_reads_and_writes_are_faults),
	KUNIT_CASE(core_signals_by_its_masked_status),
	KUNIT_CASE(vendor_binding_gives_blocks_that_the_mainline_one_does_not),
	{ }
};

static struct kunit_suite ork_core_suite = {
	.name = "ork_core",
	.test_cases = ork_core_cases,
};

kunit_test_suite(ork_core_suite);

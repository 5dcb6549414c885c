/* SPDX-License-Identifier: MIT */
/* The program controller: registers, shadow groups, chains, interrupts, hangs, resets. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "rig.h"

#define PROGRAMS	0x00400000u
#define SLOT_BYTES	0x400u
#define A		0x10000000u
#define B		0x20000000u
#define C		0x30000000u
#define C_BYTES		0x1000u

static const struct rig_matmul small = { ORK_PRECISION_FP16, ORK_PRECISION_FP32, 4, 32, 16, A, B, C, 64, 64, false };

static uint32_t slot(unsigned int i)
{
	return PROGRAMS + i * SLOT_BYTES;
}

static struct npu_core_stats stats(struct rig *rig)
{
	struct npu_core_stats stats;

	npu_core_stats(rig->core, &stats);
	return stats;
}

static uint32_t counter(struct rig *rig)
{
	return rig_read(rig, ORK_PC_TASK_STATUS) & ORK_PC_TASK_STATUS_COUNTER;
}

static uint32_t raw(struct rig *rig)
{
	return rig_read(rig, ORK_PC_INTERRUPT_RAW_STATUS);
}

static void set_up(struct rig *rig)
{
	rig_init(rig, 4 << 20, NPU_CACHE_STRICT);
}

/* A chain of @count products, each to a page of its own, all of the same operands. */
static struct rig_operands put_chain(struct rig *rig, unsigned int count)
{
	struct rig_operands op = rig_fill(rig, &small);

	rig_map(rig, C, count * C_BYTES);
	for (unsigned int i = 0; i < count; i++) {
		struct rig_matmul m = small;
		struct rig_program p;

		m.c += i * C_BYTES;
		p = rig_matmul_program(&m);
		if (i + 1 < count)
			rig_link(&p, slot(i + 1), ORK_PC_AMOUNT(RIG_WORDS));
		rig_put_program(rig, slot(i), &p);
	}
	return op;
}

static bool chain_product(struct rig *rig, unsigned int i, struct rig_operands op)
{
	struct rig_matmul m = small;

	m.c += i * C_BYTES;
	return rig_product(rig, &m, op);
}

/* --- registers -------------------------------------------------------------------------------- */

static void registers_reset_to_their_values(void)
{
	struct rig rig;

	set_up(&rig);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(rig_read(&rig, ORK_PC_VERSION) + (rig_read(&rig, ORK_PC_VERSION_NUM) & 0xffff), 0x46495245);
		CHECK_EQUAL(rig_read(&rig, ORK_PC_INTERRUPT_MASK), 0x1ffff);
		CHECK_EQUAL(raw(&rig), 0xc0000000);
		CHECK_EQUAL(rig_read(&rig, ORK_PC_INTERRUPT_STATUS), 0);
		CHECK_EQUAL(rig_read(&rig, ORK_CORE_MAC_GATING), 0x07800800);
		CHECK_EQUAL(rig_read(&rig, ORK_PC_TASK_CON), 0);
		CHECK_EQUAL(rig_read(&rig, ORK_CNA_S_POINTER), 0);
		CHECK_EQUAL(rig_read(&rig, ORK_CNA_DATA_SIZE0), 0);
		rig_write(&rig, ORK_PC_INTERRUPT_MASK, 0x300);
		rig_write(&rig, ORK_PC_TASK_CON, 0x7002);
		rig_write(&rig, ORK_PC_BASE_ADDRESS, 1);
		rig_write(&rig, ORK_CORE_MAC_GATING, 5);
		rig_write(&rig, ORK_CNA_DATA_SIZE0, 5);
		rig_write(&rig, ORK_CNA_S_POINTER, 0xe);
		npu_core_reset(rig.core);
	}
	rig_fini(&rig);
}

static void pc_registers_keep_the_bits_they_have(void)
{
	struct rig rig;

	set_up(&rig);
	rig_write(&rig, ORK_PC_TASK_CON, 0x7002);
	CHECK_EQUAL(rig_read(&rig, ORK_PC_TASK_CON), 0x1002);
	rig_write(&rig, ORK_PC_BASE_ADDRESS, 0xffffffff);
	CHECK_EQUAL(rig_read(&rig, ORK_PC_BASE_ADDRESS), 0xfffffff1);
	rig_write(&rig, ORK_PC_REGISTER_AMOUNTS, 0xffffffff);
	CHECK_EQUAL(rig_read(&rig, ORK_PC_REGISTER_AMOUNTS), 0xffff);
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, 0xffffffff);
	CHECK_EQUAL(rig_read(&rig, ORK_PC_INTERRUPT_MASK), 0x1ffff);
	rig_write(&rig, ORK_PC_TASK_DMA_BASE_ADDR, 0xffffffff);
	CHECK_EQUAL(rig_read(&rig, ORK_PC_TASK_DMA_BASE_ADDR), 0xfffffff0);
	rig_fini(&rig);
}

static void registers_of_no_block_read_as_zero(void)
{
	static const uint32_t offsets[] = {
		0x0018, 0x0040, 0x2004, 0x8000, 0x8030, 0x9400, 0xa400, 0xb000, 0xe008, ORK_GLOBAL_OPERATION_ENABLE,
	};
	struct rig rig;

	set_up(&rig);
	rig_write(&rig, ORK_PC_BASE_ADDRESS, ORK_PC_BASE_ADDRESS_PC_SEL);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		rig_write(&rig, offsets[i], 0xffffffff);
		CHECK_EQUAL(rig_read(&rig, offsets[i]), 0);
	}
	rig_fini(&rig);
}

static void blocks_take_the_cpus_writes_in_slave_mode_only(void)
{
	struct rig rig;

	set_up(&rig);
	rig_write(&rig, ORK_DPU_DST_BASE_ADDR, 0x1230);
	CHECK_EQUAL(rig_read(&rig, ORK_DPU_DST_BASE_ADDR), 0);
	rig_write(&rig, ORK_PC_BASE_ADDRESS, ORK_PC_BASE_ADDRESS_PC_SEL);
	rig_write(&rig, ORK_DPU_DST_BASE_ADDR, 0x1230);
	CHECK_EQUAL(rig_read(&rig, ORK_DPU_DST_BASE_ADDR), 0x1230);
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 1);
	CHECK_EQUAL(rig.kicks, 0);
	rig_fini(&rig);
}

static void pointer_selects_the_group(void)
{
	struct rig rig;

	set_up(&rig);
	rig_write(&rig, ORK_PC_BASE_ADDRESS, ORK_PC_BASE_ADDRESS_PC_SEL);
	rig_write(&rig, ORK_CNA_DATA_SIZE0, 1);
	rig_write(&rig, ORK_CNA_S_POINTER, 1);
	CHECK_EQUAL(rig_read(&rig, ORK_CNA_DATA_SIZE0), 0);
	rig_write(&rig, ORK_CNA_DATA_SIZE0, 2);
	rig_write(&rig, ORK_CNA_S_POINTER, 0);
	CHECK_EQUAL(rig_read(&rig, ORK_CNA_DATA_SIZE0), 1);
	rig_write(&rig, ORK_CNA_S_POINTER, 1);
	CHECK_EQUAL(rig_read(&rig, ORK_CNA_DATA_SIZE0), 2);
	/* With ping-pong the bit written does not count, the clear does. */
	rig_write(&rig, ORK_CNA_S_POINTER, 0x2000000e);
	CHECK_EQUAL(rig_read(&rig, ORK_CNA_S_POINTER), 0x2000000f);
	rig_write(&rig, ORK_CNA_S_POINTER, 0x1e);
	CHECK_EQUAL(rig_read(&rig, ORK_CNA_S_POINTER), 0xe);
	rig_fini(&rig);
}

/* --- chains ----------------------------------------------------------------------------------- */

static void chain_interrupts_once(void)
{
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 5);
	rig_kick(&rig, slot(0), RIG_WORDS, 5);
	CHECK_EQUAL(rig.kicks, 1);
	CHECK_EQUAL(raw(&rig), 0);
	CHECK_EQUAL(counter(&rig), 0);
	npu_core_run(rig.core);
	CHECK_EQUAL(rig.rises, 1);
	CHECK(rig.level);
	CHECK_EQUAL(rig.programs, 5);
	CHECK_EQUAL(counter(&rig), 5);
	/* The fifth ran in group 0: CNA's three, CORE's and the DPU's bit. */
	CHECK_EQUAL(raw(&rig), 0xc0000155);
	CHECK_EQUAL(rig_read(&rig, ORK_PC_INTERRUPT_STATUS), 0x100);
	for (unsigned int i = 0; i < 5; i++)
		CHECK(chain_product(&rig, i, op));
	rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, 0x1ffff);
	CHECK(!rig.level);
	CHECK_EQUAL(raw(&rig), 0xc0000000);
	CHECK_EQUAL(stats(&rig).interrupts, 1);
	npu_core_run(rig.core);
	CHECK_EQUAL(rig.programs, 5);
	rig_free_operands(op);
	rig_fini(&rig);
}

/* As rocket's rocket_job_hw_submit() does it. */
static void rocket_kick(struct rig *rig, uint32_t iova, uint32_t words)
{
	rig_write(rig, ORK_PC_BASE_ADDRESS, 0x1);
	rig_write(rig, ORK_CNA_S_POINTER, 0xe);
	rig_write(rig, ORK_CORE_S_POINTER, 0xe);
	rig_write(rig, ORK_PC_BASE_ADDRESS, iova);
	rig_write(rig, ORK_PC_REGISTER_AMOUNTS, (words + 1) / 2 - 1);
	rig_write(rig, ORK_PC_INTERRUPT_MASK, 0x300);
	rig_write(rig, ORK_PC_INTERRUPT_CLEAR, 0x300);
	rig_write(rig, ORK_PC_TASK_CON, 0x7001);
	rig_write(rig, ORK_PC_TASK_DMA_BASE_ADDR, 0);
	rig_write(rig, ORK_PC_OPERATION_ENABLE, 1);
}

/* Its interrupt handler, and then the thread. */
static void rocket_acknowledge(struct rig *rig)
{
	CHECK(raw(rig) & 0x300);
	rig_write(rig, ORK_PC_INTERRUPT_MASK, 0);
	CHECK(!rig->level);
	rig_write(rig, ORK_PC_OPERATION_ENABLE, 0);
	rig_write(rig, ORK_PC_INTERRUPT_CLEAR, 0x1ffff);
}

/* One program a kick and an interrupt for each, though they link on; the start bit is held. */
static void rocket_runs_a_chain_program_by_program(void)
{
	struct rig_matmul m = { ORK_PRECISION_INT8, ORK_PRECISION_INT32, 4, 64, 32, A, B, C, 64, 128, false };
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = rig_fill(&rig, &m);
	rig_map(&rig, C, 3 * C_BYTES);
	for (unsigned int i = 0; i < 3; i++, m.c += C_BYTES) {
		struct rig_program p = rig_matmul_program(&m);

		rig_link(&p, slot(i + 1), ORK_PC_AMOUNT(RIG_WORDS));
		rig_put_program(&rig, slot(i), &p);
	}
	for (unsigned int i = 0; i < 3; i++) {
		rocket_kick(&rig, slot(i), RIG_WORDS);
		npu_core_run(rig.core);
		CHECK(rig.level);
		rocket_acknowledge(&rig);
	}
	CHECK_EQUAL(rig.rises, 3);
	for (m.c = C; m.c < C + 3 * C_BYTES; m.c += C_BYTES)
		CHECK(rig_product(&rig, &m, op));
	rig_free_operands(op);
	rig_fini(&rig);
}

static void groups_alternate_from_kick_to_kick(void)
{
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 1);
	for (int i = 0; i < 4; i++) {
		rig_kick(&rig, slot(0), RIG_WORDS, 1);
		npu_core_run(rig.core);
		CHECK_EQUAL(raw(&rig), i % 2 ? 0xc00002aa : 0xc0000155);
		CHECK_EQUAL(rig_read(&rig, ORK_DPU_S_POINTER), i % 2 ? 0xe : 0x1000f);
	}
	rig_free_operands(op);
	rig_fini(&rig);
}

static void task_number_ends_a_chain_that_links_on(void)
{
	struct rig_operands op;
	uint32_t c[16];
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 5);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 3), NPU_OK);
	CHECK_EQUAL(rig.rises, 1);
	CHECK_EQUAL(counter(&rig), 3);
	CHECK(chain_product(&rig, 2, op));
	rig_get(&rig, C + 3 * C_BYTES, c, sizeof(c));
	for (int i = 0; i < 16; i++)
		CHECK_EQUAL(c[i], 0);
	rig_free_operands(op);
	rig_fini(&rig);
}

static void counter_counts_on_until_it_is_cleared(void)
{
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 2);
	rig_run(&rig, slot(0), RIG_WORDS, 2);
	rig_write(&rig, ORK_PC_BASE_ADDRESS, slot(0));
	rig_write(&rig, ORK_PC_TASK_CON, 0x1001);
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 1);
	npu_core_run(rig.core);
	CHECK_EQUAL(counter(&rig), 3);
	rig_write(&rig, ORK_PC_TASK_CON, 0x3001);
	CHECK_EQUAL(counter(&rig), 0);
	rig_free_operands(op);
	rig_fini(&rig);
}

static void operation_enable_is_an_edge(void)
{
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 1);
	rig_run(&rig, slot(0), RIG_WORDS, 1);
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 1);
	CHECK_EQUAL(rig.kicks, 2);
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 1);
	CHECK_EQUAL(rig.kicks, 2);
	/* A core that is kicked takes no other kick, nor does it forget. */
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 0);
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 1);
	CHECK_EQUAL(rig.kicks, 2);
	npu_core_run(rig.core);
	CHECK_EQUAL(rig.programs, 2);
	CHECK_EQUAL(stats(&rig).kicks, 2);
	/* Held all the while, it does not start another. */
	npu_core_run(rig.core);
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 1);
	CHECK_EQUAL(rig.kicks, 2);
	rig_free_operands(op);
	rig_fini(&rig);
}

static void mask_decides_the_line(void)
{
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 1);
	rig_kick(&rig, slot(0), RIG_WORDS, 1);
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, 0);
	npu_core_run(rig.core);
	CHECK(!rig.level);
	CHECK_EQUAL(rig_read(&rig, ORK_PC_INTERRUPT_STATUS), 0);
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, 0x40);
	CHECK(rig.level);
	CHECK_EQUAL(rig_read(&rig, ORK_PC_INTERRUPT_STATUS), 0x40);
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, 0);
	CHECK(!rig.level);
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, 0x340);
	rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, 0x40);
	CHECK(rig.level);
	rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, 0x300);
	CHECK(!rig.level);
	rig_free_operands(op);
	rig_fini(&rig);
}

/* As a level-triggered handler: it acknowledges from within the callback. */
static void acknowledge(void *opaque, bool level)
{
	struct rig *rig = opaque;

	rig->level = level;
	rig->rises += level;
	if (level)
		rig_write(rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
}

static void callbacks_may_access_registers(void)
{
	static const struct npu_core_ops ops = { .irq = acknowledge };
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	npu_core_free(rig.core);
	rig.core = npu_core_new(0, rig.cache, &ops, &rig);
	rig_enable_iommu(&rig);
	op = put_chain(&rig, 1);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 1), NPU_OK);
	CHECK_EQUAL(rig.rises, 1);
	CHECK(!rig.level);
	rig_free_operands(op);
	rig_fini(&rig);
}

static void data_base_is_added_to_data_addresses(void)
{
	const uint32_t base = 0x01000000;
	struct rig_matmul m = small;
	struct rig_program p;
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = rig_fill(&rig, &m);
	rig_map(&rig, C, C_BYTES);
	m.a -= base;
	m.b -= base;
	m.c -= base;
	p = rig_matmul_program(&m);
	rig_put_program(&rig, slot(0), &p);
	rig_write(&rig, ORK_PC_BASE_ADDRESS, slot(0));
	rig_write(&rig, ORK_PC_REGISTER_AMOUNTS, ORK_PC_AMOUNT(RIG_WORDS));
	rig_write(&rig, ORK_PC_TASK_CON, 0x7001);
	rig_write(&rig, ORK_PC_TASK_DMA_BASE_ADDR, base);
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 1);
	npu_core_run(rig.core);
	CHECK(rig_product(&rig, &small, op));
	rig_free_operands(op);
	rig_fini(&rig);
}

/* The third program says only where C goes: the rest is of the first, not of the second. */
static void registers_not_written_are_those_of_two_programs_ago(void)
{
	struct rig_matmul second = {
		ORK_PRECISION_FP16, ORK_PRECISION_FP32, 7, 64, 32, A + 0x10000, B + 0x10000, C + C_BYTES,
		128, 128, false,
	};
	struct rig_program first = rig_matmul_program(&small), p = rig_matmul_program(&second), compact = { 0 };
	struct rig_operands op, other;
	struct rig_matmul third = small;
	struct rig rig;

	third.c = C + 2 * C_BYTES;
	set_up(&rig);
	op = rig_fill(&rig, &small);
	other = rig_fill(&rig, &second);
	rig_map(&rig, C, 3 * C_BYTES);
	rig_link(&first, slot(1), ORK_PC_AMOUNT(RIG_WORDS));
	rig_put_program(&rig, slot(0), &first);
	rig_word(&compact, ORK_TARGET_DPU, ORK_DPU_DST_BASE_ADDR, third.c);
	rig_tail(&compact, 0, 0);
	rig_link(&p, slot(2), ORK_PC_AMOUNT(compact.count));
	rig_put_program(&rig, slot(1), &p);
	rig_put_program(&rig, slot(2), &compact);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 3), NPU_OK);
	CHECK(rig_product(&rig, &small, op));
	CHECK(rig_product(&rig, &second, other));
	CHECK(rig_product(&rig, &third, op));
	rig_free_operands(op);
	rig_free_operands(other);
	rig_fini(&rig);
}

static void one_full_program_does_not_prime_both_groups(void)
{
	struct rig_program first = rig_matmul_program(&small), compact = { 0 };
	struct rig rig;

	set_up(&rig);
	rig_free_operands(rig_fill(&rig, &small));
	rig_map(&rig, C, C_BYTES);
	rig_word(&compact, ORK_TARGET_DPU, ORK_DPU_DST_BASE_ADDR, C);
	rig_tail(&compact, 0, 0);
	rig_link(&first, slot(1), ORK_PC_AMOUNT(compact.count));
	rig_put_program(&rig, slot(0), &first);
	rig_put_program(&rig, slot(1), &compact);
	CHECK(rig_run(&rig, slot(0), RIG_WORDS, 2) != NPU_OK);
	CHECK_EQUAL(counter(&rig), 1);
	rig_fini(&rig);
}

/* Pointer and executer on their own: a group written out of turn is never executed. */
static void group_out_of_turn_hangs(void)
{
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 1);
	rig_write(&rig, ORK_PC_BASE_ADDRESS, ORK_PC_BASE_ADDRESS_PC_SEL);
	rig_write(&rig, ORK_CNA_S_POINTER, 1);
	rig_write(&rig, ORK_PC_BASE_ADDRESS, slot(0));
	rig_write(&rig, ORK_PC_REGISTER_AMOUNTS, ORK_PC_AMOUNT(RIG_WORDS));
	rig_write(&rig, ORK_PC_TASK_CON, 0x7001);
	rig_write(&rig, ORK_PC_OPERATION_ENABLE, 1);
	npu_core_run(rig.core);
	CHECK_EQUAL(stats(&rig).hang, NPU_HANG_PROGRAM);
	rig_free_operands(op);
	rig_fini(&rig);
}

/* --- the stream ------------------------------------------------------------------------------- */

static void targets_are_decoded_by_their_bits(void)
{
	struct rig_program p = rig_matmul_program(&small);
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = rig_fill(&rig, &small);
	rig_map(&rig, C, C_BYTES);
	for (unsigned int i = 0; i < p.count; i++)
		if (ORK_REGCMD_TARGET(p.words[i]) == ORK_TARGET_DPU)
			p.words[i] |= ORK_REGCMD(0x0002, 0, 0);
	rig_put_program(&rig, slot(0), &p);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 1), NPU_OK);
	CHECK(rig_product(&rig, &small, op));
	rig_free_operands(op);
	rig_fini(&rig);
}

/* A program of an odd number of words is fetched with the word behind it, whatever that is. */
static void odd_program_is_fetched_with_one_word_more(void)
{
	struct rig_program p = rig_matmul_program(&small);
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = rig_fill(&rig, &small);
	rig_map(&rig, C, C_BYTES);
	p.count -= ORK_PROGRAM_TAIL_WORDS + 1;
	rig_tail(&p, 0, 0);
	rig_word(&p, ORK_TARGET_CNA, 0x9999, 0x12345678);
	rig_put_program(&rig, slot(0), &p);
	CHECK_EQUAL(rig_run(&rig, slot(0), p.count - 1, 1), NPU_OK);
	CHECK(rig_product(&rig, &small, op));
	rig_free_operands(op);
	rig_fini(&rig);
}

/* --- weights that stay ------------------------------------------------------------------------ */

static void reused_weights_are_those_in_the_buffer(void)
{
	struct rig_program p = rig_matmul_program(&small);
	struct rig_operands op;
	uint16_t zeros[512] = { 0 };
	struct rig rig;

	set_up(&rig);
	op = rig_fill(&rig, &small);
	rig_put(&rig, C, zeros, sizeof(zeros));
	rig_put_program(&rig, slot(0), &p);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 1), NPU_OK);
	rig_put(&rig, B, zeros, sizeof(zeros));
	rig_put(&rig, C, zeros, sizeof(zeros));
	rig_patch(&p, ORK_CNA_CBUF_CON0, 0x20b1);
	rig_put_program(&rig, slot(0), &p);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 1), NPU_OK);
	CHECK(rig_product(&rig, &small, op));
	/* Not after a reset. */
	npu_core_reset(rig.core);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 1), NPU_HANG_UNSUPPORTED);
	rig_free_operands(op);
	rig_fini(&rig);
}

/* --- hangs ------------------------------------------------------------------------------------ */

/* A hung core raises nothing, keeps its counter, takes no kick, and is back after a reset. */
static void check_hang(struct rig *rig, const char *what, enum npu_hang got, enum npu_hang want, unsigned int count)
{
	struct rig_operands op;
	unsigned int kicks = rig->kicks;
	bool still = rig->rises == 0 && counter(rig) == count && !(raw(rig) & ORK_INT_RAW_IDLE);

	rig_write(rig, ORK_PC_OPERATION_ENABLE, 1);
	npu_core_run(rig->core);
	still &= rig->kicks == kicks && counter(rig) == count;
	rig_recover(rig);
	rig->rises = 0;
	op = put_chain(rig, 1);
	still &= !rig_run(rig, slot(0), RIG_WORDS, 1) && rig->rises == 1 && chain_product(rig, 0, op);
	ok(got == want && still, "%s hangs (%s, found %s)", what, npu_hang_name(want), npu_hang_name(got));
	rig_free_operands(op);
}

static struct rig_matmul shape(uint32_t in, uint32_t out, uint32_t m, uint32_t k, uint32_t n)
{
	return (struct rig_matmul) {
		in, out, m, k, n, A, B, C, k * rig_bytes(in), n * rig_bytes(out), false,
	};
}

/* One register of a good program changed. */
static const struct {
	const char *what;
	struct rig_matmul m;
	uint32_t reg, value;
	enum npu_hang hang;
} bad_registers[] = {
#define FP16(m, k, n)	{ ORK_PRECISION_FP16, ORK_PRECISION_FP32, m, k, n, A, B, C, (k) * 2, (n) * 4, false }
#define HALF(m, k, n)	{ ORK_PRECISION_FP16, ORK_PRECISION_FP16, m, k, n, A, B, C, (k) * 2, (n) * 2, false }
#define INT8(m, k, n)	{ ORK_PRECISION_INT8, ORK_PRECISION_INT32, m, k, n, A, B, C, k, (n) * 4, false }
	{ "8 + 11 banks", FP16(4, 32, 16), 0x1040, 0xb8, NPU_HANG_BANKS },
	{ "no data bank", FP16(4, 32, 16), 0x1040, 0xb0, NPU_HANG_BANKS },
	{ "no weight bank", FP16(4, 32, 16), 0x1040, 0x0b, NPU_HANG_BANKS },
	{ "a kernel group of 66 KiB in 2 banks", FP16(4, 2112, 64), 0x1040, 0x21, NPU_HANG_WEIGHT_BANKS },
	{ "an int8 kernel group of 66 KiB in 2 banks", INT8(4, 2112, 64), 0x1040, 0x21, NPU_HANG_WEIGHT_BANKS },
	{ "a kernel group that fills its bank, 16 kernels", FP16(4, 1024, 16), 0x1040, 0x1b, NPU_HANG_WEIGHT_BANKS },
	{ "a kernel group that fills its bank, 32 kernels", FP16(4, 1024, 32), 0x1040, 0x1b, NPU_HANG_WEIGHT_BANKS },
	{ "17 rows of 2 KiB in one bank", FP16(17, 1024, 48), 0x1040, 0xb1, NPU_HANG_DATA_BANKS },
	{ "too few entries for a row", FP16(4, 64, 16), 0x1044, 1, NPU_HANG_DATA_BANKS },
	{ "fp16 output without the conversion", HALF(4, 32, 16), 0x4084, 1, NPU_HANG_UNSUPPORTED },
	{ "fp32 output with the conversion", FP16(4, 32, 16), 0x4084, 0x10001, NPU_HANG_UNSUPPORTED },
	{ "int8 to fp16", INT8(4, 32, 32), 0x4010, 0x40000000, NPU_HANG_UNSUPPORTED },
	{ "bf16", FP16(4, 32, 16), 0x100c, 0x200001b0, NPU_HANG_UNSUPPORTED },
	{ "int4 in the CNA alone", INT8(4, 32, 32), 0x100c, 0x20000360, NPU_HANG_UNSUPPORTED },
	{ "depthwise", FP16(4, 32, 16), 0x100c, 0x20000123, NPU_HANG_UNSUPPORTED },
	{ "an input converter", FP16(4, 32, 16), 0x104c, 0xa, NPU_HANG_UNSUPPORTED },
	{ "data that stay in the buffer", FP16(4, 32, 16), 0x1040, 0x10b1, NPU_HANG_UNSUPPORTED },
	{ "weights that never were in the buffer", FP16(4, 32, 16), 0x1040, 0x20b1, NPU_HANG_UNSUPPORTED },
	{ "compressed weights", FP16(4, 32, 16), 0x1100, 1, NPU_HANG_UNSUPPORTED },
	{ "a stride of 0", FP16(4, 32, 16), 0x1014, 8, NPU_HANG_UNSUPPORTED },
	{ "padding of a 1x1 kernel", FP16(4, 32, 16), 0x1068, 1, NPU_HANG_UNSUPPORTED },
	{ "features at an odd address", FP16(4, 32, 16), 0x1070, A + 8, NPU_HANG_UNSUPPORTED },
	{ "kernels of another size", FP16(4, 32, 16), 0x1034, 128, NPU_HANG_UNSUPPORTED },
	{ "17 kernels", FP16(4, 32, 16), 0x1038, 0x01010011, NPU_HANG_UNSUPPORTED },
	{ "a row more to write than to compute", FP16(4, 32, 16), 0x405c, 4 << 16, NPU_HANG_UNSUPPORTED },
	{ "a bias", FP16(4, 32, 16), 0x4040, 0x20150, NPU_HANG_UNSUPPORTED },
	{ "a batch norm", FP16(4, 32, 16), 0x4060, 0x12, NPU_HANG_UNSUPPORTED },
	{ "a look-up table", FP16(4, 32, 16), 0x4070, 0x302, NPU_HANG_UNSUPPORTED },
	{ "an output scale", INT8(4, 32, 32), 0x4084, 2, NPU_HANG_UNSUPPORTED },
	{ "an output shift", INT8(4, 32, 32), 0x4088, 1, NPU_HANG_UNSUPPORTED },
	{ "an accumulator shift", INT8(4, 32, 32), 0x301c, 1, NPU_HANG_UNSUPPORTED },
	{ "two notches", FP16(4, 32, 16), 0x4038, 3, NPU_HANG_UNSUPPORTED },
	{ "surfaces of another type", FP16(4, 32, 16), 0x4050, 0x126, NPU_HANG_UNSUPPORTED },
	{ "output to the PPU", FP16(4, 32, 16), 0x400c, 0x1e2, NPU_HANG_UNSUPPORTED },
	{ "more than 8192 kernels", FP16(4, 32, 8208), 0x4054, 0, NPU_HANG_UNSUPPORTED },
};

static void test_bad_registers(void)
{
	for (size_t i = 0; i < sizeof(bad_registers) / sizeof(bad_registers[0]); i++) {
		struct rig_program p = rig_matmul_program(&bad_registers[i].m);
		struct rig rig;

		set_up(&rig);
		rig_free_operands(rig_fill(&rig, &bad_registers[i].m));
		rig_map(&rig, C, rig_extent(bad_registers[i].m.out, bad_registers[i].m.ldc, bad_registers[i].m.m,
					    bad_registers[i].m.n));
		rig_patch(&p, bad_registers[i].reg, bad_registers[i].value);
		rig_put_program(&rig, slot(0), &p);
		check_hang(&rig, bad_registers[i].what, rig_run(&rig, slot(0), RIG_WORDS, 1), bad_registers[i].hang, 0);
		rig_fini(&rig);
	}
}

/* What lies just inside the limits that the above break. */
static void limits_are_reached(void)
{
	const struct {
		struct rig_matmul m;
		uint32_t banks;
	} cases[] = {
		{ FP16(4, 2048, 64), 0x21 }, { INT8(4, 2048, 64), 0x21 }, { FP16(4, 1024, 48), 0x1b },
		{ FP16(4, 1024, 16), 0x2a }, { FP16(16, 1024, 48), 0xb1 }, { INT8(4, 1024, 32), 0x1b },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_program p = rig_matmul_program(&cases[i].m);
		struct rig_operands op;
		struct rig rig;

		set_up(&rig);
		op = rig_fill(&rig, &cases[i].m);
		rig_map(&rig, C, 0x10000);
		rig_patch(&p, ORK_CNA_CBUF_CON0, cases[i].banks);
		rig_put_program(&rig, slot(0), &p);
		CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 1), NPU_OK);
		CHECK(rig_product(&rig, &cases[i].m, op));
		rig_free_operands(op);
		rig_fini(&rig);
	}
}

/*
 * A chain of two whose first program says that the second lies at @next and has @amount beats,
 * less one.
 */
static void bad_link(const char *what, uint32_t next, uint32_t amount, enum npu_hang hang)
{
	struct rig_program p = rig_matmul_program(&small);
	struct rig rig;

	set_up(&rig);
	rig_free_operands(put_chain(&rig, 3));
	rig_link(&p, next, amount);
	rig_put_program(&rig, slot(0), &p);
	check_hang(&rig, what, rig_run(&rig, slot(0), RIG_WORDS, 2), hang, 1);
	rig_fini(&rig);
}

static void test_bad_links(void)
{
	const uint32_t amount = ORK_PC_AMOUNT(RIG_WORDS);

	bad_link("no next address", 0, amount, NPU_HANG_LINK);
	bad_link("no next amount", slot(1), 0, NPU_HANG_LINK);
	bad_link("a next address that is no multiple of 16", slot(1) + 8, amount, NPU_HANG_LINK);
	bad_link("an amount that leaves out the enable word", slot(1), amount - 1, NPU_HANG_PROGRAM);
	bad_link("an amount that reaches into the next program", slot(1), SLOT_BYTES / 16 + 2, NPU_HANG_PROGRAM);
}

/* Word @index from the end of a good program replaced. */
static void bad_word(const char *what, unsigned int index, uint64_t word, enum npu_hang hang)
{
	struct rig_program p = rig_matmul_program(&small);
	struct rig rig;

	set_up(&rig);
	rig_free_operands(put_chain(&rig, 1));
	p.words[p.count - index] = word;
	rig_put_program(&rig, slot(0), &p);
	check_hang(&rig, what, rig_run(&rig, slot(0), RIG_WORDS, 1), hang, 0);
	rig_fini(&rig);
}

static void test_bad_words(void)
{
	bad_word("no enable word", 1, 0, NPU_HANG_PROGRAM);
	bad_word("no sync word", 2, 0, NPU_HANG_PROGRAM);
	bad_word("a target that RK3588 does not have", 5, ORK_REGCMD(0x0401, 0x2010, 1), NPU_HANG_PROGRAM);
	bad_word("a target of two blocks", 5, ORK_REGCMD(0x0a01, 0x1070, 1), NPU_HANG_PROGRAM);
	bad_word("a register of another block", 5, ORK_REGCMD(ORK_TARGET_CNA, 0x4020, 1), NPU_HANG_PROGRAM);
	bad_word("a register between registers", 5, ORK_REGCMD(ORK_TARGET_CNA, 0x1072, 1), NPU_HANG_PROGRAM);
	bad_word("a value for no target", 5, ORK_REGCMD(0, 0, 1), NPU_HANG_PROGRAM);
	bad_word("a start of one block", 5, ORK_REGCMD(ORK_TARGET_CNA, 0x1008, 1), NPU_HANG_UNSUPPORTED);
	bad_word("a write of the interrupt mask", 5, ORK_REGCMD(ORK_TARGET_PC, 0x0020, 1), NPU_HANG_UNSUPPORTED);
	bad_word("an element-wise program", 1, ORK_REGCMD(ORK_TARGET_ENABLE, 8, 0x18), NPU_HANG_UNSUPPORTED);
	bad_word("a pooling program", 1, ORK_REGCMD(ORK_TARGET_ENABLE, 8, 0x60), NPU_HANG_UNSUPPORTED);
}

static void kick_of_no_program_hangs(void)
{
	struct rig rig;

	set_up(&rig);
	rig_free_operands(put_chain(&rig, 1));
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 0), NPU_HANG_UNSUPPORTED);
	CHECK_EQUAL(rig.rises, 0);
	rig_fini(&rig);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void test_fault(const char *what, uint32_t iova, bool write)
{
	struct npu_core_stats before, after;
	struct rig_operands op;
	bool seen, cleared;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 1);
	*rig_entry(&rig, iova) = 0;
	rig_clean(&rig, rig_entry(&rig, iova), 4);
	before = stats(&rig);
	rig_kick(&rig, slot(0), RIG_WORDS, 1);
	npu_core_run(rig.core);
	after = stats(&rig);
	/* The IOMMU shares the line; the core's own bits are masked. */
	seen = rig.level && after.hang == NPU_HANG_FAULT && after.faults == before.faults + 1 &&
	       raw(&rig) == (write ? 0x2000 : 0x1000) && counter(&rig) == 0 &&
	       (rig_read(&rig, 0xa000 + NPU_IOMMU_PAGE_FAULT_ADDR) ^ iova) < RIG_PAGE &&
	       !(rig_read(&rig, 0xa000 + NPU_IOMMU_STATUS) & NPU_IOMMU_STATUS_FAULT_WRITE) == !write;
	rig_write(&rig, 0xa000 + NPU_IOMMU_INT_CLEAR, NPU_IOMMU_INT_PAGE_FAULT);
	cleared = !rig.level;
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, ORK_INT_ALL);
	cleared &= rig.level;
	rig_recover(&rig);
	cleared &= !rig.level;
	rig_map(&rig, iova, 1);
	rig_free_operands(op);
	op = put_chain(&rig, 1);
	ok(seen && cleared && !rig_run(&rig, slot(0), RIG_WORDS, 1) && chain_product(&rig, 0, op),
	   "%s that are not mapped fault, and hang the core", what);
	rig_free_operands(op);
	rig_fini(&rig);
}

/* --- accounts --------------------------------------------------------------------------------- */

static void work_is_counted(void)
{
	struct rig_matmul m = shape(ORK_PRECISION_FP16, ORK_PRECISION_FP32, 16, 256, 128);
	struct rig_program p = rig_matmul_program(&m);
	struct npu_core_stats s;
	struct rig rig;

	set_up(&rig);
	rig_free_operands(rig_fill(&rig, &m));
	rig_map(&rig, C, 16 * 128 * 4);
	rig_put_program(&rig, slot(0), &p);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 1), NPU_OK);
	s = stats(&rig);
	CHECK_EQUAL(s.programs, 1);
	CHECK_EQUAL(s.macs, 16 * 256 * 128);
	/* The program, A and B once each; C. */
	CHECK_EQUAL(s.bytes_read, RIG_WORDS * 8 + 16 * 256 * 2 + 256 * 128 * 2);
	CHECK_EQUAL(s.bytes_written, 16 * 128 * 4);
	/* DRAM takes longer than 1024 cycles of 512 products. */
	CHECK_EQUAL(s.cycles, (s.bytes_read + s.bytes_written) / 16);
	/* A kick of two drivers' making: eleven writes. */
	CHECK_EQUAL(s.register_writes, 12);
	/* The rig's four to each of two banks. */
	CHECK_EQUAL(s.iommu_writes, 8);
	CHECK_EQUAL(s.iommu_attaches, 1);
	rig_fini(&rig);
}

/* A cache that writes back what the CPU left dirty in C does so before the interrupt. */
static void eviction_precedes_the_interrupt(void)
{
	struct rig_operands op;
	struct npu_report report;
	struct rig rig;

	rig_init(&rig, 4 << 20, NPU_CACHE_EVICT);
	op = put_chain(&rig, 1);
	rig_store(&rig, C, "\x5a", 1);
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 1), NPU_OK);
	npu_cache_report(rig.cache, &report);
	CHECK(report.lines_evicted >= 1);
	CHECK(!chain_product(&rig, 0, op));
	rig_free_operands(op);
	rig_fini(&rig);
}

/* --- misbehaviour ----------------------------------------------------------------------------- */

/* In the middle of each program, as a driver does: it looks, and acknowledges. */
static void tell_a_lie(struct rig *rig)
{
	uint32_t before = counter(rig);

	CHECK(!rig->level);
	npu_core_spurious(rig->core);
	CHECK(rig->level);
	CHECK_EQUAL(counter(rig), before);
	/* Neither idle nor in another group than a completion would be now. */
	CHECK_EQUAL(raw(rig), before % 2 ? 0x2aa : 0x155);
	rig_write(rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	CHECK(!rig->level);
}

static void spurious_interrupt_leaves_the_chain_alone(void)
{
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 3);
	rig.program_done = tell_a_lie;
	rig_kick(&rig, slot(0), RIG_WORDS, 3);
	npu_core_run(rig.core);
	CHECK_EQUAL(rig.rises, 4);
	CHECK_EQUAL(counter(&rig), 3);
	CHECK_EQUAL(stats(&rig).interrupts, 1);
	for (unsigned int i = 0; i < 3; i++)
		CHECK(chain_product(&rig, i, op));
	rig_free_operands(op);
	rig_fini(&rig);
}

static void spurious_interrupt_is_masked_as_others(void)
{
	struct rig rig;

	set_up(&rig);
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, 0);
	npu_core_spurious(rig.core);
	CHECK(!rig.level);
	CHECK_EQUAL(raw(&rig), 0xc0000155);
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, ORK_INT_DPU);
	CHECK(rig.level);
	rig_fini(&rig);
}

static void storm_lasts_while_the_mask_is_open(void)
{
	struct rig rig;

	set_up(&rig);
	npu_core_misbehave(rig.core, NPU_STORM, 1);
	CHECK_EQUAL(npu_core_misbehaves(rig.core, NPU_STORM), 1);
	rig_free_operands(put_chain(&rig, 1));
	/* Nothing comes back that was not there. */
	rig_kick(&rig, slot(0), RIG_WORDS, 1);
	CHECK(!rig.level);
	npu_core_run(rig.core);
	for (int i = 0; i < 3; i++) {
		rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
		CHECK(rig.level);
		/* Of the five bits that were set the one that the mask is open for. */
		CHECK_EQUAL(raw(&rig), 0xc0000100);
	}
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, 0);
	CHECK(!rig.level);
	rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	CHECK_EQUAL(raw(&rig), 0xc0000000);
	rig_write(&rig, ORK_PC_INTERRUPT_MASK, ORK_INT_DPU);
	CHECK(!rig.level);
	rig_fini(&rig);
}

static void storm_ends_when_it_is_told_to(void)
{
	struct rig rig;

	set_up(&rig);
	npu_core_misbehave(rig.core, NPU_STORM, 1);
	npu_core_spurious(rig.core);
	rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	CHECK(rig.level);
	npu_core_misbehave(rig.core, NPU_STORM, 0);
	rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	CHECK(!rig.level);
	rig_fini(&rig);
}

static void storm_ends_with_a_reset(void)
{
	struct rig rig;

	set_up(&rig);
	npu_core_misbehave(rig.core, NPU_STORM, 1);
	npu_core_spurious(rig.core);
	npu_core_reset(rig.core);
	CHECK(!rig.level);
	CHECK_EQUAL(npu_core_misbehaves(rig.core, NPU_STORM), 0);
	npu_core_spurious(rig.core);
	rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	CHECK(!rig.level);
	rig_fini(&rig);
}

static void ignored_stalls_are_those_of_the_cores_iommu(void)
{
	struct rig rig;

	set_up(&rig);
	npu_core_misbehave(rig.core, NPU_STALL_ON_IGNORED, 1);
	npu_core_misbehave(rig.core, NPU_STALL_OFF_IGNORED, 2);
	rig_write(&rig, 0xa000 + NPU_IOMMU_COMMAND, NPU_IOMMU_ENABLE_STALL);
	CHECK(!(rig_read(&rig, 0xa000 + NPU_IOMMU_STATUS) & NPU_IOMMU_STATUS_STALL));
	/* The other bank has still to be told. */
	CHECK_EQUAL(npu_core_misbehaves(rig.core, NPU_STALL_ON_IGNORED), 1);
	rig_write(&rig, 0x9000 + NPU_IOMMU_COMMAND, NPU_IOMMU_ENABLE_STALL);
	CHECK_EQUAL(npu_core_misbehaves(rig.core, NPU_STALL_ON_IGNORED), 0);
	CHECK_EQUAL(npu_core_misbehaves(rig.core, NPU_STALL_OFF_IGNORED), 2);
	rig_fini(&rig);
}

/* --- resets ----------------------------------------------------------------------------------- */

static void reset_now(struct rig *rig)
{
	npu_core_reset(rig->core);
}

static void reset_within_a_callback_ends_the_run(void)
{
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 3);
	rig.program_done = reset_now;
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 3), NPU_OK);
	CHECK_EQUAL(rig.programs, 1);
	CHECK_EQUAL(rig.rises, 0);
	CHECK_EQUAL(counter(&rig), 0);
	CHECK_EQUAL(stats(&rig).programs, 0);
	CHECK_EQUAL(raw(&rig), 0xc0000000);
	rig.program_done = NULL;
	CHECK_EQUAL(rig_run(&rig, slot(0), RIG_WORDS, 3), NPU_OK);
	CHECK_EQUAL(rig.rises, 1);
	CHECK(chain_product(&rig, 2, op));
	rig_free_operands(op);
	rig_fini(&rig);
}

static void kick_is_forgotten_by_a_reset(void)
{
	struct rig rig;

	set_up(&rig);
	rig_free_operands(put_chain(&rig, 1));
	rig_kick(&rig, slot(0), RIG_WORDS, 1);
	npu_core_reset(rig.core);
	npu_core_run(rig.core);
	CHECK_EQUAL(rig.programs, 0);
	rig_fini(&rig);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_moved = PTHREAD_COND_INITIALIZER;
static bool gate_reached, gate_open;

/* Holds the run in its callback until the test lets it go. */
static void wait_at_gate(struct rig *rig)
{
	(void)rig;
	pthread_mutex_lock(&gate);
	gate_reached = true;
	pthread_cond_broadcast(&gate_moved);
	while (!gate_open)
		pthread_cond_wait(&gate_moved, &gate);
	pthread_mutex_unlock(&gate);
}

static void await_gate(void)
{
	pthread_mutex_lock(&gate);
	while (!gate_reached)
		pthread_cond_wait(&gate_moved, &gate);
	pthread_mutex_unlock(&gate);
}

static void open_gate(void)
{
	pthread_mutex_lock(&gate);
	gate_open = true;
	pthread_cond_broadcast(&gate_moved);
	pthread_mutex_unlock(&gate);
}

static void *run_core(void *opaque)
{
	npu_core_run(((struct rig *)opaque)->core);
	return NULL;
}

/*
 * What the stale read of the first word finds: a thread that resets the core while it is in
 * memory.
 */
struct intruder {
	struct rig *rig;
	pthread_t thread;
	atomic_bool started, done, done_too_early;
};

static void *reset_core(void *opaque)
{
	struct intruder *intruder = opaque;

	npu_core_reset(intruder->rig->core);
	atomic_store(&intruder->done, true);
	return NULL;
}

/* Gives the reset ample opportunity; that it makes no use of it is what is tested. */
static void intrude(void *opaque, const struct npu_stale *stale)
{
	struct intruder *intruder = opaque;

	(void)stale;
	if (atomic_exchange(&intruder->started, true))
		return;
	CHECK_EQUAL(pthread_create(&intruder->thread, NULL, reset_core, intruder), 0);
	for (int i = 0; i < 20000 && !atomic_load(&intruder->done); i++)
		sched_yield();
	atomic_store(&intruder->done_too_early, atomic_load(&intruder->done));
}

static void reset_waits_while_memory_is_accessed(void)
{
	struct intruder intruder = { 0 };
	struct rig_operands op;
	struct rig rig;

	set_up(&rig);
	intruder.rig = &rig;
	op = put_chain(&rig, 3);
	rig_store(&rig, A, "\xff\xff", 2);
	npu_cache_set_log(rig.cache, intrude, &intruder);
	rig_kick(&rig, slot(0), RIG_WORDS, 3);
	npu_core_run(rig.core);
	CHECK(intruder.started);
	pthread_join(intruder.thread, NULL);
	CHECK(!intruder.done_too_early);
	rig_free_operands(op);
	rig_fini(&rig);
}

static void reset_overtakes_a_callback(void)
{
	struct rig_operands op;
	pthread_t thread;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 3);
	rig.program_done = wait_at_gate;
	gate_reached = gate_open = false;
	rig_kick(&rig, slot(0), RIG_WORDS, 3);
	CHECK_EQUAL(pthread_create(&thread, NULL, run_core, &rig), 0);
	await_gate();
	/* The run cannot get on now, so this returns only if it does not wait for the callback. */
	npu_core_reset(rig.core);
	open_gate();
	pthread_join(thread, NULL);
	CHECK_EQUAL(rig.programs, 1);
	CHECK_EQUAL(rig.rises, 0);
	rig_free_operands(op);
	rig_fini(&rig);
}

/*
 * Long programs: C is all zeros, and the NPU's results are not. Much to write and little to
 * compute, so that a moment taken at random is likely to lie in the writing.
 */
#define LONG_PROGRAMS	4095u
#define LONG_ROWS	512u
#define LONG_BYTES	(LONG_ROWS * 64 * 4)

static void put_long_chain(struct rig *rig)
{
	struct rig_matmul m = shape(ORK_PRECISION_FP16, ORK_PRECISION_FP32, LONG_ROWS, 32, 64);
	struct rig_program p = rig_matmul_program(&m);

	rig_free_operands(rig_fill(rig, &m));
	rig_map(rig, C, LONG_BYTES);
	/* It goes on with itself. */
	rig_link(&p, slot(0), ORK_PC_AMOUNT(RIG_WORDS));
	rig_put_program(rig, slot(0), &p);
}

/* After a reset returns, what it interrupted writes nothing, whenever it came. */
static void reset_ends_a_run_on_another_thread(void)
{
	uint8_t *zeros = rig_alloc(LONG_BYTES, 1), *after = rig_alloc(LONG_BYTES, 1);
	pthread_t thread;
	struct rig rig;

	set_up(&rig);
	put_long_chain(&rig);
	for (unsigned int i = 0; i < 24; i++) {
		rig_kick(&rig, slot(0), RIG_WORDS, LONG_PROGRAMS);
		CHECK_EQUAL(pthread_create(&thread, NULL, run_core, &rig), 0);
		/* Some programs in, at no particular moment of the next. */
		for (uint64_t start = stats(&rig).programs; stats(&rig).programs < start + i / 4;)
			sched_yield();
		npu_core_reset(rig.core);
		rig_get(&rig, C, after, LONG_BYTES);
		rig_put(&rig, C, zeros, LONG_BYTES);
		pthread_join(thread, NULL);
		rig_get(&rig, C, after, LONG_BYTES);
		CHECK(!memcmp(after, zeros, LONG_BYTES));
		CHECK_EQUAL(counter(&rig), 0);
		CHECK_EQUAL(stats(&rig).hang, NPU_OK);
	}
	CHECK_EQUAL(rig.rises, 0);
	rig_fini(&rig);
	free(zeros);
	free(after);
}

static bool is_written(struct rig *rig, uint32_t iova)
{
	float value;

	rig_get(rig, iova, &value, sizeof(value));
	return value != 0;
}

/*
 * The core is reset when the first result is seen, long before the last is written. A test that
 * runs late finds the program done, but not every time.
 */
static void reset_ends_a_program_half_way(void)
{
	uint8_t *zeros = rig_alloc(LONG_BYTES, 1);
	bool cut = false;
	pthread_t thread;
	struct rig rig;

	set_up(&rig);
	put_long_chain(&rig);
	for (unsigned int i = 0; i < 1000 && !cut; i++) {
		rig_put(&rig, C, zeros, LONG_BYTES);
		rig_kick(&rig, slot(0), RIG_WORDS, 1);
		CHECK_EQUAL(pthread_create(&thread, NULL, run_core, &rig), 0);
		while (!is_written(&rig, C) && !stats(&rig).hang)
			;
		npu_core_reset(rig.core);
		pthread_join(thread, NULL);
		cut = !is_written(&rig, C + LONG_BYTES - sizeof(float));
	}
	CHECK(cut);
	rig_fini(&rig);
	free(zeros);
}

/* Tells a rise only when the test lets it. */
static void tell_at_gate(void *opaque, bool level)
{
	struct rig *rig = opaque;

	if (level)
		wait_at_gate(rig);
	rig->level = level;
}

/* While one thread is telling a rise, another makes the line fall. */
static void line_is_told_its_true_level_last(void)
{
	static const struct npu_core_ops ops = { .irq = tell_at_gate };
	struct rig_operands op;
	pthread_t thread;
	struct rig rig;

	set_up(&rig);
	npu_core_free(rig.core);
	rig.core = npu_core_new(0, rig.cache, &ops, &rig);
	rig_enable_iommu(&rig);
	op = put_chain(&rig, 1);
	gate_reached = gate_open = false;
	rig_kick(&rig, slot(0), RIG_WORDS, 1);
	CHECK_EQUAL(pthread_create(&thread, NULL, run_core, &rig), 0);
	await_gate();
	rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	open_gate();
	pthread_join(thread, NULL);
	CHECK(!rig.level);
	rig_free_operands(op);
	rig_fini(&rig);
}

static void registers_may_be_accessed_during_a_run(void)
{
	struct rig_operands op;
	pthread_t thread;
	struct rig rig;

	set_up(&rig);
	op = put_chain(&rig, 5);
	for (int i = 0; i < 200; i++) {
		rig_kick(&rig, slot(0), RIG_WORDS, 5);
		CHECK_EQUAL(pthread_create(&thread, NULL, run_core, &rig), 0);
		while (!(rig_read(&rig, ORK_PC_INTERRUPT_STATUS) & ORK_INT_DPU))
			rig_write(&rig, ORK_PC_INTERRUPT_MASK, ORK_INT_DPU);
		CHECK_EQUAL(counter(&rig), 5);
		rig_write(&rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
		pthread_join(thread, NULL);
		CHECK(!rig.level);
	}
	CHECK_EQUAL(stats(&rig).programs, 1000);
	rig_free_operands(op);
	rig_fini(&rig);
}

int main(void)
{
	RUN(registers_reset_to_their_values);
	RUN(pc_registers_keep_the_bits_they_have);
	RUN(registers_of_no_block_read_as_zero);
	RUN(blocks_take_the_cpus_writes_in_slave_mode_only);
	RUN(pointer_selects_the_group);
	RUN(chain_interrupts_once);
	RUN(rocket_runs_a_chain_program_by_program);
	RUN(groups_alternate_from_kick_to_kick);
	RUN(task_number_ends_a_chain_that_links_on);
	RUN(counter_counts_on_until_it_is_cleared);
	RUN(operation_enable_is_an_edge);
	RUN(mask_decides_the_line);
	RUN(callbacks_may_access_registers);
	RUN(data_base_is_added_to_data_addresses);
	RUN(registers_not_written_are_those_of_two_programs_ago);
	RUN(one_full_program_does_not_prime_both_groups);
	RUN(group_out_of_turn_hangs);
	RUN(targets_are_decoded_by_their_bits);
	RUN(odd_program_is_fetched_with_one_word_more);
	RUN(reused_weights_are_those_in_the_buffer);
	test_bad_registers();
	RUN(limits_are_reached);
	test_bad_links();
	test_bad_words();
	RUN(kick_of_no_program_hangs);
	test_fault("programs", slot(0), false);
	test_fault("activations", A, false);
	test_fault("weights", B, false);
	test_fault("results", C, true);
	RUN(work_is_counted);
	RUN(eviction_precedes_the_interrupt);
	RUN(spurious_interrupt_leaves_the_chain_alone);
	RUN(spurious_interrupt_is_masked_as_others);
	RUN(storm_lasts_while_the_mask_is_open);
	RUN(storm_ends_when_it_is_told_to);
	RUN(storm_ends_with_a_reset);
	RUN(ignored_stalls_are_those_of_the_cores_iommu);
	RUN(reset_within_a_callback_ends_the_run);
	RUN(kick_is_forgotten_by_a_reset);
	RUN(reset_waits_while_memory_is_accessed);
	RUN(reset_overtakes_a_callback);
	RUN(reset_ends_a_run_on_another_thread);
	RUN(reset_ends_a_program_half_way);
	RUN(line_is_told_its_true_level_last);
	RUN(registers_may_be_accessed_during_a_run);
	return test_result();
}

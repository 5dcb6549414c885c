// SPDX-License-Identifier: MIT
/*
 * The chain builder. Words are typed in as streams captured on boards have them: target, value and
 * register in 64 bits; a tail of next address, next amount, sync, enable; amounts of 0x37, 0x24 and
 * 0x07 for programs of 108, 69 and 12 registers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ork_private.h"
#include "test.h"

#define IOVA		0x00345000u
#define GUARD		0xa5a5a5a5a5a5a5a5ull
#define TAIL_BYTES	32

static struct ork device;
static struct ork_bo bo;

static void new_object(uint64_t size)
{
	free(bo.data);
	bo = (struct ork_bo) { .ork = &device, .size = size, .handle = 1, .iova = IOVA };
	bo.data = malloc(size);
	memset(bo.data, 0xa5, size);
}

static uint64_t word(uint64_t offset)
{
	uint64_t value;

	memcpy(&value, (char *)bo.data + offset, sizeof(value));
	return value;
}

static void add_program(struct ork_chain *chain, uint32_t registers)
{
	uint32_t i;

	ork_chain_begin(chain);
	for (i = 0; i < registers; i++)
		ork_chain_set(chain, ORK_CNA_DCOMP_AMOUNT0, i);
	ork_chain_end(chain, 0x0d);
}

static void a_program_is_its_registers_and_a_tail_without_link(void)
{
	struct ork_chain chain;

	new_object(4096);
	ork_chain_init(&chain, &bo, 0, 4096);
	ork_chain_begin(&chain);
	ork_chain_set(&chain, 0x100c, 0x20000120);
	ork_chain_set(&chain, 0x3010, 0x201);
	ork_chain_set(&chain, 0x4020, 0xfff54321);
	ork_chain_set(&chain, 0x5018, 5);
	ork_chain_set(&chain, 0x6070, 6);
	ork_chain_set(&chain, 0x701c, 7);
	CHECK_EQUAL(ork_chain_end(&chain, 0x7d), 0);
	CHECK_EQUAL(word(0), 0x020120000120100cull);
	CHECK_EQUAL(word(8), 0x0801000002013010ull);
	CHECK_EQUAL(word(16), 0x1001fff543214020ull);
	CHECK_EQUAL(word(24), 0x2001000000055018ull);
	CHECK_EQUAL(word(32), 0x4001000000066070ull);
	CHECK_EQUAL(word(40), 0x800100000007701cull);
	CHECK_EQUAL(word(48), 0x0101000000000010ull);
	CHECK_EQUAL(word(56), 0x0101000000000014ull);
	CHECK_EQUAL(word(64), 0x0041000000000000ull);
	CHECK_EQUAL(word(72), 0x00810000007d0008ull);
	CHECK_EQUAL(word(80), GUARD);
	CHECK_EQUAL(chain.bytes, 80);
}

static void programs_link_with_address_and_amount(void)
{
	struct ork_chain chain;
	struct drm_ork_task task;

	new_object(8192);
	ork_chain_init(&chain, &bo, 0x40, 8192 - 0x40);
	add_program(&chain, 12);
	add_program(&chain, 108);
	add_program(&chain, 69);
	add_program(&chain, 12);
	CHECK_EQUAL(ork_chain_task(&chain, &task), 0);
	CHECK_EQUAL(task.iova, IOVA + 0x40);
	CHECK_EQUAL(task.words, 16);
	CHECK_EQUAL(task.programs, 4);
	/*
	 * Tails lie 32 bytes before the end of programs of 128, 896 and (with a word to fill the
	 * beat) 592 bytes.
	 */
	CHECK_EQUAL(word(0x40 + 128 - 32), 0x0101000000000010ull | (uint64_t)(IOVA + 0x40 + 128) << 16);
	CHECK_EQUAL(word(0x40 + 128 - 24), 0x0101000000370014ull);
	CHECK_EQUAL(word(0x40 + 1024 - 32), 0x0101000000000010ull | (uint64_t)(IOVA + 0x40 + 1024) << 16);
	CHECK_EQUAL(word(0x40 + 1024 - 24), 0x0101000000240014ull);
	CHECK_EQUAL(word(0x40 + 1616 - 32), 0x0101000000000010ull | (uint64_t)(IOVA + 0x40 + 1616) << 16);
	CHECK_EQUAL(word(0x40 + 1616 - 24), 0x0101000000070014ull);
	CHECK_EQUAL(word(0x40 + 1744 - 32), 0x0101000000000010ull);
	CHECK_EQUAL(word(0x40 + 1744 - 24), 0x0101000000000014ull);
	CHECK_EQUAL(chain.bytes, 1744);
	CHECK_EQUAL(word(0), GUARD);
	CHECK_EQUAL(word(0x40 + 1744), GUARD);
}

static void an_odd_program_is_filled_before_its_tail(void)
{
	struct ork_chain chain;

	new_object(4096);
	ork_chain_init(&chain, &bo, 0, 4096);
	add_program(&chain, 3);
	CHECK_EQUAL(word(24), 0);
	CHECK_EQUAL(word(32), 0x0101000000000010ull);
	CHECK_EQUAL(word(56), 0x00810000000d0008ull);
	CHECK_EQUAL(chain.bytes, 64);
	CHECK_EQUAL(chain.first_words, 8);
}

/* For every room that is too small, at the register or at the tail. */
static void nothing_is_written_beyond_the_room(void)
{
	uint64_t room, offset, needed = 2 * (5 + 1) * 8 + 2 * TAIL_BYTES;
	struct ork_chain chain;

	for (room = 0; room <= needed; room += 8) {
		new_object(4096);
		CHECK_EQUAL(ork_chain_init(&chain, &bo, 256, room), 0);
		add_program(&chain, 5);
		add_program(&chain, 5);
		CHECK_EQUAL(chain.error, room < needed ? -ENOSPC : 0);
		for (offset = 0; offset < 4096; offset += 8)
			if (offset < 256 || offset >= 256 + room)
				CHECK_EQUAL(word(offset), GUARD);
	}
}

/* A program that does not fit leaves the chain before it whole: its last tail links to nothing. */
static void a_program_that_failed_is_not_linked(void)
{
	struct ork_chain chain;

	new_object(4096);
	ork_chain_init(&chain, &bo, 0, 160);
	add_program(&chain, 12);
	add_program(&chain, 12);
	CHECK_EQUAL(chain.error, -ENOSPC);
	CHECK_EQUAL(word(96), 0x0101000000000010ull);
	CHECK_EQUAL(chain.programs, 1);
	CHECK_EQUAL(chain.bytes, 128);
}

static void the_first_error_stays_and_stops_everything(void)
{
	struct drm_ork_task task;
	struct ork_chain chain;

	new_object(4096);
	ork_chain_init(&chain, &bo, 0, 4096);
	ork_chain_begin(&chain);
	ork_chain_set(&chain, 0x2000, 1);
	ork_chain_set(&chain, 0x1010, 1);
	ork_chain_begin(&chain);
	CHECK_EQUAL(ork_chain_end(&chain, 0x0d), -EINVAL);
	CHECK_EQUAL(ork_chain_end(&chain, 0), -EINVAL);
	CHECK_EQUAL(ork_chain_task(&chain, &task), -EINVAL);
	CHECK_EQUAL(word(0), GUARD);
	CHECK_EQUAL(chain.programs, 0);
}

static void only_registers_of_blocks_can_be_set(void)
{
	/*
	 * No such block, the program controller's (links are the builder's), AXI, beyond the
	 * window, not a multiple of 4.
	 */
	static const uint32_t wrong[] = { 0x2000, 0x0010, 0x0008, 0x8000, 0xf008, 0x11000, 0xfffff010, 0x100d, 0x100e };
	struct ork_chain chain;
	size_t i;

	new_object(4096);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ork_chain_init(&chain, &bo, 0, 4096);
		ork_chain_begin(&chain);
		ork_chain_set(&chain, wrong[i], 0);
		CHECK(chain.error == -EINVAL, "register 0x%x gives %d", wrong[i], chain.error);
	}
}

static void calls_out_of_turn_are_errors(void)
{
	struct drm_ork_task task;
	struct ork_chain chain;

	new_object(4096);
	ork_chain_init(&chain, &bo, 0, 4096);
	CHECK_EQUAL(ork_chain_task(&chain, &task), -EINVAL);
	ork_chain_set(&chain, 0x1010, 0);
	CHECK_EQUAL(chain.error, -EINVAL);

	ork_chain_init(&chain, &bo, 0, 4096);
	CHECK_EQUAL(ork_chain_end(&chain, 0x0d), -EINVAL);

	ork_chain_init(&chain, &bo, 0, 4096);
	ork_chain_begin(&chain);
	ork_chain_begin(&chain);
	CHECK_EQUAL(ork_chain_end(&chain, 0x0d), -EBUSY);

	ork_chain_init(&chain, &bo, 0, 4096);
	add_program(&chain, 1);
	ork_chain_begin(&chain);
	CHECK_EQUAL(ork_chain_task(&chain, &task), -EINVAL);
}

static void enable_masks_name_known_blocks(void)
{
	static const uint32_t wrong[] = { 0, 0x02, 0x80, 0x10d };
	struct ork_chain chain;
	size_t i;

	new_object(4096);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ork_chain_init(&chain, &bo, 0, 4096);
		ork_chain_begin(&chain);
		CHECK(ork_chain_end(&chain, wrong[i]) == -EINVAL, "enable 0x%x", wrong[i]);
	}
}

static void a_chain_has_at_most_4095_programs(void)
{
	struct ork_chain chain;
	int i;

	new_object(4096 * TAIL_BYTES);
	ork_chain_init(&chain, &bo, 0, bo.size);
	for (i = 0; i < 4095; i++)
		add_program(&chain, 0);
	CHECK_EQUAL(chain.error, 0);
	CHECK_EQUAL(chain.programs, 4095);
	add_program(&chain, 0);
	CHECK_EQUAL(chain.error, -E2BIG);
	CHECK_EQUAL(word(4095 * TAIL_BYTES), GUARD);
}

static void a_program_has_at_most_131072_words(void)
{
	struct ork_chain chain;

	new_object(131074 * 8);
	ork_chain_init(&chain, &bo, 0, bo.size);
	add_program(&chain, 131072 - 4);
	CHECK_EQUAL(chain.error, 0);
	CHECK_EQUAL(chain.first_words, 131072);
	ork_chain_init(&chain, &bo, 0, bo.size);
	add_program(&chain, 131072 - 3);
	CHECK_EQUAL(chain.error, -E2BIG);
}

static void the_room_must_lie_in_the_object(void)
{
	struct ork_chain chain;

	new_object(4096);
	CHECK_EQUAL(ork_chain_init(&chain, &bo, 0, 4096), 0);
	CHECK_EQUAL(ork_chain_init(&chain, &bo, 4080, 16), 0);
	CHECK_EQUAL(ork_chain_init(&chain, &bo, 4096, 0), 0);
	CHECK_EQUAL(ork_chain_init(&chain, &bo, 8, 64), -EINVAL);
	CHECK(strstr(device.error, "offset 8") && strstr(device.error, "16"), "%s", device.error);
	CHECK_EQUAL(ork_chain_init(&chain, &bo, 16, 4096), -EINVAL);
	CHECK(strstr(device.error, "4096"), "%s", device.error);
	CHECK_EQUAL(ork_chain_init(&chain, &bo, 8192, 0), -EINVAL);
	CHECK_EQUAL(ork_chain_init(&chain, &bo, 16, UINT64_MAX), -EINVAL);
	ork_chain_begin(&chain);
	CHECK_EQUAL(ork_chain_end(&chain, 0x0d), -EINVAL);
}

int main(void)
{
	RUN(a_program_is_its_registers_and_a_tail_without_link);
	RUN(programs_link_with_address_and_amount);
	RUN(an_odd_program_is_filled_before_its_tail);
	RUN(nothing_is_written_beyond_the_room);
	RUN(a_program_that_failed_is_not_linked);
	RUN(the_first_error_stays_and_stops_everything);
	RUN(only_registers_of_blocks_can_be_set);
	RUN(calls_out_of_turn_are_errors);
	RUN(enable_masks_name_known_blocks);
	RUN(a_chain_has_at_most_4095_programs);
	RUN(a_program_has_at_most_131072_words);
	RUN(the_room_must_lie_in_the_object);
	free(bo.data);
	return test_result();
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* The emulated board's control registers, for tests that need to see or to bend the hardware. */
#ifndef ORK_TEST_BOARD_H
#define ORK_TEST_BOARD_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <ork-board.h>

#define BOARD_CORES	3

/* NULL where this is not the emulated board, or not root. */
static inline volatile uint32_t *board_open(void)
{
	volatile uint32_t *board;
	int fd;

	if (access("/sys/firmware/devicetree/base" ORK_BOARD_NODE, F_OK))
		return NULL;
	fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	board = mmap(NULL, ORK_BOARD_BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     ORK_BOARD_CONTROL_BASE);
	close(fd);
	if (board == MAP_FAILED || board[ORK_BOARD_MAGIC / 4] != ORK_BOARD_MAGIC_VALUE ||
	    board[ORK_BOARD_VERSION / 4] != ORK_BOARD_VERSION_VALUE)
		return NULL;
	return board;
}

static inline uint32_t board_read(volatile uint32_t *board, uint32_t reg)
{
	return board[reg / 4];
}

static inline void board_write(volatile uint32_t *board, uint32_t reg, uint32_t value)
{
	board[reg / 4] = value;
}

static inline uint32_t board_core_read(volatile uint32_t *board, uint32_t core, uint32_t reg)
{
	return board_read(board, ORK_BOARD_CORE(core, reg));
}

static inline void board_core_write(volatile uint32_t *board, uint32_t core, uint32_t reg,
				    uint32_t value)
{
	board_write(board, ORK_BOARD_CORE(core, reg), value);
}

static inline uint32_t board_measure(volatile uint32_t *board, uint32_t core, uint32_t reg)
{
	return board_read(board, ORK_BOARD_MEASURE(core, reg));
}

/* @reg: that of a time's low half. */
static inline uint64_t board_measure_ns(volatile uint32_t *board, uint32_t core, uint32_t reg)
{
	uint64_t high = board_measure(board, core, reg + sizeof(uint32_t));

	return high << 32 | board_measure(board, core, reg);
}

/* Kicks, programs or interrupts of all cores. */
static inline uint32_t board_sum(volatile uint32_t *board, uint32_t reg)
{
	uint32_t sum = 0;

	for (uint32_t core = 0; core < BOARD_CORES; core++)
		sum += board_core_read(board, core, reg);
	return sum;
}

static inline uint32_t board_cores_used(volatile uint32_t *board)
{
	uint32_t used = 0;

	for (uint32_t core = 0; core < BOARD_CORES; core++)
		used += !!board_core_read(board, core, ORK_BOARD_CORE_KICKS);
	return used;
}

/* No misbehaviour, whatever the test before left. */
static inline void board_behave(volatile uint32_t *board)
{
	static const uint32_t knobs[] = {
		ORK_BOARD_CORE_STRETCH_US, ORK_BOARD_CORE_DROP, ORK_BOARD_CORE_IGNORE,
		ORK_BOARD_CORE_LATE_US, ORK_BOARD_CORE_FAULT_LATE_US, ORK_BOARD_CORE_STORM,
		ORK_BOARD_CORE_RESET_FAILS, ORK_BOARD_CORE_NOISY_RESETS,
		ORK_BOARD_CORE_STALL_ON_IGNORED, ORK_BOARD_CORE_STALL_OFF_IGNORED,
	};

	if (!board)
		return;
	board_write(board, ORK_BOARD_LATENCY_US, 0);
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++)
			board_core_write(board, core, knobs[i], 0);
}

/*
 * Where lines are written back only when they are cleaned, what was not cleaned is not seen: only
 * then can a test demand it.
 */
static inline bool strict_cache(volatile uint32_t *board)
{
	return board && board_read(board, ORK_BOARD_CACHE_MODE) == ORK_BOARD_CACHE_STRICT;
}

/* To be used before anything is expected: SKIP() forgets what failed. */
#define NEED_BOARD(board) do {							\
	if (!(board))								\
		SKIP(return, "needs the emulated board's control registers");	\
} while (0)

#define NEED_STRICT_CACHE(board) do {							\
	if (!strict_cache(board))							\
		SKIP(return, "needs the emulated board with cache=strict");		\
} while (0)

#endif

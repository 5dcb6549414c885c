/* SPDX-License-Identifier: MIT */
/*
 * What the emulated board has and where, for the board itself and for tests that run on it. A real
 * RK3588 has no control registers: look for the device-tree node, then for the magic number, before
 * any other access.
 */
#ifndef ORK_BOARD_H
#define ORK_BOARD_H

/* The RK3588's own addresses and interrupts (shared peripheral interrupt numbers) of the NPU. */
#define ORK_BOARD_CORE_BASE(core)	(0xfdab0000u + 0x10000u * (core))
#define ORK_BOARD_CORE_SPI(core)	(110 + (core))

/*
 * Ours: places that the RK3588's memory map leaves free beside the NPU, all inside one 64 KiB hole.
 */
#define ORK_BOARD_RESET_BASE		0xfdaf8000u
#define ORK_BOARD_CONTROL_BASE		0xfdaf9000u
#define ORK_BOARD_BLOCK_BYTES		0x1000u

/* Bits of the reset controller's one register: a set bit holds the line asserted. */
#define ORK_BOARD_RESET_A(core)		(1u << (2 * (core)))
#define ORK_BOARD_RESET_H(core)		(2u << (2 * (core)))

#define ORK_BOARD_COMPATIBLE		"ork,emulated-board"
#define ORK_BOARD_NODE			"/ork-board@fdaf9000"

/*
 * Control registers, 32 bits each. Counters are the low half of 64-bit ones, and count from the
 * last write to ORK_BOARD_ZERO, or from power-on. They are documented at struct npu_report and
 * struct npu_core_stats.
 */
#define ORK_BOARD_MAGIC			0x00	/* RO */
#define ORK_BOARD_MAGIC_VALUE		0x4f524b42u
#define ORK_BOARD_VERSION		0x04	/* RO */
#define ORK_BOARD_VERSION_VALUE		1
#define ORK_BOARD_STALE_READS		0x08	/* RO */
#define ORK_BOARD_RESULTS_LOST		0x0c	/* RO */
#define ORK_BOARD_LINES_CLEANED		0x10	/* RO */
#define ORK_BOARD_LINES_INVALIDATED	0x14	/* RO */
#define ORK_BOARD_LATENCY_US		0x18	/* RW: time of a program beyond its work */
#define ORK_BOARD_EVICT			0x1c	/* WO, 1: write back dirty lines, at once */
#define ORK_BOARD_LINES_EVICTED		0x20	/* RO */
#define ORK_BOARD_DC_INSTRUCTIONS	0x24	/* RO: by address, all kinds and CPUs */
#define ORK_BOARD_CACHE_MODE		0x28	/* RO */
#define ORK_BOARD_CACHE_STRICT		0
#define ORK_BOARD_CACHE_EVICT		1
#define ORK_BOARD_CACHE_COHERENT	2
#define ORK_BOARD_ZERO			0x2c	/* WO, any value: count from here */
#define ORK_BOARD_LOG			0x30	/* WO, any value: write npu-log, from power-on */

/* The same for each core. */
#define ORK_BOARD_CORE(core, reg)	(0x100 + 0x40 * (core) + (reg))
#define ORK_BOARD_CORE_KICKS		0x00	/* RO */
#define ORK_BOARD_CORE_PROGRAMS		0x04	/* RO */
#define ORK_BOARD_CORE_INTERRUPTS	0x08	/* RO */
#define ORK_BOARD_CORE_REGISTER_WRITES	0x0c	/* RO */
#define ORK_BOARD_CORE_HANG		0x10	/* RO: enum npu_hang, 0 if it does not */
#define ORK_BOARD_CORE_FAULTS		0x14	/* RO */
/* Misbehaviour: how many more times; counts down to 0. */
#define ORK_BOARD_CORE_DROP		0x20	/* RW: completions not signalled */
#define ORK_BOARD_CORE_IGNORE		0x24	/* RW: kicks that the core does not take */

#endif

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
#define ORK_BOARD_VERSION_VALUE		3
#define ORK_BOARD_STALE_READS		0x08	/* RO */
#define ORK_BOARD_RESULTS_LOST		0x0c	/* RO */
#define ORK_BOARD_LINES_CLEANED		0x10	/* RO */
#define ORK_BOARD_LINES_INVALIDATED	0x14	/* RO */
#define ORK_BOARD_LATENCY_US		0x18	/* RW: time of each program beyond its work */
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
#define ORK_BOARD_CORE(core, reg)	(0x100 + 0x80 * (core) + (reg))
#define ORK_BOARD_CORE_KICKS		0x00	/* RO */
#define ORK_BOARD_CORE_PROGRAMS		0x04	/* RO */
#define ORK_BOARD_CORE_INTERRUPTS	0x08	/* RO */
#define ORK_BOARD_CORE_REGISTER_WRITES	0x0c	/* RO */
#define ORK_BOARD_CORE_HANG		0x10	/* RO: enum npu_hang, 0 if it does not */
#define ORK_BOARD_CORE_FAULTS		0x14	/* RO */

/*
 * Misbehaviour of a core. Those that say how often count down to 0; power-on and reboot end them
 * all. Times in microseconds hold at once, also for the program or the completion under way: a
 * large one holds it, 0 lets it go.
 */
/* RW: time of each program of this core, on top of the board's latency */
#define ORK_BOARD_CORE_STRETCH_US	0x18
/*
 * RW, how often: resets with an effect at whose beginning the line rises, as the core's IOMMU may
 * make it do at any time. It falls when somebody reads a register of that, as the handler does that
 * shares the line, or with the end of the reset.
 */
#define ORK_BOARD_CORE_NOISY_RESETS	0x1c
/* RW, how often: completions that the line does not tell of; status and counter do */
#define ORK_BOARD_CORE_DROP		0x20
/* RW, how often: kicks that the core does not take */
#define ORK_BOARD_CORE_IGNORE		0x24
/*
 * WO, any value: the status bits of a completion are set, and the line rises if they are not
 * masked, though no chain ended. A chain that runs goes on, the task counter stays.
 */
#define ORK_BOARD_CORE_SPURIOUS		0x28
/* RW: from a chain's end, which status and counter show at once, to the rise of the line */
#define ORK_BOARD_CORE_LATE_US		0x2c
/*
 * RW, 1 or 0: a completion's status bits come back as soon as they are cleared while the mask is
 * open for them. It begins with a completion, or a spurious one; closing the mask silences it. A
 * reset of the core ends it.
 */
#define ORK_BOARD_CORE_STORM		0x30
/*
 * RW, how often: resets that have no effect at all. One reset is from the first of the core's two
 * lines that is asserted until both are released.
 */
#define ORK_BOARD_CORE_RESET_FAILS	0x34
/*
 * RW, how often: commands to stall, or to go on, that the core's IOMMU does not take: its status
 * does not follow. Each of core 0's two banks counts for itself, so that 1 makes exactly one
 * request of Linux's driver run into its timeout, which gives every command to all banks.
 *
 * To change directories that driver asks for a stall to leave the old one, ignores the timeout,
 * and asks again to enter the new one, because paging could not be disabled: 2 make the change
 * fail. The kernel takes a failure to leave its default domain for another (2 or 3 there), but
 * warns of one to return to it. No stall's end is asked for on the way in: however many of them are
 * ignored, a change does not fail.
 *
 * With the vendor's binding a request goes to the banks of all cores, and a status is there when
 * all have it. A stall that one core ignores fails its request, but paging seems disabled once
 * another core has, and nothing else fails: for that, all cores have to ignore stalls. A stall
 * seems ended once one bank has: unless all cores ignore the end there is no timeout.
 */
#define ORK_BOARD_CORE_STALL_ON_IGNORED		0x38
#define ORK_BOARD_CORE_STALL_OFF_IGNORED	0x3c
/* RW: from a fault, which the statuses of core and IOMMU show at once, to the rise of the line */
#define ORK_BOARD_CORE_FAULT_LATE_US	0x40

/*
 * What each core's driver costs, all RO, counted as the counters are. Times are in nanoseconds, of
 * the host's clock, or virtual with -icount. The halves of a time belong together while the core is
 * idle.
 */
#define ORK_BOARD_MEASURE(core, reg)	(0x400 + 0x40 * (core) + (reg))
/*
 * From the rise of the line for a completion to the next kick that is taken: how many, their sum,
 * and the shortest, all ones if there is none. One is left out if ORK_BOARD_ZERO was written in it.
 */
#define ORK_BOARD_MEASURE_GAPS		0x00
#define ORK_BOARD_MEASURE_GAP_NS	0x04
#define ORK_BOARD_MEASURE_GAP_NS_HIGH	0x08
#define ORK_BOARD_MEASURE_GAP_NS_MIN	0x0c
/* From each kick to the end of the last program that was done; not the time of a hang. */
#define ORK_BOARD_MEASURE_BUSY_NS	0x10
#define ORK_BOARD_MEASURE_BUSY_NS_HIGH	0x14
#define ORK_BOARD_MEASURE_IOMMU_WRITES	0x18
#define ORK_BOARD_MEASURE_IOMMU_ATTACHES 0x1c
/*
 * Reads and writes of the core's registers while its reset was asserted, all of them lost. A real
 * core may not even answer.
 */
#define ORK_BOARD_MEASURE_ACCESSES_IN_RESET 0x20

#endif

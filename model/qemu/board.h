/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulated board inside QEMU: what its files share. Every file includes qemu/osdep.h
 * first, then this.
 *
 * Locks: "BQL" is QEMU's big lock. MMIO handlers, resets and bottom halves hold it; vCPUs running
 * guest code and the cores' own threads do not. A core's thread never waits for it, so that a
 * reset, which holds it, may wait for a core.
 */
#ifndef BOARD_H
#define BOARD_H

#include "hw/arm/virt.h"
#include "hw/sysbus.h"
#include "qemu/notify.h"
#include "qemu/thread.h"
#include "qemu/units.h"

#include "drm/ork_regs.h"
#include "npu.h"
#include "ork-board.h"

#define TYPE_ORK_BOARD		MACHINE_TYPE_NAME("rk3588-npu")
#define TYPE_ORK_CORE		"rk3588-npu-core"
OBJECT_DECLARE_SIMPLE_TYPE(OrkBoard, ORK_BOARD)
OBJECT_DECLARE_SIMPLE_TYPE(OrkCore, ORK_CORE)

/* Where the parent machine puts its RAM. */
#define BOARD_RAM_BASE		(1 * GiB)

/* Stale reads that the log tells in words. */
#define BOARD_STALE_WORDS	64

/* The binding by which the device tree describes the NPU. */
enum board_binding { BOARD_BINDING_MAINLINE, BOARD_BINDING_VENDOR };

enum dc_kind { DC_CVAC, DC_CVAP, DC_CVADP, DC_CIVAC, DC_IVAC, DC_KINDS };

/* Each written by its own vCPU alone, and on a cache line of its own. */
struct dc_counts {
	uint64_t n[DC_KINDS];
} QEMU_ALIGNED(64);

struct dc_hook {
	OrkBoard *board;
	enum dc_kind kind;
	void (*apply)(struct npu_cache *cache, uint64_t pa);
};

/* How the line tells of the last completion. */
enum telling {
	TELL_NOW,
	TELL_LATE,	/* when it is late enough */
	TELL_NEVER,
};

/* Times from the rise of the line for a completion to the next kick. */
struct board_gaps {
	uint64_t count, total_ns;
	uint32_t min_ns;
};

/* One core with its IOMMU, and the thread that it computes on. */
struct OrkCore {
	SysBusDevice parent_obj;

	MemoryRegion mmio;
	qemu_irq irq;
	OrkBoard *board;
	unsigned int index;
	struct npu_core *npu;

	QemuThread thread;
	QemuEvent kick;
	QEMUClockType clock;	/* of all times: virtual with -icount, else the host's */
	QEMUTimer *timer;	/* stands in for the thread with -icount */
	QEMUTimer *late_timer;	/* a completion's line is to rise */
	QEMUTimer *fault_timer;	/* a fault's */
	unsigned int resets;	/* atomic: how often the core was reset */
	unsigned int run_resets; /* of its thread: the same when the run in progress began */

	/* BQL */
	bool asserted;		/* a reset line is */
	bool held;		/* and to effect */
	bool noise;		/* the line is high for no reason */
	uint32_t accesses_in_reset;
	uint64_t completions;	/* seen */
	int64_t completed_ns;	/* when the last one was */
	enum telling telling;
	bool faulted;		/* the IOMMU reports a fault */
	int64_t faulted_ns;	/* since when */

	/* BQL; atomic what the thread reads or writes */
	bool raised;		/* the line is, for a completion */
	bool in_gap;		/* since then no kick */
	int64_t raised_ns;
	struct board_gaps gaps;
	int64_t kicked_ns;	/* atomic */
	int64_t program_ns;	/* of the thread: when the program under way began */
	uint64_t busy_ns;	/* atomic, written by the thread alone */
	uint64_t zero_busy_ns;

	/* Misbehaviour: ork-board.h. BQL, and atomic what the thread reads. */
	uint32_t drop, ignore, late_us, fault_late_us, reset_fails, noisy_resets;
	uint32_t stretch_us;	/* atomic */
};

struct OrkBoard {
	VirtMachineState parent_obj;

	/* Properties, constant once the machine runs, except the atomic latency. */
	int binding;		/* enum board_binding */
	int cache_mode;
	int window_mode;	/* enum npu_window_mode */
	uint64_t seed;
	uint32_t latency_us;
	char *log_path;

	struct npu_cache *cache;
	uint8_t *ram;
	OrkCore *core[ORK_MAX_CORES];
	struct dc_hook dc_hook[DC_KINDS];
	struct dc_counts *dc_counts;	/* one for each vCPU */
	Notifier shutdown;

	MemoryRegion reset_mmio;
	uint32_t reset_lines;		/* BQL */

	MemoryRegion control_mmio;
	struct npu_report zero_report;	/* BQL: where the control registers count from */
	struct npu_core_stats zero_stats[ORK_MAX_CORES];
	uint64_t zero_dc;

	QemuMutex stale_lock;
	struct npu_stale stale[BOARD_STALE_WORDS];	/* stale_lock */
	unsigned int stale_count;			/* stale_lock */
};

extern const char *const board_cache_names[];

/* Adds the board's nodes to the tree of the parent machine. */
void board_fdt(OrkBoard *board);

/* Takes over the data-cache instructions of all CPUs. */
void board_dcache_init(OrkBoard *board);
uint64_t board_dc_count(OrkBoard *board, enum dc_kind kind);
uint64_t board_dc_total(OrkBoard *board);
const char *board_dc_name(enum dc_kind kind);

/* Tells the cache which pages the CPUs map without caching. */
void board_uncached_init(OrkBoard *board);

/* Maps the control registers. */
void board_control_init(OrkBoard *board);

/* Collects the log's stale reads, and writes the log at shutdown, if there is to be one. */
void board_log_init(OrkBoard *board);
void board_log_write(OrkBoard *board);

OrkCore *board_core_new(OrkBoard *board, unsigned int index);
/* Asserts or releases the core's reset lines, which may fail to have an effect. BQL. */
void board_core_assert(OrkCore *core, bool asserted);
/* Holds the core in its reset, or releases it. BQL. */
void board_core_hold(OrkCore *core, bool held);
/* Misbehaviour of the core, or the board's latency, has changed. BQL. */
void board_core_changed(OrkCore *core);
/* Ends the core's misbehaviour. BQL. */
void board_core_behave(OrkCore *core);
/* A completion interrupt for no completion. BQL. */
void board_core_spurious(OrkCore *core);
/* The core's measurements begin anew. BQL. */
void board_core_zero(OrkCore *core);
/* From kicks to the ends of programs. BQL. */
uint64_t board_core_busy_ns(OrkCore *core);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A software model of the RK3588 NPU: its cores, their IOMMUs, and the CPUs' cache that it does not snoop.
 *
 * Plain C11 without QEMU or kernel in it. Who uses it owns RAM and threads: struct npu_cache stands between RAM
 * as CPUs see it and DRAM as the NPU sees it, struct npu_core takes register accesses, and npu_core_run() does a
 * kicked core's work on the caller's thread.
 *
 * Threads: register accesses, cache maintenance and npu_core_run() may come from different threads at once.
 * npu_core_run() is called by one thread at a time for a core. Nothing is locked while a callback runs.
 */
#ifndef NPU_H
#define NPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPU_LINE_BYTES	64u

/* --- memory: three versions of every line ----------------------------------------------------- */

/*
 * A line is dirty if its bytes differ from what both sides agreed on last. A CPU's stores are seen by that alone: one that
 * stores what was agreed on already, over a result that was not invalidated, makes no line dirty here as it would on a board.
 */

/* Where an access of the NPU comes from, for the report. */
enum npu_block {
	NPU_BLOCK_PC,		/* command fetch */
	NPU_BLOCK_FEATURE,	/* CNA: activations that the program computes with */
	NPU_BLOCK_WINDOW,	/* CNA: the rest of the data banks fetched with them */
	NPU_BLOCK_WEIGHT,	/* CNA: weights */
	NPU_BLOCK_RDMA,		/* DPU_RDMA operands */
	NPU_BLOCK_DPU,		/* DPU writes */
	NPU_BLOCK_IOMMU,	/* page-table walk */
	NPU_BLOCKS
};

struct npu_access {
	int core;
	enum npu_block block;
	uint32_t iova;		/* of the first byte accessed */
};

enum npu_cache_mode {
	NPU_CACHE_STRICT,	/* a dirty line stays in the cache until it is cleaned */
	NPU_CACHE_EVICT,	/* as strict, and dirty lines are written back at random and at every completion */
	NPU_CACHE_COHERENT,	/* the NPU snoops: one version of everything */
};

struct npu_cache;

/*
 * RAM of @size bytes at physical address @base (both multiples of 4096); @cpu is its content as CPUs see it. A line's other
 * two versions, DRAM and what both agreed on last, are zeros until the line is first cleaned or written by the NPU: what was
 * never cleaned never reached DRAM. @seed drives the evictions. NULL if there is no memory.
 */
struct npu_cache *npu_cache_new(uint64_t base, uint64_t size, void *cpu, enum npu_cache_mode mode, uint64_t seed);
void npu_cache_free(struct npu_cache *cache);

/* One line each, by any physical address in it; addresses outside RAM are ignored. */
void npu_cache_clean(struct npu_cache *cache, uint64_t pa);			/* dc cvac */
void npu_cache_invalidate(struct npu_cache *cache, uint64_t pa);		/* dc ivac */
void npu_cache_clean_invalidate(struct npu_cache *cache, uint64_t pa);	/* dc civac */

/*
 * The page of @pa is mapped for the CPUs without caching, or with it again: a page that they do not
 * cache has one version. What the cache held of it is neither lost nor counted.
 */
void npu_cache_set_uncached(struct npu_cache *cache, uint64_t pa, bool uncached);

/* Writes back every dirty line of pages of which DRAM has something, as a cache may at any time. */
void npu_cache_evict(struct npu_cache *cache);
/* A core completed a chain: in eviction mode the moment for npu_cache_evict(), else nothing. */
void npu_cache_completion(struct npu_cache *cache);

/*
 * An access of the NPU. @who->iova belongs to @pa. Returns the number of stale lines among what was read, or -1 if the range is
 * not all in RAM. A line is stale if a byte read of it was changed by the CPU since both sides agreed and differs from DRAM;
 * none is in coherent mode. A line that the NPU wrote and the CPU has not yet invalidated is not stale to the NPU.
 */
int npu_cache_read(struct npu_cache *cache, uint64_t pa, void *buf, size_t len, const struct npu_access *who);
int npu_cache_write(struct npu_cache *cache, uint64_t pa, const void *buf, size_t len, const struct npu_access *who);

/* A read of a stale line. */
struct npu_stale {
	struct npu_access who;
	uint64_t pa;		/* of the line */
	unsigned int byte;	/* first that differs, within the line */
	uint8_t cpu, dram;	/* its two versions */
};

struct npu_report {
	uint64_t stale_reads;			/* lines read stale, all blocks */
	uint64_t stale_by_block[NPU_BLOCKS];
	uint64_t lines_cleaned;			/* dirty lines that maintenance wrote back */
	uint64_t lines_invalidated;		/* lines whose CPU version maintenance replaced */
	uint64_t lines_evicted;			/* dirty lines written back by eviction */
	uint64_t results_lost;			/* write-backs over what the NPU wrote and no invalidate had fetched */
};

void npu_cache_report(struct npu_cache *cache, struct npu_report *report);
/* @log is called for every stale read, or NULL for none. Nothing is locked. */
void npu_cache_set_log(struct npu_cache *cache, void (*log)(void *opaque, const struct npu_stale *stale), void *opaque);

const char *npu_block_name(enum npu_block block);

/* --- one core ---------------------------------------------------------------------------------------------- */

/*
 * Offsets in a core's 64 KiB window as in drm/ork_regs.h; its IOMMU's banks lie at 0x9000 (core 0 only) and 0xa000.
 */
struct npu_core;

struct npu_core_ops {
	/* The level of the interrupt line that core and IOMMU share. Called on a change, from the accessing thread. */
	void (*irq)(void *opaque, bool level);
	/* OPERATION_ENABLE was set in PC mode: npu_core_run() is due, on another thread or at once. */
	void (*kick)(void *opaque);
	/* After each program, before the next is fetched or the interrupt raised: where time is made to pass. */
	void (*program_done)(void *opaque);
};

/* Core @index (0..2) with its IOMMU. @ops' members may be NULL. NULL if there is no memory. */
struct npu_core *npu_core_new(int index, struct npu_cache *cache, const struct npu_core_ops *ops, void *opaque);
void npu_core_free(struct npu_core *core);

/* 32-bit accesses; @offset is a multiple of 4 below 0x10000. */
uint32_t npu_core_read(struct npu_core *core, uint32_t offset);
void npu_core_write(struct npu_core *core, uint32_t offset, uint32_t value);

/*
 * Runs the chain that was kicked: fetch, execute, count, until the last program, a hang or a reset. Does nothing if none is
 * due. A core that hangs returns from here, keeps its counter, raises nothing, and ignores kicks until npu_core_reset().
 */
void npu_core_run(struct npu_core *core);

/*
 * The reset lines of the core: registers to reset values (not the IOMMU's), a run in progress ends without effect. Waits until
 * the run no longer touches memory, but not for a callback that it is in. Not to be called from the cache's log, nor may that
 * wait for a thread that calls this.
 */
void npu_core_reset(struct npu_core *core);

/*
 * The CNA is suspected of fetching activations in whole data banks. The window of a program is the span from the lowest byte
 * of activations to the highest, made a multiple of ORK_CBUF_BANK_BYTES, up to the first page that is not mapped.
 */
enum npu_window_mode {
	NPU_WINDOW_SPOIL,	/* a stale line anywhere in it inverts every bit of the program's result: the default */
	NPU_WINDOW_REPORT,	/* it is counted and logged only */
};

void npu_core_set_window(struct npu_core *core, enum npu_window_mode mode);

/*
 * The status bits of a completion are set, and the interrupt raised if they are not masked, though
 * no chain ended: a chain that runs goes on, counters stay.
 */
void npu_core_spurious(struct npu_core *core);

enum npu_misbehaviour {
	/*
	 * Not 0: completion bits that are cleared while the mask is open for them come back at
	 * once; ends with npu_core_reset().
	 */
	NPU_STORM,
	/* How many more requests to stall, or to go on, the core's IOMMU does not take: iommu.h. */
	NPU_STALL_ON_IGNORED,
	NPU_STALL_OFF_IGNORED,
};

void npu_core_misbehave(struct npu_core *core, enum npu_misbehaviour what, uint32_t value);
/* The value set, less what has happened since. */
uint32_t npu_core_misbehaves(struct npu_core *core, enum npu_misbehaviour what);

/* Why a core hangs; NPU_OK if it does not. */
enum npu_hang {
	NPU_OK,
	NPU_HANG_FAULT,			/* an access that the IOMMU did not translate */
	NPU_HANG_LINK,			/* next address or amount missing before TASK_NUMBER programs ran, or misaligned */
	NPU_HANG_PROGRAM,		/* no enable word in the fetched amount, or words of no block */
	NPU_HANG_BANKS,			/* data and weight banks over 12, or one of them 0 */
	NPU_HANG_WEIGHT_BANKS,		/* one kernel group does not fit the weight banks, or leaves no slack (narrow N) */
	NPU_HANG_DATA_BANKS,		/* the rows of the program do not fit the data banks */
	NPU_HANG_UNSUPPORTED,		/* a mode that the model does not know, or that boards were seen to hang on */
};

struct npu_core_stats {
	uint64_t kicks;			/* OPERATION_ENABLE edges taken */
	uint64_t programs;		/* programs completed */
	uint64_t interrupts;		/* completions signalled, each of a chain */
	uint64_t register_writes;	/* from the CPU, without the IOMMU's */
	uint64_t iommu_writes;		/* from the CPU, all banks together */
	uint64_t iommu_attaches;	/* page directories that the IOMMU began to translate by */
	uint64_t faults;		/* accesses not translated */
	uint64_t macs;			/* multiply-accumulates done */
	uint64_t bytes_read;		/* DRAM traffic of the core, page walks left out */
	uint64_t bytes_written;
	uint64_t cycles;		/* an estimate: the larger of MAC time and DRAM time of each program */
	enum npu_hang hang;		/* of the present hang */
};

void npu_core_stats(struct npu_core *core, struct npu_core_stats *stats);
const char *npu_hang_name(enum npu_hang hang);

#endif

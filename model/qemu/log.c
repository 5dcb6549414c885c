// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The npu-log file: totals since power-on as lines of "key value", then the first stale reads, a
 * line each. It is written when the machine shuts down, for whatever reason, and when the guest
 * asks.
 */
#include "qemu/osdep.h"
#include "board.h"

#include "qemu/error-report.h"
#include "qemu/lockable.h"
#include "sysemu/runstate.h"

/* On a core's thread. */
static void log_stale(void *opaque, const struct npu_stale *stale)
{
	OrkBoard *board = opaque;

	QEMU_LOCK_GUARD(&board->stale_lock);
	if (board->stale_count < BOARD_STALE_WORDS)
		board->stale[board->stale_count++] = *stale;
}

static void write_number(FILE *f, const char *key, uint64_t value)
{
	fprintf(f, "%s %" PRIu64 "\n", key, value);
}

static void write_cache(FILE *f, OrkBoard *board)
{
	struct npu_report r;

	npu_cache_report(board->cache, &r);
	fprintf(f, "cache %s\n", board_cache_names[board->cache_mode]);
	write_number(f, "seed", board->seed);
	write_number(f, "latency_us", qatomic_read(&board->latency_us));
	write_number(f, "stale_reads", r.stale_reads);
	for (int i = 0; i < NPU_BLOCKS; i++)
		fprintf(f, "stale_reads.%s %" PRIu64 "\n", npu_block_name(i), r.stale_by_block[i]);
	write_number(f, "results_lost", r.results_lost);
	write_number(f, "lines_cleaned", r.lines_cleaned);
	write_number(f, "lines_invalidated", r.lines_invalidated);
	write_number(f, "lines_evicted", r.lines_evicted);
	for (int i = 0; i < DC_KINDS; i++)
		fprintf(f, "dc.%s %" PRIu64 "\n", board_dc_name(i), board_dc_count(board, i));
}

static void write_core(FILE *f, unsigned int core, const struct npu_core_stats *s)
{
	const struct { const char *key; uint64_t value; } lines[] = {
		{ "kicks", s->kicks },
		{ "programs", s->programs },
		{ "interrupts", s->interrupts },
		{ "register_writes", s->register_writes },
		{ "iommu_writes", s->iommu_writes },
		{ "iommu_attaches", s->iommu_attaches },
		{ "faults", s->faults },
		{ "macs", s->macs },
		{ "bytes_read", s->bytes_read },
		{ "bytes_written", s->bytes_written },
		{ "cycles", s->cycles },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		fprintf(f, "core%u.%s %" PRIu64 "\n", core, lines[i].key, lines[i].value);
	fprintf(f, "core%u.hang %s\n", core, npu_hang_name(s->hang));
}

static void write_stale(FILE *f, OrkBoard *board)
{
	QEMU_LOCK_GUARD(&board->stale_lock);
	for (unsigned int i = 0; i < board->stale_count; i++) {
		const struct npu_stale *s = &board->stale[i];

		fprintf(f, "stale core %d block %s iova 0x%" PRIx32 " pa 0x%" PRIx64,
			s->who.core, npu_block_name(s->who.block), s->who.iova, s->pa);
		fprintf(f, " byte %u cpu 0x%02x dram 0x%02x\n", s->byte, s->cpu, s->dram);
	}
}

void board_log_write(OrkBoard *board)
{
	struct npu_core_stats stats;
	FILE *f;

	if (!board->log_path)
		return;
	f = fopen(board->log_path, "w");
	if (!f) {
		error_report("npu-log: cannot write %s: %s", board->log_path, strerror(errno));
		return;
	}
	write_cache(f, board);
	for (unsigned int i = 0; i < ORK_MAX_CORES; i++) {
		npu_core_stats(board->core[i]->npu, &stats);
		write_core(f, i, &stats);
	}
	write_stale(f, board);
	if (ferror(f) | fclose(f))
		error_report("npu-log: cannot write all of %s", board->log_path);
}

/* QEMU is about to free guest memory: the cores must have left it. */
static void shut_down(Notifier *notifier, void *data)
{
	OrkBoard *board = container_of(notifier, OrkBoard, shutdown);

	for (unsigned int i = 0; i < ORK_MAX_CORES; i++)
		board_core_hold(board->core[i], true);
	board_log_write(board);
}

void board_log_init(OrkBoard *board)
{
	qemu_mutex_init(&board->stale_lock);
	npu_cache_set_log(board->cache, log_stale, board);
	board->shutdown.notify = shut_down;
	qemu_register_shutdown_notifier(&board->shutdown);
}

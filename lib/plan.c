// SPDX-License-Identifier: MIT
/*
 * How a matrix product becomes programs. A product is a 1x1 convolution: rows of A are pixels, K
 * its channels, columns of B its kernels. One program computes a tile of C; every number that sizes
 * a buffer and every field of a program comes from here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "ork_private.h"

#define K_STEP			32	/* channels of one kernel block: packed weights have no smaller unit */
/* Bytes of a row that boards took for several rows at once, and elements that they took for one. */
#define K_BYTES_LIMIT		4096
#define K_LIMIT_ONE_ROW		8192
#define N_LIMIT_PROGRAM		8192	/* DATA_CUBE_CHANNEL holds columns minus one in 13 bits */
#define NOTCH_LIMIT		(ORK_DPU_DATA_CUBE_NOTCH_ADDR_NOTCH_ADDR_0 + 1)	/* atoms of a row of C */
#define LINE_LIMIT		ORK_CNA_DMA_CON1_LINE_STRIDE			/* atoms of a row of A */

/*
 * Columns up to which kernels that fill their banks to the last byte hang a core (seen on boards
 * with 16 and 32).
 */
#define NARROW_COLUMNS		32

#define ENTRIES_PER_BANK	(ORK_CBUF_BANK_BYTES / ORK_CBUF_ENTRY_BYTES)

/*
 * Rows that may be fetched ahead, as bytes: two data banks (the feature grains of all board-proven
 * schedules).
 */
#define GRAIN_BYTES		(2 * ORK_CBUF_BANK_BYTES)

static const struct ork_type_info types[] = {
	[ORK_FP16_FP32] = { 2, 4, 16, ORK_PRECISION_FP16, ORK_PRECISION_FP32 },
	[ORK_FP16_FP16] = { 2, 2, 16, ORK_PRECISION_FP16, ORK_PRECISION_FP16 },
	[ORK_INT8_INT32] = { 1, 4, 32, ORK_PRECISION_INT8, ORK_PRECISION_INT32 },
};

const struct ork_type_info *ork_type_info(enum ork_type type)
{
	return (uint32_t)type < sizeof(types) / sizeof(types[0]) ? &types[type] : NULL;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int refuse(struct ork_matmul_plan *plan, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct ork_matmul_plan *plan, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(plan->reason, sizeof(plan->reason), format, args);
	va_end(args);
	return error;
}

/* --- the convolution buffer ------------------------------------------------------------------- */

static uint32_t row_entries(const struct ork_type_info *type, uint32_t k)
{
	return (uint32_t)ork_div_up((uint64_t)k * type->in_bytes, ORK_CBUF_ENTRY_BYTES);
}

/*
 * Rows that boards computed right with more than one data bank (findings of the ork-driver project:
 * fp16 with K of 256, 512 and 1024, int8 with 512 to 4096). With any other K several data banks
 * gave wrong results, so those get one: 0.
 */
static uint32_t rows_proven(const struct ork_type_info *type, uint32_t k)
{
	switch (k * type->in_bytes) {
	case 512: return 704;
	case 1024: return 320;
	case 2048: return 128;
	case 4096: return type->in_bytes == 1 ? 64 : 0;
	default: return 0;
	}
}

/* One kernel group must be resident as a whole; less hangs the core. */
static uint32_t weight_banks_needed(const struct ork_type_info *type, uint32_t k, bool narrow)
{
	uint64_t group = (uint64_t)k * type->in_bytes * type->kernels;

	return (uint32_t)ork_div_up(group, ORK_CBUF_BANK_BYTES) + (narrow && group % ORK_CBUF_BANK_BYTES == 0);
}

static uint32_t data_banks(const struct ork_type_info *type, uint32_t k, uint32_t rows)
{
	return (uint32_t)ork_div_up((uint64_t)rows * row_entries(type, k), ENTRIES_PER_BANK);
}

/*
 * Rows of a program. @narrow: its columns may be as few as make the kernels' banks hang without
 * slack.
 */
static uint32_t rows_limit(const struct ork_type_info *type, uint32_t k, bool narrow)
{
	uint32_t proven = rows_proven(type, k);
	uint32_t banks = proven ? ORK_CBUF_BANKS - weight_banks_needed(type, k, narrow) : 1;
	uint32_t fit = banks * ENTRIES_PER_BANK / row_entries(type, k);

	return proven ? (uint32_t)smaller(proven, fit) : fit;
}

/*
 * Beyond two banks' worth of rows, boards are proven only with the fetch running no further ahead
 * than that.
 */
static uint32_t feature_grains(const struct ork_type_info *type, uint32_t k, uint32_t rows)
{
	uint32_t grains = rows + 1;

	return rows_proven(type, k) ? (uint32_t)smaller(grains, GRAIN_BYTES / (k * type->in_bytes)) : grains;
}

/* --- checks ----------------------------------------------------------------------------------- */

int ork_check_weights(const struct ork_type_info *type, uint32_t k, uint32_t n, char *reason, size_t size)
{
	if (!k || k % K_STEP)
		snprintf(reason, size, "k = %u; must be a multiple of %u and not 0", k, K_STEP);
	else if (!n || n % type->kernels)
		snprintf(reason, size, "n = %u; must be a multiple of %u and not 0 for this type", n, type->kernels);
	else
		return 0;
	return -EINVAL;
}

static int check_a(struct ork_matmul_plan *plan, const struct ork_type_info *type)
{
	const struct ork_matmul_desc *desc = &plan->desc;
	uint64_t bytes = (uint64_t)desc->lda * type->in_bytes;

	if (desc->lda < desc->k)
		return refuse(plan, -EINVAL, "lda = %u; must be at least k = %u", desc->lda, desc->k);
	if (bytes % ORK_ATOM_BYTES)
		return refuse(plan, -EINVAL, "lda = %u, that is %llu bytes; must be a multiple of %u bytes", desc->lda,
			      (unsigned long long)bytes, ORK_ATOM_BYTES);
	if (bytes / ORK_ATOM_BYTES > LINE_LIMIT)
		return refuse(plan, -EINVAL, "lda = %u, that is %llu bytes; must be at most %llu bytes", desc->lda,
			      (unsigned long long)bytes, (unsigned long long)LINE_LIMIT * ORK_ATOM_BYTES);
	return 0;
}

static int check_c(struct ork_matmul_plan *plan, const struct ork_type_info *type)
{
	const struct ork_matmul_desc *desc = &plan->desc;
	uint64_t bytes = (uint64_t)desc->ldc * type->out_bytes;

	if (desc->ldc < desc->n)
		return refuse(plan, -EINVAL, "ldc = %u; must be at least n = %u", desc->ldc, desc->n);
	if (bytes % ORK_ATOM_BYTES)
		return refuse(plan, -EINVAL, "ldc = %u, that is %llu bytes; must be a multiple of %u bytes", desc->ldc,
			      (unsigned long long)bytes, ORK_ATOM_BYTES);
	if (bytes / ORK_ATOM_BYTES > NOTCH_LIMIT)
		return refuse(plan, -EINVAL, "ldc = %u, that is %llu bytes; must be at most %u bytes", desc->ldc,
			      (unsigned long long)bytes, NOTCH_LIMIT * ORK_ATOM_BYTES);
	return 0;
}

static int check_k(struct ork_matmul_plan *plan, const struct ork_type_info *type)
{
	uint32_t k = plan->desc.k;
	uint32_t limit = plan->desc.m == 1 ? K_LIMIT_ONE_ROW : K_BYTES_LIMIT / type->in_bytes;

	if (k > limit)
		return refuse(plan, -EOPNOTSUPP, "k = %u; one program takes at most %u for m = %u", k, limit,
			      plan->desc.m);
	return 0;
}

static uint32_t cores_usable(const struct drm_ork_device_info *info)
{
	return (uint32_t)smaller(info->num_cores, ORK_MAX_CORES);
}

static int check(struct ork_matmul_plan *plan, const struct drm_ork_device_info *info, const struct ork_type_info *type)
{
	struct ork_matmul_desc *desc = &plan->desc;
	int ret;

	if (!desc->m)
		return refuse(plan, -EINVAL, "m = 0; must be at least 1");
	ret = ork_check_weights(type, desc->k, desc->n, plan->reason, sizeof(plan->reason));
	if (!ret)
		ret = check_a(plan, type);
	if (!ret)
		ret = check_c(plan, type);
	if (ret)
		return ret;
	if (desc->cores > cores_usable(info))
		return refuse(plan, -EINVAL, "cores = %u; the device has %u", desc->cores, cores_usable(info));
	if (desc->sync != ORK_SYNC_LIVE && desc->sync != ORK_SYNC_WHOLE)
		return refuse(plan, -EINVAL, "sync = %d; must be %d or %d", (int)desc->sync,
			      ORK_SYNC_LIVE, ORK_SYNC_WHOLE);
	return check_k(plan, type);
}

/* --- tiles ------------------------------------------------------------------------------------ */

static void fill_defaults(struct ork_matmul_plan *plan, const struct drm_ork_device_info *info)
{
	struct ork_matmul_desc *desc = &plan->desc;

	if (!desc->lda)
		desc->lda = desc->k;
	if (!desc->ldc)
		desc->ldc = desc->n;
	if (!desc->cores)
		desc->cores = cores_usable(info);
}

/*
 * Whole tiles of columns to each core, as evenly as they go. A tile is one kernel group, or one
 * cache line of C where that is more: the driver maintains each core's columns by themselves.
 */
static void split_columns(struct ork_matmul_plan *plan, const struct drm_ork_device_info *info,
			  const struct ork_type_info *type)
{
	uint32_t n = plan->desc.n;
	uint32_t tile = (uint32_t)larger(type->kernels, info->cache_line / type->out_bytes);
	uint64_t tiles = ork_div_up(n, tile);
	uint32_t core;

	plan->cores = (uint32_t)smaller(plan->desc.cores, tiles);
	for (core = 0; core < plan->cores; core++) {
		plan->n_begin[core] = (uint32_t)(core * tiles / plan->cores * tile);
		plan->n_end[core] = (uint32_t)smaller((core + 1) * tiles / plan->cores * tile, n);
		plan->n_tile = (uint32_t)larger(plan->n_tile, plan->n_end[core] - plan->n_begin[core]);
	}
	plan->n_tile = (uint32_t)smaller(plan->n_tile, N_LIMIT_PROGRAM);
}

/* Is any core's last program so narrow that its kernels need slack? */
static bool has_narrow_program(const struct ork_matmul_plan *plan)
{
	uint32_t core, last;

	for (core = 0; core < plan->cores; core++) {
		last = (plan->n_end[core] - plan->n_begin[core] - 1) % plan->n_tile + 1;
		if (last <= NARROW_COLUMNS)
			return true;
	}
	return false;
}

static int count_programs(struct ork_matmul_plan *plan)
{
	uint64_t m_tiles = ork_div_up(plan->desc.m, plan->m_tile);
	uint64_t programs;
	uint32_t core;

	for (core = 0; core < plan->cores; core++) {
		programs = m_tiles * ork_div_up(plan->n_end[core] - plan->n_begin[core], plan->n_tile);
		if (programs > ORK_CHAIN_MAX_PROGRAMS)
			return refuse(plan, -E2BIG, "m = %u, n = %u: %llu programs on core %u; a chain has at most %u",
				      plan->desc.m, plan->desc.n, (unsigned long long)programs, core,
				      ORK_CHAIN_MAX_PROGRAMS);
		plan->programs[core] = (uint32_t)programs;
		plan->chain_bytes[core] = programs * ORK_MATMUL_BYTES;
	}
	return 0;
}

static void fill_amounts(struct ork_matmul_plan *plan, const struct ork_type_info *type)
{
	uint64_t m = plan->desc.m, k = plan->desc.k, n = plan->desc.n;

	plan->weight_bytes = k * n * type->in_bytes;
	plan->a_bytes = m * k * type->in_bytes;
	plan->c_bytes = m * n * type->out_bytes;
	plan->macs = m * k * n;
}

int ork_matmul_plan(const struct drm_ork_device_info *info, const struct ork_matmul_desc *desc,
		    struct ork_matmul_plan *plan)
{
	const struct ork_type_info *type = ork_type_info(desc->type);
	struct ork_program first;
	int ret;

	*plan = (struct ork_matmul_plan) { .desc = *desc };
	if (!type)
		return refuse(plan, -EINVAL, "type = %d; must be 0..%d", (int)desc->type, ORK_INT8_INT32);
	fill_defaults(plan, info);
	ret = check(plan, info, type);
	if (ret)
		return ret;
	split_columns(plan, info, type);
	plan->m_tile = (uint32_t)smaller(rows_limit(type, desc->k, has_narrow_program(plan)), desc->m);
	ret = count_programs(plan);
	if (ret)
		return ret;
	ork_plan_program(plan, 0, 0, &first);
	plan->data_banks = first.data_banks;
	plan->weight_banks = first.weight_banks;
	fill_amounts(plan, type);
	return 0;
}

void ork_plan_program(const struct ork_matmul_plan *plan, uint32_t core, uint32_t index, struct ork_program *program)
{
	const struct ork_type_info *type = ork_type_info(plan->desc.type);
	uint32_t m_tiles = (uint32_t)ork_div_up(plan->desc.m, plan->m_tile);
	uint32_t k = plan->desc.k;

	program->m = index % m_tiles * plan->m_tile;
	program->rows = (uint32_t)smaller(plan->m_tile, plan->desc.m - program->m);
	program->n = plan->n_begin[core] + index / m_tiles * plan->n_tile;
	program->cols = (uint32_t)smaller(plan->n_tile, plan->n_end[core] - program->n);
	program->data_banks = data_banks(type, k, program->rows);
	program->weight_banks = ORK_CBUF_BANKS - program->data_banks;
	program->entries = row_entries(type, k);
	program->grains = feature_grains(type, k, program->rows);
}

/* --- what is fetched -------------------------------------------------------------------------- */

uint32_t ork_plan_window(const struct ork_matmul_plan *plan, uint64_t offset, uint64_t stride, uint64_t size,
			 struct ork_range range[2])
{
	uint64_t row = (uint64_t)plan->desc.k * ork_type_info(plan->desc.type)->in_bytes;
	uint32_t tiles = (uint32_t)ork_div_up(plan->desc.m, plan->m_tile);
	uint32_t last_rows = plan->desc.m - (tiles - 1) * plan->m_tile;
	uint64_t step = plan->m_tile * stride;
	uint64_t last = offset + (tiles - 1) * step;
	uint64_t full = ork_round_up((plan->m_tile - 1) * stride + row, ORK_CBUF_BANK_BYTES);
	uint64_t end = last + ork_round_up((last_rows - 1) * stride + row, ORK_CBUF_BANK_BYTES);

	/*
	 * Windows that meet are one; none before the last reaches a whole bank beyond its own rows,
	 * so the last ends last.
	 */
	if (tiles == 1 || full >= step) {
		range[0] = (struct ork_range) { offset, smaller(end, size) - offset, 0, 1 };
		return 1;
	}
	range[0] = (struct ork_range) { offset, full, step, tiles - 1 };
	range[1] = (struct ork_range) { last, smaller(end, size) - last, 0, 1 };
	return 2;
}

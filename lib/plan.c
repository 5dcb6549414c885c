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

/*
 * K of one program: rows of 4,096 bytes are what boards took; of int4, 5,376. With one row they took more,
 * which is not used: B is packed for any M. Slices are the longest with which boards ran 128 rows to a
 * program. Those of int4 to int32 are the longest whose sums cannot saturate: 480 times 64 is below 2^15.
 */
#define FP16	.in_bits = 16, .kernels = 16, .in_precision = ORK_PRECISION_FP16, .element = ORK_ELEMENT_FP16, \
		.k_limit = 2048, .k_slice = 1024, .macs = 512, .sum = ORK_FP16_FP32
#define INT8	.in_bits = 8, .kernels = 32, .in_precision = ORK_PRECISION_INT8, .element = ORK_ELEMENT_INT8, \
		.k_limit = 4096, .k_slice = 2048, .macs = 1024, .sum = ORK_INT8_INT32
#define INT4	.in_bits = 4, .kernels = 64, .in_precision = ORK_PRECISION_INT4, .element = ORK_ELEMENT_INT4, \
		.macs = 2048, .sum = ORK_INT4_INT16

static const struct ork_type_info types[] = {
	[ORK_FP16_FP32] = { FP16, .out_bytes = 4, .out_precision = ORK_PRECISION_FP32 },
	[ORK_FP16_FP16] = { FP16, .out_bytes = 2, .out_precision = ORK_PRECISION_FP16 },
	[ORK_INT8_INT32] = { INT8, .out_bytes = 4, .out_precision = ORK_PRECISION_INT32 },
	[ORK_INT8_INT16] = { INT8, .out_bytes = 2, .out_precision = ORK_PRECISION_INT16, .requantised = true },
	[ORK_INT8_INT8] = { INT8, .out_bytes = 1, .out_precision = ORK_PRECISION_INT8, .requantised = true },
	[ORK_INT4_INT16] = { INT4, .out_bytes = 2, .out_precision = ORK_PRECISION_INT16, .k_limit = 10752,
			     .k_slice = 10752 },
	[ORK_INT4_INT32] = { INT4, .out_bytes = 4, .out_precision = ORK_PRECISION_INT32, .k_limit = 480,
			     .k_slice = 480, .summed = true },
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
	return (uint32_t)ork_div_up(ork_in_bytes(type, k), ORK_CBUF_ENTRY_BYTES);
}

/*
 * Rows that boards computed right with more than one data bank (findings of the ork-driver project:
 * fp16 with K of 256, 512 and 1024, int8 with 512 to 4096). With any other K several data banks
 * gave wrong results, so those get one: 0.
 */
static uint32_t rows_proven(const struct ork_type_info *type, uint32_t k)
{
	switch (ork_in_bytes(type, k)) {
	case 512: return 704;
	case 1024: return 320;
	case 2048: return 128;
	case 4096: return type->in_bits == 8 ? 64 : 0;
	default: return 0;
	}
}

/* One kernel group must be resident as a whole; less hangs the core. */
static uint32_t weight_banks_needed(const struct ork_type_info *type, uint32_t k, bool narrow)
{
	uint64_t group = ork_in_bytes(type, k) * type->kernels;

	return (uint32_t)ork_div_up(group, ORK_CBUF_BANK_BYTES) + (narrow && group % ORK_CBUF_BANK_BYTES == 0);
}

/*
 * Rows of int4 that boards ran in one program, in one data bank; elsewhere 12,288 / K (ork-driver's
 * H(K)). Rows are the first lines of groups of four, so the buffer holds three lines in vain for each but
 * the last.
 */
static uint32_t int4_rows_limit(const struct ork_type_info *type, uint32_t k)
{
	static const struct {
		uint32_t k, rows;
	} proven[] = {
		{ 256, 64 }, { 512, 32 }, { 768, 22 }, { 1024, 16 }, { 1536, 11 }, { 2048, 8 }, { 2560, 7 },
		{ 3584, 4 }, { 4096, 4 }, { 5120, 3 }, { 6144, 3 }, { 8192, 2 },
	};
	uint32_t fit = (ENTRIES_PER_BANK / row_entries(type, k) - 1) / 4 + 1, rows = 12288 / k, i;

	for (i = 0; i < sizeof(proven) / sizeof(proven[0]); i++)
		if (proven[i].k == k)
			rows = proven[i].rows;
	return (uint32_t)smaller(rows, fit);
}

static bool is_int4(const struct ork_type_info *type)
{
	return type->in_precision == ORK_PRECISION_INT4;
}

static uint32_t data_banks(const struct ork_type_info *type, uint32_t k, uint32_t rows)
{
	if (is_int4(type))
		return 1;
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

	if (is_int4(type))
		return int4_rows_limit(type, k);
	return proven ? (uint32_t)smaller(proven, fit) : fit;
}

/*
 * Beyond two banks' worth of rows, boards are proven only with the fetch running no further ahead
 * than that.
 */
static uint32_t feature_grains(const struct ork_type_info *type, uint32_t k, uint32_t lines)
{
	uint32_t grains = lines + 1;

	if (is_int4(type) || !rows_proven(type, k))
		return grains;
	return (uint32_t)smaller(grains, GRAIN_BYTES / ork_in_bytes(type, k));
}

/* --- checks ----------------------------------------------------------------------------------- */

/* K and N are padded first, and K is cut then, so that every slice but the last is of the proven length. */
int ork_weights_layout(const struct ork_type_info *type, uint32_t k, uint32_t n, struct ork_weights_layout *layout,
		       char *reason, size_t size)
{
	uint64_t k_padded = ork_round_up(k, K_STEP), n_padded = ork_round_up(n, type->kernels);

	*layout = (struct ork_weights_layout) { .bytes = 0 };
	if (!k || !n) {
		snprintf(reason, size, "%s = 0; must be at least 1", k ? "n" : "k");
		return -EINVAL;
	}
	if (k_padded > (8 * UINT64_C(0x100000000) - 1) / type->in_bits / n_padded) {
		snprintf(reason, size, "k = %u, n = %u; B must be less than 4 GiB", k, n);
		return -EINVAL;
	}
	layout->k = (uint32_t)k_padded;
	layout->n = (uint32_t)n_padded;
	layout->bytes = ork_in_bytes(type, k_padded * n_padded);
	layout->slice = layout->k <= type->k_limit ? layout->k : type->k_slice;
	layout->slices = (uint32_t)ork_div_up(layout->k, layout->slice);
	return 0;
}

static int check_strides(struct ork_matmul_plan *plan)
{
	const struct ork_matmul_desc *desc = &plan->desc;

	if (desc->lda < (desc->a_transposed ? desc->m : desc->k))
		return refuse(plan, -EINVAL, "lda = %u; must be at least %s = %u", desc->lda,
			      desc->a_transposed ? "m" : "k", desc->a_transposed ? desc->m : desc->k);
	if (desc->lda % 2 && is_int4(ork_type_info(desc->type)))
		return refuse(plan, -EINVAL, "lda = %u; must be even, for rows of int4 begin on bytes", desc->lda);
	if (desc->ldc < desc->n)
		return refuse(plan, -EINVAL, "ldc = %u; must be at least n = %u", desc->ldc, desc->n);
	return 0;
}

/* Boards were found to take a multiplier of 15 bits; the product of a sum and such has 47. */
#define MULTIPLIER_LIMIT	0x7fff
#define SHIFT_LIMIT		47

static int check_requantisation(struct ork_matmul_plan *plan, const struct ork_type_info *type)
{
	const struct ork_matmul_desc *desc = &plan->desc;

	if (!type->requantised && (desc->multiplier || desc->shift || desc->offset))
		return refuse(plan, -EINVAL, "multiplier = %u, shift = %u, offset = %d; must be 0 for this type",
			      desc->multiplier, desc->shift, desc->offset);
	if (type->requantised && (!desc->multiplier || desc->multiplier > MULTIPLIER_LIMIT))
		return refuse(plan, -EINVAL, "multiplier = %u; must be 1..%u", desc->multiplier, MULTIPLIER_LIMIT);
	if (desc->shift > SHIFT_LIMIT)
		return refuse(plan, -EINVAL, "shift = %u; must be at most %u", desc->shift, SHIFT_LIMIT);
	if (desc->offset < INT16_MIN || desc->offset > INT16_MAX)
		return refuse(plan, -EINVAL, "offset = %d; must be %d..%d", desc->offset, INT16_MIN, INT16_MAX);
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
	ret = check_strides(plan);
	if (!ret)
		ret = check_requantisation(plan, type);
	if (ret)
		return ret;
	if (desc->cores > cores_usable(info))
		return refuse(plan, -EINVAL, "cores = %u; the device has %u", desc->cores, cores_usable(info));
	if (desc->sync != ORK_SYNC_LIVE && desc->sync != ORK_SYNC_WHOLE)
		return refuse(plan, -EINVAL, "sync = %d; must be %d or %d", (int)desc->sync,
			      ORK_SYNC_LIVE, ORK_SYNC_WHOLE);
	return 0;
}

/* --- as the NPU has it ------------------------------------------------------------------------ */

const struct ork_type_info *ork_plan_type(const struct ork_matmul_plan *plan)
{
	const struct ork_type_info *type = &types[plan->desc.type];

	return plan->k_slices > 1 || type->summed ? &types[type->sum] : type;
}

static uint32_t channels_of(const struct ork_matmul_plan *plan, uint32_t slice)
{
	return ork_slice_channels(plan->k_padded, plan->k_slice, slice);
}

static int lay_out(struct ork_matmul_plan *plan, const struct ork_type_info *type)
{
	struct ork_weights_layout layout;
	int ret = ork_weights_layout(type, plan->desc.k, plan->desc.n, &layout, plan->reason, sizeof(plan->reason));

	plan->k_padded = layout.k;
	plan->n_padded = layout.n;
	plan->k_slices = layout.slices;
	plan->k_slice = layout.slice;
	plan->weight_bytes = layout.bytes;
	plan->c_blocks = is_int4(type) && plan->desc.m > 1;
	return ret;
}

/* Rows of A and C where the programs can reach them as the caller has them. */
static void find_direct(struct ork_matmul_plan *plan, const struct drm_ork_device_info *info,
			const struct ork_type_info *type)
{
	const struct ork_matmul_desc *desc = &plan->desc;
	uint64_t a_stride = ork_in_bytes(type, desc->lda), c_stride = (uint64_t)desc->ldc * type->out_bytes;

	plan->a_direct = !desc->a_transposed && plan->k_padded == desc->k && a_stride % ORK_ATOM_BYTES == 0 &&
			 a_stride / ORK_ATOM_BYTES <= LINE_LIMIT;
	plan->c_direct = plan->k_slices == 1 && !type->summed && !plan->c_blocks && plan->n_padded == desc->n &&
			 c_stride % info->cache_line == 0 && c_stride / ORK_ATOM_BYTES <= NOTCH_LIMIT &&
			 (uint64_t)desc->n * type->out_bytes % info->cache_line == 0;
}

/* --- tiles ------------------------------------------------------------------------------------ */

static void fill_defaults(struct ork_matmul_plan *plan, const struct drm_ork_device_info *info,
			  const struct ork_type_info *type)
{
	struct ork_matmul_desc *desc = &plan->desc;

	if (!desc->lda) {
		desc->lda = desc->a_transposed ? desc->m : desc->k;
		if (is_int4(type) && desc->lda < UINT32_MAX)
			desc->lda += desc->lda % 2;
	}
	if (!desc->ldc)
		desc->ldc = desc->n;
	if (!desc->cores)
		desc->cores = cores_usable(info);
}

/* With several rows of int4 boards ran blocks of kernels of 64 KiB, or one group where that has more. */
static uint32_t columns_limit(const struct ork_matmul_plan *plan)
{
	uint32_t columns = 131072 / channels_of(plan, 0) / ORK_BLOCK_COLUMNS * ORK_BLOCK_COLUMNS;

	if (!plan->c_blocks)
		return N_LIMIT_PROGRAM;
	return (uint32_t)larger(columns, ORK_BLOCK_COLUMNS);
}

/*
 * Whole tiles of columns to each core, as evenly as they go. A tile is one kernel group, or one
 * cache line of C where that is more: the driver maintains each core's columns by themselves.
 */
static void split_columns(struct ork_matmul_plan *plan, const struct drm_ork_device_info *info)
{
	const struct ork_type_info *type = ork_plan_type(plan);
	uint32_t n = plan->n_padded;
	uint32_t tile = (uint32_t)larger(type->kernels, info->cache_line / type->out_bytes);
	uint64_t tiles = ork_div_up(n, tile);
	uint32_t core;

	plan->cores = (uint32_t)smaller(plan->desc.cores, tiles);
	for (core = 0; core < plan->cores; core++) {
		plan->n_begin[core] = (uint32_t)(core * tiles / plan->cores * tile);
		plan->n_end[core] = (uint32_t)smaller((core + 1) * tiles / plan->cores * tile, n);
		plan->n_tile = (uint32_t)larger(plan->n_tile, plan->n_end[core] - plan->n_begin[core]);
	}
	plan->n_tile = (uint32_t)smaller(plan->n_tile, columns_limit(plan));
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

/* Rows that programs of every slice may have. */
static uint32_t rows_of_all(const struct ork_matmul_plan *plan, const struct ork_type_info *type)
{
	bool narrow = has_narrow_program(plan);
	uint32_t first = rows_limit(type, channels_of(plan, 0), narrow);
	uint32_t last = rows_limit(type, channels_of(plan, plan->k_slices - 1), narrow);

	return (uint32_t)smaller(first, last);
}

/* Of each column and row: those lines that count, and three more. */
static uint64_t column_bytes(void)
{
	return ORK_BLOCK_PITCH / ORK_BLOCK_COLUMNS;
}

/* Programs of a core for one tile of rows. */
static uint64_t programs_of_rows(const struct ork_matmul_plan *plan, uint32_t core)
{
	return plan->k_slices * ork_div_up(plan->n_end[core] - plan->n_begin[core], plan->n_tile);
}

uint32_t ork_plan_rows(const struct ork_matmul_plan *plan)
{
	uint64_t most = 0;
	uint32_t core;

	for (core = 0; core < plan->cores; core++)
		most = larger(most, programs_of_rows(plan, core));
	return (uint32_t)smaller(ORK_CHAIN_MAX_PROGRAMS / most * plan->m_tile, plan->desc.m);
}

static int count_programs(struct ork_matmul_plan *plan)
{
	uint64_t m_tiles = ork_div_up(plan->desc.m, plan->m_tile);
	uint64_t programs;
	uint32_t core;

	for (core = 0; core < plan->cores; core++) {
		programs = m_tiles * programs_of_rows(plan, core);
		if (programs > ORK_CHAIN_MAX_PROGRAMS)
			return refuse(plan, -E2BIG, "%u x %u x %u: %llu programs on core %u; a chain has at most %u",
				      plan->desc.m, plan->desc.k, plan->desc.n, (unsigned long long)programs, core,
				      ORK_CHAIN_MAX_PROGRAMS);
		plan->programs[core] = (uint32_t)programs;
		plan->chain_bytes[core] = programs * ORK_MATMUL_BYTES;
	}
	return 0;
}

/*
 * Where A and C are not in place. Boards ran int4 with rows of A as far apart as if two elements were not in
 * one byte. Cores write, and the driver maintains, whole lines of C: half a line would be lost to whoever has
 * the other half.
 */
static void fill_rows(struct ork_matmul_plan *plan, const struct drm_ork_device_info *info,
		      const struct ork_type_info *type)
{
	uint64_t c_row = ork_round_up((uint64_t)plan->n_padded * ork_plan_type(plan)->out_bytes, info->cache_line);

	if (plan->c_blocks)
		c_row = plan->n_padded * column_bytes();
	plan->a_row = ork_in_bytes(type, plan->k_padded) * (is_int4(type) ? 2 : 1);
	plan->c_row = c_row * plan->k_slices;
}

static uint64_t scratch_bytes(const struct ork_matmul_plan *plan)
{
	uint32_t m = plan->desc.m, core;
	uint64_t bytes = ork_rows_staged(m, plan->a_row) * plan->a_row + ork_rows_staged(m, plan->c_row) * plan->c_row;

	for (core = 0; core < plan->cores; core++)
		bytes += plan->chain_bytes[core];
	return bytes;
}

static void fill_amounts(struct ork_matmul_plan *plan, const struct ork_type_info *type)
{
	uint64_t m = plan->desc.m, k = plan->desc.k, n = plan->desc.n;

	plan->a_bytes = m * ork_in_bytes(type, k);
	plan->c_bytes = m * plan->n_padded * ork_plan_type(plan)->out_bytes * plan->k_slices;
	if (plan->c_blocks)
		plan->c_bytes = ork_plan_blocks_slice(plan) * plan->k_slices;
	plan->macs = m * k * n;
	plan->live_bytes = plan->a_bytes + plan->c_bytes;
	plan->scratch_bytes = scratch_bytes(plan);
}

/* --- estimates -------------------------------------------------------------------------------- */

#define DRAM_BYTES_PER_CYCLE	16

/* @count programs of a core, all of one shape. */
static uint64_t estimate(struct ork_matmul_plan *plan, uint64_t count, uint32_t rows, uint32_t cols, uint32_t channels)
{
	const struct ork_type_info *type = ork_plan_type(plan);
	uint64_t lines = plan->c_blocks ? 4ull * rows : rows, row = ork_in_bytes(type, channels);
	uint64_t bytes = ORK_MATMUL_BYTES + (lines + cols) * row + lines * cols * type->out_bytes;
	uint64_t macs = ork_div_up(lines * cols * channels, type->macs);

	plan->dram_bytes += count * bytes;
	return count * larger(macs, ork_div_up(bytes, DRAM_BYTES_PER_CYCLE));
}

/* @count tiles of @cols columns: with all slices of K and all rows. */
static uint64_t estimate_tiles(struct ork_matmul_plan *plan, uint64_t count, uint32_t cols)
{
	uint32_t m_tiles = (uint32_t)ork_div_up(plan->desc.m, plan->m_tile), last = plan->k_slices - 1;
	uint32_t last_rows = plan->desc.m - (m_tiles - 1) * plan->m_tile;
	uint32_t channels = channels_of(plan, 0), last_channels = channels_of(plan, last);

	return estimate(plan, count * last * (m_tiles - 1), plan->m_tile, cols, channels) +
	       estimate(plan, count * last, last_rows, cols, channels) +
	       estimate(plan, count * (m_tiles - 1), plan->m_tile, cols, last_channels) +
	       estimate(plan, count, last_rows, cols, last_channels);
}

static void fill_estimates(struct ork_matmul_plan *plan)
{
	uint32_t core, columns, last;
	uint64_t tiles, cycles;

	for (core = 0; core < plan->cores; core++) {
		columns = plan->n_end[core] - plan->n_begin[core];
		tiles = ork_div_up(columns, plan->n_tile);
		last = columns - (uint32_t)(tiles - 1) * plan->n_tile;
		cycles = estimate_tiles(plan, tiles - 1, plan->n_tile) + estimate_tiles(plan, 1, last);
		plan->cycles = larger(plan->cycles, cycles);
	}
}

int ork_matmul_plan(const struct drm_ork_device_info *info, const struct ork_matmul_desc *desc,
		    struct ork_matmul_plan *plan)
{
	const struct ork_type_info *type = ork_type_info(desc->type);
	struct ork_program first;
	int ret;

	*plan = (struct ork_matmul_plan) { .desc = *desc };
	if (!type)
		return refuse(plan, -EINVAL, "type = %d; must be 0..%d", (int)desc->type, ORK_LAST_TYPE);
	fill_defaults(plan, info, type);
	ret = lay_out(plan, type);
	if (!ret)
		ret = check(plan, info, type);
	if (ret)
		return ret;
	find_direct(plan, info, type);
	split_columns(plan, info);
	plan->m_tile = (uint32_t)smaller(rows_of_all(plan, type), desc->m);
	ret = count_programs(plan);
	if (ret)
		return ret;
	ork_plan_program(plan, 0, 0, &first);
	plan->data_banks = first.data_banks;
	plan->weight_banks = first.weight_banks;
	fill_rows(plan, info, type);
	fill_amounts(plan, type);
	fill_estimates(plan);
	return 0;
}

void ork_plan_program(const struct ork_matmul_plan *plan, uint32_t core, uint32_t index, struct ork_program *program)
{
	const struct ork_type_info *type = ork_plan_type(plan);
	uint32_t m_tiles = (uint32_t)ork_div_up(plan->desc.m, plan->m_tile);
	uint32_t tile = index / m_tiles;

	program->slice = tile % plan->k_slices;
	program->k = program->slice * plan->k_slice;
	program->channels = channels_of(plan, program->slice);
	program->m = index % m_tiles * plan->m_tile;
	program->rows = (uint32_t)smaller(plan->m_tile, plan->desc.m - program->m);
	program->lines = plan->c_blocks ? 4 * program->rows : program->rows;
	program->n = plan->n_begin[core] + tile / plan->k_slices * plan->n_tile;
	program->cols = (uint32_t)smaller(plan->n_tile, plan->n_end[core] - program->n);
	program->data_banks = data_banks(type, program->channels, program->rows);
	program->weight_banks = ORK_CBUF_BANKS - program->data_banks;
	program->entries = row_entries(type, program->channels);
	program->grains = feature_grains(type, program->channels, program->lines);
}

bool ork_plan_next_rows(const struct ork_matmul_plan *plan, struct ork_program *program)
{
	uint64_t next = (uint64_t)program->m + plan->m_tile;

	if (next + plan->m_tile > plan->desc.m)
		return false;
	program->m = (uint32_t)next;
	return true;
}

/* --- C in blocks ------------------------------------------------------------------------------ */

uint64_t ork_plan_blocks_slice(const struct ork_matmul_plan *plan)
{
	return plan->n_padded * column_bytes() * plan->desc.m;
}

uint64_t ork_plan_blocks_at(const struct ork_matmul_plan *plan, const struct ork_program *program)
{
	uint64_t before = (uint64_t)program->n * plan->desc.m + (uint64_t)program->m * program->cols;

	return program->slice * ork_plan_blocks_slice(plan) + before * column_bytes();
}

/* --- what is fetched -------------------------------------------------------------------------- */

uint32_t ork_plan_overfetch(const struct ork_matmul_plan *plan)
{
	/* The lines of the last group of four that do not count lie an atom apart each. */
	return plan->c_blocks ? 3 * ORK_ATOM_BYTES : 0;
}

/* Bytes from the start of @rows rows to behind what the programs of their slices may fetch. */
static uint64_t fetched(const struct ork_matmul_plan *plan, uint32_t rows, uint64_t stride)
{
	const struct ork_type_info *type = ork_plan_type(plan);
	uint64_t end = 0;
	uint32_t slice;

	for (slice = 0; slice < plan->k_slices; slice++) {
		uint64_t row = ork_in_bytes(type, channels_of(plan, slice)) + ork_plan_overfetch(plan);
		uint64_t window = ork_round_up((rows - 1) * stride + row, ORK_CBUF_BANK_BYTES);

		end = larger(end, ork_in_bytes(type, (uint64_t)slice * plan->k_slice) + window);
	}
	return end;
}

uint32_t ork_plan_window(const struct ork_matmul_plan *plan, uint64_t offset, uint64_t stride, uint64_t size,
			 struct ork_range range[2])
{
	uint32_t tiles = (uint32_t)ork_div_up(plan->desc.m, plan->m_tile);
	uint32_t last_rows = plan->desc.m - (tiles - 1) * plan->m_tile;
	uint64_t step = plan->m_tile * stride;
	uint64_t last = offset + (tiles - 1) * step;
	uint64_t full = fetched(plan, plan->m_tile, stride);
	uint64_t end = last + fetched(plan, last_rows, stride);

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

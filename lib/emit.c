// SPDX-License-Identifier: MIT
/*
 * The program of one tile of a product. All registers of the blocks are written in every program:
 * they are kept in two groups that take turns, so what one leaves out would come from the program
 * before the last.
 *
 * Order and constants are those of streams captured from boards (the vendor's runtime, and the
 * matrix products of the ork-driver project); sizes follow from the tile. A and C are row-major: a
 * cube of width 1 whose rows lie a stride apart.
 */
#include <string.h>
#include "ork_private.h"

/* Written as zero by every known stream, described nowhere. */
#define CORE_3030	0x3030
#define DPU_40C4	0x40c4

#define BURST_16	15	/* code of the longest burst, sixteen beats */
#define TO_MEMORY	2	/* OUTPUT_MODE: not to the PPU */

#define S_POINTER	(ORK_S_POINTER_POINTER_PP_EN | ORK_S_POINTER_EXECUTER_PP_EN | ORK_S_POINTER_POINTER_PP_MODE)

/* Converters that hand their input through have a scale of one. */
#define CVT_UNIT	ORK_PREP(ORK_CNA_CVT_CON1_CVT_SCALE0, 1u)
#define CVT_BYPASS	(ORK_CNA_CVT_CON0_CVT_BYPASS | ORK_CNA_CVT_CON0_CVT_TYPE | ORK_CNA_CVT_CON0_DATA_SIGN)
#define BS_BYPASS	(ORK_DPU_BS_CFG_BS_BYPASS | ORK_DPU_BS_CFG_BS_ALU_BYPASS | ORK_DPU_BS_CFG_BS_MUL_BYPASS | \
			 ORK_DPU_BS_CFG_BS_RELU_BYPASS)
#define BN_BYPASS	(ORK_DPU_BN_CFG_BN_BYPASS | ORK_DPU_BN_CFG_BN_ALU_BYPASS | ORK_DPU_BN_CFG_BN_MUL_BYPASS | \
			 ORK_DPU_BN_CFG_BN_RELU_BYPASS)
#define EW_BYPASS	(ORK_DPU_EW_CFG_EW_BYPASS | ORK_DPU_EW_CFG_EW_OP_BYPASS | ORK_DPU_EW_CFG_EW_LUT_BYPASS | \
			 ORK_DPU_EW_CFG_EW_OP_CVT_BYPASS | ORK_DPU_EW_CFG_EW_RELU_BYPASS)

#define ENABLE		(ORK_ENABLE_CNA | ORK_ENABLE_CORE | ORK_ENABLE_DPU)

/* One atom minus four, in the register's 28 bits. */
#define SURFACE_OF_GROUPS	(-3u & ORK_CNA_DMA_CON2_SURF_STRIDE)

#define CHANNEL_LIMIT	(ORK_DPU_DATA_CUBE_CHANNEL_ORIG_CHANNEL / (1u << 16) + 1)

/* A tile, with what its fields are made from. */
struct tile {
	const struct ork_type_info *type;
	const struct ork_matmul_desc *desc;
	struct ork_program program;
	struct ork_operands at;		/* of the tile's first elements */
};

static inline uint64_t *put(uint64_t *word, uint32_t reg, uint32_t value)
{
	*word = ORK_REGCMD(ork_reg_target(reg), reg, value);
	return word + 1;
}

static inline uint64_t *put_zeros(uint64_t *word, uint32_t first, uint32_t last)
{
	/* All of one block. */
	uint32_t target = ork_reg_target(first), reg;

	for (reg = first; reg <= last; reg += 4)
		*word++ = ORK_REGCMD(target, reg, 0);
	return word;
}

/* Lines are fetched one by one, but those of int4 in groups of four. */
static bool has_groups(const struct ork_type_info *type)
{
	return type->in_precision == ORK_PRECISION_INT4;
}

static uint32_t conv_con1(const struct ork_type_info *type)
{
	return (has_groups(type) ? 0 : ORK_CNA_CONV_CON1_GROUP_LINE_OFF) |
	       ORK_PREP(ORK_CNA_CONV_CON1_PROC_PRECISION, type->in_precision) |
	       ORK_PREP(ORK_CNA_CONV_CON1_IN_PRECISION, type->in_precision);
}

static uint32_t cbuf_con0(const struct ork_program *program)
{
	return ORK_PREP(ORK_CNA_CBUF_CON0_WEIGHT_BANK, program->weight_banks) |
	       ORK_PREP(ORK_CNA_CBUF_CON0_DATA_BANK, program->data_banks);
}

/* Captured streams begin with these five, four of which come again. */
static inline uint64_t *put_head(uint64_t *word, const struct tile *tile)
{
	word = put(word, ORK_CNA_CBUF_CON0, cbuf_con0(&tile->program));
	word = put(word, ORK_CNA_DCOMP_REGNUM, 0);
	word = put(word, ORK_CNA_DCOMP_CTRL, 0);
	word = put(word, ORK_CNA_CONV_CON1, conv_con1(tile->type));
	return put(word, ORK_DPU_S_POINTER, S_POINTER);
}

static inline uint64_t *put_sizes(uint64_t *word, const struct tile *tile)
{
	const struct ork_program *program = &tile->program;
	uint32_t kernel = (uint32_t)ork_in_bytes(tile->type, program->channels);

	word = put(word, ORK_CNA_CONV_CON1, conv_con1(tile->type));
	word = put(word, ORK_CNA_CONV_CON2, ORK_PREP(ORK_CNA_CONV_CON2_FEATURE_GRAINS, program->grains));
	word = put(word, ORK_CNA_CONV_CON3, ORK_PREP(ORK_CNA_CONV_CON3_CONV_Y_STRIDE, 1u) |
					    ORK_PREP(ORK_CNA_CONV_CON3_CONV_X_STRIDE, 1u));
	word = put(word, ORK_CNA_DATA_SIZE0, ORK_PREP(ORK_CNA_DATA_SIZE0_DATAIN_WIDTH, 1u) |
					     ORK_PREP(ORK_CNA_DATA_SIZE0_DATAIN_HEIGHT, program->lines));
	word = put(word, ORK_CNA_DATA_SIZE1, ORK_PREP(ORK_CNA_DATA_SIZE1_DATAIN_CHANNEL_REAL, program->channels - 1) |
					     ORK_PREP(ORK_CNA_DATA_SIZE1_DATAIN_CHANNEL, program->channels));
	word = put(word, ORK_CNA_DATA_SIZE2, ORK_PREP(ORK_CNA_DATA_SIZE2_DATAOUT_WIDTH, 1u));
	word = put(word, ORK_CNA_DATA_SIZE3, ORK_PREP(ORK_CNA_DATA_SIZE3_DATAOUT_ATOMICS, program->lines));
	word = put(word, ORK_CNA_WEIGHT_SIZE0, kernel * program->cols);
	word = put(word, ORK_CNA_WEIGHT_SIZE1, ORK_PREP(ORK_CNA_WEIGHT_SIZE1_WEIGHT_BYTES_PER_KERNEL, kernel));
	word = put(word, ORK_CNA_WEIGHT_SIZE2, ORK_PREP(ORK_CNA_WEIGHT_SIZE2_WEIGHT_WIDTH, 1u) |
					       ORK_PREP(ORK_CNA_WEIGHT_SIZE2_WEIGHT_HEIGHT, 1u) |
					       ORK_PREP(ORK_CNA_WEIGHT_SIZE2_WEIGHT_KERNELS, program->cols));
	word = put(word, ORK_CNA_CBUF_CON0, cbuf_con0(program));
	return put(word, ORK_CNA_CBUF_CON1, ORK_PREP(ORK_CNA_CBUF_CON1_DATA_ENTRIES, program->entries));
}

/*
 * Converter, addresses and strides of the input. Rows are a line stride apart, in atoms; a row's
 * channels are contiguous. With int4 a row is the first line of a group of four: the distance of its atoms
 * is that of four lines of one atom, and the surface stride.
 */
static inline uint64_t *put_input(uint64_t *word, const struct tile *tile)
{
	word = put(word, ORK_CNA_CVT_CON0, CVT_BYPASS);
	word = put(word, ORK_CNA_CVT_CON1, CVT_UNIT);
	word = put(word, ORK_CNA_CVT_CON2, CVT_UNIT);
	word = put(word, ORK_CNA_CVT_CON3, CVT_UNIT);
	word = put(word, ORK_CNA_CVT_CON4, CVT_UNIT);
	word = put_zeros(word, ORK_CNA_FC_CON0, ORK_CNA_PAD_CON0);
	word = put(word, ORK_CNA_FEATURE_DATA_ADDR, tile->at.a);
	word = put(word, ORK_CNA_FC_CON2, 0);
	word = put(word, ORK_CNA_DMA_CON0, ORK_PREP(ORK_CNA_DMA_CON0_WEIGHT_BURST_LEN, BURST_16) |
					   ORK_PREP(ORK_CNA_DMA_CON0_DATA_BURST_LEN, BURST_16));
	word = put(word, ORK_CNA_DMA_CON1, ORK_PREP(ORK_CNA_DMA_CON1_LINE_STRIDE, tile->at.a_stride / ORK_ATOM_BYTES));
	word = put(word, ORK_CNA_DMA_CON2, has_groups(tile->type) ? SURFACE_OF_GROUPS : 0);
	word = put(word, ORK_CNA_FC_DATA_SIZE0, ORK_PREP(ORK_CNA_FC_DATA_SIZE0_DMA_WIDTH, 1u) |
						ORK_PREP(ORK_CNA_FC_DATA_SIZE0_DMA_HEIGHT, tile->program.lines));
	word = put(word, ORK_CNA_FC_DATA_SIZE1, ORK_PREP(ORK_CNA_FC_DATA_SIZE1_DMA_CHANNEL, tile->program.channels));
	word = put(word, ORK_CNA_DCOMP_CTRL, 0);
	word = put(word, ORK_CNA_DCOMP_REGNUM, 0);
	word = put(word, ORK_CNA_DCOMP_ADDR0, tile->at.b);
	return put_zeros(word, ORK_CNA_DCOMP_AMOUNT0, ORK_CNA_PAD_CON1);
}

static inline uint64_t *put_core(uint64_t *word, const struct tile *tile)
{
	word = put(word, ORK_CORE_MISC_CFG, ORK_PREP(ORK_CORE_MISC_CFG_PROC_PRECISION, tile->type->in_precision) |
					    ORK_CORE_MISC_CFG_QD_EN);
	word = put(word, ORK_CORE_DATAOUT_SIZE_0,
		   ORK_PREP(ORK_CORE_DATAOUT_SIZE_0_DATAOUT_HEIGHT, tile->program.lines - 1));
	word = put(word, ORK_CORE_DATAOUT_SIZE_1,
		   ORK_PREP(ORK_CORE_DATAOUT_SIZE_1_DATAOUT_CHANNEL, tile->program.cols - 1));
	word = put(word, ORK_CORE_CLIP_TRUNCATE, 0);
	return put(word, CORE_3030, 0);
}

/*
 * SIZE_E counts the atoms that one kernel group gives, minus one, and is three times the same.
 * OD_BYPASS is clear in all int8 streams to int32 and int8 that boards are known to run, and set in
 * those to int16 and in the fp16 ones.
 */
static uint32_t bs_ow_cfg(const struct ork_type_info *type, uint32_t group_atoms)
{
	bool clear = type->out_precision == ORK_PRECISION_INT32 || type->out_precision == ORK_PRECISION_INT8;
	uint32_t od_bypass = clear ? 0 : ORK_DPU_BS_OW_CFG_OD_BYPASS;

	return ORK_PREP(ORK_DPU_BS_OW_CFG_SIZE_E_2, group_atoms - 1) |
	       ORK_PREP(ORK_DPU_BS_OW_CFG_SIZE_E_1, group_atoms - 1) |
	       ORK_PREP(ORK_DPU_BS_OW_CFG_SIZE_E_0, group_atoms - 1) | od_bypass;
}

/*
 * Where and how large the output is. Atoms of a row follow each other; the notch is what lies from
 * behind a row's first atom to the next row. A C wider than the tile shows in ORIG_CHANNEL too, as
 * far as its bits go.
 */
static inline uint64_t *put_output(uint64_t *word, const struct tile *tile)
{
	const struct ork_type_info *type = tile->type;
	uint32_t height = tile->program.lines - 1, channel = tile->program.cols - 1;
	uint32_t row = tile->at.c_stride / type->out_bytes;
	uint32_t orig = (row < CHANNEL_LIMIT ? row : CHANNEL_LIMIT) - 1;
	uint32_t notch = tile->at.c_stride / ORK_ATOM_BYTES - 1;

	/* As boards were given it; groups are written one behind the other whatever it says. */
	if (has_groups(type)) {
		notch = tile->program.lines > 1 ? tile->program.cols / 4 - 1 : 0;
		orig = channel;
	}

	word = put(word, ORK_DPU_FEATURE_MODE_CFG, ORK_PREP(ORK_DPU_FEATURE_MODE_CFG_BURST_LEN, BURST_16) |
						   ORK_PREP(ORK_DPU_FEATURE_MODE_CFG_OUTPUT_MODE, TO_MEMORY));
	word = put(word, ORK_DPU_DATA_FORMAT, ORK_PREP(ORK_DPU_DATA_FORMAT_OUT_PRECISION, type->out_precision) |
					      ORK_PREP(ORK_DPU_DATA_FORMAT_IN_PRECISION, type->in_precision) |
					      ORK_PREP(ORK_DPU_DATA_FORMAT_PROC_PRECISION, type->in_precision));
	word = put(word, ORK_DPU_OFFSET_PEND, 0);
	word = put(word, ORK_DPU_DST_BASE_ADDR, tile->at.c);
	word = put(word, ORK_DPU_DST_SURF_STRIDE, ORK_ATOM_BYTES);
	word = put(word, ORK_DPU_DATA_CUBE_WIDTH, 0);
	word = put(word, ORK_DPU_DATA_CUBE_HEIGHT, ORK_PREP(ORK_DPU_DATA_CUBE_HEIGHT_HEIGHT, height));
	word = put(word, ORK_DPU_DATA_CUBE_NOTCH_ADDR, ORK_PREP(ORK_DPU_DATA_CUBE_NOTCH_ADDR_NOTCH_ADDR_1, notch) |
						       ORK_PREP(ORK_DPU_DATA_CUBE_NOTCH_ADDR_NOTCH_ADDR_0, notch));
	return put(word, ORK_DPU_DATA_CUBE_CHANNEL, ORK_PREP(ORK_DPU_DATA_CUBE_CHANNEL_ORIG_CHANNEL, orig) |
						    ORK_PREP(ORK_DPU_DATA_CUBE_CHANNEL_CHANNEL, channel));
}

/* How an accumulator becomes an element of C. */
static inline uint64_t *put_converter(uint64_t *word, const struct tile *tile)
{
	const struct ork_matmul_desc *desc = tile->desc;
	uint32_t to_fp16 = tile->type->out_precision == ORK_PRECISION_FP16 ? ORK_DPU_OUT_CVT_SCALE_FP32TOFP16_EN : 0;

	if (!tile->type->requantised) {
		word = put(word, ORK_DPU_OUT_CVT_OFFSET, 0);
		word = put(word, ORK_DPU_OUT_CVT_SCALE, ORK_PREP(ORK_DPU_OUT_CVT_SCALE_OUT_CVT_SCALE, 1u) | to_fp16);
		return put(word, ORK_DPU_OUT_CVT_SHIFT, 0);
	}
	word = put(word, ORK_DPU_OUT_CVT_OFFSET, (uint32_t)desc->offset);
	word = put(word, ORK_DPU_OUT_CVT_SCALE, ORK_PREP(ORK_DPU_OUT_CVT_SCALE_OUT_CVT_SCALE, desc->multiplier));
	return put(word, ORK_DPU_OUT_CVT_SHIFT, ORK_PREP(ORK_DPU_OUT_CVT_SHIFT_OUT_CVT_SHIFT, desc->shift));
}

/* The stages between accumulator and memory: all passed by, but for the converter. */
static inline uint64_t *put_stages(uint64_t *word, const struct tile *tile)
{
	const struct ork_type_info *type = tile->type;
	uint32_t group_atoms = type->kernels * type->out_bytes / ORK_ATOM_BYTES;
	/* Groups of lines are written as single pixels. */
	uint32_t height = has_groups(type) ? 0 : tile->program.rows - 1;

	word = put(word, ORK_DPU_BS_CFG, BS_BYPASS);
	word = put_zeros(word, ORK_DPU_BS_ALU_CFG, ORK_DPU_BS_RELUX_CMP_VALUE);
	word = put(word, ORK_DPU_BS_OW_CFG, bs_ow_cfg(type, group_atoms));
	word = put(word, ORK_DPU_BS_OW_OP, 0);
	word = put(word, ORK_DPU_WDMA_SIZE_0, ORK_PREP(ORK_DPU_WDMA_SIZE_0_CHANNEL_WDMA, tile->program.cols - 1));
	word = put(word, ORK_DPU_WDMA_SIZE_1, ORK_PREP(ORK_DPU_WDMA_SIZE_1_HEIGHT_WDMA, height));
	word = put(word, ORK_DPU_BN_CFG, BN_BYPASS);
	word = put_zeros(word, ORK_DPU_BN_ALU_CFG, ORK_DPU_BN_RELUX_CMP_VALUE);
	word = put(word, ORK_DPU_EW_CFG, EW_BYPASS);
	word = put(word, ORK_DPU_EW_CVT_OFFSET_VALUE, 0);
	word = put(word, ORK_DPU_EW_CVT_SCALE_VALUE, ORK_PREP(ORK_DPU_EW_CVT_SCALE_VALUE_EW_OP_CVT_SCALE, 1u));
	word = put(word, ORK_DPU_EW_RELUX_CMP_VALUE, 0);
	word = put_converter(word, tile);
	word = put_zeros(word, ORK_DPU_EW_OP_VALUE_0, ORK_DPU_EW_OP_VALUE_7);
	word = put(word, ORK_DPU_SURFACE_ADD, group_atoms * ORK_ATOM_BYTES);
	word = put(word, DPU_40C4, 0);
	return put_zeros(word, ORK_DPU_LUT_ACCESS_CFG, ORK_DPU_LUT_LO_SLOPE_SHIFT);
}

/* Not inline: a copy of a program whose size compilers know becomes a slow string instruction. */
static __attribute__((noinline)) uint64_t *put_program(uint64_t *word, const struct tile *tile)
{
	word = put_head(word, tile);
	word = put_sizes(word, tile);
	word = put_input(word, tile);
	word = put_core(word, tile);
	word = put_output(word, tile);
	return put_stages(word, tile);
}

/* The packed columns of a tile follow each other, as kernel groups do. */
static void locate(struct tile *tile, const struct ork_matmul_plan *plan, const struct ork_operands *at)
{
	const struct ork_program *program = &tile->program;
	uint64_t before = (uint64_t)program->k * plan->n_padded + (uint64_t)program->n * program->channels;

	tile->at = *at;
	tile->at.a += program->m * at->a_stride + (uint32_t)ork_in_bytes(tile->type, program->k);
	tile->at.b += (uint32_t)ork_in_bytes(tile->type, before);
	if (plan->c_blocks)
		tile->at.c += (uint32_t)ork_plan_blocks_at(plan, program);
	else
		tile->at.c += (program->slice * plan->desc.m + program->m) * at->c_stride +
			      program->n * tile->type->out_bytes;
}

/*
 * The first program of a shape: the next ones differ in their addresses only, and most of a chain is of one shape.
 * Not the last one: what was stored just now, words within vectors, is slow to be read as vectors.
 */
struct pattern {
	struct ork_program shape;
	const uint64_t *words;		/* NULL: none yet */
	size_t bytes;
};

/* Where the functions above put the addresses. */
enum { WORD_A = 25, WORD_B = 34, WORD_C = 61 };

static bool fits(const struct pattern *pattern, const struct ork_program *program)
{
	return pattern->words && pattern->shape.channels == program->channels &&
	       pattern->shape.rows == program->rows && pattern->shape.cols == program->cols;
}

static void put_copy(uint64_t *words, const struct pattern *pattern, const struct ork_operands *at)
{
	memcpy(words, pattern->words, pattern->bytes);
	put(words + WORD_A, ORK_CNA_FEATURE_DATA_ADDR, at->a);
	put(words + WORD_B, ORK_CNA_DCOMP_ADDR0, at->b);
	put(words + WORD_C, ORK_DPU_DST_BASE_ADDR, at->c);
}

static void put_tile(uint64_t *words, struct pattern *pattern, const struct tile *tile)
{
	if (fits(pattern, &tile->program)) {
		put_copy(words, pattern, &tile->at);
		return;
	}
	pattern->bytes = (put_program(words, tile) - words) * sizeof(*words);
	pattern->shape = tile->program;
	pattern->words = words;
}

int ork_emit_matmul(struct ork_chain *chain, const struct ork_matmul_plan *plan, uint32_t core,
		    const struct ork_operands *operands)
{
	struct tile tile = { .type = ork_plan_type(plan), .desc = &plan->desc };
	struct pattern pattern = { .words = NULL };
	uint64_t *words;
	uint32_t i;

	for (i = 0; i < plan->programs[core]; i++) {
		if (!i || !ork_plan_next_rows(plan, &tile.program))
			ork_plan_program(plan, core, i, &tile.program);
		locate(&tile, plan, operands);
		words = ork_chain_append(chain, ORK_MATMUL_REGISTERS, ENABLE);
		if (!words)
			break;
		put_tile(words, &pattern, &tile);
	}
	return chain->error;
}

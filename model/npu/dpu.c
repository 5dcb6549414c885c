// SPDX-License-Identifier: MIT
/*
 * The DPU as far as a matrix product needs it: its BS, BN and EW stages bypassed, its converter the
 * identity, the step from fp32 to fp16 or that of sums to narrower integers, its writer in full.
 */
#include "core.h"
#include "half.h"

/* Anything else in these bits is a mode that the model does not know; on a board it may work, or hang. */
static const struct npu_rule rules[] = {
	{ ORK_DPU_FEATURE_MODE_CFG, ORK_DPU_FEATURE_MODE_CFG_COMB_USE | ORK_DPU_FEATURE_MODE_CFG_TP_EN |
	  ORK_DPU_FEATURE_MODE_CFG_RGP_TYPE | ORK_DPU_FEATURE_MODE_CFG_NONALIGN | ORK_DPU_FEATURE_MODE_CFG_CONV_MODE |
	  ORK_DPU_FEATURE_MODE_CFG_FLYING_MODE, 0 },
	/* To memory (bit 1 of the field) and not to the PPU (bit 0). */
	{ ORK_DPU_FEATURE_MODE_CFG, ORK_DPU_FEATURE_MODE_CFG_OUTPUT_MODE, 2 << 1 },
	{ ORK_DPU_DATA_FORMAT, ORK_DPU_DATA_FORMAT_MC_SURF_OUT, 0 },
	{ ORK_DPU_DATA_CUBE_HEIGHT, ORK_DPU_DATA_CUBE_HEIGHT_MINMAX_CTL, 0 },
	{ ORK_DPU_BS_CFG, ORK_DPU_BS_CFG_BS_BYPASS, ORK_DPU_BS_CFG_BS_BYPASS },
	{ ORK_DPU_BN_CFG, ORK_DPU_BN_CFG_BN_BYPASS, ORK_DPU_BN_CFG_BN_BYPASS },
	{ ORK_DPU_EW_CFG, ORK_DPU_EW_CFG_EW_BYPASS | ORK_DPU_EW_CFG_EW_LUT_BYPASS,
	  ORK_DPU_EW_CFG_EW_BYPASS | ORK_DPU_EW_CFG_EW_LUT_BYPASS },
	{ ORK_DPU_BS_OW_CFG, ORK_DPU_BS_OW_CFG_RGP_CNTER | ORK_DPU_BS_OW_CFG_TP_ORG_EN | ORK_DPU_BS_OW_CFG_OW_SRC, 0 },
	{ ORK_DPU_WDMA_SIZE_0, ORK_DPU_WDMA_SIZE_0_TP_PRECISION, 0 },
};

/* The converter of a format that is not requantised. */
static const struct npu_rule identity[] = {
	{ ORK_DPU_OUT_CVT_OFFSET, 0xffffffff, 0 },
	{ ORK_DPU_OUT_CVT_SCALE, ORK_DPU_OUT_CVT_SCALE_OUT_CVT_SCALE, 1 },
	{ ORK_DPU_OUT_CVT_SHIFT, 0xffffffff, 0 },
};

/*
 * The converter of one that is: no program is known that adds the offset before it scales
 * (CVT_TYPE), MINUS_EXP is for floats.
 */
static const struct npu_rule requantised[] = {
	{ ORK_DPU_OUT_CVT_SHIFT, ~(ORK_DPU_OUT_CVT_SHIFT_CVT_ROUND | ORK_DPU_OUT_CVT_SHIFT_OUT_CVT_SHIFT), 0 },
};

/*
 * Boards run int8 to int8 right for K >= 512 only (ork-driver facts 3.6), but there the bank split
 * of the programs is at fault: their schedule asks for more than twelve banks below that. Of int16
 * output one report says that it times out (vendor facts 5.2), three that it runs (ork-driver facts
 * 3.6, C12; vendor facts 9, row 19).
 */
static const struct format {
	uint32_t in, out, bytes;
	bool to_fp16;	/* FP32TOFP16_EN: fp16 without it times out on boards (ork-driver facts 3.6, 7.1) */
	bool requantise;
} formats[] = {
	{ ORK_PRECISION_FP16, ORK_PRECISION_FP32, 4, false, false },
	{ ORK_PRECISION_FP16, ORK_PRECISION_FP16, 2, true, false },
	{ ORK_PRECISION_INT8, ORK_PRECISION_INT32, 4, false, false },
	{ ORK_PRECISION_INT8, ORK_PRECISION_INT16, 2, false, true },
	{ ORK_PRECISION_INT8, ORK_PRECISION_INT8, 1, false, true },
	{ ORK_PRECISION_INT4, ORK_PRECISION_INT16, 2, false, false },
};

static const struct format *find_format(const struct npu_regs *regs, const struct npu_conv *conv)
{
	uint32_t in = NPU_FIELD(regs, DPU_DATA_FORMAT, IN_PRECISION);
	uint32_t out = NPU_FIELD(regs, DPU_DATA_FORMAT, OUT_PRECISION);
	bool to_fp16 = NPU_FIELD(regs, DPU_OUT_CVT_SCALE, FP32TOFP16_EN);

	if (in != conv->operands->precision || NPU_FIELD(regs, DPU_DATA_FORMAT, PROC_PRECISION) != in)
		return NULL;
	for (size_t i = 0; i < NPU_ARRAY_SIZE(formats); i++)
		if (formats[i].in == in && formats[i].out == out && formats[i].to_fp16 == to_fp16)
			return &formats[i];
	return NULL;
}

static bool converter_is_known(const struct npu_regs *regs, const struct format *format)
{
	return format->requantise ? npu_rules_hold(regs, requantised, NPU_ARRAY_SIZE(requantised)) :
				    npu_rules_hold(regs, identity, NPU_ARRAY_SIZE(identity));
}

/*
 * A writer whose surface has one pixel, as in int4 batches: it ends a kernel group after each, and
 * adds SURFACE_ADD. That is where boards were seen to put them, whatever the notch (ork-driver facts
 * 3.4 and 4.3: row j of H, pixel 4j of 4H, block b at 64 * (4j + 4Hb) int16). Known of rows along
 * the cube's height.
 */
static bool writes_single_pixels(const struct npu_regs *regs, const struct npu_conv *conv)
{
	return conv->operands->precision == ORK_PRECISION_INT4 && conv->out_width == 1 &&
	       !npu_reg(regs, ORK_DPU_WDMA_SIZE_1);
}

/*
 * The blocks wait for each other's pixels, so each must be told the same size. The channel field
 * has thirteen bits: this is where more than 8192 kernels fail. (Boards give wrong numbers then,
 * ork-driver facts 7.1; the model hangs, which is seen.)
 */
static bool sizes_agree(const struct npu_regs *regs, const struct npu_conv *conv)
{
	return NPU_FIELD(regs, DPU_DATA_CUBE_WIDTH, WIDTH) + 1 == conv->out_width &&
	       NPU_FIELD(regs, DPU_DATA_CUBE_HEIGHT, HEIGHT) + 1 == conv->out_height &&
	       NPU_FIELD(regs, DPU_DATA_CUBE_CHANNEL, CHANNEL) + 1 == conv->kernels &&
	       NPU_FIELD(regs, DPU_WDMA_SIZE_0, CHANNEL_WDMA) + 1 == conv->kernels &&
	       (writes_single_pixels(regs, conv) ||
		(NPU_FIELD(regs, DPU_WDMA_SIZE_1, WIDTH_WDMA) + 1 == conv->out_width &&
		 NPU_FIELD(regs, DPU_WDMA_SIZE_1, HEIGHT_WDMA) + 1 == conv->out_height));
}

/*
 * SIZE_E is the number of atoms that a kernel group gives, less one: so in every program seen
 * (vendor facts 5.2).
 */
static bool size_e_is(const struct npu_regs *regs, uint32_t atoms)
{
	return NPU_FIELD(regs, DPU_BS_OW_CFG, SIZE_E_0) + 1 == atoms &&
	       NPU_FIELD(regs, DPU_BS_OW_CFG, SIZE_E_1) + 1 == atoms &&
	       NPU_FIELD(regs, DPU_BS_OW_CFG, SIZE_E_2) + 1 == atoms;
}

/*
 * The OW stage adds OW_OP times the sum of features, unless bypassed; with an operand of 0 that is
 * nothing either.
 */
static bool ow_stage_is_idle(const struct npu_regs *regs)
{
	return NPU_FIELD(regs, DPU_BS_OW_CFG, OD_BYPASS) || !NPU_FIELD(regs, DPU_BS_OW_OP, OW_OP);
}

enum npu_hang npu_dpu_plan(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base,
			   struct npu_output *output)
{
	const struct format *format = find_format(regs, conv);
	uint32_t notch = NPU_FIELD(regs, DPU_DATA_CUBE_NOTCH_ADDR, NOTCH_ADDR_0);

	if (!format || !npu_rules_hold(regs, rules, NPU_ARRAY_SIZE(rules)) || !converter_is_known(regs, format) ||
	    !sizes_agree(regs, conv) || !size_e_is(regs, conv->operands->kernels * format->bytes / ORK_ATOM_BYTES) ||
	    !ow_stage_is_idle(regs) ||
	    NPU_FIELD(regs, DPU_DATA_CUBE_NOTCH_ADDR, NOTCH_ADDR_1) != notch)
		return NPU_HANG_UNSUPPORTED;

	*output = (struct npu_output) {
		.precision = format->out,
		.bytes = format->bytes,
		/* The manual has the low four bits read-only. */
		.base = (npu_reg(regs, ORK_DPU_DST_BASE_ADDR) & ~(ORK_ATOM_BYTES - 1u)) + dma_base,
		.surface = npu_reg(regs, ORK_DPU_DST_SURF_STRIDE) & ORK_DPU_DST_SURF_STRIDE_DST_SURF_STRIDE,
		.group = npu_reg(regs, ORK_DPU_SURFACE_ADD) & ORK_DPU_SURFACE_ADD_SURF_ADD,
		.width = conv->out_width,
		.line = conv->out_width + notch,
		.scale = NPU_FIELD(regs, DPU_OUT_CVT_SCALE, OUT_CVT_SCALE),
		.shift = NPU_FIELD(regs, DPU_OUT_CVT_SHIFT, OUT_CVT_SHIFT),
		.offset = (int32_t)npu_reg(regs, ORK_DPU_OUT_CVT_OFFSET),
		.half_up = NPU_FIELD(regs, DPU_OUT_CVT_SHIFT, CVT_ROUND),
	};
	if (writes_single_pixels(regs, conv)) {
		output->line = output->group / ORK_ATOM_BYTES;
		output->group *= conv->out_height;
	}
	return NPU_OK;
}

static bool is_nan(uint32_t bits)
{
	return (bits & 0x7fffffff) > 0x7f800000;
}

/*
 * Rounded to nearest, ties to even: bit for bit what boards gave, of both signs (measured by the
 * ork-driver project, facts 3.6). @half_up is the manual's "always carry" (vendor facts 2.4), which
 * is not known to have been tried.
 */
static int64_t shift_right(int64_t value, uint32_t shift, bool half_up)
{
	int64_t kept, rest, half;

	if (!shift)
		return value;
	if (shift > 62)		/* a scaled sum has at most 48 bits */
		return 0;
	kept = value >> shift;
	rest = value & ((INT64_C(1) << shift) - 1);
	half = INT64_C(1) << (shift - 1);
	return kept + (rest > half || (rest == half && (half_up || (kept & 1))));
}

static int64_t saturate(int64_t value, uint32_t bits)
{
	const int64_t limit = INT64_C(1) << (bits - 1);

	return value < -limit ? -limit : value >= limit ? limit - 1 : value;
}

/*
 * The scale has no sign (vendor facts 2.4, of the manual; the ork-driver project takes it for
 * signed, but stays below 0x8000, where both agree).
 */
static int64_t requantise(const struct npu_output *output, int32_t sum)
{
	int64_t scaled = shift_right((int64_t)sum * output->scale, output->shift, output->half_up);

	return saturate(scaled + output->offset, 8 * output->bytes);
}

static uint32_t convert(const struct npu_output *output, uint32_t sum)
{
	switch (output->precision) {
	case ORK_PRECISION_FP16:
		return npu_half_from_bits(sum);
	case ORK_PRECISION_FP32:
		return is_nan(sum) ? NPU_FLOAT_NAN : sum;
	case ORK_PRECISION_INT8:
	case ORK_PRECISION_INT16:
		return (uint32_t)requantise(output, (int32_t)sum);
	default:
		return sum;
	}
}

static void store(unsigned char *to, uint32_t value, uint32_t bytes)
{
	switch (bytes) {
	case 1:
		*to = value;
		break;
	case 2:
		memcpy(to, &value, 2);
		break;
	default:
		memcpy(to, &value, 4);
		break;
	}
}

static void convert_atom(const struct npu_output *output, const uint32_t *sums, uint8_t flip, unsigned char *to)
{
	for (uint32_t byte = 0; byte < ORK_ATOM_BYTES; byte += output->bytes)
		store(to + byte, convert(output, *sums++), output->bytes);
	for (uint32_t byte = 0; byte < ORK_ATOM_BYTES; byte++)
		to[byte] ^= flip;
}

/* Vendor facts 3.7. */
static uint32_t atom_iova(const struct npu_output *output, const struct npu_tile *tile, uint32_t surface,
			  uint32_t pixel)
{
	uint32_t y = (tile->first + pixel) / output->width, x = (tile->first + pixel) % output->width;

	return output->base + tile->group * output->group + surface * output->surface +
	       ORK_ATOM_BYTES * (y * output->line + x);
}

/* Atoms go out in the order in which they lie in memory, joined where they touch. */
bool npu_dpu_write(const struct npu_output *output, struct npu_dma *dma, const struct npu_tile *tile, uint8_t flip)
{
	uint32_t per_atom = ORK_ATOM_BYTES / output->bytes, surfaces = tile->kernels / per_atom;
	bool by_pixel = output->surface == ORK_ATOM_BYTES;
	unsigned char burst[4096];
	uint32_t start = 0, used = 0;

	for (uint32_t i = 0; i < surfaces * tile->pixels; i++) {
		uint32_t surface = by_pixel ? i % surfaces : i / tile->pixels;
		uint32_t pixel = by_pixel ? i / surfaces : i % tile->pixels;
		uint32_t iova = atom_iova(output, tile, surface, pixel);

		if (used == sizeof(burst) || iova != start + used) {
			if (!npu_dma_write(dma, start, burst, used))
				return false;
			start = iova;
			used = 0;
		}
		convert_atom(output, tile->sums + pixel * tile->kernels + surface * per_atom, flip, burst + used);
		used += ORK_ATOM_BYTES;
	}
	return npu_dma_write(dma, start, burst, used);
}

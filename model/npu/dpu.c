// SPDX-License-Identifier: MIT
/*
 * The end of the DPU: its BN stage bypassed (of the ones before, see stages.c), its converter the
 * identity, the step from fp32 to fp16 or that of sums to narrower integers, its writer in full.
 */
#include "core.h"
#include "fixed.h"
#include "half.h"

/* Anything else in these bits is a mode that the model does not know; on a board it may work, or hang. */
static const struct npu_rule rules[] = {
	{ ORK_DPU_FEATURE_MODE_CFG, ORK_DPU_FEATURE_MODE_CFG_COMB_USE | ORK_DPU_FEATURE_MODE_CFG_TP_EN |
	  ORK_DPU_FEATURE_MODE_CFG_RGP_TYPE | ORK_DPU_FEATURE_MODE_CFG_NONALIGN |
	  ORK_DPU_FEATURE_MODE_CFG_FLYING_MODE, 0 },
	/* To memory (bit 1 of the field) and not to the PPU (bit 0). */
	{ ORK_DPU_FEATURE_MODE_CFG, ORK_DPU_FEATURE_MODE_CFG_OUTPUT_MODE, 2 << 1 },
	{ ORK_DPU_DATA_FORMAT, ORK_DPU_DATA_FORMAT_MC_SURF_OUT, 0 },
	{ ORK_DPU_DATA_CUBE_HEIGHT, ORK_DPU_DATA_CUBE_HEIGHT_MINMAX_CTL, 0 },
	{ ORK_DPU_BN_CFG, ORK_DPU_BN_CFG_BN_BYPASS, ORK_DPU_BN_CFG_BN_BYPASS },
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
	       NPU_FIELD(regs, DPU_DATA_CUBE_CHANNEL, CHANNEL) + 1 == conv->out_channels &&
	       NPU_FIELD(regs, DPU_WDMA_SIZE_0, CHANNEL_WDMA) + 1 == conv->out_channels &&
	       NPU_FIELD(regs, DPU_FEATURE_MODE_CFG, CONV_MODE) == NPU_FIELD(regs, CNA_CONV_CON1, CONV_MODE) &&
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

/* The stages before the converter, and depthwise kernels, are known on the way from int8 to int8. */
static bool format_is_known(const struct npu_conv *conv, const struct npu_stages *stages, const struct format *format)
{
	return (!stages->any && !conv->depthwise) ||
	       (format->in == ORK_PRECISION_INT8 && format->out == ORK_PRECISION_INT8);
}

/*
 * ORIG_CHANNEL: those of the others are OFFSET_PEND, by the manual's words (vendor facts 2.4). That
 * they are written at all is the reading that asks more of a program: its buffer must have room for
 * whole kernel groups.
 */
static uint32_t computed_channels(const struct npu_regs *regs, const struct npu_conv *conv)
{
	uint32_t channels = NPU_FIELD(regs, DPU_DATA_CUBE_CHANNEL, ORIG_CHANNEL) + 1;

	return channels < conv->out_channels ? channels : conv->out_channels;
}

/* There are weights for each, and OFFSET_PEND is an int8. */
static bool channels_are_known(const struct npu_regs *regs, const struct npu_conv *conv, const struct format *format)
{
	uint32_t channels = computed_channels(regs, conv);
	int16_t pend = NPU_FIELD(regs, DPU_OFFSET_PEND, OFFSET_PEND);

	if (channels > (conv->depthwise ? conv->channels : conv->kernels))
		return false;
	return channels == conv->out_channels || (format->out == ORK_PRECISION_INT8 && pend == (int8_t)pend);
}

enum npu_hang npu_dpu_plan(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base, bool rdma,
			   struct npu_output *output)
{
	const struct format *format = find_format(regs, conv);
	uint32_t notch = NPU_FIELD(regs, DPU_DATA_CUBE_NOTCH_ADDR, NOTCH_ADDR_0);
	struct npu_stages stages;

	if (npu_stages_plan(regs, conv, dma_base, rdma, &stages))
		return NPU_HANG_UNSUPPORTED;
	if (!format || !npu_rules_hold(regs, rules, NPU_ARRAY_SIZE(rules)) || !converter_is_known(regs, format) ||
	    !sizes_agree(regs, conv) || !size_e_is(regs, conv->group_kernels * format->bytes / ORK_ATOM_BYTES) ||
	    !format_is_known(conv, &stages, format) || !channels_are_known(regs, conv, format) ||
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
		.channels = computed_channels(regs, conv),
		.pend = npu_reg(regs, ORK_DPU_OFFSET_PEND),
		.stages = stages,
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
 * The scale has no sign (vendor facts 2.4, of the manual; the ork-driver project takes it for
 * signed, but stays below 0x8000, where both agree).
 */
static int64_t requantise(const struct npu_output *output, int32_t sum)
{
	int64_t scaled = npu_shift_right((int64_t)sum * output->scale, output->shift, output->half_up);

	return npu_saturate(scaled + output->offset, 8 * output->bytes);
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

/* The channels of an atom that are not computed; there are some of int8 only. */
static void pad_atom(const struct npu_output *output, uint32_t first, uint8_t flip, unsigned char *to)
{
	for (uint32_t i = output->channels > first ? output->channels - first : 0; i < ORK_ATOM_BYTES; i++)
		to[i] = output->pend ^ flip;
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
		uint32_t channel = tile->group * tile->kernels + surface * per_atom;
		uint32_t iova = atom_iova(output, tile, surface, pixel);

		if (used == sizeof(burst) || iova != start + used) {
			if (!npu_dma_write(dma, start, burst, used))
				return false;
			start = iova;
			used = 0;
		}
		convert_atom(output, tile->sums + pixel * tile->kernels + surface * per_atom, flip, burst + used);
		if (channel + per_atom > output->channels)
			pad_atom(output, channel, flip, burst + used);
		used += ORK_ATOM_BYTES;
	}
	return npu_dma_write(dma, start, burst, used);
}

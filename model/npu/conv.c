// SPDX-License-Identifier: MIT
/*
 * CNA and CORE: convolution, of which a matrix product is the case with 1x1 kernels, rows as pixels
 * and K as channels; depthwise products are depthwise.c's. Sums of fp16 are added in fp32 in the
 * order of the weights in memory (for 1x1 kernels: ascending channels), 32 at a time, so they depend
 * on neither tiling nor core. A product of two fp16 is exact in fp32.
 *
 * Built with -ffp-contract=off; expects the default floating-point environment of C.
 */
#include <string.h>

#include "core.h"
#include "half.h"

/*
 * Weights interleave this many channels of each kernel of a group, for all types (vendor facts 5.3,
 * ork-driver facts 4.2).
 */
#define CHANNEL_TILE	32u
/* Of a kernel group. */
#define FP16_KERNELS	NPU_MIN_TILE_KERNELS
#define INT8_KERNELS	32u
#define INT4_KERNELS	NPU_MAX_TILE_KERNELS

/* Codes of CONV_MODE and ARGB_IN. */
#define DIRECT		0u
#define DEPTHWISE	3u
#define ONE_CHANNEL	8u

/*
 * Channels of a depthwise group (vendor facts 3.7 and 4.7). And what the channels of an int8 input
 * come in: weights of a rest of at most sixteen are packed as narrow (4.7).
 */
#define DEPTHWISE_CHANNELS	NPU_MAX_TILE_KERNELS
#define INT8_CHANNELS		16u

/*
 * The loops that all time goes into, for the widest vectors of the machine. No sum is spread over
 * lanes but of integers, so results are the same bit for bit. (ThreadSanitizer does not bear the
 * dispatch, which runs before it is set up.)
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define WIDEST	__attribute__((target_clones("avx2", "default")))
#else
#define WIDEST
#endif

/*
 * Up to two kernel groups fp16 hangs if one fills the weight banks exactly (ork-driver facts 3.9,
 * r103). No int4 program was seen to fill them: held to the same.
 */
static const struct npu_operands operands[] = {
	{ ORK_PRECISION_FP16, .bits = 16, .kernels = FP16_KERNELS, .narrow = 2 * FP16_KERNELS, .macs = 512 },
	{ ORK_PRECISION_INT8, .bits = 8, .kernels = INT8_KERNELS, .macs = 1024 },
	{ ORK_PRECISION_INT4, .bits = 4, .kernels = INT4_KERNELS, .narrow = 2 * INT4_KERNELS, .macs = 2048 },
};

/* Anything else in these bits is a mode that the model does not know; on a board it may work, or hang. */
static const struct npu_rule rules[] = {
	{ ORK_CNA_CONV_CON1, ORK_CNA_CONV_CON1_DECONV, 0 },
	{ ORK_CNA_CONV_CON2, ORK_CNA_CONV_CON2_KERNEL_GROUP | ORK_CNA_CONV_CON2_CSC_WO_EN |
	  ORK_CNA_CONV_CON2_CSC_DO_EN | ORK_CNA_CONV_CON2_CMD_FIFO_SRST, 0 },
	{ ORK_CNA_CONV_CON3, ORK_CNA_CONV_CON3_NN_MODE | ORK_CNA_CONV_CON3_ATROUS_Y_DILATION |
	  ORK_CNA_CONV_CON3_ATROUS_X_DILATION | ORK_CNA_CONV_CON3_DECONV_Y_STRIDE |
	  ORK_CNA_CONV_CON3_DECONV_X_STRIDE, 0 },
	{ ORK_CNA_DATA_SIZE3, ORK_CNA_DATA_SIZE3_SURF_MODE, 0 },
	{ ORK_CNA_CBUF_CON0, ORK_CNA_CBUF_CON0_DATA_REUSE | ORK_CNA_CBUF_CON0_FC_DATA_BANK, 0 },
	{ ORK_CNA_FC_CON0, ORK_CNA_FC_CON0_FC_SKIP_EN, 0 },
	{ ORK_CNA_FC_CON1, ORK_CNA_FC_CON1_DATA_OFFSET, 0 },
	{ ORK_CNA_FC_CON2, ORK_CNA_FC_CON2_WEIGHT_OFFSET, 0 },
	{ ORK_CNA_DCOMP_CTRL, ORK_CNA_DCOMP_CTRL_WT_DEC_BYPASS | ORK_CNA_DCOMP_CTRL_DECOMP_CONTROL, 0 },
};

/* Of inputs in channels: atoms, not to be converted. */
static const struct npu_rule channels_rules[] = {
	{ ORK_CNA_CONV_CON1, ORK_CNA_CONV_CON1_NONALIGN_DMA | ORK_CNA_CONV_CON1_ARGB_IN, 0 },
	{ ORK_CNA_CVT_CON0, ORK_CNA_CVT_CON0_CVT_BYPASS, ORK_CNA_CVT_CON0_CVT_BYPASS },
};

/*
 * Of inputs of one unsigned byte a pixel. The converter adds its offset last (CVT_TYPE), rounds in
 * the one way that programs have, and is on in all lanes.
 */
static const struct npu_rule pixels_rules[] = {
	{ ORK_CNA_CONV_CON1, ORK_CNA_CONV_CON1_NONALIGN_DMA | ORK_CNA_CONV_CON1_GROUP_LINE_OFF |
	  ORK_CNA_CONV_CON1_ARGB_IN | ORK_CNA_CONV_CON1_CONV_MODE,
	  ORK_CNA_CONV_CON1_NONALIGN_DMA | ORK_CNA_CONV_CON1_GROUP_LINE_OFF | ONE_CHANNEL << 12 | DIRECT },
	{ ORK_CNA_DATA_SIZE1, 0xffffffff, ORK_ATOM_BYTES },		/* CHANNEL_REAL is stored minus one */
	{ ORK_CNA_CVT_CON0, ORK_CNA_CVT_CON0_CVT_BYPASS | ORK_CNA_CVT_CON0_CVT_TYPE | ORK_CNA_CVT_CON0_ROUND_TYPE |
	  ORK_CNA_CVT_CON0_DATA_SIGN, 0 },
	/* A scale of 0x8000 and more may be negative: not known, and no program has one. */
	{ ORK_CNA_CVT_CON1, 0x80000000, 0 },
	{ ORK_CNA_CVT_CON5, 0xffffffff, 0xffff },
};

/* --- plan ------------------------------------------------------------------------------------- */

static const struct npu_operands *find_operands(const struct npu_regs *regs)
{
	uint32_t precision = NPU_FIELD(regs, CNA_CONV_CON1, IN_PRECISION);

	if (NPU_FIELD(regs, CNA_CONV_CON1, PROC_PRECISION) != precision ||
	    NPU_FIELD(regs, CORE_MISC_CFG, PROC_PRECISION) != precision)
		return NULL;
	for (size_t i = 0; i < NPU_ARRAY_SIZE(operands); i++)
		if (operands[i].precision == precision)
			return &operands[i];
	return NULL;
}

static uint64_t memory_bytes(const struct npu_conv *conv, uint64_t elements)
{
	return elements * conv->operands->bits / 8;
}

static uint32_t positions(const struct npu_conv *conv)
{
	return conv->channels * conv->kernel_width * conv->kernel_height;
}

static uint32_t groups(const struct npu_conv *conv)
{
	return conv->out_channels / conv->group_kernels;
}

/* Kernels, or depthwise channels, that there are weights for: in the last group maybe not all. */
static uint32_t present_kernels(const struct npu_conv *conv, uint32_t group)
{
	uint32_t rest = (conv->depthwise ? conv->channels : conv->kernels) - group * conv->group_kernels;

	return rest < conv->group_kernels ? rest : conv->group_kernels;
}

/* Of @kernels kernels, or depthwise channels. */
static uint64_t kernel_bytes(const struct npu_conv *conv, uint32_t kernels)
{
	uint32_t each = conv->depthwise ? conv->kernel_width * conv->kernel_height : positions(conv);

	return memory_bytes(conv, (uint64_t)each * kernels);
}

static uint64_t weight_bytes(const struct npu_conv *conv)
{
	return memory_bytes(conv, (uint64_t)positions(conv) * conv->kernels);
}

static uint32_t round_up(uint32_t value, uint32_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* What goes by groups: kernels, or channels of a depthwise kernel. Outputs always fill theirs. */
static void read_groups(const struct npu_regs *regs, struct npu_conv *conv)
{
	conv->depthwise = NPU_FIELD(regs, CNA_CONV_CON1, CONV_MODE) == DEPTHWISE;
	conv->group_kernels = conv->depthwise ? DEPTHWISE_CHANNELS : conv->operands->kernels;
	conv->out_channels = round_up(conv->depthwise ? conv->channels : conv->kernels, conv->group_kernels);
}

static void read_pixels(const struct npu_regs *regs, struct npu_conv *conv)
{
	conv->pixels = NPU_FIELD(regs, CNA_CONV_CON1, NONALIGN_DMA);
	conv->converter = (struct npu_pixel_converter) {
		.scale = NPU_FIELD(regs, CNA_CVT_CON1, CVT_SCALE0),
		.shift = NPU_FIELD(regs, CNA_CVT_CON0, CVT_TRUNCATE_0),
		.offset = (int16_t)NPU_FIELD(regs, CNA_CVT_CON1, CVT_OFFSET0),
	};
}

static void read_geometry(const struct npu_regs *regs, uint32_t dma_base, struct npu_conv *conv)
{
	uint32_t surface = NPU_FIELD(regs, CNA_DMA_CON2, SURF_STRIDE);
	const uint32_t negative = (ORK_CNA_DMA_CON2_SURF_STRIDE + 1u) / 2;

	*conv = (struct npu_conv) {
		.operands = find_operands(regs),
		.feature = npu_reg(regs, ORK_CNA_FEATURE_DATA_ADDR) + dma_base,
		.weights = npu_reg(regs, ORK_CNA_DCOMP_ADDR0) + dma_base,
		.width = NPU_FIELD(regs, CNA_DATA_SIZE0, DATAIN_WIDTH),
		.height = NPU_FIELD(regs, CNA_DATA_SIZE0, DATAIN_HEIGHT),
		/* Not CHANNEL_REAL, which boards' programs set to 63 for 256 channels. */
		.channels = NPU_FIELD(regs, CNA_DATA_SIZE1, DATAIN_CHANNEL),
		.group_lines = !NPU_FIELD(regs, CNA_CONV_CON1, GROUP_LINE_OFF),
		.line = NPU_FIELD(regs, CNA_DMA_CON1, LINE_STRIDE),
		.surface = (surface ^ negative) - negative,
		.kernel_width = NPU_FIELD(regs, CNA_WEIGHT_SIZE2, WEIGHT_WIDTH),
		.kernel_height = NPU_FIELD(regs, CNA_WEIGHT_SIZE2, WEIGHT_HEIGHT),
		.kernels = NPU_FIELD(regs, CNA_WEIGHT_SIZE2, WEIGHT_KERNELS),
		.stride_x = NPU_FIELD(regs, CNA_CONV_CON3, CONV_X_STRIDE),
		.stride_y = NPU_FIELD(regs, CNA_CONV_CON3, CONV_Y_STRIDE),
		.pad_left = NPU_FIELD(regs, CNA_PAD_CON0, PAD_LEFT),
		.pad_top = NPU_FIELD(regs, CNA_PAD_CON0, PAD_TOP),
		.out_width = NPU_FIELD(regs, CORE_DATAOUT_SIZE_0, DATAOUT_WIDTH) + 1,
		.out_height = NPU_FIELD(regs, CORE_DATAOUT_SIZE_0, DATAOUT_HEIGHT) + 1,
		.banks = npu_reg(regs, ORK_CNA_CBUF_CON0) &
			 (ORK_CNA_CBUF_CON0_WEIGHT_BANK | ORK_CNA_CBUF_CON0_DATA_BANK),
		.data_banks = NPU_FIELD(regs, CNA_CBUF_CON0, DATA_BANK),
		.weight_banks = NPU_FIELD(regs, CNA_CBUF_CON0, WEIGHT_BANK),
		.reuse_weights = NPU_FIELD(regs, CNA_CBUF_CON0, WEIGHT_REUSE),
		.pad = (int8_t)npu_reg(regs, ORK_CNA_PAD_CON1),
		.sums_features = NPU_FIELD(regs, CORE_MISC_CFG, QD_EN),
	};
	read_pixels(regs, conv);
	if (conv->operands)
		read_groups(regs, conv);
}

/*
 * The pad value is one int8 for all channels. Programs write it sign-extended, or twice as an int16
 * that is (vendor facts 4.6: 0xffffff80 and 0xffff8080, 0x0b and 0x0b0b); what two different bytes
 * would do is not known.
 */
static bool pad_is_known(const struct npu_regs *regs, const struct npu_conv *conv)
{
	uint32_t value = npu_reg(regs, ORK_CNA_PAD_CON1);
	int16_t twice = (value & 0xff) << 8 | (value & 0xff);

	if (!npu_conv_is(conv, ORK_PRECISION_INT8))
		return !value;
	return value == (uint32_t)conv->pad || value == (uint32_t)twice;
}

/* One pixel lies in one lane of four, which one is not known: all convert alike. */
static bool lanes_agree(const struct npu_regs *regs)
{
	uint32_t lane = npu_reg(regs, ORK_CNA_CVT_CON1), shift = NPU_FIELD(regs, CNA_CVT_CON0, CVT_TRUNCATE_0);

	return npu_reg(regs, ORK_CNA_CVT_CON2) == lane && npu_reg(regs, ORK_CNA_CVT_CON3) == lane &&
	       npu_reg(regs, ORK_CNA_CVT_CON4) == lane && NPU_FIELD(regs, CNA_CVT_CON0, CVT_TRUNCATE_1) == shift &&
	       NPU_FIELD(regs, CNA_CVT_CON0, CVT_TRUNCATE_2) == shift &&
	       NPU_FIELD(regs, CNA_CVT_CON0, CVT_TRUNCATE_3) == shift;
}

/* Depthwise kernels and inputs in pixels are known of int8. */
static bool modes_are_known(const struct npu_regs *regs, const struct npu_conv *conv)
{
	uint32_t mode = NPU_FIELD(regs, CNA_CONV_CON1, CONV_MODE);

	if ((mode != DIRECT && mode != DEPTHWISE) || NPU_FIELD(regs, CORE_MISC_CFG, DW_EN) != conv->depthwise)
		return false;
	if ((conv->depthwise || conv->pixels) && !npu_conv_is(conv, ORK_PRECISION_INT8))
		return false;
	if (conv->pixels)
		return npu_rules_hold(regs, pixels_rules, NPU_ARRAY_SIZE(pixels_rules)) && lanes_agree(regs);
	return npu_rules_hold(regs, channels_rules, NPU_ARRAY_SIZE(channels_rules));
}

/*
 * A line in pixels is stored wider than it is where it has less than sixteen (vendor facts 4.4 and
 * 5.5). What is stored is computed with.
 */
static bool width_agrees(const struct npu_regs *regs, const struct npu_conv *conv)
{
	uint32_t width = NPU_FIELD(regs, CNA_FC_DATA_SIZE0, DMA_WIDTH);

	return conv->pixels ? width && width <= conv->width : width == conv->width;
}

/* Sizes that several registers state must agree, or one block would wait for another for ever. */
static bool sizes_agree(const struct npu_regs *regs, const struct npu_conv *conv)
{
	return width_agrees(regs, conv) &&
	       NPU_FIELD(regs, CNA_FC_DATA_SIZE0, DMA_HEIGHT) == conv->height &&
	       NPU_FIELD(regs, CNA_FC_DATA_SIZE1, DMA_CHANNEL) == conv->channels &&
	       NPU_FIELD(regs, CNA_DATA_SIZE2, DATAOUT_WIDTH) == conv->out_width &&
	       NPU_FIELD(regs, CNA_DATA_SIZE3, DATAOUT_ATOMICS) == conv->out_width * conv->out_height &&
	       NPU_FIELD(regs, CORE_DATAOUT_SIZE_1, DATAOUT_CHANNEL) + 1 == conv->out_channels &&
	       NPU_FIELD(regs, CNA_WEIGHT_SIZE1, WEIGHT_BYTES_PER_KERNEL) == memory_bytes(conv, positions(conv)) &&
	       npu_reg(regs, ORK_CNA_WEIGHT_SIZE0) == weight_bytes(conv);
}

/*
 * Layouts of parts of a channel tile or of a kernel group are known of int8 (vendor facts 4.7), of
 * kernels in pairs; those of int4 are known for 1x1 kernels alone.
 */
static bool channels_are_whole(const struct npu_conv *conv)
{
	if (conv->depthwise)
		return conv->channels % INT8_CHANNELS == 0 && conv->kernels == 1;
	if (npu_conv_is(conv, ORK_PRECISION_INT8))
		return conv->channels % INT8_CHANNELS == 0 && conv->kernels % 2 == 0;
	return conv->channels % CHANNEL_TILE == 0 && conv->kernels % conv->group_kernels == 0;
}

static bool sizes_are_whole(const struct npu_conv *conv)
{
	return conv->width && conv->height && conv->channels && conv->kernel_width && conv->kernel_height &&
	       conv->kernels && channels_are_whole(conv) &&
	       (!npu_conv_is(conv, ORK_PRECISION_INT4) || conv->kernel_width * conv->kernel_height == 1) &&
	       conv->out_channels <= NPU_MAX_KERNELS &&
	       (conv->depthwise || positions(conv) <= NPU_MAX_POSITIONS) && conv->stride_x && conv->stride_y &&
	       (conv->feature | conv->weights) % ORK_ATOM_BYTES == 0;
}

/*
 * Lines in pixels may lie anywhere, but not beyond the last address. Their surface is as long as all
 * but one of its lines (vendor facts 3.6), of which a program may read some: one that states fewer
 * than it reads contradicts itself. (Mesa's for one channel in and one out do.)
 */
static bool lines_are_known(const struct npu_conv *conv)
{
	uint64_t lines = (uint64_t)(conv->height - 1) * conv->line;

	if (!conv->pixels)
		return true;
	return conv->feature + lines + conv->width - 1 <= UINT32_MAX && (int32_t)conv->surface >= 0 &&
	       conv->surface >= lines;
}

/* Padding right and below is what the output's size implies, but no output lies in padding alone. */
static bool output_meets_input(const struct npu_conv *conv)
{
	return (conv->out_width - 1) * conv->stride_x < conv->width + conv->pad_left &&
	       (conv->out_height - 1) * conv->stride_y < conv->height + conv->pad_top &&
	       conv->pad_left < conv->kernel_width && conv->pad_top < conv->kernel_height;
}

static enum npu_hang check_weights(const struct npu_conv *conv, const struct npu_cbuf *cbuf)
{
	uint64_t room = conv->weight_banks * ORK_CBUF_BANK_BYTES;
	uint64_t need = conv->depthwise ? weight_bytes(conv) : kernel_bytes(conv, present_kernels(conv, 0));

	/*
	 * ork-driver facts 3.9: the weight law, and its narrow case. Depthwise weights are one kernel
	 * to the registers, so all of them must fit.
	 */
	if (need > room)
		return NPU_HANG_WEIGHT_BANKS;
	if (need == room && conv->kernels <= conv->operands->narrow)
		return NPU_HANG_WEIGHT_BANKS;
	/* What is to be used again must still be there, whole. */
	if (conv->reuse_weights && (cbuf->kept_bytes != weight_bytes(conv) || cbuf->kept_banks != conv->banks))
		return NPU_HANG_UNSUPPORTED;
	return NPU_OK;
}

/*
 * Of an int4 batch the rows are the first lines of groups of four, and the other three lines, an
 * atom further each, are of no use. So read the programs of ork-driver facts 3.4 by the addresses of
 * vendor facts 3.6; and row j comes out as pixel 4j (ork-driver facts 4.3), which only looks like
 * every other row.
 */
static bool is_batch(const struct npu_conv *conv)
{
	return npu_conv_is(conv, ORK_PRECISION_INT4) && conv->group_lines && conv->width == 1 &&
	       npu_feature_step(conv) == 1;
}

/*
 * Of the last group of a batch the lines of no use need not fit. (They do fit the model's buffer,
 * batches being short.)
 */
static uint32_t buffered_lines(const struct npu_conv *conv)
{
	return is_batch(conv) ? (conv->height - 1) / 4 * 4 + 1 : conv->height;
}

/*
 * H(K) of ork-driver facts 3.9, above which boards go wrong in silence, or never start. The data law
 * gives the same for one data bank and the lines that count, but more for K = 3584 and most K that
 * are not in the table: no program was seen to use that.
 */
static uint32_t batch_rows(uint32_t channels)
{
	static const struct {
		uint32_t channels, rows;
	} caps[] = {
		{ 256, 64 }, { 512, 32 }, { 768, 22 }, { 1024, 16 }, { 1536, 11 }, { 2048, 8 }, { 2560, 7 },
		{ 3584, 4 }, { 4096, 4 }, { 5120, 3 }, { 6144, 3 }, { 8192, 2 },
	};

	for (size_t i = 0; i < NPU_ARRAY_SIZE(caps); i++)
		if (caps[i].channels == channels)
			return caps[i].rows;
	return 12288 / channels;
}

/*
 * DATA_ENTRIES is the room for one row in the buffer; ork-driver facts 3.9: the data law. A bank has
 * 32 KiB for int4 too: what that project calls one weight bank of 65,536 bytes (C28) is two.
 *
 * Of inputs in pixels DATA_ENTRIES is the number of pixels (vendor facts 4.4 and 5.5), which does not
 * even fit its field in programs that are made in parts: it is not looked at. They take an atom each,
 * as the bank split of 4.5 has it.
 */
static enum npu_hang check_data(const struct npu_regs *regs, const struct npu_conv *conv)
{
	uint64_t row = (uint64_t)NPU_FIELD(regs, CNA_CBUF_CON1, DATA_ENTRIES) * ORK_CBUF_ENTRY_BYTES;
	uint64_t need = memory_bytes(conv, (uint64_t)conv->width * conv->channels);

	if (conv->pixels)
		row = need;
	if (row < need || row * buffered_lines(conv) > conv->data_banks * ORK_CBUF_BANK_BYTES)
		return NPU_HANG_DATA_BANKS;
	if (is_batch(conv) && (conv->height + 3) / 4 > batch_rows(conv->channels))
		return NPU_HANG_DATA_BANKS;
	return NPU_OK;
}

enum npu_hang npu_conv_plan(const struct npu_regs *regs, const struct npu_cbuf *cbuf, uint32_t dma_base,
			    struct npu_conv *conv)
{
	enum npu_hang hang;

	read_geometry(regs, dma_base, conv);
	if (!conv->operands || !npu_rules_hold(regs, rules, NPU_ARRAY_SIZE(rules)) || !modes_are_known(regs, conv) ||
	    !pad_is_known(regs, conv) || !sizes_are_whole(conv) || !sizes_agree(regs, conv) ||
	    !output_meets_input(conv) || !lines_are_known(conv))
		return NPU_HANG_UNSUPPORTED;
	if (!conv->data_banks || !conv->weight_banks || conv->data_banks + conv->weight_banks > ORK_CBUF_BANKS)
		return NPU_HANG_BANKS;
	hang = check_weights(conv, cbuf);
	return hang ? hang : check_data(regs, conv);
}

uint64_t npu_conv_macs(const struct npu_conv *conv)
{
	return (uint64_t)conv->out_width * conv->out_height * conv->kernels * positions(conv);
}

/* --- weights ---------------------------------------------------------------------------------- */

WIDEST static void unpack_fp16(const uint16_t *from, float *to)
{
	float rows[FP16_KERNELS][CHANNEL_TILE];

	for (uint32_t kernel = 0; kernel < FP16_KERNELS; kernel++)
		for (uint32_t i = 0; i < CHANNEL_TILE; i++)
			rows[kernel][i] = npu_half_to_float(from[kernel * CHANNEL_TILE + i]);
	for (uint32_t i = 0; i < CHANNEL_TILE; i++)
		for (uint32_t kernel = 0; kernel < FP16_KERNELS; kernel++)
			to[i * FP16_KERNELS + kernel] = rows[kernel][i];
}

static inline void unpack_int8(const int8_t *from, uint32_t kernels, uint32_t channels, uint32_t depth, int16_t *to)
{
	for (uint32_t kernel = 0; kernel < kernels; kernel++)
		for (uint32_t i = 0; i < channels; i++)
			to[kernel * depth + i] = from[kernel * channels + i];
}

/* The last channel tile may have sixteen channels; the tiles before it are whole. */
static void unpack_group_int8(const struct npu_conv *conv, struct npu_cbuf *cbuf, const int8_t *from, uint32_t kernels)
{
	uint32_t depth = positions(conv), area = conv->kernel_width * conv->kernel_height, base = 0;
	uint32_t whole = conv->channels / CHANNEL_TILE * CHANNEL_TILE * area;
	int16_t *to = (int16_t *)cbuf->group;

	/* By constants: products of few rows spend their time here. */
	if (kernels == INT8_KERNELS)
		for (; base < whole; base += CHANNEL_TILE)
			unpack_int8(from + base * INT8_KERNELS, INT8_KERNELS, CHANNEL_TILE, depth, to + base);
	for (; base < whole; base += CHANNEL_TILE)
		unpack_int8(from + base * kernels, kernels, CHANNEL_TILE, depth, to + base);
	for (; base < depth; base += INT8_CHANNELS)
		unpack_int8(from + base * kernels, kernels, INT8_CHANNELS, depth, to + base);
}

static void unpack_int4_tile(const unsigned char *from, uint32_t depth, int8_t *to)
{
	for (uint32_t kernel = 0; kernel < INT4_KERNELS; kernel++, from += CHANNEL_TILE / 2)
		npu_unpack_int4(from, CHANNEL_TILE, to + kernel * depth);
}

/* In memory: [channel tile][position of the kernel][kernel of the group][channel of the tile]. */
static void unpack_group(const struct npu_conv *conv, struct npu_cbuf *cbuf, const void *from, uint32_t group)
{
	uint32_t depth = positions(conv), kernels = conv->group_kernels;

	if (conv->depthwise) {
		npu_depthwise_unpack(conv, cbuf, from, present_kernels(conv, group));
		return;
	}
	if (npu_conv_is(conv, ORK_PRECISION_INT8)) {
		unpack_group_int8(conv, cbuf, from, present_kernels(conv, group));
		return;
	}
	for (uint32_t base = 0; base < depth; base += CHANNEL_TILE)
		if (npu_conv_is(conv, ORK_PRECISION_INT4))
			unpack_int4_tile((const unsigned char *)from + base * kernels / 2, depth,
					 (int8_t *)cbuf->group + base);
		else
			unpack_fp16((const uint16_t *)from + base * kernels, (float *)cbuf->group + base * kernels);
}

static bool load_group(const struct npu_conv *conv, struct npu_dma *dma, struct npu_cbuf *cbuf, uint32_t group)
{
	bool whole = weight_bytes(conv) <= conv->weight_banks * ORK_CBUF_BANK_BYTES;
	uint32_t at = kernel_bytes(conv, group * conv->group_kernels);
	uint32_t len = kernel_bytes(conv, present_kernels(conv, group));
	unsigned char *raw = cbuf->weights + (whole ? at : 0);

	if (!conv->reuse_weights) {
		cbuf->kept_bytes = 0;
		if (npu_dma_read(dma, NPU_BLOCK_WEIGHT, conv->weights + at, raw, len) < 0)
			return false;
		if (whole && group + 1 == groups(conv)) {
			cbuf->kept_bytes = weight_bytes(conv);
			cbuf->kept_banks = conv->banks;
		}
	}
	unpack_group(conv, cbuf, raw, group);
	return true;
}

/* --- products --------------------------------------------------------------------------------- */

/* Half a kernel group: wider vectors than the machine has do not stay in registers. */
typedef float lanes __attribute__((vector_size(FP16_KERNELS / 2 * sizeof(float))));

/*
 * A core does 512 multiplications a cycle, 32 channels of 16 kernels, so the 32 are summed before
 * they join the accumulator. One running sum over all channels would err more than boards do: at
 * most (2e-7 * sqrt(K / 1024) + 2e-7) of the sum of magnitudes (measured by the ork-driver
 * project). Every addition rounds; the products are exact.
 */
WIDEST static void multiply_fp16(const void *const rows[NPU_PASS_PIXELS], const unsigned char *group, size_t depth,
				 uint32_t *sums)
{
	lanes total[NPU_PASS_PIXELS][2] = { 0 };

	for (size_t tile = 0; tile < depth; tile += CHANNEL_TILE) {
		const float *a = (const float *)rows[0] + tile, *b = (const float *)rows[1] + tile;
		const float *c = (const float *)rows[2] + tile, *d = (const float *)rows[3] + tile;
		const lanes *weights = (const lanes *)group + 2 * tile;
		lanes a0 = { 0 }, a1 = { 0 }, b0 = { 0 }, b1 = { 0 };
		lanes c0 = { 0 }, c1 = { 0 }, d0 = { 0 }, d1 = { 0 };

		for (size_t i = 0; i < CHANNEL_TILE; i++) {
			const lanes w0 = weights[2 * i], w1 = weights[2 * i + 1];

			a0 += w0 * a[i];
			a1 += w1 * a[i];
			b0 += w0 * b[i];
			b1 += w1 * b[i];
			c0 += w0 * c[i];
			c1 += w1 * c[i];
			d0 += w0 * d[i];
			d1 += w1 * d[i];
		}
		total[0][0] += a0;
		total[0][1] += a1;
		total[1][0] += b0;
		total[1][1] += b1;
		total[2][0] += c0;
		total[2][1] += c1;
		total[3][0] += d0;
		total[3][1] += d1;
	}
	memcpy(sums, total, sizeof(total));
}

/* Below 2^17 positions (NPU_MAX_POSITIONS) a sum of products of at most 2^14 cannot overflow. */
WIDEST static int32_t dot(const int16_t *row, const int16_t *kernel, size_t depth)
{
	int32_t sum = 0;

	for (size_t i = 0; i < depth; i++)
		sum += row[i] * kernel[i];
	return sum;
}

/* Of kernels that a group lacks sums are 0. */
static void multiply_int8(const void *const rows[NPU_PASS_PIXELS], const unsigned char *group, size_t depth,
			  uint32_t present, uint32_t *sums)
{
	const int16_t *kernels = (const int16_t *)group;

	for (uint32_t pixel = 0; pixel < NPU_PASS_PIXELS; pixel++)
		for (uint32_t kernel = 0; kernel < INT8_KERNELS; kernel++)
			*sums++ = kernel < present ? dot(rows[pixel], kernels + kernel * depth, depth) : 0;
}

/*
 * Sums of int4 are 16 bits wide and saturate; whether at every step or at the output is not
 * established (ork-driver facts 3.6). Here it is every step, the 32 channels of 64 kernels that a
 * core multiplies in a cycle (vendor facts 3.10): a sum that leaves the range on its way and comes
 * back is then wrong, and a caller who bounds only the last one finds out.
 */
WIDEST static int32_t saturating_dot(const int8_t *row, const int8_t *kernel, size_t depth)
{
	int32_t total = 0;

	for (size_t tile = 0; tile < depth; tile += CHANNEL_TILE) {
		for (size_t i = tile; i < tile + CHANNEL_TILE; i++)
			total += row[i] * kernel[i];
		total = total > INT16_MAX ? INT16_MAX : total < INT16_MIN ? INT16_MIN : total;
	}
	return total;
}

static void multiply_int4(const void *const rows[NPU_PASS_PIXELS], const unsigned char *group, size_t depth,
			  uint32_t *sums)
{
	const int8_t *kernels = (const int8_t *)group;

	for (uint32_t pixel = 0; pixel < NPU_PASS_PIXELS; pixel++)
		for (uint32_t kernel = 0; kernel < INT4_KERNELS; kernel++)
			*sums++ = saturating_dot(rows[pixel], kernels + kernel * depth, depth);
}

static void pad(const struct npu_conv *conv, void *to, size_t bytes)
{
	int16_t *at = to;

	if (!conv->pad) {
		memset(to, 0, bytes);
		return;
	}
	for (size_t i = 0; i < bytes / sizeof(*at); i++)
		at[i] = conv->pad;
}

/* The activations that output pixel @pixel is made of, in the order of the weights. */
static const void *gather(const struct npu_conv *conv, struct npu_cbuf *cbuf, uint32_t pixel, uint32_t slot)
{
	const size_t element = NPU_UNPACKED * conv->operands->bits / 8;
	uint32_t x0 = pixel % conv->out_width * conv->stride_x - conv->pad_left;
	uint32_t y0 = pixel / conv->out_width * conv->stride_y - conv->pad_top;
	unsigned char *to = cbuf->patch[slot];
	size_t tile;

	if (conv->kernel_width * conv->kernel_height == 1)
		return cbuf->feature + (size_t)(y0 * conv->width + x0) * conv->channels * element;
	for (uint32_t channel = 0; channel < conv->channels; channel += CHANNEL_TILE) {
		tile = (conv->channels - channel < CHANNEL_TILE ? conv->channels - channel : CHANNEL_TILE) * element;
		for (uint32_t y = y0; y != y0 + conv->kernel_height; y++)
			for (uint32_t x = x0; x != x0 + conv->kernel_width; x++, to += tile) {
				size_t at = ((size_t)(y * conv->width + x) * conv->channels + channel) * element;

				if (npu_conv_inside(conv, x, y))
					memcpy(to, cbuf->feature + at, tile);
				else
					pad(conv, to, tile);
			}
	}
	return cbuf->patch[slot];
}

/* For the OW stage: the same for all kernels. */
static void sum_features(const struct npu_conv *conv, const int16_t *row, int32_t *quantity)
{
	int32_t sum = 0;

	for (uint32_t i = 0; i < positions(conv); i++)
		sum += row[i];
	for (uint32_t kernel = 0; kernel < conv->group_kernels; kernel++)
		quantity[kernel] = sum;
}

/*
 * A pass over fewer pixels than NPU_PASS_PIXELS repeats its last one; the tile has room, as it
 * holds whole passes.
 */
static void multiply_tile(const struct npu_conv *conv, struct npu_cbuf *cbuf, const struct npu_tile *tile,
			  bool with_features)
{
	const void *rows[NPU_PASS_PIXELS];

	if (conv->depthwise) {
		npu_depthwise_multiply(conv, cbuf, tile);
		return;
	}
	for (uint32_t pixel = 0; pixel < tile->pixels; pixel += NPU_PASS_PIXELS) {
		uint32_t *sums = cbuf->tile + pixel * tile->kernels;

		for (uint32_t i = 0; i < NPU_PASS_PIXELS; i++)
			rows[i] = pixel + i < tile->pixels ?
				  gather(conv, cbuf, tile->first + pixel + i, i) : rows[i - 1];
		for (uint32_t i = 0; with_features && i < NPU_PASS_PIXELS; i++)
			sum_features(conv, rows[i], cbuf->quantity + (pixel + i) * tile->kernels);
		if (npu_conv_is(conv, ORK_PRECISION_INT4))
			multiply_int4(rows, cbuf->group, positions(conv), sums);
		else if (npu_conv_is(conv, ORK_PRECISION_INT8))
			multiply_int8(rows, cbuf->group, positions(conv), present_kernels(conv, tile->group), sums);
		else
			multiply_fp16(rows, cbuf->group, positions(conv), sums);
	}
}

/* One kernel group: all pixels of its surfaces. */
static bool run_group(const struct npu_conv *conv, const struct npu_output *output, struct npu_dma *dma,
		      struct npu_cbuf *cbuf, uint32_t group, uint8_t flip)
{
	uint32_t pixels = conv->out_width * conv->out_height;

	for (uint32_t first = 0; first < pixels; first += NPU_TILE_PIXELS) {
		struct npu_tile tile = {
			.sums = cbuf->tile,
			.group = group,
			.kernels = conv->group_kernels,
			.first = first,
			.pixels = pixels - first < NPU_TILE_PIXELS ? pixels - first : NPU_TILE_PIXELS,
		};

		multiply_tile(conv, cbuf, &tile, output->stages.ow);
		if (output->stages.any && !npu_stages_apply(&output->stages, dma, cbuf, &tile))
			return false;
		if (!npu_dpu_write(output, dma, &tile, flip))
			return false;
	}
	return true;
}

bool npu_conv_run(const struct npu_conv *conv, const struct npu_output *output, struct npu_dma *dma,
		  struct npu_cbuf *cbuf, bool spoil)
{
	const struct npu_rdma *rdma = &output->stages.rdma;
	int stale = npu_feature_fetch(conv, dma, cbuf);
	uint8_t flip = spoil && stale > 0 ? 0xff : 0;

	if (stale < 0 || (rdma->bias && !npu_rdma_read_bias(rdma, dma, cbuf, conv->out_channels)))
		return false;
	for (uint32_t group = 0; group < groups(conv); group++)
		if (!load_group(conv, dma, cbuf, group) || !run_group(conv, output, dma, cbuf, group, flip))
			return false;
	return true;
}

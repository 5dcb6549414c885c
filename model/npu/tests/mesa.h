/* SPDX-License-Identifier: MIT */
/*
 * Quantised convolutions as Mesa's rocket driver makes them: layouts of tensors, division into
 * tasks, programs. From the documents, number by number; nothing here knows what a program gives.
 */
#ifndef MESA_H
#define MESA_H

#include "rig.h"

/* Where the first program lies. */
#define PROGRAM		0x00400000u

static inline uint32_t aligned(uint32_t value, uint32_t to)
{
	return (value + to - 1) / to * to;
}

static inline uint32_t ceiled(uint32_t value, uint32_t by)
{
	return (value + by - 1) / by;
}

/* --- convolutions ----------------------------------------------------------------------------- */

struct geometry {
	uint32_t h, w, c;		/* of the input */
	uint32_t kh, kw, kernels;
	uint32_t stride_y, stride_x, pad_top, pad_left;
	uint32_t oh, ow;
	bool depthwise;
};

static inline size_t pixel(const struct geometry *g, uint32_t y, uint32_t x)
{
	return ((size_t)y * g->w + x) * g->c;
}

/* Of kernel @kernel at @ky, @kx: its first channel. */
static inline size_t tap(const struct geometry *g, uint32_t kernel, uint32_t ky, uint32_t kx)
{
	if (g->depthwise)
		return ((size_t)ky * g->kw + kx) * g->c;
	return (((size_t)kernel * g->kh + ky) * g->kw + kx) * g->c;
}

/* OUT_CVT's or EW's converter: scale, shift, and how ties go. */
struct converter {
	uint32_t scale, shift;
	bool half_up;
	int32_t offset;
};

/*
 * Tensors are uint8, [y][x][channel]; weights are [kernel][y][x][channel], depthwise ones
 * [y][x][channel].
 */
struct mesa {
	struct geometry g;
	uint32_t in_zp, weight_zp, out_zp, operand_zp;
	bool truncate, add;
	struct converter out, operand;
	uint8_t *input, *weights, *added;
	int32_t *bias;

	uint32_t feature, packed, biases, addend, output;	/* IOVAs */
	struct slice {
		uint32_t top, rows, pad_top, out_top, out_rows;
	} slices[32];
	uint32_t tasks, data_banks;
	bool reuse;
	bool one_kick;						/* of all tasks */
};

/* One channel lies in memory as a picture does, not in surfaces (vendor facts 4.4). */
static inline bool is_pixels(const struct mesa *m)
{
	return m->g.c == 1;
}

static inline uint32_t channels_padded(const struct mesa *m)
{
	return aligned(m->g.c, 16);
}

static inline uint32_t outputs_padded(const struct mesa *m)
{
	if (m->g.depthwise)
		return aligned(m->g.kernels, 64);
	return aligned(m->g.kernels, 32);
}

/* --- layouts (vendor facts 4.7) --------------------------------------------------------------- */

static inline size_t weights_of(const struct geometry *g)
{
	return (size_t)g->kh * g->kw * g->c * (g->depthwise ? 1 : g->kernels);
}

/* What the stored domain, 128 below the tensor's, adds to every sum of @kernel. */
static inline int64_t correction(const struct mesa *m, uint32_t kernel)
{
	const struct geometry *g = &m->g;
	int64_t sum = 0;

	for (uint32_t ky = 0; ky < g->kh; ky++)
		for (uint32_t kx = 0; kx < g->kw; kx++)
			for (uint32_t c = 0; c < (g->depthwise ? 1 : g->c); c++) {
				size_t at = tap(g, kernel, ky, kx) + (g->depthwise ? kernel : c);

				sum += ((int64_t)m->weights[at] - m->weight_zp) * ((int64_t)m->in_zp - 128);
			}
	return sum;
}

static inline int64_t stored_bias(const struct mesa *m, uint32_t kernel)
{
	return (m->bias[kernel] - correction(m, kernel)) / (m->truncate ? 2 : 1);
}

/* Of a tensor: surfaces of 16 channels, pixels in rows; stored 128 below, and twice as large as need be. */
static inline void put_tensor(struct rig *rig, uint32_t iova, const uint8_t *values, uint32_t pixels, uint32_t channels,
		       uint32_t zp)
{
	size_t len = (size_t)pixels * aligned(channels, 16);
	uint8_t *raw = rig_alloc(len, 2);

	memset(raw, (uint8_t)(zp - 128), len);
	for (uint32_t i = 0; i < pixels; i++)
		for (uint32_t c = 0; c < channels; c++)
			raw[((size_t)c / 16 * pixels + i) * 16 + c % 16] = *values++ - 128;
	for (size_t i = len; i < 2 * len; i++)
		raw[i] = rig_random();
	rig_put(rig, iova, raw, 2 * len);
	free(raw);
}

static inline uint32_t pixel_row(const struct mesa *m)
{
	return m->g.w < 16 ? 16 : m->g.w;
}

/* Of one channel: as it is, in rows of 16 at least. */
static inline void put_pixels(struct rig *rig, const struct mesa *m)
{
	uint8_t *raw = rig_alloc(m->g.h, pixel_row(m));

	for (uint32_t y = 0; y < m->g.h; y++)
		for (uint32_t x = 0; x < pixel_row(m); x++)
			raw[y * pixel_row(m) + x] = x < m->g.w ? m->input[y * m->g.w + x] : m->in_zp;
	rig_put(rig, m->feature, raw, (size_t)m->g.h * pixel_row(m));
	free(raw);
}

/*
 * Appends the channels of one kernel at one place, of one tile: as many as the program tells, which
 * is what Mesa packs of most counts. (Where there is but one tile, and not full, it stops at the
 * last real channel: 17 to 31 are packed more narrowly than they are told. A program does not do
 * both.)
 */
static inline size_t pack_channels(const struct mesa *m, uint8_t *to, const uint8_t *from, uint32_t first,
				   uint32_t tile)
{
	uint32_t end = first + tile < channels_padded(m) ? first + tile : channels_padded(m);

	for (uint32_t c = first; c < end; c++)
		*to++ = (from ? c < m->g.c ? from[c] : m->weight_zp : 128) - 128;
	return end - first;
}

/* [kernel / 32][channel / 32][y][x][kernel % 32][channel % 32], with a kernel of zeros after an odd count. */
static inline size_t pack_weights(const struct mesa *m, uint8_t *to)
{
	const struct geometry *g = &m->g;
	uint32_t kernels = aligned(g->kernels, 2);
	size_t n = 0;

	for (uint32_t group = 0; group < kernels; group += 32)
		for (uint32_t first = 0; first < g->c; first += 32)
			for (uint32_t place = 0; place < g->kh * g->kw; place++)
				for (uint32_t i = group; i < kernels && i < group + 32; i++) {
					const uint8_t *from = m->weights + tap(g, i, place / g->kw, place % g->kw);

					n += pack_channels(m, to + n, i < g->kernels ? from : NULL, first, 32);
				}
	return n;
}

/* [channel / 64][y][x][channel % 64] */
static inline size_t pack_depthwise(const struct mesa *m, uint8_t *to)
{
	const struct geometry *g = &m->g;
	size_t n = 0;

	for (uint32_t first = 0; first < g->c; first += 64)
		for (uint32_t place = 0; place < g->kh * g->kw; place++)
			n += pack_channels(m, to + n, m->weights + (size_t)place * g->c, first, 64);
	return n;
}

static inline size_t packed_bytes(const struct mesa *m)
{
	return (size_t)m->g.kh * m->g.kw * channels_padded(m) *
	       (m->g.depthwise ? 1 : aligned(m->g.kernels, 2));
}

static inline void put_weights(struct rig *rig, const struct mesa *m)
{
	uint8_t *raw = rig_alloc(packed_bytes(m), 2);
	size_t n = m->g.depthwise ? pack_depthwise(m, raw) : pack_weights(m, raw);

	if (n != packed_bytes(m)) {
		fprintf(stderr, "%zu bytes of weights packed, and %zu told\n", n, packed_bytes(m));
		exit(EXIT_FAILURE);
	}
	for (size_t i = n; i < 2 * n; i++)
		raw[i] = rig_random();
	rig_put(rig, m->packed, raw, 2 * n);
	free(raw);
}

static inline void put_biases(struct rig *rig, const struct mesa *m)
{
	int32_t *raw = rig_alloc(outputs_padded(m), sizeof(*raw));

	for (uint32_t kernel = 0; kernel < outputs_padded(m); kernel++)
		raw[kernel] = kernel < m->g.kernels ? (int32_t)stored_bias(m, kernel) : (int32_t)rig_random();
	rig_put(rig, m->biases, raw, outputs_padded(m) * sizeof(*raw));
	free(raw);
}

/* --- division into tasks (vendor facts 4.5) --------------------------------------------------- */

static inline uint32_t row_entries(const struct mesa *m)
{
	uint32_t atoms = ceiled(m->g.c, 16), rest = atoms % 8;

	return atoms / 8 * m->g.w + (rest == 3 ? m->g.w : ceiled(rest * m->g.w, 8));
}

static inline uint32_t weight_banks(const struct mesa *m)
{
	return ceiled(ceiled(weights_of(&m->g), 128), 256) + 1;
}

/* The next task's rows from output row @out_top on. False if they give no output. */
static inline bool next_slice(const struct mesa *m, struct slice *s, uint32_t out_top, uint32_t most)
{
	const struct geometry *g = &m->g;
	uint32_t above = out_top * g->stride_y, bottom;

	*s = (struct slice) { .out_top = out_top };
	s->top = above > g->pad_top ? above - g->pad_top : 0;
	s->pad_top = above > g->pad_top ? 0 : g->pad_top - above;
	bottom = s->top + most < g->h ? s->top + most : g->h;
	s->rows = bottom - s->top;
	if (bottom == g->h)
		s->out_rows = g->oh - out_top;
	else if (s->rows + s->pad_top >= g->kh)
		s->out_rows = (s->rows + s->pad_top - g->kh) / g->stride_y + 1;
	return s->out_rows && s->rows;
}

static inline bool slice_up(struct mesa *m)
{
	uint32_t banks = ceiled(row_entries(m) * m->g.h, 256), available, out = 0;

	m->reuse = weight_banks(m) + 1 < 12;
	available = m->reuse ? 12 - weight_banks(m) : 7;
	m->data_banks = banks <= available ? banks : available;
	for (m->tasks = 0; out < m->g.oh; m->tasks++) {
		struct slice *s = &m->slices[m->tasks];

		if (m->tasks == sizeof(m->slices) / sizeof(m->slices[0]) ||
		    !next_slice(m, s, out, 256 * m->data_banks / row_entries(m)))
			return false;
		out += s->out_rows;
	}
	return true;
}

/* --- programs (vendor facts 4.4 and 4.6) ------------------------------------------------------ */

#define MESA_WORDS	130u
#define MESA_STRIDE	1088u

static inline void cna(struct rig_program *p, uint32_t reg, uint32_t value)
{
	rig_word(p, ORK_TARGET_CNA, reg, value);
}

static inline void dpu(struct rig_program *p, uint32_t reg, uint32_t value)
{
	rig_word(p, ORK_TARGET_DPU, reg, value);
}

static inline void rdma(struct rig_program *p, uint32_t reg, uint32_t value)
{
	rig_word(p, ORK_TARGET_RDMA, reg, value);
}

static inline void zeros(struct rig_program *p, uint32_t target, uint32_t first, uint32_t last)
{
	for (uint32_t reg = first; reg <= last; reg += 4)
		rig_word(p, target, reg, 0);
}

static inline uint32_t bank_word(const struct mesa *m, const struct slice *s)
{
	return (12 - m->data_banks) << 4 | m->data_banks |
	       (m->reuse && s != m->slices ? ORK_CNA_CBUF_CON0_WEIGHT_REUSE : 0);
}

static inline void mesa_modes(struct rig_program *p, const struct mesa *m, const struct slice *s)
{
	uint32_t mode = is_pixels(m) ? 0x60008000 : 0;

	mode |= m->g.depthwise ? 3 : 0;
	cna(p, ORK_CNA_CBUF_CON0, bank_word(m, s));
	cna(p, ORK_CNA_DCOMP_REGNUM, 0);
	cna(p, ORK_CNA_DCOMP_CTRL, 0);
	cna(p, ORK_CNA_CONV_CON1, mode);
	dpu(p, ORK_DPU_S_POINTER, 0xe);
	rdma(p, ORK_RDMA_S_POINTER, 0xe);
	cna(p, ORK_CNA_CONV_CON1, mode);
	cna(p, ORK_CNA_CONV_CON2, (50 + m->g.stride_x + 1) << 4);
	cna(p, ORK_CNA_CONV_CON3, m->g.stride_x | m->g.stride_y << 3);
}

static inline uint32_t data_entries(const struct mesa *m, const struct slice *s)
{
	if (is_pixels(m))
		return pixel_row(m) * s->rows;
	if (m->g.w == 40 && m->g.c == 40)
		return 40;
	return ceiled(m->g.w * 2 * ceiled(m->g.c, 16), 8);
}

static inline void mesa_sizes(struct rig_program *p, const struct mesa *m, const struct slice *s)
{
	const struct geometry *g = &m->g;
	uint32_t kernels = g->depthwise ? 1 : aligned(g->kernels, 2);
	uint32_t each = g->kw * g->kh * channels_padded(m);

	cna(p, ORK_CNA_DATA_SIZE0, (is_pixels(m) ? pixel_row(m) : g->w) << 16 | s->rows);
	cna(p, ORK_CNA_DATA_SIZE1, (g->c - 1) << 16 | channels_padded(m));
	cna(p, ORK_CNA_DATA_SIZE2, g->ow);
	cna(p, ORK_CNA_DATA_SIZE3, g->ow * s->out_rows);
	cna(p, ORK_CNA_WEIGHT_SIZE0, each * kernels);
	cna(p, ORK_CNA_WEIGHT_SIZE1, each);
	cna(p, ORK_CNA_WEIGHT_SIZE2, g->kw << 24 | g->kh << 16 | kernels);
	cna(p, ORK_CNA_CBUF_CON0, bank_word(m, s));
	cna(p, ORK_CNA_CBUF_CON1, data_entries(m, s));
}

/* One channel is unsigned in memory: times 2^14, shifted by 14, less 128. */
static inline void mesa_input_converter(struct rig_program *p, const struct mesa *m)
{
	uint32_t lane = is_pixels(m) ? 16384u << 16 | 65408 : 1u << 16;

	cna(p, ORK_CNA_CVT_CON0, is_pixels(m) ? 14u << 22 | 14u << 16 | 14u << 10 | 14u << 4 : 0xb);
	cna(p, ORK_CNA_CVT_CON1, lane);
	cna(p, ORK_CNA_CVT_CON2, lane);
	cna(p, ORK_CNA_CVT_CON3, lane);
	cna(p, ORK_CNA_CVT_CON4, lane);
}

/* The several spellings of a pad value of eight bits. */
static inline uint32_t pad_value(const struct mesa *m)
{
	if (m->add && !m->in_zp)
		return 0xffffff80;
	if (m->g.kw >= 3 && !m->in_zp)
		return 0xffff8080;
	if (m->g.depthwise && m->in_zp == 0x8b)
		return 0x0b0b;
	return m->in_zp - 0x80;
}

static inline void mesa_input(struct rig_program *p, const struct mesa *m, const struct slice *s)
{
	const struct geometry *g = &m->g;
	uint32_t row = is_pixels(m) ? pixel_row(m) : 16 * g->w;
	uint32_t surface = is_pixels(m) ? row * (g->h - 1) : g->w * g->h - 4 * g->w;

	zeros(p, ORK_TARGET_CNA, ORK_CNA_FC_CON0, ORK_CNA_FC_CON1);
	cna(p, ORK_CNA_PAD_CON0, g->pad_left << 4 | s->pad_top);
	cna(p, ORK_CNA_FEATURE_DATA_ADDR, m->feature + row * s->top);
	cna(p, ORK_CNA_FC_CON2, 0);
	cna(p, ORK_CNA_DMA_CON0, 0x000f000f);
	cna(p, ORK_CNA_DMA_CON1, is_pixels(m) ? row : 4 * g->w);
	cna(p, ORK_CNA_DMA_CON2, surface & 0x0fffffff);
	cna(p, ORK_CNA_FC_DATA_SIZE0, g->w << 16 | s->rows);
	cna(p, ORK_CNA_FC_DATA_SIZE1, channels_padded(m));
	cna(p, ORK_CNA_DCOMP_CTRL, 0);
	cna(p, ORK_CNA_DCOMP_REGNUM, 0);
	cna(p, ORK_CNA_DCOMP_ADDR0, m->packed);
	zeros(p, ORK_TARGET_CNA, ORK_CNA_DCOMP_AMOUNT0, ORK_CNA_DCOMP_AMOUNT15);
	cna(p, ORK_CNA_CVT_CON5, is_pixels(m) ? 0xffff : 0);
	cna(p, ORK_CNA_PAD_CON1, pad_value(m));
}

static inline void mesa_core(struct rig_program *p, const struct mesa *m, const struct slice *s)
{
	rig_word(p, ORK_TARGET_CORE, ORK_CORE_MISC_CFG, 1 | (m->g.depthwise ? 2 : 0));
	rig_word(p, ORK_TARGET_CORE, ORK_CORE_DATAOUT_SIZE_0, (s->out_rows - 1) << 16 | (m->g.ow - 1));
	rig_word(p, ORK_TARGET_CORE, ORK_CORE_DATAOUT_SIZE_1, outputs_padded(m) - 1);
	rig_word(p, ORK_TARGET_CORE, ORK_CORE_CLIP_TRUNCATE, m->truncate);
	rig_word(p, ORK_TARGET_CORE, 0x3030, 0);
}

static inline void mesa_stages(struct rig_program *p, const struct mesa *m)
{
	dpu(p, ORK_DPU_BS_CFG, 0x20150);
	zeros(p, ORK_TARGET_DPU, ORK_DPU_BS_ALU_CFG, ORK_DPU_BS_RELUX_CMP_VALUE);
	dpu(p, ORK_DPU_BS_OW_CFG, m->g.depthwise ? 0x36c : 0x124);
	dpu(p, ORK_DPU_BS_OW_OP, (0x80 - m->weight_zp) & 0xffff);
}

static inline void mesa_element_wise(struct rig_program *p, const struct mesa *m)
{
	dpu(p, ORK_DPU_BN_CFG, 0x53);
	zeros(p, ORK_TARGET_DPU, ORK_DPU_BN_ALU_CFG, ORK_DPU_BN_RELUX_CMP_VALUE);
	dpu(p, ORK_DPU_EW_CFG, m->add ? ORK_DPU_EW_CFG_EW_CVT_TYPE | ORK_PREP(ORK_DPU_EW_CFG_EW_DATA_MODE, 1) |
	    ORK_PREP(ORK_DPU_EW_CFG_EDATA_SIZE, 1) | ORK_PREP(ORK_DPU_EW_CFG_EW_ALU_ALGO, 2) |
	    ORK_DPU_EW_CFG_EW_RELU_BYPASS | ORK_DPU_EW_CFG_EW_LUT_BYPASS | ORK_DPU_EW_CFG_EW_OP_SRC : 0x383);
	dpu(p, ORK_DPU_EW_CVT_OFFSET_VALUE, m->add ? 0x80 - m->operand_zp : 0);
	dpu(p, ORK_DPU_EW_CVT_SCALE_VALUE, m->add ? m->operand.shift << 16 | m->operand.scale : 1);
	dpu(p, ORK_DPU_EW_RELUX_CMP_VALUE, 0);
}

static inline void mesa_dpu(struct rig_program *p, const struct mesa *m, const struct slice *s)
{
	uint32_t area = m->g.ow * m->g.oh;

	dpu(p, ORK_DPU_FEATURE_MODE_CFG, m->g.depthwise ? 0x1fc : 0x1e4);
	dpu(p, ORK_DPU_DATA_FORMAT, 0);
	dpu(p, ORK_DPU_OFFSET_PEND, 0);
	dpu(p, ORK_DPU_DST_BASE_ADDR, m->output + 16 * m->g.ow * s->out_top);
	dpu(p, ORK_DPU_DST_SURF_STRIDE, area << 4);
	dpu(p, ORK_DPU_DATA_CUBE_WIDTH, m->g.ow - 1);
	dpu(p, ORK_DPU_DATA_CUBE_HEIGHT, s->out_rows - 1);
	dpu(p, ORK_DPU_DATA_CUBE_NOTCH_ADDR, 0);
	dpu(p, ORK_DPU_DATA_CUBE_CHANNEL, (m->g.kernels - 1) << 16 | (outputs_padded(m) - 1));
	mesa_stages(p, m);
	dpu(p, ORK_DPU_WDMA_SIZE_0, outputs_padded(m) - 1);
	dpu(p, ORK_DPU_WDMA_SIZE_1, (s->out_rows - 1) << 16 | (m->g.ow - 1));
	mesa_element_wise(p, m);
	dpu(p, ORK_DPU_OUT_CVT_OFFSET, (uint32_t)m->out.offset);
	dpu(p, ORK_DPU_OUT_CVT_SCALE, m->out.scale);
	dpu(p, ORK_DPU_OUT_CVT_SHIFT, m->out.shift | (uint32_t)m->out.half_up << 30);
	zeros(p, ORK_TARGET_DPU, ORK_DPU_EW_OP_VALUE_0, ORK_DPU_EW_OP_VALUE_7);
	dpu(p, ORK_DPU_SURFACE_ADD, (area * (m->g.depthwise ? 4 : 2)) << 4);
	dpu(p, 0x40c4, 0);
	zeros(p, ORK_TARGET_DPU, ORK_DPU_LUT_ACCESS_CFG, ORK_DPU_LUT_INFO);
	zeros(p, ORK_TARGET_DPU, ORK_DPU_LUT_LE_START, ORK_DPU_LUT_LO_SLOPE_SHIFT);
}

/*
 * The operand of an addition comes through two readers: one has the even surfaces, one the odd ones.
 * Each is told the way from the end of its part of a surface to its next one.
 */
static inline void mesa_rdma(struct rig_program *p, const struct mesa *m, const struct slice *s)
{
	uint32_t area = m->g.ow * m->g.oh, from = m->addend + 16 * m->g.ow * s->out_top;
	uint32_t notch = area + m->g.ow * (m->g.oh - s->out_rows), mode = 15u << 11 | (m->g.depthwise ? 3u << 1 : 0);

	rdma(p, ORK_RDMA_DATA_CUBE_WIDTH, m->g.ow - 1);
	rdma(p, ORK_RDMA_DATA_CUBE_HEIGHT, s->out_rows - 1);
	rdma(p, ORK_RDMA_DATA_CUBE_CHANNEL, outputs_padded(m) - 1);
	rdma(p, ORK_RDMA_SRC_BASE_ADDR, m->add ? from : 0);
	rdma(p, ORK_RDMA_BRDMA_CFG, 1u << 1);
	rdma(p, ORK_RDMA_BS_BASE_ADDR, m->biases);
	rdma(p, ORK_RDMA_NRDMA_CFG, 0);
	rdma(p, ORK_RDMA_BN_BASE_ADDR, 0);
	rdma(p, ORK_RDMA_ERDMA_CFG, m->add ? 1u << 30 | 1u << 2 : 1);
	rdma(p, ORK_RDMA_EW_BASE_ADDR, m->add ? from + 16 * area : 0);
	rdma(p, ORK_RDMA_EW_SURF_STRIDE, m->add ? area << 4 : 0);
	rdma(p, ORK_RDMA_FEATURE_MODE_CFG, mode | (m->add ? 5u << 8 : 1u << 4));
	rdma(p, ORK_RDMA_SRC_DMA_CFG, 0);
	rdma(p, ORK_RDMA_SURF_NOTCH, m->add ? notch << 4 : 0);
	rdma(p, ORK_RDMA_PAD_CFG, 0);
	rdma(p, ORK_RDMA_WEIGHT, 0x01010101);
	rdma(p, ORK_RDMA_EW_SURF_NOTCH, m->add ? notch << 4 : 0);
}

/* A program, linked to the one behind it unless it is the last. */
static inline struct rig_program mesa_program(const struct mesa *m, uint32_t task)
{
	const struct slice *s = &m->slices[task];
	struct rig_program p = { 0 };

	mesa_modes(&p, m, s);
	mesa_sizes(&p, m, s);
	mesa_input_converter(&p, m);
	mesa_input(&p, m, s);
	mesa_core(&p, m, s);
	mesa_dpu(&p, m, s);
	mesa_rdma(&p, m, s);
	if (m->tasks == 1)
		rig_word(&p, 0, 0, 0);
	else
		rig_word(&p, ORK_TARGET_PC, ORK_PC_BASE_ADDRESS,
			 task + 1 < m->tasks ? PROGRAM + (task + 1) * MESA_STRIDE : 0);
	rig_word(&p, ORK_TARGET_PC, ORK_PC_REGISTER_AMOUNTS, task + 1 < m->tasks ? 64 : 0);
	rig_word(&p, ORK_TARGET_SYNC, 0, 0);
	rig_word(&p, ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE, 0x1d);
	if (p.count != MESA_WORDS) {
		fprintf(stderr, "a program of %u words, not %u\n", p.count, MESA_WORDS);
		exit(EXIT_FAILURE);
	}
	return p;
}

#endif

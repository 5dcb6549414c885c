// SPDX-License-Identifier: MIT
/*
 * DPU_RDMA as Mesa's convolutions use it: a bias for every channel, and the other operand of a
 * fused addition for every channel of every pixel, of the same layout as the output.
 */
#include "core.h"

/* BRDMA_DATA_USE: the operand of BS's ALU, and no other one (vendor facts 2.5). */
#define USE_ALU		1u
/* COMB_USE: one read, shared (bit 0), and for ERDMA (bit 2). */
#define COMB_ADDENDS	5u

/* Anything else in these bits is a mode that the model does not know; on a board it may work, or hang. */
static const struct npu_rule rules[] = {
	{ ORK_RDMA_DATA_CUBE_HEIGHT, ORK_RDMA_DATA_CUBE_HEIGHT_EW_LINE_NOTCH_ADDR, 0 },
	{ ORK_RDMA_NRDMA_CFG, ORK_RDMA_NRDMA_CFG_NRDMA_DATA_USE, 0 },
	/* int8 in and out, not flying. */
	{ ORK_RDMA_FEATURE_MODE_CFG, ORK_RDMA_FEATURE_MODE_CFG_IN_PRECISION |
	  ORK_RDMA_FEATURE_MODE_CFG_PROC_PRECISION | ORK_RDMA_FEATURE_MODE_CFG_MRDMA_FP16TOFP32_EN |
	  ORK_RDMA_FEATURE_MODE_CFG_FLYING_MODE, 0 },
	/* No notch after a line, no un-pooling. */
	{ ORK_RDMA_SRC_DMA_CFG, 0xffffffff, 0 },
	{ ORK_RDMA_PAD_CFG, 0xffffffff, 0 },
};

#define ERDMA_MODES	(ORK_RDMA_ERDMA_CFG_ERDMA_DATA_MODE | ORK_RDMA_ERDMA_CFG_ERDMA_SURF_MODE | \
			 ORK_RDMA_ERDMA_CFG_ERDMA_NONALIGN | ORK_RDMA_ERDMA_CFG_ERDMA_DATA_SIZE | \
			 ORK_RDMA_ERDMA_CFG_OV4K_BYPASS | ORK_RDMA_ERDMA_CFG_ERDMA_DISABLE)
#define COMB_MODES	(ORK_RDMA_FEATURE_MODE_CFG_COMB_USE | ORK_RDMA_FEATURE_MODE_CFG_MRDMA_DISABLE)

/* MRDMA and ERDMA both off. */
static const struct npu_rule without_addends[] = {
	{ ORK_RDMA_ERDMA_CFG, ORK_RDMA_ERDMA_CFG_ERDMA_DISABLE, ORK_RDMA_ERDMA_CFG_ERDMA_DISABLE },
	{ ORK_RDMA_FEATURE_MODE_CFG, COMB_MODES, ORK_RDMA_FEATURE_MODE_CFG_MRDMA_DISABLE },
};

/* Both on, for the sake of ERDMA: one for every pixel (mode 1), of 8 bits (size 1). */
static const struct npu_rule with_addends[] = {
	{ ORK_RDMA_ERDMA_CFG, ERDMA_MODES, 1u << 30 | 1u << 2 },
	{ ORK_RDMA_FEATURE_MODE_CFG, COMB_MODES, COMB_ADDENDS << 8 },
};

/* The blocks wait for each other's pixels, so each must be told the same. */
static bool sizes_agree(const struct npu_regs *regs, const struct npu_conv *conv)
{
	return NPU_FIELD(regs, RDMA_DATA_CUBE_WIDTH, WIDTH) + 1 == conv->out_width &&
	       NPU_FIELD(regs, RDMA_DATA_CUBE_HEIGHT, HEIGHT) + 1 == conv->out_height &&
	       NPU_FIELD(regs, RDMA_DATA_CUBE_CHANNEL, CHANNEL) + 1 == conv->out_channels &&
	       NPU_FIELD(regs, RDMA_FEATURE_MODE_CFG, CONV_MODE) == NPU_FIELD(regs, CNA_CONV_CON1, CONV_MODE);
}

/*
 * The only reading of Mesa's numbers (vendor facts 4.6) under which they all fit: MRDMA reads
 * surfaces 0, 2, 4 and ERDMA 1, 3, 5, each from its own base, and a surface's notch leads from its
 * end over the one that the other reads. The surface stride, the bases' distance and the notches must
 * say the same (Mesa's do not where an image has less than twelve pixels); where there are but two
 * surfaces, nothing is stepped over, and only the bases matter.
 */
static enum npu_hang plan_addends(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base,
				  struct npu_rdma *rdma)
{
	uint32_t notch = npu_reg(regs, ORK_RDMA_SURF_NOTCH) & ORK_RDMA_SURF_NOTCH_SURF_NOTCH_ADDR;
	uint32_t other = npu_reg(regs, ORK_RDMA_EW_SURF_NOTCH) & ORK_RDMA_EW_SURF_NOTCH_EW_SURF_NOTCH;
	uint32_t stride = npu_reg(regs, ORK_RDMA_EW_SURF_STRIDE) & ORK_RDMA_EW_SURF_STRIDE_EW_SURF_STRIDE;

	rdma->even = npu_reg(regs, ORK_RDMA_SRC_BASE_ADDR) + dma_base;
	rdma->odd = npu_reg(regs, ORK_RDMA_EW_BASE_ADDR) + dma_base;
	rdma->step = ORK_ATOM_BYTES * conv->out_width * conv->out_height + notch;
	if ((rdma->even | rdma->odd) % ORK_ATOM_BYTES || notch != other)
		return NPU_HANG_UNSUPPORTED;
	if (conv->out_channels > 2 * ORK_ATOM_BYTES &&
	    (rdma->step != 2 * stride || rdma->odd - rdma->even != stride))
		return NPU_HANG_UNSUPPORTED;
	return NPU_OK;
}

enum npu_hang npu_rdma_plan(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base,
			    struct npu_rdma *rdma)
{
	uint32_t use = NPU_FIELD(regs, RDMA_BRDMA_CFG, BRDMA_DATA_USE);

	*rdma = (struct npu_rdma) {
		.bias = use == USE_ALU,
		.addends = npu_rules_hold(regs, with_addends, NPU_ARRAY_SIZE(with_addends)),
		.bias_base = npu_reg(regs, ORK_RDMA_BS_BASE_ADDR) + dma_base,
	};
	if (!npu_rules_hold(regs, rules, NPU_ARRAY_SIZE(rules)) || !sizes_agree(regs, conv) ||
	    (use && use != USE_ALU) || (rdma->bias && rdma->bias_base % ORK_ATOM_BYTES))
		return NPU_HANG_UNSUPPORTED;
	if (rdma->addends)
		return plan_addends(regs, conv, dma_base, rdma);
	return npu_rules_hold(regs, without_addends, NPU_ARRAY_SIZE(without_addends)) ? NPU_OK : NPU_HANG_UNSUPPORTED;
}

bool npu_rdma_read_bias(const struct npu_rdma *rdma, struct npu_dma *dma, struct npu_cbuf *cbuf, uint32_t channels)
{
	return npu_dma_read(dma, NPU_BLOCK_RDMA, rdma->bias_base, cbuf->bias, channels * sizeof(cbuf->bias[0])) >= 0;
}

static void spread_atoms(const int8_t *from, const struct npu_tile *tile, int8_t *to)
{
	for (uint32_t pixel = 0; pixel < tile->pixels; pixel++, to += tile->kernels)
		for (uint32_t i = 0; i < ORK_ATOM_BYTES; i++)
			to[i] = *from++;
}

bool npu_rdma_read_addends(const struct npu_rdma *rdma, struct npu_dma *dma, struct npu_cbuf *cbuf,
			   const struct npu_tile *tile)
{
	uint32_t surfaces = tile->kernels / ORK_ATOM_BYTES;
	int8_t raw[NPU_TILE_PIXELS * ORK_ATOM_BYTES];

	for (uint32_t i = 0; i < surfaces; i++) {
		uint32_t surface = tile->group * surfaces + i;
		uint32_t iova = (surface % 2 ? rdma->odd : rdma->even) + surface / 2 * rdma->step +
				tile->first * ORK_ATOM_BYTES;

		if (npu_dma_read(dma, NPU_BLOCK_RDMA, iova, raw, tile->pixels * ORK_ATOM_BYTES) < 0)
			return false;
		spread_atoms(raw, tile, cbuf->addends + i * ORK_ATOM_BYTES);
	}
	return true;
}

// SPDX-License-Identifier: MIT
/*
 * What happens to a sum between the multipliers and the output converter: CORE's shift, and the
 * DPU's OW, BS and EW stages, as Mesa's int8 convolutions use them (vendor facts 4.6 to 4.9).
 *
 * That OW comes before the shift is what makes those programs right: their bias and their output
 * scale are halved where the shift is 1, the OW operand is not. That each stage saturates to 32
 * bits is assumed; no program gets there that does not overflow.
 */
#include "core.h"
#include "fixed.h"

#define BS_MODES	(ORK_DPU_BS_CFG_BS_ALU_ALGO | ORK_DPU_BS_CFG_BS_ALU_SRC | ORK_DPU_BS_CFG_BS_RELUX_EN | \
			 ORK_DPU_BS_CFG_BS_RELU_BYPASS | ORK_DPU_BS_CFG_BS_MUL_PRELU | ORK_DPU_BS_CFG_BS_MUL_BYPASS | \
			 ORK_DPU_BS_CFG_BS_ALU_BYPASS | ORK_DPU_BS_CFG_BS_BYPASS)
/* Adds (algorithm 2) what BRDMA reads. */
#define BS_BIAS		(2u << 16 | ORK_DPU_BS_CFG_BS_ALU_SRC | ORK_DPU_BS_CFG_BS_RELU_BYPASS | \
			 ORK_DPU_BS_CFG_BS_MUL_BYPASS)

#define EW_MODES	(ORK_DPU_EW_CFG_EW_CVT_TYPE | ORK_DPU_EW_CFG_EW_CVT_ROUND | ORK_DPU_EW_CFG_EW_DATA_MODE | \
			 ORK_DPU_EW_CFG_EDATA_SIZE | ORK_DPU_EW_CFG_EW_EQUAL_EN | ORK_DPU_EW_CFG_EW_BINARY_EN | \
			 ORK_DPU_EW_CFG_EW_ALU_ALGO | ORK_DPU_EW_CFG_EW_RELUX_EN | ORK_DPU_EW_CFG_EW_RELU_BYPASS | \
			 ORK_DPU_EW_CFG_EW_OP_CVT_BYPASS | ORK_DPU_EW_CFG_EW_LUT_BYPASS | \
			 ORK_DPU_EW_CFG_EW_OP_SRC | ORK_DPU_EW_CFG_EW_MUL_PRELU | ORK_DPU_EW_CFG_EW_OP_TYPE | \
			 ORK_DPU_EW_CFG_EW_OP_BYPASS | ORK_DPU_EW_CFG_EW_BYPASS)
/*
 * Adds (algorithm 2) what ERDMA reads, one of 8 bits (size 1) for every pixel (mode 1), to which
 * the offset is added before it is scaled (CVT_TYPE).
 */
#define EW_ADDENDS	(ORK_DPU_EW_CFG_EW_CVT_TYPE | 1u << 28 | 1u << 22 | 2u << 16 | \
			 ORK_DPU_EW_CFG_EW_RELU_BYPASS | ORK_DPU_EW_CFG_EW_LUT_BYPASS | ORK_DPU_EW_CFG_EW_OP_SRC)

static const struct npu_rule bias[] = {
	{ ORK_DPU_BS_CFG, BS_MODES, BS_BIAS },
	{ ORK_DPU_DATA_FORMAT, ORK_DPU_DATA_FORMAT_BS_MUL_SHIFT_VALUE_NEG, 0 },
};

static const struct npu_rule no_bias[] = {
	{ ORK_DPU_BS_CFG, ORK_DPU_BS_CFG_BS_BYPASS, ORK_DPU_BS_CFG_BS_BYPASS },
};

static const struct npu_rule addends[] = {
	{ ORK_DPU_EW_CFG, EW_MODES, EW_ADDENDS },
	{ ORK_DPU_EW_CVT_SCALE_VALUE, ORK_DPU_EW_CVT_SCALE_VALUE_EW_TRUNCATE, 0 },
	/* A scale of 0x8000 and more may be negative: not known, and no program has one. */
	{ ORK_DPU_EW_CVT_SCALE_VALUE, 0x8000, 0 },
	{ ORK_DPU_DATA_FORMAT, ORK_DPU_DATA_FORMAT_EW_TRUNCATE_NEG, 0 },
};

static const struct npu_rule no_addends[] = {
	{ ORK_DPU_EW_CFG, ORK_DPU_EW_CFG_EW_BYPASS | ORK_DPU_EW_CFG_EW_LUT_BYPASS,
	  ORK_DPU_EW_CFG_EW_BYPASS | ORK_DPU_EW_CFG_EW_LUT_BYPASS },
};

#define HOLD(regs, rules)	npu_rules_hold(regs, rules, NPU_ARRAY_SIZE(rules))

static int32_t ow_operand(const struct npu_regs *regs)
{
	return NPU_FIELD(regs, DPU_BS_OW_CFG, OD_BYPASS) ? 0 : (int16_t)NPU_FIELD(regs, DPU_BS_OW_OP, OW_OP);
}

/* What DPU_RDMA reads is what the stages take, or one waits for the other. Started, it reads something. */
static enum npu_hang plan_operands(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base,
				   struct npu_stages *stages)
{
	enum npu_hang hang = npu_rdma_plan(regs, conv, dma_base, &stages->rdma);

	if (hang)
		return hang;
	if (!(stages->rdma.bias ? HOLD(regs, bias) : HOLD(regs, no_bias)) ||
	    !(stages->rdma.addends ? HOLD(regs, addends) : HOLD(regs, no_addends)) ||
	    !(stages->rdma.bias || stages->rdma.addends))
		return NPU_HANG_UNSUPPORTED;
	return NPU_OK;
}

enum npu_hang npu_stages_plan(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base, bool rdma,
			      struct npu_stages *stages)
{
	*stages = (struct npu_stages) {
		.ow = ow_operand(regs),
		.truncate = NPU_FIELD(regs, CORE_CLIP_TRUNCATE, CLIP_TRUNCATE),
		.truncate_half_up = NPU_FIELD(regs, CORE_CLIP_TRUNCATE, ROUND_TYPE),
		.addend_offset = (int32_t)npu_reg(regs, ORK_DPU_EW_CVT_OFFSET_VALUE),
		.addend_scale = NPU_FIELD(regs, DPU_EW_CVT_SCALE_VALUE, EW_OP_CVT_SCALE),
		.addend_shift = NPU_FIELD(regs, DPU_EW_CVT_SCALE_VALUE, EW_OP_CVT_SHIFT),
	};
	stages->any = stages->ow || stages->truncate || rdma;
	if (stages->ow && !conv->sums_features)
		return NPU_HANG_UNSUPPORTED;
	if (rdma)
		return plan_operands(regs, conv, dma_base, stages);
	return HOLD(regs, no_bias) && HOLD(regs, no_addends) ? NPU_OK : NPU_HANG_UNSUPPORTED;
}

static int64_t convert_addend(const struct npu_stages *stages, int8_t addend)
{
	int64_t scaled = ((int64_t)addend + stages->addend_offset) * stages->addend_scale;

	return npu_saturate(npu_shift_right(scaled, stages->addend_shift, false), 32);
}

static int32_t apply(const struct npu_stages *stages, int32_t sum, int32_t quantity, int32_t bias, int8_t addend)
{
	int64_t value = npu_saturate(sum + (int64_t)stages->ow * quantity, 32);

	value = npu_shift_right(value, stages->truncate, stages->truncate_half_up);
	if (stages->rdma.bias)
		value = npu_saturate(value + bias, 32);
	if (stages->rdma.addends)
		value = npu_saturate(value + convert_addend(stages, addend), 32);
	return value;
}

bool npu_stages_apply(const struct npu_stages *stages, struct npu_dma *dma, struct npu_cbuf *cbuf,
		      const struct npu_tile *tile)
{
	const int32_t *bias = cbuf->bias + tile->group * tile->kernels;

	if (stages->rdma.addends && !npu_rdma_read_addends(&stages->rdma, dma, cbuf, tile))
		return false;
	for (uint32_t i = 0; i < tile->pixels * tile->kernels; i++)
		cbuf->tile[i] = apply(stages, cbuf->tile[i], cbuf->quantity[i], bias[i % tile->kernels],
				      cbuf->addends[i]);
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of one core: the program controller (core.c), its way to memory (dma.c), the
 * convolution pipeline (feature.c, conv.c, depthwise.c: CNA and CORE) and
 * the output stages (stages.c and dpu.c: DPU, rdma.c: DPU_RDMA).
 *
 * A program is first planned: its registers are checked and turned into a struct npu_conv and a
 * struct npu_output, or into the reason why a board would not finish it. Only then does it touch
 * memory.
 */
#ifndef NPU_CORE_H
#define NPU_CORE_H

#include <stdalign.h>
#include <stdatomic.h>

#include <drm/ork_regs.h>

#include "iommu.h"
#include "npu.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the NPU's memory is little endian, and so must the host be");

#define NPU_ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* --- registers -------------------------------------------------------------------------------- */

#define NPU_BLOCK_SHIFT		12
#define NPU_BLOCK_BYTES		(1u << NPU_BLOCK_SHIFT)

/* The executing register groups, by bits 15:12 of a register's offset; NULL where a block has none. */
struct npu_regs {
	const uint32_t *block[ORK_CORE_WINDOW >> NPU_BLOCK_SHIFT];
};

static inline uint32_t npu_reg(const struct npu_regs *regs, uint32_t offset)
{
	return regs->block[offset >> NPU_BLOCK_SHIFT][(offset & (NPU_BLOCK_BYTES - 1)) / sizeof(uint32_t)];
}

/* NPU_FIELD(regs, CNA_DATA_SIZE0, DATAIN_WIDTH) */
#define NPU_FIELD(regs, reg, field)	ORK_GET(ORK_##reg##_##field, npu_reg(regs, ORK_##reg))

/* What a register's bits must be for the model to know what they do. */
struct npu_rule {
	uint32_t reg, mask, value;
};

bool npu_rules_hold(const struct npu_regs *regs, const struct npu_rule *rules, size_t count);

/* --- memory ----------------------------------------------------------------------------------- */

/*
 * A core's way to memory, for one program. A run that a reset ended (@generation moved on) reads
 * and writes nothing more: its accesses fail without an error.
 */
struct npu_dma {
	int core;
	struct npu_cache *cache;
	struct npu_iommu *iommu;
	const _Atomic uint32_t *generation;
	uint32_t started;	/* the run's generation */
	uint32_t errors;	/* ORK_INT_DMA_*_ERROR of accesses that were not translated or hit no RAM */
	uint64_t bytes_read, bytes_written;
};

/*
 * Stale lines among what was read, -1 if the access failed. Of NPU_BLOCK_WINDOW a failure is no
 * error, and its bytes are not counted: that such reads happen is a suspicion.
 */
int npu_dma_read(struct npu_dma *dma, enum npu_block block, uint32_t iova, void *buf, uint32_t len);
bool npu_dma_write(struct npu_dma *dma, uint32_t iova, const void *buf, uint32_t len);

/* --- convolution buffer ----------------------------------------------------------------------- */

/* Data and weights get at least one bank each, so neither gets more than this. */
#define NPU_CBUF_SHARE		((ORK_CBUF_BANKS - 1) * ORK_CBUF_BANK_BYTES)
/*
 * Elements are kept in the type they are multiplied in (half as float, int8 as int16, int4 as
 * int8), twice as wide as in memory.
 */
#define NPU_UNPACKED		2
/* One kernel group has at least this many kernels, and at most that many. */
#define NPU_MIN_TILE_KERNELS	16
#define NPU_MAX_TILE_KERNELS	64
/*
 * Weights of a kernel. As many as that fit the banks with a group of few kernels, and keep int8 sums
 * within 32 bits; with a whole group only a twelfth of that fits.
 */
#define NPU_MAX_POSITIONS	131008u
/* As many as DATA_CUBE_CHANNEL can say. */
#define NPU_MAX_KERNELS		8192
/*
 * Pixels whose sums are handed to the DPU together, and pixels multiplied in one pass over a kernel
 * group's weights.
 */
#define NPU_TILE_PIXELS		64
#define NPU_PASS_PIXELS		4

#define NPU_COVER_WORD_BYTES	(64ull * ORK_ATOM_BYTES)

/* Of one core; too large for a stack. */
struct npu_cbuf {
	/* Activations: [pixel][channel] */
	alignas(64) unsigned char feature[NPU_UNPACKED * NPU_CBUF_SHARE];
	/*
	 * Weights of the present kernel group: [position][kernel] for floats and depthwise kernels,
	 * [kernel][position] for other integers
	 */
	alignas(64) unsigned char group[NPU_UNPACKED * NPU_CBUF_SHARE];
	/*
	 * Activations of the pixels of a pass, in the order of the weights, where they do not lie
	 * so in @feature
	 */
	alignas(64) unsigned char patch[NPU_PASS_PIXELS][NPU_UNPACKED * NPU_MAX_POSITIONS];
	/* Sums of a tile: [pixel][kernel], bits of float or int32 */
	alignas(64) uint32_t tile[NPU_TILE_PIXELS * NPU_MAX_TILE_KERNELS];
	/* For the stages of the DPU, in the same order: sums of the activations of each sum, and addends */
	int32_t quantity[NPU_TILE_PIXELS * NPU_MAX_TILE_KERNELS];
	int8_t addends[NPU_TILE_PIXELS * NPU_MAX_TILE_KERNELS];
	/* Of all kernels */
	int32_t bias[NPU_MAX_KERNELS];

	/* Weights as in memory: all of them if they fit their banks, else one kernel group */
	alignas(64) unsigned char weights[NPU_CBUF_SHARE];
	uint32_t kept_bytes;		/* of @weights, for WEIGHT_REUSE; 0 if they are not whole */
	uint32_t kept_banks;		/* bank fields of CBUF_CON0 they were fetched with */

	/*
	 * Atoms of the present program's window that were fetched as activations, one bit each;
	 * mostly never touched
	 */
	uint64_t covered[(UINT64_C(1) << 32) / NPU_COVER_WORD_BYTES + 1];
};

/* --- convolution: CNA and CORE ---------------------------------------------------------------- */

/* What the type of the operands decides. */
struct npu_operands {
	uint32_t precision;
	uint32_t bits;			/* of an element in memory */
	uint32_t kernels;		/* of a kernel group */
	uint32_t narrow;		/* kernels up to which weights that fill their banks exactly hang */
	uint32_t macs;			/* a cycle */
};

/* Of unsigned pixels: value * scale / 2^shift, rounded, plus offset. */
struct npu_pixel_converter {
	uint32_t scale, shift;
	int32_t offset;
};

struct npu_conv {
	const struct npu_operands *operands;
	uint32_t feature, weights;			/* IOVAs */
	uint32_t width, height, channels;
	bool group_lines;				/* GROUP_LINE_OFF is 0: lines lie in groups of four */
	bool pixels;					/* one unsigned byte each, not atoms of channels */
	struct npu_pixel_converter converter;		/* of @pixels */
	uint32_t line, surface;				/* strides in atoms, the second one signed */
	uint32_t kernel_width, kernel_height, kernels;
	bool depthwise;					/* channel by channel; @kernels is 1 */
	uint32_t group_kernels;				/* kernels of a whole group; channels of one, if depthwise */
	uint32_t out_channels;				/* in whole groups */
	uint32_t stride_x, stride_y, pad_left, pad_top;
	int16_t pad;					/* what padding is made of */
	uint32_t out_width, out_height;
	uint32_t banks, data_banks, weight_banks;	/* all bank fields, and each */
	bool reuse_weights;
	bool sums_features;				/* QD_EN: the OW stage gets its sums */
};

static inline bool npu_conv_is(const struct npu_conv *conv, uint32_t precision)
{
	return conv->operands->precision == precision;
}

/*
 * Which nibble comes first does not show, as long as features and weights agree: one project has
 * the low one first (ork-driver facts 4.1 and 4.2, and so it is here), another the high one.
 */
static inline void npu_unpack_int4(const unsigned char *from, uint32_t count, int8_t *to)
{
	for (uint32_t i = 0; i < count; i += 2, from++) {
		to[i] = (int8_t)(*from << 4) >> 4;
		to[i + 1] = (int8_t)*from >> 4;
	}
}

static inline bool npu_conv_inside(const struct npu_conv *conv, uint32_t x, uint32_t y)
{
	/* Left of and above the input they have wrapped to large numbers. */
	return x < conv->width && y < conv->height;
}

/* Atoms from one channel atom of a pixel to its next. */
uint32_t npu_feature_step(const struct npu_conv *conv);
/* Fills @cbuf's features. Stale lines among the activations and in their window; -1 if an access failed. */
int npu_feature_fetch(const struct npu_conv *conv, struct npu_dma *dma, struct npu_cbuf *cbuf);

enum npu_hang npu_conv_plan(const struct npu_regs *regs, const struct npu_cbuf *cbuf, uint32_t dma_base,
			    struct npu_conv *conv);
uint64_t npu_conv_macs(const struct npu_conv *conv);

/* Sums of @pixels pixels from pixel @first on, for the @kernels kernels of kernel group @group. */
struct npu_tile {
	const uint32_t *sums;
	uint32_t group, kernels, first, pixels;
};

/*
 * Depthwise kernels of a group of @channels channels, [position][channel] in memory and in
 * @cbuf->group, there in rows of whole groups.
 */
void npu_depthwise_unpack(const struct npu_conv *conv, struct npu_cbuf *cbuf, const void *from, uint32_t channels);
/* Sums of a tile and, for the OW stage, of its activations. */
void npu_depthwise_multiply(const struct npu_conv *conv, struct npu_cbuf *cbuf, const struct npu_tile *tile);

struct npu_output;

/*
 * Reads operands, multiplies, and hands each tile to npu_dpu_write(). With @spoil, stale
 * activations, or stale lines in their window, invert every bit of the result. False if an access
 * failed.
 */
bool npu_conv_run(const struct npu_conv *conv, const struct npu_output *output, struct npu_dma *dma,
		  struct npu_cbuf *cbuf, bool spoil);

/* --- operands of the DPU: DPU_RDMA ------------------------------------------------------------- */

struct npu_rdma {
	bool bias, addends;		/* which of them are read */
	uint32_t bias_base;		/* IOVA: int32 by channel */
	/*
	 * IOVAs of the addends' first two surfaces, bytes from either to the next but one, and from
	 * one to the next
	 */
	uint32_t even, odd, step;
};

enum npu_hang npu_rdma_plan(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base,
			    struct npu_rdma *rdma);
/* Fill @cbuf's bias of all channels, and addends of a tile. False if an access failed. */
bool npu_rdma_read_bias(const struct npu_rdma *rdma, struct npu_dma *dma, struct npu_cbuf *cbuf, uint32_t channels);
bool npu_rdma_read_addends(const struct npu_rdma *rdma, struct npu_dma *dma, struct npu_cbuf *cbuf,
			   const struct npu_tile *tile);

/* --- stages between CORE and the output converter ----------------------------------------------- */

/*
 * In this order, each result saturated to 32 bits: OW adds @ow times the sum of activations, CORE
 * shifts right, BS adds a bias, EW an addend, itself converted: (addend + offset) * scale / 2^shift.
 */
struct npu_stages {
	bool any;
	int32_t ow;
	uint32_t truncate;
	bool truncate_half_up;
	struct npu_rdma rdma;
	int32_t addend_offset;
	uint32_t addend_scale, addend_shift;
};

enum npu_hang npu_stages_plan(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base, bool rdma,
			      struct npu_stages *stages);
/* On @cbuf's sums of a tile. False if an access failed. */
bool npu_stages_apply(const struct npu_stages *stages, struct npu_dma *dma, struct npu_cbuf *cbuf,
		      const struct npu_tile *tile);

/* --- output: DPU ------------------------------------------------------------------------------ */

struct npu_output {
	uint32_t precision;
	uint32_t bytes;			/* of an element */
	uint32_t base;			/* IOVA */
	uint32_t surface;		/* bytes between channel surfaces of one atom */
	uint32_t group;			/* bytes between kernel groups */
	uint32_t width;			/* pixels of a line */
	uint32_t line;			/* atoms between lines */
	/*
	 * OUT_CVT, where it narrows integers: sum * scale / 2^shift, rounded, plus offset. Ties go
	 * to even unless @half_up.
	 */
	uint32_t scale, shift;
	int32_t offset;
	bool half_up;
	uint32_t channels;		/* that are computed: behind them, each is @pend */
	uint8_t pend;
	struct npu_stages stages;
};

/* @rdma: DPU_RDMA is started too. */
enum npu_hang npu_dpu_plan(const struct npu_regs *regs, const struct npu_conv *conv, uint32_t dma_base, bool rdma,
			   struct npu_output *output);
/* @flip is combined with every byte by exclusive or. False if an access failed. */
bool npu_dpu_write(const struct npu_output *output, struct npu_dma *dma, const struct npu_tile *tile, uint8_t flip);

#endif

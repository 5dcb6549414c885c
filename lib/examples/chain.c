// SPDX-License-Identifier: MIT
/*
 * A product by hand: C[4][32] = A[4][32] * B[32][32], of bytes to 32-bit sums, as a chain of two
 * programs with two rows each. drm/ork_regs.h has the registers.
 */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include <drm/ork_regs.h>
#include <ork.h>

#define ROWS	2		/* of a program */
#define COLUMNS	32

/* Where things lie in the object. */
#define A_AT		0
#define B_AT		4096
#define CHAIN_AT	8192
#define C_AT		12288
#define SIZE		16384

static const uint32_t settings[][2] = {
	{ ORK_DPU_S_POINTER, 0xe },			/* register groups take turns */
	{ ORK_CNA_CBUF_CON0, 11 << 4 | 1 },		/* banks of kernels and of data */
	{ ORK_CNA_CONV_CON1, 0x20000000 },		/* int8 */
	{ ORK_CNA_CONV_CON2, (ROWS + 1) << 4 },		/* rows fetched ahead */
	{ ORK_CNA_CONV_CON3, 1 << 3 | 1 },
	{ ORK_CNA_DATA_SIZE0, 1 << 16 | ROWS },		/* an image of 1 by ROWS pixels */
	{ ORK_CNA_DATA_SIZE1, 31 << 16 | 32 },		/* with 32 channels */
	{ ORK_CNA_DATA_SIZE2, 1 },
	{ ORK_CNA_DATA_SIZE3, ROWS },
	{ ORK_CNA_WEIGHT_SIZE0, 32 * COLUMNS },		/* kernels of one pixel, in bytes */
	{ ORK_CNA_WEIGHT_SIZE1, 32 },
	{ ORK_CNA_WEIGHT_SIZE2, 1 << 24 | 1 << 16 | COLUMNS },
	{ ORK_CNA_CBUF_CON1, 1 },
	{ ORK_CNA_CVT_CON0, 0xb },			/* the input is not converted */
	{ ORK_CNA_CVT_CON1, 1 << 16 },
	{ ORK_CNA_CVT_CON2, 1 << 16 },
	{ ORK_CNA_CVT_CON3, 1 << 16 },
	{ ORK_CNA_CVT_CON4, 1 << 16 },
	{ ORK_CNA_DMA_CON0, 15 << 16 | 15 },		/* bursts of 16 beats */
	{ ORK_CNA_DMA_CON1, 32 / 16 },			/* from row to row, in 16 bytes */
	{ ORK_CNA_FC_DATA_SIZE0, 1 << 16 | ROWS },
	{ ORK_CNA_FC_DATA_SIZE1, 32 },
	{ ORK_CORE_MISC_CFG, 1 },
	{ ORK_CORE_DATAOUT_SIZE_0, (ROWS - 1) << 16 },
	{ ORK_CORE_DATAOUT_SIZE_1, COLUMNS - 1 },
	{ ORK_DPU_FEATURE_MODE_CFG, 15 << 5 | 2 << 1 },	/* to memory */
	{ ORK_DPU_DATA_FORMAT, 4u << 29 },		/* as int32 */
	{ ORK_DPU_DST_SURF_STRIDE, 16 },
	{ ORK_DPU_DATA_CUBE_HEIGHT, ROWS - 1 },
	{ ORK_DPU_DATA_CUBE_NOTCH_ADDR, 7 << 16 | 7 },	/* to the next row, in 16 bytes */
	{ ORK_DPU_DATA_CUBE_CHANNEL, (COLUMNS - 1) << 16 | (COLUMNS - 1) },
	{ ORK_DPU_BS_CFG, 0x53 },			/* all stages are passed by */
	{ ORK_DPU_BS_OW_CFG, 7 << 8 | 7 << 5 | 7 << 2 },
	{ ORK_DPU_WDMA_SIZE_0, COLUMNS - 1 },
	{ ORK_DPU_WDMA_SIZE_1, (ROWS - 1) << 16 },
	{ ORK_DPU_BN_CFG, 0x53 },
	{ ORK_DPU_EW_CFG, 0x383 },
	{ ORK_DPU_EW_CVT_SCALE_VALUE, 1 },
	{ ORK_DPU_OUT_CVT_SCALE, 1 },
	{ ORK_DPU_SURFACE_ADD, 8 * 16 },
};

/* The others of these blocks, from the first to the last of a pair: zero. */
static const uint32_t zeros[][2] = {
	{ ORK_CNA_FC_CON0, ORK_CNA_PAD_CON0 }, { ORK_CNA_FC_CON2, ORK_CNA_FC_CON2 },
	{ ORK_CNA_DMA_CON2, ORK_CNA_DMA_CON2 }, { ORK_CNA_DCOMP_CTRL, ORK_CNA_DCOMP_REGNUM },
	{ ORK_CNA_DCOMP_AMOUNT0, ORK_CNA_PAD_CON1 },
	{ ORK_CORE_CLIP_TRUNCATE, ORK_CORE_CLIP_TRUNCATE }, { 0x3030, 0x3030 },
	{ ORK_DPU_OFFSET_PEND, ORK_DPU_OFFSET_PEND },
	{ ORK_DPU_DATA_CUBE_WIDTH, ORK_DPU_DATA_CUBE_WIDTH },
	{ ORK_DPU_BS_ALU_CFG, ORK_DPU_BS_RELUX_CMP_VALUE }, { ORK_DPU_BS_OW_OP, ORK_DPU_BS_OW_OP },
	{ ORK_DPU_BN_ALU_CFG, ORK_DPU_BN_RELUX_CMP_VALUE },
	{ ORK_DPU_EW_CVT_OFFSET_VALUE, ORK_DPU_EW_CVT_OFFSET_VALUE },
	{ ORK_DPU_EW_RELUX_CMP_VALUE, ORK_DPU_OUT_CVT_OFFSET },
	{ ORK_DPU_OUT_CVT_SHIFT, ORK_DPU_OUT_CVT_SHIFT },
	{ ORK_DPU_EW_OP_VALUE_0, ORK_DPU_EW_OP_VALUE_7 }, { 0x40c4, 0x40c4 },
	{ ORK_DPU_LUT_ACCESS_CFG, ORK_DPU_LUT_LO_SLOPE_SHIFT },
};

static int put_program(struct ork_chain *chain, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t i, reg;

	ork_chain_begin(chain);
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		ork_chain_set(chain, settings[i][0], settings[i][1]);
	for (i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++)
		for (reg = zeros[i][0]; reg <= zeros[i][1]; reg += 4)
			ork_chain_set(chain, reg, 0);
	ork_chain_set(chain, ORK_CNA_FEATURE_DATA_ADDR, a);
	ork_chain_set(chain, ORK_CNA_DCOMP_ADDR0, b);
	ork_chain_set(chain, ORK_DPU_DST_BASE_ADDR, c);
	return ork_chain_end(chain, ORK_ENABLE_CNA | ORK_ENABLE_CORE | ORK_ENABLE_DPU);
}

static void build(struct ork_bo *bo, struct drm_ork_task *task)
{
	uint32_t a = ork_bo_iova(bo) + A_AT, b = ork_bo_iova(bo) + B_AT, c = ork_bo_iova(bo) + C_AT;
	struct ork_chain chain;

	if (ork_chain_init(&chain, bo, CHAIN_AT, C_AT - CHAIN_AT) ||
	    put_program(&chain, a, b, c) ||
	    put_program(&chain, a + ROWS * 32, b, c + ROWS * COLUMNS * 4) ||
	    ork_chain_task(&chain, task))
		errx(1, "the chain has no room, or no such register");
}

/* One job, which reads all that lies before C; its end is a fence in a syncobj. */
static void run(struct ork *ork, struct ork_bo *bo, const struct drm_ork_task *task)
{
	struct drm_ork_extent extents[] = {
		{ .handle = ork_bo_handle(bo), .flags = DRM_ORK_EXTENT_READ, .length = C_AT },
		{ .handle = ork_bo_handle(bo), .flags = DRM_ORK_EXTENT_WRITE, .offset = C_AT,
		  .length = 2 * ROWS * COLUMNS * 4 },
	};
	struct drm_ork_job job = {
		.tasks = { (uintptr_t)task, 1, sizeof(*task) },
		.extents = { (uintptr_t)extents, 2, sizeof(extents[0]) },
	};
	struct drm_ork_sync done = { .handle = 0 };
	struct drm_ork_submit submit = {
		.jobs = { (uintptr_t)&job, 1, sizeof(job) },
		.out_syncs = { (uintptr_t)&done, 1, sizeof(done) },
	};
	struct pollfd end = { .events = POLLIN };
	int ret;

	if (ork_syncobj_create(ork, &done.handle) || ork_submit(ork, &submit))
		errx(1, "%s", ork_error(ork));
	/* For an event loop, or another process. The model has no such descriptors. */
	ret = ork_syncobj_export(ork, done.handle, &end.fd);
	if (!ret && (poll(&end, 1, -1) != 1 || close(end.fd)))
		err(1, "the descriptor of the end");
	if (ret && ret != -EOPNOTSUPP)
		errx(1, "%s", ork_error(ork));
	if (ork_wait(ork, done.handle, 0, INT64_MAX, NULL))
		errx(1, "%s", ork_error(ork));
	ork_syncobj_destroy(ork, done.handle);
}

static void fill(int8_t *a, int8_t *b)
{
	int i;

	for (i = 0; i < 2 * ROWS * 32; i++)
		a[i] = (int8_t)(i * 37);
	for (i = 0; i < 32 * COLUMNS; i++)
		b[i] = (int8_t)(i * 101 + i / 32);
}

/* A kernel, which is a column of B, lies there as a row. */
static void check(const int8_t *a, const int8_t *b, const int32_t *c)
{
	int i, k;

	for (i = 0; i < 2 * ROWS * COLUMNS; i++) {
		int64_t sum = 0;

		for (k = 0; k < 32; k++)
			sum += a[i / COLUMNS * 32 + k] * b[i % COLUMNS * 32 + k];
		if (c[i] != sum)
			errx(1, "C[%d][%d] is %d, not %lld", i / COLUMNS, i % COLUMNS, c[i],
			     (long long)sum);
	}
}

int main(void)
{
	struct drm_ork_task task;
	struct ork_bo *bo;
	struct ork *ork;
	char *data;

	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_bo_create(ork, SIZE, 0, &bo))
		errx(1, "%s", ork_error(ork));
	data = ork_bo_data(bo);
	fill((int8_t *)data + A_AT, (int8_t *)data + B_AT);
	build(bo, &task);
	run(ork, bo, &task);
	check((int8_t *)data + A_AT, (int8_t *)data + B_AT, (int32_t *)(data + C_AT));
	ork_bo_destroy(bo);
	ork_close(ork);
	return 0;
}

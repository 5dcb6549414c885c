/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites that talk to the kernel share: ioctls that return 0 or a negative errno, buffer
 * objects, extents, and products of int8 matrices that are small enough to be written out here, so
 * that no library stands between test and kernel.
 */
#ifndef ORK_TEST_H
#define ORK_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <drm/ork_drm.h>
#include <drm/ork_regs.h>
#include <kselftest_harness.h>

/* A bound against hanging too: the harness's own is for quick machines. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	120

#define ARRAY_LENGTH(array)	(sizeof(array) / sizeof((array)[0]))
#define SECOND			1000000000ll
/* A bound against hanging, not a measure: what takes a moment takes longer on a busy machine. */
#define PATIENCE		(120 * SECOND)

/* A whole address space on the device ends here: the registers that hold addresses have 32 bits. */
#define IOVA_LIMIT		(1ull << 32)
#define PAGE			4096u
#define LINE			64u

static inline int write_text(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	int error = file < 0 || write(file, text, strlen(text)) < 0 ? -errno : 0;

	if (file >= 0)
		close(file);
	return error;
}

/* --- ioctls ----------------------------------------------------------------------------------- */

static inline int call(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument) ? -errno : 0;
}

static inline bool is_ork(int fd)
{
	char name[8] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return !call(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "ork");
}

/* A new open file of the first of @nodes that is @ours, or -ENODEV. They are freed. */
static inline int open_first(glob_t *nodes, bool (*ours)(int fd))
{
	int fd = -ENODEV;

	for (size_t i = 0; i < nodes->gl_pathc; i++) {
		fd = open(nodes->gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (fd >= 0 && ours(fd))
			break;
		if (fd >= 0)
			close(fd);
		fd = -ENODEV;
	}
	globfree(nodes);
	return fd;
}

static inline int node_open(bool (*ours)(int fd))
{
	glob_t nodes;

	glob("/dev/accel/accel*", 0, NULL, &nodes);
	glob("/dev/dri/renderD*", GLOB_APPEND, NULL, &nodes);
	return open_first(&nodes, ours);
}

static inline int device_open(void)
{
	return node_open(is_ork);
}

static inline int query(int fd, uint32_t type, uint32_t index, void *answer, uint32_t size)
{
	struct drm_ork_query query = {
		.type = type, .index = index, .size = size, .ptr = (uintptr_t)answer
	};

	return call(fd, DRM_IOCTL_ORK_QUERY, &query);
}

/* Zeros if the query fails, which no test of counters then survives. */
static inline struct drm_ork_counters file_counters(int fd)
{
	struct drm_ork_counters counters = { 0 };

	query(fd, DRM_ORK_QUERY_FILE, 0, &counters, sizeof(counters));
	return counters;
}

static inline struct drm_ork_counters core_counters(int fd, uint32_t core)
{
	struct drm_ork_counters counters = { 0 };

	query(fd, DRM_ORK_QUERY_CORE, core, &counters, sizeof(counters));
	return counters;
}

static inline struct drm_ork_device_info device_info(int fd)
{
	struct drm_ork_device_info info = { 0 };

	query(fd, DRM_ORK_QUERY_DEVICE, 0, &info, sizeof(info));
	return info;
}

static inline int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static inline int syncobj_create(int fd, uint32_t *handle)
{
	struct drm_syncobj_create create = { 0 };
	int error = call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	*handle = create.handle;
	return error;
}

/* The ioctl's error if it has one, else the status of the jobs. */
static inline int job_status(int fd, uint32_t syncobj)
{
	struct drm_ork_wait wait = { .syncobj = syncobj, .timeout_ns = now_ns() + PATIENCE };
	int error = call(fd, DRM_IOCTL_ORK_WAIT, &wait);

	return error ? error : wait.status;
}

/* --- arrays, extents, objects ----------------------------------------------------------------- */

#define ARRAY(first, number)				\
	((struct drm_ork_array){			\
		.ptr = (uintptr_t)(first),		\
		.count = (number),			\
		.stride = sizeof(*(first)),		\
	})

struct bo {
	uint32_t handle;
	uint64_t size;
	uint64_t iova;
	uint64_t mmap_offset;
	uint8_t *data;
};

static inline void bo_close(int fd, struct bo *bo)
{
	struct drm_gem_close close = { .handle = bo->handle };

	if (bo->data)
		munmap(bo->data, bo->size);
	call(fd, DRM_IOCTL_GEM_CLOSE, &close);
	memset(bo, 0, sizeof(*bo));
}

static inline int bo_map(int fd, struct bo *bo)
{
	void *data = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  bo->mmap_offset);

	if (data == MAP_FAILED)
		return -errno;
	bo->data = data;
	return 0;
}

/* The same for an object that was just made, which is closed if that fails. */
static inline int bo_map_new(int fd, struct bo *bo)
{
	int error = bo_map(fd, bo);

	if (error)
		bo_close(fd, bo);
	return error;
}

static inline int bo_create_flags(int fd, uint64_t size, uint32_t flags, struct bo *bo)
{
	struct drm_ork_bo_create create = { .size = size, .flags = flags };
	int error = call(fd, DRM_IOCTL_ORK_BO_CREATE, &create);

	memset(bo, 0, sizeof(*bo));
	if (error)
		return error;
	*bo = (struct bo){ create.handle, create.size, create.iova, create.mmap_offset, NULL };
	return bo_map_new(fd, bo);
}

static inline int bo_create(int fd, uint64_t size, struct bo *bo)
{
	return bo_create_flags(fd, size, 0, bo);
}

static inline struct drm_ork_extent extent(const struct bo *bo, uint32_t flags, uint64_t offset,
					   uint64_t length)
{
	return (struct drm_ork_extent){
		.handle = bo->handle, .flags = flags, .offset = offset, .length = length
	};
}

static inline int sync_extents(int fd, struct drm_ork_extent *extents, uint32_t count)
{
	struct drm_ork_bo_sync sync = { .extents = ARRAY(extents, count) };

	return call(fd, DRM_IOCTL_ORK_BO_SYNC, &sync);
}

static inline int sync_range(int fd, const struct bo *bo, uint32_t flags, uint64_t offset,
			     uint64_t length)
{
	struct drm_ork_extent range = extent(bo, flags, offset, length);

	return sync_extents(fd, &range, 1);
}

/* --- programs --------------------------------------------------------------------------------- */

/*
 * C[m][n] = A[m][k] * B[k][n], int8 to int32, in one program. A and C are row-major without gaps; B
 * lies in blocks of 32 columns by 32 rows, a column's 32 elements together. k is a multiple of 32
 * and at most 1024, n of 32, m at most 32.
 */
struct gemm {
	uint32_t m, k, n;
	uint32_t a, b, c;	/* IOVAs, multiples of 16 */
};

#define PROGRAM_REGS		66
#define PROGRAM_WORDS		(PROGRAM_REGS + ORK_PROGRAM_TAIL_WORDS)
#define PROGRAM_BYTES		(PROGRAM_WORDS * sizeof(uint64_t))
/* Index of the tail, which begins with the link to the next program. */
#define PROGRAM_TAIL		PROGRAM_REGS
/* Index of the word that tells where C goes. */
#define PROGRAM_C_WORD		(PROGRAM_REGS - 1)

_Static_assert(PROGRAM_WORDS % ORK_PROGRAM_BEAT_WORDS == 0, "a program is a whole number of beats");

static inline uint64_t regcmd(uint32_t reg, uint32_t value)
{
	static const uint32_t targets[] = { ORK_TARGET_PC, ORK_TARGET_CNA, 0, ORK_TARGET_CORE,
					    ORK_TARGET_DPU };

	return ORK_REGCMD(targets[reg >> 12], reg, value);
}

/*
 * A 1x1 convolution with stride 1, everything after the sum bypassed. Sizes that are stored minus
 * one are so here alone.
 */
static inline void gemm_program(uint64_t *words, const struct gemm *g, uint32_t next)
{
	const struct { uint32_t reg, value; } regs[] = {
		{ ORK_CNA_CBUF_CON0, ORK_PREP(ORK_CNA_CBUF_CON0_WEIGHT_BANK, 11) |
				     ORK_PREP(ORK_CNA_CBUF_CON0_DATA_BANK, 1) },
		{ ORK_CNA_DCOMP_CTRL, 0 }, { ORK_CNA_DCOMP_REGNUM, 0 },
		{ ORK_CNA_CONV_CON1, ORK_CNA_CONV_CON1_GROUP_LINE_OFF },
		{ ORK_CNA_CONV_CON2, ORK_PREP(ORK_CNA_CONV_CON2_FEATURE_GRAINS, g->m + 1) },
		{ ORK_CNA_CONV_CON3, 9 },
		{ ORK_CNA_DATA_SIZE0, 1 << 16 | g->m },
		{ ORK_CNA_DATA_SIZE1, (g->k - 1) << 16 | g->k },
		{ ORK_CNA_DATA_SIZE2, 1 }, { ORK_CNA_DATA_SIZE3, g->m },
		{ ORK_CNA_WEIGHT_SIZE0, g->k * g->n }, { ORK_CNA_WEIGHT_SIZE1, g->k },
		{ ORK_CNA_WEIGHT_SIZE2, 0x01010000 | g->n },
		{ ORK_CNA_CBUF_CON1, (g->k + ORK_CBUF_ENTRY_BYTES - 1) / ORK_CBUF_ENTRY_BYTES },
		{ ORK_CNA_CVT_CON0, 0xb }, { ORK_CNA_CVT_CON1, 0x10000 },
		{ ORK_CNA_CVT_CON2, 0x10000 },
		{ ORK_CNA_CVT_CON3, 0x10000 }, { ORK_CNA_CVT_CON4, 0x10000 },
		{ ORK_CNA_FC_CON0, 0 }, { ORK_CNA_FC_CON1, 0 }, { ORK_CNA_PAD_CON0, 0 },
		{ ORK_CNA_FEATURE_DATA_ADDR, g->a }, { ORK_CNA_FC_CON2, 0 },
		{ ORK_CNA_DMA_CON0, 0xf000f },
		{ ORK_CNA_DMA_CON1, g->k / ORK_ATOM_BYTES }, { ORK_CNA_DMA_CON2, 0 },
		{ ORK_CNA_FC_DATA_SIZE0, 1 << 16 | g->m }, { ORK_CNA_FC_DATA_SIZE1, g->k },
		{ ORK_CNA_DCOMP_ADDR0, g->b }, { ORK_CNA_CVT_CON5, 0 }, { ORK_CNA_PAD_CON1, 0 },
		{ ORK_CORE_MISC_CFG, ORK_CORE_MISC_CFG_QD_EN },
		{ ORK_CORE_DATAOUT_SIZE_0, (g->m - 1) << 16 },
		{ ORK_CORE_DATAOUT_SIZE_1, g->n - 1 },
		{ ORK_CORE_CLIP_TRUNCATE, 0 },
		{ ORK_DPU_S_POINTER, 0xe }, { ORK_DPU_FEATURE_MODE_CFG, 0x1e4 },
		{ ORK_DPU_DATA_FORMAT, ORK_PREP(ORK_DPU_DATA_FORMAT_OUT_PRECISION,
						 ORK_PRECISION_INT32) },
		{ ORK_DPU_OFFSET_PEND, 0 }, { ORK_DPU_DST_SURF_STRIDE, ORK_ATOM_BYTES },
		{ ORK_DPU_DATA_CUBE_WIDTH, 0 }, { ORK_DPU_DATA_CUBE_HEIGHT, g->m - 1 },
		{ ORK_DPU_DATA_CUBE_NOTCH_ADDR, (g->n / 4 - 1) << 16 | (g->n / 4 - 1) },
		{ ORK_DPU_DATA_CUBE_CHANNEL, (g->n - 1) << 16 | (g->n - 1) },
		{ ORK_DPU_BS_CFG, 0x53 }, { ORK_DPU_BS_ALU_CFG, 0 }, { ORK_DPU_BS_MUL_CFG, 0 },
		{ ORK_DPU_BS_RELUX_CMP_VALUE, 0 }, { ORK_DPU_BS_OW_CFG, 0x7fc },
		{ ORK_DPU_BS_OW_OP, 0 },
		{ ORK_DPU_WDMA_SIZE_0, g->n - 1 }, { ORK_DPU_WDMA_SIZE_1, (g->m - 1) << 16 },
		{ ORK_DPU_BN_CFG, 0x53 }, { ORK_DPU_BN_ALU_CFG, 0 }, { ORK_DPU_BN_MUL_CFG, 0 },
		{ ORK_DPU_BN_RELUX_CMP_VALUE, 0 }, { ORK_DPU_EW_CFG, 0x383 },
		{ ORK_DPU_EW_CVT_OFFSET_VALUE, 0 },
		{ ORK_DPU_EW_CVT_SCALE_VALUE, 1 }, { ORK_DPU_EW_RELUX_CMP_VALUE, 0 },
		{ ORK_DPU_OUT_CVT_OFFSET, 0 }, { ORK_DPU_OUT_CVT_SCALE, 1 },
		{ ORK_DPU_OUT_CVT_SHIFT, 0 },
		{ ORK_DPU_SURFACE_ADD, 0x80 }, { ORK_DPU_DST_BASE_ADDR, g->c },
	};

	_Static_assert(ARRAY_LENGTH(regs) == PROGRAM_REGS, "the size of a program");
	for (size_t i = 0; i < PROGRAM_REGS; i++)
		*words++ = regcmd(regs[i].reg, regs[i].value);
	*words++ = regcmd(ORK_PC_BASE_ADDRESS, next);
	*words++ = regcmd(ORK_PC_REGISTER_AMOUNTS, next ? ORK_PC_AMOUNT(PROGRAM_WORDS) : 0);
	*words++ = (uint64_t)ORK_TARGET_SYNC << 48;
	*words++ = ORK_REGCMD(ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE,
			      ORK_ENABLE_CNA | ORK_ENABLE_CORE | ORK_ENABLE_DPU);
}

/* --- products: a chain with all that it needs, in one object ---------------------------------- */

/*
 * The chain's programs all compute the same C. A lies in the object's last page, so that the
 * activations that the hardware may fetch beyond it end at the guard page.
 */
struct product {
	struct bo bo;
	struct gemm gemm;
	uint32_t programs;
	uint64_t a, b, c;		/* offsets */
	struct drm_ork_task task;
	struct drm_ork_extent extents[4];
};

#define UNTOUCHED	0xaa

static inline uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static inline uint64_t product_c_bytes(const struct product *p)
{
	return (uint64_t)p->gemm.m * p->gemm.n * sizeof(int32_t);
}

static inline uint32_t product_program_iova(const struct product *p, uint32_t index)
{
	return p->bo.iova + index * PROGRAM_BYTES;
}

static inline uint64_t *product_program(const struct product *p, uint32_t index)
{
	return (uint64_t *)(p->bo.data + index * PROGRAM_BYTES);
}

static inline void product_emit(struct product *p)
{
	for (uint32_t i = 0; i < p->programs; i++)
		gemm_program(product_program(p, i), &p->gemm,
			     i + 1 < p->programs ? product_program_iova(p, i + 1) : 0);
}

/* A and B all ones, so that every element of C comes out as k; C untouched. */
static inline int product_create(int fd, struct product *p, uint32_t m, uint32_t k, uint32_t n,
				 uint32_t programs)
{
	struct gemm gemm = { .m = m, .k = k, .n = n };
	uint64_t b_bytes = round_up(k * n, PAGE), a_bytes = round_up(m * k, PAGE);
	int error;

	memset(p, 0, sizeof(*p));
	p->programs = programs;
	p->c = round_up(programs * PROGRAM_BYTES, PAGE);
	p->gemm = gemm;
	p->b = p->c + round_up(product_c_bytes(p), PAGE);
	p->a = p->b + b_bytes;
	error = bo_create(fd, p->a + a_bytes, &p->bo);
	if (error)
		return error;
	p->gemm.a = p->bo.iova + p->a;
	p->gemm.b = p->bo.iova + p->b;
	p->gemm.c = p->bo.iova + p->c;
	product_emit(p);
	memset(p->bo.data + p->c, UNTOUCHED, product_c_bytes(p));
	memset(p->bo.data + p->b, 1, k * n);
	memset(p->bo.data + p->a, 1, m * k);
	p->task = (struct drm_ork_task){ .iova = p->bo.iova,
					 .words = PROGRAM_WORDS,
					 .programs = programs };
	p->extents[0] = extent(&p->bo, DRM_ORK_EXTENT_READ, 0, programs * PROGRAM_BYTES);
	p->extents[1] = extent(&p->bo, DRM_ORK_EXTENT_READ, p->a, m * k);
	p->extents[2] = extent(&p->bo, DRM_ORK_EXTENT_READ, p->b, k * n);
	p->extents[3] = extent(&p->bo, DRM_ORK_EXTENT_WRITE, p->c, product_c_bytes(p));
	return 0;
}

static inline struct drm_ork_job product_job(struct product *p, uint32_t core_mask)
{
	return (struct drm_ork_job){
		.tasks = ARRAY(&p->task, 1),
		.extents = ARRAY(p->extents, 4),
		.core_mask = core_mask,
	};
}

/* Elements of C that are not @value. */
static inline uint32_t product_wrong(const struct product *p, int32_t value)
{
	const int32_t *c = (const int32_t *)(p->bo.data + p->c);
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < p->gemm.m * p->gemm.n; i++)
		wrong += c[i] != value;
	return wrong;
}

static inline bool product_untouched(const struct product *p)
{
	return !product_wrong(p, (int32_t)(UNTOUCHED * 0x01010101u));
}

static inline const int8_t *product_b(const struct product *p, uint32_t k, uint32_t n)
{
	uint32_t block = n / 32 * (p->gemm.k / 32) + k / 32;

	return (const int8_t *)p->bo.data + p->b + block * 1024 + n % 32 * 32 + k % 32;
}

/* Bytes of all values, other ones for each seed. */
static inline void fill(uint8_t *bytes, uint32_t count, uint32_t *state)
{
	for (uint32_t i = 0; i < count; i++) {
		*state = *state * 1664525u + 1013904223u;	/* Numerical Recipes */
		bytes[i] = *state >> 24;
	}
}

/* Other A and B for each seed, in place of ones; C untouched. */
static inline void product_fill(const struct product *p, uint32_t seed)
{
	fill(p->bo.data + p->a, p->gemm.m * p->gemm.k, &seed);
	fill(p->bo.data + p->b, p->gemm.k * p->gemm.n, &seed);
	memset(p->bo.data + p->c, UNTOUCHED, product_c_bytes(p));
}

/* Elements of C that are not what the formula makes of A and B. */
static inline uint32_t product_errors(const struct product *p)
{
	const int32_t *c = (const int32_t *)(p->bo.data + p->c);
	const int8_t *a = (const int8_t *)p->bo.data + p->a;
	uint32_t errors = 0;

	for (uint32_t i = 0; i < p->gemm.m * p->gemm.n; i++) {
		uint32_t m = i / p->gemm.n, n = i % p->gemm.n;
		int32_t sum = 0;

		for (uint32_t k = 0; k < p->gemm.k; k++)
			sum += a[m * p->gemm.k + k] * *product_b(p, k, n);
		errors += c[i] != sum;
	}
	return errors;
}

/* Another value for what program @index of the chain sets @reg to. */
static inline void product_set(const struct product *p, uint32_t index, uint32_t reg,
			       uint32_t value)
{
	uint64_t *words = product_program(p, index);

	for (uint32_t i = 0; i < PROGRAM_REGS; i++)
		if (ORK_REGCMD_REG(words[i]) == reg)
			words[i] = regcmd(reg, value);
}

/*
 * Ends the chain behind program @index although the task goes on: the core waits for a program that
 * never comes.
 */
static inline void product_cut(struct product *p, uint32_t index)
{
	uint64_t *tail = product_program(p, index) + PROGRAM_TAIL;

	tail[0] = regcmd(ORK_PC_BASE_ADDRESS, 0);
	tail[1] = regcmd(ORK_PC_REGISTER_AMOUNTS, 0);
}

/* A product of three programs that hangs behind the first. */
static inline int hanging_product(int fd, struct product *p)
{
	int error = product_create(fd, p, 1, 32, 32, 3);

	if (!error)
		product_cut(p, 0);
	return error;
}

static inline int submit_jobs(int fd, struct drm_ork_job *jobs, uint32_t count,
			      uint32_t out_syncobj)
{
	struct drm_ork_sync out = { .handle = out_syncobj };
	struct drm_ork_submit submit = { .jobs = ARRAY(jobs, count),
					 .out_syncs = ARRAY(&out, out_syncobj ? 1 : 0) };

	return call(fd, DRM_IOCTL_ORK_SUBMIT, &submit);
}

/* Submits one job and waits for it: the error of an ioctl, or the job's status. */
static inline int run_job(int fd, struct drm_ork_job *job)
{
	struct drm_syncobj_destroy destroy = { 0 };
	int error = syncobj_create(fd, &destroy.handle);

	if (error)
		return error;
	error = submit_jobs(fd, job, 1, destroy.handle);
	if (!error)
		error = job_status(fd, destroy.handle);
	call(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	return error;
}

/*
 * The health job: one row of 512 ones times 512x32 ones is 512 everywhere. Returns 0, an errno, or
 * -EBADMSG for another result.
 */
static inline int health(int fd, uint32_t core_mask)
{
	struct product product;
	struct drm_ork_job job;
	int error = product_create(fd, &product, 1, 512, 32, 1);

	if (error)
		return error;
	job = product_job(&product, core_mask);
	error = run_job(fd, &job);
	if (!error && product_wrong(&product, 512))
		error = -EBADMSG;
	bo_close(fd, &product.bo);
	return error;
}

/* On every core in turn, and from a file of its own, as a stranger would. */
static inline int health_everywhere(void)
{
	int fd = device_open(), error = 0;
	struct drm_ork_device_info info;

	if (fd < 0)
		return fd;
	info = device_info(fd);
	for (uint32_t mask = info.core_mask; mask && !error; mask &= mask - 1)
		error = health(fd, mask & -mask);
	close(fd);
	return error;
}

/* --- probe: memory as the device sees it ------------------------------------------------------ */

#define PROBE_BYTES	(32 * 1024)

/*
 * An identity matrix times the bytes in question, as weights: one int32 for each of up to
 * PROBE_BYTES bytes. Weights are fetched as they are named; nothing of them is maintained.
 */
static inline int probe(int fd, const struct bo *bo, uint64_t offset, uint32_t bytes, uint8_t *seen)
{
	struct product p;
	struct drm_ork_job job;
	int error = product_create(fd, &p, 32, 32, bytes / 32, 1);
	const int32_t *c;

	if (error)
		return error;
	p.gemm.b = bo->iova + offset;
	product_emit(&p);
	for (uint32_t i = 0; i < 32 * 32; i++)
		p.bo.data[p.a + i] = i / 32 == i % 32;
	p.extents[2] = extent(bo, DRM_ORK_EXTENT_NO_SYNC, offset, bytes);
	job = product_job(&p, 0);
	error = run_job(fd, &job);
	c = (const int32_t *)(p.bo.data + p.c);
	for (uint32_t i = 0; i < bytes && !error; i++)
		seen[i] = (uint8_t)c[i % 32 * p.gemm.n + i / 32];
	bo_close(fd, &p.bo);
	return error;
}

/*
 * The device writes @lines lines of the object from @offset on, with int32 of value @value; nothing
 * is maintained.
 */
static inline int device_writes(int fd, const struct bo *bo, uint64_t offset, uint32_t lines,
				uint32_t value)
{
	struct product p;
	struct drm_ork_job job;
	int error = product_create(fd, &p, 1, value, lines * LINE / sizeof(int32_t), 1);

	if (error)
		return error;
	p.gemm.c = bo->iova + offset;
	product_emit(&p);
	p.extents[3] =
		extent(bo, DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_NO_SYNC, offset, lines * LINE);
	job = product_job(&p, 0);
	error = run_job(fd, &job);
	bo_close(fd, &p.bo);
	return error;
}

/* Whether a line is full of int32 of @value. */
static inline bool line_holds(const uint8_t *line, int32_t value)
{
	int32_t element;

	for (uint32_t i = 0; i < LINE; i += sizeof(element)) {
		memcpy(&element, line + i, sizeof(element));
		if (element != value)
			return false;
	}
	return true;
}

/* The first byte of @from..@to that is not @value, or @to. */
static inline uint32_t first_other(const uint8_t *bytes, uint32_t from, uint32_t to,
				   uint8_t value)
{
	while (from < to && bytes[from] == value)
		from++;
	return from;
}

#define EXPECT_SEEN(from, to, value, seen)	EXPECT_EQ((to), first_other(seen, from, to, value))

/* --- why a call is refused -------------------------------------------------------------------- */

#define DRM_MESSAGES	"/sys/module/drm/parameters/debug"
#define OF_DRIVERS	"2"
#define OF_NOBODY	"0"

/* Whether the driver that refuses is this one, and the caller may ask it for reasons. */
static inline bool reasons_can_be_had(void)
{
	return !access("/sys/module/ork", F_OK) && !access(DRM_MESSAGES, W_OK);
}

/* What the kernel's log has from now on, reasons among it; or a negative errno. */
static inline int reasons_begin(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int error = log < 0 ? -errno : write_text(DRM_MESSAGES, OF_DRIVERS);

	if (error) {
		close(log);
		return error;
	}
	lseek(log, 0, SEEK_END);
	return log;
}

/* Whether this driver has told one. */
static inline bool reasons_end(int log)
{
	static char record[8192];
	bool told = false;
	ssize_t length;

	do {
		length = read(log, record, sizeof(record) - 1);
		record[length < 0 ? 0 : length] = '\0';
		told |= strstr(record, "[drm:ork_") != NULL;
	} while (length > 0 || (length < 0 && errno == EPIPE));
	close(log);
	write_text(DRM_MESSAGES, OF_NOBODY);
	return told;
}

/* --- the harness ------------------------------------------------------------------------------ */

/*
 * Puts @bad in the place of @field for one call: the call succeeds before, and is refused with
 * @error then, for a reason that the kernel's log tells. What is refused is refused for that field.
 */
#define EXPECT_REFUSED(error, field, bad, call) do {				\
	__typeof__(field) good_ = (field);					\
	bool ask_ = reasons_can_be_had();					\
	int log_;								\
										\
	EXPECT_EQ(0, (call));							\
	(field) = (bad);							\
	log_ = ask_ ? reasons_begin() : -1;					\
	EXPECT_EQ(-(error), (call)) {						\
		TH_LOG("%s = %s", #field, #bad);				\
	}									\
	EXPECT_TRUE(!ask_ || (log_ >= 0 && reasons_end(log_))) {		\
		TH_LOG("%s = %s is refused without a reason", #field, #bad);	\
	}									\
	(field) = good_;							\
} while (0)

/* Programs that are no suites have their own harness, if any. */
#ifdef TEST_F
#include "only.h"
#endif

/*
 * TEST_HARNESS_MAIN, but a machine without the device, which @open_node does not open, skips the
 * suite, and with ORK_ONLY in the environment some tests run alone.
 */
#define SUITE_MAIN(open_node, missing)						\
	static void __attribute__((constructor)) constructor_order_last(void)	\
	{									\
		if (!__constructor_order)					\
			__constructor_order = _CONSTRUCTOR_ORDER_BACKWARD;	\
	}									\
	int main(int argc, char **argv)						\
	{									\
		int fd = open_node();						\
										\
		if (fd < 0)							\
			ksft_exit_skip(missing "\n");				\
		close(fd);							\
		keep_only(getenv("ORK_ONLY"));					\
		return test_harness_run(argc, argv);				\
	}

#define ORK_TEST_MAIN	SUITE_MAIN(device_open, "no node of the ork driver")

#endif

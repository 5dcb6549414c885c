/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs that talk to mainline's rocket share: its ioctls, buffer objects, and int8
 * products whose programs are those of ork's own suites.
 *
 * Rocket runs the programs of a job one by one, each with a start and an interrupt of its own, and
 * calls them tasks: their links end every one.
 */
#ifndef ROCKET_TEST_H
#define ROCKET_TEST_H

#include "../ork/ork_test.h"
#include "../ork/board.h"
/* After libdrm's drm.h: the one beside it in the kernel's source is not fit for programs. */
#include <drm/rocket_accel.h>

/* --- ioctls ----------------------------------------------------------------------------------- */

static inline bool is_rocket(int fd)
{
	char name[8] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return !call(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "rocket");
}

/* A new open file, with an address space of its own; -ENODEV if no node has this interface. */
static inline int rocket_open(void)
{
	return node_open(is_rocket);
}

static inline int rocket_submit(int fd, struct drm_rocket_job *jobs, uint32_t count)
{
	struct drm_rocket_submit submit = {
		.jobs = (uintptr_t)jobs,
		.job_count = count,
		.job_struct_size = sizeof(*jobs),
	};

	return call(fd, DRM_IOCTL_ROCKET_SUBMIT, &submit);
}

/*
 * A job that has ended holds its objects until a worker frees it, and rocket then gives their
 * addresses back to their file's allocator, which a close has freed. Nothing tells when the worker
 * has been there: on the board's own time it comes long before this is over.
 */
#define ROCKET_LET_GO_US	100000

/* --- objects ---------------------------------------------------------------------------------- */

/* The CPU takes the object once no job writes it any more: at most half a minute. */
static inline int rocket_prep(int fd, const struct bo *bo)
{
	struct drm_rocket_prep_bo prep = {
		.handle = bo->handle, .timeout_ns = now_ns() + 30 * SECOND
	};

	return call(fd, DRM_IOCTL_ROCKET_PREP_BO, &prep);
}

/* The NPU gets the object. */
static inline int rocket_fini(int fd, const struct bo *bo)
{
	struct drm_rocket_fini_bo fini = { .handle = bo->handle };

	return call(fd, DRM_IOCTL_ROCKET_FINI_BO, &fini);
}

static inline int rocket_bo_create(int fd, uint64_t size, struct bo *bo)
{
	struct drm_rocket_create_bo create = { .size = round_up(size, PAGE) };
	int error = call(fd, DRM_IOCTL_ROCKET_CREATE_BO, &create);

	memset(bo, 0, sizeof(*bo));
	if (error)
		return error;
	*bo = (struct bo){ create.handle, create.size, create.dma_address, create.offset, NULL };
	return bo_map_new(fd, bo);
}

/* --- products --------------------------------------------------------------------------------- */

/*
 * C = A * B in one job, as many columns in each task as struct gemm has: a panel. B and C hold the
 * panels one after another, each laid out as for a product of its own.
 */
struct rocket_product {
	struct gemm gemm;	/* of the first panel */
	uint32_t panels;
	struct bo program, a, b, c;
	struct drm_rocket_task *tasks;
	uint32_t reads[3], writes[1];	/* handles */
};

static inline uint32_t rocket_panel_b_bytes(const struct rocket_product *p)
{
	return p->gemm.k * p->gemm.n;
}

static inline uint32_t rocket_panel_c_bytes(const struct rocket_product *p)
{
	return p->gemm.m * p->gemm.n * sizeof(int32_t);
}

static inline void rocket_product_close(int fd, struct rocket_product *p)
{
	free(p->tasks);
	bo_close(fd, &p->program);
	bo_close(fd, &p->a);
	bo_close(fd, &p->b);
	bo_close(fd, &p->c);
}

/*
 * A has all of the data bank that the hardware may fetch it by, so that this reaches into no other
 * object: rocket places them without gaps.
 */
static inline int rocket_product_objects(int fd, struct rocket_product *p)
{
	int error = rocket_bo_create(fd, p->panels * PROGRAM_BYTES, &p->program);

	if (!error)
		error = rocket_bo_create(fd, ORK_CBUF_BANK_BYTES, &p->a);
	if (!error)
		error = rocket_bo_create(fd, p->panels * rocket_panel_b_bytes(p), &p->b);
	if (!error)
		error = rocket_bo_create(fd, p->panels * rocket_panel_c_bytes(p), &p->c);
	return error;
}

static inline void rocket_product_emit(struct rocket_product *p)
{
	for (uint32_t i = 0; i < p->panels; i++) {
		struct gemm panel = p->gemm;

		panel.b += i * rocket_panel_b_bytes(p);
		panel.c += i * rocket_panel_c_bytes(p);
		gemm_program((uint64_t *)(p->program.data + i * PROGRAM_BYTES), &panel, 0);
		p->tasks[i].regcmd = p->program.iova + i * PROGRAM_BYTES;
		p->tasks[i].regcmd_count = PROGRAM_WORDS;
	}
}

/*
 * Sizes of a panel as struct gemm has them, m * k at most a data bank. The matrices are zeros, and
 * the CPU's.
 */
static inline int rocket_product_create(int fd, struct rocket_product *p, uint32_t m, uint32_t k,
					uint32_t n, uint32_t panels)
{
	int error;

	*p = (struct rocket_product){ .gemm = { .m = m, .k = k, .n = n }, .panels = panels };
	p->tasks = calloc(panels, sizeof(*p->tasks));
	error = p->tasks ? rocket_product_objects(fd, p) : -ENOMEM;
	if (error) {
		rocket_product_close(fd, p);
		return error;
	}
	p->gemm.a = p->a.iova;
	p->gemm.b = p->b.iova;
	p->gemm.c = p->c.iova;
	rocket_product_emit(p);
	p->reads[0] = p->program.handle;
	p->reads[1] = p->a.handle;
	p->reads[2] = p->b.handle;
	p->writes[0] = p->c.handle;
	return rocket_fini(fd, &p->program);
}

static inline struct drm_rocket_job rocket_product_job(struct rocket_product *p)
{
	return (struct drm_rocket_job){
		.tasks = (uintptr_t)p->tasks,
		.task_count = p->panels,
		.task_struct_size = sizeof(*p->tasks),
		.in_bo_handles = (uintptr_t)p->reads,
		.in_bo_handle_count = ARRAY_LENGTH(p->reads),
		.out_bo_handles = (uintptr_t)p->writes,
		.out_bo_handle_count = ARRAY_LENGTH(p->writes),
	};
}

/* All of int8, and another sequence for each seed. */
static inline void rocket_fill(uint8_t *data, uint64_t bytes, uint32_t seed)
{
	uint32_t state = seed * 2654435761u + 1;

	for (uint64_t i = 0; i < bytes; i++) {
		state = state * 1664525u + 1013904223u;
		data[i] = state >> 24;
	}
}

/* Waits for the jobs that use the product, writes new matrices, and hands them to the NPU. */
static inline int rocket_product_write(int fd, struct rocket_product *p, uint32_t seed)
{
	struct bo *objects[] = { &p->a, &p->b, &p->c };
	int error = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(objects) && !error; i++)
		error = rocket_prep(fd, objects[i]);
	if (error)
		return error;
	rocket_fill(p->a.data, p->gemm.m * p->gemm.k, seed);
	rocket_fill(p->b.data, p->panels * rocket_panel_b_bytes(p), seed + 1);
	memset(p->c.data, UNTOUCHED, p->c.size);
	for (size_t i = 0; i < ARRAY_LENGTH(objects) && !error; i++)
		error = rocket_fini(fd, objects[i]);
	return error;
}

static inline int rocket_product_start(int fd, struct rocket_product *p)
{
	struct drm_rocket_job job = rocket_product_job(p);

	return rocket_submit(fd, &job, 1);
}

/* --- products on the CPU ---------------------------------------------------------------------- */

static inline int8_t rocket_product_a(const struct rocket_product *p, uint32_t m, uint32_t k)
{
	return (int8_t)p->a.data[m * p->gemm.k + k];
}

/* Blocks of 32 columns by 32 rows, those with the same columns one after another. */
static inline int8_t rocket_product_b(const struct rocket_product *p, uint32_t panel, uint32_t k,
				      uint32_t n)
{
	uint32_t block = n / 32 * (p->gemm.k / 32) + k / 32;

	return (int8_t)p->b.data[panel * rocket_panel_b_bytes(p) + block * 32 * 32 +
				 n % 32 * 32 + k % 32];
}

static inline int32_t rocket_product_expected(const struct rocket_product *p, uint32_t panel,
					      uint32_t m, uint32_t n)
{
	int32_t sum = 0;

	for (uint32_t k = 0; k < p->gemm.k; k++)
		sum += rocket_product_a(p, m, k) * rocket_product_b(p, panel, k, n);
	return sum;
}

/* Elements of C that are not what the CPU computes. */
static inline uint32_t rocket_product_wrong(const struct rocket_product *p)
{
	const int32_t *c = (const int32_t *)p->c.data;
	uint32_t count = 0;

	for (uint32_t panel = 0; panel < p->panels; panel++)
		for (uint32_t m = 0; m < p->gemm.m; m++)
			for (uint32_t n = 0; n < p->gemm.n; n++)
				count += *c++ != rocket_product_expected(p, panel, m, n);
	return count;
}

#endif

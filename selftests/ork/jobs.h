/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Jobs that others wait for, for the suites about order and lifetimes: jobs that last until the
 * test lets them go, jobs that end badly, and fences as files.
 */
#ifndef ORK_TEST_JOBS_H
#define ORK_TEST_JOBS_H

#include <linux/sync_file.h>
#include <poll.h>
#include "ork_test.h"
#include "board.h"

/* Looks until it holds. It is not looked at again when it has held. */
#define SOON(condition) ({						\
	int64_t end_ = now_ns() + PATIENCE;				\
	bool holds_;							\
									\
	while (!(holds_ = (condition)) && now_ns() < end_)		\
		usleep(1000);						\
	holds_;								\
})

/* --- steps: submits of one job ---------------------------------------------------------------- */

#define STEP_INS	4
#define STEP_EXTENTS	6

/* What a step's product is, 8x32x32 of ones, and the bytes of its C, which can be another's B. */
#define STEP_VALUE	32
#define STEP_BYTES	1024

struct step {
	int fd;
	struct product product;
	struct drm_ork_job job;
	struct drm_ork_extent extents[STEP_EXTENTS];	/* the product's, then more */
	struct drm_ork_sync ins[STEP_INS], out;
	struct drm_ork_submit args;
};

/* To be changed until it is submitted; not to be copied. */
static inline int step_create(int fd, struct step *step, uint32_t programs, uint32_t core_mask)
{
	int error;

	memset(step, 0, sizeof(*step));
	step->fd = fd;
	error = product_create(fd, &step->product, 8, 32, 32, programs);
	if (error)
		return error;
	memcpy(step->extents, step->product.extents, sizeof(step->product.extents));
	step->job = product_job(&step->product, core_mask);
	step->job.extents = ARRAY(step->extents, ARRAY_LENGTH(step->product.extents));
	step->args.jobs = ARRAY(&step->job, 1);
	step->args.in_syncs = ARRAY(step->ins, 0);
	step->args.out_syncs = ARRAY(&step->out, 1);
	return syncobj_create(fd, &step->out.handle);
}

static inline int step_submit(struct step *step)
{
	return call(step->fd, DRM_IOCTL_ORK_SUBMIT, &step->args);
}

static inline void step_wait_for(struct step *step, uint32_t syncobj, uint64_t point)
{
	step->ins[step->args.in_syncs.count++] =
		(struct drm_ork_sync){ .handle = syncobj, .point = point };
}

static inline void step_touch(struct step *step, const struct bo *bo, uint32_t flags)
{
	step->extents[step->job.extents.count++] = extent(bo, flags, 0, bo->size);
}

/* The step's B is the C of @writer: its product is then step_follow() of the writer's. */
static inline void step_read(struct step *step, const struct step *writer)
{
	step->product.gemm.b = writer->product.gemm.c;
	product_emit(&step->product);
	step->extents[2] = extent(&writer->product.bo, DRM_ORK_EXTENT_NO_SYNC, writer->product.c,
				  STEP_BYTES);
}

/* A column of B is eight int32 of @value, as bytes. */
static inline int32_t step_follow(int32_t value)
{
	int32_t sum = 0;

	for (unsigned int byte = 0; byte < 4; byte++)
		sum += (int8_t)((uint32_t)value >> 8 * byte);
	return 8 * sum;
}

/* The step's C goes over that of @other. */
static inline void step_overwrite(struct step *step, const struct step *other)
{
	step->product.gemm.c = other->product.gemm.c;
	product_emit(&step->product);
	step->extents[3] = extent(&other->product.bo,
				  DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_CPU_CLEAN,
				  other->product.c, STEP_BYTES);
}

/* 0 once the fence has signalled, -EBUSY before. */
static inline int sync_look(int fd, const struct drm_ork_sync *sync)
{
	struct drm_ork_wait wait = { .syncobj = sync->handle, .point = sync->point };

	return call(fd, DRM_IOCTL_ORK_WAIT, &wait);
}

/* As job_status(), for points too. */
static inline int sync_status(int fd, const struct drm_ork_sync *sync)
{
	struct drm_ork_wait wait = { .syncobj = sync->handle,
				     .point = sync->point,
				     .timeout_ns = now_ns() + PATIENCE };
	int error = call(fd, DRM_IOCTL_ORK_WAIT, &wait);

	return error ? error : wait.status;
}

static inline int step_look(const struct step *step)
{
	return sync_look(step->fd, &step->out);
}

static inline int step_status(const struct step *step)
{
	return sync_status(step->fd, &step->out);
}

static inline int step_run(struct step *step)
{
	int error = step_submit(step);

	return error ? error : step_status(step);
}

static inline void step_close(struct step *step)
{
	bo_close(step->fd, &step->product.bo);
}

/* --- gates: jobs that run until they are let go ----------------------------------------------- */

/*
 * A shut gate makes progress all the time, so that no watchdog takes it for hung, and lasts longer
 * than a test. That takes the emulated board; on any other a gate is only a long chain.
 */
#define GATE_US		100000
#define GATE_PROGRAMS	400

/* Stretches the cores of @core_mask, 0 for all, and creates a job for them. */
static inline int gate_create(int fd, volatile uint32_t *board, struct step *gate,
			      uint32_t core_mask)
{
	for (uint32_t core = 0; core < BOARD_CORES && board; core++)
		if (!core_mask || core_mask & 1u << core)
			board_core_write(board, core, ORK_BOARD_CORE_STRETCH_US, GATE_US);
	return step_create(fd, gate, GATE_PROGRAMS, core_mask);
}

/* Returns when all its jobs run. */
static inline int gate_shut(volatile uint32_t *board, struct step *gate)
{
	uint32_t kicks = board ? board_sum(board, ORK_BOARD_CORE_KICKS) : 0;
	int error = step_submit(gate);

	if (error || !board)
		return error;
	kicks += gate->args.jobs.count;
	return SOON(board_sum(board, ORK_BOARD_CORE_KICKS) >= kicks) ? 0 : -ETIME;
}

static inline void gate_open(volatile uint32_t *board, uint32_t core)
{
	if (board)
		board_core_write(board, core, ORK_BOARD_CORE_STRETCH_US, 0);
}

static inline void gates_open(volatile uint32_t *board)
{
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		gate_open(board, core);
}

/* --- jobs that end badly ---------------------------------------------------------------------- */

enum failure { HANG, FAULT };

/* The last program never comes, or writes to page 0, which nothing is mapped to. */
static inline void step_spoil(struct step *step, enum failure how)
{
	struct product *p = &step->product;

	if (how == HANG)
		product_cut(p, p->programs - 2);
	else
		product_program(p, p->programs - 1)[PROGRAM_C_WORD] =
			regcmd(ORK_DPU_DST_BASE_ADDR, 0);
}

/* --- fences as files -------------------------------------------------------------------------- */

/* A sync_file of the fence that the syncobj has now, or a negative errno. */
static inline int sync_file_export(int fd, uint32_t syncobj)
{
	struct drm_syncobj_handle args = {
		.handle = syncobj,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	int error = call(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &args);

	return error ? error : args.fd;
}

/* A new syncobj with the fence of @file. */
static inline int sync_file_import(int fd, int file, uint32_t *syncobj)
{
	struct drm_syncobj_handle args = {
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
		.fd = file,
	};
	int error = syncobj_create(fd, syncobj);

	args.handle = *syncobj;
	return error ? error : call(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args);
}

static inline bool sync_file_signalled(int file, int timeout_ms)
{
	struct pollfd events = { .fd = file, .events = POLLIN };

	return poll(&events, 1, timeout_ms) == 1 && events.revents == POLLIN;
}

/* 0 before the end, then 1, or the negative errno with which the job ended. */
static inline int sync_file_status(int file)
{
	struct sync_file_info info = { 0 };
	int error = call(file, SYNC_IOC_FILE_INFO, &info);

	return error ? error : info.status;
}

/* Waits for the end. */
static inline int sync_file_end(int file)
{
	return sync_file_signalled(file, PATIENCE / 1000000) ? sync_file_status(file) : -ETIME;
}

/* What is known of the one fence in @file: its signaller's names, and when it signalled. */
static inline int sync_file_fence(int file, struct sync_fence_info *fence)
{
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)fence };

	memset(fence, 0, sizeof(*fence));
	return call(file, SYNC_IOC_FILE_INFO, &info);
}

/* Later kernels answer for a signalled fence themselves. */
static inline bool fence_is_named(const char *name, const char *theirs)
{
	return !strcmp(name, "ork") || !strcmp(name, theirs);
}

#endif

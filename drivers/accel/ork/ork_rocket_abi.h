/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs and mainline's rocket agreed on: numbers and layouts of that driver's ioctls.
 *
 * Kernels that have the driver have a header of it too; others have to do without, so that nothing
 * of it is used here. tests/ork_rocket_test.c compares the two where both are there.
 */
#ifndef __ORK_ROCKET_ABI_H__
#define __ORK_ROCKET_ABI_H__

#include <linux/types.h>

#include <drm/drm.h>

/**
 * struct ork_rocket_create_bo - a new object
 * @size: in: bytes
 * @handle: out: its handle
 * @dma_address: out: where it lies in the file's address space
 * @offset: out: for mmap()
 */
struct ork_rocket_create_bo {
	__u32 size;
	__u32 handle;
	__u64 dma_address;
	__u64 offset;
};

/**
 * struct ork_rocket_prep_bo - the CPU takes an object
 * @handle: in: its handle
 * @reserved: in: 0
 * @timeout_ns: in: until when to wait for jobs that use it, in CLOCK_MONOTONIC
 */
struct ork_rocket_prep_bo {
	__u32 handle;
	__u32 reserved;
	__s64 timeout_ns;
};

/**
 * struct ork_rocket_fini_bo - the NPU gets an object
 * @handle: in: its handle
 * @reserved: in: 0
 */
struct ork_rocket_fini_bo {
	__u32 handle;
	__u32 reserved;
};

/**
 * struct ork_rocket_task - a program
 * @regcmd: in: address of its first word
 * @regcmd_count: in: 64-bit words
 */
struct ork_rocket_task {
	__u32 regcmd;
	__u32 regcmd_count;
};

/**
 * struct ork_rocket_job - programs that run in order on one core
 * @tasks: in: pointer to &struct ork_rocket_task
 * @in_bo_handles: in: pointer to 32-bit handles of objects that they read
 * @out_bo_handles: in: pointer to 32-bit handles of objects that they write
 * @task_count: in: how many tasks
 * @task_struct_size: in: bytes from one to the next
 * @in_bo_handle_count: in: how many handles
 * @out_bo_handle_count: in: how many handles
 */
struct ork_rocket_job {
	__u64 tasks;
	__u64 in_bo_handles;
	__u64 out_bo_handles;
	__u32 task_count;
	__u32 task_struct_size;
	__u32 in_bo_handle_count;
	__u32 out_bo_handle_count;
};

/**
 * struct ork_rocket_submit - jobs
 * @jobs: in: pointer to &struct ork_rocket_job
 * @job_count: in: how many; 0: nothing is done
 * @job_struct_size: in: bytes from one to the next
 * @reserved: in: 0
 */
struct ork_rocket_submit {
	__u64 jobs;
	__u32 job_count;
	__u32 job_struct_size;
	__u64 reserved;
};

#define DRM_ORK_ROCKET_CREATE_BO	0x00
#define DRM_ORK_ROCKET_SUBMIT		0x01
#define DRM_ORK_ROCKET_PREP_BO		0x02
#define DRM_ORK_ROCKET_FINI_BO		0x03

#define DRM_IOCTL_ORK_ROCKET_CREATE_BO	DRM_IOWR(DRM_COMMAND_BASE + DRM_ORK_ROCKET_CREATE_BO, \
						 struct ork_rocket_create_bo)
#define DRM_IOCTL_ORK_ROCKET_SUBMIT	DRM_IOW(DRM_COMMAND_BASE + DRM_ORK_ROCKET_SUBMIT, \
						struct ork_rocket_submit)
#define DRM_IOCTL_ORK_ROCKET_PREP_BO	DRM_IOW(DRM_COMMAND_BASE + DRM_ORK_ROCKET_PREP_BO, \
						struct ork_rocket_prep_bo)
#define DRM_IOCTL_ORK_ROCKET_FINI_BO	DRM_IOW(DRM_COMMAND_BASE + DRM_ORK_ROCKET_FINI_BO, \
						struct ork_rocket_fini_bo)

#endif

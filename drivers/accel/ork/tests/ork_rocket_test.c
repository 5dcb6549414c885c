// SPDX-License-Identifier: GPL-2.0-only
/*
 * The second device's ioctls against the header of mainline's driver. For kernels that have it.
 */

#include <linux/stddef.h>

#include <drm/rocket_accel.h>

#include <kunit/test.h>

#include "../ork_rocket_abi.h"

#define OURS(type, member)	offsetofend(struct ork_rocket_##type, member)
#define THEIRS(type, member)	offsetofend(struct drm_rocket_##type, member)

struct ork_rocket_field {
	const char *name;
	size_t ours, theirs;
};

static const struct ork_rocket_field ork_rocket_fields[] = {
	{ "size", OURS(create_bo, size), THEIRS(create_bo, size) },
	{ "handle", OURS(create_bo, handle), THEIRS(create_bo, handle) },
	{ "dma_address", OURS(create_bo, dma_address), THEIRS(create_bo, dma_address) },
	{ "offset", OURS(create_bo, offset), THEIRS(create_bo, offset) },
	{ "handle", OURS(prep_bo, handle), THEIRS(prep_bo, handle) },
	{ "reserved", OURS(prep_bo, reserved), THEIRS(prep_bo, reserved) },
	{ "timeout_ns", OURS(prep_bo, timeout_ns), THEIRS(prep_bo, timeout_ns) },
	{ "handle", OURS(fini_bo, handle), THEIRS(fini_bo, handle) },
	{ "reserved", OURS(fini_bo, reserved), THEIRS(fini_bo, reserved) },
	{ "jobs", OURS(submit, jobs), THEIRS(submit, jobs) },
	{ "job_count", OURS(submit, job_count), THEIRS(submit, job_count) },
	{ "job_struct_size", OURS(submit, job_struct_size), THEIRS(submit, job_struct_size) },
	{ "reserved", OURS(submit, reserved), THEIRS(submit, reserved) },
	{ "tasks", OURS(job, tasks), THEIRS(job, tasks) },
	{ "in_bo_handles", OURS(job, in_bo_handles), THEIRS(job, in_bo_handles) },
	{ "out_bo_handles", OURS(job, out_bo_handles), THEIRS(job, out_bo_handles) },
	{ "task_count", OURS(job, task_count), THEIRS(job, task_count) },
	{ "task_struct_size", OURS(job, task_struct_size), THEIRS(job, task_struct_size) },
	{ "in_bo_handle_count", OURS(job, in_bo_handle_count), THEIRS(job, in_bo_handle_count) },
	{ "out_bo_handle_count", OURS(job, out_bo_handle_count), THEIRS(job, out_bo_handle_count) },
	{ "regcmd", OURS(task, regcmd), THEIRS(task, regcmd) },
	{ "regcmd_count", OURS(task, regcmd_count), THEIRS(task, regcmd_count) },
};

static void ork_rocket_fields_lie_where_mainlines_do(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ork_rocket_fields); i++)
		KUNIT_EXPECT_EQ_MSG(test, ork_rocket_fields[i].ours, ork_rocket_fields[i].theirs,
				    "%s", ork_rocket_fields[i].name);
	KUNIT_EXPECT_EQ(test, sizeof(struct ork_rocket_job), sizeof(struct drm_rocket_job));
	KUNIT_EXPECT_EQ(test, sizeof(struct ork_rocket_task), sizeof(struct drm_rocket_task));
}

/* Their sizes included. */
static void ork_rocket_numbers_are_mainlines(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DRM_IOCTL_ORK_ROCKET_CREATE_BO, DRM_IOCTL_ROCKET_CREATE_BO);
	KUNIT_EXPECT_EQ(test, DRM_IOCTL_ORK_ROCKET_SUBMIT, DRM_IOCTL_ROCKET_SUBMIT);
	KUNIT_EXPECT_EQ(test, DRM_IOCTL_ORK_ROCKET_PREP_BO, DRM_IOCTL_ROCKET_PREP_BO);
	KUNIT_EXPECT_EQ(test, DRM_IOCTL_ORK_ROCKET_FINI_BO, DRM_IOCTL_ROCKET_FINI_BO);
}

static struct kunit_case ork_rocket_cases[] = {
	KUNIT_CASE(ork_rocket_fields_lie_where_mainlines_do),
	KUNIT_CASE(ork_rocket_numbers_are_mainlines),
	{}
};

static struct kunit_suite ork_rocket_suite = {
	.name = "ork_rocket",
	.test_cases = ork_rocket_cases,
};

kunit_test_suite(ork_rocket_suite);

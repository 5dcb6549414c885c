// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a job may ask for, and where its programs may lie.
 */

#include <linux/jiffies.h>
#include <linux/sizes.h>

#include <drm/ork_drm.h>

#include <kunit/test.h>

#include "ork_test_board.h"

#include "../ork_gem.h"
#include "../ork_submit.h"
#include "../ork_sync.h"

struct ork_job_scalars {
	const char *name;
	unsigned int cores;
	u32 core_mask;
	u32 timeout_ms;
	u32 flags;
	int result;
	u32 allowed;
	u32 patience_ms;
};

static const struct ork_job_scalars ork_job_scalars[] = {
	{ "defaults", 3, 0, 0, 0, 0, 7, 500 },
	{ "defaults, with one core", 1, 0, 0, 0, 0, 1, 500 },
	{ "one core of three", 3, 4, 0, 0, 0, 4, 500 },
	{ "all cores, by name", 3, 7, 0, 0, 0, 7, 500 },
	{ "a core that is not there", 3, 8, 0, 0, -EINVAL },
	{ "a core that is there and one that is not", 2, 5, 0, 0, -EINVAL },
	{ "the highest bit", 3, BIT(31), 0, 0, -EINVAL },
	{ "shortest patience", 3, 0, 1, 0, 0, 7, 1 },
	{ "longest patience", 3, 0, 60000, 0, 0, 7, 60000 },
	{ "too long patience", 3, 0, 60001, 0, -EINVAL },
	{ "far too long patience", 3, 0, U32_MAX, 0, -EINVAL },
	{ "a flag", 3, 0, 0, 1, -EOPNOTSUPP },
	{ "a flag, and all else is wrong too", 3, 8, U32_MAX, BIT(31), -EOPNOTSUPP },
};

KUNIT_ARRAY_PARAM_DESC(ork_job_scalars, ork_job_scalars, name);

static void scalars_are_checked_and_defaults_filled_in(struct kunit *test)
{
	const struct ork_job_scalars *scalars = test->param_value;
	struct ork_board *board = ork_board_create(test, scalars->cores, false);
	struct ork_job *job = ork_board_job(test, board, 0, DRM_ORK_PRIORITY_NORMAL, 0);
	const struct drm_ork_job args = {
		.core_mask = scalars->core_mask,
		.timeout_ms = scalars->timeout_ms,
		.flags = scalars->flags,
	};

	KUNIT_ASSERT_EQ(test, ork_job_check_scalars(job, &args), scalars->result);
	if (scalars->result)
		return;
	KUNIT_EXPECT_EQ(test, job->core_mask, scalars->allowed);
	KUNIT_EXPECT_EQ(test, job->timeout, DIV_ROUND_UP(scalars->patience_ms * HZ, 1000));
}

/* A job with one extent, of an object at 1 MiB. */
static struct ork_job *ork_job_test_with(struct kunit *test, const struct ork_extent *extent)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *job = ork_board_job(test, board, 0, DRM_ORK_PRIORITY_NORMAL, 1);
	struct ork_mapping *mapping = kunit_kzalloc(test, sizeof(*mapping), GFP_KERNEL);

	job->bos = kunit_kzalloc(test, sizeof(*job->bos), GFP_KERNEL);
	job->extents = kunit_kzalloc(test, sizeof(*job->extents), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mapping);
	KUNIT_ASSERT_NOT_NULL(test, job->bos);
	KUNIT_ASSERT_NOT_NULL(test, job->extents);
	mapping->node.start = SZ_1M;
	job->bos->mapping = mapping;
	job->num_bos = 1;
	*job->extents = *extent;
	job->num_extents = 1;
	return job;
}

struct ork_job_task {
	const char *name;
	struct drm_ork_task task;
	int result;
};

/* In an extent from 1 MiB to 3 MiB. */
static const struct ork_job_task ork_job_tasks[] = {
	{ "one short program", { 0x100000, 2, 1 }, 0 },
	{ "longest program", { 0x100000, 131072, 1 }, 0 },
	{ "longest chain", { 0x100000, 2, 4095 }, 0 },
	{ "a program too many", { 0x100000, 2, 4096 }, -EINVAL },
	{ "no program", { 0x100000, 2, 0 }, -EINVAL },
	{ "no words", { 0x100000, 0, 1 }, -EINVAL },
	{ "half a beat", { 0x100000, 3, 1 }, -EINVAL },
	{ "two words too many", { 0x100000, 131074, 1 }, -EINVAL },
	{ "so many words that their bytes wrap", { 0x100000, 0x20000002, 1 }, -EINVAL },
	{ "8 bytes off", { 0x100008, 2, 1 }, -EINVAL },
	{ "last two words", { 0x2ffff0, 2, 1 }, 0 },
	{ "two words more than there are", { 0x2ffff0, 4, 1 }, -EINVAL },
	{ "16 bytes before the extent", { 0x0ffff0, 4, 1 }, -EINVAL },
	{ "behind the extent", { 0x300000, 2, 1 }, -EINVAL },
	{ "at address 0", { 0, 2, 1 }, -EINVAL },
	{ "4 GiB too far", { 0x100100000ULL, 2, 1 }, -EINVAL },
	{ "at the end of 64 bits", { U64_MAX - 15, 2, 1 }, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(ork_job_tasks, ork_job_tasks, name);

static void task_has_limits_and_lies_in_an_extent(struct kunit *test)
{
	const struct ork_job_task *task = test->param_value;
	const struct ork_extent extent = { .rows = 1, .length = SZ_2M };
	struct ork_job *job = ork_job_test_with(test, &extent);

	KUNIT_EXPECT_EQ(test, ork_job_check_task(job, &task->task), task->result);
}

/* A program may lie in any row of an extent, but in one only. */
static void task_lies_in_one_row_as_a_look_at_each_row_finds(struct kunit *test)
{
	static const struct ork_extent extents[] = {
		{ .rows = 1, .offset = 32, .length = 64, .stride = 5 },
		{ .rows = 3, .offset = 32, .length = 64, .stride = 128 },
		{ .rows = 3, .offset = 0, .length = 64, .stride = 64 },
		{ .rows = 2, .offset = 8, .length = 40, .stride = 48 },
		{ .rows = 4, .offset = 0, .length = 8, .stride = 16 },
		{ .rows = 5, .offset = 16, .length = 0, .stride = 16 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(extents); i++) {
		const struct ork_extent *extent = &extents[i];
		struct ork_job *job = ork_job_test_with(test, extent);
		struct drm_ork_task task = { .programs = 1 };

		for (task.iova = SZ_1M - 64; task.iova < SZ_1M + 512; task.iova += 16) {
			for (task.words = 2; task.words <= 20; task.words += 2) {
				u64 end = task.iova + task.words * 8;
				bool inside = false;
				u64 row;

				for (row = 0; row < extent->rows; row++) {
					u64 start = SZ_1M + extent->offset + row * extent->stride;

					inside |= task.iova >= start &&
						  end <= start + extent->length;
				}
				KUNIT_EXPECT_EQ_MSG(test, !ork_job_check_task(job, &task), inside,
						    "extent %u: %u words at %llx", i, task.words,
						    task.iova);
			}
		}
	}
}

struct ork_job_list {
	const char *name;
	/* 0 ends them. */
	unsigned long from[8];
	unsigned long to[8];
};

static const struct ork_job_list ork_job_lists[] = {
	{ "none", { }, { } },
	{ "one", { 7 }, { 7 } },
	{ "in order", { 1, 2, 3 }, { 1, 2, 3 } },
	{ "backwards", { 3, 2, 1 }, { 1, 2, 3 } },
	{ "all the same", { 5, 5, 5, 5 }, { 5 } },
	{ "twice each, in turns", { 2, 9, 2, 9 }, { 2, 9 } },
	{ "with the sign bit", { ~0UL, 1, ~0UL, 1UL << 63 }, { 1, 1UL << 63, ~0UL } },
};

KUNIT_ARRAY_PARAM_DESC(ork_job_lists, ork_job_lists, name);

static void unique_pointers_are_in_order_and_each_there_once(struct kunit *test)
{
	const struct ork_job_list *list = test->param_value;
	unsigned long pointers[8];
	u32 i, count = 0, unique;

	memcpy(pointers, list->from, sizeof(pointers));
	while (count < ARRAY_SIZE(pointers) && pointers[count])
		count++;
	unique = ork_unique_pointers((void **)pointers, count);
	for (i = 0; i < unique; i++)
		KUNIT_EXPECT_EQ_MSG(test, pointers[i], list->to[i], "pointer %u", i);
	KUNIT_EXPECT_EQ(test, list->to[unique], 0);
}

#define ORK_JOB_TEST_BOS	3

/* Objects that are mapped in the address space of a board's first file. */
static struct ork_bo *ork_job_test_bos(struct kunit *test, struct ork_board *board)
{
	struct ork_bo *bos = kunit_kcalloc(test, ORK_JOB_TEST_BOS, sizeof(*bos), GFP_KERNEL);
	struct ork_mapping *mappings = kunit_kcalloc(test, ORK_JOB_TEST_BOS, sizeof(*mappings),
						     GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, bos);
	KUNIT_ASSERT_NOT_NULL(test, mappings);
	for (i = 0; i < ORK_JOB_TEST_BOS; i++) {
		mutex_init(&bos[i].lock);
		INIT_LIST_HEAD(&bos[i].mappings);
		kref_init(&mappings[i].ref);
		mappings[i].vm = &board->vms[0];
		mappings[i].bo = &bos[i];
		list_add(&mappings[i].link, &bos[i].mappings);
	}
	return bos;
}

static void ork_job_test_free_bos(void *data)
{
	struct ork_job *job = data;

	kvfree(job->bos);
}

static void object_of_several_extents_is_one_with_all_of_their_uses(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *job = ork_board_job(test, board, 0, DRM_ORK_PRIORITY_NORMAL, 1);
	struct ork_bo *bos = ork_job_test_bos(test, board);
	struct ork_extent extents[] = {
		{ .bo = &bos[2], .flags = DRM_ORK_EXTENT_WRITE },
		{ .bo = &bos[0], .flags = DRM_ORK_EXTENT_READ },
		{ .bo = &bos[1], .flags = DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_CPU_CLEAN },
		{ .bo = &bos[2], .flags = DRM_ORK_EXTENT_NO_SYNC },
		{ .bo = &bos[1], .flags = DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_NO_SYNC },
	};
	unsigned int i;

	job->extents = extents;
	job->num_extents = ARRAY_SIZE(extents);
	KUNIT_ASSERT_EQ(test, ork_job_collect_bos(job), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_job_test_free_bos, job), 0);
	KUNIT_ASSERT_EQ(test, job->num_bos, 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, job->bos[i].bo, &bos[i]);
		KUNIT_EXPECT_EQ(test, kref_read(&job->bos[i].mapping->ref), 2);
	}
	KUNIT_EXPECT_TRUE(test, job->bos[0].read && !job->bos[0].write);
	KUNIT_EXPECT_TRUE(test, !job->bos[1].read && job->bos[1].write);
	KUNIT_EXPECT_TRUE(test, job->bos[2].read && job->bos[2].write);
}

static void object_that_is_mapped_for_another_file_is_not_found(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *job = ork_board_job(test, board, 1, DRM_ORK_PRIORITY_NORMAL, 1);
	struct ork_extent extent = {
		.bo = ork_job_test_bos(test, board),
		.flags = DRM_ORK_EXTENT_READ,
	};

	job->extents = &extent;
	job->num_extents = 1;
	KUNIT_EXPECT_EQ(test, ork_job_collect_bos(job), -ENOENT);
	KUNIT_EXPECT_EQ(test, job->num_bos, 0);
	ork_job_test_free_bos(job);
}

static struct kunit_case ork_job_cases[] = {
	KUNIT_CASE_PARAM(scalars_are_checked_and_defaults_filled_in, ork_job_scalars_gen_params),
	KUNIT_CASE_PARAM(task_has_limits_and_lies_in_an_extent, ork_job_tasks_gen_params),
	KUNIT_CASE(task_lies_in_one_row_as_a_look_at_each_row_finds),
	KUNIT_CASE_PARAM(unique_pointers_are_in_order_and_each_there_once,
			 ork_job_lists_gen_params),
	KUNIT_CASE(object_of_several_extents_is_one_with_all_of_their_uses),
	KUNIT_CASE(object_that_is_mapped_for_another_file_is_not_found),
	{ }
};

static struct kunit_suite ork_job_suite = {
	.name = "ork_job",
	.test_cases = ork_job_cases,
};

kunit_test_suite(ork_job_suite);

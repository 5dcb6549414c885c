// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a job waits for, and what it needs of that.
 */

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>

#include <drm/drm_gem.h>

#include <kunit/test.h>

#include "ork_test_board.h"

#include "../ork_dependency.h"
#include "../ork_gem.h"

#define ORK_DEPENDENCY_TEST_BOS		2

/* A job with objects that others may use, too. */
struct ork_dependency_setup {
	struct ork_board *board;
	struct ork_job *job;
	struct ork_bo bos[ORK_DEPENDENCY_TEST_BOS];
	struct ork_job_bo uses[ORK_DEPENDENCY_TEST_BOS];
};

static void ork_dependency_test_fini(void *data)
{
	struct ork_dependency_setup *setup = data;
	unsigned int i;

	ork_dependencies_put(setup->job);
	for (i = 0; i < ORK_DEPENDENCY_TEST_BOS; i++)
		dma_resv_fini(setup->bos[i].base.base.resv);
}

static struct ork_dependency_setup *ork_dependency_test_init(struct kunit *test)
{
	struct ork_dependency_setup *setup = kunit_kzalloc(test, sizeof(*setup), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, setup);
	setup->board = ork_board_create(test, 1, false);
	setup->job = ork_board_job(test, setup->board, 0, DRM_ORK_PRIORITY_NORMAL, 1);
	for (i = 0; i < ORK_DEPENDENCY_TEST_BOS; i++) {
		struct drm_gem_object *obj = &setup->bos[i].base.base;

		obj->resv = &obj->_resv;
		dma_resv_init(obj->resv);
		setup->uses[i].bo = &setup->bos[i];
	}
	setup->job->bos = setup->uses;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_dependency_test_fini, setup), 0);
	return setup;
}

static void ork_dependency_test_use(struct kunit *test, struct ork_bo *bo, struct dma_fence *fence,
				    enum dma_resv_usage usage)
{
	struct dma_resv *resv = bo->base.base.resv;

	KUNIT_ASSERT_EQ(test, dma_resv_lock(resv, NULL), 0);
	KUNIT_ASSERT_EQ(test, dma_resv_reserve_fences(resv, 1), 0);
	dma_resv_add_fence(resv, fence, usage);
	dma_resv_unlock(resv);
}

/* As a submit does, which has locked all objects. */
static void ork_dependency_test_collect(struct kunit *test, struct ork_dependency_setup *setup,
					struct dma_fence **fences, u32 count, bool implicit)
{
	struct drm_gem_object *objects[] = { &setup->bos[0].base.base, &setup->bos[1].base.base };
	struct ww_acquire_ctx ctx;

	KUNIT_ASSERT_EQ(test, drm_gem_lock_reservations(objects, ARRAY_SIZE(objects), &ctx), 0);
	KUNIT_EXPECT_EQ(test, ork_dependencies_reserve(setup->job, count, implicit), 0);
	ork_dependencies_collect(setup->job, fences, count, implicit);
	drm_gem_unlock_reservations(objects, ARRAY_SIZE(objects), &ctx);
}

static void ork_dependency_test_end(struct dma_fence *fence, int error)
{
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
}

/* As a submit does with a job that has to wait. */
static void ork_dependency_test_arm(struct ork_dependency_setup *setup)
{
	struct ork_device *ork = &setup->board->ork;

	spin_lock_irq(&ork->lock);
	setup->job->waits = true;
	list_add_tail(&setup->job->link, &ork->waiting);
	spin_unlock_irq(&ork->lock);
	ork_dependencies_arm(setup->job);
}

static void job_that_names_nothing_waits_for_nothing(struct kunit *test)
{
	struct ork_dependency_setup *setup = ork_dependency_test_init(test);

	setup->job->num_bos = ORK_DEPENDENCY_TEST_BOS;
	setup->uses[0].read = true;
	setup->uses[1].write = true;
	ork_dependency_test_collect(test, setup, NULL, 0, true);
	KUNIT_EXPECT_EQ(test, setup->job->num_dependencies, 0);
	KUNIT_EXPECT_FALSE(test, ork_dependencies_failed(setup->job));
}

struct ork_dependency_implicit {
	const char *name;
	enum dma_resv_usage usage;
	bool read;
	bool write;
	bool waits;
	bool input;
};

/* What an earlier job is to an object, and what this one is to it. */
static const struct ork_dependency_implicit ork_dependency_implicits[] = {
	{ "read after write", DMA_RESV_USAGE_WRITE, true, false, true, true },
	{ "write after write", DMA_RESV_USAGE_WRITE, false, true, true, false },
	{ "change after write", DMA_RESV_USAGE_WRITE, true, true, true, true },
	{ "read after read", DMA_RESV_USAGE_READ, true, false, false, false },
	{ "write after read", DMA_RESV_USAGE_READ, false, true, true, false },
	{ "change after read", DMA_RESV_USAGE_READ, true, true, true, false },
	{ "read after the kernel moved it", DMA_RESV_USAGE_KERNEL, true, false, true, true },
	{ "write after the kernel moved it", DMA_RESV_USAGE_KERNEL, false, true, true, false },
	{ "read after bookkeeping", DMA_RESV_USAGE_BOOKKEEP, true, false, false, false },
	{ "change after bookkeeping", DMA_RESV_USAGE_BOOKKEEP, true, true, false, false },
};

KUNIT_ARRAY_PARAM_DESC(ork_dependency_implicits, ork_dependency_implicits, name);

static void job_needs_what_it_reads_and_comes_after_the_rest(struct kunit *test)
{
	const struct ork_dependency_implicit *implicit = test->param_value;
	struct ork_dependency_setup *setup = ork_dependency_test_init(test);
	struct dma_fence *fence = ork_test_fence(test);
	struct ork_job *job = setup->job;

	ork_dependency_test_use(test, &setup->bos[0], fence, implicit->usage);
	job->num_bos = 1;
	setup->uses[0].read = implicit->read;
	setup->uses[0].write = implicit->write;
	ork_dependency_test_collect(test, setup, NULL, 0, true);
	KUNIT_ASSERT_EQ(test, job->num_dependencies, implicit->waits);
	if (!implicit->waits)
		return;
	KUNIT_EXPECT_PTR_EQ(test, job->dependencies[0].fence, fence);
	KUNIT_EXPECT_EQ(test, job->dependencies[0].input, implicit->input);

	ork_dependency_test_end(fence, -EIO);
	KUNIT_EXPECT_EQ(test, ork_dependencies_failed(job), implicit->input);
}

static void explicit_submit_waits_for_nobody_that_it_does_not_name(struct kunit *test)
{
	struct ork_dependency_setup *setup = ork_dependency_test_init(test);
	struct dma_fence *named = ork_test_fence(test);

	ork_dependency_test_use(test, &setup->bos[0], ork_test_fence(test), DMA_RESV_USAGE_WRITE);
	setup->job->num_bos = 1;
	setup->uses[0].write = true;
	ork_dependency_test_collect(test, setup, &named, 1, false);
	KUNIT_ASSERT_EQ(test, setup->job->num_dependencies, 1);
	KUNIT_EXPECT_PTR_EQ(test, setup->job->dependencies[0].fence, named);
	KUNIT_EXPECT_TRUE(test, setup->job->dependencies[0].input);
}

/* Its failure could be known to the caller, who submitted all the same. */
static void writer_that_has_ended_is_no_reason_to_wait_or_to_fail(struct kunit *test)
{
	struct ork_dependency_setup *setup = ork_dependency_test_init(test);
	struct dma_fence *fence = ork_test_fence(test);

	ork_dependency_test_use(test, &setup->bos[0], fence, DMA_RESV_USAGE_WRITE);
	ork_dependency_test_end(fence, -EIO);
	setup->job->num_bos = 1;
	setup->uses[0].read = true;
	ork_dependency_test_collect(test, setup, NULL, 0, true);
	KUNIT_EXPECT_EQ(test, setup->job->num_dependencies, 0);
	KUNIT_EXPECT_FALSE(test, ork_dependencies_failed(setup->job));
}

static void named_fence_that_has_failed_fails_the_job(struct kunit *test)
{
	struct ork_dependency_setup *setup = ork_dependency_test_init(test);
	struct dma_fence *fences[] = { ork_test_fence(test), ork_test_fence(test) };

	ork_dependency_test_end(fences[1], -EIO);
	ork_dependency_test_collect(test, setup, fences, 2, false);
	ork_dependency_test_end(fences[0], 0);
	KUNIT_EXPECT_TRUE(test, ork_dependencies_failed(setup->job));
}

/* Whichever object, or caller, names it first. */
static void fence_that_is_met_twice_is_waited_for_once_and_needed_if_ever(struct kunit *test)
{
	unsigned int reads;

	for (reads = 0; reads < ORK_DEPENDENCY_TEST_BOS; reads++) {
		struct ork_dependency_setup *setup = ork_dependency_test_init(test);
		struct dma_fence *fence = ork_test_fence(test);
		struct ork_job *job = setup->job;
		unsigned int i;

		job->num_bos = ORK_DEPENDENCY_TEST_BOS;
		for (i = 0; i < ORK_DEPENDENCY_TEST_BOS; i++) {
			ork_dependency_test_use(test, &setup->bos[i], fence, DMA_RESV_USAGE_WRITE);
			setup->uses[i].write = true;
			setup->uses[i].read = i == reads;
		}
		ork_dependency_test_collect(test, setup, NULL, 0, true);
		KUNIT_EXPECT_EQ(test, job->num_dependencies, 1);
		KUNIT_EXPECT_TRUE(test, job->dependencies[0].input);
	}
}

static void dependencies_hold_each_fence_once(struct kunit *test)
{
	struct ork_dependency_setup *setup = ork_dependency_test_init(test);
	struct dma_fence *a = ork_test_fence(test), *b = ork_test_fence(test);
	struct dma_fence *fences[] = { b, a, b, a, a };
	struct ork_job *job = setup->job;

	ork_dependency_test_collect(test, setup, fences, ARRAY_SIZE(fences), false);
	KUNIT_ASSERT_EQ(test, job->num_dependencies, 2);
	KUNIT_EXPECT_NE(test, (unsigned long)job->dependencies[0].fence,
			(unsigned long)job->dependencies[1].fence);
	KUNIT_EXPECT_EQ(test, kref_read(&a->refcount), 2);
	KUNIT_EXPECT_EQ(test, kref_read(&b->refcount), 2);
}

struct ork_dependency_order {
	const char *name;
	unsigned int order[3];
	/* How many of these have signalled before the job waits. */
	unsigned int before;
};

static const struct ork_dependency_order ork_dependency_orders[] = {
	{ "0, 1, 2", { 0, 1, 2 }, 0 }, { "0, 2, 1", { 0, 2, 1 }, 0 },
	{ "1, 0, 2", { 1, 0, 2 }, 0 }, { "1, 2, 0", { 1, 2, 0 }, 0 },
	{ "2, 0, 1", { 2, 0, 1 }, 0 }, { "2, 1, 0", { 2, 1, 0 }, 0 },
	{ "1 already, 0, 2", { 1, 0, 2 }, 1 },
	{ "2 and 1 already, 0", { 2, 1, 0 }, 2 },
	{ "all already", { 0, 1, 2 }, 3 },
};

KUNIT_ARRAY_PARAM_DESC(ork_dependency_orders, ork_dependency_orders, name);

static void job_is_ready_with_the_last_signal_and_not_before(struct kunit *test)
{
	const struct ork_dependency_order *order = test->param_value;
	struct ork_dependency_setup *setup = ork_dependency_test_init(test);
	struct dma_fence *fences[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		fences[i] = ork_test_fence(test);
	ork_dependency_test_collect(test, setup, fences, 3, false);
	for (i = 0; i < order->before; i++)
		ork_dependency_test_end(fences[order->order[i]], 0);
	ork_dependency_test_arm(setup);
	for (; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, setup->job->waits);
		KUNIT_EXPECT_TRUE(test, list_empty(&setup->board->ork.ready));
		ork_dependency_test_end(fences[order->order[i]], 0);
	}
	KUNIT_EXPECT_FALSE(test, setup->job->waits);
	KUNIT_EXPECT_TRUE(test, list_empty(&setup->board->ork.waiting));
	KUNIT_EXPECT_PTR_EQ(test, setup->board->ork.ready.next, &setup->job->link);
}

/* A signal that comes after a close finds a job that waits no more. */
static void job_that_was_taken_back_does_not_become_ready(struct kunit *test)
{
	struct ork_dependency_setup *setup = ork_dependency_test_init(test);
	struct ork_device *ork = &setup->board->ork;
	struct dma_fence *fence = ork_test_fence(test);

	ork_dependency_test_collect(test, setup, &fence, 1, false);
	ork_dependency_test_arm(setup);
	spin_lock_irq(&ork->lock);
	setup->job->waits = false;
	list_del_init(&setup->job->link);
	spin_unlock_irq(&ork->lock);
	ork_dependency_test_end(fence, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&ork->ready));
}

static struct kunit_case ork_dependency_cases[] = {
	KUNIT_CASE(job_that_names_nothing_waits_for_nothing),
	KUNIT_CASE_PARAM(job_needs_what_it_reads_and_comes_after_the_rest,
			 ork_dependency_implicits_gen_params),
	KUNIT_CASE(explicit_submit_waits_for_nobody_that_it_does_not_name),
	KUNIT_CASE(writer_that_has_ended_is_no_reason_to_wait_or_to_fail),
	KUNIT_CASE(named_fence_that_has_failed_fails_the_job),
	KUNIT_CASE(fence_that_is_met_twice_is_waited_for_once_and_needed_if_ever),
	KUNIT_CASE(dependencies_hold_each_fence_once),
	KUNIT_CASE_PARAM(job_is_ready_with_the_last_signal_and_not_before,
			 ork_dependency_orders_gen_params),
	KUNIT_CASE(job_that_was_taken_back_does_not_become_ready),
	{ }
};

static struct kunit_suite ork_dependency_suite = {
	.name = "ork_dependency",
	.test_cases = ork_dependency_cases,
};

kunit_test_suite(ork_dependency_suite);

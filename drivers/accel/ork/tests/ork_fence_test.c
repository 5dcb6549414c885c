// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fences ended, and when the jobs behind them ran.
 */

#include <linux/dma-fence-array.h>
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>

#include <drm/ork_drm.h>

#include <kunit/test.h>

#include "ork_test_board.h"

#include "../ork_compat.h"
#include "../ork_fence.h"

static void ork_fence_test_put(void *fence)
{
	dma_fence_put(fence);
}

/* Somebody's fence that has signalled. */
static struct dma_fence *ork_fence_test_signalled(struct kunit *test, int error)
{
	struct dma_fence *fence = ork_test_fence(test);

	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
	return fence;
}

static struct dma_fence *ork_fence_test_pair(struct kunit *test, struct dma_fence *first,
					     struct dma_fence *second)
{
	struct dma_fence **fences = kcalloc(2, sizeof(*fences), GFP_KERNEL);
	struct dma_fence_array *array;

	KUNIT_ASSERT_NOT_NULL(test, fences);
	fences[0] = dma_fence_get(first);
	fences[1] = dma_fence_get(second);
	array = ork_compat_fence_array(2, fences);
	KUNIT_ASSERT_NOT_NULL(test, array);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_fence_test_put, &array->base), 0);
	return &array->base;
}

/* A point of a timeline, and the one before it. */
static struct dma_fence *ork_fence_test_point(struct kunit *test, struct dma_fence *before,
					      struct dma_fence *fence, u64 point)
{
	struct dma_fence_chain *chain = dma_fence_chain_alloc();

	KUNIT_ASSERT_NOT_NULL(test, chain);
	dma_fence_chain_init(chain, dma_fence_get(before), dma_fence_get(fence), point);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_fence_test_put, &chain->base), 0);
	return &chain->base;
}

/* One of this driver. */
static struct ork_fence *ork_fence_test_job(struct kunit *test, u32 cores, u64 begin, u64 end,
					    u64 busy)
{
	struct ork_fence *fence = ork_fence_create();

	KUNIT_ASSERT_NOT_NULL(test, fence);
	fence->cores = cores;
	fence->begin_ns = begin;
	fence->end_ns = end;
	fence->busy_ns = busy;
	dma_fence_signal(&fence->base);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_fence_test_put, &fence->base), 0);
	return fence;
}

static void fence_tells_its_own_error(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ork_fence_error(ork_fence_test_signalled(test, 0)), 0);
	KUNIT_EXPECT_EQ(test, ork_fence_error(ork_fence_test_signalled(test, -EIO)), -EIO);
}

struct ork_fence_errors {
	const char *name;
	int first;
	int second;
	int result;
};

static const struct ork_fence_errors ork_fence_errors[] = {
	{ "neither failed", 0, 0, 0 },
	{ "the first failed", -EIO, 0, -EIO },
	{ "the second failed", 0, -ETIMEDOUT, -ETIMEDOUT },
	{ "both failed", -EFAULT, -EIO, -EFAULT },
	{ "both failed, the other way round", -EIO, -EFAULT, -EIO },
};

KUNIT_ARRAY_PARAM_DESC(ork_fence_errors, ork_fence_errors, name);

static void several_fences_tell_the_first_error(struct kunit *test)
{
	const struct ork_fence_errors *errors = test->param_value;
	struct dma_fence *pair;

	pair = ork_fence_test_pair(test, ork_fence_test_signalled(test, errors->first),
				   ork_fence_test_signalled(test, errors->second));
	KUNIT_EXPECT_EQ(test, ork_fence_error(pair), errors->result);
}

/* A timeline's later points are not spoiled by an earlier failure. */
static void point_of_a_timeline_tells_nothing_of_those_before(struct kunit *test)
{
	const struct ork_fence_errors *errors = test->param_value;
	struct dma_fence *first, *second;

	first = ork_fence_test_point(test, NULL, ork_fence_test_signalled(test, errors->first), 1);
	second = ork_fence_test_point(test, first, ork_fence_test_signalled(test, errors->second),
				      2);
	KUNIT_EXPECT_EQ(test, ork_fence_error(first), errors->first);
	KUNIT_EXPECT_EQ(test, ork_fence_error(second), errors->second);
}

static void point_with_several_fences_tells_the_first_error(struct kunit *test)
{
	const struct ork_fence_errors *errors = test->param_value;
	struct dma_fence *pair, *point;

	pair = ork_fence_test_pair(test, ork_fence_test_signalled(test, errors->first),
				   ork_fence_test_signalled(test, errors->second));
	point = ork_fence_test_point(test, NULL, pair, 1);
	KUNIT_EXPECT_EQ(test, ork_fence_error(point), errors->result);
}

/* Jobs end in any order, which fences of one context may not. */
static void every_job_has_a_fence_in_a_context_of_its_own(struct kunit *test)
{
	struct ork_fence *first = ork_fence_test_job(test, 1, 0, 0, 0);
	struct ork_fence *second = ork_fence_test_job(test, 1, 0, 0, 0);

	KUNIT_EXPECT_NE(test, first->base.context, second->base.context);
}

static void times_of_jobs_are_from_the_first_begin_to_the_last_end(struct kunit *test)
{
	struct ork_fence *early = ork_fence_test_job(test, 1, 100, 900, 300);
	struct ork_fence *late = ork_fence_test_job(test, 4, 200, 700, 400);
	struct drm_ork_wait wait = { };

	ork_fence_times(ork_fence_test_pair(test, &late->base, &early->base), &wait);
	KUNIT_EXPECT_EQ(test, wait.cores, 5);
	KUNIT_EXPECT_EQ(test, wait.begin_ns, 100);
	KUNIT_EXPECT_EQ(test, wait.end_ns, 900);
	KUNIT_EXPECT_EQ(test, wait.busy_ns, 700);
}

static void job_that_no_core_ran_has_no_times(struct kunit *test)
{
	struct ork_fence *dropped = ork_fence_test_job(test, 0, 5, 5000, 5);
	struct ork_fence *ran = ork_fence_test_job(test, 2, 100, 900, 300);
	struct drm_ork_wait wait = { };

	ork_fence_times(&dropped->base, &wait);
	KUNIT_EXPECT_EQ(test, wait.begin_ns, 0);
	KUNIT_EXPECT_EQ(test, wait.end_ns, 0);
	ork_fence_times(ork_fence_test_pair(test, &dropped->base, &ran->base), &wait);
	KUNIT_EXPECT_EQ(test, wait.cores, 2);
	KUNIT_EXPECT_EQ(test, wait.begin_ns, 100);
	KUNIT_EXPECT_EQ(test, wait.end_ns, 900);
	KUNIT_EXPECT_EQ(test, wait.busy_ns, 300);
}

static void fence_of_another_driver_has_no_times(struct kunit *test)
{
	struct ork_fence *ran = ork_fence_test_job(test, 1, 100, 900, 300);
	struct drm_ork_wait wait = { };

	ork_fence_times(ork_fence_test_pair(test, ork_fence_test_signalled(test, 0), &ran->base),
			&wait);
	KUNIT_EXPECT_EQ(test, wait.cores, 1);
	KUNIT_EXPECT_EQ(test, wait.begin_ns, 100);
	KUNIT_EXPECT_EQ(test, wait.busy_ns, 300);
}

static struct kunit_case ork_fence_cases[] = {
	KUNIT_CASE(fence_tells_its_own_error),
	KUNIT_CASE_PARAM(several_fences_tell_the_first_error, ork_fence_errors_gen_params),
	KUNIT_CASE_PARAM(point_of_a_timeline_tells_nothing_of_those_before,
			 ork_fence_errors_gen_params),
	KUNIT_CASE_PARAM(point_with_several_fences_tells_the_first_error,
			 ork_fence_errors_gen_params),
	KUNIT_CASE(every_job_has_a_fence_in_a_context_of_its_own),
	KUNIT_CASE(times_of_jobs_are_from_the_first_begin_to_the_last_end),
	KUNIT_CASE(job_that_no_core_ran_has_no_times),
	KUNIT_CASE(fence_of_another_driver_has_no_times),
	{ }
};

static struct kunit_suite ork_fence_suite = {
	.name = "ork_fence",
	.test_cases = ork_fence_cases,
};

kunit_test_suite(ork_fence_suite);

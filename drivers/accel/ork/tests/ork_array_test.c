// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays from user memory: their shape, their contents, and elements of later versions.
 */

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>

#include <drm/ork_drm.h>

#include <kunit/test.h>

#include "../ork_array.h"

struct ork_array_element {
	u64 a;
	u64 b;
};

#define SIZE	sizeof(struct ork_array_element)

/* A page of user memory, with nothing mapped behind it. */
static u64 ork_array_test_page(struct kunit *test)
{
	unsigned long page = kunit_vm_mmap(test, NULL, 0, 2 * PAGE_SIZE, PROT_READ | PROT_WRITE,
					   MAP_ANONYMOUS | MAP_PRIVATE, 0);

	KUNIT_ASSERT_NE_MSG(test, page, 0, "no user memory");
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(page));
	KUNIT_ASSERT_EQ(test, vm_munmap(page + PAGE_SIZE, PAGE_SIZE), 0);
	return page;
}

static void ork_array_test_put(struct kunit *test, u64 at, u64 value)
{
	KUNIT_ASSERT_EQ(test, put_user(value, (u64 __user *)u64_to_user_ptr(at)), 0);
}

static void *ork_array_test_copy(u64 ptr, u32 count, u32 stride, u32 max)
{
	struct drm_ork_array array = { .ptr = ptr, .count = count, .stride = stride };

	return ork_array_copy(NULL, "elements", &array, SIZE, max);
}

static void ork_array_test_expect_error(struct kunit *test, void *copy, int error)
{
	KUNIT_EXPECT_PTR_EQ(test, copy, ERR_PTR(error));
	if (!IS_ERR_OR_NULL(copy))
		kvfree(copy);
}

struct ork_array_shape {
	const char *name;
	u32 count;
	u32 stride;
	bool good;
};

/* Of elements of 16 bytes, 10 at most. */
static const struct ork_array_shape ork_array_shapes[] = {
	{ "one element", 1, 16, true },
	{ "as many as are allowed", 10, 16, true },
	{ "one more than is allowed", 11, 16, false },
	{ "so many that their bytes wrap", U32_MAX, 16, false },
	{ "stride of 0", 1, 0, false },
	{ "stride that is shorter than an element", 1, 8, false },
	{ "stride that is no multiple of 8", 1, 20, false },
	{ "stride that is a multiple of 8", 1, 24, true },
	{ "longest stride", 1, 4096, true },
	{ "stride that is too long", 1, 4104, false },
	{ "stride that is far too long", 1, U32_MAX - 7, false },
};

KUNIT_ARRAY_PARAM_DESC(ork_array_shapes, ork_array_shapes, name);

static void shape_decides_before_memory_is_read(struct kunit *test)
{
	const struct ork_array_shape *shape = test->param_value;
	/* Whoever reads it gets -EFAULT. */
	u64 nowhere = ork_array_test_page(test) + PAGE_SIZE;

	ork_array_test_expect_error(test, ork_array_test_copy(nowhere, shape->count, shape->stride,
							      10),
				    shape->good ? -EFAULT : -EINVAL);
}

static void empty_array_is_nothing_whatever_else_it_says(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, ork_array_test_copy(0, 0, 0, 10));
	KUNIT_EXPECT_NULL(test, ork_array_test_copy(U64_MAX, 0, 3, 0));
}

static void elements_come_in_their_order(struct kunit *test)
{
	u64 page = ork_array_test_page(test);
	struct ork_array_element *copy;
	u64 i;

	for (i = 0; i < 6; i++)
		ork_array_test_put(test, page + 8 * i, 100 + i);
	copy = ork_array_test_copy(page, 3, SIZE, 3);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, copy[i].a, 100 + 2 * i);
		KUNIT_EXPECT_EQ(test, copy[i].b, 101 + 2 * i);
	}
	kvfree(copy);
}

static void elements_of_a_later_version_lose_zeros_only(struct kunit *test)
{
	u64 page = ork_array_test_page(test);
	struct ork_array_element *copy;
	u64 i;

	for (i = 0; i < 3; i++) {
		ork_array_test_put(test, page + 40 * i, 100 + i);
		ork_array_test_put(test, page + 40 * i + 8, 200 + i);
	}
	copy = ork_array_test_copy(page, 3, 40, 3);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, copy);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, copy[i].a, 100 + i);
		KUNIT_EXPECT_EQ(test, copy[i].b, 200 + i);
	}
	kvfree(copy);
}

/* Each byte that is not known counts, in each of the elements. */
static void anything_unknown_that_is_not_zero_is_too_big(struct kunit *test)
{
	u64 page = ork_array_test_page(test);
	u32 at;

	for (at = 0; at < 3 * 24; at++) {
		u8 __user *byte = u64_to_user_ptr(page + at);
		bool known = at % 24 < SIZE;
		void *copy;

		KUNIT_ASSERT_EQ(test, put_user(1, byte), 0);
		copy = ork_array_test_copy(page, 3, 24, 3);
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR_OR_ZERO(copy), known ? 0 : -E2BIG,
				    "byte %u is set", at);
		if (!IS_ERR(copy))
			kvfree(copy);
		KUNIT_ASSERT_EQ(test, put_user(0, byte), 0);
	}
}

static void nothing_is_read_behind_the_last_element(struct kunit *test)
{
	u64 end = ork_array_test_page(test) + PAGE_SIZE;
	void *copy;

	copy = ork_array_test_copy(end - 4 * SIZE, 4, SIZE, 4);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, copy);
	if (!IS_ERR(copy))
		kvfree(copy);
	copy = ork_array_test_copy(end - 4 * 64, 4, 64, 4);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, copy);
	if (!IS_ERR(copy))
		kvfree(copy);
}

static void array_that_is_mapped_in_part_is_a_fault(struct kunit *test)
{
	u64 end = ork_array_test_page(test) + PAGE_SIZE;

	ork_array_test_expect_error(test, ork_array_test_copy(end - 4 * SIZE + 8, 4, SIZE, 4),
				    -EFAULT);
	/* All that is known of the last element is there. */
	ork_array_test_expect_error(test, ork_array_test_copy(end - 3 * 64 - 32, 4, 64, 4),
				    -EFAULT);
}

static void address_that_no_user_has_is_a_fault(struct kunit *test)
{
	/* User memory has to be there at all, for the kernel's own threads have none. */
	ork_array_test_page(test);
	ork_array_test_expect_error(test, ork_array_test_copy((u64)(uintptr_t)test, 1, SIZE, 1),
				    -EFAULT);
	ork_array_test_expect_error(test, ork_array_test_copy((u64)(uintptr_t)test, 1, 64, 1),
				    -EFAULT);
	ork_array_test_expect_error(test, ork_array_test_copy(U64_MAX - 7, 2, SIZE, 2), -EFAULT);
}

static struct kunit_case ork_array_cases[] = {
	KUNIT_CASE_PARAM(shape_decides_before_memory_is_read, ork_array_shapes_gen_params),
	KUNIT_CASE(empty_array_is_nothing_whatever_else_it_says),
	KUNIT_CASE(elements_come_in_their_order),
	KUNIT_CASE(elements_of_a_later_version_lose_zeros_only),
	KUNIT_CASE(anything_unknown_that_is_not_zero_is_too_big),
	KUNIT_CASE(nothing_is_read_behind_the_last_element),
	KUNIT_CASE(array_that_is_mapped_in_part_is_a_fault),
	KUNIT_CASE(address_that_no_user_has_is_a_fault),
	{ }
};

static struct kunit_suite ork_array_suite = {
	.name = "ork_array",
	.test_cases = ork_array_cases,
};

kunit_test_suite(ork_array_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses in a space, and when an IOMMU may change hands.
 */

#include <linux/sizes.h>

#include <drm/drm_mm.h>

#include <kunit/test.h>

#include "ork_test_board.h"

#include "../ork_mmu.h"

/* The uapi's: 4 GiB, less the first page and the guard page behind the last object. */
#define ORK_MMU_TEST_FIRST	SZ_4K
#define ORK_MMU_TEST_LAST	0xffffefffULL
#define ORK_MMU_TEST_LARGEST	(SZ_4G - 2 * SZ_4K)

/* What a test gives an address in, and what it gives back at its end. */
struct ork_mmu_space {
	struct ork_vm vm;
	struct drm_mm_node nodes[80];
};

static void ork_mmu_test_empty(void *data)
{
	struct ork_mmu_space *space = data;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(space->nodes); i++)
		if (drm_mm_node_allocated(&space->nodes[i]))
			drm_mm_remove_node(&space->nodes[i]);
	drm_mm_takedown(&space->vm.mm);
	mutex_destroy(&space->vm.lock);
}

static struct ork_mmu_space *ork_mmu_test_space(struct kunit *test)
{
	struct ork_mmu_space *space = kunit_kzalloc(test, sizeof(*space), GFP_KERNEL);

	if (PAGE_SIZE != SZ_4K)
		kunit_skip(test, "the numbers are those of pages of 4 KiB");
	KUNIT_ASSERT_NOT_NULL(test, space);
	mutex_init(&space->vm.lock);
	ork_vm_init_room(&space->vm.mm);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_mmu_test_empty, space), 0);
	return space;
}

static int ork_mmu_test_take(struct ork_mmu_space *space, unsigned int node, u64 size)
{
	return ork_vm_take_room(&space->vm.mm, &space->nodes[node], size);
}

static void largest_object_fills_the_space(struct kunit *test)
{
	struct ork_mmu_space *space = ork_mmu_test_space(test);

	KUNIT_ASSERT_EQ(test, ork_mmu_test_take(space, 0, ORK_MMU_TEST_LARGEST), 0);
	KUNIT_EXPECT_EQ(test, space->nodes[0].start, ORK_MMU_TEST_FIRST);
	KUNIT_EXPECT_EQ(test, space->nodes[0].start + ORK_MMU_TEST_LARGEST - 1, ORK_MMU_TEST_LAST);
	KUNIT_EXPECT_EQ(test, ork_mmu_test_take(space, 1, SZ_4K), -ENOSPC);
}

struct ork_mmu_size {
	const char *name;
	u64 size;
	bool fits;
};

static const struct ork_mmu_size ork_mmu_sizes[] = {
	{ "a page", SZ_4K, true },
	{ "the largest", ORK_MMU_TEST_LARGEST, true },
	{ "a page more than the largest", ORK_MMU_TEST_LARGEST + SZ_4K, false },
	{ "4 GiB", SZ_4G, false },
	{ "all but a page of 64 bits", U64_MAX - SZ_4K + 1, false },
	{ "64 bits of ones", U64_MAX, false },
	{ "what wraps to a page", U64_MAX - SZ_4K + 1 + SZ_4K / 2, false },
};

KUNIT_ARRAY_PARAM_DESC(ork_mmu_sizes, ork_mmu_sizes, name);

static void size_that_cannot_fit_has_no_room(struct kunit *test)
{
	struct ork_mmu_space *space = ork_mmu_test_space(test);
	const struct ork_mmu_size *size = test->param_value;

	KUNIT_EXPECT_EQ(test, ork_vm_has_room(&space->vm, size->size), size->fits);
	KUNIT_EXPECT_EQ(test, ork_mmu_test_take(space, 0, size->size), size->fits ? 0 : -ENOSPC);
}

static void look_for_room_takes_none(struct kunit *test)
{
	struct ork_mmu_space *space = ork_mmu_test_space(test);
	unsigned int i;

	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, ork_vm_has_room(&space->vm, ORK_MMU_TEST_LARGEST));
	KUNIT_EXPECT_TRUE(test, drm_mm_clean(&space->vm.mm));
}

/* Of objects with their guard pages, in whatever order they lie. */
static void every_object_has_an_unused_page_behind_it(struct kunit *test)
{
	static const u64 sizes[] = { SZ_4K, SZ_64K, SZ_1M, 3 * SZ_4K, SZ_4K, SZ_16M + SZ_4K };
	struct ork_mmu_space *space = ork_mmu_test_space(test);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_ASSERT_EQ(test, ork_mmu_test_take(space, i, sizes[i]), 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u64 start = space->nodes[i].start, guard = start + sizes[i];

		KUNIT_EXPECT_EQ(test, start % SZ_4K, 0);
		KUNIT_EXPECT_GE(test, start, (u64)SZ_4K);
		KUNIT_EXPECT_LE(test, guard + SZ_4K, SZ_4G);
		for (j = 0; j < ARRAY_SIZE(sizes); j++)
			KUNIT_EXPECT_TRUE_MSG(test, i == j ||
					      guard + SZ_4K <= space->nodes[j].start ||
					      space->nodes[j].start + sizes[j] <= start,
					      "%u lies on %u or its guard page", j, i);
	}
}

/*
 * 4 GiB less the first page hold 63 times 64 MiB and a guard page, and then 64 MiB less 64 pages,
 * of which one is a guard page.
 */
static void space_that_is_full_has_room_again_for_what_leaves(struct kunit *test)
{
	struct ork_mmu_space *space = ork_mmu_test_space(test);
	const u64 rest = SZ_64M - 65 * SZ_4K;
	unsigned int i;

	for (i = 0; i < 63; i++)
		KUNIT_ASSERT_EQ_MSG(test, ork_mmu_test_take(space, i, SZ_64M), 0, "object %u", i);
	KUNIT_EXPECT_EQ(test, ork_mmu_test_take(space, 63, rest + SZ_4K), -ENOSPC);
	KUNIT_EXPECT_EQ(test, ork_mmu_test_take(space, 63, rest), 0);
	KUNIT_EXPECT_FALSE(test, ork_vm_has_room(&space->vm, SZ_4K));

	drm_mm_remove_node(&space->nodes[31]);
	KUNIT_EXPECT_FALSE(test, ork_vm_has_room(&space->vm, SZ_64M + SZ_4K));
	KUNIT_EXPECT_EQ(test, ork_mmu_test_take(space, 31, SZ_64M), 0);
	KUNIT_EXPECT_EQ(test, ork_mmu_test_take(space, 64, SZ_4K), -ENOSPC);
}

struct ork_mmu_use {
	const char *name;
	bool shared;
	u32 running;
	u32 recovering;
	/* The IOMMUs that are idle. */
	u32 idle;
};

/* With three cores. */
static const struct ork_mmu_use ork_mmu_uses[] = {
	{ "nobody", false, 0, 0, 7 },
	{ "one runs", false, 1, 0, 6 },
	{ "one runs, one is reset", false, 4, 2, 1 },
	{ "all run", false, 7, 0, 0 },
	{ "shared, nobody", true, 0, 0, 1 },
	{ "shared, the first runs", true, 1, 0, 0 },
	{ "shared, the last is reset", true, 0, 4, 0 },
};

KUNIT_ARRAY_PARAM_DESC(ork_mmu_uses, ork_mmu_uses, name);

static void mmu_is_idle_when_none_of_its_cores_uses_it(struct kunit *test)
{
	const struct ork_mmu_use *use = test->param_value;
	struct ork_board *board = ork_board_create(test, 3, use->shared);
	struct ork_job *job = ork_board_job(test, board, 0, DRM_ORK_PRIORITY_NORMAL, 7);
	struct ork_device *ork = &board->ork;
	unsigned int i;
	u32 idle = 0;

	spin_lock_irq(&ork->lock);
	for (i = 0; i < 3; i++) {
		ork->cores[i].job = use->running & BIT(i) ? job : NULL;
		ork->cores[i].recovering = use->recovering & BIT(i);
	}
	for (i = 0; i < ork->num_mmus; i++)
		if (ork_mmu_idle_locked(&ork->mmus[i]))
			idle |= BIT(i);
	spin_unlock_irq(&ork->lock);
	KUNIT_EXPECT_EQ(test, idle, use->idle);
}

static void switch_waits_for_a_reason_and_for_idle_cores(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_core *core = &board->ork.cores[0];
	struct ork_mmu *mmu = core->mmu;
	struct ork_vm *vm;

	KUNIT_EXPECT_FALSE(test, ork_mmu_begin_switch(mmu, &vm));
	core->recovering = true;
	mmu->stale = true;
	mmu->claim = &board->vms[1];
	KUNIT_EXPECT_FALSE(test, ork_mmu_begin_switch(mmu, &vm));
	KUNIT_EXPECT_NULL(test, vm);
	KUNIT_EXPECT_TRUE(test, mmu->stale);

	core->recovering = false;
	KUNIT_EXPECT_TRUE(test, ork_mmu_begin_switch(mmu, &vm));
	KUNIT_EXPECT_PTR_EQ(test, vm, &board->vms[1]);
	KUNIT_EXPECT_EQ(test, kref_read(&board->vms[1].ref), 2);
	KUNIT_EXPECT_TRUE(test, mmu->switching);
	KUNIT_EXPECT_FALSE(test, mmu->stale);
}

static void stale_mmu_that_nobody_claims_is_given_to_nobody(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_mmu *mmu = board->ork.cores[0].mmu;
	struct ork_vm *vm;

	mmu->stale = true;
	KUNIT_EXPECT_TRUE(test, ork_mmu_begin_switch(mmu, &vm));
	KUNIT_EXPECT_NULL(test, vm);
}

static struct kunit_case ork_mmu_cases[] = {
	KUNIT_CASE(largest_object_fills_the_space),
	KUNIT_CASE_PARAM(size_that_cannot_fit_has_no_room, ork_mmu_sizes_gen_params),
	KUNIT_CASE(look_for_room_takes_none),
	KUNIT_CASE(every_object_has_an_unused_page_behind_it),
	KUNIT_CASE(space_that_is_full_has_room_again_for_what_leaves),
	KUNIT_CASE_PARAM(mmu_is_idle_when_none_of_its_cores_uses_it, ork_mmu_uses_gen_params),
	KUNIT_CASE(switch_waits_for_a_reason_and_for_idle_cores),
	KUNIT_CASE(stale_mmu_that_nobody_claims_is_given_to_nobody),
	{ }
};

static struct kunit_suite ork_mmu_suite = {
	.name = "ork_mmu",
	.test_cases = ork_mmu_cases,
};

kunit_test_suite(ork_mmu_suite);

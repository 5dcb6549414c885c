// SPDX-License-Identifier: GPL-2.0-only
/*
 * The index from an object's pages to DMA addresses.
 */

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>

#include <kunit/test.h>

#include "../ork_gem.h"

#define SEGMENTS	3

struct ork_gem_table {
	const char *name;
	struct {
		u64 dma;
		u32 length;
	} segments[SEGMENTS];
	unsigned int pages;
	bool good;
};

#define P	PAGE_SIZE

/* A segment of no length ends the table. */
static const struct ork_gem_table ork_gem_tables[] = {
	{ "one page", { { 16 * P, P } }, 1, true },
	{ "one segment", { { 16 * P, 4 * P } }, 4, true },
	{ "segments in any order", { { 16 * P, P }, { 8 * P, 2 * P }, { 64 * P, P } }, 4, true },
	{ "segments that touch", { { 8 * P, P }, { 9 * P, P }, { 10 * P, P } }, 3, true },
	{ "above 4 GiB", { { 0x2f0000000ULL, 2 * P } }, 2, true },
	{ "begins inside a page", { { 16 * P + 64, P - 64 } }, 1, false },
	{ "ends inside a page", { { 16 * P, 2 * P - 64 } }, 2, false },
	{ "a whole page, but not at the begin of one", { { 16 * P + 64, P } }, 1, false },
	{ "a second segment inside a page", { { 16 * P, P }, { 8 * P + 8, P } }, 2, false },
	{ "a page too few", { { 16 * P, P }, { 8 * P, P } }, 3, false },
	{ "a page too many", { { 16 * P, P }, { 8 * P, P } }, 1, false },
	{ "far too many in one segment", { { 16 * P, 1024 * P } }, 1, false },
	{ "far too many in the last segment", { { 16 * P, P }, { 8 * P, 1024 * P } }, 2, false },
};

KUNIT_ARRAY_PARAM_DESC(ork_gem_tables, ork_gem_tables, name);

static void ork_gem_test_free(void *sgt)
{
	sg_free_table(sgt);
}

static struct sg_table *ork_gem_test_table(struct kunit *test, const struct ork_gem_table *table)
{
	struct sg_table *sgt = kunit_kzalloc(test, sizeof(*sgt), GFP_KERNEL);
	struct scatterlist *sg;
	unsigned int i, count = 0;

	while (count < SEGMENTS && table->segments[count].length)
		count++;
	KUNIT_ASSERT_NOT_NULL(test, sgt);
	KUNIT_ASSERT_EQ(test, sg_alloc_table(sgt, count, GFP_KERNEL), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, ork_gem_test_free, sgt), 0);
	for_each_sgtable_dma_sg(sgt, sg, i) {
		sg_dma_address(sg) = table->segments[i].dma;
		sg_dma_len(sg) = table->segments[i].length;
	}
	return sgt;
}

/* What an index must say of a page, counted from the table. */
static dma_addr_t ork_gem_test_page(const struct ork_gem_table *table, unsigned int page)
{
	unsigned int i, pages;

	for (i = 0;; i++, page -= pages) {
		pages = table->segments[i].length / PAGE_SIZE;
		if (page < pages)
			break;
	}
	return table->segments[i].dma + page * PAGE_SIZE + (page ? 0 : 1);
}

static void index_has_each_page_and_marks_where_segments_begin(struct kunit *test)
{
	const struct ork_gem_table *table = test->param_value;
	dma_addr_t *index = ork_gem_index(ork_gem_test_table(test, table),
					  table->pages * PAGE_SIZE);
	unsigned int i;

	if (!table->good) {
		KUNIT_EXPECT_PTR_EQ(test, (void *)index, ERR_PTR(-EINVAL));
		if (!IS_ERR(index))
			kvfree(index);
		return;
	}
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, index);
	for (i = 0; i < table->pages; i++)
		KUNIT_EXPECT_EQ_MSG(test, index[i], ork_gem_test_page(table, i), "page %u", i);
	kvfree(index);
}

static struct kunit_case ork_gem_cases[] = {
	KUNIT_CASE_PARAM(index_has_each_page_and_marks_where_segments_begin,
			 ork_gem_tables_gen_params),
	{ }
};

static struct kunit_suite ork_gem_suite = {
	.name = "ork_gem",
	.test_cases = ork_gem_cases,
};

kunit_test_suite(ork_gem_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which bytes an extent names, which lines they lie in, and in which runs these are maintained.
 */

#include <linux/bits.h>
#include <linux/sizes.h>

#include <drm/ork_drm.h>

#include <kunit/test.h>

#include "../ork_gem.h"
#include "../ork_sync.h"

#define READS	DRM_ORK_EXTENT_READ
#define WRITES	DRM_ORK_EXTENT_WRITE
#define TO	DRM_ORK_EXTENT_TO_DEVICE
#define FROM	DRM_ORK_EXTENT_FROM_DEVICE
#define NO_SYNC	DRM_ORK_EXTENT_NO_SYNC
#define CLEAN	DRM_ORK_EXTENT_CPU_CLEAN

struct ork_sync_check {
	const char *name;
	u32 flags;
	u32 rows;
	u64 offset;
	u64 length;
	u64 stride;
	int result;
};

/* In an object of 0x10000 bytes, with lines of 64. */
static const struct ork_sync_check ork_sync_checks[] = {
	{ "all of the object, to be read", READS, 1, 0, 0x10000, 0, 0 },
	{ "all of the object, to be written", WRITES, 1, 0, 0x10000, 0, 0 },
	{ "a byte too many", READS, 1, 0, 0x10001, 0, -EINVAL },
	{ "a byte too far", READS, 1, 1, 0x10000, 0, -EINVAL },
	{ "begins behind the end", READS, 1, 0x10001, 1, 0, -EINVAL },
	{ "nothing, far behind the end", READS, 1, U64_MAX, 0, 0, 0 },
	{ "nothing, in rows without a stride", WRITES, 9, 3, 0, 0, 0 },
	{ "last byte, read", READS, 1, 0xffff, 1, 0, 0 },
	{ "last line, written", WRITES, 1, 0xffc0, 64, 0, 0 },
	{ "last byte, written", WRITES, 1, 0xffff, 1, 0, -EINVAL },
	{ "read off a line", READS, 1, 63, 2, 0, 0 },
	{ "written from off a line", WRITES, 1, 63, 65, 0, -EINVAL },
	{ "written to off a line", FROM, 1, 64, 65, 0, -EINVAL },
	{ "cleaned off a line", TO, 1, 63, 2, 0, 0 },
	{ "no rows are one row", READS, 0, 0, 0x10000, 7, 0 },
	{ "one row has no stride", WRITES, 1, 0, 64, 7, 0 },
	{ "rows that touch", WRITES, 4, 0, 64, 64, 0 },
	{ "rows that overlap", READS, 2, 0, 64, 63, -EINVAL },
	{ "rows off a line, written", WRITES, 2, 0, 64, 96, -EINVAL },
	{ "rows off a line, read", READS, 2, 0, 64, 96, 0 },
	{ "rows of half a line, written", WRITES, 2, 0, 32, 64, -EINVAL },
	{ "last row ends with the object", READS, 16, 0x800, 0x800, 0x1000, 0 },
	{ "last row goes past the object", READS, 16, 0x801, 0x800, 0x1000, -EINVAL },
	{ "offset and length wrap", READS, 1, U64_MAX, 1, 0, -EOVERFLOW },
	{ "offset and length wrap to inside", READS, 1, U64_MAX - 63, 0x1000, 0, -EOVERFLOW },
	{ "rows and stride wrap", READS, 3, 0, 64, 1ULL << 63, -EOVERFLOW },
	{ "rows and stride wrap to 0", READS, 17, 0, 64, 1ULL << 60, -EOVERFLOW },
	{ "offset and last row wrap", READS, 2, U64_MAX, 64, 64, -EOVERFLOW },
	{ "last row and length wrap", READS, 2, 64, U64_MAX - 99, U64_MAX - 99, -EOVERFLOW },
	{ "most rows and longest stride", READS, U32_MAX, 0, 1, U64_MAX, -EOVERFLOW },
};

KUNIT_ARRAY_PARAM_DESC(ork_sync_checks, ork_sync_checks, name);

static void check_is_what_the_interface_says(struct kunit *test)
{
	const struct ork_sync_check *check = test->param_value;
	struct drm_ork_extent extent = {
		.flags = check->flags,
		.rows = check->rows,
		.offset = check->offset,
		.length = check->length,
		.stride = check->stride,
	};

	KUNIT_EXPECT_EQ(test, ork_extent_check(&extent, 0x10000, 64), check->result);
}

/* The rules once more, byte by byte and row by row. */
static bool ork_sync_is_good(const struct drm_ork_extent *extent, u64 size, u64 line)
{
	u64 row, byte;

	for (row = 0; row < max(extent->rows, 1U) && extent->length; row++) {
		u64 begin = extent->offset + row * extent->stride, end = begin + extent->length;

		if (row && extent->stride < extent->length)
			return false;
		for (byte = begin; byte < end; byte++)
			if (byte >= size)
				return false;
		if (!(extent->flags & (WRITES | FROM)))
			continue;
		if (begin % line || (end % line && end != size))
			return false;
	}
	return true;
}

/* Calls @1 for each small extent. */
static void ork_sync_each(struct kunit *test, u32 flags,
			  void (*call)(struct kunit *test, const struct drm_ork_extent *extent))
{
	struct drm_ork_extent extent = { .flags = flags };

	for (extent.offset = 0; extent.offset < 10; extent.offset++)
		for (extent.length = 0; extent.length < 10; extent.length++)
			for (extent.stride = 0; extent.stride < 14; extent.stride++)
				for (extent.rows = 0; extent.rows < 4; extent.rows++)
					call(test, &extent);
}

static void ork_sync_compare_check(struct kunit *test, const struct drm_ork_extent *extent)
{
	u64 size;

	for (size = 12; size <= 14; size += 2)
		KUNIT_EXPECT_EQ_MSG(test, !ork_extent_check(extent, size, 4),
				    ork_sync_is_good(extent, size, 4),
				    "flags %x offset %llu length %llu stride %llu rows %u in %llu",
				    extent->flags, extent->offset, extent->length, extent->stride,
				    extent->rows, size);
}

static void check_finds_what_a_look_at_each_byte_finds(struct kunit *test)
{
	ork_sync_each(test, READS, ork_sync_compare_check);
	ork_sync_each(test, WRITES, ork_sync_compare_check);
}

struct ork_sync_flags {
	const char *name;
	u32 flags;
	u32 known;
	u32 pad;
	int result;
};

#define SYNC	(TO | FROM)
#define JOB	(READS | WRITES | NO_SYNC | CLEAN)

static const struct ork_sync_flags ork_sync_flags[] = {
	{ "sync: to the device", TO, SYNC, 0, 0 },
	{ "sync: from the device", FROM, SYNC, 0, 0 },
	{ "sync: both ways", SYNC, SYNC, 0, 0 },
	{ "sync: neither way", 0, SYNC, 0, -EINVAL },
	{ "sync: a flag of jobs", TO | READS, SYNC, 0, -EOPNOTSUPP },
	{ "sync: a flag of nobody", TO | 0x40, SYNC, 0, -EOPNOTSUPP },
	{ "sync: padding", TO, SYNC, 1, -EINVAL },
	{ "job: read", READS, JOB, 0, 0 },
	{ "job: write", WRITES, JOB, 0, 0 },
	{ "job: read and write", READS | WRITES, JOB, 0, 0 },
	{ "job: not maintained", NO_SYNC, JOB, 0, 0 },
	{ "job: written and not maintained", WRITES | NO_SYNC, JOB, 0, 0 },
	{ "job: nothing", 0, JOB, 0, -EINVAL },
	{ "job: a flag of sync", READS | FROM, JOB, 0, -EOPNOTSUPP },
	{ "job: the highest bit", READS | BIT(31), JOB, 0, -EOPNOTSUPP },
	{ "job: padding", READS, JOB, BIT(31), -EINVAL },
	{ "job: clean before it is written", WRITES | CLEAN, JOB, 0, 0 },
	{ "job: clean alone", CLEAN, JOB, 0, -EINVAL },
	{ "job: clean before it is read", READS | CLEAN, JOB, 0, -EINVAL },
	{ "job: clean before both", READS | WRITES | CLEAN, JOB, 0, -EINVAL },
	{ "job: clean and not maintained", WRITES | NO_SYNC | CLEAN, JOB, 0, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(ork_sync_flags, ork_sync_flags, name);

static void flags_are_what_the_ioctl_knows(struct kunit *test)
{
	const struct ork_sync_flags *flags = test->param_value;
	struct drm_ork_extent extent = { .flags = flags->flags, .pad = flags->pad };

	KUNIT_EXPECT_EQ(test, ork_extent_check_flags(&extent, flags->known), flags->result);
}

struct ork_sync_walk {
	const char *name;
	u64 offset;
	u64 length;
	u64 stride;
	u32 rows;
	u32 count;
	struct ork_lines lines[3];
};

/* In an object of 1000 bytes, with lines of 64. */
static const struct ork_sync_walk ork_sync_walks[] = {
	{ "nothing", 100, 0, 0, 1, 0, { } },
	{ "nothing, in rows", 100, 0, 64, 9, 0, { } },
	{ "a byte", 100, 1, 0, 1, 1, { { 64, 128 } } },
	{ "a line", 128, 64, 0, 1, 1, { { 128, 192 } } },
	{ "two bytes of two lines", 127, 2, 0, 1, 1, { { 64, 192 } } },
	{ "end of an object that ends off a line", 990, 10, 0, 1, 1, { { 960, 1000 } } },
	{ "one row, whatever its stride is", 64, 64, 5, 1, 1, { { 64, 128 } } },
	{ "rows that touch", 64, 64, 64, 3, 1, { { 64, 256 } } },
	{ "rows with most of a line between them", 64, 65, 128, 3, 1, { { 64, 448 } } },
	{ "rows with a line between them", 64, 64, 128, 3, 3,
	  { { 64, 128 }, { 192, 256 }, { 320, 384 } } },
	{ "rows off lines, with the bytes of a line between them", 65, 64, 128, 2, 2,
	  { { 64, 192 }, { 192, 320 } } },
	{ "rows of a byte, far apart", 10, 1, 400, 3, 3,
	  { { 0, 64 }, { 384, 448 }, { 768, 832 } } },
};

KUNIT_ARRAY_PARAM_DESC(ork_sync_walks, ork_sync_walks, name);

static void walk_goes_from_line_to_line(struct kunit *test)
{
	const struct ork_sync_walk *walk = test->param_value;
	const struct ork_extent extent = {
		.offset = walk->offset,
		.length = walk->length,
		.stride = walk->stride,
		.rows = walk->rows,
	};
	u32 i;

	KUNIT_ASSERT_EQ(test, ork_extent_ranges(&extent, 64), walk->count);
	for (i = 0; i < walk->count; i++) {
		struct ork_lines lines = ork_extent_lines(&extent, 1000, 64, i);

		KUNIT_EXPECT_EQ_MSG(test, lines.begin, walk->lines[i].begin, "range %u", i);
		KUNIT_EXPECT_EQ_MSG(test, lines.end, walk->lines[i].end, "range %u", i);
	}
}

/* The lines that hold a named byte are in the walk, each once, ascending, and no others are. */
static void ork_sync_compare_walk(struct kunit *test, const struct drm_ork_extent *user)
{
	const struct ork_extent extent = {
		.offset = user->offset,
		.length = user->length,
		.stride = user->stride,
		.rows = max(user->rows, 1U),
	};
	unsigned long wanted = 0, walked = 0;
	const u32 line = 4, size = 50;
	u64 byte, row, last = 0;
	u32 i;

	if (ork_extent_check(user, size, line))
		return;
	for (row = 0; row < extent.rows; row++)
		for (byte = 0; byte < extent.length; byte++)
			wanted |= BIT((extent.offset + row * extent.stride + byte) / line);

	for (i = 0; i < ork_extent_ranges(&extent, line); i++) {
		struct ork_lines lines = ork_extent_lines(&extent, size, line, i);

		KUNIT_ASSERT_EQ(test, lines.begin % line, 0);
		KUNIT_ASSERT_TRUE(test, lines.end % line == 0 || lines.end == size);
		KUNIT_ASSERT_LT(test, lines.begin, lines.end);
		KUNIT_ASSERT_GE(test, lines.begin, last);
		KUNIT_ASSERT_LE(test, lines.end, (u64)size);
		for (byte = lines.begin; byte < lines.end; byte++)
			walked |= BIT(byte / line);
		last = lines.end;
	}
	KUNIT_EXPECT_EQ_MSG(test, walked, wanted, "offset %llu length %llu stride %llu rows %u",
			    extent.offset, extent.length, extent.stride, extent.rows);
}

static void walk_has_the_lines_of_named_bytes_once_and_no_others(struct kunit *test)
{
	ork_sync_each(test, READS, ork_sync_compare_walk);
}

#define ORK_SYNC_TEST_PAGES	8

static struct ork_bo *ork_sync_test_bo(struct kunit *test, unsigned int pages)
{
	struct ork_bo *bo = kunit_kzalloc(test, sizeof(*bo), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	bo->dma = kunit_kcalloc(test, pages, sizeof(*bo->dma), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bo->dma);
	return bo;
}

/*
 * Lays pages out: at each border between two of them nothing (0), the begin of a mapping that
 * follows in memory all the same (1), or a gap (2). Base 3, lowest border first.
 */
static void ork_sync_test_lay_out(struct ork_bo *bo, unsigned int borders)
{
	dma_addr_t dma = SZ_1G;
	unsigned int page;

	bo->dma[0] = dma | ORK_BO_SEGMENT;
	for (page = 1; page < ORK_SYNC_TEST_PAGES; page++, borders /= 3) {
		dma += (borders % 3 == 2 ? 3 : 1) * PAGE_SIZE;
		bo->dma[page] = dma | (borders % 3 ? ORK_BO_SEGMENT : 0);
	}
}

/* Goes through bytes of an object by runs. Returns how many it took. */
static unsigned int ork_sync_test_runs(struct kunit *test, struct ork_bo *bo, u64 offset,
				       u64 length)
{
	unsigned int runs;

	for (runs = 0; length; runs++) {
		size_t run = ork_bo_run(bo, offset, length);

		KUNIT_ASSERT_GT(test, run, 0);
		KUNIT_ASSERT_LE(test, (u64)run, length);
		offset += run;
		length -= run;
	}
	return runs;
}

static void run_ends_at_each_border_and_nowhere_else(struct kunit *test)
{
	static const struct { u64 first, last; } bytes[] = {
		{ 0, ORK_SYNC_TEST_PAGES * PAGE_SIZE - 1 },
		{ PAGE_SIZE - 1, 3 * PAGE_SIZE },
		{ PAGE_SIZE, 3 * PAGE_SIZE - 1 },
		{ 2 * PAGE_SIZE + 64, 2 * PAGE_SIZE + 127 },
		{ 100, 7 * PAGE_SIZE + 100 },
	};
	struct ork_bo *bo = ork_sync_test_bo(test, ORK_SYNC_TEST_PAGES);
	unsigned int borders, i;

	for (borders = 0; borders < 3 * 3 * 3 * 3 * 3 * 3 * 3; borders++) {
		ork_sync_test_lay_out(bo, borders);
		for (i = 0; i < ARRAY_SIZE(bytes); i++) {
			u64 first = bytes[i].first, last = bytes[i].last;
			u64 page = first / PAGE_SIZE;
			unsigned int wanted = 1;

			while (++page <= last / PAGE_SIZE)
				wanted += bo->dma[page] & ORK_BO_SEGMENT;
			KUNIT_EXPECT_EQ_MSG(test,
					    ork_sync_test_runs(test, bo, first, last - first + 1),
					    wanted, "borders %u bytes %u", borders, i);
		}
	}
}

/* So that a large object does not keep others from the processor. */
static void run_of_a_large_object_is_256_kib_and_a_page_at_most(struct kunit *test)
{
	const unsigned int pages = SZ_1M / PAGE_SIZE;
	struct ork_bo *bo = ork_sync_test_bo(test, pages);
	unsigned int i;

	for (i = 0; i < pages; i++)
		bo->dma[i] = SZ_1G + i * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, ork_bo_run(bo, 0, SZ_1M), SZ_256K);
	KUNIT_EXPECT_EQ(test, ork_sync_test_runs(test, bo, 0, SZ_1M), 4);
	KUNIT_EXPECT_LT(test, ork_bo_run(bo, 64, SZ_1M - 64), SZ_256K + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, ork_bo_run(bo, SZ_1M - 64, 64), 64);
}

static struct kunit_case ork_sync_cases[] = {
	KUNIT_CASE_PARAM(check_is_what_the_interface_says, ork_sync_checks_gen_params),
	KUNIT_CASE(check_finds_what_a_look_at_each_byte_finds),
	KUNIT_CASE_PARAM(flags_are_what_the_ioctl_knows, ork_sync_flags_gen_params),
	KUNIT_CASE_PARAM(walk_goes_from_line_to_line, ork_sync_walks_gen_params),
	KUNIT_CASE(walk_has_the_lines_of_named_bytes_once_and_no_others),
	KUNIT_CASE(run_ends_at_each_border_and_nowhere_else),
	KUNIT_CASE(run_of_a_large_object_is_256_kib_and_a_page_at_most),
	{ }
};

static struct kunit_suite ork_sync_suite = {
	.name = "ork_sync",
	.test_cases = ork_sync_cases,
};

kunit_test_suite(ork_sync_suite);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cache maintenance, by BO_SYNC and by submits: which ranges are taken, which bytes are maintained,
 * and what that costs.
 */
#include <pthread.h>
#include "ork_test.h"
#include "board.h"

#define TO	DRM_ORK_EXTENT_TO_DEVICE
#define FROM	DRM_ORK_EXTENT_FROM_DEVICE

#define PAGES	16

FIXTURE(sync) {
	int fd;
	struct bo bo;		/* PAGES pages of zeros, in memory too */
	volatile uint32_t *board;
};

FIXTURE_SETUP(sync)
{
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, bo_create(self->fd, PAGES * PAGE, &self->bo));
	self->board = board_open();
	board_behave(self->board);
}

FIXTURE_TEARDOWN(sync)
{
	board_behave(self->board);
	close(self->fd);
}

/* --- what is refused -------------------------------------------------------------------------- */

TEST_F(sync, sync_rejects_unknown_handle)
{
	struct drm_ork_extent e = extent(&self->bo, TO, 0, PAGE);

	EXPECT_REFUSED(ENOENT, e.handle, 0u, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(ENOENT, e.handle, 0xdeadbeefu, sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_rejects_closed_handle)
{
	struct bo bo;
	struct drm_ork_extent e;

	ASSERT_EQ(0, bo_create(self->fd, PAGE, &bo));
	e = extent(&bo, TO, 0, PAGE);
	EXPECT_EQ(0, sync_extents(self->fd, &e, 1));
	bo_close(self->fd, &bo);
	EXPECT_EQ(-ENOENT, sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_rejects_no_direction)
{
	struct drm_ork_extent e = extent(&self->bo, TO | FROM, 0, PAGE);

	EXPECT_REFUSED(EINVAL, e.flags, 0u, sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_rejects_flags_of_submit)
{
	struct drm_ork_extent e = extent(&self->bo, TO, 0, PAGE);

	EXPECT_REFUSED(EOPNOTSUPP, e.flags, (uint32_t)DRM_ORK_EXTENT_READ,
		       sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOPNOTSUPP, e.flags, (uint32_t)DRM_ORK_EXTENT_WRITE,
		       sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOPNOTSUPP, e.flags, (uint32_t)(TO | DRM_ORK_EXTENT_NO_SYNC),
		       sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOPNOTSUPP, e.flags, (uint32_t)(TO | DRM_ORK_EXTENT_CPU_CLEAN),
		       sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_rejects_range_past_the_end)
{
	struct drm_ork_extent e = extent(&self->bo, TO, PAGE, PAGE);

	EXPECT_REFUSED(EINVAL, e.offset, PAGES * PAGE, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.offset, (PAGES - 1) * PAGE + 1, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.length, (PAGES - 1) * PAGE + 1, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.length, 1ull << 63, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.offset, 1ull << 63, sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_rejects_rows_past_the_end)
{
	struct drm_ork_extent e = extent(&self->bo, TO, 0, 128);

	e.rows = PAGES;
	e.stride = PAGE;
	EXPECT_REFUSED(EINVAL, e.rows, PAGES + 1u, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.rows, ~0u, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.offset, PAGE - 127u, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.stride, 2 * PAGE, sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_rejects_wrapping_range)
{
	struct drm_ork_extent e = extent(&self->bo, TO, PAGE, PAGE);

	EXPECT_REFUSED(EOVERFLOW, e.offset, ~0ull, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOVERFLOW, e.offset, ~0ull - PAGE + 2, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOVERFLOW, e.length, ~0ull, sync_extents(self->fd, &e, 1));
	e = extent(&self->bo, TO, PAGE, 64);
	e.rows = 3;
	e.stride = 64;
	EXPECT_REFUSED(EOVERFLOW, e.stride, 1ull << 63, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOVERFLOW, e.stride, ~0ull, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOVERFLOW, e.stride, (1ull << 63) - 1, sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_rejects_stride_below_length)
{
	struct drm_ork_extent e = extent(&self->bo, TO, 0, 128);

	e.rows = 2;
	e.stride = 128;
	EXPECT_REFUSED(EINVAL, e.stride, 127u, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.stride, 0u, sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_ignores_stride_of_one_row)
{
	static const uint64_t strides[] = { 0, 1, 64, ~0ull };
	struct drm_ork_extent e = extent(&self->bo, TO, 0, 128);
	struct drm_ork_counters before = file_counters(self->fd);

	for (size_t i = 0; i < ARRAY_LENGTH(strides); i++) {
		e.stride = strides[i];
		e.rows = i % 2;
		EXPECT_EQ(0, sync_extents(self->fd, &e, 1));
	}
	if (device_info(self->fd).flags & DRM_ORK_DEVICE_COHERENT)
		return;
	EXPECT_EQ(128u * ARRAY_LENGTH(strides),
		  file_counters(self->fd).bytes_cleaned - before.bytes_cleaned);
}

TEST_F(sync, sync_rejects_device_writes_off_the_line)
{
	struct drm_ork_extent e = extent(&self->bo, FROM, 2 * LINE, 4 * LINE);

	EXPECT_REFUSED(EINVAL, e.offset, 2 * LINE + 1, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.offset, 2 * LINE - 8, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.length, 4 * LINE - 1, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.length, 1u, sync_extents(self->fd, &e, 1));
	e.rows = 2;
	e.stride = 8 * LINE;
	EXPECT_REFUSED(EINVAL, e.stride, 8 * LINE + 16, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.length, 4 * LINE + 32, sync_extents(self->fd, &e, 1));
	e.flags = TO | FROM;
	EXPECT_REFUSED(EINVAL, e.offset, 2 * LINE + 1, sync_extents(self->fd, &e, 1));
}

TEST_F(sync, sync_to_device_takes_any_bytes)
{
	for (uint64_t offset = 0; offset < 2 * LINE; offset += 7)
		for (uint64_t length = 1; length < 3 * LINE; length += 13)
			EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, offset, length));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, PAGES * PAGE - 1, 1));
}

TEST_F(sync, sync_of_the_objects_end_is_a_whole_line)
{
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, (PAGES - 1) * PAGE, PAGE));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, 0, PAGES * PAGE));
}

/* --- what is counted -------------------------------------------------------------------------- */

struct counted {
	uint64_t offset, length, stride;
	uint32_t rows, flags;
	uint64_t cleaned, invalidated;
};

/* Syncs the range: the bytes cleaned and invalidated by that. */
static int sync_counted(int fd, const struct bo *bo, const struct counted *row,
			struct counted *seen)
{
	struct drm_ork_extent e = extent(bo, row->flags, row->offset, row->length);
	struct drm_ork_counters before = file_counters(fd), after;
	int error;

	e.rows = row->rows;
	e.stride = row->stride;
	error = sync_extents(fd, &e, 1);
	after = file_counters(fd);
	seen->cleaned = after.bytes_cleaned - before.bytes_cleaned;
	seen->invalidated = after.bytes_invalidated - before.bytes_invalidated;
	return error;
}

TEST_F(sync, sync_maintains_exactly_the_lines_named)
{
	static const struct counted rows[] = {
		/* offset, length, stride, rows, flags, cleaned, invalidated */
		{ 1, 1, 0, 0, TO, 64, 0 },
		{ 0, 64, 0, 0, TO, 64, 0 },
		{ 63, 2, 0, 0, TO, 128, 0 },
		{ 64, 65, 0, 1, TO, 128, 0 },
		{ 100, 3000, 0, 0, TO, 3072, 0 },	/* 64..3136 */
		{ 4032, 128, 0, 0, TO, 128, 0 },	/* over a page's end */
		{ 4095, 2, 0, 0, TO, 128, 0 },
		{ 0, PAGES * PAGE, 0, 0, TO, PAGES * PAGE, 0 },
		{ PAGES * PAGE - 1, 1, 0, 0, TO, 64, 0 },
		{ 32, 32, 256, 4, TO, 256, 0 },
		{ 32, 64, 256, 4, TO, 512, 0 },
		{ 0, 16, 32, 4, TO, 128, 0 },		/* rows that share lines */
		{ 0, 64, 64, 16, TO, 1024, 0 },
		{ 128, 128, PAGE, PAGES, TO, 2048, 0 },
		{ 64, 128, 0, 0, FROM, 0, 128 },
		{ 64, 64, 192, 5, FROM, 0, 320 },
		{ 4032, 128, 0, 0, FROM, 0, 128 },
		{ 64, 128, 0, 0, TO | FROM, 128, 128 },
		{ 64, 0, 0, 0, TO, 0, 0 },
		{ 1, 0, 0, 0, FROM, 0, 0 },
		{ 64, 0, 64, 7, TO | FROM, 0, 0 },
	};
	struct counted seen;

	if (device_info(self->fd).flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "nothing is maintained where the device snoops");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		EXPECT_EQ(0, sync_counted(self->fd, &self->bo, &rows[i], &seen));
		EXPECT_EQ(rows[i].cleaned, seen.cleaned) {
			TH_LOG("%u rows of %llu at %llu", rows[i].rows,
			       (unsigned long long)rows[i].length,
			       (unsigned long long)rows[i].offset);
		}
		EXPECT_EQ(rows[i].invalidated, seen.invalidated);
	}
	EXPECT_EQ(ARRAY_LENGTH(rows), file_counters(self->fd).sync_calls);
}

TEST_F(sync, sync_of_several_extents_adds_up)
{
	struct drm_ork_extent e[3];
	struct drm_ork_counters before = file_counters(self->fd), after;
	struct bo other;

	if (device_info(self->fd).flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "nothing is maintained where the device snoops");
	ASSERT_EQ(0, bo_create(self->fd, PAGE, &other));
	e[0] = extent(&self->bo, TO, 5, 1);
	e[1] = extent(&other, FROM, 64, 192);
	e[2] = extent(&self->bo, TO, PAGE, PAGE);
	EXPECT_EQ(0, sync_extents(self->fd, e, 3));
	after = file_counters(self->fd);
	EXPECT_EQ(1u, after.sync_calls - before.sync_calls);
	EXPECT_EQ(64u + PAGE, after.bytes_cleaned - before.bytes_cleaned);
	EXPECT_EQ(192u, after.bytes_invalidated - before.bytes_invalidated);
}

TEST_F(sync, sync_counters_belong_to_the_file)
{
	int other = device_open();
	struct drm_ork_counters counters;

	ASSERT_LE(0, other);
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, 0, PAGE));
	counters = file_counters(other);
	EXPECT_EQ(0u, counters.sync_calls);
	EXPECT_EQ(0u, counters.bytes_cleaned);
	close(other);
}

TEST_F(sync, sync_with_a_bad_last_extent_does_nothing)
{
	struct drm_ork_extent e[8];
	struct drm_ork_counters before = file_counters(self->fd), after;

	for (size_t i = 0; i < ARRAY_LENGTH(e); i++)
		e[i] = extent(&self->bo, TO | FROM, i * PAGE, PAGE);
	e[7].offset = PAGES * PAGE;
	EXPECT_EQ(-EINVAL, sync_extents(self->fd, e, ARRAY_LENGTH(e)));
	e[7].offset = ~0ull;
	EXPECT_EQ(-EOVERFLOW, sync_extents(self->fd, e, ARRAY_LENGTH(e)));
	e[7] = extent(&self->bo, TO, 0, PAGE);
	e[7].handle = 0xdeadbeef;
	EXPECT_EQ(-ENOENT, sync_extents(self->fd, e, ARRAY_LENGTH(e)));
	after = file_counters(self->fd);
	EXPECT_EQ(0u, after.sync_calls - before.sync_calls);
	EXPECT_EQ(0u, after.bytes_cleaned - before.bytes_cleaned);
	EXPECT_EQ(0u, after.bytes_invalidated - before.bytes_invalidated);
}

TEST_F(sync, sync_with_a_bad_last_extent_cleans_nothing)
{
	struct drm_ork_extent e[2];
	uint8_t seen[1024];

	NEED_STRICT_CACHE(self->board);
	memset(self->bo.data, 0x5a, sizeof(seen));
	e[0] = extent(&self->bo, TO, 0, sizeof(seen));
	e[1] = extent(&self->bo, TO, PAGES * PAGE, 1);
	EXPECT_EQ(-EINVAL, sync_extents(self->fd, e, 2));
	ASSERT_EQ(0, probe(self->fd, &self->bo, 0, sizeof(seen), seen));
	for (size_t i = 0; i < sizeof(seen); i++)
		EXPECT_EQ(0, seen[i]);
}

TEST_F(sync, sync_of_write_combined_objects_checks_and_maintains_nothing)
{
	struct drm_ork_counters before, after;
	struct drm_ork_extent e;
	struct bo bo;

	ASSERT_EQ(0, bo_create_flags(self->fd, PAGE, DRM_ORK_BO_WRITE_COMBINE, &bo));
	before = file_counters(self->fd);
	e = extent(&bo, TO | FROM, 0, PAGE);
	EXPECT_REFUSED(EINVAL, e.offset, 64u, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOVERFLOW, e.offset, ~0ull, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.length, 65u, sync_extents(self->fd, &e, 1));
	after = file_counters(self->fd);
	EXPECT_EQ(3u, after.sync_calls - before.sync_calls);
	EXPECT_EQ(0u, after.bytes_cleaned - before.bytes_cleaned);
	EXPECT_EQ(0u, after.bytes_invalidated - before.bytes_invalidated);
}

/* --- what it costs ---------------------------------------------------------------------------- */

#define BIG		(32u << 20)
#define COST_TRIES	50

/* Fewest data-cache instructions, and nanoseconds, that a TO_DEVICE of the range took in @tries. */
static void cheapest(const FIXTURE_DATA(sync) *self, const struct bo *bo, uint64_t offset,
		     uint64_t length, unsigned int tries, uint32_t *instructions, int64_t *ns)
{
	*instructions = UINT32_MAX;
	*ns = INT64_MAX;
	while (tries--) {
		uint32_t count = board_read(self->board, ORK_BOARD_DC_INSTRUCTIONS);
		int64_t start = now_ns(), elapsed;

		if (sync_range(self->fd, bo, TO, offset, length))
			return;
		elapsed = now_ns() - start;
		count = board_read(self->board, ORK_BOARD_DC_INSTRUCTIONS) - count;
		*ns = elapsed < *ns ? elapsed : *ns;
		*instructions = count < *instructions ? count : *instructions;
	}
}

TEST_F_TIMEOUT(sync, sync_costs_what_it_names_wherever_that_lies, 120)
{
	static const uint64_t offsets[] = { 0, BIG / 2 + 64, BIG - PAGE };
	int64_t ns, least = INT64_MAX, most = 0, whole;
	uint32_t instructions;
	struct bo bo;

	NEED_BOARD(self->board);
	if (device_info(self->fd).flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "nothing is maintained where the device snoops");
	ASSERT_EQ(0, bo_create(self->fd, BIG, &bo));
	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
		cheapest(self, &bo, offsets[i], PAGE, COST_TRIES, &instructions, &ns);
		EXPECT_EQ(PAGE / LINE, instructions);
		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
	}
	cheapest(self, &bo, 0, BIG, 2, &instructions, &whole);
	EXPECT_LE(BIG / LINE, instructions);
	/*
	 * A walk over the pages before it would cost several times as much, other load perhaps twice.
	 * A kernel that keeps account of every mapping looks each up in a list of them.
	 */
	if (access("/sys/kernel/debug/dma-api", F_OK))
		EXPECT_GE(4 * least, most);
	EXPECT_LE(20 * most, whole);
}

/* --- what the device and the CPU then see ----------------------------------------------------- */

/*
 * Whether the object's first bytes of page @index + 1 do not follow those of page @index in
 * physical memory.
 */
static bool pages_apart(const struct bo *bo, uint32_t index)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	volatile uint8_t *page = bo->data + index * PAGE;
	uint64_t frame[2] = { 0 };
	ssize_t got;

	/* Only pages that were touched are in the table. */
	(void)page[0];
	(void)page[PAGE];
	got = pread(fd, frame, sizeof(frame), (uintptr_t)page / PAGE * sizeof(frame[0]));
	close(fd);
	return got == sizeof(frame) && ((frame[1] - frame[0]) & ((1ull << 55) - 1)) != 1;
}

/*
 * An object of pages from all over memory. Returns how many of them do not follow the one before.
 */
static uint32_t scattered_bo(int fd, struct bo *bo)
{
	struct bo holes[8 * PAGES];
	uint32_t apart = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(holes); i++)
		if (bo_create(fd, PAGE, &holes[i]))
			return 0;
	for (size_t i = 0; i < ARRAY_LENGTH(holes); i += 2)
		bo_close(fd, &holes[i]);
	if (bo_create(fd, PAGES * PAGE, bo))
		return 0;
	for (uint32_t i = 0; i + 1 < PAGES; i++)
		apart += pages_apart(bo, i);
	return apart;
}

#define NEED_SCATTERED_BO(fd, bo) do {						\
	if (!scattered_bo(fd, bo))						\
		SKIP(return, "an object's pages lie together, or pagemap is secret");	\
} while (0)

/*
 * One segment for the device may be many pages in memory: a call that runs on from the first would
 * clean a stranger's.
 */
TEST_F(sync, range_over_a_pages_end_reaches_the_device)
{
	uint8_t seen[2 * PAGE];

	NEED_SCATTERED_BO(self->fd, &self->bo);
	for (uint32_t page = 0; page + 2 <= PAGES; page++) {
		uint64_t edge = (page + 1) * PAGE;

		memset(self->bo.data + edge - LINE, 0x5a, 2 * LINE);
		EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, edge - LINE, 2 * LINE));
		ASSERT_EQ(0, probe(self->fd, &self->bo, edge - PAGE, sizeof(seen), seen));
		EXPECT_SEEN(PAGE - LINE, PAGE + LINE, 0x5a, seen);
	}
}

TEST_F(sync, range_over_a_pages_end_reaches_the_cpu)
{
	NEED_SCATTERED_BO(self->fd, &self->bo);
	for (uint32_t page = 0; page + 2 <= PAGES; page++) {
		uint64_t edge = (page + 1) * PAGE;

		ASSERT_EQ(0, device_writes(self->fd, &self->bo, edge - LINE, 2, 32 + 32 * page));
		EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, edge - LINE, 2 * LINE));
		EXPECT_TRUE(line_holds(self->bo.data + edge - LINE, 32 + 32 * page));
		EXPECT_TRUE(line_holds(self->bo.data + edge, 32 + 32 * page));
	}
}

TEST_F(sync, range_over_a_pages_end_cleans_two_lines_and_no_stranger)
{
	uint32_t least = UINT32_MAX, most_instructions = 0;

	NEED_STRICT_CACHE(self->board);
	/* Others may clean lines at the same time: the least of some tries is ours. */
	for (uint8_t i = 1; i <= COST_TRIES; i++) {
		uint32_t lines, instructions;

		memset(self->bo.data, i, PAGES * PAGE);
		lines = board_read(self->board, ORK_BOARD_LINES_CLEANED);
		instructions = board_read(self->board, ORK_BOARD_DC_INSTRUCTIONS);
		EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, PAGE - LINE, 2 * LINE));
		instructions = board_read(self->board, ORK_BOARD_DC_INSTRUCTIONS) - instructions;
		lines = board_read(self->board, ORK_BOARD_LINES_CLEANED) - lines;
		if (instructions == 2 && lines < least)
			least = lines;
		most_instructions =
			instructions > most_instructions ? instructions : most_instructions;
	}
	EXPECT_LE(2u, most_instructions);
	EXPECT_EQ(2u, least);
}

TEST_F(sync, what_was_not_named_is_not_cleaned)
{
	uint8_t seen[PAGE];

	NEED_STRICT_CACHE(self->board);
	memset(self->bo.data, 0x5a, PAGE);
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, 10 * LINE + 1, 1));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, 21 * LINE - 1, 2));
	ASSERT_EQ(0, probe(self->fd, &self->bo, 0, PAGE, seen));
	EXPECT_SEEN(0u, 10 * LINE, 0, seen);
	EXPECT_SEEN(10 * LINE, 11 * LINE, 0x5a, seen);
	EXPECT_SEEN(11 * LINE, 20 * LINE, 0, seen);
	EXPECT_SEEN(20 * LINE, 22 * LINE, 0x5a, seen);
	EXPECT_SEEN(22 * LINE, PAGE, 0, seen);
}

TEST_F(sync, what_was_named_in_rows_is_cleaned_in_rows)
{
	struct drm_ork_extent e = extent(&self->bo, TO, 64, 130);
	uint8_t seen[PROBE_BYTES];

	e.rows = 7;
	e.stride = PAGE + 64;
	memset(self->bo.data, 0x5a, PAGES * PAGE);
	EXPECT_EQ(0, sync_extents(self->fd, &e, 1));
	ASSERT_EQ(0, probe(self->fd, &self->bo, 0, PROBE_BYTES, seen));
	for (uint32_t row = 0; row < 7; row++)
		EXPECT_SEEN(64 + row * (PAGE + 64), 64 + row * (PAGE + 64) + 192, 0x5a, seen);
	for (uint32_t row = 0; row < 6 && strict_cache(self->board); row++)
		EXPECT_SEEN(256 + row * (PAGE + 64), 64 + (row + 1) * (PAGE + 64), 0, seen);
}

TEST_F(sync, what_was_not_named_is_not_invalidated)
{
	NEED_STRICT_CACHE(self->board);
	ASSERT_EQ(0, device_writes(self->fd, &self->bo, 0, 8, 64));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, 2 * LINE, LINE));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, 5 * LINE, 2 * LINE));
	for (uint32_t line = 0; line < 8; line++)
		EXPECT_TRUE(line_holds(self->bo.data + line * LINE,
				       line == 2 || line == 5 || line == 6 ? 64 : 0));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, 0, 8 * LINE));
	for (uint32_t line = 0; line < 8; line++)
		EXPECT_TRUE(line_holds(self->bo.data + line * LINE, 64));
}

TEST_F(sync, write_combined_objects_are_seen_by_both_sides_at_once)
{
	uint8_t written[1024], seen[1024];
	struct bo bo;

	ASSERT_EQ(0, bo_create_flags(self->fd, PAGE, DRM_ORK_BO_WRITE_COMBINE, &bo));
	memset(written, 5, sizeof(written));
	memcpy(bo.data, written, sizeof(written));
	ASSERT_EQ(0, probe(self->fd, &bo, 0, sizeof(seen), seen));
	EXPECT_EQ(0, memcmp(written, seen, sizeof(seen)));
	ASSERT_EQ(0, device_writes(self->fd, &bo, sizeof(seen), 2, 96));
	EXPECT_TRUE(line_holds(bo.data + sizeof(seen), 96));
	EXPECT_TRUE(line_holds(bo.data + sizeof(seen) + LINE, 96));
}

TEST_F(sync, neighbours_of_what_the_device_wrote_survive)
{
	uint8_t seen[1024];

	memset(self->bo.data, 1, LINE);
	memset(self->bo.data + 3 * LINE, 3, LINE);
	ASSERT_EQ(0, device_writes(self->fd, &self->bo, LINE, 2, 96));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, LINE, 2 * LINE));
	EXPECT_SEEN(0u, LINE, 1, self->bo.data);
	EXPECT_TRUE(line_holds(self->bo.data + LINE, 96));
	EXPECT_TRUE(line_holds(self->bo.data + 2 * LINE, 96));
	EXPECT_SEEN(3 * LINE, 4 * LINE, 3, self->bo.data);
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, 0, LINE));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, 3 * LINE, LINE));
	ASSERT_EQ(0, probe(self->fd, &self->bo, 0, sizeof(seen), seen));
	EXPECT_SEEN(0u, LINE, 1, seen);
	EXPECT_EQ(96, seen[LINE]);
	EXPECT_SEEN(3 * LINE, 4 * LINE, 3, seen);
}

/*
 * Half a line cannot belong to both sides; the ranges that would split one are refused and lose
 * nothing.
 */
TEST_F(sync, refused_split_of_a_line_loses_nothing)
{
	static const struct {
		uint64_t offset, length;
	} splits[] = { { 65, 1 }, { 63, 2 }, { 127, 1 }, { 62, 66 } };

	self->bo.data[62] = 62;
	self->bo.data[130] = 130;
	for (size_t i = 0; i < ARRAY_LENGTH(splits); i++)
		EXPECT_EQ(-EINVAL, sync_range(self->fd, &self->bo, FROM, splits[i].offset,
					      splits[i].length));
	EXPECT_EQ(62, self->bo.data[62]);
	EXPECT_EQ(130, self->bo.data[130]);
}

TEST_F(sync, dirty_lines_cleaned_before_do_not_lose_the_result)
{
	memset(self->bo.data, 0xaa, 8 * LINE);
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, 0, 8 * LINE));
	ASSERT_EQ(0, device_writes(self->fd, &self->bo, 0, 8, 128));
	if (self->board)
		board_write(self->board, ORK_BOARD_EVICT, 1);
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, 0, 8 * LINE));
	for (uint32_t line = 0; line < 8; line++)
		EXPECT_TRUE(line_holds(self->bo.data + line * LINE, 128));
}

/* That the test above can fail: without the clean, an eviction does lose the result. */
TEST_F(sync, dirty_lines_not_cleaned_before_lose_the_result)
{
	NEED_STRICT_CACHE(self->board);
	memset(self->bo.data, 0xaa, 8 * LINE);
	ASSERT_EQ(0, device_writes(self->fd, &self->bo, 0, 8, 128));
	board_write(self->board, ORK_BOARD_EVICT, 1);
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, 0, 8 * LINE));
	for (uint32_t line = 0; line < 8; line++)
		EXPECT_FALSE(line_holds(self->bo.data + line * LINE, 128));
}

#define SLOT_ROUNDS	500

/* The word that says where the result goes is written last, and alone, before each submit. */
TEST_F_TIMEOUT(sync, word_written_last_is_seen, 120)
{
	struct product p;
	struct drm_ork_job job;
	uint64_t word = PROGRAM_C_WORD * sizeof(uint64_t);
	const int32_t *slot[2];
	uint32_t old_slots = 0;
	uint64_t *c_word;

	ASSERT_EQ(0, product_create(self->fd, &p, 2, 32, 32, 1));
	p.gemm.m = 1;
	product_emit(&p);
	c_word = product_program(&p, 0) + PROGRAM_C_WORD;
	ASSERT_EQ(0, sync_range(self->fd, &p.bo, TO, 0, p.bo.size));
	for (unsigned int i = 0; i < 3; i++)
		p.extents[i].flags = DRM_ORK_EXTENT_NO_SYNC;
	slot[0] = (const int32_t *)(p.bo.data + p.c);
	slot[1] = slot[0] + 32;
	job = product_job(&p, 0);
	for (unsigned int i = 0; i < SLOT_ROUNDS; i++) {
		unsigned int now = i % 2;

		memset(p.bo.data + p.c, UNTOUCHED, 2 * 32 * sizeof(int32_t));
		*c_word = regcmd(ORK_DPU_DST_BASE_ADDR, p.gemm.c + now * 128);
		ASSERT_EQ(0, sync_range(self->fd, &p.bo, TO, word, sizeof(uint64_t)));
		ASSERT_EQ(0, run_job(self->fd, &job));
		old_slots += slot[now][0] != 32 || slot[now][31] != 32 || slot[!now][0] == 32;
	}
	EXPECT_EQ(0u, old_slots);
}

TEST_F(sync, sync_does_not_wait_for_jobs)
{
	struct product p;
	struct drm_ork_job job;
	struct drm_ork_wait wait = { 0 };

	NEED_BOARD(self->board);
	ASSERT_EQ(0, product_create(self->fd, &p, 1, 32, 32, 50));
	ASSERT_EQ(0, syncobj_create(self->fd, &wait.syncobj));
	board_write(self->board, ORK_BOARD_LATENCY_US, 20000);
	job = product_job(&p, 0);
	ASSERT_EQ(0, submit_jobs(self->fd, &job, 1, wait.syncobj));
	EXPECT_EQ(0, sync_range(self->fd, &p.bo, FROM, p.c, PAGE));
	EXPECT_EQ(-EBUSY, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
	EXPECT_EQ(0, sync_range(self->fd, &p.bo, FROM, p.c, PAGE));
	board_write(self->board, ORK_BOARD_LATENCY_US, 0);
	wait.timeout_ns = INT64_MAX;
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ORK_WAIT, &wait));
	EXPECT_EQ(0, wait.status);
	EXPECT_EQ(0u, product_wrong(&p, 32));
}

/* --- against close and reclaim ---------------------------------------------------------------- */

#define CLOSE_ROUNDS	300
#define CLOSE_BYTES	(1u << 20)

struct syncer {
	int fd;
	uint32_t handle;
	_Atomic bool stop;
	uint32_t synced, missing, other;
};

static void *sync_again_and_again(void *opaque)
{
	struct syncer *syncer = opaque;
	struct bo bo = { .handle = syncer->handle };

	while (!syncer->stop) {
		int error = sync_range(syncer->fd, &bo, TO | FROM, 0, CLOSE_BYTES);

		syncer->synced += !error;
		syncer->missing += error == -ENOENT;
		syncer->other += error && error != -ENOENT;
	}
	return NULL;
}

/*
 * The object, and its pages, go away and come back under the syncs, with the kernel reclaiming what
 * it can.
 */
TEST_F_TIMEOUT(sync, sync_against_close_finds_the_object_or_does_not, 240)
{
	struct syncer syncer = { .fd = self->fd };
	int caches = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	pthread_t thread;
	struct bo bo;

	ASSERT_EQ(0, bo_create(self->fd, CLOSE_BYTES, &bo));
	syncer.handle = bo.handle;
	ASSERT_EQ(0, pthread_create(&thread, NULL, sync_again_and_again, &syncer));
	for (unsigned int i = 0; i < CLOSE_ROUNDS; i++) {
		bo_close(self->fd, &bo);
		if (i % 50 == 0 && caches >= 0)
			EXPECT_EQ(1, write(caches, "3", 1));
		ASSERT_EQ(0, bo_create(self->fd, CLOSE_BYTES, &bo));
	}
	syncer.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0u, syncer.synced);
	EXPECT_LT(0u, syncer.missing);
	EXPECT_EQ(0u, syncer.other);
	EXPECT_EQ(0, health_everywhere());
}

/* --- by submits ------------------------------------------------------------------------------- */

FIXTURE(job) {
	int fd;
	volatile uint32_t *board;
	struct product product; /* one program of 1x32x32 ones: every element of C becomes 32 */
	struct drm_ork_job job;
	struct drm_ork_extent *code, *a, *b, *c;
};

FIXTURE_SETUP(job)
{
	self->board = board_open();
	board_behave(self->board);
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, product_create(self->fd, &self->product, 1, 32, 32, 1));
	self->job = product_job(&self->product, 0);
	self->code = &self->product.extents[0];
	self->a = &self->product.extents[1];
	self->b = &self->product.extents[2];
	self->c = &self->product.extents[3];
}

FIXTURE_TEARDOWN(job)
{
	board_behave(self->board);
	close(self->fd);
}

/* Runs the job: bytes cleaned and invalidated by it. */
static int run_counted(FIXTURE_DATA(job) *self, uint64_t *cleaned, uint64_t *invalidated)
{
	struct drm_ork_counters before = file_counters(self->fd), after;
	int error = run_job(self->fd, &self->job);

	after = file_counters(self->fd);
	*cleaned = after.bytes_cleaned - before.bytes_cleaned;
	*invalidated = after.bytes_invalidated - before.bytes_invalidated;
	return error;
}

TEST_F(job, submit_maintains_exactly_what_it_names)
{
	uint64_t code = round_up(PROGRAM_BYTES, LINE), cleaned, invalidated;

	if (device_info(self->fd).flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "nothing is maintained where the device snoops");
	/* The program, a row of A that is half a line, B, and C before the job; C after it. */
	EXPECT_EQ(0, run_counted(self, &cleaned, &invalidated));
	EXPECT_EQ(code + 64 + 1024 + 128, cleaned);
	EXPECT_EQ(128u, invalidated);

	self->c->flags = DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_CPU_CLEAN;
	EXPECT_EQ(0, run_counted(self, &cleaned, &invalidated));
	EXPECT_EQ(code + 64 + 1024, cleaned);
	EXPECT_EQ(128u, invalidated);

	self->b->flags = DRM_ORK_EXTENT_NO_SYNC;
	EXPECT_EQ(0, run_counted(self, &cleaned, &invalidated));
	EXPECT_EQ(code + 64, cleaned);
	EXPECT_EQ(128u, invalidated);

	self->code->flags = self->a->flags = DRM_ORK_EXTENT_NO_SYNC;
	self->c->flags = DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_NO_SYNC;
	EXPECT_EQ(0, run_counted(self, &cleaned, &invalidated));
	EXPECT_EQ(0u, cleaned);
	EXPECT_EQ(0u, invalidated);
}

TEST_F(job, refused_submit_maintains_nothing)
{
	uint64_t cleaned, invalidated;

	self->product.task.words = 1;
	EXPECT_EQ(-EINVAL, run_counted(self, &cleaned, &invalidated));
	EXPECT_EQ(0u, cleaned);
	EXPECT_EQ(0u, invalidated);
}

TEST_F(job, read_extent_is_cleaned_before_the_job)
{
	memset(self->product.bo.data + self->product.a, 2, 32);
	EXPECT_EQ(0, run_job(self->fd, &self->job));
	EXPECT_EQ(0u, product_wrong(&self->product, 64));
	memset(self->product.bo.data + self->product.b, 3, 1024);
	EXPECT_EQ(0, run_job(self->fd, &self->job));
	EXPECT_EQ(0u, product_wrong(&self->product, 192));
}

/* That the test above can fail. */
TEST_F(job, resident_extent_is_not_cleaned)
{
	NEED_STRICT_CACHE(self->board);
	EXPECT_EQ(0, run_job(self->fd, &self->job));
	memset(self->product.bo.data + self->product.b, 3, 1024);
	self->b->flags = DRM_ORK_EXTENT_NO_SYNC;
	EXPECT_EQ(0, run_job(self->fd, &self->job));
	EXPECT_EQ(0u, product_wrong(&self->product, 32));
}

TEST_F(job, program_changed_after_a_run_is_seen)
{
	EXPECT_EQ(0, run_job(self->fd, &self->job));
	self->product.gemm.c += 256;
	product_emit(&self->product);
	self->c->offset += 256;
	self->product.c += 256;
	EXPECT_EQ(0, run_job(self->fd, &self->job));
	EXPECT_EQ(0u, product_wrong(&self->product, 32));
}

TEST_F(job, result_over_what_the_cpu_wrote_is_right_every_time)
{
	for (unsigned int i = 0; i < 20; i++) {
		memset(self->product.bo.data + self->product.c, UNTOUCHED, 128);
		EXPECT_EQ(0, run_job(self->fd, &self->job));
		EXPECT_EQ(0u, product_wrong(&self->product, 32));
	}
}

/*
 * The first program leaves the result, and the slow ones behind it, which write elsewhere, leave it
 * to an eviction. One that came before would make the lines clean.
 */
static int result_under_eviction(FIXTURE_DATA(job) *self, struct product *p, uint32_t flags)
{
	uint32_t done, programs, i;
	struct drm_ork_job job;
	int error = product_create(self->fd, p, 4, 32, 32, 10);

	if (!error)
		error = syncobj_create(self->fd, &done);
	if (error)
		return error;
	p->gemm.m = 1;
	product_emit(p);
	for (i = 1; i < p->programs; i++)
		product_program(p, i)[PROGRAM_C_WORD] =
			regcmd(ORK_DPU_DST_BASE_ADDR, p->gemm.c + 256);
	p->extents[3].flags = flags;
	job = product_job(p, 0);
	board_write(self->board, ORK_BOARD_LATENCY_US, 50000);
	programs = board_sum(self->board, ORK_BOARD_CORE_PROGRAMS);
	error = submit_jobs(self->fd, &job, 1, done);
	while (!error && board_sum(self->board, ORK_BOARD_CORE_PROGRAMS) == programs)
		;
	board_write(self->board, ORK_BOARD_EVICT, 1);
	board_write(self->board, ORK_BOARD_LATENCY_US, 0);
	return error ? error : job_status(self->fd, done);
}

TEST_F(job, dirty_lines_are_not_evicted_over_the_result)
{
	struct product p;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, result_under_eviction(self, &p, DRM_ORK_EXTENT_WRITE));
	EXPECT_EQ(0u, product_wrong(&p, 32));
}

/* That the test above can fail: CPU_CLEAN is a promise, and C was written. */
TEST_F(job, dirty_lines_called_clean_are_evicted_over_the_result)
{
	struct product p;

	NEED_STRICT_CACHE(self->board);
	ASSERT_EQ(0,
		  result_under_eviction(self, &p, DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_CPU_CLEAN));
	EXPECT_EQ(32u, product_wrong(&p, 32));
}

/*
 * What the CPU read, while the job ran, of a range that the job writes is gone when the fence has
 * signalled.
 */
TEST_F(job, written_extent_is_invalidated_after_the_job)
{
	struct product p;
	struct drm_ork_job job;
	uint32_t done;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, product_create(self->fd, &p, 1, 32, 32, 4));
	ASSERT_EQ(0, syncobj_create(self->fd, &done));
	board_write(self->board, ORK_BOARD_LATENCY_US, 50000);
	job = product_job(&p, 0);
	ASSERT_EQ(0, submit_jobs(self->fd, &job, 1, done));
	product_wrong(&p, 32);
	EXPECT_EQ(0, job_status(self->fd, done));
	EXPECT_EQ(0u, product_wrong(&p, 32));
}

ORK_TEST_MAIN

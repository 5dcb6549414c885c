// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers shared with others as dma-bufs: objects of ork's that others hold, and buffers of others
 * that ork's jobs work on. Whoever holds them, what the CPU writes must get to the device, and back
 * what that writes, through a cache that does neither by itself.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include "exporter/ork_exporter.h"
#include "ork_test.h"
#include "board.h"
#include "dma_buf.h"
#include "driver.h"

#define TO		DRM_ORK_EXTENT_TO_DEVICE
#define FROM		DRM_ORK_EXTENT_FROM_DEVICE
#define READ		DRM_ORK_EXTENT_READ
#define WRITE		DRM_ORK_EXTENT_WRITE
#define NO_SYNC		DRM_ORK_EXTENT_NO_SYNC

#define START		DMA_BUF_SYNC_START
#define END		DMA_BUF_SYNC_END

/* Of a program: long enough for some calls before it ends. */
#define SLOW_US		1000000

/* --- dma-bufs --------------------------------------------------------------------------------- */

static int bo_info(int fd, uint32_t handle, struct drm_ork_bo_info *info)
{
	*info = (struct drm_ork_bo_info){ .handle = handle };
	return call(fd, DRM_IOCTL_ORK_BO_INFO, info);
}

/* The object of a handle, mapped by the offset that ork gives. */
static int bo_of_handle(int fd, uint32_t handle, struct bo *bo)
{
	struct drm_ork_bo_info info;
	int error = bo_info(fd, handle, &info);

	if (error)
		return error;
	*bo = (struct bo){ handle, info.size, info.iova, info.mmap_offset, NULL };
	return bo_map(fd, bo);
}

static int bo_import(int fd, int dma_buf, struct bo *bo)
{
	uint32_t handle;
	int error = prime_import(fd, dma_buf, &handle);

	return error ? error : bo_of_handle(fd, handle, bo);
}

static uint8_t *dma_buf_map(int dma_buf, uint64_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dma_buf, 0);
}

static bool same_dma_buf(int a, int b)
{
	struct stat left, right;

	return !fstat(a, &left) && !fstat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/* Whether the jobs that write the dma-buf, or with POLLOUT those that read it too, have ended. */
static bool dma_buf_idle(int dma_buf, short events)
{
	struct pollfd poll_fd = { .fd = dma_buf, .events = events };

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents == events;
}

/* --- jobs on them ----------------------------------------------------------------------------- */

/* A job whose weights are a page of the object, all ones: 1024 of them make C all 32. */
static int reader_create(int fd, struct product *p, const struct bo *bo, uint64_t offset,
			 uint32_t flags)
{
	int error = product_create(fd, p, 1, 32, 32, 1);

	if (error)
		return error;
	p->gemm.b = bo->iova + offset;
	product_emit(p);
	p->extents[2] = extent(bo, flags, offset, 32 * 32);
	return 0;
}

/* A job that writes 32 int32 of 32 to the object, as @flags say. */
static int writer_create(int fd, struct product *p, const struct bo *bo, uint64_t offset,
			 uint32_t flags)
{
	int error = product_create(fd, p, 1, 32, 32, 1);

	if (error)
		return error;
	p->gemm.c = bo->iova + offset;
	product_emit(p);
	p->extents[3] = extent(bo, WRITE | flags, offset, 2 * LINE);
	return 0;
}

/* What a reader's C comes out as: 32 times what every byte of the object holds. */
static int32_t reader_runs(int fd, const struct bo *bo, uint64_t offset, uint32_t flags)
{
	struct product p;
	struct drm_ork_job job;
	int32_t c = -1;

	if (reader_create(fd, &p, bo, offset, flags))
		return -1;
	job = product_job(&p, 0);
	if (!run_job(fd, &job)) {
		memcpy(&c, p.bo.data + p.c, sizeof(c));
		if (product_wrong(&p, c))
			c = -1;
	}
	bo_close(fd, &p.bo);
	return c;
}

static int writer_runs(int fd, const struct bo *bo, uint64_t offset, uint32_t flags)
{
	struct product p;
	struct drm_ork_job job;
	int error = writer_create(fd, &p, bo, offset, flags);

	if (error)
		return error;
	job = product_job(&p, 0);
	error = run_job(fd, &job);
	bo_close(fd, &p.bo);
	return error;
}

/* Submits and returns at once; each program of the job takes SLOW_US. */
static int start_slowly(volatile uint32_t *board, int fd, struct product *p, uint32_t core_mask,
			uint32_t *done)
{
	struct drm_ork_job job = product_job(p, core_mask);
	int error = syncobj_create(fd, done);

	job.timeout_ms = 20 * SLOW_US / 1000;
	board_write(board, ORK_BOARD_LATENCY_US, SLOW_US);
	return error ? error : submit_jobs(fd, &job, 1, *done);
}

static bool has_ended(int fd, uint32_t syncobj)
{
	struct drm_ork_wait wait = { .syncobj = syncobj };

	return !call(fd, DRM_IOCTL_ORK_WAIT, &wait);
}

static bool result_is_seen(const uint8_t *at)
{
	return line_holds(at, 32) && line_holds(at + LINE, 32);
}

/* --- objects of ork's that others hold -------------------------------------------------------- */

FIXTURE(export) {
	int fd, other;		/* two clients */
	struct bo bo;		/* of the first, cached */
	int dma_buf;
	uint8_t *data;		/* the dma-buf's own mapping of it */
	volatile uint32_t *board;
};

FIXTURE_SETUP(export)
{
	self->board = board_open();
	board_behave(self->board);
	self->fd = device_open();
	self->other = device_open();
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	ASSERT_EQ(0, bo_create(self->fd, BYTES, &self->bo));
	self->dma_buf = prime_export(self->fd, self->bo.handle);
	ASSERT_LE(0, self->dma_buf);
	self->data = dma_buf_map(self->dma_buf, BYTES);
	ASSERT_NE(MAP_FAILED, self->data);
}

FIXTURE_TEARDOWN(export)
{
	board_behave(self->board);
	close(self->fd);
	close(self->other);
	close(self->dma_buf);
}

TEST_F(export, dma_buf_has_the_objects_size_and_bytes)
{
	EXPECT_EQ(BYTES, lseek(self->dma_buf, 0, SEEK_END));
	self->bo.data[0] = 1;
	self->data[BYTES - 1] = 2;
	EXPECT_EQ(1, self->data[0]);
	EXPECT_EQ(2, self->bo.data[BYTES - 1]);
	EXPECT_EQ(MAP_FAILED, dma_buf_map(self->dma_buf, BYTES + PAGE));
}

TEST_F(export, export_rejects_what_is_no_object)
{
	struct drm_prime_handle prime = { .handle = self->bo.handle };

	EXPECT_EQ(-ENOENT, prime_export(self->fd, 0xdeadbeef));
	EXPECT_EQ(-ENOENT, prime_export(self->other, self->bo.handle + 1000));
	prime.flags = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
}

TEST_F(export, export_twice_gives_the_same_dma_buf)
{
	int again = prime_export(self->fd, self->bo.handle);

	ASSERT_LE(0, again);
	EXPECT_TRUE(same_dma_buf(self->dma_buf, again));
	close(again);
}

TEST_F(export, import_into_another_file_gives_the_same_object)
{
	struct drm_ork_bo_info info;
	struct bo bo;

	ASSERT_EQ(0, bo_import(self->other, self->dma_buf, &bo));
	ASSERT_EQ(0, bo_info(self->other, bo.handle, &info));
	EXPECT_EQ(BYTES, info.size);
	EXPECT_EQ(0u, info.flags);
	EXPECT_NE(0u, info.iova);
	EXPECT_EQ(self->bo.mmap_offset, info.mmap_offset);
	memset(self->bo.data, 1, PAGE);
	EXPECT_EQ(1, bo.data[PAGE - 1]);
	EXPECT_EQ(32, reader_runs(self->other, &bo, 0, READ));
	ASSERT_EQ(0, writer_runs(self->other, &bo, PAGE, 0));
	EXPECT_TRUE(result_is_seen(self->bo.data + PAGE));
}

TEST_F(export, import_of_a_write_combined_object_says_so)
{
	struct drm_ork_bo_info info;
	struct bo bo, imported;
	int dma_buf;

	ASSERT_EQ(0, bo_create_flags(self->fd, PAGE, DRM_ORK_BO_WRITE_COMBINE, &bo));
	dma_buf = prime_export(self->fd, bo.handle);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, bo_import(self->other, dma_buf, &imported));
	ASSERT_EQ(0, bo_info(self->other, imported.handle, &info));
	EXPECT_EQ(DRM_ORK_BO_WRITE_COMBINE, info.flags);
	close(dma_buf);
}

TEST_F(export, import_outlives_file_and_dma_buf)
{
	struct bo bo;

	memset(self->bo.data, 1, PAGE);
	ASSERT_EQ(0, sync_range(self->fd, &self->bo, TO, 0, PAGE));
	ASSERT_EQ(0, bo_import(self->other, self->dma_buf, &bo));
	munmap(self->bo.data, BYTES);
	munmap(self->data, BYTES);
	ASSERT_EQ(0, close(self->fd));
	ASSERT_EQ(0, close(self->dma_buf));
	EXPECT_EQ(1, bo.data[PAGE - 1]);
	EXPECT_EQ(32, reader_runs(self->other, &bo, 0, NO_SYNC));
	self->fd = self->dma_buf = -1;
}

/* The job runs, and afterwards the object is as good as ever. */
#define EXPECT_RUNS(self, p, names, count) do {						\
	struct drm_ork_job job_ = product_job(p, 0);					\
											\
	job_.extents = ARRAY(names, count);						\
	EXPECT_EQ(0, run_job((self)->fd, &job_));					\
	EXPECT_EQ(32, reader_runs((self)->fd, &(self)->bo, 0, READ));			\
} while (0)

/* case 10: names of one object, more than once, by one handle or two. */
static void names_of(struct drm_ork_extent names[5], const struct product *p, uint32_t first,
		     uint32_t first_flags, uint32_t second, uint32_t second_flags)
{
	memcpy(names, p->extents, 3 * sizeof(*names));
	names[3] = p->extents[3];
	names[3].handle = first;
	names[3].flags = first_flags;
	names[4] = names[3];
	names[4].handle = second;
	names[4].flags = second_flags;
}

/* case 10 */
TEST_F(export, object_named_twice_in_a_job_runs_once)
{
	static const uint32_t flags[][2] = {
		{ READ, READ }, { READ, WRITE }, { WRITE, READ }, { WRITE, WRITE },
	};
	struct drm_ork_extent names[5];
	struct product p;
	uint32_t handle;

	memset(self->bo.data, 1, PAGE);
	ASSERT_EQ(0, prime_import(self->fd, self->dma_buf, &handle));
	/* One handle for each object of a file: import finds it. */
	EXPECT_EQ(self->bo.handle, handle);
	ASSERT_EQ(0, writer_create(self->fd, &p, &self->bo, PAGE, 0));
	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		names_of(names, &p, self->bo.handle, flags[i][0], handle, flags[i][1]);
		EXPECT_RUNS(self, &p, names, ARRAY_LENGTH(names));
	}
}

/* A file of the primary node, where objects have names, or -ENODEV. */
static int primary_open(void)
{
	glob_t nodes;

	glob("/dev/dri/card*", 0, NULL, &nodes);
	return open_first(&nodes, is_ork);
}

/* case 10: a name gives a new handle each time. */
TEST_F(export, two_handles_of_an_object_are_one_object)
{
	struct drm_gem_flink flink = { 0 };
	struct drm_gem_open open = { 0 };
	struct drm_ork_extent names[5];
	struct product p;
	uint32_t handle;
	int primary = primary_open();

	if (primary < 0)
		SKIP(return, "no primary node, which alone gives an object two handles");
	close(self->fd);
	self->fd = primary;
	ASSERT_EQ(0, bo_import(primary, self->dma_buf, &self->bo));
	memset(self->bo.data, 1, PAGE);
	flink.handle = self->bo.handle;
	ASSERT_EQ(0, call(primary, DRM_IOCTL_GEM_FLINK, &flink));
	open.name = flink.name;
	ASSERT_EQ(0, call(primary, DRM_IOCTL_GEM_OPEN, &open));
	handle = open.handle;
	ASSERT_NE(self->bo.handle, handle);
	ASSERT_EQ(0, writer_create(primary, &p, &self->bo, PAGE, 0));
	names_of(names, &p, self->bo.handle, READ, handle, WRITE);
	EXPECT_RUNS(self, &p, names, ARRAY_LENGTH(names));
	EXPECT_TRUE(result_is_seen(self->bo.data + PAGE));
}

/* --- DMA_BUF_IOCTL_SYNC of ork's objects ------------------------------------------------------ */

TEST_F(export, start_of_reading_shows_what_the_device_wrote)
{
	EXPECT_EQ(0, self->data[0]);
	ASSERT_EQ(0, writer_runs(self->fd, &self->bo, 0, NO_SYNC));
	if (strict_cache(self->board))
		EXPECT_TRUE(line_holds(self->data, 0));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_READ));
	EXPECT_TRUE(result_is_seen(self->data));
	EXPECT_TRUE(result_is_seen(self->bo.data));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, END | DMA_BUF_SYNC_READ));
}

TEST_F(export, end_of_writing_shows_the_device_what_the_cpu_wrote)
{
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_WRITE));
	memset(self->data + BYTES - PAGE, 1, PAGE);
	if (strict_cache(self->board))
		EXPECT_EQ(0, reader_runs(self->fd, &self->bo, BYTES - PAGE, NO_SYNC));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, END | DMA_BUF_SYNC_WRITE));
	EXPECT_EQ(32, reader_runs(self->fd, &self->bo, BYTES - PAGE, NO_SYNC));
}

TEST_F(export, start_of_reading_keeps_what_the_cpu_has_written)
{
	memset(self->bo.data, 1, PAGE);
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(PAGE, first_other(self->data, 0, PAGE, 1));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, END | DMA_BUF_SYNC_READ));
	EXPECT_EQ(32, reader_runs(self->fd, &self->bo, 0, READ));
}

/*
 * The core waits too, but only after the exporter has done its part. The board has a program's
 * result in memory before the time that it takes is over: the job waits behind another.
 */
TEST_F(export, start_of_reading_waits_for_the_job_that_writes)
{
	struct product before, p;
	uint32_t first, done;

	NEED_BOARD(self->board);
	EXPECT_EQ(0, self->data[0]);
	ASSERT_EQ(0, product_create(self->fd, &before, 1, 32, 32, 1));
	ASSERT_EQ(0, writer_create(self->fd, &p, &self->bo, 0, NO_SYNC));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &before, 1, &first));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &p, 1, &done));
	EXPECT_FALSE(has_ended(self->fd, first));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_READ));
	EXPECT_TRUE(has_ended(self->fd, done));
	EXPECT_TRUE(result_is_seen(self->data));
}

static void on_signal(int signal)
{
	(void)signal;
}

/* Then the access has not begun, and may be asked for again. */
TEST_F(export, start_of_reading_may_be_ended_by_a_signal)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval storm = { .it_interval = { 0, 1000 }, .it_value = { 0, 1000 } },
			 calm = { 0 };
	struct dma_buf_sync sync = { .flags = START | DMA_BUF_SYNC_READ };
	struct product p;
	uint32_t done;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, writer_create(self->fd, &p, &self->bo, 0, NO_SYNC));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &p, 1, &done));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &storm, NULL));
	EXPECT_EQ(-EINTR, call(self->dma_buf, DMA_BUF_IOCTL_SYNC, &sync));
	setitimer(ITIMER_REAL, &calm, NULL);
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_READ));
	EXPECT_TRUE(has_ended(self->fd, done));
	EXPECT_TRUE(result_is_seen(self->data));
}

TEST_F(export, start_of_reading_does_not_wait_for_readers_but_writing_does)
{
	struct product p;
	uint32_t done;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, reader_create(self->fd, &p, &self->bo, 0, READ));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &p, 0, &done));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_READ));
	EXPECT_FALSE(has_ended(self->fd, done));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_WRITE));
	EXPECT_TRUE(has_ended(self->fd, done));
}

TEST_F(export, sync_of_write_combined_objects_is_for_order_only)
{
	struct bo bo;
	uint8_t *data;
	int dma_buf;

	ASSERT_EQ(0, bo_create_flags(self->fd, BYTES, DRM_ORK_BO_WRITE_COMBINE, &bo));
	dma_buf = prime_export(self->fd, bo.handle);
	ASSERT_LE(0, dma_buf);
	data = dma_buf_map(dma_buf, BYTES);
	ASSERT_NE(MAP_FAILED, data);
	EXPECT_EQ(0, dma_buf_sync(dma_buf, START | DMA_BUF_SYNC_RW));
	memset(data, 1, PAGE);
	EXPECT_EQ(0, dma_buf_sync(dma_buf, END | DMA_BUF_SYNC_RW));
	EXPECT_EQ(32, reader_runs(self->fd, &bo, 0, NO_SYNC));
	ASSERT_EQ(0, writer_runs(self->fd, &bo, PAGE, NO_SYNC));
	EXPECT_EQ(0, dma_buf_sync(dma_buf, START | DMA_BUF_SYNC_READ));
	EXPECT_TRUE(result_is_seen(data + PAGE));
	close(dma_buf);
}

/* Fewest data-cache instructions of the call in some tries: others may do theirs meanwhile. */
static uint32_t sync_cost(volatile uint32_t *board, int dma_buf, uint64_t flags)
{
	uint32_t least = UINT32_MAX;

	for (int i = 0; i < 20; i++) {
		uint32_t count = board_read(board, ORK_BOARD_DC_INSTRUCTIONS);

		if (dma_buf_sync(dma_buf, flags))
			return UINT32_MAX;
		count = board_read(board, ORK_BOARD_DC_INSTRUCTIONS) - count;
		least = count < least ? count : least;
	}
	return least;
}

TEST_F(export, sync_maintains_as_its_direction_needs)
{
	const uint32_t lines = BYTES / LINE;

	NEED_BOARD(self->board);
	if (device_info(self->fd).flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "nothing is maintained where the device snoops");
	EXPECT_EQ(2 * lines, sync_cost(self->board, self->dma_buf, START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(0u, sync_cost(self->board, self->dma_buf, END | DMA_BUF_SYNC_READ));
	EXPECT_EQ(0u, sync_cost(self->board, self->dma_buf, START | DMA_BUF_SYNC_WRITE));
	EXPECT_EQ(lines, sync_cost(self->board, self->dma_buf, END | DMA_BUF_SYNC_WRITE));
	EXPECT_EQ(2 * lines, sync_cost(self->board, self->dma_buf, START | DMA_BUF_SYNC_RW));
	EXPECT_EQ(lines, sync_cost(self->board, self->dma_buf, END | DMA_BUF_SYNC_RW));
}

/* --- others' devices -------------------------------------------------------------------------- */

static int exporter_open(void)
{
	int fd = open(ORK_EXPORTER_NODE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

#define NEED_EXPORTER(fd) do {								\
	if ((fd) < 0)									\
		SKIP(return, "needs the test module ork_exporter");			\
} while (0)

/* The same memory seen by another device, whose mapping the exporter knows. */
TEST_F(export, sync_maintains_what_other_devices_have_mapped)
{
	const uint32_t lines = BYTES / LINE;
	int exporter = exporter_open();

	NEED_EXPORTER(exporter);
	NEED_BOARD(self->board);
	if (device_info(self->fd).flags & DRM_ORK_DEVICE_COHERENT)
		SKIP(return, "caches that devices snoop have no cost");
	ASSERT_EQ(0, ioctl(exporter, ORK_EXPORTER_ATTACH, self->dma_buf));
	EXPECT_EQ(3 * lines, sync_cost(self->board, self->dma_buf, START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(2 * lines, sync_cost(self->board, self->dma_buf, END | DMA_BUF_SYNC_WRITE));
	close(exporter);
	EXPECT_EQ(lines, sync_cost(self->board, self->dma_buf, END | DMA_BUF_SYNC_WRITE));
}

TEST_F(export, mapping_for_another_device_cleans)
{
	int exporter = exporter_open();

	NEED_EXPORTER(exporter);
	memset(self->bo.data, 1, PAGE);
	ASSERT_EQ(0, ioctl(exporter, ORK_EXPORTER_ATTACH, self->dma_buf));
	EXPECT_EQ(32, reader_runs(self->fd, &self->bo, 0, NO_SYNC));
	/* And its end drops nothing. */
	memset(self->bo.data, 2, PAGE);
	close(exporter);
	EXPECT_EQ(64, reader_runs(self->fd, &self->bo, 0, READ));
}

TEST_F(export, object_attached_elsewhere_outlives_its_file)
{
	int exporter = exporter_open();

	NEED_EXPORTER(exporter);
	ASSERT_EQ(0, ioctl(exporter, ORK_EXPORTER_ATTACH, self->dma_buf));
	munmap(self->bo.data, BYTES);
	munmap(self->data, BYTES);
	close(self->fd);
	close(self->dma_buf);
	EXPECT_EQ(0, close(exporter));
	EXPECT_EQ(0, health_everywhere());
}

/* --- buffers of others that ork's jobs work on ------------------------------------------------ */

/* A dumb buffer of vgem, write-combined for the CPU. */
static int vgem_create(void)
{
	struct drm_mode_create_dumb dumb = { .width = PAGE, .height = PAGES, .bpp = 8 };
	char name[8] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };
	int node = -ENODEV, fd;
	glob_t nodes;

	glob("/dev/dri/card*", 0, NULL, &nodes);
	for (size_t i = 0; i < nodes.gl_pathc && strcmp(name, "vgem"); i++) {
		close(node);
		node = open(nodes.gl_pathv[i], O_RDWR | O_CLOEXEC);
		call(node, DRM_IOCTL_VERSION, &version);
		version.name_len = sizeof(name) - 1;
	}
	globfree(&nodes);
	if (strcmp(name, "vgem"))
		return -ENODEV;
	fd = call(node, DRM_IOCTL_MODE_CREATE_DUMB, &dumb);
	if (!fd)
		fd = prime_export(node, dumb.handle);
	close(node);
	return fd;
}

static int exporter_create(int exporter, uint32_t kind, uint64_t size)
{
	struct ork_exporter_create create = { .size = size, .kind = kind };
	int error = call(exporter, ORK_EXPORTER_CREATE, &create);

	return error ? error : create.fd;
}

static struct ork_exporter_live exporter_live(int exporter)
{
	struct ork_exporter_live live = { .buffers = ~0u };

	call(exporter, ORK_EXPORTER_LIVE, &live);
	return live;
}

static int test_module_create(void)
{
	int exporter = exporter_open(), fd;

	if (exporter < 0)
		return exporter;
	fd = exporter_create(exporter, ORK_EXPORTER_MEMORY, BYTES);
	close(exporter);
	return fd;
}

FIXTURE(import) {
	int fd, other;
	int dma_buf;		/* negative if there is no such exporter */
	uint8_t *data;		/* the exporter's mapping */
	struct bo bo;		/* the first client's, with a mapping through ork */
	volatile uint32_t *board;
};

FIXTURE_VARIANT(import) {
	const char *name;
	int (*create)(void);
	bool cached;		/* for the CPU: then a missing sync is seen */
};

FIXTURE_VARIANT_ADD(import, test_module) {
	.name = "the test module ork_exporter", .create = test_module_create, .cached = true,
};

FIXTURE_VARIANT_ADD(import, udmabuf) {
	.name = "/dev/udmabuf", .create = udmabuf_create, .cached = true,
};

FIXTURE_VARIANT_ADD(import, heap) {
	.name = "/dev/dma_heap/system", .create = heap_create, .cached = true,
};

FIXTURE_VARIANT_ADD(import, vgem) {
	.name = "a node of vgem", .create = vgem_create, .cached = false,
};

FIXTURE_SETUP(import)
{
	self->board = board_open();
	board_behave(self->board);
	self->fd = device_open();
	self->other = device_open();
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	self->dma_buf = variant->create();
	if (self->dma_buf < 0) {
		/* Absent is one thing, broken another. */
		ASSERT_TRUE(self->dma_buf == -ENOENT || self->dma_buf == -ENODEV);
		return;
	}
	self->data = dma_buf_map(self->dma_buf, BYTES);
	ASSERT_NE(MAP_FAILED, self->data);
	ASSERT_EQ(0, bo_import(self->fd, self->dma_buf, &self->bo));
}

FIXTURE_TEARDOWN(import)
{
	board_behave(self->board);
	close(self->fd);
	close(self->other);
	if (self->dma_buf >= 0)
		close(self->dma_buf);
}

/* To be used before anything is expected: SKIP() forgets what failed. */
#define NEED_DMA_BUF(self, variant) do {						\
	if ((self)->dma_buf < 0)							\
		SKIP(return, "needs %s", (variant)->name);				\
} while (0)

TEST_F(import, import_has_the_dma_bufs_size_and_bytes)
{
	struct drm_ork_bo_info info;

	NEED_DMA_BUF(self, variant);
	ASSERT_EQ(0, bo_info(self->fd, self->bo.handle, &info));
	EXPECT_EQ(BYTES, info.size);
	EXPECT_EQ(0u, info.flags);
	EXPECT_EQ(0u, info.iova % PAGE);
	EXPECT_LT(0u, info.iova);
	EXPECT_GT(IOVA_LIMIT, info.iova + BYTES);
	self->data[1] = 1;
	self->bo.data[BYTES - 1] = 2;
	EXPECT_EQ(1, self->bo.data[1]);
	EXPECT_EQ(2, self->data[BYTES - 1]);
}

TEST_F(import, mapping_of_an_import_ends_where_it_ends)
{
	void *more;

	NEED_DMA_BUF(self, variant);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES + PAGE, PROT_READ, MAP_SHARED, self->fd,
				   self->bo.mmap_offset));
	more = mremap(self->bo.data, BYTES, 2 * BYTES, MREMAP_MAYMOVE);
	EXPECT_EQ(MAP_FAILED, more);
	/* Another client has not imported it. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, BYTES, PROT_READ, MAP_SHARED, self->other,
				   self->bo.mmap_offset));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(import, import_twice_gives_the_same_handle)
{
	uint32_t handle;
	int copy;

	NEED_DMA_BUF(self, variant);
	copy = dup(self->dma_buf);
	EXPECT_EQ(0, prime_import(self->fd, self->dma_buf, &handle));
	EXPECT_EQ(self->bo.handle, handle);
	EXPECT_EQ(0, prime_import(self->fd, copy, &handle));
	EXPECT_EQ(self->bo.handle, handle);
	close(copy);
}

TEST_F(import, export_of_an_import_gives_the_dma_buf_back)
{
	int again;

	NEED_DMA_BUF(self, variant);
	again = prime_export(self->fd, self->bo.handle);
	ASSERT_LE(0, again);
	EXPECT_TRUE(same_dma_buf(self->dma_buf, again));
	close(again);
}

TEST_F(import, import_is_clean_like_a_new_object)
{
	NEED_DMA_BUF(self, variant);
	bo_close(self->fd, &self->bo);
	memset(self->data, 1, PAGE);
	ASSERT_EQ(0, bo_import(self->fd, self->dma_buf, &self->bo));
	EXPECT_EQ(32, reader_runs(self->fd, &self->bo, 0, NO_SYNC));
	ASSERT_EQ(0, writer_runs(self->fd, &self->bo, 0, NO_SYNC));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, 0, 2 * LINE));
	EXPECT_TRUE(result_is_seen(self->data));
}

/* case 20 */
TEST_F(import, job_reads_what_the_cpu_wrote_to_an_import)
{
	NEED_DMA_BUF(self, variant);
	memset(self->data + BYTES - PAGE, 1, PAGE);
	if (variant->cached && strict_cache(self->board))
		EXPECT_EQ(0, reader_runs(self->fd, &self->bo, BYTES - PAGE, NO_SYNC));
	EXPECT_EQ(32, reader_runs(self->fd, &self->bo, BYTES - PAGE, READ));
	memset(self->bo.data, 3, PAGE);
	EXPECT_EQ(96, reader_runs(self->fd, &self->bo, 0, READ));
}

/* case 20 */
TEST_F(import, cpu_reads_what_a_job_wrote_to_an_import)
{
	NEED_DMA_BUF(self, variant);
	/* Dirty, so that an eviction would hurt. */
	memset(self->data, UNTOUCHED, BYTES);
	ASSERT_EQ(0, writer_runs(self->fd, &self->bo, 0, 0));
	EXPECT_TRUE(result_is_seen(self->data));
	EXPECT_EQ(UNTOUCHED, self->data[2 * LINE]);
	/* A row over the border of pages that may lie far apart. */
	ASSERT_EQ(0, writer_runs(self->fd, &self->bo, PAGE - LINE, 0));
	EXPECT_TRUE(result_is_seen(self->bo.data + PAGE - LINE));
	EXPECT_EQ(UNTOUCHED, self->data[PAGE + LINE]);
}

/* case 22 */
TEST_F(import, sync_of_an_import_cleans)
{
	struct drm_ork_counters before, after;

	NEED_DMA_BUF(self, variant);
	before = file_counters(self->fd);
	memset(self->data, 1, 2 * PAGE);
	if (variant->cached && strict_cache(self->board))
		EXPECT_EQ(0, reader_runs(self->fd, &self->bo, 0, NO_SYNC));
	before = file_counters(self->fd);
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO, 0, PAGE));
	after = file_counters(self->fd);
	if (!(device_info(self->fd).flags & DRM_ORK_DEVICE_COHERENT))
		EXPECT_EQ(PAGE, after.bytes_cleaned - before.bytes_cleaned);
	EXPECT_EQ(32, reader_runs(self->fd, &self->bo, 0, NO_SYNC));
	/* What was not named is not cleaned. */
	if (variant->cached && strict_cache(self->board))
		EXPECT_EQ(0, reader_runs(self->fd, &self->bo, PAGE, NO_SYNC));
}

/* case 22 */
TEST_F(import, sync_of_an_import_invalidates)
{
	NEED_DMA_BUF(self, variant);
	EXPECT_EQ(0, self->data[0]);
	ASSERT_EQ(0, writer_runs(self->fd, &self->bo, 0, NO_SYNC));
	ASSERT_EQ(0, writer_runs(self->fd, &self->bo, PAGE, NO_SYNC));
	if (variant->cached && strict_cache(self->board))
		EXPECT_TRUE(line_holds(self->data, 0));
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, FROM, 0, 2 * LINE));
	EXPECT_TRUE(result_is_seen(self->data));
	if (variant->cached && strict_cache(self->board))
		EXPECT_TRUE(line_holds(self->data + PAGE, 0));
}

TEST_F(import, sync_of_an_import_checks_like_any_other)
{
	struct drm_ork_extent e;

	NEED_DMA_BUF(self, variant);
	e = extent(&self->bo, TO | FROM, 0, PAGE);
	EXPECT_REFUSED(EINVAL, e.offset, BYTES, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EINVAL, e.offset, 1u, sync_extents(self->fd, &e, 1));
	EXPECT_REFUSED(EOVERFLOW, e.offset, ~0ull, sync_extents(self->fd, &e, 1));
}

/* case 22: the exporter's own brackets, around what the CPU does and what the device does. */
TEST_F(import, sync_of_the_dma_buf_reaches_the_importer)
{
	NEED_DMA_BUF(self, variant);
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_RW));
	memset(self->data, 1, PAGE);
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, END | DMA_BUF_SYNC_RW));
	EXPECT_EQ(32, reader_runs(self->fd, &self->bo, 0, NO_SYNC));
	ASSERT_EQ(0, writer_runs(self->fd, &self->bo, PAGE, NO_SYNC));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_RW));
	EXPECT_TRUE(result_is_seen(self->data + PAGE));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, END | DMA_BUF_SYNC_RW));
}

/* --- order, through the dma-buf's fences ------------------------------------------------------ */

TEST_F(import, dma_buf_tells_when_the_job_that_writes_it_has_ended)
{
	struct product p;
	uint32_t done;

	NEED_DMA_BUF(self, variant);
	NEED_BOARD(self->board);
	EXPECT_TRUE(dma_buf_idle(self->dma_buf, POLLIN));
	ASSERT_EQ(0, writer_create(self->fd, &p, &self->bo, 0, 0));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &p, 0, &done));
	EXPECT_FALSE(dma_buf_idle(self->dma_buf, POLLIN));
	EXPECT_EQ(0, job_status(self->fd, done));
	EXPECT_TRUE(dma_buf_idle(self->dma_buf, POLLIN));
}

TEST_F(import, dma_buf_tells_when_the_job_that_reads_it_has_ended)
{
	struct product p;
	uint32_t done;

	NEED_DMA_BUF(self, variant);
	NEED_BOARD(self->board);
	ASSERT_EQ(0, reader_create(self->fd, &p, &self->bo, 0, READ));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &p, 0, &done));
	EXPECT_TRUE(dma_buf_idle(self->dma_buf, POLLIN));
	EXPECT_FALSE(dma_buf_idle(self->dma_buf, POLLOUT));
	EXPECT_EQ(0, job_status(self->fd, done));
	EXPECT_TRUE(dma_buf_idle(self->dma_buf, POLLOUT));
}

/*
 * A job of several programs, of which only the last writes to the object: 8 rows of 32 int32 of 32,
 * or bytes 32, 0, 0, 0, of which 32 in a row make 256.
 */
static int late_writer_create(int fd, struct product *p, const struct bo *bo)
{
	int error = product_create(fd, p, 8, 32, 32, 4);

	if (error)
		return error;
	p->gemm.c = bo->iova;
	gemm_program(product_program(p, 3), &p->gemm, 0);
	p->extents[0] = extent(&p->bo, READ, 0, p->bo.size);
	p->extents[3] = extent(bo, WRITE | NO_SYNC, 0, 32 * 32);
	return 0;
}

/* Two clients, each with a handle of its own for the one object of the dma-buf. */
TEST_F(import, reader_waits_for_the_writer_in_another_client)
{
	struct product writer, reader;
	uint32_t written, read;
	struct bo bo;

	NEED_DMA_BUF(self, variant);
	NEED_BOARD(self->board);
	ASSERT_EQ(0, bo_import(self->other, self->dma_buf, &bo));
	ASSERT_EQ(0, late_writer_create(self->fd, &writer, &self->bo));
	ASSERT_EQ(0, reader_create(self->other, &reader, &bo, 0, NO_SYNC));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &writer, 1, &written));
	ASSERT_EQ(0, start_slowly(self->board, self->other, &reader, 2, &read));
	EXPECT_EQ(0, job_status(self->other, read));
	EXPECT_TRUE(has_ended(self->fd, written));
	EXPECT_EQ(0u, product_wrong(&reader, 8 * 32));
}

/* --- the end of an import --------------------------------------------------------------------- */

TEST_F(import, job_keeps_an_import_whose_handle_and_dma_buf_are_gone)
{
	struct product p;
	uint32_t done;

	NEED_DMA_BUF(self, variant);
	NEED_BOARD(self->board);
	memset(self->data, 1, PAGE);
	ASSERT_EQ(0, reader_create(self->fd, &p, &self->bo, 0, READ));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &p, 0, &done));
	munmap(self->data, BYTES);
	bo_close(self->fd, &self->bo);
	close(self->dma_buf);
	self->dma_buf = -1;
	EXPECT_FALSE(has_ended(self->fd, done));
	EXPECT_EQ(0, job_status(self->fd, done));
	EXPECT_EQ(0u, product_wrong(&p, 32));
}

/* case 20 */
TEST_F(import, import_ends_with_its_handle_and_the_dma_buf_stays)
{
	struct drm_ork_extent e;

	NEED_DMA_BUF(self, variant);
	e = extent(&self->bo, TO, 0, PAGE);
	EXPECT_EQ(0, sync_extents(self->fd, &e, 1));
	bo_close(self->fd, &self->bo);
	EXPECT_EQ(-ENOENT, sync_extents(self->fd, &e, 1));
	self->data[0] = 1;
	EXPECT_EQ(0, bo_import(self->fd, self->dma_buf, &self->bo));
	EXPECT_EQ(1, self->bo.data[0]);
	close(self->dma_buf);
	self->dma_buf = -1;
	EXPECT_EQ(1, self->bo.data[0]);
	EXPECT_EQ(0, sync_range(self->fd, &self->bo, TO | FROM, 0, BYTES));
	EXPECT_EQ(0, health(self->fd, 0));
}

/* case 20: without GEM_CLOSE, and the mapping outlives the file. */
TEST_F(import, file_closed_with_an_import_leaves_the_dma_buf_whole)
{
	NEED_DMA_BUF(self, variant);
	/* The import's end unmaps the memory, and that drops what the caches alone hold. */
	self->bo.data[0] = 1;
	ASSERT_EQ(0, close(self->fd));
	EXPECT_EQ(1, self->data[0]);
	self->bo.data[0] = 2;
	EXPECT_EQ(2, self->data[0]);
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, bo_import(self->fd, self->dma_buf, &self->bo));
	EXPECT_EQ(2, self->bo.data[0]);
	EXPECT_EQ(0, health_everywhere());
}

/* --- what cannot be imported ------------------------------------------------------------------ */

FIXTURE(refusal) {
	int fd;
	int exporter;
	struct ork_exporter_live before;
};

FIXTURE_SETUP(refusal)
{
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	self->exporter = exporter_open();
	self->before = exporter_live(self->exporter);
}

FIXTURE_TEARDOWN(refusal)
{
	close(self->fd);
	close(self->exporter);
}

/* The import's error; the file has nothing of the dma-buf afterwards. */
static int refused(FIXTURE_DATA(refusal) *self, uint32_t kind, uint64_t size)
{
	int dma_buf = exporter_create(self->exporter, kind, size), error;
	uint32_t handle;

	if (dma_buf < 0)
		return -EBADFD;
	error = prime_import(self->fd, dma_buf, &handle);
	/* A refusal is forgotten: the next says the same. */
	if (error && prime_import(self->fd, dma_buf, &handle) != error)
		error = -EBADFD;
	if (!error)
		call(self->fd, DRM_IOCTL_GEM_CLOSE, &(struct drm_gem_close){ .handle = handle });
	close(dma_buf);
	return error;
}

#define EXPECT_NOTHING_LEFT(self) do {							\
	struct ork_exporter_live now_ = exporter_live((self)->exporter);		\
											\
	EXPECT_EQ((self)->before.buffers, now_.buffers);				\
	EXPECT_EQ((self)->before.mappings, now_.mappings);				\
} while (0)

/* case 22: never success without effect. */
TEST_F(refusal, import_rejects_what_has_no_memory)
{
	NEED_EXPORTER(self->exporter);
	EXPECT_EQ(-EOPNOTSUPP, refused(self, ORK_EXPORTER_DEVICE, PAGE));
	EXPECT_EQ(-EOPNOTSUPP, refused(self, ORK_EXPORTER_MIXED, BYTES));
	EXPECT_EQ(0, refused(self, ORK_EXPORTER_MEMORY, BYTES));
	EXPECT_NOTHING_LEFT(self);
}

TEST_F(refusal, import_rejects_segments_that_are_not_the_dma_bufs_pages)
{
	NEED_EXPORTER(self->exporter);
	EXPECT_EQ(-EINVAL, refused(self, ORK_EXPORTER_SHORT, BYTES));
	EXPECT_EQ(-EINVAL, refused(self, ORK_EXPORTER_LONG, BYTES));
	EXPECT_EQ(-EINVAL, refused(self, ORK_EXPORTER_OFF_BORDER, BYTES));
	EXPECT_EQ(-EINVAL, refused(self, ORK_EXPORTER_ODD_LENGTH, BYTES));
	EXPECT_NOTHING_LEFT(self);
}

TEST_F(refusal, import_rejects_sizes_that_are_not_whole_pages)
{
	NEED_EXPORTER(self->exporter);
	EXPECT_EQ(-EINVAL, refused(self, ORK_EXPORTER_MEMORY, 0));
	EXPECT_EQ(-EINVAL, refused(self, ORK_EXPORTER_MEMORY, PAGE + 1));
	EXPECT_EQ(-EINVAL, refused(self, ORK_EXPORTER_MEMORY, BYTES - LINE));
	EXPECT_NOTHING_LEFT(self);
}

TEST_F(refusal, import_rejects_what_no_address_space_can_hold)
{
	NEED_EXPORTER(self->exporter);
	EXPECT_EQ(-ENOSPC, refused(self, ORK_EXPORTER_DEVICE, IOVA_LIMIT));
	EXPECT_EQ(-ENOSPC, refused(self, ORK_EXPORTER_DEVICE, 1ull << 40));
	EXPECT_NOTHING_LEFT(self);
}

TEST_F(refusal, import_tells_the_exporters_error)
{
	NEED_EXPORTER(self->exporter);
	EXPECT_EQ(-ENXIO, refused(self, ORK_EXPORTER_FAILS, BYTES));
	EXPECT_NOTHING_LEFT(self);
}

/* case 20 */
TEST_F(refusal, import_rejects_what_is_no_dma_buf)
{
	uint32_t handle;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, null);
	EXPECT_EQ(-EINVAL, prime_import(self->fd, null, &handle));
	EXPECT_EQ(-EINVAL, prime_import(self->fd, self->fd, &handle));
	close(null);
	EXPECT_EQ(-EBADF, prime_import(self->fd, null, &handle));
	EXPECT_EQ(-EBADF, prime_import(self->fd, -1, &handle));
}

TEST_F_TIMEOUT(refusal, thousand_imports_leave_nothing, 240)
{
	int dma_buf;
	struct bo bo;

	NEED_EXPORTER(self->exporter);
	dma_buf = exporter_create(self->exporter, ORK_EXPORTER_MEMORY, BYTES);
	ASSERT_LE(0, dma_buf);
	for (int i = 0; i < 1000; i++) {
		ASSERT_EQ(0, bo_import(self->fd, dma_buf, &bo));
		bo_close(self->fd, &bo);
	}
	close(dma_buf);
	EXPECT_NOTHING_LEFT(self);
}

TEST_F(refusal, closed_file_leaves_nothing_of_its_imports)
{
	struct bo bo;
	int dma_buf;

	NEED_EXPORTER(self->exporter);
	dma_buf = exporter_create(self->exporter, ORK_EXPORTER_MEMORY, BYTES);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, bo_import(self->fd, dma_buf, &bo));
	munmap(bo.data, BYTES);
	close(dma_buf);
	EXPECT_EQ(self->before.buffers + 1, exporter_live(self->exporter).buffers);
	EXPECT_EQ(self->before.mappings + 1, exporter_live(self->exporter).mappings);
	close(self->fd);
	EXPECT_NOTHING_LEFT(self);
}

/* --- dma-bufs that outlive the device --------------------------------------------------------- */

FIXTURE(unbound) {
	int fd;
	struct nodes nodes;
	struct bo bo;
	int dma_buf;
	uint8_t *data;
};

FIXTURE_SETUP(unbound)
{
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, bo_create(self->fd, BYTES, &self->bo));
	memset(self->bo.data, 1, PAGE);
	ASSERT_EQ(0, sync_range(self->fd, &self->bo, TO, 0, PAGE));
	self->dma_buf = prime_export(self->fd, self->bo.handle);
	ASSERT_LE(0, self->dma_buf);
	self->data = dma_buf_map(self->dma_buf, BYTES);
	ASSERT_NE(MAP_FAILED, self->data);
	nodes_find(&self->nodes);
}

/* Whatever has failed, the next test has its device. */
FIXTURE_TEARDOWN(unbound)
{
	if (self->nodes.count)
		node_bind(&self->nodes, 0);
	close(self->fd);
	close(self->dma_buf);
}

/* case 19 */
TEST_F(unbound, dma_buf_outlives_file_and_device)
{
	uint8_t *fresh;

	NEED_NODES(&self->nodes);
	munmap(self->bo.data, BYTES);
	close(self->fd);
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	EXPECT_EQ(-ENODEV, device_open());
	EXPECT_EQ(PAGE, first_other(self->data, 0, PAGE, 1));
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, START | DMA_BUF_SYNC_RW));
	self->data[BYTES - 1] = 2;
	EXPECT_EQ(0, dma_buf_sync(self->dma_buf, END | DMA_BUF_SYNC_RW));
	fresh = dma_buf_map(self->dma_buf, BYTES);
	ASSERT_NE(MAP_FAILED, fresh);
	EXPECT_EQ(1, fresh[0]);
	EXPECT_EQ(2, fresh[BYTES - 1]);
	munmap(fresh, BYTES);
	munmap(self->data, BYTES);
	EXPECT_EQ(0, close(self->dma_buf));
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
	EXPECT_EQ(0, health_everywhere());
	self->fd = self->dma_buf = -1;
}

/* case 19: and is foreign to the next device, which imports it as such. */
TEST_F(unbound, dma_buf_of_an_earlier_device_can_be_imported)
{
	struct bo bo;
	int fd;

	NEED_NODES(&self->nodes);
	if (!access("/sys/kernel/debug/dma-api", F_OK))
		SKIP(return, "DMA-API debug does not tell two mappings of a page apart");
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
	fd = device_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENODEV, sync_range(self->fd, &self->bo, TO, 0, PAGE));
	ASSERT_EQ(0, bo_import(fd, self->dma_buf, &bo));
	/* Another object for the same memory: what the first file has of it is not touched. */
	EXPECT_EQ(1, bo.data[0]);
	close(self->fd);
	close(self->dma_buf);
	EXPECT_EQ(32, reader_runs(fd, &bo, 0, READ));
	memset(self->data + PAGE, 3, PAGE);
	EXPECT_EQ(0, sync_range(fd, &bo, TO, PAGE, PAGE));
	EXPECT_EQ(96, reader_runs(fd, &bo, PAGE, NO_SYNC));
	ASSERT_EQ(0, writer_runs(fd, &bo, 2 * PAGE, 0));
	EXPECT_TRUE(result_is_seen(self->data + 2 * PAGE));
	close(fd);
	EXPECT_EQ(0, health_everywhere());
	self->fd = self->dma_buf = -1;
}

TEST_F(unbound, import_outlives_the_device)
{
	int exporter = exporter_open(), dma_buf;
	struct ork_exporter_live before = exporter_live(exporter), after;
	struct bo bo;

	NEED_EXPORTER(exporter);
	NEED_NODES(&self->nodes);
	dma_buf = exporter_create(exporter, ORK_EXPORTER_MEMORY, BYTES);
	ASSERT_LE(0, dma_buf);
	ASSERT_EQ(0, bo_import(self->fd, dma_buf, &bo));
	bo.data[0] = 1;
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	EXPECT_EQ(1, bo.data[0]);
	/* A mapping keeps its file open. */
	munmap(self->bo.data, BYTES);
	munmap(bo.data, BYTES);
	close(dma_buf);
	close(self->fd);
	after = exporter_live(exporter);
	EXPECT_EQ(before.buffers, after.buffers);
	EXPECT_EQ(before.mappings, after.mappings);
	self->fd = -1;
}

/* case 19 */
TEST_F(unbound, dma_buf_holds_the_module)
{
	munmap(self->bo.data, BYTES);
	munmap(self->data, BYTES);
	close(self->fd);
	if (access("/sys/module/ork", F_OK) || geteuid())
		SKIP(return, "needs root, and ork as a module");
	EXPECT_EQ(-EWOULDBLOCK, module_remove());
	EXPECT_EQ(0, health_everywhere());
	self->fd = -1;
}

ORK_TEST_MAIN

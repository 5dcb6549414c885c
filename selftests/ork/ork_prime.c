// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects shared with others as dma-bufs. Whoever holds them, what the CPU writes must get to the
 * device, and back what that writes, through a cache that does neither by itself.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/dma-buf.h>
#include "exporter/ork_exporter.h"
#include "ork_test.h"
#include "board.h"

#define TO		DRM_ORK_EXTENT_TO_DEVICE
#define FROM		DRM_ORK_EXTENT_FROM_DEVICE
#define READ		DRM_ORK_EXTENT_READ
#define WRITE		DRM_ORK_EXTENT_WRITE
#define NO_SYNC		DRM_ORK_EXTENT_NO_SYNC

#define START		DMA_BUF_SYNC_START
#define END		DMA_BUF_SYNC_END

#define PAGES		16
#define BYTES		(PAGES * PAGE)

/* Of a program: long enough for some calls before it ends. */
#define SLOW_US		400000

/* --- dma-bufs --------------------------------------------------------------------------------- */

/* A dma-buf, or a negative errno. */
static int prime_export(int fd, uint32_t handle)
{
	struct drm_prime_handle prime = { .handle = handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	int error = call(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	return error ? error : prime.fd;
}

static int prime_import(int fd, int dma_buf, uint32_t *handle)
{
	struct drm_prime_handle prime = { .fd = dma_buf };
	int error = call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);

	*handle = prime.handle;
	return error;
}

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
	void *data;

	if (error)
		return error;
	*bo = (struct bo){ handle, info.size, info.iova, info.mmap_offset, NULL };
	data = mmap(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, bo->mmap_offset);
	if (data == MAP_FAILED)
		return -errno;
	bo->data = data;
	return 0;
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

static int dma_buf_sync(int dma_buf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };
	int error;

	do {
		error = call(dma_buf, DMA_BUF_IOCTL_SYNC, &sync);
	} while (error == -EINTR || error == -EAGAIN);
	return error;
}

static bool same_dma_buf(int a, int b)
{
	struct stat left, right;

	return !fstat(a, &left) && !fstat(b, &right) && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
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
	int fd = -ENODEV;

	glob("/dev/dri/card*", 0, NULL, &nodes);
	for (size_t i = 0; i < nodes.gl_pathc; i++) {
		fd = open(nodes.gl_pathv[i], O_RDWR | O_CLOEXEC);
		if (fd >= 0 && is_ork(fd))
			break;
		if (fd >= 0)
			close(fd);
		fd = -ENODEV;
	}
	globfree(&nodes);
	return fd;
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

/* The core waits too, but only after the exporter has done its part. */
TEST_F(export, start_of_reading_waits_for_the_job_that_writes)
{
	struct product p;
	uint32_t done;

	NEED_BOARD(self->board);
	EXPECT_EQ(0, self->data[0]);
	ASSERT_EQ(0, writer_create(self->fd, &p, &self->bo, 0, NO_SYNC));
	ASSERT_EQ(0, start_slowly(self->board, self->fd, &p, 0, &done));
	EXPECT_FALSE(has_ended(self->fd, done));
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

/* --- dma-bufs that outlive the device --------------------------------------------------------- */

#define DRIVER	"/sys/bus/platform/drivers/ork-node/"

FIXTURE(unbound) {
	int fd;
	char node[256];		/* of the first core */
	struct bo bo;
	int dma_buf;
	uint8_t *data;
};

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, text, strlen(text));
	close(fd);
	return written < 0 ? -errno : 0;
}

/* The name of some node that the driver holds. */
static bool node_name(char *name, size_t size)
{
	DIR *folder = opendir(DRIVER);
	struct dirent *entry;

	name[0] = 0;
	while (folder && !name[0] && (entry = readdir(folder)))
		if (entry->d_type == DT_LNK && strcmp(entry->d_name, "module"))
			snprintf(name, size, "%s", entry->d_name);
	if (folder)
		closedir(folder);
	return name[0];
}

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
	node_name(self->node, sizeof(self->node));
}

/* Whatever has failed, the next test has its device. */
FIXTURE_TEARDOWN(unbound)
{
	if (self->node[0])
		write_to(DRIVER "bind", self->node);
	close(self->fd);
	close(self->dma_buf);
}

#define NEED_UNBIND(self) do {								\
	if (!(self)->node[0] || access(DRIVER "unbind", W_OK))				\
		SKIP(return, "needs root, to unbind the device");			\
} while (0)

/* case 19 */
TEST_F(unbound, dma_buf_outlives_file_and_device)
{
	uint8_t *fresh;

	NEED_UNBIND(self);
	munmap(self->bo.data, BYTES);
	close(self->fd);
	EXPECT_EQ(0, write_to(DRIVER "unbind", self->node));
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
	EXPECT_EQ(0, write_to(DRIVER "bind", self->node));
	EXPECT_EQ(0, health_everywhere());
	self->fd = self->dma_buf = -1;
}

/* case 19 */
TEST_F(unbound, dma_buf_holds_the_module)
{
	munmap(self->bo.data, BYTES);
	munmap(self->data, BYTES);
	close(self->fd);
	if (access("/sys/module/ork", F_OK) || geteuid())
		SKIP(return, "needs root, and ork as a module");
	EXPECT_EQ(-1, syscall(SYS_delete_module, "ork", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	EXPECT_EQ(0, health_everywhere());
	self->fd = -1;
}

ORK_TEST_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be seen of the driver from outside, and that it is true. The suite wants the device for
 * itself.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <linux/sync_file.h>
#include "ork_test.h"
#include "board.h"

/* Looks until it holds, for half a minute at most: what is given back is so a moment later. */
#define SOON(condition) ({						\
	int64_t end_ = now_ns() + 30 * SECOND;				\
									\
	while (!(condition) && now_ns() < end_)				\
		usleep(1000);						\
	(condition);							\
})

FIXTURE(seen) {
	int fd;
	struct drm_ork_device_info info;
	volatile uint32_t *board;
};

FIXTURE_SETUP(seen)
{
	self->board = board_open();
	board_behave(self->board);
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	self->info = device_info(self->fd);
}

FIXTURE_TEARDOWN(seen)
{
	board_behave(self->board);
	close(self->fd);
}

/* The first line of a file, without its end; empty if there is none. */
static const char *first_line(const char *path)
{
	static char line[256];
	FILE *file = fopen(path, "re");

	line[0] = '\0';
	if (file && fgets(line, sizeof(line), file))
		line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
	return line;
}

/* --- fences and the module -------------------------------------------------------------------- */

#define REFERENCES	"/sys/module/ork/refcnt"

static int module_references(void)
{
	return atoi(first_line(REFERENCES));
}

/* A job has run; a file descriptor of its fence, or a negative errno. */
static int sync_file_of_a_job(int fd)
{
	struct drm_syncobj_handle export = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	struct product product;
	struct drm_ork_job job;
	int error = product_create(fd, &product, 1, 32, 32, 1);

	if (error)
		return error;
	job = product_job(&product, 0);
	error = syncobj_create(fd, &export.handle);
	if (!error)
		error = submit_jobs(fd, &job, 1, export.handle);
	if (!error)
		error = job_status(fd, export.handle);
	if (!error)
		error = call(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &export);
	bo_close(fd, &product.bo);
	return error ? error : export.fd;
}

TEST_F(seen, sync_file_keeps_the_module_that_its_names_come_from)
{
	struct sync_fence_info fence = { 0 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };
	int sync_file;

	if (access(REFERENCES, F_OK) || geteuid())
		SKIP(return, "needs ork as a module, and root");
	sync_file = sync_file_of_a_job(self->fd);
	ASSERT_LE(0, sync_file);
	close(self->fd);
	/* All but the job's fence is gone. */
	ASSERT_TRUE(SOON(module_references() == 1));
	EXPECT_EQ(-1, syscall(SYS_delete_module, "ork", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	EXPECT_EQ(0, call(sync_file, SYNC_IOC_FILE_INFO, &info));
	EXPECT_EQ(1, info.status);
	EXPECT_STREQ("ork", fence.driver_name);
	EXPECT_STREQ("ork", fence.obj_name);
	close(sync_file);
	EXPECT_TRUE(SOON(module_references() == 0));
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
}

ORK_TEST_MAIN

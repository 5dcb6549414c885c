// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything that can fail, made to fail: the first point, the second, and so on, until the call
 * comes through. What failed has not happened at all, and the same call works afterwards.
 *
 * Two ways lead there. What a call allocates and copies in the caller's own context the kernel
 * makes fail by number (fail-nth). What hardware does, and what happens in interrupts and work
 * items, the module itself does (debugfs' fail_ork).
 *
 * Lines "# injected NAME COUNT" tell how many failures there were. The suite wants the device for
 * itself.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include "ork_test.h"
#include "board.h"
#include "dma_buf.h"
#include "driver.h"
#include "jobs.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"

static void injected(const char *what, unsigned int count)
{
	ksft_print_msg("injected %s %u\n", what, count);
	fflush(stdout);
}

static void injected_at(const char *point, unsigned int count)
{
	char what[32];

	snprintf(what, sizeof(what), "fail_ork.%s", point);
	injected(what, count);
}

/* All of a file, as far as it has room. 0 or a negative errno. */
static int read_text(const char *folder, const char *name, char *text, size_t size)
{
	char path[160];
	ssize_t length = 0;
	int file, error = 0;

	snprintf(path, sizeof(path), "%s%s", folder, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	memset(text, 0, size);
	do {
		text += length;
		size -= length;
		length = read(file, text, size - 1);
		if (length < 0)
			error = -errno;
	} while (length > 0);
	close(file);
	return error;
}

/* An emulated core may stand still while its host is busy. */
#define NEVER_MS	4000

/* As health(), with more patience. */
static int patient_health(int fd, uint32_t core_mask)
{
	struct step step;
	int error = step_create(fd, &step, 1, core_mask);

	step.job.timeout_ms = NEVER_MS;
	if (!error)
		error = step_run(&step);
	if (!error && product_wrong(&step.product, STEP_VALUE))
		error = -EBADMSG;
	step_close(&step);
	return error;
}

/* Of a file of its own, on any of some cores. */
static int device_health(uint32_t core_mask)
{
	int fd = device_open(), error = fd < 0 ? fd : patient_health(fd, core_mask);

	if (fd >= 0)
		close(fd);
	return error;
}

static int every_core_health(void)
{
	int error = 0;

	for (uint32_t core = 0; core < BOARD_CORES && !error; core++)
		error = device_health(1u << core);
	return error;
}

/* --- fail-nth --------------------------------------------------------------------------------- */

/* A sweep that comes to so many points goes round in circles. */
#define MOST_POINTS	1000

/* Of a sweep: memory from slabs, then pages; and copies from and to user space in both. */
#define PASSES		2

/*
 * Sweeps over the points of a call. The kernel's own caches need memory now and then, which moves
 * all points behind that by one: one sweep may miss some.
 */
#define TIMES		2

/*
 * All allocations may fail but those of the leak detector, which has a reserve: that would only be
 * points that nobody notices.
 */
static int choose_slabs(void)
{
	char filter[8];
	glob_t paths;
	int error = read_text(DEBUGFS "failslab/", "cache-filter", filter, sizeof(filter));

	if (error || filter[0] == 'Y')
		return error;
	error = glob("/sys/kernel/slab/*/failslab", 0, NULL, &paths) ? -ENOENT : 0;
	for (size_t i = 0; i < paths.gl_pathc && !error; i++)
		write_text(paths.gl_pathv[i], strstr(paths.gl_pathv[i], "kmemleak") ? "0" : "1");
	globfree(&paths);
	return error ? error : write_text(DEBUGFS "failslab/cache-filter", "Y");
}

/* The log is not told. */
static int choose_points(bool pages)
{
	static const char *const silent[] = { DEBUGFS "failslab/verbose",
					      DEBUGFS "fail_page_alloc/verbose",
					      DEBUGFS "fail_usercopy/verbose" };
	int error = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(silent) && !error; i++)
		error = write_text(silent[i], "0");
	if (!error)
		error = write_text(DEBUGFS "failslab/ignore-gfp-wait", pages ? "Y" : "N");
	if (!error)
		error = write_text(DEBUGFS "fail_page_alloc/min-order", "0");
	if (!error)
		error = write_text(DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N");
	if (!error)
		error = write_text(DEBUGFS "fail_page_alloc/ignore-gfp-wait", pages ? "N" : "Y");
	return error;
}

static void fail_nth_set(int file, unsigned int nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nth);
	/* This copy may be the point that fails. */
	while (pwrite(file, text, strlen(text), 0) < 0 && errno == EFAULT)
		;
}

/*
 * How many more points there could have been; 0: the last of them was come to. If it is the copy
 * here, it was not.
 */
static unsigned int fail_nth_end(int file)
{
	char text[16] = "";
	unsigned int left = pread(file, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 1;

	fail_nth_set(file, 0);
	return left;
}

/* --- what a call is tried on ------------------------------------------------------------------ */

#define MORE_OBJECTS	6
#define GATED_PROGRAMS	60

struct scene {
	int fd;
	struct drm_ork_device_info info;
	volatile uint32_t *board;
	char node[64];			/* of the device */
	char folder[64];		/* of the device, in debugfs */
	int fail_nth;

	struct bo bo;			/* of PAGES, all 0x5a */
	struct bo next;			/* what a new object of PAGES gets */
	int next_fd;
	int dma_buf;			/* for imports */
	struct product product;		/* has run, with status and time in @done */
	uint32_t done;

	struct step gate, step;
	struct bo more[MORE_OBJECTS];
	struct drm_ork_extent extents[4 + MORE_OBJECTS];
	struct drm_ork_job jobs[2];
	struct drm_ork_sync ins[2], outs[2];
	uint32_t job_out;
	struct drm_ork_counters counters;	/* before the call */

	uint8_t *data;			/* that the call mapped, or will touch */
	int opened;
};

static bool device_path(int fd, char *path, size_t size)
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, size - 1);
	path[length < 0 ? 0 : length] = '\0';
	return length > 0;
}

/* The lowest that is free. */
static int next_fd(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	close(fd);
	return fd;
}

static bool fd_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int bo_info(int fd, uint32_t handle, struct drm_ork_bo_info *info)
{
	*info = (struct drm_ork_bo_info){ .handle = handle };
	return call(fd, DRM_IOCTL_ORK_BO_INFO, info);
}

/* Creates an object of PAGES, and closes it: where it was. */
static struct bo bo_try(int fd)
{
	struct bo bo, was = { 0 };

	if (!bo_create(fd, BYTES, &bo)) {
		was = bo;
		bo_close(fd, &bo);
		was.data = NULL;
	}
	return was;
}

/* What a failed call may not have changed. */
struct state {
	struct bo next;
	int next_fd;
	unsigned int mappings;
	char vms[4096];
};

static unsigned int device_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int count = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "/dev/") != NULL;
	if (maps)
		fclose(maps);
	return count;
}

/* Which IOMMU has an address space is no state of the caller's. */
static void blank_iommus(char *text)
{
	while ((text = strstr(text, "iommus ")))
		for (text += 7; *text && *text != ' '; text++)
			*text = '-';
}

static struct state state_now(const struct scene *s)
{
	struct state state;

	memset(&state, 0, sizeof(state));
	state.next = bo_try(s->fd);
	state.next_fd = next_fd();
	state.mappings = device_mappings();
	read_text(s->folder, "vms", state.vms, sizeof(state.vms));
	blank_iommus(state.vms);
	return state;
}

/* --- calls ------------------------------------------------------------------------------------ */

#define MOST_ERRORS	4

/*
 * A call that is made again and again. Everything but @make is left in peace. What a call has
 * returned when it failed is in @errors; with EFAULT it may have happened, for the copy of the
 * answer comes last.
 */
struct trial {
	int (*setup)(struct scene *s);
	int (*prepare)(struct scene *s);	/* before each */
	int (*make)(struct scene *s);
	bool (*happened)(struct scene *s);	/* NULL: there is nothing to see */
	int (*check)(struct scene *s);		/* it has happened, wholly; takes it back */
	int (*finish)(struct scene *s);		/* after each */
	int errors[MOST_ERRORS];
};

/* QUERY, BO_INFO and WAIT: answers. */

static int query_device(struct scene *s)
{
	struct drm_ork_device_info info;
	int error = query(s->fd, DRM_ORK_QUERY_DEVICE, 0, &info, sizeof(info));

	return error ? error : memcmp(&info, &s->info, sizeof(info)) ? -EBADMSG : 0;
}

static int query_file(struct scene *s)
{
	struct drm_ork_counters counters;
	int error = query(s->fd, DRM_ORK_QUERY_FILE, 0, &counters, sizeof(counters));

	return error ? error : memcmp(&counters, &s->counters, sizeof(counters)) ? -EBADMSG : 0;
}

static int query_core(struct scene *s)
{
	struct drm_ork_counters counters;
	int error = query(s->fd, DRM_ORK_QUERY_CORE, 0, &counters, sizeof(counters));

	return error ? error : !counters.jobs ? -EBADMSG : 0;
}

static int info_of_bo(struct scene *s)
{
	struct drm_ork_bo_info info;
	int error = bo_info(s->fd, s->bo.handle, &info);

	return error ? error : info.iova != s->bo.iova || info.size != BYTES ? -EBADMSG : 0;
}

static int wait_for_done(struct scene *s)
{
	struct drm_ork_wait wait = { .syncobj = s->done, .point = 7 };
	int error = call(s->fd, DRM_IOCTL_ORK_WAIT, &wait);

	return error ? error : wait.status || !wait.cores ? -EBADMSG : 0;
}

/* BO_CREATE and GEM_CLOSE. */

static int create(struct scene *s, uint32_t flags)
{
	struct drm_ork_bo_create create = { .size = BYTES, .flags = flags };
	int error = call(s->fd, DRM_IOCTL_ORK_BO_CREATE, &create);

	if (error)
		return error;
	return create.handle == s->next.handle && create.iova == s->next.iova ? 0 : -EBADMSG;
}

static int create_cached(struct scene *s)
{
	return create(s, 0);
}

static int create_write_combined(struct scene *s)
{
	return create(s, DRM_ORK_BO_WRITE_COMBINE);
}

static bool next_exists(struct scene *s)
{
	struct drm_ork_bo_info info;

	return !bo_info(s->fd, s->next.handle, &info);
}

/* The new object is all zeros, and can be written. */
static int check_created(struct scene *s)
{
	struct drm_ork_bo_info info;
	struct bo bo = s->next;
	int error = bo_info(s->fd, bo.handle, &info);

	bo.mmap_offset = info.mmap_offset;
	if (!error)
		error = bo_map(s->fd, &bo);
	if (!error && (info.size != BYTES || info.iova != s->next.iova ||
		       first_other(bo.data, 0, BYTES, 0) != BYTES))
		error = -EBADMSG;
	if (!error)
		memset(bo.data, 1, BYTES);
	bo_close(s->fd, &bo);
	return error;
}

static int prepare_object(struct scene *s)
{
	return create_cached(s);
}

static int close_object(struct scene *s)
{
	struct drm_gem_close close = { .handle = s->next.handle };

	return call(s->fd, DRM_IOCTL_GEM_CLOSE, &close);
}

static bool next_is_gone(struct scene *s)
{
	return !next_exists(s);
}

static int finish_object(struct scene *s)
{
	close_object(s);
	return 0;
}

/* BO_SYNC. */

static int sync_four(struct scene *s)
{
	struct drm_ork_extent extents[] = {
		extent(&s->bo, DRM_ORK_EXTENT_TO_DEVICE, 0, PAGE),
		extent(&s->bo, DRM_ORK_EXTENT_FROM_DEVICE, PAGE, LINE),
		extent(&s->bo, DRM_ORK_EXTENT_TO_DEVICE, 3 * PAGE, PAGE),
		extent(&s->product.bo, DRM_ORK_EXTENT_FROM_DEVICE, s->product.c, LINE),
	};

	return sync_extents(s->fd, extents, ARRAY_LENGTH(extents));
}

static bool synced(struct scene *s)
{
	return file_counters(s->fd).sync_calls != s->counters.sync_calls;
}

static int check_synced(struct scene *s)
{
	struct drm_ork_counters now = file_counters(s->fd);

	return now.sync_calls == s->counters.sync_calls + 1 &&
	       now.bytes_cleaned == s->counters.bytes_cleaned + 2 * PAGE &&
	       now.bytes_invalidated == s->counters.bytes_invalidated + 2 * LINE ? 0 : -EBADMSG;
}

/* SUBMIT. */

/* A binary syncobj that has signalled, and the point of a timeline that has. */
static int setup_ins(struct scene *s)
{
	struct drm_syncobj_create create = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };
	int error = call(s->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	s->ins[0].handle = create.handle;
	s->ins[1] = (struct drm_ork_sync){ .handle = s->done, .point = 7 };
	return error;
}

/* Two jobs with everything that a submit can have. The first writes C, so does the second. */
static int setup_submit(struct scene *s)
{
	struct step *step = &s->step;
	int error = step_create(s->fd, step, 2, 0);

	if (!error)
		error = setup_ins(s);
	memcpy(s->extents, step->extents, 4 * sizeof(s->extents[0]));
	for (unsigned int i = 0; i < MORE_OBJECTS && !error; i++) {
		error = bo_create(s->fd, PAGE, &s->more[i]);
		s->extents[4 + i] = extent(&s->more[i], DRM_ORK_EXTENT_READ, 0, PAGE);
	}
	for (unsigned int i = 0; i < 2 && !error; i++)
		error = syncobj_create(s->fd, &s->outs[i].handle);
	if (!error)
		error = syncobj_create(s->fd, &s->job_out);

	step->job.extents = ARRAY(s->extents, 4 + MORE_OBJECTS);
	step->job.timeout_ms = NEVER_MS;
	s->jobs[0] = s->jobs[1] = step->job;
	s->jobs[0].out_syncobj = s->job_out;
	step->args.jobs = ARRAY(s->jobs, 2);
	step->args.in_syncs = ARRAY(s->ins, 2);
	step->args.out_syncs = ARRAY(s->outs, 2);
	return error;
}

static int prepare_submit(struct scene *s)
{
	memset(s->step.product.bo.data + s->step.product.c, UNTOUCHED,
	       product_c_bytes(&s->step.product));
	s->outs[1].point++;
	s->jobs[0].out_point = s->outs[1].point;
	return 0;
}

static int submit_two(struct scene *s)
{
	return step_submit(&s->step);
}

static bool submitted(struct scene *s)
{
	return file_counters(s->fd).submits != s->counters.submits;
}

static int syncobj_reset(int fd, uint32_t handle)
{
	struct drm_syncobj_array args = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	return call(fd, DRM_IOCTL_SYNCOBJ_RESET, &args);
}

static int check_submitted(struct scene *s)
{
	const struct drm_ork_sync job = { .handle = s->job_out, .point = s->outs[1].point };
	int error = sync_status(s->fd, &s->outs[0]);

	if (!error)
		error = sync_status(s->fd, &s->outs[1]);
	if (!error)
		error = sync_status(s->fd, &job);
	if (!error && product_wrong(&s->step.product, STEP_VALUE))
		error = -EBADMSG;
	return error ? error : syncobj_reset(s->fd, s->outs[0].handle);
}

/* Of a submit that was refused no syncobj has anything, and nothing has run. */
static int finish_submit(struct scene *s)
{
	const struct drm_ork_sync job = { .handle = s->job_out, .point = s->outs[1].point };

	if (submitted(s))
		return 0;
	if (sync_look(s->fd, &s->outs[0]) != -EINVAL || sync_look(s->fd, &s->outs[1]) != -EINVAL ||
	    sync_look(s->fd, &job) != -EINVAL)
		return -EEXIST;
	return product_untouched(&s->step.product) ? 0 : -EBADMSG;
}

/* The same behind a job that writes what these read, and one that reads what they write. */
static int setup_gated(struct scene *s)
{
	int error = setup_submit(s);

	if (!error)
		error = step_create(s->fd, &s->gate, GATED_PROGRAMS, 1);
	s->gate.job.timeout_ms = NEVER_MS;
	step_touch(&s->gate, &s->more[0], DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_NO_SYNC);
	step_touch(&s->gate, &s->step.product.bo, DRM_ORK_EXTENT_NO_SYNC);
	return error;
}

static int prepare_gated(struct scene *s)
{
	int error = prepare_submit(s);

	board_core_write(s->board, 0, ORK_BOARD_CORE_STRETCH_US, GATE_US);
	return error ? error : gate_shut(s->board, &s->gate);
}

static int check_gated(struct scene *s)
{
	int error = sync_look(s->fd, &s->outs[0]) == -EBUSY ? 0 : -EBADMSG;

	gates_open(s->board);
	return error ? error : check_submitted(s);
}

static int finish_gated(struct scene *s)
{
	int error;

	gates_open(s->board);
	error = step_status(&s->gate);
	/* The gate's is the submit that is not counted. */
	return error ? error : finish_submit(s);
}

/* PRIME, and the dma-buf's own call. */

/* A new object: one that was exported keeps its dma-buf. */
static int export_object(struct scene *s)
{
	int fd = prime_export(s->fd, s->next.handle);

	return fd < 0 ? fd : fd == s->next_fd ? 0 : -EBADMSG;
}

static bool next_fd_exists(struct scene *s)
{
	return fd_is_open(s->next_fd);
}

static int check_exported(struct scene *s)
{
	uint8_t *data = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, s->next_fd, 0);
	int error = data == MAP_FAILED ? -errno : 0;

	if (!error) {
		error = first_other(data, 0, BYTES, 0) == BYTES ? 0 : -EBADMSG;
		munmap(data, BYTES);
	}
	close(s->next_fd);
	return error;
}

static int setup_import_own(struct scene *s)
{
	struct bo bo;
	int fd = device_open(), error = fd < 0 ? fd : bo_create(fd, BYTES, &bo);

	s->dma_buf = error ? error : prime_export(fd, bo.handle);
	return s->dma_buf < 0 ? s->dma_buf : 0;
}

/* In so many segments as it has pages: those of a memfd, out of order. */
static int scattered_udmabuf(void)
{
	struct {
		struct udmabuf_create_list head;
		struct udmabuf_create_item items[PAGES];
	} list = { .head = { .flags = UDMABUF_FLAGS_CLOEXEC, .count = PAGES } };
	int node = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	int memory = memfd_create("ork", MFD_CLOEXEC | MFD_ALLOW_SEALING), fd;

	if (node < 0 || ftruncate(memory, BYTES) || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	for (unsigned int i = 0; i < PAGES; i++)
		list.items[i] = (struct udmabuf_create_item){ .memfd = memory,
							       .offset = i * 7 % PAGES * PAGE,
							       .size = PAGE };
	fd = ioctl(node, UDMABUF_CREATE_LIST, &list);
	close(memory);
	close(node);
	return fd < 0 ? -EIO : fd;
}

static int setup_import_udmabuf(struct scene *s)
{
	s->dma_buf = scattered_udmabuf();
	return s->dma_buf < 0 ? s->dma_buf : 0;
}

/* A page of the IOMMU's tables is for so many bytes. It stays for as long as its address space. */
#define TABLE_BYTES	0x400000u
#define STRADDLING	(TABLE_BYTES - BYTES / 2)

/* A new address space, in which what comes next begins in one table and ends in another. */
static int prepare_straddle(struct scene *s)
{
	struct drm_ork_bo_create filler = { .size = STRADDLING - PAGE - s->info.iova_start };

	s->opened = device_open();
	return s->opened < 0 ? s->opened : call(s->opened, DRM_IOCTL_ORK_BO_CREATE, &filler);
}

static int import_straddling(struct scene *s)
{
	uint32_t handle;

	return prime_import(s->opened, s->dma_buf, &handle);
}

/* The second handle of the file. */
static bool straddling_exists(struct scene *s)
{
	struct drm_ork_bo_info info;

	return !bo_info(s->opened, 2, &info);
}

/* Where some of it had been mapped before there was no memory for the rest, all of it fits. */
static int finish_straddle(struct scene *s)
{
	struct drm_ork_bo_info info;
	int error = straddling_exists(s) ? 0 : import_straddling(s);

	if (!error)
		error = bo_info(s->opened, 2, &info);
	close(s->opened);
	return error ? error : info.iova == STRADDLING ? 0 : -EBADMSG;
}

static int setup_import_heap(struct scene *s)
{
	s->dma_buf = heap_create();
	return s->dma_buf < 0 ? s->dma_buf : 0;
}

static int import_object(struct scene *s)
{
	uint32_t handle;
	int error = prime_import(s->fd, s->dma_buf, &handle);

	return error ? error : handle == s->next.handle ? 0 : -EBADMSG;
}

/* The device's own mapping of it is as that of an object of this size would be. */
static int check_imported(struct scene *s)
{
	struct drm_ork_bo_info info;
	int error = bo_info(s->fd, s->next.handle, &info);

	if (!error && (info.size != BYTES || info.iova != s->next.iova))
		error = -EBADMSG;
	return error ? error : close_object(s);
}

static int setup_export(struct scene *s)
{
	s->dma_buf = prime_export(s->fd, s->bo.handle);
	return s->dma_buf < 0 ? s->dma_buf : 0;
}

static int sync_begin(struct scene *s)
{
	return dma_buf_sync(s->dma_buf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
}

static int sync_end(struct scene *s)
{
	return dma_buf_sync(s->dma_buf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
}

/* Files. */

static int open_device(struct scene *s)
{
	int fd = open(s->node, O_RDWR | O_CLOEXEC);

	s->opened = s->next_fd;
	return fd < 0 ? -errno : fd == s->next_fd ? 0 : -EBADMSG;
}

static int check_opened(struct scene *s)
{
	struct bo bo = bo_try(s->opened);

	close(s->opened);
	return bo.handle ? 0 : -EBADMSG;
}

/* With an object, and a job that has run. */
static int prepare_close(struct scene *s)
{
	int error = open_device(s);

	return error ? error : patient_health(s->opened, 0);
}

static int close_device(struct scene *s)
{
	return close(s->opened) ? -errno : 0;
}

static bool opened_is_gone(struct scene *s)
{
	return !fd_is_open(s->opened);
}

/* Far from everything, so that all tables of it are new. */
#define FAR		((void *)0x2000000000)

static int map_object(struct scene *s)
{
	s->data = mmap(FAR, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, s->bo.mmap_offset);
	return s->data == MAP_FAILED ? -errno : 0;
}

static bool mapped(struct scene *s)
{
	return s->data != MAP_FAILED;
}

static int check_mapped(struct scene *s)
{
	int error = first_other(s->data, 0, BYTES, 0x5a) == BYTES ? 0 : -EBADMSG;

	munmap(s->data, BYTES);
	return error;
}

static sigjmp_buf back;

static void on_bus_error(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static int setup_touch(struct scene *s)
{
	struct sigaction action = { .sa_handler = on_bus_error };

	(void)s;
	return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

static int touch_object(struct scene *s)
{
	if (sigsetjmp(back, 1))
		return -ENOMEM;
	return *(volatile uint8_t *)(s->data + PAGE) == 0x5a ? 0 : -EBADMSG;
}

static int finish_touch(struct scene *s)
{
	return check_mapped(s);
}

/* debugfs and fdinfo. */

static int read_debugfs(struct scene *s, const char *name, const char *begin)
{
	char text[4096];
	int error = read_text(s->folder, name, text, sizeof(text));

	return error ? error : strncmp(text, begin, strlen(begin)) ? -EBADMSG : 0;
}

static int read_live(struct scene *s)
{
	return read_debugfs(s, "live", "files 1\n");
}

static int read_cores(struct scene *s)
{
	return read_debugfs(s, "cores", "core 0 idle\n");
}

static int read_staged(struct scene *s)
{
	return read_debugfs(s, "staged", "waiting 0 staged 0 running 0 client ");
}

static int read_vms(struct scene *s)
{
	return read_debugfs(s, "vms", "iommus ");
}

static int read_faults(struct scene *s)
{
	return read_debugfs(s, "faults", "run ");
}

static int read_fdinfo(struct scene *s)
{
	char name[16], text[4096];
	int error;

	snprintf(name, sizeof(name), "%d", s->fd);
	error = read_text("/proc/self/fdinfo/", name, text, sizeof(text));
	return error ? error : strstr(text, "drm-engine-core0:") ? 0 : -EBADMSG;
}

/* --- the sweep -------------------------------------------------------------------------------- */

FIXTURE(call) {
	struct scene scene;
};

FIXTURE_VARIANT(call) {
	const char *name;
	struct trial trial;
};

#define TRIAL(variant, what, ...)						\
	FIXTURE_VARIANT_ADD(call, variant) {					\
		.name = what, .trial = { __VA_ARGS__ },				\
	}

TRIAL(query_device, "ork_ioctl_query_device", .make = query_device, .errors = { EFAULT });
TRIAL(query_file, "ork_ioctl_query_file", .make = query_file, .errors = { EFAULT });
TRIAL(query_core, "ork_ioctl_query_core", .make = query_core, .errors = { EFAULT });
TRIAL(bo_create, "ork_ioctl_bo_create", .make = create_cached, .happened = next_exists,
      .check = check_created, .errors = { ENOMEM, EFAULT });
TRIAL(bo_create_wc, "ork_ioctl_bo_create_wc", .make = create_write_combined,
      .happened = next_exists, .check = check_created, .errors = { ENOMEM, EFAULT });
TRIAL(bo_info, "ork_ioctl_bo_info", .make = info_of_bo, .errors = { EFAULT });
TRIAL(bo_sync, "ork_ioctl_bo_sync", .make = sync_four, .happened = synced, .check = check_synced,
      .errors = { ENOMEM, EFAULT });
TRIAL(submit, "ork_ioctl_submit", .setup = setup_submit, .prepare = prepare_submit,
      .make = submit_two, .happened = submitted, .check = check_submitted,
      .finish = finish_submit, .errors = { ENOMEM, EFAULT });
TRIAL(submit_behind_others, "ork_ioctl_submit_gated", .setup = setup_gated,
      .prepare = prepare_gated, .make = submit_two, .happened = submitted, .check = check_gated,
      .finish = finish_gated, .errors = { ENOMEM, EFAULT });
TRIAL(wait, "ork_ioctl_wait", .make = wait_for_done, .errors = { EFAULT });
TRIAL(gem_close, "drm_ioctl_gem_close", .prepare = prepare_object, .make = close_object,
      .happened = next_is_gone, .finish = finish_object, .errors = { EFAULT });
TRIAL(prime_export, "drm_ioctl_prime_handle_to_fd", .prepare = prepare_object,
      .make = export_object, .happened = next_fd_exists, .check = check_exported,
      .finish = finish_object, .errors = { ENOMEM, EFAULT });
TRIAL(prime_import_own, "drm_ioctl_prime_fd_to_handle_own", .setup = setup_import_own,
      .make = import_object, .happened = next_exists, .check = check_imported,
      .errors = { ENOMEM, EFAULT });
TRIAL(prime_import_udmabuf, "drm_ioctl_prime_fd_to_handle_udmabuf", .setup = setup_import_udmabuf,
      .make = import_object, .happened = next_exists, .check = check_imported,
      .errors = { ENOMEM, EFAULT });
TRIAL(prime_import_across_tables, "drm_ioctl_prime_fd_to_handle_tables",
      .setup = setup_import_udmabuf, .prepare = prepare_straddle, .make = import_straddling,
      .happened = straddling_exists, .finish = finish_straddle, .errors = { ENOMEM, EFAULT });
TRIAL(prime_import_heap, "drm_ioctl_prime_fd_to_handle_heap", .setup = setup_import_heap,
      .make = import_object, .happened = next_exists, .check = check_imported,
      .errors = { ENOMEM, EFAULT });
TRIAL(dma_buf_begin, "dma_buf_ioctl_sync_start", .setup = setup_export, .make = sync_begin,
      .errors = { EFAULT });
TRIAL(dma_buf_end, "dma_buf_ioctl_sync_end", .setup = setup_export, .make = sync_end,
      .errors = { EFAULT });
TRIAL(open, "ork_open", .make = open_device, .happened = next_fd_exists, .check = check_opened,
      .errors = { ENOMEM, EFAULT });
TRIAL(close, "ork_close", .prepare = prepare_close, .make = close_device,
      .happened = opened_is_gone);
TRIAL(mmap, "ork_mmap", .make = map_object, .happened = mapped, .check = check_mapped,
      .errors = { ENOMEM });
TRIAL(page_fault, "ork_page_fault", .setup = setup_touch, .prepare = map_object,
      .make = touch_object, .finish = finish_touch, .errors = { ENOMEM });
TRIAL(debugfs_live, "ork_debugfs_live", .make = read_live, .errors = { ENOMEM, EFAULT });
TRIAL(debugfs_cores, "ork_debugfs_cores", .make = read_cores, .errors = { ENOMEM, EFAULT });
TRIAL(debugfs_staged, "ork_debugfs_staged", .make = read_staged, .errors = { ENOMEM, EFAULT });
TRIAL(debugfs_vms, "ork_debugfs_vms", .make = read_vms, .errors = { ENOMEM, EFAULT });
TRIAL(debugfs_faults, "ork_debugfs_faults", .make = read_faults, .errors = { ENOMEM, EFAULT });
TRIAL(fdinfo, "ork_fdinfo", .make = read_fdinfo, .errors = { ENOMEM, EFAULT });

/* A job that has run, whose fence is the point of a timeline. */
static int scene_run_product(struct scene *s)
{
	struct drm_ork_sync out = { .point = 7 };
	struct drm_ork_submit submit = { .out_syncs = ARRAY(&out, 1) };
	struct drm_ork_job job;
	int error = product_create(s->fd, &s->product, 1, 32, 32, 1);

	if (!error)
		error = syncobj_create(s->fd, &s->done);
	out.handle = s->done;
	job = product_job(&s->product, 1);
	job.timeout_ms = NEVER_MS;
	submit.jobs = ARRAY(&job, 1);
	if (!error)
		error = call(s->fd, DRM_IOCTL_ORK_SUBMIT, &submit);
	return error ? error : sync_status(s->fd, &out);
}

static void scene_setup(struct __test_metadata *_metadata, struct scene *s)
{
	s->board = board_open();
	board_behave(s->board);
	ASSERT_EQ(0, choose_slabs());
	s->fail_nth = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, s->fail_nth);
	s->fd = device_return();
	ASSERT_LE(0, s->fd);
	s->info = device_info(s->fd);
	ASSERT_TRUE(device_path(s->fd, s->node, sizeof(s->node)));
	ASSERT_TRUE(debugfs_folder("faults", s->folder, sizeof(s->folder)));
	ASSERT_EQ(0, bo_create(s->fd, BYTES, &s->bo));
	memset(s->bo.data, 0x5a, BYTES);
	ASSERT_EQ(0, scene_run_product(s));
}

/* Whatever is left keeps a device or a count. */
static void nothing_is_left(struct __test_metadata *_metadata, struct scene *s)
{
	board_behave(s->board);
	unmap_everything();
	syscall(SYS_close_range, 3, ~0u, 0);
	EXPECT_EQ(0, every_core_health());
	EXPECT_TRUE(SOON(!*alive())) {
		TH_LOG("there still is: %s", alive());
	}
	EXPECT_TRUE(SOON(module_references() == 0));
}

FIXTURE_SETUP(call)
{
	scene_setup(_metadata, &self->scene);
}

FIXTURE_TEARDOWN(call)
{
	nothing_is_left(_metadata, &self->scene);
}

static bool may_return(const struct trial *t, int error)
{
	for (unsigned int i = 0; i < MOST_ERRORS; i++)
		if (t->errors[i] && -t->errors[i] == error)
			return true;
	return false;
}

/* One call, of which the @nth point fails; 0: none. False if it does not come to so many. */
static bool attempt(struct __test_metadata *_metadata, struct scene *s, const struct trial *t,
		    unsigned int nth)
{
	struct drm_ork_counters counters;
	bool fired, happened;
	int error;

	if (t->prepare)
		ASSERT_EQ(0, t->prepare(s));
	s->counters = file_counters(s->fd);
	if (nth)
		fail_nth_set(s->fail_nth, nth);
	error = t->make(s);
	fired = nth && !fail_nth_end(s->fail_nth);
	counters = file_counters(s->fd);
	happened = t->happened ? t->happened(s) : !error;

	if (error) {
		EXPECT_TRUE(fired && may_return(t, error)) {
			TH_LOG("point %u: %s", nth, strerror(-error));
		}
		EXPECT_TRUE(!happened || error == -EFAULT) {
			TH_LOG("point %u: %s, and yet it has happened", nth, strerror(-error));
		}
	} else {
		EXPECT_TRUE(happened);
	}
	/* What was cleaned for a submit that then failed is clean, and so it is counted. */
	counters.bytes_cleaned = s->counters.bytes_cleaned;
	if (!happened)
		EXPECT_EQ(0, memcmp(&counters, &s->counters, sizeof(counters)));
	if (happened && t->check)
		EXPECT_EQ(0, t->check(s)) {
			TH_LOG("point %u", nth);
		}
	if (t->finish)
		EXPECT_EQ(0, t->finish(s)) {
			TH_LOG("point %u", nth);
		}
	return fired;
}

static void state_log(const struct state *state)
{
	ksft_print_msg("handle %u iova %#llx mmap %#llx fd %d mappings %u\n%s", state->next.handle,
		       (unsigned long long)state->next.iova,
		       (unsigned long long)state->next.mmap_offset, state->next_fd,
		       state->mappings, state->vms);
}

/* How many points the call has. After each failure it works. */
static unsigned int sweep(struct __test_metadata *_metadata, struct scene *s,
			  const struct trial *t)
{
	struct state before = state_now(s), after;
	unsigned int nth = 0;
	bool fired;

	do {
		fired = attempt(_metadata, s, t, ++nth);
		/* What a job held is let go a moment after its end. */
		EXPECT_TRUE(SOON((after = state_now(s),
				  !memcmp(&before, &after, sizeof(before))))) {
			TH_LOG("point %u", nth);
			state_log(&before);
			state_log(&after);
		}
		attempt(_metadata, s, t, 0);
	} while (fired && nth < MOST_POINTS && _metadata->passed);
	EXPECT_FALSE(fired);
	return nth - 1;
}

TEST_F_TIMEOUT(call, fails_at_any_point_without_a_trace, 180)
{
	struct scene *s = &self->scene;
	unsigned int points = 0;

	NEED_BOARD(s->board);
	if (variant->trial.setup)
		ASSERT_EQ(0, variant->trial.setup(s));
	s->next = bo_try(s->fd);
	s->next_fd = next_fd();
	for (unsigned int pass = 0; pass < TIMES * PASSES; pass++) {
		ASSERT_EQ(0, choose_points(pass % PASSES));
		points += sweep(_metadata, s, &variant->trial);
	}
	injected(variant->name, points);
}

/* --- fail_ork --------------------------------------------------------------------------------- */

struct visits {
	unsigned int visited, injected;
};

/* Of the device's folder; it may have got another one since the last time. */
static struct visits point_visits(const char *point)
{
	char folder[64] = "", text[512] = "", name[16];
	struct visits visits;

	debugfs_folder("faults", folder, sizeof(folder));
	read_text(folder, "faults", text, sizeof(text));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (sscanf(line, "%15s %u %u", name, &visits.visited, &visits.injected) == 3 &&
		    !strcmp(name, point))
			return visits;
	return (struct visits){ 0 };
}

#define EVERY	0

/* From now on the @nth visit fails, or every one. */
static int point_arm(const char *point, unsigned int nth)
{
	int error = point_write(point, "probability", 0);

	if (!error)
		error = point_write(point, "verbose", 0);
	if (!error)
		error = point_write(point, "times", nth == EVERY ? -1 : 1);
	if (!error)
		error = point_write(point, "space", nth);
	return error ? error : point_write(point, "probability", 100);
}

static void points_disarm(void)
{
	static const char *const points[] = { "run", "interrupt", "spurious", "dma", "attach",
					      "reset", "line", "queue", "clock", "power", "dump" };

	for (size_t i = 0; i < ARRAY_LENGTH(points); i++)
		point_write(points[i], "probability", 0);
}

/* Two clients with jobs on each core, all at once. */
#define CLIENTS		2
#define ROUNDS		2
#define CROWD		(CLIENTS * ROUNDS * BOARD_CORES)

/* How the jobs of a crowd ended. */
struct tally {
	unsigned int good, timed_out, faulted, lost, other;
};

static void tally_add(struct tally *tally, const struct step *step)
{
	switch (step_status(step)) {
	case 0:
		if (product_wrong(&step->product, STEP_VALUE))
			tally->other++;
		else
			tally->good++;
		break;
	case -ETIMEDOUT:
		tally->timed_out++;
		break;
	case -EFAULT:
		tally->faulted++;
		break;
	case -EIO:
		tally->lost++;
		break;
	default:
		tally->other++;
	}
}

static int crowd_run(uint32_t timeout_ms, struct tally *tally)
{
	int fds[CLIENTS], error = 0;
	struct step steps[CROWD];

	for (unsigned int i = 0; i < CLIENTS; i++)
		fds[i] = device_open();
	for (unsigned int i = 0; i < CROWD && !error; i++) {
		error = step_create(fds[i % CLIENTS], &steps[i], 2,
				    1u << i / CLIENTS % BOARD_CORES);
		steps[i].job.timeout_ms = timeout_ms;
	}
	for (unsigned int i = 0; i < CROWD && !error; i++)
		error = step_submit(&steps[i]);
	memset(tally, 0, sizeof(*tally));
	for (unsigned int i = 0; i < CROWD && !error; i++)
		tally_add(tally, &steps[i]);
	for (unsigned int i = 0; i < CROWD && !error; i++)
		step_close(&steps[i]);
	for (unsigned int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	return error;
}

/* Of jobs that all fail, and of those beside others that must not. */
#define SOON_MS		150
#define PATIENT_MS	2500

static void expect_crowd(struct __test_metadata *_metadata, const struct tally *expected)
{
	struct tally tally;

	ASSERT_EQ(0, crowd_run(expected->good ? PATIENT_MS : SOON_MS, &tally));
	EXPECT_EQ(0, memcmp(expected, &tally, sizeof(tally))) {
		TH_LOG("good %u timed out %u faulted %u lost %u other %u", tally.good,
		       tally.timed_out, tally.faulted, tally.lost, tally.other);
	}
}

FIXTURE(point) {
	struct scene scene;
	struct nodes nodes;
};

FIXTURE_VARIANT(point) {
	const char *name;
	const char *before;	/* always fails, or nobody would come to this point */
	struct tally once, always;
};

#define POINT(which, ...)							\
	FIXTURE_VARIANT_ADD(point, which) { .name = #which, __VA_ARGS__ }

POINT(run, .once = { .good = CROWD - 1, .timed_out = 1 }, .always = { .timed_out = CROWD });
POINT(interrupt, .once = { .good = CROWD }, .always = { .good = CROWD });
POINT(spurious, .once = { .good = CROWD }, .always = { .good = CROWD });
POINT(dma, .before = "interrupt", .once = { .good = CROWD - 1, .faulted = 1 },
      .always = { .faulted = CROWD });
POINT(attach, .once = { .good = CROWD }, .always = { .lost = CROWD });
POINT(reset, .before = "run", .once = { .timed_out = CROWD },
      .always = { .timed_out = BOARD_CORES, .lost = CROWD - BOARD_CORES });
POINT(dump, .before = "run", .once = { .timed_out = CROWD }, .always = { .timed_out = CROWD });

/* No point fails yet, and nothing is open that would keep a device. */
static void alone_setup(struct __test_metadata *_metadata, struct scene *s, struct nodes *nodes)
{
	scene_setup(_metadata, s);
	points_disarm();
	nodes_find(nodes);
	unmap_everything();
	close(s->fd);
}

FIXTURE_SETUP(point)
{
	alone_setup(_metadata, &self->scene, &self->nodes);
}

FIXTURE_TEARDOWN(point)
{
	points_disarm();
	nothing_is_left(_metadata, &self->scene);
}

#define NEED_ALL_NODES(nodes) do {						\
	NEED_NODES(nodes);							\
	if ((nodes)->count < BOARD_CORES)					\
		SKIP(return, "needs a node for each core");			\
} while (0)

static int rebind(const struct nodes *nodes)
{
	int error = node_unbind(nodes, 0);

	return error ? error : node_bind(nodes, 0);
}

TEST_F_TIMEOUT(point, that_fails_once_costs_its_own_job_at_most, 120)
{
	unsigned int count = point_visits(variant->name).injected;

	NEED_ALL_NODES(&self->nodes);
	for (unsigned int nth = 1; nth <= 3; nth++) {
		struct visits before = point_visits(variant->name), after;

		if (variant->before)
			ASSERT_EQ(0, point_arm(variant->before, EVERY));
		ASSERT_EQ(0, point_arm(variant->name, nth));
		expect_crowd(_metadata, &variant->once);
		after = point_visits(variant->name);
		EXPECT_EQ(before.injected + 1, after.injected);
		EXPECT_LE(before.visited + nth, after.visited);
		points_disarm();
		EXPECT_EQ(0, every_core_health());
	}
	count = point_visits(variant->name).injected - count;
	injected_at(variant->name, count);
}

TEST_F_TIMEOUT(point, that_always_fails_leaves_a_device_that_binds_again, 120)
{
	struct visits before = point_visits(variant->name), after;

	NEED_ALL_NODES(&self->nodes);
	if (variant->before)
		ASSERT_EQ(0, point_arm(variant->before, EVERY));
	ASSERT_EQ(0, point_arm(variant->name, EVERY));
	expect_crowd(_metadata, &variant->always);
	points_disarm();
	after = point_visits(variant->name);
	EXPECT_EQ(after.visited - before.visited, after.injected - before.injected);
	EXPECT_EQ(variant->always.lost ? -EIO : 0, every_core_health());
	EXPECT_EQ(0, rebind(&self->nodes));
	injected_at(variant->name, after.injected - before.injected);
}

/* --- binding ---------------------------------------------------------------------------------- */

FIXTURE(bind) {
	struct scene scene;
	struct nodes nodes;
	int file;		/* where the name of a node is written to, to bind it */
};

FIXTURE_SETUP(bind)
{
	scene_setup(_metadata, &self->scene);
	points_disarm();
	nodes_find(&self->nodes);
	self->file = open(NODE_DRIVER "bind", O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, self->file);
	unmap_everything();
	close(self->scene.fd);
}

FIXTURE_TEARDOWN(bind)
{
	points_disarm();
	EXPECT_LE(0, device_return());
	nothing_is_left(_metadata, &self->scene);
}

/* The write alone, of which the @nth point fails; 0: none. */
static int bind_failing(FIXTURE_DATA(bind) *self, uint32_t node, unsigned int nth,
			unsigned int *left)
{
	const char *name = self->nodes.names[node];
	int error;

	if (nth)
		fail_nth_set(self->scene.fail_nth, nth);
	error = pwrite(self->file, name, strlen(name), 0) < 0 ? -errno : 0;
	*left = nth ? fail_nth_end(self->scene.fail_nth) : 1;
	return error;
}

/*
 * Not all that a node is looked up with tells that it found no memory: for the kernel's resets it
 * is as if there were no such name, and for registers as if another had them.
 */
static bool bind_may_return(int error)
{
	return error == -ENOMEM || error == -EFAULT || error == -ENOENT || error == -EBUSY;
}

/* A device without a node: devtmpfs tells nobody that it found no memory. */
static bool node_is_missing(const struct scene *s)
{
	char pattern[96];
	glob_t paths;
	bool made;

	snprintf(pattern, sizeof(pattern), "/sys/class/*/%s", strrchr(s->node, '/') + 1);
	made = !glob(pattern, 0, NULL, &paths);
	globfree(&paths);
	return made && access(s->node, F_OK);
}

/*
 * One bind of a node that is not bound, of which the @nth point fails. @device: what a job meets
 * afterwards.
 */
static int bind_attempt(struct __test_metadata *_metadata, FIXTURE_DATA(bind) *self,
			uint32_t node, unsigned int nth, int device, bool *fired)
{
	unsigned int left;
	int error = bind_failing(self, node, nth, &left);

	*fired = !left;
	if (error) {
		EXPECT_TRUE(*fired && bind_may_return(error)) {
			TH_LOG("point %u: %s", nth, strerror(-error));
		}
		EXPECT_EQ(-ENODEV, device_open());
		EXPECT_EQ(0, bind_failing(self, node, 0, &left)) {
			TH_LOG("point %u: does not bind afterwards", nth);
		}
	}
	if (!error && node_is_missing(&self->scene))
		device = -ENODEV;
	EXPECT_EQ(device, device_health(0)) {
		TH_LOG("point %u", nth);
	}
	return error;
}

/* All that is done for one node, while another is missing. */
TEST_F_TIMEOUT(bind, of_a_node_among_others_fails_at_any_point_without_a_trace, 300)
{
	unsigned int points = 0;

	NEED_ALL_NODES(&self->nodes);
	ASSERT_EQ(0, node_unbind(&self->nodes, 0));
	for (unsigned int pass = 0; pass < PASSES; pass++) {
		unsigned int nth = 0;
		bool fired;

		ASSERT_EQ(0, choose_points(pass));
		do {
			uint32_t node = 1 + nth % 2;

			ASSERT_EQ(0, node_unbind(&self->nodes, node));
			bind_attempt(_metadata, self, node, ++nth, -ENODEV, &fired);
		} while (fired && nth < MOST_POINTS && _metadata->passed);
		EXPECT_FALSE(fired);
		points += nth - 1;
	}
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
	injected("ork_node_probe", points);
}

/* A device without its files in debugfs, or without its node, is bound again. */
static int need_files(const FIXTURE_DATA(bind) *self)
{
	bool missing = node_is_missing(&self->scene);
	char folder[64];

	return debugfs_folder("faults", folder, sizeof(folder)) && !missing ? 0 : rebind(&self->nodes);
}

/*
 * Whether the device had got beyond the DRM core's own part of it, where "queue" is visited: once
 * by the bind that failed, and once by the one after it.
 */
static bool bind_got_to_us(int error, unsigned int before)
{
	char folder[64];

	if (!debugfs_folder("faults", folder, sizeof(folder)))
		return true;	/* these are made at the very end */
	return point_visits("queue").visited - before == (error ? 2 : 1);
}

/* More points than a bind has. */
#define FAR_AWAY	100000

/*
 * The device is bound with the last of its nodes, whichever that is: one after the other is the
 * last, and all are brought up with it. From the last point back to those of the DRM core's own
 * device: Linux 7.3 crashes if that finds no memory for the device of a minor.
 */
static unsigned int bind_sweep(struct __test_metadata *_metadata, FIXTURE_DATA(bind) *self)
{
	unsigned int left, nth, before, points = 0;
	bool fired;
	int error;

	EXPECT_EQ(0, need_files(self));
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	EXPECT_EQ(0, bind_failing(self, 0, FAR_AWAY, &left));
	nth = FAR_AWAY - left;
	EXPECT_GT(MOST_POINTS, nth);
	for (; nth && _metadata->passed; nth--) {
		uint32_t node = nth % self->nodes.count;

		EXPECT_EQ(0, need_files(self));
		before = point_visits("queue").visited;
		EXPECT_EQ(0, node_unbind(&self->nodes, node));
		error = bind_attempt(_metadata, self, node, nth, 0, &fired);
		points += fired;
		if (!bind_got_to_us(error, before))
			return points;
	}
	EXPECT_EQ(0, nth);
	return points;
}

TEST_F_TIMEOUT(bind, of_the_device_fails_at_any_point_without_a_trace, 900)
{
	unsigned int points = 0;

	NEED_ALL_NODES(&self->nodes);
	for (unsigned int pass = 0; pass < PASSES; pass++) {
		ASSERT_EQ(0, choose_points(pass));
		points += bind_sweep(_metadata, self);
	}
	EXPECT_EQ(0, need_files(self));
	injected("ork_bind", points);
}

/* --- fail_ork: what no crowd comes to --------------------------------------------------------- */

FIXTURE(rare) {
	struct scene scene;
	struct nodes nodes;
};

FIXTURE_SETUP(rare)
{
	alone_setup(_metadata, &self->scene, &self->nodes);
}

FIXTURE_TEARDOWN(rare)
{
	points_disarm();
	EXPECT_LE(0, device_return());
	nothing_is_left(_metadata, &self->scene);
}

/* A core that does not start: the status of its job. */
static int hang_on(uint32_t core)
{
	int fd = device_open(), error;
	struct step step;

	error = step_create(fd, &step, 2, 1u << core);
	step.job.timeout_ms = SOON_MS;
	if (!error)
		error = point_arm("run", 1);
	if (!error)
		error = step_run(&step);
	step_close(&step);
	close(fd);
	return error;
}

TEST_F_TIMEOUT(rare, reset_controller_that_fails_costs_one_core, 60)
{
	NEED_ALL_NODES(&self->nodes);
	for (unsigned int nth = 1; nth <= BOARD_CORES; nth++) {
		uint32_t lost = nth - 1;

		ASSERT_EQ(0, point_arm("line", nth));
		for (uint32_t core = 0; core <= lost; core++)
			EXPECT_EQ(-ETIMEDOUT, hang_on(core));
		for (uint32_t core = 0; core < BOARD_CORES; core++)
			EXPECT_EQ(core == lost ? -EIO : 0, device_health(1u << core));
		points_disarm();
		EXPECT_EQ(0, rebind(&self->nodes));
		EXPECT_EQ(0, every_core_health());
	}
	injected_at("line", BOARD_CORES);
}

#define COREDUMPS	"/sys/class/devcoredump/devcd*/data"

static unsigned int coredumps(void)
{
	glob_t paths;
	unsigned int count = glob(COREDUMPS, 0, NULL, &paths) ? 0 : paths.gl_pathc;

	globfree(&paths);
	return count;
}

static void coredumps_remove(void)
{
	glob_t paths;

	if (!glob(COREDUMPS, 0, NULL, &paths))
		for (size_t i = 0; i < paths.gl_pathc; i++)
			write_text(paths.gl_pathv[i], "0");
	globfree(&paths);
}

TEST_F_TIMEOUT(rare, hang_without_memory_for_its_dump_has_none_and_the_next_has_one, 60)
{
	unsigned int count;

	NEED_NODES(&self->nodes);
	if (access("/sys/class/devcoredump", F_OK))
		SKIP(return, "needs a kernel with device coredumps");
	coredumps_remove();
	ASSERT_TRUE(SOON(coredumps() == 0));
	count = point_visits("dump").injected;
	ASSERT_EQ(0, point_arm("dump", 1));
	EXPECT_EQ(-ETIMEDOUT, hang_on(0));
	EXPECT_TRUE(SOON(point_visits("dump").injected == count + 1));
	EXPECT_EQ(0u, coredumps());
	/* The memory for a dump is free again a moment after that. */
	EXPECT_TRUE(SOON(hang_on(0) == -ETIMEDOUT && coredumps() == 1));
	coredumps_remove();
	injected_at("dump", 1);
}

/* A node for each visit, in the order in which they are brought up. */
static void expect_bind(struct __test_metadata *_metadata, const struct nodes *nodes,
			const char *point, unsigned int nth, int error)
{
	struct visits before = point_visits(point);

	ASSERT_EQ(0, point_arm(point, nth));
	ASSERT_EQ(0, node_unbind(nodes, 0));
	EXPECT_EQ(error, node_bind(nodes, 0));
	if (error) {
		EXPECT_EQ(-ENODEV, device_open());
		if (nth == EVERY) {
			/* Its files are gone with the device. */
			EXPECT_EQ(0, module_remove());
			EXPECT_EQ(0, module_insert());
			return;
		}
		EXPECT_EQ(0, node_bind(nodes, 0));
	}
	EXPECT_EQ(before.injected + 1, point_visits(point).injected);
	EXPECT_EQ(0, every_core_health());
	points_disarm();
}

TEST_F_TIMEOUT(rare, node_that_does_not_come_up_leaves_no_device_until_it_does, 120)
{
	NEED_ALL_NODES(&self->nodes);
	for (unsigned int nth = 1; nth <= BOARD_CORES; nth++) {
		if (nth == 1)
			expect_bind(_metadata, &self->nodes, "queue", nth, -ENOMEM);
		expect_bind(_metadata, &self->nodes, "clock", nth, -EIO);
		expect_bind(_metadata, &self->nodes, "power", nth, -ETIMEDOUT);
		expect_bind(_metadata, &self->nodes, "line", nth, -EIO);
		/* This is tried again at once. */
		expect_bind(_metadata, &self->nodes, "reset", nth, 0);
	}
	injected_at("queue", 1);
	injected_at("clock", BOARD_CORES);
	injected_at("power", BOARD_CORES);
	injected_at("line", BOARD_CORES);
	injected_at("reset", BOARD_CORES);
}

TEST_F_TIMEOUT(rare, core_that_never_resets_has_no_device, 60)
{
	NEED_ALL_NODES(&self->nodes);
	NEED_MODULE;
	expect_bind(_metadata, &self->nodes, "reset", EVERY, -EIO);
	EXPECT_EQ(0, every_core_health());
	injected_at("reset", 3);
}

/* Without a kernel that can fail there is nothing to be seen here. */
static void __attribute__((constructor)) need_faults(void)
{
	if (access(FAIL_NTH, W_OK) || access(DEBUGFS "failslab", F_OK) ||
	    access(DEBUGFS "fail_page_alloc", F_OK) || access(DEBUGFS "fail_usercopy", F_OK))
		ksft_exit_skip("needs a kernel with fault injection, and root\n");
}

ORK_TEST_MAIN

// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be seen of the driver from outside, and that it is true. The suite wants the device for
 * itself.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "ork_test.h"
#include "board.h"
#include "driver.h"
#include "jobs.h"

/*
 * With SLOW_US a program, SLOW_PROGRAMS make a job that goes on until it has been looked at, on a
 * loaded host too. board_behave() lets it end.
 */
#define SLOW_US		50000
#define SLOW_PROGRAMS	400

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

/* A product whose programs take SLOW_US each, on the emulated board. */
static int slow_product(FIXTURE_DATA(seen) *self, struct product *p)
{
	board_write(self->board, ORK_BOARD_LATENCY_US, SLOW_US);
	return product_create(self->fd, p, 1, 32, 32, SLOW_PROGRAMS);
}

/* Submits one job, pinned to one core, without waiting; @done gets its syncobj. */
static int start_job(int fd, struct product *p, uint32_t core, uint32_t *done)
{
	struct drm_ork_job job = product_job(p, 1u << core);
	int error = syncobj_create(fd, done);

	return error ? error : submit_jobs(fd, &job, 1, *done);
}

/* --- fences and the module -------------------------------------------------------------------- */

/* A job has run; a file descriptor of its fence, or a negative errno. */
static int sync_file_of_a_job(int fd)
{
	struct step step;
	int error = step_create(fd, &step, 1, 0);

	if (!error)
		error = step_run(&step);
	if (!error)
		error = sync_file_export(fd, step.out.handle);
	step_close(&step);
	return error;
}

TEST_F(seen, sync_file_keeps_the_module_that_its_names_come_from)
{
	struct sync_fence_info fence;
	int sync_file;

	if (access(REFERENCES, F_OK) || geteuid())
		SKIP(return, "needs ork as a module, and root");
	sync_file = sync_file_of_a_job(self->fd);
	ASSERT_LE(0, sync_file);
	close(self->fd);
	/* All but the job's fence is gone. */
	ASSERT_TRUE(SOON(module_references() == 1));
	EXPECT_EQ(-EWOULDBLOCK, module_remove());
	EXPECT_EQ(0, sync_file_fence(sync_file, &fence));
	EXPECT_EQ(1, sync_file_status(sync_file));
	EXPECT_TRUE(fence_is_named(fence.driver_name, "detached-driver"));
	EXPECT_TRUE(fence_is_named(fence.obj_name, "signaled-timeline"));
	close(sync_file);
	EXPECT_TRUE(SOON(module_references() == 0));
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
}

/* --- fdinfo ----------------------------------------------------------------------------------- */

struct fdinfo {
	char driver[16];
	long long client, total_kib, resident_kib;
	long long busy_ns[ORK_MAX_CORES];
};

static void fdinfo_line(struct fdinfo *info, const char *line)
{
	unsigned int core;
	long long value;

	sscanf(line, "drm-driver:\t%15s", info->driver);
	sscanf(line, "drm-client-id:\t%lld", &info->client);
	sscanf(line, "drm-total-memory:\t%lld KiB", &info->total_kib);
	sscanf(line, "drm-resident-memory:\t%lld KiB", &info->resident_kib);
	if (sscanf(line, "drm-engine-core%u:\t%lld ns", &core, &value) == 2 &&
	    core < ORK_MAX_CORES)
		info->busy_ns[core] = value;
}

/* -1 where a line is missing. */
static struct fdinfo fdinfo(int fd)
{
	struct fdinfo info = { "", -1, -1, -1, { -1, -1, -1 } };
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		fdinfo_line(&info, line);
	if (file)
		fclose(file);
	return info;
}

static bool is_busy(int fd, uint32_t syncobj)
{
	struct drm_ork_wait wait = { .syncobj = syncobj };

	return call(fd, DRM_IOCTL_ORK_WAIT, &wait) == -EBUSY;
}

TEST_F(seen, fdinfo_tells_driver_and_client)
{
	int other = device_open(), same = dup(self->fd);
	struct fdinfo info = fdinfo(self->fd);

	EXPECT_STREQ("ork", info.driver);
	EXPECT_LT(0, info.client);
	EXPECT_EQ(info.client, fdinfo(same).client);
	EXPECT_LT(0, fdinfo(other).client);
	EXPECT_NE(info.client, fdinfo(other).client);
	close(other);
	close(same);
}

TEST_F(seen, fdinfo_tells_the_memory_of_a_file)
{
	struct bo bos[2];
	int other = device_open();

	ASSERT_LE(0, other);
	EXPECT_EQ(0, fdinfo(self->fd).total_kib);
	ASSERT_EQ(0, bo_create(self->fd, 3 << 20, &bos[0]));
	ASSERT_EQ(0, bo_create(self->fd, PAGE, &bos[1]));
	EXPECT_EQ(3 * 1024 + 4, fdinfo(self->fd).total_kib);
	EXPECT_EQ(3 * 1024 + 4, fdinfo(self->fd).resident_kib);
	bo_close(self->fd, &bos[0]);
	EXPECT_EQ(4, fdinfo(self->fd).total_kib);
	EXPECT_EQ(4, fdinfo(self->fd).resident_kib);
	EXPECT_EQ(0, fdinfo(other).total_kib);
	close(other);
}

#define MIN_SAMPLES	20

/* A file's times, and between which moments they were read. */
struct sample {
	int64_t before, after;
	struct fdinfo info;
};

static struct sample sample(int fd)
{
	struct sample taken;

	taken.before = now_ns();
	taken.info = fdinfo(fd);
	taken.after = now_ns();
	return taken;
}

/* Cores whose time ran backwards, or faster than the clock. */
static unsigned int cores_that_lie(const struct sample *earlier, const struct sample *later,
				   uint32_t cores)
{
	int64_t clock = later->after - earlier->before;
	unsigned int lies = 0;

	for (uint32_t i = 0; i < cores; i++) {
		int64_t busy = later->info.busy_ns[i] - earlier->info.busy_ns[i];

		lies += busy < 0 || busy > clock;
	}
	return lies;
}

/*
 * One core runs well, one hangs, one has nothing to do, and they are looked at all the while and
 * after.
 */
TEST_F_TIMEOUT(seen, fdinfo_time_never_runs_backwards_nor_faster_than_the_clock, 120)
{
	const int64_t timeout = 300 * (SECOND / 1000);
	uint32_t good_done, bad_done = 0, cores = self->info.num_cores;
	struct sample first, last, now;
	struct product good, bad;
	unsigned int samples = 0, lies = 0;
	struct drm_ork_job job;

	NEED_BOARD(self->board);
	if (cores < BOARD_CORES)
		SKIP(return, "needs three cores");
	ASSERT_EQ(0, hanging_product(self->fd, &bad));
	ASSERT_EQ(0, slow_product(self, &good));
	job = product_job(&bad, 2);
	job.timeout_ms = 300;
	ASSERT_EQ(0, syncobj_create(self->fd, &bad_done));
	first = sample(self->fd);
	last = first;
	ASSERT_EQ(0, submit_jobs(self->fd, &job, 1, bad_done));
	ASSERT_EQ(0, start_job(self->fd, &good, 0, &good_done));
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(0, first.info.busy_ns[i]);
	while (is_busy(self->fd, good_done) || is_busy(self->fd, bad_done)) {
		now = sample(self->fd);
		lies += cores_that_lie(&last, &now, cores) + cores_that_lie(&first, &now, cores);
		last = now;
		if (++samples >= MIN_SAMPLES && !is_busy(self->fd, bad_done))
			board_behave(self->board);
	}
	EXPECT_EQ(0u, lies);
	EXPECT_EQ(0, job_status(self->fd, good_done));
	EXPECT_EQ(-ETIMEDOUT, job_status(self->fd, bad_done));

	now = sample(self->fd);
	EXPECT_EQ(0u, cores_that_lie(&last, &now, cores));
	/* The counter of the file has completed chains alone, of which there is one. */
	EXPECT_EQ((int64_t)file_counters(self->fd).busy_ns, now.info.busy_ns[0]);
	EXPECT_LE(timeout / 2, now.info.busy_ns[0]);
	EXPECT_LE(timeout / 2, now.info.busy_ns[1]);
	EXPECT_EQ(0, now.info.busy_ns[2]);
	/* What is idle costs nothing. */
	EXPECT_EQ(0, health_everywhere());
	last = sample(self->fd);
	EXPECT_EQ(0, memcmp(&now.info, &last.info, sizeof(now.info)));
}

/* --- debugfs: what exists --------------------------------------------------------------------- */

enum live { FILES, VMS, BOS, MAPPINGS, JOBS, FENCES, ATTACHMENTS, LIVE_KINDS };

struct live_counts {
	int of[LIVE_KINDS];
};

/* -1 where a line is missing. */
static struct live_counts live_counts(void)
{
	static const char *const names[] = { "files", "vms", "bos", "mappings", "jobs", "fences",
					     "attachments" };
	struct live_counts counts = { { -1, -1, -1, -1, -1, -1, -1 } };
	FILE *file = debugfs_open("live");
	char name[32];
	int count;

	while (file && fscanf(file, "%31s %d", name, &count) == 2)
		for (unsigned int i = 0; i < LIVE_KINDS; i++)
			if (!strcmp(name, names[i]))
				counts.of[i] = count;
	if (file)
		fclose(file);
	return counts;
}

static int live(enum live kind)
{
	return live_counts().of[kind];
}

static bool nothing_lives(void)
{
	static const struct live_counts none;
	struct live_counts now = live_counts();

	return !memcmp(&now, &none, sizeof(none));
}

TEST_F(seen, live_counts_what_is_made_and_what_is_left)
{
	struct live_counts before;
	struct bo bos[3];
	int other;

	NEED_DEBUGFS;
	ASSERT_TRUE(SOON(live(JOBS) == 0 && live(FILES) == 1));
	before = live_counts();
	EXPECT_EQ(1, before.of[VMS]);
	EXPECT_EQ(0, before.of[BOS]);
	EXPECT_EQ(0, before.of[MAPPINGS]);
	EXPECT_EQ(0, before.of[FENCES]);
	EXPECT_EQ(0, before.of[ATTACHMENTS]);

	other = device_open();
	ASSERT_LE(0, other);
	EXPECT_EQ(2, live(FILES));
	EXPECT_EQ(2, live(VMS));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, bo_create(other, PAGE, &bos[i]));
		EXPECT_EQ(i + 1, live(BOS));
		EXPECT_EQ(i + 1, live(MAPPINGS));
	}
	bo_close(other, &bos[1]);
	EXPECT_EQ(2, live(BOS));
	EXPECT_EQ(2, live(MAPPINGS));
	/* A mapping of the CPU keeps file and object. */
	close(other);
	EXPECT_EQ(2, live(FILES));
	munmap(bos[0].data, PAGE);
	munmap(bos[2].data, PAGE);
	EXPECT_EQ(1, live(FILES));
	EXPECT_EQ(1, live(VMS));
	EXPECT_EQ(0, live(BOS));
	EXPECT_EQ(0, live(MAPPINGS));
}

TEST_F(seen, live_counts_a_job_while_it_is_one)
{
	struct product slow;
	uint32_t done;

	NEED_BOARD(self->board);
	NEED_DEBUGFS;
	ASSERT_TRUE(SOON(live(JOBS) == 0 && live(FILES) == 1 && live(FENCES) == 0));
	ASSERT_EQ(0, slow_product(self, &slow));
	ASSERT_EQ(0, start_job(self->fd, &slow, 0, &done));
	EXPECT_EQ(1, live(JOBS));
	EXPECT_EQ(1, live(FENCES));
	EXPECT_TRUE(SOON(live(ATTACHMENTS) == 1));
	board_behave(self->board);
	EXPECT_EQ(0, job_status(self->fd, done));
	EXPECT_TRUE(SOON(live(JOBS) == 0));
	/* The syncobj has it still. */
	EXPECT_EQ(1, live(FENCES));
	/* The space stays attached, for it may be the next one's too. */
	EXPECT_EQ(1, live(ATTACHMENTS));
}

/* In a child: good, hanging and refused jobs, and objects, and then it is killed. */
static void untidy_client(uint32_t cores)
{
	int fd = device_open();

	for (uint32_t i = 0; i < 4 * cores; i++) {
		struct product p;
		struct drm_ork_job job;

		if (i % 3 ? product_create(fd, &p, 1, 32, 32, 2) : hanging_product(fd, &p))
			_exit(1);
		job = product_job(&p, 1u << i % cores);
		job.timeout_ms = 50;
		if (submit_jobs(fd, &job, 1, 0))
			_exit(1);
		p.task.words = 1;
		if (submit_jobs(fd, &job, 1, 0) != -EINVAL)
			_exit(1);
	}
	kill(getpid(), SIGKILL);
}

TEST_F_TIMEOUT(seen, nothing_lives_on_when_all_clients_are_gone, 120)
{
	NEED_DEBUGFS;
	for (unsigned int i = 0; i < 3; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			close(self->fd);
			untidy_client(self->info.num_cores);
		}
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	EXPECT_EQ(0, health_everywhere());
	close(self->fd);
	EXPECT_TRUE(SOON(nothing_lives()));
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
}

/* --- debugfs: who does what ------------------------------------------------------------------- */

/* What follows @before in @text, or what scans as nothing. */
static const char *after(const char *text, const char *before)
{
	const char *found = text ? strstr(text, before) : NULL;

	return found ? found + strlen(before) : "";
}

struct core_seen {
	char state[16];
	struct drm_ork_counters counters;
	int task, tasks, program, programs;
	long client, pid;
	char comm[32];
};

static struct core_seen core_seen(uint32_t core)
{
	struct core_seen seen = { .task = -1, .client = -1 };
	struct drm_ork_counters *counters = &seen.counters;
	char heading[16];
	const char *text;

	snprintf(heading, sizeof(heading), "core %u ", core);
	text = after(debugfs_text("cores"), heading);
	sscanf(text, "%15s jobs %llu programs %llu interrupts %llu busy_ns %llu switches %llu resets %llu task %d of %d program %d of %d client %ld pid %ld comm %31s",
	       seen.state, &counters->jobs, &counters->programs, &counters->interrupts,
	       &counters->busy_ns, &counters->switches, &counters->resets, &seen.task, &seen.tasks,
	       &seen.program, &seen.programs, &seen.client, &seen.pid, seen.comm);
	return seen;
}

TEST_F(seen, debugfs_tells_who_holds_a_core)
{
	struct drm_ork_counters counters;
	struct core_seen first, later;
	struct product slow;
	uint32_t done, core = self->info.num_cores - 1;

	NEED_BOARD(self->board);
	NEED_DEBUGFS;
	ASSERT_EQ(0, slow_product(self, &slow));
	ASSERT_EQ(0, start_job(self->fd, &slow, core, &done));
	ASSERT_TRUE(SOON(!strcmp(core_seen(core).state, "running")));
	first = core_seen(core);
	EXPECT_EQ(getpid(), first.pid);
	EXPECT_STREQ(program_invocation_short_name, first.comm);
	EXPECT_EQ(fdinfo(self->fd).client, first.client);
	EXPECT_EQ(0, first.task);
	EXPECT_EQ(1, first.tasks);
	EXPECT_EQ(SLOW_PROGRAMS, first.programs);
	/* Programs finish while it runs. */
	EXPECT_TRUE(SOON((later = core_seen(core)).program > first.program || later.task < 0));
	EXPECT_LT(first.program, later.program);
	EXPECT_STREQ("idle", core_seen(0).state);
	board_behave(self->board);
	EXPECT_EQ(0, job_status(self->fd, done));

	counters = core_counters(self->fd, core);
	later = core_seen(core);
	EXPECT_STREQ("idle", later.state);
	EXPECT_EQ(-1, later.task);
	EXPECT_EQ(counters.jobs, later.counters.jobs);
	EXPECT_EQ(counters.programs, later.counters.programs);
	EXPECT_EQ(counters.interrupts, later.counters.interrupts);
	EXPECT_EQ(counters.busy_ns, later.counters.busy_ns);
	EXPECT_EQ(counters.switches, later.counters.switches);
	EXPECT_EQ(counters.resets, later.counters.resets);
}

/* The line of this process, as far as it is about jobs. */
static bool jobs_are(unsigned int waiting, unsigned int staged, unsigned int running)
{
	char line[128];

	snprintf(line, sizeof(line), "waiting %u staged %u running %u client", waiting, staged,
		 running);
	return strstr(debugfs_text("staged"), line);
}

TEST_F(seen, debugfs_tells_how_far_the_jobs_of_a_client_are)
{
	struct drm_ork_sync in = { 0 };
	struct drm_ork_submit submit = { .in_syncs = ARRAY(&in, 1),
					 .flags = DRM_ORK_SUBMIT_EXPLICIT };
	struct drm_ork_job jobs[4];
	struct product slow[4];
	uint32_t done[4];

	NEED_BOARD(self->board);
	NEED_DEBUGFS;
	for (unsigned int i = 0; i < 4; i++) {
		ASSERT_EQ(0, slow_product(self, &slow[i]));
		jobs[i] = product_job(&slow[i], 1);
	}
	EXPECT_TRUE(jobs_are(0, 0, 0));
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(0, start_job(self->fd, &slow[i], 0, &done[i]));
	ASSERT_EQ(0, syncobj_create(self->fd, &done[3]));
	jobs[3].out_syncobj = done[3];
	in.handle = done[2];
	submit.jobs = ARRAY(&jobs[3], 1);
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &submit));
	EXPECT_TRUE(SOON(jobs_are(1, 2, 1)));
	board_behave(self->board);
	EXPECT_EQ(0, job_status(self->fd, done[3]));
	EXPECT_TRUE(jobs_are(0, 0, 0));
}

TEST_F(seen, debugfs_tells_which_addresses_are_taken)
{
	static const uint64_t sizes[] = { PAGE, 5 * PAGE, 3 << 20 };
	struct product product;
	struct drm_ork_job job;
	struct bo bo;
	const char *text;
	char line[128];
	uint64_t bytes = 0;

	NEED_DEBUGFS;
	EXPECT_NE(NULL, strstr(debugfs_text("vms"), "iommus 0x0 client"));
	for (unsigned int i = 0; i < ARRAY_LENGTH(sizes); i++) {
		ASSERT_EQ(0, bo_create(self->fd, sizes[i], &bo));
		snprintf(line, sizeof(line), "\t0x%08llx-0x%08llx %llu\n",
			 (unsigned long long)bo.iova,
			 (unsigned long long)(bo.iova + sizes[i] - 1), (unsigned long long)sizes[i]);
		bytes += sizes[i];
		text = debugfs_text("vms");
		EXPECT_NE(NULL, strstr(text, line));
		snprintf(line, sizeof(line), "\tobjects %u bytes %llu\n", i + 1,
			 (unsigned long long)bytes);
		EXPECT_NE(NULL, strstr(text, line));
	}
	ASSERT_EQ(0, product_create(self->fd, &product, 1, 32, 32, 1));
	job = product_job(&product, 1);
	ASSERT_EQ(0, run_job(self->fd, &job));
	EXPECT_NE(NULL, strstr(debugfs_text("vms"), "iommus 0x1 client"));
}

/* --- tracepoints ------------------------------------------------------------------------------ */

#define TRACING		"/sys/kernel/tracing"
/* An instance of our own: nobody else's events, and nobody else's settings. */
#define INSTANCE	TRACING "/instances/ork_seen"

/* False if there is nothing to see. */
static bool tracing_begin(void)
{
	if (access(TRACING "/events", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (access(TRACING "/events/ork", F_OK))
		return false;
	rmdir(INSTANCE);
	return !mkdir(INSTANCE, 0700);
}

static int tracing_switch(const char *to)
{
	int fd = open(INSTANCE "/events/ork/enable", O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0 || write(fd, to, 1) != 1)
		error = -errno;
	close(fd);
	return error;
}

#define MAX_EVENTS	64

/* What came of one event, as its fields are printed. */
struct events {
	unsigned int count;
	char fields[MAX_EVENTS][128];
};

static struct events events_of(const char *name)
{
	FILE *file = fopen(INSTANCE "/trace", "re");
	struct events events = { 0 };
	char line[512], colon[64];

	snprintf(colon, sizeof(colon), ": %s: ", name);
	while (file && fgets(line, sizeof(line), file)) {
		char *fields = strstr(line, colon);

		if (!fields || events.count == MAX_EVENTS)
			continue;
		fields[strcspn(fields, "\n")] = '\0';
		snprintf(events.fields[events.count++], sizeof(events.fields[0]), "%s",
			 fields + strlen(colon));
	}
	if (file)
		fclose(file);
	return events;
}

/* Sums the bytes of the ork_sync events of one direction. */
static unsigned long long bytes_synced(const struct events *syncs, const char *direction)
{
	unsigned long long sum = 0;

	for (unsigned int i = 0; i < syncs->count; i++) {
		unsigned long long bytes = 0;
		char way[16] = "";

		sscanf(syncs->fields[i], "bytes=%llu direction=%15s", &bytes, way);
		if (!strcmp(way, direction))
			sum += bytes;
	}
	return sum;
}

static void expect_event(struct __test_metadata *_metadata, const char *name, const char *format,
			 ...)
{
	struct events events = events_of(name);
	char expected[128];
	va_list args;

	va_start(args, format);
	vsnprintf(expected, sizeof(expected), format, args);
	va_end(args);
	EXPECT_EQ(1u, events.count);
	EXPECT_STREQ(expected, events.fields[0]);
}

TEST_F(seen, trace_tells_each_thing_once)
{
	bool coherent = self->info.flags & DRM_ORK_DEVICE_COHERENT;
	uint32_t core = self->info.num_cores - 1, mmu = 0;
	unsigned long long ns = 0;
	struct drm_ork_counters counters;
	struct events events;
	struct product product;
	struct drm_ork_job job;
	long long client = fdinfo(self->fd).client;

	if (!tracing_begin())
		SKIP(return, "needs tracefs with the events of ork, and root");
	ASSERT_EQ(0, product_create(self->fd, &product, 1, 32, 32, 3));
	job = product_job(&product, 1u << core);
	ASSERT_EQ(0, tracing_switch("1"));
	EXPECT_EQ(0, run_job(self->fd, &job));
	EXPECT_EQ(0, tracing_switch("0"));

	counters = file_counters(self->fd);
	expect_event(_metadata, "ork_submit", "client=%lld jobs=1", client);
	expect_event(_metadata, "ork_job_start", "core=%u client=%lld tasks=1 programs=3", core,
		     client);
	expect_event(_metadata, "ork_job_done", "core=%u client=%lld status=0 busy_ns=%llu", core,
		     client, counters.busy_ns);
	EXPECT_EQ(0u, events_of("ork_reset").count);
	events = events_of("ork_switch");
	EXPECT_EQ(1u, events.count);
	EXPECT_EQ(2, sscanf(events.fields[0], "mmu=%u ns=%llu", &mmu, &ns));
	EXPECT_TRUE(mmu == core || mmu == 0);
	EXPECT_LT(0u, ns);
	/* Four extents are cleaned, and what the job writes is invalidated. */
	events = events_of("ork_sync");
	EXPECT_EQ(coherent ? 0u : 5u, events.count);
	EXPECT_EQ(counters.bytes_cleaned, bytes_synced(&events, "to_device"));
	EXPECT_EQ(counters.bytes_invalidated, bytes_synced(&events, "from_device"));
	EXPECT_EQ(coherent, !counters.bytes_invalidated);
	rmdir(INSTANCE);
}

TEST_F(seen, trace_tells_the_bytes_of_a_sync)
{
	struct bo bo;

	if (!tracing_begin())
		SKIP(return, "needs tracefs with the events of ork, and root");
	if (self->info.flags & DRM_ORK_DEVICE_COHERENT) {
		rmdir(INSTANCE);
		SKIP(return, "nothing is maintained on a coherent system");
	}
	ASSERT_EQ(0, bo_create(self->fd, 2 * PAGE, &bo));
	ASSERT_EQ(0, tracing_switch("1"));
	/* From the middle of one line to the middle of another: 64 to 320. */
	EXPECT_EQ(0, sync_range(self->fd, &bo, DRM_ORK_EXTENT_TO_DEVICE, 100, 200));
	EXPECT_EQ(0, tracing_switch("0"));
	expect_event(_metadata, "ork_sync", "bytes=256 direction=to_device calls=1");
	rmdir(INSTANCE);
}

TEST_F(seen, trace_tells_of_a_hang)
{
	uint32_t core = self->info.num_cores - 1;
	long long client = fdinfo(self->fd).client;
	struct product bad;
	struct drm_ork_job job;

	if (!tracing_begin())
		SKIP(return, "needs tracefs with the events of ork, and root");
	ASSERT_EQ(0, hanging_product(self->fd, &bad));
	job = product_job(&bad, 1u << core);
	job.timeout_ms = 50;
	ASSERT_EQ(0, tracing_switch("1"));
	EXPECT_EQ(-ETIMEDOUT, run_job(self->fd, &job));
	EXPECT_EQ(0, tracing_switch("0"));
	expect_event(_metadata, "ork_reset", "core=%u status=%d programs=1", core, -ETIMEDOUT);
	expect_event(_metadata, "ork_job_start", "core=%u client=%lld tasks=1 programs=3", core,
		     client);
	expect_event(_metadata, "ork_job_done", "core=%u client=%lld status=%d busy_ns=0", core,
		     client, -ETIMEDOUT);
	rmdir(INSTANCE);
}

/* --- device coredumps ------------------------------------------------------------------------- */

#define COREDUMPS	"/sys/class/devcoredump"

static bool no_coredumps(void)
{
	/* Root may have switched them off, for good. */
	return access(COREDUMPS, F_OK) || strcmp(first_line(COREDUMPS "/disabled"), "0");
}

#define NEED_COREDUMPS do {						\
	if (geteuid() || no_coredumps())				\
		SKIP(return, "needs device coredumps, and root");	\
} while (0)

/* All of a file in sysfs; empty if it is not there (any more). */
static const char *sysfs_text(const char *path)
{
	static char text[2 * DEBUGFS_BYTES];
	FILE *file = fopen(path, "re");

	text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
	if (file)
		fclose(file);
	return text;
}

/* The first dump of ork's, or NULL. To drop it is to write to it. */
static const char *coredump(bool drop)
{
	const char *text = NULL;
	glob_t paths;

	if (glob(COREDUMPS "/devcd*/data", 0, NULL, &paths))
		return NULL;
	for (size_t i = 0; i < paths.gl_pathc && !text; i++) {
		const char *found = sysfs_text(paths.gl_pathv[i]);

		if (strncmp(found, "ork devcoredump 1\n", 18))
			continue;
		text = found;
		if (drop) {
			int fd = open(paths.gl_pathv[i], O_WRONLY | O_CLOEXEC);

			if (write(fd, "", 1) != 1)
				text = NULL;
			close(fd);
		}
	}
	globfree(&paths);
	return text;
}

/* A node's link to its dump is the last that goes. */
static bool node_has_coredump(void)
{
	glob_t paths;
	bool has = !glob(NODE_DRIVER "*/devcoredump", 0, NULL, &paths);

	globfree(&paths);
	return has;
}

/*
 * Those of earlier tests are gone, and so is what they might have in the making. The kernel
 * complains, with a call trace, of a dump that is made before the link to the last one has gone.
 */
static bool coredumps_are_gone(void)
{
	return SOON(!coredump(true) && !node_has_coredump());
}

/* Of jobs that hang, and of those that fault, of which the IOMMU is to tell before. */
#define HANG_MS		100
#define FAULT_MS	10000

/* Runs a job that fails, and has the dump of that; NULL if there is none. */
static const char *coredump_of(int fd, struct product *p, uint32_t core, int expected)
{
	struct drm_ork_job job = product_job(p, 1u << core);

	job.timeout_ms = expected == -EFAULT ? FAULT_MS : HANG_MS;
	if (!coredumps_are_gone() || run_job(fd, &job) != expected || !SOON(coredump(false)))
		return NULL;
	return coredump(false);
}

/* Of the words that the dump has of a program, how many are those of the product's. */
static uint32_t words_alike(const char *dump, const struct product *p, uint32_t index)
{
	const uint64_t *words = product_program(p, index);
	unsigned long long word;
	char heading[128];
	uint32_t alike = 0;

	snprintf(heading, sizeof(heading), "\nprogram %u iova 0x%08x words %u kept %u\n", index,
		 product_program_iova(p, index), PROGRAM_WORDS, PROGRAM_WORDS);
	dump = after(dump, heading);
	while (alike < PROGRAM_WORDS && sscanf(dump, "word %llx\n", &word) == 1 &&
	       word == words[alike]) {
		dump = after(dump, "\n");
		alike++;
	}
	return alike;
}

/* The number behind a name at the beginning of a line, or what is no number of anything. */
static long long dumped(const char *dump, const char *name)
{
	long long value = INT64_MIN;
	char start[64];

	snprintf(start, sizeof(start), "\n%s ", name);
	sscanf(after(dump, start), "%lli", &value);
	return value;
}

TEST_F_TIMEOUT(seen, coredump_tells_which_job_hung_and_where, 120)
{
	uint32_t core = self->info.num_cores - 1;
	struct product bad;
	char line[256];
	const char *dump;

	NEED_COREDUMPS;
	ASSERT_EQ(0, hanging_product(self->fd, &bad));
	dump = coredump_of(self->fd, &bad, core, -ETIMEDOUT);
	ASSERT_NE(NULL, dump);
	EXPECT_TRUE(node_has_coredump());
	EXPECT_EQ(core, dumped(dump, "core"));
	EXPECT_EQ(-ETIMEDOUT, dumped(dump, "status"));
	EXPECT_EQ(fdinfo(self->fd).client, dumped(dump, "client"));
	EXPECT_EQ(getpid(), dumped(dump, "pid"));
	snprintf(line, sizeof(line), "\ncomm %s\n", program_invocation_short_name);
	EXPECT_NE(NULL, strstr(dump, line));
	EXPECT_EQ(1 << core, dumped(dump, "core_mask"));
	EXPECT_EQ(HANG_MS, dumped(dump, "timeout_ms"));
	EXPECT_NE(NULL, strstr(dump, "\ntask 0 of 1\n"));
	snprintf(line, sizeof(line), "\nchain iova 0x%08llx words %u programs 3\n",
		 (unsigned long long)bad.bo.iova, PROGRAM_WORDS);
	EXPECT_NE(NULL, strstr(dump, line));
	EXPECT_EQ(1, dumped(dump, "task_counter"));
	EXPECT_EQ(NULL, strstr(dump, "\nfault "));
	EXPECT_NE(NULL, strstr(dump, " attached job "));
	/* As the last kick left them. */
	EXPECT_EQ((long long)bad.bo.iova, dumped(dump, "register 0x0010 PC_BASE_ADDRESS"));
	EXPECT_EQ(1, dumped(dump, "register 0x003c PC_TASK_STATUS") & ORK_PC_TASK_STATUS_COUNTER);
	EXPECT_EQ(ORK_INT_DPU, dumped(dump, "interrupts mask"));
	/* The second program is behind a link that does not lead there. */
	EXPECT_EQ(PROGRAM_WORDS, words_alike(dump, &bad, 0));
	EXPECT_EQ(NULL, strstr(dump, "\nprogram 1 "));
}

TEST_F_TIMEOUT(seen, coredump_has_the_program_that_was_running, 120)
{
	struct product bad;
	const char *dump;

	NEED_BOARD(self->board);
	NEED_COREDUMPS;
	ASSERT_EQ(0, product_create(self->fd, &bad, 1, 32, 32, 5));
	/* Starts a block that the program has not set up: it never ends. */
	product_program(&bad, 3)[PROGRAM_WORDS - 1] |= (uint64_t)ORK_ENABLE_PPU << 16;
	dump = coredump_of(self->fd, &bad, 0, -ETIMEDOUT);
	ASSERT_NE(NULL, dump);
	EXPECT_EQ(3, dumped(dump, "task_counter"));
	EXPECT_EQ(PROGRAM_WORDS, words_alike(dump, &bad, 0));
	EXPECT_EQ(PROGRAM_WORDS, words_alike(dump, &bad, 3));
	EXPECT_EQ(NULL, strstr(dump, "\nprogram 1 "));
	EXPECT_EQ(NULL, strstr(dump, "\nprogram 4 "));
}

TEST_F_TIMEOUT(seen, coredump_has_the_extents_of_the_job, 120)
{
	struct product bad;
	const char *dump;
	char line[256];

	NEED_COREDUMPS;
	ASSERT_EQ(0, hanging_product(self->fd, &bad));
	bad.extents[3].rows = 2;
	bad.extents[3].length = 64;
	bad.extents[3].stride = 128;
	dump = coredump_of(self->fd, &bad, 0, -ETIMEDOUT);
	ASSERT_NE(NULL, dump);
	EXPECT_EQ(4, dumped(dump, "extents"));
	for (unsigned int i = 0; i < 4; i++) {
		const struct drm_ork_extent *extent = &bad.extents[i];

		snprintf(line, sizeof(line),
			 "\nextent %u object 0x%08llx size %llu offset %llu length %llu stride %llu rows %u flags %#x\n",
			 i, (unsigned long long)bad.bo.iova, (unsigned long long)bad.bo.size,
			 (unsigned long long)extent->offset, (unsigned long long)extent->length,
			 (unsigned long long)extent->stride, i == 3 ? 2 : 1, extent->flags);
		EXPECT_NE(NULL, strstr(dump, line));
	}
}

TEST_F_TIMEOUT(seen, coredump_tells_the_address_that_faulted, 120)
{
	struct product bad;
	const char *dump;
	uint64_t end;

	NEED_COREDUMPS;
	ASSERT_EQ(0, product_create(self->fd, &bad, 1, 32, 32, 1));
	end = bad.bo.iova + bad.bo.size;
	bad.gemm.c = end;
	product_emit(&bad);
	dump = coredump_of(self->fd, &bad, 0, -EFAULT);
	ASSERT_NE(NULL, dump);
	EXPECT_EQ(-EFAULT, dumped(dump, "status"));
	EXPECT_EQ((long long)end, dumped(dump, "fault write"));

	bad.gemm.c = bad.bo.iova + bad.c;
	bad.gemm.b = end + 32;
	product_emit(&bad);
	dump = coredump_of(self->fd, &bad, 0, -EFAULT);
	ASSERT_NE(NULL, dump);
	EXPECT_EQ(-EFAULT, dumped(dump, "status"));
	EXPECT_EQ((long long)end + 32, dumped(dump, "fault read"));
}

/* What the CPU writes to such an object does not pass the cache by which the kernel reads it. */
TEST_F_TIMEOUT(seen, coredump_has_the_words_of_a_write_combined_program, 120)
{
	struct product bad;
	struct bo program;
	const char *dump;

	NEED_COREDUMPS;
	ASSERT_EQ(0, hanging_product(self->fd, &bad));
	ASSERT_EQ(0, bo_create_flags(self->fd, PAGE, DRM_ORK_BO_WRITE_COMBINE, &program));
	for (unsigned int i = 0; i < 2; i++) {
		memcpy(program.data, bad.bo.data, PROGRAM_BYTES);
		bad.task.iova = program.iova;
		bad.extents[0] = extent(&program, DRM_ORK_EXTENT_READ, 0, PROGRAM_BYTES);
		dump = coredump_of(self->fd, &bad, 0, -ETIMEDOUT);
		ASSERT_NE(NULL, dump);
		dump = strstr(dump, "\nprogram 0 ");
		for (unsigned int word = 0; word < PROGRAM_WORDS; word++) {
			unsigned long long value = 0;

			dump = after(dump, "\nword ");
			sscanf(dump, "%llx", &value);
			EXPECT_EQ(((uint64_t *)program.data)[word], value);
		}
		/* And again, with another word where the first has been read. */
		bad.gemm.c += 64;
		product_emit(&bad);
		product_cut(&bad, 0);
	}
}

/* --- the log ---------------------------------------------------------------------------------- */

/* Whether the job fails as expected, and the kernel says so, if it has not said too much before. */
static bool log_tells(int fd, struct product *p, int expected, const char *text)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct drm_ork_job job = product_job(p, 1);
	char record[1024];
	bool told = false;
	ssize_t length;

	lseek(log, 0, SEEK_END);
	job.timeout_ms = 50;
	if (run_job(fd, &job) == expected)
		while (!told && (length = read(log, record, sizeof(record) - 1)) > 0) {
			record[length] = '\0';
			told = strstr(record, text);
		}
	close(log);
	return told;
}

/* The log takes ten lines in five seconds: more than ten tries may be needed. */
TEST_F_TIMEOUT(seen, log_tells_why_a_job_failed, 120)
{
	long long client = fdinfo(self->fd).client;
	struct product hangs, faults;
	char line[256];

	if (access("/dev/kmsg", R_OK) || write_text(HANG_LIMIT, "0"))
		SKIP(return, "needs /dev/kmsg, and root");
	EXPECT_EQ(0, hanging_product(self->fd, &hangs));
	snprintf(line, sizeof(line),
		 "core 0: job of client %lld hung (-110) in task 0 of 1 after 1 of 3 programs, pc %#llx",
		 client, (unsigned long long)hangs.bo.iova);
	EXPECT_TRUE(SOON(log_tells(self->fd, &hangs, -ETIMEDOUT, line)));

	EXPECT_EQ(0, product_create(self->fd, &faults, 1, 32, 32, 1));
	faults.gemm.c = faults.bo.iova + faults.bo.size;
	product_emit(&faults);
	snprintf(line, sizeof(line),
		 "core 0: job of client %lld faulted (-14) in task 0 of 1 after 0 of 1 programs, pc %#llx, write fault at %#llx",
		 client, (unsigned long long)faults.bo.iova, (unsigned long long)faults.gemm.c);
	EXPECT_TRUE(SOON(log_tells(self->fd, &faults, -EFAULT, line)));
	EXPECT_EQ(0, write_text(HANG_LIMIT, "10"));
}

/* --- debugfs: and then the device goes -------------------------------------------------------- */

TEST_F(seen, debugfs_file_that_outlives_its_device_is_an_error_to_read)
{
	static const char *const names[] = { "live", "cores", "staged", "vms" };
	FILE *files[ARRAY_LENGTH(names)];
	struct nodes nodes;
	char byte;

	NEED_DEBUGFS;
	nodes_find(&nodes);
	NEED_NODES(&nodes);
	for (unsigned int i = 0; i < ARRAY_LENGTH(names); i++) {
		files[i] = debugfs_open(names[i]);
		ASSERT_NE(NULL, files[i]);
	}
	EXPECT_EQ(0, node_unbind(&nodes, 0));
	for (unsigned int i = 0; i < ARRAY_LENGTH(names); i++) {
		EXPECT_EQ(-1, read(fileno(files[i]), &byte, 1));
		EXPECT_TRUE(errno == EIO || errno == ENODEV);
		fclose(files[i]);
	}
	close(self->fd);
	EXPECT_EQ(0, node_bind(&nodes, 0));
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	EXPECT_EQ(0, health_everywhere());
}

ORK_TEST_MAIN

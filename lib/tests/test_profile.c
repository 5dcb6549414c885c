// SPDX-License-Identifier: MIT
/* What the profiler tells in files. */
#define _GNU_SOURCE	/* gettid() */
#include <pthread.h>
#include <unistd.h>
#include "../../selftests/unit/json.h"
#include "fake.h"

static char folder[] = "/tmp/ork-test-profile.XXXXXX";
static char path[64];
static char text[1 << 20];	/* of the file, once it is read */

/* True if the file is there and JSON. */
static bool read_file(void)
{
	FILE *file = fopen(path, "r");

	*text = 0;
	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = 0;
		fclose(file);
	}
	return is_json(text);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_is_told_from_what_is_none(void)
{
	static const char *const good[] = {
		"{}", "[]", "3", " { \"a\" : [1, -2.5e+3, 0, true, null, \"x\\u00ff\\\"\"], \"b\":{} }\n",
	};
	static const char *const bad[] = {
		"", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{} {}", "[1,]", "[,1]", "[1 2]", "[1}",
		"01", "1.", "1,5", "-", "1e", "tru", "\"abc", "\"\\x\"", "\"\\u12\"", "\"\n\"", "\"\xff\"",
	};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(is_json(good[i]), "%s", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!is_json(bad[i]), "%s", bad[i]);
}

/* --- the profile ------------------------------------------------------------------------------ */

static void the_profile_is_written_as_json(void)
{
	struct ork *ork = fake_open();

	ork->name = "/dev/\"ork\\\n\xff";
	ork_profile_enable(ork, true);
	ork->profile.phase[ORK_PHASE_GATHER].calls = 3;
	ork->profile.phase[ORK_PHASE_GATHER].ns = 12000345;
	ork->profile.phase[ORK_PHASE_GATHER].bytes = 1ull << 40;
	ork->profile.phase[ORK_PHASE_GATHER].bytes_maintained = 5;
	ork->profile.products = 6;
	ork->profile.ioctls = 7;
	ork->profile.bytes_written_cpu = 8;
	ork->profile.bytes_written_npu = 9;
	ork->profile.bytes_window = 10;
	ork->profile.busy_ns = 11;
	CHECK(ork_profile_write(ork, path) == 0, "%s", ork_error(ork));
	CHECK(read_file(), "no JSON: %s", text);
	CHECK(strstr(text, "\"device\": \"/dev/\\\"ork\\\\\\u000a\\u00ff\""), "%s", text);
	CHECK(strstr(text, "\"plan\": {\"calls\": 0, \"ms\": 0.000000, \"bytes\": 0, \"bytes_maintained\": 0}"),
	      "%s", text);
	CHECK(strstr(text, "\"gather\": {\"calls\": 3, \"ms\": 12.000345, \"bytes\": 1099511627776, "
			   "\"bytes_maintained\": 5}"), "%s", text);
	CHECK(strstr(text, "\"products\": 6, \"ioctls\": 7, \"bytes_written_cpu\": 8, \"bytes_written_npu\": 9, "
			   "\"bytes_window\": 10, \"busy_ms\": 0.000011"), "%s", text);
}

static void a_file_that_cannot_be_written_is_named(void)
{
	struct ork *ork = fake_open();

	ork->name = "fake";
	CHECK_EQUAL(ork_profile_write(ork, "/tmp/ork-no-such-folder/profile"), -ENOENT);
	CHECK(strstr(ork_error(ork), "/tmp/ork-no-such-folder/profile"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_profile_write(ork, "/tmp"), -EINVAL);
}

/* --- products --------------------------------------------------------------------------------- */

/* In plain memory, so that they have every phase. */
struct product {
	struct ork *ork;
	struct ork_matmul_desc desc;
	struct ork_weights *b;
	struct ork_matmul *matmul;
	void *a, *c;
};

static void make_product(struct product *p, struct ork *ork, uint32_t cores)
{
	static const uint16_t b[256 * 96];

	*p = (struct product) {
		.ork = ork, .desc = { .type = ORK_FP16_FP32, .m = 48, .k = 256, .n = 96, .cores = cores },
	};
	p->a = calloc(48 * 256, 2);
	p->c = calloc(48 * 96, 4);
	CHECK_EQUAL(ork_weights_create(ork, p->desc.type, p->desc.k, p->desc.n, &p->b), 0);
	CHECK_EQUAL(ork_weights_pack(p->b, b, p->desc.n, 0), 0);
	CHECK_EQUAL(ork_matmul_create(ork, &p->desc, &p->matmul), 0);
}

static int start(struct product *p)
{
	struct ork_matrix a = { .data = p->a }, c = { .data = p->c };

	return ork_matmul_start(p->matmul, &a, p->b, &c);
}

static int run(struct product *p)
{
	int ret = start(p);

	return ret ? ret : ork_matmul_wait(p->matmul, INT64_MAX);
}

static void drop_product(struct product *p)
{
	ork_matmul_destroy(p->matmul);
	ork_weights_destroy(p->b);
	free(p->a);
	free(p->c);
}

static struct ork *open_fake(void)
{
	struct ork *ork = fake_open();

	ork->name = "fake";
	return ork;
}

/* --- the trace's events ----------------------------------------------------------------------- */

#define EVENTS	200

struct event {
	uint32_t process, row;
	unsigned long long begin, end;		/* ns */
	char name[32];
};

static struct event events[EVENTS];
static uint32_t event_count;

/* A line of the file, if it is that of an event. Times have three digits behind the point. */
static bool read_event(const char *line, struct event *event)
{
	unsigned long long us[2], ns[2];

	if (sscanf(line, "{\"ph\": \"X\", \"pid\": %u, \"tid\": %u, \"ts\": %llu.%3llu, \"dur\": %llu.%3llu, "
		   "\"name\": \"%31[^\"]\"", &event->process, &event->row, &us[0], &ns[0], &us[1], &ns[1],
		   event->name) != 7)
		return false;
	event->begin = us[0] * 1000 + ns[0];
	event->end = event->begin + us[1] * 1000 + ns[1];
	return true;
}

static void read_trace(struct ork *ork)
{
	const char *line;

	event_count = 0;
	CHECK(ork_trace_write(ork, path) == 0, "%s", ork_error(ork));
	CHECK(read_file(), "no JSON: %s", text);
	for (line = text; line && event_count < EVENTS; line = strchr(line, '\n')) {
		line += *line == '\n';
		event_count += read_event(line, &events[event_count]);
	}
}

static uint32_t count_events(uint32_t process, const char *name)
{
	uint32_t i, count = 0;

	for (i = 0; i < event_count; i++)
		count += events[i].process == process && !strcmp(events[i].name, name);
	return count;
}

#define CPU	1
#define NPU	2
#define JOB	"48x256x96"

/* --- the trace -------------------------------------------------------------------------------- */

static void a_trace_names_its_rows_and_events(void)
{
	struct ork *ork = open_fake();
	struct product p;
	char row[128];

	CHECK_EQUAL(ork_trace_start(ork, EVENTS), 0);
	make_product(&p, ork, 1);
	fake.status = -ETIMEDOUT;
	fake.cores = 2;
	fake.begin_ns = 1234567;
	fake.end_ns = 1334656;
	CHECK_EQUAL(run(&p), -ETIMEDOUT);
	read_trace(ork);
	CHECK(strstr(text, "\"device\": \"fake\", \"dropped_events\": 0}"), "%s", text);
	CHECK(strstr(text, "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"CPU\"}}"),
	      "%s", text);
	CHECK(strstr(text, "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 2, \"args\": {\"name\": \"NPU\"}}"),
	      "%s", text);
	CHECK(strstr(text, "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 2, \"tid\": 2, "
			   "\"args\": {\"name\": \"core 2\"}}"), "%s", text);
	CHECK(!strstr(text, "core 3"), "%s", text);
	snprintf(row, sizeof(row), "\"pid\": 1, \"tid\": %d, \"args\": {\"name\": \"thread %d\"}}", gettid(), gettid());
	CHECK(strstr(text, row), "%s", text);
	CHECK(strstr(text, "\"name\": \"gather\", \"args\": {\"bytes\": 24576}}"), "%s", text);
	CHECK(strstr(text, "{\"ph\": \"X\", \"pid\": 2, \"tid\": 1, \"ts\": 1234.567, \"dur\": 100.089, "
			   "\"name\": \"" JOB "\", \"args\": {\"status\": -110}}"), "%s", text);
	ork_trace_stop(ork);
	drop_product(&p);
}

static void a_job_that_no_core_ran_is_in_no_row(void)
{
	struct ork *ork = open_fake();
	struct product p;

	make_product(&p, ork, 3);
	CHECK_EQUAL(ork_trace_start(ork, EVENTS), 0);
	CHECK_EQUAL(run(&p), 0);
	read_trace(ork);
	CHECK_EQUAL(count_events(NPU, JOB), 0);
	CHECK_EQUAL(count_events(CPU, "wait"), 1);
	ork_trace_stop(ork);
	drop_product(&p);
}

static void a_trace_costs_ioctls_while_it_is_on(void)
{
	struct ork *ork = open_fake();
	struct ork_profile profile;
	struct product p;
	int on;

	make_product(&p, ork, 3);
	for (on = 0; on < 2; on++) {
		fake.waits = 0;
		if (on)
			CHECK_EQUAL(ork_trace_start(ork, EVENTS), 0);
		ork_profile_enable(ork, true);
		CHECK_EQUAL(run(&p), 0);
		ork_profile_get(ork, &profile);
		CHECK_EQUAL(profile.ioctls, 2);
		CHECK_EQUAL(fake.waits, on ? 4 : 1);
		CHECK_EQUAL(fake.job[2].out_syncobj, on ? 7 : 0);
	}
	ork_trace_stop(ork);
	CHECK_EQUAL(run(&p), 0);
	CHECK_EQUAL(fake.waits, 5);
	CHECK_EQUAL(fake.job[2].out_syncobj, 0);
	drop_product(&p);
}

static void a_trace_may_begin_and_end_while_a_product_is_in_flight(void)
{
	struct ork *ork = open_fake();
	struct product p;

	make_product(&p, ork, 3);
	fake.cores = 1;
	CHECK_EQUAL(start(&p), 0);
	CHECK_EQUAL(ork_trace_start(ork, EVENTS), 0);
	CHECK_EQUAL(ork_matmul_wait(p.matmul, INT64_MAX), 0);
	read_trace(ork);
	CHECK_EQUAL(count_events(CPU, "wait"), 1);
	CHECK_EQUAL(count_events(NPU, JOB), 0);
	CHECK_EQUAL(start(&p), 0);
	ork_trace_stop(ork);
	CHECK_EQUAL(ork_matmul_wait(p.matmul, INT64_MAX), 0);
	drop_product(&p);
}

static void a_trace_that_starts_anew_forgets(void)
{
	struct ork *ork = open_fake();
	struct product p;

	CHECK_EQUAL(ork_trace_start(ork, EVENTS), 0);
	make_product(&p, ork, 1);
	CHECK_EQUAL(ork_trace_start(ork, EVENTS), 0);
	ork_profile_enable(ork, false);
	CHECK_EQUAL(run(&p), 0);
	read_trace(ork);
	CHECK_EQUAL(count_events(CPU, "plan"), 0);
	CHECK_EQUAL(count_events(CPU, "submit"), 1);
	ork_trace_stop(ork);
	drop_product(&p);
}

static void a_trace_that_cannot_be_is_refused(void)
{
	struct ork *ork = open_fake();

	CHECK_EQUAL(ork_trace_write(ork, path), -EINVAL);
	CHECK(strstr(ork_error(ork), "no trace"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_trace_start(ork, 0), -EINVAL);
	CHECK(strstr(ork_error(ork), "events = 0") && strstr(ork_error(ork), "at least 1"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_trace_start(ork, 1), 0);
	CHECK_EQUAL(ork_trace_write(ork, "/tmp/ork-no-such-folder/trace"), -ENOENT);
	CHECK(strstr(ork_error(ork), "/tmp/ork-no-such-folder/trace"), "%s", ork_error(ork));
	ork_trace_stop(ork);
	ork_trace_stop(ork);
	CHECK_EQUAL(ork_trace_write(ork, path), -EINVAL);
}

/* --- the trace of products that run ----------------------------------------------------------- */

#define RUNS	4
#define CORES	3
/* Plan, pack and emit once; gather, submit, wait and copy-back for each; and the jobs. */
#define ALL_EVENTS	(3 + RUNS * (4 + CORES))

struct span {
	uint64_t begin, end;
};

static struct ork *open_model(void)
{
	struct ork *ork;

	CHECK_EQUAL(ork_open("model", &ork), 0);
	return ork;
}

/* Traces runs of a product with room for @room events, and reads the trace. */
static void trace_runs(uint32_t room, struct span spans[RUNS])
{
	struct ork *ork = open_model();
	struct product p;
	uint32_t i;

	CHECK_EQUAL(ork_trace_start(ork, room), 0);
	make_product(&p, ork, CORES);
	for (i = 0; i < RUNS; i++) {
		spans[i].begin = ork_now();
		CHECK(run(&p) == 0, "%s", ork_error(ork));
		spans[i].end = ork_now();
	}
	drop_product(&p);
	read_trace(ork);
	ork_close(ork);
}

static bool is_in(const struct event *event, const struct span *span)
{
	return span->begin <= event->begin && event->begin <= event->end && event->end <= span->end;
}

static void events_add_up_and_lie_within_their_runs(void)
{
	struct span spans[RUNS];
	uint32_t i, run;

	trace_runs(EVENTS, spans);
	CHECK_EQUAL(event_count, ALL_EVENTS);
	CHECK_EQUAL(count_events(CPU, "plan"), 1);
	CHECK_EQUAL(count_events(CPU, "pack"), 1);
	CHECK_EQUAL(count_events(CPU, "emit"), 1);
	CHECK_EQUAL(count_events(CPU, "gather"), RUNS);
	CHECK_EQUAL(count_events(CPU, "submit"), RUNS);
	CHECK_EQUAL(count_events(CPU, "wait"), RUNS);
	CHECK_EQUAL(count_events(CPU, "copy-back"), RUNS);
	CHECK_EQUAL(count_events(NPU, JOB), RUNS * CORES);
	for (i = 0; i < event_count; i++) {
		bool before = !strcmp(events[i].name, "plan") || !strcmp(events[i].name, "pack");

		for (run = 0; run < RUNS && !is_in(&events[i], &spans[run]); run++)
			;
		CHECK((run == RUNS) == before, "%s is in run %u", events[i].name, run);
	}
}

/* The event of @name in @span. */
static const struct event *find_event(const char *name, const struct span *span)
{
	uint32_t i;

	for (i = 0; i < event_count; i++)
		if (!strcmp(events[i].name, name) && is_in(&events[i], span))
			return &events[i];
	return NULL;
}

static bool overlap(const struct event *one, const struct event *other)
{
	return one->process == other->process && one->row == other->row && one->begin < other->end &&
	       other->begin < one->end;
}

static void jobs_lie_side_by_side_between_submit_and_the_end_of_wait(void)
{
	struct span spans[RUNS];
	uint32_t i, j, run, cores;

	trace_runs(EVENTS, spans);
	for (i = 0; i < event_count; i++)
		for (j = 0; j < i; j++)
			CHECK(!overlap(&events[i], &events[j]), "%s and %s", events[i].name, events[j].name);
	for (run = 0; run < RUNS; run++) {
		const struct event *submit = find_event("submit", &spans[run]), *wait = find_event("wait", &spans[run]);
		struct span between = { submit->begin, wait->end };

		for (i = cores = 0; i < event_count; i++)
			if (events[i].process == NPU && is_in(&events[i], &between))
				cores |= 1u << events[i].row;
		CHECK_EQUAL(cores, (1u << CORES) - 1);
	}
}

static void events_without_room_are_counted(void)
{
	struct span spans[RUNS];
	char dropped[64];

	trace_runs(5, spans);
	CHECK_EQUAL(event_count, 5);
	snprintf(dropped, sizeof(dropped), "\"dropped_events\": %d}", ALL_EVENTS - 5);
	CHECK(strstr(text, dropped), "%s", text);
	trace_runs(ALL_EVENTS, spans);
	CHECK_EQUAL(event_count, ALL_EVENTS);
	CHECK(strstr(text, "\"dropped_events\": 0}"), "%s", text);
}

static pid_t other_thread;

static void *run_elsewhere(void *p)
{
	other_thread = gettid();
	CHECK_EQUAL(run(p), 0);
	return NULL;
}

static uint32_t count_in_file(const char *what)
{
	const char *at = text;
	uint32_t count;

	for (count = 0; (at = strstr(at, what)); count++)
		at++;
	return count;
}

/* One at a time, by turns. */
static void each_thread_has_a_row(void)
{
	struct ork *ork = open_model();
	uint32_t i, here = 0, there = 0;
	struct product p;
	pthread_t thread;

	make_product(&p, ork, 1);
	CHECK_EQUAL(ork_trace_start(ork, EVENTS), 0);
	CHECK_EQUAL(run(&p), 0);
	CHECK_EQUAL(pthread_create(&thread, NULL, run_elsewhere, &p), 0);
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(run(&p), 0);
	read_trace(ork);
	for (i = 0; i < event_count; i++) {
		here += events[i].process == CPU && events[i].row == (uint32_t)gettid();
		there += events[i].process == CPU && events[i].row == (uint32_t)other_thread;
	}
	CHECK_EQUAL(here, 1 + 4 + 4);
	CHECK_EQUAL(there, 4);
	CHECK_EQUAL(count_in_file("\"thread_name\", \"pid\": 1,"), 2);
	drop_product(&p);
	ork_close(ork);
}

int main(void)
{
	if (!mkdtemp(folder)) {
		printf("not ok - no room for scratch files\n");
		return 1;
	}
	snprintf(path, sizeof(path), "%s/profile.json", folder);
	RUN(json_is_told_from_what_is_none);
	RUN(the_profile_is_written_as_json);
	RUN(a_file_that_cannot_be_written_is_named);
	RUN(a_trace_names_its_rows_and_events);
	RUN(a_job_that_no_core_ran_is_in_no_row);
	RUN(a_trace_costs_ioctls_while_it_is_on);
	RUN(a_trace_may_begin_and_end_while_a_product_is_in_flight);
	RUN(a_trace_that_starts_anew_forgets);
	RUN(a_trace_that_cannot_be_is_refused);
	RUN(events_add_up_and_lie_within_their_runs);
	RUN(jobs_lie_side_by_side_between_submit_and_the_end_of_wait);
	RUN(events_without_room_are_counted);
	RUN(each_thread_has_a_row);
	unlink(path);
	rmdir(folder);
	return test_result();
}

// SPDX-License-Identifier: MIT
/*
 * The trace: when each phase and each job of a product began and ended. It is recorded into memory
 * that was allocated before, and written in Chrome's trace format, which ui.perfetto.dev reads too.
 */
#define _GNU_SOURCE	/* gettid() */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "ork_private.h"

/* What the format calls processes: rows of one stand together. */
enum { CPU = 1, NPU = 2 };

struct event {
	uint64_t begin, end;		/* ns */
	uint32_t process;
	uint32_t row;			/* thread, or core */
	union {
		struct {
			enum ork_phase phase;
			uint64_t bytes;
		} cpu;
		struct {
			uint32_t m, k, n;
			int status;
		} npu;
	};
};

struct ork_trace {
	uint32_t room, count;
	uint64_t dropped;
	struct event *events;
};

/* --- recording -------------------------------------------------------------------------------- */

static void destroy(struct ork_trace *trace)
{
	if (trace)
		free(trace->events);
	free(trace);
}

static struct ork_trace *create(uint32_t events)
{
	struct ork_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->room = events;
	trace->events = calloc(events, sizeof(*trace->events));
	if (trace->events)
		return trace;
	destroy(trace);
	return NULL;
}

int ork_trace_start(struct ork *ork, uint32_t events)
{
	struct ork_trace *trace;

	if (!events)
		return ork_fail(ork, -EINVAL, "events = 0; must be at least 1");
	trace = create(events);
	if (!trace)
		return ork_fail(ork, -ENOMEM, "no memory for %u events", events);
	ork_trace_stop(ork);
	ork->trace = trace;
	ork->timed = true;
	return 0;
}

void ork_trace_stop(struct ork *ork)
{
	destroy(ork->trace);
	ork->trace = NULL;
	ork->timed = ork->profiling;
}

static void add(struct ork_trace *trace, const struct event *event)
{
	if (trace->count < trace->room)
		trace->events[trace->count++] = *event;
	else
		trace->dropped++;
}

void ork_trace_phase(struct ork_trace *trace, enum ork_phase phase, uint64_t begin, uint64_t end, uint64_t bytes)
{
	add(trace, &(struct event) {
		.begin = begin, .end = end, .process = CPU, .row = (uint32_t)gettid(), .cpu = { phase, bytes },
	});
}

/* Past the library's own wait, whose errors are the product's: one here loses an event only. */
void ork_trace_job(struct ork *ork, const struct ork_matmul_desc *desc, uint32_t syncobj)
{
	struct drm_ork_wait wait = { .syncobj = syncobj };

	if (ork->backend->wait(ork->dev, &wait) || !wait.cores)
		return;
	add(ork->trace, &(struct event) {
		.begin = wait.begin_ns, .end = wait.end_ns, .process = NPU, .row = (uint32_t)__builtin_ctz(wait.cores),
		.npu = { desc->m, desc->k, desc->n, wait.status },
	});
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_process(FILE *file, uint32_t process, const char *name)
{
	fprintf(file, "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %u, \"args\": {\"name\": \"%s\"}}", process,
		name);
}

static void write_row(FILE *file, uint32_t process, uint32_t row, const char *kind)
{
	fprintf(file, ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %u, \"tid\": %u, "
		"\"args\": {\"name\": \"%s %u\"}}", process, row, kind, row);
}

static void write_cores(FILE *file, uint32_t mask)
{
	uint32_t core;

	for (core = 0; core < 32; core++)
		if (mask >> core & 1)
			write_row(file, NPU, core, "core");
}

/* Whether the thread of event @index has none before it. Mostly the last phase was the same thread's. */
static bool is_first_of_thread(const struct ork_trace *trace, uint32_t index)
{
	const struct event *events = trace->events;
	uint32_t i;

	for (i = index; i--;)
		if (events[i].process == CPU && events[i].row == events[index].row)
			return false;
	return events[index].process == CPU;
}

static void write_us(FILE *file, const char *key, uint64_t ns)
{
	fprintf(file, ", \"%s\": %llu.%03llu", key, (unsigned long long)ns / 1000, (unsigned long long)ns % 1000);
}

static void write_event(FILE *file, const struct event *event)
{
	fprintf(file, ",\n{\"ph\": \"X\", \"pid\": %u, \"tid\": %u", event->process, event->row);
	write_us(file, "ts", event->begin);
	write_us(file, "dur", event->end - event->begin);
	if (event->process == CPU)
		fprintf(file, ", \"name\": \"%s\", \"args\": {\"bytes\": %llu}}", ork_phase_name(event->cpu.phase),
			(unsigned long long)event->cpu.bytes);
	else
		fprintf(file, ", \"name\": \"%ux%ux%u\", \"args\": {\"status\": %d}}", event->npu.m, event->npu.k,
			event->npu.n, event->npu.status);
}

static void write_trace(FILE *file, const void *what)
{
	const struct ork *ork = what;
	const struct ork_trace *trace = ork->trace;
	uint32_t i;

	fputs("{\"displayTimeUnit\": \"ns\",\n\"otherData\": {\"device\": ", file);
	ork_write_string(file, ork->name);
	fprintf(file, ", \"dropped_events\": %llu},\n\"traceEvents\": [\n", (unsigned long long)trace->dropped);
	write_process(file, CPU, "CPU");
	fputs(",\n", file);
	write_process(file, NPU, "NPU");
	write_cores(file, ork->info.core_mask);
	for (i = 0; i < trace->count; i++) {
		if (is_first_of_thread(trace, i))
			write_row(file, CPU, trace->events[i].row, "thread");
		write_event(file, &trace->events[i]);
	}
	fputs("\n]}\n", file);
}

int ork_trace_write(struct ork *ork, const char *path)
{
	if (!ork->trace)
		return ork_fail(ork, -EINVAL, "no trace is on");
	return ork_replace_file(ork, path, write_trace, ork);
}

// SPDX-License-Identifier: MIT
/* The profiler. Off, it costs one test of a flag where a phase begins and ends. */
#include <stdio.h>
#include <string.h>
#include "ork_private.h"

static const char *const names[ORK_PHASES] = {
	[ORK_PHASE_PLAN] = "plan",
	[ORK_PHASE_PACK] = "pack",
	[ORK_PHASE_GATHER] = "gather",
	[ORK_PHASE_EMIT] = "emit",
	[ORK_PHASE_SUBMIT] = "submit",
	[ORK_PHASE_WAIT] = "wait",
	[ORK_PHASE_COPY_BACK] = "copy-back",
};

const char *ork_phase_name(enum ork_phase phase)
{
	return (uint32_t)phase < ORK_PHASES ? names[phase] : "";
}

void ork_profile_enable(struct ork *ork, bool on)
{
	memset(&ork->profile, 0, sizeof(ork->profile));
	ork->in_flight = 0;
	ork->profiling = on;
	ork->timed = on || ork->trace;
}

void ork_profile_get(const struct ork *ork, struct ork_profile *profile)
{
	*profile = ork->profile;
}

uint64_t ork_profile_begin(const struct ork *ork)
{
	return ork->timed ? ork_now() : 0;
}

void ork_profile_end(struct ork *ork, enum ork_phase phase, uint64_t begin, uint64_t bytes)
{
	uint64_t end;

	if (!ork->timed)
		return;
	end = ork_now();
	if (ork->profiling) {
		ork->profile.phase[phase].calls++;
		ork->profile.phase[phase].ns += end - begin;
		ork->profile.phase[phase].bytes += bytes;
	}
	if (ork->trace)
		ork_trace_phase(ork->trace, phase, begin, end, bytes);
}

/*
 * The driver counts maintained bytes for the whole file. What it counts in a submit was cleaned by
 * it; what it invalidated since the last look belongs to the product waited for, or to another in
 * flight whose turn is yet to come. With nothing in flight the difference is the caller's own
 * syncs', which are left out. These queries are ioctls beside a product's two.
 */
static void look(struct ork *ork, struct drm_ork_counters *now)
{
	char error[sizeof(ork->error)];

	memcpy(error, ork->error, sizeof(error));
	if (ork_counters(ork, -1, now))
		*now = ork->counted;
	memcpy(ork->error, error, sizeof(error));
}

void ork_profile_before_submit(struct ork *ork)
{
	struct drm_ork_counters now;

	if (!ork->profiling)
		return;
	look(ork, &now);
	ork->counted.bytes_cleaned = now.bytes_cleaned;
	if (!ork->in_flight)
		ork->counted.bytes_invalidated = now.bytes_invalidated;
}

void ork_profile_after_submit(struct ork *ork)
{
	struct drm_ork_counters now;

	if (!ork->profiling)
		return;
	look(ork, &now);
	ork->profile.phase[ORK_PHASE_SUBMIT].bytes_maintained += now.bytes_cleaned - ork->counted.bytes_cleaned;
	ork->counted.bytes_cleaned = now.bytes_cleaned;
	ork->profile.ioctls++;
	ork->in_flight++;
}

void ork_profile_after_wait(struct ork *ork, bool done, uint64_t busy_ns)
{
	struct drm_ork_counters now;

	if (!ork->profiling)
		return;
	ork->profile.ioctls++;
	if (!done || !ork->in_flight)
		return;
	look(ork, &now);
	ork->profile.phase[ORK_PHASE_WAIT].bytes_maintained += now.bytes_invalidated - ork->counted.bytes_invalidated;
	ork->counted.bytes_invalidated = now.bytes_invalidated;
	ork->profile.busy_ns += busy_ns;
	ork->in_flight--;
}

void ork_profile_count_product(struct ork *ork)
{
	ork->profile.products += ork->profiling;
}

static double mega(uint64_t value)
{
	return (double)value / 1e6;
}

void ork_profile_print(const struct ork *ork, FILE *file)
{
	const struct ork_profile *p = &ork->profile;
	int i;

	fprintf(file, "ork profile of %s\n%-10s %10s %12s %12s %14s\n", ork->name, "phase", "calls", "ms", "MB",
		"maintained MB");
	for (i = 0; i < ORK_PHASES; i++)
		fprintf(file, "%-10s %10llu %12.3f %12.3f %14.3f\n", names[i],
			(unsigned long long)p->phase[i].calls, mega(p->phase[i].ns), mega(p->phase[i].bytes),
			mega(p->phase[i].bytes_maintained));
	fprintf(file, "%llu products, %llu ioctls, %.3f MB written by the CPU, %.3f MB by the NPU, "
		"%.3f MB cleaned for bank windows, cores busy %.3f ms\n",
		(unsigned long long)p->products, (unsigned long long)p->ioctls, mega(p->bytes_written_cpu),
		mega(p->bytes_written_npu), mega(p->bytes_window), mega(p->busy_ns));
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void write_u64(FILE *file, const char *key, uint64_t value)
{
	fprintf(file, ", \"%s\": %llu", key, (unsigned long long)value);
}

/* Not %f, which has a comma where the caller's locale says so. */
static void write_ms(FILE *file, const char *key, uint64_t ns)
{
	fprintf(file, ", \"%s\": %llu.%06llu", key, (unsigned long long)ns / 1000000,
		(unsigned long long)ns % 1000000);
}

static void write_phase(FILE *file, const struct ork_profile *p, int phase)
{
	fprintf(file, "%s\n  \"%s\": {\"calls\": %llu", phase ? "," : "", names[phase],
		(unsigned long long)p->phase[phase].calls);
	write_ms(file, "ms", p->phase[phase].ns);
	write_u64(file, "bytes", p->phase[phase].bytes);
	write_u64(file, "bytes_maintained", p->phase[phase].bytes_maintained);
	fputc('}', file);
}

static void write_profile(FILE *file, const void *what)
{
	const struct ork *ork = what;
	const struct ork_profile *p = &ork->profile;
	int i;

	fputs("{\n \"device\": ", file);
	ork_write_string(file, ork->name);
	fputs(",\n \"phases\": {", file);
	for (i = 0; i < ORK_PHASES; i++)
		write_phase(file, p, i);
	fprintf(file, "\n },\n \"products\": %llu", (unsigned long long)p->products);
	write_u64(file, "ioctls", p->ioctls);
	write_u64(file, "bytes_written_cpu", p->bytes_written_cpu);
	write_u64(file, "bytes_written_npu", p->bytes_written_npu);
	write_u64(file, "bytes_window", p->bytes_window);
	write_ms(file, "busy_ms", p->busy_ns);
	fputs("\n}\n", file);
}

int ork_profile_write(struct ork *ork, const char *path)
{
	return ork_replace_file(ork, path, write_profile, ork);
}

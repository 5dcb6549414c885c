// SPDX-License-Identifier: MIT
#include "report.h"

#include <inttypes.h>

static int read_counters(struct segment *segment, struct ork *ork)
{
	int error = ork_counters(ork, -1, &segment->file);

	for (uint32_t core = 0; core < tool_cores(ork) && !error; core++)
		error = ork_counters(ork, (int)core, &segment->core[core]);
	return error ? tool_device_error(ork, error, "reading counters") : TOOL_OK;
}

int segment_begin(struct segment *segment, struct ork *ork)
{
	ork_profile_enable(ork, true);
	return read_counters(segment, ork);
}

/* Of the counters that are reported. */
static struct drm_ork_counters difference(const struct drm_ork_counters *end,
					  const struct drm_ork_counters *begin)
{
	return (struct drm_ork_counters){
		.jobs = end->jobs - begin->jobs,
		.programs = end->programs - begin->programs,
		.interrupts = end->interrupts - begin->interrupts,
		.busy_ns = end->busy_ns - begin->busy_ns,
		.bytes_cleaned = end->bytes_cleaned - begin->bytes_cleaned,
		.bytes_invalidated = end->bytes_invalidated - begin->bytes_invalidated,
	};
}

int segment_end(struct segment *segment, struct ork *ork)
{
	struct segment end = { 0 };
	int status = read_counters(&end, ork);

	ork_profile_get(ork, &segment->profile);
	segment->file = difference(&end.file, &segment->file);
	for (uint32_t core = 0; core < TOOL_MAX_CORES; core++)
		segment->core[core] = difference(&end.core[core], &segment->core[core]);
	return status;
}

static const struct segment *segment_of(const struct report *report, enum ork_sync_mode sync)
{
	return report->options->sync == sync ? &report->training : &report->other;
}

static double per_call(const struct segment *segment, uint64_t value)
{
	return segment->profile.products ? (double)value / (double)segment->profile.products : 0;
}

static double written_per_call(const struct segment *segment)
{
	return per_call(segment,
			segment->profile.bytes_written_cpu + segment->profile.bytes_written_npu);
}

/* What the driver maintained, without what was added for the sake of whole data banks. */
static double maintained_per_call(const struct segment *segment)
{
	return per_call(segment, segment->file.bytes_cleaned + segment->file.bytes_invalidated -
				 segment->profile.bytes_window);
}

static double window_per_call(const struct segment *segment)
{
	return per_call(segment, segment->profile.bytes_window);
}

static double accuracy(const struct report *report)
{
	return (double)report->right / report->held_out;
}

static void print_ratio(double whole, double live)
{
	if (live > 0)
		printf(" %8.2f", whole / live);
	else
		printf(" %8s", "-");
}

struct cost {
	uint64_t calls;
	double ms, megabytes;	/* per product */
};

static struct cost phase_cost(const struct segment *segment, int phase)
{
	return (struct cost){
		.calls = segment->profile.phase[phase].calls,
		.ms = per_call(segment, segment->profile.phase[phase].ns) / 1e6,
		.megabytes =
			per_call(segment, segment->profile.phase[phase].bytes_maintained) / 1e6,
	};
}

static struct cost total_cost(const struct segment *segment)
{
	struct cost total = { .calls = segment->profile.products };

	for (int phase = 0; phase < ORK_PHASES; phase++) {
		struct cost cost = phase_cost(segment, phase);

		total.ms += cost.ms;
		total.megabytes += cost.megabytes;
	}
	return total;
}

static void print_costs(const char *name, const struct cost *live, const struct cost *whole)
{
	printf("%-10s %8" PRIu64 " %9.4f %9.4f   %8" PRIu64 " %9.4f %9.4f  ", name, live->calls,
	       live->ms, live->megabytes, whole->calls, whole->ms, whole->megabytes);
	print_ratio(whole->ms, live->ms);
	print_ratio(whole->megabytes, live->megabytes);
	putchar('\n');
}

static void print_phases(const struct segment *live, const struct segment *whole)
{
	struct cost live_cost, whole_cost;

	printf("\nms and MB maintained per matrix product\n"
	       "%-10s %28s   %28s   %17s\n%-10s %8s %9s %9s   %8s %9s %9s   %8s %8s\n",
	       "", "live", "whole", "whole / live", "phase", "calls", "ms", "MB", "calls", "ms",
	       "MB", "ms", "MB");
	for (int phase = 0; phase < ORK_PHASES; phase++) {
		live_cost = phase_cost(live, phase);
		whole_cost = phase_cost(whole, phase);
		print_costs(ork_phase_name(phase), &live_cost, &whole_cost);
	}
	live_cost = total_cost(live);
	whole_cost = total_cost(whole);
	print_costs("product", &live_cost, &whole_cost);
}

static void print_bytes(const struct segment *live, const struct segment *whole)
{
	double written = written_per_call(live), maintained = maintained_per_call(live);

	printf("\nbytes per product: %.0f written by CPU and NPU, %.0f maintained live", written,
	       maintained);
	if (written > 0)
		printf(" (%.3f of written)", maintained / written);
	printf(", %.0f more for bank windows, %.0f maintained whole\n", window_per_call(live),
	       maintained_per_call(whole));
}

static void print_cores(const struct report *report)
{
	printf("\n%-5s %9s %9s %11s %9s\n", "core", "chains", "programs", "interrupts", "busy ms");
	for (uint32_t i = 0; i < report->cores; i++) {
		const struct drm_ork_counters *core = &report->training.core[i];

		printf("%-5" PRIu32 " %9" PRIu64 " %9" PRIu64 " %11" PRIu64 " %9.1f\n", i,
		       (uint64_t)core->jobs, (uint64_t)core->programs, (uint64_t)core->interrupts,
		       (double)core->busy_ns / 1e6);
	}
}

void report_print(const struct report *report)
{
	const struct segment *live = segment_of(report, ORK_SYNC_LIVE);
	const struct segment *whole = segment_of(report, ORK_SYNC_WHOLE);

	printf("\nheld-out accuracy %.2f %% (%" PRIu32 " of %" PRIu32
	       "), loss %.9g at step 1, %.4g at step %" PRIu32 ", %.1f s\n",
	       100 * accuracy(report), report->right, report->held_out, (double)report->first_loss,
	       (double)report->last_loss, report->options->steps, report->seconds);
	print_phases(live, whole);
	print_bytes(live, whole);
	print_cores(report);
}

static void write_phases(struct json *json, const char *key, const struct segment *segment)
{
	json_open(json, key, '{');
	for (int phase = 0; phase < ORK_PHASES; phase++) {
		struct cost cost = phase_cost(segment, phase);

		json_open(json, ork_phase_name(phase), '{');
		json_u64(json, "calls", cost.calls);
		json_double(json, "ms_per_call", cost.ms);
		json_double(json, "mb_maintained_per_call", cost.megabytes);
		json_close(json, '}');
	}
	json_close(json, '}');
}

/* libork gives every job one chain, so a core's jobs are its chains. */
static void write_cores(struct json *json, const struct report *report)
{
	json_open(json, "chains", '[');
	for (uint32_t i = 0; i < report->cores; i++)
		json_u64(json, NULL, report->training.core[i].jobs);
	json_close(json, ']');
	json_open(json, "programs", '[');
	for (uint32_t i = 0; i < report->cores; i++)
		json_u64(json, NULL, report->training.core[i].programs);
	json_close(json, ']');
	json_open(json, "interrupts", '[');
	for (uint32_t i = 0; i < report->cores; i++)
		json_u64(json, NULL, report->training.core[i].interrupts);
	json_close(json, ']');
}

static void write_run(struct json *json, const struct report *report)
{
	const struct options *options = report->options;

	json_string(json, "device", report->device);
	json_u64(json, "cores", options->cores);
	json_string(json, "sync", tool_sync_name(options->sync));
	json_u64(json, "seed", options->seed);
	json_u64(json, "steps", options->steps);
	json_u64(json, "batch", options->batch);
	json_double(json, "accuracy", accuracy(report));
	json_double(json, "step1_loss", (double)report->first_loss);
	json_double(json, "last_loss", (double)report->last_loss);
	json_double(json, "seconds", report->seconds);
}

static void write_costs(struct json *json, const struct report *report)
{
	const struct segment *live = segment_of(report, ORK_SYNC_LIVE);
	const struct segment *whole = segment_of(report, ORK_SYNC_WHOLE);

	json_u64(json, "calls", report->training.profile.products);
	json_double(json, "ioctls_per_call",
		    per_call(&report->training, report->training.profile.ioctls));
	json_double(json, "bytes_written_per_call", written_per_call(live));
	json_double(json, "bytes_maintained_per_call", maintained_per_call(live));
	json_double(json, "bytes_window_per_call", window_per_call(live));
	json_double(json, "bytes_maintained_per_call_whole", maintained_per_call(whole));
	write_cores(json, report);
	json_open(json, "phases", '{');
	write_phases(json, "live", live);
	write_phases(json, "whole", whole);
	json_close(json, '}');
}

int report_write(const struct report *report)
{
	struct json json;
	int error = json_begin(&json, report->options->json);

	if (error)
		return error;
	write_run(&json, report);
	write_costs(&json, report);
	return json_finish(&json);
}

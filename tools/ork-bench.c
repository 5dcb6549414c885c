// SPDX-License-Identifier: MIT
/* ork-bench: how long matrix products take on the NPU, and what cache maintenance they need. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "half.h"
#include "random.h"

enum {
	SHAPES_MAX = 64,
	SIDE_MAX = 65536,	/* of M, K, N */
	REPEAT_MAX = 10000,
	SAMPLES = 256,		/* elements of C that are checked */
};

static const char usage[] =
	"Usage: ork-bench [OPTION]...\n"
	"Time matrix products on the NPU: weights resident, A and C in place in buffer objects.\n"
	"\n"
	"  --shape MxKxN       a product to time, given any number of times (default: a few)\n"
	"  --type TYPE         fp16-fp32 (default), fp16-fp16, int8-int32, int8-int16, int8-int8, int4-int16\n"
	"                      or int4-int32\n"
	"  --cores 1|2|3       cores that a product may use (default: all)\n"
	"  --sync live|whole   maintain the bytes in flight (default), or whole objects by every core\n"
	"  --repeat N          timed calls of each product (default 10)\n"
	"  --device DEVICE     a device node, or model: the NPU model in this process\n"
	"  --json FILE         write the figures there too\n"
	"  --profile[=FILE]    then print where the time went; with FILE write it there too, as JSON\n"
	"  --trace FILE        write when each phase and each job ran, for ui.perfetto.dev\n"
	"  --help              print this\n"
	"\n"
	"Times are medians. Exit status: 0 good, 1 a result is wrong, 2 wrong usage, 3 the device failed.\n";

struct shape {
	uint32_t m, k, n;
};

static const struct shape default_shapes[] = {
	{ 1, 1024, 1024 }, { 32, 512, 512 }, { 128, 64, 256 }, { 128, 512, 768 },
};

/* Operands are small integers, so that every sum is exact and the right result is known. */
struct type {
	const char *name;
	enum ork_type type;
	uint32_t operand_bits, result_bytes;
	int32_t limit;			/* to which sums are saturated; 0: to none */
	uint32_t multiplier;
};

static const struct type types[] = {
	{ "fp16-fp32", ORK_FP16_FP32, 16, 4, 0, 0 },
	{ "fp16-fp16", ORK_FP16_FP16, 16, 2, 0, 0 },
	{ "int8-int32", ORK_INT8_INT32, 8, 4, 0, 0 },
	{ "int8-int16", ORK_INT8_INT16, 8, 2, INT16_MAX, 1 },
	{ "int8-int8", ORK_INT8_INT8, 8, 1, INT8_MAX, 1 },
	{ "int4-int16", ORK_INT4_INT16, 4, 2, INT16_MAX, 0 },
	{ "int4-int32", ORK_INT4_INT32, 4, 4, 0, 0 },
};

struct options {
	const char *device, *json, *profile_file, *trace;
	bool profile;
	const struct type *type;
	uint32_t cores, repeat;
	enum ork_sync_mode sync;
	struct shape shapes[SHAPES_MAX];
	uint32_t shape_count;
};

struct result {
	uint64_t submit_ns, wait_ns, total_ns;		/* medians */
	double gmacs;					/* per second */
	double written, maintained, window;		/* bytes per call */
};

struct bench {
	struct ork *ork;
	const struct type *type;
	struct shape shape;
	int8_t *a_values, *b_values;
	struct ork_matmul *matmul;
	struct ork_bo *a, *c;
	struct ork_weights *b;
	uint64_t *submit_ns, *wait_ns, *total_ns;	/* of each call */
};

static void store_operand(const struct type *type, void *to, size_t at, int8_t value)
{
	uint8_t *byte = (uint8_t *)to + at / 2;

	if (type->operand_bits == 16)
		((uint16_t *)to)[at] = half_from_float(value);
	else if (type->operand_bits == 8)
		((int8_t *)to)[at] = value;
	else
		*byte = at % 2 ? (uint8_t)((*byte & 15) | (uint8_t)value << 4)
			       : (uint8_t)((*byte & 0xf0) | (value & 15));
}

/* Elements from one row of operands to the next: of int4 they begin on bytes. */
static size_t stride_of(const struct type *type, uint32_t columns)
{
	return columns + (type->operand_bits == 4 && columns % 2);
}

static size_t operand_bytes(const struct type *type, uint32_t rows, uint32_t columns)
{
	return rows * stride_of(type, columns) * type->operand_bits / 8;
}

static void store_operands(const struct type *type, void *to, uint32_t rows, uint32_t columns,
			   const int8_t *values)
{
	size_t stride = stride_of(type, columns);

	for (uint32_t row = 0; row < rows; row++)
		for (uint32_t column = 0; column < columns; column++)
			store_operand(type, to, row * stride + column,
				      values[(size_t)row * columns + column]);
}

static double load_result(const struct type *type, const void *from, size_t at)
{
	switch (type->type) {
	case ORK_FP16_FP16:
		return (double)float_from_half(((const uint16_t *)from)[at]);
	case ORK_INT8_INT32:
	case ORK_INT4_INT32:
		return ((const int32_t *)from)[at];
	case ORK_INT8_INT16:
	case ORK_INT4_INT16:
		return ((const int16_t *)from)[at];
	case ORK_INT8_INT8:
		return ((const int8_t *)from)[at];
	default:
		return (double)((const float *)from)[at];
	}
}

static double expected_result(const struct bench *bench, uint32_t row, uint32_t column)
{
	int32_t sum = 0, limit = bench->type->limit;

	for (uint32_t i = 0; i < bench->shape.k; i++)
		sum += bench->a_values[(size_t)row * bench->shape.k + i] *
		       bench->b_values[(size_t)i * bench->shape.n + column];
	if (limit)
		return sum > limit ? limit : sum < -limit - 1 ? -limit - 1 : sum;
	/* A half has 11 bits: larger sums are rounded. */
	return bench->type->type == ORK_FP16_FP16
		       ? (double)float_from_half(half_from_float((float)sum))
		       : sum;
}

static int check_result(const struct bench *bench)
{
	const void *c = ork_bo_data(bench->c);
	uint64_t random = 1;

	for (int i = 0; i < SAMPLES; i++) {
		uint32_t row = random_below(&random, bench->shape.m),
			 column = random_below(&random, bench->shape.n);
		double got = load_result(bench->type, c, (size_t)row * bench->shape.n + column);
		double want = expected_result(bench, row, column);

		if (got != want) {
			tool_complain("%" PRIu32 "x%" PRIu32 "x%" PRIu32 ": C[%" PRIu32 "][%" PRIu32
				      "] is %g, not %g",
				      bench->shape.m, bench->shape.k, bench->shape.n, row, column,
				      got, want);
			return TOOL_CHECK_FAILED;
		}
	}
	return TOOL_OK;
}

/* -2..2 */
static int8_t *random_values(size_t count, uint64_t seed)
{
	int8_t *values = malloc(count);

	for (size_t i = 0; values && i < count; i++)
		values[i] = (int8_t)((int)random_below(&seed, 5) - 2);
	return values;
}

static int bench_allocate(struct bench *bench, uint32_t repeat)
{
	bench->a_values = random_values((size_t)bench->shape.m * bench->shape.k, 1);
	bench->b_values = random_values((size_t)bench->shape.k * bench->shape.n, 2);
	bench->submit_ns = calloc(repeat, sizeof(*bench->submit_ns));
	bench->wait_ns = calloc(repeat, sizeof(*bench->wait_ns));
	bench->total_ns = calloc(repeat, sizeof(*bench->total_ns));
	if (bench->a_values && bench->b_values && bench->submit_ns && bench->wait_ns &&
	    bench->total_ns)
		return TOOL_OK;
	tool_complain("out of memory");
	return TOOL_DEVICE;
}

static int bench_create(struct bench *bench, const struct options *options)
{
	const struct shape *shape = &bench->shape;
	const struct type *type = bench->type;
	struct ork_matmul_desc desc = {
		.type = type->type, .m = shape->m, .k = shape->k, .n = shape->n,
		.cores = options->cores, .sync = options->sync,
		.multiplier = type->multiplier,
	};
	int error = ork_matmul_create(bench->ork, &desc, &bench->matmul);

	if (!error)
		error = ork_bo_create(bench->ork, operand_bytes(type, shape->m, shape->k), 0,
				      &bench->a);
	if (!error)
		error = ork_bo_create(bench->ork,
				      (uint64_t)shape->m * shape->n * type->result_bytes, 0,
				      &bench->c);
	if (!error)
		error = ork_weights_create(bench->ork, type->type, shape->k, shape->n, &bench->b);
	if (!error)
		return TOOL_OK;
	tool_device_error(bench->ork, error, "creating the product");
	/* What no plan can express is the caller's mistake. */
	return error == -EINVAL || error == -EOPNOTSUPP || error == -E2BIG ? TOOL_USAGE
									   : TOOL_DEVICE;
}

static int load_weights(struct bench *bench)
{
	uint32_t k = bench->shape.k, n = bench->shape.n;
	void *packed = calloc(1, operand_bytes(bench->type, k, n));
	int error;

	if (!packed) {
		tool_complain("out of memory");
		return TOOL_DEVICE;
	}
	store_operands(bench->type, packed, k, n, bench->b_values);
	error = ork_weights_pack(bench->b, packed, stride_of(bench->type, n), 0);
	if (!error)
		error = ork_weights_load(bench->b);
	free(packed);
	return error ? tool_device_error(bench->ork, error, "loading the weights") : TOOL_OK;
}

/* A is written anew before each call, as a caller does, and not timed. */
static int bench_call(struct bench *bench, uint64_t *submit_ns, uint64_t *wait_ns,
		      uint64_t *total_ns)
{
	struct ork_matrix a = { .bo = bench->a }, c = { .bo = bench->c, .flags = ORK_CPU_CLEAN };
	uint64_t begin, submitted, end;
	int error;

	store_operands(bench->type, ork_bo_data(bench->a), bench->shape.m, bench->shape.k,
		       bench->a_values);
	begin = tool_now_ns();
	error = ork_matmul_start(bench->matmul, &a, bench->b, &c);
	submitted = tool_now_ns();
	if (!error)
		error = ork_matmul_wait(bench->matmul, INT64_MAX);
	end = tool_now_ns();
	*submit_ns = submitted - begin;
	*wait_ns = end - submitted;
	*total_ns = end - begin;
	return error ? tool_device_error(bench->ork, error, "running the product") : TOOL_OK;
}

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static uint64_t median(uint64_t *times, uint32_t count)
{
	qsort(times, count, sizeof(*times), compare_times);
	return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}

/* Before and after the timed calls. */
struct sample {
	struct ork_profile profile;
	uint64_t maintained;	/* bytes, by the driver's counters */
};

static int take_sample(struct bench *bench, struct sample *sample)
{
	struct drm_ork_counters counters;
	int error = ork_counters(bench->ork, -1, &counters);

	ork_profile_get(bench->ork, &sample->profile);
	sample->maintained = counters.bytes_cleaned + counters.bytes_invalidated;
	return error ? tool_device_error(bench->ork, error, "reading counters") : TOOL_OK;
}

static void summarize(struct bench *bench, uint32_t repeat, const struct sample *before,
		      const struct sample *after, struct result *result)
{
	const struct ork_profile *old = &before->profile, *new = &after->profile;
	uint64_t written = new->bytes_written_cpu + new->bytes_written_npu -
			   old->bytes_written_cpu - old->bytes_written_npu;
	uint64_t window = new->bytes_window - old->bytes_window;
	const struct shape *shape = &bench->shape;

	result->submit_ns = median(bench->submit_ns, repeat);
	result->wait_ns = median(bench->wait_ns, repeat);
	result->total_ns = median(bench->total_ns, repeat);
	result->gmacs = (double)shape->m * shape->k * shape->n / (double)result->total_ns;
	result->written = (double)written / repeat;
	result->maintained = (double)(after->maintained - before->maintained - window) / repeat;
	result->window = (double)window / repeat;
}

/*
 * The first call emits the chains and is not counted; its cold result is checked as the last warm
 * one is.
 */
static int bench_measure(struct bench *bench, uint32_t repeat, struct result *result)
{
	struct sample before, after;
	int status = bench_call(bench, bench->submit_ns, bench->wait_ns, bench->total_ns);

	if (!status)
		status = check_result(bench);
	if (!status)
		status = take_sample(bench, &before);
	for (uint32_t i = 0; i < repeat && !status; i++)
		status = bench_call(bench, &bench->submit_ns[i], &bench->wait_ns[i],
				    &bench->total_ns[i]);
	if (!status)
		status = take_sample(bench, &after);
	if (!status)
		summarize(bench, repeat, &before, &after, result);
	return status ? status : check_result(bench);
}

static void bench_destroy(struct bench *bench)
{
	ork_matmul_destroy(bench->matmul);
	if (bench->b)
		ork_weights_destroy(bench->b);
	ork_bo_destroy(bench->c);
	ork_bo_destroy(bench->a);
	free(bench->total_ns);
	free(bench->wait_ns);
	free(bench->submit_ns);
	free(bench->b_values);
	free(bench->a_values);
}

static int bench_shape(struct ork *ork, const struct options *options, const struct shape *shape,
		       struct result *result)
{
	struct bench bench = { .ork = ork, .type = options->type, .shape = *shape };
	int status = bench_create(&bench, options);

	if (!status)
		status = bench_allocate(&bench, options->repeat);
	if (!status)
		status = load_weights(&bench);
	if (!status)
		status = bench_measure(&bench, options->repeat, result);
	bench_destroy(&bench);
	return status;
}

static void print_result(const struct shape *shape, const struct result *result)
{
	char name[40];

	snprintf(name, sizeof(name), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, shape->m, shape->k,
		 shape->n);
	printf("%-18s %10.3f %10.3f %10.3f %9.3f %12.0f %12.0f %12.0f\n", name,
	       (double)result->submit_ns / 1e6, (double)result->wait_ns / 1e6,
	       (double)result->total_ns / 1e6, result->gmacs, result->written, result->maintained,
	       result->window);
	fflush(stdout);
}

static void write_result(struct json *json, const struct shape *shape, const struct result *result)
{
	json_open(json, NULL, '{');
	json_u64(json, "m", shape->m);
	json_u64(json, "k", shape->k);
	json_u64(json, "n", shape->n);
	json_u64(json, "submit_ns", result->submit_ns);
	json_u64(json, "wait_ns", result->wait_ns);
	json_u64(json, "total_ns", result->total_ns);
	json_double(json, "gmacs_per_second", result->gmacs);
	json_double(json, "bytes_written_per_call", result->written);
	json_double(json, "bytes_maintained_per_call", result->maintained);
	json_double(json, "bytes_window_per_call", result->window);
	json_close(json, '}');
}

static int write_results(const struct ork *ork, const struct options *options,
			 const struct result *results)
{
	struct json json;
	int error = json_begin(&json, options->json);

	if (!error) {
		json_string(&json, "device", ork_name(ork));
		json_string(&json, "type", options->type->name);
		json_string(&json, "sync", tool_sync_name(options->sync));
		json_u64(&json, "cores", options->cores);
		json_u64(&json, "repeat", options->repeat);
		json_open(&json, "shapes", '[');
		for (uint32_t i = 0; i < options->shape_count; i++)
			write_result(&json, &options->shapes[i], &results[i]);
		json_close(&json, ']');
		error = json_finish(&json);
	}
	if (!error)
		return TOOL_OK;
	tool_complain("--json: %s: %s", options->json, strerror(-error));
	return TOOL_USAGE;
}

static int bench_all(struct ork *ork, const struct options *options)
{
	struct result results[SHAPES_MAX];
	int status = TOOL_OK;

	printf("%s, %s, %" PRIu32 " cores, sync %s; medians of %" PRIu32 " calls\n", ork_name(ork),
	       options->type->name, options->cores, tool_sync_name(options->sync), options->repeat);
	printf("%-18s %10s %10s %10s %9s %12s %12s %12s\n%-18s %10s %10s %10s %9s %12s %12s %12s\n",
	       "shape", "submit", "wait", "total", "speed", "written", "maintained", "windows",
	       "MxKxN", "ms", "ms", "ms", "GMAC/s", "bytes/call", "bytes/call", "bytes/call");
	for (uint32_t i = 0; i < options->shape_count && !status; i++) {
		status = bench_shape(ork, options, &options->shapes[i], &results[i]);
		if (!status)
			print_result(&options->shapes[i], &results[i]);
	}
	return !status && options->json ? write_results(ork, options, results) : status;
}

/* --- where the time went ---------------------------------------------------------------------- */

/* Room for all that can happen: plan and pack once a shape, the others and the jobs in each call. */
static int start_trace(struct ork *ork, const struct options *options)
{
	uint32_t calls = options->shape_count * (options->repeat + 1);
	int error = ork_trace_start(ork, calls * (ORK_PHASES + TOOL_MAX_CORES));

	return error ? tool_device_error(ork, error, "starting the trace") : TOOL_OK;
}

static int complain_of_file(const struct ork *ork, const char *option)
{
	tool_complain("%s: %s", option, ork_error(ork));
	return TOOL_USAGE;
}

/* Of calls that failed too. */
static int tell(struct ork *ork, const struct options *options)
{
	int status = TOOL_OK;

	if (options->profile) {
		printf("\n");
		ork_profile_print(ork, stdout);
	}
	if (options->profile_file && ork_profile_write(ork, options->profile_file))
		status = complain_of_file(ork, "--profile");
	if (options->trace && ork_trace_write(ork, options->trace))
		status = complain_of_file(ork, "--trace");
	return status;
}

static int bench_and_tell(struct ork *ork, const struct options *options)
{
	int status = options->trace ? start_trace(ork, options) : TOOL_OK, told;

	if (status)
		return status;
	ork_profile_enable(ork, true);
	status = bench_all(ork, options);
	told = tell(ork, options);
	return status ? status : told;
}

static int run(struct options *options)
{
	struct ork *ork;
	int status = tool_open(options->device, &ork);

	if (status)
		return status;
	if (!options->cores)
		options->cores = tool_cores(ork);
	status = tool_check_cores(ork, options->cores) ? bench_and_tell(ork, options) : TOOL_USAGE;
	ork_close(ork);
	return status;
}

static bool parse_type(const char *text, const struct type **type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(text, types[i].name)) {
			*type = &types[i];
			return true;
		}
	}
	tool_complain("--type: \"%s\" is not fp16-fp32, fp16-fp16, int8-int32, int8-int16, int8-int8, "
		      "int4-int16 or int4-int32", text);
	return false;
}

static bool parse_shape(const char *text, struct options *options)
{
	struct shape *shape = &options->shapes[options->shape_count];
	uint32_t *const sizes[] = { &shape->m, &shape->k, &shape->n };
	char copy[64], *rest = copy;

	if (options->shape_count == SHAPES_MAX) {
		tool_complain("--shape: more than %d shapes", SHAPES_MAX);
		return false;
	}
	if (strlen(text) >= sizeof(copy)) {
		tool_complain("--shape: \"%s\" is not MxKxN", text);
		return false;
	}
	strcpy(copy, text);
	for (int i = 0; i < 3; i++) {
		const char *size = strsep(&rest, "x");

		if (!size || (i == 2 && rest)) {
			tool_complain("--shape: \"%s\" is not MxKxN", text);
			return false;
		}
		if (!tool_parse_u32("--shape", size, 1, SIDE_MAX, sizes[i]))
			return false;
	}
	options->shape_count++;
	return true;
}

static const struct option long_options[] = {
	{ "shape", required_argument, NULL, 's' },
	{ "type", required_argument, NULL, 't' },
	{ "cores", required_argument, NULL, 'c' },
	{ "sync", required_argument, NULL, 'y' },
	{ "repeat", required_argument, NULL, 'r' },
	{ "device", required_argument, NULL, 'd' },
	{ "json", required_argument, NULL, 'j' },
	{ "profile", optional_argument, NULL, 'p' },
	{ "trace", required_argument, NULL, 'x' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static bool parse_option(int option, struct options *options)
{
	switch (option) {
	case 's':
		return parse_shape(optarg, options);
	case 't':
		return parse_type(optarg, &options->type);
	case 'c':
		return tool_parse_u32("--cores", optarg, 1, TOOL_MAX_CORES, &options->cores);
	case 'y':
		return tool_parse_sync("--sync", optarg, &options->sync);
	case 'r':
		return tool_parse_u32("--repeat", optarg, 1, REPEAT_MAX, &options->repeat);
	case 'd':
		options->device = optarg;
		return true;
	case 'j':
		options->json = optarg;
		return true;
	case 'p':
		options->profile = true;
		options->profile_file = optarg;
		return true;
	case 'x':
		options->trace = optarg;
		return true;
	default:	/* getopt_long() has complained */
		return false;
	}
}

int main(int argc, char **argv)
{
	struct options options = { .type = &types[0], .repeat = 10 };
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return TOOL_OK;
		}
		if (!parse_option(option, &options))
			return TOOL_USAGE;
	}
	if (optind < argc) {
		tool_complain("\"%s\": no argument is expected", argv[optind]);
		return TOOL_USAGE;
	}
	if (!options.shape_count) {
		memcpy(options.shapes, default_shapes, sizeof(default_shapes));
		options.shape_count = sizeof(default_shapes) / sizeof(default_shapes[0]);
	}
	return run(&options);
}

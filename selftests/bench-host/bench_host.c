// SPDX-License-Identifier: MIT
/*
 * What the CPU does for a product, beside memcpy in the same run.
 *
 * A routine that reads r bytes and writes w is held against a memcpy of (r + w) / 2 bytes, which
 * reads and writes as many: as STREAM counts, so a sum of slices reads both and writes one. Samples
 * of the two take turns, and the median of their ratios counts; a ratio is memcpy's time over the
 * routine's, 1 is as fast. Time is this thread's own, so that other programs' turns are not in it;
 * what they take of the memory's bandwidth hits both.
 *
 * Two sizes. "cache": the buffers fit in a core's second-level cache. "memory": the buffers that a
 * routine uses are together larger than the last-level cache. Bounds are on "memory", where weights
 * and activations of real products are; chains are emitted into the cache. Rows
 * are powers of two apart where a caller's would be: the worst case for caches.
 *
 * Planning has a bound in microseconds.
 *
 * usage: bench_host JSON-FILE [NAME]: only routines whose name begins so. Exits with 1 if a bound is missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "moves.h"
#include "ork_private.h"

#define CACHED_BYTES	(128u << 10)	/* of a buffer */
#define LEAST_BYTES	(64ul << 20)
#define SAMPLES		15
#define SAMPLE_NS	3000000u	/* at least: what is shorter is repeated */
#define LINE		64
#define ROW_BYTES	4096u

static const struct drm_ork_device_info device = { .num_cores = 3, .core_mask = 7, .cache_line = LINE };
static char *in, *out;		/* two buffers */
/* Through these the compiler can drop or inline nothing. */
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;

struct routine {
	const char *name;
	double bound;
	/* Moves buffers of @size bytes at most; returns bytes read and written. */
	size_t (*run)(size_t size);
	bool bound_cached;	/* the bound is on the small size */
};

/* --- the routines ----------------------------------------------------------------------------- */

/* A matrix of @size bytes: as many columns as rows, or twice. */
static uint32_t side_of(size_t count)
{
	uint32_t side = 64;

	while ((size_t)side * side * 4 <= count)
		side *= 2;
	return side;
}

static size_t pack(size_t size, enum ork_element packed, enum ork_element element, uint32_t half_bytes, bool transposed)
{
	size_t count = size * 2 / half_bytes;
	uint32_t k = side_of(count), n = (uint32_t)(count / k);
	struct ork_source b = { in, transposed ? k : n, element, transposed };

	ork_pack(out, packed, &b, k, n);
	return (size_t)k * n * half_bytes / 2 + ork_packed_bytes(packed, k, n);
}

static size_t pack_fp16(size_t size)
{
	return pack(size, ORK_ELEMENT_FP16, ORK_ELEMENT_FP16, 4, false);
}

static size_t pack_int8(size_t size)
{
	return pack(size, ORK_ELEMENT_INT8, ORK_ELEMENT_INT8, 2, false);
}

static size_t pack_int4(size_t size)
{
	return pack(size, ORK_ELEMENT_INT4, ORK_ELEMENT_INT4, 1, false);
}

static size_t pack_fp16_transposed(size_t size)
{
	return pack(size, ORK_ELEMENT_FP16, ORK_ELEMENT_FP16, 4, true);
}

static size_t pack_int8_transposed(size_t size)
{
	return pack(size, ORK_ELEMENT_INT8, ORK_ELEMENT_INT8, 2, true);
}

static size_t pack_int4_transposed(size_t size)
{
	return pack(size, ORK_ELEMENT_INT4, ORK_ELEMENT_INT4, 1, true);
}

static size_t pack_fp16_from_fp32(size_t size)
{
	return pack(size, ORK_ELEMENT_FP16, ORK_ELEMENT_FP32, 8, false);
}

static size_t pack_int4_from_int8(size_t size)
{
	return pack(size, ORK_ELEMENT_INT4, ORK_ELEMENT_INT8, 2, false);
}

static size_t gather(size_t size)
{
	size_t row = ROW_BYTES - LINE - 32, rows = size / ROW_BYTES;

	ork_copy_rows(out, ROW_BYTES - LINE, in, ROW_BYTES, row, rows);
	return rows * row * 2;
}

static size_t copy_back(size_t size)
{
	size_t row = ROW_BYTES - LINE - 32, rows = size / ROW_BYTES;

	ork_copy_rows(out, ROW_BYTES, in, ROW_BYTES - LINE, row, rows);
	return rows * row * 2;
}

static size_t transpose(size_t size, uint32_t bytes)
{
	uint32_t rows = side_of(size / bytes);
	size_t columns = size / bytes / rows;

	ork_transpose(out, rows, in, columns, rows, columns, bytes);
	return rows * columns * bytes * 2;
}

static size_t transpose_1(size_t size)
{
	return transpose(size, 1);
}

static size_t transpose_2(size_t size)
{
	return transpose(size, 2);
}

static size_t transpose_4(size_t size)
{
	return transpose(size, 4);
}

static size_t fp32_to_fp16(size_t size)
{
	ork_fp32_to_fp16((uint16_t *)out, (const float *)in, size / 4);
	return size / 4 * 6;
}

static size_t bf16_to_fp16(size_t size)
{
	ork_bf16_to_fp16((uint16_t *)out, (const uint16_t *)in, size / 2);
	return size / 2 * 4;
}

static size_t fp16_to_fp32(size_t size)
{
	ork_fp16_to_fp32((float *)out, (const uint16_t *)in, size / 4);
	return size / 4 * 6;
}

/* Half of each buffer: what moves is then no more than one memcpy of a whole one. */
static size_t add_fp32(size_t size)
{
	ork_add_fp32((float *)out, (const float *)in, size / 8);
	return size / 8 * 12;
}

static size_t add_int32(size_t size)
{
	ork_add_int32((int32_t *)out, (const int32_t *)in, size / 8);
	return size / 8 * 12;
}

static size_t add_int16(size_t size)
{
	ork_add_int16((int32_t *)out, (const int16_t *)in, size / 6);
	return size / 6 * 10;
}

/* A chain of @programs of one size. */
static size_t emit(uint32_t programs, size_t size)
{
	static struct ork ork;
	static struct ork_matmul_plan plan;
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = 704 * programs, .k = 256, .n = 64, .cores = 1 };
	struct ork_operands at = { 0x100000, 0x200000, 0x300000, desc.k * 2, desc.n * 4 };
	struct ork_bo bo = { .ork = &ork, .data = out, .size = size, .iova = 0x10000 };
	struct ork_chain chain;

	if (plan.desc.m != desc.m)
		ork_matmul_plan(&device, &desc, &plan);
	ork_chain_init(&chain, &bo, 0, bo.size);
	if (ork_emit_matmul(&chain, &plan, 0, &at)) {
		fprintf(stderr, "no chain of %u programs\n", programs);
		exit(2);
	}
	return chain.bytes * 2;
}

/* The longest chain, or one of as many programs as the first-level cache holds. */
static size_t emit_chain(size_t size)
{
	return emit(size > CACHED_BYTES ? ORK_CHAIN_MAX_PROGRAMS : 16, size);
}

static size_t emit_one(size_t size)
{
	return emit(1, size);
}

static const struct routine routines[] = {
	{ "pack fp16", 0.8, pack_fp16, false },
	{ "pack int8", 0.8, pack_int8, false },
	{ "pack int4", 0.8, pack_int4, false },
	{ "pack fp16, transposed", 0.8, pack_fp16_transposed, false },
	{ "pack int8, transposed", 0.8, pack_int8_transposed, false },
	{ "pack int4, transposed", 0.8, pack_int4_transposed, false },
	{ "pack fp16 from fp32", 0, pack_fp16_from_fp32, false },
	{ "pack int4 from int8", 0, pack_int4_from_int8, false },
	{ "gather", 0.8, gather, false },
	{ "copy back", 0.8, copy_back, false },
	{ "add fp32", 0.8, add_fp32, false },
	{ "add int32", 0.8, add_int32, false },
	{ "add int16 to int32", 0.8, add_int16, false },
	{ "transpose 1 byte", 0.5, transpose_1, false },
	{ "transpose 2 bytes", 0.5, transpose_2, false },
	{ "transpose 4 bytes", 0.5, transpose_4, false },
	{ "fp32 to fp16", 0.5, fp32_to_fp16, false },
	{ "bf16 to fp16", 0, bf16_to_fp16, false },
	{ "fp16 to fp32", 0, fp16_to_fp32, false },
	{ "emit a chain", 1.0 / 3, emit_chain, true },
	{ "emit one program", 1.0 / 3, emit_one, true },
};

#define ROUTINES	(sizeof(routines) / sizeof(routines[0]))

/* --- measuring -------------------------------------------------------------------------------- */

static uint64_t thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double time_routine(const struct routine *routine, size_t size, uint32_t times)
{
	uint64_t begin = thread_ns();
	uint32_t i;

	for (i = 0; i < times; i++)
		routine->run(size);
	return (double)(thread_ns() - begin) / times;
}

static double time_memcpy(size_t bytes, uint32_t times)
{
	uint64_t begin = thread_ns();
	uint32_t i;

	for (i = 0; i < times; i++)
		copy(out, in, bytes);
	return (double)(thread_ns() - begin) / times;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct result {
	size_t bytes;			/* of the memcpy */
	double ratio, low, high;	/* the median, and the quarters about it */
};

static void measure(const struct routine *routine, size_t size, struct result *result)
{
	double ratio[SAMPLES], first;
	uint32_t times, i;

	result->bytes = routine->run(size) / 2;
	first = time_routine(routine, size, 1);
	times = first < SAMPLE_NS ? (uint32_t)(SAMPLE_NS / (first + 1)) + 1 : 1;
	for (i = 0; i < SAMPLES; i++) {
		double base = time_memcpy(result->bytes, times);

		ratio[i] = base / time_routine(routine, size, times);
	}
	qsort(ratio, SAMPLES, sizeof(ratio[0]), compare);
	result->ratio = ratio[SAMPLES / 2];
	result->low = ratio[SAMPLES / 4];
	result->high = ratio[SAMPLES - 1 - SAMPLES / 4];
}

/*
 * Of planning, the one bound that is a time: it moves nothing that a memcpy could be held against.
 * The shapes are the largest of those that language models have.
 */
#define PLAN_US		20.0

struct shape {
	uint32_t m, k, n;
};

static const struct shape shapes[] = { { 128, 3584, 18944 }, { 248320, 1024, 1024 } };

#define SHAPES		(sizeof(shapes) / sizeof(shapes[0]))

/* Microseconds: the median. */
static double measure_plan(const struct shape *shape)
{
	enum { TIMES = 1000 };
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = shape->m, .k = shape->k, .n = shape->n };
	struct ork_matmul_plan plan;
	double us[SAMPLES];
	uint64_t begin;
	uint32_t i, j;

	for (i = 0; i < SAMPLES; i++) {
		begin = thread_ns();
		for (j = 0; j < TIMES; j++) {
			if (ork_matmul_plan(&device, &desc, &plan)) {
				fprintf(stderr, "%s\n", plan.reason);
				exit(2);
			}
		}
		us[i] = (double)(thread_ns() - begin) / 1000 / TIMES;
	}
	qsort(us, SAMPLES, sizeof(us[0]), compare);
	return us[SAMPLES / 2];
}

/* --- telling ---------------------------------------------------------------------------------- */

static const char *verdict(const struct routine *routine, const struct result *result, bool cached)
{
	if (!routine->bound || cached != routine->bound_cached)
		return "";
	return result->ratio >= routine->bound ? "ok" : "not ok";
}

static void print_result(const struct routine *routine, const struct result *result, bool cached)
{
	char bound[16] = "";

	if (*verdict(routine, result, cached))
		snprintf(bound, sizeof(bound), "%.2f", routine->bound);
	printf("%-22s %-7s %11zu  %5.2f  (%.2f..%.2f)  %5s  %s\n", routine->name, cached ? "cache" : "memory",
	       result->bytes, result->ratio, result->low, result->high, bound, verdict(routine, result, cached));
	fflush(stdout);
}

static void write_json(FILE *file, const struct routine *routine, const struct result *result, bool cached, bool first)
{
	fprintf(file, "%s\n  {\"routine\": \"%s\", \"size\": \"%s\", \"bytes\": %zu, \"ratio\": %.3f, "
		"\"quarters\": [%.3f, %.3f]", first ? "" : ",", routine->name, cached ? "cache" : "memory",
		result->bytes, result->ratio, result->low, result->high);
	if (*verdict(routine, result, cached))
		fprintf(file, ", \"bound\": %.3f, \"ok\": %s", routine->bound,
			result->ratio >= routine->bound ? "true" : "false");
	fprintf(file, "}");
}

/* Returns whether the bound is missed. */
static bool tell_plan(FILE *file, const struct shape *shape, bool first)
{
	double us = measure_plan(shape);
	bool ok = us <= PLAN_US;
	char name[40];

	snprintf(name, sizeof(name), "plan %ux%ux%u", shape->m, shape->k, shape->n);
	printf("%-42s  %5.2f microseconds  %5.2f  %s\n", name, us, PLAN_US, ok ? "ok" : "not ok");
	fprintf(file, "%s\n  {\"routine\": \"%s\", \"microseconds\": %.3f, \"bound\": %.3f, \"ok\": %s}",
		first ? "" : ",", name, us, PLAN_US, ok ? "true" : "false");
	return !ok;
}

static size_t memory_bytes(void)
{
	long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
	size_t size = LEAST_BYTES, memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);

	while (cache > 0 && size < (size_t)cache && size * 8 < memory)
		size *= 2;
	if (cache > 0 && size < (size_t)cache)
		printf("# the last-level cache of %ld bytes is larger than the buffers of %zu\n", cache, size);
	return size;
}

static char *make_buffer(size_t size, size_t seed)
{
	char *buffer = aligned_alloc(4096, size);
	size_t i;

	if (!buffer) {
		fprintf(stderr, "no memory for a buffer of %zu bytes\n", size);
		exit(2);
	}
	for (i = 0; i < size; i++)
		buffer[i] = (char)((i + seed) * 2654435761u >> 24);
	return buffer;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "", *only = argc > 2 ? argv[2] : "";
	size_t sizes[2] = { memory_bytes(), CACHED_BYTES };
	FILE *file = fopen(path, "w");
	uint32_t i, cached, missed = 0, told = 0;
	struct result result;

	if (!file) {
		perror(path);
		return 2;
	}
	in = make_buffer(sizes[0], 1);
	out = make_buffer(sizes[0], 2);
	printf("%-22s %-7s %11s  %5s  %12s  %5s\n", "routine", "size", "bytes", "ratio", "(quarters)", "bound");
	fprintf(file, "[");
	for (i = 0; i < ROUTINES; i++) {
		for (cached = 0; cached < 2 && !strncmp(routines[i].name, only, strlen(only)); cached++) {
			measure(&routines[i], sizes[cached], &result);
			print_result(&routines[i], &result, cached);
			write_json(file, &routines[i], &result, cached, !told++);
			missed += *verdict(&routines[i], &result, cached) == 'n';
		}
	}
	for (i = 0; i < SHAPES && !strncmp("plan", only, strlen(only)); i++)
		missed += tell_plan(file, &shapes[i], !told++);
	fprintf(file, "\n]\n");
	fclose(file);
	printf("%u bounds missed\n", missed);
	return missed > 0;
}

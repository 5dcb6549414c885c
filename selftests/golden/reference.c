// SPDX-License-Identifier: MIT
/*
 * Writes golden/matmul.tsv, or with an argument golden/large.tsv: the hash of every golden product, from the
 * formula and from nothing that is tested.
 *
 * What the NPU computes: int8 exactly, and then perhaps requantised; fp16 as fp32 sums of the exact
 * products of 32 ascending k, summed in ascending order, rounded to nearest-even at every addition, and
 * for an fp16 result once more at the end. Of a K over 2048 the NPU gets slices of 1024, whose fp32 sums are added likewise. int4 to int16
 * is saturated after each 32 k, and begun anew after 10,752, of whose sums the sum is saturated again; to int32 it is exact.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "inputs.h"

static const char *const type_names[] = { "fp16_fp32", "fp16_fp16", "int8_int32", "int8_int16", "int8_int8", "int4_int16",
	"int4_int32" };

static const struct golden_case {
	enum golden_type type;
	uint32_t m, k, n, lda, ldc;
} cases[] = {
	{ FP16_FP32, 8, 2048, 256, 2048, 256 },
	{ FP16_FP32, 128, 1024, 256, 1024, 256 },
	{ FP16_FP32, 256, 2048, 256, 2048, 256 },
	{ FP16_FP32, 1, 32, 16, 32, 16 },	/* the smallest */
	{ FP16_FP32, 33, 96, 48, 96, 48 },	/* a tile for each core, a row over a power of two */
	{ FP16_FP32, 16, 2048, 112, 2048, 112 },	/* seven tiles over three cores */
	{ FP16_FP32, 128, 1024, 256, 1056, 272 },	/* in place, rows apart */
	{ FP16_FP16, 128, 1024, 256, 1024, 256 },
	{ FP16_FP16, 8, 2048, 256, 2048, 256 },
	{ FP16_FP16, 17, 128, 96, 128, 96 },	/* one cache line of a row for each core */
	{ FP16_FP16, 5, 64, 16, 64, 16 },	/* rows of half a cache line */
	{ INT8_INT32, 128, 1024, 256, 1024, 256 },
	{ INT8_INT32, 64, 4096, 512, 4096, 512 },
	{ INT8_INT32, 7, 96, 96, 96, 96 },
	{ INT8_INT32, 64, 512, 96, 528, 112 },	/* in place, rows apart */
	{ FP16_FP32, 33, 100, 50, 100, 50 },	/* no whole block of K, no whole kernel group */
	{ FP16_FP16, 3, 1, 1, 5, 7 },
	{ INT8_INT32, 9, 77, 45, 80, 48 },
	{ FP16_FP32, 40, 3584, 48, 3584, 48 },	/* slices of K, the last one shorter */
	{ FP16_FP16, 7, 2100, 40, 2104, 40 },
	{ INT8_INT32, 20, 5000, 72, 5008, 72 },
	{ INT8_INT16, 64, 512, 96, 512, 96 },	/* requantised */
	{ INT8_INT8, 64, 512, 192, 512, 192 },
	{ INT8_INT8, 11, 4500, 50, 4500, 50 },	/* from slices' sums */
	{ INT4_INT16, 1, 2048, 256, 2048, 256 },	/* a row, in place */
	{ INT4_INT16, 37, 1024, 192, 1024, 192 },	/* batches of rows */
	{ INT4_INT16, 6, 4096, 100, 8192, 104 },	/* saturated; A as far apart as boards had it */
	{ INT4_INT16, 3, 11001, 50, 11010, 51 },	/* slices of K */
	{ INT4_INT32, 20, 1000, 130, 1000, 130 },	/* exact */
};

/* Those at which other stacks on boards went wrong, or were slow. */
static const struct golden_case large_cases[] = {
	{ FP16_FP32, 256, 3584, 256, 3584, 256 },
	{ FP16_FP32, 256, 4096, 512, 4096, 512 },
	{ FP16_FP32, 256, 3584, 512, 3584, 512 },
	{ FP16_FP32, 256, 3584, 3584, 3584, 3584 },
	{ FP16_FP32, 128, 2048, 16384, 2048, 16384 },
	{ FP16_FP32, 128, 3584, 18944, 3584, 18944 },
	{ INT8_INT32, 256, 3584, 512, 3584, 512 },
	{ INT8_INT32, 128, 2048, 16384, 2048, 16384 },
};

/* Adds one sum to the next, and begins it anew. */
static void add_up(float *to, float *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		to[i] += from[i];
		from[i] = 0;
	}
}

static uint64_t hash_fp16(const struct golden_case *c, uint64_t seed)
{
	float *a = malloc(sizeof(*a) * c->k), *row = malloc(sizeof(*row) * c->n),
	      *b = malloc(sizeof(*b) * c->k * c->n);
	float *part = calloc(c->n, sizeof(*part)), *slice = calloc(c->n, sizeof(*slice));
	uint32_t channels = c->k > 2048 ? 1024 : c->k;
	uint64_t hash = GOLDEN_HASH_START;

	if (!a || !row || !b || !part || !slice)
		abort();
	for (uint32_t k = 0; k < c->k; k++)
		for (uint32_t n = 0; n < c->n; n++)
			b[(size_t)k * c->n + n] = (float)golden_fp16(seed, GOLDEN_B, k, n);
	for (uint32_t m = 0; m < c->m; m++) {
		for (uint32_t k = 0; k < c->k; k++)
			a[k] = (float)golden_fp16(seed, GOLDEN_A, m, k);
		for (uint32_t n = 0; n < c->n; n++)
			row[n] = 0;
		for (uint32_t k = 0; k < c->k; k++) {
			for (uint32_t n = 0; n < c->n; n++)
				part[n] += a[k] * b[(size_t)k * c->n + n];
			if (k % 32 == 31 || k + 1 == c->k)
				add_up(slice, part, c->n);
			if (k % channels == channels - 1 || k + 1 == c->k)
				add_up(row, slice, c->n);
		}
		for (uint32_t n = 0; n < c->n; n++) {
			_Float16 narrow = (_Float16)row[n];

			hash = c->type == FP16_FP16 ? golden_hash(hash, &narrow, sizeof(narrow)) :
						      golden_hash(hash, &row[n], sizeof(row[n]));
		}
	}
	free(part);
	free(slice);
	free(b);
	free(row);
	free(a);
	return hash;
}

static uint64_t hash_sum(uint64_t hash, enum golden_type type, int32_t sum)
{
	int16_t as_short;
	int8_t as_byte;

	if (type == INT8_INT32)
		return golden_hash(hash, &sum, sizeof(sum));
	as_short = (int16_t)golden_requantised(type, sum);
	as_byte = (int8_t)as_short;
	return type == INT8_INT16 ? golden_hash(hash, &as_short, sizeof(as_short)) :
				    golden_hash(hash, &as_byte, sizeof(as_byte));
}

static uint64_t hash_int8(const struct golden_case *c, uint64_t seed)
{
	int8_t *b = malloc((size_t)c->k * c->n);
	int32_t *row = malloc(sizeof(*row) * c->n);
	uint64_t hash = GOLDEN_HASH_START;

	if (!b || !row)
		abort();
	for (uint32_t k = 0; k < c->k; k++)
		for (uint32_t n = 0; n < c->n; n++)
			b[(size_t)k * c->n + n] = golden_int8(seed, GOLDEN_B, k, n);
	for (uint32_t m = 0; m < c->m; m++) {
		for (uint32_t n = 0; n < c->n; n++)
			row[n] = 0;
		for (uint32_t k = 0; k < c->k; k++) {
			int8_t a = golden_int8(seed, GOLDEN_A, m, k);

			for (uint32_t n = 0; n < c->n; n++)
				row[n] += a * b[(size_t)k * c->n + n];
		}
		for (uint32_t n = 0; n < c->n; n++)
			hash = hash_sum(hash, c->type, row[n]);
	}
	free(row);
	free(b);
	return hash;
}

static uint64_t hash_int4(const struct golden_case *c, uint64_t seed)
{
	uint64_t hash = GOLDEN_HASH_START;

	for (uint32_t m = 0; m < c->m; m++)
		for (uint32_t n = 0; n < c->n; n++) {
			int32_t exact = 0, part = 0, total = 0;
			int16_t narrow;

			for (uint32_t k = 0; k < c->k; k++) {
				int32_t product = golden_int4(seed, GOLDEN_A, m, k) * golden_int4(seed, GOLDEN_B, k, n);

				exact += product;
				part += product;
				if (k % GOLDEN_INT4_STEP == GOLDEN_INT4_STEP - 1 || k + 1 == c->k)
					part = golden_saturated(part);
				if (k % GOLDEN_INT4_SLICE == GOLDEN_INT4_SLICE - 1 || k + 1 == c->k) {
					total += part;
					part = 0;
				}
			}
			narrow = (int16_t)golden_saturated(total);
			hash = c->type == INT4_INT32 ? golden_hash(hash, &exact, sizeof(exact)) :
						       golden_hash(hash, &narrow, sizeof(narrow));
		}
	return hash;
}

int main(int argc, char **argv)
{
	bool large = argc > 1 && argv[1];
	const struct golden_case *list = large ? large_cases : cases;
	size_t count = large ? sizeof(large_cases) / sizeof(cases[0]) : sizeof(cases) / sizeof(cases[0]);

	printf("# written by golden/reference.c\n# type\tm\tk\tn\tlda\tldc\tseed\tfnv1a64 of C's rows\n");
	for (size_t i = 0; i < count; i++) {
		const struct golden_case *c = &list[i];
		uint64_t seed = i + 1;
		uint64_t hash = c->type >= INT4_INT16 ? hash_int4(c, seed) :
				c->type >= INT8_INT32 ? hash_int8(c, seed) : hash_fp16(c, seed);

		printf("%s\t%u\t%u\t%u\t%u\t%u\t%" PRIu64 "\t%016" PRIx64 "\n", type_names[c->type],
		       c->m, c->k, c->n, c->lda, c->ldc, seed, hash);
	}
	return 0;
}

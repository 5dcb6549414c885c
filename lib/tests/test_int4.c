// SPDX-License-Identifier: MIT
/*
 * Programs of int4, by their words alone: against the captured row, the batch that boards run, their
 * caps on rows and columns, and the layouts of A, B and C. Tables are typed in from the notes of those
 * who measured them (ork-driver facts 3.4, 3.9 and 4).
 */
#include <errno.h>
#include <stdlib.h>
#include "program.h"

#define SHAPES	8000
#define A_IOVA	0x10000000u
#define B_IOVA	0x40000000u
#define C_IOVA	0x80000000u

static const struct drm_ork_device_info info = {
	.soc = 3588, .num_cores = 3, .core_mask = 7, .cache_line = 64, .page_size = 4096,
};

/* --- known programs --------------------------------------------------------------------------- */

struct setting {
	uint32_t reg, value;
};

static void emit(const struct ork_matmul_plan *plan, uint32_t core, uint64_t *words, const struct ork_operands *at)
{
	struct ork device = { .profiling = false };
	struct ork_bo bo = { .ork = &device, .data = words, .size = plan->chain_bytes[core], .iova = 0x00100000 };
	struct ork_chain chain;

	CHECK_EQUAL(ork_chain_init(&chain, &bo, 0, bo.size), 0);
	CHECK_EQUAL(ork_emit_matmul(&chain, plan, core, at), 0);
	CHECK_EQUAL(chain.programs, plan->programs[core]);
}

static void check_settings(const struct ork_matmul_desc *desc, uint32_t a_stride, const struct setting *want,
			   size_t count)
{
	struct ork_operands at = { A_IOVA, B_IOVA, C_IOVA, a_stride, 0 };
	struct ork_matmul_plan plan;
	uint64_t words[PROGRAM_WORDS];
	size_t i;

	CHECK_EQUAL(ork_matmul_plan(&info, desc, &plan), 0);
	CHECK_EQUAL(plan.programs[0], 1);
	emit(&plan, 0, words, &at);
	decode_program(words);
	for (i = 0; i < count; i++)
		CHECK(reg(want[i].reg) == want[i].value, "0x%04x is 0x%x, not 0x%x", want[i].reg, reg(want[i].reg),
		      want[i].value);
}

static void one_row_is_the_captured_program(void)
{
	static const struct setting captured[] = {
		{ 0x100c, 0x360 }, { 0x1010, 0x20 }, { 0x1020, 0x10001 }, { 0x1024, 0x003f0040 }, { 0x102c, 1 },
		{ 0x1030, 64 * 64 / 2 }, { 0x1034, 32 }, { 0x1038, 0x01010040 }, { 0x1040, 0xb1 }, { 0x1044, 1 },
		{ 0x107c, 4 }, { 0x1080, 0x0ffffffd }, { 0x1084, 0x10001 }, { 0x1088, 64 }, { 0x3010, 0x601 },
		{ 0x3014, 0 }, { 0x3018, 63 }, { 0x4010, 0x38000006 }, { 0x4034, 0 }, { 0x4038, 0 },
		{ 0x403c, 0x003f003f }, { 0x4050, 0x7fe }, { 0x405c, 0 }, { 0x40c0, 0x80 },
	};
	const struct ork_matmul_desc desc = { .type = ORK_INT4_INT16, .m = 1, .k = 64, .n = 64 };

	/* A line of four atoms, which a single row does not need. */
	check_settings(&desc, 64, captured, sizeof(captured) / sizeof(captured[0]));
}

static void several_rows_are_the_batch_that_boards_run(void)
{
	static const struct setting batch[] = {
		{ 0x100c, 0x360 }, { 0x1010, 16 * 33 }, { 0x1020, 0x10020 }, { 0x1024, 1023 << 16 | 1024 },
		{ 0x102c, 32 }, { 0x1030, 1024 * 128 / 2 }, { 0x1034, 512 }, { 0x1038, 0x01010080 }, { 0x1040, 0xb1 },
		{ 0x1044, 8 }, { 0x107c, 1024 / 16 }, { 0x1080, 0x0ffffffd }, { 0x1084, 0x10020 }, { 0x1088, 1024 },
		{ 0x3010, 0x601 }, { 0x3014, 31 << 16 }, { 0x3018, 127 }, { 0x4010, 0x38000006 }, { 0x4024, 0x10 },
		{ 0x4034, 31 }, { 0x4038, 31 << 16 | 31 }, { 0x403c, 127 << 16 | 127 }, { 0x4050, 0x7fe },
		{ 0x405c, 0 }, { 0x40c0, 0x80 },
	};
	const struct ork_matmul_desc desc = { .type = ORK_INT4_INT16, .m = 8, .k = 1024, .n = 128, .cores = 1 };

	check_settings(&desc, 1024, batch, sizeof(batch) / sizeof(batch[0]));
}

/* --- any program ------------------------------------------------------------------------------ */

static uint32_t most_rows(uint32_t k)
{
	static const uint32_t caps[][2] = {
		{ 256, 64 }, { 512, 32 }, { 768, 22 }, { 1024, 16 }, { 1536, 11 }, { 2048, 8 }, { 2560, 7 },
		{ 3072, 4 }, { 3584, 4 }, { 4096, 4 }, { 5120, 3 }, { 6144, 3 }, { 8192, 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		if (caps[i][0] == k)
			return caps[i][1];
	return 12288 / k;
}

struct sample {
	struct ork_matmul_desc desc;
	struct ork_matmul_plan plan;
	struct ork_operands at;
	uint32_t k, n, slice, slices;
	uint64_t area;			/* of all tiles so far */
};

struct tile {
	uint32_t m, rows, n, cols, slice, channels;
	uint64_t c, end;		/* bytes of C, from the first */
};

static struct tile tiles[3 * 4095];

static void check_buffer(const struct tile *t, bool batch)
{
	uint32_t entries = (t->channels / 2 + 63) / 64;

	CHECK_EQUAL(reg(0x1040), 0xb1);
	CHECK_EQUAL(reg(0x1044), entries);
	CHECK(t->rows <= (batch ? most_rows(t->channels) : 1), "%u rows of %u", t->rows, t->channels);
	/* Those lines that count, and the three behind each but the last. */
	CHECK(entries * 64 * (4 * (t->rows - 1) + 1) <= 32768, "%u rows of %u entries", t->rows, entries);
	CHECK(t->channels * 32 < 11 * 32768, "a kernel group of %u channels", t->channels);
	if (batch)
		CHECK(t->cols == 64 || t->cols <= 131072 / t->channels, "%u columns of %u", t->cols, t->channels);
	CHECK(t->cols % 64 == 0 && t->cols <= 8192, "%u columns", t->cols);
	CHECK_EQUAL(reg(0x1030), t->channels / 2 * t->cols);
	CHECK_EQUAL(reg(0x1034), t->channels / 2);
	CHECK_EQUAL(reg(0x1038), 0x01010000 | t->cols);
}

static void check_place(const struct sample *s, struct tile *t, bool batch)
{
	uint32_t a = reg(0x1070) - A_IOVA, k = a % s->at.a_stride * 2;
	uint64_t before;

	t->slice = k / s->slice;
	t->m = a / s->at.a_stride;
	CHECK_EQUAL(k % s->slice, 0);
	CHECK_EQUAL(t->channels, t->slice + 1 < s->slices ? s->slice : s->k - k);
	/* B: columns before these of the slice, behind all earlier slices. */
	before = ((uint64_t)(reg(0x1110) - B_IOVA) * 2 - (uint64_t)k * s->n) / t->channels;
	t->n = (uint32_t)before;
	CHECK((uint64_t)(reg(0x1110) - B_IOVA) * 2 == (uint64_t)k * s->n + before * t->channels && t->n % 64 == 0,
	      "B at 0x%x", reg(0x1110));
	CHECK(t->m + t->rows <= s->desc.m && t->n + t->cols <= s->n, "%u+%u rows, %u+%u columns", t->m, t->rows, t->n,
	      t->cols);
	t->c = reg(0x4020) - C_IOVA;
	t->end = t->c + (uint64_t)t->cols * t->rows * (batch ? 8 : 2);
}

static void check_program(struct sample *s, const uint64_t *words, struct tile *t)
{
	bool batch = s->desc.m > 1;

	decode_program(words);
	t->rows = batch ? bits(0x1020, 10, 0) / 4 : 1;
	t->cols = bits(0x1038, 13, 0);
	t->channels = bits(0x1024, 15, 0);
	CHECK_EQUAL(reg(0x1020), 0x10000 | (batch ? 4 * t->rows : 1));
	check_buffer(t, batch);
	check_place(s, t, batch);
	s->area += (uint64_t)t->rows * t->cols;
}

static bool overlap(const struct tile *a, const struct tile *b)
{
	return a->slice == b->slice && a->m < b->m + b->rows && b->m < a->m + a->rows && a->n < b->n + b->cols &&
	       b->n < a->n + a->cols;
}

/* Tiles do not overlap, in C as a matrix or as bytes, and fill all of both. */
static void check_cover(const struct sample *s, uint32_t count)
{
	uint64_t bytes = 0, size = s->plan.c_bytes;
	uint32_t i, j;

	for (i = 0; i < count; i++) {
		bytes += tiles[i].end - tiles[i].c;
		CHECK(tiles[i].end <= size, "C ends at %llu of %llu", (unsigned long long)tiles[i].end,
		      (unsigned long long)size);
		for (j = 0; j < i; j++)
			CHECK(!overlap(&tiles[i], &tiles[j]) &&
			      (tiles[i].end <= tiles[j].c || tiles[j].end <= tiles[i].c), "tiles %u and %u", i, j);
	}
	CHECK_EQUAL(s->area, (uint64_t)s->desc.m * s->n * s->slices);
	CHECK_EQUAL(bytes, size);
}

static void check_sample(struct sample *s, uint64_t *words)
{
	uint32_t limit = s->desc.type == ORK_INT4_INT16 ? 10752 : 480, core, i, count = 0;

	s->k = round_up(s->desc.k, 32);
	s->n = round_up(s->desc.n, 64);
	s->slice = s->k < limit ? s->k : limit;
	s->slices = (s->k + s->slice - 1) / s->slice;
	s->area = 0;
	s->at = (struct ork_operands) { A_IOVA, B_IOVA, C_IOVA, s->k, s->n * 2 };
	CHECK(s->plan.k_slice == s->slice && s->plan.k_slices == s->slices && s->plan.n_padded == s->n,
	      "%u slices of %u", s->plan.k_slices, s->plan.k_slice);
	CHECK_EQUAL(s->plan.c_bytes, (uint64_t)s->desc.m * s->n * s->slices * (s->desc.m > 1 ? 8 : 2));
	CHECK_EQUAL(s->plan.weight_bytes, (uint64_t)s->k * s->n / 2);
	for (core = 0; core < s->plan.cores; core++) {
		emit(&s->plan, core, words, &s->at);
		for (i = 0; i < s->plan.programs[core]; i++) {
			check_program(s, words + i * PROGRAM_WORDS, &tiles[count]);
			CHECK(tiles[count].n >= s->plan.n_begin[core] &&
			      tiles[count].n + tiles[count].cols <= s->plan.n_end[core], "columns of another core");
			count++;
		}
	}
	check_cover(s, count);
}

static void random_products_are_covered_once_by_programs_within_the_caps(void)
{
	uint64_t random = 3, *words = malloc(4095 * 896);
	struct sample s;
	uint32_t i;

	for (i = 0; i < SHAPES && !failed_checks; i++) {
		s.desc = (struct ork_matmul_desc) {
			.type = next_random(&random) % 2 ? ORK_INT4_INT16 : ORK_INT4_INT32,
			.m = next_random(&random) % 4 ? random_in(&random, 1, 90) : 1,
			.k = next_random(&random) % 4 ? random_in(&random, 1, 3000) : random_in(&random, 1, 22000),
			.n = random_in(&random, 1, next_random(&random) % 4 ? 600 : 9000),
			.cores = random_in(&random, 1, 3),
		};
		if (next_random(&random) % 3 == 0)
			s.desc.k = round_up(s.desc.k, 256);
		if ((uint64_t)s.desc.m * s.desc.k * s.desc.n > 200000000)
			s.desc.n = s.desc.n % 100 + 1;
		CHECK(ork_matmul_plan(&info, &s.desc, &s.plan) == 0, "%s", s.plan.reason);
		check_sample(&s, words);
		if (failed_checks)
			printf("# type %d, %u x %u x %u, %u cores\n", s.desc.type, s.desc.m, s.desc.k, s.desc.n,
			       s.desc.cores);
	}
	free(words);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void rows_that_begin_within_a_byte_are_refused(void)
{
	struct ork_matmul_desc desc = { .type = ORK_INT4_INT16, .m = 3, .k = 5, .n = 5, .lda = 7 };
	struct ork_matmul_plan plan;

	CHECK_EQUAL(ork_matmul_plan(&info, &desc, &plan), -EINVAL);
	CHECK(strstr(plan.reason, "lda = 7") && strstr(plan.reason, "even"), "%s", plan.reason);
	desc.lda = 0;
	CHECK_EQUAL(ork_matmul_plan(&info, &desc, &plan), 0);
	CHECK_EQUAL(plan.desc.lda, 6);
	desc.multiplier = 1;
	CHECK_EQUAL(ork_matmul_plan(&info, &desc, &plan), -EINVAL);
}

int main(void)
{
	RUN(one_row_is_the_captured_program);
	RUN(several_rows_are_the_batch_that_boards_run);
	RUN(random_products_are_covered_once_by_programs_within_the_caps);
	RUN(rows_that_begin_within_a_byte_are_refused);
	return test_result();
}

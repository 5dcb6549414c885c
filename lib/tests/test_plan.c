// SPDX-License-Identifier: MIT
/*
 * Plans and the programs made from them. Programs are judged by their words alone, with rules and
 * tables typed in here: from streams captured on boards, and from what boards were found to compute
 * right or to hang on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ork_private.h"
#include "program.h"

#define SHAPES		100000
#define LINE		64
#define BANK		32768

static const struct drm_ork_device_info info = {
	.soc = 3588, .num_cores = 3, .core_mask = 7, .cache_line = LINE, .page_size = 4096,
};

static const uint32_t in_bytes[] = { 2, 2, 1, 1, 1 }, out_bytes[] = { 4, 2, 4, 2, 1 };
static const uint32_t kernel_group[] = { 16, 16, 32, 32, 32 };

static bool is_int8(enum ork_type type)
{
	return in_bytes[type] == 1;
}

/*
 * Rows that boards computed right with several data banks, by row bytes; 0 stands for all others,
 * which get one bank.
 */
static uint32_t proven_rows(enum ork_type type, uint32_t k)
{
	static const uint32_t fp16[][2] = { { 256, 704 }, { 512, 320 }, { 1024, 128 } };
	static const uint32_t int8[][2] = { { 512, 704 }, { 1024, 320 }, { 2048, 128 }, { 4096, 64 } };
	size_t i;

	for (i = 0; !is_int8(type) && i < 3; i++)
		if (fp16[i][0] == k)
			return fp16[i][1];
	for (i = 0; is_int8(type) && i < 4; i++)
		if (int8[i][0] == k)
			return int8[i][1];
	return 0;
}

#define A_IOVA	0x10000000u
#define B_IOVA	0x40000000u
#define C_IOVA	0x80000000u

/*
 * The program that a board runs for M = 4, K = 32, N = 16, fp16 to fp32, as captured (ork-driver's
 * template for that shape), in its order; registers 1070, 1110 and 4020 hold the addresses.
 */
static const uint32_t captured[ORK_MATMUL_REGISTERS][2] = {
	{ 0x1040, 0xb1 }, { 0x1104, 0 }, { 0x1100, 0 }, { 0x100c, 0x20000120 }, { 0x4004, 0xe },
	{ 0x100c, 0x20000120 }, { 0x1010, 0x50 }, { 0x1014, 0x9 }, { 0x1020, 0x10004 }, { 0x1024, 0x1f0020 },
	{ 0x1028, 1 }, { 0x102c, 4 }, { 0x1030, 0x400 }, { 0x1034, 0x40 }, { 0x1038, 0x01010010 },
	{ 0x1040, 0xb1 }, { 0x1044, 1 }, { 0x104c, 0xb }, { 0x1050, 0x10000 }, { 0x1054, 0x10000 },
	{ 0x1058, 0x10000 }, { 0x105c, 0x10000 }, { 0x1060, 0 }, { 0x1064, 0 }, { 0x1068, 0 },
	{ 0x1070, A_IOVA }, { 0x1074, 0 }, { 0x1078, 0x000f000f }, { 0x107c, 4 }, { 0x1080, 0 },
	{ 0x1084, 0x10004 }, { 0x1088, 0x20 }, { 0x1100, 0 }, { 0x1104, 0 }, { 0x1110, B_IOVA },
	{ 0x1140, 0 }, { 0x1144, 0 }, { 0x1148, 0 }, { 0x114c, 0 }, { 0x1150, 0 }, { 0x1154, 0 },
	{ 0x1158, 0 }, { 0x115c, 0 }, { 0x1160, 0 }, { 0x1164, 0 }, { 0x1168, 0 }, { 0x116c, 0 },
	{ 0x1170, 0 }, { 0x1174, 0 }, { 0x1178, 0 }, { 0x117c, 0 }, { 0x1180, 0 }, { 0x1184, 0 },
	{ 0x3010, 0x201 }, { 0x3014, 3 << 16 }, { 0x3018, 15 }, { 0x301c, 0 }, { 0x3030, 0 },
	{ 0x400c, 0x1e4 }, { 0x4010, 0xa8000002 }, { 0x4014, 0 }, { 0x4020, C_IOVA }, { 0x4024, 0x10 },
	{ 0x4030, 0 }, { 0x4034, 3 }, { 0x4038, 3 << 16 | 3 }, { 0x403c, 15 << 16 | 15 }, { 0x4040, 0x53 },
	{ 0x4044, 0 }, { 0x4048, 0 }, { 0x404c, 0 }, { 0x4050, 0x36e }, { 0x4054, 0 }, { 0x4058, 15 },
	{ 0x405c, 3 << 16 }, { 0x4060, 0x53 }, { 0x4064, 0 }, { 0x4068, 0 }, { 0x406c, 0 }, { 0x4070, 0x383 },
	{ 0x4074, 0 }, { 0x4078, 1 }, { 0x407c, 0 }, { 0x4080, 0 }, { 0x4084, 1 }, { 0x4088, 0 },
	{ 0x4090, 0 }, { 0x4094, 0 }, { 0x4098, 0 }, { 0x409c, 0 }, { 0x40a0, 0 }, { 0x40a4, 0 },
	{ 0x40a8, 0 }, { 0x40ac, 0 }, { 0x40c0, 0x40 }, { 0x40c4, 0 }, { 0x4100, 0 }, { 0x4104, 0 },
	{ 0x4108, 0 }, { 0x410c, 0 }, { 0x4110, 0 }, { 0x4114, 0 }, { 0x4118, 0 }, { 0x411c, 0 },
	{ 0x4120, 0 }, { 0x4124, 0 }, { 0x4128, 0 }, { 0x412c, 0 },
};

/* --- one program, as words -------------------------------------------------------------------- */

static void decode(const uint64_t *words)
{
	uint32_t i;

	decode_program(words);
	for (i = 0; i < ORK_MATMUL_REGISTERS; i++)
		if ((words[i] & 0xffff) != captured[i][0]) {
			CHECK(false, "word %u is 0x%016llx", i, (unsigned long long)words[i]);
			return;
		}
}

/* --- where a random product's matrices lie ---------------------------------------------------- */

struct sample {
	struct ork_matmul_desc desc;
	struct ork_matmul_plan plan;
	struct ork_operands at;
	uint64_t *words;
	uint32_t esz, osz;	/* bytes of an element that programs read, and write */
	uint32_t k, n;		/* with the padding */
	uint32_t slices, slice;
};

struct rectangle {
	uint32_t m, rows, n, cols, slice, channels;
};

/* What follows from a shape: blocks of 32 channels, kernel groups, and rows that one program may take. */
static void derive(struct sample *s)
{
	const struct ork_matmul_desc *d = &s->desc;

	s->esz = in_bytes[d->type];
	s->k = round_up(d->k, 32);
	s->n = round_up(d->n, kernel_group[d->type]);
	s->slice = s->k * s->esz <= 4096 ? s->k : 2048 / s->esz;
	s->slices = (s->k + s->slice - 1) / s->slice;
	s->osz = s->slices > 1 ? 4 : out_bytes[d->type];
}

static void check_layout(const struct sample *s)
{
	const struct ork_matmul_desc *d = &s->plan.desc;
	uint32_t esz = s->esz, osz = out_bytes[d->type];

	CHECK_EQUAL(s->plan.k_padded, s->k);
	CHECK_EQUAL(s->plan.n_padded, s->n);
	CHECK_EQUAL(s->plan.k_slices, s->slices);
	CHECK_EQUAL(s->plan.k_slice, s->slice);
	CHECK_EQUAL(s->plan.a_direct, d->k % 32 == 0 && d->lda * esz % 16 == 0);
	CHECK_EQUAL(s->plan.c_direct, s->slices == 1 && d->n == s->n && d->n * osz % LINE == 0 && d->ldc * osz % LINE == 0 &&
				      d->ldc * osz <= 131072);
}

static void check_addresses(const struct sample *s, struct rectangle *r)
{
	uint32_t a = reg(0x1070) - A_IOVA, c = reg(0x4020) - C_IOVA, k = a % s->at.a_stride / s->esz;

	r->m = a / s->at.a_stride;
	r->n = c % s->at.c_stride / s->osz;
	r->slice = k / s->slice;
	CHECK_EQUAL(k % s->slice, 0);
	CHECK_EQUAL(r->channels, r->slice + 1 < s->slices ? s->slice : s->k - k);
	CHECK_EQUAL(c / s->at.c_stride, r->slice * s->desc.m + r->m);
	CHECK_EQUAL(reg(0x1110) - B_IOVA, (k * s->n + r->n * r->channels) * s->esz);
	CHECK(r->n % kernel_group[s->desc.type] == 0, "n = %u", r->n);
	/* The last byte read or written lies in the matrix. */
	CHECK(r->m + r->rows <= s->desc.m && r->n + r->cols <= s->n, "%u+%u rows, %u+%u columns", r->m, r->rows,
	      r->n, r->cols);
}

static void check_strides(const struct sample *s)
{
	uint32_t atoms = kernel_group[s->desc.type] * s->osz / 16;

	CHECK_EQUAL(bits(0x100c, 29, 29), 1);
	CHECK_EQUAL((uint64_t)reg(0x107c) * 16, s->at.a_stride);
	CHECK_EQUAL(reg(0x1080), 0);
	CHECK_EQUAL(reg(0x4024), 16);
	CHECK_EQUAL((bits(0x4038, 12, 0) + 1) * 16, s->at.c_stride);
	CHECK_EQUAL(bits(0x4038, 28, 16), bits(0x4038, 12, 0));
	CHECK_EQUAL(reg(0x40c0), atoms * 16);
	CHECK_EQUAL(bits(0x4050, 4, 2), atoms - 1);
	CHECK_EQUAL(bits(0x4050, 7, 5), atoms - 1);
	CHECK_EQUAL(bits(0x4050, 10, 8), atoms - 1);
}

static void check_sizes(const struct sample *s, const struct rectangle *r)
{
	uint32_t esz = s->esz, k = r->channels;

	CHECK(r->rows > 0 && r->rows <= 2047 && r->cols > 0 && r->cols <= 8192, "%u rows, %u columns", r->rows,
	      r->cols);
	CHECK_EQUAL(reg(0x1020), 0x10000 | r->rows);
	CHECK_EQUAL(reg(0x1084), 0x10000 | r->rows);
	CHECK_EQUAL(reg(0x1024), (k - 1) << 16 | k);
	CHECK_EQUAL(reg(0x1088), k);
	CHECK_EQUAL(reg(0x1030), k * r->cols * esz);
	CHECK_EQUAL(reg(0x1034), k * esz);
	CHECK_EQUAL(reg(0x1038), 0x01010000 | r->cols);
	CHECK_EQUAL(reg(0x3014), (r->rows - 1) << 16);
	CHECK_EQUAL(reg(0x3018), r->cols - 1);
	CHECK_EQUAL(reg(0x4034), r->rows - 1);
	CHECK_EQUAL(reg(0x405c), (r->rows - 1) << 16);
	CHECK_EQUAL(reg(0x4058), r->cols - 1);
	CHECK_EQUAL(bits(0x403c, 12, 0), r->cols - 1);
}

/* Data and kernels must fit; kernels of few columns must not fill their banks to the last byte. */
static void check_banks(const struct sample *s, const struct rectangle *r)
{
	uint32_t data = bits(0x1040, 3, 0), weight = bits(0x1040, 7, 4), k = r->channels;
	uint32_t row = k * s->esz, entries = row / 64 + (row % 64 != 0);
	uint32_t group = row * kernel_group[s->desc.type];

	CHECK_EQUAL(reg(0x1040) >> 8, 0);
	CHECK(data >= 1 && weight >= 1 && data + weight == 12, "%u + %u banks", data, weight);
	CHECK_EQUAL(reg(0x1044), entries);
	CHECK(r->rows * entries * 64 <= data * BANK, "%u rows of %u entries in %u banks", r->rows, entries, data);
	CHECK(group <= weight * BANK, "%u bytes of kernels in %u banks", group, weight);
	CHECK(r->cols > 32 || group < weight * BANK, "%u columns fill %u banks", r->cols, weight);
	if (proven_rows(s->desc.type, k))
		CHECK(r->rows <= proven_rows(s->desc.type, k), "%u rows", r->rows);
	else
		CHECK(data == 1 && r->rows * row <= BANK, "%u rows in %u banks", r->rows, data);
}

/*
 * One row more than the tile has, but no more than the largest power of two that holds 64 KiB of
 * rows, where several banks are used.
 */
static void check_grains(const struct sample *s, const struct rectangle *r)
{
	uint32_t limit = 1;

	while (limit * 2 * r->channels * s->esz <= 65536)
		limit *= 2;
	if (!proven_rows(s->desc.type, r->channels) || r->rows + 1 < limit)
		limit = r->rows + 1;
	CHECK_EQUAL(reg(0x1010), limit * 16);
}

static void check_program(const struct sample *s, const uint64_t *words, struct rectangle *r)
{
	decode(words);
	r->rows = bits(0x1020, 10, 0);
	r->cols = bits(0x1038, 13, 0);
	r->channels = bits(0x1024, 15, 0);
	check_addresses(s, r);
	check_strides(s);
	check_sizes(s, r);
	check_banks(s, r);
	check_grains(s, r);
}

/* --- a whole product -------------------------------------------------------------------------- */

static bool disjoint(const struct rectangle *a, const struct rectangle *b)
{
	return a->slice != b->slice || a->m + a->rows <= b->m || b->m + b->rows <= a->m || a->n + a->cols <= b->n ||
	       b->n + b->cols <= a->n;
}

/* Tiles that do not overlap and whose areas add up to those of all slices' C cover each once. */
static void check_cover(const struct sample *s, const struct rectangle *tiles, uint32_t count)
{
	uint64_t area = 0;
	uint32_t i, j;

	for (i = 0; i < count; i++) {
		area += (uint64_t)tiles[i].rows * tiles[i].cols;
		for (j = 0; j < i; j++)
			CHECK(disjoint(&tiles[i], &tiles[j]), "tiles %u and %u", i, j);
	}
	CHECK_EQUAL(area, (uint64_t)s->desc.m * s->n * s->slices);
}

static void check_links(const uint64_t *words, uint32_t programs, uint32_t iova)
{
	uint32_t i;

	for (i = 0; i < programs; i++) {
		uint64_t next = i + 1 < programs ? iova + (i + 1) * 896 : 0;

		CHECK_EQUAL(words[i * PROGRAM_WORDS + 108], 0x0101000000000010ull | next << 16);
		CHECK_EQUAL(words[i * PROGRAM_WORDS + 109], 0x0101000000000014ull | (next ? 0x37ull << 16 : 0));
	}
}

/* Cores' columns are whole tiles one after the other, and no line of a row of C belongs to two. */
static void check_split(const struct sample *s)
{
	const struct ork_matmul_plan *p = &s->plan;
	uint32_t core, begin = 0;

	CHECK(p->cores >= 1 && p->cores <= s->desc.cores, "%u cores", p->cores);
	for (core = 0; core < p->cores; core++) {
		CHECK_EQUAL(p->n_begin[core], begin);
		CHECK(p->n_end[core] > begin, "core %u has no columns", core);
		CHECK_EQUAL(begin * s->osz % LINE, 0);
		begin = p->n_end[core];
	}
	CHECK_EQUAL(begin, s->n);
}

static void check_core(struct sample *s, uint32_t core, struct rectangle *tiles)
{
	struct ork device = { .profiling = false };
	struct ork_bo bo = { .ork = &device, .size = s->plan.chain_bytes[core], .iova = 0x00100000 };
	struct ork_chain chain;
	uint32_t i;

	bo.data = s->words;
	CHECK_EQUAL(s->plan.programs[core] * 896ull, s->plan.chain_bytes[core]);
	ork_chain_init(&chain, &bo, 0, bo.size);
	CHECK_EQUAL(ork_emit_matmul(&chain, &s->plan, core, &s->at), 0);
	CHECK_EQUAL(chain.bytes, s->plan.chain_bytes[core]);
	CHECK_EQUAL(chain.programs, s->plan.programs[core]);
	check_links(s->words, chain.programs, bo.iova);
	for (i = 0; i < chain.programs; i++) {
		check_program(s, s->words + i * PROGRAM_WORDS, &tiles[i]);
		CHECK(tiles[i].n >= s->plan.n_begin[core] && tiles[i].n + tiles[i].cols <= s->plan.n_end[core],
		      "columns of another core");
	}
}

static void check_amounts(const struct sample *s)
{
	const struct ork_matmul_desc *d = &s->desc;
	uint64_t m = d->m, k = d->k, n = d->n;

	CHECK_EQUAL(s->plan.a_bytes, m * k * in_bytes[d->type]);
	CHECK_EQUAL(s->plan.weight_bytes, (uint64_t)s->k * s->n * s->esz);
	CHECK_EQUAL(s->plan.c_bytes, m * s->n * s->osz * s->slices);
	CHECK_EQUAL(s->plan.macs, m * n * k);
}

static struct rectangle all_tiles[3 * 4095];

static void check_sample(struct sample *s)
{
	uint32_t core, count = 0;

	derive(s);
	s->at = (struct ork_operands) {
		.a = A_IOVA, .b = B_IOVA, .c = C_IOVA,
		.a_stride = s->plan.a_direct ? s->plan.desc.lda * s->esz : s->k * s->esz,
		.c_stride = s->plan.c_direct ? s->plan.desc.ldc * s->osz : round_up(s->n * s->osz, LINE),
	};
	check_layout(s);
	check_split(s);
	check_amounts(s);
	for (core = 0; core < s->plan.cores; core++) {
		check_core(s, core, all_tiles + count);
		count += s->plan.programs[core];
	}
	check_cover(s, all_tiles, count);
}

/* Mostly small, sometimes up to the limits: every tile size and every K has its turn. */
static void draw(uint64_t *random, struct ork_matmul_desc *d)
{
	uint32_t group, wide = next_random(random) % 16 == 0;

	*d = (struct ork_matmul_desc) { .type = next_random(random) % 5 };
	group = kernel_group[d->type];
	d->k = random_in(random, 1, 4096 / in_bytes[d->type]);
	if (next_random(random) % 2)
		d->k = round_up(d->k, 32);
	if (next_random(random) % 2)
		d->k = 32u << random_in(random, 0, is_int8(d->type) ? 7 : 6);
	d->m = random_in(random, 1, d->k < 1024 || wide ? 900 : 150);
	d->n = random_in(random, 1, wide ? 20000 : 1200);
	if (next_random(random) % 8 == 0) {
		d->k = random_in(random, 1, 20000);
		d->m = random_in(random, 1, 100);
	}
	if (next_random(random) % 2)
		d->n = round_up(d->n, group);
	d->cores = random_in(random, 1, 3);
	if (d->type > ORK_INT8_INT32)
		d->multiplier = 1;
	if (next_random(random) % 2)
		d->lda = d->k + random_in(random, 0, 10) * (next_random(random) % 2 ? 16 / in_bytes[d->type] : 1);
	if (next_random(random) % 2)
		d->ldc = d->n + random_in(random, 0, 10) * (next_random(random) % 2 ? 64 / out_bytes[d->type] : 1);
}

static void random_products_are_covered_once_by_legal_programs(void)
{
	uint64_t random = 1;
	struct sample s;
	uint32_t i;
	int ret;

	s.words = malloc(4095 * 896);
	for (i = 0; i < SHAPES; i++) {
		draw(&random, &s.desc);
		ret = ork_matmul_plan(&info, &s.desc, &s.plan);
		CHECK(ret == 0, "m %u k %u n %u: %s", s.desc.m, s.desc.k, s.desc.n, s.plan.reason);
		if (!ret)
			check_sample(&s);
		if (failed_checks) {
			printf("# shape %u: type %d m %u k %u n %u lda %u ldc %u cores %u\n", i, s.desc.type, s.desc.m,
			       s.desc.k, s.desc.n, s.desc.lda, s.desc.ldc, s.desc.cores);
			break;
		}
	}
	free(s.words);
}

/* --- one known program ------------------------------------------------------------------------ */

/* The product's only program, decoded. */
static void emit_one(const struct ork_matmul_desc *desc, uint64_t words[PROGRAM_WORDS])
{
	struct ork device = { .profiling = false };
	struct ork_bo bo = { .ork = &device, .data = words, .size = 896, .iova = 0x1000 };
	struct ork_operands at = { A_IOVA, B_IOVA, C_IOVA, 0, 0 };
	struct ork_matmul_plan plan;
	struct ork_chain chain;

	CHECK_EQUAL(ork_matmul_plan(&info, desc, &plan), 0);
	at.a_stride = plan.desc.lda * in_bytes[desc->type];
	at.c_stride = plan.desc.ldc * out_bytes[desc->type];
	ork_chain_init(&chain, &bo, 0, bo.size);
	CHECK_EQUAL(ork_emit_matmul(&chain, &plan, 0, &at), 0);
	decode(words);
}

static void the_captured_product_gives_the_captured_words(void)
{
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = 4, .k = 32, .n = 16 };
	uint64_t words[PROGRAM_WORDS];
	uint32_t i;

	emit_one(&desc, words);
	for (i = 0; i < ORK_MATMUL_REGISTERS; i++)
		CHECK((words[i] & 0xffffffffffff) == ((uint64_t)captured[i][1] << 16 | captured[i][0]),
		      "word %u is 0x%016llx, not register 0x%x = 0x%x", i, (unsigned long long)words[i], captured[i][0],
		      captured[i][1]);
}

/* What the other types change in it: the output stages that boards run, and int8's input. */
static void other_types_differ_as_on_boards(void)
{
	struct ork_matmul_desc half = { .type = ORK_FP16_FP16, .m = 4, .k = 32, .n = 32 };
	struct ork_matmul_desc byte = { .type = ORK_INT8_INT32, .m = 4, .k = 64, .n = 32, .ldc = 64 };
	struct ork_matmul_desc narrow = {
		.type = ORK_INT8_INT8, .m = 4, .k = 512, .n = 64, .multiplier = 0x4000, .shift = 14, .offset = -3,
	};
	uint64_t words[PROGRAM_WORDS];

	emit_one(&half, words);
	CHECK_EQUAL(reg(0x4010), 0x48000002);
	CHECK_EQUAL(reg(0x4050), 0x126);
	CHECK_EQUAL(reg(0x4084), 0x10001);
	CHECK_EQUAL(reg(0x4038), 3 << 16 | 3);
	CHECK_EQUAL(reg(0x40c0), 0x20);
	emit_one(&byte, words);
	CHECK_EQUAL(reg(0x100c), 0x20000000);
	CHECK_EQUAL(reg(0x1030), 64 * 32);
	CHECK_EQUAL(reg(0x1034), 64);
	CHECK_EQUAL(reg(0x1044), 1);
	CHECK_EQUAL(reg(0x107c), 4);
	CHECK_EQUAL(reg(0x3010), 1);
	CHECK_EQUAL(reg(0x4010), 0x80000000);
	CHECK_EQUAL(reg(0x4050), 0x7fc);
	CHECK_EQUAL(reg(0x40c0), 0x80);
	CHECK_EQUAL(reg(0x4084), 1);
	CHECK_EQUAL(reg(0x403c), 63 << 16 | 31);
	CHECK_EQUAL(reg(0x4038), 15 << 16 | 15);
	emit_one(&narrow, words);
	CHECK_EQUAL(reg(0x4010), 0);
	CHECK_EQUAL(reg(0x4038), 3 << 16 | 3);
	CHECK_EQUAL(reg(0x4050), 0x124);
	CHECK_EQUAL(reg(0x4080), 0xfffffffd);
	CHECK_EQUAL(reg(0x4084), 0x4000);
	CHECK_EQUAL(reg(0x4088), 14);
	CHECK_EQUAL(reg(0x40c0), 0x20);
	narrow.type = ORK_INT8_INT16;
	emit_one(&narrow, words);
	CHECK_EQUAL(reg(0x4010), 0x20000000);
	CHECK_EQUAL(reg(0x4038), 7 << 16 | 7);
	CHECK_EQUAL(reg(0x4050), 0x36e);
	CHECK_EQUAL(reg(0x4084), 0x4000);
	CHECK_EQUAL(reg(0x40c0), 0x40);
}

/*
 * Bank registers of full tiles at steps of 64 rows, as boards run them (fp16 with K = 256, 512,
 * 1024).
 */
static void full_tiles_use_the_banks_that_boards_do(void)
{
	static const uint32_t steps[][11] = {
		{ 0xb1, 0xa2, 0x93, 0x84, 0x75, 0x66, 0x57, 0x48, 0x39, 0x2a, 0x1b },
		{ 0xa2, 0x84, 0x66, 0x48, 0x2a },
		{ 0x84, 0x48 },
	};
	uint64_t words[PROGRAM_WORDS];
	uint32_t i, j;

	for (i = 0; i < 3; i++) {
		for (j = 0; j < 11 && steps[i][j]; j++) {
			struct ork_matmul_desc desc = {
				.type = ORK_FP16_FP32, .m = 64 * (j + 1), .k = 256u << i, .n = 64, .cores = 1,
			};

			emit_one(&desc, words);
			CHECK_EQUAL(reg(0x1040), steps[i][j]);
		}
	}
}

/* --- refusals --------------------------------------------------------------------------------- */

struct refusal {
	struct ork_matmul_desc desc;
	int error;
	const char *value, *limit;	/* both must be in the reason */
};

static const struct refusal refusals[] = {
	{ { .type = 7, .m = 1, .k = 32, .n = 32 }, -EINVAL, "type = 7", "0..6" },
	{ { .type = ORK_INT8_INT8, .m = 1, .k = 32, .n = 32 }, -EINVAL, "multiplier = 0", "1..32767" },
	{ { .type = ORK_INT8_INT16, .m = 1, .k = 32, .n = 32, .multiplier = 32768 }, -EINVAL, "32768", "1..32767" },
	{ { .type = ORK_INT8_INT8, .m = 1, .k = 32, .n = 32, .multiplier = 1, .shift = 48 }, -EINVAL, "shift = 48", "47" },
	{ { .type = ORK_INT8_INT8, .m = 1, .k = 32, .n = 32, .multiplier = 1, .offset = 32768 }, -EINVAL, "offset = 32768",
	  "-32768..32767" },
	{ { .type = ORK_INT8_INT32, .m = 1, .k = 32, .n = 32, .multiplier = 1 }, -EINVAL, "multiplier = 1", "0 for this" },
	{ { .type = ORK_FP16_FP16, .m = 1, .k = 32, .n = 32, .offset = -1 }, -EINVAL, "offset = -1", "0 for this" },
	{ { .type = ORK_FP16_FP32, .m = 0, .k = 32, .n = 16 }, -EINVAL, "m = 0", "at least 1" },
	{ { .type = ORK_FP16_FP32, .m = 1, .k = 0, .n = 16 }, -EINVAL, "k = 0", "at least 1" },
	{ { .type = ORK_FP16_FP32, .m = 1, .k = 32, .n = 0 }, -EINVAL, "n = 0", "at least 1" },
	{ { .type = ORK_FP16_FP32, .m = 1, .k = 64, .n = 16, .lda = 56 }, -EINVAL, "lda = 56", "k = 64" },
	{ { .type = ORK_FP16_FP32, .m = 64, .k = 32, .n = 16, .a_transposed = true, .lda = 63 }, -EINVAL, "lda = 63", "m = 64" },
	{ { .type = ORK_FP16_FP32, .m = 1, .k = 32, .n = 32, .ldc = 16 }, -EINVAL, "ldc = 16", "n = 32" },
	{ { .type = ORK_FP16_FP32, .m = 1, .k = 32, .n = 32, .cores = 4 }, -EINVAL, "cores = 4", "3" },
	{ { .type = ORK_FP16_FP32, .m = 1, .k = 32, .n = 32, .sync = 2 }, -EINVAL, "sync = 2", "1" },
	{ { .type = ORK_FP16_FP32, .m = 1, .k = 65536, .n = 32768 }, -EINVAL, "k = 65536", "4 GiB" },
	{ { .type = ORK_INT8_INT32, .m = 1, .k = UINT32_MAX, .n = 1 }, -EINVAL, "k = 4294967295", "4 GiB" },
	{ { .type = ORK_INT8_INT32, .m = 1, .k = UINT32_MAX, .n = UINT32_MAX }, -EINVAL, "k = 4294967295", "4 GiB" },
	{ { .type = ORK_INT8_INT32, .m = 1, .k = 1, .n = UINT32_MAX }, -EINVAL, "n = 4294967295", "4 GiB" },
	{ { .type = ORK_INT4_INT16, .m = 1, .k = 131072, .n = 65536 }, -EINVAL, "k = 131072", "4 GiB" },
	{ { .type = ORK_INT4_INT16, .m = 1, .k = UINT32_MAX, .n = 1 }, -EINVAL, "k = 4294967295", "4 GiB" },
	{ { .type = ORK_INT4_INT16, .m = UINT32_MAX, .k = 32, .n = 1, .a_transposed = true }, -EINVAL, "lda = 4294967295",
	  "even" },
	{ { .type = ORK_FP16_FP32, .m = 704 * 4095 + 1, .k = 256, .n = 64 }, -E2BIG, "4096", "4095" },
	{ { .type = ORK_FP16_FP32, .m = 128 * 1366, .k = 3072, .n = 64 }, -E2BIG, "4098", "4095" },
};

static void what_cannot_be_is_refused_with_value_and_limit(void)
{
	struct ork_matmul_plan plan;
	size_t i;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		int ret = ork_matmul_plan(&info, &r->desc, &plan);

		CHECK(ret == r->error, "case %zu gives %d: %s", i, ret, plan.reason);
		CHECK(strstr(plan.reason, r->value) && strstr(plan.reason, r->limit), "case %zu: %s", i, plan.reason);
	}
}

static void what_is_at_a_limit_is_planned(void)
{
	static const struct ork_matmul_desc descs[] = {
		{ .type = ORK_FP16_FP32, .m = 2, .k = 2048, .n = 32 },
		{ .type = ORK_INT8_INT32, .m = 2, .k = 4096, .n = 32 },
		{ .type = ORK_INT4_INT16, .m = 1, .k = 131040, .n = 65536 },
		{ .type = ORK_FP16_FP32, .m = 2, .k = 1, .n = 1 },
		{ .type = ORK_INT8_INT8, .m = 2, .k = 32, .n = 32, .multiplier = 32767, .shift = 47, .offset = 32767 },
		{ .type = ORK_FP16_FP32, .m = 1, .k = 65504, .n = 32768 },
		{ .type = ORK_FP16_FP32, .m = 128 * 1365, .k = 3072, .n = 64 },
		{ .type = ORK_FP16_FP32, .m = 1, .k = 32, .n = 32768 },
		{ .type = ORK_FP16_FP16, .m = 1, .k = 32, .n = 65536 },
		{ .type = ORK_FP16_FP32, .m = 704 * 4095, .k = 256, .n = 64 },
		{ .type = ORK_FP16_FP32, .m = 1, .k = 32, .n = 16, .cores = 3 },
	};
	struct ork_matmul_plan plan;
	size_t i;

	for (i = 0; i < sizeof(descs) / sizeof(descs[0]); i++) {
		CHECK(ork_matmul_plan(&info, &descs[i], &plan) == 0, "case %zu: %s", i, plan.reason);
		CHECK_EQUAL(plan.reason[0], 0);
	}
}

static void a_device_with_fewer_cores_gives_fewer(void)
{
	struct drm_ork_device_info one = info;
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = 4, .k = 32, .n = 256 };
	struct ork_matmul_plan plan;

	CHECK_EQUAL(ork_matmul_plan(&one, &desc, &plan), 0);
	CHECK_EQUAL(plan.cores, 3);
	one.num_cores = 1;
	CHECK_EQUAL(ork_matmul_plan(&one, &desc, &plan), 0);
	CHECK_EQUAL(plan.cores, 1);
	CHECK_EQUAL(plan.programs[0], 1);
	desc.cores = 2;
	CHECK_EQUAL(ork_matmul_plan(&one, &desc, &plan), -EINVAL);
}

int main(void)
{
	RUN(the_captured_product_gives_the_captured_words);
	RUN(other_types_differ_as_on_boards);
	RUN(full_tiles_use_the_banks_that_boards_do);
	RUN(random_products_are_covered_once_by_legal_programs);
	RUN(what_cannot_be_is_refused_with_value_and_limit);
	RUN(what_is_at_a_limit_is_planned);
	RUN(a_device_with_fewer_cores_gives_fewer);
	return test_result();
}

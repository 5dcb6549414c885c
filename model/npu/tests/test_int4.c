/* SPDX-License-Identifier: MIT */
/*
 * Products of int4: layouts, sums of 16 bits, the batch that boards run, and its limits; against
 * 64-bit arithmetic from the formula.
 */
#include "rig.h"

#define PROGRAM		0x00400000u
#define A		0x10000000u
#define B		0x20000000u
#define C		0x30000000u
#define CANARY		0x5a
#define GUARD		4096u

/* --- operands --------------------------------------------------------------------------------- */

/* Values from -8 to 7: [m][k] and [n][k]. */
struct values {
	int8_t *a, *b;
};

static struct values new_values(const struct rig_matmul *m)
{
	return (struct values) { rig_alloc((size_t)m->m * m->k, 1), rig_alloc((size_t)m->n * m->k, 1) };
}

static void free_values(struct values v)
{
	free(v.a);
	free(v.b);
}

static void randomize(int8_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = (int)(rig_random() >> 7 & 15) - 8;
}

/* Element @index of packed ones: the even one of two is the low nibble. */
static void put_nibble(uint8_t *to, size_t index, int value)
{
	uint8_t nibble = value & 15;

	to[index / 2] = index % 2 ? (to[index / 2] & 0x0f) | nibble << 4 : (to[index / 2] & 0xf0) | nibble;
}

/* Of row-major or surface layout: an atom has 32 channels. */
static size_t feature_index(const struct rig_matmul *m, uint32_t row, uint32_t k)
{
	return m->lda ? (size_t)row * m->lda * 2 + k : ((size_t)(k / 32) * m->m + row) * 32 + k % 32;
}

/* ork-driver facts 4.2. */
static size_t weight_index(const struct rig_matmul *m, uint32_t n, uint32_t k)
{
	return ((size_t)(n / 64) * (m->k / 32) + k / 32) * 2048 + n % 64 * 32 + k % 32;
}

static void put_weights(struct rig *rig, const struct rig_matmul *m, const int8_t *b)
{
	size_t len = (size_t)m->n * m->k / 2;
	uint8_t *raw = rig_alloc(len, 1);

	for (uint32_t n = 0; n < m->n; n++)
		for (uint32_t k = 0; k < m->k; k++)
			put_nibble(raw, weight_index(m, n, k), b[(size_t)n * m->k + k]);
	rig_put(rig, m->b, raw, len);
	free(raw);
}

static void put_features(struct rig *rig, const struct rig_matmul *m, const int8_t *a)
{
	size_t len = (feature_index(m, m->m - 1, m->k - 1) + 1) / 2;
	uint8_t *raw = rig_alloc(len, 1);

	for (size_t i = 0; i < len; i++)
		raw[i] = rig_random();
	for (uint32_t i = 0; i < m->m; i++)
		for (uint32_t k = 0; k < m->k; k++)
			put_nibble(raw, feature_index(m, i, k), a[(size_t)i * m->k + k]);
	rig_put(rig, m->a, raw, len);
	free(raw);
}

/* 16 bits, saturated every 32 channels. */
static int64_t sum_of(const struct rig_matmul *m, const struct values *v, uint32_t row, uint32_t n)
{
	int64_t sum = 0;

	for (uint32_t k = 0; k < m->k; k++) {
		sum += (int64_t)v->a[(size_t)row * m->k + k] * v->b[(size_t)n * m->k + k];
		if (k % 32 == 31)
			sum = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
	}
	return sum;
}

static void put_canaries(struct rig *rig, uint32_t iova, size_t len)
{
	uint8_t *c = rig_alloc(len + GUARD, 1);

	memset(c, CANARY, len + GUARD);
	rig_put(rig, iova, c, len + GUARD);
	free(c);
}

static int16_t element(const uint8_t *c, size_t index)
{
	int16_t value;

	memcpy(&value, c + 2 * index, sizeof(value));
	return value;
}

/* C is the product, and what lies between its rows and behind it was not written. */
static bool is_product(struct rig *rig, const struct rig_matmul *m, const struct values *v)
{
	size_t len = rig_extent(m->out, m->ldc, m->m, m->n);
	uint8_t *c = rig_alloc(len + GUARD, 1);
	bool good = true;

	rig_get(rig, m->c, c, len + GUARD);
	for (uint32_t i = 0; i < m->m; i++)
		for (uint32_t n = 0; n < m->n; n++) {
			size_t index = rig_index(m->out, m->ldc, m->m, i, n);

			good &= element(c, index) == sum_of(m, v, i, n);
			memset(c + 2 * index, CANARY, 2);
		}
	for (size_t i = 0; i < len + GUARD; i++)
		good &= c[i] == CANARY;
	free(c);
	return good;
}

static bool run_product(const struct rig_matmul *m, const struct values *v)
{
	struct rig_program program = rig_matmul_program(m);
	struct rig rig;
	bool good;

	rig_init(&rig, 4 << 20, NPU_CACHE_STRICT);
	put_features(&rig, m, v->a);
	put_weights(&rig, m, v->b);
	put_canaries(&rig, m->c, rig_extent(m->out, m->ldc, m->m, m->n));
	rig_put_program(&rig, PROGRAM, &program);
	good = !rig_run(&rig, PROGRAM, RIG_WORDS, 1) && is_product(&rig, m, v);
	rig_fini(&rig);
	return good;
}

/* --- products --------------------------------------------------------------------------------- */

#define INT4(m, k, n)	{ ORK_PRECISION_INT4, ORK_PRECISION_INT16, m, k, n, A, B, C, 0, 0, true }

/* At each of 64 channels, the others of the one operand being 0 and those of the other random. */
static void test_every_product(void)
{
	const struct rig_matmul m = INT4(16, 64, 64);
	struct values v = new_values(&m);
	bool good = true;

	for (uint32_t at = 0; at < 2 * m.k; at++) {
		uint32_t k = at / 2;

		randomize(v.a, (size_t)m.m * m.k);
		randomize(v.b, (size_t)m.n * m.k);
		memset(at % 2 ? v.a : v.b, 0, (size_t)(at % 2 ? m.m : m.n) * m.k);
		for (uint32_t i = 0; i < m.m; i++)
			v.a[i * m.k + k] = (int)i - 8;
		for (uint32_t n = 0; n < m.n; n++)
			v.b[n * m.k + k] = (int)((n + n / 16) % 16) - 8;
		good &= run_product(&m, &v);
	}
	ok(good, "the 256 products of two int4, at each of 64 channels");
	free_values(v);
}

static void test_random_product(void)
{
	struct rig_matmul m = {
		.in = ORK_PRECISION_INT4,
		.out = ORK_PRECISION_INT16,
		.m = 1 + rig_random() % 150,
		.k = 32 * (1 + rig_random() % 15),
		.n = 64 * (1 + rig_random() % 5),
		.a = A + 16 * (rig_random() % 300),
		.b = B + 16 * (rig_random() % 300),
		.c = C + 16 * (rig_random() % 300),
		.wide = rig_random() % 2,
	};
	struct values v = new_values(&m);

	if (!m.wide && rig_random() % 2)
		m.lda = m.k / 2 + 16 * (rig_random() % 9);
	if (!m.wide && rig_random() % 2)
		m.ldc = m.n * 2 + 16 * (rig_random() % 9);
	randomize(v.a, (size_t)m.m * m.k);
	randomize(v.b, (size_t)m.n * m.k);
	ok(run_product(&m, &v), "int4 %u x %u x %u, A in %s (%u), C in %s (%u): the product, and nothing else", m.m,
	   m.k, m.n, m.lda ? "rows" : m.wide ? "surfaces of one line" : "surfaces", m.lda, m.ldc ? "rows" : "surfaces",
	   m.ldc);
	free_values(v);
}

/* --- saturation ------------------------------------------------------------------------------- */

/* A run of channels whose products are all the same. */
struct run {
	uint32_t channels;
	int a, b;
};

static void check_sum(const char *what, const struct run *runs, size_t count, uint32_t k, int want)
{
	const struct rig_matmul m = INT4(1, k, 64);
	struct rig_program program = rig_matmul_program(&m);
	struct values v = new_values(&m);
	uint8_t c[128];
	struct rig rig;
	bool good;

	for (uint32_t n = 0; n < m.n; n++)
		for (uint32_t i = 0, at = 0; i < count; i++)
			for (uint32_t end = at + runs[i].channels; at < end; at++) {
				v.a[at] = runs[i].a;
				v.b[(size_t)n * k + at] = runs[i].b;
			}
	rig_init(&rig, 4 << 20, NPU_CACHE_STRICT);
	put_features(&rig, &m, v.a);
	put_weights(&rig, &m, v.b);
	rig_map(&rig, C, sizeof(c));
	rig_put_program(&rig, PROGRAM, &program);
	good = !rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	rig_get(&rig, C, c, sizeof(c));
	for (uint32_t n = 0; n < m.n; n++)
		good &= element(c, n) == want;
	ok(good, "%s is %d (found %d)", what, want, element(c, 0));
	rig_fini(&rig);
	free_values(v);
}

#define RUNS(...)	(const struct run[]) { __VA_ARGS__ }, \
			sizeof((const struct run[]) { __VA_ARGS__ }) / sizeof(struct run)

static void test_saturation(void)
{
	check_sum("the largest sum", RUNS({ 511, -8, -8 }, { 1, 7, 7 }, { 2, 7, 1 }), 544, 32767);
	check_sum("one more", RUNS({ 511, -8, -8 }, { 1, 7, 7 }, { 3, 5, 1 }), 544, 32767);
	check_sum("one less", RUNS({ 511, -8, -8 }, { 1, 7, 7 }, { 1, 7, 1 }, { 1, 6, 1 }), 544, 32766);
	check_sum("the smallest sum", RUNS({ 585, -8, 7 }, { 1, -8, 1 }), 608, -32768);
	check_sum("one less than that", RUNS({ 585, 7, -8 }, { 1, -8, 1 }, { 1, -1, 1 }), 608, -32768);
	check_sum("one more than that", RUNS({ 585, 7, -8 }, { 1, -7, 1 }), 608, -32767);
	check_sum("a sum of 688,128", RUNS({ 10752, -8, -8 }), 10752, 32767);
	check_sum("a sum of -602,112", RUNS({ 10752, 7, -8 }), 10752, -32768);
	/* On the way there, and back. */
	check_sum("34,816, then 3,584 less", RUNS({ 544, -8, -8 }, { 64, 7, -8 }), 608, 32767 - 3584);
	check_sum("-33,600, then 4,096 more", RUNS({ 600, 7, -8 }, { 8, 0, 0 }, { 64, -8, -8 }), 672, -32768 + 4096);
	check_sum("33,024 within 32 channels, less at their end",
		  RUNS({ 500, -8, -8 }, { 12, 0, 0 }, { 16, -8, -8 }, { 16, 7, -8 }), 544, 32000 + 1024 - 896);
}

/* Runs of one sign, longer than the range is wide. */
static void test_random_saturation(void)
{
	const struct rig_matmul m = INT4(5, 4096, 64);
	struct values v = new_values(&m);
	unsigned int saturated = 0;

	for (uint32_t k = 0; k < m.k; k++) {
		int sign = k / 1000 % 2 ? 7 : -8;

		for (uint32_t i = 0; i < m.m; i++)
			v.a[i * m.k + k] = rig_random() % 8 ? sign : (int)(rig_random() % 16) - 8;
		for (uint32_t n = 0; n < m.n; n++)
			v.b[n * m.k + k] = -4 - (int)(rig_random() % 5);
	}
	for (uint32_t i = 0; i < m.m; i++)
		for (uint32_t n = 0; n < m.n; n++) {
			int64_t exact = 0;

			for (uint32_t k = 0; k < m.k; k++)
				exact += v.a[i * m.k + k] * v.b[n * m.k + k];
			saturated += exact != sum_of(&m, &v, i, n);
		}
	ok(saturated && run_product(&m, &v), "sums that saturate on their way, %u of 320", saturated);
	free_values(v);
}

/* --- what boards run -------------------------------------------------------------------------- */

/*
 * The batch (ork-driver facts 3.4 and 4.3): @h rows, row j at j * K bytes of A; row j of block b of
 * 64 columns at 64 * (4j + 4hb) int16 of C. Counts are those of 4h lines.
 */
static struct rig_program batch_program(uint32_t h, uint32_t k, uint32_t n)
{
	const struct rig_matmul m = { ORK_PRECISION_INT4, ORK_PRECISION_INT16, 4 * h, k, n, A, B, C, 0, n * 2, false };
	struct rig_program p = rig_matmul_program(&m);

	rig_patch(&p, 0x100c, 0x360);
	rig_patch(&p, 0x1010, 16 * (4 * h + 1));
	rig_patch(&p, 0x1040, 0xb1);
	rig_patch(&p, 0x1044, (k + 127) / 128);
	rig_patch(&p, 0x107c, k / 16);
	rig_patch(&p, 0x1080, 0x0ffffffd);
	rig_patch(&p, 0x3010, 0x601);
	rig_patch(&p, 0x4010, 0x38000006);
	rig_patch(&p, 0x4024, 0x10);
	rig_patch(&p, 0x4038, (n / 4 - 1) << 16 | (n / 4 - 1));
	rig_patch(&p, 0x4050, 0x7fe);
	rig_patch(&p, 0x405c, 0);
	rig_patch(&p, 0x40c0, 0x80);
	return p;
}

static void put_batch(struct rig *rig, uint32_t h, uint32_t k, const int8_t *a)
{
	uint8_t *raw = rig_alloc((size_t)h * k, 1);

	for (size_t i = 0; i < (size_t)h * k; i++)
		raw[i] = rig_random();
	for (uint32_t row = 0; row < h; row++)
		for (uint32_t i = 0; i < k; i++)
			put_nibble(raw + (size_t)row * k, i, a[(size_t)row * k + i]);
	rig_put(rig, A, raw, (size_t)h * k);
	free(raw);
}

static bool batch_is_right(struct rig *rig, const struct rig_matmul *m, const struct values *v)
{
	size_t len = (size_t)4 * m->m * m->n * 2;
	uint8_t *c = rig_alloc(len + GUARD, 1);
	bool good = true;

	rig_get(rig, C, c, len + GUARD);
	for (uint32_t j = 0; j < m->m; j++)
		for (uint32_t n = 0; n < m->n; n++)
			good &= element(c, 64 * (4 * j + 4 * m->m * (n / 64)) + n % 64) == sum_of(m, v, j, n);
	for (size_t i = len; i < len + GUARD; i++)
		good &= c[i] == CANARY;
	free(c);
	return good;
}

static enum npu_hang run_batch(const struct rig_matmul *m, bool *right)
{
	struct rig_program program = batch_program(m->m, m->k, m->n);
	struct values v = new_values(m);
	enum npu_hang hang;
	struct rig rig;

	randomize(v.a, (size_t)m->m * m->k);
	randomize(v.b, (size_t)m->n * m->k);
	rig_init(&rig, 4 << 20, NPU_CACHE_STRICT);
	put_batch(&rig, m->m, m->k, v.a);
	/* The last lines reach behind the last row. */
	rig_map(&rig, A, (size_t)m->m * m->k + GUARD);
	put_weights(&rig, m, v.b);
	put_canaries(&rig, C, (size_t)4 * m->m * m->n * 2);
	rig_put_program(&rig, PROGRAM, &program);
	hang = rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	*right = !hang && batch_is_right(&rig, m, &v);
	free_values(v);
	rig_fini(&rig);
	return hang;
}

/* H(K) of ork-driver facts 3.9; 12288 / K where it says nothing else. */
static void test_row_caps(void)
{
	static const struct {
		uint32_t k, rows;
	} caps[] = {
		{ 128, 96 }, { 256, 64 }, { 384, 32 }, { 512, 32 }, { 768, 22 }, { 1024, 16 }, { 1280, 9 },
		{ 1536, 11 }, { 2048, 8 }, { 2560, 7 }, { 3072, 4 }, { 3584, 4 }, { 4096, 4 }, { 5120, 3 },
		{ 6144, 3 }, { 8192, 2 }, { 10752, 1 },
	};

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		struct rig_matmul m = INT4(caps[i].rows, caps[i].k, 64 * (1 + i % 3));
		enum npu_hang within, beyond;
		bool right, ignored;

		within = run_batch(&m, &right);
		m.m++;
		beyond = run_batch(&m, &ignored);
		ok(!within && right && beyond == NPU_HANG_DATA_BANKS,
		   "a batch of K = %u has up to %u rows (%s, %s), one more hangs (%s)", caps[i].k, caps[i].rows,
		   npu_hang_name(within), right ? "right" : "wrong", npu_hang_name(beyond));
	}
}

/* What one row's program of the vendor's library sets (ork-driver facts 3.4). */
static void test_captured_row(void)
{
	static const struct {
		uint32_t reg, value;
	} captured[] = {
		{ 0x100c, 0x360 }, { 0x1010, 0x20 }, { 0x1020, 0x10001 }, { 0x1024, 0x003f0040 }, { 0x102c, 1 },
		{ 0x1030, 64 * 64 / 2 }, { 0x1034, 32 }, { 0x1038, 0x01010040 }, { 0x1040, 0xb1 }, { 0x1044, 1 },
		{ 0x107c, 4 }, { 0x1080, 0x0ffffffd }, { 0x1084, 0x10001 }, { 0x1088, 64 }, { 0x3010, 0x601 },
		{ 0x3014, 0 }, { 0x3018, 63 }, { 0x4010, 0x38000006 }, { 0x4034, 0 }, { 0x4038, 0 },
		{ 0x403c, 0x003f003f }, { 0x4050, 0x7fe }, { 0x405c, 0 }, { 0x40c0, 0x80 },
	};
	const struct rig_matmul m = INT4(1, 64, 64);
	struct rig_program program = rig_matmul_program(&m);
	struct values v = new_values(&m);
	struct rig rig;

	for (size_t i = 0; i < sizeof(captured) / sizeof(captured[0]); i++)
		rig_patch(&program, captured[i].reg, captured[i].value);
	randomize(v.a, m.k);
	randomize(v.b, (size_t)m.n * m.k);
	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	put_features(&rig, &m, v.a);
	put_weights(&rig, &m, v.b);
	put_canaries(&rig, C, 128);
	rig_put_program(&rig, PROGRAM, &program);
	ok(!rig_run(&rig, PROGRAM, RIG_WORDS, 1) && is_product(&rig, &m, &v), "the captured row");
	free_values(v);
	rig_fini(&rig);
}

/* --- compact programs ------------------------------------------------------------------------- */

#define ROWS	4u
#define COMPACT	16u	/* words */

static uint32_t slot(uint32_t i)
{
	return PROGRAM + i * 0x400;
}

/* Only A and C; all else is what the program before the last set (ork-driver facts 2.4). */
static struct rig_program compact_program(const struct rig_matmul *m)
{
	struct rig_program p = { 0 };

	rig_word(&p, ORK_TARGET_CNA, ORK_CNA_FEATURE_DATA_ADDR, m->a);
	rig_word(&p, ORK_TARGET_DPU, ORK_DPU_DST_BASE_ADDR, m->c);
	while (p.count < COMPACT - ORK_PROGRAM_TAIL_WORDS)
		rig_word(&p, 0, 0, 0);
	rig_tail(&p, 0, 0);
	return p;
}

/* Four rows, the first @full of them by whole programs. */
static void run_rows(uint32_t full, bool good)
{
	const struct rig_matmul whole = INT4(ROWS, 256, 128);
	struct values v = new_values(&whole);
	bool product = true;
	enum npu_hang hang;
	struct rig rig;

	randomize(v.a, (size_t)whole.m * whole.k);
	randomize(v.b, (size_t)whole.n * whole.k);
	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	put_weights(&rig, &whole, v.b);
	put_canaries(&rig, C, ROWS * 128 * 2);
	for (uint32_t i = 0; i < ROWS; i++) {
		struct rig_matmul m = INT4(1, 256, 128);
		struct rig_program p;

		m.a += i * 128;
		m.c += i * 256;
		put_features(&rig, &m, v.a + (size_t)i * m.k);
		p = i < full ? rig_matmul_program(&m) : compact_program(&m);
		if (i + 1 < ROWS)
			rig_link(&p, slot(i + 1), ORK_PC_AMOUNT(i + 1 < full ? RIG_WORDS : COMPACT));
		rig_put_program(&rig, slot(i), &p);
	}
	hang = rig_run(&rig, slot(0), RIG_WORDS, ROWS);
	for (uint32_t i = 0; i < ROWS && !hang; i++) {
		struct rig_matmul m = INT4(1, 256, 128);
		struct values row = { v.a + (size_t)i * m.k, v.b };
		uint8_t c[256];

		rig_get(&rig, C + i * 256, c, sizeof(c));
		for (uint32_t n = 0; n < m.n; n++)
			product &= element(c, n) == sum_of(&m, &row, 0, n);
	}
	ok(good ? !hang && product && rig.rises == 1 : hang && !rig.rises,
	   "compact programs after %u whole one(s) %s (%s)", full, good ? "give their rows" : "hang",
	   npu_hang_name(hang));
	free_values(v);
	rig_fini(&rig);
}

/* --- hangs ------------------------------------------------------------------------------------ */

static void test_hangs(void)
{
	static const struct {
		const char *what;
		struct rig_matmul m;
		uint32_t reg, value;
		enum npu_hang hang;
	} cases[] = {
		{ "8 + 11 banks", INT4(4, 64, 64), 0x1040, 0xb8, NPU_HANG_BANKS },
		{ "no data bank", INT4(4, 64, 64), 0x1040, 0xb0, NPU_HANG_BANKS },
		{ "a kernel group of 66 KiB in 2 banks", INT4(1, 2112, 192), 0x1040, 0x21, NPU_HANG_WEIGHT_BANKS },
		{ "a kernel group of 64 KiB in 2 banks", INT4(1, 2048, 192), 0x1040, 0x21, NPU_OK },
		{ "one that fills its banks, 128 kernels", INT4(1, 2048, 128), 0x1040, 0x21, NPU_HANG_WEIGHT_BANKS },
		{ "one that leaves slack, 64 kernels", INT4(1, 2016, 64), 0x1040, 0x21, NPU_OK },
		{ "64 rows of 512 bytes in one bank", INT4(64, 1024, 64), 0x1040, 0xb1, NPU_OK },
		{ "65 rows of 512 bytes in one bank", INT4(65, 1024, 64), 0x1040, 0xb1, NPU_HANG_DATA_BANKS },
		{ "too few entries for a row", INT4(1, 256, 64), 0x1044, 1, NPU_HANG_DATA_BANKS },
		{ "32 kernels", INT4(4, 64, 64), 0x1038, 0x01010020, NPU_HANG_UNSUPPORTED },
		{ "kernels of int8's size", INT4(4, 64, 64), 0x1034, 64, NPU_HANG_UNSUPPORTED },
		{ "features of int8", INT4(4, 64, 64), 0x100c, 0x300, NPU_HANG_UNSUPPORTED },
		{ "weights of int8", INT4(4, 64, 64), 0x100c, 0x60, NPU_HANG_UNSUPPORTED },
		{ "features of fp16", INT4(4, 64, 64), 0x100c, 0x320, NPU_HANG_UNSUPPORTED },
		{ "a core of int8", INT4(4, 64, 64), 0x3010, 0x1, NPU_HANG_UNSUPPORTED },
		{ "a DPU of int8", INT4(4, 64, 64), 0x4010, 0x20000000, NPU_HANG_UNSUPPORTED },
		{ "a DPU that takes int8 for int4", INT4(4, 64, 64), 0x4010, 0x20000006, NPU_HANG_UNSUPPORTED },
		{ "a DPU that takes int4 for int8", INT4(4, 64, 64), 0x4010, 0x38000000, NPU_HANG_UNSUPPORTED },
		{ "int8 output", INT4(4, 64, 64), 0x4010, 0x18000006, NPU_HANG_UNSUPPORTED },
		{ "int32 output", INT4(4, 64, 64), 0x4010, 0x98000006, NPU_HANG_UNSUPPORTED },
		{ "fp16 output", INT4(4, 64, 64), 0x4010, 0x58000006, NPU_HANG_UNSUPPORTED },
		{ "int4 output", INT4(4, 64, 64), 0x4010, 0xd8000006, NPU_HANG_UNSUPPORTED },
		{ "an output offset", INT4(4, 64, 64), 0x4080, 1, NPU_HANG_UNSUPPORTED },
		{ "an output scale", INT4(4, 64, 64), 0x4084, 2, NPU_HANG_UNSUPPORTED },
		{ "an output shift", INT4(4, 64, 64), 0x4088, 1, NPU_HANG_UNSUPPORTED },
		{ "half as many atoms of a group", INT4(4, 64, 64), 0x4050, 0x36e, NPU_HANG_UNSUPPORTED },
		{ "single pixels of rows along the width", INT4(4, 64, 64), 0x405c, 0, NPU_HANG_UNSUPPORTED },
		{ "a row more to write than to compute", INT4(4, 64, 64), 0x405c, 4, NPU_HANG_UNSUPPORTED },
		{ "odd strides of C", INT4(4, 64, 64), 0x4038, 3, NPU_HANG_UNSUPPORTED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_program program = rig_matmul_program(&cases[i].m);
		struct values v = new_values(&cases[i].m);
		enum npu_hang hang;
		struct rig rig;

		rig_patch(&program, cases[i].reg, cases[i].value);
		randomize(v.a, (size_t)cases[i].m.m * cases[i].m.k);
		randomize(v.b, (size_t)cases[i].m.n * cases[i].m.k);
		rig_init(&rig, 4 << 20, NPU_CACHE_STRICT);
		put_features(&rig, &cases[i].m, v.a);
		put_weights(&rig, &cases[i].m, v.b);
		put_canaries(&rig, C, rig_extent(ORK_PRECISION_INT16, 0, cases[i].m.m, cases[i].m.n));
		rig_put_program(&rig, PROGRAM, &program);
		hang = rig_run(&rig, PROGRAM, RIG_WORDS, 1);
		ok(hang == cases[i].hang && (hang ? !rig.rises : rig.rises && is_product(&rig, &cases[i].m, &v)),
		   "%s %s (%s, found %s)", cases[i].what, cases[i].hang ? "hangs" : "is good",
		   npu_hang_name(cases[i].hang), npu_hang_name(hang));
		free_values(v);
		rig_fini(&rig);
	}
}

/* Kernels of more than one pixel, in all registers that say so: their layout is not known. */
static void test_large_kernels(void)
{
	const struct rig_matmul m = INT4(4, 64, 64);
	struct rig_program program = rig_matmul_program(&m);
	struct rig rig;

	rig_patch(&program, 0x1030, 3 * 64 * 64 / 2);
	rig_patch(&program, 0x1034, 3 * 64 / 2);
	rig_patch(&program, 0x1038, 0x03010040);
	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	rig_map(&rig, A, 4096);
	rig_map(&rig, B, 8192);
	rig_map(&rig, C, 4096);
	rig_put_program(&rig, PROGRAM, &program);
	ok(rig_run(&rig, PROGRAM, RIG_WORDS, 1) == NPU_HANG_UNSUPPORTED, "kernels of 1 x 3 hang");
	rig_fini(&rig);
}

/* A writer of single pixels is known of int4 alone. */
static void test_single_pixels_of_int8(void)
{
	const struct rig_matmul m = {
		ORK_PRECISION_INT8, ORK_PRECISION_INT32, 4, 32, 32, A, B, C, 32, 128, false,
	};
	struct rig_program program = rig_matmul_program(&m);
	struct rig rig;

	rig_patch(&program, 0x405c, 0);
	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	rig_free_operands(rig_fill(&rig, &m));
	rig_map(&rig, C, 4096);
	rig_put_program(&rig, PROGRAM, &program);
	ok(rig_run(&rig, PROGRAM, RIG_WORDS, 1) == NPU_HANG_UNSUPPORTED, "int8 in single pixels hangs");
	rig_fini(&rig);
}

int main(void)
{
	test_every_product();
	for (int i = 0; i < 40; i++)
		test_random_product();
	test_saturation();
	test_random_saturation();
	test_captured_row();
	test_row_caps();
	run_rows(2, true);
	run_rows(3, true);
	run_rows(4, true);
	run_rows(1, false);
	test_hangs();
	test_large_kernels();
	test_single_pixels_of_int8();
	return test_result();
}

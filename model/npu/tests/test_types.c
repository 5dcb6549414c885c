/* SPDX-License-Identifier: MIT */
/*
 * Integer products of which the DPU gives less than the sum: what it writes, against 64-bit
 * arithmetic from the formula, and what it does not write.
 */
#include "rig.h"

#define PROGRAM		0x00400000u
#define A		0x10000000u
#define B		0x20000000u
#define C		0x30000000u
#define CANARY		0x5a

/* --- the formula ------------------------------------------------------------------------------ */

/* OUT_CVT's registers. */
struct cvt {
	int32_t offset;
	uint32_t scale, shift;		/* the latter with CVT_ROUND */
};

#define HALF_UP		0x40000000u

/* Rounded to nearest by division; ties to even, or up. */
static int64_t divided(int64_t value, uint32_t shift, bool half_up)
{
	int64_t divisor, quotient, rest;

	if (shift > 61)			/* what is divided lies below 2^48 */
		return 0;
	divisor = INT64_C(1) << shift;
	quotient = value / divisor;	/* towards zero */
	rest = value % divisor;
	if (rest < 0)
		rest = -rest;
	if (2 * rest < divisor)
		return quotient;
	if (2 * rest == divisor && (half_up ? value < 0 : quotient % 2 == 0))
		return quotient;
	return value < 0 ? quotient - 1 : quotient + 1;
}

static bool is_tie(int64_t value, uint32_t shift)
{
	return shift && shift <= 61 && value % (INT64_C(1) << shift) && value % (INT64_C(1) << (shift - 1)) == 0;
}

static int64_t limit(uint32_t precision)
{
	return precision == ORK_PRECISION_INT8 ? 127 : 32767;
}

static int64_t clamped(int64_t value, int64_t limit)
{
	return value > limit ? limit : value < -limit - 1 ? -limit - 1 : value;
}

static int64_t requantised(int64_t sum, const struct cvt *cvt, uint32_t precision)
{
	int64_t scaled = divided(sum * cvt->scale, cvt->shift & 0xfff, cvt->shift & HALF_UP);

	return clamped(scaled + cvt->offset, limit(precision));
}

static int64_t element(uint32_t precision, const uint8_t *c, size_t index)
{
	int16_t value;

	if (precision == ORK_PRECISION_INT8)
		return ((const int8_t *)c)[index];
	memcpy(&value, c + 2 * index, sizeof(value));
	return value;
}

static void patch_cvt(struct rig_program *program, const struct cvt *cvt)
{
	rig_patch(program, 0x4080, (uint32_t)cvt->offset);
	rig_patch(program, 0x4084, cvt->scale);
	rig_patch(program, 0x4088, cvt->shift);
}

/* --- random shapes ---------------------------------------------------------------------------- */

/* Enough behind C that a write beyond it is seen. */
#define GUARD		4096u

static void put_canaries(struct rig *rig, uint32_t iova, size_t len)
{
	uint8_t *c = rig_alloc(len + GUARD, 1);

	memset(c, CANARY, len + GUARD);
	rig_put(rig, iova, c, len + GUARD);
	free(c);
}

static int64_t sum_of(const struct rig_matmul *m, struct rig_operands op, uint32_t row, uint32_t n)
{
	int64_t sum = 0;

	for (uint32_t k = 0; k < m->k; k++)
		sum += (int64_t)op.a[(size_t)row * m->k + k] * (int64_t)op.b[(size_t)n * m->k + k];
	return sum;
}

/* C is what the formula says, and what lies between its rows and behind it was not written. */
static bool is_requantised(struct rig *rig, const struct rig_matmul *m, struct rig_operands op, const struct cvt *cvt)
{
	size_t len = rig_extent(m->out, m->ldc, m->m, m->n), bytes = rig_bytes(m->out);
	uint8_t *c = rig_alloc(len + GUARD, 1);
	bool good = true;

	rig_get(rig, m->c, c, len + GUARD);
	for (uint32_t i = 0; i < m->m; i++)
		for (uint32_t n = 0; n < m->n; n++) {
			size_t index = rig_index(m->out, m->ldc, m->m, i, n);
			int64_t want = requantised(sum_of(m, op, i, n), cvt, m->out);

			good &= element(m->out, c, index) == want;
			memset(c + bytes * index, CANARY, bytes);
		}
	for (size_t i = 0; i < len + GUARD; i++)
		good &= c[i] == CANARY;
	free(c);
	return good;
}

static struct rig_matmul random_shape(uint32_t out)
{
	struct rig_matmul m = {
		.in = ORK_PRECISION_INT8,
		.out = out,
		.m = 1 + rig_random() % 150,
		.k = 32 * (1 + rig_random() % 8),
		.n = 32 * (1 + rig_random() % 5),
		.a = A + 16 * (rig_random() % 300),
		.b = B + 16 * (rig_random() % 300),
		.c = C + 16 * (rig_random() % 300),
		.wide = rig_random() % 2,
	};

	if (!m.wide && rig_random() % 2)
		m.ldc = m.n * rig_bytes(out) + 16 * (rig_random() % 9);
	return m;
}

static void test_random_requantised(uint32_t out)
{
	struct rig_matmul m = random_shape(out);
	/* Sums are some 2^16 wide: most results lie within either type, some beyond. */
	struct cvt cvt = {
		.offset = (int32_t)(rig_random() % 64) - 32,
		.scale = 1 + rig_random() % 0xffff,
		.shift = (out == ORK_PRECISION_INT8 ? 24 : 16) | (rig_random() % 2 ? HALF_UP : 0),
	};
	struct rig_program program;
	struct rig_operands op;
	enum npu_hang hang;
	struct rig rig;

	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	if (!m.wide && rig_random() % 2)
		m.lda = m.k + 16 * (rig_random() % 9);
	program = rig_matmul_program(&m);
	patch_cvt(&program, &cvt);
	op = rig_fill(&rig, &m);
	put_canaries(&rig, m.c, rig_extent(m.out, m.ldc, m.m, m.n));
	rig_put_program(&rig, PROGRAM, &program);
	hang = rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	ok(!hang && is_requantised(&rig, &m, op, &cvt),
	   "int8 %u x %u x %u to int%u, A in %s (%u), C in %s (%u), %d + s * %u >> %x: the product, and nothing else",
	   m.m, m.k, m.n, 8 * rig_bytes(out), m.lda ? "rows" : "surfaces", m.lda, m.ldc ? "rows" : "surfaces", m.ldc,
	   cvt.offset, cvt.scale, cvt.shift);
	rig_free_operands(op);
	rig_fini(&rig);
}

/* --- every sum -------------------------------------------------------------------------------- */

/* Row i has the one value i - 128, and column n the one value n - 128: every product of two int8. */
static const struct rig_matmul products = {
	ORK_PRECISION_INT8, ORK_PRECISION_INT8, 256, 32, 256, A, B, C, 32, 256, false,
};

static void put_products(struct rig *rig, const struct rig_matmul *m)
{
	uint8_t *raw = rig_alloc(256 * 32, 1);

	for (uint32_t i = 0; i < 256; i++)
		raw[i * 32] = i - 128;
	rig_put(rig, m->a, raw, 256 * 32);
	memset(raw, 0, 256 * 32);
	for (uint32_t n = 0; n < 256; n++)
		raw[rig_weight_index(m, n, 0)] = n - 128;
	rig_put(rig, m->b, raw, 256 * 32);
	free(raw);
}

/* Of the results that a converter gives. */
struct seen {
	unsigned int ties[2];			/* of positive and of negative sums */
	unsigned int low, high;			/* saturated */
};

static bool run_products(struct rig *rig, uint32_t out, const struct cvt *cvt, struct seen *seen)
{
	struct rig_matmul m = products;
	struct rig_program program;
	uint8_t *c = rig_alloc(256 * 256, 2);
	bool good;

	m.out = out;
	m.ldc = 256 * rig_bytes(out);
	program = rig_matmul_program(&m);
	patch_cvt(&program, cvt);
	rig_put_program(rig, PROGRAM, &program);
	good = !rig_run(rig, PROGRAM, RIG_WORDS, 1);
	rig_get(rig, C, c, 256 * m.ldc);
	for (int i = -128; i < 128; i++)
		for (int n = -128; n < 128; n++) {
			int64_t want = requantised(i * n, cvt, out);

			good &= element(out, c, (i + 128) * 256 + n + 128) == want;
			seen->ties[i * n < 0] += is_tie((int64_t)i * n * cvt->scale, cvt->shift & 0xfff);
			seen->low += want == -limit(out) - 1;
			seen->high += want == limit(out);
		}
	free(c);
	return good;
}

static void test_every_sum(uint32_t out)
{
	static const struct cvt cvts[] = {
		{ 0, 1, 0 }, { 0, 0x4000, 14 }, { 0, 1, 1 }, { 0, 1, 7 }, { 0, 3, 4 }, { 0, 0x2000, 14 },
		{ 0, 0x2ab0, 15 }, { 5, 0x1000, 15 }, { -128, 1, 8 }, { 127, 1, 8 }, { 0, 0xffff, 16 },
		{ 0, 0x8000, 16 }, { 0, 0x8001, 24 }, { 0, 0xffff, 0 }, { -3, 0, 0 }, { 7, 0xffff, 31 },
		{ 0, 0xffff, 29 }, { INT32_MAX, 0xffff, 0 }, { INT32_MIN, 0xffff, 0 }, { INT32_MAX, 1, 14 },
		{ INT32_MIN, 1, 14 }, { 1, 0xffff, 47 }, { -1, 0xffff, 62 }, { -1, 0xffff, 63 }, { 9, 0xffff, 64 },
		{ -9, 0xffff, 4095 },
	};
	struct seen seen = { 0 };
	struct rig rig;

	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	put_products(&rig, &products);
	rig_map(&rig, C, 256 * 256 * 2);
	for (size_t i = 0; i < sizeof(cvts) / sizeof(cvts[0]); i++)
		for (uint32_t round = 0; round < 2; round++) {
			struct cvt cvt = cvts[i];

			cvt.shift |= round ? HALF_UP : 0;
			ok(run_products(&rig, out, &cvt, &seen), "each product of two int8 to int%u, * %u >> %u%s + %d",
			   8 * rig_bytes(out), cvt.scale, cvts[i].shift, round ? " half up" : "", cvt.offset);
		}
	ok(seen.ties[0] > 1000 && seen.ties[1] > 1000 && seen.low > 1000 && seen.high > 1000,
	   "among them %u and %u ties of either sign, %u and %u saturated results", seen.ties[0], seen.ties[1],
	   seen.low, seen.high);
	rig_fini(&rig);
}

/* What boards gave (ork-driver facts 3.6, and their test of the stage). */
static void test_ties_of_boards(void)
{
	static const struct {
		int sum, result;
	} ties[] = { { 61, 30 }, { 79, 40 }, { -15, -8 }, { 1, 0 } };
	const struct cvt half = { 0, 0x2000, 14 };

	for (size_t i = 0; i < sizeof(ties) / sizeof(ties[0]); i++) {
		struct rig_matmul m = { ORK_PRECISION_INT8, ORK_PRECISION_INT8, 1, 512, 32, A, B, C, 512, 32, false };
		struct rig_program program = rig_matmul_program(&m);
		int8_t a[512] = { ties[i].sum }, b[512 * 32] = { 1 }, c[32];
		bool good;
		struct rig rig;

		rig_init(&rig, 1 << 20, NPU_CACHE_STRICT);
		patch_cvt(&program, &half);
		rig_put(&rig, A, a, sizeof(a));
		rig_put(&rig, B, b, sizeof(b));
		rig_map(&rig, C, sizeof(c));
		rig_put_program(&rig, PROGRAM, &program);
		good = !rig_run(&rig, PROGRAM, RIG_WORDS, 1);
		rig_get(&rig, C, c, sizeof(c));
		ok(good && c[0] == ties[i].result, "%.1f becomes %d", ties[i].sum / 2.0, ties[i].result);
		rig_fini(&rig);
	}
}

/* Sums of 2^28, whose products with the scale have 44 bits. */
static void test_wide_products(void)
{
	static const struct cvt cvts[] = { { 0, 0xffff, 30 }, { 0, 0xffff, 40 }, { 77, 0x8000, 37 }, { 0, 1, 16 } };
	struct rig_matmul m = { ORK_PRECISION_INT8, ORK_PRECISION_INT16, 2, 10240, 32, A, B, C, 10240, 64, false };
	uint8_t *a = rig_alloc(2, m.k), *b = rig_alloc(32, m.k);
	const int64_t sums[2] = { 16384 * (int64_t)m.k, -16256 * (int64_t)m.k };

	memset(a, -128, m.k);
	memset(a + m.k, 127, m.k);
	memset(b, -128, 32 * m.k);
	for (size_t i = 0; i < sizeof(cvts) / sizeof(cvts[0]); i++) {
		struct rig_program program = rig_matmul_program(&m);
		bool good;
		int16_t c[2][32];
		struct rig rig;

		rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
		patch_cvt(&program, &cvts[i]);
		rig_put(&rig, A, a, 2 * m.k);
		rig_put(&rig, B, b, 32 * m.k);
		rig_map(&rig, C, sizeof(c));
		rig_put_program(&rig, PROGRAM, &program);
		good = !rig_run(&rig, PROGRAM, RIG_WORDS, 1);
		rig_get(&rig, C, c, sizeof(c));
		for (uint32_t n = 0; n < 64; n++)
			good &= c[n / 32][n % 32] == requantised(sums[n / 32], &cvts[i], m.out);
		ok(good, "sums of %lld and %lld, * %u >> %u", (long long)sums[0], (long long)sums[1], cvts[i].scale,
		   cvts[i].shift);
		rig_fini(&rig);
	}
	free(a);
	free(b);
}

/* --- hangs ------------------------------------------------------------------------------------ */

struct bad {
	const char *what;
	struct rig_matmul m;
	uint32_t reg, value;
	enum npu_hang hang;
};

/* One register of a good program changed. */
static void run_bad(const struct bad *bad)
{
	struct rig_program program = rig_matmul_program(&bad->m);
	enum npu_hang good, hang;
	struct rig rig;

	rig_init(&rig, 4 << 20, NPU_CACHE_STRICT);
	rig_free_operands(rig_fill(&rig, &bad->m));
	rig_map(&rig, C, rig_extent(bad->m.out, bad->m.ldc, bad->m.m, bad->m.n));
	rig_put_program(&rig, PROGRAM, &program);
	good = rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	rig_patch(&program, bad->reg, bad->value);
	rig_put_program(&rig, PROGRAM, &program);
	rig.rises = 0;
	hang = rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	ok(!good && hang == bad->hang && !rig.rises, "%s hangs (%s, found %s)", bad->what, npu_hang_name(bad->hang),
	   npu_hang_name(hang));
	rig_fini(&rig);
}

static void test_bad_converters(void)
{
#define TO8	{ ORK_PRECISION_INT8, ORK_PRECISION_INT8, 4, 64, 64, A, B, C, 64, 64, false }
#define TO16	{ ORK_PRECISION_INT8, ORK_PRECISION_INT16, 4, 64, 64, A, B, C, 64, 128, false }
#define TO32	{ ORK_PRECISION_INT8, ORK_PRECISION_INT32, 4, 64, 64, A, B, C, 64, 256, false }
	static const struct bad cases[] = {
		{ "an offset before the scale", TO8, 0x4088, 0x80000000, NPU_HANG_UNSUPPORTED },
		{ "an exponent of integers", TO8, 0x4088, 0x1000, NPU_HANG_UNSUPPORTED },
		{ "int8 by way of fp16", TO8, 0x4084, 0x10001, NPU_HANG_UNSUPPORTED },
		{ "int8 output with int16's atoms", TO8, 0x4050, 0x36e, NPU_HANG_UNSUPPORTED },
		{ "int8 output with int32's atoms", TO8, 0x4050, 0x7fc, NPU_HANG_UNSUPPORTED },
		{ "int16 output with int8's atoms", TO16, 0x4050, 0x124, NPU_HANG_UNSUPPORTED },
		{ "a bias before int8", TO8, 0x4040, 0x20150, NPU_HANG_UNSUPPORTED },
		{ "a look-up table before int16", TO16, 0x4070, 0x302, NPU_HANG_UNSUPPORTED },
		{ "int8 to fp16", TO16, 0x4010, 0x40000000, NPU_HANG_UNSUPPORTED },
		{ "int8 to fp32", TO32, 0x4010, 0xa0000000, NPU_HANG_UNSUPPORTED },
		{ "int8 to int4", TO8, 0x4010, 0xc0000000, NPU_HANG_UNSUPPORTED },
		{ "an offset of int32", TO32, 0x4080, 1, NPU_HANG_UNSUPPORTED },
		{ "a scale of int32", TO32, 0x4084, 2, NPU_HANG_UNSUPPORTED },
		{ "a shift of int32", TO32, 0x4088, 1, NPU_HANG_UNSUPPORTED },
		{ "another rounding of int32", TO32, 0x4088, HALF_UP, NPU_HANG_UNSUPPORTED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_bad(&cases[i]);
}

int main(void)
{
	for (int i = 0; i < 40; i++)
		test_random_requantised(i % 2 ? ORK_PRECISION_INT16 : ORK_PRECISION_INT8);
	test_every_sum(ORK_PRECISION_INT8);
	test_every_sum(ORK_PRECISION_INT16);
	test_ties_of_boards();
	test_wide_products();
	test_bad_converters();
	return test_result();
}

/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic, addresses and what the cache does to them: random products and convolutions against
 * their formulas.
 */
#include "rig.h"
#include "../half.h"

#define PROGRAM		0x00400000u
#define A		0x10000000u
#define B		0x20000000u
#define C		0x30000000u

/* --- half precision --------------------------------------------------------------------------- */

static void test_half_to_float(void)
{
	bool good = true;

	for (uint32_t half = 0; half < 0x10000; half++) {
		float value = npu_half_to_float(half);
		double infinity = 1 / 0.0;

		if ((half & 0x7fff) > 0x7c00)
			good &= value != value;
		else if ((half & 0x7fff) == 0x7c00)
			good &= value == (half & 0x8000 ? -infinity : infinity);
		else
			good &= value == rig_half(half) && !(npu_float_bits(value) >> 31) == !(half & 0x8000);
	}
	ok(good, "each of the 65,536 halves converts to its value");
}

static uint16_t from_double(double value)
{
	return npu_half_from_bits(npu_float_bits(value));
}

/* Between each half and the next: the middle goes to the even one, what is just beside it to the nearer. */
static void test_half_rounding(void)
{
	bool good = true;

	for (uint32_t half = 0; half < 0x7c00; half++) {
		/* Above the largest half lies what would be the next: it is infinity. */
		double low = rig_half(half), high = half == 0x7bff ? 65536 : rig_half(half + 1);
		uint32_t middle = npu_float_bits((low + high) / 2);

		good &= from_double(low) == half && from_double(-low) == (half | 0x8000);
		good &= npu_half_from_bits(middle) == half + (half & 1);
		good &= npu_half_from_bits(middle - 1) == half && npu_half_from_bits(middle + 1) == half + 1;
	}
	good &= npu_half_from_bits(0x7f800000) == 0x7c00 && npu_half_from_bits(0xff800000) == 0xfc00;
	good &= npu_half_from_bits(0x7f800001) == NPU_HALF_NAN && npu_half_from_bits(0xffffffff) == NPU_HALF_NAN;
	ok(good, "floats round to the nearest half, ties to even");
}

/* --- nothing else is written ------------------------------------------------------------------ */

/* All of RAM random, and in DRAM. */
static void scatter(struct rig *rig)
{
	for (uint64_t i = 0; i < rig->size; i++)
		rig->ram[i] = rig_random();
}

static void everything(struct rig *rig, void (*op)(struct npu_cache *cache, uint64_t pa))
{
	for (uint64_t at = 0; at < rig->size; at += NPU_LINE_BYTES)
		op(rig->cache, RIG_BASE + at);
}

static uint8_t *snapshot(struct rig *rig)
{
	uint8_t *copy = rig_alloc(rig->size, 1);

	everything(rig, npu_cache_clean);
	memcpy(copy, rig->ram, rig->size);
	return copy;
}

/* Puts what an element of C held before back into RAM, so that RAM must then be as it was. */
static void undo(struct rig *rig, const struct rig_matmul *m, const uint8_t *before)
{
	for (uint32_t i = 0; i < m->m; i++)
		for (uint32_t n = 0; n < m->n; n++) {
			size_t index = rig_index(m->out, m->ldc, m->m, i, n);
			uint64_t at = rig_pa(rig, m->c + rig_bytes(m->out) * index) - RIG_BASE;

			memcpy(rig->ram + at, before + at, rig_bytes(m->out));
		}
}

/* --- random products -------------------------------------------------------------------------- */

static void rig_init_scattered(struct rig *rig)
{
	rig_init(rig, 2 << 20, NPU_CACHE_STRICT);
	rig->low = RIG_BASE;
	scatter(rig);
	everything(rig, npu_cache_clean);
	rig->directory = rig_ram(rig, rig_table(rig));
	rig_enable_iommu(rig);
}

static void random_shape(struct rig_matmul *m)
{
	static const struct {
		uint32_t in, out;
	} types[] = {
		{ ORK_PRECISION_FP16, ORK_PRECISION_FP32 },
		{ ORK_PRECISION_FP16, ORK_PRECISION_FP16 },
		{ ORK_PRECISION_INT8, ORK_PRECISION_INT32 },
	};
	uint32_t type = rig_random() % 3, tile = types[type].in == ORK_PRECISION_INT8 ? 32 : 16;

	*m = (struct rig_matmul) {
		.in = types[type].in,
		.out = types[type].out,
		.m = 1 + rig_random() % 75,
		.k = 32 * (1 + rig_random() % 6),
		.n = tile * (1 + rig_random() % 5),
		.a = A + 16 * (rig_random() % 300),
		.b = B + 16 * (rig_random() % 300),
		.c = C + 16 * (rig_random() % 300),
		.wide = rig_random() % 2,
	};
	if (!m->wide && rig_random() % 2)
		m->lda = m->k * rig_bytes(m->in) + 16 * (rig_random() % 9);
	if (!m->wide && rig_random() % 2)
		m->ldc = m->n * rig_bytes(m->out) + 16 * (rig_random() % 9);
}

static const char *layout(uint32_t stride, bool wide)
{
	return stride ? "row-major" : wide ? "surfaces of one line" : "surfaces";
}

static void test_random_product(void)
{
	static const char *const names[] = { "int8", "int16", "fp16", "bf16", "int32", "fp32" };
	struct rig_program program;
	struct rig_operands op;
	struct rig_matmul m;
	enum npu_hang hang;
	uint8_t *before;
	bool product, alone;
	struct rig rig;

	rig_init_scattered(&rig);
	random_shape(&m);
	op = rig_fill(&rig, &m);
	rig_map(&rig, m.c, rig_extent(m.out, m.ldc, m.m, m.n));
	program = rig_matmul_program(&m);
	rig_put_program(&rig, PROGRAM, &program);
	before = snapshot(&rig);
	hang = rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	everything(&rig, npu_cache_invalidate);
	product = rig_product(&rig, &m, op);
	undo(&rig, &m, before);
	alone = !memcmp(rig.ram, before, rig.size);
	ok(!hang && product && alone,
	   "%s %u x %u x %u to %s, A in %s (%u), C in %s (%u): the product, and nothing else", names[m.in], m.m, m.k,
	   m.n, names[m.out], layout(m.lda, m.wide), m.lda, layout(m.ldc, m.wide), m.ldc);
	free(before);
	rig_free_operands(op);
	rig_fini(&rig);
}

/* --- order of additions ----------------------------------------------------------------------- */

/* Products whose sizes differ widely, so that each order of additions gives another sum. */
static uint16_t wild_half(void)
{
	return (rig_random() & 0x83ff) | (rig_random() % 30 + 1) << 10;
}

#define ORDER_K	256u

static void test_order(void)
{
	struct rig_matmul m = {
		ORK_PRECISION_FP16, ORK_PRECISION_FP32, 5, ORDER_K, 16, A, B, C, ORDER_K * 2, 64, false,
	};
	uint16_t a[5][ORDER_K], b[16][ORDER_K], packed[16 * ORDER_K];
	struct rig_program program = rig_matmul_program(&m);
	float c[5][16];
	bool good = true;
	struct rig rig;

	for (uint32_t k = 0; k < ORDER_K; k++) {
		for (uint32_t i = 0; i < 5; i++)
			a[i][k] = wild_half();
		for (uint32_t n = 0; n < 16; n++)
			packed[rig_weight_index(&m, n, k)] = b[n][k] = wild_half();
	}
	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	rig_put(&rig, A, a, sizeof(a));
	rig_put(&rig, B, packed, sizeof(packed));
	rig_put_program(&rig, PROGRAM, &program);
	rig_map(&rig, C, sizeof(c));
	good &= !rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	rig_get(&rig, C, c, sizeof(c));
	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t n = 0; n < 16; n++) {
			volatile float sum = 0, part = 0;

			for (uint32_t k = 0; k < ORDER_K; k++) {
				part = part + (float)(rig_half(a[i][k]) * rig_half(b[n][k]));
				if (k % 32 == 31) {
					sum = sum + part;
					part = 0;
				}
			}
			good &= c[i][n] == sum;
		}
	ok(good, "32 channels are summed in ascending order, then added, rounded each time");
	rig_fini(&rig);
}

/* Both outputs of one product, of columns cut into three programs and rows into two, in place. */
static void test_split(void)
{
	struct rig_matmul m = { ORK_PRECISION_FP16, ORK_PRECISION_FP32, 70, 96, 80, A, B, C, 192, 320, false };
	const uint32_t columns[] = { 0, 16, 64, 80 }, rows[] = { 0, 41, 70 }, len = 70 * 320;
	uint8_t *one = rig_alloc(len, 1), *parts = rig_alloc(len, 1);
	struct rig_program program = rig_matmul_program(&m);
	struct rig_operands op;
	bool good = true;
	struct rig rig;

	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	op = rig_fill(&rig, &m);
	rig_put_program(&rig, PROGRAM, &program);
	rig_map(&rig, C, len);
	good &= !rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	rig_get(&rig, C, one, len);
	rig_put(&rig, C, parts, len);
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t j = 0; j < 3; j++) {
			struct rig_matmul part = m;

			part.m = rows[i + 1] - rows[i];
			part.n = columns[j + 1] - columns[j];
			part.a += rows[i] * m.lda;
			part.b += columns[j] * m.k * 2;
			part.c += rows[i] * m.ldc + columns[j] * 4;
			program = rig_matmul_program(&part);
			rig_put_program(&rig, PROGRAM, &program);
			good &= !rig_run(&rig, PROGRAM, RIG_WORDS, 1);
		}
	rig_get(&rig, C, parts, len);
	ok(good && !memcmp(one, parts, len), "a product in parts is the whole one bit for bit");
	free(one);
	free(parts);
	rig_free_operands(op);
	rig_fini(&rig);
}

/* --- special values --------------------------------------------------------------------------- */

#define INFINITY_HALF	0x7c00

/* One row by 16 kernels of which only two channels count. */
static void test_special_values(void)
{
	static const struct {
		uint16_t a[2], b[2];
		uint32_t single;
		uint16_t half;
	} cases[] = {
		{ { 0x3c00, 0 }, { 0x3c00, 0 }, 0x3f800000, 0x3c00 },			/* 1 */
		{ { 0x8000, 0 }, { 0x3c00, 0 }, 0, 0 },					/* -0 + 0 */
		{ { INFINITY_HALF, 0 }, { 0x3c00, 0 }, 0x7f800000, 0x7c00 },
		{ { INFINITY_HALF, 0 }, { 0xbc00, 0 }, 0xff800000, 0xfc00 },
		{ { INFINITY_HALF, 0 }, { 0, 0 }, 0x7fc00000, 0x7e00 },
		{ { INFINITY_HALF, INFINITY_HALF }, { 0x3c00, 0xbc00 }, 0x7fc00000, 0x7e00 },
		{ { 0xfe01, 0 }, { 0x3c00, 0 }, 0x7fc00000, 0x7e00 },
		{ { 0x0001, 0 }, { 0x3c00, 0 }, 0x33800000, 0x0001 },			/* 2^-24 */
		{ { 0x0001, 0 }, { 0x0001, 0 }, 0x27800000, 0x0000 },			/* 2^-48 */
		{ { 0x7bff, 0 }, { 0x7bff, 0 }, 0x4f7fc004, 0x7c00 },			/* 65504^2 */
		{ { 0x7bff, 0x4c00 }, { 0x3c00, 0x3c00 }, 0x477ff000, 0x7c00 },		/* 65504 + 16: a tie */
		{ { 0x7bff, 0x4b00 }, { 0x3c00, 0x3c00 }, 0x477fee00, 0x7bff },		/* 65504 + 14 */
	};
	struct rig_matmul m = { ORK_PRECISION_FP16, ORK_PRECISION_FP32, 1, 32, 16, A, B, C, 64, 64, false };
	bool good = true;
	struct rig rig;

	rig_init(&rig, 2 << 20, NPU_CACHE_STRICT);
	rig_map(&rig, C, 64);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint16_t a[32] = { cases[i].a[0], cases[i].a[1] }, b[512] = { cases[i].b[0], cases[i].b[1] }, half;
		struct rig_program program;
		uint32_t single;

		rig_put(&rig, A, a, sizeof(a));
		rig_put(&rig, B, b, sizeof(b));
		m.out = ORK_PRECISION_FP32;
		program = rig_matmul_program(&m);
		rig_put_program(&rig, PROGRAM, &program);
		good &= !rig_run(&rig, PROGRAM, RIG_WORDS, 1);
		rig_get(&rig, C, &single, sizeof(single));
		m.out = ORK_PRECISION_FP16;
		program = rig_matmul_program(&m);
		rig_put_program(&rig, PROGRAM, &program);
		good &= !rig_run(&rig, PROGRAM, RIG_WORDS, 1);
		rig_get(&rig, C, &half, sizeof(half));
		good &= single == cases[i].single && half == cases[i].half;
	}
	ok(good, "zeros, subnormals, infinities and NaNs");
	rig_fini(&rig);
}

/* --- convolutions ----------------------------------------------------------------------------- */

struct shape {
	uint32_t in, out, channels, width, height, kernels, kernel_width, kernel_height;
	uint32_t stride_x, stride_y, left, top, out_width, out_height;
	bool grouped;		/* lines */
};

static struct shape random_convolution(void)
{
	struct shape s = {
		.in = rig_random() % 2 ? ORK_PRECISION_FP16 : ORK_PRECISION_INT8,
		.channels = 32 * (1 + rig_random() % 3),
		.width = 3 + rig_random() % 9,
		.height = 3 + rig_random() % 9,
		.kernels = 32 * (1 + rig_random() % 2),
		.kernel_width = 1 + rig_random() % 3,
		.kernel_height = 1 + rig_random() % 3,
		.stride_x = 1 + rig_random() % 3,
		.stride_y = 1 + rig_random() % 3,
		.grouped = rig_random() % 2,
	};

	s.out = s.in == ORK_PRECISION_INT8 ? ORK_PRECISION_INT32 : ORK_PRECISION_FP32;
	s.left = rig_random() % s.kernel_width;
	s.top = rig_random() % s.kernel_height;
	/* As much padding right and below. */
	s.out_width = (s.width + 2 * s.left - s.kernel_width) / s.stride_x + 1;
	s.out_height = (s.height + 2 * s.top - s.kernel_height) / s.stride_y + 1;
	return s;
}

static struct rig_program convolution_program(const struct shape *s)
{
	struct rig_matmul m = { s->in, s->out, s->height * s->width, s->channels, s->kernels, A, B, C, 0, 0, false };
	struct rig_program p = rig_matmul_program(&m);
	uint32_t bytes = s->channels * s->kernel_width * s->kernel_height * rig_bytes(s->in);
	uint32_t area = s->out_width * s->out_height;
	uint32_t size = (s->out_height - 1) << 16 | (s->out_width - 1), tile = s->in == ORK_PRECISION_INT8 ? 32 : 16;

	rig_patch(&p, 0x100c, s->in << 7 | s->in << 4 | !s->grouped << 29);
	rig_patch(&p, 0x1014, s->stride_y << 3 | s->stride_x);
	rig_patch(&p, 0x1020, s->width << 16 | s->height);
	rig_patch(&p, 0x1084, s->width << 16 | s->height);
	rig_patch(&p, 0x1028, s->out_width);
	rig_patch(&p, 0x102c, area);
	rig_patch(&p, 0x1030, bytes * s->kernels);
	rig_patch(&p, 0x1034, bytes);
	rig_patch(&p, 0x1038, s->kernel_width << 24 | s->kernel_height << 16 | s->kernels);
	rig_patch(&p, 0x1040, 0x66);
	rig_patch(&p, 0x1044, (s->width * s->channels * rig_bytes(s->in) + 63) / 64);
	rig_patch(&p, 0x1068, s->left << 4 | s->top);
	/* The same surfaces, addressed in both ways. */
	rig_patch(&p, 0x107c, s->grouped ? 4 * s->width : s->width);
	rig_patch(&p, 0x1080, (s->width * s->height - (s->grouped ? 4 : 1) * s->width) & 0x0fffffff);
	rig_patch(&p, 0x3014, size);
	rig_patch(&p, 0x405c, size);
	rig_patch(&p, 0x4024, area * 16);
	rig_patch(&p, 0x4030, s->out_width - 1);
	rig_patch(&p, 0x4034, s->out_height - 1);
	rig_patch(&p, 0x40c0, area * 16 * (tile / 4));
	return p;
}

/*
 * Weights of a convolution lie as those of a product whose channels are (channel tile, y, x,
 * channel of the tile).
 */
static uint32_t position(const struct shape *s, uint32_t channel, uint32_t y, uint32_t x)
{
	return ((channel / 32 * s->kernel_height + y) * s->kernel_width + x) * 32 + channel % 32;
}

static bool point(const struct shape *s, struct rig_operands op, uint32_t kernel, uint32_t pixel, double got)
{
	uint32_t depth = s->channels * s->kernel_width * s->kernel_height;
	int x0 = pixel % s->out_width * s->stride_x, y0 = pixel / s->out_width * s->stride_y;
	double want = 0, magnitude = 0;

	for (uint32_t y = 0; y < s->kernel_height; y++)
		for (uint32_t x = 0; x < s->kernel_width; x++)
			for (uint32_t channel = 0; channel < s->channels; channel++) {
				int ix = x0 + (int)x - (int)s->left, iy = y0 + (int)y - (int)s->top;
				bool inside = ix >= 0 && iy >= 0 && ix < (int)s->width && iy < (int)s->height;
				double a = inside ? op.a[(iy * s->width + ix) * s->channels + channel] : 0;
				double b = op.b[kernel * depth + position(s, channel, y, x)];

				want += a * b;
				magnitude += a * b > 0 ? a * b : -a * b;
			}
	return rig_close(s->out, got, want, magnitude, depth);
}

static void test_random_convolution(void)
{
	struct shape s = random_convolution();
	uint32_t area = s.out_width * s.out_height, depth = s.channels * s.kernel_width * s.kernel_height;
	struct rig_matmul input = {
		.in = s.in, .m = s.width * s.height, .k = s.channels, .n = s.kernels, .a = A, .b = B,
	};
	struct rig_matmul weights = { .in = s.in, .m = 1, .k = depth, .n = s.kernels, .a = 0x40000000, .b = B };
	struct rig_program program = convolution_program(&s);
	uint8_t *c = rig_alloc(area * s.kernels, 4);
	struct rig_operands features, kernels;
	enum npu_hang hang;
	bool good = true;
	struct rig rig;

	rig_init(&rig, 4 << 20, NPU_CACHE_STRICT);
	features = rig_fill(&rig, &input);
	kernels = rig_fill(&rig, &weights);
	rig_put_program(&rig, PROGRAM, &program);
	rig_put(&rig, C, c, area * s.kernels * 4);
	hang = rig_run(&rig, PROGRAM, RIG_WORDS, 1);
	rig_get(&rig, C, c, area * s.kernels * 4);
	for (uint32_t kernel = 0; kernel < s.kernels; kernel++)
		for (uint32_t pixel = 0; pixel < area; pixel++)
			good &= point(&s, (struct rig_operands) { features.a, kernels.b }, kernel, pixel,
				      rig_value(s.out, c + 4 * rig_index(s.out, 0, area, pixel, kernel)));
	ok(!hang && good,
	   "%s %u x %u x %u, %u kernels of %u x %u, strides %u %u, padding %u %u, lines %s: the convolution",
	   s.in ? "fp16" : "int8", s.channels, s.height, s.width, s.kernels, s.kernel_height, s.kernel_width,
	   s.stride_y, s.stride_x, s.top, s.left, s.grouped ? "in fours" : "single");
	free(c);
	rig_free_operands(features);
	rig_free_operands(kernels);
	rig_fini(&rig);
}

/* --- stale activations and their window ------------------------------------------------------- */

/* Three rows of 64 bytes, 256 apart: 576 bytes of activations with gaps, and a window of one bank. */
static const struct rig_matmul windowed = {
	ORK_PRECISION_FP16, ORK_PRECISION_FP32, 3, 32, 16, A + 0x40, B, C, 256, 64, false,
};

enum outcome {
	RIGHT, INVERTED, OTHER,
};

/* Runs the product, with the byte at @iova changed by the CPU and not cleaned. */
static enum outcome run_windowed(enum npu_cache_mode mode, enum npu_window_mode window, uint32_t iova,
				 struct npu_report *report)
{
	struct rig_program program = rig_matmul_program(&windowed);
	uint32_t c[48], flipped[48];
	struct rig_operands op;
	bool right, inverted;
	uint8_t byte;
	struct rig rig;

	rig_init(&rig, 2 << 20, mode);
	npu_core_set_window(rig.core, window);
	rig_map(&rig, A, 2 * ORK_CBUF_BANK_BYTES);
	/* Not mapped: one page in the second half of the bank. */
	*rig_entry(&rig, A + 0x5000) = 0;
	rig_clean(&rig, rig_entry(&rig, A + 0x5000), 4);
	op = rig_fill(&rig, &windowed);
	rig_put_program(&rig, PROGRAM, &program);
	rig_map(&rig, C, sizeof(c));
	byte = *(uint8_t *)rig_ram(&rig, rig_pa(&rig, iova)) ^ 1;
	rig_store(&rig, iova, &byte, 1);
	if (rig_run(&rig, PROGRAM, RIG_WORDS, 1))
		return OTHER;
	npu_cache_report(rig.cache, report);
	right = rig_product(&rig, &windowed, op);
	rig_get(&rig, C, c, sizeof(c));
	for (size_t i = 0; i < 48; i++)
		flipped[i] = ~c[i];
	rig_put(&rig, C, flipped, sizeof(flipped));
	inverted = rig_product(&rig, &windowed, op);
	rig_free_operands(op);
	rig_fini(&rig);
	return right ? RIGHT : inverted ? INVERTED : OTHER;
}

static void test_window(void)
{
	static const struct {
		const char *what;
		uint32_t iova;
		enum outcome spoil;
		unsigned int features, window;
	} cases[] = {
		{ "a stale activation", A + 0x40, INVERTED, 1, 0 },
		{ "the last stale activation", A + 0x40 + 2 * 256 + 63, INVERTED, 1, 0 },
		{ "a stale byte in a gap between rows", A + 0x40 + 64, INVERTED, 0, 1 },
		{ "a stale byte behind the activations, in the bank", A + 0x40 + 0x3000, INVERTED, 0, 1 },
		{ "a stale byte before the activations", A + 0x3f, RIGHT, 0, 0 },
		{ "a stale byte behind a page that is not mapped", A + 0x6000, RIGHT, 0, 0 },
	};
	struct npu_report report;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum outcome outcome = run_windowed(NPU_CACHE_STRICT, NPU_WINDOW_SPOIL, cases[i].iova, &report);

		ok(outcome == cases[i].spoil && report.stale_by_block[NPU_BLOCK_FEATURE] == cases[i].features &&
		   report.stale_by_block[NPU_BLOCK_WINDOW] == cases[i].window, "%s %s", cases[i].what,
		   cases[i].spoil == INVERTED ? "inverts the result" : "does no harm");
		outcome = run_windowed(NPU_CACHE_STRICT, NPU_WINDOW_REPORT, cases[i].iova, &report);
		ok(outcome == RIGHT && report.stale_reads == cases[i].features + cases[i].window,
		   "%s is only reported if so told", cases[i].what);
	}
	ok(run_windowed(NPU_CACHE_COHERENT, NPU_WINDOW_SPOIL, A + 0x40 + 64, &report) == RIGHT,
	   "nothing is stale on a coherent system");
}

/* The window goes on from where the activations begin, to a multiple of a bank, and ends there. */
static void test_window_end(void)
{
	struct rig_matmul m = { ORK_PRECISION_FP16, ORK_PRECISION_FP32, 20, 1024, 16, A + 0x50, B, C, 2048, 64, false };
	struct rig_program program = rig_matmul_program(&m);
	const uint32_t ends[] = { m.a + 2 * ORK_CBUF_BANK_BYTES - 1, m.a + 2 * ORK_CBUF_BANK_BYTES };
	struct rig_operands op;
	bool right[2];
	struct rig rig;

	for (int i = 0; i < 2; i++) {
		rig_init(&rig, 4 << 20, NPU_CACHE_STRICT);
		rig_map(&rig, A, 4 * ORK_CBUF_BANK_BYTES);
		op = rig_fill(&rig, &m);
		rig_put_program(&rig, PROGRAM, &program);
		rig_map(&rig, C, 20 * 64);
		rig_store(&rig, ends[i], "\xff", 1);
		right[i] = !rig_run(&rig, PROGRAM, RIG_WORDS, 1) && rig_product(&rig, &m, op);
		rig_free_operands(op);
		rig_fini(&rig);
	}
	ok(!right[0], "40,960 bytes of activations have a window of two banks");
	ok(right[1], "that ends with its last byte");
}

int main(void)
{
	test_half_to_float();
	test_half_rounding();
	for (int i = 0; i < 60; i++)
		test_random_product();
	test_order();
	test_split();
	test_special_values();
	for (int i = 0; i < 30; i++)
		test_random_convolution();
	test_window();
	test_window_end();
	return test_result();
}

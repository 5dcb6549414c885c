/* SPDX-License-Identifier: MIT */
/*
 * Random convolutions, against sums taken from the formula over tensors that know no layout. Two
 * kinds of programs: plain ones, as the known ones of matrix products are but for kernels, strides
 * and padding; and those of Mesa's rocket driver, with everything that quantised networks need.
 *
 * Programs and layouts follow the public documents, and share nothing with the model but register
 * names.
 */
#include <math.h>

#include "mesa.h"

#define FEATURE		0x10000000u
#define WEIGHTS		0x20000000u
#define BIAS		0x28000000u
#define OPERAND		0x2c000000u
#define OUTPUT		0x30000000u
/* Around the output, so that a write beside it is seen. */
#define GUARD		4096u
/* What a case may cost: the reference is slow on purpose, it is the formula and nothing else. */
#define MAX_MACS	3000000u

/* --- cases ------------------------------------------------------------------------------------ */

/* Of a class: how many cases there were and what was wrong with the first that failed. */
struct outcome {
	unsigned int cases, failures;
	char what[256], wrong[256];
};

__attribute__((format(printf, 2, 3))) static bool fail(struct outcome *o, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(o->wrong, sizeof(o->wrong), format, args);
	va_end(args);
	return false;
}

/*
 * A new one takes longer than a case, and an old one has registers and memory of other cases, which
 * must not matter; but beside their tensors all its pages are mapped at last.
 */
#define CASES_OF_A_RIG	10u

/* @one draws a case, names it in @what, and runs it. */
static void run_class(const char *name, unsigned int count, bool (*one)(struct outcome *o, struct rig *rig))
{
	struct outcome o = { 0 }, first = { 0 };
	struct rig rig;

	for (; o.cases < count; o.cases++) {
		if (o.cases % CASES_OF_A_RIG == 0)
			rig_init(&rig, 32 << 20, NPU_CACHE_STRICT);
		rig.rises = rig.programs = 0;
		if (!one(&o, &rig) && !o.failures++)
			first = o;
		if (o.cases % CASES_OF_A_RIG == CASES_OF_A_RIG - 1 || o.cases == count - 1)
			rig_fini(&rig);
	}
	if (o.failures)
		printf("# %u of %u fail, first case %u, %s: %s\n", o.failures, count, first.cases, first.what,
		       first.wrong);
	ok(!o.failures, "%u %s", count, name);
}

static uint32_t up_to(uint32_t limit)
{
	return 1 + rig_random() % limit;
}

/* 1..64, small ones oftener. */
static uint32_t random_size(void)
{
	return up_to(1u << (1 + rig_random() % 6));
}

/* --- geometry --------------------------------------------------------------------------------- */

/* Along one axis, as TFLite has it: "same" makes as many outputs as strides fit the input. */
static bool place(uint32_t in, uint32_t kernel, uint32_t stride, bool same, uint32_t *pad, uint32_t *out)
{
	uint32_t reach;

	*pad = 0;
	if (!same) {
		*out = in < kernel ? 0 : (in - kernel) / stride + 1;
		return *out;
	}
	*out = ceiled(in, stride);
	reach = (*out - 1) * stride + kernel;
	*pad = reach > in ? (reach - in) / 2 : 0;
	return true;
}

static bool place_both(struct geometry *g, bool same)
{
	return place(g->h, g->kh, g->stride_y, same, &g->pad_top, &g->oh) &&
	       place(g->w, g->kw, g->stride_x, same, &g->pad_left, &g->ow);
}

static uint64_t macs(const struct geometry *g)
{
	return (uint64_t)g->oh * g->ow * g->kernels * g->kh * g->kw * (g->depthwise ? 1 : g->c);
}

/* Where output @o's tap @k lies in the input; false if in its padding. */
static bool lands(uint32_t o, uint32_t stride, uint32_t pad, uint32_t k, uint32_t in, uint32_t *at)
{
	int64_t position = (int64_t)o * stride + k - pad;

	*at = (uint32_t)position;
	return position >= 0 && position < in;
}

static void describe(struct outcome *o, const struct geometry *g, const char *more)
{
	snprintf(o->what, sizeof(o->what), "%ux%ux%u by %u%s of %ux%u, strides %u %u, padding %u %u, to %ux%u%s", g->h,
		 g->w, g->c, g->kernels, g->depthwise ? " depthwise" : "", g->kh, g->kw, g->stride_y, g->stride_x,
		 g->pad_top, g->pad_left, g->oh, g->ow, more);
}

/* --- requantisation --------------------------------------------------------------------------- */

/* @value / 2^@shift to nearest; a tie carries if the integer part is odd, or always. */
static int64_t nearest(int64_t value, uint32_t shift, bool half_up)
{
	int64_t divisor = INT64_C(1) << shift, whole = value / divisor, rest = value % divisor;

	if (rest < 0) {
		whole--;
		rest += divisor;
	}
	if (2 * rest != divisor)
		return whole + (2 * rest > divisor);
	return whole + (half_up || whole % 2);
}

static int64_t saturated(int64_t value, unsigned int bits)
{
	int64_t limit = INT64_C(1) << (bits - 1);

	return value < -limit ? -limit : value >= limit ? limit - 1 : value;
}

static int64_t converted(const struct converter *cvt, int64_t value, unsigned int bits)
{
	return saturated(nearest(value * cvt->scale, cvt->shift, cvt->half_up) + cvt->offset, bits);
}

/* --- output in memory ------------------------------------------------------------------------- */

/* Memory around an output, as it was before the run. */
struct canvas {
	uint32_t iova;
	size_t len;
	uint8_t *before, *after;
};

static struct canvas put_canvas(struct rig *rig, uint32_t output, size_t len)
{
	struct canvas c = { output - GUARD, len + 2 * GUARD, rig_alloc(len + 2 * GUARD, 1), NULL };

	c.after = rig_alloc(c.len, 1);
	for (size_t i = 0; i < c.len; i++)
		c.before[i] = rig_random();
	rig_put(rig, c.iova, c.before, c.len);
	return c;
}

static uint8_t *canvas_at(struct canvas *c, size_t offset)
{
	return c->after + GUARD + offset;
}

/* What was looked at counts as unchanged from then on. */
static void forgive(struct canvas *c, size_t offset, size_t len)
{
	memcpy(c->after + GUARD + offset, c->before + GUARD + offset, len);
}

static bool rest_is_untouched(struct outcome *o, const struct canvas *c)
{
	for (size_t i = 0; i < c->len; i++)
		if (c->after[i] != c->before[i])
			return fail(o, "byte %lld of the output's memory was 0x%02x, is 0x%02x", (long long)i - GUARD,
				    c->before[i], c->after[i]);
	return true;
}

static void free_canvas(struct canvas *c)
{
	free(c->before);
	free(c->after);
}

/* --- plain convolutions ----------------------------------------------------------------------- */

struct plain {
	struct geometry g;
	uint32_t in, out;			/* precisions */
	uint32_t feature, weights, output;	/* IOVAs */
	/* In atoms: */
	uint32_t line, plane;			/* of the input; lines are apart only without line groups */
	uint32_t notch, surface;		/* of the output */
	bool groups;
	struct converter cvt;
	double *input, *kernels;		/* [y][x][channel] and [kernel][y][x][channel] */
};

static size_t plain_feature_at(const struct plain *p, uint32_t y, uint32_t x, uint32_t c)
{
	uint32_t atom = rig_atom(p->in);

	return 16 * ((size_t)c / atom * p->plane + (size_t)y * p->line + x) + c % atom * rig_bytes(p->in);
}

/* [kernel / group][channel / 32][y][x][kernel % group][channel % 32] */
static size_t plain_weight_at(const struct plain *p, uint32_t kernel, uint32_t ky, uint32_t kx, uint32_t c)
{
	const struct geometry *g = &p->g;
	uint32_t group = rig_kernels(p->in);
	size_t tile = ((size_t)kernel / group * (g->c / 32) + c / 32) * g->kh * g->kw + ky * g->kw + kx;

	return ((tile * group + kernel % group) * 32 + c % 32) * rig_bytes(p->in);
}

static size_t plain_output_at(const struct plain *p, uint32_t y, uint32_t x, uint32_t kernel)
{
	uint32_t atom = rig_atom(p->out), pixels = y * (p->g.ow + p->notch) + x;

	return 16 * ((size_t)kernel / atom * p->surface + pixels) + kernel % atom * rig_bytes(p->out);
}

static uint32_t plain_entries(const struct plain *p)
{
	return ceiled(p->g.w * p->g.c * rig_bytes(p->in), 64);
}

static uint32_t plain_banks(const struct plain *p)
{
	return ceiled(p->g.h * plain_entries(p) * 64, 32768);
}

static uint32_t plain_kernel_bytes(const struct plain *p)
{
	return p->g.kh * p->g.kw * p->g.c * rig_bytes(p->in);
}

static void plain_cna(struct rig_program *w, const struct plain *p)
{
	const struct geometry *g = &p->g;
	uint32_t surface = p->plane - (p->groups ? 4 * g->w : g->w);

	rig_word(w, ORK_TARGET_CNA, ORK_CNA_CONV_CON1, p->in << 7 | p->in << 4 | (p->groups ? 0 : 1u << 29));
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_CONV_CON2, (g->kh + g->stride_y + 1) << 4);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_CONV_CON3, g->stride_y << 3 | g->stride_x);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_DATA_SIZE0, g->w << 16 | g->h);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_DATA_SIZE1, (g->c - 1) << 16 | g->c);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_DATA_SIZE2, g->ow);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_DATA_SIZE3, g->ow * g->oh);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_WEIGHT_SIZE0, plain_kernel_bytes(p) * g->kernels);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_WEIGHT_SIZE1, plain_kernel_bytes(p));
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_WEIGHT_SIZE2, g->kw << 24 | g->kh << 16 | g->kernels);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_CBUF_CON0, (12 - plain_banks(p)) << 4 | plain_banks(p));
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_CBUF_CON1, plain_entries(p));
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_CVT_CON0, 0xb);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_PAD_CON0, g->pad_left << 4 | g->pad_top);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_FEATURE_DATA_ADDR, p->feature);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_DMA_CON1, p->groups ? 4 * g->w : p->line);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_DMA_CON2, surface & 0x0fffffff);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_FC_DATA_SIZE0, g->w << 16 | g->h);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_FC_DATA_SIZE1, g->c);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_DCOMP_ADDR0, p->weights);
	rig_word(w, ORK_TARGET_CNA, ORK_CNA_PAD_CON1, 0);
}

static void plain_dpu(struct rig_program *w, const struct plain *p)
{
	const struct geometry *g = &p->g;
	uint32_t atoms = rig_kernels(p->in) * rig_bytes(p->out) / 16;
	uint32_t size = (g->oh - 1) << 16 | (g->ow - 1);

	rig_word(w, ORK_TARGET_CORE, ORK_CORE_MISC_CFG, p->in << 8 | 1);
	rig_word(w, ORK_TARGET_CORE, ORK_CORE_DATAOUT_SIZE_0, size);
	rig_word(w, ORK_TARGET_CORE, ORK_CORE_DATAOUT_SIZE_1, g->kernels - 1);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_S_POINTER, 0xe);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_FEATURE_MODE_CFG, 0x1e4);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_DATA_FORMAT, p->out << 29 | p->in << 26 | p->in);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_DST_BASE_ADDR, p->output);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_DST_SURF_STRIDE, p->surface << 4);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_DATA_CUBE_WIDTH, g->ow - 1);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_DATA_CUBE_HEIGHT, g->oh - 1);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_DATA_CUBE_NOTCH_ADDR, p->notch << 16 | p->notch);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_DATA_CUBE_CHANNEL, (g->kernels - 1) << 16 | (g->kernels - 1));
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_BS_CFG, 0x53);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_BS_OW_CFG, (atoms - 1) * 0x124 | 2);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_WDMA_SIZE_0, g->kernels - 1);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_WDMA_SIZE_1, size);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_BN_CFG, 0x53);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_EW_CFG, 0x383);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_OUT_CVT_OFFSET, (uint32_t)p->cvt.offset);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_OUT_CVT_SCALE,
		 p->cvt.scale | (p->out == ORK_PRECISION_FP16 ? 0x10000 : 0));
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_OUT_CVT_SHIFT, p->cvt.shift | (uint32_t)p->cvt.half_up << 30);
	rig_word(w, ORK_TARGET_DPU, ORK_DPU_SURFACE_ADD, (atoms * p->surface) << 4);
}

static void put_plain(struct rig *rig, struct plain *p)
{
	const struct geometry *g = &p->g;
	size_t len = 16 * (size_t)p->plane * g->c / rig_atom(p->in), i = 0;
	uint8_t *raw = rig_alloc(len, 1);

	p->input = rig_alloc((size_t)g->h * g->w * g->c, sizeof(*p->input));
	for (size_t byte = 0; byte < len; byte++)
		raw[byte] = rig_random();
	for (uint32_t y = 0; y < g->h; y++)
		for (uint32_t x = 0; x < g->w; x++)
			for (uint32_t c = 0; c < g->c; c++)
				p->input[i++] = rig_random_element(p->in, raw + plain_feature_at(p, y, x, c));
	rig_put(rig, p->feature, raw, len);
	free(raw);
}

static void put_plain_kernels(struct rig *rig, struct plain *p)
{
	const struct geometry *g = &p->g;
	size_t len = (size_t)plain_kernel_bytes(p) * g->kernels, i = 0;
	uint8_t *raw = rig_alloc(len, 1);

	p->kernels = rig_alloc(len, sizeof(*p->kernels));
	for (uint32_t kernel = 0; kernel < g->kernels; kernel++)
		for (uint32_t ky = 0; ky < g->kh; ky++)
			for (uint32_t kx = 0; kx < g->kw; kx++)
				for (uint32_t c = 0; c < g->c; c++)
					p->kernels[i++] = rig_random_element(
						p->in, raw + plain_weight_at(p, kernel, ky, kx, c));
	rig_put(rig, p->weights, raw, len);
	free(raw);
}

/* A sum, and that of its products' magnitudes; of integers exact in double. */
static double plain_sum(const struct plain *p, uint32_t y, uint32_t x, uint32_t kernel, double *magnitude)
{
	const struct geometry *g = &p->g;
	uint32_t iy, ix;
	double sum = 0;

	*magnitude = 0;
	for (uint32_t ky = 0; ky < g->kh; ky++)
		for (uint32_t kx = 0; kx < g->kw; kx++) {
			if (!lands(y, g->stride_y, g->pad_top, ky, g->h, &iy) ||
			    !lands(x, g->stride_x, g->pad_left, kx, g->w, &ix))
				continue;
			for (uint32_t c = 0; c < g->c; c++) {
				double a = p->input[pixel(g, iy, ix) + c], b = p->kernels[tap(g, kernel, ky, kx) + c];

				sum += a * b;
				*magnitude += fabs(a * b);
			}
		}
	return sum;
}

static double plain_element(const struct plain *p, const uint8_t *at)
{
	int16_t value;

	switch (p->out) {
	case ORK_PRECISION_INT8:
		return (int8_t)*at;
	case ORK_PRECISION_INT16:
		memcpy(&value, at, sizeof(value));
		return value;
	default:
		return rig_value(p->out, at);
	}
}

static bool plain_point(struct outcome *o, const struct plain *p, uint32_t y, uint32_t x, uint32_t kernel,
			const uint8_t *at)
{
	double magnitude, want = plain_sum(p, y, x, kernel, &magnitude), got = plain_element(p, at);
	bool good;

	if (p->out == ORK_PRECISION_INT8 || p->out == ORK_PRECISION_INT16) {
		want = converted(&p->cvt, (int64_t)want, 8 * rig_bytes(p->out));
		good = got == want;
	} else {
		good = rig_close(p->out, got, want, magnitude, p->g.c * p->g.kh * p->g.kw);
	}
	return good || fail(o, "row %u, column %u, kernel %u: expected %.9g, got %.9g", y, x, kernel, want, got);
}

static bool plain_is_right(struct outcome *o, struct rig *rig, const struct plain *p, struct canvas *canvas)
{
	rig_get(rig, canvas->iova, canvas->after, canvas->len);
	for (uint32_t kernel = 0; kernel < p->g.kernels; kernel++)
		for (uint32_t y = 0; y < p->g.oh; y++)
			for (uint32_t x = 0; x < p->g.ow; x++) {
				size_t at = plain_output_at(p, y, x, kernel);

				if (!plain_point(o, p, y, x, kernel, canvas_at(canvas, at)))
					return false;
				forgive(canvas, at, rig_bytes(p->out));
			}
	return rest_is_untouched(o, canvas);
}

static bool run_plain(struct outcome *o, struct rig *rig, struct plain *p)
{
	size_t len = 16 * (size_t)p->surface * p->g.kernels / rig_atom(p->out);
	struct rig_program program = { 0 };
	struct canvas canvas;
	enum npu_hang hang;
	bool good;

	plain_cna(&program, p);
	plain_dpu(&program, p);
	rig_tail(&program, 0, 0);
	rig_put_program(rig, PROGRAM, &program);
	put_plain(rig, p);
	put_plain_kernels(rig, p);
	canvas = put_canvas(rig, p->output, len);
	hang = rig_run(rig, PROGRAM, program.count, 1);
	good = hang ? fail(o, "hangs: %s", npu_hang_name(hang)) : plain_is_right(o, rig, p, &canvas);
	if (hang)
		rig_recover(rig);
	free(p->input);
	free(p->kernels);
	free_canvas(&canvas);
	return good;
}

/* Both in their banks, with a bank to spare for the weights: the laws of either are not the subject. */
static bool plain_fits(const struct plain *p)
{
	return macs(&p->g) <= MAX_MACS && plain_banks(p) <= 11 &&
	       plain_kernel_bytes(p) * rig_kernels(p->in) < (12 - plain_banks(p)) * 32768;
}

static struct plain random_plain(uint32_t in, uint32_t out)
{
	struct plain p = { .in = in, .out = out };

	do {
		p.g = (struct geometry) {
			.h = random_size(), .w = random_size(), .c = 32 * up_to(6),
			.kh = up_to(5), .kw = up_to(5), .kernels = rig_kernels(in) * up_to(6),
			.stride_y = up_to(3), .stride_x = up_to(3),
		};
	} while (!place_both(&p.g, rig_random() % 2) || !plain_fits(&p));
	p.feature = FEATURE + 16 * (rig_random() % 300);
	p.weights = WEIGHTS + 16 * (rig_random() % 300);
	p.output = OUTPUT + 16 * (rig_random() % 300);
	p.groups = rig_random() % 2;
	p.line = p.g.w + (p.groups ? 0 : rig_random() % 4);
	p.plane = p.line * p.g.h + rig_random() % 4;
	p.notch = rig_random() % 3;
	p.surface = (p.g.ow + p.notch) * p.g.oh + rig_random() % 3;
	p.cvt.scale = 1;
	return p;
}

static void describe_plain(struct outcome *o, const struct plain *p)
{
	char more[128];

	snprintf(more, sizeof(more), ", precision %u to %u, lines of %u %s, planes of %u, notch %u, surfaces of %u",
		 p->in, p->out, p->line, p->groups ? "in groups" : "apart", p->plane, p->notch, p->surface);
	describe(o, &p->g, more);
}

static bool plain_fp16(struct outcome *o, struct rig *rig)
{
	struct plain p = random_plain(ORK_PRECISION_FP16, o->cases % 2 ? ORK_PRECISION_FP32 : ORK_PRECISION_FP16);

	describe_plain(o, &p);
	return run_plain(o, rig, &p);
}

static bool plain_int32(struct outcome *o, struct rig *rig)
{
	struct plain p = random_plain(ORK_PRECISION_INT8, ORK_PRECISION_INT32);

	describe_plain(o, &p);
	return run_plain(o, rig, &p);
}

/* Sums spread as the square root of how many products they have: most results are inside the type. */
static bool plain_narrowed(struct outcome *o, struct rig *rig)
{
	struct plain p = random_plain(ORK_PRECISION_INT8, o->cases % 2 ? ORK_PRECISION_INT16 : ORK_PRECISION_INT8);
	double spread = 74.0 * 74.0 * sqrt(p.g.c * p.g.kh * p.g.kw);

	p.cvt.scale = 0x4000 + rig_random() % 0x4000;
	p.cvt.shift = 14 + (uint32_t)lround(log2(spread / (p.out == ORK_PRECISION_INT8 ? 50 : 12000)));
	p.cvt.half_up = rig_random() % 4 == 0;
	p.cvt.offset = (int32_t)(rig_random() % 64) - 32;
	describe_plain(o, &p);
	return run_plain(o, rig, &p);
}

/* --- Mesa: the formula ------------------------------------------------------------------------ */

/* Over the window of an output: (x - @zero)(w - zero point), with the input's zero point around the input. */
static int64_t window_sum(const struct mesa *m, uint32_t y, uint32_t x, uint32_t kernel, uint32_t zero)
{
	const struct geometry *g = &m->g;
	uint32_t first = g->depthwise ? kernel : 0, last = g->depthwise ? kernel + 1 : g->c, iy, ix;
	int64_t sum = 0;

	for (uint32_t ky = 0; ky < g->kh; ky++)
		for (uint32_t kx = 0; kx < g->kw; kx++) {
			const uint8_t *weights = m->weights + tap(g, kernel, ky, kx);
			bool down = lands(y, g->stride_y, g->pad_top, ky, g->h, &iy);
			bool inside = lands(x, g->stride_x, g->pad_left, kx, g->w, &ix) && down;
			const uint8_t *values = m->input + (inside ? pixel(g, iy, ix) : 0);

			for (uint32_t c = first; c < last; c++) {
				int64_t value = inside ? values[c] : m->in_zp;

				sum += (value - zero) * ((int64_t)weights[c] - m->weight_zp);
			}
		}
	return sum;
}

/*
 * The accumulator is what TFLite has: sum of (x - zero point)(w - zero point), plus bias. If it is
 * truncated, the sum and the bias are halved each by itself, before they meet.
 */
static int64_t accumulator(const struct mesa *m, uint32_t y, uint32_t x, uint32_t kernel)
{
	if (m->truncate)
		return nearest(window_sum(m, y, x, kernel, 128), 1, false) + stored_bias(m, kernel);
	return window_sum(m, y, x, kernel, m->in_zp) + m->bias[kernel];
}

static uint8_t mesa_want(const struct mesa *m, uint32_t y, uint32_t x, uint32_t kernel)
{
	int64_t sum = accumulator(m, y, x, kernel);

	if (m->add) {
		int64_t added = m->added[((size_t)y * m->g.ow + x) * m->g.kernels + kernel];

		sum += nearest((added - m->operand_zp) * m->operand.scale, m->operand.shift, m->operand.half_up);
	}
	return converted(&m->out, sum, 8) + 128;
}

/* --- Mesa: running ---------------------------------------------------------------------------- */

/* In one kick, or, as mainline's driver does it, a kick for each. */
static bool run_tasks(struct outcome *o, struct rig *rig, const struct mesa *m)
{
	uint32_t kicks = m->one_kick ? 1 : m->tasks;

	for (uint32_t i = 0; i < kicks; i++) {
		enum npu_hang hang = rig_run(rig, PROGRAM + i * MESA_STRIDE, MESA_WORDS, m->one_kick ? m->tasks : 1);

		if (hang) {
			rig_recover(rig);
			return fail(o, "hangs in kick %u after %u programs: %s", i, rig->programs,
				    npu_hang_name(hang));
		}
	}
	if (rig->programs != m->tasks || rig->rises != kicks)
		return fail(o, "%u programs and %u interrupts", rig->programs, rig->rises);
	return true;
}

/*
 * Channels of the output's last surfaces that the tensor does not have: the manual has them written
 * with OFFSET_PEND, 0 here. Whether all of them are is not known.
 */
static bool padding_is_right(struct outcome *o, const struct mesa *m, struct canvas *canvas)
{
	size_t area = (size_t)m->g.ow * m->g.oh;

	for (uint32_t c = m->g.kernels; c < outputs_padded(m); c++)
		for (size_t i = 0; i < area; i++) {
			size_t at = (c / 16 * area + i) * 16 + c % 16;

			if (!*canvas_at(canvas, at))
				forgive(canvas, at, 1);
		}
	return rest_is_untouched(o, canvas);
}

static bool mesa_is_right(struct outcome *o, struct rig *rig, const struct mesa *m, struct canvas *canvas)
{
	size_t area = (size_t)m->g.ow * m->g.oh;

	rig_get(rig, canvas->iova, canvas->after, canvas->len);
	for (uint32_t kernel = 0; kernel < m->g.kernels; kernel++)
		for (uint32_t i = 0; i < area; i++) {
			uint32_t y = i / m->g.ow, x = i % m->g.ow, want = mesa_want(m, y, x, kernel);
			size_t at = (kernel / 16 * area + i) * 16 + kernel % 16;
			uint32_t got = (uint8_t)(*canvas_at(canvas, at) + 128);

			if (got != want)
				return fail(o, "row %u, column %u, kernel %u: expected %u, got %u", y, x, kernel, want,
					    got);
			forgive(canvas, at, 1);
		}
	return padding_is_right(o, m, canvas);
}

static void put_operands(struct rig *rig, const struct mesa *m)
{
	const struct geometry *g = &m->g;

	if (is_pixels(m))
		put_pixels(rig, m);
	else
		put_tensor(rig, m->feature, m->input, g->h * g->w, g->c, m->in_zp);
	if (m->add)
		put_tensor(rig, m->addend, m->added, g->oh * g->ow, g->kernels, m->operand_zp);
	put_weights(rig, m);
	put_biases(rig, m);
	for (uint32_t task = 0; task < m->tasks; task++) {
		struct rig_program program = mesa_program(m, task);

		rig_put_program(rig, PROGRAM + task * MESA_STRIDE, &program);
	}
}

static bool run_mesa(struct outcome *o, struct rig *rig, const struct mesa *m)
{
	struct canvas canvas;
	bool good;

	put_operands(rig, m);
	canvas = put_canvas(rig, m->output, (size_t)m->g.ow * m->g.oh * outputs_padded(m));
	good = run_tasks(o, rig, m) && mesa_is_right(o, rig, m, &canvas);
	free_canvas(&canvas);
	free(m->input);
	free(m->weights);
	free(m->bias);
	free(m->added);
	return good;
}

/* --- Mesa: random cases ----------------------------------------------------------------------- */

/*
 * The upper fifteen bits of a float's mantissa, and the shift that undoes them; the scale of sums is
 * one up (vendor facts 4.8).
 */
static struct converter converter_of(float scale, bool truncate, uint32_t up)
{
	struct converter cvt = { 0 };
	uint32_t bits;

	memcpy(&bits, &scale, sizeof(bits));
	cvt.scale = (bits >> 9 & 0x7fff) + up;
	if (cvt.scale < 1u << 14)
		cvt.scale |= 1u << 14;
	cvt.shift = 141 - (bits >> 23) - truncate;
	return cvt;
}

/* Around @zp, seldom an extreme. */
static uint8_t random_near(uint32_t zp)
{
	int32_t value = (int32_t)zp + (int32_t)(rig_random() % 96) - (int32_t)(rig_random() % 96);

	if (rig_random() % 32 == 0)
		value = rig_random() % 2 ? 255 : 0;
	return value < 0 ? 0 : value > 255 ? 255 : value;
}

static uint8_t *random_tensor(size_t count, uint32_t zp)
{
	uint8_t *values = rig_alloc(count, 1);

	for (size_t i = 0; i < count; i++)
		values[i] = random_near(zp);
	return values;
}

static uint32_t random_zp(void)
{
	switch (rig_random() % 8) {
	case 0:
		return 0;
	case 1:
		return 255;
	case 2:
		return 0x8b;
	default:
		return rig_random() % 256;
	}
}

/* Scales that leave most results inside uint8. */
static void random_scales(struct mesa *m, double spread)
{
	float conv = (float)((20 + rig_random() % 100) / spread), add = (float)((1 + rig_random() % 100) / 50.0);

	m->out = converter_of(conv, m->truncate, 1);
	m->out.offset = (int32_t)m->out_zp - 128;
	m->out.half_up = rig_random() % 4 == 0;
	m->operand = converter_of(add / conv, false, 0);
}

static void random_contents(struct mesa *m)
{
	const struct geometry *g = &m->g;
	double spread = 40.0 * 40.0 * sqrt((double)weights_of(g) / (g->depthwise ? g->c : g->kernels));

	m->in_zp = random_zp();
	m->weight_zp = random_zp();
	m->out_zp = random_zp();
	m->operand_zp = random_zp();
	m->input = random_tensor((size_t)g->h * g->w * g->c, m->in_zp);
	m->weights = random_tensor(weights_of(g), m->weight_zp);
	m->added = m->add ? random_tensor((size_t)g->oh * g->ow * g->kernels, m->operand_zp) : NULL;
	m->bias = rig_alloc(g->kernels, sizeof(*m->bias));
	for (uint32_t i = 0; i < g->kernels; i++)
		m->bias[i] = (int32_t)(rig_random() % (uint32_t)(2 * spread + 1)) - (int32_t)spread;
	random_scales(m, spread);
	m->feature = FEATURE + 16 * (rig_random() % 300);
	m->packed = WEIGHTS + 16 * (rig_random() % 300);
	m->biases = BIAS + 16 * (rig_random() % 300);
	m->addend = OPERAND + 16 * (rig_random() % 300);
	m->output = OUTPUT + 16 * (rig_random() % 300);
	m->one_kick = m->tasks == 1 || (m->reuse && rig_random() % 2);
}

/*
 * What a board would compute wrongly or never finish is left out: kernel groups that do not fit
 * their banks, and weights to be used again that are not there whole, which Mesa does not check as
 * it counts channels before they are padded.
 */
static bool mesa_fits(struct mesa *m)
{
	const struct geometry *g = &m->g;
	uint32_t each = g->kh * g->kw * channels_padded(m), room;

	if (!slice_up(m))
		return false;
	room = (12 - m->data_banks) * 32768;
	if (each * (g->depthwise ? 1 : 32) >= room)
		return false;
	return m->tasks == 1 || !m->reuse || packed_bytes(m) < room;
}

/* What a class asks for. */
struct wish {
	uint32_t channels, kernels;	/* at most; 0 kernels: depthwise */
	uint32_t size;			/* of the input at least */
	bool split, resident;		/* more than one task; weights used again */
};

static struct geometry wished(const struct wish *wish)
{
	struct geometry g = {
		.h = wish->size + random_size(), .w = wish->size + random_size(), .c = up_to(wish->channels),
		.kh = up_to(5), .kw = up_to(5), .stride_y = up_to(3), .depthwise = !wish->kernels,
	};

	g.stride_x = g.stride_y;
	if (rig_random() % 2)
		g.kw = g.kh;
	g.kernels = g.depthwise ? g.c : up_to(wish->kernels);
	return g;
}

/*
 * The packing rule of depthwise weights and the count of bytes told agree for these: the last 64
 * channels have up to 16, whole pairs of sixteens, or more than 48 (vendor facts 4.7 and 4.6).
 */
static bool depthwise_is_clear(uint32_t channels)
{
	uint32_t rest = channels % 64;

	return channels > 1 && (rest <= 16 || rest == 32 || rest == 48 || rest > 48);
}

static bool is_wished(struct mesa *m, const struct wish *wish, uint64_t most)
{
	const struct geometry *g = &m->g;

	if (!place_both(&m->g, rig_random() % 2) || macs(g) > most)
		return false;
	if (g->depthwise ? !depthwise_is_clear(g->c) : g->c == 1 && g->kernels == 1)
		return false;
	/* Their emitter has numbers of its own for these (vendor facts 4.4, 4.6), said to go wrong on boards. */
	if (m->add && (g->c == 1 || g->w == 8 || g->w == 3 || g->oh * g->ow < 12))
		return false;
	return mesa_fits(m) && (m->tasks > 1) == wish->split && (!wish->split || m->reuse == wish->resident);
}

static struct mesa random_mesa(const struct wish *wish, bool truncate, bool add, uint64_t most)
{
	struct mesa m = { .truncate = truncate, .add = add };

	do {
		m.g = wished(wish);
	} while (!is_wished(&m, wish, most));
	random_contents(&m);
	return m;
}

static bool try_mesa(struct outcome *o, struct rig *rig, const struct mesa *m)
{
	char more[128];

	snprintf(more, sizeof(more), ", zero points %u %u %u %u, * %u >> %u%s%s%s, %u task(s)%s%s", m->in_zp,
		 m->weight_zp, m->out_zp, m->operand_zp, m->out.scale, m->out.shift, m->out.half_up ? " half up" : "",
		 m->truncate ? ", halved" : "", m->add ? ", with addition" : "", m->tasks,
		 m->tasks > 1 && m->reuse ? " with the same weights" : "", m->one_kick ? "" : ", a kick each");
	describe(o, &m->g, more);
	return run_mesa(o, rig, m);
}

static bool mesa_case(struct outcome *o, struct rig *rig, const struct wish *wish, bool truncate, bool add,
		      uint64_t most)
{
	struct mesa m = random_mesa(wish, truncate, add, most);

	return try_mesa(o, rig, &m);
}

static const struct wish whole = { .channels = 200, .kernels = 200 };
static const struct wish few = { .channels = 20, .kernels = 40 };

static bool mesa_whole(struct outcome *o, struct rig *rig)
{
	return mesa_case(o, rig, o->cases % 2 ? &whole : &few, false, false, MAX_MACS);
}

static bool mesa_truncated(struct outcome *o, struct rig *rig)
{
	return mesa_case(o, rig, o->cases % 2 ? &whole : &few, true, false, MAX_MACS);
}

static bool mesa_pixels(struct outcome *o, struct rig *rig)
{
	static const struct wish wish = { .channels = 1, .kernels = 64 };

	return mesa_case(o, rig, &wish, o->cases % 4 == 0, false, MAX_MACS);
}

static bool mesa_depthwise(struct outcome *o, struct rig *rig)
{
	static const struct wish wish = { .channels = 200 };

	return mesa_case(o, rig, &wish, o->cases % 4 == 0, false, MAX_MACS);
}

static bool mesa_added(struct outcome *o, struct rig *rig)
{
	return mesa_case(o, rig, o->cases % 2 ? &whole : &few, false, true, MAX_MACS);
}

static bool mesa_split(struct outcome *o, struct rig *rig)
{
	static const struct wish wish = { 200, 48, 20, true, true };

	return mesa_case(o, rig, &wish, o->cases % 4 == 0, false, 3 * MAX_MACS);
}

static bool mesa_split_depthwise(struct outcome *o, struct rig *rig)
{
	static const struct wish wish = { 200, 0, 30, true, true };

	return mesa_case(o, rig, &wish, o->cases % 4 == 0, false, 3 * MAX_MACS);
}

static bool mesa_split_added(struct outcome *o, struct rig *rig)
{
	static const struct wish wish = { 200, 48, 20, true, true };

	return mesa_case(o, rig, &wish, false, true, 3 * MAX_MACS);
}

/* Weights that fill most of the buffer, so they are fetched by every task. */
static bool mesa_split_fetching(struct outcome *o, struct rig *rig)
{
	static const struct wish wish = { 220, 200, 28, true, false };

	return mesa_case(o, rig, &wish, false, o->cases % 2, 16 * MAX_MACS);
}

/* What converter_of() makes is the scale, to 14 bits. */
static void test_converters(void)
{
	double worst = 0;

	for (int i = 0; i < 100000; i++) {
		float scale = (float)ldexp(1 + (rig_random() % 0x7ffc00) / 8388608.0, (int)(rig_random() % 40) - 27);
		struct converter up = converter_of(scale, false, 1), plain = converter_of(scale, false, 0);

		worst = fmax(worst, fabs(ldexp(up.scale, -(int)up.shift) / scale - 1));
		worst = fmax(worst, fabs(ldexp(plain.scale, -(int)plain.shift) / scale - 1));
	}
	ok(worst <= 1.0 / 16384, "100000 scales in integers are right to 1 in 2^%.1f", -log2(worst));
}

int main(void)
{
	run_class("plain fp16 convolutions are the sums", 120, plain_fp16);
	run_class("plain int8 convolutions are the sums", 120, plain_int32);
	run_class("plain int8 convolutions are the sums, narrowed", 120, plain_narrowed);
	test_converters();
	run_class("quantised convolutions are the reference's", 200, mesa_whole);
	run_class("quantised convolutions with halved sums are the reference's", 100, mesa_truncated);
	run_class("convolutions of one channel are the reference's", 100, mesa_pixels);
	run_class("depthwise convolutions are the reference's", 160, mesa_depthwise);
	run_class("convolutions with an addition are the reference's", 100, mesa_added);
	run_class("convolutions in several tasks are the reference's", 40, mesa_split);
	run_class("depthwise convolutions in several tasks are the reference's", 40, mesa_split_depthwise);
	run_class("convolutions with an addition in several tasks are the reference's", 30, mesa_split_added);
	run_class("convolutions in tasks that fetch weights each are the reference's", 6, mesa_split_fetching);
	return test_result();
}

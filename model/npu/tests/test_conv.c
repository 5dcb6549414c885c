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

#include "rig.h"

#define PROGRAM		0x00400000u
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

/* @one draws a case, names it in @what, and runs it. */
static void run_class(const char *name, unsigned int count, bool (*one)(struct outcome *o))
{
	struct outcome o = { 0 }, first = { 0 };

	for (; o.cases < count; o.cases++)
		if (!one(&o) && !o.failures++)
			first = o;
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

static uint32_t ceiled(uint32_t value, uint32_t by)
{
	return (value + by - 1) / by;
}

/* --- geometry --------------------------------------------------------------------------------- */

struct geometry {
	uint32_t h, w, c;		/* of the input */
	uint32_t kh, kw, kernels;
	uint32_t stride_y, stride_x, pad_top, pad_left;
	uint32_t oh, ow;
	bool depthwise;
};

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

static size_t pixel(const struct geometry *g, uint32_t y, uint32_t x)
{
	return ((size_t)y * g->w + x) * g->c;
}

/* Of kernel @kernel at @ky, @kx: its first channel. */
static size_t tap(const struct geometry *g, uint32_t kernel, uint32_t ky, uint32_t kx)
{
	if (g->depthwise)
		return ((size_t)ky * g->kw + kx) * g->c;
	return (((size_t)kernel * g->kh + ky) * g->kw + kx) * g->c;
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

/* OUT_CVT's or EW's converter: scale, shift, and how ties go. */
struct converter {
	uint32_t scale, shift;
	bool half_up;
	int32_t offset;
};

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
				double product = p->input[pixel(g, iy, ix) + c] * p->kernels[tap(g, kernel, ky, kx) + c];

				sum += product;
				*magnitude += fabs(product);
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

static bool run_plain(struct outcome *o, struct plain *p)
{
	size_t len = 16 * (size_t)p->surface * p->g.kernels / rig_atom(p->out);
	struct rig_program program = { 0 };
	struct canvas canvas;
	enum npu_hang hang;
	struct rig rig;
	bool good;

	rig_init(&rig, 8 << 20, NPU_CACHE_STRICT);
	plain_cna(&program, p);
	plain_dpu(&program, p);
	rig_tail(&program, 0, 0);
	rig_put_program(&rig, PROGRAM, &program);
	put_plain(&rig, p);
	put_plain_kernels(&rig, p);
	canvas = put_canvas(&rig, p->output, len);
	hang = rig_run(&rig, PROGRAM, program.count, 1);
	good = hang ? fail(o, "hangs: %s", npu_hang_name(hang)) : plain_is_right(o, &rig, p, &canvas);
	free(p->input);
	free(p->kernels);
	free_canvas(&canvas);
	rig_fini(&rig);
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

static bool plain_fp16(struct outcome *o)
{
	struct plain p = random_plain(ORK_PRECISION_FP16, o->cases % 2 ? ORK_PRECISION_FP32 : ORK_PRECISION_FP16);

	describe_plain(o, &p);
	return run_plain(o, &p);
}

static bool plain_int32(struct outcome *o)
{
	struct plain p = random_plain(ORK_PRECISION_INT8, ORK_PRECISION_INT32);

	describe_plain(o, &p);
	return run_plain(o, &p);
}

/* Sums spread as the square root of how many products they have: most results are inside the type. */
static bool plain_narrowed(struct outcome *o)
{
	struct plain p = random_plain(ORK_PRECISION_INT8, o->cases % 2 ? ORK_PRECISION_INT16 : ORK_PRECISION_INT8);
	double spread = 74.0 * 74.0 * sqrt(p.g.c * p.g.kh * p.g.kw);

	p.cvt.scale = 0x4000 + rig_random() % 0x4000;
	p.cvt.shift = 14 + (uint32_t)lround(log2(spread / (p.out == ORK_PRECISION_INT8 ? 50 : 12000)));
	p.cvt.half_up = rig_random() % 4 == 0;
	p.cvt.offset = (int32_t)(rig_random() % 64) - 32;
	describe_plain(o, &p);
	return run_plain(o, &p);
}

int main(void)
{
	run_class("plain fp16 convolutions are the sums", 120, plain_fp16);
	run_class("plain int8 convolutions are the sums", 120, plain_int32);
	run_class("plain int8 convolutions are the sums, narrowed", 120, plain_narrowed);
	return test_result();
}

/* SPDX-License-Identifier: MIT */
/*
 * What Mesa's int8 convolutions need beyond a matrix product, a stage at a time, on numbers small
 * enough to check by hand: converter and scale are the identity wherever they are not tested.
 */
#include "rig.h"

#define INPUT		0x10000000u
#define WEIGHTS		0x20000000u
#define BIAS		0x28000000u
#define ADDENDS		0x2c000000u
#define OUTPUT		0x30000000u
#define PROGRAM		0x08000000u
#define PROGRAM_STEP	0x1000u

#define DEPTHWISE	3u
#define PENDING		0x5a		/* what memory holds before */
/* CVT_CON0 with one shift for all lanes. */
#define SHIFTS(n)	((n) << 22 | (n) << 16 | (n) << 10 | (n) << 4)

struct conv {
	uint32_t width, height, channels;	/* the last one in sixteens */
	uint32_t kernel;			/* square */
	uint32_t kernels;			/* in pairs; of the output, if depthwise */
	bool depthwise, pixels, add;
	uint32_t stride, pad, pad_value;
	uint32_t out_width, out_height;
	uint32_t real;				/* output channels that are computed */
	uint32_t ow, truncate, scale, shift;	/* registers; a scale of 0 stands for 1 */
	uint32_t line;				/* of pixels */
	uint32_t addend_offset, addend_scale;
};

static uint32_t group(const struct conv *c)
{
	return c->depthwise ? 64 : 32;
}

static uint32_t out_channels(const struct conv *c)
{
	return (c->kernels + group(c) - 1) / group(c) * group(c);
}

static uint32_t weight_bytes(const struct conv *c)
{
	return c->kernel * c->kernel * c->channels * (c->depthwise ? 1 : c->kernels);
}

static void emit_cna(struct rig_program *p, const struct conv *c)
{
	uint32_t w = c->width, h = c->height, k = c->kernel, converted = c->pixels ? 16384u << 16 | 0xff80 : 0x10000;

	rig_word(p, ORK_TARGET_CNA, 0x100c, (c->pixels ? 0x60008000 : 0) | (c->depthwise ? DEPTHWISE : 0));
	rig_word(p, ORK_TARGET_CNA, 0x1010, 52 << 4);
	rig_word(p, ORK_TARGET_CNA, 0x1014, c->stride | c->stride << 3);
	rig_word(p, ORK_TARGET_CNA, 0x1020, w << 16 | h);
	rig_word(p, ORK_TARGET_CNA, 0x1024, (c->pixels ? 0 : c->channels - 1) << 16 | c->channels);
	rig_word(p, ORK_TARGET_CNA, 0x1028, c->out_width);
	rig_word(p, ORK_TARGET_CNA, 0x102c, c->out_width * c->out_height);
	rig_word(p, ORK_TARGET_CNA, 0x1030, weight_bytes(c));
	rig_word(p, ORK_TARGET_CNA, 0x1034, k * k * c->channels);
	rig_word(p, ORK_TARGET_CNA, 0x1038, k << 24 | k << 16 | (c->depthwise ? 1 : c->kernels));
	rig_word(p, ORK_TARGET_CNA, 0x1040, 0xa2);
	rig_word(p, ORK_TARGET_CNA, 0x1044, c->pixels ? w * h : (w * c->channels + 63) / 64);
	rig_word(p, ORK_TARGET_CNA, 0x104c, c->pixels ? SHIFTS(14) : 0xb);
	for (uint32_t lane = 0; lane < 4; lane++)
		rig_word(p, ORK_TARGET_CNA, 0x1050 + 4 * lane, converted);
	rig_word(p, ORK_TARGET_CNA, 0x1068, c->pad << 4 | c->pad);
	rig_word(p, ORK_TARGET_CNA, 0x1070, INPUT);
	rig_word(p, ORK_TARGET_CNA, 0x107c, c->pixels ? c->line : 4 * w);
	rig_word(p, ORK_TARGET_CNA, 0x1080, (c->pixels ? c->line * (h - 1) : w * h - 4 * w) & 0x0fffffff);
	rig_word(p, ORK_TARGET_CNA, 0x1084, w << 16 | h);
	rig_word(p, ORK_TARGET_CNA, 0x1088, c->channels);
	rig_word(p, ORK_TARGET_CNA, 0x1100, 0);
	rig_word(p, ORK_TARGET_CNA, 0x1110, WEIGHTS);
	rig_word(p, ORK_TARGET_CNA, 0x1180, c->pixels ? 0xffff : 0);
	rig_word(p, ORK_TARGET_CNA, 0x1184, c->pad_value);
	rig_word(p, ORK_TARGET_CORE, 0x3010, 1 | c->depthwise << 1);
	rig_word(p, ORK_TARGET_CORE, 0x3014, (c->out_height - 1) << 16 | (c->out_width - 1));
	rig_word(p, ORK_TARGET_CORE, 0x3018, out_channels(c) - 1);
	rig_word(p, ORK_TARGET_CORE, 0x301c, c->truncate);
}

static void emit_dpu(struct rig_program *p, const struct conv *c)
{
	uint32_t w = c->out_width, h = c->out_height, n = out_channels(c), atoms = group(c) / 16;

	rig_word(p, ORK_TARGET_DPU, 0x4004, 0xe);
	rig_word(p, ORK_TARGET_DPU, 0x400c, c->depthwise ? 0x1fc : 0x1e4);
	rig_word(p, ORK_TARGET_DPU, 0x4010, 0);
	rig_word(p, ORK_TARGET_DPU, 0x4014, 0);
	rig_word(p, ORK_TARGET_DPU, 0x4020, OUTPUT);
	rig_word(p, ORK_TARGET_DPU, 0x4024, w * h * 16);
	rig_word(p, ORK_TARGET_DPU, 0x4030, w - 1);
	rig_word(p, ORK_TARGET_DPU, 0x4034, h - 1);
	rig_word(p, ORK_TARGET_DPU, 0x4038, 0);
	rig_word(p, ORK_TARGET_DPU, 0x403c, (c->real - 1) << 16 | (n - 1));
	rig_word(p, ORK_TARGET_DPU, 0x4040, 0x20150);
	rig_word(p, ORK_TARGET_DPU, 0x4050, (atoms - 1) * 0x124);
	rig_word(p, ORK_TARGET_DPU, 0x4054, c->ow & 0xffff);
	rig_word(p, ORK_TARGET_DPU, 0x4058, n - 1);
	rig_word(p, ORK_TARGET_DPU, 0x405c, (h - 1) << 16 | (w - 1));
	rig_word(p, ORK_TARGET_DPU, 0x4060, 0x53);
	rig_word(p, ORK_TARGET_DPU, 0x4070, c->add ? 0x904202c0 : 0x383);
	rig_word(p, ORK_TARGET_DPU, 0x4074, c->addend_offset);
	rig_word(p, ORK_TARGET_DPU, 0x4078, c->add ? c->addend_scale : 1);
	rig_word(p, ORK_TARGET_DPU, 0x4080, 0);
	rig_word(p, ORK_TARGET_DPU, 0x4084, c->scale ? c->scale : 1);
	rig_word(p, ORK_TARGET_DPU, 0x4088, c->shift);
	rig_word(p, ORK_TARGET_DPU, 0x40c0, w * h * 16 * atoms);
}

static void emit_rdma(struct rig_program *p, const struct conv *c)
{
	uint32_t w = c->out_width, h = c->out_height;

	rig_word(p, ORK_TARGET_RDMA, 0x5004, 0xe);
	rig_word(p, ORK_TARGET_RDMA, 0x500c, w - 1);
	rig_word(p, ORK_TARGET_RDMA, 0x5010, h - 1);
	rig_word(p, ORK_TARGET_RDMA, 0x5014, out_channels(c) - 1);
	rig_word(p, ORK_TARGET_RDMA, 0x5018, c->add ? ADDENDS : 0);
	rig_word(p, ORK_TARGET_RDMA, 0x501c, 1 << 1);
	rig_word(p, ORK_TARGET_RDMA, 0x5020, BIAS);
	rig_word(p, ORK_TARGET_RDMA, 0x5028, 0);
	rig_word(p, ORK_TARGET_RDMA, 0x5034, c->add ? 0x40000004 : 1);
	rig_word(p, ORK_TARGET_RDMA, 0x5038, c->add ? ADDENDS + w * h * 16 : 0);
	rig_word(p, ORK_TARGET_RDMA, 0x5040, c->add ? w * h * 16 : 0);
	rig_word(p, ORK_TARGET_RDMA, 0x5044, 0x7800 | (c->add ? 0x500 : 0x10) | (c->depthwise ? DEPTHWISE << 1 : 0));
	rig_word(p, ORK_TARGET_RDMA, 0x5048, 0);
	rig_word(p, ORK_TARGET_RDMA, 0x504c, c->add ? w * h * 16 : 0);
	rig_word(p, ORK_TARGET_RDMA, 0x5064, 0);
	rig_word(p, ORK_TARGET_RDMA, 0x5068, 0x01010101);
	rig_word(p, ORK_TARGET_RDMA, 0x506c, c->add ? w * h * 16 : 0);
}

static void emit_tail(struct rig_program *p, uint32_t next, uint32_t amount)
{
	rig_tail(p, next, amount);
	p->words[p->count - 1] = ORK_REGCMD(ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE, 0x1d);
}

static struct rig_program emit(const struct conv *c)
{
	struct rig_program p = { 0 };

	emit_cna(&p, c);
	emit_dpu(&p, c);
	emit_rdma(&p, c);
	emit_tail(&p, 0, 0);
	return p;
}

/* --- a convolution, its tensors zeros until a test sets them ------------------------------------ */

#define MOST	65536

struct stage {
	struct conv c;
	struct rig_program program;
	struct rig rig;
	int8_t input[MOST], weights[MOST], addends[MOST], output[MOST];
	int32_t bias[128];
};

static struct stage *start(const struct conv *c)
{
	struct stage *s = rig_alloc(1, sizeof(*s));

	s->c = *c;
	s->program = emit(c);
	rig_init(&s->rig, 8 << 20, NPU_CACHE_STRICT);
	memset(s->output, PENDING, sizeof(s->output));
	rig_put(&s->rig, OUTPUT, s->output, sizeof(s->output));
	return s;
}

static void finish(struct stage *s)
{
	rig_fini(&s->rig);
	free(s);
}

/* The activation of a channel at a pixel; so lie addends and results too. */
static int8_t *at(int8_t *cube, uint32_t pixels, uint32_t channel, uint32_t pixel)
{
	return cube + (channel / 16 * pixels + pixel) * 16 + channel % 16;
}

static int8_t *in(struct stage *s, uint32_t channel, uint32_t pixel)
{
	return at(s->input, s->c.width * s->c.height, channel, pixel);
}

static int8_t *addend(struct stage *s, uint32_t channel, uint32_t pixel)
{
	return at(s->addends, s->c.out_width * s->c.out_height, channel, pixel);
}

static int out(struct stage *s, uint32_t channel, uint32_t pixel)
{
	return *at(s->output, s->c.out_width * s->c.out_height, channel, pixel);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* [kernels / 32][channels / 32][position][kernel][channel], rests as narrow as they are. */
static int8_t *weight(struct stage *s, uint32_t kernel, uint32_t channel, uint32_t position)
{
	uint32_t area = s->c.kernel * s->c.kernel, first = kernel / 32 * 32, tile = channel / 32 * 32;
	uint32_t kernels = smaller(32, s->c.kernels - first), channels = smaller(32, s->c.channels - tile);

	return s->weights + first * s->c.channels * area + tile * kernels * area +
	       (position * kernels + kernel % 32) * channels + channel % 32;
}

/* [channels / 64][position][channel] */
static int8_t *depthwise_weight(struct stage *s, uint32_t channel, uint32_t position)
{
	uint32_t area = s->c.kernel * s->c.kernel, tile = channel / 64 * 64;

	return s->weights + tile * area + position * smaller(64, s->c.channels - tile) + channel % 64;
}

static void put(struct stage *s)
{
	rig_put(&s->rig, INPUT, s->input, sizeof(s->input));
	rig_put(&s->rig, WEIGHTS, s->weights, sizeof(s->weights));
	rig_put(&s->rig, BIAS, s->bias, sizeof(s->bias));
	rig_put(&s->rig, ADDENDS, s->addends, sizeof(s->addends));
	rig_put_program(&s->rig, PROGRAM, &s->program);
}

static enum npu_hang run(struct stage *s)
{
	enum npu_hang hang;

	put(s);
	hang = rig_run(&s->rig, PROGRAM, s->program.count, 1);
	rig_get(&s->rig, OUTPUT, s->output, sizeof(s->output));
	return hang;
}

/* Outputs of channel 0, pixel by pixel, are those. */
static bool row_is(struct stage *s, const int *want, uint32_t count)
{
	for (uint32_t pixel = 0; pixel < count; pixel++)
		if (out(s, 0, pixel) != want[pixel]) {
			printf("# pixel %u is %d, should be %d\n", pixel, out(s, 0, pixel), want[pixel]);
			return false;
		}
	return true;
}

#define ROW_IS(s, ...) \
	row_is(s, (const int[]) { __VA_ARGS__ }, sizeof((const int[]) { __VA_ARGS__ }) / sizeof(int))

/* --- bias ------------------------------------------------------------------------------------- */

static const struct conv plain = {
	.width = 5, .height = 1, .channels = 16, .kernel = 1, .kernels = 32, .stride = 1,
	.out_width = 5, .out_height = 1, .real = 32,
};

static void test_bias(void)
{
	struct stage *s = start(&plain);
	bool good;

	*weight(s, 7, 3, 0) = 2;
	for (int pixel = 0; pixel < 5; pixel++)
		*in(s, 3, pixel) = pixel;
	for (int channel = 0; channel < 32; channel++)
		s->bias[channel] = 10 * channel - 150;
	good = !run(s) && s->rig.rises == 1;
	/* One program: the turn is the other group's. */
	good &= rig_read(&s->rig, ORK_RDMA_S_POINTER) == (0xe | ORK_S_POINTER_POINTER | ORK_S_POINTER_EXECUTER);
	for (int pixel = 0; pixel < 5; pixel++)
		for (int channel = 0; channel < 32; channel++) {
			int want = 10 * channel - 150 + (channel == 7 ? 2 * pixel : 0);

			good &= out(s, channel, pixel) == (want < -128 ? -128 : want > 127 ? 127 : want);
		}
	ok(good, "each channel has a bias of its own");
	finish(s);
}

static void test_saturation(void)
{
	struct conv c = plain;
	struct stage *s;

	c.ow = 1;
	c.scale = 1;
	c.shift = 24;
	s = start(&c);
	*in(s, 0, 0) = 100;		/* 2^31 - 1 in spite of the sum */
	*in(s, 0, 1) = -128;
	s->bias[0] = INT32_MAX;
	ok(!run(s) && out(s, 0, 0) == 127 && out(s, 0, 1) == 127, "a biased sum of more than 32 bits is saturated");
	s->bias[0] = INT32_MIN;
	ok(!run(s) && out(s, 0, 0) == -128 && out(s, 0, 1) == -128, "and one of less");
	finish(s);
}

/* --- OW --------------------------------------------------------------------------------------- */

/* Pixel p has p in channel 2 and 10 in channel 9. */
static struct stage *start_ow(uint32_t ow)
{
	struct conv c = plain;
	struct stage *s;

	c.ow = ow;
	s = start(&c);
	for (int pixel = 0; pixel < 5; pixel++) {
		*in(s, 2, pixel) = pixel;
		*in(s, 9, pixel) = 10;
	}
	return s;
}

static void test_ow(void)
{
	struct stage *s = start_ow(-3);

	*weight(s, 0, 2, 0) = 5;
	ok(!run(s) && ROW_IS(s, -30, -28, -26, -24, -22), "OW adds its operand times the sum of activations");
	rig_patch(&s->program, 0x4050, 0x126);
	ok(!run(s) && ROW_IS(s, 0, 5, 10, 15, 20), "unless it is bypassed");
	finish(s);
	s = start_ow(-3);
	rig_patch(&s->program, 0x3010, 0);
	ok(run(s) == NPU_HANG_UNSUPPORTED, "without the sum of activations it hangs");
	rig_recover(&s->rig);
	rig_patch(&s->program, 0x4054, 0);
	ok(!run(s) && ROW_IS(s, 0, 0, 0, 0, 0), "and does without where the operand is 0");
	finish(s);
}

/* --- the shift of the accumulator --------------------------------------------------------------- */

static void test_truncate(void)
{
	static const int8_t values[] = { -3, -1, 1, 3, 5 };
	struct conv c = plain;
	struct stage *s;

	c.truncate = 1;
	s = start(&c);
	for (int pixel = 0; pixel < 5; pixel++)
		*in(s, 0, pixel) = values[pixel];
	*weight(s, 0, 0, 0) = 1;
	ok(!run(s) && ROW_IS(s, -2, 0, 0, 2, 2), "ties of the accumulator's shift go to even");
	rig_patch(&s->program, 0x301c, 0x41);
	ok(!run(s) && ROW_IS(s, -1, 0, 1, 2, 3), "or up");
	rig_patch(&s->program, 0x4054, 1);
	ok(!run(s) && ROW_IS(s, -3, -1, 1, 3, 5), "OW comes before the shift");
	s->bias[0] = 1;
	ok(!run(s) && ROW_IS(s, -2, 0, 2, 4, 6), "the bias behind it");
	rig_patch(&s->program, 0x4080, 7);
	rig_patch(&s->program, 0x4084, 3);
	rig_patch(&s->program, 0x4088, 1);
	ok(!run(s) && ROW_IS(s, 4, 7, 10, 13, 16), "and the output converter last");
	finish(s);
}

/* --- padding ------------------------------------------------------------------------------------ */

/* 2 x 2 pixels in a border: each output has four of them, and five of the border, in its window. */
static const struct conv padded = {
	.width = 2, .height = 2, .channels = 16, .kernel = 3, .kernels = 32, .stride = 1, .pad = 1,
	.pad_value = 0xfffffff9, .out_width = 2, .out_height = 2, .real = 32,
};

static struct stage *start_padded(uint32_t pad_value)
{
	struct conv c = padded;
	struct stage *s;

	c.pad_value = pad_value;
	s = start(&c);
	for (int position = 0; position < 9; position++)
		*weight(s, 0, 3, position) = 1;
	for (int pixel = 0; pixel < 4; pixel++)
		*in(s, 3, pixel) = 1 + pixel;
	return s;
}

static void test_pad_value(void)
{
	static const struct {
		uint32_t value;
		int want;		/* 1 + 2 + 3 + 4 + 5 * pad */
	} known[] = {
		{ 0xfffffff9, -25 }, { 0xfffff9f9, -25 }, { 0x0b, 65 }, { 0x0b0b, 65 }, { 0, 10 }, { 0xffffff80, -128 },
		{ 0xffff8080, -128 },
	};
	static const uint32_t unknown[] = { 0xf9, 0xf9f9, 0xff0b, 0x0b00, 0x0b0b0b0b, 0xffff8081, 0x8080 };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct stage *s = start_padded(known[i].value);

		ok(!run(s) && ROW_IS(s, known[i].want, known[i].want, known[i].want, known[i].want),
		   "padding of 0x%x", known[i].value);
		finish(s);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct stage *s = start_padded(unknown[i]);

		ok(run(s) == NPU_HANG_UNSUPPORTED, "padding of 0x%x hangs", unknown[i]);
		finish(s);
	}
}

static void test_padding_counts(void)
{
	struct stage *s = start_padded(0xfffffff9);

	/* -25, and 10 + 5 * 16 * -7 of all channels: -575 / 8 */
	rig_patch(&s->program, 0x4054, 1);
	rig_patch(&s->program, 0x4088, 3);
	ok(!run(s) && ROW_IS(s, -72, -72, -72, -72), "OW's sum counts padding, in every channel");
	finish(s);
}

static void test_strides(void)
{
	struct conv c = padded;
	struct stage *s;

	c.width = c.height = 5;
	c.stride = 2;
	c.out_width = c.out_height = 3;
	c.pad_value = 0;
	s = start(&c);
	*weight(s, 0, 0, 5) = 1;		/* one to the right of the middle */
	for (int pixel = 0; pixel < 25; pixel++)
		*in(s, 0, pixel) = 1 + pixel;
	ok(!run(s) && ROW_IS(s, 2, 4, 0, 12, 14, 0, 22, 24, 0), "windows step by the stride, from beyond the corner");
	finish(s);
}

/* --- parts of tiles and groups -------------------------------------------------------------------- */

/* Output n is channel (5 n) % channels of the input, whose channel c is c. */
static void test_parts(uint32_t channels, uint32_t kernels, uint32_t real, uint32_t kernel)
{
	struct conv c = plain;
	struct stage *s;
	bool good;

	c.channels = channels;
	c.kernels = kernels;
	c.real = real;
	c.kernel = kernel;
	c.pad = kernel / 2;
	c.height = c.out_height = 2;
	s = start(&c);
	for (uint32_t n = 0; n < real; n++)
		*weight(s, n, 5 * n % channels, kernel * kernel / 2) = 1;
	for (uint32_t channel = 0; channel < channels; channel++)
		for (uint32_t pixel = 0; pixel < 10; pixel++)
			*in(s, channel, pixel) = channel - pixel;
	good = !run(s);
	for (uint32_t n = 0; n < out_channels(&c); n++)
		for (uint32_t pixel = 0; pixel < 10; pixel++)
			good &= out(s, n, pixel) == (n < real ? (int)(5 * n % channels - pixel) : 0);
	good &= s->output[out_channels(&c) * 10] == PENDING;
	ok(good, "%u channels, %u kernels of %u x %u for %u outputs", channels, kernels, kernel, kernel, real);
	finish(s);
}

static void test_pending(void)
{
	struct conv c = plain;
	struct stage *s;

	c.real = 19;
	c.kernels = 20;
	s = start(&c);
	for (int channel = 0; channel < 32; channel++)
		s->bias[channel] = 100;
	rig_patch(&s->program, 0x4014, 0xfff4);
	ok(!run(s) && out(s, 18, 4) == 100 && out(s, 19, 0) == -12 && out(s, 31, 4) == -12,
	   "channels that are not computed are what OFFSET_PEND says");
	rig_patch(&s->program, 0x4014, 0x100);
	ok(run(s) == NPU_HANG_UNSUPPORTED, "if that is an int8");
	finish(s);
	s = start(&c);
	rig_patch(&s->program, 0x403c, 20 << 16 | 31);
	ok(run(s) == NPU_HANG_UNSUPPORTED, "a channel without weights hangs");
	finish(s);
}

/* --- depthwise ------------------------------------------------------------------------------------ */

static struct conv depthwise_conv(uint32_t channels)
{
	return (struct conv) {
		.width = 5, .height = 5, .channels = channels, .kernel = 3, .kernels = channels, .depthwise = true,
		.stride = 2, .pad = 1, .pad_value = 3, .out_width = 3, .out_height = 3, .real = channels,
	};
}

/* Output 4 is the middle one: its window is pixels 6 to 18, output 0's has five of the padding. */
static void test_depthwise(uint32_t channels)
{
	struct conv c = depthwise_conv(channels);
	struct stage *s = start(&c);
	bool good;

	for (uint32_t channel = 0; channel < channels; channel++) {
		*depthwise_weight(s, channel, 4) = 1 + channel % 3;
		*depthwise_weight(s, channel, 0) = -1;
		for (uint32_t pixel = 0; pixel < 25; pixel++)
			*in(s, channel, pixel) = channel % 9 + pixel;
	}
	good = !run(s);
	for (uint32_t channel = 0; channel < out_channels(&c); channel++) {
		int middle = channel % 9 + 12, left = channel % 9 + 6, corner = channel % 9;
		bool real = channel < channels;

		good &= out(s, channel, 4) == (real ? (int)(1 + channel % 3) * middle - left : 0);
		good &= out(s, channel, 0) == (real ? (int)(1 + channel % 3) * corner - 3 : 0);
	}
	good &= s->output[out_channels(&c) * 9] == PENDING;
	ok(good, "depthwise, %u channels", channels);
	finish(s);
}

static void test_depthwise_ow(void)
{
	struct conv c = depthwise_conv(32);
	struct stage *s;
	bool good;

	c.ow = -1;
	s = start(&c);
	for (uint32_t channel = 0; channel < 32; channel++)
		for (uint32_t pixel = 0; pixel < 25; pixel++)
			*in(s, channel, pixel) = channel % 9;
	good = !run(s);
	for (int channel = 0; channel < 32; channel++)
		good &= out(s, channel, 4) == -9 * (channel % 9) && out(s, channel, 0) == -4 * (channel % 9) - 15;
	ok(good, "OW sums the activations of each depthwise channel by itself");
	finish(s);
}

/* --- addition --------------------------------------------------------------------------------------- */

/* More pixels than the model works on at once. */
#define ADDED_PIXELS	70

static const struct conv added = {
	.width = 7, .height = 10, .channels = 16, .kernel = 1, .kernels = 96, .stride = 1, .add = true,
	.out_width = 7, .out_height = 10, .real = 96, .addend_offset = 2, .addend_scale = 1 << 16 | 3,
};

static void test_add(void)
{
	/* (e + 2) * 3 / 2 of -5, -3, -1, 1, 3: -4.5, -1.5, 1.5, 4.5, 7.5 */
	static const int rounded[] = { -4, -2, 2, 4, 8 };
	struct stage *s = start(&added);
	bool good;

	for (uint32_t channel = 0; channel < 96; channel++) {
		s->bias[channel] = channel / 16;
		*weight(s, channel, 0, 0) = 1;
		for (uint32_t pixel = 0; pixel < ADDED_PIXELS; pixel++)
			*addend(s, channel, pixel) = 2 * (int)((channel + channel / 16 + pixel) % 5) - 5;
	}
	for (uint32_t pixel = 0; pixel < ADDED_PIXELS; pixel++)
		*in(s, 0, pixel) = pixel;
	good = !run(s);
	for (uint32_t channel = 0; channel < 96; channel++)
		for (uint32_t pixel = 0; pixel < ADDED_PIXELS; pixel++)
			good &= out(s, channel, pixel) == (int)(pixel + channel / 16) +
							  rounded[(channel + channel / 16 + pixel) % 5];
	ok(good, "an addend for every channel of every pixel, converted");
	finish(s);
}

/* Rows of a whole that has more of them: the notch leads over the others. */
static void test_add_rows(void)
{
	struct conv c = added;
	struct stage *s;
	bool good;

	c.height = c.out_height = 1;
	c.addend_offset = 0;
	c.addend_scale = 1;
	s = start(&c);
	/* The second row of two, 7 pixels each. */
	rig_patch(&s->program, 0x5018, ADDENDS + 7 * 16);
	rig_patch(&s->program, 0x5038, ADDENDS + (14 + 7) * 16);
	rig_patch(&s->program, 0x5040, 14 * 16);
	rig_patch(&s->program, 0x504c, (14 + 7) * 16);
	rig_patch(&s->program, 0x506c, (14 + 7) * 16);
	for (uint32_t channel = 0; channel < 96; channel++)
		for (uint32_t pixel = 0; pixel < 14; pixel++)
			*at(s->addends, 14, channel, pixel) = channel + (pixel < 7 ? -100 : (int)pixel);
	good = !run(s);
	for (int channel = 0; channel < 96; channel++)
		for (int pixel = 0; pixel < 7; pixel++)
			good &= out(s, channel, pixel) == channel + 7 + pixel;
	ok(good, "addends of some rows");
	finish(s);
}

/* Two surfaces only, each at its own base: nothing is stepped over. */
static void test_add_two(void)
{
	struct conv c = added;
	struct stage *s;

	c.kernels = c.real = 32;
	c.addend_offset = 0;
	c.addend_scale = 1;
	s = start(&c);
	rig_patch(&s->program, 0x5038, ADDENDS + 16 * 100);
	rig_patch(&s->program, 0x5040, 16);
	rig_patch(&s->program, 0x504c, 32);
	rig_patch(&s->program, 0x506c, 32);
	s->addends[69 * 16 + 15] = 5;
	s->addends[(100 + 69) * 16 + 15] = 6;
	ok(!run(s) && out(s, 15, 69) == 5 && out(s, 31, 69) == 6, "addends of two surfaces lie anywhere");
	finish(s);
}

/* --- one channel ------------------------------------------------------------------------------------ */

static const struct conv one_channel = {
	.width = 20, .height = 2, .channels = 16, .kernel = 1, .kernels = 32, .stride = 1, .pixels = true,
	.line = 27, .out_width = 20, .out_height = 2, .real = 32,
};

/* Pixel (x, y) is 100 + x + 60 y. */
static void fill_pixels(struct stage *s)
{
	for (uint32_t y = 0; y < s->c.height; y++)
		for (uint32_t x = 0; x < s->c.line; x++)
			s->input[y * s->c.line + x] = 100 + x + 60 * y;
}

static void test_one_channel(void)
{
	struct stage *s = start(&one_channel);

	fill_pixels(s);
	*weight(s, 0, 0, 0) = 1;
	ok(!run(s) && out(s, 0, 0) == -28 && out(s, 0, 19) == -9 && out(s, 0, 20) == 32 && out(s, 0, 39) == 51,
	   "pixels are unsigned bytes, less 128");
	for (int channel = 1; channel < 16; channel++)
		*weight(s, 0, channel, 0) = -1;
	*weight(s, 0, 0, 0) = 2;
	rig_patch(&s->program, 0x4054, 1);
	ok(!run(s) && out(s, 0, 0) == -84 && out(s, 0, 20) == 96, "channels that are not there cancel");
	rig_patch(&s->program, 0x4054, 0);
	rig_patch(&s->program, 0x4088, 4);
	/* -56 + 15 * 128 = 1864, 64 + 15 * 128 = 1984 */
	ok(!run(s) && out(s, 0, 0) == 116 && out(s, 0, 20) == 124, "or do not, where nothing cancels them");
	finish(s);
}

static void test_converter(void)
{
	struct stage *s = start(&one_channel);

	fill_pixels(s);
	*weight(s, 0, 0, 0) = 1;
	rig_patch(&s->program, 0x104c, SHIFTS(15));
	for (int lane = 0; lane < 4; lane++)
		rig_patch(&s->program, 0x1050 + 4 * lane, 32388u << 16 | 0xff80);
	/* 100 * 0.988403 = 98.84, 160 * 0.988403 = 158.14 */
	ok(!run(s) && out(s, 0, 0) == -29 && out(s, 0, 20) == 30, "pixels are scaled and rounded");
	for (int lane = 0; lane < 4; lane++)
		rig_patch(&s->program, 0x1050 + 4 * lane, 32767u << 16);
	ok(!run(s) && out(s, 0, 0) == 100 && out(s, 0, 20) == 127, "and saturated");
	finish(s);
}

static void test_narrow_line(void)
{
	struct conv c = one_channel;
	struct stage *s;

	c.width = c.line = 16;
	c.kernel = 3;
	c.pad = 1;
	c.pad_value = 0xffffff85;
	c.out_width = 10;
	s = start(&c);
	fill_pixels(s);
	rig_patch(&s->program, 0x1084, 10 << 16 | 2);
	*weight(s, 0, 0, 5) = 1;		/* one to the right */
	*weight(s, 1, 0, 1) = 1;		/* one above */
	ok(!run(s) && out(s, 0, 0) == -27 && out(s, 0, 9) == -18 && out(s, 1, 0) == -123 && out(s, 1, 10) == -28,
	   "a line of less than sixteen is stored with sixteen");
	rig_patch(&s->program, 0x1084, 17 << 16 | 2);
	ok(run(s) == NPU_HANG_UNSUPPORTED, "not with less than it has");
	finish(s);
}

/* --- programs that hand over weights ------------------------------------------------------------------ */

static void spoil_weights(struct rig *rig)
{
	static const int8_t zeros[16 * 32];

	rig_put(rig, WEIGHTS, zeros, sizeof(zeros));
}

/* One row each of two, in one chain; behind the first, memory holds other weights. */
static void test_rows(void)
{
	struct conv c = plain;
	struct rig_program second;
	struct stage *s;
	bool good;

	c.width = c.out_width = 16;
	s = start(&c);
	s->rig.program_done = spoil_weights;
	for (int pixel = 0; pixel < 32; pixel++)
		s->input[pixel * 16] = pixel;
	for (int kernel = 0; kernel < 32; kernel++)
		*weight(s, kernel, 0, 0) = 1;
	second = emit(&c);
	rig_patch(&second, 0x1070, INPUT + 16 * 16);
	rig_patch(&second, 0x1040, 0x20a2);
	rig_patch(&second, 0x4020, OUTPUT + 16 * 16);
	rig_patch(&second, 0x4024, 32 * 16);
	rig_put_program(&s->rig, PROGRAM + PROGRAM_STEP, &second);
	s->program.count -= ORK_PROGRAM_TAIL_WORDS;
	emit_tail(&s->program, PROGRAM + PROGRAM_STEP, ORK_PC_AMOUNT(second.count));
	rig_patch(&s->program, 0x4024, 32 * 16);
	put(s);
	good = !rig_run(&s->rig, PROGRAM, s->program.count, 2) && s->rig.rises == 1 && s->rig.programs == 2;
	good &= rig_read(&s->rig, ORK_RDMA_S_POINTER) == 0xe;
	rig_get(&s->rig, OUTPUT, s->output, sizeof(s->output));
	for (int channel = 0; channel < 32; channel++)
		for (int pixel = 0; pixel < 32; pixel++)
			good &= *at(s->output, 32, channel, pixel) == pixel;
	ok(good, "a chain of two gives rows of one tensor, with weights fetched once");
	finish(s);
}

/* --- operands in memory -------------------------------------------------------------------------------- */

static void test_stale_operands(void)
{
	static const int8_t dirty = 9;
	static const int32_t other = 7;
	struct stage *s = start(&added);
	struct npu_report before, after;
	bool good;

	rig_patch(&s->program, 0x4074, 0);
	rig_patch(&s->program, 0x4078, 1);
	put(s);
	npu_cache_report(s->rig.cache, &before);
	rig_store(&s->rig, BIAS + 4, &other, sizeof(other));
	rig_store(&s->rig, ADDENDS, &dirty, sizeof(dirty));
	good = !rig_run(&s->rig, PROGRAM, s->program.count, 1);
	rig_get(&s->rig, OUTPUT, s->output, sizeof(s->output));
	npu_cache_report(s->rig.cache, &after);
	ok(good && after.stale_by_block[NPU_BLOCK_RDMA] - before.stale_by_block[NPU_BLOCK_RDMA] == 2 &&
	   after.stale_reads - before.stale_reads == 2 && !out(s, 0, 0) && !out(s, 1, 0),
	   "bias and addends come from DRAM, and stale ones are reported as theirs");
	finish(s);
}

static void test_missing(const char *what, uint32_t reg)
{
	struct stage *s = start(&added);
	struct npu_core_stats stats;

	rig_patch(&s->program, reg, 0x70000000);
	if (reg == ORK_RDMA_SRC_BASE_ADDR)
		rig_patch(&s->program, ORK_RDMA_EW_BASE_ADDR, 0x70000000 + ADDED_PIXELS * 16);
	put(s);
	rig_kick(&s->rig, PROGRAM, s->program.count, 1);
	npu_core_run(s->rig.core);
	npu_core_stats(s->rig.core, &stats);
	ok(stats.hang == NPU_HANG_FAULT && stats.faults == 1 &&
	   rig_read(&s->rig, ORK_PC_INTERRUPT_RAW_STATUS) == ORK_INT_DMA_READ_ERROR,
	   "%s that nothing is mapped for: a fault", what);
	finish(s);
}

/* --- what is not known ----------------------------------------------------------------------------------- */

struct bad {
	const char *what;
	const struct conv *c;
	uint32_t reg, value;
};

static void run_bad(const struct bad *bad)
{
	struct stage *s = start(bad->c);
	enum npu_hang good = run(s), hang;

	s->rig.rises = 0;
	rig_patch(&s->program, bad->reg, bad->value);
	hang = run(s);
	ok(!good && hang == NPU_HANG_UNSUPPORTED && !s->rig.rises, "%s hangs (%s)", bad->what, npu_hang_name(hang));
	finish(s);
}

static void test_bad(void)
{
	const struct conv dw = depthwise_conv(64);
	const struct bad cases[] = {
		{ "a bias of the program's own", &plain, 0x4040, 0x20050 },
		{ "a bias that is subtracted", &plain, 0x4040, 0x40150 },
		{ "a ReLU", &plain, 0x4040, 0x20110 },
		{ "a clamp", &plain, 0x4040, 0x201d0 },
		{ "a scale for each channel", &plain, 0x4040, 0x20140 },
		{ "a bias that is read and not added", &plain, 0x4040, 0x53 },
		{ "a bias that is added and not read", &plain, 0x501c, 0 },
		{ "more than a bias", &plain, 0x501c, 7 << 1 },
		{ "a bias at an odd address", &plain, 0x5020, BIAS + 4 },
		{ "operands of the BN stage", &plain, 0x5028, 2 },
		{ "operands of fewer columns", &plain, 0x500c, 3 },
		{ "operands of more rows", &plain, 0x5010, 1 },
		{ "operands with a line notch", &plain, 0x5010, 0x10000 },
		{ "operands of fewer channels", &plain, 0x5014, 15 },
		{ "operands of depthwise channels", &plain, 0x5044, 0x7816 },
		{ "operands of int16", &plain, 0x5044, 0xf810 },
		{ "operands that fly by", &plain, 0x5044, 0x7811 },
		{ "MRDMA without need", &plain, 0x5044, 0x7800 },
		{ "ERDMA without need", &plain, 0x5034, 0x40000004 },
		{ "un-pooling", &plain, 0x5048, 0x1000 },
		{ "padding of operands", &plain, 0x5064, 1 },
		{ "an OW operand for each channel", &plain, 0x4050, 0x125 },
		{ "a fused addition that is not read", &plain, 0x4070, 0x904202c0 },
		{ "addends that are not added", &added, 0x4070, 0x383 },
		{ "a product in place of a sum", &added, 0x4070, 0x904202c4 },
		{ "a maximum", &added, 0x4070, 0x904002c0 },
		{ "a scale before the offset", &added, 0x4070, 0x104202c0 },
		{ "another rounding of addends", &added, 0x4070, 0xd04202c0 },
		{ "addends as they are", &added, 0x4070, 0x904203c0 },
		{ "addends of the program's own", &added, 0x4070, 0x90420280 },
		{ "addends of int16", &added, 0x5034, 0x40000008 },
		{ "addends for each channel", &added, 0x5034, 0x00000004 },
		{ "addends without alignment", &added, 0x5034, 0x50000004 },
		{ "addends of ERDMA alone", &added, 0x5044, 0x7810 },
		{ "addends that are not shared", &added, 0x5044, 0x7c00 },
		{ "addends at an odd address", &added, 0x5018, ADDENDS + 8 },
		{ "surfaces that do not follow each other", &added, 0x5040, 15 * 16 },
		{ "an odd surface elsewhere", &added, 0x5038, ADDENDS + 71 * 16 },
		{ "another notch of MRDMA", &added, 0x504c, 15 * 16 },
		{ "another notch of ERDMA", &added, 0x506c, 15 * 16 },
		{ "a negative scale of addends", &added, 0x4078, 0x8000 },
		{ "a shift behind the addition", &added, 0x4078, 0x00400001 },
		{ "depthwise in the CNA alone", &plain, 0x100c, 3 },
		{ "depthwise in CORE alone", &plain, 0x3010, 3 },
		{ "depthwise in the DPU alone", &plain, 0x400c, 0x1fc },
		{ "depthwise not in the CNA", &dw, 0x100c, 0 },
		{ "depthwise not in CORE", &dw, 0x3010, 1 },
		{ "depthwise not in the DPU", &dw, 0x400c, 0x1e4 },
		{ "depthwise not in DPU_RDMA", &dw, 0x5044, 0x7810 },
		{ "two depthwise kernels", &dw, 0x1038, 0x03030002 },
		{ "depthwise groups of 32", &dw, 0x4050, 0x124 },
		{ "another mode of convolution", &plain, 0x100c, 1 },
		{ "a kernel too many", &plain, 0x1038, 0x01010021 },
		{ "eight channels", &plain, 0x1024, 7 << 16 | 8 },
		{ "an atom of three channels", &one_channel, 0x100c, 0x6000a000 },
		{ "pixels in groups of lines", &one_channel, 0x100c, 0x40008000 },
		{ "pixels with alignment", &one_channel, 0x100c, 0x20008000 },
		{ "channels without alignment", &plain, 0x100c, 0x60000000 },
		{ "a surface of fewer lines of pixels", &one_channel, 0x1080, 26 },
		{ "a negative surface of pixels", &one_channel, 0x1080, 0x0fffffe5 },
		{ "pixels of two channels", &one_channel, 0x1024, 1 << 16 | 16 },
		{ "pixels as they are", &one_channel, 0x104c, 0xb },
		{ "an offset before the scale of pixels", &one_channel, 0x104c, SHIFTS(14) | 2 },
		{ "another rounding of pixels", &one_channel, 0x104c, SHIFTS(14) | 4 },
		{ "signed pixels", &one_channel, 0x104c, SHIFTS(14) | 8 },
		{ "a lane of another shift", &one_channel, 0x104c, 13u << 22 | 14 << 16 | 14 << 10 | 14 << 4 },
		{ "a lane of another scale", &one_channel, 0x1058, 16383u << 16 | 0xff80 },
		{ "a negative scale of pixels", &one_channel, 0x1050, 0x8000ff80 },
		{ "a lane that is off", &one_channel, 0x1180, 0x7fff },
		{ "a conversion of channels", &plain, 0x104c, 0xa },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		run_bad(&cases[i]);
}

static void test_formats(void)
{
	struct stage *s = start(&plain);

	rig_patch(&s->program, 0x4010, 0x80000000);
	rig_patch(&s->program, 0x4050, 0x7fc);
	ok(run(s) == NPU_HANG_UNSUPPORTED, "a bias of int32 output hangs");
	finish(s);
}

static void test_enables(void)
{
	struct stage *s = start(&plain);

	s->program.words[s->program.count - 1] = ORK_REGCMD(ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE, 0xd);
	ok(run(s) == NPU_HANG_UNSUPPORTED, "a bias without DPU_RDMA hangs");
	rig_recover(&s->rig);
	rig_patch(&s->program, 0x4040, 0x53);
	ok(!run(s) && !out(s, 0, 0), "no bias needs none");
	s->program.words[s->program.count - 1] = ORK_REGCMD(ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE, 0x1d);
	rig_patch(&s->program, 0x501c, 0);
	ok(run(s) == NPU_HANG_UNSUPPORTED, "DPU_RDMA with nothing to read hangs");
	finish(s);
	s = start(&added);
	rig_patch(&s->program, 0x4040, 0x53);
	rig_patch(&s->program, 0x501c, 2 << 1);
	ok(run(s) == NPU_HANG_UNSUPPORTED, "OW operands from memory hang");
	rig_recover(&s->rig);
	rig_patch(&s->program, 0x501c, 0);
	ok(!run(s) && out(s, 0, 0) == 3, "addends need no bias");
	finish(s);
}

int main(void)
{
	test_bias();
	test_saturation();
	test_ow();
	test_truncate();
	test_pad_value();
	test_padding_counts();
	test_strides();
	test_parts(16, 32, 32, 1);
	test_parts(48, 34, 33, 1);
	test_parts(80, 64, 64, 3);
	test_parts(16, 2, 1, 3);
	/* More weights than a whole group of such kernels could have. */
	test_parts(1264, 4, 4, 3);
	test_pending();
	test_depthwise(16);
	test_depthwise(32);
	test_depthwise(64);
	test_depthwise(112);
	test_depthwise_ow();
	test_add();
	test_add_rows();
	test_add_two();
	test_one_channel();
	test_converter();
	test_narrow_line();
	test_rows();
	test_stale_operands();
	test_missing("a bias", ORK_RDMA_BS_BASE_ADDR);
	test_missing("addends", ORK_RDMA_SRC_BASE_ADDR);
	test_bad();
	test_formats();
	test_enables();
	return test_result();
}

/* SPDX-License-Identifier: MIT */
/* Programs known from real boards, run on data of our own. */
#include <errno.h>

#include "rig.h"

#define PROGRAM		0x08000000u
#define LINE_BYTES	256

static const char *directory;

static FILE *open_vectors(const char *name)
{
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	if (!file) {
		fprintf(stderr, "%s: %s (the first argument names the folder of the vectors)\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	return file;
}

/* --- matrix products -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	uint32_t in, out;
} types[] = {
	{ "fp16_fp32", ORK_PRECISION_FP16, ORK_PRECISION_FP32 },
	{ "fp16_fp16", ORK_PRECISION_FP16, ORK_PRECISION_FP16 },
	{ "int8_int32", ORK_PRECISION_INT8, ORK_PRECISION_INT32 },
};

/* What its emitter's own driver call fetches of the 112 words. */
#define FETCHED_WORDS	108u
#define CANARY		0xa5

static void run_matmul(const char *type, const struct rig_matmul *m, const struct rig_program *program)
{
	size_t c_len = rig_extent(m->out, 0, m->m, m->n);
	uint8_t *c = rig_alloc(c_len + RIG_PAGE, 1);
	struct rig_operands op;
	enum npu_hang hang;
	struct rig rig;
	bool clean = true;

	rig_init(&rig, 96 << 20, NPU_CACHE_STRICT);
	memset(c, CANARY, c_len + RIG_PAGE);
	rig_put(&rig, m->c, c, c_len + RIG_PAGE);
	op = rig_fill(&rig, m);
	rig_put_program(&rig, PROGRAM, program);
	hang = rig_run(&rig, PROGRAM, FETCHED_WORDS, 1);
	rig_get(&rig, m->c, c, c_len + RIG_PAGE);
	for (size_t i = c_len; i < c_len + RIG_PAGE; i++)
		clean &= c[i] == CANARY;
	ok(!hang && rig.rises == 1 && clean && rig_product(&rig, m, op), "%s %u x %u x %u is the product", type, m->m,
	   m->k, m->n);
	rig_free_operands(op);
	rig_fini(&rig);
	free(c);
}

static void test_matmuls(void)
{
	FILE *file = open_vectors("matmul-known-good.tsv");
	struct rig_program program = { 0 };
	char line[LINE_BYTES], type[16];
	unsigned int index, target, reg, value;
	struct rig_matmul m = { .a = 0x10000000, .b = 0x20000000, .c = 0x30000000 };

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%15s %u %u %u %u %x %x %x", type, &m.m, &m.k, &m.n, &index, &target, &reg,
			   &value) != 8)
			continue;
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			if (!strcmp(type, types[i].name)) {
				m.in = types[i].in;
				m.out = types[i].out;
			}
		rig_word(&program, target, reg, value);
		if (program.count != RIG_WORDS)
			continue;
		run_matmul(type, &m, &program);
		program.count = 0;
	}
	fclose(file);
}

/* --- convolutions: what was captured ---------------------------------------------------------- */

#define MAX_PROGRAMS	16u
#define MAX_WORDS	112u
#define MAX_CORES	3u

struct program {
	uint32_t enable, interrupts, iova, count;	/* as submitted; the tail counted */
	uint64_t words[MAX_WORDS];
};

/*
 * Square inputs and kernels, stride 1, no padding. Programs come in the order in which they were
 * submitted: the chain for one core, two chains for two cores, three for three.
 */
static const struct shape {
	const char *file;
	uint32_t channels, size, kernels, kernel;
	uint32_t programs;				/* that compute, of a chain for one core, and for two */
	bool by_kernels[MAX_CORES + 1];			/* how many cores share it: by kernels, or by rows */
} shapes[] = {
	{ "fp16-1x1-c256-h14-oc512.tsv", 256, 14, 512, 1, 1, { [2] = true } },
	{ "fp16-1x1-c64-h56-oc128.tsv", 64, 56, 128, 1, 2, { [2] = true } },
	{ "fp16-3x3-c32-h14-oc128.tsv", 32, 14, 128, 3, 1, { [2] = true } },
	{ "fp16-3x3-c160-h7-oc320.tsv", 160, 7, 320, 3, 1, { [2] = true, [3] = true } },
};

struct capture {
	const struct shape *shape;
	struct program programs[MAX_PROGRAMS];
	uint32_t count;
};

static void take_word(struct capture *c, uint32_t iova, uint64_t word)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct program *p = &c->programs[i];

		if (iova >= p->iova && iova < p->iova + p->count * sizeof(word))
			p->words[(iova - p->iova) / sizeof(word)] = word;
	}
}

/* Programs are told of before words. */
static void load_capture(struct capture *c, const struct shape *shape)
{
	FILE *file = open_vectors(shape->file);
	unsigned int enable, interrupts, amount, iova;
	unsigned long long word;
	char line[LINE_BYTES];

	*c = (struct capture) { .shape = shape };
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "task %*u enable %x int %x amount %u iova %x", &enable, &interrupts, &amount,
			   &iova) == 4 && c->count < MAX_PROGRAMS)
			c->programs[c->count++] = (struct program) {
				.enable = enable,
				.interrupts = interrupts,
				.iova = iova,
				.count = amount + ORK_PROGRAM_TAIL_WORDS,
			};
		if (sscanf(line, "word %x %llx", &iova, &word) == 2)
			take_word(c, iova, word);
	}
	fclose(file);
}

/* What a program sets a register to at last. */
static uint32_t value_of(const struct program *p, uint32_t reg)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < p->count; i++)
		if (ORK_REGCMD_REG(p->words[i]) == reg && ORK_REGCMD_TARGET(p->words[i]) != ORK_TARGET_ENABLE)
			value = ORK_REGCMD_VALUE(p->words[i]);
	return value;
}

static bool computes(const struct program *p)
{
	return p->enable == (ORK_ENABLE_CNA | ORK_ENABLE_CORE | ORK_ENABLE_DPU);
}

/* Index of the first program of the chain for core @core of @cores. */
static uint32_t chain_start(const struct shape *s, uint32_t cores, uint32_t core)
{
	uint32_t of_two = s->programs + 1;

	return cores == 1 ? 0 : cores == 2 ? s->programs + core * of_two : s->programs + 2 * of_two + 2 * core;
}

/* How many of its programs compute. Chains for two and three cores have one more, of the PPU. */
static uint32_t chain_length(const struct shape *s, uint32_t cores)
{
	return cores < 3 ? s->programs : 1;
}

/* --- convolutions: links ---------------------------------------------------------------------- */

/*
 * Above the amount, in the links of chains for several cores and in no other, stands the number of
 * cores less one. The manual has no such bits.
 */
static bool link_is_whole(const struct program *p, const struct program *next, uint32_t cores)
{
	uint32_t amount = value_of(p, ORK_PC_REGISTER_AMOUNTS);

	if (!next)
		return !value_of(p, ORK_PC_BASE_ADDRESS) && !amount;
	return value_of(p, ORK_PC_BASE_ADDRESS) == next->iova && (amount & 0xffff) == ORK_PC_AMOUNT(next->count) &&
	       amount >> 16 == cores - 1;
}

/* The last two words, and what was submitted with them. */
static bool enable_is_whole(const struct program *p)
{
	uint64_t sync = p->words[p->count - 2], enable = p->words[p->count - 1];

	return sync == ORK_REGCMD(ORK_TARGET_SYNC, 0, 0) &&
	       enable == ORK_REGCMD(ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE, p->enable) &&
	       p->interrupts == (computes(p) ? ORK_INT_DPU : ORK_INT_PPU);
}

static bool chain_is_whole(const struct capture *c, uint32_t cores, uint32_t core)
{
	const struct program *p = &c->programs[chain_start(c->shape, cores, core)];
	uint32_t computing = chain_length(c->shape, cores), length = computing + (cores > 1);
	bool good = true;

	for (uint32_t i = 0; i < length; i++)
		good &= computes(&p[i]) == (i < computing) && enable_is_whole(&p[i]) &&
			link_is_whole(&p[i], i + 1 < length ? &p[i + 1] : NULL, cores);
	return good;
}

static void test_links(const struct capture *c)
{
	const struct shape *s = c->shape;
	bool good = c->count == chain_start(s, 3, 3);

	for (uint32_t cores = 1; good && cores <= MAX_CORES; cores++)
		for (uint32_t core = 0; core < cores; core++)
			good &= chain_is_whole(c, cores, core);
	ok(good, "%s: %u programs in six chains, each linked to its end", s->file, c->count);
}

/* --- convolutions: the PPU's programs --------------------------------------------------------- */

/*
 * All that they set: a maximum over windows of one element, of one pixel of two atoms of bytes.
 * It copies 32 bytes.
 */
static const struct {
	uint32_t target, reg, value;
} copy[] = {
	{ ORK_TARGET_PPU, ORK_PPU_S_POINTER, 0xe },
	{ ORK_TARGET_PPU_RDMA, ORK_PPU_RDMA_S_POINTER, 0xe },
	{ ORK_TARGET_PPU, ORK_PPU_DATA_CUBE_IN_WIDTH, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_DATA_CUBE_IN_HEIGHT, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_DATA_CUBE_IN_CHANNEL, 31 },
	{ ORK_TARGET_PPU, ORK_PPU_DATA_CUBE_OUT_WIDTH, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_DATA_CUBE_OUT_HEIGHT, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_DATA_CUBE_OUT_CHANNEL, 31 },
	{ ORK_TARGET_PPU, ORK_PPU_OPERATION_MODE_CFG, 0x11 },
	{ ORK_TARGET_PPU, ORK_PPU_POOLING_KERNEL_CFG, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_RECIP_KERNEL_WIDTH, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_RECIP_KERNEL_HEIGHT, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_POOLING_PADDING_CFG, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_PADDING_VALUE_1_CFG, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_PADDING_VALUE_2_CFG, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_DST_BASE_ADDR, 0 },
	{ ORK_TARGET_PPU, ORK_PPU_DST_SURF_STRIDE, 16 },
	{ ORK_TARGET_PPU, ORK_PPU_DATA_FORMAT, 16 },
	{ ORK_TARGET_PPU, ORK_PPU_MISC_CTRL, 3 },
	{ ORK_TARGET_PPU_RDMA, ORK_PPU_RDMA_CUBE_IN_WIDTH, 0 },
	{ ORK_TARGET_PPU_RDMA, ORK_PPU_RDMA_CUBE_IN_HEIGHT, 0 },
	{ ORK_TARGET_PPU_RDMA, ORK_PPU_RDMA_CUBE_IN_CHANNEL, 31 },
	{ ORK_TARGET_PPU_RDMA, ORK_PPU_RDMA_SRC_BASE_ADDR, 0 },
	{ ORK_TARGET_PPU_RDMA, ORK_PPU_RDMA_SRC_LINE_STRIDE, 16 },
	{ ORK_TARGET_PPU_RDMA, ORK_PPU_RDMA_SRC_SURF_STRIDE, 16 },
	{ ORK_TARGET_PPU_RDMA, ORK_PPU_RDMA_DATA_FORMAT, 1 },
};

#define COPY_WORDS	(sizeof(copy) / sizeof(copy[0]))

static bool is_copy(const struct program *p, uint32_t from, uint32_t to)
{
	bool good = p->count == COPY_WORDS + ORK_PROGRAM_TAIL_WORDS;

	for (uint32_t i = 0; good && i < COPY_WORDS; i++) {
		uint32_t value = copy[i].reg == ORK_PPU_DST_BASE_ADDR ? to :
				 copy[i].reg == ORK_PPU_RDMA_SRC_BASE_ADDR ? from : copy[i].value;

		good &= p->words[i] == ORK_REGCMD(copy[i].target, copy[i].reg, value);
	}
	return good;
}

/*
 * Source and destination are the same in all of them, between the weights and the first program:
 * no result passes from core to core.
 */
static void test_copies(const struct capture *c)
{
	uint32_t weights = value_of(&c->programs[0], ORK_CNA_DCOMP_ADDR0);
	uint32_t behind = weights + value_of(&c->programs[0], ORK_CNA_WEIGHT_SIZE0), count = 0;
	bool good = behind + 0x800 == c->programs[0].iova;

	for (uint32_t i = 0; i < c->count; i++)
		if (!computes(&c->programs[i])) {
			good &= is_copy(&c->programs[i], behind + 0x400, behind);
			count++;
		}
	ok(good && count == 5, "%s: the %u programs of the PPU copy the same 32 bytes behind the weights",
	   c->shape->file, count);
}

/* --- convolutions: data ----------------------------------------------------------------------- */

#define UNTOUCHED	0xa5a5u

/* [channel][y][x] and [kernel][channel][y][x], random; and the convolution: [kernel][y][x]. */
struct tensors {
	double *input, *weights;
	double *want, *magnitude;
};

static uint32_t out_size(const struct shape *s)
{
	return s->size - s->kernel + 1;
}

/* Pixels of a surface of the output: a multiple of four. */
static uint32_t out_area(const struct shape *s)
{
	return (out_size(s) * out_size(s) + 3) / 4 * 4;
}

static size_t surface_index(uint32_t area, uint32_t channel, uint32_t pixel)
{
	return ((size_t)(channel / 8) * area + pixel) * 8 + channel % 8;
}

static void put_input(struct rig *rig, const struct shape *s, uint32_t iova, double *values)
{
	uint32_t area = s->size * s->size;
	uint16_t *raw = rig_alloc((size_t)area * s->channels, sizeof(*raw));

	for (uint32_t channel = 0; channel < s->channels; channel++)
		for (uint32_t pixel = 0; pixel < area; pixel++) {
			uint16_t *at = &raw[surface_index(area, channel, pixel)];

			*values++ = rig_random_element(ORK_PRECISION_FP16, (uint8_t *)at);
		}
	rig_put(rig, iova, raw, (size_t)area * s->channels * sizeof(*raw));
	free(raw);
}

/* [kernel / 16][channel / 32][y][x][16][32] */
static void put_weights(struct rig *rig, const struct shape *s, uint32_t iova, double *values)
{
	uint32_t area = s->kernel * s->kernel;
	size_t count = (size_t)s->kernels * s->channels * area;
	uint16_t *raw = rig_alloc(count, sizeof(*raw));

	for (uint32_t kernel = 0; kernel < s->kernels; kernel++)
		for (uint32_t channel = 0; channel < s->channels; channel++)
			for (uint32_t pixel = 0; pixel < area; pixel++) {
				size_t tiles = (size_t)(kernel / 16) * (s->channels / 32) + channel / 32;
				size_t tile = tiles * area + pixel;
				size_t at = (tile * 16 + kernel % 16) * 32 + channel % 32;

				*values++ = rig_random_element(ORK_PRECISION_FP16, (uint8_t *)&raw[at]);
			}
	rig_put(rig, iova, raw, count * sizeof(*raw));
	free(raw);
}

static void clear_output(struct rig *rig, const struct capture *c)
{
	size_t len = (size_t)out_area(c->shape) * c->shape->kernels * sizeof(uint16_t);
	uint8_t *raw = rig_alloc(len, 1);

	memset(raw, UNTOUCHED & 0xff, len);
	rig_put(rig, value_of(&c->programs[0], ORK_DPU_DST_BASE_ADDR), raw, len);
	free(raw);
}

static void convolve(const struct shape *s, const struct tensors *t, uint32_t kernel, uint32_t y, uint32_t x)
{
	size_t point = ((size_t)kernel * out_size(s) + y) * out_size(s) + x;
	double want = 0, magnitude = 0;

	for (uint32_t channel = 0; channel < s->channels; channel++)
		for (uint32_t ky = 0; ky < s->kernel; ky++)
			for (uint32_t kx = 0; kx < s->kernel; kx++) {
				double a = t->input[((size_t)channel * s->size + y + ky) * s->size + x + kx];
				size_t plane = (size_t)kernel * s->channels + channel;
				double b = t->weights[(plane * s->kernel + ky) * s->kernel + kx];

				want += a * b;
				magnitude += a * b > 0 ? a * b : -a * b;
			}
	t->want[point] = want;
	t->magnitude[point] = magnitude;
}

static struct tensors put_tensors(struct rig *rig, const struct capture *c)
{
	const struct shape *s = c->shape;
	size_t points = (size_t)s->kernels * out_size(s) * out_size(s);
	struct tensors t = {
		rig_alloc((size_t)s->channels * s->size * s->size, sizeof(double)),
		rig_alloc((size_t)s->kernels * s->channels * s->kernel * s->kernel, sizeof(double)),
		rig_alloc(points, sizeof(double)), rig_alloc(points, sizeof(double)),
	};

	put_input(rig, s, value_of(&c->programs[0], ORK_CNA_FEATURE_DATA_ADDR), t.input);
	put_weights(rig, s, value_of(&c->programs[0], ORK_CNA_DCOMP_ADDR0), t.weights);
	for (uint32_t kernel = 0; kernel < s->kernels; kernel++)
		for (uint32_t y = 0; y < out_size(s); y++)
			for (uint32_t x = 0; x < out_size(s); x++)
				convolve(s, &t, kernel, y, x);
	return t;
}

static void free_tensors(struct tensors t)
{
	free(t.input);
	free(t.weights);
	free(t.want);
	free(t.magnitude);
}

/* --- convolutions: parts ---------------------------------------------------------------------- */

/* Of the output: what one program gives. */
struct part {
	uint32_t row, rows, kernel, kernels;
};

/* By where it writes, and how much. */
static struct part part_of(const struct capture *c, const struct program *p)
{
	uint32_t surface = value_of(p, ORK_DPU_DST_SURF_STRIDE);
	uint32_t at = value_of(p, ORK_DPU_DST_BASE_ADDR) - value_of(&c->programs[0], ORK_DPU_DST_BASE_ADDR);

	return (struct part) {
		.row = at % surface / ORK_ATOM_BYTES / out_size(c->shape),
		.rows = value_of(p, ORK_DPU_DATA_CUBE_HEIGHT) + 1,
		.kernel = at / surface * 8,
		.kernels = ORK_GET(ORK_DPU_DATA_CUBE_CHANNEL_CHANNEL, value_of(p, ORK_DPU_DATA_CUBE_CHANNEL)) + 1,
	};
}

/*
 * Bits 31:28 of CONV_CON2, which the manual reserves: two cores by rows (in another capture) 1,
 * three by rows 2, two by kernels 4, three by kernels 5.
 */
static uint32_t split_code(const struct shape *s, uint32_t cores)
{
	static const uint32_t by_rows[] = { 0, 0, 1, 2 }, by_kernels[] = { 0, 0, 4, 5 };

	return s->by_kernels[cores] ? by_kernels[cores] : by_rows[cores];
}

static bool is_of_part(uint32_t reg)
{
	static const uint32_t regs[] = {
		ORK_PC_BASE_ADDRESS, ORK_PC_REGISTER_AMOUNTS, ORK_CNA_CONV_CON2, ORK_CNA_DATA_SIZE0,
		ORK_CNA_DATA_SIZE3, ORK_CNA_WEIGHT_SIZE0, ORK_CNA_WEIGHT_SIZE2, ORK_CNA_FEATURE_DATA_ADDR,
		ORK_CNA_FC_DATA_SIZE0, ORK_CNA_DCOMP_ADDR0, ORK_CORE_DATAOUT_SIZE_0, ORK_CORE_DATAOUT_SIZE_1,
		ORK_DPU_DST_BASE_ADDR, ORK_DPU_DATA_CUBE_HEIGHT, ORK_DPU_DATA_CUBE_CHANNEL, ORK_DPU_WDMA_SIZE_0,
		ORK_DPU_WDMA_SIZE_1,
	};

	for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		if (regs[i] == reg)
			return true;
	return false;
}

/* But for sizes, addresses, links and CONV_CON2, @p is the first program of the chain for one core. */
static bool rest_is_first(const struct capture *c, const struct program *p)
{
	bool same = true;

	for (uint32_t i = 0; i < p->count - 2; i++) {
		uint32_t reg = ORK_REGCMD_REG(p->words[i]);

		same &= is_of_part(reg) || ORK_REGCMD_VALUE(p->words[i]) == value_of(&c->programs[0], reg);
	}
	return same;
}

/* What it reads belongs to what it writes. */
static bool part_is_told_alike(const struct capture *c, const struct program *p, uint32_t cores)
{
	const struct program *first = &c->programs[0];
	const struct shape *s = c->shape;
	struct part part = part_of(c, p);
	uint32_t features = value_of(p, ORK_CNA_FEATURE_DATA_ADDR) - value_of(first, ORK_CNA_FEATURE_DATA_ADDR);
	uint32_t weights = value_of(p, ORK_CNA_DCOMP_ADDR0) - value_of(first, ORK_CNA_DCOMP_ADDR0);
	uint32_t each = s->kernel * s->kernel * s->channels * sizeof(uint16_t);

	return rest_is_first(c, p) && features == part.row * s->size * ORK_ATOM_BYTES &&
	       weights == part.kernel * each &&
	       value_of(p, ORK_CNA_DATA_SIZE0) == (s->size << 16 | (part.rows + s->kernel - 1)) &&
	       value_of(p, ORK_CNA_WEIGHT_SIZE0) == part.kernels * each &&
	       value_of(p, ORK_CNA_CONV_CON2) >> 28 == split_code(s, cores);
}

/* Every point lies in one of @parts. */
static bool parts_make_whole(const struct shape *s, const struct part *parts, uint32_t count)
{
	bool good = true;

	for (uint32_t kernel = 0; kernel < s->kernels; kernel++)
		for (uint32_t row = 0; row < out_size(s); row++) {
			uint32_t covered = 0;

			for (uint32_t i = 0; i < count; i++)
				covered += kernel - parts[i].kernel < parts[i].kernels &&
					   row - parts[i].row < parts[i].rows;
			good &= covered == 1;
		}
	return good;
}

static bool point_is_right(const struct shape *s, const struct tensors *t, uint32_t kernel, uint32_t pixel,
			   uint16_t half)
{
	size_t point = (size_t)kernel * out_size(s) * out_size(s) + pixel;

	return rig_close(ORK_PRECISION_FP16, rig_half(half), t->want[point], t->magnitude[point],
			 s->channels * s->kernel * s->kernel);
}

/* The output is the convolution in @part, and untouched elsewhere. */
static bool part_is_right(struct rig *rig, const struct capture *c, const struct tensors *t, struct part part)
{
	const struct shape *s = c->shape;
	size_t len = (size_t)out_area(s) * s->kernels * sizeof(uint16_t);
	uint16_t *raw = rig_alloc(len, 1);
	bool good = true;

	rig_get(rig, value_of(&c->programs[0], ORK_DPU_DST_BASE_ADDR), raw, len);
	for (uint32_t kernel = 0; kernel < s->kernels; kernel++)
		for (uint32_t pixel = 0; pixel < out_area(s); pixel++) {
			uint32_t row = pixel / out_size(s);
			uint16_t half = raw[surface_index(out_area(s), kernel, pixel)];

			if (kernel - part.kernel < part.kernels && row - part.row < part.rows)
				good &= point_is_right(s, t, kernel, pixel, half);
			else
				good &= half == UNTOUCHED;
		}
	free(raw);
	return good;
}

/* Programs @first.. of a chain, run in one kick. */
static bool runs(struct rig *rig, const struct program *first, uint32_t count)
{
	rig->rises = rig->programs = 0;
	if (!rig_run(rig, first->iova, first->count, count))
		return rig->rises == 1 && rig->programs == count;
	rig_recover(rig);
	return false;
}

/* Each chain for one core, and how much of it: what its programs give together. */
static void test_single_core(struct rig *rig, const struct capture *c, const struct tensors *t)
{
	struct part part = { 0, 0, 0, c->shape->kernels };

	for (uint32_t count = 1; count <= c->shape->programs; count++) {
		part.rows += part_of(c, &c->programs[count - 1]).rows;
		clear_output(rig, c);
		ok(runs(rig, &c->programs[0], count) && part_is_right(rig, c, t, part),
		   "%s: %u program(s) give %u rows of the convolution", c->shape->file, count, part.rows);
	}
}

static bool run_form(struct rig *rig, const struct capture *c, uint32_t cores)
{
	bool good = true;

	for (uint32_t core = cores; core-- > 0;)
		good &= runs(rig, &c->programs[chain_start(c->shape, cores, core)], chain_length(c->shape, cores));
	return good;
}

/*
 * The chains for several cores, on this one: each program alone, then all that compute, the last
 * core's first. The PPU is not modelled, so chains stop before its programs.
 */
static void test_cores(struct rig *rig, const struct capture *c, const struct tensors *t, uint32_t cores)
{
	struct part parts[MAX_PROGRAMS], everything = { 0, out_size(c->shape), 0, c->shape->kernels };
	uint32_t count = 0;
	bool alike = true;

	for (uint32_t core = 0; core < cores; core++)
		for (uint32_t i = 0; i < chain_length(c->shape, cores); i++) {
			const struct program *p = &c->programs[chain_start(c->shape, cores, core) + i];
			struct part *part = &parts[count++];

			*part = part_of(c, p);
			alike &= part_is_told_alike(c, p, cores);
			clear_output(rig, c);
			ok(runs(rig, p, 1) && part_is_right(rig, c, t, *part),
			   "%s: of core %u of %u, program %u gives rows %u + %u of kernels %u + %u, and nothing else",
			   c->shape->file, core, cores, i, part->row, part->rows, part->kernel, part->kernels);
		}
	clear_output(rig, c);
	ok(alike && parts_make_whole(c->shape, parts, count) && run_form(rig, c, cores) &&
	   part_is_right(rig, c, t, everything), "%s: the %u parts for %u cores make up the output, each point once",
	   c->shape->file, count, cores);
}

static void put_programs(struct rig *rig, const struct capture *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		rig_put(rig, c->programs[i].iova, c->programs[i].words, c->programs[i].count * sizeof(uint64_t));
}

static void test_capture(const struct shape *shape)
{
	struct capture *c = rig_alloc(1, sizeof(*c));
	struct tensors t;
	struct rig rig;

	load_capture(c, shape);
	test_links(c);
	test_copies(c);
	rig_init(&rig, 16 << 20, NPU_CACHE_STRICT);
	put_programs(&rig, c);
	t = put_tensors(&rig, c);
	test_single_core(&rig, c, &t);
	test_cores(&rig, c, &t, 2);
	test_cores(&rig, c, &t, 3);
	free_tensors(t);
	rig_fini(&rig);
	free(c);
}

int main(int argc, char **argv)
{
	char beside[1024] = __FILE__;
	char *end = strrchr(beside, '/');

	snprintf(end ? end + 1 : beside, sizeof(beside) - (end ? end + 1 - beside : 0), "vectors");
	directory = argc > 1 ? argv[1] : beside;
	test_matmuls();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		test_capture(&shapes[i]);
	return test_result();
}

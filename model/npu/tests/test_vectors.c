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

/* --- convolutions ----------------------------------------------------------------------------- */

static const struct capture {
	const char *file;
	uint32_t channels, size, kernels, kernel;	/* square inputs and kernels, stride 1, no padding */
	uint32_t tasks;					/* of the single-core form */
	uint32_t rows;					/* of output that its first task gives */
} captures[] = {
	{ "fp16-1x1-c256-h14-oc512.tsv", 256, 14, 512, 1, 1, 14 },
	{ "fp16-1x1-c64-h56-oc128.tsv", 64, 56, 128, 1, 2, 50 },
	{ "fp16-3x3-c32-h14-oc128.tsv", 32, 14, 128, 3, 1, 12 },
	{ "fp16-3x3-c160-h7-oc320.tsv", 160, 7, 320, 3, 1, 5 },
};

struct addresses {
	uint32_t program, words;		/* of task 0, its tail counted */
	uint32_t feature, weights, output;
};

static struct addresses load_capture(struct rig *rig, const char *name)
{
	FILE *file = open_vectors(name);
	struct addresses at = { 0 };
	unsigned long long word;
	unsigned int task, iova, amount;
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "task %u enable %*x int %*x amount %u iova %x", &task, &amount, &iova) == 3 && !task) {
			at.program = iova;
			at.words = amount + ORK_PROGRAM_TAIL_WORDS;
		}
		if (sscanf(line, "word %x %llx", &iova, &word) != 2)
			continue;
		rig_put(rig, iova, &(uint64_t) { word }, sizeof(uint64_t));
		if (iova >= at.program + at.words * sizeof(uint64_t))
			continue;
		if (ORK_REGCMD_REG(word) == ORK_CNA_FEATURE_DATA_ADDR)
			at.feature = ORK_REGCMD_VALUE(word);
		if (ORK_REGCMD_REG(word) == ORK_CNA_DCOMP_ADDR0)
			at.weights = ORK_REGCMD_VALUE(word);
		if (ORK_REGCMD_REG(word) == ORK_DPU_DST_BASE_ADDR)
			at.output = ORK_REGCMD_VALUE(word);
	}
	fclose(file);
	return at;
}

/* [channel][y][x] and [kernel][channel][y][x], random. */
struct tensors {
	double *input, *weights;
};

static size_t surface_index(uint32_t area, uint32_t channel, uint32_t pixel)
{
	return ((size_t)(channel / 8) * area + pixel) * 8 + channel % 8;
}

static void put_input(struct rig *rig, const struct capture *c, uint32_t iova, double *values)
{
	uint32_t area = c->size * c->size;
	uint16_t *raw = rig_alloc((size_t)area * c->channels, sizeof(*raw));

	for (uint32_t channel = 0; channel < c->channels; channel++)
		for (uint32_t pixel = 0; pixel < area; pixel++) {
			uint16_t *at = &raw[surface_index(area, channel, pixel)];

			*values++ = rig_random_element(ORK_PRECISION_FP16, (uint8_t *)at);
		}
	rig_put(rig, iova, raw, (size_t)area * c->channels * sizeof(*raw));
	free(raw);
}

/* [kernel / 16][channel / 32][y][x][16][32] */
static void put_weights(struct rig *rig, const struct capture *c, uint32_t iova, double *values)
{
	uint32_t area = c->kernel * c->kernel;
	size_t count = (size_t)c->kernels * c->channels * area;
	uint16_t *raw = rig_alloc(count, sizeof(*raw));

	for (uint32_t kernel = 0; kernel < c->kernels; kernel++)
		for (uint32_t channel = 0; channel < c->channels; channel++)
			for (uint32_t pixel = 0; pixel < area; pixel++) {
				size_t tiles = (size_t)(kernel / 16) * (c->channels / 32) + channel / 32;
				size_t tile = tiles * area + pixel;
				size_t at = (tile * 16 + kernel % 16) * 32 + channel % 32;

				*values++ = rig_random_element(ORK_PRECISION_FP16, (uint8_t *)&raw[at]);
			}
	rig_put(rig, iova, raw, count * sizeof(*raw));
	free(raw);
}

static bool point_is_right(const struct capture *c, struct tensors t, uint32_t kernel, uint32_t y, uint32_t x,
			   double got)
{
	double want = 0, magnitude = 0;

	for (uint32_t channel = 0; channel < c->channels; channel++)
		for (uint32_t ky = 0; ky < c->kernel; ky++)
			for (uint32_t kx = 0; kx < c->kernel; kx++) {
				double a = t.input[((size_t)channel * c->size + y + ky) * c->size + x + kx];
				size_t plane = (size_t)kernel * c->channels + channel;
				double b = t.weights[(plane * c->kernel + ky) * c->kernel + kx];

				want += a * b;
				magnitude += a * b > 0 ? a * b : -a * b;
			}
	return rig_close(ORK_PRECISION_FP16, got, want, magnitude, c->channels * c->kernel * c->kernel);
}

/* The first @rows rows of output are the convolution, the others are still zeros. */
static bool output_is_right(struct rig *rig, const struct capture *c, uint32_t iova, struct tensors t, uint32_t rows)
{
	uint32_t size = c->size - c->kernel + 1, area = (size * size + 3) / 4 * 4;
	uint16_t *raw = rig_alloc((size_t)area * c->kernels, sizeof(*raw));
	bool good = true;

	rig_get(rig, iova, raw, (size_t)area * c->kernels * sizeof(*raw));
	for (uint32_t kernel = 0; kernel < c->kernels; kernel++)
		for (uint32_t pixel = 0; pixel < area; pixel++) {
			uint16_t half = raw[surface_index(area, kernel, pixel)];

			if (pixel < rows * size)
				good &= point_is_right(c, t, kernel, pixel / size, pixel % size, rig_half(half));
			else
				good &= !half;
		}
	free(raw);
	return good;
}

static void run_capture(const struct capture *c, uint32_t tasks, uint32_t rows)
{
	uint32_t size = c->size - c->kernel + 1;
	struct addresses at;
	struct tensors t;
	enum npu_hang hang;
	struct rig rig;

	rig_init(&rig, 16 << 20, NPU_CACHE_STRICT);
	at = load_capture(&rig, c->file);
	t.input = rig_alloc((size_t)c->channels * c->size * c->size, sizeof(double));
	t.weights = rig_alloc((size_t)c->kernels * c->channels * c->kernel * c->kernel, sizeof(double));
	put_input(&rig, c, at.feature, t.input);
	put_weights(&rig, c, at.weights, t.weights);
	rig_map(&rig, at.output, (size_t)(size * size + 3) / 4 * 4 * c->kernels * sizeof(uint16_t));

	hang = rig_run(&rig, at.program, at.words, tasks);
	ok(!hang && rig.rises == 1 && rig.programs == tasks && output_is_right(&rig, c, at.output, t, rows),
	   "%s: %u task(s) give %u rows of the convolution", c->file, tasks, rows);
	free(t.input);
	free(t.weights);
	rig_fini(&rig);
}

int main(int argc, char **argv)
{
	char beside[1024] = __FILE__;
	char *end = strrchr(beside, '/');

	snprintf(end ? end + 1 : beside, sizeof(beside) - (end ? end + 1 - beside : 0), "vectors");
	directory = argc > 1 ? argv[1] : beside;
	test_matmuls();
	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++) {
		run_capture(&captures[i], 1, captures[i].rows);
		if (captures[i].tasks > 1)
			run_capture(&captures[i], captures[i].tasks, captures[i].size - captures[i].kernel + 1);
	}
	return test_result();
}

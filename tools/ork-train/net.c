// SPDX-License-Identifier: MIT
#include "net.h"

#include <stdlib.h>
#include <string.h>

#include "../common.h"
#include "../half.h"
#include "maths.h"

enum {
	/*
	 * N of an fp16 program is a multiple of 16, K of 32: the ten classes are padded with zeros
	 * to either.
	 */
	CLASSES_N = 16,
	CLASSES_K = 32,
};

/*
 * Gradients are carried to the NPU times this: a batch of 128 divides errors by 128, and what then
 * falls below 2^-14 would lose bits as a half. Errors are at most 1, so that the largest half is
 * far away for every batch.
 */
static const float loss_scale = 1024;

static const char *const product_names[PRODUCTS] = {
	[PRODUCT_HIDDEN] = "H = X W1",
	[PRODUCT_OUTPUT] = "O = H W2",
	[PRODUCT_GRAD_W2] = "dW2 = H' dO",
	[PRODUCT_GRAD_HIDDEN] = "dH = dO W2'",
	[PRODUCT_GRAD_W1] = "dW1 = X' dH",
};

static int product_error(const struct net *net, enum product_id id, int error)
{
	return tool_device_error(net->ork, error, product_names[id]);
}

static int product_init(struct ork *ork, struct product *product,
			const struct ork_matmul_desc *desc)
{
	int error;

	error = ork_matmul_create(ork, desc, &product->matmul);
	if (!error)
		error = ork_bo_create(ork, (uint64_t)desc->m * desc->k * sizeof(uint16_t), 0,
				      &product->a);
	if (!error)
		error = ork_bo_create(ork, (uint64_t)desc->m * desc->n * sizeof(float), 0,
				      &product->c);
	if (!error)
		error = ork_weights_create(ork, desc->type, desc->k, desc->n, &product->b);
	return error;
}

static void product_fini(struct product *product)
{
	ork_matmul_destroy(product->matmul);
	if (product->b)
		ork_weights_destroy(product->b);
	ork_bo_destroy(product->c);
	ork_bo_destroy(product->a);
}

int net_init(struct net *net, struct ork *ork, uint32_t batch, uint32_t cores,
	     enum ork_sync_mode sync)
{
	const struct ork_matmul_desc shapes[PRODUCTS] = {
		[PRODUCT_HIDDEN] = { .m = batch, .k = INPUTS, .n = HIDDEN },
		[PRODUCT_OUTPUT] = { .m = batch, .k = HIDDEN, .n = CLASSES_N },
		[PRODUCT_GRAD_W2] = { .m = HIDDEN, .k = batch, .n = CLASSES_N },
		[PRODUCT_GRAD_HIDDEN] = { .m = batch, .k = CLASSES_K, .n = HIDDEN },
		[PRODUCT_GRAD_W1] = { .m = INPUTS, .k = batch, .n = HIDDEN },
	};
	size_t rows = batch > INPUTS ? batch : INPUTS;

	*net = (struct net){ .ork = ork, .batch = batch };
	for (int id = 0; id < PRODUCTS; id++) {
		struct ork_matmul_desc desc = shapes[id];
		int error;

		desc.type = ORK_FP16_FP32;
		desc.cores = cores;
		desc.sync = sync;
		error = product_init(ork, &net->products[id], &desc);
		if (error) {
			product_error(net, id, error);
			net_fini(net);
			return TOOL_DEVICE;
		}
	}
	/*
	 * The largest B has HIDDEN columns, and a row for each digit of a batch or for each input.
	 */
	net->staging = malloc(rows * HIDDEN * sizeof(*net->staging));
	if (!net->staging) {
		tool_complain("out of memory");
		net_fini(net);
		return TOOL_DEVICE;
	}
	return TOOL_OK;
}

void net_fini(struct net *net)
{
	for (int id = 0; id < PRODUCTS; id++)
		product_fini(&net->products[id]);
	free(net->staging);
	*net = (struct net){ 0 };
}

static void *matrix_a(const struct net *net, enum product_id id)
{
	return ork_bo_data(net->products[id].a);
}

static const float *matrix_c(const struct net *net, enum product_id id)
{
	return ork_bo_data(net->products[id].c);
}

static int pack(struct net *net, enum product_id id, const uint16_t *b, size_t stride,
		uint32_t flags)
{
	int error = ork_weights_pack(net->products[id].b, b, stride, flags);

	return error ? product_error(net, id, error) : TOOL_OK;
}

/* Every A has been written by the CPU since its last product, and no C ever is. */
static int run(struct net *net, enum product_id id)
{
	struct product *product = &net->products[id];
	struct ork_matrix a = { .bo = product->a };
	struct ork_matrix c = { .bo = product->c, .flags = ORK_CPU_CLEAN };
	int error = ork_matmul_run(product->matmul, &a, product->b, &c);

	return error ? product_error(net, id, error) : TOOL_OK;
}

int net_load(struct net *net, const struct params *params)
{
	uint16_t *half = net->staging;
	int status;

	for (size_t i = 0; i < INPUTS * HIDDEN; i++)
		half[i] = half_from_float((&params->w1[0][0])[i]);
	status = pack(net, PRODUCT_HIDDEN, half, HIDDEN, 0);
	if (status)
		return status;

	/*
	 * One copy of W2 serves both products: padded to CLASSES_K columns it is also padded to
	 * CLASSES_N.
	 */
	memset(half, 0, HIDDEN * CLASSES_K * sizeof(*half));
	for (size_t i = 0; i < HIDDEN; i++)
		for (size_t j = 0; j < CLASSES; j++)
			half[i * CLASSES_K + j] = half_from_float(params->w2[i][j]);
	status = pack(net, PRODUCT_OUTPUT, half, CLASSES_K, 0);
	if (status)
		return status;
	return pack(net, PRODUCT_GRAD_HIDDEN, half, CLASSES_K, ORK_TRANSPOSED);
}

static void write_inputs(struct net *net, const struct digit *digits, const uint32_t *rows,
			 uint32_t count)
{
	uint16_t *inputs = matrix_a(net, PRODUCT_HIDDEN);
	uint16_t level[DIGIT_MAX_PIXEL + 1];

	for (int i = 0; i <= DIGIT_MAX_PIXEL; i++)
		level[i] = half_from_float((float)i / DIGIT_MAX_PIXEL);
	for (uint32_t row = 0; row < count; row++)
		for (size_t i = 0; i < INPUTS; i++)
			inputs[row * INPUTS + i] = level[digits[rows[row]].pixels[i]];
	memset(inputs + count * INPUTS, 0, (net->batch - count) * INPUTS * sizeof(*inputs));
}

static void write_hidden(struct net *net, const struct params *params)
{
	const float *sums = matrix_c(net, PRODUCT_HIDDEN);
	uint16_t *hidden = matrix_a(net, PRODUCT_OUTPUT);

	for (uint32_t row = 0; row < net->batch; row++) {
		for (size_t i = 0; i < HIDDEN; i++) {
			float value = sums[row * HIDDEN + i] + params->b1[i];

			hidden[row * HIDDEN + i] = half_from_float(value > 0 ? value : 0);
		}
	}
}

int net_forward(struct net *net, const struct params *params, const struct digit *digits,
		const uint32_t *rows, uint32_t count)
{
	int status;

	write_inputs(net, digits, rows, count);
	status = run(net, PRODUCT_HIDDEN);
	if (status)
		return status;
	write_hidden(net, params);
	return run(net, PRODUCT_OUTPUT);
}

static void read_logits(const struct net *net, const struct params *params, uint32_t row,
			float logits[CLASSES])
{
	const float *sums = matrix_c(net, PRODUCT_OUTPUT) + row * CLASSES_N;

	for (int i = 0; i < CLASSES; i++)
		logits[i] = sums[i] + params->b2[i];
}

static uint32_t largest(const float logits[CLASSES])
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < CLASSES; i++)
		if (logits[i] > logits[best])
			best = i;
	return best;
}

uint32_t net_class(const struct net *net, const struct params *params, uint32_t row)
{
	float logits[CLASSES];

	read_logits(net, params, row, logits);
	return largest(logits);
}

/* The row's cross-entropy, and its derivative by the logits in their place. */
static double softmax_loss(float logits[CLASSES], uint32_t label)
{
	double top = logits[largest(logits)], loss, sum = 0, powers[CLASSES];

	for (int i = 0; i < CLASSES; i++) {
		powers[i] = portable_exp(logits[i] - top);
		sum += powers[i];
	}
	loss = top - logits[label] + portable_log(sum);
	for (int i = 0; i < CLASSES; i++)
		logits[i] = (float)(powers[i] / sum);
	logits[label] -= 1;
	return loss;
}

/*
 * dO: an A padded to CLASSES_K columns, and in the same place the B whose rows are as far apart.
 * Returns the loss.
 */
static float write_errors(struct net *net, const struct params *params, const struct digit *digits,
			  const uint32_t *rows, struct params *gradient)
{
	uint16_t *errors = matrix_a(net, PRODUCT_GRAD_HIDDEN);
	float scale = loss_scale / (float)net->batch;
	double loss = 0;

	memset(gradient->b2, 0, sizeof(gradient->b2));
	for (uint32_t row = 0; row < net->batch; row++) {
		float slopes[CLASSES];

		read_logits(net, params, row, slopes);
		loss += softmax_loss(slopes, digits[rows[row]].label);
		for (int i = 0; i < CLASSES; i++) {
			gradient->b2[i] += slopes[i] / (float)net->batch;
			errors[row * CLASSES_K + (size_t)i] = half_from_float(slopes[i] * scale);
		}
	}
	return (float)(loss / net->batch);
}

static void write_transposed(uint16_t *to, const uint16_t *from, size_t rows, size_t columns)
{
	for (size_t row = 0; row < rows; row++)
		for (size_t column = 0; column < columns; column++)
			to[column * rows + row] = from[row * columns + column];
}

/* dH behind ReLU, in fp16 in the staging room, and its sums. */
static void write_hidden_errors(struct net *net, bool wrong, struct params *gradient)
{
	const uint16_t *hidden = matrix_a(net, PRODUCT_OUTPUT);
	const float *slopes = matrix_c(net, PRODUCT_GRAD_HIDDEN);

	memset(gradient->b1, 0, sizeof(gradient->b1));
	for (uint32_t row = 0; row < net->batch; row++) {
		for (size_t i = 0; i < HIDDEN; i++) {
			size_t at = row * HIDDEN + i;
			float slope = hidden[at] || wrong ? slopes[at] : 0;

			gradient->b1[i] += slope / loss_scale;
			net->staging[at] = half_from_float(slope);
		}
	}
}

static void read_gradients(const struct net *net, struct params *gradient)
{
	const float *w1 = matrix_c(net, PRODUCT_GRAD_W1), *w2 = matrix_c(net, PRODUCT_GRAD_W2);

	for (size_t i = 0; i < INPUTS * HIDDEN; i++)
		(&gradient->w1[0][0])[i] = w1[i] / loss_scale;
	for (size_t i = 0; i < HIDDEN; i++)
		for (size_t j = 0; j < CLASSES; j++)
			gradient->w2[i][j] = w2[i * CLASSES_N + j] / loss_scale;
}

static int backward_output(struct net *net)
{
	int status = pack(net, PRODUCT_GRAD_W2, matrix_a(net, PRODUCT_GRAD_HIDDEN), CLASSES_K, 0);

	write_transposed(matrix_a(net, PRODUCT_GRAD_W2), matrix_a(net, PRODUCT_OUTPUT), net->batch,
			 HIDDEN);
	if (!status)
		status = run(net, PRODUCT_GRAD_W2);
	return status ? status : run(net, PRODUCT_GRAD_HIDDEN);
}

static int backward_hidden(struct net *net, bool wrong, struct params *gradient)
{
	int status;

	write_hidden_errors(net, wrong, gradient);
	write_transposed(matrix_a(net, PRODUCT_GRAD_W1), matrix_a(net, PRODUCT_HIDDEN), net->batch,
			 INPUTS);
	status = pack(net, PRODUCT_GRAD_W1, net->staging, HIDDEN, 0);
	return status ? status : run(net, PRODUCT_GRAD_W1);
}

int net_backward(struct net *net, const struct params *params, const struct digit *digits,
		 const uint32_t *rows, bool wrong, struct params *gradient, float *loss)
{
	int status;

	*loss = write_errors(net, params, digits, rows, gradient);
	status = backward_output(net);
	if (!status)
		status = backward_hidden(net, wrong, gradient);
	if (!status)
		read_gradients(net, gradient);
	return status;
}

int net_step(struct net *net, const struct params *params, const struct digit *digits,
	     const uint32_t *rows, bool wrong, struct params *gradient, float *loss)
{
	int status = net_load(net, params);

	if (!status)
		status = net_forward(net, params, digits, rows, net->batch);
	if (!status)
		status = net_backward(net, params, digits, rows, wrong, gradient, loss);
	return status;
}

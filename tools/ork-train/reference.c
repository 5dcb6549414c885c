// SPDX-License-Identifier: MIT
#include "reference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one digit gives on the way forward, and what comes back. */
struct pass {
	float input[INPUTS];
	float hidden[HIDDEN];
	float output[CLASSES];		/* logits, then probabilities, then errors */
	float hidden_error[HIDDEN];
};

static void forward(const struct params *params, const struct digit *digit, struct pass *pass)
{
	for (int i = 0; i < INPUTS; i++)
		pass->input[i] = digit->pixels[i] / (float)DIGIT_MAX_PIXEL;
	memcpy(pass->hidden, params->b1, sizeof(pass->hidden));
	for (int i = 0; i < INPUTS; i++)
		for (int h = 0; h < HIDDEN; h++)
			pass->hidden[h] += pass->input[i] * params->w1[i][h];
	for (int h = 0; h < HIDDEN; h++)
		pass->hidden[h] = fmaxf(pass->hidden[h], 0);
	memcpy(pass->output, params->b2, sizeof(pass->output));
	for (int h = 0; h < HIDDEN; h++)
		for (int c = 0; c < CLASSES; c++)
			pass->output[c] += pass->hidden[h] * params->w2[h][c];
}

static float cross_entropy(struct pass *pass, int label)
{
	float top = pass->output[0], sum = 0, loss;

	for (int c = 1; c < CLASSES; c++)
		top = fmaxf(top, pass->output[c]);
	for (int c = 0; c < CLASSES; c++)
		sum += expf(pass->output[c] - top);
	loss = top + logf(sum) - pass->output[label];
	for (int c = 0; c < CLASSES; c++)
		pass->output[c] = expf(pass->output[c] - top) / sum;
	pass->output[label] -= 1;
	return loss;
}

static void backward(const struct params *params, struct pass *pass, float share,
		     struct params *gradient)
{
	for (int c = 0; c < CLASSES; c++)
		gradient->b2[c] += share * pass->output[c];
	for (int h = 0; h < HIDDEN; h++) {
		float error = 0;

		for (int c = 0; c < CLASSES; c++) {
			gradient->w2[h][c] += share * pass->hidden[h] * pass->output[c];
			error += params->w2[h][c] * pass->output[c];
		}
		pass->hidden_error[h] = pass->hidden[h] > 0 ? error : 0;
		gradient->b1[h] += share * pass->hidden_error[h];
	}
	for (int i = 0; i < INPUTS; i++)
		for (int h = 0; h < HIDDEN; h++)
			gradient->w1[i][h] += share * pass->input[i] * pass->hidden_error[h];
}

int reference_step(const struct params *params, const struct digit *digits, const uint32_t *rows,
		   uint32_t batch, struct params *gradient, float *loss)
{
	struct pass *pass = malloc(sizeof(*pass));
	float sum = 0;

	if (!pass)
		return -ENOMEM;
	memset(gradient, 0, sizeof(*gradient));
	for (uint32_t row = 0; row < batch; row++) {
		const struct digit *digit = &digits[rows[row]];

		forward(params, digit, pass);
		sum += cross_entropy(pass, digit->label);
		backward(params, pass, 1 / (float)batch, gradient);
	}
	*loss = sum / (float)batch;
	free(pass);
	return 0;
}

double relative_error(const float *a, const float *b, size_t count)
{
	double difference = 0, size = 0;

	for (size_t i = 0; i < count; i++) {
		difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		size += (double)b[i] * b[i];
	}
	return difference == 0 ? 0 : sqrt(difference / size);
}

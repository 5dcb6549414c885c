// SPDX-License-Identifier: MIT
#include "params.h"

#include <math.h>
#include <string.h>

#include "../random.h"

static const float learning_rate = 8e-3f;
static const float first_rate = 0.9f;
static const float second_rate = 0.999f;
static const float epsilon = 1e-8f;

#define WEIGHT_DECAY	1e-2f

/* Biases are not decayed. */
const struct tensor tensors[TENSORS] = {
	{ "W1", offsetof(struct params, w1), INPUTS * HIDDEN, WEIGHT_DECAY },
	{ "b1", offsetof(struct params, b1), HIDDEN, 0 },
	{ "W2", offsetof(struct params, w2), HIDDEN * CLASSES, WEIGHT_DECAY },
	{ "b2", offsetof(struct params, b2), CLASSES, 0 },
};

/*
 * Multiples of 2^-12 below 1/2 are halves, and their products with pixels, multiples of 1/16, sum
 * up exactly as floats. So the sums before ReLU are exact in the first step, on the NPU and in the
 * reference of --check, and no rounding decides on which side of ReLU's kink one of them falls: a
 * few that fell differently would be a larger error of the gradient than all rounding.
 */
static void fill_uniform(float *data, size_t count, float limit, uint64_t *random)
{
	for (size_t i = 0; i < count; i++)
		data[i] = floorf(limit * random_symmetric(random) * 0x1p12f) * 0x1p-12f;
}

/* He's distribution for weights, the usual small one for biases. */
static void fill_layer(float *weights, float *biases, unsigned int inputs, unsigned int outputs,
		       uint64_t *random)
{
	fill_uniform(weights, (size_t)inputs * outputs, sqrtf(6.0f / (float)inputs), random);
	fill_uniform(biases, outputs, sqrtf(1.0f / (float)inputs), random);
}

void params_init(struct params *params, uint64_t seed)
{
	fill_layer(&params->w1[0][0], params->b1, INPUTS, HIDDEN, &seed);
	fill_layer(&params->w2[0][0], params->b2, HIDDEN, CLASSES, &seed);
}

void adamw_init(struct adamw *adamw)
{
	memset(adamw, 0, sizeof(*adamw));
	adamw->first_power = 1;
	adamw->second_power = 1;
}

static void step_tensor(struct adamw *adamw, const struct tensor *tensor, struct params *params,
			struct params *gradient)
{
	float *value = tensor_data(params, tensor), *slope = tensor_data(gradient, tensor);
	float *first = tensor_data(&adamw->first, tensor),
	      *second = tensor_data(&adamw->second, tensor);
	float keep = 1 - learning_rate * tensor->decay;
	float rate = learning_rate / (1 - adamw->first_power);
	float correction = 1 / (1 - adamw->second_power);

	for (size_t i = 0; i < tensor->count; i++) {
		first[i] += (1 - first_rate) * (slope[i] - first[i]);
		second[i] += (1 - second_rate) * (slope[i] * slope[i] - second[i]);
		value[i] = keep * value[i] -
			   rate * first[i] / (sqrtf(second[i] * correction) + epsilon);
	}
}

void adamw_step(struct adamw *adamw, struct params *params, struct params *gradient)
{
	adamw->first_power *= first_rate;
	adamw->second_power *= second_rate;
	for (int i = 0; i < TENSORS; i++)
		step_tensor(adamw, &tensors[i], params, gradient);
}

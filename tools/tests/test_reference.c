// SPDX-License-Identifier: MIT
/* The gradients of the reference against differences of the loss, computed here in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../ork-train/reference.h"
#include "../random.h"
#include "../../selftests/unit/test.h"

enum { BATCH = 24, DIRECTIONS = 6 };

static struct digit digits[BATCH];
static uint32_t rows[BATCH];
static struct params params, gradient, direction;

/* Of the parameters moved by @step in the direction. */
static double moved(float value, float slope, double step)
{
	return (double)value + step * (double)slope;
}

static double digit_loss(const struct digit *digit, double step)
{
	double hidden[HIDDEN], output[CLASSES], sum = 0;

	for (int h = 0; h < HIDDEN; h++) {
		hidden[h] = moved(params.b1[h], direction.b1[h], step);
		for (int i = 0; i < INPUTS; i++)
			hidden[h] += digit->pixels[i] / 16.0 *
				     moved(params.w1[i][h], direction.w1[i][h], step);
	}
	for (int c = 0; c < CLASSES; c++) {
		output[c] = moved(params.b2[c], direction.b2[c], step);
		for (int h = 0; h < HIDDEN; h++)
			if (hidden[h] > 0)
				output[c] += hidden[h] *
					     moved(params.w2[h][c], direction.w2[h][c], step);
		sum += exp(output[c]);
	}
	return log(sum) - output[digit->label];
}

static double batch_loss(double step)
{
	double sum = 0;

	for (int i = 0; i < BATCH; i++)
		sum += digit_loss(&digits[rows[i]], step);
	return sum / BATCH;
}

static void prepare(void)
{
	uint64_t random = 77;

	for (int i = 0; i < BATCH; i++) {
		for (int j = 0; j < INPUTS; j++)
			digits[i].pixels[j] = (uint8_t)random_below(&random, DIGIT_MAX_PIXEL + 1);
		digits[i].label = (uint8_t)random_below(&random, CLASSES);
		rows[i] = (uint32_t)(BATCH - 1 - i);
	}
	params_init(&params, 5);
	/*
	 * Sums before ReLU are multiples of 2^-16, some just 0, where there is no derivative: away
	 * from there.
	 */
	for (int h = 0; h < HIDDEN; h++)
		params.b1[h] += 0x1p-18f;
}

static void loss_is_the_cross_entropy(void)
{
	float loss;

	CHECK(reference_step(&params, digits, rows, BATCH, &gradient, &loss) == 0, "failed");
	CHECK(fabs((double)loss - batch_loss(0)) <= 1e-6 * batch_loss(0), "%.9g, not %.9g",
	      (double)loss, batch_loss(0));
}

/* One tensor moves in a random direction; its gradient tells how the loss changes. */
static void check_direction(const struct tensor *tensor, uint64_t *random)
{
	static const double step = 1e-6;
	float *move = tensor_data(&direction, tensor);
	double predicted = 0, size = 0, measured;

	memset(&direction, 0, sizeof(direction));
	for (size_t i = 0; i < tensor->count; i++) {
		double slope = (double)tensor_data(&gradient, tensor)[i];

		move[i] = random_symmetric(random);
		predicted += slope * (double)move[i];
		size += slope * slope;
	}
	measured = (batch_loss(step) - batch_loss(-step)) / (2 * step);
	/* A random direction sees the norm, whatever cancels in it. */
	CHECK(fabs(measured - predicted) <= 1e-4 * sqrt(size), "%s: %.9g, not %.9g", tensor->name,
	      predicted, measured);
}

static void gradients_tell_how_the_loss_changes(void)
{
	uint64_t random = 3;
	float loss;

	reference_step(&params, digits, rows, BATCH, &gradient, &loss);
	for (int i = 0; i < TENSORS; i++)
		for (int j = 0; j < DIRECTIONS; j++)
			check_direction(&tensors[i], &random);
}

static void relative_error_is_that_of_norms(void)
{
	static const float a[] = { 3, 4 }, b[] = { 0, 4 }, zero[] = { 0, 0 }, nan_[] = { NAN, 4 };

	CHECK(relative_error(a, b, 2) == 0.75, "%g", relative_error(a, b, 2));
	CHECK(relative_error(a, a, 2) == 0, "%g", relative_error(a, a, 2));
	CHECK(relative_error(zero, zero, 2) == 0, "%g", relative_error(zero, zero, 2));
	CHECK(isinf(relative_error(a, zero, 2)), "%g", relative_error(a, zero, 2));
	CHECK(isnan(relative_error(nan_, a, 2)), "%g", relative_error(nan_, a, 2));
}

int main(void)
{
	prepare();
	RUN(loss_is_the_cross_entropy);
	RUN(gradients_tell_how_the_loss_changes);
	RUN(relative_error_is_that_of_norms);
	return test_result();
}

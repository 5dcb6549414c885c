/* SPDX-License-Identifier: MIT */
/* The network's sizes, its parameters in fp32, how they begin, and AdamW, which changes them. */
#ifndef TRAIN_PARAMS_H
#define TRAIN_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "digits.h"

enum {
	INPUTS = DIGIT_PIXELS,
	HIDDEN = 256,
	CLASSES = DIGIT_CLASSES,
};

/* Master weights; gradients and AdamW's moments have the same shape. */
struct params {
	float w1[INPUTS][HIDDEN];
	float b1[HIDDEN];
	float w2[HIDDEN][CLASSES];
	float b2[CLASSES];
};

/* A member of struct params as plain numbers. */
struct tensor {
	const char *name;
	size_t offset;		/* in struct params */
	size_t count;		/* floats */
	float decay;		/* of AdamW */
};

enum { TENSORS = 4 };
extern const struct tensor tensors[TENSORS];

static inline float *tensor_data(struct params *params, const struct tensor *tensor)
{
	return (float *)((char *)params + tensor->offset);
}

/** params_init - weights and biases to begin with, by chance, exact as halves */
void params_init(struct params *params, uint64_t seed);

struct adamw {
	struct params first, second;	/* moments */
	float first_power, second_power;	/* decay rates to the power of the step */
};

void adamw_init(struct adamw *adamw);
void adamw_step(struct adamw *adamw, struct params *params, struct params *gradient);

#endif

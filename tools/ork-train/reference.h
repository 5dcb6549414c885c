/* SPDX-License-Identifier: MIT */
/*
 * The same network in fp32 on the CPU, straight from the formulas, for --check. It shares no
 * arithmetic with net.c: not the layouts, not the products, not the softmax.
 */
#ifndef TRAIN_REFERENCE_H
#define TRAIN_REFERENCE_H

#include "params.h"

/** reference_step - loss and gradients of a batch. 0 or -ENOMEM. */
int reference_step(const struct params *params, const struct digit *digits, const uint32_t *rows,
		   uint32_t batch, struct params *gradient, float *loss);

/** relative_error - |a - b| / |b| of two tensors; infinite where only b is zero */
double relative_error(const float *a, const float *b, size_t count);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The network on the NPU: 64 inputs, 256 hidden units behind ReLU, 10 classes behind softmax and
 * cross-entropy. The five matrix products of a training step run on the NPU; the CPU adds biases,
 * applies ReLU and softmax, converts.
 */
#ifndef TRAIN_NET_H
#define TRAIN_NET_H

#include <stdbool.h>

#include "ork.h"
#include "params.h"

enum product_id {
	PRODUCT_HIDDEN,		/* X W1 */
	PRODUCT_OUTPUT,		/* H W2 */
	PRODUCT_GRAD_W2,	/* H' dO */
	PRODUCT_GRAD_HIDDEN,	/* dO W2' */
	PRODUCT_GRAD_W1,	/* X' dH */
	PRODUCTS
};

/* C = A B: A and C row-major in objects of their own and used in place. */
struct product {
	struct ork_matmul *matmul;
	struct ork_bo *a, *c;
	struct ork_weights *b;
};

struct net {
	struct ork *ork;
	uint32_t batch;
	struct product products[PRODUCTS];
	uint16_t *staging;	/* a B in fp16 on its way to ork_weights_pack() */
};

/* --batch: it is K of two products, so a multiple of 32 that fits one program. */
enum { BATCH_MIN = 32, BATCH_MAX = 512, BATCH_STEP = 32 };

/* These complain about what went wrong. TOOL_OK or TOOL_DEVICE. */

int net_init(struct net *net, struct ork *ork, uint32_t batch, uint32_t cores,
	     enum ork_sync_mode sync);
void net_fini(struct net *net);

/** net_load - take these weights from now on */
int net_load(struct net *net, const struct params *params);

/** net_forward - the outputs of @count digits, at most a batch; fewer are filled up with blanks */
int net_forward(struct net *net, const struct params *params, const struct digit *digits,
		const uint32_t *rows, uint32_t count);

/** net_class - the class that the last net_forward() gave the digit at place @row of the batch */
uint32_t net_class(const struct net *net, const struct params *params, uint32_t row);

/**
 * net_backward - loss and gradients of the batch of the last net_forward()
 * @wrong: leave the derivative of ReLU out
 */
int net_backward(struct net *net, const struct params *params, const struct digit *digits,
		 const uint32_t *rows, bool wrong, struct params *gradient, float *loss);

/** net_step - load, forward, backward with a whole batch */
int net_step(struct net *net, const struct params *params, const struct digit *digits,
	     const uint32_t *rows, bool wrong, struct params *gradient, float *loss);

#endif

/* SPDX-License-Identifier: MIT */
/* The digits: loading, the split into training and held-out rows, and the order of training. */
#ifndef TRAIN_DIGITS_H
#define TRAIN_DIGITS_H

#include <stdint.h>

enum {
	DIGIT_PIXELS = 64,
	DIGIT_MAX_PIXEL = 16,
	DIGIT_CLASSES = 10,
	HELD_OUT_EVERY = 5,	/* of these many rows the first is held out */
};

struct digit {
	uint8_t pixels[DIGIT_PIXELS];
	uint8_t label;
};

/* Training rows first, then the held-out ones. */
struct digits {
	struct digit *rows;
	uint32_t count;
	uint32_t training;
};

/**
 * digits_load - read rows of 64 pixels and a label; complains with file and line. 0 or a negative
 * errno.
 */
int digits_load(struct digits *digits, const char *path);
void digits_free(struct digits *digits);

/*
 * Endless batches of training rows: every epoch in a new order, the rest that fills no batch
 * dropped.
 */
struct sampler {
	uint32_t *order;
	uint32_t count;
	uint32_t next;
	uint64_t random;
};

/** sampler_init - over @count rows; -ENOMEM */
int sampler_init(struct sampler *sampler, uint32_t count, uint64_t seed);
void sampler_free(struct sampler *sampler);
/** sampler_next - the rows of the next batch, valid until the next call; @batch is at most the count */
const uint32_t *sampler_next(struct sampler *sampler, uint32_t batch);

#endif

// SPDX-License-Identifier: MIT
#include "digits.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common.h"
#include "../random.h"

/* One number and the character that must follow it. */
static bool parse_field(const char **text, char end, uint32_t max, uint8_t *value)
{
	char *after;
	unsigned long number;

	if (!isdigit((unsigned char)**text))
		return false;
	number = strtoul(*text, &after, 10);
	if (number > max || *after != end)
		return false;
	*value = (uint8_t)number;
	*text = after + 1;
	return true;
}

static bool parse_digit(const char *line, struct digit *digit)
{
	for (int i = 0; i < DIGIT_PIXELS; i++)
		if (!parse_field(&line, ',', DIGIT_MAX_PIXEL, &digit->pixels[i]))
			return false;
	return parse_field(&line, '\n', DIGIT_CLASSES - 1, &digit->label);
}

static int append(struct digits *digits, const struct digit *digit)
{
	/* Room doubles whenever the count reaches a power of two. */
	if ((digits->count & (digits->count - 1)) == 0) {
		size_t room = digits->count ? 2 * (size_t)digits->count : 1;
		struct digit *rows = realloc(digits->rows, room * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		digits->rows = rows;
	}
	digits->rows[digits->count++] = *digit;
	return 0;
}

static int read_rows(struct digits *digits, FILE *file, const char *path)
{
	char line[512];
	struct digit digit;

	while (fgets(line, sizeof(line), file)) {
		if (!parse_digit(line, &digit)) {
			tool_complain("%s:%" PRIu32 ": not %d pixels of 0..%d and a label of 0..%d",
				      path, digits->count + 1, DIGIT_PIXELS, DIGIT_MAX_PIXEL,
				      DIGIT_CLASSES - 1);
			return -EINVAL;
		}
		if (append(digits, &digit)) {
			tool_complain("%s: out of memory", path);
			return -ENOMEM;
		}
	}
	if (ferror(file) || !digits->count) {
		tool_complain("%s: %s", path, ferror(file) ? "cannot be read" : "no digits in it");
		return -EINVAL;
	}
	return 0;
}

static int split(struct digits *digits)
{
	struct digit *sorted = malloc(digits->count * sizeof(*sorted));
	uint32_t held_out = (digits->count + HELD_OUT_EVERY - 1) / HELD_OUT_EVERY;

	if (!sorted)
		return -ENOMEM;
	digits->training = digits->count - held_out;
	for (uint32_t i = 0, train = 0, test = digits->training; i < digits->count; i++)
		sorted[i % HELD_OUT_EVERY ? train++ : test++] = digits->rows[i];
	free(digits->rows);
	digits->rows = sorted;
	return 0;
}

int digits_load(struct digits *digits, const char *path)
{
	FILE *file = fopen(path, "r");
	int error;

	*digits = (struct digits){ 0 };
	if (!file) {
		error = -errno;
		tool_complain("%s: %s", path, strerror(errno));
		return error;
	}
	error = read_rows(digits, file, path);
	fclose(file);
	if (!error)
		error = split(digits);
	if (error)
		digits_free(digits);
	return error;
}

void digits_free(struct digits *digits)
{
	free(digits->rows);
	*digits = (struct digits){ 0 };
}

int sampler_init(struct sampler *sampler, uint32_t count, uint64_t seed)
{
	/* A first batch finds the epoch at its end, and shuffles. */
	*sampler = (struct sampler){ .count = count, .next = count, .random = seed };
	sampler->order = malloc(count * sizeof(*sampler->order));
	if (!sampler->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		sampler->order[i] = i;
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	free(sampler->order);
	sampler->order = NULL;
}

static void shuffle(struct sampler *sampler)
{
	for (uint32_t i = sampler->count; i > 1; i--) {
		uint32_t other = random_below(&sampler->random, i);
		uint32_t row = sampler->order[i - 1];

		sampler->order[i - 1] = sampler->order[other];
		sampler->order[other] = row;
	}
}

const uint32_t *sampler_next(struct sampler *sampler, uint32_t batch)
{
	const uint32_t *rows;

	if (batch > sampler->count - sampler->next) {
		shuffle(sampler);
		sampler->next = 0;
	}
	rows = sampler->order + sampler->next;
	sampler->next += batch;
	return rows;
}

// SPDX-License-Identifier: MIT
/*
 * B in the NPU's order: kernel groups (16 columns of fp16, 32 of int8, 64 of int4) one after the
 * other; in a group blocks of 32 channels, of 1 KiB each; in a block column by column. So a block
 * is a 32-row tile of B, transposed.
 */
#include <string.h>
#include "moves.h"
#include "ork_private.h"
#include "square.h"

#define CHANNELS	32	/* of a block */
#define BLOCK		1024	/* bytes */
#define LINE		64
#define ALIGNED		__attribute__((aligned(LINE)))
#define STRIPE		512	/* bytes of a row that are converted at a time */
/* Memory answers late: what is asked for early, in bytes of each row that is read and tiles that are written. */
#define READ_AHEAD	192
#define TILES_AHEAD	2

/*
 * How a block is made from rows: by transposing @lines lines of elements of @bytes. Two channels of
 * int4 are one element.
 */
struct form {
	uint32_t bytes, lines, kernels;
};

static const struct form fp16_form = { 2, CHANNELS, 16 };
static const struct form int8_form = { 1, CHANNELS, 32 };
static const struct form int4_form = { 1, CHANNELS / 2, 64 };

static const struct form *form_of(enum ork_element packed)
{
	return packed == ORK_ELEMENT_FP16 ? &fp16_form : packed == ORK_ELEMENT_INT8 ? &int8_form : &int4_form;
}

static uint64_t group_bytes(uint32_t k)
{
	return ork_div_up(k, CHANNELS) * BLOCK;
}

uint64_t ork_packed_bytes(enum ork_element packed, uint32_t k, uint32_t n)
{
	return ork_div_up(n, form_of(packed)->kernels) * group_bytes(k);
}

/* --- sources ---------------------------------------------------------------------------------- */

/* Two channels of int4 in a byte, the first in its low half; of sixteen columns. */
static inline ork_bytes join(ork_bytes first, ork_bytes second)
{
	ork_words low = (ork_words)first & 0x0f0f0f0f, high = (ork_words)second << 4 & 0xf0f0f0f0;

	return (ork_bytes)(low | high);
}

/* A line of @padded columns from two rows with a value in each byte. */
static void join_bytes(char *to, const char *first, const char *second, uint32_t padded)
{
	ork_bytes a, b;
	uint32_t i;

	for (i = 0; i < padded; i += ORK_SQUARE) {
		memcpy(&a, first + i, sizeof(a));
		memcpy(&b, second + i, sizeof(b));
		a = join(a, b);
		memcpy(to + i, &a, sizeof(a));
	}
}

/* The same from rows with two values in each: what is second in one changes places with what is first in the other. */
static void join_pairs(char *to, const char *first, const char *second, uint32_t padded)
{
	ork_bytes line[2];
	ork_words a, b, swap;
	uint32_t i;

	for (i = 0; i < padded / 2; i += ORK_SQUARE) {
		memcpy(&a, first + i, sizeof(a));
		memcpy(&b, second + i, sizeof(b));
		swap = (a >> 4 ^ b) & 0x0f0f0f0f;
		a ^= swap << 4;
		b ^= swap;
		line[0] = LOW_BYTES((ork_bytes)a, (ork_bytes)b);
		line[1] = HIGH_BYTES((ork_bytes)a, (ork_bytes)b);
		memcpy(to + i * 2, line, sizeof(line));
	}
}

/* Halves of a byte. */
static uint32_t half_bytes(enum ork_element element)
{
	static const uint8_t table[] = {
		[ORK_ELEMENT_FP16] = 4, [ORK_ELEMENT_FP32] = 8, [ORK_ELEMENT_BF16] = 4,
		[ORK_ELEMENT_INT8] = 2, [ORK_ELEMENT_INT4] = 1,
	};

	return table[element];
}

static const char *element_at(const struct ork_source *b, uint64_t row, uint64_t column)
{
	return (const char *)b->data + (row * b->stride + column) * half_bytes(b->element) / 2;
}

/* Behind the @bytes of a row that are read now are those that come next. */
static inline void prefetch_stripe(const char *from, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes; i += LINE)
		__builtin_prefetch(from + bytes + i, 0, 2);
}

/* @count elements of a row, with fp16's for fp32's and bf16's, and zeros up to @padded. */
static void load(char *to, const struct ork_source *b, uint64_t row, uint64_t column, uint32_t count, uint32_t padded)
{
	const char *from = element_at(b, row, column);
	uint32_t halves = half_bytes(b->element), bytes = (count * halves + 1) / 2;

	prefetch_stripe(from, bytes);
	if (b->element == ORK_ELEMENT_FP32 || b->element == ORK_ELEMENT_BF16) {
		halves = half_bytes(ORK_ELEMENT_FP16);
		bytes = count * 2;
	}
	if (b->element == ORK_ELEMENT_FP32)
		ork_fp32_to_fp16((uint16_t *)to, (const float *)from, count);
	else if (b->element == ORK_ELEMENT_BF16)
		ork_bf16_to_fp16((uint16_t *)to, (const uint16_t *)from, count);
	else
		memcpy(to, from, bytes);
	memset(to + bytes, 0, padded * halves / 2 - bytes);
	if (b->element == ORK_ELEMENT_INT4 && count % 2)
		to[bytes - 1] &= 15;
}

/* --- rows of B -------------------------------------------------------------------------------- */

/* A row of B for joining: where it lies if it is whole vectors, else in @copy with zeros behind. */
static const char *row_to_join(char copy[STRIPE], const struct ork_source *b, uint64_t row, bool exists,
			       uint64_t column, uint32_t width, uint32_t padded)
{
	const char *from = element_at(b, row, column);

	if (!exists) {
		memset(copy, 0, padded);
		return copy;
	}
	if (width % (2 * ORK_SQUARE) == 0 && width == padded) {
		prefetch_stripe(from, width * half_bytes(b->element) / 2);
		return from;
	}
	load(copy, b, row, column, width, padded);
	return copy;
}

/* Two rows of B as a line of int4. */
static void load_pair(char *line, const struct ork_source *b, uint64_t row, bool has_second, uint64_t column,
		      uint32_t width, uint32_t padded)
{
	char copy[2][STRIPE] ALIGNED;
	const char *first = row_to_join(copy[0], b, row, true, column, width, padded);
	const char *second = row_to_join(copy[1], b, row + 1, has_second, column, width, padded);

	if (b->element == ORK_ELEMENT_INT4)
		join_pairs(line, first, second, padded);
	else
		join_bytes(line, first, second, padded);
}

/*
 * The lines of a block that rows of B become; @width elements of each, up to @padded. Rows behind
 * the last are zero.
 */
static void load_lines(char lines[CHANNELS][STRIPE], const struct form *form, const struct ork_source *b, uint64_t row,
		       uint32_t rows, uint64_t column, uint32_t width, uint32_t padded)
{
	uint32_t step = CHANNELS / form->lines, i;

	for (i = 0; i < form->lines; i++) {
		if (i * step >= rows)
			memset(lines[i], 0, padded * form->bytes);
		else if (form == &int4_form)
			load_pair(lines[i], b, row + i * step, i * step + 1 < rows, column, width, padded);
		else
			load(lines[i], b, row + i, column, width, padded);
	}
}

static inline void copy_near(char near[CHANNELS][LINE], const char *from, size_t pitch, const uint32_t width)
{
	uint32_t i;

	for (i = 0; i < CHANNELS; i++) {
		__builtin_prefetch(from + i * pitch + READ_AHEAD, 0, 2);
		memcpy(near[i], from + i * pitch, width);
	}
}

/* A line's width of blocks: @to is the first of them, @group the distance of two. */
static inline __attribute__((always_inline)) void pack_tile(char *to, uint64_t group, const char *from, size_t pitch,
							    const uint32_t width, const struct form form)
{
	const uint32_t side = ORK_SQUARE / form.bytes, column_bytes = form.lines * form.bytes;
	const uint32_t block_width = form.kernels * form.bytes;
	/* Sixteen lines a power of two apart are more than a first-level cache keeps while a square is read. */
	const bool nearer = form.lines == CHANNELS && side == ORK_SQUARE;
	char near[CHANNELS][LINE] ALIGNED;
	uint32_t line, at, i;

	if (nearer) {
		copy_near(near, from, pitch, width);
		from = near[0];
		pitch = LINE;
	}
	for (line = 0; line < form.lines; line += side) {
		/* Few at a time: there is no room for more to be on their way, and what follows would wait for it. */
		for (i = line; !nearer && form.lines == CHANNELS && i < line + side; i++)
			__builtin_prefetch(from + i * pitch + READ_AHEAD, 0, 2);
		for (at = 0; at < LINE / block_width; at++)
			for (i = 0; i < BLOCK * side / form.lines; i += LINE)
				__builtin_prefetch(to + (TILES_AHEAD * (LINE / block_width) + at) * group +
						   BLOCK / form.lines * line + i, 1);
		for (at = 0; at < width; at += ORK_SQUARE)
			ork_square(to + at / block_width * group + at % block_width / form.bytes * column_bytes +
				   line * form.bytes, column_bytes, from + line * pitch + at, pitch, form.bytes);
	}
}

/* Blocks are as wide as a line, or two of them are. */
static inline __attribute__((always_inline)) void pack_tiles(char *to, uint64_t group, const char *from, size_t pitch,
							     uint32_t width, const struct form form)
{
	const uint32_t blocks = LINE / (form.kernels * form.bytes);
	uint32_t at;

	for (at = 0; at + LINE <= width; at += LINE, to += blocks * group)
		pack_tile(to, group, from + at, pitch, LINE, form);
	if (at < width)
		pack_tile(to, group, from + at, pitch, LINE / 2, form);
}

static void pack_stripe(char *to, uint64_t group, const char *from, size_t pitch, uint32_t width,
			const struct form *form)
{
	if (form == &fp16_form)
		pack_tiles(to, group, from, pitch, width, fp16_form);
	else if (form == &int8_form)
		pack_tiles(to, group, from, pitch, width, int8_form);
	else
		pack_tiles(to, group, from, pitch, width, int4_form);
}

static void pack_rows(char *to, enum ork_element packed, const struct ork_source *b, uint32_t k, uint32_t n)
{
	const struct form *form = form_of(packed);
	bool in_place = b->element == packed && packed != ORK_ELEMENT_INT4;
	uint32_t stripe = STRIPE / form->bytes, rows, width, padded;
	char lines[CHANNELS][STRIPE] ALIGNED;
	uint64_t group = group_bytes(k), row, column, whole;

	for (row = 0; row < k; row += CHANNELS, to += BLOCK) {
		rows = k - row < CHANNELS ? k - row : CHANNELS;
		whole = in_place && rows == CHANNELS ? n / form->kernels * form->kernels : 0;
		for (column = 0; column < n; column += width) {
			char *there = to + column / form->kernels * group;
			uint64_t left = column < whole ? whole - column : n - column;

			width = left < stripe ? left : stripe;
			padded = ork_round_up(width, form->kernels);
			if (column < whole) {
				pack_stripe(there, group, element_at(b, row, column), b->stride * form->bytes,
					    width * form->bytes, form);
				continue;
			}
			load_lines(lines, form, b, row, rows, column, width, padded);
			pack_stripe(there, group, lines[0], STRIPE, padded * form->bytes, form);
		}
	}
}

/* --- rows of B transposed --------------------------------------------------------------------- */

/* @count channels of a column as they are packed, up to @padded. */
static void load_channels(char *to, const struct form *form, const struct ork_source *b, uint64_t column,
			  uint64_t channel, uint32_t count, uint32_t padded)
{
	uint32_t i;

	load(to, b, column, channel, count, padded);
	if (form == &int4_form && b->element == ORK_ELEMENT_INT8)
		for (i = 0; i < padded / 2; i++)
			to[i] = (char)((to[2 * i] & 15) | (uint8_t)to[2 * i + 1] << 4);
}

/* Memory that is written next is asked for too: the same place of as many blocks behind these. */
static inline void spread(char *to, const char *from, uint32_t blocks, const uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < blocks; i++) {
		__builtin_prefetch(to + (blocks + i) * BLOCK, 1);
		memcpy(to + i * BLOCK, from + i * bytes, bytes);
	}
}

/* The channels of a column in as many blocks as they fill: @bytes of each. */
static void put_column(char *to, const char *from, uint32_t blocks, uint32_t bytes)
{
	if (bytes == 64)
		spread(to, from, blocks, 64);
	else if (bytes == 32)
		spread(to, from, blocks, 32);
	else
		spread(to, from, blocks, 16);
}

/* The channels of a column, packed: where they lie if nothing has to be done to them, else in @copy. */
static const char *column_channels(char copy[STRIPE], const struct form *form, const struct ork_source *b,
				   bool in_place, uint64_t column, uint64_t channel, uint32_t count, uint32_t blocks)
{
	const char *from = element_at(b, column, channel);

	if (in_place && count % CHANNELS == 0) {
		prefetch_stripe(from, blocks * BLOCK / form->kernels);
		return from;
	}
	load_channels(copy, form, b, column, channel, count, blocks * CHANNELS);
	return copy;
}

/* A column has its channels together already: of all columns of a group a stripe at a time. */
static void pack_columns(char *to, enum ork_element packed, const struct ork_source *b, uint32_t k, uint32_t n)
{
	const struct form *form = form_of(packed);
	const uint32_t part = BLOCK / form->kernels, stripe = STRIPE / form->bytes;
	char channels[STRIPE] ALIGNED;
	uint32_t count, blocks, i;
	uint64_t column, channel;

	for (column = 0; column < n; column += form->kernels) {
		for (channel = 0; channel < k; channel += count, to += blocks * BLOCK) {
			count = k - channel < stripe ? k - channel : stripe;
			blocks = ork_div_up(count, CHANNELS);
			for (i = 0; i < form->kernels && column + i < n; i++)
				put_column(to + i * part,
					   column_channels(channels, form, b, b->element == packed, column + i, channel,
							   count, blocks), blocks, part);
			memset(channels, 0, sizeof(channels));
			for (; i < form->kernels; i++)
				put_column(to + i * part, channels, blocks, part);
		}
	}
}

void ork_pack(void *to, enum ork_element packed, const struct ork_source *b, uint32_t k, uint32_t n)
{
	if (b->transposed)
		pack_columns(to, packed, b, k, n);
	else
		pack_rows(to, packed, b, k, n);
}

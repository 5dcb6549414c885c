// SPDX-License-Identifier: MIT
/* Rows of matrices: copied, transposed, added up. */
#include <string.h>
#include "moves.h"
#include "square.h"

#define LINE	64
#define ALIGNED	__attribute__((aligned(LINE)))
/* Of a line of each row that is read next, and lines that a row of the result gets at a time. */
#define AHEAD	128
#define DEPTH	8

void ork_copy_rows(void *to, size_t to_stride, const void *from, size_t from_stride, size_t row, size_t rows)
{
	size_t i;

	if (to_stride == row && from_stride == row) {
		memcpy(to, from, row * rows);
		return;
	}
	for (i = 0; i < rows; i++)
		memcpy((char *)to + i * to_stride, (const char *)from + i * from_stride, row);
}

#define ALWAYS_INLINE	inline __attribute__((always_inline))

/*
 * A tile is as many rows as a line has elements. It is copied near, turned and copied out: whole
 * lines move, and lines a power of two apart do not drive each other from the cache meanwhile.
 */
static ALWAYS_INLINE void transpose_tile(char *to, size_t to_pitch, const char *from, size_t pitch,
					 const uint32_t bytes)
{
	const uint32_t side = ORK_SQUARE / bytes, lines = LINE / bytes;
	char near[LINE][LINE] ALIGNED, turned[LINE][LINE] ALIGNED;
	uint32_t row, at, i;

	for (i = 0; i < lines; i++) {
		memcpy(near[i], from + i * pitch, LINE);
		__builtin_prefetch(from + i * pitch + AHEAD, 0, 2);
		__builtin_prefetch(to + (lines + i) * to_pitch, 1);
	}
	for (row = 0; row < lines; row += side)
		for (at = 0; at < LINE; at += ORK_SQUARE)
			ork_square(turned[at / bytes] + row * bytes, LINE, near[row] + at, LINE, bytes);
	for (i = 0; i < lines; i++)
		memcpy(to + i * to_pitch, turned[i], LINE);
}

static void transpose_part(char *to, size_t to_pitch, const char *from, size_t pitch, size_t rows, size_t columns,
			   uint32_t bytes)
{
	size_t row, column;

	for (column = 0; column < columns; column++)
		for (row = 0; row < rows; row++)
			memcpy(to + column * to_pitch + row * bytes, from + row * pitch + column * bytes, bytes);
}

static ALWAYS_INLINE void transpose(char *to, size_t to_pitch, const char *from, size_t pitch, size_t rows,
				    size_t columns, const uint32_t bytes)
{
	const size_t side = LINE / bytes;
	size_t strip, row, column, height, width;

	for (strip = 0; strip < rows; strip += side * DEPTH) {
		for (column = 0; column < columns; column += side) {
			for (row = strip; row < rows && row < strip + side * DEPTH; row += side) {
				char *there = to + column * to_pitch + row * bytes;
				const char *here = from + row * pitch + column * bytes;

				height = rows - row < side ? rows - row : side;
				width = columns - column < side ? columns - column : side;
				if (height == side && width == side)
					transpose_tile(there, to_pitch, here, pitch, bytes);
				else
					transpose_part(there, to_pitch, here, pitch, height, width, bytes);
			}
		}
	}
}

void ork_transpose(void *to, size_t to_stride, const void *from, size_t from_stride, size_t rows, size_t columns,
		   uint32_t bytes)
{
	size_t to_pitch = to_stride * bytes, pitch = from_stride * bytes;

	if (bytes == 4)
		transpose(to, to_pitch, from, pitch, rows, columns, 4);
	else if (bytes == 2)
		transpose(to, to_pitch, from, pitch, rows, columns, 2);
	else
		transpose(to, to_pitch, from, pitch, rows, columns, 1);
}

/* Of two rows, an element each: the first in the low half. */
static void transpose_pair(uint8_t *to, size_t to_pitch, const uint8_t *first, const uint8_t *second, size_t columns)
{
	size_t i;

	for (i = 0; i < columns; i += 2) {
		uint8_t a = first[i / 2], b = second ? second[i / 2] : 0;

		to[i * to_pitch] = (uint8_t)((a & 15) | b << 4);
		if (i + 1 < columns)
			to[(i + 1) * to_pitch] = (uint8_t)(a >> 4 | (b & 0xf0));
	}
}

void ork_transpose_int4(void *to, size_t to_pitch, const void *from, size_t pitch, size_t rows, size_t columns)
{
	const uint8_t *row = from;
	size_t i;

	for (i = 0; i < rows; i += 2, row += 2 * pitch)
		transpose_pair((uint8_t *)to + i / 2, to_pitch, row, i + 1 < rows ? row + pitch : NULL, columns);
}

void ork_add_fp32(float *restrict sum, const float *restrict part, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		sum[i] += part[i];
}

void ork_add_int32(int32_t *restrict sum, const int32_t *restrict part, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		sum[i] = (int32_t)((uint32_t)sum[i] + (uint32_t)part[i]);
}

void ork_add_int16(int32_t *restrict sum, const int16_t *restrict part, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		sum[i] = (int32_t)((uint32_t)sum[i] + (uint32_t)part[i]);
}

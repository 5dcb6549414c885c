// SPDX-License-Identifier: MIT
/* Rows of matrices: copied, transposed, added up. */
#include <string.h>
#include "moves.h"
#include "square.h"

#define LINE	64
#define ALIGNED	__attribute__((aligned(LINE)))
/* Bytes of a block's rows and of those of the result; and by how many rows memory is asked for early. */
#define WIDE	512
#define DEEP	256
#define SOON	8
/* Of a block, so that it takes no more of the stack than small threads have. */
#define ROWS	128

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
 * A block of whole squares, no larger than WIDE bytes of a row and DEEP of a row of the result: what is read and
 * written in one piece. Lines a power of two apart drive each other from the cache; so it is copied near, to rows that
 * are not, and turned a square's width at a time. Takes 78 KiB of stack.
 */
static ALWAYS_INLINE void transpose_block(char *to, size_t to_pitch, const char *from, size_t pitch, size_t rows,
					  size_t width, const uint32_t bytes)
{
	const uint32_t side = ORK_SQUARE / bytes;
	char near[ROWS][WIDE + LINE] ALIGNED, turned[ORK_SQUARE][DEEP] ALIGNED;
	size_t row, at, i;

	for (i = 0; i < rows; i++) {
		for (at = 0; at < WIDE; at += LINE)
			__builtin_prefetch(from + (i + SOON) * pitch + at);
		memcpy(near[i], from + i * pitch, width);
	}
	for (at = 0; at < width; at += ORK_SQUARE, to += side * to_pitch) {
		for (row = 0; row < rows; row += side)
			ork_square(turned[0] + row * bytes, DEEP, near[row] + at, sizeof(near[0]), bytes);
		for (i = 0; i < side; i++) {
			for (row = 0; row < DEEP; row += LINE)
				__builtin_prefetch(to + (side + i) * to_pitch + row, 1);
			memcpy(to + i * to_pitch, turned[i], rows * bytes);
		}
	}
}

static void transpose_part(char *to, size_t to_pitch, const char *from, size_t pitch, size_t rows, size_t columns,
			   uint32_t bytes)
{
	size_t row, column;

	for (column = 0; column < columns; column++)
		for (row = 0; row < rows; row++)
			memcpy(to + column * to_pitch + row * bytes, from + row * pitch + column * bytes, bytes);
}

/* Blocks, and what is left of them beyond whole squares. */
static ALWAYS_INLINE void transpose(char *to, size_t to_pitch, const char *from, size_t pitch, size_t rows,
				    size_t columns, const uint32_t bytes)
{
	const size_t side = ORK_SQUARE / bytes, wide = WIDE / bytes;
	const size_t deep = DEEP / bytes < ROWS ? DEEP / bytes : ROWS;
	size_t row, column, height, width, whole_rows, whole;

	for (row = 0; row < rows; row += deep) {
		height = rows - row < deep ? rows - row : deep;
		whole_rows = height / side * side;
		for (column = 0; column < columns; column += wide) {
			char *there = to + column * to_pitch + row * bytes;
			const char *here = from + row * pitch + column * bytes;

			width = columns - column < wide ? columns - column : wide;
			whole = width / side * side;
			transpose_block(there, to_pitch, here, pitch, whole_rows, whole * bytes, bytes);
			transpose_part(there + whole * to_pitch, to_pitch, here + whole * bytes, pitch, whole_rows,
				       width - whole, bytes);
			transpose_part(there + whole_rows * bytes, to_pitch, here + whole_rows * pitch, pitch,
				       height - whole_rows, width, bytes);
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

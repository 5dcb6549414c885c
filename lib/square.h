/* SPDX-License-Identifier: MIT */
/* Transposing squares of 16-byte rows in registers. Pitches are distances of rows in bytes. */
#ifndef ORK_SQUARE_H
#define ORK_SQUARE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ORK_SQUARE	16	/* bytes of a row */

typedef uint32_t ork_words __attribute__((vector_size(ORK_SQUARE)));
typedef uint16_t ork_halves __attribute__((vector_size(ORK_SQUARE)));
typedef uint8_t ork_bytes __attribute__((vector_size(ORK_SQUARE)));

/* Interleave the lower, or the upper, halves of two vectors. */
#define LOW_WORDS(a, b)		__builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH_WORDS(a, b)	__builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW_HALVES(a, b)	__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_HALVES(a, b)	__builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_BYTES(a, b) \
	__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_BYTES(a, b) \
	__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/*
 * A square is transposed by interleaving row i with row i + half, as often as its side has bits:
 * each pass moves one bit of the row's number below the column's. Loops are unrolled, so that the
 * square stays in registers.
 */
#define DEFINE_SQUARE(name, vector, side, LOW, HIGH)						\
static inline void ork_mix_##name(vector *to, const vector *from)				\
{												\
	_Pragma("GCC unroll 8")									\
	for (int i = 0; i < (side) / 2; i++) {							\
		to[2 * i] = LOW(from[i], from[i + (side) / 2]);					\
		to[2 * i + 1] = HIGH(from[i], from[i + (side) / 2]);				\
	}											\
}												\
												\
static inline void ork_square_##name(char *to, size_t to_pitch, const char *from, size_t from_pitch)	\
{												\
	vector a[side], b[side];								\
												\
	_Pragma("GCC unroll 16")								\
	for (int i = 0; i < (side); i++)							\
		memcpy(&a[i], from + i * from_pitch, ORK_SQUARE);				\
	for (int bit = 1; bit < (side); bit *= 4) {						\
		ork_mix_##name(b, a);								\
		if (bit * 2 < (side))								\
			ork_mix_##name(a, b);							\
	}											\
	_Pragma("GCC unroll 16")								\
	for (int i = 0; i < (side); i++)							\
		memcpy(to + i * to_pitch, (side) == 8 ? &b[i] : &a[i], ORK_SQUARE);		\
}

DEFINE_SQUARE(words, ork_words, 4, LOW_WORDS, HIGH_WORDS)
DEFINE_SQUARE(halves, ork_halves, 8, LOW_HALVES, HIGH_HALVES)
DEFINE_SQUARE(bytes, ork_bytes, 16, LOW_BYTES, HIGH_BYTES)

/* ORK_SQUARE / @bytes rows and columns of elements of @bytes. */
static inline void ork_square(char *to, size_t to_pitch, const char *from, size_t from_pitch, uint32_t bytes)
{
	if (bytes == 4)
		ork_square_words(to, to_pitch, from, from_pitch);
	else if (bytes == 2)
		ork_square_halves(to, to_pitch, from, from_pitch);
	else
		ork_square_bytes(to, to_pitch, from, from_pitch);
}

#endif

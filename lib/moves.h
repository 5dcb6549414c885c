/* SPDX-License-Identifier: MIT */
/*
 * What the CPU does with matrices before and after the NPU: packing, copying, transposing,
 * converting, adding up. Plain functions on plain memory: they check nothing, allocate nothing and
 * any thread may call them. Sources and destinations never overlap. Sizes and strides are in
 * elements unless they say bytes.
 */
#ifndef ORK_MOVES_H
#define ORK_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ork.h"

/* --- packing (pack.c) ------------------------------------------------------------------------- */

/* B as the caller has it. */
struct ork_source {
	const void *data;
	size_t stride;			/* even for int4 */
	enum ork_element element;
	bool transposed;		/* n rows of k, not k rows of n */
};

/* Bytes of B of @k rows and @n columns, packed: k is padded to 32, n to whole kernel groups. */
uint64_t ork_packed_bytes(enum ork_element packed, uint32_t k, uint32_t n);

/*
 * B in the NPU's order, padded with zeros. @packed is fp16 (from fp16, fp32, bf16), int8 (from
 * int8) or int4 (from int4, and from int8 of -8..7, of which the low four bits are taken).
 */
void ork_pack(void *to, enum ork_element packed, const struct ork_source *b, uint32_t k, uint32_t n);

/* --- rows (rows.c) ---------------------------------------------------------------------------- */

/* @rows rows of @row bytes, whose beginnings lie @to_stride and @from_stride bytes apart. */
void ork_copy_rows(void *to, size_t to_stride, const void *from, size_t from_stride, size_t row, size_t rows);

/* @rows rows of @columns elements of @bytes (1, 2 or 4) become @columns rows of @rows. */
void ork_transpose(void *to, size_t to_stride, const void *from, size_t from_stride, size_t rows, size_t columns,
		   uint32_t bytes);

/* The same of int4, two to a byte; pitches in bytes, at which rows begin. */
void ork_transpose_int4(void *to, size_t to_pitch, const void *from, size_t pitch, size_t rows, size_t columns);

/* Sums of K slices. Integers wrap. */
void ork_add_fp32(float *sum, const float *part, size_t count);
void ork_add_int32(int32_t *sum, const int32_t *part, size_t count);
void ork_add_int16(int32_t *sum, const int16_t *part, size_t count);

/* --- types (convert.c) ------------------------------------------------------------------------ */

/*
 * To fp16 with ties to even, what is too large to infinity, subnormals kept. A NaN keeps its sign
 * and the upper bits of its payload, and becomes quiet.
 */
void ork_fp32_to_fp16(uint16_t *to, const float *from, size_t count);
void ork_bf16_to_fp16(uint16_t *to, const uint16_t *from, size_t count);
/* Exact; a NaN keeps its sign, and may become quiet. */
void ork_fp16_to_fp32(float *to, const uint16_t *from, size_t count);

#endif

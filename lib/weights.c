// SPDX-License-Identifier: MIT
/*
 * B in the NPU's order: kernel groups (16 columns of fp16, 32 of int8) one after the other; in a
 * group blocks of 32 channels; in a block column by column. So a block is a 32-row tile of B,
 * transposed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ork_private.h"

#define BLOCK_CHANNELS	32
/* Bytes of one row of a block, in both types. */
#define BLOCK_ROW	32
#define LINE		64
/* B is read in runs of several lines of each row, which memory gives faster than single ones. */
#define STRIPE		512

typedef uint16_t half_vector __attribute__((vector_size(16)));
typedef uint8_t byte_vector __attribute__((vector_size(16)));

/* Interleave the lower, or the upper, halves of two vectors. */
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
static inline void mix_halves(half_vector to[8], const half_vector from[8])
{
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		to[2 * i] = LOW_HALVES(from[i], from[i + 4]);
		to[2 * i + 1] = HIGH_HALVES(from[i], from[i + 4]);
	}
}

static inline void mix_bytes(byte_vector to[16], const byte_vector from[16])
{
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) {
		to[2 * i] = LOW_BYTES(from[i], from[i + 8]);
		to[2 * i + 1] = HIGH_BYTES(from[i], from[i + 8]);
	}
}

/* @from has rows of STRIPE bytes, @to of BLOCK_CHANNELS elements. */
static void transpose_halves(char *to, const char *from)
{
	half_vector a[8], b[8];

#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
		memcpy(&a[i], from + i * STRIPE, sizeof(a[i]));
	mix_halves(b, a);
	mix_halves(a, b);
	mix_halves(b, a);
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
		memcpy(to + i * BLOCK_CHANNELS * 2, &b[i], sizeof(b[i]));
}

static void transpose_bytes(char *to, const char *from)
{
	byte_vector a[16], b[16];

#pragma GCC unroll 16
	for (int i = 0; i < 16; i++)
		memcpy(&a[i], from + i * STRIPE, sizeof(a[i]));
	mix_bytes(b, a);
	mix_bytes(a, b);
	mix_bytes(b, a);
	mix_bytes(a, b);
#pragma GCC unroll 16
	for (int i = 0; i < 16; i++)
		memcpy(to + i * BLOCK_CHANNELS, &a[i], sizeof(a[i]));
}

/*
 * One block: BLOCK_CHANNELS rows of STRIPE bytes, of which BLOCK_ROW count, become columns of
 * BLOCK_CHANNELS elements.
 */
static void pack_block(char *to, const char *from, uint32_t bytes)
{
	uint32_t side = 16 / bytes, pitch = BLOCK_CHANNELS * bytes, row, column;

	for (column = 0; column < BLOCK_ROW / bytes; column += side) {
		for (row = 0; row < BLOCK_CHANNELS; row += side) {
			if (bytes == 2)
				transpose_halves(to + column * pitch + row * 2, from + row * STRIPE + column * 2);
			else
				transpose_bytes(to + column * pitch + row, from + row * STRIPE + column);
		}
	}
}

/* A slice of B: k channels and n columns, both whole blocks and groups. */
struct slice {
	const struct ork_type_info *type;
	char *to;
	const char *from;		/* its first element */
	uint64_t stride;		/* of the source, in bytes */
	uint32_t k, n;
};

/*
 * Rows as the caller has them: of BLOCK_CHANNELS rows a stripe at a time, into as many groups as it
 * is wide.
 */
static void pack_rows(const struct slice *slice)
{
	uint32_t bytes = slice->type->in_bytes, kernels = slice->type->kernels, k, i;
	uint64_t group = (uint64_t)kernels * slice->k * bytes, row = (uint64_t)slice->n * bytes, n, width, at;
	char stripe[BLOCK_CHANNELS][STRIPE];

	for (k = 0; k < slice->k; k += BLOCK_CHANNELS) {
		const char *from = slice->from + k * slice->stride;
		char *to = slice->to + (uint64_t)k * kernels * bytes;

		for (n = 0; n < row; n += width) {
			width = row - n < STRIPE ? row - n : STRIPE;
			for (i = 0; i < BLOCK_CHANNELS; i++)
				for (at = 0; at < width; at += BLOCK_ROW)
					memcpy(stripe[i] + at, from + i * slice->stride + n + at, BLOCK_ROW);
			for (at = 0; at < width; at += BLOCK_ROW, to += group)
				pack_block(to, stripe[0] + at, bytes);
		}
	}
}

/*
 * B transposed has each column's channels together already: they are copied, a line of each column
 * at a time.
 */
static void pack_columns(const struct slice *slice)
{
	uint32_t bytes = slice->type->in_bytes, kernels = slice->type->kernels, n, i;
	uint64_t column = (uint64_t)slice->k * bytes, part = BLOCK_CHANNELS * bytes, block = part * kernels, k;
	/*
	 * A line's second half belongs to the same block, or with one byte per element to the next.
	 */
	uint64_t second = part == LINE ? BLOCK_ROW : block;

	for (n = 0; n < slice->n; n += kernels) {
		for (k = 0; k < column; k += LINE) {
			char *to = slice->to + n * column + k * kernels;
			const char *from = slice->from + n * slice->stride + k;

			for (i = 0; i < kernels; i++, to += part, from += slice->stride) {
				memcpy(to, from, BLOCK_ROW);
				if (k + BLOCK_ROW < column)
					memcpy(to + second, from + BLOCK_ROW, BLOCK_ROW);
			}
		}
	}
}

int ork_weights_create(struct ork *ork, enum ork_type type, uint32_t k, uint32_t n, struct ork_weights **out)
{
	const struct ork_type_info *info = ork_type_info(type);
	struct ork_weights_layout layout;
	struct ork_weights *weights;
	char reason[128];
	int ret;

	*out = NULL;
	if (!info)
		return ork_fail(ork, -EINVAL, "type = %d; must be 0..%d", (int)type, ORK_LAST_TYPE);
	ret = ork_weights_layout(info, k, n, &layout, reason, sizeof(reason));
	if (ret)
		return ork_fail(ork, ret, "weights: %s", reason);
	weights = calloc(1, sizeof(*weights));
	if (!weights)
		return ork_fail(ork, -ENOMEM, "no memory for weights");
	*weights = (struct ork_weights) { .ork = ork, .type = info, .k = k, .n = n, .layout = layout };
	ret = ork_bo_create(ork, layout.bytes, 0, &weights->bo);
	if (ret)
		free(weights);
	else
		*out = weights;
	return ret;
}

void ork_weights_destroy(struct ork_weights *weights)
{
	if (!weights)
		return;
	ork_bo_destroy(weights->bo);
	free(weights);
}

/* @b with zeros around it, as large as the packed form; NULL: no memory. The caller frees it. */
static char *padded(const struct ork_weights *weights, const char *b, size_t stride, uint32_t flags)
{
	const struct ork_weights_layout *layout = &weights->layout;
	uint32_t bytes = weights->type->in_bytes, i;
	uint32_t rows = flags & ORK_TRANSPOSED ? weights->n : weights->k;
	uint64_t row = (uint64_t)(flags & ORK_TRANSPOSED ? weights->k : weights->n) * bytes;
	uint64_t pitch = (uint64_t)(flags & ORK_TRANSPOSED ? layout->k : layout->n) * bytes;
	char *copy = calloc(1, layout->bytes);

	for (i = 0; copy && i < rows; i++)
		memcpy(copy + i * pitch, b + i * stride * bytes, row);
	return copy;
}

/* @b has whole blocks and groups. */
static void pack_slices(struct ork_weights *weights, const char *b, size_t stride, uint32_t flags)
{
	const struct ork_weights_layout *layout = &weights->layout;
	uint32_t bytes = weights->type->in_bytes, i;
	struct slice slice = { .type = weights->type, .stride = stride * bytes, .n = layout->n };

	for (i = 0; i < layout->slices; i++) {
		uint64_t first = (uint64_t)i * layout->slice * bytes;

		slice.k = ork_slice_channels(layout, i);
		slice.to = (char *)weights->bo->data + first * layout->n;
		slice.from = b + (flags & ORK_TRANSPOSED ? first : first * stride);
		if (flags & ORK_TRANSPOSED)
			pack_columns(&slice);
		else
			pack_rows(&slice);
	}
}

static int pack(struct ork_weights *weights, const void *b, size_t stride, uint32_t flags)
{
	const struct ork_weights_layout *layout = &weights->layout;
	char *copy;

	if (weights->k == layout->k && weights->n == layout->n) {
		pack_slices(weights, b, stride, flags);
		return 0;
	}
	copy = padded(weights, b, stride, flags);
	if (!copy)
		return ork_fail(weights->ork, -ENOMEM, "no memory to pad %u x %u weights", weights->k, weights->n);
	pack_slices(weights, copy, flags & ORK_TRANSPOSED ? layout->k : layout->n, flags);
	free(copy);
	return 0;
}

int ork_weights_pack(struct ork_weights *weights, const void *b, size_t stride, uint32_t flags)
{
	size_t row = flags & ORK_TRANSPOSED ? weights->k : weights->n;
	uint64_t begin;
	int ret;

	if (flags & ~ORK_TRANSPOSED)
		return ork_fail(weights->ork, -EOPNOTSUPP, "flags = 0x%x; only 0x%x is known", flags, ORK_TRANSPOSED);
	if (stride < row)
		return ork_fail(weights->ork, -EINVAL, "stride of B = %zu; must be at least %zu", stride, row);
	begin = ork_profile_begin(weights->ork);
	ret = pack(weights, b, stride, flags);
	if (ret)
		return ret;
	weights->dirty = true;
	ork_profile_end(weights->ork, ORK_PHASE_PACK, begin, weights->layout.bytes);
	return 0;
}

int ork_weights_load(struct ork_weights *weights)
{
	int ret = 0;

	if (weights->dirty)
		ret = ork_bo_sync(weights->bo, DRM_ORK_EXTENT_TO_DEVICE, 0, weights->layout.bytes);
	if (!ret)
		weights->dirty = false;
	return ret;
}

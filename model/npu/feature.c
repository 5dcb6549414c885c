// SPDX-License-Identifier: MIT
/*
 * The CNA's fetch of activations: from memory into the convolution buffer, each in the type it is
 * multiplied in.
 */
#include <string.h>

#include "core.h"
#include "fixed.h"
#include "half.h"

/* What DATA_SIZE0 can say. */
#define MAX_WIDTH	(ORK_CNA_DATA_SIZE0_DATAIN_WIDTH >> 16)

static uint32_t atom_channels(const struct npu_conv *conv)
{
	return ORK_ATOM_BYTES * 8 / conv->operands->bits;
}

uint32_t npu_feature_step(const struct npu_conv *conv)
{
	return (conv->group_lines ? 4 * conv->width : conv->width) + conv->surface;
}

struct atom {
	uint32_t x, y, channel;	/* the last one in atoms */
	uint32_t iova;
};

static uint32_t feature_atoms(const struct npu_conv *conv)
{
	return conv->width * conv->height * (conv->channels / atom_channels(conv));
}

/* Atom @i in the order in which atoms are likeliest to touch in memory; its address by vendor facts 3.6. */
static struct atom feature_atom(const struct npu_conv *conv, uint32_t i)
{
	uint32_t per_pixel = conv->channels / atom_channels(conv), pixels = conv->width * conv->height;
	bool by_pixel = npu_feature_step(conv) == 1;
	uint32_t pixel = by_pixel ? i / per_pixel : i % pixels;
	struct atom atom = {
		.x = pixel % conv->width,
		.y = pixel / conv->width,
		.channel = by_pixel ? i % per_pixel : i / pixels,
	};
	uint32_t at = atom.x + atom.channel * npu_feature_step(conv);

	if (conv->group_lines)
		at += atom.y / 4 * conv->line + atom.y % 4 * conv->width;
	else
		at += atom.y * conv->line;
	atom.iova = conv->feature + ORK_ATOM_BYTES * at;
	return atom;
}

/* Addresses of the first byte and of the last atom of the activations. */
struct span {
	uint32_t first, last;
};

/*
 * Of pixels without alignment a line is as many bytes as LINE_STRIDE says (vendor facts 3.6), and
 * lies anywhere.
 */
static uint32_t pixel_line(const struct npu_conv *conv, uint32_t y)
{
	return conv->feature + y * conv->line;
}

static uint32_t atom_start(uint32_t iova)
{
	return iova & ~(ORK_ATOM_BYTES - 1u);
}

static struct span pixel_span(const struct npu_conv *conv)
{
	return (struct span) {
		atom_start(pixel_line(conv, 0)),
		atom_start(pixel_line(conv, conv->height - 1) + conv->width - 1),
	};
}

static struct span feature_span(const struct npu_conv *conv)
{
	struct span span = { UINT32_MAX, 0 };

	for (uint32_t i = 0; i < feature_atoms(conv); i++) {
		uint32_t iova = feature_atom(conv, i).iova;

		span.first = iova < span.first ? iova : span.first;
		span.last = iova > span.last ? iova : span.last;
	}
	return span;
}

static void cover(struct npu_cbuf *cbuf, struct span span, uint32_t iova, uint32_t len)
{
	uint32_t atom = (iova - span.first) / ORK_ATOM_BYTES;

	for (uint32_t end = atom + len / ORK_ATOM_BYTES; atom < end; atom++)
		cbuf->covered[atom / 64] |= UINT64_C(1) << atom % 64;
}

static bool is_covered(const struct npu_cbuf *cbuf, struct span span, uint64_t iova)
{
	uint64_t atom = (iova - span.first) / ORK_ATOM_BYTES;

	return cbuf->covered[atom / 64] >> atom % 64 & 1;
}

static uint64_t window_end(struct span span)
{
	uint64_t bytes = (uint64_t)span.last - span.first + ORK_ATOM_BYTES;
	uint64_t end = span.first + (bytes + ORK_CBUF_BANK_BYTES - 1) / ORK_CBUF_BANK_BYTES * ORK_CBUF_BANK_BYTES;

	return end < UINT64_C(1) << 32 ? end : UINT64_C(1) << 32;
}

static void clear_cover(struct npu_cbuf *cbuf, struct span span)
{
	uint64_t words = (window_end(span) - span.first) / NPU_COVER_WORD_BYTES + 1;

	memset(cbuf->covered, 0, words * sizeof(cbuf->covered[0]));
}

static void unpack_atom(const struct npu_conv *conv, struct npu_cbuf *cbuf, struct atom atom, const unsigned char *from)
{
	size_t at = (size_t)(atom.y * conv->width + atom.x) * conv->channels + atom.channel * atom_channels(conv);

	if (npu_conv_is(conv, ORK_PRECISION_INT4)) {
		npu_unpack_int4(from, atom_channels(conv), (int8_t *)cbuf->feature + at);
	} else if (npu_conv_is(conv, ORK_PRECISION_INT8)) {
		int16_t *to = (int16_t *)cbuf->feature + at;

		for (uint32_t i = 0; i < atom_channels(conv); i++)
			to[i] = (int8_t)from[i];
	} else {
		float *to = (float *)cbuf->feature + at;
		uint16_t half[ORK_ATOM_BYTES / sizeof(uint16_t)];

		memcpy(half, from, sizeof(half));
		for (uint32_t i = 0; i < atom_channels(conv); i++)
			to[i] = npu_half_to_float(half[i]);
	}
}

/* Bytes from atom @i on that lie in one piece, up to the end of a page. */
static uint32_t burst_bytes(const struct npu_conv *conv, uint32_t i, uint32_t page)
{
	uint32_t first = feature_atom(conv, i).iova, room = page - first % page, len = ORK_ATOM_BYTES;

	while (len < room && i + len / ORK_ATOM_BYTES < feature_atoms(conv) &&
	       feature_atom(conv, i + len / ORK_ATOM_BYTES).iova == first + len)
		len += ORK_ATOM_BYTES;
	return len;
}

/* Stale lines among the activations; -1 if an access failed. */
static int fetch_feature(const struct npu_conv *conv, struct npu_dma *dma, struct npu_cbuf *cbuf, struct span span)
{
	unsigned char burst[4096];
	int stale = 0, lines;
	uint32_t len;

	for (uint32_t i = 0; i < feature_atoms(conv); i += len / ORK_ATOM_BYTES) {
		uint32_t iova = feature_atom(conv, i).iova;

		len = burst_bytes(conv, i, sizeof(burst));
		lines = npu_dma_read(dma, NPU_BLOCK_FEATURE, iova, burst, len);
		if (lines < 0)
			return -1;
		stale += lines;
		cover(cbuf, span, iova, len);
		for (uint32_t at = 0; at < len; at += ORK_ATOM_BYTES)
			unpack_atom(conv, cbuf, feature_atom(conv, i + at / ORK_ATOM_BYTES), burst + at);
	}
	return stale;
}

/*
 * The one channel that is there, and the others of its atom. The converter is on in all sixteen
 * lanes (CVT_CON5), so an absent channel is taken for a converted zero: a program whose weights do
 * not cancel it finds out. That results are saturated is assumed.
 */
static void unpack_pixels(const struct npu_conv *conv, const unsigned char *from, int16_t *to)
{
	const struct npu_pixel_converter *converter = &conv->converter;

	for (uint32_t x = 0; x < conv->width; x++)
		for (uint32_t channel = 0; channel < conv->channels; channel++) {
			int64_t scaled = channel ? 0 : (int64_t)from[x] * converter->scale;

			scaled = npu_shift_right(scaled, converter->shift, false) + converter->offset;
			*to++ = npu_saturate(scaled, 8);
		}
}

/* As fetch_feature(). */
static int fetch_pixels(const struct npu_conv *conv, struct npu_dma *dma, struct npu_cbuf *cbuf, struct span span)
{
	unsigned char line[MAX_WIDTH];
	int stale = 0, lines;

	for (uint32_t y = 0; y < conv->height; y++) {
		uint32_t iova = pixel_line(conv, y), first = atom_start(iova);

		lines = npu_dma_read(dma, NPU_BLOCK_FEATURE, iova, line, conv->width);
		if (lines < 0)
			return -1;
		stale += lines;
		cover(cbuf, span, first, atom_start(iova + conv->width - 1) - first + ORK_ATOM_BYTES);
		unpack_pixels(conv, line, (int16_t *)cbuf->feature + (size_t)y * conv->width * conv->channels);
	}
	return stale;
}

/* Stale lines in the rest of the window, see enum npu_window_mode. */
static int fetch_window(struct npu_dma *dma, const struct npu_cbuf *cbuf, struct span span)
{
	unsigned char burst[4096];
	uint64_t end = window_end(span), next;
	int stale = 0, lines;

	for (uint64_t at = span.first; at < end; at = next) {
		bool covered = is_covered(cbuf, span, at);

		next = at + ORK_ATOM_BYTES;
		while (next < end && next % sizeof(burst) && is_covered(cbuf, span, next) == covered)
			next += ORK_ATOM_BYTES;
		if (covered)
			continue;
		lines = npu_dma_read(dma, NPU_BLOCK_WINDOW, at, burst, next - at);
		if (lines < 0)
			break;
		stale += lines;
	}
	return stale;
}

int npu_feature_fetch(const struct npu_conv *conv, struct npu_dma *dma, struct npu_cbuf *cbuf)
{
	struct span span = conv->pixels ? pixel_span(conv) : feature_span(conv);
	int stale;

	clear_cover(cbuf, span);
	stale = conv->pixels ? fetch_pixels(conv, dma, cbuf, span) : fetch_feature(conv, dma, cbuf, span);
	return stale < 0 ? -1 : stale + fetch_window(dma, cbuf, span);
}

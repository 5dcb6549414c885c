// SPDX-License-Identifier: MIT
/*
 * Depthwise products: channel by channel, 64 channels a group. Of int8, whose activations and
 * weights are kept as int16.
 */
#include <string.h>

#include "core.h"

static uint32_t kernel_positions(const struct npu_conv *conv)
{
	return conv->kernel_width * conv->kernel_height;
}

/* Channels that a group lacks multiply what is not there: by zero. */
void npu_depthwise_unpack(const struct npu_conv *conv, struct npu_cbuf *cbuf, const void *from, uint32_t channels)
{
	const int8_t *weights = from;
	int16_t *to = (int16_t *)cbuf->group;

	memset(to, 0, (size_t)kernel_positions(conv) * conv->group_kernels * sizeof(*to));
	for (uint32_t position = 0; position < kernel_positions(conv); position++, to += conv->group_kernels)
		for (uint32_t channel = 0; channel < channels; channel++)
			to[channel] = *weights++;
}

/* Activations of a group at one position of the input; in padding each is its value. */
struct window {
	int16_t padding[NPU_MAX_TILE_KERNELS];
	uint32_t channels;
};

static const int16_t *activations(const struct npu_conv *conv, const struct npu_cbuf *cbuf,
				  const struct window *window, uint32_t first, uint32_t x, uint32_t y)
{
	if (!npu_conv_inside(conv, x, y))
		return window->padding;
	return (const int16_t *)cbuf->feature + (size_t)(y * conv->width + x) * conv->channels + first;
}

/*
 * At most 961 positions, so no sum of products of at most 2^14 can overflow. Each channel's
 * activations are summed for themselves: so the OW stage gives what its operand is for, weights
 * less their zero point (vendor facts 4.8).
 */
static void multiply_pixel(const struct npu_conv *conv, struct npu_cbuf *cbuf, const struct npu_tile *tile,
			   const struct window *window, uint32_t pixel)
{
	uint32_t x0 = (tile->first + pixel) % conv->out_width * conv->stride_x - conv->pad_left;
	uint32_t y0 = (tile->first + pixel) / conv->out_width * conv->stride_y - conv->pad_top;
	int32_t *quantity = cbuf->quantity + pixel * tile->kernels;
	const int16_t *weights = (const int16_t *)cbuf->group;
	int32_t sums[NPU_MAX_TILE_KERNELS] = { 0 };

	memset(quantity, 0, tile->kernels * sizeof(*quantity));
	for (uint32_t y = y0; y != y0 + conv->kernel_height; y++)
		for (uint32_t x = x0; x != x0 + conv->kernel_width; x++, weights += tile->kernels) {
			const int16_t *from =
				activations(conv, cbuf, window, tile->group * tile->kernels, x, y);

			for (uint32_t channel = 0; channel < window->channels; channel++) {
				sums[channel] += from[channel] * weights[channel];
				quantity[channel] += from[channel];
			}
		}
	memcpy(cbuf->tile + pixel * tile->kernels, sums, tile->kernels * sizeof(*sums));
}

void npu_depthwise_multiply(const struct npu_conv *conv, struct npu_cbuf *cbuf, const struct npu_tile *tile)
{
	uint32_t rest = conv->channels - tile->group * tile->kernels;
	struct window window = { .channels = rest < tile->kernels ? rest : tile->kernels };

	for (uint32_t channel = 0; channel < NPU_MAX_TILE_KERNELS; channel++)
		window.padding[channel] = conv->pad;
	for (uint32_t pixel = 0; pixel < tile->pixels; pixel++)
		multiply_pixel(conv, cbuf, tile, &window, pixel);
}

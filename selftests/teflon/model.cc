// SPDX-License-Identifier: MIT
/*
 * Draws a case's weights and biases, and chooses scales as a quantiser does: so that what the first input gives
 * fills the range of the results.
 */
#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

uint64_t generator::next()
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

int generator::between(int low, int high)
{
	return low + (int)(next() % (uint64_t)(high - low + 1));
}

std::vector<uint8_t> generator::bytes(size_t count, int low, int high)
{
	std::vector<uint8_t> drawn(count);

	for (uint8_t &each : drawn)
		each = (uint8_t)between(low, high);
	return drawn;
}

uint64_t hash(const std::string &text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (unsigned char each : text)
		h = (h ^ each) * 0x100000001b3u;
	return h;
}

size_t tensor::size() const
{
	return (size_t)height * width * channels;
}

size_t tensor::at(int y, int x, int channel) const
{
	return ((size_t)y * width + x) * channels + channel;
}

/* --- exact arithmetic --------------------------------------------------------------------------- */

static bool is_inside(const tensor &t, int y, int x)
{
	return y >= 0 && y < t.height && x >= 0 && x < t.width;
}

/* Of one position of the kernel: @from is a pixel. */
static int64_t products(const node &n, const uint8_t *from, int position, int channel)
{
	int taps = n.spec.kernel * n.spec.kernel, channels = n.in.channels, sum = 0;

	if (n.spec.depthwise)
		return (from[channel] - n.in.zero_point) *
		       (n.weights[(size_t)position * channels + channel] - n.weight_zero_point);
	const uint8_t *weights = &n.weights[((size_t)channel * taps + position) * channels];
	for (int i = 0; i < channels; i++)
		sum += (from[i] - n.in.zero_point) * (weights[i] - n.weight_zero_point);
	return sum;
}

/* Without the bias. */
static int64_t accumulate(const node &n, const std::vector<uint8_t> &from, int y, int x, int channel)
{
	int top = y * n.spec.stride - n.pad_top, left = x * n.spec.stride - n.pad_left, k = n.spec.kernel;
	int64_t sum = 0;

	for (int position = 0; position < k * k; position++) {
		int in_y = top + position / k, in_x = left + position % k;

		if (is_inside(n.in, in_y, in_x))
			sum += products(n, &from[n.in.at(in_y, in_x, 0)], position, channel);
	}
	return sum;
}

uint8_t node::exact(const std::vector<uint8_t> &from, int y, int x, int channel) const
{
	double sum = (double)(accumulate(*this, from, y, x, channel) + bias[channel]);
	double value = round(sum * in.scale * weight_scale / out.scale) + out.zero_point;

	return (uint8_t)std::min(255.0, std::max(0.0, value));
}

std::vector<uint8_t> node::exact(const std::vector<uint8_t> &from) const
{
	std::vector<uint8_t> to;

	to.reserve(out.size());
	for (int y = 0; y < out.height; y++)
		for (int x = 0; x < out.width; x++)
			for (int channel = 0; channel < out.channels; channel++)
				to.push_back(exact(from, y, x, channel));
	return to;
}

/* --- choosing the numbers ----------------------------------------------------------------------- */

static int out_size(const layer &spec, int in)
{
	return spec.same ? (in + spec.stride - 1) / spec.stride : (in - spec.kernel + spec.stride) / spec.stride;
}

static int padding(const layer &spec, int in, int out)
{
	return spec.same ? std::max(0, (out - 1) * spec.stride + spec.kernel - in) / 2 : 0;
}

static node make_shape(const layer &spec, const tensor &in)
{
	node n = {};

	n.spec = spec;
	n.in = in;
	n.out.height = out_size(spec, in.height);
	n.out.width = out_size(spec, in.width);
	n.out.channels = spec.depthwise ? in.channels : spec.out_channels;
	n.pad_top = padding(spec, in.height, n.out.height);
	n.pad_left = padding(spec, in.width, n.out.width);
	return n;
}

static void draw_weights(node *n, generator *draw)
{
	size_t taps = (size_t)n->spec.kernel * n->spec.kernel * n->in.channels;

	n->weight_zero_point = n->spec.weight_zero_point != ANY_ZERO_POINT ? n->spec.weight_zero_point
									    : draw->between(108, 148);
	n->weight_scale = n->spec.weight_scale != ANY_SCALE ? n->spec.weight_scale
							     : 0.002f + 0.0001f * (float)draw->between(0, 150);
	n->weights = draw->bytes(n->spec.depthwise ? taps : taps * n->out.channels);
}

struct span {
	int64_t low, high;
};

/* Of the sums at some pixels; 0 is always among them. */
static span sample_sums(const node &n, const std::vector<uint8_t> &in, generator *draw)
{
	span sums = {0, 0};

	for (int i = 0; i < 24 + 512 / n.out.channels; i++) {
		int y = draw->between(0, n.out.height - 1), x = draw->between(0, n.out.width - 1);

		for (int channel = 0; channel < n.out.channels; channel++) {
			int64_t sum = accumulate(n, in, y, x, channel);

			sums.low = std::min(sums.low, sum);
			sums.high = std::max(sums.high, sum);
		}
	}
	return sums;
}

/* Moves @sums apart as far as biases do. */
static void draw_bias(node *n, generator *draw, span *sums)
{
	int spread = (int)std::max<int64_t>(1, (sums->high - sums->low) / 16);

	n->bias.resize(n->out.channels);
	for (int32_t &each : n->bias)
		each = draw->between(-spread, spread);
	sums->low -= spread;
	sums->high += spread;
}

/*
 * Mesa halves a multiplier whose upper 14 bits of the mantissa are all ones (vendor facts 4.8): once in 32768
 * layers, and not what is tested here.
 */
static float avoid_lost_carry(float multiplier, float out_scale)
{
	uint32_t bits;

	memcpy(&bits, &multiplier, sizeof(bits));
	return (bits >> 9 & 0x3fff) == 0x3fff ? out_scale * 1.001f : out_scale;
}

static int clamp_zero_point(double value)
{
	return (int)std::min(255.0, std::max(0.0, round(value)));
}

/* Where the result's scale is given, the weights' follows from it. */
static void choose_scales(node *n, span sums)
{
	double range = (double)(sums.high - sums.low);

	if (n->spec.out_scale != ANY_SCALE) {
		n->out.scale = n->spec.out_scale;
		n->weight_scale = (float)(n->out.scale * 255 / (range * n->in.scale));
	} else {
		n->out.scale = (float)(n->in.scale * (double)n->weight_scale * range / 255);
		n->out.scale = avoid_lost_carry(n->in.scale * n->weight_scale / n->out.scale, n->out.scale);
	}
	n->out.zero_point = clamp_zero_point(-(double)sums.low * 255 / range);
}

static node make_node(const layer &spec, const tensor &in, const std::vector<uint8_t> &values, generator *draw)
{
	node n = make_shape(spec, in);
	span sums;

	draw_weights(&n, draw);
	sums = sample_sums(n, values, draw);
	draw_bias(&n, draw, &sums);
	choose_scales(&n, sums);
	return n;
}

static tensor make_input(const test_case &spec, generator *draw)
{
	tensor in = {spec.height, spec.width, spec.channels, 0, spec.zero_point};

	in.scale = 0.005f + 0.0001f * (float)draw->between(0, 300);
	if (in.zero_point == ANY_ZERO_POINT)
		in.zero_point = draw->between(96, 160);
	return in;
}

model make_model(const test_case &spec, uint64_t seed)
{
	generator draw = {seed ^ hash(full_name(spec))};
	tensor in = make_input(spec, &draw);
	std::vector<uint8_t> values = draw.bytes(in.size());
	model m = {spec, {}, {}};

	for (const layer &each : spec.layers) {
		m.nodes.push_back(make_node(each, in, values, &draw));
		in = m.nodes.back().out;
		if (m.nodes.size() < spec.layers.size())
			values = m.nodes.back().exact(values);
	}
	m.out = in;
	if (spec.residual) {
		m.out.scale = SUM_SCALE;
		m.out.zero_point = SUM_ZERO_POINT;
		/* The CPU holds what is not added yet in a byte, the NPU does not: as wide a range clips nothing. */
		m.nodes.back().out = m.out;
	}
	return m;
}

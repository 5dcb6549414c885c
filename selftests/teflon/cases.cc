// SPDX-License-Identifier: MIT
/*
 * What is computed. Left out is what Mesa accepts and does not compute right, whatever the driver (26.1): 17 to 31
 * input channels, kernels larger than 1x1 on images that are not square, signed values.
 */
#include "model.h"

static layer conv(int out_channels, int kernel, int stride = 1, bool same = true)
{
	return {false, out_channels, kernel, stride, same};
}

static layer depthwise(int stride = 1, bool same = true)
{
	return {true, 0, 3, stride, same};
}

static layer with_weights(layer spec, int zero_point, float scale = ANY_SCALE)
{
	spec.weight_zero_point = zero_point;
	spec.weight_scale = scale;
	return spec;
}

static layer with_result(layer spec, float scale)
{
	spec.out_scale = scale;
	return spec;
}

/* The convolutions of MobileNetV1, with a quarter of its channels. */
static std::vector<layer> mobilenet()
{
	static const int blocks[][2] = {
		{1, 16}, {2, 32}, {1, 32}, {2, 64}, {1, 64}, {2, 128}, {1, 128},
		{1, 128}, {1, 128}, {1, 128}, {1, 128}, {2, 256}, {1, 256},
	};
	std::vector<layer> layers = {conv(8, 3, 2)};

	for (const auto &block : blocks) {
		layers.push_back(depthwise(block[0]));
		layers.push_back(conv(block[1], 1));
	}
	return layers;
}

/*
 * Mesa shifts the sums of weights that have this scale, and a few others, before it adds the bias (vendor facts
 * 4.8): bits 0x3c0060de.
 */
static const float TRUNCATING_SCALE = 0x1.00c1bcp-7f;

/*
 * What the first layer computes, added to what two more make of it. With one more its buffer would be named twice in
 * a job, which mainline's driver refuses.
 */
static test_case residual(int size, int channels)
{
	test_case spec = {"add", size, size, channels, ANY_ZERO_POINT, {}};

	spec.layers = {with_result(conv(channels, 1), ADDED_SCALE), with_result(depthwise(), ADDED_SCALE),
		       with_weights(conv(channels, 1), ANY_ZERO_POINT, 1 / ADDED_BY)};
	spec.residual = true;
	return spec;
}

static const int ANY = ANY_ZERO_POINT;

const std::vector<test_case> &all_cases()
{
	static const std::vector<test_case> cases = {
		/* Single layers like MobileNetV1's. */
		{"core", 4, 4, 16, ANY, {conv(16, 1)}},
		{"core", 8, 8, 16, ANY, {conv(32, 1)}},
		{"core", 14, 14, 32, ANY, {conv(64, 1)}},
		{"core", 7, 7, 128, ANY, {conv(128, 1)}},
		{"core", 14, 14, 48, ANY, {conv(40, 1)}},
		{"core", 14, 14, 32, ANY, {conv(64, 1, 2)}},
		{"core", 5, 5, 32, ANY, {conv(32, 3)}},
		{"core", 14, 14, 32, ANY, {conv(32, 3)}},
		{"core", 14, 14, 32, ANY, {conv(32, 3, 1, false)}},
		{"core", 16, 16, 32, ANY, {conv(64, 3, 2)}},
		{"core", 15, 15, 32, ANY, {conv(64, 3, 2, false)}},
		{"core", 14, 14, 64, 128, {with_weights(conv(48, 3), 128)}},
		{"core", 32, 32, 3, 128, {conv(32, 3, 2)}},
		{"core", 28, 28, 1, 128, {conv(8, 3)}},
		{"core", 14, 14, 64, ANY, {depthwise()}},
		{"core", 14, 14, 128, ANY, {depthwise(2)}},
		{"core", 14, 14, 32, ANY, {depthwise()}},
		{"core", 14, 14, 64, ANY, {depthwise(1, false)}},
		residual(14, 32),
		residual(16, 64),
		residual(12, 128),
		/* Several tasks an operation: the image or the weights do not fit the convolution buffer. */
		{"split", 80, 80, 64, ANY, {conv(16, 1)}},
		{"split", 112, 112, 32, ANY, {conv(8, 3)}},
		{"split", 112, 112, 32, ANY, {conv(16, 3, 2)}},
		{"split", 112, 112, 32, ANY, {depthwise()}},
		{"split", 7, 7, 256, ANY, {conv(256, 3)}},
		{"split", 4, 4, 1024, ANY, {conv(512, 1)}},
		/* Several operations a submission, each reading what the one before wrote. */
		{"chain", 16, 16, 16, ANY, {conv(32, 3, 2), depthwise(), conv(64, 1)}, 2},
		{"chain", 14, 14, 32, ANY, {depthwise(), conv(64, 1), depthwise(2), conv(128, 1)}, 2},
		/* As many operations as a real network has: the differences of each go through all that follow. */
		{"net", 96, 96, 3, 128, mobilenet(), 12, "mobilenet_v1_0.25_96"},
		/* Corners of Mesa's code: channels, zero points, a scale, kernels, a size. */
		{"quirk", 8, 8, 16, ANY, {conv(5, 1)}},
		{"quirk", 8, 8, 16, ANY, {conv(10, 3)}},
		{"quirk", 8, 8, 16, ANY, {conv(1, 1)}},
		{"quirk", 40, 40, 40, ANY, {conv(16, 1)}},
		{"quirk", 14, 14, 32, 0, {conv(32, 3)}},
		{"quirk", 14, 14, 64, 0x8b, {depthwise()}},
		{"quirk", 14, 14, 32, ANY, {with_weights(conv(32, 1), ANY, TRUNCATING_SCALE)}, 1,
		 "conv_14x14x32_k1_o32_truncated"},
		{"quirk", 14, 14, 32, ANY, {conv(32, 5)}},
		{"quirk", 8, 8, 48, ANY, {conv(48, 3)}},
		{"quirk", 28, 28, 1, 0, {conv(16, 5, 1, false)}},
		{"quirk", 8, 24, 32, ANY, {conv(32, 1)}},
	};

	return cases;
}

static std::string layer_name(const layer &spec, bool many)
{
	std::string name;

	if (many)
		name += spec.depthwise ? "_dw" : "_conv";
	name += "_k" + std::to_string(spec.kernel);
	if (spec.stride > 1)
		name += "s" + std::to_string(spec.stride);
	if (!spec.same)
		name += "_valid";
	if (!spec.depthwise)
		name += "_o" + std::to_string(spec.out_channels);
	return name;
}

/* SET.conv_14x14x32_k3s2_valid_o64_z128: image, kernel and stride, padding, channels out, zero point. */
std::string full_name(const test_case &spec)
{
	bool many = spec.layers.size() > 1;
	std::string name = std::string(spec.set) + ".";

	if (spec.name)
		return name + spec.name;
	name += spec.residual ? "residual" : many ? "chain" : spec.layers[0].depthwise ? "dw" : "conv";
	name += "_" + std::to_string(spec.height) + "x" + std::to_string(spec.width) + "x" + std::to_string(spec.channels);
	for (const layer &each : spec.layers)
		name += layer_name(each, many);
	if (spec.zero_point != ANY_ZERO_POINT)
		name += "_z" + std::to_string(spec.zero_point);
	return name;
}

/* SPDX-License-Identifier: MIT */
/*
 * Models of one or a few quantised convolutions, as numbers: what each case is made of, and, exactly, what it
 * computes. All values are unsigned bytes: real = scale * (value - zero point).
 */
#ifndef TEFLON_MODEL_H
#define TEFLON_MODEL_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/* Drawn from the seed, or computed so that results fill their range. */
const int ANY_ZERO_POINT = -1;
const float ANY_SCALE = 0;

/*
 * Mesa knows only the additions of one network (vendor facts 4.9): that of a tensor with this scale it multiplies by
 * ADDED_BY, then all by 27676 / 2^25, and adds 6. It is right where the products' scale is the added one's by
 * ADDED_BY, and the sum's follows from both.
 */
const float ADDED_SCALE = 0.090192f, ADDED_BY = 299.671889f;
const float SUM_SCALE = ADDED_SCALE / ADDED_BY / (27676.0f / (1 << 25));
const int SUM_ZERO_POINT = 128 + 6;

struct layer {
	bool depthwise;
	int out_channels; /* as many as come in, if depthwise */
	int kernel, stride;
	bool same; /* padding, SAME or VALID */
	int weight_zero_point = ANY_ZERO_POINT;
	float weight_scale = ANY_SCALE;
	float out_scale = ANY_SCALE;
};

struct test_case {
	const char *set;
	int height, width, channels;
	int zero_point; /* of the input */
	std::vector<layer> layers;
	int tolerance = 1; /* of the delegate's values against the CPU's */
	const char *name = nullptr; /* if it is not to be told from the layers */
	bool residual = false; /* at last adds what the first layer computes to what the last one does */
};

/* Filled once, in the order in which they run. */
const std::vector<test_case> &all_cases();
/* SET.NAME */
std::string full_name(const test_case &spec);

/* splitmix64 */
struct generator {
	uint64_t state;

	uint64_t next();
	int between(int low, int high); /* both included */
	std::vector<uint8_t> bytes(size_t count, int low = 0, int high = 255);
};

/* FNV-1a */
uint64_t hash(const std::string &text);

struct tensor {
	int height, width, channels;
	float scale;
	int zero_point;

	size_t size() const;
	size_t at(int y, int x, int channel) const;
};

struct node {
	layer spec;
	tensor in, out;
	int pad_top, pad_left;
	float weight_scale;
	int weight_zero_point;
	std::vector<uint8_t> weights; /* [out channel][y][x][in channel]; depthwise without the first */
	std::vector<int32_t> bias;

	uint8_t exact(const std::vector<uint8_t> &from, int y, int x, int channel) const;
	std::vector<uint8_t> exact(const std::vector<uint8_t> &from) const;
};

struct model {
	test_case spec;
	std::vector<node> nodes;
	tensor out; /* of the last node, or of the addition after it */
};

model make_model(const test_case &spec, uint64_t seed);

#endif

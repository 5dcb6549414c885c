// SPDX-License-Identifier: MIT
#include "flatbuffer.h"

#include "tensorflow/lite/schema/schema_generated.h"

namespace {

using flatbuffers::Offset;

/* Places in the file's list of operator codes. */
enum { CONV, DEPTHWISE, ADD };

struct file {
	flatbuffers::FlatBufferBuilder builder;
	std::vector<Offset<tflite::Tensor>> tensors;
	std::vector<Offset<tflite::Buffer>> buffers;
	std::vector<Offset<tflite::Operator>> operators;

	int32_t add_tensor(const std::vector<int32_t> &shape, tflite::TensorType type, float scale, int zero_point,
			   uint32_t buffer = 0);
	int32_t add_values(const tensor &t);
	uint32_t add_buffer(const void *data, size_t bytes);
	void add_operator(int code, const std::vector<int32_t> &inputs, int32_t output, tflite::BuiltinOptions type,
			  Offset<void> options);
	int32_t add_node(const node &n, int32_t input);
	int32_t add_sum(const tensor &sum, int32_t a, int32_t b);
	Offset<tflite::SubGraph> finish_graph(int32_t input, int32_t output);
	void finish(int32_t input, int32_t output);
};

int32_t file::add_tensor(const std::vector<int32_t> &shape, tflite::TensorType type, float scale, int zero_point,
			 uint32_t buffer)
{
	auto quantisation = tflite::CreateQuantizationParameters(builder, 0, 0, builder.CreateVector<float>({scale}),
								 builder.CreateVector<int64_t>({zero_point}));
	auto name = builder.CreateString("tensor" + std::to_string(tensors.size()));

	tensors.push_back(tflite::CreateTensor(builder, builder.CreateVector(shape), type, buffer, name, quantisation));
	return (int32_t)tensors.size() - 1;
}

/* What is computed. */
int32_t file::add_values(const tensor &t)
{
	return add_tensor({1, t.height, t.width, t.channels}, tflite::TensorType_UINT8, t.scale, t.zero_point);
}

uint32_t file::add_buffer(const void *data, size_t bytes)
{
	builder.ForceVectorAlignment(bytes, 1, 16);
	buffers.push_back(tflite::CreateBuffer(builder, builder.CreateVector((const uint8_t *)data, bytes)));
	return (uint32_t)buffers.size() - 1;
}

void file::add_operator(int code, const std::vector<int32_t> &inputs, int32_t output, tflite::BuiltinOptions type,
			Offset<void> options)
{
	auto in = builder.CreateVector(inputs), out = builder.CreateVector<int32_t>({output});

	operators.push_back(tflite::CreateOperator(builder, code, in, out, type, options));
}

int32_t file::add_node(const node &n, int32_t input)
{
	int k = n.spec.kernel, stride = n.spec.stride;
	tflite::Padding padding = n.spec.same ? tflite::Padding_SAME : tflite::Padding_VALID;
	int32_t weights = add_tensor({n.spec.depthwise ? 1 : n.out.channels, k, k, n.in.channels},
				     tflite::TensorType_UINT8, n.weight_scale, n.weight_zero_point,
				     add_buffer(n.weights.data(), n.weights.size()));
	int32_t bias = add_tensor({n.out.channels}, tflite::TensorType_INT32, n.in.scale * n.weight_scale, 0,
				  add_buffer(n.bias.data(), n.bias.size() * sizeof(n.bias[0])));
	int32_t output = add_values(n.out);

	if (n.spec.depthwise)
		add_operator(DEPTHWISE, {input, weights, bias}, output, tflite::BuiltinOptions_DepthwiseConv2DOptions,
			     tflite::CreateDepthwiseConv2DOptions(builder, padding, stride, stride, 1).Union());
	else
		add_operator(CONV, {input, weights, bias}, output, tflite::BuiltinOptions_Conv2DOptions,
			     tflite::CreateConv2DOptions(builder, padding, stride, stride).Union());
	return output;
}

int32_t file::add_sum(const tensor &sum, int32_t a, int32_t b)
{
	int32_t output = add_values(sum);

	add_operator(ADD, {a, b}, output, tflite::BuiltinOptions_AddOptions, tflite::CreateAddOptions(builder).Union());
	return output;
}

Offset<tflite::SubGraph> file::finish_graph(int32_t input, int32_t output)
{
	return tflite::CreateSubGraph(builder, builder.CreateVector(tensors), builder.CreateVector<int32_t>({input}),
				      builder.CreateVector<int32_t>({output}), builder.CreateVector(operators));
}

void file::finish(int32_t input, int32_t output)
{
	static const tflite::BuiltinOperator known[] = {
		tflite::BuiltinOperator_CONV_2D, tflite::BuiltinOperator_DEPTHWISE_CONV_2D, tflite::BuiltinOperator_ADD,
	};
	std::vector<Offset<tflite::OperatorCode>> codes;
	Offset<tflite::SubGraph> graph = finish_graph(input, output);

	for (tflite::BuiltinOperator each : known)
		codes.push_back(tflite::CreateOperatorCode(builder, (int8_t)each, 0, 1, each));
	tflite::FinishModelBuffer(builder, tflite::CreateModel(builder, 3, builder.CreateVector(codes),
							       builder.CreateVector(&graph, 1), 0,
							       builder.CreateVector(buffers)));
}

} // namespace

std::vector<uint8_t> to_flatbuffer(const model &m)
{
	file f;
	/* What is computed has no buffer: it names the first one, which is empty. */
	f.buffers.push_back(tflite::CreateBuffer(f.builder));
	int32_t input = f.add_values(m.nodes[0].in), first = f.add_node(m.nodes[0], input), last = first;

	for (size_t i = 1; i < m.nodes.size(); i++)
		last = f.add_node(m.nodes[i], last);
	/* Mesa lets the convolution that computes the first operand add the other one. */
	if (m.spec.residual)
		last = f.add_sum(m.out, last, first);
	f.finish(input, last);
	return std::vector<uint8_t>(f.builder.GetBufferPointer(), f.builder.GetBufferPointer() + f.builder.GetSize());
}

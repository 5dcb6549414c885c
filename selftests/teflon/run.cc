// SPDX-License-Identifier: MIT
#include "run.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>

#include "flatbuffer.h"
#include "tensorflow/lite/builtin_ops.h"
#include "tensorflow/lite/interpreter.h"
#include "tensorflow/lite/interpreter_builder.h"
#include "tensorflow/lite/kernels/register_ref.h"
#include "tensorflow/lite/model_builder.h"

namespace {

/* Positions of a result at which the CPU's is held against exact arithmetic. */
const int SAMPLES = 64;

bool fail(const char *why)
{
	printf("# %s\n", why);
	return false;
}

/*
 * A delegate's library. TensorFlow Lite's own wrapper of such libraries is of no use: it returns a delegate that
 * crashes when the library finds no device, and does not say why one is not loaded.
 */
struct plugin {
	TfLiteDelegate *(*create)(char **, char **, size_t, void (*)(const char *));
	void (*destroy)(TfLiteDelegate *);

	bool open(const char *path);
};

bool plugin::open(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return fail(dlerror());
	create = (decltype(create))dlsym(library, "tflite_plugin_create_delegate");
	destroy = (decltype(destroy))dlsym(library, "tflite_plugin_destroy_delegate");
	return (create && destroy) || fail("the library is no delegate");
}

void report(const char *text)
{
	printf("# delegate: %s\n", text);
}

struct comparison {
	size_t values = 0, different = 0, at_ends = 0;
	int most = 0, most_from_exact = 0;

	void compare(const model &m, const uint8_t *got, const uint8_t *wanted, int run);
};

/* An interpreter goes before its delegate. */
struct runner {
	std::unique_ptr<tflite::FlatBufferModel> flatbuffer;
	std::unique_ptr<TfLiteDelegate, void (*)(TfLiteDelegate *)> delegate = {nullptr, nullptr};
	std::unique_ptr<tflite::Interpreter> cpu, npu;
	FILE *keep = nullptr;
	comparison result;

	bool prepare(const std::vector<uint8_t> &bytes, const plugin &library);
	bool interpreter(std::unique_ptr<tflite::Interpreter> *made);
	bool all_taken() const;
	bool run(const model &m, generator *draw, int number);
	~runner();
};

runner::~runner()
{
	if (keep)
		fclose(keep);
}

bool runner::interpreter(std::unique_ptr<tflite::Interpreter> *made)
{
	tflite::ops::builtin::BuiltinRefOpResolver resolver;

	return tflite::InterpreterBuilder(*flatbuffer, resolver)(made) == kTfLiteOk;
}

/* Without this, the CPU would be compared with the CPU. */
bool runner::all_taken() const
{
	bool all = true;

	for (int index : npu->execution_plan()) {
		const TfLiteRegistration &kernel = npu->node_and_registration(index)->second;

		if (kernel.builtin_code == kTfLiteBuiltinDelegate)
			continue;
		printf("# operator %d is not taken by the delegate\n", kernel.builtin_code);
		all = false;
	}
	return all;
}

bool runner::prepare(const std::vector<uint8_t> &bytes, const plugin &library)
{
	flatbuffer = tflite::FlatBufferModel::VerifyAndBuildFromBuffer((const char *)bytes.data(), bytes.size());
	if (!flatbuffer)
		return fail("the model does not verify");
	if (!interpreter(&cpu) || cpu->AllocateTensors() != kTfLiteOk)
		return fail("the CPU refuses the model");
	delegate = {library.create(nullptr, nullptr, 0, report), library.destroy};
	if (!delegate)
		return fail("there is no delegate: it finds no device that it knows");
	if (!interpreter(&npu) || npu->ModifyGraphWithDelegate(delegate.get()) != kTfLiteOk ||
	    npu->AllocateTensors() != kTfLiteOk)
		return fail("the delegate refuses the model");
	return all_taken();
}

uint8_t *result_of(tflite::Interpreter *interpreter)
{
	return (uint8_t *)interpreter->output_tensor(0)->data.raw;
}

bool invoke(tflite::Interpreter *interpreter, const std::vector<uint8_t> &input)
{
	memcpy(interpreter->input_tensor(0)->data.raw, input.data(), input.size());
	return interpreter->Invoke() == kTfLiteOk;
}

/* Says where the first too large difference is. */
void comparison::compare(const model &m, const uint8_t *got, const uint8_t *wanted, int run)
{
	const tensor &out = m.out;

	for (size_t i = 0; i < out.size(); i++) {
		int difference = abs(got[i] - wanted[i]);
		size_t pixel = i / out.channels;

		values++;
		different += difference != 0;
		at_ends += wanted[i] == 0 || wanted[i] == 255;
		if (difference > m.spec.tolerance && most <= m.spec.tolerance)
			printf("# run %d y %zu x %zu channel %zu: %d, not %d\n", run, pixel / out.width,
			       pixel % out.width, i % out.channels, got[i], wanted[i]);
		most = std::max(most, difference);
	}
}

/* Of a single node: what many compute for each other differs by more. */
int sample_difference(const node &n, const std::vector<uint8_t> &input, const uint8_t *got, generator *draw)
{
	int most = 0;

	for (int i = 0; i < SAMPLES; i++) {
		int y = draw->between(0, n.out.height - 1), x = draw->between(0, n.out.width - 1);
		int channel = draw->between(0, n.out.channels - 1);

		most = std::max(most, abs(got[n.out.at(y, x, channel)] - n.exact(input, y, x, channel)));
	}
	return most;
}

/* Each of a new input, and over a result that is wrong everywhere: what is left from before does not pass. */
bool runner::run(const model &m, generator *draw, int number)
{
	std::vector<uint8_t> input = draw->bytes(m.nodes[0].in.size());

	if (!invoke(cpu.get(), input))
		return fail("the CPU does not run the model");
	const uint8_t *wanted = result_of(cpu.get());
	if (m.nodes.size() == 1)
		result.most_from_exact =
			std::max(result.most_from_exact, sample_difference(m.nodes[0], input, wanted, draw));
	for (size_t i = 0; i < m.out.size(); i++)
		result_of(npu.get())[i] = wanted[i] ^ 0x80;
	if (!invoke(npu.get(), input))
		return fail("the delegate does not run the model");
	const uint8_t *got = result_of(npu.get());
	if (keep && fwrite(got, 1, m.out.size(), keep) != m.out.size())
		return fail("the result cannot be kept");
	result.compare(m, got, wanted, number);
	return true;
}

bool judge(const model &m, const comparison &result)
{
	printf("# %dx%dx%d, %zu of %zu values differ, by %d at most (%d allowed), %zu at the ends of the range",
	       m.out.height, m.out.width, m.out.channels, result.different, result.values, result.most,
	       m.spec.tolerance, result.at_ends);
	if (m.nodes.size() == 1)
		printf("; the CPU differs from exact arithmetic by %d", result.most_from_exact);
	putchar('\n');
	if (result.most_from_exact > 1)
		return fail("the CPU itself is wrong");
	return result.most <= m.spec.tolerance;
}

FILE *open_kept(const options &opt, const std::string &name)
{
	std::string path = std::string(opt.keep) + "/" + name;
	FILE *file = fopen(path.c_str(), "wb");

	if (!file)
		printf("# %s: %s\n", path.c_str(), strerror(errno));
	return file;
}

} // namespace

bool run_case(const test_case &spec, const options &opt)
{
	std::string name = full_name(spec);
	model m = make_model(spec, opt.seed);
	std::vector<uint8_t> bytes = to_flatbuffer(m);
	generator draw = {opt.seed * 7919 ^ hash(name)};
	plugin library;
	runner r;

	if (!library.open(opt.delegate) || !r.prepare(bytes, library))
		return false;
	if (opt.keep && !(r.keep = open_kept(opt, name)))
		return false;
	for (int i = 0; i < opt.runs; i++)
		if (!r.run(m, &draw, i))
			return false;
	return judge(m, r.result);
}

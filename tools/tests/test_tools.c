// SPDX-License-Identifier: MIT
/*
 * The tools as people run them, on the NPU model in their own process. They lie beside this test.
 */
#include <libgen.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../selftests/unit/json.h"
#include "../../selftests/unit/test.h"

#define TRAIN	"%s/ork-train --data %s --device model "

static char folder[4096];	/* of this program */
static char data[4200];		/* the digits */
static char scratch[] = "/tmp/ork-test.XXXXXX";
static char json_path[64];
static char output[65536];	/* both streams of the last program */

/* The exit status of a shell command, or -1. */
static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
	char command[16384];
	va_list args;
	size_t length;
	FILE *pipe;
	int status;

	va_start(args, format);
	vsnprintf(command, sizeof(command) - 8, format, args);
	va_end(args);
	strcat(command, " 2>&1");
	pipe = popen(command, "r");
	if (!pipe)
		return -1;
	length = fread(output, 1, sizeof(output) - 1, pipe);
	output[length] = '\0';
	status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool read_json(char *text, size_t size)
{
	FILE *file = fopen(json_path, "r");
	size_t length;

	if (!file)
		return false;
	length = fread(text, 1, size - 1, file);
	text[length] = '\0';
	fclose(file);
	return true;
}

/* A figure's text: a number, or an array of numbers; "" if it is not there. */
static void figure(const char *key, char *text, size_t size)
{
	static char json[65536];
	char name[64];
	const char *at;
	size_t length = 0;

	snprintf(name, sizeof(name), "\"%s\": ", key);
	at = read_json(json, sizeof(json)) ? strstr(json, name) : NULL;
	if (at) {
		at += strlen(name);
		length = *at == '[' ? strcspn(at, "]") : strcspn(at, ",\n");
	}
	snprintf(text, size, "%.*s", (int)length, at ? at : "");
}

static double number(const char *key)
{
	char text[256];

	figure(key, text, sizeof(text));
	return *text ? atof(text) : -1;
}

static void training_on_the_npu_learns_the_digits(void)
{
	int status = run(TRAIN "--json %s", folder, data, json_path);

	CHECK(status == 0, "exit status %d: %s", status, output);
	CHECK(number("accuracy") >= 0.95, "accuracy %g", number("accuracy"));
	CHECK(strstr(output, "held-out accuracy"), "%s", output);
}

/* Of what the training above wrote. */
static void a_product_costs_two_ioctls_and_each_byte_once(void)
{
	char chains[256], interrupts[256];

	CHECK(number("calls") == 5 * number("steps"), "%g products in %g steps", number("calls"),
	      number("steps"));
	CHECK(number("ioctls_per_call") == 2, "%g", number("ioctls_per_call"));
	CHECK(number("bytes_maintained_per_call") <= 1.05 * number("bytes_written_per_call"),
	      "%g maintained, %g written", number("bytes_maintained_per_call"),
	      number("bytes_written_per_call"));
	/* Below this a byte that the other side needs was left out. */
	CHECK(number("bytes_maintained_per_call") >= number("bytes_written_per_call"),
	      "%g maintained, %g written", number("bytes_maintained_per_call"),
	      number("bytes_written_per_call"));
	CHECK(number("bytes_maintained_per_call_whole") > number("bytes_maintained_per_call"),
	      "%g whole", number("bytes_maintained_per_call_whole"));
	figure("chains", chains, sizeof(chains));
	figure("interrupts", interrupts, sizeof(interrupts));
	CHECK(*chains && !strcmp(chains, interrupts), "chains %s, interrupts %s", chains,
	      interrupts);
}

static void gradient_check_passes(void)
{
	int status;

	for (int cores = 1; cores <= 3; cores++) {
		status = run(TRAIN "--check --steps 2 --seed %d --cores %d", folder, data,
			     40 + cores, cores);
		CHECK(status == 0, "exit status %d: %s", status, output);
		CHECK(strstr(output, "check in step 1") && strstr(output, "check with new weights"),
		      "%s", output);
	}
}

static void gradient_check_finds_a_wrong_term(void)
{
	int status = run(TRAIN "--check --break --quiet --steps 2", folder, data);

	CHECK(status == 1, "exit status %d: %s", status, output);
	CHECK(strstr(output, "W1 is over 5e-03") || strstr(output, "b1 is over 5e-03"), "%s",
	      output);
}

static void losses_have_the_same_bits_however_they_are_computed(void)
{
	static const char *const variants[][2] = {
		{ "strict", "--cores 1 --sync live" },
		{ "strict", "--cores 2 --sync live" },
		{ "strict", "--cores 3 --sync live" },
		{ "strict", "--cores 1 --sync whole" },
		{ "strict", "--cores 3 --sync whole" },
		{ "evict,seed=7", "--cores 3 --sync live" },
		{ "evict,seed=8", "--cores 2 --sync whole" },
		{ "coherent", "--cores 3 --sync live" },
	};
	char first[2][64], seen[2][64];

	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		int status = run("ORK_MODEL=cache=%s " TRAIN "--quiet --steps 4 --json %s %s",
				 variants[i][0], folder, data, json_path, variants[i][1]);

		CHECK(status == 0, "exit status %d: %s", status, output);
		figure("step1_loss", seen[0], sizeof(seen[0]));
		figure("last_loss", seen[1], sizeof(seen[1]));
		if (i == 0)
			memcpy(first, seen, sizeof(first));
		CHECK(*first[0] && *first[1], "no losses");
		CHECK(!strcmp(first[0], seen[0]) && !strcmp(first[1], seen[1]),
		      "%s %s: %s and %s, not %s and %s", variants[i][0], variants[i][1], seen[0],
		      seen[1], first[0], first[1]);
	}
}

struct refusal {
	const char *arguments;
	const char *value, *limit;	/* that the message must name */
};

static void check_refusals(const char *tool, const struct refusal *refusals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int status = run("%s/%s --device model %s", folder, tool, refusals[i].arguments);

		CHECK(status == 2, "%s %s: exit status %d: %s", tool, refusals[i].arguments, status,
		      output);
		CHECK(strstr(output, refusals[i].value) && strstr(output, refusals[i].limit),
		      "%s %s: %s", tool, refusals[i].arguments, output);
	}
}

static void train_refuses_bad_arguments_with_value_and_limit(void)
{
	static const struct refusal refusals[] = {
		{ "--cores 0", "\"0\"", "from 1 to 3" },
		{ "--cores 4", "\"4\"", "from 1 to 3" },
		{ "--cores two", "\"two\"", "from 1 to 3" },
		{ "--cores ''", "\"\"", "from 1 to 3" },
		{ "--cores -1", "\"-1\"", "from 1 to 3" },
		{ "--cores ' 1'", "\" 1\"", "from 1 to 3" },
		{ "--cores 4294967297", "\"4294967297\"", "from 1 to 3" },
		{ "--steps 0", "\"0\"", "from 1 to 100000" },
		{ "--steps 1x", "\"1x\"", "from 1 to 100000" },
		{ "--batch 31", "\"31\"", "from 32 to 512" },
		{ "--batch 48", "48", "multiple of 32" },
		{ "--batch 544", "\"544\"", "from 32 to 512" },
		{ "--seed 18446744073709551616", "18446744073709551616",
		  "to 18446744073709551615" },
		{ "--sync some", "\"some\"", "neither live nor whole" },
		{ "--nonsense", "nonsense", "unrecognized" },
		{ "stray", "\"stray\"", "no argument" },
		{ "--data /nowhere", "/nowhere", "No such file" },
	};

	check_refusals("ork-train", refusals, sizeof(refusals) / sizeof(refusals[0]));
}

static void bench_refuses_bad_arguments_with_value_and_limit(void)
{
	static const struct refusal refusals[] = {
		{ "--shape 1x32", "\"1x32\"", "MxKxN" },
		{ "--shape 1x32x16x2", "\"1x32x16x2\"", "MxKxN" },
		{ "--shape 0x32x16", "\"0\"", "from 1 to 65536" },
		{ "--shape 1x32x65537", "\"65537\"", "from 1 to 65536" },
		{ "--type fp32", "\"fp32\"", "int8-int32" },
		{ "--repeat 0", "\"0\"", "from 1 to 10000" },
		{ "--cores 9", "\"9\"", "from 1 to 3" },
		{ "stray", "\"stray\"", "no argument" },
		{ "--repeat 1 --shape 1x32x16 --profile=/nowhere/p", "--profile: writing /nowhere/p",
		  "No such file" },
		{ "--repeat 1 --shape 1x32x16 --trace /nowhere/t", "--trace: writing /nowhere/t",
		  "No such file" },
	};

	check_refusals("ork-bench", refusals, sizeof(refusals) / sizeof(refusals[0]));
}

static void check_bad_digits(const char *lines, const char *complaint)
{
	int status = run("printf '%s' >%s/bad.csv; %s/ork-train --device model --data %s/bad.csv",
			 lines, scratch, folder, scratch);

	CHECK(status == 2 && strstr(output, complaint), "%s: exit status %d: %s", lines, status,
	      output);
}

static void bad_digits_are_refused_with_their_line(void)
{
	char good[512] = "", lines[2048];

	for (int i = 0; i < 64; i++)
		strcat(good, "16,");
	check_bad_digits("", "no digits");
	snprintf(lines, sizeof(lines), "%s9\\n%s10\\n", good, good);
	check_bad_digits(lines, "bad.csv:2: not 64 pixels of 0..16 and a label of 0..9");
	snprintf(lines, sizeof(lines), "17,%s9\\n", good + 3);
	check_bad_digits(lines, "bad.csv:1: ");
	snprintf(lines, sizeof(lines), "%s9\\n", good + 3);
	check_bad_digits(lines, "bad.csv:1: ");
	snprintf(lines, sizeof(lines), "%s9\\n%s9\\n", good, good);
	check_bad_digits(lines, "128 is more than the 1 digits");
}

static void a_missing_device_is_told(void)
{
	static const char *const tools[] = { "ork-train", "ork-bench", "ork-info" };

	for (int i = 0; i < 3; i++) {
		int status = run("%s/%s --device /nowhere %s %s", folder, tools[i],
				 i ? "" : "--data", i ? "" : data);

		CHECK(status == 3 && strstr(output, "/nowhere"), "%s: exit status %d: %s", tools[i],
		      status, output);
	}
}

static void bench_times_every_type_and_checks_its_results(void)
{
	static const char *const types[] = {
		"fp16-fp32", "fp16-fp16", "int8-int32", "int8-int16", "int8-int8", "int4-int16", "int4-int32",
	};

	for (int i = 0; i < 5; i++) {
		int status = run(
			"%s/ork-bench --device model --type %s --repeat 2 --shape 5x64x96 --shape 33x35x37 "
			"--json %s",
			folder, types[i], json_path);

		CHECK(status == 0, "%s: exit status %d: %s", types[i], status, output);
		CHECK(strstr(output, "5x64x96") && strstr(output, "33x35x37"), "%s", output);
		CHECK(number("total_ns") > 0, "total %g", number("total_ns"));
		CHECK(number("bytes_maintained_per_call") > 0, "no bytes maintained");
	}
}

/* Of what --profile or --trace wrote; false if it is no JSON. */
static bool read_written(char *text, size_t size)
{
	return read_json(text, size) && is_json(text);
}

static unsigned int occurrences(const char *text, const char *what)
{
	unsigned int count = 0;

	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

/* Three calls of each shape: the one that is not counted, and two. */
#define TWO_SHAPES	"%s/ork-bench --device model --repeat 2 --shape 5x64x96 --shape 33x35x37 "

static void bench_prints_where_the_time_went(void)
{
	static const char *const phases[] = { "plan ", "pack ", "gather ", "emit ", "submit ", "wait ",
					      "copy-back " };
	char json[4096];
	int status = run(TWO_SHAPES "--profile", folder);

	CHECK(status == 0, "exit status %d: %s", status, output);
	for (int i = 0; i < 7; i++)
		CHECK(strstr(output, phases[i]), "no %sin: %s", phases[i], output);
	CHECK(strstr(output, "\n6 products, 12 ioctls"), "%s", output);
	status = run(TWO_SHAPES "--profile=%s", folder, json_path);
	CHECK(status == 0 && strstr(output, "\n6 products, 12 ioctls"), "exit status %d: %s", status,
	      output);
	CHECK(read_written(json, sizeof(json)), "%s", json);
	CHECK(strstr(json, "\"plan\": {\"calls\": 2,"), "%s", json);
	CHECK(strstr(json, "\"wait\": {\"calls\": 6,"), "%s", json);
	CHECK(number("products") == 6, "%s", json);
}

static void bench_traces_every_call_on_every_core(void)
{
	static char json[65536];
	int status = run(TWO_SHAPES "--cores 2 --trace %s", folder, json_path);

	CHECK(status == 0, "exit status %d: %s", status, output);
	CHECK(read_written(json, sizeof(json)), "%s", json);
	CHECK(strstr(json, "\"dropped_events\": 0}"), "%s", json);
	CHECK(occurrences(json, "\"name\": \"pack\"") == 2, "%s", json);
	CHECK(occurrences(json, "\"name\": \"submit\"") == 6, "%s", json);
	CHECK(occurrences(json, "\"pid\": 2, \"tid\"") == 3 + 2 * 6, "%s", json);
	CHECK(occurrences(json, "\"name\": \"5x64x96\"") == 6, "%s", json);
}

static void info_tells_of_three_cores(void)
{
	int status = run("%s/ork-info --device model", folder);

	CHECK(status == 0, "exit status %d: %s", status, output);
	CHECK(strstr(output, "RK3588") && strstr(output, "3 cores") && strstr(output, "core 2:"),
	      "%s", output);
}

static void help_is_printed(void)
{
	static const char *const tools[] = { "ork-train", "ork-bench", "ork-info" };

	for (int i = 0; i < 3; i++) {
		int status = run("%s/%s --help", folder, tools[i]);

		CHECK(status == 0 && !strncmp(output, "Usage: ", 7), "%s: exit status %d", tools[i],
		      status);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	snprintf(folder, sizeof(folder), "%s", dirname(argv[0]));
	snprintf(data, sizeof(data), "%s/../../data/digits.csv", folder);
	if (!mkdtemp(scratch)) {
		printf("not ok - no room for scratch files\n");
		return 1;
	}
	snprintf(json_path, sizeof(json_path), "%s/run.json", scratch);
	RUN(training_on_the_npu_learns_the_digits);
	RUN(a_product_costs_two_ioctls_and_each_byte_once);
	RUN(gradient_check_passes);
	RUN(gradient_check_finds_a_wrong_term);
	RUN(losses_have_the_same_bits_however_they_are_computed);
	RUN(train_refuses_bad_arguments_with_value_and_limit);
	RUN(bench_refuses_bad_arguments_with_value_and_limit);
	RUN(bad_digits_are_refused_with_their_line);
	RUN(a_missing_device_is_told);
	RUN(bench_times_every_type_and_checks_its_results);
	RUN(bench_prints_where_the_time_went);
	RUN(bench_traces_every_call_on_every_core);
	RUN(info_tells_of_three_cores);
	RUN(help_is_printed);
	run("rm -r %s", scratch);
	return test_result();
}

// SPDX-License-Identifier: MIT
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common.h"
#include "net.h"

enum { STEPS_MAX = 100000 };

static const char usage[] =
	"Usage: ork-train [OPTION]...\n"
	"Train a 64-256-10 network on handwritten digits, with every matrix product on the NPU.\n"
	"\n"
	"  --device DEVICE     a device node, or model: the NPU model in this process\n"
	"  --cores 1|2|3       cores that a product may use (default: all)\n"
	"  --sync live|whole   maintain the bytes in flight (default), or whole objects by every core\n"
	"  --seed N            of weights and of the order of the digits (default 1)\n"
	"  --steps N           training steps (default 120)\n"
	"  --batch N           digits in a step, a multiple of 32 (default 128)\n"
	"  --check             compare gradients, first and last, with an fp32 reference\n"
	"  --break             leave the derivative of ReLU out, for --check to find\n"
	"  --data FILE         the digits (default: digits.csv beside the program, or in ../data or ../share/ork)\n"
	"  --json FILE         write the figures there too\n"
	"  --quiet             print errors only\n"
	"  --help              print this\n"
	"\n"
	"Exit status: 0 good, 1 a check failed, 2 wrong usage, 3 the device failed.\n";

enum {
	OPT_DEVICE = 1,
	OPT_CORES,
	OPT_SYNC,
	OPT_SEED,
	OPT_STEPS,
	OPT_BATCH,
	OPT_CHECK,
	OPT_BREAK,
	OPT_DATA,
	OPT_JSON,
	OPT_QUIET,
	OPT_HELP
};

static const struct option long_options[] = {
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "cores", required_argument, NULL, OPT_CORES },
	{ "sync", required_argument, NULL, OPT_SYNC },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "steps", required_argument, NULL, OPT_STEPS },
	{ "batch", required_argument, NULL, OPT_BATCH },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "break", no_argument, NULL, OPT_BREAK },
	{ "data", required_argument, NULL, OPT_DATA },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "help", no_argument, NULL, OPT_HELP },
	{ 0 },
};

static bool parse_batch(const char *text, uint32_t *batch)
{
	if (!tool_parse_u32("--batch", text, BATCH_MIN, BATCH_MAX, batch))
		return false;
	if (*batch % BATCH_STEP == 0)
		return true;
	tool_complain("--batch: %s is not a multiple of %d", text, BATCH_STEP);
	return false;
}

static bool parse_number(int option, struct options *options)
{
	switch (option) {
	case OPT_CORES:
		return tool_parse_u32("--cores", optarg, 1, TOOL_MAX_CORES, &options->cores);
	case OPT_SYNC:
		return tool_parse_sync("--sync", optarg, &options->sync);
	case OPT_SEED:
		return tool_parse_u64("--seed", optarg, 0, UINT64_MAX, &options->seed);
	case OPT_STEPS:
		return tool_parse_u32("--steps", optarg, 1, STEPS_MAX, &options->steps);
	case OPT_BATCH:
		return parse_batch(optarg, &options->batch);
	default:	/* getopt_long() has complained */
		return false;
	}
}

static bool parse_option(int option, struct options *options)
{
	switch (option) {
	case OPT_DEVICE:
		options->device = optarg;
		return true;
	case OPT_DATA:
		options->data = optarg;
		return true;
	case OPT_JSON:
		options->json = optarg;
		return true;
	case OPT_CHECK:
		options->check = true;
		return true;
	case OPT_BREAK:
		options->wrong = true;
		return true;
	case OPT_QUIET:
		options->quiet = true;
		return true;
	default:
		return parse_number(option, options);
	}
}

/* Beside the program if it was copied alone, in ../data if built, in ../share/ork if installed. */
static void find_data(struct options *options)
{
	static const char *const places[] = {
		"digits.csv", "../data/digits.csv", "../share/ork/digits.csv",
	};
	char *path = options->default_data, *end;
	size_t room = sizeof(options->default_data) - sizeof("../share/ork/digits.csv");
	ssize_t length = readlink("/proc/self/exe", path, room);

	path[length > 0 ? length : 0] = '\0';
	end = strrchr(path, '/');
	end = end ? end + 1 : path;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		strcpy(end, places[i]);
		if (!access(path, F_OK))
			break;
	}
	options->data = path;
}

bool options_parse(struct options *options, int argc, char **argv, int *status)
{
	int option;

	*options = (struct options){ .steps = 120, .batch = 128, .seed = 1 };
	*status = TOOL_USAGE;
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == OPT_HELP) {
			fputs(usage, stdout);
			*status = TOOL_OK;
			return false;
		}
		if (!parse_option(option, options))
			return false;
	}
	if (optind < argc) {
		tool_complain("\"%s\": no argument is expected", argv[optind]);
		return false;
	}
	if (!options->data)
		find_data(options);
	return true;
}

// SPDX-License-Identifier: MIT
/* ork-info: what the device is, and what it has done, in words. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "common.h"

static const char usage[] =
	"Usage: ork-info [--device DEVICE]\n"
	"Tell what the NPU is and what its cores have done.\n"
	"\n"
	"  --device DEVICE  a device node, or model: the NPU model in this process\n"
	"  --help           print this\n"
	"\n"
	"Exit status: 0 good, 2 wrong usage, 3 the device failed.\n";

static const struct option long_options[] = {
	{ "device", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void print_device(const struct ork *ork)
{
	const struct drm_ork_device_info *info = ork_info(ork);

	printf("%s: NPU of the RK%" PRIu32 ", hardware version 0x%08" PRIx32 "\n", ork_name(ork),
	       info->soc, info->hw_version);
	printf("  %" PRIu32 " cores (mask 0x%" PRIx32 "), %s\n", info->num_cores, info->core_mask,
	       info->flags & DRM_ORK_DEVICE_COHERENT ? "coherent with the CPUs' caches" :
						       "not coherent with the CPUs' caches");
	printf("  cache lines of %" PRIu32 " bytes, pages of %" PRIu32 " bytes\n", info->cache_line,
	       info->page_size);
	printf("  addresses 0x%" PRIx64 " to 0x%" PRIx64 "\n", (uint64_t)info->iova_start,
	       (uint64_t)info->iova_end);
	printf("  a job that finishes no program for %" PRIu32 " ms is taken for hung\n",
	       info->timeout_ms);
}

static int print_core(struct ork *ork, uint32_t core)
{
	struct drm_ork_counters counters;
	int error = ork_counters(ork, (int)core, &counters);

	if (error)
		return tool_device_error(ork, error, "reading a core's counters");
	printf("  core %" PRIu32 ": %" PRIu64 " jobs, %" PRIu64 " programs, %" PRIu64
	       " interrupts, busy %.3f s, ",
	       core, (uint64_t)counters.jobs, (uint64_t)counters.programs,
	       (uint64_t)counters.interrupts, (double)counters.busy_ns / 1e9);
	printf("%" PRIu64 " address spaces attached, %" PRIu64 " resets\n",
	       (uint64_t)counters.switches, (uint64_t)counters.resets);
	return TOOL_OK;
}

static int print_all(const char *device)
{
	struct ork *ork;
	int status = tool_open(device, &ork);

	if (status)
		return status;
	print_device(ork);
	for (uint32_t core = 0; core < ork_info(ork)->num_cores && !status; core++)
		status = print_core(ork, core);
	ork_close(ork);
	return status;
}

int main(int argc, char **argv)
{
	const char *device = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return TOOL_OK;
		}
		if (option != 'd')
			return TOOL_USAGE;
		device = optarg;
	}
	if (optind < argc) {
		tool_complain("\"%s\": no argument is expected", argv[optind]);
		return TOOL_USAGE;
	}
	return print_all(device);
}

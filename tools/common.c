// SPDX-License-Identifier: MIT
#define _GNU_SOURCE	/* program_invocation_short_name */
#include "common.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void tool_complain(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int tool_device_error(const struct ork *ork, int error, const char *what)
{
	const char *why = ork ? ork_error(ork) : "";

	tool_complain("%s: %s%s%s", what, why, *why ? ": " : "", strerror(-error));
	return TOOL_DEVICE;
}

static const char *open_advice(int error)
{
	switch (error) {
	case -ENODEV:
		return "no device node belongs to the ork driver; load ork.ko, or use --device model";
	case -EACCES:
		return "no permission; join the group that owns the device node (often render)";
	case -ENOTSUP:
		return "the node belongs to another driver";
	case -ELIBACC:
		return "libork-model.so.0 cannot be loaded; is it beside libork or in LD_LIBRARY_PATH?";
	case -EPROTO:
		return "driver and library speak different major versions";
	default:
		return strerror(-error);
	}
}

int tool_open(const char *device, struct ork **ork)
{
	int error = ork_open(device, ork);

	if (!error)
		return TOOL_OK;
	if (!device)
		device = getenv("ORK_DEVICE");
	tool_complain("cannot open %s: %s", device ? device : "the NPU", open_advice(error));
	return TOOL_DEVICE;
}

bool tool_parse_u64(const char *option, const char *text, uint64_t min, uint64_t max,
		    uint64_t *value)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	/* strtoull() takes a sign and leading blanks, and wraps what is negative. */
	if (!isdigit((unsigned char)text[0]) || *end || errno || number < min || number > max) {
		tool_complain("%s: \"%s\" is not a number from %" PRIu64 " to %" PRIu64, option,
			      text, min, max);
		return false;
	}
	*value = number;
	return true;
}

bool tool_parse_u32(const char *option, const char *text, uint32_t min, uint32_t max,
		    uint32_t *value)
{
	uint64_t wide;

	if (!tool_parse_u64(option, text, min, max, &wide))
		return false;
	*value = (uint32_t)wide;
	return true;
}

const char *tool_sync_name(enum ork_sync_mode sync)
{
	return sync == ORK_SYNC_LIVE ? "live" : "whole";
}

bool tool_parse_sync(const char *option, const char *text, enum ork_sync_mode *sync)
{
	for (int mode = ORK_SYNC_LIVE; mode <= ORK_SYNC_WHOLE; mode++) {
		if (!strcmp(text, tool_sync_name(mode))) {
			*sync = mode;
			return true;
		}
	}
	tool_complain("%s: \"%s\" is neither live nor whole", option, text);
	return false;
}

bool tool_check_cores(const struct ork *ork, uint32_t cores)
{
	uint32_t limit = ork_info(ork)->num_cores;

	if (cores <= limit)
		return true;
	tool_complain("--cores: %" PRIu32 " is more than the %" PRIu32 " that %s has", cores, limit,
		      ork_name(ork));
	return false;
}

uint32_t tool_cores(const struct ork *ork)
{
	uint32_t cores = ork_info(ork)->num_cores;

	return cores < TOOL_MAX_CORES ? cores : TOOL_MAX_CORES;
}

uint64_t tool_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Members of an object have a line each, elements of an array share one. */
static void json_key(struct json *json, const char *key)
{
	if (!json->empty)
		fputc(',', json->file);
	if (key)
		fprintf(json->file, "\n%*s\"%s\": ", (int)json->depth, "", key);
	else if (!json->empty)
		fputc(' ', json->file);
	json->empty = false;
}

void json_open(struct json *json, const char *key, char bracket)
{
	json_key(json, key);
	fputc(bracket, json->file);
	json->depth++;
	json->empty = true;
}

void json_close(struct json *json, char bracket)
{
	json->depth--;
	if (bracket == '}')
		fprintf(json->file, "\n%*s", (int)json->depth, "");
	fputc(bracket, json->file);
	json->empty = false;
}

int json_begin(struct json *json, const char *path)
{
	*json = (struct json){ .file = fopen(path, "w"), .depth = 1, .empty = true };
	if (!json->file)
		return -errno;
	fputc('{', json->file);
	return 0;
}

int json_finish(struct json *json)
{
	bool failed;

	json_close(json, '}');
	fputc('\n', json->file);
	failed = ferror(json->file);
	return fclose(json->file) || failed ? -EIO : 0;
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	fprintf(json->file, "%" PRIu64, value);
}

void json_double(struct json *json, const char *key, double value)
{
	json_key(json, key);
	/* Nine digits tell every float apart. JSON has no infinity and no NaN. */
	if (value - value == 0)
		fprintf(json->file, "%.9g", value);
	else
		fputs("null", json->file);
}

void json_string(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	fputc('"', json->file);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', json->file);
		/* Names of devices and modes have no control characters worth keeping. */
		if ((unsigned char)*value >= ' ')
			fputc(*value, json->file);
	}
	fputc('"', json->file);
}

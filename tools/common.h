/* SPDX-License-Identifier: MIT */
/* What the tools share: exit codes, messages, argument values, the device, and a JSON writer. */
#ifndef TOOLS_COMMON_H
#define TOOLS_COMMON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ork.h"

enum tool_exit {
	TOOL_OK = 0,
	TOOL_CHECK_FAILED = 1,
	TOOL_USAGE = 2,
	TOOL_DEVICE = 3,
};

/* Cores that a plan of libork can name; counters of more are not asked for. */
#define TOOL_MAX_CORES	3u

/** tool_complain - one line to standard error, the program's name before it */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * tool_device_error - complain about a failed call of libork: what was tried, ork_error(), the
 * errno. TOOL_DEVICE.
 */
int tool_device_error(const struct ork *ork, int error, const char *what);

/** tool_open - ork_open(), complaining in words. TOOL_OK or TOOL_DEVICE. */
int tool_open(const char *device, struct ork **ork);

/* Option values: true if good; else the option, the value and the limit were complained about. */
bool tool_parse_u32(const char *option, const char *text, uint32_t min, uint32_t max,
		    uint32_t *value);
bool tool_parse_u64(const char *option, const char *text, uint64_t min, uint64_t max,
		    uint64_t *value);
bool tool_parse_sync(const char *option, const char *text, enum ork_sync_mode *sync);

const char *tool_sync_name(enum ork_sync_mode sync);

/** tool_check_cores - true if the device has as many; else complained */
bool tool_check_cores(const struct ork *ork, uint32_t cores);

/** tool_cores - cores of the device whose counters the tools show */
uint32_t tool_cores(const struct ork *ork);

uint64_t tool_now_ns(void);

/*
 * JSON, written as it comes. Keys are plain ASCII; inside an array they are NULL. Errors of the
 * file show at the end.
 */
struct json {
	FILE *file;
	uint32_t depth;
	bool empty;		/* the innermost object or array has nothing yet */
};

/** json_begin - begin a document: one object. 0 or a negative errno. */
int json_begin(struct json *json, const char *path);
/** json_finish - end the document and close the file. 0, or -EIO if anything was not written. */
int json_finish(struct json *json);

void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_double(struct json *json, const char *key, double value);
void json_string(struct json *json, const char *key, const char *value);

#endif

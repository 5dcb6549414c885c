/* SPDX-License-Identifier: MIT */
/* The NPU model, and what it says of itself when it is closed. */
#ifndef ORK_TEST_MODEL_H
#define ORK_TEST_MODEL_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ork.h"
#include "test.h"

/* An open file without a name, which the model opens again; of the last model that was opened. */
static char log_path[32];

/* For main() to call first. */
static inline void name_log(FILE *file)
{
	snprintf(log_path, sizeof(log_path), "/proc/self/fd/%d", fileno(file));
}

static inline struct ork *open_model(const char *cache)
{
	struct ork *ork = NULL;
	char options[128];

	CHECK_EQUAL(truncate(log_path, 0), 0);
	snprintf(options, sizeof(options), "cache=%s,seed=5,log=%s", cache, log_path);
	setenv("ORK_MODEL", options, 1);
	CHECK_EQUAL(ork_open("model", &ork), 0);
	return ork;
}

/* Closes it; its report must say that nothing stale was read. */
static inline void close_model(struct ork *ork)
{
	char text[4096] = "";
	size_t length;
	FILE *log;

	ork_close(ork);
	log = fopen(log_path, "r");
	length = log ? fread(text, 1, sizeof(text) - 1, log) : 0;
	text[length] = 0;
	CHECK(!strncmp(text, "cache: 0 stale reads", 20), "the model says: %s", text);
	if (log)
		fclose(log);
}

#endif

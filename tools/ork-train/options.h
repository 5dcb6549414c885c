/* SPDX-License-Identifier: MIT */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "ork.h"

struct options {
	const char *device;	/* NULL: libork's choice */
	const char *data;
	const char *json;	/* NULL: none */
	uint32_t cores;		/* 0: all */
	uint32_t steps;
	uint32_t batch;
	uint64_t seed;
	enum ork_sync_mode sync;
	bool check;
	bool wrong;
	bool quiet;
	char default_data[PATH_MAX];
};

/** options_parse - true if the tool shall run; else @status is what it shall exit with */
bool options_parse(struct options *options, int argc, char **argv, int *status);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What a stretch of training cost, by the driver's and the library's counters, as tables and as
 * JSON.
 */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H

#include "../common.h"
#include "options.h"

/* Differences between its begin and its end. */
struct segment {
	struct ork_profile profile;
	struct drm_ork_counters file;
	struct drm_ork_counters core[TOOL_MAX_CORES];
};

/* These complain. TOOL_OK or TOOL_DEVICE. The profiler counts one segment at a time. */
int segment_begin(struct segment *segment, struct ork *ork);
int segment_end(struct segment *segment, struct ork *ork);

struct report {
	const struct options *options;
	const char *device;
	uint32_t cores;			/* of the device */
	uint32_t held_out, right;	/* digits never trained on; those told right */
	float first_loss, last_loss;
	double seconds;			/* of the training */
	struct segment training;	/* as --sync says */
	struct segment other;		/* some steps more the other way */
};

void report_print(const struct report *report);

/** report_write - as JSON to options->json; 0 or a negative errno */
int report_write(const struct report *report);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is measured of every driver alike: jobs of equal programs, of clients that are open files.
 * Calls that fail end the program: a figure of something that went wrong is none.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

/* Where a job shall run; rocket cannot be told, and keeps a client that is busy on one core. */
#define ANY_CORE	-1

struct client;

struct driver {
	const char *name;
	/* How long it lets a job of a client go without an end, in milliseconds. */
	uint32_t timeout_ms;

	/* A client with @jobs small int8 products, of @programs programs each. */
	struct client *(*open)(uint32_t jobs, uint32_t programs);
	void (*close)(struct client *client);

	/* Starts @count jobs from number @first on, with as few calls as the driver allows. */
	void (*submit)(struct client *client, uint32_t first, uint32_t count, int core);
	/* Until the job has ended and the CPU may read its result: the error that it ended with. */
	int (*wait)(struct client *client, uint32_t number);
	/* After wait(): whether the result is there; and to take it away, for the next run. */
	bool (*is_right)(struct client *client, uint32_t number);
	void (*forget)(struct client *client, uint32_t number);

	/* An object of the client, for sync(). */
	void (*sync_open)(struct client *client, uint64_t bytes);
	/* Gives the NPU @length bytes of it, or, where the driver has no such call, all of it. */
	void (*sync)(struct client *client, uint64_t offset, uint64_t length);
	void (*sync_close)(struct client *client);
};

extern const struct driver ork_driver, rocket_driver;

/* ioctls that this program has made, whoever called. */
extern uint64_t ioctls;

/* Prints what failed and exits, if @error is not 0. */
void must(const char *what, int error);

#endif

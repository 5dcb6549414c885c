// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "instructions.h"

/* Rounds of a loop of two instructions. */
#define ROUNDS		1000000ull
#define CALLS		1000
#define SLEEP_NS	100000000ll

static int kernel = -1, user = -1;

static int counter_open(bool of_kernel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = !of_kernel,
		.exclude_user = of_kernel,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint64_t counter_read(int fd)
{
	uint64_t value = 0;

	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

int instructions_open(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) != 1)
		return -EINVAL;
	kernel = counter_open(true);
	user = counter_open(false);
	return kernel < 0 ? kernel : user < 0 ? user : 0;
}

uint64_t instructions_kernel(void)
{
	return counter_read(kernel);
}

uint64_t instructions_user(void)
{
	return counter_read(user);
}

void instructions_spin(uint64_t rounds)
{
	asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

/* --- the check -------------------------------------------------------------------------------- */

struct sample {
	int64_t time_ns, kernel, user;
};

static struct sample sample(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (struct sample){ now.tv_sec * 1000000000ll + now.tv_nsec, counter_read(kernel),
				counter_read(user) };
}

static struct sample since(struct sample before)
{
	struct sample now = sample();

	return (struct sample){ now.time_ns - before.time_ns, now.kernel - before.kernel,
				now.user - before.user };
}

/* Within a hundredth, which is more than what reading the counters costs. */
static int expect(const char *what, int64_t seen, int64_t known)
{
	if (seen > known - known / 100 && seen < known + known / 100)
		return 0;
	fprintf(stderr, "%s: %lld counted instead of %lld\n", what, (long long)seen,
		(long long)known);
	return -EBADMSG;
}

/* Two instructions a round, all in user space. */
static int check_loop(void)
{
	struct sample start = sample();

	instructions_spin(ROUNDS);
	return expect("user instructions of a loop", since(start).user, 2 * ROUNDS);
}

/* An instruction takes a nanosecond, and there is always one: most of them the kernel's here. */
static int check_calls(void)
{
	struct sample start = sample(), took;

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	took = since(start);
	return expect("instructions of system calls", took.kernel + took.user, took.time_ns);
}

/* Time without instructions. */
static int check_sleep(void)
{
	struct timespec sleep = { .tv_nsec = SLEEP_NS };
	struct sample start = sample(), took;

	nanosleep(&sleep, NULL);
	took = since(start);
	return expect("sleep", took.time_ns - took.kernel - took.user, SLEEP_NS);
}

int instructions_check(void)
{
	int error = check_loop();

	if (!error)
		error = check_calls();
	return error ? error : check_sleep();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures a driver of the NPU on the emulated board, and prints its figures as JSON.
 * usage: bench ork|rocket [busy]
 *
 * To be run with one CPU and -icount: a nanosecond of all times is an instruction then, and figures
 * are the same on every machine and in every run. An interrupt takes the CPU from whoever has it, at
 * once; the driver's threads and its client take turns. The NPU takes no time but the latency that
 * is set here, so what is left is what the driver costs.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include "../ork/board.h"
#include "bench.h"
#include "instructions.h"

#define US		1000ull
#define MS		1000000ull
#define ARRAY_LENGTH(array)	(sizeof(array) / sizeof((array)[0]))

#define BUSY_JOBS	300
#define BUSY_US		2000

/* Long enough for the next chain to be ready when one ends. */
#define GAP_JOBS	50
#define GAP_US		1000

#define CHAIN_PROGRAMS	512

/* Long enough for the other cores to be given jobs too. */
#define ATTACH_JOBS	200
#define ATTACH_ROUNDS	50
#define ATTACH_US	100

#define WARM_UP		100
#define COUNTED		1000

#define SYNC_BYTES	4096ull
#define SYNC_CALLS	4

/* Together longer than a hang. */
#define OTHER_JOBS	500
#define OTHER_US	2000

uint64_t ioctls;
static volatile uint32_t *board;

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);

/* All calls of ioctl() in this program come here: linked with --wrap. */
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
	ioctls++;
	return __real_ioctl(fd, request, argument);
}

void must(const char *what, int error)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-error));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * MS + now.tv_nsec;
}

/* --- the board -------------------------------------------------------------------------------- */

static void set_latency(uint32_t us)
{
	board_write(board, ORK_BOARD_LATENCY_US, us);
}

static void zero(void)
{
	board_write(board, ORK_BOARD_ZERO, 1);
}

static uint32_t counted(uint32_t reg)
{
	return board_sum(board, reg);
}

static uint32_t measured_of(uint32_t core, uint32_t reg)
{
	return board_read(board, ORK_BOARD_MEASURE(core, reg));
}

/* Of all cores together. */
static uint64_t measured(uint32_t reg)
{
	uint64_t sum = 0;

	for (uint32_t core = 0; core < BOARD_CORES; core++)
		sum += measured_of(core, reg);
	return sum;
}

static uint64_t measured_ns(uint32_t low, uint32_t high)
{
	return measured(low) + (measured(high) << 32);
}

/* --- figures ---------------------------------------------------------------------------------- */

static void figure(const char *name, double value)
{
	printf(",\n \"%s\": %.15g", name, value);
}

static void wait_all(const struct driver *driver, struct client *client, uint32_t jobs)
{
	for (uint32_t i = 0; i < jobs; i++)
		must("a job", driver->wait(client, i));
}

static void check_all(const struct driver *driver, struct client *client, uint32_t jobs)
{
	for (uint32_t i = 0; i < jobs; i++)
		must("a result", driver->is_right(client, i) ? 0 : -EBADMSG);
}

/* A client with equal long jobs: how many cores it keeps busy, from its first submit to the end. */
static void measure_busy(const struct driver *driver)
{
	struct client *client = driver->open(BUSY_JOBS, 1);
	uint64_t start, elapsed, busy;

	set_latency(BUSY_US);
	zero();
	start = now_ns();
	driver->submit(client, 0, BUSY_JOBS, ANY_CORE);
	wait_all(driver, client, BUSY_JOBS);
	elapsed = now_ns() - start;
	busy = measured_ns(ORK_BOARD_MEASURE_BUSY_NS, ORK_BOARD_MEASURE_BUSY_NS_HIGH);
	figure("busy_cores", (double)busy / elapsed);
	check_all(driver, client, BUSY_JOBS);
	driver->close(client);
}

static void figure_gap(const char *name)
{
	uint64_t gaps = measured(ORK_BOARD_MEASURE_GAPS);
	double ns = measured_ns(ORK_BOARD_MEASURE_GAP_NS, ORK_BOARD_MEASURE_GAP_NS_HIGH);

	figure(name, gaps ? ns / gaps : 0);
}

/* From a completion's interrupt to the next start of that core, while there is a job for it. */
static void measure_gap(const struct driver *driver)
{
	struct client *client = driver->open(GAP_JOBS, 1);

	set_latency(GAP_US);
	zero();
	driver->submit(client, 0, GAP_JOBS, 0);
	wait_all(driver, client, GAP_JOBS);
	must("the number of gaps", measured(ORK_BOARD_MEASURE_GAPS) == GAP_JOBS - 1 ? 0 : -EBADMSG);
	figure_gap("gap_ns");
	check_all(driver, client, GAP_JOBS);
	driver->close(client);
}

/* What one job of many programs takes; where each of them is started by itself, the gaps too. */
static void measure_chain(const struct driver *driver)
{
	struct client *client = driver->open(1, CHAIN_PROGRAMS);
	uint64_t before = ioctls;

	set_latency(0);
	zero();
	driver->submit(client, 0, 1, ANY_CORE);
	figure("chain_ioctls", ioctls - before);
	must("the chain", driver->wait(client, 0));
	figure("chain_interrupts", counted(ORK_BOARD_CORE_INTERRUPTS));
	figure("chain_register_writes", counted(ORK_BOARD_CORE_REGISTER_WRITES));
	figure_gap("chain_gap_ns");
	must("the number of programs",
	     counted(ORK_BOARD_CORE_PROGRAMS) == CHAIN_PROGRAMS ? 0 : -EBADMSG);
	check_all(driver, client, 1);
	driver->close(client);
}

/* How often the IOMMUs are given the address space of the one client there is. */
static void measure_attaches(const struct driver *driver)
{
	struct client *client = driver->open(ATTACH_JOBS, 1);
	uint32_t most = 0;

	set_latency(ATTACH_US);
	zero();
	for (int i = 0; i < ATTACH_ROUNDS; i++) {
		driver->submit(client, 0, ATTACH_JOBS, ANY_CORE);
		wait_all(driver, client, ATTACH_JOBS);
	}
	for (uint32_t core = 0; core < BOARD_CORES; core++) {
		uint32_t attaches = measured_of(core, ORK_BOARD_MEASURE_IOMMU_ATTACHES);

		most = attaches > most ? attaches : most;
	}
	figure("attach_jobs", counted(ORK_BOARD_CORE_PROGRAMS));
	figure("attaches", measured(ORK_BOARD_MEASURE_IOMMU_ATTACHES));
	figure("attaches_of_a_core", most);
	driver->close(client);
}

/*
 * Submit, interrupt, completion, wait, and all that the kernel does for them in its threads and on
 * its way to sleep and back. Both drivers make the result visible to the CPU, ork also the input to
 * the NPU.
 */
static void measure_instructions(const struct driver *driver)
{
	struct client *client = driver->open(1, 1);
	uint64_t start = 0, nothing, all;

	set_latency(0);
	zero();
	for (int i = 0; i < WARM_UP + COUNTED; i++) {
		if (i == WARM_UP)
			start = instructions_kernel();
		driver->submit(client, 0, 1, ANY_CORE);
		must("a job", driver->wait(client, 0));
	}
	all = instructions_kernel() - start;
	start = instructions_kernel();
	nothing = instructions_kernel() - start;
	figure("instructions_per_job", (double)(all - nothing) / COUNTED);
	must("the number of programs",
	     counted(ORK_BOARD_CORE_PROGRAMS) == WARM_UP + COUNTED ? 0 : -EBADMSG);
	check_all(driver, client, 1);
	driver->close(client);
}

static double sync_cost(const struct driver *driver, struct client *client, uint64_t offset)
{
	uint64_t start;

	driver->sync(client, offset, SYNC_BYTES);
	start = instructions_kernel();
	for (int i = 0; i < SYNC_CALLS; i++)
		driver->sync(client, offset, SYNC_BYTES);
	return (double)(instructions_kernel() - start) / SYNC_CALLS;
}

static void measure_sync(const struct driver *driver)
{
	static const struct { const char *name; uint64_t bytes; } objects[] = {
		{ "1mib", 1ull << 20 }, { "1gib", 1ull << 30 }
	};
	char name[32];

	for (size_t i = 0; i < ARRAY_LENGTH(objects); i++) {
		struct client *client = driver->open(0, 0);

		driver->sync_open(client, objects[i].bytes);
		snprintf(name, sizeof(name), "sync_%s_start", objects[i].name);
		figure(name, sync_cost(driver, client, 0));
		snprintf(name, sizeof(name), "sync_%s_end", objects[i].name);
		figure(name, sync_cost(driver, client, objects[i].bytes - SYNC_BYTES));
		driver->sync_close(client);
		driver->close(client);
	}
}

/* --- a hang ----------------------------------------------------------------------------------- */

static uint32_t ignored_kicks(void)
{
	return BOARD_CORES - board_sum(board, ORK_BOARD_CORE_IGNORE);
}

static void ignore_next_kick(bool ignore)
{
	for (uint32_t core = 0; core < BOARD_CORES; core++)
		board_write(board, ORK_BOARD_CORE(core, ORK_BOARD_CORE_IGNORE), ignore);
}

/* Starts a job that hangs, on core 0 or wherever the driver wants. */
static void hang(const struct driver *driver, struct client *victim)
{
	ignore_next_kick(true);
	driver->submit(victim, 0, 1, 0);
	while (!ignored_kicks())
		sched_yield();
	ignore_next_kick(false);
}

/* Of clients that have nothing to do with the hang, one for each core. */
struct others {
	struct client *client[BOARD_CORES];
	uint64_t start_ns;
	uint64_t first_ns;		/* when client 0's first job had ended */
	uint64_t end_ns[BOARD_CORES];	/* when all had */
	uint32_t failed;
};

static void others_open(const struct driver *driver, struct others *others)
{
	for (int i = 0; i < BOARD_CORES; i++)
		others->client[i] = driver->open(OTHER_JOBS, 1);
}

static void others_close(const struct driver *driver, struct others *others)
{
	for (int i = 0; i < BOARD_CORES; i++)
		driver->close(others->client[i]);
}

static uint32_t count_failed(const struct driver *driver, struct client *client)
{
	uint32_t failed = 0;

	for (uint32_t job = 0; job < OTHER_JOBS; job++) {
		failed += driver->wait(client, job) || !driver->is_right(client, job);
		driver->forget(client, job);
	}
	return failed;
}

/*
 * Client 0 comes last, and so behind the hang also by rocket, which gives it the core with the
 * fewest jobs.
 */
static void others_run(const struct driver *driver, struct others *others)
{
	others->start_ns = now_ns();
	for (int i = BOARD_CORES - 1; i >= 0; i--)
		driver->submit(others->client[i], 0, OTHER_JOBS, i);
	driver->wait(others->client[0], 0);
	others->first_ns = now_ns();
	for (int i = BOARD_CORES - 1; i >= 0; i--) {
		driver->wait(others->client[i], OTHER_JOBS - 1);
		others->end_ns[i] = now_ns();
	}
	others->failed = 0;
	for (int i = 0; i < BOARD_CORES; i++)
		others->failed += count_failed(driver, others->client[i]);
}

static double delay_ms(const struct others *alone, const struct others *disturbed, int i)
{
	int64_t undisturbed = alone->end_ns[i] - alone->start_ns;

	return (double)((int64_t)(disturbed->end_ns[i] - disturbed->start_ns) - undisturbed) / MS;
}

/*
 * The driver may find the hang when its timeout is over, and not before: what passes from then on
 * until the core has done another client's job is the most that coming back can have taken.
 */
static void measure_hang(const struct driver *driver)
{
	struct client *victim = driver->open(1, 1);
	struct others alone, disturbed;
	uint64_t found;

	set_latency(OTHER_US);
	others_open(driver, &alone);
	others_run(driver, &alone);
	must("jobs without a hang", alone.failed ? -EIO : 0);
	disturbed = alone;
	found = now_ns() + driver->timeout_ms * MS;
	hang(driver, victim);
	others_run(driver, &disturbed);
	figure("hang_error", driver->wait(victim, 0));
	figure("hang_back_ms", (double)(int64_t)(disturbed.first_ns - found - OTHER_US * US) / MS);
	figure("hang_delay_same_core_ms", delay_ms(&alone, &disturbed, 0) - driver->timeout_ms);
	figure("hang_delay_core_1_ms", delay_ms(&alone, &disturbed, 1));
	figure("hang_delay_core_2_ms", delay_ms(&alone, &disturbed, 2));
	figure("hang_others_failed", disturbed.failed);
	others_close(driver, &alone);
	driver->close(victim);
}

/* ---------------------------------------------------------------------------------------------- */

static const struct driver *find_driver(const char *name)
{
	static const struct driver *const drivers[] = { &ork_driver, &rocket_driver };

	for (size_t i = 0; i < ARRAY_LENGTH(drivers); i++)
		if (!strcmp(name, drivers[i]->name))
			return drivers[i];
	return NULL;
}

static void measure_all(const struct driver *driver)
{
	measure_busy(driver);
	measure_gap(driver);
	measure_chain(driver);
	measure_attaches(driver);
	measure_instructions(driver);
	measure_sync(driver);
	measure_hang(driver);
}

int main(int argc, char **argv)
{
	const struct driver *driver = argc > 1 ? find_driver(argv[1]) : NULL;
	bool only_busy = argc == 3 && !strcmp(argv[2], "busy");

	if (!driver || argc > 2 + only_busy) {
		fprintf(stderr, "usage: bench ork|rocket [busy]\n");
		return 2;
	}
	board = board_open();
	must("the emulated board", board ? 0 : -ENODEV);
	board_behave(board);
	must("the counters of instructions", instructions_open());
	must("what they count", instructions_check());
	printf("{\"driver\": \"%s\"", driver->name);
	if (only_busy)
		measure_busy(driver);
	else
		measure_all(driver);
	printf("\n}\n");
	return 0;
}

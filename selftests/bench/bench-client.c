// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a client of the NPU, whatever it is, and prints what it cost the board and the kernel.
 * usage: bench-client COMMAND [ARGUMENT]...
 *
 * To be run as bench is: with one CPU and -icount. JSON goes to stdout, what the client prints to
 * stderr. The counters are those of the machine: nothing else may use the NPU, and the client's
 * start and its end are counted too. Two runs that differ in the number of inferences alone tell
 * what one of them costs.
 *
 * An attach is any page directory that an IOMMU begins to use: the kernel's own, which it gets back
 * when the client's file is closed, is one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "../ork/board.h"
#include "bench.h"
#include "instructions.h"

#define LINE_BYTES	64
/* Sixty ticks of the timer. */
#define TIMER_ROUNDS	120000000ull

static volatile uint32_t *board;

void must(const char *what, int error)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(-error));
	exit(1);
}

static void figure(const char *name, uint64_t value)
{
	printf(", \"%s\": %llu", name, (unsigned long long)value);
}

static void __attribute__((noreturn)) be_client(char **command)
{
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

/* Until it has ended: its files are closed then. */
static void run(char **command)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		be_client(command);
	must("a process for the client", child < 0 ? -errno : 0);
	must("waiting for it", waitpid(child, &status, 0) == child ? 0 : -errno);
	must("the client", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD);
}

/* Of the IOMMUs of all cores together, and of the one with the most. */
static void figure_attaches(void)
{
	uint32_t sum = 0, most = 0;

	for (uint32_t core = 0; core < BOARD_CORES; core++) {
		uint32_t count = board_measure(board, core, ORK_BOARD_MEASURE_IOMMU_ATTACHES);

		sum += count;
		most = count > most ? count : most;
	}
	figure("attaches", sum);
	figure("attaches_of_a_core", most);
}

static uint64_t iommu_writes(void)
{
	uint64_t sum = 0;

	for (uint32_t core = 0; core < BOARD_CORES; core++)
		sum += board_measure(board, core, ORK_BOARD_MEASURE_IOMMU_WRITES);
	return sum;
}

static void figures_of_the_board(void)
{
	figure("starts", board_sum(board, ORK_BOARD_CORE_KICKS));
	figure("programs", board_sum(board, ORK_BOARD_CORE_PROGRAMS));
	figure("interrupts", board_sum(board, ORK_BOARD_CORE_INTERRUPTS));
	figure("register_writes", board_sum(board, ORK_BOARD_CORE_REGISTER_WRITES));
	figure("cores", board_cores_used(board));
	figure_attaches();
	figure("iommu_writes", iommu_writes());
	figure("bytes_maintained",
	       (uint64_t)board_read(board, ORK_BOARD_DC_INSTRUCTIONS) * LINE_BYTES);
	figure("stale_reads", board_read(board, ORK_BOARD_STALE_READS));
	figure("results_lost", board_read(board, ORK_BOARD_RESULTS_LOST));
}

/*
 * The kernel's instructions while the CPU only computes, which are the timer's: as many as there
 * were in so long a computation of the client's.
 */
static uint64_t timer_instructions(uint64_t user)
{
	uint64_t kernel_start = instructions_kernel(), user_start = instructions_user();
	double kernel, spun;

	instructions_spin(TIMER_ROUNDS);
	kernel = instructions_kernel() - kernel_start;
	spun = instructions_user() - user_start;
	return kernel / spun * user;
}

int main(int argc, char **argv)
{
	uint64_t kernel, user;

	if (argc < 2) {
		fprintf(stderr, "usage: bench-client COMMAND [ARGUMENT]...\n");
		return 2;
	}
	board = board_open();
	must("the emulated board", board ? 0 : -ENODEV);
	board_behave(board);
	must("the counters of instructions", instructions_open());
	must("what they count", instructions_check());
	board_write(board, ORK_BOARD_ZERO, 1);
	kernel = instructions_kernel();
	user = instructions_user();
	run(argv + 1);
	kernel = instructions_kernel() - kernel;
	user = instructions_user() - user;
	printf("{\"kernel_instructions\": %llu", (unsigned long long)kernel);
	figure("user_instructions", user);
	figures_of_the_board();
	figure("timer_instructions", timer_instructions(user));
	printf("}\n");
	return 0;
}

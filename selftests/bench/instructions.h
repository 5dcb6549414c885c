/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Executed instructions, counted by the emulated CPU's own performance counter.
 *
 * With -icount QEMU counts every instruction that a CPU executes, and its INST_RETIRED event is
 * that count. Time is of no use here: the virtual clock jumps to the next timer when all CPUs are
 * idle. The event does not move then, and it tells kernel from user, which is what the figures are
 * about. It is exact for one CPU only: QEMU's count is one for all of them.
 */
#ifndef BENCH_INSTRUCTIONS_H
#define BENCH_INSTRUCTIONS_H

#include <stdint.h>

/* Opens the counters of the one CPU. 0, or a negative errno where they are not to be had. */
int instructions_open(void);

/* What the kernel has executed since then: for everyone, in interrupts, on its way to idle. */
uint64_t instructions_kernel(void);

/* What programs have. */
uint64_t instructions_user(void);

/* Executes 2 * @rounds instructions, @rounds > 0, and touches no memory. */
void instructions_spin(uint64_t rounds);

/*
 * The counters against what is known: a loop of so many instructions, calls that take as many
 * nanoseconds as instructions, and sleep, which takes time only. 0, or -EBADMSG with a word about
 * it on stderr.
 */
int instructions_check(void);

#endif

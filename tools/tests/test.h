/* SPDX-License-Identifier: MIT */
/*
 * A test is a function that says what holds; CHECK says where it does not. One line per test on
 * standard output.
 */
#ifndef TOOLS_TEST_H
#define TOOLS_TEST_H

#include <stdio.h>

static unsigned int tests, failed_tests, failed_checks;

/* The first failures of a test are told; it goes on, for what follows may tell more. */
#define CHECK(condition, ...) do { \
	if (!(condition) && failed_checks++ < 5) { \
		printf("# %s:%d: %s: ", __FILE__, __LINE__, #condition); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} \
} while (0)

#define RUN(test) run_test(#test, test)

static void run_test(const char *name, void (*test)(void))
{
	failed_checks = 0;
	test();
	tests++;
	failed_tests += failed_checks > 0;
	printf("%s %u - %s\n", failed_checks ? "not ok" : "ok", tests, name);
	fflush(stdout);
}

static int test_result(void)
{
	printf("1..%u\n", tests);
	return failed_tests > 0;
}

#endif

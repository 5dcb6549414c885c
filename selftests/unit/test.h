/* SPDX-License-Identifier: MIT */
/*
 * For host unit tests. A test is a function whose name says what holds; CHECK says where it does
 * not. One TAP line for each test on standard output.
 */
#ifndef UNIT_TEST_H
#define UNIT_TEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Failures of one test that are told. */
#define TEST_TOLD	5

static unsigned int tests, failed_tests, failed_checks;

/* A test goes on after a failed check, for what follows may tell more. */
__attribute__((format(printf, 4, 5)))
static inline void test_fail(const char *file, int line, const char *what, const char *format, ...)
{
	va_list args;

	if (failed_checks++ >= TEST_TOLD)
		return;
	printf("# %s:%d: not so: %s", file, line, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* CHECK(condition), or CHECK(condition, format, ...) to say more. */
#define CHECK(condition, ...) do { \
	if (!(condition)) \
		test_fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__); \
} while (0)

#define CHECK_EQUAL(actual, expected) do { \
	long long actual_ = (long long)(actual), expected_ = (long long)(expected); \
	CHECK(actual_ == expected_, "%s is %lld (0x%llx), not %lld (0x%llx)", #actual, actual_, \
	      (unsigned long long)actual_, expected_, (unsigned long long)expected_); \
} while (0)

#define RUN(test) run_test(#test, test)

static inline void run_test(const char *name, void (*test)(void))
{
	failed_checks = 0;
	test();
	tests++;
	failed_tests += failed_checks > 0;
	printf("%s %u - %s\n", failed_checks ? "not ok" : "ok", tests, name);
	fflush(stdout);
}

/* For main() to return. */
static inline int test_result(void)
{
	printf("1..%u\n", tests);
	return failed_tests > 0;
}

#endif

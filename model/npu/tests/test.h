/* SPDX-License-Identifier: MIT */
/* A test is a function whose name says what holds. One line for each on standard output. */
#ifndef TEST_H
#define TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static unsigned int test_number, test_failures;
static bool test_failed;

/* A test goes on after a failed check, for what follows may tell more. */
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			test_failed = true; \
		} \
	} while (0)

#define CHECK_EQUAL(actual, expected) \
	do { \
		int64_t actual_ = (int64_t)(actual), expected_ = (int64_t)(expected); \
		if (actual_ != expected_) { \
			printf("# %s:%d: %s is %" PRId64 " (0x%" PRIx64 "), not %" PRId64 "\n", \
			       __FILE__, __LINE__, #actual, actual_, (uint64_t)actual_, expected_); \
			test_failed = true; \
		} \
	} while (0)

#define RUN(test) test_run(#test, test)

static inline void test_run(const char *name, void (*test)(void))
{
	test_failed = false;
	test();
	test_number++;
	test_failures += test_failed;
	printf("%s %u - %s\n", test_failed ? "not ok" : "ok", test_number, name);
	fflush(stdout);
}

/* For main() to return. */
static inline int test_result(void)
{
	printf("1..%u\n", test_number);
	return test_failures > 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/* A test says what holds; CHECK says where it does not. One line per test on standard output. */
#ifndef ORK_TEST_H
#define ORK_TEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static unsigned int tests, failed_tests, failed_checks;

/* Prints the first failures of a test; it goes on, for what follows may tell more. */
#define CHECK(condition, ...) do { \
	if (!(condition) && failed_checks++ < 5) { \
		printf("# %s:%d: %s: ", __FILE__, __LINE__, #condition); \
		printf(__VA_ARGS__); \
		printf("\n"); \
	} \
} while (0)

#define CHECK_EQUAL(actual, expected) do { \
	long long actual_ = (long long)(actual), expected_ = (long long)(expected); \
	CHECK(actual_ == expected_, "%s is %lld (0x%llx), not %lld (0x%llx)", #actual, actual_, \
	      (unsigned long long)actual_, expected_, (unsigned long long)expected_); \
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

/* The same numbers everywhere: a failure can be repeated. */
static inline uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static inline uint32_t random_in(uint64_t *state, uint32_t first, uint32_t last)
{
	return first + next_random(state) % (last - first + 1);
}

#endif

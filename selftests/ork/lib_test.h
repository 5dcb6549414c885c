/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the suites that use libork share. They run on the kernel's device, and on the host on the
 * model in their process.
 */
#ifndef ORK_LIB_TEST_H
#define ORK_LIB_TEST_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <ork.h>
#include <kselftest_harness.h>
#include "only.h"

/* The build for the host names the model; elsewhere it is for $ORK_DEVICE, or the first node. */
#ifndef TEST_DEVICE
#define TEST_DEVICE	NULL
#endif

/* And how its cache behaves. */
#ifndef TEST_MODEL
#define TEST_MODEL	"cache=strict"
#endif

/*
 * TEST_HARNESS_MAIN, but a machine without the device skips the suite, and with ORK_ONLY in the
 * environment some tests run alone.
 */
#define LIB_TEST_MAIN								\
	static void __attribute__((constructor)) constructor_order_last(void)	\
	{									\
		if (!__constructor_order)					\
			__constructor_order = _CONSTRUCTOR_ORDER_BACKWARD;	\
	}									\
	int main(int argc, char **argv)						\
	{									\
		struct ork *ork;						\
		int error;							\
										\
		setenv("ORK_MODEL", TEST_MODEL, 0);				\
		error = ork_open(TEST_DEVICE, &ork);				\
		if (error == -ENODEV)						\
			ksft_exit_skip("no node of the ork driver\n");		\
		if (error)							\
			ksft_exit_fail_msg("no device: %s\n", strerror(-error));\
		ork_close(ork);							\
		keep_only(getenv("ORK_ONLY"));					\
		return test_harness_run(argc, argv);				\
	}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * One case on the CPU and on a delegate, compared.
 */
#ifndef TEFLON_RUN_H
#define TEFLON_RUN_H

#include "model.h"

struct options {
	const char *delegate = "/teflon/lib/libteflon.so";
	const char *keep = nullptr; /* a folder for the delegate's results */
	std::vector<std::string> sets, names; /* all, if none is named */
	uint64_t seed = 1;
	int runs = 2; /* each of another input */
	bool list = false;
};

/* Says what is wrong, and the numbers, in lines that begin with #. */
bool run_case(const test_case &spec, const options &opt);

#endif

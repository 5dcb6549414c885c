// SPDX-License-Identifier: MIT
/* exp and log against the C library's, in long double. */
#include <float.h>
#include <math.h>

#include "../ork-train/maths.h"
#include "../../selftests/unit/test.h"

static const double limit = 4 * DBL_EPSILON;

static double relative(long double got, long double want)
{
	return (double)fabsl((got - want) / want);
}

static void exp_is_good_to_the_last_bits(void)
{
	for (double x = -700; x <= 700; x += 0.0137)
		CHECK(relative(portable_exp(x), expl(x)) <= limit, "e^%g is %.17g", x,
		      portable_exp(x));
	CHECK(portable_exp(0) == 1, "e^0 is %.17g", portable_exp(0));
}

static void exp_of_what_no_softmax_needs_is_zero(void)
{
	CHECK(portable_exp(-701) == 0, "e^-701 is %g", portable_exp(-701));
	CHECK(portable_exp(-INFINITY) == 0, "e^-inf is %g", portable_exp(-INFINITY));
	CHECK(portable_exp(NAN) == 0, "e^NaN is %g", portable_exp(NAN));
}

static void log_is_good_to_the_last_bits(void)
{
	for (double x = 1e-300; x < 1e300; x *= 1.37)
		CHECK(relative(portable_log(x), logl(x)) <= limit, "log %g is %.17g", x,
		      portable_log(x));
	/*
	 * Around 1 the logarithm is small and still must have all its bits; a softmax sums to
	 * 1..10.
	 */
	for (double x = 0.5; x < 12; x += 0.00013)
		CHECK(x == 1 || relative(portable_log(x), logl(x)) <= limit, "log %g is %.17g", x,
		      portable_log(x));
	CHECK(portable_log(1) == 0, "log 1 is %g", portable_log(1));
}

int main(void)
{
	RUN(exp_is_good_to_the_last_bits);
	RUN(exp_of_what_no_softmax_needs_is_zero);
	RUN(log_is_good_to_the_last_bits);
	return test_result();
}

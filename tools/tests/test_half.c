// SPDX-License-Identifier: MIT
/*
 * Halves against what IEEE 754 says: their values by ldexp(), and which of two neighbours a float
 * between them becomes.
 */
#include <math.h>

#include "../half.h"
#include "../../selftests/unit/test.h"

enum { HALF_ONE = 0x3c00, HALF_INFINITY = 0x7c00, HALF_LARGEST = 0x7bff, HALF_SIGN = 0x8000 };

static float value_of(unsigned int half)
{
	int exponent = (half >> 10) & 31, fraction = half & 1023;
	double magnitude = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);

	return (float)(half & HALF_SIGN ? -magnitude : magnitude);
}

static void every_half_has_its_value(void)
{
	for (unsigned int half = 0; half < 0x10000; half++) {
		float value = float_from_half((uint16_t)half);

		if ((half & 0x7c00) == 0x7c00)
			CHECK(half & 1023 ? isnan(value) : isinf(value), "%04x is %g", half,
			      (double)value);
		else
			CHECK(value == value_of(half), "%04x is %g", half, (double)value);
		CHECK(isnan(value) || !signbit(value) == !(half & HALF_SIGN), "%04x is %g", half,
		      (double)value);
	}
}

static void every_half_comes_back(void)
{
	for (unsigned int half = 0; half < 0x10000; half++) {
		unsigned int back = half_from_float(float_from_half((uint16_t)half));

		if ((half & 0x7c00) == 0x7c00 && half & 1023)
			CHECK((back & 0x7e00) == 0x7e00, "NaN %04x comes back as %04x", half, back);
		else
			CHECK(back == half, "%04x comes back as %04x", half, back);
	}
}

static void check_rounding(float value, unsigned int expected)
{
	unsigned int up = half_from_float(value), down = half_from_float(-value);

	CHECK(up == expected, "%a becomes %04x, not %04x", (double)value, up, expected);
	CHECK(down == (expected | HALF_SIGN), "%a becomes %04x, not %04x", (double)-value, down,
	      expected | HALF_SIGN);
}

/* Beyond the largest half, 65504, the next would be 65536: what rounds to that is infinity. */
static void between_neighbours_the_nearer_is_taken_and_of_ties_the_even(void)
{
	for (unsigned int half = 0; half <= HALF_LARGEST; half++) {
		float above = half == HALF_LARGEST ? 65536 : value_of(half + 1);
		float middle = (float)(((double)value_of(half) + (double)above) / 2);

		check_rounding(nextafterf(middle, 0), half);
		check_rounding(middle, half + (half & 1));
		check_rounding(nextafterf(middle, INFINITY), half + 1);
	}
}

static void extremes_stay_extremes(void)
{
	check_rounding(INFINITY, HALF_INFINITY);
	check_rounding(0x1.fffffep+127f, HALF_INFINITY);
	check_rounding(0x1p-149f, 0);
	check_rounding(1, HALF_ONE);
	CHECK(isnan(float_from_half(half_from_float(NAN))), "not a NaN");
}

int main(void)
{
	RUN(every_half_has_its_value);
	RUN(every_half_comes_back);
	RUN(between_neighbours_the_nearer_is_taken_and_of_ties_the_even);
	RUN(extremes_stay_extremes);
	return test_result();
}

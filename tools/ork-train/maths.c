// SPDX-License-Identifier: MIT
#include "maths.h"

#include <stdint.h>
#include <string.h>

/*
 * ln 2 in two parts; the first has its last 21 bits zero, so that its product with an exponent is
 * exact.
 */
static const double ln2_high = 0x1.62e42fee00000p-1;
static const double ln2_low = 0x1.a39ef35793c76p-33;
static const double log2_e = 0x1.71547652b82fep+0;

static double from_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t to_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

double portable_exp(double x)
{
	double rest, sum = 1;
	int power;

	if (!(x >= -700))
		return 0;
	power = (int)(x * log2_e + (x < 0 ? -0.5 : 0.5));
	rest = (x - power * ln2_high) - power * ln2_low;
	/* |rest| <= ln 2 / 2: after the 14th power of the series nothing is left of a double. */
	for (int i = 14; i > 0; i--)
		sum = 1 + sum * rest / i;
	return sum * from_bits((uint64_t)(1023 + power) << 52);
}

double portable_log(double x)
{
	/* x = 2^power * fraction, sqrt(1/2) <= fraction < sqrt(2) */
	uint64_t bits = to_bits(x);
	int power = (int)(bits >> 52) - 1023;
	double fraction = from_bits((bits & 0xfffffffffffffu) | (uint64_t)1023 << 52);
	double ratio, square, sum = 0;

	if (fraction > 0x1.6a09e667f3bcdp+0) {
		fraction /= 2;
		power++;
	}
	/*
	 * log(f) = 2 atanh((f - 1) / (f + 1)), the ratio at most 0.172: squares beyond the 11th
	 * power are nothing.
	 */
	ratio = (fraction - 1) / (fraction + 1);
	square = ratio * ratio;
	for (int i = 11; i >= 0; i--)
		sum = sum * square + 1.0 / (2 * i + 1);
	return power * ln2_high + (2 * ratio * sum + power * ln2_low);
}

/* SPDX-License-Identifier: MIT */
/*
 * exp and log of plain IEEE additions, multiplications and divisions: the last bit is the same on
 * every machine and with every C library, as the loss must be. Both are good to 1e-15 relative;
 * compile without contraction.
 */
#ifndef TRAIN_MATHS_H
#define TRAIN_MATHS_H

/** portable_exp - e^x for x up to 700; 0 below -700 and for NaN */
double portable_exp(double x);

/** portable_log - natural logarithm of a normal number > 0 */
double portable_log(double x);

#endif

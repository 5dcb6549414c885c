// SPDX-License-Identifier: MIT
/* Sums made bytes again, for the next layer: C is sum * 1 / 2^1 + 10, between -128 and 127. */
#include <err.h>
#include <ork.h>

int main(void)
{
	struct ork_matmul_desc desc = {
		.type = ORK_INT8_INT8, .m = 6, .k = 2, .n = 1,
		.multiplier = 1, .shift = 1, .offset = 10,
	};
	static const int8_t b[2] = { 1, 3 };
	static int8_t a[6][2] = {
		{ 1, 0 }, { 0, 1 }, { 2, 1 }, { -1, 0 }, { 127, 127 }, { -128, -128 },
	};
	/* Half of 1, 3, 5, -1, 508 and -512, ties to even: 0, 2, 2, 0, 254 and -256. */
	static const int8_t expected[6] = { 10, 12, 12, 10, 127, -128 };
	int8_t c[6];
	struct ork_matrix in = { .data = a }, out = { .data = c };
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct ork *ork;
	int i;

	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_weights_create(ork, desc.type, desc.k, desc.n, &weights) ||
	    ork_weights_pack(weights, b, 1, 0) ||
	    ork_matmul_create(ork, &desc, &matmul) ||
	    ork_matmul_run(matmul, &in, weights, &out))
		errx(1, "%s", ork_error(ork));
	for (i = 0; i < 6; i++)
		if (c[i] != expected[i])
			errx(1, "C[%d] is %d, not %d", i, c[i], expected[i]);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	ork_close(ork);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * B from floats, as frameworks keep the weights of a layer: a row for each column of C. It is
 * resident before the first product.
 */
#include <err.h>
#include <ork.h>

int main(void)
{
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = 2, .k = 3, .n = 2 };
	/* 1, 2, 3 and 0.5, 0, -1 in binary16. */
	static uint16_t a[2][3] = { { 0x3c00, 0x4000, 0x4200 }, { 0x3800, 0, 0xbc00 } };
	static const float b_transposed[2][3] = { { 10, 20, 30 }, { 4, -5, 0.25f } };
	/* 10 + 40 + 90, 4 - 10 + 0.75; 5 - 30, 2 - 0.25: all of them exact. */
	static const float expected[2][2] = { { 140, -5.25f }, { -25, 1.75f } };
	float c[2][2];
	struct ork_matrix in = { .data = a }, out = { .data = c };
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct ork *ork;
	int i;

	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_weights_create(ork, desc.type, desc.k, desc.n, &weights) ||
	    ork_weights_pack_from(weights, ORK_ELEMENT_FP32, b_transposed, 3, ORK_TRANSPOSED) ||
	    ork_weights_load(weights) ||
	    ork_matmul_create(ork, &desc, &matmul) ||
	    ork_matmul_run(matmul, &in, weights, &out))
		errx(1, "%s", ork_error(ork));
	for (i = 0; i < 4; i++)
		if (c[i / 2][i % 2] != expected[i / 2][i % 2])
			errx(1, "C[%d][%d] is %g", i / 2, i % 2, (double)c[i / 2][i % 2]);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	ork_close(ork);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * A and C in objects, of a shape that the NPU takes as it is: nothing is copied. K is a multiple of
 * 32, and a row of C, 32 numbers of 4 bytes, is two cache lines.
 */
#include <err.h>
#include <ork.h>

#define M	4
#define K	32
#define N	32

/* B is 1 everywhere, so each number in a row of C is the sum of that row of A. */
static void check(const int32_t *c, int32_t first)
{
	int i;

	for (i = 0; i < M * N; i++)
		if (c[i] != K * (first + i / N))
			errx(1, "C[%d][%d] is %d, not %d", i / N, i % N, c[i], K * (first + i / N));
}

int main(void)
{
	struct ork_matmul_desc desc = { .type = ORK_INT8_INT32, .m = M, .k = K, .n = N };
	struct ork_matrix in = { .flags = 0 }, out = { .flags = 0 };
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct ork *ork;
	int8_t b[K * N], *a;
	int run, i;

	for (i = 0; i < K * N; i++)
		b[i] = 1;
	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_bo_create(ork, M * K, 0, &in.bo) ||
	    ork_bo_create(ork, M * N * sizeof(int32_t), 0, &out.bo) ||
	    ork_weights_create(ork, desc.type, K, N, &weights) ||
	    ork_weights_pack(weights, b, N, 0) ||
	    ork_matmul_create(ork, &desc, &matmul))
		errx(1, "%s", ork_error(ork));
	if (!ork_matmul_get_plan(matmul)->a_direct || !ork_matmul_get_plan(matmul)->c_direct)
		errx(1, "A or C would be copied");

	/* The CPU writes A before each run, and never C: its lines need no cleaning. */
	out.flags = ORK_CPU_CLEAN;
	a = ork_bo_data(in.bo);
	for (run = 0; run < 3; run++) {
		for (i = 0; i < M * K; i++)
			a[i] = (int8_t)(run + i / K);
		if (ork_matmul_run(matmul, &in, weights, &out))
			errx(1, "%s", ork_error(ork));
		check(ork_bo_data(out.bo), run);
	}

	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	ork_bo_destroy(out.bo);
	ork_bo_destroy(in.bo);
	ork_close(ork);
	return 0;
}

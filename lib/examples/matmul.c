// SPDX-License-Identifier: MIT
/* C = A * B of bytes in plain memory: what there is to do, and no more. */
#include <err.h>
#include <ork.h>

#define M	3
#define K	40
#define N	5

static int8_t a[M][K], b[K][N];
static int32_t c[M][N];

static void fill(void)
{
	int m, n, k;

	for (k = 0; k < K; k++) {
		for (m = 0; m < M; m++)
			a[m][k] = (int8_t)(k * 7 + m * 31);
		for (n = 0; n < N; n++)
			b[k][n] = (int8_t)(k * 13 - n * 53);
	}
}

static void check(void)
{
	int m, n, k;

	for (m = 0; m < M; m++) {
		for (n = 0; n < N; n++) {
			int64_t sum = 0;

			for (k = 0; k < K; k++)
				sum += a[m][k] * b[k][n];
			if (c[m][n] != sum)
				errx(1, "C[%d][%d] is %d, not %lld", m, n, c[m][n], (long long)sum);
		}
	}
}

int main(void)
{
	struct ork_matmul_desc desc = { .type = ORK_INT8_INT32, .m = M, .k = K, .n = N };
	struct ork_matrix in = { .data = a }, out = { .data = c };
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct ork *ork;

	fill();
	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_weights_create(ork, desc.type, K, N, &weights) ||
	    ork_weights_pack(weights, b, N, 0) ||
	    ork_matmul_create(ork, &desc, &matmul) ||
	    ork_matmul_run(matmul, &in, weights, &out))
		errx(1, "%s", ork_error(ork));
	check();
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	ork_close(ork);
	return 0;
}

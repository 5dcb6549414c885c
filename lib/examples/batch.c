// SPDX-License-Identifier: MIT
/*
 * Two layers in one submit. What the first gives stays on the device: the CPU does not see it, and nobody
 * maintains its cache lines.
 */
#include <err.h>
#include <ork.h>

#define M	8
#define K	64
#define HIDDEN	64
#define N	32

/* A layer of ones: each element of its C is the sum of a row of its A. */
static struct ork_weights *ones(struct ork *ork, uint32_t k, uint32_t n)
{
	static int8_t b[K * HIDDEN];
	struct ork_weights *weights;
	uint32_t i;

	for (i = 0; i < k * n; i++)
		b[i] = 1;
	if (ork_weights_create(ork, ORK_INT8_INT8, k, n, &weights) || ork_weights_pack(weights, b, n, 0))
		errx(1, "%s", ork_error(ork));
	return weights;
}

int main(void)
{
	/* Sums of the first are divided by 64, to be int8 again. */
	struct ork_matmul_desc first = {
		.type = ORK_INT8_INT8, .m = M, .k = K, .n = HIDDEN, .cores = 1, .multiplier = 1, .shift = 6,
	};
	struct ork_matmul_desc second = { .type = ORK_INT8_INT32, .m = M, .k = HIDDEN, .n = N, .cores = 1 };
	struct ork_matrix in = { .flags = 0 }, hidden = { .flags = ORK_DEVICE_ONLY }, out = { .flags = ORK_CPU_CLEAN };
	struct ork_weights *weights[2];
	struct ork_matmul *layers[2];
	struct ork_batch *batch;
	struct ork *ork;
	int i, run;

	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	weights[0] = ones(ork, K, HIDDEN);
	weights[1] = ones(ork, HIDDEN, N);
	if (ork_bo_create(ork, M * K, 0, &in.bo) || ork_bo_create(ork, M * HIDDEN, 0, &hidden.bo) ||
	    ork_bo_create(ork, M * N * 4, 0, &out.bo) || ork_matmul_create(ork, &first, &layers[0]) ||
	    ork_matmul_create(ork, &second, &layers[1]) || ork_batch_create(ork, 2, &batch) ||
	    ork_batch_add(batch, layers[0], &in, weights[0], &hidden, 0) ||
	    ork_batch_add(batch, layers[1], &hidden, weights[1], &out, ORK_BEHIND))
		errx(1, "%s", ork_error(ork));

	/* As often as there is an A. Row i of it is i + run everywhere, and so is what is hidden. */
	for (run = 0; run < 3; run++) {
		for (i = 0; i < M * K; i++)
			((int8_t *)ork_bo_data(in.bo))[i] = (int8_t)(i / K + run);
		if (ork_batch_start(batch) || ork_batch_wait(batch, INT64_MAX))
			errx(1, "%s", ork_error(ork));
		for (i = 0; i < M * N; i++)
			if (((int32_t *)ork_bo_data(out.bo))[i] != HIDDEN * (i / N + run))
				errx(1, "C[%d][%d] is wrong", i / N, i % N);
	}

	/* The products are free for another list, or for themselves. */
	if (ork_batch_clear(batch))
		errx(1, "%s", ork_error(ork));
	ork_batch_destroy(batch);
	for (i = 0; i < 2; i++) {
		ork_matmul_destroy(layers[i]);
		ork_weights_destroy(weights[i]);
	}
	ork_bo_destroy(in.bo);
	ork_bo_destroy(hidden.bo);
	ork_bo_destroy(out.bo);
	ork_close(ork);
	return 0;
}

// SPDX-License-Identifier: MIT
/* Where the time of a product goes, and how many bytes of caches it maintained. */
#include <err.h>
#include <stdio.h>
#include <ork.h>

#define M	64
#define K	256
#define N	256

static int8_t a[M][K], b[K][N];
static int32_t c[M][N];

static void run(struct ork *ork, int times)
{
	struct ork_matmul_desc desc = { .type = ORK_INT8_INT32, .m = M, .k = K, .n = N };
	struct ork_matrix in = { .data = a }, out = { .data = c };
	struct ork_weights *weights;
	struct ork_matmul *matmul;

	if (ork_weights_create(ork, desc.type, K, N, &weights) ||
	    ork_weights_pack(weights, b, N, 0) ||
	    ork_matmul_create(ork, &desc, &matmul))
		errx(1, "%s", ork_error(ork));
	while (times--)
		if (ork_matmul_run(matmul, &in, weights, &out))
			errx(1, "%s", ork_error(ork));
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
}

int main(void)
{
	struct ork_profile profile;
	struct ork *ork;
	int i;

	a[1][2] = 3;
	b[2][5] = 7;
	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	ork_profile_enable(ork, true);
	run(ork, 3);
	ork_profile_get(ork, &profile);
	ork_profile_enable(ork, false);
	ork_close(ork);
	for (i = 0; i < ORK_PHASES; i++)
		printf("%-10s %8llu ns\n", ork_phase_name((enum ork_phase)i),
		       (unsigned long long)profile.phase[i].ns);
	if (c[1][5] != 21 || c[1][6])
		errx(1, "C is wrong");
	/* A submit and a wait for each; one B, packed once; results of 4 bytes. */
	if (profile.products != 3 || profile.ioctls != 6)
		errx(1, "%llu products", (unsigned long long)profile.products);
	if (profile.phase[ORK_PHASE_PACK].calls != 1 ||
	    profile.phase[ORK_PHASE_PACK].bytes != K * N)
		errx(1, "B was not packed once");
	if (profile.bytes_written_npu != 3 * M * N * 4)
		errx(1, "%llu bytes of C", (unsigned long long)profile.bytes_written_npu);
	return 0;
}

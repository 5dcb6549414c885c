// SPDX-License-Identifier: MIT
/* What a product would cost, and why another cannot be, before anything is allocated. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <ork.h>

int main(void)
{
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = 64, .k = 250, .n = 100 };
	struct ork_matmul_plan plan;
	struct ork *ork;

	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_matmul_plan(ork_info(ork), &desc, &plan))
		errx(1, "%s", plan.reason);
	printf("%llu multiplications on %u cores, in tiles of %u x %u\n",
	       (unsigned long long)plan.macs, plan.cores, plan.m_tile, plan.n_tile);
	/* Blocks of 32 channels and kernel groups of 16 columns, of fp16. */
	if (plan.k_padded != 256 || plan.n_padded != 112 || plan.weight_bytes != 256 * 112 * 2)
		errx(1, "B is %u x %u", plan.k_padded, plan.n_padded);
	if (plan.macs != 64 * 250 * 100)
		errx(1, "%llu multiplications", (unsigned long long)plan.macs);

	/* Rows that overlap. */
	desc.lda = 200;
	if (ork_matmul_plan(ork_info(ork), &desc, &plan) != -EINVAL || !plan.reason[0])
		errx(1, "rows of 250 are thought to be 200 apart");
	printf("%s\n", plan.reason);
	ork_close(ork);
	return 0;
}

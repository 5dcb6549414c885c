// SPDX-License-Identifier: MIT
/* When each phase and each job of products ran: two files to look at, the second with ui.perfetto.dev. */
#include <err.h>
#include <stdlib.h>
#include <unistd.h>
#include <ork.h>

#define M	64
#define K	256
#define N	256

static int8_t a[M * K], b[K * N];
static int32_t c[M * N];

int main(void)
{
	struct ork_matmul_desc desc = { .type = ORK_INT8_INT32, .m = M, .k = K, .n = N };
	struct ork_matrix in = { .data = a }, out = { .data = c };
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	char folder[] = "/tmp/ork.XXXXXX";
	struct ork *ork;
	int i;

	if (!mkdtemp(folder) || chdir(folder))
		err(1, "%s", folder);
	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	ork_profile_enable(ork, true);
	if (ork_trace_start(ork, 1000) || ork_weights_create(ork, desc.type, K, N, &weights) ||
	    ork_weights_pack(weights, b, N, 0) || ork_matmul_create(ork, &desc, &matmul))
		errx(1, "%s", ork_error(ork));
	for (i = 0; i < 10; i++)
		if (ork_matmul_run(matmul, &in, weights, &out))
			errx(1, "%s", ork_error(ork));
	if (ork_profile_write(ork, "profile.json") || ork_trace_write(ork, "trace.json"))
		errx(1, "%s", ork_error(ork));
	ork_trace_stop(ork);
	ork_profile_print(ork, stdout);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	ork_close(ork);
	if (unlink("profile.json") || unlink("trace.json") || rmdir(folder))
		err(1, "%s", folder);
	return 0;
}

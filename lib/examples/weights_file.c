// SPDX-License-Identifier: MIT
/* Weights that are packed once, and later come from a file. */
#include <err.h>
#include <stdlib.h>
#include <unistd.h>
#include <ork.h>

static int32_t multiply(struct ork *ork, struct ork_weights *weights)
{
	struct ork_matmul_desc desc = { .type = ORK_INT8_INT32, .m = 1, .k = 3, .n = 1 };
	int8_t a[3] = { 2, 3, 5 };
	int32_t c = 0;
	struct ork_matrix in = { .data = a }, out = { .data = &c };
	struct ork_matmul *matmul;

	if (ork_matmul_create(ork, &desc, &matmul) || ork_matmul_run(matmul, &in, weights, &out))
		errx(1, "%s", ork_error(ork));
	ork_matmul_destroy(matmul);
	return c;
}

int main(void)
{
	static const int8_t b[3] = { 7, 11, -13 };
	char path[] = "/tmp/weights-XXXXXX";
	int fd = mkstemp(path);
	struct ork_weights *weights;
	struct ork *ork;
	int32_t c;

	if (fd < 0 || close(fd))
		err(1, "%s", path);
	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_weights_create(ork, ORK_INT8_INT32, 3, 1, &weights) ||
	    ork_weights_pack(weights, b, 1, 0) ||
	    ork_weights_save(weights, path))
		errx(1, "%s", ork_error(ork));
	ork_weights_destroy(weights);

	/* As another process would, or this one at its next start. */
	if (ork_weights_open(ork, path, &weights))
		errx(1, "%s", ork_error(ork));
	unlink(path);
	c = multiply(ork, weights);
	if (c != 2 * 7 + 3 * 11 - 5 * 13)
		errx(1, "C is %d", c);
	ork_weights_destroy(weights);
	ork_close(ork);
	return 0;
}

// SPDX-License-Identifier: MIT
/* The CPU does something else, waits for a descriptor among others, and then collects. */
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include <ork.h>

/* The end of the product is one more descriptor of an event loop; only the model has none. */
static void wait_for_descriptor(struct ork *ork, struct ork_matmul *matmul)
{
	struct pollfd poll_fd = { .events = POLLIN };
	int ret = ork_matmul_export(matmul, &poll_fd.fd);

	if (ret == -EOPNOTSUPP)
		return;
	if (ret)
		errx(1, "%s", ork_error(ork));
	if (poll(&poll_fd, 1, -1) != 1)
		err(1, "poll");
	close(poll_fd.fd);
}

int main(void)
{
	struct ork_matmul_desc desc = { .type = ORK_INT8_INT32, .m = 1, .k = 2, .n = 2 };
	static const int8_t b[2][2] = { { 1, 2 }, { 3, 4 } };
	static int8_t a[2] = { 5, 6 };
	int32_t c[2] = { 0, 0 };
	struct ork_matrix in = { .data = a }, out = { .data = c };
	struct ork_weights *weights;
	struct ork_matmul *matmul;
	struct ork *ork;
	int ret;

	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_weights_create(ork, desc.type, desc.k, desc.n, &weights) ||
	    ork_weights_pack(weights, b, 2, 0) ||
	    ork_matmul_create(ork, &desc, &matmul) ||
	    ork_matmul_start(matmul, &in, weights, &out))
		errx(1, "%s", ork_error(ork));
	wait_for_descriptor(ork, matmul);
	/* Not at all, behind the descriptor; without one, a millisecond at a time. */
	do {
		ret = ork_matmul_wait(matmul, 1000000);
	} while (ret == -ETIME);
	if (ret)
		errx(1, "%s", ork_error(ork));
	if (c[0] != 5 * 1 + 6 * 3 || c[1] != 5 * 2 + 6 * 4)
		errx(1, "C is %d, %d", c[0], c[1]);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(weights);
	ork_close(ork);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
#include "../rocket/rocket_test.h"
#include "bench.h"

/* JOB_TIMEOUT_MS of the driver. */
#define TIMEOUT_MS	500

struct client {
	int fd;
	uint32_t jobs;
	struct rocket_product *products;
	struct bo object;	/* of sync() */
};

/* Matrices of ones, as those of ork's products. */
static void product_open(int fd, struct rocket_product *p, uint32_t programs)
{
	must("making a product", rocket_product_create(fd, p, 1, 32, 32, programs));
	memset(p->a.data, 1, p->a.size);
	memset(p->b.data, 1, p->b.size);
	memset(p->c.data, UNTOUCHED, p->c.size);
	must("FINI_BO of A", rocket_fini(fd, &p->a));
	must("FINI_BO of B", rocket_fini(fd, &p->b));
	must("FINI_BO of C", rocket_fini(fd, &p->c));
}

static struct client *client_open(uint32_t jobs, uint32_t programs)
{
	struct client *client = calloc(1, sizeof(*client));

	client->fd = rocket_open();
	must("opening rocket", client->fd < 0 ? client->fd : 0);
	client->jobs = jobs;
	client->products = calloc(jobs, sizeof(*client->products));
	for (uint32_t i = 0; i < jobs; i++)
		product_open(client->fd, &client->products[i], programs);
	return client;
}

static void client_close(struct client *client)
{
	for (uint32_t i = 0; i < client->jobs; i++)
		rocket_product_close(client->fd, &client->products[i]);
	/* Rocket frees a job a moment after its end, and warns if its file goes before it. */
	usleep(100000);
	close(client->fd);
	free(client->products);
	free(client);
}

static void client_submit(struct client *client, uint32_t first, uint32_t count, int core)
{
	struct drm_rocket_job *jobs = calloc(count, sizeof(*jobs));

	(void)core;
	for (uint32_t i = 0; i < count; i++)
		jobs[i] = rocket_product_job(&client->products[first + i]);
	must("rocket's SUBMIT", rocket_submit(client->fd, jobs, count));
	free(jobs);
}

static int client_wait(struct client *client, uint32_t number)
{
	return rocket_prep(client->fd, &client->products[number].c);
}

static bool client_is_right(struct client *client, uint32_t number)
{
	const struct rocket_product *p = &client->products[number];
	const int32_t *c = (const int32_t *)p->c.data;
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < p->panels * p->gemm.m * p->gemm.n; i++)
		wrong += c[i] != (int32_t)p->gemm.k;
	return !wrong;
}

static void client_forget(struct client *client, uint32_t number)
{
	const struct bo *c = &client->products[number].c;

	memset(c->data, UNTOUCHED, c->size);
	must("FINI_BO of C", rocket_fini(client->fd, c));
}

static void client_sync_open(struct client *client, uint64_t bytes)
{
	must("making an object", rocket_bo_create(client->fd, bytes, &client->object));
}

static void client_sync(struct client *client, uint64_t offset, uint64_t length)
{
	(void)offset;
	(void)length;
	must("FINI_BO", rocket_fini(client->fd, &client->object));
}

static void client_sync_close(struct client *client)
{
	bo_close(client->fd, &client->object);
}

const struct driver rocket_driver = {
	.name = "rocket",
	.timeout_ms = TIMEOUT_MS,
	.open = client_open,
	.close = client_close,
	.submit = client_submit,
	.wait = client_wait,
	.is_right = client_is_right,
	.forget = client_forget,
	.sync_open = client_sync_open,
	.sync = client_sync,
	.sync_close = client_sync_close,
};

// SPDX-License-Identifier: GPL-2.0-only
#include "../ork/ork_test.h"
#include "bench.h"

#define TIMEOUT_MS	100

struct client {
	int fd;
	uint32_t jobs;
	struct product *products;
	uint32_t *syncobjs;	/* one for each job, carries its fence */
	struct bo object;	/* of sync() */
};

static struct client *client_open(uint32_t jobs, uint32_t programs)
{
	struct client *client = calloc(1, sizeof(*client));

	client->fd = device_open();
	must("opening ork", client->fd < 0 ? client->fd : 0);
	client->jobs = jobs;
	client->products = calloc(jobs, sizeof(*client->products));
	client->syncobjs = calloc(jobs, sizeof(*client->syncobjs));
	for (uint32_t i = 0; i < jobs; i++) {
		must("making a product",
		     product_create(client->fd, &client->products[i], 1, 32, 32, programs));
		must("making a syncobj", syncobj_create(client->fd, &client->syncobjs[i]));
	}
	return client;
}

static void client_close(struct client *client)
{
	for (uint32_t i = 0; i < client->jobs; i++)
		bo_close(client->fd, &client->products[i].bo);
	close(client->fd);
	free(client->products);
	free(client->syncobjs);
	free(client);
}

static void submit_some(struct client *client, uint32_t first, uint32_t count, int core)
{
	struct drm_ork_job jobs[DRM_ORK_MAX_JOBS];

	for (uint32_t i = 0; i < count; i++) {
		jobs[i] = product_job(&client->products[first + i],
				      core == ANY_CORE ? 0 : 1u << core);
		jobs[i].out_syncobj = client->syncobjs[first + i];
		jobs[i].timeout_ms = TIMEOUT_MS;
	}
	must("ork's SUBMIT", submit_jobs(client->fd, jobs, count, 0));
}

static void client_submit(struct client *client, uint32_t first, uint32_t count, int core)
{
	while (count) {
		uint32_t some = count < DRM_ORK_MAX_JOBS ? count : DRM_ORK_MAX_JOBS;

		submit_some(client, first, some, core);
		first += some;
		count -= some;
	}
}

static int client_wait(struct client *client, uint32_t number)
{
	return job_status(client->fd, client->syncobjs[number]);
}

static bool client_is_right(struct client *client, uint32_t number)
{
	return !product_wrong(&client->products[number], client->products[number].gemm.k);
}

/* What the CPU writes here is cleaned when the job is submitted again. */
static void client_forget(struct client *client, uint32_t number)
{
	const struct product *p = &client->products[number];

	memset(p->bo.data + p->c, UNTOUCHED, product_c_bytes(p));
}

static void client_sync_open(struct client *client, uint64_t bytes)
{
	must("making an object", bo_create(client->fd, bytes, &client->object));
}

static void client_sync(struct client *client, uint64_t offset, uint64_t length)
{
	must("BO_SYNC", sync_range(client->fd, &client->object, DRM_ORK_EXTENT_TO_DEVICE, offset,
				   length));
}

static void client_sync_close(struct client *client)
{
	bo_close(client->fd, &client->object);
}

const struct driver ork_driver = {
	.name = "ork",
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

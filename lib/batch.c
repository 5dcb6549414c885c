// SPDX-License-Identifier: MIT
/* Several products in one submit: at once, or one behind the other on a core. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "product.h"

_Static_assert(ORK_BATCH_LIMIT <= DRM_ORK_MAX_JOBS, "each product may be a job");

struct entry {
	struct ork_matmul *matmul;
	bool behind;
};

struct ork_batch {
	struct ork *ork;
	uint32_t limit, count;
	struct entry *entries;
	bool in_flight;
	uint32_t syncobj;

	/* The submit. A job's tasks and extents follow each other. */
	uint32_t jobs_used, tasks_used, extents_used;
	struct drm_ork_job *jobs;
	struct drm_ork_task *tasks;
	struct drm_ork_extent *extents;
};

/* --- life ------------------------------------------------------------------------------------- */

static int allocate(struct ork_batch *batch)
{
	size_t parts = batch->limit * (size_t)ORK_MAX_CORES;

	batch->entries = calloc(batch->limit, sizeof(*batch->entries));
	batch->jobs = calloc(parts, sizeof(*batch->jobs));
	batch->tasks = calloc(parts, sizeof(*batch->tasks));
	batch->extents = calloc(parts * ORK_PRODUCT_EXTENTS, sizeof(*batch->extents));
	if (!batch->entries || !batch->jobs || !batch->tasks || !batch->extents)
		return ork_fail(batch->ork, -ENOMEM, "no memory for a batch of %u products", batch->limit);
	return ork_syncobj_create(batch->ork, &batch->syncobj);
}

int ork_batch_create(struct ork *ork, uint32_t limit, struct ork_batch **out)
{
	struct ork_batch *batch;
	int ret;

	*out = NULL;
	if (!limit || limit > ORK_BATCH_LIMIT)
		return ork_fail(ork, -EINVAL, "batch of %u products; must be 1..%u", limit, ORK_BATCH_LIMIT);
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return ork_fail(ork, -ENOMEM, "no memory for a batch");
	batch->ork = ork;
	batch->limit = limit;
	ret = allocate(batch);
	if (ret)
		ork_batch_destroy(batch);
	else
		*out = batch;
	return ret;
}

static void release(struct ork_batch *batch)
{
	while (batch->count)
		batch->entries[--batch->count].matmul->batch = NULL;
}

void ork_batch_destroy(struct ork_batch *batch)
{
	if (!batch)
		return;
	if (batch->in_flight)
		ork_batch_wait(batch, INT64_MAX);
	release(batch);
	if (batch->syncobj)
		ork_syncobj_destroy(batch->ork, batch->syncobj);
	free(batch->extents);
	free(batch->tasks);
	free(batch->jobs);
	free(batch->entries);
	free(batch);
}

int ork_batch_clear(struct ork_batch *batch)
{
	if (batch->in_flight)
		return ork_fail(batch->ork, -EBUSY, "the batch is in flight; wait for it first");
	release(batch);
	return 0;
}

/* --- its products ----------------------------------------------------------------------------- */

static uint32_t jobs_of(const struct entry *entry)
{
	return entry->behind ? 0 : entry->matmul->plan.cores;
}

static uint32_t count_jobs(const struct ork_batch *batch)
{
	uint32_t jobs = 0, i;

	for (i = 0; i < batch->count; i++)
		jobs += jobs_of(&batch->entries[i]);
	return jobs;
}

static int check_room(struct ork_batch *batch, const struct entry *entry)
{
	uint32_t jobs = count_jobs(batch) + jobs_of(entry);

	if (batch->in_flight)
		return ork_fail(batch->ork, -EBUSY, "the batch is in flight; wait for it first");
	if (entry->matmul->ork != batch->ork)
		return ork_fail(batch->ork, -EINVAL, "the product belongs to another device");
	if (batch->count == batch->limit)
		return ork_fail(batch->ork, -ENOSPC, "the batch has its %u products", batch->limit);
	if (jobs > DRM_ORK_MAX_JOBS)
		return ork_fail(batch->ork, -ENOSPC, "%u jobs; a submit has at most %u", jobs, DRM_ORK_MAX_JOBS);
	return 0;
}

static int check_order(struct ork_batch *batch, const struct entry *entry)
{
	uint32_t cores = entry->matmul->plan.cores, before;

	if (!entry->behind)
		return 0;
	if (!batch->count)
		return ork_fail(batch->ork, -EINVAL, "the first product of a batch is behind none");
	before = batch->entries[batch->count - 1].matmul->plan.cores;
	if (cores > 1 || before > 1)
		return ork_fail(batch->ork, -EINVAL, "a product on %u cores behind one on %u; must be 1", cores, before);
	return 0;
}

int ork_batch_add(struct ork_batch *batch, struct ork_matmul *matmul, const struct ork_matrix *a,
		  struct ork_weights *b, const struct ork_matrix *c, uint32_t flags)
{
	struct entry entry = { .matmul = matmul, .behind = flags & ORK_BEHIND };
	int ret;

	if (flags & ~ORK_BEHIND)
		return ork_fail(batch->ork, -EOPNOTSUPP, "flags = 0x%x; only 0x%x is known", flags, ORK_BEHIND);
	ret = check_room(batch, &entry);
	if (!ret)
		ret = check_order(batch, &entry);
	if (!ret)
		ret = ork_product_call(matmul, a, b, c);
	if (ret)
		return ret;
	if (matmul->rows < matmul->desc.m)
		return ork_fail(batch->ork, -E2BIG, "%u rows; one submit has %u of this product", matmul->desc.m,
				matmul->rows);
	matmul->batch = batch;
	batch->entries[batch->count++] = entry;
	return 0;
}

/* --- run -------------------------------------------------------------------------------------- */

/* What @from is made of, at the end of the batch's last job. */
static void append(struct ork_batch *batch, const struct drm_ork_job *from)
{
	struct drm_ork_job *job = &batch->jobs[batch->jobs_used - 1];

	batch->tasks[batch->tasks_used++] = *(const struct drm_ork_task *)(uintptr_t)from->tasks.ptr;
	memcpy(&batch->extents[batch->extents_used], (const void *)(uintptr_t)from->extents.ptr,
	       from->extents.count * sizeof(batch->extents[0]));
	batch->extents_used += from->extents.count;
	job->tasks.count++;
	job->extents.count += from->extents.count;
}

/* Its fence, if it has one of its own, is that of the job of its first product. */
static void begin_job(struct ork_batch *batch, uint32_t out_syncobj)
{
	batch->jobs[batch->jobs_used++] = (struct drm_ork_job) {
		.tasks = { (uintptr_t)&batch->tasks[batch->tasks_used], 0, sizeof(batch->tasks[0]) },
		.extents = { (uintptr_t)&batch->extents[batch->extents_used], 0, sizeof(batch->extents[0]) },
		.out_syncobj = out_syncobj,
	};
}

static void append_entry(struct ork_batch *batch, const struct entry *entry)
{
	uint32_t core;

	for (core = 0; core < entry->matmul->plan.cores; core++) {
		if (!entry->behind)
			begin_job(batch, entry->matmul->jobs[core].out_syncobj);
		append(batch, &entry->matmul->jobs[core]);
	}
}

static int prepare(struct ork_batch *batch)
{
	int ret = 0;
	uint32_t i;

	batch->jobs_used = batch->tasks_used = batch->extents_used = 0;
	for (i = 0; !ret && i < batch->count; i++) {
		ret = ork_product_prepare(batch->entries[i].matmul);
		if (!ret)
			append_entry(batch, &batch->entries[i]);
	}
	return ret;
}

int ork_batch_start(struct ork_batch *batch)
{
	int ret;
	uint32_t i;

	if (batch->in_flight)
		return ork_fail(batch->ork, -EBUSY, "the batch is in flight already; wait for it first");
	if (!batch->count)
		return ork_fail(batch->ork, -EINVAL, "the batch has no products");
	ret = prepare(batch);
	if (!ret)
		ret = ork_product_submit(batch->ork, batch->jobs, batch->jobs_used, batch->syncobj);
	if (ret)
		return ret;
	for (i = 0; i < batch->count; i++) {
		ork_product_submitted(batch->entries[i].matmul);
		ork_profile_count_product(batch->ork);
	}
	batch->in_flight = true;
	return 0;
}

/* What ended is traced; where all went well C is brought to where it belongs. */
static void take_back(const struct entry *entry, bool good)
{
	if (!entry->behind)
		ork_product_trace(entry->matmul);
	if (good && entry->matmul->c.data)
		ork_product_copy_back(entry->matmul);
}

int ork_batch_wait(struct ork_batch *batch, int64_t timeout_ns)
{
	uint32_t i;
	int ret;

	if (!batch->in_flight)
		return ork_fail(batch->ork, -EINVAL, "nothing was started");
	ret = ork_product_wait(batch->ork, batch->syncobj, timeout_ns);
	batch->in_flight = ret == -ETIME;
	for (i = 0; !batch->in_flight && i < batch->count; i++)
		take_back(&batch->entries[i], !ret);
	return ret;
}

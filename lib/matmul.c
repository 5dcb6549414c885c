// SPDX-License-Identifier: MIT
/* Products: their chains and their life; one submit for all cores. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "product.h"

/* --- life ------------------------------------------------------------------------------------- */

/* Where the chain of @core begins: each on lines of its own, for each is cleaned by itself. */
static uint64_t chain_offset(const struct ork_matmul *matmul, uint32_t core)
{
	uint64_t offset = 0;
	uint32_t i;

	for (i = 0; i < core; i++)
		offset += ork_round_up(matmul->plan.chain_bytes[i], matmul->ork->info.cache_line);
	return offset;
}

/*
 * Chains are cached, and cleaned after they were emitted. In write-combined memory that clean would be
 * spared: 14 lines a program, measured as 65 instructions of a guest beside 806 for emitting it, and only
 * where an address has moved. But programs are made from the first of their shape, and reading that from
 * memory which is not cached is ten times slower on boards (ork-driver facts 6.2).
 */
static int allocate(struct ork_matmul *matmul)
{
	uint64_t size = chain_offset(matmul, matmul->plan.cores);
	int ret = ork_bo_create(matmul->ork, size, 0, &matmul->chains);

	return ret ? ret : ork_syncobj_create(matmul->ork, &matmul->syncobj);
}

/* Of the product, or of as many of its rows as chains can have. */
static int make_plan(struct ork_matmul *matmul, const struct ork_matmul_desc *desc)
{
	struct ork_matmul_plan *plan = &matmul->plan;
	int ret = ork_matmul_plan(&matmul->ork->info, desc, plan);
	struct ork_matmul_desc part;

	matmul->desc = part = plan->desc;
	if (ret == -E2BIG && ork_plan_rows(plan)) {
		part.m = ork_plan_rows(plan);
		ret = ork_matmul_plan(&matmul->ork->info, &part, plan);
	}
	matmul->part_rows = part.m;
	matmul->m_tile = plan->m_tile;
	matmul->a_row = plan->a_row;
	matmul->c_row = plan->c_row;
	return ret;
}

int ork_matmul_create(struct ork *ork, const struct ork_matmul_desc *desc, struct ork_matmul **out)
{
	struct ork_matmul *matmul;
	uint64_t begin;
	int ret;

	*out = NULL;
	matmul = calloc(1, sizeof(*matmul));
	if (!matmul)
		return ork_fail(ork, -ENOMEM, "no memory for a product");
	matmul->ork = ork;
	matmul->type = ork_type_info(desc->type);
	begin = ork_profile_begin(ork);
	ret = make_plan(matmul, desc);
	ork_profile_end(ork, ORK_PHASE_PLAN, begin, 0);
	if (ret)
		ork_fail(ork, ret, "product: %s", matmul->plan.reason);
	else
		ret = allocate(matmul);
	if (ret)
		ork_matmul_destroy(matmul);
	else
		*out = matmul;
	return ret;
}

const struct ork_matmul_plan *ork_matmul_get_plan(const struct ork_matmul *matmul)
{
	return &matmul->plan;
}

/* --- chains ----------------------------------------------------------------------------------- */

static int emit(struct ork_matmul *matmul, const struct ork_operands *operands)
{
	uint64_t begin = ork_profile_begin(matmul->ork), bytes = 0;
	uint32_t core;
	int ret;

	matmul->emitted.a = 0;
	for (core = 0; core < matmul->plan.cores; core++) {
		ret = ork_chain_init(&matmul->chain[core], matmul->chains, chain_offset(matmul, core),
				     matmul->plan.chain_bytes[core]);
		if (!ret)
			ret = ork_emit_matmul(&matmul->chain[core], &matmul->plan, core, operands);
		if (!ret)
			ret = ork_chain_task(&matmul->chain[core], &matmul->tasks[core]);
		if (ret)
			return ork_fail(matmul->ork, ret, "chain of core %u: %s", core, strerror(-ret));
		bytes += matmul->chain[core].bytes;
	}
	matmul->emitted = *operands;
	matmul->chains_dirty = true;
	ork_profile_end(matmul->ork, ORK_PHASE_EMIT, begin, bytes);
	return 0;
}

static int emit_if_moved(struct ork_matmul *matmul)
{
	const struct ork_place *a = &matmul->a, *c = &matmul->c;
	struct ork_operands operands = {
		.a = a->bo->iova + (uint32_t)a->offset,
		.b = matmul->call.b->bo->iova,
		.c = c->bo->iova + (uint32_t)c->offset,
		.a_stride = (uint32_t)a->stride,
		.c_stride = (uint32_t)c->stride,
	};

	return memcmp(&operands, &matmul->emitted, sizeof(operands)) ? emit(matmul, &operands) : 0;
}

/* --- when jobs ran ---------------------------------------------------------------------------- */

/* The product's fence tells of all its jobs together: for a trace each has its own. */
static int give_fences_to_jobs(struct ork_matmul *matmul)
{
	uint32_t core;
	int ret = 0;

	for (core = 0; core < matmul->plan.cores && !ret; core++) {
		if (!matmul->job_syncobjs[core])
			ret = ork_syncobj_create(matmul->ork, &matmul->job_syncobjs[core]);
		matmul->jobs[core].out_syncobj = matmul->job_syncobjs[core];
	}
	return ret;
}

/* The trace may have been started, or stopped, while the product was in flight. */
void ork_product_trace(struct ork_matmul *matmul)
{
	uint32_t core;

	for (core = 0; core < matmul->plan.cores && matmul->ork->trace; core++)
		if (matmul->jobs[core].out_syncobj)
			ork_trace_job(matmul->ork, &matmul->plan.desc, matmul->jobs[core].out_syncobj);
}

/* --- run -------------------------------------------------------------------------------------- */

int ork_product_submit(struct ork *ork, const struct drm_ork_job *jobs, uint32_t count, uint32_t syncobj)
{
	struct drm_ork_sync done = { .handle = syncobj };
	struct drm_ork_submit submit = {
		.jobs = { (uintptr_t)jobs, count, sizeof(jobs[0]) },
		.out_syncs = { (uintptr_t)&done, 1, sizeof(done) },
	};
	uint64_t begin;
	int ret;

	ork_profile_before_submit(ork);
	begin = ork_profile_begin(ork);
	ret = ork_submit(ork, &submit);
	if (ret)
		return ret;
	ork_profile_end(ork, ORK_PHASE_SUBMIT, begin, 0);
	ork_profile_after_submit(ork);
	return 0;
}

int ork_product_wait(struct ork *ork, uint32_t syncobj, int64_t timeout_ns)
{
	uint64_t begin = ork_profile_begin(ork), busy_ns = 0;
	int ret = ork_wait(ork, syncobj, 0, timeout_ns, &busy_ns);

	ork_profile_end(ork, ORK_PHASE_WAIT, begin, 0);
	ork_profile_after_wait(ork, ret != -ETIME, busy_ns);
	return ret;
}

/* The chains of a part of other rows are others. */
static int plan_part(struct ork_matmul *matmul, uint32_t rows)
{
	struct ork_matmul_desc desc = matmul->desc;
	int ret;

	if (matmul->plan.desc.m == rows)
		return 0;
	desc.m = rows;
	matmul->emitted.a = 0;
	ret = ork_matmul_plan(&matmul->ork->info, &desc, &matmul->plan);
	return ret ? ork_fail(matmul->ork, ret, "part of a product: %s", matmul->plan.reason) : 0;
}

int ork_product_prepare(struct ork_matmul *matmul)
{
	uint32_t left = matmul->desc.m - matmul->row;
	int ret = plan_part(matmul, left < matmul->rows ? left : matmul->rows);

	if (!ret)
		ret = ork_product_place(matmul);
	if (!ret)
		ret = emit_if_moved(matmul);
	if (ret)
		return ret;
	ork_product_name(matmul);
	return matmul->ork->trace ? give_fences_to_jobs(matmul) : 0;
}

void ork_product_submitted(struct ork_matmul *matmul)
{
	if (matmul->ork->profiling)
		ork_product_count_bytes(matmul);
	matmul->chains_dirty = false;
	matmul->call.b->dirty = false;
}

static int start_part(struct ork_matmul *matmul)
{
	int ret = ork_product_prepare(matmul);

	if (!ret)
		ret = ork_product_submit(matmul->ork, matmul->jobs, matmul->plan.cores, matmul->syncobj);
	if (ret)
		return ret;
	ork_product_submitted(matmul);
	matmul->in_flight = true;
	return 0;
}

int ork_product_call(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		     const struct ork_matrix *c)
{
	if (matmul->in_flight)
		return ork_fail(matmul->ork, -EBUSY, "the product is in flight already; wait for it first");
	if (matmul->batch)
		return ork_fail(matmul->ork, -EBUSY, "the product is in a batch already; clear that first");
	matmul->call.a = *a;
	matmul->call.b = b;
	matmul->call.c = *c;
	matmul->row = 0;
	return ork_product_check(matmul);
}

int ork_matmul_start(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		     const struct ork_matrix *c)
{
	int ret = ork_product_call(matmul, a, b, c);

	if (!ret)
		ret = start_part(matmul);
	if (!ret)
		ork_profile_count_product(matmul->ork);
	return ret;
}

static int wait_for_part(struct ork_matmul *matmul, int64_t timeout_ns)
{
	int ret = ork_product_wait(matmul->ork, matmul->syncobj, timeout_ns);

	matmul->in_flight = ret == -ETIME;
	if (!matmul->in_flight)
		ork_product_trace(matmul);
	if (ret)
		return ret;
	if (matmul->c.data)
		ork_product_copy_back(matmul);
	matmul->row += matmul->plan.desc.m;
	return 0;
}

/* Of a time that began at @begin. */
static int64_t time_left(int64_t timeout_ns, uint64_t begin)
{
	int64_t passed = (int64_t)(ork_now() - begin);

	if (timeout_ns == INT64_MAX)
		return timeout_ns;
	return timeout_ns > passed ? timeout_ns - passed : 0;
}

int ork_matmul_wait(struct ork_matmul *matmul, int64_t timeout_ns)
{
	uint64_t begin = ork_now();
	int ret;

	if (!matmul->in_flight)
		return ork_fail(matmul->ork, -EINVAL, "nothing was started");
	ret = wait_for_part(matmul, timeout_ns);
	while (!ret && matmul->row < matmul->desc.m) {
		ret = start_part(matmul);
		if (!ret)
			ret = wait_for_part(matmul, time_left(timeout_ns, begin));
	}
	return ret;
}

void ork_matmul_destroy(struct ork_matmul *matmul)
{
	uint32_t i;

	if (!matmul)
		return;
	if (matmul->in_flight)
		wait_for_part(matmul, INT64_MAX);
	if (matmul->syncobj)
		ork_syncobj_destroy(matmul->ork, matmul->syncobj);
	for (i = 0; i < ORK_MAX_CORES && matmul->job_syncobjs[i]; i++)
		ork_syncobj_destroy(matmul->ork, matmul->job_syncobjs[i]);
	ork_bo_destroy(matmul->a_staging);
	ork_bo_destroy(matmul->c_staging);
	ork_bo_destroy(matmul->chains);
	free(matmul);
}

int ork_matmul_export(struct ork_matmul *matmul, int *fd)
{
	*fd = -1;
	if (!matmul->in_flight)
		return ork_fail(matmul->ork, -EINVAL, "nothing was started");
	return ork_syncobj_export(matmul->ork, matmul->syncobj, fd);
}

int ork_matmul_run(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		   const struct ork_matrix *c)
{
	int ret = ork_matmul_start(matmul, a, b, c);

	return ret ? ret : ork_matmul_wait(matmul, INT64_MAX);
}

// SPDX-License-Identifier: MIT
/*
 * Products: where the matrices lie, which bytes of them are in flight, one submit for all cores.
 * What the plan says of tiles is turned into programs by emit.c; here it becomes extents.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ork_private.h"

/*
 * Extents of a job: chain, B, C; of A its own bytes, and two ranges at most of what is fetched with
 * them.
 */
#define MAX_EXTENTS	6

/* A matrix where the NPU finds it. */
struct place {
	struct ork_bo *bo;
	uint64_t offset;
	uint64_t row, stride;		/* bytes */
	bool clean;			/* the CPU has not written it */
};

struct ork_matmul {
	struct ork *ork;
	const struct ork_type_info *type;
	struct ork_matmul_plan plan;
	struct ork_bo *chains;		/* of all cores */
	struct ork_chain chain[ORK_MAX_CORES];
	struct ork_operands emitted;	/* what the chains were made for; a = 0: nothing yet */
	bool chains_dirty;		/* emitted since the last submit */
	struct ork_bo *a_staging, *c_staging;	/* NULL until first needed */
	uint32_t syncobj;

	/* The product in flight. */
	bool in_flight;
	void *c_data;			/* where C is copied to; NULL: it is in place */
	struct drm_ork_task tasks[ORK_MAX_CORES];
	struct drm_ork_job jobs[ORK_MAX_CORES];
	struct drm_ork_extent extents[ORK_MAX_CORES][MAX_EXTENTS];
};

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

static int allocate(struct ork_matmul *matmul)
{
	uint64_t size = chain_offset(matmul, matmul->plan.cores);
	int ret = ork_bo_create(matmul->ork, size, 0, &matmul->chains);

	return ret ? ret : ork_syncobj_create(matmul->ork, &matmul->syncobj);
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
	ret = ork_matmul_plan(&ork->info, desc, &matmul->plan);
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

void ork_matmul_destroy(struct ork_matmul *matmul)
{
	if (!matmul)
		return;
	if (matmul->in_flight)
		ork_matmul_wait(matmul, INT64_MAX);
	if (matmul->syncobj)
		ork_syncobj_destroy(matmul->ork, matmul->syncobj);
	ork_bo_destroy(matmul->a_staging);
	ork_bo_destroy(matmul->c_staging);
	ork_bo_destroy(matmul->chains);
	free(matmul);
}

const struct ork_matmul_plan *ork_matmul_get_plan(const struct ork_matmul *matmul)
{
	return &matmul->plan;
}

/* --- operands --------------------------------------------------------------------------------- */

/* Bytes from the first of a matrix to behind its last. */
static uint64_t span(const struct ork_matmul *matmul, const struct place *place)
{
	return (matmul->plan.desc.m - 1) * place->stride + place->row;
}

static int check_flags(struct ork *ork, char which, const struct ork_matrix *matrix)
{
	if (matrix->flags & ~ORK_CPU_CLEAN)
		return ork_fail(ork, -EOPNOTSUPP, "flags of %c = 0x%x; only 0x%x is known", which, matrix->flags,
				ORK_CPU_CLEAN);
	if (!matrix->bo && !matrix->data)
		return ork_fail(ork, -EINVAL, "%c has neither an object nor data", which);
	if (!matrix->bo && matrix->flags)
		return ork_fail(ork, -EINVAL, "flags of %c = 0x%x; must be 0 without an object", which, matrix->flags);
	if (matrix->bo && matrix->bo->ork != ork)
		return ork_fail(ork, -EINVAL, "the object of %c belongs to another device", which);
	return 0;
}

static int check_aligned(struct ork *ork, char which, const char *what, uint64_t value, uint32_t align)
{
	if (value % align == 0)
		return 0;
	return ork_fail(ork, -EINVAL, "%s of %c = %llu bytes; must be a multiple of %u in place", what, which,
			(unsigned long long)value, align);
}

static int check_in_place(struct ork_matmul *matmul, char which, const struct place *place)
{
	uint64_t size = place->bo->size, bytes = span(matmul, place);

	if (place->offset <= size && bytes <= size - place->offset)
		return 0;
	return ork_fail(matmul->ork, -EINVAL, "%c: %llu bytes at %llu in an object of %llu", which,
			(unsigned long long)bytes, (unsigned long long)place->offset, (unsigned long long)size);
}

static int check_a(struct ork_matmul *matmul, const struct ork_matrix *a, struct place *place)
{
	int ret = check_flags(matmul->ork, 'A', a);

	*place = (struct place) { .row = (uint64_t)matmul->plan.desc.k * matmul->type->in_bytes };
	place->stride = place->row;
	if (ret || !a->bo)
		return ret;
	place->bo = a->bo;
	place->offset = a->offset;
	place->stride = (uint64_t)matmul->plan.desc.lda * matmul->type->in_bytes;
	place->clean = a->flags & ORK_CPU_CLEAN;
	ret = check_aligned(matmul->ork, 'A', "offset", place->offset, ORK_ATOM_BYTES);
	return ret ? ret : check_in_place(matmul, 'A', place);
}

static int check_b(struct ork_matmul *matmul, const struct ork_weights *b)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;

	if (b->ork != matmul->ork)
		return ork_fail(matmul->ork, -EINVAL, "B belongs to another device");
	if (b->k != desc->k || b->n != desc->n)
		return ork_fail(matmul->ork, -EINVAL, "B is %u x %u; must be %u x %u", b->k, b->n, desc->k, desc->n);
	if (b->type->in_precision != matmul->type->in_precision)
		return ork_fail(matmul->ork, -EINVAL, "B has elements of precision %u; must be %u",
				b->type->in_precision, matmul->type->in_precision);
	return 0;
}

/*
 * Cores write, and the driver maintains, whole lines of C: half a line would be lost to whoever has
 * the other half.
 */
static int check_c(struct ork_matmul *matmul, const struct ork_matrix *c, struct place *place)
{
	uint32_t line = matmul->ork->info.cache_line;
	int ret = check_flags(matmul->ork, 'C', c);

	*place = (struct place) { .row = (uint64_t)matmul->plan.desc.n * matmul->type->out_bytes };
	if (ret || !c->bo) {
		place->row = ork_round_up(place->row, line);
		place->stride = place->row;
		place->clean = true;
		return ret;
	}
	place->bo = c->bo;
	place->offset = c->offset;
	place->stride = (uint64_t)matmul->plan.desc.ldc * matmul->type->out_bytes;
	place->clean = c->flags & ORK_CPU_CLEAN;
	ret = check_aligned(matmul->ork, 'C', "offset", place->offset, line);
	if (!ret)
		ret = check_aligned(matmul->ork, 'C', "row", place->row, line);
	if (!ret)
		ret = check_aligned(matmul->ork, 'C', "row stride", place->stride, line);
	return ret ? ret : check_in_place(matmul, 'C', place);
}

static int place_in_staging(struct ork_matmul *matmul, struct ork_bo **staging, struct place *place)
{
	int ret = 0;

	if (!*staging)
		ret = ork_bo_create(matmul->ork, span(matmul, place), 0, staging);
	place->bo = *staging;
	return ret;
}

static void copy_rows(void *to, uint64_t to_stride, const void *from, uint64_t from_stride, uint64_t row, uint32_t rows)
{
	uint32_t i;

	if (to_stride == row && from_stride == row) {
		memcpy(to, from, row * rows);
		return;
	}
	for (i = 0; i < rows; i++)
		memcpy((char *)to + i * to_stride, (const char *)from + i * from_stride, row);
}

static void gather(struct ork_matmul *matmul, const void *data, const struct place *a)
{
	uint64_t begin = ork_profile_begin(matmul->ork);

	copy_rows(a->bo->data, a->stride, data, (uint64_t)matmul->plan.desc.lda * matmul->type->in_bytes, a->row,
		  matmul->plan.desc.m);
	ork_profile_end(matmul->ork, ORK_PHASE_GATHER, begin, matmul->plan.a_bytes);
}

static void copy_back(struct ork_matmul *matmul)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint64_t row = (uint64_t)plan->desc.n * matmul->type->out_bytes;
	uint64_t begin = ork_profile_begin(matmul->ork);

	copy_rows(matmul->c_data, (uint64_t)plan->desc.ldc * matmul->type->out_bytes, matmul->c_staging->data,
		  ork_round_up(row, matmul->ork->info.cache_line), row, plan->desc.m);
	ork_profile_end(matmul->ork, ORK_PHASE_COPY_BACK, begin, plan->c_bytes);
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

static int emit_if_moved(struct ork_matmul *matmul, const struct place *a, const struct ork_weights *b,
			 const struct place *c)
{
	struct ork_operands operands = {
		.a = a->bo->iova + (uint32_t)a->offset,
		.b = b->bo->iova,
		.c = c->bo->iova + (uint32_t)c->offset,
		.a_stride = (uint32_t)a->stride,
		.c_stride = (uint32_t)c->stride,
	};

	return memcmp(&operands, &matmul->emitted, sizeof(operands)) ? emit(matmul, &operands) : 0;
}

/* --- extents ---------------------------------------------------------------------------------- */

static void name(struct ork_matmul *matmul, uint32_t core, const struct ork_bo *bo, uint32_t flags,
		 const struct ork_range *range)
{
	struct drm_ork_job *job = &matmul->jobs[core];

	matmul->extents[core][job->extents.count++] = (struct drm_ork_extent) {
		.handle = bo->handle, .flags = flags, .offset = range->offset, .length = range->length,
		.stride = range->stride, .rows = range->rows,
	};
}

static void name_all(struct ork_matmul *matmul, uint32_t core, const struct ork_bo *bo, uint32_t flags)
{
	name(matmul, core, bo, flags, &(struct ork_range) { .length = bo->size });
}

/* As other stacks do: every core names the whole of whatever it touches. */
static void name_whole(struct ork_matmul *matmul, uint32_t core, const struct place *a, const struct ork_weights *b,
		       const struct place *c)
{
	name_all(matmul, core, matmul->chains, DRM_ORK_EXTENT_READ);
	name_all(matmul, core, a->bo, DRM_ORK_EXTENT_READ);
	name_all(matmul, core, b->bo, DRM_ORK_EXTENT_READ);
	name_all(matmul, core, c->bo, DRM_ORK_EXTENT_WRITE);
}

/*
 * Of what is fetched with a clean A, the bytes that are not A's: those between its rows, and those
 * behind its last.
 */
static uint32_t beside_a(const struct ork_matmul *matmul, const struct place *a, uint64_t window_end,
			 struct ork_range range[2])
{
	uint32_t m = matmul->plan.desc.m, count = 0;
	uint64_t end = a->offset + span(matmul, a);

	if (a->stride > a->row && m > 1)
		range[count++] = (struct ork_range) { a->offset + a->row, a->stride - a->row, a->stride, m - 1 };
	if (window_end > end)
		range[count++] = (struct ork_range) { end, window_end - end, 0, 1 };
	return count;
}

/*
 * What must be cleaned for A to be read: itself unless it is clean, and what is fetched with it in
 * any case.
 */
static uint32_t ranges_to_clean(const struct ork_matmul *matmul, const struct place *a, struct ork_range range[2])
{
	uint32_t count = ork_plan_window(&matmul->plan, a->offset, a->stride, a->bo->size, range);
	uint64_t window_end = range[count - 1].offset + range[count - 1].length;

	return a->clean ? beside_a(matmul, a, window_end, range) : count;
}

/* All cores read the same A: the first names it for all of them. */
static void name_a(struct ork_matmul *matmul, uint32_t core, const struct place *a)
{
	struct ork_range own = { a->offset, span(matmul, a), 0, 1 };
	struct ork_range range[2];
	uint32_t count, i;

	if (core > 0 || a->clean)
		name(matmul, core, a->bo, DRM_ORK_EXTENT_NO_SYNC, &own);
	if (core > 0)
		return;
	count = ranges_to_clean(matmul, a, range);
	for (i = 0; i < count; i++)
		name(matmul, core, a->bo, DRM_ORK_EXTENT_READ, &range[i]);
}

/* The columns of @core, which are contiguous when packed. */
static void name_b(struct ork_matmul *matmul, uint32_t core, const struct ork_weights *b)
{
	uint64_t column = (uint64_t)b->k * b->type->in_bytes;
	uint64_t first = matmul->plan.n_begin[core], columns = matmul->plan.n_end[core] - first;
	struct ork_range range = { first * column, columns * column, 0, 1 };

	name(matmul, core, b->bo, b->dirty ? DRM_ORK_EXTENT_READ : DRM_ORK_EXTENT_NO_SYNC, &range);
}

/* The columns of @core, row by row; the last core's with what fills a staged row's last line. */
static void name_c(struct ork_matmul *matmul, uint32_t core, const struct place *c)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint32_t flags = DRM_ORK_EXTENT_WRITE | (c->clean ? DRM_ORK_EXTENT_CPU_CLEAN : 0);
	uint64_t first = (uint64_t)plan->n_begin[core] * matmul->type->out_bytes;
	uint64_t end = core + 1 < plan->cores ? (uint64_t)plan->n_end[core] * matmul->type->out_bytes : c->row;
	struct ork_range range = { c->offset + first, end - first, c->stride, plan->desc.m };

	if (range.length == range.stride)
		range = (struct ork_range) { range.offset, range.length * range.rows, 0, 1 };
	name(matmul, core, c->bo, flags, &range);
}

static void name_live(struct ork_matmul *matmul, uint32_t core, const struct place *a, const struct ork_weights *b,
		      const struct place *c)
{
	struct ork_range chain = { matmul->chain[core].offset, matmul->chain[core].bytes, 0, 1 };

	name(matmul, core, matmul->chains, matmul->chains_dirty ? DRM_ORK_EXTENT_READ : DRM_ORK_EXTENT_NO_SYNC, &chain);
	name_a(matmul, core, a);
	name_b(matmul, core, b);
	name_c(matmul, core, c);
}

static void build_jobs(struct ork_matmul *matmul, const struct place *a, const struct ork_weights *b,
		       const struct place *c)
{
	uint32_t core;

	for (core = 0; core < matmul->plan.cores; core++) {
		matmul->jobs[core] = (struct drm_ork_job) {
			.tasks = { (uintptr_t)&matmul->tasks[core], 1, sizeof(matmul->tasks[0]) },
			.extents = { (uintptr_t)matmul->extents[core], 0, sizeof(matmul->extents[0][0]) },
		};
		if (matmul->plan.desc.sync == ORK_SYNC_WHOLE)
			name_whole(matmul, core, a, b, c);
		else
			name_live(matmul, core, a, b, c);
	}
}

/* --- what was written ------------------------------------------------------------------------- */

/*
 * Bytes of the cache lines that a range touches, without those before @done, which moves to its
 * end.
 */
static uint64_t line_bytes(const struct ork_range *range, uint32_t line, uint64_t *done)
{
	uint64_t bytes = 0, begin, end;
	uint32_t i;

	for (i = 0; i < range->rows; i++) {
		begin = (range->offset + i * range->stride) / line * line;
		end = ork_round_up(range->offset + i * range->stride + range->length, line);
		if (begin < *done)
			begin = *done;
		bytes += end - begin;
		*done = end;
	}
	return bytes;
}

/* Bytes cleaned for A beyond the lines of what the CPU wrote of it. */
static uint64_t window_bytes(const struct ork_matmul *matmul, const struct place *a)
{
	uint32_t line = matmul->ork->info.cache_line;
	struct ork_range own = { a->offset, a->row, a->stride, matmul->plan.desc.m };
	struct ork_range range[2];
	uint32_t count = ranges_to_clean(matmul, a, range), i;
	uint64_t bytes = 0, done = 0, own_done = 0;

	for (i = 0; i < count; i++)
		bytes += line_bytes(&range[i], line, &done);
	return a->clean ? bytes : bytes - line_bytes(&own, line, &own_done);
}

static void count_bytes(struct ork_matmul *matmul, const struct place *a, const struct ork_weights *b)
{
	struct ork_profile *profile = &matmul->ork->profile;
	uint32_t core;

	if (!a->clean)
		profile->bytes_written_cpu += matmul->plan.a_bytes;
	if (b->dirty)
		profile->bytes_written_cpu += b->bytes;
	for (core = 0; matmul->chains_dirty && core < matmul->plan.cores; core++)
		profile->bytes_written_cpu += matmul->chain[core].bytes;
	profile->bytes_written_npu += matmul->plan.c_bytes;
	if (matmul->plan.desc.sync == ORK_SYNC_LIVE)
		profile->bytes_window += window_bytes(matmul, a);
}

/* --- run -------------------------------------------------------------------------------------- */

static int submit(struct ork_matmul *matmul)
{
	struct drm_ork_sync done = { .handle = matmul->syncobj };
	struct drm_ork_submit submit = {
		.jobs = { (uintptr_t)matmul->jobs, matmul->plan.cores, sizeof(matmul->jobs[0]) },
		.out_syncs = { (uintptr_t)&done, 1, sizeof(done) },
	};
	uint64_t begin;
	int ret;

	ork_profile_before_submit(matmul->ork);
	begin = ork_profile_begin(matmul->ork);
	ret = ork_submit(matmul->ork, &submit);
	if (ret)
		return ret;
	ork_profile_end(matmul->ork, ORK_PHASE_SUBMIT, begin, 0);
	ork_profile_after_submit(matmul->ork);
	return 0;
}

/* Everything is checked before the first byte is copied. */
static int place_operands(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
			  const struct ork_matrix *c, struct place *a_place, struct place *c_place)
{
	int ret = check_a(matmul, a, a_place);

	if (!ret)
		ret = check_b(matmul, b);
	if (!ret)
		ret = check_c(matmul, c, c_place);
	if (!ret && !a->bo)
		ret = place_in_staging(matmul, &matmul->a_staging, a_place);
	if (!ret && !c->bo)
		ret = place_in_staging(matmul, &matmul->c_staging, c_place);
	if (!ret && !a->bo)
		gather(matmul, a->data, a_place);
	return ret;
}

int ork_matmul_start(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		     const struct ork_matrix *c)
{
	struct place a_place, c_place;
	int ret;

	if (matmul->in_flight)
		return ork_fail(matmul->ork, -EBUSY, "the product is in flight already; wait for it first");
	ret = place_operands(matmul, a, b, c, &a_place, &c_place);
	if (!ret)
		ret = emit_if_moved(matmul, &a_place, b, &c_place);
	if (ret)
		return ret;
	build_jobs(matmul, &a_place, b, &c_place);
	ret = submit(matmul);
	if (ret)
		return ret;
	if (matmul->ork->profiling)
		count_bytes(matmul, &a_place, b);
	matmul->chains_dirty = false;
	b->dirty = false;
	matmul->c_data = c->bo ? NULL : c->data;
	matmul->in_flight = true;
	return 0;
}

int ork_matmul_wait(struct ork_matmul *matmul, int64_t timeout_ns)
{
	uint64_t begin, busy_ns = 0;
	int ret;

	if (!matmul->in_flight)
		return ork_fail(matmul->ork, -EINVAL, "nothing was started");
	begin = ork_profile_begin(matmul->ork);
	ret = ork_wait(matmul->ork, matmul->syncobj, 0, timeout_ns, &busy_ns);
	ork_profile_end(matmul->ork, ORK_PHASE_WAIT, begin, 0);
	matmul->in_flight = ret == -ETIME;
	ork_profile_after_wait(matmul->ork, !matmul->in_flight, busy_ns);
	if (!ret && matmul->c_data)
		copy_back(matmul);
	return ret;
}

int ork_matmul_run(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		   const struct ork_matrix *c)
{
	int ret = ork_matmul_start(matmul, a, b, c);

	return ret ? ret : ork_matmul_wait(matmul, INT64_MAX);
}

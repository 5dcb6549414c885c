// SPDX-License-Identifier: MIT
/*
 * Products: where the matrices lie, which bytes of them are in flight, one submit for all cores.
 * What the plan says of tiles is turned into programs by emit.c; here it becomes extents.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "moves.h"
#include "ork_private.h"

/*
 * Extents of a job: chain, C; B's whole slices and its last one; of A its own bytes, and two ranges at
 * most of what is fetched with them.
 */
#define MAX_EXTENTS	7

/* Columns that are added up at a time. */
#define SUM_COLUMNS	256

/* A matrix where the NPU finds it. */
struct place {
	struct ork_bo *bo;
	uint64_t offset;
	uint64_t row, stride;		/* bytes */
	uint32_t rows;
	bool clean;			/* the CPU has not written it */
	void *data;			/* what is copied to or from it; NULL: it is the caller's, in place */
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
	struct place c;
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
static uint64_t span(const struct place *place)
{
	return (place->rows - 1) * place->stride + place->row;
}

static int check_matrix(struct ork *ork, char which, const struct ork_matrix *matrix)
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

/* @own: the matrix as the caller has it, in his object. */
static int check_in_object(struct ork *ork, char which, const struct place *own, uint32_t element)
{
	uint64_t size = own->bo->size, bytes = span(own);

	if (own->offset % element)
		return ork_fail(ork, -EINVAL, "offset of %c = %llu bytes; must be a multiple of %u", which,
				(unsigned long long)own->offset, element);
	if (own->offset <= size && bytes <= size - own->offset)
		return 0;
	return ork_fail(ork, -EINVAL, "%c: %llu bytes at %llu in an object of %llu", which,
			(unsigned long long)bytes, (unsigned long long)own->offset, (unsigned long long)size);
}

/*
 * Where the NPU finds a matrix. @own: as the caller has it, save for the object; @staged: as the library
 * would have it; @direct: the programs can reach the former if it is aligned to @align bytes.
 */
static int find_place(struct ork_matmul *matmul, char which, const struct ork_matrix *matrix, struct place own,
		      const struct place *staged, bool direct, uint32_t align, struct place *place)
{
	uint32_t element = which == 'A' ? matmul->type->in_bytes : matmul->type->out_bytes;
	int ret = check_matrix(matmul->ork, which, matrix);

	own.bo = matrix->bo;
	own.offset = matrix->offset;
	own.clean = matrix->flags & ORK_CPU_CLEAN;
	if (!ret && own.bo)
		ret = check_in_object(matmul->ork, which, &own, element);
	if (ret)
		return ret;
	*place = *staged;
	if (!own.bo)
		place->data = matrix->data;
	else if (direct && own.offset % align == 0)
		*place = own;
	else
		place->data = (char *)own.bo->data + own.offset;
	return 0;
}

static int find_a(struct ork_matmul *matmul, const struct ork_matrix *a, struct place *place)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint64_t bytes = matmul->type->in_bytes, row = plan->k_padded * bytes;
	struct place own = { .row = plan->desc.k * bytes, .stride = plan->desc.lda * bytes, .rows = plan->desc.m };
	struct place staged = { .row = row, .stride = row, .rows = plan->desc.m };

	if (plan->desc.a_transposed) {
		own.row = plan->desc.m * bytes;
		own.rows = plan->desc.k;
	}
	return find_place(matmul, 'A', a, own, &staged, plan->a_direct, ORK_ATOM_BYTES, place);
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
 * the other half. What is staged the CPU reads only: it has no dirty line.
 */
static int find_c(struct ork_matmul *matmul, const struct ork_matrix *c, struct place *place)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint32_t line = matmul->ork->info.cache_line;
	uint64_t bytes = matmul->type->out_bytes;
	uint64_t row = ork_round_up((uint64_t)plan->n_padded * ork_plan_type(plan)->out_bytes, line);
	struct place own = { .row = plan->desc.n * bytes, .stride = plan->desc.ldc * bytes, .rows = plan->desc.m };
	struct place staged = { .row = row, .stride = row, .rows = plan->desc.m * plan->k_slices, .clean = true };

	return find_place(matmul, 'C', c, own, &staged, plan->c_direct, line, place);
}

static int place_in_staging(struct ork_matmul *matmul, struct ork_bo **staging, struct place *place)
{
	int ret = 0;

	if (!*staging)
		ret = ork_bo_create(matmul->ork, span(place), 0, staging);
	place->bo = *staging;
	return ret;
}

/* What fills the rows of a transposed A up is zero since the staging was made, and nobody writes it. */
static void gather(struct ork_matmul *matmul, const struct place *a)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint64_t begin = ork_profile_begin(matmul->ork), bytes = matmul->type->in_bytes;

	if (desc->a_transposed)
		ork_transpose(a->bo->data, a->stride / bytes, a->data, desc->lda, desc->k, desc->m, (uint32_t)bytes);
	else
		ork_gather_rows(a->bo->data, a->stride, a->data, desc->lda * bytes, desc->k * bytes, desc->m);
	ork_profile_end(matmul->ork, ORK_PHASE_GATHER, begin, matmul->plan.a_bytes);
}

/* --- slices of K ------------------------------------------------------------------------------ */

static void add_up_floats(float *sum, const char *from, uint64_t slice, uint32_t slices, uint32_t count)
{
	uint32_t i;

	memcpy(sum, from, count * sizeof(*sum));
	for (i = 1; i < slices; i++)
		ork_add_fp32(sum, (const float *)(from + i * slice), count);
}

static void add_up_ints(int32_t *sum, const char *from, uint64_t slice, uint32_t slices, uint32_t count)
{
	uint32_t i;

	memcpy(sum, from, count * sizeof(*sum));
	for (i = 1; i < slices; i++)
		ork_add_int32(sum, (const int32_t *)(from + i * slice), count);
}

/* To nearest, ties to even. */
static int64_t divide(int64_t value, uint32_t shift)
{
	int64_t half = shift ? INT64_C(1) << (shift - 1) : 0;
	int64_t kept = value >> shift, rest = value - (int64_t)((uint64_t)kept << shift);

	return kept + (rest > half || (shift && rest == half && kept % 2));
}

static int32_t requantise(const struct ork_matmul_desc *desc, int32_t sum, int32_t limit)
{
	int64_t value = divide((int64_t)sum * desc->multiplier, desc->shift) + desc->offset;

	return (int32_t)(value < -limit - 1 ? -limit - 1 : value > limit ? limit : value);
}

static void requantise_to_bytes(const struct ork_matmul_desc *desc, int8_t *to, const int32_t *from, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (int8_t)requantise(desc, from[i], INT8_MAX);
}

static void requantise_to_shorts(const struct ork_matmul_desc *desc, int16_t *to, const int32_t *from, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		to[i] = (int16_t)requantise(desc, from[i], INT16_MAX);
}

/* Up to SUM_COLUMNS of a row of C. */
static void add_up(const struct ork_matmul *matmul, void *to, const char *from, uint32_t count)
{
	uint64_t slice = matmul->c.stride * matmul->plan.desc.m;
	uint32_t slices = matmul->plan.k_slices;
	union {
		float floats[SUM_COLUMNS];
		int32_t ints[SUM_COLUMNS];
	} sum;

	if (matmul->type->in_precision == ORK_PRECISION_INT8)
		add_up_ints(sum.ints, from, slice, slices, count);
	else
		add_up_floats(sum.floats, from, slice, slices, count);
	switch (matmul->type->out_precision) {
	case ORK_PRECISION_FP16: ork_fp32_to_fp16(to, sum.floats, count); break;
	case ORK_PRECISION_INT16: requantise_to_shorts(&matmul->plan.desc, to, sum.ints, count); break;
	case ORK_PRECISION_INT8: requantise_to_bytes(&matmul->plan.desc, to, sum.ints, count); break;
	default: memcpy(to, &sum, count * sizeof(uint32_t)); break;
	}
}

static void add_up_rows(const struct ork_matmul *matmul, uint64_t stride)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint32_t bytes = matmul->type->out_bytes, m, n;

	for (m = 0; m < desc->m; m++) {
		const char *from = (const char *)matmul->c.bo->data + m * matmul->c.stride;
		char *to = (char *)matmul->c.data + m * stride;

		for (n = 0; n < desc->n; n += SUM_COLUMNS)
			add_up(matmul, to + (uint64_t)n * bytes, from + n * sizeof(uint32_t),
			       desc->n - n < SUM_COLUMNS ? desc->n - n : SUM_COLUMNS);
	}
}

static void copy_back(struct ork_matmul *matmul)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint64_t begin = ork_profile_begin(matmul->ork), bytes = matmul->type->out_bytes;

	if (matmul->plan.k_slices > 1)
		add_up_rows(matmul, desc->ldc * bytes);
	else
		ork_copy_rows(matmul->c.data, desc->ldc * bytes, matmul->c.bo->data, matmul->c.stride, desc->n * bytes,
			  desc->m);
	ork_profile_end(matmul->ork, ORK_PHASE_COPY_BACK, begin, matmul->plan.c_bytes);
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
	uint64_t end = a->offset + span(a);

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
	struct ork_range own = { a->offset, span(a), 0, 1 };
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

/* The columns of @core, which are contiguous in each slice; only the last slice may have another size. */
static void name_b(struct ork_matmul *matmul, uint32_t core, const struct ork_weights *b)
{
	const struct ork_weights_layout *layout = &b->layout;
	uint32_t bytes = b->type->in_bytes, flags = b->dirty ? DRM_ORK_EXTENT_READ : DRM_ORK_EXTENT_NO_SYNC;
	uint64_t first = matmul->plan.n_begin[core], columns = matmul->plan.n_end[core] - first;
	uint64_t slice = (uint64_t)layout->slice * layout->n * bytes, part = (uint64_t)layout->slice * bytes;
	uint64_t last = (uint64_t)ork_slice_channels(layout->k, layout->slice, layout->slices - 1) * bytes;
	struct ork_range range = { first * part, columns * part, slice, layout->slices - 1 };

	if (range.rows)
		name(matmul, core, b->bo, flags, &range);
	range = (struct ork_range) { (layout->slices - 1) * slice + first * last, columns * last, 0, 1 };
	name(matmul, core, b->bo, flags, &range);
}

/* The columns of @core, row by row; the last core's with what fills a staged row's last line. */
static void name_c(struct ork_matmul *matmul, uint32_t core, const struct place *c)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint32_t flags = DRM_ORK_EXTENT_WRITE | (c->clean ? DRM_ORK_EXTENT_CPU_CLEAN : 0);
	uint64_t bytes = ork_plan_type(plan)->out_bytes, first = plan->n_begin[core] * bytes;
	uint64_t end = core + 1 < plan->cores ? plan->n_end[core] * bytes : c->row;
	struct ork_range range = { c->offset + first, end - first, c->stride, c->rows };

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
		profile->bytes_written_cpu += b->layout.bytes;
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
	int ret = find_a(matmul, a, a_place);

	if (!ret)
		ret = check_b(matmul, b);
	if (!ret)
		ret = find_c(matmul, c, c_place);
	if (!ret && a_place->data)
		ret = place_in_staging(matmul, &matmul->a_staging, a_place);
	if (!ret && c_place->data)
		ret = place_in_staging(matmul, &matmul->c_staging, c_place);
	if (!ret && a_place->data)
		gather(matmul, a_place);
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
	matmul->c = c_place;
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
	if (!ret && matmul->c.data)
		copy_back(matmul);
	return ret;
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

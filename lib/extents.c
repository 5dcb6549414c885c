// SPDX-License-Identifier: MIT
/* Which bytes of a product's objects are in flight, for the driver to maintain. */
#include "product.h"

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
static void name_whole(struct ork_matmul *matmul, uint32_t core, const struct ork_place *a, const struct ork_weights *b,
		       const struct ork_place *c)
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
static uint32_t beside_a(const struct ork_matmul *matmul, const struct ork_place *a, uint64_t window_end,
			 struct ork_range range[2])
{
	uint32_t m = matmul->plan.desc.m, count = 0;
	uint64_t end = a->offset + ork_place_span(a);

	if (a->stride > a->row && m > 1)
		range[count++] = (struct ork_range) { a->offset + a->row, a->stride - a->row, a->stride, m - 1 };
	if (window_end > end)
		range[count++] = (struct ork_range) { end, window_end - end, 0, 1 };
	return count;
}

/* As one range where there is no whole line between them. */
static struct ork_range staged_rows(const struct ork_place *a, uint32_t line)
{
	if (a->stride - a->row < line)
		return (struct ork_range) { a->offset, ork_place_span(a), 0, 1 };
	return (struct ork_range) { a->offset, a->row, a->stride, a->rows };
}

/*
 * What must be cleaned for A to be read: itself unless it is clean, and what is fetched with it in
 * any case. In memory of the library's own nobody writes anything but A's rows.
 */
static uint32_t ranges_to_clean(const struct ork_matmul *matmul, const struct ork_place *a, struct ork_range range[2])
{
	uint64_t window_end;
	uint32_t count;

	if (a->data) {
		range[0] = staged_rows(a, matmul->ork->info.cache_line);
		return 1;
	}
	count = ork_plan_window(&matmul->plan, a->offset, a->stride, a->bo->size, range);
	window_end = range[count - 1].offset + range[count - 1].length;
	return a->clean ? beside_a(matmul, a, window_end, range) : count;
}

/* All cores read the same A: the first names it for all of them. */
static void name_a(struct ork_matmul *matmul, uint32_t core, const struct ork_place *a)
{
	struct ork_range own = { a->offset, ork_place_span(a), 0, 1 };
	struct ork_range range[2];
	uint32_t count, i;

	if (core > 0 || a->clean || a->device_only)
		name(matmul, core, a->bo, DRM_ORK_EXTENT_NO_SYNC, &own);
	if (core > 0 || a->device_only)
		return;
	count = ranges_to_clean(matmul, a, range);
	for (i = 0; i < count; i++)
		name(matmul, core, a->bo, DRM_ORK_EXTENT_READ, &range[i]);
}

/* The columns of @core, which are contiguous in each slice; only the last slice may have another size. */
static void name_b(struct ork_matmul *matmul, uint32_t core, const struct ork_weights *b)
{
	const struct ork_weights_layout *layout = &b->layout;
	uint32_t flags = b->dirty ? DRM_ORK_EXTENT_READ : DRM_ORK_EXTENT_NO_SYNC;
	uint64_t first = matmul->plan.n_begin[core], columns = matmul->plan.n_end[core] - first;
	uint64_t part = ork_in_bytes(b->type, layout->slice), slice = part * layout->n;
	uint64_t last = ork_in_bytes(b->type, ork_slice_channels(layout->k, layout->slice, layout->slices - 1));
	struct ork_range range = { first * part, columns * part, slice, layout->slices - 1 };

	if (range.rows)
		name(matmul, core, b->bo, flags, &range);
	range = (struct ork_range) { (layout->slices - 1) * slice + first * last, columns * last, 0, 1 };
	name(matmul, core, b->bo, flags, &range);
}

/*
 * The columns of @core, row by row; the last core's with what fills a staged row's last line. Of a C in
 * blocks a whole slice is one row.
 */
static void name_c(struct ork_matmul *matmul, uint32_t core, const struct ork_place *c)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint32_t flags = DRM_ORK_EXTENT_WRITE | (c->clean ? DRM_ORK_EXTENT_CPU_CLEAN : 0);
	uint64_t bytes = plan->c_blocks ? c->row / plan->n_padded : ork_plan_type(plan)->out_bytes;
	uint64_t first = plan->n_begin[core] * bytes;
	uint64_t end = core + 1 < plan->cores ? plan->n_end[core] * bytes : c->row;
	struct ork_range range = { c->offset + first, end - first, c->stride, c->rows };

	if (c->device_only)
		flags = DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_NO_SYNC;
	if (range.length == range.stride)
		range = (struct ork_range) { range.offset, range.length * range.rows, 0, 1 };
	name(matmul, core, c->bo, flags, &range);
}

static void name_live(struct ork_matmul *matmul, uint32_t core, const struct ork_place *a, const struct ork_weights *b,
		      const struct ork_place *c)
{
	struct ork_range chain = { matmul->chain[core].offset, matmul->chain[core].bytes, 0, 1 };

	name(matmul, core, matmul->chains, matmul->chains_dirty ? DRM_ORK_EXTENT_READ : DRM_ORK_EXTENT_NO_SYNC, &chain);
	name_a(matmul, core, a);
	name_b(matmul, core, b);
	name_c(matmul, core, c);
}

void ork_product_name(struct ork_matmul *matmul)
{
	const struct ork_weights *b = matmul->call.b;
	uint32_t core;

	for (core = 0; core < matmul->plan.cores; core++) {
		matmul->jobs[core] = (struct drm_ork_job) {
			.tasks = { (uintptr_t)&matmul->tasks[core], 1, sizeof(matmul->tasks[0]) },
			.extents = { (uintptr_t)matmul->extents[core], 0, sizeof(matmul->extents[0][0]) },
		};
		if (matmul->plan.desc.sync == ORK_SYNC_WHOLE)
			name_whole(matmul, core, &matmul->a, b, &matmul->c);
		else
			name_live(matmul, core, &matmul->a, b, &matmul->c);
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
static uint64_t window_bytes(const struct ork_matmul *matmul, const struct ork_place *a)
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

void ork_product_count_bytes(struct ork_matmul *matmul)
{
	struct ork_profile *profile = &matmul->ork->profile;
	const struct ork_place *a = &matmul->a;
	uint32_t core;

	if (!a->clean && !a->device_only)
		profile->bytes_written_cpu += matmul->plan.a_bytes;
	if (matmul->call.b->dirty)
		profile->bytes_written_cpu += matmul->call.b->layout.bytes;
	for (core = 0; matmul->chains_dirty && core < matmul->plan.cores; core++)
		profile->bytes_written_cpu += matmul->chain[core].bytes;
	profile->bytes_written_npu += matmul->plan.c_bytes;
	if (matmul->plan.desc.sync == ORK_SYNC_LIVE && !a->device_only)
		profile->bytes_window += window_bytes(matmul, a);
}

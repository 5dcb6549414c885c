// SPDX-License-Identifier: MIT
/* Where a product's matrices lie: in place, or in memory of the library's own. */
#include <errno.h>
#include "moves.h"
#include "product.h"

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
static int check_in_object(struct ork *ork, char which, const struct ork_place *own, uint32_t element)
{
	uint64_t size = own->bo->size, bytes = ork_place_span(own);

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
static int find_place(struct ork_matmul *matmul, char which, const struct ork_matrix *matrix, struct ork_place own,
		      const struct ork_place *staged, bool direct, uint32_t align, struct ork_place *place)
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

static int find_a(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_place *place)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint64_t bytes = matmul->type->in_bytes, row = plan->k_padded * bytes;
	struct ork_place own = { .row = plan->desc.k * bytes, .stride = plan->desc.lda * bytes, .rows = plan->desc.m };
	struct ork_place staged = { .row = row, .stride = row, .rows = plan->desc.m };

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
static int find_c(struct ork_matmul *matmul, const struct ork_matrix *c, struct ork_place *place)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint32_t line = matmul->ork->info.cache_line;
	uint64_t bytes = matmul->type->out_bytes;
	uint64_t row = ork_round_up((uint64_t)plan->n_padded * ork_plan_type(plan)->out_bytes, line);
	struct ork_place own = { .row = plan->desc.n * bytes, .stride = plan->desc.ldc * bytes, .rows = plan->desc.m };
	struct ork_place staged = { .row = row, .stride = row, .rows = plan->desc.m * plan->k_slices, .clean = true };

	return find_place(matmul, 'C', c, own, &staged, plan->c_direct, line, place);
}

static int place_in_staging(struct ork_matmul *matmul, struct ork_bo **staging, struct ork_place *place)
{
	int ret = 0;

	if (!*staging)
		ret = ork_bo_create(matmul->ork, ork_place_span(place), 0, staging);
	place->bo = *staging;
	return ret;
}

/* What fills the rows of a transposed A up is zero since the staging was made, and nobody writes it. */
static void gather(struct ork_matmul *matmul, const struct ork_place *a)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint64_t begin = ork_profile_begin(matmul->ork), bytes = matmul->type->in_bytes;

	if (desc->a_transposed)
		ork_transpose(a->bo->data, a->stride / bytes, a->data, desc->lda, desc->k, desc->m, (uint32_t)bytes);
	else
		ork_gather_rows(a->bo->data, a->stride, a->data, desc->lda * bytes, desc->k * bytes, desc->m);
	ork_profile_end(matmul->ork, ORK_PHASE_GATHER, begin, matmul->plan.a_bytes);
}

int ork_product_place(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		      const struct ork_matrix *c, struct ork_place *a_place, struct ork_place *c_place)
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

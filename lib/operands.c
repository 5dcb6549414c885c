// SPDX-License-Identifier: MIT
/* Where a product's matrices lie: in place, or in memory of the library's own. */
#include <errno.h>
#include "moves.h"
#include "product.h"

/* --- checks ----------------------------------------------------------------------------------- */

static int check_matrix(struct ork *ork, char which, const struct ork_matrix *matrix)
{
	if (matrix->flags & ~(ORK_CPU_CLEAN | ORK_DEVICE_ONLY))
		return ork_fail(ork, -EOPNOTSUPP, "flags of %c = 0x%x; only 0x%x is known", which, matrix->flags,
				ORK_CPU_CLEAN | ORK_DEVICE_ONLY);
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

static int check_b(struct ork_matmul *matmul, const struct ork_weights *b)
{
	const struct ork_matmul_desc *desc = &matmul->desc;

	if (b->ork != matmul->ork)
		return ork_fail(matmul->ork, -EINVAL, "B belongs to another device");
	if (b->k != desc->k || b->n != desc->n)
		return ork_fail(matmul->ork, -EINVAL, "B is %u x %u; must be %u x %u", b->k, b->n, desc->k, desc->n);
	if (b->type->in_precision != matmul->type->in_precision)
		return ork_fail(matmul->ork, -EINVAL, "B has elements of precision %u; must be %u",
				b->type->in_precision, matmul->type->in_precision);
	if (b->layout.slice != matmul->plan.k_slice)
		return ork_fail(matmul->ork, -EINVAL, "B has slices of %u rows; must be %u", b->layout.slice,
				matmul->plan.k_slice);
	return 0;
}

/* --- rows of A and C -------------------------------------------------------------------------- */

/* As the caller has them: @rows from row @first on. */
static struct ork_place own_a(const struct ork_matmul *matmul, uint32_t first, uint32_t rows)
{
	const struct ork_matmul_desc *desc = &matmul->desc;
	const struct ork_matrix *a = &matmul->call.a;
	uint64_t stride = ork_in_bytes(matmul->type, desc->lda);

	if (desc->a_transposed)
		return (struct ork_place) {
			.bo = a->bo, .offset = a->offset + ork_in_bytes(matmul->type, first),
			.row = ork_in_bytes(matmul->type, rows), .stride = stride, .rows = desc->k,
		};
	return (struct ork_place) {
		.bo = a->bo, .offset = a->offset + first * stride, .row = ork_in_bytes(matmul->type, desc->k),
		.stride = stride,
		.rows = rows, .clean = a->flags & ORK_CPU_CLEAN, .device_only = a->flags & ORK_DEVICE_ONLY,
	};
}

static struct ork_place own_c(const struct ork_matmul *matmul, uint32_t first, uint32_t rows)
{
	const struct ork_matmul_desc *desc = &matmul->desc;
	const struct ork_matrix *c = &matmul->call.c;
	uint64_t bytes = matmul->type->out_bytes, stride = desc->ldc * bytes;

	return (struct ork_place) {
		.bo = c->bo, .offset = c->offset + first * stride, .row = desc->n * bytes, .stride = stride,
		.rows = rows, .clean = c->flags & ORK_CPU_CLEAN, .device_only = c->flags & ORK_DEVICE_ONLY,
	};
}

/* As the library has them where the programs cannot reach the caller's. */
static struct ork_place staged_a(const struct ork_matmul *matmul, uint32_t rows)
{
	return (struct ork_place) {
		.bo = matmul->a_staging, .row = ork_in_bytes(matmul->type, matmul->plan.k_padded),
		.stride = matmul->plan.a_row, .rows = rows,
	};
}

/* The CPU only reads it: it has no dirty line. Slices follow each other; of a C in blocks each is one row. */
static struct ork_place staged_c(const struct ork_matmul *matmul, uint32_t rows)
{
	const struct ork_matmul_plan *plan = &matmul->plan;
	uint64_t row = plan->c_row / plan->k_slices * (plan->c_blocks ? rows : 1);

	return (struct ork_place) {
		.bo = matmul->c_staging, .row = row, .stride = row,
		.rows = plan->k_slices * (plan->c_blocks ? 1 : rows), .clean = true,
	};
}

static bool reaches_a(const struct ork_matmul *matmul, const struct ork_place *own)
{
	return own->bo && matmul->plan.a_direct && own->offset % ORK_ATOM_BYTES == 0 &&
	       own->offset + ork_place_span(own) + ork_plan_overfetch(&matmul->plan) <= own->bo->size;
}

static bool reaches_c(const struct ork_matmul *matmul, const struct ork_place *own)
{
	return own->bo && matmul->plan.c_direct && own->offset % matmul->ork->info.cache_line == 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

static uint32_t rows_of_parts(const struct ork_matmul *matmul, const struct ork_place *a, const struct ork_place *c)
{
	uint32_t rows = matmul->part_rows;

	if (!reaches_a(matmul, a))
		rows = ork_rows_staged(rows, matmul->a_row);
	if (!reaches_c(matmul, c))
		rows = ork_rows_staged(rows, matmul->c_row);
	if (rows < matmul->desc.m && rows > matmul->m_tile)
		rows -= rows % matmul->m_tile;
	return rows;
}

/* A copy is the CPU's. */
static int check_device_only(struct ork *ork, char which, const struct ork_place *own, bool reached)
{
	if (!own->device_only || reached)
		return 0;
	return ork_fail(ork, -EINVAL, "%c is for the device only, and cannot be used in place at offset %llu", which,
			(unsigned long long)own->offset);
}

int ork_product_check(struct ork_matmul *matmul)
{
	struct ork_place a = own_a(matmul, 0, matmul->desc.m), c = own_c(matmul, 0, matmul->desc.m);
	int ret = check_matrix(matmul->ork, 'A', &matmul->call.a);

	if (!ret && a.bo)
		ret = check_in_object(matmul->ork, 'A', &a, ork_in_bytes(matmul->type, 1));
	if (!ret)
		ret = check_b(matmul, matmul->call.b);
	if (!ret)
		ret = check_matrix(matmul->ork, 'C', &matmul->call.c);
	if (!ret && c.bo)
		ret = check_in_object(matmul->ork, 'C', &c, matmul->type->out_bytes);
	if (!ret)
		ret = check_device_only(matmul->ork, 'A', &a, reaches_a(matmul, &a));
	if (!ret)
		ret = check_device_only(matmul->ork, 'C', &c, reaches_c(matmul, &c));
	if (!ret)
		matmul->rows = rows_of_parts(matmul, &a, &c);
	return ret;
}

/* --- staging ---------------------------------------------------------------------------------- */

static char *data_of(const struct ork_matrix *matrix, const struct ork_place *own)
{
	return (char *)(own->bo ? own->bo->data : matrix->data) + own->offset;
}

/* Made once, for as many rows as are ever staged. @row: bytes that one takes; @behind: them. */
static int make_staging(struct ork_matmul *matmul, struct ork_bo **staging, uint64_t row, uint32_t behind)
{
	if (*staging)
		return 0;
	return ork_bo_create(matmul->ork, ork_rows_staged(matmul->part_rows, row) * row + behind, 0, staging);
}

static int place_a(struct ork_matmul *matmul, struct ork_place *place)
{
	struct ork_place own = own_a(matmul, matmul->row, matmul->plan.desc.m);
	int ret;

	*place = own;
	if (reaches_a(matmul, &own))
		return 0;
	ret = make_staging(matmul, &matmul->a_staging, matmul->a_row, ork_plan_overfetch(&matmul->plan));
	*place = staged_a(matmul, matmul->plan.desc.m);
	place->data = data_of(&matmul->call.a, &own);
	return ret;
}

static int place_c(struct ork_matmul *matmul, struct ork_place *place)
{
	struct ork_place own = own_c(matmul, matmul->row, matmul->plan.desc.m);
	int ret;

	*place = own;
	if (reaches_c(matmul, &own))
		return 0;
	ret = make_staging(matmul, &matmul->c_staging, matmul->c_row, 0);
	*place = staged_c(matmul, matmul->plan.desc.m);
	place->data = data_of(&matmul->call.c, &own);
	return ret;
}

/* What fills rows up is zero since the staging was made, and nobody writes it. */
static void gather(struct ork_matmul *matmul, const struct ork_place *a)
{
	const struct ork_matmul_desc *desc = &matmul->plan.desc;
	uint64_t begin = ork_profile_begin(matmul->ork), stride = ork_in_bytes(matmul->type, desc->lda);

	if (!desc->a_transposed)
		ork_copy_rows(a->bo->data, a->stride, a->data, stride, ork_in_bytes(matmul->type, desc->k), desc->m);
	else if (matmul->type->in_bits == 4)
		ork_transpose_int4(a->bo->data, a->stride, a->data, stride, desc->k, desc->m);
	else
		ork_transpose(a->bo->data, a->stride * 8 / matmul->type->in_bits, a->data, desc->lda, desc->k, desc->m,
			      matmul->type->in_bits / 8);
	ork_profile_end(matmul->ork, ORK_PHASE_GATHER, begin, matmul->plan.a_bytes);
}

int ork_product_place(struct ork_matmul *matmul)
{
	int ret = place_a(matmul, &matmul->a);

	if (!ret)
		ret = place_c(matmul, &matmul->c);
	if (!ret && matmul->a.data)
		gather(matmul, &matmul->a);
	return ret;
}

/* SPDX-License-Identifier: MIT */
/* A product of matrices, as the files that run it know it. */
#ifndef ORK_PRODUCT_H
#define ORK_PRODUCT_H

#include "ork_private.h"

/*
 * Extents of a job: chain, C; B's whole slices and its last one; of A its own bytes, and two ranges at
 * most of what is fetched with them.
 */
#define ORK_PRODUCT_EXTENTS	7

/* A matrix where the NPU finds it. */
struct ork_place {
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
	struct ork_place c;
	struct drm_ork_task tasks[ORK_MAX_CORES];
	struct drm_ork_job jobs[ORK_MAX_CORES];
	struct drm_ork_extent extents[ORK_MAX_CORES][ORK_PRODUCT_EXTENTS];
};

/* Bytes from the first of a matrix to behind its last. */
static inline uint64_t ork_place_span(const struct ork_place *place)
{
	return (place->rows - 1) * place->stride + place->row;
}

/*
 * Where the matrices of a call lie on the NPU (operands.c), A gathered if the library has it. Everything
 * is checked before the first byte is copied.
 */
int ork_product_place(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		      const struct ork_matrix *c, struct ork_place *a_place, struct ork_place *c_place);

/* The jobs of a call, and the bytes in flight of each (extents.c). */
void ork_product_name(struct ork_matmul *matmul, const struct ork_place *a, const struct ork_weights *b,
		      const struct ork_place *c);
/* What a call had written, for the profile. */
void ork_product_count_bytes(struct ork_matmul *matmul, const struct ork_place *a, const struct ork_weights *b);

/* C from where the NPU put it to where it belongs (sums.c). */
void ork_product_copy_back(struct ork_matmul *matmul);

#endif

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
	bool device_only;		/* nor will it read it */
	void *data;			/* what is copied to or from it; NULL: it is the caller's, in place */
};

/*
 * A product is one part, or several of fewer rows that run one after the other, where its chains or
 * its staging would be too long.
 */
struct ork_matmul {
	struct ork *ork;
	const struct ork_type_info *type;
	struct ork_matmul_desc desc;	/* of the product, with defaults filled in */
	struct ork_matmul_plan plan;	/* of the part that ran last, or is the first to run */
	uint32_t part_rows;		/* that the chains have room for */
	uint32_t m_tile;		/* rows of a program */
	uint64_t a_row, c_row;		/* of staging; no part has longer ones */
	struct ork_bo *chains;		/* of all cores */
	struct ork_chain chain[ORK_MAX_CORES];
	struct ork_operands emitted;	/* what the chains were made for; a = 0: nothing yet */
	bool chains_dirty;		/* emitted since the last submit */
	struct ork_bo *a_staging, *c_staging;	/* NULL until first needed */
	uint32_t syncobj;
	uint32_t job_syncobjs[ORK_MAX_CORES];	/* 0 until first traced */

	struct ork_batch *batch;	/* that it is run with; NULL: it runs by itself */

	/* The call in flight: as it was made, and its part. */
	bool in_flight;
	struct {
		struct ork_matrix a, c;
		struct ork_weights *b;
	} call;
	uint32_t rows;			/* of every part but the last */
	uint32_t row;			/* the part's first */
	struct ork_place a, c;
	struct drm_ork_task tasks[ORK_MAX_CORES];
	struct drm_ork_job jobs[ORK_MAX_CORES];
	struct drm_ork_extent extents[ORK_MAX_CORES][ORK_PRODUCT_EXTENTS];
};

/* Bytes from the first of a matrix to behind its last. */
static inline uint64_t ork_place_span(const struct ork_place *place)
{
	return (place->rows - 1) * place->stride + place->row;
}

/* matmul.c: sets the call, if it is possible. */
int ork_product_call(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		     const struct ork_matrix *c);
/* Chains, jobs and extents of the call's next part; its jobs are in @matmul then. */
int ork_product_prepare(struct ork_matmul *matmul);
/* One submit with its wait, whatever is in it. */
int ork_product_submit(struct ork *ork, const struct drm_ork_job *jobs, uint32_t count, uint32_t syncobj);
int ork_product_wait(struct ork *ork, uint32_t syncobj, int64_t timeout_ns);
/* What was prepared was submitted. */
void ork_product_submitted(struct ork_matmul *matmul);

/* operands.c: is the call possible? Finds the rows of its parts. */
int ork_product_check(struct ork_matmul *matmul);
/* Where the part's matrices lie on the NPU, A gathered if the library has it. */
int ork_product_place(struct ork_matmul *matmul);

/* The jobs of a part, and the bytes in flight of each (extents.c). */
void ork_product_name(struct ork_matmul *matmul);
/* What a part had written, for the profile. */
void ork_product_count_bytes(struct ork_matmul *matmul);

/* For a trace that is on: the jobs of the part have ended. */
void ork_product_trace(struct ork_matmul *matmul);

/* C from where the NPU put it to where it belongs (sums.c). */
void ork_product_copy_back(struct ork_matmul *matmul);

#endif

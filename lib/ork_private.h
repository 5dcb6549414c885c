/* SPDX-License-Identifier: MIT */
/* What the files of libork know of each other. */
#ifndef ORK_PRIVATE_H
#define ORK_PRIVATE_H

#include <stdio.h>
#include <drm/ork_regs.h>
#include "ork.h"
#include "ork_backend.h"

/* --- device ----------------------------------------------------------------------------------- */

struct ork {
	const struct ork_backend *backend;
	void *dev;			/* the backend's */
	void *model;			/* from dlopen(); NULL: the kernel's device */
	char *name;
	struct drm_ork_device_info info;
	bool profiling;
	bool print_profile;
	bool timed;			/* profiling, or a trace is on: phases look at the clock */
	struct ork_trace *trace;	/* NULL: none is on */
	uint32_t in_flight;		/* products started and not waited for; kept while profiling */
	struct drm_ork_counters counted;	/* what the profile has taken in */
	struct ork_profile profile;
	char error[256];
};

struct ork_bo {
	struct ork *ork;
	void *data;
	uint64_t size;
	uint32_t handle;
	uint32_t iova;
};

/* Sets the text for ork_error() and returns @error. */
int ork_fail(struct ork *ork, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * Opens the node @path, or with NULL the first that belongs to the ork driver; @name is allocated.
 */
int ork_kernel_open(const char *path, const struct ork_backend **backend, void **dev, char **name);

/* --- plan ------------------------------------------------------------------------------------- */

struct ork_type_info {
	uint32_t in_bits, out_bytes;
	uint32_t kernels;			/* columns of one kernel group */
	uint32_t in_precision, out_precision;	/* ORK_PRECISION_* */
	uint32_t macs;				/* a cycle */
	uint32_t k_limit, k_slice;		/* channels that one program takes, and of a slice where K has more */
	enum ork_type sum;			/* what slices of K are computed as, before they are added up */
	bool summed;				/* by the CPU, be it one slice: no program gives such elements */
	bool requantised;
	enum ork_element element;		/* of B */
};

#define ORK_LAST_TYPE		ORK_INT4_INT32

/* Rows of A and of columns begin on bytes. */
static inline uint64_t ork_in_bytes(const struct ork_type_info *type, uint64_t elements)
{
	return (elements * type->in_bits + 7) / 8;
}

/* NULL for a number that is no type. */
const struct ork_type_info *ork_type_info(enum ork_type type);

/* How B is cut for the NPU, whatever it is multiplied with. */
struct ork_weights_layout {
	uint32_t k, n;		/* with the zeros that fill the last block of channels and kernel group */
	uint32_t slices;	/* of K, one behind the other, each packed by itself */
	uint32_t slice;		/* channels of each; the last may have fewer */
	uint64_t bytes;		/* of all */
};

/* -EINVAL with why in @reason, or 0. */
int ork_weights_layout(const struct ork_type_info *type, uint32_t k, uint32_t n, struct ork_weights_layout *layout,
		       char *reason, size_t size);

/* Channels of slice @index, of @k in slices of @slice. */
static inline uint32_t ork_slice_channels(uint32_t k, uint32_t slice, uint32_t index)
{
	uint32_t left = k - index * slice;

	return left < slice ? left : slice;
}

/*
 * One program of a plan: the rows and columns of C that it computes, from which channels, and how it
 * uses the convolution buffer.
 */
struct ork_program {
	uint32_t slice;				/* of K */
	uint32_t k, channels;
	uint32_t m, rows;
	uint32_t lines;				/* that the NPU counts for those rows */
	uint32_t n, cols;
	uint32_t data_banks, weight_banks;
	uint32_t entries;			/* ORK_CBUF_ENTRY_BYTES of one row */
	uint32_t grains;			/* rows fetched before computing starts */
};

/* Rows of C that one chain a core can compute, of a plan that may have failed with -E2BIG; 0: not even one tile. */
uint32_t ork_plan_rows(const struct ork_matmul_plan *plan);

/* What the programs of a plan compute: its own type, or what the CPU makes that of. */
const struct ork_type_info *ork_plan_type(const struct ork_matmul_plan *plan);

/*
 * Program @index of the chain of @core: the tiles of M follow each other, so that the weights stay
 * the same.
 */
void ork_plan_program(const struct ork_matmul_plan *plan, uint32_t core, uint32_t index, struct ork_program *program);

/* The program behind a full one whose rows are as many: without a division. False, and nothing done, if there is none. */
bool ork_plan_next_rows(const struct ork_matmul_plan *plan, struct ork_program *program);

struct ork_range {
	uint64_t offset, length, stride;
	uint32_t rows;
};

/*
 * Where plan->c_blocks: of a C in blocks, bytes of a slice, and the first of a program. There row j of
 * block b of a program with @rows rows is at (b * rows + j) * ORK_BLOCK_PITCH.
 */
#define ORK_BLOCK_COLUMNS	64
#define ORK_BLOCK_PITCH		512
uint64_t ork_plan_blocks_slice(const struct ork_matmul_plan *plan);
uint64_t ork_plan_blocks_at(const struct ork_matmul_plan *plan, const struct ork_program *program);

/* What staging a matrix has at most: whatever the product, its scratch stays small beside it. */
#define ORK_STAGING_LIMIT	(64u << 20)

/* Rows that are staged at a time, of @rows that take @row bytes each. */
static inline uint32_t ork_rows_staged(uint32_t rows, uint64_t row)
{
	uint64_t most = ORK_STAGING_LIMIT / row;

	return most >= rows ? rows : most ? (uint32_t)most : 1;
}

/* Bytes behind A's last row that the programs fetch in any case: they must be mapped. */
uint32_t ork_plan_overfetch(const struct ork_matmul_plan *plan);

/*
 * The bytes of an object that the programs may fetch as activations, A's own included: data is
 * fetched in whole banks, so each program's part is rounded up to those. @offset: of A in the
 * object; @stride: of its rows in bytes; @size: of the object, behind which nothing is mapped.
 * Returns the number of ranges, which do not overlap.
 */
uint32_t ork_plan_window(const struct ork_matmul_plan *plan, uint64_t offset, uint64_t stride, uint64_t size,
			 struct ork_range range[2]);

/* --- programs --------------------------------------------------------------------------------- */

/* Registers and tail. */
#define ORK_MATMUL_REGISTERS	108
#define ORK_MATMUL_BYTES	((ORK_MATMUL_REGISTERS + ORK_PROGRAM_TAIL_WORDS) * 8u)

/* Where a product's matrices lie on the NPU. Slices of K have a C each, one behind the other. */
struct ork_operands {
	uint32_t a, b, c;		/* IOVAs */
	uint32_t a_stride, c_stride;	/* of rows, in bytes */
};

/* Appends the programs of @core. Returns the chain's error. */
int ork_emit_matmul(struct ork_chain *chain, const struct ork_matmul_plan *plan, uint32_t core,
		    const struct ork_operands *operands);

/* Room for @words words of the open program, or NULL with the chain's error set. */
uint64_t *ork_chain_reserve(struct ork_chain *chain, uint32_t words);

/* A program of @words words, begun and ended, for the caller to fill; or NULL with the chain's error set. */
uint64_t *ork_chain_append(struct ork_chain *chain, uint32_t words, uint32_t enable);

/* The block that has @reg, as a target of a register command; 0: none that a program may write. */
static inline uint32_t ork_reg_target(uint32_t reg)
{
	switch (reg >> 12) {
	case 1: return ORK_TARGET_CNA;
	case 3: return ORK_TARGET_CORE;
	case 4: return ORK_TARGET_DPU;
	case 5: return ORK_TARGET_RDMA;
	case 6: return ORK_TARGET_PPU;
	case 7: return ORK_TARGET_PPU_RDMA;
	default: return 0;
	}
}

/* --- weights ---------------------------------------------------------------------------------- */

struct ork_weights {
	struct ork *ork;
	struct ork_bo *bo;
	const struct ork_type_info *type;
	uint32_t k, n;
	struct ork_weights_layout layout;
	bool dirty;			/* the CPU wrote it since it was last cleaned */
};

/* --- files ------------------------------------------------------------------------------------ */

/* Errors of the file need not be looked at: they show at its end. */
typedef void (*ork_write_fn)(FILE *file, const void *what);

/*
 * Writes @what under another name first, and then replaces @path: that is what it was, or whole. Returns a negative
 * errno (-EINVAL: @path is there, and no regular file), with the path in ork_error(), or 0.
 */
int ork_replace_file(struct ork *ork, const char *path, ork_write_fn write, const void *what);
/* As JSON, quotes included. */
void ork_write_string(FILE *file, const char *string);

/* --- profiler --------------------------------------------------------------------------------- */

/* The time, or 0 if phases are not timed. */
uint64_t ork_profile_begin(const struct ork *ork);
void ork_profile_end(struct ork *ork, enum ork_phase phase, uint64_t begin, uint64_t bytes);
/*
 * Around a product's submit and behind its wait: take in what the driver maintained. Nothing if
 * nothing is profiled.
 */
void ork_profile_count_product(struct ork *ork);
void ork_profile_before_submit(struct ork *ork);
void ork_profile_after_submit(struct ork *ork);
void ork_profile_after_wait(struct ork *ork, bool done, uint64_t busy_ns);

/* For a trace that is on. */
void ork_trace_phase(struct ork_trace *trace, enum ork_phase phase, uint64_t begin, uint64_t end, uint64_t bytes);
/* A job of a product that has ended, with the syncobj that has its fence; none if no core ran it. */
void ork_trace_job(struct ork *ork, const struct ork_matmul_desc *desc, uint32_t syncobj);

uint64_t ork_now(void);

static inline uint64_t ork_div_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) / step;
}

static inline uint64_t ork_round_up(uint64_t value, uint64_t step)
{
	return ork_div_up(value, step) * step;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * libork: buffers, register-command chains and matrix products on the RK3588 NPU.
 *
 * The comment of each function, with an example of lib/examples, is its manual page: make man.
 */
/**
 * DOC: Notes
 *
 * Functions return 0 or a negative errno, unless they say otherwise; they print nothing and keep no
 * globals. A struct ork and everything made from it belong to one thread at a time; different struct
 * ork may be used by different threads at once. After a failure ork_error() tells in words what was
 * wrong, with the value and the limit.
 *
 * Element types are in memory as the NPU has them: fp16 is IEEE 754 binary16 (two bytes, here
 * uint16_t), int8 is two's complement; so is int4, -8..7, two in a byte, the first in its low half. Matrices are
 * row-major; a stride is the distance of two rows in elements, and even for int4: rows begin on bytes.
 */
#ifndef ORK_H
#define ORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <drm/ork_drm.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ORK_VERSION_MAJOR	0
#define ORK_VERSION_MINOR	1

/* --- device ----------------------------------------------------------------------------------- */

struct ork;

/**
 * ork_open - open a device
 * @device: NULL: what $ORK_DEVICE names, or else the first node of the kernel's ork driver; "model":
 *	the NPU model in this process, which needs no kernel driver; else the path of a node
 * @ork: out: the device, to be closed with ork_close(); NULL on failure
 *
 * A device that is opened twice is two: each has addresses, objects and counters of its own. With
 * ORK_PROF=1 in the environment it is profiled, see ork_profile_enable().
 *
 * Return: 0; -ENODEV if no node belongs to the ork driver, -ENOENT or -EACCES if the node cannot be
 * opened (-EACCES also if none was found and some cannot be opened), -ENOTSUP if it is another
 * driver's, -ELIBACC if the model (libork-model.so.0) cannot be loaded, -EINVAL if it does not know an
 * option in $ORK_MODEL, -EPROTO if kernel or model speak another major version, -ENOMEM.
 */
int ork_open(const char *device, struct ork **ork);

/**
 * ork_close - close a device
 * @ork: the device; NULL is allowed
 *
 * What was made from it must have been destroyed before.
 */
void ork_close(struct ork *ork);

/**
 * ork_error - what the last failed call on a device found wrong
 * @ork: the device
 *
 * Calls on what was made from the device count; calls that succeed change nothing. Those that have no
 * device to tell it to give their errno only: ork_open(), ork_matmul_plan() and, once a chain is begun,
 * ork_chain_begin() to ork_chain_task().
 *
 * Return: one line without a newline, valid until the next call fails; "" before the first.
 */
const char *ork_error(const struct ork *ork);

/**
 * ork_name - what was opened
 * @ork: the device
 *
 * Tells which node ork_open() found.
 *
 * Return: the path of the node, or "model". Valid as long as @ork.
 */
const char *ork_name(const struct ork *ork);

/**
 * ork_info - what a device is
 * @ork: the device
 *
 * Asks nothing of the device: it was asked when it was opened.
 *
 * Return: cores, cache line, addresses and more, as drm/ork_drm.h describes them. Valid as long as @ork.
 */
const struct drm_ork_device_info *ork_info(const struct ork *ork);

/**
 * ork_counters - counters of this open device, or of one core
 * @ork: the device
 * @core: the core's number from 0, or -1 for what this struct ork did
 * @counters: out: bytes, nanoseconds and events; drm/ork_drm.h describes them
 *
 * A core's counters are of all who use it, since the driver was bound. Those of this struct ork begin
 * with it.
 *
 * Return: 0, or -EINVAL if there is no such core.
 */
int ork_counters(struct ork *ork, int core, struct drm_ork_counters *counters);

/* --- buffer objects --------------------------------------------------------------------------- */

struct ork_bo;

/**
 * ork_bo_create - memory that CPU and NPU both reach, zeroed
 * @ork: the device
 * @size: bytes, rounded up to pages; at least 1
 * @flags: 0, or DRM_ORK_BO_WRITE_COMBINE: never in need of ork_bo_sync(), but slow for the CPU to read
 * @bo: out: the object, to be freed with ork_bo_destroy(); NULL on failure
 *
 * Its address on the NPU stays the same. All objects of a struct ork share 4 GiB, for the NPU's address
 * registers have 32 bits (drm/ork_regs.h).
 *
 * Return: 0; -EINVAL (no size), -EOPNOTSUPP (unknown flag), -ENOSPC (the addresses are used up), -ENOMEM.
 */
int ork_bo_create(struct ork *ork, uint64_t size, uint32_t flags, struct ork_bo **bo);

/**
 * ork_bo_destroy - free an object
 * @bo: the object; NULL is allowed
 *
 * The CPU's mapping ends at once; jobs in flight keep what they use.
 */
void ork_bo_destroy(struct ork_bo *bo);

/**
 * ork_bo_data - an object as the CPU has it
 * @bo: the object
 *
 * Mapped since the object's creation. What the CPU writes here reaches the NPU, and the other way round, when
 * ork_bo_sync() or a submit's extents say so.
 *
 * Return: its first byte, page-aligned. Valid as long as @bo.
 */
void *ork_bo_data(const struct ork_bo *bo);

/**
 * ork_bo_size - an object's size
 * @bo: the object
 *
 * It may be more than was asked for.
 *
 * Return: bytes, a whole number of the device's pages.
 */
uint64_t ork_bo_size(const struct ork_bo *bo);

/**
 * ork_bo_handle - an object's name in extents
 * @bo: the object
 *
 * For struct drm_ork_extent, when jobs are submitted by hand; known to this struct ork only.
 *
 * Return: the handle, never 0.
 */
uint32_t ork_bo_handle(const struct ork_bo *bo);

/**
 * ork_bo_iova - an object's address on the NPU
 * @bo: the object
 *
 * For the address registers of a chain, which hold multiples of 16 bytes (drm/ork_regs.h).
 *
 * Return: the address of the first byte, page-aligned; never 0.
 */
uint32_t ork_bo_iova(const struct ork_bo *bo);

/**
 * ork_bo_sync - maintain the cache for bytes of an object
 * @bo: the object
 * @flags: DRM_ORK_EXTENT_TO_DEVICE after the CPU wrote, DRM_ORK_EXTENT_FROM_DEVICE before the CPU
 *	reads what the NPU wrote
 * @offset: first byte
 * @length: bytes; FROM_DEVICE wants both ends on cache lines
 *
 * Does not wait for jobs. The NPU does not snoop the CPU's caches, and those work by the line
 * (cache_line of ork_info()): of one that both sides wrote, what one of them wrote is lost. Where the
 * device is coherent nothing is done.
 *
 * Return: 0; -EINVAL (beyond the object, not on lines, no flag), -EOVERFLOW, -EOPNOTSUPP (flag of a submit).
 */
int ork_bo_sync(struct ork_bo *bo, uint32_t flags, uint64_t offset, uint64_t length);

/* --- chains of programs ----------------------------------------------------------------------- */

/*
 * A chain under construction, in a buffer object. Registers are named by their offset in the core's
 * window (drm/ork_regs.h), which also tells the block. Programs link by themselves: each begins
 * 16-byte aligned behind the one before, whose tail gets its address and length. The fields may be
 * read, not written.
 */
struct ork_chain {
	struct ork_bo *bo;
	uint64_t offset;	/* of the first program, in bytes */
	uint64_t limit;		/* end of the room */
	uint64_t bytes;		/* live bytes: from offset to the end of the last ended program */
	uint64_t program;	/* offset of the program that is open; UINT64_MAX: none is */
	uint64_t next;		/* offset of the next word */
	uint64_t link;		/* offset of the last ended program's tail; valid if programs > 0 */
	uint32_t programs;	/* ended programs */
	uint32_t first_words;	/* words of the first program, as a task wants them */
	int error;		/* first error; everything after it does nothing */
};

/**
 * ork_chain_init - begin an empty chain
 * @chain: out: the chain; it holds nothing that would have to be freed
 * @bo: the object that takes the words; it must outlive the chain
 * @offset: where in @bo, a multiple of 16
 * @size: room in bytes
 *
 * Programs are fetched in beats of 16 bytes: the low four bits of PC_BASE_ADDRESS are no address (drm/ork_regs.h).
 *
 * Return: 0, or -EINVAL if the room is not in the object or not aligned.
 */
int ork_chain_init(struct ork_chain *chain, struct ork_bo *bo, uint64_t offset, uint64_t size);

/**
 * ork_chain_begin - open a program
 * @chain: the chain
 *
 * An error is kept in the chain, for ork_chain_end() to return: -EBUSY if a program is open, -E2BIG if
 * there are 4095, as TASK_CON counts them in twelve bits (drm/ork_regs.h).
 */
void ork_chain_begin(struct ork_chain *chain);

/**
 * ork_chain_set - have the open program set a register
 * @chain: the chain
 * @reg: ORK_<block>_<register> of drm/ork_regs.h, a byte offset in the core's window
 * @value: what the register gets
 *
 * A block keeps its registers in two groups that take turns: what a program leaves out comes from the
 * program before the last. An error is kept in the chain: -ENOSPC, or -EINVAL for a register of no block,
 * for the program controller's, which are the builder's, and without an open program.
 */
void ork_chain_set(struct ork_chain *chain, uint32_t reg, uint32_t value);

/**
 * ork_chain_end - close the program: link, sync word, enable word
 * @chain: the chain
 * @enable: ORK_ENABLE_* of the blocks that run
 *
 * A program has at most 131072 words: REGISTER_AMOUNTS counts its beats in sixteen bits (drm/ork_regs.h).
 *
 * Return: the chain's error: 0, -ENOSPC (nothing was written beyond the room), -E2BIG (more than
 * 4095 programs, or more words than a program can have), -EINVAL, -EBUSY.
 */
int ork_chain_end(struct ork_chain *chain, uint32_t enable);

/**
 * ork_chain_task - the chain as a task of a job
 * @chain: the chain
 * @task: out: its address, the length of its first program, and the number of programs
 *
 * The job must also name the chain's bytes, from offset on, as an extent that it reads.
 *
 * Return: 0; the chain's error, or -EINVAL if it has no ended program or one is open.
 */
int ork_chain_task(const struct ork_chain *chain, struct drm_ork_task *task);

/* --- jobs ------------------------------------------------------------------------------------- */

/**
 * ork_syncobj_create - a syncobj of the device, unsignalled
 * @ork: the device
 * @handle: out: never 0
 *
 * It has no fence until a submit puts one in.
 *
 * Return: 0, or -ENOMEM.
 */
int ork_syncobj_create(struct ork *ork, uint32_t *handle);

/**
 * ork_syncobj_destroy - free a syncobj
 * @ork: the device
 * @handle: of ork_syncobj_create()
 *
 * A job that is to signal it runs on.
 */
void ork_syncobj_destroy(struct ork *ork, uint32_t handle);

/**
 * ork_syncobj_export - a syncobj's fence as a sync_file
 * @ork: the device
 * @handle: of ork_syncobj_create()
 * @fd: out: a descriptor, readable for poll() when the fence has signalled; the caller closes it. -1 on failure
 *
 * It may be waited for in other processes, and outlives the device.
 *
 * Return: 0; -EOPNOTSUPP on the model, -EINVAL if the syncobj has no fence yet, -ENOENT, -EMFILE.
 */
int ork_syncobj_export(struct ork *ork, uint32_t handle, int *fd);

/**
 * ork_submit - DRM_IOCTL_ORK_SUBMIT: start jobs
 * @ork: the device
 * @submit: jobs with their tasks and extents, and syncobjs, as drm/ork_drm.h describes them
 *
 * Does not wait for the jobs. All that @submit points to may go when it returns.
 *
 * Return: 0 if all jobs were accepted; else none was: -EINVAL, -EOPNOTSUPP, -E2BIG, -EOVERFLOW, -ENOENT,
 * -EACCES (priority), -EIO (too many of this device's jobs hung), -ENOMEM; drm/ork_drm.h tells what for.
 */
int ork_submit(struct ork *ork, const struct drm_ork_submit *submit);

/**
 * ork_wait - DRM_IOCTL_ORK_WAIT: wait for jobs
 * @ork: the device
 * @syncobj: of ork_syncobj_create(), with a fence
 * @point: of its timeline; 0: it is binary
 * @timeout_ns: how long from now; INT64_MAX: for ever; 0 or less only looks
 * @busy_ns: out: time that cores spent; may be NULL
 *
 * After it the CPU may read what the jobs' extents name as written.
 *
 * Return: the job's own status: 0, -ETIMEDOUT (it hung), -EFAULT (its address space faulted),
 * -ECANCELED, -EIO; or -ETIME: not done in time; -ENOENT, -EINVAL (no fence).
 */
int ork_wait(struct ork *ork, uint32_t syncobj, uint64_t point, int64_t timeout_ns, uint64_t *busy_ns);

/* --- matrix products -------------------------------------------------------------------------- */

enum ork_type {
	ORK_FP16_FP32,		/* fp16 times fp16, summed and given as fp32 */
	ORK_FP16_FP16,		/* the same, rounded to fp16 at the end */
	ORK_INT8_INT32,		/* exact */
	ORK_INT8_INT16,		/* requantised: see struct ork_matmul_desc */
	ORK_INT8_INT8,		/* likewise */
	ORK_INT4_INT16,		/* saturated while it sums up, after each 32 channels at the most often */
	ORK_INT4_INT32,		/* exact: the CPU adds up slices of K too short to saturate */
};

/* How extents are named. */
enum ork_sync_mode {
	ORK_SYNC_LIVE,		/* the bytes in flight */
	ORK_SYNC_WHOLE,		/* the objects, by every core, as other stacks do: for comparison */
};

/* C[M][N] = A[M][K] * B[K][N] */
struct ork_matmul_desc {
	enum ork_type type;
	uint32_t m, k, n;
	bool a_transposed;		/* A is given as K rows of M; the CPU transposes it */
	uint32_t lda;			/* row stride of A in elements; 0: k, or transposed m, of int4 made even */
	uint32_t ldc;			/* row stride of C in elements; 0: n */
	uint32_t cores;			/* 1..3; 0: all the device has */
	enum ork_sync_mode sync;
	/*
	 * ORK_INT8_INT16 and ORK_INT8_INT8, else 0: of an exact sum, C has sum * multiplier / 2^shift to the
	 * nearest integer, ties to even, plus offset, saturated.
	 */
	uint32_t multiplier;		/* 1..32767 */
	uint32_t shift;			/* 0..47 */
	int32_t offset;			/* -32768..32767 */
};

/*
 * What a program of a plan covers, and how a core's convolution buffer is shared out. The NPU computes
 * with whole blocks of 32 channels and whole kernel groups (16 columns of fp16, 32 of int8, 64 of int4): the rest is
 * filled with zeros that no caller sees. A K that one program cannot take is cut into slices, whose
 * results the CPU adds up, in ascending order.
 */
struct ork_matmul_plan {
	struct ork_matmul_desc desc;	/* with defaults filled in */
	uint32_t k_padded, n_padded;	/* as the NPU has them */
	uint32_t k_slices;		/* of K */
	uint32_t k_slice;		/* channels of each; the last may have fewer */
	bool a_direct;			/* A is used in place if its object and offset allow it */
	bool c_direct;			/* likewise C */
	/*
	 * The NPU gives C in blocks of 64 columns, each row of them followed by three that do not count: so it does
	 * several rows of int4, which the CPU then puts in order.
	 */
	bool c_blocks;
	uint32_t cores;			/* cores that get work: at most desc.cores, at most the tiles N has */
	uint32_t m_tile;		/* rows of A per program; the last tile may have fewer */
	uint32_t n_tile;		/* columns per program, at most */
	uint32_t data_banks, weight_banks;	/* of a full tile */
	uint32_t n_begin[3], n_end[3];	/* columns of each core */
	uint32_t programs[3];		/* programs of each core's chain */
	uint64_t chain_bytes[3];	/* bytes of each core's chain */
	uint64_t weight_bytes;		/* of B, packed */
	uint64_t a_bytes;		/* of A */
	uint64_t c_bytes;		/* that the NPU writes: C with its padding, once for each slice of K */
	uint64_t live_bytes;		/* that a call maintains, with B and chains resident: A's and C's, without bank windows */
	uint64_t a_row, c_row;		/* bytes of one row where A or C is staged */
	uint64_t scratch_bytes;		/* of all of them, and of the chains; of parts, where those run one after the other */
	uint64_t macs;			/* of the product itself */
	/*
	 * Estimates. What the cores move to and from memory: each program its words, rows of A, columns of B, and tile of C.
	 * And how long the busiest core takes, in its cycles: of each program the longer of its multiplications, 512
	 * of fp16 a cycle, 1,024 of int8, 2,048 of int4, and its bytes, 16 a cycle (an assumption: half the peak of
	 * LPDDR4X-4224).
	 */
	uint64_t dram_bytes;
	uint64_t cycles;
	char reason[128];		/* why there is no plan, naming value and limit; "" if there is one */
};

/**
 * ork_matmul_plan - how a product would run
 * @info: the device's limits (ork_info())
 * @desc: the product
 * @plan: out: the plan, or only its reason
 *
 * A pure function; allocates nothing. What tiles may be is what boards are known to compute right:
 * lib/plan.c names the findings.
 *
 * Context: any thread.
 *
 * Return: 0; -EINVAL (a size of zero or beyond what addresses can hold, a stride below its row, too many cores,
 * a multiplier, shift or offset out of range), -E2BIG (a chain of over 4095 programs).
 */
int ork_matmul_plan(const struct drm_ork_device_info *info, const struct ork_matmul_desc *desc,
		    struct ork_matmul_plan *plan);

/* B, packed in the NPU's order, in a buffer object of its own. */
struct ork_weights;

/* What a B to be packed consists of. */
enum ork_element {
	ORK_ELEMENT_FP16,
	ORK_ELEMENT_FP32,
	ORK_ELEMENT_BF16,
	ORK_ELEMENT_INT8,
	ORK_ELEMENT_INT4,
};

/* ork_weights_pack: the source is B transposed, N rows of K. */
#define ORK_TRANSPOSED	(1u << 0)

/**
 * ork_weights_create - room for a B
 * @ork: the device
 * @type: of the products; all fp16 types have the same B, and so have all int8 ones; the two of int4 as
 *	long as K is at most 480
 * @k: rows
 * @n: columns
 * @weights: out: zeros until ork_weights_pack(), to be freed with ork_weights_destroy(); NULL on failure
 *
 * Takes a buffer object, of @k and @n rounded up to what the NPU has (see struct ork_matmul_plan).
 *
 * Return: 0; -EINVAL (no such type, a size of zero, over 4 GiB), -ENOMEM, -ENOSPC.
 */
int ork_weights_create(struct ork *ork, enum ork_type type, uint32_t k, uint32_t n, struct ork_weights **weights);

/**
 * ork_weights_destroy - free a B
 * @weights: B; NULL is allowed
 *
 * A product in flight keeps the bytes that it uses.
 */
void ork_weights_destroy(struct ork_weights *weights);

/**
 * ork_weights_pack - put B in place, for the first time or again
 * @weights: where to
 * @b: row-major, k rows of n elements; with ORK_TRANSPOSED n rows of k
 * @stride: of @b in elements
 * @flags: ORK_TRANSPOSED or 0
 *
 * No job that uses @weights may be in flight. The bytes go to the device with the next product that uses them, or with
 * ork_weights_load(). The order that the NPU reads them in is described in lib/pack.c.
 *
 * Return: 0; -EINVAL (a stride below its row, or odd for int4), -EOPNOTSUPP (flag).
 */
int ork_weights_pack(struct ork_weights *weights, const void *b, size_t stride, uint32_t flags);

/**
 * ork_weights_pack_from - put B in place from elements of another type
 * @weights: where to
 * @element: fp16, fp32 or bf16 for weights of fp16, to which they are rounded (ties to even, what is too large to
 *	infinity); int8 for those of int8; int4, or int8 of -8..7, for those of int4
 * @b: as of ork_weights_pack(), of such elements
 * @stride: of @b in elements
 * @flags: ORK_TRANSPOSED or 0
 *
 * All else is as of ork_weights_pack().
 *
 * Return: as ork_weights_pack(), and -EOPNOTSUPP for any other @element.
 */
int ork_weights_pack_from(struct ork_weights *weights, enum ork_element element, const void *b, size_t stride,
			  uint32_t flags);

/**
 * ork_weights_load - make what was packed resident now
 * @weights: B
 *
 * Products after it maintain none of its bytes. Without it the first one does.
 *
 * Return: 0, or what ork_bo_sync() gives.
 */
int ork_weights_load(struct ork_weights *weights);

/**
 * ork_weights_save - write the packed form to a file
 * @weights: B
 * @path: the file, which is replaced as a whole
 *
 * Other processes see the old file or the new one, under the same name.
 *
 * Return: 0; -EINVAL (@path is something else than a regular file), -ENOMEM or what writing it gives, with the path in
 * ork_error(); the old file is then as it was.
 */
int ork_weights_save(const struct ork_weights *weights, const char *path);

/**
 * ork_weights_open - weights from a file of ork_weights_save()
 * @ork: the device
 * @path: the file
 * @weights: out: B, to be freed with ork_weights_destroy(); NULL on failure
 *
 * Packing is spared; the bytes go to the device as after ork_weights_pack().
 *
 * Return: 0; what opening and reading give, what ork_weights_create() does, or -EINVAL if the file is another
 * one, cut, or changed: ork_error() names the field that is wrong (magic, version, size, precision, slice, bytes,
 * checksum).
 */
int ork_weights_open(struct ork *ork, const char *path, struct ork_weights **weights);

/* The CPU has not written the matrix since the NPU last read (A) or wrote (C) it or since its object was created. */
#define ORK_CPU_CLEAN	(1u << 0)

/*
 * The CPU neither writes nor reads the matrix: nobody maintains it. For what one product gives and another takes; in
 * place only, in an object that the CPU has not written since it was created, or has synced since.
 */
#define ORK_DEVICE_ONLY	(1u << 1)

/*
 * A matrix of a product: in a buffer object, or in plain memory. It is used in place, without a copy, if it
 * is in an object and the plan says so (a_direct: not transposed, k a multiple of 32, rows 16 bytes aligned; c_direct: one
 * slice of K, n a whole number of kernel groups, rows and their stride whole cache lines) and its offset is
 * a multiple of 16 bytes for A, of a cache line for C. Otherwise the CPU copies it to or from memory of the
 * library's own. Of int4 with several rows, A needs 48 bytes behind it in its object to be used in place, and C never is.
 * ORK_CPU_CLEAN may be said of a C only if it was in place.
 */
struct ork_matrix {
	struct ork_bo *bo;	/* or NULL */
	uint64_t offset;	/* in bo, in bytes */
	void *data;		/* if bo is NULL */
	uint32_t flags;		/* ORK_CPU_CLEAN, ORK_DEVICE_ONLY; with bo only */
};

/* A product that is run again and again: its plan, chains and scratch. */
struct ork_matmul;

/**
 * ork_matmul_create - plan a product and allocate its chains
 * @ork: the device
 * @desc: the product
 * @matmul: out: the product, to be freed with ork_matmul_destroy(); NULL on failure
 *
 * Made once, run as often as there is an A or a B for it. What the plan declines with -E2BIG runs as
 * several submits, of as many rows each as chains have room for; so does one with more than 64 MiB of A
 * or C to stage (struct ork_matrix), of fewer rows. The next begins in ork_matmul_wait() when the one
 * before has ended.
 *
 * Return: 0; as ork_matmul_plan() (-E2BIG only if one row has too many programs), -ENOMEM, -ENOSPC.
 */
int ork_matmul_create(struct ork *ork, const struct ork_matmul_desc *desc, struct ork_matmul **matmul);

/**
 * ork_matmul_destroy - free a product
 * @matmul: the product; NULL is allowed
 *
 * One in flight is waited for.
 */
void ork_matmul_destroy(struct ork_matmul *matmul);

/**
 * ork_matmul_get_plan - how a product runs
 * @matmul: the product
 *
 * What ork_matmul_plan() gave for it; where it runs as several submits, for the rows of one: the first,
 * or after a call the last.
 *
 * Return: the plan. Valid as long as @matmul.
 */
const struct ork_matmul_plan *ork_matmul_get_plan(const struct ork_matmul *matmul);

/**
 * ork_matmul_start - submit C = A * B
 * @matmul: the product
 * @a: M rows of K elements, lda apart; if a_transposed, K rows of M
 * @b: B, packed, of the product's K, N and element type
 * @c: M rows of N elements, ldc apart; what lies between rows is left alone
 *
 * A, B and C must stay untouched until ork_matmul_wait(). Chains are emitted anew only if an address
 * changed since the last call. One submit, whatever the number of cores; of several (see
 * ork_matmul_create()), the first.
 *
 * Return: 0; -EINVAL (a matrix outside its object, misaligned, @b of another shape or
 * type), -EOPNOTSUPP (flag), -EBUSY (one is in flight), and what ork_submit() gives.
 */
int ork_matmul_start(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		     const struct ork_matrix *c);

/**
 * ork_matmul_wait - wait for what was started
 * @matmul: the product
 * @timeout_ns: how long from now; INT64_MAX: for ever; 0 or less only looks
 *
 * Brings a C that is not in place to where it belongs. After -ETIME it can be waited for again. Of a
 * product of several submits it starts those that are left.
 *
 * Return: as ork_wait(), -EINVAL if nothing was started; as ork_matmul_start() if the product has
 * several submits, and C is then written in part.
 */
int ork_matmul_wait(struct ork_matmul *matmul, int64_t timeout_ns);

/**
 * ork_matmul_export - the end of what was started, as a sync_file
 * @matmul: the product
 * @fd: out: as of ork_syncobj_export()
 *
 * When it is readable the NPU is done, and ork_matmul_wait() does not block; only that brings a C that is not in
 * place to where it belongs. Of a product of several submits it is the end of the one in flight: wait with
 * a timeout of 0, and after -ETIME export the next. To look without one, wait with a timeout of 0.
 *
 * Return: as ork_syncobj_export(), or -EINVAL if nothing was started.
 */
int ork_matmul_export(struct ork_matmul *matmul, int *fd);

/**
 * ork_matmul_run - C = A * B: start, and wait for ever
 * @matmul: the product
 * @a: as of ork_matmul_start()
 * @b: as of ork_matmul_start()
 * @c: as of ork_matmul_start()
 *
 * For ever is until the driver takes a job for hung.
 *
 * Return: as ork_matmul_start() and ork_matmul_wait().
 */
int ork_matmul_run(struct ork_matmul *matmul, const struct ork_matrix *a, struct ork_weights *b,
		   const struct ork_matrix *c);

/* --- products together ------------------------------------------------------------------------ */

/* Products that run in one submit. */
struct ork_batch;

/* Products of a batch at most. */
#define ORK_BATCH_LIMIT	64

/**
 * ork_batch_create - an empty batch
 * @ork: the device
 * @limit: products that it has room for, 1..ORK_BATCH_LIMIT
 * @batch: out: the batch, to be freed with ork_batch_destroy(); NULL on failure
 *
 * All memory that it needs is allocated here.
 *
 * Return: 0; -EINVAL (@limit), -ENOMEM.
 */
int ork_batch_create(struct ork *ork, uint32_t limit, struct ork_batch **batch);

/**
 * ork_batch_destroy - free a batch
 * @batch: the batch; NULL is allowed
 *
 * One in flight is waited for. Its products are their owner's again, who must not have freed them before.
 */
void ork_batch_destroy(struct ork_batch *batch);

/* ork_batch_add: behind the product that was added before, on the same core. */
#define ORK_BEHIND	(1u << 0)

/**
 * ork_batch_add - add C = A * B to a batch
 * @batch: the batch
 * @matmul: the product; it belongs to the batch until that is cleared or freed
 * @a: as of ork_matmul_start()
 * @b: as of ork_matmul_start()
 * @c: as of ork_matmul_start()
 * @flags: ORK_BEHIND or 0
 *
 * Products of a batch run at once, in no order and on all cores, but one that is added with ORK_BEHIND begins when
 * the one before it has ended: it may read what that one wrote. Both must have desc.cores = 1. So a chain of layers
 * runs in one submit; with ORK_DEVICE_ONLY for what is between them neither CPU nor driver touches it. To
 * use several cores give each some of the rows.
 *
 * Return: 0; as ork_matmul_start(), -EBUSY (the batch is in flight, the product is or is in a batch), -ENOSPC (no room,
 * or more than 64 jobs: each product without ORK_BEHIND has as many as its plan has cores), -E2BIG (it needs
 * several submits), -EINVAL (ORK_BEHIND for the first or with several cores), -EOPNOTSUPP (flag). The batch is
 * then as before.
 */
int ork_batch_add(struct ork_batch *batch, struct ork_matmul *matmul, const struct ork_matrix *a,
		  struct ork_weights *b, const struct ork_matrix *c, uint32_t flags);

/**
 * ork_batch_clear - take all products out
 * @batch: the batch
 *
 * For another list of the same length, or with other matrices.
 *
 * Return: 0, or -EBUSY if it is in flight.
 */
int ork_batch_clear(struct ork_batch *batch);

/**
 * ork_batch_start - submit all products
 * @batch: the batch; it can be started again after ork_batch_wait(), as it is
 *
 * One submit. All matrices must stay untouched until ork_batch_wait().
 *
 * Return: 0; -EINVAL (it is empty), -EBUSY (it is in flight), -ENOMEM, -ENOSPC, and what ork_submit() gives.
 */
int ork_batch_start(struct ork_batch *batch);

/**
 * ork_batch_wait - wait for all products
 * @batch: the batch
 * @timeout_ns: as of ork_matmul_wait()
 *
 * One wait. After -ETIME it can be waited for again.
 *
 * Return: as ork_wait(): the status of the first job that failed; -EINVAL if nothing was started.
 */
int ork_batch_wait(struct ork_batch *batch, int64_t timeout_ns);

/* --- profiler --------------------------------------------------------------------------------- */

enum ork_phase {
	ORK_PHASE_PLAN,
	ORK_PHASE_PACK,		/* B into the NPU's order */
	ORK_PHASE_GATHER,	/* A into an object, where it was not */
	ORK_PHASE_EMIT,
	ORK_PHASE_SUBMIT,	/* with the cleaning in it */
	ORK_PHASE_WAIT,		/* with the invalidating in it */
	ORK_PHASE_COPY_BACK,	/* C out of an object, where it had to be */
	ORK_PHASES
};

struct ork_profile {
	struct {
		uint64_t calls, ns;
		uint64_t bytes;			/* that the phase copied or emitted */
		/* Cleaned (submit) and invalidated (wait), by the driver's counters. */
		uint64_t bytes_maintained;
	} phase[ORK_PHASES];
	uint64_t products;		/* ork_matmul_start() calls that were submitted */
	uint64_t ioctls;		/* of those calls and their waits */
	uint64_t bytes_written_cpu;	/* operands, packed weights and chains that the CPU wrote for those calls */
	uint64_t bytes_written_npu;	/* results */
	uint64_t bytes_window;		/* cleaned only because whole data banks may be fetched */
	uint64_t busy_ns;		/* of all cores */
};

/**
 * ork_profile_enable - count from now on, from zero
 * @ork: the device
 * @on: false: stop, and forget what was counted
 *
 * Also with ORK_PROF=1 in the environment at ork_open(): then ork_close() prints the table to standard
 * error. While on, each product asks the driver for its counters, in ioctls that are not counted.
 */
void ork_profile_enable(struct ork *ork, bool on);

/**
 * ork_profile_get - what was counted so far
 * @ork: the device
 * @profile: out: zeros if nothing is profiled
 *
 * Counting goes on.
 */
void ork_profile_get(const struct ork *ork, struct ork_profile *profile);

/**
 * ork_phase_name - a phase in words
 * @phase: below ORK_PHASES
 *
 * As in the table that ork_close() prints.
 *
 * Context: any thread.
 *
 * Return: a literal; "" for a number that is no phase.
 */
const char *ork_phase_name(enum ork_phase phase);

/**
 * ork_profile_print - what was counted, as a table
 * @ork: the device
 * @file: where to
 *
 * A row for each phase, and the totals.
 */
void ork_profile_print(const struct ork *ork, FILE *file);

/**
 * ork_profile_write - what was counted, as JSON
 * @ork: the device
 * @path: the file, which is replaced as a whole
 *
 * An object with "device", "phases" and the rest of struct ork_profile by its names. "phases" has an object for each of
 * ork_phase_name(), with "calls", "ms", "bytes" and "bytes_maintained"; the time of the cores is "busy_ms", in
 * milliseconds too.
 *
 * Return: as ork_weights_save().
 */
int ork_profile_write(struct ork *ork, const char *path);

/**
 * ork_trace_start - record when each phase, and each job of a product, begins and ends
 * @ork: the device
 * @events: how many there is room for; those that come later are dropped, and counted
 *
 * A product has one event for each phase and each core, and takes an ioctl more for each core, which is not counted.
 * What was recorded before is forgotten. ork_profile_enable() is not needed. Jobs of a batch are named by their
 * first product.
 *
 * Return: 0; -EINVAL (no events), -ENOMEM; a trace that was on goes on then.
 */
int ork_trace_start(struct ork *ork, uint32_t events);

/**
 * ork_trace_stop - record no more, and forget what was recorded
 * @ork: the device, on which a trace need not be on
 *
 * ork_close() does so too.
 */
void ork_trace_stop(struct ork *ork);

/**
 * ork_trace_write - what was recorded so far, as a file in Chrome's trace format
 * @ork: the device
 * @path: the file, which is replaced as a whole
 *
 * chrome://tracing and ui.perfetto.dev show it: in process "CPU" a row for each thread that called, with the phases, in
 * process "NPU" one for each core, with the jobs, named MxKxN. Times are microseconds of CLOCK_MONOTONIC; "otherData" has
 * the number of "dropped_events".
 *
 * Return: 0; -EINVAL if no trace is on, or as ork_weights_save().
 */
int ork_trace_write(struct ork *ork, const char *path);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A core with its IOMMU, cache and memory for the tests, driven as a driver does: through
 * registers, with the cache's maintenance done line by line. Pages that follow each other in IOVA
 * never do so in RAM.
 */
#ifndef RIG_H
#define RIG_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drm/ork_regs.h>

#include "../iommu.h"
#include "../npu.h"
#include "../../../selftests/unit/test.h"

#define RIG_PAGE	4096u
/* Above 4 GiB, so that the high bits of table entries matter. */
#define RIG_BASE	0x1c0000000ull

/* A test of many that only data tells apart. */
__attribute__((format(printf, 2, 3))) static inline void ok(bool good, const char *format, ...)
{
	va_list args;

	printf("%sok %u - ", good ? "" : "not ", ++tests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	failed_tests += !good;
}

/* --- memory ----------------------------------------------------------------------------------- */

struct rig {
	uint8_t *ram;
	uint64_t size, low, high;	/* RAM not given out: tables from below, pages from above */
	uint32_t *directory;
	struct npu_cache *cache;
	struct npu_core *core;
	bool level;
	unsigned int rises, kicks, programs;
	void (*program_done)(struct rig *rig);
};

static inline void *rig_ram(struct rig *rig, uint64_t pa)
{
	return rig->ram + (pa - RIG_BASE);
}

static inline void rig_clean(struct rig *rig, const void *at, size_t len)
{
	uint64_t pa = RIG_BASE + ((const uint8_t *)at - rig->ram);

	for (uint64_t line = pa / NPU_LINE_BYTES * NPU_LINE_BYTES; line < pa + len; line += NPU_LINE_BYTES)
		npu_cache_clean(rig->cache, line);
}

static inline uint64_t rig_table(struct rig *rig)
{
	uint64_t pa = rig->low;

	rig->low += RIG_PAGE;
	memset(rig_ram(rig, pa), 0, RIG_PAGE);
	rig_clean(rig, rig_ram(rig, pa), RIG_PAGE);
	return pa;
}

static inline uint32_t *rig_entry(struct rig *rig, uint32_t iova)
{
	uint32_t *table = &rig->directory[iova >> 22];

	if (!*table) {
		*table = NPU_IOMMU_ENTRY(rig_table(rig)) | NPU_IOMMU_ENTRY_VALID;
		rig_clean(rig, table, sizeof(*table));
	}
	return (uint32_t *)rig_ram(rig, NPU_IOMMU_ENTRY_PA(*table)) + (iova >> 12) % NPU_IOMMU_ENTRIES;
}

static inline void rig_map(struct rig *rig, uint32_t iova, uint64_t len)
{
	for (uint64_t at = iova / RIG_PAGE * RIG_PAGE; at < iova + len; at += RIG_PAGE) {
		uint32_t *entry = rig_entry(rig, at);

		if (*entry)
			continue;
		rig->high -= RIG_PAGE;
		if (rig->high < rig->low) {
			fprintf(stderr, "the rig's %llu bytes of RAM are too few\n", (unsigned long long)rig->size);
			exit(EXIT_FAILURE);
		}
		*entry = NPU_IOMMU_ENTRY(rig->high) | NPU_IOMMU_ENTRY_VALID | NPU_IOMMU_ENTRY_READ |
			 NPU_IOMMU_ENTRY_WRITE;
		rig_clean(rig, entry, sizeof(*entry));
	}
}

static inline uint64_t rig_pa(struct rig *rig, uint32_t iova)
{
	return NPU_IOMMU_ENTRY_PA(*rig_entry(rig, iova)) + iova % RIG_PAGE;
}

/* Stores as the CPU does: nothing reaches DRAM. */
static inline void rig_store(struct rig *rig, uint32_t iova, const void *from, size_t len)
{
	for (size_t done = 0, n; done < len; done += n) {
		n = RIG_PAGE - (iova + done) % RIG_PAGE;
		n = n < len - done ? n : len - done;
		memcpy(rig_ram(rig, rig_pa(rig, iova + done)), (const uint8_t *)from + done, n);
	}
}

static inline void rig_maintain(struct rig *rig, uint32_t iova, size_t len,
				void (*op)(struct npu_cache *cache, uint64_t pa))
{
	for (uint64_t at = iova / NPU_LINE_BYTES * NPU_LINE_BYTES; at < iova + (uint64_t)len; at += NPU_LINE_BYTES)
		op(rig->cache, rig_pa(rig, at));
}

/* Stores and cleans, mapping what is not mapped. */
static inline void rig_put(struct rig *rig, uint32_t iova, const void *from, size_t len)
{
	rig_map(rig, iova, len);
	rig_store(rig, iova, from, len);
	rig_maintain(rig, iova, len, npu_cache_clean);
}

/* Invalidates and loads. */
static inline void rig_get(struct rig *rig, uint32_t iova, void *to, size_t len)
{
	rig_maintain(rig, iova, len, npu_cache_invalidate);
	for (size_t done = 0, n; done < len; done += n) {
		n = RIG_PAGE - (iova + done) % RIG_PAGE;
		n = n < len - done ? n : len - done;
		memcpy((uint8_t *)to + done, rig_ram(rig, rig_pa(rig, iova + done)), n);
	}
}

/* --- the core --------------------------------------------------------------------------------- */

static inline void rig_irq(void *opaque, bool level)
{
	struct rig *rig = opaque;

	rig->rises += level && !rig->level;
	rig->level = level;
}

static inline void rig_kicked(void *opaque)
{
	((struct rig *)opaque)->kicks++;
}

static inline void rig_program_done(void *opaque)
{
	struct rig *rig = opaque;

	rig->programs++;
	if (rig->program_done)
		rig->program_done(rig);
}

static inline uint32_t rig_read(struct rig *rig, uint32_t offset)
{
	return npu_core_read(rig->core, offset);
}

static inline void rig_write(struct rig *rig, uint32_t offset, uint32_t value)
{
	npu_core_write(rig->core, offset, value);
}

static inline void rig_enable_bank(struct rig *rig, uint32_t bank)
{
	uint64_t directory = RIG_BASE + ((uint8_t *)rig->directory - rig->ram);

	rig_write(rig, bank + NPU_IOMMU_COMMAND, NPU_IOMMU_FORCE_RESET);
	rig_write(rig, bank + NPU_IOMMU_DTE_ADDR, NPU_IOMMU_ENTRY(directory));
	rig_write(rig, bank + NPU_IOMMU_INT_MASK, NPU_IOMMU_INT_PAGE_FAULT | NPU_IOMMU_INT_BUS_ERROR);
	rig_write(rig, bank + NPU_IOMMU_COMMAND, NPU_IOMMU_ENABLE_PAGING);
}

static inline void rig_enable_iommu(struct rig *rig)
{
	rig_enable_bank(rig, 0x9000);
	rig_enable_bank(rig, 0xa000);
}

static inline void rig_init(struct rig *rig, uint64_t size, enum npu_cache_mode mode)
{
	static const struct npu_core_ops ops = { rig_irq, rig_kicked, rig_program_done };

	*rig = (struct rig) { .size = size, .low = RIG_BASE, .high = RIG_BASE + size };
	rig->ram = calloc(1, size);
	rig->cache = rig->ram ? npu_cache_new(RIG_BASE, size, rig->ram, mode, 1) : NULL;
	rig->core = rig->cache ? npu_core_new(0, rig->cache, &ops, rig) : NULL;
	if (!rig->core) {
		fprintf(stderr, "no memory for a rig\n");
		exit(EXIT_FAILURE);
	}
	rig->directory = rig_ram(rig, rig_table(rig));
	rig_enable_iommu(rig);
}

static inline void rig_fini(struct rig *rig)
{
	npu_core_free(rig->core);
	npu_cache_free(rig->cache);
	free(rig->ram);
}

/* Starts a chain of @programs as rocket and the vendor's driver do; the caller lets it run. */
static inline void rig_kick(struct rig *rig, uint32_t iova, uint32_t words, uint32_t programs)
{
	rig_write(rig, ORK_PC_BASE_ADDRESS, ORK_PC_BASE_ADDRESS_PC_SEL);
	rig_write(rig, ORK_CNA_S_POINTER, 0xe);
	rig_write(rig, ORK_CORE_S_POINTER, 0xe);
	rig_write(rig, ORK_PC_BASE_ADDRESS, iova);
	rig_write(rig, ORK_PC_REGISTER_AMOUNTS, ORK_PC_AMOUNT(words));
	rig_write(rig, ORK_PC_INTERRUPT_MASK, ORK_INT_DPU);
	rig_write(rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	rig_write(rig, ORK_PC_TASK_CON, 0x7000 | programs);
	rig_write(rig, ORK_PC_TASK_DMA_BASE_ADDR, 0);
	rig_write(rig, ORK_PC_OPERATION_ENABLE, 1);
	rig_write(rig, ORK_PC_OPERATION_ENABLE, 0);
}

/* Kicks, runs, acknowledges. Returns why the core hangs, if it does. */
static inline enum npu_hang rig_run(struct rig *rig, uint32_t iova, uint32_t words, uint32_t programs)
{
	struct npu_core_stats stats;

	rig_kick(rig, iova, words, programs);
	npu_core_run(rig->core);
	npu_core_stats(rig->core, &stats);
	rig_write(rig, ORK_PC_INTERRUPT_CLEAR, ORK_INT_ALL);
	return stats.hang;
}

/* As a driver does after a hang: the core's reset, and its IOMMU's. */
static inline void rig_recover(struct rig *rig)
{
	npu_core_reset(rig->core);
	rig_enable_iommu(rig);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static uint64_t rig_seed = 1;

static inline uint32_t rig_random(void)
{
	rig_seed = rig_seed * 6364136223846793005ull + 1442695040888963407ull;
	return rig_seed >> 33;
}

/* 2^exponent */
static inline double rig_power(int exponent)
{
	double value = 1;

	for (; exponent > 0; exponent--)
		value *= 2;
	for (; exponent < 0; exponent++)
		value /= 2;
	return value;
}

/* IEEE 754's formula; infinities and NaNs are the caller's. */
static inline double rig_half(uint16_t half)
{
	int exponent = half >> 10 & 31;
	double fraction = half & 1023;
	double value = exponent ? (1 + fraction / 1024) * rig_power(exponent - 15) : fraction * rig_power(-24);

	return half & 0x8000 ? -value : value;
}

/*
 * Of both signs, between 1/4 and 1, now and then 0 or a subnormal. Not spread wider: the boards'
 * error bound was measured on operands of like magnitude, and a sum that a few products dominate
 * rounds worse than it allows.
 */
static inline uint16_t rig_random_half(void)
{
	uint32_t random = rig_random(), exponent = random % 64 ? 13 + (random >> 6) % 2 : 0;

	return (random >> 8 & 0x83ff) | exponent << 10;
}

/* --- programs --------------------------------------------------------------------------------- */

#define RIG_WORDS	112u

struct rig_program {
	uint64_t words[256];
	unsigned int count;
};

static inline void rig_word(struct rig_program *program, uint32_t target, uint32_t reg, uint32_t value)
{
	program->words[program->count++] = ORK_REGCMD(target, reg, value);
}

/* Sets a register's value wherever a program sets it; if nowhere, the test is wrong. */
static inline void rig_patch(struct rig_program *program, uint32_t reg, uint32_t value)
{
	bool found = false;

	for (unsigned int i = 0; i < program->count; i++)
		if (ORK_REGCMD_REG(program->words[i]) == reg &&
		    ORK_REGCMD_TARGET(program->words[i]) != ORK_TARGET_ENABLE) {
			program->words[i] = ORK_REGCMD(ORK_REGCMD_TARGET(program->words[i]), reg, value);
			found = true;
		}
	if (!found) {
		fprintf(stderr, "no register 0x%x to patch\n", reg);
		exit(EXIT_FAILURE);
	}
}

struct rig_matmul {
	uint32_t in, out;		/* precisions */
	uint32_t m, k, n;
	uint32_t a, b, c;		/* IOVAs */
	/*
	 * Row-major with these strides in bytes; 0: in surfaces, the rows along the cube's height
	 * or, if @wide, its width
	 */
	uint32_t lda, ldc;
	bool wide;
};

/* Kernels of a group. */
static inline uint32_t rig_kernels(uint32_t precision)
{
	return precision == ORK_PRECISION_INT4 ? 64 : precision == ORK_PRECISION_INT8 ? 32 : 16;
}

/* Not of int4, of which a byte holds two. */
static inline uint32_t rig_bytes(uint32_t precision)
{
	switch (precision) {
	case ORK_PRECISION_INT8:
		return 1;
	case ORK_PRECISION_INT16:
	case ORK_PRECISION_FP16:
		return 2;
	default:
		return 4;
	}
}

static inline void rig_matmul_cna(struct rig_program *p, const struct rig_matmul *m)
{
	uint32_t row = m->in == ORK_PRECISION_INT4 ? m->k / 2 : m->k * rig_bytes(m->in);
	uint32_t w = m->wide ? m->m : 1, h = m->wide ? 1 : m->m, entries = (w * row + 63) / 64;
	uint32_t banks = (h * entries * 64 + 32767) / 32768;

	rig_word(p, ORK_TARGET_CNA, 0x100c, m->in << 7 | m->in << 4 | (m->lda ? 1u << 29 : 0));
	rig_word(p, ORK_TARGET_CNA, 0x1010, (h + 1) << 4);
	rig_word(p, ORK_TARGET_CNA, 0x1014, 9);
	rig_word(p, ORK_TARGET_CNA, 0x1020, w << 16 | h);
	rig_word(p, ORK_TARGET_CNA, 0x1024, (m->k - 1) << 16 | m->k);
	rig_word(p, ORK_TARGET_CNA, 0x1028, w);
	rig_word(p, ORK_TARGET_CNA, 0x102c, m->m);
	rig_word(p, ORK_TARGET_CNA, 0x1030, row * m->n);
	rig_word(p, ORK_TARGET_CNA, 0x1034, row);
	rig_word(p, ORK_TARGET_CNA, 0x1038, 0x01010000 | m->n);
	rig_word(p, ORK_TARGET_CNA, 0x1040, (12 - banks) << 4 | banks);
	rig_word(p, ORK_TARGET_CNA, 0x1044, entries);
	rig_word(p, ORK_TARGET_CNA, 0x104c, 0xb);
	rig_word(p, ORK_TARGET_CNA, 0x1060, 0);
	rig_word(p, ORK_TARGET_CNA, 0x1068, 0);
	rig_word(p, ORK_TARGET_CNA, 0x1070, m->a);
	rig_word(p, ORK_TARGET_CNA, 0x107c, m->lda ? m->lda / 16 : 4 * w);
	rig_word(p, ORK_TARGET_CNA, 0x1080, m->lda ? 0 : (w * h - 4 * w) & 0x0fffffff);
	rig_word(p, ORK_TARGET_CNA, 0x1084, w << 16 | h);
	rig_word(p, ORK_TARGET_CNA, 0x1088, m->k);
	rig_word(p, ORK_TARGET_CNA, 0x1100, 0);
	rig_word(p, ORK_TARGET_CNA, 0x1110, m->b);
	rig_word(p, ORK_TARGET_CNA, 0x1184, 0);
	rig_word(p, ORK_TARGET_CORE, 0x3010, m->in << 8 | 1);
	rig_word(p, ORK_TARGET_CORE, 0x3014, (h - 1) << 16 | (w - 1));
	rig_word(p, ORK_TARGET_CORE, 0x3018, m->n - 1);
	rig_word(p, ORK_TARGET_CORE, 0x301c, 0);
}

static inline void rig_matmul_dpu(struct rig_program *p, const struct rig_matmul *m)
{
	uint32_t w = m->wide ? m->m : 1, h = m->wide ? 1 : m->m;
	uint32_t atoms = rig_kernels(m->in) * rig_bytes(m->out) / 16, surface = m->ldc ? 16 : m->m * 16;
	uint32_t notch = m->ldc ? m->ldc / 16 - 1 : 0;

	rig_word(p, ORK_TARGET_DPU, 0x4004, 0xe);
	rig_word(p, ORK_TARGET_DPU, 0x400c, 0x1e4);
	rig_word(p, ORK_TARGET_DPU, 0x4010, m->out << 29 | m->in << 26 | m->in);
	rig_word(p, ORK_TARGET_DPU, 0x4020, m->c);
	rig_word(p, ORK_TARGET_DPU, 0x4024, surface);
	rig_word(p, ORK_TARGET_DPU, 0x4030, w - 1);
	rig_word(p, ORK_TARGET_DPU, 0x4034, h - 1);
	rig_word(p, ORK_TARGET_DPU, 0x4038, notch << 16 | notch);
	rig_word(p, ORK_TARGET_DPU, 0x403c, (m->n - 1) << 16 | (m->n - 1));
	rig_word(p, ORK_TARGET_DPU, 0x4040, 0x53);
	rig_word(p, ORK_TARGET_DPU, 0x4050, (atoms - 1) * 0x124 | 2);
	rig_word(p, ORK_TARGET_DPU, 0x4054, 0);
	rig_word(p, ORK_TARGET_DPU, 0x4058, m->n - 1);
	rig_word(p, ORK_TARGET_DPU, 0x405c, (h - 1) << 16 | (w - 1));
	rig_word(p, ORK_TARGET_DPU, 0x4060, 0x53);
	rig_word(p, ORK_TARGET_DPU, 0x4070, 0x383);
	rig_word(p, ORK_TARGET_DPU, 0x4080, 0);
	rig_word(p, ORK_TARGET_DPU, 0x4084, m->out == ORK_PRECISION_FP16 ? 0x10001 : 1);
	rig_word(p, ORK_TARGET_DPU, 0x4088, 0);
	rig_word(p, ORK_TARGET_DPU, 0x40c0, atoms * surface);
}

static inline void rig_tail(struct rig_program *p, uint32_t next, uint32_t amount)
{
	rig_word(p, ORK_TARGET_PC, ORK_PC_BASE_ADDRESS, next);
	rig_word(p, ORK_TARGET_PC, ORK_PC_REGISTER_AMOUNTS, amount);
	rig_word(p, ORK_TARGET_SYNC, 0, 0);
	rig_word(p, ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE, 0xd);
}

/* A whole program, of RIG_WORDS words as the known ones are, that ends its chain. */
static inline struct rig_program rig_matmul_program(const struct rig_matmul *m)
{
	struct rig_program p = { 0 };

	rig_matmul_cna(&p, m);
	rig_matmul_dpu(&p, m);
	while (p.count < RIG_WORDS - ORK_PROGRAM_TAIL_WORDS)
		rig_word(&p, 0, 0, 0);
	rig_tail(&p, 0, 0);
	return p;
}

static inline void rig_link(struct rig_program *p, uint32_t next, uint32_t amount)
{
	p->count -= ORK_PROGRAM_TAIL_WORDS;
	rig_tail(p, next, amount);
}

static inline void rig_put_program(struct rig *rig, uint32_t iova, const struct rig_program *p)
{
	rig_put(rig, iova, p->words, p->count * sizeof(p->words[0]));
}

/* --- products --------------------------------------------------------------------------------- */

struct rig_operands {
	double *a, *b;		/* [m][k], [n][k] */
};

/* Channels of an atom. */
static inline uint32_t rig_atom(uint32_t precision)
{
	return 16 / rig_bytes(precision);
}

/* In elements, of row-major or surface layout (vendor facts 5.3). */
static inline size_t rig_index(uint32_t precision, uint32_t stride, uint32_t rows, uint32_t row, uint32_t column)
{
	uint32_t atom = rig_atom(precision);

	if (stride)
		return (size_t)row * (stride / rig_bytes(precision)) + column;
	return ((size_t)(column / atom) * rows + row) * atom + column % atom;
}

static inline size_t rig_extent(uint32_t precision, uint32_t stride, uint32_t rows, uint32_t columns)
{
	return (rig_index(precision, stride, rows, rows - 1, columns - 1) + 1) * rig_bytes(precision);
}

static inline size_t rig_weight_index(const struct rig_matmul *m, uint32_t n, uint32_t k)
{
	uint32_t tile = rig_kernels(m->in);

	return (size_t)n / tile * tile * m->k + k / 32 * 32 * tile + n % tile * 32 + k % 32;
}

/* A random element at @to; returns its value. */
static inline double rig_random_element(uint32_t precision, uint8_t *to)
{
	uint16_t half = rig_random_half();

	if (precision == ORK_PRECISION_FP16) {
		memcpy(to, &half, sizeof(half));
		return rig_half(half);
	}
	*to = rig_random();
	return (int8_t)*to;
}

static inline void *rig_alloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory) {
		fprintf(stderr, "no memory for %zu bytes\n", count * size);
		exit(EXIT_FAILURE);
	}
	return memory;
}

/* Random operands, put where and how the program expects them. */
static inline struct rig_operands rig_fill(struct rig *rig, const struct rig_matmul *m)
{
	size_t bytes = rig_bytes(m->in), a_len = rig_extent(m->in, m->lda, m->m, m->k), b_len = bytes * m->k * m->n;
	struct rig_operands op = {
		rig_alloc((size_t)m->m * m->k, sizeof(double)),
		rig_alloc((size_t)m->n * m->k, sizeof(double)),
	};
	uint8_t *raw = rig_alloc(a_len > b_len ? a_len : b_len, 1);

	for (size_t i = 0; i < a_len; i++)
		raw[i] = rig_random();
	for (uint32_t i = 0; i < m->m; i++)
		for (uint32_t k = 0; k < m->k; k++)
			op.a[(size_t)i * m->k + k] =
				rig_random_element(m->in, raw + bytes * rig_index(m->in, m->lda, m->m, i, k));
	rig_put(rig, m->a, raw, a_len);
	for (uint32_t n = 0; n < m->n; n++)
		for (uint32_t k = 0; k < m->k; k++)
			op.b[(size_t)n * m->k + k] = rig_random_element(m->in, raw + bytes * rig_weight_index(m, n, k));
	rig_put(rig, m->b, raw, b_len);
	free(raw);
	return op;
}

static inline void rig_free_operands(struct rig_operands op)
{
	free(op.a);
	free(op.b);
}

static inline double rig_value(uint32_t precision, const uint8_t *at)
{
	uint16_t half;
	int32_t integer;
	float single;

	switch (precision) {
	case ORK_PRECISION_FP16:
		memcpy(&half, at, sizeof(half));
		return rig_half(half);
	case ORK_PRECISION_FP32:
		memcpy(&single, at, sizeof(single));
		return single;
	default:
		memcpy(&integer, at, sizeof(integer));
		return integer;
	}
}

/*
 * Integers exactly; fp32 within the bound that boards were measured to keep, (2e-7 sqrt(k / 1024) +
 * 2e-7) of the sum of magnitudes; fp16 within that and its rounding.
 */
static inline bool rig_close(uint32_t precision, double got, double want, double magnitude, uint32_t k)
{
	double error = got > want ? got - want : want - got, rest;

	if (precision == ORK_PRECISION_INT32)
		return got == want;
	if (precision == ORK_PRECISION_FP16)
		error -= (want > 0 ? want : -want) / 2048 + rig_power(-25);
	rest = error - 2e-7 * magnitude;
	return rest <= 0 || rest * rest <= 4e-14 * magnitude * magnitude * k / 1024;
}

/*
 * Whether C, as the CPU sees it after an invalidate, is the product. Sums of int8 products are
 * exact in double.
 */
static inline bool rig_product(struct rig *rig, const struct rig_matmul *m, struct rig_operands op)
{
	size_t len = rig_extent(m->out, m->ldc, m->m, m->n);
	uint8_t *c = rig_alloc(len, 1);
	bool good = true;

	rig_get(rig, m->c, c, len);
	for (uint32_t i = 0; i < m->m; i++)
		for (uint32_t n = 0; n < m->n; n++) {
			const double *a = op.a + (size_t)i * m->k, *b = op.b + (size_t)n * m->k;
			double want = 0, magnitude = 0;
			double got = rig_value(m->out, c + rig_bytes(m->out) * rig_index(m->out, m->ldc, m->m, i, n));

			for (uint32_t k = 0; k < m->k; k++) {
				want += a[k] * b[k];
				magnitude += a[k] * b[k] > 0 ? a[k] * b[k] : -a[k] * b[k];
			}
			good &= rig_close(m->out, got, want, magnitude, m->k);
		}
	free(c);
	return good;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Programs as words: what their registers are after the last one. */
#ifndef ORK_TEST_PROGRAM_H
#define ORK_TEST_PROGRAM_H

#include <string.h>
#include "ork_private.h"
#include "test.h"

#define PROGRAM_WORDS	112

/* Value of each register after the program's last word, by register number. */
static uint32_t registers[0x8000 / 4];

static inline uint32_t reg(uint32_t offset)
{
	return registers[offset / 4];
}

/* Bits @high..@low of a register. */
static inline uint32_t bits(uint32_t offset, unsigned int high, unsigned int low)
{
	return (uint32_t)((uint64_t)reg(offset) >> low & ((1ull << (high - low + 1)) - 1));
}

/* Checks the targets of all words, and the last two, which start the CNA, the CORE and the DPU. */
static inline void decode_program(const uint64_t *words)
{
	static const uint32_t targets[] = { 0x0101, 0x0201, 0, 0x0801, 0x1001, 0x2001, 0x4001, 0x8001 };
	uint32_t i, offset;

	memset(registers, 0, sizeof(registers));
	for (i = 0; i < PROGRAM_WORDS - 2; i++) {
		offset = words[i] & 0xffff;
		if (offset >= 0x8000 || words[i] >> 48 != targets[offset >> 12]) {
			CHECK(false, "word %u is 0x%016llx", i, (unsigned long long)words[i]);
			return;
		}
		registers[offset / 4] = (uint32_t)(words[i] >> 16);
	}
	CHECK_EQUAL(words[PROGRAM_WORDS - 2], 0x0041ull << 48);
	CHECK_EQUAL(words[PROGRAM_WORDS - 1], 0x00810000000d0008ull);
}

#endif

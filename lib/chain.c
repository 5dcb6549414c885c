// SPDX-License-Identifier: MIT
/* Builder of register-command chains. */
#include <errno.h>
#include "ork_private.h"

/* ork_chain.program while none is open. */
#define NONE	UINT64_MAX

#define ENABLE_ALL	(ORK_ENABLE_CNA | ORK_ENABLE_CORE | ORK_ENABLE_DPU | ORK_ENABLE_RDMA | ORK_ENABLE_PPU | \
			 ORK_ENABLE_PPU_RDMA)

/* Ignored by the fetcher: fills a beat when a program has an odd number of words. */
#define NO_OPERATION	0

static uint64_t *word_at(const struct ork_chain *chain, uint64_t offset)
{
	return (uint64_t *)((char *)chain->bo->data + offset);
}

static void fail(struct ork_chain *chain, int error)
{
	if (!chain->error)
		chain->error = error;
}

int ork_chain_init(struct ork_chain *chain, struct ork_bo *bo, uint64_t offset, uint64_t size)
{
	*chain = (struct ork_chain) { .bo = bo, .offset = offset, .program = NONE };
	if (offset % ORK_PROGRAM_ALIGN)
		chain->error = ork_fail(bo->ork, -EINVAL, "chain at offset %llu, not a multiple of %u",
					(unsigned long long)offset, ORK_PROGRAM_ALIGN);
	else if (offset > bo->size || size > bo->size - offset)
		chain->error = ork_fail(bo->ork, -EINVAL, "chain of %llu bytes at %llu in an object of %llu",
					(unsigned long long)size, (unsigned long long)offset,
					(unsigned long long)bo->size);
	else
		chain->limit = offset + size;
	return chain->error;
}

void ork_chain_begin(struct ork_chain *chain)
{
	if (chain->program != NONE)
		fail(chain, -EBUSY);
	if (chain->programs == ORK_CHAIN_MAX_PROGRAMS)
		fail(chain, -E2BIG);
	if (chain->error)
		return;
	chain->program = ork_round_up(chain->offset + chain->bytes, ORK_PROGRAM_ALIGN);
	chain->next = chain->program;
}

uint64_t *ork_chain_reserve(struct ork_chain *chain, uint32_t words)
{
	uint64_t *first;

	if (chain->program == NONE)
		fail(chain, -EINVAL);
	else if (chain->next > chain->limit || words > (chain->limit - chain->next) / 8)
		fail(chain, -ENOSPC);
	if (chain->error)
		return NULL;
	first = word_at(chain, chain->next);
	chain->next += words * 8ull;
	return first;
}

void ork_chain_set(struct ork_chain *chain, uint32_t reg, uint32_t value)
{
	uint32_t target = ork_reg_target(reg);
	uint64_t *word;

	if (!target || reg % 4) {
		fail(chain, -EINVAL);
		return;
	}
	word = ork_chain_reserve(chain, 1);
	if (word)
		*word = ORK_REGCMD(target, reg, value);
}

/* The first half of a tail: where the next program is; zeros behind the last. */
static void put_link(uint64_t *tail, uint32_t iova, uint32_t amount)
{
	tail[0] = ORK_REGCMD(ORK_TARGET_PC, ORK_PC_BASE_ADDRESS, iova);
	tail[1] = ORK_REGCMD(ORK_TARGET_PC, ORK_PC_REGISTER_AMOUNTS, amount);
}

/* The open program is complete: what came before it may lead to it. */
static void join(struct ork_chain *chain, uint32_t words)
{
	if (chain->programs)
		put_link(word_at(chain, chain->link), chain->bo->iova + (uint32_t)chain->program, ORK_PC_AMOUNT(words));
	else
		chain->first_words = words;
	chain->link = chain->next - ORK_PROGRAM_TAIL_WORDS * 8;
	chain->bytes = chain->next - chain->offset;
	chain->programs++;
	chain->program = NONE;
}

int ork_chain_end(struct ork_chain *chain, uint32_t enable)
{
	uint64_t words = (chain->next - chain->program) / 8;
	uint32_t pad = words % ORK_PROGRAM_BEAT_WORDS;
	uint64_t *tail;

	if (!enable || enable & ~ENABLE_ALL)
		fail(chain, -EINVAL);
	if (chain->program != NONE && words + pad + ORK_PROGRAM_TAIL_WORDS > ORK_PROGRAM_MAX_WORDS)
		fail(chain, -E2BIG);
	tail = ork_chain_reserve(chain, pad + ORK_PROGRAM_TAIL_WORDS);
	if (!tail)
		return chain->error;
	if (pad)
		*tail++ = NO_OPERATION;
	put_link(tail, 0, 0);
	tail[2] = ORK_REGCMD(ORK_TARGET_SYNC, 0, 0);
	tail[3] = ORK_REGCMD(ORK_TARGET_ENABLE, ORK_PC_OPERATION_ENABLE, enable);
	join(chain, words + pad + ORK_PROGRAM_TAIL_WORDS);
	return 0;
}

uint64_t *ork_chain_append(struct ork_chain *chain, uint32_t words, uint32_t enable)
{
	uint64_t *first;

	ork_chain_begin(chain);
	first = ork_chain_reserve(chain, words);
	return ork_chain_end(chain, enable) ? NULL : first;
}

int ork_chain_task(const struct ork_chain *chain, struct drm_ork_task *task)
{
	if (chain->error)
		return chain->error;
	if (!chain->programs || chain->program != NONE)
		return -EINVAL;
	*task = (struct drm_ork_task) {
		.iova = chain->bo->iova + chain->offset,
		.words = chain->first_words,
		.programs = chain->programs,
	};
	return 0;
}

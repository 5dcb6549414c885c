/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_HOLD_H__
#define __ORK_HOLD_H__

#include <linux/kref.h>

struct ork_mapping;
struct ork_vm;

/**
 * struct ork_hold - what was mapped in an address space at one moment, and stays there
 * @ref: jobs that may use it
 * @count: how many mappings
 * @mappings: in the order of their addresses; each referenced, and so is its object
 */
struct ork_hold {
	struct kref ref;
	u32 count;
	struct ork_mapping *mappings[];
};

struct ork_hold *ork_hold_create(struct ork_vm *vm);
struct ork_hold *ork_hold_get(struct ork_hold *hold);
void ork_hold_put(struct ork_hold *hold);
bool ork_hold_covers(const struct ork_hold *hold, u64 iova, u64 bytes);
u64 ork_hold_read(const struct ork_hold *hold, u64 iova);

#endif

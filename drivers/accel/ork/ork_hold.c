// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything that is mapped in an address space, kept for jobs that do not tell what they use.
 */

#include <linux/highmem.h>
#include <linux/mm.h>

#include "ork_gem.h"
#include "ork_hold.h"
#include "ork_mmu.h"

static void ork_hold_release(struct kref *ref)
{
	struct ork_hold *hold = container_of(ref, struct ork_hold, ref);
	u32 i;

	for (i = 0; i < hold->count; i++) {
		struct ork_bo *bo = hold->mappings[i]->bo;

		ork_mapping_put(hold->mappings[i]);
		drm_gem_object_put(&bo->base.base);
	}
	kvfree(hold);
}

/**
 * ork_hold_put() - drop a reference
 * @hold: what is held, or NULL
 *
 * Context: process.
 */
void ork_hold_put(struct ork_hold *hold)
{
	if (hold)
		kref_put(&hold->ref, ork_hold_release);
}

/**
 * ork_hold_get() - take a reference
 * @hold: what is held
 *
 * Return: @hold.
 */
struct ork_hold *ork_hold_get(struct ork_hold *hold)
{
	kref_get(&hold->ref);
	return hold;
}

/*
 * As long as a mapping has its addresses, somebody keeps its object: whoever drops the last
 * reference on the mapping, at the latest while he waits for the lock to take the addresses back.
 * So the object is taken first.
 */
static void ork_hold_add(struct ork_hold *hold, struct ork_mapping *mapping)
{
	struct drm_gem_object *obj = &mapping->bo->base.base;

	drm_gem_object_get(obj);
	if (kref_get_unless_zero(&mapping->ref))
		hold->mappings[hold->count++] = mapping;
	else
		drm_gem_object_put(obj);	/* not the last one */
}

/**
 * ork_hold_create() - keep what is mapped
 * @vm: the address space
 *
 * Context: process.
 * Return: what is held, with one reference, or NULL if there is no memory.
 */
struct ork_hold *ork_hold_create(struct ork_vm *vm)
{
	struct drm_mm_node *node;
	struct ork_hold *hold;
	u32 count = 0;

	mutex_lock(&vm->lock);
	drm_mm_for_each_node(node, &vm->mm)
		count++;
	hold = kvzalloc(struct_size(hold, mappings, count), GFP_KERNEL_ACCOUNT);
	if (hold) {
		kref_init(&hold->ref);
		drm_mm_for_each_node(node, &vm->mm)
			ork_hold_add(hold, container_of(node, struct ork_mapping, node));
	}
	mutex_unlock(&vm->lock);
	return hold;
}

/* The mapping with an address, or NULL. */
static struct ork_mapping *ork_hold_find(const struct ork_hold *hold, u64 iova)
{
	u32 low = 0, high = hold->count;

	while (low < high) {
		u32 middle = (low + high) / 2;
		struct ork_mapping *mapping = hold->mappings[middle];

		if (iova < mapping->node.start)
			high = middle;
		else if (iova - mapping->node.start >= mapping->bo->base.base.size)
			low = middle + 1;
		else
			return mapping;
	}
	return NULL;
}

/**
 * ork_hold_covers() - whether memory is held
 * @hold: what is held
 * @iova: first byte
 * @bytes: how many, at least 1
 *
 * Return: true if all of them lie in one object.
 */
bool ork_hold_covers(const struct ork_hold *hold, u64 iova, u64 bytes)
{
	struct ork_mapping *mapping = ork_hold_find(hold, iova);

	return mapping &&
	       bytes <= mapping->bo->base.base.size - (iova - mapping->node.start);
}

/**
 * ork_hold_read() - a word as the CPU sees it
 * @hold: what is held
 * @iova: its address, a multiple of 8 that ork_hold_covers(), in an object of this device's memory
 *
 * Context: process.
 * Return: the word.
 */
u64 ork_hold_read(const struct ork_hold *hold, u64 iova)
{
	struct ork_mapping *mapping = ork_hold_find(hold, iova);
	u64 offset = iova - mapping->node.start, word;
	char *page = kmap_local_page(mapping->bo->base.pages[offset >> PAGE_SHIFT]);

	word = READ_ONCE(*(u64 *)(page + offset_in_page(offset)));
	kunmap_local(page);
	return word;
}

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_MMU_H__
#define __ORK_MMU_H__

#include <linux/iommu.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include <drm/drm_mm.h>

struct ork_bo;
struct ork_core;
struct ork_device;

/**
 * struct ork_vm - an address space of the NPU
 * @ork: the device
 * @ref: its file, its mappings, and the IOMMUs it is attached to
 * @domain: its page tables
 * @sink: a page that is mapped behind every object, as often as it takes to be as long as that, for
 *	programs that reach beyond their objects; NULL: they fault. Fixed before there are objects
 * @sink_dma: where the device sees it
 * @lock: guards @mm and changes of @domain
 * @mm: which IOVAs are taken; each object with a guard page behind it
 */
struct ork_vm {
	struct ork_device *ork;
	struct kref ref;
	struct iommu_domain *domain;
	struct page *sink;
	dma_addr_t sink_dma;
	struct mutex lock;	/* after a bo->lock */
	struct drm_mm mm;
};

/**
 * struct ork_mapping - an object in an address space
 * @ref: handles of the space's file, and jobs
 * @vm: the address space; referenced
 * @bo: the object; everyone with a reference on the mapping has one on the object too
 * @node: where it lies, with what is behind it
 * @link: in bo->mappings
 */
struct ork_mapping {
	struct kref ref;
	struct ork_vm *vm;
	struct ork_bo *bo;
	struct drm_mm_node node;
	struct list_head link;
};

/**
 * struct ork_fault - an access that an IOMMU refused
 * @time: when it was reported; 0: never
 * @iova: where
 * @write: it was to write
 */
struct ork_fault {
	ktime_t time;
	u64 iova;
	bool write;
};

/**
 * struct ork_mmu - one IOMMU group, and the cores behind it
 * @ork: the device
 * @group: the group
 * @iommu: node of the IOMMU, to tell whose fault is reported
 * @cores: bits of the cores behind it
 * @lock: attaching and detaching; taken before ork->lock
 * @vm: the attached address space, referenced; NULL: none. Written under both locks, read under
 *	either
 * @claim: the space that gets the mmu as soon as its cores are idle; until then, only those that
 *	are @fresh start a job of another. Found anew each time that jobs are dispatched, unless
 *	@switching. Under ork->lock
 * @fresh: bits of the cores that have started nothing since @vm was attached; under ork->lock
 * @stale: a core behind it was reset, and its own part of the IOMMU perhaps with it: nothing
 *	starts until the space has been detached. Under ork->lock
 * @switching: cores start nothing while the attachment changes; under ork->lock
 * @work: attaches @claim
 * @switches: attachments made; under ork->lock
 * @fault: the last one; under ork->lock
 */
struct ork_mmu {
	struct ork_device *ork;
	struct iommu_group *group;
	struct device_node *iommu;
	u32 cores;
	struct mutex lock;	/* before ork->lock */
	struct ork_vm *vm;
	struct ork_vm *claim;
	u32 fresh;
	bool stale;
	bool switching;
	struct work_struct work;
	u64 switches;
	struct ork_fault fault;
};

struct ork_vm *ork_vm_create(struct ork_device *ork);
int ork_vm_add_sink(struct ork_vm *vm);
void ork_vm_put(struct ork_vm *vm);
bool ork_vm_has_room(struct ork_vm *vm, u64 size);

struct ork_mapping *ork_mapping_get(struct ork_vm *vm, struct ork_bo *bo);
struct ork_mapping *ork_mapping_find(struct ork_vm *vm, struct ork_bo *bo);
void ork_mapping_put(struct ork_mapping *mapping);

struct ork_mmu *ork_mmu_get(struct ork_device *ork, struct ork_core *core);
void ork_mmu_put(struct ork_mmu *mmu, struct ork_core *core);
bool ork_mmu_idle_locked(const struct ork_mmu *mmu);
void ork_mmu_stop(struct ork_mmu *mmu);
void ork_mmu_detach(struct ork_mmu *mmu, struct ork_vm *vm);

#if IS_ENABLED(CONFIG_KUNIT)
void ork_vm_init_room(struct drm_mm *mm);
int ork_vm_take_room(struct drm_mm *mm, struct drm_mm_node *node, u64 size);
bool ork_mmu_begin_switch(struct ork_mmu *mmu, struct ork_vm **vm);
#endif

#endif

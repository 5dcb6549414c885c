// SPDX-License-Identifier: GPL-2.0-only
/*
 * Address spaces, what is mapped in them, and which IOMMU has which attached.
 */

#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/of.h>
#include <linux/overflow.h>
#include <linux/platform_device.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "ork_compat.h"
#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_fault.h"
#include "ork_gem.h"
#include "ork_live.h"
#include "ork_trace.h"
#include "ork_watchdog.h"

static struct ork_vm *ork_vm_get(struct ork_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

static void ork_vm_release(struct kref *ref)
{
	struct ork_vm *vm = container_of(ref, struct ork_vm, ref);

	drm_mm_takedown(&vm->mm);
	iommu_domain_free(vm->domain);
	if (vm->sink) {
		dma_unmap_page(vm->ork->drm.dev, vm->sink_dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
		__free_page(vm->sink);
	}
	mutex_destroy(&vm->lock);
	drm_dev_put(&vm->ork->drm);
	kfree(vm);
	ork_live_dec(ORK_LIVE_VMS);
}

/**
 * ork_vm_put() - drop a reference on an address space
 * @vm: the address space
 *
 * Context: process.
 */
void ork_vm_put(struct ork_vm *vm)
{
	kref_put(&vm->ref, ork_vm_release);
}

/*
 * Runs in the IOMMU's hard interrupt. The access is not replayed with success whatever is done
 * here, so the job that made it fails. Cores that share an IOMMU share its report: then each one's
 * own status tells. Nobody is blamed because nobody else runs: whose fault it was may have been
 * seen, and the core stopped, already.
 */
static int ork_vm_fault(struct iommu_domain *domain, struct device *iommu, unsigned long iova,
			int fault, void *data)
{
	struct ork_fault seen = { ktime_get(), iova, fault == IOMMU_FAULT_WRITE };
	struct ork_vm *vm = data;
	struct ork_device *ork = vm->ork;
	unsigned long flags;
	unsigned int i;

	drm_dbg(&ork->drm, "%s: %s fault at %#lx\n", dev_name(iommu),
		fault == IOMMU_FAULT_WRITE ? "write" : "read", iova);

	spin_lock_irqsave(&ork->lock, flags);
	for (i = 0; i < ork->num_cores; i++) {
		struct ork_core *core = &ork->cores[i];

		if (core->mmu->vm != vm || core->mmu->iommu != iommu->of_node)
			continue;
		core->mmu->fault = seen;
		if (core->job)
			ork_watchdog_fault_locked(core, is_power_of_2(core->mmu->cores));
	}
	spin_unlock_irqrestore(&ork->lock, flags);
	return 0;
}

VISIBLE_IF_KUNIT void ork_vm_init_room(struct drm_mm *mm)
{
	drm_mm_init(mm, ORK_IOVA_START, (u64)ORK_IOVA_END + 1 - ORK_IOVA_START);
}

/* Finds addresses for an object and its guard page. */
VISIBLE_IF_KUNIT int ork_vm_take_room(struct drm_mm *mm, struct drm_mm_node *node, u64 size)
{
	u64 all;

	if (check_add_overflow(size, (u64)ORK_GUARD_SIZE, &all))
		return -ENOSPC;
	return drm_mm_insert_node(mm, node, all);
}

/**
 * ork_vm_create() - an empty address space
 * @ork: the device, with its cores bound
 *
 * Return: the address space with one reference, or an ERR_PTR().
 */
struct ork_vm *ork_vm_create(struct ork_device *ork)
{
	struct ork_vm *vm = kzalloc(sizeof(*vm), GFP_KERNEL);

	if (!vm)
		return ERR_PTR(-ENOMEM);

	vm->domain = ork_compat_domain_alloc(ork->cores[0].dev);
	if (IS_ERR(vm->domain)) {
		struct ork_vm *error = ERR_CAST(vm->domain);

		kfree(vm);
		return error;
	}

	ork_live_inc(ORK_LIVE_VMS);
	drm_dev_get(&ork->drm);
	vm->ork = ork;
	kref_init(&vm->ref);
	mutex_init(&vm->lock);
	ork_vm_init_room(&vm->mm);
	iommu_set_fault_handler(vm->domain, ork_vm_fault, vm);
	return vm;
}

/**
 * ork_vm_add_sink() - let programs reach beyond their objects without harm
 * @vm: the address space, without objects
 *
 * What they write there is lost. It is nobody else's, and is zero at first.
 *
 * Return: 0 or -ENOMEM.
 */
int ork_vm_add_sink(struct ork_vm *vm)
{
	struct device *dev = vm->ork->drm.dev;
	struct page *sink = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);

	if (!sink)
		return -ENOMEM;
	vm->sink_dma = dma_map_page(dev, sink, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, vm->sink_dma)) {
		__free_page(sink);
		return -ENOMEM;
	}
	vm->sink = sink;
	return 0;
}

/* Bytes behind an object that lead to the sink. */
static u64 ork_vm_slack(const struct ork_vm *vm, u64 size)
{
	return vm->sink ? min_t(u64, size, ORK_SLACK_MAX) : 0;
}

/**
 * ork_vm_has_room() - whether an object would fit
 * @vm: the address space
 * @size: of the object in bytes
 *
 * Spares a caller from finding memory for what cannot be mapped anyway; the room may be gone when
 * it is needed.
 *
 * Context: process.
 * Return: true if it would.
 */
bool ork_vm_has_room(struct ork_vm *vm, u64 size)
{
	struct drm_mm_node node = {};
	bool room;

	mutex_lock(&vm->lock);
	room = !ork_vm_take_room(&vm->mm, &node, size + ork_vm_slack(vm, size));
	if (room)
		drm_mm_remove_node(&node);
	mutex_unlock(&vm->lock);
	return room;
}

/*
 * Maps what the device sees of a table, all of it or nothing. Its DMA addresses are physical ones:
 * they were made for a device without an IOMMU. Its pages would not do: a bounced page lies
 * elsewhere, and an exporter may give none. That it is as long as its object is known since it was
 * indexed.
 */
static int ork_vm_map_locked(struct ork_vm *vm, u64 iova, struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 mapped = 0;
	int ret = 0;

	lockdep_assert_held(&vm->lock);
	for_each_sgtable_dma_sg(sgt, sg, i) {
		ret = ork_compat_iommu_map(vm->domain, iova + mapped, sg_dma_address(sg),
					   sg_dma_len(sg), IOMMU_READ | IOMMU_WRITE);
		if (ret)
			break;
		mapped += sg_dma_len(sg);
	}
	if (ret && mapped)
		iommu_unmap(vm->domain, iova, mapped);
	return ret;
}

static int ork_vm_map_slack_locked(struct ork_vm *vm, u64 iova, u64 size)
{
	u64 slack = ork_vm_slack(vm, size), done;
	int ret = 0;

	iova += size;
	for (done = 0; done < slack && !ret; done += PAGE_SIZE)
		ret = ork_compat_iommu_map(vm->domain, iova + done, vm->sink_dma, PAGE_SIZE,
					   IOMMU_READ | IOMMU_WRITE);
	if (ret)
		iommu_unmap(vm->domain, iova - size, size + done - PAGE_SIZE);
	return ret;
}

static int ork_mapping_map(struct ork_mapping *mapping)
{
	struct ork_vm *vm = mapping->vm;
	struct ork_bo *bo = mapping->bo;
	u64 size = bo->base.base.size;
	int ret;

	mutex_lock(&vm->lock);
	ret = ork_vm_take_room(&vm->mm, &mapping->node, size + ork_vm_slack(vm, size));
	if (ret)
		goto out;
	ret = ork_vm_map_locked(vm, mapping->node.start, bo->sgt);
	if (!ret)
		ret = ork_vm_map_slack_locked(vm, mapping->node.start, size);
	if (ret)
		drm_mm_remove_node(&mapping->node);
out:
	mutex_unlock(&vm->lock);
	return ret;
}

static void ork_mapping_release(struct kref *ref)
{
	struct ork_mapping *mapping = container_of(ref, struct ork_mapping, ref);
	struct ork_vm *vm = mapping->vm;
	struct ork_bo *bo = mapping->bo;
	u64 size = bo->base.base.size;

	list_del(&mapping->link);
	mutex_unlock(&bo->lock);

	mutex_lock(&vm->lock);
	iommu_unmap(vm->domain, mapping->node.start, size + ork_vm_slack(vm, size));
	drm_mm_remove_node(&mapping->node);
	mutex_unlock(&vm->lock);
	ork_vm_put(vm);
	kfree(mapping);
	ork_live_dec(ORK_LIVE_MAPPINGS);
}

/**
 * ork_mapping_put() - drop a reference on a mapping
 * @mapping: the mapping, whose object the caller keeps alive
 *
 * Context: process.
 */
void ork_mapping_put(struct ork_mapping *mapping)
{
	kref_put_mutex(&mapping->ref, ork_mapping_release, &mapping->bo->lock);
}

static struct ork_mapping *ork_mapping_find_locked(struct ork_vm *vm, struct ork_bo *bo)
{
	struct ork_mapping *mapping;

	lockdep_assert_held(&bo->lock);
	list_for_each_entry(mapping, &bo->mappings, link) {
		if (mapping->vm == vm) {
			kref_get(&mapping->ref);
			return mapping;
		}
	}
	return NULL;
}

/**
 * ork_mapping_find() - where an object lies in an address space
 * @vm: the address space
 * @bo: the object
 *
 * Return: a reference on the mapping, or NULL if there is none.
 */
struct ork_mapping *ork_mapping_find(struct ork_vm *vm, struct ork_bo *bo)
{
	struct ork_mapping *mapping;

	mutex_lock(&bo->lock);
	mapping = ork_mapping_find_locked(vm, bo);
	mutex_unlock(&bo->lock);
	return mapping;
}

static struct ork_mapping *ork_mapping_create(struct ork_vm *vm, struct ork_bo *bo)
{
	struct ork_mapping *mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	int ret;

	if (!mapping)
		return ERR_PTR(-ENOMEM);

	kref_init(&mapping->ref);
	mapping->vm = vm;
	mapping->bo = bo;
	ret = ork_mapping_map(mapping);
	if (ret) {
		kfree(mapping);
		return ERR_PTR(ret);
	}
	ork_live_inc(ORK_LIVE_MAPPINGS);
	ork_vm_get(vm);
	list_add(&mapping->link, &bo->mappings);
	return mapping;
}

/**
 * ork_mapping_get() - map an object, unless it is mapped already
 * @vm: the address space
 * @bo: the object
 *
 * Context: process.
 * Return: a reference on the mapping, or an ERR_PTR(): -ENOSPC if the address space is full,
 * -ENOMEM.
 */
struct ork_mapping *ork_mapping_get(struct ork_vm *vm, struct ork_bo *bo)
{
	struct ork_mapping *mapping;

	mutex_lock(&bo->lock);
	mapping = ork_mapping_find_locked(vm, bo);
	if (!mapping)
		mapping = ork_mapping_create(vm, bo);
	mutex_unlock(&bo->lock);
	return mapping;
}

static void ork_mmu_set_vm(struct ork_mmu *mmu, struct ork_vm *vm)
{
	unsigned long flags;

	spin_lock_irqsave(&mmu->ork->lock, flags);
	mmu->vm = vm;
	if (vm)
		mmu->switches++;
	spin_unlock_irqrestore(&mmu->ork->lock, flags);
}

static void ork_mmu_detach_locked(struct ork_mmu *mmu)
{
	struct ork_vm *vm = mmu->vm;

	lockdep_assert_held(&mmu->lock);
	if (!vm)
		return;
	ork_mmu_set_vm(mmu, NULL);
	iommu_detach_group(vm->domain, mmu->group);
	ork_live_dec(ORK_LIVE_ATTACHMENTS);
	ork_vm_put(vm);
}

static int ork_mmu_attach_locked(struct ork_mmu *mmu, struct ork_vm *vm)
{
	int ret;

	lockdep_assert_held(&mmu->lock);
	ret = ork_fault_due(ORK_FAULT_ATTACH) ? -ETIMEDOUT :
	      iommu_attach_group(vm->domain, mmu->group);
	if (ret) {
		drm_notice(&mmu->ork->drm, "an address space cannot be attached: %d\n", ret);
		return ret;
	}
	ork_live_inc(ORK_LIVE_ATTACHMENTS);
	ork_mmu_set_vm(mmu, ork_vm_get(vm));
	return 0;
}

/**
 * ork_mmu_idle_locked() - whether no core behind an IOMMU uses it
 * @mmu: the IOMMU
 *
 * A core that hangs uses it until it has been reset.
 *
 * Context: any; under ork->lock.
 * Return: true if none does.
 */
bool ork_mmu_idle_locked(const struct ork_mmu *mmu)
{
	unsigned int i;

	lockdep_assert_held(&mmu->ork->lock);
	for (i = 0; i < mmu->ork->num_cores; i++) {
		const struct ork_core *core = &mmu->ork->cores[i];

		if ((mmu->cores & BIT(i)) && (core->job || core->recovering))
			return false;
	}
	return true;
}

/*
 * From here on the cores behind the IOMMU start nothing, until ork_dispatch_switched(). @vm is
 * what it is to be given, referenced, or NULL. False if there is nothing to do, or not yet.
 */
VISIBLE_IF_KUNIT bool ork_mmu_begin_switch(struct ork_mmu *mmu, struct ork_vm **vm)
{
	unsigned long flags;

	*vm = NULL;
	spin_lock_irqsave(&mmu->ork->lock, flags);
	if ((mmu->claim || mmu->stale) && ork_mmu_idle_locked(mmu)) {
		mmu->switching = true;
		mmu->stale = false;
		if (mmu->claim)
			*vm = ork_vm_get(mmu->claim);
	}
	spin_unlock_irqrestore(&mmu->ork->lock, flags);
	return mmu->switching;
}

/* The IOMMU stalls for an attachment: traffic of a core that it waits for may end with a reset. */
static int ork_mmu_reset_cores(struct ork_mmu *mmu)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < mmu->ork->num_cores && !ret; i++)
		if (mmu->cores & BIT(i))
			ret = ork_core_reset(&mmu->ork->cores[i]);
	return ret;
}

static int ork_mmu_switch_locked(struct ork_mmu *mmu, struct ork_vm *vm)
{
	int ret;

	ork_mmu_detach_locked(mmu);
	if (!vm)
		return 0;
	ret = ork_mmu_attach_locked(mmu, vm);
	if (ret)
		ret = ork_mmu_reset_cores(mmu) ?: ork_mmu_attach_locked(mmu, vm);
	return ret;
}

/*
 * Not marked as part of the way to a fence's signal, though jobs wait for it: the IOMMU core
 * allocates memory under the lock that attaching takes.
 */
static void ork_mmu_work(struct work_struct *work)
{
	struct ork_mmu *mmu = container_of(work, struct ork_mmu, work);
	u64 start = ktime_get_ns();
	struct ork_vm *vm;
	int ret;

	mutex_lock(&mmu->lock);
	if (ork_mmu_begin_switch(mmu, &vm)) {
		ret = ork_mmu_switch_locked(mmu, vm);
		if (vm && !ret)
			trace_ork_switch(mmu - mmu->ork->mmus, ktime_get_ns() - start);
		ork_dispatch_switched(mmu, ret);
		if (vm)
			ork_vm_put(vm);
	}
	mutex_unlock(&mmu->lock);
}

/**
 * ork_mmu_detach() - take an address space away from an IOMMU, if it is the one attached
 * @mmu: the IOMMU
 * @vm: an address space of which no job runs or will run
 *
 * Context: process.
 */
void ork_mmu_detach(struct ork_mmu *mmu, struct ork_vm *vm)
{
	mutex_lock(&mmu->lock);
	if (mmu->vm == vm)
		ork_mmu_detach_locked(mmu);
	mutex_unlock(&mmu->lock);
}

/**
 * ork_mmu_stop() - no address space is attached any more, nor will be
 * @mmu: an IOMMU whose cores get no more jobs
 *
 * Context: process.
 */
void ork_mmu_stop(struct ork_mmu *mmu)
{
	cancel_work_sync(&mmu->work);
	mutex_lock(&mmu->lock);
	ork_mmu_detach_locked(mmu);
	mutex_unlock(&mmu->lock);
}

/**
 * ork_mmu_get() - the IOMMU of a core
 * @ork: the device
 * @core: the core, powered
 *
 * Return: the IOMMU, or an ERR_PTR().
 */
struct ork_mmu *ork_mmu_get(struct ork_device *ork, struct ork_core *core)
{
	struct iommu_group *group = iommu_group_get(core->dev);
	struct ork_mmu *mmu;
	unsigned int i;

	if (!group)
		return ERR_PTR(dev_err_probe(core->dev, -ENODEV, "no IOMMU\n"));

	for (i = 0; i < ork->num_mmus; i++) {
		mmu = &ork->mmus[i];
		if (mmu->group == group) {
			iommu_group_put(group);
			mmu->cores |= BIT(core->index);
			return mmu;
		}
	}

	mmu = &ork->mmus[ork->num_mmus++];
	memset(mmu, 0, sizeof(*mmu));
	mmu->ork = ork;
	mmu->group = group;
	mmu->iommu = of_parse_phandle(core->dev->of_node, "iommus", 0);
	mmu->cores = BIT(core->index);
	mutex_init(&mmu->lock);
	INIT_WORK(&mmu->work, ork_mmu_work);
	return mmu;
}

/**
 * ork_mmu_put() - a core leaves its IOMMU; the last one leaves it detached
 * @mmu: the IOMMU
 * @core: the core, which runs nothing any more, still powered
 */
void ork_mmu_put(struct ork_mmu *mmu, struct ork_core *core)
{
	mmu->cores &= ~BIT(core->index);
	if (mmu->cores)
		return;

	ork_mmu_stop(mmu);
	of_node_put(mmu->iommu);
	iommu_group_put(mmu->group);
	mmu->group = NULL;
}

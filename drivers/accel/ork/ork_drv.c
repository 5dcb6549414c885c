// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver: one DRM device over the nodes of all cores.
 *
 * The mainline binding has a node for each core and none for the NPU as a whole. A platform
 * device of the module's own stands for that: it is the parent of the DRM device and, having no
 * IOMMU, the device for which pages are mapped and maintained. Its driver is the master of a
 * component set, of which every core is a part, so that the DRM device exists while all cores
 * do.
 */

#include <linux/component.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/rcupdate.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "ork_compat.h"
#include "ork_debugfs.h"
#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_fault.h"
#include "ork_fdinfo.h"
#include "ork_fence.h"
#include "ork_file.h"
#include "ork_gem.h"
#include "ork_job.h"
#include "ork_prime.h"
#include "ork_rocket.h"
#include "ork_submit.h"
#include "ork_sync.h"
#include "ork_watchdog.h"

/* --- QUERY ------------------------------------------------------------------ */

static void ork_query_device(struct ork_device *ork, struct drm_ork_device_info *info)
{
	*info = (struct drm_ork_device_info) {
		.soc = 3588,
		.hw_version = ork->hw_version,
		.flags = ork->coherent ? DRM_ORK_DEVICE_COHERENT : 0,
		.num_cores = ork->num_cores,
		.core_mask = BIT(ork->num_cores) - 1,
		.cache_line = ork_cache_line(),
		.page_size = PAGE_SIZE,
		.timeout_ms = ork_watchdog_default_ms(),
		.iova_start = ORK_IOVA_START,
		.iova_end = ORK_IOVA_END - ORK_GUARD_SIZE,
	};
}

static void ork_query_file(struct ork_file *ofile, struct drm_ork_counters *counters)
{
	struct ork_stats *stats = &ofile->stats;

	*counters = (struct drm_ork_counters) {
		.submits = atomic64_read(&stats->submits),
		.jobs = atomic64_read(&stats->jobs),
		.programs = atomic64_read(&stats->programs),
		.interrupts = atomic64_read(&stats->interrupts),
		.busy_ns = atomic64_read(&stats->busy_ns),
		.resets = atomic64_read(&stats->resets),
		.sync_calls = atomic64_read(&stats->sync_calls),
		.bytes_cleaned = atomic64_read(&stats->bytes_cleaned),
		.bytes_invalidated = atomic64_read(&stats->bytes_invalidated),
	};
}

static void ork_query_core(struct ork_core *core, struct drm_ork_counters *counters)
{
	unsigned long flags;

	spin_lock_irqsave(&core->ork->lock, flags);
	*counters = core->stats;
	counters->switches = core->mmu->switches;
	spin_unlock_irqrestore(&core->ork->lock, flags);
}

/* Copies as much as the caller has room for, zeroes the rest of the room, and tells the size. */
static int ork_query_copy(struct drm_device *drm, struct drm_ork_query *args, const void *answer,
			  u32 known)
{
	void __user *to = u64_to_user_ptr(args->ptr);
	u32 room = args->size;

	args->size = known;
	if (!args->ptr)
		return 0;
	if (!copy_to_user(to, answer, min(room, known)) &&
	    (room <= known || !clear_user(to + known, room - known)))
		return 0;
	drm_dbg(drm, "query: %u bytes at %#llx cannot be written\n", room, args->ptr);
	return -EFAULT;
}

static int ork_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_device *ork = to_ork_device(drm);
	struct drm_ork_query *args = data;
	struct drm_ork_device_info info;
	struct drm_ork_counters counters;
	int idx;

	if (args->pad || (args->index && args->type != DRM_ORK_QUERY_CORE)) {
		drm_dbg(drm, "query of type %u: index %u pad %u, not 0\n", args->type,
			args->index, args->pad);
		return -EINVAL;
	}

	switch (args->type) {
	case DRM_ORK_QUERY_DEVICE:
		ork_query_device(ork, &info);
		return ork_query_copy(drm, args, &info, sizeof(info));
	case DRM_ORK_QUERY_FILE:
		ork_query_file(file->driver_priv, &counters);
		return ork_query_copy(drm, args, &counters, sizeof(counters));
	case DRM_ORK_QUERY_CORE:
		if (args->index >= ork->num_cores) {
			drm_dbg(drm, "query of core %u of %u\n", args->index, ork->num_cores);
			return -EINVAL;
		}
		if (!drm_dev_enter(drm, &idx))
			return -ENODEV;
		ork_query_core(&ork->cores[args->index], &counters);
		drm_dev_exit(idx);
		return ork_query_copy(drm, args, &counters, sizeof(counters));
	}
	drm_dbg(drm, "query of unknown type %u\n", args->type);
	return -EINVAL;
}

/* --- the DRM device ---------------------------------------------------------- */

#define ORK_IOCTL(name, function) \
	DRM_IOCTL_DEF_DRV(ORK_##name, function, DRM_RENDER_ALLOW)

static const struct drm_ioctl_desc ork_ioctls[] = {
	ORK_IOCTL(QUERY, ork_query_ioctl),
	ORK_IOCTL(BO_CREATE, ork_bo_create_ioctl),
	ORK_IOCTL(BO_INFO, ork_bo_info_ioctl),
	ORK_IOCTL(BO_SYNC, ork_bo_sync_ioctl),
	ORK_IOCTL(SUBMIT, ork_submit_ioctl),
	ORK_IOCTL(WAIT, ork_wait_ioctl),
};

static const struct drm_driver ork_drm_driver = {
	.driver_features = DRIVER_GEM | ORK_COMPAT_NODE | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = ork_file_open,
	.postclose = ork_file_postclose,
	.ioctls = ork_ioctls,
	.num_ioctls = ARRAY_SIZE(ork_ioctls),
	.fops = &ork_file_ops,
	ORK_COMPAT_DRIVER_SHOW_FDINFO(ork_fdinfo_show)
	.gem_create_object = ork_gem_create_object,
	.gem_prime_import = ork_prime_import,
	/* The core's own choice, but 6.1 wants to be told. */
	.prime_handle_to_fd = drm_gem_prime_handle_to_fd,
	.prime_fd_to_handle = drm_gem_prime_fd_to_handle,
	.gem_prime_import_sg_table = ork_prime_import_sg_table,
	.name = "ork",
	.desc = "Rockchip NPU",
	ORK_COMPAT_DATE("20261130")
	.major = 1,
	.minor = 0,
};

static void ork_wq_release(struct drm_device *drm, void *data)
{
	destroy_workqueue(data);
}

/* What open files can reach lives as long as the DRM device. */
static int ork_device_init(struct ork_device *ork)
{
	spin_lock_init(&ork->lock);
	INIT_LIST_HEAD(&ork->waiting);
	INIT_LIST_HEAD(&ork->ready);
	INIT_WORK(&ork->settle, ork_jobs_settle);
	INIT_LIST_HEAD(&ork->queues);
	INIT_LIST_HEAD(&ork->ended);
	mutex_init(&ork->imports_lock);
	INIT_LIST_HEAD(&ork->imports);
	init_llist_head(&ork->done);
	INIT_WORK(&ork->release, ork_jobs_release);
	init_waitqueue_head(&ork->jobs_gone);

	if (!ork_fault_due(ORK_FAULT_QUEUE))
		ork->wq = alloc_workqueue("ork", WQ_MEM_RECLAIM | WQ_HIGHPRI | ORK_COMPAT_WQ_PERCPU,
					  0);
	if (!ork->wq)
		return -ENOMEM;
	return drmm_add_action_or_reset(&ork->drm, ork_wq_release, ork->wq);
}

static bool ork_is_coherent(void)
{
	struct device_node *np;
	bool coherent = false;

	np = of_find_matching_node(NULL, ork_node_match);
	if (np)
		coherent = of_dma_is_coherent(np);
	of_node_put(np);
	return coherent;
}

static bool ork_jobs_gone(struct ork_device *ork)
{
	bool gone;

	spin_lock_irq(&ork->lock);
	gone = !ork->jobs;
	spin_unlock_irq(&ork->lock);
	return gone;
}

static void ork_unbind(struct device *dev)
{
	struct ork_device *ork = dev_get_drvdata(dev);

	ork_rocket_unplug(ork);
	drm_dev_unplug(&ork->drm);
	ork_dispatch_shutdown(ork);
	component_unbind_all(dev, ork);
	wait_event(ork->jobs_gone, ork_jobs_gone(ork));
	flush_work(&ork->release);
	ork_rocket_release(ork);
}

static int ork_bind(struct device *dev)
{
	struct ork_device *ork;
	unsigned int i;
	int ret;

	ork = devm_drm_dev_alloc(dev, &ork_drm_driver, struct ork_device, drm);
	if (IS_ERR(ork))
		return PTR_ERR(ork);
	ork->front.npu = ork;
	dev_set_drvdata(dev, ork);
	ork->coherent = ork_is_coherent();

	ret = ork_device_init(ork);
	if (ret)
		return ret;
	ret = component_bind_all(dev, ork);
	if (ret)
		return ret;

	for (i = 0; i < ORK_MAX_CORES && ork->cores[i].dev; i++)
		ork->cores[i].ready = true;
	ork->num_cores = i;

	ret = drm_dev_register(&ork->drm, 0);
	if (ret) {
		component_unbind_all(dev, ork);
		return ret;
	}
	ret = ork_rocket_register(ork);
	if (ret) {
		ork_unbind(dev);
		return ret;
	}
	ork_debugfs_init(ork);
	drm_info(&ork->drm, "%u cores, version %#x%s\n", ork->num_cores, ork->hw_version,
		 ork->coherent ? ", coherent" : "");
	return 0;
}

static const struct component_master_ops ork_master_ops = {
	.bind = ork_bind,
	.unbind = ork_unbind,
};

/* --- platform drivers: each node, and the NPU as a whole ----------------------- */

static int ork_node_bind(struct device *dev, struct device *master, void *data)
{
	return ork_node_init(data, dev);
}

static void ork_node_unbind(struct device *dev, struct device *master, void *data)
{
	ork_node_fini(data, dev);
}

static const struct component_ops ork_node_ops = {
	.bind = ork_node_bind,
	.unbind = ork_node_unbind,
};

static int ork_node_probe(struct platform_device *pdev)
{
	int ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(ORK_DMA_BITS));

	return ret ?: component_add(&pdev->dev, &ork_node_ops);
}

static ORK_COMPAT_REMOVE ork_node_remove(struct platform_device *pdev)
{
	component_del(&pdev->dev, &ork_node_ops);
	return ORK_COMPAT_REMOVED;
}

static struct platform_driver ork_node_driver = {
	.probe = ork_node_probe,
	.remove = ork_node_remove,
	.driver = {
		.name = "ork-node",
		.of_match_table = ork_node_match,
	},
};

/* A node that another driver holds is never offered to this one: say who, and how it lets go. */
static void ork_report_holder(struct device *dev, struct device_node *np)
{
	struct platform_device *node = of_find_device_by_node(np);

	if (!node)
		return;
	device_lock(&node->dev);
	if (node->dev.driver)
		dev_notice(dev, "%s is held by %s; to free it: echo %s > /sys/bus/platform/drivers/%s/unbind\n",
			   dev_name(&node->dev), node->dev.driver->name, dev_name(&node->dev),
			   node->dev.driver->name);
	device_unlock(&node->dev);
	put_device(&node->dev);
}

static int ork_npu_probe(struct platform_device *pdev)
{
	struct component_match *match = NULL;
	struct device *dev = &pdev->dev;
	struct device_node *np;
	int ret;

	ret = dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(ORK_DMA_BITS));
	if (ret)
		return ret;

	dma_set_max_seg_size(dev, UINT_MAX);

	for_each_matching_node(np, ork_node_match) {
		if (!of_device_is_available(np))
			continue;
		ork_report_holder(dev, np);
		component_match_add_release(dev, &match, component_release_of,
					    component_compare_of, of_node_get(np));
	}
	if (!match)
		return -ENODEV;
	return component_master_add_with_match(dev, &ork_master_ops, match);
}

static ORK_COMPAT_REMOVE ork_npu_remove(struct platform_device *pdev)
{
	component_master_del(&pdev->dev, &ork_master_ops);
	return ORK_COMPAT_REMOVED;
}

static struct platform_driver ork_npu_driver = {
	.probe = ork_npu_probe,
	.remove = ork_npu_remove,
	.driver = {
		.name = "ork",
		/*
		 * Objects of open files are mapped for this device. It is let go with the module,
		 * which they hold; who wants the NPU unbinds the nodes.
		 */
		.suppress_bind_attrs = true,
	},
};

static struct platform_device *ork_npu;

static int __init ork_init(void)
{
	int ret;

	ret = platform_driver_register(&ork_npu_driver);
	if (ret)
		return ret;
	ork_npu = platform_device_register_simple("ork", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(ork_npu)) {
		ret = PTR_ERR(ork_npu);
		goto err_npu_driver;
	}
	ret = ork_rocket_init(&ork_npu->dev);
	if (ret)
		goto err_npu;
	ret = platform_driver_register(&ork_node_driver);
	if (ret)
		goto err_rocket;
	return 0;

err_rocket:
	ork_rocket_exit();
err_npu:
	platform_device_unregister(ork_npu);
err_npu_driver:
	platform_driver_unregister(&ork_npu_driver);
	return ret;
}
module_init(ork_init);

static void __exit ork_exit(void)
{
	platform_driver_unregister(&ork_node_driver);
	ork_rocket_exit();
	platform_device_unregister(ork_npu);
	platform_driver_unregister(&ork_npu_driver);
	/* The last fence has given the module back, but may still be about to return from that. */
	rcu_barrier();
}
module_exit(ork_exit);

MODULE_DESCRIPTION("Rockchip RK3588 NPU");
MODULE_LICENSE("GPL");
/* MODULE_IMPORT_NS(), whose argument has quotes in some kernels and none in others. */
MODULE_INFO(import_ns, "DMA_BUF");

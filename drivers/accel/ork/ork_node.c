// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device-tree nodes. The mainline binding has one for each core, the vendor's has one for all
 * three. A node is what is powered and clocked; what a core needs beside that it finds in its
 * node.
 */

#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_device.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

#include "ork_device.h"
#include "ork_fault.h"
#include "ork_node.h"

/**
 * struct ork_binding - how a node describes cores
 * @cores: how many it describes, at most; fewer if it has fewer register ranges
 * @several: there may be several such nodes, numbered by address
 * @resources: of each
 */
struct ork_binding {
	unsigned int cores;
	bool several;
	struct ork_core_resources resources[ORK_MAX_CORES];
};

static const struct ork_binding ork_mainline = {
	.cores = 1,
	.several = true,
	.resources = {
		{ .window = -1, .irq = 0, .resets = { "srst_a", "srst_h" } },
	},
};

static const struct ork_binding ork_vendor = {
	.cores = 3,
	.resources = {
		{ .window = 0, .irq = 0, .resets = { "srst_a0", "srst_h0" } },
		{ .window = 1, .irq = 1, .resets = { "srst_a1", "srst_h1" } },
		{ .window = 2, .irq = 2, .resets = { "srst_a2", "srst_h2" } },
	},
};

const struct of_device_id ork_node_match[] = {
	{ .compatible = "rockchip,rk3588-rknn-core", .data = &ork_mainline },
	{ .compatible = "rockchip,rk3588-rknpu", .data = &ork_vendor },
	{ }
};
MODULE_DEVICE_TABLE(of, ork_node_match);

/* Cores are numbered by address: probe order is not theirs. */
static int ork_node_first_core(struct device *dev, const struct ork_binding *binding)
{
	struct resource own, other;
	struct device_node *np;
	unsigned int index = 0;
	int ret;

	if (!binding->several)
		return 0;
	ret = of_address_to_resource(dev->of_node, 0, &own);
	if (ret)
		return ret;

	for_each_matching_node(np, ork_node_match)
		if (of_device_is_available(np) && !of_address_to_resource(np, 0, &other) &&
		    other.start < own.start)
			index += binding->cores;

	return index < ORK_MAX_CORES ? index : -EINVAL;
}

/*
 * Clocks and power stay on while the node is bound: re-powering NPUTOP can fail unless the
 * clocks run, and one core's gating disturbs the traffic of the others.
 */
static int ork_node_power_on(struct ork_node *node)
{
	int ret;

	node->num_clks = devm_clk_bulk_get_all(node->dev, &node->clks);
	if (node->num_clks < 0)
		return dev_err_probe(node->dev, node->num_clks, "no clocks\n");
	ret = ork_fault_due(ORK_FAULT_CLOCK) ? -EIO :
	      clk_bulk_prepare_enable(node->num_clks, node->clks);
	if (ret)
		return ret;

	pm_runtime_enable(node->dev);
	ret = ork_fault_due(ORK_FAULT_POWER) ? -ETIMEDOUT :
	      pm_runtime_resume_and_get(node->dev);
	if (ret) {
		pm_runtime_disable(node->dev);
		clk_bulk_disable_unprepare(node->num_clks, node->clks);
	}
	return ret;
}

static void ork_node_power_off(struct ork_node *node)
{
	pm_runtime_put_sync(node->dev);
	pm_runtime_disable(node->dev);
	clk_bulk_disable_unprepare(node->num_clks, node->clks);
}

static void ork_node_fini_cores(struct ork_device *ork, struct device *dev)
{
	unsigned int i;

	for (i = 0; i < ORK_MAX_CORES; i++)
		if (ork->cores[i].dev == dev)
			ork_core_fini(&ork->cores[i]);
}

static int ork_node_init_cores(struct ork_device *ork, struct device *dev,
			       const struct ork_binding *binding, unsigned int first)
{
	unsigned int i;
	int ret;

	for (i = 0; i < binding->cores; i++) {
		const struct ork_core_resources *resources = &binding->resources[i];

		/* Some parts have a core fused off: its range is missing. */
		if (i && !platform_get_resource(to_platform_device(dev), IORESOURCE_MEM, i))
			break;
		ret = ork_core_init(ork, first + i, dev, resources);
		if (ret) {
			ork_node_fini_cores(ork, dev);
			return ret;
		}
	}
	return 0;
}

/**
 * ork_node_init() - bring up the cores of a node
 * @ork: the device
 * @dev: the node's device, of ork_node_match
 *
 * Return: 0 or a negative errno.
 */
int ork_node_init(struct ork_device *ork, struct device *dev)
{
	const struct ork_binding *binding = of_device_get_match_data(dev);
	int first = ork_node_first_core(dev, binding);
	struct ork_node *node;
	int ret;

	if (first < 0)
		return first;
	node = &ork->nodes[first];
	if (node->dev)
		return dev_err_probe(dev, -EEXIST, "core %d is described twice\n", first);

	node->dev = dev;
	ret = ork_node_power_on(node);
	if (ret)
		goto err_clear;
	ret = ork_node_init_cores(ork, dev, binding, first);
	if (ret)
		goto err_power_off;
	return 0;

err_power_off:
	ork_node_power_off(node);
err_clear:
	node->dev = NULL;
	return ret;
}

/**
 * ork_node_fini() - undo ork_node_init()
 * @ork: the device, whose cores run nothing and get no more jobs
 * @dev: the node's device
 */
void ork_node_fini(struct ork_device *ork, struct device *dev)
{
	unsigned int i;

	ork_node_fini_cores(ork, dev);
	for (i = 0; i < ORK_MAX_CORES; i++) {
		if (ork->nodes[i].dev != dev)
			continue;
		ork_node_power_off(&ork->nodes[i]);
		ork->nodes[i].dev = NULL;
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_NODE_H__
#define __ORK_NODE_H__

#include <linux/clk.h>
#include <linux/mod_devicetable.h>

struct device;
struct ork_device;

/**
 * struct ork_node - a device-tree node: power and clocks of the cores it describes
 * @dev: its device; NULL while there is none
 * @clks: its clocks, enabled while it is bound
 * @num_clks: how many
 */
struct ork_node {
	struct device *dev;
	struct clk_bulk_data *clks;
	int num_clks;
};

extern const struct of_device_id ork_node_match[];

int ork_node_init(struct ork_device *ork, struct device *dev);
void ork_node_fini(struct ork_device *ork, struct device *dev);

#endif

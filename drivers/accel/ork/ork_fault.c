// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failures on demand, for tests, of kernels with CONFIG_FAULT_INJECTION_DEBUG_FS alone.
 *
 * What a caller's own process allocates and copies, the kernel can make fail (fail-nth). These
 * points are for the rest: what hardware does, and what happens in interrupts and work items. Each
 * is a fault attribute of its own, so that several can fail in one run: the hang and the reset that
 * it leads to.
 */

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/fault-inject.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "ork_compat.h"
#include "ork_device.h"
#include "ork_fault.h"

/**
 * struct ork_fault_state - a point
 * @name: of its folder
 * @attr: when it fails
 * @visited: how often it was come to
 * @injected: how often it failed
 */
struct ork_fault_state {
	const char *name;
	struct fault_attr attr;
	atomic_t visited;
	atomic_t injected;
};

#define POINT(point)	{ .name = point, .attr = FAULT_ATTR_INITIALIZER }

/* Of the module, not of a device: some are come to before a device has its folder. */
static struct ork_fault_state ork_faults[ORK_FAULT_POINTS] = {
	[ORK_FAULT_RUN] = POINT("run"),
	[ORK_FAULT_INTERRUPT] = POINT("interrupt"),
	[ORK_FAULT_SPURIOUS] = POINT("spurious"),
	[ORK_FAULT_DMA] = POINT("dma"),
	[ORK_FAULT_ATTACH] = POINT("attach"),
	[ORK_FAULT_RESET] = POINT("reset"),
	[ORK_FAULT_LINE] = POINT("line"),
	[ORK_FAULT_QUEUE] = POINT("queue"),
	[ORK_FAULT_CLOCK] = POINT("clock"),
	[ORK_FAULT_POWER] = POINT("power"),
	[ORK_FAULT_DUMP] = POINT("dump"),
};

#undef POINT

/**
 * ork_fault_due() - whether what is about to be done is to fail
 * @point: what it is
 *
 * A point that nobody has armed is hidden from fail-nth, for it does not come every time: a
 * submit starts a job, or an interrupt does.
 *
 * Context: any.
 * Return: true if it is.
 */
bool ork_fault_due(enum ork_fault_point point)
{
	struct ork_fault_state *state = &ork_faults[point];

	atomic_inc(&state->visited);
	if (!READ_ONCE(state->attr.probability) || !should_fail(&state->attr, 1))
		return false;
	atomic_inc(&state->injected);
	return true;
}

static int ork_faults_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	for (i = 0; i < ORK_FAULT_POINTS; i++)
		seq_printf(m, "%s %d %d\n", ork_faults[i].name, atomic_read(&ork_faults[i].visited),
			   atomic_read(&ork_faults[i].injected));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ork_faults);

/**
 * ork_fault_init() - make the files of all points
 * @ork: the device, registered; they go with its others
 */
void ork_fault_init(struct ork_device *ork)
{
	struct dentry *root = ork_compat_debugfs_root(&ork->drm);
	struct dentry *folder = debugfs_create_dir("fail_ork", root);
	unsigned int i;

	for (i = 0; i < ORK_FAULT_POINTS; i++)
		fault_create_debugfs_attr(ork_faults[i].name, folder, &ork_faults[i].attr);
	debugfs_create_file("faults", 0400, root, NULL, &ork_faults_fops);
}

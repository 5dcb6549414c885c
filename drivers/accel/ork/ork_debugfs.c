// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files for people and tests who want to see what the driver holds and does.
 */

#include <linux/rcupdate.h>
#include <linux/seq_file.h>

#include "ork_compat.h"
#include "ork_debugfs.h"
#include "ork_device.h"
#include "ork_live.h"

atomic_t ork_live[ORK_LIVE_KINDS];

static const char *const ork_live_names[ORK_LIVE_KINDS] = {
	[ORK_LIVE_FILES] = "files",
	[ORK_LIVE_VMS] = "vms",
	[ORK_LIVE_BOS] = "bos",
	[ORK_LIVE_MAPPINGS] = "mappings",
	[ORK_LIVE_JOBS] = "jobs",
	[ORK_LIVE_FENCES] = "fences",
	[ORK_LIVE_ATTACHMENTS] = "attachments",
};

static int ork_debugfs_live(struct seq_file *m, void *unused)
{
	unsigned int i;

	/* A fence that has lost its last reference is freed after a grace period: not "now". */
	rcu_barrier();
	for (i = 0; i < ORK_LIVE_KINDS; i++)
		seq_printf(m, "%s %d\n", ork_live_names[i], atomic_read(&ork_live[i]));
	return 0;
}

static const struct ork_compat_debugfs_file ork_debugfs_files[] = {
	{ "live", ork_debugfs_live },
};

/**
 * ork_debugfs_init() - make the device's files
 * @ork: the device, registered
 *
 * They go when the device is unregistered, which waits for readers and comes before cores go.
 */
void ork_debugfs_init(struct ork_device *ork)
{
	ork_compat_debugfs_add(&ork->drm, ork_debugfs_files, ARRAY_SIZE(ork_debugfs_files));
}

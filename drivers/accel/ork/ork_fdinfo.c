// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an open file uses, for everyone who may look at its process: the keys are those of
 * Documentation/gpu/drm-usage-stats.rst.
 */

#include <linux/sizes.h>
#include <linux/spinlock.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "ork_device.h"
#include "ork_fdinfo.h"
#include "ork_job.h"

/*
 * Time that is charged and time that is not yet are read together, so that the sum never goes back.
 */
static u64 ork_fdinfo_busy_ns(struct ork_file *ofile, struct ork_core *core)
{
	unsigned long flags;
	u64 busy;

	spin_lock_irqsave(&core->ork->lock, flags);
	busy = ofile->stats.core_busy_ns[core->index];
	if (core->job && core->job->ofile == ofile)
		busy += ork_core_busy_ns(core);
	spin_unlock_irqrestore(&core->ork->lock, flags);
	return busy;
}

/* All of it is pinned, so all of it is resident. */
static u64 ork_fdinfo_bytes(struct ork_vm *vm)
{
	struct drm_mm_node *node;
	u64 bytes = 0;

	mutex_lock(&vm->lock);
	drm_mm_for_each_node(node, &vm->mm)
		bytes += node->size - ORK_GUARD_SIZE;
	mutex_unlock(&vm->lock);
	return bytes;
}

/**
 * ork_fdinfo_show() - print what an open file uses
 * @p: where to
 * @file: the file
 *
 * Context: process.
 */
void ork_fdinfo_show(struct drm_printer *p, struct drm_file *file)
{
	struct ork_file *ofile = file->driver_priv;
	struct ork_device *ork = ofile->ork;
	u64 kib = ork_fdinfo_bytes(ofile->vm) / SZ_1K;
	unsigned int i;

	for (i = 0; i < ork->num_cores; i++)
		drm_printf(p, "drm-engine-core%u:\t%llu ns\n", i,
			   ork_fdinfo_busy_ns(ofile, &ork->cores[i]));
	drm_printf(p, "drm-total-memory:\t%llu KiB\n", kib);
	drm_printf(p, "drm-resident-memory:\t%llu KiB\n", kib);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open files: each has an address space, and queues for its jobs.
 */

#include <linux/module.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "ork_compat.h"
#include "ork_device.h"
#include "ork_dispatch.h"
#include "ork_fdinfo.h"
#include "ork_file.h"
#include "ork_live.h"

static void ork_file_release(struct kref *ref)
{
	struct ork_file *ofile = container_of(ref, struct ork_file, ref);

	ork_vm_put(ofile->vm);
	put_pid(ofile->pid);
	kfree(ofile);
	ork_live_dec(ORK_LIVE_FILES);
}

/**
 * ork_file_put() - drop a reference on an open file
 * @ofile: the file
 *
 * Context: process.
 */
void ork_file_put(struct ork_file *ofile)
{
	kref_put(&ofile->ref, ork_file_release);
}

/**
 * ork_file_open() - a client opens the device
 * @drm: the device
 * @file: what it opens
 *
 * Return: 0 or a negative errno.
 */
int ork_file_open(struct drm_device *drm, struct drm_file *file)
{
	struct ork_device *ork = to_ork_device(drm);
	struct ork_file *ofile;
	int ret = 0, idx;
	u32 i;

	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;

	ofile = kzalloc(sizeof(*ofile), GFP_KERNEL);
	if (!ofile) {
		ret = -ENOMEM;
		goto out;
	}
	ofile->ork = ork;
	ofile->vm = ork_vm_create(ork);
	if (IS_ERR(ofile->vm)) {
		ret = PTR_ERR(ofile->vm);
		kfree(ofile);
		goto out;
	}
	ork_live_inc(ORK_LIVE_FILES);
	ofile->client = ork_compat_client_id(file);
	ofile->pid = get_pid(task_tgid(current));
	kref_init(&ofile->ref);
	init_waitqueue_head(&ofile->idle);
	for (i = 0; i < ARRAY_SIZE(ofile->queues); i++)
		ork_queue_init(&ofile->queues[i], ofile->vm, i);
	file->driver_priv = ofile;
out:
	drm_dev_exit(idx);
	return ret;
}

/**
 * ork_file_postclose() - a client has closed the device
 * @drm: the device
 * @file: what it had opened; its handles are gone
 *
 * Nothing of the file runs or will run when this returns. What waits is dropped; what runs ends
 * or is ended by its watchdog.
 */
void ork_file_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct ork_device *ork = to_ork_device(drm);
	struct ork_file *ofile = file->driver_priv;
	unsigned int i;
	int idx;

	spin_lock_irq(&ork->lock);
	ork_dispatch_refuse_locked(ofile, -ECANCELED);
	spin_unlock_irq(&ork->lock);
	ork_dispatch_finish(ork);
	wait_event(ofile->idle, !atomic_read(&ofile->active));

	if (drm_dev_enter(drm, &idx)) {
		for (i = 0; i < ork->num_mmus; i++)
			ork_mmu_detach(&ork->mmus[i], ofile->vm);
		drm_dev_exit(idx);
	}
	ork_file_put(ofile);
}

/**
 * ork_file_may_submit() - ask before jobs of a file are looked at
 * @ofile: the file
 *
 * Return: 0, or -EIO if it is banned.
 */
int ork_file_may_submit(const struct ork_file *ofile)
{
	if (!READ_ONCE(ofile->refusal))
		return 0;
	drm_dbg(&ofile->ork->drm, "the file is banned: its jobs hung too often\n");
	return -EIO;
}

static void ork_file_show_fdinfo(struct seq_file *m, struct file *f)
{
	struct drm_file *file = f->private_data;
	struct ork_file *ofile = file->driver_priv;

	ork_compat_show_fdinfo(m, f, ofile->client, ork_fdinfo_show);
}

const struct file_operations ork_file_ops = {
	.owner = THIS_MODULE,
	ORK_COMPAT_FOPS,
	.show_fdinfo = ork_file_show_fdinfo,
};

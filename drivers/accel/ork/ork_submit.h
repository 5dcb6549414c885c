/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_SUBMIT_H__
#define __ORK_SUBMIT_H__

#include <linux/types.h>

struct drm_device;
struct drm_file;
struct drm_ork_job;
struct drm_ork_task;
struct ork_job;

int ork_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#if IS_ENABLED(CONFIG_KUNIT)
int ork_job_check_task(struct ork_job *job, const struct drm_ork_task *task);
int ork_job_check_scalars(struct ork_job *job, const struct drm_ork_job *args);
#endif

#endif

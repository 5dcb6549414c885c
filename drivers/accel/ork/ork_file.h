/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_FILE_H__
#define __ORK_FILE_H__

#include <linux/fs.h>

struct drm_device;
struct drm_file;
struct ork_file;

extern const struct file_operations ork_file_ops;

int ork_file_open(struct drm_device *drm, struct drm_file *file);
void ork_file_postclose(struct drm_device *drm, struct drm_file *file);
void ork_file_put(struct ork_file *ofile);
int ork_file_may_submit(const struct ork_file *ofile);

#endif

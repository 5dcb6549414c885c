/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_FDINFO_H__
#define __ORK_FDINFO_H__

struct drm_file;
struct drm_printer;

void ork_fdinfo_show(struct drm_printer *p, struct drm_file *file);

#endif

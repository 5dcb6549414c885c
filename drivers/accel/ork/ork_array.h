/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_ARRAY_H__
#define __ORK_ARRAY_H__

#include <linux/types.h>

struct drm_device;
struct drm_ork_array;

void *ork_array_copy(struct drm_device *drm, const char *what, const struct drm_ork_array *array,
		     size_t size, u32 max);

#endif

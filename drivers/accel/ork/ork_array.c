// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays from user memory.
 */

#include <linux/mm.h>
#include <linux/uaccess.h>

#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/ork_drm.h>

#include "ork_array.h"

#define ORK_ARRAY_MAX_STRIDE	4096

/*
 * Elements may grow: a longer one is accepted as long as what is not known here is zero. All
 * elements still have the size they had in version 1.0, so a shorter one is wrong.
 */
static int ork_array_copy_elements(void *to, const struct drm_ork_array *array, size_t size)
{
	void __user *from = u64_to_user_ptr(array->ptr);
	u32 i;
	int ret;

	if (array->stride == size)
		return copy_from_user(to, from, size * array->count) ? -EFAULT : 0;

	for (i = 0; i < array->count; i++) {
		ret = copy_struct_from_user(to + i * size, size, from + (u64)i * array->stride,
					    array->stride);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * ork_array_copy() - copy an array of structures from user memory, once
 * @drm: the device, for messages
 * @what: name of the array, for messages
 * @array: the array
 * @size: of one element as the kernel knows it
 * @max: elements allowed
 *
 * Return: the elements, @size apart, to be freed with kvfree(); NULL if there are none; or an
 * ERR_PTR().
 */
void *ork_array_copy(struct drm_device *drm, const char *what, const struct drm_ork_array *array,
		     size_t size, u32 max)
{
	void *to;
	int ret;

	if (!array->count)
		return NULL;
	if (array->count > max) {
		drm_dbg(drm, "%u %s, %u at most\n", array->count, what, max);
		return ERR_PTR(-EINVAL);
	}
	if (array->stride < size || array->stride % 8 || array->stride > ORK_ARRAY_MAX_STRIDE) {
		drm_dbg(drm, "stride %u of %s, a multiple of 8 from %zu to %u\n", array->stride,
			what, size, ORK_ARRAY_MAX_STRIDE);
		return ERR_PTR(-EINVAL);
	}

	to = kvcalloc(array->count, size, GFP_KERNEL_ACCOUNT);
	if (!to)
		return ERR_PTR(-ENOMEM);
	ret = ork_array_copy_elements(to, array, size);
	if (ret) {
		drm_dbg(drm, "%u %s at %#llx, %u apart, %zu bytes of each are known: %d\n",
			array->count, what, array->ptr, array->stride, size, ret);
		kvfree(to);
		return ERR_PTR(ret);
	}
	return to;
}

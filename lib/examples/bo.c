// SPDX-License-Identifier: MIT
/* An object, and what it costs to make visible what the CPU wrote: the lines of those bytes. */
#include <err.h>
#include <string.h>
#include <ork.h>

int main(void)
{
	struct drm_ork_counters counters;
	uint64_t line, bytes = 0;
	struct ork_bo *bo;
	struct ork *ork;
	char *data;

	if (ork_open(NULL, &ork))
		errx(1, "no NPU");
	if (ork_bo_create(ork, 5000, 0, &bo))
		errx(1, "%s", ork_error(ork));
	if (ork_bo_size(bo) < 5000 || ork_bo_size(bo) % ork_info(ork)->page_size)
		errx(1, "%llu bytes", (unsigned long long)ork_bo_size(bo));
	if (!ork_bo_handle(bo) || ork_bo_iova(bo) < ork_info(ork)->iova_start)
		errx(1, "handle %u at 0x%x", ork_bo_handle(bo), ork_bo_iova(bo));
	data = ork_bo_data(bo);
	if (data[0] || data[4999])
		errx(1, "it is not zeroed");

	memset(data + 10, 1, 100);
	if (ork_bo_sync(bo, DRM_ORK_EXTENT_TO_DEVICE, 10, 100))
		errx(1, "%s", ork_error(ork));
	if (ork_counters(ork, -1, &counters))
		errx(1, "%s", ork_error(ork));
	/* From the line of byte 10 to that of byte 109. */
	line = ork_info(ork)->cache_line;
	if (!(ork_info(ork)->flags & DRM_ORK_DEVICE_COHERENT))
		bytes = (109 / line - 10 / line + 1) * line;
	if (counters.sync_calls != 1 || counters.bytes_cleaned != bytes)
		errx(1, "%llu bytes cleaned", (unsigned long long)counters.bytes_cleaned);

	ork_bo_destroy(bo);
	ork_close(ork);
	return 0;
}

// SPDX-License-Identifier: MIT
/* What the NPU is, and what its cores have done; and what a call that fails has to say. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <ork.h>

int main(void)
{
	struct drm_ork_counters counters;
	const struct drm_ork_device_info *info;
	struct ork *ork;
	uint32_t core;
	int ret = ork_open(NULL, &ork);

	if (ret)
		errx(1, "no NPU: %s", strerror(-ret));
	info = ork_info(ork);
	if (info->soc != 3588 || !info->num_cores || info->num_cores > 3)
		errx(1, "%s is an RK%u with %u cores", ork_name(ork), info->soc, info->num_cores);
	printf("%s: %u cores, cache lines of %u bytes\n", ork_name(ork), info->num_cores,
	       info->cache_line);
	for (core = 0; core < info->num_cores; core++) {
		if (ork_counters(ork, (int)core, &counters))
			errx(1, "%s", ork_error(ork));
		printf("core %u: %llu jobs\n", core, (unsigned long long)counters.jobs);
	}

	/* There is no core behind the last. */
	if (ork_counters(ork, (int)info->num_cores, &counters) != -EINVAL)
		errx(1, "a core that is not there has counters");
	if (!strlen(ork_error(ork)))
		errx(1, "nothing is said of the core that is not there");
	printf("%s\n", ork_error(ork));
	ork_close(ork);
	return 0;
}

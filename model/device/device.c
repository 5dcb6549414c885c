// SPDX-License-Identifier: MIT
/* Opening and closing the device, its options and its answers. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/ork_backend.h"
#include "device.h"

#define DEFAULT_TIMEOUT_MS	500

int ork_model_open(const struct ork_backend **backend, void **opaque)
	__attribute__((visibility("default")));

/* --- log ---------------------------------------------------------------------------------- */

static void log_stale(void *opaque, const struct npu_stale *stale)
{
	struct device *dev = opaque;

	fprintf(dev->log,
		"stale read: core %d %s iova 0x%08x pa 0x%010" PRIx64
		" byte %u: cpu 0x%02x dram 0x%02x\n",
		stale->who.core, npu_block_name(stale->who.block), stale->who.iova, stale->pa,
		stale->byte, stale->cpu, stale->dram);
}

static void log_cores(struct device *dev)
{
	struct npu_core_stats stats;

	for (int i = 0; i < ORK_MAX_CORES; i++) {
		npu_core_stats(dev->cores[i].npu, &stats);
		fprintf(dev->log,
			"core %d: %" PRIu64 " programs, %" PRIu64 " macs, %" PRIu64 " bytes read, %" PRIu64
			" written, about %" PRIu64 " cycles\n",
			i, stats.programs, stats.macs, stats.bytes_read, stats.bytes_written, stats.cycles);
	}
}

static void log_report(struct device *dev)
{
	struct npu_report report;

	npu_cache_report(dev->cache, &report);
	fprintf(dev->log,
		"cache: %" PRIu64 " stale reads, %" PRIu64 " lines cleaned, %" PRIu64
		" invalidated, %" PRIu64 " evicted, %" PRIu64 " results lost\n",
		report.stale_reads, report.lines_cleaned, report.lines_invalidated,
		report.lines_evicted, report.results_lost);
	for (int i = 0; i < NPU_BLOCKS; i++)
		if (report.stale_by_block[i])
			fprintf(dev->log, "cache: %" PRIu64 " stale reads of %s\n",
				report.stale_by_block[i], npu_block_name(i));
	log_cores(dev);
}

static int open_log(struct device *dev, const char *path)
{
	if (dev->log)
		return -EINVAL;
	dev->log = strcmp(path, "-") ? fopen(path, "a") : stderr;
	return dev->log ? 0 : -errno;
}

/* --- options ------------------------------------------------------------------------------ */

static int set_mode(struct device *dev, const char *name)
{
	static const char *const names[] = {
		[NPU_CACHE_STRICT] = "strict",
		[NPU_CACHE_EVICT] = "evict",
		[NPU_CACHE_COHERENT] = "coherent",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i])) {
			dev->mode = i;
			return 0;
		}
	return -EINVAL;
}

static int parse_seed(const char *text, uint64_t *seed)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*seed = strtoull(text, &end, 0);
	return *end || errno ? -EINVAL : 0;
}

static int set_option(struct device *dev, const char *option, uint64_t *seed)
{
	if (!strncmp(option, "cache=", 6))
		return set_mode(dev, option + 6);
	if (!strncmp(option, "seed=", 5))
		return parse_seed(option + 5, seed);
	if (!strncmp(option, "log=", 4))
		return open_log(dev, option + 4);
	return -EINVAL;
}

static int set_options(struct device *dev, const char *text, uint64_t *seed)
{
	char *copy, *rest, *option;
	int ret = 0;

	if (!text || !*text)
		return 0;
	copy = rest = strdup(text);
	if (!copy)
		return -ENOMEM;
	while (!ret && (option = strsep(&rest, ",")))
		ret = set_option(dev, option, seed);
	free(copy);
	return ret;
}

/* --- QUERY -------------------------------------------------------------------------------- */

static struct drm_ork_device_info device_info(struct device *dev)
{
	return (struct drm_ork_device_info) {
		.soc = 3588,
		.hw_version = cores_hw_version(dev),
		.flags = dev->mode == NPU_CACHE_COHERENT ? DRM_ORK_DEVICE_COHERENT : 0,
		.num_cores = ORK_MAX_CORES,
		.core_mask = (1u << ORK_MAX_CORES) - 1,
		.cache_line = NPU_LINE_BYTES,
		.page_size = PAGE_BYTES,
		.timeout_ms = DEFAULT_TIMEOUT_MS,
		.iova_start = IOVA_START,
		.iova_end = IOVA_END,
	};
}

static void answer(struct drm_ork_query *query, const void *data, uint32_t size)
{
	uint8_t *to = (uint8_t *)(uintptr_t)query->ptr;
	uint32_t fits = query->size < size ? query->size : size;

	if (to) {
		memcpy(to, data, fits);
		memset(to + fits, 0, query->size - fits);
	}
	query->size = size;
}

static int query(void *opaque, struct drm_ork_query *query)
{
	struct device *dev = opaque;
	struct drm_ork_device_info info;

	if (query->pad || (query->type != DRM_ORK_QUERY_CORE && query->index))
		return -EINVAL;
	switch (query->type) {
	case DRM_ORK_QUERY_DEVICE:
		info = device_info(dev);
		answer(query, &info, sizeof(info));
		return 0;
	case DRM_ORK_QUERY_FILE:
		answer(query, &dev->counters, sizeof(dev->counters));
		return 0;
	case DRM_ORK_QUERY_CORE:
		if (query->index >= ORK_MAX_CORES)
			return -EINVAL;
		answer(query, &dev->cores[query->index].counters, sizeof(dev->counters));
		return 0;
	default:
		return -EINVAL;
	}
}

/* --- open and close ----------------------------------------------------------------------- */

static void free_objects(struct device *dev)
{
	for (uint32_t i = 1; i <= dev->bo_handles.room; i++)
		free(handle_remove(&dev->bo_handles, i));
	for (uint32_t i = 1; i <= dev->syncobj_handles.room; i++)
		syncobj_destroy(dev, i);
	free(dev->bo_handles.objects);
	free(dev->syncobj_handles.objects);
}

/* Takes a device that is half built. */
static void device_close(void *opaque)
{
	struct device *dev = opaque;

	if (dev->log && dev->cores[ORK_MAX_CORES - 1].npu)
		log_report(dev);
	free_objects(dev);
	cores_fini(dev);
	space_fini(dev);
	if (dev->log && dev->log != stderr)
		fclose(dev->log);
	free(dev);
}

static int device_init(struct device *dev, const char *options)
{
	uint64_t seed = 0;
	int ret = set_options(dev, options, &seed);

	if (!ret)
		ret = space_init(dev, seed);
	if (ret)
		return ret;
	if (dev->log)
		npu_cache_set_log(dev->cache, log_stale, dev);
	return cores_init(dev);
}

int ork_model_open(const struct ork_backend **backend, void **opaque)
{
	static const struct ork_backend model = {
		.version = ORK_BACKEND_VERSION,
		.close = device_close,
		.query = query,
		.bo_create = bo_create,
		.bo_destroy = bo_destroy,
		.bo_sync = bo_sync,
		.submit = submit,
		.wait = syncobj_wait,
		.syncobj_create = syncobj_create,
		.syncobj_destroy = syncobj_destroy,
	};
	struct device *dev = calloc(1, sizeof(*dev));
	int ret;

	if (!dev)
		return -ENOMEM;
	ret = device_init(dev, getenv("ORK_MODEL"));
	if (ret) {
		device_close(dev);
		return ret;
	}
	*backend = &model;
	*opaque = dev;
	return 0;
}

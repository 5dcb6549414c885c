// SPDX-License-Identifier: MIT
/*
 * The CPUs' cache, which the NPU does not snoop: three versions of every line.
 *
 * DRAM's and the agreed version are two anonymous mappings as large as RAM. Pages of theirs that
 * nobody wrote read as zeros and cost nothing, which is just what a line that never reached DRAM
 * holds.
 *
 * Whether the CPU changed a line is told by its content, since its stores are not seen. CPUs store
 * at any moment: their version is looked at once for each decision. Locks order the model's own
 * accesses only.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "npu.h"

#define PAGE_BYTES	4096u
#define PAGE_LINES	(PAGE_BYTES / NPU_LINE_BYTES)
#define LOCKS		256

/*
 * In eviction mode one maintenance operation or NPU access in so many is accompanied by the
 * eviction of a page.
 */
#define EVICT_ONE_IN	64

struct npu_cache {
	uint64_t base, size;
	enum npu_cache_mode mode;
	size_t mapped;			/* bytes at dram */

	/* The versions. Page n of each is guarded by locks[n % LOCKS]. */
	uint8_t *cpu, *dram, *agreed;
	pthread_mutex_t locks[LOCKS];

	/* Pages of which @cpu is all there is: is_uncached[n] is changed and relied on as page n. */
	_Atomic bool *is_uncached;

	/*
	 * Pages that DRAM has something of, for eviction. is_tracked[n] is guarded as page n;
	 * tracked only grows.
	 */
	uint8_t *is_tracked;
	_Atomic uint32_t *tracked;
	_Atomic uint32_t tracked_count;
	_Atomic uint64_t random;

	/* Set before accesses begin. */
	void (*log)(void *opaque, const struct npu_stale *stale);
	void *log_opaque;

	_Atomic uint64_t stale[NPU_BLOCKS];
	_Atomic uint64_t cleaned, invalidated, evicted, lost;
};

static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static pthread_mutex_t *page_lock(struct npu_cache *cache, uint64_t at)
{
	return &cache->locks[at / PAGE_BYTES % LOCKS];
}

/* splitmix64, whose state may be advanced by any thread. */
static uint64_t next_random(struct npu_cache *cache)
{
	uint64_t z =
		atomic_fetch_add_explicit(&cache->random, 0x9e3779b97f4a7c15, memory_order_relaxed);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* --- one line, its page locked ------------------------------------------------------------ */

static void track(struct npu_cache *cache, uint64_t at)
{
	uint64_t page = at / PAGE_BYTES;
	uint32_t n;

	if (cache->is_tracked[page])
		return;
	cache->is_tracked[page] = 1;
	n = atomic_fetch_add_explicit(&cache->tracked_count, 1, memory_order_relaxed);
	/* Until this store is seen the slot names page 0, which may be evicted like any other. */
	atomic_store_explicit(&cache->tracked[n], page, memory_order_relaxed);
}

/* False if the line was not dirty. */
static bool write_back_line(struct npu_cache *cache, uint64_t line, _Atomic uint64_t *counter)
{
	uint8_t *dram = cache->dram + line, *agreed = cache->agreed + line;
	uint8_t cpu[NPU_LINE_BYTES];

	memcpy(cpu, cache->cpu + line, sizeof(cpu));
	if (!memcmp(cpu, agreed, sizeof(cpu)))
		return false;
	if (memcmp(dram, agreed, sizeof(cpu)))
		count(&cache->lost, 1);
	track(cache, line);
	memcpy(dram, cpu, sizeof(cpu));
	memcpy(agreed, cpu, sizeof(cpu));
	count(counter, 1);
	return true;
}

/* Writes only where something differs: a page that was never touched stays so. */
static void drop_line(struct npu_cache *cache, uint64_t line)
{
	const uint8_t *dram = cache->dram + line;

	if (memcmp(cache->cpu + line, dram, NPU_LINE_BYTES)) {
		memcpy(cache->cpu + line, dram, NPU_LINE_BYTES);
		count(&cache->invalidated, 1);
	}
	if (memcmp(cache->agreed + line, dram, NPU_LINE_BYTES))
		memcpy(cache->agreed + line, dram, NPU_LINE_BYTES);
}

/* --- pages that CPUs do not cache --------------------------------------------------------- */

static bool is_uncached(struct npu_cache *cache, uint64_t at)
{
	return atomic_load_explicit(&cache->is_uncached[at / PAGE_BYTES], memory_order_relaxed);
}

static void leave_cache(struct npu_cache *cache, uint64_t page)
{
	for (uint64_t line = page; line < page + PAGE_BYTES; line += NPU_LINE_BYTES) {
		bool dirty = memcmp(cache->cpu + line, cache->agreed + line, NPU_LINE_BYTES);

		if (!dirty && memcmp(cache->cpu + line, cache->dram + line, NPU_LINE_BYTES))
			memcpy(cache->cpu + line, cache->dram + line, NPU_LINE_BYTES);
	}
}

static void enter_cache(struct npu_cache *cache, uint64_t page)
{
	track(cache, page);
	memcpy(cache->dram + page, cache->cpu + page, PAGE_BYTES);
	memcpy(cache->agreed + page, cache->dram + page, PAGE_BYTES);
}

void npu_cache_set_uncached(struct npu_cache *cache, uint64_t pa, bool uncached)
{
	uint64_t at = pa - cache->base, page = at - at % PAGE_BYTES;

	/* The first look spares the lock: CPUs tell this of every page that they begin to use. */
	if (at >= cache->size || cache->mode == NPU_CACHE_COHERENT ||
	    is_uncached(cache, at) == uncached)
		return;
	pthread_mutex_lock(page_lock(cache, at));
	if (is_uncached(cache, at) != uncached) {
		if (uncached)
			leave_cache(cache, page);
		else
			enter_cache(cache, page);
		atomic_store_explicit(&cache->is_uncached[at / PAGE_BYTES], uncached,
				      memory_order_relaxed);
	}
	pthread_mutex_unlock(page_lock(cache, at));
}

/* --- eviction ----------------------------------------------------------------------------- */

static void evict_page(struct npu_cache *cache, uint64_t page)
{
	uint64_t at = page * PAGE_BYTES;

	pthread_mutex_lock(page_lock(cache, at));
	if (!is_uncached(cache, at) &&
	    memcmp(cache->cpu + at, cache->agreed + at, PAGE_BYTES))
		for (unsigned int i = 0; i < PAGE_LINES; i++)
			write_back_line(cache, at + i * NPU_LINE_BYTES, &cache->evicted);
	pthread_mutex_unlock(page_lock(cache, at));
}

static void evict_at_random(struct npu_cache *cache)
{
	uint32_t tracked;
	uint64_t random;

	if (cache->mode != NPU_CACHE_EVICT)
		return;
	random = next_random(cache);
	tracked = atomic_load_explicit(&cache->tracked_count, memory_order_relaxed);
	if (random % EVICT_ONE_IN || !tracked)
		return;
	evict_page(cache, atomic_load_explicit(&cache->tracked[(random >> 32) % tracked],
					       memory_order_relaxed));
}

void npu_cache_evict(struct npu_cache *cache)
{
	uint32_t tracked = atomic_load_explicit(&cache->tracked_count, memory_order_relaxed);

	for (uint32_t i = 0; i < tracked; i++)
		evict_page(cache, atomic_load_explicit(&cache->tracked[i], memory_order_relaxed));
}

void npu_cache_completion(struct npu_cache *cache)
{
	if (cache->mode == NPU_CACHE_EVICT)
		npu_cache_evict(cache);
}

/* --- maintenance -------------------------------------------------------------------------- */

/* Locks the page and gives the line's offset in RAM. False if there is nothing to maintain. */
static bool begin_maintenance(struct npu_cache *cache, uint64_t pa, uint64_t *line)
{
	uint64_t at = pa - cache->base;

	if (at >= cache->size || cache->mode == NPU_CACHE_COHERENT)
		return false;
	evict_at_random(cache);
	*line = at - at % NPU_LINE_BYTES;
	pthread_mutex_lock(page_lock(cache, at));
	if (!is_uncached(cache, at))
		return true;
	pthread_mutex_unlock(page_lock(cache, at));
	return false;
}

void npu_cache_clean(struct npu_cache *cache, uint64_t pa)
{
	uint64_t line;

	if (!begin_maintenance(cache, pa, &line))
		return;
	write_back_line(cache, line, &cache->cleaned);
	pthread_mutex_unlock(page_lock(cache, line));
}

void npu_cache_invalidate(struct npu_cache *cache, uint64_t pa)
{
	uint64_t line;

	if (!begin_maintenance(cache, pa, &line))
		return;
	drop_line(cache, line);
	pthread_mutex_unlock(page_lock(cache, line));
}

/* A line just written back is left alone: what a CPU stored since then must survive. */
void npu_cache_clean_invalidate(struct npu_cache *cache, uint64_t pa)
{
	uint64_t line;

	if (!begin_maintenance(cache, pa, &line))
		return;
	if (!write_back_line(cache, line, &cache->cleaned))
		drop_line(cache, line);
	pthread_mutex_unlock(page_lock(cache, line));
}

/* --- accesses of the NPU ------------------------------------------------------------------ */

/* The part of an access that lies in one page. */
static size_t page_run(uint64_t at, size_t len)
{
	size_t room = PAGE_BYTES - at % PAGE_BYTES;

	return len < room ? len : room;
}

/* Looks for a byte the CPU changed that DRAM does not have, among @len bytes of one line at @at. */
static bool stale_byte(struct npu_cache *cache, uint64_t at, size_t len, struct npu_stale *stale)
{
	for (uint64_t i = at; i < at + len; i++) {
		uint8_t cpu = cache->cpu[i];

		if (cpu == cache->dram[i] || cpu == cache->agreed[i])
			continue;
		stale->byte = i % NPU_LINE_BYTES;
		stale->cpu = cpu;
		stale->dram = cache->dram[i];
		return true;
	}
	return false;
}

/* Stale lines among @len bytes of one page at @at, described in @stale[]. */
static int find_stale(struct npu_cache *cache, uint64_t at, size_t len, struct npu_stale *stale)
{
	int n = 0;

	if (!memcmp(cache->cpu + at, cache->dram + at, len) ||
	    !memcmp(cache->cpu + at, cache->agreed + at, len))
		return 0;
	while (len) {
		size_t room = NPU_LINE_BYTES - at % NPU_LINE_BYTES;
		size_t part = len < room ? len : room;

		if (stale_byte(cache, at, part, &stale[n])) {
			stale[n].pa = cache->base + at - at % NPU_LINE_BYTES;
			n++;
		}
		at += part;
		len -= part;
	}
	return n;
}

static int read_run(struct npu_cache *cache, uint64_t at, void *buf, size_t len,
		    const struct npu_access *who)
{
	struct npu_stale stale[PAGE_LINES];
	int n = 0;

	pthread_mutex_lock(page_lock(cache, at));
	if (is_uncached(cache, at)) {
		memcpy(buf, cache->cpu + at, len);
	} else {
		memcpy(buf, cache->dram + at, len);
		n = find_stale(cache, at, len, stale);
	}
	pthread_mutex_unlock(page_lock(cache, at));

	if (n)
		count(&cache->stale[who->block], n);
	for (int i = 0; cache->log && i < n; i++) {
		stale[i].who = *who;
		cache->log(cache->log_opaque, &stale[i]);
	}
	return n;
}

static void write_run(struct npu_cache *cache, uint64_t at, const void *buf, size_t len)
{
	pthread_mutex_lock(page_lock(cache, at));
	track(cache, at);
	memcpy((is_uncached(cache, at) ? cache->cpu : cache->dram) + at, buf, len);
	pthread_mutex_unlock(page_lock(cache, at));
}

static bool in_ram(const struct npu_cache *cache, uint64_t at, size_t len)
{
	return len <= cache->size && at <= cache->size - len;
}

int npu_cache_read(struct npu_cache *cache, uint64_t pa, void *buf, size_t len,
		   const struct npu_access *who)
{
	uint64_t at = pa - cache->base;
	int stale = 0;

	if (!in_ram(cache, at, len))
		return -1;
	if (cache->mode == NPU_CACHE_COHERENT) {
		memcpy(buf, cache->cpu + at, len);
		return 0;
	}
	evict_at_random(cache);
	for (size_t done = 0; done < len;) {
		struct npu_access access = *who;
		size_t run = page_run(at + done, len - done);

		access.iova += done;
		stale += read_run(cache, at + done, (uint8_t *)buf + done, run, &access);
		done += run;
	}
	return stale;
}

int npu_cache_write(struct npu_cache *cache, uint64_t pa, const void *buf, size_t len,
		    const struct npu_access *who)
{
	uint64_t at = pa - cache->base;

	(void)who;
	if (!in_ram(cache, at, len))
		return -1;
	if (cache->mode == NPU_CACHE_COHERENT) {
		memcpy(cache->cpu + at, buf, len);
		return 0;
	}
	evict_at_random(cache);
	for (size_t done = 0; done < len;) {
		size_t run = page_run(at + done, len - done);

		write_run(cache, at + done, (const uint8_t *)buf + done, run);
		done += run;
	}
	return 0;
}

/* --- the rest ----------------------------------------------------------------------------- */

/* DRAM, agreed, and the arrays of pages, all zeros. */
static bool map_versions(struct npu_cache *cache)
{
	size_t pages = cache->size / PAGE_BYTES;
	uint8_t *memory;

	cache->mapped =
		2 * cache->size + pages * (sizeof(*cache->tracked) + sizeof(*cache->is_tracked) +
					   sizeof(*cache->is_uncached));
	memory = mmap(NULL, cache->mapped, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	/*
	 * One touched line must not cost a huge page. A kernel that has none refuses, which is as
	 * good.
	 */
	(void)madvise(memory, cache->mapped, MADV_NOHUGEPAGE);
	cache->dram = memory;
	cache->agreed = memory + cache->size;
	cache->tracked = (void *)(memory + 2 * cache->size);
	cache->is_tracked = (uint8_t *)(cache->tracked + pages);
	cache->is_uncached = (_Atomic bool *)(cache->is_tracked + pages);
	return true;
}

struct npu_cache *npu_cache_new(uint64_t base, uint64_t size, void *cpu, enum npu_cache_mode mode,
				uint64_t seed)
{
	struct npu_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->base = base;
	cache->size = size;
	cache->cpu = cpu;
	cache->mode = mode;
	atomic_store(&cache->random, seed);
	if (!map_versions(cache)) {
		free(cache);
		return NULL;
	}
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&cache->locks[i], NULL);
	return cache;
}

void npu_cache_free(struct npu_cache *cache)
{
	if (!cache)
		return;
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_destroy(&cache->locks[i]);
	munmap(cache->dram, cache->mapped);
	free(cache);
}

void npu_cache_set_log(struct npu_cache *cache,
		       void (*log)(void *opaque, const struct npu_stale *stale), void *opaque)
{
	cache->log = log;
	cache->log_opaque = opaque;
}

void npu_cache_report(struct npu_cache *cache, struct npu_report *report)
{
	*report = (struct npu_report) {
		.lines_cleaned = cache->cleaned,
		.lines_invalidated = cache->invalidated,
		.lines_evicted = cache->evicted,
		.results_lost = cache->lost,
	};
	for (int i = 0; i < NPU_BLOCKS; i++) {
		report->stale_by_block[i] = cache->stale[i];
		report->stale_reads += report->stale_by_block[i];
	}
}

const char *npu_block_name(enum npu_block block)
{
	static const char *const names[NPU_BLOCKS] = {
		[NPU_BLOCK_PC] = "pc",
		[NPU_BLOCK_FEATURE] = "feature",
		[NPU_BLOCK_WINDOW] = "window",
		[NPU_BLOCK_WEIGHT] = "weight",
		[NPU_BLOCK_RDMA] = "rdma",
		[NPU_BLOCK_DPU] = "dpu",
		[NPU_BLOCK_IOMMU] = "iommu",
	};

	return (unsigned int)block < NPU_BLOCKS ? names[block] : "?";
}

// SPDX-License-Identifier: MIT
/*
 * The in-process device: the errors of drm/ork_drm.h, each from a call that is valid in all but
 * that respect, what reaches DRAM, and how jobs end. Most jobs here have zeros for a program, and
 * hang: that takes nothing from what is done before and after them. One program is a matrix product
 * known from boards.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../../lib/ork_backend.h"
#include "../../../selftests/unit/test.h"
#include "../device.h"

int ork_model_open(const struct ork_backend **backend, void **dev);

#define LINE	NPU_LINE_BYTES

static const struct ork_backend *ork;
static struct device *dev;

static int open_with(const char *options)
{
	void *opened;
	int ret;

	setenv("ORK_MODEL", options, 1);
	ret = ork_model_open(&ork, &opened);
	dev = opened;
	return ret;
}

static void begin(const char *options)
{
	CHECK_EQUAL(open_with(options), 0);
	CHECK_EQUAL(ork->version, ORK_BACKEND_VERSION);
}

static void end(void)
{
	ork->close(dev);
}

/* --- helpers ------------------------------------------------------------------------------ */

struct object {
	uint32_t handle;
	uint64_t iova, size;
	uint8_t *data;
};

static struct object make(uint64_t size, uint32_t flags)
{
	struct drm_ork_bo_create create = { .size = size, .flags = flags };
	void *data = NULL;

	CHECK_EQUAL(ork->bo_create(dev, &create, &data), 0);
	return (struct object) {
		.handle = create.handle, .iova = create.iova, .size = create.size, .data = data
	};
}

static void destroy(const struct object *object)
{
	ork->bo_destroy(dev, object->handle, object->data, object->size);
}

static uint64_t pa(const struct object *object, uint64_t offset)
{
	return bo_pa(handle_get(&dev->bo_handles, object->handle)) + offset;
}

/* DRAM as the NPU has it. */
static uint8_t dram(const struct object *object, uint64_t offset)
{
	struct npu_access who = { .block = NPU_BLOCK_FEATURE };
	uint8_t byte = 0xee;

	CHECK(npu_cache_read(dev->cache, pa(object, offset), &byte, 1, &who) >= 0);
	return byte;
}

static void set_dram(const struct object *object, uint64_t offset, uint8_t byte)
{
	struct npu_access who = { .block = NPU_BLOCK_DPU };

	npu_cache_write(dev->cache, pa(object, offset), &byte, 1, &who);
}

static struct drm_ork_array array_of(const void *elements, uint32_t count, uint32_t stride)
{
	return (struct drm_ork_array) { .ptr = (uintptr_t)elements,
				       .count = count,
				       .stride = stride };
}

#define ARRAY(elements, count)	array_of(elements, count, sizeof((elements)[0]))

#define EXTENT(object, flag, ...)	\
	((struct drm_ork_extent) { .handle = (object).handle, .flags = (flag), __VA_ARGS__ })

static int sync_one(struct drm_ork_extent extent)
{
	struct drm_ork_bo_sync sync = { .extents = ARRAY(&extent, 1) };

	return ork->bo_sync(dev, &sync);
}

static struct drm_ork_counters counters(uint32_t type, uint32_t index)
{
	struct drm_ork_counters counters;
	struct drm_ork_query query = {
		.type = type, .index = index, .size = sizeof(counters), .ptr = (uintptr_t)&counters,
	};

	CHECK_EQUAL(ork->query(dev, &query), 0);
	return counters;
}

/* A submit of one job of one task on one object, whose parts a test may spoil. */
struct request {
	struct object bo;
	struct drm_ork_extent extent;
	struct drm_ork_task task;
	struct drm_ork_job job;
	struct drm_ork_sync in, out;
	struct drm_ork_submit submit;
};

static void request_init(struct request *r)
{
	memset(r, 0, sizeof(*r));
	r->bo = make(4 * PAGE_BYTES, 0);
	r->extent = EXTENT(r->bo, DRM_ORK_EXTENT_READ, .length = r->bo.size);
	r->task = (struct drm_ork_task) { .iova = r->bo.iova, .words = 112, .programs = 1 };
	r->job = (struct drm_ork_job) { .tasks = ARRAY(&r->task, 1),
				       .extents = ARRAY(&r->extent, 1) };
	r->submit = (struct drm_ork_submit) { .jobs = ARRAY(&r->job, 1) };
	CHECK_EQUAL(ork->syncobj_create(dev, &r->out.handle), 0);
	CHECK_EQUAL(ork->syncobj_create(dev, &r->in.handle), 0);
}

static int wait_for(uint32_t syncobj, uint64_t point, int *status)
{
	struct drm_ork_wait wait = {
		.syncobj = syncobj, .point = point, .timeout_ns = INT64_MAX, .status = 99
	};
	int ret = ork->wait(dev, &wait);

	*status = wait.status;
	return ret;
}

/* --- opening and asking ------------------------------------------------------------------- */

static void unknown_options_are_refused(void)
{
	static const char *const bad[] = {
		"cache=none",
		"cache=",
		"cache",
		"seed=",
		"seed=1x",
		"seed=-1",
		"seed=99999999999999999999",
		"colour=red",
		"cache=strict,",
		",cache=strict",
		"log=-,log=-",
		"cache=strict seed=1",
	};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQUAL(open_with(bad[i]), -EINVAL);
	CHECK_EQUAL(open_with("log=/nonexistent/log"), -ENOENT);
	begin("");
	end();
	begin("cache=evict,seed=0x10");
	end();
}

static void the_device_tells_what_it_is(void)
{
	struct drm_ork_device_info info;
	struct drm_ork_query query = { .size = sizeof(info), .ptr = (uintptr_t)&info };

	begin("cache=strict");
	CHECK_EQUAL(ork->query(dev, &query), 0);
	CHECK_EQUAL(query.size, sizeof(info));
	CHECK_EQUAL(info.soc, 3588);
	CHECK_EQUAL(info.hw_version, 0x46495245);
	CHECK_EQUAL(info.flags, 0);
	CHECK_EQUAL(info.num_cores, 3);
	CHECK_EQUAL(info.core_mask, 7);
	CHECK_EQUAL(info.cache_line, 64);
	CHECK_EQUAL(info.page_size, 4096);
	CHECK_EQUAL(info.timeout_ms, 500);
	CHECK_EQUAL(info.iova_start, 0x1000);
	CHECK_EQUAL(info.iova_end, 0xffffefff);
	end();
	begin("cache=coherent");
	CHECK_EQUAL(ork->query(dev, &query), 0);
	CHECK_EQUAL(info.flags, DRM_ORK_DEVICE_COHERENT);
	end();
}

static void query_answers_as_much_as_fits(void)
{
	uint8_t answer[sizeof(struct drm_ork_device_info) + 8];
	struct drm_ork_query query = { .size = 4, .ptr = (uintptr_t)answer };

	begin("");
	memset(answer, 0xee, sizeof(answer));
	CHECK_EQUAL(ork->query(dev, &query), 0);
	CHECK_EQUAL(query.size, sizeof(struct drm_ork_device_info));
	CHECK_EQUAL(answer[0] | answer[1] << 8, 3588);
	CHECK_EQUAL(answer[4], 0xee);
	query.size = sizeof(answer);
	CHECK_EQUAL(ork->query(dev, &query), 0);
	CHECK_EQUAL(answer[sizeof(answer) - 1], 0);
	query.ptr = 0;
	query.size = 0;
	CHECK_EQUAL(ork->query(dev, &query), 0);
	CHECK_EQUAL(query.size, sizeof(struct drm_ork_device_info));
	end();
}

static void query_refuses_what_it_does_not_know(void)
{
	struct drm_ork_query bad[] = {
		{ .type = 3 },
		{ .pad = 1 },
		{ .index = 1 },
		{ .type = DRM_ORK_QUERY_FILE, .index = 1 },
		{ .type = DRM_ORK_QUERY_CORE, .index = 3 },
	};

	begin("");
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQUAL(ork->query(dev, &bad[i]), -EINVAL);
	end();
}

/* --- objects ------------------------------------------------------------------------------ */

static void objects_are_pages_with_a_guard_behind_them(void)
{
	struct object a, b, c;

	begin("");
	a = make(1, 0);
	b = make(PAGE_BYTES + 1, DRM_ORK_BO_WRITE_COMBINE);
	CHECK(a.handle && b.handle && a.handle != b.handle);
	CHECK_EQUAL(a.size, PAGE_BYTES);
	CHECK_EQUAL(b.size, 2 * PAGE_BYTES);
	CHECK(a.iova >= PAGE_BYTES);
	CHECK(b.iova >= a.iova + a.size + PAGE_BYTES);
	CHECK_EQUAL(a.data[0] | a.data[PAGE_BYTES - 1], 0);
	/* Where a was and its guard is there is no room for two pages and a guard. */
	destroy(&a);
	c = make(2 * PAGE_BYTES, 0);
	CHECK(c.iova >= b.iova + b.size + PAGE_BYTES);
	end();
}

static void every_handle_is_known_until_its_object_is_gone(void)
{
	struct object objects[40];

	begin("");
	for (unsigned int i = 0; i < 40; i++) {
		objects[i] = make(1, 0);
		CHECK_EQUAL(sync_one(EXTENT(objects[i], DRM_ORK_EXTENT_TO_DEVICE, .length = 1)), 0);
	}
	destroy(&objects[15]);
	CHECK_EQUAL(sync_one(EXTENT(objects[15], DRM_ORK_EXTENT_TO_DEVICE, .length = 1)), -ENOENT);
	CHECK_EQUAL(sync_one(EXTENT(objects[16], DRM_ORK_EXTENT_TO_DEVICE, .length = 1)), 0);
	CHECK_EQUAL(make(1, 0).handle, objects[15].handle);
	end();
}

static int create(uint64_t size, uint32_t flags)
{
	struct drm_ork_bo_create create = { .size = size, .flags = flags };
	void *data;

	return ork->bo_create(dev, &create, &data);
}

static void bad_objects_are_refused(void)
{
	begin("");
	CHECK_EQUAL(create(0, 0), -EINVAL);
	CHECK_EQUAL(create(4096, 2), -EOPNOTSUPP);
	CHECK_EQUAL(create(UINT64_MAX, 0), -ENOSPC);
	CHECK_EQUAL(create((1ull << 32) - PAGE_BYTES, 0), -ENOSPC);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(create(1ull << 30, 0), 0);
	CHECK_EQUAL(create(1ull << 30, 0), -ENOSPC);
	CHECK_EQUAL(create(1ull << 29, 0), 0);
	end();
}

static void the_largest_object_ends_where_the_device_says(void)
{
	struct object all;

	begin("");
	all = make((1ull << 32) - 2 * PAGE_BYTES, 0);
	CHECK_EQUAL(all.iova + all.size - 1, 0xffffefff);
	CHECK_EQUAL(create(1, 0), -ENOSPC);
	end();
}

/* The NPU's copy must be zeros too, also where both sides agreed on zeros before the NPU wrote. */
static void a_reused_object_is_zeros_on_both_sides(void)
{
	struct object old, new;

	begin("");
	old = make(2 * PAGE_BYTES, 0);
	old.data[5] = 7;
	npu_cache_clean(dev->cache, pa(&old, 5));
	old.data[LINE] = 8;
	set_dram(&old, PAGE_BYTES + 9, 9);
	destroy(&old);
	new = make(4 * PAGE_BYTES, 0);
	CHECK_EQUAL(new.iova, old.iova);
	CHECK_EQUAL(new.data[5] | new.data[LINE] | new.data[PAGE_BYTES + 9], 0);
	CHECK_EQUAL(dram(&new, 5), 0);
	CHECK_EQUAL(dram(&new, LINE), 0);
	CHECK_EQUAL(dram(&new, PAGE_BYTES + 9), 0);
	end();
}

/* A task that submit() would refuse, given to a core all the same. */
static int run_at(uint64_t iova)
{
	struct drm_ork_task task = { .iova = iova, .words = 4, .programs = 1 };
	struct drm_ork_job job = { .tasks = ARRAY(&task, 1) };

	return core_run(dev, &dev->cores[0], &job).status;
}

static void what_is_not_mapped_faults(void)
{
	struct object bo;

	begin("");
	bo = make(2 * PAGE_BYTES, 0);
	CHECK_EQUAL(run_at(bo.iova), -ETIMEDOUT);
	CHECK_EQUAL(run_at(bo.iova + bo.size - 32), -ETIMEDOUT);
	CHECK_EQUAL(run_at(bo.iova + bo.size), -EFAULT);
	CHECK_EQUAL(run_at(bo.iova + bo.size - 16), -EFAULT);
	CHECK_EQUAL(run_at(0), -EFAULT);
	CHECK_EQUAL(run_at(bo.iova), -ETIMEDOUT);
	destroy(&bo);
	CHECK_EQUAL(run_at(bo.iova), -EFAULT);
	end();
}

/* --- extents ------------------------------------------------------------------------------ */

#define TO	DRM_ORK_EXTENT_TO_DEVICE
#define FROM	DRM_ORK_EXTENT_FROM_DEVICE
#define READ	DRM_ORK_EXTENT_READ
#define WRITE	DRM_ORK_EXTENT_WRITE
#define NO_SYNC	DRM_ORK_EXTENT_NO_SYNC
#define CPU_CLEAN DRM_ORK_EXTENT_CPU_CLEAN

struct extent_case {
	const char *what;
	struct drm_ork_extent extent;	/* handle 0: that of an object of four pages */
	int expected;			/* SUBMIT gets READ for TO and WRITE for FROM */
};

#define BYTES	(4 * 4096ull)

static const struct extent_case extent_cases[] = {
	{ "all of it", { .flags = TO, .length = BYTES }, 0 },
	{ "odd ends of what is read", { .flags = TO, .offset = 1, .length = 77 }, 0 },
	{ "nothing", { .flags = FROM, .offset = 7 }, 0 },
	{ "the last line", { .flags = FROM, .offset = BYTES - 64, .length = 64 }, 0 },
	{ "rows", { .flags = FROM, .length = 64, .stride = 128, .rows = 128 }, 0 },
	{ "stride without rows", { .flags = FROM, .length = 64, .stride = 1, .rows = 1 }, 0 },
	{ "padding", { .flags = TO, .length = 64, .pad = 1 }, -EINVAL },
	{ "unknown handle", { .handle = 77, .flags = TO, .length = 64 }, -ENOENT },
	{ "unknown handle, no bytes", { .handle = 77, .flags = TO }, -ENOENT },
	{ "no direction", { .length = 64 }, -EINVAL },
	{ "unknown flag", { .flags = TO | 1u << 31, .length = 64 }, -EOPNOTSUPP },
	{ "a byte beyond", { .flags = TO, .offset = 1, .length = BYTES }, -EINVAL },
	{ "all beyond", { .flags = TO, .offset = BYTES, .length = 1 }, -EINVAL },
	{ "end wraps", { .flags = TO, .offset = 64, .length = UINT64_MAX }, -EOVERFLOW },
	{ "rows wrap", { .flags = TO, .length = 64, .stride = 1ull << 63, .rows = 3 }, -EOVERFLOW },
	{ "row stride wraps once",
	  { .flags = TO, .length = 64, .stride = UINT64_MAX, .rows = 2 }, -EOVERFLOW },
	{ "last row beyond", { .flags = TO, .length = 65, .stride = 128, .rows = 129 }, -EINVAL },
	{ "rows overlap", { .flags = TO, .length = 64, .stride = 63, .rows = 2 }, -EINVAL },
	{ "device writes from within a line",
	  { .flags = FROM, .offset = 32, .length = 96 }, -EINVAL },
	{ "device writes half a line", { .flags = FROM, .length = 32 }, -EINVAL },
	{ "device writes rows off lines",
	  { .flags = FROM, .length = 64, .stride = 96, .rows = 2 }, -EINVAL },
	{ "both ways from within a line",
	  { .flags = TO | FROM, .offset = 1, .length = 64 }, -EINVAL },
};

static int submit_extent(struct request *r, struct drm_ork_extent extent)
{
	struct drm_ork_extent extents[2] = { r->extent, extent };

	r->job.extents = ARRAY(extents, 2);
	return ork->submit(dev, &r->submit);
}

static void extents_are_checked_alike_in_sync_and_submit(void)
{
	struct request r;

	begin("");
	request_init(&r);
	for (unsigned int i = 0; i < sizeof(extent_cases) / sizeof(extent_cases[0]); i++) {
		const struct extent_case *c = &extent_cases[i];
		struct drm_ork_extent extent = c->extent;
		unsigned int before = failed_checks;

		if (!extent.handle)
			extent.handle = r.bo.handle;
		CHECK_EQUAL(sync_one(extent), c->expected);
		extent.flags = (c->extent.flags & TO ? READ : 0) |
			       (c->extent.flags & FROM ? WRITE : 0) |
			       (c->extent.flags & ~(uint32_t)(TO | FROM));
		CHECK_EQUAL(submit_extent(&r, extent), c->expected);
		if (failed_checks != before)
			printf("# that was: %s\n", c->what);
	}
	end();
}

static void flags_of_the_other_call_are_refused(void)
{
	struct drm_ork_extent extent = { .length = 64 };
	struct request r;

	begin("");
	request_init(&r);
	extent.handle = r.bo.handle;
	for (uint32_t flag = READ; flag <= CPU_CLEAN; flag <<= 1) {
		extent.flags = flag;
		CHECK_EQUAL(sync_one(extent), -EOPNOTSUPP);
		extent.flags = TO | flag;
		CHECK_EQUAL(sync_one(extent), -EOPNOTSUPP);
	}
	extent.flags = TO;
	CHECK_EQUAL(submit_extent(&r, extent), -EOPNOTSUPP);
	extent.flags = READ | FROM;
	CHECK_EQUAL(submit_extent(&r, extent), -EOPNOTSUPP);
	end();
}

static void cpu_clean_goes_with_write_alone(void)
{
	static const struct {
		uint32_t flags;
		int expected;
	} cases[] = {
		{ CPU_CLEAN, -EINVAL },
		{ CPU_CLEAN | READ, -EINVAL },
		{ CPU_CLEAN | NO_SYNC, -EINVAL },
		{ CPU_CLEAN | READ | WRITE, -EINVAL },
		{ CPU_CLEAN | WRITE | NO_SYNC, -EINVAL },
		{ CPU_CLEAN | WRITE, 0 },
		{ WRITE | NO_SYNC, 0 },
		{ READ | WRITE, 0 },
		{ NO_SYNC, 0 },
	};
	struct request r;

	begin("");
	request_init(&r);
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQUAL(submit_extent(&r, EXTENT(r.bo, cases[i].flags, .length = 64)),
			    cases[i].expected);
	/* Also what is not maintained must not be written in part of a line. */
	CHECK_EQUAL(submit_extent(&r, EXTENT(r.bo, WRITE | NO_SYNC, .length = 32)), -EINVAL);
	end();
}

/* --- arrays ------------------------------------------------------------------------------- */

static int sync_array(struct drm_ork_array extents)
{
	struct drm_ork_bo_sync sync = { .extents = extents };

	return ork->bo_sync(dev, &sync);
}

static void arrays_are_checked(void)
{
	static struct drm_ork_extent many[DRM_ORK_MAX_EXTENTS + 1];
	struct {
		struct drm_ork_extent extent;
		uint64_t more;
	} longer[2] = { 0 };
	struct object bo;

	begin("");
	bo = make(1, 0);
	for (unsigned int i = 0; i < DRM_ORK_MAX_EXTENTS + 1; i++)
		many[i] = EXTENT(bo, TO, .length = 1);
	CHECK_EQUAL(sync_array(ARRAY(many, DRM_ORK_MAX_EXTENTS)), 0);
	CHECK_EQUAL(sync_array(ARRAY(many, DRM_ORK_MAX_EXTENTS + 1)), -EINVAL);
	CHECK_EQUAL(sync_array(array_of(many, 0, 3)), 0);
	CHECK_EQUAL(sync_array(array_of(NULL, 1, sizeof(many[0]))), -EFAULT);
	CHECK_EQUAL(sync_array(array_of(many, 1, sizeof(many[0]) - 8)), -EINVAL);
	CHECK_EQUAL(sync_array(array_of(many, 1, sizeof(many[0]) + 4)), -EINVAL);
	CHECK_EQUAL(sync_array(array_of(many, 1, 4104)), -EINVAL);
	longer[0].extent = longer[1].extent = many[0];
	CHECK_EQUAL(sync_array(ARRAY(longer, 2)), 0);
	longer[1].more = 1;
	CHECK_EQUAL(sync_array(ARRAY(longer, 2)), -E2BIG);
	end();
}

/* --- what BO_SYNC moves ------------------------------------------------------------------- */

static void to_device_moves_whole_lines_and_no_others(void)
{
	struct object bo;

	begin("");
	bo = make(1, 0);
	memset(bo.data, 7, bo.size);
	CHECK_EQUAL(sync_one(EXTENT(bo, TO, .offset = 100, .length = 100)), 0);
	CHECK_EQUAL(dram(&bo, 63), 0);
	CHECK_EQUAL(dram(&bo, 64), 7);
	CHECK_EQUAL(dram(&bo, 255), 7);
	CHECK_EQUAL(dram(&bo, 256), 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_cleaned, 192);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).sync_calls, 1);
	end();
}

static void from_device_shows_the_lines_and_no_others(void)
{
	struct object bo;

	begin("");
	bo = make(1, 0);
	for (uint64_t at = 0; at < bo.size; at++)
		set_dram(&bo, at, 9);
	CHECK_EQUAL(sync_one(EXTENT(bo, FROM, .offset = 64, .length = 128)), 0);
	CHECK_EQUAL(bo.data[63], 0);
	CHECK_EQUAL(bo.data[64], 9);
	CHECK_EQUAL(bo.data[191], 9);
	CHECK_EQUAL(bo.data[192], 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_invalidated, 128);
	end();
}

static void rows_leave_out_what_lies_between_them(void)
{
	struct object bo;

	begin("");
	bo = make(1, 0);
	memset(bo.data, 7, bo.size);
	CHECK_EQUAL(sync_one(EXTENT(bo, TO, .offset = 32, .length = 64, .stride = 256, .rows = 3)),
		    0);
	for (uint64_t line = 0; line < bo.size; line += LINE)
		CHECK_EQUAL(dram(&bo, line), line < 3 * 256 && line % 256 < 128 ? 7 : 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_cleaned, 3 * 128);
	end();
}

static void rows_that_share_lines_are_counted_once(void)
{
	struct object bo;

	begin("");
	bo = make(1, 0);
	memset(bo.data, 7, bo.size);
	CHECK_EQUAL(sync_one(EXTENT(bo, TO, .length = 40, .stride = 48, .rows = 8)), 0);
	CHECK_EQUAL(dram(&bo, 375), 7);
	CHECK_EQUAL(dram(&bo, 384), 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_cleaned, 384);
	end();
}

static void a_bad_extent_leaves_all_untouched(void)
{
	struct drm_ork_extent extents[2];
	struct object bo;

	begin("");
	bo = make(1, 0);
	bo.data[0] = 7;
	extents[0] = EXTENT(bo, TO, .length = 64);
	extents[1] = EXTENT(bo, TO, .offset = 4096, .length = 1);
	CHECK_EQUAL(sync_array(ARRAY(extents, 2)), -EINVAL);
	CHECK_EQUAL(dram(&bo, 0), 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).sync_calls, 0);
	end();
}

static void a_coherent_device_maintains_nothing(void)
{
	struct request r;

	begin("cache=coherent");
	request_init(&r);
	r.bo.data[0] = 7;
	CHECK_EQUAL(dram(&r.bo, 0), 7);
	CHECK_EQUAL(sync_one(EXTENT(r.bo, TO | FROM, .length = 64)), 0);
	CHECK_EQUAL(sync_one(EXTENT(r.bo, FROM, .length = 63)), -EINVAL);
	CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_cleaned, 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_invalidated, 0);
	end();
}

/* --- submits ------------------------------------------------------------------------------ */

static void set_words(struct request *r) { r->task.words = 111; }
static void set_no_words(struct request *r) { r->task.words = 0; }
static void set_many_words(struct request *r) { r->task.words = DRM_ORK_MAX_WORDS + 2; }
static void set_iova_8(struct request *r) { r->task.iova += 8; }
static void set_iova_before(struct request *r) { r->extent.offset = 16; r->extent.length -= 16; }
static void set_iova_end(struct request *r) { r->task.iova += r->bo.size - 111 * 8 + 8; }
static void set_iova_high(struct request *r) { r->task.iova += 1ull << 32; }
static void set_iova_gap(struct request *r)
{
	r->extent = EXTENT(r->bo, READ, .length = 800, .stride = 4096, .rows = 4);
}
static void set_no_programs(struct request *r) { r->task.programs = 0; }
static void set_many_programs(struct request *r) { r->task.programs = DRM_ORK_MAX_PROGRAMS + 1; }
static void set_no_tasks(struct request *r) { r->job.tasks.count = 0; }
static void set_many_tasks(struct request *r) { r->job.tasks.count = DRM_ORK_MAX_TASKS + 1; }
static void set_task_stride(struct request *r) { r->job.tasks.stride = 8; }
static void set_task_pointer(struct request *r) { r->job.tasks.ptr = 0; }
static void set_no_extents(struct request *r) { r->job.extents.count = 0; }
static void set_many_extents(struct request *r) { r->job.extents.count = DRM_ORK_MAX_EXTENTS + 1; }
static void set_job_flags(struct request *r) { r->job.flags = 1; }
static void set_core_mask(struct request *r) { r->job.core_mask = 0x9; }
static void set_timeout(struct request *r) { r->job.timeout_ms = DRM_ORK_MAX_TIMEOUT_MS + 1; }
static void set_out_syncobj(struct request *r) { r->job.out_syncobj = 77; }
static void set_flags(struct request *r) { r->submit.flags = 2; }
static void set_priority(struct request *r) { r->submit.priority = 3; }
static void set_no_jobs(struct request *r) { r->submit.jobs.count = 0; }
static void set_many_jobs(struct request *r) { r->submit.jobs.count = DRM_ORK_MAX_JOBS + 1; }
static void set_in(struct request *r) { r->submit.in_syncs = ARRAY(&r->in, 1); }
static void set_in_unknown(struct request *r) { set_in(r); r->in.handle = 77; }
static void set_in_flags(struct request *r) { set_in(r); r->in.flags = 1; }
static void set_many_in(struct request *r)
{
	set_in(r);
	r->submit.in_syncs.count = DRM_ORK_MAX_SYNCS + 1;
}
static void set_out(struct request *r) { r->submit.out_syncs = ARRAY(&r->out, 1); }
static void set_out_unknown(struct request *r) { set_out(r); r->out.handle = 77; }
static void set_out_flags(struct request *r) { set_out(r); r->out.flags = 1; }
static void set_many_out(struct request *r)
{
	set_out(r);
	r->submit.out_syncs.count = DRM_ORK_MAX_SYNCS + 1;
}

static const struct {
	const char *what;
	void (*spoil)(struct request *r);
	int expected;
} submit_cases[] = {
	{ "an odd number of words", set_words, -EINVAL },
	{ "no words", set_no_words, -EINVAL },
	{ "too many words", set_many_words, -EINVAL },
	{ "a program off 16 bytes", set_iova_8, -EINVAL },
	{ "a program before its extent", set_iova_before, -EINVAL },
	{ "a program past its extent", set_iova_end, -EINVAL },
	{ "a program past 4 GiB", set_iova_high, -EINVAL },
	{ "a program in the gap between rows", set_iova_gap, -EINVAL },
	{ "no programs", set_no_programs, -EINVAL },
	{ "too many programs", set_many_programs, -EINVAL },
	{ "no tasks", set_no_tasks, -EINVAL },
	{ "too many tasks", set_many_tasks, -EINVAL },
	{ "short tasks", set_task_stride, -EINVAL },
	{ "tasks nowhere", set_task_pointer, -EFAULT },
	{ "no extents", set_no_extents, -EINVAL },
	{ "too many extents", set_many_extents, -EINVAL },
	{ "flags of a job", set_job_flags, -EOPNOTSUPP },
	{ "a core that is not", set_core_mask, -EINVAL },
	{ "too long a timeout", set_timeout, -EINVAL },
	{ "an unknown out syncobj of a job", set_out_syncobj, -ENOENT },
	{ "an unknown flag", set_flags, -EOPNOTSUPP },
	{ "an unknown priority", set_priority, -EINVAL },
	{ "no jobs", set_no_jobs, -EINVAL },
	{ "too many jobs", set_many_jobs, -EINVAL },
	{ "an in syncobj without a fence", set_in, -EINVAL },
	{ "an unknown in syncobj", set_in_unknown, -ENOENT },
	{ "flags of an in syncobj", set_in_flags, -EOPNOTSUPP },
	{ "too many in syncobjs", set_many_in, -EINVAL },
	{ "an unknown out syncobj", set_out_unknown, -ENOENT },
	{ "flags of an out syncobj", set_out_flags, -EOPNOTSUPP },
	{ "too many out syncobjs", set_many_out, -EINVAL },
};

/* The second of two jobs is bad: the first must not have run, nor its object been cleaned. */
static void a_bad_submit_starts_nothing(void)
{
	for (unsigned int i = 0; i < sizeof(submit_cases) / sizeof(submit_cases[0]); i++) {
		struct drm_ork_job jobs[2];
		struct request good, r;
		unsigned int before = failed_checks;

		begin("");
		request_init(&good);
		request_init(&r);
		good.bo.data[0] = 7;
		submit_cases[i].spoil(&r);
		jobs[0] = good.job;
		jobs[1] = r.job;
		if (r.submit.jobs.count == 1)
			r.submit.jobs = ARRAY(jobs, 2);
		CHECK_EQUAL(ork->submit(dev, &r.submit), submit_cases[i].expected);
		CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).jobs, 0);
		CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).submits, 0);
		CHECK_EQUAL(dram(&good.bo, 0), 0);
		end();
		if (failed_checks != before)
			printf("# that was: %s\n", submit_cases[i].what);
	}
}

static void a_job_that_hangs_ends_and_takes_no_other_with_it(void)
{
	struct drm_ork_job jobs[3];
	struct request r;
	int status;

	begin("");
	request_init(&r);
	for (int i = 0; i < 3; i++)
		jobs[i] = r.job;
	jobs[2].out_syncobj = r.in.handle;
	r.submit.jobs = ARRAY(jobs, 3);
	set_out(&r);
	CHECK_EQUAL(wait_for(r.out.handle, 0, &status), -EINVAL);
	CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	CHECK_EQUAL(wait_for(r.out.handle, 0, &status), 0);
	CHECK_EQUAL(status, -ETIMEDOUT);
	CHECK_EQUAL(wait_for(r.in.handle, 0, &status), 0);
	CHECK_EQUAL(status, -ETIMEDOUT);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).submits, 1);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).jobs, 3);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).resets, 3);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).interrupts, 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(counters(DRM_ORK_QUERY_CORE, i).jobs, 1);
	end();
}

static void a_job_stays_on_the_cores_it_allows(void)
{
	struct request r;

	begin("");
	request_init(&r);
	for (int i = 0; i < 4; i++) {
		r.job.core_mask = 5;
		CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	}
	CHECK_EQUAL(counters(DRM_ORK_QUERY_CORE, 0).jobs, 2);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_CORE, 1).jobs, 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_CORE, 2).jobs, 2);
	end();
}

/* Byte 0 of each page was written by the CPU, byte 64 by the device. */
static void submit_maintains_what_its_extents_name(void)
{
	static const struct {
		uint32_t flags;
		bool cleaned, invalidated;
	} cases[] = {
		{ READ, true, false },
		{ WRITE, true, true },
		{ READ | WRITE, true, true },
		{ WRITE | CPU_CLEAN, false, true },
		{ NO_SYNC, false, false },
		{ READ | NO_SYNC, false, false },
		{ WRITE | NO_SYNC, false, false },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request r;
		struct object bo;

		begin("");
		request_init(&r);
		r.extent.flags = NO_SYNC;
		bo = make(1, 0);
		bo.data[0] = 7;
		set_dram(&bo, 64, 9);
		CHECK_EQUAL(submit_extent(&r, EXTENT(bo, cases[i].flags, .length = 128)), 0);
		CHECK_EQUAL(dram(&bo, 0), cases[i].cleaned ? 7 : 0);
		CHECK_EQUAL(bo.data[64], cases[i].invalidated ? 9 : 0);
		CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_cleaned, cases[i].cleaned ? 128 : 0);
		CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_invalidated,
			    cases[i].invalidated ? 128 : 0);
		end();
	}
}

static void write_combined_objects_need_no_maintenance(void)
{
	struct request r;
	struct object bo;

	begin("");
	request_init(&r);
	r.extent.flags = NO_SYNC;
	bo = make(PAGE_BYTES, DRM_ORK_BO_WRITE_COMBINE);
	bo.data[0] = 7;
	set_dram(&bo, 64, 9);
	CHECK_EQUAL(submit_extent(&r, EXTENT(bo, NO_SYNC, .length = 1)), 0);
	CHECK_EQUAL(dram(&bo, 0), 7);
	CHECK_EQUAL(bo.data[64], 9);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).bytes_cleaned, 0);
	CHECK_EQUAL(sync_one(EXTENT(bo, FROM, .length = 32)), -EINVAL);
	end();
}

static void a_program_may_lie_in_any_row(void)
{
	struct request r;

	begin("");
	request_init(&r);
	r.extent = EXTENT(r.bo, READ, .length = 896, .stride = 4096, .rows = 4);
	r.task.iova = r.bo.iova + 3 * 4096;
	CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	r.task.iova += 16;
	CHECK_EQUAL(ork->submit(dev, &r.submit), -EINVAL);
	end();
}

/* --- a program that runs ------------------------------------------------------------------ */

/* C = A * B for fp16 of 1x32 and 32x16, all ones, into fp32; each in a page of its own. */
#define VECTORS		"model/npu/tests/vectors/matmul-known-good.tsv"
#define PRODUCT_WORDS	112

struct product {
	struct object chain, a, b, c;
	struct drm_ork_extent extents[4];
	struct drm_ork_task task;
	struct drm_ork_job job;
};

/* The known program lies elsewhere: its three addresses are replaced. */
static uint32_t moved(const struct product *p, uint32_t reg, uint32_t value)
{
	switch (reg) {
	case ORK_CNA_FEATURE_DATA_ADDR:
		return p->a.iova;
	case ORK_CNA_DCOMP_ADDR0:
		return p->b.iova;
	case ORK_DPU_DST_BASE_ADDR:
		return p->c.iova;
	default:
		return value;
	}
}

static unsigned int load_product(const struct product *p, uint64_t *words)
{
	unsigned int word, target, reg, value, count = 0;
	char line[128];
	FILE *f = fopen(VECTORS, "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "fp16_fp32 1 32 16 %u %x %x %x", &word, &target, &reg, &value) != 4)
			continue;
		if (word < PRODUCT_WORDS)
			words[word] = ORK_REGCMD(target, reg, moved(p, reg, value));
		count++;
	}
	if (f)
		fclose(f);
	return count;
}

static void product_init(struct product *p)
{
	static const uint16_t one = 0x3c00;

	memset(p, 0, sizeof(*p));
	p->chain = make(1, 0);
	p->a = make(1, 0);
	p->b = make(1, 0);
	p->c = make(1, 0);
	CHECK_EQUAL(load_product(p, (uint64_t *)p->chain.data), PRODUCT_WORDS);
	for (unsigned int i = 0; i < PAGE_BYTES; i += sizeof(one)) {
		memcpy(p->a.data + i, &one, sizeof(one));
		memcpy(p->b.data + i, &one, sizeof(one));
	}
	p->extents[0] = EXTENT(p->chain, READ, .length = PRODUCT_WORDS * sizeof(uint64_t));
	p->extents[1] = EXTENT(p->a, READ, .length = PAGE_BYTES);
	p->extents[2] = EXTENT(p->b, READ, .length = PAGE_BYTES);
	p->extents[3] = EXTENT(p->c, WRITE, .length = 64);
	p->task.iova = p->chain.iova;
	p->task.words = PRODUCT_WORDS;
	p->task.programs = 1;
	p->job.tasks = ARRAY(&p->task, 1);
	p->job.extents = ARRAY(p->extents, 4);
	CHECK_EQUAL(ork->syncobj_create(dev, &p->job.out_syncobj), 0);
}

static bool product_is_right(const struct product *p)
{
	for (unsigned int i = 0; i < 16; i++) {
		float value;

		memcpy(&value, p->c.data + i * sizeof(value), sizeof(value));
		if (value != 32)
			return false;
	}
	return true;
}

static void submit_jobs(struct drm_ork_job *jobs, uint32_t count, struct drm_ork_sync *out)
{
	struct drm_ork_submit submit = {
		.jobs = ARRAY(jobs, count), .out_syncs = ARRAY(out, out ? 1 : 0),
	};

	CHECK_EQUAL(ork->submit(dev, &submit), 0);
}

static int run_product(struct product *p)
{
	int status;

	submit_jobs(&p->job, 1, NULL);
	CHECK_EQUAL(wait_for(p->job.out_syncobj, 0, &status), 0);
	return status;
}

static void a_job_computes_and_is_counted(const char *options)
{
	struct drm_ork_counters done;
	struct product p;

	begin(options);
	product_init(&p);
	for (int i = 0; i < 3; i++) {
		memset(p.c.data, 0, 64);
		CHECK_EQUAL(run_product(&p), 0);
		CHECK(product_is_right(&p));
		done = counters(DRM_ORK_QUERY_CORE, i);
		CHECK_EQUAL(done.jobs, 1);
		CHECK_EQUAL(done.programs, 1);
		CHECK_EQUAL(done.interrupts, 1);
		CHECK_EQUAL(done.switches, 1);
		CHECK_EQUAL(done.resets, 0);
	}
	CHECK(counters(DRM_ORK_QUERY_FILE, 0).busy_ns > 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).programs, 3);
	end();
}

static void a_job_computes_and_is_counted_strict(void)
{
	a_job_computes_and_is_counted("cache=strict");
}

static void a_job_computes_and_is_counted_evict(void)
{
	a_job_computes_and_is_counted("cache=evict,seed=5");
}

static void a_job_computes_and_is_counted_coherent(void)
{
	a_job_computes_and_is_counted("cache=coherent");
}

/* The third is no program: the two before it still count. */
static void tasks_of_a_job_run_one_after_the_other(void)
{
	struct drm_ork_task tasks[3];
	struct product p;

	begin("");
	product_init(&p);
	tasks[0] = tasks[1] = tasks[2] = p.task;
	tasks[2].iova = p.a.iova;
	p.job.tasks = ARRAY(tasks, 2);
	CHECK_EQUAL(run_product(&p), 0);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).interrupts, 2);
	p.job.tasks = ARRAY(tasks, 3);
	CHECK_EQUAL(run_product(&p), -ETIMEDOUT);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).interrupts, 4);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_FILE, 0).jobs, 2);
	end();
}

/* Whichever of the two comes first, on one core. */
static void a_hang_costs_its_own_job_only(void)
{
	for (int first = 0; first < 2; first++) {
		struct drm_ork_job jobs[2];
		struct product p;
		struct request r;
		int status;

		begin("");
		product_init(&p);
		request_init(&r);
		p.job.core_mask = r.job.core_mask = 2;
		r.job.out_syncobj = r.in.handle;
		jobs[first] = p.job;
		jobs[!first] = r.job;
		submit_jobs(jobs, 2, &r.out);
		CHECK_EQUAL(wait_for(p.job.out_syncobj, 0, &status), 0);
		CHECK_EQUAL(status, 0);
		CHECK_EQUAL(wait_for(r.in.handle, 0, &status), 0);
		CHECK_EQUAL(status, -ETIMEDOUT);
		CHECK_EQUAL(wait_for(r.out.handle, 0, &status), 0);
		CHECK_EQUAL(status, -ETIMEDOUT);
		CHECK(product_is_right(&p));
		end();
	}
}

/* The core has just translated B, which is gone now. */
static void a_destroyed_object_faults_a_core_that_knew_it(void)
{
	struct product p;

	begin("");
	product_init(&p);
	p.job.core_mask = 1;
	CHECK_EQUAL(run_product(&p), 0);
	destroy(&p.b);
	p.extents[2] = p.extents[1];
	CHECK_EQUAL(run_product(&p), -EFAULT);
	CHECK_EQUAL(counters(DRM_ORK_QUERY_CORE, 0).resets, 1);
	end();
}

static struct npu_report report(void)
{
	struct npu_report report;

	npu_cache_report(dev->cache, &report);
	return report;
}

static void a_result_that_is_not_invalidated_is_not_seen(void)
{
	struct product p;

	begin("");
	product_init(&p);
	p.extents[3].flags = WRITE | NO_SYNC;
	CHECK_EQUAL(run_product(&p), 0);
	CHECK(!product_is_right(&p));
	CHECK_EQUAL(sync_one(EXTENT(p.c, FROM, .length = 64)), 0);
	CHECK(product_is_right(&p));
	CHECK_EQUAL(report().stale_reads, 0);
	end();
}

static void an_operand_that_is_not_cleaned_is_stale_and_logged(void)
{
	char options[64], text[1 << 16] = "";
	FILE *log = tmpfile();
	struct product p;

	snprintf(options, sizeof(options), "log=/proc/self/fd/%d", fileno(log));
	begin(options);
	product_init(&p);
	p.extents[1].flags = NO_SYNC;
	CHECK_EQUAL(run_product(&p), 0);
	CHECK(!product_is_right(&p));
	CHECK_EQUAL(report().stale_by_block[NPU_BLOCK_FEATURE], 1);
	end();
	CHECK(fread(text, 1, sizeof(text) - 1, log) > 0);
	CHECK(strstr(text, "stale read: core 0 feature iova 0x"));
	CHECK(strstr(text, "byte 1: cpu 0x3c dram 0x00\n"));
	CHECK(strstr(text, "\ncache: "));
	fclose(log);
}

/* --- syncobjs ----------------------------------------------------------------------------- */

static void waits_are_checked(void)
{
	struct request r;
	struct drm_ork_wait wait;

	begin("");
	request_init(&r);
	set_out(&r);
	wait = (struct drm_ork_wait) { .syncobj = r.out.handle };
	CHECK_EQUAL(ork->wait(dev, &wait), -EINVAL);
	CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	CHECK_EQUAL(ork->wait(dev, &wait), 0);
	wait.flags = 1;
	CHECK_EQUAL(ork->wait(dev, &wait), -EOPNOTSUPP);
	wait.flags = 0;
	ork->syncobj_destroy(dev, r.out.handle);
	CHECK_EQUAL(ork->wait(dev, &wait), -ENOENT);
	end();
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void a_wait_tells_where_and_when_its_job_ran(void)
{
	struct drm_ork_wait wait = { .busy_ns = 99 };
	struct product p;
	uint64_t before;

	begin("");
	product_init(&p);
	p.job.core_mask = 2;
	before = now_ns();
	CHECK_EQUAL(run_product(&p), 0);
	wait.syncobj = p.job.out_syncobj;
	CHECK_EQUAL(ork->wait(dev, &wait), 0);
	CHECK_EQUAL(wait.cores, 2);
	CHECK(before <= wait.begin_ns && wait.end_ns <= now_ns());
	CHECK(wait.busy_ns > 0 && wait.busy_ns <= wait.end_ns - wait.begin_ns);
	end();
}

static void a_wait_for_several_jobs_spans_them(void)
{
	struct drm_ork_wait last, all;
	struct drm_ork_job jobs[3];
	struct product p;
	struct request r;

	begin("");
	product_init(&p);
	request_init(&r);
	for (uint32_t i = 0; i < 3; i++) {
		jobs[i] = p.job;
		jobs[i].core_mask = 1u << i;
	}
	submit_jobs(jobs, 3, &r.out);
	/* The jobs have one syncobj, in which the last one's fence remains. */
	last = (struct drm_ork_wait) { .syncobj = p.job.out_syncobj };
	all = (struct drm_ork_wait) { .syncobj = r.out.handle };
	CHECK_EQUAL(ork->wait(dev, &last), 0);
	CHECK_EQUAL(ork->wait(dev, &all), 0);
	CHECK_EQUAL(last.cores, 4);
	CHECK_EQUAL(all.cores, 7);
	CHECK(all.begin_ns < last.begin_ns && all.end_ns == last.end_ns);
	CHECK(all.busy_ns > last.busy_ns && all.busy_ns <= all.end_ns - all.begin_ns);
	end();
}

static void timelines_have_points(void)
{
	struct request r;
	int status;

	begin("");
	request_init(&r);
	set_out(&r);
	r.out.point = 5;
	CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	CHECK_EQUAL(wait_for(r.out.handle, 5, &status), 0);
	CHECK_EQUAL(wait_for(r.out.handle, 3, &status), 0);
	CHECK_EQUAL(wait_for(r.out.handle, 6, &status), -EINVAL);
	r.in = (struct drm_ork_sync) { .handle = r.out.handle, .point = 6 };
	set_in(&r);
	CHECK_EQUAL(ork->submit(dev, &r.submit), -EINVAL);
	r.in.point = 5;
	r.out.point = 6;
	CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	CHECK_EQUAL(wait_for(r.out.handle, 6, &status), 0);
	for (r.out.point = 7; r.out.point < 300; r.out.point++)
		CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	CHECK_EQUAL(wait_for(r.out.handle, 299, &status), 0);
	CHECK_EQUAL(wait_for(r.out.handle, 5, &status), 0);
	CHECK_EQUAL(wait_for(r.out.handle, 300, &status), -EINVAL);
	end();
}

/* Without the capability, whoever runs the test. It is given up for good: the last test. */
static void high_priority_needs_a_capability(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct request r;

	begin("");
	request_init(&r);
	r.submit.priority = DRM_ORK_PRIORITY_LOW;
	CHECK_EQUAL(ork->submit(dev, &r.submit), 0);
	CHECK(!syscall(SYS_capset, &header, none));
	r.submit.priority = DRM_ORK_PRIORITY_HIGH;
	CHECK_EQUAL(ork->submit(dev, &r.submit), -EACCES);
	end();
}

int main(void)
{
	RUN(unknown_options_are_refused);
	RUN(the_device_tells_what_it_is);
	RUN(query_answers_as_much_as_fits);
	RUN(query_refuses_what_it_does_not_know);
	RUN(objects_are_pages_with_a_guard_behind_them);
	RUN(every_handle_is_known_until_its_object_is_gone);
	RUN(bad_objects_are_refused);
	RUN(the_largest_object_ends_where_the_device_says);
	RUN(a_reused_object_is_zeros_on_both_sides);
	RUN(what_is_not_mapped_faults);
	RUN(extents_are_checked_alike_in_sync_and_submit);
	RUN(flags_of_the_other_call_are_refused);
	RUN(cpu_clean_goes_with_write_alone);
	RUN(arrays_are_checked);
	RUN(to_device_moves_whole_lines_and_no_others);
	RUN(from_device_shows_the_lines_and_no_others);
	RUN(rows_leave_out_what_lies_between_them);
	RUN(rows_that_share_lines_are_counted_once);
	RUN(a_bad_extent_leaves_all_untouched);
	RUN(a_coherent_device_maintains_nothing);
	RUN(a_bad_submit_starts_nothing);
	RUN(a_job_that_hangs_ends_and_takes_no_other_with_it);
	RUN(a_job_stays_on_the_cores_it_allows);
	RUN(submit_maintains_what_its_extents_name);
	RUN(write_combined_objects_need_no_maintenance);
	RUN(a_program_may_lie_in_any_row);
	RUN(a_job_computes_and_is_counted_strict);
	RUN(a_job_computes_and_is_counted_evict);
	RUN(a_job_computes_and_is_counted_coherent);
	RUN(tasks_of_a_job_run_one_after_the_other);
	RUN(a_hang_costs_its_own_job_only);
	RUN(a_destroyed_object_faults_a_core_that_knew_it);
	RUN(a_result_that_is_not_invalidated_is_not_seen);
	RUN(an_operand_that_is_not_cleaned_is_stale_and_logged);
	RUN(waits_are_checked);
	RUN(a_wait_tells_where_and_when_its_job_ran);
	RUN(a_wait_for_several_jobs_spans_them);
	RUN(timelines_have_points);
	RUN(high_priority_needs_a_capability);
	return test_result();
}

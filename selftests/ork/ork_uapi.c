// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every ioctl and every errno that drm/ork_drm.h promises, apart from what BO_SYNC and SUBMIT do
 * when all is well.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <stdio.h>
#include <sys/wait.h>
#include "ork_test.h"
#include "driver.h"

/* Every single bit of a flags word that is not in @known. */
#define EXPECT_UNKNOWN_BITS_REFUSED(field, known, call)				\
	for (uint32_t bit_ = 1; bit_; bit_ <<= 1)				\
		if (!(bit_ & (known)))						\
			EXPECT_REFUSED(EOPNOTSUPP, field, (field) | bit_, call)

static void drop_privileges(struct __test_metadata *_metadata)
{
	if (geteuid())
		return;
	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setgid(65534));
	ASSERT_EQ(0, setuid(65534));
}

/* Bytes that memory has left, or 0 if that cannot be told. */
static uint64_t memory_available(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long kilobytes = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1)
			break;
	if (file)
		fclose(file);
	return kilobytes * 1024;
}

FIXTURE(uapi) {
	int fd;
};

FIXTURE_SETUP(uapi)
{
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(uapi)
{
	close(self->fd);
}

/* --- version, QUERY --------------------------------------------------------------------------- */

TEST_F(uapi, version_is_ork_1_0)
{
	char name[16] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) };

	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_VERSION, &version));
	EXPECT_STREQ("ork", name);
	EXPECT_EQ(1, version.version_major);
	EXPECT_EQ(0, version.version_minor);
}

TEST_F(uapi, query_device_describes_an_rk3588)
{
	struct drm_ork_device_info info;

	memset(&info, 0xff, sizeof(info));
	ASSERT_EQ(0, query(self->fd, DRM_ORK_QUERY_DEVICE, 0, &info, sizeof(info)));
	EXPECT_EQ(3588u, info.soc);
	EXPECT_EQ(ORK_HW_VERSION_RK3588, info.hw_version);
	EXPECT_EQ(0u, info.flags & ~(uint32_t)DRM_ORK_DEVICE_COHERENT);
	EXPECT_LE(1u, info.num_cores);
	EXPECT_GE((uint32_t)ORK_MAX_CORES, info.num_cores);
	EXPECT_EQ(info.num_cores, (uint32_t)__builtin_popcount(info.core_mask));
	EXPECT_EQ(LINE, info.cache_line);
	EXPECT_EQ(PAGE, info.page_size);
	EXPECT_LT(0u, info.timeout_ms);
	EXPECT_GE((uint32_t)DRM_ORK_MAX_TIMEOUT_MS, info.timeout_ms);
	EXPECT_LE(PAGE, info.iova_start);
	EXPECT_LT(info.iova_start, info.iova_end);
	EXPECT_GT(IOVA_LIMIT, info.iova_end);
}

TEST_F(uapi, default_timeout_is_the_modules_within_the_limits_of_a_jobs)
{
	static const struct {
		const char *set;
		uint32_t told;
	} tries[] = {
		{ "0", 1 }, { "4294967295", DRM_ORK_MAX_TIMEOUT_MS }, { "1234", 1234 }, { "500", 500 },
	};

	if (access(JOB_TIMEOUT, W_OK))
		SKIP(return, "needs the right to set the module's timeout_ms");
	for (size_t i = 0; i < ARRAY_LENGTH(tries); i++) {
		EXPECT_EQ(0, write_text(JOB_TIMEOUT, tries[i].set));
		EXPECT_EQ(tries[i].told, device_info(self->fd).timeout_ms);
	}
}

TEST_F(uapi, query_tells_the_size_of_every_answer)
{
	struct drm_ork_query query = { .type = DRM_ORK_QUERY_DEVICE };

	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_EQ(sizeof(struct drm_ork_device_info), query.size);
	query = (struct drm_ork_query){ .type = DRM_ORK_QUERY_FILE };
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_EQ(sizeof(struct drm_ork_counters), query.size);
	query = (struct drm_ork_query){ .type = DRM_ORK_QUERY_CORE };
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_EQ(sizeof(struct drm_ork_counters), query.size);
}

TEST_F(uapi, query_fills_a_short_buffer_and_no_more)
{
	uint8_t answer[64];
	struct drm_ork_query query = { .type = DRM_ORK_QUERY_DEVICE,
				       .size = 6,
				       .ptr = (uintptr_t)answer };
	struct drm_ork_device_info info = device_info(self->fd);

	memset(answer, 0xff, sizeof(answer));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_EQ(0, memcmp(answer, &info, 6));
	for (unsigned int i = 6; i < sizeof(answer); i++)
		EXPECT_EQ(0xff, answer[i]);
	EXPECT_EQ(sizeof(info), query.size);
}

TEST_F(uapi, query_of_no_bytes_writes_none)
{
	uint8_t answer = 0xff;
	struct drm_ork_query query = { .type = DRM_ORK_QUERY_FILE, .ptr = (uintptr_t)&answer };

	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_EQ(0xff, answer);
	EXPECT_EQ(sizeof(struct drm_ork_counters), query.size);
}

TEST_F(uapi, query_zeroes_what_it_does_not_know)
{
	uint8_t answer[4096];
	struct drm_ork_query query = { .type = DRM_ORK_QUERY_DEVICE,
				       .size = 4000,
				       .ptr = (uintptr_t)answer };
	struct drm_ork_device_info info = device_info(self->fd);

	memset(answer, 0xff, sizeof(answer));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_EQ(0, memcmp(answer, &info, sizeof(info)));
	for (unsigned int i = sizeof(info); i < sizeof(answer); i++)
		EXPECT_EQ(i < 4000 ? 0 : 0xff, answer[i]);
	EXPECT_EQ(sizeof(info), query.size);
}

TEST_F(uapi, query_rejects_bad_arguments)
{
	struct drm_ork_counters answer;
	struct drm_ork_query query = { .type = DRM_ORK_QUERY_FILE,
				       .size = sizeof(answer),
				       .ptr = (uintptr_t)&answer };
	int fd = self->fd;

	EXPECT_REFUSED(EINVAL, query.type, 3u, call(fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_REFUSED(EINVAL, query.type, ~0u, call(fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_REFUSED(EINVAL, query.index, 1u, call(fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_REFUSED(EINVAL, query.pad, 1u, call(fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_REFUSED(EFAULT, query.ptr, 1u, call(fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_REFUSED(EFAULT, query.ptr, ~7ull, call(fd, DRM_IOCTL_ORK_QUERY, &query));
	query.type = DRM_ORK_QUERY_DEVICE;
	EXPECT_REFUSED(EINVAL, query.index, 1u, call(fd, DRM_IOCTL_ORK_QUERY, &query));
	query.type = DRM_ORK_QUERY_CORE;
	EXPECT_REFUSED(EINVAL, query.index, device_info(fd).num_cores,
		       call(fd, DRM_IOCTL_ORK_QUERY, &query));
	EXPECT_REFUSED(EINVAL, query.index, ~0u, call(fd, DRM_IOCTL_ORK_QUERY, &query));
}

TEST_F(uapi, query_rejects_a_buffer_it_may_not_write)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, page);
	EXPECT_EQ(-EFAULT, query(self->fd, DRM_ORK_QUERY_DEVICE, 0, page,
				 sizeof(struct drm_ork_device_info)));
}

/* --- BO_CREATE, BO_INFO ----------------------------------------------------------------------- */

TEST_F(uapi, create_rounds_up_to_pages)
{
	struct bo bo;

	ASSERT_EQ(0, bo_create(self->fd, 1, &bo));
	EXPECT_EQ(PAGE, bo.size);
	EXPECT_NE(0u, bo.handle);
	bo_close(self->fd, &bo);
	ASSERT_EQ(0, bo_create(self->fd, 3 * PAGE + 1, &bo));
	EXPECT_EQ(4 * PAGE, bo.size);
}

TEST_F(uapi, create_rejects_bad_arguments)
{
	struct drm_ork_bo_create create = { .size = PAGE };
	int fd = self->fd;

	EXPECT_REFUSED(EINVAL, create.size, 0u, call(fd, DRM_IOCTL_ORK_BO_CREATE, &create));
	EXPECT_UNKNOWN_BITS_REFUSED(create.flags, DRM_ORK_BO_WRITE_COMBINE,
				    call(fd, DRM_IOCTL_ORK_BO_CREATE, &create));
}

TEST_F(uapi, create_finds_no_room_for_what_exceeds_the_address_space)
{
	static const uint64_t sizes[] = {
		IOVA_LIMIT - PAGE, IOVA_LIMIT, IOVA_LIMIT + PAGE, 1ull << 40, 1ull << 63,
		~0ull - PAGE,	   ~0ull,
	};
	struct drm_ork_bo_create create;

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		create = (struct drm_ork_bo_create){ .size = sizes[i] };
		EXPECT_EQ(-ENOSPC, call(self->fd, DRM_IOCTL_ORK_BO_CREATE, &create)) {
			TH_LOG("size 0x%llx", (unsigned long long)sizes[i]);
		}
	}
	EXPECT_EQ(0, health(self->fd, 0));
}

TEST_F(uapi, create_finds_no_memory_for_what_exceeds_the_machine)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * PAGE;
	struct drm_ork_device_info info = device_info(self->fd);
	struct drm_ork_bo_create create = { .size = PAGE };

	if (memory > info.iova_end - info.iova_start)
		SKIP(return, "the machine has more memory than an address space has room");
	EXPECT_REFUSED(ENOMEM, create.size, memory,
		       call(self->fd, DRM_IOCTL_ORK_BO_CREATE, &create));
}

TEST_F(uapi, create_finds_no_room_beside_what_is_there)
{
	struct drm_ork_device_info info = device_info(self->fd);
	uint64_t window = info.iova_end - info.iova_start + 1;
	struct drm_ork_bo_create create = { .size = window - PAGE * 1024 };
	struct bo first, second;

	ASSERT_EQ(0, bo_create(self->fd, 8 << 20, &first));
	EXPECT_EQ(-ENOSPC, call(self->fd, DRM_IOCTL_ORK_BO_CREATE, &create));
	ASSERT_EQ(0, bo_create(self->fd, 8 << 20, &second));
	EXPECT_EQ(0, health(self->fd, 0));
}

TEST_F(uapi, window_that_was_full_is_usable_again)
{
	struct bo bos[64];
	unsigned int count = 0;
	int error;

	if (memory_available() < IOVA_LIMIT + (256ull << 20))
		SKIP(return, "filling 4 GiB of addresses needs as much memory");
	do {
		error = bo_create(self->fd, 128 << 20, &bos[count]);
	} while (!error && ++count < ARRAY_LENGTH(bos));
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_LE(30u, count);
	bo_close(self->fd, &bos[0]);
	EXPECT_EQ(0, bo_create(self->fd, 128 << 20, &bos[0]));
}

TEST_F(uapi, failed_create_leaves_no_handle)
{
	struct drm_ork_bo_create create = { .size = 1ull << 63 };
	struct drm_ork_bo_info info = { 0 };
	struct bo bo;

	ASSERT_EQ(0, bo_create(self->fd, PAGE, &bo));
	ASSERT_EQ(-ENOSPC, call(self->fd, DRM_IOCTL_ORK_BO_CREATE, &create));
	for (uint32_t handle = bo.handle + 1; handle < bo.handle + 4; handle++) {
		info.handle = handle;
		EXPECT_EQ(-ENOENT, call(self->fd, DRM_IOCTL_ORK_BO_INFO, &info));
	}
}

TEST_F(uapi, addresses_are_never_zero_and_stay_apart_by_a_page)
{
	struct bo bos[32];

	for (size_t i = 0; i < ARRAY_LENGTH(bos); i++) {
		ASSERT_EQ(0, bo_create(self->fd, (i % 5 + 1) * PAGE, &bos[i]));
		EXPECT_LE(device_info(self->fd).iova_start, bos[i].iova);
		EXPECT_GE(device_info(self->fd).iova_end, bos[i].iova + bos[i].size - 1);
		EXPECT_EQ(0u, bos[i].iova % PAGE);
		for (size_t j = 0; j < i; j++)
			EXPECT_TRUE(bos[j].iova + bos[j].size + PAGE <= bos[i].iova ||
				    bos[i].iova + bos[i].size + PAGE <= bos[j].iova);
	}
}

/*
 * To run out of addresses takes more memory than most machines have; an allocator that leaks never
 * gives one out twice.
 */
TEST_F(uapi, addresses_of_closed_objects_are_used_again)
{
	uint64_t seen[1000];
	unsigned int repeated = 0;
	struct bo bo;

	for (size_t i = 0; i < ARRAY_LENGTH(seen); i++) {
		ASSERT_EQ(0, bo_create(self->fd, PAGE, &bo));
		seen[i] = bo.iova;
		bo_close(self->fd, &bo);
		for (size_t j = 0; j < i && !repeated; j++)
			repeated += seen[j] == seen[i];
	}
	EXPECT_LT(0u, repeated);
}

TEST_F(uapi, info_agrees_with_create)
{
	static const uint32_t flags[] = { 0, DRM_ORK_BO_WRITE_COMBINE };

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		struct drm_ork_bo_create create = { .size = 5000, .flags = flags[i] };
		struct drm_ork_bo_info info = { .flags = ~0u };

		ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_BO_CREATE, &create));
		EXPECT_EQ(flags[i], create.flags);
		info.handle = create.handle;
		ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_BO_INFO, &info));
		EXPECT_EQ(flags[i], info.flags);
		EXPECT_EQ(create.size, info.size);
		EXPECT_EQ(create.iova, info.iova);
		EXPECT_EQ(create.mmap_offset, info.mmap_offset);
	}
}

TEST_F(uapi, info_knows_open_handles_only)
{
	struct drm_ork_bo_info info = { 0 };
	struct bo bo;

	EXPECT_EQ(-ENOENT, call(self->fd, DRM_IOCTL_ORK_BO_INFO, &info));
	info.handle = 0xdeadbeef;
	EXPECT_EQ(-ENOENT, call(self->fd, DRM_IOCTL_ORK_BO_INFO, &info));
	ASSERT_EQ(0, bo_create(self->fd, PAGE, &bo));
	info.handle = bo.handle;
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ORK_BO_INFO, &info));
	bo_close(self->fd, &bo);
	EXPECT_EQ(-ENOENT, call(self->fd, DRM_IOCTL_ORK_BO_INFO, &info));
}

TEST_F(uapi, handles_of_another_file_do_not_exist)
{
	struct product theirs;
	struct drm_ork_bo_info info = { 0 };
	struct drm_ork_job job;
	int other = device_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, product_create(other, &theirs, 1, 32, 32, 1));
	info.handle = theirs.bo.handle;
	EXPECT_EQ(-ENOENT, call(self->fd, DRM_IOCTL_ORK_BO_INFO, &info));
	EXPECT_EQ(-ENOENT, sync_range(self->fd, &theirs.bo, DRM_ORK_EXTENT_TO_DEVICE, 0, PAGE));
	job = product_job(&theirs, 0);
	EXPECT_EQ(-ENOENT, run_job(self->fd, &job));
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, theirs.bo.mmap_offset));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, run_job(other, &job));
	close(other);
}

/* --- memory ----------------------------------------------------------------------------------- */

#define LEAK_OBJECTS	24
#define LEAK_BYTES	(256u * 1024)

static int fill_and_die(void)
{
	int fd = device_open();
	struct bo bo;

	for (unsigned int i = 0; i < LEAK_OBJECTS; i++) {
		if (bo_create(fd, LEAK_BYTES, &bo))
			return 1;
		memset(bo.data, 0x5a, bo.size);
		if (sync_range(fd, &bo, DRM_ORK_EXTENT_TO_DEVICE, 0, bo.size))
			return 1;
	}
	return 0;
}

TEST_F_TIMEOUT(uapi, fresh_objects_are_zero_for_cpu_and_device, 120)
{
	static const uint8_t zeros[PROBE_BYTES];
	struct bo bos[LEAK_OBJECTS];
	uint8_t seen[PROBE_BYTES];
	pid_t child = fork();
	int status;

	if (!child)
		_exit(fill_and_die());
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	for (unsigned int i = 0; i < LEAK_OBJECTS; i++)
		ASSERT_EQ(0, bo_create(self->fd, LEAK_BYTES, &bos[i]));
	for (unsigned int i = 0; i < LEAK_OBJECTS; i++) {
		memset(seen, 0xff, sizeof(seen));
		ASSERT_EQ(0, probe(self->fd, &bos[i], i * PROBE_BYTES % LEAK_BYTES, PROBE_BYTES,
				   seen));
		EXPECT_EQ(0, memcmp(zeros, seen, sizeof(seen)));
		for (uint64_t offset = 0; offset < LEAK_BYTES; offset += sizeof(zeros))
			EXPECT_EQ(0, memcmp(zeros, bos[i].data + offset, sizeof(zeros)));
	}
}

TEST_F(uapi, mmap_rejects_what_is_not_the_object)
{
	struct bo bo, closed;
	uint64_t offset;

	ASSERT_EQ(0, bo_create(self->fd, 4 * PAGE, &bo));
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, 5 * PAGE, PROT_READ, MAP_SHARED, self->fd, bo.mmap_offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, self->fd, bo.mmap_offset + PAGE));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd,
				   bo.mmap_offset));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, bo_create(self->fd, PAGE, &closed));
	offset = closed.mmap_offset;
	bo_close(self->fd, &closed);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, offset));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(uapi, mapping_cannot_grow)
{
	struct bo bo;

	ASSERT_EQ(0, bo_create(self->fd, 4 * PAGE, &bo));
	EXPECT_EQ(MAP_FAILED, mremap(bo.data, bo.size, 2 * bo.size, MREMAP_MAYMOVE));
	bo.data[bo.size - 1] = 1;
}

TEST_F(uapi, mapping_survives_what_a_client_may_do_to_it)
{
	struct bo bo;
	pid_t child;
	int status;

	ASSERT_EQ(0, bo_create(self->fd, 4 * PAGE, &bo));
	memset(bo.data, 7, bo.size);
	child = fork();
	if (!child) {
		bo.data[0] = 8;
		_exit(0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(8, bo.data[0]);
	madvise(bo.data, bo.size, MADV_DONTNEED);
	EXPECT_EQ(7, bo.data[1]);
	EXPECT_EQ(0, munmap(bo.data + PAGE, PAGE));
	EXPECT_EQ(8, bo.data[0]);
	EXPECT_EQ(7, bo.data[2 * PAGE]);
	bo_close(self->fd, &bo);
	EXPECT_EQ(0, health(self->fd, 0));
}

TEST_F(uapi, mapping_outlives_handle_and_file)
{
	struct drm_gem_close close_handle = { 0 };
	int fd = device_open();
	struct bo bo;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, bo_create(fd, PAGE, &bo));
	bo.data[5] = 5;
	close_handle.handle = bo.handle;
	EXPECT_EQ(0, call(fd, DRM_IOCTL_GEM_CLOSE, &close_handle));
	EXPECT_EQ(-EINVAL, call(fd, DRM_IOCTL_GEM_CLOSE, &close_handle));
	close(fd);
	EXPECT_EQ(5, bo.data[5]);
	bo.data[PAGE - 1] = 6;
	munmap(bo.data, PAGE);
}

/* --- privileges, priorities ------------------------------------------------------------------- */

TEST_F(uapi, everything_but_high_priority_needs_no_privilege)
{
	struct product product;
	struct drm_ork_job job;
	struct drm_ork_submit submit = { 0 };

	drop_privileges(_metadata);
	EXPECT_EQ(0, health(self->fd, 0));
	ASSERT_EQ(0, product_create(self->fd, &product, 1, 32, 32, 1));
	EXPECT_EQ(0, sync_range(self->fd, &product.bo, DRM_ORK_EXTENT_TO_DEVICE, 0, PAGE));
	job = product_job(&product, 0);
	submit.jobs = ARRAY(&job, 1);
	EXPECT_REFUSED(EACCES, submit.priority, (uint32_t)DRM_ORK_PRIORITY_HIGH,
		       call(self->fd, DRM_IOCTL_ORK_SUBMIT, &submit));
	submit.priority = DRM_ORK_PRIORITY_LOW;
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &submit));
}

TEST_F(uapi, high_priority_is_for_the_privileged)
{
	struct product product;
	struct drm_ork_job job;
	struct drm_ork_submit submit = { .priority = DRM_ORK_PRIORITY_HIGH };

	if (geteuid())
		SKIP(return, "needs root");
	ASSERT_EQ(0, product_create(self->fd, &product, 1, 32, 32, 1));
	job = product_job(&product, 0);
	submit.jobs = ARRAY(&job, 1);
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_ORK_SUBMIT, &submit));
}

/* --- flags ------------------------------------------------------------------------------------ */

TEST_F_TIMEOUT(uapi, unknown_flags_are_refused, 60)
{
	struct product product;
	struct drm_ork_job job;
	struct drm_ork_extent range;
	struct drm_ork_sync in = { 0 }, out = { 0 };
	struct drm_syncobj_create signalled = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };
	struct drm_ork_submit submit = { 0 };
	struct drm_ork_wait wait = { .timeout_ns = INT64_MAX };
	int fd = self->fd;

	ASSERT_EQ(0, product_create(fd, &product, 1, 32, 32, 1));
	ASSERT_EQ(0, call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &signalled));
	in.handle = signalled.handle;
	ASSERT_EQ(0, syncobj_create(fd, &out.handle));
	job = product_job(&product, 0);
	submit.jobs = ARRAY(&job, 1);
	submit.in_syncs = ARRAY(&in, 1);
	submit.out_syncs = ARRAY(&out, 1);
	wait.syncobj = out.handle;
	EXPECT_UNKNOWN_BITS_REFUSED(submit.flags, DRM_ORK_SUBMIT_EXPLICIT,
				    call(fd, DRM_IOCTL_ORK_SUBMIT, &submit));
	EXPECT_UNKNOWN_BITS_REFUSED(job.flags, 0, call(fd, DRM_IOCTL_ORK_SUBMIT, &submit));
	EXPECT_UNKNOWN_BITS_REFUSED(in.flags, 0, call(fd, DRM_IOCTL_ORK_SUBMIT, &submit));
	EXPECT_UNKNOWN_BITS_REFUSED(out.flags, 0, call(fd, DRM_IOCTL_ORK_SUBMIT, &submit));
	EXPECT_UNKNOWN_BITS_REFUSED(wait.flags, 0, call(fd, DRM_IOCTL_ORK_WAIT, &wait));
	/* The flags of SUBMIT are unknown to BO_SYNC, and the other way round. */
	range = extent(&product.bo, DRM_ORK_EXTENT_TO_DEVICE | DRM_ORK_EXTENT_FROM_DEVICE, 0, PAGE);
	EXPECT_UNKNOWN_BITS_REFUSED(range.flags, range.flags, sync_extents(fd, &range, 1));
	EXPECT_UNKNOWN_BITS_REFUSED(product.extents[0].flags,
				    DRM_ORK_EXTENT_READ | DRM_ORK_EXTENT_WRITE |
					    DRM_ORK_EXTENT_NO_SYNC | DRM_ORK_EXTENT_CPU_CLEAN,
				    call(fd, DRM_IOCTL_ORK_SUBMIT, &submit));
}

TEST_F(uapi, padding_must_be_zero)
{
	struct product product;
	struct drm_ork_job job;
	struct drm_ork_extent range;
	uint32_t done;
	int fd = self->fd;

	ASSERT_EQ(0, product_create(fd, &product, 1, 32, 32, 1));
	ASSERT_EQ(0, syncobj_create(fd, &done));
	job = product_job(&product, 0);
	EXPECT_REFUSED(EINVAL, product.extents[0].pad, 1u, submit_jobs(fd, &job, 1, done));
	range = extent(&product.bo, DRM_ORK_EXTENT_TO_DEVICE, 0, PAGE);
	EXPECT_REFUSED(EINVAL, range.pad, 1u, sync_extents(fd, &range, 1));
}

/* --- arrays: the same rules for each of the six ----------------------------------------------- */

enum array_name { SYNC_EXTENTS, JOBS, IN_SYNCS, OUT_SYNCS, TASKS, EXTENTS };

FIXTURE(array) {
	int fd;
	struct product product;
	struct drm_ork_extent whole, range;
	struct drm_ork_job job;
	struct drm_ork_sync in, out;
	struct drm_ork_submit submit;
	struct drm_ork_bo_sync sync;
	uint32_t done;			/* the job's own syncobj */
	struct drm_ork_array *array;	/* the one in question, which has one element */
	void *element;
};

FIXTURE_VARIANT(array) {
	enum array_name name;
	uint32_t size;		/* of an element in 1.0 */
	uint32_t cap;
	int empty;		/* what an array without elements gives */
};

FIXTURE_VARIANT_ADD(array, sync_extents){ SYNC_EXTENTS, sizeof(struct drm_ork_extent),
					  DRM_ORK_MAX_EXTENTS, 0 };
FIXTURE_VARIANT_ADD(array, jobs){ JOBS, sizeof(struct drm_ork_job), DRM_ORK_MAX_JOBS, -EINVAL };
FIXTURE_VARIANT_ADD(array, in_syncs){ IN_SYNCS, sizeof(struct drm_ork_sync), DRM_ORK_MAX_SYNCS, 0 };
FIXTURE_VARIANT_ADD(array, out_syncs){ OUT_SYNCS, sizeof(struct drm_ork_sync), DRM_ORK_MAX_SYNCS,
				       0 };
FIXTURE_VARIANT_ADD(array, tasks){ TASKS, sizeof(struct drm_ork_task), DRM_ORK_MAX_TASKS, -EINVAL };
FIXTURE_VARIANT_ADD(array, extents){ EXTENTS, sizeof(struct drm_ork_extent), DRM_ORK_MAX_EXTENTS,
				     -EINVAL };

FIXTURE_SETUP(array)
{
	struct drm_syncobj_create signalled = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };

	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, product_create(self->fd, &self->product, 1, 32, 32, 1));
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_SYNCOBJ_CREATE, &signalled));
	ASSERT_EQ(0, syncobj_create(self->fd, &self->out.handle));
	ASSERT_EQ(0, syncobj_create(self->fd, &self->done));
	self->in.handle = signalled.handle;
	self->range = extent(&self->product.bo, DRM_ORK_EXTENT_TO_DEVICE, 0, PAGE);
	self->whole = extent(&self->product.bo, DRM_ORK_EXTENT_READ | DRM_ORK_EXTENT_WRITE, 0,
			     self->product.bo.size);
	self->job = product_job(&self->product, 0);
	self->job.extents = ARRAY(&self->whole, 1);
	/* For the most tasks that a job can have, on an emulated board of a busy host. */
	self->job.timeout_ms = 10000;
	self->job.out_syncobj = self->done;
	self->submit.jobs = ARRAY(&self->job, 1);
	self->submit.in_syncs = ARRAY(&self->in, 1);
	self->submit.out_syncs = ARRAY(&self->out, 1);
	self->sync.extents = ARRAY(&self->range, 1);
	self->array = (struct drm_ork_array *[]){
		&self->sync.extents,	 &self->submit.jobs, &self->submit.in_syncs,
		&self->submit.out_syncs, &self->job.tasks,   &self->job.extents,
	}[variant->name];
	self->element = (void *)(uintptr_t)self->array->ptr;
}

FIXTURE_TEARDOWN(array)
{
	close(self->fd);
}

/* The ioctl that takes the array, and what it started brought to its end. */
static int attempt(FIXTURE_DATA(array) *self)
{
	int error;

	if (self->array == &self->sync.extents)
		return call(self->fd, DRM_IOCTL_ORK_BO_SYNC, &self->sync);
	error = call(self->fd, DRM_IOCTL_ORK_SUBMIT, &self->submit);
	return error ? error : job_status(self->fd, self->done);
}

/*
 * @count copies of the element, @stride bytes apart, zeros between them, and an unmapped page
 * behind the last byte.
 */
static uint8_t *spread(const FIXTURE_DATA(array) *self, uint32_t size, uint32_t count,
		       uint32_t stride)
{
	size_t bytes = (size_t)count * stride, room = round_up(bytes, PAGE);
	uint8_t *pages =
		mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *first = pages + room - bytes;

	if (pages == MAP_FAILED)
		abort();
	munmap(pages + room, PAGE);
	for (uint32_t i = 0; i < count; i++)
		memcpy(first + (size_t)i * stride, self->element, size);
	return first;
}

TEST_F(array, stride_is_at_least_the_element)
{
	self->array->ptr = (uintptr_t)spread(self, variant->size, 1, variant->size + 8);
	EXPECT_REFUSED(EINVAL, self->array->stride, variant->size - 8, attempt(self));
	EXPECT_REFUSED(EINVAL, self->array->stride, 0u, attempt(self));
}

TEST_F(array, stride_is_a_multiple_of_eight)
{
	self->array->ptr = (uintptr_t)spread(self, variant->size, 1, variant->size + 8);
	EXPECT_REFUSED(EINVAL, self->array->stride, variant->size + 4, attempt(self));
	EXPECT_REFUSED(EINVAL, self->array->stride, variant->size + 1, attempt(self));
}

TEST_F(array, stride_is_at_most_4096)
{
	self->array->ptr = (uintptr_t)spread(self, variant->size, 1, 2 * PAGE);
	self->array->stride = 4096;
	EXPECT_REFUSED(EINVAL, self->array->stride, 4104u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->array->stride, 0xfffffff8u, attempt(self));
}

TEST_F(array, longer_element_is_accepted_if_its_tail_is_zero)
{
	uint8_t *element = spread(self, variant->size, 1, variant->size + 64);

	self->array->ptr = (uintptr_t)element;
	self->array->stride = variant->size + 64;
	EXPECT_REFUSED(E2BIG, element[variant->size], 1, attempt(self));
	EXPECT_REFUSED(E2BIG, element[variant->size + 63], 0x80, attempt(self));
}

TEST_F(array, pointer_must_be_readable)
{
	uint8_t *element = spread(self, variant->size, 1, variant->size);

	self->array->ptr = (uintptr_t)element;
	EXPECT_REFUSED(EFAULT, self->array->ptr, 1u, attempt(self));
	EXPECT_REFUSED(EFAULT, self->array->ptr, (uintptr_t)element + 8, attempt(self));
	EXPECT_REFUSED(EFAULT, self->array->ptr, 1ull << 63, attempt(self));
	EXPECT_REFUSED(EFAULT, self->array->ptr, ~7ull, attempt(self));
}

TEST_F_TIMEOUT(array, count_is_capped, 600)
{
	self->array->ptr = (uintptr_t)spread(self, variant->size, variant->cap + 1, variant->size);
	self->array->count = variant->cap;
	EXPECT_REFUSED(EINVAL, self->array->count, variant->cap + 1, attempt(self));
	EXPECT_REFUSED(EINVAL, self->array->count, 0x7fffffffu, attempt(self));
	EXPECT_REFUSED(EINVAL, self->array->count, 0x80000000u, attempt(self));
	EXPECT_REFUSED(EINVAL, self->array->count, ~0u, attempt(self));
}

TEST_F(array, empty_array_ignores_its_other_fields)
{
	struct drm_ork_array empty = { .ptr = 1, .count = 0, .stride = 3 };

	*self->array = empty;
	EXPECT_EQ(variant->empty, attempt(self));
}

ORK_TEST_MAIN

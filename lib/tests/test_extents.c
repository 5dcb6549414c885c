// SPDX-License-Identifier: MIT
/*
 * What a product names to the driver, byte by byte, and in which order. The expected bytes come
 * from the emitted programs' words and from the matrices' geometry.
 */
#include "fake.h"

#define SHAPES		150
#define BANK		32768u
#define PROGRAM_BYTES	896

static const uint32_t in_bytes[] = { 2, 2, 1 }, out_bytes[] = { 4, 2, 4 };

/* A product with everything that it needs, in objects. */
struct product {
	struct ork *ork;
	struct ork_matmul_desc desc;
	struct ork_bo *a_bo, *c_bo;
	struct ork_matrix a, c;
	struct ork_weights *b;
	struct ork_matmul *matmul;
};

static uint64_t a_stride(const struct product *p)
{
	return (uint64_t)(p->desc.lda ? p->desc.lda : p->desc.k) * in_bytes[p->desc.type];
}

static uint64_t c_stride(const struct product *p)
{
	return (uint64_t)(p->desc.ldc ? p->desc.ldc : p->desc.n) * out_bytes[p->desc.type];
}

static void make_product(struct product *p, uint64_t a_offset, uint64_t behind_a, uint64_t c_offset)
{
	p->ork = fake_open();
	CHECK_EQUAL(ork_bo_create(p->ork, a_offset + a_stride(p) * p->desc.m + behind_a, 0, &p->a_bo), 0);
	CHECK_EQUAL(ork_bo_create(p->ork, c_offset + c_stride(p) * p->desc.m, 0, &p->c_bo), 0);
	CHECK_EQUAL(ork_weights_create(p->ork, p->desc.type, p->desc.k, p->desc.n, &p->b), 0);
	CHECK(ork_matmul_create(p->ork, &p->desc, &p->matmul) == 0, "%s", ork_error(p->ork));
	p->a = (struct ork_matrix) { .bo = p->a_bo, .offset = a_offset };
	p->c = (struct ork_matrix) { .bo = p->c_bo, .offset = c_offset };
}

static void drop_product(struct product *p)
{
	ork_matmul_destroy(p->matmul);
	ork_weights_destroy(p->b);
	ork_bo_destroy(p->c_bo);
	ork_bo_destroy(p->a_bo);
}

static void pack_anything(struct product *p)
{
	void *b = calloc((size_t)p->desc.k * p->desc.n, in_bytes[p->desc.type]);

	CHECK_EQUAL(ork_weights_pack(p->b, b, p->desc.n, 0), 0);
	free(b);
}

static int run(struct product *p)
{
	return ork_matmul_run(p->matmul, &p->a, p->b, &p->c);
}

/*
 * Nearly any small product: all types, dense and strided, one to three cores, tiles that end
 * anywhere.
 */
static void draw(uint64_t *random, struct product *p)
{
	static const uint32_t some_k[] = { 32, 96, 256, 320, 512, 1024 };
	struct ork_matmul_desc *d = &p->desc;
	uint32_t line_columns;

	memset(p, 0, sizeof(*p));
	d->type = next_random(random) % 3;
	line_columns = d->type == ORK_FP16_FP32 ? 16 : 32;
	d->k = some_k[next_random(random) % 6];
	d->m = random_in(random, 1, 400);
	d->n = random_in(random, 1, 8) * line_columns;
	d->cores = random_in(random, 1, 3);
	if (next_random(random) % 2)
		d->lda = d->k + random_in(random, 1, 300) * 16 / in_bytes[d->type];
	if (next_random(random) % 2)
		d->ldc = d->n + random_in(random, 1, 5) * 64 / out_bytes[d->type];
	make_product(p, random_in(random, 0, 500) * 16, next_random(random) % 2 ? random_in(random, 0, 70000) : 0,
		     random_in(random, 0, 20) * 64);
	if (next_random(random) % 3 == 0)
		p->a.flags = ORK_CPU_CLEAN;
	if (next_random(random) % 2)
		p->c.flags = ORK_CPU_CLEAN;
}

/* --- sets of bytes ---------------------------------------------------------------------------- */

struct bytes {
	uint8_t *of;		/* how often each byte is in the set */
	uint64_t size;
};

static struct bytes no_bytes(const struct ork_bo *bo)
{
	return (struct bytes) { calloc(1, ork_bo_size(bo)), ork_bo_size(bo) };
}

static void add(struct bytes *set, uint64_t offset, uint64_t length)
{
	CHECK(offset <= set->size && length <= set->size - offset, "%llu bytes at %llu of %llu",
	      (unsigned long long)length, (unsigned long long)offset, (unsigned long long)set->size);
	while (length--)
		set->of[offset++]++;
}

/* What @job names of @bo with all of @with and none of @without. */
static void add_extents(struct bytes *set, const struct fake_job *job, const struct ork_bo *bo, uint32_t with,
			uint32_t without)
{
	const struct drm_ork_extent *e;
	uint32_t i, row;

	for (i = 0; i < job->extents; i++) {
		e = &job->extent[i];
		if (e->handle != ork_bo_handle(bo) || (e->flags & with) != with || e->flags & without)
			continue;
		CHECK(e->rows < 2 || e->stride >= e->length, "rows overlap");
		for (row = 0; row < (e->rows ? e->rows : 1); row++)
			add(set, e->offset + row * e->stride, e->length);
	}
}

static void add_rows(struct bytes *set, uint64_t offset, uint64_t length, uint64_t stride, uint32_t rows)
{
	while (rows--) {
		add(set, offset, length);
		offset += stride;
	}
}

/* --- A ---------------------------------------------------------------------------------------- */

static uint32_t reg_of(const uint64_t *program, uint32_t reg)
{
	uint32_t value = 0, i;

	for (i = 0; i < 108; i++)
		if ((program[i] & 0xffff) == reg)
			value = (uint32_t)(program[i] >> 16);
	return value;
}

static const uint64_t *program_at(uint64_t iova)
{
	uint32_t i;

	for (i = 0; i < FAKE_OBJECTS; i++)
		if (fake.object[i].data && iova >= fake.object[i].iova &&
		    iova < fake.object[i].iova + fake.object[i].size)
			return (const uint64_t *)((char *)fake.object[i].data + (iova - fake.object[i].iova));
	return NULL;
}

/*
 * Every byte that the programs' activations may be fetched with: whole banks from each one's first
 * byte, as far as the object goes.
 */
static void add_windows(struct bytes *set, const struct product *p)
{
	const struct drm_ork_task *task = &fake.job[0].task;
	uint64_t first, fetched, at, i;

	for (i = 0; i < task->programs; i++) {
		const uint64_t *program = program_at(task->iova + i * PROGRAM_BYTES);

		first = reg_of(program, 0x1070) - ork_bo_iova(p->a_bo);
		fetched = ((reg_of(program, 0x1020) & 0x7ff) - 1) * (uint64_t)reg_of(program, 0x107c) * 16 +
			  reg_of(program, 0x1034);
		fetched = (fetched + BANK - 1) / BANK * BANK;
		for (at = first; at < first + fetched && at < set->size; at++)
			set->of[at] = 1;
	}
}

static uint64_t lines_touched(const struct bytes *set, const struct bytes *not_in)
{
	uint64_t line, i, bytes = 0;
	bool in, out;

	for (line = 0; line < set->size; line += 64) {
		for (i = line, in = out = false; i < line + 64; i++) {
			in |= set->of[i] != 0;
			out |= not_in && not_in->of[i];
		}
		bytes += in && !out ? 64 : 0;
	}
	return bytes;
}

/*
 * Job 0 cleans A and its windows, or with a clean A what is not A of them; each byte once. Between
 * the last row of a tile and the first of the next it may clean more: the gap after any row is
 * named with the others.
 */
static void check_a(const struct product *p)
{
	struct bytes window = no_bytes(p->a_bo), own = no_bytes(p->a_bo), read = no_bytes(p->a_bo);
	uint64_t row = (uint64_t)p->desc.k * in_bytes[p->desc.type], i;
	bool clean = p->a.flags & ORK_CPU_CLEAN, gap;
	struct ork_profile profile;

	add_windows(&window, p);
	add_rows(&own, p->a.offset, row, a_stride(p), p->desc.m);
	add_extents(&read, &fake.job[0], p->a_bo, DRM_ORK_EXTENT_READ, 0);
	for (i = 0; i < read.size; i++) {
		bool expected = window.of[i] && !(clean && own.of[i]);

		gap = clean && i >= p->a.offset && i < p->a.offset + a_stride(p) * (p->desc.m - 1) && !own.of[i];
		if (read.of[i] != expected && !(gap && read.of[i] == 1)) {
			CHECK(false, "byte %llu is cleaned %u times", (unsigned long long)i, read.of[i]);
			break;
		}
	}
	ork_profile_get(p->ork, &profile);
	CHECK_EQUAL(profile.bytes_window, lines_touched(&read, clean ? NULL : &own));
	free(window.of);
	free(own.of);
	free(read.of);
}

/* Every job names all of A, so that it stays alive and mapped; all but the first maintain nothing of it. */
static void check_a_is_held(const struct product *p, uint32_t job)
{
	struct bytes read = no_bytes(p->a_bo), named = no_bytes(p->a_bo), own = no_bytes(p->a_bo);
	uint64_t i, missing = 0;

	add_extents(&read, &fake.job[job], p->a_bo, DRM_ORK_EXTENT_READ, 0);
	add_extents(&named, &fake.job[job], p->a_bo, 0, DRM_ORK_EXTENT_WRITE);
	add_rows(&own, p->a.offset, (uint64_t)p->desc.k * in_bytes[p->desc.type], a_stride(p), p->desc.m);
	for (i = 0; i < own.size; i++)
		missing += own.of[i] && !named.of[i];
	CHECK_EQUAL(missing, 0);
	CHECK(job == 0 || lines_touched(&read, NULL) == 0, "job %u cleans A", job);
	free(read.of);
	free(named.of);
	free(own.of);
}

/* --- C ---------------------------------------------------------------------------------------- */

/*
 * All jobs together write each byte of C once and none beside; each begins and ends on lines, and
 * cleans unless C is clean.
 */
static void check_c(const struct product *p)
{
	struct bytes written = no_bytes(p->c_bo), own = no_bytes(p->c_bo);
	uint32_t other = p->c.flags & ORK_CPU_CLEAN ? 0 : DRM_ORK_EXTENT_CPU_CLEAN, job, i;
	uint32_t flags = DRM_ORK_EXTENT_WRITE | (other ? 0 : DRM_ORK_EXTENT_CPU_CLEAN);

	add_rows(&own, p->c.offset, (uint64_t)p->desc.n * out_bytes[p->desc.type], c_stride(p), p->desc.m);
	for (job = 0; job < fake.jobs; job++) {
		add_extents(&written, &fake.job[job], p->c_bo, flags,
			    DRM_ORK_EXTENT_NO_SYNC | DRM_ORK_EXTENT_READ | other);
		for (i = 0; i < fake.job[job].extents; i++) {
			const struct drm_ork_extent *e = &fake.job[job].extent[i];

			if (e->flags & DRM_ORK_EXTENT_WRITE)
				CHECK((e->offset | e->length | e->stride) % 64 == 0, "half a line is written");
		}
	}
	CHECK(!memcmp(written.of, own.of, own.size), "not exactly C");
	free(written.of);
	free(own.of);
}

/* A core's job names the columns that its programs write. */
static void check_columns(const struct product *p, uint32_t job)
{
	const uint64_t *program = program_at(fake.job[job].task.iova);
	const struct drm_ork_extent *e = fake.job[job].extent;

	while (!(e->flags & DRM_ORK_EXTENT_WRITE))
		e++;
	CHECK_EQUAL(reg_of(program, 0x4020) - ork_bo_iova(p->c_bo), e->offset);
}

/* --- B and chains ----------------------------------------------------------------------------- */

/* All jobs together name each byte of B once, to be cleaned if @dirty. */
static void check_b(const struct product *p, bool dirty)
{
	struct bytes named = { NULL, 0 };
	struct ork_bo *bo = p->b->bo;
	uint64_t i, wrong = 0;
	uint32_t job;

	named = no_bytes(bo);
	for (job = 0; job < fake.jobs; job++) {
		uint32_t with = dirty ? DRM_ORK_EXTENT_READ : DRM_ORK_EXTENT_NO_SYNC;

		add_extents(&named, &fake.job[job], bo, with, DRM_ORK_EXTENT_READ ^ DRM_ORK_EXTENT_NO_SYNC ^ with);
	}
	for (i = 0; i < named.size; i++)
		wrong += named.of[i] != (i < (uint64_t)p->desc.k * p->desc.n * in_bytes[p->desc.type]);
	CHECK_EQUAL(wrong, 0);
	free(named.of);
}

/*
 * A job names the bytes of its own chain and no others of that object, to be cleaned if @emitted.
 */
static void check_chain(const struct product *p, uint32_t job, bool emitted)
{
	const struct fake_job *j = &fake.job[job];
	uint32_t i, found = 0;

	for (i = 0; i < j->extents; i++) {
		const struct drm_ork_extent *e = &j->extent[i];
		uint64_t iova = fake.object[e->handle - 1].iova + e->offset;

		if (e->handle == p->a_bo->handle || e->handle == p->c_bo->handle || e->handle == p->b->bo->handle)
			continue;
		found++;
		CHECK_EQUAL(iova, j->task.iova);
		CHECK_EQUAL(e->length, j->task.programs * PROGRAM_BYTES);
		CHECK_EQUAL(e->flags, emitted ? DRM_ORK_EXTENT_READ : DRM_ORK_EXTENT_NO_SYNC);
		CHECK_EQUAL(e->offset % 64, 0);
	}
	CHECK_EQUAL(found, 1);
	CHECK_EQUAL(j->tasks, 1);
	CHECK_EQUAL(j->task.words, 112);
}

/* --- live ------------------------------------------------------------------------------------- */

static void check_submit(const struct product *p, bool emitted, bool dirty)
{
	uint32_t job;

	check_a(p);
	check_b(p, dirty);
	check_c(p);
	CHECK_EQUAL(fake.jobs, ork_matmul_get_plan(p->matmul)->cores);
	for (job = 0; job < fake.jobs; job++) {
		check_chain(p, job, emitted);
		check_columns(p, job);
		check_a_is_held(p, job);
	}
}

static void live_extents_are_the_bytes_in_flight(void)
{
	uint64_t random = 2;
	struct product p;
	uint32_t i;

	for (i = 0; i < SHAPES && !failed_checks; i++) {
		draw(&random, &p);
		pack_anything(&p);
		ork_profile_enable(p.ork, true);
		CHECK(run(&p) == 0, "%s", ork_error(p.ork));
		check_submit(&p, true, true);
		ork_profile_enable(p.ork, true);
		CHECK_EQUAL(run(&p), 0);
		check_submit(&p, false, false);
		if (failed_checks)
			printf("# shape %u: type %d m %u k %u n %u lda %u ldc %u cores %u, A at %llu flags %u\n", i,
			       p.desc.type, p.desc.m, p.desc.k, p.desc.n, p.desc.lda, p.desc.ldc, p.desc.cores,
			       (unsigned long long)p.a.offset, p.a.flags);
		drop_product(&p);
	}
}

static struct product small_product(uint32_t cores, enum ork_sync_mode sync)
{
	struct product p = {
		.desc = { .type = ORK_FP16_FP32, .m = 48, .k = 256, .n = 96, .cores = cores, .sync = sync },
	};

	make_product(&p, 64, 0, 128);
	return p;
}

static void a_product_is_one_submit_and_one_wait(void)
{
	struct product p = small_product(3, ORK_SYNC_LIVE);
	struct ork_profile profile;

	CHECK_EQUAL(run(&p), 0);
	CHECK_EQUAL(run(&p), 0);
	CHECK_EQUAL(fake.submits, 2);
	CHECK_EQUAL(fake.waits, 2);
	CHECK_EQUAL(fake.queries + fake.syncs, 0);
	CHECK_EQUAL(fake.deadline, INT64_MAX);
	ork_profile_enable(p.ork, true);
	CHECK_EQUAL(run(&p), 0);
	ork_profile_get(p.ork, &profile);
	CHECK_EQUAL(profile.products, 1);
	CHECK_EQUAL(profile.ioctls, 2);
	drop_product(&p);
}

static void chains_are_emitted_anew_when_an_address_changes(void)
{
	struct product p = small_product(2, ORK_SYNC_LIVE);

	CHECK_EQUAL(run(&p), 0);
	check_chain(&p, 1, true);
	CHECK_EQUAL(run(&p), 0);
	check_chain(&p, 1, false);
	p.c.offset = 0;
	CHECK_EQUAL(run(&p), 0);
	check_chain(&p, 1, true);
	check_columns(&p, 1);
	p.a.offset = 0;
	CHECK_EQUAL(run(&p), 0);
	check_chain(&p, 1, true);
	drop_product(&p);
}

static void a_failed_submit_leaves_everything_to_be_cleaned(void)
{
	struct product p = small_product(3, ORK_SYNC_LIVE);

	pack_anything(&p);
	fake.submit_error = -ENOMEM;
	CHECK_EQUAL(run(&p), -ENOMEM);
	CHECK_EQUAL(fake.waits, 0);
	fake.submit_error = 0;
	CHECK_EQUAL(run(&p), 0);
	check_chain(&p, 0, true);
	check_b(&p, true);
	drop_product(&p);
}

static void loaded_weights_are_not_cleaned_again(void)
{
	struct product p = small_product(3, ORK_SYNC_LIVE);

	pack_anything(&p);
	CHECK_EQUAL(ork_weights_load(p.b), 0);
	CHECK_EQUAL(run(&p), 0);
	check_b(&p, false);
	pack_anything(&p);
	CHECK_EQUAL(run(&p), 0);
	check_b(&p, true);
	drop_product(&p);
}

static void a_sync_names_the_bytes_that_the_caller_names(void)
{
	struct ork *ork = fake_open();
	struct ork_bo *bo;

	CHECK_EQUAL(ork_bo_create(ork, 8192, 0, &bo), 0);
	CHECK_EQUAL(ork_bo_sync(bo, DRM_ORK_EXTENT_FROM_DEVICE, 4160, 128), 0);
	CHECK_EQUAL(fake.synced.flags, DRM_ORK_EXTENT_FROM_DEVICE);
	CHECK_EQUAL(fake.synced.offset, 4160);
	CHECK_EQUAL(fake.synced.length, 128);
	CHECK_EQUAL(fake.synced.rows, 0);
	CHECK_EQUAL(ork_bo_sync(bo, DRM_ORK_EXTENT_TO_DEVICE, 8128, 128), -EINVAL);
	CHECK(strstr(ork_error(ork), "128 bytes at 8128") && strstr(ork_error(ork), "8192"), "%s", ork_error(ork));
	ork_bo_destroy(bo);
}

/* --- whole ------------------------------------------------------------------------------------ */

static void whole_mode_names_every_object_in_every_job(void)
{
	struct product p = small_product(3, ORK_SYNC_WHOLE);
	uint32_t job, i, writes;

	p.a.flags = p.c.flags = ORK_CPU_CLEAN;
	CHECK_EQUAL(run(&p), 0);
	CHECK_EQUAL(fake.jobs, 3);
	for (job = 0; job < fake.jobs; job++) {
		CHECK_EQUAL(fake.job[job].extents, 4);
		for (i = writes = 0; i < fake.job[job].extents; i++) {
			const struct drm_ork_extent *e = &fake.job[job].extent[i];
			bool is_c = e->handle == p.c_bo->handle;

			CHECK_EQUAL(e->flags, is_c ? DRM_ORK_EXTENT_WRITE : DRM_ORK_EXTENT_READ);
			CHECK_EQUAL(e->offset, 0);
			CHECK_EQUAL(e->length, fake.object[e->handle - 1].size);
			writes += is_c;
		}
		CHECK_EQUAL(writes, 1);
	}
	drop_product(&p);
}

/* --- matrices in plain memory ----------------------------------------------------------------- */

/*
 * The hardware's part: C is filled with its own row and column numbers, as the programs' strides
 * say.
 */
static void fill_c(struct fake *f)
{
	uint32_t job, i, row, column;

	for (job = 0; job < f->jobs; job++) {
		for (i = 0; i < f->job[job].task.programs; i++) {
			const uint64_t *program = program_at(f->job[job].task.iova + i * PROGRAM_BYTES);
			uint32_t *c = (uint32_t *)(uintptr_t)program_at(reg_of(program, 0x4020));
			uint32_t pitch = ((reg_of(program, 0x4038) & 0x1fff) + 1) * 4;

			for (row = 0; row < (reg_of(program, 0x1020) & 0x7ff); row++)
				for (column = 0; column < (reg_of(program, 0x1038) & 0x3fff); column++)
					c[row * pitch + column]++;
		}
	}
}

static void plain_memory_is_staged_and_its_gaps_are_left_alone(void)
{
	struct ork_matmul_desc desc = {
		.type = ORK_FP16_FP32, .m = 37, .k = 96, .n = 80, .lda = 104, .ldc = 84, .cores = 3,
	};
	uint16_t a[37 * 104];
	uint32_t c[37 * 84], i;
	struct ork_matrix a_matrix = { .data = a }, c_matrix = { .data = c };
	struct ork *ork = fake_open();
	struct ork_weights *b;
	struct ork_matmul *matmul;
	const uint16_t *staged;

	for (i = 0; i < sizeof(a) / 2; i++)
		a[i] = (uint16_t)i;
	for (i = 0; i < sizeof(c) / 4; i++)
		c[i] = 0xdead;
	ork_weights_create(ork, desc.type, desc.k, desc.n, &b);
	ork_matmul_create(ork, &desc, &matmul);
	fake.run = fill_c;
	CHECK_EQUAL(ork_matmul_run(matmul, &a_matrix, b, &c_matrix), 0);
	staged = (const uint16_t *)program_at(reg_of(program_at(fake.job[0].task.iova), 0x1070));
	for (i = 0; i < 37 * 96; i++)
		CHECK_EQUAL(staged[i], i / 96 * 104 + i % 96);
	for (i = 0; i < 37 * 84; i++)
		CHECK_EQUAL(c[i], i % 84 < 80 ? 1 : 0xdead);
	CHECK_EQUAL(fake.submits, 1);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(b);
}

/* Nobody but the library writes its C, and it never does: that is not cleaned. Its A always is. */
static void staged_bytes_are_maintained_once(void)
{
	struct ork_matmul_desc desc = { .type = ORK_FP16_FP32, .m = 256, .k = 256, .n = 96 };
	void *a = calloc(256 * 256, 2), *c = calloc(256 * 96, 4);
	struct ork_matrix a_matrix = { .data = a }, c_matrix = { .data = c };
	struct ork *ork = fake_open();
	struct ork_profile profile;
	struct ork_weights *b;
	struct ork_matmul *matmul;

	ork_weights_create(ork, desc.type, desc.k, desc.n, &b);
	ork_matmul_create(ork, &desc, &matmul);
	CHECK_EQUAL(ork_matmul_run(matmul, &a_matrix, b, &c_matrix), 0);
	ork_profile_enable(ork, true);
	CHECK_EQUAL(ork_matmul_run(matmul, &a_matrix, b, &c_matrix), 0);
	ork_profile_get(ork, &profile);
	CHECK_EQUAL(profile.phase[ORK_PHASE_SUBMIT].bytes_maintained, 256 * 256 * 2);
	CHECK_EQUAL(profile.phase[ORK_PHASE_WAIT].bytes_maintained, 256 * 96 * 4);
	CHECK_EQUAL(profile.phase[ORK_PHASE_GATHER].bytes, 256 * 256 * 2);
	CHECK_EQUAL(profile.phase[ORK_PHASE_COPY_BACK].bytes, 256 * 96 * 4);
	CHECK_EQUAL(profile.phase[ORK_PHASE_EMIT].calls, 0);
	CHECK_EQUAL(profile.bytes_written_cpu, 256 * 256 * 2);
	CHECK_EQUAL(profile.bytes_written_npu, 256 * 96 * 4);
	CHECK_EQUAL(profile.bytes_window, 0);
	CHECK_EQUAL(profile.busy_ns, 1000);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(b);
	free(a);
	free(c);
}

/*
 * Whether jobs end early or late, each byte is counted once; the caller's own syncs between
 * products are not.
 */
static void what_products_in_flight_maintain_adds_up(void)
{
	struct product p = small_product(3, ORK_SYNC_LIVE);
	struct ork_matmul *other;
	struct ork_profile profile;
	int at_once;

	CHECK_EQUAL(ork_matmul_create(p.ork, &p.desc, &other), 0);
	p.c.flags = ORK_CPU_CLEAN;
	for (at_once = 0; at_once < 2; at_once++) {
		fake.at_once = at_once;
		CHECK_EQUAL(run(&p), 0);
		CHECK_EQUAL(ork_matmul_run(other, &p.a, p.b, &p.c), 0);
		ork_profile_enable(p.ork, true);
		CHECK_EQUAL(ork_bo_sync(p.c_bo, DRM_ORK_EXTENT_TO_DEVICE | DRM_ORK_EXTENT_FROM_DEVICE, 0, 4096), 0);
		CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &p.c), 0);
		CHECK_EQUAL(ork_matmul_start(other, &p.a, p.b, &p.c), 0);
		CHECK_EQUAL(ork_matmul_wait(p.matmul, INT64_MAX), 0);
		CHECK_EQUAL(ork_matmul_wait(other, INT64_MAX), 0);
		ork_profile_get(p.ork, &profile);
		CHECK_EQUAL(profile.phase[ORK_PHASE_SUBMIT].bytes_maintained - profile.bytes_window, 2 * 48 * 256 * 2);
		CHECK_EQUAL(profile.phase[ORK_PHASE_WAIT].bytes_maintained, 2 * 48 * 96 * 4);
	}
	ork_matmul_destroy(other);
	drop_product(&p);
}

/* --- errors ----------------------------------------------------------------------------------- */

struct misuse {
	struct ork_matrix a, c;		/* bo is set to the product's unless data is */
	const char *value, *limit;
	int error;
};

static uint32_t somewhere[4];

static const struct misuse misuses[] = {
	{ { .offset = 7 }, { .offset = 0 }, "offset of A = 7", "2", -EINVAL },
	{ { .offset = 4096 * 9 }, { .offset = 0 }, "24576 bytes at 36864", "28672", -EINVAL },
	{ { .offset = UINT64_MAX - 15 }, { .offset = 0 }, "A: ", "28672", -EINVAL },
	{ { .offset = 0 }, { .offset = 34 }, "offset of C = 34", "4", -EINVAL },
	{ { .offset = 0 }, { .offset = 4096 }, "18432 bytes at 4096", "20480", -EINVAL },
	{ { .flags = 4 }, { .offset = 0 }, "flags of A = 0x4", "0x3", -EOPNOTSUPP },
	{ { .offset = 0 }, { .flags = 6 }, "flags of C = 0x6", "0x3", -EOPNOTSUPP },
	{ { .data = somewhere, .flags = ORK_CPU_CLEAN }, { .offset = 0 }, "flags of A = 0x1", "0", -EINVAL },
};

static void matrices_out_of_place_are_refused_before_anything_happens(void)
{
	struct product p = small_product(3, ORK_SYNC_LIVE);
	struct ork_matrix nothing = { .offset = 0 };
	size_t i;

	for (i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
		struct ork_matrix a = misuses[i].a, c = misuses[i].c;

		a.bo = a.data ? NULL : p.a_bo;
		c.bo = p.c_bo;
		CHECK(ork_matmul_run(p.matmul, &a, p.b, &c) == misuses[i].error, "case %zu", i);
		CHECK(strstr(ork_error(p.ork), misuses[i].value) && strstr(ork_error(p.ork), misuses[i].limit),
		      "case %zu: %s", i, ork_error(p.ork));
	}
	CHECK_EQUAL(ork_matmul_run(p.matmul, &nothing, p.b, &p.c), -EINVAL);
	CHECK_EQUAL(ork_matmul_run(p.matmul, &p.a, p.b, &nothing), -EINVAL);
	CHECK_EQUAL(fake.submits, 0);
	drop_product(&p);
}

static bool is_named(const struct ork_bo *bo)
{
	uint32_t job, i;

	for (job = 0; job < fake.jobs; job++)
		for (i = 0; i < fake.job[job].extents; i++)
			if (fake.job[job].extent[i].handle == ork_bo_handle(bo))
				return true;
	return false;
}

/* Of A and C, which can be used in place and which are staged. */
static void what_programs_cannot_reach_is_staged(void)
{
	static const struct {
		struct ork_matmul_desc desc;
		uint64_t a_offset, c_offset;
		bool a, c;
	} cases[] = {
		{ { .type = ORK_FP16_FP32, .m = 3, .k = 32, .n = 32 }, 16, 64, true, true },
		{ { .type = ORK_FP16_FP32, .m = 3, .k = 32, .n = 32 }, 8, 64, false, true },
		{ { .type = ORK_FP16_FP32, .m = 3, .k = 32, .n = 32 }, 16, 32, true, false },
		{ { .type = ORK_FP16_FP32, .m = 3, .k = 33, .n = 32 }, 0, 0, false, true },
		{ { .type = ORK_FP16_FP32, .m = 3, .k = 32, .n = 32, .lda = 36 }, 0, 0, false, true },
		{ { .type = ORK_FP16_FP16, .m = 3, .k = 32, .n = 48 }, 0, 0, true, false },
		{ { .type = ORK_FP16_FP32, .m = 3, .k = 32, .n = 32, .ldc = 36 }, 0, 0, true, false },
		{ { .type = ORK_INT8_INT32, .m = 3, .k = 32, .n = 48 }, 0, 0, true, false },
		{ { .type = ORK_FP16_FP32, .m = 3, .k = 2080, .n = 32 }, 0, 0, true, false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct product p = { .desc = cases[i].desc };

		make_product(&p, cases[i].a_offset, 0, cases[i].c_offset);
		pack_anything(&p);
		CHECK(run(&p) == 0, "case %zu: %s", i, ork_error(p.ork));
		CHECK(is_named(p.a_bo) == cases[i].a, "case %zu: A", i);
		CHECK(is_named(p.c_bo) == cases[i].c, "case %zu: C", i);
		drop_product(&p);
	}
}

/* The object that jobs write, which is the library's own. */
static struct ork_bo staging_of_c(void)
{
	const struct drm_ork_extent *e = fake.job[0].extent;

	while (!(e->flags & DRM_ORK_EXTENT_WRITE))
		e++;
	return (struct ork_bo) {
		.handle = e->handle, .size = fake.object[e->handle - 1].size, .iova = fake.object[e->handle - 1].iova,
	};
}

/*
 * A is read in place, its slices with their windows; B is named once; every slice's C is written once, and
 * what comes of the sum is the number of slices.
 */
static void slices_of_k_are_the_bytes_in_flight_too(void)
{
	struct product p = { .desc = { .type = ORK_FP16_FP32, .m = 300, .k = 2592, .n = 96, .lda = 2720 } };
	struct bytes written, all;
	struct ork_bo staging;
	uint32_t job, i;

	make_product(&p, 320, 50000, 0);
	pack_anything(&p);
	ork_profile_enable(p.ork, true);
	fake.run = fill_c;
	CHECK_EQUAL(run(&p), 0);
	check_a(&p);
	check_b(&p, true);
	staging = staging_of_c();
	written = no_bytes(&staging);
	all = no_bytes(&staging);
	for (job = 0; job < fake.jobs; job++) {
		check_a_is_held(&p, job);
		add_extents(&written, &fake.job[job], &staging, DRM_ORK_EXTENT_WRITE | DRM_ORK_EXTENT_CPU_CLEAN,
			    DRM_ORK_EXTENT_NO_SYNC);
	}
	add_rows(&all, 0, 96 * 4, 96 * 4, 3 * 300);
	CHECK(!memcmp(written.of, all.of, all.size), "not exactly the slices' C");
	for (i = 0; i < 300 * 96; i++)
		CHECK_EQUAL(((uint32_t *)ork_bo_data(p.c_bo))[i], 3);
	free(written.of);
	free(all.of);
	drop_product(&p);
}

static void another_products_weights_are_refused(void)
{
	struct product p = small_product(3, ORK_SYNC_LIVE);
	static const struct ork_matmul_desc others[] = {
		{ .type = ORK_FP16_FP32, .k = 128, .n = 96 },
		{ .type = ORK_FP16_FP32, .k = 256, .n = 48 },
		{ .type = ORK_INT8_INT32, .k = 256, .n = 96 },
	};
	struct ork_weights *b;
	size_t i;

	for (i = 0; i < 3; i++) {
		ork_weights_create(p.ork, others[i].type, others[i].k, others[i].n, &b);
		CHECK_EQUAL(ork_matmul_run(p.matmul, &p.a, b, &p.c), -EINVAL);
		CHECK(strstr(ork_error(p.ork), "B "), "%s", ork_error(p.ork));
		ork_weights_destroy(b);
	}
	CHECK_EQUAL(fake.submits, 0);
	drop_product(&p);
}

static void a_product_in_flight_is_busy_until_waited_for(void)
{
	struct product p = small_product(3, ORK_SYNC_LIVE);

	CHECK_EQUAL(ork_matmul_wait(p.matmul, 0), -EINVAL);
	CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &p.c), 0);
	CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &p.c), -EBUSY);
	fake.wait_error = -ETIME;
	CHECK_EQUAL(ork_matmul_wait(p.matmul, 1000), -ETIME);
	CHECK(fake.deadline > 1000 && fake.deadline < INT64_MAX, "deadline %lld", (long long)fake.deadline);
	fake.wait_error = -EBUSY;
	CHECK_EQUAL(ork_matmul_wait(p.matmul, 0), -ETIME);
	CHECK_EQUAL(fake.deadline, 0);
	CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &p.c), -EBUSY);
	fake.wait_error = 0;
	CHECK_EQUAL(ork_matmul_wait(p.matmul, INT64_MAX - 1), 0);
	CHECK_EQUAL(ork_matmul_wait(p.matmul, 0), -EINVAL);
	CHECK_EQUAL(fake.submits, 1);
	CHECK_EQUAL(ork_matmul_start(p.matmul, &p.a, p.b, &p.c), 0);
	drop_product(&p);
	CHECK_EQUAL(fake.waits, 4);
}

static void a_jobs_own_status_comes_through(void)
{
	struct product p = small_product(3, ORK_SYNC_LIVE);

	fake.status = -ETIMEDOUT;
	CHECK_EQUAL(run(&p), -ETIMEDOUT);
	CHECK(strstr(ork_error(p.ork), "hung"), "%s", ork_error(p.ork));
	fake.status = 0;
	CHECK_EQUAL(run(&p), 0);
	drop_product(&p);
}

static void a_core_that_is_not_there_has_no_counters(void)
{
	struct drm_ork_counters counters;
	struct ork *ork = fake_open();

	CHECK_EQUAL(ork_counters(ork, 2, &counters), 0);
	CHECK_EQUAL(ork_counters(ork, -1, &counters), 0);
	CHECK_EQUAL(ork_counters(ork, 3, &counters), -EINVAL);
	CHECK(strstr(ork_error(ork), "core 3") && strstr(ork_error(ork), "3 cores"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_counters(ork, -2, &counters), -EINVAL);
}

int main(void)
{
	RUN(live_extents_are_the_bytes_in_flight);
	RUN(a_product_is_one_submit_and_one_wait);
	RUN(chains_are_emitted_anew_when_an_address_changes);
	RUN(a_failed_submit_leaves_everything_to_be_cleaned);
	RUN(loaded_weights_are_not_cleaned_again);
	RUN(a_sync_names_the_bytes_that_the_caller_names);
	RUN(whole_mode_names_every_object_in_every_job);
	RUN(plain_memory_is_staged_and_its_gaps_are_left_alone);
	RUN(staged_bytes_are_maintained_once);
	RUN(what_products_in_flight_maintain_adds_up);
	RUN(matrices_out_of_place_are_refused_before_anything_happens);
	RUN(what_programs_cannot_reach_is_staged);
	RUN(slices_of_k_are_the_bytes_in_flight_too);
	RUN(another_products_weights_are_refused);
	RUN(a_product_in_flight_is_busy_until_waited_for);
	RUN(a_jobs_own_status_comes_through);
	RUN(a_core_that_is_not_there_has_no_counters);
	return test_result();
}

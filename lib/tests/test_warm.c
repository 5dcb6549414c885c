// SPDX-License-Identifier: MIT
/*
 * What a product costs when it is run again: no allocation, no object, one submit and one wait, no copy
 * where the NPU reaches the matrices, and no byte maintained that was not written, whatever was run in
 * between. Allocations are counted by the address sanitizer's hooks, the rest where the library meets
 * the model.
 */
#include <string.h>
#include <sys/mman.h>
#include "fake.h"
#include "values.h"

/* --- what is counted -------------------------------------------------------------------------- */

/* Of the sanitizer's library; its header is not everywhere. */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
					      void (*free_hook)(const volatile void *));

static struct {
	bool on;		/* the library is at work, and not the model */
	uint64_t allocations, frees;
	uint64_t objects, syncobjs, syncs, submits, jobs, waits, queries;
} counted;

static void count_allocation(const volatile void *address, size_t size)
{
	(void)address;
	(void)size;
	counted.allocations += counted.on;
}

static void count_free(const volatile void *address)
{
	counted.frees += counted.on && address;
}

static const struct ork_backend *model;

/* Calls the model, whose own allocations are not the library's. */
#define COUNT(what, call) ({ \
	bool was_on = counted.on; \
	counted.what++; \
	counted.on = false; \
	int ret_ = model->call; \
	counted.on = was_on; \
	ret_; \
})

static int count_query(void *dev, struct drm_ork_query *query)
{
	return COUNT(queries, query(dev, query));
}

static int count_bo_create(void *dev, struct drm_ork_bo_create *create, void **data)
{
	return COUNT(objects, bo_create(dev, create, data));
}

static int count_bo_sync(void *dev, const struct drm_ork_bo_sync *sync)
{
	return COUNT(syncs, bo_sync(dev, sync));
}

static int count_submit(void *dev, const struct drm_ork_submit *submit)
{
	counted.jobs += submit->jobs.count;
	return COUNT(submits, submit(dev, submit));
}

static int count_wait(void *dev, struct drm_ork_wait *wait)
{
	return COUNT(waits, wait(dev, wait));
}

static int count_syncobj_create(void *dev, uint32_t *handle)
{
	return COUNT(syncobjs, syncobj_create(dev, handle));
}

static struct ork *open_counted(void)
{
	static struct ork_backend counting;
	struct ork *ork = NULL;

	CHECK_EQUAL(ork_open("model", &ork), 0);
	model = ork->backend;
	counting = *model;
	counting.query = count_query;
	counting.bo_create = count_bo_create;
	counting.bo_sync = count_bo_sync;
	counting.submit = count_submit;
	counting.wait = count_wait;
	counting.syncobj_create = count_syncobj_create;
	ork->backend = &counting;
	return ork;
}

/* --- products --------------------------------------------------------------------------------- */

/* One slice of K and several of each kind of element; whole lines and groups, and not. */
static const struct shape shapes[] = {
	{ ORK_FP16_FP32, 8, 2048, 256 },
	{ ORK_FP16_FP32, 33, 96, 112 },
	{ ORK_FP16_FP16, 64, 512, 96 },
	{ ORK_FP16_FP32, 5, 100, 50 },
	{ ORK_FP16_FP32, 9, 3584, 48 },
	{ ORK_FP16_FP16, 3, 2100, 40 },
	{ ORK_INT8_INT32, 64, 1024, 160 },
	{ ORK_INT8_INT32, 1, 4096, 512 },
	{ ORK_INT8_INT16, 9, 512, 96 },
	{ ORK_INT8_INT8, 9, 512, 192 },
	{ ORK_INT8_INT32, 7, 5000, 72 },
	{ ORK_INT8_INT8, 7, 4500, 50 },
	{ ORK_INT4_INT16, 1, 2048, 256 },
	{ ORK_INT4_INT16, 16, 1024, 192 },
	{ ORK_INT4_INT16, 3, 11001, 50 },
	{ ORK_INT4_INT32, 9, 480, 128 },
	{ ORK_INT4_INT32, 5, 1000, 70 },
};

#define SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

/* How A and C are given. */
enum given { IN_OBJECTS, PLAIN, TURNED, GIVENS };

struct work {
	const struct shape *shape;
	struct ork_bo *a_bo, *c_bo;
	void *a_plain, *c_plain;	/* NULL: in objects */
	struct ork_weights *b;
	struct ork_matmul *matmul;
};

/* Turned or not, A has as many bytes, but for what makes rows of int4 whole. */
static size_t a_size(const struct shape *s)
{
	return s->m * row_bytes(s, s->k) + s->k;
}

/* What int4 needs to be used in place. */
#define BEHIND_A	48

static void pack(struct work *work)
{
	void *b = make_b(work->shape, 1);

	CHECK_EQUAL(ork_weights_pack(work->b, b, b_stride(work->shape), 0), 0);
	free(b);
}

static void make_work(struct work *work, struct ork *ork, const struct shape *s, enum given given)
{
	struct ork_matmul_desc desc = shape_desc(s);

	*work = (struct work) { .shape = s };
	desc.a_transposed = given == TURNED;
	if (given == PLAIN) {
		work->a_plain = malloc(a_size(s));
		work->c_plain = malloc(c_size(s));
	}
	CHECK_EQUAL(ork_bo_create(ork, a_size(s) + BEHIND_A, 0, &work->a_bo), 0);
	CHECK_EQUAL(ork_bo_create(ork, c_size(s), 0, &work->c_bo), 0);
	fill_operand(s, ork_bo_data(work->a_bo), 1, GOLDEN_A, s->m, s->k);
	if (work->a_plain)
		memcpy(work->a_plain, ork_bo_data(work->a_bo), a_size(s));
	CHECK_EQUAL(ork_weights_create(ork, s->type, s->k, s->n, &work->b), 0);
	pack(work);
	CHECK(ork_matmul_create(ork, &desc, &work->matmul) == 0, "%s", ork_error(ork));
}

static void drop_work(struct work *work)
{
	ork_matmul_destroy(work->matmul);
	ork_weights_destroy(work->b);
	ork_bo_destroy(work->c_bo);
	ork_bo_destroy(work->a_bo);
	free(work->c_plain);
	free(work->a_plain);
}

/* The CPU reads C, and writes A and perhaps B. */
static void run(struct work *work)
{
	struct ork_matrix a = { .bo = work->a_plain ? NULL : work->a_bo, .data = work->a_plain };
	struct ork_matrix c = { .bo = work->c_plain ? NULL : work->c_bo, .data = work->c_plain };

	if (c.bo)
		c.flags = ORK_CPU_CLEAN;
	counted.on = true;
	CHECK(ork_matmul_run(work->matmul, &a, work->b, &c) == 0, "%s", ork_error(work->b->ork));
	counted.on = false;
}

static void *copy_of_c(const struct work *work)
{
	void *copy = malloc(c_size(work->shape));

	return memcpy(copy, work->c_plain ? work->c_plain : ork_bo_data(work->c_bo), c_size(work->shape));
}

static void check_nothing_is_made(const struct work *work, enum given given)
{
	const struct shape *s = work->shape;

	CHECK(!counted.allocations && !counted.frees, "type %d, %u x %u x %u, given %d: %llu allocations, %llu frees",
	      s->type, s->m, s->k, s->n, given, (unsigned long long)counted.allocations,
	      (unsigned long long)counted.frees);
	CHECK(!counted.objects && !counted.syncobjs, "type %d, %u x %u x %u, given %d: %llu objects, %llu syncobjs",
	      s->type, s->m, s->k, s->n, given, (unsigned long long)counted.objects,
	      (unsigned long long)counted.syncobjs);
}

/* Twice more with what the first call had, and with a B that is packed anew. */
static void run_warm(struct ork *ork, const struct shape *s, enum given given)
{
	struct work work;
	void *cold, *warm;
	int i;

	make_work(&work, ork, s, given);
	run(&work);
	cold = copy_of_c(&work);
	for (i = 0; i < 2; i++) {
		memset(&counted, 0, sizeof(counted));
		run(&work);
		check_nothing_is_made(&work, given);
		CHECK_EQUAL(counted.submits, 1);
		CHECK_EQUAL(counted.waits, 1);
		CHECK_EQUAL(counted.jobs, ork_matmul_get_plan(work.matmul)->cores);
		CHECK_EQUAL(counted.syncs + counted.queries, 0);
		pack(&work);
	}
	warm = copy_of_c(&work);
	CHECK(!memcmp(cold, warm, c_size(s)), "other results");
	free(cold);
	free(warm);
	drop_work(&work);
}

static void a_call_that_is_not_the_first_makes_nothing_and_is_one_submit_and_one_wait(void)
{
	struct ork *ork = open_counted();
	enum given given;
	size_t i;

	for (i = 0; i < SHAPES; i++)
		for (given = IN_OBJECTS; given < GIVENS; given++)
			run_warm(ork, &shapes[i], given);
	ork_close(ork);
}

static void so_it_is_while_it_is_profiled_but_for_the_profiles_own_questions(void)
{
	struct ork *ork = open_counted();
	struct work work;

	make_work(&work, ork, &shapes[4], PLAIN);
	ork_profile_enable(ork, true);
	run(&work);
	memset(&counted, 0, sizeof(counted));
	run(&work);
	check_nothing_is_made(&work, PLAIN);
	CHECK_EQUAL(counted.submits + counted.waits, 2);
	CHECK(counted.queries > 0, "no questions");
	drop_work(&work);
	ork_close(ork);
}

/* Chains are emitted anew, where they are. */
static void matrices_elsewhere_make_nothing_either(void)
{
	struct ork *ork = open_counted();
	struct work work;
	struct ork_bo *first;

	make_work(&work, ork, &shapes[0], IN_OBJECTS);
	run(&work);
	first = work.c_bo;
	CHECK_EQUAL(ork_bo_create(ork, c_size(&shapes[0]), 0, &work.c_bo), 0);
	memset(&counted, 0, sizeof(counted));
	run(&work);
	check_nothing_is_made(&work, IN_OBJECTS);
	CHECK(!memcmp(ork_bo_data(first), ork_bo_data(work.c_bo), c_size(&shapes[0])), "other results");
	ork_bo_destroy(first);
	drop_work(&work);
	ork_close(ork);
}

/* --- copies ----------------------------------------------------------------------------------- */

static void profile_run(struct ork *ork, struct work *work, struct ork_profile *profile)
{
	ork_profile_enable(ork, true);
	run(work);
	ork_profile_get(ork, profile);
	ork_profile_enable(ork, false);
}

/* As ork.h has it: struct ork_matrix. Several rows of int4 come in blocks. */
static bool is_reached(const struct shape *s, bool *c)
{
	bool several = s->m > 1 && shape_is_int4(s);
	uint32_t group = shape_is_fp16(s) ? 16 : shape_is_int4(s) ? 64 : 32;
	uint32_t limit = shape_is_fp16(s) ? 2048 : s->type == ORK_INT4_INT16 ? 10752 : 4096;

	*c = s->type != ORK_INT4_INT32 && !several && s->k <= limit && s->n % group == 0 &&
	     s->n * result_bytes(s) % 64 == 0;
	return s->k % 32 == 0;
}

static void the_cpu_copies_what_the_npu_does_not_reach_and_nothing_else(void)
{
	struct ork *ork = open_counted();
	struct ork_profile p;
	uint32_t direct = 0;
	struct work work;
	bool a, c;
	size_t i;

	for (i = 0; i < SHAPES; i++) {
		a = is_reached(&shapes[i], &c);
		direct += a && c;
		make_work(&work, ork, &shapes[i], IN_OBJECTS);
		run(&work);
		profile_run(ork, &work, &p);
		CHECK(p.phase[ORK_PHASE_GATHER].calls == !a, "case %zu: %llu copies of A", i,
		      (unsigned long long)p.phase[ORK_PHASE_GATHER].calls);
		CHECK(p.phase[ORK_PHASE_COPY_BACK].calls == !c, "case %zu: %llu copies of C", i,
		      (unsigned long long)p.phase[ORK_PHASE_COPY_BACK].calls);
		CHECK_EQUAL(p.phase[ORK_PHASE_EMIT].calls + p.phase[ORK_PHASE_PACK].calls, 0);
		drop_work(&work);
	}
	CHECK(direct >= 7, "only %u shapes take no copy", direct);
	ork_close(ork);
}

/* --- bytes maintained ------------------------------------------------------------------------- */

static uint64_t maintained(const struct ork_profile *p)
{
	return p->phase[ORK_PHASE_SUBMIT].bytes_maintained + p->phase[ORK_PHASE_WAIT].bytes_maintained;
}

/*
 * Lines are maintained as a whole, and the library's rows of A begin on lines: what fills up a gathered
 * row's last one counts as written. Matrices in place have no such edges here.
 */
static uint64_t edges_of_a(const struct shape *s)
{
	uint64_t row = row_bytes(s, s->k);

	return s->m * (round_up((uint32_t)row, FAKE_LINE) - row);
}

static void check_maintained(struct ork *ork, const struct shape *s, enum given given)
{
	struct ork_profile p;
	struct work work;
	uint64_t written;

	make_work(&work, ork, s, given);
	run(&work);
	profile_run(ork, &work, &p);
	/* By the CPU A alone. */
	written = s->m * row_bytes(s, s->k) + p.bytes_written_npu;
	if (p.phase[ORK_PHASE_GATHER].calls)
		written += edges_of_a(s);
	CHECK((double)(maintained(&p) - p.bytes_window) <= 1.05 * (double)written,
	      "type %d, %u x %u x %u, given %d: %llu bytes maintained, %llu written, %llu for windows", s->type, s->m,
	      s->k, s->n, given, (unsigned long long)maintained(&p), (unsigned long long)written,
	      (unsigned long long)p.bytes_window);
	CHECK(maintained(&p) >= s->m * row_bytes(s, s->k) + c_size(s), "some were forgotten");
	drop_work(&work);
}

static void a_call_maintains_what_was_written_and_little_more(void)
{
	struct ork *ork = open_counted();
	enum given given;
	size_t i;

	for (i = 0; i < SHAPES; i++)
		for (given = IN_OBJECTS; given < GIVENS; given++)
			check_maintained(ork, &shapes[i], given);
	ork_close(ork);
}

static uint64_t bytes_of_device(struct ork *ork)
{
	struct drm_ork_counters counters = { 0 };

	CHECK_EQUAL(ork_counters(ork, -1, &counters), 0);
	return counters.bytes_cleaned + counters.bytes_invalidated;
}

static uint64_t bytes_of_run(struct ork *ork, struct work *work)
{
	uint64_t before = bytes_of_device(ork);

	run(work);
	return bytes_of_device(ork) - before;
}

/* Memory that is only there where it is touched. */
static void *lazy_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(memory != MAP_FAILED, "no %zu bytes of addresses", size);
	return memory;
}

static const struct shape small[] = {
	{ ORK_FP16_FP32, 4, 64, 16 },
	{ ORK_INT8_INT32, 3, 40, 20 },
	{ ORK_INT4_INT32, 2, 64, 10 },
};

#define SMALLS	(sizeof(small) / sizeof(small[0]) * GIVENS)

static void make_small(struct ork *ork, struct work works[SMALLS], uint64_t bytes[SMALLS])
{
	size_t i;

	for (i = 0; i < SMALLS; i++) {
		make_work(&works[i], ork, &small[i / GIVENS], (enum given)(i % GIVENS));
		run(&works[i]);
		bytes[i] = bytes_of_run(ork, &works[i]);
	}
}

static void check_small(struct ork *ork, struct work works[SMALLS], const uint64_t bytes[SMALLS])
{
	size_t i;

	for (i = 0; i < SMALLS; i++)
		CHECK_EQUAL(bytes_of_run(ork, &works[i]), bytes[i]);
}

/* From plain memory, with the largest staging there is; it still lives when the small ones are run again. */
static void run_huge_between_small(struct ork *ork, const struct shape *huge)
{
	struct ork_matmul_desc desc = shape_desc(huge);
	struct ork_matrix a = { .data = lazy_memory(a_size(huge)) }, c = { .data = lazy_memory(c_size(huge)) };
	struct work works[SMALLS];
	uint64_t small_bytes[SMALLS], bytes;
	struct ork_matmul *matmul;
	struct ork_weights *b;
	size_t i;

	make_small(ork, works, small_bytes);
	CHECK_EQUAL(ork_weights_create(ork, huge->type, huge->k, huge->n, &b), 0);
	CHECK_EQUAL(ork_matmul_create(ork, &desc, &matmul), 0);
	bytes = bytes_of_device(ork);
	CHECK(ork_matmul_run(matmul, &a, b, &c) == 0, "%s", ork_error(ork));
	bytes = bytes_of_device(ork) - bytes;
	CHECK(bytes > 64u << 20, "%llu bytes are no huge product", (unsigned long long)bytes);
	check_small(ork, works, small_bytes);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(b);
	check_small(ork, works, small_bytes);
	for (i = 0; i < SMALLS; i++)
		drop_work(&works[i]);
	munmap(a.data, a_size(huge));
	munmap(c.data, c_size(huge));
}

/* A of 66 MiB: more than is staged at a time. */
static void a_huge_call_leaves_small_ones_as_they_were(void)
{
	static const struct shape huge = { ORK_INT8_INT32, 33 * 1024, 2048, 1 };
	struct ork *ork = open_counted();

	run_huge_between_small(ork, &huge);
	ork_close(ork);
}

/* The shape at which a stack in use once wrote beyond its buffer, where nothing is computed. */
static void so_does_the_largest(void)
{
	static const struct shape huge = { ORK_FP16_FP32, 248320, 1024, 1024 };

	run_huge_between_small(fake_open(), &huge);
}

int main(void)
{
	setenv("ORK_MODEL", "cache=strict,seed=2", 1);
	unsetenv("ORK_PROF");
	CHECK(__sanitizer_install_malloc_and_free_hooks(count_allocation, count_free), "no hooks");
	RUN(a_call_that_is_not_the_first_makes_nothing_and_is_one_submit_and_one_wait);
	RUN(so_it_is_while_it_is_profiled_but_for_the_profiles_own_questions);
	RUN(matrices_elsewhere_make_nothing_either);
	RUN(the_cpu_copies_what_the_npu_does_not_reach_and_nothing_else);
	RUN(a_call_maintains_what_was_written_and_little_more);
	RUN(a_huge_call_leaves_small_ones_as_they_were);
	RUN(so_does_the_largest);
	return test_result();
}

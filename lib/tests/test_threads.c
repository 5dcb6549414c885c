// SPDX-License-Identifier: MIT
/*
 * Several threads, each with a device of its own, at once: what ork.h promises. Run with the
 * address and undefined-behaviour sanitizers, and once more with the thread sanitizer in the library
 * and in the model.
 */
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include "ork.h"
#include "test.h"
#include "values.h"

#define THREADS	6
#define ROUNDS	3

#ifdef __SANITIZE_THREAD__
/*
 * The dynamic linker frees in one thread's dlclose() what another's dlopen() allocated. It holds a lock
 * of its own over both, which the sanitizer does not see. No code of ours is called from there.
 */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
	return "race:^_dl_close_worker$\n";
}
#endif

/* Of each type, tiles for one core and for three, K in one slice and in several. */
static const struct shape shapes[] = {
	{ ORK_FP16_FP32, 9, 96, 80 },
	{ ORK_FP16_FP16, 3, 2100, 40 },
	{ ORK_INT8_INT32, 33, 128, 96 },
	{ ORK_INT8_INT16, 5, 100, 50 },
	{ ORK_INT8_INT8, 7, 512, 64 },
	{ ORK_INT4_INT16, 6, 512, 100 },
	{ ORK_INT4_INT32, 5, 1000, 70 },
};

#define SHAPES	(sizeof(shapes) / sizeof(shapes[0]))

/*
 * CHECK() is for one thread. Here each keeps its first failure, which the main thread then tells; one
 * that failed does no more.
 */
struct worker {
	pthread_t thread;
	uint32_t index;
	struct ork *ork;
	uint64_t submits;
	char wrong[256];
};

static pthread_barrier_t together;

__attribute__((format(printf, 2, 3)))
static void tell(struct worker *w, const char *format, ...)
{
	va_list args;

	if (w->wrong[0])
		return;
	va_start(args, format);
	vsnprintf(w->wrong, sizeof(w->wrong), format, args);
	va_end(args);
}

/* Operands that no other thread has: another's result would be seen. */
static uint64_t seed_of(const struct worker *w, const struct shape *s)
{
	return 1000 * (w->index + 1) + s->k;
}

static void compare(struct worker *w, const struct shape *s, const void *c)
{
	uint32_t m, n;

	for (m = 0; m < s->m; m++) {
		for (n = 0; n < s->n; n++) {
			struct expected e = expect_element(s, seed_of(w, s), m, n);
			double found = found_element(s, c, (size_t)m * s->n + n);

			if (!(fabs(found - e.value) <= e.slack))
				tell(w, "type %d, %u x %u x %u: C[%u][%u] is %g, not %g", s->type, s->m, s->k, s->n, m,
				     n, found, e.value);
		}
	}
}

struct work {
	struct ork_bo *a, *c;
	struct ork_weights *b;
	struct ork_matmul *matmul;
	void *plain;		/* as large as C */
};

static int pack(struct worker *w, const struct shape *s, struct work *work)
{
	void *b = make_b(s, seed_of(w, s));
	int ret = ork_weights_pack(work->b, b, b_stride(s), 0);

	free(b);
	return ret;
}

static bool make_work(struct worker *w, const struct shape *s, struct work *work)
{
	struct ork_matmul_desc desc = shape_desc(s);
	int ret;

	memset(work, 0, sizeof(*work));
	ret = ork_bo_create(w->ork, s->m * row_bytes(s, s->k), 0, &work->a);
	if (!ret)
		ret = ork_bo_create(w->ork, c_size(s), 0, &work->c);
	if (!ret)
		ret = ork_weights_create(w->ork, s->type, s->k, s->n, &work->b);
	if (!ret)
		ret = pack(w, s, work);
	if (!ret)
		ret = ork_matmul_create(w->ork, &desc, &work->matmul);
	if (ret) {
		tell(w, "%s", ork_error(w->ork));
		return false;
	}
	fill_operand(s, ork_bo_data(work->a), seed_of(w, s), GOLDEN_A, s->m, s->k);
	work->plain = malloc(c_size(s));
	return true;
}

static void drop_work(struct work *work)
{
	free(work->plain);
	ork_matmul_destroy(work->matmul);
	ork_weights_destroy(work->b);
	ork_bo_destroy(work->c);
	ork_bo_destroy(work->a);
}

/* @c: where results go, which are @data then. */
static void run(struct worker *w, const struct shape *s, struct work *work, const struct ork_matrix *c, void *data)
{
	struct ork_matrix a = { .bo = work->a };

	memset(data, 0x5a, c_size(s));
	if (ork_matmul_run(work->matmul, &a, work->b, c))
		tell(w, "%s", ork_error(w->ork));
	w->submits++;
	compare(w, s, data);
}

/* Cold, and warm with C elsewhere. */
static void run_shape(struct worker *w, const struct shape *s)
{
	struct work work;

	if (make_work(w, s, &work)) {
		run(w, s, &work, &(struct ork_matrix) { .bo = work.c }, ork_bo_data(work.c));
		run(w, s, &work, &(struct ork_matrix) { .data = work.plain }, work.plain);
	}
	drop_work(&work);
}

/* Flags that no object has, of each thread its own. */
static uint32_t own_flags(const struct worker *w)
{
	return 0x100u << w->index;
}

static void fail_in_own_words(struct worker *w)
{
	struct ork_bo *bo;

	if (!ork_bo_create(w->ork, 4096, own_flags(w), &bo))
		tell(w, "an object of unknown flags");
}

static void check_own_words(struct worker *w)
{
	char words[32];

	snprintf(words, sizeof(words), "flags 0x%x:", own_flags(w));
	if (!strstr(ork_error(w->ork), words))
		tell(w, "'%s' has no %s", ork_error(w->ork), words);
}

/* Devices are opened and closed while others run. */
static void round_of_products(struct worker *w)
{
	struct drm_ork_counters counters = { 0 };
	uint32_t i;

	w->submits = 0;
	if (ork_open("model", &w->ork)) {
		tell(w, "no device");
		return;
	}
	for (i = 0; i < SHAPES && !w->wrong[0]; i++)
		run_shape(w, &shapes[(i + w->index) % SHAPES]);
	ork_counters(w->ork, -1, &counters);
	if (counters.submits != w->submits)
		tell(w, "%llu submits are counted, not %llu", (unsigned long long)counters.submits,
		     (unsigned long long)w->submits);
	ork_close(w->ork);
}

static void *products_over_and_over(void *opaque)
{
	struct worker *w = opaque;
	uint32_t i;

	pthread_barrier_wait(&together);
	for (i = 0; i < ROUNDS && !w->wrong[0]; i++)
		round_of_products(w);
	return NULL;
}

/* All have failed before the first looks. */
static void *failures_at_once(void *opaque)
{
	struct worker *w = opaque;

	if (ork_open("model", &w->ork))
		tell(w, "no device");
	else
		fail_in_own_words(w);
	pthread_barrier_wait(&together);
	if (w->ork)
		check_own_words(w);
	ork_close(w->ork);
	return NULL;
}

/* Every other thread has one. */
static void *profiles_beside_none(void *opaque)
{
	struct worker *w = opaque;
	bool profiled = w->index % 2;
	struct ork_profile profile;

	pthread_barrier_wait(&together);
	if (ork_open("model", &w->ork)) {
		tell(w, "no device");
		return NULL;
	}
	ork_profile_enable(w->ork, profiled);
	run_shape(w, &shapes[w->index % SHAPES]);
	ork_profile_get(w->ork, &profile);
	if (profile.products != (profiled ? 2 : 0) || profile.ioctls != 2 * profile.products)
		tell(w, "%llu products, %llu ioctls", (unsigned long long)profile.products,
		     (unsigned long long)profile.ioctls);
	ork_close(w->ork);
	return NULL;
}

static void in_threads(void *(*function)(void *))
{
	struct worker workers[THREADS];
	uint32_t i;

	memset(workers, 0, sizeof(workers));
	pthread_barrier_init(&together, NULL, THREADS);
	for (i = 0; i < THREADS; i++) {
		workers[i].index = i;
		CHECK_EQUAL(pthread_create(&workers[i].thread, NULL, function, &workers[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		CHECK_EQUAL(pthread_join(workers[i].thread, NULL), 0);
		CHECK(!workers[i].wrong[0], "thread %u: %s", i, workers[i].wrong);
	}
	pthread_barrier_destroy(&together);
}

static void threads_with_a_device_each_run_products_at_once(void)
{
	in_threads(products_over_and_over);
}

static void each_has_its_own_error(void)
{
	in_threads(failures_at_once);
}

static void a_profile_counts_its_own_device_only(void)
{
	in_threads(profiles_beside_none);
}

int main(void)
{
	/* Before there are threads, which read it. */
	setenv("ORK_MODEL", "cache=strict,seed=3", 1);
	unsetenv("ORK_PROF");
	RUN(threads_with_a_device_each_run_products_at_once);
	RUN(each_has_its_own_error);
	RUN(a_profile_counts_its_own_device_only);
	return test_result();
}

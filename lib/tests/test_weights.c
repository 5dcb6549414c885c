// SPDX-License-Identifier: MIT
/* Packing B. The index formulas are those of weights that boards compute with. */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fake.h"

struct shape {
	enum ork_type type;
	uint32_t k, n, extra;		/* elements that the stride has beyond the row */
};

static const struct shape shapes[] = {
	{ ORK_FP16_FP32, 32, 16, 0 }, { ORK_FP16_FP16, 64, 48, 5 }, { ORK_FP16_FP32, 256, 112, 1 },
	{ ORK_INT8_INT32, 32, 32, 0 }, { ORK_INT8_INT32, 96, 64, 3 }, { ORK_INT8_INT32, 224, 160, 7 },
	/* padded, and in slices */
	{ ORK_FP16_FP32, 1, 1, 0 }, { ORK_FP16_FP32, 33, 17, 2 }, { ORK_INT8_INT32, 95, 33, 0 },
	{ ORK_FP16_FP32, 2048, 16, 0 }, { ORK_FP16_FP32, 2080, 32, 0 }, { ORK_FP16_FP16, 3000, 20, 3 },
	{ ORK_INT8_INT32, 4096, 32, 0 }, { ORK_INT8_INT32, 4128, 32, 1 }, { ORK_INT8_INT32, 9001, 50, 0 },
	/* two to a byte, in even strides */
	{ ORK_INT4_INT16, 32, 64, 0 }, { ORK_INT4_INT16, 45, 33, 5 }, { ORK_INT4_INT16, 10754, 66, 0 },
	{ ORK_INT4_INT32, 480, 64, 2 }, { ORK_INT4_INT32, 1001, 70, 1 },
};

static const uint32_t in_bits[] = { 16, 16, 8, 8, 8, 4, 4 }, groups[] = { 16, 16, 32, 32, 32, 64, 64 };
/* K of one program, and of a slice where there is more. */
static const uint32_t limits[] = { 2048, 2048, 4096, 4096, 4096, 10752, 480 };
static const uint32_t slices[] = { 1024, 1024, 2048, 2048, 2048, 10752, 480 };

/* Any two elements near each other differ. */
static uint16_t element(uint32_t k, uint32_t n)
{
	return (uint16_t)(k * 251 + n * 7 + 1);
}

/* A long K is cut into slices, each packed by itself. */
static uint64_t packed_index(const struct shape *s, uint32_t k, uint32_t n)
{
	uint32_t all = round_up(s->k, 32), group = groups[s->type], width = round_up(s->n, group);
	uint32_t slice = all <= limits[s->type] ? all : slices[s->type];
	uint32_t first = k / slice * slice, channels = all - first < slice ? all - first : slice;

	k -= first;
	return (uint64_t)first * width + ((uint64_t)(n / group) * (channels / 32) + k / 32) * group * 32 +
	       (n % group) * 32 + k % 32;
}

static void store(const struct shape *s, void *array, uint64_t index, uint16_t value)
{
	uint8_t *byte = (uint8_t *)array + index / 2;

	if (in_bits[s->type] == 16)
		((uint16_t *)array)[index] = value;
	else if (in_bits[s->type] == 8)
		((uint8_t *)array)[index] = (uint8_t)value;
	else
		*byte = index % 2 ? (uint8_t)((*byte & 15) | value << 4) : (uint8_t)((*byte & 0xf0) | (value & 15));
}

static size_t bytes_of(const struct shape *s, uint64_t elements)
{
	return (elements * in_bits[s->type] + 7) / 8;
}

/* What is between rows is not zero. */
static void *make_b(const struct shape *s, size_t stride, bool transposed)
{
	size_t size = bytes_of(s, ((transposed ? s->n : s->k) - 1) * stride + (transposed ? s->k : s->n));
	void *b = malloc(size);
	uint32_t k, n;

	memset(b, 0xee, size);
	for (k = 0; k < s->k; k++)
		for (n = 0; n < s->n; n++)
			store(s, b, transposed ? n * stride + k : k * stride + n, element(k, n));
	return b;
}

static size_t stride_of(const struct shape *s, bool transposed)
{
	size_t stride = (transposed ? s->k : s->n) + s->extra;

	return in_bits[s->type] == 4 ? (stride + 1) / 2 * 2 : stride;
}

static void check_shape(struct ork *ork, const struct shape *s, bool transposed)
{
	size_t stride = stride_of(s, transposed), bytes;
	void *b = make_b(s, stride, transposed), *expected;
	struct ork_weights *weights;
	uint32_t k, n;

	bytes = bytes_of(s, (uint64_t)round_up(s->k, 32) * round_up(s->n, groups[s->type]));
	expected = calloc(1, bytes);
	for (k = 0; k < s->k; k++)
		for (n = 0; n < s->n; n++)
			store(s, expected, packed_index(s, k, n), element(k, n));
	CHECK_EQUAL(ork_weights_create(ork, s->type, s->k, s->n, &weights), 0);
	CHECK_EQUAL(ork_weights_pack(weights, b, stride, transposed ? ORK_TRANSPOSED : 0), 0);
	CHECK(!memcmp(fake.object[0].data, expected, bytes), "type %d, %u x %u%s", s->type, s->k, s->n,
	      transposed ? ", transposed" : "");
	ork_weights_destroy(weights);
	free(expected);
	free(b);
}

static void every_element_goes_where_the_npu_looks_for_it(void)
{
	struct ork *ork = fake_open();
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		check_shape(ork, &shapes[i], false);
		check_shape(ork, &shapes[i], true);
	}
}

/*
 * Sources that fp16 holds exactly, so that packing from fp16 gives what must come of them; in slices, so that
 * each begins where its rows or channels do.
 */
static void other_elements_give_the_same(void)
{
	enum { K = 2100, N = 20, ALL = K * N };
	struct ork *ork = fake_open();
	_Float16 *half = malloc(ALL * sizeof(*half));
	float *single = malloc(ALL * sizeof(*single));
	uint16_t *brain = malloc(ALL * sizeof(*brain));
	struct ork_weights *weights, *other;
	uint32_t i, bits, flags;

	for (i = 0; i < ALL; i++) {
		single[i] = (float)((int32_t)(i * 37 % 255) - 127) / 64;
		half[i] = (_Float16)single[i];
		memcpy(&bits, &single[i], sizeof(bits));
		brain[i] = (uint16_t)(bits >> 16);
	}
	CHECK_EQUAL(ork_weights_create(ork, ORK_FP16_FP32, K, N, &weights), 0);
	CHECK_EQUAL(ork_weights_create(ork, ORK_FP16_FP16, K, N, &other), 0);
	for (flags = 0; flags <= ORK_TRANSPOSED; flags++) {
		size_t stride = flags ? K : N;

		CHECK_EQUAL(ork_weights_pack(weights, half, stride, flags), 0);
		CHECK_EQUAL(ork_weights_pack_from(other, ORK_ELEMENT_FP32, single, stride, flags), 0);
		CHECK(!memcmp(other->bo->data, weights->bo->data, weights->layout.bytes), "fp32, flags %u", flags);
		CHECK_EQUAL(ork_weights_pack_from(other, ORK_ELEMENT_BF16, brain, stride, flags), 0);
		CHECK(!memcmp(other->bo->data, weights->bo->data, weights->layout.bytes), "bf16, flags %u", flags);
	}
	CHECK_EQUAL(ork_weights_pack_from(other, ORK_ELEMENT_INT8, single, N, 0), -EOPNOTSUPP);
	CHECK(strstr(ork_error(ork), "element = 3") && strstr(ork_error(ork), "fp16"), "%s", ork_error(ork));
	ork_weights_destroy(weights);
	ork_weights_destroy(other);
	free(half);
	free(single);
	free(brain);
}

/* One to a byte, and two; odd rows, and slices. */
static void int4_can_come_from_bytes(void)
{
	static const struct shape s = { ORK_INT4_INT32, 1001, 70, 0 };
	struct ork *ork = fake_open();
	int8_t *bytes = malloc((size_t)s.k * 71);
	void *b = make_b(&s, 70, false);
	struct ork_weights *weights, *other;
	uint32_t k, n;

	for (k = 0; k < s.k; k++)
		for (n = 0; n < s.n; n++)
			bytes[k * 71 + n] = (int8_t)((element(k, n) & 15) ^ 8) - 8;
	CHECK_EQUAL(ork_weights_create(ork, s.type, s.k, s.n, &weights), 0);
	CHECK_EQUAL(ork_weights_create(ork, s.type, s.k, s.n, &other), 0);
	CHECK_EQUAL(ork_weights_pack(weights, b, 70, 0), 0);
	CHECK_EQUAL(ork_weights_pack_from(other, ORK_ELEMENT_INT8, bytes, 71, 0), 0);
	CHECK(!memcmp(other->bo->data, weights->bo->data, weights->layout.bytes), "bytes give something else");
	CHECK_EQUAL(ork_weights_pack(weights, b, 71, 0), -EINVAL);
	CHECK(strstr(ork_error(ork), "71") && strstr(ork_error(ork), "even"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_weights_pack_from(weights, ORK_ELEMENT_FP16, b, 70, 0), -EOPNOTSUPP);
	CHECK(strstr(ork_error(ork), "int4"), "%s", ork_error(ork));
	ork_weights_destroy(weights);
	ork_weights_destroy(other);
	free(bytes);
	free(b);
}

static void loading_cleans_what_was_packed_once(void)
{
	struct ork *ork = fake_open();
	struct ork_weights *weights;
	uint16_t b[32 * 48] = { 0 };

	ork_weights_create(ork, ORK_FP16_FP32, 32, 48, &weights);
	CHECK_EQUAL(ork_weights_load(weights), 0);
	CHECK_EQUAL(fake.syncs, 0);
	ork_weights_pack(weights, b, 48, 0);
	CHECK_EQUAL(ork_weights_load(weights), 0);
	CHECK_EQUAL(ork_weights_load(weights), 0);
	CHECK_EQUAL(fake.syncs, 1);
	CHECK_EQUAL(fake.synced.flags, DRM_ORK_EXTENT_TO_DEVICE);
	CHECK_EQUAL(fake.synced.offset, 0);
	CHECK_EQUAL(fake.synced.length, 32 * 48 * 2);
	ork_weights_destroy(weights);
}

static void weights_that_could_not_be_loaded_are_still_to_be(void)
{
	struct ork *ork = fake_open();
	struct ork_weights *weights;
	uint16_t b[32 * 48] = { 0 };

	ork_weights_create(ork, ORK_FP16_FP32, 32, 48, &weights);
	ork_weights_pack(weights, b, 48, 0);
	fake.sync_error = -ENODEV;
	CHECK_EQUAL(ork_weights_load(weights), -ENODEV);
	fake.sync_error = 0;
	CHECK_EQUAL(ork_weights_load(weights), 0);
	CHECK_EQUAL(fake.syncs, 2);
	CHECK_EQUAL(fake.counters.bytes_cleaned, 32 * 48 * 2);
	ork_weights_destroy(weights);
}

static void wrong_weights_are_refused_with_value_and_limit(void)
{
	struct ork *ork = fake_open();
	struct ork_weights *weights;
	uint16_t b[64 * 32] = { 0 };

	CHECK_EQUAL(ork_weights_create(ork, (enum ork_type)9, 64, 32, &weights), -EINVAL);
	CHECK(strstr(ork_error(ork), "type = 9"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_weights_create(ork, ORK_FP16_FP32, 0, 32, &weights), -EINVAL);
	CHECK(strstr(ork_error(ork), "k = 0") && strstr(ork_error(ork), "at least 1"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_weights_create(ork, ORK_INT8_INT32, 65536, 65536, &weights), -EINVAL);
	CHECK(strstr(ork_error(ork), "n = 65536") && strstr(ork_error(ork), "4 GiB"), "%s", ork_error(ork));
	CHECK(!weights, "a handle in spite of the failure");

	CHECK_EQUAL(ork_weights_create(ork, ORK_FP16_FP32, 64, 32, &weights), 0);
	CHECK_EQUAL(ork_weights_pack(weights, b, 31, 0), -EINVAL);
	CHECK(strstr(ork_error(ork), "31") && strstr(ork_error(ork), "32"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_weights_pack(weights, b, 63, ORK_TRANSPOSED), -EINVAL);
	CHECK(strstr(ork_error(ork), "63") && strstr(ork_error(ork), "64"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_weights_pack(weights, b, 64, 2), -EOPNOTSUPP);
	ork_weights_destroy(weights);
}

/* --- files ------------------------------------------------------------------------------------ */

#define HEADER_BYTES	48

static char file_path[64];
static const struct shape file_shape = { ORK_INT8_INT32, 4500, 40, 0 };

static struct ork_weights *save_some(struct ork *ork)
{
	const struct shape *s = &file_shape;
	struct ork_weights *weights;
	void *b = make_b(s, s->n, false);

	CHECK_EQUAL(ork_weights_create(ork, s->type, s->k, s->n, &weights), 0);
	CHECK_EQUAL(ork_weights_pack(weights, b, s->n, 0), 0);
	CHECK(ork_weights_save(weights, file_path) == 0, "%s", ork_error(ork));
	free(b);
	return weights;
}

static void saved_weights_come_back(void)
{
	struct ork *ork = fake_open();
	struct ork_weights *weights = save_some(ork), *again;

	/* Over the file that is there. */
	CHECK_EQUAL(ork_weights_save(weights, file_path), 0);
	CHECK(ork_weights_open(ork, file_path, &again) == 0, "%s", ork_error(ork));
	CHECK_EQUAL(again->k, 4500);
	CHECK_EQUAL(again->n, 40);
	CHECK_EQUAL(again->layout.bytes, weights->layout.bytes);
	CHECK(!memcmp(again->bo->data, weights->bo->data, weights->layout.bytes), "other bytes");
	CHECK_EQUAL(ork_weights_load(again), 0);
	CHECK_EQUAL(fake.syncs, 1);
	ork_weights_destroy(again);
	ork_weights_destroy(weights);
	unlink(file_path);
}

/* Of the types with elements of int4 that have other slices, the one that was saved. */
static void slices_of_a_file_are_those_that_were_saved(void)
{
	static const struct {
		enum ork_type type;
		uint32_t k, slice;
	} cases[] = {
		{ ORK_INT4_INT16, 481, 512 }, { ORK_INT4_INT32, 481, 480 }, { ORK_INT4_INT16, 11000, 10752 },
		{ ORK_INT4_INT32, 11000, 480 }, { ORK_INT4_INT32, 100, 128 },
	};
	struct ork *ork = fake_open();
	struct ork_weights *weights;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQUAL(ork_weights_create(ork, cases[i].type, cases[i].k, 3, &weights), 0);
		CHECK_EQUAL(ork_weights_save(weights, file_path), 0);
		ork_weights_destroy(weights);
		CHECK(ork_weights_open(ork, file_path, &weights) == 0, "%s", ork_error(ork));
		CHECK_EQUAL(weights->layout.slice, cases[i].slice);
		ork_weights_destroy(weights);
	}
	unlink(file_path);
}

/* A file with @value at @offset, or with @value bytes if that is SIZE. */
#define SIZE	UINT64_MAX

static void damage(uint64_t offset, uint64_t value)
{
	int fd = open(file_path, O_RDWR);

	if (offset == SIZE)
		CHECK_EQUAL(ftruncate(fd, (off_t)value), 0);
	else
		CHECK_EQUAL(pwrite(fd, &value, 4, (off_t)offset), 4);
	close(fd);
}

static void wrong_files_are_refused_with_the_field(void)
{
	/* 4512 channels of 64 columns. */
	static const struct {
		uint64_t offset, value;
		const char *field, *wanted;
	} damages[] = {
		{ 0, 0x12345678, "magic", "" }, { 4, 0, "magic", "" },
		{ 8, 2, "version = 2", "1" }, { 12, 77, "precision = 77", "" }, { 12, ORK_PRECISION_FP16, "slice", "1024" },
		{ 16, 4000, "slice = 2048", "4000" }, { 16, 4501, "checksum", "" }, { 16, 0, "k = 0", "" },
		{ 20, 70, "bytes = 288768", "433152" }, { 20, 41, "checksum", "" },
		{ 24, 1, "slice = 1", "2048" }, { 28, 1, "reserved = 1", "0" }, { 32, 100, "size = 288816", "148" },
		{ 40, 1, "checksum", "" }, { HEADER_BYTES, 0x01020304, "checksum", "" },
		{ HEADER_BYTES + 288764, 0x01020304, "checksum", "" },
		{ SIZE, 0, "cut by 48", "" }, { SIZE, 47, "cut by 1 ", "" }, { SIZE, 48, "size = 48", "288816" },
		{ SIZE, 288815, "size = 288815", "288816" }, { SIZE, 288817, "size = 288817", "288816" },
	};
	struct ork *ork = fake_open();
	struct ork_weights *weights;
	size_t i;

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		ork_weights_destroy(save_some(ork));
		damage(damages[i].offset, damages[i].value);
		CHECK(ork_weights_open(ork, file_path, &weights) == -EINVAL, "case %zu", i);
		CHECK(strstr(ork_error(ork), damages[i].field) && strstr(ork_error(ork), damages[i].wanted),
		      "case %zu: %s", i, ork_error(ork));
		CHECK(!weights, "case %zu: a handle in spite of the failure", i);
	}
	unlink(file_path);
}

static void a_file_that_cannot_be_reached_is_named(void)
{
	struct ork *ork = fake_open();
	struct ork_weights *weights = save_some(ork), *none;

	CHECK_EQUAL(ork_weights_open(ork, "/tmp/ork-no-such-file", &none), -ENOENT);
	CHECK(strstr(ork_error(ork), "/tmp/ork-no-such-file"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_weights_open(ork, "/tmp", &none), -EISDIR);
	CHECK_EQUAL(ork_weights_save(weights, "/tmp/ork-no-such-folder/b"), -ENOENT);
	CHECK(strstr(ork_error(ork), "/tmp/ork-no-such-folder/b"), "%s", ork_error(ork));
	ork_weights_destroy(weights);
	unlink(file_path);
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	CHECK_EQUAL(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	CHECK_EQUAL(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_file_that_cannot_be_written_whole_is_what_it_was(void)
{
	struct ork *ork = fake_open();
	struct ork_weights *weights = save_some(ork), *again;
	char pattern[80];
	glob_t parts;

	signal(SIGXFSZ, SIG_IGN);
	limit_files(100000);
	CHECK_EQUAL(ork_weights_save(weights, file_path), -EFBIG);
	limit_files(RLIM_INFINITY);
	CHECK(strstr(ork_error(ork), file_path), "%s", ork_error(ork));
	CHECK(ork_weights_open(ork, file_path, &again) == 0, "%s", ork_error(ork));
	snprintf(pattern, sizeof(pattern), "%s?*", file_path);
	CHECK_EQUAL(glob(pattern, 0, NULL, &parts), GLOB_NOMATCH);
	ork_weights_destroy(again);
	ork_weights_destroy(weights);
	unlink(file_path);
}

static void only_a_regular_file_is_replaced(void)
{
	struct ork *ork = fake_open();
	struct ork_weights *weights = save_some(ork);
	struct stat stat;
	char link[80];

	snprintf(link, sizeof(link), "%s-link", file_path);
	CHECK_EQUAL(symlink(file_path, link), 0);
	CHECK_EQUAL(ork_weights_save(weights, link), -EINVAL);
	CHECK(strstr(ork_error(ork), link), "%s", ork_error(ork));
	CHECK(!lstat(link, &stat) && S_ISLNK(stat.st_mode), "the link has gone");
	unlink(link);
	unlink(file_path);
	CHECK_EQUAL(mkfifo(file_path, 0600), 0);
	CHECK_EQUAL(ork_weights_save(weights, file_path), -EINVAL);
	CHECK(!lstat(file_path, &stat) && S_ISFIFO(stat.st_mode), "the pipe has gone");
	ork_weights_destroy(weights);
	unlink(file_path);
}

int main(void)
{
	snprintf(file_path, sizeof(file_path), "/tmp/ork-test-weights-%d", (int)getpid());
	RUN(every_element_goes_where_the_npu_looks_for_it);
	RUN(other_elements_give_the_same);
	RUN(int4_can_come_from_bytes);
	RUN(loading_cleans_what_was_packed_once);
	RUN(weights_that_could_not_be_loaded_are_still_to_be);
	RUN(wrong_weights_are_refused_with_value_and_limit);
	RUN(saved_weights_come_back);
	RUN(slices_of_a_file_are_those_that_were_saved);
	RUN(wrong_files_are_refused_with_the_field);
	RUN(a_file_that_cannot_be_reached_is_named);
	RUN(a_file_that_cannot_be_written_whole_is_what_it_was);
	RUN(only_a_regular_file_is_replaced);
	return test_result();
}

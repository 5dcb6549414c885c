// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results that others were known to get wrong: calls that succeed and write nothing, shapes that
 * hang or lie, types that disturb each other, and what fp16 can be held to.
 *
 * Operands are whole numbers so small that every sum is exact in fp32 too: but where rounding is
 * the matter, a result is right or wrong to the last bit. A row of A is a combination of three rows
 * that all have in common, so what C must be takes K * N steps, not M * K * N.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ork.h>
#include <kselftest_harness.h>
#include "../golden/inputs.h"
#include "lib_test.h"

#define TIMEOUT_S	300
#define BASES		3
#define BANK_BYTES	32768

/* --- types ------------------------------------------------------------------------------------ */

enum element { FP16, INT8, INT4 };

static enum element element_of(enum ork_type type)
{
	return type <= ORK_FP16_FP16 ? FP16 : type <= ORK_INT8_INT8 ? INT8 : INT4;
}

static const uint32_t element_bits[] = { [FP16] = 16, [INT8] = 8, [INT4] = 4 };

static const uint32_t result_bytes[] = {
	[ORK_FP16_FP32] = 4, [ORK_FP16_FP16] = 2, [ORK_INT8_INT32] = 4, [ORK_INT8_INT16] = 2,
	[ORK_INT8_INT8] = 1, [ORK_INT4_INT16] = 2, [ORK_INT4_INT32] = 4,
};

#define TYPES	(sizeof(result_bytes) / sizeof(result_bytes[0]))

/* Rows of int4 begin on bytes. */
static size_t row_bytes(enum element element, uint32_t columns)
{
	return ((size_t)columns * element_bits[element] + 7) / 8;
}

static uint32_t stride_of(enum element element, uint32_t columns)
{
	return element == INT4 ? columns + columns % 2 : columns;
}

static void put(enum element element, void *row, uint32_t column, int32_t value)
{
	if (element == FP16)
		((_Float16 *)row)[column] = (_Float16)value;
	else if (element == INT8)
		((int8_t *)row)[column] = (int8_t)value;
	else
		golden_put_int4(row, column, (int8_t)value);
}

/* --- operands --------------------------------------------------------------------------------- */

/* In rows of A at most this of each base. */
static const uint32_t weight_limit[BASES] = { 7, 9, 11 };

/* -3..3, and of int4, whose combinations must fit too, -2..2. */
static int32_t base_value(enum element element, uint32_t base, uint32_t k)
{
	uint64_t random = golden_random(1, 2 + base, 0, k);

	return element == INT4 ? (int32_t)(random % 5) - 2 : (int32_t)(random % 7) - 3;
}

/*
 * How much of a base is in row @m: 693 rows differ. Of int4 it is 0, 1 or -1, and no row has 0 of
 * all.
 */
static int32_t base_weight(enum element element, uint32_t base, uint32_t m)
{
	static const uint32_t digit[BASES] = { 1, 3, 9 };

	if (element != INT4)
		return (int32_t)(1 + m % weight_limit[base]);
	m = m % 26;
	m += m >= 13;
	return (int32_t)(m / digit[base] % 3) - 1;
}

static int32_t a_value(enum element element, uint32_t m, uint32_t k)
{
	int32_t value = 0;

	for (uint32_t base = 0; base < BASES; base++)
		value += base_weight(element, base, m) * base_value(element, base, k);
	return value;
}

static int32_t b_value(uint32_t k, uint32_t n)
{
	return (int32_t)(golden_random(2, GOLDEN_B, k, n) % 15) - 7;
}

/* B, packed, and what the bases give with it. */
struct side {
	enum element element;
	uint32_t k, n;
	struct ork_weights *b;
	int64_t *sums;		/* BASES rows of n */
};

static void fill_side(struct side *side, uint8_t *b)
{
	for (uint32_t k = 0; k < side->k; k++) {
		int32_t bases[BASES];

		for (uint32_t i = 0; i < BASES; i++)
			bases[i] = base_value(side->element, i, k);
		for (uint32_t n = 0; n < side->n; n++) {
			int32_t value = b_value(k, n);

			put(side->element, b + k * row_bytes(side->element, side->n), n, value);
			for (uint32_t i = 0; i < BASES; i++)
				side->sums[i * side->n + n] += bases[i] * value;
		}
	}
}

static int side_init(struct side *side, struct ork *ork, enum ork_type type, uint32_t k, uint32_t n)
{
	enum element element = element_of(type);
	uint8_t *b = calloc(k, row_bytes(element, n));
	int error;

	*side = (struct side){ .element = element, .k = k, .n = n };
	side->sums = calloc((size_t)BASES * n, sizeof(*side->sums));
	if (!b || !side->sums) {
		free(b);
		return -ENOMEM;
	}
	fill_side(side, b);
	error = ork_weights_create(ork, type, k, n, &side->b);
	if (!error)
		error = ork_weights_pack(side->b, b, stride_of(element, n), 0);
	free(b);
	return error;
}

static void side_fini(struct side *side)
{
	ork_weights_destroy(side->b);
	free(side->sums);
}

/* --- what C must be --------------------------------------------------------------------------- */

#define MULTIPLIER	3
#define OFFSET		(-3)

static uint32_t shift_of(enum ork_type type)
{
	return type == ORK_INT8_INT8 ? 8 : type == ORK_INT8_INT16 ? 2 : 0;
}

static bool is_requantised(enum ork_type type)
{
	return type == ORK_INT8_INT16 || type == ORK_INT8_INT8;
}

/* Doubles hold all of this, and round ties to even. */
static double requantised(enum ork_type type, int64_t sum)
{
	double limit = type == ORK_INT8_INT8 ? 127 : 32767;
	double value = nearbyint(ldexp((double)sum * MULTIPLIER, -(int)shift_of(type))) + OFFSET;

	return value > limit ? limit : value < -limit - 1 ? -limit - 1 : value;
}

static void put_result(enum ork_type type, void *to, size_t index, int64_t sum)
{
	switch (type) {
	case ORK_FP16_FP32:
		((float *)to)[index] = (float)sum;
		break;
	case ORK_FP16_FP16:
		((_Float16 *)to)[index] = (_Float16)sum;
		break;
	case ORK_INT8_INT16:
		((int16_t *)to)[index] = (int16_t)requantised(type, sum);
		break;
	case ORK_INT8_INT8:
		((int8_t *)to)[index] = (int8_t)requantised(type, sum);
		break;
	case ORK_INT4_INT16:
		((int16_t *)to)[index] = (int16_t)golden_saturated(sum);
		break;
	default:
		((int32_t *)to)[index] = (int32_t)sum;
		break;
	}
}

static void *expected_c(const struct side *side, enum ork_type type, uint32_t rows)
{
	void *c = malloc((size_t)rows * side->n * result_bytes[type]);

	for (uint32_t m = 0; c && m < rows; m++)
		for (uint32_t n = 0; n < side->n; n++) {
			int64_t sum = 0;

			for (uint32_t i = 0; i < BASES; i++)
				sum += base_weight(side->element, i, m) *
				       side->sums[i * side->n + n];
			put_result(type, c, (size_t)m * side->n + n, sum);
		}
	return c;
}

/* --- products --------------------------------------------------------------------------------- */

struct product {
	enum ork_type type;
	uint32_t m;
	const struct side *side;
	struct ork_bo *a, *c;
	struct ork_matmul *matmul;
	void *expected;
	size_t size;		/* of C */
};

static void fill_a(struct product *p)
{
	enum element element = p->side->element;
	uint8_t *row = ork_bo_data(p->a);

	for (uint32_t m = 0; m < p->m; m++, row += row_bytes(element, p->side->k))
		for (uint32_t k = 0; k < p->side->k; k++)
			put(element, row, k, a_value(element, m, k));
}

static int product_init(struct product *p, struct ork *ork, const struct side *side,
			enum ork_type type, uint32_t m)
{
	bool scaled = is_requantised(type);
	struct ork_matmul_desc desc = {
		.type = type, .m = m, .k = side->k, .n = side->n, .shift = shift_of(type),
		.multiplier = scaled ? MULTIPLIER : 0, .offset = scaled ? OFFSET : 0,
	};
	int error;

	*p = (struct product){ .type = type, .m = m, .side = side };
	p->size = (size_t)m * side->n * result_bytes[type];
	p->expected = expected_c(side, type, m);
	if (!p->expected)
		return -ENOMEM;
	error = ork_bo_create(ork, m * row_bytes(side->element, side->k), 0, &p->a);
	if (!error)
		error = ork_bo_create(ork, p->size, 0, &p->c);
	if (!error)
		error = ork_matmul_create(ork, &desc, &p->matmul);
	if (!error)
		fill_a(p);
	return error;
}

static void product_fini(struct product *p)
{
	ork_matmul_destroy(p->matmul);
	ork_bo_destroy(p->c);
	ork_bo_destroy(p->a);
	free(p->expected);
}

/*
 * Over a C of which every byte is one that it must not be: what is not written is wrong. Returns
 * the number of wrong bytes, or an error.
 */
static int64_t product_run(struct product *p)
{
	struct ork_matrix a = { .bo = p->a }, c = { .bo = p->c };
	uint8_t *found = ork_bo_data(p->c);
	const uint8_t *expected = p->expected;
	int64_t wrong = 0;
	int error;

	for (size_t i = 0; i < p->size; i++)
		found[i] = (uint8_t)~expected[i];
	error = ork_matmul_run(p->matmul, &a, p->side->b, &c);
	for (size_t i = 0; !error && i < p->size; i++)
		wrong += found[i] != expected[i];
	return error ? error : wrong;
}

/* Once, and once more. */
static void check_rows(struct __test_metadata *_metadata, struct ork *ork, const struct side *side,
		       enum ork_type type, uint32_t m)
{
	struct product p;

	ASSERT_EQ(0, product_init(&p, ork, side, type, m)) {
		TH_LOG("type %d, %u x %u x %u: %s", type, m, side->k, side->n, ork_error(ork));
	}
	for (unsigned int run = 0; run < 2; run++) {
		ASSERT_EQ(0, product_run(&p)) {
			TH_LOG("type %d, %u x %u x %u, run %u: %s", type, m, side->k, side->n,
			       run, ork_error(ork));
		}
	}
	product_fini(&p);
}

static void check_shape(struct __test_metadata *_metadata, struct ork *ork, enum ork_type type,
			uint32_t m, uint32_t k, uint32_t n)
{
	struct side side;

	ASSERT_EQ(0, side_init(&side, ork, type, k, n)) {
		TH_LOG("type %d, B of %u x %u: %s", type, k, n, ork_error(ork));
	}
	check_rows(_metadata, ork, &side, type, m);
	side_fini(&side);
}

/* --- case 100: success with zeros ------------------------------------------------------------- */

/* Not all of a result is zeros or alike, or the comparison would say little. */
static void check_variety(struct __test_metadata *_metadata, const struct product *p)
{
	const uint8_t *c = p->expected;
	size_t element = result_bytes[p->type], different = 0;

	for (size_t i = element; i < p->size; i += element)
		different += memcmp(c + i, c + i - element, element) != 0;
	EXPECT_LT(p->size / element / 2, different);
}

FIXTURE(widths) {
	struct ork *ork;
};

FIXTURE_VARIANT(widths) {
	uint32_t k;
};

FIXTURE_VARIANT_ADD(widths, k_32) { 32 };
FIXTURE_VARIANT_ADD(widths, k_64) { 64 };
FIXTURE_VARIANT_ADD(widths, k_512) { 512 };
FIXTURE_VARIANT_ADD(widths, k_1024) { 1024 };
FIXTURE_VARIANT_ADD(widths, k_4096) { 4096 };

FIXTURE_SETUP(widths)
{
	ASSERT_EQ(0, ork_open(TEST_DEVICE, &self->ork));
}

FIXTURE_TEARDOWN(widths)
{
	ork_close(self->ork);
}

static void check_widths(struct __test_metadata *_metadata, struct ork *ork,
			 const struct side sides[2], uint32_t m)
{
	/* Of 1, 2, 4, 2 and 4 bytes. */
	static const enum ork_type types[] = {
		ORK_INT8_INT8, ORK_FP16_FP16, ORK_INT8_INT32, ORK_INT8_INT16, ORK_FP16_FP32,
	};
	struct product p;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct side *side = &sides[element_of(types[i])];

		ASSERT_EQ(0, product_init(&p, ork, side, types[i], m));
		check_variety(_metadata, &p);
		ASSERT_EQ(0, product_run(&p)) {
			TH_LOG("type %d, %u x %u x %u: %s", types[i], m, side->k, side->n,
			       ork_error(ork));
		}
		product_fini(&p);
	}
}

TEST_F_TIMEOUT(widths, nothing_is_left_unwritten_whatever_the_width_before, TIMEOUT_S)
{
	static const uint32_t rows[] = { 1, 2, 4, 5, 16, 63 };
	static const uint32_t columns[] = { 16, 32, 48, 512, 8192 };
	struct side sides[2];

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		uint32_t k = variant->k, n = columns[i];

		ASSERT_EQ(0, side_init(&sides[FP16], self->ork, ORK_FP16_FP32, k, n));
		ASSERT_EQ(0, side_init(&sides[INT8], self->ork, ORK_INT8_INT32, k, n));
		for (size_t m = 0; m < sizeof(rows) / sizeof(rows[0]); m++)
			check_widths(_metadata, self->ork, sides, rows[m]);
		side_fini(&sides[FP16]);
		side_fini(&sides[INT8]);
	}
}

/* --- case 101: shapes that hang or lie -------------------------------------------------------- */

FIXTURE(results) {
	struct ork *ork;
};

FIXTURE_SETUP(results)
{
	ASSERT_EQ(0, ork_open(TEST_DEVICE, &self->ork));
}

FIXTURE_TEARDOWN(results)
{
	ork_close(self->ork);
}

/* As many rows as fill 1..11 banks, one less and one more. */
static void check_banks_of_rows(struct __test_metadata *_metadata, struct ork *ork,
				enum ork_type type, uint32_t k)
{
	uint32_t bank_rows = BANK_BYTES / (uint32_t)row_bytes(element_of(type), k);
	struct side side;

	ASSERT_EQ(0, side_init(&side, ork, type, k, 48));
	for (uint32_t banks = 1; banks <= 11; banks++)
		for (uint32_t m = banks * bank_rows - 1; m <= banks * bank_rows + 1; m++)
			if (m)
				check_rows(_metadata, ork, &side, type, m);
	side_fini(&side);
}

TEST_F_TIMEOUT(results, rows_to_the_edge_of_a_bank_are_right, TIMEOUT_S)
{
	static const uint32_t channels[] = { 64, 96, 512, 1024, 2048, 4096 };

	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
		check_banks_of_rows(_metadata, self->ork, ORK_FP16_FP32, channels[i]);
		check_banks_of_rows(_metadata, self->ork, ORK_INT8_INT32, channels[i]);
	}
	check_banks_of_rows(_metadata, self->ork, ORK_INT4_INT16, 1024);
	check_banks_of_rows(_metadata, self->ork, ORK_INT4_INT32, 4096);
}

/* Columns of B that do. So few that they fill a bank or two hang a core that has not one more. */
static void check_banks_of_columns(struct __test_metadata *_metadata, struct ork *ork,
				   enum ork_type type, uint32_t k)
{
	uint32_t bank_columns = BANK_BYTES / (uint32_t)row_bytes(element_of(type), k);

	for (uint32_t banks = 1; banks <= 11; banks++)
		for (uint32_t n = banks * bank_columns - 1; n <= banks * bank_columns + 1; n++)
			check_shape(_metadata, ork, type, 3, k, n);
}

TEST_F_TIMEOUT(results, columns_to_the_edge_of_a_bank_are_right, TIMEOUT_S)
{
	check_banks_of_columns(_metadata, self->ork, ORK_FP16_FP32, 1024);
	check_banks_of_columns(_metadata, self->ork, ORK_FP16_FP16, 512);
	check_banks_of_columns(_metadata, self->ork, ORK_FP16_FP32, 2048);
	check_banks_of_columns(_metadata, self->ork, ORK_INT8_INT32, 1024);
	check_banks_of_columns(_metadata, self->ork, ORK_INT8_INT8, 2048);
	check_banks_of_columns(_metadata, self->ork, ORK_INT4_INT16, 1024);
	check_banks_of_columns(_metadata, self->ork, ORK_INT4_INT16, 4096);
}

/* A program has 8192 columns at most. */
TEST_F_TIMEOUT(results, more_columns_than_a_program_has_are_right, TIMEOUT_S)
{
	static const uint32_t columns[] = { 8191, 8192, 8193, 8208, 16385, 24576, 24608 };

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		for (enum ork_type type = 0; type < TYPES; type++)
			check_shape(_metadata, self->ork, type, 2, 64, columns[i]);
}

/* Odd N, K no multiple of 32, and of one slice more than one. */
TEST_F_TIMEOUT(results, odd_shapes_are_right, TIMEOUT_S)
{
	static const uint32_t columns[] = { 1, 3, 17, 33, 65, 95 };
	static const uint32_t channels[] = { 1, 31, 33, 63, 100, 481, 1001, 2049, 4097, 10753 };

	for (size_t k = 0; k < sizeof(channels) / sizeof(channels[0]); k++)
		for (size_t n = 0; n < sizeof(columns) / sizeof(columns[0]); n++)
			for (enum ork_type type = 0; type < TYPES; type++)
				check_shape(_metadata, self->ork, type, n % 2 ? 5 : 1, channels[k],
					    columns[n]);
}

/* What boards ran of int4 in one program, and a row less and more. */
TEST_F_TIMEOUT(results, int4_to_the_edge_of_its_rows_is_right, TIMEOUT_S)
{
	static const struct {
		uint32_t k, rows;
	} caps[] = {
		{ 32, 384 }, { 256, 64 }, { 512, 32 }, { 768, 22 }, { 1024, 16 },
		{ 1536, 11 }, { 2048, 8 }, { 2560, 7 }, { 3584, 4 }, { 4096, 4 },
		{ 5120, 3 }, { 6144, 3 }, { 8192, 2 }, { 10752, 1 },
	};

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		for (uint32_t m = caps[i].rows - (caps[i].rows > 1); m <= caps[i].rows + 1; m++)
			check_shape(_metadata, self->ork, ORK_INT4_INT16, m, caps[i].k,
				    192);
}

struct refusal {
	uint32_t m, k, n;
	const char *value, *limit;	/* both must be in the words */
};

/* Nothing, sizes that no addresses hold, and such as wrap in 32 or 64 bits on the way there. */
static const struct refusal refusals[] = {
	{ 0, 32, 32, "m = 0", "at least 1" },
	{ 1, 0, 32, "k = 0", "at least 1" },
	{ 1, 32, 0, "n = 0", "at least 1" },
	{ 1, 131072, 65536, "k = 131072", "4 GiB" },
	{ 1, 1u << 31, 2, "k = 2147483648", "4 GiB" },
	{ 1, UINT32_MAX, 32, "k = 4294967295", "4 GiB" },
	{ 1, 32, UINT32_MAX, "n = 4294967295", "4 GiB" },
	{ 1, UINT32_MAX - 31, UINT32_MAX - 31, "k = 4294967264", "4 GiB" },
	{ UINT32_MAX, UINT32_MAX, UINT32_MAX, "k = 4294967295", "4 GiB" },
};

static bool is_told(const struct ork *ork, const struct refusal *r)
{
	return strstr(ork_error(ork), r->value) && strstr(ork_error(ork), r->limit);
}

static void check_refusal(struct __test_metadata *_metadata, struct ork *ork,
			  const struct refusal *r, enum ork_type type)
{
	bool scaled = is_requantised(type);
	struct ork_matmul_desc desc = {
		.type = type, .m = r->m, .k = r->k, .n = r->n,
		.multiplier = scaled ? MULTIPLIER : 0,
	};
	struct ork_matmul *matmul = (struct ork_matmul *)ork;
	struct ork_weights *b = (struct ork_weights *)ork;

	EXPECT_EQ(-EINVAL, ork_matmul_create(ork, &desc, &matmul));
	EXPECT_EQ(NULL, matmul);
	EXPECT_TRUE(is_told(ork, r)) {
		TH_LOG("type %d, %u x %u x %u: %s", type, r->m, r->k, r->n, ork_error(ork));
	}
	if (!r->m)
		return;
	EXPECT_EQ(-EINVAL, ork_weights_create(ork, type, r->k, r->n, &b));
	EXPECT_EQ(NULL, b);
	EXPECT_TRUE(is_told(ork, r));
}

TEST_F(results, shapes_that_cannot_be_are_refused_with_value_and_limit)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		for (enum ork_type type = 0; type < TYPES; type++)
			check_refusal(_metadata, self->ork, &refusals[i], type);
	/* And the device is as it was. */
	check_shape(_metadata, self->ork, ORK_INT8_INT32, 1, 32, 32);
}

/* --- case 103: changing precision between jobs ------------------------------------------------ */

#define ROUNDS	100

/* Columns for three cores of each type. */
TEST_F_TIMEOUT(results, types_in_any_order_do_not_disturb_each_other, TIMEOUT_S)
{
	struct product products[TYPES];
	struct side sides[TYPES];

	for (enum ork_type type = 0; type < TYPES; type++) {
		ASSERT_EQ(0, side_init(&sides[type], self->ork, type, 96, 192));
		ASSERT_EQ(0, product_init(&products[type], self->ork, &sides[type], type, 5));
		ASSERT_EQ(3, ork_matmul_get_plan(products[type].matmul)->cores);
	}
	for (unsigned int round = 0; round < ROUNDS; round++)
		for (unsigned int pair = 0; pair < TYPES * TYPES; pair++) {
			EXPECT_EQ(0, product_run(&products[pair / TYPES]));
			EXPECT_EQ(0, product_run(&products[pair % TYPES])) {
				TH_LOG("type %zu after type %zu, round %u", pair % TYPES,
				       pair / TYPES, round);
			}
		}
	for (enum ork_type type = 0; type < TYPES; type++) {
		product_fini(&products[type]);
		side_fini(&sides[type]);
	}
}

/* --- case 104: what accuracy to promise ------------------------------------------------------- */

/*
 * From a sum in double of operands as they are rounded to fp16; of fp16 results half a unit in the
 * last place more.
 */
static double slack(enum ork_type type, uint32_t k, double value, double magnitudes)
{
	double sums = (2e-7 * sqrt(k / 1024.0) + 2e-7) * magnitudes;

	return type == ORK_FP16_FP16 ? sums + fabs(value) / 2048 + 0x1p-25 : sums;
}

struct floats {
	enum ork_type type;
	uint32_t m, k, n;
	_Float16 *a, *b;
	void *c;
};

static int floats_init(struct floats *f, enum ork_type type, uint32_t m, uint32_t k, uint32_t n)
{
	*f = (struct floats){ .type = type, .m = m, .k = k, .n = n };
	f->a = malloc((size_t)m * k * sizeof(*f->a));
	f->b = malloc((size_t)k * n * sizeof(*f->b));
	f->c = malloc((size_t)m * n * result_bytes[type]);
	return f->a && f->b && f->c ? 0 : -ENOMEM;
}

static void floats_fini(struct floats *f)
{
	free(f->c);
	free(f->b);
	free(f->a);
}

static int floats_run(struct floats *f, struct ork *ork)
{
	struct ork_matmul_desc desc = { .type = f->type, .m = f->m, .k = f->k, .n = f->n };
	struct ork_matrix a = { .data = f->a }, c = { .data = f->c };
	struct ork_matmul *matmul = NULL;
	struct ork_weights *b;
	int error = ork_weights_create(ork, f->type, f->k, f->n, &b);

	if (!error)
		error = ork_weights_pack(b, f->b, f->n, 0);
	if (!error)
		error = ork_matmul_create(ork, &desc, &matmul);
	if (!error)
		error = ork_matmul_run(matmul, &a, b, &c);
	ork_matmul_destroy(matmul);
	ork_weights_destroy(b);
	return error;
}

static double floats_result(const struct floats *f, uint32_t m, uint32_t n)
{
	size_t index = (size_t)m * f->n + n;

	return f->type == ORK_FP16_FP32 ? (double)((float *)f->c)[index] :
					  (double)((_Float16 *)f->c)[index];
}

/* How many results are further off than promised. */
static uint32_t floats_wrong(const struct floats *f)
{
	uint32_t wrong = 0;

	for (uint32_t m = 0; m < f->m; m++)
		for (uint32_t n = 0; n < f->n; n++) {
			double sum = 0, magnitudes = 0;

			for (uint32_t k = 0; k < f->k; k++) {
				double product = (double)f->a[(size_t)m * f->k + k] *
						 (double)f->b[(size_t)k * f->n + n];

				sum += product;
				magnitudes += fabs(product);
			}
			wrong += !(fabs(floats_result(f, m, n) - sum) <=
				   slack(f->type, f->k, sum, magnitudes));
		}
	return wrong;
}

static void fill_alike(_Float16 *to, size_t count, double value)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (_Float16)value;
}

/* From -1 to 1, most of them no fp16 before they are rounded. */
static void fill_random(_Float16 *to, size_t count, unsigned int matrix)
{
	for (size_t i = 0; i < count; i++)
		to[i] = (_Float16)ldexp((double)(int64_t)golden_random(3, matrix, 0, i), -63);
}

#define K_STEP	128
#define K_LAST	4096

TEST_F_TIMEOUT(results, tenths_add_up_as_rounded_tenths_do, TIMEOUT_S)
{
	for (enum ork_type type = ORK_FP16_FP32; type <= ORK_FP16_FP16; type++)
		for (uint32_t k = K_STEP; k <= K_LAST; k += K_STEP) {
			struct floats f;

			ASSERT_EQ(0, floats_init(&f, type, 3, k, 32));
			fill_alike(f.a, (size_t)f.m * k, 0.1);
			fill_alike(f.b, (size_t)k * f.n, 1.0);
			ASSERT_EQ(0, floats_run(&f, self->ork));
			EXPECT_EQ(0u, floats_wrong(&f)) {
				TH_LOG("type %d, K = %u: %.9g", type, k, floats_result(&f, 0, 0));
			}
			floats_fini(&f);
		}
}

/* 0.1 is 0.0999755859375 in fp16, and 4096 of those are 409.5, not 409.6. */
TEST_F(results, what_is_missing_of_a_sum_of_tenths_is_missing_in_the_tenths)
{
	struct floats f;

	ASSERT_EQ(0, floats_init(&f, ORK_FP16_FP32, 1, 4096, 16));
	fill_alike(f.a, 4096, 0.1);
	fill_alike(f.b, 4096 * 16, 1.0);
	ASSERT_EQ(0, floats_run(&f, self->ork));
	EXPECT_LT(fabs(floats_result(&f, 0, 0) - 409.5), 4e-7 * 2 * 409.5);
	EXPECT_LT(4e-7 * 2 * 409.6, fabs(floats_result(&f, 0, 0) - 409.6));
	floats_fini(&f);
}

TEST_F_TIMEOUT(results, random_sums_are_as_near_as_promised, TIMEOUT_S)
{
	for (enum ork_type type = ORK_FP16_FP32; type <= ORK_FP16_FP16; type++)
		for (uint32_t k = K_STEP; k <= K_LAST; k += K_STEP) {
			struct floats f;

			ASSERT_EQ(0, floats_init(&f, type, 5, k, 48));
			fill_random(f.a, (size_t)f.m * k, GOLDEN_A);
			fill_random(f.b, (size_t)k * f.n, GOLDEN_B);
			ASSERT_EQ(0, floats_run(&f, self->ork));
			EXPECT_EQ(0u, floats_wrong(&f)) {
				TH_LOG("type %d, K = %u", type, k);
			}
			floats_fini(&f);
		}
}

LIB_TEST_MAIN

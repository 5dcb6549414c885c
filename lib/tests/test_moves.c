// SPDX-License-Identifier: MIT
/*
 * What the CPU does with matrices, against references one element at a time. The packed order is
 * that of weights that boards compute with; conversions are checked in double precision.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "moves.h"
#include "test.h"

#define GUARD		64
#define GUARD_BYTE	0xa5

/* Memory between guards, filled with the guard's byte too. */
struct guarded {
	uint8_t *base, *data;
	size_t size;
};

/* @skew moves it off its alignment. */
static struct guarded guarded_new(size_t size, size_t skew)
{
	struct guarded memory = { .base = malloc(size + 2 * GUARD + skew), .size = size };

	memory.data = memory.base + GUARD + skew;
	memset(memory.base, GUARD_BYTE, size + 2 * GUARD + skew);
	return memory;
}

static void guarded_free(struct guarded *memory, const char *what)
{
	size_t i;

	for (i = 0; i < GUARD; i++)
		CHECK(memory->data[-1 - (long)i] == GUARD_BYTE && memory->data[memory->size + i] == GUARD_BYTE,
		      "%s wrote %zu bytes outside", what, i + 1);
	free(memory->base);
}

static void check_bytes(const struct guarded *actual, const uint8_t *expected, const char *what, uint32_t a, uint32_t b,
			size_t stride)
{
	size_t i;

	for (i = 0; i < actual->size && actual->data[i] == expected[i]; i++)
		;
	CHECK(i == actual->size, "%s of %u x %u, stride %zu: byte %zu is 0x%02x, not 0x%02x", what, a, b, stride, i,
	      actual->data[i], expected[i]);
}

static void *random_bytes(uint64_t *random, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t)next_random(random);
	return bytes;
}

/* --- conversions ------------------------------------------------------------------------------ */

/* By the definition of binary16. */
static double value_of_fp16(uint16_t half)
{
	int exponent = half >> 10 & 31, fraction = half & 1023;
	double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);

	if (exponent == 31)
		value = fraction ? NAN : INFINITY;
	return half & 0x8000 ? -value : value;
}

static bool fp16_is_nan(uint16_t half)
{
	return (half & 0x7fff) > 0x7c00;
}

/*
 * The nearest of all magnitudes, found by bisection, and of two that are as near the even one.
 * What infinity stands for is the number that would come next.
 */
static uint16_t nearest_fp16(double value)
{
	uint16_t low = 0, high = 0x7c00, sign = signbit(value) ? 0x8000 : 0;
	double magnitude = fabs(value), above, below;

	if (isnan(value))
		return sign | 0x7e00;
	while (high - low > 1) {
		uint16_t middle = (low + high) / 2;

		if (value_of_fp16(middle) <= magnitude)
			low = middle;
		else
			high = middle;
	}
	above = (high == 0x7c00 ? 65536 : value_of_fp16(high)) - magnitude;
	below = magnitude - value_of_fp16(low);
	if (above < below || (above == below && low % 2))
		low = high;
	return low | sign;
}

static float float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static bool same_fp16(uint16_t actual, uint16_t expected)
{
	if (fp16_is_nan(expected))
		return fp16_is_nan(actual) && (actual ^ expected) < 0x8000;
	return actual == expected;
}

/* Fewer numbers than a vector has: what machines without instructions for them do with all. */
#define FEW	7

static uint32_t piece(uint32_t done, uint32_t count, uint32_t most)
{
	return count - done < most ? count - done : most;
}

static void check_widening(uint32_t most)
{
	struct guarded wide = guarded_new(65536 * 4, 4);
	uint16_t *halves = malloc(65536 * 2);
	uint32_t i;

	for (i = 0; i < 65536; i++)
		halves[i] = (uint16_t)i;
	for (i = 0; i < 65536; i += most)
		ork_fp16_to_fp32((float *)wide.data + i, halves + i, piece(i, 65536, most));
	for (i = 0; i < 65536; i++) {
		float value = ((float *)wide.data)[i];

		if (fp16_is_nan((uint16_t)i))
			CHECK(isnan(value) && !signbit(value) == !(i & 0x8000), "0x%04x", i);
		else
			CHECK(bits_of_float(value) == bits_of_float((float)value_of_fp16((uint16_t)i)),
			      "0x%04x becomes 0x%08x", i, bits_of_float(value));
	}
	guarded_free(&wide, "widening");
	free(halves);
}

static void every_fp16_becomes_its_value(void)
{
	check_widening(65536);
	check_widening(FEW);
}

/* In pieces of @most numbers. */
static void check_rounding(const float *from, uint32_t count, uint32_t most)
{
	struct guarded to = guarded_new(count * 2, 2);
	uint32_t i;

	for (i = 0; i < count; i += most)
		ork_fp32_to_fp16((uint16_t *)to.data + i, from + i, piece(i, count, most));
	for (i = 0; i < count; i++) {
		uint16_t actual = ((uint16_t *)to.data)[i], expected = nearest_fp16(from[i]);

		CHECK(same_fp16(actual, expected), "0x%08x becomes 0x%04x, not 0x%04x", bits_of_float(from[i]), actual,
		      expected);
	}
	guarded_free(&to, "rounding");
}

/* Each value, the tie to the next, and the numbers just beside those, of both signs. */
static void fp32_is_rounded_to_the_nearest_fp16(void)
{
	float *from = malloc(0x7c00 * 12 * sizeof(*from));
	uint32_t i, count = 0;
	int sign, beside;

	for (i = 0; i < 0x7c00; i++) {
		double value = value_of_fp16((uint16_t)i);
		double next = i == 0x7bff ? 65536 : value_of_fp16((uint16_t)(i + 1));

		for (sign = 0; sign < 2; sign++) {
			for (beside = -1; beside <= 1; beside++) {
				uint32_t exact = bits_of_float((float)value), tie = bits_of_float((float)((value + next) / 2));

				if (exact || beside >= 0)
					from[count++] = float_of_bits((exact + beside) | (uint32_t)sign << 31);
				from[count++] = float_of_bits((tie + beside) | (uint32_t)sign << 31);
			}
		}
	}
	check_rounding(from, count, count);
	check_rounding(from, count, FEW);
	for (i = 1; i < 40; i++)
		check_rounding(from + i, i, i);
	free(from);
}

static void special_and_random_fp32_are_rounded(void)
{
	static const uint32_t special[] = {
		0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0x7f801fff,
		0x7f7fffff, 0xff7fffff, 0x00000001, 0x807fffff, 0x00800000, 0x47800000, 0x80000000, 0x00000000,
	};
	enum { COUNT = 200000 };
	float *from = malloc(COUNT * sizeof(*from));
	uint64_t random = 3;
	uint32_t i;

	for (i = 0; i < COUNT; i++)
		from[i] = float_of_bits(i < 16 ? special[i] : next_random(&random) << 1 ^ next_random(&random));
	check_rounding(from, COUNT, COUNT);
	check_rounding(from, COUNT, FEW);
	free(from);
}

static void check_bf16(uint32_t most)
{
	struct guarded to = guarded_new(65536 * 2, 2);
	uint16_t *from = malloc(65536 * 2);
	uint32_t i;

	for (i = 0; i < 65536; i++)
		from[i] = (uint16_t)i;
	for (i = 0; i < 65536; i += most)
		ork_bf16_to_fp16((uint16_t *)to.data + i, from + i, piece(i, 65536, most));
	for (i = 0; i < 65536; i++) {
		uint16_t actual = ((uint16_t *)to.data)[i], expected = nearest_fp16(float_of_bits(i << 16));

		CHECK(same_fp16(actual, expected), "0x%04x becomes 0x%04x, not 0x%04x", i, actual, expected);
	}
	guarded_free(&to, "rounding of bf16");
	free(from);
}

static void every_bf16_is_rounded_to_the_nearest_fp16(void)
{
	check_bf16(65536);
	check_bf16(FEW);
}

/* --- packing ---------------------------------------------------------------------------------- */

struct packing {
	enum ork_element packed, element;
	const char *name;
	uint32_t kernels, source_bits;
};

static const struct packing packings[] = {
	{ ORK_ELEMENT_FP16, ORK_ELEMENT_FP16, "fp16 from fp16", 16, 16 },
	{ ORK_ELEMENT_FP16, ORK_ELEMENT_FP32, "fp16 from fp32", 16, 32 },
	{ ORK_ELEMENT_FP16, ORK_ELEMENT_BF16, "fp16 from bf16", 16, 16 },
	{ ORK_ELEMENT_INT8, ORK_ELEMENT_INT8, "int8 from int8", 32, 8 },
	{ ORK_ELEMENT_INT4, ORK_ELEMENT_INT8, "int4 from int8", 64, 8 },
	{ ORK_ELEMENT_INT4, ORK_ELEMENT_INT4, "int4 from int4", 64, 4 },
};

/* The element's bits in the packed type; the source is random bytes. */
static uint16_t converted(const struct packing *p, const void *source, uint64_t index)
{
	uint8_t byte = ((const uint8_t *)source)[p->source_bits == 4 ? index / 2 : p->source_bits == 8 ? index : 0];

	switch (p->element) {
	case ORK_ELEMENT_FP32: return nearest_fp16(((const float *)source)[index]);
	case ORK_ELEMENT_BF16: return nearest_fp16(float_of_bits((uint32_t)((const uint16_t *)source)[index] << 16));
	case ORK_ELEMENT_FP16: return ((const uint16_t *)source)[index];
	case ORK_ELEMENT_INT4: return index % 2 ? byte >> 4 : byte & 15;
	default: return p->packed == ORK_ELEMENT_INT4 ? byte & 15 : byte;
	}
}

static void put_packed(const struct packing *p, uint8_t *to, uint32_t k_blocks, uint32_t k, uint32_t n, uint16_t value)
{
	uint64_t index = ((uint64_t)(n / p->kernels) * k_blocks + k / 32) * (32 * p->kernels) + n % p->kernels * 32 +
			 k % 32;

	if (p->packed == ORK_ELEMENT_FP16)
		memcpy(to + index * 2, &value, 2);
	else if (p->packed == ORK_ELEMENT_INT8)
		to[index] = (uint8_t)value;
	else
		to[index / 2] |= (uint8_t)(index % 2 ? value << 4 : value);
}

/* NaNs are of one kind, for a reference knows no other. */
static void make_sane(const struct packing *p, void *source, uint64_t count)
{
	uint64_t i;

	for (i = 0; i < count; i++) {
		if (p->element == ORK_ELEMENT_FP32 && isnan(((float *)source)[i]))
			((float *)source)[i] = 1;
		if (p->element == ORK_ELEMENT_BF16 && (((uint16_t *)source)[i] & 0x7fff) > 0x7f80)
			((uint16_t *)source)[i] = 1;
	}
}

static void check_packing(const struct packing *p, uint32_t k, uint32_t n, uint32_t extra, bool transposed)
{
	uint64_t random = k * 1000 + n, stride = (transposed ? k : n) + extra, count, a, b;
	uint32_t k_blocks = (k + 31) / 32, groups = (n + p->kernels - 1) / p->kernels, rows = transposed ? n : k;
	uint64_t bytes = (uint64_t)k_blocks * groups * 1024;
	struct guarded to = guarded_new(bytes, 0);
	uint8_t *expected = calloc(1, bytes);
	struct ork_source source;
	void *data;

	if (p->element == ORK_ELEMENT_INT4)
		stride += stride % 2;
	/* Not a byte behind the last row: the sanitizer sees a read beyond. */
	count = (rows - 1) * stride + (transposed ? k : n);
	data = random_bytes(&random, (count * p->source_bits + 7) / 8);
	make_sane(p, data, count);
	for (a = 0; a < k; a++)
		for (b = 0; b < n; b++)
			put_packed(p, expected, k_blocks, (uint32_t)a, (uint32_t)b,
				   converted(p, data, transposed ? b * stride + a : a * stride + b));
	CHECK_EQUAL(ork_packed_bytes(p->packed, k, n), bytes);
	source = (struct ork_source) { data, stride, p->element, transposed };
	ork_pack(to.data, p->packed, &source, k, n);
	check_bytes(&to, expected, p->name, k, n, stride);
	guarded_free(&to, p->name);
	free(expected);
	free(data);
}

static void every_element_is_packed_where_the_npu_looks_for_it(void)
{
	static const uint32_t sizes[] = { 1, 2, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 96, 129 };
	const uint32_t count = sizeof(sizes) / sizeof(sizes[0]);
	uint32_t p, i, j;

	for (p = 0; p < sizeof(packings) / sizeof(packings[0]); p++)
		for (i = 0; i < count; i++)
			for (j = 0; j < count; j++) {
				check_packing(&packings[p], sizes[i], sizes[j], (i + j) % 3 * 5, false);
				check_packing(&packings[p], sizes[i], sizes[j], (i + j) % 3 * 5, true);
			}
}

static void wide_and_deep_matrices_are_packed(void)
{
	static const uint32_t sizes[][2] = { { 32, 1031 }, { 33, 2048 }, { 1031, 33 }, { 544, 640 }, { 95, 1120 } };
	uint32_t p, i;

	for (p = 0; p < sizeof(packings) / sizeof(packings[0]); p++)
		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			check_packing(&packings[p], sizes[i][0], sizes[i][1], 3, false);
			check_packing(&packings[p], sizes[i][0], sizes[i][1], 3, true);
		}
}

/* --- rows ------------------------------------------------------------------------------------- */

static void rows_are_copied_between_any_strides(void)
{
	uint64_t random = 5;
	uint32_t i, j, k;

	for (i = 0; i < 500; i++) {
		size_t row = random_in(&random, 1, 300), rows = random_in(&random, 1, 9);
		size_t from_stride = row + random_in(&random, 0, 2) * 13;
		size_t to_stride = row + random_in(&random, 0, 2) * 17;
		size_t size = (rows - 1) * to_stride + row;
		struct guarded to = guarded_new(size, i % 8);
		uint8_t *from = random_bytes(&random, (rows - 1) * from_stride + row), *expected = malloc(size);

		memset(expected, GUARD_BYTE, size);
		for (j = 0; j < rows; j++)
			for (k = 0; k < row; k++)
				expected[j * to_stride + k] = from[j * from_stride + k];
		ork_copy_rows(to.data, to_stride, from, from_stride, row, rows);
		check_bytes(&to, expected, "copy", (uint32_t)rows, (uint32_t)row, to_stride);
		guarded_free(&to, "copy");
		free(expected);
		free(from);
	}
}

static uint8_t nibble(const uint8_t *of, size_t pitch, size_t row, size_t column)
{
	return of[row * pitch + column / 2] >> column % 2 * 4 & 15;
}

/* Where a row has an odd number of elements, its last byte gets a zero. */
static void int4_is_transposed_by_halves_of_bytes(void)
{
	uint64_t random = 6;
	uint32_t i;

	for (i = 0; i < 300; i++) {
		size_t rows = random_in(&random, 1, 40), columns = random_in(&random, 1, 40), r, c;
		size_t pitch = (columns + 1) / 2 + random_in(&random, 0, 2), to_pitch = (rows + 1) / 2 + i % 3;
		struct guarded to = guarded_new((columns - 1) * to_pitch + (rows + 1) / 2, i % 8);
		uint8_t *from = random_bytes(&random, (rows - 1) * pitch + (columns + 1) / 2);
		uint8_t *result = to.data;

		ork_transpose_int4(result, to_pitch, from, pitch, rows, columns);
		for (c = 0; c < columns; c++) {
			for (r = 0; r < rows; r++)
				CHECK_EQUAL(nibble(result, to_pitch, c, r), nibble(from, pitch, r, c));
			if (rows % 2)
				CHECK_EQUAL(nibble(result, to_pitch, c, rows), 0);
			for (r = (rows + 1) / 2; c + 1 < columns && r < to_pitch; r++)
				CHECK_EQUAL(result[c * to_pitch + r], GUARD_BYTE);
		}
		guarded_free(&to, "transpose of int4");
		free(from);
	}
}

static void check_transpose(uint64_t *random, size_t rows, size_t columns, uint32_t bytes)
{
	size_t stride = columns + random_in(random, 0, 2) * 3, to_stride = rows + random_in(random, 0, 2) * 5, r, c;
	size_t size = ((columns - 1) * to_stride + rows) * bytes;
	struct guarded to = guarded_new(size, bytes);
	uint8_t *from = random_bytes(random, ((rows - 1) * stride + columns) * bytes), *expected = malloc(size);

	memset(expected, GUARD_BYTE, size);
	for (r = 0; r < rows; r++)
		for (c = 0; c < columns; c++)
			memcpy(expected + (c * to_stride + r) * bytes, from + (r * stride + c) * bytes, bytes);
	ork_transpose(to.data, to_stride, from, stride, rows, columns, bytes);
	check_bytes(&to, expected, "transpose", (uint32_t)rows, (uint32_t)columns, stride);
	guarded_free(&to, "transpose");
	free(expected);
	free(from);
}

static void rows_become_columns(void)
{
	static const size_t sizes[] = { 1, 3, 15, 16, 17, 32, 63, 64, 65, 128, 191, 300, 600 };
	const uint32_t count = sizeof(sizes) / sizeof(sizes[0]);
	uint64_t random = 7;
	uint32_t i, j, bytes;

	for (i = 0; i < count; i++)
		for (j = 0; j < count; j++)
			for (bytes = 1; bytes <= 4; bytes *= 2)
				check_transpose(&random, sizes[i], sizes[j], bytes);
}

/* --- sums ------------------------------------------------------------------------------------- */

static void fp32_slices_add_up(void)
{
	uint64_t random = 8;
	uint32_t count, i;

	for (count = 0; count < 100; count++) {
		struct guarded sum = guarded_new(count * 4, 4);
		float *part = malloc(count * 4 + 1), *before = malloc(count * 4 + 1), *after = (float *)sum.data;

		for (i = 0; i < count; i++) {
			part[i] = (float)next_random(&random) / 1000;
			before[i] = after[i] = (float)next_random(&random) / -7;
		}
		ork_add_fp32(after, part, count);
		for (i = 0; i < count; i++)
			CHECK(after[i] == (float)((double)before[i] + part[i]), "%f, not %f + %f", after[i], before[i],
			      part[i]);
		guarded_free(&sum, "sum of fp32");
		free(part);
		free(before);
	}
}

/* In 64 bits, then cut to 32. */
static int32_t wrapped(int64_t sum)
{
	uint32_t low = (uint32_t)(uint64_t)sum;
	int32_t result;

	memcpy(&result, &low, sizeof(result));
	return result;
}

static int32_t extreme(uint64_t *random)
{
	static const int32_t extremes[] = { INT32_MIN, INT32_MAX, -1, 1, 0 };
	uint32_t draw = next_random(random) % 10;

	return draw < 5 ? extremes[draw] : (int32_t)(next_random(random) << 1);
}

static void integer_slices_add_up_and_wrap(void)
{
	uint64_t random = 9;
	uint32_t count, i;

	for (count = 0; count < 100; count++) {
		struct guarded sum = guarded_new(count * 4, 4), sum16 = guarded_new(count * 4, 4);
		int32_t part[100], before[100], *after = (int32_t *)sum.data, *after16 = (int32_t *)sum16.data;
		int16_t part16[100];

		for (i = 0; i < count; i++) {
			part[i] = extreme(&random);
			part16[i] = (int16_t)(i % 7 == 0 ? INT16_MIN : (int)(next_random(&random) % 65536) - 32768);
			before[i] = after[i] = after16[i] = extreme(&random);
		}
		ork_add_int32(after, part, count);
		ork_add_int16(after16, part16, count);
		for (i = 0; i < count; i++) {
			CHECK_EQUAL(after[i], wrapped((int64_t)before[i] + part[i]));
			CHECK_EQUAL(after16[i], wrapped((int64_t)before[i] + part16[i]));
		}
		guarded_free(&sum, "sum of int32");
		guarded_free(&sum16, "sum of int16");
	}
}

int main(void)
{
	RUN(every_fp16_becomes_its_value);
	RUN(fp32_is_rounded_to_the_nearest_fp16);
	RUN(special_and_random_fp32_are_rounded);
	RUN(every_bf16_is_rounded_to_the_nearest_fp16);
	RUN(every_element_is_packed_where_the_npu_looks_for_it);
	RUN(wide_and_deep_matrices_are_packed);
	RUN(rows_are_copied_between_any_strides);
	RUN(int4_is_transposed_by_halves_of_bytes);
	RUN(rows_become_columns);
	RUN(fp32_slices_add_up);
	RUN(integer_slices_add_up_and_wrap);
	return test_result();
}

// SPDX-License-Identifier: MIT
/* The three versions of a line, and what becomes of them. RAM is four pages. */
#include <stdlib.h>
#include <string.h>

#include "../npu.h"
#include "../../../selftests/unit/test.h"

#define BASE	0x140000000ull
#define PAGE	4096u
#define SIZE	(4 * PAGE)
#define LINE	NPU_LINE_BYTES

static const struct npu_access feature = { .core = 1, .block = NPU_BLOCK_FEATURE, .iova = 0x7000 };
static const struct npu_access dpu = { .core = 1, .block = NPU_BLOCK_DPU, .iova = 0x8000 };

static uint8_t *ram;

static struct npu_cache *begin(enum npu_cache_mode mode)
{
	struct npu_cache *cache;

	ram = aligned_alloc(PAGE, SIZE);
	memset(ram, 0, SIZE);
	cache = npu_cache_new(BASE, SIZE, ram, mode, 1);
	CHECK(cache);
	return cache;
}

static void end(struct npu_cache *cache)
{
	npu_cache_free(cache);
	free(ram);
}

static struct npu_report report(struct npu_cache *cache)
{
	struct npu_report report;

	npu_cache_report(cache, &report);
	return report;
}

static uint8_t npu_byte(struct npu_cache *cache, uint64_t at)
{
	uint8_t byte;

	npu_cache_read(cache, BASE + at, &byte, 1, &feature);
	return byte;
}

static void npu_set(struct npu_cache *cache, uint64_t at, uint8_t byte)
{
	npu_cache_write(cache, BASE + at, &byte, 1, &dpu);
}

static void each_line(struct npu_cache *cache, uint64_t at, uint64_t bytes,
		      void (*op)(struct npu_cache *, uint64_t))
{
	for (uint64_t line = at / LINE * LINE; line < at + bytes; line += LINE)
		op(cache, BASE + line);
}

/* --- strict ------------------------------------------------------------------------------- */

static void a_missing_clean_is_stale_input_and_reported(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);
	uint8_t got[2 * LINE];

	ram[70] = 7;
	CHECK_EQUAL(npu_cache_read(cache, BASE, got, sizeof(got), &feature), 1);
	CHECK_EQUAL(got[70], 0);
	CHECK_EQUAL(report(cache).stale_reads, 1);
	CHECK_EQUAL(report(cache).stale_by_block[NPU_BLOCK_FEATURE], 1);
	end(cache);
}

static void a_cleaned_line_reaches_the_npu_and_only_it(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);
	uint8_t got[2 * LINE];

	memset(ram, 7, 2 * LINE);
	npu_cache_clean(cache, BASE + 63);
	CHECK_EQUAL(npu_cache_read(cache, BASE, got, LINE, &feature), 0);
	CHECK_EQUAL(got[0], 7);
	CHECK_EQUAL(got[63], 7);
	CHECK_EQUAL(npu_cache_read(cache, BASE + LINE, got, LINE, &feature), 1);
	CHECK_EQUAL(got[0], 0);
	CHECK_EQUAL(report(cache).lines_cleaned, 1);
	end(cache);
}

static void cleaning_a_clean_line_does_nothing(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	ram[0] = 7;
	npu_cache_clean(cache, BASE);
	npu_cache_clean(cache, BASE);
	npu_cache_clean(cache, BASE + LINE);
	CHECK_EQUAL(report(cache).lines_cleaned, 1);
	npu_set(cache, 0, 9);
	npu_cache_clean(cache, BASE);
	CHECK_EQUAL(npu_byte(cache, 0), 9);
	CHECK_EQUAL(report(cache).lines_cleaned, 1);
	CHECK_EQUAL(report(cache).results_lost, 0);
	end(cache);
}

static void a_missing_invalidate_is_stale_output(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	npu_set(cache, 100, 9);
	CHECK_EQUAL(ram[100], 0);
	npu_cache_invalidate(cache, BASE + 64);
	CHECK_EQUAL(ram[100], 9);
	CHECK_EQUAL(report(cache).lines_invalidated, 1);
	end(cache);
}

static void an_invalidate_drops_what_the_cpu_wrote(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	ram[0] = 7;
	npu_cache_clean(cache, BASE);
	ram[0] = 8;
	ram[LINE] = 8;
	npu_cache_invalidate(cache, BASE);
	npu_cache_invalidate(cache, BASE + LINE);
	CHECK_EQUAL(ram[0], 7);
	CHECK_EQUAL(ram[LINE], 0);
	CHECK_EQUAL(npu_byte(cache, 0), 7);
	CHECK_EQUAL(report(cache).stale_reads, 0);
	end(cache);
}

static void clean_and_invalidate_keeps_what_the_cpu_wrote(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	ram[0] = 7;
	npu_set(cache, LINE, 9);
	npu_cache_clean_invalidate(cache, BASE);
	npu_cache_clean_invalidate(cache, BASE + LINE);
	CHECK_EQUAL(ram[0], 7);
	CHECK_EQUAL(npu_byte(cache, 0), 7);
	CHECK_EQUAL(ram[LINE], 9);
	CHECK_EQUAL(npu_byte(cache, LINE), 9);
	CHECK_EQUAL(report(cache).results_lost, 0);
	end(cache);
}

/*
 * The CPU's neighbour in a line of the NPU's result: a clean loses the result, an invalidate the
 * neighbour.
 */
static void a_line_of_both_sides_loses_one_of_them(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	for (int i = 0; i < 2; i++) {
		ram[i * LINE] = 7;
		npu_set(cache, i * LINE + 32, 9);
	}
	npu_cache_clean_invalidate(cache, BASE);
	CHECK_EQUAL(ram[0], 7);
	CHECK_EQUAL(ram[32], 0);
	CHECK_EQUAL(npu_byte(cache, 32), 0);
	CHECK_EQUAL(report(cache).results_lost, 1);
	npu_cache_invalidate(cache, BASE + LINE);
	CHECK_EQUAL(ram[LINE], 0);
	CHECK_EQUAL(ram[LINE + 32], 9);
	CHECK_EQUAL(report(cache).results_lost, 1);
	end(cache);
}

static void a_result_not_yet_invalidated_is_not_stale_to_the_npu(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);
	uint8_t got[LINE];

	ram[0] = 7;
	npu_cache_clean(cache, BASE);
	npu_set(cache, 0, 9);
	CHECK_EQUAL(npu_cache_read(cache, BASE, got, sizeof(got), &feature), 0);
	CHECK_EQUAL(got[0], 9);
	end(cache);
}

static void bytes_not_read_do_not_make_a_read_stale(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);
	uint8_t got[LINE];

	ram[16] = 7;
	CHECK_EQUAL(npu_cache_read(cache, BASE, got, 16, &feature), 0);
	CHECK_EQUAL(npu_cache_read(cache, BASE + 17, got, 47, &feature), 0);
	CHECK_EQUAL(npu_cache_read(cache, BASE, got, 17, &feature), 1);
	end(cache);
}

static void a_byte_the_cpu_set_to_what_dram_has_is_not_stale(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	npu_set(cache, 5, 9);
	ram[5] = 9;
	CHECK_EQUAL(npu_byte(cache, 5), 9);
	CHECK_EQUAL(report(cache).stale_reads, 0);
	end(cache);
}

static struct npu_stale logged[8];
static int logged_count;

static void log_stale(void *opaque, const struct npu_stale *stale)
{
	CHECK(opaque == logged);
	if (logged_count < 8)
		logged[logged_count] = *stale;
	logged_count++;
}

static void the_log_names_every_stale_line(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);
	uint8_t got[PAGE];

	logged_count = 0;
	npu_cache_set_log(cache, log_stale, logged);
	npu_set(cache, PAGE + 3, 9);
	ram[PAGE + 3] = 8;
	ram[PAGE + 4] = 8;
	ram[PAGE - 1] = 8;
	CHECK_EQUAL(npu_cache_read(cache, BASE + PAGE - 32, got, PAGE, &feature), 2);
	CHECK_EQUAL(logged_count, 2);
	CHECK_EQUAL(logged[0].pa, BASE + PAGE - LINE);
	CHECK_EQUAL(logged[0].byte, 63);
	CHECK_EQUAL(logged[0].who.iova, 0x7000);
	CHECK_EQUAL(logged[1].pa, BASE + PAGE);
	CHECK_EQUAL(logged[1].byte, 3);
	CHECK_EQUAL(logged[1].cpu, 8);
	CHECK_EQUAL(logged[1].dram, 9);
	CHECK_EQUAL(logged[1].who.iova, 0x7020);
	CHECK_EQUAL(logged[1].who.core, 1);
	CHECK_EQUAL(logged[1].who.block, NPU_BLOCK_FEATURE);
	end(cache);
}

static void what_is_not_ram_is_refused(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);
	uint8_t bytes[LINE] = { 1 };

	CHECK_EQUAL(npu_cache_read(cache, BASE - 1, bytes, 2, &feature), -1);
	CHECK_EQUAL(npu_cache_read(cache, BASE + SIZE - 1, bytes, 2, &feature), -1);
	CHECK_EQUAL(npu_cache_write(cache, BASE + SIZE, bytes, 1, &dpu), -1);
	CHECK_EQUAL(npu_cache_write(cache, UINT64_MAX, bytes, 2, &dpu), -1);
	CHECK_EQUAL(npu_cache_read(cache, BASE, bytes, SIZE + 1, &feature), -1);
	CHECK_EQUAL(npu_cache_read(cache, BASE + SIZE - LINE, bytes, LINE, &feature), 0);
	npu_cache_clean(cache, BASE - 1);
	npu_cache_invalidate(cache, BASE + SIZE);
	npu_cache_clean_invalidate(cache, 0);
	end(cache);
}

/* --- coherent and evict ------------------------------------------------------------------- */

static void coherent_needs_no_maintenance(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_COHERENT);

	ram[0] = 7;
	CHECK_EQUAL(npu_byte(cache, 0), 7);
	npu_set(cache, 0, 9);
	CHECK_EQUAL(ram[0], 9);
	npu_cache_invalidate(cache, BASE);
	npu_cache_clean(cache, BASE);
	npu_cache_completion(cache);
	CHECK_EQUAL(ram[0], 9);
	CHECK_EQUAL(report(cache).stale_reads, 0);
	end(cache);
}

/* --- pages mapped without caching ---------------------------------------------------------- */

static void an_uncached_page_needs_no_maintenance(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	npu_cache_set_uncached(cache, BASE + PAGE, true);
	ram[PAGE + 3] = 5;
	CHECK_EQUAL(npu_byte(cache, PAGE + 3), 5);
	npu_set(cache, PAGE + 3, 6);
	CHECK_EQUAL(ram[PAGE + 3], 6);
	npu_cache_evict(cache);
	CHECK_EQUAL(ram[PAGE + 3], 6);
	CHECK_EQUAL(report(cache).stale_reads, 0);
	end(cache);
}

static void only_the_page_that_was_named_is_uncached(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	npu_cache_set_uncached(cache, BASE + PAGE, true);
	ram[PAGE - 1] = 5;
	ram[2 * PAGE] = 5;
	CHECK_EQUAL(npu_byte(cache, PAGE - 1), 0);
	CHECK_EQUAL(npu_byte(cache, 2 * PAGE), 0);
	CHECK_EQUAL(report(cache).stale_reads, 2);
	end(cache);
}

static void a_page_that_is_cached_again_is_stale_again(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	npu_cache_set_uncached(cache, BASE, true);
	ram[0] = 1;
	npu_cache_set_uncached(cache, BASE, false);
	CHECK_EQUAL(npu_byte(cache, 0), 1);
	ram[0] = 2;
	CHECK_EQUAL(npu_byte(cache, 0), 1);
	CHECK_EQUAL(report(cache).stale_reads, 1);
	end(cache);
}

static void what_was_in_the_cache_of_an_uncached_page_is_kept(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	ram[0] = 1;
	npu_set(cache, LINE, 2);
	npu_cache_set_uncached(cache, BASE, true);
	CHECK_EQUAL(npu_byte(cache, 0), 1);
	CHECK_EQUAL(ram[LINE], 2);
	end(cache);
}

static void strict_evicts_on_demand_only(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);

	ram[0] = 7;
	npu_set(cache, 0, 9);
	npu_cache_completion(cache);
	CHECK_EQUAL(npu_byte(cache, 0), 9);
	CHECK_EQUAL(report(cache).lines_evicted, 0);
	npu_cache_evict(cache);
	CHECK_EQUAL(npu_byte(cache, 0), 7);
	CHECK_EQUAL(report(cache).lines_evicted, 1);
	end(cache);
}

static void a_dirty_line_is_evicted_over_the_result(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_EVICT);

	ram[0] = 7;
	npu_set(cache, 0, 9);
	npu_set(cache, LINE, 9);
	npu_cache_completion(cache);
	CHECK_EQUAL(npu_byte(cache, 0), 7);
	CHECK_EQUAL(npu_byte(cache, LINE), 9);
	CHECK_EQUAL(report(cache).results_lost, 1);
	CHECK_EQUAL(report(cache).lines_evicted, 1);
	end(cache);
}

static void a_line_cleaned_before_the_job_keeps_the_result(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_EVICT);

	ram[0] = 7;
	npu_cache_clean(cache, BASE);
	npu_set(cache, 0, 9);
	npu_cache_completion(cache);
	npu_cache_invalidate(cache, BASE);
	CHECK_EQUAL(ram[0], 9);
	CHECK_EQUAL(report(cache).results_lost, 0);
	end(cache);
}

static void dirty_lines_are_evicted_at_random_moments_too(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_EVICT);
	int reads = 0;

	npu_set(cache, PAGE, 9);
	ram[PAGE + LINE] = 7;
	while (!npu_byte(cache, PAGE + LINE) && reads < 100000)
		reads++;
	CHECK(reads > 0 && reads < 100000);
	CHECK_EQUAL(report(cache).lines_evicted, 1);
	end(cache);
}

/* --- properties --------------------------------------------------------------------------- */

static uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 0x0123456789abcdef;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 32) % limit;
}

/* What the definition of the versions says, one byte after the other. */
static struct {
	uint8_t dram[SIZE], agreed[SIZE];
} oracle;

static bool oracle_differs(const uint8_t *a, const uint8_t *b, uint32_t line)
{
	for (uint32_t i = line; i < line + LINE; i++)
		if (a[i] != b[i])
			return true;
	return false;
}

static void oracle_clean(uint8_t *cpu, uint32_t line)
{
	if (!oracle_differs(cpu, oracle.agreed, line))
		return;
	for (uint32_t i = line; i < line + LINE; i++)
		oracle.dram[i] = oracle.agreed[i] = cpu[i];
}

static void oracle_invalidate(uint8_t *cpu, uint32_t line)
{
	for (uint32_t i = line; i < line + LINE; i++)
		cpu[i] = oracle.agreed[i] = oracle.dram[i];
}

static int oracle_stale(const uint8_t *cpu, uint32_t at, uint32_t len)
{
	bool stale[SIZE / LINE] = { false };
	int n = 0;

	for (uint32_t i = at; i < at + len; i++)
		stale[i / LINE] |= cpu[i] != oracle.dram[i] && cpu[i] != oracle.agreed[i];
	for (uint32_t i = 0; i < SIZE / LINE; i++)
		n += stale[i];
	return n;
}

/* Few values and few lines, so that versions often meet again. */
static void random_operations_match_the_definition(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_STRICT);
	static uint8_t cpu[SIZE], got[SIZE], bytes[SIZE];

	memset(cpu, 0, SIZE);
	memset(&oracle, 0, sizeof(oracle));
	for (int round = 0; round < 200000 && !failed_checks; round++) {
		uint32_t at = PAGE - 4 * LINE + random_below(8 * LINE),
			 len = 1 + random_below(4 * LINE);
		uint32_t line = at / LINE * LINE;

		switch (random_below(6)) {
		case 0:
			cpu[at] = ram[at] = random_below(3);
			break;
		case 1:
			npu_cache_clean(cache, BASE + at);
			oracle_clean(cpu, line);
			break;
		case 2:
			npu_cache_invalidate(cache, BASE + at);
			oracle_invalidate(cpu, line);
			break;
		case 3:
			npu_cache_clean_invalidate(cache, BASE + at);
			oracle_clean(cpu, line);
			oracle_invalidate(cpu, line);
			break;
		case 4:
			for (uint32_t i = 0; i < len; i++)
				oracle.dram[at + i] = bytes[i] = random_below(3);
			npu_cache_write(cache, BASE + at, bytes, len, &dpu);
			break;
		default:
			CHECK_EQUAL(npu_cache_read(cache, BASE + at, got, len, &feature),
				    oracle_stale(cpu, at, len));
			CHECK(!memcmp(got, oracle.dram + at, len));
		}
		CHECK(!memcmp(ram + line, cpu + line, LINE));
	}
	CHECK(!memcmp(ram, cpu, SIZE));
	end(cache);
}

/*
 * One memory, and each side reads what was last written to it, as long as both keep to the rules.
 */
static void eviction_never_changes_what_is_maintained(void)
{
	struct npu_cache *cache = begin(NPU_CACHE_EVICT);
	static uint8_t memory[SIZE], got[SIZE];

	memset(memory, 0, SIZE);
	for (int round = 0; round < 20000 && !failed_checks; round++) {
		uint32_t len = (1 + random_below(8)) * LINE,
			 at = random_below((SIZE - len) / LINE) * LINE;

		for (uint32_t i = 0; i < len; i++)
			memory[at + i] = random_below(256);
		if (random_below(2)) {
			memcpy(ram + at, memory + at, len);
			each_line(cache, at, len, npu_cache_clean);
			CHECK_EQUAL(npu_cache_read(cache, BASE + at, got, len, &feature), 0);
			CHECK(!memcmp(got, memory + at, len));
		} else {
			/* What was in the CPU's hands before must not come back over the result. */
			memset(ram + at, 0x55, len);
			each_line(cache, at, len, npu_cache_clean);
			npu_cache_write(cache, BASE + at, memory + at, len, &dpu);
			npu_cache_completion(cache);
			each_line(cache, at, len, npu_cache_invalidate);
			CHECK(!memcmp(ram + at, memory + at, len));
		}
	}
	CHECK_EQUAL(report(cache).stale_reads, 0);
	CHECK_EQUAL(report(cache).results_lost, 0);
	CHECK(report(cache).lines_evicted > 0);
	end(cache);
}

int main(void)
{
	RUN(a_missing_clean_is_stale_input_and_reported);
	RUN(a_cleaned_line_reaches_the_npu_and_only_it);
	RUN(cleaning_a_clean_line_does_nothing);
	RUN(a_missing_invalidate_is_stale_output);
	RUN(an_invalidate_drops_what_the_cpu_wrote);
	RUN(clean_and_invalidate_keeps_what_the_cpu_wrote);
	RUN(a_line_of_both_sides_loses_one_of_them);
	RUN(a_result_not_yet_invalidated_is_not_stale_to_the_npu);
	RUN(bytes_not_read_do_not_make_a_read_stale);
	RUN(a_byte_the_cpu_set_to_what_dram_has_is_not_stale);
	RUN(the_log_names_every_stale_line);
	RUN(what_is_not_ram_is_refused);
	RUN(coherent_needs_no_maintenance);
	RUN(an_uncached_page_needs_no_maintenance);
	RUN(only_the_page_that_was_named_is_uncached);
	RUN(a_page_that_is_cached_again_is_stale_again);
	RUN(what_was_in_the_cache_of_an_uncached_page_is_kept);
	RUN(strict_evicts_on_demand_only);
	RUN(a_dirty_line_is_evicted_over_the_result);
	RUN(a_line_cleaned_before_the_job_keeps_the_result);
	RUN(dirty_lines_are_evicted_at_random_moments_too);
	RUN(random_operations_match_the_definition);
	RUN(eviction_never_changes_what_is_maintained);
	return test_result();
}

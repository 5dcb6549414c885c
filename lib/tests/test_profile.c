// SPDX-License-Identifier: MIT
/* What the profiler tells in files. */
#include <unistd.h>
#include "../../selftests/unit/json.h"
#include "fake.h"

static char folder[] = "/tmp/ork-test-profile.XXXXXX";
static char path[64];
static char text[1 << 20];	/* of the file, once it is read */

/* True if the file is there and JSON. */
static bool read_file(void)
{
	FILE *file = fopen(path, "r");

	*text = 0;
	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = 0;
		fclose(file);
	}
	return is_json(text);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_is_told_from_what_is_none(void)
{
	static const char *const good[] = {
		"{}", "[]", "3", " { \"a\" : [1, -2.5e+3, 0, true, null, \"x\\u00ff\\\"\"], \"b\":{} }\n",
	};
	static const char *const bad[] = {
		"", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{} {}", "[1,]", "[,1]", "[1 2]", "[1}",
		"01", "1.", "1,5", "-", "1e", "tru", "\"abc", "\"\\x\"", "\"\\u12\"", "\"\n\"", "\"\xff\"",
	};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(is_json(good[i]), "%s", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!is_json(bad[i]), "%s", bad[i]);
}

/* --- the profile ------------------------------------------------------------------------------ */

static void the_profile_is_written_as_json(void)
{
	struct ork *ork = fake_open();

	ork->name = "/dev/\"ork\\\n\xff";
	ork_profile_enable(ork, true);
	ork->profile.phase[ORK_PHASE_GATHER].calls = 3;
	ork->profile.phase[ORK_PHASE_GATHER].ns = 12000345;
	ork->profile.phase[ORK_PHASE_GATHER].bytes = 1ull << 40;
	ork->profile.phase[ORK_PHASE_GATHER].bytes_maintained = 5;
	ork->profile.products = 6;
	ork->profile.ioctls = 7;
	ork->profile.bytes_written_cpu = 8;
	ork->profile.bytes_written_npu = 9;
	ork->profile.bytes_window = 10;
	ork->profile.busy_ns = 11;
	CHECK(ork_profile_write(ork, path) == 0, "%s", ork_error(ork));
	CHECK(read_file(), "no JSON: %s", text);
	CHECK(strstr(text, "\"device\": \"/dev/\\\"ork\\\\\\u000a\\u00ff\""), "%s", text);
	CHECK(strstr(text, "\"plan\": {\"calls\": 0, \"ms\": 0.000000, \"bytes\": 0, \"bytes_maintained\": 0}"),
	      "%s", text);
	CHECK(strstr(text, "\"gather\": {\"calls\": 3, \"ms\": 12.000345, \"bytes\": 1099511627776, "
			   "\"bytes_maintained\": 5}"), "%s", text);
	CHECK(strstr(text, "\"products\": 6, \"ioctls\": 7, \"bytes_written_cpu\": 8, \"bytes_written_npu\": 9, "
			   "\"bytes_window\": 10, \"busy_ms\": 0.000011"), "%s", text);
}

static void a_file_that_cannot_be_written_is_named(void)
{
	struct ork *ork = fake_open();

	ork->name = "fake";
	CHECK_EQUAL(ork_profile_write(ork, "/tmp/ork-no-such-folder/profile"), -ENOENT);
	CHECK(strstr(ork_error(ork), "/tmp/ork-no-such-folder/profile"), "%s", ork_error(ork));
	CHECK_EQUAL(ork_profile_write(ork, "/tmp"), -EINVAL);
}

int main(void)
{
	if (!mkdtemp(folder)) {
		printf("not ok - no room for scratch files\n");
		return 1;
	}
	snprintf(path, sizeof(path), "%s/profile.json", folder);
	RUN(json_is_told_from_what_is_none);
	RUN(the_profile_is_written_as_json);
	RUN(a_file_that_cannot_be_written_is_named);
	unlink(path);
	rmdir(folder);
	return test_result();
}

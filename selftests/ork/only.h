/* SPDX-License-Identifier: GPL-2.0-only */
/* Some tests of a suite alone: the harness's own choice knows no lists. To be included after it. */
#ifndef ORK_TEST_ONLY_H
#define ORK_TEST_ONLY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Whether @names has a test of that fixture, variant and name; NULL stands for any. They are
 * FIXTURE.TEST, for all variants, or FIXTURE.VARIANT.TEST, with commas between.
 */
static inline bool is_wanted(const char *names, const char *fixture, const char *variant,
			     const char *test)
{
	char *copy = strdup(names), *rest = NULL;
	bool wanted = false;

	for (char *name = strtok_r(copy, ",", &rest); name && !wanted;
	     name = strtok_r(NULL, ",", &rest)) {
		char *first = strchr(name, '.'), *last = strrchr(name, '.');

		if (!first)
			continue;
		*first = *last = '\0';
		wanted = !strcmp(name, fixture) && (!test || !strcmp(last + 1, test)) &&
			 (!variant || first == last || !strcmp(first + 1, variant));
	}
	free(copy);
	return wanted;
}

/* Takes each @entry out of a list for which @condition does not hold. */
#define KEEP(list, entry, condition) do {					\
	__typeof__(&(list)) link = &(list);					\
										\
	while (*link) {								\
		__typeof__(list) entry = *link;					\
										\
		if (condition)							\
			link = &entry->next;					\
		else								\
			*link = entry->next;					\
	}									\
} while (0)

/*
 * The harness gets only the tests that are named, and maybe others of the same names and variants.
 * NULL, or no name with a fixture: all.
 */
static inline void keep_only(const char *names)
{
	if (!names || !strchr(names, '.'))
		return;
	for (struct __fixture_metadata *f = __fixture_list; f; f = f->next) {
		KEEP(f->tests, test, is_wanted(names, f->name, NULL, test->name));
		KEEP(f->variant, variant, is_wanted(names, f->name, variant->name, NULL));
	}
}

#endif

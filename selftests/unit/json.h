/* SPDX-License-Identifier: MIT */
/* Whether a text is JSON, by the grammar of RFC 8259. */
#ifndef UNIT_JSON_H
#define UNIT_JSON_H

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Each returns what comes behind what it is named after, blanks included, or NULL if that is not there. */

static inline const char *json_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static inline const char *json_token(const char *at, const char *token)
{
	return at && !strncmp(at, token, strlen(token)) ? json_blanks(at + strlen(token)) : NULL;
}

static inline const char *json_escape(const char *at)
{
	if (*at != 'u')
		return *at && strchr("\"\\/bfnrt", *at) ? at + 1 : NULL;
	at++;
	return strspn(at, "0123456789abcdefABCDEF") >= 4 ? at + 4 : NULL;
}

/* Only ASCII: what of it is no UTF-8 need not be told from what is. */
static inline const char *json_string_end(const char *at)
{
	if (*at++ != '"')
		return NULL;
	while (at && *at != '"') {
		if (*at == '\\')
			at = json_escape(at + 1);
		else
			at = *at >= ' ' && *at <= '~' ? at + 1 : NULL;
	}
	return at ? json_blanks(at + 1) : NULL;
}

static inline const char *json_digits(const char *at)
{
	return isdigit((unsigned char)*at) ? at + strspn(at, "0123456789") : NULL;
}

static inline const char *json_number_end(const char *at)
{
	at += *at == '-';
	at = *at == '0' ? at + 1 : json_digits(at);
	if (at && *at == '.')
		at = json_digits(at + 1);
	if (at && (*at == 'e' || *at == 'E')) {
		at++;
		at = json_digits(at + (*at == '+' || *at == '-'));
	}
	return at ? json_blanks(at) : NULL;
}

static inline const char *json_value_end(const char *at);

/* Behind the bracket that opens it. */
static inline const char *json_members_end(const char *at, const char *close)
{
	const char *end = json_token(at, close);

	while (!end) {
		if (*close == '}')
			at = json_token(json_string_end(at), ":");
		at = at ? json_value_end(at) : NULL;
		end = json_token(at, close);
		if (!end)
			at = json_token(at, ",");
		if (!at)
			return NULL;
	}
	return end;
}

static inline const char *json_value_end(const char *at)
{
	switch (*at) {
	case '{': return json_members_end(json_blanks(at + 1), "}");
	case '[': return json_members_end(json_blanks(at + 1), "]");
	case '"': return json_string_end(at);
	case 't': return json_token(at, "true");
	case 'f': return json_token(at, "false");
	case 'n': return json_token(at, "null");
	default: return json_number_end(at);
	}
}

static inline bool is_json(const char *text)
{
	const char *end = json_value_end(json_blanks(text));

	return end && !*end;
}

#endif

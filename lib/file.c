// SPDX-License-Identifier: MIT
/* Files that are written whole or not at all; and strings in those that are JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ork_private.h"

static int write_and_sync(FILE *file, ork_write_fn write, const void *what)
{
	errno = 0;
	write(file, what);
	if (fflush(file) || ferror(file))
		return errno ? -errno : -EIO;
	return fchmod(fileno(file), 0644) || fsync(fileno(file)) ? -errno : 0;
}

/* @part: a name for mkstemp(), which becomes that of a file with all of @what, or of none. */
static int write_part(char *part, ork_write_fn write, const void *what)
{
	int fd = mkstemp(part), ret;
	FILE *file;

	if (fd < 0)
		return -errno;
	file = fdopen(fd, "w");
	if (!file) {
		ret = -errno;
		close(fd);
	} else {
		ret = write_and_sync(file, write, what);
		if (fclose(file) && !ret)
			ret = -errno;
	}
	if (ret)
		unlink(part);
	return ret;
}

static int replace(const char *path, char *part, ork_write_fn write, const void *what)
{
	int ret = write_part(part, write, what);

	if (!ret && rename(part, path)) {
		ret = -errno;
		unlink(part);
	}
	return ret;
}

/* Over a device's node, a pipe or a link, as /dev/stdout is one, nobody wants a file. */
static bool is_no_file(const char *path)
{
	struct stat stat;

	return !lstat(path, &stat) && !S_ISREG(stat.st_mode);
}

int ork_replace_file(struct ork *ork, const char *path, ork_write_fn write, const void *what)
{
	size_t size = strlen(path) + sizeof(".XXXXXX");
	char *part;
	int ret;

	if (is_no_file(path))
		return ork_fail(ork, -EINVAL, "writing %s: it is there, and no regular file", path);
	part = malloc(size);
	if (!part)
		return ork_fail(ork, -ENOMEM, "no memory to write %s", path);
	snprintf(part, size, "%s.XXXXXX", path);
	ret = replace(path, part, write, what);
	free(part);
	return ret ? ork_fail(ork, ret, "writing %s: %s", path, strerror(-ret)) : 0;
}

/* A path need not be UTF-8, as JSON must: what is not ASCII goes byte by byte. */
void ork_write_string(FILE *file, const char *string)
{
	const unsigned char *at;

	fputc('"', file);
	for (at = (const unsigned char *)string; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', file);
		if (*at >= ' ' && *at <= '~')
			fputc(*at, file);
		else
			fprintf(file, "\\u%04x", *at);
	}
	fputc('"', file);
}

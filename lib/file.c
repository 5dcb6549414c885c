// SPDX-License-Identifier: MIT
/* Files that are written whole or not at all. */
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

int ork_replace_file(struct ork *ork, const char *path, ork_write_fn write, const void *what)
{
	size_t size = strlen(path) + sizeof(".XXXXXX");
	char *part = malloc(size);
	int ret;

	if (!part)
		return ork_fail(ork, -ENOMEM, "no memory to write %s", path);
	snprintf(part, size, "%s.XXXXXX", path);
	ret = replace(path, part, write, what);
	free(part);
	return ret ? ork_fail(ork, ret, "writing %s: %s", path, strerror(-ret)) : 0;
}

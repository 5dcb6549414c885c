/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the driver has in sysfs, its nodes and its module, for suites that want the device for
 * themselves.
 */
#ifndef ORK_TEST_DRIVER_H
#define ORK_TEST_DRIVER_H

#include <stdio.h>
#include <sys/syscall.h>
#include "ork_test.h"
#include "board.h"

#define NODE_DRIVER	"/sys/bus/platform/drivers/ork-node/"
#define REFERENCES	"/sys/module/ork/refcnt"
#define HANG_LIMIT	"/sys/module/ork/parameters/hang_limit"
#define JOB_TIMEOUT	"/sys/module/ork/parameters/timeout_ms"

/* --- nodes ------------------------------------------------------------------------------------ */

struct nodes {
	uint32_t count;
	char names[BOARD_CORES][64];
};

/* Of a bound device. */
static inline void nodes_find(struct nodes *nodes)
{
	glob_t paths;

	memset(nodes, 0, sizeof(*nodes));
	if (!glob(NODE_DRIVER "*/of_node", 0, NULL, &paths))
		for (size_t i = 0; i < paths.gl_pathc && i < BOARD_CORES; i++)
			nodes->count += sscanf(paths.gl_pathv[i] + strlen(NODE_DRIVER), "%63[^/]",
					       nodes->names[nodes->count]);
	globfree(&paths);
}

static inline int node_unbind(const struct nodes *nodes, uint32_t node)
{
	return write_text(NODE_DRIVER "unbind", nodes->names[node]);
}

static inline int node_bind(const struct nodes *nodes, uint32_t node)
{
	return write_text(NODE_DRIVER "bind", nodes->names[node]);
}

#define NEED_NODES(nodes) do {							\
	if (!(nodes)->count || access(NODE_DRIVER "unbind", W_OK))		\
		SKIP(return, "needs root, to unbind the device");		\
} while (0)

/* --- the module ------------------------------------------------------------------------------- */

/* 0 where ork is not a module. */
static inline int module_references(void)
{
	FILE *file = fopen(REFERENCES, "re");
	int count = 0;

	if (file && fscanf(file, "%d", &count) != 1)
		count = -1;
	if (file)
		fclose(file);
	return count;
}

static inline int module_remove(void)
{
	return syscall(SYS_delete_module, "ork", O_NONBLOCK) ? -errno : 0;
}

#define MODULE		"/modules/ork.ko"

static inline int module_insert(void)
{
	int file = open(MODULE, O_RDONLY | O_CLOEXEC), error;

	if (file < 0)
		return -errno;
	error = syscall(SYS_finit_module, file, "", 0) ? -errno : 0;
	close(file);
	return error;
}

#define NEED_MODULE do {							\
	if (access(MODULE, R_OK))						\
		SKIP(return, "needs " MODULE);					\
} while (0)

/* A test that failed half way may have left the device unbound. */
static inline int device_return(void)
{
	int fd = device_open();

	if (fd >= 0)
		return fd;
	module_remove();
	module_insert();
	return device_open();
}

/* --- debugfs ---------------------------------------------------------------------------------- */

#define DEBUGFS		"/sys/kernel/debug/"

/* Where in debugfs the driver has @file, which no other has; ends with a slash. False if nowhere. */
static inline bool debugfs_folder(const char *file, char *folder, size_t size)
{
	static const char *const classes[] = { "accel", "dri" };
	bool found = false;

	for (unsigned int i = 0; i < ARRAY_LENGTH(classes) && !found; i++) {
		char pattern[128];
		glob_t paths;

		snprintf(pattern, sizeof(pattern), DEBUGFS "%s/*/%s", classes[i], file);
		found = !glob(pattern, 0, NULL, &paths);
		if (found)
			snprintf(folder, size, "%.*s",
				 (int)(strlen(paths.gl_pathv[0]) - strlen(file)),
				 paths.gl_pathv[0]);
		globfree(&paths);
	}
	return found;
}

/* One of the driver's files in debugfs, to be closed; NULL if there is none. */
static inline FILE *debugfs_open(const char *name)
{
	char folder[64], path[128];

	if (!debugfs_folder("live", folder, sizeof(folder)))
		return NULL;
	snprintf(path, sizeof(path), "%s%s", folder, name);
	return fopen(path, "re");
}

#define DEBUGFS_BYTES	65536

/* All of a file; empty if there is none. */
static inline const char *debugfs_text(const char *name)
{
	static char text[DEBUGFS_BYTES];
	FILE *file = debugfs_open(name);

	text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
	if (file)
		fclose(file);
	return text;
}

#define NEED_DEBUGFS do {							\
	FILE *file_ = debugfs_open("live");					\
										\
	if (!file_)								\
		SKIP(return, "needs debugfs at /sys/kernel/debug, and root");	\
	fclose(file_);								\
} while (0)

/* A value of the attribute of a point at which the driver can be made to fail. */
static inline int point_write(const char *point, const char *name, int value)
{
	char folder[64], path[160], text[16];

	if (!debugfs_folder("fail_ork", folder, sizeof(folder)))
		return -ENOENT;
	snprintf(path, sizeof(path), "%sfail_ork/%s/%s", folder, point, name);
	snprintf(text, sizeof(text), "%d", value);
	return write_text(path, text);
}

/* --- what exists ------------------------------------------------------------------------------ */

/* A line of debugfs' "live" that counts something, or "". Without that file nothing is known. */
static inline const char *alive(void)
{
	static char line[64];
	FILE *file = debugfs_open("live");
	unsigned int count = 0;

	while (!count && file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*s %u", &count) != 1)
			count = 1;
	if (file)
		fclose(file);
	return count ? line : "";
}

/* Every mapping of the device keeps a file open. */
static inline void unmap_everything(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if ((strstr(line, "/dev/dri/") || strstr(line, "/dev/accel/")) &&
		    sscanf(line, "%lx-%lx", &start, &end) == 2)
			munmap((void *)start, end - start);
	if (maps)
		fclose(maps);
}

#endif

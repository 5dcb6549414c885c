// SPDX-License-Identifier: MIT
/*
 * Packed weights in a file: a header that says what they are, then the bytes as the NPU reads them.
 *
 * The header is little-endian, as all of these machines are. Its checksum is over itself, with the checksum as
 * zero, and over the bytes; so whatever is not wrong in a way that can be named is wrong in the checksum.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ork_private.h"

#define MAGIC		"ork B\r\n\032"	/* eight bytes; what text modes would change is among them */
#define VERSION		1

struct header {
	char magic[8];
	uint32_t version;
	uint32_t precision;	/* ORK_PRECISION_* of an element */
	uint32_t k, n;
	uint32_t slice;		/* channels of a slice of K */
	uint32_t reserved;	/* 0 */
	uint64_t bytes;		/* that follow */
	uint64_t checksum;
};

_Static_assert(sizeof(struct header) == 48, "the header has no padding");

/* FNV-1a, by words of eight bytes; packed weights are a whole number of them. */
static uint64_t add_to_checksum(uint64_t sum, const void *data, uint64_t bytes)
{
	const char *at = data;
	uint64_t word, i;

	for (i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		sum = (sum ^ word) * 0x100000001b3u;
	}
	return sum;
}

static uint64_t checksum(const struct header *header, const void *data)
{
	struct header blank = *header;

	blank.checksum = 0;
	return add_to_checksum(add_to_checksum(0xcbf29ce484222325u, &blank, sizeof(blank)), data, header->bytes);
}

static struct header header_of(const struct ork_weights *weights)
{
	struct header header = {
		.version = VERSION, .precision = weights->type->in_precision, .k = weights->k, .n = weights->n,
		.slice = weights->layout.slice, .bytes = weights->layout.bytes,
	};

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	header.checksum = checksum(&header, weights->bo->data);
	return header;
}

/* --- save ------------------------------------------------------------------------------------- */

static void write_weights(FILE *file, const void *what)
{
	const struct ork_weights *weights = what;
	struct header header = header_of(weights);

	fwrite(&header, sizeof(header), 1, file);
	fwrite(weights->bo->data, header.bytes, 1, file);
}

int ork_weights_save(const struct ork_weights *weights, const char *path)
{
	return ork_replace_file(weights->ork, path, write_weights, weights);
}

/* --- open ------------------------------------------------------------------------------------- */

/* An open file and what is known of it. */
struct source {
	struct ork *ork;
	const char *path;
	int fd;
	uint64_t size;
	struct header header;
};

static int wrong(const struct source *source, const char *field, uint64_t value, uint64_t expected)
{
	return ork_fail(source->ork, -EINVAL, "%s: %s = %" PRIu64 "; must be %" PRIu64, source->path, field, value,
			expected);
}

/* A file that became shorter meanwhile is cut too. */
static int read_all(const struct source *source, void *data, uint64_t bytes)
{
	char *at = data;
	ssize_t got;

	while (bytes) {
		got = read(source->fd, at, bytes);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return ork_fail(source->ork, -errno, "reading %s: %s", source->path, strerror(errno));
		if (!got)
			return ork_fail(source->ork, -EINVAL, "%s: cut by %" PRIu64 " bytes", source->path, bytes);
		at += got;
		bytes -= (uint64_t)got;
	}
	return 0;
}

/* The first type whose B has such elements, and such slices if one has. */
static int find_type(const struct source *source, enum ork_type *type)
{
	const struct header *header = &source->header;
	const struct ork_type_info *info;
	bool found = false, same;
	uint32_t i;

	for (i = 0; (info = ork_type_info((enum ork_type)i)); i++) {
		if (info->in_precision != header->precision)
			continue;
		same = header->slice == info->k_slice && header->k > info->k_limit;
		if (!found || same)
			*type = (enum ork_type)i;
		found = true;
		if (same)
			break;
	}
	return found ? 0 : ork_fail(source->ork, -EINVAL, "%s: element precision = %u; is that of no type", source->path,
			source->header.precision);
}

/* What the header says of itself; the rest follows from @weights, which is made of it. */
static int check_header(const struct source *source)
{
	const struct header *header = &source->header;

	if (memcmp(header->magic, MAGIC, sizeof(header->magic)))
		return ork_fail(source->ork, -EINVAL, "%s: magic is not that of packed weights", source->path);
	if (header->version != VERSION)
		return wrong(source, "version", header->version, VERSION);
	if (header->reserved)
		return wrong(source, "reserved", header->reserved, 0);
	if (source->size - sizeof(*header) != header->bytes)
		return wrong(source, "size", source->size, sizeof(*header) + header->bytes);
	return 0;
}

static int read_weights(const struct source *source, struct ork_weights *weights)
{
	const struct header *header = &source->header;
	uint64_t sum;
	int ret;

	if (header->slice != weights->layout.slice)
		return wrong(source, "slice", header->slice, weights->layout.slice);
	if (header->bytes != weights->layout.bytes)
		return wrong(source, "bytes", header->bytes, weights->layout.bytes);
	ret = read_all(source, weights->bo->data, header->bytes);
	if (ret)
		return ret;
	weights->dirty = true;
	sum = checksum(header, weights->bo->data);
	return sum == header->checksum ? 0 : wrong(source, "checksum", header->checksum, sum);
}

/* The size is checked before memory of that size is asked for. */
static int open_weights(struct source *source, struct ork_weights **weights)
{
	enum ork_type type = ORK_FP16_FP32;
	struct stat stat;
	int ret;

	if (fstat(source->fd, &stat))
		return ork_fail(source->ork, -errno, "reading %s: %s", source->path, strerror(errno));
	source->size = (uint64_t)stat.st_size;
	ret = read_all(source, &source->header, sizeof(source->header));
	if (!ret)
		ret = check_header(source);
	if (!ret)
		ret = find_type(source, &type);
	if (!ret)
		ret = ork_weights_create(source->ork, type, source->header.k, source->header.n, weights);
	return ret ? ret : read_weights(source, *weights);
}

int ork_weights_open(struct ork *ork, const char *path, struct ork_weights **weights)
{
	struct source source = { .ork = ork, .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC) };
	int ret;

	*weights = NULL;
	if (source.fd < 0)
		return ork_fail(ork, -errno, "opening %s: %s", path, strerror(errno));
	ret = open_weights(&source, weights);
	close(source.fd);
	if (ret) {
		ork_weights_destroy(*weights);
		*weights = NULL;
	}
	return ret;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A source of dma-bufs for tests: ordinary ones, and such as no importer should take. It also
 * attaches a device of its own to the dma-bufs of others.
 */
#ifndef ORK_EXPORTER_H
#define ORK_EXPORTER_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define ORK_EXPORTER_NODE	"/dev/ork-exporter"

/* What lies behind a dma-buf. */
enum ork_exporter_kind {
	ORK_EXPORTER_MEMORY,		/* pages that do not follow each other, cached */
	ORK_EXPORTER_DEVICE,		/* registers of some peripheral */
	ORK_EXPORTER_MIXED,		/* memory, but for the last page */
	ORK_EXPORTER_SHORT,		/* a page less than the dma-buf says */
	ORK_EXPORTER_LONG,		/* a page more */
	ORK_EXPORTER_OFF_BORDER,	/* segments begin in the middle of pages */
	ORK_EXPORTER_ODD_LENGTH,	/* and end there */
	ORK_EXPORTER_FAILS,		/* cannot be mapped for a device: -ENXIO */
	ORK_EXPORTER_KINDS,
};

/**
 * struct ork_exporter_create - a new dma-buf
 * @size: in: bytes, whatever lies behind it
 * @kind: in: enum ork_exporter_kind
 * @fd: out: the dma-buf
 */
struct ork_exporter_create {
	__u64 size;
	__u32 kind;
	__s32 fd;
};

/**
 * struct ork_exporter_live - what exists now
 * @buffers: dma-bufs
 * @mappings: mappings of theirs for devices
 */
struct ork_exporter_live {
	__u32 buffers;
	__u32 mappings;
};

#define ORK_EXPORTER_CREATE	_IOWR('x', 0, struct ork_exporter_create)
#define ORK_EXPORTER_LIVE	_IOR('x', 1, struct ork_exporter_live)
/* The argument is a dma-buf: it is attached and mapped until the file is closed. One a file. */
#define ORK_EXPORTER_ATTACH	_IO('x', 2)

#endif

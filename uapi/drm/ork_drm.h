/* SPDX-License-Identifier: MIT */
/*
 * User interface of the ork driver for the Rockchip RK3588 NPU.
 *
 * The NPU does not snoop the CPUs' caches. Whatever moves between them is named as extents,
 * ranges of bytes inside a buffer object, and the driver maintains those bytes and no others.
 *
 * Rules that hold for every structure and ioctl:
 *
 * - The DRM driver is named "ork". All ioctls work on the render node (or accel node, where the
 *   kernel has those) and need no privilege but for &DRM_ORK_PRIORITY_HIGH.
 * - Padding must be zero (-EINVAL). Unknown flags are refused (-EOPNOTSUPP).
 * - Arrays are given as &struct drm_ork_array. Elements may grow at the end in later minors: a
 *   shorter element is extended with zeros, a longer one is accepted if what the kernel does not
 *   know is zero (-E2BIG if not). A zero in a new field keeps the old behaviour.
 * - Sizes and offsets are in bytes, times in nanoseconds of CLOCK_MONOTONIC unless a field says
 *   otherwise.
 * - An ioctl happens wholly or not at all. Fields marked "out" are valid only if it succeeded.
 * - A range that the device writes must begin and end on a cache line
 *   (&drm_ork_device_info.cache_line); the end of an object counts as the end of a line.
 *
 * Objects are shared as dma-bufs (DRM_IOCTL_PRIME_HANDLE_TO_FD, DRM_IOCTL_PRIME_FD_TO_HANDLE). A
 * dma-buf of this device gives its own object back; a file has one handle for it. Another's can be
 * imported if it is memory: -EOPNOTSUPP if not, -EINVAL if that is not whole pages, just as many as
 * the dma-buf says, -ENOSPC if this file's device address space has no such room. It is clean then,
 * as a new object is. Jobs wait for the fences of a dma-buf, and leave theirs in it.
 *
 * DMA_BUF_IOCTL_SYNC of this device's dma-bufs maintains all of the object, for all devices that
 * have mapped it. The start of reading waits for jobs that write, and makes visible what they
 * wrote; what the CPU has written before is not dropped, what it writes meanwhile may be. The start
 * of writing waits for all jobs. The end of writing sends to memory what the CPU wrote. Another's
 * dma-bufs do what their exporter does.
 *
 * Errors that every ioctl can give: -EFAULT (a pointer is not readable or writable), -ENOMEM,
 * -EINTR, -ENODEV (the device is gone), -EINVAL (padding).
 *
 * Changes: 1.0 first version.
 */
#ifndef _UAPI_ORK_DRM_H_
#define _UAPI_ORK_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_ORK_QUERY			0x00
#define DRM_ORK_BO_CREATE		0x01
#define DRM_ORK_BO_INFO			0x02
#define DRM_ORK_BO_SYNC			0x03
#define DRM_ORK_SUBMIT			0x04
#define DRM_ORK_WAIT			0x05

/* Limits of one call. More is -EINVAL. */
/* Jobs in a submit. */
#define DRM_ORK_MAX_JOBS		64
/* Tasks in a job. */
#define DRM_ORK_MAX_TASKS		1024
/* Extents in a job, or in a BO_SYNC. */
#define DRM_ORK_MAX_EXTENTS		1024
/* Programs in a task. */
#define DRM_ORK_MAX_PROGRAMS		4095
/* 64-bit words in a program. */
#define DRM_ORK_MAX_WORDS		131072
/* Syncobjs to wait for, or to signal, in a submit. */
#define DRM_ORK_MAX_SYNCS		64
/* Milliseconds that a job may go without finishing a program. */
#define DRM_ORK_MAX_TIMEOUT_MS		60000

/**
 * struct drm_ork_array - an array in user memory
 * @ptr: in: address of the first element
 * @count: in: number of elements; 0 is an empty array, whatever the other fields say
 * @stride: in: bytes from one element to the next, at least the size the element had in 1.0 and a
 *	multiple of 8, at most 4096 (-EINVAL)
 */
struct drm_ork_array {
	__u64 ptr;
	__u32 count;
	__u32 stride;
};

/* BO_SYNC: what the CPU wrote goes to memory, for the device to read. */
#define DRM_ORK_EXTENT_TO_DEVICE	0x01
/* BO_SYNC: what the device wrote becomes visible to the CPU. */
#define DRM_ORK_EXTENT_FROM_DEVICE	0x02
/* SUBMIT: the job reads the range; it is cleaned before any job of the submit starts. */
#define DRM_ORK_EXTENT_READ		0x04
/*
 * SUBMIT: the job writes the range; it is cleaned before, and invalidated before the job's fence
 * signals.
 */
#define DRM_ORK_EXTENT_WRITE		0x08
/*
 * SUBMIT: nothing is maintained; the object is kept alive, mapped and ordered against other
 * submits, as a reader unless WRITE is given too. For weights that are resident, ranges that
 * another job of the submit names, and data that stays on the device.
 */
#define DRM_ORK_EXTENT_NO_SYNC		0x10
/*
 * SUBMIT, with WRITE and without READ or NO_SYNC (-EINVAL): the caller has not written the range
 * since it was last invalidated or since the object was created or imported, so the clean before
 * the job is left out.
 */
#define DRM_ORK_EXTENT_CPU_CLEAN	0x20

/**
 * struct drm_ork_extent - bytes of a buffer object: @rows rows of @length bytes, @stride bytes
 * apart
 * @handle: in: the object (-ENOENT)
 * @flags: in: DRM_ORK_EXTENT_*: one or both of TO_DEVICE and FROM_DEVICE for BO_SYNC; READ,
 *	WRITE or NO_SYNC for SUBMIT (-EINVAL if none; -EOPNOTSUPP for a flag of the other ioctl)
 * @offset: in: first byte
 * @length: in: bytes of one row; 0 is allowed and names nothing
 * @stride: in: bytes from one row to the next, at least @length (-EINVAL); ignored if @rows is 0
 *	or 1
 * @rows: in: number of rows; 0 and 1 both mean one plain range
 * @pad: must be zero
 *
 * The last byte must lie inside the object (-EINVAL); sums that wrap are -EOVERFLOW. What the
 * device reads is rounded out to whole cache lines, and no further. What it writes (FROM_DEVICE,
 * WRITE) must begin and end on a line in every row (-EINVAL), for a line shared by both sides
 * would lose what one of them wrote.
 */
struct drm_ork_extent {
	__u32 handle;
	__u32 flags;
	__u64 offset;
	__u64 length;
	__u64 stride;
	__u32 rows;
	__u32 pad;
};

/**
 * enum drm_ork_query_type - what QUERY can tell
 * @DRM_ORK_QUERY_DEVICE: &struct drm_ork_device_info
 * @DRM_ORK_QUERY_FILE: &struct drm_ork_counters of this open file
 * @DRM_ORK_QUERY_CORE: &struct drm_ork_counters of the core @index, since the driver was bound
 */
enum drm_ork_query_type {
	DRM_ORK_QUERY_DEVICE = 0,
	DRM_ORK_QUERY_FILE = 1,
	DRM_ORK_QUERY_CORE = 2,
};

/**
 * struct drm_ork_query - arguments of DRM_IOCTL_ORK_QUERY
 * @type: in: enum drm_ork_query_type (-EINVAL)
 * @index: in: the core for DRM_ORK_QUERY_CORE (-EINVAL if there is none); else must be zero
 * @size: in: bytes at @ptr; out: bytes the kernel knows. What lies beyond those is zeroed
 * @pad: must be zero
 * @ptr: in: where the answer goes, as much as fits; 0 asks for the size only
 */
struct drm_ork_query {
	__u32 type;
	__u32 index;
	__u32 size;
	__u32 pad;
	__u64 ptr;
};

/* The device snoops the CPUs' caches: extents are checked, and nothing is maintained. */
#define DRM_ORK_DEVICE_COHERENT		0x01

/**
 * struct drm_ork_device_info - answer of DRM_ORK_QUERY_DEVICE
 * @soc: out: number of the SoC, 3588
 * @hw_version: out: version the first core's registers give
 * @flags: out: DRM_ORK_DEVICE_*
 * @num_cores: out: cores that can run jobs
 * @core_mask: out: a bit for each of them, as in &drm_ork_job.core_mask
 * @cache_line: out: bytes to which ranges the device writes must be aligned
 * @page_size: out: granule of object sizes and of IOVAs, in bytes
 * @timeout_ms: out: timeout of a job that names none
 * @iova_start: out: lowest IOVA an object can have
 * @iova_end: out: highest IOVA an object's last byte can have
 */
struct drm_ork_device_info {
	__u32 soc;
	__u32 hw_version;
	__u32 flags;
	__u32 num_cores;
	__u32 core_mask;
	__u32 cache_line;
	__u32 page_size;
	__u32 timeout_ms;
	__u64 iova_start;
	__u64 iova_end;
};

/**
 * struct drm_ork_counters - answer of DRM_ORK_QUERY_FILE and DRM_ORK_QUERY_CORE
 * @submits: out: submits accepted (file only)
 * @jobs: out: jobs that finished, however they ended
 * @programs: out: programs of the chains that completed
 * @interrupts: out: completion interrupts
 * @busy_ns: out: time from a chain's kick to its interrupt, summed
 * @switches: out: address spaces attached (core only)
 * @resets: out: resets after a hang or a fault
 * @sync_calls: out: BO_SYNC calls (file only)
 * @bytes_cleaned: out: bytes of cache lines cleaned, by BO_SYNC and by submits (file only)
 * @bytes_invalidated: out: bytes of cache lines invalidated (file only)
 */
struct drm_ork_counters {
	__u64 submits;
	__u64 jobs;
	__u64 programs;
	__u64 interrupts;
	__u64 busy_ns;
	__u64 switches;
	__u64 resets;
	__u64 sync_calls;
	__u64 bytes_cleaned;
	__u64 bytes_invalidated;
};

/* CPU mappings of the object are write-combined: slow to read, never in need of maintenance. */
#define DRM_ORK_BO_WRITE_COMBINE	0x01

/**
 * struct drm_ork_bo_create - arguments of DRM_IOCTL_ORK_BO_CREATE
 * @size: in: bytes, more than 0 (-EINVAL); out: rounded up to pages
 * @flags: in: DRM_ORK_BO_*; out: unchanged
 * @handle: out: the new object, zeroed; never 0
 * @iova: out: its address on the device in this file's address space, below 4 GiB, never 0
 * @mmap_offset: out: for mmap(2) on the same file
 *
 * -ENOSPC if this file's device address space has no such room (it holds 4 GiB in all), -ENOMEM
 * if there is no memory. The object is followed by a page that is mapped to nothing, so that an
 * overrun faults.
 */
struct drm_ork_bo_create {
	__u64 size;
	__u32 flags;
	__u32 handle;
	__u64 iova;
	__u64 mmap_offset;
};

/**
 * struct drm_ork_bo_info - arguments of DRM_IOCTL_ORK_BO_INFO
 * @handle: in: an object of this file, created or imported (-ENOENT)
 * @flags: out: DRM_ORK_BO_*; 0 for another device's object, which is maintained however the CPU
 *	maps it
 * @size: out: bytes
 * @iova: out: address on the device, in this file's address space
 * @mmap_offset: out: for mmap(2) on the same file. Another device's object is mapped by its
 *	exporter, which may refuse
 */
struct drm_ork_bo_info {
	__u32 handle;
	__u32 flags;
	__u64 size;
	__u64 iova;
	__u64 mmap_offset;
};

/**
 * struct drm_ork_bo_sync - arguments of DRM_IOCTL_ORK_BO_SYNC
 * @extents: in: &struct drm_ork_extent, at most DRM_ORK_MAX_EXTENTS (-EINVAL)
 *
 * All extents are checked before the first byte is touched. The call does not wait for jobs. Its
 * cost grows with the bytes named, not with the size of the objects or the offsets in them. An
 * imported object is like any other: the mapping that its exporter made for this device is
 * maintained.
 */
struct drm_ork_bo_sync {
	struct drm_ork_array extents;
};

/**
 * struct drm_ork_task - one chain: one start of a core, one interrupt
 * @iova: in: address of the first program, a multiple of 16 (-EINVAL), inside an extent of the
 *	job (-EINVAL)
 * @words: in: length of that program in 64-bit words, its tail included; even, at most
 *	DRM_ORK_MAX_WORDS (-EINVAL)
 * @programs: in: programs in the chain, the first included, 1..DRM_ORK_MAX_PROGRAMS (-EINVAL)
 *
 * The programs that follow are found through the links in the last words of each.
 */
struct drm_ork_task {
	__u64 iova;
	__u32 words;
	__u32 programs;
};

/**
 * struct drm_ork_job - tasks that run in order on one core
 * @tasks: in: &struct drm_ork_task, 1..DRM_ORK_MAX_TASKS (-EINVAL)
 * @extents: in: &struct drm_ork_extent, 1..DRM_ORK_MAX_EXTENTS (-EINVAL): every object that the
 *	job touches
 * @core_mask: in: cores that may run it; 0: any. A bit without a core is -EINVAL
 * @timeout_ms: in: how long it may go without finishing a program before it is taken for hung;
 *	0: the default; at most DRM_ORK_MAX_TIMEOUT_MS (-EINVAL)
 * @out_syncobj: in: syncobj that carries this job's fence; 0: none (-ENOENT)
 * @flags: in: must be zero (-EOPNOTSUPP)
 * @out_point: in: timeline point of @out_syncobj; 0: binary
 */
struct drm_ork_job {
	struct drm_ork_array tasks;
	struct drm_ork_array extents;
	__u32 core_mask;
	__u32 timeout_ms;
	__u32 out_syncobj;
	__u32 flags;
	__u64 out_point;
};

/**
 * struct drm_ork_sync - a syncobj to wait for or to signal
 * @handle: in: the syncobj (-ENOENT); to wait for one that has no fence yet is -EINVAL
 * @flags: in: must be zero (-EOPNOTSUPP)
 * @point: in: timeline point; 0: binary
 */
struct drm_ork_sync {
	__u32 handle;
	__u32 flags;
	__u64 point;
};

/* Wait for the in syncobjs only, not for earlier jobs that use the same objects. */
#define DRM_ORK_SUBMIT_EXPLICIT		0x01

/**
 * enum drm_ork_priority - which client's jobs are taken first
 * @DRM_ORK_PRIORITY_NORMAL: the default
 * @DRM_ORK_PRIORITY_LOW: when nothing else is ready
 * @DRM_ORK_PRIORITY_HIGH: before all others; needs CAP_SYS_NICE (-EACCES)
 */
enum drm_ork_priority {
	DRM_ORK_PRIORITY_NORMAL = 0,
	DRM_ORK_PRIORITY_LOW = 1,
	DRM_ORK_PRIORITY_HIGH = 2,
};

/**
 * struct drm_ork_submit - arguments of DRM_IOCTL_ORK_SUBMIT
 * @flags: in: DRM_ORK_SUBMIT_*
 * @priority: in: enum drm_ork_priority (-EINVAL)
 * @jobs: in: &struct drm_ork_job, 1..DRM_ORK_MAX_JOBS (-EINVAL)
 * @in_syncs: in: &struct drm_ork_sync that every job waits for, at most DRM_ORK_MAX_SYNCS (-EINVAL)
 * @out_syncs: in: &struct drm_ork_sync that carry the fence of the whole submit, at most
 *	DRM_ORK_MAX_SYNCS (-EINVAL)
 *
 * The jobs do not wait for each other and may run at once, on as many cores as there are. They
 * wait for jobs of earlier submits that wrote what these read or write, or read what these write
 * (object by object), unless DRM_ORK_SUBMIT_EXPLICIT is given.
 *
 * A job whose chain finishes no program for its timeout ends with -ETIMEDOUT, one whose address
 * space faults with -EFAULT. One that is dropped because its file was closed ends with -ECANCELED,
 * as does one that cannot have its input: a fence of @in_syncs ended with an error, or a job that
 * it waited for as the writer of an object that it reads. It ran on no core then. A file whose
 * jobs hung or faulted too often (module parameter hang_limit) is banned: what it has queued ends
 * with -EIO, and SUBMIT gives -EIO.
 */
struct drm_ork_submit {
	__u32 flags;
	__u32 priority;
	struct drm_ork_array jobs;
	struct drm_ork_array in_syncs;
	struct drm_ork_array out_syncs;
};

/**
 * struct drm_ork_wait - arguments of DRM_IOCTL_ORK_WAIT
 * @syncobj: in: the syncobj (-ENOENT); one without a fence is -EINVAL
 * @flags: in: must be zero (-EOPNOTSUPP)
 * @point: in: timeline point; 0: binary
 * @timeout_ns: in: absolute CLOCK_MONOTONIC time until which to wait (-ETIME); 0 or less only
 *	looks (-EBUSY)
 * @status: out: 0, or the negative errno with which the first failed job ended
 * @cores: out: a bit for each core that ran a job behind the fence; 0 if none did
 * @busy_ns: out: time that cores spent on the jobs behind the fence
 * @begin_ns: out: when the first of them began on its core; 0 if none did
 * @end_ns: out: when the last of them left its core, by the interrupt or to be reset; 0 if none ran
 *
 * Returns 0 once the fence has signalled, whatever @status says. A wait that a signal interrupts
 * can be repeated with the same arguments. After it, the CPU may read what the jobs' WRITE
 * extents name.
 */
struct drm_ork_wait {
	__u32 syncobj;
	__u32 flags;
	__u64 point;
	__s64 timeout_ns;
	__s32 status;
	__u32 cores;
	__u64 busy_ns;
	__u64 begin_ns;
	__u64 end_ns;
};

#define DRM_IOCTL_ORK(access, name, type) \
	DRM_IO##access(DRM_COMMAND_BASE + DRM_ORK_##name, struct drm_ork_##type)

#define DRM_IOCTL_ORK_QUERY		DRM_IOCTL_ORK(WR, QUERY, query)
#define DRM_IOCTL_ORK_BO_CREATE		DRM_IOCTL_ORK(WR, BO_CREATE, bo_create)
#define DRM_IOCTL_ORK_BO_INFO		DRM_IOCTL_ORK(WR, BO_INFO, bo_info)
#define DRM_IOCTL_ORK_BO_SYNC		DRM_IOCTL_ORK(W, BO_SYNC, bo_sync)
#define DRM_IOCTL_ORK_SUBMIT		DRM_IOCTL_ORK(W, SUBMIT, submit)
#define DRM_IOCTL_ORK_WAIT		DRM_IOCTL_ORK(WR, WAIT, wait)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_ORK_DRM_H_ */

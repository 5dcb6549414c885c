/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_LIVE_H__
#define __ORK_LIVE_H__

#include <linux/atomic.h>

/**
 * enum ork_live - what is counted while it exists
 * @ORK_LIVE_FILES: struct ork_file
 * @ORK_LIVE_VMS: struct ork_vm
 * @ORK_LIVE_BOS: struct ork_bo
 * @ORK_LIVE_MAPPINGS: struct ork_mapping
 * @ORK_LIVE_JOBS: struct ork_job
 * @ORK_LIVE_FENCES: struct ork_fence
 * @ORK_LIVE_ATTACHMENTS: address spaces that IOMMUs have attached, each for every IOMMU
 * @ORK_LIVE_KINDS: how many kinds there are
 */
enum ork_live {
	ORK_LIVE_FILES,
	ORK_LIVE_VMS,
	ORK_LIVE_BOS,
	ORK_LIVE_MAPPINGS,
	ORK_LIVE_JOBS,
	ORK_LIVE_FENCES,
	ORK_LIVE_ATTACHMENTS,
	ORK_LIVE_KINDS,
};

/* Of the module, not of a device: some outlive it. */
extern atomic_t ork_live[ORK_LIVE_KINDS];

static inline void ork_live_inc(enum ork_live kind)
{
	atomic_inc(&ork_live[kind]);
}

static inline void ork_live_dec(enum ork_live kind)
{
	atomic_dec(&ork_live[kind]);
}

#endif

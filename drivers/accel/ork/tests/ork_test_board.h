/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_TEST_BOARD_H__
#define __ORK_TEST_BOARD_H__

#include <linux/atomic.h>

#include <kunit/test.h>

#include "../ork_device.h"
#include "../ork_job.h"

#define ORK_BOARD_FILES		4

/**
 * struct ork_board - a device whose registers are memory
 * @ork: the device; nothing runs but what a test says has run
 * @files: open files of it
 * @vms: their address spaces, without page tables
 * @asked: by IOMMU, how often its work was queued since the last switch
 *
 * A register reads as what was written last, by the driver or by the test.
 */
struct ork_board {
	struct ork_device ork;
	struct ork_file files[ORK_BOARD_FILES];
	struct ork_vm vms[ORK_BOARD_FILES];
	atomic_t asked[ORK_MAX_CORES];
};

struct ork_board *ork_board_create(struct kunit *test, unsigned int cores, bool shared);
void ork_board_attach_all(struct ork_board *board, unsigned int file);

struct ork_job *ork_board_job(struct kunit *test, struct ork_board *board, unsigned int file,
			      u32 priority, u32 core_mask);
void ork_board_submit(struct ork_board *board, struct ork_job *job);
struct ork_job *ork_board_submit_new(struct kunit *test, struct ork_board *board,
				     unsigned int file, u32 core_mask);
struct ork_job *ork_board_complete(struct ork_board *board, unsigned int core);
bool ork_board_switch(struct ork_board *board, unsigned int mmu, int error);
bool ork_board_ended(const struct ork_job *job);

u32 ork_board_read(struct ork_board *board, unsigned int core, u32 reg);
void ork_board_write(struct ork_board *board, unsigned int core, u32 reg, u32 value);

struct dma_fence *ork_test_fence(struct kunit *test);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_QUEUE_H__
#define __ORK_QUEUE_H__

#include <linux/list.h>

#include <drm/ork_drm.h>

#include "ork_node.h"

struct ork_device;
struct ork_job;
struct ork_vm;

#define ORK_CORE_MASKS		BIT(ORK_MAX_CORES)

/**
 * struct ork_queue - jobs of one file and priority that wait for nothing but a core
 * @vm: their address space
 * @priority: enum drm_ork_priority
 * @turn: in ork->queues while there are jobs
 * @jobs: by the cores that they allow, oldest first
 * @num_jobs: of all these
 */
struct ork_queue {
	struct ork_vm *vm;
	u32 priority;
	struct list_head turn;
	struct list_head jobs[ORK_CORE_MASKS];
	u32 num_jobs;
};

void ork_queue_init(struct ork_queue *queue, struct ork_vm *vm, u32 priority);
void ork_queue_add_locked(struct ork_device *ork, struct ork_job *job);
void ork_queue_take_locked(struct ork_job *job);
void ork_queue_turn_locked(struct ork_device *ork, struct ork_queue *queue);

#endif

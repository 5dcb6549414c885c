// SPDX-License-Identifier: GPL-2.0-only
/*
 * Jobs that wait for a core, and whose turn it is.
 *
 * Files take turns: the queue from which a job was started goes behind all others of its priority.
 * Within a queue, jobs that allow different cores do not wait for each other; those that allow the
 * same start in the order in which they came.
 */

#include <linux/spinlock.h>

#include "ork_device.h"
#include "ork_job.h"
#include "ork_queue.h"

/* Of two priorities, which one goes first. */
static unsigned int ork_queue_rank(const struct ork_queue *queue)
{
	static const unsigned int ranks[] = {
		[DRM_ORK_PRIORITY_LOW] = 0,
		[DRM_ORK_PRIORITY_NORMAL] = 1,
		[DRM_ORK_PRIORITY_HIGH] = 2,
	};

	return ranks[queue->priority];
}

/**
 * ork_queue_init() - an empty queue
 * @queue: the queue
 * @vm: address space of its jobs
 * @priority: enum drm_ork_priority
 */
void ork_queue_init(struct ork_queue *queue, struct ork_vm *vm, u32 priority)
{
	unsigned int i;

	queue->vm = vm;
	queue->priority = priority;
	queue->num_jobs = 0;
	INIT_LIST_HEAD(&queue->turn);
	for (i = 0; i < ORK_CORE_MASKS; i++)
		INIT_LIST_HEAD(&queue->jobs[i]);
}

/**
 * ork_queue_turn_locked() - a queue has had its turn
 * @ork: the device
 * @queue: a queue with jobs; it goes behind all others of its priority
 *
 * Context: any; under ork->lock.
 */
void ork_queue_turn_locked(struct ork_device *ork, struct ork_queue *queue)
{
	struct ork_queue *other;

	lockdep_assert_held(&ork->lock);
	list_del_init(&queue->turn);
	list_for_each_entry_reverse(other, &ork->queues, turn)
		if (ork_queue_rank(other) >= ork_queue_rank(queue))
			break;
	list_add(&queue->turn, &other->turn);
}

/**
 * ork_queue_add_locked() - a job waits for a core
 * @ork: the device
 * @job: a job that waits for nothing else
 *
 * Context: any; under ork->lock.
 */
void ork_queue_add_locked(struct ork_device *ork, struct ork_job *job)
{
	struct ork_queue *queue = job->queue;

	lockdep_assert_held(&ork->lock);
	job->order = ork->order++;
	list_add_tail(&job->link, &queue->jobs[job->core_mask]);
	if (!queue->num_jobs++)
		ork_queue_turn_locked(ork, queue);
}

/**
 * ork_queue_take_locked() - a job waits no more
 * @job: a job in its queue
 *
 * Context: any; under ork->lock.
 */
void ork_queue_take_locked(struct ork_job *job)
{
	struct ork_queue *queue = job->queue;

	list_del_init(&job->link);
	if (!--queue->num_jobs)
		list_del_init(&queue->turn);
}

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_JOB_H__
#define __ORK_JOB_H__

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/workqueue.h>

struct drm_file;
struct drm_ork_extent;
struct ork_bo;
struct ork_dependency;
struct ork_extent;
struct ork_fence;
struct ork_file;
struct ork_hold;
struct ork_mapping;
struct ork_queue;
struct ork_task;

/**
 * struct ork_job_bo - an object that a job uses
 * @bo: the object; a reference on it is among the job's extents
 * @mapping: where it lies in the job's address space; referenced
 * @read: the job reads it
 * @write: the job writes it
 */
struct ork_job_bo {
	struct ork_bo *bo;
	struct ork_mapping *mapping;
	bool read;
	bool write;
};

/**
 * struct ork_job - tasks that run in order on one core
 * @ref: one for the submit that makes it, and one for the list or core that has it
 * @ofile: whose it is; referenced
 * @fence: tells its end
 * @tasks: its chains
 * @num_tasks: how many
 * @extents: what it reads and writes
 * @num_extents: how many
 * @bos: the objects of @extents, each once
 * @num_bos: how many
 * @hold: what it may use beside @extents, or NULL: nothing
 * @dependencies: what it waits for before it is dispatched
 * @num_dependencies: how many
 * @unmet: how many of them have not signalled; 0: it is ready
 * @waits: it is in ork->waiting; under ork->lock
 * @queue: where it waits for a core
 * @order: place among the jobs of all queues; under ork->lock
 * @core_mask: cores that may run it
 * @timeout: jiffies that it may go without finishing a program
 * @link: in ork->waiting, ready or ended, or in @queue; under ork->lock
 * @done: in ork->done
 * @status: how it ended; like all below written under ork->lock, and read when it has ended
 * @cores: the core that has run it, as a mask; 0: none has
 * @reset: a core was reset because of it
 * @busy_ns: time on that core, of completed chains
 * @begin_ns: when its first chain was started
 * @end_ns: when its last one completed, or was taken from the core
 * @programs: finished by completed chains
 * @interrupts: of completed chains
 */
struct ork_job {
	struct kref ref;
	struct ork_file *ofile;
	struct ork_fence *fence;

	struct ork_task *tasks;
	u32 num_tasks;
	struct ork_extent *extents;
	u32 num_extents;
	struct ork_job_bo *bos;
	u32 num_bos;
	struct ork_hold *hold;
	struct ork_dependency *dependencies;
	u32 num_dependencies;
	atomic_t unmet;
	bool waits;
	struct ork_queue *queue;
	u64 order;
	u32 core_mask;
	unsigned long timeout;

	struct list_head link;
	struct llist_node done;
	int status;
	u32 cores;
	bool reset;
	u64 busy_ns;
	u64 begin_ns;
	u64 end_ns;
	u32 programs;
	u32 interrupts;
};

struct ork_job *ork_job_create(struct ork_file *ofile, struct ork_queue *queue);
void ork_job_put(struct ork_job *job);
int ork_job_set_extents(struct ork_job *job, struct drm_file *file,
			const struct drm_ork_extent *args, u32 count);
bool ork_job_holds(struct ork_job *job, u64 iova, u64 bytes);
void ork_job_queue(struct ork_job *job);
void ork_job_ready(struct ork_job *job);
void ork_job_end(struct ork_job *job);
void ork_jobs_settle(struct work_struct *work);
void ork_jobs_release(struct work_struct *work);
u32 ork_unique_pointers(void **pointers, u32 count);

#if IS_ENABLED(CONFIG_KUNIT)
int ork_job_collect_bos(struct ork_job *job);
#endif

#endif

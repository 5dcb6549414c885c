// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files for people and tests who want to see what the driver holds and does.
 */

#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "ork_compat.h"
#include "ork_debugfs.h"
#include "ork_device.h"
#include "ork_fault.h"
#include "ork_job.h"
#include "ork_live.h"

atomic_t ork_live[ORK_LIVE_KINDS];

static const char *const ork_live_names[ORK_LIVE_KINDS] = {
	[ORK_LIVE_FILES] = "files",
	[ORK_LIVE_VMS] = "vms",
	[ORK_LIVE_BOS] = "bos",
	[ORK_LIVE_MAPPINGS] = "mappings",
	[ORK_LIVE_JOBS] = "jobs",
	[ORK_LIVE_FENCES] = "fences",
	[ORK_LIVE_ATTACHMENTS] = "attachments",
};

static int ork_debugfs_live(struct seq_file *m, void *unused)
{
	unsigned int i;

	/* A fence that has lost its last reference is freed after a grace period: not "now". */
	rcu_barrier();
	for (i = 0; i < ORK_LIVE_KINDS; i++)
		seq_printf(m, "%s %d\n", ork_live_names[i], atomic_read(&ork_live[i]));
	return 0;
}

/**
 * ork_debugfs_comm() - the name of a process
 * @pid: the process
 * @comm: where it goes, or "-" if the process is gone
 */
void ork_debugfs_comm(struct pid *pid, char comm[TASK_COMM_LEN])
{
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_TGID);
	strscpy(comm, task ? task->comm : "-", TASK_COMM_LEN);
	rcu_read_unlock();
}

/* The name goes last, for it may have spaces; it is the process's own choice. */
static void ork_debugfs_print_client(struct seq_file *m, u64 client, struct pid *pid)
{
	char comm[TASK_COMM_LEN];

	ork_debugfs_comm(pid, comm);
	seq_printf(m, "client %llu pid %d comm ", client, pid_vnr(pid));
	seq_escape(m, comm, "\n\\");
	seq_putc(m, '\n');
}

/* --- cores ---------------------------------------------------------------------- */

/**
 * struct ork_core_view - a core at one moment
 * @state: what it does
 * @client: whose job it runs, if it runs one
 * @pid: the client's process, referenced; NULL if it runs none
 * @task: which task of the job
 * @tasks: how many the job has
 * @done: programs of that task that have finished
 * @programs: how many it has
 * @stats: its counters
 */
struct ork_core_view {
	const char *state;
	u64 client;
	struct pid *pid;
	u32 task;
	u32 tasks;
	u32 done;
	u32 programs;
	struct drm_ork_counters stats;
};

static const char *ork_core_state(const struct ork_core *core)
{
	if (core->lost)
		return "lost";
	if (core->job)
		return "running";
	return core->ready ? "idle" : "resetting";
}

static void ork_core_look(struct ork_core *core, struct ork_core_view *view)
{
	struct ork_job *job;
	unsigned long flags;

	memset(view, 0, sizeof(*view));
	spin_lock_irqsave(&core->ork->lock, flags);
	view->state = ork_core_state(core);
	view->stats = core->stats;
	view->stats.switches = core->mmu->switches;
	job = core->job;
	if (job) {
		view->client = job->ofile->client;
		view->pid = get_pid(job->ofile->pid);
		view->task = core->task;
		view->tasks = job->num_tasks;
		view->done = ork_core_count(core);
		view->programs = job->tasks[core->task].programs;
	}
	spin_unlock_irqrestore(&core->ork->lock, flags);
}

static void ork_core_print(struct seq_file *m, const struct ork_core_view *view)
{
	const struct drm_ork_counters *stats = &view->stats;

	seq_printf(m, "\tjobs %llu programs %llu interrupts %llu busy_ns %llu switches %llu resets %llu\n",
		   stats->jobs, stats->programs, stats->interrupts, stats->busy_ns,
		   stats->switches, stats->resets);
	if (!view->pid)
		return;
	seq_printf(m, "\ttask %u of %u program %u of %u\n\t", view->task, view->tasks, view->done,
		   view->programs);
	ork_debugfs_print_client(m, view->client, view->pid);
}

static int ork_debugfs_cores(struct seq_file *m, void *unused)
{
	struct drm_device *drm = ork_compat_debugfs_device(m);
	struct ork_device *ork = to_ork_device(drm);
	struct ork_core_view view;
	unsigned int i;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	for (i = 0; i < ork->num_cores; i++) {
		ork_core_look(&ork->cores[i], &view);
		seq_printf(m, "core %u %s\n", i, view.state);
		ork_core_print(m, &view);
		put_pid(view.pid);
	}
	drm_dev_exit(idx);
	return 0;
}

/* --- open files ----------------------------------------------------------------- */

/* Those that wait for other jobs or fences, those that wait for a core, and those on one. */
static void ork_debugfs_print_jobs(struct seq_file *m, struct ork_file *ofile)
{
	unsigned int active, i, staged = 0, running = 0;
	struct ork_device *ork = ofile->ork;
	unsigned long flags;

	spin_lock_irqsave(&ork->lock, flags);
	for (i = 0; i < ARRAY_SIZE(ofile->queues); i++)
		staged += ofile->queues[i].num_jobs;
	for (i = 0; i < ork->num_cores; i++)
		running += ork->cores[i].job && ork->cores[i].job->ofile == ofile;
	active = atomic_read(&ofile->active);
	spin_unlock_irqrestore(&ork->lock, flags);

	/* A job that its core has left is none of these until its fence has signalled. */
	seq_printf(m, "waiting %u staged %u running %u ",
		   active - min(active, staged + running), staged, running);
	ork_debugfs_print_client(m, ofile->client, ofile->pid);
}

static u32 ork_vm_mmus(struct ork_device *ork, const struct ork_vm *vm)
{
	unsigned long flags;
	unsigned int i;
	u32 mmus = 0;

	spin_lock_irqsave(&ork->lock, flags);
	for (i = 0; i < ork->num_mmus; i++)
		if (ork->mmus[i].vm == vm)
			mmus |= BIT(i);
	spin_unlock_irqrestore(&ork->lock, flags);
	return mmus;
}

static void ork_debugfs_print_objects(struct seq_file *m, struct ork_vm *vm)
{
	struct drm_mm_node *node;
	u64 bytes = 0;
	u32 objects = 0;

	mutex_lock(&vm->lock);
	drm_mm_for_each_node(node, &vm->mm) {
		u64 size = node->size - ORK_GUARD_SIZE;

		seq_printf(m, "\t%#010llx-%#010llx %llu\n", node->start, node->start + size - 1,
			   size);
		bytes += size;
		objects++;
	}
	mutex_unlock(&vm->lock);
	seq_printf(m, "\tobjects %u bytes %llu\n", objects, bytes);
}

static void ork_debugfs_print_vm(struct seq_file *m, struct ork_file *ofile)
{
	seq_printf(m, "iommus %#x ", ork_vm_mmus(ofile->ork, ofile->vm));
	ork_debugfs_print_client(m, ofile->client, ofile->pid);
	ork_debugfs_print_objects(m, ofile->vm);
}

typedef void (*ork_debugfs_print_file)(struct seq_file *m, struct ork_file *ofile);

static void ork_debugfs_print_files_of(struct seq_file *m, struct drm_device *drm,
				       ork_debugfs_print_file print)
{
	struct drm_file *file;

	/* A file is taken from the list before its ork_file goes. */
	mutex_lock(&drm->filelist_mutex);
	list_for_each_entry_reverse(file, &drm->filelist, lhead)
		print(m, file->driver_priv);
	mutex_unlock(&drm->filelist_mutex);
}

/* Of both devices: the second one lives as long as this file at least. */
static int ork_debugfs_print_files(struct seq_file *m, ork_debugfs_print_file print)
{
	struct drm_device *drm = ork_compat_debugfs_device(m);
	struct drm_device *rocket = to_ork_device(drm)->rocket;

	ork_debugfs_print_files_of(m, drm, print);
	if (rocket)
		ork_debugfs_print_files_of(m, rocket, print);
	return 0;
}

static int ork_debugfs_staged(struct seq_file *m, void *unused)
{
	return ork_debugfs_print_files(m, ork_debugfs_print_jobs);
}

static int ork_debugfs_vms(struct seq_file *m, void *unused)
{
	return ork_debugfs_print_files(m, ork_debugfs_print_vm);
}

static const struct ork_compat_debugfs_file ork_debugfs_files[] = {
	{ "live", ork_debugfs_live },
	{ "cores", ork_debugfs_cores },
	{ "staged", ork_debugfs_staged },
	{ "vms", ork_debugfs_vms },
};

/**
 * ork_debugfs_init() - make the device's files
 * @ork: the device, registered
 *
 * They go when the device is unregistered, which waits for readers and comes before cores go.
 */
void ork_debugfs_init(struct ork_device *ork)
{
	ork_compat_debugfs_add(&ork->drm, ork_debugfs_files, ARRAY_SIZE(ork_debugfs_files));
	ork_fault_init(ork);
}

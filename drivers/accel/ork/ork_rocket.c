// SPDX-License-Identifier: GPL-2.0-only
/*
 * A second DRM device, for programs that were written for mainline's rocket: that driver's name and
 * its four ioctls, over the same objects, jobs and cores.
 *
 * Its jobs name only what they read from and write to each other. Weights and programs are in no
 * list, so a job holds everything that its file has mapped when it is submitted. Caches are
 * maintained when the program says so, and not by jobs: FINI_BO cleans an object, PREP_BO
 * invalidates one that a job has named as its output since.
 *
 * Mesa's programs for depthwise convolutions of few channels write up to twice as much as it
 * allocates. With mainline's driver that goes to what lies behind; here to a sink.
 */

#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>
#include <drm/ork_drm.h>
#include <drm/ork_regs.h>

#include "ork_array.h"
#include "ork_compat.h"
#include "ork_device.h"
#include "ork_fdinfo.h"
#include "ork_fence.h"
#include "ork_file.h"
#include "ork_gem.h"
#include "ork_hold.h"
#include "ork_job.h"
#include "ork_launch.h"
#include "ork_prime.h"
#include "ork_rocket.h"
#include "ork_rocket_abi.h"
#include "ork_sync.h"
#include "ork_watchdog.h"

/* Mainline knows no limits. A network has as many jobs as layers. */
#define ORK_ROCKET_MAX_JOBS	1024

/* The last words of a program, and what the first two of them tell the next one's fetch. */
#define ORK_ROCKET_TAIL_WORDS	4

static bool ork_rocket_uapi;
module_param_named(rocket_uapi, ork_rocket_uapi, bool, 0444);
MODULE_PARM_DESC(rocket_uapi, "Add a device for programs that were written for mainline's rocket");

/* --- objects ------------------------------------------------------------------ */

/**
 * struct ork_rocket_bo - an object of the second device
 * @base: the object
 * @written: fence of the last job that names it as output, unless that has ended well and the CPU's
 *	caches have been invalidated since; or NULL. Under the object's reservation
 * @shared: it has been exported: others may write to it
 */
struct ork_rocket_bo {
	struct ork_bo base;
	struct dma_fence *written;
	bool shared;
};

static struct ork_rocket_bo *to_ork_rocket_bo(struct drm_gem_object *obj)
{
	return container_of(to_ork_bo(obj), struct ork_rocket_bo, base);
}

static void ork_rocket_gem_free(struct drm_gem_object *obj)
{
	dma_fence_put(to_ork_rocket_bo(obj)->written);
	ork_gem_funcs.free(obj);
}

/* Those of other objects, apart from the end; filled in before there is an object. */
static struct drm_gem_object_funcs ork_rocket_gem_funcs __ro_after_init;

static struct drm_gem_object *ork_rocket_gem_create_object(struct drm_device *drm, size_t size)
{
	struct ork_rocket_bo *rbo = kzalloc(sizeof(*rbo), GFP_KERNEL);

	if (!rbo)
		return ERR_PTR(-ENOMEM);
	ork_gem_init(&rbo->base);
	rbo->base.base.base.funcs = &ork_rocket_gem_funcs;
	return &rbo->base.base.base;
}

static int ork_rocket_create_bo_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_rocket_create_bo *args = data;
	struct drm_ork_bo_create create = { .size = args->size };
	int ret = ork_bo_create_ioctl(drm, &create, file);

	args->handle = create.handle;
	args->dma_address = create.iova;
	args->offset = create.mmap_offset;
	return ret;
}

static struct dma_buf *ork_rocket_export(struct drm_gem_object *obj, int flags)
{
	WRITE_ONCE(to_ork_rocket_bo(obj)->shared, true);
	return ork_prime_export(obj, flags);
}

/* Like mainline's, it takes back what is its own, and nothing else. */
static struct drm_gem_object *ork_rocket_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	return ork_prime_own(drm, dma_buf) ?: ERR_PTR(-EINVAL);
}

static struct dma_fence *ork_rocket_get_written(struct ork_rocket_bo *rbo)
{
	struct dma_resv *resv = rbo->base.base.base.resv;
	struct dma_fence *fence;

	dma_resv_lock(resv, NULL);
	fence = dma_fence_get(rbo->written);
	dma_resv_unlock(resv);
	return fence;
}

static void ork_rocket_set_written(struct ork_rocket_bo *rbo, struct dma_fence *fence)
{
	struct dma_resv *resv = rbo->base.base.base.resv;

	dma_resv_lock(resv, NULL);
	dma_fence_put(rbo->written);
	rbo->written = dma_fence_get(fence);
	dma_resv_unlock(resv);
}

/* Unless another job has been submitted meanwhile. */
static void ork_rocket_clear_written(struct ork_rocket_bo *rbo, struct dma_fence *fence)
{
	struct dma_resv *resv = rbo->base.base.base.resv;

	dma_resv_lock(resv, NULL);
	if (rbo->written == fence) {
		dma_fence_put(fence);
		rbo->written = NULL;
	}
	dma_resv_unlock(resv);
}

/*
 * What a job wrote becomes visible. That it has failed is told until another one has written the
 * object. A fence that has not signalled is of a job that is just being submitted, or never was.
 */
static int ork_rocket_see(struct ork_file *ofile, struct ork_rocket_bo *rbo,
			  struct dma_fence *written)
{
	struct ork_extent whole = {
		.bo = &rbo->base,
		.rows = 1,
		.length = rbo->base.base.base.size,
	};

	if (written || READ_ONCE(rbo->shared))
		ork_extent_invalidate(ofile, &whole);
	if (!written || !dma_fence_is_signaled(written))
		return 0;
	if (ork_fence_error(written))
		return -EIO;
	ork_rocket_clear_written(rbo, written);
	return 0;
}

/* The object that PREP_BO or FINI_BO names, referenced, or an ERR_PTR(). */
static struct drm_gem_object *ork_rocket_lookup(struct drm_device *drm, struct drm_file *file,
						u32 handle, u32 reserved)
{
	struct drm_gem_object *obj;

	if (reserved) {
		drm_dbg(drm, "reserved is %u, not 0\n", reserved);
		return ERR_PTR(-EINVAL);
	}
	obj = drm_gem_object_lookup(file, handle);
	if (!obj) {
		drm_dbg(drm, "no object %u\n", handle);
		return ERR_PTR(-ENOENT);
	}
	return obj;
}

static int ork_rocket_prep_bo_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_rocket_prep_bo *args = data;
	unsigned long timeout = drm_timeout_abs_to_jiffies(args->timeout_ns);
	struct drm_gem_object *obj;
	struct dma_fence *written;
	long ret;

	obj = ork_rocket_lookup(drm, file, args->handle, args->reserved);
	if (IS_ERR(obj))
		return PTR_ERR(obj);

	/* Before the wait: for a job that is submitted meanwhile, PREP_BO is called again. */
	written = ork_rocket_get_written(to_ork_rocket_bo(obj));
	ret = dma_resv_wait_timeout(obj->resv, DMA_RESV_USAGE_READ, true, timeout);
	if (!ret)
		ret = timeout ? -ETIMEDOUT : -EBUSY;
	else if (ret > 0)
		ret = ork_rocket_see(file->driver_priv, to_ork_rocket_bo(obj), written);
	dma_fence_put(written);
	drm_gem_object_put(obj);
	return ret;
}

static int ork_rocket_fini_bo_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_rocket_fini_bo *args = data;
	struct ork_extent whole = { .rows = 1 };
	struct drm_gem_object *obj;

	obj = ork_rocket_lookup(drm, file, args->handle, args->reserved);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	whole.bo = to_ork_bo(obj);
	whole.length = obj->size;
	ork_extent_clean(file->driver_priv, &whole);
	drm_gem_object_put(obj);
	return 0;
}

/* --- jobs --------------------------------------------------------------------- */

/* Adds the objects of a list to a job's extents. */
static int ork_rocket_get_list(u64 ptr, u32 count, u32 flags, struct drm_ork_extent *extents)
{
	u32 *handles, i;

	if (!count)
		return 0;
	handles = vmemdup_user(u64_to_user_ptr(ptr), count * sizeof(*handles));
	if (IS_ERR(handles))
		return PTR_ERR(handles);
	for (i = 0; i < count; i++)
		extents[i] = (struct drm_ork_extent) {
			.handle = handles[i],
			.flags = flags | DRM_ORK_EXTENT_NO_SYNC,
		};
	kvfree(handles);
	return 0;
}

static int ork_rocket_get_lists(struct ork_job *job, struct drm_file *file,
				const struct ork_rocket_job *args)
{
	u32 ins = args->in_bo_handle_count, outs = args->out_bo_handle_count;
	struct drm_device *drm = &job->ofile->ork->drm;
	struct drm_ork_extent *extents;
	int ret;

	if (ins > DRM_ORK_MAX_EXTENTS || outs > DRM_ORK_MAX_EXTENTS) {
		drm_dbg(drm, "%u in and %u out handles, %u at most\n", ins, outs,
			DRM_ORK_MAX_EXTENTS);
		return -EINVAL;
	}
	extents = kvcalloc(ins + outs, sizeof(*extents), GFP_KERNEL);
	if (!extents)
		return -ENOMEM;
	ret = ork_rocket_get_list(args->in_bo_handles, ins, DRM_ORK_EXTENT_READ, extents);
	if (!ret)
		ret = ork_rocket_get_list(args->out_bo_handles, outs, DRM_ORK_EXTENT_WRITE,
					  extents + ins);
	if (!ret)
		ret = ork_job_set_extents(job, file, extents, ins + outs);
	kvfree(extents);
	return ret;
}

static int ork_rocket_check_task(const struct ork_job *job, const struct ork_rocket_task *task)
{
	u64 words = round_up((u64)task->regcmd_count, ORK_PROGRAM_BEAT_WORDS);

	if (!words || words > DRM_ORK_MAX_WORDS || task->regcmd % ORK_PROGRAM_ALIGN)
		return -EINVAL;
	return ork_hold_covers(job->hold, task->regcmd, words * sizeof(u64)) ? 0 : -EINVAL;
}

/*
 * Whether a program fetches the next one by itself. A program may be changed after that; then it
 * does what it would have done anyway, in its own address space, until the watchdog looks.
 */
static bool ork_rocket_is_linked(const struct ork_job *job, const struct ork_rocket_task *task)
{
	const struct ork_rocket_task *next = task + 1;
	u64 tail;

	if (task->regcmd_count < ORK_ROCKET_TAIL_WORDS)
		return false;
	tail = task->regcmd + (task->regcmd_count - ORK_ROCKET_TAIL_WORDS) * sizeof(u64);
	return ork_hold_read(job->hold, tail) ==
		       ORK_REGCMD(ORK_TARGET_PC, ORK_PC_BASE_ADDRESS, next->regcmd) &&
	       ork_hold_read(job->hold, tail + sizeof(u64)) ==
		       ORK_REGCMD(ORK_TARGET_PC, ORK_PC_REGISTER_AMOUNTS,
				  ORK_PC_AMOUNT(next->regcmd_count));
}

/* Programs that fetch each other become one task, with one start and one interrupt. */
static void ork_rocket_add_tasks(struct ork_job *job, const struct ork_rocket_task *user,
				 u32 count)
{
	struct ork_task *task = NULL;
	u32 i;

	for (i = 0; i < count; i++) {
		if (task && task->programs < DRM_ORK_MAX_PROGRAMS &&
		    ork_rocket_is_linked(job, &user[i - 1])) {
			task->programs++;
			continue;
		}
		task = &job->tasks[job->num_tasks++];
		*task = (struct ork_task) {
			.iova = user[i].regcmd,
			.words = round_up(user[i].regcmd_count, ORK_PROGRAM_BEAT_WORDS),
			.programs = 1,
		};
	}
}

static int ork_rocket_get_tasks(struct ork_job *job, const struct ork_rocket_job *args)
{
	struct drm_ork_array array = { args->tasks, args->task_count, args->task_struct_size };
	struct drm_device *drm = &job->ofile->ork->drm;
	struct ork_rocket_task *user;
	int ret = 0;
	u32 i;

	if (!array.count) {
		drm_dbg(drm, "a job without tasks\n");
		return -EINVAL;
	}
	user = ork_array_copy(drm, "tasks", &array, sizeof(*user), DRM_ORK_MAX_TASKS);
	if (IS_ERR(user))
		return PTR_ERR(user);

	for (i = 0; i < array.count && !ret; i++) {
		ret = ork_rocket_check_task(job, &user[i]);
		if (ret)
			drm_dbg(drm, "task %u: regcmd %#x count %u: %d\n", i, user[i].regcmd,
				user[i].regcmd_count, ret);
	}
	if (!ret) {
		job->tasks = kvcalloc(array.count, sizeof(*job->tasks), GFP_KERNEL_ACCOUNT);
		ret = job->tasks ? 0 : -ENOMEM;
	}
	if (!ret)
		ork_rocket_add_tasks(job, user, array.count);
	kvfree(user);
	return ret;
}

static int ork_rocket_fill_job(struct ork_job *job, struct drm_file *file,
			       const struct ork_rocket_job *args)
{
	int ret = ork_rocket_get_tasks(job, args);

	job->core_mask = BIT(job->ofile->ork->num_cores) - 1;
	job->timeout = msecs_to_jiffies(ork_watchdog_default_ms());
	return ret ?: ork_rocket_get_lists(job, file, args);
}

static int ork_rocket_add_job(struct ork_launch *launch, struct ork_hold *hold,
			      struct drm_file *file, const struct ork_rocket_job *args)
{
	struct ork_file *ofile = launch->ofile;
	struct ork_job *job;

	job = ork_job_create(ofile, &ofile->queues[DRM_ORK_PRIORITY_NORMAL]);
	if (IS_ERR(job))
		return PTR_ERR(job);
	launch->jobs[launch->num_jobs++] = job;
	job->hold = ork_hold_get(hold);
	return ork_rocket_fill_job(job, file, args);
}

static int ork_rocket_add_jobs(struct ork_launch *launch, struct drm_file *file,
			       const struct ork_rocket_job *user, u32 count)
{
	struct ork_hold *hold = ork_hold_create(launch->ofile->vm);
	int ret = 0;
	u32 i;

	if (!hold)
		return -ENOMEM;
	for (i = 0; i < count && !ret; i++) {
		ret = ork_rocket_add_job(launch, hold, file, &user[i]);
		if (ret)
			drm_dbg(&launch->ofile->ork->drm, "job %u is refused: %d\n", i, ret);
	}
	ork_hold_put(hold);
	return ret;
}

/* Before they are launched: who calls PREP_BO afterwards is to see what they wrote. */
static void ork_rocket_note_outputs(const struct ork_launch *launch)
{
	u32 i, j;

	for (i = 0; i < launch->num_jobs; i++) {
		struct ork_job *job = launch->jobs[i];

		for (j = 0; j < job->num_bos; j++) {
			struct ork_rocket_bo *rbo = to_ork_rocket_bo(&job->bos[j].bo->base.base);

			if (job->bos[j].write)
				ork_rocket_set_written(rbo, &job->fence->base);
		}
	}
}

static int ork_rocket_run(struct ork_launch *launch, struct drm_file *file,
			  const struct ork_rocket_job *user, u32 count)
{
	int ret = -ENOMEM;
	u32 i;

	launch->jobs = kvcalloc(count, sizeof(*launch->jobs), GFP_KERNEL);
	if (launch->jobs)
		ret = ork_rocket_add_jobs(launch, file, user, count);
	if (!ret) {
		ork_rocket_note_outputs(launch);
		ret = ork_launch_run(launch);
	}
	for (i = 0; i < launch->num_jobs; i++)
		ork_job_put(launch->jobs[i]);
	kvfree(launch->jobs);
	return ret;
}

static int ork_rocket_submit_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ork_rocket_submit *args = data;
	struct drm_ork_array array = { args->jobs, args->job_count, args->job_struct_size };
	struct ork_file *ofile = file->driver_priv;
	struct ork_launch launch = { .ofile = ofile, .implicit = true, .in_order = true };
	struct ork_rocket_job *user;
	int ret, idx;

	if (args->reserved) {
		drm_dbg(drm, "reserved is %llu, not 0\n", args->reserved);
		return -EINVAL;
	}
	ret = ork_file_may_submit(ofile);
	if (ret)
		return ret;
	user = ork_array_copy(drm, "jobs", &array, sizeof(*user), ORK_ROCKET_MAX_JOBS);
	if (IS_ERR_OR_NULL(user))
		return PTR_ERR_OR_ZERO(user);
	ret = -ENODEV;
	if (drm_dev_enter(drm, &idx)) {
		ret = ork_rocket_run(&launch, file, user, array.count);
		drm_dev_exit(idx);
	}
	kvfree(user);
	return ret;
}

/* --- the DRM device ------------------------------------------------------------ */

static int ork_rocket_open(struct drm_device *drm, struct drm_file *file)
{
	int ret = ork_file_open(drm, file);
	struct ork_file *ofile = file->driver_priv;

	if (ret)
		return ret;
	ret = ork_vm_add_sink(ofile->vm);
	if (ret)
		ork_file_postclose(drm, file);
	return ret;
}

/*
 * Its parent, for there is one DRM device to a device. Like the other one it has no IOMMU, and
 * lives as long as the module: objects are mapped for it.
 */
static struct platform_device *ork_rocket_parent;

#define ORK_ROCKET_IOCTL(name, function) \
	DRM_IOCTL_DEF_DRV(ORK_ROCKET_##name, function, DRM_RENDER_ALLOW)

static const struct drm_ioctl_desc ork_rocket_ioctls[] = {
	ORK_ROCKET_IOCTL(CREATE_BO, ork_rocket_create_bo_ioctl),
	ORK_ROCKET_IOCTL(SUBMIT, ork_rocket_submit_ioctl),
	ORK_ROCKET_IOCTL(PREP_BO, ork_rocket_prep_bo_ioctl),
	ORK_ROCKET_IOCTL(FINI_BO, ork_rocket_fini_bo_ioctl),
};

static const struct drm_driver ork_rocket_driver = {
	.driver_features = DRIVER_GEM | ORK_COMPAT_NODE,
	.open = ork_rocket_open,
	.postclose = ork_file_postclose,
	.ioctls = ork_rocket_ioctls,
	.num_ioctls = ARRAY_SIZE(ork_rocket_ioctls),
	.fops = &ork_file_ops,
	ORK_COMPAT_DRIVER_SHOW_FDINFO(ork_fdinfo_show)
	.gem_create_object = ork_rocket_gem_create_object,
	.gem_prime_import = ork_rocket_import,
	.prime_handle_to_fd = drm_gem_prime_handle_to_fd,
	.prime_fd_to_handle = drm_gem_prime_fd_to_handle,
	.name = "rocket",
	.desc = "Rockchip NPU, as mainline's driver has it",
	ORK_COMPAT_DATE("20261201")
};

static void ork_rocket_put_npu(struct drm_device *drm, void *data)
{
	struct ork_device *ork = data;

	drm_dev_put(&ork->drm);
}

static int ork_rocket_add(struct ork_device *ork, struct device *parent)
{
	struct ork_front *rocket;
	int ret;

	rocket = devm_drm_dev_alloc(parent, &ork_rocket_driver, struct ork_front, drm);
	if (IS_ERR(rocket))
		return PTR_ERR(rocket);
	rocket->npu = ork;
	drm_dev_get(&ork->drm);
	ret = drmm_add_action_or_reset(&rocket->drm, ork_rocket_put_npu, ork);
	if (!ret)
		ret = drm_dev_register(&rocket->drm, 0);
	if (!ret)
		ork->rocket = &rocket->drm;
	return ret;
}

/**
 * ork_rocket_register() - add the second device, if the module was asked to
 * @ork: the NPU, registered
 *
 * Return: 0 or a negative errno.
 */
int ork_rocket_register(struct ork_device *ork)
{
	struct device *parent;
	int ret;

	if (!ork_rocket_parent)
		return 0;
	parent = &ork_rocket_parent->dev;
	if (!devres_open_group(parent, ork, GFP_KERNEL))
		return -ENOMEM;
	ret = ork_rocket_add(ork, parent);
	if (ret)
		devres_release_group(parent, ork);
	return ret;
}

/**
 * ork_rocket_unplug() - take the second device away, if there is one
 * @ork: the NPU
 */
void ork_rocket_unplug(struct ork_device *ork)
{
	if (ork->rocket)
		drm_dev_unplug(ork->rocket);
}

/**
 * ork_rocket_release() - let go of the second device, if there is one
 * @ork: the NPU, whose jobs are gone, and the objects that they held with them
 */
void ork_rocket_release(struct ork_device *ork)
{
	if (ork->rocket)
		devres_release_group(&ork_rocket_parent->dev, ork);
	ork->rocket = NULL;
}

/**
 * ork_rocket_init() - get ready for the second device, if the module was asked for it
 * @npu: the first one's parent
 *
 * Return: 0 or a negative errno.
 */
int __init ork_rocket_init(struct device *npu)
{
	const struct platform_device_info info = {
		.parent = npu,
		.name = "ork-rocket",
		.id = PLATFORM_DEVID_NONE,
		.dma_mask = DMA_BIT_MASK(ORK_DMA_BITS),
	};
	struct platform_device *parent;

	if (!ork_rocket_uapi)
		return 0;
	ork_rocket_gem_funcs = ork_gem_funcs;
	ork_rocket_gem_funcs.free = ork_rocket_gem_free;
	ork_rocket_gem_funcs.export = ork_rocket_export;

	parent = platform_device_register_full(&info);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	dma_set_max_seg_size(&parent->dev, UINT_MAX);
	ork_rocket_parent = parent;
	return 0;
}

/**
 * ork_rocket_exit() - undo ork_rocket_init()
 */
void ork_rocket_exit(void)
{
	platform_device_unregister(ork_rocket_parent);
}

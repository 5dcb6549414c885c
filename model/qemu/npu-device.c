// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One core of the NPU as a device: registers, an interrupt, and a thread that does its work.
 *
 * Whether the interrupt line is high is worked out from the registers, under the BQL, after every
 * change. The level that the model reports is not used: by the time that a core's thread has passed
 * it on it may no longer be true.
 *
 * What a core does wrong with its status is the model's; what it does wrong with its lines and with
 * time is done here.
 */
#include "qemu/osdep.h"
#include "board.h"

#include "block/aio.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "sysemu/cpu-timers.h"

#include "iommu.h"

/* The longest that a core sleeps on after its reset, or after its time was made shorter. */
#define SLEEP_SLICE_US		1000

static bool completion_pending(OrkCore *s)
{
	return npu_core_read(s->npu, ORK_PC_INTERRUPT_RAW_STATUS) &
	       npu_core_read(s->npu, ORK_PC_INTERRUPT_MASK) & ORK_INT_ALL;
}

static bool fault_pending(OrkCore *s)
{
	uint32_t pending = npu_core_read(s->npu, NPU_IOMMU_BANK + NPU_IOMMU_INT_STATUS);

	if (s->index == 0)
		pending |= npu_core_read(s->npu, NPU_IOMMU_BANK_CORE0 + NPU_IOMMU_INT_STATUS);
	return pending;
}

static int64_t now_ns(OrkCore *s)
{
	return qemu_clock_get_ns(s->clock);
}

static enum telling how_to_tell(OrkCore *s)
{
	if (s->drop) {
		s->drop--;
		return TELL_NEVER;
	}
	return s->late_us ? TELL_LATE : TELL_NOW;
}

static void look_for_completion(OrkCore *s)
{
	struct npu_core_stats stats;

	npu_core_stats(s->npu, &stats);
	if (stats.interrupts == s->completions)
		return;
	s->completions = stats.interrupts;
	s->completed_ns = now_ns(s);
	s->telling = how_to_tell(s);
}

static bool is_late_enough(OrkCore *s, QEMUTimer *timer, int64_t since_ns, uint32_t late_us)
{
	int64_t due = since_ns + (int64_t)late_us * SCALE_US;

	if (now_ns(s) >= due)
		return true;
	timer_mod(timer, due);
	return false;
}

/* Follows the fault too: to be asked at every change. */
static bool tells_of_fault(OrkCore *s)
{
	bool before = s->faulted;

	s->faulted = fault_pending(s);
	if (!s->faulted)
		return false;
	if (!before)
		s->faulted_ns = now_ns(s);
	return is_late_enough(s, s->fault_timer, s->faulted_ns, s->fault_late_us);
}

static void set_raised(OrkCore *s, bool raised)
{
	bool fault = tells_of_fault(s);

	if (raised && !s->raised) {
		s->raised_ns = now_ns(s);
		s->in_gap = true;
	}
	s->raised = raised;
	qemu_set_irq(s->irq, raised || fault || s->noise);
}

/* BQL. */
static void update_irq(OrkCore *s)
{
	/*
	 * First: the model counts a completion and sets its status at once, so that one whose
	 * status is seen is then counted.
	 */
	bool pending = completion_pending(s);

	look_for_completion(s);
	if (s->telling == TELL_LATE &&
	    is_late_enough(s, s->late_timer, s->completed_ns, s->late_us))
		s->telling = TELL_NOW;
	set_raised(s, pending && s->telling == TELL_NOW);
}

/* Of bottom half and timer. */
static void update_irq_later(void *opaque)
{
	update_irq(opaque);
}

/* Whoever holds the BQL updates the line when the model returns. */
static void core_irq(void *opaque, bool level)
{
	if (!qemu_mutex_iothread_locked())
		aio_bh_schedule_oneshot(qemu_get_aio_context(), update_irq_later, opaque);
}

/* What a program takes beyond its work. */
static int64_t latency_ns(OrkCore *s)
{
	return ((int64_t)qatomic_read(&s->board->latency_us) + qatomic_read(&s->stretch_us)) *
	       SCALE_US;
}

/* The time of all the chain's programs passes before its work is done. */
static void schedule_run(OrkCore *s)
{
	uint32_t task_con = npu_core_read(s->npu, ORK_PC_TASK_CON);

	timer_mod(s->timer, s->kicked_ns +
		  ORK_GET(ORK_PC_TASK_CON_TASK_NUMBER, task_con) * latency_ns(s));
}

static void end_gap(OrkCore *s)
{
	int64_t gap = now_ns(s) - s->raised_ns;

	if (!s->in_gap)
		return;
	s->in_gap = false;
	s->gaps.count++;
	s->gaps.total_ns += gap;
	s->gaps.min_ns = MIN(gap, s->gaps.min_ns);
}

/* BQL: kicks are writes of registers. */
static void core_kick(void *opaque)
{
	OrkCore *s = opaque;

	end_gap(s);
	qatomic_set(&s->kicked_ns, now_ns(s));
	if (s->timer)
		schedule_run(s);
	else
		qemu_event_set(&s->kick);
}

static bool was_reset(OrkCore *s)
{
	return qatomic_read(&s->resets) != s->run_resets;
}

static void sleep_latency(OrkCore *s)
{
	int64_t start = now_ns(s), left;

	while ((left = start + latency_ns(s) - now_ns(s)) > 0 && !was_reset(s))
		g_usleep(MIN(left / SCALE_US + 1, SLEEP_SLICE_US));
}

static void core_program_done(void *opaque)
{
	OrkCore *s = opaque;
	int64_t now;

	if (!s->timer)
		sleep_latency(s);
	if (was_reset(s))
		return;
	now = now_ns(s);
	qatomic_set(&s->busy_ns, s->busy_ns + now - s->program_ns);
	s->program_ns = now;
}

static const struct npu_core_ops core_ops = {
	.irq = core_irq,
	.kick = core_kick,
	.program_done = core_program_done,
};

/* A kick between reset and run costs a run that finds nothing due. */
static void core_run(OrkCore *s)
{
	s->run_resets = qatomic_read(&s->resets);
	s->program_ns = qatomic_read(&s->kicked_ns);
	npu_core_run(s->npu);
}

/* Lives as long as the process. */
static void *core_thread(void *opaque)
{
	OrkCore *s = opaque;

	for (;;) {
		qemu_event_wait(&s->kick);
		qemu_event_reset(&s->kick);
		core_run(s);
	}
	return NULL;
}

static void core_timer(void *opaque)
{
	OrkCore *s = opaque;

	core_run(s);
	update_irq(s);
}

static bool is_of_iommu(hwaddr offset)
{
	return offset >= NPU_IOMMU_BANK_CORE0 && offset < NPU_IOMMU_BANK + NPU_IOMMU_BANK_BYTES;
}

/* Whether an access is lost. The IOMMU is not behind the core's reset lines. */
static bool out_of_reach(OrkCore *s, hwaddr offset)
{
	if (!s->held || is_of_iommu(offset))
		return false;
	s->accesses_in_reset++;
	return true;
}

static uint64_t core_read(void *opaque, hwaddr offset, unsigned int size)
{
	OrkCore *s = opaque;

	if (s->noise && is_of_iommu(offset)) {
		s->noise = false;
		update_irq(s);
	}
	return out_of_reach(s, offset) ? 0 : npu_core_read(s->npu, offset);
}

static void core_write(void *opaque, hwaddr offset, uint64_t value, unsigned int size)
{
	OrkCore *s = opaque;

	if (out_of_reach(s, offset))
		return;
	if (s->ignore && offset == ORK_PC_OPERATION_ENABLE &&
	    (value & ORK_PC_OPERATION_ENABLE_OP_EN)) {
		s->ignore--;
		return;
	}
	npu_core_write(s->npu, offset, value);
	update_irq(s);
}

static const MemoryRegionOps core_mmio_ops = {
	.read = core_read,
	.write = core_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 4, .max_access_size = 4 },
};

void board_core_hold(OrkCore *s, bool held)
{
	s->held = held;
	s->noise = held && s->noisy_resets;
	if (s->noise)
		s->noisy_resets--;
	if (held) {
		qatomic_inc(&s->resets);
		npu_core_reset(s->npu);
	}
	update_irq(s);
}

void board_core_assert(OrkCore *s, bool asserted)
{
	if (s->asserted == asserted)
		return;
	s->asserted = asserted;
	if (asserted && s->reset_fails)
		s->reset_fails--;
	else
		board_core_hold(s, asserted);
}

void board_core_changed(OrkCore *s)
{
	if (s->timer && timer_pending(s->timer))
		schedule_run(s);
	update_irq(s);
}

void board_core_behave(OrkCore *s)
{
	s->drop = 0;
	s->ignore = 0;
	s->late_us = 0;
	s->fault_late_us = 0;
	s->reset_fails = 0;
	s->noisy_resets = 0;
	qatomic_set(&s->stretch_us, 0);
	npu_core_misbehave(s->npu, NPU_STORM, 0);
	npu_core_misbehave(s->npu, NPU_STALL_ON_IGNORED, 0);
	npu_core_misbehave(s->npu, NPU_STALL_OFF_IGNORED, 0);
	board_core_changed(s);
}

void board_core_spurious(OrkCore *s)
{
	npu_core_spurious(s->npu);
	s->telling = TELL_NOW;
	update_irq(s);
}

void board_core_zero(OrkCore *s)
{
	s->in_gap = false;
	s->gaps = (struct board_gaps) { .min_ns = UINT32_MAX };
	s->zero_busy_ns = qatomic_read(&s->busy_ns);
	s->accesses_in_reset = 0;
}

uint64_t board_core_busy_ns(OrkCore *s)
{
	return qatomic_read(&s->busy_ns) - s->zero_busy_ns;
}

/*
 * With -icount time stands still for a thread of ours: the work is done at one point of virtual
 * time, after the chain's programs' latencies.
 */
static void start_working(OrkCore *s)
{
	g_autofree char *name = g_strdup_printf("npu-core%u", s->index);

	if (icount_enabled()) {
		s->timer = timer_new_ns(s->clock, core_timer, s);
		return;
	}
	qemu_event_init(&s->kick, false);
	qemu_thread_create(&s->thread, name, core_thread, s, QEMU_THREAD_DETACHED);
}

static void core_realize(DeviceState *dev, Error **errp)
{
	OrkCore *s = ORK_CORE(dev);

	s->npu = npu_core_new(s->index, s->board->cache, &core_ops, s);
	if (!s->npu) {
		error_setg(errp, "no memory for NPU core %u", s->index);
		return;
	}
	npu_core_set_window(s->npu, s->board->window_mode);
	s->clock = icount_enabled() ? QEMU_CLOCK_VIRTUAL : QEMU_CLOCK_REALTIME;
	board_core_zero(s);
	s->late_timer = timer_new_ns(s->clock, update_irq_later, s);
	s->fault_timer = timer_new_ns(s->clock, update_irq_later, s);
	start_working(s);
}

static void core_init(Object *obj)
{
	OrkCore *s = ORK_CORE(obj);

	memory_region_init_io(&s->mmio, obj, &core_mmio_ops, s, TYPE_ORK_CORE, ORK_CORE_WINDOW);
	sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->mmio);
	sysbus_init_irq(SYS_BUS_DEVICE(obj), &s->irq);
}

static void core_class_init(ObjectClass *oc, void *data)
{
	DeviceClass *dc = DEVICE_CLASS(oc);

	dc->realize = core_realize;
	dc->user_creatable = false;
	dc->desc = "one core of the RK3588's NPU, with its IOMMU";
}

OrkCore *board_core_new(OrkBoard *board, unsigned int index)
{
	OrkCore *s = ORK_CORE(qdev_new(TYPE_ORK_CORE));
	SysBusDevice *bus = SYS_BUS_DEVICE(s);

	s->board = board;
	s->index = index;
	sysbus_realize_and_unref(bus, &error_fatal);
	sysbus_mmio_map(bus, 0, ORK_BOARD_CORE_BASE(index));
	sysbus_connect_irq(bus, 0,
			   qdev_get_gpio_in(board->parent_obj.gic, ORK_BOARD_CORE_SPI(index)));
	return s;
}

static const TypeInfo core_type = {
	.name = TYPE_ORK_CORE,
	.parent = TYPE_SYS_BUS_DEVICE,
	.instance_size = sizeof(OrkCore),
	.instance_init = core_init,
	.class_init = core_class_init,
};

static void core_register(void)
{
	type_register_static(&core_type);
}
type_init(core_register)

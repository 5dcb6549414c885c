// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The machine "rk3588-npu": QEMU's virt machine with the RK3588's NPU in it, and caches that the
 * NPU does not snoop.
 *
 * Built as a shared object that a stock qemu-system-aarch64 takes by LD_PRELOAD: distributions link
 * it with its symbols exported, for its own modules. It must have been compiled with the headers of
 * that very QEMU, which is checked.
 *
 * What the board adds to "virt" and where is in ork-board.h. Properties, after "-M rk3588-npu":
 *   cache=strict|evict|coherent   what the cache does by itself; coherent: the NPU snoops (npu.h)
 *   seed=N                        of the evictions
 *   binding=mainline|vendor       how the device tree describes the NPU (fdt.c)
 *   windows=spoil|report          what a stale line beside a program's activations does (npu.h)
 *   npu-latency-us=N              time that each program takes beyond its computation
 *   npu-log=PATH                  counters and stale reads as text, written at shutdown (log.c)
 */
#include "qemu/osdep.h"
#include "board.h"

#include "cpu.h"
#include "exec/address-spaces.h"
#include "hw/boards.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-control.h"
#include "qapi/util.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/module.h"
#include "sysemu/reset.h"
#include "sysemu/tcg.h"

/* The newest "virt" of this QEMU: each release x.y brings one of its name. */
#define RELEASE	stringify(QEMU_VERSION_MAJOR) "." stringify(QEMU_VERSION_MINOR)
#define PARENT	MACHINE_TYPE_NAME("virt-" RELEASE)

const char *const board_cache_names[] = {
	[NPU_CACHE_STRICT] = "strict",
	[NPU_CACHE_EVICT] = "evict",
	[NPU_CACHE_COHERENT] = "coherent",
};

static const QEnumLookup cache_lookup = {
	.array = board_cache_names,
	.size = ARRAY_SIZE(board_cache_names),
};

static const char *const window_names[] = {
	[NPU_WINDOW_SPOIL] = "spoil",
	[NPU_WINDOW_REPORT] = "report",
};

static const QEnumLookup window_lookup = {
	.array = window_names,
	.size = ARRAY_SIZE(window_names),
};

static const char *const binding_names[] = {
	[BOARD_BINDING_MAINLINE] = "mainline",
	[BOARD_BINDING_VENDOR] = "vendor",
};

static const QEnumLookup binding_lookup = {
	.array = binding_names,
	.size = ARRAY_SIZE(binding_names),
};

/* --- the reset controller ------------------------------------------------------------------- */

static uint64_t reset_read(void *opaque, hwaddr offset, unsigned int size)
{
	OrkBoard *board = opaque;

	return offset == 0 ? board->reset_lines : 0;
}

static void set_reset_lines(OrkBoard *board, uint32_t lines)
{
	board->reset_lines = lines;
	for (unsigned int i = 0; i < ORK_MAX_CORES; i++) {
		uint32_t mine = ORK_BOARD_RESET_A(i) | ORK_BOARD_RESET_H(i);

		board_core_assert(board->core[i], lines & mine);
	}
}

static void reset_write(void *opaque, hwaddr offset, uint64_t value, unsigned int size)
{
	if (offset == 0)
		set_reset_lines(opaque, value);
}

static const MemoryRegionOps reset_ops = {
	.read = reset_read,
	.write = reset_write,
	.endianness = DEVICE_LITTLE_ENDIAN,
	.valid = { .min_access_size = 4, .max_access_size = 4 },
};

/* Power-on and reboot: every core sees its reset, whatever it did with those of the guest. */
static void machine_reset(void *opaque)
{
	OrkBoard *board = opaque;

	set_reset_lines(board, 0);
	for (unsigned int i = 0; i < ORK_MAX_CORES; i++) {
		board_core_behave(board->core[i]);
		board_core_hold(board->core[i], true);
		board_core_hold(board->core[i], false);
	}
}

/* --- the machine ---------------------------------------------------------------------------- */

static void check_options(MachineState *ms)
{
	uint64_t limit = ORK_BOARD_CORE_BASE(0) - BOARD_RAM_BASE, size = ms->ram_size;

	if (!tcg_enabled()) {
		error_report("rk3588-npu needs -accel tcg: "
			     "with others the guest's cache instructions are not seen");
		exit(1);
	}
	if (size > limit) {
		error_report("rk3588-npu: %" PRIu64 " MiB of RAM would cover the NPU's registers; "
			     "the limit is %" PRIu64 " MiB", size / MiB, limit / MiB);
		exit(1);
	}
}

static void new_cache(OrkBoard *board)
{
	MachineState *ms = MACHINE(board);

	board->ram = memory_region_get_ram_ptr(ms->ram);
	board->cache = npu_cache_new(BOARD_RAM_BASE, ms->ram_size, board->ram, board->cache_mode,
				     board->seed);
	if (!board->cache) {
		error_report("rk3588-npu: no memory to follow the cache of %" PRIu64 " MiB of RAM",
			     (uint64_t)ms->ram_size / MiB);
		exit(1);
	}
}

/*
 * Structures that changed with the same version number, by a distribution's patch or another
 * configuration.
 */
static void check_layout(void)
{
	size_t cpu = object_type_get_instance_size(TYPE_ARM_CPU);
	size_t virt = object_type_get_instance_size(TYPE_VIRT_MACHINE);

	if (cpu == sizeof(ARMCPU) && virt == sizeof(VirtMachineState))
		return;
	error_report("libork-board.so was built for a QEMU configured otherwise: arm-cpu and virt "
		     "have %zu and %zu bytes here, %zu and %zu there: build it again with this "
		     "one's headers", cpu, virt, sizeof(ARMCPU), sizeof(VirtMachineState));
	exit(1);
}

static void machine_init(MachineState *ms)
{
	OrkBoard *board = ORK_BOARD(ms);
	ObjectClass *parent = object_class_by_name(PARENT);

	check_layout();
	check_options(ms);
	MACHINE_CLASS(parent)->init(ms);
	new_cache(board);
	board_dcache_init(board);
	board_uncached_init(board);
	for (unsigned int i = 0; i < ORK_MAX_CORES; i++)
		board->core[i] = board_core_new(board, i);
	board_log_init(board);
	memory_region_init_io(&board->reset_mmio, OBJECT(ms), &reset_ops, board, "npu-reset",
			      ORK_BOARD_BLOCK_BYTES);
	memory_region_add_subregion(get_system_memory(), ORK_BOARD_RESET_BASE,
				    &board->reset_mmio);
	qemu_register_reset(machine_reset, board);
	board_control_init(board);
	board_fdt(board);
}

static int get_cache(Object *obj, Error **errp)
{
	return ORK_BOARD(obj)->cache_mode;
}

static void set_cache(Object *obj, int value, Error **errp)
{
	ORK_BOARD(obj)->cache_mode = value;
}

static int get_binding(Object *obj, Error **errp)
{
	return ORK_BOARD(obj)->binding;
}

static void set_binding(Object *obj, int value, Error **errp)
{
	ORK_BOARD(obj)->binding = value;
}

static int get_windows(Object *obj, Error **errp)
{
	return ORK_BOARD(obj)->window_mode;
}

static void set_windows(Object *obj, int value, Error **errp)
{
	ORK_BOARD(obj)->window_mode = value;
}

static char *get_log(Object *obj, Error **errp)
{
	return g_strdup(ORK_BOARD(obj)->log_path);
}

static void set_log(Object *obj, const char *value, Error **errp)
{
	g_free(ORK_BOARD(obj)->log_path);
	ORK_BOARD(obj)->log_path = g_strdup(value);
}

static void machine_instance_init(Object *obj)
{
	OrkBoard *board = ORK_BOARD(obj);

	/* As the RK3588; and version 2 would have message interrupts on the NPU's lines. */
	board->parent_obj.gic_version = VIRT_GIC_VERSION_3;
	object_property_add_uint64_ptr(obj, "seed", &board->seed, OBJ_PROP_FLAG_READWRITE);
	object_property_set_description(obj, "seed", "seed of the cache's evictions");
	object_property_add_uint32_ptr(obj, "npu-latency-us", &board->latency_us,
				       OBJ_PROP_FLAG_READWRITE);
	object_property_set_description(obj, "npu-latency-us",
					"time of each NPU program beyond its computation");
}

static void machine_class_init(ObjectClass *oc, void *data)
{
	MachineClass *mc = MACHINE_CLASS(oc);

	mc->init = machine_init;
	mc->desc = "RK3588 NPU board on virt, for ork";
	mc->alias = NULL;
	mc->is_default = false;
	/* The RK3588's big cores. */
	mc->default_cpu_type = ARM_CPU_TYPE_NAME("cortex-a76");
	object_class_property_add_enum(oc, "cache", "OrkCacheMode", &cache_lookup, get_cache,
				       set_cache);
	object_class_property_set_description(oc, "cache", "strict, evict or coherent");
	object_class_property_add_enum(oc, "binding", "OrkBinding", &binding_lookup, get_binding,
				       set_binding);
	object_class_property_set_description(oc, "binding",
					      "of the NPU in the device tree: mainline or vendor");
	object_class_property_add_enum(oc, "windows", "OrkWindows", &window_lookup, get_windows,
				       set_windows);
	object_class_property_set_description(oc, "windows",
					      "what stale lines beside activations do: spoil the "
					      "result, or be counted only (report)");
	object_class_property_add_str(oc, "npu-log", get_log, set_log);
	object_class_property_set_description(oc, "npu-log", "file for counters and stale reads");
}

static const TypeInfo board_type = {
	.name = TYPE_ORK_BOARD,
	.parent = PARENT,
	.instance_size = sizeof(OrkBoard),
	.instance_init = machine_instance_init,
	.class_init = machine_class_init,
};

/*
 * Before the type is known to QEMU: a parent that is missing or of another size would end it with
 * an assertion.
 */
static void check_version(void)
{
	g_autoptr(VersionInfo) running = qmp_query_version(NULL);
	g_autofree char *version = g_strdup_printf("%" PRId64 ".%" PRId64 ".%" PRId64,
						   running->qemu->major, running->qemu->minor,
						   running->qemu->micro);

	if (!strcmp(version, QEMU_VERSION))
		return;
	/* Too early for error_report(). */
	fprintf(stderr, "libork-board.so was built for QEMU %s, this is %s: "
		"build it again with this one's headers\n", QEMU_VERSION, version);
	exit(1);
}

static void board_register_type(void)
{
	check_version();
	type_register_static(&board_type);
}
type_init(board_register_type)

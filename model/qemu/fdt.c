// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The board's nodes in the device tree: the mainline binding of the NPU's cores and IOMMUs, as in
 * rk3588-base.dtsi, without power domains and supplies, which no driver insists on; and our own
 * control registers. QEMU writes the tree out after the machine's init, so nodes may still be added
 * there.
 */
#include "qemu/osdep.h"
#include "board.h"

#include "sysemu/device_tree.h"

#include "iommu.h"

#define GIC_SPI			0
#define IRQ_LEVEL_HIGH		4

/* The fastest that the vendor's operating points allow the NPU. */
#define CLOCK_HZ		1000000000

#define SET_STRINGS(fdt, node, name, strings) \
	qemu_fdt_setprop(fdt, node, name, strings, sizeof(strings))

static uint32_t add_node(void *fdt, const char *name)
{
	uint32_t phandle = qemu_fdt_alloc_phandle(fdt);

	qemu_fdt_add_subnode(fdt, name);
	qemu_fdt_setprop_cell(fdt, name, "phandle", phandle);
	return phandle;
}

/* Newer parents call the whole bus coherent; each master says for itself. */
static void set_coherency(OrkBoard *board, const char *node)
{
	bool coherent = board->cache_mode == NPU_CACHE_COHERENT;

	qemu_fdt_setprop(MACHINE(board)->fdt, node, coherent ? "dma-coherent" : "dma-noncoherent",
			 NULL, 0);
}

static void set_interrupt(void *fdt, const char *node, unsigned int core)
{
	qemu_fdt_setprop_cells(fdt, node, "interrupts", GIC_SPI, ORK_BOARD_CORE_SPI(core),
			       IRQ_LEVEL_HIGH);
}

static uint32_t add_iommu(OrkBoard *board, unsigned int core, uint32_t clock)
{
	static const char compatible[] = "rockchip,rk3588-iommu\0rockchip,rk3568-iommu";
	static const char clocks[] = "aclk\0iface";
	uint32_t first = ORK_BOARD_CORE_BASE(core) + NPU_IOMMU_BANK_CORE0;
	uint32_t bank = ORK_BOARD_CORE_BASE(core) + NPU_IOMMU_BANK, phandle;
	/* Named by the first bank's place, which only core 0 has, as in mainline. */
	g_autofree char *node = g_strdup_printf("/iommu@%x", first);
	void *fdt = MACHINE(board)->fdt;

	phandle = add_node(fdt, node);
	SET_STRINGS(fdt, node, "compatible", compatible);
	if (core == 0)
		qemu_fdt_setprop_cells(fdt, node, "reg", 0, first, 0, NPU_IOMMU_BANK_BYTES,
				       0, bank, 0, NPU_IOMMU_BANK_BYTES);
	else
		qemu_fdt_setprop_cells(fdt, node, "reg", 0, bank, 0, NPU_IOMMU_BANK_BYTES);
	set_interrupt(fdt, node, core);
	qemu_fdt_setprop_cells(fdt, node, "clocks", clock, clock);
	SET_STRINGS(fdt, node, "clock-names", clocks);
	qemu_fdt_setprop_cell(fdt, node, "#iommu-cells", 0);
	set_coherency(board, node);
	return phandle;
}

static void add_core(OrkBoard *board, unsigned int core, uint32_t clock, uint32_t reset)
{
	static const char regs[] = "pc\0cna\0core", resets[] = "srst_a\0srst_h";
	static const char clocks[] = "aclk\0hclk\0npu\0pclk";
	uint32_t base = ORK_BOARD_CORE_BASE(core), iommu = add_iommu(board, core, clock);
	g_autofree char *node = g_strdup_printf("/npu@%x", base);
	void *fdt = MACHINE(board)->fdt;

	add_node(fdt, node);
	qemu_fdt_setprop_string(fdt, node, "compatible", "rockchip,rk3588-rknn-core");
	qemu_fdt_setprop_cells(fdt, node, "reg", 0, base, 0, 0x1000, 0, base + 0x1000, 0, 0x1000,
			       0, base + 0x3000, 0, 0x1000);
	SET_STRINGS(fdt, node, "reg-names", regs);
	set_interrupt(fdt, node, core);
	qemu_fdt_setprop_cells(fdt, node, "clocks", clock, clock, clock, clock);
	SET_STRINGS(fdt, node, "clock-names", clocks);
	/* Numbers of bits: see ORK_BOARD_RESET_A and _H. */
	qemu_fdt_setprop_cells(fdt, node, "resets", reset, 2 * core, reset, 2 * core + 1);
	SET_STRINGS(fdt, node, "reset-names", resets);
	qemu_fdt_setprop_cell(fdt, node, "iommus", iommu);
	set_coherency(board, node);
}

static uint32_t add_clock(void *fdt)
{
	uint32_t phandle = add_node(fdt, "/npu-clock");

	qemu_fdt_setprop_string(fdt, "/npu-clock", "compatible", "fixed-clock");
	qemu_fdt_setprop_cell(fdt, "/npu-clock", "#clock-cells", 0);
	qemu_fdt_setprop_cell(fdt, "/npu-clock", "clock-frequency", CLOCK_HZ);
	return phandle;
}

static uint32_t add_block(void *fdt, const char *node, const char *compatible, uint32_t base)
{
	uint32_t phandle = add_node(fdt, node);

	qemu_fdt_setprop_string(fdt, node, "compatible", compatible);
	qemu_fdt_setprop_cells(fdt, node, "reg", 0, base, 0, ORK_BOARD_BLOCK_BYTES);
	return phandle;
}

void board_fdt(OrkBoard *board)
{
	void *fdt = MACHINE(board)->fdt;
	g_autofree char *reset_node = g_strdup_printf("/reset-controller@%x", ORK_BOARD_RESET_BASE);
	uint32_t clock = add_clock(fdt);
	/* Its driver sets a bit to assert a line, and needs nothing of the SoC's clock unit. */
	uint32_t reset = add_block(fdt, reset_node, "snps,dw-high-reset", ORK_BOARD_RESET_BASE);

	qemu_fdt_setprop_cell(fdt, reset_node, "#reset-cells", 1);
	add_block(fdt, ORK_BOARD_NODE, ORK_BOARD_COMPATIBLE, ORK_BOARD_CONTROL_BASE);
	/* Subnodes are prepended: from the last, so that they read in order. */
	for (unsigned int i = ORK_MAX_CORES; i-- > 0;)
		add_core(board, i, clock, reset);
}

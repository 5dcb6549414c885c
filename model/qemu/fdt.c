// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The board's nodes in the device tree: the NPU and its IOMMUs, by the binding that the machine's
 * property asks for, without power domains and supplies, which no driver insists on; and our own
 * control registers. QEMU writes the tree out after the machine's init, so nodes may still be added
 * there.
 */
#include "qemu/osdep.h"
#include "board.h"

#include "qemu/host-utils.h"
#include "sysemu/device_tree.h"

#include "iommu.h"

#define GIC_SPI			0
#define IRQ_LEVEL_HIGH		4

/* The fastest that the vendor's operating points allow the NPU. */
#define CLOCK_HZ		1000000000

/* Registers, by their place in the window of a core. */
struct block {
	uint32_t offset, bytes;
	bool core0_only;
};

/* What a binding says of one kind of node. Lists end with an empty entry, and may be empty. */
struct node {
	const char *name;		/* the address after it is that of the first block */
	struct block blocks[4];		/* of each core */
	const char *compatible[3];
	const char *reg_names[4];
	const char *interrupt_names[4];
	const char *clock_names[9];
	const char *reset_names[7];	/* the A lines of all cores, then their H lines */
};

struct binding {
	unsigned int cores;		/* that share a node of each kind */
	struct node npu, iommu;
};

#define IOMMU_BANKS { \
	{ NPU_IOMMU_BANK_CORE0, NPU_IOMMU_BANK_BYTES, .core0_only = true }, \
	{ NPU_IOMMU_BANK, NPU_IOMMU_BANK_BYTES }, \
}

static const struct binding bindings[] = {
	/* rk3588-base.dtsi of Linux. */
	[BOARD_BINDING_MAINLINE] = {
		.cores = 1,
		.npu = {
			.name = "npu",
			.blocks = { { 0, 0x1000 }, { 0x1000, 0x1000 }, { 0x3000, 0x1000 } },
			.compatible = { "rockchip,rk3588-rknn-core" },
			.reg_names = { "pc", "cna", "core" },
			.clock_names = { "aclk", "hclk", "npu", "pclk" },
			.reset_names = { "srst_a", "srst_h" },
		},
		.iommu = {
			.name = "iommu",
			.blocks = IOMMU_BANKS,
			.compatible = { "rockchip,rk3588-iommu", "rockchip,rk3568-iommu" },
			.clock_names = { "aclk", "iface" },
		},
	},
	/*
	 * rk3588s.dtsi of the vendor's kernel. The IOMMU is "rockchip,iommu-v2" alone there; stock
	 * kernels know it by the second name.
	 */
	[BOARD_BINDING_VENDOR] = {
		.cores = ORK_MAX_CORES,
		.npu = {
			.name = "npu",
			.blocks = { { 0, ORK_CORE_WINDOW } },
			.compatible = { "rockchip,rk3588-rknpu" },
			.interrupt_names = { "npu0_irq", "npu1_irq", "npu2_irq" },
			.clock_names = { "clk_npu", "aclk0", "aclk1", "aclk2",
					 "hclk0", "hclk1", "hclk2", "pclk" },
			.reset_names = { "srst_a0", "srst_a1", "srst_a2",
					 "srst_h0", "srst_h1", "srst_h2" },
		},
		.iommu = {
			.name = "iommu",
			.blocks = IOMMU_BANKS,
			.compatible = { "rockchip,iommu-v2", "rockchip,rk3568-iommu" },
			.interrupt_names = { "npu0_mmu", "npu1_mmu", "npu2_mmu" },
			.clock_names = { "aclk0", "aclk1", "aclk2", "iface0", "iface1", "iface2" },
		},
	},
};

struct tree {
	void *fdt;
	const struct binding *binding;
	bool coherent;
	uint32_t clock, reset;		/* phandles */
};

static uint32_t add_node(void *fdt, const char *name)
{
	uint32_t phandle = qemu_fdt_alloc_phandle(fdt);

	qemu_fdt_add_subnode(fdt, name);
	qemu_fdt_setprop_cell(fdt, name, "phandle", phandle);
	return phandle;
}

static void add_cell(GArray *cells, uint32_t value)
{
	value = cpu_to_be32(value);
	g_array_append_val(cells, value);
}

static void set_cells(struct tree *tree, const char *path, const char *property, GArray *cells)
{
	qemu_fdt_setprop(tree->fdt, path, property, cells->data, cells->len * sizeof(uint32_t));
}

static unsigned int list_length(const char *const *list)
{
	unsigned int n = 0;

	while (list[n])
		n++;
	return n;
}

static void set_strings(struct tree *tree, const char *path, const char *property,
			const char *const *list)
{
	if (list[0])
		qemu_fdt_setprop_string_array(tree->fdt, path, property, (char **)list,
					      list_length(list));
}

static void set_reg(struct tree *tree, const char *path, const struct node *node,
		    unsigned int first)
{
	g_autoptr(GArray) cells = g_array_new(false, false, sizeof(uint32_t));

	for (unsigned int i = first; i < first + tree->binding->cores; i++) {
		for (const struct block *block = node->blocks; block->bytes; block++) {
			if (block->core0_only && i != 0)
				continue;
			add_cell(cells, 0);
			add_cell(cells, ORK_BOARD_CORE_BASE(i) + block->offset);
			add_cell(cells, 0);
			add_cell(cells, block->bytes);
		}
	}
	set_cells(tree, path, "reg", cells);
}

static void set_interrupts(struct tree *tree, const char *path, unsigned int first)
{
	g_autoptr(GArray) cells = g_array_new(false, false, sizeof(uint32_t));

	for (unsigned int i = first; i < first + tree->binding->cores; i++) {
		add_cell(cells, GIC_SPI);
		add_cell(cells, ORK_BOARD_CORE_SPI(i));
		add_cell(cells, IRQ_LEVEL_HIGH);
	}
	set_cells(tree, path, "interrupts", cells);
}

/* One clock stands for all. */
static void set_clocks(struct tree *tree, const char *path, const char *const *names)
{
	g_autoptr(GArray) cells = g_array_new(false, false, sizeof(uint32_t));

	for (unsigned int i = 0; i < list_length(names); i++)
		add_cell(cells, tree->clock);
	set_cells(tree, path, "clocks", cells);
	set_strings(tree, path, "clock-names", names);
}

static void set_resets(struct tree *tree, const char *path, const char *const *names,
		       unsigned int first)
{
	g_autoptr(GArray) cells = g_array_new(false, false, sizeof(uint32_t));

	for (unsigned int i = first; i < first + tree->binding->cores; i++) {
		add_cell(cells, tree->reset);
		add_cell(cells, ctz32(ORK_BOARD_RESET_A(i)));
	}
	for (unsigned int i = first; i < first + tree->binding->cores; i++) {
		add_cell(cells, tree->reset);
		add_cell(cells, ctz32(ORK_BOARD_RESET_H(i)));
	}
	set_cells(tree, path, "resets", cells);
	set_strings(tree, path, "reset-names", names);
}

static char *node_path(const struct node *node, unsigned int first)
{
	return g_strdup_printf("/%s@%x", node->name,
			       ORK_BOARD_CORE_BASE(first) + node->blocks[0].offset);
}

/* What both kinds of node have, for the cores from @first on. */
static uint32_t add_device(struct tree *tree, const char *path, const struct node *node,
			   unsigned int first)
{
	uint32_t phandle = add_node(tree->fdt, path);

	set_strings(tree, path, "compatible", node->compatible);
	set_reg(tree, path, node, first);
	set_strings(tree, path, "reg-names", node->reg_names);
	set_interrupts(tree, path, first);
	set_strings(tree, path, "interrupt-names", node->interrupt_names);
	set_clocks(tree, path, node->clock_names);
	/* Newer parents call the whole bus coherent; each master says for itself. */
	qemu_fdt_setprop(tree->fdt, path, tree->coherent ? "dma-coherent" : "dma-noncoherent",
			 NULL, 0);
	return phandle;
}

static uint32_t add_iommu(struct tree *tree, unsigned int first)
{
	const struct node *node = &tree->binding->iommu;
	g_autofree char *path = node_path(node, first);
	uint32_t phandle = add_device(tree, path, node, first);

	qemu_fdt_setprop_cell(tree->fdt, path, "#iommu-cells", 0);
	return phandle;
}

static void add_npu(struct tree *tree, unsigned int first)
{
	const struct node *node = &tree->binding->npu;
	g_autofree char *path = node_path(node, first);
	uint32_t iommu = add_iommu(tree, first);

	add_device(tree, path, node, first);
	set_resets(tree, path, node->reset_names, first);
	qemu_fdt_setprop_cell(tree->fdt, path, "iommus", iommu);
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
	struct tree tree = {
		.fdt = fdt,
		.binding = &bindings[board->binding],
		.coherent = board->cache_mode == NPU_CACHE_COHERENT,
		.clock = add_clock(fdt),
	};

	/* Its driver sets a bit to assert a line, and needs nothing of the SoC's clock unit. */
	tree.reset = add_block(fdt, reset_node, "snps,dw-high-reset", ORK_BOARD_RESET_BASE);
	qemu_fdt_setprop_cell(fdt, reset_node, "#reset-cells", 1);
	add_block(fdt, ORK_BOARD_NODE, ORK_BOARD_COMPATIBLE, ORK_BOARD_CONTROL_BASE);
	/* Subnodes are prepended: from the last, so that they read in order. */
	for (unsigned int end = ORK_MAX_CORES; end > 0; end -= tree.binding->cores)
		add_npu(&tree, end - tree.binding->cores);
}

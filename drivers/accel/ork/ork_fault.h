/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_FAULT_H__
#define __ORK_FAULT_H__

#include <linux/types.h>

struct ork_device;

/**
 * enum ork_fault_point - what can be made to fail
 * @ORK_FAULT_RUN: a core does not take a kick
 * @ORK_FAULT_INTERRUPT: the end of a chain raises no interrupt
 * @ORK_FAULT_SPURIOUS: the interrupt of an end comes before the task counter tells of it
 * @ORK_FAULT_DMA: the watchdog sees that an access of the chain has failed, unreported
 * @ORK_FAULT_ATTACH: an IOMMU does not take an address space
 * @ORK_FAULT_RESET: a reset of a core has no effect
 * @ORK_FAULT_LINE: the reset controller fails
 * @ORK_FAULT_QUEUE: there is no memory for the device's work queue, the first thing that it needs
 *	beside itself
 * @ORK_FAULT_CLOCK: the clocks of a node fail
 * @ORK_FAULT_POWER: the power domain of a node fails
 * @ORK_FAULT_DUMP: there is no memory for the text of a dump
 * @ORK_FAULT_POINTS: how many there are
 */
enum ork_fault_point {
	ORK_FAULT_RUN,
	ORK_FAULT_INTERRUPT,
	ORK_FAULT_SPURIOUS,
	ORK_FAULT_DMA,
	ORK_FAULT_ATTACH,
	ORK_FAULT_RESET,
	ORK_FAULT_LINE,
	ORK_FAULT_QUEUE,
	ORK_FAULT_CLOCK,
	ORK_FAULT_POWER,
	ORK_FAULT_DUMP,
	ORK_FAULT_POINTS,
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
bool ork_fault_due(enum ork_fault_point point);
void ork_fault_init(struct ork_device *ork);
#else
static inline bool ork_fault_due(enum ork_fault_point point)
{
	return false;
}

static inline void ork_fault_init(struct ork_device *ork)
{
}
#endif

#endif

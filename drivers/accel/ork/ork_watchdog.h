/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_WATCHDOG_H__
#define __ORK_WATCHDOG_H__

#include <linux/workqueue.h>

struct ork_core;

u32 ork_watchdog_default_ms(void);
void ork_watchdog_start_locked(struct ork_core *core);
void ork_watchdog_spurious_locked(struct ork_core *core);
void ork_watchdog_fault_locked(struct ork_core *core, bool certain);
void ork_watchdog_work(struct work_struct *work);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_WATCHDOG_H__
#define __ORK_WATCHDOG_H__

#include <linux/workqueue.h>

struct ork_core;
struct ork_file;
struct ork_job;

u32 ork_watchdog_default_ms(void);
void ork_watchdog_start_locked(struct ork_core *core);
void ork_watchdog_spurious_locked(struct ork_core *core);
void ork_watchdog_fault_locked(struct ork_core *core, bool certain);
void ork_watchdog_work(struct work_struct *work);

#if IS_ENABLED(CONFIG_KUNIT)
unsigned long ork_watchdog_period(const struct ork_core *core);
bool ork_watchdog_late(const struct ork_core *core, unsigned long now);
bool ork_watchdog_in_time(const struct ork_core *core, unsigned long now);
struct ork_job *ork_watchdog_look(struct ork_core *core, bool *rearm);
void ork_watchdog_count_hang_locked(struct ork_file *ofile);
#endif

#endif

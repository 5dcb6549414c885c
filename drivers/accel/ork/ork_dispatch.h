/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_DISPATCH_H__
#define __ORK_DISPATCH_H__

#include <linux/interrupt.h>

struct ork_core;
struct ork_device;
struct ork_file;
struct ork_job;
struct ork_mmu;

void ork_dispatch_add(struct ork_job *job, int status);
irqreturn_t ork_dispatch_interrupt(struct ork_core *core);
bool ork_dispatch_task_done_locked(struct ork_core *core);
void ork_dispatch_locked(struct ork_device *ork);
void ork_dispatch_end_locked(struct ork_job *job, int status);
void ork_dispatch_switched(struct ork_mmu *mmu, int error);
void ork_dispatch_finish(struct ork_device *ork);
void ork_dispatch_lose_locked(struct ork_mmu *mmu);
void ork_dispatch_refuse_locked(struct ork_file *ofile, int status);
void ork_dispatch_shutdown(struct ork_device *ork);

#endif

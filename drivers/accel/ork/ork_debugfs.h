/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_DEBUGFS_H__
#define __ORK_DEBUGFS_H__

#include <linux/sched.h>

struct ork_device;
struct pid;

void ork_debugfs_comm(struct pid *pid, char comm[TASK_COMM_LEN]);
void ork_debugfs_init(struct ork_device *ork);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_DEBUGFS_H__
#define __ORK_DEBUGFS_H__

struct ork_device;

void ork_debugfs_init(struct ork_device *ork);

#endif

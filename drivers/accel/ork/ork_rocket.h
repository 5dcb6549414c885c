/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_ROCKET_H__
#define __ORK_ROCKET_H__

struct device;
struct ork_device;

int ork_rocket_init(struct device *npu);
void ork_rocket_exit(void);
int ork_rocket_register(struct ork_device *ork);
void ork_rocket_unplug(struct ork_device *ork);
void ork_rocket_release(struct ork_device *ork);

#endif

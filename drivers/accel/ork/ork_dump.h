/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __ORK_DUMP_H__
#define __ORK_DUMP_H__

struct ork_core;
struct ork_dump;
struct ork_job;

struct ork_dump *ork_dump_create(struct ork_core *core);
void ork_dump_destroy(struct ork_dump *dump);
void ork_dump_begin_locked(struct ork_core *core);
void ork_dump_capture(struct ork_core *core, const struct ork_job *job, int status);
void ork_dump_emit(struct ork_core *core);

#endif

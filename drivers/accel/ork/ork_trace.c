// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bodies of the tracepoints.
 */

#define CREATE_TRACE_POINTS
#include "ork_trace.h"

/**
 * ork_trace_programs() - programs of all tasks of a job
 * @job: the job
 *
 * Return: how many.
 */
u32 ork_trace_programs(const struct ork_job *job)
{
	u32 i, programs = 0;

	for (i = 0; i < job->num_tasks; i++)
		programs += job->tasks[i].programs;
	return programs;
}

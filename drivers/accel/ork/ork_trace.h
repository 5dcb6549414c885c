/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ork

#if !defined(__ORK_TRACE_H__) || defined(TRACE_HEADER_MULTI_READ)
#define __ORK_TRACE_H__

#include <linux/tracepoint.h>

#include "ork_core.h"
#include "ork_device.h"
#include "ork_job.h"

u32 ork_trace_programs(const struct ork_job *job);

/* A submit was accepted; its jobs run when what they wait for has ended. */
TRACE_EVENT(ork_submit,
	    TP_PROTO(u64 client, u32 jobs),
	    TP_ARGS(client, jobs),
	    TP_STRUCT__entry(__field(u64, client)
			     __field(u32, jobs)
	    ),
	    TP_fast_assign(__entry->client = client;
			   __entry->jobs = jobs;
	    ),
	    TP_printk("client=%llu jobs=%u", __entry->client, __entry->jobs)
);

/* A core begins a job. */
TRACE_EVENT(ork_job_start,
	    TP_PROTO(const struct ork_core *core, const struct ork_job *job),
	    TP_ARGS(core, job),
	    TP_STRUCT__entry(__field(u64, client)
			     __field(u32, core)
			     __field(u32, tasks)
			     __field(u32, programs)
	    ),
	    TP_fast_assign(__entry->client = job->ofile->client;
			   __entry->core = core->index;
			   __entry->tasks = job->num_tasks;
			   __entry->programs = ork_trace_programs(job);
	    ),
	    TP_printk("core=%u client=%llu tasks=%u programs=%u", __entry->core, __entry->client,
		      __entry->tasks, __entry->programs)
);

/* A job has left its core. @busy_ns is that of its chains that completed. */
TRACE_EVENT(ork_job_done,
	    TP_PROTO(const struct ork_core *core, const struct ork_job *job, int status),
	    TP_ARGS(core, job, status),
	    TP_STRUCT__entry(__field(u64, client)
			     __field(u64, busy_ns)
			     __field(u32, core)
			     __field(int, status)
	    ),
	    TP_fast_assign(__entry->client = job->ofile->client;
			   __entry->busy_ns = job->busy_ns;
			   __entry->core = core->index;
			   __entry->status = status;
	    ),
	    TP_printk("core=%u client=%llu status=%d busy_ns=%llu", __entry->core, __entry->client,
		      __entry->status, __entry->busy_ns)
);

/* An extent was maintained: bytes of whole lines, in so many calls of the DMA interface. */
TRACE_EVENT(ork_sync,
	    TP_PROTO(u64 bytes, bool from_device, u32 calls),
	    TP_ARGS(bytes, from_device, calls),
	    TP_STRUCT__entry(__field(u64, bytes)
			     __field(u32, calls)
			     __field(bool, from_device)
	    ),
	    TP_fast_assign(__entry->bytes = bytes;
			   __entry->calls = calls;
			   __entry->from_device = from_device;
	    ),
	    TP_printk("bytes=%llu direction=%s calls=%u", __entry->bytes,
		      __entry->from_device ? "from_device" : "to_device", __entry->calls)
);

/* An IOMMU has got another address space. */
TRACE_EVENT(ork_switch,
	    TP_PROTO(u32 mmu, u64 ns),
	    TP_ARGS(mmu, ns),
	    TP_STRUCT__entry(__field(u64, ns)
			     __field(u32, mmu)
	    ),
	    TP_fast_assign(__entry->ns = ns;
			   __entry->mmu = mmu;
	    ),
	    TP_printk("mmu=%u ns=%llu", __entry->mmu, __entry->ns)
);

/* A core is reset; @programs of its job had finished. */
TRACE_EVENT(ork_reset,
	    TP_PROTO(const struct ork_core *core, const struct ork_job *job, int status),
	    TP_ARGS(core, job, status),
	    TP_STRUCT__entry(__field(u32, core)
			     __field(int, status)
			     __field(u32, programs)
	    ),
	    TP_fast_assign(__entry->core = core->index;
			   __entry->status = status;
			   __entry->programs = job->programs + core->counted;
	    ),
	    TP_printk("core=%u status=%d programs=%u", __entry->core, __entry->status,
		      __entry->programs)
);

#endif

/* This header itself, wherever the module is built: ork_trace.c is compiled with its folder. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ork_trace
#include <trace/define_trace.h>

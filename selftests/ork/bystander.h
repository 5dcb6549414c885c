/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clients that have nothing to do with a test, and must not notice it: processes that submit
 * products of their own, on any core, and compare every result. One keeps its file, the other opens
 * a new one for every job.
 */
#ifndef ORK_BYSTANDER_H
#define ORK_BYSTANDER_H

#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "ork_test.h"

#define BYSTANDERS		2
/* Against hanging for ever; no bound on what is measured. */
#define BYSTANDER_PATIENCE	(60 * SECOND)
/* Of their jobs: never to be met, though an emulated core may stand still while its host is busy. */
#define BYSTANDER_TIMEOUT_MS	4000

/* Shared by all processes. */
struct bystanders {
	_Atomic bool stop;
	_Atomic uint32_t core_mask;	/* of jobs to come; 0: any */
	struct {
		pid_t pid;
		_Atomic uint32_t jobs;	/* that ended well, with the right result */
		_Atomic int error;	/* that ended it: an errno, or -EBADMSG for a wrong result */
	} each[BYSTANDERS];
};

/* Up to @count jobs of one file, counted in @jobs. */
static inline int bystander_jobs(struct bystanders *all, uint32_t number, uint32_t count)
{
	int fd = device_open(), error;
	struct product p;

	if (fd < 0)
		return fd;
	error = product_create(fd, &p, number + 2, 64 * (number + 1), 32, 2);
	for (uint32_t i = 0; i < count && !error && !all->stop; i++) {
		struct drm_ork_job job = product_job(&p, all->core_mask);

		job.timeout_ms = BYSTANDER_TIMEOUT_MS;
		product_fill(&p, 1000 * number + all->each[number].jobs);
		error = run_job(fd, &job);
		if (!error && product_errors(&p))
			error = -EBADMSG;
		all->each[number].jobs += !error;
	}
	if (p.bo.data)
		bo_close(fd, &p.bo);
	close(fd);
	return error;
}

static inline void bystander_run(struct bystanders *all, uint32_t number)
{
	int error = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!all->stop && !error)
		error = bystander_jobs(all, number, number ? 1 : UINT32_MAX);
	all->each[number].error = error;
	_exit(0);
}

/* NULL if there is no memory or no process. */
static inline struct bystanders *bystanders_start(void)
{
	struct bystanders *all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		return NULL;
	for (uint32_t i = 0; i < BYSTANDERS; i++) {
		pid_t pid = fork();

		if (!pid)
			bystander_run(all, i);
		if (pid < 0)
			return NULL;
		all->each[i].pid = pid;
	}
	return all;
}

static inline uint32_t bystanders_count(const struct bystanders *all)
{
	uint32_t jobs = 0;

	for (uint32_t i = 0; i < BYSTANDERS; i++)
		jobs += all->each[i].jobs;
	return jobs;
}

/*
 * Until each has finished two more jobs, of which the second was submitted after the call. False if
 * one does not.
 */
static inline bool bystanders_progress(const struct bystanders *all)
{
	int64_t end = now_ns() + BYSTANDER_PATIENCE;

	for (uint32_t i = 0; i < BYSTANDERS; i++) {
		uint32_t before = all->each[i].jobs;

		while (all->each[i].jobs - before < 2 && !all->each[i].error && now_ns() < end)
			usleep(1000);
		if (all->each[i].jobs - before < 2)
			return false;
	}
	return true;
}

/* From here on their jobs run on the cores of @core_mask alone, and none of them on another one. */
static inline bool bystanders_confine(struct bystanders *all, uint32_t core_mask)
{
	all->core_mask = core_mask;
	return bystanders_progress(all);
}

/* Ends their processes. 0, or the first error of one. */
static inline int bystanders_leave(struct bystanders *all)
{
	int error = 0;

	all->stop = true;
	for (uint32_t i = 0; i < BYSTANDERS; i++) {
		int status = 0;

		if (all->each[i].pid && waitpid(all->each[i].pid, &status, 0) < 0)
			status = -1;
		if (status)
			all->each[i].error = -ECHILD;
		all->each[i].pid = 0;
		if (!error)
			error = all->each[i].error;
	}
	return error;
}

/* Ends them altogether. */
static inline int bystanders_stop(struct bystanders *all)
{
	int error = bystanders_leave(all);

	munmap(all, sizeof(*all));
	return error;
}

#endif

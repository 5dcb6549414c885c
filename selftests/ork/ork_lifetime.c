// SPDX-License-Identifier: GPL-2.0-only
/*
 * What ends when: clients that close, exit or are killed, what outlives them, devices that are
 * unbound under their clients, and the module. The suite wants the device for itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "ork_test.h"
#include "board.h"
#include "driver.h"
#include "jobs.h"

/* --- before and after each test --------------------------------------------------------------- */

FIXTURE(lifetime) {
	int fd;
	struct drm_ork_device_info info;
	volatile uint32_t *board;
	struct nodes nodes;
};

FIXTURE_SETUP(lifetime)
{
	self->board = board_open();
	board_behave(self->board);
	self->fd = device_return();
	ASSERT_LE(0, self->fd);
	close(self->fd);
	ASSERT_TRUE(SOON(!*alive())) {
		TH_LOG("before the test there still is: %s", alive());
	}
	self->fd = device_open();
	ASSERT_LE(0, self->fd);
	self->info = device_info(self->fd);
	nodes_find(&self->nodes);
}

FIXTURE_TEARDOWN(lifetime)
{
	board_behave(self->board);
	unmap_everything();
	syscall(SYS_close_range, 3, ~0u, 0);
	EXPECT_EQ(0, health_everywhere());
	EXPECT_TRUE(SOON(!*alive())) {
		TH_LOG("there still is: %s", alive());
	}
	EXPECT_TRUE(SOON(module_references() == 0));
}

/* --- clients in processes of their own -------------------------------------------------------- */

/* Sends a byte and a descriptor. */
static int send_file(int socket, int file)
{
	char control[CMSG_SPACE(sizeof(file))] = { 0 }, byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(file));
	memcpy(CMSG_DATA(header), &file, sizeof(file));
	return sendmsg(socket, &message, 0) == 1 ? 0 : -errno;
}

/* The descriptor, or a negative errno. */
static int receive_file(int socket)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	int file;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
		return -EPIPE;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	memcpy(&file, CMSG_DATA(header), sizeof(file));
	return file;
}

struct client {
	pid_t pid;
	int socket;
};

/* Runs @function in a child, with its end of a socket. */
static int client_start(struct client *client, void (*function)(int socket, void *opaque),
			void *opaque)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	client->socket = ends[0];
	client->pid = fork();
	if (client->pid < 0)
		return -errno;
	if (!client->pid) {
		close(ends[0]);
		function(ends[1], opaque);
		_exit(0);
	}
	close(ends[1]);
	return 0;
}

/* Whether the process has ended, by half a minute from now. */
static bool client_gone(const struct client *client)
{
	return SOON(waitpid(client->pid, NULL, WNOHANG));
}

static int client_exit_code(const struct client *client)
{
	int status;

	return waitpid(client->pid, &status, 0) == client->pid && WIFEXITED(status) ?
	       WEXITSTATUS(status) : -ECHILD;
}

/* --- how clients end -------------------------------------------------------------------------- */

enum state { STAGED, RUNNING, HUNG, WAITING };
enum way { CLOSE, EXIT, KILL };

/*
 * A client with jobs in a certain state, and its end. The gate, of this process, keeps core 0 and
 * signals the fence that waiting jobs wait for: when the client is gone it must be shut still.
 */
FIXTURE(ending) {
	FIXTURE_DATA(lifetime) base;
	struct step gate;
	int gate_file;		/* sync_file of the gate; -1: there is no gate */
	enum state state;
	struct client client;
	int file;		/* sync_file of the client's last job */
};

FIXTURE_VARIANT(ending) {
	enum state state;
	enum way way;
};

FIXTURE_VARIANT_ADD(ending, staged_close){ STAGED, CLOSE };
FIXTURE_VARIANT_ADD(ending, staged_exit){ STAGED, EXIT };
FIXTURE_VARIANT_ADD(ending, staged_kill){ STAGED, KILL };
FIXTURE_VARIANT_ADD(ending, running_close){ RUNNING, CLOSE };
FIXTURE_VARIANT_ADD(ending, running_exit){ RUNNING, EXIT };
FIXTURE_VARIANT_ADD(ending, running_kill){ RUNNING, KILL };
FIXTURE_VARIANT_ADD(ending, hung_close){ HUNG, CLOSE };
FIXTURE_VARIANT_ADD(ending, hung_exit){ HUNG, EXIT };
FIXTURE_VARIANT_ADD(ending, hung_kill){ HUNG, KILL };
FIXTURE_VARIANT_ADD(ending, waiting_close){ WAITING, CLOSE };
FIXTURE_VARIANT_ADD(ending, waiting_exit){ WAITING, EXIT };
FIXTURE_VARIANT_ADD(ending, waiting_kill){ WAITING, KILL };

FIXTURE_SETUP(ending)
{
	lifetime_setup(_metadata, &self->base, NULL);
	self->state = variant->state;
	self->gate_file = -1;
}

FIXTURE_TEARDOWN(ending)
{
	lifetime_teardown(_metadata, &self->base, NULL);
}

/* In the client. Fifty jobs are one running or hung for ever, or all stuck behind the gate. */
#define CLIENT_JOBS	50

static int client_submit(const FIXTURE_DATA(ending) *self, int fd, struct step *step)
{
	struct drm_ork_job jobs[CLIENT_JOBS];
	uint32_t in;
	int error;

	if (self->state == RUNNING) {
		error = gate_create(fd, self->base.board, step, 2);
		return error ? error : gate_shut(self->base.board, step);
	}
	error = step_create(fd, step, 2, self->state == STAGED ? 1 : 2);
	if (!error && self->state == WAITING)
		error = sync_file_import(fd, self->gate_file, &in);
	if (error)
		return error;
	if (self->state == HUNG) {
		step_spoil(step, HANG);
		return step_submit(step);
	}
	if (self->state == WAITING)
		step_wait_for(step, in, 0);
	for (unsigned int i = 0; i < CLIENT_JOBS; i++)
		jobs[i] = step->job;
	step->args.jobs = ARRAY(jobs, CLIENT_JOBS);
	return step_submit(step);
}

/* Sends a sync_file of the jobs, does what it is told, and tells when it is done. */
static void client_main(int socket, void *opaque)
{
	const FIXTURE_DATA(ending) *self = opaque;
	int fd = device_open();
	struct step step;
	char order;

	if (fd < 0 || client_submit(self, fd, &step) ||
	    send_file(socket, sync_file_export(fd, step.out.handle)) ||
	    read(socket, &order, 1) != 1)
		_exit(1);
	if (order == EXIT)
		_exit(0);
	unmap_everything();
	close(fd);
	if (write(socket, "", 1) == 1 && read(socket, &order, 1) == 0)
		_exit(0);
	_exit(1);
}

static int shut_gate_of(FIXTURE_DATA(ending) *self)
{
	int error = gate_create(self->base.fd, self->base.board, &self->gate, 1);

	if (!error)
		error = gate_shut(self->base.board, &self->gate);
	if (error)
		return error;
	self->gate_file = sync_file_export(self->base.fd, self->gate.out.handle);
	return self->gate_file < 0 ? self->gate_file : 0;
}

/* Brings the client to where it is to end. */
static int start(FIXTURE_DATA(ending) *self)
{
	int error = 0;

	if (self->state == STAGED || self->state == WAITING)
		error = shut_gate_of(self);
	if (!error)
		error = client_start(&self->client, client_main, self);
	if (error)
		return error;
	self->file = receive_file(self->client.socket);
	return self->file < 0 ? self->file : 0;
}

static void begin_end(const FIXTURE_DATA(ending) *self, enum way way)
{
	char order = way;

	if (way == KILL)
		kill(self->client.pid, SIGKILL);
	else if (write(self->client.socket, &order, 1) != 1)
		abort();
}

/* Whether the client is gone, or has returned from close(). */
static bool ended(const FIXTURE_DATA(ending) *self, enum way way)
{
	struct pollfd events = { .fd = self->client.socket, .events = POLLIN };
	char byte;

	if (way != CLOSE)
		return client_gone(&self->client);
	if (poll(&events, 1, 20000) != 1 || read(self->client.socket, &byte, 1) != 1)
		return false;
	close(self->client.socket);
	return client_gone(&self->client);
}

static int expected_status(enum state state)
{
	return state == RUNNING ? 1 : state == HUNG ? -ETIMEDOUT : -ECANCELED;
}

/* case 59, case 67 */
TEST_F(ending, client_is_gone_as_soon_as_no_core_runs_its_jobs)
{
	NEED_BOARD(self->base.board);
	ASSERT_EQ(0, start(self));
	begin_end(self, variant->way);
	if (variant->state == RUNNING)
		gates_open(self->base.board);
	EXPECT_TRUE(ended(self, variant->way));
	EXPECT_EQ(expected_status(variant->state), sync_file_end(self->file));
	if (self->gate_file >= 0)
		EXPECT_EQ(-EBUSY, step_look(&self->gate));
}

/* case 61 */
TEST_F(ending, job_that_waits_for_the_client_is_not_left_waiting)
{
	struct step step;
	uint32_t in;

	NEED_BOARD(self->base.board);
	ASSERT_EQ(0, start(self));
	ASSERT_EQ(0, sync_file_import(self->base.fd, self->file, &in));
	ASSERT_EQ(0, step_create(self->base.fd, &step, 1, 4));
	step_wait_for(&step, in, 0);
	ASSERT_EQ(0, step_submit(&step));
	EXPECT_EQ(-EBUSY, step_look(&step));
	begin_end(self, variant->way);
	if (variant->state == RUNNING)
		gates_open(self->base.board);
	EXPECT_EQ(variant->state == RUNNING ? 0 : -ECANCELED, step_status(&step));
	EXPECT_EQ(variant->state != RUNNING, product_untouched(&step.product));
	if (self->gate_file >= 0)
		EXPECT_EQ(-EBUSY, step_look(&self->gate));
	EXPECT_TRUE(ended(self, variant->way));
}

/* --- clients that are killed at any moment ---------------------------------------------------- */

static uint32_t random_below(uint32_t bound)
{
	static uint32_t state = 1;

	state = state * 1664525u + 1013904223u;	/* Numerical Recipes */
	return (uint64_t)state * bound >> 32;
}

/* Opens, submits, closes, until it is killed. */
static void restless_client(int socket, void *opaque)
{
	uint32_t jobs = *(uint32_t *)opaque;

	while (write(socket, "", 1) == 1) {
		int fd = device_open();
		struct step step;

		if (step_create(fd, &step, 3, 0))
			_exit(1);
		for (uint32_t i = 0; i < jobs; i++)
			if (step_submit(&step))
				_exit(1);
		step_close(&step);
		close(fd);
	}
}

/* case 59 */
TEST_F_TIMEOUT(lifetime, clients_killed_at_any_moment_cost_nobody_anything, 60)
{
	static uint32_t jobs[] = { 1, 10, 100 };

	if (self->board)
		board_write(self->board, ORK_BOARD_LATENCY_US, 1000);
	for (unsigned int round = 0; round < 60; round++) {
		struct client client;
		char byte;

		ASSERT_EQ(0, client_start(&client, restless_client, &jobs[round % 3]));
		ASSERT_EQ(1, read(client.socket, &byte, 1));
		usleep(random_below(30000));
		kill(client.pid, SIGKILL);
		EXPECT_EQ(0, health(self->fd, 1u << round % self->info.num_cores));
		EXPECT_TRUE(client_gone(&client));
		close(client.socket);
	}
}

/* Around the moment when the watchdog finds the hang, which its period makes fuzzy. */
/* case 62 */
TEST_F_TIMEOUT(lifetime, close_may_meet_the_watchdog, 60)
{
	static const unsigned int timeout_ms = 24;

	for (unsigned int us = 12000; us < 40000; us += 400) {
		int fd = device_open(), file;
		struct step step;

		ASSERT_EQ(0, step_create(fd, &step, 2, 1));
		step_spoil(&step, HANG);
		step.job.timeout_ms = timeout_ms;
		ASSERT_EQ(0, step_submit(&step));
		file = sync_file_export(fd, step.out.handle);
		usleep(us);
		step_close(&step);
		close(fd);
		EXPECT_EQ(-ETIMEDOUT, sync_file_end(file));
		close(file);
	}
}

/* case 65 */
TEST_F_TIMEOUT(lifetime, many_files_may_be_opened_and_closed, 60)
{
	int fds[300];

	for (unsigned int i = 0; i < 1000; i++) {
		int fd = device_open();

		ASSERT_LE(0, fd);
		close(fd);
	}
	for (unsigned int i = 0; i < ARRAY_LENGTH(fds); i++) {
		fds[i] = device_open();
		ASSERT_LE(0, fds[i]);
	}
	EXPECT_EQ(0, health(fds[ARRAY_LENGTH(fds) - 1], 0));
	for (unsigned int i = 0; i < ARRAY_LENGTH(fds); i++)
		close(fds[i]);
}

/* What a job takes, the device's references among it, is given back: it can be bound anew. */
/* case 64 */
TEST_F_TIMEOUT(lifetime, many_jobs_leave_nothing_behind, 60)
{
	struct drm_ork_job jobs[DRM_ORK_MAX_JOBS];
	struct step step;

	NEED_NODES(&self->nodes);
	ASSERT_EQ(0, step_create(self->fd, &step, 1, 0));
	for (unsigned int i = 0; i < ARRAY_LENGTH(jobs); i++)
		jobs[i] = step.job;
	step.args.jobs = ARRAY(jobs, ARRAY_LENGTH(jobs));
	for (unsigned int i = 0; i < 15; i++)
		ASSERT_EQ(0, step_run(&step));
	unmap_everything();
	close(self->fd);
	EXPECT_TRUE(SOON(!*alive()));
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
}

/* --- files and objects that are shared -------------------------------------------------------- */

TEST_F(lifetime, result_lands_although_the_handle_was_closed)
{
	struct drm_gem_close close = { 0 };
	struct step gate;
	struct bo other;
	uint64_t end;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, gate_create(self->fd, self->board, &gate, 1));
	ASSERT_EQ(0, gate_shut(self->board, &gate));
	close.handle = gate.product.bo.handle;
	EXPECT_EQ(0, call(self->fd, DRM_IOCTL_GEM_CLOSE, &close));
	/* Its address is not given to another while the core writes there. */
	ASSERT_EQ(0, bo_create(self->fd, gate.product.bo.size, &other));
	end = gate.product.bo.iova + gate.product.bo.size;
	EXPECT_TRUE(other.iova >= end || other.iova + other.size <= gate.product.bo.iova);
	EXPECT_EQ(-EBUSY, step_look(&gate));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&gate));
	EXPECT_EQ(0u, product_wrong(&gate.product, STEP_VALUE));
}

/* The inherited file is the parent's own, and so are the jobs that the child leaves running. */
static void heir(int socket, void *opaque)
{
	const FIXTURE_DATA(lifetime) *self = opaque;
	struct step step;

	if (health(self->fd, 2) || step_create(self->fd, &step, 1, 1) || step_submit(&step))
		_exit(1);
	unmap_everything();
	close(self->fd);
	_exit(write(socket, "", 1) != 1);
}

TEST_F(lifetime, child_may_use_and_close_the_file_it_inherits)
{
	struct step gate, step;
	struct client client;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, step_create(self->fd, &step, 1, 0));
	ASSERT_EQ(0, gate_create(self->fd, self->board, &gate, 1));
	ASSERT_EQ(0, gate_shut(self->board, &gate));
	ASSERT_EQ(0, client_start(&client, heir, self));
	EXPECT_EQ(0, client_exit_code(&client));
	EXPECT_EQ(-EBUSY, step_look(&gate));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&gate));
	EXPECT_EQ(0, step_run(&step));
	EXPECT_EQ(0u, product_wrong(&step.product, STEP_VALUE));
	/* The gate, the child's two, and this one. */
	EXPECT_TRUE(SOON(file_counters(self->fd).jobs == 4));
}

/* Gives its file away, and a description of the job that runs. */
static void giver(int socket, void *opaque)
{
	const FIXTURE_DATA(lifetime) *self = opaque;
	int fd = device_open();
	struct step gate;

	if (fd < 0 || gate_create(fd, self->board, &gate, 1) || gate_shut(self->board, &gate) ||
	    send_file(socket, fd) || write(socket, &gate, sizeof(gate)) != sizeof(gate))
		_exit(1);
}

TEST_F(lifetime, file_that_was_passed_on_outlives_its_first_owner)
{
	struct client client;
	struct step gate;
	int fd;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, client_start(&client, giver, self));
	fd = receive_file(client.socket);
	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)sizeof(gate), read(client.socket, &gate, sizeof(gate)));
	EXPECT_EQ(0, client_exit_code(&client));

	gate.fd = fd;
	EXPECT_EQ(-EBUSY, step_look(&gate));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&gate));
	gate.product.bo.data = mmap(NULL, gate.product.bo.size, PROT_READ | PROT_WRITE, MAP_SHARED,
				    fd, gate.product.bo.mmap_offset);
	ASSERT_NE(MAP_FAILED, (void *)gate.product.bo.data);
	EXPECT_EQ(0u, product_wrong(&gate.product, STEP_VALUE));
	EXPECT_EQ(0, health(fd, 0));
}

/* --- races for a handle ----------------------------------------------------------------------- */

struct guesser {
	int fd;
	_Atomic bool stop;
	uint32_t found, missing, other;
};

/* Names handles before anyone has told that they exist, in every call that takes one. */
static int guess(int fd, struct step *step, uint32_t handle, unsigned int kind)
{
	struct drm_gem_close close = { .handle = handle };
	struct drm_ork_bo_info info = { .handle = handle };
	struct bo bo = { .handle = handle };

	switch (kind % 4) {
	case 0:
		return call(fd, DRM_IOCTL_GEM_CLOSE, &close);
	case 1:
		return call(fd, DRM_IOCTL_ORK_BO_INFO, &info);
	case 2:
		return sync_range(fd, &bo, DRM_ORK_EXTENT_TO_DEVICE, 0, PAGE);
	default:
		step->extents[4] = extent(&bo, DRM_ORK_EXTENT_NO_SYNC, 0, PAGE);
		return step_submit(step);
	}
}

static void *guess_again_and_again(void *opaque)
{
	struct guesser *guesser = opaque;
	struct step step;

	if (step_create(guesser->fd, &step, 1, 0)) {
		guesser->other++;
		return NULL;
	}
	step.job.extents.count = 5;
	for (unsigned int i = 0; !guesser->stop; i++) {
		/* The lowest that is free is the next: 1 or 2, as the step itself has one of them. */
		uint32_t handle = 1 + i / 4 % 3;
		int error;

		if (handle == step.product.bo.handle)
			continue;
		error = guess(guesser->fd, &step, handle, i);
		guesser->found += !error;
		guesser->missing += error == -ENOENT || error == -EINVAL;
		guesser->other += error && error != -ENOENT && error != -EINVAL;
	}
	return NULL;
}

/* case 17, case 34, case 40 */
TEST_F_TIMEOUT(lifetime, handle_of_an_object_in_the_making_is_there_or_is_not, 60)
{
	struct guesser guesser = { .fd = self->fd };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, guess_again_and_again, &guesser));
	for (unsigned int i = 0; i < 1000; i++) {
		struct drm_ork_bo_create create = { .size = PAGE };
		struct drm_gem_close close = { 0 };
		int error;

		ASSERT_EQ(0, call(self->fd, DRM_IOCTL_ORK_BO_CREATE, &create));
		close.handle = create.handle;
		error = call(self->fd, DRM_IOCTL_GEM_CLOSE, &close);
		EXPECT_TRUE(!error || error == -EINVAL);
	}
	guesser.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0u, guesser.found);
	EXPECT_LT(0u, guesser.missing);
	EXPECT_EQ(0u, guesser.other);
}

/* --- many at once ----------------------------------------------------------------------------- */

#define MANY		30
#define MANY_JOBS	5

/* Its own results, and 0. */
static int one_of_many(void)
{
	int fd = device_open();
	struct step step;

	if (fd < 0 || step_create(fd, &step, 1, 0))
		return 1;
	for (uint8_t i = 1; i <= MANY_JOBS; i++) {
		memset(step.product.bo.data + step.product.b, i, STEP_BYTES);
		if (step_run(&step) || product_wrong(&step.product, i * STEP_VALUE))
			return 2;
	}
	step_close(&step);
	close(fd);
	return 0;
}

static void *thread_of_many(void *opaque)
{
	pthread_barrier_wait(opaque);
	return (void *)(intptr_t)one_of_many();
}

static void process_of_many(int socket, void *opaque)
{
	char byte;

	(void)opaque;
	/* Until the other end is closed, by all at once. */
	if (read(socket, &byte, 1) != 0)
		_exit(3);
	_exit(one_of_many());
}

/* case 74 */
TEST_F_TIMEOUT(lifetime, thirty_threads_and_thirty_processes_begin_at_once, 60)
{
	struct client clients[MANY];
	pthread_t threads[MANY];
	pthread_barrier_t barrier;

	ASSERT_EQ(0, pthread_barrier_init(&barrier, NULL, MANY + 1));
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(0, client_start(&clients[i], process_of_many, NULL));
	for (unsigned int i = 0; i < MANY; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, thread_of_many, &barrier));
	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < MANY; i++)
		shutdown(clients[i].socket, SHUT_RDWR);
	for (unsigned int i = 0; i < MANY; i++) {
		void *result;

		EXPECT_EQ(0, client_exit_code(&clients[i]));
		ASSERT_EQ(0, pthread_join(threads[i], &result));
		EXPECT_EQ(NULL, result);
	}
}

/* --- fences ----------------------------------------------------------------------------------- */

/* case 67 */
TEST_F(lifetime, lack_of_a_descriptor_for_its_fence_costs_no_job)
{
	struct rlimit limit, none = { 0 };
	struct step gate;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none.rlim_max = limit.rlim_max;
	ASSERT_EQ(0, gate_create(self->fd, self->board, &gate, 1));
	ASSERT_EQ(0, gate_shut(self->board, &gate));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, sync_file_export(self->fd, gate.out.handle));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	gates_open(self->board);
	EXPECT_EQ(0, step_status(&gate));
}

/* case 67 */
TEST_F(lifetime, plain_file_is_no_fence)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint32_t in;

	ASSERT_LE(0, file);
	EXPECT_EQ(-EINVAL, sync_file_import(self->fd, file, &in));
	EXPECT_EQ(-EINVAL, sync_file_import(self->fd, self->fd, &in));
	EXPECT_EQ(-EINVAL, sync_file_import(self->fd, 1000000, &in));
}

/* A software timeline of the kernel's own, and a sync_file of its first point. */
static int sw_sync_open(int *file)
{
	struct {
		uint32_t value;
		char name[32];
		int32_t fence;
	} create = { .value = 1 };
	int timeline = open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);

	if (timeline < 0)
		return -errno;
	if (ioctl(timeline, _IOWR('W', 0, create), &create))
		return -errno;
	*file = create.fence;
	return timeline;
}

/* case 67 */
TEST_F(lifetime, fence_that_never_comes_holds_up_no_close)
{
	int file, timeline = sw_sync_open(&file), fd;
	struct step step;
	uint32_t in;

	if (timeline < 0)
		SKIP(return, "needs a kernel with SW_SYNC");
	fd = device_open();
	ASSERT_EQ(0, sync_file_import(fd, file, &in));
	ASSERT_EQ(0, step_create(fd, &step, 1, 0));
	step_wait_for(&step, in, 0);
	ASSERT_EQ(0, step_submit(&step));
	step_close(&step);
	close(fd);
	EXPECT_EQ(0, sync_file_status(file));
	/* Nobody of ours is left to be called. */
	close(timeline);
	EXPECT_EQ(-ENOENT, sync_file_end(file));
}

/* case 67 */
TEST_F(lifetime, timeline_that_is_closed_cancels_who_waits_for_it)
{
	int file, timeline = sw_sync_open(&file);
	struct step step;
	uint32_t in;

	if (timeline < 0)
		SKIP(return, "needs a kernel with SW_SYNC");
	ASSERT_EQ(0, sync_file_import(self->fd, file, &in));
	ASSERT_EQ(0, step_create(self->fd, &step, 1, 0));
	step_wait_for(&step, in, 0);
	ASSERT_EQ(0, step_submit(&step));
	EXPECT_EQ(-EBUSY, step_look(&step));
	close(timeline);
	EXPECT_EQ(-ECANCELED, step_status(&step));
	EXPECT_TRUE(product_untouched(&step.product));
}

/* What the kernel itself shows of fences, it asks their drivers for. */
static void read_names_of_fences(void)
{
	static const char *const paths[] = { "/sys/kernel/debug/dma_buf/bufinfo",
					     "/sys/kernel/debug/sync/info" };
	char buffer[4096];

	for (unsigned int i = 0; i < ARRAY_LENGTH(paths); i++) {
		int file = open(paths[i], O_RDONLY | O_CLOEXEC);

		while (file >= 0 && read(file, buffer, sizeof(buffer)) > 0)
			;
		if (file >= 0)
			close(file);
	}
}

static void trace_fences(bool on)
{
	write_text("/sys/kernel/debug/tracing/events/dma_fence/enable", on ? "1" : "0");
}

/* case 68 */
TEST_F(lifetime, names_of_a_fence_outlive_file_and_device)
{
	struct sync_fence_info fence;
	struct step gate;
	int file;

	NEED_BOARD(self->board);
	NEED_NODES(&self->nodes);
	trace_fences(true);
	ASSERT_EQ(0, gate_create(self->fd, self->board, &gate, 1));
	ASSERT_EQ(0, gate_shut(self->board, &gate));
	file = sync_file_export(self->fd, gate.out.handle);
	ASSERT_LE(0, file);
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	unmap_everything();
	close(self->fd);
	EXPECT_EQ(-ENODEV, sync_file_end(file));
	EXPECT_EQ(0, sync_file_fence(file, &fence));
	EXPECT_TRUE(fence_is_named(fence.driver_name, "detached-driver"));
	EXPECT_TRUE(fence_is_named(fence.obj_name, "signaled-timeline"));
	read_names_of_fences();
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
	EXPECT_EQ(0, sync_file_fence(file, &fence));
	EXPECT_TRUE(fence_is_named(fence.driver_name, "detached-driver"));
	close(file);
	trace_fences(false);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	(void)signal;
	alarms++;
}

/* case 70 */
TEST_F(lifetime, signals_do_not_stretch_the_deadline_of_a_wait)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval storm = { .it_interval = { 0, 1000 }, .it_value = { 0, 1000 } },
			 calm = { 0 };
	struct drm_ork_wait wait = { 0 };
	struct step gate;
	int error;

	NEED_BOARD(self->board);
	ASSERT_EQ(0, gate_create(self->fd, self->board, &gate, 1));
	ASSERT_EQ(0, gate_shut(self->board, &gate));
	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &storm, NULL));
	wait.syncobj = gate.out.handle;
	wait.timeout_ns = now_ns() + SECOND / 2;
	do {
		error = call(self->fd, DRM_IOCTL_ORK_WAIT, &wait);
	} while (error == -EINTR);
	setitimer(ITIMER_REAL, &calm, NULL);
	EXPECT_EQ(-ETIME, error);
	/* The kernel counts in ticks, of ten milliseconds at most, and may give up one early. */
	EXPECT_LE(wait.timeout_ns - SECOND / 100, now_ns());
	EXPECT_EQ(-EBUSY, step_look(&gate));
}

/* --- unbinding -------------------------------------------------------------------------------- */

/* All that a file can be asked for; what is asked does not matter once the device is gone. */
static const unsigned long requests[] = {
	DRM_IOCTL_VERSION, DRM_IOCTL_GEM_CLOSE, DRM_IOCTL_SYNCOBJ_CREATE,
	DRM_IOCTL_SYNCOBJ_DESTROY, DRM_IOCTL_SYNCOBJ_WAIT, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD,
	DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, DRM_IOCTL_PRIME_HANDLE_TO_FD, DRM_IOCTL_PRIME_FD_TO_HANDLE,
	DRM_IOCTL_ORK_QUERY, DRM_IOCTL_ORK_BO_CREATE, DRM_IOCTL_ORK_BO_INFO, DRM_IOCTL_ORK_BO_SYNC,
	DRM_IOCTL_ORK_SUBMIT, DRM_IOCTL_ORK_WAIT,
};

/* The first ioctl that gives anything else than -ENODEV; 0 if none does. */
static unsigned long request_that_works(int fd)
{
	for (size_t i = 0; i < ARRAY_LENGTH(requests); i++) {
		uint8_t argument[128] = { 0 };

		if (call(fd, requests[i], argument) != -ENODEV)
			return requests[i];
	}
	return 0;
}

/* A job in every state there is, of one file: sync_files of them. */
#define STATES	4

static int jobs_in_every_state(const FIXTURE_DATA(lifetime) *self, struct step *steps, int *files)
{
	int error = 0;

	for (unsigned int i = 0; i < STATES && !error; i++) {
		struct step *step = &steps[i];

		if (i == RUNNING)
			error = gate_create(self->fd, self->board, step, 1);
		else
			error = step_create(self->fd, step, 2, i == STAGED ? 1 : 2);
		if (i == HUNG) {
			step_spoil(step, HANG);
			step->job.timeout_ms = DRM_ORK_MAX_TIMEOUT_MS;
		}
	}
	if (!error)
		error = gate_shut(self->board, &steps[RUNNING]);
	if (!error)
		error = gate_shut(self->board, &steps[HUNG]);
	step_wait_for(&steps[WAITING], steps[RUNNING].out.handle, 0);
	if (!error)
		error = step_submit(&steps[STAGED]);
	if (!error)
		error = step_submit(&steps[WAITING]);
	for (unsigned int i = 0; i < STATES && !error; i++)
		files[i] = sync_file_export(self->fd, steps[i].out.handle);
	return error;
}

/* case 58 */
TEST_F(lifetime, unbind_ends_jobs_in_every_state_and_leaves_memory_alone)
{
	struct step steps[STATES];
	int files[STATES];
	struct bo bo;

	NEED_BOARD(self->board);
	NEED_NODES(&self->nodes);
	ASSERT_EQ(0, bo_create(self->fd, 16 * PAGE, &bo));
	bo.data[0] = 0x5a;
	ASSERT_EQ(0, jobs_in_every_state(self, steps, files));
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	for (unsigned int i = 0; i < STATES; i++) {
		EXPECT_EQ(-ENODEV, sync_file_end(files[i])) {
			TH_LOG("state %u", i);
		}
	}
	EXPECT_TRUE(product_untouched(&steps[STAGED].product));
	EXPECT_TRUE(product_untouched(&steps[WAITING].product));
	EXPECT_EQ(0u, request_that_works(self->fd));
	EXPECT_EQ(0x5a, bo.data[0]);
	/* A page that was touched, and one that was not. */
	bo.data[1] = bo.data[0];
	bo.data[9 * PAGE] = 0xa5;
	EXPECT_EQ(0x5a, bo.data[1]);
	EXPECT_EQ(0xa5, bo.data[9 * PAGE]);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, bo.size, PROT_READ, MAP_SHARED, self->fd, bo.mmap_offset));
	EXPECT_EQ(ENODEV, errno);

	EXPECT_EQ(0, node_bind(&self->nodes, 0));
	gates_open(self->board);
	EXPECT_EQ(0, health_everywhere());
	EXPECT_EQ(0u, request_that_works(self->fd));
	EXPECT_EQ(0x5a, bo.data[0]);
}

static void *wait_for_ever(void *opaque)
{
	struct step *step = opaque;
	struct drm_ork_wait wait = { .syncobj = step->out.handle, .timeout_ns = INT64_MAX };
	int error = call(step->fd, DRM_IOCTL_ORK_WAIT, &wait);

	return (void *)(intptr_t)(error ? error : wait.status);
}

TEST_F(lifetime, unbind_wakes_who_waits)
{
	pthread_t thread;
	struct step gate;
	void *result;

	NEED_BOARD(self->board);
	NEED_NODES(&self->nodes);
	ASSERT_EQ(0, gate_create(self->fd, self->board, &gate, 1));
	ASSERT_EQ(0, gate_shut(self->board, &gate));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_for_ever, &gate));
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(-ENODEV, (intptr_t)result);
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
}

/* The permutations of three; of one node there is one. */
static const uint32_t orders[][ORK_MAX_CORES] = {
	{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

static int rebind_in_order(const struct nodes *nodes, const uint32_t *order, int fd)
{
	for (uint32_t i = 0; i < nodes->count; i++)
		if (node_unbind(nodes, order[i]) || call(fd, DRM_IOCTL_VERSION, NULL) != -ENODEV ||
		    device_open() != -ENODEV)
			return -EBADMSG;
	for (uint32_t i = 0; i < nodes->count; i++)
		if (device_open() != -ENODEV || node_bind(nodes, order[i]))
			return -EBADMSG;
	return 0;
}

/*
 * A device is all of its cores: it is gone with the first node, whatever runs, and back with the
 * last, in whichever order they come and go.
 */
/* case 91 */
TEST_F_TIMEOUT(lifetime, nodes_may_go_and_come_in_any_order, 60)
{
	uint32_t count = self->nodes.count == ORK_MAX_CORES ? ARRAY_LENGTH(orders) : 1;

	NEED_BOARD(self->board);
	NEED_NODES(&self->nodes);
	for (uint32_t i = 0; i < 2 * count; i++) {
		int fd = device_open();
		struct step gate;

		ASSERT_LE(0, fd);
		if (i >= count) {
			ASSERT_EQ(0, gate_create(fd, self->board, &gate, 0));
			ASSERT_EQ(0, gate_shut(self->board, &gate));
		}
		EXPECT_EQ(0, rebind_in_order(&self->nodes, orders[i % count], fd));
		gates_open(self->board);
		EXPECT_EQ(0, health_everywhere());
		unmap_everything();
		close(fd);
	}
}

/* A job that is about to be given up, or a hundred that wait, when the device goes. */
static int prepare_round(const FIXTURE_DATA(lifetime) *self, int fd, unsigned int round)
{
	uint32_t core_mask = 1u << round / 4 % self->info.num_cores;
	struct step step;
	int error;

	if (round % 2) {
		error = gate_create(fd, self->board, &step, core_mask);
		if (!error)
			error = gate_shut(self->board, &step);
		for (unsigned int i = 0; i < 100 && round % 4 == 3 && !error; i++)
			error = step_submit(&step);
		return error;
	}
	error = step_create(fd, &step, 2, core_mask);
	step_spoil(&step, HANG);
	step.job.timeout_ms = 20;
	if (!error)
		error = step_submit(&step);
	usleep(random_below(50000));
	return error;
}

/* A kernel that watches everything takes ten times as long, and sees it the first time. */
static unsigned int rounds(unsigned int wanted)
{
	return access("/sys/kernel/debug/kmemleak", F_OK) ? wanted : (wanted + 9) / 10;
}

/* case 58, case 91 */
TEST_F_TIMEOUT(lifetime, device_may_go_and_come_again_and_again_under_its_clients, 240)
{
	NEED_BOARD(self->board);
	NEED_NODES(&self->nodes);
	for (unsigned int round = 0; round < rounds(200); round++) {
		uint32_t node = round % self->nodes.count;
		int fd = device_open();

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, prepare_round(self, fd, round));
		ASSERT_EQ(0, node_unbind(&self->nodes, node));
		ASSERT_EQ(0, node_bind(&self->nodes, node));
		gates_open(self->board);
		unmap_everything();
		close(fd);
	}
}

/* Whoever is early finds a device that works, or none. */
static void early_client(int socket, void *opaque)
{
	struct pollfd events = { .fd = socket, .events = POLLIN };

	(void)opaque;
	while (!poll(&events, 1, 0)) {
		int fd = device_open(), error = fd < 0 ? fd : health(fd, 0);

		if (error && error != -ENODEV)
			_exit(1);
		unmap_everything();
		if (fd >= 0)
			close(fd);
		if (!error && write(socket, "", 1) != 1)
			_exit(2);
	}
}

/* case 92 */
TEST_F_TIMEOUT(lifetime, device_that_can_be_opened_works, 120)
{
	struct client clients[2];

	NEED_NODES(&self->nodes);
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, client_start(&clients[i], early_client, NULL));
	for (unsigned int round = 0; round < rounds(20); round++) {
		uint32_t node = round % self->nodes.count;
		char byte;

		ASSERT_EQ(0, node_unbind(&self->nodes, node));
		ASSERT_EQ(0, node_bind(&self->nodes, node));
		/* Both find it again, and go on. */
		for (unsigned int i = 0; i < 2; i++)
			ASSERT_EQ(1, read(clients[i].socket, &byte, 1));
	}
	for (unsigned int i = 0; i < 2; i++) {
		shutdown(clients[i].socket, SHUT_WR);
		EXPECT_EQ(0, client_exit_code(&clients[i]));
	}
}

/* --- memory that others hold ------------------------------------------------------------------ */

/* case 19 */
TEST_F(lifetime, exported_memory_outlives_file_and_device)
{
	struct drm_prime_handle export = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct bo bo;
	uint8_t *data;

	NEED_NODES(&self->nodes);
	ASSERT_EQ(0, bo_create(self->fd, 4 * PAGE, &bo));
	memset(bo.data, 0x5a, bo.size);
	export.handle = bo.handle;
	ASSERT_EQ(0, call(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &export));
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	unmap_everything();
	close(self->fd);
	data = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, export.fd, 0);
	if (data != MAP_FAILED) {
		EXPECT_EQ(0x5a, data[PAGE]);
		data[PAGE] = 0xa5;
		EXPECT_EQ(0xa5, data[PAGE]);
		munmap(data, bo.size);
	}
	EXPECT_LT(0, module_references());
	EXPECT_EQ(-EWOULDBLOCK, module_remove());
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
	close(export.fd);
}

/* --- the module ------------------------------------------------------------------------------- */

TEST_F(lifetime, module_stays_while_a_file_is_open)
{
	NEED_MODULE;
	EXPECT_EQ(-EWOULDBLOCK, module_remove());
	EXPECT_EQ(0, health(self->fd, 0));
}

TEST_F(lifetime, module_stays_while_an_object_is_mapped)
{
	struct bo bo;

	NEED_MODULE;
	ASSERT_EQ(0, bo_create(self->fd, PAGE, &bo));
	close(self->fd);
	EXPECT_EQ(-EWOULDBLOCK, module_remove());
	bo.data[0] = 1;
}

/* case 68 */
TEST_F(lifetime, module_stays_while_a_fence_lives_though_its_device_is_gone)
{
	struct step step;
	int file;

	NEED_MODULE;
	NEED_NODES(&self->nodes);
	ASSERT_EQ(0, step_create(self->fd, &step, 1, 0));
	ASSERT_EQ(0, step_run(&step));
	file = sync_file_export(self->fd, step.out.handle);
	ASSERT_LE(0, file);
	unmap_everything();
	close(self->fd);
	EXPECT_EQ(0, node_unbind(&self->nodes, 0));
	EXPECT_TRUE(SOON(module_references() == 1));
	EXPECT_EQ(-EWOULDBLOCK, module_remove());
	EXPECT_EQ(1, sync_file_status(file));
	EXPECT_EQ(0, node_bind(&self->nodes, 0));
	close(file);
}

/* The last fence may go a moment after the last file. */
TEST_F_TIMEOUT(lifetime, module_may_go_and_come_again_and_again, 120)
{
	NEED_MODULE;
	close(self->fd);
	for (unsigned int round = 0; round < rounds(20); round++) {
		ASSERT_TRUE(SOON(!module_remove()));
		EXPECT_EQ(-ENODEV, device_open());
		ASSERT_EQ(0, module_insert());
		EXPECT_EQ(0, health_everywhere());
	}
}

ORK_TEST_MAIN

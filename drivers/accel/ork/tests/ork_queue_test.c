// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose turn it is.
 */

#include <kunit/test.h>

#include "ork_test_board.h"

#include "../ork_queue.h"

static void ork_queue_test_add(struct ork_board *board, struct ork_job *job)
{
	spin_lock_irq(&board->ork.lock);
	ork_queue_add_locked(&board->ork, job);
	spin_unlock_irq(&board->ork.lock);
}

static void ork_queue_test_take(struct ork_board *board, struct ork_job *job)
{
	spin_lock_irq(&board->ork.lock);
	ork_queue_take_locked(job);
	spin_unlock_irq(&board->ork.lock);
}

static void ork_queue_test_turn(struct ork_board *board, struct ork_queue *queue)
{
	spin_lock_irq(&board->ork.lock);
	ork_queue_turn_locked(&board->ork, queue);
	spin_unlock_irq(&board->ork.lock);
}

/* Adds a job of a file and priority. */
static struct ork_job *ork_queue_test_new(struct kunit *test, struct ork_board *board,
					  unsigned int file, u32 priority)
{
	struct ork_job *job = ork_board_job(test, board, file, priority, 1);

	ork_queue_test_add(board, job);
	return job;
}

/* The queues by turn, each as its file's number and the letter of its priority: "0N 2N 1L". */
static const char *ork_queue_test_order(struct kunit *test, struct ork_board *board)
{
	static const char letters[] = {
		[DRM_ORK_PRIORITY_NORMAL] = 'N',
		[DRM_ORK_PRIORITY_LOW] = 'L',
		[DRM_ORK_PRIORITY_HIGH] = 'H',
	};
	const size_t most = 64;
	char *text = kunit_kzalloc(test, most, GFP_KERNEL);
	struct ork_queue *queue;
	size_t n = 0;

	KUNIT_ASSERT_NOT_NULL(test, text);
	list_for_each_entry(queue, &board->ork.queues, turn)
		n += scnprintf(text + n, most - n, "%s%td%c", n ? " " : "",
			       queue->vm - board->vms, letters[queue->priority]);
	return text;
}

static void jobs_of_a_mask_stay_in_the_order_they_came(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *jobs[3], *job;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(jobs); i++)
		jobs[i] = ork_queue_test_new(test, board, 0, DRM_ORK_PRIORITY_NORMAL);
	i = 0;
	list_for_each_entry(job, &board->files[0].queues[DRM_ORK_PRIORITY_NORMAL].jobs[1], link)
		KUNIT_EXPECT_PTR_EQ(test, job, jobs[i++]);
	KUNIT_EXPECT_EQ(test, i, 3);
}

static void order_counts_jobs_of_all_queues(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	u64 first, i;

	first = ork_queue_test_new(test, board, 0, DRM_ORK_PRIORITY_LOW)->order;
	for (i = 1; i < 6; i++)
		KUNIT_EXPECT_EQ(test, ork_queue_test_new(test, board, i % 3, i % 2)->order,
				first + i);
}

static void queue_has_a_turn_while_it_has_jobs(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);
	struct ork_job *first, *second;

	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "");
	first = ork_queue_test_new(test, board, 0, DRM_ORK_PRIORITY_NORMAL);
	second = ork_queue_test_new(test, board, 0, DRM_ORK_PRIORITY_NORMAL);
	ork_queue_test_take(board, first);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "0N");
	ork_queue_test_take(board, second);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "");
	ork_queue_test_new(test, board, 0, DRM_ORK_PRIORITY_NORMAL);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "0N");
}

static void files_take_turns_in_the_order_they_came(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);

	ork_queue_test_new(test, board, 2, DRM_ORK_PRIORITY_NORMAL);
	ork_queue_test_new(test, board, 0, DRM_ORK_PRIORITY_NORMAL);
	ork_queue_test_new(test, board, 1, DRM_ORK_PRIORITY_NORMAL);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "2N 0N 1N");
}

/* A client that adds jobs all the time does not lose or gain a place by it. */
static void another_job_does_not_move_its_queue(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);

	ork_queue_test_new(test, board, 0, DRM_ORK_PRIORITY_NORMAL);
	ork_queue_test_new(test, board, 1, DRM_ORK_PRIORITY_NORMAL);
	ork_queue_test_new(test, board, 0, DRM_ORK_PRIORITY_NORMAL);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "0N 1N");
}

struct ork_queue_arrival {
	const char *name;
	u32 priorities[3];
	const char *order;
};

#define L	DRM_ORK_PRIORITY_LOW
#define N	DRM_ORK_PRIORITY_NORMAL
#define H	DRM_ORK_PRIORITY_HIGH

/* Of the files 0, 1, 2, which come in this order. */
static const struct ork_queue_arrival ork_queue_arrivals[] = {
	{ "low, normal, high", { L, N, H }, "2H 1N 0L" },
	{ "low, high, normal", { L, H, N }, "1H 2N 0L" },
	{ "normal, low, high", { N, L, H }, "2H 0N 1L" },
	{ "normal, high, low", { N, H, L }, "1H 0N 2L" },
	{ "high, low, normal", { H, L, N }, "0H 2N 1L" },
	{ "high, normal, low", { H, N, L }, "0H 1N 2L" },
	{ "low, high, low", { L, H, L }, "1H 0L 2L" },
	{ "high, normal, high", { H, N, H }, "0H 2H 1N" },
	{ "normal, low, normal", { N, L, N }, "0N 2N 1L" },
};

KUNIT_ARRAY_PARAM_DESC(ork_queue_arrivals, ork_queue_arrivals, name);

static void higher_priority_goes_first_whoever_came_first(struct kunit *test)
{
	const struct ork_queue_arrival *arrival = test->param_value;
	struct ork_board *board = ork_board_create(test, 1, false);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arrival->priorities); i++)
		ork_queue_test_new(test, board, i, arrival->priorities[i]);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), arrival->order);
}

static void priorities_of_one_file_have_turns_of_their_own(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);

	ork_queue_test_new(test, board, 0, L);
	ork_queue_test_new(test, board, 1, N);
	ork_queue_test_new(test, board, 0, H);
	ork_queue_test_new(test, board, 0, N);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "0H 1N 0N 0L");
}

static void turn_goes_behind_its_own_priority_and_no_further(struct kunit *test)
{
	struct ork_board *board = ork_board_create(test, 1, false);

	ork_queue_test_new(test, board, 0, N);
	ork_queue_test_new(test, board, 1, N);
	ork_queue_test_new(test, board, 2, N);
	ork_queue_test_new(test, board, 3, L);
	ork_queue_test_new(test, board, 3, H);
	ork_queue_test_turn(board, &board->files[0].queues[N]);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "3H 1N 2N 0N 3L");
	ork_queue_test_turn(board, &board->files[2].queues[N]);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "3H 1N 0N 2N 3L");
	ork_queue_test_turn(board, &board->files[3].queues[H]);
	KUNIT_EXPECT_STREQ(test, ork_queue_test_order(test, board), "3H 1N 0N 2N 3L");
}

#undef L
#undef N
#undef H

static struct kunit_case ork_queue_cases[] = {
	KUNIT_CASE(jobs_of_a_mask_stay_in_the_order_they_came),
	KUNIT_CASE(order_counts_jobs_of_all_queues),
	KUNIT_CASE(queue_has_a_turn_while_it_has_jobs),
	KUNIT_CASE(files_take_turns_in_the_order_they_came),
	KUNIT_CASE(another_job_does_not_move_its_queue),
	KUNIT_CASE_PARAM(higher_priority_goes_first_whoever_came_first,
			 ork_queue_arrivals_gen_params),
	KUNIT_CASE(priorities_of_one_file_have_turns_of_their_own),
	KUNIT_CASE(turn_goes_behind_its_own_priority_and_no_further),
	{ }
};

static struct kunit_suite ork_queue_suite = {
	.name = "ork_queue",
	.test_cases = ork_queue_cases,
};

kunit_test_suite(ork_queue_suite);

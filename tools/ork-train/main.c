// SPDX-License-Identifier: MIT
/*
 * ork-train: train a small network with every matrix product on the NPU, and tell what that cost.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common.h"
#include "net.h"
#include "options.h"
#include "reference.h"
#include "report.h"

/*
 * What half-precision operands may cost: 2^-11 for each of two, and little more in the norm of a
 * tensor.
 */
static const double gradient_limit = 5e-3;

enum {
	COMPARE_STEPS = 20,	/* of the other sync mode, after training */
	PROGRESS_UPDATES = 20,
	BAR_WIDTH = 30,
};

struct training {
	struct options options;
	struct digits digits;
	struct sampler sampler;
	struct ork *ork;
	struct net net;
	struct params params, gradient, reference;
	struct adamw adamw;
	struct report report;
};

static int out_of_memory(void)
{
	tool_complain("out of memory");
	return TOOL_DEVICE;
}

static void print_progress(const struct options *options, uint32_t step, float loss)
{
	static const char full[BAR_WIDTH + 1] = "##############################";
	uint32_t every = (options->steps + PROGRESS_UPDATES - 1) / PROGRESS_UPDATES;
	int width = (int)((uint64_t)step * BAR_WIDTH / options->steps);

	if (options->quiet || (step % every && step != options->steps))
		return;
	if (isatty(STDOUT_FILENO))
		printf("\r[%-*.*s] step %" PRIu32 "/%" PRIu32 "  loss %.4f%s", BAR_WIDTH, width,
		       full, step, options->steps, (double)loss,
		       step == options->steps ? "\n" : "");
	else
		printf("step %" PRIu32 "/%" PRIu32 "  loss %.4f\n", step, options->steps,
		       (double)loss);
	fflush(stdout);
}

/*
 * Every tensor's error to standard output, unless quiet; the worst to standard error, if it is too
 * much.
 */
static int judge_gradient(struct training *training, const char *when)
{
	double errors[TENSORS];
	int worst = 0;

	for (int i = 0; i < TENSORS; i++) {
		errors[i] = relative_error(tensor_data(&training->gradient, &tensors[i]),
					   tensor_data(&training->reference, &tensors[i]),
					   tensors[i].count);
		/* A NaN is worse than any number. */
		if (!(errors[i] <= errors[worst]))
			worst = i;
	}
	if (!training->options.quiet) {
		printf("gradient check %s:", when);
		for (int i = 0; i < TENSORS; i++)
			printf(" %s %.2e", tensors[i].name, errors[i]);
		printf("; worst %s, limit %.0e\n", tensors[worst].name, gradient_limit);
	}
	if (errors[worst] <= gradient_limit)
		return TOOL_OK;
	tool_complain("gradient check %s failed: relative error %.2e of %s is over %.0e", when,
		      errors[worst], tensors[worst].name, gradient_limit);
	return TOOL_CHECK_FAILED;
}

static int check_gradient(struct training *training, const uint32_t *rows, const char *when)
{
	float loss;

	if (reference_step(&training->params, training->digits.rows, rows, training->options.batch,
			   &training->reference, &loss))
		return out_of_memory();
	return judge_gradient(training, when);
}

/*
 * The first step cannot tell weights that were loaded from weights that were loaded again. So the
 * trained ones, of no more use by now, give way to others, again from params_init(), which says
 * why its numbers are fit for comparison.
 */
static int check_again(struct training *training)
{
	const uint32_t *rows = sampler_next(&training->sampler, training->options.batch);
	float loss;
	int status;

	params_init(&training->params, training->options.seed + 1);
	status = net_step(&training->net, &training->params, training->digits.rows, rows,
			  training->options.wrong, &training->gradient, &loss);
	return status ? status : check_gradient(training, rows, "with new weights");
}

static int train_step(struct training *training, uint32_t step)
{
	const uint32_t *rows = sampler_next(&training->sampler, training->options.batch);
	float *loss = step == 1 ? &training->report.first_loss : &training->report.last_loss;
	int status = net_step(&training->net, &training->params, training->digits.rows, rows,
			      training->options.wrong, &training->gradient, loss);

	training->report.last_loss = *loss;
	if (!status && step == 1 && training->options.check)
		status = check_gradient(training, rows, "in step 1");
	if (status)
		return status;
	if (!isfinite(*loss)) {
		tool_complain("the loss of step %" PRIu32 " is not a number", step);
		return TOOL_CHECK_FAILED;
	}
	adamw_step(&training->adamw, &training->params, &training->gradient);
	print_progress(&training->options, step, *loss);
	return TOOL_OK;
}

/* Plans and the first, cold products are part of what is measured. */
static int train(struct training *training)
{
	const struct options *options = &training->options;
	uint64_t begin = tool_now_ns();
	int status = segment_begin(&training->report.training, training->ork);

	if (!status)
		status = net_init(&training->net, training->ork, options->batch, options->cores,
				  options->sync);
	for (uint32_t step = 1; step <= options->steps && !status; step++)
		status = train_step(training, step);
	if (!status)
		status = segment_end(&training->report.training, training->ork);
	training->report.seconds = (double)(tool_now_ns() - begin) / 1e9;
	return status;
}

static int evaluate_batch(struct training *training, const uint32_t *rows, uint32_t count)
{
	int status =
		net_forward(&training->net, &training->params, training->digits.rows, rows, count);

	for (uint32_t i = 0; i < count && !status; i++)
		if (net_class(&training->net, &training->params, i) ==
		    training->digits.rows[rows[i]].label)
			training->report.right++;
	return status;
}

static int evaluate(struct training *training)
{
	uint32_t rows[BATCH_MAX], next = training->digits.training;
	int status = net_load(&training->net, &training->params);

	training->report.held_out = training->digits.count - next;
	while (next < training->digits.count && !status) {
		uint32_t count = 0;

		while (count < training->options.batch && next < training->digits.count)
			rows[count++] = next++;
		status = evaluate_batch(training, rows, count);
	}
	return status;
}

/*
 * Steps in the other sync mode that change no weights; of the last, the bits must be those of the
 * trained net.
 */
static int compare_with(struct training *training, struct net *other)
{
	struct report *report = &training->report;
	const struct digit *digits = training->digits.rows;
	uint32_t steps =
		training->options.steps < COMPARE_STEPS ? training->options.steps : COMPARE_STEPS;
	const uint32_t *rows = NULL;
	float loss, other_loss;
	int status = TOOL_OK;

	for (uint32_t step = 0; step < steps && !status; step++) {
		rows = sampler_next(&training->sampler, training->options.batch);
		status = net_step(other, &training->params, digits, rows, training->options.wrong,
				  &training->reference, &other_loss);
	}
	if (!status)
		status = segment_end(&report->other, training->ork);
	if (!status)
		status = net_step(&training->net, &training->params, digits, rows,
				  training->options.wrong, &training->gradient, &loss);
	if (status || (loss == other_loss && !memcmp(&training->gradient, &training->reference,
						     sizeof(training->gradient))))
		return status;
	tool_complain("live and whole differ: losses %.9g and %.9g of the same step", (double)loss,
		      (double)other_loss);
	return TOOL_CHECK_FAILED;
}

static int compare(struct training *training)
{
	const struct options *options = &training->options;
	struct net other;
	int status = segment_begin(&training->report.other, training->ork);

	if (!status)
		status = net_init(&other, training->ork, options->batch, options->cores,
				  options->sync == ORK_SYNC_LIVE ? ORK_SYNC_WHOLE : ORK_SYNC_LIVE);
	if (status)
		return status;
	status = compare_with(training, &other);
	net_fini(&other);
	return status;
}

static int write_report(const struct report *report)
{
	int error = report->options->json ? report_write(report) : 0;

	if (!report->options->quiet)
		report_print(report);
	if (!error)
		return TOOL_OK;
	tool_complain("--json: %s: %s", report->options->json, strerror(-error));
	return TOOL_USAGE;
}

static int run(struct training *training)
{
	int status = train(training);

	if (!status)
		status = evaluate(training);
	if (!status)
		status = compare(training);
	if (!status && training->options.check)
		status = check_again(training);
	if (!status)
		status = write_report(&training->report);
	net_fini(&training->net);
	return status;
}

static int run_on_device(struct training *training)
{
	struct options *options = &training->options;
	int status = tool_open(options->device, &training->ork);

	if (status)
		return status;
	if (!options->cores)
		options->cores = tool_cores(training->ork);
	training->report.options = options;
	training->report.device = ork_name(training->ork);
	training->report.cores = tool_cores(training->ork);
	params_init(&training->params, options->seed);
	adamw_init(&training->adamw);
	status = tool_check_cores(training->ork, options->cores) ? run(training) : TOOL_USAGE;
	ork_close(training->ork);
	return status;
}

static int run_on_digits(struct training *training)
{
	const struct options *options = &training->options;
	int status;

	if (digits_load(&training->digits, options->data))
		return TOOL_USAGE;
	if (options->batch > training->digits.training) {
		tool_complain("--batch: %" PRIu32 " is more than the %" PRIu32
			      " digits to train on",
			      options->batch, training->digits.training);
		status = TOOL_USAGE;
	} else if (sampler_init(&training->sampler, training->digits.training, options->seed)) {
		status = out_of_memory();
	} else {
		status = run_on_device(training);
	}
	sampler_free(&training->sampler);
	digits_free(&training->digits);
	return status;
}

int main(int argc, char **argv)
{
	struct training *training = calloc(1, sizeof(*training));
	int status;

	if (!training)
		return out_of_memory();
	if (options_parse(&training->options, argc, argv, &status))
		status = run_on_digits(training);
	free(training);
	return status;
}

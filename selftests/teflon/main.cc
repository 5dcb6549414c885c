// SPDX-License-Identifier: MIT
/*
 * teflon-check: quantised convolutions through TensorFlow Lite, on its reference kernels for the CPU and through a
 * delegate, compared value by value. Each node must be taken by the delegate. TAP.
 */
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

/* For one case. The slowest takes seconds, on an emulated CPU. */
static const unsigned int LIMIT_S = 600;

static const char usage_text[] =
	"usage: teflon-check [OPTION]... [PART-OF-A-NAME]...\n"
	"  --set SET[,SET]...  core, add, split, chain, net, quirk (all)\n"
	"  --runs N            inputs of each case (2)\n"
	"  --seed N            of weights and inputs (1)\n"
	"  --keep DIR          write the delegate's results to DIR/SET.CASE\n"
	"  --delegate LIBRARY  (/teflon/lib/libteflon.so)\n"
	"  --list              print the cases\n";

static void __attribute__((noreturn)) usage()
{
	fputs(usage_text, stderr);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		usage();
	return value;
}

static std::vector<std::string> words(const std::string &list)
{
	std::vector<std::string> found;
	size_t from = 0, comma;

	do {
		comma = list.find(',', from);
		found.push_back(list.substr(from, comma - from));
		from = comma + 1;
	} while (comma != std::string::npos);
	return found;
}

static void take(options *opt, const std::string &name, const char *value)
{
	if (name == "--set")
		opt->sets = words(value);
	else if (name == "--runs")
		opt->runs = (int)number(value);
	else if (name == "--seed")
		opt->seed = number(value);
	else if (name == "--keep")
		opt->keep = value;
	else if (name == "--delegate")
		opt->delegate = value;
	else
		usage();
}

static options parse(int argc, char **argv)
{
	options opt;

	for (int i = 1; i < argc; i++) {
		std::string word = argv[i];

		if (word == "--list")
			opt.list = true;
		else if (word[0] != '-')
			opt.names.push_back(word);
		else if (i + 1 < argc)
			take(&opt, word, argv[++i]);
		else
			usage();
	}
	return opt;
}

static bool is_wanted(const test_case &spec, const options &opt)
{
	bool in_set = opt.sets.empty(), named = opt.names.empty();

	for (const std::string &each : opt.sets)
		in_set |= each == spec.set;
	for (const std::string &each : opt.names)
		named |= full_name(spec).find(each) != std::string::npos;
	return in_set && named;
}

static void __attribute__((noreturn)) be_child(const test_case &spec, const options &opt)
{
	bool good;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(LIMIT_S);
	good = run_case(spec, opt);
	fflush(stdout);
	_exit(!good);
}

/* In a process of its own: a delegate that crashes or hangs costs one case. */
static bool run_apart(const test_case &spec, const options &opt)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0)
		be_child(spec, opt);
	if (child < 0 || waitpid(child, &status, 0) != child) {
		printf("# no process of its own: %s\n", strerror(errno));
		return false;
	}
	if (WIFSIGNALED(status))
		printf("# %s\n", strsignal(WTERMSIG(status)));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
	options opt = parse(argc, argv);
	int count = 0, failed = 0;

	for (const test_case &spec : all_cases()) {
		std::string name = full_name(spec);
		bool good;

		if (!is_wanted(spec, opt))
			continue;
		count++;
		if (opt.list) {
			puts(name.c_str());
			continue;
		}
		good = run_apart(spec, opt);
		failed += !good;
		printf("%s %d - %s\n", good ? "ok" : "not ok", count, name.c_str());
	}
	if (!count)
		usage();
	if (!opt.list)
		printf("1..%d\n", count);
	return failed != 0;
}

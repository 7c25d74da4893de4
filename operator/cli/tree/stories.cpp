// SPDX-License-Identifier: Apache-2.0
//
// Stories of jobs as tests.
#include "cli/commands.hpp"
#include "cli/tree/registry.hpp"
#include "cli/tree/shared_options.hpp"

namespace signalbox::op::cli {

namespace {

constexpr const char* test_footer = R"(
Plays stories: YAML files with a job, what happens to its pods, and what is expected of the operator.
Nothing is sent anywhere and no clock is waited for: decisions are those of the operator, time is
virtual. A folder stands for all its files. What is not as expected is shown with what happened before
and why the job does what it does; operator/cli/stories/README.md describes the files, and
examples/stories has some.

With --operator the whole operator does it, on an API server in this process. --update writes what was
found into the files, in place of what was expected. --record makes a story of what `kubectl get` has
printed of a job.

Examples:
  signalbox test stories/
  signalbox test stories/*.yaml --junit results.xml
  signalbox test --update stories/restart.yaml && git diff stories/
  kubectl get pj,pods,svc,secret,cm -o yaml | signalbox test --record - > stories/night.yaml

Exit codes: 0 all is as expected, 1 something is not, 2 a file is wrong.)";

void add_test(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(), "test", "Play stories of jobs as tests, offline", test_footer, &test_stories
    );
    add_files(c, options.files);
    CLI::Option* update =
        c.add_flag("--update", options.update, "Write what was found into the files");
    c.add_flag(
         "--operator",
         options.whole_operator,
         "The whole operator, on an API server of this process"
    )
        ->excludes(update);
    c.add_flag("--tap", options.tap, "Print results as TAP, the Test Anything Protocol")
        ->excludes(update);
    c.add_option("--junit", options.junit, "Write results to this file, as test cases in XML")
        ->type_name("FILE")
        ->excludes(update);
    c.add_option("--record", options.record, "Print a story of this recording; - standard input")
        ->type_name("FILE")
        ->excludes(update);
    c.add_option("--now", options.now, "The time of the recording; the present if not given")
        ->type_name("TIME");
    c.parse_complete_callback([&read = options] {
        if (read.files.empty() == read.record.empty()) {
            throw CLI::RequiredError("either a FILE or --record FILE");
        }
    });
}

const registered_command story_commands[] = {
    {"test", 35, &add_test, {{overview_part::without_cluster, 35}}},
};

}  // namespace

}  // namespace signalbox::op::cli

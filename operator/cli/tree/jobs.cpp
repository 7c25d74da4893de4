// SPDX-License-Identifier: Apache-2.0
//
// What a person does about jobs of a cluster.
#include "cli/commands.hpp"
#include "cli/tree/registry.hpp"
#include "cli/tree/shared_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace signalbox::op::cli {

namespace {

constexpr const char* wait_footer = R"(
Waits until a job of a cluster has come as far as is asked, and says how it stands. NAME may be
KIND/NAME, with pj, dj, caij or the kind. Completed means ended, well or not.

Examples:
  signalbox wait mnist && scp ...
  signalbox wait pj/mnist -n team-a --for Running --timeout 10m

Exit codes: 0 it has come there; 1 it cannot come there any more: it ended otherwise, or was deleted;
2 there is no such job, or the cluster cannot be asked; 3 the time is up.)";

constexpr const char* pause_footer = R"(
Asks the operator to take the job's pods away and to keep the job. A paused job can be changed in full
(`signalbox docs rule api 7.3`), and goes on with `signalbox resume`.

Examples:
  signalbox pause mnist && signalbox wait mnist --for Paused

Exit codes: 0 asked, or paused already; 1 it has ended; 2 there is no such job, or the server refused.)";

constexpr const char* resume_footer = R"(
The job gets a new attempt, with what runMode.pause.resumeSpecs says for it.

Examples:
  signalbox resume mnist

Exit codes: 0 asked, or it is not paused; 1 it has ended; 2 there is no such job, or the server refused.)";

constexpr const char* scale_footer = R"(
Sets the wanted number of replicas of an elastic job, by the subresource `scale`: all that it takes is
the permission to patch that. What a size means is in `signalbox docs rule 7`.

Examples:
  signalbox scale dj/llama --replicas 6

Exit codes: 0 asked, or the size is that already; 1 it cannot be: not elastic, out of bounds, ended;
2 there is no such job, or the server refused.)";

constexpr const char* logs_footer = R"(
The logs of a job's replicas as one, in order of time; each line begins with replica type and index,
and with the rank that the operator gave it, if any. With -f it goes on until the job has ended, with
the pods of later attempts too.

Examples:
  signalbox logs mnist --tail 20
  signalbox logs -f mnist --type worker --index 0-3
  signalbox logs --cause mnist          # of the pod that failed first: what it says of that
  signalbox logs mnist --attempt 1         # before a restart, with `signalbox dev --pods process`

Exit codes: 0 shown, 1 of some pods there is no log, 2 there is no such job, or it cannot be read.)";

constexpr const char* top_footer = R"(
The jobs of a namespace: phase, ready of wanted replicas, restarts, disruptions (restarts that are not
counted), age, reason; where jobs report it, how far training is, and which rank stands still. On a
terminal it follows them until Ctrl-C; elsewhere, and with --once, it prints the table as it is now.

Examples:
  signalbox top -A
  signalbox top -n team-a -l queue=night | grep Failed

Exit codes: 0 shown, 2 the cluster cannot be asked.)";

constexpr const char* report_footer = R"(
Where the time of a job went, to the second; how each attempt ended: why, on which rank and node, at
which step; how far training is; the nodes that it avoids. Without NAME it is about the jobs of a
namespace: sums by kind, and those first that held their place without use for longest. Goodput is
`running` of the time with a place (`signalbox docs rule 13.12`). All of it is read from statuses: from
a cluster, or with -f from what `kubectl get pj,dj,caij -o yaml` has recorded. -o html gives one file
with pictures, which needs no network.

Examples:
  signalbox report mnist
  signalbox report mnist -o html > mnist.html
  signalbox report -n team-a --since 7d
  signalbox report -f night.yaml --now 2026-01-31T03:00:00Z -o json | jq '.jobs[].timeSeconds'

Exit codes: 0 shown, 2 there is no such job, or it cannot be read.)";

void add_wait(command_tree& tree) {
    auto [c, options] =
        tree.add(tree.root(), "wait", "Wait for a job in a cluster", wait_footer, &wait_for_job);
    add_target(c, options.target);
    c.add_option("--for", options.condition, fmt::format("{}", fmt::join(wait_conditions(), ", ")))
        ->check(CLI::IsMember(wait_conditions(), CLI::ignore_case))
        ->option_text("CONDITION [Succeeded]");
    c.add_option("--timeout", options.timeout, "At most this long: 30s, 10m, 2h; 0 looks once")
        ->type_name("TIME")
        ->capture_default_str();
    add_namespace(c, options.ns, context_namespace);
    add_cluster(c, options.cluster);
}

/// The job and where it is.
void add_job(CLI::App& to, job_options& options) {
    add_target(to, options.target);
    add_namespace(to, options.ns, context_namespace);
    add_cluster(to, options.cluster);
}

void add_pause(command_tree& tree) {
    auto [c, options] =
        tree.add(tree.root(), "pause", "Pause a job in a cluster", pause_footer, &pause_job);
    add_job(c, options);
}

void add_resume(command_tree& tree) {
    auto [c, options] =
        tree.add(tree.root(), "resume", "Let a paused job go on", resume_footer, &resume_job);
    add_job(c, options);
}

void add_scale(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(), "scale", "Change the size of an elastic job", scale_footer, &scale_job
    );
    c.add_option("--replicas", options.replicas, "Wanted number of replicas, of all types")
        ->check(CLI::Range(0, 1'000'000))
        ->type_name("N")
        ->required();
    add_job(c, options.job);
}

void add_logs(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(), "logs", "Show the logs of a job's replicas as one", logs_footer, &logs
    );
    c.add_flag("-f,--follow", options.follow, "Go on until the job has ended");
    c.add_option("--tail", options.tail, "Only so many lines of each at its end")
        ->check(CLI::NonNegativeNumber)
        ->type_name("LINES");
    c.add_option("--since", options.since, "Only what is younger: 30s, 10m, 2h")->type_name("TIME");
    c.add_flag(
        "--cause",
        options.cause,
        "Only why it failed, with the lines that say so (may hold secrets)"
    );
    c.add_flag("-p,--previous", options.previous, "Of containers as they were before a restart");
    c.add_option(
         "--attempt",
         options.attempt,
         "Only of this attempt; a local node keeps those that are gone"
    )
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    c.add_flag("--timestamps", options.timestamps, "Each line with its time");
    c.add_option("--type", options.type, "Only replicas of this type")->type_name("TYPE");
    c.add_option("--index", options.indexes, "Only these replicas: 0-3,7")->type_name("INDEXES");
    c.add_option(
         "-c,--container", options.container, "Which container; the training container if not given"
    )
        ->type_name("NAME");
    c.add_option("--max-log-requests", options.most_pods, "Most pods at a time")
        ->type_name("N")
        ->capture_default_str();
    add_job(c, options.job);
}

void add_top(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(), "top", "Show the jobs of a cluster and how they are doing", top_footer, &top
    );
    c.add_flag("-A,--all-namespaces", options.all_namespaces, "Jobs of all namespaces");
    c.add_option("-l,--selector", options.selector, "Only jobs with these labels")
        ->type_name("SELECTOR");
    c.add_flag("--once", options.once, "Print the table once, on a terminal too");
    add_namespace(c, options.ns, context_namespace);
    add_cluster(c, options.cluster);
}

void add_report(command_tree& tree) {
    auto [c, options] = tree.add(
        tree.root(), "report", "Show where the time of jobs went", report_footer, &report_jobs
    );
    report_options& to = options;
    c.add_option("NAME", to.target, "The job, NAME or KIND/NAME; all if not given")->type_name("");
    c.add_option(
         "-f,--filename",
         to.files,
         "A recording, YAML or JSON; - for standard input; may be repeated"
    )
        ->type_name("FILE")
        ->allow_extra_args(false);
    c.add_option("--now", to.now, "The time of the recording; now if not given")->type_name("TIME");
    c.add_option("--since", to.since, "Without jobs that ended longer ago: 12h, 7d")
        ->type_name("TIME");
    c.add_flag("-A,--all-namespaces", to.all_namespaces, "Jobs of all namespaces");
    c.add_option("-l,--selector", to.selector, "Only jobs with these labels")
        ->type_name("SELECTOR");
    c.add_option_function<std::string>(
         "-o,--output",
         [&to](const std::string& name) {
             to.output = name == "json"   ? report_format::json
                         : name == "html" ? report_format::html
                                          : report_format::text;
         },
         "text, json or html"
    )
        ->check(CLI::IsMember({"text", "json", "html"}))
        ->option_text("FORMAT [text]");
    add_namespace(c, to.ns, context_namespace);
    add_cluster(c, to.cluster, c.get_option("--filename"));
}

const registered_command job_commands[] = {
    {"wait", 60, &add_wait, {{overview_part::with_cluster, 70}}},
    {"logs", 70, &add_logs, {{overview_part::with_cluster, 60}}},
    {"top", 80, &add_top, {{overview_part::with_cluster, 40}}},
    {"report",
     85,
     &add_report,
     {{overview_part::with_cluster, 45}, {overview_part::without_cluster, 33}}},
    {"pause", 90, &add_pause, {{overview_part::with_cluster, 80}}},
    {"resume", 100, &add_resume, {{overview_part::with_cluster, 90}}},
    {"scale", 110, &add_scale, {{overview_part::with_cluster, 100}}},
};

}  // namespace

}  // namespace signalbox::op::cli

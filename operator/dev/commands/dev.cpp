// SPDX-License-Identifier: Apache-2.0
//
// `signalbox dev`: embedded API server, operator and pods in one event loop.
#include "cli/cli.hpp"
#include "cli/print_line.hpp"
#include "cli/settings.hpp"
#include "commands/dev_session.hpp"
#include "commands/process_pods.hpp"
#include "commands/scenario_file.hpp"
#include "commands/script_job.hpp"
#include "commands/stand_ins.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>

#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::op::cli {

namespace {

/// How often `dev` looks for kinds that were added by hand (BEHAVIOUR.md 8.4 has a minute).
constexpr core::milliseconds quick_capability_retry{2000};

/// The job kinds. A user who starts a job of the gang scheduler here wants to see it run. Else the
/// server is like one without that scheduler, and its CRD can be applied at any time.
std::vector<std::string> definitions_for(
    const std::set<core::object_kind>& gangs, bool admits_workloads
) {
    std::vector<std::string> out;
    for (const core::job_kind kind : core::all_job_kinds) {
        out.emplace_back(core::crd_json(kind));
    }
    for (const core::object_kind kind : gangs) {
        out.push_back(stand_in(kind));
    }
    if (admits_workloads) {
        for (const core::object_kind kind : core::all_read_kinds()) {
            out.push_back(stand_in(kind));
        }
    }
    return out;
}

}  // namespace

int dev(const dev_options& said, std::ostream& out, std::ostream& err) {
    dev_options options = said;
    read_script_words(options);
    const auto refuse_with = [&](const std::string& why) {
        print_line(err, "signalbox dev: {}", why);
        return exit_refused;
    };
    dev_setup setup;
    const std::optional<listen_address> listen = read_listen_address(options.listen);
    if (!listen || listen->host.empty()) {
        return refuse_with(fmt::format("--listen: `{}` is not ADDRESS:PORT", options.listen));
    }
    setup.listen = *listen;
    std::string unused = flags_for_processes(options.process);
    unused += options.logs ? (unused.empty() ? "--logs" : ", --logs") : "";
    if (options.pods == pod_runtime_kind::simulated && !unused.empty()) {
        return refuse_with(unused + ": simulated pods run nothing; add --pods process");
    }
    auto process = read_process_options(options.process, "signalbox dev", err);
    if (!process) {
        return exit_refused;
    }
    std::optional<script_job> script;
    if (!options.script.words.empty()) {
        script = make_script_job(options, *process, err);
        if (!script) {
            return exit_refused;
        }
        setup.notices = script->notices;
    }
    setup.options = options;
    setup.process = std::move(*process);
    setup.rules.capability_retry = quick_capability_retry;
    if (const auto wrong = set_policy(setup.rules, options.policy)) {
        return refuse_with("--policy " + *wrong);
    }
    std::string error;
    if (!load_scenario(options.scenario, setup.scenario, error)) {
        return refuse_with(error);
    }
    setup.objects = check(options.files);
    if (script) {
        setup.objects.append(check_text(script->manifest, script->name));
    }
    for (const finding& f : setup.objects.findings) {
        print_line(err, "{}", to_text(f));
    }
    if (setup.objects.errors > 0) {
        return exit_refused;
    }
    const std::set<core::object_kind> gangs = kinds_of_gangs(setup.objects);
    setup.admits_workloads = gangs.contains(core::kinds_of_scheduler("kueue").front());
    setup.definitions = definitions_for(gangs, setup.admits_workloads);
    if (const std::string classes = missing_priority_classes(setup.objects); !classes.empty()) {
        check_result first = check_text(classes, "stand-in for Kueue");
        first.append(std::move(setup.objects));
        setup.objects = std::move(first);
    }
    if (!options.timeout.empty()) {
        setup.patience = parse_duration(options.timeout);
        if (!setup.patience) {
            return refuse_with(fmt::format(
                "--timeout: `{}` is no duration such as 30s, 10m, 2h or never", options.timeout
            ));
        }
    }
    if (options.until_finished && setup.objects.jobs() == 0) {
        return refuse_with("--until-finished: there is no job to wait for; see --apply");
    }
    return run_dev(std::move(setup), out, err);
}

}  // namespace signalbox::op::cli

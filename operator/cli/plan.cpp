// SPDX-License-Identifier: Apache-2.0
//
// `signalbox plan`: what the operator would create, as YAML that kubectl takes.
#include "cli/check.hpp"
#include "cli/cli.hpp"
#include "cli/commands.hpp"
#include "cli/offline_plan.hpp"
#include "cli/print_line.hpp"
#include "cli/settings.hpp"
#include "manifests/stored_object.hpp"
#include "manifests/yaml_writer.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

namespace signalbox::op::cli {

namespace {

/// Base64 as a Secret needs it; no key.
constexpr std::string_view no_key = "PGdlbmVyYXRlZD4=";

/// What is generated when a Secret is created stands in it as a marker, which no server takes.
std::string with_values(const std::string& json) {
    const std::string marker = fmt::format("\"{}\"", core::generated_marker);
    const std::string value = fmt::format("\"{}\"", no_key);
    std::string out;
    std::size_t from = 0;
    for (std::size_t at = json.find(marker); at != std::string::npos;
         at = json.find(marker, from)) {
        out.append(json, from, at - from).append(value);
        from = at + marker.size();
    }
    return out.append(json, from);
}

void print_object(const planned_object& o, std::ostream& out) {
    const std::string json = with_values(o.json);
    out << "---\n";
    print_line(out, "# {}{}", o.why, o.rule.empty() ? "" : fmt::format(" ({})", o.rule));
    if (json != o.json) {
        print_line(out, "# Where it says {} a key is made when it is created.", no_key);
    }
    out << manifests::to_yaml(json);
}

/// `auto` chooses of these.
core::capabilities served_by(const plan_options& options) {
    core::capabilities out;
    for (const core::object_kind kind : core::all_child_kinds()) {
        const bool board = kind->use == core::kind_use::companion;
        const auto has = [&](const std::string& scheduler) {
            const auto kinds = core::kinds_of_scheduler(scheduler);
            return std::ranges::find(kinds, kind) != kinds.end();
        };
        const bool gang = kind->use == core::kind_use::gang && !options.schedulers.empty();
        const bool yes = board  ? options.tensorboard_kind
                         : gang ? std::ranges::any_of(options.schedulers, has)
                                : true;
        out.set(kind, yes ? core::served::yes : core::served::no);
    }
    return out;
}

void print_job(
    const checked_object& object,
    const plan_options& options,
    const core::policy& rules,
    core::instant now,
    std::ostream& out,
    std::ostream& err,
    int& code
) {
    const core::capabilities served = served_by(options);
    manifests::server_choices server;
    server.ns = options.ns;
    server.uid = options.uid.empty() ? server.uid : std::string_view(options.uid);
    const offline_plan planned =
        plan_offline(manifests::as_stored(object.source.json(), server), served, rules, now);
    if (!planned.error.empty()) {
        print_line(err, "signalbox plan: {}: {}", title(object.source), planned.error);
        code = exit_failed;
    }
    for (const planned_object& o : planned.objects) {
        print_object(o, out);
    }
    out << "---\n";
    print_line(
        out,
        "# {}, with the status that the operator writes while its pods {}.",
        title(object.source),
        planned.assumed_ready ? "of the last stage are pending" : "are pending"
    );
    out << manifests::to_yaml(manifests::without_server_metadata(planned.job));
    if (planned.objects.empty()) {
        fmt::print(out, "# No object is created for it: see the status, or spec.managedBy.\n");
    }
}

}  // namespace

int plan(const plan_options& options, std::ostream& out, std::ostream& err) {
    // A time that tells nothing, so that the same file gives the same text.
    const std::optional<core::instant> now =
        options.now.empty() ? core::instant{} : core::parse_time(options.now);
    if (!now) {
        print_line(err, "signalbox plan: --now: `{}` is no RFC 3339 time", options.now);
        return exit_refused;
    }
    core::policy rules;
    if (const auto wrong = set_default_scheduler(rules, options.default_scheduler)) {
        print_line(err, "signalbox plan: {}", *wrong);
        return exit_refused;
    }
    const check_result checked = check(options.files);
    for (const finding& f : checked.findings) {
        print_line(err, "{}", to_text(f));
    }
    if (checked.errors > 0) {
        return exit_refused;
    }
    if (checked.jobs() == 0) {
        fmt::print(err, "signalbox plan: no training job in these files\n");
        return exit_refused;
    }
    int code = exit_ok;
    for (const checked_object& o : checked.objects) {
        if (o.is_job) {
            print_job(o, options, rules, *now, out, err, code);
        } else {
            out << "---\n";
            print_line(out, "# skipped: {} is no training job", title(o.source));
        }
    }
    return code;
}

}  // namespace signalbox::op::cli

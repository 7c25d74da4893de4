// SPDX-License-Identifier: Apache-2.0
#include "cli/check.hpp"

#include <jobcore/plan.hpp>
#include <jobcore/schema.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace signalbox::op::cli {

namespace {

/// What the API server appends to a generateName.
constexpr std::string_view generated_suffix = "xxxxx";

enum class role { job, other, misnamed };

role role_of(const manifests::manifest& object) {
    const std::string_view group = object.api_version().substr(
        0, std::min(object.api_version().find('/'), object.api_version().size())
    );
    const bool our_kind = core::parse_job_kind(object.kind()).has_value();
    if (group == core::api_group) {
        return our_kind ? role::job : role::misnamed;
    }
    // A kind of ours under another group or none: its author means a job.
    return our_kind ? role::job : role::other;
}

std::vector<core::diagnostic> check_job(const manifests::manifest& object) {
    core::parsed_job parsed = core::parse_job(object.json());
    if (!parsed.spec) {
        return std::move(parsed.findings);
    }
    if (parsed.meta.name.empty()) {
        parsed.meta.name = fmt::format("{}{}", object.name(), generated_suffix);
    }
    if (parsed.meta.uid.empty()) {
        parsed.meta.uid = "00000000-0000-0000-0000-000000000000";
    }
    const core::job_plan plan = core::compile_plan(parsed.meta, *parsed.spec, parsed.findings);
    parsed.findings.insert(parsed.findings.end(), plan.warnings.begin(), plan.warnings.end());
    return std::move(parsed.findings);
}

std::vector<core::diagnostic> check_misnamed(const manifests::manifest& object) {
    std::string known;
    for (const core::job_kind kind : core::all_job_kinds) {
        known += known.empty() ? "" : ", ";
        known += core::to_string(kind);
    }
    return {
        {core::severity::error,
         "/kind",
         fmt::format(
             "`{}` is no kind of {}; there are: {}", object.kind(), core::api_version, known
         ),
         "InvalidSpec"}};
}

}  // namespace

std::size_t check_result::jobs() const {
    return static_cast<std::size_t>(std::ranges::count(objects, true, &checked_object::is_job));
}

std::string title(const manifests::manifest& object) {
    return fmt::format("{} {}", object.kind(), object.name().empty() ? "(no name)" : object.name());
}

check_result check(std::span<const std::string> paths) {
    check_result out;
    manifests::read_result read = manifests::read_paths(paths);
    for (manifests::read_error& e : read.errors) {
        out.findings.push_back(
            {std::move(e.file),
             e.where,
             core::severity::error,
             std::move(e.pointer),
             std::move(e.message),
             "Unreadable",
             {}}
        );
    }
    for (manifests::manifest& object : read.objects) {
        const role what = role_of(object);
        std::vector<core::diagnostic> found;
        if (what == role::job) {
            found = check_job(object);
        } else if (what == role::misnamed) {
            found = check_misnamed(object);
        }
        for (core::diagnostic& d : found) {
            out.findings.push_back(
                {object.file(),
                 object.locate(d.pointer),
                 d.level,
                 std::move(d.pointer),
                 std::move(d.message),
                 std::move(d.reason),
                 title(object)}
            );
        }
        const bool valid = !core::has_errors(found);
        out.objects.push_back({std::move(object), what != role::other, valid});
    }
    std::ranges::stable_sort(out.findings, {}, [](const finding& f) {
        return std::tuple(f.file, f.where.line, f.where.column);
    });
    out.errors = static_cast<std::size_t>(
        std::ranges::count(out.findings, core::severity::error, &finding::level)
    );
    out.warnings = out.findings.size() - out.errors;
    return out;
}

std::string to_text(const finding& f) {
    std::string out = manifests::to_text(f.file, f.where) + ": ";
    if (f.level == core::severity::warning) {
        out += "warning: ";
    }
    if (!f.pointer.empty()) {
        out += f.pointer + ": ";
    }
    return out + f.message;
}

}  // namespace signalbox::op::cli

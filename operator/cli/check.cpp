// SPDX-License-Identifier: Apache-2.0
#include "cli/check.hpp"

#include <jobcore/plan.hpp>
#include <jobcore/schema.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

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
        core::add_findings(parsed.findings, std::move(parsed.template_findings));
        return std::move(parsed.findings);
    }
    if (parsed.meta.name.empty()) {
        parsed.meta.name = fmt::format("{}{}", object.name(), generated_suffix);
    }
    if (parsed.meta.uid.empty()) {
        parsed.meta.uid = "00000000-0000-0000-0000-000000000000";
    }
    const core::job_plan plan = core::compile_plan(parsed.meta, *parsed.spec, parsed.findings);
    core::add_findings(parsed.findings, std::move(parsed.template_findings));
    core::add_findings(parsed.findings, plan.warnings);
    return std::move(parsed.findings);
}

/// The jobs that a cluster has.
class live_jobs {
public:
    void add(manifests::manifest object) {
        if (role_of(object) == role::job) {
            jobs_.emplace(key_of(object), std::move(object));
        }
    }

    /// Every job that the manifest may mean: with a namespace at most one.
    std::vector<const manifests::manifest*> find(const manifests::manifest& object) const {
        std::vector<const manifests::manifest*> out;
        const std::string_view ns = object.metadata("namespace");
        const auto [first, last] = jobs_.equal_range(key_of(object));
        for (auto it = first; it != last; ++it) {
            if (ns.empty() || ns == it->second.metadata("namespace")) {
                out.push_back(&it->second);
            }
        }
        return out;
    }

private:
    using key = std::pair<std::string, std::string>;

    static key key_of(const manifests::manifest& object) {
        return {std::string(object.kind()), std::string(object.metadata("name"))};
    }

    std::multimap<key, manifests::manifest> jobs_;
};

core::diagnostic ambiguous(std::span<const manifests::manifest* const> live) {
    std::string places;
    for (const manifests::manifest* m : live) {
        places += places.empty() ? "" : ", ";
        places += m->metadata("namespace");
    }
    return {
        core::severity::error,
        "/metadata/namespace",
        fmt::format("missing, and there are jobs of this name in several: {}", places),
        "InvalidSpec"};
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

/// What is wrong with the pods of the live job too does not stop a change of it
/// (BEHAVIOUR.md api 6.6).
void excuse_old_mistakes(const std::string& live, std::vector<core::diagnostic>& findings) {
    const std::vector<core::diagnostic> old = core::parse_job(live).template_findings;
    for (core::diagnostic& d : findings) {
        if (std::ranges::find(old, d) != old.end()) {
            d.level = core::severity::warning;
        }
    }
}

/// Appends what changing a live job adds. False: there is none, it is a creation.
bool check_update(
    const live_jobs& known,
    const manifests::manifest& object,
    std::vector<core::diagnostic>& findings
) {
    const auto live = known.find(object);
    if (live.size() > 1) {
        findings.push_back(ambiguous(live));
    } else if (live.size() == 1) {
        excuse_old_mistakes(live.front()->json(), findings);
        std::ranges::move(
            core::validate_update(live.front()->json(), object.json()), std::back_inserter(findings)
        );
    }
    return !live.empty();
}

void report(std::vector<manifests::read_error> errors, check_result& out) {
    for (manifests::read_error& e : errors) {
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
}

/// Appends the objects, and what is wrong with them.
void check_objects(manifests::read_result read, const live_jobs& known, check_result& out) {
    report(std::move(read.errors), out);
    for (manifests::manifest& object : read.objects) {
        const role what = role_of(object);
        std::vector<core::diagnostic> found;
        bool is_update = false;
        if (what == role::job) {
            found = check_job(object);
            is_update = check_update(known, object, found);
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
        out.objects.push_back({std::move(object), what != role::other, is_update, valid});
    }
    std::ranges::stable_sort(out.findings, {}, [](const finding& f) {
        return std::tuple(f.file, f.where.line, f.where.column);
    });
    out.errors = static_cast<std::size_t>(
        std::ranges::count(out.findings, core::severity::error, &finding::level)
    );
    out.warnings = out.findings.size() - out.errors;
}

}  // namespace

std::size_t check_result::jobs() const {
    return static_cast<std::size_t>(std::ranges::count(objects, true, &checked_object::is_job));
}

std::size_t check_result::updates() const {
    return static_cast<std::size_t>(std::ranges::count(objects, true, &checked_object::is_update));
}

void check_result::append(check_result more) {
    std::ranges::move(more.objects, std::back_inserter(objects));
    std::ranges::move(more.findings, std::back_inserter(findings));
    errors += more.errors;
    warnings += more.warnings;
}

std::string title(const manifests::manifest& object) {
    return fmt::format("{} {}", object.kind(), object.name().empty() ? "(no name)" : object.name());
}

check_result check(std::span<const std::string> paths, std::span<const std::string> live) {
    check_result out;
    live_jobs known;
    manifests::read_result recorded = manifests::read_paths(live, manifests::input::recording);
    report(std::move(recorded.errors), out);
    for (manifests::manifest& object : recorded.objects) {
        known.add(std::move(object));
    }
    check_objects(manifests::read_paths(paths), known, out);
    return out;
}

check_result check_text(std::string_view text, const std::string& name) {
    check_result out;
    check_objects(manifests::read_text(text, name), live_jobs(), out);
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

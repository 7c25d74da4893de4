// SPDX-License-Identifier: Apache-2.0
#include "cli/job_target.hpp"

#include "cli/text_layout.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <utility>

namespace signalbox::op::cli {

namespace {

/// Whether `word` is one of the names by which the CRD lets kubectl call the kind.
bool is_called(core::job_kind kind, const std::string& word) {
    rapidjson::Document crd;
    crd.Parse(core::crd_json(kind));
    const auto& names = crd["spec"]["names"];
    std::vector<std::string> known{lower(core::to_string(kind)), std::string(core::plural(kind))};
    known.push_back(fmt::format("{}.{}", core::plural(kind), core::api_group));
    for (const auto& name : names["shortNames"].GetArray()) {
        known.emplace_back(name.GetString());
    }
    return std::ranges::find(known, lower(word)) != known.end();
}

}  // namespace

std::vector<core::job_kind> job_kinds_called(const std::string& word) {
    std::vector<core::job_kind> out;
    for (const core::job_kind kind : core::all_job_kinds) {
        if (is_called(kind, word)) {
            out.push_back(kind);
        }
    }
    return out;
}

std::optional<job_target> parse_job_target(const std::string& text) {
    const std::size_t slash = text.find('/');
    const bool has_kind = slash != std::string::npos;
    job_target out;
    out.name = has_kind ? text.substr(slash + 1) : text;
    out.kinds.assign(core::all_job_kinds.begin(), core::all_job_kinds.end());
    if (has_kind) {
        out.kinds = job_kinds_called(text.substr(0, slash));
    }
    const bool bad = (has_kind && slash == 0) || out.kinds.empty() || out.name.empty() ||
                     out.name.find('/') != std::string::npos;
    return bad ? std::nullopt : std::optional(std::move(out));
}

std::string no_job_target(const std::string& text) {
    return fmt::format(
        "`{}`: NAME or KIND/NAME is expected, with the KIND of a training job: pj, dj, caij or its "
        "full name",
        text
    );
}

}  // namespace signalbox::op::cli

// SPDX-License-Identifier: Apache-2.0
#include "api/job/object.hpp"

#include "api/job/kinds.hpp"
#include "api/walk/text.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>

#include <algorithm>

namespace signalbox::core::schema {
namespace {

/// Deeper nesting is refused before parsing: writing and comparing values is recursive.
constexpr std::size_t max_depth = 512;
/// No API server stores so much; one such job alone would take much of an operator's memory.
constexpr std::size_t max_spec_bytes = 16u << 20;

/// Nesting depth of the brackets outside of strings. Exact for valid JSON, and at least the depth a
/// parser reaches in anything else.
std::size_t nesting(std::string_view text) {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            i += c == '\\' ? 1 : 0;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            deepest = std::max(deepest, ++depth);
        } else if ((c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
    return deepest;
}

bool is_api_version(std::string_view text) {
    return text == api_version;
}

constexpr text_form api_version_form{
    .pattern = {},
    .words = "batch.tensorstack.dev/v1beta1",
    .matches = is_api_version,
};

}  // namespace

job_document::job_document(std::string_view text, findings_collector& findings) {
    if (nesting(text) > max_depth) {
        findings.error(0, "", fmt::format("the object is nested deeper than {} levels", max_depth));
        return;
    }
    json::parse(document_, text);
    if (document_.HasParseError()) {
        findings.error(
            0,
            "",
            fmt::format(
                "this is not valid JSON: {} (at byte {})",
                rapidjson::GetParseError_En(document_.GetParseError()),
                document_.GetErrorOffset()
            )
        );
        return;
    }
    if (!document_.IsObject()) {
        findings.error(0, "", "a job must be an object, not " + describe(document_));
        return;
    }
    const json::value* const spec = json::find(document_, "spec");
    if (text.size() > max_spec_bytes && spec != nullptr &&
        json::measure(*spec).bytes > max_spec_bytes) {
        findings.error(
            0, "/spec", fmt::format("the specification has more than {} bytes", max_spec_bytes)
        );
        return;
    }
    if (!read_kind(findings)) {
        return;
    }
    fields_ = {
        field{.name = "apiVersion", .doc = {}, .required = true, .form = &api_version_form},
        field{.name = "kind", .doc = {}, .required = true},
        field{.name = "metadata", .type = value_type::opaque_object, .doc = {}, .required = true},
        *schema_of(*kind_).spec,
        field{.name = "status", .type = value_type::opaque_object, .doc = {}},
    };
    root_field_ = {.name = "object", .type = value_type::object, .doc = {}, .fields = fields_};
    std::size_t next_order = 0;
    root_ = walk(root_field_, document_, "", next_order, findings);
}

bool job_document::read_kind(findings_collector& findings) {
    const json::value* kind = json::find(document_, "kind");
    if (kind != nullptr && kind->IsString()) {
        kind_ = parse_job_kind(json::view(*kind));
    }
    if (!kind_) {
        std::vector<std::string_view> names;
        for (const kind_schema& known : all_kinds()) {
            names.push_back(known.name);
        }
        findings.error(
            0,
            "/kind",
            fmt::format(
                "`kind` must be one of {}, not {}",
                enumerate(names, "or"),
                kind == nullptr ? "missing" : describe(*kind)
            )
        );
    }
    return kind_.has_value();
}

}  // namespace signalbox::core::schema

// SPDX-License-Identifier: Apache-2.0
//
// The three kinds as objects of users: parsing, validation, the CRDs, the reference. All of it
// comes from the same tables, so that what is documented, accepted and refused agrees.
//
// The functions depend on their arguments alone, may be called from any thread, and throw nothing
// but for lack of memory.
#pragma once

#include "jobcore/diagnostic.hpp"
#include "jobcore/spec.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

/// What is to be remembered of a specification to tell later whether an edit was allowed: hashes of
/// the effective values of fields (BEHAVIOUR.md api 7). They are comparable for specifications of
/// one kind, within one version of this library.
struct edit_marks {
    std::uint64_t never = 0;         ///< of the fields that may never change
    std::uint64_t while_paused = 0;  ///< of those that may change while the job is paused
    bool paused = false;             ///< whether it is
};

/// Whether a field was changed that may not be (BEHAVIOUR.md 10.2): what validate_update refuses,
/// with less to remember, but for the size of a job that is not elastic, which decides nothing.
bool is_forbidden_edit(const edit_marks& before, const edit_marks& after);

/// Result of parsing one job object.
struct parsed_job {
    /// What could be read of it; the default value if the text is no object of our kinds.
    job_meta meta;
    /// Absent if there is any error among the findings.
    std::optional<job_spec> spec;
    /// What counts of it even without `spec`.
    spec_fragments fragments;
    /// Of `spec`; without it the default value.
    edit_marks marks;
    /// All errors and warnings at once, in document order.
    std::vector<diagnostic> findings;
    /// What an API server would refuse of the job's pods (BEHAVIOUR.md api 6.6), as errors. A spec
    /// is there all the same: for who checks a manifest they are errors (add_findings), for who
    /// runs a job warnings, since the server decides.
    std::vector<diagnostic> template_findings;
};

/// Parses, defaults and validates a complete object (JSON text). Hostile input (deep nesting, huge
/// numbers, wrong types, invalid UTF-8) gives findings, never undefined behaviour; nesting deeper
/// than 512 levels is refused without recursion. `metadata.name` may be missing when `generateName`
/// is there (BEHAVIOUR.md api 6.3). `queue`: the queue by label that counts, where the status that
/// the text has is not the job's; empty: none (BEHAVIOUR.md 8.10). `scheduler`: likewise, what was
/// chosen for a job that leaves it open (BEHAVIOUR.md 8.15).
parsed_job parse_job(
    std::string_view object_json,
    std::optional<std::string_view> queue = std::nullopt,
    std::optional<std::string_view> scheduler = std::nullopt
);

/// Errors of changing `before` into `after` (BEHAVIOUR.md api 7), both complete objects of one
/// kind; no finding for any other texts. Only the change is checked: whether `after` is valid,
/// parse_job tells. Agrees with the CRD's transition rules.
std::vector<diagnostic> validate_update(std::string_view before, std::string_view after);

/// The CustomResourceDefinition (apiextensions.k8s.io/v1) of a kind, as JSON.
std::string crd_json(job_kind kind);

/// The reference of all kinds in Markdown: fields, defaults, rules, status, annotations. The file
/// libjobcore/API.md has this text.
std::string api_reference_markdown();

/// What there is to say about one field.
struct field_text {
    std::string text;   ///< for people; empty if there is an error
    std::string error;  ///< which part of the path names nothing, and what would; else empty
};

/// Documents a field in the shape of `kubectl explain`. `path` is a kind (its name in any letter
/// case, its plural or its short name) and the names of fields, joined by dots:
/// `dj.spec.config.run`. Names lead through the items of lists; `replicaSpecs[]` is `replicaSpecs`.
/// With `recursive`, the tree of all fields below follows in place of their descriptions. Lines are
/// not wrapped: each is a sentence or more behind its own indentation.
field_text field_reference(std::string_view path, bool recursive);

/// The candidate that `text` is most likely a misspelling of, as findings name it; empty if none is
/// near. Lives as long as the candidates.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> candidates);

}  // namespace signalbox::core

// SPDX-License-Identifier: Apache-2.0
//
// A whole job object, parsed and walked: what parse_job and validate_update have in common.
#pragma once

#include "api/walk/walk.hpp"
#include "jobcore/spec.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string_view>

namespace signalbox::core::schema {

/// Owns the document that its tree refers to; hence neither copied nor moved.
class job_document {
public:
    /// Parses the text and walks it. What is wrong goes to `findings`.
    job_document(std::string_view text, findings_collector& findings);
    job_document(const job_document&) = delete;
    job_document& operator=(const job_document&) = delete;

    /// Nothing if the text is no object of a kind we know.
    std::optional<job_kind> kind() const { return kind_; }
    /// Valid only if there is a kind.
    const node& operator[](std::string_view name) const { return root_[name]; }

private:
    bool read_kind(findings_collector& findings);

    json::document document_;
    std::optional<job_kind> kind_;
    std::array<field, 5> fields_;  ///< of the root: rows of nodes refer to them
    field root_field_;
    node root_;
};

}  // namespace signalbox::core::schema

// SPDX-License-Identifier: Apache-2.0
//
// What is wrong, or worth saying, about an object a user wrote.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core {

enum class severity {
    error,    ///< the object is refused
    warning,  ///< the object is accepted; the user should know
};

/// One finding, a plain value. All findings of an object are reported at once
/// (BEHAVIOUR.md api 6.1).
struct diagnostic {
    severity level = severity::error;
    /// RFC 6901 pointer to the place in the object, e.g. `/spec/replicaSpecs/0/type`; of a field
    /// that is missing, where it should be; empty: the whole object. Printable and short, as
    /// make_diagnostic() makes it.
    std::string pointer;
    /// What is wrong and what would be right, one sentence, no trailing newline.
    std::string message;
    /// The event reason it is reported under: `InvalidSpec`, `DeprecatedField`,
    /// `FieldIgnored` (it has no effect), `FieldOverridden` (another value counts),
    /// `InvalidTemplate`, `SpecWarning` or `UnknownField`.
    std::string reason;

    friend bool operator==(const diagnostic&, const diagnostic&) = default;
};

/// A finding whose texts may be shown to anybody (BEHAVIOUR.md 11.4): what a terminal obeys or a
/// reader is misled by is written as in printable(), a place of more than 1,024 bytes is that of
/// the innermost object around it that is named in less, and a message is cut at 2,048 bytes.
diagnostic make_diagnostic(
    severity level, std::string_view pointer, std::string_view message, std::string reason
);

/// Appends the findings of `more`, but no errors at or below a place that has one already.
void add_findings(std::vector<diagnostic>& to, std::vector<diagnostic> more);

/// True if any finding is an error.
bool has_errors(std::span<const diagnostic> findings);

}  // namespace signalbox::core

// SPDX-License-Identifier: Apache-2.0
//
// Collects the findings of one object and gives them back in document order.
#pragma once

#include "jobcore/diagnostic.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::schema {

inline constexpr std::string_view invalid_spec = "InvalidSpec";
inline constexpr std::string_view deprecated_field = "DeprecatedField";
inline constexpr std::string_view field_ignored = "FieldIgnored";
inline constexpr std::string_view field_overridden = "FieldOverridden";
inline constexpr std::string_view invalid_template = "InvalidTemplate";
inline constexpr std::string_view spec_warning = "SpecWarning";
inline constexpr std::string_view unknown_field = "UnknownField";

/// At most `limit` errors and as many warnings are kept, the first ones reported; one more finding
/// says how many are left out. So hostile input cannot make the list large.
class findings_collector {
public:
    static constexpr std::size_t limit = 256;

    /// `order` is the place in the document (walk.hpp); findings of one place stay in order of
    /// report.
    void error(
        std::size_t order,
        std::string_view pointer,
        std::string_view message,
        std::string_view reason = invalid_spec
    );
    void warning(
        std::size_t order,
        std::string_view pointer,
        std::string_view message,
        std::string_view reason
    );

    /// Counts a finding that would be left out anyway; false: it has to be written. Spares hostile
    /// input the cost of messages that are not shown.
    bool count_if_full(severity level);

    /// All findings, in document order. Empties the collector.
    std::vector<diagnostic> take();

private:
    struct entry {
        std::size_t order;
        diagnostic what;
    };
    void add(
        severity level,
        std::size_t order,
        std::string_view pointer,
        std::string_view message,
        std::string_view reason
    );

    std::vector<entry> entries_;
    std::size_t errors_ = 0;
    std::size_t warnings_ = 0;
};

}  // namespace signalbox::core::schema

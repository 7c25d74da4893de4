// SPDX-License-Identifier: Apache-2.0
//
// The reports with which torchrun ends (torch.distributed.elastic, ChildFailedError): which ranks
// ended, how, and which of them it takes for the cause (BEHAVIOUR.md 3.9). A launcher of several
// nodes has one of each in its log, in pieces that may lie in between each other.
#pragma once

#include "engine/facts/error_lines.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace signalbox::core::engine {

/// The code of a rank that was aborted, as shells say it.
constexpr std::int32_t aborted = 128 + 6;

/// One of those that the reports list, the one that torchrun takes for the cause among them. Views
/// into the text it was read from.
struct failed_rank {
    std::optional<std::int32_t> rank;
    std::string_view host;
    std::int32_t code = 1;  ///< as shells say it: 128 + n of a signal
    std::string_view line;  ///< that of the code
    /// The less, the nearer to the cause.
    int distance() const;
};

/// How ranks ended by all of the reports in a text.
struct ends_of_ranks {
    /// The nearest to the cause that ended in a way of its own, the lowest of equals.
    std::optional<failed_rank> own;
    /// Those that ended by themselves as Python does after any exception: with 1, or aborted.
    std::vector<failed_rank> raised;
    /// Those whom their launcher ended, where reports list them.
    std::vector<failed_rank> stopped;
    /// Of these; where no report lists them, of those that it said it would end.
    std::size_t stopped_count = 0;
    std::size_t report_count = 0;
    /// A launcher of several nodes says of more of them that they failed than there are reports.
    bool lacks_report = false;
    /// Lines of two reports lie in between each other: whose a code is cannot be said.
    bool mixed = false;
    /// So may tracebacks: whose one is cannot be said.
    bool mixed_texts = false;
    std::map<std::int32_t, std::string_view> hosts;

    /// Where an error comes from: its line says so, or a report does.
    std::string_view place_of(const error_line& line) const {
        const auto host = line.rank ? hosts.find(*line.rank) : hosts.end();
        return line.pod.empty() && host != hosts.end() ? host->second : line.pod;
    }
};
ends_of_ranks read_ends(std::string_view text);

/// The last report of a text; which of several that is, is chance.
struct failure_report {
    std::size_t start = 0;  ///< where its root cause begins
    std::string_view text;  ///< what it says of it
    failed_rank root;
    bool several = false;
    failed_rank lowest;  ///< of the roots of all reports that end as this one does
};
/// What stands behind `traceback :` in an entry of a report; without a text where there is none.
error_line read_traceback(std::string_view entry);
/// The lowest rank whose entry, in any of the reports, has the same error; nothing: no entry has.
std::optional<std::int32_t> lowest_that_says(const error_line& error, std::string_view reports);
/// Nothing: there is none, or the root cause of the last cannot be read.
std::optional<failure_report> find_failure_report(std::string_view text);

}  // namespace signalbox::core::engine

// SPDX-License-Identifier: Apache-2.0
//
// The jobs of a cluster as rows of a table.
#pragma once

#include <jobcore/status.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace signalbox::op::cli {

class job_board {
public:
    /// `namespaces`: the table has a column for them.
    job_board(bool namespaces, bool colours) : namespaces_(namespaces), colours_(colours) {}

    /// Gives the UID.
    std::string put(core::job_kind kind, std::string_view object_json);
    void erase(std::string_view object_json);
    /// Jobs of the kind with other UIDs are gone.
    void keep_only(core::job_kind kind, const std::set<std::string>& uids);
    /// What ages are counted to.
    void set_time(core::instant now) { now_ = now; }

    bool empty() const { return rows_.empty(); }
    /// `12 jobs: 8 Running, 3 Succeeded, 1 Failed; 31 of 40 replicas ready`
    std::string summary() const;
    /// Jobs that have not ended first; then by namespace and name. Has a column for progress if one
    /// of them reports or stands still.
    std::string table() const;

private:
    struct row {
        core::job_kind kind = core::job_kind::pytorch;
        std::string ns;
        std::string name;
        core::job_phase phase = core::job_phase::none;
        std::string ready;  ///< of wanted: `3/4`
        std::int32_t restarts = 0;
        std::int32_t disruptions = 0;
        std::string reason;
        std::string stall;         ///< what the condition says of it
        core::job_status reports;  ///< phase, attempt and progress alone
        std::optional<core::instant> created;
    };
    std::string phase_cell(const row& r) const;
    std::string progress_cell(const row& r) const;

    bool namespaces_;
    bool colours_;
    core::instant now_{};
    std::map<std::string, row> rows_;  // by UID
};

/// What the CRDs call the kind for short.
std::string_view short_kind(core::job_kind kind);

/// As kubectl shows ages: `45s`, `7m30s`, `3h12m`, `5d4h`, `400d`.
std::string short_age(core::milliseconds age);

}  // namespace signalbox::op::cli

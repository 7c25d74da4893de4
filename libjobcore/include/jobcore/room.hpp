// SPDX-License-Identifier: Apache-2.0
//
// Which jobs of a namespace may begin, by the bytes of their specifications (BEHAVIOUR.md 2.12):
// for callers that look after many jobs. Nothing here does input or output or waits. One thread at
// a time.
#pragma once

#include "jobcore/decide.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace signalbox::core {

class room_ledger {
public:
    /// `limit`: policy::namespace_bytes; by default there is room for all.
    explicit room_ledger(std::int64_t limit = std::numeric_limits<std::int64_t>::max())
        : limit_(limit) {}

    /// The job as it is now; called for each reading of it. Gives the UIDs of jobs that were
    /// refused by may_begin() and have room now: to be decided again.
    std::vector<std::string> note(const job_object& job);
    /// The job is gone. As note().
    std::vector<std::string> forget(const std::string& uid);

    /// Whether observed::no_room is to be false. Jobs that have begun keep their place, those that
    /// have not come in the order of their creation. True for a job that was never noted.
    bool may_begin(const std::string& uid);
    /// Jobs that wait since may_begin() said no.
    std::size_t refused() const;

private:
    enum class place : std::uint8_t { none, waits, begun };
    struct entry {
        std::string ns;
        place is = place::none;
        std::int64_t bytes = 0;
        std::int64_t created = 0;
    };
    using order = std::tuple<std::int64_t, std::string>;  ///< creation, UID
    struct space {
        std::int64_t begun = 0;
        std::int64_t waiting = 0;
        std::map<order, std::int64_t> waits;  ///< bytes
        std::set<order> refused;
    };

    void remove(const std::string& uid, const entry& e);
    std::vector<std::string> freed(const std::string& ns);
    bool fits(const space& in, std::int64_t before, std::int64_t bytes) const;

    std::int64_t limit_;
    std::unordered_map<std::string, entry> jobs_;
    std::map<std::string, space, std::less<>> spaces_;
};

}  // namespace signalbox::core

// SPDX-License-Identifier: Apache-2.0
//
// What is written into the status of a Workload. A merge patch replaces lists: whoever writes a
// condition writes all of them. `admission` and `QuotaReserved=True` are never written: Kueue would
// believe it.
#include "gang/kueue_parts.hpp"
#include "jobcore/time.hpp"

#include <string_view>
#include <utility>

namespace signalbox::core::gang::of_kueue {
namespace {

class status_editor {
public:
    status_editor(const quota_answer& says, instant now) : now_(format_time(now)) {
        json::parse(conditions_, says.conditions);
        if (conditions_.HasParseError() || !conditions_.IsArray()) {
            conditions_.SetArray();
        }
    }

    /// The time is that of the last change of `status`.
    void set(
        std::string_view type, bool status, std::string_view reason, std::string_view message
    ) {
        auto& a = conditions_.GetAllocator();
        const std::string_view word = status ? "True" : "False";
        std::string_view since = now_;
        const json::value* before = find(type);
        if (before != nullptr && json::string_or_empty(*before, "status") == word) {
            since = json::string_or_empty(*before, "lastTransitionTime");
        }
        json::value made(rapidjson::kObjectType);
        const auto add = [&](const char* name, std::string_view text) {
            made.AddMember(rapidjson::StringRef(name), json::copy_string(text, a), a);
        };
        add("type", type);
        add("status", word);
        add("reason", reason);
        add("message", message);
        add("lastTransitionTime", since);
        if (before != nullptr) {
            conditions_[static_cast<rapidjson::SizeType>(before - conditions_.Begin())] =
                std::move(made);
        } else {
            conditions_.PushBack(std::move(made), a);
        }
    }

    const json::value* find(std::string_view type) const {
        for (const json::value& c : conditions_.GetArray()) {
            if (json::string_or_empty(c, "type") == type) {
                return &c;
            }
        }
        return nullptr;
    }

    std::string conditions() const { return R"("conditions":)" + json::to_text(conditions_); }

private:
    std::string now_;
    json::document conditions_;
};

std::string reclaimed(const quota_change& change) {
    std::string out;
    for (const auto& [type, count] : change.reclaimed) {
        out += out.empty() ? "" : ",";
        out += R"({"name":")" + std::string(type) + R"(","count":)" + std::to_string(count) + "}";
    }
    return R"("reclaimablePods":[)" + out + "]";
}

}  // namespace

std::string status_of(const quota_answer& says, const quota_change& change) {
    status_editor status(says, change.now);
    switch (change.is) {
        case quota_change::what::release:
            // In one: each of these alone leaves it stuck, or is an error. What was given back
            // outlives an eviction, and pods that were ready hide the next time-out.
            status.set("QuotaReserved", false, "Pending", "The pods have stopped");
            status.set("Admitted", false, "NoReservation", "The quota was given back");
            if (status.find("PodsReady") != nullptr) {
                status.set("PodsReady", false, "WaitForStart", "Not all pods are ready");
            }
            return R"({"admission":null,"reclaimablePods":null,)" + status.conditions() + "}";
        case quota_change::what::finish:
            status.set(
                "Finished",
                true,
                change.succeeded ? "Succeeded" : "Failed",
                change.succeeded ? "The job has succeeded" : "The job has failed"
            );
            break;
        case quota_change::what::ready:
            status.set("PodsReady", true, "Started", "All pods are ready");
            break;
        case quota_change::what::unready:
            status.set("PodsReady", false, "WaitForRecovery", "Not all pods are ready");
            break;
        case quota_change::what::reclaim:
            return "{" + reclaimed(change) + "}";
    }
    return "{" + status.conditions() + "}";
}

}  // namespace signalbox::core::gang::of_kueue

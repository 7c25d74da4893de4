// SPDX-License-Identifier: Apache-2.0
//
// Decisions on anything that a server might show: a job object, status included, in the first line,
// and a child in each further one. A line is `<kind> <JSON>`; for the job the kind is left out.
#include "fuzz.hpp"
#include "jobcore/decide.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

using namespace signalbox::core;
using signalbox::fuzz::require;

namespace {

struct kind_word {
    std::string_view word;
    object_kind kind;
};
constexpr std::array kind_words{
    kind_word{"service", object_kind::service},
    kind_word{"secret", object_kind::secret},
    kind_word{"configmap", object_kind::config_map},
    kind_word{"podgroup", object_kind::pod_group},
    kind_word{"tensorboard", object_kind::tensorboard},
    kind_word{"deployment", object_kind::deployment},
};

std::string_view next_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

/// What is left of an observation once the text of its objects is gone.
struct scene {
    std::vector<pod_record> pods;
    std::vector<child_record> children;

    void add(std::string_view line) {
        const std::size_t blank = line.find(' ');
        if (blank == line.npos) {
            return;
        }
        const std::string_view word = line.substr(0, blank);
        const std::string_view json = line.substr(blank + 1);
        if (word == "pod") {
            if (auto pod = decode_pod(json)) {
                pods.push_back(std::move(*pod));
            }
            return;
        }
        for (const kind_word& k : kind_words) {
            if (k.word == word) {
                if (auto child = decode_child(k.kind, json)) {
                    children.push_back(std::move(*child));
                }
            }
        }
    }

    decision decide(const job_object& job, instant now, bool reversed) const {
        std::vector<const pod_record*> pod_list;
        for (const pod_record& p : pods) {
            pod_list.push_back(&p);
        }
        std::vector<const child_record*> child_list;
        for (const child_record& c : children) {
            child_list.push_back(&c);
        }
        if (reversed) {
            std::ranges::reverse(pod_list);
            std::ranges::reverse(child_list);
        }
        constexpr std::array served_kinds{
            served_kind{object_kind::pod_group, served::yes},
            served_kind{object_kind::tensorboard, served::no}};
        const observed seen{pod_list, child_list, {}, {}, served_kinds};
        return signalbox::core::decide(job, seen, policy{}, now);
    }

    /// The server holds one object of a name, and one of a UID.
    bool possible() const {
        const auto distinct = [](const auto& list) {
            for (std::size_t i = 0; i < list.size(); ++i) {
                for (std::size_t k = 0; k < i; ++k) {
                    if (list[i].uid == list[k].uid || list[i].name == list[k].name) {
                        return false;
                    }
                }
            }
            return true;
        };
        return distinct(pods) && distinct(children);
    }
};

void check(const job_object& job, const decision& d) {
    for (const stage& s : d.stages) {
        for (const action& a : s) {
            const bool by_uid = a.what() == verb::patch || a.what() == verb::remove;
            require(by_uid != a.uid().empty(), "a patch or delete has a UID, nothing else has");
            if (a.what() == verb::create) {
                require(!preview_action(job, d, a).empty(), "what is created can be rendered");
            }
        }
    }
    if (!d.status) {
        return;
    }
    const std::string text = format_status(*d.status, job.meta.kind);
    require(
        parse_status("{\"status\":" + text + "}") == *d.status,
        "a status survives the way through JSON"
    );
    if (std::ranges::find(d.events, "StatusRepaired", &event::reason) != d.events.end()) {
        return;  // what the status said of these cannot be (BEHAVIOUR.md api 5.7)
    }
    if (is_final(job.status.phase)) {
        require(d.status->phase == job.status.phase, "a final phase stays");
    }
    require(d.status->attempt >= job.status.attempt, "attempts never fall");
    require(d.status->backoff_count >= job.status.backoff_count, "counts never fall");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text = signalbox::fuzz::text_of(data, size);
    auto job = read_job(next_line(text));
    require(job.has_value() == job.error().empty(), "a job, or an error that says why not");
    if (!job) {
        return 0;
    }
    scene seen;
    while (!text.empty()) {
        seen.add(next_line(text));
    }
    instant now{seconds{1767225600}};
    for (int i = 0; i < 8; ++i) {
        const decision d = seen.decide(*job, now, false);
        if (seen.possible()) {
            require(seen.decide(*job, now, true) == d, "the order of what is observed is nothing");
        }
        check(*job, d);
        if (d.status) {
            job->status = *d.status;
        } else if (d.wake_up && *d.wake_up > now) {
            now = *d.wake_up;
        } else {
            break;
        }
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// A Pod's JSON -> pod_record.
#include "gang/scheduler.hpp"
#include "jobcore/observed.hpp"
#include "observe/common.hpp"
#include "observe/pod_content.hpp"
#include "observe/pod_places.hpp"
#include "render/labels.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::core {
namespace {

using namespace observe;
using namespace observe::pod;

using mark_place = gang::member_mark::place;

constexpr std::size_t pod_message_limit = 512;
constexpr std::size_t container_message_limit = 4096;
constexpr std::size_t conditions_limit = 1024;

/// Conditions that every pod has.
constexpr std::array<std::string_view, 5> common_conditions{
    "PodScheduled", "Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers"};

struct phase_name {
    std::string_view text;
    pod_phase phase;
};
constexpr std::array phase_names{
    phase_name{"Pending", pod_phase::pending},
    phase_name{"Running", pod_phase::running},
    phase_name{"Succeeded", pod_phase::succeeded},
    phase_name{"Failed", pod_phase::failed},
    phase_name{"Unknown", pod_phase::unknown},
};

/// Reasons of a waiting container that is on its way, not in error.
constexpr std::array<std::string_view, 3> harmless_waits{
    "", "ContainerCreating", "PodInitializing"};

/// Which of our labels were there and well-formed, one bit each.
enum label_bit : unsigned {
    has_owner_name = 1,
    has_owner_kind = 2,
    has_component = 4,
    has_type = 8,
    has_index = 16,
    has_job_uid = 32,
    has_attempt = 64,
    has_round = 128,
    has_managed_by = 256,
    all_labels = 511,
};

struct text_label {
    std::string_view key;
    unsigned bit;
};
/// Labels of which only the presence of a value counts here.
constexpr std::array text_labels{
    text_label{label::owner_name, has_owner_name},
    text_label{label::owner_kind, has_owner_kind},
    text_label{label::component, has_component},
    text_label{label::job_uid, has_job_uid},
};

class pod_sink {
public:
    void open(node n);
    void close(node n);
    void text(node n, std::string_view key, std::string_view value);
    void number(node n, std::string_view key, std::int64_t value);
    void boolean(node n, bool value) {
        if (n == owner_controller) {
            owner_.current.controller = value;
        }
        content_.boolean(n, value);
    }
    pod_record finish();

private:
    void read_label(std::string_view key, std::string_view value);
    void read_annotation(std::string_view key, std::string_view value);
    void note_gang(const gang::member_mark& by, std::string_view name);
    void read_container_text(node n, std::string_view value);
    void finish_condition();
    bool is_failure(const container_record& init) const;
    void order_containers();
    void mark_training();

    struct condition_text {
        std::string type, status, reason, message;
    };
    struct init_container {
        std::string name;
        bool sidecar = false;
    };
    /// A gang that the pod is a member of, the job's or one of the user's own.
    struct member_of {
        const gang::scheduler* whose = nullptr;
        std::string name;
    };

    pod_record pod_;
    content_reader content_;
    owner_reader owner_;
    unsigned labels_ = 0;
    std::string training_;
    std::string gates_;
    std::vector<member_of> gangs_;
    std::string conditions_;
    std::vector<std::string> spec_order_;
    std::vector<init_container> inits_;
    std::vector<std::string> sidecars_;  ///< names of those that restart by themselves, in order
    condition_text condition_;
    container_record status_;
    std::vector<container_record> statuses_, init_statuses_;
};

void pod_sink::open(node n) {
    content_.open(n);
    switch (n) {
        case in_owner:
            owner_.open();
            break;
        case in_container:
            spec_order_.emplace_back();
            break;
        case in_init:
            inits_.emplace_back();
            break;
        case in_condition:
            condition_ = {};
            break;
        case in_container_status:
        case in_init_status:
            status_ = {};
            break;
        // An empty state means waiting, says the API of Pods.
        case in_state:
            status_.state = container_state::waiting;
            break;
        case in_running:
            status_.state = container_state::running;
            break;
        case in_terminated:
            status_.state = container_state::terminated;
            break;
        default:
            break;
    }
}

void pod_sink::close(node n) {
    content_.close(n);
    switch (n) {
        case in_owner:
            owner_.close();
            break;
        case in_condition:
            finish_condition();
            break;
        case in_container_status:
            statuses_.push_back(std::move(status_));
            break;
        case in_init_status:
            init_statuses_.push_back(std::move(status_));
            break;
        default:
            break;
    }
}

void pod_sink::text(node n, std::string_view key, std::string_view value) {
    switch (n) {
        case name:
            pod_.name = std::string(value);  // no larger than it has to be: there are many
            break;
        case ns:
            pod_.ns = value;
            break;
        case uid:
            pod_.uid = value;
            break;
        case resource_version:
            pod_.resource_version = value;
            break;
        case created:
            pod_.creation = parse_time(value);
            break;
        case deleted:
            pod_.deletion = parse_time(value);
            break;
        case label_value:
            read_label(key, value);
            break;
        case annotation_value:
            read_annotation(key, value);
            break;
        case group_name:
            note_gang({mark_place::group}, value);
            break;
        case owner_uid:
            owner_.current.uid = value;
            break;
        case node_name:
            pod_.scheduled = !value.empty();
            pod_.node = value;
            break;
        case gate_name:
            gates_ += gates_.empty() ? "" : ", ";
            gates_ += first_bytes(value, pod_message_limit);
            break;
        case container_name:
            spec_order_.back() = value;
            content_.text(n, value);
            break;
        case init_name:
            inits_.back().name = value;
            break;
        case init_restart:
            inits_.back().sidecar = value == "Always";
            break;
        case phase:
            for (const auto& p : phase_names) {
                pod_.phase = p.text == value ? p.phase : pod_.phase;
            }
            break;
        case reason:
            pod_.reason = value;
            break;
        case message:
            pod_.message = first_bytes(value, pod_message_limit);
            break;
        case condition_type:
            condition_.type = value;
            break;
        case condition_status:
            condition_.status = value;
            break;
        case condition_reason:
            condition_.reason = value;
            break;
        case condition_message:
            condition_.message = first_bytes(value, pod_message_limit);
            break;
        default:
            read_container_text(n, value);
            break;
    }
}

void pod_sink::read_container_text(node n, std::string_view value) {
    switch (n) {
        case status_name:
            status_.name = value;
            break;
        case waiting_reason:
        case end_reason:
            status_.reason = value;
            break;
        // The end of a message says what went wrong (BEHAVIOUR.md 3.9).
        case waiting_message:
        case end_message:
            status_.message = last_bytes(value, container_message_limit);
            break;
        case running_started:
        case end_started:
            status_.started = parse_time(value);
            break;
        case end_finished:
            status_.finished = parse_time(value);
            break;
        default:
            content_.text(n, value);
            break;
    }
}

void pod_sink::number(node n, std::string_view /*key*/, std::int64_t value) {
    if (n == grace) {
        pod_.grace_seconds = std::max<std::int64_t>(value, 0);
    } else if (value < INT32_MIN || value > INT32_MAX) {
        return;
    } else if (n == exit_code) {
        status_.exit_code = static_cast<std::int32_t>(value);
    } else if (n == priority) {
        pod_.priority = static_cast<std::int32_t>(value);
    }
}

void pod_sink::read_label(std::string_view key, std::string_view value) {
    const auto found = [&](unsigned bit, bool well_formed) { labels_ |= well_formed ? bit : 0; };
    if (key == label::replica_type) {
        pod_.type = value;
        found(has_type, !value.empty());
    } else if (key == label::replica_index) {
        pod_.index = label_number(value).value_or(-1);
        found(has_index, pod_.index >= 0);
    } else if (key == label::attempt) {
        const auto number = label_number(value);
        const bool gone = value == label::attempt_gone;
        pod_.attempt = gone ? gone_attempt : number.value_or(0);
        found(has_attempt, gone || number.has_value());
    } else if (key == label::round) {
        const auto number = label_number(value);
        pod_.round = number.value_or(0);
        found(has_round, number.has_value());
    } else if (key == label::managed_by) {
        found(has_managed_by, value == label::managed_by_value);
    } else {
        for (const auto& l : text_labels) {
            if (l.key == key) {
                found(l.bit, !value.empty());
            }
        }
        note_gang({mark_place::label, key}, value);
    }
}

void pod_sink::read_annotation(std::string_view key, std::string_view value) {
    if (key == label::training_container) {
        training_ = value;
    } else if (key == label::progress_ca) {
        pod_.reports = true;
    } else {
        note_gang({mark_place::annotation, key}, value);
    }
}

void pod_sink::note_gang(const gang::member_mark& by, std::string_view name) {
    const gang::scheduler* whose = gang::scheduler_of(by);
    if (whose != nullptr && !name.empty()) {
        gangs_.push_back({whose, std::string(name)});
    }
}

void pod_sink::finish_condition() {
    const auto& c = condition_;
    if (std::ranges::find(common_conditions, c.type) == common_conditions.end() &&
        conditions_.size() + c.type.size() + c.status.size() + 2 <= conditions_limit) {
        conditions_ += c.type + '=' + c.status + '\n';
    }
    if (c.type == "Ready") {
        pod_.ready = c.status == "True";
    } else if (c.type == "DisruptionTarget") {
        pod_.disruption_target = c.status == "True";
        if (pod_.disruption_target) {
            pod_.disruption_reason = c.reason;
            pod_.disruption_message = c.message;
        }
    } else if (c.type == "PodScheduled") {
        pod_.unschedulable = c.status == "False" && c.reason == "Unschedulable";
        pod_.scheduler_message = pod_.unschedulable ? std::string_view(c.message) : "";
    }
}

/// A failed init container explains the pod's failure. One that restarts by itself is a sidecar: it
/// is stopped at the pod's end, and its code means nothing (BEHAVIOUR.md 5.1).
bool pod_sink::is_failure(const container_record& init) const {
    if (init.state == container_state::waiting) {
        return std::find(harmless_waits.begin(), harmless_waits.end(), init.reason) ==
               harmless_waits.end();
    }
    return init.state == container_state::terminated && init.exit_code != 0 &&
           !std::ranges::binary_search(sidecars_, init.name.str());
}

/// The kubelet sorts statuses by name; people and decisions want the order of the specification.
void pod_sink::order_containers() {
    for (const init_container& c : inits_) {
        if (c.sidecar) {
            sidecars_.push_back(c.name);
        }
    }
    std::ranges::sort(sidecars_);
    const auto failed_inits = static_cast<std::size_t>(std::count_if(
        init_statuses_.begin(), init_statuses_.end(), [&](const auto& c) { return is_failure(c); }
    ));
    auto& out = pod_.containers;
    if (spec_order_.empty()) {
        out.reserve(statuses_.size() + failed_inits);
        std::move(statuses_.begin(), statuses_.end(), std::back_inserter(out));
    } else {
        out.reserve(spec_order_.size() + failed_inits);
        const auto by_name = [](const container_record& c) -> std::string_view { return c.name; };
        std::ranges::stable_sort(statuses_, {}, by_name);
        for (const auto& name : spec_order_) {
            const auto it =
                std::ranges::lower_bound(statuses_, std::string_view(name), {}, by_name);
            if (it != statuses_.end() && it->name == name) {
                out.push_back(*it);
                continue;
            }
            container_record& unseen = out.emplace_back();
            unseen.name = name;
            // No kubelet has spoken yet: the pod's own phase says that much.
            unseen.state = pod_.phase == pod_phase::pending ? container_state::waiting
                                                            : container_state::unknown;
        }
    }
    for (auto& c : init_statuses_) {
        if (is_failure(c)) {
            c.init = true;
            out.push_back(std::move(c));
        }
    }
}

void pod_sink::mark_training() {
    for (container_record& c : pod_.containers) {
        c.training = !c.init && c.name == training_;
    }
}

pod_record pod_sink::finish() {
    pod_.owner_uid = std::move(owner_.controller.uid);
    pod_.labels_complete = labels_ == all_labels;
    // Users have gangs of their own; the job's is named like the subdomain (BEHAVIOUR.md 1.2).
    const auto own = std::ranges::find(gangs_, content_.found_subdomain(), &member_of::name);
    pod_.gang = own == gangs_.end() ? nullptr : own->whose;
    if (!pod_.scheduled) {
        pod_.gates = first_bytes(gates_, pod_message_limit);
    }
    pod_.conditions = conditions_;
    // Without a status (one that is to be made, say) the phase is not known.
    if (pod_.phase == pod_phase::pending || pod_.phase == pod_phase::unknown) {
        pod_.content = content_.finish(training_);
    }
    order_containers();
    mark_training();
    return std::move(pod_);
}

}  // namespace

std::uint64_t content_of_pod(std::string_view json) {
    pod_sink sink;
    return read_paths(json, pod_edges, sink) ? sink.finish().content : 0;
}

std::optional<pod_record> decode_pod(std::string_view json) {
    pod_sink sink;
    if (!read_paths(json, pod_edges, sink)) {
        return std::nullopt;
    }
    pod_record record = sink.finish();
    if (record.name.empty() || record.uid.empty()) {
        return std::nullopt;
    }
    return record;
}

void share_texts(pod_record& pod, text_pool& pool) {
    for (compact_text* text : {&pod.ns, &pod.owner_uid, &pod.type, &pod.node}) {
        pool.share(*text);
    }
    for (container_record& c : pod.containers) {
        pool.share(c.name);
    }
}

}  // namespace signalbox::core

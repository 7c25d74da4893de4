// SPDX-License-Identifier: Apache-2.0
#include "pods/admission.hpp"

#include "controller/resource_table.hpp"
#include "pods/json_value.hpp"
#include "pods/status_writes.hpp"

#include <jobcore/object_kind.hpp>
#include <jobcore/strings.hpp>
#include <k8sio/reflector.hpp>

#include <fmt/format.h>

#include <array>
#include <utility>

namespace signalbox::op::pods {

namespace asio = boost::asio;

namespace {

const k8sio::resource_type& workload_type() {
    return type_of(core::kinds_of_scheduler("kueue").front(), core::job_kind::pytorch);
}

k8sio::reflector_options of_ours() {
    k8sio::reflector_options out;
    out.label_selector = children_selector;
    return out;
}

bool is_true(const json_value& workload, std::string_view type) {
    bool holds = false;
    for_each(member(member(workload, "status"), "conditions"), [&](const json_value& c) {
        holds = holds || (text(c, "type") == type && text(c, "status") == "True");
    });
    return holds;
}

std::string condition(
    std::string_view type, std::string_view reason, std::string_view message, core::instant now
) {
    return fmt::format(
        R"({{"type":"{}","status":"True","reason":"{}","message":"{}","lastTransitionTime":"{}"}})",
        type,
        reason,
        message,
        core::format_time(now)
    );
}

/// A merge patch replaces the list: the others of it, and these.
std::string conditions(const json_value& workload, const std::string& added) {
    constexpr std::array<std::string_view, 3> ours{"QuotaReserved", "Admitted", "Evicted"};
    const bool admits = added.find("QuotaReserved") != std::string::npos;
    std::string out;
    for_each(member(member(workload, "status"), "conditions"), [&](const json_value& c) {
        const bool replaced =
            text(c, "type") == ours[2] ||
            (admits && (text(c, "type") == ours[0] || text(c, "type") == ours[1]));
        out += replaced ? "" : to_text(c) + ",";
    });
    return R"("conditions":[)" + out + added + "]";
}

std::string admission(const json_value& workload) {
    std::string sets;
    for_each(member(member(workload, "spec"), "podSets"), [&](const json_value& set) {
        sets += fmt::format(
            R"({}{{"name":{},"count":{}}})",
            sets.empty() ? "" : ",",
            core::json_string(text(set, "name")),
            whole_number(set, "count").value_or(1)
        );
    });
    return R"("admission":{"clusterQueue":"stand-in","podSetAssignments":[)" + sets + "]}";
}

}  // namespace

std::optional<workload_answer> answer_workload(std::string_view json, core::instant now) {
    rapidjson::Document workload;
    if (!parse(workload, json) || is_true(workload, "Finished")) {
        return std::nullopt;
    }
    const json_value& metadata = member(workload, "metadata");
    const bool reserved = is_true(workload, "QuotaReserved");
    const bool active = flag(member(workload, "spec"), "active", true);
    std::string status;
    if (active && !reserved) {
        status = admission(workload) + "," +
                 conditions(
                     workload,
                     condition("QuotaReserved", "QuotaReserved", "By a stand-in for Kueue", now) +
                         "," + condition("Admitted", "Admitted", "By a stand-in for Kueue", now)
                 );
    } else if (!active && reserved && !is_true(workload, "Evicted")) {
        status = conditions(
            workload, condition("Evicted", "Deactivated", "The workload is deactivated", now)
        );
    } else {
        return std::nullopt;
    }
    return workload_answer{
        std::string(text(metadata, "namespace")),
        std::string(text(metadata, "name")),
        fmt::format(
            R"({{"metadata":{{"resourceVersion":{}}},"status":{{{}}}}})",
            core::json_string(text(metadata, "resourceVersion")),
            status
        )};
}

class simulated_admission::impl final : public k8sio::reflector_sink {
public:
    impl(
        asio::any_io_executor executor,
        k8sio::client& api,
        std::function<void(const std::string&)> complain
    )
        : api_(api),
          reflector_(api, workload_type(), *this, of_ours()),
          writes_(std::move(executor), api, workload_type(), std::move(complain)) {}

    asio::awaitable<void> run() {
        status_writes& writes = writes_;
        co_await reflector_.run();
        co_await writes.finish();
    }

    void stop() {
        stopping_ = true;
        writes_.stop();
        reflector_.stop();
    }

    void upsert(std::string_view json) override {
        const auto now = std::chrono::floor<core::milliseconds>(api_.server_now());
        auto answer = answer_workload(json, now);
        if (!answer || stopping_) {
            return;
        }
        writes_.patch(std::move(answer->ns), std::move(answer->name), std::move(answer->patch));
    }
    void remove(std::string_view) override {}

private:
    k8sio::client& api_;
    k8sio::reflector reflector_;
    status_writes writes_;
    bool stopping_ = false;
};

simulated_admission::simulated_admission(
    asio::any_io_executor executor,
    k8sio::client& api,
    std::function<void(const std::string&)> complain
)
    : impl_(std::make_unique<impl>(std::move(executor), api, std::move(complain))) {}

simulated_admission::~simulated_admission() = default;

asio::awaitable<void> simulated_admission::run() {
    return impl_->run();
}

void simulated_admission::stop() {
    impl_->stop();
}

}  // namespace signalbox::op::pods

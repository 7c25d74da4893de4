// SPDX-License-Identifier: Apache-2.0
#include "controller/action_executor.hpp"

#include "controller/action_order.hpp"
#include "controller/child_claims.hpp"
#include "controller/log_line.hpp"
#include "controller/own_refusals.hpp"
#include "controller/resource_table.hpp"
#include "controller/view_feed.hpp"
#include "k8sio/object_writer.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// What came of an action: for the stage, and for the decisions that follow.
struct consequence {
    action_result result = action_result::failed;
    core::outcome answer = core::answer::unanswered();
    /// What the log says of a refusal; nothing: the name is another owner's.
    std::optional<k8sio::api_error> refusal = {};
};

/// A creation or patch that would be refused again (BEHAVIOUR.md 12.5).
consequence refused(k8sio::api_error error) {
    return consequence(action_result::refused, refused_by(error), std::move(error));
}

/// The action belongs to a feature that is left out (BEHAVIOUR.md 2.11): as if the server had
/// refused it.
consequence of_unwanted(const core::action& a) {
    if (a.what() == core::verb::confirm) {
        return consequence(action_result::refused);
    }
    return refused(left_out(row_of(*feature_of(a.kind)).name));
}

/// A request that failed: a refusal, or one that is tried again.
consequence of_failure(const k8sio::failed_request& request) {
    using k8sio::write_failure;
    using k8sio::write_step;
    const bool makes = request.step == write_step::create || request.step == write_step::patch ||
                       request.step == write_step::restore;
    switch (request.why) {
        case write_failure::cancelled:
            return consequence(action_result::skipped);
        case write_failure::not_served:
        case write_failure::namespace_ends:
            return refused(request.error);
        case write_failure::refused:
            // Refusals speak of what could not be made or repaired, not of reads and deletions.
            if (makes) {
                return refused(request.error);
            }
            return consequence(action_result::failed);
        case write_failure::malformed:
            return consequence(action_result::failed);
        case write_failure::unavailable:
        case write_failure::unknown:
            break;
    }
    return consequence(action_result::unavailable);
}

consequence consequence_of(const core::action& a, const k8sio::write_outcome& outcome) {
    using k8sio::write_verdict;
    switch (outcome.verdict) {
        case write_verdict::done:
            if (a.what() == core::verb::confirm) {
                return consequence(action_result::done, core::answer::absent());
            }
            return consequence(action_result::done, core::answer::acknowledged());
        case write_verdict::present:
            return consequence(action_result::present, core::answer::present());
        case write_verdict::foreign:
            return consequence(action_result::refused, core::answer::by_other_owner());
        case write_verdict::outdated:
            return consequence(action_result::recompute);
        case write_verdict::unkept:
            return refused(
                a.what() == core::verb::create ? changed_pod(outcome.lost) : unkept_patch()
            );
        case write_verdict::failed:
            break;
    }
    return outcome.failure ? of_failure(*outcome.failure) : consequence{action_result::recompute};
}

/// What could not be read is not asked for again (BEHAVIOUR.md 12.14).
asio::awaitable<consequence> read_end_of_log(
    k8sio::client& api, const std::string& ns, const core::action& a
) {
    const auto& wanted = std::get<core::read_log>(a.request);
    k8sio::log_query query;
    query.container = wanted.container;
    query.timestamps = true;
    query.tail_lines = wanted.lines;
    query.limit_bytes = wanted.bytes;
    const auto until = server_clock(api).steady_of(wanted.until);
    const auto text = co_await api.read_log(ns, a.name, query, until);
    core::answer::said said;
    if (text.has_value()) {
        said.what = core::judge_log(wanted.pod_uid, a.name, *text);
    }
    co_return consequence(action_result::done, std::move(said));
}

/// Of the cluster, not of a namespace (BEHAVIOUR.md 8.12).
asio::awaitable<consequence> read_from_cluster(k8sio::client& api, const core::action& a) {
    const k8sio::resource_type& type = type_of(a.kind, core::job_kind());
    auto read = co_await api.get(type, std::string_view(), a.name);
    if (read.has_value()) {
        core::answer::told told;
        told.json = *std::move(read);
        co_return consequence(action_result::done, std::move(told));
    }
    const bool said_no = read.error().http_status == 403 || read.error().http_status == 404;
    co_return said_no ? refused(read.error()) : consequence(action_result::unavailable);
}

}  // namespace

asio::awaitable<action_result> action_executor::carry_out(
    job_entry& entry,
    const core::job_object& decided,
    const core::decision& made,
    core::work_order& order,
    const core::action& a
) {
    consequence what;
    const bool by_name = a.what() == core::verb::create || a.what() == core::verb::confirm;
    if (std::holds_alternative<core::read_object>(a.request)) {
        what = co_await read_from_cluster(*api_, a);
    } else if (a.what() == core::verb::read) {
        what = co_await read_end_of_log(*api_, decided.meta.ns, a);
    } else if (by_name && !is_wanted(a.kind, config_->options.without)) {
        what = of_unwanted(a);
    } else if (auto asked = order_of(*config_, decided, made, a)) {
        const child_claims claims(config_->options, decided, made, a, *asked);
        view_feed answers(*updates_, *counters_, entry, decided.meta.kind, a.kind);
        k8sio::object_writer writer(*api_);
        const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
        const auto outcome = co_await writer.write(
            type, decided.meta.ns, a.name, std::move(*asked), claims, answers
        );
        what = consequence_of(a, outcome);
        if (outcome.verdict == k8sio::write_verdict::foreign && claims.has_other_content()) {
            what.answer = core::answer::by_other_content();
        }
        if (outcome.failure) {
            tell_failure(a, *outcome.failure, what.result);
        }
    }
    order.note(a, what.answer, server_clock(*api_).now());
    if (std::holds_alternative<core::answer::refused>(what.answer)) {
        ++counters_->refusals;
        log_refusal(*config_->log, entry.object->meta, a, *entry.answers.find(a), what.refusal);
    }
    co_return what.result;
}

void action_executor::tell_failure(
    const core::action& a, const k8sio::failed_request& request, action_result result
) {
    if (result == action_result::refused || result == action_result::skipped) {
        return;  // a refusal is told as such
    }
    spdlog::logger& log = *config_->log;
    if (request.why == k8sio::write_failure::malformed) {
        log.error("{}: kind={} name={}", request.error.message, core::to_string(a.kind), a.name);
        return;
    }
    ++counters_->errors;
    log_line line("request failed");
    line.field("verb", core::to_string(a.what()))
        .field("kind", core::to_string(a.kind))
        .field("name", a.name)
        .field("error", request.error.text());
    line.write(log, spdlog::level::warn);
}

}  // namespace signalbox::op

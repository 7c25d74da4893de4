// SPDX-License-Identifier: Apache-2.0
#include "cli/job_lookup.hpp"

#include "cli/text_layout.hpp"
#include "controller/definitions_wait.hpp"
#include "controller/resource_table.hpp"
#include "manifests/json_edit.hpp"

#include <jobcore/labels.hpp>

#include <fmt/format.h>

#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

job_lookup::job_lookup(k8sio::client& api, std::string ns, job_target target)
    : api_(&api), ns_(std::move(ns)), target_(std::move(target)) {}

asio::awaitable<void> job_lookup::run() {
    std::size_t tried = 0;
    while (tried < target_.kinds.size() && problem_.empty()) {
        const core::job_kind kind = target_.kinds[tried++];
        co_await look(kind);
    }
    if (!problem_.empty() || !found_.empty()) {
        co_return;
    }
    problem_ =
        !unreadable_.empty() ? std::move(unreadable_)
        : served_
            ? fmt::format("namespace {} has no training job {}", ns_, target_.name)
            : fmt::format("the server does not serve {}; {}", core::api_version, how_to_install);
}

asio::awaitable<void> job_lookup::look(core::job_kind kind) {
    const k8sio::resource_type& type = type_of(kind);
    k8sio::result<std::string> answer = co_await api_->get(type, ns_, target_.name);
    // A kind that nothing serves is answered without a Status that names an object.
    served_ = served_ || answer.has_value() || !answer.error().reason.empty();
    if (answer.has_value()) {
        std::string uid = manifests::string_at(*answer, "/metadata/uid");
        found_.push_back({kind, std::move(uid), std::move(*answer)});
    } else if (answer.error().http_status == 403) {
        unreadable_ = answer.error().text();  // the job may be of a kind that may be read
    } else if (answer.error().http_status != 404) {
        problem_ = answer.error().text();
    }
}

std::string job_lookup::problem_unless_one() const {
    if (found_.size() < 2) {
        return problem_;
    }
    std::string names;
    for (const found_job& job : found_) {
        names += (names.empty() ? "" : " and ") + kubectl_name(job.kind, target_.name);
    }
    return fmt::format("`{}` names several jobs: {}", target_.name, names);
}

std::string children_of(const std::string& uid) {
    return fmt::format("{}={}", core::label::job_uid, uid);
}

asio::awaitable<std::optional<k8sio::api_error>> list_each(
    k8sio::client& api,
    const k8sio::resource_type& type,
    std::string ns,
    k8sio::list_options options,
    const std::function<void(std::string json)>& take
) {
    bool more = true;
    while (more) {
        k8sio::result<k8sio::list_page> page = co_await api.list(type, ns, options);
        if (page.has_error()) {
            co_return page.error();
        }
        for (std::string& item : page->items) {
            take(std::move(item));
        }
        options.continue_token = std::move(page->continue_token);
        more = !options.continue_token.empty();
    }
    co_return std::nullopt;
}

std::string kubectl_name(core::job_kind kind, const std::string& name) {
    return fmt::format("{}/{}", lower(core::to_string(kind)), name);
}

}  // namespace signalbox::op::cli

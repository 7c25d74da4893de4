// SPDX-License-Identifier: Apache-2.0
#include "cli/job_lists.hpp"

#include "cli/job_lookup.hpp"
#include "controller/definitions_wait.hpp"
#include "controller/resource_table.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace signalbox::op::cli {

namespace asio = boost::asio;

job_lists::job_lists(k8sio::client& api, std::string ns, const std::string& selector, taker take)
    : api_(&api), ns_(std::move(ns)), take_(std::move(take)) {
    options_.label_selector = selector;
}

asio::awaitable<void> job_lists::run() {
    std::size_t next = 0;
    while (next < core::all_job_kinds.size() && problem_.empty()) {
        const core::job_kind kind = core::all_job_kinds[next++];
        co_await list(kind);
    }
    if (problem_.empty() && !served_) {
        problem_ =
            fmt::format("the server does not serve {}; {}", core::api_version, how_to_install);
    }
}

asio::awaitable<void> job_lists::list(core::job_kind kind) {
    const k8sio::resource_type& type = type_of(kind);
    const std::function<void(std::string)> take = [&](const std::string& json) {
        take_(kind, json);
    };
    const auto wrong = co_await list_each(*api_, type, ns_, options_, take);
    // The others may be served. One that may not be read would look like no job.
    problem_ = wrong && wrong->http_status != 404 ? wrong->text() : "";
    served_ = served_ || !wrong;
}

}  // namespace signalbox::op::cli

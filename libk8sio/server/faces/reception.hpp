// SPDX-License-Identifier: Apache-2.0
//
// Where both faces hand in requests: counts them, injects faults, adds the headers of every answer,
// and keeps track of open watches.
#pragma once

#include "server/controllers/collector.hpp"
#include "server/controllers/custom_kinds.hpp"
#include "server/model/model.hpp"
#include "server/verbs/front.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::k8sio::server {

/// A connection's interest in being told that the server ends its streams.
class open_watch {
public:
    virtual ~open_watch() = default;
    virtual void end() = 0;
};

class reception {
public:
    reception(boost::asio::any_io_executor executor, clock& time, server_options options);

    struct outcome_of_request {
        api_answer answer;
        bool dropped = false;  ///< fail with connection_lost instead of answering
    };
    outcome_of_request receive(
        const std::string& method,
        std::string_view target,
        std::string_view content_type,
        std::string accept,
        std::string body,
        upgrade_offer upgrade = {}
    );

    void set_pod_streams(pod_streams* of_pods) { front_.set_pod_streams(of_pods); }
    void set_fault_hook(fault_hook hook) { hook_ = std::move(hook); }
    std::uint64_t count(std::string_view method, std::string_view path_part) const;

    void add(open_watch& w) { open_.insert(&w); }
    void remove(open_watch& w) { open_.erase(&w); }
    /// Ends every open stream.
    void break_watches();

    const boost::asio::any_io_executor& executor() const { return executor_; }
    model& world() { return world_; }
    custom_kinds& definitions() { return definitions_; }
    const server_options& options() const { return options_; }

private:
    void count_request(const std::string& method, const api_request& request);

    boost::asio::any_io_executor executor_;
    server_options options_;
    model world_;
    custom_kinds definitions_;
    collector collector_;
    front front_;
    fault_hook hook_;
    std::uint64_t requests_ = 0;
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts_;
    std::set<open_watch*> open_;
};

}  // namespace signalbox::k8sio::server

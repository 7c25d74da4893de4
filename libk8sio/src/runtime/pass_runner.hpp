// SPDX-License-Identifier: Apache-2.0
//
// Runs the passes of a controller: as many at a time as it may, over keys whose views are fresh,
// and none while the views as a whole may not be decided on.
#pragma once

#include "k8sio/controller.hpp"
#include "protocol/freshness_fsm.hpp"
#include "runtime/pass_schedule.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace signalbox::k8sio {

/// The words of an exception.
std::string what_of(std::exception_ptr broken);

class pass_runner {
public:
    /// `ended` is called after each pass. What is given by reference outlives the runner.
    pass_runner(
        boost::asio::any_io_executor executor,
        clock& time,
        reconcile_function reconcile,
        const controller_options& options,
        protocol::freshness_fsm& freshness,
        std::function<void()> ended
    );

    /// Passes may start from now on.
    void begin();
    /// None starts any more; those that run go on.
    void stop() { stopping_ = true; }
    /// After the last pass: nothing is pending.
    void end();

    /// Looks soon whether a pass can start.
    void wake();
    /// Keys that waited for a view may be fresh now.
    void view_advanced();

    pass_schedule& schedule() { return schedule_; }
    std::size_t under_way() const { return passes_; }
    reconcile_counters& counters() { return counters_; }

private:
    bool may_start();
    void pump();
    void arm_timer();
    void start_pass(const std::string& key);
    void end_pass(const std::string& key, const reconcile_result& result);
    void release_blocked();
    void log(severity how, const std::string& line) const;

    boost::asio::any_io_executor executor_;
    clock* time_;
    reconcile_function reconcile_;
    const controller_options* options_;
    protocol::freshness_fsm* freshness_;
    std::function<void()> ended_;
    pass_schedule schedule_;
    reconcile_counters counters_;
    std::size_t passes_ = 0;
    bool started_ = false;
    bool stopping_ = false;
    /// Since when passes may start. Keys that came before have waited for a leadership, say, and
    /// not for their turn.
    std::optional<steady_time> ready_since_;
    bool pump_posted_ = false;
    clock::timer_id timer_ = 0;
    std::optional<steady_time> timer_at_;
    clock::timer_id blocked_timer_ = 0;
    clock::timer_id doubt_timer_ = 0;
    std::shared_ptr<bool> alive_;  ///< asked by posted functions
};

}  // namespace signalbox::k8sio

// SPDX-License-Identifier: Apache-2.0
#include "transport/login.hpp"

#include <utility>

namespace signalbox::k8sio {

login::login(
    clock& time,
    protocol::credentials credentials,
    std::unique_ptr<plugin_runner> runner,
    notice_function notice
)
    : time_(&time),
      credentials_(std::move(credentials)),
      runner_(std::move(runner)),
      notice_(std::move(notice)) {}

boost::asio::awaitable<result<protocol::access>> login::get(steady_time deadline) {
    protocol::exec_credential_cache* plugin = credentials_.plugin();
    while (plugin != nullptr) {
        if (plugin->must_run(time_->steady_now())) {
            run_plugin(*plugin);
        }
        if (plugin->usable(time_->steady_now())) {
            break;
        }
        if (!plugin->running()) {
            co_return plugin->failure();
        }
        sleep_waker waker;
        waiting_.push_back(&waker);
        const wake_reason reason = co_await sleep_until(*time_, deadline, waker);
        std::erase(waiting_, &waker);
        if (reason != wake_reason::woken) {
            api_error error;
            error.code = reason == wake_reason::cancelled ? errc::cancelled : errc::credentials;
            error.message = "waiting for the credential plugin";
            co_return error;
        }
    }
    protocol::access now = credentials_.current(time_->steady_now());
    tell();
    co_return now;
}

bool login::refused(const protocol::access& used) {
    const bool better = credentials_.refused(used, time_->steady_now());
    tell();
    return better;
}

void login::tell() {
    const std::string line = credentials_.take_notice();
    if (!line.empty() && notice_) {
        notice_(line);
    }
}

void login::run_plugin(protocol::exec_credential_cache& plugin) {
    plugin.started();
    runner_->start(plugin.plugin(), [this, &plugin](const protocol::plugin_outcome& outcome) {
        plugin.finished(time_->steady_now(), time_->wall_now(), outcome);
        tell();
        for (sleep_waker* each : waiting_) {
            each->wake();
        }
    });
}

}  // namespace signalbox::k8sio

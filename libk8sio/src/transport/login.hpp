// SPDX-License-Identifier: Apache-2.0
//
// The shell of protocol/credentials: has the program run that gives them, once for all who wait
// (REQUIREMENTS.md C7).
#pragma once

#include "client/wakeable_sleep.hpp"
#include "protocol/credentials.hpp"
#include "transport/plugin_runner.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

class login {
public:
    using notice_function = std::function<void(const std::string& line)>;
    /// `time` must outlive it. `runner` may be null where the configuration has no program,
    /// `notice` if no one wants to hear of what is no error yet.
    login(
        clock& time,
        protocol::credentials credentials,
        std::unique_ptr<plugin_runner> runner,
        notice_function notice = nullptr
    );

    /// What a request that is sent now has. Waits for the program only if there is nothing usable.
    /// Errors: credentials, cancelled.
    boost::asio::awaitable<result<protocol::access>> get(steady_time deadline);
    /// The server refused `used` with 401. True if another get() may give something better.
    bool refused(const protocol::access& used);
    /// A connection failed in TLS: the files may be newer than what is held.
    void doubt() { credentials_.doubt(); }
    const protocol::tls_keys& keys() const { return credentials_.keys(); }

private:
    void run_plugin(protocol::exec_credential_cache& plugin);
    void tell();

    clock* time_;
    protocol::credentials credentials_;
    std::unique_ptr<plugin_runner> runner_;
    notice_function notice_;
    std::vector<sleep_waker*> waiting_;
};

}  // namespace signalbox::k8sio

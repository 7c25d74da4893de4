// SPDX-License-Identifier: Apache-2.0
//
// Credentials that a program gives (REQUIREMENTS.md C7): what it is told, what its output means,
// and when it is run. Starts no program and knows no clock.
#pragma once

#include "k8sio/cluster_config.hpp"
#include "k8sio/error.hpp"
#include "k8sio/time.hpp"
#include "protocol/tls_keys.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::k8sio::protocol {

/// How a run of the program ended.
class plugin_outcome {
public:
    plugin_outcome() = default;
    int start_error = 0;     ///< an errno: it could not be started
    bool timed_out = false;  ///< it was killed for taking too long
    int exit_code = 0;
    int signal = 0;  ///< that ended it; 0: none did
    secret_text output;
    std::string complaint;  ///< the end of what it wrote to stderr
};

/// What the program gave.
class exec_credential {
public:
    exec_credential() = default;
    secret_text token;            ///< empty: none
    std::string client_cert_pem;  ///< empty: none
    secret_text client_key_pem;
    std::optional<wall_time> expires;
};

/// The cluster as the program is told of it; without one, `cluster` is null. `config`: JSON, the
/// cluster's extension for the program; empty: none.
std::string exec_info(
    const std::string& api_version,
    const cluster_config* cluster,
    const std::string& server,
    const std::string& config
);

/// The meaning of an outcome. Errors have the code credentials, and hold what the program itself
/// complained of, but nothing of its output.
result<exec_credential> read_exec_credential(
    const exec_plugin& plugin, const plugin_outcome& outcome
);

/// When the program is run, and what is used meanwhile. One run at a time serves all who wait.
class exec_credential_cache {
public:
    /// Without `check` all keys are good.
    explicit exec_credential_cache(exec_plugin plugin, key_check check = nullptr)
        : plugin_(std::move(plugin)), check_(std::move(check)) {}

    const exec_plugin& plugin() const { return plugin_; }
    /// True if the caller has to start the program now, and to call started().
    bool must_run(steady_time now) const;
    void started();
    /// The run has ended. `wall` is the local clock, against which the expiry is read.
    void finished(steady_time now, wall_time wall, const plugin_outcome& outcome);

    bool running() const { return running_; }
    /// There is a credential that has not run out.
    bool usable(steady_time now) const;
    /// What is used now; usable() is true.
    const exec_credential& current() const { return current_; }
    /// Rises with each new credential.
    std::uint64_t number() const { return number_; }
    /// Why there is none, if neither usable() nor running(): of the last run.
    const api_error& failure() const { return failure_; }
    /// The server refused the credential of that number with 401. True if another try may succeed:
    /// there is a newer one, or it is dropped so that the program is asked again.
    bool refused(std::uint64_t number, steady_time now);
    /// A line that is worth a place in a log, once: the credential could not be renewed, and the
    /// old one is used on. Empty: there is none.
    std::string take_notice() { return std::exchange(notice_, {}); }

private:
    void failed(steady_time now, api_error error);

    exec_plugin plugin_;
    key_check check_;
    bool running_ = false;
    bool have_ = false;
    exec_credential current_;
    std::uint64_t number_ = 0;
    std::optional<steady_time> refresh_at_;  // nothing: it does not run out
    std::optional<steady_time> expires_at_;
    std::optional<steady_time> retry_at_;    // after a failure not before
    std::optional<steady_time> drop_again_;  // after a 401 not before
    api_error failure_;
    std::string told_;    // of the failures since the last credential
    std::string notice_;  // to be taken
};

}  // namespace signalbox::k8sio::protocol

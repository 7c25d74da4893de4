// SPDX-License-Identifier: Apache-2.0
#include "protocol/exec_credential.hpp"

#include "k8sio/base64.hpp"
#include "protocol/http_date.hpp"
#include "protocol/json_cursor.hpp"
#include "protocol/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace signalbox::k8sio::protocol {

namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

/// Before its end, but not in the last quarter of a short life.
constexpr seconds refresh_before{60};
/// A program that fails is not run for each request of many. While there is an old credential, it
/// waits longer, but not beyond a quarter of what that one has left.
constexpr seconds retry_interval{1};
constexpr seconds early_retry_interval{10};
/// Where the server refuses whatever the program gives, it is not run for each request.
constexpr seconds drop_interval{10};
/// A credential that has run out on arrival: the local clock may be wrong, so the server judges.
constexpr seconds shortest_life{10};

api_error plugin_error(std::string message) {
    return make_error(errc::credentials, std::move(message));
}

std::string name_of(const exec_plugin& plugin) {
    return fmt::format("credential plugin '{}'", plugin.command);
}

void add_member(std::string& out, const char* name, std::string_view text) {
    if (!text.empty()) {
        out += fmt::format(",\"{}\":", name);
        append_json_string(out, text);
    }
}

/// Status of an ExecCredential, as it stands there.
struct raw_status {
    bool present = false;
    std::string expires, token, cert, key;
};

void read_status_object(json_cursor& cursor, raw_status& out) {
    out.present = read_members(
        cursor,
        {{"expirationTimestamp", &out.expires},
         {"token", &out.token},
         {"clientCertificateData", &out.cert},
         {"clientKeyData", &out.key}}
    );
}

/// How it ended, if not well.
std::string bad_end(const exec_plugin& plugin, const plugin_outcome& outcome) {
    if (outcome.start_error != 0) {
        const std::string reason = std::generic_category().message(outcome.start_error);
        return "cannot be started: " + reason;
    }
    if (outcome.timed_out) {
        const auto limit = std::chrono::duration_cast<seconds>(plugin.timeout);
        return fmt::format("has not ended within {} s", limit.count());
    }
    if (outcome.signal != 0) {
        return fmt::format("was ended by signal {}", outcome.signal);
    }
    return outcome.exit_code == 0 ? "" : fmt::format("ended with code {}", outcome.exit_code);
}

result<exec_credential> read_output(const exec_plugin& plugin, const std::string& output) {
    const auto refuse = [&](const std::string& why) {
        return plugin_error(name_of(plugin) + " " + why);
    };
    json_cursor cursor(output);
    std::string kind;
    std::string api_version;
    raw_status status;
    const auto read_status = [&status](json_cursor& inner) { read_status_object(inner, status); };
    const bool object = read_members(
        cursor, {{"kind", &kind}, {"apiVersion", &api_version}, {"status", read_status}}
    );
    if (!object) {
        return refuse("gave no JSON object");
    }
    if (!cursor.at_end() || kind != "ExecCredential") {
        return refuse("gave no ExecCredential");
    }
    if (api_version != plugin.api_version) {
        return refuse(fmt::format(
            "gave an ExecCredential of {}, but the kubeconfig says {}",
            printable(api_version, 100),
            plugin.api_version
        ));
    }
    if (!status.present) {
        return refuse("gave an ExecCredential without status");
    }
    if (status.token.empty() && status.cert.empty() && status.key.empty()) {
        return refuse("gave neither token nor certificate");
    }
    if (status.cert.empty() != status.key.empty()) {
        return refuse("gave a certificate without key, or a key without certificate");
    }
    exec_credential out;
    if (!status.expires.empty()) {
        out.expires = parse_api_time(status.expires);
        if (!out.expires) {
            return refuse("gave an expirationTimestamp that is no time");
        }
    }
    out.token = secret_text(std::move(status.token));
    out.client_cert_pem = std::move(status.cert);
    out.client_key_pem = secret_text(std::move(status.key));
    return out;
}

std::string problem_of_keys(const exec_credential& given, const key_check& check) {
    if (given.client_cert_pem.empty() || !check) {
        return {};
    }
    tls_keys keys;
    keys.client_cert_pem = given.client_cert_pem;
    keys.client_key_pem = given.client_key_pem;
    return check(keys);
}

}  // namespace

std::string exec_info(
    const std::string& api_version,
    const cluster_config* cluster,
    const std::string& server,
    const std::string& config
) {
    std::string out = R"({"kind":"ExecCredential","apiVersion":)";
    append_json_string(out, api_version);
    out += ",\"spec\":{\"interactive\":false";
    if (cluster != nullptr) {
        out += ",\"cluster\":{\"server\":";
        append_json_string(out, server);
        add_member(out, "tls-server-name", cluster->tls_server_name);
        if (cluster->insecure_skip_tls_verify) {
            out += ",\"insecure-skip-tls-verify\":true";
        }
        add_member(out, "certificate-authority-data", base64_encode(cluster->ca_pem));
        if (!config.empty()) {
            out += ",\"config\":" + config;
        }
        out += "}";
    }
    return out + "}}";
}

result<exec_credential> read_exec_credential(
    const exec_plugin& plugin, const plugin_outcome& outcome
) {
    const std::string end = bad_end(plugin, outcome);
    if (end.empty()) {
        return read_output(plugin, outcome.output.reveal());
    }
    std::string message = name_of(plugin) + " " + end;
    if (!outcome.complaint.empty()) {
        message += ": " + printable(outcome.complaint, 2048);
    }
    const bool missing = outcome.start_error == ENOENT;
    if (missing && !plugin.install_hint.empty()) {
        message += ": " + printable(plugin.install_hint, 2048);
    }
    return plugin_error(std::move(message));
}

bool exec_credential_cache::usable(steady_time now) const {
    return have_ && (!expires_at_ || now < *expires_at_);
}

bool exec_credential_cache::must_run(steady_time now) const {
    if (running_ || (retry_at_ && now < *retry_at_)) {
        return false;
    }
    return !usable(now) || (refresh_at_ && now >= *refresh_at_);
}

void exec_credential_cache::started() {
    running_ = true;
}

void exec_credential_cache::finished(
    steady_time now, wall_time wall, const plugin_outcome& outcome
) {
    running_ = false;
    auto given = read_exec_credential(plugin_, outcome);
    if (given.has_error()) {
        return failed(now, std::move(given).error());
    }
    const std::string problem = problem_of_keys(*given, check_);
    if (!problem.empty()) {
        return failed(now, plugin_error(name_of(plugin_) + " gave keys that fail: " + problem));
    }
    told_.clear();
    current_ = std::move(*given);
    have_ = true;
    ++number_;
    retry_at_.reset();
    expires_at_.reset();
    refresh_at_.reset();
    if (current_.expires) {
        // From here on steady time: a jump of the local clock neither ends nor prolongs it.
        const nanoseconds left = *current_.expires > wall ? *current_.expires - wall : seconds{0};
        const nanoseconds life = std::max<nanoseconds>(left, shortest_life);
        const nanoseconds early = std::min<nanoseconds>(refresh_before, life / 4);
        expires_at_ = now + std::chrono::duration_cast<steady_time::duration>(life);
        refresh_at_ = *expires_at_ - std::chrono::duration_cast<steady_time::duration>(early);
    }
}

void exec_credential_cache::failed(steady_time now, api_error error) {
    failure_ = std::move(error);
    if (!usable(now)) {
        retry_at_ = now + retry_interval;
        return;  // whoever asks now is told by the error itself
    }
    const nanoseconds left = expires_at_ ? nanoseconds(*expires_at_ - now) : early_retry_interval;
    retry_at_ = now + std::chrono::duration_cast<steady_time::duration>(
                          std::clamp<nanoseconds>(left / 4, retry_interval, early_retry_interval)
                      );
    if (failure_.message != told_) {
        told_ = failure_.message;
        const auto whole = std::chrono::duration_cast<seconds>(left).count();
        notice_ = fmt::format("{}; what it gave before is used for {} s more", told_, whole);
    }
}

bool exec_credential_cache::refused(std::uint64_t number, steady_time now) {
    if (number != number_ || running_ || !have_) {
        return true;
    }
    if (drop_again_ && now < *drop_again_) {
        return false;
    }
    drop_again_ = now + drop_interval;
    have_ = false;
    retry_at_.reset();
    return true;
}

}  // namespace signalbox::k8sio::protocol

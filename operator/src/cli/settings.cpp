// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.hpp"

#include "manifests/tree.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <variant>

namespace signalbox::op::cli {

namespace {

using policy_field = std::variant<core::milliseconds core::policy::*, std::int32_t core::policy::*>;

const std::map<std::string_view, policy_field>& policy_fields() {
    using core::policy;
    static const std::map<std::string_view, policy_field> table{
        {"stuck_after", &policy::stuck_after},
        {"restart_delay", &policy::restart_delay},
        {"restart_delay_max", &policy::restart_delay_max},
        {"healthy_after", &policy::healthy_after},
        {"short_life", &policy::short_life},
        {"free_delay", &policy::free_delay},
        {"free_delay_max", &policy::free_delay_max},
        {"settle", &policy::settle},
        {"first_failure_window", &policy::first_failure_window},
        {"always_delay", &policy::always_delay},
        {"exit_barrier", &policy::exit_barrier},
        {"quota_retry", &policy::quota_retry},
        {"quota_retry_max", &policy::quota_retry_max},
        {"name_retry", &policy::name_retry},
        {"name_retry_max", &policy::name_retry_max},
        {"capability_retry", &policy::capability_retry},
        {"replicas_in_status", &policy::replicas_in_status},
        {"replaced_in_status", &policy::replaced_in_status},
        {"renamed_in_status", &policy::renamed_in_status},
        {"pods_in_incident", &policy::pods_in_incident},
        {"replica_events", &policy::replica_events},
    };
    return table;
}

/// One JSON object per line, as log collectors of clusters want it.
class json_formatter final : public spdlog::formatter {
public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(message.time);
        const auto fraction =
            std::chrono::duration_cast<std::chrono::milliseconds>(message.time - seconds);
        const std::time_t stamp = std::chrono::system_clock::to_time_t(seconds);
        std::string line = fmt::format(
            R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:03}Z","level":"{}","message":)",
            fmt::gmtime(stamp),
            fraction.count(),
            view(spdlog::level::to_string_view(message.level))
        );
        manifests::append_json_string(line, view(message.payload));
        line += "}\n";
        out.append(line.data(), line.data() + line.size());
    }
    std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<json_formatter>();
    }

private:
    static std::string_view view(spdlog::string_view_t text) { return {text.data(), text.size()}; }
};

bool in_cluster() {
    return std::getenv("KUBERNETES_SERVICE_HOST") != nullptr;
}

}  // namespace

k8sio::result<k8sio::cluster_config> find_cluster(const cluster_options& options) {
    const bool named = !options.kubeconfig.empty() || !options.context.empty();
    if (!named && in_cluster()) {
        return k8sio::load_in_cluster("", [](const char* name) {
            const char* value = std::getenv(name);
            return std::string(value != nullptr ? value : "");
        });
    }
    return k8sio::load_kubeconfig(options.kubeconfig, options.context);
}

std::shared_ptr<spdlog::logger> make_logger(const log_options& options) {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    auto logger = std::make_shared<spdlog::logger>("signalbox", std::move(sink));
    logger->set_level(spdlog::level::from_str(options.level));
    logger->flush_on(spdlog::level::trace);
    if (options.format == "json") {
        logger->set_formatter(std::make_unique<json_formatter>());
    } else {
        logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%-7l%$ %v");
    }
    return logger;
}

std::optional<std::string> set_policy(core::policy& of, const std::vector<std::string>& overrides) {
    for (const std::string& text : overrides) {
        const std::size_t equals = std::min(text.find('='), text.size());
        std::string key = text.substr(0, equals);
        std::ranges::replace(key, '-', '_');
        const auto field = policy_fields().find(key);
        if (field == policy_fields().end()) {
            return fmt::format("`{}`: there is no `{}`; there are: {}", text, key, policy_keys());
        }
        std::int32_t value = 0;
        const char* begin = text.data() + std::min(equals + 1, text.size());
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(begin, end, value);
        if (error != std::errc{} || stop != end || value < 0) {
            return fmt::format("`{}`: a whole number of milliseconds is expected", text);
        }
        if (const auto* time = std::get_if<0>(&field->second)) {
            of.*(*time) = core::milliseconds(value);
        } else {
            of.*std::get<1>(field->second) = value;
        }
    }
    return std::nullopt;
}

std::string policy_keys() {
    std::string out;
    for (const auto& [key, field] : policy_fields()) {
        out += out.empty() ? "" : ", ";
        out += key;
    }
    return out;
}

}  // namespace signalbox::op::cli

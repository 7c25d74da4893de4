// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.hpp"

#include "controller/log_line.hpp"

#include <jobcore/policy_fields.hpp>
#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <kubernetes/times.hpp>
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <algorithm>

namespace signalbox::op::cli {

namespace {

/// One JSON object per line, as log collectors of clusters want it.
class json_formatter final : public spdlog::formatter {
public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
        std::string line = fmt::format(
            R"({{"time":"{}","level":"{}")",
            kubernetes::format_time(message.time, 3),
            view(spdlog::level::to_string_view(message.level))
        );
        const log_parts parts(view(message.payload));
        append_member(line, "message", parts.message);
        for (const auto& [key, value] : parts.fields) {
            append_member(line, key, value);
        }
        line += "}\n";
        out.append(line.data(), line.data() + line.size());
    }
    std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<json_formatter>();
    }

private:
    static void append_member(std::string& to, std::string_view key, std::string_view value) {
        to += ',';
        core::append_json_string(to, key);
        to += ':';
        core::append_printable_json_string(to, value);
    }
    static std::string_view view(spdlog::string_view_t text) { return {text.data(), text.size()}; }
};

/// One line of text; on a terminal the level has its colour.
class text_formatter final : public spdlog::formatter {
public:
    void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
        const std::string text = log_text({message.payload.data(), message.payload.size()});
        spdlog::details::log_msg readable = message;
        readable.payload = text;
        lines_.format(readable, out);
        message.color_range_start = readable.color_range_start;
        message.color_range_end = readable.color_range_end;
    }
    std::unique_ptr<spdlog::formatter> clone() const override {
        return std::make_unique<text_formatter>();
    }

private:
    spdlog::pattern_formatter lines_{"%Y-%m-%dT%H:%M:%S.%e%z %^%-7l%$ %v"};
};

}  // namespace

k8sio::connect_options connect_to(const cluster_options& options) {
    k8sio::connect_options out;
    out.kubeconfig = options.kubeconfig;
    out.context = options.context;
    return out;
}

std::shared_ptr<spdlog::logger> make_logger(const log_options& options) {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    auto logger = std::make_shared<spdlog::logger>("signalbox", std::move(sink));
    logger->set_level(spdlog::level::from_str(options.level));
    logger->flush_on(spdlog::level::trace);
    if (options.format == "json") {
        logger->set_formatter(std::make_unique<json_formatter>());
    } else {
        logger->set_formatter(std::make_unique<text_formatter>());
    }
    return logger;
}

std::optional<std::string> set_policy(core::policy& of, const std::vector<std::string>& overrides) {
    for (const std::string& text : overrides) {
        const std::size_t equals = std::min(text.find('='), text.size());
        std::string key = text.substr(0, equals);
        std::ranges::replace(key, '-', '_');
        core::policy known;
        if (!core::set_policy_field(known, key, 0)) {
            return fmt::format("`{}`: there is no `{}`; there are: {}", text, key, policy_keys());
        }
        const auto value =
            core::read_whole_number(std::string_view(text).substr(std::min(equals + 1, text.size()))
            );
        if (!value) {
            return fmt::format("`{}`: a whole number of milliseconds is expected", text);
        }
        core::set_policy_field(of, key, *value);
    }
    return std::nullopt;
}

std::optional<std::string> set_default_scheduler(core::policy& of, const std::string& name) {
    if (core::set_default_scheduler(of, name)) {
        return std::nullopt;
    }
    return fmt::format(
        "--default-scheduler: `{}` cannot be that; what can: {}",
        name,
        fmt::join(core::default_schedulers(), ", ")
    );
}

std::string policy_keys() {
    std::string out;
    for (const core::policy_field& field : core::policy_fields()) {
        out += out.empty() ? "" : ", ";
        out += field.name;
    }
    return out;
}

}  // namespace signalbox::op::cli

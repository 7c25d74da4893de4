// SPDX-License-Identifier: Apache-2.0
#include "monitoring/monitor.hpp"

#include "http/listen_address.hpp"

#include <jobcore/strings.hpp>
#include <jobcore/time.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/common.h>

#include <array>
#include <string_view>
#include <utility>

namespace signalbox::op {

namespace {

constexpr std::chrono::seconds look_interval{1};
constexpr std::string_view metrics_type = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::array log_levels{"trace", "debug", "info", "warning", "error", "off"};

/// True if only those who may know of jobs reach the server: with a token, or on this machine.
/// Through any other, no one changes anything or reads of jobs.
bool is_private(const http_server_options& server) {
    const std::string host = read_listen_address(server.address).value_or(listen_address()).host;
    return !server.token_file.empty() || host == "localhost" || host == "::1" ||
           host.starts_with("127.");
}

}  // namespace

void monitor::attach_to(run_options& options) {
    if (options_.metrics.address.empty() && options_.health_address.empty()) {
        return;
    }
    const std::string host = options.cluster.host + ":" + options.cluster.port;
    metrics_.emplace(host, options_.version, options_.series);
    options.beside = this;
    options.controller.observer = &*metrics_;
    options.controller.status_written =
        [this](const core::job_object& before, const core::job_status& after, core::instant now) {
            metrics_->status_written(before, after, now);
        };
    options.connect.client.on_exchange =
        [this](const k8sio::http_request& sent, int status, std::chrono::nanoseconds took) {
            metrics_->exchanged(sent, status, took);
        };
}

std::string monitor::begin(const running_operator& of) {
    of_ = of;
    metrics_->use(*of.time);
    health_.emplace(of, [this] { return metrics_->last_sign_of_work(); });
    if (!options_.metrics.address.empty()) {
        metrics_server_ = std::make_unique<http_server>(
            of_.loop,
            *of_.time,
            options_.metrics,
            [this](const http_question& question) { return answer(question); }
        );
        if (std::string wrong = metrics_server_->start(); !wrong.empty()) {
            end();
            return "metrics: " + wrong;
        }
        of_.log->info("serving metrics and health: address={}", metrics_server_->address());
    }
    if (!options_.health_address.empty()) {
        probes_ = std::make_unique<probe_server>(of_.answers, *of_.beat);
        if (std::string wrong = probes_->start(options_.health_address); !wrong.empty()) {
            end();
            return "health: " + wrong;
        }
        of_.log->info("serving health: address={}", probes_->address());
    }
    look();
    return {};
}

void monitor::look() {
    health_->look();
    if (probes_) {
        probes_->show(*health_);
    }
    const auto at = of_.time->steady_now() + look_interval;
    timer_ = of_.time->schedule(at, [this] { look(); });
}

void monitor::stopping() {
    health_->stopping();
    if (probes_) {
        probes_->show(*health_);
    }
}

void monitor::end() {
    of_.time->cancel(timer_);
    metrics_server_.reset();
    probes_.reset();
}

http_answer monitor::answer(const http_question& question) {
    auto probed = answer_probe(question, [this](bool ready) {
        health_->look();
        auto checks = ready ? health_->readiness() : health_->liveness();
        checks.push_back({"loop", ""});  // it answers
        return checks;
    });
    if (probed) {
        return std::move(*probed);
    }
    if (!question.trusted) {
        return plain_answer(401, "a token is expected\n");
    }
    if (question.path == "/metrics" && question.reads()) {
        http_answer out = plain_answer(200, metrics_->text(of_));
        out.content_type = metrics_type;
        out.body += options_.more_metrics ? options_.more_metrics() : std::string();
        return out;
    }
    return answer_debug(question);
}

http_answer monitor::answer_debug(const http_question& question) const {
    if (question.path.starts_with("/debug/") && !is_private(options_.metrics)) {
        return plain_answer(
            403, "only with a token, or where no one but this machine can reach it\n"
        );
    }
    if (question.path.starts_with("/debug/") && question.from_web_page &&
        options_.metrics.token_file.empty()) {
        return plain_answer(403, "requests from web pages are refused without a token\n");
    }
    if (question.path == "/debug/log-level") {
        return answer_log_level(question);
    }
    const auto job = below(question.path, "/debug/jobs");
    if (!job || question.method != "GET") {
        return plain_answer(
            404, "/livez, /readyz, /metrics, /debug/jobs/NAMESPACE/NAME, /debug/log-level\n"
        );
    }
    const std::size_t slash = job->find('/');
    if (slash == std::string_view::npos || job->find('/', slash + 1) != std::string_view::npos) {
        return plain_answer(404, "/debug/jobs/NAMESPACE/NAME is expected\n");
    }
    return explain(job->substr(0, slash), job->substr(slash + 1));
}

http_answer monitor::explain(std::string_view ns, std::string_view name) const {
    std::string text;
    for (const explained_job& job : of_.work->explain(ns, name)) {
        text += fmt::format(
            "{}{} {}/{}, at {}\n",
            text.empty() ? "" : "\n\n",
            core::to_string(job.meta.kind),
            job.meta.ns,
            job.meta.name,
            core::format_time(job.at)
        );
        if (job.lines.empty()) {
            text += job.ended ? "  It has ended, and its" : "  Its";
            text += " details were let go: `signalbox explain` reads them.\n";
        }
        std::optional<core::explain_section> section;
        for (const core::explain_line& line : job.lines) {
            if (section != line.section) {
                section = line.section;
                text += fmt::format("\n{}\n", core::title(line.section));
            }
            const std::string rule = line.rule.empty() ? "" : fmt::format(" [{}]", line.rule);
            text += fmt::format("  - {}{}\n", core::in_one_line(line.sentence), rule);
        }
    }
    return text.empty() ? plain_answer(404, "no such job is in view\n")
                        : plain_answer(200, std::move(text));
}

http_answer monitor::answer_log_level(const http_question& question) const {
    if (question.method == "GET") {
        const auto level = spdlog::level::to_string_view(of_.log->level());
        return plain_answer(200, std::string(level.data(), level.size()) + "\n");
    }
    if (question.method != "PUT") {
        return plain_answer(405, "GET or PUT is expected\n");
    }
    const std::string wanted = question.body.substr(0, question.body.find_last_not_of(" \r\n") + 1);
    for (const char* level : log_levels) {
        if (wanted == level) {
            of_.log->set_level(spdlog::level::from_str(wanted));
            return plain_answer(200, "the log level is " + wanted + " now\n");
        }
    }
    return plain_answer(400, fmt::format("one of {} is expected\n", fmt::join(log_levels, ", ")));
}

}  // namespace signalbox::op

// SPDX-License-Identifier: Apache-2.0
#include "controller/definitions_wait.hpp"

#include "k8sio/discovery.hpp"

#include <jobcore/schema.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// Short: whoever has just installed the definitions is watching.
constexpr std::chrono::milliseconds look_again{1000};

/// Kinds of jobs that the answer to discovery does not have; nothing if it says nothing of them.
std::optional<std::vector<std::string_view>> missing_kinds(
    const k8sio::result<std::string>& answer, std::span<const core::job_kind> kinds
) {
    const bool none = answer.has_error() && answer.error().http_status == 404;
    if (answer.has_error() && !none) {
        return std::nullopt;
    }
    std::vector<std::string_view> missing;
    for (const core::job_kind kind : kinds) {
        const auto found =
            none ? std::optional(false) : k8sio::find_in_discovery(*answer, core::plural(kind));
        if (!found) {
            return std::nullopt;
        }
        if (!*found) {
            missing.push_back(core::plural(kind));
        }
    }
    return missing;
}

}  // namespace

definitions_wait::definitions_wait(
    asio::any_io_executor executor,
    k8sio::client& api,
    spdlog::logger& log,
    std::vector<core::job_kind> kinds
)
    : api_(&api), log_(&log), kinds_(std::move(kinds)), wake_(std::move(executor)) {}

asio::awaitable<void> definitions_wait::run() {
    bool told = false;
    while (!stopping_) {
        std::string target = fmt::format("/apis/{}", core::api_version);
        std::string none;
        const auto answer = co_await api_->raw("GET", std::move(target), none, none);
        const auto missing = missing_kinds(answer, kinds_);
        if (!missing || missing->size() < kinds_.size()) {
            if (missing && !missing->empty()) {
                log_->warn(
                    "the server does not serve {}; {}", fmt::join(*missing, ", "), how_to_install
                );
            }
            if (told) {
                log_->info("the server serves {}", core::api_version);
            }
            co_return;
        }
        if (!told) {
            told = true;
            log_->warn(
                "the server does not serve {}, which is waited for; {}",
                core::api_version,
                how_to_install
            );
        }
        const auto at = api_->time().steady_now() + look_again;
        timer_ = api_->time().schedule(at, [this] { wake_.notify(); });
        if (!stopping_) {
            co_await wake_.wait();
        }
        api_->time().cancel(timer_);
    }
}

void definitions_wait::stop() {
    stopping_ = true;
    wake_.notify();
}

}  // namespace signalbox::op

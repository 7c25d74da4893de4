// SPDX-License-Identifier: Apache-2.0
#include "controller/request_slots.hpp"

#include "controller/job_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// However slow the server is, so that one namespace has two and leaves one (REQUIREMENTS.md Q11).
constexpr std::size_t least_slots = 3;

std::string request_kind(std::string_view verb, std::string_view object, std::size_t bytes) {
    constexpr unsigned small_job = 14;  // 16 KiB; beyond it every doubling is a kind
    return fmt::format("{} {} {}", verb, object, std::bit_width(bytes >> small_job));
}

}  // namespace

request_slots::permit::permit(request_slots& of, std::string ns, std::string kind)
    : of_(&of), ns_(std::move(ns)), kind_(std::move(kind)), begun_(of.clock_.steady_now()) {}

request_slots::permit::~permit() {
    if (of_ == nullptr) {
        return;
    }
    if (!kind_.empty()) {
        const k8sio::steady_time now = of_->clock_.steady_now();
        of_->limit_.note(kind_, now - begun_, now, worked_);
        of_->slots_.resize(of_->limit_.size());
    }
    of_->slots_.release(ns_);
}

request_slots::request_slots(asio::any_io_executor loop, server_clock clock, std::size_t most)
    : clock_(clock),
      most_(most),
      limit_(std::min(most, least_slots), most),
      slots_(std::move(loop), limit_.size()) {}

asio::awaitable<request_slots::permit> request_slots::take(
    const job_entry& entry, std::string_view verb, std::string_view object
) {
    std::string ns = entry.object->meta.ns;
    std::string group = ns;
    std::string kind = verb.empty() ? std::string() : request_kind(verb, object, entry.bytes);
    co_await slots_.acquire(std::move(group));
    co_return permit(*this, std::move(ns), std::move(kind));
}

}  // namespace signalbox::op

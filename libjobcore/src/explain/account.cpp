// SPDX-License-Identifier: Apache-2.0
#include "jobcore/account.hpp"

#include "engine/facts/reasons.hpp"
#include "explain/words.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

namespace signalbox::core {
namespace {

template <class Counts>
std::int64_t sum_of(const time_account& account, Counts counts) {
    std::int64_t out = 0;
    for (const time_share& share : account.shares) {
        out += counts(share) ? share.seconds : 0;
    }
    return out;
}

/// A century, in seconds: what is reported may be any number, and has to fit as milliseconds.
constexpr std::int64_t longest_remaining = 100LL * 366 * 86'400;

/// Four digits of a number tell a reader enough. What is none, whole or short stays as it is.
std::string rounded(const std::string& number) {
    json::document read;
    json::parse(read, number);
    if (!read.IsDouble()) {
        return number;
    }
    const double value = read.GetDouble();
    const double size = std::abs(value);
    const bool whole = size >= 1e3 && size < 1e9;
    const std::string out = whole ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
    return out.size() < number.size() ? out : number;
}

/// A loss says more of training than a rate of learning. More than these are for a table.
std::vector<progress_metric> told_metrics(std::vector<progress_metric> all) {
    constexpr std::size_t most_told = 3;
    std::ranges::stable_partition(all, [](const progress_metric& m) {
        return m.name.find("loss") != std::string::npos;
    });
    all.resize(std::min(all.size(), most_told));
    return all;
}

}  // namespace

std::int64_t time_account::total() const {
    return sum_of(*this, [](const time_share&) { return true; });
}

std::int64_t time_account::useful() const {
    return sum_of(*this, [](const time_share& s) { return s.kind == time_kind::running; });
}

std::int64_t time_account::held() const {
    return sum_of(*this, [](const time_share& s) { return s.held; });
}

std::optional<double> time_account::goodput() const {
    const std::int64_t all = held();
    return all > 0 ? std::optional(static_cast<double>(useful()) / static_cast<double>(all))
                   : std::nullopt;
}

std::array<std::int64_t, 7> time_account::percentages() const {
    std::array<std::int64_t, 7> out{};
    const std::int64_t all = total();
    if (all == 0) {
        return out;
    }
    std::array<std::size_t, 7> by_rest{};
    std::iota(by_rest.begin(), by_rest.end(), std::size_t{0});
    std::int64_t missing = 100;
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = shares[i].seconds * 100 / all;
        missing -= out[i];
    }
    std::ranges::stable_sort(by_rest, std::greater<>(), [&](std::size_t i) {
        return shares[i].seconds * 100 % all;
    });
    for (std::size_t i = 0; missing > 0; ++i, --missing) {
        ++out[by_rest[i]];
    }
    return out;
}

time_account& time_account::operator+=(const time_account& other) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
        shares[i].seconds += other.shares[i].seconds;
    }
    return *this;
}

time_account account_of(const time_spent& time, instant now) {
    time_account out;
    if (!time.since) {
        return out;
    }
    const std::array booked{
        time.running,
        time.lost,
        time.stalled,
        time.restarting,
        time.starting,
        time.queued,
        time.paused};
    const std::int64_t since =
        std::max<std::int64_t>(std::chrono::floor<seconds>(now - *time.since).count(), 0);
    for (std::size_t i = 0; i < booked.size(); ++i) {
        time_share& share = out.shares[i];
        const bool goes_on = share.kind == time.in && time.in != time_kind::none;
        share.seconds = booked[i] + (goes_on ? since : 0);
    }
    return out;
}

std::vector<attempt_record> attempts_of(const job_status& status) {
    std::vector<attempt_record> out = status.attempt_history;
    const bool ended =
        is_final(status.phase) || (!out.empty() && out.back().attempt == status.attempt);
    if (status.attempt == 0 || ended) {
        return out;
    }
    attempt_record& present = out.emplace_back();
    present.attempt = status.attempt;
    present.start = status.attempt_start;
    if (status.progress && status.progress->attempt == status.attempt) {
        present.step = status.progress->current_step;
    }
    return out;
}

std::span<const std::string_view> condition_types() {
    static constexpr auto types = [] {
        std::array<std::string_view, engine::condition_type_words.size()> out;
        std::ranges::transform(
            engine::condition_type_words, out.begin(), &engine::word<engine::condition_type>::text
        );
        return out;
    }();
    return types;
}

std::string in_words(milliseconds duration) {
    return explaining::words_of(duration);
}

std::string training_in_words(const job_status& status, instant now) {
    const auto& p = status.progress;
    if (!p || !p->last_updated) {
        return {};
    }
    std::vector<std::string> parts;
    std::string place;
    if (p->current_step) {
        place = fmt::format("step {}", *p->current_step);
        place += p->total_steps ? fmt::format(" of {}", *p->total_steps) : "";
    }
    if (p->percentage) {
        const std::string percent = fmt::format("{} %", *p->percentage);
        place = place.empty() ? percent : fmt::format("{} ({})", place, percent);
    }
    if (!place.empty()) {
        parts.push_back(std::move(place));
    }
    if (p->remaining_seconds && !is_final(status.phase)) {
        const milliseconds since = now - *p->last_updated;
        const milliseconds left =
            seconds(std::min(*p->remaining_seconds, longest_remaining)) - since;
        if (left > milliseconds(0)) {
            parts.push_back(fmt::format("about {} left", in_words(left)));
        }
    }
    for (const progress_metric& m : told_metrics(p->metrics)) {
        const std::string value = explaining::quoted_text(m.value);
        parts.push_back(fmt::format("{} {}", explaining::quoted_text(m.name), rounded(value)));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string progress_in_words(const job_status& status, instant now) {
    const auto& p = status.progress;
    if (!p || !p->last_updated) {
        return {};
    }
    std::string out = training_in_words(status, now);
    out += fmt::format(
        "{}last report {} ago", out.empty() ? "" : "; ", in_words(now - *p->last_updated)
    );
    return p->attempt == status.attempt
               ? out
               : fmt::format("{}, from attempt {}; this one has not reported", out, p->attempt);
}

}  // namespace signalbox::core

// SPDX-License-Identifier: Apache-2.0
#include "progress/report_reader.hpp"

#include "progress/json_values.hpp"

#include <jobcore/strings.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace signalbox::op::progress {

namespace {

/// What trainers call what everybody wants to see; these have room in every report.
constexpr std::array<std::string_view, 8> known_metrics{
    "loss",
    "eval_loss",
    "train_loss",
    "learning_rate",
    "grad_norm",
    "current_epoch",
    "train_samples_per_second",
    "train_steps_per_second",
};
static_assert(known_metrics.size() + most_own_metrics <= core::most_metrics);

constexpr double greatest_step = 9007199254740992;  // beyond it a double skips whole numbers
constexpr double greatest_rank = 1 << 20;
constexpr double greatest_time = 1e9;  // seconds: 30 years
constexpr std::size_t longest_name = 64, longest_value = 32;

/// A finite number, or a text that is one as a whole.
std::optional<double> number_of(const json_value* v) {
    const auto out = v == nullptr    ? std::nullopt
                     : v->IsNumber() ? std::optional(v->GetDouble())
                     : v->IsString() ? core::read_number(text_of(v))
                                     : std::nullopt;
    return out && std::isfinite(*out) ? out : std::nullopt;
}

/// Between 0 and `most`; a fraction is cut off.
std::optional<std::int64_t> whole_number_of(const json_value* v, double most) {
    const auto number = number_of(v);
    const bool fits = number && *number >= 0 && *number <= most;
    return fits ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

/// As it was written, if that is short enough.
std::string words_of(const json_value& v, double number) {
    if (v.IsString() && v.GetStringLength() <= longest_value) {
        return std::string(text_of(&v));
    }
    std::array<char, 32> digits;
    const auto end = std::to_chars(
        digits.data(), digits.data() + digits.size(), number, std::chars_format::general, 6
    );
    return {digits.data(), end.ptr};
}

class reader {
public:
    explicit reader(core::progress_message& out) : out_(&out) {}

    void read_metric(const json_value& item) {
        const std::string_view called = text_of(find(&item, "name"));
        const json_value* said = find(&item, "value");
        if (said == nullptr) {
            return;
        }
        if (called == "current_step") {
            out_->current_step = whole_number_of(said, greatest_step);
        } else if (called == "total_steps") {
            out_->total_steps = whole_number_of(said, greatest_step);
        } else if (called == "checkpoint_step") {
            out_->checkpoint_step = whole_number_of(said, greatest_step);
        } else if (called == "checkpoint_seconds") {
            const auto took = number_of(said);
            const bool fits = took && *took >= 0 && *took <= greatest_time;
            out_->checkpoint_seconds =
                fits ? std::optional(static_cast<std::int64_t>(std::ceil(*took))) : std::nullopt;
        } else if (called == "rank") {
            const auto rank = whole_number_of(said, greatest_rank);
            out_->rank = static_cast<std::int32_t>(rank.value_or(0));
        } else if (const auto number = number_of(said); number && is_kept(called)) {
            out_->metrics.push_back({std::string(called), words_of(*said, *number)});
        }
    }

private:
    bool is_kept(std::string_view called) {
        const bool again = std::ranges::any_of(out_->metrics, [&](const core::progress_metric& m) {
            return m.name == called;
        });
        if (called.empty() || called.size() > longest_name || again) {
            return false;
        }
        return std::ranges::find(known_metrics, called) != known_metrics.end() ||
               ++own_ <= most_own_metrics;
    }

    core::progress_message* out_;
    std::size_t own_ = 0;
};

}  // namespace

std::optional<core::progress_message> read_report(std::string_view body) {
    rapidjson::Document document;
    document.Parse<json_flags>(body.data(), body.size());
    const json_value* status =
        document.HasParseError() ? nullptr : find(&document, "trainerStatus");
    if (status == nullptr || !status->IsObject()) {
        return std::nullopt;
    }
    core::progress_message out;
    if (const auto percentage = whole_number_of(find(status, "progressPercentage"), 100)) {
        out.percentage = static_cast<std::int32_t>(*percentage);
    }
    out.remaining_seconds =
        whole_number_of(find(status, "estimatedRemainingSeconds"), greatest_time);
    const json_value* metrics = find(status, "metrics");
    if (metrics != nullptr && metrics->IsArray()) {
        reader read(out);
        for (const json_value& item : metrics->GetArray()) {
            read.read_metric(item);
        }
    }
    return out;
}

}  // namespace signalbox::op::progress

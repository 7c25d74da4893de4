// SPDX-License-Identifier: Apache-2.0
//
// Lines of the log with fields, for people and for programs.
#pragma once

#include "jobcore/spec.hpp"

#include <spdlog/logger.h>

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::op {

/// What is said, and about what. Fields keep their order. Texts may come from anywhere: a line
/// stays one line, and no text can pass for another field.
class log_line {
public:
    explicit log_line(std::string_view message);

    log_line& field(std::string_view key, std::string_view value) &;
    template <std::integral Number>
    log_line& field(std::string_view key, Number value) & {
        const std::string text = std::to_string(value);
        return field(key, std::string_view(text));
    }
    /// `job` as `namespace/name`, and `uid`.
    log_line& job(const core::job_meta& meta) &;

    /// What a logger takes; log_parts reads it again.
    const std::string& payload() const { return payload_; }
    void write(spdlog::logger& to, spdlog::level::level_enum level) const;

private:
    std::string payload_;
};

/// A payload taken apart. Texts are those of the payload.
struct log_parts {
    explicit log_parts(std::string_view payload);
    std::string_view message;
    std::vector<std::pair<std::string_view, std::string_view>> fields;
};

/// `message key=value other="two words"`: values with spaces, quotes or control characters are JSON
/// strings, and the message has a space for each control character.
std::string log_text(std::string_view payload);

}  // namespace signalbox::op

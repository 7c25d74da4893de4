// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/refused_words.hpp"

#include "engine/facts/reasons.hpp"

#include <fmt/format.h>

namespace signalbox::core::engine {
namespace {

constexpr std::string_view of_another = "belongs to another owner";
constexpr std::string_view of_other_content = "has content that is not the operator's";
constexpr std::string_view was_refused = "was refused: ";

/// The text up to the first separator, which is taken off too.
std::string_view take_until(std::string_view& text, std::string_view separator) {
    const std::size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + separator.size());
    return part;
}

/// `NameConflict: ` before a fact.
std::string_view without_reason(std::string_view fact) {
    std::string_view rest = fact;
    return parse<reason>(take_until(rest, ": ")) ? rest : fact;
}

}  // namespace

std::string words_of(const refusal& r) {
    const std::string object = fmt::format("{} {} ", to_string(r.kind), r.name);
    return !r.foreign_owner    ? fmt::format("{}{}{}", object, was_refused, r.message)
           : r.foreign_content ? fmt::format("{}{}", object, of_other_content)
                               : fmt::format("{}{}", object, of_another);
}

std::optional<refused_object> read_refused(std::string_view message) {
    while (!message.empty()) {
        std::string_view fact = without_reason(take_until(message, "; "));
        const std::string_view kind = take_until(fact, " ");
        const std::string_view name = take_until(fact, " ");
        const bool taken = fact == of_another || fact == of_other_content;
        if (taken || fact.starts_with(was_refused)) {
            return refused_object{kind, name};
        }
    }
    return std::nullopt;
}

}  // namespace signalbox::core::engine

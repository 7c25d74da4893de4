// SPDX-License-Identifier: Apache-2.0
#include "launch/quoting.hpp"

namespace signalbox::core::launch {
namespace {

/// Characters that no shell takes as its own.
bool is_plain(std::string_view text) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    return text.find_first_not_of(plain) == std::string_view::npos;
}

/// `text` with `before` put in front of every character of `special`.
std::string escaped(std::string_view text, std::string_view special, char before) {
    std::string out;
    for (const char c : text) {
        if (special.find(c) != std::string_view::npos) {
            out += before;
        }
        out += c;
    }
    return out;
}

}  // namespace

std::string shell_word(std::string_view text) {
    if (!text.empty() && is_plain(text)) {
        return std::string(text);
    }
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out += '\'';
}

std::string shell_set(const std::vector<std::string>& words) {
    std::string out = "set --";
    for (const auto& word : words) {
        out += ' ' + shell_word(word);
    }
    return out += '\n';
}

std::string pdsh_word(std::string_view text, pdsh_place place) {
    // The runner escapes the double quote, and nothing else, of what it puts into double quotes.
    const bool runner_quotes =
        place == pdsh_place::argument && text.find(' ') != std::string_view::npos;
    const std::string quoted = runner_quotes ? escaped(text, "\\$`", '\\') : shell_word(text);
    return escaped(quoted, "%", '%');  // pdsh replaces %n, %h, %u last of all
}

std::string container_word(std::string_view text) {
    return escaped(text, "$", '$');
}

}  // namespace signalbox::core::launch

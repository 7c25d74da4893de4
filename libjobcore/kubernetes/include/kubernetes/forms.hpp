// SPDX-License-Identifier: Apache-2.0
//
// The forms that Kubernetes wants of names, labels, times and the like, with its words for what is
// wrong.
#pragma once

#include "kubernetes/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::kubernetes {

inline bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
inline bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
inline bool is_alphanumeric(char c) {
    return is_lower(c) || is_upper(c) || is_digit(c);
}

inline constexpr std::string_view dns_label_text =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
inline constexpr std::string_view dns_subdomain_text =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
inline constexpr std::string_view qualified_name_text =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
inline constexpr std::string_view label_value_text =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
inline constexpr std::string_view config_key_text =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
inline constexpr std::string_view env_name_text =
    "a valid environment variable name must consist only of printable ASCII characters other than "
    "'='";
inline constexpr std::string_view header_name_text =
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
    "regex used for validation is '[-A-Za-z0-9]+')";
inline constexpr std::string_view quantity_form_text =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// What a form says of a text: nothing where it is good, else one sentence for each mistake.
using complaints = std::vector<std::string>;

inline void complain_if(complaints& out, bool bad, std::string_view text) {
    if (bad) {
        out.emplace_back(text);
    }
}

inline std::string at_most(std::size_t characters) {
    return fmt::format("must be no more than {} characters", characters);
}

inline bool is_label_shaped(std::string_view text) {
    const auto inner = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
    return !text.empty() && std::ranges::all_of(text, inner) && text.front() != '-' &&
           text.back() != '-';
}

inline complaints dns_label(std::string_view text) {
    complaints out;
    complain_if(out, text.size() > 63, at_most(63));
    complain_if(out, !is_label_shaped(text), dns_label_text);
    return out;
}

inline complaints dns_subdomain(std::string_view text) {
    complaints out;
    complain_if(out, text.size() > 253, at_most(253));
    bool good = !text.empty();
    for (std::size_t from = 0; good && from <= text.size();) {
        const std::size_t to = std::min(text.find('.', from), text.size());
        good = is_label_shaped(text.substr(from, to - from));
        from = to + 1;
    }
    complain_if(out, !good, dns_subdomain_text);
    return out;
}

/// Letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
inline bool is_name_shaped(std::string_view text) {
    const auto inner = [](char c) {
        return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
    };
    return !text.empty() && std::ranges::all_of(text, inner) && is_alphanumeric(text.front()) &&
           is_alphanumeric(text.back());
}

/// A key of a label: a name, or `prefix/name`.
inline complaints qualified_name(std::string_view text) {
    complaints out;
    const auto slashes = std::ranges::count(text, '/');
    std::string_view name = text;
    if (slashes > 1) {
        out.push_back(fmt::format(
            "a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. "
            "'example.com/MyName')",
            qualified_name_text
        ));
        return out;
    }
    if (slashes == 1) {
        const std::string_view prefix = text.substr(0, text.find('/'));
        name = text.substr(text.find('/') + 1);
        if (prefix.empty()) {
            out.emplace_back("prefix part must be non-empty");
        } else {
            for (const std::string& bad : dns_subdomain(prefix)) {
                out.push_back("prefix part " + bad);
            }
        }
    }
    complain_if(out, name.empty(), "name part must be non-empty");
    complain_if(out, name.size() > 63, "name part " + at_most(63));
    complain_if(out, !is_name_shaped(name), fmt::format("name part {}", qualified_name_text));
    return out;
}

/// A key of an annotation, in which letter case does not count.
inline complaints annotation_key(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return qualified_name(lower);
}

inline complaints label_value(std::string_view text) {
    complaints out;
    complain_if(out, text.size() > 63, at_most(63));
    complain_if(out, !text.empty() && !is_name_shaped(text), label_value_text);
    return out;
}

inline complaints config_key(std::string_view text) {
    const auto inner = [](char c) {
        return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
    };
    complaints out;
    complain_if(out, text.size() > 253, at_most(253));
    complain_if(out, text.empty() || !std::ranges::all_of(text, inner), config_key_text);
    complain_if(out, text == ".", "must not be '.'");
    complain_if(out, text == "..", "must not be '..'");
    complain_if(out, text != ".." && text.starts_with(".."), "must not start with '..'");
    return out;
}

inline complaints env_name(std::string_view text) {
    const auto good = [](char c) { return c >= ' ' && c <= '~' && c != '='; };
    complaints out;
    complain_if(out, text.empty() || !std::ranges::all_of(text, good), env_name_text);
    return out;
}

inline complaints header_name(std::string_view text) {
    const auto good = [](char c) { return is_alphanumeric(c) || c == '-'; };
    complaints out;
    complain_if(out, text.empty() || !std::ranges::all_of(text, good), header_name_text);
    return out;
}

/// The name of a port (IANA_SVC_NAME).
inline complaints port_name(std::string_view text) {
    const auto good = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
    complaints out;
    complain_if(out, text.size() > 15, at_most(15));
    complain_if(
        out,
        !std::ranges::all_of(text, good),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    );
    complain_if(
        out, std::ranges::none_of(text, is_lower), "must contain at least one letter (a-z)"
    );
    complain_if(out, text.find("--") != text.npos, "must not contain consecutive hyphens");
    complain_if(
        out, text.starts_with('-') || text.ends_with('-'), "must not begin or end with a hyphen"
    );
    return out;
}

inline bool has_back_step(std::string_view path) {
    for (std::size_t from = 0; from <= path.size();) {
        const std::size_t to = std::min(path.find('/', from), path.size());
        if (path.substr(from, to - from) == "..") {
            return true;
        }
        from = to + 1;
    }
    return false;
}

inline complaints no_back_step(std::string_view path) {
    complaints out;
    complain_if(out, has_back_step(path), "must not contain '..'");
    return out;
}

inline complaints relative_path(std::string_view path) {
    complaints out;
    complain_if(out, path.starts_with('/'), "must be a relative path");
    complain_if(out, has_back_step(path), "must not contain '..'");
    return out;
}

/// A path of a file inside a volume, whose own files begin with `..`.
inline complaints local_file(std::string_view path) {
    complaints out = relative_path(path);
    complain_if(out, out.empty() && path.starts_with(".."), "must not start with '..'");
    return out;
}

inline complaints absolute_path(std::string_view path) {
    complaints out;
    complain_if(out, !path.starts_with('/'), "must be an absolute path");
    return out;
}

inline complaints trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    complaints out;
    complain_if(
        out,
        !text.empty() && (blank(text.front()) || blank(text.back())),
        "must not have leading or trailing whitespace"
    );
    return out;
}

inline bool is_ipv4(std::string_view text) {
    int parts = 0;
    for (std::size_t from = 0; from <= text.size(); ++parts) {
        const std::size_t to = std::min(text.find('.', from), text.size());
        const std::string_view part = text.substr(from, to - from);
        const bool good =
            !part.empty() && part.size() <= 3 && std::ranges::all_of(part, is_digit) &&
            (part.size() == 1 || part.front() != '0') && std::stoi(std::string(part)) <= 255;
        if (!good) {
            return false;
        }
        from = to + 1;
    }
    return parts == 4;
}

inline bool is_ipv6(std::string_view text) {
    const auto hex = [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    };
    const std::size_t gap = text.find("::");
    if (gap != text.npos && text.find("::", gap + 1) != text.npos) {
        return false;
    }
    int groups = 0;
    const auto count = [&](std::string_view part) {
        for (std::size_t from = 0; !part.empty() && from <= part.size();) {
            const std::size_t to = std::min(part.find(':', from), part.size());
            const std::string_view group = part.substr(from, to - from);
            if (to == part.size() && group.find('.') != group.npos && is_ipv4(group)) {
                groups += 2;
            } else if (group.empty() || group.size() > 4 || !std::ranges::all_of(group, hex)) {
                return false;
            } else {
                ++groups;
            }
            from = to + 1;
        }
        return true;
    };
    if (gap == text.npos) {
        return count(text) && groups == 8;
    }
    return count(text.substr(0, gap)) && count(text.substr(gap + 2)) && groups < 8;
}

inline complaints ip_address(std::string_view text) {
    complaints out;
    complain_if(
        out,
        !is_ipv4(text) && !is_ipv6(text),
        "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    );
    return out;
}

/// RFC 3339, the form of times.
inline bool is_time(std::string_view text) {
    const auto time = scan_time(text);
    return time && time->zone != 'z';
}

/// Of a time: with exactly six digits of a second's fraction.
inline bool has_microseconds(std::string_view time) {
    constexpr std::size_t seconds = std::string_view("2006-01-02T15:04:05").size();
    const std::string_view rest = time.substr(std::min(seconds, time.size()));
    return rest.starts_with('.') && rest.find_first_not_of("0123456789", 1) == 7;
}

}  // namespace signalbox::kubernetes

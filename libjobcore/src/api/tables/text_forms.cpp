// SPDX-License-Identifier: Apache-2.0
//
// Forms that texts of the API have: the pattern for the CRD and the same test in code.
#include "api/tables/tables.hpp"

#include <algorithm>

namespace signalbox::core::schema {
namespace {

constexpr bool is_lower_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_replica_type(std::string_view text) {
    return !text.empty() && text.size() <= 20 && is_lower_alnum(text.front()) &&
           is_lower_alnum(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
               return c == '-' || is_lower_alnum(c);
           });
}

/// True if `text` is `parts` non-empty parts, then nothing or a slash and anything.
bool has_parts(std::string_view text, int parts) {
    for (; parts > 0; --parts) {
        const auto slash = std::min(text.find('/'), text.size());
        if (slash == 0) {
            return false;
        }
        text.remove_prefix(std::min(slash + 1, text.size()));
    }
    return true;
}

bool is_fileset(std::string_view text) {
    constexpr std::string_view pvc = "t9k://pvc/";
    constexpr std::string_view minio = "t9k://minio/";
    if (text.find('\n') != std::string_view::npos) {
        return false;
    }
    return (text.starts_with(pvc) && has_parts(text.substr(pvc.size()), 1)) ||
           (text.starts_with(minio) && has_parts(text.substr(minio.size()), 2));
}

bool is_absolute_path(std::string_view text) {
    return text.starts_with('/') && text.find('\n') == std::string_view::npos;
}

bool is_proc_per_node(std::string_view text) {
    return text == "gpu" || text == "cpu" || text == "auto" ||
           (!text.empty() && text.size() <= 9 && text.front() != '0' &&
            std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

/// Labels of letters, digits and `-`, joined by dots.
bool is_object_name(std::string_view text) {
    const auto is_inner = [](char c) { return c == '-' || is_lower_alnum(c); };
    char before = '.';
    for (const char c : text) {
        const bool fits =
            c == '.' ? is_lower_alnum(before) : is_inner(c) && (before != '.' || is_lower_alnum(c));
        if (!fits) {
            return false;
        }
        before = c;
    }
    return is_lower_alnum(before);
}

bool is_label_name(std::string_view text) {
    const auto is_alnum = [](char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); };
    return !text.empty() && text.size() <= 63 && is_alnum(text.front()) && is_alnum(text.back()) &&
           std::all_of(text.begin(), text.end(), [&](char c) {
               return is_alnum(c) || c == '-' || c == '_' || c == '.';
           });
}

bool is_label_value(std::string_view text) {
    return text.empty() || is_label_name(text);
}

bool is_label_key(std::string_view text) {
    const std::size_t slash = text.find('/');
    return slash == text.npos
               ? is_label_name(text)
               : is_object_name(text.substr(0, slash)) && is_label_name(text.substr(slash + 1));
}

}  // namespace

constexpr text_form replica_type_form{
    .pattern = "^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$",
    .words = "a lower-case DNS label of at most 20 characters",
    .matches = is_replica_type,
    .tells_length = true,
};

constexpr text_form fileset_form{
    .pattern = "^t9k://(pvc/[^/\\n]+|minio/[^/\\n]+/[^/\\n]+)(/[^\\n]*)?$",
    .words = "of the form t9k://pvc/<pvc>/<path> or t9k://minio/<secret>/<bucket>/<path>",
    .matches = is_fileset,
};

constexpr text_form path_form{
    .pattern = "^/[^\\n]*$",
    .words = "an absolute path",
    .matches = is_absolute_path,
};

constexpr text_form proc_per_node_form{
    .pattern = "^([1-9][0-9]{0,8}|gpu|cpu|auto)$",
    .words = "a positive number, `gpu`, `cpu` or `auto`",
    .matches = is_proc_per_node,
};

constexpr text_form object_name_form{
    .pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    .words = "the name of an object: lower-case letters, digits, `-` and `.`",
    .matches = is_object_name,
};

constexpr text_form label_key_form{
    .pattern =
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
        "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
    .words = "the key of a label, as `topology.kubernetes.io/zone`",
    .matches = is_label_key,
};

constexpr text_form label_value_form{
    .pattern = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$",
    .words = "the value of a label: at most 63 letters, digits, `-`, `_` and `.`",
    .matches = is_label_value,
    .tells_length = true,
};

}  // namespace signalbox::core::schema

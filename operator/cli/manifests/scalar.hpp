// SPDX-License-Identifier: Apache-2.0
//
// What an unquoted YAML scalar means. The rules are those of kubectl, that is of sigs.k8s.io/yaml,
// so that a file means here what it means to `kubectl apply`:
//   - true: `true yes on y`, false: `false no off n`; each lower case, Capitalised or UPPER CASE
//   - null: empty, `~`, `null`, `Null`, `NULL`
//   - integers: decimal, `0x1F`, `0o17`, `017` (octal!), `0b11`, with `_` anywhere between digits
//   - floats: `1.5`, `.5`, `1e3`, with `_`; a whole number (`2.0`) becomes an integer
//   - all else, dates included, is a string
// One difference: integers beyond 64 bits keep all their digits, where kubectl rounds them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::op::manifests {

enum class scalar_type {
    null,
    boolean,
    integer,
    floating,
    not_json,  ///< NaN or an infinity: a number that JSON cannot hold
    string,
};

struct scalar_value {
    scalar_type type = scalar_type::string;
    std::string json;  ///< the JSON token; for a string the text itself
};

/// Resolves an unquoted scalar.
scalar_value resolve_plain(std::string_view text);

}  // namespace signalbox::op::manifests

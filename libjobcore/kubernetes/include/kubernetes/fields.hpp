// SPDX-License-Identifier: Apache-2.0
//
// The fields of Kubernetes' types as rows, and what its decoder refuses: unknown names and wrong
// types.
#pragma once

#include "kubernetes/base64.hpp"
#include "kubernetes/forms.hpp"
#include "kubernetes/problem.hpp"
#include "kubernetes/quantity.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace signalbox::kubernetes {

enum class presence { optional, required };

/// One field. `holds` in Go's words: `string`, `bool`, `int32`, `int64`, `float64`, `bytes`,
/// `Quantity`, `IntOrString`, `Time`, `MicroTime`, `any`, the name of a type, or `[]` or
/// `map[string]` before one of these.
struct field_row {
    std::string_view type, name, holds;
    presence is = presence::optional;
    std::string_view values;  ///< of an enumeration, with `|` between them; empty: any
};

/// Rows of several types, in order of type and name.
using field_table = std::span<const field_row>;

inline constexpr std::array pod_field_rows = std::to_array<field_row>({
#include "kubernetes/pod_fields.inc"
});

/// PodTemplateSpec and all that it consists of.
inline constexpr field_table pod_fields = pod_field_rows;

/// The types that a walk knows: pod templates and whatever else the caller has.
class schema {
public:
    explicit schema(field_table more = {}) : more_(more) {}

    /// The fields of a type; none if there is no such type.
    field_table fields(std::string_view type) const {
        const field_table found = rows_of(pod_fields, type);
        return found.empty() ? rows_of(more_, type) : found;
    }
    static const field_row* field(field_table fields, std::string_view name) {
        const auto it = std::ranges::lower_bound(fields, name, {}, &field_row::name);
        return it != fields.end() && it->name == name ? &*it : nullptr;
    }

private:
    static field_table rows_of(field_table table, std::string_view type) {
        const auto range = std::ranges::equal_range(table, type, {}, &field_row::type);
        return {range.begin(), range.end()};
    }

    field_table more_;
};

inline constexpr std::string_view list_of = "[]";
inline constexpr std::string_view map_of = "map[string]";

inline bool is_scalar(std::string_view holds) {
    constexpr std::array<std::string_view, 11> scalars{
        "string",
        "bool",
        "int32",
        "int64",
        "float64",
        "bytes",
        "Quantity",
        "IntOrString",
        "Time",
        "MicroTime",
        "any"};
    return std::ranges::find(scalars, holds) != scalars.end();
}

/// How Go writes that type in messages: `[]v1.EnvVar`.
inline std::string go_type(std::string_view holds) {
    for (const std::string_view prefix : {list_of, map_of}) {
        if (holds.starts_with(prefix)) {
            const std::string_view inner = holds.substr(prefix.size());
            return inner == "Quantity" ? "v1.ResourceList" : std::string(prefix) + go_type(inner);
        }
    }
    // `events.Event` is the table's name of a type that Go has as v1.Event.
    return is_scalar(holds) ? std::string(holds)
                            : "v1." + std::string(holds.substr(holds.rfind('.') + 1));
}

/// Which numbers count as integers.
enum class integers {
    strict,      ///< as sent to a server that knows the type: `30.0` is none
    normalized,  ///< as in a custom resource, whose server writes `30.0` as `30`
};

/// Walks a value along the rows of its type, and reports what Kubernetes' decoder does.
class decoder {
public:
    decoder(const schema& types, integers numbers, problem_list& problems)
        : types_(types), numbers_(numbers), problems_(problems) {}

    /// `v`, what a field of `owner` holds.
    void field(const value& v, std::string_view holds, std::string_view owner, const place& at) {
        content(v, holds, owner, at);
    }

    /// `v`, an object of that type.
    void object(const value& v, std::string_view type, const place& at) {
        const field_table fields = types_.fields(type);
        for (const auto& m : v.GetObject()) {
            const std::string_view name = view(m.name);
            const field_row* row = schema::field(fields, name);
            const place here = at.member(name);
            if (row == nullptr) {
                problems_.add(fault::unknown, here, nullptr, std::string(type));
            } else if (!m.value.IsNull()) {
                content(m.value, row->holds, type, here);
            }
        }
    }

private:
    void content(const value& v, std::string_view holds, std::string_view owner, const place& at) {
        if (holds.starts_with(list_of)) {
            if (!v.IsArray()) {
                wrong_type(v, holds, go_type(holds), owner, at);
                return;
            }
            for (rapidjson::SizeType i = 0; i < v.Size(); ++i) {
                if (!v[i].IsNull()) {
                    content(v[i], holds.substr(list_of.size()), owner, at.item(i));
                }
            }
        } else if (holds.starts_with(map_of)) {
            if (!v.IsObject()) {
                wrong_type(v, holds, go_type(holds), owner, at);
                return;
            }
            for (const auto& m : v.GetObject()) {
                if (!m.value.IsNull()) {
                    content(m.value, holds.substr(map_of.size()), owner, at.key(view(m.name)));
                }
            }
        } else if (is_scalar(holds)) {
            scalar(v, holds, owner, at);
        } else if (v.IsObject()) {
            object(v, holds, at);
        } else {
            wrong_type(v, holds, go_type(holds), owner, at);
        }
    }

    void scalar(const value& v, std::string_view holds, std::string_view owner, const place& at) {
        if (holds == "Quantity") {
            quantity_text(v, at);
        } else if (holds == "Time" || holds == "MicroTime") {
            time_text(v, holds, owner, at);
        } else if (holds == "IntOrString") {
            if (!v.IsString() && !is_integer(v, 32)) {
                wrong_type(v, holds, "int32", owner, at);
            }
        } else if (holds == "bytes") {
            if (v.IsArray() && std::ranges::all_of(v.GetArray(), is_byte)) {
                return;  // Go takes a list of numbers too
            }
            if (!v.IsString()) {
                wrong_type(v, holds, "[]uint8", owner, at);
            } else if (const auto bad = base64_error(view(v))) {
                problems_.add(
                    fault::type,
                    at,
                    &v,
                    fmt::format("illegal base64 data at input byte {}", *bad),
                    holds
                );
            }
        } else if (!(holds == "any" || (holds == "string" && v.IsString()) ||
                     (holds == "bool" && v.IsBool()) || (holds == "float64" && v.IsNumber()) ||
                     (holds == "int32" && is_integer(v, 32)) ||
                     (holds == "int64" && is_integer(v, 64)))) {
            wrong_type(v, holds, holds, owner, at);
        }
    }

    void quantity_text(const value& v, const place& at) {
        const std::string text = v.IsString() ? std::string(view(v)) : json_text(v);
        if (const std::string_view bad = quantity_error(text); !bad.empty()) {
            problems_.add(fault::type, at, &v, std::string(bad), "Quantity");
        }
    }

    void time_text(
        const value& v, std::string_view holds, std::string_view owner, const place& at
    ) {
        const bool micro = holds == "MicroTime";
        if (!v.IsString()) {
            wrong_type(v, holds, "string", owner, at);
        } else if (!is_time(view(v)) || (micro && !has_microseconds(view(v)))) {
            problems_.add(
                fault::type,
                at,
                &v,
                fmt::format(
                    "parsing time {0} as \"2006-01-02T15:04:05{1}Z07:00\": cannot parse {0} as "
                    "\"2006\"",
                    json_text(v),
                    micro ? ".000000" : ""
                ),
                holds
            );
        }
    }

    static bool is_byte(const value& v) { return v.IsInt() && v.GetInt() >= 0 && v.GetInt() < 256; }

    bool is_integer(const value& v, int bits) const {
        if (v.IsInt64()) {
            return bits == 64 || v.IsInt();
        }
        if (numbers_ == integers::strict || !v.IsDouble()) {
            return false;
        }
        // The bounds are exact as double; that of 64 bits is the first value beyond.
        const double d = v.GetDouble();
        const double most = bits == 64 ? 9223372036854775808.0 : 2147483648.0;
        return d >= -most && d < most && d == static_cast<double>(static_cast<std::int64_t>(d));
    }

    void wrong_type(
        const value& v,
        std::string_view holds,
        std::string_view wanted,
        std::string_view owner,
        const place& at
    ) {
        if (problems_.full()) {
            return;
        }
        std::string found = v.IsString()   ? "string"
                            : v.IsBool()   ? "bool"
                            : v.IsArray()  ? "array"
                            : v.IsObject() ? "object"
                                           : "number";
        if (v.IsNumber() && (wanted == "int32" || wanted == "int64")) {
            found += ' ' + json_text(v);
        }
        problems_.add(
            fault::type,
            at,
            &v,
            fmt::format(
                "json: cannot unmarshal {} into Go struct field {}.{} of type {}",
                found,
                owner,
                at.members(),
                wanted
            ),
            holds
        );
    }

    const schema& types_;
    integers numbers_;
    problem_list& problems_;
};

}  // namespace signalbox::kubernetes

// SPDX-License-Identifier: Apache-2.0
//
// The row type of the tables that describe the API (BEHAVIOUR.md api 1-5). A table says what a
// field is; it holds no code but the matcher of a text form. Everything else walks the tables:
// walk.cpp (parser, aliases, defaults, ranges), update.cpp (what may change), crd.cpp and cel.cpp
// (the CRD).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace signalbox::core::schema {

enum class value_type {
    object,         ///< has `fields`
    object_list,    ///< a list of objects with `fields`
    string,         ///< with `values` an enumeration, with `form` a text of that form
    string_list,    ///< items are bound by `max_length` and `form`
    boolean,        ///<
    integer,        ///< `minimum` to `maximum`
    integer_list,   ///< of integers from `minimum` to `maximum`
    int_or_string,  ///< a text of the given form, or an integer from `minimum`
    time,           ///< RFC 3339; status only
    opaque_object,  ///< passed through whole: pod templates, resources
    opaque_list,    ///< a list of opaque objects
};

/// One value of an enumeration. The order in a table is that of the C++ enumeration.
struct enum_value {
    std::string_view name;
    std::string_view alias = {};  ///< accepted, with a DeprecatedField warning; empty: none
};

/// A form that texts must have. `matches` and `pattern` accept the same texts.
struct text_form {
    std::string_view pattern;  ///< RE2, anchored
    std::string_view words;    ///< "must be <words>"
    bool (*matches)(std::string_view text);
    bool tells_length = false;  ///< `words` say how long a text may be
};

/// When a field may change (BEHAVIOUR.md api 7).
enum class change {
    inherit,      ///< as its parent; the specification itself: only while the old object is paused
    any_time,     ///<
    never,        ///<
    by_own_rule,  ///< has no effect of its own; the rule of the field it feeds decides
};

/// What the parser checks of a field by itself is structure: mark S of BEHAVIOUR.md api 6.1, thus
/// also in the CRD. Rules over several fields, and L rules, are in rules/.
struct field {
    std::string_view name;
    value_type type = value_type::string;
    std::string_view doc;

    std::span<const field> fields = {};
    bool required = false;
    std::span<const std::string_view> aliases = {};
    /// A field of an older API whose meaning moved there; a DeprecatedField warning says so.
    std::string_view moved_to = {};
    /// The default as JSON text; empty: none.
    std::string_view fallback = {};
    std::span<const enum_value> values = {};
    const text_form* form = nullptr;
    std::int64_t minimum = std::numeric_limits<std::int32_t>::min();
    std::int64_t maximum = std::numeric_limits<std::int32_t>::max();
    std::uint32_t max_length = 4096;  ///< characters of a text or of each item; 0: any
    std::uint32_t max_items = 512;    ///< 0: any
    change when = change::inherit;
    /// An empty object means something else than none.
    bool presence_counts = false;
    /// It is no time and yet tells of time: of statuses that differ in it alone neither says more.
    bool tells_of_time = false;
    /// The rule that says more; empty: that of the parent.
    std::string_view rule = {};
    /// What `kubectl explain` knows of what is passed through, as a path that it takes.
    std::string_view kubernetes = {};
};

}  // namespace signalbox::core::schema

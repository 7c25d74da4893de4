// SPDX-License-Identifier: Apache-2.0
//
// What is known of a value that a rule will have, before it is there: its type, its place in the
// schema, its size, and what it costs at worst.
#pragma once

#include "server/schema/cel_cost.hpp"
#include "server/schema/cel_declared.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::cel {

using number = std::uint64_t;

inline constexpr number boundless = std::numeric_limits<number>::max();
/// What passing over a character of a text costs, and a character of a pattern.
inline constexpr double text_factor = 0.1, pattern_factor = 0.25;

/// `factor` of `x`, rounded up.
inline number part(number x, double factor) {
    const double out = std::ceil(static_cast<double>(x) * factor);
    return out >= static_cast<double>(boundless) ? boundless : static_cast<number>(out);
}

/// What is known of the type of a value before it is there.
struct type {
    shape is = shape::dynamic;
    const declared* of = nullptr;      ///< of a value with a place in the schema
    std::shared_ptr<const type> item;  ///< of a list that an expression makes
};

inline type type_of(const declared* d) {
    return d == nullptr ? type() : type{d->is, d, nullptr};
}

inline type list_of(type item) {
    return {shape::list, nullptr, std::make_shared<const type>(std::move(item))};
}

inline type item_of(const type& t) {
    return t.item != nullptr ? *t.item : type_of(t.of == nullptr ? nullptr : t.of->element.get());
}

inline const declared* field_of(const declared* d, std::string_view name) {
    if (d == nullptr) {
        return nullptr;
    }
    const auto found = d->fields.find(name);
    return found == d->fields.end() ? nullptr : found->second.get();
}

inline bool may_be(const type& t, shape s) {
    return t.is == s || t.is == shape::dynamic;
}

inline bool is_scalar(shape s) {
    switch (s) {
        case shape::boolean:
        case shape::integer:
        case shape::real:
        case shape::moment:
        case shape::duration:
            return true;
        default:
            return false;
    }
}

// The steps of a path that are no fields.
inline constexpr std::string_view items_step = "@items", keys_step = "@keys";

/// Where in the schema a value stands: a variable and the steps from there. The real server keeps
/// the names in an array that doubles when it is full. Two paths that go on from one share it, and
/// the name that is written last stands in both: what `x.a` leads to may be another field once
/// `x.b` was looked at. Some rules are refused for that alone.
class place {
public:
    place then(std::string_view name) const {
        place out;
        out.size_ = size_ + 1;
        out.names_ = names_;
        if (names_ == nullptr || size_ == names_->size()) {
            out.names_ =
                names_ == nullptr ? std::make_shared<names>() : std::make_shared<names>(*names_);
            out.names_->resize(std::max<std::size_t>(1, 2 * size_));
        }
        (*out.names_)[size_] = name;
        return out;
    }
    bool somewhere() const { return size_ > 0; }

    /// Null if it leads nowhere. The first name counts for nothing, whatever it is.
    const declared* look(const declared& root) const {
        // No bound is known for keys: they count as empty.
        static const declared key{shape::text, 0, 2, {}, nullptr};
        const declared* at = somewhere() ? &root : nullptr;
        for (std::size_t i = 1; i < size_ && at != nullptr; ++i) {
            const std::string_view name = (*names_)[i];
            at = name == items_step  ? at->element.get()
                 : name == keys_step ? (at->is == shape::map ? &key : nullptr)
                                     : field_of(at, name);
        }
        return at;
    }

private:
    using names = std::vector<std::string_view>;
    std::shared_ptr<names> names_;
    std::size_t size_ = 0;
};

struct outcome {
    number cost = 0;
    std::optional<number> size;
    number least = 0;             ///< size of a text, where literals in it give one
    bool made = false;            ///< the expression gives the size, not the place
    std::optional<number> entry;  ///< the size of each item, of a list that an expression makes
    place at;
    type is;

    number size_or_boundless() const { return size.value_or(boundless); }
};

}  // namespace signalbox::k8sio::server::cel

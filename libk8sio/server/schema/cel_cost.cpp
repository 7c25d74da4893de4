// SPDX-License-Identifier: Apache-2.0
//
// Sizes come from the place of a value in the schema, or from the expression that makes it. What is
// odd here is odd there too: a definition that one server takes, the other should take.
#include "server/schema/cel_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio::server::cel {
namespace {

using number = std::uint64_t;

constexpr number boundless = std::numeric_limits<number>::max();
/// What passing over a character of a text costs, and a character of a pattern.
constexpr double text_factor = 0.1, pattern_factor = 0.25;

/// `factor` of `x`, rounded up.
number part(number x, double factor) {
    const double out = std::ceil(static_cast<double>(x) * factor);
    return out >= static_cast<double>(boundless) ? boundless : static_cast<number>(out);
}

/// What is known of the type of a value before it is there.
struct type {
    shape is = shape::dynamic;
    const declared* of = nullptr;      ///< of a value with a place in the schema
    std::shared_ptr<const type> item;  ///< of a list that an expression makes
};

type type_of(const declared* d) {
    return d == nullptr ? type() : type{d->is, d, nullptr};
}

type list_of(type item) {
    return {shape::list, nullptr, std::make_shared<const type>(std::move(item))};
}

type item_of(const type& t) {
    return t.item != nullptr ? *t.item : type_of(t.of == nullptr ? nullptr : t.of->element.get());
}

const declared* field_of(const declared* d, std::string_view name) {
    if (d == nullptr) {
        return nullptr;
    }
    const auto found = d->fields.find(name);
    return found == d->fields.end() ? nullptr : found->second.get();
}

bool may_be(const type& t, shape s) {
    return t.is == s || t.is == shape::dynamic;
}

bool is_scalar(shape s) {
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
constexpr std::string_view items_step = "@items", keys_step = "@keys";

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
    bool made = false;            ///< the expression gives the size, not the place
    std::optional<number> entry;  ///< the size of each item, of a list that an expression makes
    place at;
    type is;

    number size_or_boundless() const { return size.value_or(boundless); }
};

class estimator {
public:
    explicit estimator(const declared& self) : self_(&self) {}

    outcome of(const expression& e);

private:
    struct variable {
        std::string_view name;
        place at;
        type is;
        std::optional<number> size;
    };

    void settle(outcome& o) const;
    number now_of(const outcome& range) const;
    outcome named(const expression& e) const;
    outcome member(const expression& e);
    outcome literal(const expression& e) const;
    outcome list(const expression& e);
    outcome element(const expression& e);
    outcome macro(const expression& e);
    outcome body(const expression& e, const expression& macro, const outcome& range);
    variable item_variable(std::string_view name, const outcome& range) const;
    outcome conditional(const expression& e);
    outcome inverted(const expression& e);
    outcome added(const outcome& a, const outcome& b) const;
    outcome combined(const expression& e);
    outcome call(const expression& e);
    outcome text_call(const expression& e, const outcome& a, const outcome& b) const;
    outcome converted(const expression& e, const outcome& a) const;
    outcome reduced(const outcome& a) const;

    const declared* self_;
    std::vector<variable> variables_;  ///< the innermost last
};

/// The size that place or type give, unless the expression gives one.
void estimator::settle(outcome& o) const {
    o.made = o.size.has_value();
    if (o.made) {
        return;
    }
    if (const declared* at = o.at.look(*self_)) {
        o.size = at->most;
    } else if (is_scalar(o.is.is)) {
        o.size = 1;
    }
}

/// Of what a macro goes over it is asked when all else is known of it.
number estimator::now_of(const outcome& range) const {
    const declared* at = range.made ? nullptr : range.at.look(*self_);
    return at == nullptr ? range.size_or_boundless() : at->most;
}

outcome made(number cost, shape is) {
    outcome out;
    out.cost = cost;
    out.is.is = is;
    if (is_scalar(is)) {
        out.size = 1;
        out.made = true;
    }
    return out;
}

outcome estimator::literal(const expression& e) const {
    outcome out = made(
        0,
        e.what == op::literal_bool     ? shape::boolean
        : e.what == op::literal_int    ? shape::integer
        : e.what == op::literal_double ? shape::real
        : e.what == op::literal_text   ? shape::text
                                       : shape::null
    );
    out.size = 1;
    if (e.what == op::literal_text) {
        out.size = std::count_if(e.text.begin(), e.text.end(), [](char c) {
            return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
        });
    }
    return out;
}

outcome estimator::named(const expression& e) const {
    outcome out;
    out.cost = 1;
    const auto local = std::find_if(variables_.rbegin(), variables_.rend(), [&](const variable& v) {
        return v.name == e.text;
    });
    if (local == variables_.rend()) {
        out.at = place().then(e.text);
        out.is = e.text == "self" || e.text == "oldSelf" ? type_of(self_) : type();
        settle(out);
        return out;
    }
    out.at = local->at;
    out.is = local->is;
    settle(out);
    out.size = out.size ? out.size : local->size;
    return out;
}

outcome estimator::member(const expression& e) {
    const outcome of_what = of(*e.parts[0]);
    if (e.what == op::has) {
        return made(of_what.cost, shape::boolean);  // free of its own step
    }
    outcome out;
    const bool known = of_what.is.is == shape::object || of_what.is.is == shape::map;
    out.cost = sum(of_what.cost, known ? 1 : 0);
    out.is = of_what.is.is == shape::map ? item_of(of_what.is)
                                         : type_of(field_of(of_what.is.of, e.text));
    out.at = of_what.at.then(e.text);
    settle(out);
    return out;
}

outcome estimator::list(const expression& e) {
    outcome out = made(list_cost, shape::list);
    out.size = e.parts.size();
    out.made = true;
    out.entry = 0;
    type items;
    for (const expression_ptr& p : e.parts) {
        const outcome item = of(*p);
        out.cost = sum(out.cost, item.cost);
        out.entry = std::max(*out.entry, item.size_or_boundless());
        items = item.is;
    }
    out.is = list_of(std::move(items));
    return out;
}

outcome estimator::element(const expression& e) {
    const outcome of_what = of(*e.parts[0]);
    outcome out;
    out.cost = sum(sum(of_what.cost, of(*e.parts[1]).cost), 1);
    out.size = of_what.entry;
    out.at = of_what.at.then(items_step);
    out.is = item_of(of_what.is);
    settle(out);
    return out;
}

/// A variable for each item of a list, or each key of anything else.
estimator::variable estimator::item_variable(std::string_view name, const outcome& range) const {
    if (range.entry || range.is.is == shape::list) {
        return {name, range.at.then(items_step), item_of(range.is), range.entry};
    }
    type is;
    is.is = range.is.is == shape::map ? shape::text : shape::dynamic;
    return {name, range.at.then(keys_step), std::move(is), std::nullopt};
}

outcome estimator::body(const expression& e, const expression& macro, const outcome& range) {
    variables_.push_back(item_variable(macro.bound, range));
    outcome out = of(e);
    variables_.pop_back();
    return out;
}

/// Macros are loops over an accumulator: what stands here beside the expressions of the rule is
/// what their expansions cost.
outcome estimator::macro(const expression& e) {
    const outcome range = of(*e.parts[0]);
    const outcome first = body(*e.parts[1], e, range);
    const auto repeated = [&](number around, number each) {
        return sum(sum(range.cost, around), product(now_of(range), each));
    };
    if (e.text == "all" || e.text == "exists") {
        return made(repeated(1, sum(first.cost, e.text == "all" ? 3 : 4)), shape::boolean);
    }
    if (e.text == "exists_one") {
        return made(repeated(2, sum(first.cost, 2)), shape::boolean);
    }
    // The accumulator, a list of one item, and joining the two.
    constexpr number append = 1 + list_cost + 1;
    outcome kept = first;
    number each = sum(first.cost, append);
    if (e.text == "filter") {
        const variable item = item_variable(e.bound, range);
        kept = outcome();
        kept.at = item.at;
        kept.is = item.is;
        settle(kept);
        kept.size = kept.size ? kept.size : item.size;
        each = sum(first.cost, append + 1);
    } else if (e.parts.size() == 3) {
        kept = body(*e.parts[2], e, range);
        each = sum(sum(first.cost, kept.cost), append);
    }
    outcome out = made(repeated(list_cost + 1, each), shape::list);
    out.size = now_of(range);
    out.made = true;
    out.entry = kept.size_or_boundless();
    out.is = list_of(std::move(kept.is));
    return out;
}

outcome estimator::conditional(const expression& e) {
    const outcome test = of(*e.parts[0]);
    const outcome yes = of(*e.parts[1]);
    const outcome no = of(*e.parts[2]);
    outcome out;
    out.cost = sum(test.cost, std::max(yes.cost, no.cost));
    out.size = std::max(yes.size_or_boundless(), no.size_or_boundless());
    out.made = true;
    if (yes.entry && no.entry) {
        out.entry = std::max(*yes.entry, *no.entry);
    }
    out.is = yes.is.is == shape::dynamic || yes.is.is == shape::null ? no.is : yes.is;
    return out;
}

outcome estimator::inverted(const expression& e) {
    const outcome of_what = of(*e.parts[0]);
    return made(sum(of_what.cost, 1), e.what == op::logical_not ? shape::boolean : of_what.is.is);
}

outcome estimator::added(const outcome& a, const outcome& b) const {
    const auto both = [&](shape s) { return may_be(a.is, s) && may_be(b.is, s); };
    const number size = sum(a.size_or_boundless(), b.size_or_boundless());
    const bool texts = both(shape::text) || both(shape::bytes);
    outcome out;
    out.is = a.is.is == shape::dynamic ? b.is : a.is;
    out.cost = texts ? part(size, text_factor) : 0;
    const bool joins = texts || both(shape::list);
    if (out.is.is != shape::text && out.is.is != shape::bytes) {
        out.cost = std::max<number>(out.cost, 1);
    }
    if (joins) {
        out.size = size;
        if (a.entry && b.entry) {
            out.entry = std::max(*a.entry, *b.entry);
        }
        if (out.is.is == shape::list) {
            out.is = list_of(item_of(a.is));
        } else {
            out.is = type{out.is.is, nullptr, nullptr};
        }
    }
    settle(out);
    return out;
}

outcome estimator::combined(const expression& e) {
    const outcome a = of(*e.parts[0]);
    const outcome b = of(*e.parts[1]);
    const number parts = sum(a.cost, b.cost);
    const auto both = [&](shape s) { return may_be(a.is, s) && may_be(b.is, s); };
    const number compared =
        part(std::min(a.size_or_boundless(), b.size_or_boundless()), text_factor);
    switch (e.what) {
        case op::logical_and:
        case op::logical_or:
            return made(parts, shape::boolean);
        case op::equal:
        case op::not_equal:
            return made(sum(parts, compared), shape::boolean);
        case op::less:
        case op::less_equal:
        case op::greater:
        case op::greater_equal: {
            const bool texts = both(shape::text) || both(shape::bytes);
            const bool sure = a.is.is == shape::text || a.is.is == shape::bytes ||
                              b.is.is == shape::text || b.is.is == shape::bytes;
            const number cost = !texts ? 1 : sure ? compared : std::max<number>(compared, 1);
            return made(sum(parts, cost), shape::boolean);
        }
        case op::in: {
            const number lists = may_be(b.is, shape::list) ? b.size_or_boundless() : 0;
            const number maps = may_be(b.is, shape::map) ? 1 : 0;
            return made(sum(parts, std::max(lists, maps)), shape::boolean);
        }
        case op::add: {
            outcome out = added(a, b);
            out.cost = sum(out.cost, parts);
            return out;
        }
        default:
            return made(sum(parts, 1), a.is.is == shape::dynamic ? b.is.is : a.is.is);
    }
}

outcome estimator::converted(const expression& e, const outcome& a) const {
    if (e.text == "dyn") {
        outcome out = a;
        out.made = a.size.has_value();
        out.cost = sum(a.cost, 1);
        out.at = {};
        out.is = {};
        return out;
    }
    if (e.text != "string") {
        return made(sum(a.cost, 1), shape::integer);  // size, int
    }
    outcome out = made(1, shape::text);
    if (may_be(a.is, shape::bytes)) {
        const number read = part(a.size_or_boundless(), text_factor);
        out.cost = a.is.is == shape::bytes ? read : std::max<number>(read, 1);
        out.size = a.size_or_boundless();
    }
    out.cost = sum(out.cost, a.cost);
    return out;
}

/// The largest or smallest item, or the sum of all.
outcome estimator::reduced(const outcome& a) const {
    number cost = 0;
    if (a.is.is == shape::list) {
        number each = 1;
        const type item = item_of(a.is);
        if (item.is == shape::text || item.is == shape::bytes) {
            const declared* list = a.at.look(*self_);
            const declared* at = list == nullptr ? nullptr : list->element.get();
            each = sum(each, part(at == nullptr ? boundless : at->most, text_factor));
        }
        cost = product(a.size_or_boundless(), each);
    } else {
        cost = part(a.size_or_boundless(), text_factor);
    }
    return made(sum(a.cost, cost), item_of(a.is).is);
}

outcome estimator::text_call(const expression& e, const outcome& a, const outcome& b) const {
    number cost = 1;
    if (e.text == "matches" && e.method) {
        const number read = part(sum(a.size_or_boundless(), 1), text_factor);
        cost = product(read, part(b.size_or_boundless(), pattern_factor));
    } else if (e.text == "contains") {
        cost = product(
            part(a.size_or_boundless(), text_factor), part(b.size_or_boundless(), text_factor)
        );
    } else if (e.text == "startsWith" || e.text == "endsWith") {
        cost = part(b.size_or_boundless(), text_factor);
    }
    return made(sum(cost, sum(a.cost, b.cost)), shape::boolean);
}

outcome estimator::call(const expression& e) {
    if (e.parts.size() == 2) {
        const outcome b = of(*e.parts[1]);  // of a method the object comes last
        return text_call(e, of(*e.parts[0]), b);
    }
    const outcome a = of(*e.parts[0]);
    return e.text == "max" || e.text == "min" || e.text == "sum" ? reduced(a) : converted(e, a);
}

outcome estimator::of(const expression& e) {
    switch (e.what) {
        case op::literal_null:
        case op::literal_bool:
        case op::literal_int:
        case op::literal_double:
        case op::literal_text:
            return literal(e);
        case op::variable:
            return named(e);
        case op::member:
        case op::has:
            return member(e);
        case op::list:
            return list(e);
        case op::index:
            return element(e);
        case op::macro:
            return macro(e);
        case op::conditional:
            return conditional(e);
        case op::logical_not:
        case op::negate:
            return inverted(e);
        case op::call:
            return call(e);
        default:
            return combined(e);
    }
}

}  // namespace

std::uint64_t product(std::uint64_t x, std::uint64_t y) {
    std::uint64_t out = 0;
    return __builtin_mul_overflow(x, y, &out) ? boundless : out;
}

std::uint64_t sum(std::uint64_t x, std::uint64_t y) {
    std::uint64_t out = 0;
    return __builtin_add_overflow(x, y, &out) ? boundless : out;
}

std::uint64_t estimate(const expression& rule, const declared& self) {
    return estimator(self).of(rule).cost;
}

}  // namespace signalbox::k8sio::server::cel

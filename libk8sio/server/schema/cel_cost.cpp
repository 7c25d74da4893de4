// SPDX-License-Identifier: Apache-2.0
//
// Sizes come from the place of a value in the schema, or from the expression that makes it. What is
// odd here is odd there too: a definition that one server takes, the other should take.
#include "server/schema/cel_cost.hpp"

#include "server/schema/cel_library.hpp"
#include "server/schema/cel_library_cost.hpp"
#include "server/schema/cel_outcome.hpp"

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
    outcome library(const expression& e);

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
        out.least = *out.size;
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
    out.least = std::min(yes.least, no.least);
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
        out.least = sum(a.least, b.least);
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

/// What comparing two values of a library costs; nothing for others.
std::optional<number> of_library(const outcome& a, const outcome& b) {
    const bool alike = a.is.is == b.is.is;
    if (alike && a.is.is == shape::opaque) {
        return 1;
    }
    // Of both the size of the second is taken there.
    return alike && a.is.is == shape::link ? std::optional(part(b.size.value_or(1), text_factor))
                                           : std::nullopt;
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
            return made(sum(parts, of_library(a, b).value_or(compared)), shape::boolean);
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
    if (e.library != nullptr) {
        return library(e);
    }
    if (e.parts.size() == 2) {
        const outcome b = of(*e.parts[1]);  // of a method the object comes last
        return text_call(e, of(*e.parts[0]), b);
    }
    const outcome a = of(*e.parts[0]);
    return e.text == "max" || e.text == "min" || e.text == "sum"
               ? made(sum(a.cost, cost_of_items(a, *self_)), item_of(a.is).is)
               : converted(e, a);
}

outcome estimator::library(const expression& e) {
    std::vector<outcome> with;
    number parts = 0;
    for (const expression_ptr& p : e.parts) {
        with.push_back(of(*p));
        parts = sum(parts, with.back().cost);
    }
    outcome out = made(0, e.library->gives);
    charge(*e.library, with, *self_, out);
    if (e.library->costs == price::splits && with.size() > 2 &&
        e.parts[2]->what == op::literal_int) {
        out.size = static_cast<number>(e.parts[2]->integer);
    }
    out.made = out.size.has_value();
    out.cost = sum(out.cost, parts);
    if (out.is.is == shape::list) {
        type text;
        text.is = shape::text;
        out.is = list_of(std::move(text));
    }
    return out;
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

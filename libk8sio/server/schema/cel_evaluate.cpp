// SPDX-License-Identifier: Apache-2.0
//
// Evaluation. An error is a value: `false && error` is false, as CEL has it.
#include "server/schema/cel.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

namespace signalbox::k8sio::server::cel {
namespace {

struct failure {
    std::string text;
};
struct null_value {};
struct datum;
using items = std::vector<datum>;

/// A value. Objects and lists of the judged object stay where they are.
struct datum : std::variant<
                   failure,
                   null_value,
                   bool,
                   std::int64_t,
                   double,
                   std::string,
                   std::shared_ptr<const items>,
                   const json::value*> {
    using variant::variant;
};

template <class T>
const T* as(const datum& d) {
    return std::get_if<T>(&d);
}

datum fail(std::string text) {
    return failure{std::move(text)};
}
datum no_such_overload() {
    return fail("no such overload");
}

datum from_json(const json::value& v) {
    if (v.IsNull()) {
        return null_value{};
    }
    if (v.IsBool()) {
        return v.GetBool();
    }
    if (v.IsInt64()) {
        return v.GetInt64();
    }
    if (v.IsNumber()) {
        return v.GetDouble();
    }
    if (v.IsString()) {
        return json::text_of(v);
    }
    return &v;
}

/// The items of a list; nothing if it is none.
std::optional<items> items_of(const datum& d) {
    if (const auto* list = as<std::shared_ptr<const items>>(d)) {
        return **list;
    }
    const auto* at = as<const json::value*>(d);
    if (at == nullptr || !(*at)->IsArray()) {
        return std::nullopt;
    }
    items out;
    for (const json::value& e : (*at)->GetArray()) {
        out.push_back(from_json(e));
    }
    return out;
}

const json::value* object_of(const datum& d) {
    const auto* at = as<const json::value*>(d);
    return at != nullptr && (*at)->IsObject() ? *at : nullptr;
}

std::optional<double> number_of(const datum& d) {
    if (const auto* i = as<std::int64_t>(d)) {
        return static_cast<double>(*i);
    }
    const auto* r = as<double>(d);
    return r == nullptr ? std::nullopt : std::optional(*r);
}

bool equal(const datum& a, const datum& b) {
    if (a.index() == b.index()) {
        if (const auto* x = as<bool>(a)) {
            return *x == *as<bool>(b);
        }
        if (const auto* x = as<std::int64_t>(a)) {
            return *x == *as<std::int64_t>(b);
        }
        if (const auto* x = as<std::string>(a)) {
            return *x == *as<std::string>(b);
        }
        if (as<null_value>(a) != nullptr) {
            return true;
        }
        if (object_of(a) != nullptr && object_of(b) != nullptr) {
            return json::equal(*object_of(a), *object_of(b));
        }
    }
    if (const auto x = number_of(a), y = number_of(b); x && y) {
        return *x == *y;
    }
    const auto x = items_of(a);
    const auto y = items_of(b);
    return x && y && std::equal(x->begin(), x->end(), y->begin(), y->end(), equal);
}

/// Less (-1), equal or greater (1); nothing if the two have no order.
std::optional<int> order(const datum& a, const datum& b) {
    const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    if (as<std::int64_t>(a) != nullptr && as<std::int64_t>(b) != nullptr) {
        return sign(*as<std::int64_t>(a), *as<std::int64_t>(b));
    }
    if (const auto x = number_of(a), y = number_of(b); x && y) {
        return sign(*x, *y);
    }
    if (as<std::string>(a) != nullptr && as<std::string>(b) != nullptr) {
        return sign(*as<std::string>(a), *as<std::string>(b));
    }
    return std::nullopt;
}

datum arithmetic(op what, const datum& a, const datum& b) {
    if (const auto* x = as<std::int64_t>(a), *y = as<std::int64_t>(b); x && y) {
        std::int64_t out = 0;
        const bool divides = what == op::divide || what == op::remainder;
        if (divides && *y == 0) {
            return fail("division by zero");
        }
        const bool overflow = what == op::add        ? __builtin_add_overflow(*x, *y, &out)
                              : what == op::subtract ? __builtin_sub_overflow(*x, *y, &out)
                              : what == op::multiply
                                  ? __builtin_mul_overflow(*x, *y, &out)
                                  : *x == std::numeric_limits<std::int64_t>::min() && *y == -1;
        if (overflow) {
            return fail("integer overflow");
        }
        return divides ? (what == op::divide ? *x / *y : *x % *y) : out;
    }
    if (const auto* x = as<double>(a), *y = as<double>(b); x && y && what != op::remainder) {
        return what == op::add        ? *x + *y
               : what == op::subtract ? *x - *y
               : what == op::multiply ? *x * *y
                                      : *x / *y;
    }
    if (const auto* x = as<std::string>(a), *y = as<std::string>(b); x && y && what == op::add) {
        return *x + *y;
    }
    auto x = items_of(a);
    const auto y = items_of(b);
    if (x && y && what == op::add) {
        x->insert(x->end(), y->begin(), y->end());
        return std::make_shared<const items>(std::move(*x));
    }
    return no_such_overload();
}

datum size_of(const datum& d) {
    if (const auto* text = as<std::string>(d)) {
        return std::count_if(text->begin(), text->end(), [](char c) {
            return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
        });
    }
    if (const json::value* object = object_of(d)) {
        return static_cast<std::int64_t>(object->MemberCount());
    }
    const auto list = items_of(d);
    return list ? datum(static_cast<std::int64_t>(list->size())) : no_such_overload();
}

datum text_of(const datum& d) {
    if (as<std::string>(d) != nullptr) {
        return d;
    }
    if (const auto* b = as<bool>(d)) {
        return std::string(*b ? "true" : "false");
    }
    if (const auto* i = as<std::int64_t>(d)) {
        return std::to_string(*i);
    }
    if (const auto* r = as<double>(d)) {
        return fmt::format("{}", *r);
    }
    return no_such_overload();
}

datum whole_number_of(const datum& d) {
    if (as<std::int64_t>(d) != nullptr) {
        return d;
    }
    const auto* text = as<std::string>(d);
    std::int64_t out = 0;
    if (text == nullptr) {
        return no_such_overload();
    }
    const char* end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, out);
    return read.ec == std::errc{} && read.ptr == end && !text->empty()
               ? datum(out)
               : fail("the text is no whole number");
}

/// The largest or smallest item, or their sum.
datum reduced(const std::string& how, const datum& d) {
    const auto list = items_of(d);
    if (!list) {
        return no_such_overload();
    }
    if (how == "sum") {
        datum out = std::int64_t{0};
        for (const datum& e : *list) {
            out = as<double>(e) != nullptr && as<double>(out) == nullptr
                      ? e
                      : arithmetic(op::add, out, e);
        }
        return out;
    }
    if (list->empty()) {
        return fail(how + " of an empty list");
    }
    datum out = list->front();
    for (const datum& e : *list) {
        const auto o = order(e, out);
        if (!o) {
            return no_such_overload();
        }
        out = *o == (how == "max" ? 1 : -1) ? e : out;
    }
    return out;
}

datum call(const std::string& name, const std::vector<datum>& with) {
    if (name == "size") {
        return size_of(with[0]);
    }
    if (name == "dyn") {
        return with[0];
    }
    if (name == "string") {
        return text_of(with[0]);
    }
    if (name == "int") {
        return whole_number_of(with[0]);
    }
    if (name == "max" || name == "min" || name == "sum") {
        return reduced(name, with[0]);
    }
    const auto* text = as<std::string>(with[0]);
    const auto* other = as<std::string>(with[1]);
    if (text == nullptr || other == nullptr) {
        return no_such_overload();
    }
    if (name == "matches") {
        const re2::RE2 pattern(*other, re2::RE2::Quiet);
        return pattern.ok() ? datum(re2::RE2::PartialMatch(*text, pattern))
                            : fail("the pattern cannot be read");
    }
    return name == "startsWith" ? text->starts_with(*other)
           : name == "endsWith" ? text->ends_with(*other)
                                : text->find(*other) != std::string::npos;
}

/// Variables by name, the innermost last.
using scope = std::vector<std::pair<std::string_view, datum>>;

datum value_of(const expression& e, scope& variables);

datum macro(const expression& e, scope& variables) {
    const datum over = value_of(*e.parts[0], variables);
    if (as<failure>(over) != nullptr) {
        return over;
    }
    std::optional<items> list = items_of(over);
    if (const json::value* object = object_of(over)) {  // macros go over the keys of maps
        list.emplace();
        for (const auto& m : object->GetObject()) {
            list->push_back(json::text_of(m.name));
        }
    }
    if (!list) {
        return no_such_overload();
    }
    const bool maps = e.text == "map";
    const bool filters = e.text == "filter" || (maps && e.parts.size() == 3);
    items kept;
    std::int64_t holding = 0;
    std::int64_t false_items = 0;
    std::optional<datum> failed;
    for (const datum& item : *list) {
        variables.emplace_back(e.bound, item);
        datum first = value_of(*e.parts[1], variables);
        if (maps && filters && as<bool>(first) != nullptr && *as<bool>(first)) {
            kept.push_back(value_of(*e.parts[2], variables));
        } else if (maps && !filters) {
            kept.push_back(std::move(first));
        } else if (as<bool>(first) == nullptr) {
            failed = as<failure>(first) != nullptr ? std::move(first) : no_such_overload();
        } else if (*as<bool>(first)) {
            ++holding;
            kept.push_back(item);
        } else {
            ++false_items;
        }
        variables.pop_back();
    }
    if (maps || e.text == "filter") {
        for (const datum& d : kept) {
            if (as<failure>(d) != nullptr) {
                return d;
            }
        }
        return failed ? *failed : datum(std::make_shared<const items>(std::move(kept)));
    }
    // One item can decide whatever the others fail of.
    if (e.text == "exists" && holding > 0) {
        return true;
    }
    if (e.text == "all" && false_items > 0) {
        return false;
    }
    return failed            ? *failed
           : e.text == "all" ? datum(true)
                             : datum(e.text == "exists_one" && holding == 1);
}

datum logical(const expression& e, scope& variables) {
    const bool decides = e.what == op::logical_or;
    datum left = value_of(*e.parts[0], variables);
    if (as<bool>(left) != nullptr && *as<bool>(left) == decides) {
        return decides;
    }
    datum right = value_of(*e.parts[1], variables);
    if (as<bool>(right) != nullptr && *as<bool>(right) == decides) {
        return decides;
    }
    for (datum* side : {&left, &right}) {
        if (as<bool>(*side) == nullptr) {
            return as<failure>(*side) != nullptr ? std::move(*side) : no_such_overload();
        }
    }
    return !decides;
}

datum member(const expression& e, scope& variables) {
    const datum of = value_of(*e.parts[0], variables);
    if (as<failure>(of) != nullptr) {
        return of;
    }
    const json::value* object = object_of(of);
    if (object == nullptr) {
        return no_such_overload();
    }
    const json::value* found = json::find(*object, e.text);
    if (e.what == op::has) {
        return found != nullptr;
    }
    return found == nullptr ? fail("no such key: " + e.text) : from_json(*found);
}

datum element(const datum& of, const datum& at) {
    if (const json::value* object = object_of(of)) {
        const auto* key = as<std::string>(at);
        const json::value* found = key == nullptr ? nullptr : json::find(*object, *key);
        return found == nullptr ? fail("no such key") : from_json(*found);
    }
    const auto list = items_of(of);
    const auto* index = as<std::int64_t>(at);
    if (!list || index == nullptr) {
        return no_such_overload();
    }
    return *index >= 0 && static_cast<std::size_t>(*index) < list->size()
               ? (*list)[static_cast<std::size_t>(*index)]
               : fail("index out of bounds: " + std::to_string(*index));
}

datum contained(const datum& item, const datum& in) {
    if (const json::value* object = object_of(in)) {
        const auto* key = as<std::string>(item);
        return key != nullptr && json::find(*object, *key) != nullptr;
    }
    const auto list = items_of(in);
    return list ? datum(std::any_of(
                      list->begin(), list->end(), [&](const datum& d) { return equal(d, item); }
                  ))
                : no_such_overload();
}

datum combined(op what, const datum& a, const datum& b) {
    switch (what) {
        case op::equal:
            return equal(a, b);
        case op::not_equal:
            return !equal(a, b);
        case op::in:
            return contained(a, b);
        case op::index:
            return element(a, b);
        case op::less:
        case op::less_equal:
        case op::greater:
        case op::greater_equal: {
            const auto o = order(a, b);
            return !o                       ? no_such_overload()
                   : what == op::less       ? *o < 0
                   : what == op::less_equal ? *o <= 0
                   : what == op::greater    ? *o > 0
                                            : *o >= 0;
        }
        default:
            return arithmetic(what, a, b);
    }
}

datum value_of(const expression& e, scope& variables) {
    switch (e.what) {
        case op::literal_null:
            return null_value{};
        case op::literal_bool:
            return e.integer != 0;
        case op::literal_int:
            return e.integer;
        case op::literal_double:
            return e.real;
        case op::literal_text:
            return e.text;
        case op::variable: {
            const auto found =
                std::find_if(variables.rbegin(), variables.rend(), [&e](const auto& v) {
                    return v.first == e.text;
                });
            return found == variables.rend() ? fail("undeclared reference to " + e.text)
                                             : found->second;
        }
        case op::member:
        case op::has:
            return member(e, variables);
        case op::macro:
            return macro(e, variables);
        case op::logical_and:
        case op::logical_or:
            return logical(e, variables);
        case op::conditional: {
            const datum test = value_of(*e.parts[0], variables);
            if (as<bool>(test) == nullptr) {
                return as<failure>(test) != nullptr ? test : no_such_overload();
            }
            return value_of(*e.parts[*as<bool>(test) ? 1 : 2], variables);
        }
        default:
            break;
    }
    std::vector<datum> with;
    for (const expression_ptr& part : e.parts) {
        with.push_back(value_of(*part, variables));
        if (as<failure>(with.back()) != nullptr) {
            return with.back();
        }
    }
    switch (e.what) {
        case op::list:
            return std::make_shared<const items>(std::move(with));
        case op::call:
            return call(e.text, with);
        case op::logical_not:
            return as<bool>(with[0]) == nullptr ? no_such_overload() : !*as<bool>(with[0]);
        case op::negate:
            return arithmetic(
                op::subtract,
                as<double>(with[0]) != nullptr ? datum(0.0) : datum(std::int64_t{0}),
                with[0]
            );
        default:
            return combined(e.what, with[0], with[1]);
    }
}

}  // namespace

verdict evaluate(const expression& rule, const json::value& self, const json::value* old_self) {
    scope variables{{"self", from_json(self)}};
    if (old_self != nullptr) {
        variables.emplace_back("oldSelf", from_json(*old_self));
    }
    const datum out = value_of(rule, variables);
    verdict v;
    if (const bool* holds = as<bool>(out)) {
        v.holds = *holds;
    } else {
        const failure* failed = as<failure>(out);
        v.error = failed != nullptr ? failed->text : "the rule gives no boolean";
    }
    return v;
}

}  // namespace signalbox::k8sio::server::cel

// SPDX-License-Identifier: Apache-2.0
#include "server/schema/cel_values.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace signalbox::k8sio::server::cel {
namespace {

/// Narrower objects are searched from the beginning.
constexpr rapidjson::SizeType narrow = 16;
/// So often before an index is worth its while.
constexpr int looks_without_index = 16;

std::optional<double> number_of(const datum& d) {
    if (const auto* i = as<std::int64_t>(d)) {
        return static_cast<double>(*i);
    }
    const auto* r = as<double>(d);
    return r == nullptr ? std::nullopt : std::optional(*r);
}

/// Values in it, itself included.
std::uint64_t count_values(const json::value& v) {
    std::uint64_t out = 1;
    if (v.IsObject()) {
        for (const auto& m : v.GetObject()) {
            out += count_values(m.value);
        }
    } else if (v.IsArray()) {
        for (const json::value& e : v.GetArray()) {
            out += count_values(e);
        }
    } else if (v.IsString()) {
        out += v.GetStringLength();
    }
    return out;
}

bool equal(const datum& a, const datum& b, meter& m);

bool equal_lists(const list_view& x, const list_view& y, meter& m) {
    if (x.size() != y.size()) {
        return false;
    }
    for (std::size_t i = 0; i < x.size() && !m.over(); ++i) {
        if (!equal(x.at(i), y.at(i), m)) {
            return false;
        }
    }
    return true;
}

bool equal(const datum& a, const datum& b, meter& m) {
    if (a.index() == b.index()) {
        if (const auto* x = as<bool>(a)) {
            m.charge(1);
            return *x == *as<bool>(b);
        }
        if (const auto* x = as<std::int64_t>(a)) {
            m.charge(1);
            return *x == *as<std::int64_t>(b);
        }
        if (const auto* x = as<text_value>(a)) {
            const std::string_view y = as<text_value>(b)->view;
            m.charge_tenths(std::min(x->view.size(), y.size()));
            return x->view == y;
        }
        if (as<null_value>(a) != nullptr) {
            m.charge(1);
            return true;
        }
        if (object_of(a) != nullptr && object_of(b) != nullptr) {
            m.charge_tenths(std::min(count_values(*object_of(a)), count_values(*object_of(b))));
            return json::equal(*object_of(a), *object_of(b));
        }
    }
    m.charge(1);
    if (const auto x = number_of(a), y = number_of(b); x && y) {
        return *x == *y;
    }
    const auto x = list_of(a);
    const auto y = list_of(b);
    return x && y && equal_lists(*x, *y, m);
}

/// Less (-1), equal or greater (1); nothing if the two have no order.
std::optional<int> order(const datum& a, const datum& b, meter& m) {
    const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    if (as<text_value>(a) != nullptr && as<text_value>(b) != nullptr) {
        const std::string_view x = as<text_value>(a)->view;
        const std::string_view y = as<text_value>(b)->view;
        m.charge_tenths(std::min(x.size(), y.size()));
        return sign(x, y);
    }
    m.charge(1);
    if (as<std::int64_t>(a) != nullptr && as<std::int64_t>(b) != nullptr) {
        return sign(*as<std::int64_t>(a), *as<std::int64_t>(b));
    }
    if (const auto x = number_of(a), y = number_of(b); x && y) {
        return sign(*x, *y);
    }
    return std::nullopt;
}

datum whole_numbers(op what, std::int64_t x, std::int64_t y) {
    std::int64_t out = 0;
    const bool divides = what == op::divide || what == op::remainder;
    if (divides && y == 0) {
        return fail("division by zero");
    }
    const bool overflow = what == op::add        ? __builtin_add_overflow(x, y, &out)
                          : what == op::subtract ? __builtin_sub_overflow(x, y, &out)
                          : what == op::multiply
                              ? __builtin_mul_overflow(x, y, &out)
                              : x == std::numeric_limits<std::int64_t>::min() && y == -1;
    if (overflow) {
        return fail("integer overflow");
    }
    return divides ? (what == op::divide ? x / y : x % y) : out;
}

datum joined_lists(const list_view& x, const list_view& y, meter& m) {
    m.charge_tenths(x.size() + y.size());
    auto out = std::make_shared<items>();
    out->reserve(x.size() + y.size());
    for (const list_view* part : {&x, &y}) {
        for (std::size_t i = 0; i < part->size(); ++i) {
            out->push_back(part->at(i));
        }
    }
    return std::shared_ptr<const items>(std::move(out));
}

datum arithmetic(op what, const datum& a, const datum& b, meter& m) {
    m.charge(1);
    if (const auto* x = as<std::int64_t>(a), *y = as<std::int64_t>(b); x && y) {
        return whole_numbers(what, *x, *y);
    }
    if (const auto* x = as<double>(a), *y = as<double>(b); x && y && what != op::remainder) {
        return what == op::add        ? *x + *y
               : what == op::subtract ? *x - *y
               : what == op::multiply ? *x * *y
                                      : *x / *y;
    }
    if (const auto* x = as<text_value>(a), *y = as<text_value>(b); x && y && what == op::add) {
        m.charge_tenths(x->view.size() + y->view.size());
        return made_text(std::string(x->view) + std::string(y->view));
    }
    const auto x = list_of(a);
    const auto y = list_of(b);
    return x && y && what == op::add ? joined_lists(*x, *y, m) : no_such_overload();
}

datum size_of(const datum& d, meter& m) {
    if (const auto* t = as<text_value>(d)) {
        m.charge(t->view.size() / 256);
        return std::count_if(t->view.begin(), t->view.end(), [](char c) {
            return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
        });
    }
    if (const json::value* object = object_of(d)) {
        return static_cast<std::int64_t>(object->MemberCount());
    }
    const auto list = list_of(d);
    return list ? datum(static_cast<std::int64_t>(list->size())) : no_such_overload();
}

datum text_of(const datum& d) {
    if (as<text_value>(d) != nullptr) {
        return d;
    }
    if (const auto* b = as<bool>(d)) {
        return text_value{*b ? "true" : "false", nullptr};
    }
    if (const auto* i = as<std::int64_t>(d)) {
        return made_text(std::to_string(*i));
    }
    if (const auto* r = as<double>(d)) {
        return made_text(fmt::format("{}", *r));
    }
    return no_such_overload();
}

datum whole_number_of(const datum& d) {
    if (as<std::int64_t>(d) != nullptr) {
        return d;
    }
    const auto* t = as<text_value>(d);
    std::int64_t out = 0;
    if (t == nullptr) {
        return no_such_overload();
    }
    const char* end = t->view.data() + t->view.size();
    const auto read = std::from_chars(t->view.data(), end, out);
    return read.ec == std::errc{} && read.ptr == end && !t->view.empty()
               ? datum(out)
               : fail("the text is no whole number");
}

/// The largest or smallest item, or their sum.
datum reduced(const std::string& how, const datum& d, meter& m) {
    const auto list = list_of(d);
    if (!list) {
        return no_such_overload();
    }
    const bool sums = how == "sum";
    if (!sums && list->size() == 0) {
        return fail(how + " of an empty list");
    }
    datum out = sums ? datum(std::int64_t{0}) : list->at(0);
    for (std::size_t i = sums ? 0 : 1; i < list->size() && !m.over(); ++i) {
        datum e = list->at(i);
        if (sums) {
            out = as<double>(e) != nullptr && as<double>(out) == nullptr
                      ? std::move(e)
                      : arithmetic(op::add, out, e, m);
            continue;
        }
        const auto o = order(e, out, m);
        if (!o) {
            return no_such_overload();
        }
        if (*o == (how == "max" ? 1 : -1)) {
            out = std::move(e);
        }
    }
    return out;
}

datum matched(std::string_view in, std::string_view wanted, const re2::RE2* known, meter& m) {
    m.charge((in.size() + 10) / 10 * ((wanted.size() + 3) / 4));
    const re2::StringPiece piece(in.data(), in.size());
    std::optional<re2::RE2> read;
    if (known == nullptr) {
        re2::RE2::Options options(re2::RE2::Quiet);
        options.set_max_mem(1 << 20);
        known = &read.emplace(re2::StringPiece(wanted.data(), wanted.size()), options);
        // What the real server does not charge: reading a short pattern may take long.
        constexpr std::uint64_t unreadable = 10'000;
        m.charge(known->ok() ? static_cast<std::uint64_t>(known->ProgramSize()) : unreadable);
    }
    return known->ok() ? datum(re2::RE2::PartialMatch(piece, *known))
                       : fail("the pattern cannot be read");
}

datum element(const datum& of, const datum& at, meter& m) {
    m.charge(1);
    if (const json::value* object = object_of(of)) {
        const auto* key = as<text_value>(at);
        const json::value* found = key == nullptr ? nullptr : m.find(*object, key->view);
        return found == nullptr ? fail("no such key") : from_json(*found);
    }
    const auto list = list_of(of);
    const auto* index = as<std::int64_t>(at);
    if (!list || index == nullptr) {
        return no_such_overload();
    }
    return *index >= 0 && static_cast<std::size_t>(*index) < list->size()
               ? list->at(static_cast<std::size_t>(*index))
               : fail("index out of bounds: " + std::to_string(*index));
}

datum contained(const datum& item, const datum& in, meter& m) {
    if (const json::value* object = object_of(in)) {
        m.charge(1);
        const auto* key = as<text_value>(item);
        return key != nullptr && m.find(*object, key->view) != nullptr;
    }
    const auto list = list_of(in);
    if (!list) {
        return no_such_overload();
    }
    for (std::size_t i = 0; i < list->size() && !m.over(); ++i) {
        if (equal(list->at(i), item, m)) {
            return true;
        }
    }
    return false;
}

}  // namespace

datum fail(std::string why) {
    return failure{std::move(why)};
}

datum no_such_overload() {
    return fail("no such overload");
}

datum made_text(std::string from) {
    text_value out;
    out.owner = std::make_shared<const std::string>(std::move(from));
    out.view = *out.owner;
    return out;
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
        return text_value{json::view(v), nullptr};
    }
    return &v;
}

const json::value* meter::find(const json::value& object, std::string_view key) {
    if (object.MemberCount() <= narrow) {
        return json::find(object, key);
    }
    wide_object& wide = wide_[&object];
    if (wide.looked < looks_without_index) {
        ++wide.looked;
        charge(object.MemberCount() / 64);
        return json::find(object, key);
    }
    if (wide.members.empty()) {
        charge_tenths(object.MemberCount());
        for (const auto& each : object.GetObject()) {
            wide.members.emplace(json::view(each.name), &each.value);
        }
    }
    const auto found = wide.members.find(key);
    return found == wide.members.end() || found->second->IsNull() ? nullptr : found->second;
}

list_view::list_view(const json::value& of)
    : of_(&of), size_(of.IsArray() ? of.Size() : of.MemberCount()) {}
list_view::list_view(std::shared_ptr<const items> made)
    : made_(std::move(made)), size_(made_->size()) {}

datum list_view::at(std::size_t index) const {
    if (made_ != nullptr) {
        return (*made_)[index];
    }
    if (of_->IsArray()) {
        return from_json((*of_)[static_cast<rapidjson::SizeType>(index)]);
    }
    const auto each = of_->MemberBegin() + static_cast<std::ptrdiff_t>(index);
    return text_value{json::view(each->name), nullptr};
}

std::optional<list_view> list_of(const datum& d) {
    if (const auto* made = as<std::shared_ptr<const items>>(d)) {
        return list_view(*made);
    }
    const auto* at = as<const json::value*>(d);
    return at == nullptr || !(*at)->IsArray() ? std::nullopt : std::optional(list_view(**at));
}

const json::value* object_of(const datum& d) {
    const auto* at = as<const json::value*>(d);
    return at != nullptr && (*at)->IsObject() ? *at : nullptr;
}

datum member_of(const datum& of, const expression& e, meter& m) {
    if (as<failure>(of) != nullptr) {
        return of;
    }
    const json::value* object = object_of(of);
    if (object == nullptr) {
        return no_such_overload();
    }
    const json::value* found = m.find(*object, e.text);
    if (e.what == op::has) {
        return found != nullptr;
    }
    m.charge(1);
    return found == nullptr ? fail("no such key: " + e.text) : from_json(*found);
}

datum combined(op what, const datum& a, const datum& b, meter& m) {
    switch (what) {
        case op::equal:
            return equal(a, b, m);
        case op::not_equal:
            return !equal(a, b, m);
        case op::in:
            return contained(a, b, m);
        case op::index:
            return element(a, b, m);
        case op::less:
        case op::less_equal:
        case op::greater:
        case op::greater_equal: {
            const auto o = order(a, b, m);
            return !o                       ? no_such_overload()
                   : what == op::less       ? *o < 0
                   : what == op::less_equal ? *o <= 0
                   : what == op::greater    ? *o > 0
                                            : *o >= 0;
        }
        default:
            return arithmetic(what, a, b, m);
    }
}

datum call(const std::string& name, const items& with, const re2::RE2* pattern, meter& m) {
    if (name == "dyn") {
        return with[0];
    }
    if (name == "max" || name == "min" || name == "sum") {
        return reduced(name, with[0], m);
    }
    if (with.size() == 1) {
        m.charge(1);
        return name == "size"  ? size_of(with[0], m)
               : name == "int" ? whole_number_of(with[0])
                               : text_of(with[0]);
    }
    if (as<text_value>(with[0]) == nullptr || as<text_value>(with[1]) == nullptr) {
        m.charge(1);
        return no_such_overload();
    }
    const std::string_view in = as<text_value>(with[0])->view;
    const std::string_view other = as<text_value>(with[1])->view;
    if (name == "matches") {
        return matched(in, other, pattern, m);
    }
    if (name == "contains") {
        m.charge((in.size() + 9) / 10 * ((other.size() + 9) / 10));
        return in.find(other) != std::string::npos;
    }
    m.charge_tenths(in.size());
    return name == "startsWith" ? in.starts_with(other) : in.ends_with(other);
}

}  // namespace signalbox::k8sio::server::cel

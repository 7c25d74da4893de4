// SPDX-License-Identifier: Apache-2.0
//
// Values of expressions and what is done with them. What takes time is charged, in the units of the
// real server (REQUIREMENTS.md H8); nothing is copied that can be looked at where it is.
#pragma once

#include "server/schema/cel.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace signalbox::k8sio::server::cel {

struct failure {
    std::string text;
};
struct null_value {};
/// Of the judged object or of the expression, or made by it and owned.
struct text_value {
    std::string_view view;
    std::shared_ptr<const std::string> owner;
};
struct datum;
using items = std::vector<datum>;

/// A value. Objects and lists of the judged object stay where they are.
struct datum : std::variant<
                   failure,
                   null_value,
                   bool,
                   std::int64_t,
                   double,
                   text_value,
                   std::shared_ptr<const items>,
                   const json::value*> {
    using variant::variant;
};

template <class T>
const T* as(const datum& d) {
    return std::get_if<T>(&d);
}

datum fail(std::string why);
datum no_such_overload();
datum from_json(const json::value& v);
datum made_text(std::string from);

/// What has been spent in one evaluation.
class meter {
public:
    void charge(std::uint64_t units) { spent_ += units; }
    /// As the real server charges a byte of text that is passed over.
    void charge_tenths(std::uint64_t count) { charge(count / 10 + (count % 10 == 0 ? 0 : 1)); }
    std::uint64_t spent() const { return spent_; }
    bool over() const { return spent_ > evaluation_limit; }

    /// The member, unless it is absent or null. A wide object in which much is looked for gets an
    /// index.
    const json::value* find(const json::value& object, std::string_view key);

private:
    struct wide_object {
        int looked = 0;
        std::unordered_map<std::string_view, const json::value*> members;
    };
    std::uint64_t spent_ = 0;
    std::unordered_map<const json::value*, wide_object> wide_;
};

/// A list, or the keys of an object.
class list_view {
public:
    explicit list_view(const json::value& of);
    explicit list_view(std::shared_ptr<const items> made);

    std::size_t size() const { return size_; }
    datum at(std::size_t index) const;

private:
    const json::value* of_ = nullptr;
    std::shared_ptr<const items> made_;
    std::size_t size_ = 0;
};

/// Nothing if it is no list.
std::optional<list_view> list_of(const datum& d);
const json::value* object_of(const datum& d);

datum member_of(const datum& of, const expression& e, meter& m);
/// `a op b` of operators that need both sides.
datum combined(op what, const datum& a, const datum& b, meter& m);
/// `pattern`: that of `matches` if it is known beforehand, else null.
datum call(const std::string& name, const items& with, const re2::RE2* pattern, meter& m);

}  // namespace signalbox::k8sio::server::cel

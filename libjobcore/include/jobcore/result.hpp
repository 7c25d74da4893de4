// SPDX-License-Identifier: Apache-2.0
//
// A value, or why there is none.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace signalbox::core {

/// The error of a result: one line, for people.
struct unexpected {
    std::string message;
};

/// What a function gives that may fail: a value or a message, never both. Plain value.
template <class T>
class result {
public:
    result(T value) : value_(std::move(value)) {}
    result(unexpected why) : error_(std::move(why.message)) {}

    bool has_value() const { return value_.has_value(); }
    explicit operator bool() const { return has_value(); }

    /// Only if there is one, as with std::optional.
    T& operator*() & { return *value_; }
    const T& operator*() const& { return *value_; }
    T&& operator*() && { return *std::move(value_); }
    T* operator->() { return &*value_; }
    const T* operator->() const { return &*value_; }

    /// Why there is no value; empty if there is one.
    const std::string& error() const { return error_; }

private:
    std::optional<T> value_;
    std::string error_;
};

}  // namespace signalbox::core

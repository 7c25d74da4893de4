// SPDX-License-Identifier: Apache-2.0
//
// Reads the members of one JSON object of a request; every mistake becomes an error at its place.
// Private to this folder.
#pragma once

#include "jobcore/time.hpp"
#include "json/json.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::core::text {

struct request_error {
    std::string pointer;  ///< RFC 6901, into the request
    std::string message;
};

/// A request with more mistakes has the rest of them left out.
inline constexpr std::size_t most_errors = 100;

/// The pointer of a member; of a long key it has the beginning.
std::string child_pointer(std::string_view pointer, std::string_view key);

/// Each member is asked for once, by its type; finish() reports those that were not asked for.
/// Values that are wrong, null included, or required and missing, are reported and read as absent.
class object_reader {
public:
    /// Reports it if `object` is none; then all members are absent, and none is reported.
    object_reader(
        const json::value& object, std::string pointer, std::vector<request_error>& errors
    );

    enum class need { optional, required };

    std::optional<std::string_view> text(std::string_view key, need n = need::optional);
    std::optional<std::int32_t> number(
        std::string_view key, std::int32_t least, need n = need::optional
    );
    bool flag(std::string_view key);
    std::optional<instant> time(std::string_view key, need n = need::optional);
    const json::value* object(std::string_view key, need n = need::optional);
    /// Elements of the array; nothing if it is absent.
    std::span<const json::value> array(std::string_view key);
    /// One of these texts.
    std::optional<std::string_view> choice(
        std::string_view key, std::span<const std::string_view> of, need n = need::optional
    );

    /// Reports members that were not asked for, and those that are there twice.
    void finish();

    void fail(std::string_view key, std::string message);
    const std::string& pointer() const { return pointer_; }

private:
    const json::value* find(std::string_view key, need n);

    const json::value* object_;
    std::string pointer_;
    std::vector<request_error>* errors_;
    std::vector<std::string_view> asked_;
};

}  // namespace signalbox::core::text

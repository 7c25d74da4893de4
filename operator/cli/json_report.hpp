// SPDX-License-Identifier: Apache-2.0
//
// What `--output json` prints: indented JSON, written as it is made.
#pragma once

#include <jobcore/strings.hpp>

#include <rapidjson/ostreamwrapper.h>
#include <rapidjson/prettywriter.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace signalbox::op::cli {

/// Members of objects in one call each; what is nested goes through `writer()`.
class json_report {
public:
    using writer_type = rapidjson::PrettyWriter<rapidjson::OStreamWrapper>;

    /// `out` must outlive the report.
    explicit json_report(std::ostream& out) : stream_(out), writer_(stream_) {
        writer_.SetIndent(' ', 2);
    }

    writer_type& writer() { return writer_; }

    /// Whatever it holds, a terminal obeys nothing of it (BEHAVIOUR.md 11.4).
    void text(std::string_view value) {
        std::string quoted;
        core::append_printable_json_string(quoted, value);
        writer_.RawValue(quoted.data(), quoted.size(), rapidjson::kStringType);
    }
    void text(const char* key, std::string_view value) {
        writer_.Key(key);
        text(value);
    }
    void number(const char* key, std::uint64_t value) {
        writer_.Key(key);
        writer_.Uint64(value);
    }
    void flag(const char* key, bool value) {
        writer_.Key(key);
        writer_.Bool(value);
    }
    /// `"key": [`, each of `items` by `write`, `]`.
    template <class Items, class Write>
    void list(const char* key, const Items& items, Write write) {
        writer_.Key(key);
        writer_.StartArray();
        for (const auto& item : items) {
            write(item);
        }
        writer_.EndArray();
    }

private:
    rapidjson::OStreamWrapper stream_;
    writer_type writer_;
};

}  // namespace signalbox::op::cli

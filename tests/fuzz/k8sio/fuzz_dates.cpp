// SPDX-License-Identifier: Apache-2.0
//
// Times as texts (REQUIREMENTS.md R8, R9): what is read and printed again is the same instant.
#include "fuzz.hpp"
#include "jobcore/time.hpp"
#include "protocol/http_date.hpp"

#include <string>

using namespace signalbox;
using namespace signalbox::k8sio::protocol;
using fuzz::require;
using k8sio::wall_time;
using std::chrono::floor;

namespace {

void read_api_time(std::string_view text) {
    const auto time = parse_api_time(text);
    if (!time || *time == wall_time::min() || *time == wall_time::max()) {
        return;  // no time, or one that only others hold
    }
    const auto again = parse_api_time(format_api_time(*time));
    require(again == floor<std::chrono::seconds>(*time), "to the second");
    const auto exact = parse_api_time(format_micro_time(*time));
    require(exact == floor<std::chrono::microseconds>(*time), "to the microsecond");
    // The core has a reader of its own, since it depends on nothing.
    const auto other = core::parse_time(text);
    require(other == floor<core::milliseconds>(*time), "as the core reads it");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    const auto date = parse_http_date(text);
    require(!date || format_http_date(*date) == text, "a date of HTTP has one form");
    read_api_time(text);
    if (size >= sizeof(std::int64_t)) {
        std::int64_t count = 0;
        for (std::size_t i = 0; i < sizeof count; ++i) {
            count = static_cast<std::int64_t>(static_cast<std::uint64_t>(count) << 8 | data[i]);
        }
        const wall_time time{std::chrono::nanoseconds{count}};
        const auto year = std::chrono::year_month_day(floor<std::chrono::days>(time)).year();
        if (year >= std::chrono::year(1678) && year <= std::chrono::year(2261)) {
            const auto to_second = floor<std::chrono::seconds>(time);
            require(parse_http_date(format_http_date(time)) == to_second, "any date is read again");
            read_api_time(format_micro_time(time));
        }
    }
    return 0;
}

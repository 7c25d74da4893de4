// SPDX-License-Identifier: Apache-2.0
//
// Values of any size, and jobs with such a value in one place.
#pragma once

#include "json/json.hpp"
#include "linear/filled_jobs.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace signalbox::test {

namespace json = signalbox::core::json;

/// A value as JSON, of about so many bytes.
using filling = std::function<std::string(std::size_t bytes)>;

/// `unit`, as it stands in JSON between quotes, again and again.
filling text_of(std::string unit);
/// `[item(0),item(1),...]`
filling list_of_items(std::function<std::string(std::size_t index)> item);
/// `{member(0),member(1),...}`
filling object_of(std::function<std::string(std::size_t index)> member);

/// `job` with that at `pointer`; what is missing on the way there is made.
filled_job filled_at(
    std::string_view name, std::string_view job, const std::string& pointer, filling fill
);

}  // namespace signalbox::test

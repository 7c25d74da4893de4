// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace signalbox::op::cli {

/// One line of text for XML or HTML, or the value of an attribute between double quotes. What
/// terminals obey, for which XML 1.0 has no form, is shown as core::in_one_line() shows it.
std::string markup_text(std::string_view text);

}  // namespace signalbox::op::cli

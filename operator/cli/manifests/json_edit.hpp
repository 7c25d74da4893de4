// SPDX-License-Identifier: Apache-2.0
//
// Small changes to JSON texts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace signalbox::op::manifests {

/// Applies a JSON merge patch (RFC 7386). Both texts must be JSON; else `target` comes back
/// unchanged.
std::string merge_patch(std::string_view target, std::string_view patch);

/// Without the members at these RFC 6901 pointers.
std::string without(std::string_view json, std::initializer_list<const char*> pointers);

/// The string at a pointer; empty if there is none.
std::string string_at(std::string_view json, const char* pointer);

/// With the string at a pointer set; parents are made.
std::string with_string(std::string_view json, const char* pointer, std::string_view value);

/// With another JSON value at a pointer.
std::string with_value(std::string_view json, const char* pointer, std::string_view value_json);

}  // namespace signalbox::op::manifests

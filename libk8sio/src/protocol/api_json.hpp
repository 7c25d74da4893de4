// SPDX-License-Identifier: Apache-2.0
//
// The few facts the client itself needs from JSON texts of the API: paging of lists, watch events
// and Status objects. Everything else is passed on as text.
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/request_options.hpp"
#include "k8sio/resource.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox::k8sio::protocol {

/// What an object says of itself.
struct object_facts {
    std::string api_version;
    std::string kind;
    std::string resource_version;
};
/// False if `object` is no JSON object. Absent fields stay empty.
bool read_object_facts(std::string_view object, object_facts& out);

/// The fields of a `Status` of the API go into `error`. False if `json` is none: `error` is
/// unchanged.
bool read_status(std::string_view json, api_error& error);

/// `item` of a list with apiVersion and kind, if it lacks them (L6).
std::string with_type(std::string_view item, const resource_type& type);

/// Cuts a list into its items without decoding them; apiVersion and kind are filled in (L6).
/// False if `body` is not a whole list object.
bool read_list(std::string_view body, const resource_type& type, list_page& out);

enum class event_type { added, modified, deleted, bookmark, error, unknown };

/// One line of a watch. `object` is a slice of the line.
struct watch_event {
    event_type type = event_type::unknown;
    std::string_view object;
    object_facts facts;
};
/// False if `line` is no event at all.
bool read_watch_event(std::string_view line, watch_event& out);

}  // namespace signalbox::k8sio::protocol

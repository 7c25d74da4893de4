// SPDX-License-Identifier: Apache-2.0
//
// Objects and lists as texts in the representation that the client asked for.
#pragma once

#include "k8sio/clock.hpp"
#include "server/answers/http_message.hpp"
#include "server/kinds/kind_info.hpp"
#include "server/store/store.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// What the `object` of a table's row holds (query parameter includeObject).
enum class row_object { metadata, none, whole };
row_object wanted_row_object(std::string_view include_object);

struct view {
    representation as = representation::plain;
    row_object rows = row_object::metadata;
};

struct list_facts {
    std::string version;
    std::string continue_token;
    std::optional<std::size_t> remaining;
};

std::string render_object(const kind_info& kind, const record& r, const view& v, wall_time now);
std::string render_list(
    const kind_info& kind,
    const std::vector<record_ptr>& items,
    const list_facts& facts,
    const view& v,
    wall_time now
);

/// A Table (meta.k8s.io/v1) of the records; table.cpp.
std::string render_table(
    const kind_info& kind,
    const std::vector<const record*>& items,
    const list_facts& facts,
    row_object rows,
    wall_time now
);

}  // namespace signalbox::k8sio::server

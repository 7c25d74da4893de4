// SPDX-License-Identifier: Apache-2.0
#include "controller/resource_table.hpp"

#include <algorithm>
#include <vector>

namespace signalbox::op {

namespace {

using k8sio::resource_type;

resource_type make_type(
    std::string_view api_version,
    std::string_view plural,
    std::string_view kind,
    bool namespaced = true
) {
    const std::size_t slash = api_version.find('/');
    const bool has_group = slash != api_version.npos;
    return resource_type(
        std::string(has_group ? api_version.substr(0, slash) : ""),
        std::string(has_group ? api_version.substr(slash + 1) : api_version),
        std::string(plural),
        std::string(kind),
        namespaced
    );
}

/// Types by the places of their kinds in a list that never changes.
template <class Kinds, class Make>
std::vector<resource_type> make_types(const Kinds& kinds, Make make) {
    std::vector<resource_type> types;
    types.reserve(std::size(kinds));
    for (const auto kind : kinds) {
        types.push_back(make(kind));
    }
    return types;
}

template <class Kinds, class Kind>
std::size_t place_of(const Kinds& kinds, Kind kind) {
    return static_cast<std::size_t>(std::ranges::find(kinds, kind) - std::ranges::begin(kinds));
}

watched how_watched(core::object_kind kind) {
    if (kind == core::object_kind::secret) {
        return watched::by_name;
    }
    return kind->extension ? watched::if_served : watched::always;
}

std::vector<watched_kind> list_watched() {
    std::vector<watched_kind> rows;
    for (const core::object_kind kind : core::all_child_kinds()) {
        if (kind != core::object_kind::pod) {
            rows.push_back({kind, &type_of(kind, core::job_kind{}), how_watched(kind)});
        }
    }
    return rows;
}

}  // namespace

std::span<const watched_kind> watched_children() {
    static const std::vector<watched_kind> rows = list_watched();
    return rows;
}

const resource_type& type_of(core::job_kind job) {
    static const auto types = make_types(core::all_job_kinds, [](core::job_kind kind) {
        return make_type(core::api_version, core::plural(kind), core::to_string(kind));
    });
    return types[place_of(core::all_job_kinds, job)];
}

const resource_type& type_of(core::object_kind kind, core::job_kind job) {
    const auto make = [](core::object_kind one) {
        const bool namespaced = one->use != core::kind_use::reading;
        return make_type(one->api_version, one->plural, one->name, namespaced);
    };
    static const auto types = make_types(core::all_child_kinds(), make);
    static const auto read_types = make_types(core::all_read_kinds(), make);
    if (kind->use == core::kind_use::reading) {
        return read_types[place_of(core::all_read_kinds(), kind)];
    }
    return kind == core::object_kind::job ? type_of(job)
                                          : types[place_of(core::all_child_kinds(), kind)];
}

bool is_same_resource(const resource_type& a, const resource_type& b) {
    return a.group() == b.group() && a.plural() == b.plural();
}

}  // namespace signalbox::op

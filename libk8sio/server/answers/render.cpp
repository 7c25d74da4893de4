// SPDX-License-Identifier: Apache-2.0
#include "server/answers/render.hpp"

#include <fmt/format.h>

namespace signalbox::k8sio::server {
namespace {

constexpr std::string_view partial_header =
    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",";

std::string metadata_only(const record& r) {
    return std::string(partial_header) + r.tail.substr(0, r.metadata_end) + "}";
}

std::string list_metadata(const list_facts& facts) {
    std::string out = fmt::format("{{\"resourceVersion\":\"{}\"", facts.version);
    if (!facts.continue_token.empty()) {
        out += fmt::format(",\"continue\":\"{}\"", facts.continue_token);
    }
    if (facts.remaining) {
        out += fmt::format(",\"remainingItemCount\":{}", *facts.remaining);
    }
    return out + "}";
}

}  // namespace

row_object wanted_row_object(std::string_view include_object) {
    return include_object == "None"     ? row_object::none
           : include_object == "Object" ? row_object::whole
                                        : row_object::metadata;
}

std::string render_object(const kind_info& kind, const record& r, const view& v, wall_time now) {
    switch (v.as) {
        case representation::table:
            return render_table(kind, {&r}, {std::to_string(r.version), "", {}}, v.rows, now);
        case representation::partial:
            return metadata_only(r);
        case representation::plain:
        case representation::unacceptable:
            break;
    }
    return r.text(kind);
}

std::string render_list(
    const kind_info& kind,
    const std::vector<record_ptr>& items,
    const list_facts& facts,
    const view& v,
    wall_time now
) {
    if (v.as == representation::table) {
        std::vector<const record*> pointers;
        pointers.reserve(items.size());
        for (const record_ptr& r : items) {
            pointers.push_back(r.get());
        }
        return render_table(kind, pointers, facts, v.rows, now);
    }
    const bool partial = v.as == representation::partial;
    std::string out = fmt::format(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{},\"items\":[",
        partial ? "PartialObjectMetadataList" : kind.list_kind(),
        partial ? "meta.k8s.io/v1" : kind.api_version(),
        list_metadata(facts)
    );
    bool first = true;
    for (const record_ptr& r : items) {
        if (!first) {
            out += ',';
        }
        first = false;
        if (partial) {
            out += metadata_only(*r);
        } else if (kind.has(trait::custom)) {
            out += r->text(kind);
        } else {
            out += '{';  // items of built-in lists carry no kind (REQUIREMENTS.md L6)
            out += r->tail_of(kind);
        }
    }
    return out + "]}";
}

}  // namespace signalbox::k8sio::server

// SPDX-License-Identifier: Apache-2.0
//
// Whether a live object with keys is what the operator makes (BEHAVIOUR.md 2.13).
#include "jobcore/decide.hpp"
#include "json/json.hpp"
#include "kubernetes/base64.hpp"
#include "render/render_data.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace signalbox::core {
namespace {

using values = std::map<std::string_view, std::string_view, std::less<>>;

/// Views into the document. A value that is no text stands for one that is never written.
values values_of(const json::value* data) {
    values out;
    if (data != nullptr && data->IsObject()) {
        for (const auto& [key, value] : data->GetObject()) {
            out.emplace(json::view(key), value.IsString() ? json::view(value) : "!");
        }
    }
    return out;
}

/// The pairs of the private keys that the object has.
key_pairs pairs_in(
    const values& live, std::span<const key_slot> slots, const key_reader& read_key
) {
    key_pairs out;
    for (const key_slot& slot : slots) {
        const auto value = live.find(slot.data_key);
        if (slot.form != key_form::private_pem || value == live.end()) {
            continue;
        }
        const auto pem = kubernetes::base64_decode(value->second);
        if (auto pair = pem ? read_key(*pem) : std::nullopt) {
            out.emplace(slot.key, *std::move(pair));
        }
    }
    return out;
}

key_standing standing_of_keys(
    const job_plan& plan,
    const planned_object& object,
    std::string_view object_json,
    const key_reader& read_key
) {
    json::document document;
    json::parse(document, object_json);
    if (document.HasParseError() || !document.IsObject()) {
        return key_standing::foreign;
    }
    const values live = values_of(json::find(document, "data"));
    const auto expected = secret_data(plan, object, pairs_in(live, object.key_slots, read_key));
    const secret_render& secret = plan.render->secret;
    const json::value* immutable = json::find(document, "immutable");
    bool as_written = json::string_or_empty(document, "type") == secret.type &&
                      immutable != nullptr && immutable->IsTrue() && live.size() == expected.size();
    for (const auto& [key, wanted] : expected) {
        const auto there = live.find(key);
        if (there != live.end() && there->second != wanted) {
            const auto text = kubernetes::base64_decode(there->second);
            if (!text || secret.is_of_ours == nullptr || !secret.is_of_ours(key, *text)) {
                return key_standing::foreign;
            }
        }
        as_written = as_written && there != live.end() && there->second == wanted;
    }
    return as_written ? key_standing::found : key_standing::outdated;
}

}  // namespace

key_standing standing_of_keys(
    const job_object& job, std::string_view object_json, const key_reader& read_key
) {
    if (!job.compiled || !job.compiled->plan) {
        return key_standing::found;
    }
    const job_plan& plan = *job.compiled->plan;
    const auto object = std::ranges::find_if(plan.objects, &planned_object::has_keys);
    return object == plan.objects.end() ? key_standing::found
                                        : standing_of_keys(plan, *object, object_json, read_key);
}

}  // namespace signalbox::core

// SPDX-License-Identifier: Apache-2.0
//
// Whether one JSON value is in another.
#include "cli/stories/expectations.hpp"

#include <jobcore/strings.hpp>

namespace signalbox::op::stories {

namespace {

bool is_within(const json_value& wanted, const json_value& found) {
    std::vector<mismatch> none;
    compare_subset(wanted, &found, "", none);
    return none.empty();
}

/// Each item has its counterpart, in the same order; others may stand between.
void compare_lists(
    const json_value& wanted,
    const json_value& found,
    const std::string& pointer,
    std::vector<mismatch>& into
) {
    rapidjson::SizeType at = 0;
    for (rapidjson::SizeType i = 0; i < wanted.Size(); ++i) {
        while (at < found.Size() && !is_within(wanted[i], found[at])) {
            ++at;
        }
        if (at == found.Size()) {
            into.push_back(
                {core::child_pointer(pointer, static_cast<std::size_t>(i)),
                 json_text(wanted[i]),
                 "no such item in " + json_text(found),
                 ""}
            );
            return;
        }
        ++at;
    }
    if (wanted.Empty() && !found.Empty()) {
        into.push_back({pointer, "[]", json_text(found), ""});
    }
}

}  // namespace

void compare_subset(
    const json_value& wanted,
    const json_value* found,
    const std::string& pointer,
    std::vector<mismatch>& into
) {
    if (found == nullptr || found->IsNull()) {
        if (!wanted.IsNull()) {
            into.push_back({pointer, json_text(wanted), "nothing", "null"});
        }
        return;
    }
    if (wanted.IsObject() && found->IsObject()) {
        for (const auto& member : wanted.GetObject()) {
            const auto it = found->FindMember(member.name);
            compare_subset(
                member.value,
                it == found->MemberEnd() ? nullptr : &it->value,
                core::child_pointer(pointer, text_of(member.name)),
                into
            );
        }
        return;
    }
    if (wanted.IsArray() && found->IsArray()) {
        compare_lists(wanted, *found, pointer, into);
        return;
    }
    if (wanted != *found) {
        const bool one_value = !found->IsObject() && !found->IsArray();
        const std::string text = json_text(*found);
        into.push_back({pointer, json_text(wanted), text, one_value ? text : ""});
    }
}

}  // namespace signalbox::op::stories

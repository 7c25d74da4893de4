// SPDX-License-Identifier: Apache-2.0
#include "protocol/metadata_change.hpp"

#include "protocol/json_cursor.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::protocol {

namespace {

constexpr int most_patches = 3;

void read_finalizers(json_cursor& cursor, object_ties& out) {
    if (!cursor.begin_array()) {
        cursor.skip();
        return;
    }
    while (cursor.next_element()) {
        std::string one;
        if (cursor.string(one)) {
            out.finalizers.push_back(std::move(one));
        }
    }
}

void read_owners(json_cursor& cursor, object_ties& out) {
    if (!cursor.begin_array()) {
        cursor.skip();
        return;
    }
    while (cursor.next_element()) {
        object_ties::owner one;
        one.text = cursor.skip();
        json_cursor reference(one.text);
        read_members(reference, {{"uid", &one.uid}, {"controller", [&one](json_cursor& value) {
                                                         one.controller = value.skip() == "true";
                                                     }}});
        out.owners.push_back(std::move(one));
    }
}

void append_member(std::string& out, std::string_view key, std::string_view value) {
    out += out.back() == '{' ? "" : ",";
    append_json_string(out, key);
    out += ':';
    append_json_string(out, value);
}

std::string text_of(const owner_reference& owner) {
    std::string out = "{";
    append_member(out, "apiVersion", owner.api_version);
    append_member(out, "kind", owner.kind);
    append_member(out, "name", owner.name);
    append_member(out, "uid", owner.uid);
    if (owner.controller) {
        out += R"(,"controller":true,"blockOwnerDeletion":true)";
    }
    return out + "}";
}

std::string list_of(const std::vector<std::string>& texts) {
    std::string out = "[";
    for (const std::string& text : texts) {
        out += (out.size() > 1 ? "," : "") + text;
    }
    return out + "]";
}

std::string list_of_strings(std::vector<std::string> values) {
    for (std::string& value : values) {
        std::string quoted;
        append_json_string(quoted, value);
        value = std::move(quoted);
    }
    return list_of(values);
}

api_error refused(std::string message) {
    return make_error(errc::invalid_argument, std::move(message));
}

}  // namespace

std::optional<object_ties> read_ties(std::string_view object_json) {
    object_ties found;
    if (!is_json_object(object_json)) {
        return std::nullopt;
    }
    json_cursor cursor(object_json);
    read_members(cursor, {{"metadata", [&found](json_cursor& metadata) {
                               read_members(
                                   metadata,
                                   {{"uid", &found.uid},
                                    {"resourceVersion", &found.version},
                                    {"finalizers",
                                     [&found](json_cursor& c) { read_finalizers(c, found); }},
                                    {"ownerReferences",
                                     [&found](json_cursor& c) { read_owners(c, found); }}}
                               );
                           }}});
    return found;
}

result<std::string> owners_with(const object_ties& ties, const owner_reference& owner) {
    if (owner.api_version.empty() || owner.kind.empty() || owner.name.empty() ||
        owner.uid.empty()) {
        return refused("an owner reference needs apiVersion, kind, name and uid");
    }
    std::vector<std::string> texts;
    bool present = false;
    for (const object_ties::owner& each : ties.owners) {
        if (each.uid == owner.uid) {
            present = each.controller == owner.controller;
        } else if (each.controller && owner.controller) {
            return refused("the object has another controller: " + each.text);
        } else {
            texts.push_back(each.text);
        }
    }
    texts.push_back(text_of(owner));
    return present ? std::string() : list_of(texts);
}

std::string finalizers_with(const object_ties& ties, std::string_view finalizer) {
    std::vector<std::string> all = ties.finalizers;
    if (std::find(all.begin(), all.end(), finalizer) != all.end()) {
        return {};
    }
    all.emplace_back(finalizer);
    return list_of_strings(std::move(all));
}

std::string finalizers_without(const object_ties& ties, std::string_view finalizer) {
    std::vector<std::string> all = ties.finalizers;
    if (std::erase(all, finalizer) == 0) {
        return {};
    }
    return list_of_strings(std::move(all));
}

metadata_change::metadata_change(
    std::string uid, std::string member, missing gone, change_function change
)
    : uid_(std::move(uid)), member_(std::move(member)), gone_(gone), change_(std::move(change)) {}

void metadata_change::end_without_object(api_error error) {
    if (gone_ == missing::is_success) {
        outcome_ = std::string();
    } else {
        outcome_ = std::move(error);
    }
}

void metadata_change::on_answer(const result<std::string>& answer) {
    if (answer.has_error() && answer.error().http_status == 404) {
        end_without_object(answer.error());
    } else if (!patch_) {
        on_read(answer);
    } else if (answer.has_error() && answer.error().http_status == 409 && patches_ < most_patches) {
        patch_.reset();  // somebody else was first: look again
    } else {
        outcome_ = answer;
    }
}

void metadata_change::on_read(const result<std::string>& answer) {
    if (answer.has_error()) {
        outcome_ = answer;
        return;
    }
    const std::optional<object_ties> ties = read_ties(*answer);
    if (!ties || ties->uid.empty()) {
        api_error error = make_error(errc::bad_response, "the answer is no object with a UID");
        outcome_ = std::move(error);
        return;
    }
    if (!uid_.empty() && ties->uid != uid_) {
        api_error error =
            status_error(404, "NotFound", "the object of that name has the UID " + ties->uid);
        end_without_object(std::move(error));
        return;
    }
    const result<std::string> list = change_(*ties);
    if (list.has_error()) {
        outcome_ = list;
    } else if (list->empty()) {
        outcome_ = answer;
    } else {
        std::string body = R"({"metadata":{)";
        append_member(body, "uid", ties->uid);
        append_member(body, "resourceVersion", ties->version);
        body += ",\"" + member_ + "\":" + *list + "}}";
        patch_ = std::move(body);
        ++patches_;
    }
}

}  // namespace signalbox::k8sio::protocol

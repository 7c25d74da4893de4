// SPDX-License-Identifier: Apache-2.0
#include "render/deployment_content.hpp"

#include "strings/content_hash.hpp"

#include <string_view>
#include <utility>

namespace signalbox::core {
namespace {

constexpr std::string_view board_word = "tensorboard";  // the program, and its container
constexpr std::string_view our_volumes = "logs-";

/// The items of a list of objects, if it is one.
template <class Each>
void for_each_object(const json::value* list, Each each) {
    if (list != nullptr && list->IsArray()) {
        for (const json::value& item : list->GetArray()) {
            if (item.IsObject()) {
                each(item);
            }
        }
    }
}

bool is_true(const json::value* v) {
    return v != nullptr && v->IsTrue();
}

/// Its words from the program on: what wraps it stands before.
void add_words(content_hash& hash, const json::value& container) {
    bool begun = false;
    for (const char* list : {"command", "args"}) {
        const json::value* words = json::find(container, list);
        for (rapidjson::SizeType i = 0; words != nullptr && words->IsArray() && i < words->Size();
             ++i) {
            const json::value& word = (*words)[i];
            const std::string_view text = word.IsString() ? json::view(word) : "";
            begun = begun || text == board_word;
            if (begun) {
                hash.field(text);
            }
        }
    }
}

void add_container(content_hash& hash, const json::value& container) {
    add_words(hash, container);
    hash.number(is_true(json::find(container, "securityContext", "privileged")) ? 1 : 0);
    for_each_object(json::find(container, "envFrom"), [&](const json::value& source) {
        for (const char* kind : {"secretRef", "configMapRef"}) {
            if (const json::value* named = json::find(source, kind)) {
                hash.field(kind).field(json::string_or_empty(*named, "name"));
            }
        }
    });
    for_each_object(json::find(container, "volumeMounts"), [&](const json::value& mount) {
        const auto volume = json::string_or_empty(mount, "name");
        if (volume.starts_with(our_volumes)) {
            hash.field(volume)
                .field(json::string_or_empty(mount, "mountPath"))
                .field(json::string_or_empty(mount, "subPath"));
        }
    });
}

}  // namespace

std::uint64_t deployment_content(const json::value& spec) {
    content_hash hash;
    const json::value* pod = json::find(spec, "template", "spec");
    if (pod == nullptr) {
        return hash.value();
    }
    const auto account = json::string_or_empty(*pod, "serviceAccountName");
    hash.field(account == "default" ? "" : account);
    for (const char* shared : {"hostNetwork", "hostPID", "hostIPC"}) {
        hash.number(is_true(json::find(*pod, shared)) ? 1 : 0);
    }
    for_each_object(json::find(*pod, "volumes"), [&](const json::value& volume) {
        const auto name = json::string_or_empty(volume, "name");
        const json::value* claim = json::find(volume, "persistentVolumeClaim");
        if (name.starts_with(our_volumes)) {
            hash.field(name).field(
                claim == nullptr ? "" : json::string_or_empty(*claim, "claimName")
            );
        }
    });
    for_each_object(json::find(*pod, "containers"), [&](const json::value& container) {
        if (json::string_or_empty(container, "name") == board_word) {
            add_container(hash, container);
        }
    });
    return hash.value();
}

}  // namespace signalbox::core

// SPDX-License-Identifier: Apache-2.0
#include "controller/object_text.hpp"

#include <rapidjson/document.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>

namespace signalbox::op {

namespace {

constexpr unsigned parse_flags = rapidjson::kParseIterativeFlag;

std::string_view view(const rapidjson::Value& v) {
    return {v.GetString(), v.GetStringLength()};
}

/// Collects the string members of `metadata` and stops the parser at its end.
class identity_handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, identity_handler> {
public:
    explicit identity_handler(object_identity& into) : into_(&into) {}

    bool Default() {
        wanted_ = nullptr;
        return true;
    }
    bool String(const char* text, rapidjson::SizeType length, bool) {
        if (wanted_ != nullptr) {
            wanted_->assign(text, length);
        }
        return Default();
    }
    bool Key(const char* text, rapidjson::SizeType length, bool) {
        const std::string_view key(text, length);
        wanted_ = nullptr;
        if (depth_ == 1) {
            in_metadata_ = key == "metadata";
        } else if (depth_ == 2 && in_metadata_) {
            wanted_ = field(key);
        }
        return true;
    }
    bool StartObject() { return enter(); }
    bool StartArray() { return enter(); }
    bool EndObject(rapidjson::SizeType) { return leave(); }
    bool EndArray(rapidjson::SizeType) { return leave(); }

private:
    bool enter() {
        ++depth_;
        return Default();
    }
    bool leave() {
        --depth_;
        return !(depth_ == 1 && in_metadata_);  // nothing of interest comes after metadata
    }
    std::string* field(std::string_view key) {
        if (key == "uid") {
            return &into_->uid;
        }
        if (key == "resourceVersion") {
            return &into_->resource_version;
        }
        if (key == "name") {
            return &into_->name;
        }
        return key == "namespace" ? &into_->ns : nullptr;
    }

    object_identity* into_;
    std::string* wanted_ = nullptr;
    int depth_ = 0;
    bool in_metadata_ = false;
};

void member(
    rapidjson::Writer<rapidjson::StringBuffer>& out, std::string_view key, std::string_view value
) {
    out.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
    out.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

const rapidjson::Value* labels_of(const rapidjson::Document& object) {
    if (!object.IsObject()) {
        return nullptr;
    }
    const auto metadata = object.FindMember("metadata");
    if (metadata == object.MemberEnd() || !metadata->value.IsObject()) {
        return nullptr;
    }
    const auto labels = metadata->value.FindMember("labels");
    const bool found = labels != metadata->value.MemberEnd() && labels->value.IsObject();
    return found ? &labels->value : nullptr;
}

/// Labels of BEHAVIOUR.md 1.6 that may be put back.
bool is_restorable(std::string_view label) {
    constexpr std::array ours{
        std::string_view("tensorstack.dev/owner-name"),
        std::string_view("tensorstack.dev/owner-kind"),
        std::string_view("tensorstack.dev/component"),
        std::string_view("replica-type"),
        std::string_view("replica-index"),
        std::string_view("job-role"),
        std::string_view("batch.tensorstack.dev/job-uid"),
        std::string_view("app.kubernetes.io/managed-by"),
    };
    for (const std::string_view name : ours) {
        if (name == label) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::optional<object_identity> read_identity(std::string_view object_json) {
    object_identity identity;
    identity_handler handler(identity);
    rapidjson::MemoryStream bytes(object_json.data(), object_json.size());
    rapidjson::Reader reader;
    // Ends with kParseErrorTermination when the handler has what it wants.
    reader.Parse<parse_flags>(bytes, handler);
    if (identity.uid.empty()) {
        return std::nullopt;
    }
    return identity;
}

std::string status_body(const core::job_object& job, const core::job_status& status) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    out.StartObject();
    member(out, "apiVersion", core::api_version);
    member(out, "kind", core::to_string(job.meta.kind));
    out.Key("metadata");
    out.StartObject();
    member(out, "name", job.meta.name);
    member(out, "namespace", job.meta.ns);
    member(out, "uid", job.meta.uid);
    member(out, "resourceVersion", job.meta.resource_version);
    out.EndObject();
    out.Key("status");
    const std::string text = core::format_status(status, job.meta.kind);
    out.RawValue(text.data(), text.size(), rapidjson::kObjectType);
    out.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

std::string with_uid_precondition(std::string_view body, std::string_view uid) {
    rapidjson::Document patch;
    patch.Parse<parse_flags>(body.data(), body.size());
    if (patch.HasParseError() || !patch.IsObject()) {
        return {};
    }
    auto& memory = patch.GetAllocator();
    if (!patch.HasMember("metadata")) {
        patch.AddMember("metadata", rapidjson::Value(rapidjson::kObjectType), memory);
    }
    rapidjson::Value& metadata = patch["metadata"];
    if (!metadata.IsObject()) {
        return {};
    }
    metadata.RemoveMember("uid");
    rapidjson::Value text(uid.data(), static_cast<rapidjson::SizeType>(uid.size()), memory);
    metadata.AddMember("uid", text, memory);
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    patch.Accept(out);
    return {buffer.GetString(), buffer.GetSize()};
}

std::optional<std::string> label_patch(std::string_view wanted, std::string_view live) {
    const auto identity = read_identity(live);
    rapidjson::Document wanted_object;
    rapidjson::Document live_object;
    wanted_object.Parse<parse_flags>(wanted.data(), wanted.size());
    live_object.Parse<parse_flags>(live.data(), live.size());
    const rapidjson::Value* ours = labels_of(wanted_object);
    const rapidjson::Value* theirs = labels_of(live_object);
    if (!identity || ours == nullptr) {
        return std::nullopt;
    }
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    bool differs = false;
    out.StartObject();
    out.Key("metadata");
    out.StartObject();
    member(out, "uid", identity->uid);
    out.Key("labels");
    out.StartObject();
    for (const auto& label : ours->GetObject()) {
        if (!is_restorable(view(label.name)) || !label.value.IsString()) {
            continue;
        }
        const auto held = theirs == nullptr ? rapidjson::Value::ConstMemberIterator()
                                            : theirs->FindMember(label.name);
        if (theirs == nullptr || held == theirs->MemberEnd() || held->value != label.value) {
            member(out, view(label.name), view(label.value));
            differs = true;
        }
    }
    out.EndObject();
    out.EndObject();
    out.EndObject();
    if (!differs) {
        return std::nullopt;
    }
    return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace signalbox::op

// SPDX-License-Identifier: Apache-2.0
#include "cli/dev_watch.hpp"

#include <jobcore/spec.hpp>
#include <jobcore/status.hpp>

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/pointer.h>

namespace signalbox::op::cli {

namespace {

class fields {
public:
    explicit fields(std::string_view json) {
        document_.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
    }
    std::string text(const char* pointer) const {
        const rapidjson::Value* v =
            document_.HasParseError() ? nullptr : rapidjson::Pointer(pointer).Get(document_);
        return v != nullptr && v->IsString() ? v->GetString() : "";
    }
    std::int64_t number(const char* pointer) const {
        const rapidjson::Value* v =
            document_.HasParseError() ? nullptr : rapidjson::Pointer(pointer).Get(document_);
        return v != nullptr && v->IsInt64() ? v->GetInt64() : 0;
    }

private:
    rapidjson::Document document_;
};

}  // namespace

std::string display_name(std::string_view ns, std::string_view name) {
    return ns == "default" ? std::string(name) : fmt::format("{}/{}", ns, name);
}

void job_watch::upsert(std::string_view json) {
    const fields object(json);
    const core::job_status status = core::parse_status(json);
    job_row row;
    row.name = display_name(object.text("/metadata/namespace"), object.text("/metadata/name"));
    row.kind = object.text("/kind");
    row.phase = status.phase;
    row.ready = status.ready;
    row.restarts = status.backoff_count;
    row.reason = status.reason;
    row.duration = status.duration;
    to_.job(object.text("/metadata/uid"), std::move(row), elapsed_());
    changed_();
}

void job_watch::remove(std::string_view json) {
    to_.job_gone(fields(json).text("/metadata/uid"), elapsed_());
    changed_();
}

void event_watch::upsert(std::string_view json) {
    const fields object(json);
    if (!core::parse_job_kind(object.text("/involvedObject/kind"))) {
        return;
    }
    job_event seen;
    seen.type = object.text("/type");
    seen.reason = object.text("/reason");
    seen.message = object.text("/message");
    seen.from = object.text("/source/component");
    if (seen.from.empty()) {
        seen.from = object.text("/reportingComponent");
    }
    seen.count = std::max<std::int64_t>(1, object.number("/count"));
    seen.at = elapsed_();
    to_.event(
        display_name(object.text("/involvedObject/namespace"), object.text("/involvedObject/name")),
        std::move(seen)
    );
    changed_();
}

}  // namespace signalbox::op::cli

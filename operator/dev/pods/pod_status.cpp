// SPDX-License-Identifier: Apache-2.0
#include "pods/pod_status.hpp"

#include <jobcore/strings.hpp>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

namespace signalbox::op::pods {

namespace {

class patch_writer {
public:
    std::string write(const pod_status& s, std::string_view uid) {
        out_.StartObject();
        out_.Key("metadata");
        out_.StartObject();
        field("uid", uid);
        out_.EndObject();
        out_.Key("status");
        out_.StartObject();
        field("phase", s.phase);
        field_or_null("reason", s.reason);
        field_or_null("message", s.message);
        field_if("hostIP", s.host_ip);
        if (!s.pod_ip.empty()) {
            field("podIP", s.pod_ip);
            out_.Key("podIPs");
            out_.StartArray();
            out_.StartObject();
            field("ip", s.pod_ip);
            out_.EndObject();
            out_.EndArray();
        }
        time_if("startTime", s.accepted);
        conditions(s.conditions);
        statuses("initContainerStatuses", s.init_containers);
        statuses("containerStatuses", s.containers);
        out_.EndObject();
        out_.EndObject();
        return {buffer_.GetString(), buffer_.GetSize()};
    }

private:
    void field(const char* key, std::string_view value) {
        out_.Key(key);
        // What programs say as their last words may be no UTF-8.
        const std::string text = core::json_string(value);
        out_.RawValue(text.data(), text.size(), rapidjson::kStringType);
    }
    void field_if(const char* key, std::string_view value) {
        if (!value.empty()) {
            field(key, value);
        }
    }
    void field_or_null(const char* key, std::string_view value) {
        if (value.empty()) {
            out_.Key(key);
            out_.Null();
        } else {
            field(key, value);
        }
    }
    void flag(const char* key, bool value) {
        out_.Key(key);
        out_.Bool(value);
    }
    void number(const char* key, int value) {
        out_.Key(key);
        out_.Int(value);
    }
    void time_if(const char* key, std::optional<core::instant> value) {
        if (value) {
            field(key, core::format_time(*value));
        }
    }

    void conditions(const std::vector<pod_condition>& list) {
        out_.Key("conditions");
        out_.StartArray();
        for (const pod_condition& c : list) {
            out_.StartObject();
            field("type", c.type);
            field("status", c.holds ? "True" : "False");
            field("lastTransitionTime", core::format_time(c.since));
            field_if("reason", c.reason);
            field_if("message", c.message);
            out_.EndObject();
        }
        out_.EndArray();
    }

    void statuses(const char* key, const std::vector<container_status>& list) {
        if (list.empty()) {
            return;
        }
        out_.Key(key);
        out_.StartArray();
        for (const container_status& c : list) {
            out_.StartObject();
            field("name", c.name);
            field("image", c.image);
            field("imageID", "");
            number("restartCount", c.restarts);
            state("state", c.now);
            if (c.last) {
                state("lastState", *c.last);
            }
            flag("ready", c.ready);
            flag("started", c.started);
            out_.EndObject();
        }
        out_.EndArray();
    }

    void state(const char* key, const container_state& s) {
        out_.Key(key);
        out_.StartObject();
        out_.Key(
            s.what == container_state::kind::waiting   ? "waiting"
            : s.what == container_state::kind::running ? "running"
                                                       : "terminated"
        );
        out_.StartObject();
        if (s.what == container_state::kind::terminated) {
            number("exitCode", s.exit_code);
            if (s.signal != 0) {
                number("signal", s.signal);
            }
        }
        field_if("reason", s.reason);
        field_if("message", s.message);
        time_if("startedAt", s.started);
        time_if("finishedAt", s.finished);
        out_.EndObject();
        out_.EndObject();
    }

    rapidjson::StringBuffer buffer_;
    rapidjson::Writer<rapidjson::StringBuffer> out_{buffer_};
};

}  // namespace

void pod_status::set_condition(
    std::string_view type,
    bool holds,
    std::string_view why,
    std::string_view words,
    core::instant now
) {
    auto it = std::ranges::find(conditions, type, &pod_condition::type);
    if (it == conditions.end()) {
        it = conditions.insert(it, pod_condition{std::string(type), !holds, {}, {}, now});
    }
    it->since = it->holds == holds ? it->since : now;
    it->holds = holds;
    it->reason = why;
    it->message = words;
}

std::string status_patch(const pod_status& status, std::string_view uid) {
    return patch_writer().write(status, uid);
}

}  // namespace signalbox::op::pods

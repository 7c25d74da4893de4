// SPDX-License-Identifier: Apache-2.0
#include "text/response.hpp"

#include "jobcore/text.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

namespace signalbox::core::text {
namespace {

std::string_view to_text(key_form form) {
    return form == key_form::private_pem ? "privatePem" : "publicLine";
}

/// With milliseconds: a scheduler that waits for it must not be early.
std::string precise_time(instant t) {
    const auto fraction = (t - round_down_to_second(t)).count();
    std::string text = format_time(t);
    text.pop_back();  // the Z
    return fmt::format("{}.{:03}Z", text, fraction);
}

/// JSON text with the few forms that answers are made of.
class answer {
public:
    answer() {
        writer_.StartObject();
        text("apiVersion", api_version);
    }
    explicit answer(operation what) : answer() { text("operation", to_string(what)); }

    std::string end() {
        writer_.EndObject();
        return {buffer_.GetString(), buffer_.GetSize()};
    }

    void key(std::string_view name) {
        writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    }
    void text(std::string_view name, std::string_view value) {
        key(name);
        writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }
    void text_if(std::string_view name, std::string_view value) {
        if (!value.empty()) {
            text(name, value);
        }
    }
    void flag(std::string_view name, bool value) {
        key(name);
        writer_.Bool(value);
    }
    void number(std::string_view name, std::int64_t value) {
        key(name);
        writer_.Int64(value);
    }
    void raw(std::string_view name, std::string_view json_text) {
        key(name);
        writer_.RawValue(json_text.data(), json_text.size(), rapidjson::kObjectType);
    }
    void null(std::string_view name) {
        key(name);
        writer_.Null();
    }

    /// An array of what `write` writes for each element, in an object each.
    template <class Range, class Write>
    void objects(std::string_view name, const Range& range, Write write) {
        key(name);
        writer_.StartArray();
        for (const auto& element : range) {
            writer_.StartObject();
            write(element);
            writer_.EndObject();
        }
        writer_.EndArray();
    }
    template <class Write>
    void object(std::string_view name, Write write) {
        key(name);
        writer_.StartObject();
        write();
        writer_.EndObject();
    }
    template <class Write>
    void array(std::string_view name, Write write) {
        key(name);
        writer_.StartArray();
        write(writer_);
        writer_.EndArray();
    }

    void findings(std::span<const diagnostic> list) {
        objects("findings", list, [this](const diagnostic& d) {
            text("level", d.level == severity::error ? "error" : "warning");
            text("pointer", d.pointer);
            text("message", d.message);
            text_if("reason", d.reason);
        });
    }

    void key_slots(std::span<const key_slot> slots) {
        if (slots.empty()) {
            return;
        }
        objects("keySlots", slots, [this](const key_slot& slot) {
            text("dataKey", slot.data_key);
            text("key", slot.key);
            text("form", to_text(slot.form));
            text_if("prefix", slot.prefix);
        });
    }

    void write_action(const job_object& job, const decision& made, const action& a) {
        text("verb", to_string(a.what()));
        const bool is_job = a.kind == object_kind::job;
        text("kind", is_job ? to_string(job.meta.kind) : to_string(a.kind));
        text("objectApiVersion", is_job ? core::api_version : api_version_of(a.kind));
        text("name", a.name);
        text_if("uid", a.uid());
        if (a.what() == verb::create) {
            raw("object", preview_action(job, made, a));
            write_creation(*job.compiled->plan, a);
        }
        if (!a.body().empty()) {
            raw("patch", a.body());
            text_if("subresource", a.subresource());
        }
        const auto* deletion = std::get_if<delete_object>(&a.request);
        if (deletion != nullptr && deletion->foreground) {
            text("propagationPolicy", "Foreground");
        }
        if (const auto* log = std::get_if<read_log>(&a.request)) {
            text("podUid", log->pod_uid);
            text("container", log->container);
            number("lines", log->lines);
            number("bytes", log->bytes);
            text("until", precise_time(log->until));
        }
        if (a.not_before) {
            text("notBefore", precise_time(*a.not_before));
        }
        text("why", a.why);
        text("rule", a.rule);
    }

private:
    void write_creation(const job_plan& plan, const action& a) {
        if (const pod_identity* pod = a.pod()) {
            object("replica", [&] {
                text("type", plan.types[pod->type].name);
                number("index", pod->index);
                number("attempt", pod->attempt);
                number("round", pod->round);
            });
        } else if (const planned_object* object = find_object(plan, a.object()->object)) {
            key_slots(object->key_slots);
        }
    }

    rapidjson::StringBuffer buffer_;
    rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

std::vector<diagnostic> findings_of(const job_object& job) {
    return job.compiled ? job.compiled->findings : std::vector<diagnostic>();
}

struct planned_text {
    const planned_object* object = nullptr;  ///< null: a pod
    std::string json;
};

std::vector<planned_text> render_all(const job_plan& plan, std::int32_t attempt) {
    std::vector<planned_text> out;
    const render_options options;
    const auto add = [&](const planned_object& object) {
        out.push_back({&object, preview_object(plan, object, attempt, options)});
    };
    std::ranges::for_each(plan.objects, add);
    // The deciding pod first, as the operator creates them.
    std::vector<pod_identity> pods;
    for (std::size_t type = 0; type < plan.types.size(); ++type) {
        for (std::int32_t index = 0; index < plan.types[type].wanted; ++index) {
            pods.push_back({type, index, attempt, 0, 0});
        }
    }
    std::stable_partition(pods.begin(), pods.end(), [&](const pod_identity& pod) {
        return pod.type == plan.deciding_type && pod.index == 0 && plan.pod_stages.empty();
    });
    for (const pod_identity& pod : pods) {
        out.push_back({nullptr, render_pod(plan, pod, options)});
    }
    std::ranges::for_each(plan.companions, add);
    return out;
}

}  // namespace

std::string error_response(std::span<const request_error> errors) {
    answer out;
    out.objects("errors", errors, [&](const request_error& e) {
        out.text("pointer", e.pointer);
        out.text("message", e.message);
    });
    return out.end();
}

std::string findings_response(std::span<const diagnostic> findings) {
    answer out(operation::validate);
    out.flag("valid", !has_errors(findings));
    out.findings(findings);
    return out.end();
}

std::string decision_response(const job_object& job, const decision& d) {
    answer out(operation::decide);
    if (d.status) {
        out.raw("status", format_status(*d.status, job.meta.kind));
    } else {
        out.null("status");
    }
    out.number("defer", d.defer.count());
    out.array("stages", [&](auto& writer) {
        for (const stage& actions : d.stages) {
            writer.StartArray();
            for (const action& a : actions) {
                writer.StartObject();
                out.write_action(job, d, a);
                writer.EndObject();
            }
            writer.EndArray();
        }
    });
    if (d.keeps_logs) {
        out.flag("keepsLogs", true);
    }
    if (d.wake_up) {
        out.text("wakeUp", precise_time(*d.wake_up));
    } else {
        out.null("wakeUp");
    }
    out.objects("events", d.events, [&](const event& e) {
        out.text("type", e.warning ? "Warning" : "Normal");
        out.text("reason", e.reason);
        out.text("message", e.message);
    });
    out.findings(findings_of(job));
    return out.end();
}

std::string explain_response(std::span<const explain_line> lines) {
    answer out(operation::explain);
    out.objects("lines", lines, [&](const explain_line& line) {
        out.text("section", to_string(line.section));
        out.text("sentence", line.sentence);
        out.text_if("rule", line.rule);
    });
    return out.end();
}

std::string plan_response(
    const job_object& job, std::int32_t attempt, std::span<const diagnostic> findings
) {
    answer out(operation::plan);
    std::vector<planned_text> objects;
    if (job.compiled && job.compiled->plan && !has_errors(findings)) {
        objects = render_all(*job.compiled->plan, attempt);
    }
    out.objects("objects", objects, [&](const planned_text& planned) {
        out.raw("object", planned.json);
        if (planned.object != nullptr) {
            out.key_slots(planned.object->key_slots);
        }
    });
    out.findings(findings);
    return out.end();
}

}  // namespace signalbox::core::text

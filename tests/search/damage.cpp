// SPDX-License-Identifier: Apache-2.0
#include "damage.hpp"

#include "api/job/kinds.hpp"
#include "json/json.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <fmt/format.h>
#include <rapidjson/pointer.h>

#include <algorithm>
#include <array>
#include <utility>

namespace signalbox::search {

using namespace core;
using schema::field;
using schema::value_type;

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(mislabel::count)> mislabel_names{
    "gone", "index 7", "the other index", "another type", "attempt 9", "round 5"};

/// Indexes as a status has them.
bool holds_indexes(const field& f) {
    return f.name == "indexes";
}

bool names_type(const field& f) {
    return f.name == "type";
}

/// Puts together what can be written at every place of a status.
class inventor {
public:
    inventor(const world& w, std::string_view status) : w_(w) {
        json::parse(status_, status);
        for (const type_plan& type : valid_plan(w).types) {
            types_.push_back(type.name);
        }
    }

    std::vector<damage> all() {
        const field& root = *schema::schema_of(w_.job->meta.kind).status;
        for (const field& f : root.fields) {
            visit(f, "", &status_);
        }
        return std::move(out_);
    }

private:
    void add(const std::string& path, std::string value) {
        out_.push_back({path, std::move(value)});
    }

    static std::string text(std::string_view s) { return test::quoted(s); }

    std::vector<std::string> texts_of(const field& f) const {
        std::vector<std::string> out;
        for (const schema::enum_value& v : f.values) {
            out.push_back(text(v.name));
        }
        if (holds_indexes(f)) {
            return {text("0"), text("1"), text("0-2000000000"), text("7-3,x")};
        }
        if (names_type(f)) {
            std::ranges::transform(types_, std::back_inserter(out), text);
        }
        if (f.name == "scope") {
            out = {text("Job"), text("Replica")};
        }
        if (f.name == "status") {
            out = {text("True"), text("False")};
        }
        if (f.name == "scheduler") {
            out = {text("auto"), text("none"), text("kubernetes"), text("kueue")};
        }
        out.push_back(text("nonsense"));
        return out;
    }

    std::vector<std::string> values_of(const field& f) const {
        const auto time = [&](seconds from_now) { return text(format_time(w_.now + from_now)); };
        switch (f.type) {
            case value_type::integer:
                return {"-3", "0", "1", "7", "1000000000", "2147483647", "\"7\""};
            case value_type::time:
                return {
                    text("nonsense"),
                    text("1970-01-01T00:00:00Z"),
                    text("9999-12-31T23:59:59Z"),
                    time(seconds(-100)),
                    time(seconds(5'000))};
            case value_type::boolean:
                return {"true", "false", "\"true\""};
            case value_type::string: {
                auto out = texts_of(f);
                out.emplace_back("7");
                return out;
            }
            case value_type::string_list:
                return {"[]", "[\"nonsense\"]", "7"};
            default:
                return {"7", "[]", "{}"};
        }
    }

    /// What a field could have in a status that is not damaged.
    std::string sample(const field& f) const {
        switch (f.type) {
            case value_type::integer:
                return f.name == "index" ? "0" : "1";
            case value_type::time:
                return text(format_time(w_.now));
            case value_type::boolean:
                return "true";
            case value_type::string_list:
                return "[]";
            case value_type::object:
                return sample_object(f);
            case value_type::object_list:
                return "[" + sample_object(f) + "]";
            default:
                return names_type(f) ? text(types_.front()) : texts_of(f).front();
        }
    }

    std::string sample_object(const field& f) const {
        std::string members;
        for (const field& member : f.fields) {
            members += (members.empty() ? "" : ",") + text(member.name) + ":" + sample(member);
        }
        return "{" + members + "}";
    }

    void visit(const field& f, const std::string& parent, const json::value* in) {
        const std::string path = parent + "/" + std::string(f.name);
        const json::value* present = in == nullptr ? nullptr : json::find(*in, f.name);
        const bool started = w_.job->status.start_time.has_value();
        if ((path == "/queue" && !started) || (path == "/scheduler" && !has_pods())) {
            return;  // nothing is there that tells better
        }
        if (present != nullptr) {
            add(path, "");
        }
        for (std::string& value : values_of(f)) {
            add(path, std::move(value));
        }
        if (present == nullptr) {
            if (!f.fields.empty()) {
                add(path, sample(f));
            }
            return;
        }
        if (f.type == value_type::object) {
            for (const field& member : f.fields) {
                visit(member, path, present);
            }
        } else if (f.type == value_type::object_list && present->IsArray()) {
            visit_items(f, path, *present);
        }
    }

    /// Every item is taken away and doubled; of tasks and conditions, which are few, each member.
    void visit_items(const field& f, const std::string& path, const json::value& list) {
        for (rapidjson::SizeType i = 0; i < list.Size(); ++i) {
            const std::string item = fmt::format("{}/{}", path, i);
            add(item, "");
            for (const field& member : f.fields) {
                visit(member, item, &list[i]);
            }
        }
        if (!list.Empty()) {
            add(path + "/-", json::to_text(list[0]));
        }
    }

    bool has_pods() const {
        return std::ranges::any_of(w_.pods, [&](const pod_ptr& p) {
            return p->attempt == w_.job->status.attempt;
        });
    }

    const world& w_;
    json::document status_;
    std::vector<std::string> types_;
    std::vector<damage> out_;
};

job_status damaged(std::string_view status, const damage& d) {
    json::document whole;
    json::parse(whole, status);
    const rapidjson::Pointer at(d.path.c_str());
    if (d.value.empty()) {
        at.Erase(whole);
    } else {
        json::document value;
        json::parse(value, d.value);
        at.Set(whole, static_cast<const json::value&>(value));
    }
    return parse_status("{\"status\":" + json::to_text(whole) + "}");
}

std::string status_text(const world& w) {
    return format_status(w.job->status, w.job->meta.kind);
}

}  // namespace

std::string damage::words() const {
    std::string name = path.substr(1);
    std::ranges::replace(name, '/', '.');
    return value.empty() ? name + " removed" : name + " = " + value;
}

const damage_list& damages_of(const world& w) {
    const damage_list* known = w.context->damages_of(*w.job, w.now);
    return known != nullptr
               ? *known
               : w.context->keep_damages(w.job, w.now, inventor(w, status_text(w)).all());
}

void damage_status(world& w, const damage& d) {
    const bool fresh = w.known_job == w.job && !w.job_held;
    const std::string text = status_text(w);
    if (is_final(w.job->status.phase) && !w.harm.status) {
        w.harm.ended = w.job->status.phase;
    }
    if (!w.harm.status && w.job->status.attempt > 0) {
        const std::string& chosen = w.job->status.scheduler;
        w.harm.scheduled_by = {w.job->status.queue, chosen == "none" ? "" : chosen};
    }
    w.harm.status = true;
    w.harm.before_pods = std::ranges::none_of(w.pods, [&](const pod_ptr& p) {
        return p->attempt == w.job->status.attempt;
    });
    ++w.past.edits;
    set_job(w, damaged(text, d));
    w.known_job = fresh ? w.job : w.known_job;
}

std::string_view to_string(mislabel how) {
    return mislabel_names[static_cast<std::size_t>(how)];
}

void damage_labels(world& w, std::size_t pod, mislabel how) {
    w.harm.attempts.try_emplace(w.pods[pod]->uid, w.pods[pod]->attempt);
    change_pod(w, pod, [&](pod_record& p) {
        switch (how) {
            case mislabel::gone:
                p.attempt = gone_attempt;
                break;
            case mislabel::far_index:
                p.index = 7;
                break;
            case mislabel::other_index:
                p.index = p.index == 0 ? 1 : 0;
                break;
            case mislabel::type:
                p.type = p.type == "worker" ? "master" : "worker";
                break;
            case mislabel::attempt:
                p.attempt = 9;
                break;
            case mislabel::round:
                p.round = 5;
                break;
            case mislabel::count:
                break;
        }
    });
}

void hide_pod(world& w, std::size_t pod) {
    w.harm.hidden.push_back(w.pods[pod]->uid);
}

void unhide_pod(world& w, std::string_view name) {
    for (const pod_ptr& p : w.pods) {
        if (p->name == name) {
            std::erase(w.harm.hidden, p->uid);
        }
    }
}

}  // namespace signalbox::search

// SPDX-License-Identifier: Apache-2.0
#include "kueue/kueue_world.hpp"

#include "json/json.hpp"
#include "kueue/workload.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace signalbox::test {
namespace {

namespace json = core::json;

core::object_kind workload_kind() {
    return core::kinds_of_scheduler("kueue").front();
}

}  // namespace

kueue_world::kueue_world(const job_builder& job, std::string label)
    : builder_(job), label_(std::move(label)) {
    served_.set(workload_kind(), core::served::yes);
}

core::job_object kueue_world::read() const {
    std::string text = builder_.json();
    if (!label_.empty()) {
        text = merged(
            text, R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":)" + quoted(label_) + "}}}"
        );
    }
    text = merged(text, noted_);
    text = merged(text, R"({"metadata":{"generation":)" + std::to_string(generation_) + "}}");
    const auto head = core::read_job_head(text);
    if (!head) {
        throw std::runtime_error(head.error());
    }
    text = merged(text, R"({"status":)" + core::format_status(status_, head->meta.kind) + "}");
    auto job = core::read_job(text, compiled_);
    if (!job) {
        throw std::runtime_error(job.error());
    }
    return *std::move(job);
}

void kueue_world::apply() {
    ++generation_;
}

void kueue_world::set_label(std::string queue) {
    label_ = std::move(queue);
}

void kueue_world::restart() {
    answers_ = core::job_answers();
    compiled_.reset();
    dies_before_ = 0;
}

void kueue_world::count_write() {
    if (dies_before_ > 0 && --dies_before_ == 0) {
        throw killed();
    }
    ++writes_;
}

core::decision kueue_world::look() {
    core::job_object job = read();
    compiled_ = job.compiled;
    pod_records_.clear();
    child_records_.clear();
    pod_views_.clear();
    child_views_.clear();
    for (const object& o : objects_) {
        if (o.kind == core::object_kind::pod) {
            pod_records_.push_back(*core::decode_pod(o.json));
        } else {
            child_records_.push_back(*core::decode_child(o.kind, o.json));
        }
    }
    if (has_workload()) {
        child_records_.push_back(*core::decode_child(workload_kind(), workload_));
    }
    for (const auto& p : pod_records_) {
        pod_views_.push_back(&p);
    }
    for (const auto& c : child_records_) {
        child_views_.push_back(&c);
    }
    answers_.forget_disproved([&](core::object_kind kind, std::string_view name) {
        return std::ranges::any_of(
                   child_records_, [&](const auto& c) { return c.kind == kind && c.name == name; }
               ) ||
               std::ranges::any_of(pod_records_, [&](const auto& p) {
                   return kind == core::object_kind::pod && p.name == name;
               });
    });
    core::observed seen{
        pod_views_, child_views_, answers_.refusals(), answers_.absences(), served_};
    seen.readings = answers_.readings();
    return core::decide(job, seen, core::policy(), now_);
}

bool kueue_world::one_pass() {
    const core::decision made = look();
    core::job_object job = read();
    if (made.status) {
        count_write();
        status_ = *made.status;
        job.status = status_;
    }
    for (const core::event& e : made.events) {
        events_.push_back(e);
    }
    bool refused = false;
    const auto done = core::carry_out(answers_, made, status_, now_, [&](const core::action& a) {
        auto out = perform(job, made, a);
        refused = refused || std::holds_alternative<core::answer::refused>(out);
        return out;
    });
    keep_rules();
    return made.status || done == core::progress::made || refused;
}

void kueue_world::settle() {
    try {
        for (int pass = 0; pass < 200; ++pass) {
            if (!one_pass()) {
                return;
            }
        }
    } catch (const killed&) {
        return;
    }
    throw std::runtime_error("the decisions do not come to rest");
}

bool kueue_world::wake() {
    const auto next = look().wake_up;
    now_ = std::max(now_, next.value_or(now_));
    settle();
    return next.has_value();
}

/// Whatever was done, and in whatever order.
void kueue_world::keep_rules() {
    const int active = static_cast<int>(std::ranges::count_if(objects_, [this](const object& o) {
        if (o.kind != core::object_kind::pod) {
            return false;
        }
        const auto pod = core::decode_pod(o.json);
        const bool stuck = pod->deletion && now_ > *pod->deletion + core::policy().stuck_after;
        return !stuck &&
               (pod->phase == core::pod_phase::pending || pod->phase == core::pod_phase::running);
    }));
    const auto compiled = read().compiled;  // by the status that was written
    const bool asks = compiled->plan && compiled->plan->gang;
    taken_away_ = taken_away_ && active > 0;
    if (asks && !taken_away_ && active > used()) {
        throw std::runtime_error(
            std::to_string(active) + " pods with quota for " + std::to_string(used())
        );
    }
}

core::outcome kueue_world::perform(
    const core::job_object& job, const core::decision& made, const core::action& a
) {
    const auto named = [&](const object& o) { return o.kind == a.kind && o.name == a.name; };
    if (std::holds_alternative<core::read_object>(a.request)) {
        ++reads_;
        if (read_code_ != 0) {
            return core::answer::refused{read_code_, "Forbidden", "cannot get " + a.name};
        }
        return core::answer::told{flavors_[a.name]};
    }
    if (a.what() == core::verb::confirm) {
        const bool there =
            a.kind == workload_kind() ? has_workload() : std::ranges::any_of(objects_, named);
        return there ? core::outcome(core::answer::acknowledged{}) : core::answer::absent{};
    }
    count_write();
    if (a.kind == core::object_kind::job) {
        json::document patch;
        json::parse(patch, std::string(a.body()));
        noted_ = R"({"spec":)" + json::to_text(patch["spec"]) + "}";
        ++generation_;
        return core::answer::acknowledged{};
    }
    if (a.what() == core::verb::create) {
        std::string text = merged(
            core::preview_action(job, made, a),
            R"({"metadata":{"uid":"object-)" + std::to_string(++made_) +
                R"(","resourceVersion":"1","creationTimestamp":")" + core::format_time(now_) +
                R"("}})"
        );
        if (a.kind == core::object_kind::pod) {
            text = merged(text, R"({"status":{"phase":"Pending"}})");
        }
        if (a.kind == workload_kind()) {
            workload_ = text;
        } else {
            objects_.push_back({a.kind, a.name, text});
        }
        return core::answer::acknowledged{};
    }
    if (a.what() == core::verb::patch && a.kind == workload_kind()) {
        return patch_workload(a);
    }
    if (a.what() == core::verb::patch) {
        const auto o = std::ranges::find_if(objects_, named);
        o->json = merged(o->json, a.body());
    }
    if (a.what() == core::verb::remove && a.kind == workload_kind()) {
        workload_.clear();
    } else if (a.what() == core::verb::remove && a.kind == core::object_kind::pod) {
        for (object& o : objects_) {
            if (named(o)) {
                o.json = merged(
                    o.json,
                    R"({"metadata":{"deletionTimestamp":")" +
                        core::format_time(now_ + core::seconds(30)) +
                        R"(","deletionGracePeriodSeconds":30}})"
                );
            }
        }
    } else if (a.what() == core::verb::remove) {
        std::erase_if(objects_, named);
    }
    return core::answer::acknowledged{};
}

/// As Kueue's webhooks and its controllers take it.
core::outcome kueue_world::patch_workload(const core::action& a) {
    const auto text = patched(workload_, a.body(), a.subresource());
    if (!text) {
        return core::answer::unanswered{};  // 409
    }
    const bool of_status = !a.subresource().empty();
    if (auto why_not = workload::objection(workload_, *text, of_status); !why_not.empty()) {
        throw std::runtime_error(why_not);
    }
    patches_.emplace_back(a.body());
    change_workload(*text);
    return core::answer::acknowledged{};
}

void kueue_world::remove_workload() {
    workload_.clear();
    taken_away_ = true;
}

void kueue_world::run_all() {
    for (object& o : objects_) {
        if (o.kind == core::object_kind::pod &&
            core::decode_pod(o.json)->phase == core::pod_phase::pending) {
            json::document pod;
            json::parse(pod, o.json);
            const auto name = json::string_or_empty(pod["spec"]["containers"][0], "name");
            o.json = merged(
                o.json,
                R"({"spec":{"nodeName":"n"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],)"
                R"("containerStatuses":[{"name":")" +
                    std::string(name) + R"(","ready":true,"state":{"running":{"startedAt":")" +
                    core::format_time(now_) + R"("}}}]}})"
            );
        }
    }
}

void kueue_world::end_pod(const std::string& name, int code) {
    for (object& o : objects_) {
        if (o.kind == core::object_kind::pod && o.name.ends_with("-" + name)) {
            json::document pod;
            json::parse(pod, o.json);
            const auto container = json::string_or_empty(pod["spec"]["containers"][0], "name");
            o.json = merged(
                o.json,
                R"({"status":{"phase":")" + std::string(code == 0 ? "Succeeded" : "Failed") +
                    R"(","containerStatuses":[{"name":")" + std::string(container) +
                    R"(","state":{"terminated":{"exitCode":)" + std::to_string(code) +
                    R"(,"startedAt":")" + core::format_time(story_start) + R"(","finishedAt":")" +
                    core::format_time(now_) + R"("}}}]}})"
            );
        }
    }
}

void kueue_world::finish_deletions() {
    std::erase_if(objects_, [](const object& o) {
        return o.kind == core::object_kind::pod && core::decode_pod(o.json)->deletion;
    });
}

/// The object as Kueue has changed it: another version.
void kueue_world::change_workload(std::string text) {
    workload_ =
        merged(text, R"({"metadata":{"resourceVersion":"v)" + std::to_string(++made_) + "\"}}");
}

void kueue_world::admit(const std::map<std::string, int>& counts, const std::string& flavor) {
    change_workload(workload::with_quota(workload_, counts, flavor, /*admitted=*/true, now_));
}

void kueue_world::wait_with(const std::string& message) {
    change_workload(workload::waiting(workload_, message, now_));
}

void kueue_world::evict(const std::string& reason, const std::string& message) {
    change_workload(workload::evicted(workload_, reason, message, now_));
}

void kueue_world::add_flavor(const std::string& name, const std::string& spec) {
    flavors_[name] = R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec + "}";
}

std::string kueue_world::told(const std::string& type) const {
    return workload::told(workload_, type);
}

int kueue_world::used() const {
    return workload::used(workload_);
}

std::string kueue_world::waits_for() const {
    const core::condition* running = core::find_condition(status_, "Running");
    return running == nullptr ? "" : running->message;
}

std::vector<std::string> kueue_world::pods() const {
    std::vector<std::string> out;
    for (const object& o : objects_) {
        const auto pod = o.kind == core::object_kind::pod ? core::decode_pod(o.json) : std::nullopt;
        if (pod && !pod->deletion) {
            out.push_back(pod->type.str() + "-" + std::to_string(pod->index));
        }
    }
    std::ranges::sort(out);
    return out;
}

std::string kueue_world::pod_json(const std::string& name) const {
    const auto o = std::ranges::find_if(objects_, [&](const object& each) {
        return each.kind == core::object_kind::pod && each.name.ends_with("-" + name);
    });
    return o == objects_.end() ? std::string() : o->json;
}

}  // namespace signalbox::test

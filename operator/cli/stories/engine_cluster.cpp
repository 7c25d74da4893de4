// SPDX-License-Identifier: Apache-2.0
//
// The engine alone: decisions are carried out on objects in memory until nothing changes any more.
#include "cli/stories/cluster.hpp"
#include "manifests/json_edit.hpp"

#include <jobcore/carry_out.hpp>
#include <jobcore/decide.hpp>
#include <jobcore/evidence.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <variant>

namespace signalbox::op::stories {

namespace {

/// More decisions at one instant than any story needs.
constexpr int most_passes = 10'000;

/// An object with what decisions take of it.
struct kept_object {
    core::object_kind kind;
    std::string name, json;
    std::variant<core::pod_record, core::child_record> record;

    const core::pod_record* pod() const { return std::get_if<core::pod_record>(&record); }
};

std::string uid_of(std::string_view json) {
    return manifests::string_at(json, "/metadata/uid");
}

void decode(kept_object& o) {
    if (o.kind == core::object_kind::pod) {
        o.record = core::decode_pod(o.json).value_or(core::pod_record());
    } else {
        o.record = core::decode_child(o.kind, o.json).value_or(core::child_record());
    }
}

class engine_cluster final : public cluster {
public:
    explicit engine_cluster(const story& of)
        : policy_(of.policy), served_(of.served), reads_logs_(of.has_logs), now_(story_begin()) {
        store(of.job);
        for (const core::object_kind kind : core::all_child_kinds()) {
            if (kind->extension && served_.of(kind) == core::served::unknown) {
                served_.set(kind, core::served::no);
            }
        }
    }

    core::instant now() const override { return now_; }
    std::optional<core::instant> next_due() override { return wake_up_; }

    void go_to(core::instant when) override {
        now_ = std::max(now_, when);
        settle();
    }

    void settle() override {
        for (int pass = 0; pass < most_passes; ++pass) {
            if (job_.empty() || !one_pass()) {
                return;
            }
        }
        throw story_stopped("the decisions do not come to rest");
    }

    std::string job() override { return job_; }

    std::vector<child_object> children() override {
        std::vector<child_object> out;
        for (const kept_object& o : objects_) {
            out.push_back({o.kind, o.name, o.json});
        }
        return out;
    }

    std::vector<told_event> events() override { return events_; }
    const std::vector<done_action>& actions() const override { return actions_; }

    std::vector<core::explain_line> explain() override {
        const auto job = core::read_job(job_, compiled_);
        return job ? core::explain(*job, seen(), policy_, now_) : std::vector<core::explain_line>();
    }

    std::string change_job(const std::string& patch) override {
        patch_job(patch);
        return {};
    }

    std::string change_child(
        core::object_kind kind, const std::string& name, const std::string& patch
    ) override {
        kept_object* o = find(kind, name);
        if (o == nullptr) {
            return "it is not there";
        }
        o->json = manifests::merge_patch(o->json, patch);
        decode(*o);
        return {};
    }

    std::string remove_child(core::object_kind kind, const std::string& name, bool at_once)
        override {
        kept_object* o = find(kind, name);
        if (o == nullptr) {
            return "it is not there";
        }
        remove(*o, at_once);
        return {};
    }

    void stay_terminating(const std::string& pod) override { staying_.insert(pod); }
    void refuse(const refusal_rule& rule) override { refusals_.push_back(rule); }
    void serve(core::object_kind kind) override { served_.set(kind, core::served::yes); }
    void write_log(const std::string& pod, const std::string& text) override { logs_[pod] += text; }

    void restart_operator() override {
        answers_ = core::job_answers();
        compiled_.reset();
    }

private:
    core::observed seen() {
        pods_.clear();
        others_.clear();
        for (const kept_object& o : objects_) {
            if (const core::pod_record* pod = o.pod()) {
                pods_.push_back(pod);
            } else {
                others_.push_back(&std::get<core::child_record>(o.record));
            }
        }
        answers_.forget_disproved([&](core::object_kind kind, std::string_view name) {
            return find(kind, name) != nullptr;
        });
        core::observed out{pods_, others_, answers_.refusals(), answers_.absences(), served_};
        out.logs = answers_.logs();
        out.readings = answers_.readings();
        out.reads_logs = reads_logs_;
        return out;
    }

    /// True if anything was done.
    bool one_pass() {
        auto job = core::read_job(job_, compiled_);
        if (!job) {
            throw story_stopped(job.error());
        }
        compiled_ = job->compiled;
        const core::decision made = core::decide(*job, seen(), policy_, now_);
        wake_up_ = made.wake_up;
        if (made.status) {
            write_status(*job, *made.status);
        }
        for (const core::event& e : made.events) {
            events_.push_back({now_, e.warning, e.reason, e.message});
            tell(fmt::format("event {}: {}", e.reason, e.message));
        }
        refused_ = false;
        const auto done =
            core::carry_out(answers_, made, job->status, now_, [&](const core::action& a) {
                return perform(*job, made, a);
            });
        return done == core::progress::made || made.status.has_value() || refused_;
    }

    void write_status(core::job_object& job, const core::job_status& status) {
        const std::string before = summary_of(job_);
        job.status = status;
        store(manifests::with_value(job_, "/status", core::format_status(status, job.meta.kind)));
        if (const std::string after = summary_of(job_); after != before) {
            tell("the job is " + after);
        }
    }

    core::outcome perform(
        const core::job_object& job, const core::decision& made, const core::action& a
    ) {
        done_action done{
            now_,
            std::string(core::to_string(a.what())),
            std::string(core::to_string(a.kind)),
            a.name,
            replica_of_action(job, a),
            std::string(a.rule),
            a.why};
        if (auto no = refused(done, a)) {
            return *std::move(no);
        }
        tell(fmt::format("{} {} {}: {} ({})", done.verb, done.kind, a.name, a.why, a.rule));
        actions_.push_back(std::move(done));
        switch (a.what()) {
            case core::verb::create:
                create(job, made, a);
                break;
            case core::verb::patch:
                patch(a);
                break;
            case core::verb::remove:
                if (a.kind == core::object_kind::job) {
                    job_.clear();
                } else if (kept_object* o = find(a.kind, a.name)) {
                    remove(*o, false);
                }
                break;
            case core::verb::confirm:
                if (find(a.kind, a.name) == nullptr) {
                    return core::answer::absent{};
                }
                break;
            case core::verb::read: {
                if (std::holds_alternative<core::read_object>(a.request)) {
                    const kept_object* o = find(a.kind, a.name);
                    return core::answer::told{o == nullptr ? std::string() : o->json};
                }
                const auto& ask = std::get<core::read_log>(a.request);
                return core::answer::said{core::judge_log(ask.pod_uid, a.name, logs_[a.name])};
            }
        }
        return core::answer::acknowledged{};
    }

    std::string replica_of_action(const core::job_object& job, const core::action& a) {
        if (const core::pod_identity* pod = a.pod()) {
            return fmt::format("{}-{}", job.compiled->plan->types[pod->type].name, pod->index);
        }
        const kept_object* o = find(a.kind, a.name);
        return o != nullptr && o->pod() != nullptr ? replica_of(*o->pod()) : "";
    }

    std::optional<core::answer::refused> refused(const done_action& done, const core::action& a) {
        if (a.what() != core::verb::create && a.what() != core::verb::patch) {
            return std::nullopt;
        }
        for (refusal_rule& rule : refusals_) {
            if (!is_of(rule, done, a.kind)) {
                continue;
            }
            rule.times -= rule.times > 0 ? 1 : 0;
            refused_ = true;
            tell(fmt::format(
                "{} {} {} is refused: {} {} {}",
                done.verb,
                done.kind,
                a.name,
                rule.code,
                rule.reason,
                rule.message
            ));
            if (rule.reason == "AlreadyExists") {
                return core::answer::by_other_owner();
            }
            core::answer::refused no{rule.code, rule.reason, rule.message};
            no.namespace_terminating = rule.reason == "NamespaceTerminating";
            return no;
        }
        return std::nullopt;
    }

    void create(const core::job_object& job, const core::decision& made, const core::action& a) {
        ++made_;
        std::string json = core::preview_action(job, made, a);
        json = manifests::with_string(json, "/metadata/uid", fmt::format("object-{}", made_));
        json = manifests::with_string(json, "/metadata/creationTimestamp", core::format_time(now_));
        if (a.kind == core::object_kind::pod) {
            json = manifests::with_string(json, "/status/phase", "Pending");
        }
        kept_object o{a.kind, a.name, std::move(json), {}};
        decode(o);
        objects_.push_back(std::move(o));
    }

    void patch(const core::action& a) {
        const std::string body(a.body());
        if (a.kind == core::object_kind::job) {
            patch_job(body);
        } else if (kept_object* o = find(a.kind, a.name)) {
            o->json = manifests::merge_patch(o->json, body);
            decode(*o);
        }
    }

    void patch_job(const std::string& patch) {
        const std::string before = json_text(parsed(job_)["spec"]);
        std::string changed = manifests::merge_patch(job_, patch);
        const rapidjson::Document after = parsed(changed);
        if (json_text(after["spec"]) != before) {
            const auto generation = after["metadata"]["generation"].GetInt64() + 1;
            changed =
                manifests::with_value(changed, "/metadata/generation", fmt::to_string(generation));
        }
        store(changed);
    }

    /// Each version of the job is another one.
    void store(const std::string& job) {
        ++made_;
        job_ = manifests::with_string(job, "/metadata/resourceVersion", fmt::to_string(made_));
    }

    void remove(kept_object& o, bool at_once) {
        if (!at_once && o.kind == core::object_kind::pod && staying_.contains(o.name)) {
            if (manifests::string_at(o.json, "/metadata/deletionTimestamp").empty()) {
                const auto grace = core::seconds(30);
                o.json = manifests::with_string(
                    o.json, "/metadata/deletionTimestamp", core::format_time(now_ + grace)
                );
                o.json =
                    manifests::with_value(o.json, "/metadata/deletionGracePeriodSeconds", "30");
                decode(o);
            }
            return;
        }
        staying_.erase(o.name);
        const std::string uid = uid_of(o.json);
        std::erase_if(objects_, [&](const kept_object& other) {
            return uid_of(other.json) == uid;
        });
    }

    kept_object* find(core::object_kind kind, std::string_view name) {
        const auto it = std::ranges::find_if(objects_, [&](const kept_object& o) {
            return o.kind == kind && o.name == name;
        });
        return it == objects_.end() ? nullptr : &*it;
    }

    std::string job_;
    core::policy policy_;
    core::capabilities served_;
    bool reads_logs_;
    core::instant now_;
    std::optional<core::instant> wake_up_;
    std::shared_ptr<const core::compiled_job> compiled_;
    core::job_answers answers_;
    std::vector<kept_object> objects_;
    std::uint64_t made_ = 0;  ///< objects and versions of the job
    bool refused_ = false;    ///< anything, in this pass
    std::set<std::string> staying_;
    std::vector<refusal_rule> refusals_;
    std::map<std::string, std::string> logs_;
    std::vector<told_event> events_;
    std::vector<done_action> actions_;
    std::vector<const core::pod_record*> pods_;
    std::vector<const core::child_record*> others_;
};

}  // namespace

std::unique_ptr<cluster> make_engine_cluster(const story& of) {
    return std::make_unique<engine_cluster>(of);
}

}  // namespace signalbox::op::stories

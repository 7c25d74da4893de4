// SPDX-License-Identifier: Apache-2.0
#include "signalbox_test/world.hpp"

#include "jobcore/children.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace signalbox::test {

world::world(const job_builder& builder) : builder_(builder) {
    reload();
}
world::~world() = default;

void world::reload() {
    builder_.generation(++generation_);
    auto read = job_.compiled ? core::read_again(builder_.json(), job_)
                              : core::read_job(builder_.json(), nullptr);
    if (!read) {
        throw std::runtime_error("the test's job is not readable: " + read.error());
    }
    read->status = job_.status;
    job_ = std::move(*read);
}

const core::job_plan& world::plan() const {
    if (!job_.compiled->plan) {
        std::string text = "the test's job has no plan:";
        for (const auto& d : job_.compiled->findings) {
            text += "\n" + d.pointer + ": " + d.message;
        }
        throw std::runtime_error(text);
    }
    return *job_.compiled->plan;
}

core::decision world::look() const {
    std::vector<const core::pod_record*> pods;
    for (const auto& p : pods_) {
        pods.push_back(&p);
    }
    std::vector<const core::child_record*> children;
    for (const auto& c : children_) {
        children.push_back(&c);
    }
    core::observed seen{pods, children, refusals, absences, served, no_room};
    seen.admitted = admitted;
    seen.logs = read_;
    seen.reads_logs = reads_logs;
    seen.progress = reported.attempt > 0 ? &reported : nullptr;
    seen.progress_since = reported_since;
    seen.reports_to = receiver.url.empty() ? nullptr : &receiver;
    return core::decide(job_, seen, rules_, now_);
}

void world::report(core::progress_message said) {
    said.attempt = said.attempt == 0 ? job_.status.attempt : said.attempt;
    core::take_message(reported, said, now_);
}

bool world::pass() {
    const core::decision d = look();
    last_ = d;
    for (const auto& e : d.events) {
        events.push_back(e);
    }
    if (d.status) {
        const bool chosen =
            d.status->scheduler != job_.status.scheduler || d.status->queue != job_.status.queue;
        job_.status = *d.status;
        ++status_writes;
        if (chosen) {
            job_ = *core::read_again(builder_.json(), job_);  // BEHAVIOUR.md 12.16
        }
    }
    if (!d.keeps_logs) {
        read_.clear();
    }
    for (const auto& s : d.stages) {
        bool held = false;
        for (const auto& a : s) {
            if (a.not_before && *a.not_before > now_) {
                held = true;
            } else {
                held = !carry_out(a) || held;
            }
        }
        if (held) {
            break;
        }
    }
    return d.status.has_value() || acted(d);
}

void world::settle(int limit) {
    for (int i = 0; i < limit; ++i) {
        if (!pass()) {
            return;
        }
    }
    throw std::runtime_error("the job does not come to rest");
}

bool world::wake() {
    const auto t = look().wake_up;
    if (!t) {
        return false;
    }
    now_ = std::max(now_, *t);
    settle();
    return true;
}

core::pod_record* world::find(const std::string& type, int index) {
    core::pod_record* found = nullptr;
    for (auto& p : pods_) {
        const bool newer = found == nullptr ||
                           std::pair(p.attempt, p.round) > std::pair(found->attempt, found->round);
        if (p.type == type && p.index == index && newer) {
            found = &p;
        }
    }
    return found;
}

core::pod_record& world::pod(const std::string& type, int index) {
    auto* found = find(type, index);
    if (found == nullptr) {
        throw std::runtime_error("no pod " + type + " " + std::to_string(index));
    }
    return *found;
}

core::child_record* world::child_of(core::object_kind kind) {
    core::child_record* found = nullptr;
    for (auto& c : children_) {
        found = c.kind == kind ? &c : found;
    }
    return found;
}

std::size_t world::count_children(core::object_kind kind) const {
    return static_cast<std::size_t>(std::ranges::count(children_, kind, &core::child_record::kind));
}

void world::delete_child(core::object_kind kind) {
    const auto* gone = child_of(kind);
    children_.remove_if([&](const auto& c) { return &c == gone; });
}

void world::run(core::pod_record& p) {
    p.scheduled = true;
    p.phase = core::pod_phase::running;
    p.ready = true;
    auto& c = p.containers.at(0);
    c.state = core::container_state::running;
    c.started = now_;
}

void world::run_unseen() {
    for (auto& p : pods_) {
        if (p.phase == core::pod_phase::pending && !p.deletion) {
            run(p);
        }
    }
}

void world::run_all() {
    run_unseen();
    settle();
}

void world::exit(core::pod_record& p, int code, const std::string& message) {
    auto& c = p.containers.at(0);
    c.state = core::container_state::terminated;
    c.exit_code = code;
    c.finished = now_;
    c.reason = code == 0 ? "Completed" : code == 137 ? "OOMKilled" : "Error";
    c.message = message;
    p.ready = false;
    p.phase = code == 0 ? core::pod_phase::succeeded : core::pod_phase::failed;
}

void world::exit(const std::string& type, int index, int code, const std::string& message) {
    exit(pod(type, index), code, message);
}

void world::ask_deletion(core::pod_record& p, std::int64_t grace) {
    if (!p.deletion) {
        p.deletion = now_ + core::seconds(grace);
        p.grace_seconds = grace;
    }
}

void world::vanish(const std::string& type, int index) {
    const auto* gone = &pod(type, index);
    pods_.remove_if([&](const core::pod_record& p) { return &p == gone; });
}

void world::finish_deletions() {
    pods_.remove_if([](const core::pod_record& p) { return p.deletion.has_value(); });
    settle();
}

void world::start() {
    settle();
    run_all();
}

std::size_t world::count_events(std::string_view reason) const {
    return static_cast<std::size_t>(std::ranges::count(events, reason, &core::event::reason));
}

std::string world::condition(std::string_view type) const {
    const auto* c = core::find_condition(job_.status, type);
    return c == nullptr ? "" : (c->status ? "True/" : "False/") + c->reason;
}

std::size_t world::live_pods() const {
    return static_cast<std::size_t>(std::ranges::count_if(pods_, [](const auto& p) {
        return !p.deletion && p.phase != core::pod_phase::succeeded &&
               p.phase != core::pod_phase::failed;
    }));
}

bool world::acted(const core::decision& d) const {
    for (const auto& s : d.stages) {
        for (const auto& a : s) {
            if (!a.not_before || *a.not_before <= now_) {
                return true;
            }
        }
    }
    return false;
}

bool world::carry_out(const core::action& a) {
    if (gate && !gate(a)) {
        return false;
    }
    switch (a.what()) {
        case core::verb::create:
            return create(a);
        case core::verb::patch:
            return patch(a);
        case core::verb::remove:
            return remove(a);
        case core::verb::confirm:
            absences.push_back({a.kind, a.name});
            return true;
        case core::verb::read: {
            if (std::holds_alternative<core::read_object>(a.request)) {
                return false;  // it has no objects of a cluster
            }
            const auto& wanted = std::get<core::read_log>(a.request);
            ++logs_read;
            read_.push_back(core::judge_log(wanted.pod_uid, a.name, logs[a.name]));
            return true;
        }
    }
    return false;
}

bool world::create(const core::action& a) {
    ++creates;
    const auto same = [&](const auto& o) { return o.name == a.name; };
    if (a.kind == core::object_kind::pod) {
        if (std::ranges::any_of(pods_, same)) {
            throw std::runtime_error("pod " + a.name + " is created twice");
        }
        for (const auto& p : pods_) {
            if (p.attempt != core::gone_attempt && p.attempt < a.pod()->attempt &&
                !(p.deletion && now_ > *p.deletion + rules_.stuck_after)) {
                throw std::runtime_error("pod " + a.name + " beside an older attempt");
            }
        }
        auto record = pod_builder(plan(), *a.pod()).created(now_).record();
        record.uid += "-" + std::to_string(++uids_);
        if (!receiver.url.empty()) {
            const std::string text = core::preview_action(job_, last_, a);
            record.content = core::content_of_pod(text);
            record.reports = text.find("\"batch.tensorstack.dev/progress-ca\"") != text.npos;
        }
        if (plan().gang) {
            std::string text = core::preview_action(job_, last_, a);
            text.insert(text.find("\"metadata\":{") + 12, R"("uid":"none yet",)");
            record.gang = core::decode_pod(text).value().gang;
        }
        std::erase_if(absences, [&](const auto& x) { return x.name == a.name; });
        pods_.push_back(std::move(record));
        return true;
    }
    if (std::ranges::any_of(children_, [&](const auto& c) {
            return c.name == a.name && c.kind == a.kind;
        })) {
        throw std::runtime_error(a.name + " is created twice");
    }
    std::erase_if(absences, [&](const auto& x) { return x.name == a.name; });
    auto record = as_made(a);
    record.uid += "-" + std::to_string(++uids_);
    children_.push_back(std::move(record));
    return true;
}

core::child_record world::as_made(const core::action& a) const {
    return std::get<core::child_record>(core::record_of(job_, last_, a, "uid-" + a.name, now_));
}

bool world::patch(const core::action& a) {
    if (a.kind == core::object_kind::job) {
        const std::string& body = job_patches.emplace_back(a.body());
        constexpr std::string_view size = "\"expectedReplicas\":";
        builder_.expected(std::stoi(body.substr(body.find(size) + size.size())));
        reload();
        return true;
    }
    for (auto& c : children_) {
        if (c.uid == a.uid()) {
            const auto made = as_made(a);
            c.fingerprint = made.fingerprint;
            c.fields = made.fields;
            c.selected_attempt = made.selected_attempt;
            c.foreign_selector_keys.clear();
        }
    }
    for (auto& p : pods_) {
        if (p.uid == a.uid() && a.body().find("\"gone\"") != std::string_view::npos) {
            p.attempt = core::gone_attempt;
        }
    }
    return true;
}

bool world::remove(const core::action& a) {
    if (a.kind == core::object_kind::job) {
        job_deleted = true;
        return true;
    }
    children_.remove_if([&](const auto& c) { return c.uid == a.uid(); });
    for (auto& p : pods_) {
        if (p.uid == a.uid()) {
            ask_deletion(p);
        }
    }
    if (!slow_deletes) {
        pods_.remove_if([&](const auto& p) { return p.uid == a.uid(); });
    }
    return true;
}

}  // namespace signalbox::test

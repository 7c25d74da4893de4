// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include "choices.hpp"
#include "configurations.hpp"
#include "engine/facts/inputs.hpp"
#include "engine/facts/ledger.hpp"
#include "property/server_side.hpp"
#include "signalbox_test/jobcore_builders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace signalbox::search {

using namespace core;

namespace {

/// UID and creation are those of the record that is made of it.
std::string as_accepted(const job_object& job, const decision& made, const action& a) {
    return test::accepted(preview_action(job, made, a), "new", test::story_start, a.kind);
}

/// A digest of the values in the Pod's JSON that all pods of an attempt must agree on.
std::uint64_t rendezvous_of(std::string_view json) {
    constexpr std::string_view heads[] = {
        R"("name":"MASTER_ADDR","value":")",
        R"("name":"MASTER_PORT","value":")",
        R"("name":"WORLD_SIZE","value":")",
        "--nnodes=",
        "--rdzv_endpoint=",
        "--world_info="};
    std::string values;
    for (const std::string_view head : heads) {
        for (std::size_t at = json.find(head); at != json.npos; at = json.find(head, at + 1)) {
            const std::size_t end = json.find('"', at + head.size());
            values += json.substr(at, end - at);
            values += '\n';
        }
    }
    return std::hash<std::string>{}(values);
}

/// Everything that what is rendered depends on, within one configuration.
std::string rendering_key(const job_object& job, const decision& made, const action& a) {
    std::string key = fmt::format(
        "{} {} {} {}",
        fmt::ptr(job.compiled.get()),
        to_string(a.kind),
        a.name,
        made.rendering.resumed
    );
    if (const object_identity* object = a.object()) {
        key += fmt::format(" {} {}", object->object, object->attempt);
    } else if (const pod_identity* pod = a.pod()) {
        key += fmt::format(" {} {}", pod->attempt, pod->round);
    }
    return fmt::format(
        "{} {} / {}",
        key,
        fmt::join(made.rendering.wanted, " "),
        fmt::join(made.rendering.ended, " ")
    );
}

}  // namespace

search_context::search_context(const configuration& c) : config_(&c) {}

test::draft search_context::draft_of(const edits& e) const {
    test::draft job = config_->job;
    if (e.spec > 0) {
        config_->specs[static_cast<std::size_t>(e.spec)].change(job);
    }
    job.pause = e.pause;
    job.broken = e.broken;
    job.tensorboard = job.tensorboard && !e.no_board;
    if (e.size >= 0) {
        job.elastic->expected = config_->sizes[static_cast<std::size_t>(e.size)];
    }
    job.noted = note_of(e);
    if (e.limit >= 0) {
        job.run_policy["backoffLimit"] =
            std::to_string(config_->limits[static_cast<std::size_t>(e.limit)]);
    }
    if (e.deadline >= 0) {
        job.run_policy["activeDeadlineSeconds"] =
            std::to_string(config_->deadlines[static_cast<std::size_t>(e.deadline)]);
    }
    return job;
}

/// In most worlds the size is there from the beginning: how it comes there is seen in a few.
std::optional<int> search_context::note_of(const edits& e) const {
    if (e.noted >= 0) {
        return e.noted;
    }
    if (config_->unnoted) {
        return std::nullopt;
    }
    int size = config_->job.kind == job_kind::colossalai ? 1 : 0;
    for (const test::draft::replica_type& t : config_->job.types) {
        size += t.replicas;
    }
    return size;
}

int search_context::backoff_limit(const edits& e) const {
    return draft_of(e).backoff_limit();
}

const job_plan& valid_plan(const world& w) {
    return *w.context->job_of({.pause = w.spec.pause, .spec = w.spec.spec})->compiled->plan;
}

const job_ptr& search_context::job_of(const edits& e, const job_status& status) {
    const bool named = !status.queue.empty() || !status.scheduler.empty();
    const bool begun = named && status.attempt > 0 && status.phase != job_phase::paused;
    job_ptr& job = jobs_[{e, begun, begun ? status.queue : "", begun ? status.scheduler : ""}];
    if (!job) {
        const std::string object = draft_of(e).json();
        auto read = read_job(object);
        if (read && begun) {
            job_object held = *read;
            held.status = status;
            read = read_again(object, held);
        }
        if (!read) {
            throw std::runtime_error(config_->name + ": the job is not readable: " + read.error());
        }
        if (!read->compiled->plan && !e.broken) {
            std::string text = config_->name + ": the job is invalid:";
            for (const diagnostic& d : read->compiled->findings) {
                text += "\n" + d.pointer + ": " + d.message;
            }
            throw std::runtime_error(text);
        }
        job = std::make_shared<const job_object>(std::move(*read));
    }
    return job;
}

const search_context::rendered_pod& search_context::pod_of(
    const job_object& job, const decision& made, const action& a
) {
    const auto [it, fresh] = pods_.try_emplace(rendering_key(job, made, a));
    if (fresh) {
        const std::string json = as_accepted(job, made, a);
        it->second = {decode_pod(json).value(), rendezvous_of(json)};
        it->second.record.content = 0;  // no one forges here, and each decision would compare it
    }
    return it->second;
}

const search_context::rendered_child& search_context::rendered_child_of(
    const job_object& job, const decision& made, const action& a
) {
    const auto [it, fresh] = children_.try_emplace(rendering_key(job, made, a));
    if (fresh) {
        std::string text = as_accepted(job, made, a);
        it->second = {decode_child(a.kind, text).value(), std::move(text)};
    }
    return it->second;
}

child_record search_context::child_of(
    const job_object& job, const decision& made, const action& a
) {
    return rendered_child_of(job, made, a).record;
}

const std::string& search_context::text_of(
    const job_object& job, const decision& made, const action& a
) {
    return rendered_child_of(job, made, a).text;
}

bool world::on_dead_node(const pod_record& pod) const {
    return std::ranges::find(dead_nodes, pod.uid) != dead_nodes.end();
}

bool world::is_foreign(std::string_view key) const {
    return std::ranges::find(foreign, key) != foreign.end();
}

std::string foreign_key(object_kind kind, std::string_view name) {
    return fmt::format("{} {}", to_string(kind), name);
}

bool world::holds_pod(std::string_view name) const {
    return std::ranges::any_of(pods, [&](const pod_ptr& p) { return p->name == name; });
}

world first_world(search_context& context) {
    world w;
    w.context = &context;
    w.now = test::story_start;
    w.spec.pause = context.config().job.pause;
    const auto say = [&](object_kind kind, bool serves) {
        w.served.set(kind, serves ? served::yes : served::no);
    };
    for (const object_kind kind : all_child_kinds()) {
        if (kind->use == kind_use::gang) {
            say(kind, context.config().serves_pod_group);
        }
    }
    say(object_kind::tensorboard, context.config().serves_tensorboard);
    set_job(w, {});
    w.known_job = w.job;
    w.heard_since = context.config().reports ? std::optional(w.now) : std::nullopt;
    return w;
}

milliseconds stuck_after_of(const world& w) {
    const auto& notes = w.context->config().job.annotations;
    const auto it = notes.find("batch.tensorstack.dev/stuck-after");
    return it == notes.end() ? w.context->rules().stuck_after : seconds(std::stoi(it->second));
}

instant now_in_seconds(const world& w) {
    return round_down_to_second(w.now);
}

instant node_time(const world& w) {
    return round_down_to_second(w.now + w.skew);
}

void set_job(world& w, const job_status& status) {
    auto next = std::make_shared<job_object>(*w.context->job_of(w.spec, status));
    next->meta.generation = w.generation;
    if (w.deleted) {
        next->meta.deletion_time = now_in_seconds(w);
    }
    next->status = status;
    w.job = std::move(next);
}

void edit_spec(world& w, const edits& e) {
    const bool fresh = w.known_job == w.job && !w.job_held;
    w.spec = e;
    ++w.generation;
    const job_ptr before = w.job;
    set_job(w, before->status);
    if (fresh) {
        w.known_job = w.job;
    }
}

void add_pod(world& w, pod_record pod) {
    const auto at = std::ranges::lower_bound(w.pods, pod.name, {}, [](const pod_ptr& p) {
        return std::string_view(p->name);
    });
    w.pods.insert(at, std::make_shared<const pod_record>(std::move(pod)));
}

void remove_pod(world& w, std::size_t i) {
    std::erase(w.dead_nodes, w.pods[i]->uid);
    std::erase(w.harm.hidden, w.pods[i]->uid);
    w.rendezvous.erase(w.pods[i]->uid);
    w.pods.erase(w.pods.begin() + static_cast<std::ptrdiff_t>(i));
}

void ask_deletion(world& w, std::size_t i) {
    constexpr std::int64_t grace = 30;
    if (!w.pods[i]->scheduled) {
        remove_pod(w, i);
        return;
    }
    change_pod(w, i, [&](pod_record& p) {
        if (!p.deletion) {
            p.grace_seconds = grace;
            p.deletion = now_in_seconds(w) + seconds(grace);
        }
    });
}

std::string_view short_name(const world& w, std::string_view name) {
    const std::string_view base =
        w.context->job_of({.pause = w.spec.pause})->compiled->plan->base_name;
    if (!name.starts_with(base)) {
        return name;
    }
    name.remove_prefix(base.size());
    return name.empty() ? "job" : name.substr(1);
}

}  // namespace signalbox::search

// SPDX-License-Identifier: Apache-2.0
#include "controller/key_reads.hpp"

#include "controller/key_material.hpp"
#include "controller/log_line.hpp"
#include "controller/resource_table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// What was read or made so lately need not be read again before pods are made.
constexpr std::chrono::seconds still_new{1};
/// Between two reads for a pod that starts no container. Longer than most images take, and a
/// fraction of what a kubelet waits for a mount.
constexpr std::chrono::seconds unmounted_interval{30};

/// The records of the job's Secrets that have this name: one, or for a moment two.
std::vector<core::child_record> held(
    const child_store& secrets, const std::string& job_uid, std::string_view name
) {
    std::vector<core::child_record> out;
    for (const auto& record : secrets.find<by_owner>(job_uid)) {
        if (record->name == name) {
            out.push_back(*record);
        }
    }
    return out;
}

bool starts_nothing(const core::pod_record& pod) {
    return pod.scheduled && !pod.deletion && pod.phase == core::pod_phase::pending &&
           std::ranges::none_of(pod.containers, [](const core::container_record& c) {
               return c.state == core::container_state::running ||
                      c.state == core::container_state::terminated;
           });
}

}  // namespace

/// Name of the Secret that the job needs; empty if it needs none.
std::string key_reads::secret_name(const core::job_object& job) const {
    const bool wanted = is_wanted(core::object_kind::secret, config_->options.without);
    if (!wanted || !job.compiled || !job.compiled->plan || job.meta.deletion_time) {
        return {};
    }
    const auto& objects = job.compiled->plan->objects;
    const auto secret =
        std::ranges::find(objects, core::object_kind::secret, &core::planned_object::kind);
    return secret == objects.end() ? std::string() : core::object_name(*secret, job.status.attempt);
}

std::optional<k8sio::steady_time> key_reads::due(const job_entry& entry) const {
    const core::job_object& job = *entry.object;
    if (secret_name(job).empty()) {
        return std::nullopt;
    }
    if (!entry.keys_looked_at) {
        return clock_.steady_now();
    }
    if (core::is_final(job.status.phase)) {
        return std::nullopt;
    }
    std::optional<k8sio::steady_time> due;
    for (const auto& pod : views_->pods.find<by_owner>(job.meta.uid)) {
        if (starts_nothing(*pod)) {
            const auto made =
                pod->creation ? clock_.steady_of(*pod->creation) : *entry.keys_looked_at;
            const auto at = std::max(made, *entry.keys_looked_at) + unmounted_interval;
            due = due ? std::min(*due, at) : at;
        }
    }
    return due;
}

bool key_reads::may_be_old(const job_entry& entry) const {
    const bool is_new =
        entry.keys_looked_at && clock_.steady_now() < *entry.keys_looked_at + still_new;
    return !is_new && !secret_name(*entry.object).empty();
}

bool creates_pods(const core::decision& made, core::instant now) {
    return std::ranges::any_of(made.stages, [now](const core::stage& actions) {
        return std::ranges::any_of(actions, [now](const core::action& a) {
            return a.kind == core::object_kind::pod && a.what() == core::verb::create &&
                   !(a.not_before && *a.not_before > now);
        });
    });
}

core::key_standing standing_of(
    const child_store& secrets,
    const core::job_object& job,
    const core::child_record& secret,
    std::string_view secret_json
) {
    const core::key_standing content = core::standing_of_keys(job, secret_json, &read_key_pair);
    const auto held = secrets.get(secret.uid);
    const bool made = held && held->keys == core::key_standing::made;
    return made && content == core::key_standing::found ? core::key_standing::made : content;
}

void key_reads::tell_failure(
    const core::job_meta& job,
    std::string_view name,
    const k8sio::api_error& error,
    spdlog::level::level_enum level
) const {
    log_line line("Secret not read");
    line.job(job).field("name", name).field("error", error.text());
    line.write(*config_->log, level);
}

asio::awaitable<key_news> key_reads::read(job_entry& entry) {
    const std::shared_ptr<const core::job_object> job = entry.object;
    const core::job_meta& meta = job->meta;
    const std::string name = secret_name(*job);
    child_store& secrets = views_->view_of(core::object_kind::secret)->store;
    const k8sio::resource_type& type = type_of(core::object_kind::secret, meta.kind);
    const auto live = co_await api_->get(type, meta.ns, name);
    const int status = live.has_error() ? live.error().http_status : 200;
    const bool answered = live.has_value() || status == 404 || status == 403;
    if (!answered) {
        if (k8sio::classify(live.error()) != k8sio::retry_class::cancelled) {
            ++counters_->errors;
            tell_failure(meta, name, live.error(), spdlog::level::warn);
        }
        co_return key_news::failed;
    }
    entry.keys_looked_at = clock_.steady_now();
    const bool was_forbidden = std::exchange(entry.keys_forbidden, status == 403);
    if (status == 403) {
        // Told once: where the creation is refused too, the status says why.
        const auto level = was_forbidden ? spdlog::level::debug : spdlog::level::warn;
        tell_failure(meta, name, live.error(), level);
        co_return key_news::none;
    }
    const auto before = held(secrets, meta.uid, name);
    auto now =
        live.has_value() ? core::decode_child(core::object_kind::secret, *live) : std::nullopt;
    bool ours = now && now->owner_uid == meta.uid;
    if (ours) {
        now->keys = standing_of(secrets, *job, *now, *live);
        ours = now->keys != core::key_standing::foreign;
    }
    for (const core::child_record& record : before) {
        // The same version may stand otherwise, to another specification.
        if (!ours || record.uid != now->uid || record.keys != now->keys) {
            secrets.drop(record.uid);
        }
    }
    const bool same = ours ? before.size() == 1 && before.front().uid == now->uid &&
                                 before.front().resource_version == now->resource_version &&
                                 before.front().keys == now->keys
                           : before.empty();
    if (ours) {
        secrets.insert_answer(std::move(*now));
    }
    co_return same ? key_news::none : key_news::changed;
}

void forget_keys(cluster_views& views, const std::string& job_uid) {
    child_store& secrets = views.view_of(core::object_kind::secret)->store;
    std::vector<std::string> gone;
    for (const auto& record : secrets.find<by_owner>(job_uid)) {
        gone.push_back(record->uid);
    }
    for (const std::string& uid : gone) {
        secrets.drop(uid);
    }
}

}  // namespace signalbox::op

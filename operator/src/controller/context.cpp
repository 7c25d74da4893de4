// SPDX-License-Identifier: Apache-2.0
#include "controller/context.hpp"

#include "controller/resource_table.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::op {

namespace {

const std::string& plural_of(const core::job_object& job) {
    return type_of(job.meta.kind).plural();
}

}  // namespace

context::context(
    boost::asio::any_io_executor loop,
    k8sio::client& client,
    core::policy policy,
    controller_options settings,
    std::shared_ptr<spdlog::logger> logger,
    view_listener& views,
    job_listener& jobs_listener
)
    : executor(loop),
      api(&client),
      rules(policy),
      options(std::move(settings)),
      log(std::move(logger)),
      pods(k8sio::resources::pods().plural(), &core::decode_pod, views),
      jobs(jobs_listener),
      slots(loop, options.max_in_flight) {
    for (const watched_kind& row : watched_children()) {
        const core::object_kind kind = row.kind;
        record_store<core::child_record>::decoder decode = [kind](std::string_view json) {
            return core::decode_child(kind, json);
        };
        const bool always = row.when == watched::always;
        children.push_back(std::make_unique<child_view>(child_view{
            kind,
            {row.type->plural(), std::move(decode), views},
            always ? core::served::yes : core::served::unknown}));
    }
}

core::instant context::now() const {
    return std::chrono::floor<core::milliseconds>(api->server_now());
}

k8sio::steady_time context::steady_of(core::instant at) const {
    const auto wait = k8sio::wall_time(at) - api->server_now();
    return steady_now() + std::chrono::duration_cast<k8sio::steady_time::duration>(wait);
}

bool context::views_synced() const {
    const auto rows = watched_children();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].when == watched::always && !children[i]->store.synced()) {
            return false;
        }
    }
    return pods.synced();
}

core::capabilities context::capabilities() const {
    core::capabilities out;
    for (const auto& view : children) {
        if (view->kind->extension) {
            out.set(view->kind, view->served());
        }
    }
    return out;
}

bool context::is_fresh(const job_entry& entry) const {
    const core::job_object& job = *entry.object;
    const std::string& uid = job.meta.uid;
    if (!views_synced() || !fence.passed(uid, pods.plural(), pods.seen())) {
        return false;
    }
    for (const auto& view : children) {
        if (view->in_use() && !fence.passed(uid, view->store.plural(), view->store.seen())) {
            return false;
        }
    }
    // Of the job there is one object only, which our own answers replace at once.
    return fence.passed(uid, plural_of(job), job.meta.resource_version);
}

std::vector<std::string> context::view_versions() const {
    std::vector<std::string> versions{pods.seen()};
    for (const auto& view : children) {
        versions.push_back(view->store.seen());
    }
    return versions;
}

void context::require_views(const std::string& job_uid, const std::vector<std::string>& versions) {
    fence.raise(job_uid, pods.plural(), versions.front());
    for (std::size_t i = 0; i < children.size(); ++i) {
        fence.raise(job_uid, children[i]->store.plural(), versions[i + 1]);
    }
}

child_view* context::view_of(core::object_kind kind) const {
    for (const auto& view : children) {
        if (view->kind == kind) {
            return view.get();
        }
    }
    return nullptr;
}

bool context::note_pod(job_entry& entry, std::string_view object_json, bool labelled) {
    auto pod = core::decode_pod(object_json);
    if (!pod) {
        return false;
    }
    const std::string& uid = entry.object->meta.uid;
    if (!labelled && !pod->labels_complete && pod->owner_uid == uid) {
        // The watch may not show it; the next pass shall see it all the same (BEHAVIOUR.md 1.9).
        std::erase_if(entry.hidden_pods, [&](const core::pod_record& p) {
            return p.uid == pod->uid;
        });
        entry.hidden_pods.push_back(std::move(*pod));
        return true;
    }
    if (!entry.gone) {
        fence.raise(uid, pods.plural(), pod->resource_version);
    }
    pods.insert_answer(std::move(*pod));
    return true;
}

bool context::note_object(
    job_entry& entry, core::object_kind kind, std::string_view object_json, bool labelled
) {
    if (kind == core::object_kind::job) {
        return note_job(object_json) != nullptr;
    }
    if (kind == core::object_kind::pod) {
        return note_pod(entry, object_json, labelled);
    }
    auto child = core::decode_child(kind, object_json);
    child_view* const view = view_of(kind);
    if (!child || view == nullptr) {
        return child.has_value();
    }
    if (!entry.gone) {
        fence.raise(entry.object->meta.uid, view->store.plural(), child->resource_version);
    }
    view->store.insert_answer(std::move(*child));
    return true;
}

void context::note_gone(core::object_kind kind, const std::string& uid) {
    if (kind == core::object_kind::pod) {
        pods.drop(uid);
    } else if (child_view* const view = view_of(kind)) {
        view->store.drop(uid);
    }
}

job_entry_ptr context::note_job(std::string_view object_json) {
    job_entry_ptr entry = jobs.upsert(object_json, false, true);
    if (entry && !entry->gone) {
        const core::job_object& job = *entry->object;
        fence.raise(job.meta.uid, plural_of(job), job.meta.resource_version);
    }
    return entry;
}

std::string full_name(const core::job_meta& meta) {
    return meta.ns + "/" + meta.name;
}

}  // namespace signalbox::op

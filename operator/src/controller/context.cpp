// SPDX-License-Identifier: Apache-2.0
#include "controller/context.hpp"

#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "k8sio/object.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::op {

namespace {

/// Children that their owner has released are nobody's.
constexpr auto has_owner = [](const auto& child) { return !child.owner_uid.empty(); };

}  // namespace

child_view::child_view(const watched_kind& row, bool wanted)
    : kind(row.kind),
      how(row.when),
      store(
          [of = row.kind](std::string_view json) { return core::decode_child(of, json); }, has_owner
      ),
      offered(
          !wanted                          ? core::served::no
          : row.when == watched::if_served ? core::served::unknown
                                           : core::served::yes
      ) {}

context::context(
    boost::asio::any_io_executor loop,
    k8sio::client& client,
    core::policy policy,
    controller_options settings,
    std::string namespace_name,
    std::shared_ptr<spdlog::logger> logger,
    job_listener& jobs_listener
)
    : executor(loop),
      api(&client),
      rules(policy),
      options(std::move(settings)),
      ns(std::move(namespace_name)),
      log(std::move(logger)),
      pods(&core::decode_pod, has_owner),
      jobs(jobs_listener),
      slots(loop, options.max_in_flight) {
    for (const watched_kind& row : watched_children()) {
        children.push_back(std::make_unique<child_view>(row, is_wanted(row.kind, options.without)));
    }
}

core::instant context::now() const {
    return std::chrono::floor<core::milliseconds>(api->server_now());
}

k8sio::steady_time context::steady_of(core::instant at) const {
    const auto wait = k8sio::wall_time(at) - api->server_now();
    return steady_now() + std::chrono::duration_cast<k8sio::steady_time::duration>(wait);
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

std::vector<std::string> context::view_versions() const {
    std::vector<std::string> versions{std::string(pods.seen())};
    for (const auto& view : children) {
        versions.emplace_back(view->store.seen());
    }
    return versions;
}

void context::require_views(const std::string& job_uid, const std::vector<std::string>& versions) {
    runtime->expect(job_uid, pods, versions.front());
    for (std::size_t i = 0; i < children.size(); ++i) {
        runtime->expect(job_uid, children[i]->store, versions[i + 1]);
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

job_sink* context::job_view(core::job_kind kind) const {
    const auto found =
        std::ranges::find_if(job_views, [kind](const auto& view) { return view->kind() == kind; });
    return found == job_views.end() ? nullptr : found->get();
}

k8sio::view_mark context::mark(core::object_kind kind, core::job_kind job) const {
    if (kind == core::object_kind::pod) {
        return pods.mark();
    }
    if (kind == core::object_kind::job) {
        const job_sink* const view = job_view(job);
        return view == nullptr ? k8sio::view_mark() : view->mark();
    }
    const child_view* const view = view_of(kind);
    return view == nullptr ? k8sio::view_mark() : view->store.mark();
}

/// One that lost the label which the watch selects by is not in the view, and rightly so.
template <class Record>
void context::hold_against(
    const k8sio::store<Record, by_owner>& store,
    const Record& live,
    std::string_view object_json,
    const k8sio::view_mark& asked
) const {
    if (store.is_contradicted_by(live, asked) && !label_patch(children_label_json, object_json)) {
        runtime->contradicted(store);
    }
}

bool context::note_pod(
    job_entry& entry, std::string_view object_json, const k8sio::view_mark& asked, bool labelled
) {
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
        runtime->expect(uid, pods, pod->resource_version);
    }
    hold_against(pods, *pod, object_json, asked);
    pods.insert_answer(std::move(*pod));
    return true;
}

bool context::note_object(
    job_entry& entry,
    core::object_kind kind,
    std::string_view object_json,
    const k8sio::view_mark& asked,
    bool labelled
) {
    if (kind == core::object_kind::job) {
        return note_job(object_json, asked) != nullptr;
    }
    if (kind == core::object_kind::pod) {
        return note_pod(entry, object_json, asked, labelled);
    }
    auto child = core::decode_child(kind, object_json);
    child_view* const view = view_of(kind);
    if (!child || view == nullptr) {
        return child.has_value();
    }
    if (view->how == watched::by_name) {
        entry.keys_looked_at = steady_now();
    } else if (!entry.gone) {
        runtime->expect(entry.object->meta.uid, view->store, child->resource_version);
    }
    hold_against(view->store, *child, object_json, asked);
    view->store.insert_answer(std::move(*child));
    return true;
}

void context::note_gone(core::object_kind kind, const std::string& uid) {
    if (kind == core::object_kind::pod) {
        if (pods.drop(uid, steady_now())) {
            runtime->contradicted(pods);
        }
    } else if (child_view* const view = view_of(kind)) {
        if (view->store.drop(uid, steady_now())) {
            runtime->contradicted(view->store);
        }
    }
}

job_entry_ptr context::note_job(std::string_view object_json, const k8sio::view_mark& asked) {
    const auto live = k8sio::read_object_meta(object_json);
    const job_entry_ptr held = live ? jobs.find(live->uid) : nullptr;
    if (held) {
        const job_sink* const view = job_view(held->object->meta.kind);
        if (view != nullptr &&
            view->is_contradicted(held->version(), live->resource_version, asked)) {
            runtime->contradicted(*view);
        }
    }
    // Of the job there is one object only, which our own answers replace at once: nothing to wait
    // for.
    return jobs.upsert(object_json, false, true);
}

void context::note_job_gone(const core::job_meta& job) {
    job_sink* const view = job_view(job.kind);
    if (view != nullptr && view->drop(job.uid, steady_now())) {
        runtime->contradicted(*view);
    }
}

std::string full_name(const core::job_meta& meta) {
    return k8sio::object_key(meta.ns, meta.name).text();
}

}  // namespace signalbox::op

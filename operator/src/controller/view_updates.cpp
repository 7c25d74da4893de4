// SPDX-License-Identifier: Apache-2.0
#include "controller/view_updates.hpp"

#include "controller/key_reads.hpp"
#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "jobcore/labels.hpp"
#include "k8sio/object.hpp"

#include <algorithm>
#include <utility>

namespace signalbox::op {

void view_updates::require(const std::string& job_uid, const std::vector<std::string>& versions) {
    runtime_->expect(job_uid, views_->pods, versions.front());
    for (std::size_t i = 0; i < views_->children.size(); ++i) {
        runtime_->expect(job_uid, views_->children[i]->store, versions[i + 1]);
    }
}

k8sio::view_mark view_updates::mark(core::object_kind kind, core::job_kind job) const {
    if (kind == core::object_kind::pod) {
        return views_->pods.mark();
    }
    if (kind == core::object_kind::job) {
        const job_sink* const view = views_->view_of(job);
        return view == nullptr ? k8sio::view_mark() : view->mark();
    }
    const child_view* const view = views_->view_of(kind);
    return view == nullptr ? k8sio::view_mark() : view->store.mark();
}

/// One that lost the label which the watch selects by is not in the view, and rightly so.
template <class Record>
void view_updates::hold_against(
    const k8sio::store<Record, by_owner>& store,
    const Record& live,
    std::string_view object_json,
    const k8sio::view_mark& asked
) const {
    if (store.is_contradicted_by(live, asked) &&
        !core::label_patch(children_label_json, object_json)) {
        runtime_->contradicted(store);
    }
}

bool view_updates::note_pod(
    job_entry& entry,
    std::string_view object_json,
    const k8sio::view_mark& asked,
    k8sio::write_step of
) {
    auto pod = views_->read_pod(object_json);
    if (!pod) {
        return false;
    }
    if (of == k8sio::write_step::create) {
        entry.answers.admit(pod->content);
    }
    const bool labelled = of == k8sio::write_step::restore;
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
        runtime_->expect(uid, views_->pods, pod->resource_version);
    }
    hold_against(views_->pods, *pod, object_json, asked);
    views_->pods.insert_answer(std::move(*pod));
    return true;
}

bool view_updates::note_object(
    job_entry& entry,
    core::object_kind kind,
    std::string_view object_json,
    const k8sio::view_mark& asked,
    k8sio::write_step of
) {
    if (kind == core::object_kind::job) {
        return note_job(object_json, asked) != nullptr;
    }
    if (kind == core::object_kind::pod) {
        return note_pod(entry, object_json, asked, of);
    }
    auto child = core::decode_child(kind, object_json);
    child_view* const view = views_->view_of(kind);
    if (!child || view == nullptr) {
        return child.has_value();
    }
    if (view->how == watched::by_name) {
        entry.keys_looked_at = clock_.steady_now();
        child->keys = of == k8sio::write_step::create
                          ? core::key_standing::made
                          : standing_of(view->store, *entry.object, *child, object_json);
    } else if (!entry.gone) {
        runtime_->expect(entry.object->meta.uid, view->store, child->resource_version);
    }
    hold_against(view->store, *child, object_json, asked);
    view->store.insert_answer(std::move(*child));
    return true;
}

void view_updates::note_gone(core::object_kind kind, const std::string& uid) {
    const auto drop = [&](auto& store) {
        if (store.drop(uid, clock_.steady_now())) {
            runtime_->contradicted(store);
        }
    };
    if (kind == core::object_kind::pod) {
        drop(views_->pods);
    } else if (child_view* const view = views_->view_of(kind)) {
        drop(view->store);
    }
}

job_entry_ptr view_updates::note_job(std::string_view object_json, const k8sio::view_mark& asked) {
    const auto live = k8sio::read_object_meta(object_json);
    const job_entry_ptr held = live ? views_->jobs.find(live->uid) : nullptr;
    if (held) {
        const job_sink* const view = views_->view_of(held->object->meta.kind);
        if (view != nullptr &&
            view->is_contradicted(held->version(), live->resource_version, asked)) {
            runtime_->contradicted(*view);
        }
    }
    // Of the job there is one object only, which our own answers replace at once: nothing to wait
    // for.
    return views_->jobs.upsert(object_json, false, true);
}

void view_updates::note_job_gone(const core::job_meta& job) {
    job_sink* const view = views_->view_of(job.kind);
    if (view != nullptr && view->drop(job.uid, clock_.steady_now())) {
        runtime_->contradicted(*view);
    }
}

}  // namespace signalbox::op

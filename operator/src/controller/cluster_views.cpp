// SPDX-License-Identifier: Apache-2.0
#include "controller/cluster_views.hpp"

#include <algorithm>

namespace signalbox::op {

namespace {

/// Children that their owner has released have none.
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

cluster_views::cluster_views(job_listener& listener, const feature_set& without)
    : pods([this](std::string_view json) { return read_pod(json); }, has_owner), jobs(listener) {
    for (const watched_kind& row : watched_children()) {
        children.push_back(std::make_unique<child_view>(row, is_wanted(row.kind, without)));
    }
}

std::optional<core::pod_record> cluster_views::read_pod(std::string_view object_json) {
    auto pod = core::decode_pod(object_json);
    if (pod) {
        core::share_texts(*pod, texts_);
    }
    return pod;
}

core::capabilities cluster_views::capabilities() const {
    core::capabilities out;
    for (const auto& view : children) {
        if (view->kind->extension) {
            out.set(view->kind, view->served());
        }
    }
    return out;
}

std::vector<std::string> cluster_views::versions() const {
    std::vector<std::string> versions{std::string(pods.seen())};
    for (const auto& view : children) {
        versions.emplace_back(view->store.seen());
    }
    return versions;
}

child_view* cluster_views::view_of(core::object_kind kind) const {
    for (const auto& view : children) {
        if (view->kind == kind) {
            return view.get();
        }
    }
    return nullptr;
}

job_sink* cluster_views::view_of(core::job_kind kind) const {
    const auto found =
        std::ranges::find_if(job_views, [kind](const auto& view) { return view->kind() == kind; });
    return found == job_views.end() ? nullptr : found->get();
}

}  // namespace signalbox::op

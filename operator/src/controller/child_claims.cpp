// SPDX-License-Identifier: Apache-2.0
#include "controller/child_claims.hpp"

#include "controller/key_material.hpp"
#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "jobcore/labels.hpp"
#include "k8sio/object.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

namespace signalbox::op {

namespace {

/// What of an object with a child's name says whose it is.
struct claim {
    std::string owner_uid;
    bool same_place = false;  ///< the attempt (and round) that the action wants
};

claim claim_of(const core::action& a, std::string_view object_json) {
    claim c;
    if (a.kind == core::object_kind::pod) {
        const auto pod = core::decode_pod(object_json);
        if (pod) {
            const core::pod_identity* wanted = a.pod();
            const bool same =
                wanted != nullptr && pod->attempt == wanted->attempt && pod->round == wanted->round;
            c = {pod->owner_uid, same};
        }
    } else {
        const auto child = core::decode_child(a.kind, object_json);
        if (child) {
            // Objects that are kept over attempts carry no attempt.
            const core::object_identity* wanted = a.object();
            const bool same =
                child->attempt == 0 || (wanted != nullptr && child->attempt == wanted->attempt);
            c = {child->owner_uid, same};
        }
    }
    return c;
}

/// True if the live object, which is no pod, has the immutable content that `wanted` has, values of
/// generated keys left out (core::child_record::data_fingerprint). Of kinds without such content:
/// always.
bool same_data(core::object_kind kind, std::string_view wanted, std::string_view live) {
    const auto there = core::decode_child(kind, live);
    if (!there) {
        return true;
    }
    // A record needs a UID, which what was rendered cannot have.
    const auto here = core::decode_child(kind, k8sio::with_uid(wanted, there->uid));
    return here && here->data_fingerprint == there->data_fingerprint;
}

}  // namespace

child_claims::child_claims(
    const controller_options& options,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a,
    const k8sio::write_order& order
)
    : options_(&options), decided_(&decided), made_(&made), action_(&a) {
    const auto* creation = std::get_if<k8sio::create_order>(&order);
    if (creation != nullptr && a.kind == core::object_kind::pod) {
        pod_ = creation->body;
    }
}

std::string child_claims::wanted() const {
    return options_->preview(*decided_, *made_, *action_);
}

bool child_claims::is_ours(std::string_view live) const {
    const bool named = claim_of(*action_, live).owner_uid == decided_->meta.uid;
    other_content_ =
        named && action_->kind == core::object_kind::secret &&
        core::standing_of_keys(*decided_, live, &read_key_pair) == core::key_standing::foreign;
    return named && !other_content_;
}

bool child_claims::is_wanted(std::string_view live) const {
    const core::object_kind kind = action_->kind;
    return claim_of(*action_, live).same_place &&
           (kind == core::object_kind::pod || same_data(kind, wanted(), live));
}

/// Labels of ours that were removed (BEHAVIOUR.md 2.7); of an older object only the one without
/// which it is out of view for good (1.9).
std::string child_claims::repair_of(std::string_view live, k8sio::standing found) const {
    // Labels of a Secret do not matter (BEHAVIOUR.md 2.10).
    if (action_->kind == core::object_kind::secret) {
        return {};
    }
    const bool whole = found == k8sio::standing::wanted;
    return core::label_patch(whole ? wanted() : std::string(children_label_json), live)
        .value_or("");
}

std::string child_claims::lost_of(std::string_view answer) const {
    switch (action_->what()) {
        case core::verb::create:
            // Admission may have changed labels of a pod: the views would not show it (2.8).
            return fmt::format("{}", fmt::join(core::lost_labels(pod_, answer), ", "));
        case core::verb::patch: {
            // Patching again at once would never end (12.12).
            const bool size = action_->kind == core::object_kind::job;
            return size && !keeps_spec(action_->body(), answer) ? "spec" : "";
        }
        case core::verb::remove:
        case core::verb::confirm:
        case core::verb::read:
            break;
    }
    return {};
}

}  // namespace signalbox::op

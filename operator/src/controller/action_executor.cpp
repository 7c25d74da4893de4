// SPDX-License-Identifier: Apache-2.0
#include "controller/action_executor.hpp"

#include "controller/key_material.hpp"
#include "controller/log_line.hpp"
#include "controller/object_text.hpp"
#include "controller/resource_table.hpp"
#include "k8sio/object.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

namespace signalbox::op {

namespace asio = boost::asio;

namespace {

/// What of an object with a child's name says whose it is.
struct claim {
    std::string owner_uid;
    std::string uid;
    bool deleting = false;
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
            c = {pod->owner_uid, pod->uid, pod->deletion.has_value(), same};
        }
    } else {
        const auto child = core::decode_child(a.kind, object_json);
        if (child) {
            // Objects that are kept over attempts carry no attempt.
            const core::object_identity* wanted = a.object();
            const bool same =
                child->attempt == 0 || (wanted != nullptr && child->attempt == wanted->attempt);
            c = {child->owner_uid, child->uid, child->deleting, same};
        }
    }
    return c;
}

bool is_not_found(const k8sio::api_error& error) {
    return error.code == k8sio::errc::http_status && error.http_status == 404;
}

/// Logs a failure that is not a refusal, and says whether it is this object's or the server's.
action_result note_failure(context& shared, const core::action& a, const k8sio::api_error& error) {
    const k8sio::retry_class kind = k8sio::classify(error);
    if (kind == k8sio::retry_class::cancelled) {
        return action_result::skipped;
    }
    ++shared.counters.errors;
    log_line line("request failed");
    line.field("verb", core::to_string(a.what()))
        .field("kind", core::to_string(a.kind))
        .field("name", a.name)
        .field("error", error.text());
    line.write(*shared.log, spdlog::level::warn);
    const bool of_this_object = error.code == k8sio::errc::http_status &&
                                error.http_status != 401 && kind == k8sio::retry_class::give_up;
    return of_this_object ? action_result::failed : action_result::unavailable;
}

/// Keeps in mind, and tells, that a create or patch was refused.
void note_refusal(
    context& shared, job_entry& entry, const core::action& a, const k8sio::api_error& error
) {
    const core::refusal& noted = entry.refusals.note(a, error, shared.now());
    ++shared.counters.refusals;
    const auto level = noted.count == 1 && !noted.namespace_terminating ? spdlog::level::warn
                                                                        : spdlog::level::debug;
    log_line line("refused");
    line.job(entry.object->meta)
        .field("rule", a.rule)
        .field("verb", core::to_string(a.what()))
        .field("kind", core::to_string(a.kind))
        .field("name", a.name)
        .field("count", noted.count)
        .field("error", error.text());
    line.write(*shared.log, level);
}

/// What an error of a create or patch means for the pass.
action_result judge(
    context& shared, job_entry& entry, const core::action& a, const k8sio::api_error& error
) {
    const k8sio::retry_class kind = k8sio::classify(error);
    if (kind == k8sio::retry_class::recompute) {
        return action_result::recompute;
    }
    const bool about_the_object =
        error.code == k8sio::errc::http_status && error.http_status != 401;
    if (kind != k8sio::retry_class::give_up || !about_the_object) {
        return note_failure(shared, a, error);
    }
    note_refusal(shared, entry, a, error);
    return action_result::refused;
}

/// The creation belongs to a feature that is left out (BEHAVIOUR.md 2.11): as if the server had
/// refused it.
action_result refuse_unwanted(context& shared, job_entry& entry, const core::action& a) {
    const feature_row& left_out = row_of(*feature_of(a.kind));
    k8sio::api_error error;
    error.code = k8sio::errc::http_status;
    error.http_status = 403;
    error.reason = "Forbidden";
    error.message = fmt::format("this operator runs without {0} (--without {0})", left_out.name);
    return judge(shared, entry, a, error);
}

/// What of a Secret to be created is key material; empty for other objects.
std::span<const core::key_slot> key_slots_of(
    const core::job_object& decided, const core::action& a
) {
    const bool planned = decided.compiled && decided.compiled->plan;
    if (a.kind != core::object_kind::secret || !planned) {
        return {};
    }
    const core::planned_object* object =
        core::find_object(*decided.compiled->plan, a.object()->object);
    return object == nullptr ? std::span<const core::key_slot>() : object->key_slots;
}

/// True if the live object has the immutable content that `wanted` has, values of generated keys
/// left out (core::child_record::data_fingerprint). Of kinds without such content: always.
bool same_data(const core::action& a, std::string_view wanted, std::string_view live) {
    const auto there = core::decode_child(a.kind, live);
    if (a.kind == core::object_kind::pod || !there) {
        return true;
    }
    // A record needs a UID, which what was rendered cannot have.
    const auto here = core::decode_child(a.kind, with_uid_precondition(wanted, there->uid));
    return here && here->data_fingerprint == there->data_fingerprint;
}

/// Puts labels of ours back that somebody took from an object which is the wanted one otherwise
/// (BEHAVIOUR.md 2.7). `wanted` has the labels that are to be there.
asio::awaitable<action_result> restore_labels(
    context& shared,
    job_entry& entry,
    const core::job_object& decided,
    const core::action& a,
    std::string_view wanted,
    const std::string& live
) {
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    auto patch = label_patch(wanted, live);
    // Nobody looks at a Secret's (BEHAVIOUR.md 2.10).
    if (!patch || a.kind == core::object_kind::secret) {
        co_return action_result::present;
    }
    ++shared.counters.patches;
    const k8sio::view_mark asked = shared.mark(a.kind, decided.meta.kind);
    const auto answer =
        co_await shared.api->merge_patch(type, decided.meta.ns, a.name, std::move(*patch));
    if (answer.has_error()) {
        co_return judge(shared, entry, a, answer.error());
    }
    shared.note_object(entry, a.kind, *answer, asked, true);
    co_return action_result::present;
}

/// The name is taken: by the object we want (an answer was lost, or the view is young), by an older
/// one of ours, or by somebody else (REQUIREMENTS.md X1, BEHAVIOUR.md 1.8, 2.7).
asio::awaitable<action_result> settle_existing(
    context& shared,
    job_entry& entry,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a
) {
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    const k8sio::view_mark asked = shared.mark(a.kind, decided.meta.kind);
    const auto live = co_await shared.api->get(type, decided.meta.ns, a.name);
    if (live.has_error()) {
        if (is_not_found(live.error())) {
            co_return action_result::recompute;  // gone again
        }
        co_return note_failure(shared, a, live.error());
    }
    const claim owner = claim_of(a, *live);
    if (owner.owner_uid != decided.meta.uid) {
        const core::refusal& noted = entry.refusals.note_foreign(a, shared.now());
        ++shared.counters.refusals;
        log_line line("name is taken by another owner");
        line.job(decided.meta)
            .field("kind", core::to_string(a.kind))
            .field("name", a.name)
            .field("count", noted.count);
        line.write(*shared.log, spdlog::level::warn);
        co_return action_result::refused;
    }
    shared.note_object(entry, a.kind, *live, asked);
    const std::string wanted = shared.options.render(decided, made, a);
    if (owner.deleting || !owner.same_place || !same_data(a, wanted, *live)) {
        co_await restore_labels(shared, entry, decided, a, children_label_json, *live);
        co_return action_result::recompute;
    }
    entry.refusals.settle(a);
    co_return co_await restore_labels(shared, entry, decided, a, wanted, *live);
}

/// Admission has changed labels of a pod that was just made: nobody would know it again
/// (BEHAVIOUR.md 2.8).
asio::awaitable<action_result> take_back(
    context& shared,
    job_entry& entry,
    const core::job_object& decided,
    const core::action& a,
    const std::string& live,
    const std::vector<std::string>& lost
) {
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    const k8sio::delete_options options(claim_of(a, live).uid);
    ++shared.counters.removes;
    const k8sio::view_mark asked = shared.mark(a.kind, decided.meta.kind);
    const auto answer = co_await shared.api->remove(type, decided.meta.ns, a.name, options);
    if (answer.has_error() && !is_not_found(answer.error())) {
        shared.note_object(entry, a.kind, live, asked);
        co_return note_failure(shared, a, answer.error());
    }
    k8sio::api_error error;
    error.code = k8sio::errc::http_status;
    error.http_status = 409;
    error.reason = "Changed";
    error.message = fmt::format(
        "the pod came back without our values of the labels {}, so that it was deleted again: "
        "something in the admission of the cluster changes pods",
        fmt::join(lost, ", ")
    );
    note_refusal(shared, entry, a, error);
    co_return action_result::refused;
}

asio::awaitable<action_result> create(
    context& shared,
    job_entry& entry,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a
) {
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    if (!is_wanted(a.kind, shared.options.without)) {
        co_return refuse_unwanted(shared, entry, a);
    }
    std::string body = shared.options.render(decided, made, a);
    const auto slots = key_slots_of(decided, a);
    if (!slots.empty()) {
        std::string error;
        auto with_keys = fill_key_slots(body, slots, error);
        if (!with_keys) {
            shared.log->error("no key for Secret {}: {}", a.name, error);
            co_return action_result::failed;
        }
        body = std::move(*with_keys);
    }
    ++shared.counters.creates;
    const std::string sent = a.kind == core::object_kind::pod ? body : std::string();
    const k8sio::view_mark asked = shared.mark(a.kind, decided.meta.kind);
    const auto answer = co_await shared.api->create(type, decided.meta.ns, std::move(body));
    if (answer.has_value()) {
        const std::vector<std::string> lost = lost_labels(sent, *answer);
        if (!lost.empty()) {
            co_return co_await take_back(shared, entry, decided, a, *answer, lost);
        }
        shared.note_object(entry, a.kind, *answer, asked);
        entry.refusals.settle(a);
        co_return action_result::done;
    }
    const k8sio::api_error& error = answer.error();
    if (error.http_status == 409 && error.reason == "AlreadyExists") {
        co_return co_await settle_existing(shared, entry, decided, made, a);
    }
    if (is_not_found(error)) {
        // The namespace or the kind is not there: no precondition that a newer view would mend.
        entry.refusals.note(a, error, shared.now());
        ++shared.counters.refusals;
        co_return action_result::refused;
    }
    co_return judge(shared, entry, a, error);
}

/// The server took the patch and dropped what it says: patching again at once would go on for ever
/// (BEHAVIOUR.md 12.12).
void note_unkept(context& shared, job_entry& entry, const core::action& a) {
    k8sio::api_error error;
    error.code = k8sio::errc::http_status;
    error.http_status = 409;
    error.reason = "NotKept";
    error.message =
        "the server took the patch, but not what it says: its definition of this kind is older "
        "than "
        "the operator, or something in the admission of the cluster takes it away";
    note_refusal(shared, entry, a, error);
}

asio::awaitable<action_result> patch(
    context& shared, job_entry& entry, const core::job_object& decided, const core::action& a
) {
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    std::string body = with_uid_precondition(a.body(), a.uid());
    if (body.empty()) {
        shared.log->error("patch is no object: kind={} name={}", core::to_string(a.kind), a.name);
        co_return action_result::failed;
    }
    ++shared.counters.patches;
    const k8sio::view_mark asked = shared.mark(a.kind, decided.meta.kind);
    const auto answer =
        co_await shared.api->merge_patch(type, decided.meta.ns, a.name, std::move(body));
    if (answer.has_value()) {
        shared.note_object(entry, a.kind, *answer, asked);
        if (a.kind == core::object_kind::job && !keeps_spec(a.body(), *answer)) {
            note_unkept(shared, entry, a);
            co_return action_result::refused;
        }
        entry.refusals.settle(a);
        co_return action_result::done;
    }
    const auto& causes = answer.error().causes;
    const bool other_uid = std::any_of(causes.begin(), causes.end(), [](const auto& cause) {
        return cause.field == "metadata.uid";
    });
    if (is_not_found(answer.error()) || other_uid) {
        co_return action_result::recompute;
    }
    co_return judge(shared, entry, a, answer.error());
}

/// A delete was answered with an object: still there, on its way out, or its last state.
void note_deletion(
    context& shared,
    job_entry& entry,
    const core::action& a,
    std::string_view answer,
    const k8sio::view_mark& asked
) {
    if (a.kind == core::object_kind::job) {
        shared.note_job(answer, asked);
        return;
    }
    const auto identity = k8sio::read_object_meta(answer);
    const bool remains = identity && identity->uid == a.uid() && claim_of(a, answer).deleting;
    if (remains) {
        shared.note_object(entry, a.kind, answer, asked);
    } else {
        shared.note_gone(a.kind, std::string(a.uid()));
    }
}

/// The server says that its object is not the one to delete. Only another UID means success, and
/// absence is evidence: so look (REQUIREMENTS.md E5).
asio::awaitable<action_result> settle_removal(
    context& shared, job_entry& entry, const core::job_object& decided, const core::action& a
) {
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    const k8sio::view_mark asked = shared.mark(a.kind, decided.meta.kind);
    const auto live = co_await shared.api->get(type, decided.meta.ns, a.name);
    if (live.has_error() && !is_not_found(live.error())) {
        co_return note_failure(shared, a, live.error());
    }
    const bool still_there = live.has_value() && claim_of(a, *live).uid == a.uid();
    if (still_there) {
        shared.note_object(entry, a.kind, *live, asked);
        co_return action_result::recompute;
    }
    shared.note_gone(a.kind, std::string(a.uid()));
    co_return action_result::done;
}

asio::awaitable<action_result> remove(
    context& shared, job_entry& entry, const core::job_object& decided, const core::action& a
) {
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    const auto& request = std::get<core::delete_object>(a.request);
    k8sio::delete_options options(request.uid);
    if (request.foreground) {
        options.propagation = "Foreground";
    }
    ++shared.counters.removes;
    const k8sio::view_mark asked = shared.mark(a.kind, decided.meta.kind);
    const auto answer = co_await shared.api->remove(type, decided.meta.ns, a.name, options);
    if (answer.has_value()) {
        note_deletion(shared, entry, a, *answer, asked);
        co_return action_result::done;
    }
    const k8sio::api_error& error = answer.error();
    if (is_not_found(error)) {
        shared.note_gone(a.kind, std::string(a.uid()));
        co_return action_result::done;
    }
    if (error.http_status == 409) {
        co_return co_await settle_removal(shared, entry, decided, a);
    }
    // Not among the refusals: those speak of what could not be made.
    co_return note_failure(shared, a, error);
}

asio::awaitable<action_result> confirm(
    context& shared, job_entry& entry, const core::job_object& decided, const core::action& a
) {
    const k8sio::resource_type& type = type_of(a.kind, decided.meta.kind);
    if (!is_wanted(a.kind, shared.options.without)) {
        co_return action_result::refused;
    }
    ++shared.counters.confirms;
    const k8sio::view_mark asked = shared.mark(a.kind, decided.meta.kind);
    const auto live = co_await shared.api->get(type, decided.meta.ns, a.name);
    if (live.has_error() && !is_not_found(live.error())) {
        co_return note_failure(shared, a, live.error());
    }
    // What another owner has under that name is not the child that vanished.
    const bool ours = live.has_value() && claim_of(a, *live).owner_uid == decided.meta.uid;
    if (ours) {
        shared.note_object(entry, a.kind, *live, asked);
        // It is out of view for good if it lost the label that the watch selects by.
        co_await restore_labels(shared, entry, decided, a, children_label_json, *live);
        co_return action_result::recompute;
    }
    const bool known = std::any_of(
        entry.absences.begin(),
        entry.absences.end(),
        [&](const core::confirmed_absence& absence) {
            return absence.kind == a.kind && absence.name == a.name;
        }
    );
    if (!known) {
        core::confirmed_absence absence;
        absence.kind = a.kind;
        absence.name = a.name;
        entry.absences.push_back(std::move(absence));
    }
    co_return action_result::done;
}

}  // namespace

asio::awaitable<action_result> carry_out(
    context& shared,
    job_entry& entry,
    const core::job_object& decided,
    const core::decision& made,
    const core::action& a
) {
    auto result = action_result::skipped;
    switch (a.what()) {
        case core::verb::create:
            result = co_await create(shared, entry, decided, made, a);
            break;
        case core::verb::patch:
            result = co_await patch(shared, entry, decided, a);
            break;
        case core::verb::remove:
            result = co_await remove(shared, entry, decided, a);
            break;
        case core::verb::confirm:
            result = co_await confirm(shared, entry, decided, a);
            break;
    }
    co_return result;
}

}  // namespace signalbox::op

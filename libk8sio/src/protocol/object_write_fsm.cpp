// SPDX-License-Identifier: Apache-2.0
#include "protocol/object_write_fsm.hpp"

#include "k8sio/object.hpp"

#include <algorithm>

namespace signalbox::k8sio {

std::string_view to_string(write_step step) {
    switch (step) {
        case write_step::create:
            return "create";
        case write_step::patch:
            return "patch";
        case write_step::remove:
            return "remove";
        case write_step::confirm:
            return "confirm";
        case write_step::inspect:
            return "inspect";
        case write_step::restore:
            return "restore";
        case write_step::take_back:
            return "take back";
    }
    return "unknown";
}

std::string_view to_string(write_failure why) {
    switch (why) {
        case write_failure::refused:
            return "refused";
        case write_failure::not_served:
            return "not served";
        case write_failure::namespace_ends:
            return "namespace ends";
        case write_failure::unavailable:
            return "unavailable";
        case write_failure::unknown:
            return "outcome unknown";
        case write_failure::malformed:
            return "malformed";
        case write_failure::cancelled:
            return "cancelled";
    }
    return "unknown";
}

std::string_view to_string(write_verdict verdict) {
    switch (verdict) {
        case write_verdict::done:
            return "done";
        case write_verdict::present:
            return "present";
        case write_verdict::foreign:
            return "foreign";
        case write_verdict::outdated:
            return "outdated";
        case write_verdict::unkept:
            return "unkept";
        case write_verdict::failed:
            return "failed";
    }
    return "unknown";
}

namespace protocol {

namespace {

constexpr const char* no_object = "patch is no object";
constexpr const char* no_uid = "order has no UID";

bool is_status(const api_error& error, int status) {
    return error.code == errc::http_status && error.http_status == status;
}

/// A successor of the same name has it (X8): 422 about `metadata.uid`, or a conflict.
bool is_other_uid(const api_error& error) {
    return std::ranges::any_of(error.causes, [](const status_cause& cause) {
        return cause.field == "metadata.uid";
    });
}

write_failure why_of(write_step step, const api_error& error) {
    if (step == write_step::create && is_namespace_ending(error)) {
        return write_failure::namespace_ends;
    }
    if (step == write_step::create && is_status(error, 404)) {
        return write_failure::not_served;
    }
    switch (classify(error)) {
        case retry_class::cancelled:
            return write_failure::cancelled;
        case retry_class::unknown_outcome:
            return write_failure::unknown;
        case retry_class::give_up: {
            // 401 is about us, and what has no status about the connection.
            const bool of_object = error.code == errc::http_status && error.http_status != 401;
            return of_object ? write_failure::refused : write_failure::unavailable;
        }
        case retry_class::retry_now:
        case retry_class::retry_later:
        case retry_class::recompute:
            break;
    }
    return write_failure::unavailable;
}

write_outcome failed(write_step step, write_failure why, api_error error) {
    write_outcome out(write_verdict::failed);
    out.failure.emplace(step, why, std::move(error));
    return out;
}

/// The end of a write whose last request got an error.
write_outcome failed(write_step step, const api_error& error) {
    const write_failure why = why_of(step, error);
    const bool patches = step == write_step::patch || step == write_step::restore;
    const bool conflict = why == write_failure::unavailable &&
                          classify(error) == retry_class::recompute &&
                          (patches || step == write_step::create);
    if (conflict || (patches && is_other_uid(error))) {
        return write_outcome(write_verdict::outdated);
    }
    return failed(step, why, error);
}

/// An answer of success without an object in it: what the server has done is unknown.
write_outcome unreadable(write_step step) {
    api_error error = make_error(errc::bad_response, "the answer is no object with a UID");
    const bool read = step == write_step::inspect || step == write_step::confirm;
    const write_failure why = read ? write_failure::unavailable : write_failure::unknown;
    return failed(step, why, std::move(error));
}

write_request patch_request(write_step step, std::string body) {
    write_request request(step);
    request.body = std::move(body);
    return request;
}

write_request delete_request(write_step step, std::string uid, std::string propagation) {
    write_request request(step);
    request.uid = std::move(uid);
    request.propagation = std::move(propagation);
    return request;
}

write_outcome malformed(write_step step, std::string what) {
    api_error error = make_error(errc::invalid_argument, std::move(what));
    return failed(step, write_failure::malformed, std::move(error));
}

write_outcome found_as(standing found) {
    const bool wanted = found == standing::wanted;
    write_outcome out(wanted ? write_verdict::present : write_verdict::outdated);
    out.found = found;
    return out;
}

/// What became of an object that was found and could not be put right, as `why` says.
write_outcome found_as(standing found, write_outcome why) {
    // One that is not the wanted one is that however it could be put right.
    if (found == standing::other) {
        why.verdict = write_verdict::outdated;
    }
    why.found = found;
    return why;
}

}  // namespace

object_write_fsm::object_write_fsm(write_order order, const object_claims& claims)
    : claims_(&claims),
      state_(std::visit([this](auto& one) { return begin(std::move(one)); }, order)) {}

write_news object_write_fsm::on_answer(const answered& answer) {
    write_news news;
    state_ = std::visit([&](const auto& now) { return after(now, answer, news); }, state_);
    return news;
}

object_write_fsm::state object_write_fsm::begin(create_order order) {
    due_.emplace(write_step::create);
    due_->body = std::move(order.body);
    return creating{};
}

object_write_fsm::state object_write_fsm::begin(patch_order order) {
    std::string body = with_uid(order.patch, order.uid);
    if (body.empty() || order.uid.empty()) {
        return malformed(write_step::patch, body.empty() ? no_object : no_uid);
    }
    due_ = patch_request(write_step::patch, std::move(body));
    due_->subresource = std::move(order.subresource);
    return patching{};
}

object_write_fsm::state object_write_fsm::begin(delete_order order) {
    uid_ = std::move(order.uid);
    if (uid_.empty()) {
        return malformed(write_step::remove, no_uid);
    }
    due_ = delete_request(write_step::remove, uid_, std::move(order.propagation));
    return removing{};
}

object_write_fsm::state object_write_fsm::begin(confirm_order) {
    due_.emplace(write_step::confirm);
    return confirming{};
}

object_write_fsm::state object_write_fsm::after(
    const creating&, const answered& answer, write_news& news
) {
    if (answer.has_error()) {
        const api_error& error = answer.error();
        if (is_status(error, 409) && error.reason == "AlreadyExists") {
            due_.emplace(write_step::inspect);
            return inspecting_existing{};
        }
        return failed(write_step::create, error);
    }
    const auto made = read_object_meta(*answer);
    if (!made) {
        return unreadable(write_step::create);
    }
    std::string lost = claims_->lost_of(*answer);
    if (!lost.empty()) {
        made_ = *answer;
        due_ = delete_request(write_step::take_back, made->uid, "Background");
        return taking_back{std::move(lost)};
    }
    news = write_news(write_news::kind::shown, *answer);
    return write_outcome(write_verdict::done);
}

object_write_fsm::state object_write_fsm::after(
    const inspecting_existing&, const answered& answer, write_news& news
) {
    if (answer.has_error()) {
        const bool gone_again = is_status(answer.error(), 404);
        return gone_again ? write_outcome(write_verdict::outdated)
                          : failed(write_step::inspect, answer.error());
    }
    const auto live = read_object_meta(*answer);
    if (!live) {
        return unreadable(write_step::inspect);
    }
    if (!claims_->is_ours(*answer)) {
        return write_outcome(write_verdict::foreign);
    }
    news = write_news(write_news::kind::shown, *answer);
    // What is in deletion, held by a finalizer perhaps, is about to be missing.
    const bool wanted = !live->deleting && claims_->is_wanted(*answer);
    return restore(*answer, live->uid, wanted ? standing::wanted : standing::other);
}

object_write_fsm::state object_write_fsm::restore(
    std::string_view live, std::string_view uid, standing found
) {
    const std::string repair = claims_->repair_of(live, found);
    if (repair.empty()) {
        return found_as(found);
    }
    std::string body = with_uid(repair, uid);
    if (body.empty()) {
        return found_as(found, malformed(write_step::restore, no_object));
    }
    due_ = patch_request(write_step::restore, std::move(body));
    return restoring{found};
}

object_write_fsm::state object_write_fsm::after(
    const restoring& now, const answered& answer, write_news& news
) {
    if (answer.has_error()) {
        return found_as(now.found, failed(write_step::restore, answer.error()));
    }
    if (!read_object_meta(*answer)) {
        return found_as(now.found, unreadable(write_step::restore));
    }
    news = write_news(write_news::kind::shown, *answer);
    return found_as(now.found);
}

object_write_fsm::state object_write_fsm::after(
    const taking_back& now, const answered& answer, write_news& news
) {
    if (answer.has_error() && !is_status(answer.error(), 404)) {
        news = write_news(write_news::kind::shown, made_);  // it may well stay
        return failed(write_step::take_back, answer.error());
    }
    write_outcome out(write_verdict::unkept);
    out.lost = now.lost;
    return out;
}

object_write_fsm::state object_write_fsm::after(
    const patching&, const answered& answer, write_news& news
) {
    if (answer.has_error()) {
        return failed(write_step::patch, answer.error());
    }
    if (!read_object_meta(*answer)) {
        return unreadable(write_step::patch);
    }
    news = write_news(write_news::kind::shown, *answer);
    write_outcome out(write_verdict::done);
    out.lost = claims_->lost_of(*answer);
    if (!out.lost.empty()) {
        out.verdict = write_verdict::unkept;
    }
    return out;
}

object_write_fsm::state object_write_fsm::after(
    const removing&, const answered& answer, write_news& news
) {
    if (answer.has_error() && is_status(answer.error(), 409)) {
        // It says that the object is not the one to delete. Only another UID means success, and
        // absence is evidence: so look (E5).
        due_.emplace(write_step::inspect);
        return inspecting_left{};
    }
    if (answer.has_error() && !is_status(answer.error(), 404)) {
        return failed(write_step::remove, answer.error());
    }
    // An object is its last state, unless it is on its way out, held by a finalizer or its grace.
    const auto left = answer.has_value() ? read_object_meta(*answer) : std::nullopt;
    const bool remains = left && left->uid == uid_ && left->deleting;
    news = remains ? write_news(write_news::kind::shown, *answer)
                   : write_news(write_news::kind::gone, uid_);
    return write_outcome(write_verdict::done);
}

object_write_fsm::state object_write_fsm::after(
    const inspecting_left&, const answered& answer, write_news& news
) {
    if (answer.has_error() && !is_status(answer.error(), 404)) {
        return failed(write_step::inspect, answer.error());
    }
    const auto live = answer.has_value() ? read_object_meta(*answer) : std::nullopt;
    if (answer.has_value() && !live) {
        return unreadable(write_step::inspect);
    }
    if (live && live->uid == uid_) {
        news = write_news(write_news::kind::shown, *answer);
        return write_outcome(write_verdict::outdated);
    }
    news = write_news(write_news::kind::gone, uid_);
    return write_outcome(write_verdict::done);
}

object_write_fsm::state object_write_fsm::after(
    const confirming&, const answered& answer, write_news& news
) {
    if (answer.has_error()) {
        return is_status(answer.error(), 404) ? write_outcome(write_verdict::done)
                                              : failed(write_step::confirm, answer.error());
    }
    const auto live = read_object_meta(*answer);
    if (!live) {
        return unreadable(write_step::confirm);
    }
    if (!claims_->is_ours(*answer)) {
        return write_outcome(write_verdict::done);  // not the one that was looked for
    }
    news = write_news(write_news::kind::shown, *answer);
    return restore(*answer, live->uid, standing::other);
}

object_write_fsm::state
object_write_fsm::after(const write_outcome& now, const answered&, write_news&) {
    return now;
}

}  // namespace protocol

}  // namespace signalbox::k8sio

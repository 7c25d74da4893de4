// SPDX-License-Identifier: Apache-2.0
//
// One write of one object as a state machine (REQUIREMENTS.md X16-X19): it says which request comes
// next and is told the answer. No I/O, no clock, and nothing of what objects mean: that is asked of
// the caller. Every write ends behind its third answer at the latest.
//
//     create_order   create ── AlreadyExists ── inspect ── [restore]
//                      └── made otherwise than sent ── take_back
//     patch_order    patch
//     delete_order   remove ── a conflict ── inspect
//     confirm_order  confirm ── it is there ── [restore]
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/object_write.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace signalbox::k8sio::protocol {

/// A request about the object; of which type, namespace and name the shell knows.
class write_request {
public:
    write_request() = default;
    explicit write_request(write_step what) : step(what) {}
    write_step step = write_step::confirm;
    std::string body;         ///< of a POST, or the merge patch
    std::string uid;          ///< of a DELETE: the precondition
    std::string propagation;  ///< of a DELETE
    std::string subresource;  ///< of the merge patch
};

/// What an answer tells of the server's objects.
class write_news {
public:
    enum class kind {
        nothing,
        shown,  ///< `text` is the object as the server has it
        gone,   ///< the object whose UID is `text` is not there
    };
    write_news() = default;
    write_news(kind what_kind, std::string_view about) : what(what_kind), text(about) {}
    kind what = kind::nothing;
    std::string_view
        text;  ///< valid until the machine or the answer goes, or the next answer comes
};

class object_write_fsm {
public:
    /// `claims` must outlive it.
    object_write_fsm(write_order order, const object_claims& claims);

    /// The request to be sent next; nothing once there is an outcome. Gives it away: one call
    /// before each on_answer().
    std::optional<write_request> next() { return std::exchange(due_, std::nullopt); }
    write_news on_answer(const result<std::string>& answer);
    /// Null until the end.
    const write_outcome* outcome() const { return std::get_if<write_outcome>(&state_); }

private:
    // What the answer is awaited of, with what is needed behind it.
    struct creating {};
    struct inspecting_existing {};
    struct restoring {
        standing found;
    };
    struct taking_back {
        std::string lost;
    };
    struct patching {};
    struct removing {};
    struct inspecting_left {};
    struct confirming {};
    using state = std::variant<
        creating,
        inspecting_existing,
        restoring,
        taking_back,
        patching,
        removing,
        inspecting_left,
        confirming,
        write_outcome>;
    using answered = result<std::string>;

    state begin(create_order order);
    state begin(patch_order order);
    state begin(delete_order order);
    state begin(confirm_order order);

    state after(const creating&, const answered& answer, write_news& news);
    state after(const inspecting_existing&, const answered& answer, write_news& news);
    state after(const restoring& now, const answered& answer, write_news& news);
    state after(const taking_back& now, const answered& answer, write_news& news);
    state after(const patching&, const answered& answer, write_news& news);
    state after(const removing&, const answered& answer, write_news& news);
    state after(const inspecting_left&, const answered& answer, write_news& news);
    state after(const confirming&, const answered& answer, write_news& news);
    state after(const write_outcome& now, const answered& answer, write_news& news);

    state restore(std::string_view live, std::string_view uid, standing found);

    const object_claims* claims_;
    std::optional<write_request> due_;
    std::string uid_;   // of what is to be deleted
    std::string made_;  // what is to be taken back
    state state_;
};

}  // namespace signalbox::k8sio::protocol

// SPDX-License-Identifier: Apache-2.0
//
// One object is written to the end (REQUIREMENTS.md X16-X19): what may be asked for, what only the
// caller can say of an object that is found, and what came of it. No I/O: object_writer sends the
// requests.
#pragma once

#include "k8sio/error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace signalbox::k8sio {

/// The object is to be there. Its name has to be fixed: then the same order may be given again,
/// whatever became of the one before (REQUIREMENTS.md X1).
class create_order {
public:
    explicit create_order(std::string object_json) : body(std::move(object_json)) {}
    std::string body;
};

/// The object with this UID is to be changed by a merge patch.
class patch_order {
public:
    patch_order(std::string object_uid, std::string merge_patch, std::string of = {})
        : uid(std::move(object_uid)), patch(std::move(merge_patch)), subresource(std::move(of)) {}
    std::string uid;
    std::string patch;        ///< without the UID, which is added
    std::string subresource;  ///< as of client::merge_patch
};

/// The object with this UID is to go.
class delete_order {
public:
    explicit delete_order(std::string object_uid, std::string propagation_policy = "Background")
        : uid(std::move(object_uid)), propagation(std::move(propagation_policy)) {}
    std::string uid;
    std::string propagation;  ///< `Background`, `Foreground` or `Orphan`
};

/// It is to be known that no object of the caller's has the name. One that is there is shown, and
/// put right.
class confirm_order {};

using write_order = std::variant<create_order, patch_order, delete_order, confirm_order>;

/// The requests of which a write is made: one to three of these.
enum class write_step {
    create,     ///< POST: what was asked for
    patch,      ///< PATCH: what was asked for
    remove,     ///< DELETE: what was asked for
    confirm,    ///< GET: what was asked for
    inspect,    ///< GET: what has the name of the new object, or is left of one to be deleted
    restore,    ///< PATCH: puts an object right that was found
    take_back,  ///< DELETE: of an object that was made, but not as it was sent
};
/// In words, for logs.
std::string_view to_string(write_step step);

/// How an object that is found stands to the one that was asked for.
enum class standing {
    other,   ///< the caller's, but not the wanted one, or in deletion
    wanted,  ///< what was to be created
};

/// What only the caller can say of an object. Whoever answers does nothing else: the same text has
/// the same answer, however often it is asked for. The texts are objects with a UID, as the server
/// has them.
class object_claims {
public:
    virtual ~object_claims() = default;
    /// The object is the caller's, in whatever state. One that is not is left alone.
    virtual bool is_ours(std::string_view live) const = 0;
    /// It is the very object that was to be created: in its place, with its content. Asked only of
    /// what is ours and not in deletion.
    virtual bool is_wanted(std::string_view live) const = 0;
    /// The merge patch that puts an object of ours right, without the UID, which is added; empty if
    /// there is nothing to put right. One that was looked for by a confirm_order is `other`.
    virtual std::string repair_of(std::string_view live, standing found) const = 0;
    /// What the server has not kept of what it took, in words, though it matters; empty: nothing.
    /// `answer`: to a create_order or patch_order. What was made so is deleted again.
    virtual std::string lost_of(std::string_view answer) const = 0;
};

/// Told while a write goes on, so that views know at once what it has learnt. It must not throw.
class write_listener {
public:
    virtual ~write_listener() = default;
    /// This request is sent next.
    virtual void sending(write_step step) = 0;
    /// The server has the object so, as known by the answer to that request. Never of others.
    ///
    /// Lifetimes: the text is valid during the call.
    virtual void shown(write_step step, std::string_view object_json) = 0;
    /// The object with that UID is not there any more.
    ///
    /// Lifetimes: the text is valid during the call.
    virtual void gone(std::string_view uid) = 0;
};

/// Why a request of a write failed, as far as it matters for what to do next. What says that the
/// object is not as the caller thought is none: that is write_verdict::outdated.
enum class write_failure {
    refused,         ///< this object, as it is, will be refused again: 400, 403, 422 and the like
    not_served,      ///< 404 of a creation: the kind, or something above the object, is not there
    namespace_ends,  ///< of a creation: its namespace is being deleted, or gone
    unavailable,     ///< no usable answer, or one that says to come back later: so for any request
    unknown,         ///< it may have happened or not: give the order again, it will find out
    malformed,       ///< the order has no UID, or its patch is no object; nothing was sent
    cancelled,       ///< the caller's own wish; what was under way may have happened
};
/// In words, for logs.
std::string_view to_string(write_failure why);

class failed_request {
public:
    failed_request(write_step of, write_failure reason, api_error what)
        : step(of), why(reason), error(std::move(what)) {}
    write_step step;
    write_failure why;
    api_error error;
};

enum class write_verdict {
    done,      ///< what was asked for holds: created, patched, gone, not there
    present,   ///< what was to be created was there already, and is as wanted
    foreign,   ///< what has the name of the new object is another's; it was left alone
    outdated,  ///< the world is not as the caller thought: decide again
    unkept,    ///< the server took it, and did not keep what `lost` says; a new object was deleted
    failed,    ///< a request failed; what was asked for may hold or not
};
/// In words, for logs.
std::string_view to_string(write_verdict verdict);

/// What came of a write.
class write_outcome {
public:
    explicit write_outcome(write_verdict came) : verdict(came) {}
    write_verdict verdict;
    std::optional<standing> found;  ///< of an object of ours that had the name
    std::string lost;               ///< what object_claims::lost_of() said
    /// The request that failed. Also beside `outdated`, if an object that is not the wanted one
    /// could not be put right.
    std::optional<failed_request> failure;
};

}  // namespace signalbox::k8sio

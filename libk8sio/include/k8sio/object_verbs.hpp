// SPDX-License-Identifier: Apache-2.0
//
// Verbs for an object that several have a part in: server-side apply, owner references, finalizers
// (REQUIREMENTS.md X6, X9, X10). They are made of the requests of `client`.
#pragma once

#include "k8sio/apply_options.hpp"
#include "k8sio/client.hpp"
#include "k8sio/owner_reference.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// Applies `body`: the JSON of an object with apiVersion, kind and only the fields that the manager
/// wants. Creates the object if there is none of that name. An apply may be repeated.
///
/// Errors: as of client; invalid_argument if there is no manager, or the body is no JSON object.
/// Conflicts with other managers are no error but a value; other answers of 409 (a UID or version
/// in the body that the object no longer has) are errors.
/// Lifetimes: `api`, `type` and the texts must live until it completes.
/// Thread: that of `api`.
/// Cancellation: as of client.
boost::asio::awaitable<result<apply_outcome>> apply(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string body,
    apply_options options
);

/// Makes `owner` an owner of an object that exists; gives the object as it is now. An object that
/// has the reference already is left alone. Reads the object, and changes the version that it read;
/// after a conflict it does so again, three times at most.
///
/// `uid`: of the object; empty: whichever has the name.
///
/// Errors: as of client; as of with_owner(); 404 if the name belongs to another UID; 409 if others
/// change the object all the time.
/// Lifetimes: `api`, `type` and the texts must live until it completes.
/// Thread: that of `api`.
/// Cancellation: as of client.
boost::asio::awaitable<result<std::string>> set_owner(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string uid,
    owner_reference owner
);

/// Adds a finalizer, as `example.com/cleanup`: the object stays until it is removed. Add it before
/// the first effect outside of the cluster. As set_owner(). The server refuses a new finalizer on
/// an object that is being deleted.
///
/// Errors: as of set_owner(); invalid_argument if the finalizer is empty.
/// Lifetimes: as of set_owner().
/// Thread: that of `api`.
/// Cancellation: as of client.
boost::asio::awaitable<result<std::string>> add_finalizer(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string uid,
    std::string finalizer
);

/// Removes the finalizer; those of others stay. It may be repeated: an object that is gone, or
/// whose name belongs to another UID by now, is a success with an empty text.
///
/// Errors: as of add_finalizer(), but for 404.
/// Lifetimes: as of set_owner().
/// Thread: that of `api`.
/// Cancellation: as of client.
boost::asio::awaitable<result<std::string>> remove_finalizer(
    client& api,
    const resource_type& type,
    std::string_view ns,
    std::string_view name,
    std::string uid,
    std::string finalizer
);

}  // namespace signalbox::k8sio

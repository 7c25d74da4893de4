// SPDX-License-Identifier: Apache-2.0
//
// What the verbs of the Kubernetes API take beside the object, and a page of a list.
#pragma once

#include "k8sio/time.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::k8sio {

/// Preconditions and propagation of a delete (REQUIREMENTS.md X8).
class delete_options {
public:
    delete_options() = default;
    explicit delete_options(std::string uid_precondition) : uid(std::move(uid_precondition)) {}
    std::string uid;               ///< empty: no precondition
    std::string resource_version;  ///< empty: no precondition
    /// `Background`, `Foreground` or `Orphan`; empty: what the server does by default for the kind.
    std::string propagation = "Background";
    /// Seconds; nothing: those of the object. 0 takes a pod off the server while it may still run.
    std::optional<std::int64_t> grace_seconds;
};

/// One page of a list: the list object's JSON plus its paging facts.
class list_page {
public:
    list_page() = default;
    std::string resource_version;  ///< of the list; where a watch goes on (REQUIREMENTS.md V3)
    std::string continue_token;    ///< empty: this is the last page
    /// Each item's JSON text, with apiVersion and kind filled in (REQUIREMENTS.md L6).
    std::vector<std::string> items;
};

/// Gets each item of a list once, as JSON. `version` is the list's if the server has sent it before
/// the items, else empty.
///
/// Lifetimes: the texts are valid during the call.
using list_item_function = std::function<void(std::string_view item, std::string_view version)>;

/// Which part of a collection a list gives.
class list_options {
public:
    list_options() = default;
    std::string label_selector;  ///< as in `a=b,c in (d,e)`; empty: all
    std::string field_selector;  ///< as in `spec.nodeName=n`; empty: all
    std::int64_t limit = 500;    ///< objects per page; 0: the whole list at once
    std::string continue_token;  ///< of the page before; empty: the first page
    /// Empty: the most recent state; `0`: any; another: not older (REQUIREMENTS.md V1). Not sent
    /// with a continue_token (L1).
    std::string resource_version;
};

/// Which part of a container's log is wanted.
class log_query {
public:
    log_query() = default;
    std::string container;    ///< empty: the pod's only one
    bool follow = false;      ///< goes on until the container has ended
    bool previous = false;    ///< of the container's run before this one
    bool timestamps = false;  ///< each line begins with its time
    /// Lines from then on, to a second; nothing: all.
    std::optional<wall_time> since;
    /// The same in seconds before the server's present time; at most one of both.
    std::optional<std::int64_t> since_seconds;
    std::optional<std::int64_t> tail_lines;   ///< from the end, then what follows; nothing: all
    std::optional<std::int64_t> limit_bytes;  ///< of the whole answer; nothing: no limit
    /// Until the answer begins, and between two pieces of it. A program may be silent for long.
    std::chrono::nanoseconds idle = std::chrono::hours{24};
};

}  // namespace signalbox::k8sio

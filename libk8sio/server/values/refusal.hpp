// SPDX-License-Identifier: Apache-2.0
//
// Why the server refuses a request, as a value, and its `Status` object (meta.k8s.io/v1). The texts
// follow the real server's, since people and clients read them.
#pragma once

#include "k8sio/error.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// Becomes a Status with status Failure.
struct refusal {
    int code = 500;  ///< 0: none is told
    std::string reason;
    std::string message;
    std::string name, group, kind;  ///< Status.details
    bool routed = true;  ///< false: before any kind was found; the details are there and empty
    std::vector<status_cause> causes;
    int retry_after = 0;         ///< seconds; 0: none
    std::string continue_token;  ///< of an expired list (REQUIREMENTS.md L2)
};

[[noreturn]] void throw_exception_from_error(
    const refusal& error, const boost::source_location& where
);

template <class T>
using outcome = boost::system::result<T, refusal>;

refusal no_such_resource();
refusal bad_request(std::string message);
refusal internal_error(std::string why);
refusal expired(std::string message);
refusal method_not_allowed();
refusal unsupported_media_type(std::string_view supported);
/// As the verbs of built-in kinds refuse a patch's type.
refusal unsupported_patch_type();
refusal not_acceptable();
/// As the paths of built-in kinds do where not even the type is JSON.
refusal no_representation();
/// As the real server's storage refuses an object.
refusal too_large_object();
refusal too_large_version(std::uint64_t asked, std::uint64_t current);

/// The Status object's JSON text.
std::string status_text(const refusal& r);

}  // namespace signalbox::k8sio::server

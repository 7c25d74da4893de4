// SPDX-License-Identifier: Apache-2.0
//
// Why the server refuses a request, as a value, and its `Status` object (meta.k8s.io/v1). The texts
// follow the real server's, since people and clients read them.
#pragma once

#include "k8sio/error.hpp"
#include "server/json.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

struct kind_info;

/// Becomes a Status with status Failure.
struct refusal {
    int code = 500;
    std::string reason;
    std::string message;
    std::string name, group, kind, uid;  ///< Status.details
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

/// Reasons why an object is invalid, collected before answering 422. `reason` is the cause's, e.g.
/// FieldValueRequired.
class problems {
public:
    void required(std::string field, std::string_view detail = {});
    void forbidden(std::string field, std::string_view detail);
    void invalid(std::string field, const json::value& bad, std::string_view detail);
    void invalid(std::string field, std::string_view bad, std::string_view detail);
    void wrong_type(std::string field, const json::value& bad, std::string_view wanted);
    void unsupported(
        std::string field, const json::value& bad, const std::vector<std::string>& supported
    );
    void too_long(std::string field, std::size_t most);
    void too_many(std::string field, std::size_t count, std::size_t most);
    void duplicate(std::string field, const json::value& bad);
    void add(std::string reason, std::string field, std::string body);

    bool empty() const { return list_.empty(); }
    /// Whether the object is so wrong that rules over it would not be understood.
    bool forbids_rules() const;
    std::size_t size() const { return list_.size(); }
    std::vector<status_cause> take() { return std::move(list_); }

private:
    std::vector<status_cause> list_;
};

/// Each of `bad`, sentences on the text `shown`, as an invalid value of that field.
void complain(
    const std::vector<std::string>& bad,
    const std::string& field,
    std::string_view shown,
    problems& list
);

refusal not_found(const kind_info& kind, std::string_view name);
refusal no_such_resource();
refusal already_exists(const kind_info& kind, std::string_view name);
refusal conflict(const kind_info& kind, std::string_view name, std::string_view detail);
/// The object changed since the version that the writer has seen (REQUIREMENTS.md X4).
refusal stale_write(const kind_info& kind, std::string_view name);
refusal invalid(const kind_info& kind, std::string_view name, problems& list);
refusal forbidden(const kind_info& kind, std::string_view name, std::string_view detail);
refusal bad_request(std::string message);
refusal expired(std::string message);
refusal method_not_allowed();
refusal unsupported_media_type(std::string_view supported);
/// As the verbs of built-in kinds refuse a patch's type.
refusal unsupported_patch_type();
refusal not_acceptable();
/// As the paths of built-in kinds do where not even the type is JSON.
refusal no_representation();
refusal too_large_version(std::uint64_t asked, std::uint64_t current);

/// The Status object's JSON text.
std::string status_text(const refusal& r);
std::string success_text(const kind_info& kind, std::string_view name, std::string_view uid);

/// Go's %q of a text.
std::string quoted(std::string_view text);

}  // namespace signalbox::k8sio::server

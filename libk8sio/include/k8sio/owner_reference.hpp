// SPDX-License-Identifier: Apache-2.0
//
// Who an object belongs to (REQUIREMENTS.md X10).
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/object.hpp"

#include <string>
#include <string_view>

namespace signalbox::k8sio {

/// The owner of an object, of the same namespace or of the cluster. When it goes, the server's
/// garbage collector deletes the object.
class owner_reference {
public:
    owner_reference() = default;
    /// For an object that has just been read. It becomes the controller: an object has one at most.
    explicit owner_reference(const object_meta& owner)
        : api_version(owner.api_version), kind(owner.kind), name(owner.name), uid(owner.uid) {}

    std::string api_version;
    std::string kind;
    std::string name;
    std::string uid;
    /// False: one owner beside others; it holds nothing up either (blockOwnerDeletion).
    bool controller = true;
};

/// The object with this reference among its `metadata.ownerReferences`, for an object that is yet
/// to be created. A reference with the same UID is replaced.
///
/// Errors: invalid_argument if the text is no JSON object, the reference lacks a part, or the
/// object has another controller.
result<std::string> with_owner(std::string_view object_json, const owner_reference& owner);

}  // namespace signalbox::k8sio

// SPDX-License-Identifier: Apache-2.0
//
// A change of an object's owners or finalizers as a state machine (REQUIREMENTS.md X9, X10): read
// the object, change the version that was read, read again after a conflict. No I/O, no clock.
#pragma once

#include "k8sio/error.hpp"
#include "k8sio/owner_reference.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::protocol {

/// What of an object's metadata such a change looks at.
class object_ties {
public:
    object_ties() = default;
    struct owner {
        std::string uid;
        std::string text;  ///< the reference as JSON
        bool controller = false;
    };
    std::string uid, version;
    std::vector<std::string> finalizers;
    std::vector<owner> owners;
};
/// Nothing if the text is no JSON object.
std::optional<object_ties> read_ties(std::string_view object_json);

/// The JSON of `metadata.ownerReferences` with this owner; empty if it is there already.
///
/// invalid_argument: see with_owner().
result<std::string> owners_with(const object_ties& ties, const owner_reference& owner);
/// The JSON of `metadata.finalizers` with or without this one; empty if it is so already.
std::string finalizers_with(const object_ties& ties, std::string_view finalizer);
std::string finalizers_without(const object_ties& ties, std::string_view finalizer);

class metadata_change {
public:
    /// Gives the new JSON of the member of `metadata`; empty: it is as it should be.
    using change_function = std::function<result<std::string>(const object_ties&)>;
    /// Whether an object that is not there is an error, or what the caller wants.
    enum class missing { is_error, is_success };

    metadata_change(std::string uid, std::string member, missing gone, change_function change);

    /// The merge patch to send next; nothing: read the object.
    const std::optional<std::string>& patch() const { return patch_; }
    /// The answer to the read, or to the patch.
    void on_answer(const result<std::string>& answer);
    /// Null until the end.
    const result<std::string>* outcome() const { return outcome_ ? &*outcome_ : nullptr; }

private:
    void on_read(const result<std::string>& answer);
    void end_without_object(api_error error);

    std::string uid_;
    std::string member_;
    missing gone_;
    change_function change_;
    int patches_ = 0;
    std::optional<std::string> patch_;
    std::optional<result<std::string>> outcome_;
};

}  // namespace signalbox::k8sio::protocol

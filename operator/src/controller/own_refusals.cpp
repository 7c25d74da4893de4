// SPDX-License-Identifier: Apache-2.0
#include "controller/own_refusals.hpp"

#include <fmt/format.h>

namespace signalbox::op {

k8sio::api_error changed_pod(std::string_view labels) {
    return k8sio::status_error(
        409,
        "Changed",
        fmt::format(
            "the pod came back without our values of the labels {}, so that it was deleted again: "
            "something in the admission of the cluster changes pods",
            labels
        )
    );
}

k8sio::api_error unkept_patch() {
    return k8sio::status_error(
        409,
        "NotKept",
        "the server took the patch, but not what it says: its definition of this kind is older "
        "than the operator, or something in the admission of the cluster takes it away"
    );
}

k8sio::api_error left_out(std::string_view feature) {
    return k8sio::status_error(
        403, "Forbidden", fmt::format("this operator runs without {0} (--without {0})", feature)
    );
}

core::answer::refused refused_by(const k8sio::api_error& error) {
    core::answer::refused out;
    out.http_code = error.http_status;
    out.reason = error.reason;
    out.message = error.message;
    out.namespace_terminating = k8sio::is_namespace_ending(error);
    return out;
}

}  // namespace signalbox::op

// SPDX-License-Identifier: Apache-2.0
#include "server/streams/pod_refusal.hpp"

#include <utility>

namespace signalbox::k8sio::server {

api_error pod_failure(std::string message) {
    return status_error(500, "InternalError", "Internal error occurred: " + std::move(message));
}

refusal refusal_of(const api_error& error) {
    const bool answered = error.code == errc::http_status && error.http_status >= 400;
    if (!answered) {
        return refusal_of(pod_failure(error.message));
    }
    refusal r;
    r.code = error.http_status;
    r.reason = error.reason;
    r.message = error.message;
    r.causes = error.causes;
    return r;
}

}  // namespace signalbox::k8sio::server

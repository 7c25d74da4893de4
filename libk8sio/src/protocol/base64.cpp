// SPDX-License-Identifier: Apache-2.0
#include "k8sio/base64.hpp"

#include "kubernetes/base64.hpp"

namespace signalbox::k8sio {

std::string base64_encode(std::string_view bytes) {
    return kubernetes::base64_encode(bytes);
}

std::optional<std::string> base64_decode(std::string_view text) {
    return kubernetes::base64_decode(text);
}

}  // namespace signalbox::k8sio

// SPDX-License-Identifier: Apache-2.0
#include "k8sio/http.hpp"

#include <boost/beast/core/string.hpp>

namespace signalbox::k8sio {

std::string_view http_response::header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
        if (boost::beast::iequals(key, name)) {
            return value;
        }
    }
    return {};
}

}  // namespace signalbox::k8sio

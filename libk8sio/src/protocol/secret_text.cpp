// SPDX-License-Identifier: Apache-2.0
#include "k8sio/cluster_config.hpp"
#include "k8sio/same_secret.hpp"

#include <openssl/crypto.h>

namespace signalbox::k8sio {

secret_text::~secret_text() {
    wipe();
}

void secret_text::wipe() noexcept {
    // Up to the capacity: a text that was moved away may have left its bytes.
    text_.resize(text_.capacity());
    OPENSSL_cleanse(text_.data(), text_.size());
    text_.clear();
}

bool same_secret(std::string_view x, std::string_view y) {
    return x.size() == y.size() && CRYPTO_memcmp(x.data(), y.data(), x.size()) == 0;
}

}  // namespace signalbox::k8sio

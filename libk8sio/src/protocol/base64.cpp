// SPDX-License-Identifier: Apache-2.0
#include "protocol/base64.hpp"

#include <openssl/evp.h>

#include <cstdint>

namespace signalbox::k8sio::protocol {

namespace {

const unsigned char* as_bytes(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* as_bytes(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
    const std::string input(bytes);
    std::string out((input.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL adds a zero
    const int size =
        EVP_EncodeBlock(as_bytes(out), as_bytes(input), static_cast<int>(input.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
    std::string input;
    for (const char c : text) {
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') {
            input += c;
        }
    }
    std::string out(input.size() / 4 * 3, '\0');
    const int size =
        EVP_DecodeBlock(as_bytes(out), as_bytes(input), static_cast<int>(input.size()));
    if (size < 0 || input.size() % 4 != 0) {
        return std::nullopt;
    }
    // EVP_DecodeBlock counts the bytes of the padding.
    std::size_t padding = 0;
    while (padding < 2 && padding < input.size() && input[input.size() - 1 - padding] == '=') {
        ++padding;
    }
    out.resize(static_cast<std::size_t>(size) - padding);
    return out;
}

}  // namespace signalbox::k8sio::protocol

// SPDX-License-Identifier: Apache-2.0
#include "k8sio/base64.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace signalbox::k8sio {

namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
    // OpenSSL takes padding anywhere, decodes it as zeros, and ignores `-` at the end.
    const std::size_t end = std::min(input.find_first_not_of(digits), input.size());
    const std::string_view padding = std::string_view(input).substr(end);
    if (input.size() % 4 != 0 || (padding != "" && padding != "=" && padding != "==")) {
        return std::nullopt;
    }
    std::string out(input.size() / 4 * 3, '\0');
    const int size =
        EVP_DecodeBlock(as_bytes(out), as_bytes(input), static_cast<int>(input.size()));
    if (size < 0) {
        return std::nullopt;
    }
    out.resize(static_cast<std::size_t>(size) - padding.size());
    return out;
}

}  // namespace signalbox::k8sio

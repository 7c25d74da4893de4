// SPDX-License-Identifier: Apache-2.0
#include "controller/key_material.hpp"

#include "k8sio/base64.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>
#include <memory>
#include <utility>

namespace signalbox::op {

namespace {

constexpr std::string_view key_type = "ecdsa-sha2-nistp256";
constexpr std::string_view curve = "nistp256";

using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using bio_ptr = std::unique_ptr<BIO, decltype(&BIO_free)>;

/// What OpenSSL says of its last error: reasons only, never data.
std::string openssl_error(const char* doing) {
    std::array<char, 256> text{};
    ERR_error_string_n(ERR_get_error(), text.data(), text.size());
    ERR_clear_error();
    return std::string(doing) + ": " + text.data();
}

/// An ssh wire string: four bytes of length, then the bytes (RFC 4251, section 5).
void append_string(std::string& wire, std::string_view bytes) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        wire.push_back(static_cast<char>((bytes.size() >> shift) & 0xFFU));
    }
    wire.append(bytes);
}

/// RFC 5656, section 3.1: type, curve, uncompressed point.
std::optional<std::string> public_line(EVP_PKEY* key) {
    unsigned char* point = nullptr;
    const std::size_t length = EVP_PKEY_get1_encoded_public_key(key, &point);
    if (length == 0) {
        return std::nullopt;
    }
    std::string wire;
    append_string(wire, key_type);
    append_string(wire, curve);
    append_string(wire, {reinterpret_cast<const char*>(point), length});
    OPENSSL_free(point);
    return std::string(key_type) + ' ' + k8sio::base64_encode(wire) + '\n';
}

std::optional<std::string> private_pem(EVP_PKEY* key) {
    const bio_ptr out(BIO_new(BIO_s_mem()), &BIO_free);
    if (!out || PEM_write_bio_PrivateKey_traditional(
                    out.get(), key, nullptr, nullptr, 0, nullptr, nullptr
                ) != 1) {
        return std::nullopt;
    }
    char* text = nullptr;
    const long length = BIO_get_mem_data(out.get(), &text);
    return std::string(text, static_cast<std::size_t>(length));
}

std::optional<core::key_pair> pair_of(EVP_PKEY* key) {
    auto line = public_line(key);
    auto pem = private_pem(key);
    return line && pem ? std::optional(core::key_pair{std::move(*pem), std::move(*line)})
                       : std::nullopt;
}

/// The public point of a PEM is whatever stands there: it has to be that of the private number.
bool is_whole_p256(EVP_PKEY* key) {
    std::array<char, 32> group{};
    std::size_t length = 0;
    const bool p256 = EVP_PKEY_get_group_name(key, group.data(), group.size(), &length) == 1 &&
                      std::string_view(group.data(), length) == "prime256v1";
    const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> check(
        p256 ? EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr) : nullptr, &EVP_PKEY_CTX_free
    );
    return check && EVP_PKEY_check(check.get()) == 1;
}

}  // namespace

std::optional<core::key_pair> make_key_pair(std::string& error) {
    const key_ptr key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    if (!key) {
        error = openssl_error("cannot make a key");
        return std::nullopt;
    }
    auto pair = pair_of(key.get());
    if (!pair) {
        error = openssl_error("cannot write a key");
    }
    return pair;
}

std::optional<core::key_pair> read_key_pair(std::string_view private_pem) {
    static char no_password[] = "";
    const bio_ptr in(
        BIO_new_mem_buf(private_pem.data(), static_cast<int>(private_pem.size())), &BIO_free
    );
    const key_ptr key(
        // An empty password: without one OpenSSL would ask a terminal.
        in ? PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, no_password) : nullptr,
        &EVP_PKEY_free
    );
    auto pair = key && is_whole_p256(key.get()) ? pair_of(key.get()) : std::nullopt;
    ERR_clear_error();
    return pair;
}

std::optional<core::key_pairs> make_keys(
    std::span<const core::key_slot> slots, std::string& error
) {
    core::key_pairs keys;
    for (const core::key_slot& slot : slots) {
        if (keys.contains(slot.key)) {
            continue;
        }
        auto pair = make_key_pair(error);
        if (!pair) {
            return std::nullopt;
        }
        keys.emplace(slot.key, *std::move(pair));
    }
    return keys;
}

}  // namespace signalbox::op

// SPDX-License-Identifier: Apache-2.0
#include "controller/key_material.hpp"

#include "k8sio/base64.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <functional>
#include <map>
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

/// Pairs by name, each made when it is first asked for.
using key_ring = std::map<std::string, key_pair, std::less<>>;

/// Null, with `error` set, if there is no such pair and none can be made.
const key_pair* find_pair(key_ring& keys, const std::string& name, std::string& error) {
    const auto found = keys.find(name);
    if (found != keys.end()) {
        return &found->second;
    }
    auto made = make_key_pair(error);
    return made ? &keys.emplace(name, std::move(*made)).first->second : nullptr;
}

/// The place of a slot's value; null if there is no marker.
rapidjson::Value* marked_value(rapidjson::Document& secret, const std::string& key) {
    if (!secret.IsObject() || !secret.HasMember("data") || !secret["data"].IsObject()) {
        return nullptr;
    }
    const auto member = secret["data"].FindMember(key.c_str());
    const bool marked =
        member != secret["data"].MemberEnd() && member->value.IsString() &&
        std::string_view(member->value.GetString(), member->value.GetStringLength()) ==
            core::generated_marker;
    return marked ? &member->value : nullptr;
}

}  // namespace

std::optional<key_pair> make_key_pair(std::string& error) {
    const key_ptr key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    if (!key) {
        error = openssl_error("cannot make a key");
        return std::nullopt;
    }
    auto line = public_line(key.get());
    auto pem = private_pem(key.get());
    if (!line || !pem) {
        error = openssl_error("cannot write a key");
        return std::nullopt;
    }
    return key_pair{std::move(*pem), std::move(*line)};
}

std::optional<std::string> fill_key_slots(
    std::string_view secret_json, std::span<const core::key_slot> slots, std::string& error
) {
    rapidjson::Document secret;
    secret.Parse<rapidjson::kParseIterativeFlag>(secret_json.data(), secret_json.size());
    if (secret.HasParseError()) {
        error = "the Secret is no JSON";
        return std::nullopt;
    }
    key_ring keys;
    for (const core::key_slot& slot : slots) {
        rapidjson::Value* const place = marked_value(secret, slot.data_key);
        if (place == nullptr) {
            error = "the Secret's data has no place for " + slot.data_key;
            return std::nullopt;
        }
        const key_pair* const pair = find_pair(keys, slot.key, error);
        if (pair == nullptr) {
            return std::nullopt;
        }
        const bool secret_half = slot.form == core::key_form::private_pem;
        const std::string value = k8sio::base64_encode(
            slot.prefix + (secret_half ? pair->private_pem : pair->public_line)
        );
        place->SetString(
            value.data(), static_cast<rapidjson::SizeType>(value.size()), secret.GetAllocator()
        );
    }
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    secret.Accept(out);
    return std::string(buffer.GetString(), buffer.GetSize());
}

}  // namespace signalbox::op

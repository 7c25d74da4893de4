// SPDX-License-Identifier: Apache-2.0
#include "server/verbs/account_tokens.hpp"

#include "k8sio/base64.hpp"
#include "k8sio/same_secret.hpp"
#include "server/values/json.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace signalbox::k8sio::server {
namespace {

using json::value;

constexpr std::string_view issuer = "https://kubernetes.default.svc.cluster.local";

/// Base64 of URLs, without padding.
std::string encode_part(std::string_view bytes) {
    std::string out = base64_encode(bytes);
    std::ranges::replace(out, '+', '-');
    std::ranges::replace(out, '/', '_');
    out.resize(std::min(out.find('='), out.size()));
    return out;
}

std::optional<std::string> decode_part(std::string_view part) {
    std::string text(part);
    std::ranges::replace(text, '-', '+');
    std::ranges::replace(text, '_', '/');
    text.append((4 - text.size() % 4) % 4, '=');
    return base64_decode(text);
}

std::int64_t seconds_of(wall_time t) {
    return std::chrono::floor<std::chrono::seconds>(t.time_since_epoch()).count();
}

std::string words_of(const token_claims& claims, wall_time now) {
    json::arena a;
    value out = json::object();
    value audiences = json::array();
    for (const std::string& audience : claims.audiences) {
        audiences.PushBack(json::make_string(audience, a), a);
    }
    json::set(out, "aud", std::move(audiences), a);
    json::set(out, "exp", value(seconds_of(claims.expires)), a);
    json::set(out, "iat", value(seconds_of(now)), a);
    json::set(out, "iss", issuer, a);
    json::set(out, "sub", "system:serviceaccount:" + claims.ns + ':' + claims.account, a);
    value& bound = json::object_at(out, "kubernetes.io", a);
    json::set(bound, "namespace", claims.ns, a);
    json::set(json::object_at(bound, "serviceaccount", a), "name", claims.account, a);
    if (!claims.pod_uid.empty()) {
        value& pod = json::object_at(bound, "pod", a);
        json::set(pod, "name", claims.pod, a);
        json::set(pod, "uid", claims.pod_uid, a);
    }
    return json::to_text(out);
}

}  // namespace

account_tokens::account_tokens() {
    std::array<unsigned char, 32> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
        throw std::runtime_error("OpenSSL gives no random numbers");
    }
    key_.assign(bytes.begin(), bytes.end());
}

std::string account_tokens::sign(std::string_view text) const {
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    unsigned size = 0;
    HMAC(
        EVP_sha256(),
        key_.data(),
        static_cast<int>(key_.size()),
        reinterpret_cast<const unsigned char*>(text.data()),
        text.size(),
        out.data(),
        &size
    );
    return encode_part(std::string(out.begin(), out.begin() + size));
}

std::string account_tokens::issue(const token_claims& claims, wall_time now) const {
    const std::string said =
        encode_part(R"({"alg":"HS256","typ":"JWT"})") + '.' + encode_part(words_of(claims, now));
    return said + '.' + sign(said);
}

std::optional<token_claims> account_tokens::verify(std::string_view token, wall_time now) const {
    const std::size_t end = token.rfind('.');
    const std::size_t begin = token.find('.');
    if (begin == token.npos || begin >= end ||
        !same_secret(sign(token.substr(0, end)), token.substr(end + 1))) {
        return std::nullopt;
    }
    const auto words = decode_part(token.substr(begin + 1, end - begin - 1));
    json::arena a;
    value said;
    if (!words || json::parse(said, *words, a)) {
        return std::nullopt;
    }
    token_claims out;
    out.ns = json::string_at(said, {"kubernetes.io", "namespace"});
    out.account = json::string_at(said, {"kubernetes.io", "serviceaccount", "name"});
    out.pod = json::string_at(said, {"kubernetes.io", "pod", "name"});
    out.pod_uid = json::string_at(said, {"kubernetes.io", "pod", "uid"});
    if (const value* audiences = json::find(said, "aud")) {
        for (const value& audience : audiences->GetArray()) {
            out.audiences.push_back(json::text_of(audience));
        }
    }
    out.expires = wall_time(std::chrono::seconds(json::int_at(said, {"exp"}).value_or(0)));
    return now < out.expires ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace signalbox::k8sio::server

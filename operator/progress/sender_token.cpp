// SPDX-License-Identifier: Apache-2.0
#include "progress/sender_token.hpp"

#include "progress/json_values.hpp"

#include <jobcore/progress.hpp>
#include <jobcore/strings.hpp>
#include <k8sio/base64.hpp>

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace signalbox::op::progress {

namespace {

constexpr std::string_view account_user = "system:serviceaccount:";
constexpr const char* uid_extra = "authentication.kubernetes.io/pod-uid";

bool has_text(const json_value* list, std::string_view wanted) {
    return list != nullptr && list->IsArray() &&
           std::any_of(list->Begin(), list->End(), [&](const json_value& v) {
               return v.IsString() && text_of(&v) == wanted;
           });
}

std::optional<std::string> decode_part(std::string_view part) {
    std::string text(part);
    std::ranges::replace(text, '-', '+');
    std::ranges::replace(text, '_', '/');
    text.append((4 - text.size() % 4) % 4, '=');
    return k8sio::base64_decode(text);
}

}  // namespace

std::optional<token_pod> read_claims(std::string_view token) {
    const std::size_t first = token.find('.');
    const std::size_t second = first == token.npos ? token.npos : token.find('.', first + 1);
    if (second == token.npos) {
        return std::nullopt;
    }
    const auto text = decode_part(token.substr(first + 1, second - first - 1));
    rapidjson::Document document;
    if (text) {
        document.Parse<json_flags>(text->data(), text->size());
    }
    if (!text || document.HasParseError() ||
        !has_text(find(&document, "aud"), core::progress_audience)) {
        return std::nullopt;
    }
    const json_value* claims = find(&document, "kubernetes.io");
    token_pod out;
    out.ns = text_of(find(claims, "namespace"));
    out.uid = text_of(find(find(claims, "pod"), "uid"));
    return out.ns.empty() || out.uid.empty() ? std::nullopt : std::optional(std::move(out));
}

std::string review_of(std::string_view token) {
    std::string out =
        R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":)";
    core::append_json_string(out, token);
    out += R"(,"audiences":[)";
    core::append_json_string(out, core::progress_audience);
    return out + "]}}";
}

std::optional<token_pod> read_review(std::string_view answer) {
    rapidjson::Document document;
    document.Parse<json_flags>(answer.data(), answer.size());
    const json_value* status = document.HasParseError() ? nullptr : find(&document, "status");
    const json_value* good = find(status, "authenticated");
    // A server that knows no audiences says so by leaving them out.
    if (good == nullptr || !good->IsTrue() ||
        !has_text(find(status, "audiences"), core::progress_audience)) {
        return std::nullopt;
    }
    const std::string_view user = text_of(find(find(status, "user"), "username"));
    const json_value* uids = find(find(find(status, "user"), "extra"), uid_extra);
    if (!user.starts_with(account_user) || uids == nullptr || !uids->IsArray() || uids->Empty()) {
        return std::nullopt;
    }
    token_pod out;
    out.ns = user.substr(account_user.size());
    out.ns.resize(std::min(out.ns.find(':'), out.ns.size()));
    out.uid = text_of(&(*uids)[0]);
    return out.ns.empty() || out.uid.empty() ? std::nullopt : std::optional(std::move(out));
}

std::string digest_of(std::string_view token) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> out;
    SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), out.data());
    return {out.begin(), out.end()};
}

}  // namespace signalbox::op::progress

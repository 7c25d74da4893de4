// SPDX-License-Identifier: Apache-2.0
//
// TokenRequest (the subresource `token` of a service account) and TokenReview.
#include "protocol/http_date.hpp"
#include "server/kinds/refusals.hpp"
#include "server/values/problems.hpp"
#include "server/verbs/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace signalbox::k8sio::server {
namespace {

using json::value;

constexpr std::string_view own_audience = "https://kubernetes.default.svc.cluster.local";
constexpr std::int64_t usual_seconds = 3600, least_seconds = 600;

std::vector<std::string> texts_at(const value& object, std::initializer_list<std::string_view> at) {
    std::vector<std::string> out;
    if (const value* list = json::find_path(object, at); list != nullptr && list->IsArray()) {
        for (const value& item : list->GetArray()) {
            out.push_back(item.IsString() ? json::text_of(item) : std::string());
        }
    }
    return out;
}

value list_of(const std::vector<std::string>& texts, json::arena& a) {
    value out = json::array();
    for (const std::string& text : texts) {
        out.PushBack(json::make_string(text, a), a);
    }
    return out;
}

refusal invalid_request(std::string_view name, std::string_view field, std::string_view why) {
    kind_info of;
    of.group = "authentication.k8s.io";
    of.kind = "TokenRequest";
    problems list;
    list.invalid(std::string(field), value(), std::string(why));
    return invalid(of, std::string(name), list);
}

}  // namespace

/// Accounts need not exist: no controller makes `default` here.
api_answer front::issue_token(const api_request& request, const target_object& t) {
    json::arena a;
    value body;
    if (const auto ok = read_body(request, body, a); !ok) {
        return ok.error();
    }
    token_claims claims;
    claims.ns = t.ns;
    claims.account = t.name;
    claims.audiences = texts_at(body, {"spec", "audiences"});
    if (claims.audiences.empty()) {
        claims.audiences.emplace_back(own_audience);
    }
    const std::int64_t seconds =
        json::int_at(body, {"spec", "expirationSeconds"}).value_or(usual_seconds);
    if (seconds < least_seconds) {
        return invalid_request(
            t.name, "spec.expirationSeconds", "may not specify a duration less than 10 minutes"
        );
    }
    claims.expires = now() + std::chrono::seconds{seconds};
    if (json::string_at(body, {"spec", "boundObjectRef", "kind"}) == "Pod") {
        claims.pod = json::string_at(body, {"spec", "boundObjectRef", "name"});
        const served_kind* pods = world_->kinds().find("", "v1", "pods");
        const record_ptr pod = pods->table->find(t.ns, claims.pod);
        if (pod == nullptr) {
            return not_found(*pods->info, claims.pod);
        }
        const std::string_view uid = json::string_at(body, {"spec", "boundObjectRef", "uid"});
        if (!uid.empty() && uid != pod->uid) {
            return conflict(
                *t.kind->info,
                t.name,
                fmt::format(
                    "the UID in the bound object reference ({}) does not match the UID in record. "
                    "The "
                    "object might have been deleted and then recreated",
                    uid
                )
            );
        }
        claims.pod_uid = pod->uid;
    }
    json::set(body, "apiVersion", "authentication.k8s.io/v1", a);
    json::set(body, "kind", "TokenRequest", a);
    value& spec = json::object_at(body, "spec", a);
    json::set(spec, "audiences", list_of(claims.audiences, a), a);
    json::set(spec, "expirationSeconds", value(seconds), a);
    value& status = json::object_at(body, "status", a);
    json::set(status, "token", tokens_.issue(claims, now()), a);
    json::set(status, "expirationTimestamp", protocol::format_api_time(claims.expires), a);
    return {201, json::to_text(body)};
}

/// A token is good as long as the pod is there that it is bound to.
void front::review_token(value& review, json::arena& a) const {
    const auto claims = tokens_.verify(json::string_at(review, {"spec", "token"}), now());
    auto wanted = texts_at(review, {"spec", "audiences"});
    if (wanted.empty()) {
        wanted.emplace_back(own_audience);
    }
    std::vector<std::string> common;
    if (claims) {
        std::ranges::copy_if(wanted, std::back_inserter(common), [&](const std::string& audience) {
            return std::ranges::find(claims->audiences, audience) != claims->audiences.end();
        });
    }
    bool bound = claims.has_value();
    if (claims && !claims->pod_uid.empty()) {
        const record_ptr pod =
            world_->kinds().find("", "v1", "pods")->table->find(claims->ns, claims->pod);
        bound = pod != nullptr && pod->uid == claims->pod_uid;
    }
    value status = json::object();
    if (bound && !common.empty()) {
        json::set(status, "authenticated", value(true), a);
        value& user = json::object_at(status, "user", a);
        json::set(
            user, "username", "system:serviceaccount:" + claims->ns + ':' + claims->account, a
        );
        json::set(
            user,
            "groups",
            list_of(
                {"system:serviceaccounts",
                 "system:serviceaccounts:" + claims->ns,
                 "system:authenticated"},
                a
            ),
            a
        );
        if (!claims->pod_uid.empty()) {
            value& extra = json::object_at(user, "extra", a);
            json::set(extra, "authentication.kubernetes.io/pod-name", list_of({claims->pod}, a), a);
            json::set(
                extra, "authentication.kubernetes.io/pod-uid", list_of({claims->pod_uid}, a), a
            );
        }
        json::set(status, "audiences", list_of(common, a), a);
    } else {
        json::set(status, "user", json::object(), a);
        json::set(status, "error", "the token is not one of this server's, or not for it", a);
    }
    json::object_at(review, "metadata", a);
    json::set(review, "status", std::move(status), a);
}

}  // namespace signalbox::k8sio::server

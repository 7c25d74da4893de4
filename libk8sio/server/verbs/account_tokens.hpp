// SPDX-License-Identifier: Apache-2.0
//
// Tokens of service accounts, as TokenRequest gives them and TokenReview judges them. Nothing is
// kept of them: what a token says is in it, and signed.
#pragma once

#include "k8sio/time.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox::k8sio::server {

/// What a token says.
struct token_claims {
    std::string ns, account;
    std::string pod, pod_uid;  ///< that it is bound to; empty: to none
    std::vector<std::string> audiences;
    wall_time expires{};
};

class account_tokens {
public:
    account_tokens();

    /// A JSON web token in the form of a kube-apiserver, but for its signature: HMAC-SHA256 with a
    /// key of this object.
    std::string issue(const token_claims& claims, wall_time now) const;
    /// Nothing if this object has not issued it, or its time is over.
    std::optional<token_claims> verify(std::string_view token, wall_time now) const;

private:
    std::string sign(std::string_view text) const;

    std::string key_;
};

}  // namespace signalbox::k8sio::server

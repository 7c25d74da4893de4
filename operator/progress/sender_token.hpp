// SPDX-License-Identifier: Apache-2.0
//
// What a token says of its sender, and what the API server says of the token. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox::op::progress {

/// The pod that a token is bound to.
struct token_pod {
    std::string ns, uid;
    friend bool operator==(const token_pod&, const token_pod&) = default;
};

/// What the token itself says, which anybody could have written: only good to turn away what cannot
/// be meant, before the API server is asked. Nothing if it is no token of a pod for our audience.
std::optional<token_pod> read_claims(std::string_view token);

/// Body of a TokenReview for our audience.
std::string review_of(std::string_view token);

/// The answer to it: the pod, if the token is good, for our audience, and bound to one.
std::optional<token_pod> read_review(std::string_view answer);

/// SHA-256, so that no token is kept.
std::string digest_of(std::string_view token);

}  // namespace signalbox::op::progress

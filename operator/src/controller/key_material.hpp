// SPDX-License-Identifier: Apache-2.0
//
// Fresh ssh keys for Secrets: key material is no output of a pure function, so whoever creates the
// object makes it. It is never logged, and kept no longer than the request that carries it.
#pragma once

#include "jobcore/plan.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace signalbox::op {

/// A P-256 key pair in the forms that OpenSSH reads.
struct key_pair {
    std::string private_pem;  ///< SEC1, `EC PRIVATE KEY`: paramiko finds the key type by this title
    std::string public_line;  ///< `ecdsa-sha2-nistp256 <base64>` and a newline
};

/// Nothing, with `error` set, if OpenSSL gives no key (e.g. no randomness).
std::optional<key_pair> make_key_pair(std::string& error);

/// The Secret with this JSON, with a value in `data` for every slot in place of the marker that
/// stands there (core::generated_marker). Each distinct key name gets a pair of its own, fresh for
/// this call. Nothing, with `error` set, if a slot has no marker or no key could be made; `error`
/// never holds any of the Secret's data.
std::optional<std::string> fill_key_slots(
    std::string_view secret_json, std::span<const core::key_slot> slots, std::string& error
);

}  // namespace signalbox::op

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

/// A P-256 key pair in the forms that OpenSSH reads; the private one is SEC1, `EC PRIVATE KEY`:
/// paramiko finds the key type by this title. Nothing, with `error` set, if OpenSSL gives no key
/// (e.g. no randomness).
std::optional<core::key_pair> make_key_pair(std::string& error);

/// Pairs for all the slots, each fresh for this call. Nothing, with `error` set, as make_key_pair.
std::optional<core::key_pairs> make_keys(std::span<const core::key_slot> slots, std::string& error);

/// What is in a private key in PEM form, in the forms that make_key_pair gives: equal to what it
/// gave for that key. Nothing if it is no P-256 key without a password, or if its public half is
/// not that of the private one.
std::optional<core::key_pair> read_key_pair(std::string_view private_pem);

}  // namespace signalbox::op

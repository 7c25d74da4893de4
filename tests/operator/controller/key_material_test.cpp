// SPDX-License-Identifier: Apache-2.0
//
// Keys that the executor puts into Secrets: OpenSSH is the judge.
#include "controller/key_material.hpp"

#include "launch/shell.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>

#include <string>
#include <vector>

namespace {

using namespace signalbox;
using namespace signalbox::test;

constexpr const char* rendered =
    R"({"kind":"Secret","type":"kubernetes.io/ssh-auth","immutable":true,"data":{)"
    R"("ssh-privatekey":"<generated>","id_ecdsa.pub":"<generated>","known_hosts":"<generated>",)"
    R"("ssh_host_key":"<generated>","config":"SG9zdCAqCg=="}})";

std::vector<core::key_slot> slots() {
    return {
        {"ssh-privatekey", "client", core::key_form::private_pem, ""},
        {"id_ecdsa.pub", "client", core::key_form::public_line, ""},
        {"known_hosts", "host", core::key_form::public_line, "* "},
        {"ssh_host_key", "host", core::key_form::private_pem, ""},
    };
}

/// A value of the Secret as a volume shows it; base64(1) decodes it.
std::string value(const std::string& secret_json, const char* key) {
    rapidjson::Document secret;
    secret.Parse(secret_json.c_str());
    REQUIRE(secret["data"].HasMember(key));
    const temporary_folder folder;
    folder.write("in", secret["data"][key].GetString());
    REQUIRE(run("base64 -d " + folder.path("in") + " >" + folder.path("out")).code == 0);
    return folder.read("out");
}

std::string filled() {
    std::string error;
    const auto secret = op::fill_key_slots(rendered, slots(), error);
    CAPTURE(error);
    REQUIRE(secret);
    return *secret;
}

}  // namespace

TEST_CASE("[behaviour 1.5] ssh-keygen reads a made key and finds the same public key in it") {
    std::string error;
    const auto pair = op::make_key_pair(error);
    REQUIRE(pair);
    CHECK(pair->private_pem.rfind("-----BEGIN EC PRIVATE KEY-----\n", 0) == 0);
    const temporary_folder folder;
    folder.write("key", pair->private_pem);
    folder.write("key.pub", pair->public_line);
    const auto derived = run("ssh-keygen -y -f " + folder.path("key"));
    CAPTURE(derived.output);
    REQUIRE(derived.code == 0);
    CHECK(derived.output == pair->public_line);
    const auto listed = run("ssh-keygen -l -f " + folder.path("key.pub"));
    CHECK(listed.code == 0);
    CHECK(listed.output.rfind("256 SHA256:", 0) == 0);
    CHECK(listed.output.find("(ECDSA)") != std::string::npos);
}

TEST_CASE("[behaviour 1.5] slots of one key name get one pair, others another, the rest stays") {
    const std::string secret = filled();
    const temporary_folder folder;
    folder.write("client", value(secret, "ssh-privatekey"));
    folder.write("host", value(secret, "ssh_host_key"));
    CHECK(run("ssh-keygen -y -f " + folder.path("client")).output == value(secret, "id_ecdsa.pub"));
    CHECK(
        "* " + run("ssh-keygen -y -f " + folder.path("host")).output == value(secret, "known_hosts")
    );
    CHECK(value(secret, "ssh-privatekey") != value(secret, "ssh_host_key"));
    CHECK(value(secret, "config") == "Host *\n");
    CHECK(secret.find(core::generated_marker) == std::string::npos);
    CHECK(secret.find(R"("type":"kubernetes.io/ssh-auth")") != std::string::npos);
}

TEST_CASE("[behaviour 1.5] two Secrets have nothing in common") {
    const std::string one = filled();
    const std::string other = filled();
    for (const core::key_slot& slot : slots()) {
        CAPTURE(slot.data_key);
        CHECK(value(one, slot.data_key.c_str()) != value(other, slot.data_key.c_str()));
    }
}

TEST_CASE("a Secret without the marker where a key belongs is refused, and nothing of it is told") {
    const std::string secret = GENERATE(
        as<std::string>{},
        R"({"data":{"ssh-privatekey":"aHVzaA==","id_ecdsa.pub":"<generated>"}})",
        R"({"data":{}})",
        R"({"data":7})",
        R"([])",
        R"({"data":{)"
    );
    CAPTURE(secret);
    std::string error;
    CHECK_FALSE(op::fill_key_slots(secret, slots(), error));
    CHECK_FALSE(error.empty());
    CHECK(error.find("aHVzaA==") == std::string::npos);
}

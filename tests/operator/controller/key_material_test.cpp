// SPDX-License-Identifier: Apache-2.0
//
// Keys that the executor puts into Secrets: OpenSSH is the judge.
#include "controller/key_material.hpp"

#include "launch/shell.hpp"
#include "scenario/job_texts.hpp"

#include <jobcore/action.hpp>
#include <jobcore/decide.hpp>

#include <catch2/catch.hpp>
#include <rapidjson/document.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace signalbox;
using namespace signalbox::test;

/// A job that uses ssh.
const core::job_object& ssh_job() {
    static const auto job = [] {
        std::string text = deepspeed("job", 2);
        constexpr std::string_view metadata = "\"metadata\":{";
        text.insert(text.find(metadata) + metadata.size(), R"("uid":"u",)");
        return core::read_job(text);
    }();
    REQUIRE(job);
    return *job;
}

core::action create_secret() {
    const auto& objects = ssh_job().compiled->plan->objects;
    const auto secret =
        std::ranges::find(objects, core::object_kind::secret, &core::planned_object::kind);
    core::action a;
    a.kind = core::object_kind::secret;
    a.request = core::create_object{{static_cast<std::size_t>(secret - objects.begin()), 1}};
    return a;
}

std::span<const core::key_slot> slots() {
    return core::key_slots_of(ssh_job(), create_secret());
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
    const auto keys = op::make_keys(slots(), error);
    CAPTURE(error);
    REQUIRE(keys);
    const auto secret = core::render_action(ssh_job(), {}, create_secret(), *keys);
    CAPTURE(secret.error());
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
    CHECK(value(secret, "config").rfind("Host *\n", 0) == 0);
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

TEST_CASE("[behaviour 2.13] a made key is read back as what it was made as") {
    std::string error;
    const auto pair = op::make_key_pair(error);
    REQUIRE(pair);
    const auto back = op::read_key_pair(pair->private_pem);
    REQUIRE(back);
    CHECK(back->private_pem == pair->private_pem);
    CHECK(back->public_line == pair->public_line);
}

TEST_CASE("[behaviour 2.13] what is no whole P-256 key without a password is none of ours") {
    std::string error;
    const auto pair = op::make_key_pair(error);
    REQUIRE(pair);
    CHECK_FALSE(op::read_key_pair(""));
    CHECK_FALSE(op::read_key_pair("no key"));
    CHECK_FALSE(op::read_key_pair(pair->public_line));
    CHECK_FALSE(op::read_key_pair(pair->private_pem.substr(0, 80)));
    const temporary_folder folder;
    const auto made_by = [&](const std::string& command) {
        const auto made = run("openssl " + command + " -out " + folder.path("key") + " 2>&1");
        CAPTURE(made.output);
        REQUIRE(made.code == 0);
        return folder.read("key");
    };
    CHECK(op::read_key_pair(made_by("ecparam -name prime256v1 -genkey -noout")));
    CHECK_FALSE(op::read_key_pair(made_by("ecparam -name secp384r1 -genkey -noout")));
    CHECK_FALSE(op::read_key_pair(made_by("genpkey -algorithm RSA")));
    folder.write("plain", pair->private_pem);
    const std::string locked = made_by("ec -aes256 -passout pass:x -in " + folder.path("plain"));
    CHECK(locked.find("ENCRYPTED") != std::string::npos);
    CHECK_FALSE(op::read_key_pair(locked));
}

TEST_CASE("[behaviour 2.13] a private number with the public point of another key is none of ours"
) {
    // SEC1 carries both: 0x04 and the point are the last 65 bytes.
    std::string error;
    const auto ours = op::make_key_pair(error);
    const auto other = op::make_key_pair(error);
    const temporary_folder folder;
    const auto der = [&](const std::string& name, const std::string& pem) {
        folder.write(name, pem);
        const std::string out = folder.path(name + ".der");
        REQUIRE(run("openssl ec -outform DER -in " + folder.path(name) + " -out " + out).code == 0);
        return folder.read(name + ".der");
    };
    std::string mixed = der("a", ours->private_pem);
    const std::string point = der("b", other->private_pem);
    REQUIRE(mixed.size() == point.size());
    mixed.replace(mixed.size() - 65, 65, point.substr(point.size() - 65));
    folder.write("mixed.der", mixed);
    REQUIRE(
        run("(echo '-----BEGIN EC PRIVATE KEY-----'; base64 " + folder.path("mixed.der") +
            "; echo '-----END EC PRIVATE KEY-----') >" + folder.path("mixed"))
            .code == 0
    );
    CHECK_FALSE(op::read_key_pair(folder.read("mixed")));
}

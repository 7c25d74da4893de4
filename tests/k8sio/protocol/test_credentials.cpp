// SPDX-License-Identifier: Apache-2.0
#include "k8sio/same_secret.hpp"
#include "protocol/credentials.hpp"

#include <catch2/catch.hpp>

#include <map>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;

namespace {

struct credentials_fixture {
    credentials_fixture() { config.token_file = "/token"; }
    protocol::credentials make() {
        return protocol::credentials(config, [this](const std::string&) {
            ++reads;
            return content;
        });
    }
    cluster_config config;
    std::optional<std::string> content = " one\n";
    int reads = 0;
    steady_time now{};
};

struct key_files {
    key_files() {
        config.ca_pem = "CA";
        config.ca_file = "/ca";
        config.client_cert_pem = "CERT";
        config.client_cert_file = "/cert";
        config.client_key_pem = secret_text("KEY");
        config.client_key_file = "/key";
    }
    protocol::file_reader reader() {
        return [this](const std::string& path) {
            ++reads;
            return files[path];
        };
    }
    /// The key of CERT2 is KEY2.
    static std::string check(const protocol::tls_keys& keys) {
        const bool fit = keys.client_cert_pem.substr(4) == keys.client_key_pem.reveal().substr(3);
        return fit ? "" : "mismatch";
    }
    cluster_config config;
    std::map<std::string, std::optional<std::string>> files{
        {"/ca", "CA"}, {"/cert", "CERT"}, {"/key", "KEY"}};
    int reads = 0;
    steady_time now{};
};

}  // namespace

TEST_CASE_METHOD(
    credentials_fixture, "[requirement C2] the token file is read again every 60 s, trimmed"
) {
    auto subject = make();
    CHECK(subject.current(now).authorization == "Bearer one");
    content = "two";
    CHECK(subject.current(now + 59s).authorization == "Bearer one");
    CHECK(reads == 1);
    CHECK(subject.current(now + 60s).authorization == "Bearer two");
}

TEST_CASE_METHOD(
    credentials_fixture, "[requirement C2] an empty or unreadable file keeps the last good token"
) {
    auto subject = make();
    CHECK(subject.current(now).authorization == "Bearer one");
    content = std::nullopt;
    CHECK(subject.current(now + 60s).authorization == "Bearer one");
    content = " \n";
    CHECK(subject.current(now + 120s).authorization == "Bearer one");
    content = "three";
    CHECK(subject.current(now + 180s).authorization == "Bearer three");
}

TEST_CASE_METHOD(
    credentials_fixture,
    "[requirement C2] after 401 the file is read at once; only a new token is tried"
) {
    auto subject = make();
    const protocol::access used = subject.current(now);
    CHECK_FALSE(subject.refused(used, now));
    CHECK(reads == 2);
    content = "two";
    CHECK(subject.refused(used, now));
    CHECK(subject.current(now).authorization == "Bearer two");
    // A second request that was sent with the old token finds the new one without reading.
    CHECK(subject.refused(used, now));
    CHECK(reads == 3);
}

TEST_CASE_METHOD(
    credentials_fixture, "[requirement C5] a fixed token, or name and password; a token wins"
) {
    config.token_file.clear();
    CHECK(make().current(now).authorization.empty());
    config.username = "user";
    config.password = secret_text("pass");
    auto basic = make();
    CHECK(basic.current(now).authorization == "Basic dXNlcjpwYXNz");
    CHECK_FALSE(basic.refused(basic.current(now), now));
    config.token = secret_text("t");
    CHECK(make().current(now).authorization == "Bearer t");
    CHECK(reads == 0);
}

TEST_CASE_METHOD(key_files, "[requirement C3] certificates and keys are read again every 60 s") {
    protocol::credentials subject(config, reader());
    CHECK(subject.current(now).keys_number == 0);
    CHECK(subject.current(now + 59s).keys_number == 0);
    CHECK(reads == 3);
    files["/ca"] = "CA2";
    CHECK(subject.current(now + 60s).keys_number == 1);
    CHECK(subject.keys().ca_pem == "CA2");
    for (const auto& [path, text] : files) {
        const auto kept = text;
        now += 120s;
        files[path] = "";
        CHECK(subject.current(now).keys_number == 1);  // being replaced
        now += 60s;
        files[path] = std::nullopt;
        CHECK(subject.current(now).keys_number == 1);
        files[path] = kept;
    }
    now += 60s;
    files["/cert"] = "CERT2";
    files["/key"] = "KEY2";
    CHECK(subject.current(now).keys_number == 2);
    CHECK(subject.keys().client_cert_pem == "CERT2");
    CHECK(subject.keys().client_key_pem.reveal() == "KEY2");
}

TEST_CASE_METHOD(
    key_files, "[requirement C3] half of a rotation changes nothing, and the rest is awaited"
) {
    protocol::credentials subject(config, reader(), check);
    CHECK(subject.current(now).keys_number == 0);
    files["/cert"] = "CERT2";
    now += 60s;
    CHECK(subject.current(now).keys_number == 0);
    CHECK(subject.keys().client_cert_pem == "CERT");
    CHECK(
        subject.take_notice() ==
        "the files of keys and certificates cannot be used, those read before are: mismatch"
    );
    reads = 0;
    CHECK(subject.current(now + 999ms).keys_number == 0);
    CHECK(reads == 0);
    now += 1s;
    CHECK(subject.current(now).keys_number == 0);
    CHECK(reads == 3);
    CHECK(subject.take_notice().empty());  // it has been told
    files["/key"] = "KEY2";
    now += 1s;
    CHECK(subject.current(now).keys_number == 1);
    CHECK(subject.keys().client_cert_pem == "CERT2");
    CHECK(subject.keys().client_key_pem.reveal() == "KEY2");
    reads = 0;
    CHECK(subject.current(now + 59s).keys_number == 1);
    CHECK(reads == 0);
    files["/cert"] = "CERT3";
    CHECK(subject.current(now + 60s).keys_number == 1);
    CHECK_FALSE(subject.take_notice().empty());  // the next time
}

TEST_CASE_METHOD(key_files, "[requirement C3] after 401 the files are read at once") {
    protocol::credentials subject(config, reader(), check);
    const protocol::access used = subject.current(now);
    CHECK_FALSE(subject.refused(used, now));
    CHECK(reads == 6);
    files["/cert"] = "CERT2";
    CHECK_FALSE(subject.refused(used, now));
    files["/key"] = "KEY2";
    CHECK(subject.refused(used, now));
    CHECK(subject.keys().client_cert_pem == "CERT2");
    reads = 0;
    CHECK(subject.refused(used, now));  // a second request, sent with the old ones
    CHECK(reads == 0);
    CHECK_FALSE(subject.refused(subject.current(now), now));
}

TEST_CASE_METHOD(key_files, "[requirement C3] a failed handshake has the files read again soon") {
    protocol::credentials subject(config, reader(), check);
    CHECK(subject.current(now).keys_number == 0);
    files["/ca"] = "CA2";
    subject.doubt();
    CHECK(subject.current(now + 999ms).keys_number == 0);
    CHECK(subject.current(now + 1s).keys_number == 1);
    CHECK(subject.keys().ca_pem == "CA2");
    reads = 0;
    CHECK(subject.current(now + 3s).keys_number == 1);
    CHECK(reads == 0);
}

TEST_CASE("[requirement C9] a secret is compared whole") {
    CHECK(same_secret("", ""));
    CHECK(same_secret("abc", "abc"));
    for (const char* other : {"", "ab", "abcd", "abd", "xbc"}) {
        CHECK_FALSE(same_secret("abc", other));
        CHECK_FALSE(same_secret(other, "abc"));
    }
}

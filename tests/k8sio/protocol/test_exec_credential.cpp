// SPDX-License-Identifier: Apache-2.0
#include "protocol/credentials.hpp"
#include "protocol/exec_credential.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>

using namespace signalbox::k8sio;
using namespace std::chrono_literals;
using protocol::exec_credential_cache;
using protocol::plugin_outcome;
using protocol::read_exec_credential;

namespace {

const std::string v1 = "client.authentication.k8s.io/v1";

exec_plugin make_plugin() {
    exec_plugin plugin;
    plugin.command = "login";
    plugin.api_version = v1;
    plugin.install_hint = "apt install login";
    return plugin;
}

plugin_outcome gave(const std::string& output) {
    plugin_outcome outcome;
    outcome.output = secret_text(output);
    return outcome;
}

plugin_outcome gave_status(const std::string& status) {
    return gave(
        R"({"kind":"ExecCredential","apiVersion":")" + v1 + R"(","spec":{},"status":)" + status +
        "}\n"
    );
}

std::string refusal(const plugin_outcome& outcome) {
    const auto read = read_exec_credential(make_plugin(), outcome);
    REQUIRE(read.has_error());
    CHECK(read.error().code == errc::credentials);
    CHECK(classify(read.error()) == retry_class::retry_later);
    return read.error().message;
}

constexpr wall_time wall{std::chrono::seconds{1700000000}};  // 2023-11-14T22:13:20Z

struct exec_fixture {
    exec_credential_cache cache{make_plugin()};
    steady_time now{};

    void run(const std::string& status) {
        REQUIRE(cache.must_run(now));
        cache.started();
        cache.finished(now, wall, gave_status(status));
    }
    void fail() {
        REQUIRE(cache.must_run(now));
        cache.started();
        plugin_outcome outcome;
        outcome.exit_code = 1;
        cache.finished(now, wall, outcome);
    }
    std::string state() const {
        return std::string(cache.usable(now) ? "usable" : "none") +
               (cache.must_run(now) ? ", run" : "");
    }
};

}  // namespace

TEST_CASE("[requirement C7] what a credential program may answer") {
    const auto token = read_exec_credential(
        make_plugin(), gave_status(R"({"token":"T","expirationTimestamp":"2023-11-14T22:13:20Z"})")
    );
    REQUIRE(token.has_value());
    CHECK(token->token.reveal() == "T");
    CHECK(token->expires == wall);
    CHECK(token->client_cert_pem.empty());
    const auto keys = read_exec_credential(
        make_plugin(), gave_status(R"({"clientCertificateData":"C\nC","clientKeyData":"K"})")
    );
    REQUIRE(keys.has_value());
    CHECK(keys->client_cert_pem == "C\nC");
    CHECK(keys->client_key_pem.reveal() == "K");
    CHECK_FALSE(keys->expires);
}

TEST_CASE("[requirement C7] [requirement C8] what is wrong with its answer") {
    const std::string who = "credential plugin 'login' ";
    CHECK(refusal(gave("")) == who + "gave no JSON object");
    CHECK(refusal(gave("token T")) == who + "gave no JSON object");
    CHECK(refusal(gave(R"({"kind":"ExecCredential")")) == who + "gave no ExecCredential");
    CHECK(
        refusal(gave(R"({"kind":"Status","apiVersion":"v1"})")) == who + "gave no ExecCredential"
    );
    CHECK(
        refusal(gave(R"({"kind":"ExecCredential","apiVersion":"a\nb","status":{"token":"T"}})")) ==
        who + "gave an ExecCredential of a b, but the kubeconfig says " + v1
    );
    CHECK(refusal(gave_status("null")) == who + "gave an ExecCredential without status");
    CHECK(refusal(gave_status("{}")) == who + "gave neither token nor certificate");
    const std::string half = who + "gave a certificate without key, or a key without certificate";
    CHECK(refusal(gave_status(R"({"clientKeyData":"K"})")) == half);
    CHECK(refusal(gave_status(R"({"token":"T","clientCertificateData":"C"})")) == half);
    CHECK(
        refusal(gave_status(R"({"token":"T","expirationTimestamp":"soon"})")) ==
        who + "gave an expirationTimestamp that is no time"
    );
}

TEST_CASE("[requirement C7] a program that fails is quoted, one that is not there is explained") {
    const std::string who = "credential plugin 'login' ";
    plugin_outcome outcome = gave("secret");
    outcome.exit_code = 3;
    outcome.complaint = "Unable to\nlocate credentials\n";
    CHECK(refusal(outcome) == who + "ended with code 3: Unable to locate credentials");
    outcome.signal = SIGTERM;
    CHECK(refusal(outcome) == who + "was ended by signal 15: Unable to locate credentials");
    outcome.timed_out = true;
    CHECK(refusal(outcome) == who + "has not ended within 60 s: Unable to locate credentials");
    plugin_outcome missing;
    missing.start_error = ENOENT;
    CHECK(
        refusal(missing) == who + "cannot be started: No such file or directory: apt install login"
    );
    missing.start_error = EACCES;
    CHECK(refusal(missing) == who + "cannot be started: Permission denied");
}

TEST_CASE("[requirement C9] nothing of its output is in an error, wherever the text is cut") {
    const std::string whole = gave_status(R"({"token":"hunter2","clientCertificateData":"C",)"
                                          R"("clientKeyData":"hunter2","x":[]})")
                                  .output.reveal();
    const std::string text = whole.substr(0, whole.size() - 1);
    for (std::size_t size = 0; size < text.size(); ++size) {
        INFO(size);
        CHECK(refusal(gave(text.substr(0, size))).find("hunter") == std::string::npos);
    }
    CHECK(read_exec_credential(make_plugin(), gave(text)).has_value());
}

TEST_CASE_METHOD(exec_fixture, "[requirement C7] a credential without an end is kept") {
    CHECK(state() == "none, run");
    run(R"({"token":"T"})");
    CHECK(state() == "usable");
    now += 1000h;
    CHECK(state() == "usable");
    CHECK(cache.number() == 1);
}

TEST_CASE_METHOD(
    exec_fixture, "[requirement C7] it is renewed before its end, and used until then"
) {
    run(R"({"token":"T","expirationTimestamp":"2023-11-14T22:28:20Z"})");  // 15 min
    now += 14min - 1ns;
    CHECK(state() == "usable");
    now += 1ns;
    CHECK(state() == "usable, run");
    cache.started();
    CHECK(state() == "usable");  // one run at a time
    cache.finished(now, wall, plugin_outcome());
    CHECK(state() == "usable");  // a failed renewal is repeated, not at once
    now += 10s;
    CHECK(state() == "usable, run");
    now += 50s;
    CHECK(state() == "none, run");
    run(R"({"token":"U"})");
    CHECK(cache.current().token.reveal() == "U");
    CHECK(cache.number() == 2);
}

TEST_CASE_METHOD(exec_fixture, "[requirement C7] a short life is renewed in its last quarter") {
    run(R"({"token":"T","expirationTimestamp":"2023-11-14T22:14:00Z"})");  // 40 s
    now += 30s - 1ns;
    CHECK(state() == "usable");
    now += 1ns;
    CHECK(state() == "usable, run");
}

TEST_CASE_METHOD(
    exec_fixture, "[requirement C7] a renewal that fails is told once, and repeated before the end"
) {
    run(R"({"token":"T","expirationTimestamp":"2023-11-14T22:13:50Z"})");  // 30 s
    const steady_time end = now + 30s;
    CHECK(cache.take_notice().empty());
    now += 22500ms;
    fail();
    CHECK(
        cache.take_notice() ==
        "credential plugin 'login' ended with code 1; what it gave before is used for 7 s more"
    );
    CHECK(cache.take_notice().empty());
    int runs = 0;
    for (; now < end; now += 100ms) {
        CHECK(cache.usable(now));
        if (cache.must_run(now)) {
            fail();
            ++runs;
        }
    }
    CHECK(cache.take_notice().empty());  // it has been told
    CHECK(runs >= 2);
    CHECK(runs <= 7);
    now = end + 1s;
    CHECK(state() == "none, run");
    run(R"({"token":"U","expirationTimestamp":"2023-11-14T22:13:50Z"})");
    now += 29s;
    fail();
    CHECK_FALSE(cache.take_notice().empty());  // another time
    now += 1s;
    CHECK(state() == "none, run");
    fail();
    CHECK(cache.take_notice().empty());  // who asks is told by the error
}

TEST_CASE_METHOD(
    exec_fixture, "[requirement C7] keys that do not fit are a failure of the program"
) {
    cache = exec_credential_cache(make_plugin(), [](const protocol::tls_keys& keys) {
        const bool fit = keys.client_cert_pem == keys.client_key_pem.reveal();
        return std::string(fit ? "" : "mismatch");
    });
    const auto keys = [](const std::string& cert, const std::string& key) {
        return R"({"clientCertificateData":")" + cert + R"(","clientKeyData":")" + key +
               R"(","expirationTimestamp":"2023-11-14T22:14:00Z"})";
    };
    run(keys("A", "B"));
    CHECK(state() == "none");
    CHECK(cache.failure().code == errc::credentials);
    CHECK(cache.failure().message == "credential plugin 'login' gave keys that fail: mismatch");
    now += 1s;
    run(keys("A", "A"));
    CHECK(state() == "usable");
    now += 30s;
    run(keys("A", "B"));
    CHECK(state() == "usable");
    CHECK(cache.current().client_key_pem.reveal() == "A");
    CHECK(cache.number() == 1);
    CHECK(cache.take_notice().find("keys that fail") != std::string::npos);
    now += 2500ms;
    run(keys("B", "B"));
    CHECK(cache.current().client_cert_pem == "B");
}

TEST_CASE_METHOD(
    exec_fixture,
    "[requirement C7] a credential that has run out on arrival is the server's to judge"
) {
    for (const char* time : {"2023-11-14T22:13:19Z", "0001-01-01T00:00:00Z"}) {
        run(R"({"token":"T","expirationTimestamp":")" + std::string(time) + "\"}");
        CHECK(state() == "usable");
        now += 10s;
        CHECK(state() == "none, run");
    }
}

TEST_CASE_METHOD(
    exec_fixture, "[requirement C7] a program that fails is not run for each request"
) {
    fail();
    CHECK(state() == "none");
    CHECK(cache.failure().message == "credential plugin 'login' ended with code 1");
    now += 1s;
    CHECK(state() == "none, run");
}

TEST_CASE_METHOD(exec_fixture, "[requirement C7] after 401 it is run again, but not for each 401") {
    run(R"({"token":"T"})");
    CHECK(cache.refused(1, now));
    CHECK(state() == "none, run");
    CHECK(cache.refused(1, now));  // a second request, sent with the same: one run is enough
    run(R"({"token":"U"})");
    CHECK(cache.refused(1, now));  // a third: there is a newer one
    CHECK(state() == "usable");
    CHECK_FALSE(cache.refused(2, now));
    CHECK(state() == "usable");
    now += 10s;
    CHECK(cache.refused(2, now));
    CHECK(state() == "none, run");
}

TEST_CASE_METHOD(exec_fixture, "[requirement C7] a program gives token, keys or both") {
    cluster_config config;
    config.exec = make_plugin();
    config.ca_pem = "CA";
    protocol::credentials subject(config, [](const std::string&) { return std::nullopt; });
    const auto give = [&](const std::string& status) {
        now += 1h;
        subject.plugin()->started();
        subject.plugin()->finished(now, wall, gave_status(status));
        return subject.current(now);
    };
    CHECK(give(R"({"token":"T"})").authorization == "Bearer T");
    CHECK(subject.current(now).keys_number == 0);
    const auto keys = give(R"({"clientCertificateData":"C","clientKeyData":"K"})");
    CHECK(keys.authorization.empty());
    CHECK(keys.keys_number == 1);
    CHECK(subject.keys().client_cert_pem == "C");
    CHECK(subject.keys().ca_pem == "CA");
    const auto both = give(R"({"token":"U","clientCertificateData":"C","clientKeyData":"K"})");
    CHECK(both.authorization == "Bearer U");
    CHECK(both.keys_number == 1);  // the same ones: no new connections
    CHECK(give(R"({"clientCertificateData":"C","clientKeyData":"L"})").keys_number == 2);
}

TEST_CASE("[requirement C7] a token or certificate of one's own goes before the program") {
    cluster_config config;
    config.exec = make_plugin();
    config.client_cert_pem = "C";
    config.client_key_pem = secret_text("K");
    const auto no_file = [](const std::string&) { return std::nullopt; };
    CHECK(protocol::credentials(config, no_file).plugin() == nullptr);
    config.client_cert_pem.clear();
    CHECK(protocol::credentials(config, no_file).plugin() != nullptr);
    config.token = secret_text("mine");
    protocol::credentials subject(config, [](const std::string&) { return std::nullopt; });
    CHECK(subject.plugin() == nullptr);
    CHECK(subject.current(steady_time()).authorization == "Bearer mine");
}

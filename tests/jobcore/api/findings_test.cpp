// SPDX-License-Identifier: Apache-2.0
//
// What a finding shows of what others wrote (BEHAVIOUR.md 11.4), and how many there are.
#include "jobcore/decide.hpp"
#include "jobcore/schema.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

using namespace signalbox::core;

namespace {

/// A job whose template has these members beside its containers, which have those.
std::string templated_job(const std::string& pod, const std::string& container = "") {
    return R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"ColossalAIJob",)"
           R"("metadata":{"name":"mnist","uid":"u"},"spec":{"worker":{"command":["a.py"],)"
           R"("template":{)" +
           pod + R"("spec":{"containers":[{"name":"worker","image":"i")" + container + "}]}}}}}";
}

std::vector<diagnostic> findings_of(const std::string& job) {
    return read_job(job)->compiled->findings;
}

}  // namespace

TEST_CASE("[behaviour 11.4] places and messages of findings are printable and short", "[api]") {
    const diagnostic d = make_diagnostic(
        severity::warning, "/a\x1b[31m/\xe2\x80\xae", std::string(2047, 'm') + "\xc3\xa9", "Why"
    );
    CHECK(d.pointer == "/a\\u001b[31m/\\u202e");
    CHECK(d.message == std::string(2047, 'm') + "...");
    CHECK(make_diagnostic(severity::error, "", std::string(2048, 'm'), "").message.size() == 2048);
    CHECK(
        make_diagnostic(severity::error, "", "a\x1b[31m\nb", "").message == "a\\u001b[31m\\u000ab"
    );
    // A longer place is that of what is around it.
    const std::string longest = "/a/" + std::string(1021, 'k');
    CHECK(make_diagnostic(severity::error, longest, "", "").pointer == longest);
    CHECK(make_diagnostic(severity::error, longest + "k", "", "").pointer == "/a");
    CHECK(make_diagnostic(severity::error, longest + "/b", "", "").pointer == longest);
    CHECK(
        make_diagnostic(severity::error, "/a/" + std::string(300, '\x1b'), "", "").pointer == "/a"
    );
}

TEST_CASE("[behaviour 11.4] a label's key in a finding does not reach a terminal", "[api]") {
    for (const diagnostic& d :
         findings_of(templated_job(R"("metadata":{"labels":{"a\u001b[31m\n":"v"}},)"))) {
        CHECK((d.pointer + d.message).find_first_of("\x1b\n") == std::string::npos);
    }
    const auto unknown = findings_of(templated_job(R"("\u001b]52;c;eA==\u0007":1,)"));
    REQUIRE(unknown.size() == 1);
    CHECK(unknown[0].pointer == "/spec/worker/template/\\u001b]52;c;eA==\\u0007");
    CHECK_THAT(unknown[0].message, Catch::Contains("\"\\u001b]52;c;eA==\\u0007\" is no field"));
}

TEST_CASE("[api 6.9] the compiler's findings end at 256 of each level", "[api]") {
    const auto count = [](const std::vector<diagnostic>& findings, const std::string& text) {
        return std::ranges::count_if(findings, [&](const diagnostic& d) {
            return d.message.find(text) != std::string::npos;
        });
    };
    const auto mounts = [](int number) {
        std::string out;
        for (int i = 0; i < number; ++i) {
            out += i == 0 ? "" : ",";
            out += R"({"name":"v","mountPath":"/signalbox/run/)" + std::to_string(i) + "\"}";
        }
        return R"(,"volumeMounts":[)" + out + "]";
    };
    const auto refused = findings_of(templated_job("", mounts(300)));
    CHECK(count(refused, "mounts its own files") + count(refused, "mount it elsewhere") == 256);
    CHECK(count(refused, "44 more errors are not listed") == 1);

    const auto job = [](int number) {
        std::string env;
        for (int i = 0; i < number; ++i) {
            env += i == 0 ? "" : ",";
            env += R"({"name":"A)" + std::to_string(i) + R"(","value":"a\nb"})";
        }
        std::string text = templated_job("");
        const std::string at = R"("worker":{)";
        return text.insert(text.find(at), R"("launcher":{"env":[)" + env + "]},");
    };
    CHECK(count(findings_of(job(256)), "several lines") == 256);
    CHECK(count(findings_of(job(256)), "not listed") == 0);
    CHECK(count(findings_of(job(300)), "several lines") == 256);
    CHECK(count(findings_of(job(300)), "44 more warnings are not listed") == 1);
}

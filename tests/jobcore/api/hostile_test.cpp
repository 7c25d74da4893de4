// SPDX-License-Identifier: Apache-2.0
//
// Input that no one means well with: it gives findings, and costs little.
#include "signalbox_test/sanitized.hpp"

#include <jobcore/schema.hpp>

#include <catch2/catch.hpp>

#include <algorithm>

using namespace signalbox::core;
using signalbox::test::sanitized;

namespace {

std::string repeated(const std::string& text, std::size_t times) {
    std::string out;
    out.reserve(text.size() * times);
    for (std::size_t i = 0; i < times; ++i) {
        out += text;
    }
    return out;
}

/// A valid job but for the further members of `spec` and of its template's.
std::string job_with(const std::string& spec_members, const std::string& template_members = "") {
    return R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob",)"
           R"("metadata":{"name":"mnist"},"spec":{)" +
           spec_members + R"("replicaSpecs":[{"type":"worker","template":{"spec":{)" +
           template_members + R"("containers":[{"name":"pytorch","image":"i"}]}}}]}})";
}

/// The object and list around these levels make three more.
std::string nested_in_template(std::size_t levels) {
    return job_with("", "\"x\":" + repeated("[", levels) + repeated("]", levels) + ",");
}

void refused_at_root(const std::string& text, const std::string& says) {
    const auto parsed = parse_job(text);
    REQUIRE(parsed.findings.size() == 1);
    CHECK(parsed.findings[0].level == severity::error);
    CHECK(parsed.findings[0].pointer.empty());
    CHECK_THAT(parsed.findings[0].message, Catch::Contains(says));
    CHECK_FALSE(parsed.spec.has_value());
}

}  // namespace

TEST_CASE("[hostile input] nesting to 512 levels is accepted, deeper is refused", "[api]") {
    // object, spec, replicaSpecs, entry, template, spec: six levels around it.
    CHECK(parse_job(nested_in_template(506)).spec.has_value());
    refused_at_root(nested_in_template(507), "deeper than 512 levels");
}

TEST_CASE("[hostile input] nesting of millions of levels costs no stack", "[api]") {
    refused_at_root(repeated("[", 5'000'000), "deeper than 512 levels");
    refused_at_root(repeated(R"({"a":)", 1'000'000), "deeper than 512 levels");
    refused_at_root(nested_in_template(1'000'000), "deeper than 512 levels");
    CHECK(validate_update(nested_in_template(1'000'000), nested_in_template(1'000'000)).empty());
}

TEST_CASE("[hostile input] brackets in texts are no nesting", "[api]") {
    const auto parsed =
        parse_job(job_with("", R"("x":"\"[[\\)" + repeated("[{", 1000) + R"(","y":"\\",)"));
    CHECK(parsed.findings.empty());
}

TEST_CASE("[hostile input] what is no JSON is refused with the place", "[api]") {
    refused_at_root("", "not valid JSON");
    refused_at_root("{", "not valid JSON");
    refused_at_root("{} {}", "at byte 3");
    refused_at_root(R"({"a":NaN})", "not valid JSON");
    refused_at_root(R"({"a":Infinity})", "not valid JSON");
    refused_at_root(R"({"a":1e999})", "not valid JSON");
    refused_at_root("{\"a\":\"\xff\"}", "not valid JSON");
    refused_at_root("{\"a\":\"\xc3\"}", "not valid JSON");
    refused_at_root("{\"a\":\"\xed\xa0\x80\"}", "not valid JSON");  // a lone surrogate
    refused_at_root(R"({"a":"\ud800"})", "not valid JSON");
    refused_at_root(std::string("\0\0", 2), "not valid JSON");
}

TEST_CASE("[hostile input] what is no object is refused", "[api]") {
    refused_at_root("[]", "must be an object, not a list");
    refused_at_root("null", "must be an object, not null");
    refused_at_root("17", "must be an object, not the number 17");
}

TEST_CASE("[hostile input] metadata of any type gives findings", "[api]") {
    for (const std::string metadata :
         {"7",
          "[]",
          "\"a\"",
          R"({"name":{}})",
          R"({"name":7})",
          R"({"generateName":[]})",
          R"({"name":"a","namespace":1})",
          "null"}) {
        const auto parsed = parse_job(
            R"({"apiVersion":"batch.tensorstack.dev/v1beta1","kind":"PyTorchTrainingJob","spec":{},"metadata":)" +
            metadata + "}"
        );
        INFO(metadata);
        CHECK(std::any_of(parsed.findings.begin(), parsed.findings.end(), [](const diagnostic& d) {
            return d.level == severity::error && d.pointer.starts_with("/metadata");
        }));
    }
    const auto odd = parse_job(R"({"apiVersion":"batch.tensorstack.dev/v1beta1",
        "kind":"PyTorchTrainingJob","spec":{},"metadata":{"name":"a","uid":[],"generation":1e30,
        "annotations":[1],"creationTimestamp":{},"resourceVersion":5}})");
    CHECK(odd.meta.name == "a");
    CHECK(odd.meta.uid.empty());
    CHECK(odd.meta.generation == 0);
}

TEST_CASE(
    "[hostile input] of several members of one name the last counts, with a warning", "[api]"
) {
    const auto parsed = parse_job(job_with(R"("managedBy":"first","managedBy":"second",)"));
    REQUIRE(parsed.findings.size() == 1);
    CHECK(parsed.findings[0].level == severity::warning);
    CHECK(parsed.findings[0].reason == "FieldOverridden");
    CHECK(parsed.findings[0].pointer == "/spec/managedBy");
    CHECK(parsed.spec.value().managed_by == "second");
    // Null as the last one means absent, as for the API server.
    CHECK(
        parse_job(job_with(R"("managedBy":"first","managedBy":null,)")).spec.value().managed_by ==
        managed_by_signalbox
    );
}

TEST_CASE("[hostile input] a key with a NUL is not taken for its beginning", "[api]") {
    const auto parsed = parse_job(job_with(R"("managedBy\u0000":"x",)"));
    REQUIRE(parsed.findings.size() == 1);
    CHECK(parsed.findings[0].reason == "UnknownField");
    CHECK(parsed.findings[0].message.find('\0') == std::string::npos);
}

TEST_CASE("[hostile input] what the user wrote is shown short and printable", "[api]") {
    const auto parsed =
        parse_job(job_with(R"("runMode":"\u001b[31m\")" + repeated("\xc3\xa9", 5000) + "\","));
    REQUIRE(parsed.findings.size() == 1);
    CHECK(parsed.findings[0].message.size() < 200);
    CHECK(parsed.findings[0].message.find('\x1b') == std::string::npos);
    CHECK_THAT(parsed.findings[0].message, Catch::Contains(R"(\u001b[31m\")"));
    CHECK_THAT(parsed.findings[0].message, Catch::Contains("\xc3\xa9...\""));
}

TEST_CASE("[hostile input] findings are bounded, and errors are not lost among warnings", "[api]") {
    std::string unknown;
    for (int i = 0; i < 10'000; ++i) {
        unknown += "\"u" + std::to_string(i) + "\":1,";
    }
    const auto parsed = parse_job(job_with(unknown + R"("runMode":7,)"));
    CHECK(parsed.findings.size() == 256 + 1 + 1);
    CHECK(has_errors(parsed.findings));
    CHECK(parsed.findings.back().message == "9744 more warnings are not listed");

    const auto items =
        parse_job(job_with(R"("torchrunConfig":{"extraOptions":[)" + repeated("1,", 511) + "1]},"));
    CHECK(items.findings.size() == 257);
    CHECK(items.findings.back().level == severity::error);
    CHECK(items.findings.back().message == "256 more errors are not listed");
    const auto all =
        parse_job(job_with(R"("torchrunConfig":{"extraOptions":[)" + repeated("1,", 255) + "1]},"));
    CHECK(all.findings.size() == 256);
    CHECK(all.findings.back().pointer == "/spec/torchrunConfig/extraOptions/255");
}

TEST_CASE("[hostile input] as much of anything as an API server takes is read", "[api]") {
    // kube-apiserver's bound of a request's body; a part of it under sanitizers, which are slow.
    const std::size_t size = (sanitized ? 1 : 12) * 256 * 1024;
    CHECK(
        has_errors(
            parse_job(job_with("\"replicaSpecs\":[" + repeated("{},", size / 3) + "{}],")).findings
        ) == false
    );  // the later replicaSpecs counts
    CHECK(has_errors(parse_job(job_with(
                                   "\"runMode\":{\"debug\":{\"replicaSpecs\":[" +
                                   repeated("{},", size / 3) + "{}]}},"
                               ))
                         .findings));
    std::string members;
    for (std::size_t i = 0; members.size() < size; ++i) {
        members += "\"k" + std::to_string(i) + "\":1,";
    }
    CHECK(parse_job(job_with(members)).spec.has_value());
    const auto before = job_with("", members);
    CHECK(parse_job(before).spec.has_value());
    CHECK(validate_update(before, before).empty());
    CHECK(parse_job(job_with("", "\"x\":\"" + repeated("a", size) + "\",")).spec.has_value());
    CHECK(parse_job(job_with("\"" + repeated("b", size) + "\":1,")).findings.size() == 1);
    CHECK(has_errors(parse_job(job_with("\"managedBy\":\"" + repeated("c", size) + "\",")).findings)
    );
}

TEST_CASE(
    "[api 6.2] a specification of more than 16 MiB is refused, a job with one is not", "[api]"
) {
    const auto is_refused = [](const std::string& job) {
        const auto findings = parse_job(job).findings;
        return std::ranges::any_of(findings, [](const diagnostic& d) {
            return d.pointer == "/spec" && d.message.find("16777216 bytes") != std::string::npos;
        });
    };
    const auto text = [](std::size_t size) { return '"' + std::string(size, 'x') + '"'; };
    CHECK(is_refused(job_with("\"unknown\":" + text(16u << 20) + ",")));
    CHECK_FALSE(is_refused(job_with("\"unknown\":" + text((16u << 20) - 10000) + ",")));
    std::string annotated = job_with("");
    const std::string name = R"("name":"mnist")";
    annotated.insert(
        annotated.find(name) + name.size(), ",\"annotations\":{\"a\":" + text(17u << 20) + "}"
    );
    CHECK_FALSE(is_refused(annotated));
}

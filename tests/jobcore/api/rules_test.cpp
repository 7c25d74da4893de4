// SPDX-License-Identifier: Apache-2.0
//
// Every rule of api.md on a PyTorchTrainingJob, and of api.md 7 on its changes: rules.json.
#include "json_cases.hpp"

#include <jobcore/schema.hpp>

#include <catch2/catch.hpp>

using namespace signalbox;
using core::severity;

namespace {

const core::json::document& cases() {
    static const auto document =
        test::read_json(SIGNALBOX_SOURCE_DIR "/tests/jobcore/api/rules.json");
    return document;
}

std::string brief(const core::diagnostic& d) {
    return std::string(d.level == severity::error ? "error " : "warning ") + d.reason + " " +
           d.pointer;
}

std::vector<std::string> texts(const core::json::value& list) {
    std::vector<std::string> out;
    for (const auto& item : list.GetArray()) {
        out.emplace_back(item.GetString());
    }
    return out;
}

}  // namespace

TEST_CASE("[api 6.1] parsing finds exactly what each rule says, in document order", "[api]") {
    REQUIRE(cases()["create"].Size() > 100);
    for (const auto& each : cases()["create"].GetArray()) {
        DYNAMIC_SECTION(each["rule"].GetString()) {
            const auto object = test::made_from(
                cases()["base"], core::json::find(each, "set"), core::json::find(each, "remove")
            );
            const auto parsed = core::parse_job(object);
            std::vector<std::string> found;
            std::string messages;
            for (const auto& d : parsed.findings) {
                if (d.level == severity::error || !each.HasMember("ignore_warnings")) {
                    found.push_back(brief(d));
                    messages += d.message + "\n";
                }
                CHECK(d.message.find('\n') == std::string::npos);
            }
            INFO(messages);
            CHECK(found == texts(each["finds"]));
            CHECK(parsed.spec.has_value() == !core::has_errors(parsed.findings));
            if (each.HasMember("says")) {
                CHECK_THAT(messages, Catch::Contains(each["says"].GetString()));
            }
        }
    }
}

TEST_CASE("[api 7] an update finds exactly the changes that are not allowed", "[api]") {
    REQUIRE(cases()["update"].Size() > 30);
    for (const auto& each : cases()["update"].GetArray()) {
        DYNAMIC_SECTION(each["rule"].GetString()) {
            const auto before = test::made_from(cases()["base"], &each["before"], nullptr);
            const auto after = test::made_from(cases()["base"], &each["after"], nullptr);
            std::vector<std::string> found;
            for (const auto& d : core::validate_update(before, after)) {
                found.push_back(d.pointer);
                CHECK(d.level == severity::error);
                CHECK(d.reason == "InvalidSpec");
            }
            CHECK(found == texts(each["finds"]));
            CHECK(core::validate_update(before, before).empty());
        }
    }
}

TEST_CASE("[api 7] an update of what cannot be read finds nothing", "[api]") {
    const auto base = test::made_from(cases()["base"], nullptr, nullptr);
    CHECK(core::validate_update("", base).empty());
    CHECK(core::validate_update(base, "{").empty());
}

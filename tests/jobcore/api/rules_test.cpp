// SPDX-License-Identifier: Apache-2.0
//
// Every rule on the fields of the three kinds, and of BEHAVIOUR.md api 7 on their changes:
// rules*.json.
#include "api/job/kinds.hpp"
#include "json_cases.hpp"

#include <jobcore/schema.hpp>

#include <catch2/catch.hpp>

using namespace signalbox;
using core::severity;

namespace {

/// One file per kind.
const std::vector<core::json::document>& rule_files() {
    static const auto files = [] {
        std::vector<core::json::document> read;
        for (const std::string name : {"rules", "rules_deepspeed", "rules_colossalai"}) {
            read.push_back(test::read_json("tests/jobcore/api/" + name + ".json"));
        }
        return read;
    }();
    return files;
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
    for (const auto& file : rule_files()) {
        REQUIRE(file["create"].Size() > 70);
        for (const auto& each : file["create"].GetArray()) {
            DYNAMIC_SECTION(each["rule"].GetString()) {
                const auto parsed = core::parse_job(test::made_from(
                    file["base"], core::json::find(each, "set"), core::json::find(each, "remove")
                ));
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
}

TEST_CASE(
    "[api 7.1] [api 7.2] [api 7.3] [api 7.4] an update finds "
    "exactly the changes that are not allowed",
    "[api]"
) {
    for (const auto& file : rule_files()) {
        REQUIRE(file["update"].Size() > 15);
        for (const auto& each : file["update"].GetArray()) {
            DYNAMIC_SECTION(each["rule"].GetString()) {
                const auto before = test::made_from(file["base"], &each["before"], nullptr);
                const auto after = test::made_from(file["base"], &each["after"], nullptr);
                std::vector<std::string> found;
                std::string messages;
                for (const auto& d : core::validate_update(before, after)) {
                    found.push_back(d.pointer);
                    messages += d.message + "\n";
                    CHECK(d.level == severity::error);
                    CHECK(d.reason == "InvalidSpec");
                }
                CHECK(found == texts(each["finds"]));
                CHECK(core::validate_update(before, before).empty());
                if (each.HasMember("says")) {
                    CHECK_THAT(messages, Catch::Contains(each["says"].GetString()));
                }
            }
        }
    }
}

TEST_CASE("[api 6.1] the library says what the API server says of a rule over several fields") {
    for (const auto& file : rule_files()) {
        std::string said;
        const auto hear = [&said](const std::vector<core::diagnostic>& findings) {
            for (const core::diagnostic& d : findings) {
                said += d.message + "\n";
            }
        };
        for (const auto& each : file["create"].GetArray()) {
            hear(core::parse_job(test::made_from(
                                     file["base"],
                                     core::json::find(each, "set"),
                                     core::json::find(each, "remove")
                                 ))
                     .findings);
        }
        for (const auto& each : file["update"].GetArray()) {
            hear(core::validate_update(
                test::made_from(file["base"], &each["before"], nullptr),
                test::made_from(file["base"], &each["after"], nullptr)
            ));
        }
        const auto kind = core::parse_job_kind(file["base"]["kind"].GetString());
        REQUIRE(kind);
        const core::schema::kind_schema& rules = core::schema::schema_of(*kind);
        for (const auto& list : {rules.spec_rules(), rules.name_rules()}) {
            for (const core::schema::cel_rule& rule : list) {
                CHECK_THAT(said, Catch::Contains(rule.message));
            }
        }
    }
}

TEST_CASE("an update of what cannot be read, or into another kind, finds nothing", "[api]") {
    const auto pytorch = test::made_from(rule_files()[0]["base"], nullptr, nullptr);
    const auto deepspeed = test::made_from(rule_files()[1]["base"], nullptr, nullptr);
    CHECK(core::validate_update("", pytorch).empty());
    CHECK(core::validate_update(pytorch, "{").empty());
    CHECK(core::validate_update(pytorch, deepspeed).empty());
}

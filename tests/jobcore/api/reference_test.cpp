// SPDX-License-Identifier: Apache-2.0
//
// What the tables say to people: libjobcore/API.md, and the text of single fields. After a change
// of them:
//     SIGNALBOX_REWRITE=1 jobcore_tests "*API.md*"
#include "api/job/kinds.hpp"
#include "api/tables/tables.hpp"
#include "json_cases.hpp"
#include "signalbox_test/source_files.hpp"

#include <jobcore/schema.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>

using namespace signalbox;

namespace {

const std::string file = "libjobcore/API.md";

/// The field at `path` and all below it have a text, by each of their names.
std::size_t check_field(const core::schema::field& row, const std::string& path) {
    const core::field_text found = core::field_reference(path, false);
    INFO(path << ": " << found.error);
    CHECK(found.error.empty());
    CHECK(found.text.find("\nFIELD: " + std::string(row.name) + " <") != std::string::npos);
    CHECK(found.text.find("\n    " + std::string(row.doc) + "\n") != std::string::npos);
    CHECK(found.text.find("\nRULE:       ") != std::string::npos);
    for (const std::string_view alias : row.aliases) {
        const std::string old = path.substr(0, path.rfind('.') + 1) + std::string(alias);
        CHECK(core::field_reference(old, false).text == found.text);
    }
    std::size_t count = 1;
    for (const auto& child : row.fields) {
        count += check_field(child, path + "." + std::string(child.name));
    }
    return count;
}

}  // namespace

TEST_CASE("API.md is the reference that the tables make", "[api]") {
    const std::string made = core::api_reference_markdown();
    if (std::getenv("SIGNALBOX_REWRITE") != nullptr) {
        std::ofstream(test::source_path(file), std::ios::binary) << made;
    }
    INFO("to write it anew: SIGNALBOX_REWRITE=1 jobcore_tests \"*API.md*\"");
    CHECK((test::source_text(file) == made));
}

TEST_CASE("the reference names every kind, field, rule and annotation", "[api]") {
    const std::string made = core::api_reference_markdown();
    const auto has = [&](const std::string& text) { return made.find(text) != std::string::npos; };
    for (const auto& kind : core::schema::all_kinds()) {
        CHECK(has("## " + std::string(kind.name) + "\n"));
        for (const auto& row : kind.spec->fields) {
            INFO(row.name);
            CHECK(
                (has("| `" + std::string(row.name) + "` |") ||
                 has("| `" + std::string(row.name) + "[]` |"))
            );
        }
        for (const auto& rule : kind.spec_rules()) {
            CHECK(has(rule.message));
        }
    }
    CHECK(
        has("| `runPolicy.cleanUpPolicy` | string | `\"Unfinished\"` | "
            "`All` (old spelling: `all`), `Unfinished` (old spelling: `unfinished`), "
            "`None` (old spelling: `none`) | any time |")
    );
    CHECK(has("| `elastic.minReplicas` | int32 | `1` | 1 to 10000 | never |"));
    CHECK(
        has("| `ssh.authMountPath` | string | `\"/root/.ssh\"` | an absolute path; "
            "at most 4096 characters; "
            "old name: `sshAuthMountPath` | while paused |")
    );
    CHECK(has("| `batch.tensorstack.dev/wait-timeout` | a whole number of seconds or `off` |"));
}

TEST_CASE("each field of the specification and of the status has a text of its own", "[api]") {
    for (const auto& kind : core::schema::all_kinds()) {
        const std::string name(kind.short_name);
        CHECK(check_field(*kind.spec, name + ".spec") > 20);
        CHECK(check_field(*kind.status, name + ".status") > 20);
    }
}

TEST_CASE("a path that leads to no field is an error that names the place", "[api]") {
    const auto error = [](const std::string& path) {
        const core::field_text found = core::field_reference(path, true);
        CHECK(found.text.empty());
        return found.error;
    };
    CHECK(error("").find("is none of the kinds") != std::string::npos);
    CHECK(error("dj..spec").find("DeepSpeedJob has no field \"\"") != std::string::npos);
    CHECK(error("dj.spec.[0]").find("DeepSpeedJob.spec has no field \"\"") != std::string::npos);
    CHECK(error("dj.spec.configs").find("did you mean `config`?") != std::string::npos);
    CHECK(error("pj.spec.template").find("PyTorchTrainingJob.spec has no") != std::string::npos);
    const std::string longest(100'000, 'x');
    CHECK(error(longest).size() < 1000);
    CHECK(error("dj." + longest).size() < 1000);
    CHECK(error(std::string(100'000, '.')).size() < 1000);
    CHECK(error("dj.spec.\xff\n\x1b[31m").find('\x1b') == std::string::npos);
}

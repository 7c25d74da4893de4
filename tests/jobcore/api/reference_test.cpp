// SPDX-License-Identifier: Apache-2.0
//
// libjobcore/API.md is what the tables say. After a change of them:
//     SIGNALBOX_REWRITE=1 jobcore_tests "*API.md*"
#include "api/kinds.hpp"
#include "json_cases.hpp"

#include <jobcore/schema.hpp>

#include <catch2/catch.hpp>

#include <cstdlib>

using namespace signalbox;

namespace {

const std::string file = SIGNALBOX_SOURCE_DIR "/libjobcore/API.md";

}  // namespace

TEST_CASE("API.md is the reference that the tables make", "[api]") {
    const std::string made = core::api_reference_markdown();
    if (std::getenv("SIGNALBOX_REWRITE") != nullptr) {
        std::ofstream(file, std::ios::binary) << made;
    }
    INFO("to write it anew: SIGNALBOX_REWRITE=1 jobcore_tests \"*API.md*\"");
    CHECK((test::read_text(file) == made));
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
            "old name: `sshAuthMountPath` | while paused |")
    );
    CHECK(has("| `batch.tensorstack.dev/wait-timeout` | a whole number of seconds or `off` |"));
}

// SPDX-License-Identifier: Apache-2.0
//
// The published example manifests of this API are accepted as they are.
#include "published/published.hpp"
#include "signalbox_test/skip.hpp"

#include <filesystem>

using namespace signalbox;

namespace {

std::string missing_manifests() {
    const std::string& folder = test::published_folder;
    return std::filesystem::is_directory(folder) ? "" : "no published manifests at " + folder;
}
const test::suite_needs manifests(missing_manifests);

}  // namespace

TEST_CASE("the published manifests are accepted as they are", "[api]") {
    int jobs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(test::published_folder)) {
        const auto parsed = core::parse_job(test::to_json(YAML::LoadFile(entry.path().string())));
        ++jobs;
        INFO(entry.path());
        for (const auto& d : parsed.findings) {
            INFO(d.pointer << ": " << d.message);
            // Those of ColossalAIJob say OnFailure in a place where it means nothing.
            CHECK(d.level == core::severity::warning);
            CHECK(d.reason == "FieldOverridden");
            CHECK_THAT(d.pointer, Catch::EndsWith("/template/spec/restartPolicy"));
            CHECK(parsed.meta.kind == core::job_kind::colossalai);
        }
        CHECK(parsed.spec.has_value());
    }
    CHECK(jobs >= 11);
}

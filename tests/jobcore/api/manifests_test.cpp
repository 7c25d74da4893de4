// SPDX-License-Identifier: Apache-2.0
//
// The published example manifests of this API are accepted as they are.
#include "launch/published.hpp"

#include <filesystem>

using namespace signalbox;

namespace {

const std::filesystem::path manifests = SIGNALBOX_SOURCE_DIR "/../shared/manifests";

}  // namespace

TEST_CASE("the published manifests are accepted as they are", "[api]") {
    if (!std::filesystem::is_directory(manifests)) {
        WARN("skipped: no folder " << manifests.string());
        SUCCEED();
        return;
    }
    int jobs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(manifests)) {
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

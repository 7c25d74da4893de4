// SPDX-License-Identifier: Apache-2.0
//
// The published example manifests of this API are accepted as they are.
#include "json_cases.hpp"

#include <jobcore/schema.hpp>

#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <filesystem>

using namespace signalbox;

namespace {

const std::filesystem::path manifests = SIGNALBOX_SOURCE_DIR "/../shared/manifests";

/// The manifest as JSON; empty without Python's YAML module.
std::string as_json(const std::filesystem::path& manifest) {
    const std::string command =
        "python3 -c 'import sys, json, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))' "
        "'" +
        manifest.string() + "' 2>/dev/null";
    std::string text;
    if (std::FILE* pipe = ::popen(command.c_str(), "r"); pipe != nullptr) {
        std::array<char, 4096> buffer;
        while (const auto count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
            text.append(buffer.data(), count);
        }
        ::pclose(pipe);
    }
    return text;
}

void skipped(const std::string& why) {
    WARN("skipped: " + why);
    SUCCEED();
}

}  // namespace

TEST_CASE("the published manifests are accepted as they are", "[api]") {
    if (!std::filesystem::is_directory(manifests)) {
        skipped("no folder " + manifests.string());
        return;
    }
    int jobs = 0;
    for (const auto& entry : std::filesystem::directory_iterator(manifests)) {
        const auto text = as_json(entry.path());
        if (text.empty()) {
            skipped("python3 with its module yaml is needed to read manifests");
            return;
        }
        const auto parsed = core::parse_job(text);
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

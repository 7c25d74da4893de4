// SPDX-License-Identifier: Apache-2.0
//
// Whose folder pods may lie in. With two users: tests/operator/cli/process_crash_test.py.
#include "containers/instance_folder.hpp"

#include "machine.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <filesystem>

namespace {

using namespace signalbox::op::containers;
using namespace signalbox::op::containers::test;
namespace fs = std::filesystem;

std::string refused(const fs::path& folder) {
    const auto made = make_instance_folder(folder);
    return made.has_error() ? made.error().message : "";
}

}  // namespace

TEST_CASE("the pods' folder is its user's alone, and no link") {
    const scratch_folder scratch;
    const fs::path base = scratch.path();
    const fs::path folder = base / "pods";
    CHECK(refused(folder).empty());
    CHECK(fs::status(folder).permissions() == fs::perms::owner_all);
    CHECK(refused(folder).empty());
    for (const mode_t mode : {0701U, 0710U, 0704U, 0740U, 0720U}) {
        INFO(mode);
        REQUIRE(::chmod(folder.c_str(), mode) == 0);
        CHECK(refused(folder).find("other users have rights there (mode 7") != std::string::npos);
    }
    REQUIRE(::chmod(folder.c_str(), 01777) == 0);
    CHECK(refused(folder).ends_with("everybody may write there"));
    REQUIRE(::chmod(folder.c_str(), 0700) == 0);
    fs::create_directory_symlink("pods", base / "link");
    CHECK(refused(base / "link").ends_with("it is a link: name the folder that it leads to"));
    // Below a link of one's own it is the folder that it leads to.
    fs::create_directory(base / "above");
    fs::create_directory_symlink("above", base / "way");
    CHECK(refused(base / "way/pods").empty());
    REQUIRE(::chmod((base / "above").c_str(), 0777) == 0);
    CHECK(refused(base / "way/pods").find("everybody may write in ") != std::string::npos);
    REQUIRE(::chmod((base / "above").c_str(), 01777) == 0);
    CHECK(refused(base / "way/pods").empty());
}

TEST_CASE("a lock of the pods' folder is not looked for behind a link") {
    const scratch_folder scratch;
    const fs::path folder = fs::path(scratch.path()) / "pods";
    REQUIRE(refused(folder).empty());
    fs::remove(folder / "lock");
    fs::create_symlink("elsewhere", folder / "lock");
    CHECK_FALSE(refused(folder).empty());
    CHECK_FALSE(fs::exists(folder / "elsewhere"));
}

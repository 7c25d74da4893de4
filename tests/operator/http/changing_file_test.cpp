// SPDX-License-Identifier: Apache-2.0
#include "http/changing_file.hpp"

#include "replaced_file.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::op;
using namespace signalbox::op::test;
using signalbox::k8sio::test::folder;

TEST_CASE("a file is read again when it has changed, and only then") {
    const folder here;
    changing_file none("");
    CHECK_FALSE(none.refresh());
    CHECK(none.problem().empty());
    changing_file file(here.write("f", "one"));
    CHECK(file.refresh());
    CHECK(file.text() == "one");
    CHECK_FALSE(file.refresh());
    SECTION("another file takes its place") {
        replace(here, "f", "two");
        CHECK(file.refresh());
        CHECK(file.text() == "two");
        CHECK_FALSE(file.refresh());
    }
    SECTION("it is written anew") {
        const std::string path = here.write("f", "three");
        // Not in the same tick of the file system's clock.
        const auto before = std::filesystem::last_write_time(path);
        std::filesystem::last_write_time(path, before + std::chrono::seconds(1));
        CHECK(file.refresh());
        CHECK(file.text() == "three");
    }
}

TEST_CASE("a file that cannot be read leaves its text, and says why") {
    const folder here;
    const std::string path = here.write("f", "one");
    changing_file file(path);
    file.refresh();
    SECTION("it is gone") {
        std::filesystem::rename(path, path + ".away");
        CHECK_FALSE(file.refresh());
        CHECK(file.problem() == path + ": No such file or directory");
        CHECK(file.text() == "one");
        std::filesystem::rename(path + ".away", path);
        CHECK(file.refresh());
        CHECK(file.problem().empty());
    }
    SECTION("it is a folder") {
        std::filesystem::remove(path);
        std::filesystem::create_directory(path);
        CHECK_FALSE(file.refresh());
        CHECK(file.problem() == path + ": it cannot be read");
        CHECK(file.text() == "one");
    }
}

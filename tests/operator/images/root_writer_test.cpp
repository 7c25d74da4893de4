// SPDX-License-Identifier: Apache-2.0
//
// Layers of images become folders, and nothing else.
#include "images/root_writer.hpp"

#include "images/trouble.hpp"
#include "tar_text.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

using namespace signalbox::op;
using namespace signalbox::op::test;
namespace fs = std::filesystem;

namespace {

/// A folder `root`, and one beside it that no layer may touch.
class image_roots {
public:
    image_roots() {
        std::string name = (fs::temp_directory_path() / "images-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        base_ = name;
        fs::create_directories(root());
        fs::create_directories(outside());
        std::ofstream(outside() / "file") << "outside";
    }
    ~image_roots() { containers::may_fail(containers::remove_tree(base_.string())); }

    fs::path root() const { return base_ / "root"; }
    fs::path outside() const { return base_ / "outside"; }

    /// What is wrong, or nothing.
    std::string apply(const std::vector<tar_text>& layers, images::image_bounds bounds = {}) {
        try {
            images::root_writer writer(root().string(), bounds);
            int number = 0;
            for (const tar_text& each : layers) {
                text_stream stream(each.text());
                writer.apply(stream, "layer " + std::to_string(++number));
            }
            writer.finish();
        } catch (const images::image_trouble& why) {
            return why.what();
        }
        return "";
    }

    /// All paths below the root; a file with its text, a link with its target.
    std::set<std::string> found() const {
        std::set<std::string> out;
        for (const auto& each : fs::recursive_directory_iterator(root())) {
            std::string name =
                fs::relative(each.path().parent_path(), root()) / each.path().filename();
            name = name.substr(name.starts_with("./") ? 2 : 0);
            if (each.is_symlink()) {
                out.insert(name + " -> " + fs::read_symlink(each.path()).string());
            } else if (each.is_directory()) {
                out.insert(name + "/");
            } else {
                out.insert(name + ": " + text_of(each.path()));
            }
        }
        return out;
    }

    bool outside_is_whole() const {
        return text_of(outside() / "file") == "outside" &&
               std::distance(fs::directory_iterator(outside()), {}) == 1;
    }

    static std::string text_of(const fs::path& path) {
        std::ostringstream out;
        out << std::ifstream(path).rdbuf();
        return out.str();
    }

private:
    fs::path base_;
};

using names = std::set<std::string>;

}  // namespace

TEST_CASE("later layers change, add to and hide what is below") {
    image_roots image;
    const tar_text below = tar_text()
                               .folder("a")
                               .file("a/kept", "1")
                               .file("a/changed", "old")
                               .file("a/hidden", "x")
                               .folder("b")
                               .folder("b/deep")
                               .file("b/deep/x", "x")
                               .file("b/y", "y")
                               .folder("c")
                               .file("c/x", "x")
                               .link("f", "a/kept");
    const tar_text above = tar_text()
                               .file("a/changed", "new")
                               .file("a/.wh.hidden", "")
                               .file("b/deep/own", "own")
                               .file("b/.wh..wh..opq", "")
                               .file(".wh.c", "")
                               .file(".wh.never", "")
                               .file("no/such/.wh.folder", "")
                               .file("a/.wh..wh.plnk", "")
                               .file("f", "no link");
    CHECK(image.apply({below, above}).empty());
    CHECK(
        image.found() ==
        names{"a/", "a/kept: 1", "a/changed: new", "b/", "b/deep/", "b/deep/own: own", "f: no link"}
    );
}

TEST_CASE("a layer hides nothing of its own") {
    image_roots image;
    const tar_text below = tar_text().folder("a").file("a/x", "old").folder("d").file("d/low", "l");
    const tar_text above =
        tar_text().file("a/x", "new").file("a/.wh.x", "").file("d/own", "own").file(".wh.d", "");
    CHECK(image.apply({below, above}).empty());
    CHECK(image.found() == names{"a/", "a/x: new", "d/", "d/own: own"});
}

TEST_CASE("files take the place of folders, and folders of files") {
    image_roots image;
    const tar_text below =
        tar_text().folder("a").file("a/x", "x").file("b", "b").folder("c").file("c/stays", "s");
    const tar_text above = tar_text().file("a", "file").folder("b").folder("c");
    CHECK(image.apply({below, above}).empty());
    CHECK(image.found() == names{"a: file", "b/", "c/", "c/stays: s"});
}

TEST_CASE("links of an image lead within it") {
    image_roots image;
    const std::string outside = image.outside().string();
    SECTION("absolute ones from its root") {
        const tar_text below = tar_text().folder("usr").folder("usr/lib").link("lib", "/usr/lib");
        CHECK(image.apply({below, tar_text().file("lib/x", "x")}).empty());
        CHECK(image.found() == names{"usr/", "usr/lib/", "usr/lib/x: x", "lib -> /usr/lib"});
    }
    SECTION("those that lead out, no further than its root") {
        const tar_text layer = tar_text()
                                   .link("up", "../../outside")
                                   .file("up/file", "mine")
                                   .link("away", outside)
                                   .file("away/file", "mine");
        CHECK(image.apply({layer}).empty());
        CHECK(image.outside_is_whole());
        CHECK(image_roots::text_of(image.root() / "outside/file") == "mine");
    }
    SECTION("and whiteouts by way of them") {
        const tar_text layer = tar_text().link("away", outside);
        const tar_text hiding = tar_text().file("away/.wh.file", "").file("away/.wh..wh..opq", "");
        CHECK(image.apply({layer, hiding}).empty());
        CHECK(image.outside_is_whole());
    }
    SECTION("a file never goes through one") {
        const tar_text layer = tar_text().link("a", outside + "/file").file("a", "mine");
        CHECK(image.apply({layer}).empty());
        CHECK(image.outside_is_whole());
        CHECK(image.found() == names{"a: mine"});
    }
    SECTION("hard links neither") {
        const tar_text layer = tar_text().link("away", outside).hard_link("a", "away/file");
        CHECK(image.apply({layer}) == "layer 1, a: a link to away/file: no such file or directory");
        CHECK(image.outside_is_whole());
    }
}

TEST_CASE("paths that lead out are refused, with layer and name") {
    image_roots image;
    const std::string why = ": its path leads out of the image";
    CHECK(image.apply({tar_text().file("../outside/x", "x")}) == "layer 1, ../outside/x" + why);
    CHECK(
        image.apply({tar_text(), tar_text().file("a/../../outside/x", "x")}) ==
        "layer 2, a/../../outside/x" + why
    );
    CHECK(image.apply({tar_text().hard_link("a", "../outside/file")}) == "layer 1, a" + why);
    CHECK(image.apply({tar_text().file("a/.wh...", "")}) == "layer 1, a/.wh...: it hides no file");
    CHECK(image.apply({tar_text().file("a/.wh.", "")}) == "layer 1, a/.wh.: it hides no file");
    CHECK(image.outside_is_whole());
}

TEST_CASE("absolute paths are those of the image") {
    image_roots image;
    CHECK(image.apply({tar_text().file("/etc/x", "x").folder("./").file(".//a/./b", "b")}).empty());
    CHECK(image.found() == names{"etc/", "etc/x: x", "a/", "a/b: b"});
}

TEST_CASE("hard links share a file, until a layer changes one of them") {
    image_roots image;
    const tar_text below = tar_text().file("a", "old").hard_link("b", "a").hard_link("c", "./a");
    CHECK(image.apply({below, tar_text().file("a", "new")}).empty());
    CHECK(image.found() == names{"a: new", "b: old", "c: old"});
    CHECK(fs::hard_link_count(image.root() / "b") == 2);
}

TEST_CASE("devices are left out") {
    image_roots image;
    CHECK(image.apply({tar_text().folder("dev").device("dev/sda")}).empty());
    CHECK(image.found() == names{"dev/"});
}

TEST_CASE("modes and times are the layer's, also of folders that later layers write in") {
    image_roots image;
    const tar_text below = tar_text().folder("a", 0555).file("a/x", "x", 0751);
    CHECK(image.apply({below, tar_text().file("a/y", "y", 0600)}).empty());
    struct stat is = {};
    REQUIRE(::stat((image.root() / "a").c_str(), &is) == 0);
    CHECK((is.st_mode & 07777) == 0555);
    CHECK(is.st_mtime == 1'000'000'000);
    REQUIRE(::stat((image.root() / "a/x").c_str(), &is) == 0);
    CHECK((is.st_mode & 07777) == 0751);
    CHECK(is.st_mtime == 1'000'000'000);
    CHECK(fs::exists(image.root() / "a/y"));
}

TEST_CASE("what an image may take has bounds") {
    image_roots image;
    images::image_bounds bounds;
    SECTION("bytes, of all layers") {
        bounds.bytes = 10;
        CHECK(image.apply({tar_text().file("a", "12345")}, bounds).empty());
        CHECK(
            image.apply({tar_text().file("a", "123456"), tar_text().file("a", "12345")}, bounds) ==
            "layer 2, a: the image has more than 10 bytes"
        );
    }
    SECTION("files") {
        bounds.entries = 2;
        CHECK(
            image.apply({tar_text().file("a", "").file("b", "").file("c", "")}, bounds) ==
            "layer 1, c: the image has more than 2 files"
        );
    }
    SECTION("depth") {
        bounds.depth = 3;
        CHECK(image.apply({tar_text().file("a/b/c", "")}, bounds).empty());
        CHECK(
            image.apply({tar_text().file("a/b/c/d", "")}, bounds) ==
            "layer 1, a/b/c/d: more than 3 folders in each other"
        );
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// Names of images, and what is taken of several.
#include "images/image_index.hpp"

#include "images/trouble.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <filesystem>
#include <fstream>

using namespace signalbox::op;
namespace fs = std::filesystem;

namespace {

const std::string zeros = std::string(64, '0');

std::string sha256_of(const std::string& text) {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    ::EVP_Digest(text.data(), text.size(), bytes, &size, ::EVP_sha256(), nullptr);
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
        out += fmt::format("{:02x}", bytes[i]);
    }
    return out;
}

/// An OCI layout that is made document by document.
class layout_folder {
public:
    layout_folder() {
        std::string name = (fs::temp_directory_path() / "layout-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder_ = name;
        fs::create_directories(folder_ / "blobs/sha256");
    }
    ~layout_folder() { fs::remove_all(folder_); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }
    /// A descriptor of it, with these further members.
    std::string blob(const std::string& text, const std::string& more = "") const {
        write("blobs/sha256/" + sha256_of(text), text);
        return fmt::format(R"({{"digest":"sha256:{}"{}}})", sha256_of(text), more);
    }
    /// An image with one layer, whose command is its name.
    std::string image(
        const std::string& name, const std::string& more = "", const std::string& machine = ""
    ) const {
        const std::string config = fmt::format(
            R"({{"architecture":"{}","config":{{"Cmd":["{}"]}},"rootfs":{{"diff_ids":["sha256:{}"]}}}})",
            machine,
            name,
            zeros
        );
        return blob(
            fmt::format(
                R"({{"config":{},"layers":[{{"digest":"sha256:{}","size":7}}]}})",
                blob(config),
                zeros
            ),
            more
        );
    }
    void index(const std::string& descriptors) const {
        write("index.json", fmt::format(R"({{"manifests":[{}]}})", descriptors));
    }
    std::vector<images::image_description> read() const {
        return images::read_images(*images::open_image_folder(folder_.string()), {});
    }
    std::string trouble() const {
        try {
            read();
        } catch (const images::image_trouble& why) {
            return std::string(why.what()).substr(folder_.string().size());
        }
        return "";
    }
    const fs::path& folder() const { return folder_; }

private:
    fs::path folder_;
};

std::string for_machine(const std::string& machine, const std::string& system = "linux") {
    return fmt::format(R"(,"platform":{{"architecture":"{}","os":"{}"}})", machine, system);
}

std::string called(const std::string& name) {
    return fmt::format(R"(,"annotations":{{"org.opencontainers.image.ref.name":"{}"}})", name);
}

}  // namespace

TEST_CASE("names of images are the same in every spelling") {
    using images::full_image_name;
    CHECK(full_image_name("debian") == "docker.io/library/debian:latest");
    CHECK(full_image_name("debian:12") == "docker.io/library/debian:12");
    CHECK(full_image_name("docker.io/debian") == "docker.io/library/debian:latest");
    CHECK(full_image_name("team/train") == "docker.io/team/train:latest");
    CHECK(full_image_name("docker.io/team/train:1") == "docker.io/team/train:1");
    CHECK(full_image_name("localhost/train") == "localhost/train:latest");
    CHECK(full_image_name("example.org:5000/train") == "example.org:5000/train:latest");
    CHECK(full_image_name("a.b/train@sha256:1") == "a.b/train@sha256:1");
}

TEST_CASE("of several images the name chooses") {
    const layout_folder layout;
    layout.index(
        layout.image("one", called("team/one:1")) + "," + layout.image("two", called("v2"))
    );
    const auto all = layout.read();
    REQUIRE(all.size() == 2);
    const auto chosen = [&](const std::string& wanted) {
        return images::choose_image(all, wanted, "p").config.command.at(0);
    };
    CHECK(chosen("docker.io/team/one:1") == "one");
    CHECK(chosen("*/one:*") == "one");
    CHECK(chosen("anything:v2") == "two");
    CHECK_THROWS_WITH(chosen("three"), "p: none of its images is three; there are: team/one:1, v2");
    layout.index(layout.image("one"));
    CHECK(images::choose_image(layout.read(), "anything", "p").config.command.at(0) == "one");
}

TEST_CASE("of several architectures the machine's own is taken") {
    const layout_folder layout;
    const std::string own = images::machine_architecture();
    const std::string mine = layout.image("mine", for_machine(own), own);
    const std::string others = layout.image("other", for_machine("s390x"), "s390x") + "," +
                               layout.image("windows", for_machine(own, "windows")) + "," +
                               layout.image("note", for_machine("unknown", "unknown"));
    SECTION("in an index of an index, whose name it has") {
        layout.index(
            layout.blob(fmt::format(R"({{"manifests":[{},{}]}})", others, mine), called("a:1"))
        );
        const auto all = layout.read();
        REQUIRE(all.size() == 1);
        CHECK(all[0].config.command.at(0) == "mine");
        CHECK(all[0].names == std::vector<std::string>{"a:1"});
    }
    SECTION("none is") {
        layout.index(others);
        CHECK(
            layout.trouble() == fmt::format(
                                    ": it has no image for linux/{0}; there are: linux/s390x, "
                                    "windows/{0}",
                                    own
                                )
        );
    }
    SECTION("what the configuration says counts too") {
        layout.index(layout.image("other", "", "s390x"));
        CHECK(
            layout.trouble() ==
            fmt::format(": the image is for /s390x, this machine is linux/{}", own)
        );
    }
}

TEST_CASE("documents are held to their digests and bounds") {
    const layout_folder layout;
    SECTION("another text") {
        layout.index(layout.image("a"));
        const auto all = layout.read();
        layout.write("blobs/sha256/" + all[0].id, "{}");
        CHECK(
            layout.trouble() == fmt::format(
                                    "/index.json, blobs/sha256/{}: it is not what it was when the "
                                    "image was made: its digest is {}",
                                    all[0].id,
                                    sha256_of("{}")
                                )
                                    .substr(11)
        );
    }
    SECTION("a digest that is a path") {
        layout.index(R"({"digest":"sha256:../../../etc/passwd"})");
        CHECK(layout.trouble() == ": `sha256:../../../etc/passwd` is no digest of SHA-256");
    }
    SECTION("indexes in indexes without end") {
        std::string inner = layout.image("a");
        for (int i = 0; i < 4; ++i) {
            inner = layout.blob(fmt::format(R"({{"manifests":[{}]}})", inner));
        }
        layout.index(inner);
        CHECK(layout.trouble() == ": indexes in indexes, more than 4 deep");
    }
    SECTION("links that lead out") {
        layout.index(layout.image("a"));
        const std::string id = layout.read()[0].id;
        fs::rename(layout.folder() / "blobs/sha256" / id, layout.folder().string() + ".moved");
        fs::create_symlink(
            layout.folder().string() + ".moved", layout.folder() / "blobs/sha256" / id
        );
        CHECK_FALSE(layout.trouble().empty());
        fs::remove(layout.folder().string() + ".moved");
    }
    SECTION("no image at all") {
        CHECK(layout.trouble().starts_with(": it is no image: neither an OCI layout"));
        layout.index(layout.blob(fmt::format(R"({{"config":{}}})", layout.blob("{}"))));
        CHECK(
            layout.trouble().ends_with("it is no image to run: 0 layers, of which its "
                                       "configuration knows 0")
        );
    }
}

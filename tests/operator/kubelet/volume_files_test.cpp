// SPDX-License-Identifier: Apache-2.0
#include "kubelet/pod/volume_files.hpp"

#include "kubelet/disk/atomic_files.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

#include <unistd.h>

using namespace signalbox::op::kubelet;
namespace fs = std::filesystem;

namespace {

const pod_place nowhere;

pod_spec pod_with_volume(const std::string& volume) {
    const std::string text = fmt::format(
        R"({{"metadata":{{"name":"p","namespace":"ns","uid":"u","labels":{{"a":"1"}}}},)"
        R"("spec":{{"volumes":[{{"name":"v",{}}}]}}}})",
        volume
    );
    return read_pod_spec(text).value();
}

object_data some_objects() {
    object_data out;
    out.config_maps["cm"] = {{"a", "A"}, {"b", "B"}};
    out.secrets["sec"] = {{"k", "S"}};
    return out;
}

outcome<std::vector<planned_file>> planned(const std::string& volume) {
    const pod_spec pod = pod_with_volume(volume);
    REQUIRE(pod.volumes.front().what == volume_spec::kind::files);
    return files_of(pod.volumes.front(), pod, nowhere, some_objects());
}

std::string refusal_of(const std::string& volume) {
    const auto files = planned(volume);
    return files.has_error() ? files.error().message : "(none)";
}

/// Removed at the end.
class folder_of_test {
public:
    folder_of_test() {
        std::string name = (fs::temp_directory_path() / "signalbox-test-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~folder_of_test() { fs::remove_all(path_); }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

unsigned mode_at(const fs::path& path) {
    struct stat about {};
    REQUIRE(::stat(path.c_str(), &about) == 0);
    return about.st_mode & 07777U;
}

using files = std::vector<planned_file>;
constexpr std::chrono::system_clock::time_point noon{std::chrono::seconds(1'700'000'000)};

}  // namespace

TEST_CASE("a volume has the keys of its ConfigMap or Secret") {
    CHECK(
        planned(R"("configMap":{"name":"cm"})").value() == files{{"a", "A", 0644}, {"b", "B", 0644}}
    );
    CHECK(
        planned(R"("secret":{"secretName":"sec","defaultMode":256})").value() ==
        files{{"k", "S", 0400}}
    );
    CHECK(
        planned(
            R"("configMap":{"name":"cm","items":[{"key":"b","path":"x/y"},{"key":"a","path":"z","mode":448}]})"
        )
            .value() == files{{"x/y", "B", 0644}, {"z", "A", 0700}}
    );
    CHECK(planned(R"("configMap":{"name":"no","optional":true})").value().empty());
    CHECK(planned(R"("configMap":{"name":"cm","optional":true,"items":[{"key":"n","path":"n"}]})")
              .value()
              .empty());
}

TEST_CASE("a projected volume puts several things together") {
    const auto made = planned(
        R"("projected":{"defaultMode":288,"sources":[{"secret":{"name":"sec"}},)"
        R"({"configMap":{"name":"cm","items":[{"key":"a","path":"c/a"}]}},)"
        R"({"downwardAPI":{"items":[{"path":"labels","fieldRef":{"fieldPath":"metadata.labels"}}]}},)"
        R"({"serviceAccountToken":{"path":"token"}}]})"
    );
    CHECK(
        made.value() ==
        files{
            {"c/a", "A", 0440}, {"k", "S", 0440}, {"labels", "a=\"1\"", 0440}, {"token", "", 0440}}
    );
}

TEST_CASE("what a volume lacks is named as a kubelet names it") {
    const std::string start = "MountVolume.SetUp failed for volume \"v\" : ";
    CHECK(refusal_of(R"("configMap":{"name":"no"})") == start + "configmap \"no\" not found");
    CHECK(refusal_of(R"("secret":{"secretName":"no"})") == start + "secret \"no\" not found");
    CHECK(
        refusal_of(R"("configMap":{"name":"cm","items":[{"key":"n","path":"n"}]})") ==
        start + "references non-existent config key: n"
    );
    CHECK(
        refusal_of(R"("secret":{"secretName":"sec","items":[{"key":"n","path":"n"}]})") ==
        start + "references non-existent secret key: n"
    );
    for (const char* path : {"../n", "a/../../b", "/abs", "..data", ""}) {
        CHECK(
            refusal_of(fmt::format(
                R"("configMap":{{"name":"cm","items":[{{"key":"a","path":"{}"}}]}})", path
            )) == start + "invalid path: must not contain '..': " + path
        );
    }
}

TEST_CASE("[launchers 1.7] files of a volume change all at once, behind one link") {
    const folder_of_test here;
    const fs::path volume = here.path() / "v";
    REQUIRE(write_volume(volume, {{"a", "1", 0640}, {"d/b", "2", 0600}}, {01777, {}}, noon));
    CHECK(read_file(volume / "a", 10) == "1");
    CHECK(read_file(volume / "d" / "b", 10) == "2");
    CHECK(fs::read_symlink(volume / "a") == "..data/a");
    CHECK(fs::read_symlink(volume / "..data") == "..2023_11_14_22_13_20.000000000");
    CHECK(mode_at(volume) == 01777);
    CHECK(mode_at(volume / "a") == 0640);

    REQUIRE(write_volume(
        volume, {{"a", "1", 0640}, {"d/b", "2", 0600}}, {}, noon + std::chrono::hours(1)
    ));
    CHECK(fs::read_symlink(volume / "..data") == "..2023_11_14_22_13_20.000000000");

    REQUIRE(write_volume(
        volume, {{"a", "new", 0640}, {"c", "3", 0600}}, {}, noon + std::chrono::hours(2)
    ));
    CHECK(read_file(volume / "a", 10) == "new");
    CHECK(read_file(volume / "c", 10) == "3");
    CHECK_FALSE(fs::exists(fs::symlink_status(volume / "d")));
    CHECK_FALSE(fs::exists(volume / "..2023_11_14_22_13_20.000000000"));
    // An empty file is no reason to leave a change out.
    REQUIRE(
        write_volume(volume, {{"a", "", 0640}, {"c", "3", 0600}}, {}, noon + std::chrono::hours(3))
    );
    CHECK(read_file(volume / "a", 10)->empty());
}

TEST_CASE("programs of other users reach a volume whatever the umask of the runtime is") {
    const folder_of_test here;
    const mode_t before = ::umask(077);
    const auto written = write_volume(
        here.path() / "pods" / "v", {{"d/e/f", "1", 0644}, {"s", "2", 0400}}, {0777, {}}, noon
    );
    ::umask(before);
    REQUIRE(written);
    CHECK(mode_at(here.path() / "pods") == 0755);
    const fs::path volume = here.path() / "pods" / "v";
    CHECK(mode_at(volume) == 0777);
    for (const char* folder : {"..data", "d", "d/e"}) {
        CHECK(mode_at(volume / folder) == 0755);
    }
    CHECK(mode_at(volume / "d/e/f") == 0644);
    CHECK(mode_at(volume / "s") == 0400);
}

TEST_CASE("a volume that cannot be written says why and where") {
    const folder_of_test here;
    REQUIRE(write_file(here.path() / "file", "x"));
    const auto wrong = write_volume(here.path() / "file" / "v", {{"a", "1", 0644}}, {}, noon);
    REQUIRE(wrong.has_error());
    CHECK(wrong.error().message.find((here.path() / "file" / "v").string()) != std::string::npos);
    CHECK(wrong.error().message.find("Not a directory") != std::string::npos);
}

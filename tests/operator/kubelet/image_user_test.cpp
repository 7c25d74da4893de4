// SPDX-License-Identifier: Apache-2.0
//
// As whom and with what a container of a real image runs.
#include "kubelet/pod/image_user.hpp"

#include "node_fixture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char* image_passwd =
    "root:x:0:0:root:/root:/bin/sh\ntrainer:x:1234:4321::/home/trainer:/bin/sh\nodd:x\n";
constexpr const char* image_groups =
    "root:x:0:\ntrainers:x:4321:\nmore:x:77:a,trainer\nno:x:78:trainers\n";

std::string account_text(const kubelet::security& rights, const char* user) {
    const auto out = kubelet::account_of(rights, user, image_passwd, image_groups, "container: c");
    return out.has_error()
               ? out.error().reason + ": " + out.error().message
               : fmt::format("{}:{} {}", out->user, out->group, fmt::join(out->groups, ","));
}

/// A real image in the folder, under this name.
kubelet::process_options with_image(const fs::path& folder, images::image_config config) {
    fs::create_directories(folder / "etc");
    std::ofstream(folder / "etc/passwd") << image_passwd;
    std::ofstream(folder / "etc/group") << image_groups;
    kubelet::process_options out;
    out.images = {{"team/train:1", folder.string(), std::move(config), nullptr}};
    return out;
}

class image_folder_of_test {
public:
    image_folder_of_test() {
        std::string name = (fs::temp_directory_path() / "image-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~image_folder_of_test() { fs::remove_all(path); }
    fs::path path;
};

std::string pod_of_image(const std::string& more) {
    return fmt::format(
        R"j("restartPolicy":"Never","containers":[{{"name":"c","image":"docker.io/team/train:1"{}}}])j",
        more
    );
}

}  // namespace

TEST_CASE("the user of an image is looked up where the image has users") {
    kubelet::security rights;
    SECTION("by number and by name") {
        CHECK(account_text(rights, "") == "0:0 ");
        CHECK(account_text(rights, "0") == "0:0 ");
        CHECK(account_text(rights, "1234") == "1234:4321 77");
        CHECK(account_text(rights, "trainer") == "1234:4321 77");
        CHECK(account_text(rights, "99") == "99:0 ");
        // A kubelet hands over the user alone.
        CHECK(account_text(rights, "1234:0") == "1234:4321 77");
        CHECK(account_text(rights, "trainer:more") == "1234:4321 77");
    }
    SECTION("the pod's wins") {
        rights.user = 99;
        CHECK(account_text(rights, "trainer") == "99:0 ");
        rights.user = 1234;
        CHECK(account_text(rights, "") == "1234:4321 77");
        rights.group = 5;
        CHECK(account_text(rights, "") == "1234:5 77");
        rights.user.reset();
        CHECK(account_text(rights, "trainer") == "1234:5 77");
    }
    SECTION("one that is not there") {
        const std::string why = ": no matching entries in passwd file";
        CHECK(account_text(rights, "x") == "CreateContainerError: unable to find user x" + why);
        CHECK(account_text(rights, "odd") == "CreateContainerError: unable to find user odd" + why);
    }
    SECTION("who must not be root has a number") {
        rights.non_root = true;
        CHECK(
            account_text(rights, "trainer") ==
            "CreateContainerConfigError: container has runAsNonRoot and image has non-numeric user "
            "(trainer), cannot verify user is non-root (container: c)"
        );
        CHECK(account_text(rights, "1234") == "1234:4321 77");
    }
}

TEST_CASE("a container runs what its image says, and the pod says more") {
    const image_folder_of_test folder;
    images::image_config config;
    config.entrypoint = {"/entry", "$(A)"};
    config.command = {"of-image"};
    config.env = {{"A", "image"}, {"B", "image"}, {"PATH", "/image/bin"}};
    config.working_dir = "/work";
    config.user = "trainer";
    using words = std::vector<std::string>;
    const std::string env = R"j(,"env":[{"name":"B","value":"pod"}])j";
    const auto run = [&](const std::string& more) {
        auto n = std::make_unique<node_fixture>(with_image(folder.path, config));
        n->create("a", pod_of_image(env + more));
        n->run_for(1s);
        return n;
    };
    SECTION("all of it") {
        const auto n = run("");
        const containers::container_spec& made = n->containers().runs.at(0);
        CHECK(made.process.argv == words{"/entry", "$(A)", "of-image"});
        CHECK(made.process.working_dir == "/work");
        CHECK(made.root.image == folder.path.string());
        CHECK(made.process.as.user == 1234U);
        CHECK(made.process.as.group == 4321U);
        CHECK(made.process.as.groups == std::vector<std::uint32_t>{77});
        CHECK(n->env(0, "A") == "image");
        CHECK(n->env(0, "B") == "pod");
        CHECK(n->env(0, "PATH") == "/image/bin");
        CHECK(n->env(0, "HOME") == "/home/trainer");
    }
    SECTION("args in place of its CMD") {
        const auto n = run(R"j(,"args":["$(B)"])j");
        CHECK(n->containers().runs.at(0).process.argv == words{"/entry", "$(A)", "pod"});
    }
    SECTION("a command in place of both") {
        const auto n = run(R"j(,"command":["own"],"workingDir":"/pod")j");
        CHECK(n->containers().runs.at(0).process.argv == words{"own"});
        CHECK(n->containers().runs.at(0).process.working_dir == "/pod");
        const auto both = run(R"j(,"command":["own"],"args":["x"])j");
        CHECK(both->containers().runs.at(0).process.argv == words{"own", "x"});
    }
    SECTION("args alone of one without ENTRYPOINT") {
        config.entrypoint.clear();
        const auto n = run(R"j(,"args":["echo","x"])j");
        CHECK(n->containers().runs.at(0).process.argv == words{"echo", "x"});
    }
    SECTION("nothing, where no one says what") {
        config.entrypoint.clear();
        config.command.clear();
        const auto n = run("");
        const std::string waiting = "/status/containerStatuses/0/state/waiting";
        CHECK(n->containers().runs.empty());
        CHECK(n->field("a", waiting + "/reason") == "CreateContainerError");
        CHECK(
            n->field("a", waiting + "/message") ==
            "container c has no command, and the image docker.io/team/train:1 has none either: no "
            "ENTRYPOINT and no CMD"
        );
    }
    SECTION("as a user that it does not know") {
        const auto n = run(R"j(,"securityContext":{"runAsUser":99})j");
        CHECK(n->containers().runs.at(0).process.as.user == 99U);
        CHECK(n->containers().runs.at(0).process.as.group == 0U);
        CHECK(n->mount(0, "/etc/passwd") != nullptr);
    }
    SECTION("not as root where that is forbidden") {
        config.user = "0";
        const auto n = run(R"j(,"securityContext":{"runAsNonRoot":true})j");
        CHECK(
            n->field("a", "/status/containerStatuses/0/state/waiting/reason") ==
            "CreateContainerConfigError"
        );
    }
}

TEST_CASE("users are those of the image, wherever its links lead") {
    const image_folder_of_test folder;
    images::image_config config;
    config.command = {"run"};
    config.user = "outsider";
    const kubelet::process_options options = with_image(folder.path / "root", config);
    std::ofstream(folder.path / "passwd") << "outsider:x:5:5::/:/bin/sh\n";
    fs::remove(folder.path / "root/etc/passwd");
    fs::create_symlink("../../passwd", folder.path / "root/etc/passwd");
    node_fixture n(options);
    n.create("a", pod_of_image(""));
    n.run_for(1s);
    CHECK(n.containers().runs.empty());
    CHECK(
        n.field("a", "/status/containerStatuses/0/state/waiting/message") ==
        "unable to find user outsider: no matching entries in passwd file"
    );
}

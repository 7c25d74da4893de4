// SPDX-License-Identifier: Apache-2.0
//
// What a container is started with, over scripted containers.
#include "kubelet/disk/atomic_files.hpp"
#include "node_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace signalbox;
using namespace signalbox::op;
using namespace signalbox::op::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const std::string waiting = "/status/containerStatuses/0/state/waiting";

/// A pod that mounts an emptyDir `v`, once with this subPath at /m.
std::string mounting(const std::string& sub_path, const std::string& more = "") {
    return one(
        fmt::format(
            R"(,"volumeMounts":[{{"name":"v","mountPath":"/m",{}}},{{"name":"v","mountPath":"/v"}}]{})",
            sub_path,
            more
        ),
        R"(,"volumes":[{"name":"v","emptyDir":{}}])"
    );
}

}  // namespace

TEST_CASE("a part of a volume is made in it, and lies nowhere else") {
    node_fixture n;
    SECTION("by its path") {
        n.create("a", mounting(R"("subPath":"x/y")"));
        n.run_for(1s);
        const fs::path whole = n.mount(0, "/v")->source;
        CHECK(n.mount(0, "/m")->source == whole.string());
        CHECK(n.mount(0, "/m")->inside == "x/y");
        CHECK(fs::is_directory(whole / "x/y"));
        // Who may write in the volume may write here: an emptyDir is for every user of the pod.
        CHECK(fs::status(whole / "x/y").permissions() == fs::perms(0777));
    }
    SECTION("by a path that variables tell") {
        n.create(
            "a", mounting(R"j("subPathExpr":"$(X)-1")j", R"(,"env":[{"name":"X","value":"z"}])")
        );
        n.run_for(1s);
        CHECK(n.mount(0, "/m")->source == n.mount(0, "/v")->source);
        CHECK(n.mount(0, "/m")->inside == "z-1");
    }
    SECTION("not above it") {
        for (const char* path : {"../x", "x/../../y", "/etc"}) {
            // The server sees no path that variables tell.
            const std::string variable =
                fmt::format(R"(,"env":[{{"name":"X","value":"{}"}}])", path);
            n.create("a", mounting(R"j("subPathExpr":"$(X)")j", variable));
            n.run_for(1s);
            CHECK(n.field("a", waiting + "/reason") == "CreateContainerConfigError");
            CHECK(
                n.field("a", waiting + "/message") ==
                fmt::format(
                    "failed to prepare subPath for volumeMount \"v\" of container \"c\": `{}` "
                    "leaves "
                    "the volume",
                    path
                )
            );
            n.remove("a", 0);
            n.run_for(1s);
        }
        CHECK(n.containers().runs.empty());
    }
    SECTION("not behind a link that leads out of it") {
        const fs::path volume = n.folder() / "outer/volume";
        fs::create_directories(volume);
        fs::create_directory_symlink("../..", volume / "out");
        fs::create_directories(n.folder() / "outer/volume2");
        fs::create_directory_symlink("../volume2", volume / "beside");
        fs::create_directory_symlink("/nowhere", volume / "gone");
        fs::create_directory(volume / "in");
        fs::create_directory_symlink("in", volume / "good");
        for (const char* path : {"out", "out/x", "beside", "gone", "good"}) {
            n.create(
                path == std::string("out/x") ? "deep" : path,
                one(fmt::format(
                        R"(,"volumeMounts":[{{"name":"v","mountPath":"/m","subPath":"{}"}}])", path
                    ),
                    fmt::format(
                        R"(,"volumes":[{{"name":"v","hostPath":{{"path":"{}"}}}}])", volume.string()
                    ))
            );
        }
        n.run_for(1s);
        CHECK(n.phase("good") == "Running");
        for (const char* name : {"out", "deep", "beside", "gone"}) {
            CHECK(n.field(name, waiting + "/message").ends_with("leads out of the volume"));
        }
        CHECK(n.containers().runs.size() == 1);
    }
}

TEST_CASE("a volume that is read-only is so wherever it is mounted") {
    kubelet::process_options options;
    options.claims = "claims";
    node_fixture n(options);
    fs::create_directories(n.folder() / "claims/data");
    n.create(
        "a",
        one(R"(,"volumeMounts":[{"name":"r","mountPath":"/r"},{"name":"w","mountPath":"/w"},)"
            R"({"name":"w","mountPath":"/one","readOnly":true}])",
            R"(,"volumes":[{"name":"r","persistentVolumeClaim":{"claimName":"data","readOnly":true}},)"
            R"({"name":"w","persistentVolumeClaim":{"claimName":"data"}}])")
    );
    n.run_for(1s);
    CHECK(n.mount(0, "/r")->read_only);
    CHECK_FALSE(n.mount(0, "/w")->read_only);
    CHECK(n.mount(0, "/one")->read_only);
}

TEST_CASE("a claim of that name in another namespace is none") {
    node_fixture n;
    const k8sio::resource_type claims("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim");
    std::string body =
        R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},)"
        R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";
    REQUIRE(n.wait(n.user().create(claims, "kube-public", std::move(body))).has_value());
    n.create(
        "a", one("", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}])")
    );
    n.run_for(5s);
    CHECK(n.phase("a") == "Pending");
    CHECK(
        n.field("a", "/status/conditions/0/message").find("\"data\" not found") != std::string::npos
    );
}

TEST_CASE("a Secret of another namespace is none") {
    node_fixture n;
    std::string body =
        R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"k":"dmFs"}})";
    REQUIRE(n.wait(n.user().create(k8sio::resources::secrets(), "kube-public", std::move(body)))
                .has_value());
    n.create("a", one(R"(,"envFrom":[{"secretRef":{"name":"s"}}])"));
    n.run_for(1s);
    CHECK(n.field("a", waiting + "/message") == "secret \"s\" not found");
}

TEST_CASE("a container runs as the user and the groups that it asks for") {
    node_fixture n;
    n.create(
        "a",
        one(R"(,"securityContext":{"runAsUser":54321,"runAsGroup":50,"runAsNonRoot":true,)"
            R"("readOnlyRootFilesystem":true})",
            R"(,"securityContext":{"runAsUser":7,"fsGroup":60,"supplementalGroups":[70]},)"
            R"("volumes":[{"name":"v","emptyDir":{}}])")
    );
    n.create("b", one("", R"(,"securityContext":{"runAsUser":0})"));
    n.run_for(1s);
    const containers::container_spec& a = n.containers().runs.at(0);
    CHECK(a.process.as.user == 54321);
    CHECK(a.process.as.group == 50);
    CHECK(a.process.as.groups == std::vector<std::uint32_t>{70, 60});
    CHECK(a.root.read_only);
    // The image does not know this user.
    REQUIRE(n.mount(0, "/etc/passwd") != nullptr);
    const auto passwd = kubelet::read_file(n.mount(0, "/etc/passwd")->source, 1U << 20U);
    CHECK(passwd.value().find("\nuser54321:x:54321:50::/:/sbin/nologin\n") != std::string::npos);
    CHECK(n.env(0, "HOME") == "/");
    const containers::container_spec& b = n.containers().runs.at(1);
    CHECK(b.process.as.user == 0);
    CHECK_FALSE(b.root.read_only);
    CHECK(n.mount(1, "/etc/passwd") == nullptr);
}

TEST_CASE("a container has the capabilities that its context gives") {
    const std::string before =
        "SecurityContextUnmet: pods that are processes of this machine do without: ";
    const auto told_of = [](node_fixture& n) {
        const std::vector<std::string> all = n.events("a");
        const auto found = std::find_if(all.begin(), all.end(), [](const std::string& e) {
            return e.starts_with("SecurityContextUnmet");
        });
        return found == all.end() ? std::string() : *found;
    };
    struct row {
        const char* context;
        std::uint64_t capabilities;
        bool may_gain;
        const char* told;
    };
    constexpr std::uint64_t usual = containers::usual_capabilities;
    const row rows[] = {
        {"{}", usual, true, ""},
        {R"({"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}})", 0, false, ""},
        {R"({"capabilities":{"drop":["KILL","CAP_CHOWN","NOSUCH"]}})", usual - 0x21, true, ""},
        {R"({"capabilities":{"drop":["ALL"],"add":["IPC_LOCK"]}})", 1U << 14U, true, ""},
        {R"({"capabilities":{"drop":["KILL"],"add":["KILL"]}})", usual - 0x20, true, ""},
        {R"({"capabilities":{"add":["SYS_PTRACE"]}})", usual + (1U << 19U), true, ""},
        // What root of the machine needs is not given, and that is said.
        {R"({"capabilities":{"add":["SYS_ADMIN","NOSUCH"]}})",
         usual,
         true,
         "capabilities.add SYS_ADMIN, capabilities.add NOSUCH of container c"},
        {R"({"privileged":true,"capabilities":{"drop":["ALL"],"add":["SYS_ADMIN","KILL"]}})",
         0x20,
         true,
         "capabilities.add SYS_ADMIN, privileged of container c"},
        {R"({"seccompProfile":{"type":"RuntimeDefault"},"appArmorProfile":{"type":"Unconfined"}})",
         usual,
         true,
         ""},
        {R"({"appArmorProfile":{"type":"RuntimeDefault"}})",
         usual,
         true,
         "appArmorProfile RuntimeDefault of container c"},
        {R"({"seLinuxOptions":{"level":"s0"},"procMount":"Default"})",
         usual,
         true,
         "seLinuxOptions of container c"},
    };
    for (const row& r : rows) {
        INFO(r.context);
        node_fixture n;
        n.create("a", one(fmt::format(R"(,"securityContext":{})", r.context)));
        n.run_for(1s);
        REQUIRE(n.containers().runs.size() == 1);
        CHECK(n.containers().runs[0].process.capabilities == r.capabilities);
        CHECK(n.containers().runs[0].process.may_gain == r.may_gain);
        const std::string told = r.told;
        CHECK(told_of(n) == (told.empty() ? told : before + told));
    }
    node_fixture n;
    const std::string context =
        R"("securityContext":{"seccompProfile":{"type":"Localhost",)"
        R"("localhostProfile":"x"}},"shareProcessNamespace":true,"hostUsers":false)";
    n.create("a", one("", "," + context));
    n.run_for(1s);
    CHECK(told_of(n) == before + "seccompProfile Localhost, shareProcessNamespace of the pod");
}

TEST_CASE("a pod has users of its own if it or the command line asks for that") {
    for (const bool said : {false, true}) {
        kubelet::process_options options;
        options.user_namespaces = said;
        node_fixture n(options);
        n.create("a", one());
        n.create("b", one("", R"(,"hostUsers":false)"));
        n.run_for(1s);
        CHECK(n.containers().own_users == std::vector{said, true});
    }
}

TEST_CASE("a container has the system calls of its seccomp profile, else of its pod's") {
    const auto profile = [](const char* type) {
        const bool local = std::string_view(type) == "Localhost";
        return fmt::format(
            R"("securityContext":{{"seccompProfile":{{"type":"{}"{}}}}})",
            type,
            local ? R"(,"localhostProfile":"x")" : ""
        );
    };
    struct row {
        const char *pod, *container;
        bool bounded;
    };
    const row rows[] = {
        {nullptr, nullptr, false},
        {"RuntimeDefault", nullptr, true},
        {"RuntimeDefault", "Unconfined", false},
        {"Unconfined", "RuntimeDefault", true},
        {"RuntimeDefault", "Localhost", false},
    };
    for (const row& r : rows) {
        node_fixture n;
        n.create(
            "a",
            one(r.container == nullptr ? "" : "," + profile(r.container),
                r.pod == nullptr ? "" : "," + profile(r.pod))
        );
        n.run_for(1s);
        REQUIRE(n.containers().runs.size() == 1);
        CHECK(n.containers().runs[0].process.bounded_calls == r.bounded);
    }
}

TEST_CASE("what a container mounts in the place of the pod's own files stays") {
    node_fixture n;
    n.create(
        "a",
        one(R"(,"volumeMounts":[{"name":"v","mountPath":"/etc/hosts"},)"
            R"({"name":"v","mountPath":"/etc/passwd"}],"securityContext":{"runAsUser":4242})",
            R"(,"volumes":[{"name":"v","emptyDir":{}}])")
    );
    n.run_for(1s);
    const auto& mounts = n.containers().runs.at(0).mounts;
    for (const char* path : {"/etc/hosts", "/etc/passwd", "/etc/resolv.conf"}) {
        CHECK(std::ranges::count(mounts, path, &containers::mount_point::target) == 1);
    }
    CHECK(n.mount(0, "/etc/hosts")->source == n.mount(0, "/etc/passwd")->source);
}

TEST_CASE("options of the machine go before the image's variables, and the pod's before both") {
    kubelet::process_options options;
    options.venv = "/venv";
    options.binds = {{"/src", "/dst"}, {"/own", "/kept", true}};
    options.images = {{"torch*", "/images/torch"}, {"*", "/images/any"}};
    options.image_variables = {
        {"torch*", "A", "image"}, {"torch*", "B", "image"}, {"x*", "C", "image"}};
    options.resources["nvidia.com/gpu"] = 1;
    node_fixture n(options);
    n.create(
        "a",
        R"j("restartPolicy":"Never","containers":[{"name":"c","image":"torch:2","command":["run","$(A)","$(B)"],)j"
        R"j("args":["$(HOME)"],"env":[{"name":"A","value":"pod"},{"name":"PATH","value":"/bin"}],)j"
        R"("resources":{"limits":{"memory":"1Gi"}}}])"
    );
    n.run_for(1s);
    const containers::container_spec& run = n.containers().runs.at(0);
    CHECK(n.env(0, "A") == "pod");
    CHECK(n.env(0, "B") == "image");
    CHECK(n.env(0, "C") == "(none)");
    CHECK(n.env(0, "PATH") == "/venv/bin:/bin");
    CHECK(n.env(0, "VIRTUAL_ENV") == "/venv");
    // Who asks for no accelerator sees none.
    CHECK(n.env(0, "CUDA_VISIBLE_DEVICES").empty());
    // What the image sets is nothing that a kubelet knows.
    CHECK(run.process.argv == std::vector<std::string>{"run", "pod", "$(B)", "$(HOME)"});
    CHECK(run.process.working_dir == "/");
    CHECK(run.root.image == "/images/torch");
    CHECK(run.bounds.memory == 1U << 30U);
    CHECK(n.mount(0, "/dst")->source == "/src");
    CHECK_FALSE(n.mount(0, "/dst")->read_only);
    CHECK(n.mount(0, "/kept")->read_only);
    CHECK(n.mount(0, "/venv")->read_only);
}

// SPDX-License-Identifier: Apache-2.0
//
// Sandboxes with users of their own: root there is no root of the machine.
#include "machine.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include <unistd.h>

using namespace signalbox::op::containers;
using namespace signalbox::op::containers::test;

namespace {

sandbox_spec with_own_users(const char* name = "a") {
    sandbox_spec out;
    out.hostname = name;
    out.own_users = true;
    return out;
}

container_spec as_root(machine& m, const sandbox& box, const std::string& script) {
    container_spec spec = m.shell(box, script);
    spec.process.as.user = 0;
    spec.process.as.group = 0;
    return spec;
}

void bind(container_spec& spec, const std::string& folder, const char* target) {
    mount_point volume;
    volume.source = folder;
    volume.target = target;
    spec.mounts.push_back(std::move(volume));
}

}  // namespace

TEST_CASE("root in a sandbox with users of its own is another user of the machine") {
    machine m;
    const sandbox box = m.make_sandbox(with_own_users());
    const sandbox other = m.make_sandbox(with_own_users("b"));
    const bool machines_root = ::geteuid() == 0;
    const std::string map = "id -u; awk '{print $1, ($2 >= 1879048192), $3}' /proc/self/uid_map";
    if (machines_root) {
        CHECK(m.run(as_root(m, box, map)).out == "0\n0 1 65536\n");
    }
    const std::string first = "awk '{print $2}' /proc/self/uid_map";
    const std::string here = m.run(as_root(m, box, first)).out;
    CHECK((m.run(as_root(m, other, first)).out != here) == machines_root);
    // A command beside it is the same user.
    const auto running = m.start(as_root(m, box, "exec sleep 1000"));
    process_spec beside = script(first);
    const auto second = m.start_beside(*running, beside);
    CHECK(m.finish(*second).out == here);
    running->kill();
}

TEST_CASE("files of the image and of volumes keep their owners in such a sandbox") {
    machine m;
    const scratch_folder volume;
    std::ofstream(volume.path() + "/there") << "x";
    container_spec spec = as_root(
        m,
        m.make_sandbox(with_own_users()),
        "stat -c '%u %U' /etc/passwd /root /tmp /job /volume/there; "
        "echo y > /volume/made && echo z > /root/made && echo w > /job/made && echo v > /made && "
        "echo u > /tmp/made && echo s > /dev/shm/made && stat -c %u /volume/made /root/made /job "
        "/made /tmp/made"
    );
    spec.process.working_dir = "/job";
    bind(spec, volume.path(), "/volume");
    const outcome ran = m.run(spec);
    CHECK(ran.err.empty());
    // Of the machine's files an ordinary user has none to give.
    const std::string of_image = ::geteuid() == 0 ? "0 root\n" : "65534 nobody\n";
    CHECK(ran.out == of_image + "0 root\n0 root\n0 root\n0 root\n0\n0\n0\n0\n0\n");
    struct stat is = {};
    REQUIRE(::stat((volume.path() + "/made").c_str(), &is) == 0);
    CHECK(is.st_uid == ::geteuid());
}

TEST_CASE("others and what root may do in such a sandbox") {
    machine m;
    if (::geteuid() != 0) {
        SUCCEED("an ordinary user has one user to give");
        return;
    }
    const sandbox box = m.make_sandbox(with_own_users());
    container_spec spec = as_root(
        m,
        box,
        "chown 5:6 /tmp && stat -c '%u %g' /tmp; id -G; echo x > /dev/stdout; "
        "cat /proc/1/root/etc/hostname > /dev/null && echo sees itself"
    );
    spec.process.as.groups = {8, 9};
    CHECK(m.run(spec).out == "5 6\n0 8 9\nx\nsees itself\n");
    spec.process =
        script("id -u; id -g; echo x > /dev/stdout; echo y > /tmp/x && stat -c %u /tmp/x");
    spec.process.as = {2000, 3000, {}};
    CHECK(m.run(spec).out == "2000\n3000\nx\n2000\n");
    // Ports of the network below 1024 are for everyone there.
    spec = as_root(m, box, R"(exec python3 -B -c '
import socket
s = socket.socket()
s.bind(("0.0.0.0", 22))
print(s.getsockname()[1])
')");
    CHECK(m.run(spec).out == "22\n");
}

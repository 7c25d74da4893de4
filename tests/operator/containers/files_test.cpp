// SPDX-License-Identifier: Apache-2.0
//
// The file system of a container.
#include "containers/unix.hpp"
#include "machine.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include <unistd.h>

namespace {

using namespace signalbox::op::containers;
using namespace signalbox::op::containers::test;

mount_point bound(const std::string& source, const std::string& target, bool read_only = false) {
    mount_point out;
    out.source = source;
    out.target = target;
    out.read_only = read_only;
    return out;
}

mount_point memory(const std::string& target, std::uint64_t limit = 0) {
    mount_point out;
    out.what = mount_point::kind::memory;
    out.target = target;
    out.size_limit = limit;
    return out;
}

/// A name that no file of this machine has; the shell of `spec` knows it as $NEW.
std::string new_name(const machine& m, container_spec& spec) {
    std::string name = std::filesystem::path(m.folder()).filename();
    spec.process.env.push_back("NEW=" + name);
    return name;
}

TEST_CASE("a part of a volume lies in it, whatever links another container makes there") {
    namespace fs = std::filesystem;
    machine m;
    const scratch_folder scratch;
    const fs::path base = scratch.path();
    fs::create_directories(base / "volume/in");
    fs::create_directories(base / "outside");
    static_cast<void>(scratch.file("volume/in/name", "in"));
    static_cast<void>(scratch.file("outside/name", "outside"));
    const sandbox box = m.make_sandbox();
    const auto seen = [&](const std::string& part) {
        container_spec spec = m.shell(box, "cat /m/name");
        spec.mounts.push_back(bound(base / "volume", "/m"));
        spec.mounts.back().inside = part;
        return m.run(spec);
    };
    fs::create_directory_symlink("in", base / "volume/good");
    CHECK(seen("good").out == "in");
    for (const fs::path& to : {fs::path("../outside"), base / "outside", fs::path("/proc/self")}) {
        INFO(to.string());
        fs::remove(base / "volume/bad");
        fs::create_directory_symlink(to, base / "volume/bad");
        const outcome refused = seen("bad");
        CHECK(refused.error.reason == "CreateContainerError");
        CHECK(refused.error.message.ends_with("/volume/bad\": invalid cross-device link"));
        CHECK(refused.out.empty());
    }
    const std::jthread racing([&](const std::stop_token& ends) {
        for (bool in = true; !ends.stop_requested(); in = !in) {
            fs::remove(base / "next");
            fs::create_directory_symlink(in ? "in" : "../outside", base / "next");
            fs::rename(base / "next", base / "volume/raced");
        }
    });
    for (int i = 0; i < 20; ++i) {
        const outcome o = seen("raced");
        CHECK((o.out == "in" || !o.error.reason.empty()));
    }
}

TEST_CASE("what a container writes stays beside the image") {
    machine m;
    container_spec spec = m.shell(
        m.make_sandbox(),
        "set -e; echo x > /etc/$NEW; echo y > /$NEW; mkdir /usr/$NEW; "
        "cat /etc/$NEW /$NEW; ls -d /usr/$NEW; ls /tmp /run | grep -v :"
    );
    const std::string name = new_name(m, spec);
    const outcome o = m.run(spec);
    INFO(o.err);
    CHECK(o.out == "x\ny\n/usr/" + name + "\n\n");
    for (const char* folder : {"/", "/etc/", "/usr/"}) {
        CHECK_FALSE(std::filesystem::exists(folder + name));
    }
    CHECK(read_text(spec.root.changes + "/root/" + name) == "y\n");
    CHECK(read_text(spec.root.changes + "/upper/etc/" + name) == "x\n");
}

TEST_CASE("a container has devices, its own processes, and the kernel's files read-only") {
    machine m;
    const outcome o = m.run(
        "cat /dev/null; head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; head -c 1 "
        "/dev/zero > "
        "/dev/full; "
        "echo s > /dev/shm/s; cat /dev/shm/s; echo via > /dev/stdout; df -k /dev/shm | tail -1 | "
        "tr -s ' ' | cut -d' ' -f2; "
        "echo 1 > /proc/sys/kernel/panic; touch /sys/x; ls /sys/class/net | tr '\\n' ' '"
    );
    INFO(o.err);
    CHECK(o.out == "4\n4\ns\nvia\n65536\neth0 lo ");
    CHECK(o.err.find("No space left on device") != std::string::npos);
    CHECK(o.err.find("/proc/sys/kernel/panic") != std::string::npos);
    CHECK(o.err.find("/sys/x") != std::string::npos);
}

TEST_CASE("files, folders and memory are mounted where they are wanted") {
    machine m;
    const scratch_folder host;
    const std::string text = host.file("text", "from the host\n");
    std::filesystem::create_directories(host.path() + "/data/inner");
    container_spec spec = m.shell(
        m.make_sandbox(),
        "cat /$NEW/deep/text /etc/resolv.conf; echo kept > /work-here/data/file; echo no > "
        "/ro/file; "
        "echo m > /work-here/data/inner/m; cat /work-here/data/inner/m; ls /var/run/secrets/token; "
        "head -c 2000000 /dev/zero > /small/x"
    );
    const std::string name = new_name(m, spec);
    spec.mounts = {
        bound(text, "/" + name + "/deep/text"),
        bound(text, "/etc/resolv.conf", true),
        bound(host.path() + "/data", "/work-here/data"),
        memory("/work-here/data/inner"),
        bound(host.path() + "/data", "/ro", true),
        bound(text, "/var/run/secrets/token"),
        memory("/small", 1 << 20)};
    const outcome o = m.run(spec);
    INFO(o.err << o.error.message);
    CHECK(o.out == "from the host\nfrom the host\nm\n/var/run/secrets/token\n");
    CHECK(read_text(host.path() + "/data/file") == "kept\n");
    CHECK_FALSE(std::filesystem::exists(host.path() + "/data/inner/m"));
    CHECK(o.err.find("/ro/file: Read-only file system") != std::string::npos);
    CHECK(o.err.find("No space left on device") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists("/" + name));
}

TEST_CASE("a root that is read-only has mounts that are not") {
    machine m;
    container_spec spec = m.shell(
        m.make_sandbox(),
        "echo x > /scratch/x && cat /scratch/x; touch /y; touch /etc/y; touch /usr/lib/y; touch "
        "/tmp/y"
    );
    spec.root.read_only = true;
    spec.mounts = {memory("/scratch")};
    const outcome o = m.run(spec);
    CHECK(o.out == "x\n");
    std::size_t refusals = 0;
    for (std::size_t at = 0; (at = o.err.find("Read-only file system", at)) != std::string::npos;
         ++at) {
        ++refusals;
    }
    INFO(o.err);
    CHECK(refusals == 4);
}

TEST_CASE("a folder can be the image") {
    machine m;
    const scratch_folder image;
    std::filesystem::create_directories(image.path() + "/opt/app");
    std::filesystem::create_directories(image.path() + "/usr");
    for (const char* link : {"bin", "lib", "lib64"}) {
        std::filesystem::create_symlink(std::string("usr/") + link, image.path() + "/" + link);
    }
    image.file("opt/app/data", "of the image\n");
    container_spec spec =
        m.shell(m.make_sandbox(), "cat /opt/app/data; echo more >> /opt/app/data; ls /");
    spec.root.image = image.path();
    spec.mounts = {bound("/usr", "/usr", true)};
    const outcome o = m.run(spec);
    INFO(o.err << o.error.message);
    CHECK(o.out.find("of the image\nbin\ndev\nlib\nlib64\nopt\nproc\nrun\nsys\ntmp\nusr\n") == 0);
    CHECK(read_text(image.path() + "/opt/app/data") == "of the image\n");

    spec.root.image = "/no/such/image";
    const outcome missing = m.run(spec);
    CHECK(missing.error.reason == "CreateContainerError");
    CHECK(
        missing.error.message == "cannot open the image /no/such/image: no such file or directory"
    );
}

TEST_CASE("a mount source that is not there is named") {
    machine m;
    container_spec spec = m.shell(m.make_sandbox(), "true");
    spec.mounts = {bound("/no/such/folder", "/x")};
    const outcome o = m.run(spec);
    CHECK(o.error.reason == "CreateContainerError");
    CHECK(o.error.message == "failed to stat \"/no/such/folder\": no such file or directory");
}

TEST_CASE("a link in the image does not lead a mount out of the container") {
    machine m;
    const scratch_folder image;
    const scratch_folder outside;
    std::filesystem::create_directories(image.path() + "/etc");
    std::filesystem::create_directories(image.path() + "/usr");
    for (const char* link : {"bin", "lib", "lib64"}) {
        std::filesystem::create_symlink(std::string("usr/") + link, image.path() + "/" + link);
    }
    std::filesystem::create_symlink(outside.path(), image.path() + "/etc/away");
    std::filesystem::create_symlink("../../../../../.." + outside.path(), image.path() + "/etc/up");
    container_spec spec = m.shell(m.make_sandbox(), "ls /etc/away /etc/up");
    spec.root.image = image.path();
    spec.mounts = {
        bound("/usr", "/usr", true), memory("/etc/away/made"), memory("/etc/up/made-too")};
    const outcome o = m.run(spec);
    INFO(o.err << o.error.message);
    CHECK(o.out.find("made-too") != std::string::npos);
    CHECK(std::filesystem::is_empty(outside.path()));
}

TEST_CASE("containers of the machine's files do not see those of the runtime") {
    const scratch_folder base("/var/tmp");  // not /tmp: that is empty in containers
    local_options options;
    options.folder = base.path() + "/runtime";
    machine m(options);
    container_spec spec = m.shell(
        m.make_sandbox(),
        "ls -A " + base.path() + " " + base.path() + "/runtime; touch /var/tmp/$NEW"
    );
    const std::string name = new_name(m, spec);
    const outcome o = m.run(spec);
    INFO(o.err);
    CHECK(o.out == base.path() + ":\nruntime\n\n" + base.path() + "/runtime:\n");
    CHECK_FALSE(std::filesystem::exists("/var/tmp/" + name));
}

TEST_CASE("a runtime leaves nothing") {
    const scratch_folder base;
    {
        local_options options;
        options.folder = base.path() + "/a: b,c/runtime";
        machine m(options);
        container_spec spec = m.shell(
            m.make_sandbox(),
            "mkdir -p /closed/inner && touch /closed/inner/x && chmod 0 /closed/inner /closed; "
            "sleep 1000 & echo ok; wait"
        );
        const auto p = m.start(spec);
        CHECK(m.line(*p) == "ok");
    }
    CHECK(std::filesystem::exists(base.path() + "/a: b,c/runtime/lock"));
    const auto entries = std::filesystem::directory_iterator(base.path() + "/a: b,c/runtime");
    CHECK(std::distance(begin(entries), end(entries)) == 1);
}

}  // namespace

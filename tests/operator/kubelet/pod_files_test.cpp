// SPDX-License-Identifier: Apache-2.0
#include "kubelet/disk/atomic_files.hpp"
#include "kubelet/disk/kept_log.hpp"
#include "kubelet/disk/log_file.hpp"
#include "kubelet/disk/written_files.hpp"
#include "kubelet/life/launch.hpp"
#include "kubelet/pod/host_files.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>

#include <unistd.h>

using namespace signalbox::op::kubelet;
namespace fs = std::filesystem;

namespace {

pod_spec pod_of(const std::string& spec) {
    const std::string text = fmt::format(
        R"({{"metadata":{{"name":"job-worker-0","namespace":"ns","uid":"u"}},"spec":{{{}}}}})", spec
    );
    return read_pod_spec(text).value();
}

class log_folder {
public:
    explicit log_folder(const fs::path& in = fs::temp_directory_path()) {
        std::string name = (in / "signalbox-test-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~log_folder() { fs::remove_all(path_); }
    fs::path file(const std::string& name) const { return path_ / name; }
    std::string text(const std::string& name) const {
        return read_file(path_ / name, 100'000'000).value_or("(none)");
    }

private:
    fs::path path_;
};

constexpr log_file::time at{std::chrono::seconds(1'700'000'000)};
constexpr const char* stamp = "2023-11-14T22:13:20.000000000Z ";

}  // namespace

TEST_CASE("[launchers 1.1] a pod's hosts file has its own name") {
    const auto last_lines = [](const pod_spec& pod) {
        const std::string text = hosts_file(pod, "10.0.0.7", "1.2.3.4\tnode\n");
        return text.substr(text.find("allrouters") + 11);
    };
    CHECK(last_lines(pod_of("")) == "10.0.0.7\tjob-worker-0\n");
    CHECK(
        last_lines(pod_of(R"("hostname":"w","subdomain":"job")")) ==
        "10.0.0.7\tw.job.ns.svc.cluster.local\tw\n"
    );
    CHECK(
        last_lines(pod_of(R"("hostAliases":[{"ip":"1.1.1.1","hostnames":["a","b"]}])")) ==
        "10.0.0.7\tjob-worker-0\n\n# Entries added by HostAliases.\n1.1.1.1\ta\tb\n"
    );
    CHECK(
        hosts_file(pod_of(R"("hostNetwork":true)"), "x", "1.2.3.4\tnode\n") ==
        "# Kubernetes-managed hosts file (host network).\n1.2.3.4\tnode\n"
    );
}

TEST_CASE("the kernel's host name is the full one only if the pod says so") {
    CHECK(kernel_host_name(pod_of("")) == "job-worker-0");
    CHECK(kernel_host_name(pod_of(R"("hostname":"w","subdomain":"job")")) == "w");
    CHECK(
        kernel_host_name(pod_of(R"("hostname":"w","subdomain":"job","setHostnameAsFQDN":true)")) ==
        "w.job.ns.svc.cluster.local"
    );
    pod_spec pod = pod_of("");
    pod.name = std::string(62, 'x') + "-y";
    CHECK(kernel_host_name(pod) == std::string(62, 'x'));
}

TEST_CASE("resolv.conf follows dnsPolicy and dnsConfig") {
    const char* node = "nameserver 9.9.9.9\nsearch corp\noptions timeout:1\n";
    const auto file = [&](const std::string& spec) {
        return resolver_file(pod_of(spec), "10.0.0.1", node);
    };
    const std::string cluster =
        "search ns.svc.cluster.local svc.cluster.local cluster.local\n"
        "nameserver 10.0.0.1\noptions ndots:5\n";
    const std::string of_node = "search corp\nnameserver 9.9.9.9\noptions timeout:1\n";
    CHECK(file("") == cluster);
    CHECK(file(R"("dnsPolicy":"Default")") == of_node);
    CHECK(file(R"("hostNetwork":true)") == of_node);
    CHECK(file(R"("hostNetwork":true,"dnsPolicy":"ClusterFirstWithHostNet")") == cluster);
    CHECK(
        file(
            R"("dnsConfig":{"nameservers":["8.8.8.8"],"searches":["x"],"options":[{"name":"ndots","value":"2"},{"name":"edns0"}]})"
        ) ==
        "search ns.svc.cluster.local svc.cluster.local cluster.local x\n"
        "nameserver 10.0.0.1\nnameserver 8.8.8.8\noptions ndots:2 edns0\n"
    );
    CHECK(
        file(
            R"("dnsPolicy":"Default","dnsConfig":{"options":[{"name":"attempts","value":"2"},{"name":"time"}]})"
        ) == "search corp\nnameserver 9.9.9.9\noptions timeout:1 attempts:2 time\n"
    );
    CHECK(
        file(R"("dnsPolicy":"None","dnsConfig":{"nameservers":["8.8.8.8"]})") ==
        "nameserver 8.8.8.8\n"
    );
}

TEST_CASE("a user whom the image does not know gets an entry") {
    const char* passwd = "root:x:0:0::/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/sbin/nologin";
    CHECK_FALSE(with_user(passwd, 0, {}).has_value());
    CHECK_FALSE(with_user(passwd, 100, {}).has_value());
    CHECK(
        with_user(passwd, 1000, 50) ==
        std::string(passwd) + "\nuser1000:x:1000:50::/:/sbin/nologin\n"
    );
    CHECK(with_user("", 5, {}) == "user5:x:5:0::/:/sbin/nologin\n");
}

TEST_CASE("the home of a user is what the image says, else the root") {
    // As runc, which asks for no more fields than there are.
    const char* passwd = "root:x:0:0::/root:/bin/sh\na:x:7:7::/a\nb:x:8:8::\nc:x:9:9\n";
    CHECK(home_of(passwd, 0) == "/root");
    CHECK(home_of(passwd, 7) == "/a");
    CHECK(home_of(passwd, 8) == "/");
    CHECK(home_of(passwd, 9) == "/");
    CHECK(home_of(passwd, 10) == "/");
    CHECK(home_of("", 0) == "/");
}

TEST_CASE("log lines have time, stream and tag") {
    const log_folder here;
    {
        log_file log(here.file("l"));
        log.write_out("one\ntw", at);
        log.write_err("bad\n", at);
        log.write_out("o\nlast", at);
        log.finish(at);
    }
    const std::string s = stamp;
    CHECK(
        here.text("l") ==
        s + "stdout F one\n" + s + "stderr F bad\n" + s + "stdout F two\n" + s + "stdout F last\n"
    );
}

TEST_CASE("a long line is written in parts") {
    const log_folder here;
    log_limits limits;
    limits.line = 4;
    log_file log(here.file("l"), limits);
    log.write_out("abcdefghi\nabcd\n", at);
    const std::string s = std::string(stamp) + "stdout ";
    // As containerd has it: a line of just that length ends with an empty entry.
    CHECK(here.text("l") == s + "P abcd\n" + s + "P efgh\n" + s + "F i\n" + s + "F abcd\n");
}

TEST_CASE("a progress bar is written as it is drawn, and no other stream goes on in its line") {
    const log_folder here;
    log_file log(here.file("l"));
    const std::string s = stamp;
    log.write_err("\r10%", at);
    CHECK(here.text("l") == s + "stderr P \r10%\n");
    log.write_err("|##", at);
    log.write_out("loss 1\nhalf a", at);
    log.write_out(" line", at);
    std::string seen =
        s + "stderr P \r10%\n" + s + "stderr P |##\n" + s + "stderr F \n" + s + "stdout F loss 1\n";
    CHECK(here.text("l") == seen);
    log.write_err("\r20%", at);
    log.write_err("\r30%\nreal", at);
    seen += s + "stderr P \r20%\n" + s + "stderr F \r30%\n";
    CHECK(here.text("l") == seen);
    log.write_err(" error\n\r40%", at);
    log.finish(at);
    seen += s + "stderr F real error\n" + s + "stderr P \r40%\n" + s + "stderr F \n" + s +
            "stdout F half a line\n";
    CHECK(here.text("l") == seen);
}

TEST_CASE("a log that outlives its pod lies where its attempt is looked for") {
    const auto path = [](const std::string& labels, const std::string& ns, const char* container) {
        const pod_spec pod =
            read_pod_spec(
                R"({"metadata":{"name":"p","uid":"u","namespace":")" + ns + R"(","labels":{)" +
                labels +
                R"(}},"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c"},{"name":"d"}]}})"
            )
                .value();
        const auto it = std::ranges::find(pod.containers, container, &container_spec::name);
        return kept_log_path(pod, *it).string();
    };
    const std::string labels = R"("tensorstack.dev/owner-name":"j","replica-type":"worker",)"
                               R"("replica-index":"3","batch.tensorstack.dev/attempt":)";
    CHECK(path(labels + R"("2")", "default", "c") == "j/attempt-2/worker-3.log");
    CHECK(path(labels + R"("2")", "ns", "c") == "ns_j/attempt-2/worker-3.log");
    CHECK(path(labels + R"("2")", "default", "d") == "j/attempt-2/worker-3.d.log");
    CHECK(path(labels + R"("2")", "default", "i") == "j/attempt-2/worker-3.i.log");
    CHECK(path("", "ns", "c") == "ns_p/c.log");
    CHECK(path(labels + R"("../../x")", "default", "c") == "p/c.log");
    CHECK(path(labels + R"("x/../../../y")", "default", "c") == "p/c.log");
    CHECK(path(labels + R"("..")", "default", "c") == "p/c.log");
}

TEST_CASE("a log that outlives its pod goes on, and has a bound where one is wanted") {
    const log_folder here;
    kept_log().write("nowhere");
    kept_log(here.file("a/b"), 0).write("one\n");
    {
        kept_log log(here.file("a/b"), 10);
        log.write("two\r");
        CHECK(here.text("a/b") == "one\ntwo\r");
        log.write("12");
        CHECK(here.text("a/b") == "one\ntwo\r12");
        log.write("3");
        log.write("4");
        CHECK(here.text("a/b") == "34");
        CHECK(here.text("a/b.1") == "one\ntwo\r12");
        log.write("more than ten at once");
        log.write("x");
    }
    CHECK(here.text("a/b.1") == "more than ten at once");
    CHECK(here.text("a/b") == "x");
}

TEST_CASE("logs without end take five files") {
    const log_folder here;
    log_limits limits;
    limits.file_size = 10'000;
    log_file log(here.file("l"), limits);
    const std::string chunk = std::string(99, 'x') + "\n";
    for (int i = 0; i < 10'000; ++i) {
        log.write_out(chunk, at);
    }
    std::uintmax_t bytes = 0;
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(here.file(""))) {
        bytes += entry.file_size();
        ++count;
    }
    CHECK(count == 5);
    CHECK(bytes < 5 * 11'000);
    CHECK(fs::exists(here.file("l.4")));
    CHECK(log.lost_bytes() == 0);
}

TEST_CASE("the older a file of a log the higher its number, and no line is twice or nowhere") {
    const log_folder here;
    const std::string entry = std::string(stamp) + "stdout F ";
    log_limits limits;
    limits.file_size = entry.size() + 2;
    const auto write = [&](const char* name, int files) {
        limits.files = files;
        log_file log(here.file(name), limits);
        log.write_out("1\n2\n3\n4\n", at);
    };
    write("l", 3);
    CHECK(here.text("l").empty());
    CHECK(here.text("l.1") == entry + "4\n");
    CHECK(here.text("l.2") == entry + "3\n");
    CHECK(here.text("l.3") == "(none)");
    write("m", 2);
    CHECK(here.text("m.1") == entry + "4\n");
    CHECK(here.text("m.2") == "(none)");
    write("n", 1);
    CHECK(here.text("n").empty());
    CHECK(here.text("n.1") == "(none)");
}

TEST_CASE("a log that cannot be written loses lines and says how much") {
    log_file log("/proc/none/l");
    log.write_out("hello\n", at);
    CHECK(log.lost_bytes() > 0);
    CHECK(log.loss_reason() == "No such file or directory");
}

TEST_CASE("what a container has written is what somebody would miss") {
    const log_folder changes;
    const auto write = [&](const std::string& name, const std::string& text) {
        fs::create_directories(changes.file(name).parent_path());
        REQUIRE(write_file(changes.file(name), text).has_value());
    };
    CHECK(written_files(changes.file(""), 10).empty());
    for (const char* other :
         {"upper/home/me/.cache/x",
          "upper/home/me/.x",
          "upper/home/me/__pycache__/x.pyc",
          "upper/usr/x",
          "upper/var/log/x",
          "root/tmp/x",
          "root/run/x",
          "work/home/x"}) {
        write(other, "text");
    }
    write("upper/home/me/empty", "");
    fs::create_symlink("/etc/passwd", changes.file("upper/home/me/link"));
    fs::create_directory_symlink("/etc", changes.file("upper/home/me/folder"));
    CHECK(written_files(changes.file(""), 10).empty());

    write("upper/home/me/run/small.txt", "x");
    CHECK(words_for(written_files(changes.file(""), 10)) == "/home/me/run/small.txt");
    write("upper/home/me/run/usr/model.pt", "weights");
    CHECK(
        words_for(written_files(changes.file(""), 10)) ==
        "usr/model.pt and 1 more file below /home/me/run"
    );
    write("upper/home/me/runs", "xy");
    write("root/new\nfolder", "xyz");
    const auto all = written_files(changes.file(""), 10);
    REQUIRE(all.size() == 4);
    CHECK(all[0].inside == "/home/me/run/small.txt");
    CHECK(all[0].where == changes.file("upper/home/me/run/small.txt"));
    CHECK(words_for(all) == "home/me/run/usr/model.pt and 3 more files below /");
    CHECK(words_for({all[3]}) == "/new folder");
    CHECK(written_files(changes.file(""), 2).size() == 2);
}

TEST_CASE("what a command names and pods do not see is found") {
    const log_folder folder("/tmp");
    const std::string top = folder.file("").parent_path().string();
    const std::string script = folder.file("train.py").string();
    REQUIRE(write_file(script, "").has_value());
    signalbox::op::containers::container_spec made;
    made.process.argv = {
        "sh", "-c", "cd /tmp; python3 '" + script + "' /tmp/not/there x=" + script};
    CHECK(unseen_files(made) == std::vector<std::string>{script});
    made.process.working_dir = top;
    CHECK(unseen_files(made) == std::vector<std::string>{script, top});
    for (const std::string& target : {top, script, std::string("/tmp")}) {
        made.mounts.assign(1, {});
        made.mounts.front().target = target;
        CHECK(unseen_files(made).empty());
    }
    made.mounts.front().target = script + "c";
    CHECK(unseen_files(made) == std::vector<std::string>{script});
    made.process.argv = {"/usr/bin/env"};
    made.process.working_dir = "/";
    CHECK(unseen_files(made).empty());
}

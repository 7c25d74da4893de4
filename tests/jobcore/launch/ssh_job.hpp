// SPDX-License-Identifier: Apache-2.0
//
// Pods of ssh jobs as tests look at them, and a folder that stands for the file system of one.
#pragma once

#include "launch/shell.hpp"
#include "launch/typed_job.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace signalbox::test {

using words = std::vector<std::string>;

/// The words of `run.sh`, as a shell sees them.
inline words program_of(const std::string& script) {
    const temporary_folder folder;
    folder.write("rec", recorder, true);
    folder.write("run", script + folder.path("rec") + " \"$@\"\n");
    const auto result = run("ARGV_LOG=" + folder.path("log") + " /bin/sh " + folder.path("run"));
    CAPTURE(script, result.output);
    REQUIRE(result.code == 0);
    words out;
    std::string text = folder.read("log");
    text.pop_back();
    for (std::size_t start = 0; start < text.size();) {
        const auto end = text.find('\0', start);
        out.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return out;
}

template <class Launch>
words program_of(const typed_job<Launch>& job, const core::render_options& options = {}) {
    return program_of(job.file("run.sh", options));
}

inline const value* volume(const rendered& pod, std::string_view name) {
    const value* volumes = find(pod.spec(), "volumes");
    for (rapidjson::SizeType i = 0; volumes != nullptr && i < volumes->Size(); ++i) {
        if (string_or_empty((*volumes)[i], "name") == name) {
            return &(*volumes)[i];
        }
    }
    return nullptr;
}

inline std::string replaced_all(std::string text, std::string_view what, std::string_view with) {
    for (auto at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size())) {
        text.replace(at, what.size(), with);
    }
    return text;
}

/// A pod's file system below one folder: config/ (the ConfigMap), run/, ssh/ (the Secret), bin/
/// (first in PATH), home/.
class pod_folder {
public:
    template <class Job>
    explicit pod_folder(const Job& job) {
        run("mkdir -p " + at("config") + " " + at("run") + " " + at("ssh") + " " + at("bin") + " " +
            at("home"));
        const auto config = job.object(core::object_kind::config_map);
        for (const auto& entry : find(config.root(), "data")->GetObject()) {
            std::string text(core::json::view(entry.value));
            text = replaced_all(text, "/signalbox/", folder_.path() + "/");
            text = replaced_all(text, "/root/.ssh", at("ssh"));
            text = replaced_all(text, "/etc/passwd", at("passwd"));
            text = replaced_all(text, "/proc/self/setgroups", at("setgroups"));
            text = replaced_all(text, "/usr/sbin/sshd", at("bin/sshd"));
            text = replaced_all(text, "/dev/termination-log", at("termination"));
            folder_.write("config/" + std::string(core::json::view(entry.name)), text);
        }
        // The bootstrap writes into homes: that of whoever runs the tests is none of its business.
        folder_.write(
            "passwd", "me:x:" + std::to_string(::getuid()) + ":0::" + at("home") + ":/bin/sh\n"
        );
        for (const auto file : {"config", "id_ecdsa", "ssh_host_key", "authorized_keys"}) {
            folder_.write("ssh/" + std::string(file), "\n");
        }
        // ssh runs what it is told on this machine, and notes whom it was to ask.
        stub(
            "ssh",
            "for a; do h=$c; c=$a; [ \"$a\" != /bin/sh ] || break; done\n"
            "echo \"$h\" >>" +
                at("asked") + "\n[ ! -e " + at("down") +
                "/$h ] || { echo no route to $h >&2; exit 255; }\nexec /bin/sh -s\n"
        );
        stub("sshd", "echo \"$@\" >" + at("sshd.args") + "\nexec sleep 1000\n");
        stub("pdsh", "echo pdsh-2.34\n");
        stub("pkill", "echo pkill \"$@\" >>" + at("swept") + "\nexit 1\n");
        folder_.write("bin/deepspeed", recorder, true);
    }

    std::string at(std::string_view name) const { return folder_.path(name); }
    std::string read(std::string_view name) const { return folder_.read(name); }
    void write(std::string_view name, std::string_view text) const { folder_.write(name, text); }
    void stub(std::string_view name, const std::string& body) const {
        folder_.write("bin/" + std::string(name), "#!/bin/sh\n" + body, true);
    }
    /// A host that does not answer.
    void take_down(const std::string& host) const {
        run("mkdir -p " + at("down") + " && touch " + at("down/" + host));
    }
    void set(std::string_view setting, std::string_view text) const {
        write(
            "config/settings.sh",
            read("config/settings.sh") + std::string(setting) + "='" + std::string(text) + "'\n"
        );
    }
    /// `env` = assignments before the command.
    std::string line(const std::string& shell, std::string_view role, const std::string& env = {})
        const {
        return "env -i PATH=" + at("bin") + ":/usr/bin:/bin HOME=" + at("home") +
               " ARGV_LOG=" + at("argv") + " " + env + " " + shell + " " +
               at("config/bootstrap.sh") + " " + std::string(role);
    }

private:
    temporary_folder folder_;
};

inline deepspeed_job cifar(int replicas = 2, const std::string& container = {}) {
    deepspeed_job job(replicas, worker_template(container));
    job.compile();
    return job;
}

inline bool has_text(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace signalbox::test

// SPDX-License-Identifier: Apache-2.0
#include "kubelet/life/outputs.hpp"

#include "containers/unix.hpp"
#include "kubelet/disk/written_files.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace signalbox::op::kubelet {

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;

constexpr std::size_t most_written = 10'000;
/// Copied at once: the event loop waits for no more.
constexpr std::size_t copied_at_once = 4 << 20;
constexpr mode_t kept_rights = 0777;

/// Another disk: a file is copied in pieces, with its rights but set-user-id. 0 or an errno.
asio::awaitable<int> copy_in_pieces(asio::any_io_executor executor, fs::path from, fs::path to) {
    const containers::unique_fd in(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    struct stat is = {};
    if (!in || ::fstat(in.get(), &is) != 0) {
        co_return errno;
    }
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    const containers::unique_fd out(::open(to.c_str(), flags, is.st_mode & kept_rights));
    if (!out) {
        co_return errno;
    }
    for (ssize_t done = 1; done > 0;) {
        done = ::sendfile(out.get(), in.get(), nullptr, copied_at_once);
        if (done < 0) {
            co_return errno;
        }
        co_await asio::post(executor, asio::use_awaitable);
    }
    co_return 0;
}

/// 0 or an errno.
asio::awaitable<int> keep_file(asio::any_io_executor executor, fs::path from, fs::path to) {
    std::error_code failed;
    fs::create_directories(to.parent_path(), failed);
    if (failed) {
        co_return failed.value();
    }
    struct stat is = {};
    const bool moved = ::lstat(from.c_str(), &is) == 0 && ::rename(from.c_str(), to.c_str()) == 0;
    if (!moved) {
        co_return co_await copy_in_pieces(executor, std::move(from), std::move(to));
    }
    // It may be owned by a user of the pod alone.
    containers::may_fail(::lchown(to.c_str(), ::geteuid(), ::getegid()));
    // On the machine no one is to run it with the rights of its owner.
    co_return (is.st_mode & ~kept_rights & 07777) == 0 ||
            ::chmod(to.c_str(), is.st_mode & kept_rights) == 0
        ? 0
        : errno;
}

}  // namespace

asio::awaitable<void> see_to_outputs(node_services& node, pod_spec pod, fs::path changes) {
    const std::vector<written_file> files = written_files(changes, most_written);
    if (files.empty()) {
        co_return;
    }
    const std::string name = pod.ns == "default" ? pod.name : pod.ns + "/" + pod.name;
    const std::string what = words_for(files);
    if (node.options.outputs.empty()) {
        std::string text = fmt::format(
            "{} {} lost with the pod: --outputs DIR keeps such files",
            what,
            files.size() == 1 ? "is" : "are"
        );
        if (node.options.left) {
            node.options.left(fmt::format("{}: {}", name, text));
        }
        node.tell(pod, true, "FilesLost", std::move(text));
        co_return;
    }
    const fs::path folder = fs::path(node.options.outputs) / name;
    int failed = 0;
    for (const written_file& f : files) {
        fs::path to = folder / f.inside.relative_path();
        fs::path from = f.where;
        const int wrong = co_await keep_file(node.executor, std::move(from), std::move(to));
        failed = failed == 0 ? wrong : failed;
    }
    if (failed != 0) {
        node.complain(fmt::format(
            "pod {}: not all it wrote is kept in {}: {}",
            name,
            folder.string(),
            std::strerror(failed)
        ));
    }
    if (node.options.left) {
        node.options.left(fmt::format("{}: {} kept in {}", name, what, folder.string()));
    }
}

}  // namespace signalbox::op::kubelet

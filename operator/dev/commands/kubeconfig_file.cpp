// SPDX-License-Identifier: Apache-2.0
#include "commands/kubeconfig_file.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace signalbox::op::cli {

namespace {

/// First line of the file: what begins with it may be overwritten.
constexpr std::string_view own_mark = "# Of `signalbox dev`, which deletes it when it ends.\n";

/// Empty if it is not set.
std::filesystem::path of_environment(const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

/// The file's text; nothing if it cannot be read.
std::optional<std::string> read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return in ? std::optional(text.str()) : std::nullopt;
}

}  // namespace

std::string default_kubeconfig_path(const std::string& address, std::uint16_t port) {
    std::string host = address == "127.0.0.1" ? "" : address + "-";
    std::ranges::replace(host, ':', '.');  // $KUBECONFIG takes a colon for the end of a path
    const std::string name = fmt::format("signalbox-dev-{}{}.kubeconfig", host, port);
    const auto can_hold = [](const std::filesystem::path& folder) {
        return folder.is_absolute() && ::access(folder.c_str(), W_OK | X_OK) == 0;
    };
    std::error_code failed;  // the working folder may have been removed
    for (const std::filesystem::path& folder :
         {of_environment("XDG_RUNTIME_DIR"),
          std::filesystem::current_path(failed),
          of_environment("HOME")}) {
        if (can_hold(folder)) {
            return (folder / name).string();
        }
    }
    return (std::filesystem::temp_directory_path(failed) / name).string();
}

std::optional<std::string> kubeconfig_file::write(std::string path, std::string text) {
    text.insert(0, own_mark);
    if (::access(path.c_str(), F_OK) == 0) {
        const std::optional<std::string> there = read_file(path);
        if (!there || !there->starts_with(own_mark)) {
            return fmt::format(
                "{}: is there already and not of `signalbox dev`; it is not overwritten", path
            );
        }
    }
    // A new file moved into place: never half written, never through another user's link, mode
    // 0600.
    std::string temporary = path + ".XXXXXX";
    const auto failed = [&] {
        return fmt::format("{}: cannot be written: {}", path, std::strerror(errno));
    };
    const int file = ::mkstemp(temporary.data());
    if (file < 0) {
        return failed();
    }
    const ssize_t written = ::write(file, text.data(), text.size());
    const bool whole = written == static_cast<ssize_t>(text.size());
    const bool closed = ::close(file) == 0;
    if (!whole || !closed || std::rename(temporary.c_str(), path.c_str()) != 0) {
        const std::string why = failed();
        ::unlink(temporary.c_str());
        return why;
    }
    path_ = std::move(path);
    text_ = std::move(text);
    return std::nullopt;
}

void kubeconfig_file::add_logs(const std::string& folder) {
    std::string link = path_ + ".logs";
    std::error_code failed;
    if (std::filesystem::is_symlink(link, failed)) {
        ::unlink(link.c_str());  // of an earlier one, which was killed
    }
    if (::symlink(folder.c_str(), link.c_str()) == 0) {
        logs_ = std::move(link);
    }
}

void kubeconfig_file::remove() {
    if (!path_.empty() && read_file(path_) == text_) {
        ::unlink(path_.c_str());
        if (!logs_.empty()) {
            ::unlink(logs_.c_str());
        }
    }
    path_.clear();
    logs_.clear();
}

std::string random_token() {
    std::array<unsigned char, 16> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
        throw std::runtime_error("no randomness from OpenSSL");
    }
    std::string out;
    for (const unsigned char b : bytes) {
        out += fmt::format("{:02x}", static_cast<unsigned>(b));
    }
    return out;
}

}  // namespace signalbox::op::cli

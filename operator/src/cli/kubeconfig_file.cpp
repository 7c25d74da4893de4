// SPDX-License-Identifier: Apache-2.0
#include "cli/kubeconfig_file.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <unistd.h>

namespace signalbox::op::cli {

std::string default_kubeconfig_path() {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    if (runtime != nullptr && *runtime != '\0' && ::access(runtime, W_OK) == 0) {
        return std::string(runtime) + "/signalbox-dev.kubeconfig";
    }
    return std::filesystem::absolute("signalbox-dev.kubeconfig").string();
}

std::optional<std::string> write_private_file(const std::string& path, const std::string& text) {
    // A new file moved into place: never half written, never through somebody's link, mode 0600.
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
    return std::nullopt;
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

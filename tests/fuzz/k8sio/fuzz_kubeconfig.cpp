// SPDX-License-Identifier: Apache-2.0
//
// kubeconfig files (REQUIREMENTS.md C4-C8): a configuration that can be used, or an error that
// names the file.
#include "client/server_url.hpp"
#include "fuzz.hpp"
#include "k8sio/config.hpp"

#include <rapidjson/document.h>
#include <sys/mman.h>

#include <string>

#include <unistd.h>

using namespace signalbox::k8sio;
using signalbox::fuzz::require;

namespace {

/// A file in memory. Files that it names are looked for in a folder that has none but open ones.
class memory_file {
public:
    explicit memory_file(std::string_view text) : handle_(memfd_create("kubeconfig", 0)) {
        const bool written = handle_ >= 0 && write(handle_, text.data(), text.size()) ==
                                                 static_cast<ssize_t>(text.size());
        require(written, "a file can be made");
    }
    ~memory_file() { close(handle_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(handle_); }

private:
    int handle_;
};

std::string facts(const cluster_config& c) {
    std::string out = c.scheme + " " + c.host + " " + c.port + " " + c.path_prefix + " " +
                      c.ca_pem + " " + c.client_cert_pem + " " + c.client_key_pem.reveal() + " " +
                      c.token.reveal() + " " + c.token_file + " " + c.username + " " +
                      c.password.reveal() + " " + c.ns + " " + c.as.user;
    return c.exec ? out + " " + c.exec->command + " " + c.exec->info : out;
}

void check(const cluster_config& config) {
    require(config.scheme == "https" || config.scheme == "http", "a scheme");
    const std::string host =
        config.host.find(':') == std::string::npos ? config.host : "[" + config.host + "]";
    cluster_config again;
    const std::string url = config.scheme + "://" + host + ":" + config.port + config.path_prefix;
    require(read_server_url(url, again).empty() && again.host == config.host, "a server");
    require(config.client_cert_pem.empty() == config.client_key_pem.empty(), "both, or neither");
    require(!config.insecure_skip_tls_verify || config.ca_pem.empty(), "verified, or not");
    require(!config.ns.empty(), "a namespace");
    const bool none = config.token.empty() && config.token_file.empty() &&
                      config.username.empty() && config.client_cert_pem.empty() && !config.exec;
    require(config.scheme == "https" || none, "no credentials that anybody can read");
    if (config.exec) {
        rapidjson::Document info;
        info.Parse<rapidjson::kParseIterativeFlag>(config.exec->info.c_str());
        require(!info.HasParseError() && info.IsObject(), "what programs are told is JSON");
        require(!config.exec->command.empty(), "a program");
    }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text = signalbox::fuzz::text_of(data, size);
    if (text.find("/dev") != text.npos || text.find("/proc") != text.npos) {
        return 0;  // a file that is named is read, and some of these have no end
    }
    const memory_file file(text);
    const auto config = load_kubeconfig(file.path(), "");
    const auto same = load_kubeconfig(file.path(), "");
    require(config.has_value() == same.has_value(), "twice the same");
    if (config.has_error()) {
        require(config.error().code == errc::invalid_argument, "the code of a bad file");
        require(
            config.error().message.find(file.path()) != std::string::npos, "an error names the file"
        );
        require(config.error().message == same.error().message, "twice the same error");
        return 0;
    }
    require(facts(*config) == facts(*same), "twice the same configuration");
    check(*config);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "protocol/credentials.hpp"

#include "k8sio/base64.hpp"

namespace signalbox::k8sio::protocol {

namespace {

constexpr std::chrono::seconds read_interval{60};

std::string trim(const std::string& text) {
    constexpr const char* blanks = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace

credentials::credentials(const cluster_config& config, file_reader read)
    : read_(std::move(read)),
      token_file_(config.token_file),
      ca_file_(config.ca_file),
      client_cert_file_(config.client_cert_file),
      client_key_file_(config.client_key_file),
      keys_(config) {
    if (!config.token.empty()) {
        header_ = secret_text("Bearer " + trim(config.token.reveal()));
    } else if (!token_file_.empty()) {
        // read when the first request comes
    } else if (!config.username.empty()) {
        header_ =
            secret_text("Basic " + base64_encode(config.username + ":" + config.password.reveal()));
    } else if (config.exec) {
        plugin_.emplace(*config.exec);
    }
}

access credentials::current(steady_time now) {
    if (!token_file_.empty() && (!read_at_ || now - *read_at_ >= read_interval)) {
        read_token(now);
    }
    if (!keys_read_at_ || now - *keys_read_at_ >= read_interval) {
        read_keys(now);
    }
    if (plugin_ && plugin_number_ != plugin_->number()) {
        use_plugin();
    }
    access out;
    out.authorization = header_.reveal();
    out.keys_number = keys_number_;
    out.plugin_number = plugin_number_;
    return out;
}

bool credentials::refused(const access& used, steady_time now) {
    if (plugin_) {
        return plugin_->refused(used.plugin_number, now);
    }
    if (token_file_.empty()) {
        return false;
    }
    // Another request may have read a newer one already.
    if (header_.reveal() == used.authorization) {
        read_token(now);
    }
    return header_.reveal() != used.authorization;
}

void credentials::read_token(steady_time now) {
    read_at_ = now;
    const auto text = read_(token_file_);
    const std::string token = trim(text.value_or(""));
    if (!token.empty()) {  // else the last good one is kept
        header_ = secret_text("Bearer " + token);
    }
}

/// A file that is being replaced may be empty, or a key not yet that of its certificate: what is
/// empty is left, and whoever makes connections goes on with keys that fit.
void credentials::read_keys(steady_time now) {
    keys_read_at_ = now;
    bool changed = false;
    const auto take = [&](const std::string& path, const std::string& held, auto set) {
        const auto text = path.empty() ? std::nullopt : read_(path);
        if (text && !text->empty() && *text != held) {
            set(*text);
            changed = true;
        }
    };
    take(ca_file_, keys_.ca_pem, [this](const std::string& text) { keys_.ca_pem = text; });
    take(client_cert_file_, keys_.client_cert_pem, [this](const std::string& text) {
        keys_.client_cert_pem = text;
    });
    take(client_key_file_, keys_.client_key_pem.reveal(), [this](const std::string& text) {
        keys_.client_key_pem = secret_text(text);
    });
    keys_number_ += changed ? 1u : 0u;
}

void credentials::use_plugin() {
    const exec_credential& given = plugin_->current();
    plugin_number_ = plugin_->number();
    header_ = given.token.empty() ? secret_text() : secret_text("Bearer " + given.token.reveal());
    const bool changed = given.client_cert_pem != keys_.client_cert_pem ||
                         given.client_key_pem.reveal() != keys_.client_key_pem.reveal();
    if (!given.client_cert_pem.empty() && changed) {
        keys_.client_cert_pem = given.client_cert_pem;
        keys_.client_key_pem = given.client_key_pem;
        ++keys_number_;
    }
}

}  // namespace signalbox::k8sio::protocol

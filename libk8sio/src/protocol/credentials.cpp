// SPDX-License-Identifier: Apache-2.0
#include "protocol/credentials.hpp"

#include "k8sio/base64.hpp"

namespace signalbox::k8sio::protocol {

namespace {

constexpr std::chrono::seconds read_interval{60};
/// While half of a rotation is there.
constexpr std::chrono::seconds doubtful_interval{1};

std::string trim(const std::string& text) {
    constexpr const char* blanks = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace

credentials::credentials(const cluster_config& config, file_reader read, key_check check)
    : read_(std::move(read)),
      check_(std::move(check)),
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
    } else if (config.exec && config.client_cert_pem.empty() && client_cert_file_.empty()) {
        plugin_.emplace(*config.exec, check_);
    }
}

access credentials::current(steady_time now) {
    if (!token_file_.empty() && (!read_at_ || now - *read_at_ >= read_interval)) {
        read_token(now);
    }
    const auto interval = soon_ ? doubtful_interval : read_interval;
    if (!keys_read_at_ || now - *keys_read_at_ >= interval) {
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
    // Another request may have read newer ones already.
    if (!token_file_.empty() && header_.reveal() == used.authorization) {
        read_token(now);
    }
    if (!client_cert_file_.empty() && keys_number_ == used.keys_number) {
        read_keys(now);
    }
    return header_.reveal() != used.authorization || keys_number_ != used.keys_number;
}

std::string credentials::take_notice() {
    std::string of_plugin = plugin_ ? plugin_->take_notice() : std::string();
    return of_plugin.empty() ? std::exchange(notice_, {}) : of_plugin;
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
/// empty is left, and nothing is taken before all fits.
void credentials::read_keys(steady_time now) {
    keys_read_at_ = now;
    soon_ = false;
    tls_keys found = keys_;
    bool changed = false;
    const auto take = [&](const std::string& path, const std::string& held, auto set) {
        const auto text = path.empty() ? std::nullopt : read_(path);
        if (text && !text->empty() && *text != held) {
            set(*text);
            changed = true;
        }
    };
    take(ca_file_, keys_.ca_pem, [&found](const std::string& text) { found.ca_pem = text; });
    take(client_cert_file_, keys_.client_cert_pem, [&found](const std::string& text) {
        found.client_cert_pem = text;
    });
    take(client_key_file_, keys_.client_key_pem.reveal(), [&found](const std::string& text) {
        found.client_key_pem = secret_text(text);
    });
    const std::string problem = changed && check_ ? check_(found) : std::string();
    soon_ = !problem.empty();
    if (soon_ && problem != told_) {
        notice_ = "the files of keys and certificates cannot be used, those read before are: ";
        notice_ += problem;
    }
    told_ = problem;
    if (changed && !soon_) {
        keys_ = std::move(found);
        ++keys_number_;
    }
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

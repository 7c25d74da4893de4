// SPDX-License-Identifier: Apache-2.0
#include "protocol/credentials.hpp"

#include "protocol/base64.hpp"

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
    : read_(std::move(read)), token_file_(config.token_file) {
    if (!config.token.empty()) {
        fixed_ = secret_text("Bearer " + trim(config.token.reveal()));
    } else if (token_file_.empty() && !config.username.empty()) {
        fixed_ =
            secret_text("Basic " + base64_encode(config.username + ":" + config.password.reveal()));
    }
}

std::string credentials::header(steady_time now) {
    if (!token_file_.empty() && (!read_at_ || now - *read_at_ >= read_interval)) {
        read_token(now);
    }
    return fixed_.reveal();
}

bool credentials::refused(const std::string& used, steady_time now) {
    if (token_file_.empty()) {
        return false;
    }
    // Another request may have read a newer one already.
    if (fixed_.reveal() == used) {
        read_token(now);
    }
    return fixed_.reveal() != used;
}

void credentials::read_token(steady_time now) {
    read_at_ = now;
    const auto text = read_(token_file_);
    const std::string token = trim(text.value_or(""));
    if (!token.empty()) {  // else the last good one is kept
        fixed_ = secret_text("Bearer " + token);
    }
}

}  // namespace signalbox::k8sio::protocol

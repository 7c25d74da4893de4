// SPDX-License-Identifier: Apache-2.0
//
// Layers of images for tests: tar archives in the oldest form, and a stream of a text.
#pragma once

#include "images/byte_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace signalbox::op::test {

class tar_text {
public:
    tar_text& file(const std::string& name, const std::string& data, unsigned mode = 0644) {
        return add('0', name, "", data, mode);
    }
    tar_text& folder(const std::string& name, unsigned mode = 0755) {
        return add('5', name, "", "", mode);
    }
    tar_text& link(const std::string& name, const std::string& to) {
        return add('2', name, to, "", 0777);
    }
    tar_text& hard_link(const std::string& name, const std::string& to) {
        return add('1', name, to, "", 0644);
    }
    tar_text& device(const std::string& name) { return add('3', name, "", "", 0666); }

    std::string text() const { return text_ + std::string(1024, '\0'); }

private:
    tar_text& add(
        char type,
        const std::string& name,
        const std::string& to,
        const std::string& data,
        unsigned mode
    ) {
        std::string header(512, '\0');
        const auto put = [&](std::size_t at, const std::string& what) {
            header.replace(at, what.size(), what);
        };
        put(0, name.substr(0, 100));
        put(100, fmt::format("{:07o}", mode));
        put(108, "0000000");
        put(116, "0000000");
        put(124, fmt::format("{:011o}", data.size()));
        put(136, fmt::format("{:011o}", 1'000'000'000));
        put(148, "        ");
        header[156] = type;
        put(157, to.substr(0, 100));
        put(257, std::string("ustar\00000", 8));
        unsigned sum = 0;
        for (const char c : header) {
            sum += static_cast<unsigned char>(c);
        }
        put(148, fmt::format("{:06o}", sum) + std::string(1, '\0') + " ");
        text_ += header + data + std::string((512 - data.size() % 512) % 512, '\0');
        return *this;
    }

    std::string text_;
};

class text_stream : public images::byte_stream {
public:
    explicit text_stream(std::string text) : text_(std::move(text)) {}

    std::size_t read(char* to, std::size_t size) override {
        const std::size_t got = std::min(size, text_.size() - done_);
        text_.copy(to, got, done_);
        done_ += got;
        return got;
    }

private:
    std::string text_;
    std::size_t done_ = 0;
};

}  // namespace signalbox::op::test

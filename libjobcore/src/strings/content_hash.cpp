// SPDX-License-Identifier: Apache-2.0
#include "strings/content_hash.hpp"

#include <algorithm>
#include <bit>

namespace signalbox::core {
namespace {

constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

void content_hash::add(const block& b) {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) {
        w[i] = std::uint32_t{b[4 * i]} << 24 | std::uint32_t{b[4 * i + 1]} << 16 |
               std::uint32_t{b[4 * i + 2]} << 8 | std::uint32_t{b[4 * i + 3]};
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const auto s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        const auto s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b2, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
        const auto s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const auto t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        const auto s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const auto t2 = s0 + ((a & b2) ^ (a & c) ^ (b2 & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b2;
        b2 = a;
        a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> sum{a, b2, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) {
        state_[i] += sum[i];
    }
}

content_hash& content_hash::bytes(std::string_view text) {
    while (!text.empty()) {
        const std::size_t held = length_ % rest_.size();
        const std::size_t taken = std::min(rest_.size() - held, text.size());
        std::copy_n(text.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(held));
        text.remove_prefix(taken);
        length_ += taken;
        if (length_ % rest_.size() == 0) {
            add(rest_);
        }
    }
    return *this;
}

content_hash& content_hash::number(std::uint64_t value) {
    std::array<char, 8> text;
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<char>(value >> (56 - 8 * i));
    }
    return bytes({text.data(), text.size()});
}

std::uint64_t content_hash::value() const {
    content_hash end = *this;
    const std::uint64_t bits = length_ * 8;
    end.bytes("\x80");
    while (end.length_ % rest_.size() != rest_.size() - 8) {
        end.bytes({"", 1});
    }
    end.number(bits);
    return std::uint64_t{end.state_[0]} << 32 | end.state_[1];
}

}  // namespace signalbox::core

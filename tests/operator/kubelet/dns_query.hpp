// SPDX-License-Identifier: Apache-2.0
//
// DNS messages, as the two ends of the name server make and read them.
#pragma once

#include <string>

namespace signalbox::op::test {

/// A query for one name, as a resolver sends it.
inline std::string query_for(const std::string& name, char type = 1) {
    std::string out("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
    std::string label;
    for (const char c : name + ".") {
        if (c != '.') {
            label += c;
            continue;
        }
        out += static_cast<char>(label.size());
        out += label;
        label.clear();
    }
    out += '\0';
    out += std::string("\x00", 1) + type + std::string("\x00\x01", 2);
    return out;
}

inline int code_of(const std::string& message) {
    return message[3] & 0x0F;
}
inline int answers_of(const std::string& message) {
    return message[7];
}

}  // namespace signalbox::op::test

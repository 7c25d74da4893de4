// SPDX-License-Identifier: Apache-2.0
#include "manifests/scalar.hpp"

#include <catch2/catch.hpp>

#include <utility>

using namespace signalbox::op::manifests;

namespace {

std::pair<scalar_type, std::string> resolved(const char* text) {
    scalar_value v = resolve_plain(text);
    return {v.type, v.json};
}

}  // namespace

TEST_CASE("plain scalars mean what they mean to kubectl") {
    using enum scalar_type;
    const std::pair<const char*, std::pair<scalar_type, std::string>> table[]{
        {"", {null, "null"}},
        {"~", {null, "null"}},
        {"NULL", {null, "null"}},
        {"nULL", {string, "nULL"}},
        {"true", {boolean, "true"}},
        {"yes", {boolean, "true"}},
        {"y", {boolean, "true"}},
        {"On", {boolean, "true"}},
        {"off", {boolean, "false"}},
        {"No", {boolean, "false"}},
        {"yEs", {string, "yEs"}},
        {"0", {integer, "0"}},
        {"-0", {integer, "0"}},
        {"+5", {integer, "5"}},
        {"-12", {integer, "-12"}},
        {"1_000", {integer, "1000"}},
        {"0644", {integer, "420"}},
        {"0o17", {integer, "15"}},
        {"0x1F", {integer, "31"}},
        {"0b101", {integer, "5"}},
        {"-0b11", {integer, "-3"}},
        {"08", {floating, "8"}},
        {"0x", {string, "0x"}},
        {"9223372036854775808", {integer, "9223372036854775808"}},
        {"123456789012345678901234567890", {integer, "123456789012345678901234567890"}},
        {"1.5", {floating, "1.5"}},
        {".5", {floating, "0.5"}},
        {"5.", {floating, "5"}},
        {"2.0", {floating, "2"}},
        {"1e3", {floating, "1000"}},
        {"1E-2", {floating, "0.01"}},
        {"1e999", {string, "1e999"}},
        {".", {string, "."}},
        {"-", {string, "-"}},
        {"+", {string, "+"}},
        {"1.2.3", {string, "1.2.3"}},
        {"1e", {string, "1e"}},
        {".nan", {not_json, ".nan"}},
        {"-.INF", {not_json, "-.INF"}},
        {"2001-01-01", {string, "2001-01-01"}},
        {"12:30:45", {string, "12:30:45"}},
        {"500m", {string, "500m"}},
        {"1Gi", {string, "1Gi"}},
    };
    for (const auto& [text, expected] : table) {
        INFO(text);
        CHECK(resolved(text) == expected);
    }
}

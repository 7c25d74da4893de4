// SPDX-License-Identifier: Apache-2.0
//
// Readings of texts that may be anything.
#include "jobcore/strings.hpp"

#include "strings/content_hash.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace signalbox::core;

namespace {

// One, two, three and four bytes.
const std::string letters = "a\u00e9\u20ac\U0001f600";

/// Where a character begins, or the end.
bool is_boundary(std::string_view text, std::size_t at) {
    return at == text.size() || !continues_character(text[at]);
}

/// Texts that are not UTF-8, and some that are.
std::vector<std::string> hostile_texts() {
    std::vector<std::string> texts{
        "",
        std::string(40, '\x80'),
        std::string(40, '\xbf') + "a",
        "a" + std::string(40, '\x80'),
        std::string(40, '\xf0'),
        "\xe2\x82",
        std::string("a\0b", 3),
        "\xff\xfe\xfd",
    };
    std::uint32_t state = 7;
    for (int i = 0; i < 200; ++i) {
        std::string text;
        for (int length = i % 23; length > 0; --length) {
            state = state * 1664525U + 1013904223U;
            text += static_cast<char>(state >> 24U);
        }
        texts.push_back(text);
    }
    return texts;
}

}  // namespace

TEST_CASE("a cut of UTF-8 keeps as many whole characters as the limit has room for") {
    REQUIRE(letters.size() == 10);
    const std::array<std::size_t, 12> first{0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
    const std::array<std::size_t, 12> last{0, 0, 0, 0, 4, 4, 4, 7, 7, 9, 10, 10};
    for (std::size_t limit = 0; limit < first.size(); ++limit) {
        CAPTURE(limit);
        CHECK(first_bytes(letters, limit) == letters.substr(0, first[limit]));
        CHECK(last_bytes(letters, limit) == letters.substr(letters.size() - last[limit]));
    }
    CHECK(first_bytes(letters, std::string::npos) == letters);
    CHECK(last_bytes(letters, std::string::npos) == letters);
}

TEST_CASE("a cut looks at nothing behind the text") {
    const std::string_view one_character = std::string_view("\xe2\x82\x80\x80\x80").substr(0, 3);
    CHECK(last_bytes(one_character, 1).empty());
    CHECK(last_bytes(one_character, 2).empty());
    CHECK(first_bytes(one_character, 3) == one_character);
}

TEST_CASE("a cut of any bytes is within the limit and loses at most three more") {
    for (const std::string& text : hostile_texts()) {
        for (std::size_t limit = 0; limit <= text.size() + 1; ++limit) {
            const std::string_view first = first_bytes(text, limit);
            const std::string_view last = last_bytes(text, limit);
            const std::size_t room = std::min(limit, text.size());
            CAPTURE(text, limit);
            REQUIRE(text.starts_with(first));
            REQUIRE(text.ends_with(last));
            REQUIRE(first.size() <= room);
            REQUIRE(last.size() <= room);
            REQUIRE(first.size() + 3 >= room);
            REQUIRE(last.size() + 3 >= room);
        }
    }
}

TEST_CASE("a cut of long UTF-8 is at a character everywhere") {
    std::string text;
    for (int i = 0; i < 20; ++i) {
        text += letters;
    }
    for (std::size_t limit = 0; limit < text.size(); ++limit) {
        CAPTURE(limit);
        REQUIRE(is_boundary(text, first_bytes(text, limit).size()));
        REQUIRE(is_boundary(text, text.size() - last_bytes(text, limit).size()));
    }
}

TEST_CASE("characters are counted, not bytes") {
    CHECK(count_characters("") == 0);
    CHECK(count_characters(letters) == 4);
    CHECK(count_characters(std::string(40, '\x80')) == 0);
}

TEST_CASE("a text in one line has a space for each control character") {
    const std::string text = std::string("a\0b\r\n\tc\x1f\x7f", 9) + letters;
    CHECK(in_one_line(text) == "a b   c  " + letters);
    for (const std::string& hostile : hostile_texts()) {
        const std::string line = in_one_line(hostile);
        REQUIRE(line.size() == hostile.size());
        REQUIRE(line.find_first_of(std::string("\0\n\r\t\x1b\x7f", 6)) == std::string::npos);
    }
}

TEST_CASE("[behaviour 11.4] what a terminal obeys is shown as its number") {
    struct sample {
        std::string text, shown;
    };
    const std::vector<sample> samples{
        {std::string("\0", 1), "\\u0000"},
        {"\x1f", "\\u001f"},
        {"\x7f", "\\u007f"},
        {"\xc2\x80", "\\u0080"},
        {"\xc2\x9f", "\\u009f"},
        {"\xd8\x9c", "\\u061c"},
        {"\xe2\x80\x8e", "\\u200e"},
        {"\xe2\x80\x8f", "\\u200f"},
        {"\xe2\x80\xa8", "\\u2028"},
        {"\xe2\x80\xae", "\\u202e"},
        {"\xe2\x81\xa6", "\\u2066"},
        {"\xe2\x81\xa9", "\\u2069"},
        {"\xef\xbb\xbf", "\\ufeff"},
        {"\x9b", "\\x9b"},
        {"\xc2", "\\xc2"},
        {"\xe2\x80", "\\xe2\\x80"},
        {"\xc0\x9b", "\\xc0\\x9b"},
        {"\xe0\x82\x9b", "\\xe0\\x82\\x9b"},
        {"\xf0\x80\x82\x9b", "\\xf0\\x80\\x82\\x9b"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    };
    for (const sample& s : samples) {
        CAPTURE(s.shown);
        CHECK(printable("a" + s.text + "b") == "a" + s.shown + "b");
        CHECK(in_one_line("a" + s.text + "b") == "a" + std::string(s.text.size(), ' ') + "b");
    }
    // The neighbours of what is escaped, and letters of every length.
    const std::string plain =
        " ~\xc2\xa0\xd8\x9b\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"
        "\xef\xbb\xbe\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf" +
        letters;
    CHECK(printable(plain) == plain);
    CHECK(in_one_line(plain) == plain);
    CHECK(printable(printable("\x1b[31m")) == "\\u001b[31m");
}

TEST_CASE("a token of a JSON pointer is escaped") {
    CHECK(child_pointer("", "a") == "/a");
    CHECK(child_pointer("/a", "") == "/a/");
    CHECK(child_pointer("/a", "b/c~d~1") == "/a/b~1c~0d~01");
    CHECK(child_pointer("/a", 17) == "/a/17");
}

TEST_CASE("a whole number is digits alone") {
    CHECK(read_whole_number("0") == 0);
    CHECK(read_whole_number("007") == 7);
    CHECK(read_whole_number("2147483647") == 2147483647);
    CHECK(read_whole_number(std::string(1000, '0') + "1") == 1);
    for (const std::string_view text : {"",
                                        " ",
                                        "-",
                                        "+",
                                        "-0",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1.0",
                                        "1e3",
                                        "0x10",
                                        "1,0",
                                        "1'0",
                                        "one",
                                        "1a",
                                        "\n1",
                                        "2147483648",
                                        "nan",
                                        "inf",
                                        "4294967296",
                                        "--1",
                                        "1-",
                                        "\xd9\xa1",
                                        "99999999999999999999999999999999999999999999"}) {
        CAPTURE(text);
        CHECK_FALSE(read_whole_number(text));
    }
    CHECK_FALSE(read_whole_number(std::string_view()));
    CHECK_FALSE(read_whole_number(std::string_view("1\0", 2)));
    for (const std::string& text : hostile_texts()) {
        const bool digits =
            !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        REQUIRE((digits || !read_digits(text)));
    }
}

TEST_CASE("a whole number fits into its type and below its bound") {
    CHECK(read_whole_number("12", 12) == 12);
    CHECK_FALSE(read_whole_number("13", 12));
    CHECK(read_whole_number<std::uint16_t>("65535") == 65535);
    CHECK_FALSE(read_whole_number<std::uint16_t>("65536"));
    CHECK(read_whole_number<std::int64_t>("9223372036854775807") == 9223372036854775807);
    CHECK_FALSE(read_whole_number<std::int64_t>("9223372036854775808"));
    CHECK(read_digits("18446744073709551615") == 18446744073709551615U);
    CHECK_FALSE(read_digits("18446744073709551616"));
}

TEST_CASE("a text becomes a string of JSON, whatever is in it") {
    std::string out = "x:";
    append_json_string(out, "a\"b\\c\n\t\r\x01\x1f\x7f\u00e9/");
    CHECK(out == "x:\"a\\\"b\\\\c\\n\\t\\r\\u0001\\u001f\x7f\u00e9/\"");
    append_json_string(out, "");
    CHECK(out.ends_with("\"\"\""));
    // As encoding/json of Go has it: one for each byte.
    CHECK(
        json_string("a\xf0\n\xf0\x9f\x8f\x96\xed\xa0\x80") ==
        "\"a\\ufffd\\n\xf0\x9f\x8f\x96\\ufffd\\ufffd\\ufffd\""
    );
}

TEST_CASE("[behaviour 11.4] a string of JSON that is printed has nothing that a terminal obeys") {
    std::string out = "x:";
    append_printable_json_string(out, "a\"\n\x1b\x7f\u00e9\u009b\u202e\x9b/");
    CHECK(out == "x:\"a\\\"\\n\\u001b\\u007f\u00e9\\u009b\\u202e\\ufffd/\"");
}

TEST_CASE("the hash of a content is the beginning of its SHA-256", "[strings]") {
    // FIPS 180-4 has these examples; the last three lie around the end of a block.
    const auto of = [](std::string_view text) { return content_hash().bytes(text).value(); };
    CHECK(of("") == 0xe3b0c44298fc1c14);
    CHECK(of("abc") == 0xba7816bf8f01cfea);
    CHECK(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") == 0x248d6a61d20638b8);
    CHECK(of(std::string(55, 'a')) == 0x9f4390f8d30c2dd9);
    CHECK(of(std::string(64, 'a')) == 0xffe054fe7ae0cb6d);
    CHECK(of(std::string(1'000'000, 'a')) == 0xcdc76e5c9914fb92);
}

TEST_CASE("a content is hashed the same in whatever parts it comes, and fields keep apart") {
    const std::string text(200, 'x');
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        content_hash first;
        first.bytes(text.substr(0, cut));
        const content_hash copy = first;
        CHECK(first.bytes(text.substr(cut)).value() == content_hash().bytes(text).value());
        CHECK(content_hash(copy).bytes(text.substr(cut)).value() == first.value());
    }
    CHECK(
        content_hash().field("ab").field("c").value() !=
        content_hash().field("a").field("bc").value()
    );
}

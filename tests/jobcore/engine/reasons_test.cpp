// SPDX-License-Identifier: Apache-2.0
#include "engine/facts/reasons.hpp"

#include "engine/facts/refused_words.hpp"
#include "signalbox_test/source_files.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

using namespace signalbox;
using namespace signalbox::core;
using namespace signalbox::core::engine;

namespace {

template <class Value>
void check_words() {
    std::set<std::string_view> texts;
    for (const auto& row : word_table(Value{})) {
        INFO(row.text);
        CHECK(parse<Value>(row.text) == row.is);
        CHECK(to_string(row.is) == row.text);
        CHECK(texts.insert(row.text).second);
    }
    CHECK_FALSE(parse<Value>("NoSuchWord"));
}

template <class Value>
void check_in_book(const std::string& book) {
    for (const auto& row : word_table(Value{})) {
        INFO(row.text);
        CHECK((row.text.empty() || book.find('`' + std::string(row.text)) != book.npos));
    }
}

}  // namespace

TEST_CASE("[behaviour 4.14] every reason and cause is in the rule book", "[engine]") {
    const std::string book = test::source_text("libjobcore/BEHAVIOUR.md");
    check_in_book<condition_type>(book);
    check_in_book<reason>(book);
    check_in_book<cause>(book);
    check_in_book<awaited>(book);
}

TEST_CASE("[behaviour 4.14] each value has a word of its own, and is read from it", "[engine]") {
    check_words<condition_type>();
    check_words<reason>();
    check_words<cause>();
    check_words<awaited>();
    check_words<kubelet_reason>();
}

TEST_CASE("[behaviour 1.8] the words of a refusal tell what was refused", "[engine]") {
    refusal r;
    r.kind = object_kind::service;
    r.name = "a-1";
    r.foreign_owner = GENERATE(true, false);
    r.foreign_content = r.foreign_owner && GENERATE(true, false);
    r.message = "no: a-2 was refused: too; Pod b belongs to another owner";
    const std::string words = words_of(r);
    const std::string_view before =
        GENERATE("", "NameConflict: ", "SecretLost: it is; ObjectRefused: ");
    const std::string message = std::string(before) + words;
    const auto read = read_refused(message);
    REQUIRE(read);
    CHECK(read->kind == "Service");
    CHECK(read->name == "a-1");
}

TEST_CASE("[behaviour 1.8] other words tell of no refusal", "[engine]") {
    CHECK_FALSE(read_refused(""));
    CHECK_FALSE(read_refused("the namespace is being deleted"));
    CHECK_FALSE(read_refused("exceeded quota: gpus, requested: 8"));
    CHECK_FALSE(read_refused("Pod a-1 was refused"));
}

// SPDX-License-Identifier: Apache-2.0
#include "signalbox_test/source_files.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox;

TEST_CASE("[behaviour 4.14] every reason and cause is in the rule book", "[engine]") {
    const std::string table = test::source_text("libjobcore/src/engine/facts/reasons.hpp");
    const std::string book = test::source_text("libjobcore/BEHAVIOUR.md");
    const std::string head = "std::string_view ";
    int reasons = 0;
    for (std::size_t at = table.find(head); at != table.npos; at = table.find(head, at + 1)) {
        const std::size_t begin = table.find('"', at) + 1;
        const std::string reason = table.substr(begin, table.find('"', begin) - begin);
        INFO(reason);
        CHECK(book.find('`' + reason) != book.npos);
        ++reasons;
    }
    CHECK(reasons > 60);
}

// SPDX-License-Identifier: Apache-2.0
//
// Bounds of texts in status and events (BEHAVIOUR.md 3.9, api 5.4).
#include "engine/facts/termination.hpp"
#include "jobcore/status.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace signalbox::core;

TEST_CASE("[behaviour 3.9] of a termination message the last 1,024 bytes are quoted", "[bounds]") {
    const std::string end(1024, 'e');
    CHECK(engine::read_termination_message(end).text == end);
    CHECK(engine::read_termination_message("x" + end).text == end);
    // A character that would be cut is left out whole.
    const std::string cut = engine::read_termination_message("\xc3\xa9" + end.substr(1)).text;
    CHECK(cut == end.substr(1));
}

TEST_CASE("[api status.restarts.seen] neighbours in a text of indexes are one range", "[bounds]") {
    CHECK(index_set::parse("0,1,2,5-6,7").text() == "0-2,5-7");
    CHECK(index_set::parse("0-1,3").text() == "0-1,3");
    CHECK(index_set::parse("4,3") == index_set::parse("3-4"));
}

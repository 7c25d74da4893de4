// SPDX-License-Identifier: Apache-2.0
#include "controller/log_line.hpp"

#include <catch2/catch.hpp>

#include <cstddef>

namespace {

using namespace signalbox;

}  // namespace

TEST_CASE("fields of a line keep their order, and values with spaces are quoted") {
    core::job_meta meta;
    meta.ns = "team";
    meta.name = "mnist";
    meta.uid = "u-1";
    op::log_line line("acting");
    line.job(meta).field("rule", "behaviour 2.1").field("actions", 3).field("why", "");
    CHECK(
        op::log_text(line.payload()) ==
        R"(acting job=team/mnist uid=u-1 rule="behaviour 2.1" actions=3 why="")"
    );
    const op::log_parts parts(line.payload());
    CHECK(parts.message == "acting");
    REQUIRE(parts.fields.size() == 5);
    CHECK(parts.fields[1].first == "uid");
    CHECK(parts.fields[2].second == "behaviour 2.1");
    CHECK(op::log_text("a line without fields: jobs=0") == "a line without fields: jobs=0");
}

TEST_CASE("a hostile text stays one value of one line") {
    op::log_line line("refused\nfatal: all is lost");
    line.field(
        "error",
        "x\" job=other/job\n2026-01-01 info ok\x1e"
        "uid\x1f"
        "forged \x1b[31m"
    );
    const op::log_parts parts(line.payload());
    CHECK(parts.fields.size() == 1);
    const std::string text = op::log_text(line.payload());
    CHECK(
        text ==
        "refused fatal: all is lost error=\"x\\\" job=other/job\\n2026-01-01 info ok uid forged "
        "\\u001b[31m\""
    );
    for (const char c : text) {
        CHECK(static_cast<unsigned char>(c) >= 0x20);
    }
}

TEST_CASE("[behaviour 11.4] C1 and changes of direction do not reach a line") {
    op::log_line line(
        "a\xc2\x9b"
        "b"
    );
    line.field("error", "x \xc2\x9b\xe2\x80\xae\x9b");
    CHECK(op::log_text(line.payload()) == R"(a  b error="x \u009b\u202e\ufffd")");
}

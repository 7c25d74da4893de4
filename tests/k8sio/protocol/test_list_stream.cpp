// SPDX-License-Identifier: Apache-2.0
#include "protocol/api_json.hpp"
#include "protocol/list_stream.hpp"

#include <catch2/catch.hpp>

using namespace signalbox::k8sio;
using protocol::list_stream;

namespace {

struct outcome {
    bool good = false;
    std::string items;  // each with the version that was known
    list_page page;
};

outcome read(const std::vector<std::string>& pieces, std::size_t limit = 1000) {
    outcome out;
    protocol::list_memory all(1u << 20);
    list_stream stream(
        resources::pods(),
        [&](std::string_view item, std::string_view version) {
            out.items += std::string(item) + "@" + std::string(version) + "\n";
        },
        all,
        limit
    );
    out.good = true;
    for (const std::string& piece : pieces) {
        out.good = out.good && stream.feed(piece);
    }
    out.good = stream.finish(out.page) && out.good;
    return out;
}

const std::string usual =
    R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"t"},)"
    R"("items":[{"metadata":{"name":"}]\"{\\"}}, {} ,{"kind":"X","apiVersion":"y","items":[{"a":[]}]}]})"
    "\n";

}  // namespace

TEST_CASE("[requirement L7] [requirement L6] a list in pieces, split at every two positions") {
    const outcome whole = read({usual});
    REQUIRE(whole.good);
    CHECK(whole.page.resource_version == "7");
    CHECK(whole.page.continue_token == "t");
    CHECK(whole.page.items.empty());
    CHECK(
        whole.items == R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"}]\"{\\"}}@7)"
                       "\n"
                       R"({"apiVersion":"v1","kind":"Pod"}@7)"
                       "\n"
                       R"({"kind":"X","apiVersion":"y","items":[{"a":[]}]}@7)"
                       "\n"
    );
    for (std::size_t a = 0; a <= usual.size(); ++a) {
        for (std::size_t b = a; b <= usual.size(); ++b) {
            const outcome split =
                read({usual.substr(0, a), usual.substr(a, b - a), usual.substr(b)});
            if (!split.good || split.items != whole.items || split.page.resource_version != "7") {
                FAIL("split at " << a << " and " << b);
            }
        }
    }
    std::vector<std::string> bytes;
    for (const char c : usual) {
        bytes.emplace_back(1, c);
    }
    CHECK(read(bytes).items == whole.items);
}

TEST_CASE("[requirement L7] all lists together hold no more than the bound of all") {
    protocol::list_memory all(9000);
    const auto ignore = [](std::string_view, std::string_view) {};
    const std::string half =
        R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"a":")" +
        std::string(4800, 'x');
    {
        list_stream first(resources::pods(), ignore, all, 100000);
        list_stream second(resources::pods(), ignore, all, 100000);
        CHECK(first.feed(half));
        CHECK_FALSE(second.feed(half));
    }
    list_stream third(resources::pods(), ignore, all, 100000);
    CHECK(third.feed(half));  // what they held is free again
}

TEST_CASE("[requirement L7] items before the version; none at all") {
    const outcome late =
        read({R"({"items":[{"a":1}],"metadata":{"resourceVersion":"8"},"kind":"PodList"})"});
    REQUIRE(late.good);
    CHECK(late.items == "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"a\":1}@\n");
    CHECK(late.page.resource_version == "8");
    for (const char* items : {"[]", " [ ] ", "null"}) {
        const outcome none =
            read({R"({"kind":"PodList","metadata":{"resourceVersion":"8"},"items":)", items, "}"});
        INFO(items);
        CHECK(none.good);
        CHECK(none.items.empty());
        CHECK(none.page.resource_version == "8");
    }
    // Only the member of the list itself counts.
    const outcome nested =
        read({R"({"kind":"PodList","x":{"items":[1]},"y":["items",[2]],"items":[{}]})"});
    CHECK(nested.good);
    CHECK(nested.items.size() == 34);
}

TEST_CASE("[requirement L7] [requirement T14] what is no list, and a list that is cut anywhere") {
    for (const char* bad :
         {"",
          "[]",
          "<html>",
          "{}",
          R"({"kind":"Status"})",
          R"({"kind":"Table","items":[{}]})",
          R"({"kind":"PodList","items":[1]})",
          R"({"kind":"PodList","items":[{},]})",
          R"({"kind":"PodList","items":[,{}]})",
          R"({"kind":"PodList","items":[{}{}]})",
          R"({"kind":"PodList","items":{}})",
          R"({"kind":"PodList","items":[{"a":{}]]})",
          R"({"kind":"PodList","items":[{"a":[1}}]})",
          R"({"kind":"PodList","items":[{}],"x":[}]})",
          R"({"kind":"PodList","items":[{}]}})",
          R"({"kind":"PodList","items":[{}],"items":[{}]})"}) {
        INFO(bad);
        CHECK_FALSE(read({bad}).good);
    }
    for (std::size_t size = 0; size + 1 < usual.size(); ++size) {
        INFO(size);
        CHECK_FALSE(read({usual.substr(0, size)}).good);
    }
}

TEST_CASE("[requirement T7] one item has a limit, and so has what is around them; the list has none"
) {
    std::string many = R"({"kind":"PodList","items":[{"a":"0123456789"})";
    for (int i = 0; i < 100; ++i) {
        many += R"(,{"a":"0123456789"})";
    }
    CHECK(read({many, "]}"}, 40).good);
    CHECK_FALSE(read({R"({"kind":"PodList","items":[{"a":")", std::string(41, 'x')}, 40).good);
    CHECK_FALSE(
        read({R"({"kind":"PodList","a":")", std::string(41, 'x'), R"(","items":[]})"}, 40).good
    );
}

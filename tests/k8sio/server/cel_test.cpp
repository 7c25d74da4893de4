// SPDX-License-Identifier: Apache-2.0
//
// The part of CEL that rules of CRDs need. That whole rules decide as on a real server is held by
// tests/envtest/test_crd_rules.py, on more than 2,000 objects.
#include "server/schema/cel.hpp"

#include <catch2/catch.hpp>
#include <rapidjson/document.h>

#include <string>

namespace signalbox::k8sio::server::cel {
namespace {

constexpr const char* object = R"({
  "n": 3, "r": 1.5, "t": "höhe", "b": true, "z": null, "list": [3, 1, 2], "empty": [], "maps": [{"k": "a"}, {"k": "b", "n": 2}],
  "a-b": 1, "namespace": "x", "a.b/c": 2, "a__b": 3, "o": {"x": 1, "deep": {"y": "z"}}, "labels": {"a": "1"}})";

/// `true`, `false`, `error: ...`, `not evaluated`, or `no: ...` if it cannot be parsed.
std::string judged(const std::string& text, const char* old = nullptr) {
    auto parsed = parse(text);
    if (!parsed) {
        return "no: " + parsed.error().text;
    }
    if (!can_evaluate(**parsed)) {
        return "not evaluated";
    }
    rapidjson::Document self;
    self.Parse(object);
    rapidjson::Document before;
    if (old != nullptr) {
        before.Parse(old);
    }
    const verdict v = evaluate(**parsed, self, old == nullptr ? nullptr : &before);
    return v.error.empty() ? (v.holds ? "true" : "false") : "error: " + v.error;
}

}  // namespace

TEST_CASE("[requirement A7] expressions of rules") {
    struct row {
        const char* text;
        const char* expected;
    };
    const row rows[] = {
        {"self.n == 3 && self.b", "true"},
        {"self.n == 3.0", "true"},
        {"self.n + 1 * 2 == 5", "true"},
        {"(self.n + 1) * 2 == 8", "true"},
        {"-self.n < -2 && 7 / 2 == 3 && 7 % 2 == 1 && self.r * 2.0 == 3.0", "true"},
        {"self.n > 2 ? self.t == 'höhe' : false", "true"},
        {"true ? false : true ? true : true", "false"},
        {"false && true || true", "true"},
        {"true == (1 == 1) && false == (1 == 2)", "true"},
        {"true || false && false", "true"},
        {"!(self.n == 3) || !false", "true"},
        {"size(self.t) == 4 && self.t.size() == 4 && size(self.list) == 3 && size(self.labels) == "
         "1",
         "true"},
        {"has(self.o.x) && !has(self.o.w) && !has(self.z)", "true"},
        {"has(self.o.w) && self.o.w == 1", "false"},
        {"self.list == [3, 1, 2] && self.list != [1, 2, 3] && self.empty == []", "true"},
        {"2 in self.list && !(4 in self.list) && 'a' in self.labels", "true"},
        {"self.list[0] == 3 && self.labels['a'] == '1' && self.maps[1].n == 2", "true"},
        {"self.list.all(i, i > 0) && self.list.exists(i, i == 2) && !self.empty.exists(i, true)",
         "true"},
        {"self.empty.all(i, false)", "true"},
        {"self.list.exists_one(i, i > 2) && !self.list.exists_one(i, i > 1)", "true"},
        {"self.maps.map(m, m.k) == ['a', 'b'] && self.list.map(i, i > 1, i * 2) == [6, 4]", "true"},
        {"self.list.filter(i, i > 1) == [3, 2] && self.list.max() == 3 && self.list.min() == 1",
         "true"},
        {"self.list.sum() == 6 && self.empty.sum() == 0", "true"},
        {"self.maps.all(a, self.maps.exists_one(b, a.k == b.k))", "true"},
        {"self.labels.all(k, k == 'a')", "true"},
        {"self.t.matches('^h.he$') && self.t.startsWith('h') && self.t.endsWith('e') && "
         "self.t.contains('ö')",
         "true"},
        {"string(self.n) + self.t == '3höhe' && int('7') == 7 && dyn(self.n) == 3", "true"},
        {"'a\\'b' == \"a'b\" && 'a\\n'.size() == 2", "true"},
        {"self.o.deep == self.o.deep && self.o != self.labels", "true"},
        {"self.z == null", "error: no such key: z"},
        {"!!self.b && --self.n == 3 && -self.n == -3 && 3 - -3 == 6", "true"},
        {"self.a__dash__b == 1 && self.__namespace__ == 'x' && self.a__dot__b__slash__c == 2 && "
         "self.a__underscores__b == 3",
         "true"},
        {"has(self.__if__)", "false"},

        // An error decides nothing that is decided otherwise.
        {"self.w == 1", "error: no such key: w"},
        {"self.w == 1 || true", "true"},
        {"true || self.w == 1", "true"},
        {"self.w == 1 && false", "false"},
        {"self.w == 1 && true", "error: no such key: w"},
        {"self.list.exists(i, i == 2 || self.w)", "true"},
        {"self.list.all(i, i != 2 && self.w)", "false"},
        {"self.list.all(i, self.w)", "error: no such key: w"},
        {"self.n < 'a'", "error: no such overload"},
        {"self.n && true", "error: no such overload"},
        {"self.list[3] == 1", "error: index out of bounds: 3"},
        {"1 / 0 == 1", "error: division by zero"},
        {"9223372036854775807 + 1 > 0", "error: integer overflow"},
        {"self.empty.max() == 1", "error: max of an empty list"},
        {"other == 1", "error: undeclared reference to other"},
        {"self.n", "error: the rule gives no boolean"},

        {"", "no: the expression ends too early"},
        {"self.n ==", "no: the expression ends too early"},
        {"self.n == 3)", "no: `)` is not expected"},
        {"(self.n == 3", "no: `)` is missing before ``"},
        {"self.list.all(i)", "no: `all` has another number of arguments"},
        {"has(self)", "no: `has` needs a field"},
        {"isQuantity(self.t)", "not evaluated"},
        {"isNothing(self.t)", "no: there is no `isNothing` with 1 arguments here"},
        {"size()", "no: there is no `size` with 0 arguments here"},
        {"'abc", "no: a text does not end"},
        {"'\\x41' == 'A'", "no: the escape \\x is not read here"},
        {"99999999999999999999 > 1", "no: `99999999999999999999` is no number"},
        {"1.2.3 > 1", "no: `1.2.3` is no number"},
    };
    for (const row& r : rows) {
        INFO(r.text);
        CHECK(judged(r.text) == r.expected);
    }
}

TEST_CASE("[requirement A7] rules that compare with what was there") {
    CHECK(judged("self.n >= oldSelf.n", R"({"n": 3})") == "true");
    CHECK(judged("self.n > oldSelf.n", R"({"n": 3})") == "false");
    CHECK(names(**parse("self.list.all(i, i == oldSelf.n)"), "oldSelf"));
    CHECK_FALSE(names(**parse("self.oldSelf == 'oldSelf'"), "oldSelf"));
}

namespace {

verdict evaluated(const std::string& text, const std::string& of) {
    const auto parsed = parse(text);
    REQUIRE(parsed.has_value());
    rapidjson::Document self;
    self.Parse(of.c_str());
    return evaluate(**parsed, self, nullptr);
}

/// `{"l": [0, 0, ...], "m": {"k0": "", ...}, "t": "xx..."}`
std::string large(int count) {
    std::string list;
    std::string map;
    for (int i = 0; i < count; ++i) {
        list += i == 0 ? "0" : ",0";
        map += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":\"\"";
    }
    return R"({"l":[)" + list + R"(],"m":{)" + map + R"(},"t":")" +
           std::string(static_cast<std::size_t>(count), 'x') + "\"}";
}

}  // namespace

TEST_CASE("[requirement H8] what an expression costs is what it costs on a real server") {
    struct row {
        const char* text;
        std::uint64_t cost;
    };
    const std::string self = large(30);
    // Of cel-go, by its ActualCost; has() is free of its own step.
    const row rows[] = {
        {"true", 0},
        {"self.t == 'x'", 3},
        {"has(self.t)", 1},
        {"self.t.startsWith('x')", 5},
        {"self.t.contains('xxxxxxxxxxxy')", 8},
        {"self.t.matches('^x*$')", 6},
        {"size(self.l) > 3", 4},
        {"1 + 2 >= 3 && !false", 3},
        {"[1, 2] == []", 11 + 10},
        {"self.l.all(i, i == 0)", 2 + 30 * (3 + 2)},
        {"self.l.exists(i, i == 1)", 2 + 30 * (4 + 2)},
        {"self.l.all(i, i == 1)", 2 + 3 + 2},
        {"self.l.exists(i, i == 0)", 2 + 4 + 2},
    };
    for (const row& r : rows) {
        INFO(r.text);
        CHECK(evaluated(r.text, self).cost == r.cost);
    }
}

TEST_CASE("[requirement H8] an expression that costs too much is left, whatever it does") {
    const std::string wide = large(2'000);
    const char* const dear[] = {
        "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, true))))",
        "!self.l.exists(a, self.l.exists(b, a > b))",
        "self.l.map(a, self.l.map(b, b)).size() == 0",
        "self.l.filter(a, self.l.filter(b, true).size() > 0).size() == 0",
        "self.l.all(a, self.l == self.l)",
        "self.l.all(a, self.m == self.m && self.m == self.m && self.m == self.m)",
        "self.l.all(a, self.l + self.l + self.l != [])",
        "self.l.all(a, self.t + self.t + self.t + self.t + self.t != 'a')",
        "self.l.all(a, !(1 in self.l))",
        "self.l.all(a, self.l.sum() == 0)",
        "self.l.all(a, self.t.contains('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxy') == false)",
        "self.l.all(a, !self.t.matches('^(x*x*x*y)+$'))",
        "self.l.all(a, !'a'.matches('(a{100}){10}' + self.t))",
    };
    for (const char* text : dear) {
        INFO(text);
        const verdict v = evaluated(text, wide);
        CHECK(v.cancelled);
        CHECK(v.error == "operation cancelled: actual cost limit exceeded");
        CHECK_FALSE(v.holds);
        CHECK(v.cost < 2 * evaluation_limit);
    }
}

TEST_CASE("[requirement H8] what is looked for in a wide object is found, often too") {
    const std::string wide = large(2'000);
    CHECK(evaluated("self.m.all(k, k in self.m && self.m[k] == '')", wide).holds);
    CHECK(evaluated("self.m.all(k, !('x' in self.m))", wide).holds);
    CHECK(evaluated("self.m.all(k, !has(self.m.x) && has(self.m.k7))", wide).holds);
}

TEST_CASE("[requirement A7] no expression makes the server recurse without end") {
    CHECK(judged(std::string(5000, '(') + "true" + std::string(5000, ')')).substr(0, 3) == "no:");
    CHECK(judged(std::string(5000, '!') + "true").substr(0, 3) == "no:");
    std::string signs;
    for (int i = 0; i < 5000; ++i) {
        signs += "!-";
    }
    CHECK(judged(signs + "true").substr(0, 3) == "no:");
    for (const char* part : {".a", "[0]", ".map(a, a)"}) {
        std::string chain = "self";
        for (int i = 0; i < 5000; ++i) {
            chain += part;
        }
        CHECK(judged(chain).substr(0, 3) == "no:");
    }
    std::string list = "[!true";
    for (int i = 0; i < 500; ++i) {
        list += ", !true";
    }
    CHECK(judged("size(" + list + "]) == 501") == "true");
    std::string row = "true";
    for (int i = 0; i < 5000; ++i) {
        row += " || true";
    }
    CHECK(judged(row).substr(0, 3) == "no:");
    CHECK(judged("true" + std::string(5000, '[')).substr(0, 3) == "no:");
}

}  // namespace signalbox::k8sio::server::cel

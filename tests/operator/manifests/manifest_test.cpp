// SPDX-License-Identifier: Apache-2.0
#include "manifests/manifest.hpp"

#include "manifests/yaml_writer.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace signalbox::op::manifests;

namespace {

manifest one(std::string_view text) {
    read_result read = read_text(text, "f.yaml");
    for (const read_error& e : read.errors) {
        UNSCOPED_INFO(to_text(e));
    }
    REQUIRE(read.errors.empty());
    REQUIRE(read.objects.size() == 1);
    return read.objects.front();
}

std::string error_of(std::string_view text) {
    const read_result read = read_text(text, "f.yaml");
    REQUIRE(read.errors.size() == 1);
    return to_text(read.errors.front());
}

std::string place(const manifest& m, std::string_view pointer) {
    return to_text("", m.locate(pointer));
}

}  // namespace

TEST_CASE("fields are found where they were written") {
    const manifest m = one(R"(apiVersion: v1
kind: T
metadata: {name: a, "labels": {x/y: "1", a~b: é, c: 2}}
spec:
  list:
    - one: 1
      two:
        - deep
    -
      three: 3
)");
    CHECK(place(m, "") == ":1:1");
    CHECK(place(m, "/kind") == ":2:1");
    CHECK(place(m, "/metadata/labels") == ":3:21");
    CHECK(place(m, "/metadata/labels/x~1y") == ":3:32");
    CHECK(place(m, "/metadata/labels/a~0b") == ":3:42");
    CHECK(place(m, "/metadata/labels/c") == ":3:50");
    CHECK(place(m, "/spec/list/0") == ":6:7");
    CHECK(place(m, "/spec/list/0/two/0") == ":8:11");
    CHECK(place(m, "/spec/list/1/three") == ":10:7");
}

TEST_CASE("a missing field is reported where its parent is") {
    const manifest m = one("apiVersion: v1\nkind: T\nspec:\n  a: {b: 1}\n");
    CHECK(place(m, "/spec/a/c/d") == ":4:3");
    CHECK(place(m, "/nothing") == ":1:1");
    CHECK(place(m, "/spec/a/0") == ":4:3");
}

TEST_CASE("JSON has positions too, in characters") {
    const manifest m =
        one("{\"apiVersion\": \"v1\", \"kind\": \"T\",\n \"é\": [1,\n  {\"b\": null}]}");
    CHECK(place(m, "/kind") == ":1:22");
    CHECK(place(m, "/é/0") == ":2:8");
    CHECK(place(m, "/é/1/b") == ":3:4");
}

TEST_CASE("`---` may stand between documents of JSON, and YAML may follow") {
    const std::string first = "{\"apiVersion\": \"v1\",\n\t\"kind\": \"A\"}\n";
    const auto kinds = [](const read_result& read) {
        std::string out;
        for (const manifest& m : read.objects) {
            out += fmt::format("{}{} ", m.kind(), place(m, "/kind"));
        }
        for (const read_error& e : read.errors) {
            out += to_text(e);
        }
        return out;
    };
    const auto read = [&](const std::string& more, const char* file = "f.yaml") {
        return kinds(read_text(first + more, file));
    };
    CHECK(read("---\n{\"apiVersion\": \"v1\", \"kind\": \"B\"}\n") == "A:2:2 B:4:22 ");
    CHECK(read("--- # next\r\n\n---\n{\"kind\": \"B\", \"apiVersion\": \"v1\"}") == "A:2:2 B:6:2 ");
    CHECK(read("---\napiVersion: v1\nkind: B\n---\n" + first) == "A:2:2 B:5:1 A:8:2 ");
    CHECK(
        read("---\nkind: B\napiVersion: v1\n---\nkind: C\napiVersion: v1") == "A:2:2 B:4:1 C:7:1 "
    );
    CHECK(read("---\n") == "A:2:2 ");
    CHECK(
        read("---\n{\"apiVersion\": \"v1\" \"kind\": 5}") ==
        "A:2:2 f.yaml:4:21: not valid JSON: Missing a comma or '}' after an object member."
    );
    CHECK(read("---\n---\nkind: [B").find("f.yaml:5:") != std::string::npos);
    CHECK(read("---x\n").find("not valid JSON") != std::string::npos);
    CHECK(read("---\n" + first, "f.json") == "A:2:2 A:5:2 ");
}

TEST_CASE("numbers and strings keep their digits") {
    CHECK(
        one("{\"apiVersion\":\"v1\",\"kind\":\"T\",\"n\":[1.0,123456789012345678901234567890]"
            "}")
            .json() ==
        "{\"apiVersion\":\"v1\",\"kind\":\"T\",\"n\":[1.0,123456789012345678901234567890]}"
    );
    CHECK(
        one("apiVersion: v1\nkind: T\ns: ['1', \"yes\", !!str 5]\n").json() ==
        R"({"apiVersion":"v1","kind":"T","s":["1","yes","5"]})"
    );
}

TEST_CASE("anchors, aliases and merge keys are resolved") {
    CHECK(
        one("apiVersion: v1\nkind: T\na: &a {p: 1, q: 2}\nb: *a\nc: {<<: *a, q: 3}\n"
            "d: {<<: [*a, {r: 4}]}\n")
            .json() == R"({"apiVersion":"v1","kind":"T","a":{"p":1,"q":2},"b":{"p":1,"q":2},)"
                       R"("c":{"q":3,"p":1},"d":{"p":1,"q":2,"r":4}})"
    );
    CHECK(error_of("a: &a [*a]") == "f.yaml:1:8: /a/0: an alias inside of what it stands for");
    CHECK(error_of("a: {<<: 5}").find("`<<` takes a mapping") != std::string::npos);
}

TEST_CASE("duplicate keys are an error, and the last one counts") {
    const read_result read =
        read_text("apiVersion: v1\nkind: T\nspec:\n  a: 1\n  b: 2\n  a: 3\n  a: 4\n", "f.yaml");
    REQUIRE(read.errors.size() == 2);
    CHECK(to_text(read.errors[0]) == "f.yaml:6:3: /spec/a: duplicate key, first seen in line 4");
    CHECK(to_text(read.errors[1]) == "f.yaml:7:3: /spec/a: duplicate key, first seen in line 6");
    CHECK(read.objects.at(0).json() == R"({"apiVersion":"v1","kind":"T","spec":{"b":2,"a":4}})");
}

TEST_CASE("several documents and lists are one object each") {
    const read_result read = read_text(
        "---\napiVersion: v1\nkind: A\n---\n---\n# empty\n---\napiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: B, metadata: {name: b}}\n- {apiVersion: v1, kind: C}\n...\n",
        "f.yaml"
    );
    CHECK(read.errors.empty());
    REQUIRE(read.objects.size() == 3);
    CHECK(read.objects[0].kind() == "A");
    CHECK(read.objects[1].name() == "b");
    CHECK(place(read.objects[1], "/metadata/name") == ":11:40");
    CHECK(read.objects[2].kind() == "C");
}

TEST_CASE("quoted texts that never end are found") {
    const char* message = "not valid YAML: the quoted text that begins here never ends";
    CHECK(error_of("a: 'b\nc: d\n") == std::string("f.yaml:1:4: ") + message);
    CHECK(error_of("a: é\nb: \"c\\\"\n") == std::string("f.yaml:2:4: ") + message);
    CHECK(one("apiVersion: v1\nkind: 'it''s'").kind() == "it's");
    CHECK(one("apiVersion: v1\nkind: \"q\\\"\"").kind() == "q\"");
    // What lies behind the text is none of it.
    CHECK(one(std::string_view("apiVersion: v1\nkind: 'b''").substr(0, 24)).kind() == "b");
}

TEST_CASE("a tab in front of a line is told as one") {
    const auto told = [](const char* text) {
        const std::string error = error_of(text);
        CHECK(error.find("not valid YAML: ") != std::string::npos);
        return error.substr(std::min(error.size(), error.find("; line ")));
    };
    CHECK(told("a:\n\tb: 1\n") == "; line 2 begins with a tab: YAML takes spaces");
    CHECK(told("a:\n  b: 1\n \tc: 2\n") == "; line 3 begins with a tab: YAML takes spaces");
    CHECK(told("a: |\n  text\n  \ttext\nb: [1\nc: {d\n").empty());
    CHECK(told("a: [\n").empty());
}

TEST_CASE("values of a tag are what it says") {
    CHECK(
        one("apiVersion: v1\nkind: T\na: [!!null ~, !!bool yes, !!int 3, !!float 3, !!float .5]\n")
            .json() == R"({"apiVersion":"v1","kind":"T","a":[null,true,3,3,0.5]})"
    );
    for (const char* wrong : {"!!int ~", "!!null 3", "!!bool 3", "!!int .5", "!!float x"}) {
        CAPTURE(wrong);
        CHECK(
            error_of(std::string("a: ") + wrong).find(" is no value of tag `!!") !=
            std::string::npos
        );
    }
    CHECK(error_of("a: !mine x") == "f.yaml:1:4: /a: unknown tag `!mine`");
}

TEST_CASE("values are counted with those that aliases stand for") {
    const auto list = [](int items) {
        std::string out = "apiVersion: v1\nkind: T\nl:\n";
        for (int i = 0; i < items; ++i) {
            out += "- 1\n";
        }
        return out;
    };
    // Beside the items there are the object, its list and two texts.
    CHECK(one(list(100'000 - 4)).kind() == "T");
    CHECK(
        error_of(list(100'000 - 3)).find("more than 100000 values in one file") != std::string::npos
    );
    std::string bomb = "a0: &a0 x\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += fmt::format("a{0}: &a{0} [{1}, {1}, {1}, {1}]\n", i, before);
    }
    CHECK(error_of(bomb).find("aliases expand to more than 100000 values") != std::string::npos);
}

TEST_CASE("what is no manifest by its size or its bytes is refused before it is read") {
    const std::string object = "apiVersion: v1\nkind: T\n";
    const auto filled = [&](std::size_t size) {
        std::string out = object;
        while (out.size() < size) {
            out += std::string(std::min<std::size_t>(1000, size - out.size() - 1), '#') + "\n";
        }
        return out;
    };
    constexpr std::size_t most = 4U << 20U;
    CHECK(one(filled(most)).kind() == "T");
    CHECK(error_of(filled(most + 1)).find("f.yaml: larger than 4 MiB: ") == 0);
    for (const std::string_view begin : {"\xFF\xFE", "\xFE\xFF"}) {
        CHECK(
            error_of(std::string(begin) + object) ==
            "f.yaml:1:1: encoded in UTF-16: save it as UTF-8"
        );
    }
    CHECK(one(object + "#" + std::string((1U << 20U) - 1, 'x')).kind() == "T");
    CHECK(
        error_of(object + "#" + std::string(1U << 20U, 'x')) ==
        "f.yaml:3:1: a line longer than 1024 KiB"
    );
    std::string many;
    for (int i = 0; i < 5000; ++i) {
        many += "---\n" + object;
    }
    CHECK(read_text(many, "f.yaml").objects.size() == 5000);
    many += "---\n" + object;
    const read_result read = read_text(many, "f.yaml");
    REQUIRE(read.errors.size() == 1);
    CHECK(to_text(read.errors[0]) == "f.yaml:15002:1: more than 5000 documents in one file");
}

TEST_CASE("what is written is read back as the same object") {
    const char* json =
        R"({"apiVersion":"v1","kind":"T","metadata":{"labels":{"x/y":"true","1":"2","yes":"no"}},)"
        R"("spec":{"z":["yes","1","0x1","1.0","null","~","","2020-01-01","a: b","# x","- a","1:30",)"
        R"("="," lead","trail ","multi\nline","multi\nline\n","a\n\n","\ttab","é","\u0001","'q'",)"
        R"("\"q\"","{a}","*a","&a","!a","%a","@a","-","?",":",",","a #b","---","...","0644","1_000",)"
        R"(".5",".nan","+1","\\n","a\r\nb\n","x\\\ny\n","<<"," x\ny\n","x \ny\n"],"e":[],"m":{},)"
        R"("n":null,"t":true,"big":123456789012345678901234567890,"f":1.5,"deep":[[1,[2]],{"a":[]}]},)"
        R"("status":{"a":1}})";
    const std::string yaml = to_yaml(json);
    CHECK(one(yaml).json() == one(json).json());
    CHECK(
        to_yaml(R"({"status":1,"x":2,"spec":3,"kind":"k","apiVersion":"v"})") ==
        "apiVersion: v\nkind: k\nspec: 3\nx: 2\nstatus: 1\n"
    );
    // What a terminal obeys is written as its number, in one line or several [behaviour 11.4].
    const std::string hostile =
        "{\"\\u009b\":\"a\\u001b[31m\\u202e\\u007f\",\"b\":\"x\\n\\u202e\\n\",\"c\":"
        "\"\\t\u00e9\\n\"}";
    CHECK(to_yaml(hostile).find_first_of("\x1b\x7f") == std::string::npos);
    CHECK(to_yaml(hostile).find("\xe2\x80\xae") == std::string::npos);
    CHECK(to_yaml(hostile).find("\xc2\x9b") == std::string::npos);
    const std::string as_object = R"({"apiVersion":"v1","kind":"k","a":)" + hostile + "}";
    CHECK(one(to_yaml(as_object)).json() == one(as_object).json());
    CHECK(to_yaml("no json").empty());
    CHECK(to_yaml("{} {}").empty());
}

# SPDX-License-Identifier: Apache-2.0
"""The rule on co_await, held against forms that g++ 12.2 was seen to compile wrongly, and against those that are fine."""

import unittest

import check_co_await


def rules(body, head="awaitable<void> f()"):
    """Numbers of the rules that a coroutine with this body breaks."""
    return sorted({int(v.split("rule ")[1][0]) for v in check_co_await.check("t.cpp", head + " {" + body + "}")})


class Conditions(unittest.TestCase):
    """A coroutine without a local and with co_await in a condition crashes."""

    def test_every_form_breaks_rules_2_and_7(self):
        for body in (
            "if (co_await f()) g();",
            "g(); if (co_await f()) { g(); } else { h(); } g();",
            "try { if (co_await f()) g(); } catch (...) {}",
            "{ if (co_await f()) g(); }",
            "while (co_await f()) g();",
            "for (; co_await f();) g();",
            "do { g(); } while (co_await f());",
            "switch (co_await f()) { case 1: break; }",
            "if (auto v = co_await f(); v) g();",
            "if constexpr (true) { if (co_await f()) g(); }",
        ):
            with self.subTest(body):
                self.assertEqual(rules(body), [2, 7])

    def test_a_local_heals_it_but_the_form_stays_forbidden(self):
        self.assertEqual(rules("int guard = 0; if (co_await f()) g();"), [2])

    def test_parameters_and_members_do_not_heal_it(self):
        self.assertEqual(rules("if (co_await f()) g();", "awaitable<void> c::f(int a) const"), [2, 7])

    def test_a_named_result_is_the_way(self):
        self.assertEqual(rules("bool b = co_await f(); if (b) g();"), [])

    def test_ranges_arguments_and_macros(self):
        self.assertEqual(rules("int x = 0; for (auto& v : co_await f()) g(v);"), [2])
        self.assertEqual(rules("int x = 0; g(co_await f());"), [2])
        self.assertEqual(rules("int x = 0; REQUIRE(co_await f());"), [2])
        self.assertEqual(rules("int x = (co_await f()).value();"), [2])
        self.assertEqual(rules("int x = a[co_await f()];"), [2])
        self.assertEqual(rules("int x = 0; co_await g(co_await f());"), [2])
        self.assertEqual(rules("int x = 0;\n#define M co_await f()\n"), [2])


class Statements(unittest.TestCase):
    def test_the_five_forms(self):
        for statement in (
            "co_await f();",
            "int v = co_await f();",
            "v = co_await f();",
            "this->v[2].w = co_await f();",
            "auto [a, b] = co_await f(x, std::move(y));",
            "auto&& v = co_await f();",
            "const std::vector<std::pair<int, int>> v = co_await f<int, char>(1, \"a?b{\", 'c');",
            "co_return co_await f();",
            "if (x) co_await f();",
            "if (x) { v = co_await f(); } else co_await g();",
            "for (;;) co_await f();",
            "switch (x) { case 1: co_await f(); break; default: v = co_await g(); }",
            "try { co_await f(); } catch (const e& x) { g(); }",
            "co_await f(-1, a + b, g(c, d));",
            "co_await (*this).f(a->b());",
            "co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));",
        ):
            with self.subTest(statement):
                self.assertEqual(rules("int guard = 0; " + statement), [])

    def test_others(self):
        for statement in (
            "v = a && co_await f();",
            "a || co_await f();",
            "v = c ? co_await f() : co_await g();",
            "v = co_await f() + co_await g();",
            "v = co_await f() + 1;",
            "v += co_await f();",
            "co_return 1 + co_await f();",
            "v = co_await f() && a;",
            "co_await f() == 2;",
            "T v{co_await f()};",
            "T v = {co_await f(), 1};",
        ):
            with self.subTest(statement):
                self.assertEqual(rules("int guard = 0; " + statement), [1])


class Arguments(unittest.TestCase):
    """Temporaries that are destroyed twice."""

    def test_forbidden(self):
        for statement in (
            "co_await f(Agg{a, b});",
            "co_await f({.a = 1});",
            "co_await f({});",
            "int v = co_await f(1, g(Agg{a}));",
            "co_await f([s] { return s; });",
            "co_await f([&](int x) { return x; });",
            "co_await f(std::function<void()>([s] {}));",
            "co_await [s]() -> awaitable<void> { int x = 0; co_return; }();",
            "co_await f(c ? T{} : T{\"x\"});",
            "co_await f(c ? a : b);",
            "co_await f(std::vector<int>{1, 2});",
            "co_return co_await f(Agg{a, b});",
        ):
            with self.subTest(statement):
                self.assertEqual(rules("int guard = 0; " + statement), [3])

    def test_allowed(self):
        for statement in (
            "co_await f(std::move(named));",
            "co_await f(std::string(\"a\") + b);",
            "co_await f(make_aggregate(1));",
            "co_await f([](int x) { return x ? T{1} : T{2}; });",
            "co_await []() -> awaitable<void> { int x = 0; co_return; }();",
            "T named{a, b}; co_await f(std::move(named)); if (c) { T other{}; }",
            "co_await f(list[2], other[i + 1]);",
        ):
            with self.subTest(statement):
                self.assertEqual(rules("int guard = 0; " + statement), [])


class FirstLocal(unittest.TestCase):
    def test_locals(self):
        for first in (
            "auto deadline = now() + 1s;",
            "auto [a, b] = g();",
            "const auto& x = y;",
            "static int x;",
            "[[maybe_unused]] int guard = 0;",
            "std::string x;",
            "boost::asio::steady_timer timer(executor);",
            "std::map<std::string, std::pair<int, int>>::iterator i = g();",
            "response* r = nullptr;",
            "frame f{1};",
            "bool v = co_await f();",
        ):
            with self.subTest(first):
                self.assertEqual(rules(first + " co_await f();"), [])

    def test_no_locals(self):
        for first in (
            "",
            "g();",
            "x = 1;",
            "using t = int;",
            "static_assert(true);",
            "if (a) { int x = 0; }",
            "{ int x = 0; }",
            "a.b(c);",
            "return_value(1);",
        ):
            with self.subTest(first):
                self.assertEqual(rules(first + " co_await f();"), [7])

    def test_co_return_makes_a_coroutine_too(self):
        self.assertEqual(rules("co_return 1;"), [7])

    def test_lambdas_and_bodies_with_specifiers(self):
        good = "int x = 0; co_await f();"
        for head in (
            "auto f = [&]() -> awaitable<void>",
            "void g() { spawn(ex, [] () mutable noexcept -> awaitable<std::pair<int, int>> {" + good + "}, detached); }"
            "awaitable<int> c::f(int a, std::function<void()> g) const noexcept",
            "template <class T> requires std::integral<T> awaitable<T> f(T a)",
            "auto f() -> asio::awaitable<std::vector<int>>",
            "namespace a { struct b { awaitable<void> f(); }; } awaitable<void> a::b::f()",
            "void n() { co_spawn(ex, [x = 1] { return x; }, t); } awaitable<void> f()",
        ):
            with self.subTest(head):
                self.assertEqual(rules(good, head), [])
                self.assertEqual(rules("co_await f();", head), [7])

    def test_an_outer_function_is_not_a_coroutine_because_of_a_lambda(self):
        self.assertEqual(rules("g(); co_spawn(ex, []() -> awaitable<void> { int x = 0; co_await f(); }, t);", "void g()"), [])

    def test_text_is_not_code(self):
        self.assertEqual(rules('g("co_await", \'"\', R"x(if (co_await f()) {)x"); // if (co_await f())\n /* co_await */', "void g()"), [])


if __name__ == "__main__":
    unittest.main()

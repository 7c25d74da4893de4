# SPDX-License-Identifier: Apache-2.0
"""Forms of coroutines that g++ 12 compiles to wrong code are not used.

The compiler crashes programs silently for `co_await` in a condition (GCC PR106188), and destroys temporaries of some
kinds twice; sanitizers do not see it. Hence, for every `co_await`:

  1  one per statement, and the statement is one of: `co_await e;` `T v = co_await e;` `v = co_await e;`
     `auto [a, b] = co_await e;` `co_return co_await e;`
  2  never in a condition, an operand, a range, or an argument (of a function or a macro)
  3  arguments of the awaited call hold no braces, no lambda with captures, no `?:`
  7  a coroutine begins with the declaration of a local

Usage: check_co_await.py [file...]     without files: all sources
"""

import pathlib
import re
import sys

import sources

TOKEN = re.compile(
    r"""
    (?P<space>\s+|//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\s\\]{0,16})\(.*?\)(?P=delimiter)")
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"\w*)
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?[0-9](?:'?[0-9a-zA-Z_.]|(?<=[eEpP])[+-])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator>::|->\*?|\+\+|--|<=>|<<=|<<|<=|>=|==|!=|&&|\|\||\.\.\.|[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

CONTROL = {"if", "while", "for", "switch", "catch"}
COROUTINE = {"co_await", "co_return", "co_yield"}
# Not `<` and `>`: they also enclose template arguments.
OPERATORS = {"&&", "||", "?", "==", "!=", "+", "-", "/", "%", "<=", ">=", "<<", "|", "^", ",", "="}
NOT_TYPES = CONTROL | COROUTINE | {
    "return", "throw", "delete", "new", "goto", "break", "continue", "else", "do", "try", "case", "default", "using",
    "static_assert", "typedef", "this", "operator", "sizeof", "namespace", "template", "co_yield",
}
BUILTIN = {
    "auto", "bool", "char", "int", "long", "short", "signed", "unsigned", "float", "double", "const", "constexpr",
    "static", "struct", "typename", "volatile",
}


class Token:
    def __init__(self, kind, text, line):
        self.kind, self.text, self.line = kind, text, line


def tokenise(text):
    """Tokens without white space, comments and directives; a macro body with co_await is kept as one token."""
    tokens, line, position = [], 1, 0
    while position < len(text):
        match = TOKEN.match(text, position)
        kind = match.lastgroup if match.lastgroup != "delimiter" else "raw"
        if kind == "directive":
            if re.search(r"\bco_(await|yield)\b", match.group()):
                tokens.append(Token("directive", match.group(), line))
        elif kind != "space":
            tokens.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
        position = match.end()
    return tokens


def partners(tokens):
    """Index of the matching bracket, for each bracket of ( [ {."""
    pairs, stack = {}, []
    closing = {")": "(", "]": "[", "}": "{"}
    for index, token in enumerate(tokens):
        if token.kind != "operator":
            continue
        if token.text in "([{":
            stack.append(index)
        elif token.text in closing and stack and tokens[stack[-1]].text == closing[token.text]:
            pairs[index] = stack[-1]
            pairs[stack.pop()] = index
    return pairs


class Scope:
    def __init__(self, opener, kind):
        self.opener, self.kind = opener, kind  # function, block, scope, other, or the bracket
        self.statement = opener + 1  # where the current statement begins


class Checker:
    def __init__(self, name, text):
        self.name, self.tokens = name, tokenise(text)
        self.pairs = partners(self.tokens)
        self.violations = []
        self.coroutines = {}  # opener of the body -> line of its first co_ keyword

    def text(self, index):
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def violation(self, index, rule, text):
        self.violations.append(f"{self.name}:{self.tokens[index].line}: rule {rule}: {text}")

    def is_control_header(self, closer):
        """Is the `)` at `closer` the end of the header of an if, while, for, switch or catch?"""
        opener = self.pairs.get(closer)
        if opener is None:
            return False
        before = self.text(opener - 1)
        return before in CONTROL or (before == "constexpr" and self.text(opener - 2) == "if")

    def is_lambda_introducer(self, index):
        """Does the `[` at `index` begin a lambda (rather than a subscript, an attribute or a structured binding)?"""
        previous = self.tokens[index - 1] if index else None
        if self.text(index + 1) == "[" or self.text(index - 1) == "[":
            return False
        if previous is None:
            return True
        if previous.text in {"return", "co_return", "co_await", "co_yield"}:
            return True
        if previous.text in {"auto", "&", "&&"} and self.text(self.pairs.get(index, index) + 1) in {"=", ":"}:
            return False
        return previous.kind not in {"name", "string", "number"} and previous.text not in {")", "]"}

    def brace_kind(self, index, statement):
        """What the `{` at `index` opens, seen from the tokens of the statement before it."""
        before = self.text(index - 1)
        if before in {"else", "do", "try", ";", "{", "}", ":"} or index == statement:
            return "block"
        if before == ")" and self.is_control_header(index - 1):
            return "block"
        words = {self.text(i) for i in range(statement, index)}
        if "namespace" in words or self.text(statement) in {"class", "struct", "union", "enum", "extern"}:
            return "scope"
        # A body follows `)`, perhaps with specifiers or a trailing return type between, or a lambda's `]`.
        position = index - 1
        while position >= statement:
            text = self.text(position)
            if text == ">":
                depth = 1
                while depth and position > statement:
                    position -= 1
                    depth += {">": 1, "<": -1}.get(self.text(position), 0)
            if text == ")":
                opener = self.pairs.get(position, position)
                if self.text(opener - 1) in {"noexcept", "decltype", "requires"}:
                    position = opener - 1
                    continue
                return "function"
            if text == "]":
                opener = self.pairs.get(position, position)
                return "function" if self.is_lambda_introducer(opener) else "other"
            if text in {"=", "(", ",", "return", "co_return", "co_await", "{"}:
                return "other"
            position -= 1
        return "scope" if words & {"class", "struct", "union", "enum"} else "other"

    def run(self):
        scopes = [Scope(-1, "block")]
        for index, token in enumerate(self.tokens):
            scope = scopes[-1]
            if token.kind == "directive":
                self.violation(index, 2, "co_await in a macro")
            elif token.text in {"(", "["} and token.kind == "operator":
                scopes.append(Scope(index, token.text))
            elif token.text == "{" and token.kind == "operator":
                # Inside brackets the statement of the scope around them says what a brace is; look from the bracket on.
                scopes.append(Scope(index, self.brace_kind(index, scope.statement)))
            elif token.text in {")", "]", "}"} and token.kind == "operator":
                if len(scopes) > 1:
                    closed = scopes.pop()
                    scope = scopes[-1]
                    if token.text == ")" and self.is_control_header(index):
                        scope.statement = index + 1
                    elif token.text == "}" and closed.kind in {"block", "function", "scope"} and scope.kind not in "([":
                        scope.statement = index + 1
            elif scope.kind not in {"(", "["}:
                if token.text == ";" or token.text in {"else", "do", "try"}:
                    scope.statement = index + 1
                elif token.text == ":" and (
                    self.text(scope.statement) in {"case", "default", "public", "private", "protected"}
                    or index == scope.statement + 1
                ):
                    scope.statement = index + 1
            if token.kind == "name" and token.text in COROUTINE:
                body = next((s for s in reversed(scopes) if s.kind == "function"), None)
                if body is None:
                    self.violation(index, 7, "cannot tell which function this belongs to")
                else:
                    self.coroutines.setdefault(body.opener, token.line)
            if token.kind == "name" and token.text == "co_await":
                self.check_statement(index, scopes[-1])
        for opener in self.coroutines:
            if not self.begins_with_local(opener + 1):
                self.violation(opener, 7, "a coroutine must begin with the declaration of a local")
        return sorted(self.violations, key=lambda text: int(text.split(":")[1]) if ":" in text else 0)

    def check_statement(self, index, scope):
        if scope.kind in {"(", "["}:
            self.violation(index, 2, "co_await in a condition, a range or an argument: name its result first")
            return
        before = self.text(index - 1)
        start = scope.statement
        if scope.kind == "other":
            self.violation(index, 1, "co_await in an initialiser list: name its result first")
            return
        allowed = index == start or (before == "co_return" and index == start + 1) or (
            before == "=" and index > start + 1 and not any(
                self.tokens[i].text in {"co_await", "?", "||", "return"} for i in range(start, index)
            )
        )
        if not allowed:
            self.violation(index, 1, "co_await is not the whole right side of its statement")
            return
        self.check_awaited(index)

    def check_awaited(self, index):
        """Rules 1 and 3 for the expression after the co_await at `index`."""
        position, depth = index + 1, 0
        while position < len(self.tokens):
            token = self.tokens[position]
            text = token.text if token.kind == "operator" else ""
            if text == ";" and depth == 0:
                return
            if token.text == "co_await" and token.kind == "name":
                if depth == 0:
                    self.violation(position, 1, "more than one co_await in a statement")
                # Within brackets the scan over all tokens reports it.
            elif text == "[" and self.is_lambda_introducer(position):
                end = self.pairs.get(position, position)
                if end != position + 1:
                    self.violation(position, 3, "a lambda with captures in an awaited expression: name it first")
                position = self.after_lambda(end)
                continue
            elif text == "{":
                self.violation(position, 3, "braces in an awaited expression: name the object first")
                position = self.pairs.get(position, position)
            elif text == "?":
                self.violation(position, 3, "?: in an awaited expression: decide first")
            elif text in {"(", "["}:
                depth += 1
            elif text in {")", "]"}:
                depth -= 1
                if depth < 0:
                    return
            elif text == "}":
                return
            elif depth == 0 and text in OPERATORS and not (text in {"-", "+"} and position == index + 1):
                if not (text == "," and self.inside_template_arguments(index, position)):
                    self.violation(position, 1, f"an operation ({text}) on the result of co_await: name the result first")
            position += 1

    def inside_template_arguments(self, start, position):
        texts = [self.tokens[i].text for i in range(start, position)]
        return texts.count("<") > texts.count(">")

    def after_lambda(self, introducer_end):
        """Index after the body of the lambda whose introducer ends at `introducer_end`."""
        position = introducer_end + 1
        while position < len(self.tokens) and self.text(position) not in {"{", ";"}:
            position = self.pairs.get(position, position) + 1 if self.text(position) == "(" else position + 1
        return self.pairs.get(position, position) + 1

    def begins_with_local(self, index):
        """Do the tokens from `index` on begin with the declaration of a local variable?"""
        while self.text(index) == "[" and self.text(index + 1) == "[":
            index = self.pairs.get(index, index) + 1
        token = self.tokens[index] if index < len(self.tokens) else None
        if token is None or (token.kind != "name" and token.text != "::") or token.text in NOT_TYPES:
            return False
        if token.text in BUILTIN:
            return True
        # type: a::b<c>::d, then perhaps const & *, then a name, then = ; { (
        position = index
        while True:
            if self.text(position) == "::":
                position += 1
            if position >= len(self.tokens) or self.tokens[position].kind != "name":
                return False
            position += 1
            if self.text(position) == "<":
                depth = 0
                while position < len(self.tokens):
                    depth += {"<": 1, ">": -1}.get(self.text(position), 0)
                    if self.text(position) in {";", "{"}:
                        return False
                    if self.text(position) == "(":
                        position = self.pairs.get(position, position)
                    position += 1
                    if depth == 0:
                        break
            if self.text(position) != "::":
                break
        while self.text(position) in {"const", "&", "&&", "*"}:
            position += 1
        if position >= len(self.tokens) or self.tokens[position].kind != "name":
            return False
        return self.text(position + 1) in {"=", ";", "{", "(", ",", "["}


def check(name, text):
    """The violations of one file, each `name:line: rule N: text`."""
    return Checker(name, text).run()


if __name__ == "__main__":
    paths = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or sources.files(
        ["libk8sio", "operator", "tests", "examples"], [".cpp", ".hpp"]
    )
    found = []
    for path in paths:
        found += check(path.relative_to(sources.ROOT) if path.is_relative_to(sources.ROOT) else path, path.read_text())
    print(f"{len(paths)} files looked at")
    sources.report(found)

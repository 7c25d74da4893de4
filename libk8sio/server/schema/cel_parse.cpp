// SPDX-License-Identifier: Apache-2.0
//
// The grammar of the Common Expression Language, by recursive descent.
#include "server/schema/cel.hpp"
#include "server/schema/cel_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

namespace signalbox::k8sio::server::cel {

[[noreturn]] void throw_exception_from_error(const parse_error& e, const boost::source_location&) {
    throw std::runtime_error(e.text);
}

namespace {

/// Deeper expressions are refused: evaluation is recursive as well.
constexpr int max_depth = 250;

enum class token_type { end, name, integer, real, text, sign };

struct token {
    token_type type = token_type::end;
    std::string text;
};

struct function {
    std::string_view name;
    std::size_t arguments;  ///< a method's object included
};
constexpr std::array functions{
    function{"size", 1},
    function{"string", 1},
    function{"int", 1},
    function{"dyn", 1},
    function{"matches", 2},
    function{"contains", 2},
    function{"startsWith", 2},
    function{"endsWith", 2},
    function{"max", 1},
    function{"min", 1},
    function{"sum", 1}};
constexpr std::array<std::string_view, 5> macros{"all", "exists", "exists_one", "map", "filter"};

bool is_name_start(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Names that are no identifiers of CEL, as rules write them: `__dash__` for `-`, `__if__` for the
/// word (k8s.io/apiserver, pkg/cel/escaping.go).
std::string unescaped(std::string_view name) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> marks{
        {{"underscores", "__"}, {"dot", "."}, {"dash", "-"}, {"slash", "/"}}};
    static constexpr std::array<std::string_view, 21> words{
        "true",     "false",  "null", "in",    "as",   "break",   "const",
        "continue", "else",   "for",  "if",    "let",  "loop",    "function",
        "import",   "return", "var",  "while", "void", "package", "namespace"};
    std::string out;
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t end =
            name.substr(at).starts_with("__") ? name.find("__", at + 2) : std::string_view::npos;
        const std::string_view inner =
            end == std::string_view::npos ? "" : name.substr(at + 2, end - at - 2);
        const auto* mark = std::find_if(marks.begin(), marks.end(), [&](const auto& m) {
            return m.first == inner;
        });
        if (mark != marks.end()) {
            out += mark->second;
            at = end + 2;
        } else if (inner.size() + 4 == name.size() &&
                   std::find(words.begin(), words.end(), inner) != words.end()) {
            return std::string(inner);
        } else {
            out += name[at++];
        }
    }
    return out;
}

class parser {
public:
    explicit parser(std::string_view text) : rest_(text) { advance(); }

    expression_ptr parse_all() {
        expression_ptr out = conditional();
        if (out != nullptr && now_.type != token_type::end) {
            return fail(fmt::format("`{}` is not expected", now_.text));
        }
        return out;
    }

    const std::string& error() const { return error_; }

private:
    std::nullptr_t fail(std::string why) {
        if (error_.empty()) {
            error_ = std::move(why);
        }
        return nullptr;
    }

    void advance() {
        while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) {
            rest_.remove_prefix(1);
        }
        now_ = {};
        if (rest_.empty()) {
            return;
        }
        const char c = rest_.front();
        if (is_name_start(c)) {
            const auto end = std::find_if_not(rest_.begin(), rest_.end(), [](char x) {
                return is_name_start(x) || is_digit(x);
            });
            take(token_type::name, static_cast<std::size_t>(end - rest_.begin()));
        } else if (is_digit(c)) {
            const std::size_t end = std::min(rest_.find_first_not_of("0123456789."), rest_.size());
            const bool real = rest_.substr(0, end).find('.') != std::string_view::npos;
            take(real ? token_type::real : token_type::integer, end);
        } else if (c == '\'' || c == '"') {
            read_text(c);
        } else {
            static constexpr std::array<std::string_view, 6> pairs{
                "&&", "||", "==", "!=", "<=", ">="};
            const bool pair =
                std::find(pairs.begin(), pairs.end(), rest_.substr(0, 2)) != pairs.end();
            take(token_type::sign, pair ? 2 : 1);
        }
    }

    void take(token_type type, std::size_t size) {
        now_ = {type, std::string(rest_.substr(0, size))};
        rest_.remove_prefix(size);
    }

    void read_text(char quote) {
        now_.type = token_type::text;
        rest_.remove_prefix(1);
        while (!rest_.empty() && rest_.front() != quote) {
            char c = rest_.front();
            if (c == '\\' && rest_.size() > 1) {
                rest_.remove_prefix(1);
                c = rest_.front();
                const std::size_t plain = std::string_view("\\\"'`?").find(c);
                const std::size_t control = std::string_view("nrt").find(c);
                if (control != std::string_view::npos) {
                    c = "\n\r\t"[control];
                } else if (plain == std::string_view::npos) {
                    fail(fmt::format("the escape \\{} is not read here", c));
                }
            }
            now_.text += c;
            rest_.remove_prefix(1);
        }
        if (rest_.empty()) {
            fail("a text does not end");
        } else {
            rest_.remove_prefix(1);
        }
    }

    bool at(std::string_view sign) const {
        return now_.type == token_type::sign && now_.text == sign;
    }
    bool accept(std::string_view sign) {
        const bool found = at(sign);
        if (found) {
            advance();
        }
        return found;
    }
    bool expect(std::string_view sign) {
        if (accept(sign)) {
            return true;
        }
        fail(fmt::format("`{}` is missing before `{}`", sign, now_.text));
        return false;
    }

    static expression_ptr make(op what) {
        auto out = std::make_unique<expression>();
        out->what = what;
        return out;
    }
    static expression_ptr make(op what, expression_ptr a, expression_ptr b) {
        expression_ptr out = make(what);
        out->parts.push_back(std::move(a));
        out->parts.push_back(std::move(b));
        return out;
    }

    expression_ptr conditional() {
        if (++depth_ > max_depth) {
            return fail("the expression is nested too deeply");
        }
        expression_ptr test = binary(0);
        if (test != nullptr && accept("?")) {
            expression_ptr yes = binary(0);
            if (yes == nullptr || !expect(":")) {
                return nullptr;
            }
            expression_ptr no = conditional();
            if (no == nullptr) {
                return nullptr;
            }
            expression_ptr out = make(op::conditional, std::move(test), std::move(yes));
            out->parts.push_back(std::move(no));
            test = std::move(out);
        }
        --depth_;
        return test;
    }

    struct infix {
        std::string_view sign;
        op what;
        int level;
    };

    std::optional<infix> operator_now() const {
        static constexpr std::array operators{
            infix{"||", op::logical_or, 0},
            infix{"&&", op::logical_and, 1},
            infix{"==", op::equal, 2},
            infix{"!=", op::not_equal, 2},
            infix{"<", op::less, 2},
            infix{"<=", op::less_equal, 2},
            infix{">", op::greater, 2},
            infix{">=", op::greater_equal, 2},
            infix{"in", op::in, 2},
            infix{"+", op::add, 3},
            infix{"-", op::subtract, 3},
            infix{"*", op::multiply, 4},
            infix{"/", op::divide, 4},
            infix{"%", op::remainder, 4}};
        const auto found = std::find_if(operators.begin(), operators.end(), [this](const infix& o) {
            return now_.text == o.sign &&
                   now_.type == (o.what == op::in ? token_type::name : token_type::sign);
        });
        return found == operators.end() ? std::nullopt : std::optional(*found);
    }

    /// Operators of that level and of those that bind tighter; all are left-associative.
    expression_ptr binary(int lowest) {
        expression_ptr left = unary();
        int chained = 0;
        for (auto o = operator_now(); left != nullptr && o && o->level >= lowest;
             o = operator_now()) {
            advance();
            expression_ptr right = binary(o->level + 1);
            if (right == nullptr || ++chained > max_depth) {
                return fail("too many operators in a row");
            }
            left = make(o->what, std::move(left), std::move(right));
        }
        return left;
    }

    /// Two signs of a kind in a row are none, and a number takes its sign with it.
    expression_ptr unary() {
        if (!at("!") && !at("-")) {
            return postfix();
        }
        const std::string sign = now_.text;
        int count = 0;
        while (accept(sign)) {
            if (++count > max_depth) {
                return fail("too many signs in a row");
            }
        }
        if (sign == "-" && count == 1 &&
            (now_.type == token_type::integer || now_.type == token_type::real)) {
            now_.text.insert(0, sign);
            return postfix();
        }
        if (++depth_ > max_depth) {
            return fail("the expression is nested too deeply");
        }
        expression_ptr inner = unary();
        --depth_;
        if (inner == nullptr || count % 2 == 0) {
            return inner;
        }
        expression_ptr out = make(sign == "!" ? op::logical_not : op::negate);
        out->parts.push_back(std::move(inner));
        return out;
    }

    expression_ptr postfix() {
        expression_ptr out = primary();
        for (int chained = 0; out != nullptr; ++chained) {
            if (chained > max_depth) {
                return fail("too many members in a row");
            }
            if (accept("[")) {
                expression_ptr index = conditional();
                if (index == nullptr || !expect("]")) {
                    return nullptr;
                }
                out = make(op::index, std::move(out), std::move(index));
            } else if (accept(".")) {
                const std::string name = now_.text;
                if (now_.type != token_type::name) {
                    return fail("a name is missing after `.`");
                }
                advance();
                if (accept("(")) {
                    out = method(std::move(out), name);
                } else {
                    expression_ptr member = make(op::member);
                    member->text = unescaped(name);
                    member->parts.push_back(std::move(out));
                    out = std::move(member);
                }
            } else {
                break;
            }
        }
        return out;
    }

    expression_ptr method(expression_ptr object, const std::string& name) {
        if (std::find(macros.begin(), macros.end(), name) == macros.end()) {
            return call(std::move(object), name);
        }
        expression_ptr out = make(op::macro);
        out->text = name;
        out->bound = now_.text;
        if (now_.type != token_type::name) {
            return fail(fmt::format("`{}` needs a variable", name));
        }
        advance();
        out->parts.push_back(std::move(object));
        while (accept(",")) {
            expression_ptr body = conditional();
            if (body == nullptr) {
                return nullptr;
            }
            out->parts.push_back(std::move(body));
        }
        const std::size_t most = name == "map" ? 3 : 2;
        if (out->parts.size() < 2 || out->parts.size() > most) {
            return fail(fmt::format("`{}` has another number of arguments", name));
        }
        return expect(")") ? std::move(out) : nullptr;
    }

    expression_ptr call(expression_ptr object, const std::string& name) {
        expression_ptr out = make(op::call);
        out->text = name;
        out->method = object != nullptr;
        if (out->method && object->what == op::variable && is_library_namespace(object->text)) {
            out->text = object->text + "." + name;
            out->method = false;
        }
        if (out->method) {
            out->parts.push_back(std::move(object));
        }
        if (!items(")", *out)) {
            return nullptr;
        }
        const bool evaluated =
            std::any_of(functions.begin(), functions.end(), [&](const function& f) {
                return f.name == out->text && f.arguments == out->parts.size();
            });
        if (!evaluated) {
            const std::size_t arguments = out->parts.size() - (out->method ? 1 : 0);
            out->library = find_library_function(out->text, out->method, arguments);
        }
        const bool known = evaluated || out->library != nullptr;
        if (name == "matches" && evaluated && out->parts[1]->what == op::literal_text) {
            out->pattern = std::make_shared<const re2::RE2>(out->parts[1]->text, re2::RE2::Quiet);
        }
        return known ? std::move(out)
                     : fail(fmt::format(
                           "there is no `{}` with {} arguments here", name, out->parts.size()
                       ));
    }

    /// Items up to the closing sign.
    bool items(std::string_view close, expression& into) {
        if (accept(close)) {
            return true;
        }
        do {
            expression_ptr item = conditional();
            if (item == nullptr) {
                return false;
            }
            into.parts.push_back(std::move(item));
        } while (accept(","));
        return expect(close);
    }

    expression_ptr primary() {
        const token t = now_;
        if (!error_.empty()) {
            return nullptr;
        }
        if (t.type == token_type::sign) {
            advance();
            if (t.text == "(") {
                expression_ptr inner = conditional();
                return inner != nullptr && expect(")") ? std::move(inner) : nullptr;
            }
            if (t.text == "[") {
                expression_ptr out = make(op::list);
                return items("]", *out) ? std::move(out) : nullptr;
            }
            return fail(fmt::format("`{}` is not expected", t.text));
        }
        if (t.type == token_type::end) {
            return fail("the expression ends too early");
        }
        advance();
        return t.type == token_type::name ? named(t.text) : literal(t);
    }

    expression_ptr literal(const token& t) {
        expression_ptr out = make(
            t.type == token_type::text      ? op::literal_text
            : t.type == token_type::integer ? op::literal_int
                                            : op::literal_double
        );
        const char* end = t.text.data() + t.text.size();
        std::from_chars_result read{end, std::errc{}};
        if (t.type == token_type::text) {
            out->text = t.text;
        } else if (t.type == token_type::integer) {
            read = std::from_chars(t.text.data(), end, out->integer);
        } else {
            read = std::from_chars(t.text.data(), end, out->real);
        }
        return read.ec == std::errc{} && read.ptr == end
                   ? std::move(out)
                   : fail(fmt::format("`{}` is no number", t.text));
    }

    expression_ptr named(const std::string& name) {
        if (name == "true" || name == "false" || name == "null") {
            expression_ptr out = make(name == "null" ? op::literal_null : op::literal_bool);
            out->integer = name == "true" ? 1 : 0;
            return out;
        }
        if (!accept("(")) {
            expression_ptr out = make(op::variable);
            out->text = name;
            return out;
        }
        if (name != "has") {
            return call(nullptr, name);
        }
        expression_ptr field = conditional();
        if (field == nullptr || !expect(")")) {
            return nullptr;
        }
        if (field->what != op::member) {
            return fail("`has` needs a field");
        }
        field->what = op::has;
        return field;
    }

    std::string_view rest_;
    token now_;
    std::string error_;
    int depth_ = 0;
};

}  // namespace

boost::system::result<expression_ptr, parse_error> parse(std::string_view text) {
    parser p(text);
    expression_ptr out = p.parse_all();
    if (out == nullptr || !p.error().empty()) {
        return parse_error{p.error()};
    }
    return out;
}

bool can_evaluate(const expression& e) {
    return e.library == nullptr &&
           std::all_of(e.parts.begin(), e.parts.end(), [](const expression_ptr& part) {
               return can_evaluate(*part);
           });
}

bool names(const expression& e, std::string_view variable) {
    return (e.what == op::variable && e.text == variable) ||
           std::any_of(e.parts.begin(), e.parts.end(), [&](const expression_ptr& part) {
               return names(*part, variable);
           });
}

}  // namespace signalbox::k8sio::server::cel

// SPDX-License-Identifier: Apache-2.0
//
// YAML through yaml-cpp's event interface: no YAML::Node tree, so that limits act while reading.
#include "manifests/reader.hpp"
#include "manifests/scalar.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <unordered_map>

namespace signalbox::op::manifests {

namespace {

/// yaml-cpp counts columns in bytes; people and editors count characters. Marks come nearly in
/// order, so that each byte of a line is looked at once.
class position_converter {
public:
    explicit position_converter(std::string_view text) : text_(text) {}

    position at(const YAML::Mark& mark) {
        if (mark.is_null()) {
            return {};
        }
        const auto line = static_cast<std::uint32_t>(mark.line) + 1;
        const auto column = static_cast<std::size_t>(mark.column);
        if (line < line_) {
            line_ = 1;
            begin_ = 0;
            restart();
        }
        for (; line_ < line && begin_ < text_.size(); ++line_) {
            begin_ = std::min(text_.find('\n', begin_), text_.size() - 1) + 1;
            restart();
        }
        if (column < bytes_) {
            restart();
        }
        for (; bytes_ < column && begin_ + bytes_ < text_.size(); ++bytes_) {
            characters_ += core::continues_character(text_[begin_ + bytes_]) ? 0U : 1U;
        }
        return {line, characters_ + 1};
    }

private:
    void restart() {
        bytes_ = 0;
        characters_ = 0;
    }

    std::string_view text_;
    std::uint32_t line_ = 1;
    std::size_t begin_ = 0;  ///< of the line
    std::size_t bytes_ = 0;  ///< of the line that were counted
    std::uint32_t characters_ = 0;
};

/// Reads from the given text without a copy of it.
class view_buffer final : public std::streambuf {
public:
    explicit view_buffer(std::string_view text) {
        char* begin = const_cast<char*>(text.data());  // the get area is only read
        setg(begin, begin, begin + text.size());
    }
};

/// yaml-cpp takes the end of the file for the end of a quoted text. Such a text is the last of the
/// file.
bool quote_is_open(std::string_view text, position last_scalar) {
    std::size_t at = last_scalar.line == 0 ? text.size() : offset_of(text, last_scalar);
    if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) {
        return false;
    }
    const char quote = text[at];
    for (++at; at < text.size(); ++at) {
        if (quote == '"' && text[at] == '\\') {
            ++at;
        } else if (text[at] == quote) {
            const bool escaped = quote == '\'' && at + 1 < text.size() && text[at + 1] == quote;
            if (!escaped) {
                return false;
            }
            ++at;
        }
    }
    return true;
}

constexpr std::string_view standard_tag = "tag:yaml.org,2002:";

class yaml_handler final : public YAML::EventHandler {
public:
    yaml_handler(std::string_view text, const limits& bounds, parsed_text& out)
        : positions_(text), builder_(bounds, out) {}

    position to_position(const YAML::Mark& mark) { return positions_.at(mark); }

    void OnDocumentStart(const YAML::Mark&) override {
        anchors_.clear();
        builder_.begin_document();
    }
    void OnDocumentEnd() override { builder_.end_document(); }

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (depth_ == 0) {
            return;  // an empty document
        }
        plain("null", {scalar_type::null, "null"}, mark, anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const position where = to_position(mark);
        const auto it = anchors_.find(anchor);
        if (it == anchors_.end() || builder_.is_open(it->second)) {
            builder_.stop(where, "an alias inside of what it stands for");
        }
        if (builder_.expects_key()) {
            builder_.stop(where, "an alias as a key is not supported");
        }
        builder_.alias(it->second, where);
    }

    void OnScalar(
        const YAML::Mark& mark,
        const std::string& tag,
        YAML::anchor_t anchor,
        const std::string& value
    ) override {
        last_scalar_ = to_position(mark);
        if (tag == "?") {
            plain(value, resolve_plain(value), mark, anchor);
        } else if (tag == "!" || tag == fmt::format("{}str", standard_tag)) {
            plain(value, {scalar_type::string, value}, mark, anchor);
        } else {
            tagged(value, tag, mark, anchor);
        }
    }

    void OnSequenceStart(
        const YAML::Mark& mark,
        const std::string& tag,
        YAML::anchor_t anchor,
        YAML::EmitterStyle::value
    ) override {
        open(node_kind::sequence, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }

    void OnMapStart(
        const YAML::Mark& mark,
        const std::string& tag,
        YAML::anchor_t anchor,
        YAML::EmitterStyle::value
    ) override {
        open(node_kind::mapping, mark, tag, anchor);
    }
    void OnMapEnd() override { close(); }

    position last_scalar() const { return last_scalar_; }

private:
    void open(
        node_kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor
    ) {
        const position where = to_position(mark);
        if (builder_.expects_key()) {
            builder_.stop(where, "a mapping or list as a key: JSON has only strings");
        }
        if (tag.starts_with('!') && tag != "!") {
            builder_.stop(where, fmt::format("unknown tag `{}`", tag));
        }
        remember(anchor, builder_.open(kind, where));
        ++depth_;
    }

    void close() {
        --depth_;
        builder_.close();
    }

    void tagged(
        const std::string& value,
        const std::string& tag,
        const YAML::Mark& mark,
        YAML::anchor_t anchor
    ) {
        if (!tag.starts_with(standard_tag)) {
            builder_.stop(to_position(mark), fmt::format("unknown tag `{}`", tag));
        }
        scalar_value resolved = resolve_plain(value);
        const std::string_view name = std::string_view(tag).substr(standard_tag.size());
        const bool fits = (name == "null" && resolved.type == scalar_type::null) ||
                          (name == "bool" && resolved.type == scalar_type::boolean) ||
                          (name == "int" && resolved.type == scalar_type::integer) ||
                          (name == "float" && (resolved.type == scalar_type::integer ||
                                               resolved.type == scalar_type::floating));
        if (!fits) {
            builder_.stop(
                to_position(mark), fmt::format("`{}` is no value of tag `!!{}`", value, name)
            );
        }
        plain(value, std::move(resolved), mark, anchor);
    }

    void plain(
        const std::string& source, scalar_value value, const YAML::Mark& mark, YAML::anchor_t anchor
    ) {
        const position where = to_position(mark);
        if (builder_.expects_key()) {
            // As kubectl: `1: a` and `true: a` have the keys "1" and "true".
            if (value.type == scalar_type::null) {
                builder_.stop(where, "null as a key: JSON has only strings");
            }
            // A quoted "<<" is an ordinary key to YAML, but kubectl merges it too.
            builder_.key(std::move(value.json), where, source == "<<");
            return;
        }
        if (value.type == scalar_type::not_json) {
            builder_.report(where, fmt::format("{} is a number that JSON cannot hold", source));
            value = {scalar_type::null, "null"};
        }
        const bool text = value.type == scalar_type::string;
        remember(
            anchor,
            builder_.scalar(
                text ? node_kind::string : node_kind::scalar, std::move(value.json), where
            )
        );
    }

    void remember(YAML::anchor_t anchor, node_id id) {
        if (anchor != YAML::NullAnchor) {
            anchors_[anchor] = id;
        }
    }

    position_converter positions_;
    tree_builder builder_;
    std::unordered_map<YAML::anchor_t, node_id> anchors_;
    std::size_t depth_ = 0;
    position last_scalar_;
};

/// The number, from 1 on, of the line counted from 0 on, or of the one before, if a tab is in its
/// indentation; 0: neither. What the parser says of a tab is about something else.
std::size_t line_with_tab(std::string_view text, int line) {
    std::size_t number = 0;
    for (int at = 0; at <= line && !text.empty(); ++at) {
        const std::size_t first = text.find_first_not_of(' ');
        const bool tab = first != std::string_view::npos && text[first] == '\t';
        number = tab && at + 1 >= line ? static_cast<std::size_t>(at) + 1 : number;
        text.remove_prefix(std::min(text.size(), text.find('\n')));
        text.remove_prefix(std::min<std::size_t>(text.size(), 1));
    }
    return number;
}

}  // namespace

parsed_text read_yaml(std::string_view text, const limits& bounds) {
    parsed_text out;
    if (std::optional<problem> bad = check_lines(text, bounds)) {
        out.problems.push_back(std::move(*bad));
        return out;
    }
    view_buffer buffer(text);
    std::istream stream(&buffer);
    yaml_handler events(text, bounds, out);
    try {
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(events)) {
        }
        if (quote_is_open(text, events.last_scalar())) {
            out.problems.push_back(
                {events.last_scalar(),
                 {},
                 "not valid YAML: the quoted text that begins here never ends"}
            );
            if (!out.documents.empty()) {
                out.documents.pop_back();
            }
        }
    } catch (const reading_stopped& stopped) {
        out.problems.push_back(stopped.why);
    } catch (const YAML::Exception& error) {
        const std::size_t tab = line_with_tab(text, error.mark.line);
        out.problems.push_back(
            {events.to_position(error.mark),
             {},
             "not valid YAML: " + error.msg +
                 (tab == 0 ? "" : fmt::format("; line {} begins with a tab: YAML takes spaces", tab)
                 )}
        );
    }
    return out;
}

}  // namespace signalbox::op::manifests

// SPDX-License-Identifier: Apache-2.0
//
// JSON through RapidJSON's SAX reader: iterative, so that nesting costs no stack, and with numbers
// as they were written.
#include "manifests/reader.hpp"

#include <jobcore/strings.hpp>

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

namespace signalbox::op::manifests {

namespace {

/// Turns offsets, which only grow, into positions.
class position_cursor {
public:
    explicit position_cursor(std::string_view text) : text_(text) {}

    position at(std::size_t offset) {
        for (; offset_ < offset && offset_ < text_.size(); ++offset_) {
            if (text_[offset_] == '\n') {
                here_ = {here_.line + 1, 1};
            } else if (!core::continues_character(text_[offset_])) {
                ++here_.column;
            }
        }
        return here_;
    }

private:
    std::string_view text_;
    std::size_t offset_ = 0;
    position here_{1, 1};
};

class json_handler {
public:
    json_handler(
        std::string_view text,
        rapidjson::MemoryStream& stream,
        const limits& bounds,
        parsed_text& out
    )
        : text_(text), stream_(&stream), cursor_(text), builder_(bounds, out) {}

    bool Null() { return scalar("null"); }
    bool Bool(bool value) { return scalar(value ? "true" : "false"); }
    bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
        return scalar(std::string(text, length));
    }
    bool String(const char* text, rapidjson::SizeType length, bool) {
        const position where = token();
        builder_.scalar(node_kind::string, std::string(text, length), where);
        return true;
    }
    bool Key(const char* text, rapidjson::SizeType length, bool) {
        const position where = token();
        builder_.key(std::string(text, length), where);
        return true;
    }
    bool StartObject() { return open(node_kind::mapping); }
    bool StartArray() { return open(node_kind::sequence); }
    bool EndObject(rapidjson::SizeType) { return close(); }
    bool EndArray(rapidjson::SizeType) { return close(); }

    // Numbers come as RawNumber; these are there for the reader's template only.
    bool Int(int) { return true; }
    bool Uint(unsigned) { return true; }
    bool Int64(std::int64_t) { return true; }
    bool Uint64(std::uint64_t) { return true; }
    bool Double(double) { return true; }

    tree_builder& builder() { return builder_; }
    position position_at(std::size_t offset) { return cursor_.at(offset); }
    void skip_to(std::size_t offset) { end_ = offset; }

private:
    /// The position of the token that has just been read: it begins after the one before and what
    /// may stand between two tokens.
    position token() {
        const position where = begin();
        end_ = stream_->Tell();
        return where;
    }

    /// The same for a bracket; the reader may not have taken it yet.
    position bracket() {
        const position where = begin();
        ++end_;
        return where;
    }

    position begin() {
        while (end_ < text_.size() &&
               std::string_view(" \t\r\n,:").find(text_[end_]) != std::string_view::npos) {
            ++end_;
        }
        return cursor_.at(end_);
    }

    bool scalar(std::string text) {
        const position where = token();
        builder_.scalar(node_kind::scalar, std::move(text), where);
        return true;
    }
    bool open(node_kind kind) {
        const position where = bracket();
        builder_.open(kind, where);
        return true;
    }
    bool close() {
        bracket();
        builder_.close();
        return true;
    }

    std::string_view text_;
    rapidjson::MemoryStream* stream_;
    position_cursor cursor_;
    tree_builder builder_;
    std::size_t end_ = 0;
};

/// The length of a line `---` that begins here, as between documents of YAML; 0 if there is none.
std::size_t separator_at(std::string_view text, std::size_t at) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    const bool begins = at == 0 || text[at - 1] == '\n';
    const std::size_t more = line.find_first_not_of(" \t\r", 3);
    const bool alone = more == line.npos || line[more] == '#';
    return begins && line.starts_with("---") && alone ? line.size() : 0;
}

constexpr unsigned read_flags = rapidjson::kParseIterativeFlag | rapidjson::kParseStopWhenDoneFlag |
                                rapidjson::kParseNumbersAsStringsFlag;

}  // namespace

parsed_text read_json(std::string_view text, const limits& bounds, std::size_t& rest) {
    parsed_text out;
    rest = text.size();
    bool separated = true;
    rapidjson::MemoryStream stream(text.data(), text.size());
    json_handler events(text, stream, bounds, out);
    rapidjson::Reader reader;
    try {
        while (true) {
            rapidjson::SkipWhitespace(stream);
            const std::size_t start = stream.Tell();
            if (start >= text.size()) {
                return out;
            }
            if (const std::size_t line = separator_at(text, start); line > 0) {
                stream.src_ += line;
                events.skip_to(start + line);
                separated = true;
                continue;
            }
            events.builder().begin_document();
            const rapidjson::ParseResult result = reader.Parse<read_flags>(stream, events);
            if (result.IsError()) {
                rest = separated ? start : rest;
                out.problems.push_back(
                    {events.position_at(result.Offset()),
                     {},
                     fmt::format("not valid JSON: {}", rapidjson::GetParseError_En(result.Code()))}
                );
                return out;
            }
            events.builder().end_document();
            separated = false;
        }
    } catch (const reading_stopped& stopped) {
        out.problems.push_back(stopped.why);
    }
    return out;
}

}  // namespace signalbox::op::manifests

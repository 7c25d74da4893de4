// SPDX-License-Identifier: Apache-2.0
//
// Reads chosen places of a JSON document by SAX and skips everything else without storing it:
// a pod in the API server's JSON is many times its record. The places are a table of edges between
// nodes: from an object by a key, or from a list to each of its items. A value of another type than
// the table expects is skipped: what comes from an API server may be newer than we are.
#pragma once

#include "json/json.hpp"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace signalbox::core::observe {

using node = std::uint8_t;
inline constexpr node root_node = 0;
inline constexpr node no_node = 255;

enum class step : std::uint8_t {
    key,       ///< the member of that name
    each_key,  ///< every member; the key is told to the sink
    item,      ///< every item of a list
};

struct edge {
    node from;
    step how;
    std::string_view key;
    node to;
};

/// The edges by the node that they come from, else in their order; every key that is read asks for
/// those of one node.
template <std::size_t Count>
class path_table {
public:
    constexpr explicit path_table(const std::array<edge, Count>& edges) {
        std::size_t placed = 0;
        for (std::size_t from = 0; from < no_node; ++from) {
            begins_[from] = static_cast<std::uint8_t>(placed);
            for (const edge& e : edges) {
                if (e.from == from) {
                    edges_[placed++] = e;
                }
            }
        }
        begins_[no_node] = static_cast<std::uint8_t>(placed);
    }

    std::span<const edge> from(node n) const {
        return std::span(edges_).subspan(begins_[n], begins_[n + std::size_t{1}] - begins_[n]);
    }

private:
    static_assert(Count < 256);
    std::array<edge, Count> edges_{};
    std::array<std::uint8_t, no_node + 1> begins_{};
};

inline bool is_utf8(std::string_view text) {
    rapidjson::MemoryStream in(text.data(), text.size());
    rapidjson::StringBuffer unused;
    while (in.Tell() < text.size()) {
        const auto byte = static_cast<unsigned char>(in.Peek());
        if (byte < 0x80) {
            in.Take();
        } else if (!rapidjson::UTF8<>::Validate(in, unused)) {
            return false;
        }
    }
    return true;
}

/// What a document is read into. All functions may ignore what they do not expect.
///   void open(node)                       an object begins
///   void close(node)                      it ends
///   void text(node, key, std::string_view)     key: of an each_key edge, else empty
///   void number(node, key, std::int64_t)  integers that fit
///   void boolean(node, bool)
template <class Table, class Sink>
class path_handler {
public:
    using Ch = char;

    path_handler(const Table& edges, Sink& sink) : edges_(edges), sink_(sink) {}

    bool Null() { return done(); }
    bool Bool(bool b) {
        if (const node n = here(); n != no_node) {
            sink_.boolean(n, b);
        }
        return done();
    }
    bool Int(int i) { return integer(i); }
    bool Uint(unsigned i) { return integer(i); }
    bool Int64(std::int64_t i) { return integer(i); }
    bool Uint64(std::uint64_t i) {
        return i <= static_cast<std::uint64_t>(INT64_MAX) ? integer(static_cast<std::int64_t>(i))
                                                          : done();
    }
    bool Double(double) { return done(); }
    bool RawNumber(const char*, rapidjson::SizeType, bool) { return done(); }
    bool String(const char* text, rapidjson::SizeType length, bool) {
        if (const node n = here(); n != no_node && is_utf8({text, length})) {
            sink_.text(n, key(), {text, length});
        }
        return done();
    }
    bool Key(const char* text, rapidjson::SizeType length, bool) {
        if (skipped_ == 0) {
            top().next = follow(top().at, {text, length});
        }
        return true;
    }
    bool StartObject() {
        const node n = here();
        if (enter(n, false)) {
            sink_.open(n);
        }
        return true;
    }
    bool EndObject(rapidjson::SizeType) {
        if (skipped_ == 0) {
            sink_.close(top().at);
        }
        return leave();
    }
    bool StartArray() {
        enter(here(), true);
        return true;
    }
    bool EndArray(rapidjson::SizeType) { return leave(); }

private:
    struct frame {
        node at = no_node;
        node next = no_node;  ///< of the member that follows, or of each item
        bool list = false;
    };
    static constexpr std::size_t max_depth = 12;  // of known nodes; tables are less deep

    frame& top() { return stack_[depth_ - 1]; }

    node here() const {
        if (skipped_ > 0) {
            return no_node;
        }
        return depth_ == 0 ? root_node : stack_[depth_ - 1].next;
    }

    std::string_view key() const { return key_; }

    node follow(node from, std::string_view name) {
        if (from == no_node) {
            return no_node;
        }
        for (const edge& e : edges_.from(from)) {
            if (e.how == step::item) {
                continue;
            }
            if (e.how == step::each_key) {
                key_ = name;
                return e.to;
            }
            if (e.key == name) {
                key_.clear();
                return e.to;
            }
        }
        return no_node;
    }

    node item_of(node from) const {
        if (from == no_node) {
            return no_node;
        }
        for (const edge& e : edges_.from(from)) {
            if (e.how == step::item) {
                return e.to;
            }
        }
        return no_node;
    }

    bool enter(node n, bool list) {
        if (n == no_node || depth_ == max_depth) {
            ++skipped_;
            return false;
        }
        stack_[depth_++] = {n, list ? item_of(n) : no_node, list};
        return true;
    }

    bool leave() {
        if (skipped_ > 0) {
            --skipped_;
        } else {
            --depth_;
        }
        return done();
    }

    bool integer(std::int64_t i) {
        if (const node n = here(); n != no_node) {
            sink_.number(n, key(), i);
        }
        return done();
    }

    /// A value ended: no second one follows under the same key.
    bool done() {
        if (skipped_ == 0 && depth_ > 0 && !top().list) {
            top().next = no_node;
        }
        return true;
    }

    const Table& edges_;
    Sink& sink_;
    std::array<frame, max_depth> stack_{};
    std::size_t depth_ = 0;
    std::size_t skipped_ = 0;
    std::string key_;
};

/// Reads `json` into `sink`; false if it is no JSON. Iterative: depth costs heap, not stack.
template <class Table, class Sink>
bool read_paths(std::string_view json, const Table& edges, Sink& sink) {
    path_handler<Table, Sink> handler(edges, sink);
    rapidjson::MemoryStream bytes(json.data(), json.size());
    rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
    rapidjson::Reader reader;
    // Without RapidJSON's check of encodings, which doubles the time: texts that are kept are
    // checked by the handler, and one that is no UTF-8 is skipped like any other value of a wrong
    // type.
    return !reader.Parse<rapidjson::kParseIterativeFlag>(stream, handler).IsError();
}

}  // namespace signalbox::core::observe

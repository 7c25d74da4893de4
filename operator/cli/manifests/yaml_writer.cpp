// SPDX-License-Identifier: Apache-2.0
#include "manifests/yaml_writer.hpp"

#include "manifests/reader.hpp"
#include "manifests/scalar.hpp"

#include <jobcore/strings.hpp>

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>
#include <yaml-cpp/null.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace signalbox::op::manifests {

namespace {

/// Order of an object's own members.
int rank(std::string_view key) {
    constexpr std::array<std::string_view, 4> first{"apiVersion", "kind", "metadata", "spec"};
    const auto it = std::ranges::find(first, key);
    if (it != first.end()) {
        return static_cast<int>(it - first.begin());
    }
    return key == "status" ? 6 : 5;
}

/// Texts that a YAML 1.1 parser reads as a date, a time or a sexagesimal number.
bool looks_like_time(std::string_view text) {
    return !text.empty() && text.front() >= '0' && text.front() <= '9' &&
           text.find_first_of(":-") != std::string_view::npos;
}

/// A block literal gives the text back only if every line is plain text and the last one ends.
bool fits_literal(const std::string& text) {
    if (!text.ends_with('\n') || text.ends_with("\n\n") || text.front() == ' ' ||
        text.front() == '\n') {
        return false;
    }
    std::string in_lines = text;
    std::ranges::replace_if(
        in_lines, [](char c) { return c == '\n' || c == '\t'; }, ' '
    );
    return core::printable(in_lines) == in_lines && text.find(" \n") == std::string::npos;
}

class writer {
public:
    explicit writer(const tree& document) : document_(&document) {
        out_.SetIndent(2);
        out_.SetMapFormat(YAML::Block);
        out_.SetSeqFormat(YAML::Block);
    }

    // Recursive: the reader bounds the height of a tree.
    void write(node_id id, bool top = false) {
        const node& n = document_->at(id);
        switch (n.kind) {
            case node_kind::scalar:
                if (n.text == "null") {
                    out_ << YAML::Null;  // as a text it would be quoted
                } else {
                    out_ << n.text;
                }
                break;
            case node_kind::string:
                text(n.text);
                break;
            case node_kind::sequence:
                sequence(n);
                break;
            case node_kind::mapping:
                mapping(n, top);
                break;
        }
    }

    std::string str() const { return std::string(out_.c_str(), out_.size()) + "\n"; }

private:
    void text(const std::string& value) {
        if (value.find('\n') != std::string::npos && fits_literal(value)) {
            out_ << YAML::Literal << value;
            return;
        }
        const bool quote = resolve_plain(value).type != scalar_type::string ||
                           looks_like_time(value) || value == "=" || value == "<<" ||
                           value.starts_with("---") || value.starts_with("...");
        if (core::printable(value) != value) {
            // A terminal obeys what is not escaped (BEHAVIOUR.md 11.4).
            out_ << YAML::DoubleQuoted << YAML::EscapeNonAscii;
        } else if (quote) {
            out_ << YAML::DoubleQuoted;
        }
        out_ << value;
    }

    void sequence(const node& n) {
        if (n.children.empty()) {
            out_ << YAML::Flow;
        }
        out_ << YAML::BeginSeq;
        for (const child& item : n.children) {
            write(item.node);
        }
        out_ << YAML::EndSeq;
    }

    void mapping(const node& n, bool top) {
        std::vector<const child*> members;
        for (const child& c : n.children) {
            members.push_back(&c);
        }
        if (top) {
            std::ranges::stable_sort(members, {}, [](const child* c) { return rank(c->key); });
        }
        if (members.empty()) {
            out_ << YAML::Flow;
        }
        out_ << YAML::BeginMap;
        for (const child* c : members) {
            out_ << YAML::Key;
            text(c->key);
            out_ << YAML::Value;
            write(c->node);
        }
        out_ << YAML::EndMap;
    }

    const tree* document_;
    YAML::Emitter out_;
};

}  // namespace

std::string to_yaml(std::string_view json) {
    // Ours, or a rendered object: only the stack needs a bound.
    const limits bounds{
        .max_bytes = SIZE_MAX, .max_nodes = SIZE_MAX, .max_documents = 1, .max_depth = 600};
    std::size_t rest = 0;
    const parsed_text parsed = read_json(json, bounds, rest);
    if (!parsed.problems.empty() || parsed.documents.empty()) {
        return {};
    }
    writer out(parsed.documents.front());
    out.write(parsed.documents.front().root(), true);
    return out.str();
}

}  // namespace signalbox::op::manifests

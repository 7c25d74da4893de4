// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with an object, and where, as values: each library makes its own texts of it.
#pragma once

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace signalbox::kubernetes {

using value = rapidjson::Value;

inline std::string_view view(const value& v) {
    return {v.GetString(), v.GetStringLength()};
}

/// The member; nothing if `v` is no object, has none, or it is null.
inline const value* find(const value& v, std::string_view key) {
    if (!v.IsObject()) {
        return nullptr;
    }
    for (const auto& m : v.GetObject()) {
        if (view(m.name) == key) {
            return m.value.IsNull() ? nullptr : &m.value;
        }
    }
    return nullptr;
}

/// The text member, else empty.
inline std::string_view text_at(const value& v, std::string_view key) {
    const value* member = find(v, key);
    return member != nullptr && member->IsString() ? view(*member) : std::string_view{};
}

inline bool flag_at(const value& v, std::string_view key) {
    const value* member = find(v, key);
    return member != nullptr && member->IsTrue();
}

/// The items of a list member; none if there is no list.
inline rapidjson::SizeType count_at(const value& v, std::string_view key) {
    const value* member = find(v, key);
    return member != nullptr && member->IsArray() ? member->Size() : 0;
}

inline std::string json_text(const value& v) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    v.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

/// Stops to write where a text has become long.
class bounded_writer : public rapidjson::Writer<rapidjson::StringBuffer> {
    using base = rapidjson::Writer<rapidjson::StringBuffer>;

public:
    static constexpr std::size_t most = 4096;

    explicit bounded_writer(rapidjson::StringBuffer& buffer) : base(buffer), buffer_(&buffer) {}

    // They hide the base's: Value::Accept is a template and calls these, and ends at a `false`.
    bool Key(const char* text, rapidjson::SizeType length, bool copy = false) {
        return base::Key(text, length, copy) && buffer_->GetSize() <= most;
    }
    bool String(const char* text, rapidjson::SizeType length, bool copy = false) {
        return base::String(text, length, copy) && buffer_->GetSize() <= most;
    }
    bool StartObject() { return base::StartObject() && buffer_->GetSize() <= most; }
    bool StartArray() { return base::StartArray() && buffer_->GetSize() <= most; }

private:
    rapidjson::StringBuffer* buffer_;
};

/// A value as JSON; of an object or a list that is long the beginning. A problem of each of its
/// items may show the whole, and all of them together must not cost more than it does.
inline std::string bounded_text(const value& v) {
    rapidjson::StringBuffer buffer;
    bounded_writer writer(buffer);
    return v.Accept(writer) ? std::string(buffer.GetString(), buffer.GetSize())
                            : std::string(buffer.GetString(), buffer.GetSize()) + "...";
}

/// A place in an object: a chain that lives on the stack of whoever walks, and becomes text only
/// where something is wrong.
class place {
public:
    /// Where the walk begins: as Kubernetes writes it (`spec`, or nothing) and as a JSON pointer.
    place(std::string_view field, std::string_view pointer) : name_(field), pointer_(pointer) {}

    place member(std::string_view name) const { return {this, kind::member, name, 0}; }
    place key(std::string_view name) const { return {this, kind::key, name, 0}; }
    place item(std::size_t index) const { return {this, kind::item, {}, index}; }

    /// `spec.containers[0].env[1].name`; keys of maps in brackets.
    std::string field() const {
        if (up_ == nullptr) {
            return std::string(name_);
        }
        std::string out = up_->field();
        switch (kind_) {
            case kind::member:
                return out + (out.empty() ? "" : ".") + std::string(name_);
            case kind::key:
                return fmt::format("{}[{}]", out, name_);
            case kind::item:
                return fmt::format("{}[{}]", out, index_);
        }
        return out;
    }

    /// The same as an RFC 6901 pointer. A name that is longer than any place is shown
    /// (make_diagnostic in jobcore/diagnostic.hpp) is cut.
    std::string pointer() const {
        if (up_ == nullptr) {
            return std::string(pointer_);
        }
        std::string out = up_->pointer() + '/';
        if (kind_ == kind::item) {
            return out + std::to_string(index_);
        }
        constexpr std::size_t longest = 1025;
        for (const char c : name_.substr(0, longest)) {
            if (c == '~' || c == '/') {
                out += c == '~' ? "~0" : "~1";
            } else {
                out += c;
            }
        }
        return out;
    }

    /// Names of members alone, as Go's decoder gives them: `spec.containers.env.name`.
    std::string members() const {
        if (up_ == nullptr) {
            return std::string(name_);
        }
        std::string out = up_->members();
        return kind_ != kind::member ? out : out + (out.empty() ? "" : ".") + std::string(name_);
    }

    /// The innermost name: of a member, or a key.
    std::string_view name() const {
        return kind_ != kind::item || up_ == nullptr ? name_ : up_->name();
    }

private:
    enum class kind { member, key, item };
    place(const place* up, kind k, std::string_view name, std::size_t index)
        : up_(up), kind_(k), name_(name), index_(index) {}

    const place* up_ = nullptr;
    kind kind_ = kind::member;
    std::string_view name_;
    std::string_view pointer_;
    std::size_t index_ = 0;
};

enum class fault {
    type,      ///< Go's decoder refuses it: 400
    unknown,   ///< no such field: pruned, warned of, or 400
    required,  ///< the rest is validation: 422
    invalid,
    unsupported,
    duplicate,
    forbidden,
    not_found,
};

struct problem {
    fault what = fault::invalid;
    std::string field;    ///< as Kubernetes writes it
    std::string pointer;  ///< JSON pointer
    std::string name;     ///< of the innermost member
    /// The bad value as JSON; of `unknown` nothing.
    std::string bad;
    /// What would be right, in Kubernetes' words. Of `type` what its decoder says, of `unknown` the
    /// type that has no such field.
    std::string detail;
    /// Of `type`: what the field holds (fields.hpp).
    std::string_view holds = {};
};

/// Keeps the first problems and counts the others, so that hostile input cannot make it large.
class problem_list {
public:
    static constexpr std::size_t limit = 256;

    bool full() {
        left_out_ += entries_.size() >= limit ? 1U : 0U;
        return entries_.size() >= limit;
    }
    void add(
        fault what,
        const place& at,
        const value* bad,
        std::string detail = {},
        std::string_view holds = {}
    ) {
        if (!full()) {
            keep(what, at, bad == nullptr ? "" : bounded_text(*bad), std::move(detail), holds);
        }
    }
    /// `bad` is JSON already.
    void add_text(
        fault what,
        const place& at,
        std::string bad,
        std::string detail = {},
        std::string_view holds = {}
    ) {
        if (!full()) {
            keep(what, at, std::move(bad), std::move(detail), holds);
        }
    }

    bool empty() const { return entries_.empty(); }
    const std::vector<problem>& entries() const { return entries_; }
    std::size_t left_out() const { return left_out_; }

private:
    void keep(
        fault what, const place& at, std::string bad, std::string detail, std::string_view holds
    ) {
        entries_.push_back(
            {what,
             at.field(),
             at.pointer(),
             std::string(at.name()),
             std::move(bad),
             std::move(detail),
             holds}
        );
    }

    std::vector<problem> entries_;
    std::size_t left_out_ = 0;
};

}  // namespace signalbox::kubernetes

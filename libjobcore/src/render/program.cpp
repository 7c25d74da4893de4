// SPDX-License-Identifier: Apache-2.0
#include "render/program.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <utility>

namespace signalbox::core {

/// Writes as RapidJSON does, but leaves a gap for a marker.
class program_writer : public rapidjson::Writer<rapidjson::StringBuffer> {
    using base = rapidjson::Writer<rapidjson::StringBuffer>;

public:
    program_writer(rapidjson::StringBuffer& buffer, const program_builder& builder, program& result)
        : base(buffer), buffer_(&buffer), builder_(&builder), result_(&result) {}

    // Hides the base's function: Value::Accept is a template and calls this one.
    bool String(const char* text, rapidjson::SizeType length, bool copy = false) {
        for (const auto& m : builder_->markers_) {
            if (text == m.identity) {
                base::String(m.prefix.data(), static_cast<rapidjson::SizeType>(m.prefix.size()));
                result_->gaps.push_back({buffer_->GetSize() - 1, m.what});  // before the quote
                return true;
            }
        }
        return base::String(text, length, copy);
    }

private:
    rapidjson::StringBuffer* buffer_;
    const program_builder* builder_;
    program* result_;
};

json::value program_builder::mark(filling what, std::string prefix) {
    markers_.push_back({{'?', '\0'}, what, std::move(prefix)});
    // A reference, not a copy: RapidJSON keeps the pointer.
    return json::value(rapidjson::StringRef(markers_.back().identity, 1));
}

program program_builder::build(const json::value& document) const {
    program result;
    rapidjson::StringBuffer buffer;
    program_writer writer(buffer, *this, result);
    document.Accept(writer);
    result.text.assign(buffer.GetString(), buffer.GetSize());
    return result;
}

}  // namespace signalbox::core

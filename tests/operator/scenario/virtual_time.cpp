// SPDX-License-Identifier: Apache-2.0
#include "scenario/virtual_time.hpp"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace signalbox::test {

std::string as_written(const std::string& job_json) {
    rapidjson::Document object;
    object.Parse(job_json.c_str());
    for (const char* field : {"uid", "resourceVersion", "generation", "creationTimestamp"}) {
        object["metadata"].RemoveMember(field);
    }
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    object.Accept(out);
    return buffer.GetString();
}

}  // namespace signalbox::test

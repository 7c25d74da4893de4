// SPDX-License-Identifier: Apache-2.0
//
// Notices changes of ConfigMaps and Secrets; keeps nothing of them.
#pragma once

#include <k8sio/object.hpp>
#include <k8sio/reflector.hpp>

#include <functional>
#include <string>
#include <utility>

namespace signalbox::op::kubelet {

class object_watch final : public k8sio::reflector_sink {
public:
    using change_function = std::function<void(const k8sio::object_key& key)>;
    explicit object_watch(change_function changed) : changed_(std::move(changed)) {}

    void upsert(std::string_view json) override { tell(json); }
    void remove(std::string_view json) override { tell(json); }

private:
    void tell(std::string_view json) const {
        if (const auto meta = k8sio::read_object_meta(json)) {
            changed_(meta->key());
        }
    }

    change_function changed_;
};

}  // namespace signalbox::op::kubelet

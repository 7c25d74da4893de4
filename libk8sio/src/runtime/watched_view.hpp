// SPDX-License-Identifier: Apache-2.0
//
// A view of a controller with its reflector.
#pragma once

#include "k8sio/controller.hpp"
#include "protocol/freshness_fsm.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::k8sio {

/// Stands between a reflector and its view, and hears what the view is told.
class watched_view final : public reflector_sink, public protocol::view_source {
public:
    class listener {
    public:
        virtual ~listener() = default;
        virtual void view_advanced() = 0;
        virtual void view_rewound() = 0;
    };

    watched_view(listener& owner, view& to, std::string name, watch_options options)
        : owner_(&owner), to_(&to), name_(std::move(name)), options_(std::move(options)) {}

    const view& to() const { return *to_; }
    const std::string& name() const { return name_; }
    const watch_options& options() const { return options_; }
    protocol::view_facts facts() const override {
        const reflector& r = *filled_by;
        return {
            to_->synced(),
            to_->seen(),
            r.synced(),
            r.doubtful(),
            !r.last_error().empty(),
            r.heard_at()};
    }

    void upsert(std::string_view object_json) override { to_->upsert(object_json); }
    void remove(std::string_view object_json) override { to_->remove(object_json); }
    void advance(std::string_view resource_version) override {
        to_->advance(resource_version);
        owner_->view_advanced();
    }
    void replace_begin() override { to_->replace_begin(); }
    void replace_item(std::string_view object_json) override { to_->replace_item(object_json); }
    void replace_end(std::string_view resource_version) override {
        to_->replace_end(resource_version);
        owner_->view_advanced();
    }
    void replace_after_rewind(std::string_view resource_version) override {
        to_->replace_after_rewind(resource_version);
        owner_->view_advanced();
    }
    void replace_abort() override { to_->replace_abort(); }
    void rewound() override {
        to_->rewound();
        owner_->view_rewound();
    }
    void clear() { to_->clear(); }

    std::unique_ptr<reflector> filled_by;
    bool ending = false;  ///< by unwatch()

private:
    listener* owner_;
    view* to_;
    std::string name_;  // two views of one type each have one
    watch_options options_;
};

}  // namespace signalbox::k8sio

// SPDX-License-Identifier: Apache-2.0
//
// A view of a controller with its reflector: what else the controller remembers of it.
#pragma once

#include "k8sio/controller.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace signalbox::k8sio {

/// Stands between a reflector and its view, and hears what the view is told.
class watched_view final : public reflector_sink {
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
    /// Passes wait for it, or for what they expect of it.
    bool counts() const { return !ending && (options_.required || to_->synced()); }
    bool is_in_doubt(steady_time now) const {
        const reflector& r = *filled_by;
        const bool aged = options_.max_age.count() > 0 && now - r.heard_at() > options_.max_age;
        // Of a type that is not served no list ends.
        const bool served = r.synced() || (options_.required && r.last_error().empty());
        return !ending && ((served && r.doubtful()) || (r.synced() && aged));
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
    void replace_abort() override { to_->replace_abort(); }
    void rewound() override {
        to_->rewound();
        owner_->view_rewound();
    }
    void clear() { to_->clear(); }

    /// False if the view was listed anew for such a reason ten seconds ago or less.
    bool note_contradiction(steady_time now) {
        const bool again = contradicted_at_ && now - *contradicted_at_ < std::chrono::seconds{10};
        if (again || ending) {
            return false;
        }
        contradicted_at_ = now;
        return true;
    }

    std::unique_ptr<reflector> filled_by;
    bool ending = false;  ///< by unwatch()

private:
    listener* owner_;
    view* to_;
    std::string name_;  // in the fence: two views of one type each have one
    watch_options options_;
    std::optional<steady_time> contradicted_at_;
};

}  // namespace signalbox::k8sio

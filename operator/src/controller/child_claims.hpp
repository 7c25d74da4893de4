// SPDX-License-Identifier: Apache-2.0
//
// What BEHAVIOUR.md says of an object that an action finds under its name: whose it is (1.8),
// whether it is the wanted one (2.7), what of it is put right (1.9, 2.7), and what the server must
// have kept (2.8, 12.12). No I/O: the library's writer asks.
#pragma once

#include "controller/options.hpp"
#include "k8sio/object_write.hpp"

#include <string>
#include <string_view>

namespace signalbox::op {

/// Of one action of a decision. What it is made of must outlive it.
class child_claims final : public k8sio::object_claims {
public:
    /// `order`: what is asked of the server.
    child_claims(
        const controller_options& options,
        const core::job_object& decided,
        const core::decision& made,
        const core::action& a,
        const k8sio::write_order& order
    );

    bool is_ours(std::string_view live) const override;
    bool is_wanted(std::string_view live) const override;
    std::string repair_of(std::string_view live, k8sio::standing found) const override;
    std::string lost_of(std::string_view answer) const override;

    /// What is_ours() was last asked of names the job as its owner, but is not by its content.
    bool has_other_content() const { return other_content_; }

private:
    std::string wanted() const;

    const controller_options* options_;
    const core::job_object* decided_;
    const core::decision* made_;
    const core::action* action_;
    mutable bool other_content_ = false;
    std::string pod_;  // as it is sent; else empty: keys of a Secret are not kept
};

}  // namespace signalbox::op

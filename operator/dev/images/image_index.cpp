// SPDX-License-Identifier: Apache-2.0
#include "images/image_index.hpp"

#include "images/trouble.hpp"
#include "pods/json_value.hpp"

#include <fmt/ranges.h>
#include <rapidjson/document.h>
#include <sys/utsname.h>

#include <algorithm>
#include <utility>

#include <fnmatch.h>

namespace signalbox::op::images {

namespace {

using pods::json_value;
using pods::member;
using pods::text;

constexpr std::string_view digest_start = "sha256:";
constexpr std::size_t digest_digits = 64;
constexpr std::size_t most_layers = 1000;

bool is_digest(std::string_view hex) {
    return hex.size() == digest_digits && std::ranges::all_of(hex, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

/// The digits of `sha256:...`, the one kind of digest that images have.
std::string digits_of(std::string_view digest, const std::string& where) {
    const bool known = digest.starts_with(digest_start);
    const std::string_view hex = digest.substr(known ? digest_start.size() : digest.size());
    if (!is_digest(hex)) {
        give_up("{}: `{}` is no digest of SHA-256", where, digest.substr(0, 100));
    }
    return std::string(hex);
}

std::string blob_name(const std::string& digits) {
    return "blobs/sha256/" + digits;
}

/// A document of JSON; `digits` is its digest, if one is known.
rapidjson::Document read_document(
    const blob_source& source,
    const std::string& name,
    const std::string& digits,
    const image_bounds& bounds
) {
    const std::string shown = source.path() + ", " + name;
    hashed_stream stream(source.open(name));
    const std::string said = read_all(stream, bounds.document, shown);
    if (const std::string is = stream.finish(); !digits.empty() && is != digits) {
        give_up("{}: it is not what it was when the image was made: its digest is {}", shown, is);
    }
    rapidjson::Document out;
    out.Parse<rapidjson::kParseIterativeFlag>(said.data(), said.size());
    if (out.HasParseError()) {
        give_up("{}: it is no JSON", shown);
    }
    return out;
}

image_config config_of(const json_value& document) {
    const json_value& from = member(document, "config");
    image_config out;
    out.entrypoint = pods::texts(member(from, "Entrypoint"));
    out.command = pods::texts(member(from, "Cmd"));
    out.working_dir = text(from, "WorkingDir");
    out.user = text(from, "User");
    for (const std::string& each : pods::texts(member(from, "Env"))) {
        const std::size_t equals = each.find('=');
        if (equals != std::string::npos && equals > 0) {
            out.env.emplace_back(each.substr(0, equals), each.substr(equals + 1));
        }
    }
    return out;
}

/// Takes configuration and digests of layers; `layers` has the blobs already.
void read_config(
    const blob_source& source,
    const std::string& name,
    const std::string& digits,
    const image_bounds& bounds,
    image_description& out
) {
    const std::string shown = source.path() + ", " + name;
    const rapidjson::Document document = read_document(source, name, digits, bounds);
    const std::vector<std::string> contents =
        pods::texts(member(member(document, "rootfs"), "diff_ids"));
    if (contents.size() != out.layers.size() || contents.empty()) {
        give_up(
            "{}: it is no image to run: {} layers, of which its configuration knows {}",
            shown,
            out.layers.size(),
            contents.size()
        );
    }
    for (std::size_t i = 0; i < contents.size(); ++i) {
        out.layers[i].content = digits_of(contents[i], shown);
    }
    const std::string_view architecture = text(document, "architecture");
    const std::string_view system = text(document, "os");
    if ((!architecture.empty() && architecture != machine_architecture()) ||
        (!system.empty() && system != "linux")) {
        give_up(
            "{}: the image is for {}/{}, this machine is linux/{}",
            source.path(),
            system,
            architecture,
            machine_architecture()
        );
    }
    out.config = config_of(document);
}

class layout_reader {
public:
    layout_reader(const blob_source& source, const image_bounds& bounds)
        : source_(source), bounds_(bounds) {}

    std::vector<image_description> read() {
        const rapidjson::Document index = read_document(source_, "index.json", "", bounds_);
        read_entries(index, {}, 1);
        if (out_.empty()) {
            give_up(
                "{}: it has no image for linux/{}{}",
                source_.path(),
                machine_architecture(),
                others_.empty() ? std::string()
                                : fmt::format("; there are: {}", fmt::join(others_, ", "))
            );
        }
        return std::move(out_);
    }

private:
    static std::vector<std::string> names_of(const json_value& descriptor) {
        const json_value& notes = member(descriptor, "annotations");
        std::vector<std::string> out;
        for (const char* key : {"io.containerd.image.name", "org.opencontainers.image.ref.name"}) {
            if (const std::string_view name = text(notes, key); !name.empty()) {
                out.emplace_back(name);
            }
        }
        return out;
    }

    /// Does the descriptor say that it is for another machine? What it is for is kept for messages.
    bool is_for_others(const json_value& descriptor) {
        const json_value& platform = member(descriptor, "platform");
        const std::string_view architecture = text(platform, "architecture");
        const std::string_view system = text(platform, "os");
        const bool mine =
            architecture.empty() || (architecture == machine_architecture() && system == "linux");
        if (!mine && architecture != "unknown") {
            others_.push_back(fmt::format("{}/{}", system, architecture));
        }
        return !mine;
    }

    void read_entries(
        const json_value& index, const std::vector<std::string>& names, std::size_t depth
    ) {
        if (depth > bounds_.index_depth) {
            give_up(
                "{}: indexes in indexes, more than {} deep", source_.path(), bounds_.index_depth
            );
        }
        pods::for_each(member(index, "manifests"), [&](const json_value& descriptor) {
            if (is_for_others(descriptor)) {
                return;
            }
            std::vector<std::string> all = names_of(descriptor);
            all.insert(all.end(), names.begin(), names.end());
            read_entry(descriptor, all, depth);
        });
    }

    void read_entry(
        const json_value& descriptor, const std::vector<std::string>& names, std::size_t depth
    ) {
        constexpr std::size_t most_documents = 1000;
        if (++documents_ > most_documents) {
            give_up("{}: it has more than {} manifests", source_.path(), most_documents);
        }
        const std::string digits = digits_of(text(descriptor, "digest"), source_.path());
        const rapidjson::Document document =
            read_document(source_, blob_name(digits), digits, bounds_);
        if (member(document, "manifests").IsArray()) {
            read_entries(document, names, depth + 1);
            return;
        }
        image_description image;
        image.names = names;
        image.id = digits_of(text(member(document, "config"), "digest"), source_.path());
        pods::for_each(member(document, "layers"), [&](const json_value& layer) {
            image_layer one;
            one.digest = digits_of(text(layer, "digest"), source_.path());
            one.blob = blob_name(one.digest);
            if (const auto size = pods::whole_number(layer, "size"); size && *size >= 0) {
                one.size = static_cast<std::uint64_t>(*size);
            }
            if (text(layer, "mediaType").ends_with("encrypted")) {
                give_up("{}: layer {} is encrypted", source_.path(), one.digest);
            }
            image.layers.push_back(std::move(one));
        });
        if (image.layers.size() > most_layers) {
            give_up("{}: it has more than {} layers", source_.path(), most_layers);
        }
        read_config(source_, blob_name(image.id), image.id, bounds_, image);
        out_.push_back(std::move(image));
    }

    const blob_source& source_;
    const image_bounds& bounds_;
    std::vector<image_description> out_;
    std::vector<std::string> others_;
    std::size_t documents_ = 0;
};

/// Where a name in `manifest.json` is its digest, as `<digest>.json` and `blobs/sha256/<digest>`
/// are: the digits.
std::string digest_in_name(const std::string& name) {
    std::string_view out = std::string_view(name).substr(name.find_last_of('/') + 1);
    out = out.substr(0, out.find('.'));
    return is_digest(out) ? std::string(out) : "";
}

std::vector<image_description> read_saved(const blob_source& source, const image_bounds& bounds) {
    const rapidjson::Document list = read_document(source, "manifest.json", "", bounds);
    std::vector<image_description> out;
    pods::for_each(list, [&](const json_value& each) {
        image_description image;
        image.names = pods::texts(member(each, "RepoTags"));
        for (const std::string& blob : pods::texts(member(each, "Layers"))) {
            // Its content is held to the configuration.
            image_layer one;
            one.blob = blob;
            image.layers.push_back(std::move(one));
        }
        if (image.layers.size() > most_layers) {
            give_up("{}: it has more than {} layers", source.path(), most_layers);
        }
        const std::string config(text(each, "Config"));
        image.id = digest_in_name(config);
        if (image.id.empty()) {
            hashed_stream stream(source.open(config));
            image.id = stream.finish();
        }
        read_config(source, config, image.id, bounds, image);
        out.push_back(std::move(image));
    });
    if (out.empty()) {
        give_up("{}: it has no image", source.path());
    }
    return out;
}

/// `1` of `example.org:5000/train:1`; `latest` if it says none.
std::string tag_of(const std::string& name) {
    const std::string full = full_image_name(name);
    return full.substr(full.find_last_of(":/") + 1);
}

bool is_named(const image_description& image, const std::string& wanted) {
    return std::ranges::any_of(image.names, [&](const std::string& name) {
        return full_image_name(name) == full_image_name(wanted) ||
               ::fnmatch(wanted.c_str(), name.c_str(), 0) == 0;
    });
}

}  // namespace

std::vector<image_description> read_images(const blob_source& source, const image_bounds& bounds) {
    if (source.has("index.json")) {
        return layout_reader(source, bounds).read();
    }
    if (source.has("manifest.json")) {
        return read_saved(source, bounds);
    }
    give_up(
        "{}: it is no image: neither an OCI layout, with index.json, nor what `docker save` and "
        "`podman save` write, with manifest.json",
        source.path()
    );
}

std::string full_image_name(std::string_view name) {
    std::string out(name);
    const std::size_t slash = out.find('/');
    const std::string host = slash == std::string::npos ? "" : out.substr(0, slash);
    const bool has_host = host == "localhost" || host.find_first_of(".:") != std::string::npos;
    if (!has_host) {
        out = (slash == std::string::npos ? "docker.io/library/" : "docker.io/") + out;
    } else if (host == "docker.io" && out.find('/', slash + 1) == std::string::npos) {
        out.insert(slash + 1, "library/");
    }
    const std::size_t last = out.find_last_of('/');
    return out.find_first_of(":@", last) == std::string::npos ? out + ":latest" : out;
}

const image_description& choose_image(
    const std::vector<image_description>& all, const std::string& wanted, const std::string& path
) {
    const auto named = [&](const image_description& i) { return is_named(i, wanted); };
    const auto tagged = [&](const image_description& i) {
        return std::ranges::find(i.names, tag_of(wanted)) != i.names.end();
    };
    auto found = std::ranges::find_if(all, named);
    found = found == all.end() ? std::ranges::find_if(all, tagged) : found;
    if (found != all.end()) {
        return *found;
    }
    if (all.size() == 1) {
        return all.front();
    }
    std::vector<std::string> names;
    for (const image_description& each : all) {
        names.push_back(each.names.empty() ? "one without a name" : each.names.front());
    }
    give_up("{}: none of its images is {}; there are: {}", path, wanted, fmt::join(names, ", "));
}

std::string machine_architecture() {
    utsname names = {};
    ::uname(&names);
    const std::string machine = names.machine;
    for (const auto& [kernel, image] :
         {std::pair{"x86_64", "amd64"},
          std::pair{"aarch64", "arm64"},
          std::pair{"armv7l", "arm"}}) {
        if (machine == kernel) {
            return image;
        }
    }
    return machine;
}

}  // namespace signalbox::op::images

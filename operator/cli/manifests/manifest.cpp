// SPDX-License-Identifier: Apache-2.0
#include "manifests/manifest.hpp"

#include "manifests/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace signalbox::op::manifests {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

limits limits_of(input kind) {
    limits out;
    if (kind == input::recording) {
        // 10,000 pods with their managedFields.
        out.max_bytes = 128u << 20;
        out.max_nodes = 8'000'000;
        out.max_documents = 20'000;
    }
    return out;
}

/// `kind: List`, and the typed lists that the API server itself gives.
bool is_list(const tree& document, node_id root) {
    const child* items = document.find(root, "items");
    return document.text_of(root, "kind").ends_with("List") && items != nullptr &&
           document.at(items->node).kind == node_kind::sequence;
}

void add_object(
    const std::shared_ptr<const tree>& document,
    node_id root,
    const std::string& file,
    read_result& out
) {
    const node& top = document->at(root);
    if (top.kind != node_kind::mapping) {
        out.errors.push_back({file, top.where, {}, "not a Kubernetes object: a mapping is expected"}
        );
        return;
    }
    if (is_list(*document, root)) {
        for (const child& item : document->at(document->find(root, "items")->node).children) {
            add_object(document, item.node, file, out);
        }
        return;
    }
    for (const char* field : {"apiVersion", "kind"}) {
        if (document->text_of(root, field).empty()) {
            out.errors.push_back(
                {file,
                 document->locate(root, fmt::format("/{}", field)),
                 fmt::format("/{}", field),
                 "missing, or no text: every Kubernetes object says its apiVersion and kind"}
            );
            return;
        }
    }
    out.objects.emplace_back(file, document, root);
}

bool has_quoted_key(std::string_view json) {
    const std::size_t second = json.find_first_not_of(" \t\r\n{[");
    return second != std::string_view::npos && second > 0 && json[second] == '"';
}

/// Without what comes before `rest`, but with its lines, so that positions stay.
std::string blanked(std::string_view text, std::size_t rest) {
    std::string out(text);
    for (char& c : std::span(out).first(rest)) {
        c = c == '\n' ? c : ' ';
    }
    return out;
}

parsed_text parse(std::string_view text, const std::string& file, const limits& bounds) {
    if (text.starts_with(byte_order_mark)) {
        text.remove_prefix(byte_order_mark.size());
    }
    if (std::optional<problem> bad = check_text(text, bounds)) {
        return {{}, {std::move(*bad)}};
    }
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (text[first] != '{' && text[first] != '[') {
        return read_yaml(text, bounds);
    }
    std::size_t rest = 0;
    parsed_text json = read_json(text, bounds, rest);
    if (rest == text.size() || file.ends_with(".json")) {
        return json;
    }
    // YAML in flow style also begins so, and YAML may follow behind `---`. If it is neither, a
    // quoted key says that it was meant as JSON.
    parsed_text yaml = rest == 0 ? read_yaml(text, bounds) : read_yaml(blanked(text, rest), bounds);
    if (!yaml.problems.empty() && has_quoted_key(text.substr(rest))) {
        return json;
    }
    yaml.documents.insert(
        yaml.documents.begin(),
        std::make_move_iterator(json.documents.begin()),
        std::make_move_iterator(json.documents.end())
    );
    return yaml;
}

/// Reads at most one byte more than is allowed, so that a huge or endless input costs no memory.
std::string read_stream(std::istream& in, input kind) {
    const std::size_t most = limits_of(kind).max_bytes + byte_order_mark.size() + 1;
    constexpr std::size_t chunk = 1u << 20;
    std::string text;
    while (in && text.size() < most) {
        const std::size_t before = text.size();
        text.resize(before + std::min(chunk, most - before));
        in.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
        text.resize(before + static_cast<std::size_t>(in.gcount()));
    }
    return text;
}

void append(read_result& into, read_result from) {
    std::ranges::move(from.objects, std::back_inserter(into.objects));
    std::ranges::move(from.errors, std::back_inserter(into.errors));
}

void read_file(const std::string& path, input kind, read_result& out) {
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    std::string text = in ? read_stream(in, kind) : std::string();
    if (!in.eof() && in.fail()) {
        const std::string reason = errno != 0 ? std::strerror(errno) : "unknown error";
        out.errors.push_back({path, {}, {}, fmt::format("cannot be read: {}", reason)});
        return;
    }
    append(out, read_text(text, path, kind));
}

void read_folder(const std::string& path, input kind, read_result& out) {
    std::error_code error;
    std::vector<std::string> files;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
        const std::string extension = it->path().extension();
        if (extension == ".yaml" || extension == ".yml" || extension == ".json") {
            files.push_back(it->path().string());
        }
    }
    if (error || files.empty()) {
        const std::string reason =
            error ? "cannot be read: " + error.message() : "no *.yaml, *.yml or *.json in it";
        out.errors.push_back({path, {}, {}, reason});
        return;
    }
    std::ranges::sort(files);
    for (const std::string& file : files) {
        read_file(file, kind, out);
    }
}

}  // namespace

manifest::manifest(std::string file, std::shared_ptr<const tree> document, node_id root)
    : file_(std::move(file)),
      document_(std::move(document)),
      root_(root),
      json_(document_->json(root)) {}

position manifest::locate(std::string_view pointer) const {
    return document_->locate(root_, pointer);
}

std::string_view manifest::metadata(std::string_view key) const {
    const child* all = document_->find(root_, "metadata");
    return all == nullptr ? std::string_view() : document_->text_of(all->node, key);
}

std::string_view manifest::name() const {
    const std::string_view name = metadata("name");
    return name.empty() ? metadata("generateName") : name;
}

read_result read_text(std::string_view text, const std::string& file, input kind) {
    read_result out;
    const limits bounds = limits_of(kind);
    parsed_text parsed = parse(text, file, bounds);
    for (problem& p : parsed.problems) {
        out.errors.push_back({file, p.where, std::move(p.pointer), std::move(p.message)});
    }
    for (tree& document : parsed.documents) {
        const auto shared = std::make_shared<const tree>(std::move(document));
        add_object(shared, shared->root(), file, out);
        if (out.errors.size() >= bounds.max_problems) {
            out.errors.push_back({file, {}, {}, "too many problems: the rest was not looked at"});
            break;
        }
    }
    if (out.objects.empty() && out.errors.empty()) {
        out.errors.push_back({file, {}, {}, "no object in it"});
    }
    return out;
}

read_result read_paths(std::span<const std::string> paths, input kind) {
    read_result out;
    for (const std::string& path : paths) {
        std::error_code error;
        if (path == "-") {
            append(out, read_text(read_stream(std::cin, kind), "<stdin>", kind));
        } else if (fs::is_directory(path, error)) {
            read_folder(path, kind, out);
        } else {
            read_file(path, kind, out);
        }
    }
    return out;
}

std::string to_text(const std::string& file, position where) {
    if (where.line == 0) {
        return file;
    }
    return fmt::format("{}:{}:{}", file, where.line, where.column);
}

std::string to_text(const read_error& error) {
    std::string out = to_text(error.file, error.where) + ": ";
    if (!error.pointer.empty()) {
        out += error.pointer + ": ";
    }
    return out + error.message;
}

}  // namespace signalbox::op::manifests

// SPDX-License-Identifier: Apache-2.0
//
// Files and environment variables for one test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace signalbox::k8sio::test {

/// A folder for one test.
class folder {
public:
    folder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "k8sio-config-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~folder() { std::filesystem::remove_all(path_); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    std::string write(const std::string& name, const std::string& text) const {
        const std::filesystem::path file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
        return file.string();
    }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

/// A variable of the environment for one test.
class environment {
public:
    environment(const char* name, const std::string& value) : name_(name) {
        const char* old = std::getenv(name);
        was_set_ = old != nullptr;
        old_ = was_set_ ? old : "";
        ::setenv(name, value.c_str(), 1);
    }
    ~environment() {
        if (was_set_) {
            ::setenv(name_, old_.c_str(), 1);
        } else {
            ::unsetenv(name_);
        }
    }
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;

private:
    const char* name_;
    bool was_set_ = false;
    std::string old_;
};

}  // namespace signalbox::k8sio::test

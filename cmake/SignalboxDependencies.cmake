# SPDX-License-Identifier: Apache-2.0
# Everything from outside, each under one name of ours, with its macros set here and nowhere else. All of it comes from
# the system (cmake/bootstrap.sh installs it); nothing is downloaded while configuring.

set(THREADS_PREFER_PTHREAD_FLAG ON)

# Warnings: linked PRIVATE by every target of ours. Whether they are errors is a preset's decision.
add_library(signalbox_warnings INTERFACE)
target_compile_options(signalbox_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
    -Woverloaded-virtual -Wimplicit-fallthrough
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wnull-dereference>
    # RapidJSON 1.1 compares its iterators in the manner of C++17.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-ambiguous-reversed-operator>
    # False alarms of GCC 12: on `const char* + std::string` (GCC PR105329, PR105651); on the frames of Asio's awaitables;
    # on operator-> of boost::system::result, also behind a check.
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-mismatched-new-delete;-Wno-null-dereference>)
# Where several units are compiled as one, a compiler sees names of other units, and GCC takes the units for headers; the
# presets without unity builds have these two warnings.
if(CMAKE_UNITY_BUILD)
    target_compile_options(signalbox_warnings INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
# Under sanitizers GCC takes standard containers and others for uninitialised: its manual says so of -Wmaybe-uninitialized.
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    # GCC says of each fence of Asio that ThreadSanitizer does not see it; its locks and atomics are seen.
    target_compile_options(signalbox_warnings INTERFACE
        $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-tsan>)
endif()

find_package(fmt 9 REQUIRED)

# Debian's RapidJSON has no target, and its headers warn.
find_path(SIGNALBOX_RAPIDJSON_INCLUDE_DIR rapidjson/document.h REQUIRED)
mark_as_advanced(SIGNALBOX_RAPIDJSON_INCLUDE_DIR)
add_library(signalbox_rapidjson INTERFACE)
target_include_directories(signalbox_rapidjson SYSTEM INTERFACE "${SIGNALBOX_RAPIDJSON_INCLUDE_DIR}")
target_compile_definitions(signalbox_rapidjson INTERFACE RAPIDJSON_HAS_STDSTRING=1)

if(SIGNALBOX_BUILD_K8SIO)
    find_package(Threads REQUIRED)
    find_package(OpenSSL 3 REQUIRED)
    find_package(Boost 1.81 CONFIG REQUIRED)
    find_package(yaml-cpp REQUIRED)
    if(NOT TARGET yaml-cpp::yaml-cpp)
        add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
    endif()

    # These macros change the meaning of Boost's headers, so every unit of a program must agree on them: they are part of
    # the public interface of signalbox::k8sio. The bodies are in libk8sio/src/transport/asio_impl.cpp.
    add_library(signalbox_boost INTERFACE)
    add_library(signalbox::boost ALIAS signalbox_boost)
    target_link_libraries(signalbox_boost INTERFACE Boost::headers Threads::Threads)
    target_compile_definitions(signalbox_boost INTERFACE
        BOOST_ASIO_SEPARATE_COMPILATION
        BOOST_BEAST_SEPARATE_COMPILATION
        BOOST_ASIO_NO_DEPRECATED)
    set_target_properties(signalbox_boost PROPERTIES EXPORT_NAME boost)
endif()

if(SIGNALBOX_BUILD_K8SIO_SERVER)
    find_package(ZLIB REQUIRED)

    # Debian's RE2 has no CMake package; users of ours link it by this name too.
    find_path(SIGNALBOX_RE2_INCLUDE_DIR re2/re2.h REQUIRED)
    find_library(SIGNALBOX_RE2_LIBRARY re2 REQUIRED)
    mark_as_advanced(SIGNALBOX_RE2_INCLUDE_DIR SIGNALBOX_RE2_LIBRARY)
endif()

if(SIGNALBOX_BUILD_OPERATOR)
    find_package(spdlog 1.10 REQUIRED)
    find_package(CLI11 2.1 REQUIRED)

    # Only the core of prometheus-cpp (registry and text format): its CMake package would ask for libcurl and civetweb.
    find_path(SIGNALBOX_PROMETHEUS_INCLUDE_DIR prometheus/registry.h REQUIRED)
    find_library(SIGNALBOX_PROMETHEUS_CORE_LIBRARY prometheus-cpp-core REQUIRED)
    mark_as_advanced(SIGNALBOX_PROMETHEUS_INCLUDE_DIR SIGNALBOX_PROMETHEUS_CORE_LIBRARY)
    add_library(signalbox_prometheus INTERFACE)
    target_include_directories(signalbox_prometheus SYSTEM INTERFACE "${SIGNALBOX_PROMETHEUS_INCLUDE_DIR}")
    target_link_libraries(signalbox_prometheus INTERFACE "${SIGNALBOX_PROMETHEUS_CORE_LIBRARY}" Threads::Threads)
endif()

if(SIGNALBOX_DEV)
    find_library(SIGNALBOX_SECCOMP_LIBRARY seccomp REQUIRED)
    mark_as_advanced(SIGNALBOX_SECCOMP_LIBRARY)

    # Of libarchive what reads tar, gzip and zstd, linked into the program: the shared library would load parsers of XML and
    # Unicode with each start, for formats that images do not have.
    find_path(SIGNALBOX_ARCHIVE_INCLUDE_DIR archive.h REQUIRED)
    find_library(SIGNALBOX_ARCHIVE_LIBRARY libarchive.a REQUIRED)
    find_library(SIGNALBOX_ZSTD_LIBRARY libzstd.a REQUIRED)
    mark_as_advanced(SIGNALBOX_ARCHIVE_INCLUDE_DIR SIGNALBOX_ARCHIVE_LIBRARY SIGNALBOX_ZSTD_LIBRARY)
    find_package(ZLIB REQUIRED)
    add_library(signalbox_archive INTERFACE)
    target_include_directories(signalbox_archive SYSTEM INTERFACE "${SIGNALBOX_ARCHIVE_INCLUDE_DIR}")
    target_link_libraries(signalbox_archive INTERFACE
        "${SIGNALBOX_ARCHIVE_LIBRARY}" "${SIGNALBOX_ZSTD_LIBRARY}" ZLIB::ZLIB)
endif()

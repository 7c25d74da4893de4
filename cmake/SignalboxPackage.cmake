# SPDX-License-Identifier: Apache-2.0
# The Debian package of the program, written by cpack from a configured build. With SOURCE_DATE_EPOCH set, the
# same program gives the same bytes.

if(NOT TARGET signalbox)
    return()
endif()

# The names by which kubectl finds the plugin and its completion.
foreach(name IN ITEMS kubectl-signalbox kubectl_complete-signalbox)
    file(CREATE_LINK signalbox "${PROJECT_BINARY_DIR}/${name}" SYMBOLIC)
    install(FILES "${PROJECT_BINARY_DIR}/${name}"
        DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT operator)
endforeach()
set(signalbox_systemd_dir "${PROJECT_SOURCE_DIR}/operator/deploy/systemd")
# Where Debian has them, whatever the prefix is: in the package alone.
install(FILES "${signalbox_systemd_dir}/signalbox.service"
    DESTINATION /lib/systemd/system COMPONENT operator_service EXCLUDE_FROM_ALL)
install(FILES "${signalbox_systemd_dir}/signalbox.default"
    DESTINATION /etc/default RENAME signalbox COMPONENT operator_service EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION /usr/share/doc/signalbox RENAME copyright COMPONENT operator_service EXCLUDE_FROM_ALL)

# Manual page and completion, printed by the program when it is packed.
if(NOT CMAKE_CROSSCOMPILING)
    set(signalbox_printed_dir "${PROJECT_BINARY_DIR}/printed")
    install(CODE "
        file(MAKE_DIRECTORY \"${signalbox_printed_dir}\")
        foreach(what IN ITEMS man bash zsh fish)
            set(words completion \${what})
            if(what STREQUAL man)
                set(words man)
            endif()
            execute_process(
                COMMAND \"$<TARGET_FILE:signalbox>\" \${words}
                OUTPUT_FILE \"${signalbox_printed_dir}/\${what}\"
                COMMAND_ERROR_IS_FATAL ANY)
        endforeach()
        execute_process(
            COMMAND gzip -9nc \"${signalbox_printed_dir}/man\"
            OUTPUT_FILE \"${signalbox_printed_dir}/man.gz\"
            COMMAND_ERROR_IS_FATAL ANY)"
        COMPONENT operator_service EXCLUDE_FROM_ALL)
    foreach(file IN ITEMS
        "man.gz>man/man1/signalbox.1.gz"
        "bash>bash-completion/completions/signalbox"
        "zsh>zsh/vendor-completions/_signalbox"
        "fish>fish/vendor_completions.d/signalbox.fish")
        string(REGEX MATCH "^(.*)>(.*)/(.*)$" parts "${file}")
        install(FILES "${signalbox_printed_dir}/${CMAKE_MATCH_1}"
            DESTINATION "/usr/share/${CMAKE_MATCH_2}" RENAME "${CMAKE_MATCH_3}"
            COMPONENT operator_service EXCLUDE_FROM_ALL)
    endforeach()
endif()

# What is packed is what was built: cpack does not build the tests first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME signalbox)
set(CPACK_PACKAGE_VENDOR "Signalbox")
set(CPACK_PACKAGE_CONTACT "Signalbox maintainers <signalbox@localhost>")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL operator operator_service)
# One package of these components, not one of each.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Runs PyTorch, DeepSpeed and Colossal-AI jobs: signalbox run. Checks, plans
and explains jobs, also without a cluster. With a kubeconfig in
/etc/signalbox the service signalbox serves a cluster from outside; it is
not enabled by itself.")
file(WRITE "${PROJECT_BINARY_DIR}/debian/conffiles" "/etc/default/signalbox\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/debian/conffiles")
include(CPack)

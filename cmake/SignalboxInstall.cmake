# SPDX-License-Identifier: Apache-2.0
# The CMake package `signalbox` with the components jobcore, jobcore_c, k8sio and k8sio_server: one export set and file for each, so that
# a user of one needs nothing of what only others need.

include(CMakePackageConfigHelpers)
set(signalbox_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/signalbox")

function(signalbox_install_component name)
    install(TARGETS ${ARGN}
        EXPORT signalbox-${name}
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${name}
        FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT ${name})
    install(EXPORT signalbox-${name}
        FILE signalbox-${name}-targets.cmake
        NAMESPACE signalbox::
        DESTINATION "${signalbox_package_dir}" COMPONENT ${name})
endfunction()

if(TARGET signalbox_jobcore)
    signalbox_install_component(jobcore signalbox_jobcore)
    install(FILES "${PROJECT_SOURCE_DIR}/libjobcore/text-api.schema.json"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/signalbox" COMPONENT jobcore)
endif()
if(TARGET signalbox_jobcore_c)
    install(TARGETS signalbox_jobcore_c
        EXPORT signalbox-jobcore_c
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT jobcore_c
        FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT jobcore_c)
    install(EXPORT signalbox-jobcore_c
        FILE signalbox-jobcore_c-targets.cmake
        NAMESPACE signalbox::
        DESTINATION "${signalbox_package_dir}" COMPONENT jobcore_c)
    install(FILES "${PROJECT_SOURCE_DIR}/libjobcore/text-api.schema.json"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/signalbox" COMPONENT jobcore_c)
    # The way from the file to the prefix: the package may be moved.
    file(RELATIVE_PATH SIGNALBOX_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    configure_file("${PROJECT_SOURCE_DIR}/libjobcore/c/jobcore.pc.in" "${PROJECT_BINARY_DIR}/signalbox-jobcore.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/signalbox-jobcore.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT jobcore_c)
endif()
if(TARGET signalbox_k8sio)
    install(TARGETS signalbox_boost EXPORT signalbox-k8sio COMPONENT k8sio)
    signalbox_install_component(k8sio signalbox_k8sio)
endif()
if(TARGET signalbox_k8sio_server)
    signalbox_install_component(k8sio_server signalbox_k8sio_server)
endif()
if(TARGET signalbox)
    install(TARGETS signalbox RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT operator)
endif()
if(TARGET signalbox_operator)
    install(TARGETS signalbox_operator
        RUNTIME DESTINATION "${CMAKE_INSTALL_SBINDIR}" COMPONENT operator_service EXCLUDE_FROM_ALL)
endif()

configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/signalbox-config.cmake.in"
    "${PROJECT_BINARY_DIR}/signalbox-config.cmake"
    INSTALL_DESTINATION "${signalbox_package_dir}"
    NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/signalbox-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
foreach(component IN ITEMS jobcore jobcore_c k8sio k8sio_server)
    install(FILES
        "${PROJECT_BINARY_DIR}/signalbox-config.cmake"
        "${PROJECT_BINARY_DIR}/signalbox-config-version.cmake"
        DESTINATION "${signalbox_package_dir}" COMPONENT ${component})
endforeach()

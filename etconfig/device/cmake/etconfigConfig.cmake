# Found where CMake has installed etconfig, or beside its sources: in a Python installation or a checkout.
if(NOT TARGET etconfig::device)
  if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/etconfigTargets.cmake")
    include("${CMAKE_CURRENT_LIST_DIR}/etconfigTargets.cmake")
  else()
    add_subdirectory("${CMAKE_CURRENT_LIST_DIR}/.." "${CMAKE_BINARY_DIR}/_etconfig" EXCLUDE_FROM_ALL)
  endif()
endif()

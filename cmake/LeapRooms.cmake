# A room is one directory of lib/ and one OBJECT library leap_<room>. Rooms depend downwards only; because they are
# OBJECT libraries, a cycle is a configure error. An executable gets the objects of only the libraries it names itself, so
# leap_program() names all rooms below the ones asked for.

add_library(leap_warnings INTERFACE)
target_compile_options(leap_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers
  $<$<BOOL:${LEAP_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(leap_warnings INTERFACE -Wno-restrict)  # false alarms on std::string
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    target_compile_options(leap_warnings INTERFACE -Wno-maybe-uninitialized)  # and on std::regex
  endif()
endif()

# leap_room(NAME [ROOMS room..] [LIBS target..]): every .cpp of the calling directory.
function(leap_room name)
  cmake_parse_arguments(ARG "" "" "ROOMS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
  add_library(leap_${name} OBJECT ${sources})
  target_sources(leap_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/lib FILES ${headers})
  target_link_libraries(leap_${name} PRIVATE leap_warnings)
  target_include_directories(leap_${name} PUBLIC ${CMAKE_SOURCE_DIR}/lib)
  foreach(room IN LISTS ARG_ROOMS)
    target_link_libraries(leap_${name} PUBLIC leap_${room})
  endforeach()
  target_link_libraries(leap_${name} PUBLIC ${ARG_LIBS})
  set_target_properties(leap_${name} PROPERTIES LEAP_ROOMS "${ARG_ROOMS}" VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

function(_leap_closure out)
  set(seen "")
  set(todo ${ARGN})
  while(todo)
    list(POP_FRONT todo room)
    if(NOT room IN_LIST seen)
      list(APPEND seen ${room})
      get_target_property(more leap_${room} LEAP_ROOMS)
      if(more)
        list(APPEND todo ${more})
      endif()
    endif()
  endwhile()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()

# leap_program(NAME SOURCES file.. ROOMS room..): an executable made of its sources and all rooms below it.
function(leap_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE leap_warnings)
  _leap_closure(rooms ${ARG_ROOMS})
  foreach(room IN LISTS rooms)
    target_link_libraries(${name} PRIVATE leap_${room})
  endforeach()
endfunction()

# leap_embed(TARGET FILE SYMBOL NAMESPACE): FILE as the string leap::NAMESPACE::SYMBOL (declare it extern const char[]).
function(leap_embed target file symbol namespace)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  file(READ ${CMAKE_CURRENT_SOURCE_DIR}/${file} text)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp)
  set(content "namespace leap::${namespace} {\nextern const char ${symbol}[];\n")
  string(APPEND content "const char ${symbol}[] = R\"leap_embed(${text})leap_embed\";\n}\n")
  file(GENERATE OUTPUT ${source} CONTENT "${content}")
  target_sources(${target} PRIVATE ${source})
endfunction()

# leap_embed_python(TARGET FILE SYMBOL): FILE compiled by the system's Python, as a .pyc file whose bytes lie from SYMBOL to
# SYMBOL_end; none where there is no such Python.
function(leap_embed_python target file symbol)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(compiled ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.pyc)
  if(EXISTS /usr/bin/python3)
    add_custom_command(OUTPUT ${compiled} DEPENDS ${source} ${CMAKE_SOURCE_DIR}/cmake/compile-python VERBATIM
      COMMAND /usr/bin/python3 -I -S ${CMAKE_SOURCE_DIR}/cmake/compile-python ${source} ${compiled})
  else()
    file(WRITE ${compiled} "")
  endif()
  add_custom_target(${symbol} DEPENDS ${compiled})
  _leap_embed_bytes(${target} ${symbol} ${compiled})
endfunction()

# leap_embed_module(TARGET FILE SYMBOL): the C source FILE compiled to a shared object, whose bytes lie from
# SYMBOL to SYMBOL_end (declare them extern "C" const char[]).
function(leap_embed_module target file symbol)
  add_library(${symbol} MODULE ${file})
  set_target_properties(${symbol} PROPERTIES PREFIX "" SUFFIX .so LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    C_STANDARD 11 C_VISIBILITY_PRESET hidden)
  target_compile_options(${symbol} PRIVATE -O2 -Wall -Wextra -Wshadow $<$<BOOL:${LEAP_WERROR}>:-Werror>)
  target_link_options(${symbol} PRIVATE -Wl,-s)
  _leap_embed_bytes(${target} ${symbol} ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.so)
endfunction()

# leap_embed_library(TARGET FILE SYMBOL): the same with a static library that g++ links into other programs.
function(leap_embed_library target file symbol)
  add_library(${symbol} STATIC ${file})
  set_target_properties(${symbol} PROPERTIES PREFIX "" SUFFIX .a ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    C_STANDARD 11)
  target_compile_options(${symbol} PRIVATE -O2 -fno-sanitize=all -Wall -Wextra -Wshadow $<$<BOOL:${LEAP_WERROR}>:-Werror>)
  _leap_embed_bytes(${target} ${symbol} ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.a)
endfunction()

function(_leap_embed_bytes target symbol file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}_bytes.cpp)
  set(content "__asm__(\".section .rodata\\n.global ${symbol}, ${symbol}_end\\n${symbol}: .incbin \\\"${file}\\\"\\n\"\n")
  string(APPEND content "        \"${symbol}_end:\\n.previous\\n\");\n")
  file(GENERATE OUTPUT ${source} CONTENT "${content}")
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${source})
  add_dependencies(${target} ${symbol})
endfunction()

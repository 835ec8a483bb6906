# Run by cmake --install for a component: what the program says of itself, and the licences of what is packed with it. A
# library without a licence is an error.
cmake_policy(SET CMP0054 NEW)  # a quoted word is never a variable's name
set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")

# keep_licence(PATTERN [FOLDER]): keeps the licence of what was unpacked at FOLDER of .deps or, without one, of the Debian
# package with the file that PATTERN names. Packages of one source have one licence, which is kept once.
function(keep_licence pattern)
  set(kept "${root}/share/doc/ptrain/licenses")
  if(ARGC EQUAL 2)
    file(GLOB found "${ARGV1}/share/doc/*/LICENSE" "${ARGV1}/*.dist-info/licenses/LICENSE*")
    file(GLOB more "${ARGV1}/share/doc/*/THIRD-PARTY-PROGRAMS")
    get_filename_component(name "${ARGV1}" NAME)
  else()
    execute_process(COMMAND dpkg-query --search "${pattern}" OUTPUT_VARIABLE name ERROR_QUIET)
    string(REGEX REPLACE "[:,].*" "" name "${name}")
    file(GLOB found "/usr/share/doc/${name}/copyright")
    set(more "")
  endif()
  if(NOT found)
    message(FATAL_ERROR "no licence found of ${pattern}: packages hold the licence of everything in them, from Debian's packages")
  endif()
  foreach(file IN LISTS found)
    get_filename_component(file "${file}" REALPATH)
    file(SHA256 "${file}" content)
    file(GLOB others "${kept}/*")
    set(known FALSE)
    foreach(other IN LISTS others)
      file(SHA256 "${other}" other_content)
      if(content STREQUAL other_content)
        set(known TRUE)
      endif()
    endforeach()
    if(NOT known)
      configure_file("${file}" "${kept}/${name}" COPYONLY)
    endif()
  endforeach()
  foreach(file IN LISTS more)
    configure_file("${file}" "${kept}/${name}-third-party" COPYONLY)
  endforeach()
endfunction()

# write_text(FILE ARGUMENTS...): what ptrain prints, as FILE below root.
function(write_text file)
  get_filename_component(folder "${root}/${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${ptrain}" ${ARGN} OUTPUT_FILE "${root}/${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY "${root}/share/doc/ptrain/licenses")
if(component STREQUAL program)
  set(zsh share/zsh/site-functions)
  if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")  # where zsh looks for a distribution's packages
    set(zsh share/zsh/vendor-completions)
  endif()
  write_text(share/bash-completion/completions/ptrain completion bash)
  write_text(${zsh}/_ptrain completion zsh)
  write_text(share/fish/vendor_completions.d/ptrain.fish completion fish)
  write_text(share/man/man1/ptrain.1 man)
  execute_process(COMMAND gzip -9nf "${root}/share/man/man1/ptrain.1" COMMAND_ERROR_IS_FATAL ANY)
  foreach(header IN LISTS compiled_in)
    keep_licence("*/include/${header}")
  endforeach()
  if(cuda)
    keep_licence(cudnn_frontend "${deps}/cudnn_frontend")
  endif()
endif()

# What Debian's policy asks for beside that.
if(component STREQUAL program AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(doc "${root}/share/doc/ptrain")
  file(WRITE "${doc}/copyright" "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ptrain
Comment: licenses/ has the licences of the libraries that are compiled in or packed.

Files: *
Copyright: 2026 the authors of ptrain
License: Apache-2.0
 On Debian systems, the full text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
")
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE "${doc}/changelog" "ptrain (${version}) unstable; urgency=medium

  * This version. CHANGELOG.md in the sources has the changes.

 -- ${maintainer}  ${date}
")
  execute_process(COMMAND gzip -9nf "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE "${root}/share/lintian/overrides/ptrain" "# There is no public address yet.\nptrain: bogus-mail-host Maintainer *
ptrain: bogus-mail-host-in-debian-changelog *\n")
endif()

# The packed libraries: no path of their own, so that they find each other by the program's; and their licences.
file(GLOB packed_files "${root}/lib/ptrain/*.so*")
foreach(library IN LISTS packed_files)
  if(IS_SYMLINK "${library}")
    continue()
  endif()
  file(RPATH_REMOVE FILE "${library}")
  execute_process(COMMAND strip --strip-unneeded "${library}" COMMAND_ERROR_IS_FATAL ANY)
  get_filename_component(name "${library}" NAME)
  if(EXISTS "${deps}/onednn/lib/${name}")
    keep_licence(${name} "${deps}/onednn")
  else()
    keep_licence("*/${name}")
  endif()
endforeach()

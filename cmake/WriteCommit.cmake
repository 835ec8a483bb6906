# cmake -DSOURCE=... -DHEADER=... -P WriteCommit.cmake: the commit being built ("-dirty" if changed) as a header.
# Every build runs it; the header changes only when the commit does.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude *
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define PTRAIN_COMMIT \"${commit}\"\n")

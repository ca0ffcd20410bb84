# How tests start programs under MPI:
# crossdock_add_mpirun_test(NAME name RANKS n COMMAND program args... ENVIRONMENT A=b...)
# More ranks than cores is normal: the launcher is told so, and waiting ranks give their core away.
set(CROSSDOCK_MPIRUN_FLAGS "" CACHE STRING "More flags for mpirun in the tests")
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE launcher_version ERROR_QUIET)
# crossdock_rendezvous_environment: messages of more than 256 bytes (MPICH: of 64 or more) are not sent before
# sender and receiver have agreed, so that a rank that does not answer shows.
if(launcher_version MATCHES "\\((Open MPI|OpenRTE)\\) ([0-9]+)")
  set(crossdock_mpirun_flags --oversubscribe --bind-to none)
  set(crossdock_mpirun_environment OMPI_MCA_mpi_yield_when_idle=1 OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  if(CMAKE_MATCH_2 LESS 5)
    list(APPEND crossdock_mpirun_environment OMPI_MCA_rmaps_base_oversubscribe=1)
    # Without single copies in shared memory it finds no windows for one-sided calls by itself: pt2pt has them
    # by messages.
    set(crossdock_rendezvous_environment OMPI_MCA_btl_vader_single_copy_mechanism=none
      OMPI_MCA_btl_vader_eager_limit=64 OMPI_MCA_btl_tcp_eager_limit=64 OMPI_MCA_osc=pt2pt,sm)
  else()
    # Its one-sided calls by UCX do not bear two threads that make windows at once. By TCP, which ranks of one machine do
    # not need, it warns of networks that lead nowhere.
    list(APPEND crossdock_mpirun_environment PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_osc=^ucx
      OMPI_MCA_btl=^tcp)
    # Its header alone has more than 64 bytes.
    set(crossdock_rendezvous_environment OMPI_MCA_pml=ob1 OMPI_MCA_smsc=^cma OMPI_MCA_btl_sm_eager_limit=128)
  endif()
elseif(launcher_version MATCHES "Intel")
  # A program built with MPICH runs on the libraries beside this launcher. Nothing makes them wait for the receiver of a
  # short message.
  cmake_path(SET intel_libraries NORMALIZE "${MPIEXEC_EXECUTABLE}/../../lib")
  set(crossdock_rendezvous_environment "")
  set(crossdock_mpirun_flags "")
  set(crossdock_mpirun_environment LD_LIBRARY_PATH=${intel_libraries} I_MPI_FABRICS=shm I_MPI_PIN=0)
else()
  set(crossdock_rendezvous_environment MPIR_CVAR_CH4_CMA_ENABLE=0 MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE=128)
  set(crossdock_mpirun_flags "")
  set(crossdock_mpirun_environment MPIR_CVAR_CH4_PROGRESS_THROTTLE=1 MPIR_CVAR_POLLS_BEFORE_YIELD=1)
endif()
list(APPEND crossdock_mpirun_flags ${CROSSDOCK_MPIRUN_FLAGS})

# What MPI itself leaks, or locks in two orders, must not hide what we do.
set(mpi_test_support ${PROJECT_SOURCE_DIR}/tests/mpi/support)
list(APPEND crossdock_mpirun_environment
  "LSAN_OPTIONS=suppressions=${mpi_test_support}/lsan.supp:print_suppressions=0"
  "TSAN_OPTIONS=suppressions=${mpi_test_support}/tsan.supp:print_suppressions=0")
if(CMAKE_CXX_FLAGS MATCHES "fsanitize=address")
  add_library(mpi_leaks MODULE ${mpi_test_support}/mpi_leaks.c)
  target_link_libraries(mpi_leaks PRIVATE MPI::MPI_C)
  target_compile_options(mpi_leaks PRIVATE -fno-sanitize=all)
  target_link_options(mpi_leaks PRIVATE -fno-sanitize=all)
  # g++ 12 takes a block of thread-local memory that happens to lie 16 bytes into a page for one with
  # a header of glibc 2.19, and its leak check then dies of what it reads there
  # (github.com/google/sanitizers/issues/1322). Only plugins of MPI have such blocks.
  # 20 ranks that each keep 256 MB of freed memory aside spend their time on page faults; 16 MB are more than a test
  # frees between two exchanges.
  list(APPEND crossdock_mpirun_environment
    LD_PRELOAD=$<TARGET_FILE:mpi_leaks> ASAN_OPTIONS=verify_asan_link_order=0:intercept_tls_get_addr=0:quarantine_size_mb=16)
endif()

# crossdock_choose_ranks(variable 1 2 5 8 20): the rank counts that a test runs with. Without sanitizers all of
# them. With sanitizers, which slow many ranks on few cores down most, 8 and 20 are left out where there is 5. 1
# stays, since one rank often takes a way of its own; so does the sparse exchange above 16 ranks: mpi/exchange
# runs on 20.
function(crossdock_choose_ranks variable)
  set(chosen ${ARGN})
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=" AND 5 IN_LIST chosen)
    list(REMOVE_ITEM chosen 8 20)
  endif()
  set(${variable} ${chosen} PARENT_SCOPE)
endfunction()

# With fewer ranks, or more, a test seldom sees what it does not see with these. Tests with other numbers have the label
# `long`, which continuous integration leaves out and `scripts/test --all` runs.
set(crossdock_usual_ranks 1 5)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(crossdock_usual_ranks 2 5)
endif()

# crossdock_build_for_long_runs(program): not by default, since no short test starts it.
add_custom_target(long_tests)
function(crossdock_build_for_long_runs program)
  set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  add_dependencies(long_tests ${program})
endfunction()

# ENVIRONMENT: more variables, as A=b. LONG and ALWAYS: with the label, or without it, whatever RANKS is.
function(crossdock_add_mpirun_test)
  cmake_parse_arguments(arg "LONG;ALWAYS" "NAME;RANKS" "COMMAND;ENVIRONMENT" ${ARGN})
  add_test(NAME ${arg_NAME} COMMAND timeout 480 ${MPIEXEC_EXECUTABLE} ${crossdock_mpirun_flags}
    ${MPIEXEC_NUMPROC_FLAG} ${arg_RANKS} ${arg_COMMAND})
  set(processors 2)
  if(arg_RANKS EQUAL 1)
    set(processors 1)
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES
    TIMEOUT 540 PROCESSORS ${processors} ENVIRONMENT "${crossdock_mpirun_environment};${arg_ENVIRONMENT}")
  if(arg_LONG OR NOT (arg_ALWAYS OR arg_RANKS IN_LIST crossdock_usual_ranks))
    set_tests_properties(${arg_NAME} PROPERTIES LABELS long)
  endif()
endfunction()

# Makefile - builds, tests and installs clshell (GNU make); see 'make help'.
# SPDX-License-Identifier: MIT

PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
DATADIR = $(PREFIX)/share/clshell
BUILD   = build
CFLAGS  = -O2 -g
LUA     = lua5.4
SAN     =

# The folders of src, each calling only those before it. cl and host make
# cl.so; edit and shell make the program around it.
sources = $(sort $(wildcard $(1:%=src/%/*.c)))
MODULE  = $(call sources,cl host)
PROGRAM = $(filter-out $(LINEEDIT_not_$(LINEEDIT)),$(call sources,edit)) \
          $(call sources,shell)
# Module mpi, where mpicc and its mpi.h are: of Open MPI, MPICH or a relative.
MPICC   = mpicc
MPIH   := $(shell command -v $(MPICC) >/dev/null && { echo '\#include <mpi.h>' | \
          $(MPICC) -E - >/dev/null 2>&1 && echo found || echo missing; })
MPI     = $(if $(filter found,$(MPIH)),$(BUILD)/mpi.so)
# The library that edits statements at the prompt; none: the terminal's lines.
LINEEDIT              = readline
LINEEDIT_not_readline = src/edit/lineedit_none.c
LINEEDIT_not_none     = $(filter-out src/edit/lineedit_none.c \
                        src/edit/statement.c,$(call sources,edit))
DATA = $(sort $(shell find lua -name '*.lua') \
       $(wildcard kernels/NOTES.md kernels/*/*.cl scripts/*.lua scripts/*/*.lua \
       scripts/*/*.cl))

# Where Lua, OpenCL and readline are. LUA_PC, the flags of each library and
# PKG_CONFIG can be given on the command line.
PKG_CONFIG = pkg-config
EXPORT     = -Wl,-E -Wl,--as-needed
SHARED     = -shared -Wl,-z,nodelete
LIBDL      = -ldl
ifeq ($(shell uname -s),Darwin)
BREW       := $(shell brew --prefix)/opt
PKG_CONFIG = env PKG_CONFIG_PATH=$(BREW)/lua@5.4/lib/pkgconfig:$\
$(BREW)/readline/lib/pkgconfig:$(PKG_CONFIG_PATH) pkg-config
OPENCL_LIBS = -framework OpenCL
EXPORT     =
SHARED     = -bundle -undefined dynamic_lookup
LIBDL      =
endif
pkg = $(shell $(PKG_CONFIG) $(1) 2>/dev/null)
ifndef LUA_PC
LUA_PC := $(firstword $(foreach p,lua5.4 lua-5.4 lua54 lua,$\
  $(if $(filter 5.4%,$(call pkg,--modversion $p)),$p)))
endif
LUA_CFLAGS      := $(call pkg,--cflags $(LUA_PC))
LUA_LIBS        := $(call pkg,--libs $(LUA_PC))
OPENCL_CFLAGS   := $(call pkg,--cflags OpenCL)
OPENCL_LIBS     ?= $(call pkg,--libs OpenCL)
ifneq ($(LINEEDIT),none)
READLINE_CFLAGS := $(call pkg,--cflags-only-I readline)
READLINE_LIBS   := $(call pkg,--libs readline)
endif

# Asserts are on in the sanitizer build.
CPPF = $(if $(SAN),,-DNDEBUG) -Isrc -D_GNU_SOURCE $(LUA_CFLAGS) $(OPENCL_CFLAGS) $(READLINE_CFLAGS) \
       $(CPPFLAGS)
CF   = -std=c11 -Wall -Wextra -Wshadow -Wstrict-prototypes \
       -Wmissing-prototypes -fPIC -pthread -MMD -MP $(SANF) $(CFLAGS)
SANF = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all \
       -fno-omit-frame-pointer)
LIBS = $(LUA_LIBS) $(OPENCL_LIBS) $(LIBDL) -lm

LIBOBJ = $(MODULE:src/%.c=$(BUILD)/%.o)
OBJ    = $(LIBOBJ) $(PROGRAM:src/%.c=$(BUILD)/%.o)
MPIOBJ = $(if $(MPI),$(patsubst src/%.c,$(BUILD)/%.o,$(call sources,mpi)))
TOOLS  = $(wildcard tests/tools/*.c)
TESTS  = $(patsubst tests/tools/%.c,$(BUILD)/tests/%,$(filter-out %layer.c, \
         $(TOOLS))) $(patsubst tests/tools/%.c,$(BUILD)/tests/%.so, \
         $(filter %layer.c,$(TOOLS))) $(BUILD)/clshell-none
CFILES = $(wildcard src/*/*.[ch] src/*/*.cpp tests/tools/*.[ch] tests/peers/*.c)

# The simulator's plugin for access and check, where Oclgrind's headers are (Debian:
# liboclgrind-dev, and g++). Its name has the version that headers lack.
OCLGRIND = $(lastword $(sort $(patsubst lib%.so,%,$(notdir $(wildcard \
           $(addsuffix /liboclgrind-*.so,/usr/lib/*-linux-gnu /usr/lib \
           /usr/local/lib /usr/lib64))))))
TRACE = $(if $(and $(OCLGRIND),$(wildcard /usr/include/oclgrind/Plugin.h \
        /usr/local/include/oclgrind/Plugin.h),$(shell command -v $(CXX))),\
        build/trace.so)

# A line such as "CC src/cl/api.c" for a command; V=1 shows the command itself.
say = $(if $(V),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,echo '$(1) $(2)';))

all: $(BUILD)/clshell build/api.lua $(TRACE) $(MPI) ## build build/clshell
	@$(if $(filter missing,$(MPIH)),echo 'clshell: $(MPICC) finds no mpi.h:' \
	  'module mpi is left out (Debian: apt-get install libopenmpi-dev)',:)
lib: $(BUILD)/cl.so build/api.lua ## build build/cl.so, the bindings for stock lua5.4
	@:
objects: $(OBJ) $(MPIOBJ) $(TESTS)

$(BUILD)/clshell: $(OBJ) $(BUILD)/ldflags
	$(call say,LD,$@)$(CC) $(CF) $(LDFLAGS) $(EXPORT) -o $@ $(OBJ) $(READLINE_LIBS) $(LIBS)

# What LINEEDIT=none builds, for its tests.
NONE = $(sort $(filter-out $(LINEEDIT_not_none:src/%.c=$(BUILD)/%.o),$(OBJ)) \
       $(BUILD)/edit/lineedit_none.o)
$(BUILD)/clshell-none: $(NONE) $(BUILD)/ldflags
	$(call say,LD,$@)$(CC) $(CF) $(LDFLAGS) $(EXPORT) -o $@ $(NONE) $(LIBS)

# The interpreter that loads it brings Lua: liblua is not linked in again. And
# it is never unloaded (nodelete), as a driver's thread may still call back.
$(BUILD)/cl.so: $(LIBOBJ) $(BUILD)/ldflags
	$(call say,LD,$@)$(CC) $(CF) $(LDFLAGS) $(SHARED) -o $@ $(LIBOBJ) $(OPENCL_LIBS) \
	  $(LIBDL) -lm

# mpicc knows where MPI is, and calls the compiler that these name.
WITHMPI = OMPI_CC='$(CC)' MPICH_CC='$(CC)' I_MPI_CC='$(CC)' $(MPICC)
$(MPIOBJ): $(BUILD)/%.o: src/%.c $(BUILD)/cflags
	@mkdir -p $(@D)
	$(call say,MPICC,$<)$(WITHMPI) $(CPPF) $(CF) -c -o $@ $<
$(BUILD)/mpi.so: $(MPIOBJ) $(BUILD)/ldflags
	$(call say,LD,$@)$(WITHMPI) $(CF) $(LDFLAGS) $(SHARED) -o $@ $(MPIOBJ)

build/trace.so: $(wildcard src/sim/*)
	@mkdir -p $(@D)
	$(call say,CXX,$@)$(CXX) -std=c++17 -fno-rtti -fPIC -O2 -Wall $(OPENCL_CFLAGS) \
	  -DCL_TARGET_OPENCL_VERSION=120 -shared -o $@ $(filter %.cpp,$^) \
	  -l$(OCLGRIND)

$(BUILD)/tests/%: tests/tools/%.c $(LIBOBJ) $(BUILD)/cflags $(BUILD)/ldflags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPF) $(CF) -MF $@.d $(LDFLAGS) $(EXPORT) -o $@ $< \
	  $(LIBOBJ) $(LIBS)

# The libraries that bench_peers.lua compares with, if installed: CLBlast (Debian:
# libclblast-dev), cuBLAS and cuSPARSE (CUDA's toolkit).
CUDA = $(patsubst %/bin/nvcc,%,$(firstword $(shell command -v nvcc) \
       $(wildcard /usr/local/cuda/bin/nvcc)))
PEERS = $(if $(wildcard $(addsuffix /clblast_c.h,/usr/include \
        /usr/local/include)),$(BUILD)/tests/peers/clblast.so) \
        $(if $(CUDA),$(BUILD)/tests/peers/cuda)
peers: all $(PEERS) ## build the peers of bench_peers.lua that are installed
	@echo 'peers: $(or $(notdir $(strip $(PEERS))),none is installed)'
$(BUILD)/tests/peers/clblast.so: tests/peers/clblast.c $(BUILD)/cflags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPF) $(CF) -MF $@.d -shared -o $@ $< -lclblast
$(BUILD)/tests/peers/cuda: tests/peers/cuda.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -O2 -Wall -Wno-deprecated-declarations -I$(CUDA)/include -o $@ $< \
	  -L$(CUDA)/lib64 -Wl,-rpath,$(CUDA)/lib64 -lcublas -lcusparse -lcudart

$(BUILD)/tests/%.so: tests/tools/%.c $(BUILD)/cflags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPF) $(CF) -MF $@.d -shared -o $@ $<

$(BUILD)/%.o: src/%.c $(BUILD)/cflags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPF) $(CF) -c -o $@ $<

# Only the file that names the data folder and the commit is built again for
# another PREFIX or commit. An archive has the commit in .ci/commit.
COMMIT := $(or $(shell [ ! -e .git ] || git describe --always --dirty \
          --abbrev=10 2>/dev/null),$(shell grep -v Format .ci/commit))
$(BUILD)/shell/home.o: CPPF += -DDATADIR='"$(DATADIR)"' -DCOMMIT='"$(COMMIT)"'
$(BUILD)/shell/home.o: $(BUILD)/datadir

# The table of the API, of the comments in C and Lua: the program makes it,
# or stock Lua where that alone is wanted.
DOCUMENTED = $(MODULE) src/shell/system.c $(call sources,mpi) \
             $(filter lua/%,$(DATA))
MAKES_API  = $(if $(filter-out lib,$(or $(MAKECMDGOALS),all)),$\
             $(BUILD)/clshell,$(LUA))
build/api.lua: src/api.lua $(DOCUMENTED) | $(filter %/clshell,$(MAKES_API))
	@mkdir -p $(@D)
	$(call say,API,$@)CLSHELL_HOME='$(CURDIR)' $(MAKES_API) src/api.lua $(DOCUMENTED) >$@

# Stamps, which change when, and only when, the flags do.
q = '$(subst ','\'',$(1))'
stamp = @mkdir -p $(@D); echo $(call q,$(1)) | cmp -s - $@ || \
  { $(2) echo $(call q,$(1)) >$@; }
$(BUILD)/cflags: FORCE
	$(call stamp,$(CC) $(CPPF) $(CF),$(if $(LIBONLY),,$(DEPS) build &&))
$(BUILD)/ldflags: FORCE
	$(call stamp,$(LDFLAGS) $(EXPORT) $(SHARED) $(READLINE_LIBS) $(LIBS) \
	  $(OBJ))
$(BUILD)/datadir: FORCE
	$(call stamp,$(DATADIR) $(COMMIT))

# .ci/deps may install packages, so what follows it is a make of its own.
DEPS = CC='$(CC)' LUA='$(LUA)' LUA_PC='$(LUA_PC)' \
       PKG_CONFIG='$(PKG_CONFIG)' LINEEDIT='$(LINEEDIT)' .ci/deps
MAKEFLAGS += --no-print-directory
LIBONLY = $(if $(filter-out lib,$(MAKECMDGOALS)),,$(filter lib,$(MAKECMDGOALS)))
# All cores for what `make run` and the tests build, unless -j is given.
CORES = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell \
        nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))

deps: ## install what building and running needs
	@$(DEPS) run
check-tools: ## install the simulator that check and access use
	@$(DEPS) simulate
mpi: ## install Open MPI, and build module mpi with it
	@$(DEPS) mpi
	@$(MAKE) all
run: deps ## install what is missing, build, run bench_tiles.lua [ARGS=]
	@$(MAKE) $(CORES) all
	@$(BUILD)/clshell scripts/bench_tiles.lua $(ARGS)
check: ## install what is missing, build, run the tests [ARGS=]
	@$(DEPS) check
	@$(MAKE) test
test: ## the same, packages left alone
	@$(MAKE) $(CORES) all lib $(TESTS)
	@CLSHELL_BUILD='$(BUILD)' LUA='$(LUA)' $(BUILD)/clshell tests/run.lua $(ARGS)
quick: ## the tests without the long files
	@$(MAKE) test ARGS='--quick $(ARGS)'
# No leak check under stock Lua: what PoCL starts there inherits the preload,
# and ld leaks. No look at thread-local memory: the leak checker crashes there
# when a driver's thread is just ending. A crash ends a process by its signal,
# as tests of crashes expect.
ASAN = protect_shadow_gap=0:allocator_may_return_null=1:handle_segv=0
LSAN = suppressions=$(CURDIR)/.ci/lsan.supp:print_suppressions=0:use_tls=0
asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(DEPS) check
	@ASAN_OPTIONS=$(ASAN) UBSAN_OPTIONS=print_stacktrace=1 \
	LSAN_OPTIONS='$(LSAN)' \
	CLSHELL_HOME='$(CURDIR)' \
	$(MAKE) test BUILD=build/asan SAN=address,undefined CFLAGS='-O1 -g' \
	  LUA="env ASAN_OPTIONS=$(ASAN):detect_leaks=0 \
	  LD_PRELOAD=`$(CC) -print-file-name=libasan.so` $(LUA)"

CLANG_FORMAT = clang-format
lint: ## formatting, gcc, clang, floors, luacheck, kernels, spelling
	@$(DEPS) lint
	@$(MAKE) -k lint-format lint-gcc lint-clang lint-floors lint-lua lint-cl \
	  lint-man lint-words
lint-format:
	$(CLANG_FORMAT) --dry-run -Werror $(CFILES)
lint-gcc lint-clang:
	$(MAKE) objects BUILD=build/$@ CC=$(@:lint-%=%) CFLAGS='-O2 -Werror'
lint-floors: lint-gcc
	$(LUA) .ci/floors.lua build/lint-gcc
lint-lua:
	luacheck --no-color -q lua scripts src tests .ci
lint-cl:
	for f in kernels/*/*.cl; do t=spir64; case $$f in */nv_*) t="nvptx64 \
	  -Xclang -cl-ext=+cl_khr_int64_base_atomics";; esac; \
	  clang -x cl -cl-std=CL1.2 -Wall -Werror -target $$t -Xclang \
	  -finclude-default-header -fsyntax-only $$f || exit 1; done
lint-man: $(BUILD)/clshell
	$(BUILD)/clshell --manual man | mandoc -Tlint
lint-words: # not tests, which misspell on purpose
	codespell -L inout *.md Makefile .ci src lua kernels scripts
format: ## format the C files
	$(CLANG_FORMAT) -i $(CFILES)

OUT = build/docs
docs: all ## build the pages for browsers, with all examples run [OUT=build/docs]
	OUT='$(OUT)' $(BUILD)/clshell --no-init -e \
	  'print(require("clshell.shell.site").build(os.getenv "OUT"), "pages")'

# The files that clshell writes itself, from its table of options: the KIND of
# --manual, and the path.
MANUALS = man:share/man/man1/clshell.1 \
          bash:share/bash-completion/completions/clshell \
          zsh:share/zsh/site-functions/_clshell \
          fish:share/fish/vendor_completions.d/clshell.fish
TO = '$(DESTDIR)$(DATADIR)'
install: all ## install under PREFIX=/usr/local, staged in DESTDIR=
	@$(MAKE) install-files
install-files:
	install -d '$(DESTDIR)$(BINDIR)' $(foreach d,$(sort $(dir $(DATA))),$(TO)/$d)
	install -m 755 $(BUILD)/clshell '$(DESTDIR)$(BINDIR)/clshell'
	for f in $(DATA); do install -m 644 $$f $(TO)/$$f || exit 1; done
	$(if $(TRACE),install -m 755 $(TRACE) $(TO)/trace.so)
	$(if $(MPI),install -m 755 $(MPI) $(TO)/mpi.so)
	install -m 644 build/api.lua $(TO)/api.lua
	[ ! -f build/docs/index.html ] || { install -d $(TO)/docs && \
	  install -m 644 build/docs/* $(TO)/docs; }
	for m in $(MANUALS); do f='$(DESTDIR)$(PREFIX)'/$${m#*:}; \
	  install -d "$${f%/*}" && $(BUILD)/clshell --manual $${m%%:*} >"$$f" && \
	  chmod 644 "$$f" || exit 1; done
uninstall: ## remove the installed files
	rm -f '$(DESTDIR)$(BINDIR)/clshell' $(DATA:%=$(TO)/%) $(TO)/api.lua \
	  $(TO)/trace.so $(TO)/mpi.so $(TO)/docs/* $(foreach m,$(MANUALS),'$(DESTDIR)$(PREFIX)/$(lastword $(subst :, ,$m))')
	-find $(TO) -depth -type d -exec rmdir {} \; 2>/dev/null

# Packages. The folder of dist and wheel has the libraries in it, and finds
# them from any place; in a Python environment also those in its lib. A test
# says that all is built, which it may not build again.
BUILT = false
VERSION = $(shell sed -n 's/.*CLSHELL_VERSION "\([^"]*\)".*/\1/p' src/cl/cl.h)
ANYWHERE = -Wl,--disable-new-dtags,-rpath,$\
'$$ORIGIN/../lib:$$ORIGIN/../share/clshell/lib'
deb: ## build build/clshell_VERSION_ARCH.deb, for Debian and Ubuntu
	@$(DEPS) package
	@$(BUILT) || $(MAKE) all
	@rm -rf build/deb
	@$(MAKE) -s install-files DESTDIR=build/deb PREFIX=/usr
	@.ci/package $@ $(VERSION)
dist wheel: ## build a tarball that runs in any folder; the same for pip
	@$(DEPS) package
	@$(BUILT) || $(MAKE) all
	@rm -rf build/tree
	@$(MAKE) -s install-files DESTDIR=build/tree PREFIX= MPI= TRACE=
	@$(CC) $(CF) $(LDFLAGS) $(EXPORT) $(ANYWHERE) -o build/tree/bin/clshell \
	  $(OBJ) $(READLINE_LIBS) $(LIBS)
	@.ci/package $@ $(VERSION)
# Intel's driver for CPUs, from Python's index, alone: kept under build.
INTEL = build/intel
$(INTEL)/icd/intel.icd:
	python3 -m venv $(INTEL)
	$(INTEL)/bin/pip -q install intel-opencl-rt intel-cmplr-lib-rt
	@mkdir -p $(@D)
	echo '$(CURDIR)/$(INTEL)/lib/libintelocl.so' >$@
check-intel: $(INTEL)/icd/intel.icd ## tests on Intel's driver for CPUs, installed under build [ARGS=]
	@OCL_ICD_VENDORS='$(CURDIR)/$(INTEL)/icd' $(MAKE) test \
	  ARGS='$(or $(ARGS),$(INTELTESTS))'
INTELTESTS = $(wildcard tests/cl/*.lua tests/arrays/*.lua tests/gemm/*.lua \
             tests/ladders/*.lua tests/spmv/*.lua tests/ladder/*.lua)
check-packages: ## the tests of these, in a bare system and from Python's index
	@$(DEPS) package
	@CLSHELL_PACKAGES=1 $(MAKE) test ARGS=tests/commands/packages.lua

compile_commands.json: FORCE ## for editors, made with bear
	bear -- $(MAKE) objects BUILD=build/bear -B
clean: ## remove all that was built
	rm -rf build compile_commands.json
help: ## this list
	@sed -n 's/^\([-a-z_. ]*\):.*## /make \1	/p' Makefile | expand -t 28

FORCE:
.PHONY: all lib objects peers deps mpi run check check-tools test quick asan lint lint-format \
  lint-gcc lint-clang lint-floors lint-lua lint-cl lint-man lint-words format docs \
  install install-files uninstall deb dist wheel \
  check-packages check-intel clean help FORCE
.DELETE_ON_ERROR:

-include $(OBJ:.o=.d) $(MPIOBJ:.o=.d) $(TESTS:=.d)

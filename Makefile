# SPDX-License-Identifier: MIT
# The way in. `make help` tells what there is.

SHELL := /bin/bash
ARCH ?= host
ifeq ($(filter host arm64,$(ARCH)),)
$(error ARCH=$(ARCH): it is host (this machine) or arm64 (the emulated board))
endif

# With it what is built counts what of it ran, for `make coverage`: on this machine all, for the board the module.
COVERAGE ?=
PROFILED := $(if $(COVERAGE),-coverage)
B := build/$(ARCH)$(if $(filter host,$(ARCH)),$(PROFILED))
PREFIX ?= /usr/local
KDIR ?= /lib/modules/$(shell uname -r)/build
CACHE := $(or $(ORK_CACHE),$(HOME)/.cache/ork)
# Of the emulated board: stock (Debian's own), or one that set-up builds from source: debug or bench.
KERNEL ?= stock
export KERNEL
# Where set-up keeps the kernels, their headers and QEMU's: absent on a board, which needs none of them.
-include $(CACHE)/env.mk
ifneq ($(KERNEL),stock)
-include $(CACHE)/env-$(KERNEL).mk
endif
-include $(CACHE)/env-teflon.mk

ifeq ($(ARCH),arm64)
CC := aarch64-linux-gnu-gcc
AR := aarch64-linux-gnu-ar
LIBDRM_CFLAGS := -I$(GUEST_ROOT)/usr/include -I$(GUEST_ROOT)/usr/include/libdrm
LIBDRM_LIBS := -L$(GUEST_ROOT)/usr/lib/aarch64-linux-gnu -ldrm
else
LIBDRM_CFLAGS := $(shell pkg-config --cflags libdrm 2>/dev/null)
LIBDRM_LIBS := $(shell pkg-config --libs libdrm 2>/dev/null)
endif

CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -MMD -MP -Iuapi $(LIBDRM_CFLAGS)
SAN := -fsanitize=address,undefined -fno-sanitize-recover=all
ifeq ($(B),build/host-coverage)
CFLAGS += -fprofile-arcs -ftest-coverage -fprofile-update=atomic
LDFLAGS += --coverage
# Tests are not: counting the turns of a loop can take many times what is done in them.
$(addprefix $(B)/,$(addsuffix /%.o,lib/san/tests lib/tsan/tests model/san/npu/tests model/san/device/tests selftests)): \
		CFLAGS += -fno-profile-arcs -fno-test-coverage
endif
# Of the guest. The one of `make modules` lies beside its sources.
GUEST := build/arm64/$(KERNEL)$(PROFILED)
GUEST_MODULE := $(GUEST)/module/drivers/accel/ork/ork.ko
INITRAMFS := $(GUEST)/initramfs.cpio
GUEST_KBUILD = -C $(GUEST_KDIR) M=$(CURDIR)/$(GUEST)/module ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- \
	ORK_TEST_MODULES=1 $(if $(filter debug,$(KERNEL)),CONFIG_DRM_ORK_KUNIT_TEST=y KCFLAGS=-g) \
	ORK_COVERAGE=$(if $(COVERAGE),y)
# A sub-make runs in parallel, unless the caller has said how.
QUIET = --no-print-directory -s $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: all run test test-ci test-full coverage setup unit unit-counted unit-uncounted unit-quick check check-unit check-static check-library check-kernels board guest vm vm-shell vm-gdb soak rocket teflon bench-kernel bench-teflon bench-host modules man install clean help FORCE
all:

# Told at once, and not by the compiler a file at a time.
ifneq ($(filter all install unit unit-counted unit-uncounted unit-quick check-unit,$(or $(MAKECMDGOALS),all)),)
ifeq ($(LIBDRM_LIBS),)
$(error libdrm is missing: apt-get install pkg-config libdrm-dev)
endif
endif

# What a part builds it adds to ALL; its host unit tests to UNIT_TESTS; the emulated board to BOARD;
# what `make install` installs to INSTALL_BIN, _LIB, _DATA, _INCLUDE, _INCLUDE_DRM, _PKGCONFIG and _MAN.
include lib/lib.mk model/model.mk tools/tools.mk selftests/teflon/teflon.mk
ifdef KSELFTEST
include selftests/selftests.mk
endif
ifdef QEMU_SRC
include model/qemu/qemu.mk
endif

all: $(ALL)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

-include $(shell [ ! -d $(B) ] || find $(B) -name '*.d')

# --- what a newcomer runs ----------------------------------------------------------------------------

run: setup
	@echo "building the board, the module, the library and the tools"
	+@$(call build_guest,$(KERNEL))
	@selftests/vm/run.sh

test test-ci test-full coverage:
	@selftests/env/setup.sh debug teflon
	@selftests/summary.sh $@

# The machine, and the kernel that is asked for: the first build of one from source takes its time.
setup:
	@selftests/env/setup.sh $(filter-out stock,$(KERNEL))

unit: $(UNIT_TESTS)
	@selftests/unit.sh $^

# The suites' tests are processes that end without leaving what they counted, and programs that count crash with the
# thread sanitizer.
UNCOUNTED := $(LIB_SUITE_TESTS) $(B)/lib/tests/test_threads_tsan

unit-counted: $(filter-out $(UNCOUNTED),$(UNIT_TESTS))
	@selftests/unit.sh $^

unit-uncounted: $(UNCOUNTED)
	@selftests/unit.sh $^

# What takes ten seconds of a CPU or more.
SLOW_TESTS := lib/tests/test_parts lib/tests/test_threads_tsan \
	$(addprefix selftests/san/,$(foreach suite,ork_matmul ork_results ork_large,$(suite) $(suite)_evict))

QUICK_TESTS := $(filter-out $(SLOW_TESTS:%=$(B)/%),$(UNIT_TESTS))

unit-quick: $(QUICK_TESTS)
	@selftests/unit.sh $^

# A test that has passed is run again when it, or the model that it loads, has changed.
PASSED := $(QUICK_TESTS:$(B)/%=$(B)/passed/%)

$(PASSED): $(B)/passed/%: $(B)/% $(B)/lib/libork-model.so.0 $(TSAN_MODEL)
	@mkdir -p $(@D)
	@selftests/unit.sh $< >$@.log || { grep -B6 '^not ok' $@.log; exit 1; }
	@touch $@

check-unit: $(PASSED)

check: setup
	@$(MAKE) $(QUIET) -k ARCH=host check-unit
	@selftests/check/check.sh --changed | (! grep -v '^\(ok\|1\.\.\)')
	@echo 'all is well'

check-kernels: setup
	@selftests/check/kernels.sh

check-static: setup
	@selftests/check/check.sh
	@selftests/check/man.sh

check-library: setup
	@selftests/check/library.sh

# --- the emulated board ------------------------------------------------------------------------------

board: $(BOARD)

guest: $(INITRAMFS)

# The board, and the guest of a kernel, by makes of their own: set-up comes before their places are known.
build_guest = $(MAKE) $(QUIET) ARCH=host board && $(MAKE) $(QUIET) ARCH=arm64 KERNEL=$(1) guest

vm vm-shell: setup
	+@$(call build_guest,$(KERNEL))
	@selftests/vm/vm.sh --kernel $(KERNEL) $(VMFLAGS) $(if $(filter vm-shell,$@),--shell -- sh,-- $(or $(TEST),run-suites))

# The guest runs TEST, or all suites, as soon as the debugger lets it.
vm-gdb:
	@selftests/env/setup.sh debug
	+@$(call build_guest,debug)
	@selftests/vm/gdb.sh $(GDBFLAGS) -- $(or $(TEST),run-suites)

# As often as REPETITIONS says.
soak: setup
	+@$(call build_guest,$(KERNEL))
	@selftests/soak.sh $(or $(REPETITIONS),30) $(TEST)

rocket:
	@selftests/env/setup.sh debug
	+@$(call build_guest,debug)
	@selftests/vm/rocket.sh

teflon:
	@selftests/env/setup.sh debug teflon
	+@$(call build_guest,debug)
	+@$(MAKE) $(QUIET) ARCH=arm64 teflon-guest
	@selftests/teflon/teflon.sh $(or $(DRIVER),ork)

bench-kernel:
	@selftests/env/setup.sh bench
	+@$(call build_guest,bench)
	@selftests/bench/bench-kernel.sh

bench-teflon:
	@selftests/env/setup.sh bench teflon
	+@$(call build_guest,bench)
	+@$(MAKE) $(QUIET) ARCH=arm64 teflon-guest
	@selftests/bench/bench-teflon.sh

bench-host: $(B)/bin/bench_host
	@$< build/bench-host.json

ifeq ($(ARCH),arm64)
$(INITRAMFS): selftests/vm/mkinitramfs.sh selftests/vm/init selftests/vm/dmesg-clean selftests/vm/load-modules $(CACHE)/env.mk $(ALL) \
		$(GUEST_MODULE)
	$< $(KERNEL) $(GUEST) $@

$(GUEST_MODULE): FORCE
	@selftests/env/module-copy.sh $(GUEST)/module
	@$(MAKE) -s $(GUEST_KBUILD) modules 2> >(grep -v 'Skipping BTF generation' >&2)
endif

# --- on a board --------------------------------------------------------------------------------------

modules:
	@[ -d $(KDIR) ] || { echo "no kernel headers in $(KDIR): install them, or say KDIR=..." >&2; exit 1; }
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

man: $(INSTALL_MAN)

install: all man
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib/pkgconfig share/ork share/man/man3 include/drm)
	install -m 755 $(INSTALL_BIN) $(DESTDIR)$(PREFIX)/bin
	cp -P $(INSTALL_LIB) $(DESTDIR)$(PREFIX)/lib
	install -m 644 $(INSTALL_PKGCONFIG) $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 $(INSTALL_DATA) $(DESTDIR)$(PREFIX)/share/ork
	install -m 644 $(INSTALL_MAN) $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 $(INSTALL_INCLUDE) $(DESTDIR)$(PREFIX)/include
	install -m 644 $(INSTALL_INCLUDE_DRM) $(DESTDIR)$(PREFIX)/include/drm
ifneq ($(wildcard drivers/accel/ork/ork.ko),)
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install $(if $(DESTDIR),INSTALL_MOD_PATH=$(DESTDIR))
endif

clean:
	rm -rf build modules.order Module.symvers .*.cmd
	find drivers -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' -o -name '.*.cmd' \
		-o -name modules.order -o -name ork_config.h | xargs rm -f

help:
	@echo 'make run           train a network on the emulated board, and print what it cost'
	@echo 'make check         unit tests and static checks of what has changed since it passed last: seconds'
	@echo 'make test          every suite where it is likeliest to fail: minutes'
	@echo 'make test-ci       every suite wherever it can tell something: half an hour'
	@echo 'make test-full     that, every mutation, and a table of what it proves: an hour'
	@echo 'make coverage      what of module, library and model the tests ran; build/coverage has the rest'
	@echo 'make unit          the host unit tests alone'
	@echo 'make check-static  the static checks alone'
	@echo 'make check-library what the built library is: its size, its symbols, and valgrind on what uses it'
	@echo 'make check-kernels builds the module against each kernel that it is for'
	@echo 'make vm TEST=NAME  one program of build/arm64/bin on the board (without TEST: all suites)'
	@echo 'make vm-shell      a shell on the board; "make vm" and this take VMFLAGS, see selftests/vm/vm.sh,'
	@echo '                   and KERNEL=debug: a newer kernel with all checkers on, built once (25 minutes)'
	@echo 'make vm-gdb        a debugger on that kernel, which runs TEST as soon as it is let'
	@echo 'make soak          the suites again and again, on more boards than CPUs, for tests that fail now and then'
	@echo "make rocket        the products of mainline's driver on the board, with that kernel"
	@echo "make teflon        somebody else's client of that interface: TensorFlow Lite with Mesa's Teflon (DRIVER=rocket)"
	@echo 'make bench-kernel  what ork costs beside that driver, on a kernel built once for it (20 minutes)'
	@echo 'make bench-teflon  what an inference of that client costs on both drivers, on that kernel'
	@echo 'make bench-host    what the CPU does for a product, beside memcpy on the same machine'
	@echo
	@echo 'make               library, tools and tests for this machine'
	@echo 'make modules       ork.ko for the running kernel, or the one with its headers in KDIR=...'
	@echo 'make man           the manual pages of the library: man build/man/man3/ork_open.3'
	@echo 'make install       library, headers, pages, tools, and the module if it is built: PREFIX=$(PREFIX), DESTDIR='
	@echo 'make clean'

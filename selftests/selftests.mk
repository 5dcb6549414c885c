# SPDX-License-Identifier: MIT
# The kselftest suites, for the emulated board and for real ones. On the host, those that use the
# library run on the NPU model as unit tests.

KERNEL_SUITES := ork_uapi ork_sync ork_submit ork_order ork_hang ork_lifetime ork_prime ork_seen ork_fail
LIB_SUITES := ork_matmul ork_cores ork_batch ork_results ork_large
SUITE_SCRIPTS := run-suites ork_kunit ork_train_gate
GOLDEN := $(addprefix $(B)/selftests/,golden.inc large.inc)

ALL += $(addprefix $(B)/bin/,$(KERNEL_SUITES) $(LIB_SUITES) $(SUITE_SCRIPTS))

# The harness is not ours to warn about.
SUITE_CFLAGS = -isystem $(KSELFTEST) -Ilib -Imodel/qemu -Imodel/npu -I$(B)/selftests

$(B)/selftests/golden.inc: selftests/golden/variants.awk selftests/golden/matmul.tsv
	@mkdir -p $(@D)
	awk -v fixture=golden -f $^ >$@

$(B)/selftests/large.inc: selftests/golden/variants.awk selftests/golden/large.tsv
	@mkdir -p $(@D)
	awk -v fixture=large -f $^ >$@

$(B)/selftests/ork/%.o: CFLAGS += $(SUITE_CFLAGS)
$(B)/selftests/ork/ork_matmul.o $(B)/selftests/ork/ork_large.o: $(GOLDEN)

$(addprefix $(B)/bin/,$(KERNEL_SUITES)): $(B)/bin/%: $(B)/selftests/ork/%.o
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(LDFLAGS) -pthread

$(addprefix $(B)/bin/,$(LIB_SUITES)): $(B)/bin/%: $(B)/selftests/ork/%.o $(B)/lib/libork.so
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib' -L$(B)/lib -lork $(LIB_LIBS) -lm

$(addprefix $(B)/bin/,$(SUITE_SCRIPTS)): $(B)/bin/%: selftests/ork/%
	@mkdir -p $(@D)
	install -m 755 $< $@

# What the CPU does beside memcpy. It looks inside the library, so it takes the static one.
ALL += $(B)/bin/bench_host

$(B)/selftests/bench-host/%.o: CFLAGS += -Ilib

$(B)/bin/bench_host: $(B)/selftests/bench-host/bench_host.o $(B)/lib/libork.a
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS) $(LIB_LIBS)

# What talks to mainline's rocket: for the emulated board, with a kernel source that has that interface. Debian's
# own kernel has none, and the debug kernel's does as well.
ROCKET_SOURCE := $(or $(KERNEL_SOURCE),$(shell sed -n 's/^KERNEL_SOURCE=//p' $(CACHE)/env-debug.mk 2>/dev/null))
ROCKET_UAPI := $(ROCKET_SOURCE)/include/uapi
ifneq ($(and $(filter arm64,$(ARCH)),$(ROCKET_SOURCE),$(wildcard $(ROCKET_UAPI)/drm/rocket_accel.h)),)
BENCH_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard selftests/bench/*.c))
BENCH_CLIENT_OBJS := $(addprefix $(B)/selftests/bench/,bench-client.o instructions.o)
ROCKET_SUITES := rocket_int8 rocket_uapi
ALL += $(addprefix $(B)/bin/,$(ROCKET_SUITES) bench bench-client bench-drivers bench-inference)

$(B)/selftests/rocket/%.o $(BENCH_OBJS): CFLAGS += $(SUITE_CFLAGS) -idirafter $(ROCKET_UAPI)
# No suite: the harness, which is for programs of one file, is as if it had been included.
$(BENCH_OBJS): CFLAGS += -D__KSELFTEST_HARNESS_H

$(addprefix $(B)/bin/,$(ROCKET_SUITES)): $(B)/bin/%: $(B)/selftests/rocket/%.o
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(LDFLAGS) -pthread

$(B)/bin/bench: $(filter-out %/bench-client.o,$(BENCH_OBJS))
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS) -Wl,--wrap=ioctl

$(B)/bin/bench-client: $(BENCH_CLIENT_OBJS)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS)

$(addprefix $(B)/bin/,bench-drivers bench-inference): $(B)/bin/%: selftests/bench/%
	@mkdir -p $(@D)
	install -m 755 $< $@
endif

ifeq ($(ARCH),host)
# Each with a cache that keeps dirty lines, and with one that evicts them at every chance.
LIB_SUITE_TESTS := $(addprefix $(B)/selftests/san/,$(LIB_SUITES) $(LIB_SUITES:%=%_evict))
UNIT_TESTS += $(LIB_SUITE_TESTS)
SUITE_SAN_CFLAGS = $(CFLAGS) $(SAN) $(SUITE_CFLAGS) -DTEST_DEVICE='"model"'

$(B)/selftests/san/%.o: selftests/ork/%.c $(GOLDEN)
	@mkdir -p $(@D)
	$(CC) $(SUITE_SAN_CFLAGS) -c -o $@ $<

$(B)/selftests/san/%_evict.o: selftests/ork/%.c $(GOLDEN)
	@mkdir -p $(@D)
	$(CC) $(SUITE_SAN_CFLAGS) -DTEST_MODEL='"cache=evict"' -c -o $@ $<

# The run path as in lib.mk, for the same reason.
$(LIB_SUITE_TESTS): %: %.o $(LIB_SRC:lib/%.c=$(B)/lib/san/%.o) | $(B)/lib/libork-model.so.0
	$(CC) $(SAN) -o $@ $^ $(LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../lib' $(LIB_LIBS) -lm

# What the products must be, computed from the formula. Only another list of products changes it.
.PHONY: golden
golden: $(B)/selftests/golden/reference.o
	$(CC) -o $(B)/selftests/golden/reference $<
	$(B)/selftests/golden/reference >selftests/golden/matmul.tsv
	$(B)/selftests/golden/reference large >selftests/golden/large.tsv
endif

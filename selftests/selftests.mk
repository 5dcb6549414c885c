# SPDX-License-Identifier: MIT
# The kselftest suites, for the emulated board and for real ones. On the host, those that use the
# library run on the NPU model as unit tests.

KERNEL_SUITES := ork_uapi ork_sync ork_submit ork_order ork_hang ork_lifetime ork_prime ork_seen
LIB_SUITES := ork_matmul ork_cores
SUITE_SCRIPTS := run-suites ork_train_gate
GOLDEN := $(B)/selftests/golden.inc

ALL += $(addprefix $(B)/bin/,$(KERNEL_SUITES) $(LIB_SUITES) $(SUITE_SCRIPTS))

# The harness is not ours to warn about.
SUITE_CFLAGS = -isystem $(KSELFTEST) -Ilib -Imodel/qemu -Imodel/npu -I$(B)/selftests

$(GOLDEN): selftests/golden/variants.awk selftests/golden/matmul.tsv
	@mkdir -p $(@D)
	awk -f $^ >$@

$(B)/selftests/ork/%.o: CFLAGS += $(SUITE_CFLAGS)
$(B)/selftests/ork/ork_matmul.o: $(GOLDEN)

$(addprefix $(B)/bin/,$(KERNEL_SUITES)): $(B)/bin/%: $(B)/selftests/ork/%.o
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(LDFLAGS) -pthread

$(addprefix $(B)/bin/,$(LIB_SUITES)): $(B)/bin/%: $(B)/selftests/ork/%.o $(B)/lib/libork.so
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib' -L$(B)/lib -lork $(LIB_LIBS) -lm

$(addprefix $(B)/bin/,$(SUITE_SCRIPTS)): $(B)/bin/%: selftests/ork/%
	@mkdir -p $(@D)
	install -m 755 $< $@

# Programs for mainline's rocket, whose interface comes with the kernel that has it.
ifneq ($(and $(KERNEL_SOURCE),$(wildcard $(KERNEL_SOURCE)/include/uapi/drm/rocket_accel.h)),)
ROCKET_PROGRAMS := rocket_int8
ALL += $(addprefix $(B)/bin/,$(ROCKET_PROGRAMS))

$(B)/selftests/rocket/%.o: CFLAGS += $(SUITE_CFLAGS) -idirafter $(KERNEL_SOURCE)/include/uapi

$(addprefix $(B)/bin/,$(ROCKET_PROGRAMS)): $(B)/bin/%: $(B)/selftests/rocket/%.o
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(LDFLAGS)
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
endif

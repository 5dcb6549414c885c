# SPDX-License-Identifier: MIT
# The NPU model (libnpu.a, which the emulated board links too), the device made of it that libork
# loads by name, and the unit tests of both.

NPU_SRC := $(wildcard model/npu/*.c)
NPU_OBJ := $(NPU_SRC:%.c=$(B)/%.o)
MODEL_DEVICE_SRC := $(wildcard model/device/*.c)
MODEL_DEVICE_OBJ := $(MODEL_DEVICE_SRC:%.c=$(B)/%.o)
MODEL_LIBS := -pthread -lm

ALL += $(B)/model/libnpu.a $(B)/lib/libork-model.so.0
INSTALL_LIB += $(B)/lib/libork-model.so.0

# Without contraction the same program gives the same bits on every host.
MODEL_CFLAGS := -fvisibility=hidden -ffp-contract=off
$(NPU_OBJ) $(MODEL_DEVICE_OBJ): CFLAGS += -O3 -fPIC $(MODEL_CFLAGS)

$(B)/model/libnpu.a: $(NPU_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

$(B)/lib/libork-model.so.0: $(MODEL_DEVICE_OBJ) $(B)/model/libnpu.a
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $^ $(LDFLAGS) -Wl,-soname,$(@F) -Wl,-z,defs $(MODEL_LIBS)

# Tests, with a model of their own that has the sanitizers in it.
ifeq ($(ARCH),host)
MODEL_TESTS = $(patsubst %.c,$(B)/model/tests/%,$(notdir $(wildcard $(1)/tests/test_*.c)))
NPU_TESTS := $(call MODEL_TESTS,model/npu)
MODEL_DEVICE_TESTS := $(call MODEL_TESTS,model/device)
NPU_SAN_OBJ := $(NPU_SRC:model/%.c=$(B)/model/san/%.o)
UNIT_TESTS += $(NPU_TESTS) $(MODEL_DEVICE_TESTS)

# To count arithmetic atomically takes twenty times as long. Without that threads lose some of each other's counts,
# on which nothing hangs but a percentage.
ifeq ($(B),build/host-coverage)
NPU_THREADED := cache.o core.o dma.o iommu.o
$(filter-out $(addprefix %/,$(NPU_THREADED)),$(NPU_OBJ) $(NPU_SAN_OBJ)): CFLAGS += -fprofile-update=single
endif

$(B)/model/san/%.o: model/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) $(MODEL_CFLAGS) -c -o $@ $<

$(NPU_TESTS): $(B)/model/tests/%: $(B)/model/san/npu/tests/%.o $(NPU_SAN_OBJ)
	@mkdir -p $(@D)
	$(CC) $(SAN) -o $@ $^ $(LDFLAGS) $(MODEL_LIBS)

$(MODEL_DEVICE_TESTS): $(B)/model/tests/%: $(B)/model/san/device/tests/%.o \
		$(NPU_SAN_OBJ) $(MODEL_DEVICE_SRC:model/%.c=$(B)/model/san/%.o)
	@mkdir -p $(@D)
	$(CC) $(SAN) -o $@ $^ $(LDFLAGS) $(MODEL_LIBS)
endif

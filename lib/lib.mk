# SPDX-License-Identifier: MIT
# libork: static and shared library, pkg-config file, host unit tests.

LIB_SRC := $(wildcard lib/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
LIB_VERSION := $(shell sed -n 's/^\#define ORK_VERSION_M[AJINOR]*[[:space:]]*//p' lib/ork.h | paste -sd.)
LIB_LIBS := $(LIBDRM_LIBS) -ldl
LIB_SO := $(B)/lib/libork.so.0 $(B)/lib/libork.so

ALL += $(B)/lib/libork.a $(LIB_SO) $(B)/lib/pkgconfig/ork.pc
INSTALL_LIB += $(B)/lib/libork.a $(LIB_SO)
INSTALL_PKGCONFIG += $(B)/lib/pkgconfig/ork.pc
INSTALL_INCLUDE += lib/ork.h
INSTALL_INCLUDE_DRM += uapi/drm/ork_drm.h uapi/drm/ork_regs.h

# Nobody replaces one of the library's functions by his own of that name: they may be inlined.
$(LIB_OBJ): CFLAGS += -fPIC -fno-semantic-interposition
# Whose loops are worth vector code, and what is called for each program.
MOVES := $(addprefix lib/,chain.o convert.o emit.o pack.o rows.o)
$(addprefix $(B)/,$(MOVES)) $(MOVES:lib/%=$(B)/lib/san/%): CFLAGS += -O3

$(B)/lib/libork.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

# The run path is for the model, which libork loads by name and which lies beside it.
$(B)/lib/libork.so.0: $(LIB_OBJ) lib/libork.map
	$(CC) -shared -o $@ $(LIB_OBJ) $(LDFLAGS) -Wl,-soname,$(@F) -Wl,-z,defs \
		-Wl,--version-script=lib/libork.map -Wl,-rpath,'$$ORIGIN' $(LIB_LIBS)

$(B)/lib/libork.so: $(B)/lib/libork.so.0
	ln -sf $(<F) $@

$(B)/lib/pkgconfig/ork.pc: lib/ork.pc.in lib/ork.h
	@mkdir -p $(@D)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(LIB_VERSION)|' $< > $@

# Manual pages, one for each function that the library exports. The page of a function has the first of the
# examples that calls it.
EXAMPLES := device bo matmul in_place weights weights_file requantise plan async batch profile trace chain
EXAMPLES_SRC := $(EXAMPLES:%=lib/examples/%.c)
INSTALL_MAN += $(shell sed -n 's|^\t\(ork_.*\);|build/man/man3/\1.3|p' lib/libork.map)

$(INSTALL_MAN): build/man/man3/%.3: lib/man.awk lib/ork.h $(EXAMPLES_SRC)
	@mkdir -p $(@D)
	awk -v page=$* -v date=$$(date -u -r lib/ork.h +%F) -v version=$(LIB_VERSION) -f lib/man.awk \
		lib/ork.h $(EXAMPLES_SRC) >$@ || { rm $@; false; }

# Tests, with a library of their own that has the sanitizers in it.
ifeq ($(ARCH),host)
LIB_TESTS := $(patsubst %.c,$(B)/%,$(wildcard lib/tests/test_*.c))
UNIT_TESTS += $(LIB_TESTS)

$(B)/lib/san/%.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) -Ilib -c -o $@ $<

# An old-style run path: the sanitizer calls dlopen() in the test's stead, so that a new-style one is not looked at.
$(LIB_TESTS): $(B)/lib/tests/%: $(B)/lib/san/tests/%.o $(LIB_SRC:lib/%.c=$(B)/lib/san/%.o)
	@mkdir -p $(@D)
	$(CC) $(SAN) -o $@ $^ $(LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/..' $(LIB_LIBS) -lm

$(LIB_TESTS): | $(B)/lib/libork-model.so.0

# Threads once more, with the thread sanitizer in the library and in a model of their own.
TSAN := -fsanitize=thread
TSAN_MODEL := $(B)/lib/tsan/libork-model.so.0
UNIT_TESTS += $(B)/lib/tests/test_threads_tsan

$(B)/lib/tsan/%.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TSAN) -Ilib -c -o $@ $<

$(B)/lib/tsan/model/%.o: model/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TSAN) -fPIC $(MODEL_CFLAGS) -c -o $@ $<

$(TSAN_MODEL): $(patsubst %.c,$(B)/lib/tsan/%.o,$(wildcard model/device/*.c model/npu/*.c))
	$(CC) $(TSAN) -shared -o $@ $^ $(LDFLAGS) -Wl,-soname,$(@F) $(MODEL_LIBS)

$(B)/lib/tests/test_threads_tsan: $(B)/lib/tsan/tests/test_threads.o $(LIB_SRC:lib/%.c=$(B)/lib/tsan/%.o) | $(TSAN_MODEL)
	@mkdir -p $(@D)
	$(CC) $(TSAN) -o $@ $^ $(LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../tsan' $(LIB_LIBS) -lm

# The examples, as a user has them but for the sanitizers, and what runs them.
SAN_EXAMPLES := $(EXAMPLES:%=$(B)/lib/tests/examples/%)
UNIT_TESTS += $(B)/lib/tests/test_examples

$(SAN_EXAMPLES): $(B)/lib/tests/examples/%: $(B)/lib/san/examples/%.o $(LIB_SRC:lib/%.c=$(B)/lib/san/%.o)
	@mkdir -p $(@D)
	$(CC) $(SAN) -o $@ $^ $(LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../..' $(LIB_LIBS)

$(B)/lib/tests/test_examples: lib/tests/test_examples.sh | $(SAN_EXAMPLES) $(B)/lib/libork-model.so.0
	@mkdir -p $(@D)
	install -m 755 $< $@

# As a user has them, for valgrind, which does not go with the sanitizers: selftests/check/library.sh. Tests look
# inside the library, so they take the static one.
PLAIN_TESTS := $(addprefix $(B)/lib/plain/,test_chain test_weights test_extents test_threads)

$(B)/lib/examples/%.o $(B)/lib/tests/%.o: CFLAGS += -Ilib

$(EXAMPLES:%=$(B)/lib/plain/%): $(B)/lib/plain/%: $(B)/lib/examples/%.o $(B)/lib/libork.so | $(B)/lib/libork-model.so.0
	@mkdir -p $(@D)
	$(CC) -o $@ $< $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/..' -L$(B)/lib -lork $(LIB_LIBS)

$(PLAIN_TESTS): $(B)/lib/plain/%: $(B)/lib/tests/%.o $(B)/lib/libork.a | $(B)/lib/libork-model.so.0
	@mkdir -p $(@D)
	$(CC) -o $@ $^ $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/..' $(LIB_LIBS) -lm
endif

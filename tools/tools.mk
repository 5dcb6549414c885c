# SPDX-License-Identifier: MIT
# The programs that people run, and the digits that ork-train learns.

TOOLS := ork-train ork-bench ork-info
ork-train_SRC := $(wildcard tools/ork-train/*.c)
ork-bench_SRC := tools/ork-bench.c
ork-info_SRC := tools/ork-info.c
TOOLS_SRC := tools/common.c $(foreach tool,$(TOOLS),$($(tool)_SRC))
# $(call tool_objects,TOOL,FOLDER)
tool_objects = $(patsubst tools/%.c,$(2)/%.o,tools/common.c $($(1)_SRC))

ALL += $(TOOLS:%=$(B)/bin/%) $(B)/data/digits.csv
INSTALL_BIN += $(TOOLS:%=$(B)/bin/%)
INSTALL_DATA += $(B)/data/digits.csv

# Without contraction the loss has the same bits on every machine.
TOOLS_CFLAGS := -Ilib -ffp-contract=off
$(TOOLS_SRC:%.c=$(B)/%.o): CFLAGS += $(TOOLS_CFLAGS)

# The run path is for the model, which libork loads by name: an old-style one, to be looked at for what others load too.
TOOLS_LIBS := -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib' $(LIBDRM_LIBS) -ldl -lm

define tool_rule
$(B)/bin/$(1): $(call tool_objects,$(1),$(B)/tools) $(B)/lib/libork.a
	@mkdir -p $$(@D)
	$$(CC) -o $$@ $$^ $$(LDFLAGS) $$(TOOLS_LIBS)
endef
$(foreach tool,$(TOOLS),$(eval $(call tool_rule,$(tool))))

# Here, so that no tool needs to unpack.
$(B)/data/digits.csv: tools/data/digits.csv.gz
	@mkdir -p $(@D)
	gzip -dc $< >$@

# Tests, and tools for test_tools to run, with the sanitizers in them.
ifeq ($(ARCH),host)
TOOLS_TESTS := $(addprefix $(B)/tools/tests/,test_half test_maths test_reference test_tools)
SAN_TOOLS := $(TOOLS:%=$(B)/tools/tests/%)
UNIT_TESTS += $(TOOLS_TESTS)

$(B)/tools/san/%.o: tools/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(SAN) $(TOOLS_CFLAGS) -c -o $@ $<

define san_tool_rule
$(B)/tools/tests/$(1): $(call tool_objects,$(1),$(B)/tools/san) $(LIB_SRC:lib/%.c=$(B)/lib/san/%.o)
	@mkdir -p $$(@D)
	$$(CC) $$(SAN) -o $$@ $$^ $$(LDFLAGS) -Wl,-rpath,'$$$$ORIGIN/../../lib' $$(TOOLS_LIBS)
endef
$(foreach tool,$(TOOLS),$(eval $(call san_tool_rule,$(tool))))

$(B)/tools/tests/test_maths: $(B)/tools/san/ork-train/maths.o
$(B)/tools/tests/test_reference: $(addprefix $(B)/tools/san/ork-train/,reference.o params.o)
$(B)/tools/tests/test_tools: | $(SAN_TOOLS) $(B)/lib/libork-model.so.0 $(B)/data/digits.csv

$(TOOLS_TESTS): $(B)/tools/tests/%: $(B)/tools/san/tests/%.o
	@mkdir -p $(@D)
	$(CC) $(SAN) -o $@ $^ $(LDFLAGS) -lm
endif

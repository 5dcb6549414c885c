# SPDX-License-Identifier: MIT
# Somebody else's client of the NPU, and what checks it, as more of the guest's root: where set-up could get it.

.PHONY: teflon-guest

ifneq ($(and $(filter arm64,$(ARCH)),$(TEFLON_ROOT)),)
TEFLON_LIBS := $(TEFLON_ROOT)/usr/lib/aarch64-linux-gnu
TEFLON_OBJS := $(patsubst %.cc,$(B)/%.o,$(wildcard selftests/teflon/*.cc))
TEFLON_CXX := aarch64-linux-gnu-g++ --sysroot=$(TEFLON_ROOT)

# The second is newer when the headers are others.
$(B)/selftests/teflon/%.o: selftests/teflon/%.cc $(CACHE)/env-teflon.mk
	@mkdir -p $(@D)
	$(TEFLON_CXX) -std=c++17 -O2 -Wall -Wextra -Werror -MMD -MP -c -o $@ $<

# With the start files and the libraries that it runs with: the cross compiler's own are older than what TensorFlow
# Lite needs. They lie in a folder of their own in the guest, so it names that one's loader.
$(B)/teflon/teflon-check: $(TEFLON_OBJS)
	@mkdir -p $(@D)
	$(TEFLON_CXX) -B$(TEFLON_LIBS) -L$(TEFLON_LIBS) -nodefaultlibs -o $@ $^ \
		-Wl,--disable-new-dtags,-rpath,/teflon/lib,-dynamic-linker,/teflon/lib/ld-linux-aarch64.so.1 \
		-Wl,-rpath-link,$(TEFLON_LIBS),--as-needed -ltensorflow-lite -l:libstdc++.so.6 -lm -l:libgcc_s.so.1 \
		-lc -l:ld-linux-aarch64.so.1 -lgcc

$(B)/teflon.cpio: selftests/teflon/mkroot.sh selftests/teflon/run-client $(B)/teflon/teflon-check $(CACHE)/env-teflon.mk
	$< $(TEFLON_ROOT) $(B)/teflon/teflon-check $@

teflon-guest: $(B)/teflon.cpio
endif

# SPDX-License-Identifier: GPL-2.0-or-later
# The emulated board: a shared object for the host's own qemu-system-aarch64 (board.c). QEMU_SRC is
# the source of exactly that QEMU, configured as its distribution did, with the headers that its
# build generates in headers/.

ifeq ($(ARCH),host)
BOARD_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard model/qemu/*.c))
BOARD += $(B)/libork-board.so

# QEMU's headers are not ours to warn about, and its callbacks take parameters that not every one of
# them needs. Nothing of ours is visible from outside: a symbol that QEMU has too would be QEMU's.
QEMU_INCLUDES := headers headers/trace include target/arm tcg tcg/i386 .
$(BOARD_OBJS): CFLAGS += -fPIC -fvisibility=hidden -Wno-unused-parameter -D_GNU_SOURCE \
	-DNEED_CPU_H -DCONFIG_TARGET='"aarch64-softmmu-config-target.h"' \
	-DCONFIG_DEVICES='"aarch64-softmmu-config-devices.h"' \
	-Imodel/npu $(addprefix -isystem $(QEMU_SRC)/,$(QEMU_INCLUDES)) \
	$(subst -I,-isystem ,$(shell pkg-config --cflags glib-2.0))

$(B)/libork-board.so: $(BOARD_OBJS) $(B)/model/libnpu.a
	$(CC) -shared -Wl,--exclude-libs,ALL -o $@ $^ $(MODEL_LIBS)
endif

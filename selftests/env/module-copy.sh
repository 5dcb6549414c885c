#!/bin/bash
# SPDX-License-Identifier: MIT
# Copies the module's sources to a folder of their own, where they are built for the guest or with other
# flags: kbuild leaves what it builds beside the sources, and what lies there is this machine's module.
# usage: module-copy.sh DIR
set -euo pipefail

dir=${1:?usage: module-copy.sh DIR}
cd "$(dirname "$0")/../.."
mkdir -p "$dir"
find Kbuild drivers uapi selftests/ork/exporter -type f ! -name '*.o' ! -name '*.ko' ! -name '*.mod*' ! -name '.*' ! -name modules.order ! -name ork_config.h \
	-exec cp -p --parents -t "$dir" {} +

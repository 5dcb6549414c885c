/* SPDX-License-Identifier: MIT */
/*
 * A model in TensorFlow Lite's file format.
 */
#ifndef TEFLON_FLATBUFFER_H
#define TEFLON_FLATBUFFER_H

#include "model.h"

std::vector<uint8_t> to_flatbuffer(const model &m);

#endif

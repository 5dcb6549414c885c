// SPDX-License-Identifier: MIT
/* B in a buffer object of its own. */
#include <errno.h>
#include <stdlib.h>
#include "moves.h"
#include "ork_private.h"

int ork_weights_create(struct ork *ork, enum ork_type type, uint32_t k, uint32_t n, struct ork_weights **out)
{
	const struct ork_type_info *info = ork_type_info(type);
	struct ork_weights_layout layout;
	struct ork_weights *weights;
	char reason[128];
	int ret;

	*out = NULL;
	if (!info)
		return ork_fail(ork, -EINVAL, "type = %d; must be 0..%d", (int)type, ORK_LAST_TYPE);
	ret = ork_weights_layout(info, k, n, &layout, reason, sizeof(reason));
	if (ret)
		return ork_fail(ork, ret, "weights: %s", reason);
	weights = calloc(1, sizeof(*weights));
	if (!weights)
		return ork_fail(ork, -ENOMEM, "no memory for weights");
	*weights = (struct ork_weights) { .ork = ork, .type = info, .k = k, .n = n, .layout = layout };
	ret = ork_bo_create(ork, layout.bytes, 0, &weights->bo);
	if (ret)
		free(weights);
	else
		*out = weights;
	return ret;
}

void ork_weights_destroy(struct ork_weights *weights)
{
	if (!weights)
		return;
	ork_bo_destroy(weights->bo);
	free(weights);
}

static const char *const names[] = {
	[ORK_ELEMENT_FP16] = "fp16",
	[ORK_ELEMENT_INT8] = "int8",
	[ORK_ELEMENT_INT4] = "int4",
};

/* Halves of a byte that an element of a source has; 0 if these weights cannot be made of such. */
static uint32_t source_nibbles(const struct ork_weights *weights, enum ork_element element)
{
	if (element == weights->type->element)
		return weights->type->in_bits / 4;
	switch (weights->type->element) {
	case ORK_ELEMENT_FP16: return element == ORK_ELEMENT_FP32 ? 8 : element == ORK_ELEMENT_BF16 ? 4 : 0;
	case ORK_ELEMENT_INT4: return element == ORK_ELEMENT_INT8 ? 2 : 0;
	default: return 0;
	}
}

/* @nibbles: of an element of @b. */
static void pack_slices(struct ork_weights *weights, struct ork_source b, uint32_t nibbles)
{
	const struct ork_weights_layout *layout = &weights->layout;
	const char *data = b.data;
	uint32_t first, k;
	char *to;

	for (first = 0; first < weights->k; first += layout->slice) {
		k = weights->k - first < layout->slice ? weights->k - first : layout->slice;
		to = (char *)weights->bo->data + ork_in_bytes(weights->type, (uint64_t)first * layout->n);
		b.data = data + (uint64_t)first * (b.transposed ? 1 : b.stride) * nibbles / 2;
		ork_pack(to, weights->type->element, &b, k, weights->n);
	}
}

int ork_weights_pack_from(struct ork_weights *weights, enum ork_element element, const void *b, size_t stride,
			  uint32_t flags)
{
	struct ork_source source = {
		.data = b, .stride = stride, .element = element, .transposed = flags & ORK_TRANSPOSED,
	};
	size_t row = source.transposed ? weights->k : weights->n;
	uint32_t nibbles = source_nibbles(weights, element);
	uint64_t begin;

	if (flags & ~ORK_TRANSPOSED)
		return ork_fail(weights->ork, -EOPNOTSUPP, "flags = 0x%x; only 0x%x is known", flags, ORK_TRANSPOSED);
	if (!nibbles)
		return ork_fail(weights->ork, -EOPNOTSUPP, "element = %d; weights of %s cannot be made of that",
				(int)element, names[weights->type->element]);
	if (element == ORK_ELEMENT_INT4 && stride % 2)
		return ork_fail(weights->ork, -EINVAL, "stride of B = %zu; must be even, for rows of int4 begin on bytes",
				stride);
	if (stride < row)
		return ork_fail(weights->ork, -EINVAL, "stride of B = %zu; must be at least %zu", stride, row);
	begin = ork_profile_begin(weights->ork);
	pack_slices(weights, source, nibbles);
	weights->dirty = true;
	ork_profile_end(weights->ork, ORK_PHASE_PACK, begin, weights->layout.bytes);
	return 0;
}

int ork_weights_pack(struct ork_weights *weights, const void *b, size_t stride, uint32_t flags)
{
	return ork_weights_pack_from(weights, weights->type->element, b, stride, flags);
}

int ork_weights_load(struct ork_weights *weights)
{
	int ret = 0;

	if (weights->dirty)
		ret = ork_bo_sync(weights->bo, DRM_ORK_EXTENT_TO_DEVICE, 0, weights->layout.bytes);
	if (!ret)
		weights->dirty = false;
	return ret;
}

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "device.h"

static bool grow(struct handles *handles)
{
	uint32_t room = handles->room ? 2 * handles->room : 16;
	void **objects = realloc(handles->objects, room * sizeof(*objects));

	if (!objects)
		return false;
	memset(objects + handles->room, 0, (room - handles->room) * sizeof(*objects));
	handles->objects = objects;
	handles->room = room;
	return true;
}

uint32_t handle_add(struct handles *handles, void *object)
{
	uint32_t i = 0;

	while (i < handles->room && handles->objects[i])
		i++;
	if (i == handles->room && !grow(handles))
		return 0;
	handles->objects[i] = object;
	return i + 1;
}

void *handle_get(const struct handles *handles, uint32_t handle)
{
	return handle - 1 < handles->room ? handles->objects[handle - 1] : NULL;
}

void *handle_remove(struct handles *handles, uint32_t handle)
{
	void *object = handle_get(handles, handle);

	if (object)
		handles->objects[handle - 1] = NULL;
	return object;
}

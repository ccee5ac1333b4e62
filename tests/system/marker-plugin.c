/* SPDX-License-Identifier: MIT */
/* marker-plugin.c - a library with markers that comes by dlopen() and goes by dlclose(). */
#include <marker/marker.h>

void plugin_run(int round);
void plugin_run(int round)
{
	MARKER_SCOPE(plugin, run, round);
	MARKER(plugin, event, round);
}

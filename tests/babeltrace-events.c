/* SPDX-License-Identifier: MIT */
#include "tests/babeltrace-events.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct sink {
	void (*on_message)(void *arg, const bt_message *message);
	void *arg;
};

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *iterator,
								  void *arg)
{
	struct sink *sink = arg;
	bt_message_array_const messages;
	uint64_t nr;

	switch (bt_message_iterator_next(iterator, &messages, &nr)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	for (uint64_t i = 0; i < nr; i++) {
		sink->on_message(sink->arg, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

static const bt_plugin *find_plugin(const char *name)
{
	const bt_plugin *plugin = NULL;

	if (bt_plugin_find(name, BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &plugin) !=
	    BT_PLUGIN_FIND_STATUS_OK)
		return NULL;
	return plugin;
}

/* All of a source's outputs into the muxer. */
static int connect_source(bt_graph *graph, const bt_component_source *source,
			  const bt_component_filter *muxer)
{
	uint64_t nr = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < nr; i++) {
		uint64_t last = bt_component_filter_get_input_port_count(muxer) - 1;

		if (bt_graph_connect_ports(
			    graph, bt_component_source_borrow_output_port_by_index_const(source, i),
			    bt_component_filter_borrow_input_port_by_index_const(muxer, last),
			    NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return -1;
	}
	return 0;
}

/* One domain's folder as a source; one that is not there is none. */
static int add_domain(bt_graph *graph, const bt_plugin *ctf, const bt_component_filter *muxer,
		      const char *dir, const char *domain)
{
	const bt_component_class_source *class =
		bt_plugin_borrow_source_component_class_by_name_const(ctf, "fs");
	bt_value *params = bt_value_map_create(), *inputs = bt_value_array_create();
	const bt_component_source *source;
	char path[4096], name[4096];
	struct stat st;
	int ret = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, domain);
	/* A component's name is its own. */
	snprintf(name, sizeof(name), "%s", path);
	if (stat(path, &st) < 0) {
		ret = 0;
	} else {
		bt_value_array_append_string_element(inputs, path);
		bt_value_map_insert_entry(params, "inputs", inputs);
		if (bt_graph_add_source_component(graph, class, name, params,
						  BT_LOGGING_LEVEL_WARNING,
						  &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK)
			ret = connect_source(graph, source, muxer);
	}
	bt_value_put_ref(inputs);
	bt_value_put_ref(params);
	return ret;
}

static int add_domains(bt_graph *graph, const bt_plugin *ctf, const bt_component_filter *muxer,
		       const char *dir)
{
	int ret = add_domain(graph, ctf, muxer, dir, "kernel");

	return ret < 0 ? ret : add_domain(graph, ctf, muxer, dir, "user");
}

static int is_part(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "part-", 5);
}

/* A trace, or all the parts it was cut into. */
static int add_trace(bt_graph *graph, const bt_plugin *ctf, const bt_component_filter *muxer,
		     const char *dir)
{
	struct dirent **parts;
	char path[4096];
	int nr = scandir(dir, &parts, is_part, alphasort), ret = 0;

	for (int i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, parts[i]->d_name);
		if (ret == 0)
			ret = add_domains(graph, ctf, muxer, path);
		free(parts[i]);
	}
	if (nr >= 0)
		free(parts);
	return nr > 0 ? ret : add_domains(graph, ctf, muxer, dir);
}

static int add_sink(bt_graph *graph, const bt_component_filter *muxer, struct sink *sink)
{
	const bt_component_sink *component;

	if (bt_graph_add_simple_sink_component(graph, "sink", NULL, consume, NULL, sink,
					       &component) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return -1;
	return bt_graph_connect_ports(
		       graph, bt_component_filter_borrow_output_port_by_index_const(muxer, 0),
		       bt_component_sink_borrow_input_port_by_index_const(component, 0),
		       NULL) == BT_GRAPH_CONNECT_PORTS_STATUS_OK
		       ? 0
		       : -1;
}

int babeltrace_read(const char *dir, void (*on_message)(void *arg, const bt_message *message),
		    void *arg)
{
	const bt_plugin *ctf = find_plugin("ctf"), *utils = find_plugin("utils");
	bt_graph *graph = bt_graph_create(0);
	const bt_component_filter *muxer = NULL;
	struct sink sink = {on_message, arg};
	int ret = -1;

	if (ctf && utils && graph &&
	    bt_graph_add_filter_component(
		    graph, bt_plugin_borrow_filter_component_class_by_name_const(utils, "muxer"),
		    "muxer", NULL, BT_LOGGING_LEVEL_WARNING,
		    &muxer) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
	    add_trace(graph, ctf, muxer, dir) == 0 && add_sink(graph, muxer, &sink) == 0 &&
	    bt_graph_run(graph) == BT_GRAPH_RUN_STATUS_OK)
		ret = 0;
	bt_graph_put_ref(graph);
	bt_plugin_put_ref(ctf);
	bt_plugin_put_ref(utils);
	return ret;
}

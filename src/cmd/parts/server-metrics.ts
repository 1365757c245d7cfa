/** The numbers of the all-in-one server: the process, its object store, and the requests for objects. */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { ServedRequest } from "#engines/embedded/http/serve-objects.ts";
import type { ObjectStore, ObjectStoreStats } from "#engines/embedded/store/object-store.ts";
import { type Metrics, prometheusMetrics } from "#lib/metrics.ts";
import { resourceName } from "#model/resource.ts";

export interface ServerMetrics {
  readonly registry: Registry;
  readonly metrics: Metrics;
  readonly onServed: (served: ServedRequest) => void;
}

export function openServerMetrics(): ServerMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = prometheusMetrics(registry);
  return { registry, metrics, onServed: countRequests(metrics) };
}

function countRequests(metrics: Metrics): (served: ServedRequest) => void {
  const labels = ["verb", "resource", "subresource"] as const;
  const requests = metrics.counter({
    name: "agentbox_api_requests_total",
    help: "Requests for objects that were answered, watches when they end",
    labels: [...labels, "code"],
  });
  const seconds = metrics.histogram({
    name: "agentbox_api_request_duration_seconds",
    help: "Time from a request for objects to the end of its answer, without watches",
    labels,
  });
  return ({ verb, type, subresource = "", code, seconds: took }) => {
    const named = { verb, resource: resourceName(type), subresource };
    requests.add({ ...named, code: String(code) });
    if (verb !== "watch") seconds.observe(named, took);
  };
}

/** Gauges that read the store when the metrics are read. */
export function followStore(metrics: Metrics, store: ObjectStore): void {
  const objects = metrics.gauge({ name: "agentbox_store_objects", help: "Objects in the store", labels: ["resource"] });
  for (const resource of Object.keys(store.stats().objects)) objects.follow({ resource }, () => store.stats().objects[resource] ?? 0);
  const single = (name: string, help: string, read: (stats: ObjectStoreStats) => number): void => {
    metrics.gauge({ name, help, labels: [] }).follow({}, () => read(store.stats()));
  };
  single("agentbox_store_revisions", "Revisions in the history of the store", (stats) => stats.revisions);
  single("agentbox_store_newest_resource_version", "Newest resourceVersion given out", (stats) => stats.newestRevision);
  single("agentbox_store_compacted_resource_version", "Watches can resume after this resourceVersion", (stats) => stats.compactedRevision);
  single("agentbox_store_watchers", "Open watches, those of this process included", (stats) => stats.watchers);
}

/**
 * Writes the Grafana dashboard of the chart from the list of panels below: `make generate`.
 * test/monitoring/metric-names.test.ts holds every name in it to what a server says at /metrics.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

interface Panel {
  readonly title: string;
  readonly says: string;
  /** One line for each: its name in the legend, and what it shows. */
  readonly lines: Readonly<Record<string, string>>;
  readonly unit?: "s" | "percentunit" | "short" | "reqps";
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** What the two choosers at the top of the page let through. */
const chosen = `namespace=~"$namespace",pool=~"$pool"`;
const creates = `agentbox_sandbox_create_total{${chosen}}`;

const quantile = (q: number, histogram: string, labels: string): string =>
  `histogram_quantile(${q}, sum by (le) (rate(${histogram}_bucket{${labels}}[$__rate_interval])))`;

const replicas = (what: string): string => `sum(agentbox_sandboxpool_replicas_${what}{${chosen}})`;

const rows: readonly Row[] = [
  {
    title: "Creates",
    panels: [
      {
        title: "Creates a second",
        says: "By result. `created`, or the code of the error that the caller got.",
        lines: { "{{result}}": `sum by (result) (rate(${creates}[$__rate_interval]))` },
        unit: "reqps",
      },
      {
        title: "Time of a create",
        says: "From the request until the sandbox was armed, where its image waited.",
        lines: Object.fromEntries(
          [0.5, 0.9, 0.99].map((q) => [`p${q * 100}`, quantile(q, "agentbox_sandbox_claim_duration_seconds", `${chosen},path="fast"`)]),
        ),
        unit: "s",
      },
      {
        title: "Creates that found no idle pod",
        says: "As a share of all creates. They wait for a pod to come.",
        lines: {
          misses: `sum(rate(agentbox_create_misses_total{${chosen}}[$__rate_interval])) / sum(rate(${creates}[$__rate_interval]))`,
        },
        unit: "percentunit",
      },
      {
        title: "What a miss costs",
        says: "How long these creates waited, or until they gave up.",
        lines: {
          p50: quantile(0.5, "agentbox_create_miss_wait_seconds", chosen),
          p99: quantile(0.99, "agentbox_create_miss_wait_seconds", chosen),
        },
        unit: "s",
      },
    ],
  },
  {
    title: "Pools and Envs",
    panels: [
      {
        title: "Pods",
        says: "What the pods of the chosen pools do.",
        lines: Object.fromEntries(["idle", "running", "starting", "stopping", "failed"].map((what) => [what, replicas(what)])),
      },
      {
        title: "Wanted and idle, by pool",
        says: "A pool without idle pods makes creates wait.",
        lines: {
          "{{pool}} wanted": `sum by (pool) (agentbox_sandboxpool_replicas_desired{${chosen}})`,
          "{{pool}} idle": `sum by (pool) (agentbox_sandboxpool_replicas_idle{${chosen}})`,
        },
      },
      {
        title: "Requests that wait",
        says: "For a pod of each pool.",
        lines: { "{{pool}}": `sum by (pool) (agentbox_schedule_waiting_requests{${chosen}})` },
      },
      {
        title: "Scaling groups: wanted and spare",
        says: "What the autoscaler wants of each group, and how much of it is kept for requests to come.",
        lines: {
          "{{sandbox_env}}/{{group}} wanted": `sum by (sandbox_env, group) (agentbox_autoscaler_wanted{namespace=~"$namespace"})`,
          "{{sandbox_env}}/{{group}} spare": `sum by (sandbox_env, group) (agentbox_autoscaler_spare{namespace=~"$namespace"})`,
        },
      },
      {
        title: "Decisions of the autoscaler",
        says: "By their reason.",
        lines: { "{{reason}}": "sum by (reason) (rate(agentbox_autoscaler_decisions_total[$__rate_interval]))" },
      },
      {
        title: "Time until a pod is idle again",
        says: "From the end of a sandbox.",
        lines: {
          p50: quantile(0.5, "agentbox_sandbox_recycle_duration_seconds", chosen),
          p99: quantile(0.99, "agentbox_sandbox_recycle_duration_seconds", chosen),
        },
        unit: "s",
      },
    ],
  },
  {
    title: "Sandboxes",
    panels: [
      {
        title: "Running sandboxes, by pool",
        says: "Claimed and armed.",
        lines: { "{{pool}}": `sum by (pool) (agentbox_sandboxpool_replicas_running{${chosen}})` },
      },
      {
        title: "Ends a second, by cause",
        says: "The status of their records.",
        lines: { "{{reason}}": `sum by (reason) (rate(agentbox_sandbox_delete_total{${chosen}}[$__rate_interval]))` },
        unit: "reqps",
      },
      {
        title: "Requests to sandboxes",
        says: "Through the gateway, by the code of the answer. Codes of programs in sandboxes are among them.",
        lines: { "{{code}}": "sum by (code) (rate(agentbox_gateway_requests_total[$__rate_interval]))" },
        unit: "reqps",
      },
      {
        title: "Open requests and connections",
        says: "At the gateways.",
        lines: { "{{kind}}": "sum by (kind) (agentbox_gateway_open)" },
      },
    ],
  },
  {
    title: "The control plane",
    panels: [
      {
        title: "Requests to the API, by code",
        says: "5xx are ours.",
        lines: { "{{code}}": "sum by (code) (rate(agentbox_http_requests_total[$__rate_interval]))" },
        unit: "reqps",
      },
      {
        title: "Loops: work that waits",
        says: "Keys in the queue of each loop.",
        lines: { "{{queue}}": "sum by (queue) (agentbox_workqueue_depth)" },
      },
      {
        title: "Loops: runs that failed",
        says: "They are tried again; the log says why.",
        lines: { "{{queue}}": "sum by (queue) (rate(agentbox_workqueue_retries_total[$__rate_interval]))" },
      },
      {
        title: "Records that the database did not take",
        says: "Later: tried again. Refused: logged and given up.",
        lines: { "{{result}}": "sum by (result) (increase(agentbox_history_write_failures_total[$__rate_interval]))" },
      },
      {
        title: "Processor of each process",
        says: "Seconds of a processor a second.",
        lines: { "{{instance}}": `rate(process_cpu_seconds_total{job=~".*agentbox.*"}[$__rate_interval])` },
      },
      {
        title: "Delay of the event loop",
        says: "p99 of each process. Above 100 ms every request is late.",
        lines: { "{{instance}}": `nodejs_eventloop_lag_p99_seconds{job=~".*agentbox.*"}` },
        unit: "s",
      },
    ],
  },
];

const source = { type: "prometheus", uid: "${datasource}" };
const panelsAcross = 2;
const size = { w: 24 / panelsAcross, h: 8 };

interface Place {
  readonly id: number;
  readonly x: number;
  readonly y: number;
}

function panelJson({ title, says, lines, unit = "short" }: Panel, { id, x, y }: Place): object {
  return {
    id,
    title,
    description: says,
    type: "timeseries",
    datasource: source,
    gridPos: { ...size, x, y },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } },
    targets: Object.entries(lines).map(([legendFormat, expr], at) => ({ refId: String.fromCodePoint(65 + at), expr, legendFormat })),
  };
}

function chooser(name: string, label: string): object {
  const query = `label_values(agentbox_sandboxpool_replicas_desired, ${label})`;
  return {
    name,
    type: "query",
    datasource: source,
    query,
    refresh: 2,
    includeAll: true,
    allValue: ".*",
    multi: true,
    current: { value: "$__all" },
  };
}

export function dashboard(): object {
  const panels: object[] = [];
  let y = 0;
  let id = 0;
  for (const { title, panels: own } of rows) {
    panels.push({ id: 1000 + y, title, type: "row", collapsed: false, gridPos: { x: 0, y, w: 24, h: 1 }, panels: [] });
    y += 1;
    for (const [at, panel] of own.entries()) {
      id += 1;
      const place = { id, x: (at % panelsAcross) * size.w, y: y + Math.floor(at / panelsAcross) * size.h };
      panels.push(panelJson(panel, place));
    }
    y += Math.ceil(own.length / panelsAcross) * size.h;
  }
  return {
    uid: "agentbox",
    title: "AgentBox",
    tags: ["agentbox"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    templating: {
      list: [{ name: "datasource", type: "datasource", query: "prometheus" }, chooser("namespace", "namespace"), chooser("pool", "pool")],
    },
    panels,
  };
}

export const dashboardFile = fileURLToPath(new URL("../deploy/chart/files/monitoring/dashboard.json", import.meta.url));

export const dashboardText = (): string => `${JSON.stringify(dashboard(), null, 2)}\n`;

if (import.meta.main) {
  writeFileSync(dashboardFile, dashboardText());
  console.log("the dashboard is written to deploy/chart/files/monitoring/dashboard.json");
}

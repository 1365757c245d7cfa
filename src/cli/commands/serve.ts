import type { Command } from "../command.ts";
import { type CliContext, type ServePart, serveParts, type ServePartsRequest } from "../context.ts";
import { UsageError } from "../failure.ts";
import { type Arguments, orList } from "../flags.ts";
import { certificateOf, durationOf, type Given, given, isDnsName, limitFlags, limitsOf, portOf } from "../server-settings.ts";

const defaults = {
  host: "0.0.0.0",
  port: 8080,
  gatewayPort: 8081,
  tlsPort: 8443,
  healthPort: 9090,
  domain: "agentbox.localhost",
  cgroupRoot: "/sys/fs/cgroup",
};

export const serve: Command = {
  usage: ["serve PART… [CLUSTER] [ADDRESSES] [LIMITS]"],
  about:
    "Runs parts of AgentBox for a Kubernetes cluster until it is told to end (SIGTERM, Ctrl-C); a second signal ends it at once.\n" +
    "  api          the APIs; any number of processes, all of them at work\n" +
    "  controllers  keeps pools and ends sandboxes; of any number of processes one works and the others stand by\n" +
    "  gateway      the way into sandboxes; any number of processes, all of them at work\n" +
    "  node         pauses the sandboxes of one node, which it runs on as root; alone in its process\n" +
    "Log lines go to standard output as JSON. Health and metrics are at the health port: /healthz, /readyz, /metrics.\n" +
    "DATABASE_URL says where ended sandboxes are kept: postgres://…, which api and controllers need when they are not in one process.\n" +
    "OTEL_EXPORTER_OTLP_ENDPOINT switches tracing on.",
  examples: [
    { does: "One process of each, as in a Deployment", line: "agentbox serve api" },
    {
      does: "All in one, from outside the cluster",
      line: "agentbox serve api controllers gateway --kubeconfig admin.conf --namespace agentbox",
    },
  ],
  flags: {
    kubeconfig: { value: "FILE", help: "How the cluster is reached (default: KUBECONFIG, or as the pod that this runs in)" },
    namespace: {
      value: "NAME",
      help: "AgentBox's own: keys, leases (default: AGENTBOX_NAMESPACE, or where the pod or the kubeconfig's context is)",
    },
    "pool-namespace": {
      value: "NAME",
      help: "Where pools are when nobody says where (default: AGENTBOX_POOL_NAMESPACE, --only-namespace, or default)",
    },
    "only-namespace": {
      value: "NAME",
      help: "Look after the pools of one namespace and no others (default: AGENTBOX_ONLY_NAMESPACE, or the whole cluster)",
    },
    "cluster-id": {
      value: "NAME",
      help: "Which entry of an Env's clusters is this cluster's (default: AGENTBOX_CLUSTER_ID; without one Envs are not kept)",
    },
    "daemon-image": {
      value: "IMAGE",
      help: "What brings the daemon into sandboxes (default: AGENTBOX_DAEMON_IMAGE; needed by api and controllers)",
    },
    "node-name": { value: "NAME", help: "With node: which node this is (default: AGENTBOX_NODE_NAME)" },
    "cgroup-root": {
      value: "FOLDER",
      help: `With node: where the node's control groups are mounted (default: AGENTBOX_CGROUP_ROOT or ${defaults.cgroupRoot})`,
    },
    listen: { value: "ADDRESS", help: `Address to listen at (default: AGENTBOX_LISTEN or ${defaults.host})` },
    port: { short: "p", value: "PORT", help: `Port of the APIs (default: AGENTBOX_PORT or ${defaults.port}; 0: any free one)` },
    "gateway-port": { value: "PORT", help: `Port of the gateway, plain (default: AGENTBOX_GATEWAY_PORT or ${defaults.gatewayPort})` },
    "gateway-tls-port": {
      value: "PORT",
      help: `… and encrypted, with --tls-cert (default: AGENTBOX_GATEWAY_TLS_PORT or ${defaults.tlsPort})`,
    },
    "health-port": {
      value: "PORT",
      help: `Port of health and metrics, of every part (default: AGENTBOX_HEALTH_PORT or ${defaults.healthPort})`,
    },
    domain: {
      value: "NAME",
      help: `Sandboxes are <port>-<id>.NAME; with :PORT if clients need one (default: AGENTBOX_DOMAIN or ${defaults.domain})`,
    },
    "api-address": {
      value: "HOST:PORT",
      help: "Where a gateway finds the API, which it shows as api.DOMAIN (default: AGENTBOX_API_ADDRESS, or its own process)",
    },
    "tls-cert": { value: "FILE", help: "Certificate for *.DOMAIN in PEM (default: AGENTBOX_TLS_CERT; without one nothing is encrypted)" },
    "tls-key": { value: "FILE", help: "… and its key (default: AGENTBOX_TLS_KEY)" },
    "stream-grace": {
      value: "DURATION",
      help: "How long a gateway that ends lets streams go on (default: AGENTBOX_STREAM_GRACE or 20s)",
    },
    ...limitFlags,
  },
  run: (context, args) => context.serveParts(requestOf(context, args)),
};

function requestOf(context: CliContext, args: Arguments): ServePartsRequest {
  const parts = partsOf(args.words);
  const text = (flag: string): string | undefined => given(context, args, flag).text;
  const port = (flag: string, usual: number): number => portOf(context, args, flag) ?? usual;
  const databaseUrl = context.env["DATABASE_URL"] === "" ? undefined : context.env["DATABASE_URL"];
  const daemonImage = text("daemon-image");
  const node = nodeOf(parts, text("node-name"), text("cgroup-root"));
  checkTogether(parts, { databaseUrl, daemonImage });
  return {
    parts,
    kubeconfig: args.text("kubeconfig"),
    namespace: text("namespace"),
    poolNamespace: text("pool-namespace") ?? text("only-namespace") ?? "default",
    onlyNamespace: text("only-namespace"),
    clusterID: text("cluster-id"),
    host: text("listen") ?? defaults.host,
    port: port("port", defaults.port),
    healthPort: port("health-port", defaults.healthPort),
    gateway: {
      port: port("gateway-port", defaults.gatewayPort),
      tlsPort: port("gateway-tls-port", defaults.tlsPort),
      ...certificateOf(context, args),
    },
    domain: domainOf(text("domain") ?? defaults.domain),
    apiAddress: addressOf(given(context, args, "api-address")),
    daemonImage,
    databaseUrl,
    streamGraceMs: durationOf(context, args, "stream-grace"),
    node,
    ...limitsOf(context, args),
  };
}

/** It runs with rights over its node, which nothing else is to share. */
function nodeOf(parts: readonly ServePart[], name: string | undefined, cgroupRoot = defaults.cgroupRoot): ServePartsRequest["node"] {
  if (!parts.includes("node")) return undefined;
  if (parts.length > 1) throw new UsageError("node runs alone: it is root on its node, and the other parts need not be");
  if (name === undefined) throw new UsageError("--node-name (or AGENTBOX_NODE_NAME) is needed: the agent looks after the pods of one node");
  return { name, cgroupRoot };
}

function addressOf({ text, from }: Given): ServePartsRequest["apiAddress"] {
  if (text === undefined) return undefined;
  const [, host = "", port = ""] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  const isAddress = isDnsName(host) || /^\[[0-9a-fA-F:.]+\]$/.test(host);
  if (isAddress && Number(port) >= 1 && Number(port) <= 65_535) return { host: host.replaceAll(/[[\]]/g, ""), port: Number(port) };
  throw new UsageError(`${from} must be HOST:PORT, such as agentbox-api:8080, not ${JSON.stringify(text)}`);
}

function partsOf(words: readonly string[]): readonly ServePart[] {
  const unknown = words.find((word) => !serveParts.some((part) => part === word));
  if (unknown !== undefined) throw new UsageError(`there is no part ${JSON.stringify(unknown)}: it may be ${orList(serveParts)}`);
  if (words.length === 0) throw new UsageError(`say what to run: ${orList(serveParts)}, or several of them`);
  return serveParts.filter((part) => words.includes(part));
}

function checkTogether(parts: readonly ServePart[], said: Pick<ServePartsRequest, "databaseUrl" | "daemonImage">): void {
  const isSplit = parts.includes("api") !== parts.includes("controllers");
  if (isSplit && said.databaseUrl === undefined) {
    throw new UsageError("DATABASE_URL is needed: api and controllers are not in one process, so each would keep a history of its own");
  }
  if ((parts.includes("api") || parts.includes("controllers")) && said.daemonImage === undefined) {
    throw new UsageError(
      "--daemon-image (or AGENTBOX_DAEMON_IMAGE) is needed: pods get the daemon from it; `make images` builds and pushes it",
    );
  }
}

function domainOf(text: string): string {
  const [, name = "", port] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (isDnsName(name) && Number(port ?? 1) <= 65_535) return text;
  throw new UsageError(`--domain must be a DNS name in lower case, with :PORT at its end or without, not ${JSON.stringify(text)}`);
}

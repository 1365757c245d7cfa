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
    "Runs parts of AgentBox for a Kubernetes cluster until SIGTERM or Ctrl-C; a second signal stops it at once.\n" +
    "  api          the APIs; any number of processes, all active\n" +
    "  controllers  manages pools and ends sandboxes; any number of processes, one active and the others on standby\n" +
    "  gateway      the proxy to sandboxes; any number of processes, all active\n" +
    "  node         pauses the sandboxes of one node and takes their checkpoints; runs on that node as root, in a process of its own\n" +
    "Writes log lines to standard output as JSON. Health and metrics are on the health port: /healthz, /readyz, /metrics.\n" +
    "DATABASE_URL is the database of the history: postgres://…; required if api and controllers are in different processes.\n" +
    "OTEL_EXPORTER_OTLP_ENDPOINT enables tracing.",
  examples: [
    { does: "Run one part, as in a Deployment", line: "agentbox serve api" },
    {
      does: "Run all parts in one process, from outside the cluster",
      line: "agentbox serve api controllers gateway --kubeconfig admin.conf --namespace agentbox",
    },
  ],
  flags: {
    kubeconfig: { value: "FILE", help: "Kubeconfig of the cluster (default: KUBECONFIG, or the service account of this pod)" },
    namespace: {
      value: "NAME",
      help: "Namespace of AgentBox's own objects: keys, leases (default: AGENTBOX_NAMESPACE, or that of the pod or the kubeconfig's context)",
    },
    "pool-namespace": {
      value: "NAME",
      help: "Default namespace of pools (default: AGENTBOX_POOL_NAMESPACE, --only-namespace, or default)",
    },
    "only-namespace": {
      value: "NAME",
      help: "Manage only the pools of this namespace (default: AGENTBOX_ONLY_NAMESPACE, or the whole cluster)",
    },
    "cluster-id": {
      value: "NAME",
      help: "Id of this cluster in the clusters of Envs (default: AGENTBOX_CLUSTER_ID; Envs are not managed without one)",
    },
    "daemon-image": {
      value: "IMAGE",
      help: "Image with the daemon for sandboxes (default: AGENTBOX_DAEMON_IMAGE; required by api and controllers)",
    },
    "checkpoint-repository": {
      value: "REPOSITORY",
      help: "Where images of checkpoints are kept, such as registry.example.com/platform/checkpoints (default: AGENTBOX_CHECKPOINT_REPOSITORY; without one no checkpoints are taken)",
    },
    "checkpoint-credentials": {
      value: "FILE",
      help: "What that registry wants to see of controllers and node, as a .dockerconfigjson (default: AGENTBOX_CHECKPOINT_CREDENTIALS)",
    },
    "node-name": { value: "NAME", help: "With node: name of this node (default: AGENTBOX_NODE_NAME)" },
    "cgroup-root": {
      value: "FOLDER",
      help: `With node: where the node's control groups are mounted (default: AGENTBOX_CGROUP_ROOT or ${defaults.cgroupRoot})`,
    },
    listen: { value: "ADDRESS", help: `Address to listen on (default: AGENTBOX_LISTEN or ${defaults.host})` },
    port: { short: "p", value: "PORT", help: `Port of the APIs (default: AGENTBOX_PORT or ${defaults.port}; 0: any free one)` },
    "gateway-port": { value: "PORT", help: `Plain HTTP port of the gateway (default: AGENTBOX_GATEWAY_PORT or ${defaults.gatewayPort})` },
    "gateway-tls-port": {
      value: "PORT",
      help: `TLS port of the gateway, with --tls-cert (default: AGENTBOX_GATEWAY_TLS_PORT or ${defaults.tlsPort})`,
    },
    "health-port": {
      value: "PORT",
      help: `Port of health and metrics, of every part (default: AGENTBOX_HEALTH_PORT or ${defaults.healthPort})`,
    },
    domain: {
      value: "NAME",
      help: `Domain of the sandboxes' hosts, <port>-<id>.NAME; add :PORT if clients need it (default: AGENTBOX_DOMAIN or ${defaults.domain})`,
    },
    "api-address": {
      value: "HOST:PORT",
      help: "Address of the API that the gateway serves as api.DOMAIN (default: AGENTBOX_API_ADDRESS, or its own process)",
    },
    "tls-cert": { value: "FILE", help: "Certificate for *.DOMAIN in PEM (default: AGENTBOX_TLS_CERT; without one there is no TLS port)" },
    "tls-key": { value: "FILE", help: "Private key of the certificate (default: AGENTBOX_TLS_KEY)" },
    "stream-grace": {
      value: "DURATION",
      help: "How long open streams may continue when the gateway stops (default: AGENTBOX_STREAM_GRACE or 20s)",
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
    checkpoints: checkpointsOf(text("checkpoint-repository"), text("checkpoint-credentials")),
    ...limitsOf(context, args),
  };
}

/** It runs with rights over its node, which no other part should share. */
function nodeOf(parts: readonly ServePart[], name: string | undefined, cgroupRoot = defaults.cgroupRoot): ServePartsRequest["node"] {
  if (!parts.includes("node")) return undefined;
  if (parts.length > 1)
    throw new UsageError("node must be the only part of its process: it runs as root, and the other parts do not need that");
  if (name === undefined) throw new UsageError("--node-name (or AGENTBOX_NODE_NAME) is required: the agent manages the pods of one node");
  return { name, cgroupRoot };
}

function checkpointsOf(repository: string | undefined, credentialsFile: string | undefined): ServePartsRequest["checkpoints"] {
  if (repository !== undefined) return { repository, credentialsFile };
  if (credentialsFile === undefined) return undefined;
  throw new UsageError("--checkpoint-credentials is of no use without --checkpoint-repository (or AGENTBOX_CHECKPOINT_REPOSITORY)");
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
  if (unknown !== undefined) throw new UsageError(`unknown part ${JSON.stringify(unknown)}: expected ${orList(serveParts)}`);
  if (words.length === 0) throw new UsageError(`name the parts to run: ${orList(serveParts)}, or several of them`);
  return serveParts.filter((part) => words.includes(part));
}

function checkTogether(parts: readonly ServePart[], said: Pick<ServePartsRequest, "databaseUrl" | "daemonImage">): void {
  const isSplit = parts.includes("api") !== parts.includes("controllers");
  if (isSplit && said.databaseUrl === undefined) {
    throw new UsageError("DATABASE_URL is required: api and controllers are in different processes and must share one history");
  }
  if ((parts.includes("api") || parts.includes("controllers")) && said.daemonImage === undefined) {
    throw new UsageError(
      "--daemon-image (or AGENTBOX_DAEMON_IMAGE) is required: pods get the daemon from this image; `make images` builds and pushes it",
    );
  }
}

function domainOf(text: string): string {
  const [, name = "", port] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (isDnsName(name) && Number(port ?? 1) <= 65_535) return text;
  throw new UsageError(`--domain must be a DNS name in lower case, with :PORT at its end or without, not ${JSON.stringify(text)}`);
}

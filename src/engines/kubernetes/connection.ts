/** The server and our identity there: from what the caller says, a kubeconfig, or the pod that we run in. */
import { access, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { readPlainCredentials, type PlainCredentials, type ReadCredentials, type TextSource } from "./credentials.ts";
import { loadKubeconfig, type KubeconfigEntry, type KubeconfigUser } from "./kubeconfig.ts";
import { readPluginCredentials, usesPlugin } from "./plugin-credentials.ts";

/**
 * One of: a server and a token, a unix socket, a kubeconfig file and a context of it, or the pod that we run in.
 * Nothing at all means what it means to kubectl: the files of KUBECONFIG, else ~/.kube/config, else the pod.
 */
export type ConnectionOptions =
  | { readonly url: string; readonly token?: string | undefined; readonly ca?: string | undefined }
  | { readonly socketPath: string }
  | { readonly kubeconfig?: string | undefined; readonly context?: string | undefined }
  | { readonly inCluster: true };

export interface Connection {
  readonly origin: string;
  /** In front of every path; some proxies serve many clusters under one host. */
  readonly basePath: string;
  readonly socketPath?: string | undefined;
  readonly proxyUrl?: string | undefined;
  /** The namespace that the context or the pod stands in. */
  readonly namespace?: string | undefined;
  readonly readCredentials: ReadCredentials;
  readonly rereadMs?: number | undefined;
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where a pod finds its account's token. */
  readonly serviceAccountFolder: string;
}

export const realSurroundings: Surroundings = {
  env: process.env,
  serviceAccountFolder: "/var/run/secrets/kubernetes.io/serviceaccount",
};

/** As client-go does. A token that was replaced earlier is noticed by the 401 it gets. */
const fileRereadMs = 60_000;
/** The plugin itself runs only when its last answer has expired. */
const pluginRereadMs = 10_000;

export async function resolveConnection(options: ConnectionOptions, surroundings: Surroundings): Promise<Connection> {
  if ("socketPath" in options) {
    return { origin: "http://localhost", basePath: "", socketPath: options.socketPath, readCredentials: () => readPlainCredentials({}) };
  }
  if ("url" in options) {
    const credentials = { token: textOf(options.token), ca: textOf(options.ca) };
    return { ...serverOf(options.url), readCredentials: () => readPlainCredentials(credentials) };
  }
  if ("inCluster" in options) return podConnection(surroundings);
  return kubeconfigConnection(options, surroundings);
}

async function kubeconfigConnection(
  options: { readonly kubeconfig?: string | undefined; readonly context?: string | undefined },
  surroundings: Surroundings,
): Promise<Connection> {
  const { env } = surroundings;
  const choose = (files: readonly string[], origin: string): Promise<Connection> =>
    loadKubeconfig({ files, origin, context: options.context }).then(connectionOf);

  if (options.kubeconfig !== undefined) return choose([options.kubeconfig], "given as kubeconfig");
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (listed.length > 0) return choose(listed, "named by KUBECONFIG");
  const usual = join(env["HOME"] ?? homedir(), ".kube", "config");
  const runsInPod = env["KUBERNETES_SERVICE_HOST"] !== undefined && options.context === undefined;
  if (runsInPod && !(await exists(usual))) return podConnection(surroundings);
  return choose([usual], "the default; KUBECONFIG is not set and this is not a pod");
}

function connectionOf(entry: KubeconfigEntry): Connection {
  const { cluster, user } = entry;
  const plain = plainCredentials(entry);
  const readPlain: ReadCredentials = () => readPlainCredentials(plain);
  const plugin = usesPlugin(entry);
  const fromFiles = [user.tokenFile, user["client-certificate"], user["client-key"], cluster["certificate-authority"]].some(Boolean);
  return {
    ...serverOf(cluster.server),
    namespace: entry.namespace,
    proxyUrl: cluster["proxy-url"],
    readCredentials: plugin ? readPluginCredentials(entry, readPlain) : readPlain,
    ...(plugin ? { rereadMs: pluginRereadMs } : fromFiles ? { rereadMs: fileRereadMs } : {}),
  };
}

/** Where an entry gives both, the embedded data wins, and a token file wins over a token. */
function plainCredentials({ cluster, user }: KubeconfigEntry): PlainCredentials {
  return {
    token: fileOf(user.tokenFile) ?? textOf(user.token),
    basic: user.username === undefined ? undefined : { username: user.username, password: user.password ?? "" },
    ca: base64Of(cluster["certificate-authority-data"]) ?? fileOf(cluster["certificate-authority"]),
    cert: base64Of(user["client-certificate-data"]) ?? fileOf(user["client-certificate"]),
    key: base64Of(user["client-key-data"]) ?? fileOf(user["client-key"]),
    servername: cluster["tls-server-name"],
    insecure: cluster["insecure-skip-tls-verify"],
    headers: impersonation(user),
  };
}

function impersonation(user: KubeconfigUser): Readonly<Record<string, string | readonly string[]>> {
  if (user.as === undefined) return {};
  const extra = Object.entries(user["as-user-extra"] ?? {}).map(([key, values]) => [
    `impersonate-extra-${encodeURIComponent(key)}`,
    values,
  ]);
  return {
    "impersonate-user": user.as,
    ...(user["as-uid"] === undefined ? {} : { "impersonate-uid": user["as-uid"] }),
    ...(user["as-groups"] === undefined ? {} : { "impersonate-group": user["as-groups"] }),
    ...(Object.fromEntries(extra) as Record<string, readonly string[]>),
  };
}

async function podConnection({ env, serviceAccountFolder }: Surroundings): Promise<Connection> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (host === undefined || port === undefined) {
    throw new Error("this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set. Use a kubeconfig instead");
  }
  const token = join(serviceAccountFolder, "token");
  if (!(await exists(token))) {
    throw new Error(`this pod has no service account token at ${token}. Set automountServiceAccountToken: true in its spec`);
  }
  const credentials = { token: { file: token }, ca: { file: join(serviceAccountFolder, "ca.crt") } };
  return {
    ...serverOf(`https://${host.includes(":") ? `[${host}]` : host}:${port}`),
    namespace: await readFile(join(serviceAccountFolder, "namespace"), "utf8").then(
      (text) => text.trim(),
      () => undefined,
    ),
    readCredentials: () => readPlainCredentials(credentials),
    rereadMs: fileRereadMs,
  };
}

function serverOf(server: string): { readonly origin: string; readonly basePath: string } {
  // kubectl takes a server without a scheme for a plain one.
  const url = URL.parse(server.includes("://") ? server : `http://${server}`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`"${server}" is not the address of a server; it should look like https://host:6443`);
  }
  return { origin: url.origin, basePath: url.pathname.replace(/\/+$/, "") };
}

function textOf(text: string | undefined): TextSource {
  return text === undefined || text === "" ? undefined : { text };
}

function base64Of(data: string | undefined): TextSource {
  return data === undefined || data === "" ? undefined : { text: Buffer.from(data, "base64").toString("utf8") };
}

function fileOf(file: string | undefined): TextSource {
  return file === undefined || file === "" ? undefined : { file };
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Kubeconfig files: found, merged as kubectl merges them, and reduced to the one cluster and user of the chosen context. */
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { parse } from "yaml";

export interface KubeconfigChoice {
  readonly files: readonly string[];
  /** Where the list of files comes from, for messages. */
  readonly origin: string;
  /** The file's own current-context when left out. */
  readonly context?: string | undefined;
}

export interface KubeconfigEntry {
  readonly context: string;
  readonly namespace: string | undefined;
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
}

/** Field names are those of the file; paths are absolute. */
interface KubeconfigCluster {
  readonly server: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "tls-server-name"?: string;
  readonly "proxy-url"?: string;
}

export interface KubeconfigUser {
  readonly name: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly "client-certificate"?: string;
  readonly "client-certificate-data"?: string;
  readonly "client-key"?: string;
  readonly "client-key-data"?: string;
  readonly as?: string;
  readonly "as-uid"?: string;
  readonly "as-groups"?: readonly string[];
  readonly "as-user-extra"?: Readonly<Record<string, readonly string[]>>;
  readonly exec?: ExecPlugin;
  readonly "auth-provider"?: { readonly name: string; readonly config?: Readonly<Record<string, string>> };
}

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly installHint?: string;
  readonly provideClusterInfo?: boolean;
}

interface Kubeconfig {
  readonly "current-context"?: string;
  readonly clusters?: readonly { readonly name: string; readonly cluster?: Partial<KubeconfigCluster> }[] | null;
  readonly users?: readonly { readonly name: string; readonly user?: Omit<KubeconfigUser, "name"> | null }[] | null;
  readonly contexts?: readonly { readonly name: string; readonly context?: ContextEntry }[] | null;
}

interface ContextEntry {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

export async function loadKubeconfig(choice: KubeconfigChoice): Promise<KubeconfigEntry> {
  const read = await Promise.all(choice.files.map(readOne));
  const configs = read.filter((config) => config !== undefined);
  if (configs.length === 0) {
    throw new Error(
      `no kubeconfig: ${choice.files.join(" and ")} (${choice.origin}) does not exist. Name an existing file, or unset it to use the default`,
    );
  }
  return chooseContext(configs, choice);
}

/** Of entries with the same name the first one counts, over all files. */
function chooseContext(configs: readonly Kubeconfig[], choice: KubeconfigChoice): KubeconfigEntry {
  const where = choice.files.join(", ");
  const contexts = configs.flatMap((config) => config.contexts ?? []);
  const names = contexts.map((context) => context.name).join(", ") || "none";
  const wanted = choice.context ?? configs.map((config) => config["current-context"]).find((name) => name !== undefined && name !== "");
  if (wanted === undefined) {
    throw new Error(`${where} sets no current-context. Choose one of its contexts (${names}), as with: kubectl config use-context <name>`);
  }
  const context = contexts.find((candidate) => candidate.name === wanted)?.context;
  if (context === undefined) throw new Error(`context "${wanted}" is not in ${where}, which has: ${names}`);
  const place = `context "${wanted}" of ${where}`;
  return {
    context: wanted,
    namespace: context.namespace === "" ? undefined : context.namespace,
    cluster: clusterOf(configs, context, place),
    user: userOf(configs, context, place),
  };
}

function clusterOf(configs: readonly Kubeconfig[], context: ContextEntry, place: string): KubeconfigCluster {
  const clusters = configs.flatMap((config) => config.clusters ?? []);
  const cluster = clusters.find((candidate) => candidate.name === context.cluster)?.cluster;
  if (cluster?.server === undefined) {
    throw new Error(`${place} refers to cluster "${context.cluster ?? ""}", which is not there or has no server`);
  }
  return { ...cluster, server: cluster.server };
}

/** A context may do without a user. */
function userOf(configs: readonly Kubeconfig[], context: ContextEntry, place: string): KubeconfigUser {
  if (context.user === undefined || context.user === "") return { name: "" };
  const user = configs.flatMap((config) => config.users ?? []).find((candidate) => candidate.name === context.user);
  if (user === undefined) throw new Error(`${place} refers to user "${context.user}", which is not there`);
  return { ...user.user, name: user.name };
}

/** Undefined when the file does not exist: of several, as in KUBECONFIG, some may be missing. */
async function readOne(file: string): Promise<Kubeconfig | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`cannot read kubeconfig ${file}: ${String(error)}`, { cause: error });
  }
  try {
    return withAbsolutePaths((parse(text) ?? {}) as Kubeconfig, dirname(file));
  } catch (error) {
    throw new Error(`kubeconfig ${file} is not valid: ${String(error)}`, { cause: error });
  }
}

/** Relative paths are relative to the file that names them. */
function withAbsolutePaths(config: Kubeconfig, folder: string): Kubeconfig {
  const absolute = (path: string): string => (isAbsolute(path) ? path : join(folder, path));
  const fix = <T extends object>(entry: T, fields: readonly (keyof T)[]): T => {
    const changed = fields.flatMap((field) => {
      const path = entry[field];
      return typeof path === "string" && path !== "" ? [[field, absolute(path)] as const] : [];
    });
    return { ...entry, ...Object.fromEntries(changed) };
  };
  const fixUser = (user: Omit<KubeconfigUser, "name">): Omit<KubeconfigUser, "name"> => {
    const fixed = fix(user, ["client-certificate", "client-key", "tokenFile"]);
    // A command without a slash is looked for on PATH.
    return fixed.exec?.command.includes("/") === true ? { ...fixed, exec: fix(fixed.exec, ["command"]) } : fixed;
  };
  return {
    ...config,
    clusters: (config.clusters ?? []).map(({ name, cluster = {} }) => ({ name, cluster: fix(cluster, ["certificate-authority"]) })),
    users: (config.users ?? []).map(({ name, user }) => ({ name, user: fixUser(user ?? {}) })),
  };
}

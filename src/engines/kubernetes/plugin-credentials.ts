/**
 * Credentials from programs and identity providers: exec plugins (clouds) and the older auth-provider entries (oidc).
 * `@kubernetes/client-node` knows how to talk to them. It is loaded only when a kubeconfig asks for one, because it
 * costs a third of a second and some 60 MB (docs/adr/0005-kubernetes-client.md).
 */
import type { RequestOptions } from "node:https";
import { ApiError } from "#kube/api-error.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Credentials, ReadCredentials } from "./credentials.ts";
import type { ExecPlugin, KubeconfigEntry } from "./kubeconfig.ts";

export function usesPlugin(entry: KubeconfigEntry): boolean {
  return entry.user.exec !== undefined || entry.user["auth-provider"] !== undefined;
}

/** Adds what the plugin gives to what the kubeconfig itself holds. */
export function readPluginCredentials(entry: KubeconfigEntry, plain: ReadCredentials): ReadCredentials {
  let applyPlugin: ((options: RequestOptions) => Promise<void>) | undefined;
  return async (fresh) => {
    const own = await plain(fresh);
    // The library keeps a credential until it expires; only a new instance asks the plugin again.
    if (fresh || applyPlugin === undefined) applyPlugin = await openPlugin(entry);
    const options: RequestOptions = {};
    try {
      await applyPlugin(options);
    } catch (error) {
      throw pluginError(entry, error);
    }
    return merge(own, options);
  };
}

async function openPlugin(entry: KubeconfigEntry): Promise<(options: RequestOptions) => Promise<void>> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  const { name, exec } = entry.user;
  const user = { name, exec: exec === undefined ? undefined : withExecInfo(exec, entry), authProvider: entry.user["auth-provider"] };
  // Only the user matters here: the cluster is reached by our own transport.
  config.loadFromClusterAndUser({ name: "cluster", server: "https://cluster.invalid", skipTLSVerify: false }, user);
  return (options) => config.applyToHTTPSOptions(options);
}

/** Tells the plugin which form of answer is wanted and, if it is to know, about the cluster; the library leaves that out. */
function withExecInfo(exec: ExecPlugin, entry: KubeconfigEntry): ExecPlugin {
  const { server, "certificate-authority-data": ca, "tls-server-name": servername, "insecure-skip-tls-verify": insecure } = entry.cluster;
  const cluster = { server, "certificate-authority-data": ca, "tls-server-name": servername, "insecure-skip-tls-verify": insecure };
  const spec = { interactive: false, ...(exec.provideClusterInfo === true ? { cluster } : {}) };
  const info = JSON.stringify({ apiVersion: exec.apiVersion, kind: "ExecCredential", spec });
  return { ...exec, args: exec.args ?? [], env: [...(exec.env ?? []), { name: "KUBERNETES_EXEC_INFO", value: info }] };
}

function merge(own: Credentials, options: RequestOptions): Credentials {
  const { authorization } = lowerCased(options.headers);
  return {
    headers: { ...own.headers, ...(authorization === undefined ? {} : { authorization }) },
    tls: {
      ...own.tls,
      ...withoutUndefined({ cert: textOf(options.cert), key: textOf(options.key) }),
    },
  };
}

/** The types allow more than plugins give, which is always one text. */
function textOf(pem: RequestOptions["cert"] | RequestOptions["key"]): string | undefined {
  return typeof pem === "string" ? pem : undefined;
}

function lowerCased(headers: RequestOptions["headers"]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function pluginError(entry: KubeconfigEntry, error: unknown): ApiError {
  const { name, exec } = entry.user;
  const plugin = exec === undefined ? `auth-provider ${entry.user["auth-provider"]?.name ?? ""}` : `credential plugin ${exec.command}`;
  const hint = exec?.installHint === undefined ? "" : ` ${exec.installHint.trim()}`;
  const said = error instanceof Error ? error.message.trim() : String(error);
  return new ApiError("Unauthorized", `the ${plugin} of user "${name}" in the kubeconfig failed: ${said}.${hint}`, { cause: error });
}

/** The server that commands use, and the messages if it cannot be reached. */
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type ChosenContext, chosenContext, nonEmpty } from "./config/server-contexts.ts";
import type { CliContext, Home } from "./context.ts";
import { CliError } from "./failure.ts";
import { NoPrefix } from "./failure-text.ts";

/** From the environment or a context; otherwise this user's server on this machine, with the key that its first start created. */
export async function apiClient(context: CliContext): Promise<AgentBoxClient> {
  return new AgentBoxClient(await apiPlace(context));
}

export interface ApiPlace {
  readonly url: string;
  readonly apiKey: string;
}

export async function apiPlace(context: CliContext): Promise<ApiPlace> {
  const chosen = await chosenServer(context);
  const { env } = context;
  const home = homeOf(context, chosen);
  const url = nonEmpty(env["AGENTBOX_API_URL"]) ?? chosen?.url ?? (await home.httpAddress());
  if (url === undefined) {
    throw new NoPrefix(
      chosen === undefined
        ? "AgentBox is not running here. Start it with: make up, or set AGENTBOX_API_URL, or select a server: agentbox config"
        : `AgentBox is not running in ${home.folder} (context ${chosen.name})`,
    );
  }
  if (!/^https?:\/\//.test(url)) throw new CliError(`AGENTBOX_API_URL must begin with http:// or https://, not ${JSON.stringify(url)}`);
  return { url, apiKey: nonEmpty(env["AGENTBOX_API_KEY"]) ?? (await keyFor(context, chosen)) };
}

/** Address of the gateway; undefined if it is not known. */
export async function gatewayUrl(context: CliContext): Promise<string | undefined> {
  const chosen = await chosenServer(context);
  const told = nonEmpty(context.env["AGENTBOX_GATEWAY_URL"]) ?? chosen?.gateway;
  if (told !== undefined) return told;
  const url = nonEmpty(context.env["AGENTBOX_API_URL"]) ?? chosen?.url;
  if (url === undefined) return (await homeOf(context, chosen).gateway())?.address;
  const { protocol, host } = new URL(url);
  return host.startsWith("api.") ? `${protocol}//${host.slice("api.".length)}` : undefined;
}

/** The API server whose objects apply, get and delete change. */
export async function objectClient(context: CliContext): Promise<ObjectClient> {
  const chosen = await chosenServer(context);
  if (chosen?.url !== undefined && chosen.kubeconfig === undefined) {
    throw new CliError(
      `the context ${chosen.name} is a remote server: apply, get and delete need the server of this machine or a kubeconfig (agentbox config set ${chosen.name} --kubeconfig FILE)`,
    );
  }
  return await context.connect(chosen);
}

export async function chosenServer(context: CliContext): Promise<ChosenContext | undefined> {
  return chosenContext(await context.contexts.read(), context.env, context.contextName);
}

function homeOf({ home, homeAt }: CliContext, chosen: ChosenContext | undefined): Home {
  return chosen?.home === undefined ? home : homeAt(chosen.home);
}

/** A key is sent only to the server that it was given for. */
async function keyFor(context: CliContext, chosen: ChosenContext | undefined): Promise<string> {
  if (nonEmpty(context.env["AGENTBOX_API_URL"]) !== undefined) {
    throw new CliError("AGENTBOX_API_URL is set, but AGENTBOX_API_KEY is not: set it to a key of that server");
  }
  if (chosen?.url !== undefined) {
    if (chosen.key !== undefined) return chosen.key;
    throw new CliError(`the context ${chosen.name} has no key: agentbox config set ${chosen.name} --key-stdin, or set AGENTBOX_API_KEY`);
  }
  const home = homeOf(context, chosen);
  const key = await home.adminKey();
  if (key !== undefined) return key;
  throw new CliError(`there is no API key: set AGENTBOX_API_KEY, or put one into ${home.folder}/keys/admin.key`);
}

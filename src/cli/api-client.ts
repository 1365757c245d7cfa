/** The client of the API that commands use, and what they say when it cannot be reached. */
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { CliContext } from "./context.ts";
import { CliError } from "./failure.ts";
import { NoPrefix } from "./failure-text.ts";

/** Where the environment says, else the server of this user on this machine with the key that its first start made. */
export async function apiClient(context: CliContext): Promise<AgentBoxClient> {
  const { home, env } = context;
  const url = nonEmpty(env["AGENTBOX_API_URL"]) ?? (await home.httpAddress());
  if (url === undefined) {
    throw new NoPrefix("AgentBox is not running here. Start it with: make up, or set AGENTBOX_API_URL to where it runs");
  }
  if (!/^https?:\/\//.test(url)) throw new CliError(`AGENTBOX_API_URL must begin with http:// or https://, not ${JSON.stringify(url)}`);
  const apiKey = nonEmpty(env["AGENTBOX_API_KEY"]) ?? (await localKey(context));
  return new AgentBoxClient({ url, apiKey });
}

/** Never sent to a server that somebody else may have named. */
async function localKey({ home, env }: CliContext): Promise<string> {
  const elsewhere = nonEmpty(env["AGENTBOX_API_URL"]) !== undefined;
  const key = elsewhere ? undefined : await home.adminKey();
  if (key !== undefined) return key;
  throw new CliError(
    elsewhere
      ? "AGENTBOX_API_URL is set, and AGENTBOX_API_KEY is not: set it to a key of that server"
      : `there is no API key: set AGENTBOX_API_KEY, or put one into ${home.folder}/keys/admin.key`,
  );
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

import { get } from "node:http";
import { header } from "#envd-protocol/arming.ts";

/** Asks until the daemon answers; gives its boot id, which is another one for each start of it. */
export async function answering(
  ip: string,
  options: { readonly everyMs: number; readonly not?: string } = { everyMs: 2 },
): Promise<string> {
  for (;;) {
    const bootId = await ask(ip);
    if (bootId !== undefined && bootId !== options.not) return bootId;
    await new Promise((resolve) => setTimeout(resolve, options.everyMs));
  }
}

function ask(ip: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = get({ host: ip, port: 49_983, path: "/health", agent: false, timeout: 1000 }, (response) => {
      response.resume();
      resolve(String(response.headers[header.bootId]));
    });
    request.on("error", () => resolve(undefined));
    request.on("timeout", () => request.destroy());
  });
}

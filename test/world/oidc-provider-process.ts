/** A real OpenID Connect provider in a process of its own, and a browser of few words that signs in there. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export class OidcProviderProcess implements AsyncDisposable {
  readonly issuer: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, issuer: string) {
    this.#child = child;
    this.issuer = issuer;
  }

  static async start(redirectUri: string): Promise<OidcProviderProcess> {
    const program = fileURLToPath(new URL("run-oidc-provider.ts", import.meta.url));
    const child = spawn(process.execPath, [program, redirectUri], { stdio: ["ignore", "pipe", "ignore"] });
    const ended = once(child, "exit").then(() => {
      throw new Error("the provider ended before it was there");
    });
    const [line] = (await Promise.race([once(child.stdout, "data"), ended])) as [Buffer];
    ended.catch(() => {});
    return new OidcProviderProcess(child, line.toString().trim());
  }

  /** Signs in as that name, and returns the query with which the provider sends the browser back. */
  async answerTo(url: string, name: string, action: "login" | "cancel" = "login"): Promise<string> {
    const cookies = new Map<string, string>();
    const ask = async (address: URL, body?: URLSearchParams): Promise<URL> => {
      const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
      const reply = await fetch(address, { headers: { cookie }, redirect: "manual", ...(body !== undefined && { method: "POST", body }) });
      for (const text of reply.headers.getSetCookie()) {
        const [key = "", value = ""] = (text.split(";")[0] ?? "").split("=");
        cookies.set(key, value);
      }
      const location = reply.headers.get("location");
      if (location === null) throw new Error(`no redirect from ${address.pathname}: ${reply.status} ${await reply.text()}`);
      return new URL(location, address);
    };
    const login = await ask(new URL(url));
    const resumed = await ask(login, new URLSearchParams({ name, action }));
    return (await ask(resumed)).search;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill();
    await gone;
  }
}

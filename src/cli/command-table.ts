/** All commands, in the order of the help. Each is loaded only when it is used: `agentbox version` must not wait for what `get` needs. */
import type { Command } from "./command.ts";

export interface CommandEntry {
  readonly name: string;
  /** Other words for it. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

export const commandTable: readonly CommandEntry[] = [
  { name: "up", summary: "Start AgentBox on this machine, in the foreground", load: async () => (await import("./commands/up.ts")).up },
  { name: "down", summary: "Remove all sandboxes from this machine", load: async () => (await import("./commands/down.ts")).down },
  {
    name: "serve",
    summary: "Run parts of AgentBox for a Kubernetes cluster",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  { name: "run", summary: "Make a sandbox, and run a command in it", load: async () => (await import("./commands/run.ts")).run },
  { name: "ls", summary: "Show sandboxes", load: async () => (await import("./commands/ls.ts")).ls },
  { name: "exec", summary: "Run a command in a sandbox", load: async () => (await import("./commands/exec.ts")).exec },
  { name: "logs", summary: "Show what a sandbox wrote", load: async () => (await import("./commands/logs.ts")).logs },
  {
    name: "inspect",
    summary: "Show all there is to know about a sandbox",
    load: async () => (await import("./commands/inspect.ts")).inspect,
  },
  { name: "extend", summary: "Change when a sandbox ends by itself", load: async () => (await import("./commands/extend.ts")).extend },
  { name: "pause", summary: "Freeze sandboxes", load: async () => (await import("./commands/pause.ts")).pause },
  { name: "resume", summary: "Let paused sandboxes go on", load: async () => (await import("./commands/resume.ts")).resume },
  { name: "rm", aliases: ["kill"], summary: "End sandboxes", load: async () => (await import("./commands/rm.ts")).rm },
  { name: "scale", summary: "Set how many pods a pool keeps", load: async () => (await import("./commands/scale.ts")).scale },
  { name: "apply", summary: "Create or change objects from files", load: async () => (await import("./commands/apply.ts")).apply },
  { name: "get", summary: "Show objects", load: async () => (await import("./commands/get.ts")).get },
  { name: "delete", summary: "Delete objects", load: async () => (await import("./commands/delete.ts")).deleteObjects },
  {
    name: "image",
    summary: "Show, fetch, import and remove images on this machine",
    load: async () => (await import("./commands/image.ts")).image,
  },
  { name: "key", summary: "Make, show and revoke API keys", load: async () => (await import("./commands/key.ts")).key },
  {
    name: "env",
    summary: "Print what a shell or a program needs to reach AgentBox",
    load: async () => (await import("./commands/env.ts")).env,
  },
  {
    name: "trust",
    summary: "Have this system trust the gateway's certificate",
    load: async () => (await import("./commands/trust.ts")).trust,
  },
  { name: "version", summary: "Print the version", load: async () => (await import("./commands/version.ts")).version },
];

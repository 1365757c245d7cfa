/** All commands in the order of the help. Each is loaded only when used: `agentbox version` must not wait for what `get` needs. */
import type { Command } from "./command.ts";

/** The help shows commands under these titles, in this order; `hidden` commands are for programs. */
export const groups = [
  { name: "sandboxes", title: "Sandboxes:" },
  { name: "pools", title: "Envs and pools:" },
  { name: "objects", title: "Objects, with the same syntax as kubectl:" },
  { name: "server", title: "Servers and access:" },
  { name: "client", title: "This command line:" },
  { name: "hidden", title: "" },
] as const;
export type CommandGroup = (typeof groups)[number]["name"];

export interface CommandEntry {
  readonly name: string;
  /** Aliases. */
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly group: CommandGroup;
  readonly load: () => Promise<Command>;
}

export const commandTable: readonly CommandEntry[] = [
  {
    name: "up",
    group: "server",
    summary: "Start AgentBox on this machine, in the foreground",
    load: async () => (await import("./commands/up.ts")).up,
  },
  {
    name: "down",
    group: "server",
    summary: "Remove all sandboxes from this machine",
    load: async () => (await import("./commands/down.ts")).down,
  },
  {
    name: "serve",
    group: "server",
    summary: "Run parts of AgentBox for a Kubernetes cluster",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  {
    name: "ui",
    group: "sandboxes",
    summary: "Show sandboxes, Envs and events as they change",
    load: async () => (await import("./commands/ui.ts")).ui,
  },
  {
    name: "run",
    group: "sandboxes",
    summary: "Create a sandbox and run a command in it",
    load: async () => (await import("./commands/run.ts")).run,
  },
  {
    name: "shell",
    group: "sandboxes",
    summary: "Create a sandbox and open a shell in it",
    load: async () => (await import("./commands/shell.ts")).shell,
  },
  { name: "ls", group: "sandboxes", summary: "Show sandboxes", load: async () => (await import("./commands/ls.ts")).ls },
  { name: "exec", group: "sandboxes", summary: "Run a command in a sandbox", load: async () => (await import("./commands/exec.ts")).exec },
  {
    name: "cp",
    group: "sandboxes",
    summary: "Copy files into sandboxes, out of them and between them",
    load: async () => (await import("./commands/cp.ts")).cp,
  },
  {
    name: "build",
    group: "pools",
    summary: "Build a template from a Dockerfile",
    load: async () => (await import("./commands/build.ts")).build,
  },
  {
    name: "template",
    group: "pools",
    summary: "Add a template that programs for E2B expect: Python, Node, a browser, a desktop",
    load: async () => (await import("./commands/template.ts")).template,
  },
  {
    name: "attach",
    group: "sandboxes",
    summary: "Open a shell in an existing sandbox",
    load: async () => (await import("./commands/attach.ts")).attach,
  },
  {
    name: "port",
    group: "sandboxes",
    summary: "Forward a port of this machine to a port of a sandbox",
    load: async () => (await import("./commands/port.ts")).port,
  },
  {
    name: "events",
    group: "sandboxes",
    summary: "Show events of sandboxes, Envs and pools",
    load: async () => (await import("./commands/events.ts")).events,
  },
  { name: "logs", group: "sandboxes", summary: "Show the log of a sandbox", load: async () => (await import("./commands/logs.ts")).logs },
  {
    name: "inspect",
    group: "sandboxes",
    summary: "Show all details of a sandbox",
    load: async () => (await import("./commands/inspect.ts")).inspect,
  },
  {
    name: "top",
    group: "sandboxes",
    summary: "Show the resource usage of sandboxes",
    load: async () => (await import("./commands/top.ts")).top,
  },
  {
    name: "wait",
    group: "sandboxes",
    summary: "Wait until sandboxes run, are paused or have ended",
    load: async () => (await import("./commands/wait.ts")).wait,
  },
  {
    name: "extend",
    group: "sandboxes",
    summary: "Change the timeouts of a sandbox",
    load: async () => (await import("./commands/extend.ts")).extend,
  },
  { name: "pause", group: "sandboxes", summary: "Freeze sandboxes", load: async () => (await import("./commands/pause.ts")).pause },
  {
    name: "resume",
    group: "sandboxes",
    summary: "Resume paused sandboxes",
    load: async () => (await import("./commands/resume.ts")).resume,
  },
  {
    name: "checkpoint",
    aliases: ["snapshot"],
    group: "sandboxes",
    summary: "Keep the files of sandboxes, and make sandboxes from them",
    load: async () => (await import("./commands/checkpoint.ts")).checkpoint,
  },
  {
    name: "fork",
    group: "sandboxes",
    summary: "Make sandboxes that begin with the files of another one",
    load: async () => (await import("./commands/fork.ts")).fork,
  },
  { name: "rm", aliases: ["kill"], group: "sandboxes", summary: "End sandboxes", load: async () => (await import("./commands/rm.ts")).rm },
  {
    name: "envs",
    group: "pools",
    summary: "Create, show, change, scale, refresh and explain Envs",
    load: async () => (await import("./commands/envs.ts")).envs,
  },
  {
    name: "scale",
    group: "pools",
    summary: "Set how many pods a pool keeps",
    load: async () => (await import("./commands/scale.ts")).scale,
  },
  {
    name: "apply",
    group: "objects",
    summary: "Create or change objects from files",
    load: async () => (await import("./commands/apply.ts")).apply,
  },
  { name: "get", group: "objects", summary: "Show objects", load: async () => (await import("./commands/get.ts")).get },
  { name: "delete", group: "objects", summary: "Delete objects", load: async () => (await import("./commands/delete.ts")).deleteObjects },
  {
    name: "mcp",
    group: "sandboxes",
    summary: "Serve sandboxes to an AI client over MCP, and configure the client",
    load: async () => (await import("./commands/mcp.ts")).mcp,
  },
  {
    name: "image",
    group: "pools",
    summary: "Show, fetch, import and remove images on this machine",
    load: async () => (await import("./commands/image.ts")).image,
  },
  {
    name: "volume",
    group: "server",
    summary: "Make, show and delete volumes: files that outlive sandboxes",
    load: async () => (await import("./commands/volume.ts")).volume,
  },
  { name: "key", group: "server", summary: "Create, show and revoke API keys", load: async () => (await import("./commands/key.ts")).key },
  {
    name: "limits",
    group: "pools",
    summary: "Show and set limits of teams and users",
    load: async () => (await import("./commands/limits.ts")).limits,
  },
  {
    name: "usage",
    group: "pools",
    summary: "Show usage of teams and users over time",
    load: async () => (await import("./commands/usage.ts")).usage,
  },
  {
    name: "audit",
    group: "server",
    summary: "Show the audit log",
    load: async () => (await import("./commands/audit.ts")).audit,
  },
  {
    name: "doctor",
    group: "server",
    summary: "Check this machine and the installation",
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  {
    name: "install",
    group: "server",
    summary: "Run AgentBox as a service of this machine",
    load: async () => (await import("./commands/install.ts")).install,
  },
  {
    name: "uninstall",
    group: "server",
    summary: "Take that back",
    load: async () => (await import("./commands/uninstall.ts")).uninstall,
  },
  {
    name: "backup",
    group: "server",
    summary: "Write all of an AgentBox on this machine into one file",
    load: async () => (await import("./commands/backup.ts")).backup,
  },
  {
    name: "restore",
    group: "server",
    summary: "Make a data folder anew from such a file",
    load: async () => (await import("./commands/restore.ts")).restore,
  },
  {
    name: "config",
    group: "server",
    summary: "Select the server that commands use",
    load: async () => (await import("./commands/config.ts")).config,
  },
  {
    name: "env",
    group: "client",
    summary: "Print environment variables for shells and programs",
    load: async () => (await import("./commands/env.ts")).env,
  },
  {
    name: "trust",
    group: "server",
    summary: "Make this system trust the gateway's certificate",
    load: async () => (await import("./commands/trust.ts")).trust,
  },
  {
    name: "completion",
    group: "client",
    summary: "Print a completion script for a shell",
    load: async () => (await import("./commands/completion.ts")).completion,
  },
  {
    name: "__complete",
    group: "hidden",
    summary: "Print completions of a word",
    load: async () => (await import("./commands/complete.ts")).complete,
  },
  { name: "version", group: "client", summary: "Print the version", load: async () => (await import("./commands/version.ts")).version },
];

/** Finds the command: the first word of the command line that is not a flag of the program. */
export function findCommand(words: readonly string[]): CommandEntry | undefined {
  const name = words.find((word, at) => !word.startsWith("-") && words[at - 1] !== "--context");
  return commandTable.find((candidate) => candidate.name === name || candidate.aliases?.includes(name ?? "") === true);
}

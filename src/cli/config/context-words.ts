/** The actions of `agentbox config`. */
import { resolve } from "node:path";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { readFile } from "node:fs/promises";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { showListing } from "../print/listing.ts";
import { listingFlags } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";
import { contextKind, contextNamed, type ServerContext, shownContext } from "./server-contexts.ts";

const settings = ["url", "gateway", "home", "kubeconfig", "kube-context", "key-stdin", "key-file"];

export const setContext: WordAction = {
  flags: settings,
  run: async (context, words, args) => {
    const name = oneName("set", words);
    if (!/^[\w.-]{1,63}$/.test(name))
      throw new UsageError(`the name of a context may contain only letters, digits, ".", "_" and "-", not ${JSON.stringify(name)}`);
    const file = await context.contexts.read();
    const before = Object.hasOwn(file.contexts, name) ? contextNamed(file, name) : undefined;
    const entry = await changed(context, args, before);
    const isFirst = Object.keys(file.contexts).length === 0;
    const current = file.current ?? (isFirst ? name : undefined);
    await context.contexts.write({ contexts: { ...file.contexts, [name]: entry }, ...withoutUndefined({ current }) });
    context.stdout.write(`context ${name} is ${before === undefined ? "created" : "changed"}${current === name ? " and in use" : ""}\n`);
    return 0;
  },
};

async function changed(context: CliContext, args: Arguments, before: ServerContext | undefined): Promise<ServerContext> {
  if (!settings.some((flag) => args.has(flag))) throw new UsageError("config set needs a value to set: --url, --home or --kubeconfig");
  const path = (flag: string): string | undefined => (args.has(flag) ? resolve(context.cwd, args.text(flag) ?? "") : undefined);
  const url = urlOf(args, "url");
  // A key belongs to one server: it is dropped when the address changes.
  const kept = url !== undefined && url !== before?.url ? withoutKey(before) : before;
  const entry: ServerContext = {
    ...kept,
    ...withoutUndefined({
      url,
      gateway: urlOf(args, "gateway"),
      home: path("home"),
      kubeconfig: path("kubeconfig"),
      kubeContext: args.text("kube-context"),
      key: await keyOf(context, args),
    }),
  };
  if (entry.url !== undefined && entry.home !== undefined) throw new UsageError("use either --url or --home, not both");
  if (entry.url === undefined && (entry.key !== undefined || entry.gateway !== undefined))
    throw new UsageError("--key-stdin, --key-file and --gateway need --url");
  if (entry.kubeContext !== undefined && entry.kubeconfig === undefined) throw new UsageError("--kube-context needs --kubeconfig");
  return entry;
}

function withoutKey(entry: ServerContext | undefined): ServerContext {
  const { key: _, ...rest } = entry ?? {};
  return rest;
}

function urlOf(args: Arguments, flag: string): string | undefined {
  const text = args.text(flag);
  if (text === undefined) return undefined;
  if (!/^https?:\/\/[^/\s]+/.test(text) || !URL.canParse(text))
    throw new UsageError(`--${flag} must be such as https://agentbox.example.com, not ${JSON.stringify(text)}`);
  return text.replace(/\/+$/, "");
}

/** Never from the command line, because process lists and the shell's history would show it. */
async function keyOf(context: CliContext, args: Arguments): Promise<string | undefined> {
  const file = args.text("key-file");
  if (file === undefined && !args.isOn("key-stdin")) return undefined;
  if (file !== undefined && args.isOn("key-stdin")) throw new UsageError("--key-file and --key-stdin exclude each other");
  const text = file === undefined ? await context.readStdin() : await readFile(resolve(context.cwd, file), "utf8");
  const key = text.trim();
  if (key === "" || /\s/.test(key)) throw new CliError(`${file ?? "standard input"} does not contain an API key on one line`);
  return key;
}

export const useContext: WordAction = {
  flags: [],
  run: async (context, words) => {
    const name = oneName("use", words);
    const file = await context.contexts.read();
    contextNamed(file, name);
    await context.contexts.write({ ...file, current: name });
    context.stdout.write(`context ${name} is in use\n`);
    return 0;
  },
};

export const removeContext: WordAction = {
  flags: [],
  run: async (context, words) => {
    const name = oneName("rm", words);
    const file = await context.contexts.read();
    contextNamed(file, name);
    const { [name]: _, ...contexts } = file.contexts;
    await context.contexts.write({ contexts, ...(file.current !== undefined && file.current !== name && { current: file.current }) });
    context.stdout.write(`context ${name} is removed\n`);
    return 0;
  },
};

export const listContexts: WordAction = {
  flags: Object.keys(listingFlags),
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`config ls takes no names: unexpected ${words.join(" ")}`);
    const load = async (): Promise<readonly ShownContext[]> => {
      const file = await context.contexts.read();
      return Object.keys(file.contexts).map((name) => ({
        ...(shownContext(file, name) as ShownContext),
        kind: contextKind(contextNamed(file, name)),
      }));
    };
    return await showListing(context, args, {
      load,
      nameOf: ({ name }) => name,
      empty: "No contexts: commands use the server of this machine (agentbox config set NAME --url URL)",
      columns: [
        { name: "IN-USE", cell: ({ inUse }) => (inUse ? "*" : "") },
        { name: "NAME", cell: ({ name }) => name },
        { name: "KIND", cell: ({ kind }) => kind },
        { name: "WHERE", cell: (entry) => entry.url ?? entry.home ?? entry.kubeconfig ?? "~/.agentbox" },
        { name: "KEY", cell: ({ hasKey }) => (hasKey ? "yes" : "-") },
        { name: "GATEWAY", wide: true, cell: ({ gateway }) => gateway ?? "-" },
        { name: "KUBECONFIG", wide: true, cell: ({ kubeconfig }) => kubeconfig ?? "-" },
      ],
    });
  },
};

interface ShownContext extends Omit<ServerContext, "key"> {
  readonly name: string;
  readonly kind: string;
  readonly inUse: boolean;
  readonly hasKey: boolean;
}

export const contextPath: WordAction = {
  flags: [],
  run: async (context) => {
    context.stdout.write(`${context.contexts.path}\n`);
    return 0;
  },
};

function oneName(word: string, words: readonly string[]): string {
  const [name, ...more] = words;
  if (name === undefined || more.length > 0)
    throw new UsageError(`config ${word} needs the name of one context; agentbox config ls lists them`);
  return name;
}

/** The plugins that a configuration file names, loaded and in their order. Each failure says which entry, and what is wrong. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Clock } from "#lib/clock.ts";
import { hooks } from "./call-plugin.ts";
import { httpPlugin } from "./http-plugin.ts";
import type { Plugin } from "./plugin.ts";
import {
  type HttpEntry,
  type ModuleEntry,
  noConfiguration,
  type PluginConfiguration,
  PluginConfigurationError,
  readConfiguration,
} from "./read-configuration.ts";

export interface PluginFile {
  readonly path: string;
  /** Whether a user named it: then it has to be there. */
  readonly isNamed: boolean;
}

export interface LoadedPlugins {
  readonly plugins: readonly Plugin[];
  readonly configuration: PluginConfiguration;
}

/** Throws PluginConfigurationError with the file and the place in it. */
export async function loadPlugins({ path, isNamed }: PluginFile, clock: Clock): Promise<LoadedPlugins> {
  try {
    const text = await textOf(path, isNamed);
    const configuration = text === undefined ? noConfiguration : readConfiguration(text);
    const plugins: Plugin[] = [];
    for (const entry of configuration.plugins) plugins.push(await loaded(entry, { folder: dirname(resolve(path)), clock }));
    return { plugins, configuration };
  } catch (error) {
    if (!(error instanceof PluginConfigurationError)) throw error;
    throw new PluginConfigurationError(`${path}: ${error.message}`, { cause: error });
  }
}

async function textOf(path: string, isNamed: boolean): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && !isNamed) return undefined;
    throw new PluginConfigurationError(code === "ENOENT" ? "there is no such file" : `it cannot be read: ${message}`, { cause: error });
  }
}

interface Place {
  /** Of the configuration file. */
  readonly folder: string;
  readonly clock: Clock;
}

async function loaded(entry: ModuleEntry | HttpEntry, place: Place): Promise<Plugin> {
  try {
    return entry.kind === "module" ? await fromModule(entry, place) : await fromUrl(entry, place);
  } catch (error) {
    throw new PluginConfigurationError(`plugin ${entry.name}: ${(error as Error).message}`, { cause: error });
  }
}

async function fromUrl({ name, url, secretFile, hooks: wanted }: HttpEntry, { folder, clock }: Place): Promise<Plugin> {
  const path = resolve(folder, secretFile);
  let secret: string;
  try {
    secret = (await readFile(path, "utf8")).trim();
  } catch (error) {
    throw new Error(`secretFile ${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (secret.length < leastSecret) throw new Error(`secretFile ${path} has fewer than ${leastSecret} characters: requests could be forged`);
  return httpPlugin({ name, url, secret, hooks: wanted, clock });
}

const leastSecret = 16;

async function fromModule({ name, module, args }: ModuleEntry, { folder }: Place): Promise<Plugin> {
  const exports = await imported(module, folder);
  const given = exports["default"] ?? exports["plugin"];
  if (given === undefined) throw new Error(`${module} exports neither default nor plugin`);
  const made: unknown = typeof given === "function" ? await (given as (args: unknown) => unknown)(args) : given;
  if (typeof made !== "object" || made === null) throw new Error(`${module} exports no plugin and no function that returns one`);
  const found = made as Partial<Plugin>;
  const bad = [...hooks, "start" as const].find((hook) => found[hook] !== undefined && typeof found[hook] !== "function");
  if (bad !== undefined) throw new Error(`${bad} of ${module} must be a function`);
  if (!hooks.some((hook) => found[hook] !== undefined)) throw new Error(`${module} has none of the hooks ${hooks.join(", ")}`);
  return named(found as Plugin, name);
}

async function imported(module: string, folder: string): Promise<Readonly<Record<string, unknown>>> {
  const isPath = module.startsWith(".") || isAbsolute(module);
  const file = isPath ? resolve(folder, module) : createRequire(resolve(folder, "plugins.json")).resolve(module);
  return (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
}

/** Under the name of its entry, of which there is one; its hooks keep their `this`. */
function named(plugin: Plugin, name: string): Plugin {
  const present = [...hooks, "start" as const].filter((hook) => plugin[hook] !== undefined);
  return { name, ...Object.fromEntries(present.map((hook) => [hook, (plugin[hook] as (...args: unknown[]) => unknown).bind(plugin)])) };
}

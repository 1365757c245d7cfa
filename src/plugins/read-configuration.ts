/**
 * The file that names plugins, in JSON or YAML:
 *
 *     deadline: 2s                      # for one hook of one plugin; 5s when left out
 *     plugins:
 *       - name: nodes                   # a module: an absolute path, one beside the file (./…), or the name of a package
 *         module: ./nodes.ts
 *         args: { pool: gpu }           # handed to the module's factory
 *       - name: budget                  # an HTTP endpoint
 *         url: https://budget.internal/agentbox
 *         secretFile: /etc/agentbox/budget.secret
 *         hooks: [preCreatePool, preUpdatePool]
 *     capacity: { cpuOvercommit: 8, memoryShare: 0.9, unschedulableAfter: 30s }
 *
 * Pure: whatever is wrong is said with the place in the file and what would be right.
 */
import { parse } from "yaml";
import { parseDuration } from "#model/duration.ts";
import { type Hook, hooks } from "./call-plugin.ts";
import { type CapacitySettings, usualCapacity } from "./capacity.ts";

export interface ModuleEntry {
  readonly kind: "module";
  readonly name: string;
  readonly module: string;
  readonly args: unknown;
}

export interface HttpEntry {
  readonly kind: "http";
  readonly name: string;
  readonly url: URL;
  readonly secretFile: string;
  readonly hooks: readonly Hook[];
}

export interface PluginConfiguration {
  readonly deadlineMs?: number;
  readonly plugins: readonly (ModuleEntry | HttpEntry)[];
  readonly capacity: CapacitySettings;
}

export const noConfiguration: PluginConfiguration = { plugins: [], capacity: usualCapacity };

export class PluginConfigurationError extends Error {
  override readonly name = "PluginConfigurationError";
}

type Fields = Readonly<Record<string, unknown>>;

/** Throws PluginConfigurationError. */
export function readConfiguration(text: string): PluginConfiguration {
  const value = fieldsOf(parsed(text), "the file", ["deadline", "plugins", "capacity"]);
  const { deadline, plugins = [], capacity } = value;
  if (!Array.isArray(plugins)) throw wrong("plugins", "must be a list");
  const entries = plugins.map((entry, index) => entryOf(entry, `plugins[${index}]`));
  const twice = entries.find(({ name }, index) => entries.findIndex((other) => other.name === name) !== index);
  if (twice !== undefined) throw wrong("plugins", `has two entries with the name ${JSON.stringify(twice.name)}`);
  const reserved = entries.find(({ name }) => inTreeNames.includes(name));
  if (reserved !== undefined) throw wrong("plugins", `has an entry with the name ${reserved.name}, which is a plugin of AgentBox's own`);
  return {
    ...(deadline !== undefined && { deadlineMs: durationOf(deadline, "deadline") }),
    plugins: entries,
    capacity: capacity === undefined ? usualCapacity : capacityOf(capacity),
  };
}

export const inTreeNames: readonly string[] = ["instance-types", "quota", "capacity", "reservation"];

function parsed(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 100, logLevel: "error" }) ?? {};
  } catch (error) {
    throw new PluginConfigurationError(`it is neither YAML nor JSON: ${(error as Error).message.split("\n", 1)[0] ?? ""}`);
  }
}

function entryOf(entry: unknown, place: string): ModuleEntry | HttpEntry {
  const fields = fieldsOf(entry, place, ["name", "module", "args", "url", "secretFile", "hooks"]);
  const name = textOf(fields["name"], `${place}.name`);
  if (!/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/.test(name)) {
    throw wrong(`${place}.name`, `must be of lower-case letters, digits, - and ., not ${JSON.stringify(name)}`);
  }
  const named = `${place} (${name})`;
  const { module, url, args } = fields;
  if ((module === undefined) === (url === undefined)) throw wrong(named, "needs either module or url");
  if (url !== undefined) return httpEntry(fields, name, named);
  const misplaced = ["secretFile", "hooks"].find((field) => fields[field] !== undefined);
  if (misplaced !== undefined) throw wrong(`${named}.${misplaced}`, "belongs to plugins with a url");
  return { kind: "module", name, module: textOf(module, `${named}.module`), args };
}

function httpEntry(fields: Fields, name: string, named: string): HttpEntry {
  if (fields["args"] !== undefined) throw wrong(`${named}.args`, "belongs to plugins with a module");
  const text = textOf(fields["url"], `${named}.url`);
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw wrong(`${named}.url`, `must be an http or https address, not ${JSON.stringify(text)}`);
  }
  const secretFile = textOf(fields["secretFile"], `${named}.secretFile`);
  return { kind: "http", name, url, secretFile, hooks: hooksOf(fields["hooks"], `${named}.hooks`) };
}

function hooksOf(value: unknown, place: string): readonly Hook[] {
  if (value === undefined) return hooks;
  if (!Array.isArray(value) || value.length === 0) throw wrong(place, `must be a list of some of ${hooks.join(", ")}`);
  return value.map((one: unknown, index) => {
    const hook = hooks.find((known) => known === one);
    if (hook === undefined) throw wrong(`${place}[${index}]`, `must be one of ${hooks.join(", ")}, not ${JSON.stringify(one)}`);
    return hook;
  });
}

function capacityOf(value: unknown): CapacitySettings {
  const { unschedulableAfter, ...numbers } = fieldsOf(value, "capacity", [...Object.keys(capacityRanges), "unschedulableAfter"]);
  for (const [name, number] of Object.entries(numbers)) {
    const [least, most] = capacityRanges[name as keyof typeof capacityRanges];
    if (typeof number === "number" && number >= least && number <= most) continue;
    throw wrong(`capacity.${name}`, `must be a number from ${least} to ${most}, not ${JSON.stringify(number)}`);
  }
  return {
    ...usualCapacity,
    ...(numbers as Partial<CapacitySettings>),
    ...(unschedulableAfter !== undefined && { unschedulableAfterMs: durationOf(unschedulableAfter, "capacity.unschedulableAfter") }),
  };
}

const capacityRanges = {
  cpuOvercommit: [0.1, 1000],
  memoryShare: [0.01, 10],
  diskShare: [0.01, 100],
  limitDivisor: [1, 1000],
} as const;

function fieldsOf(value: unknown, place: string, known: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(place, "must be an object");
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown !== undefined) throw wrong(place, `has no field ${JSON.stringify(unknown)}: the fields are ${known.join(", ")}`);
  return value as Fields;
}

function textOf(value: unknown, place: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw wrong(place, value === undefined ? "is needed" : `must be a text, not ${JSON.stringify(value)}`);
}

function durationOf(value: unknown, place: string): number {
  try {
    const ms = parseDuration(textOf(value, place));
    if (ms > 0) return ms;
  } catch (error) {
    if (error instanceof PluginConfigurationError) throw error;
  }
  throw wrong(place, `must be a duration above 0 such as 500ms or 5s, not ${JSON.stringify(value)}`);
}

function wrong(place: string, what: string): PluginConfigurationError {
  return new PluginConfigurationError(`${place} ${what}`);
}

/** The runtimes that the daemon serves itself, and what becomes of all others. */
import type { JsonObject } from "#model/meta.ts";
import type { SandboxRuntime } from "#model/sandbox-runtime.ts";
import { type RuntimeModule, runtimeVariables as names, unknownKeys } from "./runtime-module.ts";

/** Where the daemon listens unless the runtime `e2b` says otherwise. */
export const defaultDaemonPort = 49_983;

export const daemonRuntime = "e2b";

const e2b: RuntimeModule = {
  usualPort: defaultDaemonPort,
  variables: (_, port = defaultDaemonPort) => (port === defaultDaemonPort ? [] : [{ name: names.daemonPort, value: String(port) }]),
  isServed: () => true,
  configProblem: (config) => unknownKeys(config, []),
};

const codeInterpreter: RuntimeModule = {
  usualPort: 49_999,
  variables: (_, port) => [{ name: names.interpreterPort, value: String(port) }],
  isServed: () => true,
  configProblem: (config) => unknownKeys(config, []),
};

const swerexModes = ["served", "process"] as const;

/** The remote runtime of SWE-ReX: served by the daemon, or the original as a process of the image. */
const swerex: RuntimeModule = {
  usualPort: 8000,
  variables: ({ config = {} }, port) => [
    { name: names.swerexPort, value: String(port) },
    ...(typeof config["user"] === "string" ? [{ name: names.swerexUser, value: config["user"] }] : []),
    ...(config["mode"] === "process" ? [{ name: names.swerexMode, value: "process" }] : []),
  ],
  isServed: ({ config = {} }) => config["mode"] !== "process",
  configProblem: (config) => unknownKeys(config, ["mode", "user"]) ?? swerexProblem(config),
};

function swerexProblem({ mode = "served", user = "root" }: JsonObject): string | undefined {
  if (!swerexModes.some((known) => known === mode)) return `mode must be ${swerexModes.join(" or ")}, not ${JSON.stringify(mode)}`;
  return typeof user === "string" && /^[a-z_][a-z0-9_-]{0,31}$/.test(user)
    ? undefined
    : `user must be the name of a user of the image, not ${JSON.stringify(user)}`;
}

/** One of the image's own. It finds its port and its settings in variables, as we do not know its program. */
const otherRuntime: RuntimeModule = {
  variables: ({ name, config }, port) => {
    const prefix = `RUNTIME_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
    return [
      ...(port === undefined ? [] : [{ name: `${prefix}_PORT`, value: String(port) }]),
      ...(config === undefined ? [] : [{ name: `${prefix}_CONFIG`, value: JSON.stringify(config) }]),
    ];
  },
  isServed: () => false,
  configProblem: (config) => {
    const size = Buffer.byteLength(JSON.stringify(config));
    return size <= largestConfig ? undefined : `has ${size} bytes of JSON; there may be ${largestConfig}`;
  },
};

/** A variable of a process is at most twice as long, and there may be 32 runtimes. */
const largestConfig = 64 * 1024;

const modules: ReadonlyMap<string, RuntimeModule> = new Map([
  [daemonRuntime, e2b],
  ["code-interpreter", codeInterpreter],
  ["swerex", swerex],
]);

export function moduleOf({ name }: Pick<SandboxRuntime, "name">): RuntimeModule {
  return modules.get(name) ?? otherRuntime;
}

/** The process: reads who it is from its environment and serves until it is told to stop, which it does at once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { envdPort } from "#envd-protocol/arming.ts";
import { ArmedState } from "./armed-state.ts";
import { collectGarbage, keepSmall } from "./idle-memory.ts";
import { envdServer } from "./server.ts";

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") {
    console.error(`envd: the environment variable ${name} must be set by the pod`);
    process.exit(78);
  }
  return value;
}

const identity = {
  podUid: required("AGENTBOX_POD_UID"),
  // The kernel's, because node:crypto costs a waiting daemon 5 MB.
  bootId: readFileSync("/proc/sys/kernel/random/uuid", "utf8").trim(),
  controlPlaneKey: required("AGENTBOX_PUBLIC_KEY"),
};
const port = Number(process.env["AGENTBOX_ENVD_PORT"] ?? envdPort);
const { AGENTBOX_ENTRYPOINT: entrypoint } = process.env;
const state = new ArmedState();
const server = envdServer(identity, {
  state,
  runner: join(import.meta.dirname, "step-runner"),
  ...(entrypoint === undefined ? {} : { entrypoint }),
  // Under the sandbox's init, and not on a developer's machine.
  ...(process.ppid === 1 ? { forwardsBeside: port } : {}),
});
server.on("error", (error) => {
  console.error(`envd: ${error.message}`);
  process.exit(1);
});
// The daemon is the sandbox's first process: no single request may take everything else down with it.
process.on("uncaughtException", (error) => console.error(`envd: ${error.stack ?? error.message}`));
// Who works for a sandbox has better things to do.
keepSmall(server, setTimeout, () => state.sandboxId ?? collectGarbage());
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => process.exit(0));
server.listen(port, "0.0.0.0");

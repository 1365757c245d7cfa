/** The process: reads its identity from the environment and serves until a signal, at which it exits at once. */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import { join } from "node:path";
import { envdPort } from "#envd-protocol/arming.ts";
import { ArmedState } from "./armed-state.ts";
import { heldDoors, sendDoormanAway, waitBehindDoor } from "./helper/door.ts";
import { endProcesses } from "./end-processes.ts";
import { collectGarbage, keepSmall } from "./idle-memory.ts";
import { interpreterServer } from "./interpreter-server.ts";
import { OwnSockets } from "./ports/socket-count.ts";
import { rehearseCommand } from "./rehearsal.ts";
import { envdServer } from "./server.ts";
import { startSwerexProcess, swerexServer } from "./swerex-server.ts";

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
  // The kernel's random id, because loading node:crypto takes longer than the whole start may.
  bootId: readFileSync("/proc/sys/kernel/random/uuid", "utf8").trim(),
  controlPlaneKey: required("AGENTBOX_PUBLIC_KEY"),
};
const port = Number(process.env["AGENTBOX_ENVD_PORT"] ?? envdPort);
const program = { given: process.argv.slice(2), ofImage: process.env["AGENTBOX_IMAGE_ENTRYPOINT"] === "true" };
const interpreterPort = process.env["AGENTBOX_INTERPRETER_PORT"];
const swerexPort = process.env["AGENTBOX_SWEREX_PORT"];
const helper = join(import.meta.dirname, "helper");
const state = new ArmedState();
const own = new OwnSockets();
const init = join(import.meta.dirname, "init");
const server = envdServer(identity, {
  state,
  helper,
  program,
  endProcesses: () => endProcesses(init),
  // Only below the sandbox's init, not on a developer's machine.
  ...(process.ppid === 1 ? { forwardsBeside: { port, sockets: () => own.count } } : {}),
});
own.add(server);
server.on("error", (error) => {
  console.error(`envd: ${error.message}`);
  process.exit(1);
});
// The daemon is the sandbox's first process: no single request may end it.
process.on("uncaughtException", (error) => console.error(`envd: ${error.stack ?? error.message}`));
// Only while it waits: a collection would delay requests of a claimed sandbox.
const collect = (): void => {
  if (state.sandboxId === undefined) collectGarbage();
};
keepSmall(server, setTimeout, collect, () => {
  // The collection after the rehearsal also covers the start.
  if (state.sandboxId === undefined) void rehearseCommand(helper).finally(collect);
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => process.exit(0));
const servers: (readonly [number, Server])[] = [[port, server]];
if (interpreterPort !== undefined) {
  const interpreter = interpreterServer({ state, helper, programs: import.meta.dirname });
  // The sandbox works without it, and its template may bring another one.
  interpreter.on("error", (error) => console.error(`envd: no code interpreter: ${error.message}`));
  own.add(interpreter);
  servers.push([Number(interpreterPort), interpreter]);
}
if (swerexPort !== undefined && process.env["AGENTBOX_SWEREX_MODE"] === "process") {
  const user = process.env["AGENTBOX_SWEREX_USER"] ?? "root";
  state.onArmed(() => void setImmediate(() => void startSwerexProcess(state, Number(swerexPort), user)));
} else if (swerexPort !== undefined) {
  const swerex = swerexServer({ state, helper, user: process.env["AGENTBOX_SWEREX_USER"] ?? "root" });
  // The sandbox works without it.
  swerex.on("error", (error) => console.error(`envd: no runtime swerex: ${error.message}`));
  own.add(swerex);
  servers.push([Number(swerexPort), swerex]);
}
const doors = heldDoors(process.env["AGENTBOX_DOORS"]);
const listen = (): void => {
  for (const [at, each] of servers) {
    const door = doors?.get(at);
    // If two servers are configured for the same port, the first one gets the doorman's socket.
    doors?.delete(at);
    each.listen(door === undefined ? { port: at, host: "0.0.0.0" } : { fd: door });
  }
};
/** Arms before listening: a caller that knows that its sandbox is armed must not reach a daemon that still waits. */
const takeOrder = async (): Promise<void> => {
  try {
    const order = await waitBehindDoor(identity);
    if (order !== undefined) state.arm(order.sandboxId, order.init);
  } catch (error) {
    console.error(`envd: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(1);
  }
};
if (doors === undefined) listen();
else if (program.ofImage || program.given.length > 0) {
  // An image's own program starts without a claim, so the daemon must not wait behind the doorman for a request.
  sendDoormanAway();
  listen();
} else void takeOrder().then(listen);

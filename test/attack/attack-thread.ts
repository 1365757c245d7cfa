/** Runs one attack in a thread of its own, so that the attacker's work does not slow the other tenant's client down. */
import { parentPort, workerData } from "node:worker_threads";
import { attacks } from "./attacks.ts";
import { Attacker, type AttackerOptions } from "./scene.ts";

const { name, options } = workerData as { readonly name: string; readonly options: AttackerOptions };
const stop = new AbortController();
parentPort?.once("message", () => stop.abort());
const attack = attacks.find((one) => one.name === name);
const got = attack?.run(new Attacker(options), stop.signal) ?? Promise.reject(new Error(`no attack is named ${name}`));
parentPort?.postMessage(await got.catch((error: unknown) => `failed: ${(error as Error).message.slice(0, 160)}`), []);

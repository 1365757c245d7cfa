/** Post-start hooks as they are written on a pod: sealed, because commands, headers and bodies may hold secrets (ADR 70). */
import type { KeyObject } from "node:crypto";
import type { PostStartHook } from "#services/sandbox-service.ts";
import { Seal } from "./seal.ts";

export class HookSeal extends Seal<readonly PostStartHook[]> {
  constructor(privateKey: KeyObject) {
    super(privateKey, "agentbox post-start hooks v1");
  }
}

/** Claims, arming, ends and pools. */
import { bugsIn, type Mutant } from "../mutant.ts";

export const lifeMutants: readonly Mutant[] = [
  bugsIn(
    "src/life/arm/arm-sandbox.ts",
    ["src/life/arm/arm-sandbox.test.ts"],
    [
      [
        "a sandbox is armed before its egress rules hold, where its daemon's boot is known",
        "start.isReportNeeded || !isNodeDone(pod);",
        "start.isReportNeeded;",
      ],
      [
        "a sandbox is armed before its egress rules hold, where its daemon is asked first",
        'if ((isReportNeeded && !isStarted(pod)) || !isNodeDone(pod)) return { kind: "later" };',
        'if (isReportNeeded && !isStarted(pod)) return { kind: "later" };',
      ],
      [
        "a claim beside its pod is not checked against the pod that the server has",
        "step = (await arming.look()) ?? step;",
        'step = { kind: "later" };',
      ],
      [
        "another pod that has the address by now is armed",
        'if (podUid !== this.#claimed.metadata.uid) return { kind: "boot", bootId: undefined };',
        "",
      ],
      [
        "a container that was started anew is armed",
        "if (only !== undefined && bootId !== only) return failed",
        "if (false) return failed",
      ],
      [
        "the container that is about to go is armed",
        "if (bootId === undefined || bootId === not) return",
        "if (bootId === undefined) return",
      ],
      [
        "a sandbox that has ended meanwhile is armed",
        "if (!isClaimed(pod) || sandboxIdOf(pod) !== sandboxIdOf(this.#claimed)) return",
        'if (!isClaimed(pod)) return { kind: "armed", pod }; if (sandboxIdOf(pod) !== sandboxIdOf(this.#claimed)) return',
      ],
      ["a silent daemon is asked for ever", "deps.clock.now() - since > silenceMs", "deps.clock.now() - since > Infinity"],
      ["a refused order is sent again and again", 'if (error.failure === "refused") return failed', "if (false) return failed"],
    ],
  ),
  bugsIn(
    "src/life/claim/claim-pod.ts",
    ["src/life/claim/claim-pod.test.ts", "src/life/claim/claim-given-up.test.ts"],
    [
      [
        "a lost race is an error of the request",
        "    if (isLostRace(error)) {\n      deps.meters.wrote",
        "    if (false) {\n      deps.meters.wrote",
      ],
      [
        "a claim whose answer was lost is left behind",
        "    deps.background.run(sandboxId, () => endDoubtfulClaim(deps, { writing, reservation, sandboxId }));\n",
        "",
      ],
      [
        "a refused write keeps the pod reserved",
        '      deps.meters.wrote(pool, "refused");\n      reservation.cancel();',
        '      deps.meters.wrote(pool, "refused");',
      ],
      ["a pod is claimed for a request that is over", "if (over.aborted) {", "if (false) {"],
    ],
  ),
  bugsIn(
    "src/services/creating/pool-standing.ts",
    ["src/life/claim/claim-pod.test.ts", "src/services/creating/env-creates.test.ts"],
    [
      [
        "pods of a pool that is being deleted are still claimed",
        "if (object === undefined || object.metadata.deletionTimestamp !== undefined) return [];",
        "if (object === undefined) return [];",
      ],
    ],
  ),
  bugsIn(
    "src/controllers/pool/drain-pool.ts",
    ["src/controllers/pool/keep-pods.test.ts"],
    [
      ["a deleted pool deletes its pods again and again", "if (!tools.expectations.satisfied(key)) return false;", ""],
      [
        "a deleted pool goes before its last pod",
        "if (replicasOf(counts) + counts.terminating > 0) return false;",
        "if (replicasOf(counts) > 0) return false;",
      ],
      ["pods of a deleted pool are deleted by name, also a new one", "{ preconditions: { uid }, signal }", "{ signal }"],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/agent/plan/resting.ts",
    ["src/engines/embedded/node/agent/agent-resting.test.ts"],
    [
      [
        "an ended sandbox whose daemon lies runs on",
        "const isDue = !(now >= since && now < since + orderTakesMs);",
        "const isDue = false;",
      ],
      [
        "a clock that was set back keeps an ended sandbox running",
        "!(now >= since && now < since + orderTakesMs)",
        "now >= since + orderTakesMs",
      ],
      [
        "what rests is woken before it is killed",
        "return isKilled || (restWish(pod) === undefined && ",
        "return restWish(pod) === undefined || (isKilled && ",
      ],
      [
        "a new agent wakes what rested before it is killed",
        '(restWish(pod) !== undefined || restAnswer(pod) === "frozen")',
        "restWish(pod) !== undefined",
      ],
    ],
  ),
  bugsIn(
    "src/life/recycle/recycle-loop.ts",
    ["src/life/recycle/recycle-loop.test.ts"],
    [
      ["a pod that cannot be frozen rests on", 'return answer === "failed";', "return false;"],
      ["a lying daemon is believed where freezing failed", 'if (restAnswer(pod) !== "failed" && (await', "if ((await"],
    ],
  ),
  bugsIn(
    "src/services/creating/pool-shortage.ts",
    ["src/services/creating/env-creates.test.ts"],
    [
      [
        "a caller is told to try again where nothing can become free",
        "shortageDetails(source, standings));",
        "{ ...shortageDetails(source, standings), retryAfterSeconds: 1 });",
      ],
    ],
  ),
].flat();

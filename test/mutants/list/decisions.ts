/** Decisions about pods: which may be claimed, which are clean, when a sandbox ends, and how long requests wait. */
import { bugsIn, type Mutant } from "../mutant.ts";

export const decisionMutants: readonly Mutant[] = [
  bugsIn(
    "src/scheduling/claim-queue.ts",
    ["src/scheduling/claim-queue.test.ts"],
    [
      ["as many requests wait as like to", 'if (this.#waiting.size >= this.#limits.maxWaiting) return "all";', ""],
      ["one tenant takes all places", '>= (typeof most === "number" ? most : most(tenant))', ">= Infinity"],
      ["a request waits for ever", '    late.addEventListener("abort", onLate, { once: true });\n', ""],
      ["a request waits on after its client has left", '    signal.addEventListener("abort", onAbort, { once: true });\n', ""],
      ["a tenant with many requests gets all pods", "      line.rotate(waiter.request.tenant);\n", ""],
      ["a pod that comes back wakes nobody", "      reservation.cancel();\n      this.#dispatch(pool);", "      reservation.cancel();"],
      ["requests at a removed pool wait on", 'waiter.end({ kind: "gone" });', "{}"],
      ["a queue that has stopped takes requests", 'if (this.#isStopped) return { kind: "stopped" };', ""],
    ],
  ),
  bugsIn(
    "src/scheduling/idle-pods.ts",
    ["src/scheduling/idle-pods.test.ts", "src/scheduling/idle-pods.property.test.ts"],
    [
      ["a reserved pod is given out again", '    if (was === "reserved") return undefined;\n', ""],
      [
        "an outdated pod is offered again and again",
        'state === "outdated" && entry.pod.metadata.resourceVersion === pod.metadata.resourceVersion ? "outdated" : "free"',
        '"free"',
      ],
      ["a reservation is ended twice", "      isOpen = false;\n", ""],
      ["a pool that is gone is remembered for ever", "if (free.size === 0 && reserved === 0) this.#pools.delete(key);", ""],
    ],
  ),
  bugsIn(
    "src/controllers/pool/size/plan-refill.ts",
    ["src/controllers/pool/plans.property.test.ts"],
    [
      ["the stock is started beside what requests wait for", "urgent < missing && stockHeldForMs", "urgent < 0 && stockHeldForMs"],
      ["a pool at which requests always wait never has a stock", " && stockHeldForMs < pace.stockYieldMs", ""],
    ],
  ),
  bugsIn(
    "src/controllers/pool/size/pool-sums.ts",
    ["src/controllers/pool/size/waiter-pods.test.ts"],
    [
      [
        "pools of one team that grow in the same moment pass its limit together",
        "      coming.all += more;\n      if (teamOf(object) === team) coming.ofTeam += more;\n",
        "",
      ],
    ],
  ),
  bugsIn(
    "src/controllers/pool/size/pool-quotas.ts",
    ["src/controllers/pool/size/waiter-pods.test.ts"],
    [
      [
        "quotas do not count what younger pools have",
        "? sums.podsOf(other) : Math.max(replicasOf(countPods(cache, keyOf(other))), underWay.upTo(keyOf(other)))",
        "? sums.podsOf(other) : 0",
      ],
    ],
  ),
  bugsIn(
    "src/lib/kept-sums.ts",
    ["src/lib/kept-sums.test.ts"],
    [["what has changed is counted twice", "    this.#add(this.#counted.get(key), -1);\n", ""]],
  ),
  bugsIn(
    "src/sandbox/claimable.ts",
    ["src/sandbox/claimable.test.ts", "src/scheduling/idle-pods.test.ts"],
    [
      [
        "a pod that is being deleted is given out",
        "pod.metadata.deletionTimestamp !== undefined || pod.metadata.annotations?.[annotationKeys.leaving]",
        "pod.metadata.annotations?.[annotationKeys.leaving]",
      ],
      ["a pod that was chosen to go is given out", " || pod.metadata.annotations?.[annotationKeys.leaving] !== undefined)", ")"],
      ["a pod that runs somebody's sandbox is given out", 'if (sandboxPhaseOf(pod) !== "idle") return "not-idle";', ""],
      ["a pod that does not answer is given out", 'if (!isAnswering(pod)) return "not-ready";', ""],
      ["a pod with what its last user left is given out", 'return isFresh(pod) ? undefined : "not-fresh";', "return undefined;"],
      [
        "a used pod whose exchange was never written is fresh",
        'if (read.kind === "none") return useCountOf(pod) === 0;',
        'if (read.kind === "none") return true;',
      ],
      ["a frozen pod is given out", " && pauseWish(pod) === undefined && !isFrozen(pod);", ";"],
    ],
  ),
  bugsIn(
    "src/life/claim/plan-claim.ts",
    ["src/life/claim/plan-claim.test.ts"],
    [
      [
        "a user's label takes the place of one of AgentBox's",
        'if (reserved !== undefined) return refused("reserved-key"',
        'if (false) return refused("reserved-key"',
      ],
      [
        "a user's label takes the place of the pool's",
        'if (label !== undefined) return refused("key-taken"',
        'if (false) return refused("key-taken"',
      ],
      [
        "egress rules stay on a Lease that no node reads",
        "return egress !== undefined || volumeMounts.length > 0 || !isEmpty(labels)",
        "return volumeMounts.length > 0 || !isEmpty(labels)",
      ],
      [
        "a private sandbox is open",
        "...(privateTraffic === true ? { [annotationKeys.privateTraffic]",
        "...(privateTraffic === false ? { [annotationKeys.privateTraffic]",
      ],
      ["a claimed pod is still chosen for scale-down", "const left = [annotationKeys.chosenToGo, ", "const left = ["],
      ["a sandbox forgets its end time", "...(endTimeMs === undefined ? {} : { [annotationKeys.endTime]: formatTime(endTimeMs) }),", ""],
    ],
  ),
  bugsIn(
    "src/life/recycle/plan-fate.ts",
    ["src/life/recycle/plan-fate.test.ts"],
    [
      ["a pod with a volume of its user is used again", "...writableVolumes(pod).map((name) => `volume ${name} can be written to`),", ""],
      ["a pod with processes of its user is used again", "...(shareProcessNamespace === true ?", "...(shareProcessNamespace === null ?"],
      [
        "a side container with what its user left goes on",
        "...sideContainers(pod).map((name) => `container ${name} would go on running`),",
        "",
      ],
      ["a pod is used for ever", "uses + 1 >= limit", "uses + 1 >= Infinity"],
      ["a pod is used once more than it may be", "uses + 1 >= limit", "uses >= limit"],
      ["a pod of an old template is used again", '...(isOutdated ? ["the template has changed"] : []),', ""],
      ["a template that wants new pods gets used ones", 'policyOf(pod) === "Never"', 'policyOf(pod) === "Auto" && false'],
    ],
  ),
  bugsIn(
    "src/sandbox/end.ts",
    ["src/sandbox/end.test.ts"],
    [
      [
        "a sandbox in use is ended as idle",
        'activity.kind === "unknown" || activity.inUse) return [];',
        'activity.kind === "unknown") return [];',
      ],
      [
        "unknown activity ends a sandbox",
        '|| activity.kind === "unknown" || activity.inUse) return [];',
        '|| (activity.kind === "known" && activity.inUse)) return [];\n  if (activity.kind === "unknown") return idleLimit({ pod, activity: { kind: "known", inUse: false }, refreshIntervalMs } as EndSnapshot);',
      ],
      [
        "a paused sandbox is ended as idle",
        'if (phase !== "running" || pauseWish(pod) !== undefined || isFrozen(pod)) return [];',
        'if (phase !== "running") return [];',
      ],
      [
        "a sandbox lives past its end time",
        "...hooksLimit(snapshot), ...endTimeLimit(pod), ...idleLimit(snapshot)];",
        "...hooksLimit(snapshot), ...idleLimit(snapshot)];",
      ],
      ["a sandbox that was never armed lives on", "return [...unarmed, ...hooksLimit(", "return [...hooksLimit("],
      ["a sandbox whose hooks never ran lives on", "return [...unarmed, ...hooksLimit(snapshot), ", "return [...unarmed, "],
      ["a sandbox is ended before late activity can be known", "+ timeout + refreshIntervalMs,", "+ timeout,"],
      [
        "a sandbox that wants to be paused is killed",
        'timeoutActions.find((one) => one === wanted) ?? "kill";',
        '"kill" as TimeoutAction;',
      ],
      ["a sandbox is ended a moment late", "now >= first.dueMs", "now > first.dueMs"],
    ],
  ),
  bugsIn(
    "src/lib/fair-limiter.ts",
    ["src/lib/fair-limiter.test.ts"],
    [
      ["one owner's work takes all places", "count: this.#most > 1 ? 1 : 0", "count: 0"],
      ["work that failed keeps its place", "      this.#lanes.giveBack(places);\n", ""],
    ],
  ),
  bugsIn(
    "src/services/builds/build-loop.ts",
    ["src/services/builds/template-builds.test.ts"],
    [["builds of one team hold up those of all", ".run(owner.team, begin)", '.run("", begin)']],
  ),
].flat();

/** Writes that must apply only to the state that was seen, remembered state, and leader election. */
import { bugsIn, type Mutant } from "../mutant.ts";

export const writeMutants: readonly Mutant[] = [
  bugsIn(
    "src/sandbox/pod-patch.ts",
    ["src/sandbox/pod-patch.test.ts", "test/contract/sandbox-life.test.ts"],
    [
      [
        "a pod that another process has changed is written over",
        '{ op: "test", path: "/metadata/resourceVersion", value: required(pod, "resourceVersion") },',
        "",
      ],
      ["a new pod of the same name is written over", '{ op: "test", path: "/metadata/uid", value: required(pod, "uid") },', ""],
      ["a pod goes from any phase to any other", "if (current === undefined || !mayFollow(current, phase)) {", "if (false) {"],
    ],
  ),
  bugsIn(
    "src/life/delete-pod.ts",
    ["src/controllers/pool/keep-pods.test.ts", "test/contract/pool-controller.test.ts", "src/life/reconcile-pod.test.ts"],
    [
      ["a pod that was claimed meanwhile is deleted", "{ preconditions: { uid, resourceVersion }, signal }", "{ signal }"],
      ["a pod with a claim beside it is deleted", "if (!(await closeToClaims(deps, pod, signal))) return false;", ""],
    ],
  ),
  bugsIn(
    "src/engines/kubernetes/claims/claims-on-leases.ts",
    ["src/life/claim/write-claim.test.ts", "src/read-model/claims-on-leases.test.ts", "test/contract/claim-book.test.ts"],
    [
      ["a Lease that has gone makes its claimed pod look free", "?? this.#leaseOf(before())", ""],
      ["a claim takes a pod that was claimed or closed first", "if (first === undefined) return false;", "return false;"],
      ["a claim writes over the Lease of another program", "if (!isClaimLease(held)) throw new ForeignLeaseError(keyOf(pod).name);", ""],
      ["a pod whose claim was first counts as closed", "if (isLostRace(error)) return false;", "if (isLostRace(error)) return true;"],
    ],
  ),
  bugsIn(
    "src/kube/controller/expectations.ts",
    ["src/kube/controller/expectations.test.ts", "src/kube/controller/expectations.property.test.ts"],
    [
      [
        "what was created and not seen yet is created again",
        "return entry.creations.size === 0 && entry.deletions.size === 0;",
        "return entry.deletions.size === 0;",
      ],
      [
        "what was deleted and not seen yet is deleted again",
        "return entry.creations.size === 0 && entry.deletions.size === 0;",
        "return entry.creations.size === 0;",
      ],
      ["an event that never comes stops a pool for ever", "if (this.#clock.now() - entry.raisedAt > expectationsTtlMs) {", "if (false) {"],
    ],
  ),
  bugsIn(
    "src/kube/lost-race.ts",
    ["src/kube/lost-race.test.ts"],
    [
      ["a failed test of a patch is an error", 'return isApiError(error, "Invalid") && error.causes.length === 0;', "return false;"],
      ["a refused object is a lost race", " && error.causes.length === 0;", ";"],
    ],
  ),
  bugsIn(
    "src/kube/fenced-client.ts",
    ["src/kube/fenced-client.test.ts"],
    [
      ["a process that leads no more writes on", "(signal.aborted ? Promise.reject(signal.reason as Error) : call())", "call()"],
      ["a process that leads no more deletes on", "fenced(() => client.delete(...call))", "client.delete(...call)"],
    ],
  ),
  bugsIn(
    "src/kube/leader/tenure.ts",
    ["src/kube/leader/tenure.test.ts", "src/kube/leader/leader-election.test.ts", "test/contract/leader-election.test.ts"],
    [
      [
        "a leader whose machine was frozen leads on",
        "Math.max(monotonic - this.#renewed.monotonic, wall - this.#renewed.wall)",
        "(monotonic - this.#renewed.monotonic)",
      ],
      ["a leader that cannot renew leads on", "if (!this.#lost && this.#remainingMs() <= 0) this.lose", "if (false) this.lose"],
      [
        "a leadership that was lost comes back",
        "    if (this.lost) return;\n    this.#renewed",
        "    this.#lost = false;\n    this.#renewed",
      ],
    ],
  ),
  bugsIn(
    "src/kube/leader/lease-observer.ts",
    ["src/kube/leader/lease-observer.test.ts", "src/kube/leader/leader-election.test.ts", "test/contract/leader-election.test.ts"],
    [
      ["a lease that was just renewed is taken", "return Math.max(0, seen.since + seen.durationMs - at);", "return 0;"],
      [
        "a lease that was never looked at is taken",
        "if (seen === undefined) return Number.POSITIVE_INFINITY;",
        "if (seen === undefined) return 0;",
      ],
    ],
  ),
  bugsIn(
    "src/life/end/write-end.ts",
    ["src/life/end/reconcile-timeouts.test.ts", "src/services/creating/end-sandbox.test.ts"],
    [["a sandbox whose owner gave it more time is ended", "if (asSeen) return", "if (false) return"]],
  ),
  bugsIn(
    "src/services/creating/idempotent-create.ts",
    ["src/services/creating/idempotent-create.test.ts"],
    [
      ["another request with the same key gets a foreign answer", "if (note.request !== request) {", "if (false) {"],
      ["a key of one team is the key of all", "hash([role, team, user ?? null, key])", "hash([key])"],
      ["two requests with one key make two sandboxes", "if (deps.clock.now() < note.until) {", "if (false) {"],
      ["a create that failed keeps its key", "    await remove(deps, note).catch(() => {});\n", ""],
    ],
  ),
  bugsIn(
    "src/services/creating/forget-keys.ts",
    ["src/services/creating/forget-keys.test.ts"],
    [
      ["keys are forgotten while they count", "clock.now() > known.until + keptMs", "clock.now() > known.until - keptMs"],
      ["one team's idempotency keys fill the store", "Math.max(0, known.length - most)", "0"],
      ["the newest keys of a team are forgotten", "(a, b) => a.madeAt - b.madeAt", "(a, b) => b.madeAt - a.madeAt"],
      ["a key is forgotten while its create may be repeated", " && now >= madeAt + keptAtLeastMs", ""],
      ["keys are forgotten once an hour, however many come", "this.#noted >= soonAfter && ", "false && "],
    ],
  ),
  bugsIn(
    "src/engines/embedded/store/replace.ts",
    ["test/contract/delete.test.ts", "test/contract/update.test.ts", "test/contract/patch.test.ts"],
    [
      ["an update of an old version is taken", "throw modified(type, nameOf(key));", ""],
      ["an object without finalizers stays after its deletion", "if (!endsWith(final, current)) return", "if (true) return"],
      ["a dry run writes", "if (dryRun) return deepFreeze(final);", ""],
    ],
  ),
  bugsIn(
    "src/engines/embedded/store/delete.ts",
    ["test/contract/delete.test.ts"],
    [
      ["a delete ignores the uid that it is for", "if (uid !== undefined && uid !== metadata.uid) {", "if (false) {"],
      ["a delete ignores the version that it is for", "if (rv !== undefined && rv !== metadata.resourceVersion) {", "if (false) {"],
    ],
  ),
  bugsIn(
    "src/life/recycle/finish-recycle.ts",
    ["src/life/reconcile-pod.test.ts"],
    [
      [
        "a pod whose daemon still works for a sandbox is recycled",
        "if (why !== undefined) return waitOrDelete(deps, pod, { why, askAgain: true }, signal);",
        "",
      ],
      ["recycling may take for ever", "if (left > 0) return {", "if (true) return {"],
      [
        "a pod is recycled without a record of its sandbox",
        "const record = await deps.recorder.record(pod);",
        "const record = await deps.recorder.record(pod).catch(() => undefined);",
      ],
    ],
  ),
  bugsIn(
    "src/life/reconcile-pod.ts",
    ["src/life/reconcile-pod.test.ts"],
    [
      [
        "a pod that only calls itself idle stays",
        'const why = isFresh(pod) ? await whyOrphaned(deps, pod, signal) : "it is not known to be unused";',
        "const why = await whyOrphaned(deps, pod, signal);",
      ],
    ],
  ),
  bugsIn(
    "src/store/conditions.ts",
    ["src/store/conditions.test.ts", "src/services/reading/get-sandbox.test.ts", "src/services/reading/list-sandboxes.test.ts"],
    [
      [
        "a tenant reads the history of all teams",
        'if (scope.kind === "admin") return [];',
        'return [];\n  if (scope.kind === "admin") return [];',
      ],
      [
        "a user reads the history of the whole team",
        "return scope.user === undefined ? [team] :",
        "return scope.user !== undefined ? [team] :",
      ],
    ],
  ),
  bugsIn(
    "src/store/retention.ts",
    ["src/store/retention.test.ts"],
    [
      ["history is kept for ever", "const olderThan = before(keepMs);", "const olderThan = new Date(0).toISOString();"],
      ["history is removed at once", "const olderThan = before(keepMs);", "const olderThan = before(0);"],
      ["old history is removed only in part", "if (done < stepSize) return all;", "return all;"],
      ["the audit log is kept as long as history", "const olderEntries = before(keepAuditMs);", "const olderEntries = before(keepMs);"],
    ],
  ),
  bugsIn(
    "src/store/audit/audit-conditions.ts",
    ["src/api/native/report-routes.test.ts"],
    [
      ["a tenant reads the audit log of all teams", '{ sql: "a.team = ?", params: [scope.team] }', '{ sql: "a.team <> ?", params: [""] }'],
      ["a user reads the audit log of the team", '{ sql: "a.owner = ?", params: [scope.user] }', '{ sql: "a.owner <> ?", params: [""] }'],
    ],
  ),
  bugsIn(
    "src/services/audit/read-audit.ts",
    ["src/api/native/report-routes.test.ts"],
    [
      [
        "a tenant learns the key of an admin",
        'if (caller.role === "admin" || entry.role === "tenant") return entry;',
        'if (entry.id !== "") return entry;',
      ],
    ],
  ),
  bugsIn(
    "src/services/audit/audit-trail.ts",
    ["src/services/audit/audit-trail.test.ts"],
    [
      ["a request waits for ever for its audit entry", "await endsWithin(stored, clock, patienceMs);", "await stored;"],
      [
        "an answer does not wait for its audit entry",
        "await endsWithin(stored, clock, patienceMs);",
        "void endsWithin(stored, clock, patienceMs);",
      ],
      ["entries in memory have no bound", "this.#waiting.length >= maxWaiting || ", ""],
    ],
  ),
  bugsIn(
    "src/store/usage/sqlite-usage.ts",
    ["src/api/native/report-routes.test.ts"],
    [["ended sandboxes are counted again with each report", 'for (const row of rows) mark.run(Number(row["id"]));', ""]],
  ),
  bugsIn(
    "src/services/usage/usage-over-time.ts",
    ["src/api/native/report-routes.test.ts"],
    [
      ["a sandbox that stops is counted as live", 'if (sandbox.status === "Stopping") continue;', ""],
      ["a tenant sees the usage of all", "scope: scopeOf(caller), fromMs", 'scope: { kind: "admin" }, fromMs'],
    ],
  ),
].flat();

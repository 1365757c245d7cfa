/** Keys, tenants, tokens and signatures: what one may do to another. */
import { bugsIn, type Mutant } from "../mutant.ts";

export const accessMutants: readonly Mutant[] = [
  bugsIn(
    "src/api/http/authenticate.ts",
    ["src/api/http/api-server.test.ts"],
    [
      [
        "a tenant's key acts as anybody",
        'if (caller.role !== "admin") throw new ServiceError("forbidden", "only an admin key can act as another team or user");',
        "",
      ],
      [
        "an admin who acts as a team stays an admin",
        '    role: "tenant",\n    team: checkedOwner(',
        "    role: caller.role,\n    team: checkedOwner(",
      ],
      [
        "a key is not checked at all",
        "if (caller === undefined) throw new ServiceError(",
        'if (caller === undefined) return { role: "admin", team: "", keyId: "" };\n  if (caller === undefined) throw new ServiceError(',
      ],
    ],
  ),
  bugsIn(
    "src/services/keys/key-service.ts",
    ["src/services/keys/key-service.test.ts"],
    [
      ["a key is known by a part of its hash", " || !sameHash(key.hash, hash)", ""],
      ["an expired key works", "known === undefined || hasExpired(known.key, clock.now()) ? undefined : known", "known"],
      [
        "a tenant revokes another team's key",
        "if (found === undefined || !owns(caller, found.secret)) throw",
        "if (found === undefined) throw",
      ],
      ["the last admin key is revoked", "  refuseLastAdmin(deps, book, kept ? [found] : [found, ...madeByIt]);\n", ""],
      ["a revoked key works until the watch tells", "    book.revoked(key.id);\n", ""],
      ["a tenant sees the keys of all teams", "if (!owns(caller, secret)) continue;", ""],
      ["a key that was revoked meanwhile makes another one", "if (own === undefined && isKeyId(caller.keyId)) throw", "if (false) throw"],
      ["requests under way go on after their key was revoked", "        ends.check();\n", ""],
    ],
  ),
  bugsIn(
    "src/services/keys/key-book.ts",
    ["src/services/keys/key-service.test.ts"],
    [
      [
        "a key lives on after the one that made it was revoked",
        "return this.#chain(secret) === undefined ? undefined : { secret, key };",
        "return { secret, key };",
      ],
      ["a new key of the same name counts as the one that made it", "found?.metadata.uid !== maker.uid || ", ""],
    ],
  ),
  bugsIn(
    "src/services/keys/key-rights.ts",
    ["src/services/keys/key-rights.test.ts", "src/services/keys/key-service.test.ts"],
    [
      [
        "a tenant makes admin keys",
        'if (role === "admin") throw new ServiceError("forbidden", "only an admin key can create admin keys", { field: "role" });',
        "",
      ],
      ["a tenant makes keys of another team", "if (team !== caller.team)\n", "if (false)\n"],
      ["a user makes keys of another user", "if (caller.user !== undefined && user !== caller.user) {", "if (false) {"],
      ["a key makes one that outlives it", "if (limit !== undefined && at > Date.parse(limit)) {", "if (false) {"],
      ["a key that ends makes one that does not", "    return { expiresAt: limit };", "    return {};"],
    ],
  ),
  bugsIn(
    "src/services/keys/key-secret.ts",
    ["src/services/keys/key-service.test.ts"],
    [
      [
        "any Secret is taken for a key",
        "if (secret.type !== apiKeySecretType || secret.metadata.deletionTimestamp !== undefined) return undefined;",
        "if (secret.metadata.deletionTimestamp !== undefined) return undefined;",
      ],
      [
        "a key without a team is a key of every team",
        'if (role !== "tenant" || team === "") return undefined;',
        'if (role !== "tenant") return undefined;',
      ],
      ["a key works for ever where its end cannot be read", "!(Date.parse(expiresAt) > now)", "Date.parse(expiresAt) <= now"],
    ],
  ),
  bugsIn(
    "src/services/keys/api-key.ts",
    ["src/services/keys/key-service.test.ts"],
    [["a text around a key is a key", "/^e2b_[0-9a-f]{40}$/", "/e2b_[0-9a-f]{40}/"]],
  ),
  bugsIn(
    "src/api/http/authenticate.ts",
    ["src/api/http/api-server.test.ts"],
    [["of two different keys the first one counts", "if (others.length > 0) {", "if (false) {"]],
  ),
  bugsIn(
    "src/services/caller.ts",
    ["src/services/caller.test.ts"],
    [
      ["a team sees another team's objects", 'if (team === "" || labels?.[labelKeys.team] !== team) return false;', ""],
      ["a caller without a team owns what has none", 'if (team === "" || labels', "if (labels"],
      [
        "a user sees what belongs to another user of the team",
        "return user === undefined || labels[labelKeys.user] === user;",
        "return true;",
      ],
      [
        "everybody may use what belongs to a team",
        "return !hasOwner || owns(caller, object) || isTeamsOwn(caller, object);",
        "return true;",
      ],
      ["a tenant's history is everybody's", 'if (role === "admin") return { kind: "admin" };', 'return { kind: "admin" };'],
    ],
  ),
  bugsIn(
    "src/services/inside/exec-tokens.ts",
    ["src/services/inside/exec-tokens.test.ts"],
    [
      ["a terminal token is used twice", "this.#used.has(token) ? undefined : this.#open(token)", "this.#open(token)"],
      [
        "a terminal token never expires",
        "if (sealed === undefined || sealed.expiresAt <= this.#clock.now()) return undefined;",
        "if (sealed === undefined) return undefined;",
      ],
      ["a terminal token opens any sandbox", "return grant.sandboxId === sandboxId && this", "return this"],
      ["a terminal token outlives its key", " && this.#keys.isLive(grant.caller.keyId) ? grant", " ? grant"],
      ["a second spelling of a terminal token is a second use", ' || bytes.toString("base64url") !== token', ""],
    ],
  ),
  bugsIn(
    "src/services/creating/sandbox-tokens.ts",
    ["src/services/creating/sandbox-tokens.test.ts"],
    [
      ["the traffic token opens the daemon", "`agentbox ${use} token v1`", '"agentbox token v1"'],
      ["all sandboxes have one token", ".update(sandboxId)", '.update("")'],
    ],
  ),
  bugsIn(
    "src/envd-protocol/arming.ts",
    ["src/envd/server.test.ts"],
    [
      [
        "any signature arms a daemon",
        "return crypto().verify(null, signedBytes(subject, body), key,",
        "crypto().verify(null, signedBytes(subject, body), key,",
      ],
      ["an order is good for any body", '.update(body).digest("hex");', '.update("").digest("hex");'],
      ["an order is good for any boot", "${JSON.stringify(podUid)},${JSON.stringify(bootId)},`", "${JSON.stringify(podUid)},`"],
      ["an order to retire is good for any sandbox", '["agentbox-retire-v1", podUid, sandboxId]', '["agentbox-retire-v1", podUid]'],
    ],
  ),
  bugsIn(
    "src/envd/init-request.ts",
    ["src/envd/server.test.ts"],
    [
      [
        "an /init needs no right signature",
        "if (!isSignedInit(publicKeyFromText(controlPlaneKey), { podUid, bootId, sandboxId }, body, signature)) {",
        "if (false) {",
      ],
      ["an /init may be as large as it likes", "if (size > bodyLimit) return undefined;", ""],
    ],
  ),
  bugsIn(
    "src/envd/retire-request.ts",
    ["src/envd/server.test.ts"],
    [
      [
        "a /retire needs no right signature",
        "if (!isSignedRetire(publicKeyFromText(controlPlaneKey), { podUid, sandboxId }, signature)) {",
        "if (false) {",
      ],
      [
        "a /retire is answered well though processes are left",
        "if (await endProcesses()) return { status: 204 };",
        "await endProcesses();\n  return { status: 204 };",
      ],
      [
        "a sandbox is retired by the order for another one",
        'if (state.retire(sandboxId) === "taken")',
        "state.retire(sandboxId);\n  if (false)",
      ],
    ],
  ),
  bugsIn(
    "src/envd/armed-state.ts",
    ["src/envd/server.test.ts"],
    [
      ["a retired daemon is armed again", 'if (this.#isRetired) return "taken";', ""],
      ["an armed daemon is armed for another sandbox", "if (this.#armed !== undefined) return", "if (this.#armed === null) return"],
      [
        "another order for its own sandbox replaces what an armed daemon has",
        "if (this.#armed !== undefined) return",
        "if (this.#armed !== undefined && this.#armed.sandboxId !== sandboxId) return",
      ],
    ],
  ),
  bugsIn(
    "src/envd/server.ts",
    ["src/envd/server.test.ts"],
    [
      [
        "a daemon that waits does its work for anybody",
        'if (state.sandboxId === undefined) return Promise.resolve({ status: 503, message: "this sandbox waits to be claimed" });',
        "",
      ],
      [
        "a daemon whose sandbox has ended does its work",
        'if (state.isRetired) return Promise.resolve({ status: 503, message: "this sandbox has ended" });',
        "",
      ],
    ],
  ),
  bugsIn(
    "src/envd/end-processes.ts",
    ["src/envd/end-processes.test.ts"],
    [
      ["processes end in a namespace that is not the sandbox's", "if (programOf(1) !== init) return false;", ""],
      ["a process that stays is not told about", "  return false;\n}\n\nfunction sendToAll", "  return true;\n}\n\nfunction sendToAll"],
    ],
  ),
  bugsIn(
    "src/services/keys/console-sessions.ts",
    ["src/services/keys/console-sessions.test.ts", "src/api/console/console-face.test.ts"],
    [
      ["sign-outs are remembered without number", "if (ids.size <= mostOfKey) return;", "return;"],
      ["sessions of a key come back when it has signed out very often", "expiresAt <= (this.#until.get(keyId) ?? 0) || ", ""],
      [
        "sessions of people outlive the rules that gave them their rights",
        "session.person.rules === this.#options.rules ? session.person.caller",
        "this.#options.rules !== undefined ? session.person.caller",
      ],
      ["a session that was signed out goes on", " && !this.#signedOut.has(session) ? session", " ? session"],
    ],
  ),
  bugsIn(
    "src/api/console/session-routes.ts",
    ["src/api/console/console-face.test.ts"],
    [
      [
        "sign-ins have no rate",
        "    enterAs(caller, reply);\n    setCaller(request, caller);\n    const { text",
        "    setCaller(request, caller);\n    const { text",
      ],
      [
        "foreign pages sign browsers in at the provider",
        'app.post("/console/oidc/finish", { config }, async (request, reply) => {\n    checkOwnPage(request.headers);',
        'app.post("/console/oidc/finish", { config }, async (request, reply) => {',
      ],
      ["acting as a team is noted as the admin's own", "setCaller(request, acting, caller.role);", "setCaller(request, caller);"],
    ],
  ),
  bugsIn(
    "src/services/sign-in/oidc-sign-in.ts",
    ["src/services/sign-in/oidc-sign-in.test.ts"],
    [["a sign-in at the provider may take for ever", "started.expiresAt <= this.#options.clock.now()", "false as boolean"]],
  ),
  bugsIn(
    "src/services/sign-in/person.ts",
    ["src/services/sign-in/person.test.ts"],
    [
      [
        "a person in no group gets the rights of the first rule",
        "const rule = settings.groups.find(({ group }) => group === anyGroup || groups.includes(group));",
        "const rule = settings.groups[0];",
      ],
      ["addresses that are not verified are names", 'nameClaim === "email" && claims["email_verified"] === false', "false as boolean"],
    ],
  ),
  bugsIn(
    "src/envd/armed/access-token.ts",
    ["src/envd/armed/access-token.test.ts"],
    [["the daemon works for any token", 'isSame(headers["x-access-token"], accessToken)', "true"]],
  ),
  bugsIn(
    "src/services/keys/signed-text.ts",
    ["src/api/console/console-face.test.ts"],
    [["any text is a session", "|| !isSame(code, this.#codeOf(body))", ""]],
  ),
  bugsIn(
    "src/model/keys.ts",
    ["src/model/keys.test.ts"],
    [
      [
        "a label of the specification has another name",
        'sandboxPhase: "agentbox.navix.sh/sandbox-phase"',
        'sandboxPhase: "agentbox.navix.sh/phase"',
      ],
      ["a finalizer of the specification has another name", 'pool: "agentbox.navix.sh/finalizer"', 'pool: "agentbox.navix.sh/pool"'],
    ],
  ),
  bugsIn(
    "src/services/checkpoints/find-checkpoint.ts",
    ["src/services/checkpoints/checkpoint-service.test.ts"],
    [
      [
        "every caller finds every checkpoint",
        "owns(caller, checkpoint) && checkpoint.metadata.deletionTimestamp === undefined;\n  const byId",
        "checkpoint.metadata.deletionTimestamp === undefined;\n  const byId",
      ],
      [
        "a checkpoint that the cache does not show is found by every caller",
        "return items.find((checkpoint) => owns(caller, checkpoint) && ",
        "return items.find((checkpoint) => ",
      ],
    ],
  ),
  bugsIn(
    "src/services/checkpoints/fork-sandbox.ts",
    ["src/services/checkpoints/checkpoint-service.test.ts"],
    [["children of which no caller knows run on", "if (signal.aborted) await endAll(deps, owner, made);", ""]],
  ),
  bugsIn(
    "src/services/checkpoints/list-checkpoints.ts",
    ["src/services/checkpoints/checkpoint-service.test.ts"],
    [["a list shows the checkpoints of all teams", "owns(caller, checkpoint) &&\n", ""]],
  ),
  bugsIn(
    "src/services/checkpoints/meant-checkpoint.ts",
    ["src/services/checkpoints/checkpoint-service.test.ts"],
    [
      ["the name of an image is a right to it", "await checkImages(deps, caller, command);", ""],
      [
        "an admin uses a team's checkpoint for nobody",
        'if (team === "" || team === caller.team) return;',
        "if (team !== undefined) return;",
      ],
    ],
  ),
  bugsIn(
    "src/controllers/checkpoint/reconcile-checkpoint.ts",
    ["src/controllers/checkpoint/reconcile-checkpoint.test.ts"],
    [
      [
        "a pod that went to another sandbox meanwhile is not looked at again",
        "if (!(await stillCarries(deps, order, spec.sandboxID))) {",
        "if (false) {",
      ],
      ["what a pod carries now is not looked at", "sandboxIdOf(now) === sandboxId && ", ""],
    ],
  ),
  bugsIn(
    "src/controllers/checkpoint/plan-checkpoint.ts",
    ["src/controllers/checkpoint/reconcile-checkpoint.test.ts"],
    [
      ["a checkpoint is taken of another team's sandbox", " || !isOfOwner(checkpoint, pod)) {", ") {"],
      [
        "an image goes while a sandbox runs from it",
        'return facts.isNamed ? { kind: "look-again", afterMs: namedEveryMs } : { kind: "remove" };',
        'return { kind: "remove" };',
      ],
      ["a checkpoint is kept for ever", 'return left <= 0 ? { kind: "delete" }', 'return left === null ? { kind: "delete" }'],
    ],
  ),
  bugsIn(
    "src/services/webhooks/webhook-service.ts",
    ["src/services/webhooks/webhook-service.test.ts"],
    [
      ["another user's webhook is there", " && (caller.user === undefined || caller.user === user)", ""],
      ["the secret of a webhook is told", "const { secret: _, ...view } = webhook;", "const view = webhook;"],
      ["a team may have any number of webhooks", "limit !== undefined && used + 1 > limit", "limit === -1"],
    ],
  ),
  bugsIn(
    "src/controllers/events/lifecycle-recorder.ts",
    ["src/controllers/events/events.test.ts"],
    [["a sandbox that changes all the time has all turns", "      this.#waiting.delete(sandboxId);\n      if", "      if"]],
  ),
  bugsIn(
    "src/controllers/events/deliverer.ts",
    ["src/controllers/events/events.test.ts"],
    [
      [
        "a slow receiver takes the places of all teams",
        "const places = Math.min(atOnce - this.#underWay.size, atOnceOfTeam - this.#underWayOf(ownerOf(webhook)));",
        "const places = atOnce - this.#underWay.size;",
      ],
    ],
  ),
  bugsIn(
    "src/store/events/sql-event-store.ts",
    ["src/store/events/sql-event-store.test.ts"],
    [
      ["any number of deliveries waits for a webhook", "return room > 0;", 'return room > 0 || webhook !== "";'],
      ["what waits for another delivery of its sandbox is looked at each time", "THEN ${behindAnother} ELSE 0 END", "THEN 0 ELSE 0 END"],
    ],
  ),
  bugsIn(
    "src/controllers/events/send-webhook.ts",
    ["src/controllers/events/send-webhook.test.ts"],
    [
      ["webhooks reach every address", "connect: outbound.connector({ timeout: timeoutMs })", "connect: { timeout: timeoutMs }"],
      ["a delivery is signed without the secret", ".update(`${secret}${body}`)", ".update(body)"],
    ],
  ),
].flat();

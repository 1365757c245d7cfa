/** Requests at the edge: which ones the gateway lets in, what is counted and bounded, what is passed on. */
import { bugsIn, type Mutant } from "../mutant.ts";

export const edgeMutants: readonly Mutant[] = [
  bugsIn(
    "src/gateway/access.ts",
    ["src/gateway/access.test.ts", "src/gateway/gateway-refusals.test.ts"],
    [
      [
        "a token of the right length is the right one",
        "left.length === right.length && timingSafeEqual(left, right)",
        "left.length === right.length",
      ],
      [
        "a private sandbox lets everybody in",
        'if (isPrivate && !hasTrafficToken(deps, target, shown) && !hasApiKey(deps, door, target, shown)) return "forbidden";',
        "",
      ],
      ["any key opens SWE-ReX", 'return door === "swerex" && isSame(apiKey, accessTokenOf(sandboxId))', 'return door === "swerex"'],
      [
        "the traffic token opens the daemon",
        'return door === "interpreter" ? hasTrafficToken(deps, target, shown)',
        'return door !== "program" ? hasTrafficToken(deps, target, shown)',
      ],
      [
        "the interpreter is open to strangers",
        'return door === "interpreter" ? hasTrafficToken(deps, target, shown)',
        'return door === "interpreter" ? true',
      ],
      [
        "a signature to read is one to write",
        'const operation = method === "GET" || method === "HEAD" ? "read" : "write";',
        'const operation = "read" as "read" | "write";',
      ],
      ["a signature for files wakes a sandbox for any route", 'if (url.split("?", 1)[0] !== "/files") return false;', ""],
    ],
  ),
  bugsIn(
    "src/gateway/admit.ts",
    ["src/gateway/access.test.ts", "src/gateway/gateway-refusals.test.ts", "src/gateway/gateway.test.ts"],
    [
      [
        "a paused sandbox is woken by a request without a token",
        "const route = isUse ? await awake(deps, sandboxId, found) : found;",
        "const route = await awake(deps, sandboxId, found);",
      ],
      [
        "a sandbox is woken that is not to be",
        'if (found.kind !== "paused" || found.pod.metadata.annotations?.[annotationKeys.autoResume] !== "true") return found;',
        'if (found.kind !== "paused") return found;',
      ],
      ["the control plane's routes of a daemon are open", "if (port === publicDaemonPort && isInternal) return noSuchRoute(url);", ""],
      ["they are open at the daemon's own port", "if (isInternal && port === daemonPortOf(found.pod)) return noSuchRoute(url);", ""],
      ["traffic that is refused keeps a sandbox alive", 'const isUse = access === "admitted";', "const isUse = true as boolean;"],
    ],
  ),
  bugsIn(
    "src/services/envs/admit-snapshot.ts",
    ["src/services/envs/env-extras.test.ts"],
    [["a team has plugins asked without end", "if (render === admitMember && deps.plugins !== undefined) deps.pace?.take(caller);", ""]],
  ),
  bugsIn(
    "src/gateway/headers.ts",
    ["src/gateway/headers.test.ts", "src/gateway/gateway.test.ts"],
    [
      [
        "sandboxes are sent the session of the console",
        'const kept = isForSandbox && lower === "cookie" ? withoutSession(value) : value;',
        "const kept = value;",
      ],
      [
        "sandboxes sign browsers in to the console",
        'const isForbidden = isOfSandbox && lower === "set-cookie" && isSession(value);',
        "const isForbidden = false as boolean;",
      ],
    ],
  ),
  bugsIn(
    "src/gateway/route.ts",
    ["src/gateway/route.test.ts", "src/gateway/gateway-refusals.test.ts"],
    [
      ["traffic goes to a pod that is being deleted", "isClaimed(one) && one.metadata.deletionTimestamp === undefined", "isClaimed(one)"],
      ["traffic goes to a pod whose sandbox has ended", "isClaimed(one) && one.metadata", "one.metadata"],
    ],
  ),
  bugsIn(
    "src/gateway/activity-writer.ts",
    ["src/gateway/activity-writer.test.ts"],
    [
      ["the latest traffic goes back in time", "latest <= (parseTime(pod.metadata.annotations?.[annotationKeys.lastActive]) ?? 0) || ", ""],
      ["an open stream is no traffic", "seen.open > 0 ? clock.now() : seen.lastMs", "seen.lastMs"],
    ],
  ),
  bugsIn(
    "src/gateway/daemon-port.ts",
    ["src/gateway/gateway-refusals.test.ts"],
    [
      ["an encoded path reaches the control plane's routes", "plain = decodeURIComponent(path);", "plain = path;"],
      ["a path with dots reaches the control plane's routes", 'if (part === "..") parts.pop();\n    else if', "if"],
    ],
  ),
  bugsIn(
    "src/gateway/headers.ts",
    ["src/gateway/headers.test.ts", "src/gateway/gateway.test.ts", "src/gateway/gateway-refusals.test.ts"],
    [
      ["two lengths of one body are passed on", "return hosts > 1 || lengths > 1;", "return hosts > 1;"],
      ["a client claims another address", '  "x-forwarded-for",\n', ""],
      ["headers of one connection go on to the next", '  "transfer-encoding",\n', ""],
    ],
  ),
  bugsIn(
    "src/gateway/target.ts",
    ["src/gateway/target.test.ts"],
    [
      ["port 0 is a port", "if (port < 1 || port > 65_535)", "if (port < 0 || port > 65_535)"],
      ["a port is any number", "if (port < 1 || port > 65_535)", "if (port < 1)"],
      ["any text is a sandbox id", "if (!idText.test(sandboxId)) return refused", "if (false) return refused"],
    ],
  ),
  bugsIn(
    "src/envd-protocol/file-access.ts",
    ["src/envd-protocol/file-access.test.ts"],
    [
      ["a signature over no path writes anywhere", 'if (path === "") return', "if (false) return"],
      ["a signature never expires", "(end.expiration ?? Infinity) * 1000 < nowMs", "false"],
      ["any signature is the right one", "if (!isSameSecret(signature,", "if (false && !isSameSecret(signature,"],
      [
        "a wrong token is passed over for no signature",
        'if (token !== undefined) return isSameSecret(token, accessToken) ? undefined : "access token present in header but does not match";',
        "if (token !== undefined) return undefined;",
      ],
    ],
  ),
  bugsIn(
    "src/services/limits/limit-guard.ts",
    ["src/services/limits/limits.test.ts"],
    [
      [
        "a team has no limits",
        "if (limit !== undefined && used + wanted > limit) throw limitReached({ name, team, limit, used, wanted });",
        "",
      ],
      [
        "one more than the limit is made",
        "if (limit !== undefined && used + wanted > limit) throw limitReached({ name, team, limit, used, wanted });",
        "if (limit !== undefined && used + wanted > limit + 1) throw limitReached({ name, team, limit, used, wanted });",
      ],
      [
        "the server has no limits",
        '    if (used + wanted > limit) throw limitReached({ name, team: ""',
        '    if (false) throw limitReached({ name, team: ""',
      ],
      ["many at once pass a limit together", "    this.#add(whose, wants, 1);\n", ""],
      ["what was made counts for ever as being made", "      this.#add(whose, wants, -1);\n", ""],
      ["a team's pool is as large as it likes", "if (ofTeam !== undefined && replicas > ofTeam) throw", "if (false) throw"],
      ["a pool is as large as it likes", "if (replicas > ofServer) throw", "if (false) throw"],
      ["a limit that an admin has set is passed over", "return setTeamLimit(cache.limitTable(), team, name) ?? (", "return ("],
    ],
  ),
  bugsIn(
    "src/services/limits/count-use.ts",
    ["src/services/limits/count-use.test.ts"],
    [
      ["a team's use is everybody's", "return team === undefined || labels?.[labelKeys.team] === team;", "return true;"],
      ["the use of all is that of none", "return team === undefined || labels", "return team !== undefined && labels"],
    ],
  ),
  bugsIn(
    "src/services/limits/create-rate.ts",
    ["src/services/limits/limits.test.ts"],
    [["creates have no rate", "    if (wait === undefined) return;\n", "    if (wait !== 0) return;\n"]],
  ),
  bugsIn(
    "src/lib/token-buckets.ts",
    ["src/services/limits/limits.test.ts", "src/api/http/api-server.test.ts"],
    [
      ["a quiet time saves up without end", "return Math.min(burst, tokens + ", "return (tokens + "],
      ["requests have no rate", "if (tokens < 1) return", "if (tokens < -Infinity) return"],
    ],
  ),
  bugsIn(
    "src/services/creating/check-create.ts",
    ["src/services/creating/create-sandbox.test.ts", "src/services/creating/check-create.test.ts"],
    [
      ["a lifetime is as long as one likes", 'checkTime("lifetimeMs", command.lifetimeMs, createLimits.lifetime);', ""],
      ["the environment is as large as one likes", "if (bytes > createLimits.envVarsSize) throw", "if (false) throw"],
      ["a masked host breaks into headers", 'checkMaskHost("maskHost", command.maskHost);', ""],
      ["a batch is as large as one likes", "count < 1 || count > createLimits.batch", "count < 1"],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/runtime/runtime-commands.ts",
    ["src/engines/embedded/node/runtime/runtime-commands.test.ts"],
    [
      ["a command of the runtime may take for ever", "() => deadline.abort(new Error(this.#lateText(what)))", "() => {}"],
      ["a node that closes waits for its commands", "this.#closing.signal, ...(caller", "...(caller"],
      ["a place is never given back", "        this.#lanes.giveBack(places);\n", ""],
    ],
  ),
  bugsIn(
    "src/api/mcp/mcp-routes.ts",
    ["src/api/mcp/mcp-face.test.ts"],
    [
      ["a list of messages counts as one request", "checkedLength(messagesIn(body)) - 1", "checkedLength(messagesIn(body)) * 0"],
      [
        "a list of messages of any length is answered in one go",
        "if (messages <= mcpLimits.messages) return messages;",
        "return messages;",
      ],
    ],
  ),
  bugsIn(
    "src/services/inside/run-code.ts",
    ["src/services/inside/run-code.test.ts"],
    [["a line of the interpreter may have no end", "    if (size > mostBytes) {", "    if (size > mostBytes && waiting.size === 0) {"]],
  ),
  bugsIn(
    "src/services/inside/daemon-door.ts",
    ["src/services/inside/sandbox-inside.test.ts"],
    [["a daemon answers as much as it likes", "if (answer.size + chunk.length > limit)", "if (false)"]],
  ),
  bugsIn(
    "src/mcp/edit-text.ts",
    ["src/mcp/clip.test.ts"],
    [
      ["an edit replaces any number of places", "found > mcpLimits.editPlaces", "found < 0"],
      ["an edit makes a file of any length", "if (length > mcpLimits.editedText)", "if (length < 0)"],
    ],
  ),
  bugsIn(
    "src/mcp/clip.ts",
    ["src/mcp/clip.test.ts"],
    [["all output is kept", "chunk.subarray(0, this.#limit - this.#kept.size)", "chunk"]],
  ),
  bugsIn(
    "src/plugins/call-plugin.ts",
    ["src/plugins/plugin-chain.test.ts", "src/plugins/http-plugin.test.ts"],
    [
      [
        "tenants read what a plugin threw",
        "internal(`${call.hook} failed; the server's log says why`)",
        "internal(`${call.hook} failed: ${String(error)}`)",
      ],
    ],
  ),
  bugsIn(
    "src/services/envs/env-limits.ts",
    ["src/services/envs/env-extras.test.ts"],
    [["Envs are not counted", "envs: present === undefined ? 1 : 0,", ""]],
  ),
  bugsIn(
    "src/services/envs/prepare-env.ts",
    ["src/services/envs/env-extras.test.ts"],
    [["Envs are not held to limits", "  using _ = placeOf(deps, asked.next, asked.present);\n", ""]],
  ),
  bugsIn(
    "src/plugins/check-answer.ts",
    ["src/plugins/plugin-chain.test.ts"],
    [
      [
        "a plugin keeps a member away for ever",
        "Math.min(Math.max(retryAfterMs, shortestRetryMs), longestRetryMs)",
        "Math.max(retryAfterMs, shortestRetryMs)",
      ],
    ],
  ),
  bugsIn(
    "src/images/kept-answers.ts",
    ["src/images/resolve-digest.test.ts"],
    [
      [
        "a registry keeps an image away for ever",
        "Math.min(Math.max(error.retryAfterMs ?? 0, refusedTtlMs), longestRetryMs)",
        "Math.max(error.retryAfterMs ?? 0, refusedTtlMs)",
      ],
    ],
  ),
  bugsIn(
    "src/services/inside/in-time.ts",
    ["src/services/inside/sandbox-inside.test.ts"],
    [["a replaced daemon holds up a request for ever", "() => abort.abort(late())", "() => {}"]],
  ),
  bugsIn(
    "src/mcp/mcp-http.ts",
    ["src/api/mcp/mcp-face.test.ts"],
    [["subscriptions have one bound for all teams", "maxSubscriptions: Infinity", "maxSubscriptions: 5"]],
  ),
  bugsIn(
    "src/services/templates/template-service.ts",
    ["test/contract/services.test.ts"],
    [["pods inside templates are not checked", "    deps.checkPodTemplate?.(SandboxTemplates, template);\n", ""]],
  ),
  bugsIn(
    "src/services/envs/prepare-env.ts",
    ["src/services/envs/env-extras.test.ts"],
    [
      [
        "plugins are asked for Envs that limits refuse",
        "  using _ = placeOf(deps, asked.next, asked.present);\n  return await write(await withSnapshots(deps, asked, signal));",
        "  const ready = await withSnapshots(deps, asked, signal);\n  using _ = placeOf(deps, asked.next, asked.present);\n  return await write(ready);",
      ],
    ],
  ),
  bugsIn(
    "src/plugins/capacity.ts",
    ["src/plugins/capacity.test.ts"],
    [
      [
        "a refusal tells tenants what other pools hold",
        "${text(resource, own[resource])} each`",
        "${text(resource, own[resource])} each, others hold ${text(resource, others[resource])}`",
      ],
    ],
  ),
  bugsIn(
    "src/services/usage/team-rings.ts",
    ["src/services/usage/team-rings.test.ts"],
    [
      ["what is remembered of a team grows without end", "if (ring.length >= 2 * this.#bounds.ofTeam)", "if (false)"],
      ["what is remembered of all teams grows without end", "if (this.#size > this.#bounds.ofAll)", "if (false)"],
      ["a busy team pushes out what is remembered of others", "one[1].length > most[1].length", "one[1].length < most[1].length"],
    ],
  ),
  bugsIn(
    "src/services/audit/audit-trail.ts",
    ["src/services/audit/audit-trail.test.ts"],
    [
      ["one team's changes push others out of the audit log", " || (this.#waitingOf.get(team) ?? 0) >= maxWaitingOfTeam", ""],
      ["entries that were stored count as waiting", "this.#waitingOf.set(entry.team, left);", "{}"],
    ],
  ),
].flat();

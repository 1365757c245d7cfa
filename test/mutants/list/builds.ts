/** Template builds: what one team has of another, what is taken from clients, and what is left when a server ends. */
import { bugsIn, type Mutant } from "../mutant.ts";

const story = ["src/services/builds/template-builds.test.ts"];
const leftovers = ["src/services/builds/what-is-left.test.ts"];

export const buildMutants: readonly Mutant[] = [
  ...bugsIn(
    "src/builds/build-context.ts",
    ["src/builds/build-context.test.ts"],
    [
      ["a value that names others has any size", "if (left < 0) throw new TooMuchText();", ""],
      ["the variables of a build have any size", "if (size > mostVariableText) throw new TooMuchText();", ""],
    ],
  ),
  ...bugsIn("src/services/builds/find-layer.ts", story, [
    [
      "a layer of another team is used",
      "return found === undefined || !isDeepStrictEqual(of, whose) ? [] : [{ createdAt, found }];",
      "return found === undefined ? [] : [{ createdAt, found }];",
    ],
  ]),
  ...bugsIn("src/services/builds/find-own.ts", story, [
    [
      "a build of another team is found",
      "if (build !== undefined && book.isOwn(caller, build) && isMeant) return build;",
      "if (build !== undefined && isMeant) return build;",
    ],
  ]),
  ...bugsIn("src/services/builds/upload-tokens.ts", story, [
    [
      "an upload needs no right",
      "if (given.length !== right.length || !timingSafeEqual(given, right)) throw",
      "if (given.length !== right.length && given.length > 99) throw",
    ],
  ]),
  ...bugsIn("src/services/builds/upload-store.ts", story, [
    ["files have no largest size", "if (bytes <= maxBytes) done(null, chunk);", "if (bytes > 0) done(null, chunk);"],
    ["files of all teams are the same", "join(this.#options.folder, hashOf(team))", 'join(this.#options.folder, "all")'],
  ]),
  ...bugsIn("src/services/builds/upload-store.ts", leftovers, [
    ["files of all users of a team are the same", 'const owner = user === undefined ? ""', 'const owner = user !== "" ? ""'],
  ]),
  ...bugsIn("src/services/builds/template-builds.ts", leftovers, [
    [
      "requests of a team at once pass its limit",
      "turns.run(caller.team, () => requestBuild(deps, caller, wish))",
      "requestBuild(deps, caller, wish)",
    ],
  ]),
  ...bugsIn("src/services/builds/build-loop.ts", leftovers, [
    ["cancelled builds add up", "await shelf.tidy(build.templateId).catch(", "await Promise.resolve().catch("],
    [
      "steps of builds that are over are kept",
      "const { sandboxId: _, request: __, ...rest } = build;",
      "const { sandboxId: _, ...rest } = build;",
    ],
  ]),
  ...bugsIn("src/services/builds/shelf.ts", leftovers, [
    ["a build that failed keeps its tags", "if (before !== undefined) await this.#untag(before, buildId, tags);", ""],
    ["layers that only a result needs are removed", "result === undefined ? layers : [...layers, result]", "layers"],
  ]),
  ...bugsIn("src/services/builds/request-build.ts", story, [
    [
      "a team has no limit of builds",
      'if (used >= limit) throw limitReached({ name: "builds"',
      'if (used > 1_000_000) throw limitReached({ name: "builds"',
    ],
    ["a build is started twice", 'isWaiting = one.status === "waiting";', "isWaiting = true;"],
  ]),
  ...bugsIn("src/services/builds/build-loop.ts", story, [
    ["a build is begun without end", "if (build.attempts > maxAttempts) {", "if (build.attempts > 1_000_000) {"],
  ]),
  ...bugsIn(
    "src/services/builds/check-archive.ts",
    ["src/services/builds/check-archive.test.ts"],
    [
      ["a name may lead out of the archive", 'if (path.split("/").includes("..")) return', 'if (path === "..") return'],
      ["an archive has any number of files", "if (entries > maxEntries) throw", "if (entries > 1_000_000_000) throw"],
    ],
  ),
];

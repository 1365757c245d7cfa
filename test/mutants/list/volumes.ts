/** Volumes: what belongs to which caller, where one may be mounted, what leads out of one, and what is counted. */
import { bugsIn, type Mutant } from "../mutant.ts";

export const volumeMutants: readonly Mutant[] = [
  bugsIn(
    "src/services/volumes/volume-book.ts",
    ["src/services/volumes/volume-service.test.ts"],
    [
      ["a volume without a team is everybody's", "|| (hasTeam(volume) && mayUse(caller, volume))", "|| mayUse(caller, volume)"],
      [
        "every volume is every caller's",
        "owns(caller, volume) || (hasTeam(volume) && mayUse(caller, volume))",
        "volume !== undefined || hasTeam(volume) || mayUse(caller, volume) || owns(caller, volume)",
      ],
    ],
  ),
  bugsIn(
    "src/services/volumes/volume-service.ts",
    ["src/services/volumes/volume-service.test.ts"],
    [
      ["a user deletes the volume of the whole team", "if (!owns(caller, volume))", 'if (!owns(caller, volume) && caller.team === "")'],
      ["a mounted volume is deleted", "if (mountedBy.length > 0 && !force)", "if (mountedBy.length > 1000 && !force)"],
      ["volumes are not counted", "{ volumes: 1, volumeMiB: sizeMiB }", "{ volumeMiB: sizeMiB }"],
      ["what is in volumes is not counted", "{ volumes: 1, volumeMiB: sizeMiB }", "{ volumes: 1 }"],
      ["a volume whose data cannot be made stays", "await undo(deps, made);", ""],
      [
        "what is deleted by force counts no more",
        "isMounted ? hideData(deps, current) : takeData(deps, current)",
        'isMounted && uid === "" ? hideData(deps, current) : takeData(deps, current)',
      ],
    ],
  ),
  bugsIn(
    "src/services/volumes/volume-contents.ts",
    ["src/services/volumes/volume-service.test.ts"],
    [
      [
        "a token of the right length is the right one",
        "wanted.length === given.length && timingSafeEqual(wanted, given)",
        "wanted.length === given.length",
      ],
      [
        "an upload may bring nothing for ever",
        "if (!(await endsWithin(next, clock, silenceMs)))",
        "if (!(await endsWithin(next, clock, 1e9)))",
      ],
    ],
  ),
  bugsIn(
    "src/services/volumes/resolve-mounts.ts",
    ["src/services/volumes/volume-service.test.ts"],
    [
      ["only the first bad mount is told", 'problems.join("; ")', 'problems[0] ?? ""'],
      ["a sandbox mounts any number of volumes", "if (wishes.length > maxVolumeMounts)", "if (wishes.length > 10_000)"],
      [
        "one mount hides another",
        "const other = wishes.findIndex((one, at) => at < index && overlap(pathOf(one), path));",
        "const other = -1;",
      ],
    ],
  ),
  bugsIn(
    "src/model/mount-path.ts",
    ["src/model/mount-path.test.ts"],
    [
      ["a volume is mounted over the kernel's file systems", "path === closed || path.startsWith(`${closed}/`)", "path === closed"],
      ["a path climbs", ' || part === ".."', ""],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/volumes/inside-volume.ts",
    ["src/engines/embedded/node/volumes/volume-files.test.ts"],
    [
      ["a path climbs out of a volume", 'if (parts.includes(".."))', 'if (parts.includes("..") && parts.length > 1000)'],
      [
        "a link at the end of a path is followed",
        'flags: flags | constants.O_NOFOLLOW, resolve: name === "" ? asInRoot : stayBelow',
        "flags, resolve: asInRoot",
      ],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/linux/open-below.ts",
    ["src/engines/embedded/node/volumes/volume-files.test.ts", "src/engines/embedded/node/linux/inside-root.test.ts"],
    [["absolute links lead to the machine's files", "export const asInRoot = asRoot | noMagicLinks;", "export const asInRoot = 0n;"]],
  ),
  bugsIn(
    "src/engines/embedded/node/volumes/volume-files.ts",
    ["src/engines/embedded/node/volumes/volume-files.test.ts"],
    [
      [
        "an upload replaces a file that is to stay",
        "if (there !== undefined && !replace)",
        "if (there !== undefined && there.size < 0 && !replace)",
      ],
      ["a list has no bound", "if (names.length >= most)", "if (names.length > 1e9)"],
      ["more comes of a file than was told: the next answer on the connection", "start: 0, end: size - 1 });", "start: 0 });"],
    ],
  ),
  bugsIn(
    "src/life/recycle/plan-fate.ts",
    ["src/life/recycle/plan-fate.test.ts"],
    [["a pod with a volume is used again", '...(volumeWish(pod) === undefined ? [] : ["its sandbox had volumes mounted"]),', ""]],
  ),
  bugsIn(
    "src/life/arm/arm-sandbox.ts",
    ["src/life/arm/arm-sandbox.test.ts"],
    [
      [
        "a sandbox runs before its volumes are mounted",
        "return isEgressApplied(pod) && areVolumesMounted(pod);",
        "return isEgressApplied(pod);",
      ],
      [
        "a volume that cannot be mounted is waited for",
        "if (notMounted !== undefined) return failed",
        'if (notMounted === "") return failed',
      ],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/agent/plan/volumes.ts",
    ["src/engines/embedded/node/agent/agent-volumes.test.ts"],
    [["a mount that failed is tried for ever", "if (areMounted(scene) || failure(scene, wish) !== undefined)", "if (areMounted(scene))"]],
  ),
  bugsIn(
    "src/controllers/volume/reconcile-volume.ts",
    ["src/services/volumes/volume-service.test.ts"],
    [
      [
        "the data of a mounted volume is taken",
        'if (sandboxesWith(deps.cache, volume.metadata.uid ?? "").length > 0)',
        'if (sandboxesWith(deps.cache, volume.metadata.uid ?? "").length > 9)',
      ],
    ],
  ),
].flat();

/** Images that want out, that want too much, or that are another tenant's; and the share of one team of the server. */
import { bugsIn, type Mutant } from "../mutant.ts";

export const imageMutants: readonly Mutant[] = [
  bugsIn(
    "src/engines/embedded/node/linux/inside-root.ts",
    ["src/engines/embedded/node/linux/inside-root.test.ts"],
    [
      ["links of an image lead to files of the machine", "{ flags, resolve: asInRoot }", "{ flags, resolve: 0n }"],
      ["a FIFO of an image is read", "(fstatSync(file).isFile() ? readStart(file, maxBytes) : undefined)", "readStart(file, maxBytes)"],
      ["a FIFO of an image holds the node up", "constants.O_RDONLY | constants.O_NONBLOCK", "constants.O_RDONLY"],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/rootfs/special-files.ts",
    ["src/engines/embedded/node/rootfs/special-files.test.ts"],
    [
      ["the runtime opens a FIFO where a file belongs", "if (found === undefined || isRight(found)) return found;", "return found;"],
      ["accounts of any size are read", "found.size > largestAccountFile)", "found.size < 0)"],
    ],
  ),
  bugsIn(
    "src/images/layer/disk-room.ts",
    ["src/images/layer/disk-room.test.ts", "src/images/image-limits.test.ts"],
    [
      ["images fill the disk", "if (free - bytes < reserve)", "if (free - bytes < 0)"],
      ["images take all files that the disk can have", "files > 0 && ffree < files * inodeShare", "files < 0"],
    ],
  ),
  bugsIn(
    "src/images/layer/limits.ts",
    ["src/images/layer/limits.test.ts", "src/images/image-limits.test.ts"],
    [
      ["each layer has the limits of the whole image", "Math.max(0, allowed - spent.bytes)", "Math.max(0, allowed)"],
      [
        "zeros unpack to any size",
        "Math.min(limits.maxBytes, Math.max(limits.ratioFromBytes, limits.maxRatio * compressedBytes))",
        "limits.maxBytes",
      ],
      ["an image has as many files as it likes", "Math.max(0, limits.maxEntries - spent.entries)", "limits.maxEntries"],
    ],
  ),
  bugsIn(
    "src/images/content-store/layers.ts",
    ["src/images/image-access.test.ts"],
    [
      [
        "a layer of a private image is had by writing down its name",
        "return origin === undefined || (await stat(this.#note(chainId, origin)).catch(() => undefined)) !== undefined;",
        "return true;",
      ],
    ],
  ),
  bugsIn(
    "src/pools/image-choice.ts",
    ["src/pools/image-choice.test.ts"],
    [
      [
        "a tenant uses a pool's credentials for any image",
        'return allowed.some((isAllowed) => isAllowed(name)) ? "access" : "public";',
        'return "access";',
      ],
      ["an allowed folder opens those whose names begin like it", "entry.slice(0, -1)", "entry.slice(0, -2)"],
    ],
  ),
  bugsIn(
    "src/lib/public-address.ts",
    ["src/lib/public-address.test.ts"],
    [
      [
        "a private address in IPv6 clothes is public",
        "if (startsWith(groups, ipv4Mapped) || startsWith(groups, nat64)) return isPublicIpv4(ipv4In(groups));",
        "",
      ],
      ["the metadata service is public", '  "169.254.0.0/16",\n', ""],
      ["all IPv6 addresses are public", "if (first >> 13 !== 1) return false;", ""],
    ],
  ),
  bugsIn(
    "src/engines/embedded/admission/pod-template-rules.ts",
    ["src/engines/embedded/admission/pod-template-rules.test.ts"],
    [
      [
        "a template that no node can run is taken",
        "return causes.length > 0 ? causes : podTemplateCauses(object, unsupportedHere);",
        "return causes;",
      ],
      [
        "a changed template that no node can run is taken",
        "      return podTemplateCauses(next, unsupportedHere);\n",
        "      return causes;\n",
      ],
    ],
  ),
  bugsIn(
    "src/gateway/name-constraints.ts",
    ["src/gateway/local-certificates.test.ts"],
    [
      [
        "the local authority signs for every domain",
        "return element(tag.sequence, permitted, excluded);",
        "return element(tag.sequence, excluded);",
      ],
    ],
  ),
  bugsIn(
    "src/api/http/team-gate.ts",
    ["src/api/http/team-gate.test.ts"],
    [
      ["a team holds as many requests open as it likes", "if (limit === undefined || used + requests <= limit) return;", "return;"],
      ["a request that has ended counts on", "if (isOpen) this.#leave(team, requests);", "if (false) this.#leave(team);"],
      ["a request that has ended is taken off twice", "      isOpen = false;\n", ""],
      [
        "many keys of a team ask as often as they like",
        "    for (let left = requests; left > 0; left--) this.#checkRate(team, limits);\n",
        "",
      ],
    ],
  ),
  bugsIn(
    "src/images/image-store.ts",
    ["src/images/checkpoint/save-checkpoint.test.ts"],
    [
      [
        "a pod of any team gets a checkpoint by its name",
        "record.team !== undefined && record.team !== options.budget?.team",
        "record.team === null",
      ],
    ],
  ),
  bugsIn(
    "src/engines/embedded/node/rootfs/root-file-system.ts",
    ["src/engines/embedded/node/rootfs/root-file-system.test.ts"],
    [["a link in a layer shows files of the machine", "?.isDirectory() === true", " !== undefined"]],
  ),
  bugsIn(
    "src/images/checkpoint/save-checkpoint.ts",
    ["src/images/checkpoint/save-checkpoint.test.ts"],
    [
      [
        "what lies below a checkpoint counts for no team when the one below is removed",
        "share.manifest === manifest)?.parts",
        'share.manifest === manifest && share.team === "")?.parts',
      ],
    ],
  ),
  bugsIn(
    "src/images/checkpoint/changed-config.ts",
    ["src/images/checkpoint/save-checkpoint.test.ts"],
    [["a checkpoint has more layers than can be mounted", "layers.length >= mostLayers", "layers.length > 2 * mostLayers"]],
  ),
  bugsIn(
    "src/images/checkpoint/base-image.ts",
    ["src/images/checkpoint/save-checkpoint.test.ts"],
    [["an image says of itself that the machine's files lie below it", "if (isOnHost(config))", 'if (isOnHost(config) && name === "")']],
  ),
].flat();

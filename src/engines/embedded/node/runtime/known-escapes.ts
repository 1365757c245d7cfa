/**
 * Which versions of runc may run sandboxes: a version with a known escape that a later one has fixed is not trusted. Fixes that a
 * distribution backported to an older version count where we know them, by the package's version.
 */
export type EscapeVerdict =
  | { readonly kind: "fine" }
  /** A setting may allow it, for sandboxes whose code is trusted: root inside owns none of the files that these escapes lead to. */
  | { readonly kind: "vulnerable"; readonly message: string }
  | { readonly kind: "refused"; readonly message: string };

interface Hole {
  readonly names: string;
  /** First fixed version of each line of releases; later lines have the fix. Oldest first. */
  readonly fixedIn: readonly Version[];
  /** Packages that have the fix in an older version. */
  readonly packages: readonly RegExp[];
}

/** `candidate`: the number after `-rc`; a release is above all of them. */
type Version = readonly [major: number, minor: number, patch: number, candidate: number];

const released = Number.POSITIVE_INFINITY;

/** A working directory that leads to the machine's files; starting or entering a container is enough to use it. */
const leakedDescriptors: Hole = {
  names: "CVE-2024-21626",
  fixedIn: [[1, 1, 12, released]],
  // Debian 12; test/node/isolation/files.test.ts tries it there.
  packages: [/^1\.1\.5\+ds1-1\+deb12u[1-9]\d*$/],
};

/**
 * Races about masked paths, about `/dev/console`, and about files of `/proc` that the runtime writes. An attacker must start
 * a container while a process in another one takes part. All three were fixed on the same day, in the three release lines then maintained.
 */
const maskedPathRaces: Hole = {
  names: "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881",
  fixedIn: [
    [1, 2, 8, released],
    [1, 3, 3, released],
    [1, 4, 0, 3],
  ],
  packages: [],
};

/** `version` and `build` as `runc --version` says them: distributions put the version of their package where the commit stands. */
export function judgeRunc(version: string, build: string): EscapeVerdict {
  const parsed = parseVersion(version);
  const said = `runc ${version}${build === "" ? "" : ` (${build})`}`;
  if (parsed === undefined) return { kind: "refused", message: `${said} does not say which version it is; ${remedy(leakedDescriptors)}` };
  if (!isFixed(leakedDescriptors, parsed, build)) {
    return { kind: "refused", message: `${said} lets containers out (${leakedDescriptors.names}); ${remedy(leakedDescriptors)}` };
  }
  if (isFixed(maskedPathRaces, parsed, build)) return { kind: "fine" };
  return { kind: "vulnerable", message: `${said} has known escapes (${maskedPathRaces.names}); ${remedy(maskedPathRaces)}` };
}

function remedy({ fixedIn }: Hole): string {
  const versions = fixedIn.map(([major, minor, patch, rc]) => `${major}.${minor}.${patch}${rc === released ? "" : `-rc.${rc}`}`);
  return `install ${versions.join(", ")} or newer, or build one: tools/runc/build.sh (make up does)`;
}

function isFixed({ fixedIn, packages }: Hole, version: Version, build: string): boolean {
  if (packages.some((name) => name.test(build))) return true;
  const ownLine = fixedIn.find(([major, minor]) => major === version[0] && minor === version[1]);
  const wanted = ownLine ?? fixedIn.at(-1);
  return wanted !== undefined && compare(version, wanted) >= 0;
}

function compare(a: Version, b: Version): number {
  const index = a.findIndex((part, at) => part !== b[at]);
  return index === -1 ? 0 : Math.sign((a[index] ?? 0) - (b[index] ?? 0));
}

function parseVersion(text: string): Version | undefined {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)(?:[-~]rc\.?(\d+))?/.exec(text);
  if (parts === null) return undefined;
  const [, major, minor, patch, candidate] = parts;
  return [Number(major), Number(minor), Number(patch), candidate === undefined ? released : Number(candidate)];
}

/** What no well-meaning client would send: texts, paths and JSON. */
import fc from "fast-check";

export const oddText = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.constantFrom("", "\0", "a\0b", "../../etc/passwd", "constructor", "__proto__", "\uD800", "\r\nX: 1", "%00", "null", "-1", "1e999"),
  fc.constantFrom("a", "/", "é", "\0").map((unit) => unit.repeat(5000)),
);

const pathPart = fc.constantFrom(
  "..",
  ".",
  "",
  "~",
  "~root",
  "\0",
  "\n",
  "*",
  "%2e%2e",
  "%252e%252e",
  "%00",
  "%c0%ae",
  "\uFFFD",
  "é",
  "a b",
  "+",
  "&",
  "#",
  "?",
  "scratch",
  "file",
  "loop",
  "outside",
  "dangling",
  "folder",
  "canary",
  "secret",
  "etc",
  "passwd",
  "home",
  "proc",
  "self",
  "root",
  "fd",
  "3",
  "environ",
  "mem",
  "cwd",
  "dev",
  "null",
  "full",
  "zero",
  "pipe",
  "a".repeat(255),
  "a".repeat(256),
  "b".repeat(5000),
);

/** They are there, and most of them are no plain files. */
const realPath = fc.constantFrom(
  "/",
  "/scratch",
  "/scratch/",
  "/scratch/file",
  "/scratch/file/x",
  "/scratch/folder",
  "/scratch/loop",
  "/scratch/loop/x",
  "/scratch/outside",
  "/scratch/dangling",
  "/canary/secret",
  "/etc/passwd",
  "/proc/self/environ",
  "/proc/self/mem",
  "/proc/self/fd/0",
  "/proc/1/root/canary/secret",
  "/dev/null",
  "/dev/zero",
  "/dev/full",
  "/dev/pipe",
  "/dev/ptmx",
  "/proc/self/cwd",
  "~",
  "~/new",
  "new",
  "./new/../other",
  "//etc//passwd",
);

export const oddPath = fc.oneof(
  { weight: 4, arbitrary: realPath },
  { weight: 4, arbitrary: fc.array(pathPart, { maxLength: 8 }).map((parts) => parts.join("/")) },
  { weight: 4, arbitrary: fc.array(pathPart, { maxLength: 6 }).map((parts) => `/${parts.join("/")}`) },
  { weight: 1, arbitrary: fc.array(pathPart, { maxLength: 3 }).map((parts) => `/scratch/${parts.join("/")}`) },
  { weight: 1, arbitrary: oddText },
);

/** The bytes of a query's value: as they should be escaped, twice, or not at all. */
export const escaped = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(text, fc.constantFrom("once", "once", "once", "twice", "not", "half")).map(([given, how]) => {
    const once = encodeURIComponent(given.toWellFormed());
    if (how === "once") return once;
    if (how === "twice") return encodeURIComponent(once);
    // As much of it as can stand in a request line.
    const plain = Buffer.from(given, "utf8")
      .toString("latin1")
      .replaceAll(/[\0-\x20\x7f]/g, "");
    return how === "not" ? plain : `${plain}%${once.slice(0, 7)}`;
  });

export const oddJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  oddText,
  fc.constantFrom<unknown>(null, true, 0, -1, 0.5, 2 ** 32, 2 ** 53, 1e308, [], {}, [[]], { constructor: 1 }, { __proto__: null }),
);

/** A text that is nearly JSON, or JSON that is far too deep. */
export const brokenJson: fc.Arbitrary<Buffer> = fc.oneof(
  fc.json().map((text) => Buffer.from(text.slice(0, Math.max(0, text.length - 1)))),
  fc
    .tuple(fc.constantFrom("[", '{"a":', '{"process":'), fc.constantFrom(10, 1000, 50_000))
    .map(([open, depth]) => Buffer.from(open.repeat(depth))),
  fc.constantFrom(10, 1000, 50_000).map((depth) => Buffer.from("[".repeat(depth) + "]".repeat(depth))),
  fc.constantFrom("", "{", "nul", "{}x", "\uFEFF{}", "{'a':1}", "NaN", '{"a":1,"a":2}', "\0").map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
);

/** An object with some of its fields replaced, added or left out. */
export function spoiled(good: Readonly<Record<string, unknown>>, values: fc.Arbitrary<unknown> = oddJson): fc.Arbitrary<unknown> {
  const keys = Object.keys(good);
  return fc
    .tuple(fc.array(fc.tuple(fc.constantFrom("unknown", "__proto__", ...keys), values), { maxLength: 3 }), fc.subarray(keys))
    .map(([changes, kept]) => {
      const known = Object.fromEntries(Object.entries(good).filter(([key]) => kept.includes(key)));
      return { ...known, ...Object.fromEntries(changes) };
    });
}

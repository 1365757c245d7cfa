import { expect, test } from "vitest";
import { overlap, whyNotMountPath } from "./mount-path.ts";

test.each(["/mnt/data", "/data", "/home/user/project", "/usr/local/share/x", "/srv/a b/ü", "/process", "/.envd2", `/${"a".repeat(255)}`])(
  "a volume may be mounted at %s",
  (path) => {
    expect(whyNotMountPath(path)).toBeUndefined();
  },
);

test.each([
  ["", "nothing"],
  ["data", "a relative path"],
  ["/", "the root"],
  ["/usr", "what programs are in"],
  ["/etc", "accounts"],
  ["/proc", "the kernel's processes"],
  ["/proc/self/fd", "below it"],
  ["/sys/fs/cgroup", "the kernel's groups"],
  ["/dev/shm", "devices"],
  ["/.envd", "the daemon"],
  ["/.envd/bin/node", "a file of the daemon"],
  ["/mnt/../proc", "a way up"],
  ["/mnt//data", "an empty part"],
  ["/mnt/./data", "a dot"],
  ["/mnt/data/", "a slash at the end, which the service takes away"],
  ["/mnt/a\0b", "NUL"],
  ["/mnt/a\nb", "a line break"],
  [`/${"a".repeat(256)}`, "a part that no file system takes"],
  [`/a${"/b".repeat(600)}`, "too long a path"],
])("%j is refused: %s", (path) => {
  expect(whyNotMountPath(path)).toEqual(expect.any(String));
});

test("two paths hide each other if one is in the other", () => {
  expect([overlap("/a", "/a"), overlap("/a", "/a/b"), overlap("/a/b", "/a"), overlap("/a", "/ab"), overlap("/a/b", "/a/c")]).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Accounts } from "#envd/accounts/accounts.ts";
import { findUser, type FoundUser } from "./find-user.ts";

function find(text: string): FoundUser {
  const etc = mkdtempSync(join(tmpdir(), "agentbox-etc-"));
  onTestFinished(() => rmSync(etc, { recursive: true }));
  writeFileSync(join(etc, "passwd"), "root:x:0:0::/root:/bin/sh\nuser:x:1000:1001::/home/user:/bin/sh\n");
  writeFileSync(join(etc, "group"), "user:x:1001:\ndocker:x:998:user\n");
  return findUser(text, new Accounts(etc));
}

test.each<[string, Partial<FoundUser>]>([
  ["user", { uid: 1000, gid: 1001, groups: [1001, 998], home: "/home/user" }],
  ["1000", { uid: 1000, gid: 1001, groups: [1001, 998], home: "/home/user" }],
  ["user:docker", { uid: 1000, gid: 998, groups: [998], home: "/home/user" }],
  ["1000:5", { uid: 1000, gid: 5, groups: [5] }],
  ["4711", { uid: 4711, gid: 0, home: "/" }],
  ["root", { uid: 0, gid: 0, home: "/root" }],
  ["", { uid: 0 }],
])("%j is found in the image's files", (text, user) => {
  expect(find(text)).toMatchObject(user);
});

test.each(["nobody", "user:wheel", "-1"])("%j is refused, and the message says where it was looked for", (text) => {
  expect(() => find(text)).toThrow(/there is no (user|group) .* in \/etc\/(passwd|group)/);
});

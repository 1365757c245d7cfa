import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Accounts } from "./accounts.ts";
import { accountOf, basicUser, UnknownUser } from "./caller.ts";
import { resolvePath } from "./resolve-path.ts";

let etc = "";
beforeEach(() => {
  etc = mkdtempSync(join(tmpdir(), "agentbox-accounts-"));
});
afterEach(() => rmSync(etc, { recursive: true, force: true }));

test("an image without accounts still has root", () => {
  const accounts = new Accounts(etc);
  expect(accountOf(accounts, {}, undefined)).toMatchObject({ name: "root", uid: 0 });
  expect([accounts.userName(0), accounts.userName(7), accounts.groupName(7)]).toEqual(["root", "7", "7"]);
});

test("a process may have a user that no file names", () => {
  writeFileSync(join(etc, "passwd"), "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n");
  const accounts = new Accounts(etc);
  expect(accounts.ofProcess(1000, 1000)).toMatchObject({ name: "user", home: "/home/user" });
  expect(accounts.ofProcess(1001, 7)).toEqual({ name: "1001", uid: 1001, gid: 7, home: "/" });
});

test("accounts are read anew when their file changes; lines that are none are passed over", () => {
  const accounts = new Accounts(etc);
  writeFileSync(join(etc, "passwd"), "root:x:0:0::/root:/bin/sh\nbad line\nx:x:a:b::/:\n");
  expect(accounts.find("user")).toBeUndefined();
  writeFileSync(join(etc, "passwd"), "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n");
  writeFileSync(join(etc, "group"), "user:x:1000:\nsudo:x:27:other,user\n");
  const user = accountOf(accounts, {}, undefined);
  expect([user.name, accounts.groupsOf(user)]).toEqual(["user", [1000, 27]]);
  expect(accountOf(accounts, { defaultUser: "root" }, undefined).name).toBe("root");
  expect(() => accountOf(accounts, {}, "ghost")).toThrow(UnknownUser);
});

test("the user of a request is the one of its basic authorization", () => {
  const header = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
  expect([
    basicUser(header("me:")),
    basicUser(header("me:pass:word")),
    basicUser(header("me")),
    basicUser({}),
    basicUser({ authorization: "Bearer x" }),
  ]).toEqual(["me", "me", "me", undefined, undefined]);
});

test.for([
  ["", "/home/u"],
  ["~", "/home/u"],
  ["~/x", "/home/u/x"],
  ["x/../y", "/home/u/y"],
  ["/a//b/./c/", "/a/b/c"],
  ["/../../etc", "/etc"],
])("the path %j is %s", ([path = "", wanted]) => {
  expect(resolvePath(path, { name: "u", uid: 1, gid: 1, home: "/home/u" }, undefined)).toBe(wanted);
});

test("an empty path is the sandbox's working folder, if it has one", () => {
  expect(resolvePath("", { name: "u", uid: 1, gid: 1, home: "/home/u" }, "/work")).toBe("/work");
});

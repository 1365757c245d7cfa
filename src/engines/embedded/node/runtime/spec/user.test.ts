import { expect, test } from "vitest";
import { resolveUser } from "./user.ts";

const files = {
  passwd:
    "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:100:User:/home/user:/bin/sh\nbroken line\nodd:x:abc:1::/:\nhuge:x:99999:99999::/:\n",
  group: "root:x:0:\nusers:x:100:\nsudo:x:27:user,other\nadm:x:4:user\nhuge:x:99999:user\n",
};

test.each([
  ["", { uid: 0, gid: 0, groups: [], home: "/root" }],
  ["root", { uid: 0, gid: 0, groups: [], home: "/root" }],
  ["user", { uid: 1000, gid: 100, groups: [27, 4], home: "/home/user" }],
  ["1000", { uid: 1000, gid: 100, groups: [27, 4], home: "/home/user" }],
  ["user:root", { uid: 1000, gid: 0, groups: [], home: "/home/user" }],
  ["user:55", { uid: 1000, gid: 55, groups: [], home: "/home/user" }],
  ["4242", { uid: 4242, gid: 0, groups: [], home: "/" }],
  ["4242:4343", { uid: 4242, gid: 4343, groups: [], home: "/" }],
])("%j is %j", (text, expected) => {
  expect(resolveUser(text, files)).toEqual(expected);
});

test("supplemental groups are added once", () => {
  expect(resolveUser("user", files, [27, 55]).groups).toEqual([27, 4, 55]);
});

test("an image without accounts has root and every number", () => {
  const none = { passwd: "", group: "" };
  expect(resolveUser("", none)).toEqual({ uid: 0, gid: 0, groups: [], home: "/" });
  expect(resolveUser("65534", none).uid).toBe(65_534);
});

test.each([
  ["nobody-here", 'the image has no user "nobody-here" in /etc/passwd'],
  ["odd", 'the image has no user "odd"'],
  ["user:nogroup-here", 'the image has no group "nogroup-here" in /etc/group'],
  ["70000", "70000 is no id inside a sandbox; they go from 0 to 65535"],
  ["0:65536", "65536 is no id inside a sandbox"],
])("%j is refused", (text, message) => {
  expect(() => resolveUser(text, files)).toThrow(message);
});

import { expect, test } from "vitest";
import { basicGroup, basicPasswd, generatedFiles } from "./etc-files.ts";

const files = new Map(generatedFiles(basicPasswd, basicGroup).map((file) => [file.path, file]));
const content = (path: string): string => files.get(path)?.content ?? "";

test("accounts are the distribution's and one user; nobody of the machine, and nobody has a password", () => {
  expect(content("passwd")).toContain("root:x:0:0:root:/root:/bin/bash\n");
  expect(content("passwd")).toMatch(/\nuser:x:1000:1000:user:\/home\/user:\/bin\/bash\n$/);
  expect(content("group")).toMatch(/\nuser:x:1000:\n$/);
  const names = content("passwd")
    .trim()
    .split("\n")
    .map((line) => line.split(":")[0]);
  expect(content("shadow").trim().split("\n")).toEqual(names.map((name) => `${name}:*:20000:0:99999:7:::`));
});

test("what only root may read is so, and belongs to the group that may", () => {
  expect(files.get("shadow")).toMatchObject({ mode: 0o640, gid: 42 });
  expect(files.get("gshadow")).toMatchObject({ mode: 0o640, gid: 42 });
  expect(files.get("sudoers")).toMatchObject({ mode: 0o440 });
  expect(files.get("passwd")).toMatchObject({ mode: 0o644 });
});

test("the user becomes root without a password", () => {
  expect(content("sudoers")).toContain("user ALL=(ALL:ALL) NOPASSWD:ALL");
  expect(content("pam.d/sudo")).toContain("auth sufficient pam_rootok.so");
});

test("names are looked up in files and by DNS only, and the machine's id is nobody's", () => {
  expect(content("nsswitch.conf")).toContain("hosts: files dns\n");
  expect(content("machine-id")).toBe("");
});

import { expect, test } from "vitest";
import { judgeRunc } from "./known-escapes.ts";

test.each([
  ["1.0.0-rc6", "", "refused"],
  ["1.0.0~rc93+ds1", "1.0.0~rc93+ds1-5+deb11u3", "refused"],
  ["1.1.5", "", "refused"],
  ["1.1.5+ds1", "1.1.5+ds1-1", "refused"],
  ["1.1.5+ds1", "1.1.5+ds1-1+deb12u1", "vulnerable"],
  ["1.1.11", "v1.1.11-0-g4bccb38c", "refused"],
  ["1.1.12", "v1.1.12-0-g51d5e946", "vulnerable"],
  ["1.2.0-rc.1", "", "vulnerable"],
  ["1.2.7", "", "vulnerable"],
  ["1.2.8", "", "fine"],
  ["1.3.0", "", "vulnerable"],
  ["1.3.2", "", "vulnerable"],
  ["1.3.3+ds1", "1.3.3+ds1-1", "fine"],
  ["1.4.0-rc.2", "", "vulnerable"],
  ["1.4.0-rc.3", "", "fine"],
  ["1.4.0", "", "fine"],
  ["1.5.2", "agentbox-v1.5.2", "fine"],
  ["2.0.0", "", "fine"],
  ["unknown", "", "refused"],
])("runc %s (%s) is %s", (version, build, kind) => {
  expect(judgeRunc(version, build).kind).toBe(kind);
});

test("a refusal says what is wrong, and what would be right", () => {
  expect(judgeRunc("1.1.5", "v1.1.5")).toEqual({
    kind: "refused",
    message:
      "runc 1.1.5 (v1.1.5) lets containers out (CVE-2024-21626); install 1.1.12 or newer, or build one: tools/runc/build.sh (make up does)",
  });
});

/** Projects that build for minutes or start servers run when they are named; a file that they share with others does not start them. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const vitest = join(root, "node_modules/vitest/vitest.mjs");

function projectsOf(...args: readonly string[]): readonly string[] {
  const listed = execFileSync(process.execPath, [vitest, "list", "--filesOnly", ...args, "--json"], { cwd: root, encoding: "utf8" });
  return (JSON.parse(listed) as { projectName: string }[]).map(({ projectName }) => projectName);
}

test("one contract file by its name is one of the embedded servers, and builds no Kubernetes", () => {
  expect(projectsOf("test/contract/list.test.ts")).toEqual(["contract"]);
  expect(projectsOf("--project", "kubernetes", "test/contract/list.test.ts")).toEqual(["kubernetes"]);
});

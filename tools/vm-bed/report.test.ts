import { expect, test } from "vitest";
import { parseReportLine } from "./report.ts";

test("a guest's report says which step passed, failed or was skipped, and why", () => {
  expect(parseReportLine("::begins memory-limit")).toEqual({ kind: "begins", step: "memory-limit" });
  expect(parseReportLine("::passed memory-limit 12")).toEqual({ kind: "passed", step: "memory-limit", seconds: 12 });
  expect(parseReportLine("::failed disk-limit 3")).toEqual({ kind: "failed", step: "disk-limit", seconds: 3 });
  expect(parseReportLine("::skipped apparmor this kernel has no such setting")).toEqual({
    kind: "skipped",
    step: "apparmor",
    reason: "this kernel has no such setting",
  });
  expect(parseReportLine("::fact kernel 6.12.1")).toEqual({ kind: "fact", text: "kernel 6.12.1" });
  expect(parseReportLine("::power-cut")).toEqual({ kind: "wants-power-cut" });
  expect(parseReportLine("::finished")).toEqual({ kind: "finished" });
});

test("a line of a program is output, whatever it looks like", () => {
  for (const text of ["42", "", ":: passed x 1", "  ::passed x 1", "::unknown x"]) {
    expect(parseReportLine(text)).toEqual({ kind: "output", text });
  }
});

import { expect, test } from "vitest";
import { eventually } from "../world/eventually.ts";
import { describeSdks } from "./describe-sdks.ts";

describeSdks(
  "metrics",
  (use) => {
    test("what a sandbox uses is told, with what it has", async () => {
      // They are sampled every few seconds.
      await eventually(async () => {
        const [last] = (await use.sandbox.getMetrics()).toReversed();
        expect(last).toMatchObject({ timestamp: expect.any(Date), cpuUsedPct: expect.any(Number), memUsed: expect.any(Number) });
        expect(last?.cpuCount).toBeGreaterThan(0);
        expect(last?.memTotal).toBeGreaterThan(last?.memUsed ?? 0);
        expect(last?.memUsed).toBeGreaterThan(0);
        expect(last?.diskTotal).toBeGreaterThan(0);
      });
    });

    test("those of a sandbox that never was are an error of its own", async () => {
      await expect(use.sdk.Sandbox.getMetrics("inosuchsandbox")).rejects.toBeInstanceOf(Error);
    });
  },
  { needs: "metrics" },
);

import { expect, test } from "vitest";
import { defaultLimits } from "#images/layer/limits.ts";
import { nodeSettings } from "./node-settings.ts";

const usual = { highPercent: 85, lowPercent: 80, minAgeMs: 120_000 };

test("what is not set is as usual", () => {
  expect(nodeSettings({ AGENTBOX_POD_STORAGE: "", AGENTBOX_IMAGE_MIN_AGE: " " })).toEqual({
    podLimits: {},
    imageSpace: usual,
    imageLimits: defaultLimits,
    allowVulnerableRuntime: false,
  });
});

test("limits of pods and room for images can be set", () => {
  const env = {
    AGENTBOX_POD_PROCESSES: "100",
    AGENTBOX_POD_STORAGE: "1.5Gi",
    AGENTBOX_IMAGE_DISK_HIGH: "70",
    AGENTBOX_IMAGE_DISK_LOW: "60",
    AGENTBOX_IMAGE_MIN_AGE: "1h",
    AGENTBOX_IMAGE_MAX_BYTES: "4Gi",
    AGENTBOX_IMAGE_MAX_RATIO: "20",
    AGENTBOX_IMAGE_MAX_FILES: "5000",
    AGENTBOX_IMAGE_DISK_RESERVE: "1Gi",
    AGENTBOX_ALLOW_VULNERABLE_RUNC: "1",
  };
  expect(nodeSettings(env)).toEqual({
    podLimits: { pids: 100, ephemeralStorageBytes: 1_610_612_736 },
    imageSpace: { highPercent: 70, lowPercent: 60, minAgeMs: 3_600_000 },
    imageLimits: { maxBytes: 2 ** 32, maxRatio: 20, ratioFromBytes: 2 ** 28, maxEntries: 5000, reserveBytes: 2 ** 30 },
    allowVulnerableRuntime: true,
  });
});

test.each([
  [{ AGENTBOX_ALLOW_VULNERABLE_RUNC: "yes" }, 'AGENTBOX_ALLOW_VULNERABLE_RUNC must be 1 or 0, not "yes"'],
  [{ AGENTBOX_POD_PROCESSES: "many" }, 'AGENTBOX_POD_PROCESSES must be a number from 16 to 4194304, not "many"'],
  [{ AGENTBOX_POD_PROCESSES: "15" }, 'AGENTBOX_POD_PROCESSES must be a number from 16 to 4194304, not "15"'],
  [{ AGENTBOX_POD_PROCESSES: "-1" }, 'AGENTBOX_POD_PROCESSES must be a number from 16 to 4194304, not "-1"'],
  [
    { AGENTBOX_POD_STORAGE: "10 GB" },
    'AGENTBOX_POD_STORAGE must be an amount of bytes such as "10Gi" or "500M", at least 16Mi, not "10 GB"',
  ],
  [{ AGENTBOX_POD_STORAGE: "5" }, 'AGENTBOX_POD_STORAGE must be an amount of bytes such as "10Gi" or "500M", at least 16Mi, not "5"'],
  [{ AGENTBOX_IMAGE_DISK_HIGH: "101" }, 'AGENTBOX_IMAGE_DISK_HIGH must be a number from 0 to 100, not "101"'],
  [{ AGENTBOX_IMAGE_DISK_HIGH: "70" }, "AGENTBOX_IMAGE_DISK_LOW (80) must not be above AGENTBOX_IMAGE_DISK_HIGH (70): set both"],
  [
    { AGENTBOX_IMAGE_MIN_AGE: "1 day" },
    'AGENTBOX_IMAGE_MIN_AGE: "1 day" is not a duration: write numbers with units h, m, s, ms, us or ns, such as "90s" or "1h30m"',
  ],
])("%j is refused with what would be right", (env, message) => {
  expect(() => nodeSettings(env)).toThrow(message);
});

import { describe, expect, test } from "vitest";
import { choosePlatform, formatPlatform, machinePlatform, parsePlatform } from "./platform.ts";

function offers(...platforms: string[]): { platform: ReturnType<typeof parsePlatform> }[] {
  return platforms.map((text) => ({ platform: parsePlatform(text) }));
}

function chosen(wanted: string, ...offered: string[]): string | undefined {
  const best = choosePlatform(offers(...offered), parsePlatform(wanted));
  return best === undefined ? undefined : formatPlatform(best.platform);
}

describe("the choice between platforms", () => {
  test.each([
    ["linux/amd64", ["linux/arm64", "linux/amd64"], "linux/amd64"],
    ["linux/amd64", ["windows/amd64", "linux/arm64"], undefined],
    ["linux/amd64", ["unknown/unknown"], undefined],
    // Processors run what was made for their forerunners, and nothing newer.
    ["linux/arm/v7", ["linux/arm/v5", "linux/arm/v6", "linux/arm64/v8"], "linux/arm/v6"],
    ["linux/arm/v6", ["linux/arm/v7"], undefined],
    ["linux/arm", ["linux/arm/v6", "linux/arm/v7"], "linux/arm/v7"],
    ["linux/amd64", ["linux/amd64/v3", "linux/amd64"], "linux/amd64"],
    ["linux/amd64", ["linux/amd64/v2"], undefined],
    ["linux/amd64/v3", ["linux/amd64", "linux/amd64/v2", "linux/amd64/v4"], "linux/amd64/v2"],
    // arm64 without a variant is v8, and the other way round.
    ["linux/arm64", ["linux/arm64/v8"], "linux/arm64/v8"],
    ["linux/arm64/v8", ["linux/arm64"], "linux/arm64"],
    ["linux/riscv64", ["linux/riscv64"], "linux/riscv64"],
  ])("%s out of %j is %s", (wanted, offered, expected) => {
    expect(chosen(wanted, ...offered)).toBe(expected);
  });

  test("offers without a platform are passed over", () => {
    expect(choosePlatform([{}], parsePlatform("linux/amd64"))).toBeUndefined();
  });

  test("of equals the first is taken", () => {
    const equal = [{ platform: parsePlatform("linux/amd64"), first: true }, { platform: parsePlatform("linux/amd64") }];
    expect(choosePlatform(equal, parsePlatform("linux/amd64"))).toBe(equal[0]);
  });
});

test.each(["", "linux", "linux/", "/amd64", "linux/arm/", "linux/arm/v7/x"])("%j is no platform", (text) => {
  expect(() => parsePlatform(text)).toThrow(/write it as linux\/amd64/);
});

test("this machine is Linux, in the words that images use", () => {
  expect(machinePlatform().os).toBe("linux");
  expect(machinePlatform().architecture).not.toBe("x64");
});

import { describe, expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import type { LayerState } from "../machine-images.ts";
import { LayerProgress } from "./layer-progress.ts";

const one = `sha256:${"1".repeat(64)}`;
const two = `sha256:${"2".repeat(64)}`;

function shown(isTTY: boolean, clock = new SteppedClock()): { progress: LayerProgress; writes: string[] } {
  const writes: string[] = [];
  return { progress: new LayerProgress({ write: (text) => writes.push(text), isTTY }, clock), writes };
}

function state(layer: string, what: LayerState["state"], bytes = 0): LayerState {
  return { layer, state: what, bytes, total: 2_000_000 };
}

test("elsewhere than on a terminal each step is a line, and amounts are not repeated", () => {
  const { progress, writes } = shown(false);
  progress.update(state(one, "waiting"));
  for (const bytes of [1, 1000, 2_000_000]) progress.update(state(one, "downloading", bytes));
  progress.update(state(two, "downloading", 5));
  progress.update(state(one, "unpacking"));
  progress.update(state(one, "done"));
  progress.finish();
  expect(writes.join("")).toBe(
    "111111111111: downloading 2MB\n222222222222: downloading 2MB\n111111111111: unpacking\n111111111111: done\n",
  );
});

describe("on a terminal", () => {
  test("each layer has a line with a bar, which is written over", () => {
    const { progress, writes } = shown(true);
    progress.update(state(one, "waiting"));
    progress.update(state(two, "downloading", 1_000_000));
    progress.update(state(one, "unpacking", 300));
    expect(writes).toEqual([
      "\u001b[2K111111111111 [                        ] waiting\n",
      "\u001b[1A\u001b[2K111111111111 [                        ] waiting\n\u001b[2K222222222222 [============            ] downloading 1MB of 2MB\n",
      "\u001b[2A\u001b[2K111111111111 [========================] unpacking   300B\n\u001b[2K222222222222 [============            ] downloading 1MB of 2MB\n",
    ]);
  });

  test("amounts move ten times a second, not with every packet", async () => {
    const clock = new SteppedClock();
    const { progress, writes } = shown(true, clock);
    for (let bytes = 0; bytes < 100; bytes++) progress.update(state(one, "downloading", bytes));
    expect(writes.length).toBe(1);
    await clock.step(101);
    progress.update(state(one, "downloading", 100));
    progress.update(state(one, "downloading", 101));
    expect(writes.length).toBe(2);
    progress.finish();
    expect(writes.at(-1)).toContain("101B of 2MB");
  });

  test("a layer that is larger than it said does not break the bar", () => {
    const { progress, writes } = shown(true);
    progress.update({ ...state(one, "downloading", 10), total: 0 });
    expect(writes.join("")).toContain("[========================]");
  });
});

import { expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { eventually } from "../../../test/world/eventually.ts";
import { rehearseCreates } from "./rehearse-creates.ts";

/** What keeps this process alive, as far as it is of the network. */
function openThings(): readonly string[] {
  return process.getActiveResourcesInfo().filter((kind) => kind.startsWith("TCP"));
}

test("creates are rehearsed over HTTP, from the API to a daemon, and nothing stays open", async () => {
  const before = openThings();
  expect(await rehearseCreates({ clock: systemClock, creates: 16, goesOn: () => true })).toBe(16);
  // What is closed goes in the turns after.
  await eventually(() => expect(openThings()).toEqual(before));
});

test("a rehearsal ends between two scenes when it may not go on", async () => {
  let scenes = 0;
  const goesOn = (): boolean => scenes++ < 1;
  expect(await rehearseCreates({ clock: systemClock, creates: 400, goesOn })).toBe(8);
});

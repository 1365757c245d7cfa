import { expect, test } from "vitest";
import { RuntimeCommands } from "#engines/embedded/node/runtime/runtime-commands.ts";
import { SteppedClock } from "../../../../../test/world/stepped-clock.ts";
import { startPlaces } from "./prepare-exec.ts";

test("four teams whose commands all hang while they start leave places for the commands of a fifth one", async () => {
  const commands = new RuntimeCommands(new SteppedClock());
  const hang = (signal: AbortSignal): Promise<void> => new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
  let started = 0;
  for (const team of ["red", "blue", "green", "grey"]) {
    for (let each = 0; each < 20; each++) {
      const places = startPlaces(`${team}-${each % 4}`, team);
      commands.run("runc exec", (signal) => (started++, hang(signal)), { places }).catch(() => {});
    }
  }
  expect(await commands.run("runc exec", async () => "ran", { places: startPlaces("white-0", "white") })).toBe("ran");
  expect(started).toBe(49);
  commands.end();
});

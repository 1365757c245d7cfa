/** Draws the live view with ink and passes keys on. Loaded only when needed: React and ink take a third of a second. */
import { Box, render, Text, useInput, useWindowSize } from "ink";
import { createElement, type ReactElement } from "react";
import type { Line } from "./live-screen.ts";
import { type Press, singlePresses } from "./live-state.ts";

export interface LiveView {
  readonly draw: () => void;
  /** Restores the terminal. */
  readonly close: () => Promise<void>;
}

export interface ViewSource {
  readonly lines: (rows: number) => readonly Line[];
  readonly onPress: (press: Press) => void;
  readonly hasColors: boolean;
}

export function openLiveView(source: ViewSource): LiveView {
  // The caller has seen that this is a terminal. By itself ink draws nothing where CI is set, and the view would stay empty.
  const options = { interactive: true, alternateScreen: true, exitOnCtrlC: false, patchConsole: false };
  const app = render(createElement(Screen, { source }), options);
  return {
    draw: () => app.rerender(createElement(Screen, { source })),
    close: async () => {
      app.unmount();
      await app.waitUntilExit();
    },
  };
}

function Screen({ source }: { readonly source: ViewSource }): ReactElement {
  const { rows } = useWindowSize();
  useInput((input, key) => {
    for (const press of singlePresses({ input, key })) source.onPress(press);
  });
  const lines = source.lines(rows);
  return createElement(
    Box,
    { flexDirection: "column" },
    // Lines have no identity other than their position.
    ...lines.map((line, at) =>
      createElement(Text, { key: at, wrap: "truncate", ...lookOf(line, source.hasColors) }, line.text === "" ? " " : line.text),
    ),
  );
}

function lookOf({ look }: Line, hasColors: boolean): object {
  if (look === "selected") return { inverse: true };
  if (look === "title") return { bold: true };
  if (look === "faint") return { dimColor: hasColors };
  return look === "bad" && hasColors ? { color: "red" } : {};
}

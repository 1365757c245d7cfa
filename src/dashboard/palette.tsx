/** Ctrl-K: go to any page or object by a few letters of its name. */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { askWhomToActAs } from "./session/acting-banner.tsx";
import { envs, known, pools, sandboxes } from "./live/live-state.ts";
import { entries, hrefOfEntry } from "./nav-entries.ts";
import { useModal } from "./parts/dialog.tsx";
import { go, hrefOf, place, setQuery } from "./route.ts";
import { signedIn, signOut, stopActing } from "./session/session.ts";
import { switchTheme } from "./theme.ts";
import { bestMatches, type Choice } from "./best-matches.ts";

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

interface Command extends Choice {
  readonly run: () => void;
}

function commands(): readonly Command[] {
  const to = (href: string) => () => go(href);
  return [
    ...entries.map((entry) => ({ name: entry.name, about: "page", run: to(hrefOfEntry(entry)) })),
    ...ofThisSandbox(),
    { name: "Switch theme", about: "command", run: switchTheme },
    ...(signedIn().caller.role === "admin" ? [{ name: "Act as a team", about: "command", run: askWhomToActAs }] : []),
    ...(signedIn().isActing ? [{ name: "Be admin again", about: "command", run: () => void stopActing() }] : []),
    { name: "Sign out", about: "command", run: () => void signOut() },
    ...envs.value.map(({ metadata: { namespace = "", name = "" } }) => ({
      name,
      about: "Env",
      run: to(hrefOf(["envs", namespace, name])),
    })),
    ...pools.value.map(({ metadata: { namespace = "", name = "" } }) => ({
      name,
      about: "pool",
      run: to(hrefOf(["pools", namespace, name])),
    })),
    ...sandboxes.value.map(({ sandboxId, status, poolName }) => ({
      name: sandboxId,
      about: `${status}, ${poolName}`,
      run: to(hrefOf(["sandboxes", sandboxId])),
    })),
  ];
}

/** What can be made of the sandbox whose page this is. */
function ofThisSandbox(): readonly Command[] {
  const [first, sandboxId, ...more] = place.value.parts;
  const live = known.value.sandboxes.get(sandboxId ?? "");
  if (first !== "sandboxes" || more.length > 0 || live === undefined) return [];
  const about = "this sandbox";
  return [
    { name: "Take a snapshot", about, run: () => setQuery({ make: "snapshot" }) },
    ...(live.status === "Running" ? [{ name: "Fork", about, run: () => setQuery({ make: "fork" }) }] : []),
  ];
}

export function Palette() {
  return isOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const element = useModal();
  const found = bestMatches(commands(), text, 12);
  const chosen = Math.min(at, found.length - 1);
  const close = (): void => {
    isOpen.value = false;
  };
  const run = (command: Command | undefined): void => {
    close();
    command?.run();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter") run(found[chosen]);
    else if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      class="palette"
      ref={element}
      aria-label="Search and commands"
      onClose={close}
      onClick={(event) => event.target === element.current && close()}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen}`}
        aria-label="Page, sandbox, pool or command"
        placeholder="Page, sandbox, pool or command"
        autofocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <ul id="palette-list" role="listbox" aria-label="Matches">
        {found.map((command, index) => (
          <li
            key={`${command.about} ${command.name}`}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => run(command)}
          >
            <span class="cell">{command.name}</span>
            <span class="hint">{command.about}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="empty">No match.</p>}
    </dialog>
  );
}

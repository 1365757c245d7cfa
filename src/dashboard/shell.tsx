/** The frame around every page: navigation, the signed-in caller, and whether the data is live. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isLive } from "./live/live-state.ts";
import { entries, hrefOfEntry } from "./nav-entries.ts";
import { BrandMark, Icon } from "./parts/icon.tsx";
import { Link } from "./parts/link.tsx";
import { openPalette } from "./palette.tsx";
import { hrefOf, place } from "./route.ts";
import { ActingBanner, askWhomToActAs } from "./session/acting-banner.tsx";
import { signedIn, signOut } from "./session/session.ts";
import { switchTheme, theme } from "./theme.ts";

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const { parts } = place.value;
  const where = parts.join("/");
  useEffect(() => setOpen(false), [where]);
  const at = parts[0] === "envs" ? "pools" : (parts[0] ?? "");
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header class="top-bar">
        <Brand />
        <button type="button" class="icon-button" aria-label="Search and commands" onClick={openPalette}>
          <Icon name="search" />
        </button>
        <button type="button" class="icon-button" aria-label="Menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name="menu" />
        </button>
      </header>
      <nav class={`nav ${isOpen ? "open" : ""}`} aria-label="Pages">
        <Brand />
        <ul>
          {entries.map((entry) => (
            <li key={entry.part}>
              <Link href={hrefOfEntry(entry)} current={at === entry.part}>
                <Icon name={entry.icon} />
                {entry.name}
                {entry.count !== undefined && <span class="number">{entry.count()}</span>}
              </Link>
            </li>
          ))}
        </ul>
        <NavFoot />
      </nav>
      <main class="main" id="main" tabIndex={0}>
        <ActingBanner />
        {!isLive.value && (
          <p class="offline" role="status">
            The connection to the server is broken. What you see may be old; it is tried again.
          </p>
        )}
        {children}
      </main>
    </div>
  );
}

function Brand() {
  return (
    <Link class="brand" href={hrefOf([])}>
      <BrandMark /> AgentBox
    </Link>
  );
}

function NavFoot() {
  const { caller, isActing, version } = signedIn();
  const person = /^oidc:(.+)$/.exec(caller.keyId)?.[1];
  const identity =
    caller.role === "admin" ? "Admin" : [caller.team, caller.user].filter((part) => part !== undefined && part !== "").join(" / ");
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <div class="nav-foot">
      <button type="button" class="button" onClick={openPalette}>
        <Icon name="search" /> Search <kbd>Ctrl K</kbd>
      </button>
      <div class="identity">
        <div>{identity}</div>
        {person !== undefined && <div>{person}</div>}
        <div>AgentBox {version}</div>
      </div>
      {caller.role === "admin" && !isActing && (
        <button type="button" class="button" onClick={askWhomToActAs}>
          Act as a team…
        </button>
      )}
      <div class="row">
        <button
          type="button"
          class="icon-button"
          aria-label={`Switch to the ${other} theme`}
          title={`Switch to the ${other} theme`}
          onClick={switchTheme}
        >
          <Icon name={theme.value === "dark" ? "sun" : "moon"} />
        </button>
        <button type="button" class="icon-button" aria-label="Sign out" title="Sign out" onClick={() => void signOut()}>
          <Icon name="out" />
        </button>
      </div>
    </div>
  );
}

/** Keeps the address: the part after # is not a page. */
function skip(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>("main")?.focus();
}

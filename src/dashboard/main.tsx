/** The web console. Each page is a component in pages/; shared components are in parts/, live data in live/. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ActAsDialog } from "./session/acting-banner.tsx";
import { KeyHelp } from "./key-help.tsx";
import { useKeys } from "./keyboard.ts";
import { startLive } from "./live/live-state.ts";
import { openPalette, Palette } from "./palette.tsx";
import { CurrentPage } from "./pages/current-page.tsx";
import { Toasts } from "./parts/toasts.tsx";
import { startRouting } from "./route.ts";
import { findSession, sessionState } from "./session/session.ts";
import { Shell } from "./shell.tsx";
import { SignIn } from "./session/sign-in.tsx";
import "./theme.ts";

function App() {
  const state = sessionState.value;
  if (state.kind === "asking") return null;
  if (state.kind === "signed-out") return <SignIn why={state.why} />;
  const { keyId, role, team, user = "" } = state.session.caller;
  return <Console key={[keyId, role, team, user].join(" ")} />;
}

function Console() {
  const [isHelpOpen, setHelpOpen] = useState(false);
  useEffect(startLive, []);
  useKeys({ "Mod+k": openPalette, "?": () => setHelpOpen(true) });
  return (
    <>
      <Shell>
        <CurrentPage />
      </Shell>
      <Palette />
      <ActAsDialog />
      {isHelpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
      <Toasts />
    </>
  );
}

startRouting();
void findSession();
const host = document.querySelector("#app");
if (host !== null) render(<App />, host);

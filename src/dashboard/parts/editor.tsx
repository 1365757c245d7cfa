/** A text editor with line numbers and highlighting. Ctrl-S saves. */
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { useEffect, useRef } from "preact/hooks";
import { styleNonce } from "../sandbox/style-nonce.ts";
import { theme } from "../theme.ts";

interface EditorProps {
  /** The file extension selects the language. */
  readonly name: string;
  /** Initial text. */
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onSave?: () => void;
}

export function Editor({ name, text, onChange, onSave }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<{ readonly view: EditorView; readonly look: Compartment } | undefined>(undefined);
  const told = useRef({ onChange, onSave });
  told.current = { onChange, onSave };
  const isDark = theme.value === "dark";
  useEffect(() => {
    if (host.current === null) return;
    const look = new Compartment();
    const saving = keymap.of([{ key: "Mod-s", run: () => (told.current.onSave?.(), true) }]);
    const changes = EditorView.updateListener.of(({ docChanged, state }) => docChanged && told.current.onChange(state.doc.toString()));
    const extensions = [
      EditorView.cspNonce.of(styleNonce()),
      basicSetup,
      languageOf(name),
      syntaxHighlighting(colors),
      saving,
      changes,
      look.of(lookOf(isDark)),
      label(name),
    ];
    const view = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: host.current });
    editor.current = { view, look };
    return () => view.destroy();
  }, [name, text]);
  useEffect(() => editor.current?.view.dispatch({ effects: editor.current.look.reconfigure(lookOf(isDark)) }), [isDark]);
  return <div class="editor" ref={host} />;
}

/** Uses the colours of the page, which have enough contrast in both themes. */
const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.moduleKeyword], color: "var(--calm)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--muted)" },
  { tag: [tags.function(tags.variableName), tags.definition(tags.variableName), tags.className], color: "var(--accent)" },
]);

function label(name: string): Extension {
  return EditorView.contentAttributes.of({ "aria-label": `Text of ${name}` });
}

function languageOf(name: string): Extension {
  if (/\.pyi?$/.test(name)) return python();
  return /\.[cm]?[jt]sx?$|\.json$/.test(name) ? javascript({ typescript: /\.[cm]?tsx?$/.test(name), jsx: name.endsWith("x") }) : [];
}

function lookOf(dark: boolean): Extension {
  return EditorView.theme(
    {
      "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px" },
      ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
      ".cm-cursor": { borderLeftColor: "var(--text)" },
      ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--muted)", border: "none" },
      ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--raised)" },
      "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--calm-soft) !important" },
    },
    { dark },
  );
}

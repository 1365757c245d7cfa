import { Dialog } from "./parts/dialog.tsx";

const keys = [
  ["Ctrl K", "Search and commands"],
  ["/", "Go to the search of a list"],
  ["j, k", "Next and previous sandbox of the list"],
  ["Enter", "Open it"],
  ["x", "Select it"],
  ["t, l, f", "Terminal, logs and files of a sandbox"],
  ["?", "This help"],
] as const;

export function KeyHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="facts">
        {keys.map(([key, about]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{about}</dd>
          </>
        ))}
      </dl>
      <div class="foot">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

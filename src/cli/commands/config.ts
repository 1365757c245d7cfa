/** `agentbox config …`: what its words do is in config/. */
import type { Command } from "../command.ts";
import { contextPath, listContexts, removeContext, setContext, useContext } from "../config/context-words.ts";
import { listingFlags } from "../print/listing.ts";
import { runWordAction } from "../word-action.ts";

const actions = { ls: listContexts, set: setContext, use: useContext, rm: removeContext, path: contextPath };

export const config: Command = {
  usage: [
    "config ls",
    "config set NAME --url URL --key-stdin [--gateway URL]",
    "config set NAME --home FOLDER",
    "config set NAME --kubeconfig FILE [--kube-context NAME] [--url URL --key-file FILE]",
    "config use NAME",
    "config rm NAME",
    "config path",
  ],
  about:
    "A context is a server that commands use: a remote one (URL and key), a data folder of this machine, or a cluster (a kubeconfig for " +
    "apply, get and delete; a URL and a key for all other commands). --context NAME selects one for a single command. " +
    "AGENTBOX_API_URL and AGENTBOX_API_KEY take precedence over contexts, and AGENTBOX_HOME over the context in use. " +
    "Contexts and keys are in a file that only this user can read (config path prints its path). Keys are never printed.",
  examples: [
    {
      does: "A remote server; the key is read from standard input",
      line: "agentbox config set prod --url https://api.box.example.com --key-stdin < key",
    },
    { does: "Use it from now on", line: "agentbox config use prod" },
    { does: "One command elsewhere", line: "agentbox --context prod ls" },
    { does: "A cluster", line: "agentbox config set k --kubeconfig ~/.kube/config --url https://api.box.example.com --key-file key" },
  ],
  words: Object.keys(actions),
  flags: {
    url: { value: "URL", help: "Address of the server's API" },
    gateway: { value: "URL", help: "Address of its gateway, for agentbox port (default: of https://api.NAME it is https://NAME)" },
    "key-stdin": { help: "Read the API key from standard input" },
    "key-file": { value: "FILE", help: "Read the API key from a file" },
    home: { value: "FOLDER", help: "Data folder on this machine" },
    kubeconfig: { value: "FILE", help: "Kubeconfig of the cluster, for apply, get and delete" },
    "kube-context": { value: "NAME", help: "Context in that file (default: the current one)" },
    ...listingFlags,
  },
  run: runWordAction("config", actions),
};

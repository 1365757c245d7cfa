import type { Command } from "../command.ts";
import { UsageError } from "../failure.ts";
import { orList } from "../flags.ts";

/** Each script calls agentbox itself, so that none contains an outdated list. If agentbox has no answer, files are completed. */
const scripts: Readonly<Record<string, string>> = {
  bash: String.raw`_agentbox() {
  local IFS=$'\n'
  COMPREPLY=($(agentbox __complete -- "${"${COMP_WORDS[@]:1:COMP_CWORD}"}" 2>/dev/null | cut -f1))
  if [[ ${"${COMPREPLY[0]-}"} == *: ]]; then compopt -o nospace; fi
}
complete -o default -F _agentbox agentbox
`,
  zsh: String.raw`#compdef agentbox
_agentbox() {
  local -a found
  found=(${'${(f)"$(agentbox __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}'})
  if (( ${"${#found}"} == 0 )); then _files; return; fi
  compadd -- ${"${found%%$'\\t'*}"}
}
compdef _agentbox agentbox
`,
  fish: String.raw`function __agentbox_complete
  set -l words (commandline -opc) (commandline -ct)
  agentbox __complete -- $words[2..] 2>/dev/null
end
complete -c agentbox -a '(__agentbox_complete)'
`,
};

export const completion: Command = {
  usage: ["completion bash|zsh|fish"],
  about: "Prints a script that completes commands, flags and live names (sandboxes, Envs, pools, contexts) in a shell.",
  examples: [
    { does: "In bash, for this shell; put the line into ~/.bashrc for all", line: "source <(agentbox completion bash)" },
    { does: "In zsh, after compinit", line: "source <(agentbox completion zsh)" },
    { does: "In fish, for all shells", line: "agentbox completion fish > ~/.config/fish/completions/agentbox.fish" },
  ],
  words: Object.keys(scripts),
  flags: {},
  run: async ({ stdout }, { words: [shell, ...more] }) => {
    const script = scripts[shell ?? ""];
    if (script === undefined || more.length > 0)
      throw new UsageError(`completion needs the name of one shell: ${orList(Object.keys(scripts))}`);
    stdout.write(script);
    return 0;
  },
};

{{/*
What each part may do, bound by rbac.yaml: where pools are (poolRules: the whole cluster, or the one namespace of onlyNamespace), with what
belongs to no namespace (clusterRules), and in AgentBox's own namespace (systemRules).
*/}}

{{- define "agentbox.poolRules.api" -}}
# Ends and timeouts are patches; a pod that was armed for no sandbox is deleted.
- { apiGroups: [""], resources: [pods], verbs: [get, list, watch, patch, delete] }
# A claim is a write of the Lease beside the pod.
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch, create, update] }
- { apiGroups: [""], resources: [pods/log], verbs: [get] }
# Which of the two it takes depends on how the session is opened, and on the server's version.
- { apiGroups: [""], resources: [pods/exec], verbs: [get, create] }
- { apiGroups: [""], resources: [events], verbs: [list] }
- { apiGroups: [agents.navix.sh], resources: [sandboxpools], verbs: [get, list, watch, create, update, patch, delete] }
- { apiGroups: [agents.navix.sh], resources: [sandboxenvs], verbs: [get, list, watch, create, update, patch, delete] }
- { apiGroups: [agents.navix.sh], resources: [checkpoints], verbs: [get, list, watch, create, delete] }
{{- end -}}

{{- define "agentbox.clusterRules.api" -}}
- { apiGroups: [agents.navix.sh], resources: [sandboxtemplates], verbs: [get, list, watch, create, update, delete] }
{{- end -}}

{{- define "agentbox.systemRules.api" -}}
# API keys are Secrets named by their hash, and belong to the key that made them; the first process makes the signing key and the first admin key.
- { apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, patch, delete] }
# Idempotency keys, the note that there was a first admin key, and the limits of teams and server.
- { apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, delete] }
# One for each API process, in which it says how many creates wait there.
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch, create, patch, delete] }
{{- end -}}

{{- define "agentbox.poolRules.controllers" -}}
{{- if .Values.limits.logRetention }}
# Logs of ended sandboxes are kept.
- { apiGroups: [""], resources: [pods/log], verbs: [get] }
{{- end }}
- { apiGroups: [""], resources: [pods], verbs: [get, list, watch, create, patch, delete] }
# Claims; and pods that are to go are closed to them.
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch, create, update] }
- { apiGroups: [""], resources: [events], verbs: [get, create, patch] }
# The Env controller makes, changes and deletes the pools of Envs.
- { apiGroups: [agents.navix.sh], resources: [sandboxpools], verbs: [get, list, watch, create, update, patch, delete] }
- { apiGroups: [agents.navix.sh], resources: [sandboxpools/status], verbs: [patch] }
# Pods block the deletion of their pool; some clusters ask for this right before they let us say so.
- { apiGroups: [agents.navix.sh], resources: [sandboxpools/finalizers], verbs: [update] }
# They are taken, kept, and deleted when they have had their time; without a registry for them their status says so.
- { apiGroups: [agents.navix.sh], resources: [checkpoints], verbs: [list, watch, patch, delete] }
- { apiGroups: [agents.navix.sh], resources: [checkpoints/status], verbs: [patch] }
# Nor are there volumes, and their status says so too.
- { apiGroups: [agents.navix.sh], resources: [sandboxvolumes], verbs: [list, watch] }
- { apiGroups: [agents.navix.sh], resources: [sandboxvolumes/status], verbs: [patch] }
# Snapshots of members and their replicas; adopted pools get an Env.
- { apiGroups: [agents.navix.sh], resources: [sandboxenvs], verbs: [get, list, watch, create, patch, delete] }
- { apiGroups: [agents.navix.sh], resources: [sandboxenvs/status], verbs: [patch] }
- { apiGroups: [agents.navix.sh], resources: [sandboxenvs/finalizers], verbs: [update] }
{{- end -}}

{{- define "agentbox.clusterRules.controllers" -}}
# Whether all of them can do what pods would use.
- { apiGroups: [""], resources: [nodes], verbs: [list] }
- { apiGroups: [agents.navix.sh], resources: [sandboxtemplates], verbs: [list, watch] }
{{- if not .Values.sandboxes.onlyNamespace }}
# The finalizer of a template that pools name.
- { apiGroups: [agents.navix.sh], resources: [sandboxtemplates], verbs: [patch] }
- { apiGroups: [agents.navix.sh], resources: [sandboxtemplates/status], verbs: [patch] }
{{- end }}
{{- end -}}

{{- define "agentbox.systemRules.controllers" -}}
# The limits of teams and server, and the catalogue of instance types.
- { apiGroups: [""], resources: [configmaps], verbs: [list, watch], resourceNames: [agentbox-limits, agentbox-instance-types] }
# Of the signing key only the public half goes into pods, but it is kept in one piece.
- { apiGroups: [""], resources: [secrets], verbs: [get], resourceNames: [agentbox-signing-key] }
# A create cannot be bound to a name.
- { apiGroups: [""], resources: [secrets], verbs: [create] }
# The Lease of the leader, and those of API processes; Leases that dead processes left behind are removed.
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch, create, update, delete] }
{{- end -}}

{{- define "agentbox.poolRules.gateway" -}}
# Its only writes: when a sandbox last had traffic, and waking a paused one.
- { apiGroups: [""], resources: [pods], verbs: [get, list, watch, patch] }
# Claims: they say on which pod a sandbox is, and which tenant it belongs to.
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch] }
- { apiGroups: [agents.navix.sh], resources: [sandboxpools, sandboxenvs, checkpoints], verbs: [list, watch] }
{{- end -}}

{{- define "agentbox.clusterRules.gateway" -}}
- { apiGroups: [agents.navix.sh], resources: [sandboxtemplates], verbs: [list, watch] }
{{- end -}}

{{- define "agentbox.systemRules.gateway" -}}
# The limits of teams and server, and the catalogue of instance types.
- { apiGroups: [""], resources: [configmaps], verbs: [list, watch], resourceNames: [agentbox-limits, agentbox-instance-types] }
# The tokens of sandboxes are made from it.
- { apiGroups: [""], resources: [secrets], verbs: [get], resourceNames: [agentbox-signing-key] }
- { apiGroups: [""], resources: [secrets], verbs: [create] }
# Asked for when the API server did not answer: is it back?
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get], resourceNames: [agentbox-controllers] }
{{- end -}}

{{- define "agentbox.poolRules.node" -}}
# Those of its own node: node-agent-policy.yaml says what cannot be said here.
- { apiGroups: [""], resources: [pods], verbs: [list, watch] }
# Whether a sandbox is paused, and which layer of it the registry has. Nothing of what a pod is can be changed with it.
- { apiGroups: [""], resources: [pods/status], verbs: [patch] }
{{- end -}}

{{- define "agentbox.clusterRules.node" -}}
{{- end -}}

{{- define "agentbox.systemRules.node" -}}
# The one in which it says that it is there; it is named after the node.
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, patch] }
- { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get], resourceNames: [agentbox-controllers] }
{{- end -}}

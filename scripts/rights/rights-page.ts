import { partsOfRight, RIGHTS, type Right, ROLES } from '../../core/wire/access/rights.ts'

/** Generates `docs/rights.md` from the table that the routes use. */
export function rightsPage(): string {
  const rows = (Object.keys(RIGHTS) as Right[]).map((right) => {
    const { resource, verb } = partsOfRight(right)
    const { role, allows } = RIGHTS[right]
    return `| \`${resource}\` | \`${verb}\` | ${role} | ${allows} |`
  })
  return `# Rights

The rights of users. Every route for users requires one right: a verb on a resource. Users who sign in have a right by their
role (${ROLES.join(', ')}: each includes those before it). The OpenAPI document (\`/api/openapi.json\`) names the right of each
operation as \`x-required-right\`; \`x-namespaced\` says whether the right in one namespace suffices.

**A right shows what its namespaces have.** A user with a right in some namespaces sees the agents, gateways, connectors,
permissions, policies, manifests, records, approvals, kill switches and audit events of these namespaces, in every list, count,
search, export and stream. Everything else does not exist for them (404). An agent belongs to the namespace in its name, a record to
that of its agent, a manifest to its own, and what is made in the dashboard to that of its gateways. What is in no namespace (agents of
one machine, policies for all gateways) is for users with the right everywhere. Routes that change the whole installation
require the right everywhere.

In a cluster users also call with their own identity there: a bearer token (\`Authorization: Bearer …\`, verified by TokenReview), or
a client certificate of a CA whose certificates the API server accepts, on a direct TLS connection with the header
\`X-Service-Caller: certificate\`. RBAC decides what they may do (SubjectAccessReview on these resources of the API group
\`chaperone.dev\`; reviews count for 10 s, and 20 ms for each namespace that was reviewed). The control plane neither stores nor logs tokens and certificates. A right
in one namespace suffices to read (\`get\`, \`export\`), to answer \`approvals\` of agents of that namespace,
and to \`activate\` and \`lift\` \`killswitches\` within it (\`namespace:N\`, \`agent:N/NAME\`, \`gateway:N/NAME\`; a kill switch that
a user with the right everywhere has set there stays). All other routes require the right in all namespaces. The audit log names the caller. Pods with a sidecar are refused
whatever their ServiceAccount may do, and so is every token of such a ServiceAccount, until a day after its last pod: an agent may
have created or read it. The refusal begins when the operator has reported the first such pod: as soon as it sees the pod, or, while
operator or control plane is down, when both run again. Until then the rights of the ServiceAccount count. Give users and machines that call the API a ServiceAccount that no agent runs as.

The chart has ClusterRoles to bind, in a namespace or in all:

| ClusterRole | Grants |
|---|---|
| \`chaperone-aggregate-to-view\` | to see Gateways, Connectors, Permissions and Policies; part of the cluster's roles \`view\`, \`edit\`, \`admin\` |
| \`chaperone-view\` | the same, and the rights of the role viewer; part of no other role, because records show what agents sent |
| \`chaperone-edit\` | to write these four kinds; part of \`edit\` and \`admin\` |
| \`chaperone-approver\` | \`approvals\` (\`get\`, \`answer\`), \`records\` and \`explanations\` (\`get\`) |
| \`chaperone-kill-switch\` | \`killswitches\` (\`get\`, \`activate\`), and to patch the ConfigMap \`chaperone-emergency\` |
| \`chaperone-admin\` | all of these and every right of the role admin |

| Resource | Verb | Lowest role | Allows to |
|---|---|---|---|
${rows.join('\n')}
`
}

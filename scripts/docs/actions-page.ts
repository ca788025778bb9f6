import type { CatalogueRow, Connector } from '../../core/connectors/connector.ts'

/**
 * Returns the documentation page of a connector type: the action name of every operation, for authors of permissions.
 */
export function actionsPage({ name, catalogue = [] }: Connector): string {
  const groups = Map.groupBy(catalogue, resourceOf)
  const names = new Set(catalogue.map((row) => row.type)).size
  const sections = [...groups].sort(byName).map(([resource, rows]) => section(name, resource, rows))
  return [
    `# Actions of \`${name}\``,
    'The command line shows the same: `chaperone catalogue`.',
    `${names} actions, ${catalogue.length} operations. What none of them describes is \`${name}.unmapped.<method>\`: high risk for writes, medium for reads, allowed by \`${name}.*\` or by its own name only. On a path of known operations a method without a row may also be any of them but the reads: all must be allowed.`,
    'Parameters in braces and the fields named behind the path are what conditions of a policy see as `parameters`.',
    RISK_RULES,
    ...sections,
    '',
  ].join('\n\n')
}

/** Returns the documentation page that lists all connector types. */
export function actionsIndex(connectors: readonly Connector[]): string {
  const lines = connectors.map(({ name, catalogue = [] }) => {
    const names = new Set(catalogue.map((row) => row.type)).size
    return `| [\`${name}\`](${name}.md) | ${names} | ${catalogue.length} |`
  })
  return [
    '# Actions by connector',
    'Permissions, policies and records all use these names. An operation has the same name at every address.',
    ['| Connector | Actions | Operations |', '|---|---|---|', ...lines].join('\n'),
    'The tables of [effect classes](effects.md), of [model providers](provider-side.md) and of [held requests](held-requests.md).',
    '',
  ].join('\n\n')
}

const RISK_RULES = [
  '**Risk.** high: moves or gives away money, changes who may do what, touches credentials, publishes, or deletes what others rely on.',
  'medium: changes something that others notice and that can be put right; deletes a single message, comment or file.',
  'low: everyday work, and reading. **Effect.** read: changes nothing. compute: costs, but changes nothing there. write: the rest.',
].join(' ')

function section(connector: string, resource: string, rows: readonly CatalogueRow[]): string {
  const lines = rows.map(
    (row) => `| \`${row.type}\` | ${row.effect} | ${row.risk} | ${row.method ?? ''} | ${requestText(row)} |`,
  )
  const note = NOTES[`${connector}.${resource}`]
  return [
    `## ${resource}`,
    '',
    ...(note === undefined ? [] : [note, '']),
    '| Action | Effect | Risk | Method | Request |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}

const OVERRIDING =
  'A body that would have the server take another method (`_method` in a form, in a part of a multipart form or at the top of JSON) is refused. JSON is read for it only where another method has another verdict; then it may have at most 8 MiB.'

/** Notes about the actions of a resource that do not fit into a table row, by `CONNECTOR.RESOURCE`. */
const NOTES: Readonly<Record<string, string>> = {
  'codehost.git': [
    'A push is read: each reference that it moves is an action of its own, and the strictest decides. One that is created is `codehost.branch.create`, one that is deleted `codehost.branch.delete`, as over REST; tags too.',
    'One that is moved is `codehost.git.push` only where the push itself proves that nothing is lost: the commits in it lead back to what stood there. Everything else is `codehost.git.force_push`, with or without `--force`:',
    'a rewritten branch, but also commits that the server has already (a branch set to another branch of the same repository), a tag that is moved, a commit with a header that git does not write, and a push of more than 2,000 commits, of a commit beyond 64 KiB, or whose commits do not stand within its first MiB. The reason of the decision says which. An agent that may not force can have such a branch merged by a pull request.',
    'What a push does is known from its body. Its discovery (`info/refs?service=git-receive-pack`), and the empty push that git sends before a large one, are recorded as `codehost.git.push`; they are never held, and denied only where every action of a push is denied for that repository.',
  ].join(' '),
  'codehost.graphql':
    'Fields of GraphQL that are equivalent to a REST operation have its name and are listed there. Everything else is `codehost.graphql.<field>`: reads are low, mutations high unless listed here. One request with several fields is several actions; the strictest decides.',
  'mcp.tools':
    'A tool is `mcp.tools.<name>`; characters other than letters, digits, `_` and `-` become `~XX` (a byte of UTF-8 in hex), and a tool called `list` is `~list`. Conditions see `parameters.arguments`. Headers that repeat the message (`Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`, `MCP-Protocol-Version`) must agree with it.',
  'mcp.rpc': [
    'A method is `mcp.rpc.<method>` with `_` for `/`. It has the form `segment(/segment)*` of letters, digits, `_` and `-`. Every other message is `mcp.rpc.unknown`, and so is a method that could be taken for a known one (`tools_call`, `tools//call`, `Resources/Read`) or `tools/call` whose params are no object; the call that a lenient server would read in it is decided as well. No wildcard allows `mcp.rpc.unknown`: a rule that allows it has its exact name.',
    'With `Connector.spec.endpoint` JSON-RPC is read on those paths only; every other path is `mcp.unmapped.<method>`. Without it JSON by POST is read on every path. `mcp.rpc.stream_open` (GET with `Accept: text/event-stream`) and `mcp.rpc.session_end` (DELETE with one `Mcp-Session-Id`) exist on the endpoint only: the declared paths, or else the path of the base URL and `/`, `/mcp`, `/sse`, `/mcp/sse`, `/mcp/v1`, `/v1/mcp`, `/v1/sse` and `/api/mcp`.',
    'A body of another type is `mcp.rpc.unknown` on the endpoint and `mcp.unmapped.post` elsewhere; a message in it is decided as well.',
  ].join(' '),
  'llm_c.content':
    'Templates name `v1beta`; the other versions (`v1`, `v1alpha`, `v1beta2`, `v1beta3`) have the same actions. `parameters.model` is the model of the path, a tuned one is `parameters.tuned_model`; a body that names another model than the path is refused once it is read, which a policy with a condition on parameters or the target makes it be. Calls over gRPC have the same names; the gateway does not read their messages, so conditions on parameters have no value there.',
  'generic.post': OVERRIDING,
  'webhook.post': OVERRIDING,
}

function requestText({ template, parameters = [], hints = {}, isAlternative }: CatalogueRow): string {
  const marks = [...parameters, ...Object.keys(hints)].join(', ')
  const path = template === undefined ? '' : `\`${template}\``
  const also = isAlternative === true ? ' (same operation)' : ''
  return `${path}${also}${marks === '' ? '' : ` ${marks}`}`
}

function resourceOf(row: CatalogueRow): string {
  return row.type.split('.')[1] ?? row.type
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

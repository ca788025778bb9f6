import { PROVIDER_KINDS, type ProviderKind } from '../../core/connectors/provider-side/kinds.ts'
import { MAX_PROVIDER_ACTS } from '../../core/connectors/provider-side/read.ts'
import { type CompiledTable, compileTable, type FieldRow } from '../../core/connectors/provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-a.ts'
import { LLM_B_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-b.ts'
import { LLM_C_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-c.ts'
import { handlesSection } from './handles-section.ts'
import { hostedWorkSection } from './hosted-work-section.ts'

/** Generates `docs/actions/provider-side.md`: side effects of model requests at the provider. */
export function providerSidePage(): string {
  const tables = [LLM_A_PROVIDER_SIDE, LLM_B_PROVIDER_SIDE, LLM_C_PROVIDER_SIDE].map(compileTable)
  return [
    INTRODUCTION,
    kindsTable(),
    USE,
    handlesSection(),
    hostedWorkSection(),
    ...tables.map(sectionOf),
    '',
  ].join('\n\n')
}

const INTRODUCTION = `# What your model provider can do on your behalf

Generated from the tables of \`core/connectors/provider-side\` by \`npm run generate\`.

A model request is more than a question. Its fields can name servers that the provider calls, URLs that it fetches, accounts that it
opens, code that it runs, and agents that go on after the answer. No packet of that passes the gateway. The gateway therefore reads
every JSON request to a model provider to its end and adds one action for each of these things. The name of the request stays;
the strictest decision about all of its actions holds. Record and card list them, and the reason names the one that decided with its
target. Tools that the caller runs itself (function tools) have no action of their own: such requests stay \`compute\`, low.`

function kindsTable(): string {
  const rows = Object.entries(PROVIDER_KINDS).map(
    ([kind, { risk, reachesOut, does }]) =>
      `| \`${kind}\` | ${risk} | ${reachesOut ? 'unless listed' : 'no'} | The provider ${does}. |`,
  )
  return [
    '## Actions',
    'The name of the action is the connector type and one of these: `llm_a.provider_tool.mcp`. All of them are `write`.',
    ['| Action | Risk | Denied by default | Meaning |', '|---|---|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}

const USE = `## Permitting them

1. What reaches out is denied unless the Connector lists it. No other rule can permit it.
2. The host that it reaches is judged as if the agent had dialled it: it must belong to a Connector of the Gateway, or stand in
   \`egress.allowedHosts\` (or \`egress.unmatchedHosts: tunnel\`). URLs whose host servers could read differently (user information,
   backslashes, blanks, other schemes than http, https, ws, wss) are denied.
3. Permissions and policies decide about the action as about any other write. Its target (\`resource.target\`) is the host, or the id of
   the connector, the stored prompt, the agent or the file; \`parameters.field\` is the place in the request. The starter policy asks a person.

\`\`\`yaml
kind: Connector
spec:
  type: llm_a
  providerTools:
    allow: [provider_tool.mcp, provider_tool.web_search]
---
kind: Gateway
spec:
  egress:
    allowedHosts: [mcp.example.com]
---
kind: Policy
spec:
  scope: { actions: ["llm_a.provider_tool.mcp"] }
  rules:
    - name: our own server
      conditions: ['resource.target == "mcp.example.com"']
      decision: allow
\`\`\`

At the enforcement level \`monitor\` everything passes, and the record says what would have been denied.

## Bounds

- One request may hold ${MAX_PROVIDER_ACTS} of these actions (413 beyond), each counted once for a target. Requests that name the same thing in the
  request itself (\`data:\` URLs) or a file that was uploaded to the provider before do not count.
- The body must be JSON in UTF-8 without \`Content-Encoding\`, up to 32 MiB, batches too: 415 and 413 otherwise.
- Files of batches (llm_a, purpose \`batch\`) are read where they are uploaded, line by line, up to 32 MiB and 50,000 lines: the
  upload has the actions of the requests in it. A file that is longer or cannot be read, an upload in parts, a batch of llm_c by the name
  of a file, and a call of llm_c over gRPC that can hold tools have \`provider_tool.unknown\` and are held, whatever permissions say,
  unless the Connector lists it.
- Multipart forms in which tools or URLs may stand (\`llm_a.realtime_call.create\`, \`llm_a.video.create\`, \`llm_a.image.edit\`) are read
  up to 32 MiB, nested names (\`session[tools][0][type]\`) and JSON in parts included. A longer form has \`provider_tool.unknown\`; what is
  no form that every server reads alike is 415. An SDP body names nothing.
- WebSockets that the gateway does not read (Realtime API, Live API) have one action for the whole connection.`

function sectionOf(table: CompiledTable): string {
  const { connector, source, opaque } = table.table
  return [
    `## ${connector}`,
    `From the ${source}.`,
    toolTable(table),
    fieldTable(table),
    operationTable(table),
    `Nothing is looked for in members with arbitrary JSON of the caller: ${opaque.map((name) => `\`${name}\``).join(', ')}.`,
  ].join('\n\n')
}

function toolTable({ tools, toolPlaces }: CompiledTable): string {
  const places = toolPlaces.map((place) => `\`${place.join('.')}\``).join(', ')
  const rows = tools.map(
    ({ type, isPrefix, kinds, unless }) =>
      `| \`${type}${isPrefix ? '*' : ''}\` | ${kindsText(kinds)}${unless === null ? '' : `, unless \`${unless}\` is \`false\``} |`,
  )
  return [
    `Tools, at any depth under ${places}:`,
    ['| Tool | Action |', '|---|---|', ...rows, '| any other | `provider_tool.unknown` |'].join('\n'),
  ].join('\n\n')
}

function kindsText(kinds: readonly ProviderKind[]): string {
  return kinds.length === 0
    ? 'none: it runs at the caller, or only computes'
    : kinds.map((kind) => `\`${kind}\``).join(', ')
}

const TARGETS = {
  host: 'host of the URL',
  name: 'the host',
  text: 'the value',
  unread: 'the value; held, because it names what the gateway does not read',
  none: '',
} as const

function fieldTable({ fields }: CompiledTable): string {
  const rows = fields.map(
    (row) => `| \`${row.end}\` | ${valueText(row)} | ${kindsText(row.kinds)} | ${TARGETS[row.target]} |`,
  )
  return [
    'Fields, by the end of their path (`*` is an element of a list, `^` the root of the request):',
    ['| Field | Value | Action | Target |', '|---|---|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}

function valueText({ value }: FieldRow): string {
  if (value === null) return 'any'
  return `${value.by === 'equals' ? '' : 'contains '}\`${value.text}\``
}

function operationTable({ operations }: CompiledTable): string {
  const rows = [...operations].map(([type, kinds]) => `| \`${type}\` | ${kindsText(kinds)} |`)
  return [
    'Operations that start work which goes on after the request:',
    ['| Request | Action beside it |', '|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}
